"""The public names of a package, each loaded when it is first asked for.

A package's stub `__init__.pyi` says which file has which name, by imports that type checkers read as well: one list for
both, so that they can't differ. A room takes over all names of a folder by a star, so that each stands in one stub. The
library `lazy_loader` reads such stubs too, but it knows no stars, no names that differ from those in the file
(`learn.structure`), and suggests nothing for a misspelt one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeAlias

from plausible.base.common_options import tell_common_options
from plausible.base.hints import PACKAGE_HINTS
from plausible.errors import close_match

#: Where each name is: a module, and what it is called there.
Homes: TypeAlias = Mapping[str, tuple[str, str]]


class LazyNames(NamedTuple):
    """What a module needs to offer names that it has not loaded: `__getattr__`, `__dir__` and `__all__`."""

    get: Callable[[str], Any]
    directory: Callable[[], list[str]]
    all: list[str]


def lazy_names(package: str, file: str) -> LazyNames:
    """The names that the stub beside a package's `__init__.py` imports or assigns.

    They come before files: a file that is loaded would take its name in the package, so `pc` before `pc.py`.

    Parameters
    ----------
    package, file
        Its `__name__` and `__file__`.
    """
    homes = _homes(Path(file).with_suffix(".pyi"))
    names = sorted(homes)

    class Package(ModuleType):
        def __setattr__(self, name: str, value: Any) -> None:
            if not isinstance(value, ModuleType) or homes.get(name, (package, name))[0] == package:
                super().__setattr__(name, value)

    def get(name: str) -> Any:
        if name not in homes:
            hint = "" if name.startswith("_") else _advice(package, name, homes)
            raise AttributeError(f"module {package!r} has no attribute {name!r}.{hint}")
        found = _load(package, name, *homes[name])
        vars(sys.modules[package])[name] = found
        return found

    sys.modules[package].__class__ = Package
    return LazyNames(get, lambda: names, names)


@cache
def _homes(stub: Path) -> Homes:
    homes: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(module), names=[ast.alias(name="*")]):
                homes |= _homes(stub.parent / module.rpartition(".")[2] / stub.name)
            case ast.ImportFrom(module=str(module), names=aliases):
                homes |= {alias.asname or alias.name: (module, alias.name) for alias in aliases}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=private)):
                homes[name] = homes.pop(private)
    return homes


def _load(package: str, name: str, home: str, original: str) -> Any:
    if home == package:
        return import_module(f"{package}.{name}")
    found = getattr(import_module(home), original)
    if name != original:  # so that help() and pickles call it what it is called in its room
        room = ".".join(home.split(".")[:2])
        for each in {found, unwrap(found)}:
            each.__module__, each.__name__, each.__qualname__ = room, name, name
    if isinstance(found, FunctionType):
        tell_common_options(found)
    return found


def _advice(package: str, name: str, homes: Homes) -> str:
    """What was meant, in a sentence with a leading space: a call here, the same name in a room, or a close match."""
    hint = PACKAGE_HINTS.get(package, {}).get(name)
    return f" {hint}" if hint else _elsewhere(package, name, homes) or close_match(name, homes)


def _elsewhere(package: str, name: str, homes: Homes) -> str:
    """Which modules of the package have this name, in a sentence with a leading space."""
    modules = [f"{package}.{module}" for module, (home, _) in homes.items() if home == package]
    having = [f"{module}.{name}" for module in modules if name in import_module(module).__all__]
    return f" Did you mean {' or '.join(having)}?" if having else ""
