"""How good a learned network is: its loss on rows that it has not seen, and how far it is from a known truth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Remedy, Result, Seed, check_count, generator_of, logarithms, record
from plausible.data.stream_statistics import read_statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG, PDAG, StructureComparison, compare_structure, consistent_extension, essential_graph
from plausible.graphs.graph_input import GraphLike, read_dag
from plausible.learn.constraint_based.blanket_structure import CLASS_LEARNERS
from plausible.learn.constraint_based.pc import ConstraintResult
from plausible.learn.estimation.families import read_families
from plausible.learn.estimation.priors import FLAT_PRIOR, LIGHT_PRIOR, BDe, BDeu, Dirichlet, Prior
from plausible.learn.incomplete_scores.score import score_incomplete
from plausible.learn.learned_parameters import ParameterFit, learn_parameters
from plausible.learn.learned_structure import StructureResult, learn_structure
from plausible.learn.scores.dirichlet import BDeScore, BDeuScore, DirichletScore, K2Score
from plausible.learn.scores.penalized import BIC
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork
from plausible.models.comparison import NetworkComparison, compare, kl_divergence_networks, with_states_of
from plausible.search.local_search import SearchMethod

if TYPE_CHECKING:
    import pandas as pd

_ARROWS = frozenset("<>;")  # What tells the text of a graph from the name of a method

NetworkLearner: TypeAlias = Callable[[Table], BayesianNetwork]  # Rows -> a network


def read_learner(learner: object) -> NetworkLearner:
    """A function of a `Table` that gives a network.

    Text without an arrow is a method of `learn.structure`, or "pc", "grow-shrink" or "iamb"; a graph stands for its
    parameters with the prior BDeu(1); what a function gives is made a network by `network_of`.
    """
    if isinstance(learner, str) and learner.lower() in CLASS_LEARNERS:
        learner = CLASS_LEARNERS[learner.lower()].learn
    is_method = isinstance(learner, SearchMethod) or (isinstance(learner, str) and not _ARROWS & set(learner))
    if is_method:
        return lambda table: network_of(learn_structure(table, learner), table)  # type: ignore[arg-type]
    if callable(learner):
        return lambda table: network_of(learner(table), table)
    return lambda table: learn_parameters(learner, table, LIGHT_PRIOR)


def name_learners(learners: object) -> dict[str, object]:
    """Name -> learner, of a mapping, a list of learners, or one alone; those without a name go by how they print."""
    if isinstance(learners, Mapping):
        return {str(name): learner for name, learner in learners.items()}
    named: dict[str, object] = {}
    times: Counter[str] = Counter()
    for learner in learners if isinstance(learners, (list, tuple)) else [learners]:
        name = learner if isinstance(learner, str) else getattr(learner, "__name__", repr(learner))
        times[name] += 1
        named[f"{name} ({times[name]})" if times[name] > 1 else name] = learner
    return named


def network_of(found: object, table: Table) -> BayesianNetwork:
    """What a learner found as a network whose states have the order of the table; parameters with the prior BDeu(1)."""
    network = found.network if isinstance(found, ParameterFit) else found
    if isinstance(network, BayesianNetwork):
        return with_states_of(network, table.variables)
    graph = found.extension().graph if isinstance(found, ConstraintResult) else getattr(found, "graph", found)
    if isinstance(graph, PDAG):
        graph = consistent_extension(graph)
    if isinstance(graph, DAG):
        return learn_parameters(graph, table, LIGHT_PRIOR)
    raise InvalidArgument(
        f"The learner gave {found!r}, a {type(found).__name__}: expected a BayesianNetwork, a graph, or what "
        "learn.structure, learn.pc or learn.fit_parameters give."
    )


def row_losses(network: BayesianNetwork, data: TableLike, target: str | None = None) -> Floats:
    """-log P(row) of each row or, with a target, -log P(target | all others): infinite where a row is impossible.

    Where a variable was set from outside, its own distribution does not count. Only the families with the target, which
    is discrete, matter for the latter: O(rows · states of the target) for each of them. The rows are complete; losses
    of continuous variables are those of densities.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("x", [0.5, 0.5]), TableCPD("y", [[0.9, 0.1], [0.2, 0.8]], parents=["x"]))
    >>> row_losses(net, {"x": [0, 1], "y": [0, 1]}).round(4), row_losses(net, {"x": [0, 1], "y": [0, 1]}, "x").round(4)
    (array([0.7985, 0.9163]), array([0.2007, 0.1178]))
    """
    table = read_families(network, data).statistics.table
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    for name, number in table.missing.items():
        if name in network.variables:
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows; losses need complete rows.",
                remedies=[
                    Remedy("leave the others out, learn.complete_rows(data)"),
                    Remedy(
                        "sum missing cells out with learn.observed_log_likelihood(network, data), or row by row with "
                        "network.compile().log_likelihood(data)"
                    ),
                ],
            )
    if target is None:
        return np.asarray(-_sum_of_logs(network, columns, table, list(network.cpds), 1)[0])
    UnknownVariable.check(target, network.variables, "this network")
    variable = network.variables[target]
    if variable.is_continuous:
        raise NotSupported(f"{target!r} is continuous; the loss of a target is that of a discrete variable.")
    near = [name for name, cpd in network.cpds.items() if name == target or target in cpd.parent_names]
    states = columns | {target: np.arange(variable.num_states)[:, None]}
    logs = _sum_of_logs(network, states, table, near, variable.num_states)
    codes = columns[target]
    is_dense = logs == np.inf  # densities without bound leave no share to the others
    logs = np.where(is_dense.any(axis=0), np.where(is_dense, 0.0, -np.inf), logs)
    top = logs.max(axis=0)
    is_possible = top > -np.inf
    shifted = logs - np.where(is_possible, top, 0.0)
    totals = logarithms(np.exp(shifted).sum(axis=0))
    seen = shifted[codes, np.arange(len(codes))]
    return np.where(is_possible, np.where(is_possible, totals, 0.0) - seen, np.inf)


def mean_loss(network: BayesianNetwork, data: TableLike, target: str | None = None) -> float:
    """The mean of `row_losses`, weighted as the rows are; infinite if a row is impossible, NaN without rows."""
    table = read_families(network, data).statistics.table
    return weighted_mean(row_losses(network, table, target), table.row_weights)


def weighted_mean(losses: Floats, weights: Floats) -> float:
    """The mean of those with a weight; infinite if one of them is, whatever densities the others have."""
    counting = weights > 0
    if not counting.any():
        return math.nan
    if (losses[counting] == math.inf).any():
        return math.inf
    return float(losses[counting] @ weights[counting] / weights.sum())


def _sum_of_logs(
    network: BayesianNetwork, columns: dict[str, NDArray[Any]], table: Table, names: list[str], num_lines: int
) -> Floats:
    """A line for each state of the target, or one; what was set from outside says nothing of its own distribution.

    A row that one family rules out is impossible, however dense it is for another (a Gaussian without variance).
    """
    logs = np.zeros((num_lines, table.num_rows))
    is_impossible = np.zeros(logs.shape, dtype=np.bool_)
    for name in names:
        found = network.cpd(name).log_probability(columns)
        if name in table.interventions:
            found = np.where(table.interventions[name], 0.0, found)
        is_impossible |= found == -np.inf
        logs += np.where(found == -np.inf, 0.0, found)
    logs[is_impossible] = -np.inf
    return logs


@record
class Recovery(Result):
    """How far an estimate is from the truth, for both goals of learning.

    Knowledge discovery looks at the graph, up to equivalence, since data can't tell more; density estimation at the
    divergence, in which a graph with too few edges may do better where rows are few.
    """

    networks: NetworkComparison  # Differences of the graphs, and of the parameters of families that both have
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

    Both are discrete and over the same variables. The estimate may also be what `learn.structure` or
    `learn.fit_parameters` gave, where a graph gets its parameters from its own data with BDeu(1).

    >>> import plausible as pb
    >>> truth = pb.examples.load("asia")
    >>> frame = truth.sample(2000, seed=1)
    >>> found = pb.learn.recovery(truth, pb.learn.parameters(truth, frame, pb.BDeu(1)))
    >>> found.classes.shd, found.divergence < 0.02
    (0, True)
    >>> pb.learn.recovery(truth, pb.learn.structure(frame)).classes.shd
    1
    """
    network: object = estimate
    if isinstance(estimate, StructureResult):
        network = estimate.network(LIGHT_PRIOR)
    elif isinstance(estimate, ParameterFit):
        network = estimate.network
    if not isinstance(network, BayesianNetwork):
        raise InvalidArgument(
            f"Recovery is that of a network, not of a {type(estimate).__name__}: give what learn.structure finds, or "
            "learn.parameters(graph, data). Graphs alone are compared by pb.graphs.compare_structure."
        )
    if not (truth.is_discrete and network.is_discrete):
        raise NotSupported("Recovery is measured for discrete networks; compare the graphs with compare_structure.")
    classes = compare_structure(essential_graph(truth.graph), essential_graph(network.graph))
    return Recovery(compare(truth, network), classes, kl_divergence_networks(truth, network))


def recovery_curve(
    truth: BayesianNetwork, learner: object, sizes: Sequence[int], *, repeats: int = 5, seed: Seed = 0
) -> pd.DataFrame:
    """Learn from samples of a known network, of more and more rows; a row of measures for each sample.

    The learner is one as in `cross_validate`; there are `repeats` samples of each size.

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


#: The scores that have a way with missing cells of their own.
_METHODS = (BIC, BDeScore, BDeuScore, DirichletScore, K2Score)


def score_graph(
    graph: GraphLike[DAG], data: DataLike, score: str | Score | None = None, *, method: str | None = None
) -> float:
    """Score how well a graph fits data: the sum over its families, or an approximation if cells are missing.

    Parameters
    ----------
    graph, data
        A graph over the columns of the data, whose cells may be missing; you need not list nodes without edges. Instead
        of data, statistics of them.
    score
        A score or its name; by default BIC of the kind that fits the columns: discrete, continuous or both.
    method
        How to score if cells are missing: one of `INCOMPLETE_SCORES`, with the prior of a Dirichlet score, or `K2`. By
        default "bic" for BIC, and "cheeseman-stutz" for Dirichlet scores. `score_incomplete` returns more detail.

    Examples
    --------
    >>> import plausible as pb
    >>> data = {"rain": ["no", "yes", "no", "yes"], "grass": ["dry", "wet", "dry", "wet"]}
    >>> round(pb.learn.score("rain -> grass", data), 4), round(pb.learn.score(pb.DAG(""), data), 4)
    (-4.852, -6.9315)
    >>> data["rain"][0] = None
    >>> round(pb.learn.score("rain -> grass", data), 4), round(pb.learn.score("rain -> grass", data, "k2"), 4)
    (-4.852, -5.3503)
    """
    statistics = read_statistics(data)
    wanted, read = read_score(score or fitting_score(statistics, "bic")), read_dag(graph)
    is_incomplete = method is not None or (statistics.missing and isinstance(wanted, _METHODS))
    scores = None if is_incomplete else wanted.on(statistics)
    names = list(statistics.variables if scores is None else scores.names)
    UnknownVariable.check_all(read.nodes, names, "the data")
    whole = DAG(read.edges, nodes=names)
    if scores is not None:
        return scores.graph(whole)
    prior: Prior = FLAT_PRIOR
    if isinstance(wanted, BDeuScore):
        prior = BDeu(wanted.equivalent_sample_size)
    elif isinstance(wanted, DirichletScore):
        prior = Dirichlet(wanted.pseudo_count)
    elif isinstance(wanted, BDeScore):
        prior = BDe(wanted.network, wanted.equivalent_sample_size)
    usual = "bic" if isinstance(wanted, BIC) else "cheeseman-stutz"
    return score_incomplete(whole, statistics.table, method or usual, prior).value
