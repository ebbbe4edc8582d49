"""The classifiers: naive Bayes, its extensions by a tree and by k dependences, and networks of any structure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

from plausible.base import SCORE_NOISE, own_methods
from plausible.data import Table, TableStatistics
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.graphs.graph_input import GraphLike, read_dag
from plausible.learn.classifiers.classifier import NetworkClassifier
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.learn.structures.constructive import edge_weights
from plausible.learn.structures.knowledge import Knowledge


@own_methods
class NaiveBayesClassifier(NetworkClassifier):
    """All features are independent given the class: P(c | x) ∝ P(c) Π P(x_i | c).

    Parameters
    ----------
    prior, discretizer, bins, unseen, smoothing
        Those of `NetworkClassifier`.

    Examples
    --------
    >>> X = {"sky": ["clear", "clear", "grey", "grey"], "wind": [3.5, 1.0, 8.5, 6.0]}
    >>> NaiveBayesClassifier().fit(X, ["dry", "dry", "wet", "wet"]).predict({"sky": ["grey", None], "wind": [7.0, 2.0]})
    array(['wet', 'dry'], dtype='<U3')
    """

    def _graph(self, table: Table, target: str) -> DAG:
        return DAG([(target, name) for name in table.variables if name != target], nodes=table.variables)


@own_methods
@dataclass(kw_only=True, eq=False, repr=False)
class TANClassifier(NetworkClassifier):
    """Tree-augmented naive Bayes: the features also form a tree, the best given the class (Friedman et al. 1997).

    Its edges have the greatest sum of I(X; Y | class). O(features²) families.

    Parameters
    ----------
    root
        The feature that the tree starts from; `None` for the first name.
    is_forest
        Leave out edges that do not improve the score.
    edge_score
        By which edges are weighed; usually the log-likelihood, which is the mutual information.
    prior, discretizer, bins, unseen, smoothing
        Those of `NetworkClassifier`.

    Examples
    --------
    >>> X = [["a", 0, 1], ["a", 1, 0], ["b", 1, 0], ["b", 0, 1]] * 2
    >>> tan = TANClassifier().fit(X, [0, 1, 1, 0] * 2)
    >>> tan.network_.graph.parents("X2")
    ('X0', 'class')
    """

    root: str | None = None
    is_forest: bool = False
    edge_score: str | Score | None = None

    def _graph(self, table: Table, target: str) -> DAG:
        options: dict[str, Any] = {"class_variable": target, "root": self.root, "is_forest": self.is_forest}
        return learn_structure(table, "tan", self.edge_score, **options).graph


@own_methods
@dataclass(eq=False, repr=False)
class KDBClassifier(NetworkClassifier):
    """k-dependence: each feature has the class and up to k other features as parents (Sahami 1996).

    Features come in the order of I(X; class); of those before it, each takes the k of greatest I(X; Y | class) as
    parents. k = 0 is naive Bayes. A feature with states takes none that is continuous. O(features²) families.

    Parameters
    ----------
    k
        How many features a feature may have as parents.
    prior, discretizer, bins, unseen, smoothing
        Those of `NetworkClassifier`.

    Examples
    --------
    >>> X = [["a", 0, 1], ["a", 1, 0], ["b", 1, 0], ["b", 0, 1]] * 2
    >>> KDBClassifier(k=1).fit(X, [0, 1, 1, 0] * 2).network_.graph.edges
    (('X1', 'X0'), ('X1', 'X2'), ('class', 'X0'), ('class', 'X1'), ('class', 'X2'))
    """

    k: int = 2

    def _graph(self, table: Table, target: str) -> DAG:
        k: Any = self.k
        if not isinstance(k, Integral) or int(k) < 0:
            raise InvalidArgument(f"k is a number of parents: 0, 1, 2 ..., not {k!r}.")
        name = "conditional-gaussian-log-likelihood" if table.continuous else "log-likelihood"
        scores = read_score(name).on(TableStatistics(table))
        features = sorted(name for name in table.variables if name != target)
        information = {name: scores.family(name, (target,)) - scores.family(name, ()) for name in features}
        sizes = [abs(scores.family(name, ())) for name in features]
        unit = SCORE_NOISE * max((size for size in sizes if 0 < size < math.inf), default=1.0)
        order = sorted(range(len(features)), key=lambda place: (-_rounded(information[features[place]], unit), place))
        weights = edge_weights(scores, features, (target,)) if self.k else None
        edges = [(target, name) for name in features]
        for number, child in enumerate(order):
            if weights is not None:
                able = [parent for parent in order[:number] if weights[parent, child] > -math.inf]
                best = sorted(able, key=lambda parent: (-_rounded(weights[parent, child], unit), parent))[: self.k]
                edges += [(features[parent], features[child]) for parent in best]
        return DAG(edges, nodes=table.variables)


def _rounded(information: float, unit: float) -> float:
    """So that ties are ties; a column without any variance tells nothing."""
    if math.isnan(information):
        return 0.0
    return information if math.isinf(information) else round(information / unit)


@own_methods
@dataclass(eq=False, repr=False)
class BayesianNetworkClassifier(NetworkClassifier):
    """Any network over features and class, learned or given; only the class's Markov blanket matters.

    Parameters
    ----------
    method
        How the graph is learned: a method of `learn.structure`.
    structure_score
        A score or its name; usually BIC of the kind that fits the data.
    knowledge
        What is known of the graph; the class goes by the name of `y`, or "class".
    graph
        The graph itself, a DAG or arrow text; nothing but tables and densities is learned then.
    options
        Further options of `learn.structure`, such as `{"time_limit": 10}`.
    prior, discretizer, bins, unseen, smoothing
        Those of `NetworkClassifier`.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(3000, seed=1)
    >>> sick = BayesianNetworkClassifier().fit(frame.drop(columns="dysp"), frame["dysp"])
    >>> sorted(sick.network_.graph.markov_blanket("dysp"))
    ['bronc', 'either']
    """

    method: str = "hill-climbing"
    _: KW_ONLY
    structure_score: str | Score | None = None
    knowledge: Knowledge | None = None
    graph: GraphLike[DAG] | None = None
    options: Mapping[str, Any] | None = None

    def _graph(self, table: Table, target: str) -> DAG:
        if self.graph is None:
            options = dict(self.options or {})
            return learn_structure(table, self.method, self.structure_score, self.knowledge, **options).graph
        graph = read_dag(self.graph)
        if target not in graph.nodes:
            raise InvalidArgument(f"The graph has no node {target!r}, as the class is called: name it so, or name y.")
        return graph
