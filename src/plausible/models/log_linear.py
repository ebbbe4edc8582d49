"""Log-linear models: a Markov network from features and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product as cartesian
from typing import Any, Literal

from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import check_size
from plausible.models.energies import gibbs_factors
from plausible.models.markov_network import MarkovNetwork
from plausible.variables import Variable

__all__ = ["feature", "log_linear"]


def feature(scope: Iterable[Variable], function: Callable[..., float | bool]) -> Factor:
    """The table of a function of states: `function(x_1, ..., x_k)` at each assignment to the scope.

    >>> feature([Variable("A", 2), Variable("B", 2)], lambda a, b: a == b).values
    array([[1., 0.],
           [0., 1.]])
    """
    variables = tuple(scope)
    check_size(variables, "The feature")
    states: Any = cartesian(*(variable.states for variable in variables))
    return Factor.from_flat(variables, [float(function(*assignment)) for assignment in states])


def log_linear(
    features: Sequence[Factor],
    weights: Sequence[float],
    *,
    sign: Literal[1, -1] = 1,
    variables: Iterable[Variable] = (),
) -> MarkovNetwork:
    """P(x) ∝ exp(sign · Σ θ_i f_i(x)): a large weight favours its feature, unless the sign is turned.

    Parameters
    ----------
    features
        f_i as factors; any finite numbers. See `feature`.
    weights
        θ_i, one for each feature. Where exp(θ f) is too large or too small for a float, several factors share it, so
        that log Z still comes out right: see `gibbs_factors`.
    sign
        +1, the default; -1 for models written with energies, P ∝ exp(-Σ w_i f_i).
    variables
        Variables that come first in the variable order; the way to add variables that are in no feature.

    Examples
    --------
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> agreement = feature([a, b], lambda x, y: x == y)
    >>> log_linear([agreement], [1.3862943611198906]).joint().values.round(6)      # θ = ln 4
    array([[0.4, 0.1],
           [0.1, 0.4]])
    """
    if len(features) != len(weights):
        raise InvalidArgument(f"Each feature needs a weight; there are {len(features)} and {len(weights)}.")
    if sign not in (1, -1):
        raise InvalidArgument(f"sign={sign!r}: it is 1 for exp(+Σ θ f) or -1 for exp(-Σ θ f).")
    energies = [table * (-sign * float(weight)) for table, weight in zip(features, weights, strict=True)]
    return MarkovNetwork([factor for energy in energies for factor in gibbs_factors(energy)], variables=variables)
