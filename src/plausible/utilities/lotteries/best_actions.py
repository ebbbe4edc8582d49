"""What results have in common that say which actions are best."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["BestActions"]


class BestActions:
    """Results with a field `best`: the actions than which none is better, in the order in which they were listed."""

    __slots__ = ()

    best: tuple[Hashable, ...]

    @property
    def action(self) -> Hashable:
        """The best action; the first listed, where several tie."""
        return self.best[0]

    @property
    def ties(self) -> tuple[Hashable, ...]:
        """The best actions, if there are several; empty, if one is the best."""
        return self.best if len(self.best) > 1 else ()
