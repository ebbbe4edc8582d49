"""How sure structures are: the bootstrap of learners, and answers averaged over several networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.options import Seed, check_count, check_seconds, generator_of
from plausible.data.table import Table, TableLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.graphs import DAG, PDAG
from plausible.graphs.equivalence import consistent_extension
from plausible.kernels.jit import repeated
from plausible.learn.confidence.weighted_graphs import WeightedGraphs
from plausible.learn.constraint_based.blanket_structure import CLASS_LEARNERS
from plausible.learn.estimation.priors import LIGHT_PRIOR, PriorLike
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.learn.structures.knowledge import check_progress
from plausible.models import BayesianNetwork
from plausible.search.run import Clock

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

    samples = Samples(num_samples, kind, seed, num_threads, progress, time_limit)
    graphs = samples.learn(Table.for_learning(data), work)
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


@dataclass(frozen=True, slots=True, eq=False)
class ModelAverage:
    """Networks over the same variables, each with a probability.

    >>> from plausible.cpds import TableCPD
    >>> fair, loaded = (BayesianNetwork(TableCPD("coin", row)) for row in ([0.5, 0.5], [0.9, 0.1]))
    >>> ModelAverage.of([fair, loaded], [0.75, 0.25]).query("coin").values.round(6)
    array([0.6, 0.4])
    """

    networks: tuple[BayesianNetwork, ...]  # The networks
    weights: Floats  # Their probabilities

    @classmethod
    def of(cls, networks: Sequence[BayesianNetwork], weights: Sequence[float] | NDArray[Any]) -> ModelAverage:
        """From networks and what they weigh; weights are brought to the sum one."""
        shares = np.array(weights, dtype=np.float64)
        if not networks or shares.shape != (len(networks),) or (shares < 0).any() or not 0 < shares.sum() < math.inf:
            raise InvalidArgument(f"There are {len(networks)} networks; each needs a weight, and none is negative.")
        shares /= shares.sum()
        shares.setflags(write=False)
        return cls(tuple(networks), shares)

    @classmethod
    def learn(
        cls, graphs: WeightedGraphs, data: TableLike, prior: PriorLike = None, *, most: int = 100
    ) -> ModelAverage:
        """Learn the parameters of the heaviest graphs, `most` at most, with the prior BDeu(1) where none is given.

        A partially directed graph stands for any of its members; the rows are complete.
        """
        table, distinct = Table.read(data), graphs.distinct()
        num = min(most, len(distinct))
        found = [distinct.graph(place) for place in range(num)]
        dags = [graph if isinstance(graph, DAG) else consistent_extension(graph) for graph in found]
        chosen = LIGHT_PRIOR if prior is None else prior
        return cls.of([learn_parameters(dag, table, chosen) for dag in dags], distinct.weights[:num])

    def posterior(self, evidence: Mapping[str, Any] | None = None) -> Floats:
        """The probabilities of the networks after evidence: P(M | e) ∝ P(M) P(e | M)."""
        if not evidence:
            return self.weights
        logs = np.array([float(network.log_probability(evidence)) for network in self.networks])
        with np.errstate(divide="ignore"):
            logs += np.log(self.weights)
        if logs.max() == -math.inf:
            raise ImpossibleEvidence.outright()
        shares = np.exp(logs - logs.max())
        return np.asarray(shares / shares.sum())

    def query(self, targets: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> Factor:
        """P(targets | e) = Σ P(M | e) P(targets | e, M), of one or several discrete variables."""
        names = [targets] if isinstance(targets, str) else list(targets)
        parts = []
        for network, share in zip(self.networks, self.posterior(evidence).tolist(), strict=True):
            answer = network.query(names, evidence=evidence) if share > 0 else None
            if answer is not None and not isinstance(answer, Factor):
                raise NotSupported(f"{names[0]!r} is continuous; only tables are averaged.")
            if answer is not None:
                parts.append(answer.reorder(names) * share)
        average: Factor = reduce(add, parts)
        return average

    def log_probability(self, evidence: Mapping[str, Any]) -> float:
        """log Σ P(M) P(e | M)."""
        logs = [float(network.log_probability(evidence)) for network in self.networks]
        live = [(weight, log) for weight, log in zip(self.weights, logs, strict=True) if weight > 0 and log > -math.inf]
        top = max((log for _, log in live), default=-math.inf)
        return top + math.log(sum(weight * math.exp(log - top) for weight, log in live)) if live else top
