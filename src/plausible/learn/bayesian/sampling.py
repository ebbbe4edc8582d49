"""The door to draws of parameters given rows with missing cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.bayesian.completion_problem import CompletionProblem
from plausible.learn.bayesian.parameter_draws import ParameterDraws
from plausible.learn.bayesian.samplers import (
    BlockMetropolis,
    CellGibbs,
    CollapsedCellGibbs,
    ParameterSampler,
    ParameterState,
    ParameterWalk,
    PriorWeighting,
    RowGibbs,
)
from plausible.learn.estimation.priors import PriorLike
from plausible.search.chains import ChainLengths, ChainProgress, run_chains
from plausible.variables import Variable

#: Name -> sampler with its own options.
SAMPLERS: Mapping[str, ParameterSampler] = {
    "collapsed": CollapsedCellGibbs(),
    "rows": RowGibbs(),
    "cells": CellGibbs(),
    "blocks": BlockMetropolis(),
    "parameters": ParameterWalk(),
    "prior": PriorWeighting(),
}


def sample_parameters(
    graph: object,
    data: TableLike,
    prior: PriorLike = None,
    *,
    method: str | ParameterSampler = "collapsed",
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    lengths: ChainLengths | None = None,
    start: Sequence[ParameterState] = (),
    seed: Seed = 0,
    progress: Callable[[ChainProgress[ParameterState]], object] | None = None,
    time_limit: float | None = None,
) -> ParameterDraws:
    """Draw the parameters of a network from P(θ | rows with missing cells).

    Missing cells are taken to be ignorable (missing at random). Of a completion, drawing needs counts alone, in time
    linear in the network; of parameters, the probability of all rows, which is exponential in the width of the graph.

    Parameters
    ----------
    graph, data
        A DAG, arrow text, or a network, which says which states its variables have; rows with missing cells.
    prior
        Of tables: one for all, or name -> prior, with positive pseudo-counts; `K2` unless given.
    method
        "collapsed" (completions, a cell at a time, parameters summed out), "rows" (parameters and whole rows in turn),
        "cells" (parameters and cells in turn), "blocks" (a column at a time, Metropolis-Hastings), "parameters" (a
        random walk, completions summed out), "prior" (weighted draws of the prior); or one of `CollapsedCellGibbs`,
        `RowGibbs`, `CellGibbs`, `BlockMetropolis`, `ParameterWalk`, `PriorWeighting` with options.
    hidden
        Variables of the graph that the data lack: name -> number of states, or variables.
    lengths
        How many chains and draws; by default 4 chains of 500 draws, 200 steps before the first.
    start
        The states of a run before with the same sampler, which then goes on with its own random numbers. Steps that
        they have made count as burn-in, so that none is repeated, and one that was stopped is finished.

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", None, "no"] * 5, "grass": ["dry", "wet", "wet", None] * 5}
    >>> draws = sample_parameters("rain -> grass", rows)
    >>> draws.mean("rain").round(1), draws.advice
    (array([0.6, 0.4]), '')
    >>> draws.predictive("rain", {"grass": "wet"}).values.round(1)
    array([0.3, 0.7])
    """
    problem = CompletionProblem.of(graph, data, prior, hidden=hidden)
    if isinstance(method, str) and method not in SAMPLERS:
        raise InvalidArgument(f"method={method!r} is no sampler.{suggestion(method, SAMPLERS)}")
    sampler = SAMPLERS[method] if isinstance(method, str) else method
    options = ChainLengths.read(lengths, ChainLengths(num_draws=500, burn_in=200, thin=1))
    seeds = generator_of(seed).integers(2**63, size=options.num_chains)
    for state in start:
        _check(problem, sampler, state)
    made = tuple(start) or tuple(sampler.init(problem, int(word)) for word in seeds)
    done = min(state.num_steps for state in made)
    steps = options.steps.after(done)
    if sampler.tuning > done + steps.burn_in:
        raise InvalidArgument(
            f"{sampler!r} is tuned in its first {sampler.tuning} steps, but burn_in={options.burn_in}: draws would "
            "come from a chain that changes. Raise burn_in, or lower tuning."
        )
    kept = attrgetter("tables", "means", "log_posterior", "log_weight")
    run = run_chains(partial(sampler.step, problem), made, steps, progress, time_limit, kept)
    tables, means, log_posteriors, log_weights = map(run.gathered, range(4))
    if np.isneginf(log_weights).all():
        raise InvalidArgument(
            f"The rows have no chance, up to underflow, under any of {log_weights.size} draws of the prior, so that "
            "none weighs anything. Take CollapsedCellGibbs() or RowGibbs(), or larger pseudo-counts."
        )
    pairs = list(zip(run.after_burn_in, run.last, strict=True))
    taken = sum((after.num_accepted - before.num_accepted for before, after in pairs), start=np.zeros(1))
    num = max(1, sum(after.num_steps - before.num_steps for before, after in pairs))
    shares = {name: float(taken[problem.tables.scopes[name][-1]] / num) for name in sampler.proposed(problem)}
    ended = replace(run, kept=(), after_burn_in=())
    return ParameterDraws(problem, sampler, tables, means, log_posteriors, log_weights, shares, ended)


def _check(problem: CompletionProblem, sampler: ParameterSampler, state: ParameterState) -> None:
    """Refuse states that a chain can't go on from."""
    if len(state.tables) != len(problem.pseudo_counts):
        raise InvalidArgument("start= has states of chains over other tables: give those of a run on this graph.")
    if state.codes.size and state.codes.shape != problem.codes.shape:
        raise InvalidArgument(f"start= has states of chains over other rows than these {problem.num_rows}.")
    if not sampler.takes(problem, state):
        raise InvalidArgument(
            f"start= has states of another sampler, which {sampler!r} can't go on from: give method= as in the run "
            "before, or leave start= out."
        )
