"""Which differences of expected utility are noise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import PROOF, UTILITY_NOISE

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["proof_rounding", "rounding_of", "utility_rounding"]


def utility_rounding(diagram: InfluenceDiagram) -> float:
    """What floats lose: expected utilities of the diagram that differ by no more count as equal.

    1e-13 of the sum of the sizes of all utilities, in their units. A constant that is added to a utility makes it no
    larger than floats force it to be.

    Examples
    --------
    >>> from plausible.decisions.diagram import InfluenceDiagram
    >>> from plausible.decisions.parts import Decision
    >>> from plausible.utilities.local import Utility
    >>> f"{utility_rounding(InfluenceDiagram([], [Decision('D', 2)], [Utility('D', [0.0, 2.0])])):.4g}"
    '2e-13'
    """
    return rounding_of(table.values for table in diagram.utility_factors.values())


def rounding_of(utilities: Iterable[Floats]) -> float:
    """The same for tables of utilities.

    >>> rounding_of([np.array([0.0, 2.0])])
    2e-13
    """
    return UTILITY_NOISE * sum(float(np.abs(table).max(initial=0.0)) for table in utilities)


def proof_rounding(diagram: InfluenceDiagram) -> float:
    """By how much a bound may exceed a value that it proves: 1e-10 of the range of the utilities that decisions reach.

    Examples
    --------
    >>> from plausible.decisions.diagram import InfluenceDiagram
    >>> from plausible.decisions.parts import Decision
    >>> from plausible.utilities.local import Utility
    >>> f"{proof_rounding(InfluenceDiagram([], [Decision('D', 2)], [Utility('D', [1.0, 3.0])])):.4g}"
    '2.003e-10'
    """
    reached = {name for decision in diagram.decisions for name in diagram.graph.descendants(decision)}
    ranges = [table.max() - table.min() for name, table in diagram.utility_factors.items() if name in reached]
    return PROOF * sum(ranges) + utility_rounding(diagram)
