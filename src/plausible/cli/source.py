"""The models and graphs that commands take: a file, an example's name, or arrow text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plausible import examples
from plausible.cli.piped_models import check_ending, format_of, piped_model
from plausible.cli.streams import is_standard, piped_bytes
from plausible.decisions import InfluenceDiagram
from plausible.errors import NotSupported, PlausibleError, suggestion
from plausible.graphs import DAG, UndirectedGraph
from plausible.io import Model, Network, load
from plausible.models import BayesianNetwork

ModelSource = Annotated[
    str,
    typer.Argument(help="A file, the name of an example such as asia, or - for standard input.", show_default=False),
]
GraphSource = Annotated[
    str,
    typer.Argument(
        help="A file, an example's name, a graph such as 'A -> B <- C', or - for standard input.", show_default=False
    ),
]


class NoSuchModel(PlausibleError, LookupError):
    """Neither a file nor an example has this name."""


def read_network(source: str) -> Network:
    """The model in a file, or the example of that name, for a question to chance alone."""
    model = read_model(source)
    if isinstance(model, InfluenceDiagram):
        raise NotSupported(
            f"{source!r} is an influence diagram, which has decisions and utilities; this command asks a network. "
            "In Python, diagram.network(strategy) is the network that a strategy makes of it."
        )
    return model


def read_model(source: str, format: str | None = None) -> Model:
    """The model in a file or on standard input, or the example of that name."""
    if is_standard(source):
        return piped_model(format)
    if source in examples.names() and not Path(source).exists():
        return examples.load(source)
    if source and Path(source).is_dir():
        raise NoSuchModel(f"{source!r} is a folder, not the file of a model.")
    if not source or not (Path(source).exists() or Path(source).suffix or format):
        raise NoSuchModel(f"{source!r} is neither a file nor an example.{suggestion(source, examples.names())}")
    if format is None:
        check_ending(source, f"plausible convert {source} model.json --from bif")
    return load(source, format=format)


def read_graph_or_network(source: str) -> DAG | UndirectedGraph | BayesianNetwork:
    """The graph that arrow text spells, else a network; a model of another kind counts as its graph."""
    if is_standard(source) and format_of(piped_bytes()) is None:
        source = piped_bytes().decode("utf-8", errors="replace").strip()
    if "->" in source or "<-" in source:
        return DAG(source)
    if " - " in source or " -- " in source:
        return UndirectedGraph(source)
    model = read_model(source)
    return model if isinstance(model, BayesianNetwork) else model.graph


def read_graph(source: str) -> DAG | UndirectedGraph:
    """The graph of a model, or the one that arrow text spells."""
    found = read_graph_or_network(source)
    return found.graph if isinstance(found, BayesianNetwork) else found
