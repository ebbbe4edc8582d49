"""A bound on the expected utility of all strategies, for where no proof was found."""

from __future__ import annotations

import math

import numpy as np

from plausible.decisions.solving.joint_table import weighing
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


def upper_bound(task: Task) -> float:
    """What no strategy exceeds: the smaller of what knowing more would be worth and what merged policies are.

    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> from plausible.decisions.solving.task import read_task
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> upper_bound(read_task(pair, {}))
    2.0
    """
    return min(relaxed_bound(task.diagram, task.findings), _policy_bound(task))


def _policy_bound(task: Task) -> float:
    """A pass over all decisions with few policies for each: see `plausible.decisions.solving.policy_sets`."""
    in_time = temporal_order(task.diagram)
    stages = read_stages(task.problem, in_time, {}, _MAX_STATES) if in_time else None
    if stages is None:
        return math.inf
    rules = task.problem.uniform_rules()
    constant = weighing(task.problem, rules).total().expected_utility - stages.worth(rules)
    found = search_policies(stages, (_NUM_POLICIES,), np.random.default_rng(0), lambda: False)
    return found.upper + constant
