"""`plausible show`: the structure and the distributions of a model, or a graph alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from plausible.cli.causal_graphs import ANY_CLASS, graph_text, read_written_graph
from plausible.cli.commands import command
from plausible.cli.output import AsJson, print_answer, print_json, print_line
from plausible.cli.source import read_model
from plausible.cpds import CPD
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import UndirectedGraph
from plausible.io import Model
from plausible.models import BayesianNetwork

Source = Annotated[
    str,
    typer.Argument(
        help="A file, the name of an example such as asia, or a graph such as 'A -> B; A <-> B'.", show_default=False
    ),
]
Names = Annotated[list[str] | None, typer.Argument(help="Variables to show; all where left out.", show_default=False)]


@command(examples=("plausible show asia dysp", "plausible show 'X -> Y; X <-> Y' --dot"))
def run_show(
    model: Source,
    variables: Names = None,
    dot: Annotated[bool, typer.Option("--dot", help="Print the graph alone, for Graphviz: dot -Tsvg.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a graph, and the distributions of a model's variables.

    The graph may be that of a model, or one that is written as text or was found by discover.
    """
    if dot and (variables or as_json):
        raise InvalidArgument("--dot is for the whole graph: leave names and --json out.")
    graph = read_written_graph(model, (*ANY_CLASS, UndirectedGraph))
    if graph is not None:
        _show_graph(graph, variables, dot=dot, as_json=as_json)
        return
    found = read_model(model)
    if dot:
        print_line(found.to_dot() if isinstance(found, InfluenceDiagram) else found.graph.to_dot())
        return
    known = found.graph.nodes if isinstance(found, InfluenceDiagram) else tuple(found.variables)
    chosen = list(variables or map(str, known))
    for name in chosen:
        if name not in known:
            raise UnknownVariable.named(name, known, f"{model!r}")
    if as_json:
        print_json(_document(found, chosen))
        return
    print_line(str(found.graph))
    for title, table in _tables(found, chosen):
        print_line(f"\n{title}\n{table}")


def _show_graph(graph: Any, variables: list[str] | None, *, dot: bool, as_json: bool) -> None:
    if variables:
        raise InvalidArgument(f"A graph has no distributions to show, so leave {', '.join(variables)} out.")
    print_answer(
        graph.to_dot() if dot else graph_text(graph),
        {"kind": type(graph).__name__, "graph": str(graph)},
        as_json=as_json,
    )


def _tables(model: Model, names: list[str]) -> list[tuple[str, str]]:
    if isinstance(model, InfluenceDiagram):
        return [_part(model, name) for name in names]
    if not isinstance(model, BayesianNetwork):
        chosen = set(names)
        return [(", ".join(factor.names), str(factor)) for factor in model.factors if chosen & set(factor.names)]
    return [(repr(model.cpd(name)), str(model.cpd(name))) for name in names if name not in model.inputs]


def _part(diagram: InfluenceDiagram, name: str) -> tuple[str, str]:
    """A distribution, a decision with what it sees, or a utility: a title and its table."""
    if name in diagram.decisions:
        decision = diagram.decisions[name]
        seen = ", ".join(decision.sees) or "nothing"
        return name, f"decides among {', '.join(map(str, decision.states))}, seeing {seen}"
    if name in diagram.utilities:
        return repr(diagram.utilities[name]), str(diagram.utility_factors[name])
    return repr(diagram.chance[name]), str(diagram.chance[name])


def _document(model: Model, names: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "graph": str(model.graph),
        "variables": {name: _states(model, name) for name in names if name in model.variables},
    }
    if isinstance(model, BayesianNetwork):
        document["distributions"] = _distributions(model.cpds, names)
    elif isinstance(model, InfluenceDiagram):
        document["distributions"] = _distributions(model.chance, names)
        document["decisions"] = {name: list(model.decisions[name].sees) for name in names if name in model.decisions}
        document["utilities"] = {
            name: {"parents": list(factor.names), "values": factor.flat.tolist()}
            for name, factor in model.utility_factors.items()
            if name in names
        }
    else:
        document["factors"] = [
            {"scope": list(factor.names), "values": factor.flat.tolist()}
            for factor in model.factors
            if set(names) & set(factor.names)
        ]
    return document


def _distributions(cpds: Mapping[str, CPD], names: list[str]) -> dict[str, Any]:
    return {
        name: {"kind": cpd.kind, "parents": list(cpd.parent_names), **cpd.to_record()}
        for name, cpd in cpds.items()
        if name in names
    }


def _states(model: Model, name: str) -> list[Any] | str:
    variable = model.variables[name]
    return "continuous" if variable.is_continuous else list(variable.states)
