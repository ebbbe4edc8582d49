"""Questions to graphs: `plausible dsep`, `independencies` and `compare`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

from plausible.cli.causal_graphs import read_causal_source
from plausible.cli.commands import command
from plausible.cli.evidence import names_in
from plausible.cli.options import AsJson, GraphSource, argument, option
from plausible.cli.output import print_answer, print_json, print_line
from plausible.cli.source import read_graph, read_graph_or_network, read_model
from plausible.cli.streams import check_one_reader
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import (
    DAG,
    MAG,
    CausalGraph,
    StructureComparison,
    UndirectedGraph,
    all_independencies,
    compare_structure,
    is_i_equivalent,
    local_independencies,
    pairwise_independencies,
)
from plausible.models import BayesianNetwork, compare

Side = Annotated[str, argument("Names, separated by commas.")]


@command(
    examples=(
        "plausible dsep asia smoke tub --given xray",
        "plausible dsep 'D -> G <- I; G -> L' D I --given L",
        "plausible dsep 'S -> T -> C; S <-> C' S C --given T",
    )
)
def run_dsep(
    graph: GraphSource,
    x: Side,
    y: Side,
    given: Annotated[str, option("What is observed: names, separated by commas.")] = "",
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
    print_answer(text, document, as_json=as_json)


class Kind(StrEnum):
    """Which list of statements."""

    LOCAL = "local"
    PAIRWISE = "pairwise"
    ALL = "all"


_LISTS = {Kind.LOCAL: local_independencies, Kind.PAIRWISE: pairwise_independencies}


@command(examples=("plausible independencies asia", "plausible independencies 'A -> B -> C' --kind all --max-given 1"))
def run_independencies(
    graph: GraphSource,
    kind: Annotated[Kind, option("The local Markov property, one statement a pair, or all pairs.")] = Kind.LOCAL,
    max_given: Annotated[int | None, option("With --kind all: at most so many observed variables.", min=0)] = None,
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


@command(examples=("plausible compare asia learned.bif", "plausible compare 'A -> B -> C' 'A -> B <- C'"))
def run_compare(reference: GraphSource, estimate: GraphSource, as_json: AsJson = False) -> None:
    """Compare two networks, edge by edge and by their numbers.

    It lists missing, extra and reversed edges, their distance, precision and recall, and differences of parameters.
    """
    check_one_reader({"REFERENCE": reference, "ESTIMATE": estimate})
    meant, found = read_graph_or_network(reference), read_graph_or_network(estimate)
    first, second = (source.graph if isinstance(source, BayesianNetwork) else source for source in (meant, found))
    if not isinstance(first, DAG) or not isinstance(second, DAG):
        raise NotSupported("Only directed graphs can be compared edge by edge.")
    equivalent = is_i_equivalent(first, second)
    document: dict[str, Any] = {"i_equivalent": equivalent}
    if isinstance(meant, BayesianNetwork) and isinstance(found, BayesianNetwork):
        networks = compare(meant, found)
        document |= {**_document(networks.structure), "parameters": dict(networks.parameters)}
        text = str(networks)
    else:
        structure = compare_structure(first, second)
        document |= _document(structure)
        text = str(structure)
    print_answer(f"{text}\nI-equivalent: {'yes' if equivalent else 'no'}", document, as_json=as_json)


def _document(comparison: StructureComparison) -> dict[str, Any]:
    lists = ("same", "missing", "extra", "reversed", "direction_lost", "direction_gained")
    document: dict[str, Any] = {name: [str(edge) for edge in getattr(comparison, name)] for name in lists}
    for name in ("skeleton", "orientation"):
        agreement = getattr(comparison, name)
        document[name] = {
            **asdict(agreement),
            "precision": agreement.precision,
            "recall": agreement.recall,
            "f1": agreement.f1,
        }
    return {**document, "shd": comparison.shd}
