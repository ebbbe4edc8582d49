"""The way up to pictures: rooms below `plotting` have methods that draw, and reach it by name when they are called."""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plausible.plotting.picture import Picture as Picture


def picture_by(door: str, *subject: Any, **options: Any) -> Picture:
    """The picture that a function of `plausible.plotting` makes; nothing of that room is loaded before."""
    drawn: Picture = getattr(import_module("plausible.plotting"), door)(*subject, **options)
    return drawn


def html_with_picture(picture: Picture, title: str, below: str) -> str:
    """A picture under a title, and what was HTML before, folded below."""
    details = f"<details><summary>details</summary>{below}</details>"
    return f"<div><p><b>{html.escape(title)}</b></p>{picture.svg}{details}</div>"
