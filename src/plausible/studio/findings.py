"""What findings do: whether they agree, which of them moved a belief, and what explains all of them best."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Final, NamedTuple

from plausible.base.records import one_line
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, PlausibleError, TooLarge
from plausible.inference import Budget
from plausible.plotting.live import finding_words
from plausible.plotting.nodes import percentage
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk, Version
from plausible.studio.seeing import findings_in
from plausible.variables import Assignment

#: Each finding is left out once: more of them are not weighed against each other.
MOST_FINDINGS: Final = 40
#: A conflict of fewer nats either way says little: one and a half times as likely.
_SLIGHT: Final = math.log(1.5)
#: So many explanations are listed, and so many states that would explain a conflict.
MOST_EXPLANATIONS, _MOST_REASONS = 50, 3


class Known(NamedTuple):
    """A model in which is set what is set, what is seen in it, and what an answer may cost."""

    model: Any
    evidence: dict[str, Any]
    budget: Budget


def known(version: Version, asked: Asked) -> Known:
    """What a question is about."""
    subject = version.subject(asked.text("effort", "quick"))
    evidence, do = findings_in(asked, subject)
    model = subject.model.intervene(do) if do else subject.model
    return Known(model, evidence, subject.options["budget"])


def agreement(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Whether the findings agree, and which one least; nothing where that can't be told."""
    model, evidence, budget = known(desk.version(asked.text("model")), asked)
    if not 2 <= len(evidence) <= MOST_FINDINGS:
        return {"agreement": None}
    try:
        found = model.conflict(evidence, budget=budget)
    except (NotSupported, ImpossibleEvidence, TooLarge):
        return {"agreement": None}
    is_slight = abs(found.value) < _SLIGHT
    odd = max(found.partial, key=lambda name: found.partial[name])
    told = {
        "value": found.value,
        "times": _times(abs(found.value)),
        "manner": "slight" if is_slight else "disagree" if found.is_positive else "agree",
        "odd": {"name": odd, "text": finding_words(model.variables[odd], evidence[odd])},
        "reasons": _reasons(model, evidence, budget) if found.is_positive and not is_slight else [],
    }
    return {"agreement": told}


def _times(nats: float) -> str:
    """How many times as likely, in so few digits as one would say."""
    if nats > 10:
        return "more than 20,000"
    return f"{math.exp(nats):,.0f}" if nats > math.log(10) else f"{math.exp(nats):.1f}"


def _reasons(model: Any, evidence: dict[str, Any], budget: Budget) -> list[dict[str, Any]]:
    """Rare states that would explain a conflict."""
    with suppress(PlausibleError):
        rows = model.conflict_explanations(evidence, budget=budget)
        explaining = rows[rows["explains"]].head(_MOST_REASONS)
        return [
            {"name": row.variable, "text": f"{one_line(row.variable)} = {one_line(str(row.state))}"}
            for row in explaining.itertuples()
        ]
    return []


def impact(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What each finding did to the belief in a variable: what would be believed without it, and by it alone."""
    model, evidence, budget = known(desk.version(asked.text("model")), asked)
    target = asked.text("target")
    if not 1 <= len(evidence) <= MOST_FINDINGS:
        raise InvalidArgument(f"Between one finding and {MOST_FINDINGS} can be compared.")
    found = model.evidence_impact(target, evidence, budget=budget)
    findings = [
        {
            "name": one.name,
            "text": finding_words(model.variables[one.name], one.finding),
            "without": one.without.flat.tolist(),
            "alone": one.alone.flat.tolist(),
            "change": list(one.change.values()),
        }
        for one in found
    ]
    return {
        "target": target,
        "states": [one_line(str(state)) for state in model.variables[target].states],
        "prior": found.prior.flat.tolist(),
        "posterior": found.posterior.flat.tolist(),
        "findings": findings,
    }


def explanations(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The most probable states of all variables together, the best explanation first."""
    model, evidence, budget = known(desk.version(asked.text("model")), asked)
    wanted = asked.whole("number", 5)
    if not 1 <= wanted <= MOST_EXPLANATIONS:
        raise InvalidArgument(f"Between one and {MOST_EXPLANATIONS} explanations are listed.")
    note = ""
    try:
        best = model.k_best(wanted, evidence, budget=budget)
    except TooLarge:
        best, note = [model.mpe(evidence, budget=budget)], "To list more than the best one would take too long."
    total = None
    with suppress(NotSupported, TooLarge):  # a belief to establish has no probability
        total = model.log_probability(evidence, budget=budget)
    return {"explanations": [_explanation(model, one, best[0], total) for one in best], "note": note}


def _explanation(model: Any, one: Assignment, best: Assignment, total: float | None) -> dict[str, Any]:
    """An explanation by the states of its variables; beside the best one in what it differs, and how probable it is."""
    states = {name: model.variables[name].index(state) for name, state in one.items() if not _is_number(model, name)}
    differing = [name for name in states if one[name] != best[name]]
    probability = None
    if total is not None and one.log_probability is not None:
        probability = math.exp(min(one.log_probability - total, 0.0))
    return {
        "states": states,
        "probability": None if probability is None else _told(probability),
        "share": 1.0 if one is best else math.exp(min((one.log_probability or 0.0) - (best.log_probability or 0.0), 0)),
        "differs": [f"{one_line(name)} = {one_line(str(one[name]))}" for name in differing],
    }


def _is_number(model: Any, name: str) -> bool:
    return bool(model.variables[name].is_continuous)


def _told(probability: float) -> str:
    return percentage(probability) if probability >= 0.0005 else f"{probability:.2g}"
