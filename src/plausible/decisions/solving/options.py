"""How to solve, and how far a search is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from plausible.errors import InvalidArgument, suggestion
from plausible.inference.options import check_count, check_seconds, read_generator

__all__ = ["Method", "Options", "Seed", "SolvingState", "check_method"]

#: The ways to solve a diagram; see `plausible.decisions.solving.solve.solve`.
Method: TypeAlias = Literal["auto", "local", "elimination", "arc-reversal", "network", "enumeration"]
Seed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, slots=True)
class SolvingState:
    """How far solving is.

    Attributes
    ----------
    num_settled, num_decisions
        How many decisions have got their rules, and how many there are.
    expected_utility
        Of the rules as they are; where decisions come later that have no rules yet, these act at random.
    upper_bound
        What is known about the best strategy, where a search for it goes on.
    num_nodes
        The partial strategies that this search has looked at.
    """

    num_settled: int
    num_decisions: int
    expected_utility: float
    upper_bound: float = math.inf
    num_nodes: int = 0


@dataclass(frozen=True, slots=True)
class Options:
    """How long to search, and from where.

    Attributes
    ----------
    restarts
        Random strategies to start from, beside the one that takes every action with the same probability.
    seed
        The source of these.
    time_limit
        A search for a proof stops after so many seconds.
    progress
        Told each state; an answer that is true stops the search.
    """

    restarts: int = 10
    seed: Seed = 0
    time_limit: float = 60.0
    progress: Callable[[SolvingState], object] | None = None

    def __post_init__(self) -> None:
        check_count("restarts", self.restarts)
        check_seconds("time_limit", self.time_limit)

    def told(self, state: SolvingState) -> bool:
        """Tell how far it is; whether to stop."""
        return self.progress is not None and bool(self.progress(state))

    def generator(self) -> np.random.Generator:
        """The source of random strategies."""
        return read_generator(self.seed)


def check_method(method: str) -> None:
    """Refuse a method that is not known."""
    if method not in get_args(Method):
        known = get_args(Method)
        raise InvalidArgument(f"method={method!r} is none of {list(known)}.{suggestion(str(method), known)}")
