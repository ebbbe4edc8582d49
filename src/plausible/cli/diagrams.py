"""Influence diagrams as commands take them, and what is said about them in arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

from plausible.cli.evidence import plain, read_findings, shielded
from plausible.cli.options import option
from plausible.cli.source import read_model
from plausible.decisions import InfluenceDiagram
from plausible.decisions.solving.solution import Policy
from plausible.errors import InvalidArgument, InvalidEvidence
from plausible.factors.alignment import assignment_at

DecisionOption = Annotated[str | None, option("The decision meant, where there are several.", "--decision", "-d")]


def read_diagram(source: str, *, recall: bool) -> InfluenceDiagram:
    """The influence diagram in a file, or the example of that name, with perfect recall if that is wanted."""
    model = read_model(source)
    if not isinstance(model, InfluenceDiagram):
        raise InvalidArgument(f"{source!r} has no decisions and utilities; this command needs an influence diagram.")
    return model.with_recall() if recall else model


def diagram_findings(texts: Iterable[str] | None, diagram: InfluenceDiagram) -> dict[str, Any]:
    """Name -> finding, as `evidence=` takes it."""
    return read_findings(texts, diagram.network())


def known_before(texts: Iterable[str] | None, diagram: InfluenceDiagram) -> dict[str, Any]:
    """The findings of `--evidence`: what is known before any decision of the diagram is made.

    Whoever names a decision, or what comes after one, is told how to set that with `--do`.
    """
    found = diagram_findings(texts, diagram)
    for name, finding in found.items():
        is_one = diagram.variables[name].has_state(finding)
        if name in diagram.decisions:
            raise InvalidEvidence(
                f"{name!r} is a decision, and evidence is what is known before all decisions: to set it, write "
                f"--do {name}={finding if is_one else 'action'}."
            )
        if causes := [decision for decision in diagram.decisions if name in diagram.graph.descendants(decision)]:
            made = " ".join(f"--do {decision}=..." for decision in causes)
            raise InvalidEvidence(
                f"{name!r} depends on the decision {causes[0]!r}, so it can't be known before all decisions. Say what "
                f"was decided as well: {made} -e {name}={finding if is_one else 'state'}."
            )
    return found


def with_actions(diagram: InfluenceDiagram, texts: Iterable[str] | None) -> InfluenceDiagram:
    """The diagram with the decisions made that `--do` sets."""
    made = diagram_findings(texts, diagram)
    for name, action in made.items():
        if not diagram.decision(name).variable.has_state(action):
            raise InvalidArgument(f"--do sets the decision {name!r} to one action: write --do {name}=action.")
    return diagram.with_rules(made)


def read_costs(texts: Iterable[str] | None) -> float | dict[str, float]:
    """What observations cost: a number for all, or name=number, separated by commas."""
    costs: dict[str, float] = {}
    for text in texts or ():
        for piece in shielded(text).split(","):
            *name, number = piece.split("=")
            try:
                cost = float(plain(number))
            except ValueError:
                raise InvalidArgument(f"{plain(piece)!r} is no cost: write name=number, or a number for all.") from None
            if cost < 0:
                raise InvalidArgument(f"--cost {plain(piece)} is negative: what it costs to look is 0 or more.")
            if not name:
                if costs or len(list(texts or ())) > 1 or "," in text:
                    raise InvalidArgument(f"{plain(piece)!r} names no variable: write name=number for each.")
                return cost
            costs[plain(name[0])] = cost
    return costs


class Answer(NamedTuple):
    """An answer as text and as JSON holds it, and what else could be asked for."""

    text: str
    document: dict[str, Any]
    hints: tuple[str, ...] = ()


def policy_rows(policy: Policy) -> list[dict[str, Any]]:
    """What to do at a decision as JSON holds it: a row for each thing that may be seen.

    What can't happen has no action and no expected utility (null in JSON).
    """
    rows = zip(policy.actions, policy.expected_utility, policy.probability, strict=True)
    return [
        {
            "seen": dict(assignment_at(policy.uses, row)),
            "action": None if math.isnan(worth[action]) else policy.decision.states[action],
            "expected_utility": None if math.isnan(worth[action]) else float(worth[action]),
            "probability": float(probability),
        }
        for row, (action, worth, probability) in enumerate(rows)
    ]
