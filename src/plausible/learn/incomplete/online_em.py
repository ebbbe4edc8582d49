"""EM of batches of rows that are each seen once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from plausible.base import Floats
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, counted
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import LIGHT_PRIOR, PriorLike
from plausible.learn.incomplete.expectations import ExactExpectations
from plausible.learn.incomplete.problem import read_problem
from plausible.learn.incomplete.starts_and_stops import warn_of_symmetry
from plausible.models import BayesianNetwork


@dataclass(frozen=True, slots=True, eq=False)
class OnlineEM:
    """A network that learns from batches of rows, each of which is seen once and forgotten.

    It is a value: `partial_fit` returns what has learned more, and leaves this one as it was:
    `online = online.partial_fit(rows)`.

    A batch that weighs w, the last of batches that weigh W together, moves the mean counts s of a row by

        s ← (1 - γ) s + γ M̄_batch / w,    γ = (w / W)^decay,

    and the tables are those of W s, with the prior. With decay 1 all rows count alike, so that complete rows give the
    estimates of all of them at once, `learn.parameters(network, all_rows, prior)`; smaller ones forget what the first
    networks made of missing cells. Any decay above 1/2 converges to a stationary point of the expected log-likelihood
    of a row, if batches come from one distribution.

    >>> from plausible.cpds import TableCPD
    >>> online = OnlineEM(BayesianNetwork(TableCPD("coin", [0.5, 0.5])), decay=1.0)
    >>> for rows in ({"coin": [0, 0]}, {"coin": [1, 0]}):
    ...     online = online.partial_fit(rows)
    >>> online
    <OnlineEM: 2 batches that weigh 4, decay 1.0, <BayesianNetwork: 1 variable, 0 edges, 1 parameter>>
    >>> online.network.cpd("coin").values  # (3 + 1/2) / (4 + 1)
    array([0.7, 0.3])
    """

    #: Where to start: the graph, the states and the first tables. Those of hidden variables must differ from state to
    #: state, else a `SymmetricStart` is warned of.
    network: BayesianNetwork
    #: For tables: one for all, or name -> prior. With `None`, a state that the first batches lack is ruled out.
    prior: PriorLike = LIGHT_PRIOR
    decay: float = 0.7  # Above 1/2, at most 1
    knowledge: ParameterKnowledge | None = None  # Fixed CPDs and tied tables
    mean_counts: Mapping[str, Floats] | None = None  # s so far
    weight: float = 0.0  # W so far
    #: Of each batch, the mean log-likelihood of a row before it was learned from: an honest test of each network.
    batch_log_likelihoods: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.network, BayesianNetwork):
            raise InvalidArgument(
                f"OnlineEM takes the BayesianNetwork to start from, not {self.network!r}: a graph alone has no tables. "
                "Make one from the first rows: learn.em(graph, rows).network."
            )
        if not 0.5 < self.decay <= 1:
            raise InvalidArgument(f"decay= is above 1/2 and at most 1, not {self.decay!r}.")

    def partial_fit(self, rows: TableLike) -> OnlineEM:
        """A new value, which has learned from one more batch of rows; variables without a column are hidden."""
        problem = read_problem(self.network, rows, (), self.prior, None, None, self.knowledge)
        cases, maximization = problem.cases, problem.maximization
        if not cases.total:
            return self
        if not self.batch_log_likelihoods:
            warn_of_symmetry(self.network, cases)
        found = cases.completed_by(ExactExpectations).at(self.network)
        weight = self.weight + cases.total
        rate = (cases.total / weight) ** self.decay
        before = self.mean_counts or dict.fromkeys(found.counts, np.zeros(()))
        mean = {name: (1.0 - rate) * before[name] + rate / cases.total * table for name, table in found.counts.items()}
        network = maximization.network({name: weight * table for name, table in mean.items()}, self.network).network
        told = (*self.batch_log_likelihoods, found.log_likelihood / cases.total)
        return OnlineEM(network, self.prior, self.decay, self.knowledge, mean, weight, told)

    def learned(self, batches: Iterable[TableLike]) -> OnlineEM:
        """What has learned from several batches, one after the other."""
        return reduce(OnlineEM.partial_fit, batches, self)

    def __repr__(self) -> str:
        batches = f"{counted(len(self.batch_log_likelihoods), 'batch')} that weigh {self.weight:g}"
        return f"<OnlineEM: {batches}, decay {self.decay}, {self.network!r}>"
