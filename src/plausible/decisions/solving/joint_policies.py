"""Rules for all decisions in the order of reliance; those that rely on each other are settled together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, cycle
from typing import Any

import numpy as np

from plausible.base import PROOF
from plausible.decisions.solving.joint_tree import Weighing
from plausible.decisions.solving.policy_sets import search_policies
from plausible.decisions.solving.problem import DecisionProblem, SolvingState, Watch
from plausible.decisions.solving.stages import Stages, read_stages
from plausible.decisions.solving.team import RuleSearch, Team, can_list_rules, read_team
from plausible.decisions.solving.updating import Rules, ascend, first_best_rule, put, random_rules
from plausible.search import BranchingState, Run, branch_and_bound

#: A table with no more entries is searched before all else, by nodes that look at so many entries together.
_SMALL_TEAM, _FIRST_LOOK = 2**16, 2**22
#: A table is searched if it has no more entries; beyond the first number only if there is a second for so many.
_TEAM, _MAX_TEAM, _ENTRIES_PER_SECOND = 2**18, 2**22, 2**20
#: Policies are listed if no stage has more states and actions.
_MAX_STATES = 2**10
#: So many policies are kept for each decision, in the passes before a longer search of the table and after it.
_FEW, _MANY = (1, 16, 64, 512), (4096,)
#: The walk ends when so many starts, for each one that was asked for, have led to nothing better.
_PATIENCE = 20
#: Pairs of decisions are optimised together if they are no more than so many places apart in time.
_MAX_APART = 4
#: What two decisions see and do may have so many assignments.
_MAX_PAIR = 2**14


@dataclass(slots=True)
class JointSearch:
    """Decisions in time that are settled together, and what is known about them so far."""

    #: The problem, what weighs decisions in it, and the rules of all decisions, the best so far for `members`.
    problem: DecisionProblem
    tree: Weighing
    rules: Rules
    members: Sequence[str]  # the decisions to be settled
    watch: Watch  # the time
    num_settled: int  # how many decisions were settled before
    #: The expected utility under the rules, and a bound on what other rules of the members could reach.
    value: float = math.nan
    upper: float = math.inf
    is_proved: bool = False  # whether no rules of the members are better

    def __post_init__(self) -> None:
        self.value = self.tree.total().expected_utility

    @property
    def is_over(self) -> bool:
        """Whether there is a proof, or no time."""
        return self.is_proved or self.watch.is_over

    @property
    def own_rules(self) -> Rules:
        return {name: self.rules[name] for name in self.members}

    def state(self, num_steps: int) -> SolvingState:
        return SolvingState(self.num_settled, len(self.rules), self.value, self.upper, num_steps)

    def improve(self, rules: Rules) -> float:
        """Take over what can be got from some rules by changing one after the other, if it is better."""
        before = self.own_rules
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


@dataclass(slots=True)
class TableSearch:
    """A search that can be gone on with."""

    work: JointSearch  # the decisions; they get what is found
    team: Team  # the table
    branches: RuleSearch | Team  # what branches and bounds
    run: Run[BranchingState[tuple[int, ...]]] | None = None  # how far it is

    @classmethod
    def read(cls, work: JointSearch, max_entries: int) -> TableSearch | None:
        """The search for some decisions; None where the table would be too large."""
        team = read_team(work.problem, work.members, work.rules, max_entries)
        return None if team is None else cls(work, team, RuleSearch(team) if can_list_rules(team) else team)

    def go_on(self, seconds: float, max_steps: int | None = None) -> None:
        """Search for some seconds, up to some number of nodes in all."""
        work, scale = self.work, self.team.scale

        def told(search: BranchingState[Any]) -> bool:
            work.upper = min(work.upper, search.upper / scale)
            value = max(work.value, search.score / scale)
            work.watch.tell(replace(work.state(search.num_steps), expected_utility=value))
            return work.watch.is_stopped

        start = None
        if self.run is None and isinstance(self.branches, RuleSearch):
            numbers = self.branches.numbers(work.rules)
            start = self.branches.upper(numbers), numbers
        elif self.run is None:
            options = work.watch.options
            start = self.team.start(options.restarts, options.generator(), lambda: work.watch.is_over)
        self.run = branch_and_bound(
            self.branches,
            (),
            start=start,
            run=self.run,
            max_steps=max_steps,
            time_limit=seconds,
            progress=None if work.watch.options.progress is None else told,
        )
        state = self.run.state
        assert state.best is not None
        if state.is_finished:
            work.finish(self.branches.rules(state.best))
        else:
            work.improve(self.branches.rules(state.best))
            work.upper = min(work.upper, state.upper / scale)


def search_neighborhoods(work: JointSearch) -> None:
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


def _by_pairs(work: JointSearch) -> float:
    """Replace the rules of two decisions at a time by the best ones, until that makes nothing better; the value."""
    least = PROOF * sum(float(np.ptp(table)) for _, table in work.problem.utilities)
    value, members, quiet = work.tree.total().expected_utility, work.members, 0
    places = combinations(range(len(members)), 2)
    pairs = [(members[i], members[j]) for i, j in places if min(j - i, len(members) - j + i) <= _MAX_APART]
    for pair in cycle(pairs):
        if quiet == len(pairs) or work.watch.is_over:
            break
        quiet += 1
        team = read_team(work.problem, pair, work.rules, _MAX_PAIR)
        if team is None or not can_list_rules(team):
            continue
        search = RuleSearch(team)
        numbers = search.numbers(work.rules)
        best = branch_and_bound(search, (), start=(search.upper(numbers), numbers)).state
        if best.best is not None and best.score / team.scale > value + least:
            put(work.tree, work.rules, search.rules(best.best))
            value, quiet = work.tree.total().expected_utility, 0
    return value


def settle_jointly(work: JointSearch) -> None:
    """Find the best rules, by one way after the other until there is a proof or the time is over.

    A short search of the table of all that is seen and done, if that is small; short lists of policies; a longer search
    of the table; longer lists; and where all that was of no avail, a walk through neighbourhoods of good rules.
    """
    search = TableSearch.read(work, _SMALL_TEAM)
    if search is not None:
        search.go_on(work.watch.seconds_left, _FIRST_LOOK // search.team.table.size)
    if work.is_proved:
        return
    work.improve(work.own_rules)
    stages = None if work.is_over else read_stages(work.problem, work.members, work.rules, _MAX_STATES)
    _list_policies(work, stages, _FEW)
    if not work.is_over:
        # So many entries that reading the table takes a part of the time only.
        room = int(min(max(_TEAM, work.watch.seconds_left * _ENTRIES_PER_SECOND), _MAX_TEAM))
        search = search or TableSearch.read(work, room)
        if search is not None:
            search.go_on(work.watch.seconds_left / 2)
    if not work.is_over:
        _list_policies(work, stages, _MANY)
    if not work.is_over:
        search_neighborhoods(work)


def _list_policies(work: JointSearch, stages: Stages | None, limits: tuple[int, ...]) -> None:
    """Search by lists of policies, in passes that keep more and more of them."""
    steps = 0

    def is_over() -> bool:
        nonlocal steps
        steps += 1
        return work.watch.tell(work.state(steps))

    if stages is None:
        return
    for limit in limits:
        lists = search_policies(stages, (limit,), work.watch.options.generator(), is_over)
        if lists.is_complete:
            work.finish(lists.rules)
        else:
            constant = work.improve(lists.rules) - lists.value
            work.upper = min(work.upper, lists.upper + constant)
        if work.is_over:
            break


@dataclass(slots=True)
class Settling:
    """The rules so far."""

    rules: Rules  # one for each decision; uniform where it is not settled
    num_settled: int = 0  # how many decisions are settled
    is_proved: bool = True  # whether the rules of these are best
    #: A bound on the expected utility of all strategies, where the search of the last component left one.
    upper_bound: float = math.inf

    @property
    def is_finished(self) -> bool:
        return self.num_settled == len(self.rules)


def settle(
    problem: DecisionProblem,
    tree: Weighing,
    components: Sequence[tuple[str, ...]],
    in_time: Sequence[str],
    watch: Watch,
) -> Settling:
    """Settle one component after the other, those relied on first; a decision alone by its best rule, once.

    From fully mixed rules, so that all that can be seen has a chance, this gives a global optimum if every component
    is settled exactly (Koller & Milch 2003; Koller & Friedman 2009, algorithm 23.3).
    """
    state = Settling(problem.uniform_rules())
    for component in components:
        state.upper_bound = math.inf  # a bound from before says nothing about what comes now
        if len(component) == 1:
            name = component[0]
            state.rules[name] = first_best_rule(tree.weighted(name))
            tree.replace(name, state.rules[name])
        else:
            members = [name for name in in_time if name in set(component)]
            work = JointSearch(problem, tree, state.rules, members, watch, state.num_settled)
            settle_jointly(work)
            state.upper_bound = work.upper if state.is_proved else math.inf
            state.is_proved = state.is_proved and work.is_proved
        state.num_settled += len(component)
        if watch.options.progress is not None:
            watch.tell(SolvingState(state.num_settled, len(state.rules), tree.total().expected_utility))
        if watch.is_stopped:
            break
    return state
