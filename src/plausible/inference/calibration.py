"""Calibrated clique trees to look into: potentials, messages, beliefs and sepset beliefs as plain factors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from plausible.base import QueryInfo
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable, counted
from plausible.factors import Factor, product
from plausible.factors.alignment import union_scope
from plausible.graphs import CliqueTree, assign_factors
from plausible.inference.elimination import absorb
from plausible.variables import Evidence


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedTree:
    """A clique tree after both passes of sum-product messages."""

    tree: CliqueTree  # The cliques and edges
    potentials: tuple[Factor, ...]  # For each clique ψ_i, the product of the factors assigned to it: Π φ = Π ψ_i
    #: (i, j) -> δ_{i→j} = Σ_{C_i - S_ij} ψ_i Π_{k≠j} δ_{k→i} over the sepset, up to a constant: its largest entry is
    #: one.
    messages: Mapping[tuple[int, int], Factor]
    beliefs: tuple[Factor, ...]  # For each clique β_i = ψ_i Π_k δ_{k→i}, normalised: P(C_i | e)
    #: For each edge, in the order of `tree.edges`, μ_ij = Σ_{C_i - S_ij} β_i = δ_{i→j} δ_{j→i}, normalised: P(S_ij |
    #: e).
    sepset_beliefs: tuple[Factor, ...]
    log_total: float  # log Σ Π φ: log Z of a Markov network, log P(e) of a Bayesian network

    def __repr__(self) -> str:
        return f"CalibratedTree({counted(len(self.beliefs), 'clique')}, log total {self.log_total:.6g})"

    def is_calibrated(self, tolerance: float = 1e-9) -> bool:
        """Whether neighbours agree: Σ_{C_i - S_ij} β_i = μ_ij = Σ_{C_j - S_ij} β_j for every edge."""
        return all(
            self.beliefs[end].marginal(belief.names).is_close(belief, tolerance)
            for edge, belief in zip(self.tree.edges, self.sepset_beliefs, strict=True)
            for end in edge
        )

    def marginal(self, names: str | Iterable[str]) -> Factor:
        """P(names | e) for variables that lie together in some clique, from the smallest one that has them all."""
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if not any(name in belief.names for belief in self.beliefs):
                raise UnknownVariable.named(name, sorted({n for b in self.beliefs for n in b.names}), "this tree")
        holding = [belief for belief in self.beliefs if set(wanted) <= set(belief.names)]
        if not holding:
            raise NotSupported(
                f"No clique has all of {', '.join(wanted)}. Ask the model with query(), or calibrate a tree made with "
                "these variables joined."
            )
        smallest = min(holding, key=lambda belief: belief.size)
        info = QueryInfo(engine="calibrated tree", cost=smallest.size, largest_table=smallest.size)
        return smallest.marginal(wanted).with_info(info)

    def joint(self) -> Factor:
        """The whole distribution Π β_i / Π μ_ij, with 0/0 = 0: what calibration rewrites the product of factors as.

        >>> chain = [Factor({"A": 2, "B": 2}, [[1, 3], [2, 2]]), Factor({"B": 2, "C": 2}, [[0, 4], [5, 1]])]
        >>> calibrated = calibrate(CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]), chain)
        >>> (calibrated.joint() * math.exp(calibrated.log_total)).is_close(chain[0] * chain[1])
        True
        """
        return product(self.beliefs) / product(self.sepset_beliefs)

    def with_evidence(self, evidence: Evidence) -> CalibratedTree:
        """The tree after new findings, by multiplying beliefs and passing the changes on (belief update).

        Each finding multiplies one belief that has its variable, by 1(Z = z) or by its weights. Then σ_{i→j} =
        Σ_{C_i - S_ij} β_i replaces μ_ij, and β_j is multiplied by σ / μ with 0/0 = 0 (Koller & Friedman 2009, §10.3),
        once along each edge in each direction. Findings can be added in this way but not taken back: what they have
        set to zero is lost. `calibrate` the tree anew for that.
        """
        if evidence.values:
            raise NotSupported("A calibrated tree takes states, collections of states and likelihoods as evidence.")
        beliefs, potentials = list(self.beliefs), list(self.potentials)
        for finding in _findings(self.beliefs, evidence):
            place = next(i for i, belief in enumerate(beliefs) if finding.names[0] in belief.names)
            beliefs[place], potentials[place] = beliefs[place] * finding, potentials[place] * finding
        log_change, sepsets = _update(self.tree, beliefs, list(self.sepset_beliefs))
        return replace(
            self,
            potentials=tuple(potentials),
            messages=_pass_messages(self.tree, potentials, _schedule(self.tree, 0))[0],
            beliefs=tuple(beliefs),
            sepset_beliefs=tuple(sepsets),
            log_total=self.log_total + log_change,
        )


def calibrate(
    tree: CliqueTree, factors: Iterable[Factor], evidence: Evidence | None = None, root: int = 0
) -> CalibratedTree:
    """Two passes of messages over a clique tree, to the root and back, give all beliefs (Shafer & Shenoy 1990).

    Every message waits for those of all other neighbours of its sender, so it equals the sum over everything on the
    sender's side, whichever clique is the root. Two messages an edge suffice for all marginals.

    The tree is a clique tree, such as `junction_tree(graph)` gives, with the scope of each factor, which has no
    negative entries, in some clique; observed variables stay in their cliques. The first pass goes to the root; in a
    forest each further tree has the clique of its lowest number.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment has a positive product.

    Notes
    -----
    Costs, for each clique, its table once for each neighbour. This is the object to learn from and to check with; the
    compiled engine does the same much faster.

    Examples
    --------
    >>> a, b, c = ({name: 2} for name in "ABC")
    >>> tables = [[0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6]]]
    >>> chain = [Factor(scope, table) for scope, table in zip([a, a | b, b | c], tables)]
    >>> result = calibrate(CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]), chain)
    >>> result.sepset_beliefs[0].values.round(6), result.marginal("C").values.round(6)
    (array([0.5, 0.5]), array([0.65, 0.35]))
    """
    listed = list(factors)
    if tree.cliques and not 0 <= root < len(tree.cliques):
        raise InvalidArgument(f"root={root} is no clique of this tree; they are numbered 0 to {len(tree.cliques) - 1}.")
    with _exact_range():
        constant, potentials = _potentials(tree, listed, evidence)
        schedule = _schedule(tree, root)
        messages, log_scale = _pass_messages(tree, potentials, schedule)
        raw = [_product_at(tree, potentials, messages, clique) for clique in range(len(tree.cliques))]
        sepsets = [(messages[i, j] * messages[j, i]).normalize() for i, j in tree.edges]
    totals = [constant, *(raw[clique].sum() for clique, towards in schedule if towards < 0)]
    log_total = log_scale + sum(math.log(_positive(total)) for total in totals)
    beliefs = tuple(belief.normalize() for belief in raw)
    return CalibratedTree(tree, tuple(potentials), messages, beliefs, tuple(sepsets), log_total)


def _potentials(tree: CliqueTree, factors: Sequence[Factor], evidence: Evidence | None) -> tuple[float, list[Factor]]:
    """The product of factors that have no variable, and ψ_i over the whole clique, findings included."""
    known = {v.name: v for v in union_scope(factor.scope for factor in factors)}
    missing = [name for clique in tree.cliques for name in clique if name not in known]
    if missing:
        raise UnknownVariable.named(missing[0], known, "these factors")
    potentials = [Factor.scalar(1.0).extend(known[str(name)] for name in clique) for clique in tree.cliques]
    placed = [factor for factor in factors if factor.scope]
    if evidence is not None:
        absorb((), evidence)  # refuses what is neither a state nor a likelihood
        placed += _findings(placed, evidence)
    for factor, place in zip(placed, assign_factors(tree, [factor.names for factor in placed]), strict=True):
        potentials[place] = potentials[place] * factor
    return math.prod(factor.sum() for factor in factors if not factor.scope), potentials


def _findings(factors: Sequence[Factor], evidence: Evidence) -> list[Factor]:
    """Each finding as a factor over its variable; those on other variables say nothing here."""
    known = {variable.name: variable for factor in factors for variable in factor.scope}
    hard = [Factor.indicator(known[n], known[n].states[state]) for n, state in evidence.hard.items() if n in known]
    return hard + [Factor((known[n],), weights) for n, weights in evidence.soft.items() if n in known]


def _schedule(tree: CliqueTree, root: int) -> list[tuple[int, int]]:
    """Each clique after its neighbour towards the root of its tree, and that neighbour; -1 for a root."""
    order: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in sorted(range(len(tree.cliques)), key=lambda clique: clique != root):
        waiting = [] if start in seen else [(start, -1)]
        while waiting:
            clique, towards = waiting.pop()
            seen.add(clique)
            order.append((clique, towards))
            waiting.extend((other, clique) for other in tree.neighbors(clique) if other != towards)
    return order


def _pass_messages(
    tree: CliqueTree, potentials: Sequence[Factor], schedule: Sequence[tuple[int, int]]
) -> tuple[dict[tuple[int, int], Factor], float]:
    """All messages, to the roots and back, and the logarithm of what was scaled out of those to the roots."""
    messages: dict[tuple[int, int], Factor] = {}

    def send(sender: int, receiver: int) -> float:
        """δ_{sender→receiver} with its largest entry brought to one; the logarithm of what that was."""
        kept = [name for name in potentials[sender].names if name in potentials[receiver].names]
        message = _product_at(tree, potentials, messages, sender, receiver).marginal(kept)
        peak = _positive(message.max())
        messages[sender, receiver] = message / Factor.scalar(peak)
        return math.log(peak)

    log_scale = sum(send(sender, receiver) for sender, receiver in reversed(schedule) if receiver >= 0)
    for receiver, sender in schedule:
        if sender >= 0:
            send(sender, receiver)
    return messages, log_scale


def _product_at(
    tree: CliqueTree,
    potentials: Sequence[Factor],
    messages: Mapping[tuple[int, int], Factor],
    clique: int,
    without: int = -1,
) -> Factor:
    """The potential of a clique times the messages that it got, but that of one neighbour."""
    incoming = [messages[other, clique] for other in tree.neighbors(clique) if other != without]
    return product((potentials[clique], *incoming))


def _update(tree: CliqueTree, beliefs: list[Factor], sepsets: list[Factor]) -> tuple[float, list[Factor]]:
    """Pass changes on along all edges, in place; return the logarithm of what the totals were multiplied by."""
    places = {edge: place for place, edge in enumerate(tree.edges)}
    schedule = _schedule(tree, 0)

    def send(sender: int, receiver: int) -> None:
        place = places.get((sender, receiver), places.get((receiver, sender), -1))
        news = beliefs[sender].marginal(sepsets[place].names)
        beliefs[receiver] = beliefs[receiver] * (news / sepsets[place])
        sepsets[place] = news

    with _exact_range():
        for sender, receiver in reversed(schedule):
            if receiver >= 0:
                send(sender, receiver)
        for receiver, sender in schedule:
            if sender >= 0:
                send(sender, receiver)
        totals = [_positive(beliefs[clique].sum()) for clique, towards in schedule if towards < 0]
        beliefs[:] = [belief.normalize() for belief in beliefs]
        return sum(map(math.log, totals)), [sepset.normalize() for sepset in sepsets]


@contextmanager
def _exact_range() -> Iterator[None]:
    """Refuse products that are too small for a float: a zero must be a true zero."""
    underflows: list[str] = []
    with np.errstate(under="call", call=lambda kind, flag: underflows.append(kind)):
        yield
    if underflows:
        raise NotSupported("The numbers underflow in plain clique tables. Use the compiled engine, CliqueTree().")


def _positive(number: float) -> float:
    if number == 0:
        raise ImpossibleEvidence.outright()
    return number
