"""Derivations: how an interventional quantity becomes a formula in observational ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from plausible.base.display import html_of_print
from plausible.causal.calculus.formula import formula
from plausible.causal.calculus.laws import ProbabilityStep
from plausible.causal.calculus.quantity import Quantity, value_text
from plausible.causal.calculus.rules import RuleStep
from plausible.graphs.nodes import Node

__all__ = ["Derivation"]


@dataclass(frozen=True, slots=True, repr=False)
class Derivation:
    """A quantity and how it follows: a step, and the derivations of the quantities that the step leads to.

    Attributes
    ----------
    quantity
        What is derived.
    reason
        The step; `None` where the quantity is observational and nothing is left to do.
    premises
        One derivation for each quantity on the right-hand side of the step.
    """

    quantity: Quantity
    reason: RuleStep | ProbabilityStep | None
    premises: tuple[Derivation, ...]

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
        return formula(self)

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

    __repr__ = __str__

    _repr_html_ = html_of_print
