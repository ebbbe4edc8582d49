"""The way up to pictures and charts: rooms below `plotting` have methods that draw, and reach it by name."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

    from plausible.plotting.charts.chart import Chart as Chart
    from plausible.plotting.picture import Picture as Picture


def picture_by(door: str, *subject: Any, **options: Any) -> Picture:
    """The picture that a function of `plausible.plotting` makes; nothing of that room is loaded before."""
    drawn: Picture = _by(door, subject, options)
    return drawn


def chart_by(door: str, *subject: Any, **options: Any) -> Chart:
    """The chart that a function of `plausible.plotting` draws; matplotlib is loaded by it, and by nothing before."""
    drawn: Chart = _by(door, subject, options)
    return drawn


class LiveWidget(Protocol):
    """What a widget of a notebook shows: it can be set from Python, and `observe` tells what people click."""

    evidence: dict[str, Any]  # Name -> finding, as for `query`; replace it as a whole
    do: dict[str, Any]  # Name -> the state set by intervention
    focus: Any  # What of a large model is shown: names, "auto", None for all
    beliefs: dict[str, Any]  # Name -> what is believed, a factor, of the variables shown
    message: str  # Why that can't be told, if it can't

    def picture(self) -> Picture:
        """The still picture of what is shown now."""

    def observe(self, handler: Callable[[Any], object], names: str | list[str]) -> None:
        """Call a function whenever something of that name has changed; `change["new"]` is what to."""


def widget_by(door: str, *subject: Any, **options: Any) -> LiveWidget:
    """The widget that a function of `plausible.plotting` makes."""
    widget: LiveWidget = _by(door, subject, options)
    return widget


def _by(door: str, subject: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return getattr(import_module("plausible.plotting"), door)(*subject, **options)


def kind_in_words(value: object) -> str:
    """What kind of thing a result is, as titles of charts say it: from `StructuralEMFit`, "Structural EM fit"."""
    first, *others = re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", type(value).__name__)
    return " ".join([first, *(word if word.isupper() else word.lower() for word in others)])


def html_with_picture(picture: Picture, title: str, below: str) -> str:
    """A picture under a title, and what was HTML before, folded below."""
    details = f"<details><summary>details</summary>{below}</details>"
    return f"<div><p><b>{html.escape(title)}</b></p>{picture.svg}{details}</div>"
