"""What every score of a structure on incomplete data starts from: cases, a prior, and the parameters that fit best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice, permutations, product
from typing import NamedTuple

import numpy as np

from plausible.base import Floats
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.learn.bayesian.completion_problem import CompletionProblem, FamilyTables
from plausible.learn.estimation.priors import FLAT_PRIOR, PriorLike
from plausible.learn.gradients.space import tables_of
from plausible.learn.incomplete.accelerated_em import HybridEM, SquaredEM
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import EMFit, EMProgress, best_em, em_run
from plausible.learn.incomplete.problem import EMProblem, read_problem
from plausible.learn.incomplete.starts_and_stops import start_network
from plausible.models import BayesianNetwork
from plausible.search.run import Clock, Stops
from plausible.variables import Variable

#: The tolerance of EM, relative, with which starts are compared.
_ROUGH = 1e-5
#: Steps of squared extrapolation to the very end; where they creep, a climb along the gradient is faster.
_MOST_SQUARED = 100
#: A climb makes large steps after small ones: its tolerance is this share of that of EM.
_OF_A_CLIMB = 0.01
#: Of more orders of the states of hidden variables, so many are looked at.
_MOST_ORDERS = 720


@dataclass(frozen=True, slots=True, eq=False)
class ScoreOptions:
    """How much work goes into a score."""

    restarts: int = 4  # More runs of EM, from random tables; scores at a local maximum that is not the best are too low
    tolerance: float = 1e-9  # Of the best run, relative: a Laplace score needs the very maximum
    start: BayesianNetwork | None = None  # Where EM sets out from first; see `learn_em`
    #: Completions that the candidate method draws with each of its chains, and those that it throws away first.
    num_draws: int = 500
    burn_in: int = 100
    num_candidates: int = 8  # Parameters at which the candidate method asks
    max_entries: int = 20_000_000  # The exact score may keep so many numbers at a time

    def __post_init__(self) -> None:
        least = {"restarts": 0, "num_draws": 1, "burn_in": 0, "num_candidates": 1, "max_entries": 1}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise InvalidArgument(f"{name}= is at least {bound}, not {getattr(self, name)!r}.")


class RenamedTables(NamedTuple):
    """Tables with hidden states in several orders: (orders, entries), and which share of all orders each stands for."""

    tables: Floats
    #: Logs. Where orders were drawn, the first one is the order given, which stands for itself alone, and the others
    #: share what all others have: a mean with these weights is unbiased.
    log_shares: Floats


@dataclass(frozen=True, eq=False)
class ScoreTask:
    """A graph with hidden or partly observed variables, and the data that it is to explain."""

    graph: object  # As `learn_em` takes them; the prior is `K2` where none is given
    data: TableLike
    prior: PriorLike
    hidden: Mapping[str, int] | tuple[Variable, ...]
    seed: int = 0  # A whole number
    options: ScoreOptions = ScoreOptions()  # For EM and what comes after it
    progress: EMProgress | None = None
    time_limit: float | None = None

    @classmethod
    def of(
        cls,
        graph: object,
        data: TableLike,
        prior: PriorLike = None,
        hidden: Mapping[str, int] | Iterable[Variable] = (),
        options: ScoreOptions | None = None,
    ) -> ScoreTask:
        """With the usual options."""
        given = dict(hidden) if isinstance(hidden, Mapping) else tuple(hidden)
        return cls(graph, data, FLAT_PRIOR if prior is None else prior, given, options=options or ScoreOptions())

    @cached_property
    def _problem(self) -> EMProblem:
        return read_problem(self.graph, self.data, self.hidden, self.prior, "mean", start=self.options.start)

    @property
    def cases(self) -> Cases:
        """The different rows."""
        return self._problem.cases.in_memory("A score of graphs for rows with missing cells")

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""
        return self._problem.maximization.variables

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Name -> the names of its parents."""
        return self._problem.maximization.parents

    @cached_property
    def completion(self) -> CompletionProblem:
        """The same cases with the prior of all tables, which must be positive."""
        maximization = self._problem.maximization
        for name, alpha in maximization.exponents.items():
            if not (alpha > 0).all():
                raise InvalidArgument(
                    f"The prior of {name!r} has pseudo-counts that are zero: marginal likelihoods need positive ones, "
                    "such as prior=K2() or BDeu(10)."
                )
        tables = FamilyTables(dict(self.variables), dict(self.parents))
        return CompletionProblem(self.cases, tables, tables.flat(maximization.exponents))

    @property
    def tables(self) -> FamilyTables:
        """How tables lie in flat arrays."""
        return self.completion.tables

    @property
    def pseudo_counts(self) -> Floats:
        """α of all entries, flat."""
        return self.completion.pseudo_counts

    @cached_property
    def fit(self) -> EMFit:
        """EM for the mode of the posterior in the coordinates log θ: all runs roughly, and the best to the very end."""
        problem, chosen, clock = self._problem, self.options, Clock.of(self.time_limit)
        restarts = 0 if self.cases.is_complete else chosen.restarts
        stops = Stops(max(chosen.tolerance, _ROUGH), 20_000, self.time_limit, self.progress)
        rough = best_em(problem, chosen.start, restarts, self.seed, stops, clock, method=SquaredEM())
        if not rough.converged:
            return rough
        fine = replace(stops, tolerance=chosen.tolerance)
        best = em_run(problem, rough.run.state, replace(fine, max_steps=_MOST_SQUARED), method="squared", clock=clock)
        if best.stopped_by == "step limit":
            finest = replace(fine, tolerance=chosen.tolerance * _OF_A_CLIMB)
            best = em_run(problem, replace(best.state, memory=None), finest, method=HybridEM(em_steps=0), clock=clock)
        return EMFit((best, *rough.runs[1:]), problem.cases)

    @cached_property
    def likelihood_fit(self) -> EMFit:
        """EM for the greatest likelihood."""
        return replace(self, prior=None).fit

    @cached_property
    def theta(self) -> Floats:
        """The tables of `fit`, flat."""
        return self.tables.flat(tables_of(self.fit.network))

    @cached_property
    def counts(self) -> Floats:
        """What `fit` expects of all families, flat: those of the completed data set D*."""
        return self.tables.flat(self.fit.expectations.counts)

    def random_network(self) -> BayesianNetwork:
        """The graph with tables drawn at random."""
        return start_network(self._problem.maximization, self.cases, "random", np.random.default_rng(self.seed))

    def log_marginal(self, counts: Floats) -> Floats:
        """log P(completed data) of counts of all families along the last axis."""
        return self.tables.log_marginal(self.pseudo_counts, counts)

    @cached_property
    def exchangeable(self) -> tuple[str, ...]:
        """The hidden variables whose states may be renamed without any change of prior and likelihood."""
        names, alpha = [], self.pseudo_counts
        for name in self.cases.hidden:
            places = tuple(range(self.variables[name].num_states))
            swaps = [(*places[:i], i + 1, i, *places[i + 2 :]) for i in places[:-1]]  # they make all other orders
            if all(np.array_equal(self._renamed(alpha, {name: order}), alpha) for order in swaps):
                names.append(name)
        return tuple(names)

    @property
    def log_orders(self) -> float:
        """The log of the number of orders of the states of exchangeable variables: the modes that look alike."""
        return sum(math.lgamma(self.variables[name].num_states + 1) for name in self.exchangeable)

    def renamed(self, theta: Floats) -> RenamedTables:
        """The tables with the states of exchangeable variables in all orders, or in many drawn at random."""
        names = self.exchangeable
        sizes = [self.variables[name].num_states for name in names]
        listed = list(islice(product(*(permutations(range(size)) for size in sizes)), _MOST_ORDERS + 1))
        log_shares = np.full(len(listed), -np.log(len(listed)))
        if len(listed) > _MOST_ORDERS:
            rng, given = np.random.default_rng(self.seed), listed[0]
            drawn = (tuple(tuple(rng.permutation(size).tolist()) for size in sizes) for _ in count())
            listed = [given, *islice((order for order in drawn if order != given), _MOST_ORDERS - 1)]
            others = math.log1p(-math.exp(-self.log_orders)) - math.log(_MOST_ORDERS - 1)
            log_shares = np.array([-self.log_orders, *[others] * (_MOST_ORDERS - 1)])
        renamed = [self._renamed(theta, dict(zip(names, order, strict=True))) for order in listed]
        return RenamedTables(np.array(renamed), log_shares)

    def _renamed(self, theta: Floats, orders: Mapping[str, tuple[int, ...]]) -> Floats:
        tables = self.tables.named(theta)
        for name in tables:
            for axis, other in enumerate((*self.parents[name], name)):
                tables[name] = tables[name].take(orders[other], axis=axis) if other in orders else tables[name]
        return self.tables.flat(tables)
