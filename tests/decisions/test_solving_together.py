"""Decisions that rely on each other: lists of policies find the best of all strategies, or tell a bound on it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.solving import joint_policies
from plausible.decisions.solving import solve as solve_module
from plausible.decisions.solving.policy_sets import Domain, merged, undominated
from plausible.decisions.solving.problem import (
    SolvingOptions,
    SolvingState,
    Watch,
    read_findings,
    read_problem,
    read_structure,
)
from plausible.decisions.solving.stages import read_stages
from plausible.decisions.structure.relevance import temporal_order
from plausible.errors import InvalidArgument
from plausible.utilities import Utility
from solving_oracle import all_strategy_values, num_strategies, placed, random_diagram, value_of


def exam_chain(length: int, seed: int, sizes: tuple[int, int, int] = (2, 2, 2)) -> InfluenceDiagram:
    """W18 with a hidden ability M that drives all results: the decisions rely on each other."""
    rng = np.random.default_rng(seed)
    abilities, results, efforts = sizes
    chance = [pb.TableCPD("M", rng.dirichlet(np.ones(abilities)), states=abilities)]
    decisions, utilities = [], []
    for i in range(length):
        parents, shape = ["M", *([f"H{i - 1}"] if i else [])], [abilities, *([results] if i else [])]
        chance.append(pb.TableCPD(f"H{i}", rng.dirichlet(np.ones(results), shape), parents, states=results))
        decisions.append(Decision(f"D{i}", efforts, sees=[f"H{i - 1}", f"D{i - 1}"] if i else []))
        utilities.append(Utility([f"H{i}", f"D{i}"], rng.normal(size=(results, efforts)), name=f"V{i}"))
    return InfluenceDiagram(chance, decisions, utilities)


def cyclic_diagram(seed: int) -> tuple[InfluenceDiagram, dict[str, object] | None, np.ndarray | float]:
    """A small random diagram in which decisions rely on each other; and evidence, in the forms of both sides."""
    rng = np.random.default_rng(seed)
    while True:
        counts = int(rng.integers(0, 6)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
        zeros, max_seen = float(rng.choice([0.0, 0.3, 0.6])), int(rng.choice([1, 2, 3]))
        diagram = random_diagram(rng, *counts, zeros=zeros, max_seen=max_seen)
        if num_strategies(diagram) > 600:
            continue
        after = {name for decision in diagram.decisions for name in diagram.graph.descendants(decision)}
        free = [name for name in diagram.chance if name not in after]
        evidence, weights = None, 1.0
        if free and rng.random() < 0.4:
            name = str(rng.choice(free))
            vector = rng.random(diagram.variables[name].num_states) + 0.01
            evidence, weights = {name: pb.likelihood(vector)}, placed(vector, (name,), list(diagram.variables))
        if not read_structure(diagram, evidence or ()).is_acyclic:
            return diagram, evidence, weights


@pytest.fixture
def only_lists(monkeypatch):
    """No branch and bound, and no bound but that of the lists."""
    monkeypatch.setattr(joint_policies, "_MAX_TEAM", 1)
    monkeypatch.setattr(joint_policies, "_SMALL_TEAM", 1)
    monkeypatch.setattr(solve_module, "relaxed_bound", lambda *_: math.inf)


# --- the exam chain ---


@pytest.mark.parametrize(("length", "seed"), [(12, 0), (12, 1), (20, 2), (40, 0)])
def test_the_exam_chain_with_a_hidden_ability_is_settled_at_any_length(length, seed):
    """Tables of histories are exponential in the length; lists of policies stay short."""
    diagram = exam_chain(length, seed)
    solution = diagram.solve()
    assert max(map(len, solution.components)) > 1
    assert solution.is_optimal
    assert diagram.expected_utility(solution.strategy) == pytest.approx(solution.expected_utility)
    assert diagram.local_optimality_test(solution.strategy)
    assert solution.expected_utility >= diagram.solve(method="local", restarts=1).expected_utility - 1e-9


def test_a_shorter_chain_is_the_longer_one_whose_last_exams_count_nothing():
    """The oracle reaches four exams; eight more that are worth nothing change no number."""
    long, short = exam_chain(12, 5), exam_chain(4, 5)
    for i in range(4, 12):
        long = long.with_utility(Utility([f"H{i}", f"D{i}"], np.zeros((2, 2)), name=f"V{i}"))
    for i in range(4):
        table = long.utility_factors[f"V{i}"]
        short = short.with_chance(long.chance[f"H{i}"]).with_utility(Utility.from_factor(table, f"V{i}"))
    short = short.with_chance(long.chance["M"])
    assert long.solve().expected_utility == pytest.approx(short.solve(method="enumeration").expected_utility)


# --- against all strategies ---


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_lists_of_policies_find_the_best_of_all_strategies(seed):
    diagram, evidence, weights = cyclic_diagram(seed)
    best = all_strategy_values(diagram, weights).max()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_policies, "_MAX_TEAM", 1)
        patch.setattr(joint_policies, "_SMALL_TEAM", 1)
        solution = diagram.solve(evidence=evidence)
    assert solution.is_optimal
    assert solution.expected_utility == pytest.approx(best)
    rules = {name: rule.values for name, rule in solution.strategy.items()}
    assert value_of(diagram, rules, weights) == pytest.approx(best)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=16, deadline=None)
def test_merged_policies_leave_a_bound_on_all_strategies(seed):
    """Where the limit is one policy for each decision nearly all are merged: the bound is what could be seen."""
    diagram, evidence, weights = cyclic_diagram(seed)
    best = all_strategy_values(diagram, weights).max()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_policies, "_MAX_TEAM", 1)
        patch.setattr(joint_policies, "_SMALL_TEAM", 1)
        patch.setattr(joint_policies, "_FEW", (1, 2))
        patch.setattr(joint_policies, "_MANY", (3,))
        patch.setattr(solve_module, "relaxed_bound", lambda *_: math.inf)
        patch.setattr(solve_module, "_NUM_POLICIES", 1)
        solution = diagram.solve(evidence=evidence, restarts=1)
    assert solution.expected_utility <= best + 1e-9 <= solution.upper_bound + 2e-9


def test_a_large_constant_in_the_utility_makes_no_list_longer(only_lists):
    diagram = exam_chain(8, 1)
    shifted = diagram.with_utility(Utility([], 1e6, name="constant")).with_utility(
        Utility(["H0", "D0"], diagram.utility_factors["V0"].values + 1e6, name="V0")
    )
    one, two = diagram.solve(), shifted.solve()
    assert two.is_optimal
    assert two.expected_utility - 2e6 == pytest.approx(one.expected_utility, abs=1e-6)


# --- stages ---


@given(seed=st.integers(0, 10**6))
@example(seed=327)  # what is seen stands in a later stage, and tells of the first states
@settings(max_examples=16, deadline=None)
def test_the_stages_give_every_strategy_its_worth_but_for_a_constant(seed):
    """Σ_i x_i · r_i of two strategies differs as their expected utilities do; transitions are distributions."""
    diagram, evidence, _ = cyclic_diagram(seed)
    problem = read_problem(diagram, read_findings(diagram, evidence))
    stages = read_stages(problem, temporal_order(diagram), {}, max_states=4096)
    assert stages is not None
    for stage in stages.stages:
        np.testing.assert_allclose(stage.transitions.sum(axis=-1), 1.0)
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(3):
        rules = {name: rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for name, shape in _shapes(problem).items()}
        strategy = {n: pb.Factor((*diagram.information(n), diagram.variables[n]), r) for n, r in rules.items()}
        occupied = stages.start
        for stage in stages.stages:
            np.testing.assert_allclose(np.bincount(stage.groups, occupied), stage.masses, atol=1e-12)
            taken = occupied[:, None] * rules[stage.decision].reshape(-1, stage.num_actions)[stage.rows]
            occupied = np.tensordot(taken, stage.transitions, axes=2)
        differences.append(diagram.expected_utility(strategy, evidence) - stages.worth(rules))
    assert np.ptp(differences) < 1e-9


def _shapes(problem):
    return {name: problem.family_shape(name) for name in problem.families}


# --- dominance ---


@pytest.mark.parametrize("seed", range(10))
def test_what_is_kept_is_largest_everywhere_and_what_is_merged_is_no_smaller(seed):
    rng = np.random.default_rng(seed)
    groups, masses = np.array([0, 0, 0, 1, 1, 2]), rng.dirichlet(np.ones(3))
    vectors = rng.integers(0, 4, (60, 6)).astype(float)

    def points(number: int) -> np.ndarray:
        parts = [m * rng.dirichlet(np.full(n, 0.5), number) for m, n in zip(masses, (3, 2, 1), strict=True)]
        return np.hstack(parts)

    domain = Domain(groups, masses, points(5))
    kept = undominated(vectors, domain, 1e-12)
    raised, numbers = merged(vectors, domain, 4)
    inside = points(2000)
    largest = (inside @ vectors.T).max(axis=1)
    np.testing.assert_allclose((inside @ vectors[kept].T).max(axis=1), largest)
    assert len(kept) < len(vectors)
    assert ((inside @ raised.T).max(axis=1) >= largest - 1e-12).all()
    assert (raised >= vectors[numbers]).all()


# --- time and progress ---


@pytest.mark.parametrize("method", ["auto", "local", "enumeration"])
def test_every_search_is_told_and_stops_when_it_is_asked_to(method):
    """What was found until then is a strategy, and the bound holds the best one."""
    diagram = exam_chain(4, 1)
    best = diagram.solve().expected_utility
    states: list[SolvingState] = []

    def stop_at_the_second(state: SolvingState) -> bool:
        states.append(state)
        return len(states) == 2

    solution = diagram.solve(method=method, progress=stop_at_the_second)
    assert len(states) == 2
    assert solution.expected_utility <= best + 1e-9 <= solution.upper_bound + 2e-9
    assert solution.strategy.is_deterministic


def test_lists_of_policies_tell_how_far_they_are_and_stop(only_lists):
    diagram = exam_chain(12, 1)
    best = diagram.solve().expected_utility
    states: list[SolvingState] = []
    solution = diagram.solve(progress=lambda state: states.append(state) or len(states) == 5)
    assert [state.num_steps for state in states] == [1, 2, 3, 4, 5]
    assert solution.expected_utility <= best + 1e-9 <= solution.upper_bound + 2e-9 < math.inf


@pytest.mark.parametrize("method", ["auto", "local", "enumeration"])
def test_without_time_there_is_still_a_strategy_and_a_bound(method):
    diagram = exam_chain(4, 2)
    best = diagram.solve().expected_utility
    solution = diagram.solve(method=method, time_limit=0.0, restarts=3)
    assert solution.expected_utility <= best + 1e-9 <= solution.upper_bound + 2e-9


def test_a_hard_chain_gets_good_rules_and_a_finite_gap():
    """Three abilities, results and efforts: 3^9 rules for each decision."""
    solution = exam_chain(12, 0, (3, 3, 3)).solve(time_limit=1.0, restarts=2)
    assert not solution.is_optimal
    assert math.isfinite(solution.gap)
    assert (solution.converged, solution.stopped_by) == (False, "time limit")
    assert solution.seconds >= 0.8


def test_a_watch_is_over_once_it_was_stopped():
    watch = Watch(SolvingOptions(time_limit=1000.0, progress=lambda state: state.num_settled == 1))
    assert not watch.tell(SolvingState(0, 2, 0.0))
    assert watch.tell(SolvingState(1, 2, 0.0))
    assert watch.is_over


def test_an_unknown_method_lists_the_known_ones_once():
    with pytest.raises(InvalidArgument, match="'enumeration'") as raised:
        exam_chain(2, 0).solve(method="guessing")
    assert str(raised.value).count("'elimination'") == 1
