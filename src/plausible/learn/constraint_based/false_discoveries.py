"""How many of the edges found are there by chance: control of the false discovery rate."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument

__all__ = ["FalseDiscoveryRate", "largest_accepted"]

FalseDiscoveryRate: TypeAlias = Literal["benjamini-hochberg", "benjamini-yekutieli"]


def largest_accepted(p_values: NDArray[Any], rate: float, method: FalseDiscoveryRate = "benjamini-hochberg") -> float:
    """The largest p-value that is still a discovery if at most a share `rate` of them should be false; -1 for none.

    Of m sorted p-values it is the last with p_(i) <= i rate / m; with dependence of any kind between the tests,
    i rate / (m Σ 1/j).

    Parameters
    ----------
    p_values
        Of all tests. For the edges of a skeleton, the largest of each pair (Li & Wang 2009).
    rate
        Between 0 and 1.
    method
        "benjamini-hochberg" or "benjamini-yekutieli".

    References
    ----------
    Benjamini & Hochberg (1995), Controlling the false discovery rate. Benjamini & Yekutieli (2001), The control of the
    false discovery rate in multiple testing under dependency. Li & Wang (2009), Controlling the false discovery rate of
    the association/causality structure learned with the PC algorithm.

    Examples
    --------
    >>> largest_accepted(np.array([0.001, 0.02, 0.03, 0.9]), 0.05)
    0.03
    """
    if method not in ("benjamini-hochberg", "benjamini-yekutieli"):
        raise InvalidArgument(f"False discoveries are controlled by benjamini-hochberg or -yekutieli, not {method!r}.")
    ordered, ranks = np.sort(p_values), np.arange(1, len(p_values) + 1)
    penalty = float((1.0 / ranks).sum()) if method == "benjamini-yekutieli" else 1.0
    accepted = np.flatnonzero(ordered <= ranks * rate / (max(len(ordered), 1) * penalty))
    return float(ordered[accepted[-1]]) if accepted.size else -1.0
