"""From boxes to the tree of contexts that they make; on the way it shows whether they partition the assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from plausible.cpds.boxes import Box, box_text
from plausible.cpds.contexts import Branching, Node
from plausible.errors import InvalidCPD, TooLarge
from plausible.factors.alignment import Scope

__all__ = ["MAX_CONTEXTS", "Partition", "partition"]

#: More contexts than this are not worth a structured CPD.
MAX_CONTEXTS = 2**18


@dataclass(frozen=True, slots=True)
class Partition:
    """A tree over the parents, and for each leaf and state of the child the box that holds there."""

    root: Node
    members: list[tuple[int, ...]]


@dataclass(slots=True)
class _Builder:
    """One run of `partition`: `leaves` grows, depth first."""

    scope: Scope
    boxes: Sequence[Box]
    leaves: list[tuple[int, ...]] = field(default_factory=list)

    def node(self, live: Sequence[int], path: dict[int, frozenset[int]]) -> Node:
        """The subtree for the boxes that are compatible with the path."""
        mentioned = Counter(axis for box in live for axis in self.boxes[box] if axis not in path)
        mentioned.pop(len(self.scope) - 1, None)
        if not mentioned:
            return self.leaf(live, path)
        axis = max(mentioned, key=lambda axis: (mentioned[axis], -axis))
        branches = [
            (positions, self.node(left, {**path, axis: positions})) for left, positions in self.branches(live, axis)
        ]
        return Branching(axis, tuple(branches)) if len(branches) > 1 else branches[0][1]

    def branches(self, live: Sequence[int], axis: int) -> list[tuple[tuple[int, ...], frozenset[int]]]:
        """Positions of an axis that the same boxes allow go together."""
        together: dict[tuple[int, ...], list[int]] = {}
        for position in range(self.scope[axis].num_states):
            left = tuple(box for box in live if axis not in self.boxes[box] or position in self.boxes[box][axis])
            together.setdefault(left, []).append(position)
        return [(left, frozenset(positions)) for left, positions in together.items()]

    def leaf(self, live: Sequence[int], path: Box) -> Node:
        """A context in which only the child is left to look at: each of its states needs one box."""
        last = len(self.scope) - 1
        row = []
        for position in range(self.scope[last].num_states):
            holding = [box for box in live if last not in self.boxes[box] or position in self.boxes[box][last]]
            if len(holding) != 1:
                raise InvalidCPD(self.problem(holding, {**path, last: frozenset([position])}))
            row.append(holding[0])
        if len(self.leaves) == MAX_CONTEXTS:
            raise TooLarge(
                f"The rules of {self.scope[last].name!r} make more than {MAX_CONTEXTS} contexts. "
                "Give it fewer parents, or introduce variables in between."
            )
        self.leaves.append(tuple(row))
        return len(self.leaves) - 1

    def problem(self, holding: Sequence[int], place: Box) -> str:
        where = f"{box_text(self.scope, place)} of {self.scope[-1].name!r}"
        if not holding:
            return f"No rule covers the case {where}."
        one, two = (f"rule {box} ({box_text(self.scope, self.boxes[box]) or 'always'})" for box in holding[:2])
        return f"The case {where} is covered by {one} and by {two}: rules must exclude each other."


def partition(scope: Scope, boxes: Sequence[Box]) -> Partition:
    """The tree of contexts of some boxes over `(*parents, child)`.

    Splits on the parent that most boxes mention until none is mentioned. Raises `InvalidCPD`, naming a case, where two
    boxes overlap or none holds. O(contexts × boxes); structure keeps the contexts few, but they can be exponentially
    many in the number of boxes, hence the limit `MAX_CONTEXTS`.
    """
    builder = _Builder(scope, boxes)
    return Partition(builder.node(range(len(boxes)), {}), builder.leaves)
