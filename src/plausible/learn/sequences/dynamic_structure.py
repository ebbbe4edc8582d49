"""Learning which variables of a slice depend on which, in the slice and in those before it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from plausible.base.options import Seed, check_count, check_flag
from plausible.base.records import Result, record
from plausible.data.sequences import Sequences, SequencesLike
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.learned_structure import StructureResult, learn_structure
from plausible.learn.structures.knowledge import Knowledge
from plausible.models.sequences.template import Lagged, lagged


@record(eq=False)
class DynamicStructure(Result):
    """The graph of a dynamic Bayesian network that was learned; `learn.dynamic(it, rows)` learns its tables."""

    graph: DAG  # "X[-1]" is X one step before
    score: float  # Of the families of a slice; what lies before it has none
    search: StructureResult  # How the graph was found, lagged variables being columns of their own

    def __str__(self) -> str:
        return f"{self.graph}\nscore {self.score:.6g} by {self.search.method}"


def dynamic_structure(
    rows: SequencesLike,
    lags: int = 1,
    method: str = "hill-climbing",
    score: Any = None,
    knowledge: Knowledge | None = None,
    *,
    within: bool = True,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
    seed: Seed = 0,
    time_limit: float | None = None,
    **options: Any,
) -> DynamicStructure:
    """Learn the graph of a dynamic Bayesian network: the parents of each variable in its slice and in those before it.

    Each step with all its lags is a row of an ordinary search, in which no edge leads back in time or into a slice
    before; so the families of lagged variables have no parents and are all alike. The families of first slices are what
    is left of these where slices before are missing.

    Parameters
    ----------
    rows
        Rows in time; steps before the first ones of a sequence are not made up.
    lags
        How many slices back parents may lie.
    method, score, seed, time_limit, options
        As in `learn.structure`; columns of numbers get a score of Gaussians.
    knowledge
        Required and forbidden edges, such as `required="X[-1] -> X"`, and a limit on parents.
    within
        Whether edges within a slice are looked for, too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rain = (rng.random(500) < 0.3).astype(int)
    >>> dynamic_structure({"rain": rain, "wet": np.roll(rain, 1)}).graph
    DAG('rain[-1] -> wet; rain')
    """
    check_count("lags", lags, 1)
    check_flag("within", within)
    sequences = Sequences.read(rows, {}, sequence=sequence, time=time, gaps=gaps, infer=True)
    table = _lagged_rows(sequences, lags)
    given = Knowledge.read(knowledge)
    names, before = list(sequences.variables), [name for name in table.variables if lagged(name).lag]
    closed = list(product(table.variables, before))
    closed += [] if within else list(product(names, names))
    forbidden = [
        (cause, effect) for cause, effect in closed if cause != effect and (cause, effect) not in given.required
    ]
    if wrong := [pair for pair in given.required if lagged(pair[1]).lag]:
        raise InvalidArgument(f"The required edge {' -> '.join(wrong[0])} leads into a slice before.")
    wanted = replace(given, forbidden=(*given.forbidden, *forbidden))
    found = learn_structure(table, method, score, wanted, seed=seed, time_limit=time_limit, **options)
    edges = [(str(cause), str(effect)) for cause, effect in found.graph.edges]
    used = [name for name in before if any(name == cause for cause, _ in edges)]
    single = sum(found.scores.family(name, ()) for name in before)
    return DynamicStructure(DAG(edges, nodes=[*used, *names]), float(found.score - single), found)


def _lagged_rows(sequences: Sequences, lags: int) -> Table:
    """A row for each step that has so many before it: its variables, and theirs as "X[-1]"."""
    lengths = np.diff(sequences.starts)
    positions = np.arange(sequences.num_steps) - np.repeat(sequences.starts[:-1], lengths)
    steps = np.flatnonzero(positions >= lags)
    named = [Lagged(name, lag) for lag in range(lags, -1, -1) for name in sequences.variables]
    variables = {str(one): sequences.variables[one.name].renamed(str(one)) for one in named}
    discrete = [one for one in named if not sequences.variables[one.name].is_continuous]
    continuous = [one for one in named if sequences.variables[one.name].is_continuous]
    codes = np.empty((len(discrete), len(steps)), dtype=np.int32)
    numbers = np.empty((len(continuous), len(steps)))
    for place, one in enumerate(discrete):
        codes[place] = sequences.columns[one.name][steps - one.lag]
    for place, one in enumerate(continuous):
        numbers[place] = sequences.columns[one.name][steps - one.lag]
    return Table(variables, codes, numbers)
