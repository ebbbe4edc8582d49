"""What all engines for best assignments share: honest words on what they found, limits of time, checked options."""

from __future__ import annotations

import math
import sys
from itertools import pairwise

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, grid, largest, log_products
from plausible.base.options import check_count, check_flag, check_number, check_seconds
from plausible.base.query_info import QueryInfo
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.engine_bases import Optimizer, Optimum
from plausible.inference.exact_map.bounds import plan_bound
from plausible.inference.optimization.graph_cuts import AlphaBetaSwap, AlphaExpansion
from plausible.inference.optimization.map_branch_and_bound import BranchAndBound
from plausible.inference.optimization.map_local_search import LocalSearch
from plausible.inference.optimization.pairwise_energy import PairwiseEnergy
from plausible.inference.optimization.relaxations import LinearRelaxation
from plausible.inference.problem import Problem
from plausible.search.branch_and_bound import branch_and_bound
from plausible.search.local_search import BeamSearch, FirstAscent, GreedyAscent, TabuSearch
from plausible.search.metaheuristics import ExponentialCooling, PerturbationRestarts, SimulatedAnnealing
from plausible.variables import Evidence
from refusals import refuses


class Told(Optimizer):
    """An engine that answers what it was told."""

    def __init__(self, states, upper):
        self.states, self.upper = states, upper

    def optimize(self, problem):
        return Optimum(np.array(self.states), self.upper, QueryInfo("told", exact=False, advice="Look further."))


# --- words ---


def test_a_product_of_zero_is_never_a_converged_answer():
    """Whatever the engine says of itself; with a positive product its words stay."""
    coin = Factor({"A": 2}, [0.0, 1.0])
    zero = Told([0], 0.0).best([coin], NO_EVIDENCE)
    assert zero.log_probability == -math.inf
    assert (zero.info.converged, zero.info.exact, zero.info.error) == (False, False, None)
    assert "BranchAndBound()" in zero.info.advice
    open_ = Told([1], 0.5).best([coin], NO_EVIDENCE)
    assert (open_.info.converged, open_.info.exact, open_.info.advice) == (True, False, "Look further.")
    assert open_.info.error == pytest.approx(0.5)


@pytest.mark.parametrize("engine", [LocalSearch(GreedyAscent()), AlphaBetaSwap(), AlphaExpansion()], ids=repr)
def test_engines_that_end_at_zero_say_so(engine):
    """Two labels that must be equal, each with a taste of its own: single moves lead nowhere or somewhere, honestly."""
    factors = [Factor({"A": 3, "B": 3}, np.eye(3)), Factor({"A": 3}, [2, 0, 1]), Factor({"B": 3}, [0, 2, 1])]
    found = engine.best(factors, NO_EVIDENCE)
    if found.log_probability == -math.inf:
        assert not found.info.converged
        assert "BranchAndBound()" in found.info.advice
    else:
        assert found.log_probability == pytest.approx(largest(factors))


@pytest.mark.parametrize("engine", [LocalSearch(), LinearRelaxation(), AlphaExpansion(), BranchAndBound()], ids=repr)
def test_a_proved_answer_comes_without_advice(engine):
    """All observed: exact, and no word of local maxima."""
    coin = Factor({"A": 2}, [0.2, 0.8])
    seen = engine.best([coin], Evidence.read({"A": 0}, {"A": coin.scope[0]}))
    assert (seen.info.exact, seen.info.advice) == (True, "")


# --- time ---


def test_the_work_of_planning_grows_with_the_grid():
    """Calls of functions, which don't depend on the machine: nine times the variables take about nine times as many."""

    def num_calls(side):
        scopes = [(r * side + c, r * side + c + 1) for r in range(side) for c in range(side - 1)]
        scopes += [(r * side + c, r * side + side + c) for r in range(side - 1) for c in range(side)]
        count = 0

        def counting(frame, event, argument):
            nonlocal count
            count += event == "call"

        sys.setprofile(counting)
        try:
            plan_bound(scopes, [2] * side**2, range(side**2), 16)
        finally:
            sys.setprofile(None)
        return count

    assert num_calls(36) < 18 * num_calls(12)


def test_branch_and_bound_without_time_answers_at_once_with_a_bound_that_holds():
    """A 30x30 grid with three states: no tables, a greedy ascent, a bound by one sweep; given time it goes on."""
    rng = np.random.default_rng(1)
    problem = Problem.of(grid(30, np.exp(rng.normal(size=(30, 30, 3))), np.exp(rng.normal(size=(3, 3)))), NO_EVIDENCE)
    state = BranchAndBound(time_limit=0).run(problem).state
    assert not state.converged
    assert not state.is_searching
    assert state.value < state.upper < 0.0
    assert state.value == pytest.approx(float(problem.log_product(state.states[None, :])[0]))
    resumed = BranchAndBound(max_entries=9).step(problem, state, num_nodes=1)
    assert state.value <= resumed.value <= resumed.upper <= state.upper


@pytest.mark.parametrize(
    "make", [lambda limit: LocalSearch(TabuSearch(5, 10**9), time_limit=limit), lambda t: AlphaExpansion(time_limit=t)]
)
def test_engines_stopped_by_the_clock_say_so(make):
    """No time at all: an assignment with its value, not converged, and the advice to raise the limit."""
    rng = np.random.default_rng(2)
    factors = grid(6, np.exp(rng.normal(size=(6, 6, 3))), np.exp(np.eye(3)))
    found = make(0).best(factors, NO_EVIDENCE)
    assert not found.info.converged
    assert "time" in found.info.advice
    assert found.log_probability <= make(0.2).best(factors, NO_EVIDENCE).log_probability + 1e-9


def test_label_moves_count_the_sweeps_of_a_state_that_they_go_on_from():
    """One sweep allowed and made: the same engine stays, one that allows more goes on to the end."""
    rng = np.random.default_rng(4)
    problem = Problem.of(grid(8, np.exp(rng.normal(size=(8, 8, 4))), np.exp(np.eye(4))), NO_EVIDENCE)
    one = AlphaExpansion(max_steps=1).run(problem).state
    assert AlphaExpansion(max_steps=1).run(problem, one).state.num_steps == 1
    assert AlphaExpansion().run(problem, one).state.energy == pytest.approx(AlphaExpansion().run(problem).state.energy)


# --- shared tables ---


def test_equal_tables_are_kept_once_and_energies_are_those_of_all_factors():
    """A grid of one table, some pairs turned round, some pairs with two factors: few tables, the right energies."""
    rng = np.random.default_rng(0)
    table, other = rng.random((2, 2)), rng.random((2, 2))
    names = [f"X{i}" for i in range(6)]
    factors = [Factor({a: 2, b: 2}, table) for a, b in pairwise(names)]
    factors += [Factor({"X3": 2, "X2": 2}, other), Factor({"X5": 2, "X0": 2}, table), Factor({"X1": 2}, [0.3, 0.0])]
    problem = Problem.of(factors, NO_EVIDENCE)
    energy = PairwiseEnergy.of(problem, "It")
    assert len(energy.tables) <= 4 < len(energy.pairs)
    names, products = log_products(factors)
    order = [names.index(variable.name) for variable in problem.variables]
    for states, value in products.items():
        labels = np.array([states[place] for place in order])
        assert problem.log_scale - energy.value(labels) == pytest.approx(value)


def test_sharing_takes_little_memory_on_a_grid():
    """Ten thousand pairs of sixteen labels and one table."""
    problem = Problem.of(grid(30, np.ones((30, 30, 16)), np.exp(np.eye(16))), NO_EVIDENCE)
    assert PairwiseEnergy.of(problem, "It").tables.shape == (1, 16, 16)


# --- options ---


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: AlphaExpansion(max_steps=1.5), "max_steps"),
        (lambda: AlphaBetaSwap(max_steps=True), "max_steps"),
        (lambda: AlphaBetaSwap(time_limit=-1), "time_limit"),
        (lambda: SimulatedAnnealing(schedule=3), "schedule"),
        (lambda: LinearRelaxation(integer="yes"), "integer"),
        (lambda: LinearRelaxation(integer=True, max_nodes=2.5), "max_nodes"),
        (lambda: BranchAndBound(time_limit="1"), "time_limit"),
        (lambda: LocalSearch(time_limit=math.nan), "time_limit"),
        (lambda: ExponentialCooling(start="a"), "start"),
        (lambda: ExponentialCooling(stop=None), "stop"),
        (lambda: PerturbationRestarts(growth="a"), "growth"),
        (lambda: PerturbationRestarts(growth=math.inf), "growth"),
        (lambda: BeamSearch(min_gain="a"), "min_gain"),
        (lambda: GreedyAscent(max_steps=2.0), "max_steps"),
        (lambda: FirstAscent().run(None, 0, seed=-1), "seed"),
        (lambda: branch_and_bound(None, 0, time_limit="1"), "time_limit"),
        (lambda: branch_and_bound(None, 0, max_steps=1.5), "max_steps"),
        (lambda: check_count("number", np.float64(2)), "number"),
        (lambda: check_number("number", True), "number"),
        (lambda: check_number("number", 1j), "number"),
        (lambda: check_number("number", math.inf), "number"),
        (lambda: check_number("number", 2.0, least=0, most=1), "number"),
        (lambda: check_number("number", 0.0, above=0, below=1), "number"),
        (lambda: check_seconds("number", True), "number"),
        (lambda: check_flag("number", 1), "number"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_by_name(make, name):
    """At once, not in the middle of the work."""
    refuses(InvalidArgument, f"{name}=.*must", make)


def test_options_of_the_right_kind_pass():
    """NumPy's numbers and flags included."""
    check_count("number", np.int64(3), 3)
    check_number("number", np.float32(0.5), least=0, most=1)
    check_number("number", 1, least=0, most=1)
    check_seconds("number", None)
    check_seconds("number", math.inf)
    check_flag("number", np.bool_(True))


def test_walks_do_not_outgrow_all_numbers():
    """Ten times longer at each failure: cut off, not an overflow; a length of one's own that is longer stays."""
    assert PerturbationRestarts(growth=10.0).walk_length(400) == 10_000
    assert PerturbationRestarts(length=20_000, growth=1e300).walk_length(3) == 20_000
    assert PerturbationRestarts(length=3, growth=1.0).walk_length(10**6) == 3
