"""Sparse precision matrices: optimality by its own conditions, by scikit-learn's numbers and by closed forms."""

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.data.moments import Moments
from plausible.data.statistics import MomentStatistics


def _rows(num_rows, num_variables, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.eye(num_variables) + 0.5 * np.eye(num_variables, k=1) + 0.2 * rng.normal(size=(num_variables,) * 2)
    return rng.normal(size=(num_rows, num_variables)) @ mixing


def _check_optimal(fit, covariance, penalty, slack=1e-3):
    """The subgradient conditions: S - W = -Λ sign X where X is not zero, |S - W| <= Λ elsewhere."""
    X, W = fit.precision, np.linalg.inv(fit.precision)
    assert np.linalg.eigvalsh(X)[0] > 0
    assert np.allclose(X @ fit.covariance, np.eye(len(X)), atol=1e-8)
    gradient = covariance - W
    assert np.abs((gradient + penalty * np.sign(X))[X != 0]).max() <= slack
    assert (np.abs(gradient) - penalty)[X == 0].max(initial=-1.0) <= slack


@pytest.mark.parametrize(("num_rows", "num_variables", "strength"), [(60, 5, 0.1), (8, 15, 0.2), (200, 30, 0.02)])
@pytest.mark.parametrize("diagonal", [False, True])
def test_solutions_meet_the_conditions_of_optimality(num_rows, num_variables, strength, diagonal):
    """Also with fewer rows than variables; the duality gap shows it, too."""
    rows = _rows(num_rows, num_variables)
    fit = pb.learn.graphical_lasso(rows, strength, diagonal=diagonal, tolerance=1e-9)
    S = np.cov(rows.T, bias=True)
    penalty = np.full(S.shape, strength)
    if not diagonal:
        np.fill_diagonal(penalty, 0.0)
    _check_optimal(fit, S, penalty, 1e-4)
    value = -np.linalg.slogdet(fit.precision)[1] + np.sum(S * fit.precision) + np.sum(penalty * np.abs(fit.precision))
    assert fit.objective == pytest.approx(value, abs=1e-9)
    assert fit.converged
    assert 0 <= fit.duality_gap <= 1e-9


def test_objective_equals_that_of_scikit_learn():
    """Both minimise the same function; theirs is never lower."""
    covariance = pytest.importorskip("sklearn.covariance")
    S = np.corrcoef(_rows(100, 12).T)
    _, theirs = covariance.graphical_lasso(S, 0.15, tol=1e-9, enet_tol=1e-9, max_iter=1000)
    penalty = 0.15 * (np.abs(theirs).sum() - np.trace(np.abs(theirs)))
    value = -np.linalg.slogdet(theirs)[1] + np.sum(S * theirs) + penalty
    fit = pb.learn.graphical_lasso(covariance=S, penalty=0.15)
    assert fit.objective == pytest.approx(value, abs=1e-6)
    assert np.allclose(fit.precision, theirs, atol=1e-3)


def test_pairs_have_weights_of_their_own():
    """Free pairs meet the data's covariance; pairs of infinite weight have no edge; the rest is penalised."""
    S = np.cov(_rows(50, 6).T)
    names = [f"X{i}" for i in range(6)]
    weights = {("X0", "X1"): 0.0, ("X2", "X1"): math.inf, ("X4", "X5"): 2.0}
    fit = pb.learn.graphical_lasso(covariance=S, penalty=0.1, weights=weights, tolerance=1e-10)
    assert fit.covariance[0, 1] == pytest.approx(S[0, 1], abs=1e-5)
    assert not fit.graph.has_edge("X1", "X2")
    matrix = np.ones((6, 6)) - np.eye(6)
    matrix[[0, 1], [1, 0]], matrix[[1, 2], [2, 1]], matrix[[4, 5], [5, 4]] = 0.0, math.inf, 2.0
    with np.errstate(invalid="ignore"):
        again = pb.learn.graphical_lasso(covariance=pd.DataFrame(S, names, names), penalty=0.1, weights=matrix)
    assert again.objective == pytest.approx(fit.objective, abs=1e-6)


def test_scaling_the_variables_changes_nothing_where_correlations_are_penalised():
    """The same graph in any units, and the precision in the units of the data; huge and tiny numbers do no harm."""
    rows, units = _rows(40, 5), np.array([1e-8, 1.0, 1e9, 3.0, 1e-3])
    plain, scaled = (pb.learn.graphical_lasso(x, 0.2, correlation=True, tolerance=1e-9) for x in (rows, rows * units))
    assert np.allclose(scaled.precision * np.outer(units, units), plain.precision, atol=1e-5)
    standard = pb.learn.graphical_lasso(covariance=np.corrcoef(rows.T), penalty=0.2, tolerance=1e-9)
    assert np.allclose(plain.partial_correlations(), standard.partial_correlations(), atol=1e-5)


def test_hard_matrices_converge():
    """Strong correlations, copies of columns, sums of others, far more variables than rows, large units."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(30, 1))
    copies = np.hstack([common + 1e-3 * rng.normal(size=(30, 20)), common, common])
    sums = np.hstack([x := rng.normal(size=(20, 5)), x.sum(axis=1, keepdims=True), 1e6 * x[:, :1]])
    for rows, strength in ((copies, 0.05), (copies, 1e-3), (sums, 0.1), (rng.normal(size=(5, 60)), 0.01)):
        fit = pb.learn.graphical_lasso(rows, strength, correlation=True)
        assert fit.converged
        assert fit.duality_gap <= 1e-6
        assert np.isfinite(fit.precision).all()
        assert np.linalg.eigvalsh(fit.precision)[0] > 0


def test_several_penalties_are_a_path_and_one_is_chosen():
    """Each point is the solution for its penalty; the largest of the default ones leaves no edge."""
    rows = _rows(150, 8, seed=3)
    fit = pb.learn.graphical_lasso(rows, None)
    assert len(fit.path) == 20
    assert fit.path[0].num_edges == 0
    assert fit.path[-1].num_edges > 0
    middle = fit.path[10]
    alone = pb.learn.graphical_lasso(rows, middle.penalty)
    assert middle.objective == pytest.approx(alone.objective, abs=2e-6)
    density = fit.network.log_value(dict(zip(fit.names, rows.T, strict=True)))
    assert fit.log_likelihood == pytest.approx(density.sum())
    least = min(point.score for point in fit.path)
    assert least == pytest.approx(-2 * density.sum() + fit.num_edges * (math.log(150) + 2 * math.log(8)))
    held = pb.learn.graphical_lasso(rows, [0.5, 0.01], choose="cross-validation", seed=0)
    assert held.penalty == min(held.path, key=lambda point: point.score).penalty == 0.01
    assert (
        pb.learn.graphical_lasso(rows, [0.5, 0.01], choose="cross-validation", seed=0).path[0].score
        == held.path[0].score
    )


@pytest.mark.parametrize(
    "graph", ["X0 - X1 - X2 - X3", "X0 - X1 - X2 - X0; X2 - X3", "X0 - X1 - X2 - X3 - X0", "X3; X0 - X1; X2"]
)
def test_covariance_selection_meets_the_covariances_on_edges(graph):
    """On chordal graphs at once, on others by steps: W = S on edges and the diagonal, X = 0 elsewhere (Dempster)."""
    rows = _rows(30, 4, seed=2)
    fit = pb.learn.covariance_selection(graph, rows, tolerance=1e-10)
    S = pd.DataFrame(np.cov(rows.T, bias=True), [f"X{i}" for i in range(4)], [f"X{i}" for i in range(4)])
    chosen = pb.UndirectedGraph(graph)
    W = np.linalg.inv(fit.precision)
    for i, a in enumerate(fit.names):
        for j, b in enumerate(fit.names):
            if a == b or chosen.has_edge(a, b):
                assert W[i, j] == pytest.approx(S.loc[a, b], abs=1e-5)
            else:
                assert fit.precision[i, j] == 0.0
    assert fit.duality_gap <= 1e-9
    assert (fit.num_steps == 0) == pb.graphs.is_chordal(chosen)


def test_statistics_and_whole_numbers_serve_as_data():
    """Moments are enough; columns of whole numbers are numbers."""
    rows = np.random.default_rng(0).integers(0, 9, size=(40, 3))
    moments = Moments.of_rows(rows.T.astype(float))
    statistics = MomentStatistics({name: pb.Variable(name) for name in "ABC"}, moments)
    first = pb.learn.graphical_lasso(pd.DataFrame(rows, columns=list("ABC")), 0.1)
    assert pb.learn.graphical_lasso(statistics, 0.1).objective == pytest.approx(first.objective)
    assert first.names == ("A", "B", "C")
    assert np.allclose(first.mean, rows.mean(axis=0))


def test_one_variable_has_its_variance():
    """Nothing to penalise."""
    fit = pb.learn.graphical_lasso({"A": [0.5, 1.5, 4.0]}, 0.1)
    assert fit.precision[0, 0] == pytest.approx(1 / np.var([0.5, 1.5, 4.0]))
    assert fit.num_edges == 0


def test_what_has_no_answer_is_refused_with_advice():
    """Constant columns, missing numbers, states, unbounded likelihoods, matrices that are none."""
    rows = {"A": [0.5, 1.5, 2.5, 0.1], "B": [1.25] * 4, "C": [0.1, 0.7, 0.3, 2.2]}
    with pytest.raises(pb.errors.InvalidArgument, match="'B' is constant"):
        pb.learn.graphical_lasso(rows)
    assert pb.learn.graphical_lasso(rows, diagonal=True).covariance[1, 1] == pytest.approx(0.1)
    with pytest.raises(pb.errors.InvalidArgument, match="'A' is missing in 1 of 4 rows"):
        pb.learn.graphical_lasso({**rows, "A": [0.5, None, 2.5, 0.1]})
    with pytest.raises(pb.errors.NotSupported, match="'D' has states"):
        pb.learn.graphical_lasso({**rows, "D": list("aabb")})
    copied = {"A": rows["A"], "B": rows["A"], "C": rows["C"]}
    with pytest.raises(pb.errors.InvalidArgument, match="no minimum"):
        pb.learn.graphical_lasso(copied, 0.0)
    with pytest.raises(pb.errors.InvalidArgument, match=r"clique \['A', 'B'\] is singular"):
        pb.learn.covariance_selection("A - B; C", copied)
    with pytest.raises(pb.errors.InvalidArgument, match="no covariance matrix"):
        pb.learn.graphical_lasso(covariance=[[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(pb.errors.InvalidArgument, match="num_rows="):
        pb.learn.graphical_lasso(covariance=np.eye(2), penalty=[0.1, 0.2])
    with pytest.raises(pb.errors.InvalidArgument, match="variance of 'A' is too large"):
        pb.learn.graphical_lasso({"A": [1e200, -1e200], "C": [0.1, 0.7]})
    with pytest.raises(pb.errors.InvalidFactor, match="needs shape"):
        pb.learn.graphical_lasso(covariance=5.0)
    with pytest.raises(pb.errors.UnknownVariable, match="weights="):
        pb.learn.graphical_lasso(copied, weights={("A", "Z"): 1.0})


def test_two_equal_columns_shrink_by_the_penalty():
    """Perfect correlation, and its opposite: the covariance off the diagonal is that of the data less the penalty."""
    numbers = np.array([0.3, 1.7, -0.9, 2.2])
    for sign in (1.0, -1.0):
        fit = pb.learn.graphical_lasso({"A": numbers, "B": sign * numbers}, 0.1, tolerance=1e-12)
        variance = np.var(numbers)
        assert fit.covariance[0, 1] == pytest.approx(sign * (variance - 0.1), abs=1e-6)
        assert fit.covariance.diagonal() == pytest.approx([variance, variance], abs=1e-6)
    alone = pb.learn.graphical_lasso({"A": numbers}, None)
    assert len(alone.path) == 1
    assert alone.precision[0, 0] == pytest.approx(1 / variance)


def test_points_of_a_path_are_proved_optimal_whatever_hangs_together():
    """Many small sets of variables that grow together as the penalty falls: each point has its gap, and the cold gap.

    Small sets are solved together; what was solved before is gone on with.
    """
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 160))
    rows[:, 1::2] += np.repeat(rng.uniform(0.2, 1.5, size=80), 1) * rows[:, ::2]
    fit = pb.learn.graphical_lasso(rows, [0.7, 0.6, 0.45, 0.3, 0.25])
    assert len({point.num_edges for point in fit.path}) == 5
    for point in fit.path:
        alone = pb.learn.graphical_lasso(rows, point.penalty)
        assert point.duality_gap <= 1e-6
        assert point.objective == pytest.approx(alone.objective, abs=2e-6)
        S = np.cov(rows.T, bias=True)
        value = -np.linalg.slogdet(point.precision)[1] + np.sum(S * point.precision)
        value += point.penalty * (np.abs(point.precision).sum() - np.trace(point.precision))
        assert point.objective == pytest.approx(value, abs=1e-8)


def test_results_can_be_kept_and_told():
    """Pickled, copied, printed, as a dictionary and as a frame."""
    fit = pb.learn.graphical_lasso(_rows(40, 4), None, progress=lambda state: None)
    for again in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        assert np.array_equal(again.precision, fit.precision)
        assert again.graph == fit.graph
        assert json.dumps(again.to_dict()) == json.dumps(fit.to_dict())
    assert str(fit) in repr(fit)
    assert fit.to_frame().loc["X0", "X1"] == fit.precision[0, 1]
    assert fit.path[0].to_dict()["num_edges"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_components_that_interleave_keep_their_variables(seed):
    """Where sets of variables hang together in any order, the answer is that of the sorted variables, rearranged."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=3)
    blocks = [np.full((size, size), rng.uniform(0.3, 0.8)) for size in sizes]
    sorted_covariance = np.eye(sizes.sum())
    for block, start in zip(blocks, np.append(0, np.cumsum(sizes))[:-1], strict=True):
        sorted_covariance[start : start + len(block), start : start + len(block)] += block - np.diag(np.diag(block))
    order = rng.permutation(sizes.sum())
    straight = pb.learn.graphical_lasso(covariance=sorted_covariance, penalty=0.1, tolerance=1e-12).precision
    mixed = pb.learn.graphical_lasso(covariance=sorted_covariance[np.ix_(order, order)], penalty=0.1, tolerance=1e-12)
    np.testing.assert_allclose(np.asarray(mixed.precision), np.asarray(straight)[np.ix_(order, order)], atol=1e-6)


def test_a_pair_far_apart_is_linked():
    """The graph of two interleaved pairs has their edges."""
    covariance = np.eye(4)
    covariance[0, 2] = covariance[2, 0] = 0.8
    covariance[1, 3] = covariance[3, 1] = -0.5
    graph = pb.learn.graphical_lasso(covariance=covariance, penalty=0.1).graph
    assert {frozenset(edge) for edge in graph.edges} == {frozenset({"X0", "X2"}), frozenset({"X1", "X3"})}
