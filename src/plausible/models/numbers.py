"""The exact way where continuous variables are not observed: they are integrated out, and tables are left.

Every continuous variable is linear Gaussian, given discrete parents, and no discrete variable depends on a hidden
continuous one. Numbers may be observed anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import numpy as np

from plausible.base import Floats, Seed, generator_of
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors import Factor, GaussianMixture, MomentGaussian
from plausible.factors.alignment import MAX_ENTRIES
from plausible.factors.marginals import Marginals
from plausible.inference import best_assignments, compile_factors
from plausible.inference.budget import Budget, read_budget
from plausible.inference.gaussian.regression import Regression
from plausible.inference.hybrid.hybrid_model import HybridModel, Outline
from plausible.inference.plan import Plan, plan_factors
from plausible.models.lowering import lower
from plausible.models.question import MapLimits, Question, Way
from plausible.models.samples import Columns, Samples
from plausible.variables import Assignment, Evidence, Variable

if TYPE_CHECKING:
    pass


class Numbers(Way):
    """The exact way of a question that involves numbers that are not observed."""

    __slots__ = ("_entered",)

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self._entered: tuple[HybridModel, float] | None = None

    @property
    def model(self) -> HybridModel:
        """Tables and regressions."""
        return self._lowered()[0]

    def _lowered(self) -> tuple[HybridModel, float]:
        """The model, made when it is first needed, and the logarithm of what was taken out of its tables."""
        if self._entered is None:
            cpds, evidence = self.question.parts.cpds, self.question.evidence
            tables = [cpd for cpd in cpds if not cpd.variable.is_continuous]
            regressions = tuple(regression_of(cpd) for cpd in cpds if cpd.variable.is_continuous)
            refuse_hidden_parents(tables, evidence)
            lowered = lower(tables, self.question.model.variables, evidence.values, evidence.hard)
            model = HybridModel(lowered.factors, regressions, read_budget(self.question.budget))
            self._entered = model, lowered.log_scale
        return self._entered

    def table(self) -> Factor:
        """P(targets | evidence) of discrete targets."""
        return self.model.table(self.question.targets, self.question.evidence)

    def belief(self, variable: Variable, evidence: Evidence) -> Floats:
        """As a query for one discrete variable."""
        return self.model.table([variable], evidence).flat

    def mixture(self) -> GaussianMixture:
        """P(targets | evidence) exactly, as a mixture over all discrete variables that continuous targets depend on.

        The discrete targets come first in the weights, then the others that matter given the evidence.
        """
        targets = self.question.targets
        if not any(variable.is_continuous for variable in targets):
            raise InvalidArgument(f"A mixture needs a continuous target; {[v.name for v in targets]} are all discrete.")
        return self.model.mixture(targets, self.question.evidence)

    def moments(self) -> MomentGaussian:
        """The exact mean and covariance of continuous targets."""
        if not self.question.targets or not all(variable.is_continuous for variable in self.question.targets):
            raise InvalidArgument(
                "Moments are those of continuous targets. `query` answers about discrete ones; from Python, "
                "net.mixture about both kinds together."
            )
        return self.mixture().moments()

    def marginals(self) -> Marginals:
        """From one elimination of the continuous variables and one calibration of a clique tree."""
        tables, _ = self.model.marginals(self.question.states, self.question.evidence)
        return Marginals(tables)

    def all_moments(self) -> dict[str, MomentGaussian]:
        """The exact mean and variance of each continuous variable, observed ones included."""
        values, variables = self.question.evidence.values, self.question.model.variables
        _, moments = self.model.marginals(self.question.states, self.question.evidence)
        known = {name: MomentGaussian((variables[name],), [value], [[0.0]]) for name, value in values.items()}
        names = [variable.name for variable in self.question.targets if variable.is_continuous]
        return {name: {**moments, **known}[name] for name in names}

    def log_total(self) -> float:
        """log of the probability of the discrete findings times the density of the observed numbers.

        -inf for impossible evidence; +inf where an observed number is certain given the other findings: a deterministic
        variable has a point mass there, and no density.
        """
        model, log_scale = self._lowered()
        return model.log_total(self.question.evidence) + log_scale

    def expectation(self, terms: Sequence[Factor]) -> float:
        """E[Σ f | evidence] of terms over discrete variables."""
        entered = self.model.enter(self.question.evidence)
        compiled = compile_factors(entered.factors, (), together=[term.names for term in terms], budget=entered.budget)
        return compiled.expectation(terms, entered.evidence)

    def k_best(self, k: int) -> list[Assignment]:
        """The k most probable assignments to all discrete variables, hidden numbers integrated out.

        `.log_probability` is the log of the probability of states and discrete findings times the density of observed
        numbers; +inf where one of these is certain given the rest.
        """
        model, log_scale = self._lowered()
        entered = model.enter(self.question.evidence)
        limit = entered.budget
        best = best_assignments(
            entered.factors,
            k,
            entered.evidence,
            self.question.states,
            max_entries=limit.table_entries,
            time_limit=limit.seconds,
        )
        extra = log_scale + (math.inf if entered.point_masses else entered.log_scale)
        return [Assignment(one, log_probability=(one.log_probability or 0.0) + extra, info=one.info) for one in best]

    def best(self) -> Assignment:
        """The most probable states of all discrete variables, numbers integrated out, and the best numbers given these.

        First argmax_d P(d | evidence), then argmax_x p(x | d, evidence), which is the mean of a Gaussian. The largest
        joint density p(d, x) may lie elsewhere, but depends on the units of the numbers: in millimetres instead of
        metres another d could win. `.log_probability` is the log of the joint density of states and numbers, times the
        weights of likelihoods; +inf where some number is certain given the others.
        """
        evidence = self.question.evidence
        (best,) = self.k_best(1)
        known = {**evidence.hard, **{v.name: v.index(best[v.name]) for v in self.question.states}}
        _, moments = self.model.marginals((), Evidence(known, {}, evidence.values))
        numbers = {**evidence.values, **{name: float(gaussian.mean[0]) for name, gaussian in moments.items()}}
        settled = Evidence(known, {}, numbers)
        log_weights = sum(math.log(weights[known[name]]) for name, weights in evidence.soft.items())
        log_density = Numbers(replace(self.question, evidence=settled)).log_total()
        return Assignment({**best, **numbers}, log_probability=log_density + log_weights)

    def best_targets(self, limits: MapLimits) -> Assignment:
        """The states with the largest entry in the table of the targets."""
        table = self.table()
        log_best = math.log(table.max()) + self.log_total()
        return Assignment(table.argmax(), log_probability=log_best, info=table.info)

    def samples(self, num_rows: int, seed: Seed) -> Samples:
        """Independent rows: findings and what is above them from the exact posterior, all else forward along edges."""
        question, evidence, generator = self.question, self.question.evidence, generator_of(seed)
        cpds = {cpd.variable.name: cpd for cpd in question.parts.cpds}
        above = ancestors_of(cpds, evidence.names)
        asked = replace(question, parts=replace(question.parts, cpds=[cpds[name] for name in cpds if name in above]))
        discrete = [v for v in question.states if v.name in above and v.name not in evidence.hard]
        draw = Numbers(asked).model.sampler(discrete, evidence)
        known = (*evidence.hard.items(), *evidence.values.items())
        order = list(TopologicalSorter({name: cpd.parent_names for name, cpd in cpds.items()}).static_order())

        def block(size: int) -> Columns:
            columns = draw(size, generator) | {name: np.full(size, value) for name, value in known}
            for name in order:
                if name not in columns:
                    columns[name] = cpds[name].quantile(columns, generator.random(size))
            return columns

        return Samples(question.model.variables, num_rows, block)

    def plan(self) -> Plan:
        """What it costs to eliminate the continuous variables and then to answer from tables.

        Where the elimination alone is too large, it is all that the plan tells of.
        """
        question, evidence = self.question, self.question.evidence
        outline = self.model.outline(question.targets if question.has_targets else None, evidence)
        # What no budget allows is not laid out.
        can_lay_out = outline.cost.is_possible and outline.cost.entries <= MAX_ENTRIES
        tables = [factor for factor in self.model.factors if factor.scope]
        rest = None
        if tables and can_lay_out:
            weights = [Factor(scope, np.ones([v.num_states for v in scope])) for scope in outline.weights if scope]
            free = [v for v in question.states if v.name not in evidence.hard]
            together = [[v.name for v in free]] if question.has_targets else []
            rest = plan_factors([*tables, *weights], free, together=together, budget=question.budget)
        return _with_numbers(rest, outline, read_budget(question.budget))


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
        cliques=(),
        parents=(),
        fits=plan.fits and cost.is_possible and num_bytes <= budget.bytes and seconds <= budget.seconds,
    )


def regression_of(cpd: CPD) -> Regression:
    """The distribution of a continuous variable as a regression."""
    if isinstance(cpd, LinearGaussianCPD):
        return Regression.of(cpd.variable, cpd.parent_names, (), cpd.intercept, cpd.coefficients, cpd.variance)
    if isinstance(cpd, ConditionalGaussianCPD):
        slopes = [cpd.coefficients[name] for name in cpd.continuous_names]
        stacked = np.stack(slopes, axis=-1) if slopes else np.zeros((*cpd.intercept.shape, 0))
        names, discrete = cpd.continuous_names, cpd.discrete_parents
        return Regression.of(cpd.variable, names, discrete, cpd.intercept, stacked, cpd.variance)
    raise NotSupported(
        f"{cpd.variable.name!r} is continuous, but its {cpd.kind} distribution is not linear Gaussian: exact inference "
        "can't use it. This needs an approximate engine."
    )


def ancestors_of(cpds: Mapping[str, CPD], names: Iterable[str]) -> set[str]:
    """The names and all above them."""
    found = set(names)
    frontier = list(found)
    while frontier:
        cpd = cpds.get(frontier.pop())
        new = set(cpd.parent_names) - found if cpd is not None else set()
        found |= new
        frontier += new
    return found


def refuse_hidden_parents(cpds: Iterable[CPD], evidence: Evidence) -> None:
    """Refuse discrete variables that depend on continuous ones without a number."""
    for cpd in cpds:
        hidden = [v.name for v in cpd.parents if v.is_continuous and v.name not in evidence.values]
        if hidden and not cpd.variable.is_continuous:
            raise NotSupported(
                f"{cpd.variable.name!r} is discrete and depends on {hidden[0]!r}, which is continuous and not "
                f"observed: exact inference can't integrate that. Observe {hidden[0]!r}, leave {cpd.variable.name!r} "
                "out of targets and evidence, or make one of them of the other kind. This needs an approximate engine."
            )


@dataclass(frozen=True, slots=True)
class Densities:
    """The density of observed numbers as factors of discrete variables, the hidden numbers integrated out."""

    factors: tuple[Factor, ...]  # Their product, times exp(`log_scale`), is the density of the numbers given the states
    log_scale: float  # The log of what was taken out of them


def densities(cpds: Iterable[CPD], evidence: Evidence, *, only_relative: bool) -> Densities:
    """What the observed numbers say about states, for questions that look into the tables themselves.

    With `only_relative` the question is about quotients, such as P(x | e), in which a constant, even an infinite one,
    cancels. Refused where an observed number is certain given the rest, and the question is about its density; or where
    it is so in some configurations only, as no derivative then says which of them count.
    """
    listed = [cpd for cpd in cpds if cpd.variable.is_continuous]
    model = HybridModel((), tuple(regression_of(cpd) for cpd in listed))
    entered = model.enter(replace(evidence, soft={}))
    is_uneven = bool(entered.evidence.hard.keys() - evidence.hard.keys())
    if is_uneven or (entered.point_masses and not only_relative):
        seen = ", ".join(repr(cpd.variable.name) for cpd in listed if cpd.variable.name in evidence.values)
        raise NotSupported(
            f"The numbers observed of {seen} are certain given the rest{', under some states' if is_uneven else ''}: "
            "their density is infinite, and has no derivatives in the entries of tables. Leave out what follows from "
            "other findings, or give it a positive variance."
        )
    return Densities(entered.factors, entered.log_scale)
