"""Several Markov chains in step: burn-in, draws that are kept, progress, limits of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from plausible.kernels.jit import repeated
from plausible.search.run import Stops, iterate

__all__ = ["ChainProgress", "ChainRun", "ChainSteps", "run_chains"]

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class ChainProgress(Generic[StateT]):
    """What `progress=` is told after each step of all chains.

    Attributes
    ----------
    num_steps, max_steps
        Steps made by each chain, and how many it is to make.
    states
        Where the chains are.
    """

    num_steps: int
    max_steps: int
    states: tuple[StateT, ...]


class ChainSteps(NamedTuple):
    """How many steps come before the first draw, how many draws are kept, and how many steps lie between them."""

    burn_in: int
    num_draws: int
    thin: int = 1

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

    def keeps(self, num_steps: int) -> bool:
        """Whether the states after so many steps are a draw."""
        return num_steps > self.burn_in and (num_steps - self.burn_in) % self.thin == 0


@dataclass(frozen=True, slots=True, eq=False)
class ChainRun(Generic[StateT]):
    """What chains went through."""

    kept: Sequence[tuple[StateT, ...]]  # for each draw the states of all chains; the last where no draw came about
    after_burn_in: tuple[StateT, ...]  # from which draws are counted
    last: tuple[StateT, ...]
    steps: ChainSteps  # those that were to be made
    num_steps: int  # by each chain
    stopped_by: str  # "" where all were made, else "time limit" or "interrupted"
    seconds: float

    @property
    def shortfall(self) -> str:
        """Empty, or what stopped the chains early, and when."""
        if not self.stopped_by:
            return ""
        option = "time_limit=" if self.stopped_by == "time limit" else "progress="
        return f"stopped by {option} after {self.num_steps} of {self.steps.total} steps"


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
    kept, since, num_made = list[tuple[StateT, ...]](), tuple(first), 0

    def moved(states: tuple[StateT, ...]) -> tuple[StateT, ...]:
        nonlocal since, num_made
        states, num_made = tuple(map(step, states)), num_made + 1
        if num_made == steps.burn_in:
            since = states
        if steps.keeps(num_made):
            kept.append(states)
        return states

    def told(states: tuple[StateT, ...]) -> object:
        return progress is not None and progress(ChainProgress(num_made, steps.total, states))

    stops = Stops(0.0, steps.total, time_limit, None if progress is None else told)
    with repeated(steps.total * len(since) if time_limit is None else 1):
        run = iterate(moved, since, stops)
    stopped_by = "" if run.num_steps == steps.total else run.stopped_by
    return ChainRun(kept or [run.state], since, run.state, steps, run.num_steps, stopped_by, run.seconds)
