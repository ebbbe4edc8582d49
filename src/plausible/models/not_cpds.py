"""What to say to someone who makes a Bayesian network of something else than CPDs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plausible.cpds import CPD
from plausible.errors import InvalidModel, shortened
from plausible.factors import Factor
from plausible.graphs.nodes import NodeSet

__all__ = ["refuse_parts"]

_EXAMPLES = "TableCPD('A', [0.3, 0.7]) or TableCPD('B', rows, parents=['A'])"


def refuse_parts(given: Any, culprit: object) -> InvalidModel:
    """The error for `culprit`, which is no CPD; `given`, all that was handed in, tells what was meant."""
    advice = _advice(given, culprit)
    return InvalidModel(f"A BayesianNetwork is made of CPDs, not of {shortened(culprit)}.{advice}")


def _advice(given: Any, culprit: object) -> str:
    if isinstance(given, str) and _names_a_file(given):
        return f" A file is read by pb.load({given!r})."
    if hasattr(given, "columns"):
        return (
            " That is data: pb.learn.structure(frame) learns a graph from it, "
            "pb.learn.parameters('A -> B', frame) the probabilities of a graph."
        )
    if isinstance(given, Mapping) and any(isinstance(part, CPD) for part in given.values()):
        return " Give the values of the mapping: BayesianNetwork(cpds.values())."
    if isinstance(culprit, Factor):
        return " Factors make a MarkovNetwork; the distribution of a variable is TableCPD(name, values, parents=[...])."
    if hasattr(culprit, "graph") and hasattr(culprit, "variables"):
        return " That is a model already, and edits such as net.with_cpd(cpd) give a new one."
    if _is_graph(given):
        is_made = isinstance(given, NodeSet)
        name = "graph" if is_made else shortened(given)
        alone = "" if is_made else f" The graph alone is pb.DAG({name})."
        return (
            f" A graph has no probabilities: learn them from data with pb.learn.parameters({name}, frame), "
            f"or give a CPD for each variable, such as {_EXAMPLES}.{alone}"
        )
    return f" A CPD is {_EXAMPLES}, for example."


def _names_a_file(text: str) -> bool:
    return "." in text and not any(character in text for character in "->;\n ")


def _is_graph(given: Any) -> bool:
    """Whether it is a graph or what one could be made of: arrow text, pairs, a networkx graph."""
    if isinstance(given, str) or hasattr(given, "edges"):
        return True
    parts = list(given) if isinstance(given, (list, tuple, set, frozenset)) else []
    return bool(parts) and all(isinstance(part, str) or (isinstance(part, tuple) and len(part) == 2) for part in parts)
