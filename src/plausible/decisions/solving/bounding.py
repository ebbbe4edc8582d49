"""A bound on the expected utility of all strategies, for where no proof was found."""

from __future__ import annotations

import math

import numpy as np

from plausible.decisions.solving.joint_table import weighing
from plausible.decisions.solving.options import Watch
from plausible.decisions.solving.policy_sets import search_policies
from plausible.decisions.solving.relaxation import relaxed_bound
from plausible.decisions.solving.stages import read_stages
from plausible.decisions.solving.task import Task
from plausible.decisions.structure.recall import temporal_order

__all__ = ["upper_bound"]

#: The bound by policies is looked for if no stage has more states and actions.
_MAX_STATES = 2**10
#: So many policies are kept for each decision.
_NUM_POLICIES = 16
#: The tables of a relaxed problem have no fewer entries than the first, no more than the second, and so many a second.
_MIN_ENTRIES, _MAX_ENTRIES, _ENTRIES_PER_SECOND = 2**15, 2**22, 2**19


def upper_bound(task: Task, watch: Watch) -> float:
    """What no strategy exceeds: the least of the best outcome, what knowing more is worth, and merged policies.

    The less time is left the coarser it is.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> from plausible.decisions.solving.options import Options
    >>> from plausible.decisions.solving.task import read_task
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> upper_bound(read_task(pair, {}), Watch(Options()))
    2.0
    """
    room = min(max(watch.seconds_left * _ENTRIES_PER_SECOND, _MIN_ENTRIES), _MAX_ENTRIES)
    best_outcome = math.fsum(float(table.max()) for _, table in task.problem.utilities)
    relaxed = relaxed_bound(task.diagram, task.findings, int(room))
    return min(best_outcome, relaxed, _policy_bound(task, watch))


def _policy_bound(task: Task, watch: Watch) -> float:
    """A pass over all decisions with few policies for each: see `plausible.decisions.solving.policy_sets`."""
    in_time = temporal_order(task.diagram)
    stages = read_stages(task.problem, in_time, {}, _MAX_STATES) if in_time and not watch.is_over else None
    if stages is None:
        return math.inf
    rules = task.problem.uniform_rules()
    constant = weighing(task.problem, rules).total().expected_utility - stages.worth(rules)
    found = search_policies(stages, (_NUM_POLICIES,), np.random.default_rng(0), lambda: watch.is_over)
    return found.upper + constant
