"""What is told of learned weights: gaps that are bounds, errors, directions without an end, runs that are not lost."""

import copy
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog, minimize

import plausible as pb
from plausible.learn.undirected import recession


def brightness(label, x):
    return label * x


def alike(first, second):
    return first == second


def field_rows(seed=0, number=60, *, noise=1.0):
    """Two labels that push each other, each by a number."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(number, 2)), columns=["x1", "x2"])
    for i in (1, 2):
        frame[f"Y{i}"] = (frame[f"x{i}"] + noise * rng.normal(size=number) > 0).astype(int)
    return frame


FIELD = [
    pb.Feature([["Y1", "x1"], ["Y2", "x2"]], brightness, name="push"),
    pb.Feature(["Y1", "Y2"], alike, name="same"),
]
TARGETS = ["Y1", "Y2"]


def loop_rows(seed=0, number=80):
    """Four binary variables around a loop."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (number, 4))
    codes[:, 1] = np.where(rng.random(number) < 0.7, codes[:, 0], codes[:, 1])
    return pd.DataFrame(codes, columns=list("ABCD"))


LOOP = [[a, b] for a, b in ("AB", "BC", "CD", "DA")]


def is_zero(state):
    return state == 0


def made():
    """One of each kind of result."""
    frame = loop_rows()
    yield "tables", pb.learn.markov(LOOP, frame)
    yield "engine", pb.learn.markov(LOOP, frame, engine=pb.inference.LoopyBP(), max_steps=5)
    yield "own objective", pb.learn.markov(LOOP, frame, objective="pseudolikelihood", prior=pb.GaussianPrior(1.0))
    yield "margin", pb.learn.markov(LOOP, frame, objective=pb.learn.MaxMargin(["A"]), prior=pb.GaussianPrior(1.0))
    yield "hidden", pb.learn.markov([["H", "A"], ["H", "B"]], frame, variables=[pb.Variable("H", 2)], seed=0)
    yield "means", pb.learn.maximum_entropy({"A": 2, "B": 2}, {pb.Feature(["A"], is_zero): 0.3})
    yield "field", pb.learn.crf(FIELD, field_rows(), TARGETS, prior=pb.GaussianPrior(1.0))
    yield "structure", pb.learn.markov_structure(frame, method="chow-liu")


@pytest.mark.parametrize("name", [name for name, _ in made()])
def test_results_are_copied_and_pickled(name):
    """A result that was pickled, or copied deeply, tells and answers the same."""
    result = dict(made())[name]
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert other.to_dict() == result.to_dict()
        if name == "field":
            pd.testing.assert_frame_equal(other.predict(field_rows(1)), result.predict(field_rows(1)))
        else:
            assert other.network == result.network
        if name in ("tables", "own objective", "field"):
            assert other.standard_errors() == result.standard_errors()


@pytest.mark.parametrize("kind", ["markov", "crf", "maximum_entropy", "margin"])
def test_what_progress_was_told_before_an_interrupt_is_gone_on_with(kind):
    """Ctrl-C passes through; the last state goes on to what a run without it ends at, in as many steps in all."""
    frame, options = field_rows(), {"prior": pb.GaussianPrior(1.0), "tolerance": 1e-9}

    def learn(**more):
        if kind == "markov":
            return pb.learn.markov(LOOP, loop_rows(), **options, **more)
        if kind == "maximum_entropy":
            means = {pb.Feature(["A", "B"], alike): 0.8, pb.Feature(["A"], is_zero): 0.3}
            return pb.learn.maximum_entropy({"A": 2, "B": 2}, means, tolerance=1e-9, **more)
        goal = {"objective": "margin"} if kind == "margin" else {}
        return pb.learn.crf(FIELD, frame, TARGETS, **options, **goal, **more)

    whole, seen = learn(), []

    def watch(state):
        seen.append(state)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(progress=watch)
    resumed = learn(resume=pickle.loads(pickle.dumps(seen[-1])))
    assert resumed.num_steps == whole.num_steps > 2
    assert dict(resumed.weights) == pytest.approx(dict(whole.weights), rel=1e-12)
    with pytest.raises(pb.PlausibleError, match="last state that progress= was told"):
        learn(resume=seen)


# --- the duality gap ---


def best_objective(features, frame, prior):
    """The best likelihood of a loop of binary variables with its prior, by enumeration and a general optimiser."""
    cells = np.array(list(itertools.product((0, 1), repeat=4)))
    columns = [
        np.all(cells[:, ["ABCD".index(n) for n in scope]] == states, axis=1)
        for scope in features
        for states in itertools.product((0, 1), repeat=len(scope))
    ]
    table = np.array(columns, dtype=float).T
    codes = frame.to_numpy() @ [8, 4, 2, 1]
    given = table[codes].sum(axis=0)

    def loss(weights):
        logs = table @ weights
        top = np.logaddexp.reduce(logs)
        value, slope = len(frame) * top - given @ weights, len(frame) * np.exp(logs - top) @ table - given
        if isinstance(prior, pb.GaussianPrior):
            return value + weights @ weights / (2 * prior.variance), slope + weights / prior.variance
        return value, slope

    return -minimize(loss, np.zeros(table.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8}).fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("prior", [None, pb.GaussianPrior(2.0)], ids=repr)
def test_the_duality_gap_bounds_what_is_left_wherever_a_climb_stops(prior, seed):
    """Best - objective ≤ gap after any number of steps; it falls with the steps, to nothing at the end."""
    frame = loop_rows(seed, 30 + 40 * seed)
    best, gaps = best_objective(LOOP, frame, prior), []
    for max_steps in (0, 1, 2, 3, 5, 8, 1000):
        fit = pb.learn.markov(LOOP, frame, prior=prior, max_steps=max_steps, tolerance=1e-9)
        reached = fit.run.state.value
        assert best - reached <= fit.duality_gap + 1e-7
        gaps.append(fit.duality_gap)
    assert gaps[-1] <= 1e-7 * len(frame)
    assert gaps[0] > 1e-2
    assert gaps[0] >= gaps[3] >= gaps[-1]


def test_the_duality_gap_of_other_concave_objectives_is_a_bound_too():
    """Kinks, pseudolikelihood and fields: more steps gain no more than the gap, which is nan with several maxima."""
    frame = loop_rows(3)
    cases = [
        lambda **more: pb.learn.markov(LOOP, frame, prior=pb.LaplacePrior(0.2), **more),
        lambda **more: pb.learn.markov(LOOP, frame, prior=pb.learn.GroupPrior(0.2), **more),
        lambda **more: pb.learn.markov(LOOP, frame, prior=pb.HyperbolicPrior() + pb.LaplacePrior(3.0), **more),
        lambda **more: pb.learn.markov(LOOP, frame, objective="pseudolikelihood", prior=pb.GaussianPrior(1.0), **more),
        lambda **more: pb.learn.crf(FIELD, field_rows(), TARGETS, **more),
        lambda **more: pb.learn.crf(FIELD, field_rows(), TARGETS, prior=pb.LaplacePrior(0.05), **more),
    ]
    for learn in cases:
        best = learn(tolerance=1e-10).objective
        for max_steps in (0, 1, 2, 4, 1000):
            fit = learn(max_steps=max_steps)
            assert best - fit.objective <= fit.duality_gap + 1e-8
        assert fit.duality_gap <= 1e-3 or (fit._climb.penalty.tails.any() and fit.duality_gap < -best)
    hidden = pb.learn.markov([["H", "A"], ["H", "B"]], frame, variables=[pb.Variable("H", 2)], seed=0, max_steps=3)
    assert math.isnan(hidden.duality_gap)


# --- units of features ---


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e4])
@pytest.mark.parametrize("optimizer", [None, "newton", "conjugate-gradient"])
def test_the_optimum_does_not_depend_on_the_units_of_features(optimizer, scale):
    """A feature times s, one of two: its weight is divided by s, after about as many steps."""

    def scaled(first, second):
        return scale * (first == second)

    def learn(function):
        features = [pb.Feature(["A", "B"], function, name="x"), pb.Feature([["B", "C"], ["C", "D"]], alike, name="y")]
        return pb.learn.markov(features, loop_rows(1), optimizer=optimizer, tolerance=1e-8)

    plain, other = learn(alike), learn(scaled)
    assert other.converged
    assert other.weights["x"] * scale == pytest.approx(plain.weights["x"], rel=1e-5)
    assert other.weights["y"] == pytest.approx(plain.weights["y"], rel=1e-5)
    assert other.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-8)
    assert other.num_steps <= plain.num_steps + 4
    assert other.standard_errors()["x"] * scale == pytest.approx(plain.standard_errors()["x"], rel=1e-4)


def test_units_of_inputs_do_not_matter_under_a_laplace_prior_of_the_same_units():
    """Inputs in other units, rates in the same: the same field."""
    frame, other = field_rows(), field_rows()
    other[["x1", "x2"]] *= 1e-5
    priors = {"push": pb.LaplacePrior(0.5), "same": pb.LaplacePrior(0.5)}
    plain = pb.learn.crf(FIELD, frame, TARGETS, prior=priors, tolerance=1e-8)
    tiny = pb.learn.crf(FIELD, other, TARGETS, prior={**priors, "push": pb.LaplacePrior(0.5e5)}, tolerance=1e-8)
    assert plain.converged
    assert tiny.converged
    assert tiny.weights["push"] * 1e-5 == pytest.approx(plain.weights["push"], rel=1e-5)
    assert tiny.log_likelihood() == pytest.approx(plain.log_likelihood(), abs=1e-7)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_units_of_features_do_not_matter_beside_a_group_prior(unit):
    """A feature without a prior, in any units, beside one with a norm: one optimum, in a few steps; a run goes on."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=list("abc"))
    rows.loc[:25, "c"] = rows.loc[:25, "b"] = rows.loc[:25, "a"]
    features = [
        pb.Feature(["a", "b"], np.eye(2) * unit, name="ab"),
        pb.Feature(["b", "c"], np.eye(2), name="bc"),
    ]
    priors = {"bc": pb.learn.GroupPrior(0.05)}
    fit = pb.learn.markov(features, rows, prior=priors, tolerance=1e-9)
    assert fit.converged
    assert fit.num_steps < 100

    def depth(point):  # features of a chain of signs: log Z = log 2 + Σ log(1 + exp θ)
        same = np.array([(rows.a == rows.b).sum(), (rows.b == rows.c).sum()])
        return -(same @ point - 60 * (math.log(2) + np.log1p(np.exp(point)).sum()) - abs(point[1]) / 0.05)

    best = minimize(depth, np.array([0.5, 0.5]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
    assert fit.objective == pytest.approx(-best.fun, abs=1e-7)
    assert fit.weights["ab"] * unit == pytest.approx(best.x[0], abs=1e-5)
    short = pb.learn.markov(features, rows, prior=priors, max_steps=3, tolerance=1e-9)
    again = pb.learn.markov(features, rows, prior=priors, tolerance=1e-9, resume=short.run)
    assert again.run.num_steps == fit.run.num_steps
    assert again.weights == fit.weights


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_inputs_do_not_matter_under_a_group_prior_of_the_same_units(unit):
    """A number as input of a chain, and the scale of its prior, in other units: the same field."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=80)
    labels = np.where(inputs + 0.7 * rng.normal(size=80) > 0, "up", "down")

    def fitted(scale):
        features = [
            pb.Feature([["Y1", "x1"], ["Y2", "x2"]], lambda y, x: (y == "up") * x, name="push"),
            pb.Feature(["Y1", "Y2"], alike, name="same"),
        ]
        frame = pd.DataFrame(
            {"Y1": labels[::2], "Y2": labels[1::2], "x1": inputs[::2] * scale, "x2": inputs[1::2] * scale}
        )
        priors = {"push": pb.learn.GroupPrior(0.5 / scale), "same": pb.learn.GroupPrior(0.5)}
        return pb.learn.crf(features, frame, TARGETS, prior=priors, tolerance=1e-8)

    plain, other = fitted(1.0), fitted(unit)
    assert plain.converged
    assert other.converged
    assert other.weights["push"] * unit == pytest.approx(plain.weights["push"], rel=1e-5)
    assert other.weights["same"] == pytest.approx(plain.weights["same"], rel=1e-5)


# --- directions without an end ---


def rises_for_ever(moves):
    """Whether some combination of the columns is negative in no row, and not zero in all."""
    found = linprog(-moves.sum(axis=0), A_ub=-moves, b_ub=np.zeros(len(moves)), bounds=(-1, 1), method="highs")
    return bool(-found.fun > 1e-6)


def test_a_combination_of_tables_without_a_best_is_told():
    """Haberman's table: 000 and 111 never occur, each pair does; no pairwise model has a finite best."""
    cells = [cell for cell in itertools.product((0, 1), repeat=3) if len(set(cell)) > 1]
    frame = pd.DataFrame(cells * 5, columns=list("ABC"))
    fit = pb.learn.markov([["A", "B"], ["B", "C"], ["A", "C"]], frame)
    assert not fit.infinite
    assert fit.diverging
    assert fit.has_maximum is False
    assert "rises for ever" in str(fit)
    direction = np.array([fit.diverging.get(name, 0.0) for name in fit.weights]).reshape(3, 2, 2)
    scopes = [(0, 1), (1, 2), (0, 2)]
    value = {
        c: sum(direction[k][c[i], c[j]] for k, (i, j) in enumerate(scopes)) for c in itertools.product((0, 1), repeat=3)
    }
    seen = [value[cell] for cell in cells]
    assert max(seen) - min(seen) < 1e-6
    assert max(value[0, 0, 0], value[1, 1, 1]) < min(seen) - 0.1
    assert all(math.isnan(fit.standard_errors()[name]) for name in fit.diverging)
    assert not pb.learn.markov([["A", "B"], ["B", "C"], ["A", "C"]], frame, prior=pb.GaussianPrior(1.0)).diverging


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
@pytest.mark.parametrize("seed", range(12))
def test_directions_without_an_end_are_those_of_a_linear_program_over_all_assignments(seed, objective):
    """Random features of few rows: told exactly where a combination wins, or ties, over all that rows compete with."""
    rng = np.random.default_rng(seed)
    tables = [rng.integers(-1, 2, (2, 2)).astype(float) + 0.25 for _ in range(4)]
    for table in tables:  # a feature that is the same everywhere is announced
        table[0, 0] += (table == table[1, 1]).all()
    scopes = ["AB", "BC", "CD", "AD"]
    features = [pb.Feature(list(s), t, name=f"f{k}") for k, (s, t) in enumerate(zip(scopes, tables, strict=True))]
    frame = pd.DataFrame(rng.integers(0, 2, (6, 4)), columns=list("ABCD"))
    cells = np.array(list(itertools.product((0, 1), repeat=4)))
    table = np.array(
        [t[cells[:, "ABCD".index(s[0])], cells[:, "ABCD".index(s[1])]] for s, t in zip(scopes, tables, strict=True)]
    ).T
    variables = [pb.Variable(name, 2) for name in "ABCD"]
    fit = pb.learn.markov(features, frame, variables=variables, objective=objective)
    places = frame.to_numpy() @ [8, 4, 2, 1]
    if objective == "likelihood":
        moves = table[places].mean(axis=0) - table
    else:
        moves = np.concatenate([table[places] - table[places ^ bit] for bit in (8, 4, 2, 1)])
    is_separated = rises_for_ever(moves)
    assert bool(fit.diverging or fit.infinite) == is_separated
    assert fit.has_maximum is (not fit.diverging)


def test_a_search_for_directions_that_is_cut_short_says_so(monkeypatch):
    """Directions that are neither found nor ruled out are told as not known."""
    cells = [cell for cell in itertools.product((0, 1), repeat=3) if len(set(cell)) > 1]
    frame, pairs = pd.DataFrame(cells * 5, columns=list("ABC")), [["A", "B"], ["B", "C"], ["A", "C"]]
    monkeypatch.setattr(recession, "_MANY_ROUNDS", 0)
    fit = pb.learn.markov(pairs, frame)
    assert not fit.diverging
    assert fit.has_maximum is None
    assert "took too long to find out" in str(fit)
    monkeypatch.setattr(recession, "_MANY_WEIGHTS", 3)
    assert pb.learn.markov(pairs, frame).has_maximum is None
    assert pb.learn.markov(pairs, frame, prior=pb.GaussianPrior(1.0)).has_maximum
    assert pb.learn.markov(pairs, frame, objective="piecewise").has_maximum is None


def test_a_field_that_separates_its_labels_by_two_features_says_so():
    """No single input tells the labels apart, their sum does: both are named, with the shares that do."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["x1", "x2", "x3"])
    frame["Y"] = (frame["x1"] + frame["x2"] > 0).astype(int)
    frame = frame[(frame["x1"] + frame["x2"]).abs() > 0.1].reset_index(drop=True)
    features = [pb.Feature(["Y", f"x{i}"], brightness, name=f"w{i}") for i in (1, 2, 3)]
    fit = pb.learn.crf(features, frame, ["Y"])
    shares = np.array([fit.diverging.get(f"w{i}", 0.0) for i in (1, 2, 3)])
    assert ((frame[["x1", "x2", "x3"]].to_numpy() @ shares > -1e-6) == (frame["Y"] == 1)).all()
    assert {"w1", "w2"} <= set(fit.diverging)
    assert not pb.learn.crf(
        features, frame.assign(Y=1 - frame["Y"].where(frame.index > 4)).fillna({"Y": 1}), ["Y"]
    ).diverging


def field_of_a_conjunction(optimizer):
    """A field of a conjunction, whose labels three weights separate, climbed in some way."""
    frame = pd.DataFrame({"u": list("00110011"), "v": list("01010101"), "y": list("00010001")})
    features = [
        pb.Feature(["u", "y"], lambda u, y: u == "1" and y == "1", name="uy"),
        pb.Feature(["v", "y"], lambda v, y: v == "1" and y == "1", name="vy"),
        pb.Feature(["y"], lambda y: y == "1", name="y"),
    ]
    if optimizer == "resumed":
        first = pb.learn.crf(features, frame, ["y"])
        return pb.learn.crf(features, frame, ["y"], resume=first.run.state)
    return pb.learn.crf(features, frame, ["y"], optimizer=optimizer)


@pytest.mark.parametrize("optimizer", [None, "conjugate-gradient", "steepest", "newton", "resumed"])
def test_all_weights_without_an_end_are_told_however_they_were_climbed(optimizer):
    """y = u and v: any logistic regression that separates these has both inputs' weights above, the other's below."""
    fit = field_of_a_conjunction(optimizer)
    assert set(fit.diverging) == {"uy", "vy", "y"}
    u, v, both = (fit.diverging[name] for name in ("uy", "vy", "y"))
    assert u + v + both > 0.1
    assert max(u, v) + both <= 1e-9
    assert both < 0
    assert all(math.isnan(error) for error in fit.standard_errors().values())


def test_published_means_on_a_face_are_told():
    """P(A) = P(A, B): B without A never is, which no finite weights say."""
    one_a, one_b, both = (
        pb.Feature([name], [0.0, 1.0], name=name)
        if len(name) == 1
        else pb.Feature(list(name), np.diag([0.0, 1.0]), name=name)
        for name in ("A", "B", "AB")
    )
    fit = pb.learn.maximum_entropy({"A": [0, 1], "B": [0, 1]}, {one_a: 0.4, one_b: 0.6, both: 0.4})
    assert fit.diverging["AB"] == pytest.approx(-fit.diverging["A"])
    assert fit.diverging["AB"] > 0
    inner = pb.learn.maximum_entropy({"A": [0, 1], "B": [0, 1]}, {one_a: 0.4, one_b: 0.6, both: 0.3})
    assert not inner.diverging


# --- standard errors of fields ---


def test_standard_errors_of_a_field_are_those_of_a_logistic_regression():
    """One target: the square roots of the inverse of Σ p (1 - p) x xᵀ."""
    frame = field_rows(2, 200)
    features = [pb.Feature(["Y1", f"x{i}"], brightness, name=f"w{i}") for i in (1, 2)]
    fit = pb.learn.crf(features, frame, ["Y1"], tolerance=1e-9)
    inputs, weights = frame[["x1", "x2"]].to_numpy(), np.array(list(fit.weights.values()))
    shares = 1 / (1 + np.exp(-inputs @ weights))
    information = inputs.T @ (inputs * (shares * (1 - shares))[:, None])
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    assert list(fit.standard_errors().values()) == pytest.approx(errors, rel=1e-5)
    assert fit.to_frame()["standard error"].tolist() == pytest.approx(errors, rel=1e-5)
    value = float(np.log(np.where(frame["Y1"] == 1, shares, 1 - shares)).sum())
    assert fit.log_likelihood() == pytest.approx(value, rel=1e-9)
    assert f"log-likelihood {value:.6g}" in str(fit)
    assert "converged after" in str(fit)


@pytest.mark.slow
def test_standard_errors_of_a_field_by_pseudolikelihood_are_those_of_many_samples():
    """The sandwich: over 300 samples of a field its weights spread as told, within the noise of such a spread."""
    truth = {"push": 1.0, "same": 0.8}
    fits = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(100, 2))
        logs = np.array(
            [
                [
                    truth["push"] * (a * r[0] + b * r[1]) + truth["same"] * (a == b)
                    for a, b in itertools.product((0, 1), repeat=2)
                ]
                for r in x
            ]
        )
        logs -= np.logaddexp.reduce(logs, axis=1)[:, None]
        chosen = (rng.random(100)[:, None] > np.exp(logs).cumsum(axis=1)).sum(axis=1)
        frame = pd.DataFrame({"x1": x[:, 0], "x2": x[:, 1], "Y1": chosen // 2, "Y2": chosen % 2})
        fits.append(pb.learn.crf(FIELD, frame, TARGETS, objective="pseudolikelihood"))
    for name, value in truth.items():
        weights = np.array([fit.weights[name] for fit in fits])
        told = np.mean([fit.standard_errors()[name] for fit in fits[:20]])
        assert weights.std() == pytest.approx(told, rel=0.15)
        assert weights.mean() == pytest.approx(value, abs=4 * told / math.sqrt(300) + 0.03)
