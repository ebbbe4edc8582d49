"""Messages between regions against full products by einsum: valid graphs, exact trees, better beliefs with width."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Context, Decimal

import numpy as np
import pytest

from engine_problems import full_product, random_tables
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP
from plausible.inference.regions.region_graph import (
    RegionGraph,
    bethe_regions,
    join_graph,
    kikuchi_regions,
    short_loops,
)
from plausible.inference.regions.region_layout import forest_total
from plausible.inference.regions.region_propagation import ClusterBP, RegionBP
from plausible.models import MarkovNetwork
from plausible.variables import Evidence, Variable
from seeds import few_of

NONE = Evidence.read({}, {})
SCHEDULES = ("sequential", "synchronous")


def factors_of(scopes, tables, sizes):
    variables = [Variable(f"v{number}", size) for number, size in enumerate(sizes)]
    return [
        Factor([variables[v] for v in scope], table) for scope, table in zip(scopes, tables, strict=True)
    ], variables


def random_scopes(rng, num_variables=6, num_factors=8, min_size=1):
    sizes = tuple(rng.integers(min_size, 4, num_variables).tolist())
    arities = rng.integers(1, 4, num_factors).tolist()
    scopes = [(v,) for v in range(num_variables)]
    return scopes + [tuple(rng.choice(num_variables, arity, replace=False).tolist()) for arity in arities], sizes


def random_grid(rng, rows, columns, strength):
    """A binary grid with random couplings and fields."""
    pairs = [(i * columns + j, i * columns + j + 1) for i in range(rows) for j in range(columns - 1)]
    pairs += [(i * columns + j, i * columns + j + columns) for i in range(rows - 1) for j in range(columns)]
    scopes = [(v,) for v in range(rows * columns)] + pairs
    tables = [np.exp(0.5 * rng.normal(size=2)) for _ in range(rows * columns)]
    tables += [np.exp(strength * rng.normal() * np.array([[1, -1], [-1, 1]])) for _ in pairs]
    return scopes, tables, (2,) * (rows * columns)


def marginal(joint, group):
    return np.einsum(joint, list(range(joint.ndim)), list(group)) / joint.sum()


# --- graphs ---


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_all_makers_count_each_factor_and_each_variable_once(seed):
    """Bethe, Kikuchi and join graphs of random problems are valid, and what is shared lies within its cluster."""
    rng = np.random.default_rng(seed)
    scopes, sizes = random_scopes(rng)
    problem = Problem.of(factors_of(scopes, random_tables(scopes, sizes, seed), sizes)[0], NONE)
    clusters = [rng.choice(len(sizes), 3, replace=False).tolist() for _ in range(4)]
    graphs = [bethe_regions(problem), kikuchi_regions(problem, clusters), kikuchi_regions(problem)]
    graphs += [join_graph(problem, bound) for bound in range(1, 7)]
    for graph in graphs:
        graph.check(problem)
        for variable in range(len(problem.variables)):
            counts = [c for scope, c in zip(graph.scopes, graph.counts, strict=True) if variable in scope]
            assert sum(counts) == 1
        assert sorted(f for factors in graph.factors for f in factors) == list(range(len(scopes)))
        assert all(set(graph.scopes[inner]) <= set(graph.scopes[outer]) for outer, inner in graph.edges)
    for bound, graph in zip(range(1, 7), graphs[3:], strict=True):
        assert max(map(len, graph.scopes)) <= max(bound, *map(len, scopes))
    assert graphs[-1].is_forest()


def test_kikuchi_counts_of_a_grid_of_squares_are_those_of_the_cluster_variation_method():
    """Squares count 1, inner edges -1, inner corners 1; the squares are found as short loops."""
    problem = Problem.of(factors_of(*random_grid(np.random.default_rng(1), 4, 4, 1.0))[0], NONE)
    graph = kikuchi_regions(problem, short_loops(problem))
    by_size = {(len(scope), count) for scope, count in zip(graph.scopes, graph.counts, strict=True)}
    assert by_size == {(4, 1), (2, -1), (1, 1)}
    assert [len(scope) for scope in graph.scopes] == [4] * 9 + [2] * 12 + [1] * 4


def test_graphs_that_count_wrongly_are_refused_by_name():
    """A variable or a factor that does not count once, a region that is no part, regions that do not hang together."""
    problem = Problem.of([Factor({"a": 2, "b": 2}, np.ones((2, 2))), Factor({"b": 2}, [1, 2])], NONE)
    with pytest.raises(InvalidArgument, match="'b' 2 times"):
        RegionGraph(((0, 1), (1,)), ((0,), (1,)), (1, 1)).check(problem)
    with pytest.raises(InvalidArgument, match="factor over b 0 times"):
        RegionGraph(((0, 1),), ((0,),), (1,)).check(problem)
    with pytest.raises(InvalidArgument, match="not part"):
        RegionGraph(((1,), (0, 1)), ((1,), (0,)), (1, 0), ((0, 1),)).check(problem)
    with pytest.raises(InvalidArgument, match="does not hold"):
        RegionGraph(((1,),), ((0, 1),), (1,)).check(problem)
    with pytest.raises(InvalidArgument, match="hang together"):
        RegionGraph(((0, 1), (1,), (1,)), ((0,), (1,), ()), (1, 1, -1), ((0, 2),)).check(problem)


# --- exactness ---


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_full_bound_is_exact_with_zeros_and_one_state_variables(schedule):
    """With room for all variables the join graph is a clique tree: all marginals and log Z, or impossible."""
    engine = ClusterBP(bound=6, schedule=schedule)
    num_possible = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        scopes, sizes = random_scopes(rng)
        tables = random_tables(scopes, sizes, seed, zeros=0.25)
        joint = full_product(scopes, tables, sizes)
        factors, variables = factors_of(scopes, tables, sizes)
        total = engine.log_total(factors, NONE)
        assert total.info.exact
        if joint.sum() == 0:
            assert total == total.upper == -math.inf
            with pytest.raises(ImpossibleEvidence):
                engine.marginals(factors, variables, NONE)
            continue
        num_possible += 1
        assert total == pytest.approx(math.log(joint.sum()), abs=1e-9)
        assert total.lower < math.log(joint.sum()) < total.upper < total.lower + 1e-9
        beliefs = engine.joints(factors, [[variables[v] for v in scope] for scope in scopes], NONE)
        for scope, belief in zip(scopes, beliefs, strict=True):
            np.testing.assert_allclose(belief.values, marginal(joint, scope), atol=1e-10)
    assert 6 < num_possible < 25


@pytest.mark.parametrize("engine", [ClusterBP(bound=2), RegionBP(), RegionBP(schedule="synchronous")], ids=repr)
def test_trees_of_pairs_are_exact_at_any_bound(engine):
    """A chain with side branches has no cycle in its regions, so its messages give log Z."""
    rng = np.random.default_rng(3)
    scopes = [(0, 1), (1, 2), (3, 1), (4, 5), (2,)]
    sizes = (2, 3, 2, 1, 2, 3)
    tables = random_tables(scopes, sizes, rng, zeros=0.0)
    factors, variables = factors_of(scopes, tables, sizes)
    joint = full_product(scopes, tables, sizes)
    found = engine.log_total(factors, NONE)
    assert found == pytest.approx(math.log(joint.sum()), abs=1e-9)
    assert found.info.exact
    for place, variable in enumerate(variables):
        belief = engine.query(factors, [variable], NONE)
        np.testing.assert_allclose(belief.values, marginal(joint, [place]), atol=1e-9)


def test_a_join_graph_of_pairs_and_bethe_regions_share_the_fixed_point_of_loopy_propagation():
    """On a pairwise model clusters of two variables give the Bethe approximation."""
    scopes, tables, sizes = random_grid(np.random.default_rng(4), 3, 3, 0.4)
    factors, _ = factors_of(scopes, tables, sizes)
    expected = LoopyBP().log_total(factors, NONE)
    assert ClusterBP(bound=2).log_total(factors, NONE) == pytest.approx(expected, abs=1e-6)
    assert RegionBP(clusters=[]).log_total(factors, NONE) == pytest.approx(expected, abs=1e-6)


FAR_APART = [((0, 1), [[1, 0], [0, 1e-60]]), ((1, 2), [[1e-80, 0], [0, 1.0]])]


@pytest.mark.parametrize(
    "engine",
    [RegionBP(), RegionBP(damping=0.9, schedule="synchronous"), ClusterBP(bound=2, damping=0.5), ClusterBP(bound=2)],
    ids=repr,
)
def test_forests_whose_small_numbers_decide_are_exact_damped_or_not(engine):
    """1e-60 beats 1e-80: what a message says of a state without weight elsewhere is the whole truth."""
    factors, variables = factors_of(*zip(*FAR_APART, strict=True), (2, 2, 2))
    found = engine.log_total(factors, NONE)
    assert found.info.exact
    assert found == pytest.approx(math.log(1e-60), abs=1e-9)
    np.testing.assert_allclose(engine.query(factors, variables[:1], NONE).values, [1e-20, 1.0], rtol=1e-9)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.9])
def test_a_run_with_cycles_has_settled_only_where_no_small_number_moves_any_more(schedule, damping):
    """1e-60 beats 1e-80 beside a ring of ones, whose messages never change: the beliefs are those without the ring."""
    ring = [(pair, np.ones((2, 2))) for pair in ((2, 3), (3, 4), (4, 2))]
    factors, variables = factors_of(*zip(*FAR_APART, *ring, strict=True), (2,) * 5)
    engine = ClusterBP(bound=2, schedule=schedule, damping=damping)
    belief = engine.query(factors, variables[:1], NONE)
    assert (belief.info.converged, belief.info.exact) == (True, False)
    np.testing.assert_allclose(belief.values, [0.0, 1.0], atol=1e-5)
    assert engine.log_total(factors, NONE) == pytest.approx(math.log(4e-60), abs=1e-4)


@pytest.mark.parametrize("engine", [RegionBP(), ClusterBP(bound=2)], ids=repr)
def test_limits_of_exact_answers_hold_the_exact_rational_total(engine):
    """Chains of whole numbers, summed without rounding; the limits are wider than nothing and hold log Z."""
    rng = np.random.default_rng(11)
    for length in [1, 2, 5, 100]:
        tables = rng.integers(1, 10**6, (length, 2, 2))
        total = np.array([1, 1], dtype=object)
        for table in tables.astype(object):
            total = total @ table
        expected = Decimal(int(total.sum())).ln(Context(prec=50))
        factors, _ = factors_of([(v, v + 1) for v in range(length)], tables.astype(float), (2,) * (length + 1))
        found = engine.log_total(factors, NONE)
        assert found.info.exact
        assert Decimal(found.lower) < expected < Decimal(found.upper)
        assert found.upper - found.lower < 1e-9 * length
    empty = engine.log_total([Factor((), 3.0), Factor((), 7.0)], NONE)
    assert Decimal(empty.lower) < Decimal(21).ln(Context(prec=50)) < Decimal(empty.upper)


def test_limits_of_a_forest_hold_for_any_messages():
    """The reparametrisation of random messages, far from settled, still brackets log Z."""
    rng = np.random.default_rng(12)
    engine = RegionBP()
    for seed in range(20):
        scopes, sizes = [(0, 1), (1, 2, 3), (3, 4), (1, 5), (6,)], (2, 3, 2, 2, 1, 3, 2)
        tables = random_tables(scopes, sizes, seed, zeros=0.0)
        problem = Problem.of(factors_of(scopes, tables, sizes)[0], NONE)
        layout = engine.init(problem).layout
        assert layout.is_exact
        value, margin = forest_total(layout, rng.normal(size=int(layout.message_starts[-1])))
        truth = math.log(full_product(scopes, tables, sizes).sum()) - problem.log_scale
        assert abs(value - truth) <= margin
        assert margin > 0.1


# --- quality ---


@pytest.mark.slow
def test_errors_shrink_with_the_bound_on_larger_grids():
    """Twelve grids of 4 x 4, bounds from 2 to 5: the mean error of marginals and of log Z falls with each."""
    errors = np.zeros((12, 4, 2))
    for number in range(len(errors)):
        scopes, tables, sizes = random_grid(np.random.default_rng(number), 4, 4, 0.6)
        factors, _ = factors_of(scopes, tables, sizes)
        problem = Problem.of(factors, NONE)
        joint = full_product(scopes, tables, sizes)
        exact = np.array([marginal(joint, [v]) for v in range(16)])
        for place, bound in enumerate((2, 3, 4, 5)):
            engine = ClusterBP(bound=bound, damping=0.3)
            beliefs = np.array(engine.beliefs(problem, [(v,) for v in range(16)]).tables)
            gap = abs(engine.estimate(problem) - math.log(joint.sum()))
            errors[number, place] = np.abs(beliefs - exact).mean(), gap
    means = errors.mean(axis=0)
    assert (means[1:] < means[:-1]).all()
    assert (means[3] < 1e-9).all()


@pytest.mark.slow
def test_errors_shrink_with_the_bound_and_squares_beat_bethe_on_average():
    """Over many random grids, in marginals and in log Z."""
    engines = [ClusterBP(bound=bound, damping=0.3) for bound in (2, 3, 4)] + [RegionBP(), LoopyBP(damping=0.3)]
    errors = np.zeros((6, len(engines), 2))
    for number in range(len(errors)):
        scopes, tables, sizes = random_grid(np.random.default_rng(number), 3, 4, 0.6)
        factors, _ = factors_of(scopes, tables, sizes)
        problem = Problem.of(factors, NONE)
        joint = full_product(scopes, tables, sizes)
        exact = np.array([marginal(joint, [v]) for v in range(12)])
        for place, engine in enumerate(engines):
            beliefs = np.array(engine.beliefs(problem, [(v,) for v in range(12)]).tables)
            errors[number, place] = (
                np.abs(beliefs - exact).mean(),
                abs(engine.estimate(problem) - math.log(joint.sum())),
            )
    means = errors.mean(axis=0)
    assert (means[1:3] < means[:2]).all()
    assert (means[2] < 1e-9).all()
    assert (means[3] < means[4] / 5).all()


def test_settled_regions_agree_on_what_they_share():
    """At a fixed point the beliefs of two squares give their common pair the same marginal."""
    scopes, tables, sizes = random_grid(np.random.default_rng(5), 3, 3, 0.5)
    factors, _ = factors_of(scopes, tables, sizes)
    problem = Problem.of(factors, NONE)
    first, second, pair = RegionBP().beliefs(problem, [(0, 1, 3, 4), (1, 2, 4, 5), (1, 4)]).tables
    np.testing.assert_allclose(first.sum(axis=(0, 2)), pair, atol=1e-6)
    np.testing.assert_allclose(second.sum(axis=(1, 3)), pair, atol=1e-6)


# --- edges of use ---


@pytest.mark.parametrize("engine", [ClusterBP(bound=3), RegionBP()], ids=repr)
def test_runs_say_when_they_stopped_early(engine):
    """One round is not enough: no answer is called exact or settled, and there is advice."""
    factors, variables = factors_of(*random_grid(np.random.default_rng(6), 3, 3, 0.5))
    early = replace(engine, max_steps=1).query(factors, variables[:1], NONE).info
    assert (early.converged, early.exact, early.error) == (False, False, None)
    assert "not settled" in early.advice
    assert "MiniBuckets()" in early.advice


def test_advice_on_a_tree_is_to_go_on():
    """Nothing else is needed there: not damping, nor another engine."""
    factors, variables = factors_of([(v, v + 1) for v in range(6)], [[[1, 2], [3, 1]]] * 6, (2,) * 7)
    early = ClusterBP(bound=2, schedule="synchronous", max_steps=2).query(factors, variables[:1], NONE).info
    assert (early.converged, early.exact) == (False, False)
    assert "max_steps" in early.advice
    assert "damping" not in early.advice


@pytest.mark.parametrize("engine", [ClusterBP(), RegionBP()], ids=repr)
def test_the_empty_problem_and_the_impossible_one(engine):
    """Nothing is left to sum, or nothing is possible."""
    assert engine.log_total([Factor((), 3.0)], NONE) == pytest.approx(math.log(3))
    variables = [Variable(name, 2) for name in "ab"]
    same, other = Factor(variables, np.eye(2)), Factor(variables, 1 - np.eye(2))
    assert engine.log_total([same, other], NONE) == -math.inf
    with pytest.raises(ImpossibleEvidence):
        engine.query([same, other], variables[:1], NONE)


def test_evidence_is_passed_over_in_clusters():
    """A cluster may name an observed variable; the answer is that of the reduced model."""
    scopes, tables, sizes = random_grid(np.random.default_rng(7), 2, 3, 0.7)
    factors, variables = factors_of(scopes, tables, sizes)
    joint = full_product(scopes, tables, sizes)[:, 1]
    found = RegionBP(clusters=[["v0", "v1", "v3", "v4"], ["v1", "v2", "v4", "v5"]]).query(
        factors, [variables[0]], Evidence.read({"v1": 1}, {"v1": variables[1]})
    )
    np.testing.assert_allclose(found.values, marginal(joint, [0]), atol=1e-8)


def test_models_refuse_clusters_with_unknown_names():
    """The options mention variables, which a model looks up."""
    factors, _ = factors_of(*random_grid(np.random.default_rng(7), 2, 3, 0.7))
    model = MarkovNetwork(factors)
    good = RegionBP(clusters=[["v0", "v1", "v3", "v4"], ("v1", "v2", "v4", "v5")])
    assert good.mentioned == ("v0", "v1", "v3", "v4", "v1", "v2", "v4", "v5")
    assert model.query("v0", engine=good).info.exact
    with pytest.raises(UnknownVariable, match=r"'zz'.*RegionBP"):
        model.query("v0", engine=RegionBP(clusters=[["v1", "zz"]]))


def test_groups_that_no_region_holds_and_bad_options_are_refused():
    """The sentence says what to do."""
    factors, variables = factors_of(*random_grid(np.random.default_rng(8), 3, 3, 0.5))
    with pytest.raises(NotSupported, match="bound above 2"):
        ClusterBP(bound=2).query(factors, [variables[0], variables[8]], NONE)
    with pytest.raises(NotSupported, match="Give a cluster"):
        RegionBP().query(factors, [variables[0], variables[8]], NONE)
    bad = {
        "bound": (0, 2.5, "x", True),
        "damping": (1.0, -0.1, "x"),
        "schedule": ("random", 3),
        "tolerance": (-1, "x", math.nan),
        "max_steps": (0, "x"),
    }
    for options in [{name: value} for name, values in bad.items() for value in values]:
        with pytest.raises(InvalidArgument, match=f"{next(iter(options))}="):
            ClusterBP(**options)
    for clusters in ("AB", [[1, 2]], 3, [1], [["a"], None]):
        with pytest.raises(InvalidArgument, match="clusters="):
            RegionBP(clusters=clusters)
    wide = [Factor({f"w{i}": 3, f"w{j}": 3}, np.ones((3, 3))) for i in range(20) for j in range(i)]
    with pytest.raises(TooLarge, match="lower bound"):
        ClusterBP(bound=20).log_total(wide, NONE)


@pytest.mark.parametrize(
    ("size", "engine"),
    [
        (6, RegionBP(schedule="synchronous", damping=0.0)),
        (6, RegionBP()),
        (5, RegionBP(damping=0.0)),
        (4, RegionBP(schedule="synchronous", damping=0.0, max_steps=4000)),
    ],
    ids=repr,
)
def test_messages_that_grow_for_ever_prove_nothing(size, engine):
    """Positive factors have a positive sum; messages that overflow must neither deny it nor claim to have settled."""
    table = np.exp([[1.0, -1.0], [-1.0, 1.2]])
    factors = [Factor({f"x{i}": 2, f"x{j}": 2}, table) for i in range(size) for j in range(i)]
    total = engine.log_total(factors, Evidence.read({}, {}))
    assert np.isfinite(total)
    assert (total.info.exact, total.is_bound) == (False, False)
    belief = engine.query(factors, factors[0].scope[:1], Evidence.read({}, {}))
    assert (belief.values > 0).all()
    if engine.run(Problem.of(factors, Evidence.read({}, {}))).state.has_diverged:
        assert not belief.info.converged
        assert belief.info.advice
