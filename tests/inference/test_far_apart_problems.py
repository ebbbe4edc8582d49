"""Numbers that floats have no room for, proofs of zero, and what two estimates make: against logarithms by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.base.query_info import QueryInfo
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel
from plausible.factors import Factor
from plausible.inference.estimates import Estimate, difference
from plausible.inference.optimization.relaxations import DualDecomposition
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP, MaxProduct, TreeReweightedBP
from plausible.inference.variational.mean_field import MeanField
from plausible.models.markov_network import MarkovNetwork
from plausible.variables import Evidence, Variable

NONE = Evidence.read({}, {})
SCHEDULES = ("sequential", "synchronous", "residual")
A, B, C = (Variable(name, 2) for name in "ABC")
#: Dividing by the first peak makes zero of 1e-300, the only state that the second factor allows.
FAR_APART = [Factor((A,), [1e300, 1e-300]), Factor((A, B), [[0.0, 0.0], [1.0, 3.0]])]


def random_tree(rng, exponent):
    """Factors of a tree with entries from 10^-exponent to 10^exponent, and the logarithms of their product."""
    sizes = rng.integers(1, 4, int(rng.integers(2, 6))).tolist()
    variables = [Variable(f"X{place}", size) for place, size in enumerate(sizes)]
    scopes = [(int(rng.integers(place)), place) for place in range(1, len(sizes))] + [(v,) for v in range(len(sizes))]
    factors, logs = [], np.zeros(sizes)
    for scope in scopes:
        table = 10.0 ** rng.uniform(-exponent, exponent, [sizes[v] for v in scope])
        factors.append(Factor([variables[v] for v in scope], table))
        logs = logs + np.log(table).reshape([sizes[v] if v in scope else 1 for v in range(len(sizes))])
    return factors, variables, logs


def test_problem_keeps_every_digit_of_logarithms_and_no_positive_number_becomes_zero():
    problem = Problem.of([Factor((A,), [1e300, 3e-300]), Factor((B,), [5.0, 0.0])], NONE)
    np.testing.assert_allclose(problem.logs, [0.0, math.log(3) - 600 * math.log(10), 0.0, -math.inf], rtol=1e-15)
    assert ((problem.tables > 0) == [True, True, True, False]).all()
    assert problem.has_lost_digits
    assert not Problem.of([Factor((A,), [1.0, 1e-300])], NONE).has_lost_digits


@pytest.mark.parametrize(
    "engine", [LoopyBP(), TreeReweightedBP(), MeanField(), MeanField(blocks=[["A", "B"]])], ids=repr
)
def test_a_potential_that_underflows_is_not_a_zero(engine):
    """log Z = log(1e-300 (1 + 3)), and P(B) = (1/4, 3/4)."""
    truth = math.log(4) - 300 * math.log(10)
    found = engine.log_total(FAR_APART, NONE)
    assert found == pytest.approx(truth, rel=1e-14)
    assert found.lower <= truth <= found.upper
    np.testing.assert_allclose(engine.query(FAR_APART, [B], NONE).values, [0.25, 0.75], atol=1e-9)


@pytest.mark.parametrize("engine", [MaxProduct(), DualDecomposition()], ids=repr)
def test_a_best_assignment_may_need_a_potential_that_underflows(engine):
    best = engine.best(FAR_APART, NONE)
    assert dict(best) == {"A": 1, "B": 1}
    assert best.log_probability == pytest.approx(math.log(3) - 300 * math.log(10), rel=1e-14)


@pytest.mark.parametrize("exponent", [2, 100, 300])
def test_bounds_hold_to_the_last_digit_on_trees_with_entries_far_apart(exponent):
    """Beliefs that claim to be exact are, for every schedule and damping, and log Z lies within all bounds."""
    rng = np.random.default_rng(exponent)
    for _ in range(8):
        factors, variables, logs = random_tree(rng, exponent)
        truth = float(np.logaddexp.reduce(logs.ravel()))
        beliefs = np.exp(logs - truth)
        for schedule in SCHEDULES:
            for damping in (0.0, 0.3):
                engine = LoopyBP(schedule=schedule, damping=damping)
                found = engine.marginals(factors, variables, NONE)
                for place, variable in enumerate(variables):
                    expected = beliefs.sum(axis=tuple(axis for axis in range(logs.ndim) if axis != place))
                    assert found[variable.name].info.exact
                    np.testing.assert_allclose(found[variable.name].values, expected, atol=1e-9)
                total = engine.log_total(factors, NONE)
                assert total.lower <= truth <= total.upper <= total.lower + 1e-8
        assert MeanField().log_total(factors, NONE).lower <= truth


@pytest.mark.parametrize("engine", [LoopyBP, TreeReweightedBP])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_bound_is_nan_where_a_run_stops_before_it_sees_a_contradiction(engine, schedule):
    v = [Variable(str(number), 2) for number in range(4)]
    tables = {(0, 1): [[1, 0], [0, 0]], (1, 2): [[0, 1], [1, 1]], (2, 0): [[1, 0], [0, 0]], (2, 3): [[0, 1], [1, 0]]}
    factors = [Factor((v[a], v[b]), table) for (a, b), table in tables.items()]
    for rounds in (1, 2, 9):
        found = engine(schedule=schedule, max_steps=rounds).log_total(factors, NONE)
        assert not math.isnan(found)
        assert not math.isnan(found.upper)
    assert found == found.upper == -math.inf
    with pytest.raises(ImpossibleEvidence):
        MaxProduct(schedule=schedule, max_steps=5).best(factors, NONE)


def test_a_difference_is_as_good_as_its_worse_part():
    """A ring without evidence has cycles; with one variable observed it is a chain."""
    ring = MarkovNetwork(*(Factor(pair, [[9.0, 1.0], [1.0, 9.0]]) for pair in ((A, B), (B, C), (C, A))))
    found = ring.log_probability({"A": 0}, engine=LoopyBP())
    assert not found.info.exact
    assert found.info.error is None
    exact, rough = QueryInfo("one"), QueryInfo("two", exact=False, converged=False, error=0.5, advice="More.")
    both = difference(Estimate(1.0, exact, upper=2.0), Estimate(3.0, rough, lower=2.5)).info
    assert (both.exact, both.converged, both.error, both.advice) == (False, False, 0.5, "More.")
    mixed = difference(1.0, Estimate(3.0, rough, lower=2.5, upper=3.5, is_bound=True))
    assert (float(mixed), mixed.lower, mixed.upper) == (-2.0, -2.5, -1.5)


def test_impossible_evidence_has_an_estimate_with_a_record():
    chain = MarkovNetwork(Factor((A, B), [[1.0, 0.0], [1.0, 0.0]]), Factor((B, C), [[1.0, 1.0], [1.0, 1.0]]))
    found = chain.log_probability({"B": 1}, engine=LoopyBP())
    assert found == found.upper == -math.inf
    assert found.info.exact


@pytest.mark.parametrize("engine", [None, LoopyBP(), MeanField()], ids=repr)
def test_a_network_without_a_possible_assignment_has_no_partition_function(engine):
    with pytest.raises(InvalidModel, match="partition function is zero"):
        MarkovNetwork(Factor((A,), [0.0, 0.0])).log_partition(engine=engine)


@pytest.mark.parametrize(
    ("engine", "name", "value"),
    [
        *((LoopyBP, "damping", value) for value in ("x", 1.0, math.nan, True)),
        *((LoopyBP, "tolerance", value) for value in ("a", -1.0, math.nan)),
        *((LoopyBP, "max_steps", value) for value in ("3", 2.5, True, 0)),
        *((TreeReweightedBP, "seed", value) for value in (-1, 1.5)),
        *((MeanField, name, value) for name, value in (("seed", -1), ("restarts", 1.5), ("blocks", 5))),
        *((MaxProduct, name, value) for name, value in (("max_steps", 1.5), ("num_trees", 1.5), ("seed", "x"))),
        *((DualDecomposition, name, value) for name, value in (("max_steps", 1.5), ("tolerance", "x"))),
    ],
)
def test_options_are_checked_by_name_when_an_engine_is_made(engine, name, value):
    with pytest.raises(InvalidArgument, match=name):
        engine(**{name: value})


def test_dual_decomposition_goes_as_far_for_small_energies_as_for_large_ones():
    """Scaling all logarithms scales the bound: sweeps must not stop because a unit is small."""
    rng = np.random.default_rng(3)
    variables = {(i, j): Variable(f"{i},{j}", 2) for i in range(6) for j in range(6)}
    ties = [((i, j), (i + di, j + dj)) for i, j in variables for di, dj in ((0, 1), (1, 0))]
    energies = {tie: rng.normal(size=(2, 2)) for tie in ties if tie[1] in variables}
    gaps = []
    for unit in (0.1, 1e-6):
        factors = [Factor([variables[end] for end in tie], np.exp(unit * table)) for tie, table in energies.items()]
        problem = Problem.of(factors, NONE)
        state = DualDecomposition().run(problem).state
        gaps.append((state.upper - state.value) / unit)
    assert gaps[1] <= gaps[0] + 1e-3
