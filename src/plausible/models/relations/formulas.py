"""Weighted first-order formulas: templates of features over relations."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from plausible.base import html_of_repr
from plausible.base.frozen import Frozen
from plausible.errors import InvalidArgument
from plausible.models.relations.formula_parsing import parse_sentence
from plausible.models.relations.sentences import Sentence


class Formula(Frozen):
    """A first-order formula with a weight: worlds in which more of its groundings are true are more probable.

    A grounding puts a constant in the place of each free variable. P(world) ∝ exp Σ w_i n_i(world), with n_i the number
    of true groundings of formula i, all of which share its weight (Richardson & Domingos 2006).

    From the sign that binds most to the one that binds least: `!` (also `~`, `not`), `&` (`and`), `|` (`or`), `=>`
    (a => b => c is a => (b => c)), `<=>`. `forall x, y: ...` and `exists x: ...` reach as far to the right as they can;
    a formula with a quantifier around all of it has one grounding. `x = y` and `x != y` compare constants, `Topic(p) =
    AI` and `Topic(p) = Topic(q)` states. Variables begin with a lower-case letter; constants stand in quotes or begin
    with a capital or a digit. A lower-case name that no quantifier binds is a constant, too, where its type has one of
    that name.

    Parameters
    ----------
    text
        The formula.
    weight
        Any number; the odds of a world grow by exp(weight) with each true grounding. `inf`: all groundings hold;
        `-inf`: none does. Zero says nothing, and is where learning begins.
    name
        What the weight is called; the formula, as it prints itself, where left out.

    Examples
    --------
    >>> Formula("Smokes(x) & Friends(x, y) => Smokes(y)", weight=1.5)
    Formula('Smokes(x) & Friends(x, y) => Smokes(y)', weight=1.5)
    >>> print(Formula("not (Smokes(x) or exists y: (Friends(x, y)))"))
    !(Smokes(x) | (exists y: Friends(x, y)))
    """

    __slots__ = ("name", "sentence", "weight")

    sentence: Sentence
    weight: float
    name: str

    def __init__(self, text: str, weight: float = 0.0, name: str | None = None) -> None:
        number: Any = weight
        if isinstance(number, bool) or not isinstance(number, Real) or math.isnan(number):
            raise InvalidArgument(f"weight={weight!r} must be a number: inf for a formula that always holds.")
        if name is not None and not (isinstance(name, str) and name):
            raise InvalidArgument(f"name={name!r} must be text: it is what the weight is called.")
        self.sentence = parse_sentence(text)
        self.weight, self.name = float(weight), name or self.text

    @property
    def text(self) -> str:
        """The formula as it prints itself."""
        return self.sentence.text

    @property
    def is_hard(self) -> bool:
        """Whether the weight is infinite."""
        return math.isinf(self.weight)

    def with_weight(self, weight: float) -> Formula:
        """The same formula with another weight."""
        return Formula(self.text, weight, self.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        return (self.sentence, self.weight, self.name) == (other.sentence, other.weight, other.name)

    def __hash__(self) -> int:
        return hash((self.sentence, self.weight, self.name))

    def __str__(self) -> str:
        return self.text

    _repr_html_ = html_of_repr

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name != self.text else ""
        return f"Formula({self.text!r}, weight={self.weight!r}{name})"
