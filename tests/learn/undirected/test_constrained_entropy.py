"""Constrained approximate maximum entropy: one program against messages, a general optimiser, and exact learning."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from tests.learn.undirected.test_markov import random_case

import plausible as pb
from plausible.inference.regions import CountingNumbers

PAIRS = ("AB", "BC", "AC")
SHARED = [
    pb.Feature(list(map(list, PAIRS)), lambda a, b: a == b == 0, name="f00"),
    pb.Feature(list(map(list, PAIRS)), lambda a, b: a == b == 1, name="f11"),
]
CONVEX = ("bethe-like", "trees", "covering")


def rows(seed=0, number=60):
    """Three binary columns that tend to agree."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (number, 3))
    codes[:, 1] = np.where(rng.random(number) < 0.4, codes[:, 0], codes[:, 1])
    return pd.DataFrame(codes, columns=list("ABC"))


def by_entropy(counts="bethe", features=SHARED, frame=None, **options):
    frame = rows() if frame is None else frame
    return pb.learn.markov(features, frame, objective=pb.learn.ConstrainedEntropy(counts), **options)


def entropy(table):
    """H of a table, with no logarithm of zero."""
    return -float(sum(p * math.log(p) for p in np.ravel(table) if p > 1e-300))


@pytest.mark.parametrize(("pair_count", "single_count"), [(1.0, -1.0), (0.5, 0.0), (2 / 3, -1 / 3)])
def test_the_tables_are_those_of_a_general_optimiser(pair_count, single_count):
    """Koller & Friedman's example 20.2: shared f00 and f11 on a triangle, all tables and constraints written out."""
    means = [
        sum(float(((rows()[first] == state) & (rows()[second] == state)).mean()) for first, second in PAIRS)
        for state in (0, 1)
    ]

    def split(point):
        return point[:12].reshape(3, 2, 2), point[12:].reshape(3, 2)

    def missed(point):
        pairs, singles = split(point)
        agree = [
            side[1] - singles["ABC".index(name), 1]
            for pair, table in zip(PAIRS, pairs, strict=True)
            for name, side in zip(pair, (table.sum(axis=1), table.sum(axis=0)), strict=True)
        ]
        sums = [pairs[:, state, state].sum() - mean for state, mean in enumerate(means)]
        return np.concatenate([agree, pairs.sum(axis=(1, 2)) - 1, singles.sum(axis=1) - 1, sums])

    def loss(point):
        pairs, singles = split(point)
        return -pair_count * sum(map(entropy, pairs)) - single_count * sum(map(entropy, singles))

    start = np.concatenate([np.full(12, 0.25), np.full(6, 0.5)])
    options = {"ftol": 1e-15, "maxiter": 500}
    found = minimize(
        loss, start, bounds=[(1e-9, 1)] * 18, constraints={"type": "eq", "fun": missed}, method="SLSQP", options=options
    )
    if pair_count == 1.0:
        fit = by_entropy("bethe")
    else:
        fit = by_entropy(lambda problem: CountingNumbers(np.full(3, pair_count), np.full(3, single_count)))
    assert fit.objective == pytest.approx(60 * found.fun, abs=1e-5)
    assert fit.moment_gap < 1e-10


def test_on_a_chain_it_has_the_worked_weights():
    """Figure 20.1: 40 of 100 rows each have a1 b1 and b0 c1, so both weights are log 4 and the likelihood -188.67."""
    cells = [(1, 1, 0)] * 40 + [(0, 0, 1)] * 40 + [(0, 0, 0)] * 20
    features = [
        pb.Feature(["A", "B"], lambda a, b: a == 1 and b == 1, name="x"),
        pb.Feature(["B", "C"], lambda b, c: b == 0 and c == 1, name="y"),
    ]
    fit = by_entropy("bethe", features, pd.DataFrame(cells, columns=list("ABC")))
    assert dict(fit.weights) == pytest.approx({"x": math.log(4), "y": math.log(4)}, abs=1e-9)
    assert (fit.objective, fit.log_likelihood) == pytest.approx((-188.66968, -188.66968), abs=1e-5)
    assert fit.kind == "exact"


def test_on_trees_it_is_maximum_likelihood_and_proportional_fitting():
    """Bethe's entropy is the true one: the tables of a tree of pairs and a triple, each of them learned exactly."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(0, [2, 3, 2, 3, 2], (80, 5)), columns=list("ABCDE"))
    scopes = [["A", "B"], ["B", "C", "D"], ["C"], ["D", "E"], ["B", "C"]]
    fit, fitted = by_entropy("bethe", scopes, frame), pb.learn.markov(scopes, frame, optimizer="ipf")
    assert fit.kind == "exact"
    assert fit.objective == pytest.approx(fitted.objective, abs=1e-8)
    assert fit.log_likelihood == pytest.approx(fitted.log_likelihood, abs=1e-8)


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_bethe_tables_are_those_of_the_climb_with_messages_inside(seed):
    """A maximum of Bethe's entropy under the means is where belief propagation has these means, nested scopes too."""
    features, variables, frame = random_case(seed)
    fit = by_entropy("bethe", features, frame, variables=variables.values(), tolerance=1e-9)
    climbed = pb.learn.markov(
        features, frame, variables=variables.values(), engine=pb.LoopyBP(tolerance=1e-12), tolerance=1e-9
    )
    assert fit.converged
    assert fit.objective == pytest.approx(climbed.objective, abs=1e-6)
    assert (np.diff(fit.run.trace[1:]) >= -1e-9).all()  # the entropy never falls


@pytest.mark.parametrize("counts", CONVEX)
def test_convex_tables_are_those_of_convex_messages_and_their_one_maximum(counts):
    """The same weights by one program from any start, and by a climb with convex belief propagation inside."""
    rng = np.random.default_rng(3)
    climbed = pb.learn.markov(
        SHARED, rows(), engine=pb.inference.ConvexBP(counts=counts, tolerance=1e-12), tolerance=1e-9
    )
    for _ in range(4):
        fit = by_entropy(counts, start={name: float(rng.normal(scale=3)) for name in ("f00", "f11")})
        assert fit.num_steps == 1
        assert fit.objective == pytest.approx(climbed.objective, abs=1e-7)
        assert dict(fit.weights) == pytest.approx(dict(climbed.weights), abs=1e-6)


@pytest.mark.parametrize("counts", ["trees", "covering"])
def test_entropies_that_are_never_too_low_bound_the_likelihood(counts):
    """-M H is at most the likelihood of the weights, and so at most the greatest."""
    for seed in range(10):
        features, variables, frame = random_case(seed)
        fit = by_entropy(counts, features, frame, variables=variables.values())
        assert fit.kind == "lower bound"
        assert fit.objective <= fit.log_likelihood + 1e-9


def test_the_value_at_any_weights_has_the_gradient_of_its_differences():
    """θ·s - M max_b (θ·E_b[f] + H(b)), by central differences, where it is no maximum."""
    goal = by_entropy("trees")._climb.objective
    point = np.array([0.3, -0.4])
    steps = 1e-5 * np.eye(2)
    slopes = [(goal.at(point + step)[0] - goal.at(point - step)[0]) / 2e-5 for step in steps]
    assert goal.at(point)[1] == pytest.approx(slopes, abs=1e-5)


def test_combinations_that_no_row_has_are_ruled_out():
    """A pair never seen has the weight -inf, and a state never seen leaves no table without it."""
    frame = pd.DataFrame({"A": [0, 0, 1, 1, 0, 1, 0], "B": [0, 1, 1, 1, 0, 1, 1], "C": [0, 1, 0, 1, 1, 0, 0]})
    states = [pb.Variable("C", 3)]
    scopes = [["A", "B"], ["B", "C"], ["A", "C"]]
    fit = by_entropy("trees", scopes, frame, variables=states)
    assert fit.infinite["A=1, B=0"] == -math.inf
    assert fit.moment_gap < 1e-10
    assert fit.network.query("C").values[2] == 0.0


def test_means_on_a_face_have_no_best_weights():
    """Whoever has A has B: neither feature is extreme by itself, but their difference is."""
    frame = pd.DataFrame({"A": [0, 0, 1, 1], "B": [0, 1, 1, 1]})
    features = [pb.Feature(["A"], lambda a: a, name="a"), pb.Feature(["A", "B"], lambda a, b: a * b, name="both")]
    with pytest.raises(pb.errors.ModelContradicted, match="a prior"):
        by_entropy("bethe", features, frame)


def test_a_field_with_a_tree_of_targets_is_learned_exactly():
    """Each row's tables are parts of one program; on chains its weights are those of the likelihood."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=["Y1", "Y2", "Y3"]).assign(x=rng.normal(size=40))
    features = [
        pb.Feature([["Y1", "Y2"], ["Y2", "Y3"]], lambda a, b: a == b, name="same"),
        pb.Feature([["Y1", "x"], ["Y2", "x"], ["Y3", "x"]], lambda y, x: y * x, name="push"),
    ]
    targets = ["Y1", "Y2", "Y3"]
    fit = pb.learn.crf(features, frame, targets=targets, objective="constrained-entropy")
    exact = pb.learn.crf(features, frame, targets=targets, tolerance=1e-9)
    assert dict(fit.weights) == pytest.approx(dict(exact.weights), abs=1e-6)
    assert fit.objective == pytest.approx(exact.objective, abs=1e-8)


def test_a_run_goes_on_and_begins_anew_on_other_data():
    """A step at a time comes to the same tables, through a pickle too; other means are met from the old weights."""
    features = [*SHARED, pb.Feature(["A", "B"], lambda a, b: a * (1 - b), name="apart")]
    options = {"features": features, "tolerance": 1e-9}
    whole, part = by_entropy(**options), by_entropy(max_steps=2, **options)
    assert part.stopped_by == "step limit"
    gone_on = by_entropy(resume=pickle.loads(pickle.dumps(part.run)), **options)
    assert gone_on.num_steps == whole.num_steps > 2
    assert dict(gone_on.weights) == pytest.approx(dict(whole.weights), abs=1e-9)
    other = by_entropy(frame=rows(1), resume=whole.run, **options)
    assert dict(other.weights) == pytest.approx(dict(by_entropy(frame=rows(1), **options).weights), abs=1e-6)


def test_what_it_refuses():
    """Priors, engines, optimisers, missing cells, and counting numbers that are not convex."""
    with pytest.raises(pb.errors.NotSupported, match="prior="):
        by_entropy(prior=pb.GaussianPrior(1.0))
    with pytest.raises(pb.errors.NotSupported, match="counts="):
        by_entropy(engine=pb.LoopyBP())
    with pytest.raises(pb.errors.NotSupported, match="missing"):
        by_entropy(frame=rows().astype(float).replace(0.0, np.nan))
    ring = [list(pair) for pair in ("AB", "BC", "CD", "AD", "AC", "BD")]
    frame = rows().assign(D=rows(1)["A"])
    with pytest.raises(pb.errors.InvalidArgument, match="not convex"):
        by_entropy(lambda problem: CountingNumbers(np.ones(6), np.full(4, -2.0)), ring, frame)
    with pytest.raises(pb.errors.InvalidArgument, match="bethe-like"):
        pb.learn.ConstrainedEntropy("kikuchi")
