"""Which engine answers: the one asked for, or, for "auto", exact tables where they fit and else messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from plausible.inference.engines import Engine
from plausible.inference.propagation.belief_propagation import LoopyBP

__all__ = ["AUTOMATIC", "EngineChoice", "chosen"]

EngineChoice: TypeAlias = Engine | Literal["auto"] | None

#: What "auto" falls back to: damped messages settle more often than plain ones, and cost little more.
AUTOMATIC: Engine = LoopyBP(damping=0.3)


def chosen(engine: EngineChoice, fits: Callable[[], bool]) -> Engine | None:
    """The engine to ask; `None` for the exact way that a model takes by itself.

    Parameters
    ----------
    engine
        An engine, "auto", or `None`.
    fits
        Whether the exact way is within its budget; only asked for "auto".

    Examples
    --------
    >>> chosen("auto", lambda: True) is None
    True
    >>> chosen("auto", lambda: False)
    LoopyBP(schedule='sequential', damping=0.3, tolerance=1e-08, max_iterations=1000)
    """
    if isinstance(engine, str) and engine == "auto":
        return None if fits() else AUTOMATIC
    return engine
