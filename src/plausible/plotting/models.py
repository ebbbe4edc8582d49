"""Pictures of models: beliefs as bars in the nodes of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from plausible.base.records import one_line
from plausible.factors import Factor
from plausible.factors.information import mutual_information
from plausible.factors.moments import MomentGaussian
from plausible.graphs.base_graph import BaseGraph
from plausible.graphs.marks import Mark
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.factor_graph import FactorGraph
from plausible.models.notes import Notes
from plausible.plotting.drawing import Arc, Look, Node, arc_of, drawn
from plausible.plotting.focus import FocusLike, View, read_groups, view_of
from plausible.plotting.graphs import look_of, picture_of_graph, strength_looks
from plausible.plotting.nodes import PLAIN, SEEN, SET, SOFT, Row, Style, belief_node, dot_node, name_node, number_node
from plausible.plotting.picture import Picture
from plausible.variables import Variable
from plausible.variables.evidence import findings_of, settings_of
from plausible.variables.variable import states_cell

_CUT = Look("faint", 1.2, True, "cut by the intervention")


class DrawnModel(Protocol):
    """What pictures need of a model."""

    @property
    def variables(self) -> Mapping[str, Variable]: ...
    @property
    def graph(self) -> BaseGraph: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...


class Beliefs(NamedTuple):
    """What is believed of each variable that is shown."""

    states: Mapping[str, Factor]
    numbers: Mapping[str, MomentGaussian]


def picture_of_structure(model: Any) -> Picture:
    """The graph of a model, without asking the model anything: tooltips tell states and sizes."""
    titles = {name: described(model, name) for name in model.variables}
    if isinstance(model, FactorGraph):
        return _factor_graph(model, titles)
    return replace(picture_of_graph(model.graph, places=places_of(model), titles=titles), title=heading_of(model))


def picture_of_beliefs(
    model: Any,
    evidence: Any = None,
    do: Any = None,
    prior: bool = True,
    focus: FocusLike = "auto",
    strengths: Any = None,
    groups: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Picture:
    """The picture of what a model believes; see `Beliefs.picture`."""
    found, settings = dict(findings_of(evidence)), settings_of(do)
    around = [name for name in (*settings, *found) if name in model.graph]
    graph = model.graph
    view = view_of(graph.nodes, graph.marked_edges, focus, around, "this model")
    names = [str(node) for node in view.nodes if node in model.variables]
    question = {"evidence": evidence, **({"do": settings} if settings else {})}
    now = beliefs_of(model, names, question, options or {})
    given = {name: value for name, value in found.items() if name in model.inputs}
    asked = prior and (settings or len(found) > len(given))
    before = beliefs_of(model, names, {"evidence": given}, options or {}) if asked else None
    nodes = [
        _node(model, str(node), now, before, _style(model, str(node), found, settings), view) for node in view.nodes
    ]
    if strengths == "mutual-information":
        strengths = _information(model, view, question, options or {})
    looks = strength_looks(view.edges, strengths) if strengths is not None else {}
    number = {node: place for place, node in enumerate(view.nodes)}
    arcs = [_cut(arc_of(edge, number, look_of(edge, looks)), view, settings) for edge in view.edges]
    notes = [*_notes(found, settings, before is not None), *view.notes]
    framed = read_groups(view, graph.nodes, groups, "this model")
    return drawn(nodes, arcs, heading_of(model), notes, places_of(model), framed)


def places_of(model: Any) -> dict[str, tuple[float, float]]:
    """The places of nodes that the notes on a model tell."""
    notes: Notes = getattr(model, "notes", Notes())
    return {name: own.position for name, own in notes.variables.items() if own.position is not None}


def heading_of(model: Any) -> str:
    notes: Notes = getattr(model, "notes", Notes())
    return one_line(notes.name)


def beliefs_of(model: Any, names: list[str], question: Mapping[str, Any], options: Mapping[str, Any]) -> Beliefs:
    discrete = [name for name in names if not model.variables[name].is_continuous]
    # All together are told by one tree, which is kept for the next question.
    targets = None if len(discrete) == len(model.variables) else discrete
    states = model.marginals(**question, targets=targets, **options) if discrete else {}
    numbers: Mapping[str, MomentGaussian] = {}
    if len(discrete) < len(names):
        limits = {"budget": options["budget"]} if "budget" in options else {}
        numbers = model.continuous_marginals(**question, **limits)
    return Beliefs(states, numbers)


def _style(model: DrawnModel, name: str, found: Mapping[str, Any], settings: Mapping[str, Any]) -> Style:
    if name in settings:
        return SET
    if name not in found:
        return PLAIN
    variable = model.variables[name]
    return SEEN if variable.is_continuous or variable.has_state(found[name]) else SOFT


def _node(model: Any, name: str, now: Beliefs, before: Beliefs | None, style: Style, view: View) -> Node:
    hidden = view.hidden.get(name, 0)
    if name not in model.variables:
        return dot_node(name, name)
    if name in now.states:
        belief = now.states[name]
        priors = list(before.states[name].flat.tolist()) if before else [None] * belief.size
        is_sure = style in (SEEN, SET)
        rows = [
            Row(str(state), number, prior, is_sure and number > 0.5)
            for state, number, prior in zip(belief.scope[0].states, belief.flat.tolist(), priors, strict=True)
        ]
        return belief_node(name, rows, style, hidden)
    if name in now.numbers:
        earlier = spread_of(before.numbers[name]) if before and name in before.numbers else None
        return number_node(name, spread_of(now.numbers[name]), earlier, style, hidden)
    return name_node(name, described(model, name), style=style)


def spread_of(moments: MomentGaussian) -> tuple[float, float]:
    """Mean and standard deviation."""
    return float(moments.mean[0]), max(float(moments.covariance[0, 0]), 0.0) ** 0.5


def _cut(arc: Arc, view: View, settings: Mapping[str, Any]) -> Arc:
    """An arc into what an intervention sets has no force."""
    is_cut = view.nodes[arc.head] in settings and arc.marks[1] is Mark.ARROW
    return arc._replace(look=_CUT) if is_cut else arc


def _information(model: Any, view: View, question: Mapping[str, Any], options: Mapping[str, Any]) -> dict[Any, float]:
    """The mutual information between the ends of each edge, in nats."""
    found = {}
    for edge in view.edges:
        first, second = str(edge.left), str(edge.right)
        if not any(model.variables[name].is_continuous for name in (first, second)):
            found[edge.ends] = max(
                mutual_information(model.query([first, second], **question, **options), first, second), 0.0
            )
    return found


def _notes(found: Mapping[str, Any], settings: Mapping[str, Any], has_ticks: bool) -> list[str]:
    lines = []
    if found:
        lines.append(
            f"Seen: {', '.join(f'{one_line(name)} = {finding_text(value)}' for name, value in found.items())}."
        )
    if settings:
        lines.append(
            f"Set: {', '.join(f'{one_line(name)} = {finding_text(value)}' for name, value in settings.items())}."
        )
    if has_ticks:
        lines.append("Ticks mark what was believed before.")
    return [" ".join(lines)] if lines else []


def finding_text(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        return " or ".join(map(str, value))
    return one_line(str(value))


def described(model: Any, name: str) -> str:
    """The states of a variable, and the size of its distribution."""
    label = getattr(model, "notes", Notes()).of(name).label
    told = f"{one_line(name)}: {states_cell(model.variables[name])}"
    told += f"; {one_line(label)}" if label and label != name else ""
    if isinstance(model, BayesianNetwork) and name in model.cpds:
        cpd = model.cpds[name]
        told += f"; {cpd.kind}, {cpd.num_parameters} parameters"
    return told


def _factor_graph(model: FactorGraph, titles: Mapping[Any, str]) -> Picture:
    """Variables as ovals, factors as small squares."""
    view = view_of(model.graph.nodes, model.graph.marked_edges, "auto")
    nodes = [
        name_node(str(node), titles[node], "oval") if node in titles else dot_node(str(node), str(node))
        for node in view.nodes
    ]
    number = {node: place for place, node in enumerate(view.nodes)}
    arcs = [arc_of(edge, number, Look()) for edge in view.edges]
    return drawn(nodes, arcs, heading_of(model), view.notes, places_of(model))
