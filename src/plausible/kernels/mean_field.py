"""Coordinate ascent on the energy functional of factored beliefs: expected logarithms of factors, one part left free.

A factor touches parts of several blocks of variables. The beliefs about all parts lie in one row of numbers, `q`; for
each entry of a factor and each of its parts, `places` says which of these numbers belongs to it:

    links[f] = (start of its logarithms, its entries, start of its places, its parts, its height)
    places[links[f, 2] + entry * parts + part] = a place in q

A factor without parts lies inside one block and is passed over. A factor of two variables in two parts has as height
the number of states of the first, others have zero; for it the places of its first entry are enough.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import inlined_kernel, kernel


@kernel(steps=lambda *arguments: 2 * arguments[-1].size)
def lay_out_places(sizes: Ints, scope_starts: Ints, scopes: Ints, slots: Ints, links: Ints, places: Ints) -> None:
    """Fill in `places`; slots[s] = (part, stride in it, where the beliefs of the part begin) for each axis s."""
    for f in range(len(links)):
        _, num_entries, first, num_parts, height = links[f]
        if num_parts == 0:
            continue
        for entry in range(1 if height > 0 else num_entries):
            at = first + entry * num_parts
            rest = entry
            for s in range(scope_starts[f + 1] - 1, scope_starts[f] - 1, -1):
                size = sizes[scopes[s]]
                places[at + slots[s, 0]] += (rest % size) * slots[s, 1] + slots[s, 2]
                rest //= size


@inlined_kernel
def _add_expected(links: Ints, places: Ints, logs: Floats, q: Floats, f: int, part: int, out: Floats) -> None:
    """Add E[log φ | the part's state] to `out`; beliefs of zero hide logarithms of zero."""
    start, num_entries, first, num_parts, height = links[f]
    if height > 0:
        width = num_entries // height
        num_states, num_others = (height, width) if part == 0 else (width, height)
        step, other_step = (width, 1) if part == 0 else (1, width)
        for y in range(num_others):
            weight = q[places[first + 1 - part] + y]
            for x in range(num_states if weight > 0.0 else 0):
                out[places[first + part] + x] += weight * logs[start + x * step + y * other_step]
    for entry in range(num_entries if height == 0 else 0):
        at = first + entry * num_parts
        weight = 1.0
        for other in range(num_parts):
            if other != part:
                weight *= q[places[at + other]]
        if weight > 0.0:
            out[places[at + part]] += weight * logs[start + entry]


@kernel(steps=lambda *arguments: arguments[6].size)
def gather(
    first: int,
    last: int,
    starts: Ints,
    use_starts: Ints,
    uses: Ints,
    links: Ints,
    places: Ints,
    logs: Floats,
    q: Floats,
    out: Floats,
) -> None:
    """Σ E[log φ | state] for the states of the pieces from `first` to before `last`; uses[u] = (factor, part)."""
    out[starts[first] : starts[last]] = 0.0
    for u in range(use_starts[first], use_starts[last]):
        _add_expected(links, places, logs, q, uses[u, 0], uses[u, 1], out)


@kernel(steps=lambda *arguments: arguments[5].size)
def update_singles(
    num_singles: int,
    starts: Ints,
    use_starts: Ints,
    uses: Ints,
    links: Ints,
    places: Ints,
    logs: Floats,
    q: Floats,
    out: Floats,
) -> float:
    """q(x) ∝ exp Σ E[log φ | x] for one variable after the other; the largest change, or -1 if no state is possible."""
    residual, before = 0.0, np.empty(np.max(np.diff(starts)) if num_singles > 0 else 0)
    for piece in range(num_singles):
        begin, end = starts[piece], starts[piece + 1]
        out[begin:end] = 0.0
        for u in range(use_starts[piece], use_starts[piece + 1]):
            _add_expected(links, places, logs, q, uses[u, 0], uses[u, 1], out)
        peak, total = -np.inf, 0.0
        for place in range(begin, end):
            peak = max(peak, out[place])
        if peak == -np.inf:
            return -1.0
        for place in range(begin, end):
            before[place - begin], q[place] = q[place], np.exp(out[place] - peak)
            total += q[place]
        for place in range(begin, end):
            q[place] /= total
            residual = max(residual, abs(q[place] - before[place - begin]))
    return residual


@kernel(steps=lambda links, places, *_: places.size)
def expected_log(links: Ints, places: Ints, logs: Floats, q: Floats) -> float:
    """Σ E[log φ] over all factors that have parts."""
    total = 0.0
    for f in range(len(links)):
        start, num_entries, first, num_parts, height = links[f]
        for entry in range(num_entries if num_parts > 0 else 0):
            weight = 1.0
            if height > 0:
                width = num_entries // height
                weight = q[places[first] + entry // width] * q[places[first + 1] + entry % width]
            for part in range(num_parts if height == 0 else 0):
                weight *= q[places[first + entry * num_parts + part]]
            if weight > 0.0:
                total += weight * logs[start + entry]
    return total
