"""Structure of Markov networks: worked numbers, conditions of optima, and laws against enumeration."""

import copy
import itertools
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize, minimize_scalar

import plausible as pb
from plausible.learn.independence.independence_test import DSeparationOracle, Question
from plausible.learn.undirected.objectives import Pseudolikelihood
from plausible.learn.undirected_structures.pair_sums import PairwisePseudolikelihood

METHODS = ["l1", "chow-liu", "chordal", "neighbourhood", "tests", "greedy"]


def ising_rows(seed=0, num_rows=400, edges=(("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")), names="ABCDE", weight=0.8):
    """Rows of ±-coupled binary variables, drawn by enumeration."""
    cells = list(itertools.product((0, 1), repeat=len(names)))
    signs = 2 * np.array(cells) - 1
    place = {name: number for number, name in enumerate(names)}
    energy = sum(weight * signs[:, place[a]] * signs[:, place[b]] for a, b in edges)
    mass = np.exp(energy) / np.exp(energy).sum()
    drawn = np.random.default_rng(seed).choice(len(cells), size=num_rows, p=mass)
    return pd.DataFrame(np.array(cells)[drawn], columns=list(names))


def enumerated_l1(frame, strength):
    """The penalised likelihood over all pairs, per row, climbed by SciPy on split weights: no code of the library."""
    names = list(frame.columns)
    cells = np.array(list(itertools.product((0, 1), repeat=len(names))))
    pairs = list(itertools.combinations(range(len(names)), 2))

    def features(codes):
        signs = 2 * np.asarray(codes) - 1
        return np.column_stack([signs, *(0.5 * signs[:, a] * signs[:, b] for a, b in pairs)])

    table, means, n = features(cells), features(frame.to_numpy()).mean(axis=0), len(names)

    def loss(split):
        weights = np.concatenate([split[:n], split[n : n + len(pairs)] - split[n + len(pairs) :]])
        energy = table @ weights
        peak = energy.max()
        mass = np.exp(energy - peak)
        slope = table.T @ mass / mass.sum() - means
        value = peak + math.log(mass.sum()) - means @ weights + strength * split[n:].sum()
        return value, np.concatenate([slope[:n], slope[n:] + strength, -slope[n:] + strength])

    bounds = [(None, None)] * n + [(0, None)] * (2 * len(pairs))
    best = minimize(loss, np.zeros(n + 2 * len(pairs)), jac=True, bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9})
    weights = best.x[n : n + len(pairs)] - best.x[n + len(pairs) :]
    return best.fun, {(names[a], names[b]) for (a, b), w in zip(pairs, weights, strict=True) if abs(w) > 1e-5}


@pytest.mark.parametrize("strength", [0.02, 0.05, 0.12])
def test_l1_reaches_the_optimum_over_all_pairs(strength):
    """Features that enter one after the other end at the optimum of the convex problem, and its conditions hold."""
    frame = ising_rows()
    found = pb.learn.markov_structure(frame, strength=strength, objective="likelihood", tolerance=1e-7)
    loss, edges = enumerated_l1(frame, strength)
    penalty = strength * sum(abs(w) for name, w in found.fit.weights.items() if " - " in name)
    assert -found.path[0].objective / len(frame) + penalty == pytest.approx(loss, abs=1e-8)
    assert set(found.graph.edges) == edges
    assert found.kkt_residual <= 1e-6
    assert found.converged


def test_l1_conditions_hold_with_three_states_and_groups():
    """In the model the slope has the norm of the rate; outside it is at most the rate, not half of it."""
    frame = ising_rows(3)
    frame["C"] += (frame["C"] == 1) & (np.arange(len(frame)) % 3 == 0)
    found = pb.learn.markov_structure(frame, strength=0.04, tolerance=1e-7, objective="likelihood")
    norms = {}
    for a, b in itertools.combinations("ABCDE", 2):
        model = found.network.query([a, b]).reorder([a, b]).values
        norms[a, b] = np.linalg.norm(pd.crosstab(frame[a], frame[b], normalize=True).to_numpy() - model)
    for pair, norm in norms.items():
        if pair in found.graph.edges:
            assert norm == pytest.approx(0.04, abs=1e-5)
        else:
            assert norm <= 0.04 + 1e-5
    assert any(norm > 0.02 for pair, norm in norms.items() if pair not in found.graph.edges)


def test_pseudolikelihood_path_finds_the_graph_and_starts_empty():
    """The first strength leaves nothing; along the path edges come in; the extended BIC finds the graph."""
    frame = ising_rows(1, 1000)
    found = pb.learn.markov_structure(frame, objective="pseudolikelihood", num_strengths=8)
    assert found.path[0].num_edges == 0 < found.path[-1].num_edges
    assert set(found.graph.edges) == {("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")}
    assert max(point.kkt_residual for point in found.path) <= 2e-5
    assert len(found.to_frame()) == len(found.path)


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood"])
def test_a_path_ends_where_it_no_longer_pays(objective):
    """Three scores in a row below the best end a default path; its points and its choice are those of the whole one."""
    frame = ising_rows(1, 1000, names="ABCDEFG")
    found = pb.learn.markov_structure(frame, objective=objective, num_strengths=12)
    strengths = np.geomspace(found.path[0].strength, found.path[0].strength / 100, 12)
    whole = pb.learn.markov_structure(frame, objective=objective, strengths=strengths)
    scores = [point.score for point in found.path]
    best = max(number for number, score in enumerate(scores) if score == max(scores))
    assert len(whole.path) == 12 > len(found.path) == best + 4
    assert whole.graph == found.graph
    assert whole.path[best + 3].edges == found.path[-1].edges
    assert found.stopped_by == "converged"


@pytest.mark.parametrize("score", ["bic", "cross-validation"])
def test_strengths_are_chosen_by_score(score):
    """The chosen strength has the best score; all true edges are in."""
    found = pb.learn.markov_structure(ising_rows(2, 600), score=score, num_strengths=6, folds=3)
    best = max(found.path, key=lambda point: point.score)
    assert found.strength == best.strength
    assert {("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")} <= set(found.graph.edges)


def test_l1_takes_missing_cells():
    """The observed-data likelihood with a penalty: at the optimum the expected counts meet the rates (enumeration)."""
    frame = ising_rows(4, 60, edges=[("A", "B")], names="ABC").astype("Int64")
    frame.loc[::4, "B"] = pd.NA
    found = pb.learn.markov_structure(frame, strength=0.05, tolerance=1e-7)
    cells = np.array(list(itertools.product((0, 1), repeat=3)))
    mass = np.array([found.network.query(list("ABC")).reorder(list("ABC")).values[tuple(cell)] for cell in cells])
    signs = 2 * cells - 1
    for a, b in itertools.combinations(range(3), 2):
        values, slope = 0.5 * signs[:, a] * signs[:, b], 0.0
        for row in frame.to_numpy():
            agree = np.array([all(pd.isna(r) or r == c for r, c in zip(row, cell, strict=True)) for cell in cells])
            slope += (mass * agree) @ values / (mass * agree).sum() - mass @ values
        slope, is_edge = abs(slope) / len(frame), ("ABC"[a], "ABC"[b]) in found.graph.edges
        assert slope == pytest.approx(0.05, abs=1e-5) if is_edge else slope <= 0.05 + 1e-5
    assert found.graph.is_adjacent("A", "B")
    assert not found.graph.is_adjacent("A", "C")


def test_neighbourhoods_are_penalised_regressions_of_each_variable():
    """With two and three states the losses equal those of SciPy on split weights; conditions hold for all targets."""
    frame = ising_rows(10, 300)
    found = pb.learn.markov_structure(frame, "neighbourhood", strength=0.03, tolerance=1e-8, rule="or")
    total, wanted, signs = 0.0, set(), 2 * frame.to_numpy() - 1.0
    for target, name in enumerate(frame):
        others = np.delete(signs, target, axis=1)
        sources = [other for other in frame if other != name]

        def loss(split, others=others, own=signs[:, target]):
            odds = split[0] + others @ (split[1:5] - split[5:])
            pull = -own / (1 + np.exp(own * odds)) / len(own)
            slope = others.T @ pull
            value = np.logaddexp(0, -own * odds).mean() + 0.03 * split[1:].sum()
            return value, np.concatenate([[pull.sum()], slope + 0.03, -slope + 0.03])

        bounds = [(None, None)] + [(0, None)] * 8
        best = minimize(loss, np.zeros(9), jac=True, bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10})
        total += best.fun - 0.03 * best.x[1:].sum()
        wanted |= {
            frozenset((name, s)) for s, a, b in zip(sources, best.x[1:5], best.x[5:], strict=True) if abs(a - b) > 1e-5
        }
    assert -found.path[0].objective / len(frame) == pytest.approx(total, abs=1e-6)
    assert {frozenset(edge) for edge in found.graph.edges} == wanted


def test_scores_of_neighbourhoods_are_extended_bic():
    """log-likelihood without the penalty - (½ ln N + γ ln (p - 1)) x neighbours, over all targets (binary columns)."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 2, 300)
    frame = {f"v{i}": np.where(rng.random(300) < 0.1 + 0.12 * i, kind, rng.integers(0, 2, 300)) for i in range(5)}
    frame = {name: column.astype(int) for name, column in frame.items()}

    def path(gamma, rule):
        return pb.learn.markov_structure(frame, "neighbourhood", gamma=gamma, rule=rule, num_strengths=8).path

    def likelihood(target, others):
        design = np.column_stack([np.ones(300), *(frame[name] for name in others)])
        signs = 2 * frame[target] - 1
        return -minimize(lambda w: np.logaddexp(0, -signs * (design @ w)).sum(), np.zeros(design.shape[1])).fun

    num_judged = 0
    for one, other, wide in zip(path(0.0, "and"), path(0.7, "and"), path(0.7, "or"), strict=True):
        num_neighbours = len(other.edges) + len(wide.edges)
        assert one.score - other.score == pytest.approx(0.7 * np.log(4) * num_neighbours, abs=1e-9)
        if other.edges == wide.edges:
            near = {name: [a if b == name else b for a, b in other.edges if name in (a, b)] for name in frame}
            whole = sum(likelihood(name, others) for name, others in near.items())
            assert one.score == pytest.approx(whole - 0.5 * np.log(300) * num_neighbours, abs=0.02)
            num_judged += bool(num_neighbours)
    assert num_judged > 1


def test_neighbourhoods_with_more_states_meet_the_conditions_and_find_the_graph():
    """Three states: the multinomial loss of one target by a plain formula; a path finds the edges."""
    frame = ising_rows(11, 1500)
    frame["C"] += (frame["C"] == 1) & (np.arange(len(frame)) % 2 == 0)
    found = pb.learn.markov_structure(frame, "neighbourhood", num_strengths=10)
    assert set(found.graph.edges) == {("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")}
    assert found.kkt_residual <= 1e-5
    assert found.fit.log_likelihood > pb.learn.markov_structure(frame, "chow-liu").fit.log_likelihood
    empty = -sum(
        (frame[name].value_counts(normalize=True) * np.log(frame[name].value_counts(normalize=True))).sum()
        for name in frame
    )
    assert found.path[0].objective == pytest.approx(-1500 * empty, abs=0.05)
    assert found.path[0].num_edges == 0


def test_regressions_of_many_states_end_in_few_steps():
    """Rare states bend the loss little; steps that remember those before them see that."""
    rng = np.random.default_rng(2)
    rows = rng.integers(25, size=(800, 4))
    for place in range(1, 4):
        rows[:, place] = np.where(rng.random(800) < 0.5, rows[:, place - 1], rows[:, place])
    found = pb.learn.markov_structure(dict(zip("ABCD", rows.T, strict=True)), "neighbourhood", strength=0.01)
    assert found.converged
    assert found.kkt_residual <= 1e-5
    assert found.run.num_steps < 120  # some 500 if each step is made as if it were the first


def test_pairwise_sums_equal_those_of_any_scope():
    """Value and gradient by matrix products equal those row by row, tables with zeros and more states included."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"A": rng.integers(0, 2, 50), "B": rng.integers(0, 3, 50), "C": rng.integers(0, 2, 50)})
    fit = pb.learn.markov([["A"], ["B"], ["C"], ["B", "A"], ["B", "C"]], frame, max_steps=1)
    point, data = rng.normal(size=len(fit.weights)), fit._data
    ruled_out = np.zeros(data.design.num_entries, dtype=bool)
    for matrix, plain in zip(
        PairwisePseudolikelihood().on(data).at(point), Pseudolikelihood().on(data).at(point), strict=True
    ):
        assert matrix == pytest.approx(plain, rel=1e-12, abs=1e-10)
    ruled_out[data.counts == 0] = True
    cut = [
        replace(one.on(data), design=data.design.without(ruled_out))
        for one in (PairwisePseudolikelihood(), Pseudolikelihood())
    ]
    for matrix, plain in zip(cut[0].at(point), cut[1].at(point), strict=True):
        assert matrix == pytest.approx(plain, rel=1e-12, abs=1e-10)


def test_chow_liu_is_the_best_of_all_trees():
    """No spanning tree has a greater likelihood; the fit is counted (enumeration of all trees)."""
    frame = ising_rows(5, 80, edges=[("A", "B"), ("B", "C"), ("C", "D")], names="ABCD")
    found = pb.learn.markov_structure(frame, "chow-liu", score="likelihood")
    pairs = list(itertools.combinations("ABCD", 2))
    trees = [pb.UndirectedGraph(list(tree), nodes=list("ABCD")) for tree in itertools.combinations(pairs, 3)]
    best = max(pb.learn.markov(tree, frame).log_likelihood for tree in trees if tree.is_tree)
    assert found.fit.log_likelihood == pytest.approx(best, abs=1e-9)
    assert found.fit.num_steps == 0
    noise = pd.DataFrame(np.random.default_rng(0).integers(0, 2, size=(200, 3)), columns=list("XYZ"))
    assert pb.learn.markov_structure(noise, "chow-liu").graph.num_edges == 0


def test_tests_find_the_skeleton_of_a_collider_and_miss_its_moral_edge():
    """X → Z ← Y with tests that are never wrong: X - Z - Y, though the Markov network needs X - Y (example 20.4)."""
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 2, size=(50, 3)), columns=list("XYZ"))
    found = pb.learn.markov_structure(rows, "tests", test=DSeparationOracle("X -> Z <- Y"), max_degree=1)
    assert {frozenset(edge) for edge in found.graph.edges} == {frozenset("XZ"), frozenset("YZ")}
    assert found.num_tests == 3 * pb.learn.num_independence_tests(3, 1) == 6
    assert set(found.network.variables) == set("XYZ")
    assert "pb.learn.markov(result.graph" in found.fitted_by


def test_pairwise_tests_find_the_moral_graph_and_blankets():
    """Given all others the moral edge of a collider is there; neighbours make a variable independent of the rest.

    The oracle is d-separation in a directed graph, and the truth its moral graph.
    """
    directed = pb.DAG("A -> C <- B; C -> D; E -> D; E -> F")
    oracle, names = DSeparationOracle(directed), list("ABCDEF")
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 2, size=(50, 6)), columns=names)
    found = pb.learn.markov_structure(rows, "tests", test=oracle, given="others")
    assert found.graph == directed.moralize()
    assert found.num_tests == 15
    for name in names:
        neighbours = tuple(sorted(found.graph.neighbors(name)))
        if rest := tuple(other for other in names if other != name and other not in neighbours):
            assert oracle.ask([Question(name, neighbours, rest)]).are_independent(0.05).all()
        for left_out in neighbours:  # and no smaller set does
            fewer = tuple(other for other in neighbours if other != left_out)
            assert not oracle.ask([Question(name, fewer, (*rest, left_out))]).are_independent(0.05).all()
    with pytest.raises(pb.errors.InvalidArgument, match="given="):
        pb.learn.markov_structure(rows, "tests", given="none")


def test_pairwise_tests_want_rows_for_all_joint_states():
    """Of few variables they find a cycle from data; with more the same rows don't tell, where few given still do."""
    frame = ising_rows(6, 3000)
    cycle = {("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")}
    assert set(pb.learn.markov_structure(frame, "tests", given="others", alpha=0.001).graph.edges) == cycle
    noise = pd.DataFrame(np.random.default_rng(1).integers(0, 2, size=(3000, 9)), columns=list("NOPQRSTUV"))
    wide = pd.concat([frame, noise], axis=1)
    assert set(pb.learn.markov_structure(wide, "tests", max_degree=2, alpha=1e-5).graph.edges) == cycle
    assert set(pb.learn.markov_structure(wide, "tests", given="others", alpha=1e-5).graph.edges) != cycle


def test_screening_keeps_the_pairs_that_depend_most_and_is_blind_to_what_they_explain():
    """Pairs of most mutual information by a plain formula; a weak link loses to a pair that two strong ones join."""
    strong = ising_rows(21, 3000, names="ABC", edges=[("A", "B"), ("B", "C")], weight=1.2)
    rng = np.random.default_rng(3)
    frame = strong.assign(D=np.where(rng.random(3000) < 0.25, strong.C, rng.integers(0, 2, 3000)))
    found = pb.learn.markov_structure(frame, num_candidates=3)
    worth = {}
    for pair in itertools.combinations("ABCD", 2):
        joint = pd.crosstab(*(frame[name] for name in pair), normalize=True).to_numpy()
        product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        worth[pair] = (joint * np.log(joint / product)).sum()
    assert set(found.graph.edges) <= set(sorted(worth, key=worth.get)[-3:])
    assert not found.graph.is_adjacent("C", "D")
    assert pb.learn.markov_structure(frame).graph.is_adjacent("C", "D")
    assert pb.learn.markov_structure(frame, num_candidates=3, required="C - D").graph.is_adjacent("C", "D")


def test_tests_find_a_cycle_from_data():
    """A cycle of four has degree two: sets of two separate what is not joined."""
    found = pb.learn.markov_structure(ising_rows(6, 3000), "tests", max_degree=2, alpha=0.001)
    assert set(found.graph.edges) == {("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")}
    assert found.error_bound == pytest.approx(min(1, 10 * 7 * 0.001))


def test_numbers_of_tests_and_of_rows():
    """W7 and W8."""
    assert [pb.learn.num_independence_tests(*c) for c in ((10, 2), (10, 3), (20, 3))] == [37, 93, 988]
    assert pb.learn.l1_sample_size(10, 2, bound=5, error=0.1) == pytest.approx(66846.1, abs=0.05)


UNIFORM = pd.DataFrame([(1, 1)] * 40 + [(1, 0)] * 10 + [(0, 1)] * 10 + [(0, 0)] * 40, columns=["A", "B"])
BOTH = pb.Feature(["A", "B"], lambda a, b: a == b == 1, name="both")


@pytest.mark.parametrize(
    ("prior", "gain", "weight"),
    [
        (None, 5.41153, math.log(2)),
        (pb.LaplacePrior(1 / 5), 2.47497, 0.479573),
        (pb.LaplacePrior(1 / 20), 0.0, 0.0),
        (pb.GaussianPrior(1 / 100), 0.944270, 0.125700),
    ],
)
def test_gains_of_one_feature_are_the_worked_numbers(prior, gain, weight):
    """W1: M times D(.4 || .25); shrunk towards .25 by an L1 penalty; searched for with an L2 penalty."""
    fit = pb.learn.markov([["A"], ["B"]], UNIFORM)
    (found,) = pb.learn.feature_gains(fit, [BOTH], prior=prior)
    assert found.gain == pytest.approx(gain, abs=1e-5)
    assert found.weights == pytest.approx((weight,), abs=1e-6)


def test_gains_are_what_one_table_or_feature_adds_alone():
    """Beside a chain, for a pair that is in no clique: the closed forms equal a search over the feature's weight."""
    frame = ising_rows(7, 100, names="ABCD")
    fit = pb.learn.markov("A - B - C - D", frame)
    table = fit.network.query(["A", "D"]).reorder(["A", "D"]).values
    empirical = pd.crosstab(frame["A"], frame["D"], normalize=True).to_numpy()
    same = pb.Feature(["A", "D"], lambda a, d: 3.0 * (a == d) - d, name="odd")
    odd = np.array([[3.0, -1.0], [0.0, 2.0]])
    gains = {one.feature: one for one in pb.learn.feature_gains(fit, [["A", "D"], same])}
    assert gains["A, D"].gain == pytest.approx(100 * (empirical * np.log(empirical / table)).sum(), abs=1e-8)
    best = minimize_scalar(lambda w: math.log((table * np.exp(w * odd)).sum()) - w * (empirical * odd).sum())
    assert gains["odd"].gain == pytest.approx(-100 * best.fun, abs=1e-6)
    assert gains["odd"].gradient == pytest.approx(100 * abs(((empirical - table) * odd).sum()), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_required_and_forbidden_edges_are_kept(method):
    """An edge that must be there is, one that must not is not, and degenerate columns do no harm."""
    frame = ising_rows(8, 200).assign(K="only")
    found = pb.learn.markov_structure(frame, method, required="A - E", forbidden=[("A", "B")])
    assert found.graph.is_adjacent("A", "E")
    assert not found.graph.is_adjacent("A", "B")
    assert found.graph.degree("K") == 0
    assert math.isfinite(found.fit.log_likelihood)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("frame", [pd.DataFrame({"A": [0, 1]}), pd.DataFrame({"A": [0], "B": [1]})], ids=["one", "row"])
def test_hardly_any_data_leave_no_edge(method, frame):
    """One variable, or one row."""
    assert pb.learn.markov_structure(frame, method).graph.num_edges == 0


def test_wrong_options_are_told():
    """The option, and what it could be."""
    frame = ising_rows(9, 20)
    with pytest.raises(pb.errors.InvalidArgument, match="chow-liu"):
        pb.learn.markov_structure(frame, "chow-lu")
    with pytest.raises(TypeError, match="strength"):
        pb.learn.markov_structure(frame, stength=1)
    with pytest.raises(pb.errors.UnknownVariable, match="required"):
        pb.learn.markov_structure(frame, required="A - Q")
    with pytest.raises(pb.errors.InvalidArgument, match="both"):
        pb.learn.markov_structure(frame, required="A - B", forbidden="A - B")


def best_bic_of_all(frame):
    """The best BIC of all sets of pairs, and that set: likelihoods by proportional fitting of the full table."""
    names, pairs = list(frame), list(itertools.combinations(range(frame.shape[1]), 2))
    counts = np.zeros([2] * len(names))
    np.add.at(counts, tuple(frame.to_numpy().T), 1)
    found = []
    for size in range(len(pairs) + 1):
        for chosen in itertools.combinations(pairs, size):
            model = np.full(counts.shape, 1 / counts.size)
            for _ in range(200):
                for scope in [*((place,) for place in range(len(names))), *chosen]:
                    others = tuple(axis for axis in range(len(names)) if axis not in scope)
                    model = model * (counts.sum(others, keepdims=True) / len(frame) / model.sum(others, keepdims=True))
            log_likelihood = (counts[counts > 0] * np.log(model[counts > 0])).sum()
            score = log_likelihood - 0.5 * (len(names) + size) * math.log(len(frame))
            found.append((score, {(names[a], names[b]) for a, b in chosen}))
    return max(found, key=lambda one: one[0])


@pytest.mark.parametrize("batch", [1, 3])
def test_greedy_search_finds_the_best_score_of_all_graphs(batch):
    """BIC over all 64 sets of pairs of four variables; moves made together end at the same."""
    frame = ising_rows(12, 250, names="ABCD")
    score, edges = best_bic_of_all(frame)
    found = pb.learn.markov_structure(frame, "greedy", batch=batch, tolerance=1e-8)
    assert found.score == pytest.approx(score, abs=1e-4)
    assert set(found.graph.edges) == edges
    assert list(found.trace) == sorted(found.trace)


@pytest.mark.parametrize("score", ["laplace", "pseudolikelihood"])
def test_greedy_scores_find_a_cycle(score):
    """The Laplace approximation with a Gaussian prior, and the pseudolikelihood with a penalty, find the true graph."""
    found = pb.learn.markov_structure(ising_rows(13, 600), "greedy", score=score)
    assert set(found.graph.edges) == {("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")}


def test_map_score_reaches_the_optimum_of_l1():
    """The penalised optimum is the same, whichever way features come in."""
    frame = ising_rows(14, 300)
    by_path = pb.learn.markov_structure(frame, strength=0.05, objective="likelihood", tolerance=1e-7)
    greedy = pb.learn.markov_structure(
        frame, "greedy", score="map", prior=pb.LaplacePrior(1 / 15), tolerance=1e-7, tries=10
    )
    assert greedy.graph == by_path.graph
    assert greedy.fit.objective == pytest.approx(by_path.fit.objective, abs=1e-4)


def test_greedy_bounds_hold_and_starts_are_kept():
    """Edges, treewidth and features are at most what is allowed; a graph by tests is a start; restarts never hurt."""
    frame = ising_rows(15, 400)
    assert pb.learn.markov_structure(frame, "greedy", max_edges=2).graph.num_edges == 2
    assert pb.learn.markov_structure(frame, "greedy", max_features=1).graph.num_edges == 1
    assert pb.learn.markov_structure(frame, "greedy", max_treewidth=1).graph.is_forest
    by_tests = pb.learn.markov_structure(frame, "tests", max_degree=2).graph
    plain = pb.learn.markov_structure(frame, "greedy")
    started = pb.learn.markov_structure(frame, "greedy", start=by_tests, restarts=2)
    assert started.score >= plain.score - 1e-3
    assert started.num_steps <= plain.num_steps


def test_a_tabu_search_leaves_graphs_that_no_single_move_betters():
    """One edge is allowed, and there is a poor one: to take a better one, the search goes through none at all."""
    frame = ising_rows(15, 400)
    options = {"start": "A - C", "max_edges": 1}
    stuck = pb.learn.markov_structure(frame, "greedy", **options)
    assert set(stuck.graph.edges) == {("A", "C")}
    found = pb.learn.markov_structure(frame, "greedy", tabu=2, **options)
    best = max(
        (
            pb.learn.markov_structure(frame, "greedy", max_edges=1, start=f"{a} - {b}")
            for a, b in itertools.combinations("ABCD", 2)
        ),
        key=lambda one: one.score,
    )
    assert found.graph == best.graph
    assert found.score == pytest.approx(best.score, abs=1e-6)
    assert found.score > stuck.score + 1
    assert found.converged


def test_greedy_takes_a_triple_where_pairs_say_nothing():
    """C = A xor B: no pair gains, the table of three does, and joins all of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, size=(400, 2)), columns=["A", "B"])
    frame["C"] = frame["A"] ^ frame["B"] ^ (rng.random(400) < 0.1)
    pairs = [("A", "B"), ("A", "C"), ("B", "C")]
    assert pb.learn.markov_structure(frame, "greedy").graph.num_edges == 0
    found = pb.learn.markov_structure(frame, "greedy", candidates=[*pairs, ("A", "B", "C")])
    assert found.graph.num_edges == 3
    assert found.trace[1] == found.score  # in one move


def test_the_network_of_a_chosen_strength_is_fitted_without_the_penalty():
    """Strengths are compared by scores of graphs, so the network is that of the graph: its pairs are the data's."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(0, 2, (400, 4)), columns=list("abcd"))
    rows["b"] = np.where(rng.random(400) < 0.5, rows.a, rows.b)
    found = pb.learn.markov_structure(rows)
    assert found.graph.edges == (("a", "b"),)
    seen = pd.crosstab(rows.a, rows.b).to_numpy() / 400
    assert found.network.query(["a", "b"]).values == pytest.approx(seen, abs=1e-3)
    assert pb.learn.markov_structure(rows, time_limit=0.0).stopped_by == "time limit"


def test_ids_are_left_out_of_a_search_unless_they_are_named():
    """A column with a value of its own for each row says nothing about the others."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (60, 2)), columns=["a", "b"]).assign(id=[f"row {i}" for i in range(60)])
    with pytest.warns(pb.PlausibleWarning, match="id"):
        assert list(pb.learn.markov_structure(rows, "chow-liu").graph.nodes) == ["a", "b"]


def test_a_score_says_what_it_is_and_those_of_one_scale_are_the_same_number():
    """BIC of l1, of a greedy search and of the fit agree on a graph; forests tell by how much they gain."""
    rows = ising_rows(16, 150)
    l1, greedy = (pb.learn.markov_structure(rows, method, score="bic") for method in ("l1", "greedy"))
    empty = pb.learn.markov([[name] for name in rows], rows).bic()
    forest, chordal = (pb.learn.markov_structure(rows, method) for method in ("chow-liu", "chordal"))
    assert (l1.scale, greedy.scale) == ("BIC of the likelihood", "BIC")
    for found in (l1, greedy):
        assert found.score == pytest.approx(found.fit.bic(), abs=0.01)
        assert f"score {found.score:.6g} ({found.scale})" in str(found)
    for found in (forest, chordal):
        assert found.scale == "gain in BIC over no edges"
        assert found.score == pytest.approx(found.fit.bic() - empty, abs=0.01)
    assert pb.learn.markov_structure(rows).scale == "extended BIC of the likelihood"
    assert pb.learn.markov_structure(rows, score="cross-validation").scale == "likelihood of held-out rows"
    assert pb.learn.markov_structure(rows, score="cross-validation", strength=0.1).scale == "BIC of the likelihood"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("is_fitted", [False, True])
def test_results_can_be_kept_and_told(method, is_fitted):
    """Pickled, copied, printed, as a dictionary and as a frame, before and after the network was asked for."""
    found = pb.learn.markov_structure(ising_rows(16, 150), method, progress=lambda state: None)
    weights = dict(found.fit.weights) if is_fitted else None
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert again.graph == found.graph
        assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())
        assert again.fit.weights == (weights or found.fit.weights)
    assert str(found) in repr(found)
    assert len(found.to_frame()) == max(1, len(found.path))


@pytest.mark.parametrize("method", METHODS)
def test_runs_end_when_told_and_hand_back_what_they_have(method):
    """A time limit of nothing, or a true answer of `progress`: a result that says so; an exception passes through."""
    frame, seen = ising_rows(17, 200), []
    assert pb.learn.markov_structure(frame, method, time_limit=0.0).stopped_by in ("time limit", "converged")
    cut = pb.learn.markov_structure(frame, method, progress=lambda state: not seen.append(state))
    assert cut.fit.network.variables.keys() == set(frame)
    if method == "chow-liu":  # it is counted, without a step
        return
    assert len(seen) == 1
    assert cut.stopped_by == "interrupted"

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pb.learn.markov_structure(frame, method, progress=interrupt)


def test_greedy_search_goes_on_from_the_last_graph_it_told():
    """What `progress` saw before an interruption is a start from which the same optimum is reached in fewer steps."""
    frame, seen = ising_rows(12, 250), []

    def watch(state):
        seen.append(state)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pb.learn.markov_structure(frame, "greedy", progress=watch)
    pairs = list(itertools.combinations(sorted(frame), 2))
    begun = pb.UndirectedGraph([pairs[place] for place in seen[-1].active], nodes=list(frame))
    assert begun.num_edges == 2
    whole = pb.learn.markov_structure(frame, "greedy")
    resumed = pb.learn.markov_structure(frame, "greedy", start=begun)
    assert resumed.graph == whole.graph
    assert resumed.num_steps == whole.num_steps - 2


def copies(kind):
    """Rows with a column that says nothing new."""
    frame = ising_rows(18, 200, names="ABC", edges=[("A", "B")])
    return {
        "copy": frame.assign(D=frame.A),
        "opposite": frame.assign(D=1 - frame.A),
        "all copies": frame.assign(B=frame.A, C=frame.A),
        "two copies": frame[["A"]].assign(B=frame.A),
    }[kind]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["copy", "opposite", "all copies", "two copies"])
def test_copies_of_columns_are_joined_or_the_method_says_why_not(method, kind):
    """A column and its copy are dependent given all else but a further copy; the network has the limit of zeros."""
    frame = copies(kind)
    found = pb.learn.markov_structure(frame, method)
    assert found.converged
    other = "B" if "copies" in kind else "D"
    if kind != "all copies":
        assert found.graph.is_adjacent("A", other)
        joint = found.network.query(["A", other]).reorder(["A", other]).values
        seen = pd.crosstab(frame["A"], frame[other], normalize=True).to_numpy()
        assert joint == pytest.approx(seen, abs=2e-3)
    assert math.isfinite(found.fit.log_likelihood)


@pytest.mark.parametrize("method", METHODS)
def test_a_column_of_sixty_states_is_no_reason_for_edges(method):
    """It is independent of all else, and has more cells than there are rows to fill them."""
    frame = ising_rows(18, 200, names="ABC", edges=[("A", "B")])
    frame["S"] = [f"s{i}" for i in np.random.default_rng(0).integers(0, 60, 200)]
    options = {"strengths": [0.2, 0.1, 0.03]} if method in ("l1", "neighbourhood") else {}
    found = pb.learn.markov_structure(frame, method, **options)
    assert found.graph.edges == (("A", "B"),)


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_no_search_can_take_are_named(method):
    """Missing cells where rows must be whole, numbers, columns without a value, no rows."""
    frame = ising_rows(20, 60, names="ABC", edges=[("A", "B")])
    holes = frame.astype("Int64")
    holes.loc[3, "B"] = pd.NA
    if method != "l1":
        with pytest.raises(pb.errors.NotSupported, match="'B' has missing cells"):
            pb.learn.markov_structure(holes, method)
    with pytest.raises(pb.errors.NotSupported, match="'F' is a column of numbers"):
        pb.learn.markov_structure(frame.assign(F=np.linspace(0.0, 1.0, 60) ** 2), method)
    with pytest.raises(pb.errors.InvalidArgument, match="'N' has no value"):
        pb.learn.markov_structure(frame.assign(N=np.nan), method)
    with pytest.raises(pb.errors.InvalidArgument, match="no rows"):
        pb.learn.markov_structure(frame.head(0), method)


def test_neighbourhoods_of_columns_that_tell_each_other_take_few_steps():
    """Deterministic columns of asia: conditions hold at each strength, and no step limit is near."""
    rows = pb.examples.load("asia").sample(2000, seed=0)
    found = pb.learn.markov_structure(rows, "neighbourhood")
    assert found.converged
    assert found.kkt_residual <= 1e-5
    assert found.num_steps <= 200
    assert {("either", "lung"), ("bronc", "dysp")} <= {tuple(sorted(edge)) for edge in found.graph.edges}


def test_the_laplace_evidence_of_bethe_is_exact_on_trees_and_near_on_cycles():
    """log P(data | features) with belief propagation's log Z: the integral over the weight, by a grid and enumeration.

    The same as a posterior of weights: the inverse information is its covariance.
    """
    frame, prior = ising_rows(22, 80, names="ABCD", weight=0.3), pb.GaussianPrior(1.0)
    signs = 2 * np.array(list(itertools.product((0, 1), repeat=4))) - 1
    grid = np.linspace(-1.0, 3.0, 4001)
    for edges, within in ((["AB", "BC", "CD"], 1e-6), (["AB", "BC", "CD", "DA"], 0.5)):
        agree = pb.Feature([list(edge) for edge in edges], lambda a, b: float(a == b), name="agree")
        exact, bethe = (
            pb.learn.markov([agree], frame, prior=prior, engine=engine)
            for engine in (None, pb.inference.LoopyBP(tolerance=1e-12))
        )
        assert bethe.laplace() == pytest.approx(exact.laplace(), abs=within)
        places = [("ABCD".index(a), "ABCD".index(b)) for a, b in edges]
        counts = sum((signs[:, a] == signs[:, b]).astype(float) for a, b in places)
        observed = sum((frame[a] == frame[b]).sum() for a, b in edges)
        logs = grid * observed - 80 * np.log(np.exp(grid[:, None] * counts).sum(axis=1)) - 0.5 * grid**2
        mass = np.exp(logs - logs.max())
        width = grid[1] - grid[0]
        evidence = logs.max() + math.log(mass.sum() * width) - 0.5 * math.log(2 * math.pi)
        mean = (mass * grid).sum() / mass.sum()
        spread = (mass * (grid - mean) ** 2).sum() / mass.sum()
        assert exact.laplace() == pytest.approx(evidence, abs=0.01)
        assert exact.covariance()[0, 0] == pytest.approx(spread, rel=0.1)
