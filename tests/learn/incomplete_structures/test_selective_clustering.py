"""Selective clustering against lists of all graphs, and against loops over rows."""

import numpy as np
import pytest

from plausible.errors import InvalidArgument
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics
from plausible.learn.incomplete_structures.hidden_variables import learn_selective_clustering
from plausible.learn.incomplete_structures.structural_em import SEMRules, completed_scores


def two_kinds(seed, num_rows=400, missing=0.0):
    """Three columns that tell two kinds apart, one coin, and one column with one state."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, num_rows)
    columns = {name: np.where(rng.random(num_rows) < 0.9, kind, 1 - kind) for name in "abc"}
    columns |= {"coin": rng.integers(0, 3, num_rows), "same": np.zeros(num_rows, dtype=int)}
    return {name: [None if rng.random() < missing else int(c) for c in column] for name, column in columns.items()}


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_columns_that_clusters_do_not_explain_are_irrelevant_and_the_score_never_falls(score, missing):
    found = learn_selective_clustering(two_kinds(1, missing=missing), 2, score=score, restarts=2)
    assert found.relevant == ("a", "b", "c")
    assert found.irrelevant == ("coin", "same")
    assert np.diff(found.trace).min() >= -1e-7
    assert found.runs == tuple(sorted(found.runs, reverse=True))


def test_at_the_end_every_column_has_the_family_that_scores_more_on_the_completed_data():
    """2n scores of families, here by listing all completions, choose the best of all 2ⁿ graphs."""
    data = two_kinds(2, missing=0.1)
    found = learn_selective_clustering(data, 2, rules=SEMRules(em_steps=200, em_tolerance=1e-10))
    assert found.stopped_by == "converged"
    scores = completed_scores(found.network, data)
    for name in data:
        is_better = scores.family(name, ["cluster"]) > scores.family(name, [])
        assert is_better == (name in found.relevant)


def test_expected_counts_may_be_dependent_where_the_model_is_not():
    """A column without an edge that goes with a child of the cluster goes with the cluster in expectation."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 500)
    data = {"x": x, "y": np.where(rng.random(500) < 0.7, x, 1 - x), "z": np.where(rng.random(500) < 0.95, x, 1 - x)}
    net = learn_em("H -> x, H -> y, z", data, hidden={"H": 2}, restarts=2).network
    counts = ExpectedStatistics(net, data).counts("z", ["H"])
    assert abs(np.log(counts[0, 0] * counts[1, 1] / (counts[0, 1] * counts[1, 0]))) > 0.5


def test_one_cluster_explains_nothing_and_names_must_be_new():
    assert learn_selective_clustering(two_kinds(4), 1).relevant == ()
    with pytest.raises(InvalidArgument, match="'a'"):
        learn_selective_clustering(two_kinds(4), 2, name="a")
    assert learn_selective_clustering(two_kinds(4), 2, rules=SEMRules(time_limit=0.0)).stopped_by == "time limit"
