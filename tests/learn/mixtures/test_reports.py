"""Profiles, predictions and comparisons, against enumeration, exact inference and formulas of others."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

from mixture_oracle import log_joint, random_columns
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.comparison import compare_clusterings, compare_mixtures
from plausible.learn.mixtures.reports import (
    cluster_profiles,
    feature_information,
    irrelevant_features,
    item_probabilities,
    predict_feature,
)
from refusals import refuses


@pytest.fixture(scope="module")
def mixed():
    """A mixture of both kinds of features, and its rows."""
    columns = random_columns(np.random.default_rng(1), 80, 3, 2, 0.25)
    return MixtureClustering(3).fit(columns), columns


def test_a_feature_is_predicted_from_all_others_as_the_network_does(mixed):
    """States by exact inference in the network; numbers by Σ_k P(k | others) E[x | k, others], row by row."""
    found, columns = mixed
    others = {name: column for name, column in columns.items() if name != "d0"}
    engine = found.to_network().compile()
    np.testing.assert_allclose(predict_feature(found, columns, "d0"), engine.predict_proba(others, "d0"), atol=1e-9)
    hidden = {**columns, "x1": np.full(80, np.nan)}
    joint = log_joint(found, hidden)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    X = np.column_stack([hidden[f"x{j}"] for j in range(3)])
    expected = np.zeros(80)
    for row, x in enumerate(X):
        known = ~np.isnan(x)
        for k, (mean, matrix) in enumerate(zip(found.means_, found.covariances_, strict=True)):
            gain = matrix[1, known] @ np.linalg.inv(matrix[np.ix_(known, known)])
            expected[row] += shares[row, k] * (mean[1] + gain @ (x - mean)[known])
    np.testing.assert_allclose(predict_feature(found, columns, "x1")[:, 0], expected, atol=1e-8)


def test_item_probabilities_are_ratios_of_enumerated_joints():
    """P(item | S) = P(item, S) / P(S), all baskets enumerated; also with all other items known to be absent."""
    rng = np.random.default_rng(2)
    rows = (rng.random((60, 4)) < np.where(rng.random((60, 1)) < 0.5, 0.8, 0.2)).astype(int)
    shop = MixtureClustering(2).fit({name: rows[:, i].tolist() for i, name in enumerate("abcd")})
    baskets = np.array(list(np.ndindex(2, 2, 2, 2)))
    chance = np.exp(shop.score_samples({name: baskets[:, i].tolist() for i, name in enumerate("abcd")}))
    assert chance.sum() == pytest.approx(1)
    has_a = baskets[:, 0] == 1
    found = item_probabilities(shop, ["a"])
    assert sorted(found.values(), reverse=True) == list(found.values())
    for i, name in enumerate("abcd"):
        if name != "a":
            assert found[name] == pytest.approx(chance[has_a & (baskets[:, i] == 1)].sum() / chance[has_a].sum())
    only = has_a & (baskets[:, 2] == 0) & (baskets[:, 3] == 0)
    expected = chance[only & (baskets[:, 1] == 1)].sum() / chance[only].sum()
    assert item_probabilities(shop, ["a"], are_others_absent=True)["b"] == pytest.approx(expected)


def test_profiles_name_what_sets_clusters_apart_and_noise_is_irrelevant():
    """The feature that follows the cluster comes first; independent columns of either kind tell nothing."""
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 2, 400)
    columns = {
        "sign": np.where(hidden, "up", "down").tolist(),
        "noise": rng.integers(0, 2, 400).tolist(),
        "x": hidden * 20.0 + rng.normal(size=400),
        "y": rng.normal(size=400),
    }
    found = MixtureClustering(2, covariance="diagonal").fit(columns)
    for profile in cluster_profiles(found, top=2):
        assert {feature.name for feature in profile.features} == {"sign", "x"}
        assert f"cluster {profile.cluster}" in str(profile)
    assert sum(profile.weight for profile in cluster_profiles(found)) == pytest.approx(1)
    assert sorted(irrelevant_features(found, columns)) == ["noise", "y"]
    information = feature_information(found)
    joint = found.weights_[:, None] * found.tables_["noise"]
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    assert information["noise"] == pytest.approx((joint * np.log(joint / product)).sum(), abs=1e-12)


def test_the_adjusted_rand_index_is_that_of_counted_pairs():
    """Pairs together in both, against what is expected; and the agreement is the best over all renamings."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        one, two = rng.integers(0, 3, 15), rng.integers(0, 3, 15)
        pairs = list(combinations(range(15), 2))
        first = np.array([one[i] == one[j] for i, j in pairs])
        second = np.array([two[i] == two[j] for i, j in pairs])
        chance = first.sum() * second.sum() / len(pairs)
        expected = ((first & second).sum() - chance) / ((first.sum() + second.sum()) / 2 - chance)
        found = compare_clusterings(one, two)
        assert found.adjusted_rand == pytest.approx(expected)
        best = max(np.mean(np.array(order)[one] == two) for order in permutations(range(3)))
        assert found.agreement == pytest.approx(best)
    assert compare_clusterings([0, 0], [1, 1]).adjusted_rand == 1.0
    refuses(InvalidArgument, "shapes", compare_clusterings, [0], [0, 1])


def test_renamed_clusters_are_the_same_mixture(mixed):
    """The likelihood does not change, the clusters are found again, and the distances are zero."""
    found, columns = mixed
    start = found.predict_proba(columns)
    options = {"tolerance": 0, "max_steps": 5}
    one = MixtureClustering(3, start=start, **options).fit(columns)
    two = MixtureClustering(3, start=start[:, [2, 0, 1]], **options).fit(columns)
    assert one.log_likelihood_ == pytest.approx(two.log_likelihood_)
    compared = compare_mixtures(one, two)
    assert compared.order == (1, 2, 0)
    np.testing.assert_allclose(compared.distances, 0, atol=1e-4)
    np.testing.assert_allclose(compared.weight_differences, 0, atol=1e-9)
    assert compare_clusterings(one.labels_, two.labels_).matching == {0: 1, 1: 2, 2: 0}


def test_the_distance_of_two_gaussians_is_that_of_the_integral():
    """H² = 1 - ∫ √(p q), by the trapezoid rule."""
    one, two = (MixtureClustering(1).fit([[a], [b]]) for a, b in ((0.0, 2.0), (1.0, 6.0)))
    x = np.linspace(-40, 40, 20001)[:, None]
    product = np.sqrt(np.exp(one.score_samples(x) + two.score_samples(x)))
    assert compare_mixtures(one, two).distances[0] == pytest.approx(np.sqrt(1 - product.sum() * (x[1, 0] - x[0, 0])))


def test_wrong_names_are_told(mixed):
    """Unknown features; numbers are no items; other features can't be compared."""
    found, columns = mixed
    refuses(UnknownVariable, "'d9'", predict_feature, found, columns, "d9")
    refuses(InvalidArgument, "is no item", item_probabilities, found, ["d0"])
    refuses(InvalidArgument, "different features", compare_mixtures, found, MixtureClustering(1).fit([[0.0]]))


def test_a_table_in_place_of_a_number_is_named_by_its_kind(mixed):
    """Not printed: it may be long."""
    fitted, columns = mixed
    with pytest.raises(InvalidArgument, match=r"^top=<DataFrame> must be a whole number"):
        cluster_profiles(fitted, pd.DataFrame({"a": [1, 2]}))
    refuses(InvalidArgument, r"^n_clusters=0 must be a whole number above zero", MixtureClustering(0).fit, columns)
