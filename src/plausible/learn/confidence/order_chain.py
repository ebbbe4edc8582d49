"""Markov chains over orders of the variables, with exact averages over the graphs along each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.confidence.order_posterior import GraphsOfOrder
from plausible.learn.confidence.parent_sets import ScoredParentSets, posterior_scores, score_parent_sets
from plausible.learn.confidence.sampled_posterior import ChainLengths, ChainProgress, Draws, SampledPosterior
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.task import check_progress

__all__ = ["OrderState", "order_init", "order_step", "sample_orders"]

#: No variable has more parents, unless knowledge says otherwise.
_USUAL_PARENTS = 3


class OrderState(NamedTuple):
    """Where a chain is: an order with what the graphs along it weigh, and the swaps taken so far."""

    graphs: GraphsOfOrder
    num_accepted: int


def order_init(sets: ScoredParentSets, knowledge: Knowledge, rng: np.random.Generator) -> OrderState:
    """A random order that agrees with the required edges and the tiers."""
    return OrderState(GraphsOfOrder(sets, _random_order(sets.names, knowledge, rng)), 0)


def order_step(rng: np.random.Generator, state: OrderState) -> OrderState:
    """Propose to swap two variables, neighbours every other time; accept by the ratio of P(D | order).

    A swap is proposed as often as the one that takes it back, so that the Hastings ratio is one.
    """
    num = len(state.graphs.order)
    if num < 2:
        return state
    if rng.random() < 0.5:
        first = int(rng.integers(num - 1))
        second = first + 1
    else:
        first, second = sorted(rng.choice(num, 2, replace=False).tolist())
    proposed = state.graphs.swapped(first, second)
    ratio = proposed.log_evidence - state.graphs.log_evidence
    if math.log(max(rng.random(), 1e-300)) >= ratio:
        return state
    return OrderState(proposed, state.num_accepted + 1)


def sample_orders(
    data: TableLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    lengths: ChainLengths | None = None,
    seed: Seed = 0,
    progress: ChainProgress | None = None,
) -> SampledPosterior:
    """Draw orders from P(≺ | D) and average P(f | ≺, D) over them (Friedman & Koller 2003).

    There are fewer orders than graphs, and their posterior is smoother. The graphs along an order are summed exactly;
    one graph is drawn along each, for paths and other features. All orders count the same beforehand, so that a graph
    counts as often as there are orders that agree with it: graphs with few edges are favoured, as in
    `edge_posterior(..., over="orders")`, where `over="graphs"` and `sample_structures` favour none. A step costs the
    sums over the parent sets of the variables between the two that are swapped.

    Parameters
    ----------
    data
        What `Table.read` takes, or scores of families.
    score
        Usually "bdeu", or "bge" for numbers.
    knowledge
        Limits the graphs; without it no variable has more than three parents.
    lengths
        How many chains and draws.
    seed
        Of all choices.
    progress
        Called with the number of draws made and of all, after each.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = sample_orders(rows, lengths=ChainLengths(num_draws=200, num_chains=2))
    >>> round(found.strengths.strength("rain", "wet"), 1)
    1.0
    """
    check_progress(progress)
    options, known = ChainLengths.read(lengths), Knowledge.read(knowledge or Knowledge(max_parents=_USUAL_PARENTS))
    sets = score_parent_sets(posterior_scores(data, score), known)
    num = len(sets.names)
    edges = np.zeros((options.num_chains, options.num_draws, num, num))
    graphs, log_scores, accepted = np.zeros(edges.shape, dtype=np.bool_), np.zeros(edges.shape[:2]), 0
    for chain, rng in enumerate(generator_of(seed).spawn(options.num_chains)):
        state = order_init(sets, known, rng)
        _refuse_none(state)
        for _ in range(options.burn_in):
            state = order_step(rng, state)
        before = state.num_accepted
        for draw in range(options.num_draws):
            for _ in range(options.thin):
                state = order_step(rng, state)
            edges[chain, draw], graphs[chain, draw] = state.graphs.edges(), state.graphs.draw(rng)
            log_scores[chain, draw] = state.graphs.log_evidence
            if progress is not None:
                progress(chain * options.num_draws + draw + 1, log_scores.size)
        accepted += state.num_accepted - before
    drawn = Draws(graphs, edges, log_scores, accepted / (log_scores.size * options.thin))
    return SampledPosterior.of(sets.names, drawn, "orders")


def _random_order(names: tuple[str, ...], knowledge: Knowledge, rng: np.random.Generator) -> list[int]:
    """Parents of required edges first, others at random."""
    before = DAG(knowledge.required, nodes=names)
    waiting, order = list(range(len(names))), list[int]()
    while waiting:
        placed = {names[place] for place in order}
        ready = [place for place in waiting if placed >= set(before.parents(names[place]))]
        order.append(ready[int(rng.integers(len(ready)))])
        waiting.remove(order[-1])
    return order


def _refuse_none(state: OrderState) -> None:
    if state.graphs.log_evidence == -math.inf:
        raise InvalidArgument("No graph along an order that agrees with the required edges has a score.")
