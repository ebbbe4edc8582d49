"""The families of a Bayesian network, checked and put in order: what samplers that go from parents to children need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.variables import Evidence

__all__ = ["OrderedFamilies", "ancestors_of", "log_constant", "ordered_families", "reduced_to"]

#: Rows of a family sum to one up to this.
_ROUNDING = 1e-6


class OrderedFamilies(NamedTuple):
    """A product of factors as a Bayesian network and what was seen of it.

    Attributes
    ----------
    families
        Child -> P(child | parents), parents before children.
    likelihoods
        The other factors: for each observed number, say, its density given the states of its parents.
    """

    families: dict[str, Factor]
    likelihoods: tuple[Factor, ...]


def ordered_families(factors: Iterable[Factor], evidence: Evidence) -> OrderedFamilies:
    """Sort out which factors are families, to draw from, and which are likelihoods, to weigh by.

    The family of a variable is the factor that has it last and whose rows sum to one; if there are several, the first
    of the smallest. Any such choice is right: the product of all factors stays the same. Factors without variables are
    left out. An observed parent that has no family among the factors is fixed: what it depends on does not matter.

    Raises
    ------
    NotSupported
        Where a variable has no family, or is its own ancestor.

    Examples
    --------
    >>> rain = Factor({"rain": 2}, [0.8, 0.2])
    >>> wet = Factor({"rain": 2, "wet": 2}, [[0.9, 0.1], [0.2, 0.8]])
    >>> forecast = Factor({"rain": 2}, [0.1, 3.0])
    >>> list(ordered_families([forecast, wet, rain], Evidence.read({}, {})).families)
    ['rain', 'wet']
    """
    if evidence.values:
        raise NotSupported(f"{next(iter(evidence.values))!r} is continuous: these samplers draw states, not numbers.")
    listed = [factor for factor in factors if factor.scope]
    children = {factor.names[-1] for factor in listed}
    given = {name: state for name, state in evidence.hard.items() if name not in children}
    reduced = reduced_to(listed, given)
    families: dict[str, Factor] = {}
    for factor in sorted((factor for factor in reduced if _is_family(factor)), key=lambda factor: len(factor.scope)):
        families.setdefault(factor.names[-1], factor)
    for factor in reduced:
        for name in factor.names:
            if name not in families:
                raise _no_network(_lacking(name, reduced))
    chosen = {id(family) for family in families.values()}
    likelihoods = tuple(factor for factor in reduced if id(factor) not in chosen)
    sorter = TopologicalSorter({child: family.names[:-1] for child, family in families.items()})
    try:
        return OrderedFamilies({child: families[child] for child in sorter.static_order()}, likelihoods)
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


def _is_family(factor: Factor) -> bool:
    """Whether the rows over the last variable are distributions."""
    if not factor.scope:
        return False
    sums = factor.flat.reshape(-1, factor.scope[-1].num_states).sum(axis=1)
    return bool(np.all(np.abs(sums - 1.0) <= _ROUNDING) and factor.min() >= 0)


def _lacking(name: str, factors: Sequence[Factor]) -> str:
    """Why a variable has no family."""
    for factor in factors:
        if factor.names[-1:] == (name,):
            return f"the factor over {', '.join(factor.names)} has rows that are no distributions"
    return f"{name!r} is the last variable of none"


def _no_network(problem: str) -> NotSupported:
    return NotSupported(
        "This sampler goes from parents to children, so it needs the families of a Bayesian network: for each variable "
        f"one factor P(child | parents), the child last. But {problem}. Use Gibbs(), which takes any factors."
    )
