"""The families of a Bayesian network, checked and put in order: what samplers that go from parents to children need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np

from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.variables import Evidence

__all__ = ["ancestors_of", "log_constant", "ordered_families", "reduced_to"]

#: Rows of a family sum to one up to this.
_ROUNDING = 1e-6


def ordered_families(factors: Iterable[Factor], evidence: Evidence) -> dict[str, Factor]:
    """Child -> its family, parents before children; factors without variables are left out.

    An observed parent that has no family among the factors is fixed: what it depends on does not matter.

    Raises
    ------
    NotSupported
        Unless each variable is the last one of exactly one factor, the rows of each factor sum to one, and no variable
        is its own ancestor.

    Examples
    --------
    >>> rain = Factor({"rain": 2}, [0.8, 0.2])
    >>> wet = Factor({"rain": 2, "wet": 2}, [[0.9, 0.1], [0.2, 0.8]])
    >>> list(ordered_families([wet, rain], Evidence.read({}, {})))
    ['rain', 'wet']
    """
    if evidence.values:
        raise NotSupported(f"{next(iter(evidence.values))!r} is continuous: these samplers draw states, not numbers.")
    listed = [factor for factor in factors if factor.scope]
    children = {factor.names[-1] for factor in listed}
    given = {name: state for name, state in evidence.hard.items() if name not in children}
    families: dict[str, Factor] = {}
    for factor in reduced_to(listed, given):
        child = factor.names[-1]
        if child in families:
            raise _no_network(f"{child!r} is the last variable of two factors")
        _check_rows(factor)
        families[child] = factor
    for factor in families.values():
        for name in factor.names:
            if name not in families:
                raise _no_network(f"{name!r} is the last variable of none")
    sorter = TopologicalSorter({child: family.names[:-1] for child, family in families.items()})
    try:
        return {child: families[child] for child in sorter.static_order()}
    except CycleError as error:
        raise _no_network(f"{error.args[1][0]!r} is its own ancestor") from None


def reduced_to(factors: Iterable[Factor], hard: Mapping[str, int]) -> list[Factor]:
    """The factors where the variables have the states at these positions."""
    reduced = []
    for factor in factors:
        own = {v.name: v.states[hard[v.name]] for v in factor.scope if v.name in hard}
        reduced.append(factor.reduce(own) if own else factor)
    return reduced


def ancestors_of(names: Iterable[str], families: Sequence[Factor]) -> set[str]:
    """The names and those of all their ancestors; the families come parents first."""
    found = set(names)
    for family in reversed(families):
        if family.names[-1] in found:
            found.update(family.names)
    return found


def log_constant(factors: Iterable[Factor]) -> float:
    """The logarithm of the product of the factors that have no variable."""
    constants = [float(factor.flat[0]) for factor in factors if not factor.scope]
    return math.fsum(map(math.log, constants)) if min(constants, default=1.0) > 0 else -math.inf


def _check_rows(family: Factor) -> None:
    sums = family.flat.reshape(-1, family.scope[-1].num_states).sum(axis=1)
    if not np.all(np.abs(sums - 1.0) <= _ROUNDING) or family.min() < 0:
        raise _no_network(f"the factor over {', '.join(family.names)} has rows that are no distributions")


def _no_network(problem: str) -> NotSupported:
    return NotSupported(
        "This sampler goes from parents to children, so it needs the families of a Bayesian network: for each variable "
        f"one factor P(child | parents), the child last. But {problem}. Use Gibbs(), which takes any factors."
    )
