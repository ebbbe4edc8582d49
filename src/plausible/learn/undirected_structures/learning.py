"""Learning the structure of undirected models: the front door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed
from plausible.base.tolerances import score_noise
from plausible.data.statistics import Request, Statistics, in_order
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import UndirectedGraph, maximum_spanning_forest
from plausible.graphs.nodes import Node
from plausible.inference.budget import Budget
from plausible.learn.undirected_structures.edge_tests import learn_by_tests
from plausible.learn.undirected_structures.greedy import learn_greedy
from plausible.learn.undirected_structures.l1 import learn_l1
from plausible.learn.undirected_structures.neighbourhoods import learn_neighbourhoods
from plausible.learn.undirected_structures.result import MarkovStructure
from plausible.learn.undirected_structures.task import Pair, Task, fit_cliques, pairs_of
from plausible.search.run import CONVERGED, Run, Stops


def learn_markov_structure(
    data: TableLike | Statistics,
    method: str = "l1",
    *,
    candidates: Iterable[Any] | None = None,
    required: Any = (),
    forbidden: Any = (),
    objective: str | None = None,
    max_steps: int | None = 1000,
    tolerance: float = 1e-5,
    time_limit: float | None = None,
    progress: Callable[[Any], object] | None = None,
    budget: Budget | None = None,
    seed: Seed = 0,
    **options: Any,
) -> MarkovStructure:
    """Learn which variables of a discrete Markov network are joined, and fit the network.

    ===============  ==================================================================================================
    method           what it does (and its options)
    ===============  ==================================================================================================
    "l1"             a penalty on the interaction of each pair, strength × rows × Σ ‖θ_pair‖, which makes most of them
                     zero: the problem is concave, and features enter by their slopes until the conditions of an optimum
                     hold (`strength`; or `strengths`, or `num_strengths` from the first that leaves an edge down to a
                     hundredth, until three in a row score less than the best; chosen by `score`: "ebic", "bic" or
                     "cross-validation" with `folds`; `by_size` for penalties in proportion to the square root of a
                     pair's weights)
    "chow-liu"       the forest of greatest likelihood, by mutual information, counted in closed form (`score="bic"`
                     leaves out edges that BIC does not want, "likelihood" none)
    "neighbourhood"  a penalised (multinomial) logistic regression of each variable on all others, solved together by
                     matrix products; an edge where both ends want it, or with `rule="or"` one (`strength`, the same
                     for all; or a path as above, from which each variable takes the one that an extended BIC with
                     `gamma` (0.25) likes best). 100 variables and 10,000 rows take about a second
    "tests"          an edge is absent where its ends are independent given some set of at most `max_degree` (3)
                     others (`test`, a G-test by default; `alpha`, 0.01). All tests right, it finds the graph of a
                     positive distribution that has a perfect map of no larger degree. Of X → Z ← Y it finds X - Z - Y:
                     X and Y are independent given nothing, so the edge X - Y, without which no Markov network has the
                     distribution, is missed
    "greedy"         features are added and deleted while a `score` rises: "bic", "laplace" and "map" with a `prior`, or
                     "pseudolikelihood" with a penalty like that of BIC. Moves are ordered by what they would gain if no
                     other weight moved; the first `batch` are made together if the score rises, else the best one
                     alone, of the first `tries` (`start`, a graph, such as that of "tests"; `max_edges`,
                     `max_features`, `max_treewidth`; `restarts` from a few random moves away)
    ===============  ==================================================================================================

    Parameters
    ----------
    data
        Anything that `Table.read` accepts, or statistics; variables with states. Missing cells are taken by "l1" with
        the likelihood (Koller & Friedman 2009, §20.8).
    candidates
        What may be in the model: pairs, larger scopes, `Feature`s, or a graph with such pairs; by default all pairs.
        Every model has a table on each variable, without a penalty.
    required, forbidden
        Edges that must or must not be there: pairs, or text such as "A - B".
    objective
        "likelihood" or "pseudolikelihood"; by default the first where an inference takes no longer than a hundredth of
        a second or two, which the second does without.
    max_steps
        Of the search: at each strength of "l1" so many times features may enter.
    tolerance
        The slope of the objective, for one row, that counts as none.

    References
    ----------
    Lee, Ganapathi & Koller (2006), Efficient structure learning of Markov networks using L1-regularization; Wainwright,
    Ravikumar & Lafferty (2006), High-dimensional graphical model selection using l1-regularized logistic regression;
    Chow & Liu (1968); Koller & Friedman (2009), §20.7.

    Examples
    --------
    >>> import plausible as pb
    >>> a, b, c = (pb.Variable(name, 2) for name in "ABC")
    >>> net = pb.MarkovNetwork([pb.Factor([a, b], [[4, 1], [1, 4]]), pb.Factor([b, c], [[3, 1], [1, 3]])])
    >>> rows = net.sample(500, seed=1)
    >>> found = pb.learn.markov_structure(rows)
    >>> found.graph.edges, found.objective, len(found.path), found.kkt_residual < 1e-5
    ((('A', 'B'), ('B', 'C')), 'likelihood', 8, True)
    >>> pb.learn.markov_structure(rows, "chow-liu").graph == found.graph
    True
    """
    if method not in METHODS:
        raise InvalidArgument(f"method={method!r} is no way to learn an undirected graph.{suggestion(method, METHODS)}")
    if objective not in (None, "likelihood", "pseudolikelihood"):
        raise InvalidArgument(f'objective={objective!r} must be "likelihood", "pseudolikelihood" or None.')
    stops = Stops(tolerance, max_steps, time_limit, progress)
    task = Task.read(data, candidates, required, forbidden, stops, seed=seed, objective=objective, budget=budget)
    return keyword_hints(METHODS[method])(task, **options)


def learn_forest(task: Task, *, score: str = "bic") -> MarkovStructure:
    """The forest of greatest likelihood, less half the degrees of freedom times log M for each edge with BIC."""
    if score not in ("bic", "likelihood"):
        raise InvalidArgument(f'score={score!r} must be "bic" or "likelihood".')
    task.refuse_missing("chow-liu")
    allowed = {pair for one in task.candidates for pair in pairs_of(one)} | task.required
    gains = pair_gains(task, allowed, is_penalized=score == "bic")
    noise = score_noise(task.total)
    tops = 1 + sum(abs(gain) for gain in gains.values())
    weights = {pair: gain + (tops if pair in task.required else 0.0) for pair, gain in gains.items()}
    wanted: dict[tuple[Node, Node], float] = {
        (min(pair), max(pair)): weights[pair] for pair in sorted(weights, key=sorted) if weights[pair] > noise
    }
    graph = maximum_spanning_forest(UndirectedGraph(list(wanted), nodes=task.variables), wanted).graph
    for pair in task.required:
        if not graph.has_edge(*sorted(pair)):
            raise InvalidArgument("The required edges have a cycle, so no forest has all of them.")
    total = sum(gains[frozenset(map(str, edge))] for edge in graph.edges)
    run = Run(graph, 0, CONVERGED, (total,))
    fitted_by = "maximum likelihood of a table on each edge, counted"
    return MarkovStructure("chow-liu", graph, run, fitted_by, partial(fit_cliques, task, graph), score=total)


def pair_gains(task: Task, pairs: Iterable[Pair], *, is_penalized: bool) -> dict[Pair, float]:
    """M times the mutual information of each pair, and with BIC less (k - 1)(l - 1)/2 · log M."""
    heads: dict[str, list[str]] = {}
    for first, second in sorted(tuple(sorted(pair)) for pair in pairs):
        heads.setdefault(first, []).append(second)
    answers = task.statistics.counts_of([Request(first, (), tuple(others)) for first, others in heads.items()])
    gains: dict[Pair, float] = {}
    for (first, others), stacks in zip(heads.items(), answers, strict=True):
        for second, counts in zip(others, in_order(stacks), strict=True):
            table = np.asarray(counts, dtype=float)
            free = (table.shape[0] - 1) * (table.shape[1] - 1)
            price = 0.5 * free * np.log(max(task.total, 1.0)) if is_penalized else 0.0
            gains[frozenset((first, second))] = _log_ratio(table) - price
    return gains


def _log_ratio(table: Any) -> float:
    """Σ counts · log of joint over product of margins."""
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    live = table > 0
    return float((table[live] * np.log(table[live] * table.sum() / expected[live])).sum())


#: name -> the method
METHODS: Mapping[str, Callable[..., MarkovStructure]] = {
    "l1": learn_l1,
    "chow-liu": learn_forest,
    "neighbourhood": learn_neighbourhoods,
    "tests": learn_by_tests,
    "greedy": learn_greedy,
}
