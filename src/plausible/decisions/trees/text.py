"""Decision trees as text."""

from __future__ import annotations

from collections.abc import Mapping

from plausible.base.display import format_number
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode
from plausible.decisions.trees.tree import DecisionTree, Path
from plausible.errors import counted
from plausible.variables import State

__all__ = ["draw_tree"]

#: Means this small beside the largest utility are zero but for rounding.
_NOISE = 1e-14


def draw_tree(tree: DecisionTree, strategy: Mapping[Path, State] | None = None, max_lines: int = 200) -> str:
    """A tree as text: □ is a choice, ○ a chance, ▶ the branch that a strategy takes.

    Parameters
    ----------
    tree
        The tree.
    strategy
        An action at every choice, by its path, such as `tree.solve().strategy`; nodes then show what they are worth.
    max_lines
        Where to stop drawing.

    Examples
    --------
    >>> print(draw_tree(DecisionTree(Choice("D", {"a": 1, "b": Choice("E", {"c": 2, "d": 3})}))))
    □ D
    ├─ a: 1
    └─ b: □ E
       ├─ c: 2
       └─ d: 3
    """
    values = None if strategy is None else tree.values(strategy)
    noise = _NOISE * max(abs(node.utility) for _, node in tree.nodes() if isinstance(node, Outcome))
    lines: list[str] = []
    hidden = 0
    waiting: list[tuple[Path, TreeNode, str, str]] = [((), tree.root, "", "")]  # with what stands before, and below
    while waiting:
        path, node, before, below = waiting.pop()
        if len(lines) < max_lines:
            lines.append(before + _node_text(node, None if values is None else values[path], noise))
        else:
            hidden += 1
        if not isinstance(node, Outcome):
            waiting += reversed(_branches(path, node, below, strategy))
    if hidden:
        lines.append(f"... and {counted(hidden, 'node')} more")
    return "\n".join(lines)


def _branches(
    path: Path, node: Choice | Chance, indent: str, strategy: Mapping[Path, State] | None
) -> list[tuple[Path, TreeNode, str, str]]:
    """The branches of a node as they wait to be drawn."""
    found = []
    for place, (label, child) in enumerate(zip(node.labels, node.children, strict=True)):
        is_last = place == len(node.labels) - 1
        is_taken = isinstance(node, Choice) and strategy is not None and strategy.get(path) == label
        corner = ("└" if is_last else "├") + ("▶" if is_taken else "─")
        chance = f" ({format_number(node.probabilities[place])})" if isinstance(node, Chance) else ""
        below = indent + ("   " if is_last else "│  ")
        found.append(((*path, (node.name, label)), child, f"{indent}{corner} {label}{chance}: ", below))
    return found


def _node_text(node: TreeNode, value: float | None, noise: float) -> str:
    if isinstance(node, Outcome):
        return _number_text(node.utility, 0.0)
    sign = "□" if isinstance(node, Choice) else "○"
    return f"{sign} {node.name}" + ("" if value is None else f" = {_number_text(value, noise)}")


def _number_text(value: float, noise: float) -> str:
    return format_number(value) if abs(value) > noise else "0"
