"""What a session found out."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from plausible.errors import InvalidArgument, suggestion
from plausible.factors.display import TextTable

__all__ = ["ElicitationResult", "ElicitedUtility"]


@dataclass(frozen=True, slots=True)
class ElicitedUtility:
    """The utility of one outcome, on the scale from the worst anchor (0) to the best (1).

    Attributes
    ----------
    item
        The outcome.
    value
        Its utility: the middle of the bracket.
    low, high
        The bracket.
    num_questions
        How many it took.
    """

    item: Hashable
    value: float
    low: float
    high: float
    num_questions: int

    @property
    def is_at_limit(self) -> bool:
        """Whether every answer pointed beyond an anchor, which may then be no worst or no best outcome."""
        return self.num_questions > 0 and (self.low == 0.0 or self.high == 1.0) and self.low < self.high


@dataclass(frozen=True, slots=True)
class ElicitationResult(Mapping[Hashable, float]):
    """The utilities that somebody told: a mapping from outcomes to numbers, the anchors with 0 and 1 among them.

    Attributes
    ----------
    method
        How they were asked for.
    worst, best
        The anchors.
    items_told
        What is known on each outcome.
    """

    method: str
    worst: Hashable
    best: Hashable
    items_told: tuple[ElicitedUtility, ...]

    def _table(self) -> dict[Hashable, float]:
        return {self.worst: 0.0, self.best: 1.0, **{told.item: told.value for told in self.items_told}}

    def __getitem__(self, outcome: Hashable) -> float:
        table = self._table()
        if outcome not in table:
            raise InvalidArgument(f"{outcome!r} was not asked about.{suggestion(outcome, table)}")
        return table[outcome]

    def __contains__(self, outcome: object) -> bool:
        return outcome in self._table()

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())

    @property
    def num_questions(self) -> int:
        """In all."""
        return sum(told.num_questions for told in self.items_told)

    def rescaled(self, worst: float, best: float) -> dict[Hashable, float]:
        """The utilities on another scale: what the anchors are worth there.

        Parameters
        ----------
        worst, best
            The utilities of the anchors on that scale.
        """
        return {outcome: worst + value * (best - worst) for outcome, value in self._table().items()}

    def __str__(self) -> str:
        rows = tuple(
            (str(told.item), f"{told.value:.4g}", f"{told.low:.4g}", f"{told.high:.4g}", str(told.num_questions))
            for told in self.items_told
        )
        return str(TextTable(("item", "utility", "low", "high", "questions"), rows, 1))
