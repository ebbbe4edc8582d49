"""The tour of notebooks as a page of the site, with what its cells show.

Widgets need a notebook that lives: of these the page has the lines only.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

TOUR = Path(__file__).with_name("notebooks") / "tour.ipynb"
#: A cell that speaks of it is not run.
_LIVE = "widget"


def tour() -> dict[str, str]:
    """File -> text: the page."""
    parts, names = [], {}
    for cell in json.loads(TOUR.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        if cell["cell_type"] == "code" and _LIVE not in source:
            parts += _shown(_run(source, names))
    parts.append(f"[The notebook itself]({TOUR.name}), to try it.")
    return {"notebooks/tour.md": "\n\n".join(parts) + "\n"}


def within_page(svg: str, alt: str) -> str:
    """A picture as a piece of a page."""
    told = re.sub('aria-label="[^"]*"', lambda _: f'aria-label="{escape(alt)}"', svg, count=1)
    return f'<div class="picture">{told.strip()}</div>'


def _run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; what its last line gives."""
    *statements, last = ast.parse(source).body
    exec(compile(ast.Module(statements, []), "tour", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "tour", "eval"), names)
    exec(compile(ast.Module([last], []), "tour", "exec"), names)
    return None


def _shown(value: Any) -> Iterator[str]:
    """What a notebook shows of a value: a picture, a table, or its text."""
    svg = value._repr_svg_() if hasattr(value, "_repr_svg_") else None
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if svg:
        yield within_page(svg, "What the cell shows")
    elif html:
        yield html
    elif value is not None:
        yield f"```text\n{value!r}\n```"
