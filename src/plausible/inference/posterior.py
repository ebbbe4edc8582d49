"""The conditional query P(targets | evidence) over a set of factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import check_size, num_entries, union_scope
from plausible.inference.budget import Budget, read_budget
from plausible.inference.compiled import compile_factors
from plausible.inference.elimination import SumProduct, absorb, sum_product
from plausible.inference.relevance import reduce_states
from plausible.variables import Evidence, Variable

#: Problems whose whole joint has no more entries are summed up by plain elimination: compiling would take longer. They
#: take about a millisecond and 32 KiB at most, so only a tiny budget is asked.
_SMALL = 2**12
#: From so many entries on it pays to look for states that are impossible.
_LARGE = 2**20


def read_targets(targets: str | Iterable[str], variables: Mapping[str, Variable], place: str) -> list[Variable]:
    """One name or several as discrete variables; a repeated name is an error, and an unknown one gets close matches.

    The names of a set, which has no order, come in the order of `variables`.
    """
    if isinstance(targets, Mapping):
        raise InvalidArgument(f"Targets are names, not a mapping: {targets!r} would be evidence=.")
    if isinstance(targets, (set, frozenset)):
        targets = [*(name for name in variables if name in targets), *targets.difference(variables)]
    found: list[Variable] = []
    for name in targets if isinstance(targets, Iterable) and not isinstance(targets, str) else [targets]:
        if not isinstance(name, str):
            raise InvalidArgument(f"A target is the name of a variable, not {name!r}.")
        if variables.get(name) in found:
            raise InvalidArgument(f"{name!r} stands twice among the targets.")
        UnknownVariable.check(name, variables, place)
        if variables[name].is_continuous:
            raise NotSupported(
                f"{name!r} is continuous: this question needs discrete targets. `moments` gives means and covariances "
                "of continuous ones; from Python, net.mixture gives their whole distribution."
            )
        found.append(variables[name])
    return found


def posterior(
    factors: Iterable[Factor],
    targets: Sequence[Variable],
    evidence: Evidence,
    *,
    order: Sequence[str] | None = None,
    budget: Budget | None = None,
) -> Factor:
    """P(targets | evidence), normalised, where the product of the factors is the joint up to a constant.

    Parts of the model that the evidence cuts off from the targets are not summed up, unless zeros in them could make
    the evidence impossible. Small problems go by plain variable elimination, others by a compiled clique tree, from
    which impossible states are struck out first if it is large.

    The factors have a non-negative product and mention all targets that are not observed; the answer has the targets in
    their order, observed ones too. An elimination order that is known to be good may be given; see `compile_factors`.

    Returns
    -------
    Factor
        With `.info`, a `QueryInfo`.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment with a positive product agrees with the evidence.
    TooLarge
        Where the answer would cost more than the budget, before the cost is paid.
    """
    listed = list(factors)
    observed = [variable for variable in targets if variable.name in evidence.hard]
    free = [variable for variable in targets if variable.name not in evidence.hard]
    check_size(free, "The joint distribution of the targets")
    relevant, doubtful = _parted(absorb(listed, evidence), {variable.name for variable in free})
    if _cheapest_sum(doubtful, (), order, budget).is_zero:
        raise ImpossibleEvidence.outright()
    result = _cheapest_sum(relevant, free, order, budget)
    if result.is_zero:
        raise ImpossibleEvidence.outright()
    known = [Factor.indicator(v, v.states[evidence.hard[v.name]]) for v in observed]
    answer = product((result.factor.normalize(), *known)).reorder([variable.name for variable in targets])
    return answer.with_info(result.info)


def posteriors(
    factors: Iterable[Factor],
    targets: Sequence[Variable],
    evidence: Evidence,
    *,
    order: Sequence[str] | None = None,
    budget: Budget | None = None,
) -> dict[str, Factor]:
    """P(X | evidence) of each target by itself, from one calibration of a clique tree made for this evidence alone.

    Observed states are built in and impossible ones struck out. See `posterior`.
    """
    reduced = reduce_states(factors, evidence, targets)
    compiled = compile_factors(reduced.factors, reduced.variables.values(), order=order, budget=budget)
    answers = compiled.marginals(Evidence({}, {}, {}))
    certainty = Factor.scalar(1.0).with_info(compiled.info)
    return {v.name: reduced.expand(answers.get(v.name, certainty), [v.name]) for v in targets}


def log_total(
    factors: Iterable[Factor], evidence: Evidence, *, order: Sequence[str] | None = None, budget: Budget | None = None
) -> float:
    """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""
    return _cheapest_sum(absorb(factors, evidence), (), order, budget).log_total


def _parted(factors: Sequence[Factor], asked: set[str]) -> tuple[list[Factor], list[Factor]]:
    """The components with targets, and those without in which something may be impossible; others do not matter."""
    relevant: list[Factor] = []
    doubtful: list[Factor] = []
    for component in components(factors):
        if any(asked.intersection(factor.names) for factor in component):
            relevant.extend(component)
        elif any(factor.min() <= 0 for factor in component):
            doubtful.extend(component)
    return relevant, doubtful


def _cheapest_sum(
    factors: Sequence[Factor], targets: Sequence[Variable], order: Sequence[str] | None, budget: Budget | None
) -> SumProduct:
    """Σ Π φ as a table over the targets; zero where nothing is possible."""
    limit, nothing = read_budget(budget), Evidence({}, {}, {})
    names = [variable.name for variable in targets]
    if limit.is_ample and num_entries(union_scope(factor.scope for factor in factors)) <= _SMALL:
        return sum_product(factors, names)
    compiled = compile_factors(factors, targets, order=order, together=[names], budget=limit)
    try:
        if compiled.program.num_entries > _LARGE:
            reduced = reduce_states(factors, nothing, targets)
            if reduced.num_struck:
                kept = [reduced.variables[name] for name in names if name in reduced.variables]
                result = _cheapest_sum(reduced.factors, kept, order, limit)
                return replace(result, factor=reduced.expand(result.factor, names))
        total = compiled.log_total(nothing)
        answer = compiled.joint(targets, nothing) if targets and total > -np.inf else Factor.scalar(1.0)
    except ImpossibleEvidence:
        total = -np.inf
    if total == -np.inf:
        return SumProduct(Factor.scalar(0.0).extend(targets), 0.0, compiled.info)
    return SumProduct(answer, total, compiled.info)


def components(factors: Iterable[Factor]) -> list[list[Factor]]:
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
