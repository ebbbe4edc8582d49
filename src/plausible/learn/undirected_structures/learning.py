"""Learning the structure of undirected models: the front door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count
from plausible.data.statistics import Statistics
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, suggestion
from plausible.inference.budget import Budget
from plausible.learn.undirected_structures.chordal import learn_chordal
from plausible.learn.undirected_structures.edge_tests import learn_by_tests
from plausible.learn.undirected_structures.forest import learn_forest, screened
from plausible.learn.undirected_structures.greedy import learn_greedy
from plausible.learn.undirected_structures.l1 import learn_l1
from plausible.learn.undirected_structures.neighbourhoods import learn_neighbourhoods
from plausible.learn.undirected_structures.result import MarkovStructure
from plausible.learn.undirected_structures.task import Task
from plausible.search.run import Stops


def learn_markov_structure(
    data: TableLike | Statistics,
    method: str = "l1",
    *,
    candidates: Iterable[Any] | None = None,
    num_candidates: int | None = None,
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
    "chordal"        a graph of treewidth at most `max_treewidth` (2) without cycles that lack a chord: edges are added
                     and taken away one by one while a `score` as above rises. Every table is counted, so no inference
                     is needed, and the network answers at a price that is known before
    "neighbourhood"  a penalised (multinomial) logistic regression of each variable on all others, solved together by
                     matrix products; an edge where both ends want it, or with `rule="or"` one (`strength`, the same
                     for all; or a path as above, from which each variable takes the one that an extended BIC with
                     `gamma` (0.25) likes best). 100 variables and 10,000 rows take about a second
    "tests"          an edge is absent where its ends are independent given some set of at most `max_degree` (3)
                     others, or with `given="others"` given all of them, which wants rows for each of their joint
                     states (`test`, a G-test by default; `alpha`, 0.01). All tests right, the latter finds the graph
                     of any positive distribution, and the neighbours of a variable make it independent of the rest;
                     with few given, that of a
                     distribution that has a perfect map of no larger degree. Of X → Z ← Y that finds X - Z - Y: X and
                     Y are independent given nothing, so the edge X - Y, without which no Markov network has the
                     distribution, is missed
    "greedy"         features are added and deleted while a `score` rises: "bic", "laplace" and "map" with a `prior`, or
                     "pseudolikelihood" with a penalty like that of BIC. Moves are ordered by what they would gain if no
                     other weight moved; the first `batch` are made together if the score rises, else the best one
                     alone, of the first `tries` (`start`, a graph, such as that of "tests"; `max_edges`,
                     `max_features`, `max_treewidth`; `restarts` from a few random moves away; `tabu`, so many
                     moves that are not taken back while the search goes on through lower scores)
    ===============  ==================================================================================================

    Parameters
    ----------
    data
        Anything that `Table.read` accepts, or statistics; variables with states. Missing cells are taken by "l1" with
        the likelihood (Koller & Friedman 2009, §20.8).
    candidates
        What may be in the model: pairs, larger scopes, `Feature`s, or a graph with such pairs; by default all pairs.
        Every model has a table on each variable, without a penalty.
    num_candidates
        So many candidates are looked at, those whose variables have the most mutual information, less what BIC takes
        for it; all where left out. Fast, but blind to what a model explains already: where links are strong, pairs two
        links apart depend more on each other than those of a weak link (Koller & Friedman 2009, §20.7.5).
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
    Chow & Liu (1968); Deshpande, Garofalakis & Jordan (2001),
    Efficient stepwise selection in decomposable models; Koller & Friedman (2009), §20.7.

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
    if num_candidates is not None:
        check_count("num_candidates", num_candidates)
        task = screened(task, num_candidates)
    return keyword_hints(METHODS[method])(task, **options)


#: name -> the method
METHODS: Mapping[str, Callable[..., MarkovStructure]] = {
    "l1": learn_l1,
    "chow-liu": learn_forest,
    "chordal": learn_chordal,
    "neighbourhood": learn_neighbourhoods,
    "tests": learn_by_tests,
    "greedy": learn_greedy,
}
