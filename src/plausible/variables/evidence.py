"""Evidence: what is known about the variables, in the four ways in which it can be known.

- a state: the variable is in it;
- a collection of states: the variable is in one of them;
- `likelihood([...])`: virtual evidence, P(observation | state) up to a factor, which *multiplies* the belief;
- `jeffrey([...])`: the posterior marginal itself, which *replaces* the belief.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plausible.base import WRITTEN_ROUNDING, Floats, by_label, plain, shown
from plausible.errors import InvalidEvidence, NotSupported, UnknownVariable, shortened
from plausible.variables.variable import State, Variable, is_missing

if TYPE_CHECKING:
    import pandas as pd


Weights: TypeAlias = "Sequence[float] | Floats | Mapping[State, float] | pd.Series[float]"
#: What public functions accept: a name for each finding, and a state, states, a number, `likelihood` or `jeffrey`.
#: A row of a pandas frame, which is a series indexed by names, will do as well; see `findings_of`.
EvidenceLike: TypeAlias = "Mapping[str, Any] | pd.Series[Any]"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Likelihood:
    """Virtual evidence: one weight for each state, in state order or keyed by state; only their ratios matter.

    `states` names the state of each weight, or is None where the weights come in state order.
    """

    weights: tuple[float, ...]
    states: tuple[State, ...] | None

    def __init__(self, weights: Weights) -> None:
        states, numbers = _split("likelihood", weights)
        object.__setattr__(self, "weights", numbers)
        object.__setattr__(self, "states", states)

    def vector(self, variable: Variable) -> Floats:
        """The weights in state order, checked."""
        return _vector("likelihood", variable, self.states, self.weights)

    def __repr__(self) -> str:
        return f"likelihood({_shown(self.states, self.weights)})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Jeffrey:
    """The posterior marginal of a variable: probabilities in state order or keyed by state, with sum one.

    `states` names the state of each probability, or is None where they come in state order.
    """

    probabilities: tuple[float, ...]
    states: tuple[State, ...] | None

    def __init__(self, probabilities: Weights) -> None:
        states, numbers = _split("jeffrey", probabilities)
        object.__setattr__(self, "probabilities", numbers)
        object.__setattr__(self, "states", states)

    def vector(self, variable: Variable) -> Floats:
        """The probabilities in state order, checked."""
        vector = _vector("jeffrey", variable, self.states, self.probabilities)
        if abs(vector.sum() - 1) > WRITTEN_ROUNDING:
            raise InvalidEvidence(
                f"jeffrey evidence for {variable.name!r} sums to {vector.sum():.10g}, not to one. "
                "If these are likelihoods, use likelihood([...])."
            )
        return vector

    def __repr__(self) -> str:
        return f"jeffrey({_shown(self.states, self.probabilities)})"


def likelihood(weights: Weights) -> Likelihood:
    """Virtual evidence: P(observation | state) for each state, up to a constant factor.

    >>> likelihood([0.8, 0.1]).vector(Variable("rain", ["no", "yes"]))
    array([0.8, 0.1])
    """
    return Likelihood(weights)


def jeffrey(probabilities: Weights) -> Jeffrey:
    """Evidence by Jeffrey's rule: the posterior probabilities that the variable must have.

    >>> jeffrey({"yes": 0.7, "no": 0.3}).vector(Variable("rain", ["no", "yes"]))
    array([0.3, 0.7])
    """
    return Jeffrey(probabilities)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Evidence checked against the variables of a model and sorted by kind; beliefs to establish are no part of it."""

    hard: Mapping[str, int]  # Name -> position of the observed state
    soft: Mapping[str, Floats]  # Name -> non-negative weight of each state (one-of-several and virtual evidence)
    values: Mapping[str, float]  # Name -> observed number of a continuous variable

    @classmethod
    def read(
        cls, evidence: EvidenceLike | None, variables: Mapping[str, Variable], place: str = "this model"
    ) -> Evidence:
        """Check findings given by name against `variables`.

        `evidence` is a mapping, or a pandas series indexed by the names.

        >>> rain = Variable("rain", ["no", "light", "heavy"])
        >>> Evidence.read({"rain": {"light", "heavy"}}, {"rain": rain}).soft["rain"]
        array([0., 1., 1.])
        """
        found, beliefs = read_findings(evidence, variables, place)
        if beliefs:
            raise NotSupported(
                f"jeffrey(...) for {next(iter(beliefs))!r} replaces a belief, which query, marginals, sample and "
                "expectation of a model take as evidence. Here give a state, a collection of states or likelihood(...)."
            )
        return found

    @property
    def names(self) -> frozenset[str]:
        """The variables that the evidence speaks of."""
        return frozenset((*self.hard, *self.soft, *self.values))

    def __bool__(self) -> bool:
        return bool(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evidence):
            return NotImplemented
        same = self.hard == other.hard and self.values == other.values
        return same and _equal(self.soft, other.soft)

    def __hash__(self) -> int:
        return hash((self.names, frozenset(self.hard.items()), frozenset(self.values.items())))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as plain dictionaries: read-only views of mappings can't be."""
        return _evidence, (dict(self.hard), dict(self.soft), dict(self.values))


def read_findings(
    evidence: EvidenceLike | None, variables: Mapping[str, Variable], place: str = "this model"
) -> tuple[Evidence, dict[str, Floats]]:
    """Findings as evidence, and the beliefs of `jeffrey(...)`: name -> posterior marginal to establish."""
    hard: dict[str, int] = {}
    soft: dict[str, Floats] = {}
    beliefs: dict[str, Floats] = {}
    values: dict[str, float] = {}
    for name, finding in findings_of(evidence).items():
        UnknownVariable.check(name, variables, place)
        variable = variables[name]
        if isinstance(finding, np.ndarray) and finding.ndim == 0:
            finding = finding.item()
        if variable.is_continuous:
            values[name] = _number(variable, finding)
        elif isinstance(finding, Likelihood):
            soft[name] = finding.vector(variable)
        elif isinstance(finding, Jeffrey):
            beliefs[name] = finding.vector(variable)
        elif variable.has_state(finding) or not _is_collection(finding):
            hard[name] = _state(variable, finding)
        else:
            soft[name] = _one_of(variable, finding)
    return Evidence(MappingProxyType(hard), MappingProxyType(soft), MappingProxyType(values)), beliefs


def findings_of(evidence: EvidenceLike | None) -> Mapping[str, Any]:
    """Evidence as a mapping from names to findings: nothing for `None`, the entries of a pandas series by its index.

    A series with a gap or with a name twice is refused: nothing is left out unasked.

    >>> import pandas as pd
    >>> findings_of(pd.Series({"rain": "heavy", "wind": "none"}))
    {'rain': 'heavy', 'wind': 'none'}
    """
    if evidence is None:
        return {}
    if isinstance(evidence, Mapping):
        return evidence
    pandas = sys.modules.get("pandas")  # who has no pandas loaded has no series either
    if pandas is None or not isinstance(evidence, pandas.Series):
        advice = " If these are the variables that you ask for, use net.query(names, evidence={name: state})."
        if hasattr(evidence, "columns"):
            advice = " Rows of a frame are for net.compile().predict_proba(frame, target)."
        raise InvalidEvidence(f"Evidence is a mapping, such as {{'rain': 'heavy'}}, not {shortened(evidence)}.{advice}")
    if not evidence.index.is_unique:
        name = evidence.index[evidence.index.duplicated()][0]
        raise InvalidEvidence(f"The series of evidence has {name!r} twice in its index.")
    if evidence.hasnans:
        name = evidence.index[evidence.isna()][0]
        raise InvalidEvidence(
            f"The series of evidence has no value for {name!r}. Leave out what is not observed: evidence.dropna()."
        )
    findings: dict[str, Any] = evidence.to_dict()
    return findings


def settings_of(do: Mapping[str, State] | None) -> Mapping[str, State]:
    """What an intervention sets; a pandas series will do. What is no mapping is left for `intervene` to refuse."""
    return findings_of(do) if do is None or hasattr(do, "to_dict") else do


def _evidence(*kinds: dict[str, Any]) -> Evidence:
    for vector in kinds[1].values():
        vector.setflags(write=False)
    return Evidence(*(MappingProxyType(kind) for kind in kinds))


def _equal(left: Mapping[str, Floats], right: Mapping[str, Floats]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(vector, right[name]) for name, vector in left.items())


def _is_collection(finding: object) -> bool:
    return isinstance(finding, Collection) and not isinstance(finding, (str, bytes, Mapping))


def _state(variable: Variable, finding: Any) -> int:
    if variable.has_state(finding):
        return variable.index(finding)
    if isinstance(finding, Mapping):
        raise InvalidEvidence(
            f"A mapping as evidence for {variable.name!r} is ambiguous: "
            "wrap it in likelihood(...) for virtual evidence or in jeffrey(...) for a posterior marginal."
        )
    if finding is None or is_missing(finding):
        raise InvalidEvidence(
            f"The evidence for {variable.name!r} is {shown(finding)}; leave out what is not observed."
        )
    raise variable.unknown_state(finding)


def _one_of(variable: Variable, states: Iterable[State]) -> Floats:
    listed: list[Any] = list(states)
    if len(listed) == variable.num_states and all(_is_strange_number(variable, state) for state in listed):
        numbers = [float(number) for number in listed]
        raise InvalidEvidence(
            f"The evidence for {variable.name!r} has a number for each state: write likelihood({numbers}) for virtual "
            f"evidence or jeffrey({numbers}) for a posterior marginal."
        )
    positions = [variable.index(state) for state in listed]
    if not positions:
        raise InvalidEvidence(f"The evidence for {variable.name!r} is an empty collection: no state is left.")
    vector = np.zeros(variable.num_states)
    vector[positions] = 1.0
    return _read_only(vector)


def _is_strange_number(variable: Variable, state: object) -> bool:
    return isinstance(state, (float, np.floating)) and not variable.has_state(state)


def _number(variable: Variable, finding: Any) -> float:
    try:
        number = float(finding)
    except (TypeError, ValueError):
        raise InvalidEvidence(f"{variable.name!r} is continuous: expected a number, not {shown(finding)}.") from None
    if not np.isfinite(number):
        raise InvalidEvidence(f"The evidence for {variable.name!r} is {number}: expected a finite number.")
    return number


def _split(kind: str, weights: Weights) -> tuple[tuple[State, ...] | None, tuple[float, ...]]:
    """States and numbers of weights keyed by state; None and numbers of weights in state order."""
    weights = by_label(weights)
    keyed = isinstance(weights, Mapping)
    numbers = list(weights.values()) if isinstance(weights, Mapping) else weights
    try:
        vector = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(())
    if vector.ndim != 1:
        raise InvalidEvidence(f"{kind} evidence is a list with one number for each state, not {weights!r}.")
    return tuple(map(plain, weights)) if keyed else None, tuple(vector.tolist())


def _vector(kind: str, variable: Variable, states: tuple[State, ...] | None, numbers: tuple[float, ...]) -> Floats:
    """The numbers in the order of the variable's states: finite, non-negative, not all zero."""
    if variable.is_continuous:
        raise InvalidEvidence(f"{variable.name!r} is continuous: expected a number, not {kind} evidence.")
    vector = np.array(numbers)
    if states is not None:
        given = {variable.index(state): number for state, number in zip(states, numbers, strict=True)}
        missing = [state for position, state in enumerate(variable.states) if position not in given]
        if missing:
            raise InvalidEvidence(f"{kind} evidence for {variable.name!r} has no weight for {missing[0]!r}.")
        vector = np.array([given[position] for position in range(variable.num_states)])
    if len(vector) != variable.num_states:
        raise InvalidEvidence(
            f"{kind} evidence for {variable.name!r} needs {variable.num_states} numbers, one for each state "
            f"of {list(variable.states)!r}; it has {len(vector)}."
        )
    if not np.all(np.isfinite(vector)) or np.any(vector < 0) or not np.any(vector > 0):
        raise InvalidEvidence(
            f"{kind} evidence for {variable.name!r} must be finite, non-negative and not all zero: {vector.tolist()}."
        )
    return _read_only(vector)


def _shown(states: tuple[State, ...] | None, numbers: tuple[float, ...]) -> str:
    return repr(list(numbers)) if states is None else repr(dict(zip(states, numbers, strict=True)))


def _read_only(vector: Floats) -> Floats:
    vector.setflags(write=False)
    return vector
