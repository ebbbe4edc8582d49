"""Networks over time whose hidden variables have few joint states: one chain, on the kernels of hidden Markov models.

What is hidden and depended on by others makes the state of the chain. Known variables weigh its states, or choose its
transitions; a *leaf*, hidden at some steps, on which nothing depends, weighs them by what is seen of it, and is told
from the beliefs of the state afterwards. Steps at which the same is known share their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.base.tolerances import SCORE_NOISE
from plausible.cpds import CPD
from plausible.models.sequences import state_inference
from plausible.models.sequences.observations import StepBeliefs, StepEvidence
from plausible.models.sequences.slice_program import hidden_scope
from plausible.models.sequences.state_inference import HiddenChains
from plausible.models.sequences.template import lagged
from plausible.variables import Variable

#: A step takes the square of the number of joint states; a tree is faster above this one.
_MOST_STATES = 64
#: Beliefs of all steps, and transitions by all that chooses them, have no more numbers than these; trees need less.
_MOST_BELIEFS, _MOST_TRANSITIONS = 2**25, 2**20
#: Steps whose leaves are told at once.
_BLOCK = 1 << 12
#: Keys are sorted unless there are few for each step.
_KEYS_A_STEP = 8
#: Best states of leaves whose logarithms differ by no more are ties.
_TIE = 100 * SCORE_NOISE


class Distinct(NamedTuple):
    """Steps at which the same is known, told apart."""

    place_of: Ints  # for each step which of the different ones it is
    firsts: Ints  # a step of each of them


@dataclass(frozen=True, slots=True, eq=False)
class JointChains:
    """The joint states of hidden variables, as a chain for each sequence."""

    evidence: StepEvidence
    core: tuple[Variable, ...]  # whose joint states are those of the chain
    leaves: tuple[Variable, ...]

    @classmethod
    def of(cls, evidence: StepEvidence) -> JointChains | None:
        """The chains that the evidence leaves; `None` where there are too many states, or slices look further back."""
        template = evidence.template
        if template.num_first > 1 or evidence.settings:
            return None
        core, leaves = _parted(evidence)
        size = math.prod(variable.num_states for variable in core)
        if size > _MOST_STATES or size * evidence.sequences.num_steps > _MOST_BELIEFS:
            return None
        joint = cls(evidence, core, leaves)
        return joint if joint._num_transitions() * size**2 <= _MOST_TRANSITIONS else None

    # --- questions ---

    def filtered(self) -> StepBeliefs:
        """Beliefs of all hidden variables, side by side, given the steps so far."""
        return self._told(state_inference.filtered)

    def smoothed(self) -> StepBeliefs:
        """The same given all steps; zeros in sequences that are impossible."""
        return self._told(state_inference.smoothed)

    def log_likelihoods(self) -> Floats:
        """log p(o_t | o_1 ... o_t-1) of each step."""
        return state_inference.filtered(self.chains(self.seen_leaves)).step_logs

    def best(self) -> tuple[Floats, Codes]:
        """The logarithm of the probability of each sequence with its best states, and these, a column a variable.

        The logarithm is -inf where a sequence is impossible.
        """
        path, values = state_inference.best_path(self.chains(self.leaves, np.maximum))
        positions = np.unravel_index(path, [variable.num_states for variable in self.core] or [1])
        columns = dict(zip((variable.name for variable in self.core), positions, strict=False))
        for leaf in self.leaves:
            columns[leaf.name] = best = np.zeros(len(path), dtype=np.int64)
            for steps, logs in self._leaf_tables(leaf):
                scores = logs[np.arange(len(steps)), path[steps]]
                best[steps] = np.argmax(scores >= scores.max(axis=1, keepdims=True) - _TIE, axis=1)
        states = [columns[variable.name] for variable in self._hidden]
        return values, np.array(states, dtype=np.int32).reshape(len(states), len(path)).T

    def _told(self, ask: Callable[[HiddenChains], state_inference.StateBeliefs]) -> StepBeliefs:
        """Beliefs of the chain's states as those of the variables."""
        found = ask(self.chains(self.seen_leaves))
        parts = {leaf.name: self._leaf_beliefs(leaf, found.beliefs) for leaf in self.leaves}
        sizes = [variable.num_states for variable in self.core]
        positions = np.unravel_index(np.arange(math.prod(sizes)), sizes or [1])
        for variable, states in zip(self.core, positions, strict=False):
            parts[variable.name] = found.beliefs @ np.eye(variable.num_states)[states]
        ordered = [np.zeros((len(found.beliefs), 0)), *(parts[variable.name] for variable in self._hidden)]
        return StepBeliefs(found.step_logs, np.concatenate(ordered, axis=1))

    @property
    def _hidden(self) -> list[Variable]:
        return [one for one in self.evidence.template.variables.values() if one.name not in self.evidence.known]

    @property
    def seen_leaves(self) -> list[Variable]:
        """The leaves that weigh states: those of which nothing is seen sum to one."""
        return [leaf for leaf in self.leaves if leaf.name in self.evidence.sequences.columns]

    # --- the chain ---

    def chains(self, leaves: Sequence[Variable], add: np.ufunc = np.logaddexp) -> HiddenChains:
        """What the kernels work on; `add` is how states of `leaves` are put together, all in logarithms."""
        initial, transition = (self._product(self._families(at, "fixed"), at, np.zeros(1, np.int64)) for at in (0, 1))
        moves = self._families(1, "moving")
        matrix_of = np.zeros(0, dtype=np.int32)
        if moves and len(later := self.steps(1)):
            distinct = self._distinct(moves, (), later)
            transition = transition + self._product(moves, 1, distinct.firsts)
            matrix_of = np.zeros(self.evidence.sequences.num_steps, dtype=np.int32)
            matrix_of[later] = distinct.place_of
        rows, row_of = self._rows(leaves, add)
        size = initial.size
        return HiddenChains(
            self.evidence.sequences.starts,
            np.exp(initial).reshape(size),
            np.exp(transition).reshape(-1, size, size),
            matrix_of,
            row_of,
            rows.copy,
        )

    def _num_transitions(self) -> float:
        """How many matrices there are; infinitely many where numbers choose them."""
        moves = self._families(1, "moving")
        if any(variable.is_continuous for cpd in moves for variable in cpd.scope):
            return math.inf
        return len(self._distinct(moves, (), self.steps(1)).firsts) if moves else 1

    def _families(self, at: int, role: str) -> list[CPD]:
        """The distributions of the first slice, 0, or of later ones, 1, of all variables but leaves, by what they do.

        "fixed" ones are of hidden variables alone; "moving" ones choose transitions by what is known; "weighing" ones
        weigh the states of a step.
        """
        found = []
        leaves = {leaf.name for leaf in self.leaves}
        for name, cpd in self.evidence.template.slices[at].items():
            scope = hidden_scope(cpd, self.evidence.known)
            is_fixed, is_moving = len(scope) == len(cpd.scope), any(lagged(one.name).lag for one in scope)
            its = "fixed" if is_fixed else "moving" if is_moving else "weighing"
            if name not in leaves and its == role:
                found.append(cpd)
        return found

    def _rows(self, leaves: Sequence[Variable], add: np.ufunc) -> tuple[Floats, Codes]:
        """The logarithms of what weighs the states, for each of the different steps; and which of them each step is."""
        row_of = np.zeros(self.evidence.sequences.num_steps, dtype=np.int32)
        tables, used = [], 0
        for at in (0, 1):
            weighing, steps = self._families(at, "weighing"), self.steps(at)
            columns = self.evidence.sequences.columns
            told = [one for one in (*self.core, *self.leaves) if one.name in columns]
            given = [self.evidence.template.slices[at][leaf.name] for leaf in leaves]
            distinct = self._distinct([*weighing, *given], told, steps)
            logs = self._product(weighing, None, distinct.firsts)
            for variable in self.core:
                shape = [variable.num_states if one is variable else 1 for one in self.core]
                logs = logs + self._seen(variable, distinct.firsts).reshape(-1, *shape)
            for leaf in leaves:
                logs = logs + add.reduce(self.leaf_logs(leaf, at, distinct.firsts), axis=-1)
            tables.append(np.array(logs).reshape(len(distinct.firsts), math.prod(logs.shape[1:])))
            row_of[steps] = distinct.place_of + used
            used += len(distinct.firsts)
        return np.concatenate(tables), row_of

    def _product(self, cpds: Iterable[CPD], at: int | None, steps: Ints) -> Floats:
        """Σ log P at some steps, over the states of the core: before (in later slices: 1), and now."""
        names = [one.name for one in self.core]
        axes = [f"{name}[-1]" for name in names] + names if at == 1 else names
        sizes = [one.num_states for one in self.core] * (2 if at == 1 else 1)
        total = np.zeros((len(steps), *sizes))
        for cpd in cpds:
            total = total + self._spread(cpd, axes, steps)
        return total

    def _spread(self, cpd: CPD, axes: Sequence[str], steps: Ints) -> Floats:
        """log P at some steps, with an axis for each of `axes`: of size one where it is not in the scope."""
        scope = hidden_scope(cpd, self.evidence.known)
        sizes = {variable.name: variable.num_states for variable in scope}
        logs = self.evidence.log_factors(cpd, scope, steps).reshape(len(steps), *sizes.values())
        order = sorted(range(len(scope)), key=lambda place: axes.index(scope[place].name))
        shape = [sizes.get(name, 1) for name in axes]
        return logs.transpose(0, *(1 + place for place in order)).reshape(len(steps), *shape)

    # --- leaves ---

    def leaf_logs(self, leaf: Variable, at: int, steps: Ints) -> Floats:
        """log P(leaf | core) and what is seen of it, at some steps; the last axis is that of the leaf."""
        axes = [*(one.name for one in self.core), leaf.name]
        logs = self._spread(self.evidence.template.slices[at][leaf.name], axes, steps)
        shape = (len(steps), *(1 for _ in self.core), leaf.num_states)
        return logs + self._seen(leaf, steps).reshape(shape)

    def _leaf_tables(self, leaf: Variable) -> Iterable[tuple[Ints, Floats]]:
        """Steps, some at a time, with `leaf_logs` at each: axes (step, state of the chain, state of the leaf)."""
        for at in (0, 1):
            cpd, steps = self.evidence.template.slices[at][leaf.name], self.steps(at)
            distinct = self._distinct([cpd], [leaf] if leaf.name in self.evidence.sequences.columns else [], steps)
            shape = (-1, *(one.num_states for one in self.core), leaf.num_states)
            whole = np.broadcast_shapes(shape[1:], (leaf.num_states,))
            logs = np.broadcast_to(self.leaf_logs(leaf, at, distinct.firsts), (len(distinct.firsts), *whole))
            table = logs.reshape(len(distinct.firsts), math.prod(whole[:-1]), leaf.num_states)
            for start in range(0, len(steps), _BLOCK):
                yield steps[start : start + _BLOCK], table[distinct.place_of[start : start + _BLOCK]]

    def _leaf_beliefs(self, leaf: Variable, beliefs: Floats) -> Floats:
        """P(leaf) at each step, by the beliefs of the chain."""
        told = np.empty((len(beliefs), leaf.num_states))
        for steps, logs in self._leaf_tables(leaf):
            told[steps] = np.einsum("tk,tkn->tn", beliefs[steps], shares_of(logs))
        return told

    # --- what is known ---

    def steps(self, at: int) -> Ints:
        """The first steps of all sequences, or the others."""
        starts = self.evidence.sequences.starts
        is_first = np.zeros(self.evidence.sequences.num_steps, dtype=bool)
        is_first[starts[:-1][np.diff(starts) > 0]] = True
        return np.flatnonzero(is_first if at == 0 else ~is_first)

    def _seen(self, variable: Variable, steps: Ints) -> Floats:
        """The logarithms of the likelihoods of a hidden variable's states at some steps."""
        sequences = self.evidence.sequences
        if variable.name not in sequences.columns:
            return np.zeros((len(steps), variable.num_states))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(sequences.weights(variable.name, steps)))

    def _distinct(self, cpds: Iterable[CPD], seen: Iterable[Variable], steps: Ints) -> Distinct:
        """Steps told apart by the known variables of distributions, and by what is seen of hidden ones."""
        sequences, known = self.evidence.sequences, self.evidence.known
        columns = []
        texts = dict.fromkeys(one.name for cpd in cpds for one in cpd.scope if lagged(one.name).name in known)
        for name, lag in map(lagged, texts):
            variable = self.evidence.template.variables[name]
            if variable.is_continuous:
                return Distinct(np.arange(len(steps)), steps)
            columns.append((sequences.columns[name][steps - lag], variable.num_states))
        for variable in seen:
            codes = sequences.columns[variable.name].astype(np.int64) + 1
            num_codes = variable.num_states + 1
            if (cells := sequences.soft.get(variable.name)) is not None:
                codes[cells.steps] = num_codes + np.arange(len(cells.steps))
                num_codes += len(cells.steps)
            columns.append((codes[steps], num_codes))
        return _told_apart(columns, steps)


def shares_of(logs: Floats) -> Floats:
    """Probabilities along the last axis, from logarithms that lack a constant; zeros where all are impossible."""
    shares = np.exp(logs - np.maximum(logs.max(axis=-1, keepdims=True), -np.finfo(float).max))
    totals = shares.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(shares, totals, out=np.zeros_like(shares), where=totals > 0))


def _parted(evidence: StepEvidence) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """The hidden variables that make the state, and those on which nothing depends."""
    slices = evidence.template.slices
    parents = {lagged(name).name for cpds in slices for cpd in cpds.values() for name in cpd.parent_names}
    core: list[Variable] = []
    leaves: list[Variable] = []
    for name, variable in evidence.template.variables.items():
        if name in evidence.known:
            continue
        scopes = [hidden_scope(cpds[name], evidence.known) for cpds in slices if name not in evidence.template.inputs]
        looks_back = any(lagged(one.name).lag for scope in scopes for one in scope)
        (core if name in parents or looks_back or not scopes else leaves).append(variable)
    return tuple(core), tuple(leaves)


def _told_apart(columns: Sequence[tuple[Ints, int]], steps: Ints) -> Distinct:
    """Steps that have the same codes in all columns, each with the number of its codes."""
    keys, size = np.zeros(len(steps), dtype=np.int64), 1
    for codes, num_codes in columns:
        if size * num_codes > 2**62:  # keys that stand for each other keep them small
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            size = len(steps)
        keys, size = keys * num_codes + codes, size * num_codes
    if size > _KEYS_A_STEP * len(keys) + 1024:
        _, firsts, place_of = np.unique(keys, return_index=True, return_inverse=True)
        return Distinct(place_of.reshape(-1), steps[firsts])
    first_of = np.full(size, -1)
    first_of[keys[::-1]] = np.arange(len(keys))[::-1]
    present = np.flatnonzero(first_of >= 0)
    numbers = np.zeros(size, dtype=np.int64)
    numbers[present] = np.arange(len(present))
    return Distinct(numbers[keys], steps[first_of[present]])
