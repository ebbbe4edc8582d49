"""How many strategies a diagram has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.records import Result, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.joint_tree import weighing
from plausible.decisions.solving.problem import read_problem
from plausible.decisions.structure.edits import AllowedActions, allowed_mask, check_allowed
from plausible.errors import TooLarge, counted
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at, num_entries
from plausible.variables import Assignment

#: Counts of more digits than this are given by their logarithm only.
MAX_DIGITS = 100_000


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How many deterministic rules a decision has."""

    decision: str  # Its name
    #: Pairs (actions, states): so many information states leave so many actions to choose from.
    choices: tuple[tuple[int, int], ...]

    @property
    def num_information_states(self) -> int:
        return sum(states for _, states in self.choices)

    @property
    def log10(self) -> float:
        return math.fsum(states * math.log10(actions) for actions, states in self.choices)

    @property
    def total(self) -> int:
        """The number of rules, exactly: an action for each information state."""
        if self.log10 > MAX_DIGITS:
            raise TooLarge(f"{self.decision!r} has 10^{self.log10:.6g} rules, too many digits to list: see log10.")
        return math.prod(actions**states for actions, states in self.choices)


@record
class StrategyCount(Result):
    """How many deterministic strategies a diagram has: one rule for each decision."""

    _rows = "rules"

    rules: tuple[RuleCount, ...]

    @property
    def log10(self) -> float:
        """The decimal logarithm of the number of strategies."""
        return math.fsum(rule.log10 for rule in self.rules)

    @property
    def total(self) -> int:
        """The number of strategies, exactly."""
        return math.prod(rule.total for rule in self.rules)

    def __str__(self) -> str:
        lines = [
            f"{rule.decision}: {_counted(rule.log10, 'rule', 'rules')}, "
            + counted(rule.num_information_states, "information state")
            for rule in self.rules
        ]
        return "\n".join([*lines, _counted(self.log10, "strategy", "strategies")])


def count_strategies(
    diagram: Diagram, allowed: Mapping[str, AllowedActions] | None = None, only_possible: bool = False
) -> StrategyCount:
    """The number of deterministic strategies: Π_D |actions of D|^(information states of D), exactly."""
    limits = {} if allowed is None else allowed
    check_allowed(limits)
    for name in limits:
        diagram.decision(name)
    possible = information_probabilities(diagram) if only_possible else {}
    counts = []
    for name, decision in diagram.decisions.items():
        num_actions, num_states = len(decision.states), num_entries(diagram.information(name))
        choices: tuple[tuple[int, int], ...] = ((num_actions, num_states),)
        if name in limits or only_possible:
            is_open = allowed_mask(diagram, name, limits[name]).sum(axis=-1).ravel() if name in limits else None
            num_open = np.full(num_states, num_actions) if is_open is None else is_open
            kept = num_open[possible[name].flat > 0] if only_possible else num_open
            actions, states = np.unique(kept, return_counts=True)
            choices = tuple(zip(actions.tolist(), states.tolist(), strict=True))
        counts.append(RuleCount(name, choices))
    return StrategyCount(tuple(counts))


def information_probabilities(diagram: Diagram) -> dict[str, Factor]:
    """For each decision the probability of what it sees if all actions are taken at random.

    An entry is zero where, whatever is done, it can't be seen. Decisions that see nothing have the number one. All come
    from one clique tree.

    >>> import plausible as pb
    >>> first, second = pb.Decision("first", 2), pb.Decision("second", 2, sees=["first", "coin"])
    >>> diagram = pb.InfluenceDiagram([pb.TableCPD("coin", [0.75, 0.25])], [first, second])
    >>> information_probabilities(diagram)["second"].values
    array([[0.375, 0.125],
           [0.375, 0.125]])
    """
    problem = read_problem(diagram, {})
    tree = weighing(problem, problem.uniform_rules())
    probabilities = {}
    for name in diagram.decisions:
        seen = tree.family(name)[0][..., 0]
        probabilities[name] = Factor(diagram.information(name), seen / seen.sum())
    return probabilities


def impossible_information(diagram: Diagram) -> dict[str, tuple[Assignment, ...]]:
    """For each decision the information states that have probability zero whatever is done.

    >>> import plausible as pb
    >>> sky = pb.TableCPD("sky", [0.6, 0.4, 0.0], states=["blue", "grey", "green"])
    >>> impossible_information(pb.InfluenceDiagram([sky], [pb.Decision("go", 2, sees=["sky"])]))
    {'go': (Assignment(sky='green'),)}
    """
    return {
        name: tuple(assignment_at(factor.scope, int(place)) for place in np.flatnonzero(factor.flat == 0))
        for name, factor in information_probabilities(diagram).items()
    }


def _counted(log10: float, one: str, many: str) -> str:
    """A number of things, a large one in a few characters."""
    if log10 < 9:
        number = round(10**log10)
        return f"{number} {one if number == 1 else many}"
    exponent = math.floor(log10)
    return f"{10 ** (log10 - exponent):.2f}e{exponent} {many}"
