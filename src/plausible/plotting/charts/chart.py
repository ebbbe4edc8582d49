"""What `plot` hands back: the axes, what was drawn into them, and what it tells in words."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plausible.base.hints import Hinted
from plausible.base.records import html_of_print, num_shown
from plausible.plotting import axes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: What others call it.
_SHOWN = "A notebook shows it; else use chart.save('chart.png')."
_HINTS = {"show": _SHOWN, "savefig": _SHOWN, "ax": "Use .ax_.", "axes": "Use .ax_.", "fig": "Use .figure_."}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chart(Hinted):
    """A chart that was drawn: its axes and its artists, to be changed at will; printed, what it tells.

    A notebook shows the chart where `plot` made the figure; where axes were given, their figure is shown as always.
    """

    _hints = _HINTS

    ax_: Axes  # What it was drawn into
    title: str
    says: tuple[str, ...]  # What it tells, in words: a line for each bar, line or band
    lines_: tuple[Artist, ...] = ()
    bars_: tuple[Artist, ...] = ()
    bands_: tuple[Artist, ...] = ()
    points_: tuple[Artist, ...] = ()
    images_: tuple[Artist, ...] = ()
    texts_: tuple[Artist, ...] = ()  # Labels within the axes
    #: Whether `plot` made the figure.
    is_own: bool = True

    @property
    def figure_(self) -> Any:
        """The figure that the axes are in."""
        return self.ax_.figure

    def save(self, path: str | Path) -> Path:
        """Write the figure into a file: .svg, .png, .pdf, or another ending that matplotlib knows."""
        return axes.save_figure(self.figure_, path)

    def _repr_html_(self) -> str:
        if not self.is_own:
            return html_of_print(self)
        drawn = BytesIO()
        axes.write_figure(self.figure_, drawn, "svg")
        told = html.escape(str(self), quote=True)
        data = base64.b64encode(drawn.getvalue()).decode()
        return f'<img alt="{told}" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">'

    def __str__(self) -> str:
        shown = num_shown(len(self.says))
        more = [f"... {len(self.says) - shown} more"] if shown < len(self.says) else []
        return "\n".join([self.title, *self.says[:shown], *more])

    def __repr__(self) -> str:
        return f"<Chart: {self.title}>"
