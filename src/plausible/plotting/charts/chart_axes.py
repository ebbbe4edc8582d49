"""Axes in one look: what all charts are drawn with, and their artists are kept by."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.plotting.axes import INCH, check_axes, new_figure
from plausible.plotting.charts.chart import Chart
from plausible.plotting.measuring import fitted
from plausible.plotting.palette import PALETTE, SERIES, Colour
from plausible.variables import Variable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

#: The size of a figure of its own, the height of a row of it, and the room above and below rows.
_WIDTH, _HEIGHT, _ROW, _AROUND = 560.0, 340.0, 24.0, 96.0
#: How many rows a chart shows at most.
MOST_ROWS = 40
#: The widest label of a row, at the size of labels; letters on a line of the title, and its lines.
_LABEL, _SIZE, _LETTERS, _LINES = 240.0, 10.0, 66, 3
#: A legend finds its place among so many points; beyond, that takes long.
_MANY = 2000
#: Names of steps, and entries of a legend, at most.
_MOST_TICKS, _MOST_ENTRIES = 6, 12
#: Entries of a legend that stand in one line above rows.
_MOST_IN_LINE = 3
#: Numbers from here on have exponents.
_LARGE = 1e7
_DASHES = ("-", "--", ":", "-.")


class ChartAxes:
    """Axes to draw a chart into: given ones, or those of a new figure.

    Colours are those of pictures, on light paper or on dark, whatever the axes are. A `$` in a name begins no formula.

    Parameters
    ----------
    num_rows
        How many rows a figure of its own has room for; its height is the usual one where there are no rows.
    """

    def __init__(self, ax: Axes | None, title: str, num_rows: int | None = None) -> None:
        self.is_own = ax is None
        if ax is None:
            height = _HEIGHT if num_rows is None else _AROUND + _ROW * max(num_rows, 2)
            figure = new_figure(_WIDTH, height)
            figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
            ax = figure.add_subplot()
        check_axes(ax)
        self.ax: Any = ax
        self.title = _whole(title)
        self._artists: dict[str, list[Artist]] = {}
        self._labelled: list[tuple[Artist, str]] = []
        self._has_rows = False
        self._shade = int(_is_dark(ax))
        ax.spines[["top", "right"]].set_visible(False)

    # --- looks ---

    def colour(self, name: Colour) -> str:
        """A colour of the palette, on this paper."""
        return PALETTE[name][self._shade]

    def series(self, place: int, number: int = 1) -> Any:
        """The colour of one of several things; where there are more than the palette has, of a scale."""
        if number <= len(SERIES):
            return self.colour(SERIES[place])
        from matplotlib import colormaps

        return colormaps["viridis"]((place + 0.5) / number)

    def name_rows(self, labels: Iterable[object]) -> None:
        """Say what stands in each row; the first is on top."""
        told = [label_of(label) for label in labels]
        self._has_rows = True
        self.ax.set_yticks(range(len(told)), told, parse_math=False)
        self.ax.set_ylim(max(len(told), 1) - 0.5, -0.5)
        self.ax.tick_params(axis="y", length=0)

    def name_columns(self, labels: Iterable[object]) -> None:
        """Say what stands in each column."""
        told = [label_of(label, 110.0) for label in labels]
        tilt: dict[str, Any] = {}
        if sum(map(len, told)) > _LETTERS:
            tilt = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        self.ax.set_xticks(range(len(told)), told, parse_math=False, **tilt)
        self.ax.set_xlim(-0.5, max(len(told), 1) - 0.5)
        self.ax.tick_params(axis="x", length=0)

    def grid(self, axis: Literal["x", "y", "both"]) -> None:
        """Faint lines under what is drawn."""
        self.ax.grid(axis=axis, color=self.colour("track"), linewidth=0.8)
        self.ax.set_axisbelow(True)

    @property
    def paper(self) -> str:
        """The colour of the paper."""
        return self.colour("paper")

    # --- marks; what is not finite is left out ---

    def bars(
        self,
        rows: npt.ArrayLike,
        ends: npt.ArrayLike,
        starts: npt.ArrayLike = 0.0,
        *,
        colour: Any = None,
        thickness: float = 0.66,
        label: str = "",
        edge: Any = "none",
    ) -> None:
        """Lying bars, from starts to ends."""
        begun = np.broadcast_to(np.asarray(starts, dtype=np.float64), np.shape(ends))
        widths = finite(np.asarray(ends, dtype=np.float64) - begun, 0.0)
        paint = self.colour("bar") if colour is None else colour
        drawn = self.ax.barh(rows, widths, thickness, finite(begun, 0.0), color=paint, edgecolor=edge, label="_")
        self._keep("bars", drawn.patches, label)

    def line(
        self, x: npt.ArrayLike, y: npt.ArrayLike, *, colour: Any = None, label: str = "", dash: int = 0, **style: Any
    ) -> None:
        """A line; short ones have dots."""
        ys = finite(np.asarray(y, dtype=np.float64), np.nan)
        marker = {"marker": "o", "markersize": 3.5} if len(ys) <= 25 and "drawstyle" not in style else {}
        look = {"color": self.colour("bar") if colour is None else colour, "linewidth": 1.6, "label": "_"}
        look["linestyle"] = _DASHES[dash % len(_DASHES)]
        self._keep("lines", self.ax.plot(x, ys, **look | marker | style), label)

    def line_on_the_right(self, x: npt.ArrayLike, y: npt.ArrayLike, name: str) -> None:
        """A line against an axis of its own on the right."""
        from matplotlib.ticker import MaxNLocator

        right = self.ax.twinx()
        right.spines["top"].set_visible(False)
        right.set_ylabel(label_of(name), parse_math=False)
        right.yaxis.set_major_locator(MaxNLocator(integer=bool(np.all(np.mod(y, 1) == 0))))
        drawn = right.plot(
            x, finite(np.asarray(y, np.float64), np.nan), color=self.colour("muted"), linestyle=":", label="_"
        )
        self._keep("lines", drawn)

    def steps(self, x: Floats, y: Floats, *, colour: Any, label: str) -> None:
        """A line that jumps to each height and stays there until the next, from nothing on."""
        room = 0.06 * float(np.ptp(x)) or 1.0
        places, heights = np.array([x[0] - room, *x, x[-1] + room]), np.array([0.0, *y, y[-1]])
        drawn = self.ax.plot(places, heights, drawstyle="steps-post", color=colour, linewidth=1.8, label="_")
        self._keep("lines", drawn, label)

    def spans(self, rows: npt.ArrayLike, starts: npt.ArrayLike, ends: npt.ArrayLike) -> None:
        """Faint lines along rows."""
        ends_of = [finite(np.asarray(end, np.float64), 0.0) for end in (starts, ends)]
        self._keep("lines", [self.ax.hlines(rows, *ends_of, color=self.colour("faint"), linewidth=1.5, zorder=1.5)])

    def cells(self, edges: Floats, columns: int, is_marked: npt.NDArray[np.bool_]) -> None:
        """A map: rows between edges, a column for each name; marked cells stand out."""
        from matplotlib.colors import ListedColormap

        colours = ListedColormap([self.colour("track"), self.colour("bad")])
        look = {"edgecolor": self.paper, "linewidth": 0.5, "vmin": 0, "vmax": 1}
        drawn = self.ax.pcolormesh(np.arange(columns + 1) - 0.5, edges, is_marked, cmap=colours, **look)
        self._keep("images", [drawn])

    def contours(self, x: Floats, y: Floats, heights: Floats, levels: Floats) -> None:
        """Lines of equal height, from light to dark, each with its height."""
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("heights", [self.colour("paper"), self.colour("bar")])
        between = np.array([0.0, *levels, 1.0])
        masked = np.ma.masked_invalid(heights)
        self._keep("bands", [self.ax.contourf(x, y, masked, between, cmap=shades, alpha=0.6)])
        drawn = self.ax.contour(x, y, masked, levels, colors=[self.colour("line")], linewidths=0.9)
        self._keep("lines", [drawn])
        self._keep("texts", self.ax.clabel(drawn, fontsize="small", colors=[self.colour("ink")]))

    def band(
        self, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, *, colour: Any, label: str = "", **style: Any
    ) -> None:
        """What lies between two lines."""
        ends = [finite(np.asarray(end, dtype=np.float64), np.nan) for end in (low, high)]
        filled = self.ax.fill_between(x, *ends, color=colour, label="_", **{"alpha": 0.22, "linewidth": 0} | style)
        self._keep("bands", [filled], label)

    def points(self, x: npt.ArrayLike, y: npt.ArrayLike, *, colour: Any = None, label: str = "", **style: Any) -> None:
        """Dots."""
        paint = self.colour("bar") if colour is None else colour
        look: dict[str, Any] = {"color": paint, "linestyle": "none", "marker": "o", "markersize": 5, "label": "_"}
        self._keep("points", self.ax.plot(x, finite(np.asarray(y, np.float64), np.nan), **look | style), label)

    def rule(self, at: float, label: str = "", *, axis: Literal["x", "y"] = "x", colour: Colour = "muted") -> None:
        """A dashed line across, where something is; nowhere if that is not finite."""
        if np.isfinite(at):
            across = self.ax.axvline if axis == "x" else self.ax.axhline
            drawn = across(at, color=self.colour(colour), linewidth=1.1, linestyle=(0, (4, 3)), label="_", zorder=1.5)
            self._keep("lines", [drawn], label)

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        """A label within the axes."""
        look = {"size": "small", "va": "center", "color": self.colour("ink"), "parse_math": False, "clip_on": False}
        self._keep("texts", [self.ax.text(x, y, text, **look | style)])

    def end_labels(self, rows: npt.ArrayLike, ends: npt.ArrayLike, texts: Sequence[str]) -> None:
        """Labels behind the ends of bars."""
        places = finite(np.asarray(ends, np.float64), 0.0).tolist()
        for row, end, text in zip(np.asarray(rows).tolist(), places, texts, strict=True):
            move, side = (4, "left") if end >= 0 else (-4, "right")
            look = {"size": "small", "va": "center", "ha": side, "color": self.colour("ink"), "parse_math": False}
            look["bbox"] = {"facecolor": self.paper, "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
            drawn = self.ax.annotate(text.replace("-", "−"), (end, row), (move, 0), textcoords="offset points", **look)
            self._keep("texts", [drawn])

    def nothing(self, text: str) -> None:
        """Say in the middle that there is nothing to draw."""
        self.ax.set_xticks([])
        self.ax.set_yticks([])
        self.text(0.5, 0.5, text, ha="center", transform=self.ax.transAxes, color=self.colour("muted"))

    def _keep(self, kind: str, artists: Iterable[Artist], label: str = "") -> None:
        kept = list(artists)
        self._artists.setdefault(kind, []).extend(kept)
        if label and kept:
            self._labelled.append((kept[0], label_of(label, 150.0)))

    def name_steps(self, steps: Steps) -> None:
        """Say what the steps are: numbers, dates, or names of some of them."""
        from matplotlib import dates
        from matplotlib.ticker import MaxNLocator

        kinds: Any = dates
        if steps.are_dates:
            locator = kinds.AutoDateLocator()
            self.ax.xaxis.set_major_locator(locator)
            self.ax.xaxis.set_major_formatter(kinds.ConciseDateFormatter(locator))
        elif steps.names:
            shown = np.unique(np.linspace(0, len(steps.names) - 1, _MOST_TICKS).astype(int))
            told = [label_of(steps.names[place], _LABEL / 3) for place in shown]
            self.ax.set_xticks(steps.places[shown], told, parse_math=False)
        else:
            self.ax.xaxis.set_major_locator(
                MaxNLocator(integer=bool((steps.places % 1 == 0).all()), steps=[1, 2, 5, 10])
            )

    # --- the chart ---

    def chart(self, x: str, y: str, says: Iterable[str]) -> Chart:
        """The finished chart, with names of its axes and a legend of what has labels."""
        # A label that is longer than its axis grows to where there is room.
        self.ax.set_xlabel(_whole(x), parse_math=False, loc="right")
        self.ax.set_ylabel(_whole(y), parse_math=False, loc="top")
        if self._has_rows:  # It stands above the names of rows, as the head of a column does.
            self.ax.yaxis.label.set(rotation=0, ha="right", va="bottom", color=self.colour("muted"))
            self.ax.yaxis.set_label_coords(-0.01, 1.0)
        lines = textwrap.wrap(self.title, _LETTERS, max_lines=_LINES, placeholder=" …")
        look: dict[str, Any] = {"size": "medium", "weight": "bold", "parse_math": False}
        if self.is_own:
            self.ax.figure.suptitle("\n".join(lines), x=0.02, ha="left", **look)
        else:
            self.ax.set_title("\n".join(lines), loc="left", **look)
        if self._labelled:
            self._add_legend()
        if self.is_own and self._has_rows and (self._labelled or y):
            self.ax.figure.set_figheight(self.ax.figure.get_figheight() + _ROW * INCH)
        kept = {f"{kind}_": tuple(artists) for kind, artists in self._artists.items()}
        return Chart(self.ax, self.title, tuple(says), **kept, is_own=self.is_own)

    def _add_legend(self) -> None:
        """Beside the axes of a figure of its own; in given ones where there is room."""
        from matplotlib.lines import Line2D

        entries = self._labelled
        if len(entries) > _MOST_ENTRIES:
            more: tuple[Artist, str] = (
                Line2D([], [], linestyle="none"),
                f"... {len(entries) - _MOST_ENTRIES + 1} more",
            )
            entries = [*entries[: _MOST_ENTRIES - 1], more]
        handles, labels = zip(*entries, strict=True)
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        if self._has_rows and len(entries) <= _MOST_IN_LINE:
            place |= {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": len(entries)}
        if not self.is_own:
            num_points = sum(len(line.get_xdata()) for line in self.ax.get_lines())
            place = {"loc": "best" if num_points <= _MANY else "upper right"}
        # Labels come later: one that begins with _ would be left out.
        legend = self.ax.legend(
            handles, list(map(str, range(len(labels)))), fontsize="small", frameon=not self.is_own, **place
        )
        for entry, label in zip(legend.get_texts(), labels, strict=True):
            entry.set(text=label, parse_math=False)


class Steps(NamedTuple):
    """Where the steps of a series stand."""

    places: Floats
    name: str
    names: tuple[str, ...] = ()  # where these are neither numbers nor dates
    are_dates: bool = False

    @property
    def edges(self) -> Floats:
        """The ends of the steps, half-way between neighbours: one more than there are steps."""
        if len(self.places) < 2:
            return np.array([place + side for place in self.places for side in (-0.5, 0.5)])
        middles = (self.places[1:] + self.places[:-1]) / 2
        return np.array([2 * self.places[0] - middles[0], *middles, 2 * self.places[-1] - middles[-1]])


def steps_of(index: Any) -> Steps:
    """The steps that an index of rows names; one after the other where they do not rise."""
    import pandas as pd

    rows = pd.Index(index)
    name = label_of(rows.name) if rows.name is not None else "step"
    rises = bool(rows.is_monotonic_increasing and rows.is_unique and not rows.hasnans)
    if rises and isinstance(rows, pd.DatetimeIndex):
        from matplotlib import dates

        kinds: Any = dates
        return Steps(np.asarray(kinds.date2num(rows.to_numpy())), name, are_dates=True)
    if rises and pd.api.types.is_numeric_dtype(rows) and np.isfinite(rows.to_numpy(np.float64)).all():
        return Steps(rows.to_numpy(np.float64), name)
    is_plain = pd.api.types.is_integer_dtype(rows)
    return Steps(np.arange(len(rows), dtype=np.float64), name, () if is_plain else tuple(map(str, rows)))


def _is_dark(ax: Axes) -> bool:
    """Whether the paper is: that of the figure where that of the axes can be seen through."""
    from matplotlib.colors import to_rgba

    red, green, blue, cover = to_rgba(ax.get_facecolor())
    if cover < 0.5:
        red, green, blue, _ = to_rgba(ax.figure.get_facecolor())
    return red + green + blue < 1.5


def label_of(label: object, most: float = _LABEL) -> str:
    """A label on one line, cut where it is too wide."""
    return fitted(label, _SIZE, most).strip() or "␣"


def _whole(text: object) -> str:
    """A text on one line."""
    return fitted(text, _SIZE, np.inf)


def finite(values: Floats, instead: float) -> Floats:
    """The numbers, with something else for those that are not finite."""
    return np.where(np.isfinite(values), values, instead)


def told(number: float) -> str:
    """A number as labels have it.

    >>> told(0.123456), told(123456.7), told(float("inf")), told(-float("inf")), told(float("nan")), told(-0.0)
    ('0.123', '123457', '∞', '−∞', 'not known', '0')
    """
    if np.isnan(number):
        return "not known"
    if not np.isfinite(number):
        return "∞" if number > 0 else "−∞"
    return f"{number:.0f}" if 1000 <= abs(number) < _LARGE else f"{number + 0.0:.3g}"


def left_out(total: int, shown: int, what: str) -> list[str]:
    """What a chart says of rows that it has no room for."""
    return [f"... {total - shown} more {what}"] if shown < total else []


def states_at(variables: Sequence[Variable], row: int) -> str:
    """The states of a row of a table, in the order of its variables."""
    if not variables:
        return "always"
    places = np.unravel_index(row, tuple(variable.num_states for variable in variables))
    return ", ".join(str(v.states[int(at)]) for v, at in zip(variables, places, strict=True))
