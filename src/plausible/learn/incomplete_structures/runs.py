"""Runs of steps over graphs for incomplete data: what ends them, the best of several, and what they hand back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from plausible.graphs import DAG
from plausible.learn.em_runs import best_first
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import EMRules
from plausible.learn.incomplete_structures.completion import FittedGraph, GraphJudge, usual_prior
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork
from plausible.models.display import learned_html, title_of

__all__ = ["Clock", "GraphState", "IncompleteFit", "RunRules", "best_run", "judge_of", "run_steps"]


class Clock(Protocol):
    """What knows when a run has to end: see `GraphJudge`."""

    def is_late(self) -> bool:
        """Whether the time is up."""


class GraphState(Protocol):
    """What a run is at: see `SEMState`."""

    @property
    def best(self) -> FittedGraph:
        """The graph and its parameters."""

    @property
    def trace(self) -> tuple[float, ...]:
        """The score of the observed cells at the start and after each step."""

    @property
    def has_settled(self) -> bool:
        """Whether the last step gained nothing."""

    @property
    def cut_short(self) -> str:
        """Why the last step did not come to its end; empty where it did."""


State = TypeVar("State", bound=GraphState)


class RunRules(Protocol):
    """What limits a run: see `SEMRules`."""

    @property
    def max_steps(self) -> int:
        """At most so many steps."""

    @property
    def em_steps(self) -> int:
        """Steps of EM for the parameters of each graph."""

    @property
    def em_tolerance(self) -> float:
        """The relative gain that ends them."""

    @property
    def time_limit(self) -> float | None:
        """In seconds."""

    @property
    def progress(self) -> Callable[..., object] | None:
        """Told the state after each step; a true answer ends the run."""


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteFit:
    """A network learned from rows with missing cells, and how it was learned; what all such results have.

    Attributes
    ----------
    state
        The last state of the best run.
    stopped
        Why it ended.
    """

    state: GraphState
    stopped: str

    @property
    def network(self) -> BayesianNetwork:
        """The network learned, with the parameters that EM found."""
        return self.state.best.network

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    @property
    def graph(self) -> DAG:
        """Its graph."""
        return self.state.best.graph

    @property
    def score(self) -> float:
        """The score of the observed cells."""
        return self.state.best.score

    @property
    def log_likelihood(self) -> float:
        """Σ log P(observed cells)."""
        return self.state.best.log_likelihood

    @property
    def trace(self) -> tuple[float, ...]:
        """The score at the start and after each step."""
        return self.state.trace

    @property
    def converged(self) -> bool:
        """Whether the last step found nothing better."""
        return self.stopped in ("converged", "local maximum")


def judge_of(cases: Cases, score: Score, prior: PriorLike, rules: RunRules, began: float) -> GraphJudge:
    """What fits and judges graphs in a run that began at a time of `time.perf_counter`."""
    deadline = float("inf") if rules.time_limit is None else began + rules.time_limit
    ending = EMRules(tolerance=rules.em_tolerance, max_steps=rules.em_steps, deadline=deadline)
    return GraphJudge(cases, score, usual_prior(score) if prior is None else prior, rules=ending)


def run_steps(judge: Clock, step: Callable[[State], State], state: State, rules: RunRules) -> tuple[State, str]:
    """Steps from a state until nothing is gained, and why they ended; the state can be given again to go on."""
    for _ in range(rules.max_steps):
        if judge.is_late():
            return state, "time limit"
        state = step(state)
        if rules.progress is not None and rules.progress(state):
            return state, "interrupted"
        if state.cut_short:
            return state, state.cut_short
        if state.has_settled:
            return state, "converged"
    return state, "step limit"


def best_run(runs: Sequence[tuple[State, str]]) -> tuple[State, str, tuple[float, ...]]:
    """The last state of the best run, why it ended, and the scores of all runs, the best first."""
    ordered = best_first(runs, lambda run: run[0].best.score)
    state, stopped = ordered[0]
    return state, stopped, tuple(run.best.score for run, _ in ordered)
