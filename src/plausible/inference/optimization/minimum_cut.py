"""Minimum s-t cuts with real capacities, proved by a maximum flow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints

__all__ = ["Cut", "minimum_cut"]


#: Flows are found among whole numbers of at most this size: the flow library counts in 32 bits, and what is left of
#: an arc and its reverse together must still fit.
_WHOLE = 2.0**29
#: A cut whose value is nearer than this to that of the flow is minimal; where all that can flow is less than one,
#: nearer than this share of it.
_PROOF = 1e-11
#: Where far more than one can flow, this share of it is as good as one: finer differences are not looked for.
_FINEST = 2.0**-100


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A cut between source and sink.

    Attributes
    ----------
    is_sink_side
        The nodes on the side of the sink: as few as a minimum cut can have there.
    gap
        By how much a better cut can be cheaper at most: what separates this one from the flow that was found.
    rounds
        How many times a flow was looked for, each time among finer numbers.
    """

    is_sink_side: Flags
    gap: float
    rounds: int


def minimum_cut(from_source: Floats, to_sink: Floats, arcs: Ints, forward: Floats, backward: Floats) -> Cut:
    """A cheapest way to separate the source from the sink (Ford & Fulkerson 1956: it costs what the largest flow has).

    Real capacities are rounded down to whole numbers, for which a maximum flow is found (`scipy`, Dinic's
    algorithm); the capacities that it leaves are rounded again, ever finer. What the last cut still lets through
    bounds its distance from the minimum, so the answer carries its proof.

    Parameters
    ----------
    from_source, to_sink
        Capacities between the terminals and each of n nodes; not negative, inf for arcs that must not be cut.
    arcs
        Pairs of nodes, shape (m, 2), no pair twice.
    forward, backward
        Capacities of each pair in its direction and against it, as above.

    Examples
    --------
    >>> cut = minimum_cut(np.array([3.0, 0.0]), np.array([0.0, 2.0]), np.array([[0, 1]]), np.ones(1), np.ones(1))
    >>> cut.is_sink_side.tolist(), cut.gap
    ([False, True], 0.0)
    """
    exponent = _exponent(from_source, to_sink, forward, backward)
    # Powers of two: neither capacities nor whole flows are rounded on their way there and back.
    sides = [np.ldexp(side, -exponent) for side in (from_source, to_sink, forward, backward)]
    network = _Network.of(len(from_source), arcs)
    capacities = _finite(network.capacities(*sides))
    bound = min(float(side.sum()) for side in (*sides[:2], capacities))
    if not bound:  # nothing can flow
        return Cut(network.reaching_sink(capacities), 0.0, 0)
    proof = _PROOF * min(bound, max(math.ldexp(1.0, -exponent), _FINEST * bound))
    is_sink_side, left = _round(network, capacities, bound)
    rounds = 1
    while proof < left < bound:  # a round that gains nothing has met rounding
        bound = left
        is_sink_side, left = _round(network, capacities, bound)
        rounds += 1
    return Cut(is_sink_side, float(np.ldexp(left, exponent)), rounds)


def _exponent(*sides: Floats) -> int:
    """That of the power of two above all capacities that are finite; 0 where there are none."""
    largest = max(float(side[np.isfinite(side)].max(initial=0.0)) for side in sides)
    return max(math.frexp(largest)[1], -1023)


def _round(network: _Network, capacities: Floats, bound: float) -> tuple[Flags, float]:
    """A flow through the capacities, which become what it leaves; the cut that stops it, and what that lets through.

    `bound` is what flows at most, so that arcs that are larger need not be cut, and count as hardly larger.
    """
    scale = 2.0 ** math.floor(math.log2(_WHOLE / bound))
    whole = np.floor(np.minimum(capacities * scale, bound * scale + 1.0)).astype(np.int32)
    flow = network.maximum_flow(whole)
    capacities -= flow / scale
    is_sink_side = network.reaching_sink(whole - flow)
    heads, tails = (np.append(is_sink_side, [False, True])[ends] for ends in (network.heads, network.tails))
    return is_sink_side, float(capacities[heads & ~tails].sum())


def _finite(capacities: Floats) -> Floats:
    """The same with a number for inf that is larger than all the others together."""
    is_hard = np.isinf(capacities)
    return np.where(is_hard, 1.0 + 2.0 * float(capacities[~is_hard].sum()), capacities)


@dataclass(frozen=True, slots=True, eq=False)
class _Network:
    """Arcs in the order of a sparse matrix, each with its reverse; the source and the sink are the last two nodes."""

    num_nodes: int
    tails: Ints
    heads: Ints
    reverse: Ints
    order: Ints

    @classmethod
    def of(cls, num_inner: int, arcs: Ints) -> _Network:
        inner = np.arange(num_inner)
        one = np.concatenate([np.full(num_inner, num_inner), inner, arcs[:, 0]])
        other = np.concatenate([inner, np.full(num_inner, num_inner + 1), arcs[:, 1]])
        tails, heads = np.concatenate([one, other]), np.concatenate([other, one])
        order = np.lexsort((heads, tails))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        reverse = place[(order + len(one)) % max(1, len(order))]
        return cls(num_inner + 2, tails[order], heads[order], reverse, order)

    def capacities(self, from_source: Floats, to_sink: Floats, forward: Floats, backward: Floats) -> Floats:
        nothing = np.zeros(2 * len(from_source))
        return np.concatenate([from_source, to_sink, forward, nothing, backward])[self.order]

    def maximum_flow(self, whole: Codes) -> Any:
        """The flow on each arc; that on its reverse is its negative."""
        from scipy.sparse.csgraph import maximum_flow

        return maximum_flow(self._matrix(whole), self.num_nodes - 2, self.num_nodes - 1).flow.data

    def reaching_sink(self, left: Floats | Codes) -> Flags:
        """The inner nodes from which arcs with something left lead to the sink."""
        from scipy.sparse.csgraph import breadth_first_order

        backwards = self._matrix((left[self.reverse] > 0).astype(np.int32))
        backwards.eliminate_zeros()
        found = breadth_first_order(backwards, self.num_nodes - 1, return_predecessors=False)
        reaches = np.zeros(self.num_nodes, dtype=np.bool_)
        reaches[found] = True
        return reaches[:-2]

    def _matrix(self, numbers: Codes) -> Any:
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.tails, np.arange(self.num_nodes + 1)).astype(np.int32)
        return csr_array((numbers, self.heads.astype(np.int32), starts), shape=(self.num_nodes, self.num_nodes))
