"""A picture as plain data: boxes, paths and texts, in parts that have names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from plausible.base.records import Result, counted, num_shown
from plausible.errors import InvalidArgument, MissingFile
from plausible.plotting.palette import Colour
from plausible.plotting.routing import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


@dataclass(frozen=True, slots=True, repr=False)
class Picture(Result):
    """A picture: a notebook shows it, `save` writes it, `to_axes` puts it into a figure of matplotlib.

    Examples
    --------
    >>> import plausible as pb
    >>> picture = pb.DAG("rain -> grass <- sprinkler").picture()
    >>> print(picture)
    3 nodes, 2 edges
    rain
    grass
    sprinkler
    >>> picture.svg[:4], [box.name for box in picture.parts if box.kind == "node"]
    ('<svg', ['rain', 'grass', 'sprinkler'])
    """

    title: str
    width: float
    height: float
    parts: tuple[Part, ...]  # Later ones lie above earlier ones

    def of_kind(self, kind: str) -> tuple[Part, ...]:
        """The parts that are nodes, edges, plates or notes."""
        return tuple(part for part in self.parts if part.kind == kind)

    @property
    def svg(self) -> str:
        """The picture as the text of an SVG file: text stays text, names are tooltips, dark pages get dark paper."""
        from plausible.plotting.svg import svg_text

        return svg_text(self)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def to_axes(self, ax: Axes | None = None, *, dark: bool = False) -> Axes:
        """Draw into the axes of a matplotlib figure, by default those of a new one of fitting size.

        It needs matplotlib, which the extra `plot` brings.
        """
        from plausible.plotting.axes import draw

        return draw(self, ax, dark)

    def save(self, path: str | FilePath, *, dark: bool = False) -> FilePath:
        """Write a file: .svg by plausible itself, .png, .pdf and other kinds through matplotlib (the extra `plot`).

        Parameters
        ----------
        dark
            Whether the paper is dark; an SVG follows the page that shows it.
        """
        target = FilePath(path)
        if not target.suffix:
            raise InvalidArgument(f"The ending of {str(path)!r} says no format: write .svg, .png or .pdf.")
        if not target.absolute().parent.is_dir():
            raise MissingFile.for_writing(target)
        if target.suffix.lower() == ".svg":
            target.write_text(self.svg, encoding="utf-8")
        else:
            from plausible.plotting.axes import save

            save(self, target, dark)
        return target

    def __str__(self) -> str:
        nodes, edges = self.of_kind("node"), self.of_kind("edge")
        size = f"{counted(len(nodes), 'node')}, {counted(len(edges), 'edge')}"
        shown = num_shown(len(nodes))
        lines = [f"{self.title}: {size}" if self.title else size, *(part.title for part in nodes[:shown])]
        lines += [f"... {counted(len(nodes) - shown, 'more node')}"] if shown < len(nodes) else []
        return "\n".join([*lines, *(part.title for part in self.of_kind("note"))])

    def __repr__(self) -> str:
        return f"<Picture: {str(self).splitlines()[0]}>"


def moved(items: Sequence[Any], right: float, down: float) -> tuple[Any, ...]:
    """The items elsewhere."""
    return tuple(item.moved(right, down) for item in items)
