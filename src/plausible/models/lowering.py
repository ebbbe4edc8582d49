"""From CPDs to the factors that inference works on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import check_size, num_entries, table_shape, wide
from plausible.variables import State, Variable

__all__ = ["SMALL_TABLE", "Lowered", "lower", "point_mass"]

#: Families that would need auxiliary variables are written as one table up to this size: cheaper.
SMALL_TABLE = 1024


@dataclass(frozen=True, slots=True)
class Lowered:
    """Factors whose product, times exp(`log_scale`) and with auxiliary variables summed out, is that of the CPDs."""

    factors: tuple[Factor, ...]
    log_scale: float


def lower(
    cpds: Iterable[CPD],
    variables: Iterable[str],
    values: Mapping[str, float],
    observed: Mapping[str, int] | None = None,
) -> Lowered:
    """The factors of some CPDs of a network, right where the variables are as observed.

    The factors may still mention observed variables. Without any observed values and states `log_scale` is zero.

    Parameters
    ----------
    cpds
        The distributions.
    variables
        The names of all variables of the network, which auxiliary variables must not have.
    values
        Name -> number of the continuous variables that are observed.
    observed
        Name -> position of the state of discrete variables that are observed: a distribution with a great table may
        be small there.

    Raises
    ------
    NotSupported
        Where a continuous variable is not observed.
    """
    taken = set(variables)
    known: dict[str, float] = {**values, **(observed or {})}
    factors: list[Factor] = []
    log_scale = 0.0
    for cpd in cpds:
        compact = _compact(cpd, observed or {})
        if compact is None:
            factor, shift = _evaluated(cpd, known)
            factors.append(factor)
            log_scale += shift
        else:
            factors.extend(_named_apart(compact, cpd, taken))
            if not any(cpd.variable.name in factor.names for factor in compact):  # all its states are alike
                factors.append(Factor((cpd.variable,), np.ones(cpd.variable.num_states)))
    return Lowered(tuple(factors), log_scale)


def _compact(cpd: CPD, observed: Mapping[str, int]) -> Sequence[Factor] | None:
    """The compact factors; or None, where one table over what is not observed is the thing to have."""
    if any(variable.is_continuous for variable in cpd.scope):
        return None
    parts = cpd.factors_given(observed)
    if parts is None:
        return None
    factors = [factor for factor in parts if isinstance(factor, Factor)]
    free = num_entries(variable for variable in cpd.scope if variable.name not in observed)
    return None if free <= SMALL_TABLE and _auxiliaries(factors, cpd) else factors


def _auxiliaries(factors: Iterable[Factor], cpd: CPD) -> list[str]:
    """The names that the factors have and the scope has not."""
    inside = {variable.name for variable in cpd.scope}
    return list(dict.fromkeys(name for factor in factors for name in factor.names if name not in inside))


def _named_apart(factors: Sequence[Factor], cpd: CPD, taken: set[str]) -> Sequence[Factor]:
    """The factors with auxiliary variables under names of their own."""
    names = {}
    for auxiliary in _auxiliaries(factors, cpd):
        name = auxiliary
        while name in taken:
            name += "'"
        names[auxiliary] = name
        taken.add(name)
    if all(name == auxiliary for auxiliary, name in names.items()):
        return factors
    return [factor.rename({name: names[name] for name in factor.names if name in names}) for factor in factors]


def _evaluated(cpd: CPD, known: Mapping[str, float]) -> tuple[Factor, float]:
    """P or density at the known states and values as a factor of the other variables, and the log of its scale."""
    scope = tuple(variable for variable in cpd.scope if variable.name not in known)
    for variable in scope:
        if variable.is_continuous:
            raise NotSupported(
                f"{variable.name!r} is continuous and not observed: this question needs a number as evidence for it. "
                "Complete rows can be asked about with log_likelihood(...), and the factors of a Gaussian network "
                "multiplied by hand: see cpd.to_factors()."
            )
    check_size(scope, f"The table of {cpd.variable.name!r}")
    columns = {variable.name: np.asarray(known.get(variable.name, 0)) for variable in cpd.scope}
    for place, variable in enumerate(wide(scope)):
        columns[variable.name] = np.arange(variable.num_states).reshape(-1, *[1] * (len(wide(scope)) - place - 1))
    logs = np.broadcast_to(cpd.log_probability(columns), table_shape(scope)).reshape(-1)
    peak = float(logs.max()) if len(scope) < len(cpd.scope) else 0.0
    table = np.exp(logs - peak) if math.isfinite(peak) else (logs == math.inf).astype(np.float64)
    return Factor.from_flat(scope, table), peak


def point_mass(variable: Variable, value: State) -> CPD:
    """The distribution in which a variable surely has a state, or a continuous one a number."""
    if variable.is_continuous:
        return LinearGaussianCPD(variable, intercept=_number(variable, value), variance=0.0)
    return TableCPD(variable, Factor.indicator(variable, value).values)


def _number(variable: Variable, value: object) -> float:
    if isinstance(value, (int, float, np.number)) and math.isfinite(value):
        return float(value)
    raise variable.unknown_state(value)
