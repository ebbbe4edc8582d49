"""Derivations written as formulas: sums, products and fractions of observational quantities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from plausible.causal.calculus.laws import ProbabilityStep
from plausible.causal.calculus.quantity import sum_sign, value_text, written
from plausible.graphs.nodes import Node
from plausible.graphs.text import quote

if TYPE_CHECKING:
    from plausible.causal.calculus.derivation import Derivation

__all__ = ["formula"]


def formula(derivation: Derivation) -> str:
    """The observational formula that a derivation ends with.

    A summed value whose text is taken by another one in sight gets a prime.
    """
    target = derivation.quantity
    texts = {node: quote(node) for node in target.outcome}
    return _written(derivation, {**texts, **_fresh((*target.do, *target.given), texts)})


def _written(derivation: Derivation, texts: Mapping[Node, str]) -> str:
    texts = {**texts, **_fresh((node for node in derivation.quantity.nodes if node not in texts), texts)}
    step, premises = derivation.reason, derivation.premises
    if step is None:
        return written(derivation.quantity, texts)
    if not isinstance(step, ProbabilityStep):
        return _product(premises, texts)
    if step.kind == "ratio":
        above, below = (_written(premise, texts) for premise in premises)
        return f"{_bracketed(above)} / {_bracketed(below)}"
    if step.kind == "condition":
        inner = {**texts, **_fresh(step.nodes, texts)}
        return f"{sum_sign(inner[node] for node in step.nodes)} {_product(premises, inner)}"
    return _product(premises, texts)


def _product(premises: Iterable[Derivation], texts: Mapping[Node, str]) -> str:
    """The factors side by side, sums last; a sum before another one, or a fraction, stands in brackets."""
    factors = sorted((_written(premise, texts) for premise in premises), key=lambda factor: "Σ" in factor)
    if len(factors) == 1:
        return factors[0]
    first = [_bracketed(factor) if "Σ" in factor or " / " in factor else factor for factor in factors[:-1]]
    last = f"[{factors[-1]}]" if " / " in factors[-1] else factors[-1]
    return " ".join([*first, last])


def _bracketed(factor: str) -> str:
    is_single = factor.startswith("P(") and factor.count("P(") == 1 and "/" not in factor
    return factor if is_single else f"[{factor}]"


def _fresh(nodes: Iterable[Node], texts: Mapping[Node, str]) -> dict[Node, str]:
    """Texts for values of nodes, with primes where others have taken them."""
    taken = {text.lower() for text in texts.values()}
    found: dict[Node, str] = {}
    for node in nodes:
        text = value_text(node)
        while text.lower() in taken:
            text += "'"
        taken.add(text.lower())
        found[node] = text
    return found
