"""Write the sources of the documentation site: the pages of this folder, the README, and pages made from the code.

`make docs` runs it, then Zensical on `mkdocs.yml`. A room of the library becomes a page of the reference, each of its
folders one more, with all that docstrings say; results of benchmarks become a page as well.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from textwrap import dedent, indent
from types import FunctionType, MethodType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from make_reference import ROOMS, call_of, full_name, is_described, title_of

DOCS = Path(__file__).parent
PROJECT = DOCS.parent
#: Where `mkdocs.yml` looks for pages.
SOURCES = PROJECT / "build" / "site_sources"

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
_RULE = re.compile(r"^ *=+( +=+)+ *$")
_REFERENCE_MARK = re.compile(r"^\.\. (\[\d+\]) ", re.MULTILINE)
_MARKDOWN_SIGNS = re.compile(r"([*<\[])")
_CODE = re.compile(r"(`[^`]*`)")


def write_sources(folder: Path = SOURCES) -> None:
    """Fill a folder with all that the site is made from; what was there before is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    pages = {"index.md": home(), "changelog.md": from_root("CHANGELOG.md"), "benchmarks.md": measurements()}
    pages |= {"contributing.md": from_root("CONTRIBUTING.md"), "security.md": from_root("SECURITY.md")}
    for file, text in {**pages, **reference_pages()}.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def home() -> str:
    """The README as the first page."""
    return from_root("README.md")


def from_root(file: str) -> str:
    """A page of the project's own folder, with links as they are seen from the site."""
    text = (PROJECT / file).read_text(encoding="utf-8")
    text = re.sub(r"\]\(benchmarks/results/(\w+)\.txt\)", r"](benchmarks.md#\1)", text)
    text = re.sub(r"\]\((CONTRIBUTING|SECURITY|CHANGELOG)\.md", lambda link: f"]({link[1].lower()}.md", text)
    return text.replace("](docs/", "](")


# --- benchmarks ---


def measurements() -> str:
    """The results of `make bench`, file by file."""
    pieces = [
        "# Benchmarks\n\nWhat `make bench` wrote when it last ran, on one machine with two cores. "
        "Each table is one run, in which plausible and its peers did the same work in turns; seconds are those "
        "of the processor.\n"
    ]
    for file in sorted((PROJECT / "benchmarks" / "results").glob("*.txt")):
        script = PROJECT / "benchmarks" / f"{file.stem}.py"
        about = title_of(ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))))
        text = file.read_text(encoding="utf-8").rstrip()
        pieces.append(
            f"## {file.stem.replace('_', ' ').capitalize()} {{ #{file.stem} }}\n\n{about}.\n\n```text\n{text}\n```\n"
        )
    return "\n".join(pieces)


# --- reference ---


def reference_pages() -> dict[str, str]:
    """File -> text: a page for each room, and one for each of its folders."""
    pages = {}
    for room, title in ROOMS.items():
        module = import_module(f"plausible.{room}")
        folders = {name: thing for name in module.__all__ if inspect.ismodule(thing := getattr(module, name))}
        of_folders = {name for folder in folders.values() for name in folder.__all__}
        own = [name for name in module.__all__ if name not in {*folders, *of_folders}]
        listed = [f"- [{title_of(folder.__doc__)}]({name}.md)" for name, folder in folders.items()]
        head = [f"# {title}\n\n`pb.{room}`\n", "\n".join(listed) + "\n" if listed else ""]
        pages[f"reference/{room}/index.md" if folders else f"reference/{room}.md"] = "\n".join(
            [*head, *_entries(room, own)]
        )
        for name, folder in folders.items():
            head = [f"# {title_of(folder.__doc__)}\n\n`pb.{room}.{name}`\n"]
            pages[f"reference/{room}/{name}.md"] = "\n".join([*head, *_entries(room, folder.__all__)])
    return pages


def _entries(room: str, names: Iterable[str]) -> Iterator[str]:
    """What there is to know of each name, in the order of the alphabet."""
    module = import_module(f"plausible.{room}")
    for name in sorted(names, key=str.casefold):
        thing = getattr(module, name)
        full = full_name(room, name, thing)
        if not is_described(thing):
            yield f"## {name}\n\n`{full}`\n"
            continue
        yield f"## {name}\n\n{_signature(full, thing)}\n\n{markdown_of(inspect.getdoc(thing) or '')}\n"
        if inspect.isclass(thing):
            yield from _members(thing)


def _members(kind: type) -> Iterator[str]:
    """The public methods and properties of a class, those that it takes from its bases included."""
    for name, member in sorted(inspect.getmembers_static(kind)):
        called = _called(member)
        text = inspect.getdoc(called)
        if called is None or not text or name.startswith("_") or not called.__module__.startswith("plausible"):
            continue
        is_value = isinstance(member, (property, cached_property))
        bound = called if isinstance(member, staticmethod) else MethodType(called, kind)
        shown = f"`.{name}`" if is_value else _signature(f".{name}", bound)
        yield f"### {kind.__name__}.{name}\n\n{shown}\n\n{markdown_of(text)}\n"


def _called(member: Any) -> FunctionType | None:
    """The function behind a method or a property; None of all else."""
    for name in ("__func__", "fget", "func"):
        member = getattr(member, name, member)
    return member if isinstance(member, FunctionType) else None


def _signature(name: str, thing: Any) -> str:
    return f"```python\n{name}{call_of(name, thing, width=sys.maxsize)}\n```"


def markdown_of(docstring: str) -> str:
    """A docstring as Markdown: sections, tables and examples in their own forms, all else as it is written."""
    heads = list(_SECTION.finditer(docstring))
    starts = [0, *(head.end() for head in heads)]
    ends = [*(head.start() for head in heads), len(docstring)]
    titles = ["", *(head[1] for head in heads)]
    parts = [_section(title, docstring[start:end]) for title, start, end in zip(titles, starts, ends, strict=True)]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, text: str) -> str:
    text = _REFERENCE_MARK.sub(r"\1 ", text.strip("\n"))
    if title in ("Parameters", "Attributes", "Raises", "Returns", "Warns"):
        return f"**{title}**\n\n{_definitions(text)}"
    body = "\n\n".join(_block(block) for block in _blocks(text))
    return f"**{title}**\n\n{body}" if title else body


def _definitions(text: str) -> str:
    """Names at the margin, and below each, indented, what it is: a list."""
    items: list[str] = []
    for piece in re.split(r"\n(?=\S)", text):
        name, _, told = piece.partition("\n")
        body = "\n\n".join(_block(block) for block in _blocks(dedent(told).strip("\n")))
        items.append(f"- `{name}`" + (f"\n\n{indent(body, '    ')}" if body else ""))
    return "\n\n".join(items)


def _blocks(text: str) -> list[str]:
    """What stands between empty lines; an example goes on to the next prose."""
    return [block for block in re.split(r"\n\s*\n", text) if block.strip()]


def _block(block: str) -> str:
    """A table, an example, or prose."""
    lines = block.splitlines()
    if _RULE.match(lines[0]):
        return _table(lines)
    if lines[0].lstrip().startswith(">>>"):
        return f"```pycon\n{dedent(block)}\n```"
    if all(line.startswith("    ") for line in lines):
        return f"```text\n{dedent(block)}\n```"
    return "\n".join(plain(line) for line in lines)


def plain(line: str) -> str:
    """Prose in which Markdown finds no signs but those of code."""
    return "".join(
        piece if piece.startswith("`") else _MARKDOWN_SIGNS.sub(r"\\\1", piece) for piece in _CODE.split(line)
    )


def _table(lines: Sequence[str]) -> str:
    """A table of columns under rules of `=`; a row whose first cell is empty goes on with the one above."""
    edges = [rule.span() for rule in re.finditer(r"=+", lines[0])]
    spans = [(start, end) for (start, _), (end, _) in zip(edges, [*edges[1:], (None, None)], strict=True)]
    rows: list[list[str]] = []
    for line in (line for line in lines if not _RULE.match(line)):
        cells = [line[start:end].strip() for start, end in spans]
        if rows and not cells[0]:
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    told = ["| " + " | ".join(plain(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([told[0], "|" + "---|" * len(spans), *told[1:]])


if __name__ == "__main__":
    write_sources()
