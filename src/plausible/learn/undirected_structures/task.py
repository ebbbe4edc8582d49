"""What a search for undirected structure is given: data, candidates, and what is known of edges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from plausible.base.options import Seed
from plausible.base.tolerances import SMALLEST
from plausible.data.statistics import Statistics
from plausible.data.stream_statistics import for_learning, read_statistics
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.graphs import UndirectedGraph
from plausible.graphs.elimination import elimination_order, induced_width
from plausible.graphs.plain import read_pairs
from plausible.inference.budget import Budget
from plausible.learn.undirected.design import read_features
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.learning import learn_markov
from plausible.learn.undirected.priors import WeightPrior
from plausible.learn.undirected_structures.pair_sums import PairwisePseudolikelihood
from plausible.models.features import Feature
from plausible.search.run import UNLIMITED, Clock, Stops
from plausible.variables import Variable

#: The likelihood is chosen by default where an inference takes no longer than this; else the pseudolikelihood.
_CHEAP = Budget(seconds=0.02)

#: The most steps of one climb of weights.
_MOST_CLIMBING = 5000

Pair = frozenset[str]


@dataclass(frozen=True, eq=False)
class Task:
    """Data, the features that may be chosen, the edges that must or must not be there, and when to stop."""

    statistics: Statistics
    variables: Mapping[str, Variable]
    candidates: tuple[Feature, ...]
    required: frozenset[Pair]
    forbidden: frozenset[Pair]
    stops: Stops
    clock: Clock
    seed: Seed = 0
    objective: str | None = None  # None for the likelihood where it is cheap
    budget: Budget | None = None

    @classmethod
    def read(
        cls,
        data: TableLike | Statistics,
        candidates: Iterable[Any] | None,
        required: Any,
        forbidden: Any,
        stops: Stops,
        **options: Any,
    ) -> Task:
        """All as given by the caller: candidates are pairs, larger scopes, or features."""
        if not isinstance(data, Statistics) and candidates is None:  # ids and dates are left out, unless they are named
            data = for_learning(data, [str(name) for edge in read_pairs(required, UndirectedGraph)[1] for name in edge])
        statistics = read_statistics(data)
        if statistics.continuous:
            raise NotSupported(
                f"{statistics.continuous[0]!r} is a column of numbers: cut it into states by pb.Discretizer."
            )
        variables = dict(statistics.variables)
        if not variables:
            raise InvalidArgument("The data have no columns: there is no structure to learn.")
        if not statistics.total:
            raise InvalidArgument("There are no rows, so that nothing tells which variables depend on each other.")
        must, never = _pairs(required, variables, "required"), _pairs(forbidden, variables, "forbidden")
        if both := must & never:
            raise InvalidArgument(f"The edge {' - '.join(sorted(next(iter(both))))} is both required and forbidden.")
        features = _read_candidates(candidates, variables)
        kept = [one for one in features if not any(pair in never for pair in pairs_of(one))]
        covered = {pair for one in kept for pair in pairs_of(one)}
        kept += [pair_feature(pair, variables) for pair in sorted(must - covered, key=sorted)]
        return cls(statistics, variables, tuple(kept), must, never, stops, Clock.of(stops.time_limit), **options)

    @cached_property
    def singles(self) -> list[Feature]:
        """A free table for each variable, which every model has."""
        return [Feature((name,)) for name in self.variables]

    @property
    def unlimited(self) -> Task:
        """The task without limits and listeners: for the fit that is made once the search is over."""
        return replace(self, clock=UNLIMITED, stops=Stops(self.stops.tolerance))

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return max(float(self.statistics.total), SMALLEST)

    def is_required(self, feature: Feature) -> bool:
        """Whether an edge that must be there needs it."""
        return any(pair in self.required for pair in pairs_of(feature))

    def graph(self, features: Iterable[Feature]) -> UndirectedGraph:
        """An edge for each pair that is in one feature."""
        pairs = {tuple(sorted(pair)) for one in features for pair in pairs_of(one)}
        return UndirectedGraph(sorted(pairs), nodes=self.variables)

    def refuse_missing(self, method: str) -> None:
        """Refuse missing cells for methods that need complete rows."""
        if missing := [name for name, number in self.statistics.missing.items() if number]:
            raise NotSupported(
                f'{missing[0]!r} has missing cells, which method="{method}" can\'t take. method="l1" with the '
                "likelihood does; or fill them in first by pb.learn.impute."
            )

    def fit(
        self,
        features: Sequence[Feature],
        objective: str,
        prior: Mapping[str, WeightPrior] | WeightPrior | None = None,
        start: Mapping[str, float] | None = None,
        tolerance: float | None = None,
    ) -> MarkovFit:
        """Weights of the single tables and of some features, from those of an earlier fit."""
        known = [*self.singles, *features]
        names = {name for one in known for name in one.weight_names([self.variables[v] for v in one.scopes[0]])}
        begin = {name: value for name, value in (start or {}).items() if name in names and math.isfinite(value)}
        scopes = [scope for one in (*self.candidates, *known) for scope in one.scopes]
        is_fast = objective == "pseudolikelihood" and all(len(scope) <= 2 for scope in scopes)
        return learn_markov(
            known,
            self.statistics,
            objective=PairwisePseudolikelihood() if is_fast else objective,
            prior=prior,
            start=begin,
            budget=self.budget or (None if self.objective == "likelihood" else _CHEAP),
            max_steps=_MOST_CLIMBING,
            tolerance=self.stops.tolerance if tolerance is None else tolerance,
            time_limit=self.clock.seconds_left if math.isfinite(self.clock.deadline) else None,
        )


def fit_either(task: Task, features: Sequence[Feature]) -> MarkovFit:
    """The likelihood's weights without a prior; those of the pseudolikelihood where log Z takes too long."""
    if task.objective is not None:
        return task.fit(features, task.objective)
    try:
        return task.fit(features, "likelihood")
    except TooLarge:
        return task.fit(features, "pseudolikelihood")


def fit_cliques(task: Task, graph: UndirectedGraph) -> MarkovFit:
    """A table on each maximal clique of a graph, without a prior; counted where the graph is chordal."""
    return learn_markov(graph, task.statistics, budget=task.budget, tolerance=task.stops.tolerance)


def width_of(graph: UndirectedGraph) -> int:
    """An upper bound on the treewidth, by min-fill elimination."""
    return induced_width(graph, elimination_order(graph))


def pair_feature(pair: Iterable[str], variables: Mapping[str, Variable]) -> Feature:
    """The interaction of two variables: one contrast where both have two states, else a free table.

    The contrast's weight is the Euclidean norm of the centred table that it stands for, so penalties on either mean the
    same.
    """
    first, second = sorted(pair)
    name = f"{first} - {second}"
    if variables[first].num_states == variables[second].num_states == 2:
        return Feature((first, second), 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]]), name=name)
    return Feature((first, second), name=name)


def pairs_of(feature: Feature) -> set[Pair]:
    """The pairs of variables that a feature joins."""
    return {frozenset(pair) for scope in feature.scopes for pair in combinations(scope, 2)}


def _read_candidates(candidates: Iterable[Any] | None, variables: Mapping[str, Variable]) -> list[Feature]:
    if candidates is None:
        return [pair_feature(pair, variables) for pair in combinations(sorted(variables), 2)]
    listed = list(read_pairs(candidates, UndirectedGraph)[1]) if _is_graph(candidates) else list(candidates)
    made = [
        pair_feature(one, variables) if _is_pair(one, variables) else one
        for one in (tuple(one) if isinstance(one, list | set | frozenset) else one for one in listed)
    ]
    features = read_features(made)
    for feature in features:
        for name in (name for scope in feature.scopes for name in scope):
            if name not in variables:
                raise UnknownVariable.named(name, variables, "the data, though candidates= names it")
    return features


def _is_graph(candidates: Any) -> bool:
    return isinstance(candidates, str | UndirectedGraph) or hasattr(candidates, "edges")


def _is_pair(one: Any, variables: Mapping[str, Variable]) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and all(name in variables for name in one)


def _pairs(edges: Any, variables: Mapping[str, Variable], word: str) -> frozenset[Pair]:
    pairs = read_pairs(edges, UndirectedGraph)[1]
    for name in (name for pair in pairs for name in pair):
        if name not in variables:
            raise UnknownVariable.named(str(name), variables, f"the data, though {word}= names it")
    return frozenset(frozenset(map(str, pair)) for pair in pairs)
