"""Steps of several chains at once: burn-in, draws that are kept, progress, limits of time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from plausible.kernels.jit import repeated

__all__ = ["ChainProgress", "ChainRun", "ChainSteps", "run_chains"]

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class ChainProgress(Generic[StateT]):
    """What `progress=` is told after each step of all chains.

    Attributes
    ----------
    num_steps, total
        Steps made by each chain, and how many it is to make.
    states
        Where the chains are.
    """

    num_steps: int
    total: int
    states: tuple[StateT, ...]


class ChainSteps(NamedTuple):
    """How many steps come before the first draw, how many draws are kept, and how many steps lie between them."""

    burn_in: int
    num_draws: int
    thin: int

    @property
    def total(self) -> int:
        """All steps of a chain."""
        return self.burn_in + self.num_draws * self.thin

    def after(self, num_steps: int) -> ChainSteps:
        """What is left where chains have made so many steps: those of the burn-in that are missing, and all draws.

        >>> ChainSteps(burn_in=100, num_draws=50, thin=1).after(30).burn_in
        70
        """
        return self._replace(burn_in=max(self.burn_in - num_steps, 0))


class ChainRun(NamedTuple, Generic[StateT]):
    """What chains went through.

    Attributes
    ----------
    kept
        For each draw the states of all chains; the last states where no draw came about.
    after_burn_in, last
        The states from which draws are counted, and those at the end.
    num_steps
        Steps made by each chain.
    stopped
        Empty, or what stopped the chains early.
    """

    kept: Sequence[tuple[StateT, ...]]
    after_burn_in: tuple[StateT, ...]
    last: tuple[StateT, ...]
    num_steps: int
    stopped: str


def run_chains(
    step: Callable[[StateT], StateT],
    first: Sequence[StateT],
    steps: ChainSteps,
    progress: Callable[[ChainProgress[StateT]], object] | None = None,
    time_limit: float | None = None,
) -> ChainRun[StateT]:
    """Make the steps of all chains in turn, until all are made, or progress or time stops them.

    Parameters
    ----------
    step
        From a state to the next.
    first
        The state of each chain at the start.
    steps
        How many.
    progress
        Told a `ChainProgress` after each step of all chains; a true answer stops.
    time_limit
        Seconds after which no further step begins.

    Examples
    --------
    >>> run = run_chains(lambda number: number + 1, [0, 10], ChainSteps(burn_in=1, num_draws=2, thin=2))
    >>> run.kept, run.after_burn_in, run.num_steps
    ([(3, 13), (5, 15)], (1, 11), 5)
    """
    deadline = time.monotonic() + (math.inf if time_limit is None else time_limit)
    states = since = tuple(first)
    kept, stopped, number = [], "", 0
    with repeated(steps.total * len(states) if time_limit is None else 1):
        while number < steps.total and not stopped:
            states, number = tuple(map(step, states)), number + 1
            if number == steps.burn_in:
                since = states
            if number > steps.burn_in and (number - steps.burn_in) % steps.thin == 0:
                kept.append(states)
            if progress is not None and progress(ChainProgress(number, steps.total, states)):
                stopped = f"stopped by progress= after {number} of {steps.total} steps"
            elif time.monotonic() >= deadline and number < steps.total:
                stopped = f"stopped by time_limit= after {number} of {steps.total} steps"
    return ChainRun(kept or [states], since, states, number, stopped)
