"""What can be asked of every model besides beliefs: best assignments, rows drawn from it, expected counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from plausible.base import Argument, Call, QueryInfo, Remedy, Seed, keyword_hints
from plausible.data import encode_evidence
from plausible.data.row_files import WrittenRows
from plausible.errors import TooLarge
from plausible.inference.approximate_counts import ExpectedCounts, ImpossibleRow, expected_counts
from plausible.inference.approximate_samples import SamplingEngine
from plausible.inference.budget import (
    ADD_EVIDENCE,
    APPROXIMATE,
    RAISE_BUDGET,
    Budget,
    advising,
    read_budget,
    refuse_large_families,
)
from plausible.inference.choice import DRAWS, EngineChoice, MapChoice, OptimizerChoice
from plausible.inference.engine_bases import Optimizer
from plausible.inference.engine_mistakes import mistaken_engine
from plausible.inference.engines import Engine, check_engine, check_mentioned
from plausible.inference.estimates import difference
from plausible.inference.exact_map.search import SearchProgress
from plausible.inference.within_budget import BeliefsWithin, BestWithin
from plausible.models.beliefs import NOTHING, Beliefs
from plausible.models.compiled_engines import HybridEngine
from plausible.models.compiled_model import checked_count, checked_weights, impossible_row, named_families
from plausible.models.question import MapLimits, Question, QuestionKind, refuse_numbers_alone
from plausible.models.samples import Progress, Samples, taking
from plausible.models.ways import Named, Tables
from plausible.variables import Assignment, EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


Taken = TypeVar("Taken")
DrawChoice: TypeAlias = SamplingEngine | Literal["auto"] | None


def _check_best(engine: Any, variables: Mapping[str, Variable]) -> None:
    if engine is not None and not isinstance(engine, Optimizer):
        raise mistaken_engine(engine, "best assignments")


def _check_map(engine: Any, variables: Mapping[str, Variable]) -> None:
    if engine is not None and (isinstance(engine, type) or not isinstance(engine, Engine | Optimizer)):
        raise mistaken_engine(engine, "both")
    check_mentioned(engine, variables)


def _check_draws(engine: Any, variables: Mapping[str, Variable]) -> None:
    if isinstance(engine, type) or not isinstance(engine, SamplingEngine):
        raise mistaken_engine(engine, "rows")
    check_mentioned(engine, variables)


_BEST = QuestionKind(
    remedies=(ADD_EVIDENCE, RAISE_BUDGET, APPROXIMATE),
    check=_check_best,
    otherwise=lambda question: BestWithin(read_budget(question.budget)),
    fits=Tables.fits_best,
    refuses_beliefs="A most probable explanation takes states and likelihoods as evidence, not jeffrey(...).",
    takes_numbers=True,
)
_K_BEST = QuestionKind(
    remedies=(
        *(ADD_EVIDENCE, RAISE_BUDGET),
        Remedy("ask for one good assignment: ", Call("mpe", Argument("engine", "auto"))),
    ),
    refuses_beliefs="A list of best assignments takes states and likelihoods as evidence, not jeffrey(...).",
)
_MAP = QuestionKind(
    remedies=(Remedy("ask for more variables"), Remedy("give more evidence"), APPROXIMATE),
    check=_check_map,
    otherwise=lambda question: BeliefsWithin(read_budget(question.budget)),
    refuses_beliefs="A marginal MAP takes states and likelihoods as evidence, not jeffrey(...).",
)
_SAMPLE = QuestionKind(
    remedies=(
        RAISE_BUDGET,
        Remedy("keep to fewer variables: ", Call("compile(targets=...).sample", Argument("size", Ellipsis))),
        Remedy("draw by a chain: ", Argument("engine", "auto")),
    ),
    check=_check_draws,
    otherwise=lambda question: DRAWS,
    fits=Tables.fits_tables,
    takes_numbers=True,
)
_COUNTS = QuestionKind(
    remedies=(Remedy("count fewer families (", Argument("families"), ")"), RAISE_BUDGET, APPROXIMATE),
    check=check_engine,
    otherwise=lambda question: BeliefsWithin(read_budget(question.budget)),
    fits=Tables.fits_tables,
    takes_numbers=True,
)


def sampled(
    model: Answers,
    take: Callable[[Samples], Taken],
    num_rows: int,
    seed: Seed = None,
    evidence: EvidenceLike | None = None,
    do: Mapping[str, State] | None = None,
    engine: DrawChoice = None,
    budget: Budget | None = None,
) -> Taken:
    """What is made of rows that are drawn from a model; arguments as of its `sample`."""
    number = checked_count(num_rows)
    is_named = engine is not None and not (isinstance(engine, str) and engine == "auto")

    def told(samples: Samples) -> Samples:
        if engine is None or samples.info is not None:
            return samples
        return replace(samples, info=QueryInfo("independent samples", num_steps=number), effective_size=float(number))

    if not is_named and not findings_of(evidence) and (samples := model._draw(number, seed, do)) is not None:
        return take(told(samples))
    question = Question.read(model, _SAMPLE, None, evidence, do, engine, budget)
    return question.answer(lambda way: take(told(way.samples(number, seed))))


class Answers(Beliefs):
    """All questions that every model answers, over what it tells: see `Beliefs`."""

    __slots__ = ()

    def _families(self) -> dict[str, tuple[Variable, ...]]:
        """Name -> scope of what expected counts are made of: the factors that have one, by their numbers as text."""
        factors = self._parts(self.variables, NOTHING).factors
        return {str(number): factor.scope for number, factor in enumerate(factors) if factor.scope}

    def _draw(self, num_rows: int, seed: Seed, do: Mapping[str, State] | None) -> Samples | None:
        """Rows without evidence by a way of the model's own, where it has one."""
        return None

    @keyword_hints
    def mpe(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: OptimizerChoice = None,
        budget: Budget | None = None,
    ) -> Assignment:
        """Find a most probable assignment of all variables given the evidence, with its `.log_probability`.

        This maximises over a clique tree. If that would be too large, it searches for a proved optimum within the
        budget: messages and mini-buckets bound a branch and bound, which often ends where no clique tree fits. If a
        noisy-or or similar distribution has too many parents for a table, another search sums before it maximises,
        unless the child is observed in its lowest state. Where no search ends, `TooLarge` says what to do.

        If some continuous variables are not observed, they are first integrated out to find the most probable states of
        the discrete variables; then come the most probable numbers given these states. `.log_probability` is then a
        log-density. (The point of highest density may be different, and depends on the units.)

        With `engine="auto"` a search that does not end gives the best assignment that it met, never worse than that of
        `MaxProduct()`; `.info.error` bounds how much better another one could be, as a difference of logarithms, and
        `.info.exact` says whether there is none. So do the named engines.

        The answer of a model with a log Z, such as a Markov network, has the logarithm of the product of the factors as
        well, `.log_product`; there is no `.log_probability` by an engine, or where no clique tree for log Z fits.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.mpe(evidence={"B": 1})
        Assignment(A=1, B=1)
        """
        question = Question.read(self, _BEST, None, evidence, do, engine, budget)
        best: Assignment = question.answer(lambda way: way.best())
        states = {name: question.evidence.values.get(name, best.get(name)) for name in self.variables}
        log_best = best.log_probability
        if self._is_normalized:
            return Assignment(states, log_probability=log_best, info=best.info)
        log_probability = None
        if question.engine is None:
            with suppress(TooLarge):
                log_probability = log_best - self._log_normalizer(question.context, None, budget)
        return Assignment(states, log_probability=log_probability, log_product=log_best, info=best.info)

    def k_best(
        self,
        k: int,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> list[Assignment]:
        """Find the k most probable assignments of all discrete variables given the evidence, best first.

        There are fewer if fewer are possible; ties have a fixed order (Nilsson 1998). Unobserved continuous variables
        are integrated out.

        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> [dict(assignment) for assignment in net.k_best(2)]
        [{'A': 0, 'B': 0}, {'A': 1, 'B': 1}]
        """
        refuse_numbers_alone(self.variables, "k_best", "mpe gives the most probable numbers.")
        question = Question.read(self, _K_BEST, None, evidence, do, budget=budget)
        best: list[Assignment] = question.answer(lambda way: way.k_best(k))
        if self._is_normalized:
            return best
        shift = self._log_normalizer(question.context, None, budget)
        return [Assignment(one, log_probability=(one.log_probability or 0.0) - shift, info=one.info) for one in best]

    @keyword_hints
    def map(
        self,
        names: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: MapChoice = None,
        budget: Budget | None = None,
        max_entries: int = 2**22,
        time_limit: float | None = None,
        progress: Callable[[SearchProgress], None] | None = None,
    ) -> Assignment:
        """Find the most probable states of some variables, with the others summed out (marginal MAP).

        This computes argmax_m P(m | evidence, do) exactly: by elimination, sums before maxima, if the tables fit, else
        by branch and bound (Park & Darwiche 2003). `.log_probability` is that of m and the evidence; `None` where log Z
        of a Markov network would take too long, `.log_product` then tells the sum. `.info` names the method, and says
        if time ran out and a better answer may exist.

        With an `engine`, it searches over m and scores with the engine's sums: see `approximate_map`.
        `.log_probability` is then the engine's estimate, and `.info.error` bounds how much better another m can be, as
        a difference of logarithms, or is `None` if the engine has no bounds.

        Parameters
        ----------
        engine
            How to compute the sums, such as `LoopyBP()`; if there is nothing to sum out, an engine that maximises, such
            as `MaxProduct()`. By default, the answer is exact. "auto" is exact if elimination is within `budget` and
            `max_entries`, or where the sums are small and a search as that of `mpe` proves the rest; else it searches
            with `LoopyBP(damping=0.3)`, and mini-buckets bound what it finds.
        budget
            The most that the answer may cost: its seconds limit the `time_limit`, its bytes `max_entries`.
        max_entries
            The most entries for all tables together in an elimination, and for each table in a search.
        time_limit
            Stop a search after this many seconds, with the best answer so far. If the other variables are too many to
            sum out in tables there is none, and the question is refused whatever the time limit.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.4, 0.6]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], parents=["A"]))
        >>> net.map("A"), net.mpe()
        (Assignment(A=1), Assignment(A=0, B=0))
        """
        limits = MapLimits.of(budget, max_entries, time_limit, progress)
        kind = replace(_MAP, fits=lambda way: way.fits_map(limits.max_entries))
        question = Question.read(self, kind, names, evidence, do, engine, budget)
        if question.engine is not None and isinstance(engine, str):  # "auto": a proof, where there is one, is better
            exactly = replace(question, engine=None)
            if (proved := exactly.answer(lambda way: way.proved_targets(limits))) is not None:
                return proved if self._is_normalized else self._with_log_product(exactly, proved, time_limit)
        best: Assignment = question.answer(lambda way: way.best_targets(limits))
        return best if self._is_normalized else self._with_log_product(question, best, time_limit)

    def _with_log_product(self, question: Question, best: Assignment, time_limit: float | None) -> Assignment:
        """The answer of a marginal MAP in which log Z is told apart from the product."""
        limit = question.budget if time_limit is None else Budget(seconds=time_limit)
        log_value, log_probability = best.log_probability, None
        if question.engine is None:
            with suppress(TooLarge):
                log_probability = log_value - self._log_normalizer(question.context, None, limit)
        elif not isinstance(question.engine, Optimizer):
            log_probability = difference(log_value, self._log_normalizer(question.context, question.engine, None))
        return Assignment(best, log_probability=log_probability, log_product=log_value, info=best.info)

    @overload
    def sample(
        self,
        num_rows: int,
        seed: Seed = ...,
        evidence: EvidenceLike | None = ...,
        do: Mapping[str, State] | None = ...,
        *,
        engine: DrawChoice = ...,
        budget: Budget | None = ...,
        output: None = ...,
        progress: Progress | None = ...,
    ) -> pd.DataFrame: ...
    @overload
    def sample(
        self,
        num_rows: int,
        seed: Seed = ...,
        evidence: EvidenceLike | None = ...,
        do: Mapping[str, State] | None = ...,
        *,
        engine: DrawChoice = ...,
        budget: Budget | None = ...,
        output: str | PathLike[str],
        progress: Progress | None = ...,
    ) -> WrittenRows: ...
    @keyword_hints
    def sample(
        self,
        num_rows: int,
        seed: Seed = None,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        engine: DrawChoice = None,
        budget: Budget | None = None,
        output: str | PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame | WrittenRows:
        """Draw rows as a data frame: independent samples of the model or, given evidence, of the exact posterior.

        States that are numbers or booleans stay so; others are categories of the column, all states of the variable in
        their order, which learners take from there. `rows.astype(object)` makes plain texts of them.

        With an `output` the same rows go to that file, as many at a time as fit in little memory; an engine draws all
        of them at once.

        With an `engine` such as `Gibbs()` or `LikelihoodWeighting()` the rows have equal weight, but may be correlated
        or repeated. `.attrs["info"]` then says how they were drawn, and `.attrs["effective_size"]` how many independent
        rows they are worth.

        Parameters
        ----------
        seed
            An integer or a NumPy generator; the same seed gives the same rows. By default, an engine uses its own seed.
        engine
            How to draw, such as `Gibbs()`; by default exactly. "auto" is exact if the clique tree is within the budget,
            else `Gibbs()`.
        budget
            The most that the clique tree, with all of its tables in memory, may cost; by default `Budget()`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, Gibbs, TableCPD
        >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))
        >>> coin.sample(3, seed=1)["coin"].tolist()
        ['tails', 'tails', 'heads']
        >>> coin.sample(100, seed=1, engine=Gibbs()).attrs["info"].engine
        'Gibbs sampling'
        """
        return sampled(self, taking(output, progress), num_rows, seed, evidence, do, engine, budget)

    def expected_counts(
        self,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        weights: npt.ArrayLike | None = None,
        *,
        families: str | Iterable[str] | None = None,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> ExpectedCounts:
        """Sum P(child, parents | row) over the rows: for each family, an array with axes (parents..., child).

        The families of a Markov network are the scopes of its factors, by their numbers as text: such sums are what the
        gradient of the likelihood is made of.

        Parameters
        ----------
        families
            The children whose families to count; by default all.
        engine
            How to compute the joints, such as `LoopyBP()`, with one run for each distinct row; by default one clique
            tree for all rows. "auto" is exact if that is within the budget, else it asks about each row as `query`
            does, in its share of the budget.
        budget
            The most that the clique tree, with all of its tables in memory, may cost; by default `Budget()`.

        Returns
        -------
        ExpectedCounts
            Name -> array, with the `.info` of the least accurate row. `.info.error` is for one row of weight one: the
            error of a count can be as large as that times the sum of the weights.

        Examples
        --------
        >>> from plausible import BayesianNetwork, LoopyBP, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> net.expected_counts({"B": [0, 1, 1]}, engine=LoopyBP())["A"].round(2)
        array([1.56, 1.44])
        """
        self._refuse_inputs("a joint distribution with expected counts")
        with advising(_COUNTS.remedies):
            question = Question.read(self, _COUNTS, None, None, None, engine, budget)
            if question.engine is not None:
                return self._counts_by(question, families, frame, weights)
            compiled = self.compile(budget=budget)
            if isinstance(compiled, HybridEngine):
                counts = compiled.expected_counts(frame, weights, families=families)
                return ExpectedCounts(counts, QueryInfo("hybrid clique tree"))
            compiled = replace(compiled, families=self._families())
            counts = compiled.expected_counts(frame, weights, families=families)
            return ExpectedCounts(counts, compiled.sums.info)

    def _counts_by(
        self, question: Question, names: str | Iterable[str] | None, frame: Any, weights: npt.ArrayLike | None
    ) -> ExpectedCounts:
        """The counts that a named engine finds."""
        families = self._families()
        if names is not None:
            families = named_families(names, families, self.variables, self._place)
        refuse_large_families(families)
        factors = Named(question).factors()
        rows = encode_evidence(frame, self.variables, self._place)
        auxiliary = {v.name: v for factor in factors for v in factor.scope if v.name not in self.variables}
        rows = np.pad(rows, ((0, 0), (0, len(auxiliary))), constant_values=-1)
        columns, numbers = [*self.variables.values(), *auxiliary.values()], checked_weights(weights, len(rows))
        engine = question.engine.shared_by(len(rows)) if isinstance(question.engine, BeliefsWithin) else question.engine
        try:
            return expected_counts(factors, families, columns, rows, numbers, engine)
        except ImpossibleRow as error:
            raise impossible_row(error.row, error) from None
