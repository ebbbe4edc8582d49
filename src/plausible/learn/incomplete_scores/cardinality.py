"""How many states a hidden variable should have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from plausible.base import Floats, Result, chart_by, check_count, logarithms, record
from plausible.cpds import TableCPD
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.confidence.model_average import ModelAverage
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.problem import observed_log_likelihood
from plausible.learn.incomplete_scores.score import read_incomplete_score, score_task
from plausible.learn.incomplete_scores.task import ScoreOptions, ScoreTask
from plausible.learn.mixtures.comparison import ClusterChoice, choose_clusters
from plausible.models import BayesianNetwork
from plausible.search.run import Clock
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


class CardinalityScore(NamedTuple):
    """One number of states: its score, the standard error where it was drawn or measured, and the network."""

    cardinality: int
    value: float
    error: float
    network: BayesianNetwork


Progress: TypeAlias = Callable[[CardinalityScore], object]


@record(eq=False)
class CardinalityChoice(Result):
    """The numbers of states that were tried; made by `choose_cardinality` or `grow_cardinality`."""

    _also = ("best",)
    _rows = "tried"

    hidden: str  # The variable
    score: str  # By which they were judged
    tried: tuple[CardinalityScore, ...]  # One for each number, in the order of the numbers
    refused: Mapping[int, str] = field(default_factory=dict)  # Number -> why it has no score

    @property
    def best(self) -> int:
        """The number with the largest score; of equal ones the least."""
        return max(self.tried, key=lambda found: (found.value, -found.cardinality)).cardinality

    @property
    def network(self) -> BayesianNetwork:
        """The network with the best number of states."""
        return next(found.network for found in self.tried if found.cardinality == self.best)

    def weights(self, prior: Mapping[int, float] | None = None) -> dict[int, float]:
        """P(K | D) ∝ P(K) exp(score): how probable each number is; all are as probable beforehand unless given."""
        if self.score == "holdout":
            raise NotSupported("Held-out likelihoods are no marginal ones: choose by another score to average.")
        given = {found.cardinality: 1.0 if prior is None else prior.get(found.cardinality, 0.0) for found in self.tried}
        if min(given.values()) < 0 or not any(given.values()):
            raise InvalidArgument("Prior weights of numbers of states are not negative, and not all zero.")
        logs = np.array([found.value + logarithms(given[found.cardinality]) for found in self.tried])
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        return dict(zip(given, shares.tolist(), strict=True))

    def log_likelihood(self, data: Any, prior: Mapping[int, float] | None = None) -> Floats:
        """log Σ_K P(K | D) P(row | K) of each row: Bayesian model averaging over the number of states."""
        weights = self.weights(prior)
        shares = logarithms([weights[found.cardinality] for found in self.tried])
        rows = [np.asarray(found.network.compile().log_likelihood(data)) for found in self.tried]
        return np.asarray(np.logaddexp.reduce(shares[:, None] + np.stack(rows), axis=0))

    def query(
        self, target: str, evidence: Mapping[str, Any] | None = None, prior: Mapping[int, float] | None = None
    ) -> Factor:
        """P(target | evidence) averaged over the number of states, each weighted by P(K | D) P(evidence | K)."""
        if target == self.hidden:
            raise InvalidArgument(f"{target!r} has other states in each network: ask of an observed variable.")
        average = ModelAverage.of([found.network for found in self.tried], list(self.weights(prior).values()))
        return average.query(target, evidence)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the score of each number of states; it needs matplotlib (the extra `plot`)."""
        numbers, scores = [one.cardinality for one in self.tried], [one.value for one in self.tried]
        named = {"title": f"States of {self.hidden}", "what": "number of states", "score": self.score}
        return chart_by("plot_choice", numbers, scores, self.best, ax, **named)

    def __str__(self) -> str:
        marks = {found.cardinality: " best" * (found.cardinality == self.best) for found in self.tried}
        lines = [f"{k:>6}  {value:>16.3f}{marks[k]}" for k, value, *_ in self.tried]
        lines += [f"{number:>6}  {text}" for number, text in self.refused.items()]
        return "\n".join([f"{'states':>6}  {self.score:>16}", *lines])


def choose_cardinality(
    graph: object,
    data: TableLike,
    hidden: str,
    numbers: Iterable[int] = range(1, 6),
    score: str = "cheeseman-stutz",
    prior: PriorLike = None,
    *,
    others: Mapping[str, int] | None = None,
    folds: int = 5,
    options: ScoreOptions | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> CardinalityChoice:
    """Try several numbers of states of a hidden variable, each with EM from several starts.

    Parameters
    ----------
    graph, data, hidden
        A DAG or arrow text, rows with missing cells, and the variable, of which they have no column.
    numbers
        Of states, to be tried; what is too large for the score, such as for "exact", is told in `refused`.
    score
        One of `INCOMPLETE_SCORES`, or "holdout": the log-likelihood of rows left out, fold by fold.
    others
        Other hidden variables: name -> number of states.
    folds
        Into how many parts "holdout" divides the rows.
    prior, options, seed
        As for `score_incomplete`.

    Examples
    --------
    >>> rows = {name: [0, 1] * 30 for name in "abc"}
    >>> choice = choose_cardinality("H -> a; H -> b; H -> c", rows, "H", [1, 2, 3])
    >>> choice.best, round(choice.weights()[2], 2)
    (2, 0.97)
    """
    if not isinstance(numbers, Iterable):
        raise InvalidArgument(f"numbers= lists the numbers of states to try, such as range(1, 6), not {numbers!r}.")
    tried, table = sorted(set(numbers)), _check_hidden(graph, data, hidden)
    for number in tried:
        check_count("each of numbers", number, 1)
    if not tried:
        raise InvalidArgument("numbers= is empty: list at least one number of states to try, such as range(1, 6).")
    name = score if score == "holdout" else read_incomplete_score(score)
    clock = Clock.of(time_limit)
    found: list[CardinalityScore] = []
    refused: dict[int, str] = {}
    for number in tried:
        if found and clock.is_over:
            break
        left = None if time_limit is None else clock.seconds_left
        task = ScoreTask.of(graph, table, prior, {**(others or {}), hidden: number}, options)
        try:
            found.append(_scored(replace(task, seed=seed, time_limit=left), number, name, folds))
        except TooLarge as error:
            if number == tried[-1] and not found:
                raise
            refused[number] = str(error)
            continue
        if progress is not None and progress(found[-1]):
            break
    return CardinalityChoice(hidden, name, tuple(found), refused)


def _scored(task: ScoreTask, number: int, score: str, folds: int = 5) -> CardinalityScore:
    """The score of one number of states."""
    if score != "holdout":
        found = score_task(task, score)
        return CardinalityScore(number, found.value, found.error, found.network or task.fit.network)
    # the log-likelihood of all rows, each under a network fitted to the other folds
    table = task.data if isinstance(task.data, Table) else Table.read(task.data)
    if not 2 <= folds <= table.num_rows:
        raise InvalidArgument(f"folds={folds}: from 2 to the number of rows, {table.num_rows}.")
    fold, values = np.random.default_rng(task.seed).permutation(table.num_rows) % folds, []
    for part in range(folds):
        fit = replace(task, data=table.take(fold != part)).fit
        values.append(observed_log_likelihood(fit.network, table.take(fold == part)))
    error = float(np.sqrt(folds) * np.std(values, ddof=1))
    return CardinalityScore(number, float(np.sum(values)), error, task.fit.network)


def _graph_with(graph: object, hidden: str) -> DAG:
    dag = graph.graph if isinstance(graph, BayesianNetwork) else read_dag(graph)
    if hidden not in dag.nodes:
        raise UnknownVariable.named(hidden, list(dag.nodes), "this graph")
    return dag


def _check_hidden(graph: object, data: TableLike, hidden: str) -> Table:
    """The data; what is not in the graph is refused, or is observed, and a network, which says how many states."""
    _graph_with(graph, hidden)
    if isinstance(graph, BayesianNetwork):
        raise InvalidArgument("A network says how many states its variables have: give its graph, network.graph.")
    table = data if isinstance(data, Table) else Table.read(data)
    if hidden in table.variables:
        raise InvalidArgument(
            f"{hidden!r} is a column of the data, which says how many states it has: name a hidden variable, or leave "
            "the column out."
        )
    return table


def cluster_cardinality(
    graph: object,
    data: TableLike,
    hidden: str,
    numbers: Iterable[int] = range(1, 9),
    criterion: str = "bic",
    **options: Any,
) -> ClusterChoice:
    """How many states a hidden variable should have, by clustering the rows over its Markov blanket alone.

    Naive Bayes over the blanket stands for the whole network, which needs not be fitted: cheap, and good for a first
    number (Koller & Friedman 2009, §19.5.2). `graph`, `data` and `hidden` are as for `choose_cardinality`, the rest as
    for `choose_clusters`.

    >>> rows = {name: [0, 1] * 30 for name in "abc"}
    >>> cluster_cardinality("H -> a; H -> b; H -> c", rows, "H", range(1, 4)).best
    2
    """
    dag = _graph_with(graph, hidden)
    table = Table.read(data)
    blanket = [str(name) for name in dag.markov_blanket(hidden) if name in table.variables]
    if not blanket:
        raise InvalidArgument(f"No variable of the Markov blanket of {hidden!r} is in the data: nothing tells of it.")
    return choose_clusters(Table.read(table, columns=blanket), numbers, criterion, **options)


#: Steps of EM after which one split is chosen from several.
_TRIAL_STEPS = 15
#: How far the halves of a state are moved apart, on the scale of log θ.
_APART = 0.5


def grow_cardinality(
    graph: object,
    data: TableLike,
    hidden: str,
    score: str = "cheeseman-stutz",
    prior: PriorLike = None,
    *,
    most: int = 10,
    others: Mapping[str, int] | None = None,
    options: ScoreOptions | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CardinalityChoice:
    """Begin with two states, and split one while the score rises.

    Each state is split for a trial, the best split is taken to the end of EM, which thus sets out from what was
    learned before. The last number tried is the one that did not pay. Where the children of the variable still depend
    on each other given it (`information_content(...).left`), another hidden variable may be what is missing.

    No more states than `most` are tried; the rest is as for `choose_cardinality`, "holdout" aside.

    >>> rows = {name: [0, 1, 2] * 30 for name in "abc"}
    >>> grow_cardinality("H -> a; H -> b; H -> c", rows, "H").best
    3
    """
    table = _check_hidden(graph, data, hidden)
    if most < 2:
        raise InvalidArgument(f"most= is at least two, where growth begins, not {most!r}.")
    name = read_incomplete_score(score)
    task = replace(ScoreTask.of(graph, table, prior, {**(others or {}), hidden: 2}, options), seed=seed)
    found: list[CardinalityScore] = [_scored(task, 2, name)]
    while not (progress is not None and progress(found[-1])) and len(found) < most - 1:
        if len(found) > 1 and found[-1].value <= found[-2].value:
            break
        number = found[-1].cardinality + 1
        rng = np.random.default_rng([task.seed, number])
        splits = [split_state(found[-1].network, hidden, state, rng) for state in range(number - 1)]
        fits = [learn_em(each, task.data, task.prior, start=each, max_steps=_TRIAL_STEPS) for each in splits]
        start = max(fits, key=lambda fit: fit.objective).network  # the split that a few steps of EM like best
        chosen = replace(task.options, start=start, restarts=0)
        wider = replace(task, hidden={**(others or {}), hidden: number}, options=chosen)
        found.append(_scored(wider, number, name))
    return CardinalityChoice(hidden, name, tuple(found))


def split_state(network: BayesianNetwork, hidden: str, state: int, rng: np.random.Generator) -> BayesianNetwork:
    """The network in which one state of a variable has become two that differ a little; the new one comes last."""
    size = network.variables[hidden].num_states
    wider = {**network.variables, hidden: Variable(hidden, size + 1)}
    cpds = []
    for name, cpd in network.cpds.items():
        table: Floats = cpd.to_factor().values
        scope = (*cpd.parent_names, name)
        if hidden in scope:
            axis = scope.index(hidden)
            table = table.take([*range(size), state], axis=axis)
            by_state = np.moveaxis(table, axis, 0)
            if name == hidden:
                by_state[[state, size]] /= 2
            else:
                by_state[[state, size]] *= np.exp(_APART * rng.standard_normal((2, *by_state.shape[1:])))
                table /= table.sum(axis=-1, keepdims=True)
        cpds.append(TableCPD(wider[name], table, [wider[parent] for parent in cpd.parent_names]))
    return BayesianNetwork(cpds)
