"""How sure structures are: the bootstrap of learners, of rows in memory or in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from plausible.base import Checked, Seed, check_count, check_seconds, generator_of, whole
from plausible.data.shared_passes import SharedPasses
from plausible.data.stream_statistics import PartitionedStatistics, for_learning
from plausible.data.table import Table
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, PDAG
from plausible.kernels.jit import repeated
from plausible.learn.confidence.row_weights import ResampledRows
from plausible.learn.confidence.weighted_graphs import WeightedGraphs
from plausible.learn.constraint_based.blanket_structure import CLASS_LEARNERS
from plausible.learn.learned_structure import learn_structure
from plausible.learn.structures.knowledge import check_progress
from plausible.search.checkpoint import AnyPath, checkpointed
from plausible.search.run import Clock, Saving, made

Learned = TypeVar("Learned")


class _HasGraph(Protocol):
    @property
    def graph(self) -> DAG | PDAG: ...


#: Rows, or statistics of rows in pieces -> a graph, or a result that has one.
GraphLearner: TypeAlias = Callable[[Table], "DAG | PDAG | _HasGraph"]

Kind: TypeAlias = Literal["ordinary", "bayesian"]
_KINDS = ("ordinary", "bayesian")
#: So many samples of rows in pieces are learned from side by side, as all of them wait for the same pass.
_SIDE_BY_SIDE = 25


def bootstrap(
    data: DataLike,
    learner: str | GraphLearner = "hill-climbing",
    num_samples: int = 200,
    *,
    kind: Kind = "ordinary",
    seed: Seed = 0,
    num_threads: int = 2,
    progress: Callable[[int, int], object] | None = None,
    time_limit: float | None = None,
    checkpoint: AnyPath | None = None,
) -> WeightedGraphs:
    """Learn a graph from each of many samples of the rows.

    The ordinary bootstrap draws as many rows as there are, with replacement (Friedman, Goldszmidt & Wyner 1999, "Data
    analysis with Bayesian networks: a bootstrap approach"); the Bayesian one gives all rows weights from a flat
    Dirichlet distribution times their number (Rubin 1981). Each sample has random numbers of its own: the answer does
    not depend on the number of threads. Costs one search a sample.

    Rows in pieces, such as files too large for memory, are not drawn but counted: each row as often as a Poisson
    distribution with mean one says, or by an exponential one, which is what both bootstraps come to where there are
    many rows. The numbers hang on the seed, the sample and the number of the row alone, so that the answer does not
    depend on how rows are parted. Many samples go through the pieces together: a pass serves all of them.

    Parameters
    ----------
    learner
        A method of `learn.structure`, "pc", "grow-shrink" or "iamb"; or a function of a `Table` that gives a DAG, a
        PDAG, or a result with `.graph`. Of rows in pieces it gets statistics.
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
    >>> strengths = bootstrap(frame, num_samples=4).as_classes().strengths()
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

    samples, source = Samples(num_samples, kind, seed, num_threads, progress, time_limit), rows_of(data)
    told = {"learner": learner, "kind": kind, "num_samples": num_samples, "seed": seed, "num_threads": num_threads}
    with checkpointed(checkpoint, "learn.bootstrap", lambda: {"data": source, **told}) as saved:
        graphs = samples.learn(source, work, saved)
        if saved is not None and len(graphs) < num_samples:
            saved.cut_short()
    return WeightedGraphs.of(graphs, source=f"{kind} bootstrap, {len(graphs)} samples")


def rows_of(data: DataLike) -> Table | PartitionedStatistics:
    """The rows to draw from, in memory or in pieces, without columns that are hardly variables."""
    source = for_learning(data)
    rows = source if isinstance(source, Table) else source.by_rows
    return rows if isinstance(rows, (Table, PartitionedStatistics)) else rows.table


@dataclass(frozen=True, slots=True)
class Samples(Checked, num_threads=whole(1), time_limit=check_seconds):
    """How many samples of the rows are drawn, and how; see `bootstrap` for the fields."""

    number: int
    kind: Literal["ordinary", "bayesian"] = "ordinary"
    seed: Seed = 0
    num_threads: int = 2
    progress: Callable[[int, int], object] | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.kind not in _KINDS:
            raise InvalidArgument(f"kind= is 'ordinary' or 'bayesian', not {self.kind!r}.")
        check_count("num_samples", self.number, 1)
        check_progress(self.progress)

    def learn(
        self,
        source: Table | PartitionedStatistics,
        learner: Callable[[Any], Learned],
        saved: Saving | None = None,
    ) -> list[Learned]:
        """What is learned from each sample, as far as time and `progress` let it."""
        clock, found = Clock.of(self.time_limit), list[Learned]()
        parts = self._by_threads(source, learner) if isinstance(source, Table) else self._by_passes(source, learner)
        with repeated(self.number if self.time_limit is None else 1):
            for together in parts:
                found += made(saved, together)
                if (self.progress is not None and self.progress(len(found), self.number)) or clock.is_over:
                    break
        return found

    def _by_threads(self, table: Table, learner: Callable[[Any], Learned]) -> Iterator[Callable[[], list[Learned]]]:
        """Some samples at a time, each learned from in a thread of its own."""
        sources = generator_of(self.seed).spawn(self.number)
        with ThreadPoolExecutor(self.num_threads) as pool:
            for start in range(0, self.number, self.num_threads):
                drawn = sources[start : start + self.num_threads]
                yield partial(_each_drawn, pool, learner, table, self.kind, drawn)

    def _by_passes(
        self, statistics: PartitionedStatistics, learner: Callable[[Any], Learned]
    ) -> Iterator[Callable[[], list[Learned]]]:
        """Some samples at a time, which go through the pieces together."""
        view = ResampledRows(int(generator_of(self.seed).integers(2**63)), self.kind)
        passes = SharedPasses(statistics.partitions, view)
        for start in range(0, self.number, _SIDE_BY_SIDE):
            members = range(start, min(start + _SIDE_BY_SIDE, self.number))
            yield partial(passes.each, members, lambda pieces: learner(PartitionedStatistics(pieces)))


def _each_drawn(
    pool: ThreadPoolExecutor,
    learner: Callable[[Any], Learned],
    table: Table,
    kind: Kind,
    sources: Sequence[np.random.Generator],
) -> list[Learned]:
    return list(pool.map(lambda rng: learner(_drawn(table, kind, rng)), sources))


def _drawn(table: Table, kind: str, rng: np.random.Generator) -> Table:
    num = table.num_rows
    if kind == "ordinary" or not num:
        return table.take(np.sort(rng.integers(num, size=num))) if num else table
    weights = num * rng.dirichlet(np.ones(num))
    return table.weighted(weights if table.weights is None else weights * table.weights)
