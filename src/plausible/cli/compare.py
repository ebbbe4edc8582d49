"""`plausible compare`: how one network differs from another."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import GraphSource, read_graph_or_network
from plausible.cli.streams import check_one_reader
from plausible.errors import NotSupported
from plausible.graphs import DAG, StructureComparison, compare_structure, is_i_equivalent
from plausible.models import BayesianNetwork, compare

__all__ = ["EXAMPLES", "run"]

EXAMPLES = ("plausible compare asia learned.bif", "plausible compare 'A -> B -> C' 'A -> B <- C'")


def run(reference: GraphSource, estimate: GraphSource, as_json: AsJson = False) -> None:
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
    if as_json:
        print_json(document)
    else:
        print_line(f"{text}\nI-equivalent: {'yes' if equivalent else 'no'}")


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
