"""Where learning of a hidden Markov model is: the model, and what is expected under it."""

from __future__ import annotations

from dataclasses import dataclass

from plausible.base.arrays import Floats
from plausible.learn.sequences.emission_learner import Statistics
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedStates:
    """Expected counts of a chain and its observations."""

    firsts: Floats
    pairs: Floats  # (matrices, K, K)
    emission: Statistics


@dataclass(frozen=True, slots=True, eq=False)
class HMMState:
    """A model on its way, and what is expected under it."""

    model: HiddenMarkovModel
    expected: ExpectedStates
    log_likelihood: float  # of the rows
    value: float  # the objective: with the logarithm of the prior's density
    memory: object = None  # what else the next step needs
