"""Why a belief is what it is: what separates variables, what keeps them connected, what matters and what does not."""

from __future__ import annotations

from typing import Any

from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.inference.sensitivity.functions import EventSensitivity
from plausible.inference.sensitivity.functions import tornado as tornado_of
from plausible.models import BayesianNetwork
from plausible.plotting.live import listed
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.seeing import findings_in
from plausible.variables.evidence import read_findings

#: How many rows a page gets, and for how many numbers it is tried to make a belief as wanted.
_MOST_ROWS, _MOST_TRIED = 15, 400


def separation(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Whether two sets of variables are separated given a third; the trails between them, and what blocks each."""
    graph = desk.version(asked.text("model")).shown.graph
    told = graph.explain_separation(asked.texts("x"), asked.texts("y"), given=asked.texts("given", []))
    trails = [
        {
            "text": str(trail),
            "nodes": [str(node) for node in trail.nodes],
            "isActive": trail.is_active,
            "blockers": [str(junction.node) for junction in trail.blockers],
        }
        for trail in told.trails
    ]
    return {"text": str(told), "isSeparated": told.separated, "trails": trails}


def relevance(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Which distributions and which findings a belief depends on, whatever the numbers are; of others, why it does not.

    Bayes-ball finds the distributions (Shachter 1998). A finding matters if one of them is about its variable. Others
    are barren (nothing is known or asked of what they lead to), or separated by what is known.
    """
    subject, targets = desk.version(asked.text("model")).subject(), asked.texts("targets")
    if not isinstance(subject.model, BayesianNetwork):
        raise NotSupported("Only a Bayesian network has distributions of which some may not matter.")
    evidence, do = findings_in(asked, subject)
    model = subject.model.intervene(do) if do else subject.model
    graph, (read, beliefs) = model.graph, read_findings(evidence, model.variables, subject.place)
    needed = graph.requisite(targets, (*do, *read.hard, *read.values), (*read.soft, *beliefs))
    about = needed.union(*(graph.parents(name) for name in needed))
    known = {*evidence, *do}
    leading = graph.ancestors([*targets, *known]).union(targets, known)
    rest = [name for name in model.variables if name not in needed and name not in known]
    return {
        "needed": [name for name in model.variables if name in needed],
        "findings": [{**one, "matters": one["name"] in about} for one in listed(model.variables, evidence, do)],
        "barren": [name for name in rest if name not in leading],
        "separated": [name for name in rest if name in leading and name not in targets],
    }


def next_questions(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What to observe next: the variables that tell most about a target, on average."""
    version, target = desk.version(asked.text("model")), asked.text("target")
    subject = version.subject()
    evidence, _ = findings_in(asked, subject)
    ranking = subject.model.mutual_information(target, evidence, budget=subject.options["budget"])
    blanket = [str(node) for node in version.shown.graph.markov_blanket(target)]
    rows = [{"name": str(name), "share": share} for name, share in ranking["share"].head(_MOST_ROWS).items()]
    return {"target": target, "rows": rows, "blanket": blanket}


def tornado(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The numbers of the model that a belief hangs on most, each varied by a tenth of itself."""
    found = _sensitivities(desk, asked)
    table = tornado_of(found, limit=_MOST_ROWS)
    rows = [
        {"parameter": str(row["parameter"]), "value": row["value"], "low": row["at_low"], "high": row["at_high"]}
        for row in table.to_dict("records")
    ]
    return {"event": str(found.event), "now": found.probability, "rows": rows}


def changes(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Which single numbers of the model could be changed so that a belief is as wanted, the smallest change first."""
    found, wanted = _sensitivities(desk, asked), asked.number("probability")
    if not 0 <= wanted <= 1:
        raise InvalidArgument(f"A probability is between 0 and 1, not {wanted}.")
    table = tornado_of(found, limit=_MOST_TRIED)
    functions = [found.function(row["parameter"]) for row in table.to_dict("records") if row["swing"] > 0]
    solved = [(one, value) for one in functions if (value := one.solve(wanted)) is not None]
    solved.sort(key=lambda pair: (round(abs(pair[1] - pair[0].current), 12), str(pair[0].parameter)))
    rows = [
        {"parameter": str(one.parameter), "value": one.current, "wanted": value} for one, value in solved[:_MOST_ROWS]
    ]
    return {"event": str(found.event), "rows": rows}


def _sensitivities(desk: Desk, asked: Asked) -> EventSensitivity:
    subject = desk.version(asked.text("model")).subject()
    if not hasattr(subject.model, "sensitivities"):
        raise NotSupported("Only a Bayesian network has the tables whose numbers can be varied.")
    target, (evidence, do) = asked.text("target"), findings_in(asked, subject)
    network = subject.model.intervene(do) if do else subject.model
    if target not in network.variables:
        raise UnknownVariable.named(target, network.variables, subject.place)
    state = network.variables[target].states[asked.whole("state", 0)]
    found: EventSensitivity = network.sensitivities(target, state, evidence, budget=subject.options["budget"])
    return found
