"""The number of clusters: criteria by their formulas, and the number that made the data."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from mixture_oracle import log_joint, random_columns
from plausible.errors import InvalidArgument
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.comparison import choose_clusters
from plausible.learn.mixtures.model import COVARIANCES, MixturePrior
from refusals import refuses


@pytest.mark.parametrize("criterion", ["bic", "icl", "holdout"])
def test_separated_clusters_are_counted_right(criterion):
    """Three clusters far apart, some cells missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2)) + 12.0 * (np.arange(240) % 3)[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    found = choose_clusters(X, range(1, 5), criterion, folds=3, covariance="diagonal")
    assert found.best == 3
    assert found.best in found.close
    assert found.clustering.n_clusters == 3
    assert str(found).count("\n") == 4


def test_penalised_criteria_are_their_formulas():
    """From the likelihood, the parameters and the shares, counted here."""
    columns = random_columns(np.random.default_rng(1), 60, 2, 1, 0.2)
    values = {name: choose_clusters(columns, [2], name).scores[0] for name in ("bic", "aic", "icl")}
    found = MixtureClustering(2).fit(columns)
    free = 1 + 2 * (2 + 2 + 3)
    joint = log_joint(found, columns)
    totals = np.logaddexp.reduce(joint, axis=1)
    logs = joint - totals[:, None]
    bic = totals.sum() - free / 2 * math.log(60)
    assert values["aic"].num_parameters == free
    assert values["aic"].value == pytest.approx(totals.sum() - free)
    assert values["bic"].value == pytest.approx(bic)
    assert values["icl"].value == pytest.approx(bic + (np.exp(logs) * logs).sum())


def test_cheeseman_stutz_with_one_cluster_is_the_marginal_likelihood():
    """Nothing is hidden then: the integral over tables is the chain of predictions of one row after another."""
    columns = {"a": ["x", "y", "x", "x"], "b": [0, 1, 2, 0]}
    found = choose_clusters(columns, [1], "cheeseman-stutz", prior=0.5).scores[0].value
    exact = 0.0
    for column, states in (("a", ["x", "y"]), ("b", [0, 1, 2])):
        counts = dict.fromkeys(states, 1.5)
        for value in columns[column]:
            exact += math.log(counts[value] / sum(counts.values()))
            counts[value] += 1
    assert found == pytest.approx(exact)


def test_cheeseman_stutz_is_near_the_enumerated_marginal_likelihood():
    """Two clusters, eight rows: all completions summed; the approximation takes one mode of two, so log 2 apart."""
    rows = [(0, 0), (0, 0), (0, 0), (0, 0), (1, 1), (1, 1), (1, 1), (1, 1)]
    logs = []
    for classes in product(range(2), repeat=8):
        value, sizes, cells = 0.0, [2.0, 2.0], np.full((2, 2, 2), 2.0)
        for k, row in zip(classes, rows, strict=True):
            value += math.log(sizes[k] / sum(sizes))
            sizes[k] += 1
            for i, x in enumerate(row):
                value += math.log(cells[k, i, x] / cells[k, i].sum())
                cells[k, i, x] += 1
        logs.append(value)
    exact = np.logaddexp.reduce(logs)
    columns = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    prior = MixturePrior(weights=1.0, cells=1.0)
    found = choose_clusters(columns, [2], "cheeseman-stutz", prior=prior).scores[0].value
    assert exact - 2 < found < exact


def test_cheeseman_stutz_is_exact_where_the_clusters_are_certain():
    """Forty columns tell 4 rows from 6: P(rows, clusters) is a chain of predictions, of clusters and of cells."""
    columns = {f"c{place}": [0] * 4 + [1] * 6 for place in range(40)}
    found = choose_clusters(columns, [2], "cheeseman-stutz", prior=MixturePrior(weights=1.0, cells=0.5)).scores[0].value

    def chain(counts, pseudo_count):
        logs = [math.lgamma(pseudo_count + count) - math.lgamma(pseudo_count) for count in counts]
        return sum(logs) + math.lgamma(2 * pseudo_count) - math.lgamma(2 * pseudo_count + sum(counts))

    assert found == pytest.approx(chain([4, 6], 2.0) + 40 * (chain([4, 0], 1.5) + chain([0, 6], 1.5)), rel=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_free_parameters_are_counted(covariance):
    """K = 2, three numbers: means, variances, and one weight."""
    X = np.random.default_rng(2).normal(size=(30, 3))
    variances = {"full": 12, "tied": 6, "diagonal": 6, "spherical": 2, "unit": 0}[covariance]
    assert MixtureClustering(2, covariance=covariance).fit(X).num_parameters_ == 1 + 6 + variances


def test_ties_go_to_fewer_clusters_and_wrong_requests_are_told():
    """Rows without any difference: all numbers are equally likely; the least is taken."""
    found = choose_clusters({"d": ["a"] * 6}, [3, 1, 2], "holdout", folds=2)
    assert (found.best, found.close) == (1, (1, 2, 3))
    refuses(InvalidArgument, "criterion", choose_clusters, [[0.0]], [1], "bicc")
    refuses(InvalidArgument, "discrete", choose_clusters, [[0.0]], [1], "cheeseman-stutz")
    refuses(InvalidArgument, "folds", choose_clusters, [[0.0]], [1], "holdout")
    refuses(InvalidArgument, "no number", choose_clusters, [[0.0]], [])
