"""What posteriors over graphs share: the scores of all parent sets, and what chains over graphs or orders found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from plausible.base import Flags, Floats, Result, record
from plausible.data.statistics import Request
from plausible.data.stream_statistics import for_learning, read_statistics
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, TooLarge
from plausible.inference.sampling.chain_diagnostics import MAX_R_HAT, ChainDiagnostics, diagnose, r_hat
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error as error_of_mean
from plausible.learn.confidence.weighted_graphs import EdgeStrengths, WeightedGraphs
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.remembered import RememberedScores
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.search.chains import ChainProgress, ChainRun, ChainSteps, HasChains, run_chains
from plausible.search.checkpoint import Checkpoint
from plausible.search.run import Saving

Bits = NDArray[np.int64]

_MOST_VARIABLES = 62  # A set of variables is one whole number, a bit for each
_MOST_SETS = 2**22  # More sets are refused: their scores would take minutes


class ScoredParentSets(NamedTuple):
    """All parent sets of each variable that knowledge allows, with their scores; variables go by their places."""

    names: tuple[str, ...]  # The variables, sorted
    masks: list[Bits]  # For each child its parent sets, a bit for each parent
    members: list[Bits]  # For each child the same sets as lists of places, filled up with the number of variables
    scores: list[Floats]  # For each child the scores of the sets

    def allowed(self, child: int, others: int) -> tuple[Bits, Floats]:
        """The numbers and the scores of the parent sets of a child within a set of others."""
        places = np.flatnonzero((self.masks[child] & ~others) == 0)
        return places, self.scores[child][places]


def posterior_scores(data: DataLike | FamilyScores, score: str | Score | None) -> FamilyScores:
    """The scores whose sums are log P(G) P(D | G), up to a constant: those given, or BDeu, or BGe for numbers."""
    if isinstance(data, FamilyScores):
        return data
    source = for_learning(data)
    usual = "bdeu" if not source.continuous else "conditional-gaussian-bic" if source.discrete else "bge"
    return read_score(score or usual).on(read_statistics(source))


def remembered_scores(scores: FamilyScores, saved: Checkpoint | None) -> FamilyScores:
    """The scores, those among them that a checkpoint knows as they were."""
    return scores if saved is None else RememberedScores(scores, saved)


def told_scores(scores: FamilyScores) -> list[object]:
    """What tells scores from others: those of families without parents, and of pairs with the first variable."""
    names = sorted(scores.names)
    alone: list[tuple[str, list[str]]] = [(name, []) for name in names]
    return [names, scores.families([*alone, *((name, names[:1]) for name in names[1:])])]


def score_parent_sets(scores: FamilyScores, knowledge: Knowledge | None) -> ScoredParentSets:
    """All families that knowledge allows; each call to the scores is for one set and all ways to add another parent."""
    names = tuple(sorted(scores.names))
    if len(names) > _MOST_VARIABLES:
        raise TooLarge(f"There are {len(names)} variables; sums over parent sets take {_MOST_VARIABLES} at most.")
    known = Knowledge.read(knowledge).on(names)
    columns = [_scored(scores, names, child, known) for child in range(len(names))]
    parts = [list(part) for part in zip(*columns, strict=True)] or [[], [], []]
    return ScoredParentSets(names, *parts)


def log_sum(logs: Floats) -> float:
    """log Σ exp; -inf of nothing."""
    top = float(logs.max(initial=-np.inf))
    return top + float(np.log(np.exp(logs - top).sum())) if top > -np.inf else top


def _scored(scores: FamilyScores, names: Sequence[str], child: int, known: Constraints) -> tuple[Bits, Bits, Floats]:
    required = tuple(np.flatnonzero(known.required[:, child]).tolist())
    free = np.flatnonzero(known.allowed[:, child] & ~known.required[:, child]).tolist()
    most = min(known.max_parents - len(required), len(free))
    number = sum(math.comb(len(free), size) for size in range(most + 1))
    if number > _MOST_SETS:
        told = f"{names[child]!r} has {number} parent sets, more than {_MOST_SETS}."
        raise TooLarge(f"{told} Give knowledge=Knowledge(max_parents=3).")
    sets: list[tuple[int, ...]] = [required]
    asked: list[Request] = []
    for size in range(most):
        for chosen in combinations(range(len(free)), size):
            more = range(chosen[-1] + 1 if chosen else 0, len(free))
            if len(more):
                base = (*required, *(free[place] for place in chosen))
                named = tuple(names[place] for place in base)
                asked.append(Request(names[child], named, tuple(names[free[place]] for place in more)))
                sets.extend((*base, free[place]) for place in more)
    masks = np.array([sum(1 << place for place in parents) for parents in sets], dtype=np.int64)
    members = np.full((len(sets), max(most, 0) + len(required)), len(names), dtype=np.int64)
    for row, parents in enumerate(sets):
        members[row, : len(parents)] = parents
    own = scores.families([(names[child], [names[place] for place in required])])
    found = np.concatenate([own, *scores.extended_each(asked)])
    if np.isnan(found).any() or (found == np.inf).any():
        raise InvalidArgument(f"A score of a family of {names[child]!r} is no number: it has no probability.")
    return masks, members, found


_TOGETHER = 2**22  # Draws of edges are diagnosed together up to so many numbers
_FEWEST = 4  # Chains of fewer draws tell nothing of themselves


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
class SampledPosterior(Result, HasChains):
    """Draws of Markov chains over graphs or orders."""

    graphs: WeightedGraphs  # The graphs drawn, all with the same weight: `strengths` tell of paths and Markov blankets
    #: The probabilities of edges; over orders, means of exact ones, with less noise than the graphs alone have.
    strengths: EdgeStrengths
    standard_errors: Floats  # The Monte Carlo standard errors of the edges' probabilities
    r_hats: Floats  # Split R-hat of each edge; one where the chains agree
    scores: ChainDiagnostics  # Diagnostics of the log posterior along the chains
    acceptance: float  # The share of proposals that were taken
    over: Literal["graphs", "orders"]  # What the chains were over: "graphs" or "orders"
    log_posteriors: Floats = field(repr=False)  # (chains, draws): along the chains, up to a constant
    run: ChainRun[Any]  # How the chains went

    #: The draws themselves would be long.
    _told = ("graphs", "strengths", "standard_errors", "r_hats", "scores", "acceptance", "over", "run")

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
        lines = [str(self.strengths), f"acceptance {self.acceptance:.2f}; {ratios}", self.advice]
        return "\n".join(filter(None, lines))


def sample_walks(
    names: tuple[str, ...],
    over: Literal["graphs", "orders"],
    starts: Sequence[WalkT],
    steps: ChainSteps,
    limits: tuple[Callable[[ChainProgress[WalkT]], object] | None, float | None],
    checkpoint: Saving | None = None,
) -> SampledPosterior:
    """Let chains walk, until `progress` or the time limit ends them; average their draws and diagnose them."""
    run = run_chains(lambda walk: walk.moved(), starts, steps, *limits, lambda walk: walk.draw(), checkpoint)
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
    return SampledPosterior(graphs, strengths, errors, ratios, diagnose(log_scores), share, over, log_scores, ended)


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
