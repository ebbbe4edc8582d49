"""Observation plans: what to look at next, by what was seen so far, and when to stop and act; and how to find them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base import Argument, Call, Floats, Ints, Remedy, Result, check_count, format_number, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import SeenTable, read_candidates, seen_tables
from plausible.decisions.totals import utility_rounding
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, counted
from plausible.factors.alignment import assignment_at
from plausible.utilities.local import seen_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike


@dataclass(frozen=True, slots=True)
class Act:
    """Stop looking and act."""

    action: State  # What to do
    expected_utility: float  # What that brings, given all that was seen; costs paid before are not taken off


@dataclass(frozen=True, slots=True)
class Look:
    """Look at a variable, and go on by what is seen."""

    variable: str  # What to look at
    cost: float  # What that costs
    expected_utility: float  # What is to be expected from here on, less this cost and those still to come
    #: State of the variable -> its probability, given all that was seen; states that can't be are left out.
    probability: Mapping[State, float]
    branches: Mapping[State, PlanNode]  # State of the variable -> how to go on


PlanNode = Act | Look


@dataclass(frozen=True, slots=True)
class PlanStart:
    """What the decision sees anyway, how likely that is, and what to do then."""

    seen: Assignment
    probability: float
    node: PlanNode


@record
class ObservationPlan(Result):
    """What to look at before a decision, step by step."""

    decision: str  # The decision
    #: A plan for each thing that the decision sees anyway; a single one where it sees nothing.
    starts: tuple[PlanStart, ...]
    expected_utility: float  # Of the plan, net of costs
    without: float  # MEU without any observation
    is_exact: bool  # Whether no plan is better; otherwise each step was chosen as if it were the last one

    @property
    def value(self) -> float:
        """What looking is worth, net of its costs."""
        return self.expected_utility - self.without

    def run(self, states: Mapping[str, State]) -> tuple[tuple[str, ...], State]:
        """The variables that the plan looks at where things are so, and the action that it ends with."""
        starts = [start for start in self.starts if all(_state(states, n) == s for n, s in start.seen.items())]
        if not starts:
            raise ImpossibleEvidence(f"The plan has no start for {dict(states)}: {self.decision!r} never sees that.")
        node = starts[0].node
        looked: tuple[str, ...] = ()
        while isinstance(node, Look):
            state = _state(states, node.variable)
            looked = (*looked, node.variable)
            if state not in node.branches:
                raise ImpossibleEvidence(
                    f"{node.variable}={state} is never seen at this place of the plan: {list(node.branches)} are."
                )
            node = node.branches[state]
        return looked, node.action

    def __str__(self) -> str:
        how = "the best plan" if self.is_exact else "a myopic plan"
        lines = [
            f"Expected utility {format_number(self.expected_utility)} net of costs, by {how}; without looking "
            f"{format_number(self.without)}."
        ]
        for start in self.starts:
            label = f"{seen_text(start.seen)} (probability {format_number(start.probability)}): " if start.seen else ""
            lines += _lines(start.node, self.decision, label, "")
        return "\n".join(lines)


def _state(states: Mapping[str, State], name: str) -> State:
    if name not in states:
        raise InvalidArgument(f"The plan asks for {name!r}: say its state.")
    return states[name]


def _lines(node: PlanNode, decision: str, label: str, indent: str) -> Iterator[str]:
    worth = f"expected utility {format_number(node.expected_utility)}"
    if isinstance(node, Act):
        yield f"{indent}{label}{decision}={node.action} ({worth})"
        return
    cost = f"cost {format_number(node.cost)}, " if node.cost else ""
    yield f"{indent}{label}look at {node.variable} ({cost}{worth})"
    for state, branch in node.branches.items():
        branch_label = f"{node.variable}={state} (probability {format_number(node.probability[state])}): "
        yield from _lines(branch, decision, branch_label, f"{indent}  ")


def count_plans(num_actions: int, sizes: Sequence[int]) -> int:
    """How many conditional plans there are: an action at once, or a variable and a plan for each of its states.

    N(R) = a + Σ_{X in R} N(R - X)^|X|, which grows doubly exponentially (Koller & Friedman 2009, section 23.7.2).

    a is the number of actions, |X| in `sizes` that of the states of each variable that could be looked at.

    >>> [count_plans(2, [2] * number) for number in range(4)]
    [2, 6, 74, 16430]
    """
    check_count("num_actions", num_actions, 1)
    counts: dict[tuple[int, ...], int] = {}

    def plans(left: tuple[int, ...]) -> int:
        if left not in counts:
            rest = (left[:place] + left[place + 1 :] for place in range(len(left)))
            counts[left] = num_actions + sum(plans(others) ** size for others, size in zip(rest, left, strict=True))
        return counts[left]

    return plans(tuple(sorted(sizes)))


#: The entries of all tables of what may be known.
_MAX_ENTRIES = 2**22


def observation_plan(
    diagram: Diagram,
    decision: str | None = None,
    candidates: Iterable[str] | None = None,
    costs: float | Mapping[str, float] | None = None,
    max_number: int | None = None,
    evidence: EvidenceLike | None = None,
    is_myopic: bool = False,
) -> ObservationPlan:
    """The best way to look at some variables one after the other before a decision, each by what the last ones said.

    V(s) = max(max_d E[U | s, d], max_X E[V(s, X) | s] - cost(X)), from all seen back to nothing seen.

    The time is that of tables with Π (k_i + 1) entries, for candidates with k_i states: exponential, for a handful of
    variables. There are doubly exponentially many plans, see `count_plans`.

    Koller & Friedman (2009), Probabilistic graphical models, section 23.7.2.

    Parameters
    ----------
    decision, candidates, costs
        As of `rank_observations`: the decision, the variables that may be looked at, and what it costs to look at each.
    max_number
        At most so many are looked at.
    is_myopic
        Give the plan of one who always makes the best single observation instead, as if it were the last, while one
        pays. It can be far from the best plan, where an observation only says which other one is of use; its expected
        utility is what it really brings. In diagrams too large for a plan, `rank_observations` with all that was seen
        as evidence tells the next step.

    Examples
    --------
    A sign says in which of two boxes the answer lies:

    >>> import plausible as pb
    >>> coins = [pb.TableCPD(name, [0.5, 0.5]) for name in ("sign", "left", "right")]
    >>> right = pb.Utility(["sign", "left", "right", "guess"], lambda s, l, r, g: 10.0 * (g == (r if s else l)))
    >>> diagram = pb.InfluenceDiagram(coins, [pb.Decision("guess", 2)], [right])
    >>> print(observation_plan(diagram, costs=1))
    Expected utility 8 net of costs, by the best plan; without looking 5.
    look at sign (cost 1, expected utility 8)
      sign=0 (probability 0.5): look at left (cost 1, expected utility 9)
        left=0 (probability 0.5): guess=0 (expected utility 10)
        left=1 (probability 0.5): guess=1 (expected utility 10)
      sign=1 (probability 0.5): look at right (cost 1, expected utility 9)
        right=0 (probability 0.5): guess=0 (expected utility 10)
        right=1 (probability 0.5): guess=1 (expected utility 10)

    Whoever looks at a box right away never learns which one counts:

    >>> print(observation_plan(diagram, costs=1, is_myopic=True))
    Expected utility 6.5 net of costs, by a myopic plan; without looking 5.
    look at left (cost 1, expected utility 6.5)
      left=0 (probability 0.5): guess=0 (expected utility 7.5)
      left=1 (probability 0.5): guess=1 (expected utility 7.5)
    """
    name, prices = read_candidates(diagram, decision, candidates, costs)
    names = tuple(prices)
    if len(diagram.decisions) > 1:
        look = f"with_optional_observation(diagram, {names[0] if names else 'X'!r}, cost, {name!r}, sees=...)"
        raise NotSupported(
            f"An observation plan is for one decision; this diagram has {list(diagram.decisions)}. Make each look a "
            f"decision of its own, by diagram = {look} from plausible.decisions, one after the other, where each look "
            "sees the earlier ones: the strategy of diagram.solve() is the best plan."
        )
    if max_number is not None:
        check_count("max_number", max_number)
    if seen := [other for other in names if other in diagram.decisions[name].sees]:
        raise NotSupported(f"{name!r} sees {seen} anyway: leave them out of the candidates.")
    _check_room(diagram, name, names)
    (table,) = seen_tables(diagram, name, [names], evidence)
    most = len(names) if max_number is None else max_number
    return _Tables(table, list(prices.values()), most, utility_rounding(diagram), is_myopic).plan()


def _check_room(diagram: Diagram, decision: str, names: tuple[str, ...]) -> None:
    seen = diagram.decisions[decision].sees
    fixed = math.prod(diagram.variables[name].num_states for name in (*seen, decision))
    entries = fixed * math.prod(diagram.variables[name].num_states + 1 for name in names)
    if entries <= _MAX_ENTRIES:
        return
    size = f"tables of about 10**{math.log10(entries):.0f} entries, beyond the limit of {_MAX_ENTRIES}"
    if fixed > _MAX_ENTRIES:
        raise TooLarge(
            f"A plan has a start for each thing that {decision!r} sees anyway: {counted(len(seen), 'variable')} make "
            f"{size}. Let it see less, by diagram.with_information({{{decision!r}: [...]}}), and give what is known "
            "already as ",
            Argument("evidence"),
            ".",
        )
    raise TooLarge(
        f"A plan for {counted(len(names), 'variable')} needs {size}.",
        remedies=[
            Remedy("name fewer ", Argument("candidates")),
            Remedy(
                *("take one step at a time with ", Call("rank_observations"), " and what was seen as "),
                Argument("evidence"),
            ),
        ],
    )


class _Tables:
    """For each set of candidates seen, by bits: flat tables over what is seen anyway, and these in their order."""

    def __init__(self, table: SeenTable, costs: list[float], most: int, rounding: float, is_myopic: bool) -> None:
        self.table, self.costs, self.most = table, costs, most
        self.rounding, self.is_myopic = rounding, is_myopic
        self.num_starts = math.prod(variable.num_states for variable in table.seen)
        self.sizes = [variable.num_states for variable in table.candidates]
        self.probability: dict[int, Floats] = {}
        self.weighted: dict[int, Floats] = {}
        self.at_once: dict[int, Floats] = {}
        self.worth: dict[int, Floats] = {}
        self.choice: dict[int, Ints] = {}

    def plan(self) -> ObservationPlan:
        everything = (1 << len(self.costs)) - 1
        self.probability[everything] = self.table.probability.reshape(-1)
        self.weighted[everything] = self.table.weighted.reshape(-1, self.table.decision.num_states)
        for seen in sorted(range(1 << len(self.costs)), key=int.bit_count, reverse=True):
            self._settle(seen)
        starts = [
            PlanStart(assignment_at(self.table.seen, row), float(self.probability[0][row]), self._node(0, row))
            for row in range(self.num_starts)
            if self.probability[0][row] > 0
        ]
        return ObservationPlan(
            decision=self.table.decision.name,
            starts=tuple(starts),
            expected_utility=float(self.worth[0].sum()),
            without=float(self.at_once[0].sum()),
            is_exact=not self.is_myopic,
        )

    def _after(self, seen: int, place: int) -> int:
        """The entries of a table for each state of a candidate: the states of those seen that come after it."""
        return math.prod(size for other, size in enumerate(self.sizes) if other > place and seen >> other & 1)

    def _without(self, table: Floats, seen: int, place: int) -> Floats:
        """A table of the set with one more candidate as one of the set: that candidate summed out."""
        shape = (-1, self.sizes[place], self._after(seen, place), *table.shape[1:])
        return np.asarray(table.reshape(shape).sum(axis=1).reshape(-1, *table.shape[1:]))

    def _settle(self, seen: int) -> None:
        """What to do, and what it brings, where these candidates are seen; the larger sets are settled."""
        left = [place for place in range(len(self.costs)) if not seen >> place & 1]
        if left:
            larger = seen | 1 << left[0]
            self.probability[seen] = self._without(self.probability[larger], seen, left[0])
            self.weighted[seen] = self._without(self.weighted[larger], seen, left[0])
        phi = self.probability[seen]
        self.at_once[seen] = self.weighted[seen].max(axis=-1)
        options, judged = [self.at_once[seen]], [self.at_once[seen] + self.rounding * phi]  # a tie is no reason to look
        for place in left if seen.bit_count() < self.most else ():
            larger, price = seen | 1 << place, self.costs[place] * phi
            options.append(self._without(self.worth[larger], seen, place) - price)
            judged.append(self._without(self.at_once[larger], seen, place) - price if self.is_myopic else options[-1])
        picked = np.argmax(judged, axis=0)
        self.worth[seen] = np.array(options)[picked, np.arange(len(phi))]
        self.choice[seen] = np.array([-1, *left], dtype=np.int64)[picked]

    def _node(self, seen: int, row: int) -> PlanNode:
        """The plan from here on."""
        phi = float(self.probability[seen][row])
        worth = float(self.worth[seen][row]) / phi
        place = int(self.choice[seen][row])
        if place < 0:
            return Act(self.table.decision.states[int(self.weighted[seen][row].argmax())], worth)
        variable, larger = self.table.candidates[place], seen | 1 << place
        before, after = divmod(row, self._after(seen, place))
        probability, branches = {}, {}
        for number, state in enumerate(variable.states):
            further = (before * variable.num_states + number) * self._after(seen, place) + after
            share = float(self.probability[larger][further]) / phi
            if share > 0:
                probability[state], branches[state] = share, self._node(larger, further)
        return Look(variable.name, self.costs[place], worth, probability, branches)
