"""The colours of pictures, by what they are for: on light paper and on dark.

Text keeps a contrast of 4.5 to its ground and more; bars, frames and lines that mean something 3 (WCAG 2.2). No two
meanings are told apart by colour alone: findings say "seen", what is taken away is dashed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Colour: TypeAlias = Literal[
    "paper",
    "ink",
    "muted",
    "line",
    "faint",
    "panel",
    "frame",
    "track",
    "bar",
    "plain-light",
    "seen",
    "seen-light",
    "set",
    "set-light",
    "good",
    "good-light",
    "bad",
    "bad-light",
]

#: Colour -> on light paper, on dark paper.
PALETTE: dict[Colour, tuple[str, str]] = {
    "paper": ("#ffffff", "#15181d"),
    "ink": ("#1d2430", "#e8eaee"),
    "muted": ("#596273", "#a5aebb"),
    "line": ("#5f6876", "#98a2b0"),
    "faint": ("#c4cad3", "#48505c"),
    "panel": ("#f7f8fa", "#1e222a"),
    "frame": ("#8b95a3", "#6d7787"),
    "track": ("#e4e8ed", "#343b46"),
    "bar": ("#3b72b5", "#6fa5e3"),
    "plain-light": ("#e9f1fa", "#1d2b3c"),
    "seen": ("#a94e08", "#f2a552"),
    "seen-light": ("#fdf3e8", "#33271a"),
    "set": ("#6a3da3", "#bb9aea"),
    "set-light": ("#f4effb", "#2b2239"),
    "good": ("#27744a", "#6fc494"),
    "good-light": ("#eaf5ee", "#1a2b22"),
    "bad": ("#b3261e", "#f28b82"),
    "bad-light": ("#fcefee", "#351f1e"),
}

#: The colours of several things in one chart, in this order.
SERIES: tuple[Colour, ...] = ("bar", "seen", "good", "set", "bad", "muted")
