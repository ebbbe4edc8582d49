"""The causal graphs that commands take: arrow text, a file that holds it, or a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.source import read_model
from plausible.errors import InvalidGraph, NotSupported
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph
from plausible.graphs.graph_input import read_as
from plausible.io import FORMATS, Model
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["ANY_CLASS", "ONE_GRAPH", "CausalSource", "GraphArgument", "GraphOption", "is_model", "read_causal_source"]

GraphArgument = Annotated[
    str,
    typer.Argument(
        help="What causes what: 'A -> B; A <-> B', a file with such text, a network's file, or an example's name.",
        show_default=False,
    ),
]
GraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        help="What causes what: 'A -> B; A <-> B', a file with such text, a network's file, or an example's name.",
        show_default=False,
    ),
]

#: The kinds of graphs that say for each pair which is the cause.
ONE_GRAPH: tuple[type[Any], ...] = (DAG, CausalGraph)

#: These, and those that stand for a class of them.
ANY_CLASS: tuple[type[Any], ...] = (*ONE_GRAPH, PDAG, MAG, PAG)

_MODEL_ENDINGS = frozenset(ending for known in FORMATS for ending in known.extensions)


@dataclass(frozen=True, slots=True)
class CausalSource:
    """A graph, and the variables that its nodes are, as far as they are known: those of a network."""

    graph: Any
    variables: Mapping[str, Variable]


def is_model(source: str) -> bool:
    """Whether a file of this name would be that of a model."""
    path = Path(source)
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    return ending.lower() in _MODEL_ENDINGS


def read_causal_source(source: str, kinds: Iterable[type[Any]] = ONE_GRAPH, place: str = "The graph") -> CausalSource:
    """The graph that is written, that a file holds, or that a network has.

    Parameters
    ----------
    source
        From the command line.
    kinds
        The kinds of graphs that will do.
    place
        What the argument is called, for the message.
    """
    found = _model_or_text(source)
    try:
        return CausalSource(
            read_as(found, *kinds), found.variables if isinstance(found, BayesianNetwork) else dict[str, Variable]()
        )
    except InvalidGraph as error:
        raise InvalidGraph(f"{place} {source!r}: {error}") from None
    except NotSupported as error:
        raise NotSupported(f"{place} {source!r}: {error}") from None


def _model_or_text(source: str) -> Model | str:
    path = Path(source)
    try:
        is_file = bool(source) and path.is_file()
    except OSError:  # a text may be longer than any name of a file
        is_file = False
    if is_file and not is_model(source):
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidGraph(f"The file {source!r} holds no text, and so no graph such as 'A -> B'.") from None
    if not is_file and any(sign in source for sign in ("->", "<-", "o-", "-o", "--", " - ")):
        return source
    if not is_file and path.suffix and not is_model(source):
        raise InvalidGraph(f"{source!r} is no file, and no graph such as 'A -> B'.")
    return read_model(source)
