"""Scores of numbers: each against densities and regressions worked out from the rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import multigammaln

from graph_strategies import dags
from plausible.base.tolerances import DETERMINED
from plausible.data.moments import Moments
from plausible.data.statistics import Request
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG, class_members
from plausible.learn.evaluation.measures import score_graph
from plausible.learn.scores.gaussian import BGe, ConditionalGaussian, GaussianLikelihood
from plausible.learn.scores.penalized import BIC
from plausible.learn.scores.reading import read_score
from refusals import refuses

NAMES = "ABCD"
FAMILIES = [("A", []), ("B", ["A"]), ("D", ["C", "A"]), ("A", ["B", "C", "D"])]


def _numbers(seed, num_rows):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(4, 4))
    return {name: column + 3 for name, column in zip(NAMES, mixing @ rng.normal(size=(4, num_rows)), strict=True)}


def _regression(data, child, parents, rows=slice(None)):
    """The log density of rows at the best coefficients and variance, by least squares."""
    response = np.asarray(data[child])[rows]
    design = np.column_stack([np.ones(len(response)), *(np.asarray(data[name])[rows] for name in parents)])
    fitted = design @ np.linalg.lstsq(design, response, rcond=None)[0]
    deviation = math.sqrt(np.mean((response - fitted) ** 2))
    return float(stats.norm.logpdf(response, fitted, deviation).sum())


def _marginal(data, names, num_variables, mean_weight, degrees, prior_mean):
    """ln p(D of some variables) by the formula of Kuipers, Moffa & Heckerman (2014), equation (5)."""
    if not names:
        return 0.0
    rows = np.array([data[name] for name in names]).T
    total, size = rows.shape
    scale = mean_weight * (degrees - num_variables - 1) / (mean_weight + 1)
    mean = rows.mean(axis=0)
    apart = np.full(size, prior_mean) - mean
    posterior = scale * np.eye(size) + (rows - mean).T @ (rows - mean)
    posterior += total * mean_weight / (total + mean_weight) * np.outer(apart, apart)
    before, after = degrees - num_variables + size, total + degrees - num_variables + size
    return (
        size / 2 * math.log(mean_weight / (total + mean_weight))
        + multigammaln(after / 2, size)
        - multigammaln(before / 2, size)
        - size * total / 2 * math.log(math.pi)
        + before / 2 * size * math.log(scale)
        - after / 2 * np.linalg.slogdet(posterior)[1]
    )


@pytest.mark.parametrize(("name", "price"), [("log-likelihood", 0.0), ("aic", 1.0), ("bic", 0.5 * math.log(17))])
def test_gaussian_likelihoods_equal_least_squares_less_the_price_of_parameters(name, price):
    data = _numbers(0, 17)
    scores = read_score(f"gaussian-{name}").on_data(data)
    mixed = read_score(f"conditional-gaussian-{name}").on_data(data)
    for child, parents in FAMILIES:
        expected = _regression(data, child, parents) - price * (len(parents) + 2)
        assert scores.family(child, parents) == pytest.approx(expected)
        assert mixed.family(child, parents) == pytest.approx(expected)
    assert scores.extended("A", ["B"], ["C", "D"]) == pytest.approx([scores.family("A", ["B", x]) for x in "CD"])
    assert scores.reduced("A", ["B", "C"]) == pytest.approx([scores.family("A", [x]) for x in "CB"])


@pytest.mark.parametrize(("mean_weight", "degrees"), [(1.0, 6.0), (0.5, 9.0)])
def test_bge_is_the_ratio_of_marginal_likelihoods(mean_weight, degrees):
    data = _numbers(1, 13)
    scores = BGe(mean_weight, degrees, [1.5] * 4).on_data(data)
    for child, parents in FAMILIES:
        options = (4, mean_weight, degrees, 1.5)
        expected = _marginal(data, [*parents, child], *options) - _marginal(data, parents, *options)
        assert scores.family(child, parents) == pytest.approx(expected)
    assert scores.extended("A", ["B"], ["C", "D"]) == pytest.approx([scores.family("A", ["B", x]) for x in "CD"])
    assert BGe(1.0, 6.0).on_data(data).family("A", "B") == pytest.approx(BGe().on_data(data).family("A", "B"))


def test_bge_of_one_variable_is_the_product_of_student_predictions():
    """With one variable the prior is normal-gamma, whose predictions are t distributions, one row after the other."""
    values = np.array([0.3, -1.2, 2.5, 0.4])
    weight, shape, rate, mean = 1.0, 1.5, 0.25, 0.0  # α_w = 3, t = 1/2
    expected = 0.0
    for value in values:
        spread = math.sqrt(rate * (weight + 1) / (shape * weight))
        expected += stats.t.logpdf(value, 2 * shape, mean, spread)
        rate += weight * (value - mean) ** 2 / (2 * (weight + 1))
        mean = (weight * mean + value) / (weight + 1)
        weight, shape = weight + 1, shape + 0.5
    assert BGe(1.0, 3.0, [0.0]).on_data({"A": values}).family("A", []) == pytest.approx(expected)


@given(dag=dags(max_nodes=4, min_nodes=4), seed=st.integers(0, 50), num_rows=st.sampled_from([1, 3, 4, 20]))
@settings(max_examples=20, deadline=None)
def test_equivalent_graphs_have_equal_scores(dag, seed, num_rows):
    data = _numbers(seed, num_rows)
    for score in (GaussianLikelihood(), GaussianLikelihood(0.0), BGe(), BGe(2.0, 8.0, [0.0] * 4)):
        assert score.is_score_equivalent
        scores = score.on_data(data)
        found = [scores.graph(member) for member in class_members(dag)]
        assert found == pytest.approx([scores.graph(dag)] * len(found), abs=1e-7)


def test_constants_and_exact_functions_have_finite_scores_and_useless_parents_cost():
    data = _numbers(2, 30) | {"B": np.full(30, 0.1)}
    data["C"] = 2 * data["A"] - 1
    for score in (GaussianLikelihood(), ConditionalGaussian(), BGe()):
        scores = score.on_data(data)
        for child, parents in FAMILIES:
            assert math.isfinite(scores.family(child, parents))
        assert scores.family("B", ["A"]) < scores.family("B", [])
        assert scores.family("A", ["B"]) < scores.family("A", [])
        assert scores.family("D", ["A", "C"]) < scores.family("D", ["A"])
        assert scores.extended("D", ["A"], ["B", "C"]) == pytest.approx([scores.family("D", ["A", x]) for x in "BC"])
    exact = GaussianLikelihood().on_data(data)
    one, two = DAG("A -> C", nodes=[*NAMES]), DAG("C -> A", nodes=[*NAMES])
    assert exact.graph(one) == pytest.approx(exact.graph(two))


def test_too_few_rows_and_none_at_all():
    few = GaussianLikelihood().on_data({"A": [0.5, 1.5], "B": [0.5, 2.5]})
    assert few.family("B", ["A"]) == -math.inf
    assert math.isfinite(few.family("B", []))
    none = Table.read({"A": np.empty(0), "B": np.empty(0)})
    for score in (GaussianLikelihood(), BGe(), ConditionalGaussian()):
        assert score.on_data(none).family("B", ["A"]) <= 1e-12
        assert score.on_data(none).family("B", []) == pytest.approx(0.0)
        assert score.on_data({}).graph(DAG()) == 0.0


def test_weights_repeat_rows_and_rows_set_from_outside_do_not_count():
    data = _numbers(3, 14)
    rng = np.random.default_rng(3)
    context = rng.integers(0, 2, 14).astype(str)
    weights, is_set = rng.integers(0, 3, 14), np.arange(14) < 4
    for score, columns in ((GaussianLikelihood(), data), (BGe(), data), (ConditionalGaussian(), data | {"K": context})):
        table = Table.read(columns)
        parents = ["B", "K"] if "K" in columns else ["B"]
        weighed = score.on_data(table.weighted(weights)).family("A", parents)
        assert weighed == pytest.approx(
            score.on_data(table.take(np.repeat(np.arange(14), weights))).family("A", parents)
        )
        outside = score.on_data(Table.read(columns, interventions={"A": is_set}))
        assert outside.family("A", parents) == pytest.approx(score.on_data(table.take(~is_set)).family("A", parents))
        assert outside.family("C", parents) == pytest.approx(score.on_data(table).family("C", parents))


def test_wrong_kinds_of_data_are_refused():
    for score in (GaussianLikelihood(), BGe()):
        with pytest.raises(NotSupported, match="'K' is discrete"):
            score.on_data({"A": [0.5, 1.5], "K": ["x", "y"]})
        with pytest.raises(NotSupported, match="'K' is discrete"):
            score.on(TableStatistics({"K": ["x"]}) + TableStatistics({"K": ["x"]}))
    with pytest.raises(InvalidArgument, match="missing in 1 of 2"):
        GaussianLikelihood().on_data({"A": [0.5, math.nan]})
    with pytest.raises(InvalidArgument, match="above 3"):
        BGe(wishart_degrees=3).on_data({"A": [0.5], "B": [1.5]}).family("A", [])
    with pytest.raises(InvalidArgument, match="missing in 1 of 3"):
        ConditionalGaussian().on_data({"A": [0.5, 1.5, 2.5], "K": ["x", None, "y"]}).family("A", ["K"])


def test_mixed_families_are_regressions_in_each_context():
    rng = np.random.default_rng(4)
    kinds, flags = np.arange(40) % 3, rng.integers(0, 2, 40)
    data = _numbers(4, 40)
    data["A"] = data["A"] + kinds * data["B"]
    scores = ConditionalGaussian().on_data(data | {"K": kinds.astype(str), "L": flags.astype(str)})
    price = 0.5 * math.log(40)
    for parents in ([], ["B"], ["B", "C"]):
        expected = sum(_regression(data, "A", parents, kinds == kind) for kind in range(3))
        assert scores.family("A", ["K", *parents]) == pytest.approx(expected - 3 * (len(parents) + 2) * price)
    counted = BIC().on_data({"K": kinds.astype(str), "L": flags.astype(str)})
    assert scores.family("K", ["L"]) == pytest.approx(counted.family("K", ["L"]))
    assert scores.family("K", ["L", "A"]) == -math.inf
    for child, parents in (("A", ["B"]), ("A", ["K"]), ("K", []), ("K", ["L"]), ("A", [])):
        wanted = [name for name in (*NAMES, "K", "L") if name not in (child, *parents)]
        found = scores.extended(child, parents, wanted)
        assert found.tolist() == pytest.approx([scores.family(child, [*parents, name]) for name in wanted])
    assert scores.extended("A", ["B"], []).shape == (0,)


def test_a_context_with_too_few_rows_takes_the_variance_of_all():
    values, kinds = np.array([0.5, 1.0, 3.0, 2.5, 9.0]), np.array(["x", "x", "x", "x", "y"])
    found = ConditionalGaussian(0.0).on_data({"A": values, "K": kinds}).family("A", ["K"])
    expected = stats.norm.logpdf(values[:4], values[:4].mean(), values[:4].std()).sum()
    expected += stats.norm.logpdf(9.0, 9.0, values.std())
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_other_units_shift_likelihoods_by_their_logarithm(unit):
    """ln p(c x) = ln p(x) - N ln c, also where parents determine a number: the least variance is a share of its own."""
    data = _numbers(6, 20)
    data["B"] = np.where(np.arange(20) < 12, 2 * data["A"] - 1, data["B"])
    data["C"] = 3 * data["A"]
    scaled = {name: unit * column for name, column in data.items()}
    kinds = {"K": np.repeat(["x", "y"], [12, 8])}
    for score in (GaussianLikelihood(0.0), ConditionalGaussian(0.0)):
        is_mixed = isinstance(score, ConditionalGaussian)
        before, after = (score.on_data({**numbers, **(kinds if is_mixed else {})}) for numbers in (data, scaled))
        families = [("A", []), ("C", ["A"]), *([("B", ["A", "K"]), ("B", ["K"])] if is_mixed else [])]
        for child, parents in families:
            expected = before.family(child, parents) - 20 * math.log(unit)
            assert after.family(child, parents) == pytest.approx(expected)


def test_a_number_that_is_constant_in_a_context_has_the_least_variance():
    values, kinds = np.array([2.5, 2.5, 2.5, 5.0, 9.0, 13.0]), np.repeat(["x", "y"], 3)
    found = ConditionalGaussian(0.0).on_data({"A": values, "K": kinds}).family("A", ["K"])
    least = math.sqrt(DETERMINED) * values.std()
    expected = 3 * stats.norm.logpdf(0.0, 0.0, least) - 3 / 2  # as if its rows had that variance
    expected += stats.norm.logpdf(values[3:], 9.0, values[3:].std()).sum()
    assert found == pytest.approx(expected)


def test_moments_of_parts_add_up_and_can_be_taken_away():
    data = Table.read(_numbers(5, 20), interventions={"B": np.arange(20) % 4 == 0})
    first, rest = data.take(np.arange(20) < 7), data.take(np.arange(20) >= 7)
    whole, parts = TableStatistics(data), [TableStatistics(first), TableStatistics(rest)]
    for found, expected in (
        (parts[0] + parts[1], whole),
        (whole - parts[1], parts[0]),
        (2 * whole, TableStatistics(data.weighted([2.0] * 20))),
    ):
        for name in "AB":
            one, two = found.moments(name), expected.moments(name)
            assert (one.weight, one.num_rows) == (two.weight, two.num_rows)
            assert one.mean == pytest.approx(two.mean)
            assert one.scatter == pytest.approx(two.scatter)
    assert (whole - whole).total == 0.0
    assert parts[0].moments("A").scatter == pytest.approx(np.cov(first.numbers, bias=True) * 7)
    refuses(UnknownVariable, "'Z'", whole.moments, "Z")
    with pytest.raises(InvalidArgument, match="same variables"):
        whole + TableStatistics(data.select(["A"]))


@pytest.mark.parametrize("seed", range(12))
def test_a_constant_that_is_left_when_rows_are_taken_away_has_no_scatter(seed):
    """Rounding leaves it no more than that, nothing below zero, and nothing in common with others without its own."""
    rng = np.random.default_rng(seed)
    rows, gone = rng.normal(size=(2, 9)), 3 + rng.normal(size=(2, 7))
    rows[0] = rng.normal()
    both = {name: np.concatenate(parts) for name, parts in zip("AB", zip(rows, gone, strict=True), strict=True)}
    left = TableStatistics(both) - TableStatistics(dict(zip("AB", gone, strict=True)))
    moments = left.moments("B")
    own = moments.scatter[0, 0]
    assert 0 <= own < 1e-12
    assert own > 0 or moments.scatter[0].tolist() == moments.scatter[:, 0].tolist() == [0.0, 0.0]
    assert moments.scatter[1, 1] == pytest.approx(9 * rows[1].var())
    assert GaussianLikelihood(0.0).on(left).family("B", ["A"]) == pytest.approx(_regression({"B": rows[1]}, "B", []))


def test_large_means_cost_no_digits():
    values = np.array([[0.0, 1.0, 2.0, 4.0]]) + 2.0**40
    assert Moments.of_rows(values).scatter[0, 0] == pytest.approx(8.75, rel=1e-12)


@pytest.mark.parametrize("weights", [[5, 5], [1, 2]])
@pytest.mark.parametrize("score", [GaussianLikelihood(), BGe(), ConditionalGaussian()], ids=["normal", "bge", "mixed"])
def test_whole_weights_are_repeated_rows(score, weights):
    columns = {"a": np.array([0.5, 1.0]), "b": np.array([1.0, 3.5])}
    families = [("b", []), ("b", ["a"])]
    if isinstance(score, ConditionalGaussian):
        columns["g"] = np.array(["u", "v"])
        families.append(("b", ["g"]))
    weighted = score.on_data(Table.read(columns, weights=weights))
    repeated = score.on_data({name: np.repeat(column, weights) for name, column in columns.items()})
    for child, parents in families:
        assert weighted.family(child, parents) == pytest.approx(repeated.family(child, parents))


@pytest.mark.parametrize("score", [GaussianLikelihood(), ConditionalGaussian()], ids=["gaussian", "conditional"])
def test_families_of_unknown_variables_and_own_parents_are_refused(score):
    scores = score.on_data({"a": [0.5, 1.0, 2.0], "b": [1.0, 3.5, 2.5]})
    refuses(InvalidArgument, "'a' can't be its own parent", scores.family, "a", ["a"])
    refuses(UnknownVariable, "'q'", scores.family, "a", ["q"])
    refuses(UnknownVariable, "'q'", scores.extended, "a", [], ["q"])


def test_moments_of_rows_that_are_not_there_cannot_be_taken_away():
    few = TableStatistics({"a": [1.0, 1.25, 1.5], "b": [0.5, 0.0, 1.0]})
    apart = TableStatistics({"a": [9.5, -9.5], "b": [7.5, 2.0]})
    for other in (apart, apart + apart):
        with pytest.raises(InvalidArgument, match="lack rows"):
            GaussianLikelihood().on(few - other).family("a", ["b"])
    assert (few - few).moments("a").weight == 0


@pytest.mark.parametrize("score", [GaussianLikelihood(), BGe()])
def test_families_scored_at_once_score_as_each_alone(score):
    data = {f"x{k}": column for k, column in enumerate(np.random.default_rng(0).normal(size=(5, 30)))}
    scores = score.on_data(data | {"copy": 2 * data["x1"], "constant": np.full(30, 1.5)})
    bases, candidates = [["x1", "copy"], ["x2", "x3"], ["constant", "x4"]], [["x2", "x3"], ["copy"], []]
    asked = [Request("x0", tuple(base), tuple(some)) for base, some in zip(bases, candidates, strict=True)]
    found = scores.extended_each(asked)
    for base, some, values in zip(bases, candidates, found, strict=True):
        alone = [
            score.on_data(data | {"copy": 2 * data["x1"], "constant": np.full(30, 1.5)}).family("x0", [*base, name])
            for name in some
        ]
        np.testing.assert_allclose(values, alone)


def test_the_score_of_a_graph_is_bic_of_the_kind_that_fits_the_columns():
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=30), rng.integers(0, 2, 30)
    numbers, mixed = {"x": x, "y": x + rng.normal(size=30)}, {"x": x, "g": g.astype(str)}
    assert score_graph("x -> y", numbers) == score_graph("x -> y", numbers, "gaussian-bic")
    assert score_graph("g -> x", mixed) == score_graph("g -> x", mixed, "conditional-gaussian-bic")
    refuses(NotSupported, "'x' is continuous, but BIC is a score of counts", score_graph, "x -> y", numbers, "bic")
