"""Where machine code lies on disk, and how Numba finds it there.

Each folder of machine code is named by what it was made from and for: the text of all kernels, Python, Numba and the
processor. So nothing in it is ever stale, whatever the times of files say, and it may be copied, or made by another
user when a container is built. The folders, the first that has what is looked for, or else can be written to:

- in the folder that the environment variable NUMBA_CACHE_DIR names,
- beside the kernels themselves,
- in the user's folder for caches.

Where none can be written to, machine code lives as long as the process.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import platform
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

_HOME = Path(__file__).parent


def compiled_names() -> frozenset[str]:
    """The kernels that there is machine code of, as "file.name"."""
    return frozenset(name.partition("-")[0] for folder in _folders() for name in _names_in(folder))


def _names_in(folder: Path) -> list[str]:
    """The files of machine code in a folder; none where it is not there or can't be entered."""
    with suppress(OSError):
        return [name for name in os.listdir(folder) if name.endswith(".nbi")]
    return []


def first_writable() -> Path | None:
    """The folder that new machine code is put into; None where there is none."""
    return next(filter(_is_writable, _folders()), None)


@functools.cache
def _folders() -> tuple[Path, ...]:
    """The folders of this machine code, in the order in which they are looked at."""
    parents = [_HOME / "__pycache__"]
    with suppress(RuntimeError):  # a user without a home
        parents.append(_user_folder())
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        parents.insert(0, Path(chosen))
    return tuple(parent.absolute() / f"plausible-{_environment()}-{_content()}" for parent in parents)


def _user_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "plausible"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "plausible"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plausible"


def _content() -> str:
    """A name for the text of the kernels: they call one another, so a change of one changes all."""
    files = (file for file in sorted(_HOME.glob("*.py")) if file.name not in ("background.py", "machine_code.py"))
    return _digest(*(file.read_bytes() for file in files))


def _environment() -> str:
    """A name for all else that machine code depends on."""
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_CPU")]
    numba = f"{version('numba')} {version('llvmlite')}"
    return _digest(*(part.encode() for part in (sys.version, numba, sys.platform, _processor(), *settings)))


def _processor() -> str:
    """What the processor can do; its family where the system does not tell more."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        first = itertools.takewhile(str.strip, file)  # the lines of one core: the others are alike
        told = (line.partition(":") for line in first)
        return " ".join(value for key, _, value in told if key.strip() in ("model name", "flags", "Features"))
    return f"{platform.machine()} {platform.processor()}"


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _is_writable(folder: Path) -> bool:
    """Whether files can be put into a folder, which is made if need be."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_older(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _forget_older(folder: Path) -> None:
    """Remove what was made of older kernels in the folder beside them, which nobody else's are in."""
    prefix = folder.name.rpartition("-")[0]
    for other in folder.parent.glob(f"{prefix}-*") if folder.is_relative_to(_HOME) else ():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


# --- Numba's side ---


def cache_of(function: Callable[..., Any]) -> Any:
    """What Numba loads the machine code of a function from, and saves it to."""
    return _chain()(function)


_DAMAGE = (OSError, EOFError, UnpicklingError, ValueError, AttributeError, ImportError, IndexError, KeyError)


def _loaded(cache: Any, signature: Any, context: Any) -> Any:
    """Machine code from one folder; None where there is none, or where a file is damaged, which is then forgotten."""
    try:
        return cache.load_overload(signature, context)
    except _DAMAGE:
        with suppress(OSError):
            cache.flush()
        return None


def _has(cache: Any, types: tuple[Any, ...], context: Any) -> bool:
    """Whether one folder has machine code for arguments of these types."""
    try:
        file = cache._cache_file._load_index().get(cache._index_key(types, context.codegen()))
        return file is not None and Path(cache._cache_path, file).exists()
    except _DAMAGE:
        return False


@functools.cache
def _chain() -> Any:
    """The class of caches that look into all folders; made late, since it needs Numba."""
    from numba.core import caching

    def cache_in(folder: Path) -> Any:
        class Locator(caching._CacheLocator):
            """Where in this folder the machine code of a function lies."""

            def __init__(self, function: Callable[..., Any], file: str) -> None:
                self._py_file, self._line = file, function.__code__.co_firstlineno

            def ensure_cache_path(self) -> None:
                if not _is_writable(folder):
                    raise PermissionError(folder)

            def get_cache_path(self) -> str:
                return str(folder)

            def get_source_stamp(self) -> str:
                return folder.name

            def get_disambiguator(self) -> str:
                return str(self._line)

            @classmethod
            def from_function(cls, function: Callable[..., Any], file: str) -> Locator:
                return cls(function, file)

        class Implementation(caching.CompileResultCacheImpl):
            _locator_classes = [Locator]  # noqa: RUF012

        return type("FolderCache", (caching.FunctionCache,), {"_impl_class": Implementation})

    classes = [cache_in(folder) for folder in _folders()]

    class Chain(caching.NullCache):
        """The first folder that has the machine code, and the first that takes it."""

        def __init__(self, function: Callable[..., Any]) -> None:
            self._caches = [one(function) for one in classes]

        def load_overload(self, signature: Any, context: Any) -> Any:
            found = (_loaded(cache, signature, context) for cache in self._caches)
            return next((code for code in found if code is not None), None)

        def has_overload(self, types: tuple[Any, ...], context: Any) -> bool:
            return any(_has(cache, types, context) for cache in self._caches)

        def save_overload(self, signature: Any, code: Any) -> None:
            for cache in self._caches:
                with suppress(OSError):
                    cache.save_overload(signature, code)
                    return

    return Chain
