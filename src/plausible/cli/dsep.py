"""`plausible dsep`: are two sets of variables separated by what is observed, and why?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plausible.cli.causal_graphs import read_causal_source
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.quoting import names_in
from plausible.cli.source import GraphSource, read_model
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, MAG, CausalGraph, UndirectedGraph

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "plausible dsep asia smoke tub --given xray",
    "plausible dsep 'D -> G <- I; G -> L' D I --given L",
    "plausible dsep 'S -> T -> C; S <-> C' S C --given T",
)

Side = Annotated[str, typer.Argument(help="Names, separated by commas.", show_default=False)]


def run(
    graph: GraphSource,
    x: Side,
    y: Side,
    given: Annotated[str, typer.Option(help="What is observed: names, separated by commas.")] = "",
    as_json: AsJson = False,
) -> None:
    """Tell whether X and Y are d-separated, and by which trails.

    With <-> for hidden common causes it is m-separation.
    """
    found = read_causal_source(graph, (DAG, UndirectedGraph, CausalGraph, MAG), model=read_model).graph
    left, right, observed = names_in(x), names_in(y), names_in(given)
    if not left or not right:
        raise InvalidArgument("Name the variables on both sides, as in: plausible dsep asia smoke tub.")
    document: dict[str, Any] = {"x": left, "y": right, "given": observed}
    if isinstance(found, DAG | CausalGraph):
        explanation = found.explain_separation(left, right, given=observed)
        document["separated"] = explanation.separated
        document["trails"] = [
            {"trail": str(trail), "active": trail.is_active, "because": [str(junction) for junction in trail.junctions]}
            for trail in explanation.trails
        ]
        text = str(explanation)
    else:
        ask = found.separated if isinstance(found, UndirectedGraph) else found.m_separated
        document["separated"] = ask(left, right, given=observed)
        verdict = "separated" if document["separated"] else "connected"
        text = f"{', '.join(left)} and {', '.join(right)} are {verdict} given {', '.join(observed) or 'nothing'}"
    if as_json:
        print_json(document)
    else:
        print_line(text)
