"""EM with other engines than the clique tree: what they expect, what never falls, and what they admit."""

import numpy as np
import pytest

from completion_oracle import assert_rises, incomplete_table, oracle_counts
from network_oracle import random_network
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, PlausibleError
from plausible.inference import Gibbs, JunctionTree, LoopyBP, MeanField, VariableElimination
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.incomplete.approximate_expectations import mean_field_expectations
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.expectations import EngineExpectations, ExactExpectations
from plausible.learn.incomplete.methods import VariationalEM
from plausible.learn.incomplete.problem import EMProblem, PlainEM, read_problem
from plausible.models import BayesianNetwork


def small_problem(seed, num_variables=4, edge_probability=0.5):
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables, zeros=0.0, edge_probability=edge_probability)
    return net, *incomplete_table(net, rng, 12)


@pytest.mark.parametrize(
    "engine", [VariableElimination(), JunctionTree(), MeanField(blocks=[["X0", "X1", "X2", "X3"]])]
)
def test_an_exact_engine_gives_exact_expectations(engine):
    net, table, rows, weights = small_problem(0)
    found = EngineExpectations(Cases.of(net.variables, table), engine).at(net)
    assert found.is_exact
    for name, cpd in net.cpds.items():
        counts, total = oracle_counts(net, rows, weights, [v.name for v in cpd.scope])
        np.testing.assert_allclose(found.counts[name], counts, atol=1e-6)
    assert found.log_likelihood == pytest.approx(total, abs=1e-6)


def test_belief_propagation_em_equals_em_on_a_tree_and_says_that_it_is_not_exact():
    rng = np.random.default_rng(1)
    rows = {n: [None if rng.random() < 0.3 else int(rng.random() < 0.4) for _ in range(25)] for n in "abc"}
    ask = {"start": "available", "max_steps": 6, "tolerance": 0}
    exact, loopy = (learn_em("a -> b; b -> c", rows, engine=engine, **ask) for engine in (None, LoopyBP()))
    np.testing.assert_allclose(loopy.trace, exact.trace, atol=1e-5)
    assert exact.is_exact


def test_the_expectations_of_a_sampler_are_near_the_truth_and_are_monitored_by_another_engine():
    net, table, rows, weights = small_problem(2)
    step = EngineExpectations(Cases.of(net.variables, table), Gibbs(num_samples=4000, seed=1), JunctionTree())
    found = step.at(net)
    assert not found.is_exact
    for name, cpd in net.cpds.items():
        counts, total = oracle_counts(net, rows, weights, [v.name for v in cpd.scope])
        np.testing.assert_allclose(found.counts[name], counts, atol=0.05 * weights.sum())
    assert found.log_likelihood == pytest.approx(total)
    problem = read_problem(net, table)
    problem = EMProblem(step, problem.maximization)
    before = problem.at(net)
    assert PlainEM().step(problem, before).objective > before.objective


@pytest.mark.parametrize("sweeps", [None, 1])
@pytest.mark.parametrize("seed", range(4))
def test_variational_em_never_lowers_its_bound_which_is_below_the_likelihood(seed, sweeps):
    net, table, rows, weights = small_problem(seed, 5)
    fit = learn_em(
        net, table, method=VariationalEM(sweeps=sweeps), start="random", seed=seed, max_steps=15, tolerance=0
    )
    assert_rises(fit.trace)
    total = oracle_counts(fit.network, rows, weights, ["X0"])[1]
    assert fit.objective <= total + 1e-8
    for name, counts in fit.expectations.counts.items():
        assert counts.sum() == pytest.approx(weights.sum()), name


def test_variational_em_with_all_variables_in_one_block_is_em():
    net, table, _, _ = small_problem(4)
    whole = VariationalEM(MeanField(blocks=[list(net.variables)]))
    ask = {"start": "available", "max_steps": 5, "tolerance": 0}
    one, other = learn_em(net, table, method=whole, **ask), learn_em(net, table, **ask)
    np.testing.assert_allclose(one.trace, other.trace, atol=1e-7)
    assert one.is_exact


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("restarts", [0, 2])
def test_mean_field_of_many_cases_is_that_of_each(seed, restarts):
    """Cases with the same cells missing go together; the engine, asked case by case, has the same beliefs."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, 5, zeros=0.3, edge_probability=0.6)
    table, _, _ = incomplete_table(net, rng, 12)
    cases, engine = Cases.of(net.variables, table), MeanField(restarts=restarts)
    found, beliefs = mean_field_expectations(engine, net, cases)
    each = EngineExpectations(cases, engine).at(net)
    np.testing.assert_allclose(found.case_log_likelihoods, each.case_log_likelihoods, atol=1e-6)
    for name, counts in each.counts.items():
        np.testing.assert_allclose(found.counts[name], counts, atol=1e-4)
    again, _ = mean_field_expectations(engine, net, cases, beliefs, sweeps=1)
    np.testing.assert_allclose(again.case_log_likelihoods, found.case_log_likelihoods, atol=1e-6)


def test_an_engine_is_asked_only_about_cases_with_missing_cells():
    class Asked(JunctionTree):
        def log_total(self, factors, evidence):
            asked.append(evidence)
            return super().log_total(factors, evidence)

    asked, net = [], BayesianNetwork(TableCPD("a", [0.3, 0.7]), TableCPD("b", [[0.2, 0.8], [0.6, 0.4]], ["a"]))
    cases = Cases.of(net.variables, {"a": [0, 1, None], "b": [1, 0, 1]})
    found = EngineExpectations(cases, Asked()).at(net)
    assert len(asked) == 1
    assert found.log_likelihood == pytest.approx(ExactExpectations(cases).at(net).log_likelihood)


def test_cases_that_are_ruled_out_are_named_by_every_engine():
    net = BayesianNetwork(TableCPD("a", [0.5, 0.5]), TableCPD("b", [[0.0, 0.4, 0.6], [0.0, 0.7, 0.3]], ["a"]))
    for ask in ({"engine": JunctionTree()}, {"engine": LoopyBP()}, {"method": "variational"}):
        with pytest.raises(ImpossibleEvidence, match="Row 1"):
            learn_em(net, {"b": [1, 0]}, start=net, **ask)
    with pytest.raises(PlausibleError):
        learn_em(net, {"b": [1]}, engine="bp")


def test_variables_set_from_outside_say_nothing_of_their_own_tables():
    table = Table.read({"a": [0, 1, None], "b": [1, 0, 1]}, interventions={"b": [True, False, False]})
    ask = {"start": "available", "max_steps": 4, "tolerance": 0}
    exact = learn_em("a -> b", table, **ask)
    for more in ({"engine": JunctionTree()}, {"method": "variational"}):
        np.testing.assert_allclose(learn_em("a -> b", table, **ask, **more).trace, exact.trace, atol=1e-7)


def grades(num_students, num_courses, rng):
    """Grades of students in courses, and the graph and ties of the model in which they depend on both."""
    smart, hard = rng.random(num_students) < 0.5, rng.random(num_courses) < 0.5
    pairs = [(s, c) for s in range(num_students) for c in range(num_courses)]
    row = {f"G{s}_{c}": [int(rng.random() < (0.9 if smart[s] else 0.5) - 0.4 * hard[c])] for s, c in pairs}
    graph = "; ".join(f"I{s} -> G{s}_{c} <- D{c}" for s, c in pairs)
    people, courses = [f"I{s}" for s in range(num_students)], [f"D{c}" for c in range(num_courses)]
    tied = ParameterKnowledge(tied=[people, courses, list(row)])
    variables = dict.fromkeys((*people, *courses), 2)
    return graph, row, tied, variables


def test_mean_field_learns_the_shared_tables_of_students_and_courses():
    """M̄[g, I, D] = Σ Q(I) Q(D) 1{G = g}; the bound rises, and is below the exact likelihood of a small instance."""
    graph, row, tied, hidden = grades(4, 3, np.random.default_rng(0))
    from plausible.variables import Variable

    observed = [Variable(name, 2) for name in row]
    table = Table.read(row, observed)
    fit = learn_em(graph, table, knowledge=tied, hidden=hidden, method="variational", max_steps=25, seed=3)
    assert_rises(fit.trace)
    assert not fit.is_exact
    for group in tied.tied:
        tables = [fit.network.cpd(name).values for name in group]
        assert all(np.array_equal(tables[0], table) for table in tables)
    exact = ExactExpectations(fit.cases).at(fit.network).log_likelihood
    assert fit.trace[-1] <= exact + 1e-9
    counts = fit.expectations.counts
    name, state = "G1_2", row["G1_2"][0]
    parents = [counts[parent] for parent in fit.network.cpd(name).parent_names]
    np.testing.assert_allclose(counts[name][..., state], np.multiply.outer(*parents), atol=1e-9)
    assert counts[name][..., 1 - state].sum() == 0


def test_data_association_learns_the_attributes_of_objects_as_its_own_formulas_say():
    """Given the attributes, correspondences are independent: w_ij ∝ Π_k a_jk(o_ik), a_jk ∝ Σ_i w_ij 1{o_ik}."""
    rng = np.random.default_rng(5)
    true = rng.integers(0, 3, size=120)
    likely = np.array([[0.9, 0.1, 0.8], [0.1, 0.9, 0.9], [0.2, 0.2, 0.1]])
    seen = (rng.random((120, 3)) < likely[true]).astype(int)
    rows = {f"o{k}": seen[:, k].tolist() for k in range(3)}
    uniform = TableCPD("C", np.full(3, 1 / 3), states=[0, 1, 2])
    start = BayesianNetwork(
        uniform, *(TableCPD(f"o{k}", rng.dirichlet([1, 1], 3), [uniform.variable]) for k in range(3))
    )
    fit = learn_em(start, rows, start=start, knowledge=ParameterKnowledge(fixed=[uniform]), max_steps=20, tolerance=0)
    attributes = np.array([start.cpd(f"o{k}").values for k in range(3)])
    for _ in range(fit.num_steps):
        weights = np.prod([attributes[k][:, seen[:, k]] for k in range(3)], axis=0)
        weights = weights / weights.sum(axis=0)
        for k in range(3):
            counts = np.array([[weights[j][seen[:, k] == g].sum() for g in range(2)] for j in range(3)])
            attributes[k] = counts / counts.sum(axis=1, keepdims=True)
    for k in range(3):
        np.testing.assert_allclose(fit.network.cpd(f"o{k}").values, attributes[k], atol=1e-9)
