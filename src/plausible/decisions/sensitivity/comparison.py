"""Why an action is the best one: what each action brings, utility by utility."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base import Result, TextTable, chart_by, format_number, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import read_decision
from plausible.decisions.information.value import gain
from plausible.decisions.solving.problem import SolvingOptions, impossible, read_findings
from plausible.decisions.solving.solve import Asked
from plausible.decisions.strategy import Strategy
from plausible.decisions.totals import utility_rounding
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownVariable, close_match
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.utilities.local import seen_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike, findings_of

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


@dataclass(frozen=True, slots=True)
class ActionWorth:
    """What an action brings."""

    action: State  # The action
    expected_utility: float  # In total, all other decisions following the strategy
    parts: Mapping[str, float]  # Utility -> its expectation; the parts add up


@record
class ActionComparison(Result):
    """The actions of a decision where something is seen, the best first."""

    _rows = "actions"

    decision: str  # The decision
    seen: Assignment  # What is seen
    #: What each action brings; those as good as the best come first, in the order of the decision.
    actions: tuple[ActionWorth, ...]
    averaged: tuple[str, ...] = ()  # What the decision sees and nothing is said of: the numbers are means over it
    #: Whether the strategy ever gets there; if not, decisions that were seen count as set, whatever they saw.
    is_reached: bool = True
    rounding: float = 0.0  # Expected utilities that differ by no more count as equal

    @property
    def best(self) -> State:
        """The best action; the first of several as good."""
        return self.actions[0].action

    @property
    def lead(self) -> float:
        """How much better it is than the next best; 0 where there is no other."""
        first, *rest = (worth.expected_utility for worth in self.actions)
        return gain(first, rest[0], self.rounding) if rest else 0.0

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
        told = [(utility, gap) for utility, gap in gaps.items() if abs(gap) > self.rounding]
        return dict(sorted(told, key=lambda item: -item[1]))

    def to_table(self) -> TextTable:
        """A row for each action, a column for each utility that differs between actions."""
        names = [utility for utility in self.actions[0].parts if self._spread(utility) > self.rounding]
        rows = tuple(
            (str(worth.action), *map(format_number, (worth.expected_utility, *(worth.parts[u] for u in names))))
            for worth in self.actions
        )
        return TextTable((self.decision, "expected utility", *names), rows, 1)

    def _spread(self, utility: str) -> float:
        parts = [worth.parts[utility] for worth in self.actions]
        return max(parts) - min(parts)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw what each action brings; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_actions", self, ax)

    def __str__(self) -> str:
        where = f" where {seen_text(self.seen)} is seen" if self.seen else ""
        ahead = f"ahead by {format_number(self.lead)}" if self.lead else "a tie"
        ahead = "the only action" if len(self.actions) < 2 else ahead
        over = f" on average over {', '.join(self.averaged)}" if self.averaged else ""
        unsaid = ", as nothing is said of what was seen" if self.averaged and not self.seen else ""
        lines = [f"{self.decision}={self.best}{where}, {ahead}{over}{unsaid}:", str(self.to_table())]
        gaps = self.advantages()
        for word, chosen in (("for", [u for u in gaps if gaps[u] > 0]), ("against", [u for u in gaps if gaps[u] < 0])):
            if chosen:
                lines.append(f"{word} it: {', '.join(f'{u} ({format_number(gaps[u])})' for u in chosen)}")
        same = {u: part for u, part in self.actions[0].parts.items() if self._spread(u) <= self.rounding and part}
        if same:
            lines.append(f"whatever is done: {', '.join(f'{u} ({format_number(part)})' for u, part in same.items())}")
        if not self.is_reached:
            lines.append("The strategy never gets there: the decisions before count as set, whatever they saw.")
        return "\n".join(lines)


def compare_actions(
    diagram: Diagram,
    decision: str | None = None,
    seen: Mapping[str, State] | None = None,
    strategy: Strategy | None = None,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> ActionComparison:
    """E[U_i | seen, action] of each action and utility, all other decisions following a strategy.

    Where the strategy never leads to what is seen, the decisions among it are set: as if whoever took them had done so
    whatever they saw. Only what can't be seen under any strategy is refused.

    `seen` is what the decision sees, all or a part; what is left out is averaged over. The strategy is what the other
    decisions do; by default the best there is.

    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram(
    ...     [pb.TableCPD("rain", [0.5, 0.5], states=["no", "yes"])],
    ...     [pb.Decision("umbrella", ["leave", "take"])],
    ...     [pb.Utility(["rain", "umbrella"], [[10, 10], [0, 10]], "dry"), pb.Utility("umbrella", [0, -2], "burden")],
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
    given = read_seen(diagram, name, seen)
    findings = read_findings(diagram, evidence)
    for other, state in given.items():
        if other in findings and findings[other][diagram.variables[other].index(state)] == 0:
            raise ImpossibleEvidence(f"The evidence rules out that {other}={state} is seen.")
    rules = strategy or Asked(diagram, evidence, options).solved().strategy
    known = {**findings_of(evidence), **given}
    network, is_reached = _reaching(diagram, rules, name, findings_of(evidence), given)
    worths = [_worth(diagram, network, {**known, name: action}, action) for action in diagram.variables[name].states]
    rounding, top = utility_rounding(diagram), max(worth.expected_utility for worth in worths)
    actions = tuple(sorted(worths, key=lambda worth: gain(top, worth.expected_utility, rounding)))
    averaged = tuple(other for other in diagram.decisions[name].sees if other not in given)
    return ActionComparison(name, Assignment(given), actions, averaged, is_reached, rounding)


def read_seen(diagram: Diagram, decision: str, seen: object) -> dict[str, State]:
    """What a decision is said to see; nothing else, and by states that there are."""
    sees = diagram.decisions[decision].sees
    given = {} if seen is None else seen
    if not isinstance(given, Mapping):
        form = ", ".join(f"{name!r}: {diagram.variables[name].states[0]!r}" for name in sees)
        raise InvalidArgument(f"seen={seen!r} does not say what {decision!r} sees: write a mapping, as {{{form}}}.")
    for name, state in given.items():
        if name not in sees:
            what = f"it sees {', '.join(sees)}" if sees else "it sees nothing"
            raise UnknownVariable(f"{decision!r} does not see {name!r}: {what}.{close_match(name, sees)}")
        diagram.variables[name].index(state)
    return dict(given)


def _reaching(
    diagram: Diagram,
    rules: Strategy,
    decision: str,
    evidence: Mapping[str, object],
    seen: Mapping[str, State],
) -> tuple[BayesianNetwork, bool]:
    """A network in which evidence and what is seen are possible, and whether that is the strategy's own.

    The decision takes any action. If need be decisions that were seen do so, too, which sets them where their action is
    known; then all that do not come after the decision.
    """
    others = [other for other in diagram.decisions if other not in diagram.graph.descendants(decision)]
    for place, free in enumerate(([decision], [decision, *(other for other in others if other in seen)], others)):
        variables = [diagram.variables[name] for name in free]
        random = {v.name: Factor([v], np.full(v.num_states, 1.0 / v.num_states)) for v in variables}
        network = diagram.network(rules.replace(random))
        if network.log_probability({**evidence, **seen}) > -math.inf:
            return network, place == 0
    needed = dict(seen)
    for name in seen:
        rest = {other: state for other, state in needed.items() if other != name}
        needed = needed if network.log_probability({**evidence, **rest}) > -math.inf else rest
    if not needed:
        raise impossible(diagram, evidence)
    given = " given the evidence" if evidence else ""
    raise ImpossibleEvidence(
        f"{decision!r} never sees {seen_text(needed)}: that has probability zero{given}, whatever is decided."
    )


def _worth(diagram: Diagram, network: BayesianNetwork, known: Mapping[str, object], action: State) -> ActionWorth:
    parts = {}
    for name, factor in diagram.utility_factors.items():
        if factor.scope:
            belief = network.query(list(factor.names), evidence=known).reorder(factor.names)
            parts[name] = float((belief.values * factor.values).sum())
        else:
            parts[name] = float(factor.values)
    return ActionWorth(action, sum(parts.values()), parts)
