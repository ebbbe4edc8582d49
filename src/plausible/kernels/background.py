"""Kernels compiled by another process, while this one goes on interpreting them.

What the other process needs to know of a call's arguments is of which kinds they are; it makes arrays of these kinds.
`python -m plausible.kernels.background` reads such jobs from its input.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from plausible.kernels import machine_code

__all__ = ["Job", "compile_soon", "is_compiled", "record", "recorded"]


_LOG = logging.getLogger("plausible")


class ArrayKind(NamedTuple):
    """What Numba knows of an array: the order of its numbers is C, F or A, for any other."""

    dtype: np.dtype[Any]
    ndim: int
    order: str
    is_writeable: bool

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> ArrayKind:
        order = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"
        return cls(array.dtype, array.ndim, order, array.flags.writeable)

    def example(self) -> np.ndarray[Any, Any]:
        """An array of the kind."""
        array = np.empty((4,) * self.ndim, dtype=self.dtype, order="F" if self.order == "F" else "C")
        if self.order == "A":
            array = array[(slice(None, None, 2),) * self.ndim]
        array.setflags(write=self.is_writeable)
        return array


class Job(NamedTuple):
    """A kernel to compile: its module, its name, and the arguments of a call, arrays by their kinds."""

    module: str
    name: str
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, kernel: Any, arguments: tuple[Any, ...]) -> Job:
        return cls(kernel.__module__, kernel.__name__, _mapped(arguments, _kind))

    def run(self) -> None:
        """Compile, which leaves the machine code on disk."""
        from numba import typeof

        kernel = getattr(import_module(self.module), self.name)
        examples = _mapped(self.arguments, _example)
        kernel.dispatcher.compile(tuple(map(typeof, examples)))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change all values in tuples within tuples."""
    if not isinstance(value, tuple) or isinstance(value, ArrayKind):
        return change(value)
    parts = [_mapped(part, change) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _kind(value: Any) -> Any:
    """What stands for an argument; for a number, zero."""
    return ArrayKind.of(value) if isinstance(value, np.ndarray) else type(value)()


def _example(kind: Any) -> Any:
    return kind.example() if isinstance(kind, ArrayKind) else kind


# --- what is compiled, and what is to be ---


class _Worker:
    """The other process, what it is to do next, and the machine code that there is."""

    lock = RLock()
    process: subprocess.Popen[bytes] | None = None
    waiting: dict[str, Job] = {}  # noqa: RUF012
    asked: set[str] = set()  # noqa: RUF012
    compiled: frozenset[str] | None = None


def is_compiled(kernel: Any) -> bool:
    """Whether there is machine code of a kernel on disk."""
    with _Worker.lock:
        if _Worker.compiled is None or (_Worker.process is not None and _Worker.process.poll() is not None):
            _Worker.process, _Worker.compiled = None, machine_code.compiled_names()
            _start_next()
        return kernel.name in _Worker.compiled


def compile_soon(kernel: Any, arguments: tuple[Any, ...]) -> bool:
    """Have a kernel compiled for arguments of these kinds; False where that can't be, or was tried in vain."""
    with _Worker.lock:
        if kernel.name not in _Worker.asked:
            _Worker.asked.add(kernel.name)
            _Worker.waiting[kernel.name] = Job.of(kernel, arguments)
            _start_next()
        return _Worker.process is not None


def _start_next() -> None:
    """Start the process, if it is not there and can be, with what waits for it."""
    has_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    if _Worker.process is None and _Worker.waiting and has_python and machine_code.first_writable() is not None:
        _LOG.info("Compiling %s in the background.", ", ".join(sorted(_Worker.waiting)))
        jobs = pickle.dumps(list(_Worker.waiting.values()))
        _Worker.waiting = {}
        with suppress(OSError):
            _Worker.process = _start()
            assert _Worker.process.stdin is not None
            _Worker.process.stdin.write(jobs)
            _Worker.process.stdin.close()


def _start() -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PLAUSIBLE_KERNELS": "compiled"}
    process = subprocess.Popen(
        [sys.executable, "-m", "plausible.kernels.background"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # an interrupt of this process is none of the other's
    )
    atexit.register(process.kill)
    return process


def _after_fork() -> None:
    """In a process that was forked: the other process is the parent's."""
    _Worker.lock, _Worker.process, _Worker.waiting, _Worker.asked = RLock(), None, {}, set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- what calls are made ---


class _Record:
    jobs: dict[tuple[str, bytes], Job] | None = None


def record(kernel: Any, arguments: tuple[Any, ...]) -> None:
    """Keep a call, if calls are recorded."""
    if _Record.jobs is not None:
        job = Job.of(kernel, arguments)
        _Record.jobs.setdefault((kernel.name, pickle.dumps(job.arguments)), job)


@contextmanager
def recorded() -> Iterator[dict[tuple[str, bytes], Job]]:
    """The kernels that are interpreted inside of the block, with each combination of kinds of arguments once."""
    jobs: dict[tuple[str, bytes], Job] = {}
    _Record.jobs = jobs
    try:
        yield jobs
    finally:
        _Record.jobs = None


def _work(jobs: Sequence[Job]) -> None:
    with suppress(AttributeError, OSError):  # not on every system
        os.nice(5)
    for job in jobs:
        job.run()


if __name__ == "__main__":
    _work(pickle.load(sys.stdin.buffer))
