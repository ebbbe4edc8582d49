"""Expected counts against a list of all completions."""

import pickle
import tracemalloc
from itertools import combinations

import numpy as np
import pytest

from completion_oracle import incomplete_table, oracle_counts, posteriors, random_start
from network_oracle import random_network
from plausible.cpds import NoisyOr, TableCPD
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import ExactExpectations, ExpectationStep, compile_cases
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics, completed_table
from plausible.learn.incomplete.problem import em_functional, observed_log_likelihood
from plausible.models import BayesianNetwork
from plausible.variables import Variable


def kites():
    """A, B -> C -> D, of the worked numbers."""
    return BayesianNetwork(
        TableCPD("A", [0.7, 0.3]),
        TableCPD("B", [0.1, 0.9]),
        TableCPD("C", [[[0.17, 0.83], [0.91, 0.09]], [[0.4, 0.6], [0.8, 0.2]]], ["A", "B"]),
        TableCPD("D", [[0.9, 0.1], [0.2, 0.8]], ["C"]),
    )


@pytest.mark.parametrize("seed", range(12))
def test_expected_counts_and_likelihood_equal_the_sum_over_completions(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4)
    table, rows, weights = incomplete_table(net, rng, 25)
    step = ExactExpectations(Cases.of(net.variables, table))
    assert isinstance(step, ExpectationStep)
    found = step.at(net)
    for name, cpd in net.cpds.items():
        counts, total = oracle_counts(net, rows, weights, [v.name for v in cpd.scope])
        np.testing.assert_allclose(found.counts[name], counts, atol=1e-10)
        assert found.log_likelihood == pytest.approx(total, abs=1e-9)
    other = pickle.loads(pickle.dumps(step)).at(net)
    assert other.log_likelihood == found.log_likelihood


@pytest.mark.parametrize("most", [0, 2**20])
def test_statistics_of_complete_rows_are_those_of_the_table(most):
    rng = np.random.default_rng(0)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, _, _ = incomplete_table(net, rng, 30, missing=0.0)
    names = list(net.variables)
    expected = TableStatistics(table).counts(names[0], names[1:])
    np.testing.assert_allclose(
        ExpectedStatistics(net, table, max_completions=most).counts(names[0], names[1:]), expected
    )


def test_worked_posteriors_and_counts():
    """Checklist W1, W5, W6."""
    net = kites()
    rows = {"A": [1, None], "B": [None, 1], "C": [None, None], "D": [0, 1]}
    cases = Cases.of(net.variables, rows)
    found = ExactExpectations(cases).at(net)
    np.testing.assert_allclose(np.exp(found.case_log_likelihoods)[cases.case_of_row], [0.2196, 0.16749], atol=1e-9)
    assert found.counts["D"][0, 1] == pytest.approx(0.471252, abs=1e-6)
    assert found.counts["D"][0].sum() == pytest.approx(1.405678, abs=1e-6)
    assert found.counts["D"][0, 1] / found.counts["D"][0].sum() == pytest.approx(0.335249, abs=1e-6)
    table = completed_table(net, {name: column[:1] for name, column in rows.items()})
    weights = {(b, c): w for _, b, c, _, w in zip(*table.codes.tolist(), table.weights.tolist(), strict=True)}
    assert weights[1, 1] == pytest.approx(0.0492, abs=1e-4)
    assert weights[1, 0] == pytest.approx(0.8852, abs=1e-4)
    assert weights[0, 1] == pytest.approx(0.0164, abs=1e-4)
    assert weights[0, 0] == pytest.approx(0.0492, abs=1e-4)


def test_cases_tell_what_is_observed_partly_and_hidden():
    variables = [Variable("x", 2), Variable("y", 2), Variable("z", 3), Variable("h", 2)]
    cases = Cases.of(variables, {"z": [0, 2, 0], "x": [0, 1, 0], "y": [None, 1, None], "h": [None] * 3})
    assert cases.visibility == {"x": "observed", "y": "partly", "z": "observed", "h": "hidden"}
    assert cases.hidden == ["h"]
    assert not cases.is_complete
    assert cases.weights.tolist() == [2.0, 1.0]
    assert cases.case_of_row.tolist() == [0, 1, 0]
    assert cases.num_completions == 2 * 2 + 2
    assert Cases.of(variables, cases) is cases


@pytest.mark.parametrize("seed", range(4))
def test_cases_are_the_different_rows_in_order(seed):
    """By sorting tuples: what was set from outside, then the cells; rows that weigh nothing are left out."""
    rng = np.random.default_rng(seed)
    columns = {name: [None if x < 0 else int(x) for x in rng.integers(-1, 3, 200)] for name in "abc"}
    columns["b"] = [0 if x is None else x for x in columns["b"]]
    variables = [Variable("h", 2), *(Variable(name, 3) for name in "bca")]
    was_set, weights = rng.random(200) < 0.3, rng.integers(0, 3, 200).astype(float)
    table = Table.read(columns, variables[1:], weights=weights, interventions={"b": was_set})
    cases = Cases.of(variables, table)
    cells = zip(was_set.tolist(), *(columns[name] for name in "bca"), strict=True)
    rows = [(flag, -1, *(-1 if x is None else x for x in rest)) for flag, *rest in cells]
    distinct = sorted({row for row, weight in zip(rows, weights, strict=True) if weight})
    assert [(bool(k), *row) for k, row in zip(cases.settings, cases.codes.tolist(), strict=True)] == distinct
    for row, weight, case in zip(rows, weights, cases.case_of_row.tolist(), strict=True):
        assert case == (distinct.index(row) if weight else -1)
    whole = [sum(w for other, w in zip(rows, weights, strict=True) if other == row) for row in distinct]
    assert cases.weights.tolist() == whole


def test_the_cells_of_cases_are_in_memory_once_and_a_byte_each_ready_for_the_tree():
    """Making cases takes little more than they do; to make them ready, less than that."""
    names = [f"x{number}" for number in range(40)]
    codes = np.random.default_rng(0).integers(-1, 2, (40, 50_000)).astype(np.int8)
    variables = {name: Variable(name, 2) for name in names}
    table = Table(variables, codes, np.empty((0, 50_000)))
    network = BayesianNetwork(TableCPD.uniform(variable) for variable in variables.values())
    tracemalloc.start()
    try:
        cases = Cases.of(variables, table)
        made = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        compile_cases(network, cases)
        ready = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert cases.codes.nbytes == 4 * codes.size
    assert made < 1.6 * cases.codes.nbytes
    assert ready < cases.codes.nbytes


def test_weights_count_like_repeated_rows():
    net = kites()
    once = Table.read({"A": [1, 0], "D": [0, None]}, [net.variables["A"], net.variables["D"]], weights=[3, 2])
    often = {"A": [1, 1, 1, 0, 0], "D": [0, 0, 0, None, None]}
    first, second = (ExactExpectations(Cases.of(net.variables, data)).at(net) for data in (once, often))
    assert first.log_likelihood == pytest.approx(second.log_likelihood)
    np.testing.assert_allclose(first.counts["C"], second.counts["C"])


@pytest.mark.parametrize("most", [0, 2**20])
def test_a_variable_that_was_set_counts_for_its_children_only(most):
    """P(rest | do(C)): the family of C has no counts, and evidence on C says nothing about its causes."""
    net = kites()
    rows = {"A": [None, None], "B": [0, 0], "C": [1, 1], "D": [1, None]}
    table = Table.read(rows, net.variables, interventions={"C": [True, False]})
    found = ExactExpectations(Cases.of(net.variables, table)).at(net)
    seen = 0.7 * 0.83 + 0.3 * 0.6
    assert found.log_likelihood == pytest.approx(np.log(0.1 * 0.8) + np.log(0.1 * seen))
    assert found.counts["C"].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.counts["A"], [0.7 + 0.7 * 0.83 / seen, 0.3 + 0.3 * 0.6 / seen])
    statistics = ExpectedStatistics(net, table, max_completions=most)
    np.testing.assert_allclose(statistics.counts("A"), found.counts["A"])
    np.testing.assert_allclose(statistics.counts("C", ["A", "B"]), found.counts["C"])
    with pytest.raises(InvalidArgument, match="'C' was set from outside in row 0"):
        Cases.of(net.variables, Table.read({**rows, "C": [None, 1]}, net.variables, interventions={"C": [True, False]}))


def test_an_impossible_row_is_named_with_its_contradiction():
    net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], ["A"]))
    rows = {"A": [1, None, 0], "B": [1, None, 1]}
    for act in (lambda: ExactExpectations(Cases.of(net.variables, rows)).at(net), lambda: completed_table(net, rows)):
        with pytest.raises(ImpossibleEvidence, match=r"Row 2 .*A=0, B=1"):
            act()


def test_degenerate_data_and_networks_have_counts():
    net = kites()
    empty = ExactExpectations(Cases.of(net.variables, {"A": []})).at(net)
    assert empty.log_likelihood == 0.0
    assert not empty.counts["C"].any()
    blank = ExactExpectations(Cases.of(net.variables, {"A": [None, None]})).at(net)
    assert blank.log_likelihood == pytest.approx(0.0)
    np.testing.assert_allclose(blank.counts["B"], [0.2, 1.8])
    single = BayesianNetwork(TableCPD("S", [1.0]), TableCPD("X", [[0.5, 0.5]], ["S"]))
    np.testing.assert_allclose(
        ExactExpectations(Cases.of(single.variables, {"X": [0, None], "S": [None, 0]})).at(single).counts["X"],
        [[1.5, 0.5]],
    )


def test_noisy_or_families_are_counted_whole_and_large_ones_refused():
    causes = [TableCPD(f"c{i}", [0.7, 0.3]) for i in range(3)]
    parents = [cpd.variable.name for cpd in causes]
    net = BayesianNetwork(*causes, NoisyOr("e", parents, [0.5, 0.6, 0.9], 0.1))
    rows = np.array([[-1, -1, 0, 1], [1, -1, -1, 1], [-1, -1, -1, 0]])
    frame = {
        name: [None if c < 0 else v.states[c] for c in rows[:, k]] for k, (name, v) in enumerate(net.variables.items())
    }
    counts, total = oracle_counts(net, rows, np.ones(3), [*parents, "e"])
    found = ExactExpectations(Cases.of(net.variables, frame)).at(net)
    np.testing.assert_allclose(found.counts["e"], counts)
    assert observed_log_likelihood(net, frame) == pytest.approx(total)
    many = [TableCPD(f"c{i}", [0.7, 0.3]) for i in range(20)]
    wide = BayesianNetwork(*many, NoisyOr("e", [c.variable.name for c in many], [0.5] * 20, 0.1))
    with pytest.raises(TooLarge, match="'e'"):
        ExactExpectations(Cases.of(wide.variables, {"e": [True]})).at(wide)


@pytest.mark.parametrize("seed", range(5))
def test_likelihood_is_the_functional_and_a_divergence(seed):
    """ℓ = E_Q[ℓ] + H(Q) + KL(Q ‖ posterior): each term against plain sums over completions."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=3, zeros=0.0)
    other = random_start(net, rng)
    table, rows, weights = incomplete_table(net, rng, 8, missing=0.5)
    found = em_functional(net, table, completing=other)
    here, there = posteriors(net, rows), posteriors(other, rows)
    expected = entropy = divergence = 0.0
    for w, (log, p), (_, q) in zip(weights, here, there, strict=True):
        for place, chance in q.items():
            expected += w * chance * (np.log(p[place]) + log)
            entropy -= w * chance * np.log(chance)
            divergence += w * chance * np.log(chance / p[place])
    assert found.expected_log_likelihood == pytest.approx(expected)
    assert found.entropy == pytest.approx(entropy, abs=1e-9)
    assert found.divergence == pytest.approx(divergence, abs=1e-9)
    assert found.log_likelihood == pytest.approx(found.value + divergence)
    assert em_functional(net, table).divergence == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [0, 12, 2**20], ids=["by inference", "both", "by parts"])
def test_parts_of_missing_cells_multiply_to_the_sum_over_completions(seed, most):
    """In every family, with rows whose parts are listed and others that are too large; 40 % of cells are missing."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5)
    table, rows, weights = incomplete_table(net, rng, 20, missing=0.4)
    statistics = ExpectedStatistics(net, table, max_completions=most)
    for family in (family for size in (1, 2, 3, 4) for family in combinations(net.variables, size)):
        counts, _ = oracle_counts(net, rows, weights, family)
        np.testing.assert_allclose(statistics.counts(family[-1], family[:-1]), counts, atol=1e-10)
        turned = statistics.counts(family[0], family[:0:-1])
        np.testing.assert_allclose(turned, counts.transpose(), atol=1e-10)
    assert counts.sum() == pytest.approx(weights.sum()) == statistics.total


def test_draws_of_large_parts_estimate_their_counts_and_listed_parts_stay_exact():
    rng = np.random.default_rng(1)
    net = random_network(rng, num_variables=5, zeros=0.0)
    table, _, _ = incomplete_table(net, rng, 60, missing=0.4)
    exact, few = ExpectedStatistics(net, table), ExpectedStatistics(net, table, max_completions=20)
    assert exact.estimated(3, np.random.default_rng(0)) is exact
    names = list(net.variables)
    drawn = few.estimated(4000, np.random.default_rng(0)).counts(names[0], names[1:3])
    np.testing.assert_allclose(drawn, exact.counts(names[0], names[1:3]), atol=0.02 * exact.total)
    assert drawn.sum() == pytest.approx(exact.total)
