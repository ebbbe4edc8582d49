"""`plausible compare`: how the structure of one network differs from that of another."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import GraphSource, read_graph
from plausible.errors import NotSupported
from plausible.graphs import DAG, StructureComparison, compare_structure, is_i_equivalent

__all__ = ["NAME", "run"]

NAME = "compare"


def run(reference: GraphSource, estimate: GraphSource, as_json: AsJson = False) -> None:
    """Compare two networks edge by edge: missing, extra and reversed edges, distance, precision and recall."""
    meant, found = read_graph(reference), read_graph(estimate)
    if not isinstance(meant, DAG) or not isinstance(found, DAG):
        raise NotSupported("Only directed graphs can be compared edge by edge.")
    comparison = compare_structure(meant, found)
    equivalent = is_i_equivalent(meant, found)
    if as_json:
        print_json({**_document(comparison), "i_equivalent": equivalent})
    else:
        print_line(str(comparison))
        print_line(f"I-equivalent: {'yes' if equivalent else 'no'}")


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
