"""Exact posteriors over graphs of few variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Result, logarithms, record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.confidence.posteriors import ScoredParentSets, log_sum, posterior_scores, score_parent_sets
from plausible.learn.confidence.weighted_graphs import EdgeStrengths, WeightedGraphs, closures
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Knowledge

if TYPE_CHECKING:
    import pandas as pd


def sums_within(sets: ScoredParentSets) -> Floats:
    """By child and set S, a number of n bits: log Σ exp(score) over the parent sets within S. O(n² 2^n)."""
    num = len(sets.names)
    sums = np.full((num, 1 << num), -np.inf)
    for child in range(num):
        sums[child, sets.masks[child]] = sets.scores[child]
    for bit in range(num):
        halves = sums.reshape(num, -1, 2, 1 << bit)
        halves[:, :, 1] = np.logaddexp(halves[:, :, 0], halves[:, :, 1])
    return sums


def edges_over_orders(sums: Floats) -> tuple[float, Floats]:
    """log Σ over orders of P(D | order), and by parent and child the probability of an edge.

    g(S) = Σ_{v in S} α_v(S - v) g(S - v) sums over the orders of S, h(S) likewise over those of what comes after, with
    α_v(S) the sum over the parent sets within S. v follows S with probability g(S) α_v(S) h(S + v) / g(V), and then has
    the parent u with probability 1 - α_v(S - u) / α_v(S). All terms are positive. Koivisto & Sood 2004, "Exact Bayesian
    structure discovery in Bayesian networks". O(n² 2^n).
    """
    num = len(sums)
    sizes = np.array([subset.bit_count() for subset in range(1 << num)])
    levels = [np.flatnonzero(sizes == size) for size in range(num + 1)]
    before, after = np.full(1 << num, -np.inf), np.full(1 << num, -np.inf)
    before[0], after[-1] = 0.0, 0.0
    for level in levels[:-1]:
        for child in range(num):
            here = level[(level >> child) & 1 == 0]
            target = here | (1 << child)
            before[target] = np.logaddexp(before[target], before[here] + sums[child, here])
    for level in reversed(levels[:-1]):
        for child in range(num):
            here = level[(level >> child) & 1 == 0]
            after[here] = np.logaddexp(after[here], after[here | (1 << child)] + sums[child, here])
    edges = np.zeros((num, num))
    for child in range(num):
        others = np.flatnonzero((np.arange(1 << num) >> child) & 1 == 0)
        others = others[sums[child, others] > -np.inf]
        shares = np.exp(before[others] + sums[child, others] + after[others | (1 << child)] - before[-1])
        for parent in set(range(num)) - {child}:
            gone = sums[child, others & ~(1 << parent)] - sums[child, others]
            edges[parent, child] = -(shares @ np.expm1(gone))
    return float(before[-1]), np.clip(edges, 0.0, 1.0)


Sets = NDArray[np.int64]


class _Step(NamedTuple):
    """All ways to put a next layer on a set U of variables."""

    last: Sets  # The subsets of U, each of which may be its last layer
    following: Sets  # The sets of others that may follow, none first
    others: list[int]  # The variables not in U
    gains: Floats  # By other variable and last layer, log Σ over its parent sets within U that meet the last layer
    weights: Floats  # By following layer and last layer, the sum of the gains of its variables


def edges_over_graphs(sums: Floats) -> tuple[float, Floats]:
    """log Σ over graphs of exp(score), and by parent and child the probability of an edge.

    Every acyclic graph falls into layers in one way: a variable is in the first one if it has no parents, else in the
    one after the last of its parents. With α_v(S) the sum over the parent sets within S, the sum over the graphs on U
    with last layer L' that go on with L is f(U, L') Π_{v in L} (α_v(U) - α_v(U - L')): the parents of v are in U, at
    least one of them in L'. A pass forward and one backward give the probability of each step. Unlike inclusion and
    exclusion over sinks (Tian & He 2009) there are no alternating sums: errors stay near the precision of numbers.
    O(4^n), in 2^n array operations.
    """
    num = len(sums)
    full = (1 << num) - 1
    ternary = _doubled([3**place for place in range(num)])  # a set and a subset of it: one number in base 3
    forward, backward = np.full(3**num, -np.inf), np.full(3**num, -np.inf)
    forward[0] = 0.0
    for base in range(full):
        step = _step(sums, base)
        here = forward[ternary[base] + ternary[step.last]]
        later = step.following[1:]
        forward[ternary[base | later] + ternary[later]] = _log_sums(step.weights[1:] + here, 1)
    total = float(_log_sums(forward[ternary[full] + ternary][None], 1)[0])
    edges = np.zeros((num, num))
    if total == -np.inf:
        return total, edges
    backward[ternary[full] + ternary] = 0.0
    for base in range(full - 1, -1, -1):
        step = _step(sums, base)
        places, later = ternary[base] + ternary[step.last], step.following[1:]
        rest = step.weights[1:] + backward[ternary[base | later] + ternary[later]][:, None]
        backward[places] = _log_sums(rest, 0)
        shares = np.exp(rest + (forward[places] - total))
        contains = ((later[None] >> np.array(step.others)[:, None]) & 1).astype(np.float64)
        _add_parents(edges, sums, base, step, contains @ shares)
    return total, np.clip(edges, 0.0, 1.0)


def _step(sums: Floats, base: int) -> _Step:
    bits = range(len(sums))
    inside, others = [b for b in bits if base >> b & 1], [b for b in bits if not base >> b & 1]
    last, following = _doubled([1 << b for b in inside]), _doubled([1 << b for b in others])
    gains = whole = sums[others, base][:, None]
    if base:
        smaller = sums[others][:, base & ~last]
        with np.errstate(divide="ignore", invalid="ignore"):  # log(exp a - exp b); -inf where nothing is left
            gains = np.where(smaller < whole, whole + np.log(-np.expm1(smaller - whole)), -np.inf)
    weights = np.zeros((1, len(last)))
    for gain in gains:
        weights = np.concatenate([weights, weights + gain])
    return _Step(last, following, others, gains, weights)


def _add_parents(edges: Floats, sums: Floats, base: int, step: _Step, shares: Floats) -> None:
    """Add what a step says about edges; `shares` is the probability of each other variable after each last layer."""
    for row, child in enumerate(step.others):
        here = sums[child]
        live = np.flatnonzero((step.gains[row] > -np.inf) & (shares[row] > 0))
        if not base or not live.size:
            continue
        remaining = base & ~step.last[live]
        without_last = np.exp(here[remaining] - here[base])
        met = -np.expm1(here[remaining] - here[base])
        for parent in range(len(sums)):
            if base >> parent & 1:
                bit = 1 << parent
                without_parent = np.exp(here[base & ~bit] - here[base])
                without_both = np.exp(here[remaining & ~bit] - here[base])
                # Sets with the parent that meet the last layer, among all that meet it.
                part = np.clip((1 - without_parent - (without_last - without_both)) / met, 0.0, 1.0)
                edges[parent, child] += float(shares[row, live] @ part)


def _doubled(parts: list[int]) -> Sets:
    """The sums of all subsets of some numbers, the first of which changes fastest."""
    sums = np.zeros(1, dtype=np.int64)
    for part in parts:
        sums = np.concatenate([sums, sums + part])
    return sums


def _log_sums(logs: Floats, axis: int) -> Floats:
    """log Σ exp along an axis; -inf of nothing."""
    top = logs.max(axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(logarithms(np.exp(logs - top).sum(axis=axis)) + np.squeeze(top, axis=axis))


_MOST = {"graphs": 12, "orders": 18}  # Over -> the most variables: four times, or twice, the work for each more
_MOST_ENUMERATED = 5


@record(eq=False)
class ExactPosterior(Result):
    """Exact probabilities of edges."""

    strengths: EdgeStrengths  # The probabilities of edges
    log_evidence: float  # log of the sum of exp(score) over all graphs, or of P(D | order) over all orders
    over: str  # "graphs" or "orders"

    def __str__(self) -> str:
        return f"{self.strengths}\nlog evidence {self.log_evidence:.6g}"


def edge_posterior(
    data: TableLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    over: Literal["graphs", "orders"] = "graphs",
) -> ExactPosterior:
    """P(u -> v | D) = Σ P(G | D) over all graphs with the edge, exactly; P(G | D) ∝ exp(score of G).

    Over "graphs", each counts once, as its score says: up to 12 variables, O(4^n). Over "orders" each counts as often
    as there are orders that agree with it, which favours graphs with few edges and is a different prior; that is what
    chains over orders sample: up to 18 variables, O(n² 2^n). The data are what `Table.read` takes, or scores of
    families: by default of "bdeu", or of "bge" for numbers. Add a structure prior with `WithPrior`; `knowledge` limits
    the graphs.

    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = edge_posterior(rows)
    >>> round(found.strengths.strength("rain", "wet"), 3), round(found.strengths.direction("rain", "wet"), 3)
    (1.0, 0.5)
    """
    if over not in _MOST:
        raise InvalidArgument(f"over= is 'graphs' or 'orders', not {over!r}.")
    scores = posterior_scores(data, score)
    if len(scores.names) > _MOST[over]:
        raise TooLarge(
            f"There are {len(scores.names)} variables; exact sums over {over} take {_MOST[over]} at most. Sample: "
            "sample_orders or sample_structures."
        )
    sets = score_parent_sets(scores, knowledge)
    total, edges = (edges_over_graphs if over == "graphs" else edges_over_orders)(sums_within(sets))
    _refuse_none(total)
    strengths = EdgeStrengths(sets.names, edges, None, None, f"exact sum over all {over}", is_posterior=True)
    return ExactPosterior(strengths, total, over)


def enumerate_posterior(
    data: TableLike | FamilyScores, score: str | Score | None = None, knowledge: Knowledge | None = None
) -> WeightedGraphs:
    """All acyclic graphs on up to five variables (29281), weighted by exp(score): the posterior of any feature.

    The arguments are those of `edge_posterior`.

    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> graphs = enumerate_posterior(rows)
    >>> len(graphs), round(graphs.strengths().blanket("rain", "wet"), 3)
    (25, 1.0)
    """
    scores = posterior_scores(data, score)
    num = len(scores.names)
    if num > _MOST_ENUMERATED:
        raise TooLarge(
            f"There are {num} variables; enumeration takes {_MOST_ENUMERATED} at most. For edges ask edge_posterior, "
            "for other features sample_structures."
        )
    sets = score_parent_sets(scores, knowledge)
    pairs = list(combinations(range(num), 2))
    choices = np.arange(3 ** len(pairs))
    adjacency = np.zeros((len(choices), num, num), dtype=np.bool_)
    for place, (first, second) in enumerate(pairs):
        digit = choices // 3**place % 3
        adjacency[:, first, second], adjacency[:, second, first] = digit == 1, digit == 2
    is_cyclic = closures(adjacency).diagonal(axis1=1, axis2=2).any(axis=1)
    adjacency = adjacency[~is_cyclic]
    logs = np.zeros(len(adjacency))
    for child in range(num):
        by_mask = np.full(1 << num, -np.inf)
        by_mask[sets.masks[child]] = sets.scores[child]
        logs += by_mask[adjacency[:, :, child] @ (1 << np.arange(num))]
    total = log_sum(logs)
    _refuse_none(total)
    live = logs > -np.inf
    return WeightedGraphs(sets.names, adjacency[live], np.exp(logs[live] - total), "all graphs", is_posterior=True)


def _refuse_none(total: float) -> None:
    if total == -np.inf:
        raise InvalidArgument("No graph that agrees with what is known has a score.")


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSensitivity:
    """Probabilities of edges under several scores."""

    strengths: Mapping[str, EdgeStrengths]  # Name of a score -> probabilities of edges under it

    @property
    def ranges(self) -> Floats:
        """By pair of variables, the largest less the smallest strength; near one where the choice decides."""
        return np.asarray(np.ptp(np.stack([found.strengths for found in self.strengths.values()]), axis=0))

    def to_frame(self) -> pd.DataFrame:
        """A row for each pair of variables, with a column for each score and the range; the least robust first."""
        import pandas as pd

        names, ranges = next(iter(self.strengths.values())).names, self.ranges
        pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
        pairs.sort(key=lambda pair: -ranges[pair])
        columns = {title: [found.strengths[pair] for pair in pairs] for title, found in self.strengths.items()}
        ends = {"first": [names[a] for a, _ in pairs], "second": [names[b] for _, b in pairs]}
        return pd.DataFrame(ends | columns | {"range": [ranges[pair] for pair in pairs]})


def score_sensitivity(
    data: TableLike,
    scores: Mapping[str, str | Score],
    strengths: Callable[[Table, str | Score], EdgeStrengths] | None = None,
) -> ScoreSensitivity:
    """The strengths of edges under each of several scores, such as BDeu with different equivalent sample sizes.

    `strengths` finds them under a score: by default the exact posterior over graphs, for few variables; else for
    instance `lambda table, score: sample_orders(table, score).strengths`, or a bootstrap.

    >>> from plausible.learn.scores.dirichlet import BDeuScore
    >>> rows = {"rain": [0, 0, 0, 1, 1, 1], "wet": [0, 0, 1, 1, 1, 1]}
    >>> found = score_sensitivity(rows, {str(size): BDeuScore(size) for size in (0.1, 1, 10)})
    >>> found.to_frame().round(2).values.tolist()
    [['rain', 'wet', 0.83, 0.82, 0.74, 0.1]]
    """
    if not scores:
        raise InvalidArgument("There are no scores to vary.")
    table, find = Table.for_learning(data), strengths or (lambda table, score: edge_posterior(table, score).strengths)
    return ScoreSensitivity({name: find(table, score) for name, score in scores.items()})
