"""EM of emissions by distributions of any kind: columns that depend on each other, on the step before, and on gaps."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.cpds import ConditionalGaussianCPD, LogisticCPD, NoisyOr, Split, TableCPD, TreeCPD
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn import HMMPrior, hmm
from sequence_oracle import PathOracle

CHAIN = [0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]]
STATE, A, B = pb.Variable("state", 2), pb.Variable("a", ["no", "yes"]), pb.Variable("b", ["no", "maybe", "yes"])


def rows_of(rng, shape):
    return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])


def two_columns(rng):
    """b depends on a, and both on the state."""
    a, b = rows_of(rng, (2, 2)), rows_of(rng, (2, 2, 3))
    cpds = {"a": TableCPD(A, a, [STATE]), "b": TableCPD(B, b, [STATE, A])}
    return pb.HiddenMarkovModel(*CHAIN, cpds), a, b


def with_gaps(frame, rng, share=0.3):
    return frame.astype(object).mask(rng.random(frame.shape) < share)


def completions(row):
    """Positions of what the two cells of a row may be."""
    cells = [(variable, row[variable.name]) for variable in (A, B)]
    return itertools.product(
        *(range(v.num_states) if not isinstance(cell, str) else [v.index(cell)] for v, cell in cells)
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_missing_parent_is_summed_out(seed):
    """Beliefs and likelihood are those of enumeration, and of the unrolled network, wherever cells are missing."""
    rng = np.random.default_rng(seed)
    model, a, b = two_columns(rng)
    rows = with_gaps(model.sample(5, seed=seed)[["a", "b"]], rng, 0.5)
    likelihoods = [
        [sum(a[k, i] * b[k, i, j] for i, j in completions(row)) for k in range(2)] for row in rows.to_dict("records")
    ]
    oracle = PathOracle(model.initial, [model.transition] * 5, likelihoods)
    np.testing.assert_allclose(model.smooth(rows), oracle.smoothed(), atol=1e-12)
    seen = {f"{n}[{t}]": cell for n in ("a", "b") for t, cell in enumerate(rows[n]) if isinstance(cell, str)}
    assert model.log_likelihood(rows) == pytest.approx(model.unroll(5).log_probability(seen), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_one_step_is_expected_counts_of_all_completions(seed):
    """P(state | rows) times P(missing cells | state, row), summed over steps, with a prior."""
    rng = np.random.default_rng(seed)
    model, a, b = two_columns(rng)
    rows = with_gaps(model.sample(6, seed=seed)[["a", "b"]], rng, 0.4)
    joints = []
    for row in rows.to_dict("records"):
        joint = np.zeros((2, 2, 3))
        for i, j in completions(row):
            joint[:, i, j] = a[:, i] * b[:, i, j]
        joints.append(joint)
    oracle = PathOracle(model.initial, [model.transition] * 6, [joint.sum(axis=(1, 2)) for joint in joints])
    beliefs = oracle.smoothed()
    counts = sum(
        belief[:, None, None] * joint / joint.sum(axis=(1, 2), keepdims=True)
        for belief, joint, cells in zip(beliefs, joints, rows.to_numpy(), strict=True)
        if isinstance(cells[1], str)
    )
    fit = hmm(rows, start=model, prior=HMMPrior(symbols=0.5), max_steps=1)
    learned = {cpd.variable.name: cpd.values for cpd in fit.model.emission.cpds}
    np.testing.assert_allclose(learned["b"], (counts + 0.5) / (counts + 0.5).sum(axis=2, keepdims=True), atol=1e-12)
    of_a = counts.sum(axis=2) + 0.5
    for belief, cells in zip(beliefs, rows.to_numpy(), strict=True):
        if isinstance(cells[0], str) and not isinstance(cells[1], str):
            of_a[:, A.index(cells[0])] += belief
    np.testing.assert_allclose(learned["a"], of_a / of_a.sum(axis=1, keepdims=True), atol=1e-12)


def noisy_or():
    cause = TableCPD("a", [[0.8, 0.2], [0.4, 0.6]], ["state"], states=["no", "yes"])
    return [cause, NoisyOr("b", ["state", "a"], [0.7, 0.5], leak=0.1, states=["no", "yes"])], None


def tree():
    cause = TableCPD("a", [[0.8, 0.2], [0.4, 0.6]], ["state"], states=["no", "yes"])
    split = Split("state", {0: [0.9, 0.1], 1: Split("a", {"no": [0.6, 0.4], "yes": [0.2, 0.8]})})
    return [cause, TreeCPD("b", split, ["state", "a"], states=["no", "yes"])], None


def logistic():
    cause = ConditionalGaussianCPD("a", [0.0, 2.0], {}, [1.0, 2.0], ["state"])
    return [cause, LogisticCPD("b", ["state", "a"], [[0.0, 1.0], 0.8], -1.0, states=["no", "yes"])], None


def regressions():
    cause = ConditionalGaussianCPD("a", [0.0, 2.0], {}, [1.0, 2.0], ["state"])
    return [cause, ConditionalGaussianCPD("b", [0.0, 1.0], {"a": [1.0, -0.5]}, [0.5, 1.0], ["state", "a"])], None


def words_after_words():
    first = TableCPD("b", [[0.5, 0.5], [0.5, 0.5]], ["state"], states=["no", "yes"])
    table = [[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.5, 0.5]]]
    return [TableCPD("b", table, ["state", "b[-1]"], states=["no", "yes"])], first


def numbers_after_numbers():
    first = ConditionalGaussianCPD("b", [0.0, 0.0], {}, [1.0, 1.0], ["state"])
    return [ConditionalGaussianCPD("b", [0.0, 1.0], {"b[-1]": [0.9, -0.5]}, [0.2, 1.0], ["state", "b[-1]"])], first


KINDS = [noisy_or, tree, logistic, regressions, words_after_words, numbers_after_numbers]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_em_climbs_and_finds_more_than_the_truth(kind):
    """The likelihood never falls and ends above that of the model that drew the rows; states with gaps where they may
    be."""
    cpds, first = kind()
    model = pb.HiddenMarkovModel(*CHAIN, {cpd.variable.name: cpd for cpd in cpds}, first_emission=first)
    rows = model.sample(60, seed=1, sequences=4).drop(columns="state")
    columns = [cpd.variable.name for cpd in cpds]
    lost = np.random.default_rng(0).random((len(rows), len(columns))) < (0.0 if first is not None else 0.2)
    lost[:, 0] &= kind in (noisy_or, tree)  # numbers that others depend on are there
    rows[columns] = rows[columns].astype(object).mask(lost)
    rows = rows.infer_objects()
    names = {"sequence": "sequence", "time": "time"}
    fit = hmm(rows, start=model, max_steps=15, tolerance=1e-9, **names)
    steps = np.diff(fit.trace)
    assert len(steps) > 3
    assert steps.min() > -1e-9 * abs(fit.trace[0])
    assert fit.trace[-1] > fit.trace[0]
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(rows, **names), abs=1e-8)
    assert [type(cpd) for cpd in fit.model.emission.cpds] == [type(cpd) for cpd in model.emission.cpds]


def test_an_autoregression_step_is_weighted_least_squares():
    """Lines of each state by the beliefs of enumeration, of all steps but the first."""
    (later,), first = numbers_after_numbers()
    model = pb.HiddenMarkovModel(*CHAIN, later, first_emission=first)
    y = model.sample(11, seed=3)["b"].to_numpy()

    def density(mean, variance, x):
        return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)

    lines = [(0.0, 0.9, 0.2), (1.0, -0.5, 1.0)]
    likelihoods = [[density(0.0, 1.0, y[0])] * 2]
    likelihoods += [[density(c + m * y[t - 1], v, y[t]) for c, m, v in lines] for t in range(1, 11)]
    beliefs = PathOracle(model.initial, [model.transition] * 11, likelihoods).smoothed()
    found = hmm(y.tolist(), start=model, max_steps=1).model.emission.cpds[0]
    for k in range(2):
        weights = beliefs[1:, k]
        design = np.column_stack([np.ones(10), y[:-1]])
        line = np.linalg.solve(design.T @ (weights[:, None] * design), design.T @ (weights * y[1:]))
        left = weights @ (y[1:] - design @ line) ** 2 / weights.sum()
        assert found.intercept[k] == pytest.approx(line[0], abs=1e-9)
        assert found.coefficients["b[-1]"][k] == pytest.approx(line[1], abs=1e-9)
        assert found.variance[k] == pytest.approx(left, abs=1e-9)


def test_known_states_make_counting_of_learning():
    """With all states told, the tables of columns that depend on each other are ratios of counts."""
    model, _, _ = two_columns(np.random.default_rng(1))
    rows = model.sample(400, seed=0)
    fit = hmm(rows, start=model)
    counts = pd.crosstab([rows["state"], rows["a"]], rows["b"])[list(B.states)].to_numpy().reshape(2, 2, 3)
    learned = {cpd.variable.name: cpd.values for cpd in fit.model.emission.cpds}
    np.testing.assert_allclose(learned["b"], counts / counts.sum(axis=2, keepdims=True), atol=1e-12)


def test_files_keep_columns_that_depend_on_each_other(tmp_path):
    """What is saved is equal, with first distributions too."""
    for cpds, first in (noisy_or(), words_after_words()):
        model = pb.HiddenMarkovModel(*CHAIN, {cpd.variable.name: cpd for cpd in cpds}, first_emission=first)
        pb.save(model, tmp_path / "model.json")
        assert pb.load(tmp_path / "model.json") == model


def test_what_cannot_be_summed_out_or_learned_is_named():
    """A missing number that others depend on, a missing step before, a kind without a learner."""
    cpds, _ = logistic()
    model = pb.HiddenMarkovModel(*CHAIN, {cpd.variable.name: cpd for cpd in cpds})
    with pytest.raises(InvalidArgument, match="'a' is missing at row 1, and 'b'"):
        hmm({"a": [0.1, None], "b": ["no", "yes"]}, start=model)
    cpds, first = words_after_words()
    model = pb.HiddenMarkovModel(*CHAIN, cpds[0], first_emission=first)
    with pytest.raises(InvalidArgument, match=r"'b\[-1\]' is missing at row 1"):
        hmm({"b": [None, "no"]}, start=model)
    kind = pb.cpds.NoisyMax(
        "b", ["state"], {"state": [[1, 0, 0], [0.2, 0.5, 0.3]]}, [0.8, 0.1, 0.1], states=["no", "some", "much"]
    )
    with pytest.raises(NotSupported, match="NoisyMax"):
        hmm({"b": ["no", "some"]}, start=pb.HiddenMarkovModel(*CHAIN, kind))
