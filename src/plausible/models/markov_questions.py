"""What can be asked of a Markov network."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base.remedies import Remedy
from plausible.base.seeds import Seed
from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.factors.marginals import Marginals
from plausible.inference.approximate_counts import ExpectedCounts
from plausible.inference.approximate_map import approximate_map, check_map_engine
from plausible.inference.budget import RAISE_BUDGET, Budget, advising, read_budget
from plausible.inference.choice import (
    BELIEFS,
    DRAWS,
    EngineChoice,
    MapChoice,
    OptimizerChoice,
    beliefs_about,
    best_about,
    chosen,
    chosen_for_map,
)
from plausible.inference.compiled import compile_factors
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.engines import check_engine, check_mentioned
from plausible.inference.estimate import difference, is_surely_zero
from plausible.inference.map_search import SearchProgress
from plausible.inference.marginal_map import marginal_map
from plausible.inference.optimizer import Optimizer, check_optimizer
from plausible.inference.plan import Plan, plan_factors
from plausible.inference.posterior import components, log_total, posterior, posteriors, read_targets
from plausible.inference.relevance import prune
from plausible.models.counting import counts_by, exact_counts
from plausible.models.drawing import DrawChoice, draw_by, drawn_exactly
from plausible.models.evidence_analyses import EvidenceAnalyses
from plausible.models.exact_engine import ExactEngine, checked_count
from plausible.models.maxima import k_best_of, map_fits, map_limits
from plausible.models.tree_questions import (
    BEST_REMEDIES,
    COMPILE_REMEDIES,
    K_BEST_REMEDIES,
    LARGE_TREE,
    MAP_REMEDIES,
    MARGINALS_REMEDIES,
    SAMPLE_REMEDIES,
    SUM_REMEDIES,
    query_remedies,
)
from plausible.variables import Assignment, Evidence, EvidenceLike, Variable
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

__all__ = ["MarkovQuestions"]

_Answer = TypeVar("_Answer")
_NOTHING = Evidence({}, {}, {}, {})


class MarkovQuestions(EvidenceAnalyses):
    """The questions that `MarkovNetwork` answers, over its factors."""

    __slots__ = ()

    @property
    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """The factors, in the order given."""

    @advising(SUM_REMEDIES)
    def log_partition(
        self, evidence: EvidenceLike | None = None, *, engine: EngineChoice = None, budget: Budget | None = None
    ) -> float:
        """Compute log Z(e): the natural logarithm of the total over all assignments that agree with the evidence.

        Without evidence it must be finite: a network in which no assignment has positive measure is no distribution.
        An approximate `engine` gives an `Estimate`, a float with bounds or an interval.
        """
        named = chosen(engine, budget, lambda: self.explain((), evidence, budget=budget).fits, lambda: BELIEFS)
        check_engine(named, self.variables)
        found = Evidence.read(evidence, self.variables, "this network")
        if found.jeffrey:
            raise NotSupported("jeffrey evidence has no probability: it replaces a belief. See likelihood(...).")
        factors = self._all_factors()
        total = log_total(factors, found, budget=budget) if named is None else named.log_total(factors, found)
        if is_surely_zero(total) and not found:
            raise InvalidModel(
                "The partition function is zero: the factors rule out every assignment, so there is no distribution."
            )
        return total

    def _all_factors(self) -> list[Factor]:
        """The factors, and a constant one for each variable that is in none of them."""
        seen = {variable.name for factor in self.factors for variable in factor.scope}
        lonely = [variable for name, variable in self.variables.items() if name not in seen]
        return [*self.factors, *(Factor((variable,), np.ones(variable.num_states)) for variable in lonely)]

    def joint(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """Compute the full distribution as one table; refused if it would have more than `max_entries`."""
        check_size(tuple(self.variables.values()), "The joint distribution", max_entries)
        result = sum_product(self._all_factors(), list(self.variables), max_entries=max_entries)
        if result.is_zero:
            self.log_partition()
        return result.factor.normalize()

    def query(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        *,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> Factor:
        """Compute P(targets | evidence), using only the part of the network that matters.

        Normalised; its `.info` says how it was got. See `BayesianNetwork.query` for the parameters.
        """
        wanted = read_targets(targets, self.variables, "this network")
        found = Evidence.read(evidence, self.variables, "this network")
        named = chosen(
            engine,
            budget,
            lambda: self.explain([variable.name for variable in wanted], evidence, budget=budget).fits,
            lambda: beliefs_about(
                (v.name for v in wanted if v.name not in found.hard), (factor.names for factor in self.factors)
            ),
        )
        check_engine(named, self.variables)
        factors = self._all_factors()
        if named is not None:
            return self._explained(evidence, lambda: named.query(factors, wanted, found))
        with advising(query_remedies(wanted)):
            return self._explained(evidence, lambda: posterior(factors, wanted, found, budget=budget))

    def explain(
        self,
        targets: str | Iterable[str] | None = None,
        evidence: EvidenceLike | None = None,
        *,
        budget: Budget | None = None,
    ) -> Plan:
        """Show how `query(targets, evidence)` would be answered and what it would cost, without answering it.

        Without targets, the plan of `compile()`: for all variables, whatever the evidence.
        """
        found = Evidence.read(evidence, self.variables, "this network")
        if targets is None:
            return plan_factors(self._all_factors(), self.variables.values(), budget=budget)
        wanted = read_targets(targets, self.variables, "this network")
        free = [variable for variable in wanted if variable.name not in found.hard]
        factors = absorb(self._all_factors(), replace(found, jeffrey={}))
        return plan_factors(factors, free, together=[[variable.name for variable in free]], budget=budget)

    def log_probability(
        self, evidence: EvidenceLike, *, engine: EngineChoice = None, budget: Budget | None = None
    ) -> float:
        """Compute log P(evidence) = log Z(e) - log Z, or -inf if it is impossible.

        An approximate `engine` gives an `Estimate`, a float with bounds or an interval.
        """
        some = self.log_partition(evidence, engine=engine, budget=budget)
        everything = self.log_partition(engine=engine, budget=budget)
        return difference(some, everything)

    @advising(COMPILE_REMEDIES)
    def compile(self, targets: str | Iterable[str] | None = None, *, budget: Budget | None = None) -> ExactEngine:
        """Build a clique tree once, to answer many questions or to predict for a table of evidence.

        Parameters
        ----------
        targets
            The variables that questions and evidence will be about, where these are not all: variables that can be
            summed out at once, and parts that have nothing to do with the targets, are left out.
        budget
            The most that one run may cost; by default `Budget()`.

        Examples
        --------
        >>> from plausible import Factor, MarkovNetwork
        >>> chain = MarkovNetwork(Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "DE"))
        >>> list(chain.compile(targets="B").variables)
        ['B']
        """
        if targets is None:
            return self._engine(self._all_factors(), self.variables, budget, "this compiled model")
        wanted = read_targets(targets, self.variables, "this network")
        pruned = prune(self._all_factors(), wanted, Evidence({}, {}, {}, {}))
        parts = [part for part in components(pruned.factors) if any(v in f.scope for f in part for v in wanted)]
        kept = [factor for part in parts for factor in part]
        left = {name for factor in kept for name in factor.names}
        if len(kept) < len(pruned.factors):
            self.log_partition(budget=budget)  # what is left out may still rule everything out
        variables = {name: variable for name, variable in self.variables.items() if name in left}
        return self._engine(kept, variables, budget, "this compiled model, which compile(targets=...) has cut down")

    def _engine(
        self, factors: Sequence[Factor], variables: Mapping[str, Variable], budget: Budget | None, place: str
    ) -> ExactEngine:
        sums = compile_factors(factors, variables.values(), budget=budget)
        log_normalizer = sums.log_total(Evidence({}, {}, {}, {}))
        if log_normalizer == -math.inf:
            self.log_partition()  # the error that says so
        return ExactEngine(dict(variables), sums, None, log_normalizer=log_normalizer, families={}, place=place)

    @advising(MARGINALS_REMEDIES)
    def marginals(
        self,
        evidence: EvidenceLike | None = None,
        *,
        targets: str | Iterable[str] | None = None,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> dict[str, Factor]:
        """Compute P(X | evidence) for every variable X, or for some, in one calibration of a clique tree.

        Parameters
        ----------
        evidence
            Name -> a state, a collection of states, `likelihood(...)` or `jeffrey(...)`.
        targets
            The variables that are wanted.
        engine
            How to compute the answers, such as `LoopyBP()`; by default a clique tree. "auto" is exact if that is within
            the budget, else `LoopyBP(damping=0.3)`.
        budget
            The most that the answer may cost; by default `Budget()`.
        """
        wanted = list(self.variables.values())
        if targets is not None:
            wanted = read_targets(targets, self.variables, "this network")
        found = Evidence.read(evidence, self.variables, "this network")
        named = chosen(engine, budget, lambda: self._fits(found, wanted, budget), lambda: BELIEFS)
        check_engine(named, self.variables)
        if named is not None:
            return Marginals(self._explained(evidence, lambda: named.marginals(self._all_factors(), wanted, found)))
        return Marginals(self._explained(evidence, lambda: self._posteriors(wanted, found, budget)))

    def _fits(self, found: Evidence, wanted: Sequence[Variable], budget: Budget | None) -> bool:
        """Whether a clique tree is within the budget: for any evidence, or for this."""
        if self.explain(budget=budget).fits:
            return True
        free = [variable for variable in wanted if variable.name not in found.hard]
        return plan_factors(absorb(self._all_factors(), replace(found, jeffrey={})), free, budget=budget).fits

    def _posteriors(self, wanted: Sequence[Variable], found: Evidence, budget: Budget | None) -> dict[str, Factor]:
        """By the tree for any evidence, which is kept for the next question; where it is large, by one for this one."""
        factors = self._all_factors()
        try:
            compiled = compile_factors(factors, self.variables.values(), budget=budget)
        except TooLarge:
            return posteriors(factors, wanted, found, budget=budget)
        if compiled.program.num_entries > LARGE_TREE:
            return posteriors(factors, wanted, found, budget=budget)
        answers = compiled.marginals(found)
        return {variable.name: answers[variable.name] for variable in wanted}

    @advising(BEST_REMEDIES)
    def mpe(
        self,
        evidence: EvidenceLike | None = None,
        *,
        engine: OptimizerChoice = None,
        budget: Budget | None = None,
    ) -> Assignment:
        """Find a most probable assignment of all variables, with its `.log_probability` and `.log_product`.

        An `engine` such as `GraphCut()` or `MaxProduct()` looks for one without a clique tree. As there may be none for
        log Z either, there is no `.log_probability` then, only the logarithm of the product of the factors;
        `.info.error` says how much larger that of a better assignment can be. "auto" is exact where the clique tree is
        within the budget, else `GraphCut()` where that is exact, else `MaxProduct()`.
        """
        found = Evidence.read(evidence, self.variables, "this network")
        factors = self._all_factors()
        named = chosen(engine, budget, lambda: self.explain(budget=budget).fits, lambda: best_about(factors, found))
        check_optimizer(named)
        if named is not None:
            best = self._explained(evidence, lambda: named.best(factors, found))
            states = {name: best[name] for name in self.variables}
            return Assignment(states, log_product=best.log_probability, info=best.info)
        return self.compile(budget=budget).mpe(evidence)

    @advising((RAISE_BUDGET, Remedy("ask for fewer terms at a time")))
    def expectation(
        self,
        terms: Factor | Iterable[Factor],
        evidence: EvidenceLike | None = None,
        *,
        budget: Budget | None = None,
    ) -> float:
        """Compute E[Σ f(X) | evidence] in one pass; the terms f are factors with any numbers."""
        listed = [terms] if isinstance(terms, Factor) else list(terms)
        found = Evidence.read(evidence, self.variables, "this network")
        groups = [term.names for term in listed]
        compiled = compile_factors(self._all_factors(), self.variables.values(), together=groups, budget=budget)
        return self._explained(evidence, lambda: compiled.expectation(listed, found))

    @advising(K_BEST_REMEDIES)
    def k_best(self, k: int, evidence: EvidenceLike | None = None, *, budget: Budget | None = None) -> list[Assignment]:
        """Find the k most probable assignments of all variables given the evidence, best first."""
        found = Evidence.read(evidence, self.variables, "this network")
        wanted = list(self.variables.values())
        best = self._explained(evidence, lambda: k_best_of(k, (), self._all_factors(), wanted, budget, found))
        shift = self.log_partition(budget=budget)
        return [Assignment(one, log_probability=(one.log_probability or 0.0) - shift, info=one.info) for one in best]

    @advising(MAP_REMEDIES)
    def map(
        self,
        names: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        *,
        engine: MapChoice = None,
        budget: Budget | None = None,
        max_entries: int = 2**22,
        time_limit: float | None = None,
        progress: Callable[[SearchProgress], None] | None = None,
    ) -> Assignment:
        """Find the most probable states of some variables, with the others summed out (marginal MAP).

        See `BayesianNetwork.map` for the parameters. `.log_probability` is `None` where log Z would take too long. An
        `engine` that sums gives log Z as well; with one for best assignments there is only `.log_product`, as in `mpe`.
        """
        wanted = read_targets(names, self.variables, "this network")
        found = Evidence.read(evidence, self.variables, "this network")
        factors = self._all_factors()
        fits = partial(map_fits, factors, wanted, found, budget, max_entries)
        named = chosen_for_map(engine, budget, fits)
        check_map_engine(named)
        if named is not None:
            check_mentioned(named, self.variables)
            seconds = map_limits(budget, max_entries, time_limit)["time_limit"]
            best = self._explained(evidence, lambda: approximate_map(factors, wanted, found, named, time_limit=seconds))
            if isinstance(named, Optimizer):
                return Assignment(best.assignment, log_product=best.log_value, info=best.info)
            log_best = difference(best.log_value, named.log_total(factors, _NOTHING))
            return Assignment(best.assignment, log_probability=log_best, log_product=best.log_value, info=best.info)
        answer = self._explained(
            evidence,
            lambda: marginal_map(
                factors,
                wanted,
                found,
                **map_limits(budget, max_entries, time_limit),
                progress=progress,
            ),
        )
        limit = budget if time_limit is None else Budget(seconds=time_limit)
        try:
            log_answer = answer.log_value - self.log_partition(budget=limit)
        except TooLarge:
            log_answer = None
        return Assignment(answer.assignment, log_probability=log_answer, log_product=answer.log_value, info=answer.info)

    @advising(SAMPLE_REMEDIES)
    def sample(
        self,
        num_rows: int,
        seed: Seed = None,
        evidence: EvidenceLike | None = None,
        *,
        engine: DrawChoice = None,
        budget: Budget | None = None,
    ) -> pd.DataFrame:
        """Draw independent samples from the distribution given the evidence, or samples from an `engine`.

        See `BayesianNetwork.sample` for the parameters, and for what `.attrs` says of the rows of an engine.
        """
        number, found = checked_count(num_rows), Evidence.read(evidence, self.variables, "this network")
        named = chosen(engine, budget, lambda: self._fits_tables(budget), lambda: DRAWS)
        if named is not None:
            return self._explained(
                evidence, lambda: draw_by(named, self._all_factors(), number, found, seed, self.variables)
            )
        rows = self.compile(budget=budget).sample(number, seed, evidence)
        return rows if engine is None else drawn_exactly(rows)

    def _fits_tables(self, budget: Budget | None) -> bool:
        """Whether a clique tree for any evidence is within the budget, all its tables held."""
        plan = self.explain(budget=budget)
        return plan.fits and read_budget(budget).holds(plan.entries)

    @advising(SUM_REMEDIES)
    def expected_counts(
        self,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        weights: npt.ArrayLike | None = None,
        *,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> ExpectedCounts:
        """Σ over rows of P(scope of a factor | row), for each factor that has a scope, by its number as text.

        Such sums are what the gradient of the likelihood is made of. See `BayesianNetwork.expected_counts` for the
        parameters.

        >>> from plausible import Factor, MarkovNetwork
        >>> chain = MarkovNetwork([Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC")])
        >>> chain.expected_counts({"A": [0, 1, 1], "B": [0, None, None]})["0"].round(3).tolist()
        [[1.0, 0.0], [0.667, 1.333]]
        """
        named = chosen(engine, budget, lambda: self._fits_tables(budget), lambda: BELIEFS)
        check_engine(named, self.variables)
        families = {str(number): factor.scope for number, factor in enumerate(self.factors) if factor.scope}
        if named is not None:
            return counts_by(named, self._all_factors(), families, self.variables, (frame, weights))
        return exact_counts(replace(self.compile(budget=budget), families=families), frame, weights)

    def _explained(self, evidence: EvidenceLike | None, answer: Callable[[], _Answer]) -> _Answer:
        """The answer, or an error that names the findings that contradict each other, or the network that is none."""
        try:
            return answer()
        except ImpossibleEvidence as error:
            with suppress(TooLarge):
                self.log_partition()
            better = impossible_evidence(findings_of(evidence), lambda some: self.log_partition(some) > -math.inf)
            raise better or error from None
