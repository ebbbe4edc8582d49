"""What the page shows: a model's outline, its scene, and what is believed given findings."""

from __future__ import annotations

from typing import Any

from plausible import examples
from plausible.base.records import one_line
from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument
from plausible.models import BayesianNetwork
from plausible.plotting.live import Live, from_page
from plausible.plotting.models import places_of
from plausible.plotting.scenes import MOST_LISTED, Subject, picture_of_subject
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk, Version
from plausible.studio.problems import problem_of


def outline(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What a model is: its kind, its variables, what can be asked of it."""
    return told_of(desk.version(asked.text("model")))


def opened(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The outline of the model that was opened last, if any is open."""
    last = desk.last
    return {"outline": None if last is None else told_of(last)}


def told_of(version: Version) -> dict[str, Any]:
    """What pages are told of a model when it is opened or edited."""
    model, shown = version.model, version.shown
    notes = getattr(model, "notes", None)
    return {
        "model": version.number,
        "name": version.name,
        "title": one_line(getattr(notes, "name", "") or version.name),
        "description": getattr(notes, "description", "") or "",
        "kind": kind_of(version),
        "numSteps": version.num_steps,
        "canBePlaced": hasattr(model, "with_notes"),
        "isPlaced": bool(places_of(model)),
        "variables": [_variable(shown, name) for name in shown.variables],
        "decisions": list(model.decisions) if isinstance(model, InfluenceDiagram) else [],
        "utilities": [str(name) for name in model.utility_factors] if isinstance(model, InfluenceDiagram) else [],
    }


def kind_of(version: Version) -> str:
    """By which the page chooses what it offers."""
    if isinstance(version.model, InfluenceDiagram):
        return "diagram"
    if version.num_steps:
        return "dynamic"
    return "network" if isinstance(version.model, BayesianNetwork) else "markov"


def _variable(model: Any, name: str) -> dict[str, Any]:
    variable = model.variables[name]
    states = [] if variable.is_continuous else [one_line(str(state)) for state in variable.states[:MOST_LISTED]]
    return {
        "name": name,
        "states": states,
        "numStates": 0 if variable.is_continuous else variable.num_states,
        "isContinuous": variable.is_continuous,
    }


def scene(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Where everything stands, and what is believed."""
    version, effort = desk.version(asked.text("model")), asked.text("effort", "quick")
    subject = version.subject(effort)
    evidence, do = findings_in(asked, subject)
    live = version.live(focus_in(asked), (*do, *evidence), effort)
    return {"scene": live.scene.data, "answer": _answer(live, evidence, do)}


def beliefs(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What is believed of all that the scene has room for."""
    version, effort = desk.version(asked.text("model")), asked.text("effort", "quick")
    evidence, do = findings_in(asked, version.subject(effort))
    return {"answer": _answer(live_at(version, asked), evidence, do)}


def live_at(version: Version, asked: Asked) -> Live:
    """The scene that a page shows: by its focus, and what was around it when it was laid out."""
    return version.live(focus_in(asked), tuple(asked.texts("around", [])), asked.text("effort", "quick"))


def _answer(live: Live, evidence: dict[str, Any], do: dict[str, Any]) -> dict[str, Any]:
    """What is believed, or what stands against it, in words of pages."""
    answer = live.answer(evidence, do)
    if answer.problem is None:
        return answer.data
    told = problem_of(answer.problem)
    return {**answer.data, "message": told["message"], "seconds": told.get("seconds")}


def picture(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The still picture of what is shown, as SVG."""
    subject = desk.version(asked.text("model")).subject()
    evidence, do = findings_in(asked, subject)
    return {"svg": picture_of_subject(subject, evidence, do, focus_in(asked)).svg}


def findings_in(asked: Asked, subject: Subject) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is seen and what is set, as a page tells it."""
    return from_page(subject, asked.mapping("evidence", {})), from_page(subject, asked.mapping("do", {}))


def focus_in(asked: Asked) -> Any:
    """What to show of a large model: names, "auto", or None for all."""
    focus = asked.fields.get("focus", "auto")
    if focus is None or focus == "auto" or (isinstance(focus, list) and all(isinstance(name, str) for name in focus)):
        return focus
    raise InvalidArgument("The focus is a list of names, 'auto', or null for all.")


def open_example(desk: Desk, asked: Asked) -> dict[str, Any]:
    """A model that comes with the library."""
    name = asked.text("name")
    return told_of(desk.put(examples.load(name), name))


def list_examples(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The models that come with the library, each with a line about it."""
    told = [examples.get(name) for name in examples.names()]
    return {"examples": [{"name": one.name, "description": one_line(one.description)} for one in told]}
