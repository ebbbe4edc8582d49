"""Decision situations: actions, what each may lead to, what that is worth, and regret."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np

from plausible.base import (
    PROOF,
    WRITTEN_ROUNDING,
    Floats,
    Frozen,
    FrozenMapping,
    Result,
    TextTable,
    format_number,
    record,
)
from plausible.errors import InvalidArgument, NotSupported, shortened, suggestion
from plausible.utilities.lotteries.axioms import preference_cycles
from plausible.utilities.lotteries.lottery import Lottery, LotteryLike, as_lottery
from plausible.utilities.lotteries.outcome_utilities import BestActions, UtilityLike, read_utility, tie_room, utility_of


@record
class ActionRanking(Result, BestActions):
    """Actions by expected utility, best first.

    >>> ranking = DecisionSituation({"skip": 0, "found": {-7: 0.5, 11: 0.5}, "sell": 2}, lambda x: x).rank()
    >>> print(ranking)
    action | expected utility | short of the best
    -------+------------------+------------------
    found  |                2 |                 0
    sell   |                2 |                 0
    skip   |                0 |                 2
    as good as each other: found, sell
    >>> ranking.action, ranking.ties
    ('found', ('found', 'sell'))
    """

    expected_utilities: Mapping[Hashable, float]  # Of each action, in falling order
    best: tuple[Hashable, ...]  # Those that no other beats by more than the tolerance: several, if they tie

    @property
    def expected_utility(self) -> float:
        """That of the best action."""
        return next(iter(self.expected_utilities.values()))

    def __str__(self) -> str:
        top = self.expected_utility
        rows = tuple(
            (str(action), format_number(value), format_number(top - value))
            for action, value in self.expected_utilities.items()
        )
        table = str(TextTable(("action", "expected utility", "short of the best"), rows, 1))
        return f"{table}\nas good as each other: {', '.join(map(str, self.ties))}" if self.ties else table


class DecisionSituation(Frozen):
    """Actions, the lottery over outcomes that each leads to, and the utility of outcomes (definition 22.2).

    A rational agent takes an action of greatest expected utility, EU(a) = Σ π_a(o) U(o). Each action has a lottery, a
    dict of outcomes and probabilities, or an outcome that is sure; actions may be whole strategies. The utility is a
    mapping from outcomes, or a function of them.

    >>> market = {"poor": 0.5, "fair": 0.3, "great": 0.2}
    >>> venture = DecisionSituation({"found": market, "skip": "nothing"},
    ...                             {"poor": -7, "fair": 5, "great": 20, "nothing": 0})
    >>> venture.rank().action, round(venture.rank().expected_utility, 9)
    ('found', 2.0)
    """

    __slots__ = ("actions", "utility")

    actions: Mapping[Hashable, Lottery]
    utility: UtilityLike

    def __init__(self, actions: Mapping[Hashable, LotteryLike], utility: UtilityLike) -> None:
        if not actions:
            raise InvalidArgument("A decision situation needs an action to choose: actions={'skip': ...}.")
        self.actions = FrozenMapping({action: as_lottery(given) for action, given in actions.items()})
        self.utility = utility

    @property
    def outcomes(self) -> tuple[Hashable, ...]:
        """All final outcomes that some action may lead to, in order of appearance."""
        return tuple(dict.fromkeys(o for lottery in self.actions.values() for o in lottery.flatten().support))

    @property
    def outcome_model(self) -> Floats:
        """Actions × outcomes: π_a(o)."""
        chances = [lottery.final_probabilities() for lottery in self.actions.values()]
        return np.array([[row.get(outcome, 0.0) for outcome in self.outcomes] for row in chances])

    def expected_utility(self, action: Hashable) -> float:
        """EU of one action."""
        if action not in self.actions:
            raise InvalidArgument(f"{action!r} is not an action here.{suggestion(action, self.actions)}")
        return self.actions[action].expected_utility(self.utility)

    def rank(self, tolerance: float = PROOF) -> ActionRanking:
        """All actions by expected utility, and which are best.

        Actions that fall short of the best by no more than the tolerance, as a share of the range of utilities, or than
        floats lose, tie with it.

        >>> DecisionSituation({"fewer": 1_000_000, "more": 1_000_000.001}, lambda amount: amount).rank().best
        ('more',)
        """
        values = {action: lottery.expected_utility(self.utility) for action, lottery in self.actions.items()}
        utility = read_utility(self.utility)
        worths = [utility_of(utility, outcome) for outcome in self.outcomes]
        top, lost, room = max(values.values()), tie_room(worths, 0.0), tie_room(worths, tolerance)
        told = {action: value if value < top - lost else top for action, value in values.items()}
        ordered = dict(sorted(told.items(), key=lambda item: -item[1]))
        return ActionRanking(FrozenMapping(ordered), tuple(a for a, value in values.items() if value >= top - room))

    def with_utility(self, utility: UtilityLike) -> DecisionSituation:
        """The same actions for somebody with other tastes."""
        return DecisionSituation(self.actions, utility)

    def __repr__(self) -> str:
        return f"DecisionSituation({list(self.actions)!r})"


#: {action: {state: utility}}, a data frame with an action a row and a state a column, or rows of numbers.
PayoffsLike: TypeAlias = "Mapping[Hashable, Mapping[Hashable, float]] | Sequence[Sequence[float]] | Floats | Any"
_FORM = (
    "write {action: {state: utility}}, or give a pandas data frame with an action a row and a state a column, or "
    "rows of numbers such as [[10, 0], [4, 4]]"
)


def read_payoffs(given: PayoffsLike) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...], Floats]:
    """Actions and states, counted from 0 where they have no names, and utilities, actions × states."""
    actions: tuple[Hashable, ...]
    states: tuple[Hashable, ...] = ()
    if isinstance(given, Mapping):
        for action, row in given.items():
            if not isinstance(row, Mapping):
                raise InvalidArgument(f"The action {action!r} has {shortened(row)} for its payoffs: {_FORM}.")
            states = states or tuple(row)
            if set(row) != set(states):
                raise InvalidArgument(f"The action {action!r} needs a utility for each of the states {list(states)}.")
        actions, cells = tuple(given), [[row[state] for state in states] for row in given.values()]
    elif hasattr(given, "columns") and hasattr(given, "index"):
        frame: Any = given
        actions, states, cells = tuple(frame.index), tuple(frame.columns), frame.to_numpy()
        for kind, names in (("action", actions), ("state", states)):
            if twice := [name for name in names if names.count(name) > 1]:
                raise InvalidArgument(
                    f"The {kind} {twice[0]!r} stands twice in the data frame: give each its own name."
                )
    else:
        cells = _rows(given)
        actions, states = tuple(range(len(cells))), tuple(range(len(cells[0])))
    if not actions or not states:
        raise InvalidArgument(f"Regret needs actions and states, and there are none: {_FORM}.")
    table = np.array([[_number(cell) for cell in row] for row in cells])
    for i, j in np.argwhere(~np.isfinite(table)).tolist():
        raise InvalidArgument(
            f"The action {actions[i]!r} brings {shortened(cells[i][j])} in the state {states[j]!r}: "
            f"utilities are finite numbers."
        )
    return actions, states, table


def _rows(given: Any) -> list[list[Any]]:
    """Rows of equal length, if that is what was given."""
    try:
        rows = [] if isinstance(given, str) else [list(row) for row in given]
    except TypeError:
        rows = []
    if not rows:
        raise InvalidArgument(f"{shortened(given)} has no actions and states: {_FORM}.")
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InvalidArgument(
                f"The payoffs have {len(rows[0])} states in row 0 and {len(row)} in row {place}: "
                f"each action needs a utility for each state."
            )
    return rows


def _number(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        return math.nan


def read_chances(given: Mapping[Hashable, float] | Sequence[float] | Floats, states: Sequence[Hashable]) -> Floats:
    """The probability of each state, from a dict, or from a list in the order of the states."""
    table: Any = given.to_dict() if hasattr(given, "to_dict") else given
    if isinstance(table, Mapping):
        listed = [table.get(state) for state in states]
    else:
        listed = list(table) if isinstance(table, Iterable) and not isinstance(table, str) else []
    if len(listed) != len(states):
        raise InvalidArgument(
            f"{shortened(given)} has no probability for each of the {len(states)} states {shortened(list(states))}: "
            f"write {{state: probability}}, or a list in their order."
        )
    chances = np.array([_number(chance) for chance in listed])
    for place in np.flatnonzero(~((chances >= 0) & (chances <= 1))).tolist():
        raise InvalidArgument(
            f"The state {states[place]!r} needs a probability between 0 and 1, not {shortened(listed[place])}."
        )
    if abs(chances.sum() - 1) > WRITTEN_ROUNDING:
        raise InvalidArgument(f"The probabilities of the states sum to {chances.sum():.9g}, not to 1.")
    return chances


@record
class RegretChoice(Result, BestActions):
    """The action whose greatest regret is least.

    >>> choice = minimax_regret({"tea": {"hot": 0, "cold": 3}, "beer": {"hot": 3, "cold": 0}}, may_mix=True)
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
    actions, states, table = read_payoffs(payoffs)
    regrets = table.max(axis=0) - table
    greatest = regrets.max(axis=1)
    # A constant added in one state changes no regret.
    room = tie_room(regrets) + tie_room(table, 0.0)
    best = tuple(action for action, regret in zip(actions, greatest, strict=True) if regret <= greatest.min() + room)
    told = FrozenMapping(dict(zip(actions, greatest.tolist(), strict=True)))
    if not may_mix:
        return RegretChoice(best, told, regrets, states)
    mixture, least = _mixture(regrets)
    weights = FrozenMapping(dict(zip(actions, mixture.tolist(), strict=True)))
    return RegretChoice(best, told, regrets, states, weights, least)


def minimax_utility_regret(
    situation: DecisionSituation, utilities: Mapping[Hashable, UtilityLike] | Sequence[UtilityLike]
) -> RegretChoice:
    """The action whose loss of expected utility is least under the worst of several possible utility functions.

    The utility functions that may be the true one are named or in a list; that of the situation is not used.

    >>> trip = DecisionSituation({"sea": "sea", "hills": "hills", "draw": {"sea": 0.5, "hills": 0.5}}, {})
    >>> tastes = {"swimmer": {"sea": 1, "hills": 0}, "hiker": {"sea": 0, "hills": 1}}
    >>> dict(minimax_utility_regret(trip, tastes).greatest_regret)
    {'sea': 1.0, 'hills': 1.0, 'draw': 0.5}
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
class RegretPreferences(Result):
    """Pairwise preferences of somebody who minds regret.

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

    Payoffs are as for `minimax_regret`; probabilities `{state: probability}`, or a list in their order. The weight is Q
    for positive differences; by default d + d².

    >>> stakes = {"ticket": {"drawn": 999, "not": -1}, "none": {"drawn": 0, "not": 0}}
    >>> chances = {"drawn": 0.0005, "not": 0.9995}
    >>> regret_preferences(stakes, chances).undominated, regret_preferences(stakes, chances, weight=abs).undominated
    (('ticket',), ('none',))
    """
    actions, states, utilities = read_payoffs(payoffs)
    chances = read_chances(probabilities, states)
    gaps = utilities[:, None, :] - utilities[None, :, :]
    # Q of the size of each gap, and of what floats may have taken from it; 0 where there is none.
    feel = weight or (lambda d: d + d**2)
    felt, felt_more = (
        np.array([float(feel(abs(gap) + more)) if gap else 0.0 for gap in gaps.ravel().tolist()]).reshape(gaps.shape)
        for more in (0.0, tie_room(utilities, 0.0))
    )
    advantages = (np.sign(gaps) * felt) @ chances
    room = PROOF * (felt @ chances) + (felt_more - felt) @ chances
    advantages[np.abs(advantages) <= room] = 0.0
    signs = {(a, b): int(np.sign(advantages[a, b])) for a, b in permutations(range(len(actions)), 2)}
    cycles = tuple(tuple(actions[i] for i in cycle) for cycle in preference_cycles(signs, len(actions)))
    return RegretPreferences(actions, advantages, cycles)
