"""Steps of a troubleshooting session, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from plausible.base.display import html_of_print
from plausible.variables import State

__all__ = ["Outcome", "Step", "StepKind", "TakenStep", "whether_it_works"]

StepKind: TypeAlias = Literal["observe", "repair", "test", "call"]
#: The state that was seen; after a repair, whether the device works; nothing after a call.
Outcome: TypeAlias = "State | bool | None"

_YES, _NO = ("yes", "y", "true", "works"), ("no", "n", "false", "fails")


def whether_it_works(said: object) -> object:
    """What was said after a repair as true or false, where it is one of the usual texts; else as it is.

    Parameters
    ----------
    said
        Such as "yes", "no", "works" or "fails", in capitals or not.

    Examples
    --------
    >>> whether_it_works("No"), whether_it_works(True), whether_it_works("perhaps")
    (False, True, 'perhaps')
    """
    text = said.strip().lower() if isinstance(said, str) else None
    return text in _YES if text in _YES + _NO else said


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do.

    Attributes
    ----------
    kind
        "observe" a component, "repair" (or replace) it, make a "test", or "call" service.
    name
        The component or test; empty for a call.
    cost
        What it costs.

    Examples
    --------
    >>> print(Step("repair", "fuse", 1.0))
    repair fuse
    """

    kind: StepKind
    name: str
    cost: float

    def __str__(self) -> str:
        return f"{self.kind} {self.name or 'service'}"

    _repr_html_ = html_of_print


@dataclass(frozen=True, slots=True)
class TakenStep:
    """A step and what came of it.

    Attributes
    ----------
    step
        What was done.
    outcome
        The state that was seen; after a repair, whether the device works; `None` after a call.

    Examples
    --------
    >>> print(TakenStep(Step("repair", "fuse", 1.0), False))
    repair fuse: it still does not work
    """

    step: Step
    outcome: Outcome

    def __str__(self) -> str:
        if self.step.kind == "call":
            return str(self.step)
        told = (
            ("it works" if self.outcome else "it still does not work") if self.step.kind == "repair" else self.outcome
        )
        return f"{self.step}: {told}"

    _repr_html_ = html_of_print
