"""Decisions that rely on each other, settled together: with a proof if there is time, else with a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from plausible.decisions.solving.climbing import climb, put
from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.options import SolvingState, Watch
from plausible.decisions.solving.policy_sets import search_policies
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.stages import Stages, read_stages
from plausible.decisions.solving.team import Chosen, Team, read_team
from plausible.decisions.solving.updating import Rules, ascend
from plausible.inference.search.branch_and_bound import BranchingState, branch_and_bound

__all__ = ["Together", "settle_together"]

#: Rules are searched by branch and bound if all that the decisions see and do has no more assignments.
_MAX_TEAM = 2**18
#: If it has no more than this many, some nodes of the search come first; together they look at so many assignments.
_SMALL_TEAM, _FIRST_LOOK = 2**16, 2**22
#: Policies are listed if no stage has more states and actions.
_MAX_STATES = 2**10
#: So many policies are kept for each decision in the passes of a first attempt, and of a longer one.
_FEW, _MANY = (64, 512), (4096,)


@dataclass(slots=True)
class Together:
    """Decisions in time that are settled together, and what is known about them so far.

    Attributes
    ----------
    problem, tree, rules
        The problem, what weighs decisions in it, and the rules of all decisions, the best so far for `members`.
    members
        The decisions to be settled.
    watch
        The time.
    num_settled
        How many decisions were settled before.
    value, upper
        The expected utility under the rules, and a bound on what other rules of the members could reach.
    is_proved
        Whether no rules of the members are better.
    """

    problem: Problem
    tree: Weighing
    rules: Rules
    members: Sequence[str]
    watch: Watch
    num_settled: int
    value: float = math.nan
    upper: float = math.inf
    is_proved: bool = False

    def __post_init__(self) -> None:
        self.value = self.tree.total().expected_utility

    def state(self, num_nodes: int) -> SolvingState:
        """How far it is."""
        return SolvingState(self.num_settled, len(self.rules), self.value, self.upper, num_nodes)

    def improve(self, rules: Rules) -> float:
        """Take over what can be got from some rules by changing one after the other, if it is better.

        The expected utility of the rules as they are is returned.
        """
        before = {name: self.rules[name] for name in self.members}
        put(self.tree, self.rules, rules)
        given = self.tree.total().expected_utility
        value = ascend(self.tree, self.members, self.rules, lambda: self.watch.is_over)
        if value < self.value:
            put(self.tree, self.rules, before)
        else:
            self.value = value
        return given

    def finish(self, rules: Rules) -> None:
        """Take over rules that are proved best."""
        put(self.tree, self.rules, rules)
        self.value = self.upper = self.tree.total().expected_utility
        self.is_proved = True


def settle_together(work: Together) -> None:
    """Find the best rules: a little branch and bound, short lists of policies, then more of both while there is time.

    Where neither fits, iterated optimisation finds good rules.
    """
    team = read_team(work.problem, work.members, work.rules, _SMALL_TEAM)
    search = None
    if team is not None:
        search = _branch(work, team, work.watch.seconds_left, max_nodes=_FIRST_LOOK // team.num_entries)
    stages = None if work.is_proved else read_stages(work.problem, work.members, work.rules, _MAX_STATES)
    if stages is not None:
        _list_policies(work, stages, _FEW)
    if not work.is_proved:
        team = team or read_team(work.problem, work.members, work.rules, _MAX_TEAM)
        if team is None:
            climb(work.problem, work.tree, work.members, work.rules, work.watch)
            work.value = work.tree.total().expected_utility
        else:
            _branch(work, team, work.watch.seconds_left * (1.0 if stages is None else 0.5), search)
    if stages is not None and not work.is_proved and not work.watch.is_over:
        _list_policies(work, stages, _MANY)


def _list_policies(work: Together, stages: Stages, limits: Sequence[int]) -> None:
    """Search by lists of policies."""
    steps = 0

    def is_over() -> bool:
        nonlocal steps
        steps += 1
        return work.watch.tell(work.state(steps))

    found = search_policies(stages, limits, work.watch.options.generator(), is_over)
    if found.is_complete:
        work.finish(found.rules)
    else:
        constant = work.improve(found.rules) - found.value
        work.upper = min(work.upper, found.upper + constant)


def _branch(
    work: Together,
    team: Team,
    seconds: float,
    search: BranchingState[Chosen] | None = None,
    max_nodes: float = math.inf,
) -> BranchingState[Chosen]:
    """Search by branch and bound, from where it stopped if it was begun."""

    def told(search: BranchingState[Chosen]) -> bool:
        work.upper = min(work.upper, search.upper / team.scale)
        value = max(work.value, search.score / team.scale)
        work.watch.tell(replace(work.state(search.num_nodes), expected_utility=value))
        return work.watch.is_stopped

    options = work.watch.options
    start = None if search else team.start(options.restarts, options.generator(), lambda: work.watch.is_over)
    found = branch_and_bound(
        team,
        (),
        start=start,
        state=search,
        max_nodes=max_nodes,
        time_limit=seconds,
        progress=None if options.progress is None else told,
    )
    assert found.best is not None
    if found.is_finished:
        work.finish(team.rules(found.best))
    else:
        work.improve(team.rules(found.best))
        work.upper = min(work.upper, found.upper / team.scale)
    return found
