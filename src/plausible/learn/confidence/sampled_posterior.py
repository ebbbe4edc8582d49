"""What chains over graphs or orders found, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument
from plausible.inference.sampling.chain_diagnostics import MAX_R_HAT, ChainDiagnostics, diagnose, r_hat
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error as error_of_mean
from plausible.learn.confidence.weighted_graphs import EdgeStrengths, WeightedGraphs
from plausible.search.chains import ChainProgress, ChainRun, ChainSteps, HasChains, run_chains

#: Draws of edges are diagnosed together up to so many numbers.
_TOGETHER = 2**22
#: Chains of fewer draws tell nothing of themselves.
_FEWEST = 4


class Walk(Protocol):
    """Where a chain over graphs or orders is."""

    @property
    def num_accepted(self) -> int:
        """The proposals taken so far."""

    def moved(self) -> Self:
        """Where it is after a step."""

    def draw(self) -> tuple[Flags, Floats, float]:
        """A graph, the probabilities of its edges, by parent and child, and a log posterior up to a constant."""


WalkT = TypeVar("WalkT", bound=Walk)


@record(eq=False)
class SampledPosterior(HasChains):
    """Draws of Markov chains over graphs or orders."""

    #: The graphs drawn, all with the same weight; their `strengths` also tell of paths and Markov blankets.
    graphs: WeightedGraphs
    #: The probabilities of edges; over orders, means of exact ones, with less noise than the graphs alone have.
    strengths: EdgeStrengths
    standard_errors: Floats  # The Monte Carlo standard errors of the edges' probabilities
    r_hats: Floats  # Split R-hat of each edge; one where the chains agree
    scores: ChainDiagnostics  # Diagnostics of the log posterior along the chains
    acceptance: float  # The share of proposals that were taken
    over: Literal["graphs", "orders"]  # What the chains were over: "graphs" or "orders"
    run: ChainRun[Any]  # How the chains went

    @property
    def worst_r_hat(self) -> float:
        """The largest R-hat of an edge; more than 1.01 says that the chains have not mixed."""
        return float(self.r_hats.max(initial=1.0))

    @property
    def advice(self) -> str:
        """What to do where the chains have not mixed; "" where they have."""
        measured = (("an edge", self.worst_r_hat), ("the log posterior", self.scores.r_hat))
        bad = [f"of {what} is {ratio:.3f}" for what, ratio in measured if ratio > MAX_R_HAT]
        if not bad:
            return ""
        others = "" if self.over == "orders" else " sample orders,"
        return (
            f"R-hat {' and '.join(bad)}, more than {MAX_R_HAT}: the chains disagree, as on islands of good graphs. "
            f"Draw more,{others} or ask edge_posterior where variables are few."
        )

    def __str__(self) -> str:
        ratios = f"largest R-hat of an edge {self.worst_r_hat:.3f}, R-hat of the log posterior {self.scores.r_hat:.3f}"
        return "\n".join(
            filter(None, [str(self.strengths), f"acceptance {self.acceptance:.2f}; {ratios}", self.advice])
        )


def sample_walks(
    names: tuple[str, ...],
    over: Literal["graphs", "orders"],
    starts: Sequence[WalkT],
    steps: ChainSteps,
    limits: tuple[Callable[[ChainProgress[WalkT]], object] | None, float | None],
) -> SampledPosterior:
    """Let chains walk, until `progress` or the time limit ends them; average their draws and diagnose them."""
    run = run_chains(lambda walk: walk.moved(), starts, steps, *limits, lambda walk: walk.draw())
    if len(run.kept) < _FEWEST:
        raise InvalidArgument(f"The chains were {run.shortfall}, before {_FEWEST} draws, which is too few to tell.")
    matrices, edges, log_scores = map(run.gathered, range(3))
    num, source = len(names), f"chains over {over}, {log_scores.size} draws"
    flat = matrices.reshape(log_scores.size, num, num)
    graphs = WeightedGraphs(names, flat, np.ones(len(flat)), source, is_posterior=True)
    whole, means = graphs.strengths(), edges.mean(axis=(0, 1))
    strengths = EdgeStrengths(names, means, whole.paths, whole.blankets, source, is_posterior=True)
    errors, ratios = _diagnosed(edges)
    taken = sum(b.num_accepted - a.num_accepted for a, b in zip(run.after_burn_in, run.last, strict=True))
    share = taken / max(len(starts) * (run.num_steps - steps.burn_in), 1)
    ended = replace(run, kept=(), after_burn_in=())
    return SampledPosterior(graphs, strengths, errors, ratios, diagnose(log_scores), share, over, ended)


def _diagnosed(edges: Floats) -> tuple[Floats, Floats]:
    """Standard errors and R-hats of the edges, some at a time."""
    num_chains, num_draws, num = edges.shape[:3]
    flat = edges.reshape(num_chains, num_draws, num * num)
    errors, ratios = np.zeros(num * num), np.ones(num * num)
    moving = np.flatnonzero(flat.min(axis=(0, 1)) < flat.max(axis=(0, 1)))
    size = max(1, _TOGETHER // (num_chains * num_draws))
    for start in range(0, len(moving), size):
        part = moving[start : start + size]
        errors[part], ratios[part] = error_of_mean(flat[:, :, part]), r_hat(flat[:, :, part])
    return errors.reshape(num, num), ratios.reshape(num, num)
