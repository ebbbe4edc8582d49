"""Rules for all decisions, in the order in which they rely on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.options import SolvingState, Watch
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.team_work import Together
from plausible.decisions.solving.together import settle_together
from plausible.decisions.solving.updating import Rules, first_best_rule

__all__ = ["Settling", "settle"]


@dataclass(slots=True)
class Settling:
    """The rules so far.

    Attributes
    ----------
    rules
        One for each decision; uniform where it is not settled.
    num_settled
        How many decisions are settled.
    is_proved
        Whether the rules of these are best.
    upper_bound
        A bound on the expected utility of all strategies, where the search of the last component left one.
    """

    rules: Rules
    num_settled: int = 0
    is_proved: bool = True
    upper_bound: float = math.inf

    @property
    def is_finished(self) -> bool:
        """Whether all decisions are settled."""
        return self.num_settled == len(self.rules)


def settle(
    problem: Problem, tree: Weighing, components: Sequence[tuple[str, ...]], in_time: Sequence[str], watch: Watch
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
    watch
        The time that is left.
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
            work = Together(problem, tree, state.rules, members, watch, state.num_settled)
            settle_together(work)
            state.upper_bound = work.upper if state.is_proved else math.inf
            state.is_proved = state.is_proved and work.is_proved
        state.num_settled += len(component)
        if watch.options.progress is not None:
            watch.tell(SolvingState(state.num_settled, len(state.rules), tree.total().expected_utility))
        if watch.is_stopped:
            break
    return state
