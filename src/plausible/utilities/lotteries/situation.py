"""Decision situations: actions, what each may lead to, and what that is worth."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import TextTable, format_number
from plausible.base.frozen import Frozen, FrozenMapping
from plausible.base.records import Result, record
from plausible.base.tolerances import PROOF
from plausible.errors import InvalidArgument, suggestion
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
