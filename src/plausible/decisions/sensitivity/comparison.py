"""Why an action is the best one: what each action brings, utility by utility."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.information.observing import network_under, read_decision
from plausible.decisions.solving.options import Options
from plausible.decisions.solving.problem import read_findings
from plausible.decisions.solving.solve import solve
from plausible.decisions.strategy import Strategy
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.factors.display import TextTable, format_number
from plausible.models import BayesianNetwork
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike, findings_of

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["ActionComparison", "ActionWorth", "compare_actions"]


@dataclass(frozen=True, slots=True)
class ActionWorth:
    """What an action brings.

    Attributes
    ----------
    action
        The action.
    expected_utility
        In total, all other decisions following the strategy.
    parts
        Utility -> its expectation; the parts add up.
    """

    action: State
    expected_utility: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ActionComparison:
    """The actions of a decision where something is seen, the best first.

    Attributes
    ----------
    decision
        The decision.
    seen
        What is seen.
    actions
        What each action brings.
    """

    decision: str
    seen: Assignment
    actions: tuple[ActionWorth, ...]

    @property
    def best(self) -> State:
        """The best action; the first of several as good."""
        return self.actions[0].action

    @property
    def lead(self) -> float:
        """How much better it is than the next best; 0 where there is no other."""
        return self.actions[0].expected_utility - self.actions[1].expected_utility if len(self.actions) > 1 else 0.0

    def advantages(self, other: State | None = None) -> dict[str, float]:
        """Utility -> by how much the best action is better there than another, by default the next best.

        Utilities that make no difference are left out; the largest advantage comes first.
        """
        rivals = {worth.action: worth for worth in self.actions[1:]}
        if not rivals:
            return {}
        name = self.actions[1].action if other is None else other
        if name not in rivals:
            raise InvalidArgument(f"{name!r} is none of the other actions {list(rivals)} of {self.decision!r}.")
        first, rival = self.actions[0].parts, rivals[name].parts
        gaps = {utility: first[utility] - rival[utility] for utility in first}
        return dict(sorted(((u, gap) for u, gap in gaps.items() if gap), key=lambda item: -item[1]))

    def to_table(self) -> TextTable:
        """A row for each action, a column for each utility that differs between actions."""
        names = [u for u in self.actions[0].parts if len({worth.parts[u] for worth in self.actions}) > 1]
        rows = tuple(
            (str(worth.action), *map(format_number, (worth.expected_utility, *(worth.parts[u] for u in names))))
            for worth in self.actions
        )
        return TextTable((self.decision, "expected utility", *names), rows, 1)

    def __str__(self) -> str:
        seen = ", ".join(f"{name}={state}" for name, state in self.seen.items())
        where = f" where {seen} is seen" if seen else ""
        lines = [f"{self.decision}={self.best}{where}, ahead by {format_number(self.lead)}:", str(self.to_table())]
        gaps = self.advantages()
        for word, chosen in (("for", [u for u in gaps if gaps[u] > 0]), ("against", [u for u in gaps if gaps[u] < 0])):
            if chosen:
                lines.append(f"{word} it: {', '.join(f'{u} ({format_number(gaps[u])})' for u in chosen)}")
        return "\n".join(lines)


def compare_actions(
    diagram: InfluenceDiagram,
    decision: str | None = None,
    seen: Mapping[str, State] | None = None,
    strategy: Strategy | None = None,
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> ActionComparison:
    """E[U_i | seen, action] of each action and utility, all other decisions following a strategy.

    Parameters
    ----------
    diagram
        The influence diagram.
    decision
        The decision; not needed where there is only one.
    seen
        What it sees, all or a part; what is left out is averaged over.
    strategy
        What the other decisions do; by default the best there is.
    evidence
        What is known before any decision is made.
    options
        How to solve diagrams in which decisions rely on each other.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("rain", [0.5, 0.5], states=["no", "yes"])],
    ...     [Decision("umbrella", ["leave", "take"])],
    ...     [Utility(["rain", "umbrella"], [[10, 10], [0, 10]], "dry"), Utility("umbrella", [0, -2], "burden")],
    ... )
    >>> print(compare_actions(diagram))
    umbrella=take, ahead by 3:
    umbrella | expected utility | dry | burden
    ---------+------------------+-----+-------
    take     |                8 |  10 |     -2
    leave    |                5 |   5 |      0
    for it: dry (5)
    against it: burden (-2)
    """
    name = read_decision(diagram, decision)
    given = dict(seen or {})
    findings = read_findings(diagram, evidence)
    for other, state in given.items():
        if other not in diagram.decisions[name].sees:
            raise UnknownVariable.named(other, diagram.decisions[name].sees, f"what {name!r} sees")
        if other in findings and findings[other][diagram.variables[other].index(state)] == 0:
            raise ImpossibleEvidence(f"The evidence rules out that {other}={state} is seen.")
    rules = strategy or solve(diagram, "auto", evidence, options).strategy
    own = diagram.variables[name]
    mixed = Factor([own], np.full(own.num_states, 1.0 / own.num_states))  # the action is given, whatever the rule
    network = network_under(diagram, rules.replace({name: mixed}))
    known = {**findings_of(evidence), **given}
    actions = [_worth(diagram, network, {**known, name: action}, action) for action in own.states]
    return ActionComparison(name, Assignment(given), tuple(sorted(actions, key=lambda worth: -worth.expected_utility)))


def _worth(
    diagram: InfluenceDiagram, network: BayesianNetwork, known: Mapping[str, object], action: State
) -> ActionWorth:
    parts = {}
    for name, factor in diagram.utility_factors.items():
        if factor.scope:
            belief = network.query(list(factor.names), evidence=known).reorder(factor.names)
            parts[name] = float((belief.values * factor.values).sum())
        else:
            parts[name] = float(factor.values)
    return ActionWorth(action, sum(parts.values()), parts)
