"""Restarts from other graphs of the same equivalence class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.options import check_count
from plausible.errors import NotSupported
from plausible.learn.structures.graph_search import GraphSearch, Move
from plausible.learn.structures.search_graph import Families
from plausible.search.restarts import Restarts
from plausible.search.search_problem import OperatorT, SearchProblem, StateT

__all__ = ["ClassWalks", "covered_reversals"]


def covered_reversals(problem: GraphSearch, state: Families) -> list[Move]:
    """The legal reversals that stay in the equivalence class: those of edges whose ends have the same other parents."""
    turns = [
        Move("reverse", parent, child)
        for child, parents in enumerate(state)
        for parent in parents
        if len(state[parent]) + 1 == len(parents) and set(state[parent]) < set(parents)
    ]
    return [turn for turn in turns if problem.is_legal(state, turn)]


@dataclass(frozen=True, slots=True)
class ClassWalks(Restarts):
    """Walk from the best graph to another one that means the same, and search from there (Castelo & Kočka 2003).

    Each step of a walk turns a random covered edge round. Graphs of a class have the same score under a
    score-equivalent score, but not the same neighbours: so a maximum among the neighbours of one graph need not be one
    among those of another, and little is lost by moving. After walks that led to nothing better the next ones also make
    random moves that leave the class, one more each time.

    Parameters
    ----------
    inner
        The search to run; a step is one of its steps.
    num
        How many walks there are.
    length
        The steps of a walk; `None` for as many as there are edges.

    Examples
    --------
    >>> ClassWalks(num=3)
    ClassWalks(max_steps=None, inner=GreedyAscent(max_steps=None), num=3, length=None)
    """

    length: int | None = None

    def __post_init__(self) -> None:
        Restarts.__post_init__(self)
        if self.length is not None:
            check_count("length", self.length, 1)

    def next_start(
        self, problem: SearchProblem[StateT, OperatorT], best: StateT, failures: int, rng: np.random.Generator
    ) -> StateT:
        """The end of a random walk."""
        if not isinstance(problem, GraphSearch):
            raise NotSupported("Only searches over graphs walk within equivalence classes.")
        state: Families = best  # type: ignore[assignment]  # the states of a search over graphs
        num_steps = sum(map(len, state)) if self.length is None else self.length
        for _ in range(num_steps):
            turns = covered_reversals(problem, state)
            if not turns:
                break
            state = problem.apply(state, turns[int(rng.integers(len(turns)))])
        for _ in range(failures):
            move = problem.propose(state, rng)
            if move is None:
                break
            state = problem.apply(state, move)
        return state  # type: ignore[return-value]
