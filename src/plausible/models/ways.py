"""The ways to answers from tables: exactly, from a tree that was laid out before, or by a named engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Seed, generator_of
from plausible.cpds import CPD, TableCPD
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.factors.marginals import Marginals
from plausible.inference import CompiledFactors, absorb, approximate_map, compile_factors, prune
from plausible.inference.approximate_samples import reseeded
from plausible.inference.budget import Budget, read_budget
from plausible.inference.exact_map.marginal_map import MapMethod, marginal_map
from plausible.inference.exact_map.max_elimination import constrained_order
from plausible.inference.jeffrey import joints_of_draws, likelihoods_of_draws
from plausible.inference.plan import Plan, plan_factors
from plausible.inference.posterior import log_total, posterior, posteriors
from plausible.inference.within_budget import MESSAGES, BeliefsWithin, BestWithin
from plausible.models.lowering import SMALL_TABLE, Lowered, lower, plain_factors, point_mass
from plausible.models.maxima import best_by, best_of, k_best_of
from plausible.models.question import MapLimits, Parts, Question, Way
from plausible.models.samples import Columns, Samples
from plausible.variables import Assignment, Evidence, Variable

#: From so many entries on, a clique tree for the evidence at hand may be much smaller.
_LARGE_TREE = 2**20


class Tables(Way):
    """The exact way where all numbers that matter are observed: sums and maxima of tables."""

    __slots__ = ()

    def lowered(self, *, is_given: bool = True) -> Lowered:
        """The parts as factors: right where states are as observed, or for any states."""
        question, parts = self.question, self.question.parts
        if not parts.cpds:
            return Lowered(tuple(parts.factors), 0.0)
        observed = question.evidence.hard if is_given else None
        lowered = lower(parts.cpds, question.model.variables, question.evidence.values, observed)
        return replace(lowered, factors=(*parts.factors, *lowered.factors)) if parts.factors else lowered

    def table(self) -> Factor:
        """By what is left once all that sums to a constant has been left out."""
        question, lowered = self.question, self.lowered()
        pruned = prune(lowered.factors, question.targets, question.certain)
        hard = replace(question.evidence, soft={}, values={})
        return posterior(pruned.factors, question.targets, hard, order=lowered.order, budget=question.budget)

    def belief(self, variable: Variable, evidence: Evidence) -> Floats:
        """As a query for one variable."""
        return Tables(replace(self.question, targets=(variable,), evidence=evidence)).table().flat

    def marginals(self) -> Marginals:
        """By the tree for any evidence, which is kept for the next question; where it is large, by one for this one."""
        question = self.question
        if not question.has_targets:
            try:
                tree = self._tree()
            except TooLarge:
                tree = None
            if tree is not None and tree.sums.program.num_entries <= _LARGE_TREE:
                answers = tree.sums.marginals(question.certain)
                return Marginals((variable.name, answers[variable.name]) for variable in question.targets)
        lowered = self.lowered()
        return Marginals(
            posteriors(lowered.factors, question.targets, question.certain, order=lowered.order, budget=question.budget)
        )

    def _tree(self) -> CompiledParts:
        """The tree for any evidence, with observed numbers and inputs built in."""
        question, variables = self.question, self.question.model.variables
        hard = question.evidence.hard
        fixed = [point_mass(variables[n], variables[n].states[hard[n]]) for n in question.model.inputs if n in hard]
        parts = replace(question.parts, cpds=(*fixed, *question.parts.cpds)) if fixed else question.parts
        return compile_parts(parts, variables, question.evidence.values, question.budget)

    def log_total(self) -> float:
        """A sum of look-ups where all is observed, else by elimination or a tree."""
        question, certain = self.question, self.question.certain
        cpds, observed = question.parts.cpds, {**question.evidence.hard, **question.evidence.values}
        if not question.parts.factors and all(cpd.variable.name in observed for cpd in cpds):
            columns = {name: np.array([value]) for name, value in observed.items()}
            logs = [float(cpd.log_probability(columns)[0]) for cpd in cpds]
        else:
            lowered = self.lowered()
            total = log_total(lowered.factors, certain, order=lowered.order, budget=question.budget)
            logs = [total, lowered.log_scale]
        return -math.inf if -math.inf in logs else sum(logs)  # what can't be is so beside a point mass, too

    def best(self) -> Assignment:
        """By a tree of maxima, or by a search where some distributions are too large for tables."""
        question = self.question
        parts = question.parts
        return best_of(parts.cpds, parts.factors, question.states, question.budget, question.evidence)

    def k_best(self, k: int) -> list[Assignment]:
        """The k best assignments to the targets, which are all variables, best first."""
        question = self.question
        parts = question.parts
        return k_best_of(k, parts.cpds, parts.factors, question.targets, question.budget, question.evidence)

    def best_targets(self, limits: MapLimits) -> Assignment:
        """By elimination, sums before maxima, or by branch and bound."""
        return self._best_targets(limits, "auto")

    def proved_targets(self, limits: MapLimits) -> Assignment | None:
        """By elimination, or by a search whose work is counted; None where that proves nothing."""
        try:
            return self._best_targets(limits, "elimination")
        except TooLarge:
            return None

    def _best_targets(self, limits: MapLimits, method: MapMethod) -> Assignment:
        lowered, seconds = self.lowered(), limits.time_limit
        budget = read_budget(self.question.budget)
        budget = budget if seconds is None else replace(budget, seconds=max(seconds, 1e-9))
        answer = marginal_map(
            lowered.factors,
            self.question.targets,
            self.question.certain,
            method=method,
            max_entries=limits.max_entries,
            time_limit=limits.time_limit,
            prove=BestWithin(budget).proved,
            progress=limits.progress,
        )
        return Assignment(answer.assignment, log_probability=answer.log_value + lowered.log_scale, info=answer.info)

    def expectation(self, terms: Sequence[Factor]) -> float:
        """E[Σ terms | evidence] in one pass."""
        lowered, groups = self.lowered(is_given=False), [term.names for term in terms]
        compiled = compile_factors(
            lowered.factors, (), order=lowered.order, together=groups, budget=self.question.budget
        )
        return compiled.expectation(terms, self.question.certain)

    def samples(self, num_rows: int, seed: Seed) -> Samples:
        """Independent rows; numbers are as observed."""
        return self._samples_of(self._tree().sums, num_rows, seed)

    def _samples_of(self, sums: CompiledFactors, num_rows: int, seed: Seed) -> Samples:
        generator, certain, values = generator_of(seed), self.question.certain, self.question.evidence.values

        def block(size: int) -> Columns:
            codes = sums.sample(size, certain, generator)
            columns = {name: codes[:, place] for place, name in enumerate(sums.variables)}
            return {**columns, **{name: np.full(size, value) for name, value in values.items()}}

        return Samples(self.question.model.variables, num_rows, block)

    def plan(self) -> Plan:
        """What a table of the targets costs; without targets, a tree for any evidence."""
        question = self.question
        if not question.has_targets:
            lowered = self.lowered(is_given=False)
            return plan_factors(lowered.factors, question.targets, order=lowered.order, budget=question.budget)
        return self._plan([[variable.name for variable in question.free]])

    def _plan(self, together: Sequence[Sequence[str]]) -> Plan:
        lowered, free = self.lowered(), self.question.free
        pruned = prune(lowered.factors, free, self.question.certain)
        return plan_factors(pruned.factors, free, order=lowered.order, together=together, budget=self.question.budget)

    def fits(self) -> bool:
        """Whether the table of the targets is within the budget."""
        return self.plan().fits

    def fits_each(self) -> bool:
        """Whether a tree about all variables, or some, is within the budget: for any evidence, or for this."""
        return (not self.question.has_targets and self.plan().fits) or self._plan(()).fits

    def fits_best(self) -> bool:
        """Whether a tree of maxima is within the budget, and, where there is a log Z to take off, one for that."""
        return self.fits_each() if self.question.model._is_normalized else self.plan().fits

    def fits_tables(self) -> bool:
        """Whether a tree for any evidence is within the budget, all its tables held."""
        plan = self.plan()
        return plan.fits and read_budget(self.question.budget).holds(plan.entries)

    def fits_map(self, max_entries: int) -> bool:
        """Whether the tables of an elimination, sums before maxima, have no more entries."""
        factors = absorb(self.lowered().factors, self.question.certain)
        return constrained_order(factors, [variable.name for variable in self.question.free]).cost <= max_entries


class Named(Way):
    """The way of a named engine, which gets one plain factor for each family."""

    __slots__ = ()

    def factors(self) -> list[Factor]:
        """What the engine gets."""
        question, parts = self.question, self.question.parts
        if not parts.cpds:
            return list(parts.factors)
        return [*parts.factors, *plain_factors(parts.cpds, question.model.variables, question.evidence)]

    def table(self) -> Factor:
        """As the engine has it."""
        question = self.question
        answer: Factor
        if question.beliefs:
            (answer,) = self._under_beliefs([question.targets])
        else:
            answer = question.engine.query(self.factors(), question.targets, question.certain)
        return answer

    def _under_beliefs(self, groups: Sequence[Sequence[Variable]]) -> list[Factor]:
        question = self.question
        return joints_of_draws(self.factors(), groups, question.certain, question.beliefs, question.engine.joints)

    def belief(self, variable: Variable, evidence: Evidence) -> Floats:
        """As a query for one variable."""
        answer: Factor = self.question.engine.query(self.factors(), [variable], replace(evidence, values={}))
        return answer.flat

    def marginals(self) -> Marginals:
        """From one run of the engine."""
        question, engine = self.question, self.question.engine
        if not question.beliefs:
            return Marginals(engine.marginals(self.factors(), question.targets, question.certain))
        answers = self._under_beliefs([(variable,) for variable in question.targets])
        return Marginals(zip((variable.name for variable in question.targets), answers, strict=True))

    def log_total(self) -> float:
        """An `Estimate`, where the engine is approximate."""
        total: float = self.question.engine.log_total(self.factors(), self.question.certain)
        return total

    def best(self) -> Assignment:
        """A good assignment."""
        question = self.question
        parts = question.parts
        return best_by(question.engine, parts.cpds, parts.factors, question.states, question.evidence)

    def best_targets(self, limits: MapLimits) -> Assignment:
        """By a search that scores with the engine's sums."""
        question, engine, within = self.question, self.question.engine, None
        if isinstance(engine, BeliefsWithin):
            engine, within = MESSAGES, engine
        answer = approximate_map(
            self.factors(), question.targets, question.certain, engine, within=within, time_limit=limits.time_limit
        )
        return Assignment(answer.assignment, log_probability=answer.log_value, info=answer.info)

    def samples(self, num_rows: int, seed: Seed) -> Samples:
        """Rows of equal weight, all drawn at once.

        Observed variables that no factor has, such as numbers and inputs, are as observed in every row.
        """
        question, evidence = self.question, self.question.evidence
        factors, certain = self.factors(), question.certain
        if question.beliefs:
            certain = likelihoods_of_draws(factors, certain, question.beliefs, question.engine.joints)
        drawn = reseeded(question.engine, seed).draw_states(factors, num_rows, certain)
        observed: dict[str, npt.NDArray[Any]] = {
            name: np.full(num_rows, value) for name, value in {**evidence.hard, **evidence.values}.items()
        }
        columns, variables = {**observed, **drawn.columns}, question.model.variables
        return Samples(variables, num_rows, lambda size: columns, drawn.info, drawn.effective_size, is_whole=True)


@dataclass(frozen=True, slots=True)
class CompiledParts:
    """A clique tree for any states of the discrete variables, continuous ones at their observed values."""

    variables: Mapping[str, Variable]
    sums: CompiledFactors
    maxima: Callable[[Evidence], Assignment] | None  # where there are auxiliary variables that have to be summed first
    log_scale: float  # the log of what was taken out of the factors
    families: Mapping[str, tuple[Variable, ...]]  # of discrete variables


def compile_parts(
    parts: Parts, variables: Mapping[str, Variable], values: Mapping[str, float], budget: Budget | None
) -> CompiledParts:
    """Lay out a clique tree; large distributions that have compact factors are taken apart."""
    plain: list[Factor] = list(parts.factors)
    compact: list[CPD] = []
    others: list[CPD] = []
    families: dict[str, tuple[Variable, ...]] = {}
    asked = {name for factor in plain for name in factor.names}
    for cpd in parts.cpds:
        scope = cpd.scope
        if not cpd.variable.is_continuous:
            asked.add(cpd.variable.name)
        if any(variable.is_continuous for variable in scope):
            others.append(cpd)
            continue
        families[cpd.variable.name] = scope
        if isinstance(cpd, TableCPD) or num_entries(scope) <= SMALL_TABLE:
            plain.append(cpd.to_factor())
        else:
            (others if cpd.is_deterministic or not cpd.auxiliaries else compact).append(cpd)
    rest = lower(others, variables, values)
    plain.extend(rest.factors)
    named = {name: variable for name, variable in variables.items() if name in asked}
    apart = lower(compact, variables, {})
    sums = compile_factors((*plain, *apart.factors), named.values(), order=apart.order, budget=budget)
    maxima = partial(best_of, compact, plain, tuple(named.values()), budget) if compact else None
    return CompiledParts(named, sums, maxima, rest.log_scale, families)


class Tree(Tables):
    """The way of a clique tree that was laid out before, for any evidence."""

    __slots__ = ("maxima", "sums")

    def __init__(
        self, question: Question, sums: CompiledFactors, maxima: Callable[[Evidence], Assignment] | None
    ) -> None:
        super().__init__(question)
        self.sums, self.maxima = sums, maxima

    def table(self) -> Factor:
        """Read off a clique, or by another tree where no clique has all targets."""
        return self.sums.joint(self.question.targets, self.question.evidence)

    def belief(self, variable: Variable, evidence: Evidence) -> Floats:
        """Read off a clique."""
        return self.sums.belief(variable.name, evidence)

    def marginals(self) -> Marginals:
        """From one calibration."""
        answers = self.sums.marginals(self.question.evidence)
        if len(answers) == len(self.question.targets):
            return answers
        return Marginals((variable.name, answers[variable.name]) for variable in self.question.targets)

    def log_total(self) -> float:
        """From one pass."""
        return self.sums.log_total(self.question.evidence)

    def best(self) -> Assignment:
        """From one pass of maxima."""
        return (self.maxima or self.sums.best)(self.question.evidence)

    def samples(self, num_rows: int, seed: Seed) -> Samples:
        """Independent rows."""
        return self._samples_of(self.sums, num_rows, seed)
