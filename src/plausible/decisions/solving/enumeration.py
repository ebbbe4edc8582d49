"""All strategies one by one: slow, plain, and the yardstick for the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from plausible.decisions.solving.finishing import Found
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.team import read_team
from plausible.errors import TooLarge

__all__ = ["enumerated"]

#: More strategies take minutes.
_MAX_STRATEGIES = 200_000
#: The table of all that is seen and done may have so many entries.
_MAX_TABLE = 2**20


def enumerated(problem: Problem, in_time: Sequence[str]) -> Found:
    """The best of all deterministic strategies; of one decision only the best rule is looked at, row by row."""
    method = "all strategies one by one"
    if not in_time:
        return Found({}, None, method)
    logs = [problem.log_num_rules(name) for name in problem.families]
    few = sum(logs) - max(logs) <= log(_MAX_STRATEGIES)
    team = read_team(problem, in_time, {}, _MAX_TABLE) if few else None
    if team is None:
        raise TooLarge(
            f"There are about 10**{sum(logs) / log(10):.0f} deterministic strategies, too many to go through one by "
            'one: use method="auto".'
        )
    _, chosen = team.all_values()
    return Found(team.rules(chosen), None, method)
