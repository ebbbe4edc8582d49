"""Most probable explanations by minimum cuts: exact for two labels that like to agree, by moves for several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import ClassVar, TypeAlias

import numpy as np

from plausible.base import Checked, Floats, Ints, QueryInfo, check_seconds, whole
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors.alignment import scope_text
from plausible.inference.engine_bases import Optimizer, Optimum, PreparedEngine
from plausible.inference.optimization.pairwise_energy import ROUNDING, PairwiseEnergy, minimize_binary
from plausible.inference.problem import Problem
from plausible.search.run import Clock

#: The numbers that are looked at at once.
_BLOCK = 2**22

_SETTLED = "No single move helps; DualDecomposition() or LinearRelaxation() may prove that nothing does."
_UNFINISHED = "Raise max_steps= or time_limit=: moves that help may be left."


@dataclass(frozen=True, slots=True)
class GraphCut(Optimizer):
    """Find the best assignment of binary variables exactly by a minimum cut, if pairwise factors favour agreement.

    With energies E = -log φ, every pair must satisfy E(0,0) + E(1,1) ≤ E(0,1) + E(1,0); factors over the same pair are
    multiplied first. The best assignment is then a minimum cut of a network with a node for each variable (Greig,
    Porteous & Seheult 1989; Kolmogorov & Zabih 2004; Koller & Friedman 2009, §13.6), and the maximum flow proves it
    optimal. Factors may have zeros. A grid of 200 x 200 pixels takes a fraction of a second.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> agree = [[3.0, 1.0], [1.0, 3.0]]
    >>> factors = [Factor({"A": 2}, [1.0, 4.0]), Factor({"A": 2, "B": 2}, agree), Factor({"B": 2}, [2.0, 1.0])]
    >>> best = GraphCut().best(factors, Evidence.read({}, {}))
    >>> best, best.info.exact
    (Assignment(A=1, B=1), True)
    """

    def optimize(self, problem: Problem) -> Optimum:
        """A minimum cut; refuses more than two states, more than two variables in a factor, and pairs that repel."""
        energy = PairwiseEnergy.of(problem, "A graph cut")
        if energy.num_labels > 2:
            variable = problem.variables[energy.places[0]]
            raise NotSupported(
                f"A graph cut needs binary variables, but {variable.name!r} has {variable.num_states} states. "
                "AlphaExpansion() and AlphaBetaSwap() take several labels."
            )
        info = QueryInfo("graph cut", exact=False)
        if energy.num_labels < 2:
            return Optimum(energy.states(problem, np.empty(0, dtype=np.int64)), 0.0, info)
        if found := first_excess(problem, energy, _attraction):
            scope, _, excess = found
            raise NotSupported(
                f"The factor over {scope} is not submodular: with E = -log φ, E(0,0) + E(1,1) exceeds E(0,1) + E(1,0) "
                f"by {excess:.4g}, so its variables like to differ and no cut stands for it. Renaming the states of "
                "one of them can help; DualDecomposition() and LinearRelaxation() take any factors."
            )
        labels, gap = minimize_binary(energy.unary, energy.pairs, energy.tables[energy.which])
        value = energy.value(labels)
        if value == np.inf:
            raise ImpossibleEvidence.outright()
        return Optimum(energy.states(problem, labels), gap - value, info)


def has_cut(problem: Problem) -> bool:
    """Whether `GraphCut` takes a problem: pairs of binary variables that like to agree, or nothing to choose."""
    if problem.is_impossible or problem.sizes.max(initial=1) > 2:
        return False
    try:
        energy = PairwiseEnergy.of(problem, "A graph cut")
    except NotSupported:
        return False
    return energy.num_labels < 2 or first_excess(problem, energy, _attraction) is None


@dataclass(frozen=True, slots=True, eq=False)
class LabelState:
    """Where a search by label moves is."""

    states: Ints  # the position of each variable's state, in the order of the problem
    energy: float  # -log Π φ of them, `problem.log_scale` left out; inf where some factor is zero
    num_steps: int = 0  # sweeps over all labels
    residual: float = np.inf  # by how much the last sweep lowered the energy
    converged: bool = False  # whether no move lowers it any more


_Prepared: TypeAlias = tuple[Problem, PairwiseEnergy, Clock]


class LabelMoves(PreparedEngine[LabelState], Optimizer, Checked, max_steps=whole(1), time_limit=check_seconds):
    """Sweeps of moves, each the best of exponentially many and found by one cut, until none helps."""

    __slots__ = ()

    max_steps: int
    time_limit: float | None
    _TITLE: ClassVar[str]

    def optimize(self, problem: Problem) -> Optimum:
        """Labels that no single move makes better."""
        clock = Clock.of(self.time_limit)
        _, energy, _ = prepared = self._prepared(problem, clock)
        if (energy.unary.min(axis=1) == np.inf).any():
            raise ImpossibleEvidence.outright()
        state = self._iterate(partial(self._next, prepared), self._first(prepared), clock=clock).state
        pairs = energy.tables.min(axis=(1, 2), initial=np.inf)[energy.which]
        least = max(float(energy.unary.min(axis=1).sum() + pairs.sum()), self._proved(energy, state))
        info = QueryInfo(
            self._TITLE,
            exact=False,
            converged=state.converged,
            num_steps=state.num_steps,
            residual=state.residual,
            advice=_SETTLED if state.converged else _UNFINISHED,
        )
        return Optimum(state.states, -least, info)

    def _prepared(self, problem: Problem, clock: Clock) -> _Prepared:
        """The energies; refuses factors that the moves can't handle."""
        energy = PairwiseEnergy.of(problem, self._TITLE.capitalize())
        self._check(problem, energy)
        return problem, energy, clock

    def _first(self, prepared: _Prepared) -> LabelState:
        """Each variable at the best label of its own factors."""
        problem, energy, _ = prepared
        labels = energy.unary.argmin(axis=1)
        return LabelState(energy.states(problem, labels), energy.value(labels))

    def _next(self, prepared: _Prepared, state: LabelState) -> LabelState:
        """One sweep: every move once, kept where it lowers the energy."""
        problem, energy, clock = prepared
        labels, lowest, is_whole = state.states[energy.places], state.energy, True
        for move in self._moves(energy.num_labels):
            is_whole = is_whole and not clock.is_over
            if not is_whole:
                break
            proposed = self._moved(energy, labels, move)
            value = energy.value(proposed)
            if value < lowest:
                labels, lowest = proposed, value
        drop = state.energy - lowest if lowest < state.energy else 0.0
        is_over = is_whole and drop <= ROUNDING * (1 + abs(lowest))
        return LabelState(energy.states(problem, labels), lowest, state.num_steps + 1, drop, is_over)

    @abstractmethod
    def _proved(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """A lower bound on all energies from the fact that no move helps; -inf for none."""

    @abstractmethod
    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None: ...

    @abstractmethod
    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]: ...

    @abstractmethod
    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints: ...


def best_choice(energy: PairwiseEnergy, labels: Ints, moving: Ints, choices: Ints, touched: Ints) -> Ints:
    """The best labels where each moving variable has one of its two choices; the old ones where all are ruled out.

    `touched` are the pairs with a moving variable; a pair with a single one joins the energies of that variable.
    """
    place = np.full(len(labels), -1)
    place[moving] = np.arange(len(moving))
    options = np.stack([labels, labels], axis=1)
    options[moving] = choices
    pairs = energy.pairs[touched]
    ends = options[pairs[:, 0]][:, :, None], options[pairs[:, 1]][:, None, :]
    tables = energy.tables[energy.which[touched][:, None, None], *ends]
    unary = energy.unary[moving[:, None], choices]
    inside = place[pairs]
    left, right = inside[:, 1] < 0, inside[:, 0] < 0
    np.add.at(unary, inside[left, 0], tables[left, :, 0])
    np.add.at(unary, inside[right, 1], tables[right, 0, :])
    both = ~(left | right)
    try:
        chosen, _ = minimize_binary(unary, inside[both], tables[both])
    except ImpossibleEvidence:
        return labels
    moved = labels.copy()
    moved[moving] = choices[np.arange(len(moving)), chosen]
    return moved


@dataclass(frozen=True, slots=True)
class AlphaExpansion(LabelMoves):
    """Improve labels by α-expansions: any set of variables may switch to α at once (Boykov, Veksler & Zabih 2001).

    With energies E = -log φ, each pair must satisfy E(a,b) + E(α,α) ≤ E(a,α) + E(α,b) for all labels: metrics do, such
    as Potts' [a ≠ b] and truncated distances min(|a - b|, k); truncated squares don't. For a metric the energy is at
    most 2c times the least one, c being the largest ratio of two energies of different labels of a pair; the bound
    in `.info.error` follows from that. With two labels the condition is that of `GraphCut`, and what no expansion
    improves is best: E(x ∧ x*) + E(x ∨ x*) ≤ E(x) + E(x*), and both of these are expansions of x. One cut for each
    label and sweep; a few sweeps are enough in practice.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> potts = np.exp(np.eye(3))
    >>> factors = [Factor({"A": 3, "B": 3}, potts), Factor({"B": 3, "C": 3}, potts), Factor({"A": 3}, [1, 1, 9])]
    >>> AlphaExpansion().best(factors, Evidence.read({}, {}))
    Assignment(A=2, B=2, C=2)
    """

    max_steps: int = 50
    time_limit: float | None = None
    _TITLE: ClassVar[str] = "alpha-expansion"

    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None:
        for label in range(energy.num_labels):
            if found := first_excess(problem, energy, partial(_detour, label)):
                scope, (a, b), _ = found
                raise NotSupported(
                    f"The factor over {scope} is no metric: with E = -log φ and states by position, E({a},{b}) + "
                    f"E({label},{label}) exceeds E({a},{label}) + E({label},{b}), so no cut finds the best expansion. "
                    "AlphaBetaSwap() asks less; DualDecomposition() takes any factors."
                )

    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]:
        return ((label,) for label in range(num_labels))

    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints:
        """The best labelling where each variable keeps its label or takes α."""
        choices = np.stack([labels, np.full_like(labels, move[0])], axis=1)
        return best_choice(energy, labels, np.arange(len(labels)), choices, np.arange(len(energy.pairs)))

    def _proved(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """E(x) ≤ U(x*) + 2c P(x*) at a local minimum x of a metric, split into single labels U and pairs P.

        With two labels x is a best one.
        """
        if energy.num_labels == 2 and state.converged and np.isfinite(state.energy):
            return state.energy - 2 * state.residual
        ratio = _metric_ratio(energy.tables)
        if not state.converged or not np.isfinite(state.energy) or not np.isfinite(ratio):
            return -np.inf
        least_unary = float(energy.unary.min(axis=1).sum())
        return least_unary + (state.energy - state.residual - least_unary) / (2 * ratio)


@dataclass(frozen=True, slots=True)
class AlphaBetaSwap(LabelMoves):
    """Improve labels by α-β-swaps: variables labelled α or β may exchange them (Boykov, Veksler & Zabih 2001).

    With energies E = -log φ, each pair must satisfy E(α,α) + E(β,β) ≤ E(α,β) + E(β,α): semi-metrics do, such as
    truncated squares min((a - b)², k), which need no triangle inequality. No guarantee on the energy, except that with
    two labels it is a graph cut, hence exact. One cut for each pair of labels and sweep.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> smooth = np.exp(-np.minimum(np.subtract.outer(range(3), range(3)) ** 2, 3.0))
    >>> factors = [Factor({"A": 3, "B": 3}, smooth), Factor({"A": 3}, [9, 1, 1]), Factor({"B": 3}, [1, 1, 2])]
    >>> AlphaBetaSwap().best(factors, Evidence.read({}, {}))
    Assignment(A=0, B=0)
    """

    max_steps: int = 50
    time_limit: float | None = None
    _TITLE: ClassVar[str] = "alpha-beta-swap"

    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None:
        if found := first_excess(problem, energy, _attraction):
            scope, (a, b), _ = found
            raise NotSupported(
                f"The factor over {scope} is no semi-metric: with E = -log φ and states by position, E({a},{a}) + "
                f"E({b},{b}) exceeds E({a},{b}) + E({b},{a}), so no cut finds the best swap. DualDecomposition() and "
                "LinearRelaxation() take any factors."
            )

    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]:
        return combinations(range(num_labels), 2)

    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints:
        """The best labelling where each variable at one of the two labels takes either."""
        is_moving = np.isin(labels, move)
        moving = np.flatnonzero(is_moving)
        choices = np.tile(np.array(move, dtype=np.int64), (len(moving), 1))
        return best_choice(energy, labels, moving, choices, np.flatnonzero(is_moving[energy.pairs].any(axis=1)))

    def _proved(self, energy: PairwiseEnergy, state: LabelState) -> float:
        is_best = energy.num_labels == 2 and state.converged and np.isfinite(state.energy)
        return state.energy if is_best else -np.inf


def first_excess(
    problem: Problem, energy: PairwiseEnergy, excess: Callable[[Floats], Floats]
) -> tuple[str, tuple[int, ...], float] | None:
    """The first factor whose table has an excess above rounding: its variables, where, and how much.

    Each different table is looked at once, some at a time; factors of one pair are one table by now.
    """
    used, is_bad = np.unique(energy.which), np.zeros(len(energy.tables), dtype=np.bool_)
    for block in np.array_split(used, max(1, energy.tables.size // _BLOCK)):
        is_bad[block] = (excess(energy.tables[block]) > ROUNDING).any(axis=(1, 2))
    for pair in np.flatnonzero(is_bad[energy.which])[:1]:
        table = excess(energy.tables[energy.which[pair], None])[0]
        place = tuple(np.argwhere(table > ROUNDING)[0].tolist())
        return scope_text(problem.factors[energy.sources[pair]].scope), place, float(table[place])
    return None


def _detour(label: int, tables: Floats) -> Floats:
    """By how much E(a,b) + E(α,α) exceeds E(a,α) + E(α,b)."""
    through = tables[:, :, label, None] + tables[:, None, label, :]
    return _beyond(tables + tables[:, label, label, None, None], through)


def _attraction(tables: Floats) -> Floats:
    """By how much E(a,a) + E(b,b) exceeds E(a,b) + E(b,a): pairs are submodular where it does not."""
    own = np.diagonal(tables, axis1=1, axis2=2)
    return _beyond(own[:, :, None] + own[:, None, :], tables + tables.transpose(0, 2, 1))


def _beyond(alike: Floats, different: Floats) -> Floats:
    """The first less the second; inf on both sides is no excess, since what is ruled out anyhow cuts can say."""
    is_free = np.isinf(different)
    return np.where(is_free, -np.inf, alike - np.where(is_free, 0.0, different))


def _metric_ratio(pairwise: Floats) -> float:
    """c, the largest ratio of two energies of different labels of one pair; inf if no metric is seen."""
    num_labels = pairwise.shape[1]
    if len(pairwise) == 0 or num_labels < 2:
        return 1.0
    different = pairwise[:, ~np.eye(num_labels, dtype=np.bool_)]
    own = np.diagonal(pairwise, axis1=1, axis2=2)
    if np.abs(own).max() > ROUNDING or different.min() <= 0 or different.max() == np.inf:
        return np.inf
    return float((different.max(axis=1) / different.min(axis=1)).max())
