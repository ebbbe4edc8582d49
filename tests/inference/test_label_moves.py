"""Moves of many labels at once: never worse, locally best, within the guarantee."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, grid, largest, log_products, random_labels
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.optimization.graph_cuts import AlphaBetaSwap, AlphaExpansion, GraphCut
from plausible.inference.problem import Problem
from plausible.variables import Evidence
from seeds import few_of


def steps(num_labels):
    return np.abs(np.subtract.outer(np.arange(num_labels), np.arange(num_labels))).astype(float)


def potts(num_labels):
    return 1 - np.eye(num_labels)


def truncated_linear(num_labels):
    return np.minimum(steps(num_labels), 2)


def truncated_square(num_labels):
    return np.minimum(steps(num_labels) ** 2, 5)


METRICS = [potts, truncated_linear, steps]
MOVES = [AlphaExpansion(), AlphaBetaSwap()]


def expansions(states, num_labels):
    """All labellings where any variables have switched to one label."""
    for label in range(num_labels):
        yield from itertools.product(*((state, label) for state in states))


def swaps(states, num_labels):
    """All labellings where the variables at two labels have traded them in any way."""
    for pair in itertools.combinations(range(num_labels), 2):
        yield from itertools.product(*(pair if state in pair else (state,) for state in states))


@pytest.mark.parametrize("distance", METRICS)
@pytest.mark.parametrize("seed", few_of(6, 25))
def test_no_expansion_improves_the_result_and_it_is_within_the_guarantee(seed, distance):
    """Against all expansions and all labellings; E ≤ 2c E*, and the bound of the answer holds."""
    rng = np.random.default_rng(seed)
    num_labels = int(rng.integers(2, 5))
    table = distance(num_labels)
    factors = random_labels(rng, table, num_labels=num_labels)
    names, products = log_products(factors)
    best = AlphaExpansion().best(factors, NO_EVIDENCE)
    states = tuple(best[name] for name in names)
    reachable = [products[moved] for moved in expansions(states, num_labels) if moved in products]
    assert best.log_probability == pytest.approx(products[states])
    assert max(reachable) <= products[states] + 1e-9
    peaks = sum(math.log(float(factor.max())) for factor in factors)
    ratio = table[table > 0].max() / table[table > 0].min()
    energy, least = peaks - products[states], peaks - max(products.values())
    assert energy <= 2 * ratio * least + 1e-9
    assert max(products.values()) <= best.log_probability + best.info.error + 1e-9
    assert best.info.converged


@pytest.mark.parametrize("distance", [*METRICS, truncated_square])
@pytest.mark.parametrize("seed", few_of(6, 25))
def test_no_swap_improves_the_result(seed, distance):
    """Against all swaps; the triangle inequality is not needed, and the bound of the answer holds."""
    rng = np.random.default_rng(seed)
    num_labels = int(rng.integers(2, 5))
    factors = random_labels(rng, distance(num_labels), num_labels=num_labels)
    names, products = log_products(factors)
    best = AlphaBetaSwap().best(factors, NO_EVIDENCE)
    states = tuple(best[name] for name in names)
    reachable = [products[moved] for moved in swaps(states, num_labels) if moved in products]
    assert max(reachable, default=products[states]) <= products[states] + 1e-9
    assert max(products.values()) <= best.log_probability + best.info.error + 1e-9
    if best.info.exact:
        assert best.log_probability == pytest.approx(max(products.values()), abs=1e-8)


@pytest.mark.parametrize("moves", MOVES, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_each_sweep_lowers_the_energy(seed, moves):
    """On a 7 x 7 grid of four labels."""
    rng = np.random.default_rng(seed)
    factors = grid(7, np.exp(2 * rng.normal(size=(7, 7, 4))), np.exp(-1.0 * truncated_linear(4)))
    problem = Problem.of(factors, NO_EVIDENCE)
    seen = []
    start = moves.init(problem)
    whole = moves.run(problem, progress=seen.append).state
    energies = [start.energy, *(state.energy for state in seen)]
    assert all(after <= before for before, after in itertools.pairwise(energies))
    assert energies[-1] < energies[0]
    assert -problem.log_product(whole.states[None, :])[0] == pytest.approx(whole.energy)
    assert whole.converged


@pytest.mark.parametrize("seed", range(10))
def test_a_swap_of_two_labels_is_a_graph_cut(seed):
    """And is proved to be best."""
    rng = np.random.default_rng(seed)
    factors = grid(6, np.exp(rng.normal(size=(6, 6, 2))), np.exp(np.eye(2)))
    swapped, cut = AlphaBetaSwap().best(factors, NO_EVIDENCE), GraphCut().best(factors, NO_EVIDENCE)
    assert swapped.log_probability == pytest.approx(cut.log_probability, abs=1e-9)
    assert swapped.info.exact


def test_no_triangle_inequality_no_expansion():
    """Squares are refused by expansion, with the factor's name and a remedy; swaps take them."""
    factors = [Factor({"A": 4}, np.ones(4)), Factor({"A": 4, "B": 4}, np.exp(-(steps(4) ** 2)))]
    with pytest.raises(NotSupported, match=r"\(A, B\) is no metric.*AlphaBetaSwap"):
        AlphaExpansion().best(factors, NO_EVIDENCE)
    assert AlphaBetaSwap().best(factors, NO_EVIDENCE).log_probability == pytest.approx(0.0)


def test_labels_that_like_to_differ_are_refused():
    """No semi-metric: the energy of equal labels is larger than that of different ones."""
    factors = [Factor({"A": 3, "B": 3}, np.exp(potts(3)))]
    with pytest.raises(NotSupported, match=r"\(A, B\) is no semi-metric.*DualDecomposition"):
        AlphaBetaSwap().best(factors, NO_EVIDENCE)
    with pytest.raises(NotSupported, match=r"\(A, B\) is no metric"):
        AlphaExpansion().best(factors, NO_EVIDENCE)


@pytest.mark.parametrize("moves", MOVES, ids=repr)
def test_two_counts_of_states_and_triples_are_refused(moves):
    """By the names of the variables and of the factor."""
    with pytest.raises(NotSupported, match="'A' has 2 states and 'B' has 3"):
        moves.best([Factor({"A": 2, "B": 3}, np.ones((2, 3)))], NO_EVIDENCE)
    with pytest.raises(NotSupported, match=r"\(A, B, C\)"):
        moves.best([Factor({"A": 2, "B": 2, "C": 2}, np.ones((2, 2, 2)))], NO_EVIDENCE)


@pytest.mark.parametrize("moves", MOVES, ids=repr)
def test_labels_that_are_ruled_out_are_not_taken(moves):
    """Zeros in the preferences of single variables, and equality as a hard metric."""
    equal = [Factor({"A": 3, "B": 3}, np.eye(3)), Factor({"B": 3, "C": 3}, np.eye(3))]
    factors = [*equal, Factor({"A": 3}, [5, 0, 1]), Factor({"C": 3}, [1, 9, 3])]
    found = AlphaExpansion().best(factors, NO_EVIDENCE)
    assert found.log_probability == pytest.approx(largest(factors))
    soft = [Factor({"A": 3, "B": 3}, np.exp(-2 * potts(3))), Factor({"A": 3}, [0, 0, 1]), Factor({"B": 3}, [4, 5, 0])]
    best = moves.best(soft, NO_EVIDENCE)
    assert best["A"] == 2
    assert best["B"] == 1
    with pytest.raises(ImpossibleEvidence):
        moves.best([*soft, Factor({"A": 3}, [1, 1, 0])], NO_EVIDENCE)


def test_a_search_that_finds_nothing_possible_says_so():
    """No swap leads from two labels that must be equal and are not to equal ones of a third kind."""
    factors = [Factor({"A": 3, "B": 3}, np.eye(3)), Factor({"A": 3}, [2, 0, 1]), Factor({"B": 3}, [0, 2, 1])]
    found = AlphaBetaSwap().best(factors, NO_EVIDENCE)
    assert found.log_probability == -math.inf
    assert not found.info.exact
    assert found.info.error is None
    assert not found.info.converged
    assert "BranchAndBound()" in found.info.advice
    assert set(AlphaExpansion().best(factors, NO_EVIDENCE).values()) == {2}


@pytest.mark.parametrize("moves", MOVES, ids=repr)
def test_nothing_to_choose(moves):
    """No factors, one state each, everything observed; ties stay at the first state."""
    assert moves.best([], NO_EVIDENCE).log_probability == 0
    assert moves.best([Factor({"A": ["only"]}, [0.5])], NO_EVIDENCE) == {"A": "only"}
    die = Factor({"A": 3}, [0.2, 0.3, 0.5])
    assert dict(moves.best([die], Evidence.read({"A": 0}, {"A": die.scope[0]}))) == {"A": 0}
    assert moves.best([die], NO_EVIDENCE).info.exact
    flat = grid(2, np.ones((2, 2, 3)), np.ones((3, 3)))
    assert set(moves.best(flat, NO_EVIDENCE).values()) == {0}


def test_too_few_sweeps_are_reported():
    """One sweep that helped has not shown that no other does; none at all are refused."""
    rng = np.random.default_rng(0)
    factors = grid(6, np.exp(rng.normal(size=(6, 6, 4))), np.exp(-potts(4)))
    info = AlphaExpansion(max_steps=1).best(factors, NO_EVIDENCE).info
    assert not info.converged
    assert info.num_steps == 1
    assert "max_steps" in info.advice
    with pytest.raises(InvalidArgument, match="max_steps"):
        AlphaExpansion(max_steps=0)


@pytest.mark.parametrize("moves", [AlphaExpansion(), AlphaBetaSwap()], ids=repr)
def test_factors_of_one_pair_are_judged_by_their_product(moves):
    """One of them alone would be refused."""
    factors = [Factor({"X": 2, "Y": 2}, [[1, 2], [2, 1]]), Factor({"X": 2, "Y": 2}, [[9, 1], [1, 9]])]
    best = moves.best(factors, NO_EVIDENCE)
    assert best["X"] == best["Y"]
    assert best.log_probability == pytest.approx(math.log(9))
