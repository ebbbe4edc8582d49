"""From CPDs to the factors that inference works on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import num_entries, table_shape, wide
from plausible.variables import State, Variable

__all__ = ["Lowered", "lower", "point_mass"]

#: Families with auxiliary variables are written as one table up to this size: cheaper, and free of subtractions.
_SMALL_TABLE = 1024


@dataclass(frozen=True, slots=True)
class Lowered:
    """Factors whose product, times exp(`log_scale`) and with auxiliary variables summed out, is that of the CPDs."""

    factors: tuple[Factor, ...]
    log_scale: float


def lower(cpds: Iterable[CPD], variables: Iterable[str], values: Mapping[str, float]) -> Lowered:
    """The factors of some CPDs of a network, continuous variables at their observed values.

    Parameters
    ----------
    cpds
        The distributions.
    variables
        The names of all variables of the network, which auxiliary variables must not have.
    values
        Name -> number of the continuous variables that are observed.

    Raises
    ------
    NotSupported
        Where a continuous variable is not observed.
    """
    taken = set(variables)
    factors: list[Factor] = []
    log_scale = 0.0
    for cpd in cpds:
        if any(variable.is_continuous for variable in cpd.scope):
            factor, shift = _density(cpd, values)
            factors.append(factor)
            log_scale += shift
        else:
            factors.extend(_compact(cpd, taken))
    return Lowered(tuple(factors), log_scale)


def _compact(cpd: CPD, taken: set[str]) -> Iterable[Factor]:
    """The compact factors, auxiliary variables under names of their own; or one table, where that is small."""
    if not cpd.auxiliaries:
        return [factor for factor in cpd.to_factors() if isinstance(factor, Factor)]
    if num_entries(cpd.scope) <= _SMALL_TABLE:
        return [cpd.to_factor()]
    names = {}
    for variable in cpd.auxiliaries:
        name = variable.name
        while name in taken:
            name += "'"
        names[variable.name] = name
        taken.add(name)
    tables = [factor for factor in cpd.to_factors() if isinstance(factor, Factor)]
    return [table.rename({old: new for old, new in names.items() if old in table.names}) for table in tables]


def _density(cpd: CPD, values: Mapping[str, float]) -> tuple[Factor, float]:
    """The density at the observed values as a factor of the discrete variables, and the log of the scale taken out."""
    scope = tuple(variable for variable in cpd.scope if not variable.is_continuous)
    for variable in cpd.scope:
        if variable.is_continuous and variable.name not in values:
            raise NotSupported(
                f"{variable.name!r} is continuous and not observed: this question needs a number as evidence for it. "
                "Complete rows can be asked about with log_likelihood(...), and the factors of a Gaussian network "
                "multiplied by hand: see cpd.to_factors()."
            )
    columns = {name: np.asarray(value) for name, value in values.items()}
    columns |= {variable.name: np.asarray(0) for variable in scope}
    for place, variable in enumerate(wide(scope)):
        columns[variable.name] = np.arange(variable.num_states).reshape(-1, *[1] * (len(wide(scope)) - place - 1))
    logs = np.broadcast_to(cpd.log_probability(columns), table_shape(scope)).reshape(-1)
    peak = float(logs.max())
    density = np.exp(logs - peak) if math.isfinite(peak) else (logs == math.inf).astype(np.float64)
    return Factor.from_flat(scope, density), peak


def point_mass(variable: Variable, value: State) -> CPD:
    """The distribution in which a variable surely has a state, or a continuous one a number."""
    if variable.is_continuous:
        return LinearGaussianCPD(variable, intercept=_number(variable, value), variance=0.0)
    return TableCPD(variable, Factor.indicator(variable, value).values)


def _number(variable: Variable, value: object) -> float:
    if isinstance(value, (int, float, np.number)) and math.isfinite(value):
        return float(value)
    raise variable.unknown_state(value)
