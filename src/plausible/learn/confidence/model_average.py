"""Answers averaged over several networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, logarithms
from plausible.data.table import Table, TableLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.graphs import DAG, consistent_extension
from plausible.learn.confidence.weighted_graphs import WeightedGraphs
from plausible.learn.estimation.priors import LIGHT_PRIOR, PriorLike
from plausible.learn.learned_parameters import learn_parameters
from plausible.models import BayesianNetwork


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
        logs += logarithms(self.weights)
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
