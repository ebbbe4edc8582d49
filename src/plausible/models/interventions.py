"""Interventions: the network that a question with `do=` is about, and what else every question needs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Self

from plausible.base.plain_values import shown
from plausible.cpds import CPD
from plausible.errors import ImpossibleEvidence, InvalidModel
from plausible.inference.contradiction import impossible_evidence
from plausible.models.network_parts import NetworkParts
from plausible.variables import Evidence, EvidenceLike, State
from plausible.variables.evidence import findings_of

__all__ = ["IntervenedParts", "has_hidden_numbers", "settings_of"]


class IntervenedParts(NetworkParts):
    """The parts of a network once `do=` has cut it, and the errors of questions that have no answer."""

    __slots__ = ()

    @abstractmethod
    def intervene(self, do: Mapping[str, State]) -> Self:
        """The mutilated network of do(X = x)."""

    @abstractmethod
    def log_probability(self, evidence: EvidenceLike) -> float:
        """log P(evidence)."""

    def _given(self, evidence: EvidenceLike | None, do: Mapping[str, State] | None) -> tuple[Self, EvidenceLike | None]:
        """The network to ask and its evidence: this one, or the mutilated one where `do` sets variables."""
        settings = settings_of(do)
        return self._surgery(settings, evidence) if settings else (self, evidence)

    def _surgery(self, do: Mapping[str, State], evidence: EvidenceLike | None) -> tuple[Self, Mapping[str, Any]]:
        """The mutilated network and the evidence; continuous variables that are set become inputs, without density."""
        Evidence.read(evidence, self.variables, "this network")
        network, findings = self.intervene(do), dict(findings_of(evidence))
        for name, value in do.items():
            if self.variables[name].has_state(findings.get(name, value)) and findings.get(name, value) != value:
                raise _contradicted(name, findings[name], value)
        numbers = {name: value for name, value in do.items() if self.variables[name].is_continuous}
        for name, value in numbers.items():
            if findings.setdefault(name, value) != value:
                raise _contradicted(name, findings[name], value)
        inputs = [self.variables[name] for name in (*network.inputs, *numbers)]
        cpds = [cpd for name, cpd in network.cpds.items() if name not in numbers]
        return type(self)(*cpds, inputs=inputs), findings

    def _contradiction(self, evidence: Mapping[str, Any]) -> ImpossibleEvidence | None:
        inputs = {name: evidence[name] for name in self.inputs if name in evidence}
        findings = {name: finding for name, finding in evidence.items() if name not in inputs}
        return impossible_evidence(findings, lambda some: self.log_probability({**inputs, **some}) > -math.inf)

    def _refuse_inputs(self, other: str) -> None:
        if self.inputs:
            raise InvalidModel(
                f"{self.inputs[0]!r} is an input without a distribution: P(rest | inputs) is not {other}. "
                "Give the inputs CPDs first: with_cpd(...)."
            )


def settings_of(do: Mapping[str, State] | None) -> Mapping[str, State]:
    """What an intervention sets; a pandas series will do. What is no mapping is left for `intervene` to refuse."""
    return findings_of(do) if do is None or hasattr(do, "to_dict") else do


def _contradicted(name: str, finding: object, value: object) -> ImpossibleEvidence:
    return ImpossibleEvidence(f"The evidence {name}={shown(finding)} contradicts do={{{name!r}: {shown(value)}}}.")


def has_hidden_numbers(cpds: Iterable[CPD], found: Evidence) -> bool:
    """Whether some distributions involve continuous variables that are not observed."""
    return any(v.is_continuous and v.name not in found.values for cpd in cpds for v in cpd.scope)
