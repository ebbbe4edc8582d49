"""How well a known network is found again: its graph, its class, its parameters, its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plausible.base.options import check_count
from plausible.base.records import record
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import compare_structure, essential_graph
from plausible.graphs.comparison import StructureComparison
from plausible.learn.estimation.priors import BDeu
from plausible.learn.evaluation.losses import read_learner
from plausible.learn.learned_parameters import ParameterFit
from plausible.learn.structures.result import StructureResult
from plausible.models import BayesianNetwork
from plausible.models.comparison import NetworkComparison, compare, kl_divergence_networks

if TYPE_CHECKING:
    import pandas as pd


@record
class Recovery:
    """How far an estimate is from the truth, for both goals of learning.

    Knowledge discovery looks at the graph, up to equivalence, since data can't tell more; density estimation at the
    divergence, in which a graph with too few edges may do better where rows are few.
    """

    #: Differences of the graphs, edge by edge, and of the parameters of families that both have.
    networks: NetworkComparison
    classes: StructureComparison  # Differences of the equivalence classes (CPDAGs)
    divergence: float  # KL(truth ‖ estimate) in nats: the loss per row beyond what the truth itself would lose

    def measures(self) -> dict[str, float]:
        """Name -> number, for tables."""
        graph, classes = self.networks.structure, self.classes
        return {
            "divergence": self.divergence,
            "largest_difference": self.networks.largest_difference,
            "shd": float(graph.shd),
            "class_shd": float(classes.shd),
            "skeleton_precision": classes.skeleton.precision,
            "skeleton_recall": classes.skeleton.recall,
            "arrow_precision": classes.orientation.precision,
            "arrow_recall": classes.orientation.recall,
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:<20} {value:.6g}" for name, value in self.measures().items())


def recovery(truth: BayesianNetwork, estimate: BayesianNetwork | StructureResult | ParameterFit) -> Recovery:
    """Compare a learned network with the one that the data came from; states are compared by name.

    Parameters
    ----------
    truth
        The network that is meant; discrete.
    estimate
        The network that was learned, over the same variables; or what `learn.structure` or `learn.fit_parameters` gave,
        where a graph gets its parameters from its own data with BDeu(1).

    Examples
    --------
    >>> import plausible as pb
    >>> truth = pb.examples.load("asia")
    >>> frame = truth.sample(2000, seed=1)
    >>> found = pb.learn.recovery(truth, pb.learn.parameters(truth, frame, pb.BDeu(1)))
    >>> found.classes.shd, found.divergence < 0.02
    (0, True)
    >>> pb.learn.recovery(truth, pb.learn.structure(frame)).classes.shd
    1
    """
    estimate = _network(estimate)
    if not (truth.is_discrete and estimate.is_discrete):
        raise NotSupported("Recovery is measured for discrete networks; compare the graphs with compare_structure.")
    classes = compare_structure(essential_graph(truth.graph), essential_graph(estimate.graph))
    return Recovery(compare(truth, estimate), classes, kl_divergence_networks(truth, estimate))


def _network(estimate: object) -> BayesianNetwork:
    if isinstance(estimate, StructureResult):
        return estimate.network(BDeu(1.0))
    network = estimate.network if isinstance(estimate, ParameterFit) else estimate
    if not isinstance(network, BayesianNetwork):
        raise InvalidArgument(
            f"Recovery is that of a network, not of a {type(estimate).__name__}: give what learn.structure finds, or "
            "learn.parameters(graph, data). Graphs alone are compared by pb.graphs.compare_structure."
        )
    return network


def recovery_curve(
    truth: BayesianNetwork,
    learner: object,
    sizes: Sequence[int],
    *,
    repeats: int = 5,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Learn from samples of a known network, of more and more rows; a row of measures for each sample.

    Parameters
    ----------
    truth
        The network that rows are drawn from.
    learner
        As in `cross_validate`.
    sizes
        Numbers of rows.
    repeats
        Samples of each size.

    Examples
    --------
    >>> import plausible as pb
    >>> truth = pb.examples.load("asia")
    >>> curve = pb.learn.recovery_curve(truth, truth.graph, [50, 5000], repeats=2).groupby("rows").mean()
    >>> bool(curve.divergence[5000] < curve.divergence[50])
    True
    """
    import pandas as pd

    check_count("repeats", repeats, 1)
    learn, rng = read_learner(learner), generator_of(seed)
    rows = []
    for size in sizes:
        for repeat in range(repeats):
            table = Table.read(truth.sample(size, seed=rng), truth.variables)
            rows.append({"rows": size, "repeat": repeat, **recovery(truth, learn(table)).measures()})
    return pd.DataFrame(rows)
