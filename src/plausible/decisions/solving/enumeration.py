"""All deterministic strategies, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from plausible.decisions.solving.options import SolvingState, Watch
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.team import Chosen, read_team
from plausible.decisions.solving.updating import Rules
from plausible.errors import TooLarge

__all__ = ["Enumerated", "enumerate_rules"]

#: Going through more strategies one by one takes minutes.
_MAX_STRATEGIES = 200_000
#: The table of all that is seen and done may have so many entries then.
_MAX_TABLE = 2**20


class Enumerated(NamedTuple):
    """The best rules of those that were looked at, and whether that was all."""

    rules: Rules
    is_complete: bool


def enumerate_rules(problem: Problem, in_time: Sequence[str], watch: Watch) -> Enumerated:
    """The best of all deterministic strategies; of one decision only the best rule is looked at, row by row.

    Parameters
    ----------
    problem
        The tables.
    in_time
        All decisions in an order of time.
    watch
        The time: where it is over the best strategy so far is kept.
    """
    if not in_time:
        return Enumerated({}, True)
    logs = [problem.log_num_rules(name) for name in problem.families]
    few = sum(logs) - max(logs) <= math.log(_MAX_STRATEGIES)
    team = read_team(problem, in_time, {}, _MAX_TABLE) if few else None
    if team is None:
        raise TooLarge(
            f"There are about 10**{sum(logs) / math.log(10):.0f} deterministic strategies, too many to go through one "
            'by one: use method="auto".'
        )
    best, is_over = -math.inf, False
    kept: Chosen = ()
    for number, chosen in enumerate(team.all_chosen()):
        if is_over:
            return Enumerated(team.rules(kept), False)
        value = team.upper(chosen)
        if value > best:
            best, kept = value, chosen
        is_over = watch.tell(SolvingState(0, len(in_time), best / team.scale, num_nodes=number + 1))
    return Enumerated(team.rules(kept), True)
