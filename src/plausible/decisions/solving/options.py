"""How to solve, and how far a search is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from plausible.base.options import check_count
from plausible.base.seeds import generator_of
from plausible.errors import InvalidArgument, suggestion
from plausible.search.clock import Clock
from plausible.search.run import CONVERGED, Stops

#: The ways to solve a diagram; see `plausible.decisions.solving.solve.solve`.
Method: TypeAlias = Literal["auto", "local", "elimination", "arc-reversal", "network", "enumeration"]
Seed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, slots=True)
class SolvingState:
    """How far solving is."""

    #: How many decisions have got their rules, and how many there are.
    num_settled: int
    num_decisions: int
    #: Of the rules as they are; where decisions come later that have no rules yet, these act at random.
    expected_utility: float
    upper_bound: float = math.inf  # What is known about the best strategy, where a search for it goes on
    num_steps: int = 0  # The partial strategies that this search has looked at


@dataclass(frozen=True, slots=True)
class SolvingOptions:
    """How long to search for a strategy, and from where: what `solve` takes, for functions that solve many diagrams.

    Parameters
    ----------
    restarts
        Random strategies to start from, beside the one that takes every action with the same probability.
    time_limit
        A search for a proof stops after so many seconds; `None` for no limit.
    """

    restarts: int = 10
    seed: Seed = 0
    time_limit: float | None = 60.0
    progress: Callable[[SolvingState], object] | None = None

    def __post_init__(self) -> None:
        check_count("restarts", self.restarts)
        Stops(time_limit=self.time_limit, progress=self.progress)  # which checks both

    def generator(self) -> np.random.Generator:
        """The source of random strategies."""
        return generator_of(self.seed)


@dataclass(slots=True)
class Watch:
    """The clock of several searches for one answer, and whether somebody stopped them."""

    options: SolvingOptions
    clock: Clock = field(init=False)
    is_stopped: bool = field(default=False, init=False)  # whether an answer of `progress` was true
    stopped_by: str = field(default=CONVERGED, init=False)  # why the search that came to its end last did so

    def __post_init__(self) -> None:
        self.clock = Clock.of(self.options.time_limit)

    @property
    def seconds_left(self) -> float:
        """The time that is left; none once it was stopped."""
        return 0.0 if self.is_stopped else self.clock.seconds_left

    @property
    def is_over(self) -> bool:
        return self.is_stopped or self.clock.is_over

    @contextmanager
    def keeping(self, share: float) -> Iterator[None]:
        """Let a search come to an end before the time is over, so that a share of it is left for what comes then."""
        whole, self.clock = self.clock, self.clock.share(1.0 - share)
        try:
            yield
        finally:
            cut_by = "interrupted" if self.is_stopped else "time limit"
            self.stopped_by = cut_by if self.is_over else CONVERGED
            self.clock = whole

    def tell(self, state: SolvingState) -> bool:
        """Tell how far it is; whether to come to an end."""
        if self.options.progress is not None and not self.is_stopped:
            self.is_stopped = bool(self.options.progress(state))
        return self.is_over


def check_method(method: str) -> None:
    if method not in get_args(Method):
        raise InvalidArgument(f"method={method!r} is not known.{suggestion(str(method), get_args(Method))}")
