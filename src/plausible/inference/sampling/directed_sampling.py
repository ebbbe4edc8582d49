"""Samplers that go from parents to children: rejection sampling and likelihood weighting.

All of them draw every variable from a distribution given its parents' states, and weigh the sample by what makes up
for the difference to Π P(x | parents) · P(evidence | x). They differ in these distributions only, so each is a plan,
and the rest is written once, in `DirectedSampler`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plausible.base import Codes, Floats, QueryInfo, Seed, check_count, generator_of, set_counts
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.factors.alignment import check_size
from plausible.inference.approximate import FactorEngine, with_observed
from plausible.inference.approximate_samples import DrawnStates, EvidenceNotSeen, resampled_rows, told_rows
from plausible.inference.estimates import Estimate
from plausible.inference.relevance import possible_states
from plausible.inference.sampling.sample_sums import MAX_TAIL_SHAPE, SampleSums, tail_shape
from plausible.inference.sampling.sampling_plan import (
    SamplingPlan,
    ancestors_of,
    log_constant,
    ordered_families,
    reduced_to,
    stream_key,
)
from plausible.variables import Evidence, Variable

#: Rows are chosen from samples with no more cells than this, together.
_MAX_CELLS = 2**26
#: Rejection sampling draws `num_samples` at most so often to have as many rows as are wanted.
_MAX_ROUNDS = 100


#: The tail of the weights is judged by so many samples, or all where there are fewer.
_TAIL_SAMPLES = 20_000


class DirectedSampler(FactorEngine):
    """An engine that draws independent weighted samples of a Bayesian network, parents first; subclasses are frozen.

    The factors are the families of the network, the child last in each scope, and any likelihoods, such as the density
    of an observed number given its discrete parents. Evidence is states, collections of states and likelihoods. The
    same seed gives the same answer on any number of threads.
    """

    __slots__ = ()

    num_samples: int
    seed: int

    is_noisy = True

    def __post_init__(self) -> None:
        set_counts(self, num_samples=1, seed=0)

    @abstractmethod
    def plan(self, families: Sequence[Factor], evidence: Evidence, likelihoods: Sequence[Factor] = ()) -> SamplingPlan:
        """How to draw and to weigh: `families` come parents first, each variable having one."""

    @abstractmethod
    def info(self, sums: SampleSums) -> QueryInfo:
        """What the sums are worth, and what to try where that is not enough."""

    def run(
        self,
        factors: Iterable[Factor],
        groups: Sequence[Sequence[Variable]],
        evidence: Evidence,
        threads: int | None = None,
    ) -> SampleSums:
        """The weights of `num_samples` samples, added up over all and over the cells of groups of free variables.

        Variables that neither the groups nor the findings depend on are not drawn.
        """
        for group in groups:
            check_size(tuple(group), "The joint")
        return self._sums(self._plan_for(list(factors), groups, evidence), groups, threads)

    def _sums(
        self, plan: SamplingPlan, groups: Sequence[Sequence[Variable]] = (), threads: int | None = None
    ) -> SampleSums:
        key = stream_key(self.seed)
        sums = plan.sums(groups, self.num_samples, key, threads)
        if sums.is_constant or sums.is_zero:
            return sums
        return replace(sums, tail_shape=tail_shape(plan.draw(min(self.num_samples, _TAIL_SAMPLES), key)[1]))

    def _plan_for(
        self, factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> SamplingPlan:
        """The plan for the part of the network that matters; evidence that a single factor forbids is refused."""
        families, likelihoods = ordered_families(factors, evidence)
        asked = [variable.name for group in groups for variable in group]
        weighed = [name for factor in likelihoods for name in factor.names]
        needed = ancestors_of([*asked, *weighed, *evidence.names], list(families.values()))
        kept = [family for child, family in families.items() if child in needed]
        possible_states([*kept, *likelihoods], evidence)
        log_factor = log_constant(factors)
        if log_factor == -math.inf:
            raise ImpossibleEvidence.outright()
        return self.plan(kept, evidence, likelihoods).scaled(log_factor)

    def _joints(
        self, factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        free = [[variable for variable in group if variable.name not in evidence.hard] for group in groups]
        info = self._seen(sums := self.run(factors, free, evidence))
        return [
            with_observed(group, evidence, Factor(some, table)).with_info(info)
            for group, some, table in zip(groups, free, sums.frequencies, strict=True)
        ]

    def draw_states(self, factors: Iterable[Factor], num_rows: int, evidence: Evidence) -> DrawnStates:
        """Rows chosen from `num_samples` weighted samples, or as many as there are rows, by their weights.

        (Sampling-importance-resampling, Rubin 1987.) A sample with much weight stands in several rows.
        """
        listed = list(factors)
        variables = tuple({v.name: v for factor in listed for v in factor.scope}.values())
        plan = self._plan_for(listed, [[v for v in variables if v.name not in evidence.hard]], evidence)
        drawn, size, info = self._rows(plan, num_rows)
        states = _with_evidence(variables, plan, drawn, evidence).astype(np.int64)
        return DrawnStates(variables, states, size, told_rows(info, size, num_rows))

    def _rows(self, plan: SamplingPlan, num_rows: int) -> tuple[Codes, float, QueryInfo]:
        """Rows of the variables of a plan, what they are worth, and how they were got."""
        room = _MAX_CELLS // max(len(plan.variables), 1)
        states, log_weights = plan.draw(max(num_rows, 1, min(self.num_samples, room)), stream_key(self.seed))
        info = self._seen(_sums_of(log_weights, plan))
        rows, size = resampled_rows(log_weights, num_rows, np.random.default_rng([self.seed, 1]))
        return states[rows], size, info

    def _seen(self, sums: SampleSums) -> QueryInfo:
        """What the sums are worth; refuses those of no sample that agrees with the evidence."""
        info = self.info(sums)
        if sums.is_zero:
            raise EvidenceNotSeen(info.advice)
        return info

    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> Estimate:
        """log P(evidence) by the mean weight, with a 95 % interval.

        Where no sample agrees with the evidence, it is -inf, and `upper` says how probable the evidence can be.
        """
        try:
            plan = self._plan_for(list(factors), (), evidence)
        except ImpossibleEvidence:
            return Estimate.within(-math.inf, QueryInfo("a factor that is zero"))
        sums = self._sums(plan)
        return sums.log_mean(self.info(sums), plan.log_limit)


def _with_evidence(
    variables: Sequence[Variable], plan: SamplingPlan, drawn: Codes, evidence: Evidence
) -> NDArray[np.int32]:
    """Rows of some variables, from those that a plan draws and what was observed."""
    columns = {variable.name: drawn[:, place] for place, variable in enumerate(plan.variables)}
    states = np.empty((len(drawn), len(variables)), dtype=np.int32)
    for place, name in enumerate(variable.name for variable in variables):
        states[:, place] = evidence.hard[name] if name in evidence.hard else columns[name]
    return states


def _sums_of(log_weights: Floats, plan: SamplingPlan) -> SampleSums:
    """What the weights of samples that are kept add up to."""
    unit = float(log_weights.max(initial=-math.inf))
    weights = np.exp(log_weights - unit) if unit > -math.inf else np.zeros(len(log_weights))
    total, squares = float(weights.sum()), float((weights**2).sum())
    return SampleSums(len(weights), unit, total, squares, (), (), is_constant=plan.weights.starts.size == 1)


@dataclass(frozen=True, slots=True)
class RejectionSampling(DirectedSampler):
    """Draw forward samples and keep those that agree with the evidence (Henrion 1988): P(x | e) ≈ N(x, e) / N(e).

    With virtual evidence λ, a sample is kept with probability λ(x) / max λ. The acceptance rate estimates P(e), so rare
    evidence leaves few samples: then use `LikelihoodWeighting`. Each variable of a sample costs one look-up per parent
    and one comparison per state; memory does not grow with the number of samples. `num_samples` are drawn, accepted or
    not.

    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> answer = RejectionSampling().query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    >>> bool(abs(answer.values - [0.36, 0.64]).max() < answer.info.error), answer.info.acceptance
    (True, 0.50149)
    """

    num_samples: int = 100_000
    seed: int = 0

    def plan(self, families: Sequence[Factor], evidence: Evidence, likelihoods: Sequence[Factor] = ()) -> SamplingPlan:
        """Draw all variables, and leaves that see or do not see the virtual evidence; weigh by one or zero."""
        drawn, weights, log_weight, findings = list(families), [], 0.0, []
        for variable in (family.scope[-1] for family in families):
            finding = evidence.soft.get(variable.name)  # a number to multiply the probability of each state by
            if (state := evidence.hard.get(variable.name)) is not None:
                is_seen = np.arange(variable.num_states) == state
                finding = is_seen * (np.ones(variable.num_states) if finding is None else finding)
            if finding is not None:
                findings.append(Factor((variable,), finding))
        for number, factor in enumerate([*findings, *likelihoods]):
            peak = factor.max()
            log_weight += math.log(peak) if peak > 0 else -math.inf
            seen = factor.flat / (peak or 1.0)
            if np.all((seen == 0) | (seen == 1)) or not factor.scope:
                weights.append(Factor.from_flat(factor.scope, seen))
            else:
                leaf = Variable(f"{number}\0seen", 2)  # a name that nobody gives
                drawn.append(Factor.from_flat((*factor.scope, leaf), np.stack([seen, 1 - seen], axis=1).ravel()))
                weights.append(Factor((leaf,), [1.0, 0.0]))
        return SamplingPlan.of(drawn, weights, log_weight)

    def _rows(self, plan: SamplingPlan, num_rows: int) -> tuple[Codes, float, QueryInfo]:
        """Accepted samples, which are independent; more are drawn until there are enough."""
        accepted, weights, num_accepted = [], [], 0
        for number in range(_MAX_ROUNDS):
            states, log_weights = plan.draw(self.num_samples, stream_key(self.seed, number))
            accepted.append(states[np.isfinite(log_weights)])
            weights.append(log_weights)
            num_accepted += len(accepted[-1])
            if num_accepted >= max(num_rows, 1) or not num_accepted:
                break
        sums = _sums_of(np.concatenate(weights), plan)
        info = self._seen(sums)
        if num_accepted < num_rows:
            raise EvidenceNotSeen(
                f"Only {num_accepted} of {sums.num_samples} samples agree with the evidence, and {num_rows} rows are "
                "wanted. Raise num_samples, or use LikelihoodWeighting() or ImportanceSampling()."
            )
        return np.concatenate(accepted)[:num_rows], float(num_rows), info

    def info(self, sums: SampleSums) -> QueryInfo:
        """The acceptance rate, and a remedy where it is too low."""
        accepted = round(sums.effective_size)
        seen = (
            f"Only {accepted} of {sums.num_samples} samples agreed with the evidence (acceptance rate "
            f"{accepted / sums.num_samples:.4g})."
        )
        few = f"{few_effective(sums) if sums.is_zero else seen} Draw more, or use LikelihoodWeighting() or "
        info = sampling_info("rejection sampling", sums, f"{few}ImportanceSampling().")
        return replace(info, acceptance=accepted / sums.num_samples)


def sampling_info(engine: str, sums: SampleSums, few: str, num_drawn: int | None = None) -> QueryInfo:
    """The record of a sampling run; `few` is the advice for few effective samples, `num_drawn` all that were drawn."""
    heavy = (
        f"The largest weights have a heavy tail (Pareto k {sums.tail_shape:.2g}, more than {MAX_TAIL_SHAPE}), so that "
        "the error may be larger than it seems."
    )
    doubts = [(not sums.is_enough, few), (sums.tail_shape > MAX_TAIL_SHAPE, heavy)]
    advice = " ".join(text for is_so, text in doubts if is_so)
    return QueryInfo(
        engine,
        exact=False,
        converged=not advice,
        error=None if sums.is_zero else sums.error,
        num_steps=sums.num_samples if num_drawn is None else num_drawn,
        effective_samples=sums.effective_size,
        advice=advice,
    )


@dataclass(frozen=True, slots=True)
class LikelihoodWeighting(DirectedSampler):
    """Draw forward samples with the evidence fixed, each weighted by its likelihood (Fung & Chang 1989).

    P(x | e) ≈ Σ w 1{x} / Σ w with w = Π P(e_i | parents of e_i) over the observed variables. A variable with virtual
    evidence λ is drawn from P(x | u) λ(x), and w is multiplied by Σ_x P(x | u) λ(x); for an observed state, λ is zero
    elsewhere. No sample is discarded, but if the evidence at the leaves is improbable, a few samples have nearly all
    the weight; `info.effective_samples` shows this. `ImportanceSampling` learns to draw better samples. `num_samples`
    are drawn.

    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> answer = LikelihoodWeighting().query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    >>> bool(abs(answer.values - [0.36, 0.64]).max() < answer.info.error)
    True
    """

    num_samples: int = 100_000
    seed: int = 0

    def plan(self, families: Sequence[Factor], evidence: Evidence, likelihoods: Sequence[Factor] = ()) -> SamplingPlan:
        """Draw the variables that are not observed, given the evidence about them and their parents' states."""
        drawn, weights = split_evidence(families, evidence, likelihoods)
        for place, family in enumerate(drawn):
            finding = evidence.soft.get(family.names[-1])
            if finding is not None:
                weighed = family.flat.reshape(-1, len(finding)) * finding
                drawn[place] = Factor.from_flat(family.scope, weighed.ravel())
                weights.append(Factor.from_flat(family.scope[:-1], weighed.sum(axis=1)))
        return SamplingPlan.of(drawn, weights)

    def info(self, sums: SampleSums) -> QueryInfo:
        """The effective sample size, and a remedy where it is too low."""
        few = f"{few_effective(sums)} Draw more, or use ImportanceSampling()."
        return sampling_info("likelihood weighting", sums, few)


def few_effective(sums: SampleSums) -> str:
    """A sentence for `info.advice`."""
    if sums.is_zero:
        return f"None of {sums.num_samples} samples agrees with the evidence."
    return f"The {sums.num_samples} samples are worth only {sums.effective_size:.3g} of equal weight."


def split_evidence(
    families: Sequence[Factor], evidence: Evidence, likelihoods: Sequence[Factor] = ()
) -> tuple[list[Factor], list[Factor]]:
    """The families of free variables, and those of observed ones and likelihoods; with the observed states put in."""
    hard: Mapping[str, int] = evidence.hard
    free = reduced_to((family for family in families if family.names[-1] not in hard), hard)
    seen = [family for family in families if family.names[-1] in hard]
    observed = reduced_to([*seen, *likelihoods], hard)
    both = [Factor.scalar(float(evidence.soft[name][hard[name]])) for name in evidence.soft if name in hard]
    return free, observed + both


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSamples:
    """Samples, a row each."""

    variables: tuple[Variable, ...]  # The variables, in the order of the families
    states: Codes  # Positions of states: a row for each sample, a column for each variable
    log_weights: Floats  # The logarithm of each sample's weight; their mean weight estimates P(evidence)


def draw(families: Iterable[Factor], num_rows: int, evidence: Evidence, seed: Seed = None) -> WeightedSamples:
    """Forward samples of a Bayesian network with the evidence put in, weighed by its likelihood.

    Without evidence all weights are one, and the rows are independent samples of the network. There is one factor
    P(child | parents) for each variable, the child last; other factors multiply the weights.

    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> samples = draw(factors, 5, Evidence.read({"B": 1}, {"B": b}), seed=1)
    >>> samples.states.tolist(), np.exp(samples.log_weights).round(6).tolist()
    ([[0, 1], [1, 1], [0, 1], [0, 1], [0, 1]], [0.3, 0.8, 0.3, 0.3, 0.3])
    """
    check_count("num_rows", num_rows, 0)
    listed = list(families)
    ordered = ordered_families(listed, evidence)
    plan = LikelihoodWeighting().plan(list(ordered.families.values()), evidence, ordered.likelihoods)
    key = generator_of(seed).integers(0, 2**64, dtype=np.uint64, endpoint=False)
    drawn, log_weights = plan.scaled(log_constant(listed)).draw(num_rows, key)
    variables = tuple({family.names[-1]: family.scope[-1] for family in listed if family.scope}.values())
    return WeightedSamples(variables, _with_evidence(variables, plan, drawn, evidence), log_weights)
