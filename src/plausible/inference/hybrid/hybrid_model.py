"""Exact inference in conditional linear Gaussian models: tables over discrete variables times regressions.

Continuous variables are eliminated first, by arc reversal, for all configurations of the discrete variables that they
meet at once; what the observed numbers say about the discrete variables is left as factors, and the rest is the usual
sum-product (strong elimination, Lauritzen & Jensen 2001, in the numerically sound form of Cowell 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import Ints
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor, GaussianMixture, MomentGaussian
from plausible.factors.alignment import Scope, num_entries
from plausible.inference.budget import Budget, read_budget
from plausible.inference.compiled import compile_factors
from plausible.inference.elimination import absorb
from plausible.inference.gaussian.elimination import NumbersCost, eliminate, plan_elimination, shape_of, strong_order
from plausible.inference.gaussian.moments import (
    Moments,
    draw,
    joint_moments,
    marginal_moments,
    marginal_shapes,
)
from plausible.inference.gaussian.regression import Regression, joint_scope, spread
from plausible.inference.hybrid.point_masses import settle_point_masses
from plausible.inference.posterior import components, log_total, posterior
from plausible.variables import Evidence, Variable

#: An elimination with more numbers is not begun before it is known that the sums after it fit the budget too.
_LARGE = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class HybridModel:
    """A product of tables and regressions in which no discrete variable depends on a hidden continuous one."""

    factors: tuple[Factor, ...]  # Over discrete variables; with the regressions they make the joint density
    #: One for each continuous variable, except those that are observed without a distribution of their own.
    regressions: tuple[Regression, ...]
    #: The most that a question may cost, numbers and sums over discrete variables together; by default `Budget()`. What
    #: costs more is refused before it is begun.
    budget: Budget | None = None

    def log_total(self, evidence: Evidence) -> float:
        """log of the probability of discrete findings times the density of numbers; -inf where it is zero.

        Plus infinity where a number is certain given the rest, as that of a deterministic variable: it has a point
        mass there, and no density.
        """
        try:
            entered = self._entered(evidence, self.regressions, ())
        except ImpossibleEvidence:
            return -math.inf
        found = log_total(entered.factors, entered.evidence, budget=entered.budget) + entered.log_scale
        return math.inf if entered.point_masses and found > -math.inf else found

    def table(self, targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence) of discrete targets."""
        entered = self._entered(evidence, self._relevant(evidence, [v.name for v in targets]), ())
        return entered.told(posterior(entered.factors, targets, entered.evidence, budget=entered.budget))

    def mixture(self, targets: Sequence[Variable], evidence: Evidence) -> GaussianMixture:
        """The distribution of targets, one or more of them continuous, given the evidence.

        A Gaussian for each configuration of the discrete targets and of all further discrete variables that the
        continuous targets depend on: these come after the targets in the mixture's weights, and make it exact.
        """
        names = [variable.name for variable in targets]
        hidden = [v.name for v in targets if v.is_continuous and v.name not in evidence.values]
        entered = self._entered(evidence, self._relevant(evidence, names), hidden)
        moments = joint_moments([step for step in entered.steps if step.name in hidden]).part(hidden)
        asked = [variable for variable in targets if not variable.is_continuous]
        others = [variable for variable in moments.scope if variable.name not in names]
        weights = posterior(entered.factors, [*asked, *others], entered.evidence, budget=entered.budget)
        return _mixture(entered.told(weights), _with_observed(moments, targets, evidence.values), targets)

    def marginals(
        self, variables: Iterable[Variable], evidence: Evidence
    ) -> tuple[dict[str, Factor], dict[str, MomentGaussian]]:
        """The posterior of each discrete variable, and the exact mean and variance of each hidden continuous one."""
        entered = self._entered(evidence, self.regressions, None)
        moments = marginal_moments(entered.steps)
        scopes = list(dict.fromkeys(part.scope for part in moments.values()))
        tables: dict[str, Factor] = {}
        beliefs: dict[Scope, Factor] = {(): Factor.scalar(1.0)}
        listed = list(variables)
        if listed:
            compiled = compile_factors(entered.factors, listed, budget=entered.budget)
            found = compiled.marginals(entered.evidence)
            tables = {v.name: entered.told(found[v.name]) for v in listed}
            wanted = [scope for scope in scopes if scope]
            beliefs |= zip(wanted, compiled.joints(wanted, entered.evidence), strict=True)
        collapsed = {}
        for step in reversed(entered.steps):  # the mean of the variances plus the variance of the means
            part = moments[step.name]
            weights, mean = beliefs[part.scope].flat, part.mean.reshape(-1)
            center = weights @ mean
            total = weights @ (part.covariance.reshape(-1) + (mean - center) ** 2)
            answer = MomentGaussian.trusted((step.variable,), np.array([center]), np.array([[total]]))
            collapsed[step.name] = answer
        return tables, collapsed

    def sampler(
        self, variables: Iterable[Variable], evidence: Evidence
    ) -> Callable[[int, np.random.Generator], dict[str, NDArray[Any]]]:
        """What draws rows from the posterior of the discrete variables and the hidden continuous ones, so many a call.

        They are columns by name: positions of states, and numbers.
        """
        entered = self._entered(evidence, self.regressions, ())
        listed = list(variables)
        compiled = compile_factors(entered.factors, listed, budget=entered.budget) if listed else None

        def sample(num_rows: int, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
            positions: dict[str, Ints] = {}
            if compiled is not None:
                rows = compiled.sample(num_rows, entered.evidence, generator)
                positions = {name: rows[:, column] for column, name in enumerate(compiled.variables)}
            numbers = draw(entered.steps, positions, num_rows, generator)
            return {**{variable.name: positions[variable.name] for variable in listed}, **numbers}

        return sample

    def outline(self, targets: Iterable[Variable] | None, evidence: Evidence) -> Outline:
        """How the continuous variables would be eliminated for a question about the targets, before it is done.

        `None` stands for each variable by itself.
        """
        if targets is None:
            return _outline(evidence, self.regressions, None)
        listed = list(targets)
        hidden = [v.name for v in listed if v.is_continuous and v.name not in evidence.values]
        return _outline(evidence, self._relevant(evidence, [v.name for v in listed]), hidden)

    def enter(self, evidence: Evidence) -> Entered:
        """The discrete model that is left once observed numbers are entered and all others integrated out."""
        return self._entered(evidence, self.regressions, ())

    def _relevant(self, evidence: Evidence, targets: Sequence[str]) -> list[Regression]:
        """The regressions that hidden variables tie to the targets, and those that could make the evidence impossible.

        All others integrate to a positive constant.
        """
        groups = [{v.name for v in factor.scope} for factor in self.factors]
        members = [{r.name, *r.parents, *(v.name for v in r.scope)} for r in self.regressions]
        certain = [bool((regression.variance == 0).any()) for regression in self.regressions]
        observed = evidence.hard.keys() | evidence.values.keys()
        hidden = [group - observed for group in (*members, *groups)]
        start = {*targets, *(name for group, sure in zip(hidden, certain, strict=False) if sure for name in group)}
        reached = _connected(hidden, start)
        return [
            regression
            for regression, group, sure in zip(self.regressions, hidden, certain, strict=False)
            if sure or group & reached
        ]

    def _entered(self, evidence: Evidence, regressions: Iterable[Regression], keep: Sequence[str] | None) -> Entered:
        """Eliminate the continuous variables; those to keep come last. `None` announces the moments of each alone."""
        outline = _outline(evidence, regressions, keep)
        limit = read_budget(self.budget)
        outline.cost.check(limit)
        rest = outline.cost.left_of(limit)
        if outline.cost.entries > _LARGE:
            self._check_sums(outline, evidence, rest)
        done = eliminate(outline.lines, outline.order, evidence.values)
        certain = replace(evidence, values={})
        taken = {variable.name for factor in self.factors for variable in factor.scope}
        weighed = settle_point_masses(
            self.factors, done.weights, certain, taken | {line.name for line in outline.lines}
        )
        if weighed.is_impossible:
            raise ImpossibleEvidence(
                "The evidence has probability zero: some observed numbers differ from what the others, or constants, "
                "determine."
            )
        return Entered(
            done.steps,
            (*self.factors, *weighed.factors),
            replace(certain, hard={**evidence.hard, **weighed.states}),
            weighed.log_scale,
            weighed.point_masses,
            outline.cost.entries,
            rest,
        )

    def _check_sums(self, outline: Outline, evidence: Evidence, budget: Budget) -> None:
        """Refuse sums over discrete variables that cost more than is left, before the numbers that they need exist."""
        scopes = [scope for scope in (*outline.weights, outline.kept) if scope]
        weights = [Factor(scope, np.ones([v.num_states for v in scope])) for scope in scopes]
        known = absorb(self.factors, Evidence(evidence.hard, {}, {}))
        touched = {name for weight in weights for name in weight.names}
        joined = components([*known, *weights])
        kept = [factor for part in joined if any(touched.intersection(f.names) for f in part) for factor in part]
        compile_factors(kept, (), budget=budget)


@dataclass(frozen=True, slots=True, eq=False)
class Entered:
    """What is left once the observed numbers are entered: regressions in order, and a discrete model."""

    #: For each hidden continuous variable its regression on those that were eliminated later.
    steps: tuple[Regression, ...]
    #: Over discrete variables, auxiliary ones among them: those of the model, and what the numbers say.
    factors: tuple[Factor, ...]
    evidence: Evidence  # On these variables
    log_scale: float  # The log of a constant that was taken out of the factors
    point_masses: int  # How many of the observed numbers are certain given the rest; with any, the density is infinite
    entries: int  # The numbers that the regressions had
    budget: Budget  # What is left for sums over the factors

    def told(self, answer: Factor) -> Factor:
        """An answer of the discrete model with how it was got."""
        info = replace(answer.info, engine="strong elimination", cost=answer.info.cost + self.entries)
        return answer.with_info(info)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """An elimination of continuous variables before it is done."""

    lines: tuple[Regression, ...]  # The regressions, at the states observed
    order: tuple[str, ...]  # The hidden variables, as they go
    cost: NumbersCost  # What it takes
    weights: tuple[Scope, ...]  # The scopes of the factors that observed numbers will leave
    kept: Scope  # The discrete variables that the joint distribution of the kept variables depends on
    #: For each hidden variable, as they go: it and all that its regression depends on then.
    cliques: tuple[tuple[str, ...], ...]

    @property
    def maximal(self) -> list[tuple[str, ...]]:
        """The cliques that are not part of one before."""
        place = {name: number for number, name in enumerate(self.order)}
        swallowed = set()
        for _, *around in self.cliques:
            if following := [place[name] for name in around if name in place]:
                above = min(following)
                if set(self.cliques[above]) <= set(around):
                    swallowed.add(above)
        return [clique for number, clique in enumerate(self.cliques) if number not in swallowed]


def _outline(evidence: Evidence, regressions: Iterable[Regression], keep: Sequence[str] | None) -> Outline:
    """The order, its steps and their price. `keep` as in `_entered`."""
    lines = tuple(regression.given(evidence.hard, evidence.values) for regression in regressions)
    shapes = [shape_of(line) for line in lines]
    observed = {line.name for line in lines if line.name in evidence.values}
    order = strong_order(shapes, observed, keep or ())
    steps, leaves = plan_elimination(shapes, order, observed)
    costs = [(shape.name, shape.scope, shape.entries) for shape in (*steps, *leaves)]
    kept: Scope = ()
    if keep is None:
        costs += ((name, scope, num_entries(scope) * n) for name, (scope, n) in marginal_shapes(steps).items())
    elif keep:
        named = [step for step in steps if step.name in set(keep)]
        kept = joint_scope([(), *(step.scope for step in named)])
        costs.append((keep[0], kept, num_entries(kept) * len(named) * (len(named) + 1)))
    cliques = tuple((step.name, *step.parents, *(v.name for v in step.scope)) for step in steps)
    weights = tuple(leaf.scope for leaf in leaves)
    return Outline(lines, tuple(order), NumbersCost(tuple(costs), len(lines)), weights, kept, cliques)


def _connected(groups: Sequence[set[str]], start: Iterable[str]) -> set[str]:
    """All names that a chain of overlapping groups ties to the first ones."""
    groups_of: dict[str, list[set[str]]] = {}
    for group in groups:
        for name in group:
            groups_of.setdefault(name, []).append(group)
    reached = set(start)
    frontier = list(reached)
    while frontier:
        for group in groups_of.pop(frontier.pop(), ()):
            frontier += group - reached
            reached |= group
    return reached


def _with_observed(moments: Moments, targets: Sequence[Variable], values: Mapping[str, float]) -> Moments:
    """The moments of all continuous targets in their order; an observed one is certain."""
    names = tuple(variable.name for variable in targets if variable.is_continuous)
    if names == moments.names:
        return moments
    shape = moments.mean.shape[:-1]
    mean, covariance = np.empty((*shape, len(names))), np.zeros((*shape, len(names), len(names)))
    mean[...] = [values.get(name, 0.0) for name in names]
    places = np.array([names.index(name) for name in moments.names], dtype=np.intp)
    mean[..., places] = moments.mean
    covariance[..., places[:, None], places] = moments.covariance
    return Moments(names, moments.scope, mean, covariance)


def _mixture(weights: Factor, moments: Moments, targets: Sequence[Variable]) -> GaussianMixture:
    scope = tuple(variable for variable in targets if variable.is_continuous)
    ordered = sorted(weights.scope, key=lambda variable: variable.name)
    back = [ordered.index(variable) for variable in weights.scope]
    parts = []
    for array, tail in ((moments.mean, 1), (moments.covariance, 2)):
        laid = spread(array, moments.scope, tuple(ordered))
        laid = laid.transpose(*back, *range(len(ordered), len(ordered) + tail))
        parts.append(np.array(np.broadcast_to(laid, (*weights.shape, *laid.shape[len(ordered) :]))))
    return GaussianMixture.trusted(weights, scope, parts[0], parts[1])
