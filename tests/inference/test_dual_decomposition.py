"""Dual bounds against the largest of all products."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, assert_certified, grid, largest, random_factors
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.inference.optimization.graph_cuts import GraphCut
from plausible.inference.optimization.relaxations import DualDecomposition, MaxSum
from plausible.inference.problem import Problem
from plausible.variables import Evidence, likelihood
from seeds import few_of


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("block", range(5))
def test_the_bound_is_never_below_the_best_and_certificates_are_right(block, zeros):
    """200 models with factors of up to three variables: value ≤ best ≤ value + error, and best where it says so."""
    for seed in range(20 * block, 20 * block + 20):
        assert_certified(DualDecomposition(max_steps=200), random_factors(np.random.default_rng(seed), zeros=zeros))


def test_most_small_models_are_proved():
    """The gap is closed in at least 80 of 100 models without zeros."""
    proved = sum(
        DualDecomposition().best(random_factors(np.random.default_rng(seed)), NO_EVIDENCE).info.exact
        for seed in range(100)
    )
    assert proved >= 80


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_the_bound_only_goes_down_and_the_value_only_up(seed):
    """Over the sweeps of a frustrated grid of three labels."""
    rng = np.random.default_rng(seed)
    problem = Problem.of(grid(4, np.exp(rng.normal(size=(4, 4, 3))), np.exp(rng.normal(size=(3, 3)))), NO_EVIDENCE)
    engine = DualDecomposition(max_steps=30)
    states = [engine.init(problem)]
    engine.run(problem, progress=states.append)
    for before, after in itertools.pairwise(states):
        assert after.upper <= before.upper
        assert after.value >= before.value
        assert after.upper >= after.value - 1e-9
        assert after.value == pytest.approx(problem.log_product(after.states[None, :])[0])


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_the_bound_holds_for_any_messages(seed):
    """The dual function at random messages, against all assignments: weak duality."""
    rng = np.random.default_rng(seed)
    factors = random_factors(rng)
    problem = Problem.of(factors, NO_EVIDENCE)
    layout = MaxSum.of(problem)
    best = largest(factors) - problem.log_scale
    for _ in range(10):
        messages = rng.normal(size=int(layout.arrays.message_starts[-1]))
        assert layout.bound(messages, layout.digits) >= best - 1e-9


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_trees_are_solved_with_proof(seed):
    """A random tree of three-state variables: the relaxation is tight."""
    rng = np.random.default_rng(seed)
    factors = [Factor({"X0": 3}, np.exp(rng.normal(size=3)))]
    factors += [
        Factor({f"X{int(rng.integers(0, i))}": 3, f"X{i}": 3}, np.exp(rng.normal(size=(3, 3)))) for i in range(1, 7)
    ]
    best = DualDecomposition().best(factors, NO_EVIDENCE)
    assert best.info.exact
    assert best.log_probability == pytest.approx(largest(factors), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_submodular_grids_agree_with_graph_cuts(seed):
    """The two share no step; the dual bound is not below the cut."""
    rng = np.random.default_rng(seed)
    factors = grid(8, np.exp(rng.normal(size=(8, 8, 2))), np.exp(np.eye(2)))
    cut, dual = GraphCut().best(factors, NO_EVIDENCE), DualDecomposition().best(factors, NO_EVIDENCE)
    assert dual.log_probability <= cut.log_probability + 1e-9 <= dual.log_probability + dual.info.error + 2e-9
    assert dual.info.exact
    assert dual.log_probability == pytest.approx(cut.log_probability, abs=1e-8)


def test_a_gap_that_stays_is_reported():
    """Three variables that want to differ pairwise: no bound of this kind is below 0, the best has lost log 4."""
    odd = [Factor({a: 2, b: 2}, [[1, 4], [4, 1]]) for a, b in ("AB", "BC", "CA")]
    best = DualDecomposition().best(odd, NO_EVIDENCE)
    assert not best.info.exact
    assert best.info.error == pytest.approx(math.log(4))
    assert "LinearRelaxation(integer=True)" in best.info.advice


def test_evidence_counts():
    """A state and a likelihood, against the product with their factors."""
    rng = np.random.default_rng(0)
    factors = [Factor({f"X{i}": 3, f"X{j}": 3}, rng.random((3, 3))) for i, j in itertools.combinations(range(4), 2)]
    variables = {name: v for f in factors for name, v in zip(f.names, f.scope, strict=True)}
    evidence = Evidence.read({"X0": 2, "X3": likelihood([0.1, 0.9, 0.4])}, variables)
    best = DualDecomposition().best(factors, evidence)
    findings = [Factor({"X0": 3}, [0.0, 0.0, 1.0]), Factor({"X3": 3}, [0.1, 0.9, 0.4])]
    expected = largest([*factors, *findings])
    assert best["X0"] == 2
    assert best.log_probability <= expected + 1e-9 <= best.log_probability + best.info.error + 2e-9


def test_nothing_to_choose_ties_and_impossibility():
    """The empty product, one state, ties at the first state, and factors that rule each other out."""
    engine = DualDecomposition()
    assert engine.best([], NO_EVIDENCE).log_probability == 0
    assert engine.best([Factor({"A": ["only"]}, [0.5])], NO_EVIDENCE) == {"A": "only"}
    assert set(engine.best(grid(2, np.ones((2, 2, 3)), np.ones((3, 3))), NO_EVIDENCE).values()) == {0}
    equal, unequal = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    chain = [Factor({"A": 2, "B": 2}, equal), Factor({"A": 2}, [1, 0]), Factor({"B": 2}, [0, 1])]
    with pytest.raises(ImpossibleEvidence):
        engine.best(chain, NO_EVIDENCE)
    both = [Factor({"A": 2, "B": 2}, equal), Factor({"A": 2, "B": 2}, unequal)]
    found = engine.best(both, NO_EVIDENCE)  # μ = ½ on all states meets both: no bound of this kind sees the conflict
    assert found.log_probability == -math.inf
    assert not found.info.exact


@pytest.mark.parametrize("options", [{"max_steps": 0}, {"tolerance": -1.0}, {"tolerance": math.nan}])
def test_options_out_of_range_are_refused(options):
    """By name."""
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        DualDecomposition(**options)
