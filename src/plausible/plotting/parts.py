"""What pictures are made of, as plain data: boxes, paths and texts, in parts that have names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from plausible.plotting.geometry import Curve
from plausible.plotting.palette import Colour


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, or what is drawn into one; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: Colour | None = None
    stroke: Colour | None = None
    shape: Literal["rectangle", "oval", "rhombus"] = "rectangle"
    thickness: float = 1.0
    radius: float = 0.0
    is_dashed: bool = False

    def moved(self, right: float, down: float) -> Box:
        """The same elsewhere."""
        return replace(self, x=round(self.x + right, 2), y=round(self.y + down, 2))


@dataclass(frozen=True, slots=True)
class Path:
    """A line: a curve of cubic pieces (Bézier), or straight from point to point and closed where it is filled."""

    points: Curve
    stroke: Colour | None = None
    fill: Colour | None = None
    thickness: float = 1.0
    is_curved: bool = False
    is_dashed: bool = False

    def moved(self, right: float, down: float) -> Path:
        """The same elsewhere."""
        return replace(self, points=tuple((round(x + right, 2), round(y + down, 2)) for x, y in self.points))


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `x` and `y` are where its base line starts, ends or has its middle."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: Colour = "ink"
    anchor: Literal["start", "middle", "end"] = "start"
    is_bold: bool = False

    def moved(self, right: float, down: float) -> Text:
        """The same elsewhere."""
        return replace(self, x=round(self.x + right, 2), y=round(self.y + down, 2))


Item: TypeAlias = Box | Path | Text


@dataclass(frozen=True, slots=True)
class Part:
    """What is drawn of one thing."""

    kind: Literal["node", "edge", "plate", "note"]
    name: str  # Such as "lung", or "smoke -> lung"
    title: str  # What a tooltip and a screen reader tell of it
    items: tuple[Item, ...]


class Sheet(Protocol):
    """What writers need of a picture."""

    @property
    def width(self) -> float:
        """How wide it is."""

    @property
    def height(self) -> float:
        """How high it is."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is on it; later parts lie above earlier ones."""


def moved(items: Sequence[Any], right: float, down: float) -> tuple[Any, ...]:
    """The items elsewhere."""
    return tuple(item.moved(right, down) for item in items)
