"""Observation plans: what to look at next, depending on what was seen so far, and when to stop and act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from plausible.base.display import format_number
from plausible.base.options import check_count
from plausible.base.records import record
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.utilities.wording import seen_text
from plausible.variables import Assignment, State


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
class ObservationPlan:
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

    Parameters
    ----------
    num_actions
        a.
    sizes
        The number of states of each variable that could be looked at.

    Examples
    --------
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
