"""Tests of independence: their statistics, their p-values, and what they do where nothing can be told."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, chi2_contingency, kstest, norm

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.independence.count_tests import ChiSquareTest, GTest, PermutationTest
from plausible.learn.independence.gaussian_tests import ConditionalGaussianTest, FisherZ, read_test
from plausible.learn.independence.independence_test import DSeparationOracle, FunctionTest, IndependenceResult, Question
from refusals import refuses

KINDS = {"log-likelihood": GTest, "pearson": ChiSquareTest}


def _columns(rng, num_rows, sizes="3242"):
    """Dependent columns with states that may not occur."""
    base = rng.integers(0, 4, num_rows)
    return {
        name: (rng.integers(0, int(size), num_rows) + base * rng.integers(0, 2)) % int(size)
        for name, size in zip("abcd", sizes, strict=True)
    }


def _by_scipy(columns, x, y, given, kind):
    """The sum over the strata of what SciPy says of each table without its empty rows and columns."""
    frame, statistic, degrees = pd.DataFrame(columns), 0.0, 0
    groups = [group for _, group in frame.groupby(list(given))] if given else [frame]
    for group in groups:
        table = pd.crosstab(group[x], group[y]).to_numpy()
        if min(table.shape) > 1:
            found = chi2_contingency(table, correction=False, lambda_=kind)
            statistic, degrees = statistic + found.statistic, degrees + found.dof
    return statistic, degrees, chi2.sf(statistic, degrees) if degrees else 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_rows", [1, 7, 60, 900])
def test_statistics_of_counts_are_those_of_scipy_summed_over_strata(kind, num_rows):
    columns = _columns(np.random.default_rng(num_rows), num_rows)
    test = KINDS[kind](columns, min_rows_per_degree=0)
    for given in ((), ("c",), ("d", "c")):
        found = test.test("a", "b", given)
        expected = _by_scipy(columns, "a", "b", given, kind)
        assert (found.statistic, found.degrees_of_freedom, found.p_value) == pytest.approx(expected, abs=1e-9)
        assert found == test.test("b", "a", reversed(given))


def test_many_questions_are_answered_like_each_alone_whatever_the_threads():
    columns = _columns(np.random.default_rng(3), 3000)
    questions = [Question("a", ("c",), ("b", "d")), Question("d", (), ("a",)), Question("b", ("a", "c"), ("d",))] * 40
    one, two = (GTest(columns, num_threads=number).ask(questions) for number in (1, 2))
    assert all(np.array_equal(left, right) for left, right in zip(one, two, strict=True))
    alone = [GTest(columns).test(q.x, other, q.given).p_value for q in questions[:3] for other in q.others]
    assert one.p_values[:4] == pytest.approx(alone)


def test_a_sparse_table_is_not_tested_and_shows_nothing():
    columns = _columns(np.random.default_rng(0), 30)
    found = GTest({**columns, "e": columns["d"]}).test("a", "b", ["c", "d", "e"])
    assert (found.is_reliable, np.isnan(found.p_value), found.is_independent()) == (False, True, False)
    assert GTest(columns, min_rows_per_degree=1).test("a", "b", ["c", "d"]).is_reliable
    assert GTest(columns, adjust=False, min_rows_per_degree=0).test("a", "b", ["c", "d"]).degrees_of_freedom == 16
    empty = GTest(Table.read(columns).take(np.zeros(30, dtype=bool)))
    assert not empty.test("a", "b").is_reliable


def test_nothing_is_told_of_a_column_with_a_state_of_its_own_in_each_row():
    """All tables with its margins are alike; so it is with fractional weights, whose rows can't be permuted."""
    columns = {"a": [f"s{row}" for row in range(60)], "b": np.arange(60) % 3}
    assert not GTest(columns).test("a", "b").is_reliable
    table = Table.read({"a": np.arange(30) // 2, "b": np.arange(30) % 7}, weights=[0.5] * 30)
    assert not GTest(table).test("a", "b").is_reliable


@pytest.mark.parametrize(
    ("sizes", "given"), [((15, 15), ""), ((70, 2), ""), ((40, 8), ""), ((6, 7), "z"), ((3, 4), "zw")]
)
def test_sparse_tables_are_judged_as_by_permutations_of_their_rows(sizes, given):
    """Under independence, and with a tenth of the rows copied from x to y."""
    rng = np.random.default_rng(sum(sizes))
    columns = {name: rng.integers(0, size, 300) for name, size in zip("xyzw", (*sizes, 8, 6), strict=True)}
    for share in (0.0, 0.1):
        columns["y"] = np.where(rng.random(300) < share, columns["x"] % sizes[1], columns["y"])
        frame = pd.DataFrame(columns)
        strata = [group for _, group in frame.groupby(list(given))] if given else [frame]

        def pearson(is_shuffled, strata=strata):
            found = 0.0
            for group in strata:
                y = rng.permutation(group["y"].to_numpy()) if is_shuffled else group["y"].to_numpy()
                table = np.zeros(sizes)
                np.add.at(table, (group["x"].to_numpy(), y), 1.0)
                expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(group)
                found += ((table - expected) ** 2 / np.where(expected > 0, expected, 1.0)).sum()
            return found

        drawn = np.array([pearson(True) for _ in range(400)])
        for kind in KINDS.values():
            found = kind(columns).test("x", "y", tuple(given))
            assert found.is_reliable
            assert found.statistic == pytest.approx(pearson(False))
            assert found.p_value == pytest.approx(np.mean(drawn >= found.statistic - 1e-9), abs=0.08)


def test_numbers_and_many_states_are_rejected_at_the_level_under_independence():
    """The likelihood ratio of 70 normal distributions is far from chi-square with 300 rows."""
    rng = np.random.default_rng(1)
    found = [
        ConditionalGaussianTest({"a": rng.integers(0, 70, 300), "b": rng.normal(size=300)}).test("a", "b").p_value
        for _ in range(150)
    ]
    assert kstest(found, "uniform").pvalue > 0.01
    a = rng.integers(0, 70, 300)
    assert not ConditionalGaussianTest({"a": a, "b": a % 2 + rng.normal(size=300)}).test("a", "b").is_independent()


def test_a_variable_of_one_state_is_independent_of_all():
    assert GTest({"a": ["x"] * 9, "b": ["x", "y", "z"] * 3}).test("a", "b").p_value == 1.0


def test_weights_count_rows_as_often_and_statistics_stand_for_data():
    columns = _columns(np.random.default_rng(5), 100)
    weights = np.random.default_rng(6).integers(0, 4, 100)
    table = Table.read(columns)
    repeated = table.take(np.repeat(np.arange(100), weights))
    for test in (GTest, ConditionalGaussianTest):
        weighted = test(table.weighted(weights)).test("a", "b", "d")
        assert weighted.statistic == pytest.approx(test(repeated).test("a", "b", "d").statistic)
    assert GTest(TableStatistics(table)).test("a", "b") == GTest(table).test("a", "b")


@pytest.mark.parametrize("name", ["g", "chi-square", "permutation", "fisher-z", "conditional-gaussian"])
def test_p_values_are_uniform_under_independence(name):
    """Kolmogorov-Smirnov on 300 data sets in which x and y depend on z alone."""
    rng, found = np.random.default_rng(8), []
    for _ in range(300):
        z = rng.integers(0, 2, 300)
        if name in ("g", "chi-square", "permutation"):
            columns = {key: (rng.random(300) < 0.3 + 0.4 * z).astype(int) + rng.integers(0, 2, 300) for key in "xy"}
        else:
            columns = {key: rng.normal(size=300) + z for key in "xy"}
        z = z if name != "fisher-z" else z + 0.5
        if name == "permutation":
            test = PermutationTest({**columns, "z": z}, num_permutations=99, seed=1)
        else:
            test = read_test({**columns, "z": z}, name)
        found.append(test.test("x", "y", "z").p_value)
    assert kstest(found, "uniform").pvalue > 0.01
    assert np.mean(np.array(found) <= 0.05) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_partial_correlations_are_those_of_what_regressions_leave(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5)) + 100.0
    test = FisherZ({name: rows[:, place] for place, name in enumerate("abcde")})
    for given in ([], [2], [2, 4], [4, 2, 3]):
        design = np.column_stack([np.ones(80), rows[:, given]])
        left = rows[:, :2] - design @ np.linalg.lstsq(design, rows[:, :2], rcond=None)[0]
        expected = np.corrcoef(left.T)[0, 1]
        names = ["abcde"[place] for place in given]
        assert test.partial_correlation("a", "b", names) == pytest.approx(expected, abs=1e-9)
        z = np.sqrt(80 - len(given) - 3) * np.arctanh(expected)
        assert test.test("a", "b", names).p_value == pytest.approx(2 * norm.sf(abs(z)))


def test_what_is_given_twice_or_constant_is_no_trouble_for_correlations():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50))
    test = FisherZ({"a": a, "b": a + b, "copy": a, "constant": np.full(50, 0.5)})
    assert test.test("a", "b", "copy").degrees_of_freedom == 0
    assert test.test("b", "constant").p_value == 1.0
    assert test.test("b", "constant", ["a", "copy"]).is_independent()
    assert not FisherZ({"a": [0.5, 1.5, 2.5], "b": [0.5, 0.7, 0.2]}).test("a", "b").is_reliable


def test_conditional_gaussian_is_g_for_states_and_a_partial_correlation_for_numbers():
    rng = np.random.default_rng(2)
    columns = _columns(rng, 200)
    g, mixed = (kind(columns).test("a", "b", ["c"]) for kind in (GTest, ConditionalGaussianTest))
    assert (mixed.statistic, mixed.degrees_of_freedom) == pytest.approx((g.statistic, g.degrees_of_freedom))
    numbers = dict(zip("xyz", rng.normal(size=(3, 3)) @ rng.normal(size=(3, 150)), strict=True))
    r = FisherZ(numbers).partial_correlation("x", "y", "z")
    found = ConditionalGaussianTest(numbers).test("x", "y", "z")
    assert (found.statistic, found.degrees_of_freedom) == pytest.approx((-150 * np.log(1 - r**2), 1), rel=1e-5)


def test_conditional_gaussian_compares_regressions_in_each_joint_state():
    """x a number, y a state, z a number: one regression of x on z, or one for each y."""
    rng = np.random.default_rng(3)
    y, z = rng.integers(0, 2, 120), rng.normal(size=120)
    x = z * (1 + y) + rng.normal(size=120)

    def log_likelihood(rows):
        design = np.column_stack([np.ones(rows.sum()), z[rows]])
        left = x[rows] - design @ np.linalg.lstsq(design, x[rows], rcond=None)[0]
        return -0.5 * rows.sum() * np.log(np.mean(left**2))

    everywhere = np.ones(120, dtype=bool)
    ratio = 2 * (log_likelihood(y == 0) + log_likelihood(y == 1) - log_likelihood(everywhere))
    found = ConditionalGaussianTest({"x": x, "y": y, "z": z}).test("x", "y", "z")
    assert (found.statistic, found.degrees_of_freedom) == pytest.approx((ratio, 3), rel=1e-5)


def test_permutations_agree_with_all_permutations_of_the_rows():
    """Of few rows every shuffle can be tried."""
    from itertools import permutations

    x, y = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1, 0])

    def g(y):
        return _by_scipy({"x": x, "y": np.array(y)}, "x", "y", (), "log-likelihood")[0]

    observed, orders = g(y), set(permutations(y.tolist()))  # each distinct one comes from as many permutations
    exact = np.mean([g(shuffled) >= observed - 1e-9 for shuffled in orders])
    found = PermutationTest({"x": x, "y": y}, num_permutations=20_000, seed=3).test("x", "y")
    assert found.p_value == pytest.approx(exact, abs=0.02)
    again = PermutationTest({"y": y, "x": x}, num_permutations=20_000, seed=3).test("y", "x")
    assert again == found


def test_semiparametric_permutations_find_the_degrees_of_freedom():
    columns = _columns(np.random.default_rng(4), 2000)
    found = PermutationTest(columns, num_permutations=400, semiparametric=True).test("a", "b", "d")
    g = GTest(columns).test("a", "b", "d")
    assert found.statistic == pytest.approx(g.statistic)
    assert found.degrees_of_freedom == pytest.approx(g.degrees_of_freedom, abs=0.5)
    assert PermutationTest({"a": ["x"], "b": ["y"]}, semiparametric=True).test("a", "b").p_value == 1.0


def test_an_oracle_says_what_the_graph_says_and_a_function_what_it_is_told():
    oracle = DSeparationOracle("A -> C <- B; C -> D")
    assert oracle.test("A", "B").is_independent()
    assert not oracle.test("A", "B", "D").is_independent()
    calls = []
    test = FunctionTest(["b", "a", "c"], lambda x, y, given: calls.append((x, y, given)) or 0.2)
    assert test.test("b", "a", ["c"]).p_value == 0.2
    assert calls == [("a", "b", ("c",))]
    outcome = IndependenceResult(3.0, 0.01, 2.0)
    assert FunctionTest("ab", lambda *_: outcome).test("a", "b") == outcome


def test_what_can_not_be_tested_is_refused_with_the_reason():
    columns = {"a": ["x", "y"] * 5, "b": ["x", "y"] * 5, "n": [0.5, 1.5] * 5}
    refuses(UnknownVariable, "'aa'", GTest(columns).test, "aa", "b")
    refuses(InvalidArgument, "twice", GTest(columns).test, "a", "a")
    refuses(InvalidArgument, "'n'", read_test, columns, "g")
    refuses(InvalidArgument, "no test 'gg'", read_test, columns, "gg")
    with pytest.raises(InvalidArgument, match="no p-value"):
        FunctionTest("ab", lambda *_: 1.5).test("a", "b")
    refuses(InvalidArgument, "'n' is missing in 1 of 2", FisherZ, {"n": [0.5, np.nan]})
    with pytest.raises(NotSupported, match="'a' was set from outside"):
        GTest(Table.read(columns, interventions={"a": [True] + [False] * 9}))
    refuses(NotSupported, "fractional", PermutationTest(Table.read(columns, weights=[0.5] * 10)).test, "a", "b")
    refuses(InvalidArgument, "num_permutations=0", PermutationTest, columns, num_permutations=0)
    refuses(InvalidArgument, "min_rows_per_degree=-1", GTest, columns, min_rows_per_degree=-1)
    assert isinstance(read_test(columns), ConditionalGaussianTest)
    assert isinstance(read_test({"n": [0.5, 1.5]}), FisherZ)


@pytest.mark.parametrize("kind", [GTest, ChiSquareTest, PermutationTest, FisherZ, ConditionalGaussianTest])
def test_what_determines_a_variable_leaves_it_independent_of_all(kind):
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    columns = {"a": a, "copy": 2 * a, "b": a + rng.normal(size=200), "constant": np.full(200, 0.5)}
    if kind not in (FisherZ, ConditionalGaussianTest):
        columns = {name: np.where(column > 0, "high", "low") for name, column in columns.items()}
    for found in (kind(columns).test("a", "b", "copy"), kind(columns).test("b", "constant", "a")):
        assert (found.p_value, found.degrees_of_freedom, found.is_reliable) == (1.0, 0.0, True)
    assert kind(columns).test("a", "b").degrees_of_freedom > 0


def test_a_test_of_mixed_data_without_rows_is_not_made():
    found = ConditionalGaussianTest({"a": [0.5, 1.5], "b": ["x", "y"]}).test("a", "b")
    assert (found.is_reliable, np.isnan(found.p_value)) == (False, True)
