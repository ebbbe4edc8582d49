"""Questions about the states of a network with hidden numbers: these are integrated out, and tables are left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plausible.cpds import CPD
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.inference.budget import Budget, read_budget
from plausible.inference.compiled import compile_factors
from plausible.inference.hybrid import HybridModel, Outline
from plausible.inference.plan import Plan, plan_factors
from plausible.models.hybrid_questions import best_states, explained, hybrid_model, read_any_targets, regression_of
from plausible.variables import Assignment, Evidence, EvidenceLike, Variable

__all__ = ["Densities", "densities", "hybrid_expectation", "hybrid_k_best", "hybrid_plan"]

_Cpds = Mapping[str, CPD]
_Variables = Mapping[str, Variable]


def hybrid_k_best(
    cpds: _Cpds, variables: _Variables, k: int, evidence: EvidenceLike | None = None, budget: Budget | None = None
) -> list[Assignment]:
    """The k most probable assignments to all discrete variables, the numbers that are not observed integrated out.

    `.log_probability` is the log of the probability of states and discrete findings times the density of observed
    numbers; +inf where one of these is certain given the rest.

    Examples
    --------
    >>> from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, TableCPD
    >>> kind = TableCPD("kind", [0.5, 0.5], states=["small", "large"])
    >>> height = ConditionalGaussianCPD("height", [10.0, 12.0], {}, 1.0, [kind.variable])
    >>> cpds = {"kind": kind, "height": height, "scale": LinearGaussianCPD("scale", 0.0, {"height": 1.0}, 1.0)}
    >>> variables = {name: cpd.variable for name, cpd in cpds.items()}
    >>> [one["kind"] for one in hybrid_k_best(cpds, variables, 2, {"scale": 12.5})]
    ['large', 'small']
    """
    found = Evidence.read(evidence, variables, "this network")
    discrete = _discrete(variables)
    model, log_scale = hybrid_model(cpds, variables, found, [variable.name for variable in discrete], budget)
    best = explained(cpds, variables, evidence, lambda: best_states(model, k, discrete, found), budget)
    return [Assignment(one, log_probability=(one.log_probability or 0.0) + log_scale, info=one.info) for one in best]


def hybrid_expectation(
    cpds: _Cpds,
    variables: _Variables,
    terms: Sequence[Factor],
    evidence: EvidenceLike | None = None,
    budget: Budget | None = None,
) -> float:
    """E[Σ f | evidence] of terms over discrete variables, the numbers that are not observed integrated out."""
    found = Evidence.read(evidence, variables, "this network")
    model, _ = hybrid_model(cpds, variables, found, [name for term in terms for name in term.names], budget)

    def ask() -> float:
        entered = model.enter(found)
        compiled = compile_factors(entered.factors, (), together=[term.names for term in terms], budget=entered.budget)
        return compiled.expectation(terms, entered.evidence)

    return explained(cpds, variables, evidence, ask, budget)


# --- what observed numbers say ---


@dataclass(frozen=True, slots=True)
class Densities:
    """The density of observed numbers as factors of discrete variables, the hidden numbers integrated out.

    Attributes
    ----------
    factors
        Their product, times exp(`log_scale`), is the density of the numbers given the states.
    log_scale
        The log of what was taken out of them.
    """

    factors: tuple[Factor, ...]
    log_scale: float


def densities(cpds: Iterable[CPD], evidence: Evidence, *, only_relative: bool) -> Densities:
    """What the observed numbers say about states, for questions that look into the tables themselves.

    Parameters
    ----------
    cpds
        The distributions of the question: only those of continuous variables are looked at.
    evidence
        The findings; the factors are right where its states hold.
    only_relative
        Whether the question is about quotients, such as P(x | e), in which a constant, even an infinite one, cancels.

    Raises
    ------
    NotSupported
        Where an observed number is certain given the rest, and the question is about its density; or where it is so in
        some configurations only: which of them count then depends on which entries of tables are zero, and no
        derivative says how.

    Examples
    --------
    >>> from plausible.cpds import LinearGaussianCPD
    >>> cpds = [LinearGaussianCPD("x", 0.0, variance=1.0), LinearGaussianCPD("y", 0.0, {"x": 1.0}, 3.0)]
    >>> seen = Evidence.read({"y": 2.0}, {cpd.variable.name: cpd.variable for cpd in cpds})
    >>> round(densities(cpds, seen, only_relative=False).log_scale, 6)  # of N(0, 4) at 2
    -2.112086
    """
    listed = [cpd for cpd in cpds if cpd.variable.is_continuous]
    model = HybridModel((), tuple(regression_of(cpd) for cpd in listed))
    entered = model.enter(replace(evidence, soft={}, jeffrey={}))
    is_uneven = bool(entered.evidence.hard.keys() - evidence.hard.keys())
    if is_uneven or (entered.point_masses and not only_relative):
        seen = ", ".join(repr(cpd.variable.name) for cpd in listed if cpd.variable.name in evidence.values)
        raise NotSupported(
            f"The numbers observed of {seen} are certain given the rest{', under some states' if is_uneven else ''}: "
            "their density is infinite, and has no derivatives in the entries of tables. Leave out what follows from "
            "other findings, or give it a positive variance."
        )
    return Densities(entered.factors, entered.log_scale)


# --- plans ---


def hybrid_plan(
    cpds: _Cpds,
    variables: _Variables,
    targets: str | Iterable[str] | None,
    evidence: EvidenceLike | None = None,
    budget: Budget | None = None,
) -> Plan:
    """What it costs to eliminate the continuous variables and then to answer from tables.

    Without targets, for all variables. Where the elimination alone is too large, it is all that the plan tells of.

    Examples
    --------
    >>> from plausible.cpds import LinearGaussianCPD
    >>> cpds = {"x": LinearGaussianCPD("x", 1.0, variance=4.0), "y": LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)}
    >>> print(hybrid_plan(cpds, {name: cpd.variable for name, cpd in cpds.items()}, "x", {"y": 2.0}))
    strong elimination: 2 factors over 1 variable
    1 clique, width 0, 8 entries, 0.0 MiB, about 0.0004 s
    largest clique: (x), 3 entries, separator ()
    elimination order: x
    """
    found = Evidence.read(evidence, variables, "this network")
    wanted = list(variables.values()) if targets is None else read_any_targets(targets, variables)
    model, _ = hybrid_model(cpds, variables, found, [variable.name for variable in wanted])
    outline = model.outline(None if targets is None else wanted, found)
    # What no budget allows is not laid out.
    can_lay_out = outline.cost.is_possible and outline.cost.entries <= MAX_ENTRIES
    tables = [factor for factor in model.factors if factor.scope]
    rest = None
    if tables and can_lay_out:
        weights = [Factor(scope, np.ones([v.num_states for v in scope])) for scope in outline.weights if scope]
        free = [v for v in wanted if not v.is_continuous and v.name not in found.hard]
        together = [[v.name for v in free]] if targets is not None else []
        rest = plan_factors([*tables, *weights], free, together=together, budget=budget)
    return _with_numbers(rest, outline, read_budget(budget))


def _with_numbers(rest: Plan | None, outline: Outline, budget: Budget) -> Plan:
    """The plan of the tables with that of the regressions before it."""
    plan = rest or Plan("", 0, 0, (), 0, 0, 0, (), 0, (), 0, 0.0, True)
    cost, cliques = outline.cost, outline.maximal
    numbers: dict[str, int] = {}
    for name, _, entries in cost.tables:
        numbers[name] = max(entries, numbers.get(name, 0))
    largest = max(outline.cliques, key=lambda clique: numbers[clique[0]], default=("",))
    if numbers.get(largest[0], 0) > plan.largest_entries:
        plan = replace(plan, largest_clique=largest, largest_entries=numbers[largest[0]], largest_separator=largest[1:])
    num_bytes, seconds = plan.bytes + cost.bytes, plan.seconds + cost.seconds
    return replace(
        plan,
        engine="strong elimination",
        num_factors=plan.num_factors + len(outline.lines),
        num_variables=plan.num_variables + len(outline.order),
        order=(*outline.order, *plan.order),
        width=max(plan.width, max(map(len, cliques), default=1) - 1),
        num_cliques=plan.num_cliques + len(cliques),
        entries=plan.entries + cost.entries,
        bytes=num_bytes,
        seconds=seconds,
        fits=plan.fits and cost.is_possible and num_bytes <= budget.bytes and seconds <= budget.seconds,
    )


def _discrete(variables: _Variables) -> list[Variable]:
    return [variable for variable in variables.values() if not variable.is_continuous]
