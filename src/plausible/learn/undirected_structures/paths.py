"""Runs along a path of strengths, each from where the one before ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from plausible.learn.undirected_structures.task import Task
from plausible.search.run import CONVERGED, Run, iterate

StateT = TypeVar("StateT")


class Penalized(Protocol[StateT]):
    """What is solved at one strength."""

    def step(self, state: StateT, /) -> StateT:
        """The next state."""

    def ends(self, state: StateT, /) -> str:
        """Why a state is the last; "" if it is not."""


def run_along(
    task: Task,
    strengths: Iterable[float],
    begun: Callable[[float, StateT | None], tuple[Penalized[StateT], StateT]],
    is_enough: Callable[[StateT], bool] = lambda _: False,
) -> list[Run[StateT]]:
    """The run at each strength, from the state before it, until it is enough or a limit is met; at least one.

    One that a limit cut short is left out, unless it is the first; the last run says why all ended.
    """
    runs: list[Run[StateT]] = []
    answers: list[bool] = []

    def tell(state: Any) -> bool:
        answers.append(bool(task.stops.progress is not None and task.stops.progress(state)))
        return answers[-1]

    stops = replace(task.stops, time_limit=None, progress=tell)
    for strength in strengths:
        problem, start = begun(float(strength), runs[-1].state if runs else None)
        run = iterate(problem.step, start, stops, ends=problem.ends, clock=task.clock)
        stopped_by = "interrupted" if any(answers) else run.stopped_by  # also where that state was the last anyway
        if runs and not run.converged:
            runs[-1] = replace(runs[-1], stopped_by=stopped_by)
            break
        runs.append(replace(run, stopped_by=stopped_by))
        if is_enough(run.state) or stopped_by != CONVERGED:
            break
    return runs
