"""Scenes: what a page draws a live picture from, as plain data. Boxes have room for beliefs, which come later."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from plausible.base.records import format_number, one_line
from plausible.decisions.solving.solution import Policy, Solution
from plausible.factors import Factor
from plausible.graphs.base_graph import BaseGraph
from plausible.graphs.marks import Edge, Mark
from plausible.plotting.decisions import DECISION, INFORMATION, UTILITY, policy_node
from plausible.plotting.drawing import Look, Node, arc_of, drawn
from plausible.plotting.focus import FocusLike, view_of
from plausible.plotting.measuring import FONTS
from plausible.plotting.models import described, heading_of, places_of
from plausible.plotting.nodes import MEASURES, dot_node, label_of, name_node, row_node, stacked
from plausible.plotting.palette import PALETTE
from plausible.plotting.parts import Part
from plausible.plotting.picture import Picture

#: Variables with more states than this are told by their number alone: nobody clicks on one of a thousand rows.
MOST_LISTED = 64


@dataclass(frozen=True, slots=True)
class Subject:
    """What a live picture is of: a model that answers, the graph, what is decided by which rule, and what counts."""

    model: Any
    graph: BaseGraph
    title: str
    options: Mapping[str, Any]  # Engine and budget of every question
    decisions: Collection[str] = ()
    policies: Mapping[str, Policy] = field(default_factory=dict)
    utilities: Mapping[str, Factor] = field(default_factory=dict)

    @classmethod
    def of_model(cls, model: Any, options: Mapping[str, Any]) -> Subject:
        """A model with a graph."""
        return cls(model, model.graph, heading_of(model), options)

    @classmethod
    def of_solution(cls, solution: Solution, options: Mapping[str, Any]) -> Subject:
        """An influence diagram under its best strategy."""
        diagram = solution.policies.diagram
        network = diagram.network(solution.strategy)
        name = one_line(diagram.notes.name)
        return cls(network, diagram.graph, name, options, diagram.decisions, solution.policies, diagram.utility_factors)

    @property
    def place(self) -> str:
        """What errors call it."""
        return "this diagram" if self.decisions else "this model"

    @property
    def can_set(self) -> bool:
        """Whether it says what an intervention changes."""
        return hasattr(self.model, "intervene")

    def look(self, edge: Edge) -> Look:
        """How an edge looks."""
        return INFORMATION if edge.right in self.decisions else Look()


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene, and what it asks to be believed of."""

    names: tuple[str, ...]  # The variables with room for beliefs
    utilities: tuple[str, ...]  # The utilities with room for what is expected of them
    data: dict[str, Any]  # What a page draws it from


def scene_of(subject: Subject, focus: FocusLike = "auto", around: Collection[str] = ()) -> Scene:
    """The scene of all of a small graph, or of what is around a focus; `around` is what matters where none is named."""
    graph = subject.graph
    view = view_of(graph.nodes, graph.marked_edges, focus, [name for name in around if name in graph], subject.place)
    shown = [str(node) for node in view.nodes]
    nodes = [_node(subject, name, view.hidden.get(name, 0)) for name in shown]
    number = {node: place for place, node in enumerate(view.nodes)}
    arcs = [arc_of(edge, number, subject.look(edge)) for edge in view.edges]
    picture = drawn(nodes, arcs, subject.title, (), places_of(subject.model))
    # All edges are as thick, so that the picture keeps their order.
    heads = [shown[arc.head] if arc.marks[1] is Mark.ARROW else None for arc in arcs]
    kinds = {name: _kind(subject, name) for name in shown}
    data = {
        "title": subject.title,
        "width": picture.width,
        "height": picture.height,
        "parts": [_part(part) for part in picture.of_kind("plate")],
        "edges": [
            {**_part(part), "into": head, "ends": [str(end) for end in edge.ends]}
            for part, head, edge in zip(picture.of_kind("edge"), heads, view.edges, strict=True)
        ],
        "nodes": [
            {**_part(part), "kind": kinds[part.name], **_details(subject, part, view.hidden.get(part.name, 0))}
            for part in picture.of_kind("node")
        ],
        "notes": list(view.notes),
        "names": [str(node) for node in graph.nodes],
        "canSet": subject.can_set,
        "colours": PALETTE,
        "fonts": FONTS,
        "measures": MEASURES,
    }
    names = tuple(name for name, kind in kinds.items() if kind in ("states", "number"))
    return Scene(names, tuple(name for name in shown if name in subject.utilities), data)


def _kind(subject: Subject, name: str) -> str:
    """What a page fills in: rows of states, lines about a number, what is expected of a utility, or nothing."""
    if name in subject.utilities:
        return "utility"
    variable = subject.model.variables.get(name)
    if variable is None:
        return "still"
    if variable.is_continuous:
        return "number"
    return "states" if variable.num_states <= MOST_LISTED else "still"


def _node(subject: Subject, name: str, hidden: int) -> Node:
    kind = _kind(subject, name)
    if kind == "utility":
        # The line below the name is for the page to write; none that it may have to is longer.
        node = name_node(name, f"utility {one_line(name)}", "rhombus", UTILITY, more=["−0.00000e+00"])
        return replace(node, items=node.items[:-1])
    if name not in subject.model.variables:
        return dot_node(name, name)
    title = described(subject.model, name)
    if kind == "still":
        states = f"{format_number(subject.model.variables[name].num_states)} states"
        return name_node(name, title, more=[states])
    labels = [str(state) for state in subject.model.variables[name].states]
    if name not in subject.decisions:
        return replace(row_node(name, labels, hidden), title=title)
    node, policy = replace(row_node(name, labels, hidden, DECISION), title=title), subject.policies[name]
    return stacked(node, policy_node(policy)) if policy.uses else node


def _part(part: Part) -> dict[str, Any]:
    return {"name": part.name, "title": part.title, "items": [asdict(item) for item in part.items]}


def _details(subject: Subject, part: Part, hidden: int) -> dict[str, Any]:
    variable = subject.model.variables.get(part.name)
    states = variable.states if variable is not None and len(variable.states) <= MOST_LISTED else ()
    return {
        "states": [{"name": one_line(str(state)), "label": label_of(str(state))} for state in states],
        "hidden": hidden,
        "isDecision": part.name in subject.decisions,
    }


def picture_of_subject(subject: Subject, evidence: Any, do: Any, focus: FocusLike) -> Picture:
    """The still picture of what a subject believes."""
    still: Picture = subject.model.picture(evidence, do, focus=focus, **subject.options)
    return still
