"""What chains over graphs or orders found, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.options import check_count
from plausible.base.records import record
from plausible.errors import InvalidArgument
from plausible.inference.sampling.chain_diagnostics import MAX_R_HAT, ChainDiagnostics, diagnose, r_hat
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error as error_of_mean
from plausible.learn.confidence.weighted_graphs import EdgeStrengths, WeightedGraphs

__all__ = ["ChainLengths", "ChainProgress", "SampledPosterior"]


#: Told how many draws were made, and of how many.
ChainProgress: TypeAlias = Callable[[int, int], object]

#: Draws of edges are diagnosed together up to so many numbers.
_TOGETHER = 2**22


@dataclass(frozen=True, slots=True)
class ChainLengths:
    """How long chains run.

    Parameters
    ----------
    num_draws
        Draws that each chain keeps.
    num_chains
        Chains, each from a random start of its own.
    burn_in
        Steps before the first draw.
    thin
        Steps from one draw to the next.
    """

    num_draws: int = 1000
    num_chains: int = 4
    burn_in: int = 1000
    thin: int = 5

    def __post_init__(self) -> None:
        for name, least in (("num_draws", 4), ("num_chains", 1), ("burn_in", 0), ("thin", 1)):
            check_count(name, getattr(self, name), least)

    @classmethod
    def read(cls, lengths: ChainLengths | None) -> ChainLengths:
        """What `lengths=` of every chain takes; `None` for the usual ones."""
        if lengths is None:
            return cls()
        if not isinstance(lengths, cls):
            raise InvalidArgument(f"lengths= takes ChainLengths, such as ChainLengths(num_draws=300), not {lengths!r}.")
        return lengths


class Draws(NamedTuple):
    """What all chains drew: graphs (chains, draws, parent, child), edge probabilities likewise, and log scores."""

    graphs: Flags
    edges: Floats
    log_scores: Floats
    acceptance: float


@record(eq=False)
class SampledPosterior:
    """Draws of Markov chains over graphs or orders.

    Attributes
    ----------
    graphs
        The graphs drawn, all with the same weight; their `strengths` also tell of paths and Markov blankets.
    strengths
        The probabilities of edges; over orders, means of exact ones, with less noise than the graphs alone have.
    standard_errors
        The Monte Carlo standard errors of the edges' probabilities.
    r_hats
        Split R-hat of each edge; one where the chains agree.
    scores
        Diagnostics of the log posterior along the chains.
    acceptance
        The share of proposals that were taken.
    over
        What the chains were over: "graphs" or "orders".
    """

    graphs: WeightedGraphs
    strengths: EdgeStrengths
    standard_errors: Floats
    r_hats: Floats
    scores: ChainDiagnostics
    acceptance: float
    over: Literal["graphs", "orders"]

    @classmethod
    def of(cls, names: tuple[str, ...], draws: Draws, over: Literal["graphs", "orders"]) -> SampledPosterior:
        """Average draws and diagnose them."""
        num, source = len(names), f"chains over {over}, {draws.log_scores.size} draws"
        flat = draws.graphs.reshape(draws.log_scores.size, num, num)
        graphs = WeightedGraphs(names, flat, np.ones(len(flat)), source, is_posterior=True)
        whole, edges = graphs.strengths(), draws.edges.mean(axis=(0, 1))
        strengths = EdgeStrengths(names, edges, whole.paths, whole.blankets, source, is_posterior=True)
        errors, ratios = _diagnosed(draws.edges)
        return cls(graphs, strengths, errors, ratios, diagnose(draws.log_scores), draws.acceptance, over)

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
