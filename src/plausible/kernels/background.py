"""Kernels compiled by another process, while this one goes on interpreting them.

What the other process needs to know of a call's arguments is of which kinds they are; it makes arrays of these kinds.
`python -m plausible.kernels.background` reads such jobs from its input, whose end tells it that this process is over:
then it finishes the kernel that it is at, so that short programs leave machine code to the next ones, and stops. No
two processes compile the same kernel at a time.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Event, RLock, Thread
from typing import Any, NamedTuple

import numpy as np

from plausible.kernels import machine_code

_LOG = logging.getLogger("plausible")
#: A lock that is older, in seconds, was left by a process that did not end well: no kernel takes as long.
_OLD = 300.0


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
        self._dispatcher.compile(self._types)

    def is_done(self) -> bool:
        """Whether there is machine code on disk for arguments of these types."""
        return bool(self._dispatcher._cache.has_overload(self._types, self._dispatcher.targetctx))

    @property
    def _dispatcher(self) -> Any:
        return getattr(import_module(self.module), self.name).dispatcher

    @property
    def _types(self) -> tuple[Any, ...]:
        from numba import typeof

        return tuple(map(typeof, _mapped(self.arguments, _example)))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change all values in tuples within tuples."""
    if not isinstance(value, tuple) or isinstance(value, ArrayKind):
        return change(value)
    parts = [_mapped(part, change) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _kind(value: Any) -> Any:
    """What stands for an argument; for a number, its type."""
    return ArrayKind.of(value) if isinstance(value, np.ndarray) else type(value)


def _example(kind: Any) -> Any:
    return kind.example() if isinstance(kind, ArrayKind) else kind()


# --- what is compiled, and what is to be ---


class _Worker:
    """The other process, what it is to do next, what it was told to do, and the machine code that there is."""

    lock = RLock()
    process: subprocess.Popen[bytes] | None = None
    waiting: list[Job] = []  # noqa: RUF012
    asked: set[Job] = set()  # noqa: RUF012
    compiled: frozenset[str] | None = None
    num_finished = 0


def is_compiled(kernel: Any) -> bool:
    """Whether there is machine code of a kernel on disk, for arguments of some kinds."""
    with _Worker.lock:
        num_finished()
        if _Worker.compiled is None:
            _Worker.compiled = machine_code.compiled_names()
        return kernel.name in _Worker.compiled


def is_busy() -> bool:
    """Whether kernels are being compiled."""
    return _Worker.process is not None


def num_finished() -> int:
    """How often the other process has come to an end; if it just has, it is started anew with what waits for it."""
    with _Worker.lock:
        if _Worker.process is not None and _Worker.process.poll() is not None:
            assert _Worker.process.stdin is not None
            with suppress(OSError):
                _Worker.process.stdin.close()
            _Worker.process, _Worker.compiled = None, None
            _Worker.num_finished += 1
            _start_next()
        return _Worker.num_finished


def compile_soon(kernel: Any, arguments: tuple[Any, ...]) -> bool:
    """Have a kernel compiled for arguments of these kinds; False where that can't be, or was tried in vain."""
    with _Worker.lock:
        job = Job.of(kernel, arguments)
        if job not in _Worker.asked:
            _Worker.asked.add(job)
            _Worker.waiting.append(job)
            _start_next()
        return _Worker.process is not None


def _start_next() -> None:
    """Start the process, if it is not there and can be, with what waits for it."""
    has_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    if _Worker.process is None and _Worker.waiting and has_python and machine_code.first_writable() is not None:
        _LOG.info("Compiling %s in the background.", ", ".join(sorted(job.name for job in _Worker.waiting)))
        jobs = pickle.dumps(_Worker.waiting)
        _Worker.waiting = []
        with suppress(OSError):
            _Worker.process = _start()
            assert _Worker.process.stdin is not None
            _Worker.process.stdin.write(jobs)
            _Worker.process.stdin.flush()  # it stays open: its end tells the other process that this one is over


def _start() -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).parents[2]), *map(os.path.abspath, filter(None, sys.path))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PLAUSIBLE_KERNELS": "compiled"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "plausible.kernels.background"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=machine_code.first_writable(),  # the folder of this process may be removed when that is over
        start_new_session=True,  # an interrupt of this process is none of the other's
    )


@atexit.register
def _let_go() -> None:
    """At the end of this process: the other one is not waited for, and Python need not warn of that."""
    if _Worker.process is not None:
        _Worker.process.returncode = 0


def _after_fork() -> None:
    """In a process that was forked: the other process is the parent's."""
    _Worker.lock, _Worker.process, _Worker.waiting, _Worker.asked = RLock(), None, [], set()


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


# --- the other process ---


def _work(jobs: Sequence[Job], is_left: Event) -> None:
    """Compile; once the process that asked for it is over, only what has begun, and the first in any case."""
    with suppress(AttributeError, OSError):  # not on every system
        os.nice(5)
    for number, job in enumerate(jobs):
        if number and is_left.is_set():
            return
        _run_in_turn(job, is_left)


def _run_in_turn(job: Job, is_left: Event) -> None:
    """Run a job when no other process runs one for the same kernel; not at all if nobody waits for it then."""
    folder = machine_code.first_writable()
    if folder is None:
        return
    lock = folder / f"{job.module}.{job.name}.lock"
    while not _taken(lock):
        if is_left.wait(0.2):
            return
    try:
        job.run()
    finally:
        with suppress(OSError):
            lock.unlink()


def _taken(lock: Path) -> bool:
    """Take a lock, which is a file, unless another process has it."""
    with suppress(OSError):
        if time.time() - lock.stat().st_mtime > _OLD:
            lock.unlink()
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _main() -> None:
    jobs, is_left = pickle.load(sys.stdin.buffer), Event()

    def watch() -> None:
        os.read(sys.stdin.fileno(), 1)  # nothing, at the end
        is_left.set()

    Thread(target=watch, daemon=True).start()
    _work(jobs, is_left)


if __name__ == "__main__":
    _main()
