"""Rules for all decisions, in the order in which they rely on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.options import Options, SolvingState
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.team import Chosen, Team, read_team
from plausible.decisions.solving.updating import Rules, ascend, first_best_rule, random_rules
from plausible.inference.search.branch_and_bound import BranchingState, branch_and_bound

__all__ = ["Settling", "climb", "settle"]

#: Decisions that rely on each other are searched for a proof if all that they see and do has no more assignments.
_MAX_TEAM = 2**18


@dataclass(slots=True)
class Settling:
    """The rules so far.

    Attributes
    ----------
    rules
        One for each decision; uniform where it is not settled.
    tree
        What holds the same rules to weigh decisions with.
    num_settled
        How many decisions are settled.
    is_proved
        Whether the rules of these are best.
    upper_bound
        A bound on the expected utility of all strategies, where the search of the last component left one.
    is_stopped
        Whether the caller stopped it.
    """

    rules: Rules
    tree: Weighing
    num_settled: int = 0
    is_proved: bool = True
    upper_bound: float = math.inf
    is_stopped: bool = False
    deadline: float = field(default=math.inf)


def settle(
    problem: Problem, tree: Weighing, components: Sequence[tuple[str, ...]], in_time: Sequence[str], options: Options
) -> Settling:
    """Settle one component after the other, those relied on first; a decision alone by its best rule, once.

    From fully mixed rules, so that all that can be seen has a chance, this gives a global optimum if every component
    is settled exactly (Koller & Milch 2003; Koller & Friedman 2009, algorithm 23.3).

    Parameters
    ----------
    problem, tree
        The problem, and what weighs decisions in it, with uniform rules.
    components
        Decisions that rely on each other together, those relied on first.
    in_time
        All decisions in an order of time.
    options
        How long to search.
    """
    state = Settling(problem.uniform_rules(), tree, deadline=monotonic() + options.time_limit)
    for component in components:
        state.upper_bound = math.inf  # a bound from before says nothing about what comes now
        if len(component) == 1:
            name = component[0]
            state.rules[name] = first_best_rule(tree.weighted(name))
            tree.replace(name, state.rules[name])
        else:
            members = [name for name in in_time if name in set(component)]
            _settle_together(problem, state, members, options)
        state.num_settled += len(component)
        if state.is_stopped or _stops(state, options):
            state.is_proved = state.is_proved and state.num_settled == len(in_time)
            break
    return state


def _stops(state: Settling, options: Options) -> bool:
    if options.progress is None:
        return False
    value = state.tree.total().expected_utility
    return options.told(SolvingState(state.num_settled, len(state.rules), value))


def _settle_together(problem: Problem, state: Settling, members: Sequence[str], options: Options) -> None:
    """The best rules of decisions that rely on each other: with a proof if there is time, or else good ones."""
    team = read_team(problem, members, state.rules, _MAX_TEAM)
    if team is None:
        state.is_proved, state.upper_bound = False, math.inf
        climb(problem, state.tree, members, state.rules, options)
        return
    found = _searched(team, state, options)
    assert found.best is not None
    for name, rule in team.rules(found.best).items():
        state.rules[name] = rule
        state.tree.replace(name, rule)
    if state.is_proved:
        state.upper_bound = found.upper / team.scale
    state.is_proved = state.is_proved and found.is_finished


def _searched(team: Team, state: Settling, options: Options) -> BranchingState[Chosen]:
    def told(search: BranchingState[Chosen]) -> bool:
        value, bound = search.score / team.scale, search.upper / team.scale
        now = SolvingState(state.num_settled, len(state.rules), value, bound, search.num_nodes)
        state.is_stopped = options.told(now)
        return state.is_stopped

    return branch_and_bound(
        team,
        (),
        start=team.start(options.restarts, options.generator()),
        time_limit=max(0.0, state.deadline - monotonic()),
        progress=told if options.progress is not None else None,
    )


def climb(problem: Problem, tree: Weighing, decisions: Sequence[str], rules: Rules, options: Options) -> None:
    """Iterated optimisation of some rules from uniform and random ones; the best local optimum stays.

    The rules of the other decisions are not touched.
    """
    rng = options.generator()
    deadline = monotonic() + options.time_limit
    best: tuple[float, Rules] | None = None
    for restart in range(options.restarts + 1):
        if restart:
            rules.update(random_rules(problem, decisions, rng))
            for name in decisions:
                tree.replace(name, rules[name])
        value = ascend(tree, decisions, rules)
        if best is None or value > best[0]:
            best = value, {name: rules[name] for name in decisions}
        if options.told(SolvingState(0, len(decisions), best[0])) or monotonic() > deadline:
            break
    assert best is not None
    rules.update(best[1])
    for name in decisions:
        tree.replace(name, rules[name])
