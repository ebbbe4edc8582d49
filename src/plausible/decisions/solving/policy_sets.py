"""Decisions that rely on each other, settled together: from the last to the first, all policies that may be best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Ints
from plausible.decisions.solving.stages import Stage, Stages
from plausible.decisions.solving.updating import Rules

#: Whether the time is over is asked after so many comparisons of one function with all others.
_OFTEN = 64


class Domain(NamedTuple):
    """The distributions x on which functions v · x are compared: x ≥ 0 sums to a given mass on each group."""

    groups: Ints  # the group of each coordinate, in increasing order
    masses: Floats  # the mass of each group
    points: Floats  # some of the distributions, one in each row: what is largest there is surely needed

    def lead(self, vectors: Floats, other: Floats) -> Floats:
        """For each vector v the largest v · x - other · x."""
        starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        return np.asarray(np.maximum.reduceat(vectors - other, starts, axis=1) @ self.masses)


def undominated(vectors: Floats, domain: Domain, tolerance: float, is_over: Callable[[], bool] = lambda: False) -> Ints:
    """The numbers of vectors such that each other one is nowhere larger than one of them, up to a tolerance.

    Those that are largest at some of the points come first; once `is_over` more than needed may be kept.
    """
    worth = vectors @ domain.points.T
    winners = np.unique(worth.argmax(axis=0))
    order = [*winners.tolist(), *np.argsort(-worth.mean(axis=1), kind="stable").tolist()]
    alive = np.ones(len(vectors), dtype=bool)
    kept: list[int] = []
    for number in order:
        if alive[number]:
            if len(kept) % _OFTEN == _OFTEN - 1 and is_over():
                kept += np.flatnonzero(alive).tolist()
                break
            kept.append(number)
            left = np.flatnonzero(alive)
            alive[left] = domain.lead(vectors[left], vectors[number]) > tolerance
            alive[number] = False
    return np.array(sorted(kept))


def merged(vectors: Floats, domain: Domain, limit: int) -> tuple[Floats, Ints]:
    """No more vectors than a limit that are nowhere smaller: the others raise the one that they lead by least."""
    worth = vectors @ domain.points.T
    wins = np.bincount(worth.argmax(axis=0), minlength=len(vectors))
    order = np.lexsort((-worth.mean(axis=1), -wins))
    kept = np.sort(order[:limit])
    if limit == 1:
        return vectors.max(axis=0, keepdims=True), kept
    raised = vectors[kept].copy()
    for number in order[limit:].tolist():
        nearest = int(domain.lead(vectors[number] - raised, np.zeros(1)).argmin())
        raised[nearest] = np.maximum(raised[nearest], vectors[number])
    return raised, kept


#: Strategies drawn at random, to see which policies are best after them.
_NUM_DRAWN = 64
#: What is lost where policies count as equal, in all, as a part of the range of the utility.
_LOSS = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class PolicySearch:
    """The best rules that were found."""

    rules: Rules  # one for each decision
    value: float  # what they are worth, but for a constant
    upper: float  # no strategy is worth more, but for the same constant
    is_complete: bool  # whether these are the best rules


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
    """
    points = list(_drawn(stages, rng))
    best = _recovered(stages, _pass(stages, points, limits[0], is_over))
    for limit in limits[1:]:
        if best.is_complete or is_over():
            break
        other = _recovered(stages, _pass(stages, points, limit, is_over))
        better = max(best, other, key=lambda search: search.value)
        best = PolicySearch(better.rules, better.value, min(best.upper, other.upper), other.is_complete)
    return best


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
