"""Draws of partitions by several chains, which can be stopped and taken up again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plausible.base.options import check_seconds
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.learn.chains import ChainProgress, ChainRun, ChainSteps, run_chains
from plausible.learn.confidence.sampled_posterior import ChainLengths
from plausible.learn.partitions.partition_chain import (
    PartitionModel,
    PartitionMoves,
    PartitionState,
    partition_init,
    partition_step,
)
from plausible.learn.partitions.partition_posterior import PartitionPosterior
from plausible.learn.partitions.partition_priors import canonical_labels
from plausible.learn.partitions.partition_problem import PartitionProblem

__all__ = ["sample_partitions"]


def sample_partitions(
    data: TableLike | PartitionProblem,
    model: PartitionModel | None = None,
    moves: PartitionMoves | None = None,
    *,
    lengths: ChainLengths | None = None,
    start: str | Sequence[PartitionState] = "prior",
    seed: Seed = 0,
    progress: Callable[[ChainProgress[PartitionState]], object] | None = None,
    time_limit: float | None = None,
) -> PartitionPosterior:
    """Draw partitions of the rows from P(partition | rows), all parameters of clusters summed out.

    Parameters
    ----------
    data
        What `Table.read` takes, with the base measure of `default_base`; or a `PartitionProblem` with one of your own.
    model
        The prior over partitions: `ChineseRestaurant(1.0)` unless given.
    moves
        What a step of a chain does.
    lengths
        How many chains and draws; 4 chains of 250 draws, 100 steps before the first, unless given.
    start
        "prior", "one", "apart" (see `partition_init`), or the states of a run before, which then goes on. Steps that
        they have made count as burn-in, so that none is repeated, and one that was stopped is finished.
    seed
        Of all choices; states that are given bring their own.
    progress
        Told a `ChainProgress` after each step of all chains; a true answer stops.
    time_limit
        Seconds after which no further step begins.

    Examples
    --------
    >>> rows = {"a": [0, 0, 0, 1, 1, 1], "b": [0, 0, 0, 1, 1, 1], "c": [0, 0, 0, 1, 1, 1]}
    >>> found = sample_partitions(rows, lengths=ChainLengths(num_draws=200, num_chains=2, burn_in=20, thin=1))
    >>> found.point_estimate().tolist()
    [0, 0, 0, 1, 1, 1]
    """
    check_seconds("time_limit", time_limit)
    problem = data if isinstance(data, PartitionProblem) else PartitionProblem.of(data)
    law, step = model or PartitionModel(), moves or PartitionMoves()
    options = lengths or ChainLengths(num_draws=250, burn_in=100, thin=1)
    states = _first_states(problem, law, start, seed, options)
    done = min(state.num_steps for state in states)
    chain_steps = ChainSteps(options.burn_in, options.num_draws, options.thin).after(done)
    run = run_chains(lambda state: partition_step(problem, law, step, state), states, chain_steps, progress, time_limit)
    proposed = run.num_steps * step.merge_splits * len(states) * (problem.num_rows > 1)
    accepted = sum(state.num_accepted for state in run.last) - sum(state.num_accepted for state in states)
    return _posterior(problem, law, run, accepted / proposed if proposed else np.nan)


def _first_states(
    problem: PartitionProblem,
    model: PartitionModel,
    start: str | Sequence[PartitionState],
    seed: Seed,
    lengths: ChainLengths,
) -> tuple[PartitionState, ...]:
    if isinstance(start, str):
        seeds = generator_of(seed).integers(2**63, size=lengths.num_chains)
        return tuple(partition_init(problem, model, start=start, seed=int(word)) for word in seeds)
    states = tuple(start)
    if not states or any(len(state.labels) != problem.num_rows for state in states):
        raise InvalidArgument(f"start= needs states of chains over these {problem.num_rows} rows, one or more.")
    return states


def _posterior(
    problem: PartitionProblem, model: PartitionModel, run: ChainRun[PartitionState], acceptance: float
) -> PartitionPosterior:
    chains = list(zip(*run.kept, strict=True))
    return PartitionPosterior(
        problem,
        model,
        np.array([[canonical_labels(state.labels) for state in chain] for chain in chains]),
        np.array([[state.concentration for state in chain] for chain in chains]),
        np.array([[state.log_posterior for state in chain] for chain in chains]),
        acceptance,
        run.last,
        run.stopped,
    )
