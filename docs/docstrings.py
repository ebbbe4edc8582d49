"""Docstrings, which are reStructuredText in NumPy's sections, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent, indent

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
_RULE = re.compile(r"^ *=+( +=+)+ *$")
_REFERENCE_MARK = re.compile(r"^\.\. (\[\d+\]) ", re.MULTILINE)
_MARKDOWN_SIGNS = re.compile(r"([*<\[])")
_CODE = re.compile(r"(`[^`]*`)")


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
