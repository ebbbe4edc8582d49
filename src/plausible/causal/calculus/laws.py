"""Steps by the laws of probability."""

from __future__ import annotations

from typing import Literal

from plausible.base.records import record
from plausible.causal.calculus.quantity import Quantity, sum_sign, value_text, written
from plausible.graphs.nodes import Node
from plausible.graphs.text import quote

__all__ = ["ProbabilityStep"]


@record
class ProbabilityStep:
    """A step by the laws of probability, true in every graph.

    Attributes
    ----------
    kind
        "condition": P(y | z) = Σ_w P(y | z, w) P(w | z). "chain": P(y, w | z) = P(y | z, w) P(w | z). "ratio":
        P(y | z, w) = P(y, w | z) / P(w | z).
    before
        The quantity on the left.
    nodes
        W.
    terms
        The two quantities on the right.
    """

    kind: Literal["condition", "chain", "ratio"]
    before: Quantity
    nodes: tuple[Node, ...]
    terms: tuple[Quantity, Quantity]

    def __str__(self) -> str:
        names = {node: quote(node) for node in self.before.outcome}
        texts = {node: value_text(node) for term in self.terms for node in term.nodes} | names
        first, second = (written(term, texts) for term in self.terms)
        if self.kind == "ratio":
            return f"{self.before} = {first} / {second}   [definition of conditioning]"
        if self.kind == "chain":
            return f"{self.before} = {first} {second}   [chain rule]"
        total = sum_sign(map(value_text, self.nodes))
        return f"{self.before} = {total} {first} {second}   [conditioning on {', '.join(map(quote, self.nodes))}]"
