"""The classifiers among those of scikit-learn: its own checks, pipelines, cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from plausible.errors import InvalidArgument
from plausible.learn.classifiers.kinds import (
    BayesianNetworkClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)

pytest.importorskip("sklearn", reason="scikit-learn, whose checks these are, is not a dependency")

KINDS = [
    pytest.param(NaiveBayesClassifier(), marks=pytest.mark.slow),
    NaiveBayesClassifier(discretizer="mdl"),
    pytest.param(TANClassifier(), marks=pytest.mark.slow),
    KDBClassifier(k=1, discretizer="k-means"),
    pytest.param(KDBClassifier(k=1), marks=pytest.mark.slow),
    BayesianNetworkClassifier(options={"escapes": 0, "max_steps": 2}),
]


@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn on purpose
@pytest.mark.parametrize("estimator", KINDS, ids=repr)
def test_the_checks_of_scikit_learn_are_passed(estimator):
    """All that apply."""
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) > 30


def test_clones_pipelines_and_searches_work():
    """A grid search over a parameter within a pipeline."""
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    X = rng.normal(size=(90, 3)) + 2 * y[:, None]
    assert is_classifier(KDBClassifier())
    assert clone(KDBClassifier(k=3)).k == 3
    search = GridSearchCV(make_pipeline(StandardScaler(), KDBClassifier()), {"kdbclassifier__k": [0, 1]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9


def test_a_y_of_one_column_is_taken_with_the_warning_of_scikit_learn():
    """From a frame with the name of its column; y of several columns stay an error."""
    from sklearn.exceptions import DataConversionWarning

    X, y = pd.DataFrame({"x": [0, 1, 0, 1]}), pd.DataFrame({"kind": ["a", "b", "a", "b"]})
    with pytest.warns(DataConversionWarning, match=r"give y.ravel\(\)"):
        found = NaiveBayesClassifier().fit(X, y)
    assert found.predict(X).tolist() == ["a", "b", "a", "b"]
    assert "kind" in found.network_.variables
    with pytest.raises(InvalidArgument, match=r"the shape \(4, 2\)"):
        NaiveBayesClassifier().fit(X, np.zeros((4, 2)))


def test_the_error_before_fitting_is_that_of_scikit_learn_too():
    """Code that catches theirs catches ours."""
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        NaiveBayesClassifier().predict([[1.0]])
