"""The causal graphs that commands take: arrow text, a file that holds it, a found class of graphs, or a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.source import read_network
from plausible.errors import InvalidGraph, NotSupported
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph
from plausible.graphs.graph_input import read_as
from plausible.io import FORMATS, Network
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = [
    "ANY_CLASS",
    "GRAPHS",
    "ONE_GRAPH",
    "CausalSource",
    "GraphArgument",
    "GraphOption",
    "graph_text",
    "is_model",
    "read_causal_source",
]

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

#: How graphs are written, for the end of a command's help.
GRAPHS = r"""
Graphs: 'A -> B; A <-> B' has a cause and a hidden common cause; 'PAG: A o-> B; B -> C' and 'PDAG: A - B' say which
class of graphs is meant. In a file, lines that begin with '# ' are comments. What discover prints, or writes with -o,
as text or JSON, is such a graph.
"""

_KINDS = {kind.__name__: kind for kind in ANY_CLASS}
_STATED = re.compile(rf"\s*({'|'.join(_KINDS)}):\s")
_COMMENT = re.compile(r"^[^\S\n]*#(?:[^\S\n].*)?$", re.MULTILINE)

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
        graph = _stated(found) if isinstance(found, str) else found
        return CausalSource(
            read_as(graph, *kinds), found.variables if isinstance(found, BayesianNetwork) else dict[str, Variable]()
        )
    except InvalidGraph as error:
        raise InvalidGraph(f"{place} {source!r}: {error}") from None
    except NotSupported as error:
        raise NotSupported(f"{place} {source!r}: {error}") from None


def graph_text(graph: Any) -> str:
    """A graph with its kind, as `read_causal_source` reads it.

    >>> graph_text(PAG("A o-> B; C o-> B"))
    'PAG: A o-> B; C o-> B'
    """
    return f"{type(graph).__name__}: {graph}"


def _stated(text: str) -> Any:
    """The graph of the kind that a text begins with; a text that does not say it is left as it is."""
    match = _STATED.match(text)
    return text if match is None else _KINDS[match[1]](text[match.end() :])


def _model_or_text(source: str) -> Network | str:
    path = Path(source)
    try:
        is_file = bool(source) and path.is_file()
    except OSError:  # a text may be longer than any name of a file
        is_file = False
    if is_file and not is_model(source):
        try:
            return _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
        except UnicodeDecodeError:
            raise InvalidGraph(f"The file {source!r} holds no text, and so no graph such as 'A -> B'.") from None
    if is_file and path.suffix.lower() == ".json" and (found := _document_text(path)):
        return found
    if not is_file and any(sign in source for sign in ("->", "<-", "o-", "-o", "--", " - ")):
        return source
    if not is_file and path.suffix and not is_model(source):
        raise InvalidGraph(f"{source!r} is no file, and no graph such as 'A -> B'.")
    return read_network(source)


def _document_text(path: Path) -> str:
    """The graph of a document that `plausible discover --json` wrote; "" if it is another one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return ""
    if not isinstance(document, dict) or document.get("kind") not in _KINDS:
        return ""
    graph = document.get("graph")
    return f"{document['kind']}: {graph}" if isinstance(graph, str) else ""
