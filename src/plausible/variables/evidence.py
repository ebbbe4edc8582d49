"""Evidence: what is known about the variables, in the four ways in which it can be known.

- a state: the variable is in it;
- a collection of states: the variable is in one of them;
- `likelihood([...])`: virtual evidence, P(observation | state) up to a factor, which *multiplies* the belief;
- `jeffrey([...])`: the posterior marginal itself, which *replaces* the belief.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidEvidence, UnknownVariable
from plausible.variables.variable import State, Variable

__all__ = ["Evidence", "EvidenceLike", "Jeffrey", "Likelihood", "jeffrey", "likelihood"]

Weights: TypeAlias = Sequence[float] | npt.NDArray[np.float64] | Mapping[State, float]
#: What public functions accept: a name for each finding, and a state, states, a number, `likelihood` or `jeffrey`.
EvidenceLike: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Virtual evidence: one weight for each state, in state order or keyed by state; only their ratios matter."""

    weights: Weights

    def vector(self, variable: Variable) -> npt.NDArray[np.float64]:
        """The weights in state order, checked."""
        return _weights(variable, self.weights, "likelihood")


@dataclass(frozen=True, slots=True)
class Jeffrey:
    """The posterior marginal of a variable: probabilities in state order or keyed by state, with sum one."""

    probabilities: Weights

    def vector(self, variable: Variable) -> npt.NDArray[np.float64]:
        """The probabilities in state order, checked."""
        vector = _weights(variable, self.probabilities, "jeffrey")
        if abs(vector.sum() - 1) > 1e-9:
            raise InvalidEvidence(
                f"jeffrey evidence for {variable.name!r} sums to {vector.sum():.10g}, not to one. "
                "If these are likelihoods, use likelihood([...])."
            )
        return vector


def likelihood(weights: Weights) -> Likelihood:
    """Virtual evidence: P(what was observed | state), up to a factor.

    >>> likelihood([0.8, 0.1])
    Likelihood(weights=[0.8, 0.1])
    """
    return Likelihood(weights)


def jeffrey(probabilities: Weights) -> Jeffrey:
    """Jeffrey's rule: the variable's posterior marginal shall be exactly this.

    >>> jeffrey({"yes": 0.7, "no": 0.3})
    Jeffrey(probabilities={'yes': 0.7, 'no': 0.3})
    """
    return Jeffrey(probabilities)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence checked against the variables of a model and sorted by kind.

    Attributes
    ----------
    hard
        Name -> position of the observed state.
    soft
        Name -> non-negative weight of each state (one-of-several and virtual evidence).
    jeffrey
        Name -> posterior marginal to establish.
    values
        Name -> observed number of a continuous variable.
    """

    hard: Mapping[str, int]
    soft: Mapping[str, npt.NDArray[np.float64]]
    jeffrey: Mapping[str, npt.NDArray[np.float64]]
    values: Mapping[str, float]

    @classmethod
    def read(
        cls, evidence: EvidenceLike | None, variables: Mapping[str, Variable], place: str = "this model"
    ) -> Evidence:
        """Check findings given by name against `variables`.

        >>> rain = Variable("rain", ["no", "light", "heavy"])
        >>> Evidence.read({"rain": {"light", "heavy"}}, {"rain": rain}).soft["rain"]
        array([0., 1., 1.])
        """
        kinds: tuple[dict[str, Any], ...] = ({}, {}, {}, {})
        hard, soft, replaced, values = kinds
        if evidence is not None and not isinstance(evidence, Mapping):
            raise InvalidEvidence(f"Evidence is a mapping, such as {{'rain': 'heavy'}}, not {evidence!r}.")
        for name, finding in (evidence or {}).items():
            if name not in variables:
                raise UnknownVariable.named(name, variables, place)
            variable = variables[name]
            if variable.is_continuous:
                values[name] = _number(variable, finding)
            elif isinstance(finding, Likelihood):
                soft[name] = finding.vector(variable)
            elif isinstance(finding, Jeffrey):
                replaced[name] = finding.vector(variable)
            elif variable.has_state(finding) or not _is_collection(finding):
                hard[name] = _state(variable, finding)
            else:
                soft[name] = _one_of(variable, finding)
        return cls(*(MappingProxyType(kind) for kind in kinds))

    @property
    def names(self) -> frozenset[str]:
        """The variables that the evidence speaks of."""
        return frozenset((*self.hard, *self.soft, *self.jeffrey, *self.values))

    def __bool__(self) -> bool:
        return bool(self.names)


def _is_collection(finding: object) -> bool:
    return isinstance(finding, (Collection, np.ndarray)) and not isinstance(finding, (str, bytes, Mapping))


def _state(variable: Variable, finding: Any) -> int:
    if finding is None or finding != finding:
        raise InvalidEvidence(f"The evidence for {variable.name!r} is {finding!r}; leave out what is not observed.")
    if isinstance(finding, Mapping):
        raise InvalidEvidence(
            f"A mapping as evidence for {variable.name!r} is ambiguous: "
            "wrap it in likelihood(...) for virtual evidence or in jeffrey(...) for a posterior marginal."
        )
    return variable.index(finding)


def _one_of(variable: Variable, states: Iterable[State]) -> npt.NDArray[np.float64]:
    positions = [variable.index(state) for state in states]
    if not positions:
        raise InvalidEvidence(f"The evidence for {variable.name!r} is an empty collection: no state is left.")
    vector = np.zeros(variable.num_states)
    vector[positions] = 1.0
    return _read_only(vector)


def _number(variable: Variable, finding: Any) -> float:
    try:
        number = float(finding)
    except (TypeError, ValueError):
        raise InvalidEvidence(f"{variable.name!r} is continuous: expected a number, not {finding!r}.") from None
    if not np.isfinite(number):
        raise InvalidEvidence(f"The evidence for {variable.name!r} is {number}: expected a finite number.")
    return number


def _weights(variable: Variable, weights: Weights, kind: str) -> npt.NDArray[np.float64]:
    if isinstance(weights, Mapping):
        vector = np.zeros(variable.num_states)
        for state, weight in weights.items():
            vector[variable.index(state)] = weight
        missing = [state for state in variable.states or () if state not in weights]
        if missing:
            raise InvalidEvidence(f"{kind} evidence for {variable.name!r} has no weight for {missing[0]!r}.")
    else:
        vector = np.array(weights, dtype=np.float64)
    if vector.shape != (variable.num_states,):
        raise InvalidEvidence(
            f"{kind} evidence for {variable.name!r} needs {variable.num_states} numbers, one for each state "
            f"of {list(variable.states or ())!r}; it has shape {vector.shape}."
        )
    if not np.all(np.isfinite(vector)) or np.any(vector < 0) or not np.any(vector > 0):
        raise InvalidEvidence(
            f"{kind} evidence for {variable.name!r} must be finite, non-negative and not all zero: {vector.tolist()}."
        )
    return _read_only(vector)


def _read_only(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    vector.setflags(write=False)
    return vector
