"""Models in time: how many steps are laid out, and how a belief goes from step to step."""

from __future__ import annotations

import re
from typing import Any

from plausible.base.records import one_line
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk, Version
from plausible.studio.seeing import findings_in, told_of

#: No more steps are laid out.
MOST_STEPS = 200

_STEP = re.compile(r"(.*)\[(\d+)\]", re.DOTALL)


def steps(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The outline of the model with another number of steps laid out."""
    before, num_steps = _in_time(desk, asked), asked.whole("steps")
    if not 1 <= num_steps <= MOST_STEPS:
        raise InvalidArgument(f"The number of steps is 1 to {MOST_STEPS}, not {num_steps}.")
    return told_of(desk.put(before.model, before.name, before, num_steps))


def course(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What is believed of one variable at each step, given what is known at any."""
    version, name = _in_time(desk, asked), asked.text("name")
    subject = version.subject()
    evidence, do = findings_in(asked, subject)
    found = {
        matched[2]: one for one in subject.model.variables if (matched := _STEP.fullmatch(one)) and matched[1] == name
    }
    if not found:
        raise UnknownVariable.named(name, _names(version), "this model")
    variables = [found[step] for step in sorted(found, key=int)]
    first = subject.model.variables[variables[0]]
    if first.is_continuous:
        moments = subject.model.continuous_marginals(evidence=evidence, **({"do": do} if do else {}))
        means = [float(moments[one].mean[0]) for one in variables]
        spread = [max(float(moments[one].covariance[0, 0]), 0.0) ** 0.5 for one in variables]
        return {"name": name, "states": [], "beliefs": [], "means": means, "spread": spread}
    options = {"do": do} if do else {}
    beliefs = subject.model.marginals(evidence=evidence, targets=variables, **options, **subject.options)
    states = [one_line(str(state)) for state in first.states]
    return {"name": name, "states": states, "beliefs": [beliefs[one].values.tolist() for one in variables]}


def _in_time(desk: Desk, asked: Asked) -> Version:
    version = desk.version(asked.text("model"))
    if not version.num_steps:
        raise NotSupported("This model has no steps in time.")
    return version


def _names(version: Version) -> list[str]:
    matches = (_STEP.fullmatch(name) for name in version.shown.variables)
    return list(dict.fromkeys(match[1] for match in matches if match))
