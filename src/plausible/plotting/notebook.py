"""Widgets of models and solutions: the way to them that says what to install where it is missing."""

from __future__ import annotations

from typing import Any

from plausible.base.pictured import LiveWidget
from plausible.decisions.solving.solution import Solution
from plausible.errors import MissingDependency
from plausible.inference.budget import Budget
from plausible.plotting.focus import FocusLike
from plausible.plotting.scenes import Subject

#: What one answer may cost, where no budget is given: a click should not block the kernel.
_CLICK = Budget(seconds=2.0)


def widget_of_model(
    model: Any, evidence: Any = None, do: Any = None, focus: FocusLike = "auto", engine: Any = None, budget: Any = None
) -> LiveWidget:
    """The widget of a model; see `Drawn.widget`."""
    is_named = engine is not None and engine != "auto"  # engines with names have limits of their own
    given = {"engine": engine, "budget": budget if budget is not None or is_named else _CLICK}
    options = {name: value for name, value in given.items() if value is not None}
    return _widget(Subject.of_model(model, options), evidence, do, focus)


def widget_of_solution(
    solution: Solution, evidence: Any = None, do: Any = None, focus: FocusLike = "auto", budget: Any = None
) -> LiveWidget:
    """The widget of a solved influence diagram; see `Solution.widget`."""
    return _widget(Subject.of_solution(solution, {"budget": budget or _CLICK}), evidence, do, focus)


def _widget(subject: Subject, evidence: Any, do: Any, focus: FocusLike) -> LiveWidget:
    try:
        import anywidget  # noqa: F401
    except ImportError as error:
        raise MissingDependency.extra("anywidget", "notebook") from error
    from plausible.plotting.widget import BeliefWidget

    widget: LiveWidget = BeliefWidget(subject, evidence, do, focus)
    return widget
