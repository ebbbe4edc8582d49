"""Several Markov chains in step: burn-in, draws that are kept, progress, limits of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plausible.base import Checked, Floats, chart_by, kind_in_words, whole
from plausible.errors import InvalidArgument
from plausible.kernels.jit import repeated
from plausible.search.run import Saving, Stops, iterate

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class ChainProgress(Generic[StateT]):
    """What `progress=` is told after each step of all chains."""

    #: Steps made by each chain, and how many it is to make.
    num_steps: int
    max_steps: int
    states: tuple[StateT, ...]  # Where the chains are


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


@dataclass(frozen=True, slots=True)
class ChainLengths(Checked, num_draws=whole(4), num_chains=whole(1), burn_in=whole(), thin=whole(1)):
    """How long chains run.

    Parameters
    ----------
    num_draws, num_chains
        Draws that each chain keeps, and chains, each from a random start of its own.
    burn_in, thin
        Steps before the first draw, and from one draw to the next.
    """

    num_draws: int = 1000
    num_chains: int = 4
    burn_in: int = 1000
    thin: int = 5

    @property
    def steps(self) -> ChainSteps:
        """Those of each chain."""
        return ChainSteps(self.burn_in, self.num_draws, self.thin)

    @classmethod
    def read(cls, lengths: ChainLengths | None, usual: ChainLengths | None = None) -> ChainLengths:
        """What `lengths=` of every chain takes; `None` for the usual ones."""
        if lengths is None:
            return usual or cls()
        if not isinstance(lengths, cls):
            raise InvalidArgument(f"lengths= takes ChainLengths, such as ChainLengths(num_draws=300), not {lengths!r}.")
        return lengths


@dataclass(frozen=True, slots=True, eq=False)
class ChainRun(Generic[StateT]):
    """What chains went through."""

    kept: Sequence[tuple[Any, ...]]  # for each draw that of each chain; of the last states where none came about
    after_burn_in: tuple[StateT, ...]  # from which draws are counted
    last: tuple[StateT, ...]
    steps: ChainSteps  # those that were to be made
    num_steps: int  # by each chain
    stopped_by: str  # "" where all were made, else "time limit" or "interrupted"
    seconds: float

    def gathered(self, place: int) -> NDArray[Any]:
        """(chains, draws, ...): one of the parts that each draw has."""
        return np.array([[draw[place] for draw in chain] for chain in zip(*self.kept, strict=True)])

    @property
    def shortfall(self) -> str:
        """Empty, or what stopped the chains early, and when."""
        if not self.stopped_by:
            return ""
        option = "time_limit=" if self.stopped_by == "time limit" else "progress="
        return f"stopped by {option} after {self.num_steps} of {self.steps.total} steps"


class HasChains:
    """A base of results that came of chains: they tell how these went under the same names."""

    __slots__ = ()

    run: ChainRun[Any]
    log_posteriors: Floats  # (chains, draws): up to a constant

    @property
    def states(self) -> tuple[Any, ...]:
        """The last state of each chain: give them as `start=` to go on."""
        return self.run.last

    @property
    def num_steps(self) -> int:
        """The steps of each chain."""
        return self.run.num_steps

    @property
    def stopped_by(self) -> str:
        """Empty where all draws were made, else "time limit" or "interrupted"."""
        return self.run.stopped_by

    @property
    def seconds(self) -> float:
        """The time that the chains took."""
        return self.run.seconds

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the log posterior along each chain; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_chains", self.log_posteriors, ax, kind_in_words(self))


class _Chains(NamedTuple):
    """How far chains are."""

    states: tuple[Any, ...]
    after_burn_in: tuple[Any, ...]
    kept: list[tuple[Any, ...]]  # the draws so far, a list that grows
    num_made: int = 0


def run_chains(
    step: Callable[[StateT], StateT],
    first: Sequence[StateT],
    steps: ChainSteps,
    progress: Callable[[ChainProgress[StateT]], object] | None = None,
    time_limit: float | None = None,
    draw: Callable[[StateT], Any] | None = None,
    checkpoint: Saving | None = None,
) -> ChainRun[StateT]:
    """Make the steps of all chains in turn, until all are made, or progress or time stops them.

    Parameters
    ----------
    step, first
        From a state to the next, and the state of each chain at the start.
    draw
        What is kept of a state that is a draw; the state itself unless given.
    checkpoint
        Keeps how far the chains are; their states can be pickled then.

    Examples
    --------
    >>> run = run_chains(lambda number: number + 1, [0, 10], ChainSteps(burn_in=1, num_draws=2, thin=2))
    >>> run.kept, run.after_burn_in, run.num_steps
    ([(3, 13), (5, 15)], (1, 11), 5)
    """

    def drawn(states: tuple[StateT, ...]) -> tuple[Any, ...]:
        return states if draw is None else tuple(map(draw, states))

    def moved(chains: _Chains) -> _Chains:
        states, num_made = tuple(map(step, chains.states)), chains.num_made + 1
        if steps.keeps(num_made):
            chains.kept.append(drawn(states))
        since = states if num_made == steps.burn_in else chains.after_burn_in
        return _Chains(states, since, chains.kept, num_made)

    def told(chains: _Chains) -> object:
        return progress is not None and progress(ChainProgress(chains.num_made, steps.total, chains.states))

    begin = _Chains(tuple(first), tuple(first), [])
    stops = Stops(0.0, steps.total, time_limit, None if progress is None else told, checkpoint)
    with repeated(steps.total * len(first) if time_limit is None else 1):
        run = iterate(moved, begin, stops)
    states, since, kept, _ = run.state
    stopped_by = "" if run.num_steps == steps.total else run.stopped_by
    return ChainRun(kept or [drawn(states)], since, states, steps, run.num_steps, stopped_by, run.seconds)
