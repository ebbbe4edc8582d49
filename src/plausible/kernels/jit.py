"""How kernels run: the one place that knows Numba.

A kernel is a loop over plain arrays, written in Python that Numba can compile. The same source runs in two ways, its
*tiers*: interpreted, at once, or as machine code, which is far faster and takes seconds to make. Machine code is kept
on disk (`plausible.kernels.machine_code`) and used from the first call on where it is found. Where not, a kernel is
interpreted until that has taken as long as compiling would, and then compiled by a process in the background
(`plausible.kernels.background`); a call or a run that is foreseen to take longer than compiling compiles first.

Innermost loops over numbers have a *twin*, the same in NumPy, which the interpreted tier calls in their place.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from time import thread_time
from types import FunctionType
from typing import Any, Literal, TypeVar, cast, get_args, overload

import numpy as np

from plausible.errors import InvalidArgument
from plausible.kernels import background, machine_code

Function = TypeVar("Function", bound=Callable[..., Any])
Tier = Literal["auto", "interpreted", "compiled"]

#: What it takes to compile a kernel, in seconds: between 2 and 20.
COMPILE_SECONDS = 8.0
#: A kernel is given to the background when it has been interpreted for this share of that; or for this one, where
#: others are being compiled, whose run it is probably part of. At so many times that, the background is too slow.
_ENOUGH, _ENOUGH_BESIDE, _TOO_MUCH = 1 / 4, 1 / 16, 3.0
#: What the interpreter takes for one of a kernel's steps.
_STEP_SECONDS = 1e-6

_VARIABLE = "PLAUSIBLE_KERNELS"
_LOG = logging.getLogger("plausible")
_LOCK = RLock()
#: Threads that interpret take turns: together they would only take the interpreter from one another.
_ONE_AT_A_TIME = RLock()


def _after_fork() -> None:
    """In a process that was forked: whoever held a lock is not here to give it back."""
    global _LOCK, _ONE_AT_A_TIME
    _LOCK, _ONE_AT_A_TIME = RLock(), RLock()
    _Hold.depth, _Hold.number, _Hold.num_calls, _Hold.repeats = 0, 0, 1, 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

#: All kernels, by module and name.
_KERNELS: dict[tuple[str, str], Kernel] = {}
#: What the interpreted tier of each module sees under the names that the module defines or imports.
_NAMESPACES: dict[str, dict[str, Any]] = {}


class _NoMachineCode(Exception):
    """There is none for arguments of these types, and to make it does not pay yet."""


class Kernel:
    """A loop over plain arrays; called alike from Python and from other kernels, in either tier.

    A kernel checks nothing and raises nothing, hence NumPy's rules for division by zero. Machine code runs without the
    interpreter lock, so callers may use threads.

    Attributes
    ----------
    py_func, targetoptions
        The function, and Numba's options for it; Numba looks for these names where it inlines.
    twin
        What the interpreted tier calls in its place, if not the function itself.
    spent
        Seconds that it has been interpreted for since there was machine code for the arguments of a call.
    """

    def __init__(self, function: Callable[..., Any], steps: Callable[..., float] | None, options: dict[str, Any]):
        functools.update_wrapper(self, function)
        self.py_func, self.targetoptions = function, options
        self.spent = 0.0
        self.twin: Callable[..., Any] | None = None
        self._steps, self._hold = steps, 0
        self._latest = 0, 0.0  # the number of a run of `repeated`, and the seconds of the latest call in it
        self._missing: dict[Any, int] = {}  # types of arguments that there was no machine code for, and when
        self._interpreted: Callable[..., Any] | None = None
        self._dispatcher: Any = None
        _KERNELS[function.__module__, function.__name__] = self
        self.reset()

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._run(*arguments)
        except _NoMachineCode:
            return self._interpret(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.py_func.__module__, self.py_func.__name__)

    @property
    def name(self) -> str:
        """The file and the name, as machine code on disk is called."""
        return f"{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__name__}"

    def reset(self) -> None:
        """Decide anew how to run."""
        ways = {"auto": self._choose, "interpreted": self._interpret, "compiled": self._compile}
        self._run: Callable[..., Any] = ways[tier()]

    # --- interpreted ---

    @property
    def interpreted(self) -> Callable[..., Any]:
        """The twin or the function, calling the interpreted tier of other kernels."""
        if self._interpreted is None:
            source = self.twin or self.py_func
            self._interpreted = FunctionType(source.__code__, _namespace(source), source.__name__)
        return self._interpreted

    def _interpret(self, *arguments: Any) -> Any:
        background.record(self, arguments)
        self._hold = _Hold.number
        with _ONE_AT_A_TIME, np.errstate(all="ignore"):
            began = thread_time()
            answer = self.interpreted(*arguments)
            seconds = thread_time() - began
        self.spent += seconds
        self._latest = _Hold.last_repeated, seconds
        return _plain(answer)

    # --- machine code ---

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function; it compiles for the types of the arguments when it is called."""
        with _LOCK:
            if self._dispatcher is None:
                self._dispatcher = _numba().njit(
                    nogil=True, error_model="numpy", no_cfunc_wrapper=True, **self.targetoptions
                )(self.py_func)
                self._dispatcher._cache = machine_code.cache_of(self.py_func)
                make = self._dispatcher._compile_for_args  # called for types of arguments that are new to the process
                self._dispatcher._compile_for_args = functools.partial(self._admit, make)
            return self._dispatcher

    def _compile(self, *arguments: Any) -> Any:
        self._run = self.dispatcher
        return self._run(*arguments)

    def _admit(self, load_or_compile: Callable[..., Any], *arguments: Any) -> Any:
        """Load machine code for arguments of new types, or make it where that pays."""
        if tier() == "auto" and not self._is_on_disk(arguments):
            if self._is_held() or not self._pays(arguments):
                raise _NoMachineCode
            _LOG.info("Compiling %s, once for this installation; `plausible compile` compiles all.", self.name)
        made, self.spent = load_or_compile(*arguments), 0.0
        return made

    def _is_on_disk(self, arguments: tuple[Any, ...]) -> bool:
        """Whether there is machine code for arguments of these types; looked up anew when more was made."""
        types, now = tuple(map(self.dispatcher.typeof_pyval, arguments)), background.num_finished()
        if self._missing.get(types) == now:
            return False
        self._missing[types] = now
        return bool(self.dispatcher._cache.has_overload(types, self.dispatcher.targetctx))

    # --- which of the two ---

    def _choose(self, *arguments: Any) -> Any:
        """Run as machine code from now on if there is some, or if it pays to make it."""
        with _LOCK:  # threads of one run decide alike
            is_compiled = not self._is_held() and (background.is_compiled(self) or self._pays(arguments))
            if not is_compiled:
                self._hold = _Hold.number
        return self._compile(*arguments) if is_compiled else self._interpret(*arguments)

    def _is_held(self) -> bool:
        """Whether it was interpreted before, in a run that has one tier."""
        return self._hold == _Hold.number > 0

    def _pays(self, arguments: tuple[Any, ...]) -> bool:
        """Whether to compile now; where it was interpreted for long, it is given to the background."""
        enough = COMPILE_SECONDS * (_ENOUGH_BESIDE if background.is_busy() else _ENOUGH)
        is_asked_for = self.spent > enough and background.compile_soon(self, arguments)
        too_much = COMPILE_SECONDS * (_TOO_MUCH if is_asked_for else 1.0)
        return self.spent > too_much or self._foreseen(arguments) > COMPILE_SECONDS

    def _foreseen(self, arguments: tuple[Any, ...]) -> float:
        """Seconds that this call and those to come in its run would take, interpreted."""
        run, seconds = self._latest
        known = seconds if _Hold.repeats > 1 and run == _Hold.last_repeated else 0.0
        steps = 0.0 if self._steps is None else self._steps(*arguments)
        return max(known, steps * _STEP_SECONDS) * _Hold.num_calls * _Hold.repeats


def _plain(answer: Any) -> Any:
    """An answer whose numbers are Python's, as those of machine code are."""
    if isinstance(answer, tuple):
        parts = map(_plain, answer)
        return type(answer)(*parts) if hasattr(answer, "_fields") else tuple(parts)
    return answer.item() if isinstance(answer, np.generic) else answer


def runs_as_machine_code(function: Callable[..., Any]) -> bool:
    """Whether a kernel would run as machine code if it were called."""
    return tier() == "compiled" or (tier() == "auto" and background.is_compiled(cast(Kernel, function)))


def _named(module: str, name: str) -> Kernel:
    """A kernel, when it is unpickled."""
    from importlib import import_module

    return cast(Kernel, getattr(import_module(module), name))


def _namespace(function: Callable[..., Any]) -> dict[str, Any]:
    """The names that a function sees, kernels interpreted."""
    module = function.__module__
    if module not in _NAMESPACES:
        names = _NAMESPACES[module] = dict(function.__globals__)  # before the kernels: they may call one another
        names.update({name: value.interpreted for name, value in names.items() if isinstance(value, Kernel)})
    return _NAMESPACES[module]


@functools.cache
def _numba() -> Any:
    """Numba, which knows a kernel in the source of another one by its dispatcher."""
    import numba
    from numba.extending import typeof_impl

    types: Any = numba

    @typeof_impl.register(Kernel)
    def _type_of_kernel(value: Kernel, _context: Any) -> Any:
        return types.typeof(value.dispatcher)

    return numba


# --- how kernels are made ---


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(*, steps: Callable[..., float]) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, *, steps: Any = None) -> Any:
    """Make a kernel of a function. Its sums stay in the written order: infinities and NaN carry meaning here.

    Parameters
    ----------
    steps
        About how many steps of its inner loops a call makes, told from its arguments: for kernels that may be called
        when nothing is compiled, with a task that would keep the interpreter busy for long.
    """
    return _made({}, function, steps)


@overload
def reordering_kernel(function: Function) -> Function: ...
@overload
def reordering_kernel(*, steps: Callable[..., float]) -> Callable[[Function], Function]: ...
def reordering_kernel(function: Any = None, *, steps: Any = None) -> Any:
    """A kernel whose sums the compiler may reorder, so that it adds several numbers at once.

    For plain sums only. The order depends on the length alone, so the same numbers give the same bits.
    """
    return _made({"fastmath": {"reassoc"}}, function, steps)


@overload
def inlined_kernel(function: Function) -> Function: ...
@overload
def inlined_kernel(*, steps: Callable[..., float]) -> Callable[[Function], Function]: ...
def inlined_kernel(function: Any = None, *, steps: Any = None) -> Any:
    """A kernel that becomes part of its callers, because passing it two dozen arrays would take as long as its work."""
    return _made({"inline": "always"}, function, steps)


def twin_of(original: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate the twin of a kernel: what the interpreted tier calls in its place, the same in NumPy."""

    def decorate(twin: Function) -> Function:
        cast(Kernel, original).twin = twin
        return twin

    return decorate


def _made(options: dict[str, Any], function: Any, steps: Any) -> Any:
    return Kernel(function, steps, options) if function else functools.partial(Kernel, steps=steps, options=options)


# --- which tier ---


class _Tiers:
    forced: Tier | None = None


def tier() -> Tier:
    """How kernels run: as `use_tier` or the environment variable PLAUSIBLE_KERNELS says, else "auto".

    Where NUMBA_DISABLE_JIT is set, as debuggers and coverage want it, "interpreted" unless one of the two says more."""
    usual = "interpreted" if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" else "auto"
    name = _Tiers.forced or os.environ.get(_VARIABLE) or usual
    if name not in get_args(Tier):
        raise InvalidArgument(f"{_VARIABLE} is {name!r}: it can be {', '.join(get_args(Tier))}, or not set.")
    return cast(Tier, name)


@contextmanager
def use_tier(name: Tier) -> Iterator[None]:
    """Run kernels in one tier inside of the block."""
    before, _Tiers.forced = _Tiers.forced, name
    try:
        for one in _KERNELS.values():
            one.reset()
        yield
    finally:
        _Tiers.forced = before
        for one in _KERNELS.values():
            one.reset()


class _Hold:
    """The `steady` blocks that are open, in all threads: how many, the number of their run (0 for none) and of the
    last run, and how many calls of a kernel are to come in it. The same for `repeated`: how often all together repeat
    what is inside, and the number of the last run."""

    depth, number, last, num_calls = 0, 0, 0, 1
    repeats, last_repeated = 1, 0


@contextmanager
def repeated(num_times: int) -> Iterator[None]:
    """Inside of the block, kernels are called about so many times, with as much work as the first time.

    For runs that know how many steps they will make, such as Markov chains: what would be interpreted for longer than
    compiling takes is compiled as soon as that is foreseen, which is after the first call at the latest. Blocks within
    one another multiply.
    """
    times = max(1, num_times)
    with _LOCK:
        _Hold.last_repeated += _Hold.repeats == 1
        _Hold.repeats *= times
    try:
        yield
    finally:
        with _LOCK:
            _Hold.repeats //= times


@contextmanager
def steady(num_calls: int = 1) -> Iterator[None]:
    """Inside of the block, a kernel that was interpreted once stays interpreted.

    For runs in which the last digits must not depend on when machine code is ready: those of several threads, say.
    Blocks that are open at the same time, within one another or in several threads, are one run.

    Parameters
    ----------
    num_calls
        About how often each kernel will be called with as much work as the first time.
    """
    with _LOCK:
        _Hold.depth += 1
        if _Hold.depth == 1:
            _Hold.last += 1
            _Hold.number, _Hold.num_calls = _Hold.last, max(1, num_calls)
    try:
        yield
    finally:
        with _LOCK:
            _Hold.depth -= 1
            if _Hold.depth == 0:
                _Hold.number, _Hold.num_calls = 0, 1
