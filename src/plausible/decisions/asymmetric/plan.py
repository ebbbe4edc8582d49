"""Plans: what to do next after each thing that was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeAlias

from plausible.base import Result, format_number, record
from plausible.errors import InvalidArgument, InvalidModel, UnknownState, UnknownVariable
from plausible.utilities.local import seen_text
from plausible.variables import State, Variable

#: What was done and seen so far: name -> action or state.
History: TypeAlias = Mapping[str, State]


@record
class NextStep(Result):
    """A decision to make now, and what it brings."""

    #: What to do.
    decision: str
    action: State
    #: The total to be expected, given what was done and seen, where the best is done after this step.
    expected_utility: float

    def __str__(self) -> str:
        return f"{self.decision}={self.action}, worth {format_number(self.expected_utility)}"


@dataclass(frozen=True, slots=True)
class PlanBranch:
    """Something that may be seen next, and its probability given what was done and seen before."""

    seen: History
    probability: float


class FollowedPlan(Protocol):
    """What can be followed step by step."""

    def branches(self, history: History) -> Sequence[PlanBranch]:
        """What may be seen before there is something to decide; one branch that sees nothing, where that is now."""
        ...

    def next_step(self, history: History) -> NextStep | None:
        """The best thing to do, where all that can be seen by now is in the history; `None` where it is over."""
        ...


def best_step(steps: Sequence[NextStep], rounding: float) -> NextStep | None:
    """The first of the steps that are as good as the best up to rounding."""
    top = max((step.expected_utility for step in steps), default=0.0)
    return next((step for step in steps if step.expected_utility >= top - rounding), None)


def plan_text(plan: FollowedPlan, max_lines: int = 100) -> str:
    """A plan as indented lines: what to do at once, and then by what is seen, with its probability.

    Steps between which nothing new can come out share a line.
    """
    lines = list(islice(_lines(plan, {}, ""), max_lines + 1))
    return "\n".join(lines if len(lines) <= max_lines else [*lines[:max_lines], "..."])


def _lines(plan: FollowedPlan, history: History, indent: str) -> Iterator[str]:
    """The lines for all that may be seen after a history; none where nothing is left to do."""
    branches = plan.branches(history)
    chains = [_chain(plan, {**history, **branch.seen}) for branch in branches]
    if not any(steps for steps, _ in chains):
        return
    for branch, (steps, after) in zip(branches, chains, strict=True):
        what = ", ".join(f"{step.decision}={step.action}" for step in steps) or "nothing more to do"
        if len(branches) == 1:
            yield f"{indent}next: {what}"
        else:
            seen = seen_text(branch.seen)
            worth = f", worth {format_number(steps[0].expected_utility)}" if steps else ""
            yield f"{indent}if {seen} ({format_number(branch.probability)}): {what}{worth}"
        yield from _lines(plan, after, indent + "  ") if steps else ()


def _chain(plan: FollowedPlan, history: History) -> tuple[list[NextStep], History]:
    """The steps until something uncertain is seen, and the history then."""
    steps: list[NextStep] = []
    while (step := plan.next_step(history)) is not None:
        steps.append(step)
        history = {**history, step.decision: step.action}
        branches = plan.branches(history)
        if len(branches) > 1:
            break
        history = {**history, **branches[0].seen}
    return steps, history


def read_history(history: History, variables: Mapping[str, Variable], place: str) -> dict[str, int]:
    """The positions of the states of a history; unknown names and states are refused."""
    positions = {}
    for name, state in history.items():
        UnknownVariable.check(name, variables, place)
        if not variables[name].has_state(state):
            raise UnknownState(f"The history has {name!r}: {variables[name].unknown_state(state)}")
        positions[name] = variables[name].index(state)
    return positions


def missing_outcome(names: Sequence[str]) -> InvalidArgument:
    """The error for a history that leaves out what is seen by now."""
    return InvalidArgument(f"The history does not say what was seen of {list(names)}: add it, or ask for branches().")


def met_twice(name: str, met: History) -> InvalidModel:
    """The error for a walk that comes back to a node."""
    return InvalidModel(f"{name!r} is met twice, after {met}: next= must not lead back to it.")
