"""Joints of variables of a step and of those before it: from one chain of joint states, where there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plausible.base.arrays import Floats
from plausible.models.sequences import state_inference
from plausible.models.sequences.joint_chains import JointChains
from plausible.models.sequences.state_inference import HiddenChains, StateBeliefs
from plausible.models.sequences.template import Lagged

#: Beliefs of pairs of states are kept for all steps up to so many numbers; trees need less.
_MOST_PAIRS = 2**25


@dataclass(frozen=True, eq=False)
class ChainJoints:
    """P(variables | all that was observed) at each step, for one group of variables after the other."""

    joint: JointChains

    def of(self, wanted: Sequence[Lagged]) -> Floats | None:
        """The joint of some variables: axes (step, joint state); none where the chain does not tell it."""
        core = self.joint.core
        is_pair = any(one.lag for one in wanted)
        if any(one.lag > 1 or one.name not in {variable.name for variable in core} for one in wanted):
            return None
        beliefs = self._pairs if is_pair else self._smoothed
        if beliefs is None:
            return None
        axes = [Lagged(variable.name, lag) for lag in ((1, 0) if is_pair else (0,)) for variable in core]
        table = beliefs.reshape(len(beliefs), *[v.num_states for v in core] * (2 if is_pair else 1))
        summed: Floats = table.sum(axis=tuple(place for place, one in enumerate(axes, 1) if one not in wanted))
        kept = [one for one in axes if one in wanted]
        ordered = summed.transpose(0, *(1 + kept.index(one) for one in wanted))
        return ordered.reshape(len(ordered), math.prod(ordered.shape[1:]))

    @property
    def step_logs(self) -> Floats:
        """log p(o_t | o_1 ... o_t-1) of each step."""
        return self._filtered.step_logs

    @cached_property
    def _chains(self) -> HiddenChains:
        return self.joint.chains(self.joint.seen_leaves)

    @cached_property
    def _filtered(self) -> StateBeliefs:
        return state_inference.filtered(self._chains)

    @cached_property
    def _smoothed(self) -> Floats:
        return state_inference.smoothed(self._chains).beliefs

    @cached_property
    def _pairs(self) -> Floats | None:
        """P(state before, state): what was known before a step, led on, in the shares that its smoothed belief has.

        None where there are too many, or where what was known before is too little for numbers.
        """
        chains, later = self._chains, self.joint.steps(1)
        if chains.num_states**2 * chains.num_steps > _MOST_PAIRS:
            return None
        matrices = chains.matrix_of[later] if len(chains.matrix_of) else np.zeros(len(later), dtype=np.int32)
        moved = self._filtered.beliefs[later - 1][:, :, None] * chains.transitions[matrices]
        totals, smoothed = moved.sum(axis=1, keepdims=True), self._smoothed[later][:, None, :]
        if ((totals == 0) & (smoothed > 0)).any():
            return None
        found = np.zeros((chains.num_steps, *moved.shape[1:]))
        found[later] = np.divide(moved, totals, out=np.zeros_like(moved), where=totals > 0) * smoothed
        return found
