"""Influence diagrams as commands take them, and what is said about them in arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from plausible.cli.evidence import read_findings
from plausible.cli.quoting import parts, plain, read_signs
from plausible.cli.source import read_model
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument

__all__ = [
    "DecisionOption",
    "DiagramSource",
    "WithRecall",
    "diagram_findings",
    "read_costs",
    "read_diagram",
    "with_actions",
]

DiagramSource = Annotated[
    str,
    typer.Argument(
        metavar="DIAGRAM",
        help="A file with an influence diagram, or the name of an example such as oil.",
        show_default=False,
    ),
]
DecisionOption = Annotated[
    str | None, typer.Option("--decision", "-d", help="The decision meant, where there are several.")
]
WithRecall = Annotated[
    bool, typer.Option("--recall", help="Let every decision see what earlier ones saw and chose, as other programs do.")
]


def read_diagram(source: str, *, recall: bool) -> InfluenceDiagram:
    """The influence diagram in a file, or the example of that name, with perfect recall if that is wanted."""
    model = read_model(source)
    if not isinstance(model, InfluenceDiagram):
        raise InvalidArgument(f"{source!r} has no decisions and utilities; this command needs an influence diagram.")
    return model.with_recall() if recall else model


def diagram_findings(texts: Iterable[str] | None, diagram: InfluenceDiagram) -> dict[str, Any]:
    """Name -> finding, as `evidence=` takes it."""
    return read_findings(texts, diagram.network())


def with_actions(diagram: InfluenceDiagram, texts: Iterable[str] | None) -> InfluenceDiagram:
    """The diagram with the decisions made that `--do` sets."""
    made = diagram_findings(texts, diagram)
    for name, action in made.items():
        if not diagram.decision(name).variable.has_state(action):
            raise InvalidArgument(f"--do sets the decision {name!r} to one action: write --do {name}=action.")
    return diagram.with_rules(made)


def read_costs(texts: Iterable[str] | None) -> float | dict[str, float]:
    """What observations cost: a number for all, or name=number, separated by commas.

    >>> read_costs(["survey=1, test=2.5"]), read_costs(["0.5"])
    ({'survey': 1.0, 'test': 2.5}, 0.5)
    """
    costs: dict[str, float] = {}
    for text in texts or ():
        for piece in parts(read_signs(text), ","):
            *name, number = parts(piece, "=")
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
