"""`plausible independencies`: what the structure says is independent of what."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import GraphSource, read_graph
from plausible.errors import InvalidArgument
from plausible.graphs import all_independencies, local_independencies, pairwise_independencies

__all__ = ["EXAMPLES", "run"]

EXAMPLES = ("plausible independencies asia", "plausible independencies 'A -> B -> C' --kind all --max-given 1")


class Kind(StrEnum):
    """Which list of statements."""

    LOCAL = "local"
    PAIRWISE = "pairwise"
    ALL = "all"


_LISTS = {Kind.LOCAL: local_independencies, Kind.PAIRWISE: pairwise_independencies}


def run(
    graph: GraphSource,
    kind: Annotated[
        Kind, typer.Option(help="The local Markov property, one statement a pair, or all pairs.")
    ] = Kind.LOCAL,
    max_given: Annotated[
        int | None, typer.Option(min=0, help="With --kind all: at most so many observed variables.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the independencies that a graph implies."""
    if max_given is not None and kind is not Kind.ALL:
        raise InvalidArgument("--max-given goes with --kind all: the other lists observe what they must.")
    found = read_graph(graph)
    statements = all_independencies(found, max_given) if kind is Kind.ALL else _LISTS[kind](found)
    if as_json:
        listed = [{"x": list(s.x), "y": list(s.y), "given": list(s.given)} for s in statements]
        print_json({"kind": kind.value, "independencies": listed})
        return
    for statement in statements:
        print_line(str(statement))
    if not statements:
        print_line("The graph implies no independencies.")
