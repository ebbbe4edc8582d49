"""Pictures of decision trees: from the first choice on the left to outcomes on the right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from plausible.base.records import counted, format_number, one_line
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode
from plausible.decisions.trees.tree import DecisionTree, Path, TreeSolution
from plausible.plotting.decisions import DECISION, UTILITY
from plausible.plotting.drawing import Arc, Look, Node, drawn
from plausible.plotting.measuring import fitted
from plausible.plotting.nodes import PLAIN, name_node, percentage
from plausible.plotting.picture import Picture

#: So many nodes are drawn, those nearest to the root; and how wide the name of a branch is at most.
_MOST_NODES, _WIDEST = 60, 140.0
_TAKEN = Look("bar", 3.0, says="what to do")


def picture_of_decision_tree(tree: DecisionTree | TreeSolution) -> Picture:
    """Choices in rectangles, chances in ovals, outcomes in green; of a solution with what each is worth."""
    solution = tree if isinstance(tree, TreeSolution) else None
    whole = tree.tree if isinstance(tree, TreeSolution) else tree
    every = dict(whole.nodes())
    nearest = sorted(every, key=len)[:_MOST_NODES]
    shown = [path for path in every if path in set(nearest)]
    number = {path: place for place, path in enumerate(shown)}
    values = {} if solution is None else whole.values(solution.strategy)
    nodes = [_node(path, every[path], number, values) for path in shown]
    arcs = []
    for path in shown[1:]:
        above = every[path[:-1]]
        if not isinstance(above, Outcome):
            arcs.append(Arc(number[path[:-1]], number[path], look=_look(above, path, solution)))
    hidden = len(every) - len(shown)
    notes = [f"{len(shown)} of {counted(len(every), 'node')}, the first; +2 beside a name: it has two more branches."]
    return drawn(nodes, arcs, notes=notes if hidden else [], form="right")


def _node(path: Path, node: TreeNode, number: Mapping[Path, int], values: Mapping[Path, float]) -> Node:
    if isinstance(node, Outcome):
        return name_node(format_number(node.utility), f"outcome {format_number(node.utility)}", style=UTILITY)
    hidden = sum((*path, (node.name, label)) not in number for label in node.labels)
    tag, worth = f"+{hidden}" if hidden else "", [format_number(values[path])] if values else []
    told = ", ".join(
        [f"{one_line(str(node.name))}: {', '.join(map(str, node.labels))}", *(f"worth {w}" for w in worth)]
    )
    if isinstance(node, Choice):
        return name_node(str(node.name), f"decision {told}", "rectangle", replace(DECISION, tag=tag), worth)
    return name_node(str(node.name), f"chance {told}", "oval", replace(PLAIN, tag=tag), worth)


def _look(above: Choice | Chance, path: Path, solution: TreeSolution | None) -> Look:
    """How the branch that leads to a node looks: what it is called, how probable it is, whether it is taken."""
    label = path[-1][1]
    told = fitted(str(label), 11.0, _WIDEST)
    if isinstance(above, Choice):
        is_taken = solution is not None and solution.strategy.get(path[:-1]) == label
        return replace(_TAKEN if is_taken else Look(), label=told or "␣")
    chance = percentage(dict(zip(above.labels, above.probabilities, strict=True))[label])
    return Look(label=f"{told} {chance}", says=chance)
