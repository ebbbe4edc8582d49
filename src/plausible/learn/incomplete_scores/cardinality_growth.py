"""The size of a hidden variable, state by state: split one, and keep it if the score rises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_scores.cardinality import (
    CardinalityChoice,
    CardinalityScore,
    Progress,
    check_hidden,
    scored_cardinality,
)
from plausible.learn.incomplete_scores.score import read_incomplete_score
from plausible.learn.incomplete_scores.task import ScoreOptions, ScoreTask
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["grow_cardinality", "split_state"]

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

    Parameters
    ----------
    graph
        A DAG or arrow text.
    data
        Rows with missing cells; they have no column of the hidden variable.
    hidden
        The variable.
    score
        One of `INCOMPLETE_SCORES`.
    prior
        Of tables; `K2` unless given.
    most
        No more states than this.
    others
        Other hidden variables: name -> number of states.
    options, seed
        As for `score_incomplete`.
    progress
        Told the score of each number; a true answer stops.

    Examples
    --------
    >>> rows = {name: [0, 1, 2] * 30 for name in "abc"}
    >>> grow_cardinality("H -> a; H -> b; H -> c", rows, "H").best
    3
    """
    table = check_hidden(graph, data, hidden)
    if most < 2:
        raise InvalidArgument(f"most= is at least two, where growth begins, not {most!r}.")
    name = read_incomplete_score(score)
    task = replace(ScoreTask.of(graph, table, prior, {**(others or {}), hidden: 2}, options), seed=seed)
    found: list[CardinalityScore] = [scored_cardinality(task, 2, name)]
    while not (progress is not None and progress(found[-1])) and len(found) < most - 1:
        if len(found) > 1 and found[-1].value <= found[-2].value:
            break
        number = found[-1].cardinality + 1
        start = _best_split(task, found[-1].network, hidden, number)
        chosen = replace(task.options, start=start, restarts=0)
        wider = replace(task, hidden={**(others or {}), hidden: number}, options=chosen)
        found.append(scored_cardinality(wider, number, name))
    return CardinalityChoice(hidden, name, tuple(found))


def _best_split(task: ScoreTask, network: BayesianNetwork, hidden: str, number: int) -> BayesianNetwork:
    """The split that a few steps of EM like best."""
    rng = np.random.default_rng([task.seed, number])
    fits = [
        learn_em(wider, task.data, task.prior, start=wider, max_steps=_TRIAL_STEPS)
        for wider in (split_state(network, hidden, state, rng) for state in range(number - 1))
    ]
    return max(fits, key=lambda fit: fit.objective).network


def split_state(network: BayesianNetwork, hidden: str, state: int, rng: np.random.Generator) -> BayesianNetwork:
    """The network in which one state of a variable has become two that differ a little; the new one comes last.

    Examples
    --------
    >>> net = BayesianNetwork(TableCPD("H", [0.4, 0.6]), TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], ["H"]))
    >>> split_state(net, "H", 1, np.random.default_rng(0)).cpd("H").to_factor().values
    array([0.4, 0.3, 0.3])
    """
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
