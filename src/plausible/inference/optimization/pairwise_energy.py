"""Energies of labels and of pairs of labels, read from factors; the least of two labels each by a minimum cut."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base import Codes, Flags, Floats, Ints
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors.alignment import scope_text
from plausible.inference.problem import Problem

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
    """A cut between source and sink."""

    is_sink_side: Flags  # the nodes on the side of the sink: as few as a minimum cut can have there
    gap: float  # by how much a better cut can be cheaper at most: what separates this one from the flow that was found


def minimum_cut(from_source: Floats, to_sink: Floats, arcs: Ints, forward: Floats, backward: Floats) -> Cut:
    """A cheapest way to separate the source from the sink (Ford & Fulkerson 1956: it costs what the largest flow has).

    Real capacities are rounded down to whole numbers, for which a maximum flow is found (`scipy`, Dinic's algorithm);
    what it leaves is rounded again, ever finer. What the last cut still lets through bounds its distance from the
    minimum, so the answer carries its proof.
    """
    sides = from_source, to_sink, forward, backward
    # Powers of two: neither capacities nor whole flows are rounded on their way there and back.
    exponent = max(math.frexp(max(float(side[np.isfinite(side)].max(initial=0.0)) for side in sides))[1], -1023)
    first, last, *between = (np.ldexp(side, -exponent) for side in sides)
    network = _Network(len(from_source), arcs)
    capacities = np.concatenate([first, last, between[0], np.zeros(2 * len(first)), between[1]])[network.order]
    is_hard = np.isinf(capacities)  # stands for a number that is larger than all the others together
    capacities[is_hard] = 1.0 + 2.0 * float(capacities[~is_hard].sum())
    bound = min(float(side.sum()) for side in (first, last, capacities))
    if not bound:  # nothing can flow
        return Cut(network.reaching_sink(capacities), 0.0)
    proof = _PROOF * min(bound, max(math.ldexp(1.0, -exponent), _FINEST * bound))
    is_sink_side, left = _round(network, capacities, bound)
    while proof < left < bound:  # a round that gains nothing has met rounding
        bound = left
        is_sink_side, left = _round(network, capacities, bound)
    return Cut(is_sink_side, float(np.ldexp(left, exponent)))


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


class _Network:
    """Arcs in the order of a sparse matrix, each with its reverse; the source and the sink are the last two nodes."""

    def __init__(self, num_inner: int, arcs: Ints) -> None:
        inner = np.arange(num_inner)
        one = np.concatenate([np.full(num_inner, num_inner), inner, arcs[:, 0]])
        other = np.concatenate([inner, np.full(num_inner, num_inner + 1), arcs[:, 1]])
        tails, heads = np.concatenate([one, other]), np.concatenate([other, one])
        self.num_nodes, self.order = num_inner + 2, np.lexsort((heads, tails))
        self.tails, self.heads = tails[self.order], heads[self.order]
        self.reverse = np.argsort(self.order)[(self.order + len(one)) % max(1, len(self.order))]

    def maximum_flow(self, whole: Codes) -> Any:
        """The flow on each arc; that on its reverse is its negative."""
        from scipy.sparse.csgraph import maximum_flow

        return maximum_flow(self._matrix(whole), self.num_nodes - 2, self.num_nodes - 1).flow.data

    def reaching_sink(self, left: Floats | Codes) -> Flags:
        """The inner nodes from which arcs with something left lead to the sink."""
        from scipy.sparse.csgraph import breadth_first_order

        backwards = self._matrix((left[self.reverse] > 0).astype(np.int32))
        backwards.eliminate_zeros()
        reaches = np.zeros(self.num_nodes, dtype=np.bool_)
        reaches[breadth_first_order(backwards, self.num_nodes - 1, return_predecessors=False)] = True
        return reaches[:-2]

    def _matrix(self, numbers: Codes) -> Any:
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.tails, np.arange(self.num_nodes + 1)).astype(np.int32)
        return csr_array((numbers, self.heads.astype(np.int32), starts), shape=(self.num_nodes, self.num_nodes))


#: Energies are logarithms of floats: differences below this are rounding.
ROUNDING = 1e-9

#: The numbers that are looked at at once.
_BLOCK = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseEnergy:
    """E(x) = Σ_i E_i(x_i) + Σ_ij E_ij(x_i, x_j) = -log Π φ, over the variables that have a choice."""

    places: Ints  # the places in the problem of the n variables with more than one state; they all have L states
    unary: Floats  # E_i, shape (n, L); inf for what is ruled out
    pairs: Ints  # the two variables of each of m pairs, shape (m, 2), the lower one first, no pair twice
    #: The different tables among the E_ij, shape (t, L, L), and which of them each pair has: E_ij is the sum over all
    #: factors of the pair. Most models have few tables, so that what is done for each of them costs little.
    tables: Floats
    which: Ints
    sources: Ints  # a factor of the problem for each pair, to name in errors

    @classmethod
    def of(cls, problem: Problem, method: str) -> PairwiseEnergy:
        """Read a problem; one whose factors have three variables with a choice, or states of two counts, is refused."""
        has_choice = problem.sizes > 1
        places = np.flatnonzero(has_choice)
        num_labels = int(problem.sizes[places[0]]) if len(places) else 1
        for place in places[problem.sizes[places] != num_labels][:1]:
            one, other = problem.variables[places[0]], problem.variables[place]
            raise NotSupported(
                f"{method} needs variables with one set of labels, but {one.name!r} has {one.num_states} states and "
                f"{other.name!r} has {other.num_states}. DualDecomposition() and LinearRelaxation() take any."
            )
        owners = np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))
        kept = has_choice[problem.scopes]
        owners, members = owners[kept], (np.cumsum(has_choice) - 1)[problem.scopes[kept]]
        arities = np.bincount(owners, minlength=len(problem.factors))
        for number in np.flatnonzero(arities > 2)[:1]:
            raise NotSupported(
                f"{method} takes factors of one or two variables; that over "
                f"{scope_text(problem.factors[number].scope)} has {arities[number]} with a choice. Split it into "
                "pairs, or use DualDecomposition() or LinearRelaxation()."
            )
        single, double = np.flatnonzero(arities == 1), np.flatnonzero(arities == 2)
        unary = np.zeros((len(places), num_labels))
        cells = problem.table_starts[single][:, None] + np.arange(num_labels)
        np.add.at(unary, members[np.searchsorted(owners, single)], -problem.logs[cells])
        firsts = np.searchsorted(owners, double)
        kinds, which = _different(problem.logs, problem.table_starts[double], num_labels**2)
        tables = (0.0 - kinds).reshape(-1, num_labels, num_labels)
        ends = np.stack([members[firsts], members[firsts + 1]], axis=1)
        pairs, tables, which, firsts = _merged(ends, tables, which)
        return cls(places, unary, pairs, tables, which, double[firsts])

    @property
    def num_labels(self) -> int:
        """L."""
        return int(self.unary.shape[1])

    def value(self, labels: Ints) -> float:
        """E of a label for each variable."""
        return float(
            self.unary[np.arange(len(labels)), labels].sum()
            + self.tables[self.which, labels[self.pairs[:, 0]], labels[self.pairs[:, 1]]].sum()
        )

    def states(self, problem: Problem, labels: Ints) -> Ints:
        """The labels as states of all variables of the problem."""
        states = np.zeros(len(problem.variables), dtype=np.int64)
        states[self.places] = labels
        return states


def _different(numbers: Floats, starts: Ints, size: int) -> tuple[Floats, Ints]:
    """The different ones among stretches of numbers of one size, and which of them each stretch is.

    Found by a hash of the bits, and compared afterwards; some at a time, so that little is copied.
    """
    inside = np.arange(size)
    multipliers = np.random.default_rng(0).integers(1, 2**63, size=size, dtype=np.uint64) | np.uint64(1)
    blocks = np.array_split(starts, max(1, len(starts) * size // _BLOCK))
    bits = (numbers[block[:, None] + inside].view(np.uint64) for block in blocks)
    hashes = np.concatenate([(some * multipliers).sum(axis=1, dtype=np.uint64) for some in bits])
    _, firsts, which = np.unique(hashes, return_index=True, return_inverse=True)
    different = numbers[starts[firsts][:, None] + inside]
    rows = zip(blocks, np.array_split(which, len(blocks)), strict=True)
    if all(np.array_equal(numbers[block[:, None] + inside], different[own]) for block, own in rows):
        return different, which
    return numbers[starts[:, None] + inside], np.arange(len(starts))


def _merged(pairs: Ints, tables: Floats, which: Ints) -> tuple[Ints, Floats, Ints, Ints]:
    """Each pair once, the lower variable first: pairs, tables, which table each has, and where it came first."""
    swapped = (pairs[:, 0] > pairs[:, 1]).astype(np.int64)
    codes, which = np.unique(2 * which + swapped, return_inverse=True)
    tables = np.where((codes % 2 == 1)[:, None, None], tables[codes // 2].transpose(0, 2, 1), tables[codes // 2])
    pairs = np.sort(pairs, axis=1)
    keys = pairs[:, 0] * (1 + pairs.max(initial=0)) + pairs[:, 1]
    unique, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    if len(unique) < len(pairs):
        is_shared = np.bincount(groups)[groups] > 1
        shared, own = np.unique(groups[is_shared], return_inverse=True)
        sums = np.zeros((len(shared), *tables.shape[1:]))
        np.add.at(sums, own, tables[which[is_shared]])
        which[is_shared] = len(tables) + own
        tables = np.concatenate([tables, sums])
    return pairs[firsts], tables, which[firsts], firsts


def minimize_binary(unary: Floats, pairs: Ints, pairwise: Floats) -> tuple[Ints, float]:
    """The least Σ E_i + Σ E_ij over labels 0 and 1, of submodular tables, by a minimum cut (Koller & Friedman, §13.6).

    Each table is rewritten as E(0,0) + p x + q y + a (1-x) y + b x (1-y) with a, b ≥ 0: p and q join the energies of
    the two labels, and a and b are the capacities of the arcs between the two nodes. Ties go to label 0. The labels,
    and by how much the energy of better ones can be lower: rounding at most.
    """
    costs, tables = unary.copy(), pairwise.copy()
    # Rows and columns of nothing but inf move into the energies of the labels, and then repeat the other one, since
    # they no longer matter: inf is left only where the labels differ.
    for end in (0, 1):
        view = tables if end == 0 else tables.transpose(0, 2, 1)
        for label in (0, 1):
            dead = np.isinf(view[:, label]).all(axis=1)
            costs[pairs[dead, end], label] = np.inf
            view[dead, label] = view[dead, 1 - label]
    if np.isinf(costs).all(axis=1).any():
        raise ImpossibleEvidence.outright()
    low, high = tables[:, 1, 1] - tables[:, 0, 1], tables[:, 1, 0] - tables[:, 0, 0]
    first = np.where(np.isinf(low), high, np.where(np.isinf(high), low, 0.0))
    is_soft = np.isfinite(low) & np.isfinite(high)
    first[is_soft] = (low[is_soft] + high[is_soft]) / 2
    first[np.isinf(first)] = 0.0
    np.add.at(costs[:, 1], pairs[:, 0], first)
    np.add.at(costs[:, 1], pairs[:, 1], tables[:, 1, 1] - tables[:, 0, 0] - first)
    costs -= costs.min(axis=1, keepdims=True)
    # a node on the source's side has label 0: it is cut from the sink, and from the neighbours that have label 1.
    cut = minimum_cut(costs[:, 1], costs[:, 0], pairs, np.maximum(first - low, 0.0), np.maximum(high - first, 0.0))
    return cut.is_sink_side.astype(np.int64), cut.gap
