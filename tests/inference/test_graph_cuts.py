"""Graph cuts against trying every assignment."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, grid, largest, log_products
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.inference.exact_map.max_elimination import max_product
from plausible.inference.optimization.graph_cuts import GraphCut
from plausible.inference.optimization.pairwise_energy import minimum_cut
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable, likelihood
from seeds import few_of


def is_submodular(table):
    """Products of likes at least those of unlikes; with zeros, what is allowed is closed under minimum and maximum."""
    return table[0, 0] * table[1, 1] >= table[0, 1] * table[1, 0]


def random_submodular(rng, *, zeros):
    """Binary variables, a few with one state, each pair submodular by itself; pairs may come several times."""
    variables = [Variable(f"X{i}", 1 if rng.random() < 0.1 else 2) for i in range(rng.integers(1, 8))]
    factors = [Factor((v,), rng.random(v.num_states) * (rng.random(v.num_states) >= zeros / 2)) for v in variables]
    for _ in range(rng.integers(0, 10) if len(variables) > 1 else 0):
        i, j = rng.choice(len(variables), 2, replace=False)
        table = rng.random((2, 2)) * (rng.random((2, 2)) >= zeros)
        table = table if is_submodular(table) else table[::-1]
        scope = (variables[i], variables[j])
        factors.append(Factor(scope, table[: scope[0].num_states, : scope[1].num_states]))
    return factors


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", few_of(20, 100))
def test_a_minimum_cut_is_a_best_assignment(seed, zeros):
    """The value is the largest of all products and is proved; impossible models are told from possible ones."""
    factors = random_submodular(np.random.default_rng(seed), zeros=zeros)
    expected = largest(factors)
    if expected == -math.inf:
        with pytest.raises(ImpossibleEvidence):
            GraphCut().best(factors, NO_EVIDENCE)
        return
    best = GraphCut().best(factors, NO_EVIDENCE)
    assert best.log_probability == pytest.approx(expected, abs=1e-9)
    assert best.info.exact
    assert best.info.error < 1e-9
    names, products = log_products(factors)
    assert products[tuple(best[name] for name in names)] == pytest.approx(expected, abs=1e-9)


def test_a_cycle_of_four_by_hand():
    """Energies 7, 2, 1, 6 of single labels and 6, 6, 2, 1 of unlike neighbours: of all 16 cuts the least costs 6."""
    single = [[7, 0], [0, 2], [0, 1], [0, 6]]
    unlike = {(0, 1): 6, (1, 2): 6, (2, 3): 2, (0, 3): 1}
    costs = {
        x: sum(single[i][x[i]] for i in range(4)) + sum(w * (x[i] != x[j]) for (i, j), w in unlike.items())
        for x in itertools.product((0, 1), repeat=4)
    }
    factors = [Factor({f"X{i}": 2}, np.exp(-np.array(single[i], dtype=float))) for i in range(4)]
    factors += [Factor({f"X{i}": 2, f"X{j}": 2}, np.exp([[0.0, -w], [-w, 0.0]])) for (i, j), w in unlike.items()]
    best = GraphCut().best(factors, NO_EVIDENCE)
    assert -best.log_probability == pytest.approx(min(costs.values()))
    assert min(costs.values()) == 6
    assert tuple(best[f"X{i}"] for i in range(4)) == (1, 1, 1, 0)


@pytest.mark.parametrize("seed", range(5))
def test_a_grid_of_36_pixels_equals_max_product_elimination(seed):
    """Ising attraction of random strength; the state of one pixel is observed, another has a likelihood."""
    rng = np.random.default_rng(seed)
    factors = grid(6, np.exp(rng.normal(size=(6, 6, 2))), np.exp(rng.uniform(0.2, 1.5) * np.eye(2)))
    variables = {name: variable for f in factors for name, variable in zip(f.names, f.scope, strict=True)}
    evidence = Evidence.read({"X0_0": 1, "X3_3": likelihood([0.9, 0.2])}, variables)
    best = GraphCut().best(factors, evidence)
    indicators = [Factor({"X0_0": 2}, [0.0, 1.0]), Factor({"X3_3": 2}, [0.9, 0.2])]
    assert best.log_probability == pytest.approx(max_product([*factors, *indicators]).log_probability, abs=1e-9)
    assert best["X0_0"] == 1
    assert best.info.exact


def test_factors_of_one_pair_count_together():
    """One that repels is outweighed by one that attracts, in either order of the scope."""
    pair = [Factor({"A": 2, "B": 2}, [[1, 2], [3, 1]]), Factor({"B": 2, "A": 2}, [[4, 1], [1, 5]])]
    best = GraphCut().best(pair, NO_EVIDENCE)
    assert best.log_probability == pytest.approx(largest(pair))
    with pytest.raises(NotSupported, match=r"\(A, B\) is not submodular"):
        GraphCut().best(pair[:1], NO_EVIDENCE)


def test_equal_and_implied_variables():
    """Hard equality and hard implication, with preferences against them, are kept."""
    factors = [
        Factor({"A": 2, "B": 2}, [[1, 0], [0, 1]]),
        Factor({"B": 2, "C": 2}, [[1, 1], [0, 1]]),
        Factor({"A": 2}, [1, 50]),
        Factor({"C": 2}, [20, 1]),
    ]
    assert dict(GraphCut().best(factors, NO_EVIDENCE)) == {"A": 1, "B": 1, "C": 1}
    assert dict(GraphCut().best([*factors, Factor({"C": 2}, [1, 0])], NO_EVIDENCE)) == {"A": 0, "B": 0, "C": 0}
    with pytest.raises(ImpossibleEvidence):
        GraphCut().best([*factors, Factor({"C": 2}, [1, 0]), Factor({"A": 2}, [0, 1])], NO_EVIDENCE)


def test_exclusive_or_is_refused():
    """Variables that must differ: what is allowed is not closed under minimum and maximum."""
    with pytest.raises(NotSupported, match="not submodular"):
        GraphCut().best([Factor({"A": 2, "B": 2}, [[0, 1], [1, 0]])], NO_EVIDENCE)


def test_triples_and_three_states_are_refused_by_name():
    """The message names the factor or the variable, and what to use instead."""
    with pytest.raises(NotSupported, match=r"\(A, B, C\).*DualDecomposition"):
        GraphCut().best([Factor({"A": 2, "B": 2, "C": 2}, np.ones((2, 2, 2)))], NO_EVIDENCE)
    with pytest.raises(NotSupported, match=r"'A' has 3 states.*AlphaExpansion"):
        GraphCut().best([Factor({"A": 3}, np.ones(3))], NO_EVIDENCE)
    with pytest.raises(NotSupported, match=r"'A' has 2 states and 'B' has 3"):
        GraphCut().best([Factor({"A": 2, "B": 3}, np.ones((2, 3)))], NO_EVIDENCE)


def test_a_triple_with_a_variable_of_one_state_is_a_pair():
    """What has no choice does not count."""
    triple = Factor({"A": 2, "only": 1, "B": 2}, np.array([[[2.0, 1.0]], [[1.0, 3.0]]]))
    assert dict(GraphCut().best([triple], NO_EVIDENCE)) == {"A": 1, "only": 0, "B": 1}


def test_nothing_to_choose():
    """No factors, constants, one state each, and everything observed."""
    assert GraphCut().best([], NO_EVIDENCE).log_probability == 0
    assert GraphCut().best([Factor.scalar(3.0)], NO_EVIDENCE).log_probability == pytest.approx(math.log(3))
    only = GraphCut().best([Factor({"A": ["only"]}, [0.5])], NO_EVIDENCE)
    assert only == {"A": "only"}
    assert only.info.exact
    coin = Factor({"A": 2}, [0.2, 0.8])
    assert dict(GraphCut().best([coin], Evidence.read({"A": 0}, {"A": coin.scope[0]}))) == {"A": 0}


def test_ties_go_to_the_first_state():
    """All assignments are equally good."""
    factors = grid(3, np.ones((3, 3, 2)), np.ones((2, 2)))
    assert set(GraphCut().best(factors, NO_EVIDENCE).values()) == {0}


def test_energies_of_very_different_sizes_are_told_apart():
    """A preference of 10⁻⁸ beside attractions of 10²: whole numbers of 32 bits alone would lose it."""
    strong = np.exp(100 * np.eye(2))
    for sign in (1, -1):
        factors = [Factor({f"X{i}": 2, f"X{i + 1}": 2}, strong) for i in range(5)]
        factors += [Factor({"X0": 2}, np.exp([30.0, -30.0])), Factor({"X5": 2}, np.exp([-30.0, 30.0 + sign * 1e-8]))]
        best = GraphCut().best(factors, NO_EVIDENCE)
        assert best.info.exact
        assert set(best.values()) == {1 if sign > 0 else 0}


@pytest.mark.parametrize(
    ("lowest", "highest"),
    [(-5, 5), (-13, -11), (-40, -35), (-323, -290), (20, 25), (290, 307), (-14, 0), (-12, 12)],
    ids=["usual", "tiny", "very tiny", "subnormal", "large", "huge", "tiny beside usual", "tiny beside large"],
)
@pytest.mark.parametrize("seed", few_of(8, 40))
def test_a_cut_costs_the_least_of_all_splits(seed, lowest, highest):
    """Every split of up to six nodes in exact fractions, capacities over many powers of ten, some of them zero.

    The gap bounds what the cut costs too much, up to what the addition of 53-bit numbers rounds off.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    arcs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)

    def capacities(size):
        return 10 ** rng.uniform(lowest, highest, size) * (rng.random(size) < 0.7)

    source, sink, forward, backward = capacities(n), capacities(n), capacities(len(arcs)), capacities(len(arcs))

    def cost(side):
        crossed = [*source[side], *sink[~side]]
        for (tail, head), there, back in zip(arcs, forward, backward, strict=True):
            crossed += [there] * bool(side[head] > side[tail]) + [back] * bool(side[tail] > side[head])
        return sum(map(Fraction, crossed), Fraction(0))

    least = min(cost(np.array(side)) for side in itertools.product((False, True), repeat=n))
    cut = minimum_cut(source, sink, arcs, forward, backward)
    whole = min(Fraction(0) + sum(map(Fraction, source)), sum(map(Fraction, sink)))
    excess = cost(cut.is_sink_side) - least
    assert cut.gap <= 1e-11 * min(1.0, whole) + 1e-15 * whole
    assert excess <= Fraction(cut.gap) + whole / 2**50


def test_weak_preferences_decide_where_there_is_nothing_else():
    """A preference of 10⁻¹² on one node is a minimum cut of its own, with no gap."""
    nothing, none = np.zeros(0), np.zeros((0, 2), dtype=np.int64)
    for source, sink, expected in ((1e-12, 3e-12, True), (3e-12, 1e-12, False)):
        cut = minimum_cut(np.array([source]), np.array([sink]), none, nothing, nothing)
        assert cut.is_sink_side.tolist() == [expected]
        assert cut.gap == 0.0


def test_a_whole_image_is_proved():
    """25 x 25 noisy pixels: the cut is certified, and no change of a single pixel helps."""
    rng = np.random.default_rng(7)
    preferences = np.exp(np.stack([np.zeros((25, 25)), rng.normal(size=(25, 25))], axis=-1))
    factors = grid(25, preferences, np.exp(0.7 * np.eye(2)))
    problem = Problem.of(factors, NO_EVIDENCE)
    found = GraphCut().optimize(problem)
    value = problem.log_product(found.states[None, :])[0]
    assert found.upper - value == pytest.approx(0.0, abs=1e-9)
    changed = np.tile(found.states, (625, 1))
    changed[np.arange(625), np.arange(625)] ^= 1
    assert problem.log_product(changed).max() <= value + 1e-9
    assert 0 < found.states.mean() < 1
