"""EM against its own theorems, and against steps by listing completions."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from completion_oracle import assert_rises, incomplete_table, oracle_counts, random_start
from network_oracle import random_network
from plausible.cpds import Split, TableCPD, TreeCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.bayesian.parameter_draws import sample_parameters
from plausible.learn.estimation.families import ParameterKnowledge, UnidentifiedParameters
from plausible.learn.estimation.learners import LogisticLearner
from plausible.learn.estimation.priors import K2, BDeu, Dirichlet
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import em_run, learn_em
from plausible.learn.incomplete.expectations import ExactExpectations
from plausible.learn.incomplete.problem import PlainEM, read_problem
from plausible.learn.incomplete.starts_and_stops import (
    STOPPING,
    ParameterChange,
    SymmetricStart,
    remaining_error,
    start_network,
)
from plausible.learn.incomplete_structures.available import complete_rows
from plausible.learn.incomplete_structures.structural_em import learn_structural_em
from plausible.learn.learned_parameters import ExpectedCounts, fit_parameters, learn_parameters
from plausible.models import BayesianNetwork
from plausible.search.run import Run, Stops
from plausible.variables import Variable


def two_clusters(rng, num_rows=300, num_features=4):
    """Rows of a naive Bayes model whose class is not among the columns; some cells missing."""
    cluster = rng.random(num_rows) < 0.4
    columns = {f"x{i}": (rng.random(num_rows) < np.where(cluster, 0.9, 0.2)).astype(int) for i in range(num_features)}
    return {name: [None if rng.random() < 0.1 else int(x) for x in column] for name, column in columns.items()}


NAIVE = "H -> x0; H -> x1; H -> x2; H -> x3"


@pytest.mark.parametrize("seed", range(6))
def test_a_step_is_the_ratio_of_counts_over_completions_and_never_lowers_the_likelihood(seed):
    """θ ← M̄[x, u] / M̄[u]; a row with M̄[u] = 0 stays as it was, and is reported."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4)
    table, rows, weights = incomplete_table(net, rng, 20)
    start = random_start(net, rng)
    fit = learn_em(net, table, start=start, max_steps=1, tolerance=0)
    for name, cpd in start.cpds.items():
        counts, total = oracle_counts(start, rows, weights, [v.name for v in cpd.scope])
        sums = counts.sum(axis=-1, keepdims=True)
        wanted = np.where(sums > 0, counts / np.where(sums > 0, sums, 1), cpd.values)
        np.testing.assert_allclose(fit.network.cpd(name).values, wanted, atol=1e-9)
        assert (sums[..., 0] == 0).any() == (name in fit.unidentified)
        assert fit.trace[0] == pytest.approx(total)
    longer = learn_em(net, table, start=start, max_steps=60, tolerance=1e-10)
    assert_rises(longer.trace)
    assert longer.log_likelihood == pytest.approx(oracle_counts(longer.network, rows, weights, [name])[1])


@pytest.mark.parametrize("prior", [None, K2(), BDeu(5)], ids=repr)
@pytest.mark.parametrize("start", ["random", "available", "prior", "uniform"])
def test_complete_rows_give_the_closed_form_in_one_step(prior, start):
    rng = np.random.default_rng(1)
    net = random_network(rng, num_variables=4)
    table, _, _ = incomplete_table(net, rng, 30, missing=0.0)
    fit = learn_em(net, table, prior, start=start, max_steps=1)
    wanted = learn_parameters(net, table, prior, unseen="uniform")
    for name, cpd in wanted.cpds.items():
        seen = ~fit.unidentified.get(name, np.zeros(cpd.values.shape[:-1], dtype=bool))
        np.testing.assert_allclose(fit.network.cpd(name).values[seen], cpd.values[seen], atol=1e-12)


@pytest.mark.parametrize("estimate", ["mean", "map"])
@pytest.mark.parametrize("prior", [K2(), Dirichlet(2.5), BDeu(40)], ids=repr)
def test_with_a_prior_the_posterior_rises_and_its_fixed_point_is_the_estimate(prior, estimate):
    """The M-step is (M̄ + α) / Σ for the mean, (M̄ + α - 1) / Σ for the mode."""
    rng = np.random.default_rng(2)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, rows, weights = incomplete_table(net, rng, 30)
    fit = learn_em(net, table, prior, estimate=estimate, tolerance=1e-14, max_steps=3000)
    assert_rises(fit.trace)
    for cpd in fit.network.cpds.values():
        counts, _ = oracle_counts(fit.network, rows, weights, [v.name for v in cpd.scope])
        summed = counts + prior.pseudo_counts(cpd.variable, cpd.parents) - (estimate == "map")
        if (summed > 0).all():
            np.testing.assert_allclose(cpd.values, summed / summed.sum(axis=-1, keepdims=True), atol=1e-4)


@pytest.mark.parametrize("kind", ["table", "tree"])
def test_a_mode_with_pseudo_counts_below_one_is_refused_as_its_density_has_no_bound(kind):
    rows = {"a": [0, 1, 1, None], "e": [0, 0, 1, None]}
    with pytest.raises(InvalidArgument, match=r"'e' has pseudo-counts below one, such as 0\.9"):
        learn_em("a -> e", rows, {"e": Dirichlet(0.9)}, estimate="map", kinds={"e": kind})
    assert learn_em("a -> e", rows, {"e": Dirichlet(0.9)}, kinds={"e": kind}).converged


def test_order_of_rows_and_columns_does_not_matter():
    rng = np.random.default_rng(3)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, _, _ = incomplete_table(net, rng, 30, weighted=False)
    order = rng.permutation(30)
    names = list(net.variables)[::-1]
    first = learn_em(net.graph, table, seed=5)
    second = learn_em(net.graph, table.select(names).take(order), seed=5)
    assert first.log_likelihood == pytest.approx(second.log_likelihood, abs=1e-9)
    assert all(np.allclose(first.network.cpd(name).values, second.network.cpd(name).values) for name in names)


def test_degenerate_data_are_learned_from():
    nothing = Table.read({"x": [], "y": []}, [Variable("x", 2), Variable("y", 2)])
    with pytest.warns(UnidentifiedParameters, match="no rows"):
        empty = learn_em("x -> y", nothing)
    assert not learn_em("x -> y", nothing, BDeu(1)).unidentified
    assert empty.converged
    assert empty.log_likelihood == 0.0
    assert set(empty.unidentified) == {"x", "y"}
    blank = learn_em(DAG(nodes=["x"]), Table.read({"x": [None, None]}, [Variable("x", 3)]), start="uniform")
    assert blank.log_likelihood == pytest.approx(0.0)
    pair = Table.read({"s": [0, None], "x": [1, None]}, [Variable("s", 1), Variable("x", 2)])
    single = learn_em("s -> x", pair, start="uniform", max_steps=5, tolerance=0)
    assert single.network.cpd("x").values[0, 1] == pytest.approx(1 - 2.0**-6)  # each step halves what is missing


def test_hidden_clusters_are_found_up_to_their_names():
    rows = two_clusters(np.random.default_rng(0))
    fit = learn_em(NAIVE, rows, hidden={"H": 2}, restarts=4, seed=1)
    assert fit.hidden == ("H",)
    assert len(fit.runs) == 5
    assert [run.trace[-1] for run in fit.runs] == sorted((run.trace[-1] for run in fit.runs), reverse=True)
    for run in fit.runs:
        assert_rises(run.trace)
    codes = np.array([[-1, *(-1 if x is None else x for x in row)] for row in zip(*rows.values(), strict=True)])
    codes = codes[:, [["H", *rows].index(name) for name in fit.network.variables]]
    logs = [oracle_counts(run.state.network, codes, np.ones(300), ["H"])[1] for run in fit.runs]
    assert fit.num_optima == len({round(log, 1) for log in logs})
    assert fit.log_likelihood == pytest.approx(max(logs))
    for cpd in fit.network.cpds.values():  # a fixed point, near what the rows were made by
        counts, _ = oracle_counts(fit.network, codes, np.ones(300), [v.name for v in cpd.scope])
        np.testing.assert_allclose(cpd.values, counts / counts.sum(axis=-1, keepdims=True), atol=2e-3)
        shares = sorted(cpd.values[..., 1]) if cpd.parents else sorted(cpd.values)
        np.testing.assert_allclose(shares, [0.2, 0.9] if cpd.parents else [0.4, 0.6], atol=0.12)
    again = learn_em(NAIVE, rows, hidden=[Variable("H", 2)], restarts=4, seed=1)
    assert again.log_likelihood == fit.log_likelihood
    with pytest.raises(UnknownVariable, match="hidden="):
        learn_em(NAIVE, rows)


def test_a_uniform_start_of_a_hidden_variable_is_a_trap_that_is_announced():
    """EM goes to independent features and stays there (checklist 37)."""
    rows = {f"x{i}": [0, 0, 1, 1, 1, 0, 0] for i in range(4)}
    with pytest.warns(SymmetricStart, match="'H'"):
        fit = learn_em(NAIVE, rows, hidden={"H": 2}, start="uniform")
    np.testing.assert_allclose(fit.network.cpd("x2").values, [[4 / 7, 3 / 7]] * 2)
    assert learn_em(NAIVE, rows, hidden={"H": 2}).log_likelihood > fit.log_likelihood + 1


def test_a_hidden_cause_of_one_test_has_a_surface_of_maxima():
    """C -> T with C hidden: every start ends at the share of T, whatever it says about C."""
    rows = {"T": [0, 1, 1, 1]}
    fit = learn_em("C -> T", rows, hidden={"C": 2}, restarts=3, seed=0, tolerance=1e-12)
    for run in fit.runs:
        chance = run.state.network.cpd("C").values @ run.state.network.cpd("T").values
        np.testing.assert_allclose(chance, [0.25, 0.75], atol=1e-4)
    assert fit.num_optima == 1
    assert np.ptp([run.state.network.cpd("C").values[0] for run in fit.runs]) > 0.01


def test_noisy_or_and_trees_and_logistic_rise_to_the_maximum_of_the_likelihood():
    """As an optimiser finds it that sums over all completions of each row."""
    rng = np.random.default_rng(4)
    a, b = rng.random(200) < 0.4, rng.random(200) < 0.5
    e = (a & (rng.random(200) < 0.8)) | (b & (rng.random(200) < 0.3)) | (rng.random(200) < 0.05)
    hide = rng.random((3, 200)) < 0.2
    rows = {
        n: [None if h else bool(x) for x, h in zip(c, m, strict=True)]
        for n, c, m in zip("abe", (a, b, e), hide, strict=True)
    }
    seen = [
        [tuple(range(2)) if cell is None else (int(cell),) for cell in row] for row in zip(*rows.values(), strict=True)
    ]
    seen = Counter(map(tuple, seen))
    first, second = np.mgrid[:2, :2]

    def likelihood(chances, effect):
        joint = np.ones((2, 2, 2)) * effect[..., None]
        joint[..., 0] = 1 - effect
        joint *= np.array([1 - chances[0], chances[0]])[:, None, None] * np.array([1 - chances[1], chances[1]])[:, None]
        return sum(count * np.log(joint[np.ix_(*cells)].sum()) for cells, count in seen.items())

    effects = {
        "noisy-or": lambda w: 1 - (1 - expit(w[0])) * (1 - expit(w[1])) ** first * (1 - expit(w[2])) ** second,
        "logistic": lambda w: expit(w[0] + w[1] * first + w[2] * second),
        "tree": lambda w: expit(np.reshape(w, (2, 2))),
    }
    for kind, effect in effects.items():
        learner = LogisticLearner(penalty=1e-6) if kind == "logistic" else kind
        fit = learn_em("a -> e <- b", rows, kinds={"e": learner}, tolerance=1e-12, max_steps=2000)
        assert fit.network.cpd("e").kind == kind
        assert_rises(fit.trace)
        start = np.zeros(6 if kind == "tree" else 5)
        best = minimize(lambda w, effect=effect: -likelihood(expit(w[:2]), effect(w[2:])), start)
        assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-4)
        learned = fit.network.cpd("e").to_table().values[..., 1]
        np.testing.assert_allclose(learned, effect(best.x[2:]), atol=1e-3)


def test_a_given_tree_keeps_its_splits_and_pools_the_counts_of_a_leaf():
    rng = np.random.default_rng(5)
    states = [False, True]
    parents = [Variable("a", states), Variable("b", states)]
    tree = TreeCPD(
        Variable("e", states),
        Split("a", {True: [0.5, 0.5], False: Split("b", {True: [0.4, 0.6], False: [0.7, 0.3]})}),
        parents,
    )
    rows = {n: [None if rng.random() < 0.2 else bool(rng.random() < 0.5) for _ in range(60)] for n in "abe"}
    fit = learn_em(
        "a -> e <- b", rows, kinds={"e": "tree"}, knowledge=ParameterKnowledge(start=[tree]), tolerance=1e-12
    )
    learned = fit.network.cpd("e")
    assert len(learned.contexts()) == 3
    assert_rises(fit.trace)
    counts = fit.expectations.counts["e"]
    np.testing.assert_allclose(learned.to_table().values[1, 0], counts[1].sum(axis=0) / counts[1].sum(), atol=1e-4)


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_trees_have_their_prior_in_complete_rows_as_parameters_gives_it(estimate):
    rows = {"a": [0] * 10 + [1] * 10, "e": [0] * 10 + [1] * 10}
    fit = learn_em("a -> e", rows, Dirichlet(10.0), estimate=estimate, kinds={"e": "tree"})
    wanted = learn_parameters("a -> e", rows, Dirichlet(10.0), estimate=estimate, kinds={"e": "tree"})
    np.testing.assert_allclose(fit.network.cpd("e").to_table().values, wanted.cpd("e").to_table().values)
    tables = learn_em("a -> e", rows, Dirichlet(10.0), estimate=estimate)
    assert fit.objective == pytest.approx(tables.objective)  # a full tree is a table


@pytest.mark.parametrize("estimate", ["mean", "map"])
@pytest.mark.parametrize("is_given", [False, True])
def test_trees_with_a_prior_raise_the_posterior_and_end_where_leaves_have_their_pseudo_counts(estimate, is_given):
    rng = np.random.default_rng(11)
    rows = {n: [None if rng.random() < 0.2 else int(rng.random() < 0.5) for _ in range(60)] for n in "ab"}
    rows["e"] = [None if a is None or rng.random() < 0.1 else int(rng.random() < 0.2 + 0.6 * a) for a in rows["a"]]
    variables = {n: Variable(n, [0, 1]) for n in "abe"}
    tree = TreeCPD(variables["e"], Split("a", {0: [0.5, 0.5], 1: [0.4, 0.6]}), [variables["a"], variables["b"]])
    given = ParameterKnowledge(start=[tree] if is_given else [])
    ask = {"kinds": {"e": "tree"}, "knowledge": given, "estimate": estimate, "tolerance": 1e-13}
    fit = learn_em("a -> e <- b", Table.read(rows, variables.values()), Dirichlet(3.0), **ask)
    assert_rises(fit.trace)
    shift, counts = {"mean": 0.0, "map": -1.0}[estimate], fit.expectations.counts["e"]
    log_prior = sum((3.0 + shift) * np.log(fit.network.cpd(n).values).sum() for n in "ab")
    for leaf in fit.network.cpd("e").contexts():
        rows_of_leaf = counts[np.ix_(leaf.states.get("a", (0, 1)), leaf.states.get("b", (0, 1)))].reshape(-1, 2)
        exponent = 3.0 * len(rows_of_leaf) + shift
        summed = rows_of_leaf.sum(axis=0) + exponent
        np.testing.assert_allclose(leaf.probabilities, summed / summed.sum(), atol=1e-4)
        log_prior += exponent * np.log(leaf.probabilities).sum()
    assert fit.objective - fit.log_likelihood == pytest.approx(log_prior)


def test_fixed_tables_stay_and_tied_ones_share_their_counts():
    rng = np.random.default_rng(6)
    rows = {n: [None if rng.random() < 0.3 else int(rng.random() < 0.3) for _ in range(50)] for n in "abc"}
    fixed = TableCPD("b", [[0.5, 0.5], [0.9, 0.1]], ["a"])
    kept = learn_em("a -> b; a -> c", rows, knowledge=ParameterKnowledge(fixed=[fixed]))
    np.testing.assert_array_equal(kept.network.cpd("b").values, fixed.values)
    tied = learn_em("a -> b; a -> c", rows, knowledge=ParameterKnowledge(tied=[["b", "c"]]), tolerance=1e-12)
    np.testing.assert_array_equal(tied.network.cpd("b").values, tied.network.cpd("c").values)
    pooled = tied.expectations.counts["b"] + tied.expectations.counts["c"]
    np.testing.assert_allclose(tied.network.cpd("b").values, pooled / pooled.sum(axis=-1, keepdims=True), atol=1e-4)
    assert_rises(tied.trace)


@pytest.mark.parametrize("read", [dict, Table.read, pd.DataFrame])
def test_a_start_may_have_states_that_no_row_has(read):
    """They stay, in the order of the start; frequencies are those of the rows. What the start lacks is named."""
    first = TableCPD("x", [0.2, 0.3, 0.5], states=["c", "b", "a"])
    start = BayesianNetwork(first, TableCPD("y", [[0.5, 0.5]] * 3, ["x"], states=["u", "v"]))
    rows = {"x": ["a", "b", "a", "a"], "y": ["u", "u", "v", "v"]}
    found = learn_em("x -> y", read(rows), start=start).network
    assert found.variables["x"].states == ("c", "b", "a")
    assert found.cpd("x").values == pytest.approx([0.0, 0.25, 0.75])
    assert learn_structural_em(read(rows), start=start).network.variables["x"].states == ("c", "b", "a")
    with pytest.raises(UnknownState, match="'d' is not a state of 'x'"):
        learn_em("x -> y", read({**rows, "x": ["a", "b", "d", "a"]}), start=start)
    with pytest.raises(InvalidArgument, match=r"'y' has the parents \['x'\] in the network of start=, but \[\]"):
        learn_em("y -> x", read(rows), start=start)


def test_a_completion_as_start_comes_with_an_m_step_first():
    rows = {"x": [0, None, 1], "y": [0, 1, None]}
    completion = Table.read({"x": [0, 1, 1], "y": [0, 1, 0]})
    fit = learn_em("x -> y", rows, start=completion, progress=lambda state: True)
    problem = read_problem("x -> y", rows)
    step = ExactExpectations(problem.cases)
    wanted = learn_parameters("x -> y", completion)
    assert fit.trace[0] == pytest.approx(step.at(wanted).log_likelihood)
    with pytest.raises(InvalidArgument, match="missing cells"):
        learn_em("x -> y", rows, start=Table.read(rows))
    with pytest.raises(InvalidArgument, match="random"):
        learn_em("x -> y", rows, start="randm")


def test_rules_end_runs_and_say_which():
    rows = two_clusters(np.random.default_rng(7))
    train, held = ({name: column[part] for name, column in rows.items()} for part in (slice(200), slice(200, None)))
    ask = {"hidden": {"H": 2}, "seed": 3}
    exact = learn_em(NAIVE, train, tolerance=0, stopping="parameters", max_steps=600, **ask)
    for rule in ("likelihood", "parameters", "extrapolated"):
        fit = learn_em(NAIVE, train, stopping=rule, tolerance=1e-7, **ask)
        assert fit.converged
        assert fit.stopped_by == "converged"
        assert fit.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-3)
    judged = learn_em(NAIVE, train, stopping="validation", validation=held, **ask)
    assert judged.stopped_by in ("validation", "step limit")
    scores = judged.run.state.validation_trace
    assert max(scores) == scores[judged.num_steps]
    assert learn_em(NAIVE, train, max_steps=2, tolerance=0, **ask).stopped_by == "step limit"
    assert learn_em(NAIVE, train, time_limit=0.0, **ask).stopped_by == "time limit"
    assert learn_em(NAIVE, train, progress=lambda state: state.num_steps == 3, tolerance=0, **ask).num_steps == 3
    with pytest.raises(InvalidArgument, match="validation="):
        learn_em(NAIVE, train, stopping="validation", **ask)
    with pytest.raises(InvalidArgument, match="give a function from a Run to a reason"):
        learn_em(NAIVE, train, stopping=["likelihood"], **ask)


def test_linear_convergence_tells_the_error_that_is_left():
    limit, rate = 5.0, 0.7
    trace = [limit - rate**k for k in range(6)]
    assert remaining_error(trace) == pytest.approx(limit - trace[-1])


@pytest.mark.parametrize("rule", ["likelihood", "extrapolated"])
def test_a_falling_objective_is_no_convergence_and_a_noisy_one_converges_where_it_has_no_trend(rule):
    def judge(trace, tolerance):
        return STOPPING[rule](tolerance)(Run(None, trace=trace)) == "converged"

    assert not judge([-10.0, -11.0], 1e-6)
    assert not judge([-10.0 - k for k in range(30)], 1e-6)
    noise = 0.1 * np.random.default_rng(0).standard_normal(40)
    rising = -100.0 + 2.0 * np.arange(40) + noise
    assert not any(judge(list(rising[:n]), 1e-6) for n in range(2, 41))
    level = -100.0 + noise
    ends = [n for n in range(2, 41) if judge(list(level[:n]), 1e-6)]
    assert min(ends) > 10
    assert judge([-5.0, -4.0, -4.0 - 1e-13], 1e-6)  # rounding


def test_numbers_of_runs_and_of_rules_are_not_negative():
    for wrong in ({"restarts": -1}, {"tolerance": -1.0}, {"tolerance": float("nan")}, {"max_steps": -1}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            learn_em("x -> y", {"x": [0, 1], "y": [0, None]}, **wrong)


def test_states_and_runs_print_in_one_line():
    fit = learn_em("x -> y", {"x": [0, 1], "y": [0, None]})
    problem = read_problem("x -> y", {"x": [0, 1], "y": [0, None]})
    for value in (fit, fit.run.state, fit.expectations, problem.maximization):
        assert len(repr(value)) < 120, repr(value)


def test_states_are_values_that_can_be_sent_away_and_taken_further():
    rows = two_clusters(np.random.default_rng(8), 60)
    problem = read_problem(NAIVE, rows, {"H": 2})
    network = learn_em(NAIVE, rows, hidden={"H": 2}, max_steps=1, tolerance=0).network
    states = [problem.at(network)]
    for _ in range(4):
        states.append(pickle.loads(pickle.dumps(PlainEM().step(problem, states[-1]))))
    half = em_run(problem, states[0], Stops(max_steps=2))
    whole = em_run(problem, pickle.loads(pickle.dumps(half)), Stops(max_steps=4))
    assert list(whole.trace) == [state.objective for state in states]
    assert (half.num_steps, whole.num_steps, whole.state.num_steps) == (2, 4, 4)


def test_a_stopping_rule_is_a_value_of_the_users_own():
    """Asked of the run after each step; what it answers is why the run ended."""
    rows = two_clusters(np.random.default_rng(8), 60)
    fit = learn_em(NAIVE, rows, hidden={"H": 2}, stopping=lambda run: "enough" if run.num_steps == 3 else "")
    assert (fit.num_steps, fit.stopped_by, fit.converged) == (3, "enough", False)
    again = learn_em(NAIVE, rows, hidden={"H": 2}, stopping=ParameterChange(1e-3), tolerance=0.0)
    assert again.converged


def test_learn_parameters_completes_missing_states_by_itself():
    rng = np.random.default_rng(9)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, _, _ = incomplete_table(net, rng, 60)
    for prior in (None, BDeu(8)):
        with pytest.warns(ExpectedCounts, match="too narrow"):
            fit = fit_parameters(net, table, prior)
        wanted = learn_em(net, table, prior, tolerance=1e-8)
        for name, cpd in wanted.network.cpds.items():
            seen = ~fit.unidentified.get(name, np.zeros(cpd.values.shape[:-1], dtype=bool))
            np.testing.assert_allclose(fit.network.cpd(name).values[seen], cpd.values[seen], atol=1e-3)
            assert fit.posterior[name].counts.sum() == pytest.approx(table.total)
    cases = Cases.of(net.variables, table)
    assert learn_parameters(net, table, BDeu(8)).is_close(fit.network)
    assert not cases.is_complete


def test_error_bars_of_expected_counts_are_announced_as_too_narrow():
    """Of ten rows that are seen, the posterior is Beta(k + 1, 11 - k), however many others are empty."""
    graph = DAG("a; b")
    rows = {"a": ["no"] * 6 + ["yes"] * 4 + [None] * 90, "b": ["x", "y"] * 50}
    with pytest.warns(ExpectedCounts, match=r"90 missing cells .* in 'a' \(90\): .*sample_parameters.*complete_rows"):
        fit = fit_parameters(graph, rows, BDeu(2))
    deviation = np.sqrt(7 * 5 / (12**2 * 13))
    bars = {}
    for name, uncertainty in (
        ("expected", fit.posterior),
        ("draws", sample_parameters(graph, rows, BDeu(2), seed=1)),
        ("complete", fit_parameters(graph, complete_rows(rows), BDeu(2)).posterior),
    ):
        bars[name] = fit.network.query("a", uncertainty=uncertainty).info.standard_deviations[0]
    assert bars["draws"] == pytest.approx(deviation, rel=0.1)
    assert bars["complete"] == pytest.approx(deviation, rel=1e-6)
    assert bars["expected"] < deviation / 2
    learn_parameters(graph, rows, BDeu(2))  # a network alone has no error bars to warn of


def test_rows_with_few_expected_cases_are_poorly_determined():
    """M̄[u] below a limit: of a = 1 there is one case, and half of one more."""
    rows = {"a": [0, 0, 0, 1, None], "b": [0, 1, 0, 1, 1]}
    fit = learn_em("a -> b", rows, start="uniform", max_steps=0)
    assert fit.poorly_determined(1.4) == {}
    assert {name: mask.tolist() for name, mask in fit.poorly_determined(2.0).items()} == {"b": [False, True]}
    assert {name: mask.tolist() for name, mask in fit.poorly_determined(10).items()} == {"a": True, "b": [True, True]}


@pytest.mark.parametrize("learn", [learn_em, learn_parameters])
@pytest.mark.parametrize("empty", [None, np.nan])
def test_columns_that_the_graph_does_not_have_are_not_read(learn, empty):
    rows = {"x": [0, 1, 0, 1, 0], "y": [0, 1, 1, 0, None]}
    graph = DAG("x -> y")
    for start in (graph, learn_parameters(graph, rows)):
        learn(start, {**rows, "note": [empty] * 5, "id": [["no state"]] * 5})
    with pytest.raises(UnknownVariable, match=r"'yy'.*hidden=\{'yy': 2\}.*Did you mean 'y'"):
        learn(DAG("x -> yy"), rows)


def test_a_variable_without_values_is_named_with_how_to_say_that_it_is_hidden():
    rows = {"x": np.full(4, np.nan), "y": ["a", "b", "a", "b"]}
    with pytest.raises(InvalidArgument, match=r"'x' has no value.*hidden=\{'x': 2\}"):
        learn_em("x -> y", rows)
    assert learn_em("x -> y", rows, hidden={"x": 2}).network.variables["x"].num_states == 2


@pytest.mark.parametrize("as_table", [False, True])
def test_hidden_variables_that_contradict_graph_network_or_data_are_refused(as_table):
    network = BayesianNetwork(TableCPD("x", [0.4, 0.6]), TableCPD("y", [[0.9, 0.1], [0.2, 0.8]], ["x"]))
    rows = {"x": [0, 1, None], "y": [0, 1, 1]}
    data = Table.read(rows) if as_table else rows
    for graph in ("x -> y", network):
        with pytest.raises(UnknownVariable, match=r"'Q' is not a variable of the graph, though hidden= has it"):
            learn_em(graph, data, hidden={"Q": 2})
        with pytest.raises(InvalidArgument, match="'x' is in hidden=, but has values"):
            learn_em(graph, data, hidden={"x": 2})
    only = {"y": rows["y"]}
    with pytest.raises(InvalidArgument, match=r"gives 'x' the states \[0, 1, 2\], the network has"):
        learn_em(network, only, hidden={"x": 3})
    assert learn_em(network, only, hidden={"x": 2}).hidden == ("x",)


@pytest.mark.parametrize("learn", [learn_parameters, learn_em, read_problem])
def test_columns_that_the_graph_lacks_are_not_read(tmp_path, learn):
    """Whatever they hold: measurements with a word for missing, or nothing."""
    path = tmp_path / "rows.csv"
    path.write_text("rain,grass,height,notes\nno,dry,1.5,\nyes,wet,NA,\nno,dry,1.7,\n,wet,1.2,\n")
    learned = learn("rain -> grass", path)
    again = learn("rain -> grass", Table.read(path, columns=["rain", "grass"]))
    assert repr(learned) == repr(again)


def test_a_hidden_variable_whose_children_do_not_vary_is_told_so():
    """Random tables would not help: P(child | h) is one for each h."""
    with pytest.warns(SymmetricStart, match=r"'a' has one state, 'x'.*Give rows that differ"):
        learn_em("H -> a; H -> b", {"a": ["x"] * 4, "b": [1] * 4}, hidden={"H": 2}, seed=0)


def test_known_names_are_listed_once():
    with pytest.raises(UnknownVariable, match=r"Known: 'rain', 'grass'\.$"):
        learn_em("rain -> grass; rain -> zzz", {"rain": [None], "grass": [1]}, hidden={"rain": 2})


@pytest.mark.parametrize(
    "learn",
    [
        lambda hidden: learn_em("H -> a", {"a": [0, 1]}, hidden=hidden),
        lambda hidden: learn_structural_em({"a": [0, 1]}, hidden=hidden),
    ],
)
@pytest.mark.parametrize(
    ("hidden", "problem"),
    [
        ({"H": 0}, "1 or more"),
        ({"H": "x"}, "1 or more"),
        ({"H": True}, "1 or more"),
        (["H"], "or lists variables; 'H' is neither"),
        ({"H": Variable("G", 2)}, "is neither"),
    ],
)
def test_hidden_variables_are_checked_alike_with_and_without_a_graph(learn, hidden, problem):
    with pytest.raises(InvalidArgument, match=problem):
        learn(hidden)


def test_runs_keep_the_graph_that_was_given():
    """Every network of a run stands on the one graph, which is that of its distributions; so do those made of tables.

    A learner that leaves parents out gives a network of its own graph.
    """
    rows = {"a": [0, 1, None, 1, 0], "b": [0, 1, 1, None, 0], "c": [1, 1, 0, 0, None]}
    problem = read_problem("b -> c; a -> c; a -> b", rows)
    given, kept = problem.maximization, learn_em("b -> c; a -> c; a -> b", rows, max_steps=3).network
    start = start_network(given, problem.cases, "uniform", np.random.default_rng(0))
    after = PlainEM().step(problem, problem.at(start)).network
    remade = given.with_tables(after, given.free_tables(after))
    assert start.graph is after.graph is remade.graph is given.graph
    assert remade == after == BayesianNetwork(after.cpds.values())
    assert kept.graph == BayesianNetwork(kept.cpds.values()).graph
    bare = given.over({**after.cpds, "c": TableCPD(given.variables["c"], [0.5, 0.5])})
    assert bare.graph == DAG("a -> b", nodes=["b", "c", "a"])
