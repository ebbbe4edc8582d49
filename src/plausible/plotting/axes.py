"""Pictures in figures of matplotlib: the only file that knows it."""

from __future__ import annotations

from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, BinaryIO

from plausible.errors import InvalidArgument, MissingDependency, MissingFile
from plausible.plotting.measuring import FONTS, known_width
from plausible.plotting.palette import PALETTE, Colour
from plausible.plotting.parts import Box, Path, Sheet, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A unit of a picture in inches, and the dots of an inch in files of dots.
INCH, _DOTS = 1 / 96, 200
#: Where none of the fonts that pictures are measured in is there, text is set smaller, in what matplotlib brings.
_SMALLER = 0.88


def new_figure(width: float, height: float) -> Any:
    """A figure of its own, which no window shows."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency.extra("matplotlib", "plot") from error
    figure = Figure(figsize=(max(width, 1.0) * INCH, max(height, 1.0) * INCH))
    FigureCanvasAgg(figure)
    return figure


def draw(picture: Sheet, ax: Axes | None, dark: bool) -> Axes:
    """Draw into axes: its limits become those of the picture, its frame goes, and the text is sized to fit."""
    if ax is None:
        ax = new_figure(picture.width, picture.height).add_axes((0.0, 0.0, 1.0, 1.0))
    check_axes(ax)
    ax.set_xlim(0, picture.width)
    ax.set_ylim(picture.height, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    box = ax.get_window_extent()
    dots = min(box.width / picture.width, box.height / picture.height)
    points = dots * 72 / ax.figure.dpi  # of a unit
    paint = partial(_paint, shade=int(dark))
    if dark:
        _add_box(ax, Box(0, 0, picture.width, picture.height, "paper"), paint, points)
    write = partial(_add_text, ax, font=_font(), points=points)
    for item in (item for part in picture.parts for item in part.items):
        if isinstance(item, Text):
            write(item, paint(item.colour))
        elif isinstance(item, Box):
            _add_box(ax, item, paint, points)
        else:
            _add_path(ax, item, paint, points)
    return ax


def check_axes(ax: Any) -> None:
    """Refuse what nothing can be drawn into, such as a whole figure or several axes of one."""
    if not hasattr(ax, "set_xlim"):
        raise InvalidArgument(
            f"ax= takes the axes of one chart in a figure of matplotlib, such as figure.add_subplot(), not "
            f"{type(ax).__name__}."
        )


def save(picture: Sheet, target: FilePath, dark: bool) -> None:
    """Write a picture in a format that matplotlib knows."""
    figure = new_figure(picture.width, picture.height)
    draw(picture, figure.add_axes((0.0, 0.0, 1.0, 1.0)), dark)
    save_figure(figure, target)


def checked_target(path: str | FilePath) -> FilePath:
    """Where a file is to be written: its ending names a format, and its folder is there."""
    target = FilePath(path)
    if not target.suffix:
        raise InvalidArgument(f"The ending of {str(path)!r} says no format: write .svg, .png or .pdf.")
    if not target.absolute().parent.is_dir():
        raise MissingFile.for_writing(target)
    return target


def save_figure(figure: Any, path: str | FilePath) -> FilePath:
    """Write a figure in the format that the ending of the file names."""
    target = checked_format(figure, path)
    write_figure(figure, target, target.suffix[1:].lower())
    return target


def checked_format(figure: Any, path: str | FilePath) -> FilePath:
    """Where a figure is to be written, in a format that it can be written in."""
    target = checked_target(path)
    known = figure.canvas.get_supported_filetypes()
    if target.suffix[1:].lower() not in known:
        raise InvalidArgument(f"No pictures are written as {target.suffix!r}: use .svg, or one of {', '.join(known)}.")
    return target


def write_figure(figure: Any, target: FilePath | BinaryIO, format: str) -> None:
    """Write a figure: the same bits each time, and the text of an SVG as text."""
    from matplotlib import rc_context

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format, {})
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "plausible"}):
        figure.savefig(target, dpi=_DOTS, format=format, metadata=undated or None)


def _paint(colour: Colour | None, shade: int) -> str:
    return PALETTE[colour][shade] if colour else "none"


def _font() -> str | None:
    """The font of those that pictures are measured in, if one is there."""
    from matplotlib import font_manager

    there = set(font_manager.get_font_names())
    return next((font for font in FONTS[:-1] if font in there), None)


def _add_text(ax: Axes, text: Text, colour: str, *, font: str | None, points: float) -> None:
    aligned = {"start": "left", "middle": "center", "end": "right"}[text.anchor]
    # Without parse_math a $ in a name would begin a formula.
    look: dict[str, Any] = {"family": font or "sans-serif", "weight": "bold" if text.is_bold else "normal"}
    look["size"] = text.size * points * (1.0 if font else _narrowed(text, look))
    ax.text(text.x, text.y, text.text, color=colour, ha=aligned, va="baseline", parse_math=False, **look)


def _narrowed(text: Text, look: dict[str, Any]) -> float:
    """How much smaller a text is set in another font, so that it is no wider than it is taken to be."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    known = known_width(text.text, text.size, text.is_bold)
    if not known:
        return _SMALLER
    font = FontProperties(size=text.size, family=look["family"], weight=look["weight"])
    return min(_SMALLER, known / float(text_to_path.get_text_width_height_descent(text.text, font, ismath=False)[0]))


def _add_box(ax: Axes, box: Box, paint: Any, points: float) -> None:
    from matplotlib.patches import Ellipse, FancyBboxPatch, Polygon, Rectangle

    style = _style(box, paint, points)
    x, y, width, height = box.x, box.y, box.width, box.height
    middle = (x + width / 2, y + height / 2)
    patch: Any
    if box.shape == "oval":
        patch = Ellipse(middle, width, height, **style)
    elif box.shape == "rhombus":
        patch = Polygon([(middle[0], y), (x + width, middle[1]), (middle[0], y + height), (x, middle[1])], **style)
    elif box.radius:
        rounding = f"round,pad=0,rounding_size={min(box.radius, width / 2, height / 2)}"
        patch = FancyBboxPatch((x, y), width, height, boxstyle=rounding, **style)
    else:
        patch = Rectangle((x, y), width, height, **style)
    ax.add_patch(patch)


def _add_path(ax: Axes, path: Path, paint: Any, points: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    step = Outline.CURVE4 if path.is_curved else Outline.LINETO
    corners, codes = list(path.points), [Outline.MOVETO, *[step] * (len(path.points) - 1)]
    if path.fill:
        corners, codes = [*corners, corners[0]], [*codes, Outline.CLOSEPOLY]
    ax.add_patch(PathPatch(Outline(corners, codes), capstyle="butt", **_style(path, paint, points)))


def _style(item: Box | Path, paint: Any, points: float) -> dict[str, Any]:
    dashes = (0, (5 / item.thickness, 4 / item.thickness)) if item.is_dashed else "solid"
    width = item.thickness * points if item.stroke else 0.0
    return {"facecolor": paint(item.fill), "edgecolor": paint(item.stroke), "linewidth": width, "linestyle": dashes}
