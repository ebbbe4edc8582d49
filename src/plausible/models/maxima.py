"""Best assignments to all variables, where some distributions are too large for tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from plausible.base import Argument, Call, Remedy
from plausible.cpds import CPD
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.inference import Optimizer, Problem, absorb, best_assignments, compile_factors, marginal_map
from plausible.inference.budget import Budget, read_budget
from plausible.inference.optimization.graph_cuts import GraphCut, has_cut
from plausible.inference.within_budget import BestWithin
from plausible.models.lowering import Lowered, lower
from plausible.search.run import Clock
from plausible.variables import Assignment, Evidence, Variable

#: Distributions are written out up to so many entries: then no search is needed.
_LARGEST_TABLE = 2**18
#: Auxiliary variables are summed out by elimination up to so many entries, beyond that a search is quicker.
_LARGEST_SUMS = 2**22
#: Seconds that a clique tree may take before a cut is looked for.
_MOMENT = 1.0

_MORE_TIME = (
    Remedy("raise the seconds of ", Argument("budget")),
    Remedy("take the best answer found so far: ", Call("map", Argument("time_limit", Ellipsis))),
)

_NO_ENGINE = Remedy("leave ", Argument("engine"), " out")
_EASIER = Remedy(
    "give evidence on them or on their parents (a noisy-or or noisy-max in its lowest state costs nothing)"
)


def best_of(
    cpds: Sequence[CPD],
    factors: Sequence[Factor],
    variables: Sequence[Variable],
    budget: Budget | None,
    evidence: Evidence,
) -> Assignment:
    """argmax of Π factors · Π P(x_i | parents) over the variables, observed ones included.

    A maximum can't be taken over the effects of a noisy-or before their auxiliary variables are summed out, and a table
    over all causes may be too large. A child in its lowest state needs neither: there it is a product over its causes.
    So: tables up to a size and a clique tree in which maxima are taken, or a cut, where that takes longer than a moment
    and there is one; where the tree is too large, a search of these tables (`BestWithin`); where there are larger ones,
    another search (`marginal_map` over all variables).

    Parameters
    ----------
    cpds
        Distributions of any kind, which are lowered for this evidence.
    factors
        Others, as they are.
    variables
        What states are wanted of.
    budget
        What this may cost; a search stops when its seconds are over.
    evidence
        States, soft findings, and numbers of continuous variables.

    Raises
    ------
    TooLarge
        Where neither the tables fit nor a search ends in time; with the children that make it so.
    """
    limit, certain = read_budget(budget), replace(evidence, values={})
    clock = Clock.of(limit.seconds)
    lowered = _with_tables(cpds, factors, variables, evidence)
    if not _summed(lowered, variables):
        try:
            return _shifted(_by_tables_or_cut(lowered.factors, variables, limit, certain), lowered)
        except TooLarge:
            best = _proved(lowered.factors, variables, limit, certain)
            if best is not None:
                return _shifted(best, lowered)
            if all(cpd.is_deterministic or not cpd.auxiliaries for cpd in cpds):
                raise
    return _by_search(cpds, factors, variables, limit, clock, evidence, must_be_exact=True)


def _by_tables_or_cut(
    factors: Sequence[Factor], variables: Sequence[Variable], budget: Budget, evidence: Evidence
) -> Assignment:
    """By a clique tree; by a cut where that tree takes longer than a moment and pairs of variables like to agree."""
    with suppress(TooLarge):
        moment = replace(budget, seconds=min(budget.seconds, _MOMENT))
        return _by_tables(factors, variables, moment, evidence)
    listed = [*factors, *_ones(evidence, variables)]
    problem = Problem.of(listed, evidence)
    if BestWithin(budget).affords(problem) and has_cut(problem):
        return _with_observed(GraphCut().best(listed, evidence), variables, evidence)
    return _by_tables(factors, variables, budget, evidence)


def _proved(
    factors: Sequence[Factor], variables: Sequence[Variable], budget: Budget, evidence: Evidence
) -> Assignment | None:
    """By a search within the budget; None where that proves nothing."""
    search, listed = BestWithin(budget), [*factors, *_ones(evidence, variables)]
    if not search.affords(Problem.of(listed, evidence)):
        return None
    best = search.best(listed, evidence)
    return _with_observed(best, variables, evidence) if best.info.exact else None


def _by_search(
    cpds: Sequence[CPD],
    factors: Sequence[Factor],
    variables: Sequence[Variable],
    limit: Budget,
    clock: Clock,
    evidence: Evidence,
    *,
    must_be_exact: bool,
) -> Assignment:
    """By a search that sums the effects of causes before it maximises."""
    max_entries, certain = min(_LARGEST_SUMS, limit.table_entries), replace(evidence, values={})
    lowered = lower(cpds, _names(variables), evidence.values, evidence.hard)
    try:
        found = marginal_map(
            (*factors, *lowered.factors),
            variables,
            certain,
            max_entries=max_entries,
            time_limit=clock.seconds_left,
            must_be_exact=must_be_exact,
        )
    except TooLarge:
        if clock.is_over:
            reason = f"A search for the best assignment did not end within {limit.seconds:g} s."
            raise _refusal(reason, cpds, _MORE_TIME) from None
        reason = f"The sums over the effects of causes need a table with more than {max_entries:.3g} entries."
        raise _refusal(reason, cpds, [Remedy("use smaller families")]) from None
    best = Assignment(found.assignment, log_probability=found.log_value, info=found.info)
    return _shifted(best, lowered)


def best_by(
    engine: Optimizer,
    cpds: Sequence[CPD],
    factors: Sequence[Factor],
    variables: Sequence[Variable],
    evidence: Evidence,
) -> Assignment:
    """A good assignment to the variables, observed ones included, as an engine finds it; see `best_of`."""
    lowered = _with_tables(cpds, factors, variables, evidence)
    if _summed(lowered, variables):
        if isinstance(engine, BestWithin):
            clock = Clock.of(engine.budget.seconds)
            return _by_search(cpds, factors, variables, engine.budget, clock, evidence, must_be_exact=False)
        raise _refusal(f"{type(engine).__name__} can't sum before it maximises.", cpds, [_NO_ENGINE])
    best = engine.best(lowered.factors, replace(evidence, values={}))
    return _shifted(_with_observed(best, variables, evidence), lowered)


def k_best_of(
    k: int,
    cpds: Sequence[CPD],
    factors: Sequence[Factor],
    variables: Sequence[Variable],
    budget: Budget | None,
    evidence: Evidence,
) -> list[Assignment]:
    """The k best assignments, best first; see `best_of`."""
    limit, certain = read_budget(budget), replace(evidence, values={})
    lowered = _with_tables(cpds, factors, variables, evidence)
    listed, size = lowered.factors, limit.table_entries
    if is_searched := bool(_summed(lowered, variables)):
        lowered = lower(cpds, _names(variables), evidence.values, evidence.hard)
        listed, size = (*factors, *lowered.factors), min(_LARGEST_SUMS, size)
    inside = {variable.name: variable for factor in listed for variable in factor.scope}
    asked = [*variables, *(inside[name] for name in lowered.functions)]
    try:
        best = best_assignments(listed, k, certain, asked, max_entries=size, time_limit=limit.seconds)
    except TooLarge as error:
        if not is_searched:
            raise
        raise _refusal("".join(map(str, error.args)), cpds, _MORE_TIME) from None
    return [_shifted(_with_observed(one, variables, certain), lowered) for one in best]


def _with_tables(
    cpds: Sequence[CPD], factors: Sequence[Factor], variables: Sequence[Variable], evidence: Evidence
) -> Lowered:
    """The factors and those of the distributions, as tables where these are not too large."""
    lowered = lower(cpds, _names(variables), evidence.values, evidence.hard, tables_up_to=_LARGEST_TABLE)
    return replace(lowered, factors=(*factors, *lowered.factors))


def _by_tables(
    factors: Sequence[Factor], variables: Sequence[Variable], budget: Budget, evidence: Evidence
) -> Assignment:
    """By a clique tree of what is not observed."""
    free = [variable for variable in variables if variable.name not in evidence.hard]
    compiled = compile_factors(absorb([*factors, *_ones(evidence, free)], evidence), free, budget=budget)
    best = compiled.best(Evidence({}, {}, {}))
    whole = _with_observed(best, variables, evidence)
    return Assignment(whole, log_probability=best.log_probability, info=compiled.info)


def _with_observed(best: Assignment, variables: Sequence[Variable], evidence: Evidence) -> Assignment:
    """The assignment to all variables: factors need not mention those that are observed."""
    states = {v.name: v.states[evidence.hard[v.name]] if v.name in evidence.hard else best[v.name] for v in variables}
    return Assignment(states, log_probability=best.log_probability, info=best.info)


def _ones(evidence: Evidence, variables: Sequence[Variable]) -> list[Factor]:
    """Constant factors of the variables with soft findings, which no other factor may mention."""
    return [Factor((v,), [1.0] * v.num_states) for v in variables if v.name in evidence.soft]


def _summed(lowered: Lowered, variables: Sequence[Variable]) -> set[str]:
    """The auxiliary variables that must be summed out before a maximum is taken."""
    return {name for factor in lowered.factors for name in factor.names} - lowered.functions - set(_names(variables))


def _names(variables: Sequence[Variable]) -> list[str]:
    return [variable.name for variable in variables]


def _shifted(best: Assignment, lowered: Lowered) -> Assignment:
    return Assignment(best, log_probability=(best.log_probability or 0.0) + lowered.log_scale, info=best.info)


def _refusal(reason: str, cpds: Sequence[CPD], remedies: Sequence[Remedy]) -> TooLarge:
    children = sorted((cpd for cpd in cpds if cpd.auxiliaries), key=lambda cpd: -len(cpd.parents))
    named = ", ".join(repr(cpd.variable.name) for cpd in children[:3]) + (", ..." if len(children) > 3 else "")
    return TooLarge(
        f"{reason} What makes it hard are distributions too large for tables, those of {named}.",
        remedies=[_EASIER, *remedies],
    )
