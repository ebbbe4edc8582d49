"""Good rules where there are too many for a proof: pairs of them are replaced by the best ones given all others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, cycle

import numpy as np

from plausible.base.tolerances import PROOF
from plausible.decisions.solving.climbing import put
from plausible.decisions.solving.rule_search import RuleSearch, can_list_rules
from plausible.decisions.solving.team import read_team
from plausible.decisions.solving.team_work import Together
from plausible.decisions.solving.updating import Rules, ascend, random_rules
from plausible.search.branch_and_bound import branch_and_bound

__all__ = ["search_neighborhoods"]

#: The walk ends when so many starts, for each one that was asked for, have led to nothing better.
_PATIENCE = 20
#: Pairs of decisions are optimised together if they are no more than so many places apart in time.
_MAX_APART = 4
#: What two decisions see and do may have so many assignments.
_MAX_PAIR = 2**14


def search_neighborhoods(work: Together) -> None:
    """Improve the rules until the time is over, or for long nothing better is found.

    From the present rules, and then from others, in turn random ones and the best with some of them drawn again, one
    rule after the other is optimised, and then two at a time. The best of all is kept.
    """
    rng = work.watch.options.generator()
    idle, patience, number = 0, _PATIENCE * (1 + work.watch.options.restarts), 0
    start: Rules = {}
    while idle < patience and not work.is_over:
        before = work.own_rules
        put(work.tree, work.rules, start)
        ascend(work.tree, work.members, work.rules, lambda: work.watch.is_over)
        value = _by_pairs(work)
        if value > work.value:
            work.value, idle = value, 0
        else:
            put(work.tree, work.rules, before)
            idle += 1
        number += 1
        work.watch.tell(work.state(number))
        again = work.members if number % 2 else [name for name in work.members if rng.random() < 1 / 3]
        start = random_rules(work.problem, again, rng)


def _by_pairs(work: Together) -> float:
    """Replace the rules of two decisions at a time by the best ones, until that makes nothing better; the value."""
    least = PROOF * sum(float(np.ptp(table)) for _, table in work.problem.utilities)
    value = work.tree.total().expected_utility
    pairs = _pairs(work.members)
    quiet = 0
    for pair in cycle(pairs):
        if quiet == len(pairs) or work.watch.is_over:
            break
        found = _best_pair(work, pair)
        quiet += 1
        if found is not None and found[0] > value + least:
            put(work.tree, work.rules, found[1])
            value, quiet = work.tree.total().expected_utility, 0
    return value


def _best_pair(work: Together, pair: Sequence[str]) -> tuple[float, Rules] | None:
    """The best rules of two decisions given those of all others, and their worth; None where that is too much."""
    team = read_team(work.problem, pair, work.rules, _MAX_PAIR)
    if team is None or not can_list_rules(team):
        return None
    search = RuleSearch(team)
    numbers = search.numbers(work.rules)
    found = branch_and_bound(search, (), start=(search.upper(numbers), numbers)).state
    assert found.best is not None
    return found.score / team.scale, search.rules(found.best)


def _pairs(members: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of decisions that are near to each other in time."""
    places = combinations(range(len(members)), 2)
    return [(members[i], members[j]) for i, j in places if min(j - i, len(members) - j + i) <= _MAX_APART]
