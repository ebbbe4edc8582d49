"""How many parameters of a graph its observed variables can tell, however many rows there are."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.learn.gradients.free_parameters import Entries, FreeParameters
from plausible.learn.gradients.observed import ObservedLikelihood, tables_of
from plausible.learn.gradients.pairs import entry_posteriors
from plausible.learn.gradients.space import ParameterSpace
from plausible.learn.incomplete.cases import distinct_rows
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.models import BayesianNetwork

__all__ = ["effective_dimension"]

#: Up to so many configurations of what is observed are all listed; of more, some are drawn.
_MOST_CONFIGURATIONS = 1024

#: Drawn configurations are added until so many lots of them in a row tell nothing new.
_LOTS = 2

#: Singular values below this share of the largest count as zero.
_NOTHING = 1e-8


def effective_dimension(task: ScoreTask) -> int:
    """The rank, nearly everywhere, of θ -> P(what is observed): the dimension of the model (Geiger et al. 1996).

    What is observed are the patterns of cells that the data have; the values in them do not matter. It is the number
    of free parameters where some row is complete. Else the rank is that of d log P(o) / dθ at random tables, over all
    configurations o of a pattern, or over so many drawn ones that more tell nothing new. Cost: a run for each
    configuration and entry.

    Parameters
    ----------
    task
        The graph and the data.
    """
    if not task.cases.num_cases:
        return 0
    patterns, network = _widest(task.cases.codes >= 0), task.random_network()
    likelihood = ObservedLikelihood.of(network, task.data)
    if patterns.all(axis=1).any():
        return task.tables.num_free
    sizes = np.array([variable.num_states for variable in task.cases.variables.values()])
    configurations = sum(math.prod(sizes[pattern].tolist()) for pattern in patterns)
    if configurations <= _MOST_CONFIGURATIONS:
        return _rank(_scores(network, likelihood, np.concatenate([_all(sizes, pattern) for pattern in patterns])))
    rng = np.random.default_rng(task.seed)
    scores, rank, idle = np.zeros((0, task.tables.num_free)), 0, 0
    while idle < _LOTS and rank < task.tables.num_free:
        drawn = _scores(network, likelihood, _some(task, sizes, patterns, rng))
        scores, before = np.concatenate([scores, drawn]), rank
        rank = _rank(scores)
        idle = 0 if rank > before else idle + 1
    return rank


def _widest(patterns: Flags) -> Flags:
    """The different patterns that are not part of another: P of a part follows from that of the whole."""
    distinct = np.unique(patterns, axis=0)
    is_part = np.array([((one & distinct) == one).all(axis=1).sum() > 1 for one in distinct], dtype=np.bool_)
    return np.asarray(distinct[~is_part])


def _all(sizes: Ints, pattern: Flags) -> Codes:
    """Each configuration of the observed variables, -1 for the others."""
    shape = sizes[pattern].tolist()
    rows = np.full((math.prod(shape), len(sizes)), -1, dtype=np.int32)
    rows[:, pattern] = np.indices(shape).reshape(len(shape), math.prod(shape)).T
    return rows


def _some(task: ScoreTask, sizes: Ints, patterns: Flags, rng: np.random.Generator) -> Codes:
    """A configuration for each entry of each table, which agrees with it; the rest of it is drawn."""
    rows = []
    for name, shape in task.tables.shapes.items():
        num = math.prod(shape)
        drawn = rng.integers(sizes, size=(num, len(sizes)), dtype=np.int32)
        drawn[:, task.tables.scopes[name]] = np.indices(shape).reshape(len(shape), num).T
        drawn[~patterns[rng.integers(len(patterns), size=num)]] = -1
        rows.append(drawn)
    return np.concatenate(rows)


def _scores(network: BayesianNetwork, likelihood: ObservedLikelihood, rows: Codes) -> Floats:
    """d log P(o) / dθ, a row for each different configuration, a column for each free parameter."""
    distinct = distinct_rows(rows)[0]
    asked = likelihood.of_rows(distinct, np.ones(len(distinct)), np.arange(len(distinct)))
    tables = tables_of(network)
    entries = Entries.of(tables)
    slopes = FreeParameters.of(ParameterSpace.of(network), entries).slopes
    return np.asarray((entry_posteriors(asked, tables, entries) / entries.taken(tables)) @ slopes)


def _rank(scores: Floats) -> int:
    sizes = np.linalg.norm(scores, axis=0)
    values = np.linalg.svd(scores / np.where(sizes > 0, sizes, 1.0), compute_uv=False)
    return int((values > _NOTHING * values.max(initial=0.0)).sum()) if values.size else 0
