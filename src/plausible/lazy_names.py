"""The public names of a room, each loaded when it is first asked for.

A room's stub `__init__.pyi` says which file has which name, by imports that type checkers read as well: one list for
both, so that they can't differ.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["LazyNames", "lazy_names"]


class LazyNames(NamedTuple):
    """What a module needs to offer names that it has not loaded: `__getattr__`, `__dir__` and `__all__`."""

    get: Callable[[str], Any]
    directory: Callable[[], list[str]]
    all: list[str]


def lazy_names(package: str, file: str) -> LazyNames:
    """The names that the stub beside a package's `__init__.py` imports.

    Parameters
    ----------
    package, file
        Its `__name__` and `__file__`.
    """
    homes: dict[str, tuple[str, str]] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            homes |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    names = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        found = getattr(import_module(home), original)
        if name != original:  # so that help() and pickles call it what it is called here
            found.__module__, found.__name__, found.__qualname__ = package, name, name
        vars(import_module(package))[name] = found
        return found

    return LazyNames(get, lambda: names, names)
