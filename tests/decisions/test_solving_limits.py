"""Where floats, tables or time run out: far evidence, large teams, limits, stars of many children, units of utility."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

import plausible as pb
from decision_examples import exam_chain
from plausible.decisions import (
    Decision,
    InfluenceDiagram,
    choose_observations,
    rank_observations,
    stable_interval,
    utility_tornado,
)
from plausible.decisions.solving import joint_policies, joint_tree
from plausible.decisions.solving import solve as solve_module
from plausible.decisions.solving.elimination import absorbed
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import read_findings, read_problem
from plausible.decisions.solving.team import RuleSearch, Team
from plausible.decisions.structure.edits import with_optional_observation
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.search.branch_and_bound import branch_and_bound
from plausible.utilities import ExponentialCurve, Lottery, Utility, assess_risk, certainty_equivalent
from seeds import few_of

METHODS = ("auto", "local", "elimination", "arc-reversal", "network", "enumeration")


# --- evidence ---


def guess(name: str) -> tuple[Decision, Utility]:
    """A decision that is worth one where it says the opposite of a variable."""
    return Decision("D", 2), Utility([name, "D"], [[0, 1], [1, 0]], name="hit")


def star(num: int, small: float, evidence_first: bool) -> InfluenceDiagram:
    """Half of the children are far more likely under one state, the other half under the other."""
    root = pb.TableCPD("C", [0.3, 0.7])
    rows = [[1 - small, small], [0.5, 0.5]]
    tables = [rows if place < num // 2 else rows[::-1] for place in range(num)]
    children = [pb.TableCPD(f"E{place}", table, ["C"]) for place, table in enumerate(tables)]
    decision, utility = guess("C")
    return InfluenceDiagram([*children, root] if evidence_first else [root, *children], [decision], [utility])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("num", "small"), [(4, 1e-200), (8, 1e-200), (40, 1e-20), (220, 1e-3)])
def test_states_that_are_far_apart_for_a_while_come_together_again(method, num, small):
    """Each half of the evidence alone is beyond floats; both together say nothing, so that P(C) is as before."""
    for evidence_first in (False, True):
        diagram = star(num, small, evidence_first)
        solution = diagram.solve(method=method, evidence={f"E{place}": 1 for place in range(num)})
        assert solution.expected_utility == pytest.approx(0.7, abs=1e-11)
        assert solution.strategy["D"].values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("method", METHODS)
def test_evidence_along_a_chain_may_be_far_apart(method):
    """A state that stays what it is, seen at 30 times: first all is said for one, then for the other."""
    num, rows = 30, np.array([[1 - 1e-30, 1e-30], [0.5, 0.5]])
    chance = [pb.TableCPD("X0", [0.3, 0.7])]
    for place in range(num):
        if place:
            chance.append(pb.TableCPD(f"X{place}", np.eye(2), [f"X{place - 1}"]))
        chance.append(pb.TableCPD(f"E{place}", rows if place < num // 2 else rows[::-1], [f"X{place}"]))
    decision, utility = guess(f"X{num - 1}")
    diagram = InfluenceDiagram(chance, [decision], [utility])
    evidence = {f"E{place}": 1 for place in range(num)}
    assert diagram.solve(method=method, evidence=evidence).expected_utility == pytest.approx(0.7, abs=1e-10)


def test_decisions_that_rely_on_each_other_are_settled_given_evidence_that_is_far_apart(monkeypatch):
    """The same as where the posterior is the prior: by tables, and by lists of policies."""
    rng = np.random.default_rng(3)
    signals = [rng.dirichlet(np.ones(2), 2) for _ in range(2)]
    worth = rng.normal(size=(2, 2, 2))

    def team(children: list[pb.TableCPD]) -> InfluenceDiagram:
        seen = [pb.TableCPD(f"O{place}", table, ["C"]) for place, table in enumerate(signals)]
        decisions = [Decision(f"D{place}", 2, sees=[f"O{place}"]) for place in range(2)]
        utility = Utility(["C", "D0", "D1"], worth)
        return InfluenceDiagram([pb.TableCPD("C", [0.3, 0.7]), *seen, *children], decisions, [utility])

    children = [cpd for name, cpd in star(300, 1e-3, False).chance.items() if name != "C"]
    best = team([]).solve(method="enumeration").expected_utility
    evidence = {cpd.variable.name: 1 for cpd in children}
    assert team(children).solve(evidence=evidence).expected_utility == pytest.approx(best, abs=1e-11)
    monkeypatch.setattr(joint_policies, "_SMALL_TEAM", 1)
    monkeypatch.setattr(joint_policies, "_MAX_TEAM", 1)
    by_lists = team(children).solve(evidence=evidence)
    assert by_lists.is_optimal
    assert by_lists.expected_utility == pytest.approx(best, abs=1e-11)


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_every_method_agrees_with_logarithms_by_hand_on_trees_with_unlikely_evidence(seed):
    """Likelihoods from 1 to 1e-300, some of them zero, at all variables of a random tree."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 5).tolist()
    chance, logs, evidence = [], np.zeros(sizes), {}
    for place, size in enumerate(sizes):
        parents = [int(rng.integers(place))] if place else []
        table = rng.dirichlet(np.ones(size), [sizes[parent] for parent in parents])
        weights = 10.0 ** rng.uniform(-300, 0, size) * (rng.random(size) > 0.15)
        chance.append(pb.TableCPD(f"X{place}", table, [f"X{parent}" for parent in parents]))
        evidence[f"X{place}"] = pb.likelihood(weights if weights.any() else np.full(size, 1e-300))
        shape = [sizes[v] if v in (*parents, place) else 1 for v in range(5)]
        weight_shape = [sizes[v] if v == place else 1 for v in range(5)]
        with np.errstate(divide="ignore"):
            logs = logs + np.log(table).reshape(shape)
            logs = logs + np.log(weights if weights.any() else np.ones(size)).reshape(weight_shape)
    worth = rng.normal(size=(sizes[0], sizes[4], 3))
    diagram = InfluenceDiagram(chance, [Decision("D", 3)], [Utility(["X0", "X4", "D"], worth)])
    if logs.max() == -math.inf:
        for method in METHODS:
            with pytest.raises(ImpossibleEvidence):
                diagram.solve(method=method, evidence=evidence)
        return
    posterior = np.exp(logs - logs.max()).sum(axis=(1, 2, 3))
    best = np.einsum("ab,abd->d", posterior / posterior.sum(), worth).max()
    for method in METHODS:
        assert diagram.solve(method=method, evidence=evidence).expected_utility == pytest.approx(best, abs=1e-10)
    given = absorbed(diagram, read_findings(diagram, evidence))
    joint = math.prod((factor for factor in given.values()), start=pb.Factor.scalar(1.0)).marginal(["X0", "X4"])
    np.testing.assert_allclose(joint.values, posterior / posterior.sum(), atol=1e-12)


def test_many_children_that_nobody_saw_are_no_trouble_to_elimination():
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(20), (600, 2))
    chance = [pb.TableCPD("C", [0.3, 0.7])]
    chance += [pb.TableCPD(f"E{place}", table, ["C"]) for place, table in enumerate(tables)]
    worth = rng.normal(size=(2, 3))
    diagram = InfluenceDiagram(chance, [Decision("D", 3)], [Utility(["C", "D"], worth)])
    seen = rng.integers(20, size=250)
    logs = np.log([0.3, 0.7]) + np.log(tables[np.arange(250), :, seen]).sum(axis=0)
    posterior = np.exp(logs - logs.max())
    best = (posterior / posterior.sum() @ worth).max()
    evidence = {f"E{place}": int(state) for place, state in enumerate(seen)}
    assert diagram.solve(method="elimination", evidence=evidence).expected_utility == pytest.approx(best)


# --- large teams ---


def blind_team(seed: int, num: int) -> tuple[InfluenceDiagram, float]:
    """Agents with private signals of three states and one utility; and the best value, from halves of the team."""
    rng = np.random.default_rng(seed)
    prior, worth = rng.dirichlet(np.ones(4)), rng.normal(size=(4, *[2] * num))
    signals = [rng.dirichlet(np.ones(3), 4) for _ in range(num)]
    chance = [pb.TableCPD("S", prior)] + [pb.TableCPD(f"O{i}", signals[i], ["S"]) for i in range(num)]
    decisions = [Decision(f"D{i}", 2, sees=[f"O{i}"]) for i in range(num)]
    diagram = InfluenceDiagram(chance, decisions, [Utility(["S", *(f"D{i}" for i in range(num))], worth)])
    rules = np.array([np.eye(2)[list(rule)] for rule in itertools.product(range(2), repeat=3)])

    def half(members: range) -> np.ndarray:
        found = np.ones((1, 4, 1))
        for member in members:
            acts = np.einsum("so,roa->rsa", signals[member], rules)
            found = np.einsum("xsb,rsa->xrsba", found, acts).reshape(-1, 4, 2 * found.shape[2])
        return found

    first, second = half(range(num // 2)), half(range(num // 2, num))
    table = worth.reshape(4, first.shape[2], second.shape[2])
    ahead = np.einsum("s,sab,ysb->ysa", prior, table, second).reshape(len(second), -1)
    return diagram, float((first.reshape(len(first), -1) @ ahead.T).max())


@pytest.mark.parametrize("seed", few_of(1, 3))
def test_a_team_with_more_than_a_million_assignments_is_settled_with_a_proof(seed):
    diagram, best = blind_team(seed, 8)
    solution = diagram.solve(time_limit=30)
    assert solution.is_optimal
    assert solution.expected_utility == pytest.approx(best)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_whole_rules_find_the_best_of_all_strategies(seed):
    """Shared signals, later members that see what earlier ones did, members with one action, tables with zeros."""
    rng = np.random.default_rng(seed)
    families, sizes = [], []
    for _ in range(int(rng.integers(2, 5))):
        seen = [axis for axis in range(len(sizes)) if rng.random() < 0.3]
        for _ in range(int(rng.integers(0, 2))):
            seen.append(len(sizes))
            sizes.append(int(rng.integers(1, 3)))
        families.append((*rng.permutation(seen).tolist(), len(sizes)))
        sizes.append(int(rng.integers(1, 3)))
    table = rng.normal(size=sizes) * (rng.random(sizes) > 0.3)
    team = Team([f"D{place}" for place in range(len(families))], families, table)
    best = max(team.upper(chosen) for chosen in team.all_chosen())
    search = RuleSearch(team)
    found = branch_and_bound(search, ()).state
    assert found.is_finished
    assert found.score == pytest.approx(best, abs=1e-9)
    rules = search.rules(found.best)
    weights = table
    for name, family in zip(team.decisions, families, strict=True):
        order = np.argsort(family)
        shape = [sizes[axis] if axis in family else 1 for axis in range(len(sizes))]
        weights = weights * rules[name].transpose(order).reshape(shape)
    assert weights.sum() == pytest.approx(best, abs=1e-9)
    assert search.upper(search.numbers(rules)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", [1, 4])
def test_without_tables_and_lists_pairs_of_rules_are_improved(seed, monkeypatch):
    """Iterated optimisation from the same start ends below what pairs reach; the bound holds the best of all."""
    monkeypatch.setattr(joint_policies, "_SMALL_TEAM", 1)
    monkeypatch.setattr(joint_policies, "_MAX_TEAM", 1)
    monkeypatch.setattr(joint_policies, "_MAX_STATES", 1)
    diagram, best = blind_team(seed, 5)
    alone = diagram.solve(method="local", restarts=0).expected_utility
    solution = diagram.solve(time_limit=10, restarts=0)
    assert alone + 1e-6 < solution.expected_utility <= best + 1e-9
    assert solution.upper_bound >= best - 1e-9


# --- time ---


def ring(num: int) -> InfluenceDiagram:
    """Agents in a ring, each with a private signal; neighbours share a utility."""
    rng = np.random.default_rng(0)
    chance = [pb.TableCPD("S", rng.dirichlet(np.ones(4)))]
    chance += [pb.TableCPD(f"O{i}", rng.dirichlet(np.ones(3), 4), ["S"]) for i in range(num)]
    decisions = [Decision(f"D{i}", 3, sees=[f"O{i}"]) for i in range(num)]
    scopes = [["S", f"D{i}", f"D{(i + 1) % num}"] for i in range(num)]
    return InfluenceDiagram(chance, decisions, [Utility(s, rng.normal(size=(4, 3, 3)), f"V{s[1]}") for s in scopes])


def test_the_bound_after_a_search_takes_no_longer_than_the_time_that_is_left():
    diagram = ring(10)
    diagram.solve(time_limit=0.0)
    start = time.monotonic()
    solution = diagram.solve(time_limit=0.05)
    assert time.monotonic() - start < 1.0
    assert math.isfinite(solution.gap)


def test_without_a_limit_the_search_goes_on_until_it_is_done():
    pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    for method in ("auto", "local", "enumeration"):
        assert pair.solve(method=method, time_limit=None).expected_utility == 2.0
    with pytest.raises(InvalidArgument, match="or None for no limit"):
        pair.solve(time_limit=-1)


# --- stars ---


def test_a_star_has_no_clique_with_many_neighbours_and_its_values_stay_the_same(monkeypatch):
    """Copies of the centre lie between it and 100 children: each message is a product of few."""
    rng = np.random.default_rng(1)
    chance = [pb.TableCPD("C", [0.3, 0.3, 0.4])]
    chance += [pb.TableCPD(f"E{i}", rng.dirichlet(np.ones(2), 3), ["C"]) for i in range(100)]
    decision = Decision("D", 2)
    diagram = InfluenceDiagram(chance, [decision], [Utility(["C", "D"], rng.normal(size=(3, 2)))])
    problem = read_problem(diagram, {})
    assert max(map(len, JointTree(problem, {}).layout.neighbors)) <= 9
    evidence = {f"E{i}": int(rng.integers(2)) for i in range(5)}
    fast = rank_observations(diagram, evidence=evidence)
    monkeypatch.setattr(joint_tree, "_MAX_NEIGHBORS", 10**6)
    slow = rank_observations(diagram, evidence=evidence)
    for value in slow.values:
        assert fast[value.variables[0]].value == pytest.approx(value.value, abs=1e-12)


# --- words ---


def test_one_strategy_is_not_called_strategies():
    single = InfluenceDiagram([], [Decision("D", 1)], [Utility("D", [1])])
    assert str(single.count_strategies()) == "D: 1 rule, 1 information state\n1 strategy"


def test_an_observation_that_is_optional_already_is_not_made_optional_again():
    decision, utility = guess("X")
    diagram = InfluenceDiagram([pb.TableCPD("X", [0.5, 0.5])], [decision], [utility])
    optional = with_optional_observation(diagram, "X", 0.1, decision="D")
    with pytest.raises(InvalidArgument, match="'X' is optional already"):
        with_optional_observation(optional, "X", 0.1, decision="D")


def _guess(scale: float, shift: float = 0.0) -> pb.InfluenceDiagram:
    table = np.array([[1.0, 0.0], [0.0, 2.0]]) * scale + shift
    rain = pb.TableCPD("rain", [0.7, 0.3], states=["no", "yes"])
    return pb.InfluenceDiagram([rain], [pb.Decision("guess", ["no", "yes"])], [pb.Utility(["rain", "guess"], table)])


@pytest.mark.parametrize("scale", [1e-30, 1e-11, 1.0, 1e9])
def test_information_that_changes_an_action_has_its_value_in_any_units(scale: float) -> None:
    """Blind: 0.7; seeing: 0.7 + 0.6."""
    diagram = _guess(scale)
    value = diagram.value_of_information("rain")
    assert value.value == pytest.approx(0.6 * scale)
    assert [change.seen["rain"] for change in value.changes] == ["yes"]
    assert rank_observations(diagram).values[0].value == pytest.approx(0.6 * scale)
    assert choose_observations(diagram).best.variables == ("rain",)
    assert stable_interval(diagram, ("rain", "no")).low == pytest.approx(2 / 3)
    assert utility_tornado(diagram, 0.3).bars[0].changes_strategy


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-10, 0.0), (1.0, 1e9)])
def test_a_gap_is_no_proof_in_any_units(scale: float, shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_module, "_NUM_POLICIES", 1)
    diagram = exam_chain(12, np.random.default_rng(0))
    for name, factor in diagram.utility_factors.items():
        diagram = diagram.with_utility(pb.Utility(factor.scope, factor.values * scale + shift, name))
    assert diagram.solve().is_optimal
    solution = diagram.solve(method="local", restarts=0)
    assert solution.gap > 1e-4 * scale
    assert not solution.is_optimal


def test_actions_that_break_even_are_as_good() -> None:
    """0.1 * 7 = 0.7 * 1, but not in floats."""
    chance = pb.TableCPD("x", [0.1, 0.2, 0.7])
    utility = pb.Utility(["x", "go"], [[7, 0], [0, 0], [-1, 0]])
    diagram = pb.InfluenceDiagram([chance], [pb.Decision("go", ["yes", "no"])], [utility])
    for method in ("auto", "elimination", "enumeration"):
        solution = diagram.solve(method=method)
        assert solution.has_ties
        assert solution.policies["go"].is_best.tolist() == [[True, True]]


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, -1e6])
def test_constant_aversion_moves_the_certainty_equivalent_with_the_amounts(offset: float) -> None:
    curve, coin = ExponentialCurve(1 / 500), Lottery({offset: 0.5, offset + 1000: 0.5})
    exact = offset - 500 * np.log((1 + np.exp(-2)) / 2)
    assert certainty_equivalent(curve, coin) == pytest.approx(exact, abs=1e-6)
    assert certainty_equivalent(curve, Lottery({offset: 1})) == pytest.approx(offset)


def test_what_is_owned_does_not_matter_to_constant_aversion() -> None:
    curve, coin = ExponentialCurve(-1 / 500), Lottery({0: 0.5, 1000: 0.5})
    assert certainty_equivalent(curve, coin, wealth=2e4) == pytest.approx(certainty_equivalent(curve, coin))
    assert assess_risk(curve, coin).premium < 0


def test_a_function_is_no_curve() -> None:
    with pytest.raises(pb.errors.InvalidArgument, match="FunctionCurve"):
        certainty_equivalent(lambda amount: amount, Lottery({1: 1}))


@pytest.mark.parametrize(("low", "high"), [(1e10, 1e10 + 0.05), (1e6, 1e6 + 5e-6), (0.0, 5e-10), (1e6, 1e6 + 5e-4)])
@pytest.mark.parametrize("method", ["auto", "local", "elimination", "arc-reversal", "network", "enumeration"])
def test_the_better_action_is_found_as_far_as_floats_tell_it(low: float, high: float, method: str) -> None:
    """A large constant hides no more of a difference than floats lose, and small units hide none."""
    diagram = pb.InfluenceDiagram([], [pb.Decision("D", 2)], [pb.Utility("D", [low, high])])
    solution = diagram.solve(method=method)
    assert solution.strategy.action("D") == 1
    assert solution.is_optimal
    assert not solution.has_ties
    assert not diagram.local_optimality_test({"D": 0})


def test_small_differences_of_many_decisions_are_not_lost() -> None:
    names = [f"D{i}" for i in range(300)]
    parts = [pb.Utility(name, [1, 1 + 5e-9]) for name in names]
    solution = pb.InfluenceDiagram([], [pb.Decision(name, 2) for name in names], parts).solve()
    assert solution.expected_utility - 300 == pytest.approx(300 * 5e-9, rel=1e-3)


def test_what_no_decision_touches_hides_nothing() -> None:
    """A part of the utility with a range of 1e9 beside one of 0.15."""
    chance = [pb.TableCPD("x", [0.5, 0.5]), pb.TableCPD("y", [0.5, 0.5])]
    big = pb.Utility("y", [0, 1e9], name="big")
    small = pb.Utility(["x", "D"], [[0, 0.05], [0, -0.1]], name="small")
    diagram = pb.InfluenceDiagram(chance, [pb.Decision("D", 2)], [big, small])
    value = diagram.value_of_information("x")
    assert value.value == pytest.approx(0.025, rel=1e-4)
    assert len(value.changes) == 1
    assert not diagram.solve().has_ties
    pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
    team = pb.InfluenceDiagram(chance, pair, [big, pb.Utility(["D", "E"], [[0.01, 0], [0, 0.02]])])
    stuck = team.solve(method="local", restarts=0)
    assert stuck.is_optimal == (stuck.strategy.action("D") == 1)


def test_a_rare_disaster_is_not_rounded_away() -> None:
    chance = pb.TableCPD("x", [1 - 1e-12, 1e-12])
    utility = pb.Utility(["x", "D"], [[0, -1], [-2e12, 0]])
    diagram = pb.InfluenceDiagram([chance], [pb.Decision("D", 2)], [utility])
    assert not diagram.solve().has_ties
    assert diagram.value_of_information("x").value == pytest.approx(1.0, rel=1e-3)
