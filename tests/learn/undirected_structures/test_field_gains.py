"""Features for conditional random fields, found by what each would add alone."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

import plausible as pb

TARGETS = ["Y1", "Y2", "Y3"]
LINKS = [["Y1", "Y2"], ["Y2", "Y3"]]


def push(number):
    """A weight for an input beside each target."""
    return pb.Feature([[f"Y{i}", f"x{number}"] for i in (1, 2, 3)], lambda y, x: y * x, name=f"x{number}")


SAME = pb.Feature(LINKS, lambda a, b: a == b, name="same")


def rows(number=150):
    """Three labels in a row that tend to agree and follow the first of three inputs."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(number, 3))
    cells = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij")).reshape(3, -1).T
    agree = (cells[:, :-1] == cells[:, 1:]).sum(axis=1)
    logs = 0.8 * agree + 0.9 * inputs[:, :1] * cells.sum(axis=1)
    chosen = [rng.choice(8, p=np.exp(row - np.logaddexp.reduce(row))) for row in logs]
    frame = pd.DataFrame(cells[chosen], columns=TARGETS)
    return frame.assign(**{f"x{i}": inputs[:, i] for i in range(3)})


def test_the_gain_of_a_feature_with_one_place_is_the_best_that_its_weight_adds():
    """max over θ of Σ_m θ f(y, x) - log E[exp θ f | x], with the old model's P(Y1, Y3 | x) row by row."""
    frame = rows()
    fit = pb.learn.crf([SAME, push(0)], frame, TARGETS, prior=pb.GaussianPrior(5.0))
    ends = pb.Feature(["Y1", "Y3", "x1"], lambda a, b, x: (a == b) * x, name="ends")
    (found,) = pb.learn.feature_gains(fit, [ends], data=frame)
    believed = np.array([fit.network(row).query(["Y1", "Y3"]).values for row in frame[["x0"]].to_dict("records")])
    equal, x = believed[:, 0, 0] + believed[:, 1, 1], frame["x1"].to_numpy()
    is_equal = (frame["Y1"] == frame["Y3"]).to_numpy()

    def loss(weight):
        return -float((weight * x * is_equal - np.log(equal * np.exp(weight * x) + 1 - equal)).sum())

    best = minimize_scalar(loss, options={"xtol": 1e-12})
    assert found.gain == pytest.approx(-best.fun, abs=1e-6)
    assert found.weights == pytest.approx((best.x,), abs=1e-4)
    whole = pb.learn.crf([SAME, push(0), ends], frame, TARGETS)
    less = pb.learn.crf([SAME, push(0)], frame, TARGETS)
    (alone,) = pb.learn.feature_gains(less, [ends], data=frame)
    assert 0 <= alone.gain <= whole.objective - less.objective + 1e-6


def test_induction_takes_the_features_that_made_the_rows():
    """Feature after feature by its gain, less what BIC takes: the links and the first input, and neither other one."""
    frame, waiting = rows(), {one.name: one for one in (SAME, push(0), push(1), push(2))}
    taken = [pb.Feature([[name] for name in TARGETS], lambda y: y == 1, name="up")]
    while waiting:
        fit = pb.learn.crf(taken, frame, TARGETS)
        first = pb.learn.feature_gains(fit, waiting.values(), data=frame)[0]
        if first.gain < 0.5 * np.log(3 * len(frame)):
            break
        taken.append(waiting.pop(first.feature))
    assert {one.name for one in taken} == {"up", "same", "x0"}


def test_what_gains_of_fields_refuse():
    """A field without its rows, and rows without a label."""
    frame = rows(20)
    fit = pb.learn.crf([SAME], frame, TARGETS, prior=pb.GaussianPrior(1.0))
    with pytest.raises(pb.errors.InvalidArgument, match="data="):
        pb.learn.feature_gains(fit, [push(0)])
    frame["Y1"] = frame["Y1"].astype(float)
    frame.loc[3, "Y1"] = np.nan
    with pytest.raises(pb.errors.NotSupported, match="labels"):
        pb.learn.feature_gains(fit, [push(0)], data=frame)
