"""Learners see data through `Statistics` alone: one of plain dictionaries serves them as a table does."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from plausible.cpds import TableCPD
from plausible.data.moments import FamilyMoments
from plausible.data.statistics import Statistics, counted_each
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.inference import TreeReweightedBP
from plausible.learn.confidence.exact_posterior import enumerate_posterior
from plausible.learn.constraint_based.blanket_structure import markov_blanket, structure_from_blankets
from plausible.learn.constraint_based.parents_and_children import parents_and_children
from plausible.learn.constraint_based.pc import pc
from plausible.learn.estimation.families import data_fragmentation, graph_log_likelihood
from plausible.learn.estimation.posterior import parameter_posterior
from plausible.learn.evaluation.measures import score_graph
from plausible.learn.incomplete.gaussian_maximization import gaussian_lines
from plausible.learn.independence.gaussian_tests import read_test
from plausible.learn.learned_parameters import fit_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.penalized import conditional_entropy
from plausible.learn.scores.reading import SCORES, read_score
from plausible.learn.structure_methods import METHODS
from plausible.learn.undirected.graphical_lasso import covariance_selection, graphical_lasso
from plausible.learn.undirected.learning import learn_markov
from plausible.learn.undirected.margin import MaxMargin
from plausible.learn.undirected.objectives import ConditionalLikelihood
from plausible.learn.undirected.priors import GaussianPrior, GroupPrior, LaplacePrior, PseudoData
from plausible.learn.undirected.sampled import SampledLikelihood
from plausible.learn.undirected_structures.learning import learn_markov_structure
from plausible.models import BayesianNetwork
from plausible.variables import Variable


class PlainStatistics(Statistics):
    """Rows as mappings from names to states (by position) and numbers, counted one by one."""

    def __init__(self, variables, rows, total, set_rows=None):
        self._variables, self._rows, self._total, self._set = variables, rows, total, set_rows or {}
        self.num_batches = 0

    @property
    def variables(self):
        return self._variables

    @property
    def total(self):
        return self._total

    @property
    def interventions(self):
        return {name: len(rows) for name, rows in self._set.items()}

    def counts_of(self, requests):
        self.num_batches += 1
        return counted_each(self._count, requests)

    def _told(self, child):
        return [row for number, row in enumerate(self._rows) if number not in self._set.get(child, ())]

    def _count(self, child, parents):
        scope = (*parents, child)
        seen = Counter(tuple(row[name] for name in scope) for row in self._told(child))
        counts = np.zeros([self._variables[name].num_states for name in scope], dtype=np.int64)
        for states, number in seen.items():
            counts[states] = number
        return counts

    def moments_of(self, requests):
        return [self._moments(request) for request in requests]

    def _moments(self, request):
        scope = (*request.parents, request.child)
        discrete = [name for name in scope if name in self.discrete]
        numbers = [name for name in self.continuous if name in scope]
        groups = {}
        for row in self._told(request.child):
            groups.setdefault(tuple(row[name] for name in discrete), []).append([row[name] for name in numbers])
        states = sorted(groups)
        rows = [np.array(groups[key]).reshape(len(groups[key]), len(numbers)) for key in states]
        sizes = np.array([len(part) for part in rows], dtype=float)
        scatters = [(part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in rows]
        codes = np.array(states, dtype=np.int64).reshape(len(states), len(discrete))
        return FamilyMoments(codes, sizes, sizes, np.array([part.mean(axis=0) for part in rows]), np.array(scatters))


class PlainRows(PlainStatistics):
    """The same where somebody keeps the rows, too."""

    def __init__(self, table):
        plain = _foreign(table)
        super().__init__(plain.variables, plain._rows, plain.total, plain._set)
        self._table = table

    @property
    def table(self):
        return self._table

    def with_variables(self, variables):
        known = {name: variable for name, variable in variables.items() if name in self.variables}
        return PlainRows(Table.read(self._table, known))


def _foreign(table):
    """The same rows in a statistics that knows no table."""
    columns = {name: table.column(name).tolist() for name in table.variables}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    set_rows = {name: set(np.flatnonzero(mask).tolist()) for name, mask in table.interventions.items()}
    return PlainStatistics(table.variables, rows, table.total, set_rows)


def _states(num_rows=300):
    rng = np.random.default_rng(1)
    a, b = rng.integers(2, size=num_rows), rng.integers(3, size=num_rows)
    c = (a + b + (rng.random(num_rows) < 0.2)) % 3
    d = np.where(rng.random(num_rows) < 0.15, rng.integers(2, size=num_rows), c > 0).astype(int)
    e = np.where(rng.random(num_rows) < 0.3, rng.integers(2, size=num_rows), a)
    return {"c": c, "a": a, "e": e, "b": b, "d": d}


def _numbers(num_rows=200):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, num_rows))
    z = x - y + rng.normal(size=num_rows)
    return {"z": z, "x": x, "w": 0.8 * z + rng.normal(size=num_rows), "y": y}


def _mixed(num_rows=200):
    states, numbers = _states(num_rows), _numbers(num_rows)
    return {"a": states["a"], "c": states["c"], "x": numbers["x"] + 2 * states["a"], "z": numbers["z"] + states["a"]}


KINDS = {"states": _states, "numbers": _numbers, "mixed": _mixed}
OPTIONS = {"k2": {"order": ["a", "b", "c", "d", "e"]}, "tan": {"class_variable": "c"}, "annealing": {"max_steps": 200}}
#: Options of "k2" and "tan" name columns; "ges" needs a score-equivalent score, and that of mixed data is not.
SEARCHES = [
    *product((method for method in METHODS if method not in ("k2", "tan", "ges")), KINDS),
    *(("k2", "states"), ("tan", "states"), ("ges", "states"), ("ges", "numbers")),
]
TESTS = [
    *product(["auto", "conditional-gaussian"], KINDS),
    *product(["g", "chi-square", "permutation"], ["states"]),
    ("fisher-z", "numbers"),
]


def _pair(kind, **options):
    table = Table.read(KINDS[kind](), **options)
    return TableStatistics(table), _foreign(table)


@pytest.mark.parametrize(("method", "kind"), SEARCHES)
def test_every_search_finds_the_same_graph(method, kind):
    table, foreign = _pair(kind)
    expected, found = (learn_structure(data, method, **OPTIONS.get(method, {})) for data in (table, foreign))
    assert set(found.graph.edges) == set(expected.graph.edges)
    assert found.score == pytest.approx(expected.score, rel=1e-9)
    assert found.bound == pytest.approx(expected.bound, rel=1e-9)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("is_set", [False, True])
def test_every_score_is_the_same(name, is_set):
    kind = "mixed" if name.startswith("conditional") else "numbers" if name[0] == "g" or name == "bge" else "states"
    columns = list(KINDS[kind]())
    mask = np.arange(300 if kind == "states" else 200) % 3 == 0
    table, foreign = _pair(kind, interventions={columns[0]: mask} if is_set else {})
    ours, theirs = (read_score(name).on(data) for data in (foreign, table))
    for child in columns:
        for parents in ([], columns[:2], columns[1:]):
            family = [parent for parent in parents if parent != child]
            assert ours.family(child, family) == pytest.approx(theirs.family(child, family), rel=1e-9)


@pytest.mark.parametrize(("test", "kind"), TESTS)
def test_every_test_of_independence_and_learner_by_tests_is_the_same(test, kind):
    table, foreign = _pair(kind)
    tests = [read_test(data, test) for data in (table, foreign)]
    names = sorted(table.variables)
    for given in ((), names[2:3], names[2:4]):
        expected, found = (one.test(names[0], names[1], given) for one in tests)
        assert found.p_value == pytest.approx(expected.p_value, rel=1e-6, abs=1e-12)
    for learn in (pc, structure_from_blankets):
        expected, found = (learn(one, alpha=0.01) for one in tests)
        assert found.graph == expected.graph
    assert len({markov_blanket(one, names[0]).blanket for one in tests}) == 1
    assert len({parents_and_children(one, names[0]).neighbors for one in tests}) == 1
    assert pc(foreign, test=test).graph == pc(table, test=test).graph


def test_parameters_are_learned_from_one_batch_and_are_the_same():
    table, foreign = _pair("states")
    graph = "a -> c <- b; c -> d; a -> e"
    expected, found = (fit_parameters(graph, data, prior="bdeu:5").network for data in (table, foreign))
    assert foreign.num_batches == 1
    for name, cpd in expected.cpds.items():
        np.testing.assert_allclose(found.cpd(name).to_table().values, cpd.to_table().values, rtol=1e-12)
    kinds = {"d": "tree", "e": "noisy-or", "c": "logistic"}
    expected, found = (fit_parameters(graph, data, kinds=kinds).network for data in (table, foreign))
    assert isinstance(found, BayesianNetwork)
    for name in kinds:
        np.testing.assert_allclose(
            found.cpd(name).to_table().values, expected.cpd(name).to_table().values, rtol=1e-6, atol=1e-9
        )
    ours, theirs = (parameter_posterior(graph, data, prior="k2").log_marginal_likelihood for data in (foreign, table))
    assert ours == pytest.approx(theirs)
    ours, theirs = (graph_log_likelihood(graph, data) for data in (foreign, table))
    assert ours == pytest.approx(theirs)
    assert str(data_fragmentation(graph, foreign)) == str(data_fragmentation(graph, table))
    assert conditional_entropy(foreign, "c", ["a"]) == pytest.approx(conditional_entropy(table, "c", ["a"]))


@pytest.mark.parametrize(
    ("kind", "graph"), [("numbers", "x -> z <- y; z -> w"), ("mixed", "a -> c; a -> x; x -> z <- a")]
)
def test_gaussians_are_learned_from_moments_in_one_batch(kind, graph):
    """Where there are no rows: regressions in each state of the parents that have some, and what they leave open."""
    table, foreign = _pair(kind)
    asked = []
    foreign.moments_of = lambda requests: asked.append(len(requests)) or PlainStatistics.moments_of(foreign, requests)
    expected, found = (fit_parameters(graph, data) for data in (table, foreign))
    assert asked == [len(table.continuous)]
    for name in table.continuous:
        ours, theirs = (gaussian_lines(fit.network.cpd(name)) for fit in (found, expected))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert score_graph(graph, foreign) == pytest.approx(score_graph(graph, table), rel=1e-12)


def test_what_moments_leave_open_is_told():
    """One row in a context, none in another, and collinear parents: the same lines and the same flags as from rows."""
    rows = {"a": [0, 0, 0, 0, 1], "x": [0.0, 1.0, 2.0, 3.0, 5.0], "u": [0.0, 2.0, 4.0, 6.0, 10.0]}
    rows["y"] = [1.0, 3.5, 5.0, 7.0, 9.0]
    table = Table.read(rows, [Variable("a", 3)])
    foreign = _foreign(table)
    expected, found = (fit_parameters("a -> y <- x; u -> y", data) for data in (TableStatistics(table), foreign))
    for one, other in zip(*(gaussian_lines(fit.network.cpd("y")) for fit in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.unidentified["y"], expected.unidentified["y"])


def test_a_search_asks_for_counts_once_a_step():
    table, foreign = _pair("states")
    found = learn_structure(foreign, escapes=0)
    assert found.num_steps > 3
    assert foreign.num_batches <= found.num_steps + 8
    assert math.isclose(found.score, learn_structure(table, escapes=0).score)


def test_a_sum_of_foreign_statistics_is_one():
    rows = Table.read(_mixed(), interventions={"z": np.arange(200) % 4 == 0})
    first, rest = _foreign(rows.take(np.arange(80))), _foreign(rows.take(np.arange(80, 200)))
    whole = TableStatistics(rows)
    for data in (first + rest, _foreign(rows) + rest - rest):
        assert learn_structure(data).score == pytest.approx(learn_structure(whole).score)
        assert data.interventions.keys() == whole.interventions.keys()
    scores = [read_score("conditional-gaussian-bic").on(data) for data in (first + rest, whole)]
    assert scores[0].family("z", ["a", "x"]) == pytest.approx(scores[1].family("z", ["a", "x"]))


def test_posteriors_of_graphs_take_scores_of_foreign_statistics():
    table, foreign = _pair("states")
    found, expected = (enumerate_posterior(read_score("bdeu").on(data)) for data in (foreign, table))
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9)


FIELD_SCOPES = [["a", "c"], ["c", "d"], ["a", "e"], ["e", "d"]]
#: What learns undirected models from counts of families alone.
BY_COUNTS = {
    "likelihood": {},
    "Newton": {"optimizer": "newton"},
    "L1": {"prior": GaussianPrior(1.0) + LaplacePrior(0.5)},
    "groups": {"prior": GroupPrior(0.2)},
    "fitting": {"optimizer": "ipf"},
    "scaling": {"optimizer": "ips", "max_steps": 20},
    "piecewise": {"objective": "piecewise"},
    "submodels": {"objective": "submodels"},
    "pseudo-moments": {"objective": "pseudo-moment-matching"},
    "messages": {"engine": TreeReweightedBP()},
    "pseudo-data": {"prior": PseudoData(2.0)},
    "draws": {"objective": SampledLikelihood(200, seed=0), "prior": GaussianPrior(1.0)},
}
#: What looks at one row after the other, as it sums over what is not in it.
BY_ROWS = {
    "pseudolikelihood": "pseudolikelihood",
    "composite": "composite",
    "conditional": ConditionalLikelihood(["a"]),
    "margin": MaxMargin(["a"]),
    "contrastive": "contrastive-divergence",
}


@pytest.mark.parametrize("options", BY_COUNTS.values(), ids=BY_COUNTS)
def test_undirected_models_are_learned_from_counts(options):
    """The same weights as from the rows, with their standard errors and the log-likelihood."""
    table, foreign = _pair("states")
    expected, found = (learn_markov(FIELD_SCOPES, data, **options) for data in (table, foreign))
    assert dict(found.weights) == pytest.approx(dict(expected.weights), rel=1e-9, abs=1e-12)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-9)
    assert found.moment_gap == pytest.approx(expected.moment_gap, rel=1e-6, abs=1e-12, nan_ok=True)
    assert found.bic() == pytest.approx(expected.bic(), rel=1e-9)
    if not options:
        assert found.standard_errors() == pytest.approx(expected.standard_errors())
        assert found.duality_gap == pytest.approx(expected.duality_gap)


def test_a_chordal_model_is_counted_without_rows():
    """Closed forms take counts alone."""
    table, foreign = _pair("states")
    expected, found = (learn_markov("a - c - d", data) for data in (table, foreign))
    assert found.num_steps == 0
    assert found.network == expected.network


@pytest.mark.parametrize("objective", BY_ROWS.values(), ids=BY_ROWS)
def test_objectives_that_look_at_rows_ask_for_them(objective):
    """Statistics without rows are refused by name, with what to give."""
    foreign = _pair("states")[1]
    with pytest.raises(NotSupported, match=r"PlainStatistics has no rows.*give a table"):
        learn_markov(FIELD_SCOPES, foreign, objective=objective, prior=GaussianPrior(1.0))


def test_complete_data_are_counted_once_whatever_many_steps_follow():
    """One batch of counts for a climb of many steps: the likelihood needs no more of the data."""
    foreign = _pair("states")[1]
    fit = learn_markov(FIELD_SCOPES, foreign, prior=GaussianPrior(1.0), tolerance=1e-9)
    assert fit.num_steps > 5
    assert foreign.num_batches == 1


def test_sparse_precision_matrices_are_learned_from_moments():
    """The same matrices, whether of one penalty, of a path by the extended BIC, or with the zeros of a graph."""
    table, foreign = _pair("numbers")
    for learn in (
        lambda data: graphical_lasso(data, 0.1),
        lambda data: graphical_lasso(data, None),
        lambda data: covariance_selection("z - x; z - y; z - w", data),
    ):
        expected, found = learn(table), learn(foreign)
        np.testing.assert_allclose(found.precision, expected.precision, rtol=1e-6, atol=1e-9)
        assert found.log_likelihood == pytest.approx(expected.log_likelihood)
        assert found.graph == expected.graph


def test_held_out_rows_choose_a_penalty_wherever_rows_are():
    """Cross-validation asks the statistics for rows, not what kind of statistics they are."""
    table, foreign = _pair("numbers")
    expected, found = (
        graphical_lasso(data, [0.5, 0.05, 0.01], choose="cross-validation", seed=0)
        for data in (table, PlainRows(table.table))
    )
    assert [point.score for point in found.path] == pytest.approx([point.score for point in expected.path])
    assert len({point.score for point in found.path}) == 3
    with pytest.raises(NotSupported, match=r"PlainStatistics has no rows.*give a table"):
        graphical_lasso(foreign, [0.5, 0.01], choose="cross-validation")


STRUCTURES = {
    "l1": {"num_strengths": 6},
    "chow-liu": {},
    "tests": {"max_degree": 2},
    "greedy": {},
}


@pytest.mark.parametrize("method", STRUCTURES)
def test_graphs_of_markov_networks_are_learned_from_counts(method):
    """Searches, forests and tests find the graph that they find in the table."""
    table, foreign = _pair("states")
    expected = learn_markov_structure(table, method, **STRUCTURES[method])
    found = learn_markov_structure(foreign, method, **STRUCTURES[method])
    assert set(map(frozenset, found.graph.edges)) == set(map(frozenset, expected.graph.edges)) != set()


def test_regressions_of_each_variable_on_all_others_ask_for_rows():
    """The one way to a graph that looks at rows refuses statistics without them, by name."""
    with pytest.raises(NotSupported, match=r"PlainStatistics has no rows.*give a table"):
        learn_markov_structure(_pair("states")[1], "neighbourhood", strength=0.05)


def test_states_of_a_network_are_read_wherever_rows_are():
    """Parameters for a network that knows more states, in another order, than the data: from rows, else refused."""
    table, foreign = _pair("states")
    more = Variable("d", [1, 0, 2])
    known = BayesianNetwork(TableCPD(more, [0.2, 0.3, 0.5]))
    expected, found = (fit_parameters(known, data).network for data in (table, PlainRows(table.table)))
    assert expected.variables["d"] == more
    np.testing.assert_allclose(found.cpd("d").to_table().values, expected.cpd("d").to_table().values)
    ones = (np.asarray(_states()["d"]) == 1).mean()
    np.testing.assert_allclose(found.cpd("d").to_table().values, [ones, 1 - ones, 0])
    with pytest.raises(InvalidArgument, match=r"'d' has the states \[0, 1\] in the data, but \[1, 0, 2\]"):
        fit_parameters(known, foreign)


@pytest.mark.parametrize("penalty", ["ebic", [0.1, "0.2"], [], -1.0, [float("nan")]])
def test_penalties_that_are_no_numbers_are_refused_by_name(penalty):
    """The error names the argument, not the conversion that failed."""
    with pytest.raises(InvalidArgument, match="penalty="):
        graphical_lasso(_pair("numbers")[1], penalty)
