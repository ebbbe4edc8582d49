"""Run what the pages "Coming from ..." show of other libraries, and compare what their comments promise.

Run it with `python docs/run_peers.py`, where the other libraries are installed, after a page or a library has changed.
A block of Python without prompts is theirs (ours are doctests); `expression  # value` says what an expression gives.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).resolve().with_name("coming_from")
_BLOCK = re.compile(r"^```python\n(?!>>> )(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: Path) -> int:
    """Run the blocks of a page in order, in an empty folder; how many values were compared."""
    names: dict[str, Any] = {}
    promises = 0
    with TemporaryDirectory() as folder, chdir(folder):
        for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
            for statement, promised in _statements(block):
                if promised is None:
                    exec(statement, names)
                    continue
                promises += 1
                found = eval(statement, names)
                if promised not in (repr(found), str(found)):
                    raise SystemExit(f"{page.name}: {statement} gives {found}, not {promised}")
    return promises


def _statements(block: str) -> Iterator[tuple[str, str | None]]:
    """Each statement, with the value that a comment at its end promises, if it is an expression that has one."""
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        comment = re.search(r"  # (.*)$", text)
        promised = comment[1] if comment and isinstance(statement, ast.Expr) else None
        yield (text[: comment.start()] if comment and promised else text), promised


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for page in sorted(FOLDER.glob("*.md")):
        if (not sys.argv[1:] or page.stem in sys.argv[1:]) and (number := run(page)):
            print(f"{page.stem}: {number} values as promised")  # noqa: T201
