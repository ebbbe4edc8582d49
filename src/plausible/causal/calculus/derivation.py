"""Derivations: how an interventional quantity becomes a formula in observational ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from plausible.base.records import record
from plausible.causal.calculus.rules import Quantity, RuleStep, sum_sign, value_text, written
from plausible.graphs.nodes import Node
from plausible.graphs.text import quote


@record
class ProbabilityStep:
    """A step by the laws of probability, true in every graph."""

    #: "condition": P(y | z) = Σ_w P(y | z, w) P(w | z). "chain": P(y, w | z) = P(y | z, w) P(w | z). "ratio": P(y | z,
    #: w) = P(y, w | z) / P(w | z).
    kind: Literal["condition", "chain", "ratio"]
    before: Quantity  # The quantity on the left
    nodes: tuple[Node, ...]  # W
    terms: tuple[Quantity, Quantity]  # The two quantities on the right

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


@record
class Derivation:
    """A quantity and how it follows: a step, and the derivations of the quantities that the step leads to."""

    quantity: Quantity  # What is derived
    #: The step; `None` where the quantity is observational and nothing is left to do.
    reason: RuleStep | ProbabilityStep | None
    premises: tuple[Derivation, ...]  # One derivation for each quantity on the right-hand side of the step

    @property
    def steps(self) -> tuple[RuleStep | ProbabilityStep, ...]:
        """All steps, each before those that it leads to."""
        return tuple(self._walk())

    @property
    def rules(self) -> tuple[int, ...]:
        """The rules of the do-calculus in the order in which they are used."""
        return tuple(step.rule for step in self.steps if isinstance(step, RuleStep))

    @property
    def formula(self) -> str:
        """The quantity in terms of observational ones; it holds for any values of the `arbitrary` nodes."""
        return _formula(self)

    @property
    def arbitrary(self) -> tuple[Node, ...]:
        """The nodes that rules 1 and 3 brought in and that no sum binds."""
        return tuple(dict.fromkeys(self._unbound(frozenset())))

    def _unbound(self, bound: frozenset[Node]) -> Iterator[Node]:
        for premise in self.premises:
            known = bound.union(self.quantity.nodes)
            known |= frozenset(self.reason.nodes if isinstance(self.reason, ProbabilityStep) else ())
            yield from (node for node in premise.quantity.nodes if node not in known)
            yield from premise._unbound(known)

    def _walk(self) -> Iterator[RuleStep | ProbabilityStep]:
        if self.reason is not None:
            yield self.reason
        for premise in self.premises:
            yield from premise._walk()

    def __str__(self) -> str:
        lines = [f"  {place}. {step}" for place, step in enumerate(self.steps, 1)]
        anything = f" for any {', '.join(map(value_text, self.arbitrary))}" if self.arbitrary else ""
        return "\n".join([f"{self.quantity} = {self.formula}{anything}", *lines])


def _formula(derivation: Derivation) -> str:
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
