"""Expected counts of the families of a network over time whose hidden variables are one chain of joint states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.cpds import CPD
from plausible.models.sequences import state_inference
from plausible.models.sequences.joint_chains import JointChains, shares_of
from plausible.models.sequences.observations import StepEvidence
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.models.sequences.slice_program import hidden_scope
from plausible.models.sequences.state_inference import HiddenChains, StateSums
from plausible.models.sequences.template import lagged


class _Sums(NamedTuple):
    """Beliefs of hidden variables, added up over the steps at which the same is known."""

    names: Sequence[str]  # of the variables, one for each axis of `beliefs` but the first
    beliefs: Floats
    examples: Ints  # one of these steps each

    def family(self, cpd: CPD, evidence: StepEvidence) -> Floats:
        """Σ P(parents, child): axes (parents..., child), those of known variables among them."""
        hidden = hidden_scope(cpd, evidence.known)
        of_hidden = [variable.name for variable in hidden]
        kept = [name for name in self.names if name in of_hidden]
        summed = self.beliefs.sum(axis=tuple(k for k, name in enumerate(self.names, 1) if name not in of_hidden))
        summed = summed.transpose(0, *(1 + kept.index(name) for name in of_hidden))
        known = [variable for variable in cpd.scope if variable not in hidden]
        places = np.zeros(len(self.examples), dtype=np.int64)
        for variable in known:
            name, lag = lagged(variable.name)
            places = places * variable.num_states + evidence.sequences.columns[name][self.examples - lag]
        scope = [*known, *hidden]
        counts = np.zeros((math.prod(variable.num_states for variable in known), *summed.shape[1:]))
        np.add.at(counts, places, summed)
        counts = counts.reshape([variable.num_states for variable in scope])
        return counts.transpose([scope.index(variable) for variable in cpd.scope])


def expected_counts(joint: JointChains) -> tuple[Floats, list[dict[str, Floats]]]:
    """The log-likelihood of each step, and for the first and for later slices the expected counts of families.

    Name -> Σ P(parents, child | all that was observed) over the steps of the slice: axes (parents..., child). As
    beliefs are, by one way forward and one back; all else is done once for steps at which the same is known.
    """
    chains, evidence = joint.chains(joint.leaves), joint.evidence
    numbers, examples = np.unique(chains.row_of, return_index=True)
    found = state_inference.expected(chains, len(numbers))
    refuse_impossible(evidence.sequences, found.step_logs)
    moves = _moves(joint, chains, found)
    is_first, counts = np.isin(examples, joint.steps(0)), []
    for at, chosen in enumerate((is_first, ~is_first)):
        states = _Sums(*_unravelled(joint, found.rows[chosen]), examples[chosen])
        own = {}
        for name, cpd in evidence.template.slices[at].items():
            looks_back = any(lagged(one.name).lag for one in hidden_scope(cpd, evidence.known))
            sums = moves if looks_back else states
            if leaf := next((leaf for leaf in joint.leaves if leaf.name == name), None):
                shares = shares_of(joint.leaf_logs(leaf, at, states.examples))
                sums = _Sums((*states.names, name), states.beliefs[..., None] * shares, states.examples)
            own[name] = sums.family(cpd, evidence)
        counts.append(own)
    return found.step_logs, counts


def _moves(joint: JointChains, chains: HiddenChains, found: StateSums) -> _Sums:
    """Beliefs of the states of a step and of the one before it, together."""
    later = joint.steps(1)
    numbers, firsts = np.zeros(min(1, len(later)), dtype=np.int64), np.zeros(min(1, len(later)), dtype=np.int64)
    if len(chains.matrix_of):
        numbers, firsts = np.unique(chains.matrix_of[later], return_index=True)
    names, beliefs = _unravelled(joint, found.pairs[numbers])
    return _Sums([*(f"{name}[-1]" for name in names), *names], beliefs, later[firsts])


def _unravelled(joint: JointChains, sums: Floats) -> tuple[list[str], Floats]:
    """The names of the variables of a state, and an axis for each of them in place of the one of states."""
    sizes = [variable.num_states for variable in joint.core]
    return [variable.name for variable in joint.core], sums.reshape(len(sums), *sizes * (sums.ndim - 1))
