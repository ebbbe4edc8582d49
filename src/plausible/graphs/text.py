"""Arrow text: `"A -> B <-> C; D - E; F o-> G"`, the way people write graphs in a message.

A statement is a chain of nodes joined by edges, or a lone node; statements end at `;`, `,` or a new line.
A name with blanks or any of `- < > ; , " { }` in it, or a `'` at its beginning, stands in double quotes; `X[-1]`, which
is X one step before, does not.
Lines that begin with `# ` are comments, and a kind of graph may come first: `PAG: A o-> B`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from plausible.errors import InvalidGraph

_KINDS = ("DAG", "UndirectedGraph", "CausalGraph", "PDAG", "MAG", "PAG", "MixedGraph")

#: What a graph may be made from besides text of its own kind.
_FITTING = {"CausalGraph": ("DAG",), "MixedGraph": _KINDS}

_TOKEN = re.compile(
    rf"""
    (?P<comment>^[^\S\n]*\#(?=\s|\Z)[^\n]*)
  | (?P<kind>(?:{"|".join(_KINDS)}):(?=\s|\Z))
  | (?P<blank>[^\S\n]+)
  | (?P<end>[;,\n])
  | (?P<edge>(?:<|o(?=-))?-{{1,2}}(?:>|o(?=[\s"]))?)
  | "(?P<quoted>(?:[^"\\]|\\.)*)"
  | (?P<name>[^\s;,<>"{{}}'-](?:\[-\d+\]|[^\s;,<>"{{}}-])*)
    """,
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Connection:
    """One edge as written: `left` and `right` nodes, and the edge text, such as `o->`."""

    left: str
    edge: str
    right: str


def stated_kind(text: str) -> str | None:
    """The kind of graph that a text begins with; `None` where it does not say."""
    for match in _tokens(text):
        if match.lastgroup not in ("comment", "blank", "end"):
            return match["kind"][:-1] if match.lastgroup == "kind" else None
    return None


def parse_statements(text: str, asked: str = "MixedGraph") -> tuple[list[str], list[Connection]]:
    """The nodes, in order of appearance, and the edges of arrow text, unless it states another kind of graph."""
    nodes: dict[str, None] = {}
    connections: list[Connection] = []
    left: str | None = None
    edge: str | None = None
    position = 0
    stated = stated_kind(text)
    if stated not in (None, asked, *_FITTING.get(asked, ())):
        raise InvalidGraph(f"The text says that it is a {stated}, not a {asked}: read it as {stated}(...).")
    for match in _tokens(text):
        kind, token, position = match.lastgroup, match.group(match.lastgroup or 0), match.end()
        if kind == "end":
            _refuse_dangling(text, edge, match.start())
            left = None
        elif kind == "edge":
            if left is None or edge is not None:
                raise _syntax_error(text, match.start(), "expected a node before this edge")
            _refuse_glued_circle(text, match)
            edge = token.replace("--", "-")
        elif kind == "kind" and stated is not None:
            stated = None  # once: from here on it is a name
        elif kind in ("name", "quoted", "kind"):
            name = re.sub(r"\\(.)", r"\1", token) if kind == "quoted" else token
            nodes.setdefault(name)
            if left is not None:
                if edge is None:
                    raise _syntax_error(text, match.start(), "expected an edge, such as '->', or ';' before this node")
                connections.append(Connection(left, edge, name))
            left, edge = name, None
    _refuse_dangling(text, edge, position)
    return list(nodes), connections


def _tokens(text: str) -> Iterable[re.Match[str]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _syntax_error(text, position, _expectation(text[position]))
        yield match
        position = match.end()


def _expectation(character: str) -> str:
    if character == "'":
        return "a name stands in double quotes, not in single ones"
    if character in "{}":
        return (
            "braces don't group nodes. Write an edge for each, as in 'A -> B; A -> C'; a name that has braces needs "
            "double quotes"
        )
    return "expected a node, an edge or ';'; a name with such characters needs double quotes"


def _refuse_dangling(text: str, edge: str | None, position: int) -> None:
    if edge is not None:
        raise _syntax_error(text, position, f"expected a node after '{edge}'")


def _refuse_glued_circle(text: str, edge: re.Match[str]) -> None:
    """Refuse `A o-oB`, whose second o may be a mark or the first letter of a name; `A-oB` has blanks on no side."""
    start, end = edge.span()
    set_apart = text[start] == "o" or text[start - 1].isspace()
    if set_apart and text[end - 1] == "-" and text[end : end + 1] == "o":
        written = edge.group()
        raise _syntax_error(
            text, start, f"is the edge '{written}o' or '{written}'? Write blanks on both sides of an edge"
        )


def _syntax_error(text: str, position: int, expected: str) -> InvalidGraph:
    return InvalidGraph(
        f"Can't read the graph text at character {position + 1}, near {text[position : position + 12]!r}: {expected}."
    )


def quote(node: Hashable) -> str:
    """The node as arrow text would write it."""
    name = str(node)
    match = _TOKEN.fullmatch(name)
    if match is not None and match.lastgroup == "name":
        return name
    return dot_quoted(name)


def dot_quoted(node: Hashable) -> str:
    """A node in double quotes, as an identifier of Graphviz' DOT."""
    escaped = str(node).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
