"""Where mean field begins: beliefs that keep out of every zero of the factors between blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.compiled import compile_factors
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field_plan import MeanFieldPlan
from plausible.kernels.backtracking import FOUND, NONE, find_possible
from plausible.variables import Evidence, Variable

__all__ = ["first_beliefs"]


#: How far from uniform the first run begins: symmetric models would hold it in the middle for ever.
_TILT = 0.1
#: A clique tree that costs no more is the first choice in the search for a possible assignment.
_QUICK = Budget(seconds=0.2)
#: The table entries that backtracking looks at before it gives up: a fraction of a second.
_MAX_SEARCH = 50_000_000
_NOTHING = Evidence.read({}, {})


def first_beliefs(problem: Problem, plan: MeanFieldPlan, generator: np.random.Generator, restart: int) -> Floats:
    """Beliefs about the pieces: nearly uniform for the first run, drawn at random for later ones.

    Variables of a factor between blocks that has zeros begin in one state each, that of a possible assignment: then
    the energy is finite from the first step on.
    """
    starts = np.concatenate([[0], np.cumsum(problem.sizes)])
    levels = generator.random(int(starts[-1]))
    weights = 1.0 + _TILT * levels if restart == 0 else -np.log1p(-levels) + 1e-12
    pinned = sorted({place for factor in plan.ties_with_zeros() for place in problem.scope(factor)})
    if pinned:
        states = _possible_states(problem, generator, restart)
        for place in pinned:
            weights[starts[place] : starts[place + 1]] = 0.0
            weights[starts[place] + states[place]] = 1.0
    if len(weights):
        weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), problem.sizes)
    marginals = np.split(weights, starts[1:-1])
    tables = [reduce(np.multiply.outer, [marginals[place] for place in piece]).ravel() for piece in plan.pieces]
    return np.concatenate([np.empty(0), *tables])


def _possible_states(problem: Problem, generator: np.random.Generator, restart: int) -> dict[int, int]:
    """States of the variables of factors with zeros, all of which are positive there.

    A clique tree over these factors alone finds good ones, where it is small: a best assignment for the first run,
    draws for later ones. Else backtracking finds some. Raises `ImpossibleEvidence` where there are none.
    """
    hard = [factor for factor in problem.factors if factor.flat.min() == 0.0]
    variables = list({variable.name: variable for factor in hard for variable in factor.scope}.values())
    try:
        states = _states_by_tree(hard, variables, generator if restart else None, _QUICK)
    except TooLarge:
        states = _states_by_search(hard, variables, generator)
    return dict(zip(problem.places(variables), states, strict=True))


def _states_by_tree(
    factors: Sequence[Factor], variables: Sequence[Variable], generator: np.random.Generator | None, budget: Budget
) -> list[int]:
    compiled = compile_factors(factors, variables, budget=budget)
    if generator is not None:
        return [int(state) for state in compiled.sample(1, _NOTHING, generator)[0]]
    best = compiled.best(_NOTHING)
    return [variable.index(best[variable.name]) for variable in variables]


def _states_by_search(
    factors: Sequence[Factor], variables: Sequence[Variable], generator: np.random.Generator
) -> list[int]:
    """By backtracking from random states; where that takes too long, by a clique tree after all."""

    part = Problem.of(factors, _NOTHING)
    owners = np.repeat(np.arange(len(part.factors)), np.diff(part.scope_starts))
    counts = np.bincount(part.scopes, minlength=len(part.variables))
    states = np.empty(len(part.variables), dtype=np.int64)
    outcome = find_possible(
        part.sizes,
        part.scope_starts,
        part.scopes,
        part.table_starts,
        part.tables,
        np.concatenate([[0], np.cumsum(counts)]),
        owners[np.argsort(part.scopes, kind="stable")],
        generator.integers(0, part.sizes),
        _MAX_SEARCH,
        states,
    )
    if outcome == NONE:
        raise ImpossibleEvidence.outright()
    if outcome == FOUND:
        return [int(states[place]) for place in part.places(variables)]
    try:
        return _states_by_tree(factors, variables, generator, Budget())
    except TooLarge as error:
        raise NotSupported(
            f"Mean field found no assignment to begin with: {len(factors)} factors have zeros, too many for a search. "
            "Put variables that zeros tie together in one of blocks=, or make zeros small positive numbers."
        ) from error
