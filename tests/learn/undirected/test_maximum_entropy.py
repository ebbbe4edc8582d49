"""Distributions of the largest entropy from published means."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import plausible as pb


def entropy(table):
    """H in natural logarithms."""
    kept = table[table > 0]
    return float(-(kept * np.log(kept)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_no_other_distribution_with_these_means_has_more_entropy(seed):
    """A general constrained optimiser over the joint table finds the same distribution."""
    rng = np.random.default_rng(seed)
    shape = (2, 3, 2)
    variables = dict(zip("ABC", shape, strict=True))
    tables = {f"f{i}": rng.normal(size=(3, 2)) for i in range(2)} | {"g": rng.normal(size=(2, 2))}
    truth = rng.dirichlet(np.ones(12)).reshape(shape)
    features = [pb.Feature(["B", "C"], tables["f0"], "f0"), pb.Feature(["B", "C"], tables["f1"], "f1")]
    features.append(pb.Feature(["A", "C"], tables["g"], "g"))
    pairs = [truth.sum(axis=0), truth.sum(axis=0), truth.sum(axis=1)]
    means = {f: float((f.function * pair).sum()) for f, pair in zip(features, pairs, strict=True)}
    fit = pb.learn.maximum_entropy(variables, means)
    found = fit.network.joint().reorder(["A", "B", "C"]).values
    lifted = [
        np.broadcast_to(tables["f0"], shape),
        np.broadcast_to(tables["f1"], shape),
        np.broadcast_to(tables["g"][:, None, :], shape),
    ]
    wanted = list(means.values())
    assert [float((f * found).sum()) for f in lifted] == pytest.approx(wanted, abs=1e-7)
    limits = [{"type": "eq", "fun": lambda q: q.sum() - 1}]
    limits += [
        {"type": "eq", "fun": lambda q, f=f, c=c: (f.ravel() * q).sum() - c}
        for f, c in zip(lifted, wanted, strict=True)
    ]
    other = minimize(
        lambda q: (q * np.log(np.maximum(q, 1e-300))).sum(),
        np.full(12, 1 / 12),
        bounds=[(1e-12, 1)] * 12,
        constraints=limits,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert entropy(found) >= -other.fun - 1e-6
    assert fit.log_likelihood == pytest.approx(-entropy(found), abs=1e-6)
    assert abs(fit.duality_gap) < 1e-6


def test_marginals_of_a_table_are_met_as_by_rows():
    """Published marginals give the same distribution as the rows that they come from."""
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (70, 3)), columns=list("ABC"))
    means = {
        pair: pd.crosstab(frame[pair[0]], frame[pair[1]], normalize=True).to_numpy()
        for pair in (("A", "B"), ("B", "C"), ("A", "C"))
    }
    fit = pb.learn.maximum_entropy({"A": 2, "B": 2, "C": 2}, means)
    rows = pb.learn.markov([["A", "B"], ["B", "C"], ["A", "C"]], frame, tolerance=1e-9)
    assert fit.network.is_close(rows.network, 1e-5)


def test_means_that_contradict_each_other_are_named():
    """P(A) and P(A, B) that do not agree; a mean outside of its range; far more variables than can be listed."""
    with pytest.raises(pb.errors.ModelContradicted, match="A=1"):
        pb.learn.maximum_entropy({"A": 2, "B": 2}, {("A",): [0.5, 0.5], ("A", "B"): [[0.1, 0.1], [0.7, 0.1]]})
    high = pb.Feature(["A"], lambda a: a, name="high")
    with pytest.raises(pb.errors.ModelContradicted, match=r"'high' 1\.2"):
        pb.learn.maximum_entropy({"A": 2}, {high: 1.2})
    many = {f"V{i}": 2 for i in range(30)}
    pairs = {(f"V{i}", f"V{i + 1}"): [[0.4, 0.1], [0.1, 0.4]] for i in range(29)}
    assert pb.learn.maximum_entropy(many, pairs).converged
    with pytest.raises(pb.errors.ModelContradicted):
        pb.learn.maximum_entropy(many, {**pairs, ("V7",): [0.9, 0.1]})


def test_slack_meets_what_it_can():
    """|E[f] - c| is at most the slack, and the entropy the largest under that."""
    high = pb.Feature(["A"], lambda a: a, name="high")
    fit = pb.learn.maximum_entropy({"A": 2, "B": 2}, {high: 0.9}, slack=0.25)
    assert fit.network.query("A").values[1] == pytest.approx(0.65, abs=1e-6)
    loose = pb.learn.maximum_entropy({"A": 2, "B": 2}, {high: 0.6}, slack=0.25)
    assert loose.network.query("A").values[1] == pytest.approx(0.5, abs=1e-9)
    both = pb.learn.maximum_entropy({"A": 2}, {high: 0.9, ("A",): [0.5, 0.5]}, slack=0.2)
    assert both.network.query("A").values[1] == pytest.approx(0.7, abs=1e-4)


def test_a_published_zero_stays_zero():
    """A marginal with a zero is met exactly."""
    fit = pb.learn.maximum_entropy({"A": 2, "B": 2}, {("A", "B"): [[0.5, 0.0], [0.2, 0.3]]})
    assert fit.network.query(["A", "B"]).values == pytest.approx(np.array([[0.5, 0.0], [0.2, 0.3]]), abs=1e-7)


@pytest.mark.parametrize(
    ("means", "text"),
    [
        ({("A",): [0.5, 0.2]}, "add up to 0.7"),
        ({("A",): [0.5, 0.2, 0.3]}, "2 weights"),
        ({("Z",): [0.5, 0.5]}, "'Z'"),
        ({pb.Feature(["A"], lambda a: a, "x"): float("nan")}, "not a finite"),
    ],
)
def test_mistakes_are_named(means, text):
    """Wrong sums, sizes, names and numbers."""
    with pytest.raises(pb.PlausibleError, match=text):
        pb.learn.maximum_entropy({"A": 2}, means)


def test_published_marginals_are_met_by_proportional_fitting():
    """The same distribution as by ascent, zeros kept; marginals that contradict each other are named, too."""
    joint = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(2, 3, 2)
    joint[0, 0] = 0.0
    joint /= joint.sum()
    means = {("A", "B"): joint.sum(axis=2), ("B", "C"): joint.sum(axis=0), ("A", "C"): joint.sum(axis=1)}
    fits = [
        pb.learn.maximum_entropy({"A": 2, "B": 3, "C": 2}, means, optimizer=how, tolerance=1e-10)
        for how in (None, "ipf")
    ]
    tables = [fit.network.query(["A", "B", "C"]).values for fit in fits]
    assert np.allclose(*tables, atol=1e-7)
    assert np.allclose(tables[1].sum(axis=2), means["A", "B"], atol=1e-9)
    wrong = {("A", "B"): [[0.5, 0.0], [0.0, 0.5]], ("B", "C"): [[0.5, 0], [0, 0.5]], ("A", "C"): [[0, 0.5], [0.5, 0]]}
    with pytest.raises(pb.errors.ModelContradicted):
        pb.learn.maximum_entropy({"A": 2, "B": 2, "C": 2}, wrong, optimizer="ipf", max_steps=20)


def test_proportional_fitting_of_a_large_clique_equals_that_of_the_joint_table():
    """All pairs of six variables, in groups that share a pass, against a loop over the whole table."""
    joint = np.random.default_rng(2).gamma(1.0, size=(4,) * 6) + 0.05
    joint[0, :, 1] = 0.0
    joint /= joint.sum()
    others = {
        pair: tuple(axis for axis in range(6) if axis not in pair) for pair in itertools.combinations(range(6), 2)
    }
    fitted = np.full(joint.shape, 1 / joint.size)
    for _ in range(60):
        for axes in others.values():
            sums = fitted.sum(axis=axes, keepdims=True)
            fitted *= np.divide(joint.sum(axis=axes, keepdims=True), sums, out=np.zeros_like(sums), where=sums > 0)
    means = {(f"V{i}", f"V{j}"): joint.sum(axis=axes) for (i, j), axes in others.items()}
    fit = pb.learn.maximum_entropy({f"V{i}": 4 for i in range(6)}, means, optimizer="ipf", tolerance=1e-10)
    table = fit.network.query([f"V{i}" for i in range(6)]).values
    assert np.allclose(table, fitted, atol=1e-8)


@pytest.mark.parametrize("optimizer", [None, "ipf"])
def test_means_at_their_ends_make_infinite_weights(optimizer):
    """What never is, and what always is, have no finite weight: the network has their limit."""
    states = {"A": ["no", "yes"], "B": ["no", "yes"]}
    tables = {("A", "B"): [[0.25, 0.5], [0.25, 0.0]]}
    fit = pb.learn.maximum_entropy(states, tables, optimizer=optimizer)
    assert fit.infinite == {"A=yes, B=yes": -math.inf}
    assert fit.network.query(["A", "B"]).values == pytest.approx(np.array([[0.25, 0.5], [0.25, 0.0]]), abs=1e-7)
    always = pb.Feature(["A"], lambda a: 2.5 * (a == "yes"), name="always")
    sure = pb.learn.maximum_entropy(states, {always: 2.5})
    assert sure.infinite == {"always": math.inf}
    assert sure.network.query("A").values == pytest.approx([0, 1])
