"""A chain on arrays: how likely states are given others, and what the variables between them are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.decisions.information.chains.rewards import Reward, Rewards, point_rewards, read_rewards, rewarded
from plausible.decisions.information.chains.scope import ChainScope, read_chain
from plausible.errors import TooLarge
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from plausible.variables.evidence import EvidenceLike

__all__ = ["ChainTables", "chain_tables"]

#: The entries of a table over all pairs of states, and of one over pairs and the states of a variable between them.
_MAX_ENTRIES = 2**27


@dataclass(frozen=True, slots=True, eq=False)
class ChainTables:
    """A Markov chain, its places numbered from 1 to n; 0 and n + 1 stand for nothing seen before and behind.

    All states of all places are numbered through; those of place i are `rows(i)`, the ends have one each.

    Attributes
    ----------
    variables
        The variables of the places 1 to n.
    starts
        The first state of each place, and the number of all states.
    probability
        Of each state; 1 for the ends.
    reach
        Of a column, given the row: for states of a later place, and of the same, where it is the identity.
    between
        The rewards of all places between those of row and column, where these and nothing between them are seen.
    at
        The reward of a state that is seen.
    """

    variables: tuple[Variable, ...]
    starts: Ints
    probability: Floats
    reach: Floats
    between: Floats
    at: Floats

    @property
    def end(self) -> int:
        """The place n + 1."""
        return len(self.variables) + 1

    def rows(self, place: int) -> slice:
        """The states of a place."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def expected_between(self) -> Floats:
        """E[rewards between two places where these and nothing between them are seen], of shape (n + 2, n + 2)."""
        weighted = self.probability[:, None] * self.reach * self.between
        by_row = np.add.reduceat(weighted, self.starts[:-1], axis=0)
        expected: Floats = np.add.reduceat(by_row, self.starts[:-1], axis=1)
        return expected

    def expected_at(self) -> Floats:
        """E[reward of a place that is seen], of shape (n + 2,)."""
        expected: Floats = np.add.reduceat(self.probability * self.at, self.starts[:-1])
        return expected

    def rounding(self) -> float:
        """A difference of expected rewards up to which they count as equal: looking has to bring more."""
        sizes = np.maximum.reduceat(np.abs(self.at), self.starts[:-1]).sum() + np.abs(self.between[0, -1])
        return 1e-13 * float(sizes)


def chain_tables(
    network: BayesianNetwork, rewards: Rewards, scope: ChainScope, evidence: EvidenceLike | None
) -> ChainTables:
    """The chain of a network, given evidence."""
    chain = read_chain(network, scope, evidence)
    worth = read_rewards(rewards, chain)
    starts = np.cumsum([0, 1, *(variable.num_states for variable in chain), 1], dtype=np.int64)
    if int(starts[-1]) ** 2 * max(variable.num_states for variable in chain) > _MAX_ENTRIES:
        raise TooLarge(
            f"The chain has {starts[-1] - 2} states in all, more than fit into tables over pairs of them. Look at a "
            "part of it, or merge states."
        )
    probability, reach = _reach(_pairs(network, chain, evidence), starts)
    at = np.zeros(starts[-1])
    for place, (variable, reward) in enumerate(zip(chain, worth, strict=True), 1):
        if reward is not None:
            at[starts[place] : starts[place + 1]] = point_rewards(reward, variable)
    between = _between(chain, worth, reach, starts, scope.is_filtering)
    return ChainTables(chain, starts, probability, reach, between, at)


def _pairs(network: BayesianNetwork, chain: tuple[Variable, ...], evidence: EvidenceLike | None) -> list[Floats]:
    """P(first), as a row, and P(X_i, X_i+1) of the places of the chain."""
    engine = network.compile()
    names = [variable.name for variable in chain]
    first: Floats = engine.query(names[0], evidence).values[None]
    return [first, *(engine.query([a, b], evidence).values for a, b in pairwise(names))]


def _reach(pairs: Sequence[Floats], starts: Ints) -> tuple[Floats, Floats]:
    """The probability of each state, and of each given an earlier one; 0/0 is 0."""
    size = int(starts[-1])
    probability, reach = np.ones(size), np.eye(size)
    for place, pair in enumerate(pairs, 1):
        before, here = slice(starts[place - 1], starts[place]), slice(starts[place], starts[place + 1])
        sums = pair.sum(axis=1, keepdims=True)
        step = np.divide(pair, sums, out=np.zeros_like(pair), where=sums > 0)
        probability[here] = pair.sum(axis=0)
        reach[: starts[place], here] = reach[: starts[place], before] @ step
    reach[:, -1] = 1.0
    return probability, reach


def _between(
    chain: tuple[Variable, ...], worth: Sequence[Reward | None], reach: Floats, starts: Ints, is_filtering: bool
) -> Floats:
    between = np.zeros_like(reach)
    for place, (variable, reward) in enumerate(zip(chain, worth, strict=True), 1):
        here = slice(starts[place], starts[place + 1])
        before, behind = slice(0, here.start), slice(here.stop, None)
        if reward is None:
            continue
        if is_filtering:
            weights = reach[before, here][:, None, :]
        else:
            weights = reach[before, None, here] * reach[here, behind].T[None]
        between[before, behind] += _conditional(reward, variable, weights)
    between[reach == 0] = 0.0
    return between


def _conditional(reward: Reward, variable: Variable, weights: Floats) -> Floats:
    """The reward of a variable with these distributions, which are not normalised; 0 where they are nothing."""
    total = weights.sum(axis=-1, keepdims=True)
    uniform = np.full_like(weights, 1.0 / variable.num_states)
    distributions = np.divide(weights, total, out=uniform, where=total > 0)
    return np.where(total[..., 0] > 0, rewarded(reward, variable, distributions), 0.0)
