"""Solving sequential diagrams: rollback in which equal sub-problems are solved once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plausible.base.display import format_number
from plausible.base.options import check_count
from plausible.base.records import record
from plausible.decisions.asymmetric.history_reads import KnownAnswers, NotedHistory
from plausible.decisions.asymmetric.plan import (
    History,
    NextStep,
    PlanBranch,
    best_step,
    met_twice,
    missing_outcome,
    plan_text,
    read_history,
)
from plausible.decisions.asymmetric.posteriors import Posteriors
from plausible.decisions.asymmetric.recursion import Work, run_recursion
from plausible.decisions.rounding import utility_rounding
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.variables import State

if TYPE_CHECKING:
    from plausible.decisions.asymmetric.sequential import SequentialDiagram

__all__ = ["SequentialSolution", "solve_sequential"]


@dataclass(frozen=True, slots=True)
class _Subproblem:
    """What is to be had from a node on.

    Attributes
    ----------
    value
        The expected sum of the utilities that are still to come.
    options
        At a choice: action -> the same where it is taken.
    reads
        The names in the history on which this depends.
    has_choice
        Whether anything is decided from here on.
    """

    value: float
    options: dict[State, float]
    reads: frozenset[str]
    has_choice: bool


@record(eq=False)
class SequentialSolution:
    """The best plan of a sequential diagram.

    Attributes
    ----------
    expected_utility
        That of the best plan.
    num_subproblems
        How many different sub-problems were solved: a node, with all that matters of what was met before it.
    diagram
        The diagram.
    """

    expected_utility: float
    num_subproblems: int
    diagram: SequentialDiagram
    _rollback: _Rollback = field(repr=False)

    def next_step(self, history: History) -> NextStep | None:
        """The best thing to do after all that was met; `None` where nothing is left to decide."""
        return best_step(self.steps(history), utility_rounding(self.diagram.parts))

    def steps(self, history: History) -> tuple[NextStep, ...]:
        """The open actions of the decision that comes next, with what each brings where the best is done after it."""
        name, met = self._walk(history)
        if name is None:
            return ()
        found = self._rollback.solve(name, met)
        if found.has_choice and not found.options:
            raise missing_outcome([name])
        paid = self.diagram.paid(met)
        return tuple(NextStep(name, action, paid + value) for action, value in found.options.items())

    def branches(self, history: History) -> tuple[PlanBranch, ...]:
        """What may be met before the next decision, with its probability; what comes after the last one is left out."""
        name, met = self._walk(history)
        return tuple(self._branches(name, met, PlanBranch({}, 1.0)))

    def _branches(self, name: str | None, met: History, before: PlanBranch) -> Iterator[PlanBranch]:
        found = None if name is None else self._rollback.solve(name, met)
        if name is None or found is None or found.options or not found.has_choice:
            yield before
            return
        for state, chance in self._rollback.posteriors.of(name, met).items():
            after = {**met, name: state}
            branch = PlanBranch({**before.seen, name: state}, before.probability * chance)
            yield from self._branches(self.diagram.next_node(name, after), after, branch)

    def _walk(self, history: History) -> tuple[str | None, dict[str, State]]:
        """The first node that is not in a history, and what was met before it."""
        read_history(history, self.diagram.variables, "this diagram")
        following: str | None = self.diagram.first
        met: dict[str, State] = {}
        while following is not None and following in history and following not in met:
            state = history[following]
            if following in self.diagram.decisions and state not in self.diagram.open_actions(following, met):
                raise InvalidArgument(f"{following}={state} is not open after {met}.")
            met[following] = state
            following = self.diagram.next_node(following, met)
        if never := [other for other in history if other not in met]:
            raise InvalidArgument(f"{never} can't be met after {met}: what comes next is {following!r}.")
        return following, met

    def __str__(self) -> str:
        solved = counted(self.num_subproblems, "sub-problem")
        first = f"Expected utility {format_number(self.expected_utility)} by the best plan ({solved})."
        return f"{first}\n{plan_text(self)}".rstrip()


def solve_sequential(diagram: SequentialDiagram, max_subproblems: int = 100_000) -> SequentialSolution:
    """The best plan of a sequential diagram by rollback, exactly.

    What a sub-problem depends on is noted while it is solved: what guards read, which utilities are still open, and
    which of the things met the chances to come are not independent of. All histories that agree on this share it, so
    that the work is that of the different sub-problems and not of the paths.

    Parameters
    ----------
    diagram
        The diagram.
    max_subproblems
        `TooLarge` beyond it.

    References
    ----------
    Covaliu & Oliver (1995), Representation and solution of decision problems using sequential decision diagrams.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, SequentialDiagram
    >>> from plausible.utilities import Utility
    >>> coins = [TableCPD(f"coin {i}", [0.5, 0.5], states=["heads", "tails"]) for i in range(3)]
    >>> stops = [Decision(f"stake {i}", ["no", "yes"]) for i in range(3)]
    >>> wins = [Utility(f"coin {i}", [2, -1]) for i in range(3)]
    >>> path = {f"stake {i}": {"no": None, "yes": f"coin {i}"} for i in range(3)}
    >>> path |= {"coin 0": "stake 1", "coin 1": "stake 2", "coin 2": None}
    >>> solution = solve_sequential(SequentialDiagram(coins, stops, wins, first="stake 0", next=path))
    >>> solution.expected_utility, solution.num_subproblems, solution.diagram.decision_tree().num_nodes
    (1.5, 6, 29)
    """
    check_count("max_subproblems", max_subproblems, 1)
    rollback = _Rollback(diagram, max_subproblems)
    value = diagram.paid({}) + rollback.solve(diagram.first, {}).value
    return SequentialSolution(value, rollback.num_solved, diagram, rollback)


class _Rollback:
    """Sub-problems, each solved when it is first needed."""

    def __init__(self, diagram: SequentialDiagram, max_subproblems: int) -> None:
        self.posteriors = Posteriors(diagram.parts)
        self._diagram, self._max_subproblems = diagram, max_subproblems
        self._known: dict[str, KnownAnswers[_Subproblem]] = {name: KnownAnswers() for name in diagram.next}
        self.num_solved = 0

    def solve(self, name: str, met: History) -> _Subproblem:
        """What is to be had from a node on, where this was met before."""
        return run_recursion(self._solving, (name, met))

    def _solving(self, request: tuple[str, History]) -> Work[tuple[str, History], _Subproblem]:
        name, met = request
        known = self._known[name].find(met)
        if known is None:
            if self.num_solved >= self._max_subproblems:
                raise TooLarge(
                    f"There are more than max_subproblems={self._max_subproblems} sub-problems: let guards read less, "
                    "or raise the limit."
                )
            self.num_solved += 1
            known = yield from self._branching(name, met)
            self._known[name].add(met, known.reads, known)
        return known

    def _branching(self, name: str, met: History) -> Work[tuple[str, History], _Subproblem]:
        reads: set[str] = set()
        is_choice = name in self._diagram.decisions
        chances = dict[State, float]() if is_choice else self._chances(name, met, reads)
        states = self._diagram.open_actions(name, self._noted(met, reads)) if is_choice else tuple(chances)
        values, has_choice = {}, is_choice
        for state in states:
            now = {**met, name: state}
            values[state] = self._diagram.paid(self._noted(now, reads), by=name)
            following = self._diagram.next_node(name, self._noted(now, reads))
            if following is not None:
                reads.add(following)
                if following in now:
                    raise met_twice(following, now)
                below = yield following, now
                reads |= below.reads
                values[state] += below.value
                has_choice = has_choice or below.has_choice
        value = max(values.values()) if is_choice else math.fsum(chances[state] * values[state] for state in states)
        return _Subproblem(value, values if is_choice else {}, frozenset(reads - {name}), has_choice)

    def _chances(self, name: str, met: History, reads: set[str]) -> dict[State, float]:
        reads |= self.posteriors.reads(name, met)
        return dict(self.posteriors.of(name, met))

    def _noted(self, history: History, reads: set[str]) -> NotedHistory:
        return NotedHistory(history, self._diagram.next, reads)
