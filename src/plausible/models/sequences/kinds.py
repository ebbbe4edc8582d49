"""The kinds of models in time, by the names that they have in files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem
from plausible.models.sequences.semi_markov import HiddenSemiMarkovModel
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.models.sequences.switching import SwitchingLinearDynamicalSystem

_KNOWN: tuple[type[SequenceModel], ...] = (
    DynamicBayesianNetwork,
    HiddenMarkovModel,
    HiddenSemiMarkovModel,
    LinearDynamicalSystem,
    SwitchingLinearDynamicalSystem,
)
#: Name in files -> class.
SEQUENCE_KINDS: Mapping[str, type[SequenceModel]] = MappingProxyType({known.kind: known for known in _KNOWN})
