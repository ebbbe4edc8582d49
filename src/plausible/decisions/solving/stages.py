"""Some decisions in time as a Markov chain: between two of them only the states of what is of use are passed on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.decisions.solving.blocks import Blocks, read_blocks
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import Floats, Ints, Problem
from plausible.errors import TooLarge

__all__ = ["Stage", "Stages", "read_stages"]


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A decision and what comes of it, on all states s of what is of use before it that can happen.

    Attributes
    ----------
    decision
        Its name.
    rows
        For each s the number of the information state that the decision sees then, of all that it may see.
    rule_shape
        The shape of its rule.
    groups, masses
        For each s a group, and the probability of each group: no decision has an influence on it.
    rewards
        (s, action) -> what the utilities that are settled before the next decision are worth.
    transitions
        (s, action, next s) -> probability; the last stage ends in a single state.
    """

    decision: str
    rows: Ints
    rule_shape: tuple[int, ...]
    groups: Ints
    masses: Floats
    rewards: Floats
    transitions: Floats

    @property
    def num_actions(self) -> int:
        """The number of actions."""
        return self.rule_shape[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """E[U] but for a constant, as Σ_i x_i · r_i with x_i(s, d) = p_i(s) δ_i(d | row of s) and p_{i+1} = x_i T_i.

    Attributes
    ----------
    start
        p_1: the distribution of the states before the first decision.
    stages
        One for each decision, in time.
    """

    start: Floats
    stages: tuple[Stage, ...]

    def worth(self, rules: Mapping[str, Floats]) -> float:
        """Σ_i x_i · r_i under some rules."""
        occupied, value = self.start, 0.0
        for stage in self.stages:
            taken = occupied[:, None] * rules[stage.decision].reshape(-1, stage.num_actions)[stage.rows]
            value += float((taken * stage.rewards).sum())
            occupied = np.tensordot(taken, stage.transitions, axes=2)
        return value


def read_stages(
    problem: Problem, decisions: Sequence[str], rules: Mapping[str, Floats], max_states: int
) -> Stages | None:
    """Some decisions (in time) as stages, the rules of all others given; None where there would be too many states.

    Parameters
    ----------
    problem
        The tables.
    decisions
        The decisions that are open, in time.
    rules
        The rules of the others.
    max_states
        The limit on the pairs of a state and an action of one stage.

    Examples
    --------
    >>> from plausible.decisions.solving.problem import read_problem
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> first, second = read_stages(read_problem(pair, {}), ["D", "E"], {}, max_states=64).stages
    >>> first.transitions[0], second.rewards
    (array([[1., 0.],
           [0., 1.]]), array([[1., 0.],
           [0., 2.]]))
    """
    if problem.num_auxiliary:
        return None
    given = {name: rule for name, rule in rules.items() if name not in set(decisions)}
    blocks = read_blocks(problem, decisions, given)
    own = [problem.families[name][-1] for name in decisions]
    sizes = problem.sizes
    inputs = [(), *((*scope, number) for scope, number in zip(blocks.separators, own, strict=True))]
    if any(math.prod(sizes[v] for v in scope) > max_states for scope in inputs):
        return None
    try:
        steps = [_step(problem, blocks, place, scope) for place, scope in enumerate(inputs)]
    except TooLarge:
        return None
    start, chain = _conditioned(steps, [problem.family_shape(name)[-1] for name in decisions])
    return _reachable(problem, decisions, blocks, start, chain)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What a block makes of its input: weights (input, output), and the same times the utilities of the block."""

    weights: Floats
    weighted: Floats


def _step(problem: Problem, blocks: Blocks, place: int, inputs: tuple[int, ...]) -> _Step:
    """A block summed to its input and its output; what is in both is the same on both sides."""
    outputs = (*blocks.separators, ())[place]
    fresh = tuple(v for v in outputs if v not in inputs)
    tables = blocks.part(problem, place, (*inputs, *fresh))
    scope = tuple(range(len(inputs) + len(fresh)))
    tree = JointTree(tables, {}, [scope])
    phi, psi = tree.open_table(tree.together[0], scope, ())
    sizes = [problem.variables[v].num_states for v in (*inputs, *fresh)]
    positions = np.indices(sizes, sparse=True)
    targets: Ints = np.zeros(sizes, dtype=np.int64)
    for v in outputs:
        targets = targets * problem.variables[v].num_states + positions[(*inputs, *fresh).index(v)]
    num_in, num_out = (math.prod(problem.variables[v].num_states for v in scope) for scope in (inputs, outputs))
    weights, weighted = np.zeros((num_in, num_out)), np.zeros((num_in, num_out))
    rows = np.arange(num_in)[:, None]
    weights[rows, targets.reshape(num_in, -1)] = phi.reshape(num_in, -1)
    weighted[rows, targets.reshape(num_in, -1)] = psi.reshape(num_in, -1)
    return _Step(weights, weighted)


def _conditioned(steps: Sequence[_Step], num_actions: Sequence[int]) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """The first distribution, and for each stage rewards and transitions, given all evidence.

    How likely the evidence that comes later is does not depend on what is done, as it is there before all decisions.
    """
    ahead: Floats = np.ones(1)
    chain = []
    for step, actions in zip(reversed(steps[1:]), reversed(num_actions), strict=True):
        total = step.weights @ ahead
        scale = np.where(total > 0, total, 1.0)
        rewards = (step.weighted @ ahead / scale).reshape(-1, actions)
        chain.append((rewards, (step.weights * ahead / scale[:, None]).reshape(-1, actions, len(ahead))))
        ahead = total.reshape(-1, actions).max(axis=1)
        ahead = ahead / ahead.max()
    start = steps[0].weights[0] * ahead
    return start / start.sum(), chain[::-1]


def _reachable(
    problem: Problem, decisions: Sequence[str], blocks: Blocks, start: Floats, chain: list[tuple[Floats, Floats]]
) -> Stages:
    """The stages on the states that can happen, whatever is done."""
    sizes = problem.sizes
    occupied, kept, stages = start, np.flatnonzero(start > 0), []
    first = kept
    for place, (name, scope) in enumerate(zip(decisions, blocks.separators, strict=True)):
        rewards, transitions = chain[place]
        shape = [sizes[v] for v in scope]
        states = np.indices(shape).reshape(len(scope), math.prod(shape))[:, kept]
        seen = _numbered(states, [scope.index(v) for v in problem.families[name][:-1]], sizes, scope)
        fixed = [axis for axis, v in enumerate(scope) if not blocks.is_influenced[v]]
        _, groups = np.unique(_numbered(states, fixed, sizes, scope), return_inverse=True)
        masses: Floats = np.bincount(groups, occupied[kept]).astype(np.float64)
        occupied = occupied @ transitions.mean(axis=1)
        following = np.flatnonzero(occupied > 0)
        moves = transitions[kept][:, :, following]
        stages.append(Stage(name, seen, problem.family_shape(name), groups, masses, rewards[kept], moves))
        kept = following
    return Stages(start[first], tuple(stages))


def _numbered(states: Ints, axes: Sequence[int], sizes: Sequence[int], scope: tuple[int, ...]) -> Ints:
    """The states of some axes as one number, the last axis changing fastest."""
    number: Ints = np.zeros(states.shape[1], dtype=np.int64)
    for axis in axes:
        number = number * sizes[scope[axis]] + states[axis]
    return number
