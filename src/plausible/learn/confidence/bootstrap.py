"""The bootstrap of structure learners: how often a feature comes back when the data are drawn again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from plausible.base.options import check_count, check_seconds
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, PDAG
from plausible.kernels.jit import repeated
from plausible.learn.confidence.weighted_graphs import WeightedGraphs
from plausible.learn.constraint_based.blanket_structure import CLASS_LEARNERS
from plausible.learn.learned_structure import learn_structure
from plausible.learn.structures.knowledge import check_progress
from plausible.search.clock import Clock

Learned = TypeVar("Learned")


class _HasGraph(Protocol):
    @property
    def graph(self) -> DAG | PDAG: ...


GraphLearner: TypeAlias = Callable[[Table], "DAG | PDAG | _HasGraph"]  # Rows -> a graph, or a result that has one

_KINDS = ("ordinary", "bayesian")


def bootstrap(
    data: TableLike,
    learner: str | GraphLearner = "hill-climbing",
    num_samples: int = 200,
    *,
    kind: Literal["ordinary", "bayesian"] = "ordinary",
    seed: Seed = 0,
    num_threads: int = 2,
    progress: Callable[[int, int], object] | None = None,
    time_limit: float | None = None,
) -> WeightedGraphs:
    """Learn a graph from each of many samples of the rows.

    The ordinary bootstrap draws as many rows as there are, with replacement (Friedman, Goldszmidt & Wyner 1999, "Data
    analysis with Bayesian networks: a bootstrap approach"); the Bayesian one gives all rows weights from a flat
    Dirichlet distribution times their number (Rubin 1981). Each sample has random numbers of its own: the answer does
    not depend on the number of threads. Costs one search a sample.

    Parameters
    ----------
    learner
        A method of `learn.structure`, "pc", "grow-shrink" or "iamb"; or a function of a `Table` that gives a DAG, a
        PDAG, or a result with `.graph`.
    num_samples, kind
        How many graphs to learn, by the "ordinary" or the "bayesian" bootstrap.
    num_threads
        Samples at work at the same time.
    progress
        Called with the number of graphs learned and of all; an answer that is true stops.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(1000, seed=1)
    >>> strengths = bootstrap(frame, num_samples=8).as_classes().strengths()
    >>> strengths.strength("smoke", "bronc"), strengths.strength("asia", "smoke") < 0.5
    (1.0, True)
    """
    learn: GraphLearner
    if not isinstance(learner, str):
        learn = learner
    elif learner.lower() in CLASS_LEARNERS:
        learn = CLASS_LEARNERS[learner.lower()].learn
    else:
        learn = partial(learn_structure, method=learner)

    def work(rows: Table) -> DAG | PDAG:
        found = learn(rows)
        return found if isinstance(found, (DAG, PDAG)) else found.graph

    samples = Samples(num_samples, kind, seed, num_threads, progress, time_limit)
    graphs = samples.learn(Table.read(data), work)
    return WeightedGraphs.of(graphs, source=f"{kind} bootstrap, {len(graphs)} samples")


@dataclass(frozen=True, slots=True)
class Samples:
    """How many samples of the rows are drawn, and how; see `bootstrap` for the fields."""

    number: int
    kind: Literal["ordinary", "bayesian"] = "ordinary"
    seed: Seed = 0
    num_threads: int = 2
    progress: Callable[[int, int], object] | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise InvalidArgument(f"kind= is 'ordinary' or 'bayesian', not {self.kind!r}.")
        check_count("num_samples", self.number, 1)
        check_count("num_threads", self.num_threads, 1)
        check_seconds("time_limit", self.time_limit)
        check_progress(self.progress)

    def learn(self, table: Table, learner: Callable[[Table], Learned]) -> list[Learned]:
        """What is learned from each sample, as far as time and `progress` let it."""
        clock = Clock.of(self.time_limit)
        sources = generator_of(self.seed).spawn(self.number)
        found: list[Learned] = []
        times = self.number if self.time_limit is None else 1
        with repeated(times), ThreadPoolExecutor(self.num_threads) as pool:
            for start in range(0, self.number, self.num_threads):
                drawn = sources[start : start + self.num_threads]
                found += pool.map(lambda rng: learner(_drawn(table, self.kind, rng)), drawn)
                if (self.progress is not None and self.progress(len(found), self.number)) or clock.is_over:
                    break
        return found


def _drawn(table: Table, kind: str, rng: np.random.Generator) -> Table:
    num = table.num_rows
    if kind == "ordinary" or not num:
        return table.take(np.sort(rng.integers(num, size=num))) if num else table
    weights = num * rng.dirichlet(np.ones(num))
    return table.weighted(weights if table.weights is None else weights * table.weights)
