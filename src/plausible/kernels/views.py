"""A block of a table and an array that lies on it: multiply, fill, add up.

A *view* says how: the sizes of the block's axes, adjacent ones merged, each with the array's stride along it, 0 where
it has no such axis. Places are unsigned: signed ones may count from the end, and testing for that keeps the compiler
from using wide instructions.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel, reordering_kernel, twin_of


@kernel
def unsigned(number: int) -> np.uint64:
    return np.uint64(number)


@kernel
def inner_axes(view: Ints) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Sizes and strides of the last axis and of the one before it."""
    axes = view.size // 2
    inner, step = unsigned(view[2 * axes - 2]), unsigned(view[2 * axes - 1])
    if axes == 1:
        return inner, step, unsigned(1), unsigned(0)
    return inner, step, unsigned(view[2 * axes - 4]), unsigned(view[2 * axes - 3])


@kernel
def advance(counters: Ints, view: Ints, offset: np.uint64) -> np.uint64:
    """Step the odometer over all but the last two axes of a view; returns the offset in the operand."""
    for axis in range(view.size // 2 - 3, -1, -1):
        counters[axis] += 1
        stride = unsigned(view[2 * axis + 1])
        if counters[axis] < view[2 * axis]:
            return offset + stride
        offset -= unsigned(counters[axis] - 1) * stride
        counters[axis] = 0
    return offset


@kernel
def multiply(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block *= operand."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = unsigned(0), unsigned(offset), unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            if step == 0:
                value = store[base]
                for i in range(inner):
                    block[place + i] *= value
            elif step == 1:
                for i in range(inner):
                    block[place + i] *= store[base + i]
            else:
                for i in range(inner):
                    block[place + i] *= store[base + i * step]
            place += inner
        start = advance(counters, view, start)


@kernel
def add(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block += operand."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = unsigned(0), unsigned(offset), unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            for i in range(inner):
                block[place + i] += store[base + i * step]
            place += inner
        start = advance(counters, view, start)


@kernel
def fill(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """block = operand."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = unsigned(0), unsigned(offset), unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            if step == 0:
                value = store[base]
                for i in range(inner):
                    block[place + i] = value
            elif step == 1:
                for i in range(inner):
                    block[place + i] = store[base + i]
            else:
                for i in range(inner):
                    block[place + i] = store[base + i * step]
            place += inner
        start = advance(counters, view, start)


@reordering_kernel
def accumulate(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """target += the sum of the block over the axes that the target does not have."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = unsigned(0), unsigned(offset), unsigned(block.size)
    while place < end:
        if jump == 0 and step == 1 and inner < 8:  # few sums: each is kept in a register
            for i in range(inner):
                total = 0.0
                for j in range(middle):
                    total += block[place + j * inner + i]
                store[start + i] += total
            place += inner * middle
        else:
            for j in range(middle):
                base = start + j * jump
                if step == 0:
                    total = 0.0
                    for i in range(inner):
                        total += block[place + i]
                    store[base] += total
                elif step == 1:
                    for i in range(inner):
                        store[base + i] += block[place + i]
                else:
                    for i in range(inner):
                        store[base + i * step] += block[place + i]
                place += inner
        start = advance(counters, view, start)


@kernel
def accumulate_max(block: Floats, store: Floats, offset: int, view: Ints, counters: Ints) -> None:
    """target = the larger of itself and the maximum of the block over the axes that the target does not have."""
    inner, step, middle, jump = inner_axes(view)
    counters[: view.size // 2] = 0
    place, start, end = unsigned(0), unsigned(offset), unsigned(block.size)
    while place < end:
        for j in range(middle):
            base = start + j * jump
            for i in range(inner):
                store[base + i * step] = max(store[base + i * step], block[place + i])
            place += inner
        start = advance(counters, view, start)


# --- the same in NumPy ---


def _laid_out(store: Floats, offset: int, view: Ints) -> tuple[list[int], Floats]:
    """The shape of the block, and the operand as it lies on it."""
    numbers = view.tolist()
    shape = numbers[0::2]
    return shape, np.ndarray(shape, np.float64, store, 8 * int(offset), [8 * stride for stride in numbers[1::2]])


def _folded(store: Floats, offset: int, view: Ints) -> tuple[list[int], tuple[int, ...], Floats]:
    """The shape of the block, the axes that the target does not have, and the target with size one along these."""
    numbers = view.tolist()
    sizes, strides = numbers[0::2], numbers[1::2]
    shape = [size if stride else 1 for size, stride in zip(sizes, strides, strict=True)]
    target: Floats = np.ndarray(shape, np.float64, store, 8 * int(offset), [8 * stride for stride in strides])
    return sizes, tuple(axis for axis, stride in enumerate(strides) if not stride), target


@twin_of(multiply)
def _multiply(block: Floats, store: Floats, offset: int, view: Ints, _counters: Ints) -> None:
    shape, operand = _laid_out(store, offset, view)
    shaped = block.reshape(shape)
    np.multiply(shaped, operand, out=shaped)


@twin_of(add)
def _add(block: Floats, store: Floats, offset: int, view: Ints, _counters: Ints) -> None:
    shape, operand = _laid_out(store, offset, view)
    shaped = block.reshape(shape)
    np.add(shaped, operand, out=shaped)


@twin_of(fill)
def _fill(block: Floats, store: Floats, offset: int, view: Ints, _counters: Ints) -> None:
    shape, operand = _laid_out(store, offset, view)
    block.reshape(shape)[...] = operand


@twin_of(accumulate)
def _accumulate(block: Floats, store: Floats, offset: int, view: Ints, _counters: Ints) -> None:
    shape, axes, target = _folded(store, offset, view)
    np.add(target, np.add.reduce(block.reshape(shape), axis=axes, keepdims=True), out=target)


@twin_of(accumulate_max)
def _accumulate_max(block: Floats, store: Floats, offset: int, view: Ints, _counters: Ints) -> None:
    shape, axes, target = _folded(store, offset, view)
    np.maximum(target, np.maximum.reduce(block.reshape(shape), axis=axes, keepdims=True), out=target)
