"""The estimator among those of scikit-learn, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownState, UnknownVariable
from plausible.learn.classifiers.estimator import NotFitted
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.model import MixturePrior
from refusals import refuses


@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn on purpose
@pytest.mark.parametrize(
    "estimator",
    [
        MixtureClustering(),
        MixtureClustering.k_means(),
        pytest.param(MixtureClustering(covariance="diagonal"), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_the_checks_of_scikit_learn_are_passed(estimator):
    """All that apply."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="scikit-learn is not a dependency")
    results = checks.check_estimator(estimator, on_fail=None)
    assert {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"} == {}
    assert sum(r["status"] == "passed" for r in results) > 30


def test_rows_that_cannot_happen_are_named():
    """Without a prior a state combination has probability zero; its log-likelihood is -inf."""
    found = MixtureClustering(1, prior=None).fit({"d": Table.read({"d": [1]}).codes[0] * 0})
    with pytest.raises(UnknownState):
        found.predict({"d": [7]})
    assert MixtureClustering(1, unseen="missing").fit({"d": ["a"]}).predict_proba({"d": ["z"]}).tolist() == [[1.0]]
    rows = {"d": ["a", "b"], "e": ["x", "y"]}
    apart = MixtureClustering(2, prior=None, start=[0, 1], max_steps=1).fit(rows)
    assert apart.score_samples({"d": ["a"], "e": ["y"]}).tolist() == [-np.inf]
    refuses(ImpossibleEvidence, "Row 0", apart.predict_proba, {"d": ["a"], "e": ["y"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"covariance": "ful"}, "Did you mean 'full'"),
        ({"assignment": "medium"}, "'soft' or 'hard'"),
        ({"start": "nowhere"}, "k-means"),
        ({"start": [0, 5]}, "they go from 0 to 1"),
        ({"start": np.ones((2, 2))}, "no distributions"),
        ({"restarts": -1}, "restarts=-1"),
        ({"variance_floor": 0.0}, "variance_floor"),
    ],
)
def test_wrong_options_are_named(options, message):
    """The error names what was given."""
    refuses(InvalidArgument, message, MixtureClustering(**options).fit, [[0.0], [1.0]])


def test_wrong_data_is_named():
    """Before fitting, unknown columns, infinite numbers, negative pseudo-counts."""
    with pytest.raises(NotFitted):
        MixtureClustering().predict([[0.0]])
    found = MixtureClustering(1).fit({"x": [0.0, 1.0]})
    refuses(UnknownVariable, "'y'", found.predict, {"y": [0.0]})
    refuses(InvalidArgument, "is inf: expected a finite number", MixtureClustering(1).fit, {"x": [0.0, np.inf]})
    refuses(InvalidArgument, "cells", MixturePrior, cells=-1)


def test_samples_have_the_weights_and_means_of_the_mixture():
    """Means of many rows drawn; a feature called cluster makes the class cluster_."""
    found = MixtureClustering(2, start=[0, 0, 0, 1]).fit({"cluster": [0.0, 0.1, 0.2, 50.0]})
    drawn = found.sample(4000, seed=1)
    assert drawn["cluster_"].mean() == pytest.approx(0.25, abs=0.03)
    assert drawn.groupby("cluster_")["cluster"].mean().to_numpy() == pytest.approx(found.means_.ravel(), abs=0.1)
