"""What is drawn for a node: its name alone, beliefs as bars, numbers, a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from plausible.base.records import format_number, one_line
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.plotting.drawing import Node
from plausible.plotting.geometry import Size
from plausible.plotting.measuring import fitted, text_width
from plausible.plotting.palette import Colour
from plausible.plotting.parts import Box, Item, Path, Text, moved

#: Sizes of names and of what stands below them; longer names are cut.
_NAME, _SMALL, _TAG = 12.5, 11.0, 10.0
_LONGEST_NAME = 190.0
_PAD = 10.0
#: A row of a state: its height, the widths of the longest label, the bar, and the column of the number.
_ROW, _LABEL, _BAR, _NUMBER = 17.0, 96.0, 70.0, 40.0
_BAR_HEIGHT, _HEADER = 9.0, 25.0
#: What rows that are still empty leave room for.
_LONGEST_TAG, _LONGEST_SPREAD = "seen", "before: −0.0000 ± 0.00000"
#: So many states are shown; of more, the likeliest, and the rest together.
MOST_STATES = 6

#: What a page needs to draw rows as they are drawn here: `row_node` leaves the room for them.
MEASURES = {
    "pad": _PAD,
    "row": _ROW,
    "header": _HEADER,
    "bar": _BAR,
    "barHeight": _BAR_HEIGHT,
    "number": _NUMBER,
    "small": _SMALL,
    "tag": _TAG,
    "mostStates": MOST_STATES,
}

Shape: TypeAlias = Literal["rectangle", "oval", "rhombus"]
#: How much of its width edges may touch.
_PORTS: dict[Shape, float] = {"rectangle": 0.72, "oval": 0.4, "rhombus": 0.12}


@dataclass(frozen=True, slots=True)
class Style:
    """The colours of a node."""

    fill: Colour = "panel"
    frame: Colour = "frame"
    thickness: float = 1.2
    bar: Colour = "bar"
    name: Colour = "ink"
    tag: str = ""  # A word beside the name


PLAIN = Style()
FOCUS = Style("plain-light", "bar", 2.0)
SEEN = Style("seen-light", "seen", 2.0, "seen", tag="seen")
SOFT = Style("seen-light", "seen", 1.2, "bar", tag="soft")
SET = Style("set-light", "set", 2.0, "set", tag="set")
GOOD = Style("good-light", "good", 1.4, "good")
BAD = Style("bad-light", "bad", 2.0, "bad")
DIM = Style("paper", "faint", name="muted")


class Row(NamedTuple):
    """A state with its probability, and what that was before."""

    label: str
    probability: float
    prior: float | None = None
    is_seen: bool = False


def name_node(
    name: str, title: str = "", shape: Shape = "rectangle", style: Style = PLAIN, more: Sequence[str] = ()
) -> Node:
    """A box with a name in it, and lines of small text below."""
    shown = [fitted(name, _NAME, _LONGEST_NAME), *(fitted(line, _SMALL, _LONGEST_NAME) for line in more)]
    widest = max(text_width(shown[0], _NAME), *(text_width(line, _SMALL) for line in shown), 16.0)
    widest += text_width(style.tag, _TAG) + 8 if style.tag else 0.0
    # Text of several lines needs an oval or rhombus that is wider and higher than the text by about this.
    wider, higher = {"rectangle": (1.0, 1.0), "oval": (1.2, 1.15), "rhombus": (1.55, 1.75)}[shape]
    width, height = round(widest * wider + 2 * _PAD, 1), round((30.0 + 15.0 * len(more)) * higher, 1)
    radius = 7.0 if shape == "rectangle" else 0.0
    items: list[Item] = [Box(0, 0, width, height, style.fill, style.frame, shape, style.thickness, radius)]
    first = height / 2 + 4.4 - 7.5 * len(more)
    middle = width / 2
    if style.tag:
        middle -= (text_width(style.tag, _TAG) + 8) / 2
        items.append(_tag(middle + text_width(shown[0], _NAME) / 2 + 8, first, style))
    items.append(Text(round(middle, 1), round(first, 1), shown[0], _NAME, style.name, "middle"))
    items += [
        Text(round(width / 2, 1), round(first + 15.0 * (place + 1), 1), line, _SMALL, "muted", "middle")
        for place, line in enumerate(shown[1:])
    ]
    return Node(name, Size(width, height, _PORTS[shape]), tuple(items), title or one_line(name))


def dot_node(name: str, title: str) -> Node:
    """A small filled square, as factors are drawn."""
    box = Box(0, 0, 14.0, 14.0, "ink", None, radius=2.0)
    return Node(name, Size(14.0, 14.0, 0.9), (box,), title)


def belief_node(name: str, rows: Sequence[Row], style: Style = PLAIN, hidden: int = 0) -> Node:
    """A box with a bar for each state: its label, the bar, the number in a column of its own, the prior as a tick."""
    shown = _folded(rows)
    labels = [fitted(row.label, _SMALL, _LABEL, row.is_seen) for row in shown]
    column = max(text_width(label, _SMALL, row.is_seen) for label, row in zip(labels, shown, strict=True))
    width = 2 * _PAD + column + 8 + _BAR + _NUMBER
    header, width = _header(name, style, hidden, width)
    start = width - _PAD - _NUMBER - _BAR
    height = _HEADER + _ROW * len(shown) + 6
    items: list[Item] = [Box(0, 0, width, height, style.fill, style.frame, "rectangle", style.thickness, 7.0), *header]
    for place, (row, label) in enumerate(zip(shown, labels, strict=True)):
        middle = _HEADER + _ROW * (place + 0.5)
        items.append(Text(_PAD, round(middle + 3.8, 1), label, _SMALL, "ink", is_bold=row.is_seen))
        items += _bar(start, middle, row, style)
        number = percentage(row.probability)
        items.append(Text(round(width - _PAD, 1), round(middle + 3.8, 1), number, _SMALL, "ink", "end"))
    title = f"{one_line(name)}: {', '.join(map(_told, rows))}{f' ({style.tag})' if style.tag else ''}"
    return Node(name, Size(width, height), tuple(items), title)


def number_node(
    name: str, now: tuple[float, float], before: tuple[float, float] | None, style: Style = PLAIN, hidden: int = 0
) -> Node:
    """A box with the mean and the standard deviation of a continuous variable, and what they were before."""
    lines = [spread_text(*now)]
    if before is not None and (style.tag or before != now):
        lines.append(f"before: {spread_text(*before)}")
    width = 2 * _PAD + max(text_width(line, _SMALL) for line in lines)
    header, width = _header(name, style, hidden, width)
    height = _HEADER + _ROW * len(lines) + 6
    items: list[Item] = [Box(0, 0, width, height, style.fill, style.frame, "rectangle", style.thickness, 7.0), *header]
    for place, line in enumerate(lines):
        items.append(Text(_PAD, _HEADER + _ROW * (place + 0.5) + 3.8, line, _SMALL, "muted" if place else "ink"))
    title = f"{one_line(name)}: {'; '.join(lines)}{f' ({style.tag})' if style.tag else ''}"
    return Node(name, Size(width, height), tuple(items), title)


def row_node(name: str, labels: Sequence[str], hidden: int = 0, style: Style = PLAIN) -> Node:
    """The box of `belief_node` without its rows, with room for what may come to stand in them and beside the name."""
    column = max((text_width(label_of(label), _SMALL, bold=True) for label in labels), default=0.0)
    least = max(
        2 * _PAD + column + 8 + _BAR + _NUMBER, 0.0 if labels else 2 * _PAD + text_width(_LONGEST_SPREAD, _SMALL)
    )
    header, width = _header(name, replace(style, tag=_LONGEST_TAG), hidden, least)
    height = _HEADER + _ROW * (min(len(labels), MOST_STATES) or 2) + 6
    frame = Box(0, 0, width, height, style.fill, style.frame, "rectangle", style.thickness, 7.0)
    return Node(name, Size(width, height), (frame, header[0]), one_line(name))


def label_of(state: str) -> str:
    """A state as it stands beside its bar, short enough to be bold where it is seen."""
    return fitted(state, _SMALL, _LABEL, bold=True)


def table_node(name: str, header: Sequence[str], rows: Sequence[Sequence[str]], style: Style, title: str) -> Node:
    """A box with a table below its name."""
    lines = [[fitted(cell, _SMALL, _LABEL) for cell in row] for row in (header, *rows)]
    columns = [max(text_width(cell, _SMALL) for cell in column) for column in zip(*lines, strict=True)]
    top, width = _header(name, style, 0, 2 * _PAD + sum(columns) + 14.0 * (len(columns) - 1))
    height = _HEADER + _ROW * len(lines) + 6
    items: list[Item] = [Box(0, 0, width, height, style.fill, style.frame, "rectangle", style.thickness, 3.0), *top]
    for place, line in enumerate(lines):
        x, y = _PAD, round(_HEADER + _ROW * (place + 0.5) + 3.8, 1)
        for cell, column in zip(line, columns, strict=True):
            items.append(Text(round(x, 1), y, cell, _SMALL, "ink" if place else "muted"))
            x += column + 14.0
    rule = _HEADER + _ROW - 0.5
    items.append(Path(((_PAD, rule), (width - _PAD, rule)), style.frame))
    return Node(name, Size(width, height), tuple(items), title)


def stacked(node: Node, table: Node) -> Node:
    """A box of rows with what stands in a table node below them."""
    frame, header = node.items
    assert isinstance(frame, Box)
    width, height = max(node.size.width, table.size.width), node.size.height + table.size.height - _HEADER
    below = moved(table.items[2:], 0, node.size.height - _HEADER)
    items = (replace(frame, width=width, height=height), header, *below)
    return replace(node, size=Size(width, height), items=items, title=table.title)


def _header(name: str, style: Style, hidden: int, least: float) -> tuple[list[Item], float]:
    """The name, and to the right of it what is told of it in a word; with the width that this takes."""
    shown = fitted(name, _NAME, _LONGEST_NAME, bold=True)
    taken = 2 * _PAD + text_width(shown, _NAME, bold=True)
    tags = [style.tag] if style.tag else []
    tags += [f"+{hidden}"] if hidden else []
    beside = " ".join(tags)
    width = round(max(least, taken + (text_width(beside, _TAG) + 10 if beside else 0.0)), 1)
    items: list[Item] = [Text(_PAD, 17.5, shown, _NAME, style.name, is_bold=True)]
    if beside:
        items.append(Text(width - _PAD, 17.0, beside, _TAG, style.frame if style.tag else "muted", "end"))
    return items, width


def _tag(x: float, y: float, style: Style) -> Text:
    # The grey of plain frames is too faint for text.
    colour: Colour = "muted" if style.frame == PLAIN.frame else style.frame
    return Text(round(x, 1), round(y, 1), style.tag, _TAG, colour)


def _bar(start: float, middle: float, row: Row, style: Style) -> list[Item]:
    """The track, the bar on it, and the tick of the prior across both."""
    top, length = round(middle - _BAR_HEIGHT / 2, 1), _BAR * min(max(row.probability, 0.0), 1.0)
    items: list[Item] = [Box(round(start, 1), top, _BAR, _BAR_HEIGHT, "track", radius=2.0)]
    if length >= 0.05:
        items.append(Box(round(start, 1), top, round(length, 2), _BAR_HEIGHT, style.bar, radius=min(2.0, length / 2)))
    if row.prior is not None:
        x = round(start + _BAR * min(max(row.prior, 0.0), 1.0), 1)
        items.append(Path(((x, top - 2.5), (x, top + _BAR_HEIGHT + 2.5)), "ink", None, 1.6))
    return items


def _folded(rows: Sequence[Row]) -> list[Row]:
    """Rows of which there are not too many: the likeliest in their order, and the sum of the others."""
    if len(rows) <= MOST_STATES:
        return list(rows)
    ranked = sorted(range(len(rows)), key=lambda place: (not rows[place].is_seen, -rows[place].probability, place))
    shown = sorted(ranked[: MOST_STATES - 1])
    others = [rows[place] for place in ranked[MOST_STATES - 1 :]]
    priors = [row.prior for row in others if row.prior is not None]
    total = sum(row.probability for row in others)
    rest = Row(f"{len(others)} more", total, sum(priors) if len(priors) == len(others) else None)
    return [*(rows[place] for place in shown), rest]


def percentage(probability: float) -> str:
    """A probability in percent; what rounds to nothing or to all but is not, says so.

    >>> [percentage(p) for p in (0.4887, 0.05, 1e-5, 0.0, 0.99999, 1.0)]
    ['48.9%', '5.0%', '0+', '0%', '100−', '100%']
    """
    if probability <= 0.0:
        return "0%"
    if probability < 0.0005:
        return "0+"
    if probability >= 1.0 - PROBABILITY_NOISE:
        return "100%"
    return "100−" if probability > 0.9995 else f"{100 * probability:.1f}%"


def _told(row: Row) -> str:
    before = f" (before {percentage(row.prior)})" if row.prior is not None else ""
    return f"{one_line(row.label)} {percentage(row.probability)}{before}"


def spread_text(mean: float, deviation: float) -> str:
    return f"{mean + 0.0:.4g} ± {format_number(float(f'{deviation:.3g}'))}" if deviation > 0 else f"{mean + 0.0:.6g}"
