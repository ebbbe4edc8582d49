"""Which differences of expected utility are noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["utility_rounding"]

_OF_SPREAD = 1e-10
_OF_SIZE = 1e-13


def utility_rounding(diagram: InfluenceDiagram) -> float:
    """A difference of expected utilities up to which they count as equal, in the units of the diagram.

    It scales with the utilities and, but for what floats lose, does not change when a constant is added to them: 1e-10
    of the sum of their ranges, and 1e-13 of the sum of their sizes.

    Examples
    --------
    >>> from plausible.decisions.diagram import InfluenceDiagram
    >>> from plausible.decisions.parts import Decision, Utility
    >>> f"{utility_rounding(InfluenceDiagram([], [Decision('D', 2)], [Utility('D', [0.0, 2.0])])):.4g}"
    '2.002e-10'
    """
    tables = list(diagram.utility_factors.values())
    spread = sum(table.max() - table.min() for table in tables)
    size = sum(max(abs(table.max()), abs(table.min())) for table in tables)
    return _OF_SPREAD * spread + _OF_SIZE * size
