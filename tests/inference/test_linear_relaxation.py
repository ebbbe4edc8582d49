"""Linear and integer programs against the largest of all products."""

from __future__ import annotations

import math

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, assert_certified, grid, largest, random_factors
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.inference.optimization.relaxations import DualDecomposition, LinearRelaxation
from plausible.variables import Evidence


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("block", range(4))
def test_the_relaxation_bounds_the_best_and_its_certificates_are_right(block, zeros):
    """80 models with factors of up to three variables: value ≤ best ≤ value + error, and best where it says so."""
    for seed in range(10 * block, 10 * block + 10):
        assert_certified(LinearRelaxation(), random_factors(np.random.default_rng(seed), zeros=zeros))


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("block", range(3))
def test_the_integer_program_finds_the_best(block, zeros):
    """60 models, and it tells the impossible ones from the others."""
    for seed in range(10 * block, 10 * block + 10):
        factors = random_factors(np.random.default_rng(seed), zeros=zeros)
        expected = largest(factors)
        if expected == -math.inf:
            with pytest.raises(ImpossibleEvidence):
                LinearRelaxation(integer=True).best(factors, NO_EVIDENCE)
            continue
        best = LinearRelaxation(integer=True).best(factors, NO_EVIDENCE)
        assert best.log_probability == pytest.approx(expected, abs=1e-8)
        assert best.info.exact


@pytest.mark.parametrize("seed", range(7))
def test_no_dual_bound_is_below_the_relaxation(seed):
    """Linear programming duality: coordinate descent on the dual ends above the optimum, on frustrated grids."""
    rng = np.random.default_rng(seed)
    factors = grid(3, np.exp(rng.normal(size=(3, 3, 3))), np.exp(2 * rng.normal(size=(3, 3))))
    relaxed, dual = LinearRelaxation().best(factors, NO_EVIDENCE), DualDecomposition().best(factors, NO_EVIDENCE)
    upper = relaxed.log_probability + relaxed.info.error
    assert dual.log_probability + dual.info.error >= upper - 1e-7
    assert LinearRelaxation(integer=True).best(factors, NO_EVIDENCE).log_probability <= upper + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_the_relaxation_of_a_tree_is_tight(seed):
    """Its local polytope has no corners but assignments; zeros included."""
    rng = np.random.default_rng(seed)
    factors = [Factor({"X0": 3}, rng.random(3))]
    for i in range(1, 7):
        table = rng.random((3, 3)) * (rng.random((3, 3)) > 0.2)
        factors.append(Factor({f"X{int(rng.integers(0, i))}": 3, f"X{i}": 3}, table))
    expected = largest(factors)
    assert expected > -math.inf
    best = LinearRelaxation().best(factors, NO_EVIDENCE)
    assert best.info.exact
    assert best.log_probability == pytest.approx(expected, abs=1e-8)


def test_the_relaxation_of_an_odd_cycle_has_fractions():
    """μ = ½ has the value 0 and every assignment loses log 4: that is the error, until whole numbers are asked for."""
    odd = [Factor({a: 2, b: 2}, [[1, 4], [4, 1]]) for a, b in ("AB", "BC", "CA")]
    relaxed = LinearRelaxation().best(odd, NO_EVIDENCE)
    assert relaxed.info.error == pytest.approx(math.log(4))
    assert "integer=True" in relaxed.info.advice
    whole = LinearRelaxation(integer=True).best(odd, NO_EVIDENCE)
    assert whole.info.exact
    assert relaxed.info.converged
    assert whole.info.converged
    assert relaxed.info.num_steps > 0
    assert whole.log_probability == pytest.approx(2 * math.log(4))


def test_a_conflict_that_fractions_hide_is_found_by_branching():
    """Equal and unequal at once: the relaxation has a solution, whole numbers have none."""
    both = [Factor({"A": 2, "B": 2}, [[1, 0], [0, 1]]), Factor({"A": 2, "B": 2}, [[0, 1], [1, 0]])]
    assert LinearRelaxation().best(both, NO_EVIDENCE).log_probability == -math.inf
    with pytest.raises(ImpossibleEvidence):
        LinearRelaxation(integer=True).best(both, NO_EVIDENCE)


def test_a_limit_on_nodes_leaves_a_true_bound():
    """Random spins with couplings of both signs: one node is not enough, and the answer says so."""
    rng = np.random.default_rng(5)
    names = [f"X{i}" for i in range(14)]
    factors = [Factor({a: 2, b: 2}, np.exp(rng.normal() * np.eye(2))) for i, a in enumerate(names) for b in names[:i]]
    limited = LinearRelaxation(integer=True, max_nodes=1).best(factors, NO_EVIDENCE)
    best = LinearRelaxation(integer=True).best(factors, NO_EVIDENCE)
    assert best.info.exact
    assert limited.log_probability <= best.log_probability + 1e-9
    error = math.inf if limited.info.error is None else limited.info.error
    assert best.log_probability <= limited.log_probability + error + 1e-6
    assert limited.info.converged or "max_nodes" in limited.info.advice


@pytest.mark.parametrize("engine", [LinearRelaxation(), LinearRelaxation(integer=True)], ids=repr)
def test_nothing_to_choose(engine):
    """No factors, constants, one state each, and everything observed."""
    assert engine.best([], NO_EVIDENCE).log_probability == 0
    assert engine.best([Factor.scalar(3.0)], NO_EVIDENCE).log_probability == pytest.approx(math.log(3))
    assert engine.best([Factor({"A": ["only"]}, [0.5])], NO_EVIDENCE) == {"A": "only"}
    coin = Factor({"A": 2}, [0.2, 0.8])
    observed = engine.best([coin], Evidence.read({"A": 0}, {"A": coin.scope[0]}))
    assert dict(observed) == {"A": 0}
    assert observed.info.exact


@pytest.mark.parametrize("options", [{"max_nodes": 5}, {"integer": True, "max_nodes": 0}])
def test_a_limit_on_nodes_needs_branching(options):
    """By name."""
    with pytest.raises(InvalidArgument, match="max_nodes"):
        LinearRelaxation(**options)


@pytest.mark.parametrize("scale", [1e-7, 1e-8, 1e-3, 30.0])
def test_certificates_are_right_whatever_the_scale_of_the_energies(scale):
    """Frustrated models of five binary variables, all pairs: what is called exact is best, and every bound holds."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pairs = [(a, b) for b in range(5) for a in range(b)]
        factors = [Factor({f"X{a}": 2, f"X{b}": 2}, np.exp(scale * rng.normal(size=(2, 2)))) for a, b in pairs]
        expected = largest(factors)
        for engine in (LinearRelaxation(integer=True), LinearRelaxation()):
            best = engine.best(factors, NO_EVIDENCE)
            if best.info.exact:
                assert best.log_probability == pytest.approx(expected, abs=1e-9 + 1e-14 * scale)
            assert expected <= best.log_probability + best.info.error + 1e-12 * (1 + scale)
            assert best.info.exact or best.info.advice


@pytest.mark.parametrize("integer", [False, True])
def test_without_time_an_answer_comes_with_a_bound_that_holds(integer):
    """A frustrated grid and no time at all: an assignment, a bound, and the advice to wait."""
    rng = np.random.default_rng(2)
    factors = grid(12, np.exp(rng.normal(size=(12, 12, 3))), np.exp(2 * rng.normal(size=(3, 3))))
    hurried = LinearRelaxation(integer=integer, time_limit=0).best(factors, NO_EVIDENCE)
    patient = LinearRelaxation(time_limit=60).best(factors, NO_EVIDENCE)
    assert patient.info.converged
    assert not hurried.info.exact
    assert patient.log_probability <= hurried.log_probability + hurried.info.error + 1e-9


@pytest.mark.parametrize(
    "wrong", [{"integer": "yes"}, {"integer": True, "max_nodes": 2.5}, {"time_limit": "1"}, {"time_limit": -1}]
)
def test_options_out_of_range_are_refused(wrong):
    """By name."""
    with pytest.raises(InvalidArgument, match=f"{list(wrong)[-1]}=.*must be"):
        LinearRelaxation(**wrong)
