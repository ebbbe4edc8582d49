"""Regret: criteria that look at what another action would have brought."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from plausible.decisions.lotteries.best_actions import BestActions
from plausible.decisions.lotteries.cycles import preference_cycles
from plausible.decisions.lotteries.lottery import ROUNDING
from plausible.decisions.lotteries.outcome_utilities import UtilityLike
from plausible.decisions.lotteries.situation import DecisionSituation
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors.display import TextTable, format_number
from plausible.variables.frozen_mapping import FrozenMapping

__all__ = ["RegretChoice", "RegretPreferences", "minimax_regret", "minimax_utility_regret", "regret_preferences"]

Floats = NDArray[np.float64]
#: What each action brings in each state of the world: {action: {state: utility}}.
Payoffs = Mapping[Hashable, Mapping[Hashable, float]]


@dataclass(frozen=True, slots=True)
class RegretChoice(BestActions):
    """The action whose greatest regret is least.

    Attributes
    ----------
    best
        Those that no other beats by more than rounding: several, if they tie.
    greatest_regret
        Of each action: by how much it falls short of the best in the state that is worst for it.
    regrets
        Actions × states.
    states
        Of the columns.
    weights
        If actions may be mixed at random: the chance of each in the mixture of least regret; else `None`.
    mixed_regret
        The greatest regret of that mixture; else NaN.

    Examples
    --------
    >>> choice = minimax_regret({"tea": {"hot": 0, "cold": 3}, "beer": {"hot": 3, "cold": 0}}, may_mix=True)
    >>> print(choice)
    regret | hot | cold | greatest
    -------+-----+------+---------
    tea    |   3 |    0 |        3
    beer   |   0 |    3 |        3
    least greatest regret: tea, beer (as good as each other)
    >>> choice.action, choice.ties, round(choice.mixed_regret, 9)
    ('tea', ('tea', 'beer'), 1.5)
    """

    best: tuple[Hashable, ...]
    greatest_regret: Mapping[Hashable, float]
    regrets: Floats
    states: tuple[Hashable, ...]
    weights: Mapping[Hashable, float] | None = None
    mixed_regret: float = math.nan

    def __str__(self) -> str:
        rows = tuple(
            (str(action), *(format_number(value) for value in row), format_number(greatest))
            for (action, greatest), row in zip(self.greatest_regret.items(), self.regrets.tolist(), strict=True)
        )
        header = ("regret", *map(str, self.states), "greatest")
        named = ", ".join(map(str, self.best)) + (" (as good as each other)" if self.ties else "")
        return f"{TextTable(header, rows, 1)}\nleast greatest regret: {named}"


def minimax_regret(payoffs: Payoffs, *, may_mix: bool = False) -> RegretChoice:
    """Choose without probabilities: the action that never falls far short of the best (Savage 1951).

    The regret of action a in state s is max_b u(b, s) - u(a, s).

    Parameters
    ----------
    payoffs
        What each action brings in each state: {action: {state: utility}}.
    may_mix
        Whether to find also the mixture of actions of least expected regret, by a linear program.

    Examples
    --------
    >>> found, skip = {"poor": -7, "fair": 5, "great": 20}, {"poor": 0, "fair": 0, "great": 0}
    >>> print(minimax_regret({"found": found, "skip": skip}))
    regret | poor | fair | great | greatest
    -------+------+------+-------+---------
    found  |    7 |    0 |     0 |        7
    skip   |    0 |    5 |    20 |       20
    least greatest regret: found
    """
    actions, states, table = _read(payoffs)
    regrets = table.max(axis=0) - table
    greatest = regrets.max(axis=1)
    room = ROUNDING * float(np.abs(table).max())
    best = tuple(action for action, regret in zip(actions, greatest, strict=True) if regret <= greatest.min() + room)
    told = FrozenMapping(dict(zip(actions, greatest.tolist(), strict=True)))
    if not may_mix:
        return RegretChoice(best, told, regrets, states)
    weights, least = _mixture(regrets)
    return RegretChoice(
        best, told, regrets, states, FrozenMapping(dict(zip(actions, weights.tolist(), strict=True))), least
    )


def minimax_utility_regret(
    situation: DecisionSituation, utilities: Mapping[Hashable, UtilityLike] | Sequence[UtilityLike]
) -> RegretChoice:
    """The action whose loss of expected utility is least under the worst of several possible utility functions.

    Parameters
    ----------
    situation
        The actions and their lotteries; its own utility is not used.
    utilities
        The utility functions that may be the true one, named or in a list.

    Examples
    --------
    >>> trip = DecisionSituation({"sea": "sea", "hills": "hills", "draw": {"sea": 0.5, "hills": 0.5}}, {})
    >>> tastes = {"swimmer": {"sea": 1, "hills": 0}, "hiker": {"sea": 0, "hills": 1}}
    >>> print(minimax_utility_regret(trip, tastes))
    regret | swimmer | hiker | greatest
    -------+---------+-------+---------
    sea    |       0 |     1 |        1
    hills  |       1 |     0 |        1
    draw   |     0.5 |   0.5 |      0.5
    least greatest regret: draw
    """
    named = utilities if isinstance(utilities, Mapping) else dict(enumerate(utilities))
    rows = {
        action: {name: lottery.expected_utility(utility) for name, utility in named.items()}
        for action, lottery in situation.actions.items()
    }
    return minimax_regret(rows)


def _read(payoffs: Payoffs) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], Floats]:
    actions = tuple(payoffs)
    first = payoffs[actions[0]] if actions else {}
    if not (isinstance(first, Mapping) and first):
        raise InvalidArgument("Regret needs actions and states: {action: {state: utility}}.")
    states = tuple(first)
    for action, row in payoffs.items():
        if not isinstance(row, Mapping) or set(row) != set(states):
            raise InvalidArgument(f"The action {action!r} needs a utility for each of the states {list(states)}.")
    table = np.array([[float(payoffs[action][state]) for state in states] for action in actions])
    if not np.isfinite(table).all():
        raise InvalidArgument("Utilities are finite numbers; some payoff is not.")
    return actions, states, table


def _mixture(regrets: Floats) -> tuple[Floats, float]:
    """Chances of the actions that make the greatest expected regret least."""
    from scipy.optimize import linprog

    num_actions, num_states = regrets.shape
    found = linprog(
        np.concatenate([np.zeros(num_actions), [1.0]]),
        A_ub=np.column_stack([regrets.T, -np.ones(num_states)]),
        b_ub=np.zeros(num_states),
        A_eq=np.concatenate([np.ones(num_actions), [0.0]])[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * (num_actions + 1),
        method="highs",
    )
    if found.x is None:
        raise NotSupported(f"The linear program of the regrets ended without an answer: {found.message}")
    return np.asarray(found.x[:-1]), float(found.x[-1])


@dataclass(frozen=True, slots=True)
class RegretPreferences:
    """Pairwise preferences of somebody who minds regret.

    Attributes
    ----------
    actions
        In the order of the rows.
    advantages
        Actions × actions: above 0 where that of the row is preferred to that of the column, 0 where they differ by
        rounding only; antisymmetric.
    cycles
        Of preferences, if any: regret theory need not be transitive.

    Examples
    --------
    >>> dice = {"red": {1: 3, 2: 1, 3: 2}, "green": {1: 2, 2: 3, 3: 1}, "blue": {1: 1, 2: 2, 3: 3}}
    >>> print(regret_preferences(dice, {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}, weight=lambda difference: difference**0.5))
    preferred to |       red |     green |      blue
    -------------+-----------+-----------+----------
    red          |         0 |  0.195262 | -0.195262
    green        | -0.195262 |         0 |  0.195262
    blue         |  0.195262 | -0.195262 |         0
    cycle: red > green > blue > red
    """

    actions: tuple[Hashable, ...]
    advantages: Floats
    cycles: tuple[tuple[Hashable, ...], ...]

    @property
    def undominated(self) -> tuple[Hashable, ...]:
        """Actions to which no other is preferred: none, where preferences go in a circle."""
        return tuple(action for action, row in zip(self.actions, self.advantages, strict=True) if (row >= 0).all())

    def __str__(self) -> str:
        rows = tuple(
            (str(action), *(format_number(value) for value in row))
            for action, row in zip(self.actions, self.advantages.tolist(), strict=True)
        )
        circles = ["cycle: " + " > ".join(str(action) for action in (*cycle, cycle[0])) for cycle in self.cycles]
        return "\n".join([str(TextTable(("preferred to", *map(str, self.actions)), rows, 1)), *circles])


def regret_preferences(
    payoffs: Payoffs,
    probabilities: Mapping[Hashable, float],
    weight: Callable[[float], float] | None = None,
) -> RegretPreferences:
    """Regret theory: a over b just if Σ P(s) Q(u(a, s) - u(b, s)) > 0, Q odd (Loomes & Sugden 1982; Bell 1982).

    A linear Q gives expected utility. A Q that is convex for gains makes great differences count for more than their
    share, which explains that the same people buy lottery tickets and insurance; it allows cycles.

    Parameters
    ----------
    payoffs
        What each action brings in each state: {action: {state: utility}}.
    probabilities
        Of the states.
    weight
        Q for positive differences; by default d + d².

    Examples
    --------
    >>> stakes = {"ticket": {"drawn": 999, "not": -1}, "none": {"drawn": 0, "not": 0}}
    >>> chances = {"drawn": 0.0005, "not": 0.9995}
    >>> regret_preferences(stakes, chances).undominated, regret_preferences(stakes, chances, weight=abs).undominated
    (('ticket',), ('none',))
    """
    actions, states, table = _read(payoffs)
    chances = np.array([_chance(probabilities, state) for state in states])
    if abs(chances.sum() - 1) > ROUNDING:
        raise InvalidArgument(f"The probabilities of the states sum to {chances.sum():.9g}, not to 1.")
    felt = weight or (lambda difference: difference + difference**2)
    gaps = table[:, None, :] - table[None, :, :]
    sizes = np.array([float(felt(abs(gap))) if gap else 0.0 for gap in gaps.ravel().tolist()]).reshape(gaps.shape)
    advantages = (np.sign(gaps) * sizes) @ chances
    advantages[np.abs(advantages) <= ROUNDING * (sizes @ chances)] = 0.0
    signs = {(a, b): int(np.sign(advantages[a, b])) for a, b in permutations(range(len(actions)), 2)}
    cycles = tuple(tuple(actions[i] for i in cycle) for cycle in preference_cycles(signs, len(actions)))
    return RegretPreferences(actions, advantages, cycles)


def _chance(probabilities: Mapping[Hashable, float], state: Hashable) -> float:
    if state not in probabilities or not 0 <= probabilities[state] <= 1:
        raise InvalidArgument(f"The state {state!r} needs a probability between 0 and 1.")
    return float(probabilities[state])
