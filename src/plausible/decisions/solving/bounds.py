"""Bounds on the expected utility of all strategies, for where no proof was found."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.joint_table import weighing
from plausible.decisions.solving.options import Watch
from plausible.decisions.solving.policy_sets import search_policies
from plausible.decisions.solving.problem import Task, read_task
from plausible.decisions.solving.stages import read_stages
from plausible.decisions.solving.updating import improve
from plausible.decisions.structure.recall import temporal_order, with_recall
from plausible.errors import TooLarge


def relaxed_bound(diagram: Diagram, findings: Mapping[str, Floats], max_entries: int = 2**22) -> float:
    """The expected utility of the best strategy where decisions remember all, or, if that is too much, know all.

    Whoever knows more can do as well by ignoring it, so no strategy of the diagram does better. With perfect recall no
    decisions rely on each other, and each rule is found once. Knowing everything that is not yet to be influenced is
    more, but as then much of it need not be known, it may be easier.
    """
    for relax in (with_recall, _with_foresight):
        try:
            return _solved(relax(diagram), findings, max_entries)
        except TooLarge:
            continue
    return math.inf


def _solved(diagram: Diagram, findings: Mapping[str, Floats], max_entries: int) -> float:
    task = read_task(diagram, findings)
    problem = task.problem
    entries = sum(math.prod(map(float, problem.family_shape(name))) for name in problem.families)
    if entries > max_entries:
        raise TooLarge(f"The rules of the bound would have {entries:.3g} entries.")
    rules = problem.uniform_rules()
    tree = weighing(problem, rules, max_entries)
    for (name,) in task.structure.components:
        improve(tree, name, rules)
    return tree.total().expected_utility


def _with_foresight(diagram: Diagram) -> Diagram:
    """The diagram where each decision sees all that neither it nor a later one has an influence on."""
    order = temporal_order(diagram)
    sees: dict[str, tuple[str, ...]] = {}
    influenced: set[object] = set()
    for name in reversed(order):
        influenced |= {name, *diagram.graph.descendants(name)}
        sees[name] = tuple(other for other in diagram.variables if other not in influenced)
    return diagram.with_information(sees)


#: The bound by policies is looked for if no stage has more states and actions.
_MAX_STATES = 2**10
#: So many policies are kept for each decision.
_NUM_POLICIES = 16
#: The tables of a relaxed problem have no fewer entries than the first, no more than the second, and so many a second.
_MIN_ENTRIES, _MAX_ENTRIES, _ENTRIES_PER_SECOND = 2**15, 2**22, 2**19


def upper_bound(task: Task, watch: Watch) -> float:
    """What no strategy exceeds: the least of the best outcome, what knowing more is worth, and merged policies.

    The less time is left the coarser it is.
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
