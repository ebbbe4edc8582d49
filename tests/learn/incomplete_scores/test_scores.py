"""Scores of structures on incomplete data, against sums over all completions."""

import itertools
import math
import time

import numpy as np
import pytest

import plausible as pb
from completion_oracle import joint_table
from marginal_oracle import log_marginal, log_urns
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.graphs import DAG
from plausible.learn.estimation.priors import K2, BDeu, Dirichlet
from plausible.learn.gradients.space import tables_of
from plausible.learn.incomplete_scores import task as task_module
from plausible.learn.incomplete_scores.approximations import (
    _least_counts,
    candidate_estimate,
    effective_dimension,
    exact_completions,
    laplace_integral,
    posterior_curvature,
)
from plausible.learn.incomplete_scores.score import INCOMPLETE_SCORES, compare_scores, score_incomplete
from plausible.learn.incomplete_scores.task import ScoreOptions, ScoreTask
from plausible.learn.scores.structure_prior import EdgePenalty
from plausible.variables import Variable

GRAPHS = ["A -> B; A -> C", "A -> C; B -> C", "A -> B; B -> C"]
SIZES = {"A": 2, "B": 3, "C": 2}
QUICK = ScoreOptions(restarts=0, tolerance=1e-7, num_draws=200, burn_in=20)
SHORT = ScoreOptions(restarts=0, tolerance=1e-6, num_draws=40, burn_in=5)


def tiny(seed, num_rows=6, missing=0.25):
    """Rows of three variables of at most seven missing cells, as codes; and as a table."""
    rng = np.random.default_rng(seed)
    rows = [[int(rng.integers(size)) for size in SIZES.values()] for _ in range(num_rows)]
    places = [(row, column) for row in range(num_rows) for column in range(3) if rng.random() < missing][:7]
    for row, column in places:
        rows[row][column] = None
    variables = [Variable(name, size) for name, size in SIZES.items()]
    return rows, Table.read({name: [row[i] for row in rows] for i, name in enumerate(SIZES)}, variables)


def oracle(graph, rows, alpha=lambda name: 1.0, sizes=SIZES):
    names = list(sizes)
    dag = DAG(graph)
    return log_marginal(rows, names, {name: dag.parents(name) for name in names}, sizes, alpha)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pseudo_count", [1.0, 0.3])
def test_the_exact_score_is_the_sum_over_completions(seed, pseudo_count):
    """P(D | G) = Σ_H P(D, H | G), each term a product of urns."""
    rows, table = tiny(seed)
    graph = GRAPHS[seed % 3]
    found = score_incomplete(graph, table, "exact", Dirichlet(pseudo_count))
    assert found.value == pytest.approx(oracle(graph, rows, lambda name: pseudo_count), abs=1e-9)
    assert found.error == 0
    assert found.network is None


def test_the_exact_score_of_a_hidden_variable_counts_all_orders_of_its_states():
    rows = [[None, 0, 0], [None, 1, 1], [None, 0, 1], [None, 1, 1], [None, 0, 0]]
    sizes = {"H": 3, "X": 2, "Y": 2}
    data = {"X": [row[1] for row in rows], "Y": [row[2] for row in rows]}
    found = score_incomplete("H -> X; H -> Y", data, "exact", hidden={"H": 3})
    assert found.value == pytest.approx(oracle("H -> X; H -> Y", rows, sizes=sizes), abs=1e-9)
    assert found.log_orders == pytest.approx(math.log(6))


def test_cells_that_were_set_from_outside_are_not_charged_to_their_variable():
    rows = [[0, 0, None], [1, 2, 1], [1, 1, None]]
    variables = [Variable(name, size) for name, size in SIZES.items()]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(SIZES)}
    table = Table.read(columns, variables, interventions={"B": [True, False, True]})
    names, dag = list(SIZES), DAG(GRAPHS[0])
    parents = {name: dag.parents(name) for name in names}
    want = log_marginal(rows, names, parents, SIZES, lambda _: 1.0, lambda row, name: name == "B" and row != 1)
    assert score_incomplete(GRAPHS[0], table, "exact").value == pytest.approx(want, abs=1e-9)
    with pytest.raises(NotSupported, match="'B' was set from outside"):
        score_incomplete(GRAPHS[0], table, "laplace")


@pytest.mark.parametrize("graph", GRAPHS)
def test_with_complete_data_the_bayesian_scores_are_the_closed_form(graph):
    """Nothing is missing: Cheeseman-Stutz, candidate method, variational bound and the sum are all P(D)."""
    rows, table = tiny(3, num_rows=15, missing=0.0)
    dag = DAG(graph)
    want = log_urns(rows, list(SIZES), {name: dag.parents(name) for name in SIZES}, SIZES, lambda _: 1.0)
    for name in ("exact", "cheeseman-stutz", "candidate", "variational"):
        assert score_incomplete(graph, table, name, K2(), options=QUICK).value == pytest.approx(want, abs=1e-8)
    bic = score_incomplete(graph, table, "bic").value
    assert bic == pytest.approx(pb.learn.score(graph, table, "bic"), abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_in_order_and_approximations_near_the_truth(seed):
    """Cheeseman-Stutz ≤ variational bound ≤ log P(D); the candidate method agrees with it up to its noise."""
    rows, table = tiny(seed, num_rows=9)
    graph = GRAPHS[seed % 3]
    found = compare_scores({"G": graph}, table, options=QUICK, prior=BDeu(6))
    errors = found.errors("G")
    assert errors["cheeseman-stutz"] <= errors["variational"] + 1e-9 <= 2e-9
    assert errors["cheeseman-stutz"] > -3.0
    assert abs(errors["candidate"]) < 0.15
    assert abs(errors["laplace"]) < 1.5
    dag = DAG(graph)
    alpha = {name: 6.0 / SIZES[name] / math.prod(SIZES[parent] for parent in dag.parents(name)) for name in SIZES}
    assert found.scores["G"]["exact"].value == pytest.approx(oracle(graph, rows, alpha.get), abs=1e-9)


@pytest.mark.parametrize("hidden", [{}, {"H": 2}])
def test_the_candidate_method_is_exact_at_any_parameters_with_the_exact_posterior(hidden):
    """P(D | θ) P(θ) / P(θ | D) does not depend on θ, where P(θ | D) is the mixture over all completions."""
    if hidden:
        task = ScoreTask.of("H -> X; H -> Y", {"X": [0, 1, 1, 0], "Y": [0, 1, 0, 0]}, K2(), hidden)
    else:
        task = ScoreTask.of(GRAPHS[1], tiny(2)[1], Dirichlet(0.7))
    counts, log_numbers = exact_completions(task)
    log_weights = log_numbers + task.log_marginal(counts)
    rng = np.random.default_rng(0)
    drawn = rng.gamma(1.0, size=(5, len(task.theta))) + 0.01
    candidates = task.tables.normalized(drawn)
    found = candidate_estimate(task, candidates, counts[None], log_weights[None])
    assert found.by_candidate == pytest.approx([np.logaddexp.reduce(log_weights)] * 5, abs=1e-9)
    assert found.error == pytest.approx(0.0, abs=1e-9)


def test_laplace_is_exact_for_gaussians_and_uses_the_pseudo_determinant():
    """∫ exp(-½ wᵀCw) = (2π)^(d/2) |C|^(-½); a flat direction counts neither in d nor in |C|."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    curvature = root @ root.T
    _, log_det = np.linalg.slogdet(2 * math.pi * np.linalg.inv(curvature))
    assert laplace_integral(1.5, curvature).value == pytest.approx(1.5 + log_det / 2)
    flat = np.zeros((5, 5))
    flat[:4, :4] = curvature
    turned, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    found = laplace_integral(1.5, turned @ flat @ turned.T)
    assert found.rank == 4
    assert found.num_upward == 0
    assert found.value == pytest.approx(1.5 + log_det / 2)
    assert laplace_integral(0.0, np.diag([1.0, -1.0])).num_upward == 1
    steep = laplace_integral(0.0, np.diag([1e14, 1.0]))  # directions of all scales
    assert (steep.rank, steep.value) == (2, pytest.approx(math.log(2 * math.pi) - 0.5 * math.log(1e14)))
    slope = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 5.0]])
    values = np.linalg.eigvalsh(slope.T @ slope)[1:]
    assert laplace_integral(0.0, slope.T @ slope).curvature == pytest.approx(-0.5 * np.log(values).sum())
    assert laplace_integral(0.5, np.zeros((0, 0))).value == 0.5
    with pytest.raises(InvalidArgument, match="square"):
        laplace_integral(0.0, np.ones((2, 3)))


@pytest.mark.parametrize("seed", range(3))
def test_the_curvature_is_that_of_finite_differences(seed):
    """-d²[ℓ + Σ α log θ] / dλ² by enumeration of the joint, and central differences."""
    rows, table = tiny(seed, num_rows=8)
    task = ScoreTask.of(GRAPHS[seed], table, Dirichlet(1.5))
    network, tables = task.fit.network, tables_of(task.fit.network)
    names, shapes = list(network.variables), {name: values.shape for name, values in tables.items()}
    order = list(task.tables.shapes)

    def log_posterior(point):
        start, made = 0, {}
        for name in order:
            shape = (*shapes[name][:-1], shapes[name][-1] - 1)
            part = point[start : start + math.prod(shape)].reshape(shape)
            start += math.prod(shape)
            logs = np.concatenate([part, np.zeros((*shape[:-1], 1))], axis=-1)
            made[name] = np.exp(logs) / np.exp(logs).sum(axis=-1, keepdims=True)
        joint = joint_table(
            pb.BayesianNetwork([pb.TableCPD(network.variables[n], made[n], network.cpd(n).parents) for n in order])
        )
        total = sum(1.5 * np.log(values).sum() for values in made.values())
        for row in rows:
            code = dict(zip(SIZES, row, strict=True))
            total += np.log(joint[tuple(slice(None) if code[n] is None else code[n] for n in names)].sum())
        return total

    peak = np.concatenate([np.ravel(np.log(tables[n][..., :-1] / tables[n][..., -1:])) for n in order])
    size, step = len(peak), 1e-3
    found = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            values = [
                a * b * log_posterior(peak + step * (a * np.eye(size)[i] + b * np.eye(size)[j])) for a, b in signs
            ]
            found[i, j] = found[j, i] = -sum(values) / (4 * step**2)
    assert posterior_curvature(task) == pytest.approx(found, abs=2e-4)


def test_laplace_approaches_the_beta_binomial():
    """Of a coin, log P(D) = log B(heads + α, tails + α) / B(α, α); the error falls as 1 / rows."""
    for num_rows in (10, 100, 1000):
        heads = num_rows * 3 // 10
        data = Table.read({"coin": [0, 1]}, weights=[num_rows - heads, heads])
        want = math.lgamma(2.0) - math.lgamma(num_rows + 2.0)
        want += math.lgamma(heads + 1.0) + math.lgamma(num_rows - heads + 1.0)
        graph = DAG("coin")
        assert score_incomplete(graph, data, "exact").value == pytest.approx(want, abs=1e-8)
        found = score_incomplete(graph, data, "laplace")
        assert abs(found.value - want) < 0.5 / num_rows
        assert not any("direction" in note for note in found.assumed)  # its one direction is curved, and downwards


def test_the_effective_dimension_of_a_hidden_cause_of_two_bits_is_three():
    """H -> X, Y has five parameters, but the joint of X and Y three: BIC charges for the latter."""
    rng = np.random.default_rng(1)
    data = {name: rng.integers(0, 2, 60).tolist() for name in "XY"}
    plain, effective = (
        score_incomplete("H -> X; H -> Y", data, name, hidden={"H": 2}, options=QUICK)
        for name in ("bic", "bic-effective")
    )
    assert plain.num_parameters == 5
    assert plain.terms["penalty"] == pytest.approx(-2.5 * math.log(60))
    assert effective.terms["penalty"] == pytest.approx(-1.5 * math.log(60))
    assert "what is observed tells 3 of 5 free parameters" in effective.assumed
    assert not any("free parameters" in note for note in plain.assumed)
    counts = np.zeros((2, 2))
    np.add.at(counts, (data["X"], data["Y"]), 1)
    assert effective.terms["log-likelihood"] == pytest.approx((counts * np.log(counts / 60)).sum(), abs=1e-3)


def test_terms_add_up_and_the_prior_of_the_structure_is_one_of_them():
    _, table = tiny(0)
    for name in INCOMPLETE_SCORES:
        plain = score_incomplete(GRAPHS[0], table, name, options=SHORT)
        found = score_incomplete(GRAPHS[0], table, name, structure_prior=EdgePenalty(0.5), options=SHORT)
        assert found.value == pytest.approx(sum(found.terms.values()))
        assert found.value - plain.value == pytest.approx(2 * math.log(0.5), abs=1e-9)
        assert float(found) == found.value
        assert found.assumed[0] in str(found)


def test_the_same_seed_gives_the_same_candidate_score_and_another_one_nearly_so():
    _, table = tiny(1)
    one, same, other = (score_incomplete(GRAPHS[0], table, "candidate", seed=s, options=SHORT).value for s in (0, 0, 1))
    assert one == same
    assert one != other
    assert one == pytest.approx(other, abs=0.3)


@pytest.mark.filterwarnings("ignore:There are no rows that count")
def test_degenerate_data_have_scores():
    """No rows: P(nothing) = 1. Variables of one state and rows without any cell change nothing."""
    empty = Table.read({"A": [], "B": []}, [Variable("A", 2), Variable("B", 2)])
    for name in ("exact", "bic", "bic-effective", "cheeseman-stutz", "candidate", "variational"):
        assert score_incomplete("A -> B", empty, name, options=SHORT).value == pytest.approx(0.0, abs=1e-9)
    variables = [Variable("A", 2), Variable("B", 1)]
    seen = Table.read({"A": [0, 1, 0], "B": [0, None, 0]}, variables)
    blank = Table.read({"A": [0, 1, 0, None], "B": [0, None, 0, None]}, variables)
    for name in ("exact", "laplace", "cheeseman-stutz", "candidate", "variational"):
        one, other = (score_incomplete("A -> B", data, name, options=QUICK).value for data in (seen, blank))
        assert other == pytest.approx(one, abs=0.3 if name in ("cheeseman-stutz", "variational") else 0.06)


def test_what_is_too_much_is_refused_with_what_to_do():
    _, table = tiny(0)
    with pytest.raises(TooLarge, match="cheeseman-stutz"):
        score_incomplete(GRAPHS[0], table, "exact", options=ScoreOptions(max_entries=10))
    found = compare_scores(GRAPHS[0], table, ["exact", "bic"], options=ScoreOptions(max_entries=10))
    assert list(found.refused) == [(GRAPHS[0], "exact")]
    assert found.best("bic") == GRAPHS[0]
    with pytest.raises(InvalidArgument, match="No structure"):
        found.best("exact")
    fractions = Table.read({"A": [0, None, 1], "B": [0, 1, 1]}, weights=[1, 0.5, 1])
    with pytest.raises(InvalidArgument, match="whole rows"):
        score_incomplete("A -> B", fractions, "exact")
    with pytest.raises(InvalidArgument, match="score='cheeseman-stutz'"):
        score_incomplete("A -> B", fractions, "candidate")
    with pytest.raises(InvalidArgument, match="'cheeseman-stutz'"):
        score_incomplete(GRAPHS[0], table, "cheesman-stutz")
    with pytest.raises(InvalidArgument, match="positive"):
        score_incomplete(GRAPHS[0], table, "laplace", Dirichlet({0: 1, 1: 0}))
    with pytest.raises(InvalidArgument, match="num_draws"):
        ScoreOptions(num_draws=0)


def test_the_score_of_a_graph_takes_missing_cells():
    """pb.learn.score: BIC by EM, Dirichlet scores by Cheeseman-Stutz, or as method= says."""
    _, table = tiny(4)
    graph = GRAPHS[0]
    assert pb.learn.score(graph, table) == score_incomplete(graph, table, "bic").value
    assert pb.learn.score(graph, table, "bdeu:4") == score_incomplete(graph, table, "cheeseman-stutz", BDeu(4)).value
    exact = score_incomplete(graph, table, "exact", BDeu(4)).value
    assert pb.learn.score(graph, table, "bdeu:4", method="exact") == exact
    with pytest.raises(InvalidArgument, match="missing in"):
        pb.learn.score(graph, table, "aic")


def test_exhaustive_scoring_finds_the_structure_that_made_the_rows():
    """Two of three bits agree; of all graphs with one edge each score prefers that between them."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (60, 2))
    columns = {"A": bits[:, 0], "B": np.where(rng.random(60) < 0.9, bits[:, 0], 1 - bits[:, 0]), "C": bits[:, 1]}
    data = {n: [None if rng.random() < 0.15 else int(x) for x in column] for n, column in columns.items()}
    graphs = {edge: DAG([tuple(edge)], nodes=list("ABC")) for edge in ("AB", "AC", "BC")}
    found = compare_scores(graphs, data, ["bic", "laplace", "cheeseman-stutz", "variational"], options=QUICK)
    assert {found.best(name) for name in ("bic", "laplace", "cheeseman-stutz", "variational")} == {"AB"}
    assert found.to_frame().shape == (3, 4)


@pytest.mark.parametrize("num_edges", [0, 21])
def test_on_complete_data_the_effective_dimension_is_that_of_bic_however_few_rows_there_are(num_edges):
    """Seven coins and twenty rows: a complete graph has 127 parameters, though the rows are at most twenty."""
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 20).tolist() for name in "abcdefg"}
    edges = [(one, other) for place, one in enumerate("abcdefg") for other in "abcdefg"[place + 1 :]]
    graph = DAG(edges[:num_edges], nodes=list("abcdefg"))
    bic, effective = (score_incomplete(graph, rows, name).value for name in ("bic", "bic-effective"))
    assert effective == pytest.approx(bic, abs=1e-9)


@pytest.mark.parametrize(
    ("num_children", "num_states", "want"), [(3, 2, 7), (4, 2, 9), (4, 3, 13), (5, 3, 17), (12, 2, 25), (14, 3, 44)]
)
def test_the_effective_dimension_is_that_of_the_latent_class_model_and_not_of_the_rows(num_children, num_states, want):
    """Known dimensions of latent class models of bits; four bits with three classes lack one (Goodman 1974)."""
    names = [f"x{place}" for place in range(num_children)]
    task = ScoreTask.of(DAG([("H", n) for n in names]), {n: [0, 1, 1] for n in names}, None, {"H": num_states})
    assert effective_dimension(task) == want


def test_what_no_row_shows_together_is_not_told():
    """a and c are never seen together: a chain is told whole by its pairs, a common effect is not."""
    data = {"a": [0, 1, None, None], "b": [0, 1, 0, 1], "c": [None, None, 1, 0]}
    assert effective_dimension(ScoreTask.of("a -> b; b -> c", data)) == 5
    assert effective_dimension(ScoreTask.of("a -> c; b -> c", data)) == 4


def test_drawn_orders_of_seven_states_stand_for_all_of_them():
    """The order given is one of 5040, however many are drawn; against the sum over all 5040."""
    data = {"x": list(range(7)) * 6}
    task = ScoreTask.of("H -> x", data, K2(), {"H": 7})
    counts = task.tables.flat({"H": np.full(7, 6.0), "x": 6.0 * np.eye(7)})
    theta = task.tables.normalized(counts + task.pseudo_counts)
    tables, log_shares = task.renamed(theta)
    assert np.logaddexp.reduce(log_shares) == pytest.approx(0.0, abs=1e-12)
    assert log_shares[0] == pytest.approx(-math.log(5040))
    assert not (tables[1:] == tables[0]).all(axis=1).any()
    logs = np.log(task.tables.named(theta)["x"])
    weights = [6.0 * logs[list(order), range(7)].sum() for order in itertools.permutations(range(7))]
    weights = np.array(weights) + 6.0 * np.log(task.tables.named(theta)["H"]).sum()
    density = np.logaddexp.reduce(weights) - math.log(5040) - float(task.log_marginal(counts))
    found = candidate_estimate(task, theta[None], counts[None, None])
    assert found.value == pytest.approx(task.completion.log_likelihood(theta) - density, abs=1e-3)


@pytest.mark.slow
def test_the_error_of_the_candidate_method_covers_the_noise_of_its_chains():
    """Over seeds, what it is off the truth is about as large as it says; it tells that it sits at one fit of EM."""
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 9).tolist() for name in "abc"}
    graph, hidden = "H -> a; H -> b; H -> c", {"H": 2}
    truth = score_incomplete(graph, rows, "exact", hidden=hidden).value
    options = ScoreOptions(restarts=1, num_draws=150, burn_in=30)
    found = [score_incomplete(graph, rows, "candidate", hidden=hidden, seed=s, options=options) for s in range(8)]
    ratios = [(score.value - truth) / score.error for score in found]
    assert 0.2 < math.sqrt(np.mean(np.square(ratios))) < 1.4
    assert "EM found the greatest maximum" in found[0].assumed


def test_what_is_far_too_much_for_the_exact_score_is_refused_before_any_sum():
    """Sixty rows of three bits with a hidden cause of four states: the least number of counts tells at once."""
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 60).tolist() for name in "abc"}
    began = time.perf_counter()
    with pytest.raises(TooLarge, match="tiny data"):
        score_incomplete("H -> a; H -> b; H -> c", rows, "exact", hidden={"H": 4})
    assert time.perf_counter() - began < 2.0
    small = {name: values[:8] for name, values in rows.items()}
    task = ScoreTask.of("H -> a; H -> b; H -> c", small, None, {"H": 2})
    assert _least_counts(task) <= len(exact_completions(task).counts)
    with pytest.raises(TooLarge, match="time_limit"):
        score_incomplete("H -> a; H -> b; H -> c", rows, "exact", hidden={"H": 2}, time_limit=0.0)


def test_the_candidate_method_owns_up_to_candidates_that_differ():
    """With next to no pseudo-counts chains stay where they are; the error is no less than candidates are apart."""
    rows = {"x": [0, 0, 1, 1, 0, 1], "y": [0, 0, 1, 1, 0, 0]}
    options = ScoreOptions(tolerance=1e-3, num_draws=100, burn_in=20)
    exact, found = (
        score_incomplete("H -> x; H -> y", rows, name, Dirichlet(1e-3), hidden={"H": 2}, options=options)
        for name in ("exact", "candidate")
    )
    assert abs(found.value - exact.value) < 2 * found.error
    assert any("visit all modes" in note for note in found.assumed)
    assert not any(
        "visit all modes" in note for note in score_incomplete("x -> y", rows, "candidate", options=QUICK).assumed
    )


@pytest.mark.parametrize("num_states", [5, 6])
@pytest.mark.parametrize("most_squared", [3, 100])
def test_scores_are_of_a_mode_also_where_steps_of_em_creep(num_states, most_squared, monkeypatch):
    """An M-step from the tables found leads to the same tables: no gain is left, whether a climb took over or not."""
    rng = np.random.default_rng(2)
    kind, tables = rng.integers(2, size=600), rng.dirichlet([0.6] * 3, size=(2, 8)).cumsum(axis=2)
    rows = {f"x{i}": (rng.random(600)[:, None] > tables[kind, i, :2]).sum(axis=1) for i in range(8)}
    monkeypatch.setattr(task_module, "_MOST_SQUARED", most_squared)
    task = ScoreTask.of("; ".join(f"H -> {name}" for name in rows), rows, None, {"H": num_states})
    for name, cpd in task.fit.network.cpds.items():
        counts = task.fit.expectations.counts[name] + 1.0
        np.testing.assert_allclose(cpd.values, counts / counts.sum(axis=-1, keepdims=True), atol=2e-4)
