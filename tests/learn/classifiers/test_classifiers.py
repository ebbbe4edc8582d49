"""Bayesian networks as classifiers."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownState, UnknownVariable
from plausible.learn.classifiers.classifier import IncompleteRows, UnseenStates
from plausible.learn.classifiers.estimator import NotFitted
from plausible.learn.classifiers.kinds import (
    BayesianNetworkClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)
from refusals import refuses

KINDS = [
    NaiveBayesClassifier(),
    TANClassifier(),
    KDBClassifier(k=2),
    BayesianNetworkClassifier(),
    BayesianNetworkClassifier(graph="class -> A -> B; C -> class -> B; D"),
]


def discrete_rows(num_rows=150, seed=0):
    """Four features with two or three states, which depend on the class and on each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, num_rows)
    a = (y + (rng.random(num_rows) < 0.3)) % 3
    b = (a + y + (rng.random(num_rows) < 0.2)) % 2
    c = rng.integers(0, 2, num_rows)
    d = (a + c + (rng.random(num_rows) < 0.1)) % 2
    return pd.DataFrame({"A": a, "B": b, "C": c, "D": d}), np.array(["u", "v", "w"])[y]


@pytest.mark.parametrize("classifier", KINDS, ids=repr)
def test_probabilities_are_those_of_the_joint_with_missing_cells_summed_out(classifier):
    """Against the sum over the whole joint, for complete rows, for gaps, and for a row of nothing."""
    X, y = discrete_rows()
    classifier.fit(X, y)
    joint = classifier.network_.joint()
    rows = [dict(zip("ABCD", row, strict=True)) for row in product([0, 2, None], [1, None], [0, None], [1, None])]
    found = classifier.predict_proba(pd.DataFrame(rows, dtype=object))
    for row, probabilities in zip(rows, found, strict=True):
        evidence = {
            name: state for name, state in row.items() if state is not None and name in classifier.network_.graph
        }
        expected = joint.reduce(evidence).marginal("class").values
        assert probabilities == pytest.approx(expected / expected.sum())
    assert classifier.classes_.tolist() == ["u", "v", "w"]
    assert (classifier.predict(X) == classifier.classes_[classifier.predict_proba(X).argmax(axis=1)]).all()
    assert classifier.score(X, y) == np.mean(classifier.predict(X) == y)


def test_naive_bayes_is_the_product_of_smoothed_frequencies():
    """P(c | x) ∝ (N_c + 1) Π (N_xc + 1) / (N_c + states)."""
    X, y = discrete_rows()
    found = NaiveBayesClassifier().fit(X, y).predict_proba(X[:20])
    for row, probabilities in zip(X[:20].to_dict("records"), found, strict=True):
        terms = []
        for c in "uvw":
            mine = X[y == c]
            terms.append(
                (len(mine) + 1)
                * math.prod((sum(mine[f] == v) + 1) / (len(mine) + X[f].nunique()) for f, v in row.items())
            )
        assert probabilities == pytest.approx(np.array(terms) / sum(terms))


def test_gaussian_naive_bayes_is_the_product_of_densities_however_small():
    """Far away from all classes the nearest variance wins, without a product that vanishes."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3)) * (1 + y[:, None]) + y[:, None]
    classifier = NaiveBayesClassifier(smoothing=0).fit(X, y)
    rows = np.vstack([X[:10], [[1e4, -1e5, 3.0]]])
    logs = np.log([(sum(y == c) + 1) / 202 for c in (0, 1)]) + np.zeros((11, 1))
    for c in (0, 1):
        mean, variance = X[y == c].mean(axis=0), X[y == c].var(axis=0)
        logs[:, c] += (-0.5 * np.log(2 * np.pi * variance) - (rows - mean) ** 2 / (2 * variance)).sum(axis=1)
    expected = np.exp(logs - np.logaddexp(logs[:, :1], logs[:, 1:]))
    assert classifier.predict_proba(rows) == pytest.approx(expected)
    gaps = rows.copy()
    gaps[:, 1] = np.nan
    without = NaiveBayesClassifier(smoothing=0).fit(X[:, [0, 2]], y)
    assert classifier.predict_proba(gaps[:10]) == pytest.approx(without.predict_proba(rows[:10, [0, 2]]))


def conditional_information(x, y, c):
    """I(X; Y | C) of three columns of small whole numbers, by their joint frequencies."""
    joint = np.zeros((3, 3, 3))
    np.add.at(joint, (x, y, c), 1 / len(x))
    total = 0.0
    for i, j, k in np.argwhere(joint > 0):
        total += joint[i, j, k] * np.log(
            joint[i, j, k] * joint[:, :, k].sum() / (joint[i, :, k].sum() * joint[:, j, k].sum())
        )
    return total


def test_tan_and_k_dependences_are_those_of_their_definitions():
    """The best of all trees by I(X; Y | C); parents by I(X; C), then I(X; Y | C)."""
    X, y = discrete_rows(400, 5)
    c = np.searchsorted(["u", "v", "w"], y)
    columns, names = X.to_numpy().T, list(X.columns)
    weight = {frozenset((i, j)): conditional_information(columns[i], columns[j], c) for i in range(4) for j in range(i)}
    trees = [(p, q, r) for p in range(1) for q in range(2) for r in range(3)]  # parents of 1, 2, 3 in some labelling
    best = max(
        sum(weight[frozenset((order[child], order[parent]))] for child, parent in enumerate(tree, start=1))
        for order in np.array(np.meshgrid(*[range(4)] * 4)).reshape(4, -1).T.tolist()
        if len(set(order)) == 4
        for tree in trees
    )
    graph = TANClassifier().fit(X, y).network_.graph
    edges = [(names.index(p), names.index(q)) for p, q in graph.edges if p != "class"]
    assert sum(weight[frozenset(edge)] for edge in edges) == pytest.approx(best)
    assert len(edges) == 3
    relevance = [conditional_information(column, c, np.zeros_like(c)) for column in columns]
    order = sorted(range(4), key=lambda i: -relevance[i])
    graph = KDBClassifier(k=2).fit(X, y).network_.graph
    for place, child in enumerate(order):
        chosen = sorted(order[:place], key=lambda i: -weight[frozenset((i, child))])[:2]
        assert set(graph.parents(names[child])) == {"class", *(names[i] for i in chosen)}
    assert KDBClassifier(k=0).fit(X, y).network_ == NaiveBayesClassifier().fit(X, y).network_


@pytest.mark.parametrize("classifier", KINDS, ids=repr)
def test_the_order_of_rows_and_columns_is_of_no_consequence(classifier):
    """Nor does a weight differ from rows that repeat."""
    X, y = discrete_rows()
    first = classifier.fit(X, y).predict_proba(X)
    order = np.random.default_rng(0).permutation(len(X))
    classifier.fit(X[["D", "B", "A", "C"]].iloc[order], y[order])
    assert classifier.predict_proba(X) == pytest.approx(first)
    weighted = classifier.fit(X, y, sample_weight=np.full(len(X), 2)).predict_proba(X)
    assert weighted == pytest.approx(classifier.fit(pd.concat([X, X]), np.tile(y, 2)).predict_proba(X))


def test_mixed_features_and_discretised_ones_work_together():
    """Numbers and states at once; cuts by the class find the threshold that Gaussians can't."""
    rng = np.random.default_rng(4)
    x, state = rng.uniform(-1, 1, 400), rng.choice(["p", "q"], 400)
    y = np.where((np.abs(x) < 0.5) ^ (state == "p"), "yes", "no")
    X = pd.DataFrame({"x": x, "state": state})
    cut = BayesianNetworkClassifier(graph="class -> x; state -> x; class; state", discretizer="mdl")
    climbed = BayesianNetworkClassifier(options={"escapes": 0})
    for classifier in (TANClassifier(), KDBClassifier(), climbed, cut):
        assert classifier.fit(X, y).predict_proba(X).sum(axis=1) == pytest.approx(1)
    kdb = KDBClassifier(discretizer="equal-width", bins=8).fit(X, y)
    assert kdb.score(X, y) > 0.95
    assert set(kdb.discretizer_) == {"x"}
    assert kdb.predict_proba({"x": [None, 100.0], "state": ["p", None]}).sum(axis=1) == pytest.approx(1)


def test_degenerate_data_is_no_crash():
    """One class; a constant feature; a feature that is constant in a class; one row."""
    X = pd.DataFrame({"a": [1.5, 1.5, 2.5, 3.5], "b": [0.5] * 4, "c": ["z"] * 4})
    for kind in (NaiveBayesClassifier, KDBClassifier):
        assert kind().fit(X, ["u"] * 4).predict_proba(X).tolist() == [[1.0]] * 4
        assert kind().fit(X, ["u", "u", "v", "v"]).predict(X).tolist() == ["u", "u", "v", "v"]
    with pytest.warns(pb.PlausibleWarning, match="one row"):
        one = NaiveBayesClassifier().fit([["k"]], ["u"])
    assert one.predict([["k"]]).tolist() == ["u"]


def test_the_class_is_called_as_its_column_and_never_as_a_feature():
    """A leak of the class into the features is refused."""
    frame = pb.examples.load("asia").sample(200, seed=1)
    found = NaiveBayesClassifier().fit(frame.drop(columns="lung"), frame["lung"])
    assert found.class_name_ == "lung"
    refuses(InvalidArgument, "leave it out of X", NaiveBayesClassifier().fit, frame, frame["lung"])
    assert NaiveBayesClassifier().fit({"class": [0, 1]}, [0, 1]).class_name_ == "class_"


def test_unseen_states_are_missing_with_a_warning_without_one_or_an_error():
    """As asked for; the default keeps the scores of folds that lack a rare state."""
    X, y = discrete_rows()
    refuses(UnknownState, "7", NaiveBayesClassifier(unseen="error").fit(X, y).predict, {"A": [7]})
    usual = NaiveBayesClassifier().fit(X, y)
    with pytest.warns(UnseenStates, match="'A' has states .* such as 7"):
        assert usual.predict_proba({"A": [7], "B": [1]}) == pytest.approx(usual.predict_proba({"B": [1]}))
    lenient = NaiveBayesClassifier(unseen="missing").fit(X, y)
    assert lenient.predict_proba({"A": [7], "B": [1]}) == pytest.approx(lenient.predict_proba({"B": [1]}))
    refuses(UnknownVariable, "'E'", lenient.predict, {"E": [1]})


def test_rows_with_gaps_are_not_learned_from_and_impossible_ones_are_named():
    """A warning says how many; without a prior a row may be impossible."""
    X = pd.DataFrame({"a": [0.5, 1.5, None, 2.0], "b": ["p", "q", "q", "p"]})
    with pytest.warns(IncompleteRows, match="1 of 4 rows"):
        gaps = NaiveBayesClassifier().fit(X, [0, 1, 0, 1])
    whole = NaiveBayesClassifier().fit(X.drop(index=2), [0, 1, 1])
    assert gaps.network_ == whole.network_
    strict = NaiveBayesClassifier(prior=None).fit([["p", "s"], ["q", "t"]], [0, 1])
    refuses(ImpossibleEvidence, "Row 1", strict.predict, [["p", "s"], ["p", "t"]])


def test_parameters_are_kept_as_given_and_copies_are_equal():
    """get_params, set_params, repr, pickle."""
    classifier = KDBClassifier(3, prior=0.5)
    assert repr(classifier) == "KDBClassifier(k=3, prior=0.5)"
    assert repr(type(classifier)(**classifier.get_params())) == repr(classifier)
    assert classifier.set_params(k=1).k == 1
    refuses(InvalidArgument, "Did you mean 'prior'", classifier.set_params, priro=1)
    refuses(NotFitted, "fit", classifier.predict, [[1]])
    X, y = discrete_rows()
    copy = pickle.loads(pickle.dumps(classifier.fit(X, y)))
    assert copy.predict_proba(X).tolist() == classifier.predict_proba(X).tolist()


def test_scikit_learn_is_not_needed():
    """Fitting and predicting load nothing of it."""
    code = (
        "import sys\n"
        "from plausible.learn.classifiers.kinds import NaiveBayesClassifier as N\n"
        "try: N().predict([[1]])\n"
        "except ValueError: pass\n"
        "print(N().fit([[1], [2]], [1, 2]).predict([[2]]), 'sklearn' in sys.modules)"
    )
    environment = {**os.environ, "PLAUSIBLE_KERNELS": "interpreted"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["[2]", "False"]


@pytest.mark.parametrize("k", ["a", 1.5, -1])
def test_the_number_of_dependences_is_a_whole_number(k):
    refuses(InvalidArgument, "k is a number of parents", KDBClassifier(k=k).fit, [[0], [1]], [0, 1])


@pytest.mark.parametrize("y", [[1, "a"], np.array([1, "a"], dtype=object)], ids=["list", "array"])
def test_classes_of_different_kinds_are_refused_however_they_are_given(y):
    refuses(InvalidArgument, "mixes texts and others, such as 'a' and 1", NaiveBayesClassifier().fit, [[0], [1]], y)


def test_scoring_needs_a_class_and_a_weight_for_each_row():
    X, y = discrete_rows()
    fitted = NaiveBayesClassifier().fit(X, y)
    refuses(InvalidArgument, r"y has the shape \(1,\)", fitted.score, X, y[:1])
    refuses(InvalidArgument, r"sample_weight has the shape \(2,\)", fitted.score, X, y, [1.0, 1.0])


def test_priors_are_numbers_of_any_type_or_names():
    X, y = discrete_rows()
    usual = NaiveBayesClassifier(prior=1.0).fit(X, y).network_
    assert NaiveBayesClassifier(prior=np.int64(1)).fit(X, y).network_ == usual
    assert NaiveBayesClassifier(prior="k2").fit(X, y).network_ == usual


@pytest.mark.parametrize("kind", [NaiveBayesClassifier, TANClassifier, KDBClassifier, BayesianNetworkClassifier])
def test_the_docstring_of_each_kind_tells_all_of_its_options(kind):
    for name in kind().get_params():
        assert f"\n{name}\n    " in kind.__doc__
