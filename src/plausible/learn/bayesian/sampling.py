"""The door to draws of parameters given rows with missing cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from plausible.base.arrays import Floats
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
from plausible.search.chains import ChainLengths, ChainProgress, ChainRun, run_chains
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
    graph
        A DAG, arrow text, or a network, which says which states its variables have.
    data
        Rows with missing cells (None, NaN).
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
        How many chains and draws; 4 chains of 500 draws, 200 steps before the first, unless given.
    start
        The states of a run before with the same sampler, which then goes on. Steps that they have made count as
        burn-in, so that none is repeated, and one that was stopped is finished.
    seed
        Of all choices; states that are given bring their own.

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
    sampler = _sampler(method)
    options = ChainLengths.read(lengths, ChainLengths(num_draws=500, burn_in=200, thin=1))
    seeds = generator_of(seed).integers(2**63, size=options.num_chains)
    made = _given(problem, sampler, start) if start else tuple(sampler.init(problem, int(word)) for word in seeds)
    done = min(state.num_steps for state in made)
    steps = options.steps.after(done)
    if sampler.tuning > done + steps.burn_in:
        raise InvalidArgument(
            f"{sampler!r} is tuned in its first {sampler.tuning} steps, but burn_in={options.burn_in}: draws would "
            "come from a chain that changes. Raise burn_in, or lower tuning."
        )
    run = run_chains(partial(sampler.step, problem), made, steps, progress, time_limit, _parts)
    return _drawn(problem, sampler, run)


def _sampler(method: str | ParameterSampler) -> ParameterSampler:
    if not isinstance(method, str):
        return method
    if method not in SAMPLERS:
        raise InvalidArgument(f"method={method!r} is no sampler.{suggestion(method, SAMPLERS)}")
    return SAMPLERS[method]


def _given(
    problem: CompletionProblem, sampler: ParameterSampler, start: Sequence[ParameterState]
) -> tuple[ParameterState, ...]:
    for state in start:
        if len(state.tables) != len(problem.pseudo_counts):
            raise InvalidArgument("start= has states of chains over other tables: give those of a run on this graph.")
        if state.codes.size and state.codes.shape != problem.codes.shape:
            raise InvalidArgument(f"start= has states of chains over other rows than these {problem.num_rows}.")
        if not sampler.takes(problem, state):
            raise InvalidArgument(
                f"start= has states of another sampler, which {sampler!r} can't go on from: give method= as in the run "
                "before, or leave start= out."
            )
    return tuple(start)


def _parts(state: ParameterState) -> tuple[Floats, Floats, float, float]:
    """What is kept of a draw."""
    return state.tables, state.means, state.log_posterior, state.log_weight


def _drawn(problem: CompletionProblem, sampler: ParameterSampler, run: ChainRun[ParameterState]) -> ParameterDraws:
    since, last = run.after_burn_in, run.last
    tables, means, log_posteriors, log_weights = map(run.gathered, range(4))
    if np.isneginf(log_weights).all():
        raise InvalidArgument(
            f"The rows have no chance, up to underflow, under any of {log_weights.size} draws of the prior, so that "
            "none weighs anything. Take CollapsedCellGibbs() or RowGibbs(), or larger pseudo-counts."
        )

    taken = sum((b.num_accepted - a.num_accepted for a, b in zip(since, last, strict=True)), start=np.zeros(1))
    steps = max(1, sum(b.num_steps - a.num_steps for a, b in zip(since, last, strict=True)))
    shares = {name: float(taken[problem.tables.scopes[name][-1]] / steps) for name in sampler.proposed(problem)}
    ended = replace(run, kept=(), after_burn_in=())
    return ParameterDraws(problem, sampler, tables, means, log_posteriors, log_weights, shares, ended)
