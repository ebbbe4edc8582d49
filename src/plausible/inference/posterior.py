"""The conditional query P(targets | evidence) over a set of factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor, product
from plausible.inference.elimination import SumProduct, absorb, sum_product
from plausible.inference.jeffrey import fit_jeffrey
from plausible.variables import Evidence, Variable

__all__ = ["posterior", "read_targets"]


def read_targets(targets: str | Iterable[str], variables: Mapping[str, Variable], place: str) -> list[Variable]:
    """One name or several as discrete variables; a repeated name is an error, and an unknown one gets close matches."""
    found: list[Variable] = []
    for name in targets if isinstance(targets, Iterable) and not isinstance(targets, str) else [targets]:
        if not isinstance(name, str):
            raise InvalidArgument(f"A target is the name of a variable, not {name!r}.")
        if variables.get(name) in found:
            raise InvalidArgument(f"{name!r} stands twice among the targets.")
        if name not in variables:
            raise UnknownVariable.named(name, variables, place)
        if variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: this question needs discrete targets.")
        found.append(variables[name])
    return found


def posterior(factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
    """P(targets | evidence), normalised, where the product of the factors is the joint up to a constant.

    Parts of the model that the evidence cuts off from the targets are not summed up, unless zeros in them could make
    the evidence impossible.

    Parameters
    ----------
    factors
        Factors with a non-negative product that mention all targets that are not observed.
    targets
        The variables of the answer, in its order; they may be observed.
    evidence
        States, soft and Jeffrey findings.

    Returns
    -------
    Factor
        With `.info`, a `QueryInfo`.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment with a positive product agrees with the evidence.
    """
    if evidence.jeffrey:
        return _after_jeffrey(list(factors), targets, evidence)
    observed = [variable for variable in targets if variable.name in evidence.hard]
    free = [variable.name for variable in targets if variable.name not in evidence.hard]
    result = _relevant_sum(absorb(factors, evidence), free)
    known = [Factor.indicator(v, v.states[evidence.hard[v.name]]) for v in observed]
    answer = product((result.factor.normalize(), *known)).reorder([variable.name for variable in targets])
    return answer.with_info(result.info)


def _after_jeffrey(factors: Sequence[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
    variables = {variable.name: variable for factor in factors for variable in factor.scope}

    def belief(name: str, certain: Evidence) -> NDArray[np.float64]:
        return posterior(factors, [variables[name]], certain).flat

    return posterior(factors, targets, fit_jeffrey(evidence, variables, belief))


def _relevant_sum(factors: Sequence[Factor], targets: Sequence[str]) -> SumProduct:
    """The sum-product over the components with targets; the others are only checked for being possible."""
    components = _components(factors)
    relevant: list[Factor] = []
    for component in components:
        names = {name for factor in component for name in factor.names}
        if names & set(targets):
            relevant.extend(component)
        elif any(factor.min() <= 0 for factor in component):
            _check_possible(sum_product(component, ()))
    result = sum_product(relevant, targets)
    _check_possible(result)
    return result


def _check_possible(result: SumProduct) -> None:
    if result.is_zero:
        raise ImpossibleEvidence("The evidence has probability zero: no assignment to the other variables allows it.")


def _components(factors: Iterable[Factor]) -> list[list[Factor]]:
    """The factors grouped so that different groups share no variable (union-find over the variables)."""
    above: dict[str, str] = {}

    def root(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = name = above[above[name]]
        return name

    listed = list(factors)
    for factor in listed:
        for name in factor.names[1:]:
            above[root(name)] = root(factor.names[0])
    groups: dict[str | None, list[Factor]] = {}
    for factor in listed:
        groups.setdefault(root(factor.names[0]) if factor.names else None, []).append(factor)
    return list(groups.values())
