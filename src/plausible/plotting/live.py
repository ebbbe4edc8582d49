"""Live pictures: what is believed given findings that come and go, as plain data; findings as pages tell them."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plausible.base.records import format_number, one_line
from plausible.errors import InvalidEvidence, NotSupported, PlausibleError, UnknownVariable, shortened
from plausible.factors import Factor
from plausible.plotting.models import Beliefs, beliefs_of, finding_text, spread_of
from plausible.plotting.nodes import percentage, spread_text
from plausible.plotting.scenes import Scene, Subject
from plausible.variables import Variable
from plausible.variables.evidence import Jeffrey, Likelihood, findings_of, read_findings, settings_of

#: The kinds of soft findings, as pages call them.
_SOFT = {"likelihood": Likelihood, "jeffrey": Jeffrey}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is believed, or why that can't be told."""

    beliefs: Mapping[str, Factor]
    message: str
    data: dict[str, Any]  # The same as a page shows it
    problem: PlausibleError | None = None


@dataclass(slots=True)
class Live:
    """A subject with a scene, which answers one question after another; what was believed before is kept."""

    subject: Subject
    scene: Scene
    _before: tuple[Mapping[str, Any], Beliefs | None] | None = field(default=None, init=False)

    def answer(self, evidence: Mapping[str, Any], do: Mapping[str, Any]) -> Answer:
        """What is believed of all that the scene has room for. A question without an answer gets a message instead."""
        data: dict[str, Any] = {"findings": listed(self.subject.model.variables, evidence, do)}
        try:
            told, states = self._told(evidence, do)
            return Answer(states, "", {**data, **told, "message": ""})
        except PlausibleError as error:
            nothing: dict[str, Any] = {"beliefs": {}, "lines": {}, "facts": []}
            data |= nothing | {"message": str(error), "problem": type(error).__name__}
            return Answer({}, str(error), data, error)

    def _told(self, evidence: Mapping[str, Any], do: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Factor]]:
        question = {"evidence": evidence, **({"do": do} if do else {})}
        now = beliefs_of(self.subject.model, list(self.scene.names), question, self.subject.options)
        before = self._prior(evidence) if evidence or do else None
        lines = {name: _spreads(name, now, before) for name in self.scene.names if name in now.numbers}
        facts = [*evidence_facts(self.subject, evidence, do), *_caveats(now.states)]
        if self.subject.utilities:
            worth = self._worth(question)
            lines |= {name: [format_number(worth[name])] for name in self.scene.utilities}
            facts.append(f"Expected utility {format_number(sum(worth.values()))}")
        beliefs = {name: _belief(name, factor, before) for name, factor in now.states.items()}
        is_approximate = bool(_caveats(now.states))
        return {"beliefs": beliefs, "lines": lines, "facts": facts, "isApproximate": is_approximate}, now.states

    def _prior(self, evidence: Mapping[str, Any]) -> Beliefs | None:
        """What is believed without findings, but for those on inputs; None where that can't be told."""
        given = {name: finding for name, finding in evidence.items() if name in self.subject.model.inputs}
        if self._before is None or self._before[0] != given:
            try:
                names = list(self.scene.names)
                before = beliefs_of(self.subject.model, names, {"evidence": given}, self.subject.options)
            except PlausibleError:
                before = None
            self._before = given, before
        return self._before[1]

    def _worth(self, question: Mapping[str, Any]) -> dict[str, float]:
        """Utility -> what is expected of it."""
        model, budget = self.subject.model, {"budget": self.subject.options["budget"]}
        return {
            name: model.expectation(factor, **question, **budget) for name, factor in self.subject.utilities.items()
        }


def evidence_facts(subject: Subject, evidence: Mapping[str, Any], do: Mapping[str, Any]) -> list[str]:
    """The probability of the evidence, or its density, where there is some that has one."""
    model = subject.model
    found = [name for name in evidence if name not in model.inputs]
    if not found:
        return []
    try:
        probability = math.exp(model.log_probability(evidence, **({"do": do} if do else {}), **subject.options))
    except NotSupported:  # a belief to establish has no probability
        return []
    if any(model.variables[name].is_continuous for name in found):
        return [f"density of the evidence {probability:.3g}"]
    shown = percentage(probability) if probability >= 0.0005 else f"{probability:.3g}"
    return [f"P(evidence{' | do' if do else ''}) = {shown}"]


def _caveats(states: Mapping[str, Factor]) -> list[str]:
    """Whether answers are approximate, and how far off they may be."""
    told = [factor.info for factor in states.values() if factor.info is not None and not factor.info.exact]
    if not told:
        return []
    errors = [info.error for info in told if info.error is not None]
    far = f"by about {max(errors):.2g}" if len(errors) == len(told) else "by nobody knows how much"
    return [f"approximate ({told[0].engine}), off {far}"]


def _belief(name: str, factor: Factor, before: Beliefs | None) -> dict[str, Any]:
    return {"now": factor.flat.tolist(), "before": before.states[name].flat.tolist() if before else None}


def _spreads(name: str, now: Beliefs, before: Beliefs | None) -> list[str]:
    lines = [spread_text(*spread_of(now.numbers[name]))]
    if before is not None and name in before.numbers:
        lines.append(f"before: {spread_text(*spread_of(before.numbers[name]))}")
    return lines


# --- findings ---


def checked_findings(subject: Subject, evidence: Any) -> dict[str, Any]:
    """Evidence as a dictionary; what is not evidence is refused, with what would be."""
    found = findings_of(evidence)
    read_findings(found, subject.model.variables, subject.place)
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def checked_settings(subject: Subject, do: Any) -> dict[str, Any]:
    """What an intervention sets, as a dictionary; the model refuses what it can't set."""
    settings = dict(settings_of(do) or {})
    if settings and not subject.can_set:
        raise NotSupported("Only a Bayesian network says what an intervention changes: leave out do=.")
    if settings:
        subject.model.intervene(settings)
    return settings


def to_page(subject: Subject, findings: Mapping[str, Any]) -> dict[str, Any]:
    """Findings as a page tells them: a list of positions of states, a number, or a weight for each state."""
    variables = subject.model.variables
    return {name: _to_page(variables[name], finding) for name, finding in findings.items()}


def _to_page(variable: Variable, finding: Any) -> Any:
    if isinstance(finding, (Likelihood, Jeffrey)):
        return {"kind": type(finding).__name__.lower(), "weights": finding.vector(variable).tolist()}
    if variable.is_continuous:
        return float(finding)
    if variable.has_state(finding):
        return [variable.index(finding)]
    return sorted(variable.index(state) for state in finding)


def from_page(subject: Subject, told: Mapping[str, Any]) -> dict[str, Any]:
    """Findings that a page tells."""
    variables = subject.model.variables
    for name in told:
        if name not in variables:
            raise UnknownVariable.named(name, variables, subject.place)
    return {name: _from_page(variables[name], value) for name, value in told.items()}


def _from_page(variable: Variable, value: Any) -> Any:
    if isinstance(value, Mapping):
        kind, weights = value.get("kind"), value.get("weights")
        if isinstance(kind, str) and kind in _SOFT and isinstance(weights, list) and all(map(_is_number, weights)):
            return _SOFT[kind](weights)
    if isinstance(value, list) and not variable.is_continuous:
        if not value or not all(type(place) is int and 0 <= place < variable.num_states for place in value):
            raise InvalidEvidence(f"{variable.name!r} has {variable.num_states} states: {value} names none of them.")
        states = [variable.states[place] for place in value]
        return states[0] if len(states) == 1 else states
    if variable.is_continuous and _is_number(value):
        return float(value)
    raise InvalidEvidence(f"{shortened(value)} is no finding on {variable.name!r}.")


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def listed(
    variables: Mapping[str, Variable], evidence: Mapping[str, Any], do: Mapping[str, Any]
) -> list[dict[str, str]]:
    """Each finding in words."""
    told = [
        {"name": name, "kind": "set", "text": f"{one_line(name)} := {finding_text(state)}"}
        for name, state in do.items()
    ]
    for name, finding in evidence.items():
        variable = variables[name]
        is_hard = variable.is_continuous or variable.has_state(finding)
        kind = "seen" if is_hard else "soft"
        told.append({"name": name, "kind": kind, "text": finding_words(variable, finding)})
    return told


def finding_words(variable: Variable, finding: Any) -> str:
    """What a finding says of its variable: `fever = yes`, `fever ≠ no`, `fever = low or high`."""
    return f"{one_line(variable.name)} {_relation(variable, finding)}"


def _relation(variable: Variable, finding: Any) -> str:
    if not variable.is_continuous and not variable.has_state(finding) and _is_several(finding):
        others = [state for state in variable.states if state not in finding]
        if len(others) == 1 and variable.num_states > 2:
            return f"≠ {one_line(str(others[0]))}"
        states = [one_line(str(state)) for state in variable.states if state in finding]
        return f"= {' or '.join(states)}"
    return f"= {format_number(finding) if variable.is_continuous else finding_text(finding)}"


def _is_several(finding: Any) -> bool:
    return isinstance(finding, Collection) and not isinstance(finding, (str, bytes, Mapping))
