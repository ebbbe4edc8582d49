"""Decisions that rely on each other, settled together: with a proof if there is time, else with a bound."""

from __future__ import annotations

from plausible.decisions.solving.neighborhoods import search_neighborhoods
from plausible.decisions.solving.policy_sets import search_policies
from plausible.decisions.solving.stages import Stages, read_stages
from plausible.decisions.solving.table_search import TableSearch
from plausible.decisions.solving.team_work import Together

__all__ = ["settle_together"]

#: A table with no more entries is searched before all else, by nodes that look at so many entries together.
_SMALL_TEAM, _FIRST_LOOK = 2**16, 2**22
#: A table is searched if it has no more entries; beyond the first number only if there is a second for so many.
_TEAM, _MAX_TEAM, _ENTRIES_PER_SECOND = 2**18, 2**22, 2**20
#: Policies are listed if no stage has more states and actions.
_MAX_STATES = 2**10
#: So many policies are kept for each decision, in the passes before a longer search of the table and after it.
_FEW, _MANY = (1, 16, 64, 512), (4096,)


def settle_together(work: Together) -> None:
    """Find the best rules, by one way after the other until there is a proof or the time is over.

    A short search of the table of all that is seen and done, if that is small; short lists of policies; a longer search
    of the table; longer lists; and where all that was of no avail, a walk through neighbourhoods of good rules.
    """
    search = TableSearch.read(work, _SMALL_TEAM)
    if search is not None:
        search.go_on(work.watch.seconds_left, _FIRST_LOOK // search.num_entries)
    if work.is_proved:
        return
    work.improve(work.own_rules)
    stages = None if work.is_over else read_stages(work.problem, work.members, work.rules, _MAX_STATES)
    _list_policies(work, stages, _FEW)
    if not work.is_over:
        search = search or TableSearch.read(work, _room(work))
        if search is not None:
            search.go_on(work.watch.seconds_left / 2)
    if not work.is_over:
        _list_policies(work, stages, _MANY)
    if not work.is_over:
        search_neighborhoods(work)


def _room(work: Together) -> int:
    """How many entries a table may have, so that reading it takes a part of the time only."""
    return int(min(max(_TEAM, work.watch.seconds_left * _ENTRIES_PER_SECOND), _MAX_TEAM))


def _list_policies(work: Together, stages: Stages | None, limits: tuple[int, ...]) -> None:
    """Search by lists of policies, in passes that keep more and more of them."""
    steps = 0

    def is_over() -> bool:
        nonlocal steps
        steps += 1
        return work.watch.tell(work.state(steps))

    if stages is None:
        return
    for limit in limits:
        found = search_policies(stages, (limit,), work.watch.options.generator(), is_over)
        if found.is_complete:
            work.finish(found.rules)
        else:
            constant = work.improve(found.rules) - found.value
            work.upper = min(work.upper, found.upper + constant)
        if work.is_over:
            break
