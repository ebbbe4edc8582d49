"""What single objectives promise, each from its definition."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.named_objectives import OBJECTIVES, read_objective
from plausible.learn.undirected.sample import Sample

LOOP = [["A", "B"], ["B", "C"], ["C", "D"], ["A", "D"]]
VARIABLES = {name: pb.Variable(name, 2) for name in "ABCD"}


def alike(first, second):
    return first == second


def rows(seed=0, number=60, share=0.0):
    """Four binary columns with missing cells."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (number, 4))
    codes[:, 2] = np.where(rng.random(number) < 0.6, codes[:, 1], codes[:, 2])
    return pd.DataFrame(np.where(rng.random(codes.shape) < share, np.nan, codes), columns=list("ABCD"))


@pytest.mark.parametrize("objective", ["likelihood", pb.learn.Multiconditional(["A", "B"], 0.3)], ids=repr)
def test_gradients_with_missing_cells_are_those_of_the_value(objective):
    """mean E[f | o] - E[f], and its multiconditional form, by central differences."""
    frame = rows(1, share=0.3)
    if not isinstance(objective, str):
        frame[["C", "D"]] = frame[["C", "D"]].fillna(0)
    features = [pb.Feature(scope) for scope in LOOP]
    table = pb.Table.read(frame, VARIABLES)
    goal = read_objective(objective).on(Sample.of(Design.of(features, VARIABLES), pb.data.TableStatistics(table)))
    point = np.random.default_rng(2).normal(size=16)
    gradient = goal.at(point)[1]
    assert np.abs(gradient).max() > 1
    for place, move in enumerate(np.eye(16) * 1e-5):
        slope = (goal.at(point + move)[0] - goal.at(point - move)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("objective", sorted({*OBJECTIVES} - {"likelihood"}))
def test_objectives_that_are_not_defined_where_cells_are_missing_say_so(objective):
    """All but the likelihood: a missing cell taken for a state would be a wrong answer in silence."""
    options = {"objective": objective, "prior": pb.GaussianPrior(1.0)}
    with pytest.raises(pb.errors.NotSupported, match="not defined where cells are missing"):
        pb.learn.markov(LOOP, rows(1, share=0.1), **options)


def test_weights_come_to_the_truth_with_more_rows():
    """Within four standard errors of the weights that the rows come from, which fall as one over √M."""
    truth = {"first": 0.8, "second": -0.5}
    features = [
        pb.Feature([["A", "B"], ["C", "D"]], alike, name="first"),
        pb.Feature([["B", "C"], ["A", "D"]], alike, name="second"),
    ]
    table = np.eye(2)
    net = pb.MarkovNetwork(
        pb.Factor(dict.fromkeys(scope, 2), np.exp(truth[one.name] * table)) for one in features for scope in one.scopes
    )
    errors = []
    for number in (400, 6400, 102_400):
        fit = pb.learn.markov(features, net.sample(number, seed=number))
        told = fit.standard_errors()
        assert all(abs(fit.weights[name] - value) < 4 * told[name] for name, value in truth.items())
        errors.append(told["first"])
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)
    assert errors[2] < 0.01


def test_restarts_find_the_best_of_several_maxima():
    """Few rows and a hidden cause: one start ends in a lower maximum, further starts in the same best one."""
    frame = pd.DataFrame(np.random.default_rng(7).integers(0, 2, (15, 4)), columns=list("ABCD"))
    stars = [["H", name] for name in "ABCD"]
    options = {"variables": [pb.Variable("H", 2)], "prior": pb.GaussianPrior(100.0), "max_steps": 150}
    alone = pb.learn.markov(stars, frame, seed=0, **options)
    best = [pb.learn.markov(stars, frame, seed=seed, restarts=8, **options).objective for seed in range(3)]
    assert min(best) > alone.objective + 0.4
    assert max(best) - min(best) < 1e-3


def test_piecewise_tables_are_the_frequencies_of_their_scopes():
    """φ_c ∝ P^(c): nothing is divided out, so that what scopes share counts twice."""
    frame = rows(3, 80).astype(int)
    fit = pb.learn.markov(LOOP, frame, objective="piecewise", tolerance=1e-9)
    weights = np.array(list(fit.weights.values())).reshape(4, 2, 2)
    for (one, two), table in zip(LOOP, weights, strict=True):
        seen = pd.crosstab(frame[one], frame[two]).to_numpy() / len(frame)
        assert np.exp(table) / np.exp(table).sum() == pytest.approx(seen, abs=1e-7)


def test_the_pseudolikelihood_of_a_field_is_the_sum_of_its_conditionals():
    """Σ log P(y_j | other labels, x), each by the two states of one label."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["x0", "x1", "x2"])
    frame = frame.assign(**{f"Y{i}": (frame[f"x{i}"] + rng.normal(size=40) > 0).astype(int) for i in range(3)})
    features = [
        pb.Feature([["Y0", "Y1"], ["Y1", "Y2"]], alike, name="same"),
        pb.Feature([[f"Y{i}", f"x{i}"] for i in range(3)], lambda y, x: y * x, name="push"),
    ]
    fit = pb.learn.crf(features, frame, ["Y0", "Y1", "Y2"], objective="pseudolikelihood", tolerance=1e-9)
    same, push = fit.weights.values()

    def measure(labels, row):
        agreements = sum(one == two for one, two in itertools.pairwise(labels))
        return same * agreements + push * sum(y * row[f"x{i}"] for i, y in enumerate(labels))

    total = 0.0
    for _, row in frame.iterrows():
        labels = [int(row[f"Y{i}"]) for i in range(3)]
        for i in range(3):
            flipped = [1 - y if k == i else y for k, y in enumerate(labels)]
            total -= math.log1p(math.exp(measure(flipped, row) - measure(labels, row)))
    assert fit.objective == pytest.approx(total, rel=1e-10)
