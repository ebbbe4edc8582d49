"""Some decisions in time as a Markov chain: between two of them only the states of what is of use are passed on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from plausible.base import Floats, Ints
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import DecisionProblem, Tabled
from plausible.errors import TooLarge


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Block i holds the tables that come to bear after i of the decisions."""

    #: The tables of each block; utilities that no decision has an influence on are left out.
    probabilities: tuple[tuple[Tabled, ...], ...]
    utilities: tuple[tuple[Tabled, ...], ...]
    #: For each decision what is used both before it and from it on: all that it sees among it.
    separators: tuple[tuple[int, ...], ...]
    is_influenced: tuple[bool, ...]  # for each variable whether it depends on what the decisions do

    def part(self, problem: DecisionProblem, place: int, scope: Sequence[int]) -> DecisionProblem:
        """One block as a problem of its own, the variables of `scope` numbered first."""
        tables = (*self.probabilities[place], *self.utilities[place])
        numbers = {v: new for new, v in enumerate(dict.fromkeys((*scope, *(v for own, _ in tables for v in own))))}

        def renumbered(listed: Sequence[Tabled]) -> tuple[Tabled, ...]:
            return tuple((tuple(numbers[v] for v in own), values) for own, values in listed)

        return DecisionProblem(
            variables=tuple(problem.variables[v] for v in numbers),
            probabilities=renumbered(self.probabilities[place]),
            utilities=renumbered(self.utilities[place]),
            families={},
            is_conditioned=problem.is_conditioned,
        )


def read_blocks(problem: DecisionProblem, decisions: Sequence[str], given: Mapping[str, Floats]) -> Blocks:
    """Every distribution as late as what needs it allows, and every utility as soon as all it depends on is there."""
    tables = [*problem.probabilities, *((problem.families[name], rule) for name, rule in given.items())]
    born = {problem.families[name][-1]: place + 1 for place, name in enumerate(decisions)}
    num_variables = len(problem.variables)
    parents: list[set[int]] = [set() for _ in range(num_variables)]
    for scope, _ in tables:
        parents[max(scope, default=0)].update(scope)
    earliest, is_influenced = [0] * num_variables, [v in born for v in range(num_variables)]
    for v in range(num_variables):
        earliest[v] = born.get(v, max((earliest[parent] for parent in parents[v] - {v}), default=0))
        is_influenced[v] = is_influenced[v] or any(is_influenced[parent] for parent in parents[v])
    utilities = [table for table in problem.utilities if any(is_influenced[v] for v in table[0])]
    place_of = _latest(problem, decisions, parents, earliest, [scope for scope, _ in utilities])
    place_of.update(born)
    by_place: list[list[Tabled]] = [[] for _ in range(len(decisions) + 1)]
    gains: list[list[Tabled]] = [[] for _ in range(len(decisions) + 1)]
    for table in tables:
        by_place[max((place_of[v] for v in table[0]), default=0)].append(table)
    for table in utilities:
        gains[max(place_of[v] for v in table[0])].append(table)
    separators = _separators(problem, decisions, [[*a, *b] for a, b in zip(by_place, gains, strict=True)])
    return Blocks(tuple(map(tuple, by_place)), tuple(map(tuple, gains)), separators, tuple(is_influenced))


def _latest(
    problem: DecisionProblem,
    decisions: Sequence[str],
    parents: Sequence[set[int]],
    earliest: Sequence[int],
    utilities: Sequence[tuple[int, ...]],
) -> dict[int, int]:
    """For each variable the last block in which its distribution still comes in time."""
    needed: dict[int, int] = {}

    def need(v: int, place: int) -> None:
        needed[v] = min(needed.get(v, place), place)

    for place, name in enumerate(decisions):
        for v in problem.families[name][:-1]:
            need(v, place)
    for scope in utilities:
        for v in scope:
            need(v, max(earliest[other] for other in scope))
    for v in reversed(range(len(problem.variables))):
        needed.setdefault(v, earliest[v])
        for parent in parents[v] - {v}:
            need(parent, needed[v])
    return needed


def _separators(
    problem: DecisionProblem, decisions: Sequence[str], blocks: Sequence[Sequence[Tabled]]
) -> tuple[tuple[int, ...], ...]:
    """What is used both before a decision and from it on, for each decision."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, block in enumerate(blocks):
        uses = [(2 * place, scope) for scope, _ in block]
        if place < len(decisions):
            uses.append((2 * place + 1, problem.families[decisions[place]]))
        for time, scope in uses:
            for v in scope:
                first.setdefault(v, time)
                last[v] = time
    shared: list[list[int]] = [[] for _ in decisions]
    for v in first:
        for place in range((first[v] + 1) // 2, (last[v] + 1) // 2):
            shared[place].append(v)
    return tuple(map(tuple, shared))


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A decision and what comes of it, on all states s of what is of use before it that can happen."""

    decision: str  # its name
    rows: Ints  # for each s the number of the information state that the decision sees then, of all that it may see
    rule_shape: tuple[int, ...]  # the shape of its rule
    groups: Ints  # for each s a group, and the probability of each group: no decision has an influence on it
    masses: Floats
    rewards: Floats  # (s, action) -> what the utilities that are settled before the next decision are worth
    transitions: Floats  # (s, action, next s) -> probability; the last stage ends in a single state

    @property
    def num_actions(self) -> int:
        return self.rule_shape[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """E[U] but for a constant, as Σ_i x_i · r_i with x_i(s, d) = p_i(s) δ_i(d | row of s) and p_{i+1} = x_i T_i."""

    start: Floats  # p_1: the distribution of the states before the first decision
    stages: tuple[Stage, ...]  # one for each decision, in time

    def worth(self, rules: Mapping[str, Floats]) -> float:
        """Σ_i x_i · r_i under some rules."""
        occupied, value = self.start, 0.0
        for stage in self.stages:
            taken = occupied[:, None] * rules[stage.decision].reshape(-1, stage.num_actions)[stage.rows]
            value += float((taken * stage.rewards).sum())
            occupied = np.tensordot(taken, stage.transitions, axes=2)
        return value


def read_stages(
    problem: DecisionProblem, decisions: Sequence[str], rules: Mapping[str, Floats], max_states: int
) -> Stages | None:
    """Some decisions (in time) as stages, the rules of all others given; None where there would be too many states."""
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
    start, chain = _conditioned(steps, [sizes[v] for v in own])
    return _reachable(problem, decisions, blocks, start, chain)


#: What a block makes of its input: the logarithms of weights (input, output), and the utility expected there.
_Step: TypeAlias = tuple[Floats, Floats]


def _step(problem: DecisionProblem, blocks: Blocks, place: int, inputs: tuple[int, ...]) -> _Step:
    """A block summed to its input and its output; what is in both is the same on both sides."""
    sizes = problem.sizes
    outputs = (*blocks.separators, ())[place]
    both = (*inputs, *(v for v in outputs if v not in inputs))
    axes = tuple(range(len(both)))
    tree = JointTree(blocks.part(problem, place, both), {}, [axes])
    tables = tree.log_table(0, axes)
    num_in, num_out = (math.prod(sizes[v] for v in scope) for scope in (inputs, outputs))
    columns = _numbered(_states(both, sizes), both, outputs, sizes).reshape(num_in, -1)
    logs, gains = np.full((num_in, num_out), -np.inf), np.zeros((num_in, num_out))
    for spread_out, table in zip((logs, gains), tables, strict=True):
        spread_out[np.arange(num_in)[:, None], columns] = table.reshape(num_in, -1)
    return logs, gains


def _conditioned(steps: Sequence[_Step], num_actions: Sequence[int]) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """The first distribution, and for each stage rewards and transitions, given all evidence.

    How likely the evidence that comes later is does not depend on what is done, as it is there before all decisions.
    """
    ahead: Floats = np.zeros(1)
    chain = []
    for (logs, gains), actions in zip(reversed(steps[1:]), reversed(num_actions), strict=True):
        totals, transitions = _normalized(logs + ahead)
        rewards = (transitions * gains).sum(axis=1).reshape(-1, actions)
        chain.append((rewards, transitions.reshape(-1, actions, len(ahead))))
        ahead = totals.reshape(-1, actions).max(axis=1)
    _, start = _normalized(steps[0][0] + ahead)
    return start[0], chain[::-1]


def _normalized(logs: Floats) -> tuple[Floats, Floats]:
    """The logarithm of the total of each row, and the row as a distribution; zeros where it has none."""
    peaks = logs.max(axis=1, keepdims=True)
    peaks = np.where(peaks > -np.inf, peaks, 0.0)
    weights = np.exp(logs - peaks)
    totals = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return (np.log(totals) + peaks)[:, 0], weights / np.where(totals > 0, totals, 1.0)


def _reachable(
    problem: DecisionProblem,
    decisions: Sequence[str],
    blocks: Blocks,
    start: Floats,
    chain: list[tuple[Floats, Floats]],
) -> Stages:
    """The stages on the states that can happen, whatever is done."""
    sizes = problem.sizes
    occupied, is_reached, stages = start, start > 0, []
    for name, scope, (rewards, transitions) in zip(decisions, blocks.separators, chain, strict=True):
        states = _states(scope, sizes)[:, is_reached]
        fixed = [v for v in scope if not blocks.is_influenced[v]]
        _, groups = np.unique(_numbered(states, scope, fixed, sizes), return_inverse=True)
        is_next = np.asarray((transitions[is_reached] > 0).any(axis=(0, 1)))
        stage = Stage(
            decision=name,
            rows=_numbered(states, scope, problem.families[name][:-1], sizes),
            rule_shape=problem.family_shape(name),
            groups=groups,
            masses=np.bincount(groups, occupied[is_reached]).astype(np.float64),
            rewards=rewards[is_reached],
            transitions=transitions[is_reached][:, :, is_next],
        )
        stages.append(stage)
        occupied, is_reached = occupied @ transitions.mean(axis=1), is_next
    return Stages(start[start > 0], tuple(stages))


def _states(scope: Sequence[int], sizes: Sequence[int]) -> Ints:
    """(variable, assignment) -> its state there, for all assignments to a scope, the last variable changing fastest."""
    shape = [sizes[v] for v in scope]
    return np.indices(shape).reshape(len(shape), math.prod(shape))


def _numbered(states: Ints, scope: Sequence[int], wanted: Sequence[int], sizes: Sequence[int]) -> Ints:
    """The states of some variables of a scope as one number, the last variable changing fastest."""
    number: Ints = np.zeros(states.shape[1], dtype=np.int64)
    for v in wanted:
        number = number * sizes[v] + states[scope.index(v)]
    return number
