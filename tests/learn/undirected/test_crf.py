"""Conditional random fields over any graph of targets."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import plausible as pb

FEATURES = [
    pb.Feature([["Y1", "Y2"], ["Y2", "Y3"]], lambda a, b: a == b, name="same"),
    pb.Feature([["Y1", "x1"], ["Y2", "x2"], ["Y3", "x3"]], lambda y, x: y * x, name="push"),
    pb.Feature(["kind", "Y1"], name="start"),
]
TARGETS = ["Y1", "Y2", "Y3"]


def rows(seed=0, number=40):
    """Three labels along a chain, three numbers, and a kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=number) for i in (1, 2, 3)})
    for i in (1, 2, 3):
        frame[f"Y{i}"] = (frame[f"x{i}"] + rng.normal(size=number) > 0).astype(int)
    frame["kind"] = rng.choice(["a", "b"], number)
    return frame


def log_measure(row, labels, weights):
    """Σ θ f of one labelling, from the definition."""
    y1, y2, y3 = labels
    total = weights[0] * ((y1 == y2) + (y2 == y3))
    total += weights[1] * sum(y * row[f"x{i}"] for i, y in zip((1, 2, 3), labels, strict=True))
    return total + weights[2:].reshape(2, 2)[["a", "b"].index(row["kind"]), y1]


def conditional_log_likelihood(frame, weights):
    """Σ log P(y | x) by listing all labellings of each row; labels that are missing are summed out."""
    total = 0.0
    for _, row in frame.iterrows():
        all_logs, kept = [], []
        for labels in itertools.product((0, 1), repeat=3):
            value = log_measure(row, labels, weights)
            all_logs.append(value)
            if all(pd.isna(row[t]) or row[t] == y for t, y in zip(TARGETS, labels, strict=True)):
                kept.append(value)
        total += np.logaddexp.reduce(kept) - np.logaddexp.reduce(all_logs)
    return total


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_the_optimum_is_that_of_enumeration(share):
    """A general minimiser of the enumerated loss finds the same value, labels missing or not."""
    frame = rows()
    frame[TARGETS] = frame[TARGETS].astype(object).mask(np.random.default_rng(1).random((40, 3)) < share)
    options = {"prior": pb.GaussianPrior(2.0), "variables": [pb.Variable(t, 2) for t in TARGETS]}
    fit = pb.learn.crf(FEATURES, frame, TARGETS, tolerance=1e-8, **options)
    point = np.array(list(fit.weights.values()))
    assert fit.log_likelihood(frame) == pytest.approx(conditional_log_likelihood(frame, point), rel=1e-9)
    constant = -0.5 * 6 * math.log(2 * math.pi * 2)

    def loss(weights):
        return weights @ weights / 4 - conditional_log_likelihood(frame, weights)

    other = minimize(loss, point + 0.05, method="BFGS", options={"gtol": 1e-3})
    assert fit.objective == pytest.approx(-other.fun + constant, abs=1e-4)


def test_predictions_are_the_best_labels_and_their_marginals():
    """predict, predict_marginals, network and explain agree with listing all labellings."""
    frame = rows()
    fit = pb.learn.crf(FEATURES, frame, TARGETS, prior=pb.GaussianPrior(2.0))
    point = np.array(list(fit.weights.values()))
    new = rows(5, 7).drop(columns=TARGETS)
    labels, marginals = fit.predict(new), fit.predict_marginals(new)
    for number, row in new.iterrows():
        listed = list(itertools.product((0, 1), repeat=3))
        logs = np.array([log_measure(row, one, point) for one in listed])
        assert tuple(labels.loc[number, TARGETS]) == listed[int(np.argmax(logs))]
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        for place, target in enumerate(TARGETS):
            on = sum(p for p, one in zip(shares, listed, strict=True) if one[place] == 1)
            assert marginals[target].loc[number, 1] == pytest.approx(on)
    row = new.iloc[0].to_dict()
    assert fit.network(row).query("Y2").values[1] == pytest.approx(marginals["Y2"].loc[0, 1])
    why = fit.explain(row, labels.iloc[0].to_dict())
    logs = sorted(log_measure(new.iloc[0], one, point) for one in itertools.product((0, 1), repeat=3))
    assert why["adds"].sum() == pytest.approx(logs[-1] - logs[-2])
    assert fit.score(frame) > 0.6


def test_a_network_of_all_variables_trained_on_targets_is_the_same_field():
    """ConditionalLikelihood on a table of discrete inputs has the optimum of the ground field."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"X": rng.integers(0, 3, 60)})
    frame["Y"] = (frame["X"] + rng.integers(0, 2, 60)) % 2
    frame["Z"] = (frame["Y"] + (rng.random(60) < 0.3)) % 2
    features = [["X", "Y"], ["Y", "Z"]]
    prior = pb.GaussianPrior(1.0)
    field = pb.learn.crf(features, frame, ["Y", "Z"], prior=prior, tolerance=1e-9)
    whole = pb.learn.markov(
        features, frame, objective=pb.learn.ConditionalLikelihood(["Y", "Z"]), prior=prior, tolerance=1e-9
    )
    assert field.objective == pytest.approx(whole.objective, abs=1e-7)
    assert dict(field.weights) == pytest.approx(dict(whole.weights), abs=1e-5)


def test_one_target_is_logistic_regression():
    """With one binary target and numbers as inputs, the weights are those of scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    frame = rows(2, 80)
    features = [pb.Feature(["Y1", f"x{i}"], lambda y, x: y * x, name=f"w{i}") for i in (1, 2, 3)]
    features.append(pb.Feature(["Y1"], lambda y: y, name="bias"))
    priors = {f"w{i}": pb.GaussianPrior(1.0) for i in (1, 2, 3)}
    fit = pb.learn.crf(features, frame, ["Y1"], prior=priors, tolerance=1e-9)
    other = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(frame[["x1", "x2", "x3"]], frame["Y1"])
    assert [*fit.weights.values()] == pytest.approx([*other.coef_[0], other.intercept_[0]], abs=1e-5)


@pytest.mark.parametrize("objective", ["pseudolikelihood", "piecewise", "submodels"])
def test_other_objectives_train_fields_too(objective):
    """They end near the likelihood's weights on plenty of rows, and say what they are."""
    frame = rows(4, 400)
    likely = pb.learn.crf(FEATURES[:2], frame, TARGETS, prior=pb.GaussianPrior(1.0))
    fit = pb.learn.crf(FEATURES[:2], frame, TARGETS, objective=objective, prior=pb.GaussianPrior(1.0))
    assert fit.converged
    assert fit.log_likelihood(frame) <= likely.log_likelihood(frame) + 1e-3
    if objective != "piecewise":
        assert fit.log_likelihood(frame) > likely.log_likelihood(frame) - 5
    assert fit.kind == ("exact" if objective == "pseudolikelihood" else "lower bound")


def test_an_engine_in_the_gradient_trains_a_loopy_field():
    """A 3 x 3 grid by tree-reweighted messages: a bound below the exact objective, and nearly as good labels."""
    rng = np.random.default_rng(6)
    sites = list(itertools.product(range(3), range(3)))
    truth = rng.integers(0, 2, (30, 9))
    frame = pd.DataFrame({f"y{i}{j}": truth[:, 3 * i + j] for i, j in sites})
    noisy = truth + rng.normal(scale=0.7, size=truth.shape)
    frame = pd.concat([frame, pd.DataFrame(noisy, columns=[f"x{i}{j}" for i, j in sites])], axis=1)
    pairs = [[f"y{i}{j}", f"y{i + 1}{j}"] for i, j in sites if i < 2]
    pairs += [[f"y{i}{j}", f"y{i}{j + 1}"] for i, j in sites if j < 2]
    features = [
        pb.Feature(pairs, lambda a, b: a == b, name="smooth"),
        pb.Feature([[f"y{i}{j}", f"x{i}{j}"] for i, j in sites], lambda y, x: y * (x - 0.5), name="bright"),
    ]
    targets = [f"y{i}{j}" for i, j in sites]
    exact = pb.learn.crf(features, frame, targets, prior=pb.GaussianPrior(10.0))
    bound = pb.learn.crf(
        features, frame, targets, prior=pb.GaussianPrior(10.0), engine=pb.inference.TreeReweightedBP(tolerance=1e-9)
    )
    assert bound.kind == "lower bound"
    assert bound.objective <= exact.objective + 1e-6
    assert bound.weights["bright"] == pytest.approx(exact.weights["bright"], rel=0.2)
    assert bound.score(frame) >= exact.score(frame) - 0.05


@pytest.mark.parametrize(
    ("features", "targets", "change", "text"),
    [
        ([["x1"]], ["Y1"], {}, "has no target"),
        ([["Y1", "x1"]], ["Y1"], {}, "needs a function"),
        ([["Y1"]], ["x1"], {}, "column of numbers"),
        ([["Y1", "zz"]], ["Y1"], {}, "'zz' is no column"),
        ([["Y1"]], [], {}, "names no variable"),
        ([["Y1"]], "Y1", {}, "sequence of names"),
        (FEATURES[1:2], TARGETS, {"x2": [None] + [1.5, 2.25, 0.5] * 13}, "no value of the input 'x2'"),
    ],
)
def test_mistakes_are_named(features, targets, change, text):
    """Features without targets, numbers without functions, missing inputs."""
    with pytest.raises(pb.PlausibleError, match=text):
        pb.learn.crf(features, rows().assign(**change), targets)


def test_objectives_name_targets_as_the_data_do():
    """Blocks and targets stand for those of each row, so that conditionals add up to those of all."""
    frame, options = rows(7), {"prior": pb.GaussianPrior(1.0), "max_steps": 0}

    def value(objective):
        return pb.learn.crf(FEATURES, frame, TARGETS, objective=objective, **options).objective

    singles = pb.learn.CompositeLikelihood([[target] for target in TARGETS])
    assert value(singles) == pytest.approx(value("pseudolikelihood"))
    assert value(pb.learn.CompositeLikelihood([TARGETS])) == pytest.approx(value("likelihood"))
    for target in TARGETS:
        given_all_else = value(pb.learn.ConditionalLikelihood([target]))
        assert value(pb.learn.Pseudolikelihood([target])) == pytest.approx(given_all_else)
    fit = pb.learn.crf(FEATURES, frame, TARGETS, objective=singles, prior=pb.GaussianPrior(1.0))
    other = pb.learn.crf(FEATURES, frame, TARGETS, objective="pseudolikelihood", prior=pb.GaussianPrior(1.0))
    assert list(fit.weights.values()) == pytest.approx(list(other.weights.values()), abs=1e-5)
    assert list(fit.standard_errors().values()) == pytest.approx(list(other.standard_errors().values()), rel=1e-3)
    with pytest.raises(pb.errors.UnknownVariable, match=r"'Y4'.* Known: 'Y1'"):
        value(pb.learn.Pseudolikelihood(["Y4"]))


def test_functions_take_states_that_no_row_had():
    """Words and whole numbers that were not there in training are told to functions; free tables refuse them."""
    frame = pd.DataFrame({"word": ["running", "cat", "dogs", "eating"], "size": [7, 3, 4, 6], "tag": list("VNNV")})
    features = [
        pb.Feature(["tag", "word"], lambda tag, word: tag == "V" and word.endswith("ing"), name="ing"),
        pb.Feature(["tag", "size"], lambda tag, size: (tag == "V") * (size - 5), name="size"),
    ]
    fit = pb.learn.crf(features, frame, ["tag"], prior=pb.GaussianPrior(1.0))
    assert fit.predict({"word": ["swimming", "house"], "size": [8, 2.5]})["tag"].tolist() == ["V", "N"]
    assert fit.network({"word": "sing", "size": 5}).query("tag").values[1] > 0.5
    with pytest.raises(pb.errors.UnknownState, match="'X' is not a state of 'tag'"):
        fit.score({"word": ["swimming"], "size": [8], "tag": ["X"]})
    tables = pb.learn.crf([["tag", "word"]], frame, ["tag"], prior=pb.GaussianPrior(1.0))
    with pytest.raises(pb.errors.UnknownState, match="'swimming' is not a state of 'word'"):
        tables.predict({"word": ["swimming"]})


def test_what_fields_have_no_place_for_is_said():
    """Closed forms of networks, and labels left out of an explanation."""
    with pytest.raises(pb.errors.NotSupported, match="is for markov"):
        pb.learn.crf(FEATURES, rows(), TARGETS, objective="pseudo-moment-matching")
    with pytest.raises(pb.errors.NotSupported, match="is for markov"):
        pb.learn.crf(FEATURES, rows(), TARGETS, optimizer="ipf")
    fit = pb.learn.crf(FEATURES, rows(), TARGETS, prior=pb.GaussianPrior(1.0))
    with pytest.raises(pb.errors.InvalidArgument, match="no label of the target 'Y3'"):
        fit.explain({"x1": 1.0, "x2": 0.5, "x3": 0.0, "kind": "a"}, {"Y1": 1, "Y2": 0})


def test_rows_keep_their_labels_and_weights_are_refused():
    """Predictions of a part of a frame line up with it; a weighted row would count once in silence."""
    frame = rows()
    fit = pb.learn.crf(FEATURES, frame, TARGETS, prior=pb.GaussianPrior(2.0))
    part = frame.iloc[[9, 5, 20]]
    assert fit.predict(part).index.tolist() == [9, 5, 20]
    assert fit.predict_marginals(part)["Y1"].index.tolist() == [9, 5, 20]
    with pytest.raises(pb.PlausibleError, match="repeat rows"):
        pb.learn.crf(FEATURES, pb.Table.read(frame, weights=[2.0] * 40), TARGETS)


def test_no_rows_have_no_labels():
    """An empty table has empty answers, and nothing can be learned from one."""
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "x": [0.5, 1.5, 2.5, 1.0]})
    push = pb.Feature(["y", "x"], lambda y, x: y * x, name="push")
    fit, empty = pb.learn.crf([push], frame, ["y"], prior=pb.GaussianPrior(1.0)), frame.iloc[:0]
    assert fit.predict(empty).shape == (0, 1)
    assert fit.predict_marginals(empty)["y"].shape == (0, 2)
    assert fit.log_likelihood(empty) == 0
    assert fit.margins(empty).size == 0
    with pytest.raises(pb.errors.InvalidArgument, match="nothing tells the weights"):
        pb.learn.crf([push], empty, ["y"], variables=[pb.Variable("y", 2), pb.Variable("x")])
    with pytest.raises(pb.errors.NotSupported, match="Row 0 has no value of the input 'x'"):
        fit.predict(frame.assign(x=np.nan))
