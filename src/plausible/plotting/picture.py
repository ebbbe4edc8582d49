"""A picture as plain data, and the ways to see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from plausible.base.hints import Hinted
from plausible.base.records import Result, counted, num_shown
from plausible.plotting import axes
from plausible.plotting.parts import Part
from plausible.plotting.svg import svg_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: What others call it.
_SHOWN = "A notebook shows it; else use picture.save('picture.svg')."
_HINTS = {
    "show": _SHOWN,
    "display": _SHOWN,
    "savefig": _SHOWN,
    "plot": "Use picture.to_axes(ax).",
    "to_svg": "Use .svg.",
}


@dataclass(frozen=True, slots=True, repr=False)
class Picture(Result, Hinted):
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

    _hints = _HINTS

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
        return svg_text(self, str(self).splitlines()[0])

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def to_axes(self, ax: Axes | None = None, *, dark: bool = False) -> Axes:
        """Draw into the axes of a matplotlib figure, by default those of a new one of fitting size.

        It needs matplotlib, which the extra `plot` brings.
        """
        return axes.draw(self, ax, dark)

    def save(self, path: str | FilePath, *, dark: bool = False) -> FilePath:
        """Write a file: .svg by plausible itself, .png, .pdf and other kinds through matplotlib (the extra `plot`).

        Parameters
        ----------
        dark
            Whether the paper is dark; an SVG follows the page that shows it.
        """
        target = axes.checked_target(path)
        if target.suffix.lower() == ".svg":
            target.write_text(self.svg, encoding="utf-8")
        else:
            axes.save(self, target, dark)
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
