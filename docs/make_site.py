"""Write the sources of the documentation site: the pages of this folder, the README, and pages made from the code.

`make docs` runs it, then Zensical on `mkdocs.yml`. A room of the library becomes a page of the reference, each of its
folders one more, with all that docstrings say.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import make_benchmarks
import make_reference
import make_tour
from docstrings import markdown_of
from make_reference import EVERYDAY, ROOMS, call_of, first_paragraph, full_name, is_described, named, title_of

DOCS = Path(__file__).parent
PROJECT = DOCS.parent
#: Where `mkdocs.yml` looks for pages.
SOURCES = PROJECT / "build" / "site_sources"

#: What a page begins with that has no list of its sections beside it.
_WIDE = "---\nhide:\n  - toc\n---\n\n"


def write_sources(folder: Path = SOURCES) -> None:
    """Fill a folder with all that the site is made from; what was there before is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    pages = {"index.md": from_root("README.md"), "changelog.md": from_root("CHANGELOG.md")}
    pages |= {"contributing.md": from_root("CONTRIBUTING.md"), "security.md": from_root("SECURITY.md")}
    pages |= {"benchmarks.md": make_benchmarks.page(), "reference.md": all_names(), "everyday.md": everyday()}
    pages |= {str(page.relative_to(DOCS)): _WIDE + page.read_text("utf-8") for page in DOCS.glob("coming_from/*.md")}
    pages["pictures.md"] = (DOCS / "pictures.md").read_text("utf-8").replace(make_tour.TOUR.name, "tour.md")
    for file, text in {**pages, **make_tour.tour(), **reference_pages()}.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.md"):
        path.write_text(with_pictures(path.read_text("utf-8"), path.parent), encoding="utf-8")


def with_pictures(page: str, folder: Path) -> str:
    """A page with its pictures in it: text can be selected, and colours follow the page. Charts stay files."""

    def inside(link: re.Match[str]) -> str:
        svg = (folder / link[2]).read_text(encoding="utf-8")
        return make_tour.within_page(svg, link[1]) if "plausible-picture" in svg else link[0]

    return re.sub(r"^!\[([^\]]*)\]\(([^)]*\.svg)\)$", inside, page, flags=re.MULTILINE)


def from_root(file: str) -> str:
    """A page of the project's own folder, with links as they are seen from the site."""
    text = (PROJECT / file).read_text(encoding="utf-8")
    text = text.replace("](benchmarks/results)", "](benchmarks.md)")
    text = re.sub(r"\]\((CONTRIBUTING|SECURITY|CHANGELOG)\.md", lambda link: f"]({link[1].lower()}.md", text)
    return text.replace("](docs/", "](")


# --- reference ---


def reference_pages() -> dict[str, str]:
    """File -> text: a page for each room, and one for each of its folders."""
    return {page.file: "\n".join([*page.head, *_entries(page.room, page.names)]) for page in _pages()}


@dataclass(frozen=True)
class Page:
    """A page of the reference, and the public names that it tells of."""

    file: str
    head: tuple[str, ...]
    room: str
    names: tuple[str, ...]


@cache
def _pages() -> tuple[Page, ...]:
    pages = []
    for room, title in ROOMS.items():
        module = import_module(f"plausible.{room}")
        folders = {name: thing for name in module.__all__ if inspect.ismodule(thing := getattr(module, name))}
        of_folders = {name for folder in folders.values() for name in folder.__all__}
        own = tuple(name for name in module.__all__ if name not in {*folders, *of_folders})
        listed = [f"- [{title_of(folder.__doc__)}]({name}.md)" for name, folder in folders.items()]
        head = (f"# {title}\n\n`pb.{room}`\n", "\n".join(listed) + "\n" if listed else "")
        pages.append(Page(f"reference/{room}/index.md" if folders else f"reference/{room}.md", head, room, own))
        for name, folder in folders.items():
            head = (f"# {title_of(folder.__doc__)}\n\n`pb.{room}.{name}`\n",)
            pages.append(Page(f"reference/{room}/{name}.md", head, room, tuple(folder.__all__)))
    return tuple(pages)


@cache
def _places() -> dict[str, str]:
    """Where the reference tells of a name: `pb.learn.BIC` -> file and anchor."""
    return {
        full_name(page.room, name, getattr(import_module(f"plausible.{page.room}"), name)): f"{page.file}#{name}"
        for page in _pages()
        for name in page.names
    }


def everyday() -> str:
    """The names of everyday use, each with a sentence and the way to all that is said of it."""
    parts = ["# The sixty names\n\nWith these one gets through most days. [All names](reference.md) has the others.\n"]
    for purpose, names in EVERYDAY.items():
        told = {name: first_paragraph(inspect.getdoc(named(name)) or "").replace("|", "\\|") for name in names.split()}
        rows = [f"| [`pb.{name}`]({_places()[f'pb.{name}']}) | {text} |" for name, text in told.items()]
        parts.append("\n".join([f"## {purpose}\n", "| name | what it is |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def all_names() -> str:
    """The list of all public names, each with the way to all that is said of it; the sixty have a page of their own."""
    before, _, after = make_reference.reference().partition("## The sixty names\n")
    text = before + "## Options" + after.partition("## Options")[2]
    return re.sub(
        r"^- (`(pb[\w.]+)[^`]*`):", lambda line: f"- [{line[1]}]({_places()[line[2]]}):", text, flags=re.MULTILINE
    )


def _entries(room: str, names: Iterable[str]) -> Iterator[str]:
    """What there is to know of each name, in the order of the alphabet."""
    module = import_module(f"plausible.{room}")
    for name in sorted(names, key=str.casefold):
        thing = getattr(module, name)
        full = full_name(room, name, thing)
        if not is_described(thing):
            yield f"## {name} {{ #{name} }}\n\n`{full}`\n"
            continue
        yield f"## {name} {{ #{name} }}\n\n{_signature(full, thing)}\n\n{markdown_of(inspect.getdoc(thing) or '')}\n"
        if inspect.isclass(thing):
            yield from _members(thing)


def _members(kind: type) -> Iterator[str]:
    """The public methods and properties of a class; of those that a public base tells of, the names."""
    inherited: dict[type, list[str]] = {}
    for name, member in sorted(inspect.getmembers_static(kind)):
        called, owner = _called(member), _told_by(kind, name)
        if called is None or owner is None or name.startswith("_"):
            continue
        if owner is not kind and _place_of(owner):
            inherited.setdefault(owner, []).append(name)
            continue
        is_value = isinstance(member, (property, cached_property))
        bound = called if isinstance(member, staticmethod) else MethodType(called, kind)
        shown = f"`.{name}`" if is_value else _signature(f".{name}", bound)
        text = markdown_of(inspect.getdoc(_called(vars(owner)[name])) or "")
        full = f"{kind.__name__}.{name}"
        yield f"### {full} {{ #{full} data-toc-label='.{name}' }}\n\n{shown}\n\n{text}\n"
    for owner, names in inherited.items():
        link = "../" * _place_of(kind).count("/") + _place_of(owner)
        yield f"As [{owner.__name__}]({link}) has them: {', '.join(f'`{name}`' for name in names)}.\n"


def _told_by(kind: type, name: str) -> type | None:
    """Which class says what a method or property of this one is."""
    classes = (base for base in kind.__mro__ if base.__module__.startswith("plausible") and name in vars(base))
    return next((base for base in classes if (called := _called(vars(base)[name])) and called.__doc__), None)


def _place_of(kind: type) -> str:
    """Where the reference tells of a class; empty where it does not."""
    return _kinds().get(kind, "")


@cache
def _kinds() -> dict[type, str]:
    """Class -> its place in the reference."""
    things = {place: named(name.removeprefix("pb.")) for name, place in _places().items()}
    return {thing: place for place, thing in things.items() if inspect.isclass(thing)}


def _called(member: Any) -> FunctionType | None:
    """The function behind a method or a property; None of all else."""
    for name in ("__func__", "fget", "func"):
        member = getattr(member, name, member)
    return member if isinstance(member, FunctionType) else None


def _signature(name: str, thing: Any) -> str:
    return f"```python\n{name}{call_of(name, thing, width=sys.maxsize)}\n```"


if __name__ == "__main__":
    write_sources()
