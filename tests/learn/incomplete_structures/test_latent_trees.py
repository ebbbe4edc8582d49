"""Trees of hidden variables: found where rows come from one, and templates as they are drawn."""

import numpy as np
import pytest

from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument
from plausible.learn.incomplete_structures.latent_trees import (
    hierarchy_by_information,
    hierarchy_graph,
    learn_latent_tree,
    overlapping_graph,
)
from plausible.search.run import Stops


def of_two_kinds(seed, num_rows=800, missing=0.0):
    """Rows of a tree: a root, two kinds below it, three columns below each."""
    rng = np.random.default_rng(seed)

    def noisy(bits, chance):
        return np.where(rng.random(num_rows) < chance, bits, 1 - bits)

    root = rng.integers(0, 2, num_rows)
    kinds = [noisy(root, 0.8), noisy(root, 0.8)]
    columns = {f"{name}{i}": noisy(kind, 0.9) for name, kind in zip("ab", kinds, strict=True) for i in range(3)}
    return {name: [None if rng.random() < missing else int(c) for c in column] for name, column in columns.items()}


def leaves(hierarchy):
    return {hierarchy} if isinstance(hierarchy, str) else set().union(*map(leaves, hierarchy))


@pytest.mark.parametrize("seed", range(3))
def test_columns_below_one_hidden_variable_are_joined_first(seed):
    data = of_two_kinds(seed)
    found = hierarchy_by_information(TableStatistics(data))
    assert {frozenset(leaves(branch)) for branch in found} == {
        frozenset({"a0", "a1", "a2"}),
        frozenset({"b0", "b1", "b2"}),
    }
    turned = dict(reversed(data.items()))
    assert hierarchy_by_information(TableStatistics(turned)) == found


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_the_tree_that_made_the_rows_is_likelier_than_one_that_mixes_its_branches(missing):
    data = of_two_kinds(4, missing=missing)
    right = learn_latent_tree(data, [["a0", "a1", "a2"], ["b0", "b1", "b2"]], restarts=2)
    wrong = learn_latent_tree(data, [["a0", "b1", "a2"], ["b0", "a1", "b2"]], restarts=2)
    assert right.hidden == wrong.hidden == ("H1", "H2", "H3")
    assert right.best.score > wrong.best.score + 10.0
    assert right.runs == tuple(sorted(right.runs, reverse=True))


def test_the_likelihood_is_that_of_sums_over_hidden_states():
    """One hidden variable over three columns, by hand."""
    data = {name: column for name, column in of_two_kinds(5, 60).items() if name.startswith("a")}
    found = learn_latent_tree(data, ["a0", "a1", "a2"], num_states=3, restarts=0, stops=Stops(max_steps=5)).best
    prior = found.network.cpd("H1").values
    given = {name: found.network.cpd(name).values for name in data}
    total = sum(
        np.log(sum(prior[h] * np.prod([given[n][h, s] for n, s in zip(data, row, strict=True)]) for h in range(3)))
        for row in zip(*data.values(), strict=True)
    )
    assert found.log_likelihood == pytest.approx(total)


def test_templates_are_trees_and_roots_over_groups_that_share_columns():
    tree = hierarchy_graph([["a", ["b", "c"]], [["d"]]], prefix="L")
    assert set(tree.edges) == {("L1", "L2"), ("L1", "d"), ("L2", "a"), ("L2", "L3"), ("L3", "b"), ("L3", "c")}
    assert hierarchy_graph("a").edges == ()
    overlapping = overlapping_graph({"H": "ab", "K": "bc", "lone": ""})
    assert overlapping.parents("b") == ("H", "K")
    assert "lone" in overlapping.nodes


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: hierarchy_graph(["a", ["a", "b"]]), "'a' is in the hierarchy twice"),
        (lambda: overlapping_graph({"H": ["K"], "K": ["a"]}), "'K' is in the group of 'H'"),
        (lambda: learn_latent_tree({"a": [0, 1], "b": [0, 1]}, ["a", "c"]), "'b' of the data"),
        (lambda: learn_latent_tree({"a": [0, 1], "H1": [0, 1]}), "'H1'"),
    ],
)
def test_wrong_hierarchies_are_refused(call, hint):
    with pytest.raises(InvalidArgument, match=hint):
        call()


def test_a_hidden_variable_is_taken_out_where_the_score_rises():
    """Three groups of three below one root: the tree that joins two groups at a time has more hidden variables."""
    rng = np.random.default_rng(0)
    root = rng.integers(0, 2, 400)

    def noisy(bits, chance):
        return np.where(rng.random(400) < chance, bits, 1 - bits)

    kinds = {name: noisy(root, 0.85) for name in "abc"}
    data = {f"{name}{i}": noisy(kind, 0.9) for name, kind in kinds.items() for i in range(3)}
    found = learn_latent_tree(data, restarts=1)
    true = learn_latent_tree(data, [[f"{name}{i}" for i in range(3)] for name in "abc"], restarts=1)
    assert len(found.hidden) <= 4
    assert found.best.score >= true.best.score - 1e-3 * abs(true.best.score)
    assert found.hidden == tuple(f"H{i + 1}" for i in range(len(found.hidden)))
    assert found.best.score == max(found.runs)
