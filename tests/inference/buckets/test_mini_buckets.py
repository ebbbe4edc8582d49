"""Mini-bucket bounds against sums over all assignments."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, grid, largest, log_products, random_factors
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.buckets.mini_buckets import MiniBucketMax, MiniBuckets, probability_bounds
from plausible.inference.problem import Problem
from plausible.variables import Evidence, likelihood

#: What the oracle itself may lose to rounding.
ORACLE = 1e-11


def log_sum(values):
    """log Σ exp of some numbers."""
    peak = max(values, default=-math.inf)
    return peak if peak == -math.inf else peak + math.log(math.fsum(math.exp(value - peak) for value in values))


def log_total(factors):
    """log Σ Π φ by trying every assignment."""
    return log_sum(list(log_products(factors)[1].values()))


def dense_factors(rng, *, zeros=0.0, num_variables=6):
    """A factor on every pair of variables of two or three states: no small table is enough."""
    sizes = rng.integers(2, 4, size=num_variables)
    result = []
    for i, j in itertools.combinations(range(num_variables), 2):
        table = np.exp(rng.normal(size=(sizes[i], sizes[j]))) * (rng.random((sizes[i], sizes[j])) >= zeros)
        result.append(Factor({f"X{i}": int(sizes[i]), f"X{j}": int(sizes[j])}, table))
    return result


def models(zeros):
    """Ten sparse models, most of which need no copies, and fifteen dense ones, which do."""
    for seed in range(10):
        yield random_factors(np.random.default_rng(seed), zeros=zeros)
    for seed in range(15):
        yield dense_factors(np.random.default_rng(seed), zeros=zeros / 2, num_variables=4 + seed % 2)


# --- sums ---


@pytest.mark.parametrize("engine", [MiniBuckets(bound=1), MiniBuckets(bound=2, is_weighted=False)], ids=repr)
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_the_bounds_bracket_the_sum(zeros, engine):
    """100 models, with and without zeros: lower ≤ log Z ≤ upper, whatever was shifted."""
    for factors in models(zeros):
        expected = log_total(factors)
        found = engine.log_total(factors, NO_EVIDENCE)
        assert found.is_bound
        assert found.lower - ORACLE <= expected <= found.upper + ORACLE
        if found.info.exact:
            assert found == pytest.approx(expected, abs=1e-9)
        elif found.lower > -math.inf:
            assert abs(float(found) - expected) <= found.info.error + ORACLE


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_a_bound_that_covers_the_width_is_exact(zeros):
    """No copies: lower = upper = log Z up to rounding."""
    for seed in range(10):
        factors = dense_factors(np.random.default_rng(seed), zeros=zeros)
        expected, found = log_total(factors), MiniBuckets(bound=6).log_total(factors, NO_EVIDENCE)
        assert found.info.exact
        if expected == -math.inf:
            assert found == found.upper == -math.inf
        else:
            assert found.upper - found.lower < 1e-9
            assert found == pytest.approx(expected, abs=1e-10)


def test_plain_mini_buckets_are_what_dechter_and_rish_define():
    """A triangle whose first variable is split: Σ over one copy, maximum or minimum over the other, written out."""
    rng = np.random.default_rng(0)
    ab, bc, ca = (np.exp(rng.normal(size=(2, 2))) for _ in range(3))
    factors = [Factor({"A": 2, "B": 2}, ab), Factor({"B": 2, "C": 2}, bc), Factor({"C": 2, "A": 2}, ca)]
    found = MiniBuckets(bound=2, is_weighted=False, max_steps=0).log_total(factors, NO_EVIDENCE)
    tables = {"A": (ab, ca.T, bc), "B": (bc, ab.T, ca), "C": (ca, bc.T, ab)}  # rows: the variable that is split
    uppers = []
    for first, second, third in tables.values():
        # `third` is over what the second lacks of the first; either copy may be the one that is summed.
        for one, other in ((first.sum(axis=0), second.max(axis=0)), (first.max(axis=0), second.sum(axis=0))):
            uppers.append(math.log(np.einsum("i,j,ij->", one, other, third)))
    assert min(abs(found.upper - upper) for upper in uppers) < 1e-9


def test_weights_and_shifts_tighten_on_average():
    """Grids of random couplings: weighted with shifts beats weighted beats plain, in the mean gap of 4."""
    gaps = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        factors = grid(5, np.exp(0.3 * rng.normal(size=(5, 5, 2))), np.ones((2, 2)))
        factors = [Factor(f.scope, np.exp(rng.normal(size=(2, 2)))) if len(f.scope) == 2 else f for f in factors]
        plain = MiniBuckets(bound=3, is_weighted=False, max_steps=0).log_total(factors, NO_EVIDENCE)
        weighted = MiniBuckets(bound=3, max_steps=0).log_total(factors, NO_EVIDENCE)
        shifted = MiniBuckets(bound=3).log_total(factors, NO_EVIDENCE)
        assert shifted.upper <= weighted.upper + 1e-9
        assert shifted.lower >= weighted.lower - 1e-9
        gaps.append([one.upper - one.lower for one in (plain, weighted, shifted)])
    plain, weighted, shifted = np.mean(gaps, axis=0)
    assert shifted < 0.9 * weighted < 0.9 * plain


def test_larger_tables_give_tighter_bounds_down_to_none():
    """A 6 x 6 grid: the gap at bound 2, 4 and 7, which is exact."""
    rng = np.random.default_rng(1)
    factors = grid(6, np.exp(rng.normal(size=(6, 6, 2))), np.exp(0.7 * np.eye(2)))
    found = [MiniBuckets(bound=bound).log_total(factors, NO_EVIDENCE) for bound in (2, 4, 7)]
    gaps = [one.upper - one.lower for one in found]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-9
    assert all(one.lower - ORACLE <= float(found[2]) <= one.upper + ORACLE for one in found)


def test_huge_and_tiny_scales_stay_bracketed():
    """Tables around 1e±250, whose product no float holds."""
    rng = np.random.default_rng(2)
    factors = [factor * 10.0 ** float(rng.choice([-250, 250])) for factor in dense_factors(rng)]
    found = MiniBuckets(bound=2).log_total(factors, NO_EVIDENCE)
    expected = log_total(factors)
    assert abs(expected) > 400
    assert found.lower - 1e-9 <= expected <= found.upper + 1e-9
    assert found.upper - found.lower < 20


def test_the_bound_from_below_is_finite_where_the_anchor_is_possible():
    """Deterministic copies of one coin on a complete graph: zeros in all tables, two assignments left."""
    equal = [[1, 0], [0, 1]]
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, equal) for i, j in itertools.combinations(range(5), 2)]
    found = MiniBuckets(bound=2).log_total(factors, NO_EVIDENCE)
    assert -1e-9 <= found.lower <= math.log(2) + ORACLE
    assert found.upper >= math.log(2) - ORACLE


def test_an_entries_limit_splits_as_a_variables_limit_does():
    """Tables over two binary variables either way."""
    factors = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in itertools.combinations("ABCDE", 2)]
    by_variables, by_entries = (
        MiniBuckets(**options).log_total(factors, NO_EVIDENCE) for options in ({"bound": 2}, {"max_entries": 4})
    )
    assert by_variables.upper == by_entries.upper
    assert by_entries.info.largest_table == 4


def test_each_sweep_tightens_both_bounds():
    """The upper one never rises, the lower one never falls."""
    problem = Problem.of(dense_factors(np.random.default_rng(4)), NO_EVIDENCE)
    engine = MiniBuckets(bound=2, max_steps=6, tolerance=0.0)
    states = [engine.init(problem)]
    engine.run(problem, states[0], progress=states.append)
    assert len(states) == 7
    for state, later in itertools.pairwise(states):
        assert later.upper.total <= state.upper.total
        assert later.lower.total >= state.lower.total


# --- probabilities ---


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_lie_within_their_bounds(seed, zeros):
    """P of each variable and of a pair, by enumeration, and the error that `.info` states."""
    factors = dense_factors(np.random.default_rng(seed), zeros=zeros, num_variables=5)
    names, products = log_products(factors)
    total = log_sum(list(products.values()))
    problem = Problem.of(factors, NO_EVIDENCE)
    engine = MiniBuckets(bound=2)
    groups = [*((place,) for place in range(5)), (3, 1)]
    if total == -math.inf:
        return
    beliefs = engine.beliefs(problem, groups)
    order = [variable.name for variable in problem.variables]
    for group, table, bounds in zip(groups, beliefs.tables, engine.probability_bounds(problem, groups), strict=True):
        places = [names.index(order[place]) for place in group]
        exact = np.zeros(table.shape)
        for states, value in products.items():
            exact[tuple(states[place] for place in places)] += math.exp(value - total)
        assert (bounds.lower - ORACLE <= exact).all()
        assert (exact <= bounds.upper + ORACLE).all()
        assert np.abs(table - exact).max() <= beliefs.info.error + ORACLE
        assert table.sum() == pytest.approx(1)


def test_bounds_on_probabilities_of_which_nothing_is_known_from_below_are_no_quotients_of_zeros():
    """One state may be all there is: its bounds are 0 and 1, and those of a state that is impossible 0 and 0."""
    nothing = np.full(2, -np.inf)
    found = probability_bounds(nothing, np.array([0.0, -np.inf]))
    assert found.lower.tolist() == [0.0, 0.0]
    assert found.upper == pytest.approx([1.0, 0.0])
    assert (found.estimate.tolist(), found.error) == ([1.0, 0.0], 1.0)


def test_probabilities_are_exact_at_full_bound_with_evidence():
    """A state and a likelihood; an observed target; a joint in the order asked for."""
    factors = dense_factors(np.random.default_rng(5))
    variables = {variable.name: variable for factor in factors for variable in factor.scope}
    evidence = Evidence.read({"X0": 1, "X3": likelihood([1.0, 0.2, 0.4][: variables["X3"].num_states])}, variables)
    answer = MiniBuckets().query(factors, [variables["X2"], variables["X0"], variables["X1"]], evidence)
    names, products = log_products(factors)
    exact = np.zeros(answer.values.shape)
    for states, value in products.items():
        named = dict(zip(names, states, strict=True))
        if named["X0"] == 1:
            exact[named["X2"], 1, named["X1"]] += math.exp(value) * evidence.soft["X3"][named["X3"]]
    assert answer.info.exact
    assert answer.info.error == 0
    np.testing.assert_allclose(answer.values, exact / exact.sum(), atol=1e-10)


def test_a_joint_that_is_too_large_is_refused():
    """By name, with the limit."""
    factors = dense_factors(np.random.default_rng(0))
    with pytest.raises(NotSupported, match="max_entries=8"):
        MiniBuckets(max_entries=8).query(
            factors, [f.scope[0] for f in factors[:1]] + [v for f in factors[:4] for v in f.scope[1:]], NO_EVIDENCE
        )


# --- maxima ---


@pytest.mark.parametrize("engine", [MiniBucketMax(bound=1), MiniBucketMax(bound=2, max_steps=0)], ids=repr)
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_the_best_assignment_is_bracketed_and_certificates_are_right(zeros, engine):
    """100 models: value ≤ best ≤ value + error, and best where it says so."""
    for factors in models(zeros):
        expected = largest(factors)
        try:
            best = engine.best(factors, NO_EVIDENCE)
        except ImpossibleEvidence:
            assert expected == -math.inf
            continue
        error = math.inf if best.info.error is None else best.info.error
        assert best.log_probability <= expected + ORACLE
        assert best.log_probability == -math.inf or expected <= best.log_probability + error + ORACLE
        if best.info.exact:
            assert best.log_probability == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_a_bound_that_covers_the_width_decodes_a_best_assignment(zeros):
    """Dense models without copies."""
    for seed in range(10):
        factors = dense_factors(np.random.default_rng(seed), zeros=zeros)
        expected = largest(factors)
        if expected == -math.inf:
            with pytest.raises(ImpossibleEvidence):
                MiniBucketMax(bound=6).best(factors, NO_EVIDENCE)
            continue
        best = MiniBucketMax(bound=6).best(factors, NO_EVIDENCE)
        assert best.info.exact
        assert best.log_probability == pytest.approx(expected, abs=1e-9)


def test_shifts_lower_the_bound():
    """Ten dense models with tables of two variables: never a larger gap with shifts, and half of it on average."""
    gaps = np.array(
        [
            [MiniBucketMax(bound=2, max_steps=n).best(factors, NO_EVIDENCE).info.error for n in (0, 20)]
            for factors in (dense_factors(np.random.default_rng(seed)) for seed in range(10))
        ]
    )
    assert (gaps[:, 1] <= gaps[:, 0] + 1e-9).all()
    assert gaps[:, 1].mean() < gaps[:, 0].mean() / 2


# --- marginal maxima ---


@pytest.mark.parametrize("bound", [1, 2, 6])
@pytest.mark.parametrize("zeros", [0.0, 0.2])
def test_marginal_maxima_are_bracketed(zeros, bound):
    """max Σ Π φ over a random set of variables by enumeration; exact where no copies are needed."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factors = dense_factors(rng, zeros=zeros, num_variables=5)
        problem = Problem.of(factors, NO_EVIDENCE)
        names, products = log_products(factors)
        order = [variable.name for variable in problem.variables]
        places = rng.choice(5, size=rng.integers(0, 6), replace=False).tolist()
        given = {}
        for states, value in products.items():
            given.setdefault(tuple(states[names.index(order[p])] for p in places), []).append(value)
        sums = {states: log_sum(values) - problem.log_scale for states, values in given.items()}
        try:
            found = MiniBuckets(bound=bound).marginal_map(problem, places)
        except ImpossibleEvidence:
            assert max(sums.values()) == -math.inf
            continue
        value = sums[tuple(found.states.tolist())]
        assert found.lower - ORACLE <= value
        assert max(sums.values()) <= found.upper + ORACLE
        if bound == 6:
            assert found.info.exact
            assert value == pytest.approx(max(sums.values()), abs=1e-9)
            assert found.upper == pytest.approx(value, abs=1e-9)


def test_marginal_maxima_over_all_or_none_are_the_two_extremes():
    """The best assignment, and log Z."""
    factors = dense_factors(np.random.default_rng(6))
    problem = Problem.of(factors, NO_EVIDENCE)
    everything = MiniBuckets(bound=6).marginal_map(problem, range(6))
    nothing = MiniBuckets(bound=6).marginal_map(problem, ())
    assert everything.upper + problem.log_scale == pytest.approx(largest(factors))
    assert nothing.upper + problem.log_scale == pytest.approx(log_total(factors))
    assert nothing.states.size == 0


# --- edges ---


def test_nothing_one_state_separate_parts_and_impossibility():
    """The empty product, one-state variables, disconnected parts, factors that rule each other out."""
    engine, best = MiniBuckets(bound=1), MiniBucketMax(bound=1)
    assert engine.log_total([], NO_EVIDENCE) == pytest.approx(0.0, abs=1e-9)
    assert best.best([], NO_EVIDENCE).log_probability == 0
    assert engine.marginal_map(Problem.of([], NO_EVIDENCE), ()).upper == pytest.approx(0.0, abs=1e-9)
    only = Factor({"A": ["only"]}, [0.5])
    assert engine.log_total([only], NO_EVIDENCE) == pytest.approx(math.log(0.5))
    assert engine.query([only], only.scope, NO_EVIDENCE).values.tolist() == [1.0]
    assert best.best([only], NO_EVIDENCE) == {"A": "only"}
    apart = [Factor({"A": 2}, [1, 3]), Factor({"B": 3}, [2, 5, 1])]
    assert engine.log_total(apart, NO_EVIDENCE) == pytest.approx(math.log(32))
    assert best.best(apart, NO_EVIDENCE) == {"A": 1, "B": 1}
    clash = [Factor({"A": 2, "B": 2}, [[1, 0], [0, 1]]), Factor({"A": 2}, [1, 0]), Factor({"B": 2}, [0, 1])]
    exact = MiniBuckets(bound=2)
    assert exact.log_total(clash, NO_EVIDENCE) == -math.inf
    with pytest.raises(ImpossibleEvidence):
        exact.query(clash, clash[1].scope, NO_EVIDENCE)
    with pytest.raises(ImpossibleEvidence):
        exact.marginal_map(Problem.of(clash, NO_EVIDENCE), (0,))
    with pytest.raises(ImpossibleEvidence):
        MiniBucketMax(bound=2).best(clash, NO_EVIDENCE)


@pytest.mark.parametrize("kind", [MiniBuckets, MiniBucketMax])
@pytest.mark.parametrize(
    "options",
    [
        {"bound": 0},
        {"max_entries": 0},
        {"max_steps": -1},
        {"tolerance": math.nan},
        {"tolerance": "x"},
        {"bound": 2.5},
    ],
)
def test_options_out_of_range_are_refused(kind, options):
    """By name."""
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        kind(**options)


@pytest.mark.parametrize("flag", [1, "yes", None])
def test_whether_weights_are_shared_is_true_or_false(flag):
    """A number is no answer."""
    with pytest.raises(InvalidArgument, match="is_weighted="):
        MiniBuckets(is_weighted=flag)
