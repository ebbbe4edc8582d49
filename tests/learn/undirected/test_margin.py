"""Learning margins: against the whole quadratic program, with a constraint for each labelling of each row."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog, minimize

import plausible as pb

FEATURES = [
    pb.Feature([["Y1", "Y2"], ["Y2", "Y3"]], lambda a, b: a == b, name="same"),
    pb.Feature([["Y1", "x1"], ["Y2", "x2"], ["Y3", "x3"]], lambda y, x: y * x, name="push"),
    pb.Feature([["Y1"], ["Y2"]], lambda y: y == 2, name="two"),
]
TARGETS = ["Y1", "Y2", "Y3"]
LABELLINGS = list(itertools.product((0, 1, 2), (0, 1, 2), (0, 1, 2)))


def rows(seed=0, number=8, noise=1.0):
    """Three labels of three states along a chain, each with a number."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=number).round(3) for i in (1, 2, 3)})
    for i in (1, 2, 3):
        frame[f"Y{i}"] = np.clip(np.round(frame[f"x{i}"] + noise * rng.normal(size=number) + 1), 0, 2).astype(int)
    return frame


def separable():
    """Rows whose labels are the best ones of some weights."""
    frame = rows(1, 12)
    best = [max(LABELLINGS, key=lambda y: features(row, y) @ [0.4, 2.0, -1.0]) for _, row in frame.iterrows()]
    return frame.assign(**{t: [y[i] for y in best] for i, t in enumerate(TARGETS)})


def features(row, y):
    """(f1, f2, f3) of a labelling, from the definition."""
    same = (y[0] == y[1]) + (y[1] == y[2])
    return np.array([same, y[0] * row["x1"] + y[1] * row["x2"] + y[2] * row["x3"], (y[0] == 2) + (y[1] == 2)], float)


def differences(frame):
    """Of each row f(labels) - f(y) and the Hamming distance, for every y."""
    for _, row in frame.iterrows():
        labels = tuple(int(row[t]) for t in TARGETS)
        yield (
            np.array([features(row, labels) - features(row, y) for y in LABELLINGS]),
            np.array([sum(a != b for a, b in zip(y, labels, strict=True)) for y in LABELLINGS]),
        )


def whole_program(frame, variance):
    """min ‖θ‖²/(2 variance) + Σ η over (θ, η), every constraint there from the beginning."""
    listed = list(differences(frame))
    num = len(listed)
    slopes = np.vstack([np.hstack([d, np.eye(num)[[m] * len(d)]]) for m, (d, _) in enumerate(listed)])
    losses = np.concatenate([loss for _, loss in listed])
    found = minimize(
        lambda z: z[:3] @ z[:3] / (2 * variance) + z[3:].sum(),
        np.concatenate([np.zeros(3), np.full(num, 4.0)]),
        jac=lambda z: np.concatenate([z[:3] / variance, np.ones(num)]),
        constraints={"type": "ineq", "fun": lambda z: slopes @ z - losses, "jac": lambda z: slopes},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return found.x[:3], found.fun


VARIABLES = [pb.Variable(t, 3) for t in TARGETS]


@pytest.mark.parametrize(
    ("optimizer", "variance"), [("cutting-plane", 0.1), ("cutting-plane", 5.0), ("frank-wolfe", 0.1)]
)
def test_the_optimum_is_that_of_the_whole_program(optimizer, variance):
    """Constraints found one by one lead to the program with all of them, and the gap bounds what is missing."""
    frame = rows()
    options = {"prior": pb.GaussianPrior(variance), "optimizer": optimizer, "variables": VARIABLES}
    fit = pb.learn.crf(FEATURES, frame, TARGETS, objective="margin", tolerance=1e-5, max_steps=5000, **options)
    point, best = whole_program(frame, variance)
    constant = -1.5 * np.log(2 * np.pi * variance)
    assert (fit.converged, fit.kind) == (True, "exact")
    short = -(fit.objective - constant) - best
    assert -1e-7 <= short <= fit.duality_gap + 1e-7 <= 8e-5 + 2e-7
    assert list(fit.weights.values()) == pytest.approx(point, abs=0.05 * max(1, variance))
    assert (np.diff(fit.trace) >= 0).all() or optimizer == "frank-wolfe"


def test_margins_are_those_of_listing_all_labels():
    """θ·f(labels) less that of the best other labels; missing labels have none."""
    frame = rows(3, 20)
    fit = pb.learn.crf(
        FEATURES, frame, TARGETS, objective="margin", prior=pb.GaussianPrior(1.0), variables=VARIABLES, tolerance=1e-3
    )
    point = np.array(list(fit.weights.values()))
    expected = [(d @ point)[loss > 0].min() for d, loss in differences(frame)]
    assert fit.margins(frame) == pytest.approx(expected, abs=1e-9)
    is_right = (fit.predict(frame)[TARGETS].to_numpy() == frame[TARGETS].to_numpy()).all(axis=1)
    assert is_right.tolist() == (fit.margins(frame) > 0).tolist()
    frame["Y1"] = frame["Y1"].astype(object).where(frame.index > 0)
    assert np.isnan(fit.margins(frame)).tolist() == [True] + [False] * 19


def test_without_slack_the_weights_are_the_shortest_that_win_by_one():
    """Against the program with all constraints; rows that no weights get right are named."""
    frame = separable()
    method = pb.learn.MaxMargin(slack=False)
    fit = pb.learn.crf(FEATURES, frame, TARGETS, objective=method, variables=VARIABLES)
    slopes = np.vstack([d[loss > 0] for d, loss in differences(frame)])
    found = minimize(
        lambda z: z @ z / 2,
        np.array([4.0, 20.0, -10.0]),
        jac=lambda z: z,
        constraints={"type": "ineq", "fun": lambda z: slopes @ z - 1, "jac": lambda z: slopes},
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 1000},
    )
    assert fit.converged
    assert (slopes @ found.x).min() == pytest.approx(1.0, abs=1e-6)
    assert list(fit.weights.values()) == pytest.approx(found.x, rel=1e-4)
    assert fit.margins(frame).min() == pytest.approx(1.0, abs=1e-6)
    assert fit.duality_gap <= 12e-6
    short = pb.learn.crf(FEATURES, frame, TARGETS, objective=method, variables=VARIABLES, max_steps=2)
    assert 0 < short.objective - fit.objective <= short.duality_gap < np.inf  # too short yet, by no more than it tells
    twins = pd.concat([frame, frame.iloc[[2]].assign(Y1=(frame["Y1"].iloc[2] + 1) % 3)], ignore_index=True)
    with pytest.raises(pb.errors.InvalidArgument, match=r"labels of row \d+ can't be the best") as told:
        pb.learn.crf(FEATURES, twins, TARGETS, objective=method, variables=VARIABLES)
    named = twins.iloc[[int(number) for number in re.findall(r"\d+", str(told.value))]]
    slopes = np.vstack([d[loss > 0] for d, loss in differences(named)])
    assert linprog(np.zeros(3), A_ub=-slopes, b_ub=-np.ones(len(slopes)), bounds=(None, None)).status == 2


def test_the_perceptron_stops_where_it_makes_no_mistake():
    """Then the last weights get all labels right; its answer is the mean over all steps."""
    frame = separable()
    fit = pb.learn.crf(FEATURES, frame, TARGETS, objective="margin", optimizer="perceptron", variables=VARIABLES)
    point, total, count = np.zeros(3), np.zeros(3), 0
    for _ in range(fit.num_steps):
        for _, row in frame.iterrows():
            scores = [features(row, y) @ point for y in LABELLINGS]
            labels = tuple(int(row[t]) for t in TARGETS)
            point = point + features(row, labels) - features(row, LABELLINGS[int(np.argmax(scores))])
            total, count = total + point, count + 1
    assert fit.converged
    assert all((d @ point)[loss > 0].min() > 0 for d, loss in differences(frame))
    assert list(fit.weights.values()) == pytest.approx(total / count, rel=1e-9)


def test_a_network_learns_margins_of_its_targets_given_all_else():
    """`markov` with targets is the conditional field whose inputs are the other columns; equal rows count together."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.integers(0, 2, (30, 4)), columns=list("ABCD"))
    features = [pb.Feature(list(pair), lambda a, b: a == b, name=pair) for pair in ("AB", "BC", "CD", "DA")]
    features.append(pb.Feature(["A"], lambda a: a, name="A"))
    prior, tolerance = pb.GaussianPrior(0.5), 1e-6
    method = pb.learn.MaxMargin(targets=["A", "C"])
    network = pb.learn.markov(features, frame, objective=method, prior=prior, tolerance=tolerance)
    field = pb.learn.crf(features, frame, ["A", "C"], objective="margin", prior=prior, tolerance=tolerance)
    assert network.objective == pytest.approx(field.objective, abs=1e-4)
    assert network.margins(frame) == pytest.approx(field.margins(frame), abs=0.02)
    assert network.duality_gap <= 30e-6


def test_a_grid_learns_by_graph_cuts():
    """The engine that finds best labels is asked for the worst ones, and gives what the clique tree gives."""
    rng = np.random.default_rng(2)
    names = [f"Y{i}{j}" for i in range(3) for j in range(3)]
    pairs = [[f"Y{i}{j}", f"Y{i}{j + 1}"] for i in range(3) for j in range(2)]
    pairs += [[f"Y{i}{j}", f"Y{i + 1}{j}"] for i in range(2) for j in range(3)]
    frame = pd.DataFrame({name: [0] * 4 + [1] * 4 for name in names})
    inputs = pd.DataFrame(frame.to_numpy() + rng.normal(size=(8, 9)), columns=[f"x{n}" for n in names])
    frame = frame.join(inputs)
    features = [
        pb.Feature(pairs, lambda a, b: a == b, name="same"),
        pb.Feature([[n, f"x{n}"] for n in names], lambda y, x: y * (x - 0.5), name="push"),
    ]
    options = {"objective": "margin", "prior": pb.GaussianPrior(1.0), "tolerance": 1e-5}
    by_cuts = pb.learn.crf(features, frame, names, engine=pb.inference.GraphCut(), **options)
    exact = pb.learn.crf(features, frame, names, **options)
    assert by_cuts.weights["same"] > 0
    assert by_cuts.objective == pytest.approx(exact.objective, abs=1e-3)
    assert by_cuts.predict(inputs).equals(exact.predict(inputs))
    with pytest.raises(pb.PlausibleError, match="GraphCut"):
        pb.learn.crf(features, frame, names, engine=pb.inference.GraphCut())


def test_what_margins_refuse():
    """A prior is needed with slack, other ways to climb and missing labels are refused."""
    frame = rows()
    with pytest.raises(pb.errors.InvalidArgument, match="GaussianPrior"):
        pb.learn.crf(FEATURES, frame, TARGETS, objective="margin")
    with pytest.raises(pb.errors.NotSupported, match="cutting-plane"):
        pb.learn.crf(FEATURES, frame, TARGETS, objective="margin", prior=pb.GaussianPrior(1.0), optimizer="newton")
    frame.loc[0, "Y1"] = np.nan
    with pytest.raises(pb.errors.NotSupported, match="margin"):
        pb.learn.crf(FEATURES, frame, TARGETS, objective="margin", prior=pb.GaussianPrior(1.0), variables=VARIABLES)


def test_targets_of_one_state_and_one_row():
    """Labels without others have infinite margins, and no weight is needed."""
    frame = pd.DataFrame({"Y": ["a"], "x": [1.0]})
    push = pb.Feature(["Y", "x"], lambda y, x: x, name="push")
    fit = pb.learn.crf([push], frame, ["Y"], objective="margin", prior=pb.GaussianPrior(1.0))
    assert (fit.weights["push"], fit.margins(frame).tolist()) == (0.0, [np.inf])
