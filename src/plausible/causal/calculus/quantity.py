"""Interventional quantities: P(Y | do(x), w)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plausible.base.display import html_of_print
from plausible.causal.queries.arguments import refuse_overlap
from plausible.errors import InvalidArgument
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote

__all__ = ["Quantity", "sum_sign", "value_text", "written"]


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Quantity:
    """P(Y | do(x), w): the distribution of outcomes where some nodes are set and others are seen.

    Two quantities are equal if their sets of nodes are. What is set or seen is written in small letters where its name
    is all capitals: it has a value.

    Parameters
    ----------
    outcome
        Y, one node or several; a node that is a tuple itself stands in a list.
    do
        X, the nodes that are set.
    given
        W, the nodes that are seen.

    Examples
    --------
    >>> print(Quantity("C", do="S", given="T"))
    P(C | do(s), t)
    """

    outcome: tuple[Node, ...]
    do: tuple[Node, ...]
    given: tuple[Node, ...]

    def __init__(self, outcome: Nodes, do: Nodes = (), given: Nodes = ()) -> None:
        groups = {"outcome": _several(outcome), "do": _several(do), "given": _several(given)}
        if not groups["outcome"]:
            raise InvalidArgument("A quantity is the distribution of one outcome or more: outcome= is empty.")
        refuse_overlap(groups)
        for name, group in groups.items():
            object.__setattr__(self, name, group)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes: outcomes, then those that are set, then those that are seen."""
        return (*self.outcome, *self.do, *self.given)

    @property
    def is_observational(self) -> bool:
        """Whether nothing is set, so that the quantity can be read off data."""
        return not self.do

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[frozenset[Node], ...]:
        return frozenset(self.outcome), frozenset(self.do), frozenset(self.given)

    def __str__(self) -> str:
        names = {node: quote(node) for node in self.nodes}
        values = {node: value_text(node) for node in (*self.do, *self.given)}
        is_clear = len(set(map(str.lower, names.values()))) == len(names)
        return written(self, names | values if is_clear else names)

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"<Quantity: {self}>"


def value_text(node: Node) -> str:
    """The text for a value of a node."""
    text = quote(node)
    return text.lower() if text.isupper() else text


def written(quantity: Quantity, texts: Mapping[Node, str]) -> str:
    """The quantity with these texts for its nodes."""
    conditions = [*(f"do({texts[node]})" for node in quantity.do), *(texts[node] for node in quantity.given)]
    outcomes = ", ".join(texts[node] for node in quantity.outcome)
    return f"P({outcomes} | {', '.join(conditions)})" if conditions else f"P({outcomes})"


def sum_sign(texts: Iterable[str]) -> str:
    """The sign of a sum over some values."""
    listed = ", ".join(texts)
    return f"Σ_{listed}" if len(listed) == 1 else f"Σ_{{{listed}}}"


def _several(nodes: Nodes) -> tuple[Node, ...]:
    """One node or several, without repeats."""
    several = nodes if isinstance(nodes, Iterable) and not isinstance(nodes, (str, bytes)) else (nodes,)
    return tuple(dict.fromkeys(several))
