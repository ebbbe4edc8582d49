"""The causal graphs that commands take: arrow text, a file that holds it, a found class of graphs, or a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plausible.causal.identification.districts import Hedge
from plausible.cli.output import is_standard, piped_bytes, print_answer
from plausible.cli.source import MODEL_ENDINGS, ending_of, format_of, read_network
from plausible.errors import InvalidGraph, NotIdentifiable, NotSupported
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph
from plausible.graphs.graph_input import read_as
from plausible.graphs.text import stated_kind
from plausible.io import Model
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: The kinds of graphs that say for each pair which is the cause.
ONE_GRAPH: tuple[type[Any], ...] = (DAG, CausalGraph)

#: These, and those that stand for a class of them.
ANY_CLASS: tuple[type[Any], ...] = (*ONE_GRAPH, PDAG, MAG, PAG)

#: How graphs are written, for the end of a command's help.
GRAPHS = r"""
Graphs: 'A -> B; A <-> B' has a cause and a hidden common cause; 'PAG: A o-> B; B -> C' and 'PDAG: A - B' say which
class of graphs is meant. In a file, lines that begin with '# ' are comments. What discover prints, or writes with -o,
as text or JSON, is such a graph: 'plausible discover data.csv | plausible adjust - ...' reads it from there.
"""

_KINDS = {kind.__name__: kind for kind in ANY_CLASS}


@dataclass(frozen=True, slots=True)
class CausalSource:
    """A graph, and the variables that its nodes are, as far as they are known: those of a network."""

    graph: Any
    variables: Mapping[str, Variable]


def is_model(source: str) -> bool:
    """Whether a file of this name would be that of a model."""
    return ending_of(source) in MODEL_ENDINGS


def read_causal_source(
    source: str,
    kinds: Iterable[type[Any]] = ONE_GRAPH,
    place: str = "The graph",
    *,
    model: Callable[[str], Model] = read_network,
) -> CausalSource:
    """The graph that is written, that a file holds, or that a network has."""
    text = _written(source)
    if text is not None:
        return CausalSource(_read_text(text, source, kinds, place), {})
    found = model(source)
    variables = found.variables if isinstance(found, BayesianNetwork) else dict[str, Variable]()
    try:
        return CausalSource(read_as(found, *kinds), variables)
    except NotSupported as error:
        raise NotSupported(f"{place} {source!r}: {error}") from None


def read_written_graph(source: str, kinds: Iterable[type[Any]]) -> Any | None:
    """The graph that is written, that a file holds or that standard input brings; `None` where it is a model's name."""
    text = _written(source)
    return None if text is None else _read_text(text, source, kinds, "The graph")


def graph_text(graph: Any) -> str:
    """A graph with its kind, as `read_causal_source` reads it."""
    return f"{type(graph).__name__}: {graph}"


def _read_text(text: str, source: str, kinds: Iterable[type[Any]], place: str) -> Any:
    """The graph that a text writes, of the kind that it states or else of the first that fits."""
    try:
        stated = stated_kind(text)
        return read_as(_KINDS[stated](text) if stated in _KINDS else text, *kinds)
    except (InvalidGraph, NotSupported) as error:
        kind = InvalidGraph if isinstance(error, InvalidGraph) else NotSupported
        raise kind(f"{place} {source!r}: {error}") from None


def _written(source: str) -> str | None:
    """The text of a graph: the source, or what a file or standard input holds; `None` where it names a model."""
    if is_standard(source):
        return _piped()
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
    if is_file and path.suffix.lower() == ".json" and (found := _document_text(path.read_bytes())):
        return found
    if not is_file and any(sign in source for sign in ("->", "<-", "o-", "-o", "--", " - ")):
        return source
    if not is_file and path.suffix and not is_model(source):
        raise InvalidGraph(f"{source!r} is no file, and no graph such as 'A -> B'.")
    return None


def _piped() -> str | None:
    """The text of a graph on standard input; `None` where a model is there."""
    data = piped_bytes()
    if not data.strip():
        raise InvalidGraph("- is standard input, which is empty: pipe a graph such as 'A -> B' into it.")
    found = _document_text(data)
    if found or format_of(data) is not None:
        return found or None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidGraph("- is standard input, which holds no text, and so no graph such as 'A -> B'.") from None


def _document_text(text: str | bytes) -> str:
    """The graph of a document that `plausible discover --json` wrote; "" if it is another one."""
    try:
        document = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(document, dict) or document.get("kind") not in _KINDS:
        return ""
    graph = document.get("graph")
    return f"{document['kind']}: {graph}" if isinstance(graph, str) else ""


def tell_not_identifiable(error: NotIdentifiable, *, as_json: bool) -> None:
    """Print why an effect is not identifiable: it is an answer, not a mistake."""
    hedge = error.hedge
    if not isinstance(hedge, Hedge):
        print_answer(str(error), {"identifiable": False, "hedge": None, "reason": str(error)}, as_json=as_json)
        return
    forests = {"outer": str(hedge.outer), "inner": str(hedge.inner), "roots": hedge.roots}
    reason = f"{hedge.explain()} {error.unseen}".rstrip()
    document = {"effect": str(hedge.effect), "identifiable": False, "hedge": forests, "reason": reason}
    lines = [hedge.explain(), error.unseen, "What it can be at least and at most: plausible bounds."]
    print_answer("\n".join(filter(None, lines)), document, as_json=as_json)
