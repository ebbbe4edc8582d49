"""EM for mixtures: against the definition, enumeration, exact inference in the network, and scikit-learn."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mixture_oracle import log_joint, random_columns
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.mixtures.clustering import EmptyClusters, MixtureClustering
from plausible.learn.mixtures.em import (
    MixtureProblem,
    MixtureState,
    SymmetricStart,
    equal_clusters,
    log_prior,
    mixture_run,
    start,
)
from plausible.learn.mixtures.model import COVARIANCES, MixtureKind, MixtureParameters, MixturePrior, MixtureSpace
from plausible.search.run import Stops
from refusals import refuses

PRIORS = [None, MixturePrior(weights=1.0, cells=0.5, means=2.0, variances=3.0)]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("prior", PRIORS, ids=["likelihood", "posterior"])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.3]), numbers=st.integers(0, 3))
@pytest.mark.filterwarnings("ignore::plausible.learn.mixtures.clustering.EmptyClusters")
def test_the_objective_never_falls_with_missing_cells_and_weights(covariance, assignment, prior, seed, share, numbers):
    """Monotone for each covariance, assignment and prior, on rows that count differently."""
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 40, numbers, 2, share)
    found = MixtureClustering(
        3, covariance=covariance, assignment=assignment, prior=prior, start="random", restarts=0, tolerance=0.0,
        max_steps=15, seed=seed,
    )  # fmt: skip
    found.fit(columns, sample_weight=rng.integers(0, 3, 40) + np.eye(40)[0])
    assert np.diff(found.trace_).min(initial=0.0) >= -1e-8 * (1 + abs(found.trace_[-1]))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_answers_are_those_of_the_definition_and_of_the_network(covariance):
    """log P(row) and P(k | row), rows of all patterns, one without any value included."""
    columns = random_columns(np.random.default_rng(1), 60, 3, 2, 0.35)
    for name in columns:
        columns[name][5] = np.nan if name.startswith("x") else None
    found = MixtureClustering(3, covariance=covariance).fit(columns)
    joint = log_joint(found, columns)
    totals = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(found.score_samples(columns), totals, atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(columns), np.exp(joint - totals[:, None]), atol=1e-9)
    assert found.log_likelihood_ == pytest.approx(totals.sum())
    np.testing.assert_allclose(found.predict_proba(columns)[5], found.weights_, atol=1e-12)
    engine = found.to_network().compile()
    np.testing.assert_allclose(engine.predict_proba(columns, "cluster"), found.predict_proba(columns), atol=1e-9)
    np.testing.assert_allclose(engine.log_likelihood(columns), totals, atol=1e-8)


def test_a_step_for_discrete_rows_is_expected_counts_divided():
    """θ_c = M[c]/M and θ_{x|c} = M[x, c]/M[c], by sums over the rows (K&F figure 19.7)."""
    columns = random_columns(np.random.default_rng(2), 50, 0, 3, 0.0)
    first = MixtureClustering(2, prior=None, max_steps=1, restarts=0, tolerance=0).fit(columns)
    second = MixtureClustering(2, prior=None, max_steps=2, restarts=0, tolerance=0).fit(columns)
    joint = log_joint(first, columns)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    np.testing.assert_allclose(second.weights_, shares.mean(axis=0))
    for variable in first.space_.discrete:
        for place, state in enumerate(variable.states):
            there = np.array([value == state for value in columns[variable.name]])
            expected = shares[there].sum(axis=0) / shares.sum(axis=0)
            np.testing.assert_allclose(second.tables_[variable.name][:, place], expected, atol=1e-12)


def test_a_step_with_missing_numbers_uses_conditional_moments():
    """E[x xᵀ | known] with the conditional covariance, row by row, under a full covariance."""
    columns = random_columns(np.random.default_rng(3), 40, 3, 0, 0.3)
    options = {"prior": None, "restarts": 0, "tolerance": 0, "variance_floor": 1e-12}
    first = MixtureClustering(2, max_steps=2, **options).fit(columns)
    second = MixtureClustering(2, max_steps=3, **options).fit(columns)
    joint = log_joint(first, columns)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    X = np.column_stack(list(columns.values()))
    for k in range(2):
        mean, matrix = first.means_[k], first.covariances_[k]
        filled, spread = [], []
        for row in X:
            known = ~np.isnan(row)
            gain = matrix[:, known] @ np.linalg.inv(matrix[np.ix_(known, known)])
            filled.append(mean + gain @ (row - mean)[known])
            spread.append(matrix - gain @ matrix[known])
        r, filled, spread = shares[:, k], np.array(filled), np.array(spread)
        expected = r @ filled / r.sum()
        np.testing.assert_allclose(second.means_[k], expected, atol=1e-9)
        outer = np.einsum("m,mi,mj->ij", r, filled - expected, filled - expected) + np.einsum("m,mij->ij", r, spread)
        np.testing.assert_allclose(second.covariances_[k], outer / r.sum(), atol=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("full", "full"), ("tied", "tied"), ("diagonal", "diag"), ("spherical",) * 2]
)
def test_the_path_is_that_of_scikit_learn(ours, theirs):
    """From the same start, the same parameters after each number of steps."""
    mixture = pytest.importorskip("sklearn.mixture", reason="scikit-learn is not a dependency")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 2 * rng.integers(0, 3, (200, 1))
    labels = rng.integers(0, 3, 200)
    kind = MixtureKind(ours, variance_floor=1e-12)
    space = MixtureSpace.of(Table.read(X), ours)
    rows = space.encode(Table.read(X), is_grouped=False)
    shares = (np.arange(3)[:, None] == labels[np.argsort(rows.places)]).astype(float)
    first = start(rows, space, kind, 3, shares, rng)
    scale = np.outer(space.scale, space.scale) if kind.has_matrices else space.scale**2
    matrices = first.covariances * scale
    precisions = {
        "full": lambda: np.linalg.inv(matrices),
        "tied": lambda: np.linalg.inv(matrices[0]),
        "diag": lambda: 1 / matrices,
        "spherical": lambda: 1 / matrices[:, 0],
    }[theirs]()
    peer = mixture.GaussianMixture(
        3, covariance_type=theirs, tol=0, reg_covar=0, max_iter=7, weights_init=first.weights,
        means_init=space.location + space.scale * first.means, precisions_init=precisions,
    )  # fmt: skip
    with pytest.warns(Warning, match="converge"):
        peer.fit(X)
    found = MixtureClustering(
        3, covariance=ours, prior=None, start=labels, tolerance=0, max_steps=7, variance_floor=1e-12
    ).fit(X)
    np.testing.assert_allclose(found.means_, peer.means_, atol=1e-8)
    np.testing.assert_allclose(found.weights_, peer.weights_, atol=1e-9)
    np.testing.assert_allclose(found.score_samples(X), peer.score_samples(X), atol=1e-7)


def test_k_means_is_that_of_scikit_learn():
    """Hard EM with unit covariances and equal weights goes Lloyd's way."""
    cluster = pytest.importorskip("sklearn.cluster", reason="scikit-learn is not a dependency")
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 2)) + 4 * rng.integers(0, 3, (150, 1))
    labels = rng.integers(0, 3, 150)
    found = MixtureClustering.k_means(3, start=labels, tolerance=0).fit(X)
    centres = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    peer = cluster.KMeans(3, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(X)
    np.testing.assert_allclose(found.means_, peer.cluster_centers_, atol=1e-10)
    np.testing.assert_array_equal(found.labels_, peer.labels_)


def test_an_empty_cluster_of_k_means_moves_to_the_farthest_row():
    """All rows start in the first of two clusters, yet both end with rows, and the sum of squares is least."""
    X = [[0.0], [1.0], [10.0]]
    found = MixtureClustering.k_means(2, start=[0, 0, 0]).fit(X)
    assert sorted(found.means_.ravel()) == [0.5, 10.0]


def test_more_clusters_than_different_rows_are_empty_and_said():
    """Three equal rows can't fill two clusters; soft mixtures leave the rest alone."""
    with pytest.warns(EmptyClusters, match="1 of 2"):
        MixtureClustering.k_means(2).fit([[1.0], [1.0], [1.0]])
    found = MixtureClustering(5).fit({"x": [0.0, 9.0] * 3, "d": ["a", "b"] * 3})
    assert np.isfinite(found.log_likelihood_)
    np.testing.assert_allclose(found.predict_proba({"x": [0.0]}).sum(axis=1), 1)


def test_degenerate_columns_and_one_cluster():
    """A constant column and a variable of one state are clustered, a column without values is refused; K = 1 is the
    fit of the whole.
    """
    columns = {"same": [2.5] * 6, "one": ["a"] * 6, "x": [0.5, 2.5, 3.0, 3.5, 5.5, np.nan]}
    with pytest.raises(InvalidArgument, match="'none' has no value at all"):
        MixtureClustering(1).fit({**columns, "none": np.full(6, np.nan)})
    found = MixtureClustering(1, covariance="diagonal", prior=None).fit(columns)
    assert found.means_[0] == pytest.approx([2.5, 3.0])
    assert found.covariances_[0, 1] == pytest.approx(2.6)
    assert found.tables_["one"].tolist() == [[1.0]]
    for covariance in COVARIANCES:
        assert np.isfinite(MixtureClustering(2, covariance=covariance).fit(columns).log_likelihood_)


def test_weights_are_repeated_rows():
    """A row of weight three is three rows; one of weight zero is none."""
    columns = random_columns(np.random.default_rng(6), 30, 2, 1, 0.2)
    times = np.random.default_rng(7).integers(0, 4, 30)
    times[0] = 1
    long = {
        name: [value for value, n in zip(column, times, strict=True) for _ in range(n)]
        for name, column in columns.items()
    }
    long = {name: np.array(column) if name.startswith("x") else column for name, column in long.items()}
    weighted, repeated = MixtureClustering(2).fit(columns, sample_weight=times), MixtureClustering(2).fit(long)
    np.testing.assert_allclose(weighted.means_, repeated.means_, atol=1e-7)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_)


def test_the_floor_bounds_all_eigenvalues():
    """Numbers on a line have no density; with a floor the least eigenvalue is just that."""
    x = np.linspace(-1, 1, 20)
    found = MixtureClustering(1, variance_floor=1e-3, prior=None).fit(np.column_stack([x, 2 * x]))
    assert np.linalg.eigvalsh(found.parameters_.covariances[0]).min() == pytest.approx(1e-3)


def test_the_posterior_mode_adds_cases_to_tables_means_and_variances():
    """(M + a) / Σ (M + a); (Σ x + κ m)/(n + κ); (s V + scatter + κ (μ - m)(μ - m)ᵀ)/(n + s), cluster by cluster."""
    prior = MixturePrior(cells=2.0, means=0.5, variances=0.3)
    X = np.array([[0.5, 1.0], [1.0, 0.5], [2.0, 2.0], [90.0, 70.0], [94.0, 75.0]])
    data = {"d": ["a", "a", "b", "b", "b"], "x": X[:, 0], "y": X[:, 1]}
    options = {"prior": prior, "start": [0, 0, 0, 1, 1], "assignment": "hard"}
    centre, spread = X.mean(axis=0), np.diag(X.var(axis=0))
    for covariance in ("full", "diagonal"):
        found = MixtureClustering(2, covariance=covariance, **options).fit(data)
        assert found.labels_.tolist() == [0, 0, 0, 1, 1]
        np.testing.assert_allclose(found.tables_["d"], [[4 / 7, 3 / 7], [2 / 6, 4 / 6]])
        for k, rows in enumerate((X[:3], X[3:])):
            mean = (rows.sum(axis=0) + 0.5 * centre) / (len(rows) + 0.5)
            scatter = (rows - mean).T @ (rows - mean) + 0.5 * np.outer(mean - centre, mean - centre)
            matrix = (0.3 * spread + scatter) / (len(rows) + 0.3)
            np.testing.assert_allclose(found.means_[k], mean)
            np.testing.assert_allclose(found.covariances_[k], matrix if covariance == "full" else np.diag(matrix))


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_prior_is_the_density_of_the_kernel_it_names(covariance):
    """Up to a constant: Dirichlet, normal and inverse Wishart or inverse gamma densities, as SciPy has them."""
    counts = MixturePrior(weights=1.5, cells=0.5, means=2.0, variances=9.0)
    kind = MixtureKind(covariance, prior=counts)

    def by_definition(found):
        value = stats.dirichlet.logpdf(found.weights, [2.5, 2.5])
        value += sum(stats.dirichlet.logpdf(row, [1.5] * 3) for row in found.tables)
        for mean, matrix in zip(found.means, found.covariances, strict=True):
            full = matrix if matrix.ndim == 2 else np.diag(matrix)
            normal = stats.multivariate_normal([0.0, 0.0], full / counts.means)
            value += normal.logpdf(mean) - normal.logpdf([0.0, 0.0])
        own = found.covariances[:1] if covariance == "tied" else found.covariances
        if kind.has_matrices:  # |Σ|^(-s/2) is |Σ|^(-(ν + d + 1)/2)
            value += sum(stats.invwishart.logpdf(matrix, counts.variances - 3, 9.0 * np.eye(2)) for matrix in own)
        elif covariance != "unit":
            value += stats.invgamma.logpdf(own, counts.variances / 2 - 1, scale=counts.variances / 2).sum()
        return value

    one, two = (_random_parameters(np.random.default_rng(seed), covariance) for seed in (1, 2))
    expected = by_definition(one) - by_definition(two)
    assert log_prior(one, kind) - log_prior(two, kind) == pytest.approx(expected)


def _random_parameters(rng, covariance):
    """Two clusters of a feature with three states and two numbers."""
    roots = rng.normal(size=(2, 2, 2))
    matrices = roots @ np.swapaxes(roots, 1, 2) + np.eye(2)
    spread = {
        "full": matrices,
        "tied": matrices[[0, 0]],
        "diagonal": rng.uniform(0.5, 2.0, (2, 2)),
        "spherical": np.repeat(rng.uniform(0.5, 2.0, (2, 1)), 2, axis=1),
        "unit": np.ones((2, 2)),
    }[covariance]
    return MixtureParameters(
        rng.dirichlet([2.0, 2.0]), rng.dirichlet([2.0] * 3, size=2), rng.normal(size=(2, 2)), spread
    )


def test_equal_rows_start_in_the_clusters_that_each_was_given():
    """Of three equal rows two start in the first cluster and one in the second, whose mean is then half way."""
    found = MixtureClustering.k_means(2, start=[0, 0, 1, 1], max_steps=1).fit([[0.0], [0.0], [0.0], [9.0]])
    away = 4.5**2 / 2  # of the last row from its mean
    assert found.trace_[0] == pytest.approx(4 * math.log(0.5) - 2 * math.log(2 * math.pi) - away)


def test_a_symmetric_start_is_told_and_stays_symmetric():
    """Equal responsibilities keep all clusters at the marginals of the columns (K&F exercise 19.11)."""
    columns = {"d": ["a", "a", "b"], "e": ["x", "y", "y"]}
    with pytest.warns(SymmetricStart, match="Clusters 0 and 1"):
        found = MixtureClustering(2, prior=None, start=np.full((3, 2), 0.5)).fit(columns)
    np.testing.assert_allclose(found.tables_["d"], [[2 / 3, 1 / 3]] * 2)
    assert equal_clusters(found.parameters_) == [(0, 1)]
    alike = MixtureParameters(np.full(2, 0.5), np.array([[0.25, 0.75], [0.5, 0.5]]), np.zeros((2, 0)), np.zeros((2, 0)))
    assert equal_clusters(alike, tolerance=0.25) == [(0, 1)]
    assert equal_clusters(alike, tolerance=0.24) == []


def test_a_run_goes_on_from_a_stored_state():
    """Five steps, pickled, and five more are ten steps."""
    table = Table.read(random_columns(np.random.default_rng(8), 50, 2, 1, 0.2))
    kind = MixtureKind("full", prior=MixturePrior(cells=0.1))
    space = MixtureSpace.of(table, "full")
    problem = MixtureProblem(space.encode(table), space, kind)
    state = MixtureState(start(problem.rows, space, kind, 2, "k-means++", np.random.default_rng(0)))
    ten = mixture_run(problem, state, Stops(0.0, 10))
    five = pickle.loads(pickle.dumps(mixture_run(problem, state, Stops(0.0, 5))))
    assert five.state.num_steps == 5
    assert mixture_run(problem, five, Stops(0.0, 10)).trace == ten.trace


def test_progress_is_told_and_stops():
    """A true answer ends fitting after that step."""
    told = []
    found = MixtureClustering(2, progress=lambda state: told.append(state) or len(told) == 2, tolerance=0).fit(
        random_columns(np.random.default_rng(9), 50, 2, 0, 0.0)
    )
    assert len(told) == found.n_iter_ == 2
    assert not found.converged_


@pytest.mark.parametrize("prior", PRIORS, ids=["likelihood", "posterior"])
@pytest.mark.parametrize("has_equal_weights", [False, True])
@pytest.mark.filterwarnings("ignore::plausible.learn.mixtures.clustering.EmptyClusters")
def test_hard_clusters_of_unit_variance_settle_and_never_lose(prior, has_equal_weights):
    """Clusters without rows are moved only where the objective gains by it."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = np.where(rng.random((60, 2)) < 0.3, np.nan, rng.normal(size=(60, 2)))
        found = MixtureClustering(
            4, covariance="unit", assignment="hard", prior=prior, has_equal_weights=has_equal_weights, restarts=0,
            tolerance=1e-9,
        ).fit(rows)  # fmt: skip
        assert found.converged_
        assert np.diff(found.trace_).min(initial=0.0) >= -1e-9 * abs(found.trace_[-1])


def test_more_clusters_than_rows_are_refused():
    refuses(InvalidArgument, "n_clusters=4 is more than n_samples=3", MixtureClustering(4).fit, [[0.5], [1.5], [2.5]])
