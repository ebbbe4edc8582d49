"""Sweeps of label moves, each the best of exponentially many by one cut: what their engines share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_seconds
from plausible.errors import ImpossibleEvidence
from plausible.inference.info import QueryInfo
from plausible.inference.iteration import IterativeEngine
from plausible.inference.optimization.pairwise_energy import ROUNDING, PairwiseEnergy, minimize_binary
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.search.clock import Clock
from plausible.search.run import Run

__all__ = ["LabelMoves", "LabelState", "best_choice", "check_tables"]


#: The numbers that are looked at at once.
_BLOCK = 2**22


_SETTLED = "No single move helps; DualDecomposition() or LinearRelaxation() may prove that nothing does."
_UNFINISHED = "Raise max_steps= or time_limit=: moves that help may be left."


@dataclass(frozen=True, slots=True, eq=False)
class LabelState:
    """Where a search by label moves is."""

    states: Ints  # the position of each variable's state, in the order of the problem
    energy: float  # -log Π φ of them, `problem.log_scale` left out; inf where some factor is zero
    num_steps: int = 0  # sweeps over all labels
    residual: float = np.inf  # by how much the last sweep lowered the energy
    converged: bool = False  # whether no move lowers it any more


class LabelMoves(IterativeEngine[LabelState], Optimizer):
    """Sweeps of moves, each the best of exponentially many and found by one cut, until none helps."""

    __slots__ = ()

    max_steps: int
    time_limit: float | None

    def __post_init__(self) -> None:
        check_count("max_steps", self.max_steps, 1)
        check_seconds("time_limit", self.time_limit)

    def init(self, problem: Problem) -> LabelState:
        """Each variable at the best label of its own factors; refuses factors that the moves can't handle."""
        return _start(problem, self._read(problem))

    def step(self, problem: Problem, state: LabelState) -> LabelState:
        """One sweep: every move once, kept where it lowers the energy."""
        return self._sweep(problem, self._read(problem), Clock.of(None), state)

    def run(
        self,
        problem: Problem,
        start: LabelState | Run[LabelState] | None = None,
        progress: Callable[[LabelState], object] | None = None,
    ) -> Run[LabelState]:
        """Sweeps until no move helps, `max_steps` were made, those before `start` included, or the time is up."""
        return self._run(problem, self._read(problem), start, progress)

    def optimize(self, problem: Problem) -> Optimum:
        """Labels that no single move makes better."""
        energy = self._read(problem)
        if (energy.unary.min(axis=1) == np.inf).any():
            raise ImpossibleEvidence.outright()
        state = self._run(problem, energy).state
        least = self._least_energy(energy, state)
        info = QueryInfo(
            self._title(),
            exact=False,
            converged=state.converged,
            num_steps=state.num_steps,
            residual=state.residual,
            advice=_SETTLED if state.converged else _UNFINISHED,
        )
        return Optimum(state.states, -least, info)

    def _run(
        self,
        problem: Problem,
        energy: PairwiseEnergy,
        start: LabelState | Run[LabelState] | None = None,
        progress: Callable[[LabelState], object] | None = None,
    ) -> Run[LabelState]:
        clock = Clock.of(self.time_limit)
        sweep = partial(self._sweep, problem, energy, clock)
        return self._iterate(sweep, _start(problem, energy) if start is None else start, progress, clock)

    def _sweep(self, problem: Problem, energy: PairwiseEnergy, clock: Clock, state: LabelState) -> LabelState:
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

    def _read(self, problem: Problem) -> PairwiseEnergy:
        energy = PairwiseEnergy.of(problem, self._title().capitalize())
        self._check(problem, energy)
        return energy

    def _least_energy(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """What no labelling is below: each label and each pair at its least, or what the moves prove."""
        pairs = energy.tables.min(axis=(1, 2), initial=np.inf)[energy.which]
        return max(float(energy.unary.min(axis=1).sum() + pairs.sum()), self._proved(energy, state))

    @abstractmethod
    def _proved(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """A lower bound on all energies from the fact that no move helps; -inf for none."""

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None: ...

    @abstractmethod
    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]: ...

    @abstractmethod
    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints: ...


def _start(problem: Problem, energy: PairwiseEnergy) -> LabelState:
    labels = energy.unary.argmin(axis=1)
    return LabelState(energy.states(problem, labels), energy.value(labels))


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
        found = minimize_binary(unary, inside[both], tables[both])
    except ImpossibleEvidence:
        return labels
    moved = labels.copy()
    moved[moving] = choices[np.arange(len(moving)), found.labels]
    return moved


def check_tables(energy: PairwiseEnergy, excess: Callable[[Floats], Floats]) -> tuple[int, tuple[int, ...]] | None:
    """A factor whose table has a positive excess, and where; each different table is looked at once, some at a time."""
    num_blocks = max(1, energy.tables.size // _BLOCK)
    for block in np.array_split(np.unique(energy.which), num_blocks):  # factors of one pair are one table by now
        for table, *place in np.argwhere(excess(energy.tables[block]) > ROUNDING)[:1].tolist():
            pair = int(np.flatnonzero(energy.which == block[table])[0])
            return int(energy.sources[pair]), tuple(place)
    return None
