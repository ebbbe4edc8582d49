"""Regret: criteria that look at what another action would have brought."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import permutations

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import TextTable, format_number
from plausible.base.frozen import FrozenMapping
from plausible.base.records import record
from plausible.base.tolerances import PROOF
from plausible.errors import NotSupported
from plausible.utilities.lotteries.axioms import preference_cycles
from plausible.utilities.lotteries.outcome_utilities import UtilityLike
from plausible.utilities.lotteries.payoffs import PayoffsLike, read_chances, read_payoffs
from plausible.utilities.lotteries.situation import DecisionSituation
from plausible.utilities.lotteries.ties import BestActions, tie_room


@record
class RegretChoice(BestActions):
    """The action whose greatest regret is least.

    Examples
    --------
    >>> choice = minimax_regret({"tea": {"hot": 0, "cold": 3}, "beer": {"hot": 3, "cold": 0}}, may_mix=True)
    >>> print(choice)
    regret | hot | cold | greatest
    -------+-----+------+---------
    tea    |   3 |    0 |        3
    beer   |   0 |    3 |        3
    least greatest regret: tea, beer (as good as each other)
    at random, greatest regret 1.5: [tea: 0.5; beer: 0.5]
    >>> choice.action, choice.ties, round(choice.mixed_regret, 9)
    ('tea', ('tea', 'beer'), 1.5)
    """

    best: tuple[Hashable, ...]  # Those that no other beats by more than rounding: several, if they tie
    #: Of each action: by how much it falls short of the best in the state that is worst for it.
    greatest_regret: Mapping[Hashable, float]
    regrets: Floats  # Actions × states
    states: tuple[Hashable, ...]  # Of the columns
    #: If actions may be mixed at random: the chance of each in the mixture of least regret; else `None`.
    weights: Mapping[Hashable, float] | None = None
    mixed_regret: float = math.nan  # The greatest regret of that mixture; else NaN

    def __str__(self) -> str:
        rows = tuple(
            (str(action), *(format_number(value) for value in row), format_number(greatest))
            for (action, greatest), row in zip(self.greatest_regret.items(), self.regrets.tolist(), strict=True)
        )
        header = ("regret", *map(str, self.states), "greatest")
        named = ", ".join(map(str, self.best)) + (" (as good as each other)" if self.ties else "")
        told = f"{TextTable(header, rows, 1)}\nleast greatest regret: {named}"
        if self.weights is None:
            return told
        mixture = "; ".join(f"{action}: {format_number(w)}" for action, w in self.weights.items() if w > 0)
        return f"{told}\nat random, greatest regret {format_number(self.mixed_regret)}: [{mixture}]"


def minimax_regret(payoffs: PayoffsLike, *, may_mix: bool = False) -> RegretChoice:
    """Choose without probabilities: the action that never falls far short of the best (Savage 1951).

    The regret of action a in state s is max_b u(b, s) - u(a, s).

    Parameters
    ----------
    payoffs
        What each action brings in each state: {action: {state: utility}}, a data frame with an action a row and a state
        a column, or rows of numbers, whose actions and states are counted from 0.
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
    >>> minimax_regret([[10, 0], [4, 4], [0, 9]]).greatest_regret
    FrozenMapping({0: 9.0, 1: 6.0, 2: 10.0})
    """
    read = read_payoffs(payoffs)
    actions, states, table = read.actions, read.states, read.utilities
    regrets = table.max(axis=0) - table
    greatest = regrets.max(axis=1)
    # A constant added in one state changes no regret.
    room = tie_room(regrets) + tie_room(table, 0.0)
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


def _mixture(regrets: Floats) -> tuple[Floats, float]:
    """Chances of the actions that make the greatest expected regret least."""
    from scipy.optimize import linprog

    unit = float(regrets.max()) or 1.0  # the program has tolerances of its own
    num_actions, num_states = regrets.shape
    found = linprog(
        np.concatenate([np.zeros(num_actions), [1.0]]),
        A_ub=np.column_stack([regrets.T / unit, -np.ones(num_states)]),
        b_ub=np.zeros(num_states),
        A_eq=np.concatenate([np.ones(num_actions), [0.0]])[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * (num_actions + 1),
        method="highs",
    )
    if found.x is None:
        raise NotSupported(f"The linear program of the regrets ended without an answer: {found.message}")
    return np.asarray(found.x[:-1]), unit * float(found.x[-1])


@record
class RegretPreferences:
    """Pairwise preferences of somebody who minds regret.

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

    actions: tuple[Hashable, ...]  # In the order of the rows
    #: Actions × actions: above 0 where that of the row is preferred to that of the column, 0 where they differ by
    #: rounding only; antisymmetric.
    advantages: Floats
    cycles: tuple[tuple[Hashable, ...], ...]  # Of preferences, if any: regret theory need not be transitive

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
    payoffs: PayoffsLike,
    probabilities: Mapping[Hashable, float] | Sequence[float],
    weight: Callable[[float], float] | None = None,
) -> RegretPreferences:
    """Regret theory: a over b just if Σ P(s) Q(u(a, s) - u(b, s)) > 0, Q odd (Loomes & Sugden 1982; Bell 1982).

    A linear Q gives expected utility. A Q that is convex for gains makes great differences count for more than their
    share, which explains that the same people buy lottery tickets and insurance; it allows cycles.

    Parameters
    ----------
    payoffs
        What each action brings in each state, as for `minimax_regret`.
    probabilities
        Of the states: {state: probability}, or a list in their order.
    weight
        Q for positive differences; by default d + d².

    Examples
    --------
    >>> stakes = {"ticket": {"drawn": 999, "not": -1}, "none": {"drawn": 0, "not": 0}}
    >>> chances = {"drawn": 0.0005, "not": 0.9995}
    >>> regret_preferences(stakes, chances).undominated, regret_preferences(stakes, chances, weight=abs).undominated
    (('ticket',), ('none',))
    """
    read = read_payoffs(payoffs)
    actions, chances = read.actions, read_chances(probabilities, read.states)
    gaps = read.utilities[:, None, :] - read.utilities[None, :, :]
    lost = tie_room(read.utilities, 0.0)
    felt, felt_more = (_felt(weight or (lambda d: d + d**2), gaps, more) for more in (0.0, lost))
    advantages = (np.sign(gaps) * felt) @ chances
    room = PROOF * (felt @ chances) + (felt_more - felt) @ chances
    advantages[np.abs(advantages) <= room] = 0.0
    signs = {(a, b): int(np.sign(advantages[a, b])) for a, b in permutations(range(len(actions)), 2)}
    cycles = tuple(tuple(actions[i] for i in cycle) for cycle in preference_cycles(signs, len(actions)))
    return RegretPreferences(actions, advantages, cycles)


def _felt(weight: Callable[[float], float], gaps: Floats, more: float) -> Floats:
    """Q of the size of each gap, and of what floats may have taken from it; 0 where there is none."""
    sizes = [float(weight(abs(gap) + more)) if gap else 0.0 for gap in gaps.ravel().tolist()]
    return np.array(sizes).reshape(gaps.shape)
