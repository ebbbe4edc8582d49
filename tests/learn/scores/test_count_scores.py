"""Scores of counts: each against its formula, worked out cell by cell from the rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_strategies import dags
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG, class_members
from plausible.kernels.counting import sum_family_terms
from plausible.learn.estimation.priors import BDeu
from plausible.learn.evaluation.measures import score_graph
from plausible.learn.scores.dirichlet import BDeScore, BDeuScore, BDsScore, DirichletScore, K2Score, StandardBayesian
from plausible.learn.scores.penalized import (
    AIC,
    BIC,
    DescriptionLength,
    FactorizedNML,
    LogLikelihood,
    PenalizedLikelihood,
    QuotientNML,
    conditional_entropy,
    log_regret,
    mutual_information,
)
from plausible.learn.scores.reading import SCORES, read_score
from plausible.learn.scores.score import CountFunction, FamilyFunction
from plausible.learn.scores.structure_prior import EdgeLogOdds, EdgePenalty, ExpectedParents, WithPrior
from plausible.models.bayesian_network import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses
from score_oracles import dimension, dirichlet, family_counts, log_likelihood, random_columns, regret

SIZES = {"A": 2, "B": 3, "C": 1, "D": 2}
FAMILIES = [("A", []), ("B", ["A"]), ("D", ["B", "A"]), ("C", ["A"]), ("A", ["C", "D"]), ("B", ["A", "C", "D"])]


def _standard(rows, total):
    """With η = 2, so that each count has one more."""
    more = [[n + 1 for n in row] for row in rows]
    return log_likelihood(more) - 0.5 * math.log(total) * dimension(rows)


def _bds(rows, total):
    seen = [row for row in rows if sum(row)]
    return dirichlet(seen, 3.0 / (len(seen) * len(rows[0])))


FORMULAS = {
    LogLikelihood(): lambda rows, _: log_likelihood(rows),
    AIC(): lambda rows, _: log_likelihood(rows) - dimension(rows),
    BIC(): lambda rows, total: log_likelihood(rows) - 0.5 * math.log(total) * dimension(rows),
    PenalizedLikelihood(math.sqrt): lambda rows, total: log_likelihood(rows) - math.sqrt(total) * dimension(rows),
    K2Score(): lambda rows, _: dirichlet(rows, 1),
    DirichletScore(0.5): lambda rows, _: dirichlet(rows, 0.5),
    BDeuScore(3.0): lambda rows, _: dirichlet(rows, 3.0 / (len(rows) * len(rows[0]))),
    BDsScore(3.0): _bds,
    StandardBayesian(2.0): _standard,
    FactorizedNML(): lambda rows, _: log_likelihood(rows) - sum(regret(sum(row), len(row)) for row in rows),
    QuotientNML(): lambda rows, total: (
        log_likelihood(rows) - regret(total, len(rows) * len(rows[0])) + regret(total, len(rows))
    ),
}
EQUIVALENT = [LogLikelihood(), AIC(), BIC(), BDeuScore(2.5), QuotientNML(), DescriptionLength(), DescriptionLength(5.0)]


def _read(columns, **options):
    """With all states, seen or not."""
    return Table.read(columns, [Variable(name, range(SIZES[name])) for name in columns], **options)


def _table(seed, num_rows):
    columns = random_columns(np.random.default_rng(seed), SIZES.values(), num_rows)
    return columns, _read(columns)


@pytest.mark.parametrize("score", FORMULAS, ids=repr)
@pytest.mark.parametrize("num_rows", [1, 7, 11])
def test_every_score_equals_its_formula_worked_out_cell_by_cell(score, num_rows):
    columns, table = _table(num_rows, num_rows)
    scores = score.on_data(table)
    for _ in range(2):  # the second time counts are remembered and terms tabled
        for child, parents in FAMILIES:
            expected = FORMULAS[score](family_counts(columns, SIZES, child, parents), num_rows)
            assert scores.family(child, parents) == pytest.approx(expected, abs=1e-9)
    wanted = [name for name in SIZES if name not in ("A", "B")]
    extended = [scores.family("A", ["B", other]) for other in wanted]
    assert scores.extended("A", ["B"], wanted) == pytest.approx(extended, abs=1e-9)
    assert scores.reduced("A", ["D", "B"]) == pytest.approx(
        [scores.family("A", "B"), scores.family("A", "D")], abs=1e-9
    )
    assert scores.extended("A", ["B"], []).shape == (0,)


@pytest.mark.parametrize("score", FORMULAS, ids=repr)
def test_tabled_terms_equal_those_worked_out_directly(score):
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, (40, 4, 3)) * rng.integers(0, 2, (40, 4, 1))
    counts[:, 0, 0] += 200 - counts.sum(axis=(1, 2))
    bound = score.bound()
    for _ in range(3):
        found = bound(counts, 200.0)
    assert found == pytest.approx(score.of_counts(counts.astype(float), 200.0), rel=1e-12)


def test_the_kernel_equals_its_plain_twin():
    rng = np.random.default_rng(0)
    counts, cells, rows, sums = rng.integers(0, 5, (6, 3, 2)), rng.normal(size=5), rng.normal(size=9), np.empty(6)
    counts.setflags(write=False)
    sum_family_terms(counts, cells, rows, sums)
    assert sums == pytest.approx(cells[counts].sum(axis=(1, 2)) - rows[counts.sum(axis=2)].sum(axis=1))


@given(dag=dags(max_nodes=4, min_nodes=4), seed=st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_equivalent_graphs_have_equal_scores_where_that_is_claimed(dag, seed):
    table = _table(seed, 23)[1]
    uniform = BayesianNetwork(*(TableCPD(n, [1 / s] * s, states=range(s)) for n, s in SIZES.items()))
    for score in [*EQUIVALENT, BDeScore(uniform, 2.0), WithPrior(BIC(), EdgePenalty(0.3))]:
        assert score.is_score_equivalent
        found = score.on_data(table)
        members = [found.graph(member) for member in class_members(dag)]
        assert members == pytest.approx([found.graph(dag)] * len(members), abs=1e-8)


@pytest.mark.parametrize(
    "score", [K2Score(), FactorizedNML(), StandardBayesian(2.0), BDsScore(), DirichletScore(2.0)], ids=repr
)
def test_other_scores_tell_equivalent_graphs_apart(score):
    found = score.on_data(_table(1, 9)[1])
    assert not score.is_score_equivalent
    pairs = [("A -> B", "B -> A"), ("A -> B; B -> D; A -> D", "D -> B; B -> A; D -> A")]
    assert any(abs(found.graph(_on(one)) - found.graph(_on(two))) > 1e-3 for one, two in pairs)


def _on(text):
    return DAG(DAG(text).edges, nodes=list(SIZES))


CASES = ["a1 b1 c2 d1", "a1 b1 c2 d2", "a1 b2 c1 d1", "a2 b1 c1 d2", "a1 b1 c2 d2"]
FIVE = {name: [case.split()[place] for case in CASES] for place, name in enumerate("ABCD")}


@pytest.mark.parametrize(
    ("graph", "likelihood", "mdl"),
    [
        ("A -> B; A -> C; B -> D", -13.344978, None),
        ("A -> B; A -> C; A -> D", -14.099865, None),
        ("B -> C; C -> A; B -> D", -12.099865, -20.226614),
        ("B -> C; C -> A; B -> D; D -> A", -10.099865, -20.548542),
        ("A -> B; A -> C; A -> D; B -> C; B -> D; C -> D", -9.609640, None),
    ],
)
def test_likelihood_and_mdl_of_five_cases_in_bits(graph, likelihood, mdl):
    bits = 1 / math.log(2)
    assert score_graph(graph, FIVE, "log-likelihood") * bits == pytest.approx(likelihood, abs=1e-6)
    if mdl is not None:
        assert score_graph(graph, FIVE, "mdl") * bits == pytest.approx(mdl, abs=1e-6)


def test_mutual_information_of_five_cases_in_bits():
    statistics = TableStatistics(FIVE)
    expected = {"AB": 0.0729, "AC": 0.3219, "AD": 0.1710, "BC": 0.3219, "BD": 0.3219, "CD": 0.0200}
    for (one, two), bits in expected.items():
        assert mutual_information(statistics, one, [two]) / math.log(2) == pytest.approx(bits, abs=6e-5)
        assert mutual_information(statistics, two, [one]) / math.log(2) == pytest.approx(bits, abs=6e-5)
    found = [conditional_entropy(statistics, *family) / math.log(2) for family in [("A", "C"), "B", ("C", "B")]]
    assert found == pytest.approx([0.400, 0.722, 0.649], abs=6e-4)


@given(dag=dags(max_nodes=4, min_nodes=4), seed=st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_likelihood_is_the_product_over_cases_and_the_sum_of_information(dag, seed):
    """By cases, by entropies, and as N Σ I(X; U) - N Σ H(X); an edge more never lowers it."""
    columns, table = _table(seed, 12)
    statistics = TableStatistics(table)
    by_cases = 0.0
    for row in range(12):
        for name in SIZES:
            family = [*dag.parents(name), name]
            alike = [r for r in range(12) if all(columns[p][r] == columns[p][row] for p in family[:-1])]
            by_cases += math.log(sum(columns[name][r] == columns[name][row] for r in alike) / len(alike))
    information = sum(mutual_information(statistics, name, list(dag.parents(name))) for name in SIZES)
    entropy = sum(conditional_entropy(statistics, name) for name in SIZES)
    scores = LogLikelihood().on(statistics)
    assert scores.graph(dag) == pytest.approx(by_cases, abs=1e-9)
    assert scores.graph(dag) == pytest.approx(12 * (information - entropy), abs=1e-9)
    assert all(scores.family("A", more) >= scores.family("A", "B") - 1e-9 for more in ("BC", "BD", "BCD"))


@pytest.mark.parametrize(("total", "num_states"), [(0, 3), (1, 4), (5, 1), (6, 2), (9, 5), (30, 3)])
def test_regrets_equal_the_sum_over_all_data_sets(total, num_states):
    assert float(log_regret(total, num_states)) == pytest.approx(regret(total, num_states), abs=1e-11)


def test_regrets_of_many_rows_continue_those_of_few():
    """Where the sum over all counts gives way to an expansion; and between whole numbers it lies between."""
    from scipy.stats import binom

    for total in (999, 1000, 5000):
        counts = np.arange(total + 1)
        expected = np.log(binom.pmf(counts, total, counts / total).sum())
        assert float(log_regret(total, 2)) == pytest.approx(expected, rel=1e-11)
    assert float(log_regret(7.5, 3)) == pytest.approx((regret(7, 3) + regret(8, 3)) / 2)


def test_bde_of_a_uniform_network_is_bdeu_and_impossible_data_are_minus_infinity():
    table = _table(4, 15)[1]
    uniform = BayesianNetwork(*(TableCPD(n, [1 / s] * s, states=range(s)) for n, s in SIZES.items()))
    bde, bdeu = BDeScore(uniform, 3.0).on_data(table), BDeuScore(3.0).on_data(table)
    for child, parents in FAMILIES:
        assert bde.family(child, parents) == pytest.approx(bdeu.family(child, parents))
    assert bde.extended("A", ["B"], ["C", "D"]) == pytest.approx(bdeu.extended("A", ["B"], ["C", "D"]))
    certain = uniform.with_cpd(TableCPD("A", [1.0, 0.0], states=range(2)))
    assert BDeScore(certain).on_data(table).family("A", []) == -math.inf
    assert BDeScore(certain).on_data(table.select(["B"])).family("B", []) > -math.inf


def test_bde_of_a_network_with_edges_takes_its_joint_as_pseudo_counts():
    columns, table = _table(5, 9)
    table = table.select(["A", "D"])
    joint = np.array([[0.1, 0.3], [0.5, 0.1]])
    network = BayesianNetwork(
        TableCPD("A", joint.sum(axis=1), states=range(2)),
        TableCPD("D", parents=["A"], values=joint / joint.sum(axis=1, keepdims=True), states=range(2)),
    )
    expected = 0.0
    for context, row in enumerate(family_counts(columns, SIZES, "A", ["D"])):
        before = 0
        for state, count in enumerate(row):
            for step in range(count):
                expected += math.log((4 * joint[state, context] + step) / (4 * joint[:, context].sum() + before))
                before += 1
    assert BDeScore(network, 4.0).on_data(table).family("A", ["D"]) == pytest.approx(expected)
    refuses(InvalidArgument, "'B' has the states", BDeScore(network).on_data, _table(5, 9)[1])


@pytest.mark.parametrize(
    ("prior", "log_prior"),
    [
        (EdgePenalty(1.0), lambda edges: 0.0),
        (EdgePenalty(0.2), lambda edges: len(edges) * math.log(0.2)),
        (ExpectedParents(1.5), lambda edges: 12 * math.log(0.5)),
        (ExpectedParents(0.3), lambda edges: len(edges) * math.log(0.1) + (12 - len(edges)) * math.log(0.9)),
        (EdgeLogOdds({("A", "B"): 2.0}, others=-1.0), lambda e: sum(2.0 if x == ("A", "B") else -1.0 for x in e)),
    ],
    ids=["any", "few edges", "many parents", "few parents", "odds"],
)
def test_a_structure_prior_is_added_to_every_kind_of_question(prior, log_prior):
    table = _table(6, 14)[1]
    plain, scores = BIC().on_data(table), WithPrior(BIC(), prior).on_data(table)
    for text in ("A -> B", "A -> B; D -> B; B -> C"):
        graph = _on(text)
        assert scores.graph(graph) == pytest.approx(plain.graph(graph) + log_prior(list(graph.edges)))
    assert scores.extended("B", ["A"], ["C", "D"]) == pytest.approx([scores.family("B", ["A", x]) for x in "CD"])
    assert scores.reduced("B", ["A", "D"]) == pytest.approx([scores.family("B", [x]) for x in "DA"])


def test_description_length_counts_edges_numbers_and_rows():
    columns, table = _table(7, 10)
    graph = _on("A -> B; D -> B; B -> C")
    families = {name: family_counts(columns, SIZES, name, list(graph.parents(name))) for name in SIZES}
    numbers = sum(map(dimension, families.values()))
    fit = -sum(map(log_likelihood, families.values())) / math.log(2)
    found = -DescriptionLength(6.0).on_data(table).graph(graph) / math.log(2)
    assert found == pytest.approx(3 * math.log2(4) + 6 * numbers + fit)


@pytest.mark.parametrize("name", [name for name in SCORES if "gaussian" not in name and name != "bge"])
def test_weights_repeat_rows_and_rows_set_from_outside_do_not_count(name):
    columns, table = _table(8, 12)
    rng = np.random.default_rng(8)
    weights, is_set = rng.integers(0, 3, 12), rng.random(12) < 0.4
    repeated = _read({key: np.repeat(column, weights).tolist() for key, column in columns.items()})
    outside = _read(columns, interventions={"A": is_set})
    for child, parents in FAMILIES:
        weighed = read_score(name).on_data(table.weighted(weights)).family(child, parents)
        assert weighed == pytest.approx(read_score(name).on_data(repeated).family(child, parents), abs=1e-9)
        kept = table.take(~is_set) if child == "A" else table
        found = read_score(name).on_data(outside).family(child, parents)
        assert found == pytest.approx(read_score(name).on_data(kept).family(child, parents), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in SCORES if "gaussian" not in name and name != "bge"])
def test_without_rows_or_variables_scores_are_finite_and_no_parent_helps(name):
    scores = read_score(name).on_data(_table(0, 0)[1])
    assert math.isfinite(scores.family("B", ["A", "D"]))
    assert scores.family("B", ["A"]) <= scores.family("B", []) + 1e-12
    assert read_score(name).on_data({}).graph(DAG()) == 0.0


def test_scores_add_up_over_sums_of_statistics():
    table = _table(9, 20)[1]
    parts = TableStatistics(table.take(np.arange(20) < 8)) + TableStatistics(table.take(np.arange(20) >= 8))
    whole = BDeuScore(1.0).on_data(table)
    assert BDeuScore(1.0).on(parts).family("B", ["A", "D"]) == pytest.approx(whole.family("B", ["A", "D"]))
    assert BDeuScore(1.0).on(parts).extended("B", ["A"], "CD") == pytest.approx(whole.extended("B", ["A"], "CD"))
    with pytest.raises(InvalidArgument, match="negative counts"):
        BIC().on(TableStatistics(table.take(np.arange(3))) - parts).family("A", [])


def test_functions_are_scores():
    table = _table(2, 10)[1]
    asked = []
    scores = FamilyFunction(lambda child, parents: asked.append((child, parents)) or len(parents)).on_data(table)
    assert scores.family("A", ["C", "B"]) == scores.family("A", ["B", "C"]) == 2.0
    assert asked == [("A", ("B", "C"))]
    likelihood = CountFunction(lambda counts: log_likelihood(counts.tolist())).on_data(table)
    assert likelihood.extended("A", ["B"], ["C", "D"]) == pytest.approx(
        LogLikelihood().on_data(table).extended("A", ["B"], ["C", "D"])
    )


def test_names_of_scores_are_read_and_unknown_ones_refused():
    assert read_score("Log_Likelihood") == LogLikelihood()
    assert read_score(BDeuScore(7)) == BDeuScore(7)
    refuses(InvalidArgument, r"'bci' is no score.*bic.*qnml", read_score, "bci")
    refuses(NotSupported, "'X' is continuous", BIC().on_data, {"X": [0.5, 1.5]})
    refuses(UnknownVariable, "'Z'", score_graph, "A -> Z", FIVE)
    refuses(InvalidArgument, "missing in 1 of 2", BIC().on_data({"X": ["a", None], "Y": ["a", "b"]}).family, "Y", ["X"])
    for wrong in (lambda: BDeuScore(0), lambda: PenalizedLikelihood(-1), lambda: EdgePenalty(2), lambda: BDsScore(-1)):
        with pytest.raises(InvalidArgument):
            wrong()
    refuses(InvalidArgument, "at most 3", WithPrior(BIC(), ExpectedParents(3)).on_data, FIVE)


def test_a_prior_network_refuses_continuous_columns_as_other_scores_of_counts_do():
    coin = BayesianNetwork(TableCPD("a", [0.5, 0.5]))
    refuses(NotSupported, "'x' is continuous, but BDeScore", BDeScore(coin).on_data, {"a": [0, 1], "x": [0.5, 1.5]})


def test_a_parent_that_is_named_twice_is_charged_once():
    scores = WithPrior(BIC(), EdgePenalty(0.5)).on_data({"a": [0, 1, 1], "b": [0, 1, 0]})
    assert scores.family("a", ["b", "b"]) == scores.family("a", ["b"])


def test_no_variable_extends_its_own_parents():
    with pytest.raises(InvalidArgument, match="'a' can't be its own parent"):
        BIC().on_data({"a": [0, 1, 1], "b": [0, 1, 0]}).extended("a", [], ["a"])


@pytest.mark.parametrize("total", [0, 1, 7, 900, 5000])
@pytest.mark.parametrize("num_states", [65, 200, 3000])
def test_the_regret_of_many_states_is_that_of_going_through_them(total, num_states):
    """A single number is summed over rows, numbers in an array by the recurrence over states."""
    assert log_regret(total, num_states) == pytest.approx(log_regret([total], num_states)[0], rel=1e-11, abs=1e-11)


def test_scores_go_by_names_with_numbers_and_priors_are_pointed_to_theirs():
    assert read_score("bdeu:10") == BDeuScore(10)
    for asked, told in (
        (BDeu(10), "give a BDeuScore"),
        ("bic:3", "has no number"),
        ("hc", "'hc' is no score. There are"),
    ):
        refuses(InvalidArgument, told, read_score, asked)
