"""Solving sequential problems: rollback in which equal sub-problems are solved once, and the tree of all paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from plausible.base.display import format_number
from plausible.base.options import check_count
from plausible.base.records import record
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
from plausible.decisions.asymmetric.sequential_problem import NotedHistory, SequentialProblem
from plausible.decisions.diagram import Diagram
from plausible.decisions.totals import utility_rounding
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode
from plausible.decisions.trees.tree import DecisionTree
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, counted
from plausible.utilities.wording import seen_text
from plausible.variables import State

Request = TypeVar("Request")
Answer = TypeVar("Answer")
#: A call that yields the requests whose answers it needs, and returns its own answer.
Work: TypeAlias = Generator[Request, Answer, Answer]
#: Stands for the state of what was not met.
_ABSENT = object()


@record(eq=False)
class SequentialSolution:
    """The best plan of a sequential diagram."""

    expected_utility: float  # That of the best plan
    #: How many different sub-problems were solved: a node, with all that matters of what was met before it.
    num_subproblems: int
    diagram: SequentialProblem  # The diagram
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


def solve_sequential(diagram: SequentialProblem, max_subproblems: int) -> SequentialSolution:
    """The best plan of a sequential problem by rollback, exactly."""
    check_count("max_subproblems", max_subproblems, 1)
    rollback = _Rollback(diagram, max_subproblems)
    value = diagram.paid({}) + rollback.solve(diagram.first, {}).value
    return SequentialSolution(value, rollback.num_solved, diagram, rollback)


@dataclass(frozen=True, slots=True)
class _Subproblem:
    """What is to be had from a node on."""

    value: float  # the expected sum of the utilities that are still to come
    options: dict[State, float]  # at a choice: action -> the same where it is taken
    reads: frozenset[str]  # the names in the history on which this depends
    has_choice: bool  # whether anything is decided from here on


class _Rollback:
    """Sub-problems, each solved when it is first needed."""

    def __init__(self, diagram: SequentialProblem, max_subproblems: int) -> None:
        self.posteriors = _Posteriors(diagram.parts)
        self._diagram, self._max_subproblems = diagram, max_subproblems
        self._known: dict[str, _KnownAnswers[_Subproblem]] = {name: _KnownAnswers() for name in diagram.next}
        self.num_solved = 0

    def solve(self, name: str, met: History) -> _Subproblem:
        """What is to be had from a node on, where this was met before."""
        return _run_recursion(self._solving, (name, met))

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


class _Posteriors:
    """P(node | all that was met) in a diagram whose decisions see nothing; each answer is computed once."""

    def __init__(self, parts: Diagram) -> None:
        self._parts = parts
        self._network = parts.network(parts.uniform_strategy())
        self._sources: dict[tuple[str, frozenset[str]], tuple[frozenset[str], frozenset[str]]] = {}
        self._answers: dict[tuple[str, frozenset[tuple[str, State]]], Mapping[State, float]] = {}

    def of(self, name: str, met: History) -> Mapping[State, float]:
        """State -> its probability; those that can't be are left out."""
        used, _ = self._sources_of(name, met)
        evidence = {other: met[other] for other in used}
        key = name, frozenset(evidence.items())
        if key not in self._answers:
            answer = self._network.query(name, evidence=evidence)
            states = self._parts.variables[name].states
            chances = zip(states, answer.values.tolist(), strict=True)
            self._answers[key] = {state: chance for state, chance in chances if chance > 0}
        return self._answers[key]

    def reads(self, name: str, met: History) -> frozenset[str]:
        """The names on whose states, or on whose absence, the answer depends."""
        return frozenset.union(*self._sources_of(name, met))

    def _sources_of(self, name: str, met: History) -> tuple[frozenset[str], frozenset[str]]:
        """What was met and tells something about a node beside the rest, and what would, had it been met.

        With M for what was met and R for the first set, d-separation gives X ⟂ M - R | R and X ⟂ all but the second set
        | M: by contraction, any other history with the same states of R and nothing from the second set has the same
        posterior P(X | R).
        """
        names = frozenset(met)
        key = name, names
        if key not in self._sources:
            graph = self._network.graph
            above = graph.ancestors(name)
            if early := [decision for decision in self._parts.decisions if decision in above - names]:
                raise InvalidModel(
                    f"The chances of {name!r} depend on {early}, which are not made on the path "
                    f"{seen_text(met) or 'that begins with it'}: let "
                    f"next= come to them before {name!r}."
                )
            reached = graph.d_connected(name, given=names)  # active trails to what was met end beside these
            near = names & {str(other) for node in reached for other in graph.markov_blanket(node)}
            used = {other for other in near if other in graph.d_connected(name, given=names - {other})}
            self._sources[key] = frozenset(used), frozenset(map(str, reached - {name}))
        return self._sources[key]


class _KnownAnswers(Generic[Answer]):
    """Answers by the part of a history on which they depend: those that agree on it share one."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, ...], dict[tuple[object, ...], Answer]] = {}

    def add(self, history: Mapping[str, State], reads: set[str] | frozenset[str], answer: Answer) -> None:
        """Keep an answer that was found by reading these names only."""
        names = tuple(sorted(reads))
        self._tables.setdefault(names, {})[_part(history, names)] = answer

    def find(self, history: Mapping[str, State]) -> Answer | None:
        """An answer for a history that agrees on all that was read, if there is one."""
        for names, table in self._tables.items():
            if (key := _part(history, names)) in table:
                return table[key]
        return None


def _part(history: Mapping[str, State], names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(history.get(name, _ABSENT) for name in names)


def _run_recursion(begin: Callable[[Request], Work[Request, Answer]], request: Request) -> Answer:
    """The answer of a recursive function that is written as a generator, as deep as there is memory: `yield` calls."""
    calls = [begin(request)]
    answer: Any = None  # what starts a generator, before there is an answer to give
    while True:
        try:
            wanted = calls[-1].send(answer)
        except StopIteration as done:
            calls.pop()
            answer = done.value
            if not calls:
                return answer  # type: ignore[no-any-return]  # what a call returns
        else:
            calls.append(begin(wanted))
            answer = None


# --- all paths ---


def sequential_tree(diagram: SequentialProblem, max_outcomes: int) -> DecisionTree:
    """The decision tree of a sequential problem: all paths, also those with equal ends."""
    check_count("max_outcomes", max_outcomes, 1)
    start: tuple[str | None, History] = (diagram.first, {})
    return DecisionTree(_run_recursion(_Unrolling(diagram, max_outcomes).node, start))


class _Unrolling:
    """All paths as nodes of a tree."""

    def __init__(self, diagram: SequentialProblem, max_outcomes: int) -> None:
        self._diagram, self._max_outcomes = diagram, max_outcomes
        self._posteriors = _Posteriors(diagram.parts)
        self._num_outcomes = 0

    def node(self, request: tuple[str | None, History]) -> Work[tuple[str | None, History], TreeNode]:
        """The node that comes after all that was met."""
        name, met = request
        if name is None:
            return self._outcome(met)
        if name in met:
            raise met_twice(name, met)
        is_choice = name in self._diagram.decisions
        chances = {} if is_choice else self._posteriors.of(name, met)
        children = {}
        for state in self._diagram.open_actions(name, met) if is_choice else chances:
            now = {**met, name: state}
            children[state] = yield self._diagram.next_node(name, now), now
        if is_choice:
            return Choice(name, children)
        return Chance(name, {state: (chance, children[state]) for state, chance in chances.items()})

    def _outcome(self, met: History) -> Outcome:
        self._num_outcomes += 1
        if self._num_outcomes > self._max_outcomes:
            raise TooLarge(
                f"The decision tree has more than max_outcomes={self._max_outcomes} outcomes: solve() the diagram "
                "itself, or raise the limit."
            )
        return Outcome(self._diagram.paid(met))
