"""Pictures of influence diagrams: ovals for chance, rectangles for decisions and policies, rhombuses for utilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from plausible.base.records import format_number, one_line
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.solution import Policy, Solution
from plausible.factors.alignment import assignment_at
from plausible.plotting.drawing import Look, Node, arc_of, drawn
from plausible.plotting.focus import FocusLike, View, view_of
from plausible.plotting.models import places_of
from plausible.plotting.nodes import PLAIN, Style, name_node, table_node
from plausible.plotting.picture import Picture

DECISION = Style("plain-light", "bar", 1.6)
UTILITY = Style("good-light", "good", 1.4)
INFORMATION = Look(is_dashed=True, says="seen before the decision")
#: So many rows of a policy are shown.
_MOST_ROWS = 8


def picture_of_diagram(diagram: Diagram, focus: FocusLike = "auto") -> Picture:
    """The picture of an influence diagram; edges into decisions, which tell what is seen, are dashed."""
    return _picture(diagram, {}, (), focus)


def picture_of_solution(solution: Solution, focus: FocusLike = "auto") -> Picture:
    """The diagram with what to do in each decision."""
    worth = f"Expected utility {format_number(solution.expected_utility)}"
    worth += ", the maximum." if solution.is_optimal else "."
    return _picture(solution.policies.diagram, solution.policies, (worth,), focus)


def _picture(diagram: Diagram, policies: Mapping[str, Policy], notes: tuple[str, ...], focus: FocusLike) -> Picture:
    graph = diagram.graph
    view = view_of(graph.nodes, graph.marked_edges, focus, list(diagram.decisions), "this diagram")
    number = {node: place for place, node in enumerate(view.nodes)}
    nodes = [_node(diagram, str(node), policies, view) for node in view.nodes]
    arcs = [arc_of(edge, number, INFORMATION if edge.right in diagram.decisions else Look()) for edge in view.edges]
    return drawn(nodes, arcs, one_line(diagram.notes.name), (*notes, *view.notes), places_of(diagram))


def _node(diagram: Diagram, name: str, policies: Mapping[str, Policy], view: View) -> Node:
    hidden = view.hidden.get(name, 0)
    tag = f"+{hidden}" if hidden else ""
    if name in diagram.utilities:
        parents = ", ".join(diagram.utilities[name].parent_names)
        return name_node(
            name, f"utility {one_line(name)} of {parents or 'nothing'}", "rhombus", replace(UTILITY, tag=tag)
        )
    states = ", ".join(map(str, diagram.variables[name].states)) if not diagram.variables[name].is_continuous else ""
    if name not in diagram.decisions:
        return name_node(name, f"chance {one_line(name)}: {states}", "oval", replace(PLAIN, tag=tag))
    if name not in policies:
        return name_node(name, f"decision {one_line(name)}: {states}", "rectangle", replace(DECISION, tag=tag))
    return policy_node(policies[name], replace(DECISION, tag=tag))


def policy_node(policy: Policy, style: Style = DECISION) -> Node:
    """What to do for what is seen: what can happen under the strategy, the likeliest first."""
    name = policy.decision.name
    order = np.argsort(-np.round(policy.probability, 12), kind="stable")
    happening = [int(row) for row in order if policy.probability[row] > 0]
    shown = sorted(happening[:_MOST_ROWS])
    rows = []
    for row in shown:
        seen = assignment_at(policy.uses, row)
        rows.append([*map(str, seen.values()), str(policy.decision.states[policy.actions[row]])])
    told = "; ".join(" ".join(row[:-1]) + (": " if row[:-1] else "") + row[-1] for row in rows)
    more = len(happening) - len(shown)
    title = f"decision {one_line(name)}: {told}{f'; {more} more' if more else ''}"
    if not policy.uses:
        return name_node(name, title, "rectangle", style, more=[f"always {rows[0][0]}"] if rows else [])
    header = [*(variable.name for variable in policy.uses), "do"]
    if more:
        rows.append([f"{more} more", *[""] * (len(header) - 1)])
    return table_node(name, header, rows, style, title)
