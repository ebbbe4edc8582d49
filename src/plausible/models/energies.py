"""From energies to factors: exp(-energy), whatever the size of the energies."""

from __future__ import annotations

import math

import numpy as np

from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import scope_text, table_shape

__all__ = ["gibbs_factors"]

#: The ratio of exp(this) and exp(-this) is still a float.
_LARGEST_EXPONENT = 350.0
_MOST_PARTS = 1000


def gibbs_factors(energy: Factor) -> list[Factor]:
    """Factors whose product is exp(-energy): one, or several equal ones where exp(-energy) is no float.

    exp(-E) = exp(-E/k)^k, so that neither large energies nor large differences between them are lost: elimination
    works on logarithms where the product itself would overflow or vanish. An energy of inf is a factor of zero, that
    is, an assignment ruled out.

    Parameters
    ----------
    energy
        Finite numbers, or inf.

    Examples
    --------
    >>> [factor.values.round(4).tolist() for factor in gibbs_factors(Factor({"A": 2}, [0.0, 1.0]))]
    [[1.0, 0.3679]]
    >>> len(gibbs_factors(Factor({"A": 2}, [1000.0, 1001.0])))
    3
    """
    if energy.min() == -math.inf:
        raise InvalidArgument(f"The energy over {scope_text(energy.scope)} is -inf at {dict(energy.argmin())!r}.")
    largest = float(np.max(np.abs(energy.flat[np.isfinite(energy.flat)]), initial=0.0))
    if largest > _LARGEST_EXPONENT * _MOST_PARTS:
        raise InvalidArgument(
            f"An energy over {scope_text(energy.scope)} has the size {largest:g}; the limit is "
            f"{_LARGEST_EXPONENT * _MOST_PARTS:g}. Subtract a constant from all of them, or change their unit; an "
            "assignment that is ruled out has the energy inf."
        )
    parts = max(1, math.ceil(largest / _LARGEST_EXPONENT))
    table = np.exp(energy.flat * (-1.0 / parts)).reshape(table_shape(energy.scope))
    return [Factor.trusted(energy.scope, table)] * parts
