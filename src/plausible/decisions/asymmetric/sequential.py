"""Sequential decision diagrams, solved by rollback in which equal sub-problems are solved once, and their trees."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from plausible.base import Result, check_count, format_number, record
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
from plausible.decisions.asymmetric.problems import NotedHistory, SequentialProblem
from plausible.decisions.diagram import Diagram
from plausible.decisions.totals import utility_rounding
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode
from plausible.decisions.trees.tree import DecisionTree
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, counted
from plausible.utilities.local import seen_text
from plausible.variables import State

Request = TypeVar("Request")
Answer = TypeVar("Answer")
#: A call that yields the requests whose answers it needs, and returns its own answer.
Work: TypeAlias = Generator[Request, Answer, Answer]
#: Stands for the state of what was not met.
_ABSENT = object()


class SequentialDiagram(SequentialProblem):
    """A decision problem as a walk from node to node, each of which comes up in some contexts only.

    A network tells how likely things are, another graph what is met when: chance variables where they are seen, in any
    order, and decisions, which know all that was met. Chances are those of the network given all that was met, so that
    effects may be seen before causes. A utility counts on the paths that meet all of its variables, and on no others.

    The functions are kept as they are: a diagram can be pickled, and so sent to another process, only if they can.
    Those that are defined in a module can, lambdas can't.

    Covaliu & Oliver (1995), Representation and solution of decision problems using sequential decision diagrams.
    Jensen, Nielsen & Shenoy (2006), Sequential influence diagrams.

    Parameters
    ----------
    chance
        A network, or conditional distributions of the chance variables; decisions may be parents.
    decisions
        The decisions, without `sees`.
    utilities
        The parts of the total utility, which add.
    first
        The name of the first node.
    next
        For each node that can be met, what comes next: a name, `None` for the end, a mapping from the states of the
        node to these, or a function of all that was met, which it gets as a mapping from names to states.
    allowed
        For some decisions a function of all that was met that tells which actions are open; by default all are.

    Examples
    --------
    Build a reactor of the usual kind or an advanced one, of which parts can be tested; where the test goes badly, the
    advanced one is not permitted. What is tested comes of what will happen, and is seen before it:

    >>> import plausible as pb
    >>> usual = pb.TableCPD("usual", [0.98, 0.02], states=["works", "fails"])
    >>> advanced = pb.TableCPD("advanced", [0.66, 0.244, 0.096], states=["works", "limited accident", "major accident"])
    >>> result = pb.TableCPD("result", [[0, 0.182, 0.818], [0.288, 0.565, 0.147], [0.313, 0.437, 0.25]], ["advanced"],
    ...                   states=["bad", "good", "excellent"])
    >>> def permitted(met):
    ...     return ["none", "usual"] if met.get("result") == "bad" else ["none", "usual", "advanced"]
    >>> reactor = SequentialDiagram(
    ...     [usual, advanced, result],
    ...     [pb.Decision("test", ["no", "yes"]), pb.Decision("build", ["none", "usual", "advanced"])],
    ...     [pb.Utility("test", [0, -1]), pb.Utility("usual", [8, -4]), pb.Utility("advanced", [12, -6, -10])],
    ...     first="test",
    ...     next={"test": {"no": "build", "yes": "result"}, "result": "build", "usual": None, "advanced": None,
    ...           "build": {"none": None, "usual": "usual", "advanced": "advanced"}},
    ...     allowed={"build": permitted},
    ... )
    >>> print(reactor.solve())
    Expected utility 8.12931 by the best plan (10 sub-problems).
    next: test=yes
      if result=bad (0.10032): build=usual, worth 6.76
      if result=good (0.299932): build=usual, worth 6.76
      if result=excellent (0.599748): build=advanced, worth 9.04314
    """

    __slots__ = ()

    def solve(self, max_subproblems: int = 100_000) -> SequentialSolution:
        """The best plan by rollback, exactly.

        What a sub-problem depends on is noted while it is solved: what guards read, which utilities are still open, and
        which of the things met the chances to come are not independent of. All histories that agree on this share it,
        so that the work is that of the different sub-problems and not of the paths; `TooLarge` where there are more
        than `max_subproblems` (Covaliu & Oliver 1995).
        """
        check_count("max_subproblems", max_subproblems, 1)
        rollback = _Rollback(self, max_subproblems)
        value = self.paid({}) + rollback.solve(self.first, {}).value
        return SequentialSolution(value, rollback.num_solved, self, rollback)

    def decision_tree(self, max_outcomes: int = 100_000) -> DecisionTree:
        """This problem as a decision tree: all paths, also those with equal ends.

        Branches of probability zero and closed actions are left out; trees with more outcomes are refused.

        >>> import plausible as pb
        >>> coin, play = pb.TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]), pb.Decision("play", ["no", "yes"])
        >>> path = {"play": {"no": None, "yes": "coin"}, "coin": None}
        >>> diagram = SequentialDiagram([coin], [play], [pb.Utility("coin", [2, -1])], first="play", next=path)
        >>> print(diagram.decision_tree())
        □ play
        ├─ no: 0
        └─ yes: ○ coin
           ├─ heads (0.5): 2
           └─ tails (0.5): -1
        """
        check_count("max_outcomes", max_outcomes, 1)
        posteriors, num_outcomes = _Posteriors(self.parts), 0

        def node(request: tuple[str | None, History]) -> Work[tuple[str | None, History], TreeNode]:
            """The node that comes after all that was met."""
            nonlocal num_outcomes
            name, met = request
            if name is None:
                num_outcomes += 1
                if num_outcomes > max_outcomes:
                    raise TooLarge(
                        f"The decision tree has more than max_outcomes={max_outcomes} outcomes: solve() the diagram "
                        "itself, or raise the limit."
                    )
                return Outcome(self.paid(met))
            if name in met:
                raise met_twice(name, met)
            is_choice = name in self.decisions
            chances = {} if is_choice else posteriors.of(name, met)
            children = {}
            for state in self.open_actions(name, met) if is_choice else chances:
                now = {**met, name: state}
                children[state] = yield self.next_node(name, now), now
            if is_choice:
                return Choice(name, children)
            return Chance(name, {state: (chance, children[state]) for state, chance in chances.items()})

        start: tuple[str | None, History] = (self.first, {})
        return DecisionTree(_run_recursion(node, start))


@record(eq=False)
class SequentialSolution(Result):
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
        solved = self._rollback.solve(name, met)
        if solved.has_choice and not solved.options:
            raise missing_outcome([name])
        paid = self.diagram.paid(met)
        return tuple(NextStep(name, action, paid + value) for action, value in solved.options.items())

    def branches(self, history: History) -> tuple[PlanBranch, ...]:
        """What may be met before the next decision, with its probability; what comes after the last one is left out."""
        name, met = self._walk(history)
        return tuple(self._branches(name, met, PlanBranch({}, 1.0)))

    def _branches(self, name: str | None, met: History, before: PlanBranch) -> Iterator[PlanBranch]:
        solved = None if name is None else self._rollback.solve(name, met)
        if name is None or solved is None or solved.options or not solved.has_choice:
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
        #: Node -> the names that answers read -> their states, or absence, -> the answer, which histories share.
        self._known = defaultdict[str, dict[tuple[str, ...], dict[tuple[object, ...], _Subproblem]]](dict)
        self.num_solved = 0

    def solve(self, name: str, met: History) -> _Subproblem:
        """What is to be had from a node on, where this was met before."""
        return _run_recursion(self._solving, (name, met))

    def _solving(self, request: tuple[str, History]) -> Work[tuple[str, History], _Subproblem]:
        name, met = request
        for names, answers in self._known[name].items():
            if (known := answers.get(_part(met, names))) is not None:
                return known
        if self.num_solved >= self._max_subproblems:
            raise TooLarge(
                f"There are more than max_subproblems={self._max_subproblems} sub-problems: let guards read less, "
                "or raise the limit."
            )
        self.num_solved += 1
        answer = yield from self._branching(name, met)
        names = tuple(sorted(answer.reads))
        self._known[name].setdefault(names, {})[_part(met, names)] = answer
        return answer

    def _branching(self, name: str, met: History) -> Work[tuple[str, History], _Subproblem]:
        reads: set[str] = set()
        is_choice, chances = name in self._diagram.decisions, dict[State, float]()
        if is_choice:
            states = self._diagram.open_actions(name, NotedHistory(met, self._diagram.next, reads))
        else:
            reads |= self.posteriors.reads(name, met)
            chances = dict(self.posteriors.of(name, met))
            states = tuple(chances)
        values, has_choice = {}, is_choice
        for state in states:
            now = {**met, name: state}
            noted = NotedHistory(now, self._diagram.next, reads)
            values[state] = self._diagram.paid(noted, by=name)
            following = self._diagram.next_node(name, noted)
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
