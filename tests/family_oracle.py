"""Scores of families for tests, and the best of all acyclic graphs by looking at each of them."""

import math
from functools import cache
from itertools import product

import numpy as np

from plausible.learn.scores.score import CountScore, FamilyScores


class RandomScores(FamilyScores):
    """A random number for each family, less a price for each parent."""

    def __init__(self, num, seed, price=0.3, names=None):
        self._names, self._seed, self._price = names or [f"v{place}" for place in range(num)], seed, price

    @property
    def names(self):
        return self._names

    def family(self, child, parents):
        parents = sorted(parents)
        return _random_number(self._seed, "|".join([child, *parents])) - self._price * len(parents)


@cache
def _random_number(seed, name):
    """Searches ask for the same families again and again: a generator is made once for each."""
    return float(np.random.default_rng([seed, *map(ord, name)]).normal())


class GaussianScores(FamilyScores):
    """BIC of endless data: -N/2 ln Var(X | U) - |U|/2 ln N, from a covariance matrix."""

    def __init__(self, covariance, total=1e8):
        self._covariance, self._total = covariance, total
        self._names = [f"v{place}" for place in range(len(covariance))]

    @property
    def names(self):
        return self._names

    def family(self, child, parents):
        v, given = self._names.index(child), [self._names.index(parent) for parent in sorted(parents)]
        within, across = self._covariance[np.ix_(given, given)], self._covariance[given, v]
        variance = self._covariance[v, v] - across @ np.linalg.solve(within, across)
        return float(-self._total / 2 * np.log(variance) - len(given) / 2 * np.log(self._total))


class PricedLikelihood(CountScore):
    """The log-likelihood less a price for each parameter; ½ ln N of BIC where none is given."""

    is_score_equivalent = True

    def __init__(self, price=None):
        self._price = price

    def of_counts(self, counts, total):
        price = 0.5 * math.log(total) if self._price is None else self._price
        ratios = np.where(counts > 0, counts / np.maximum(counts.sum(axis=2, keepdims=True), 1e-300), 1.0)
        return (counts * np.log(ratios)).sum(axis=(1, 2)) - price * counts.shape[1] * (counts.shape[2] - 1)


class UniformDirichlet(CountScore):
    """ln P(D | G) by predictive probabilities, one row of data after the other; BDeu for a given total."""

    is_score_equivalent = True

    def __init__(self, total):
        self._total = total

    def of_counts(self, counts, total):
        num, rows, states = counts.shape
        pseudo = self._total / rows / states
        scores = np.zeros(num)
        for family in range(num):
            for row in counts[family]:
                seen = 0
                for count in row:
                    for number in range(int(count)):
                        scores[family] += math.log((pseudo + number) / (pseudo * states + seen))
                        seen += 1
        return scores


@cache
def all_families(num):
    """The parents of each node as bits, for all acyclic graphs: an array with a row for each graph."""
    choices = [[mask for mask in range(1 << num) if not mask >> v & 1] for v in range(num)]
    graphs = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, num)
    left = np.full(len(graphs), (1 << num) - 1)
    for _ in range(num):  # take out all nodes without parents, again and again
        for v in range(num):
            left = np.where(graphs[:, v] & left == 0, left & ~(1 << v), left)
    return graphs[left == 0]


def best_score(scores, agrees=lambda families: True):
    """The largest score of all acyclic graphs that a predicate on parents (tuples of names) lets pass."""
    names = scores.names
    table = np.full((len(names), 1 << len(names)), -np.inf)
    for v, mask in product(range(len(names)), range(1 << len(names))):
        parents = [name for place, name in enumerate(names) if mask >> place & 1]
        if not mask >> v & 1 and agrees({names[v]: parents}):
            table[v, mask] = scores.family(names[v], parents)
    return float(sum(table[v][all_families(len(names))[:, v]] for v in range(len(names))).max())


def random_frame(num, rows, seed, num_states=2):
    """Rows of a random network in which each variable is the largest of up to two before it, but for noise."""
    rng = np.random.default_rng(seed)
    columns = []
    for v in range(num):
        parents = rng.permutation(v)[: min(v, 2)]
        signal = np.max([columns[p] for p in parents], axis=0) if v else rng.integers(0, num_states, rows)
        columns.append(np.where(rng.random(rows) < 0.25, rng.integers(0, num_states, rows), signal))
    return {f"v{v}": column for v, column in enumerate(columns)}


def random_covariance(dag, rng):
    """The covariance of a linear model with random coefficients along a graph on v0, v1, ..."""
    num = len(dag.nodes)
    weights = np.zeros((num, num))
    for a, b in dag.edges:
        weights[int(a[1:]), int(b[1:])] = rng.uniform(0.5, 1.5) * rng.choice([-1, 1])
    inverse = np.linalg.inv(np.eye(num) - weights)
    return inverse.T @ np.diag(rng.uniform(0.5, 1.5, num)) @ inverse
