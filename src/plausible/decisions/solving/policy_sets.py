"""Decisions that rely on each other, settled together: from the last to the first, all policies that may be best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.decisions.solving.dominance import Domain, merged, undominated
from plausible.decisions.solving.stages import Stage, Stages
from plausible.decisions.solving.updating import Rules

__all__ = ["PolicySearch", "search_policies"]

#: Strategies drawn at random, to see which policies are best after them.
_NUM_DRAWN = 64
#: What is lost where policies count as equal, in all, as a part of the range of the utility.
_LOSS = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class PolicySearch:
    """The best rules that were found.

    Attributes
    ----------
    rules
        One for each decision.
    value
        What they are worth, but for a constant.
    upper
        No strategy is worth more, but for the same constant.
    is_complete
        Whether these are the best rules.
    """

    rules: Rules
    value: float
    upper: float
    is_complete: bool


class _Policies(NamedTuple):
    """What may be done from a stage on: a number of policies.

    `worth` says what each is worth from each state; `choices` the action in each information state that can happen;
    `following` the number of the policy that goes on at the next stage.
    """

    worth: Floats
    choices: Ints
    following: Ints
    is_complete: bool


def search_policies(
    stages: Stages, limits: Sequence[int], rng: np.random.Generator, is_over: Callable[[], bool]
) -> PolicySearch:
    """The rules with the largest expected utility, and a bound on it, which is tight if there is time.

    From the last decision to the first the policies for what is left are listed, a vector α(s) of their worth in each
    state for each. A policy is dropped where for every distribution of the states that could come about another is as
    good: multiple policy updating (Mauá, de Campos & Zaffalon 2012), where mixtures of distributions count as possible,
    as in partially observed Markov processes. Where more are left than a limit, some are replaced by the pointwise
    largest of their worths, which leaves an upper bound; passes with larger limits follow.

    Parameters
    ----------
    stages
        The decisions.
    limits
        How many policies are kept for each decision, in each pass over all decisions.
    rng
        Draws strategies that tell which policies are surely needed.
    is_over
        Asked before each step: whether to come to an end. Then all policies are merged into one.

    Examples
    --------
    >>> from plausible.decisions.solving.problem import read_problem
    >>> from plausible.decisions.solving.stages import read_stages
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> stages = read_stages(read_problem(pair, {}), ["D", "E"], {}, max_states=64)
    >>> found = search_policies(stages, [8], np.random.default_rng(0), lambda: False)
    >>> found.value, found.is_complete, found.rules["D"]
    (2.0, True, array([0., 1.]))
    """
    points = list(_drawn(stages, rng))
    found = _recovered(stages, _pass(stages, points, limits[0], is_over))
    for limit in limits[1:]:
        if found.is_complete or is_over():
            break
        other = _recovered(stages, _pass(stages, points, limit, is_over))
        better = max(found, other, key=lambda search: search.value)
        found = PolicySearch(better.rules, better.value, min(found.upper, other.upper), other.is_complete)
    return found


def _pass(stages: Stages, points: list[Floats], limit: int, is_over: Callable[[], bool]) -> list[_Policies]:
    """The policies of each stage, from the last stage to the first; the layers come in time."""
    num_rows = sum(len(np.unique(stage.rows)) for stage in stages.stages)
    tolerance = _LOSS * sum(float(np.ptp(stage.rewards)) for stage in stages.stages) / num_rows
    worth, layers = np.zeros((1, 1)), []
    for stage, drawn in zip(reversed(stages.stages), reversed(points), strict=True):
        layers.append(_policies(stage, worth, drawn, tolerance, limit, is_over))
        worth = layers[-1].worth
    return layers[::-1]


def _policies(
    stage: Stage, worth: Floats, drawn: Floats, tolerance: float, limit: int, is_over: Callable[[], bool]
) -> _Policies:
    """The policies from a stage on: the rule there is fixed in one information state after the other."""
    order = np.argsort(stage.groups, kind="stable")
    actions = stage.num_actions
    rows, row_of = np.unique(stage.rows[order], return_inverse=True)
    domain = Domain(np.repeat(stage.groups[order], actions), stage.masses, drawn[:, order].reshape(len(drawn), -1))
    gains = stage.rewards - stage.rewards.mean()  # a constant makes no difference, but for what floats lose
    table = (gains + np.tensordot(worth, stage.transitions, axes=(1, 2)))[:, order]
    following, choices = np.arange(len(worth)), np.zeros((len(worth), len(rows)), dtype=np.int64)
    is_complete = True
    for row in range(len(rows)):
        table, choices = _fixed(table, choices, row, row_of == row)
        following = np.tile(following, actions)
        flat = table.reshape(len(table), -1)
        in_hurry = is_over()
        kept = np.arange(len(flat)) if in_hurry else undominated(flat, domain, tolerance, is_over)
        flat = flat[kept]
        allowed = 1 if in_hurry else limit
        if len(kept) > allowed:
            flat, some = merged(flat, domain, allowed)
            kept, is_complete = kept[some], False
        table = flat.reshape(len(kept), *table.shape[1:])
        following, choices = following[kept], choices[kept]
    back = np.empty_like(table[:, :, 0])
    back[:, order] = table[:, :, 0]
    return _Policies(back, choices, following, is_complete)


def _fixed(table: Floats, choices: Ints, row: int, inside: Ints) -> tuple[Floats, Ints]:
    """Each policy once for each action in an information state; there the worth is that of this action."""
    tables, listed = [], []
    for action in range(table.shape[-1]):
        tables.append(np.where(inside[:, None], table[:, :, action, None], table))
        listed.append(choices.copy())
        listed[-1][:, row] = action
    return np.concatenate(tables), np.concatenate(listed)


def _recovered(stages: Stages, layers: list[_Policies]) -> PolicySearch:
    """The rules of the best policy, and the bound."""
    worth = layers[0].worth @ stages.start
    policy = int(worth.argmax())
    offset = math.fsum(float(stage.rewards.mean()) for stage in stages.stages)
    rules: Rules = {}
    for stage, layer in zip(stages.stages, layers, strict=True):
        rule = np.zeros((math.prod(stage.rule_shape[:-1]), stage.num_actions))
        rule[:, 0] = 1.0
        rule[np.unique(stage.rows)] = np.eye(stage.num_actions)[layer.choices[policy]]
        rules[stage.decision] = rule.reshape(stage.rule_shape)
        policy = int(layer.following[policy])
    value = stages.worth(rules)
    is_complete = all(layer.is_complete for layer in layers)
    upper = value if is_complete else max(value, float(worth.max()) + offset)
    return PolicySearch(rules, value, upper, is_complete)


def _drawn(stages: Stages, rng: np.random.Generator) -> Iterator[Floats]:
    """For each stage how likely states and actions are under some strategies, half of them deterministic."""
    occupied = np.tile(stages.start, (_NUM_DRAWN, 1))
    for stage in stages.stages:
        rows, row_of = np.unique(stage.rows, return_inverse=True)
        rule = rng.dirichlet(np.ones(stage.num_actions), (_NUM_DRAWN, len(rows)))
        half = _NUM_DRAWN // 2
        rule[:half] = np.eye(stage.num_actions)[rng.integers(stage.num_actions, size=(half, len(rows)))]
        taken = occupied[:, :, None] * rule[:, row_of]
        yield taken
        occupied = np.tensordot(taken, stage.transitions, axes=2)
