"""From boxes to the tree of contexts that they make; on the way it shows whether they partition the assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.cpds.boxes import Box, box_text
from plausible.cpds.contexts import Branching, Nodes, Path, path_box
from plausible.errors import InvalidCPD, TooLarge
from plausible.factors.alignment import Scope

#: More contexts than this are not worth a structured CPD.
MAX_CONTEXTS = 2**18


@dataclass(frozen=True, slots=True)
class Partition:
    """A tree over the parents, and for each leaf and state of the child the box that holds there."""

    nodes: Nodes
    members: list[tuple[int, ...]]


def partition(scope: Scope, boxes: Sequence[Box]) -> Partition:
    """The tree of contexts of some boxes over `(*parents, child)`.

    Splits on the parent that most boxes mention until none is mentioned. Raises `InvalidCPD`, naming a case, where two
    boxes overlap or none holds. O(contexts × boxes); structure keeps the contexts few, but they can be exponentially
    many in the number of boxes, hence the limit `MAX_CONTEXTS`.
    """
    nodes: list[Branching | int] = []
    members: list[tuple[int, ...]] = []
    waiting = [_start(scope, boxes)]
    while waiting:
        part = waiting.pop()
        if not part.mentioned:
            _check_number(scope, len(members))
            nodes.append(len(members))
            members.append(_row(scope, boxes, part))
            continue
        axis = max(part.mentioned, key=lambda axis: (part.mentioned[axis], -axis))
        branches = _branches(scope, boxes, part.live, axis)
        # A single branch takes all states: looking at the axis tells nothing.
        if len(branches) > 1:
            nodes.append(Branching(axis, tuple(positions for _, positions in branches)))
        waiting += [_narrowed(boxes, part, axis, left, positions) for left, positions in reversed(branches)]
    return Partition(tuple(nodes), members)


@dataclass(frozen=True, slots=True)
class _Part:
    """Boxes that are compatible with a path, and how many of them mention each parent that is not on it."""

    live: tuple[int, ...]
    path: Path
    mentioned: Counter[int]


def _start(scope: Scope, boxes: Sequence[Box]) -> _Part:
    mentioned = Counter(axis for box in boxes for axis in box if axis != len(scope) - 1)
    return _Part(tuple(range(len(boxes))), None, mentioned)


def _narrowed(boxes: Sequence[Box], part: _Part, axis: int, left: tuple[int, ...], positions: frozenset[int]) -> _Part:
    """The part in which an axis has some positions; the mentions of the smaller side are counted."""
    if 2 * len(left) < len(part.live):
        mentioned = Counter(other for box in left for other in boxes[box] if other in part.mentioned)
    else:
        mentioned = part.mentioned.copy()
        mentioned.subtract(other for box in set(part.live).difference(left) for other in boxes[box])
        mentioned = +mentioned
    mentioned.pop(axis, None)
    return _Part(left, (axis, positions, part.path), mentioned)


def _branches(
    scope: Scope, boxes: Sequence[Box], live: Sequence[int], axis: int
) -> list[tuple[tuple[int, ...], frozenset[int]]]:
    """Positions of an axis that the same boxes allow go together."""
    together: dict[tuple[int, ...], list[int]] = {}
    for position in range(scope[axis].num_states):
        left = tuple(box for box in live if axis not in boxes[box] or position in boxes[box][axis])
        together.setdefault(left, []).append(position)
    return [(left, frozenset(positions)) for left, positions in together.items()]


def _row(scope: Scope, boxes: Sequence[Box], part: _Part) -> tuple[int, ...]:
    """The boxes of a context in which only the child is left to look at: each of its states needs one."""
    last = len(scope) - 1
    row = []
    for position in range(scope[last].num_states):
        holding = [box for box in part.live if last not in boxes[box] or position in boxes[box][last]]
        if len(holding) != 1:
            place = {**path_box(part.path), last: frozenset([position])}
            raise InvalidCPD(_problem(scope, boxes, holding, place))
        row.append(holding[0])
    return tuple(row)


def _check_number(scope: Scope, num_contexts: int) -> None:
    if num_contexts == MAX_CONTEXTS:
        raise TooLarge(
            f"The rules of {scope[-1].name!r} make more than {MAX_CONTEXTS} contexts. "
            "Give it fewer parents, or introduce variables in between."
        )


def _problem(scope: Scope, boxes: Sequence[Box], holding: Sequence[int], place: Box) -> str:
    where = f"{box_text(scope, place)} of {scope[-1].name!r}"
    if not holding:
        return f"No rule covers the case {where}."
    one, two = (f"rule {box} ({box_text(scope, boxes[box]) or 'always'})" for box in holding[:2])
    return f"The case {where} is covered by {one} and by {two}: rules must exclude each other."
