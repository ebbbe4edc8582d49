"""The one place that owns the options of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["inlined_kernel", "kernel", "reordering_kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a loop over plain arrays; the machine code is kept on disk, so that only a first run pays for it.

    A kernel checks nothing and raises nothing, hence NumPy's rules for division by zero. It runs without the
    interpreter lock, so callers may use threads. Sums stay in the written order (no fast-math): infinities and NaN
    carry meaning here.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def reordering_kernel(function: Function) -> Function:
    """A kernel whose sums the compiler may reorder, so that it adds several numbers at once.

    For plain sums only. The order depends on the length alone, so the same numbers give the same bits.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})(function))


def inlined_kernel(function: Function) -> Function:
    """A kernel that becomes part of its callers, because passing it two dozen arrays would take as long as its work."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))
