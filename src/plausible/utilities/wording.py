"""How results say where they hold: after seeing what, at which decision, how often."""

from __future__ import annotations

from collections.abc import Mapping

from plausible.base.display import format_number
from plausible.variables import State


def seen_text(seen: Mapping[str, State]) -> str:
    """What is seen, name by name.

    >>> seen_text({"test": "yes", "seismic": "open"})
    'test=yes, seismic=open'
    """
    return ", ".join(f"{name}={state}" for name, state in seen.items())


def place_text(decision: str, seen: Mapping[str, State], probability: float | None = None) -> str:
    """A decision, what is seen there, and how likely that is.

    >>> place_text("drill", {"seismic": "open"}, 0.33), place_text("test", {})
    ('drill, seismic=open (probability 0.33)', 'test, always')
    """
    likely = "" if probability is None else f" (probability {format_number(probability)})"
    return f"{decision}, {seen_text(seen) or 'always'}{likely}"
