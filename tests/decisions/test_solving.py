"""The best strategy, by every method, is the best of all deterministic strategies."""

from __future__ import annotations

import math
import pickle
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from decision_examples import entrepreneur_with_survey
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.solving import joint_policies, joint_tree
from plausible.decisions.solving import problem as problem_module
from plausible.decisions.solving import solve as solve_module
from plausible.decisions.solving.problem import Method, SolvingState
from plausible.decisions.solving.solve import relaxed_bound
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.utilities import Utility
from seeds import few_of
from solving_oracle import all_strategy_values, full_tables, num_strategies, placed, random_diagram, value_of

# --- worked numbers ---


@pytest.mark.parametrize("method", get_args(Method))
def test_the_entrepreneur_surveys_and_is_worth_2_25(method):
    solution = entrepreneur_with_survey().solve(method=method)
    assert solution.expected_utility == pytest.approx(2.25)
    assert solution.is_optimal
    assert solution.strategy.action("C") == "c1"
    answers = {"s0": "f0", "s1": "f1", "s2": "f1"}
    assert {s: solution.strategy.action("F", {"C": "c1", "S": s}) for s in answers} == answers


def test_the_entrepreneur_has_512_strategies_of_which_32_are_best():
    values = all_strategy_values(entrepreneur_with_survey())
    assert len(values) == 512
    assert np.isclose(values, values.max()).sum() == 32
    assert values.max() == pytest.approx(2.25)


def test_the_survey_is_worth_1_25_gross_and_a_quarter_net():
    free = entrepreneur_with_survey(cost=0.0).solve().expected_utility
    assert free == pytest.approx(3.25)
    without = InfluenceDiagram(
        [pb.TableCPD("M", [0.5, 0.3, 0.2], states=3)],
        [Decision("F", 2)],
        [Utility(["M", "F"], [[0, -7], [0, 5], [0, 20]])],
    ).solve()
    assert without.expected_utility == pytest.approx(2.0)


def test_the_entrepreneur_policy_has_the_worked_conditional_expectations():
    policy = entrepreneur_with_survey().solve().policies["F"]
    assert [v.name for v in policy.uses] == ["C", "S"]
    rows = policy.expected_utility.reshape(2, 4, 2)
    assert rows[1, :3, 1] + 1 == pytest.approx([-3.0488, 3.2857, 8.75], abs=1e-4)
    assert policy.probability.reshape(2, 4)[1] == pytest.approx([0.41, 0.35, 0.24, 0.0])
    assert len(policy.unreachable) == 5


@pytest.mark.parametrize("method", ["auto", "enumeration", "local", "elimination", "network"])
def test_where_the_strategy_never_leads_the_best_action_and_its_worth_are_told(method):
    """Without the survey founding is worth 2, whichever way it was found; four more cases can't happen."""
    policy = entrepreneur_with_survey().solve(method=method).policies["F"]
    frame = policy.to_frame()
    (row,) = frame[(frame["C"] == "c0") & (frame["S"] == "none")].to_dict("records")
    assert (row["F"], row["probability"]) == ("f1", 0.0)
    assert row["expected_utility"] == pytest.approx(2.0)
    assert len(policy.impossible) == 4
    assert frame["expected_utility"].isna().sum() == 4


def test_what_does_not_happen_is_shown_while_it_is_little_and_what_cannot_happen_is_counted():
    text = str(entrepreneur_with_survey().solve().policies["F"])
    assert text.count("not under this strategy") == 1
    assert text.endswith("\n(4 more can't happen)")
    told = pb.TableCPD("X", np.full((2, 13), 1 / 13), ["C"], states=13)
    worth = [Utility("C", [0, -1]), Utility(["X", "D"], np.eye(13, 2))]
    two = InfluenceDiagram([told], [Decision("C", 2), Decision("D", 2, sees=["X", "C"])], worth)
    policy = two.solve().policies["D"]
    assert not policy.unreachable
    seen = Utility(["X", "C", "D"], np.arange(52).reshape(13, 2, 2))
    policy = two.with_utility(seen).solve().policies["D"]
    assert len(policy.unreachable) == 13
    assert str(policy).endswith("\n(13 more do not happen under this strategy: to_table() has them)")


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_off_the_path_of_the_strategy_actions_are_weighed_with_the_decisions_that_are_seen_set(seed):
    """E[U | seen, action] on the full joint: the strategy's own, then seen decisions at random, then all before."""
    rng = np.random.default_rng(700 + seed)
    diagram = random_diagram(rng, 3, 3, 2, recall=bool(seed % 2), zeros=0.3)
    solution = diagram.solve(method=("auto", "local")[seed // 2 % 2])
    for name, policy in solution.policies.items():
        before = [d for d in diagram.decisions if d != name and d not in diagram.graph.descendants(name)]
        used = [variable.name for variable in policy.uses]
        expected = np.full(policy.expected_utility.shape, np.nan)
        for freed in ([], [other for other in before if other in used], before):
            found = _worth_by_action(diagram, solution.strategy, name, used, freed)
            expected = np.where(np.isnan(expected), found, expected)
        assert policy.expected_utility == pytest.approx(expected, nan_ok=True)
        possible = ~np.isnan(expected[:, 0])
        taken = policy.expected_utility[np.arange(len(expected)), policy.actions]
        assert taken[possible] == pytest.approx(expected.max(axis=1)[possible])


def _worth_by_action(diagram, strategy, decision, used, freed):
    """E[U | used, action] where some decisions act at random; NaN where that has no probability."""
    names = list(diagram.variables)
    joint, utility = full_tables(diagram)
    for other, rule in strategy.items():
        if other != decision and other not in freed:
            joint = joint * placed(rule.values, rule.names, names)
    kept = [*used, decision]
    gone = tuple(axis for axis, name in enumerate(names) if name not in kept)
    order = np.argsort(np.argsort([names.index(name) for name in kept]))
    phi, psi = (table.sum(axis=gone).transpose(order) for table in (joint, joint * utility))
    with np.errstate(invalid="ignore"):
        return (psi / phi).reshape(-1, phi.shape[-1])


def test_the_expected_utility_factors_of_the_entrepreneur_are_the_worked_ones():
    """μ of F while C acts at random, then μ of C given the best F; both are maximised row by row."""
    diagram = entrepreneur_with_survey()
    strategy = diagram.uniform_strategy()
    factor = diagram.expected_utility_factor("F", strategy)
    rows = {("c0", "none"): (0, 1.0), ("c1", "s0"): (-0.205, -0.83), ("c1", "s1"): (-0.175, 0.4)}
    rows[("c1", "s2")] = (-0.12, 0.93)
    for (survey, sign), expected in rows.items():
        assert factor.reduce({"C": survey, "S": sign}).values == pytest.approx(expected)
    strategy = strategy.replace({"F": diagram.optimal_rule("F", strategy)})
    assert diagram.expected_utility_factor("C", strategy).values == pytest.approx([2.0, 2.25])
    assert diagram.optimal_rule("C", strategy).values.tolist() == [0, 1]


def test_the_expected_utility_of_any_rule_is_its_product_with_the_factor():
    rng = np.random.default_rng(2)
    diagram = random_diagram(rng, 3, 2, 3)
    strategy = diagram.uniform_strategy()
    for name in diagram.decisions:
        factor = diagram.expected_utility_factor(name, strategy)
        rule = rng.dirichlet(np.ones(factor.shape[-1]), factor.shape[:-1])
        changed = strategy.replace({name: pb.Factor(factor.scope, rule)})
        assert (rule * factor.values).sum() == pytest.approx(diagram.expected_utility(changed))


def test_two_blind_decisions_are_settled_together_where_one_at_a_time_may_fail():
    """W15: both have to agree; (0, 0) is a local optimum worth 1, (1, 1) the best, worth 2."""
    diagram = InfluenceDiagram([], [Decision("D1", 2), Decision("D2", 2)], [Utility(["D1", "D2"], [[1, 0], [0, 2]])])
    assert diagram.local_optimality_test({"D1": 0, "D2": 0})
    solution = diagram.solve()
    assert solution.expected_utility == 2.0
    assert solution.is_optimal
    assert solution.components == (("D1", "D2"),)
    assert dict(solution.relies_on) == {"D1": ("D2",), "D2": ("D1",)}
    assert diagram.solve(method="local", restarts=0).expected_utility == 2.0  # from uniform rules


def exam_chain(length: int, rng: np.random.Generator, with_ability: bool) -> InfluenceDiagram:
    """W18: results H_i, efforts D_i that see the last result and the last effort."""
    chance = [pb.TableCPD("M", rng.dirichlet([1, 1]), states=2)] if with_ability else []
    decisions, utilities = [], []
    for i in range(length):
        parents = [*(["M"] if with_ability else []), *([f"H{i - 1}"] if i else [])]
        chance.append(pb.TableCPD(f"H{i}", rng.dirichlet([1, 1], [2] * len(parents)), parents, states=2))
        decisions.append(Decision(f"D{i}", 2, sees=[f"H{i - 1}", f"D{i - 1}"] if i else []))
        utilities.append(Utility([f"H{i}", f"D{i}"], rng.normal(size=(2, 2)), name=f"V{i}"))
    return InfluenceDiagram(chance, decisions, utilities)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_the_exam_chain_with_a_hidden_ability_is_cyclic_and_still_solved(seed):
    """A single pass over the decisions, the latest first, misses the optimum on some of these (trap T4)."""
    diagram = exam_chain(3, np.random.default_rng(seed), with_ability=True)
    solution = diagram.solve()
    assert max(map(len, solution.components)) > 1
    assert solution.is_optimal
    assert solution.expected_utility == pytest.approx(all_strategy_values(diagram).max())


def test_the_exam_chain_without_it_is_acyclic_and_its_tables_grow_linearly():
    sizes = {}
    for length in (10, 20, 40):
        plan = exam_chain(length, np.random.default_rng(0), with_ability=False).explain()
        assert plan.is_acyclic
        assert len(plan.largest) <= 4
        sizes[length] = plan.num_entries
    assert sizes[40] - sizes[20] == 2 * (sizes[20] - sizes[10])


# --- all methods, all kinds ---


def drawn(seed: int, recall: bool) -> InfluenceDiagram:
    rng = np.random.default_rng(seed)
    while True:
        counts = (int(rng.integers(0, 5)), int(rng.integers(0, 4)), int(rng.integers(0, 4)))
        diagram = random_diagram(rng, *counts, recall=recall, zeros=float(rng.choice([0, 0.3, 0.6])))
        if num_strategies(diagram) <= 1000:
            return diagram


@pytest.mark.parametrize("small", [0, 2**12], ids=["clique tree", "one table"])
@given(seed=st.integers(0, 10**6), recall=st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_solution_is_the_best_of_all_strategies(small, seed, recall):
    diagram = drawn(seed, recall)
    best = all_strategy_values(diagram).max()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_tree, "SMALL", small)
        solution = diagram.solve()
    assert solution.expected_utility == pytest.approx(best)
    assert solution.is_optimal
    rules = {name: rule.values for name, rule in solution.strategy.items()}
    assert value_of(diagram, rules) == pytest.approx(best)
    assert solution.strategy.is_deterministic
    assert diagram.local_optimality_test(solution.strategy)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_sum_max_sum_elimination_is_the_best_of_all_strategies_with_recall(seed):
    diagram = drawn(seed, recall=True)
    solution = diagram.solve(method="elimination")
    assert solution.expected_utility == pytest.approx(all_strategy_values(diagram).max())
    assert all(len(component) == 1 for component in solution.components)


@given(seed=st.integers(0, 10**6), recall=st.booleans())
@settings(max_examples=12, deadline=None)
def test_enumeration_finds_the_best_and_local_search_stays_between_its_bounds(seed, recall):
    diagram = drawn(seed, recall)
    best = all_strategy_values(diagram).max()
    assert diagram.solve(method="enumeration").expected_utility == pytest.approx(best)
    local = diagram.solve(method="local", restarts=1, seed=seed)
    assert local.expected_utility <= best + 1e-9 <= local.upper_bound + 2e-9
    assert diagram.local_optimality_test(local.strategy)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_a_solution_given_evidence_is_best_in_the_conditioned_joint(seed):
    rng = np.random.default_rng(seed)
    diagram = drawn(seed, recall=bool(seed % 2))
    after = {n for d in diagram.decisions for n in diagram.graph.descendants(d)}
    free = [name for name in diagram.chance if name not in after]
    if not free:
        return
    name = str(rng.choice(free))
    vector = rng.random(diagram.variables[name].num_states) + 0.01
    weights = placed(vector, (name,), list(diagram.variables))
    probability, _ = full_tables(diagram)
    assert (probability * weights).sum() > 0
    solution = diagram.solve(evidence={name: pb.likelihood(vector)})
    assert solution.expected_utility == pytest.approx(all_strategy_values(diagram, weights).max())


# --- decisions that rely on each other ---


def blind_team(rng: np.random.Generator, members: int) -> InfluenceDiagram:
    """Each member sees a sign of its own of a common state; all actions count together."""
    chance = [pb.TableCPD("X", rng.dirichlet(np.ones(3)), states=3)]
    chance += [pb.TableCPD(f"S{i}", rng.dirichlet([0.5, 0.5], 3), ["X"], states=2) for i in range(members)]
    decisions = [Decision(f"D{i}", 2, sees=[f"S{i}"]) for i in range(members)]
    shape = (3, *[2] * members)
    utility = Utility(["X", *(f"D{i}" for i in range(members))], rng.normal(size=shape), name="U")
    return InfluenceDiagram(chance, decisions, [utility])


@pytest.mark.parametrize("seed", range(8))
def test_a_team_is_settled_together_with_a_proof(seed):
    diagram = blind_team(np.random.default_rng(seed), 4)
    solution = diagram.solve()
    assert solution.is_optimal
    assert len(solution.components) == 1
    assert solution.expected_utility == pytest.approx(all_strategy_values(diagram).max())
    assert "rely on each other" in str(solution)


@pytest.mark.parametrize("seed", range(5))
def test_a_search_out_of_time_tells_a_gap_that_holds_the_optimum(seed):
    diagram = blind_team(np.random.default_rng(seed), 4)
    best = all_strategy_values(diagram).max()
    solution = diagram.solve(time_limit=1e-9, restarts=0)
    assert solution.expected_utility <= best + 1e-9
    assert solution.upper_bound >= best - 1e-9
    assert solution.gap == pytest.approx(solution.upper_bound - solution.expected_utility)


@pytest.mark.parametrize("seed", range(5))
def test_beyond_the_budget_iterated_optimisation_and_a_bound_take_over(seed, monkeypatch):
    monkeypatch.setattr(joint_policies, "_MAX_TEAM", 1)
    monkeypatch.setattr(joint_policies, "_MAX_STATES", 1)
    diagram = blind_team(np.random.default_rng(seed), 3)
    best = all_strategy_values(diagram).max()
    solution = diagram.solve(restarts=20)
    assert solution.expected_utility == pytest.approx(best)
    assert solution.upper_bound >= best - 1e-9


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_knowing_more_is_worth_no_less(seed):
    """Memory bounds the optimum, foresight bounds memory; under neither do decisions rely on each other."""
    diagram = drawn(seed, recall=False)
    best = all_strategy_values(diagram).max()
    with_memory = relaxed_bound(diagram, {})
    foresight = solve_module._with_foresight(diagram).solve()
    assert best <= with_memory + 1e-9
    assert with_memory <= foresight.expected_utility + 1e-9
    assert all(len(component) == 1 for component in foresight.components)


def test_the_bound_of_foresight_takes_over_where_memory_is_too_large():
    """With 40 steps no history fits a table, but given the ability and all results it need not."""
    diagram = exam_chain(40, np.random.default_rng(0), with_ability=True)
    solution = diagram.solve(method="local", restarts=1)
    assert solution.expected_utility < solution.upper_bound < math.inf
    assert "below the maximum" in str(solution).splitlines()[0]


# --- structure ---


@given(seed=st.integers(0, 10**6))
@settings(max_examples=16, deadline=None)
def test_what_is_dropped_and_relied_on_is_what_separation_says(seed):
    """At the end every observation left is connected to a utility given the rest, and reliance is s-reachability."""
    diagram = drawn(seed, recall=bool(seed % 2))
    found = problem_module.read_structure(diagram)
    reduced = diagram.with_information(found.information)
    graph = reduced.graph
    for name, sees in found.information.items():
        below = [u for u in reduced.utilities if u in graph.descendants(name)]
        for seen in sees:
            given_rest = [name, *(other for other in sees if other != seen)]
            assert below
            assert not graph.d_separated(seen, below, given=given_rest)
        for other in diagram.decisions:
            if other != name:
                edges = [*graph.edges, ("rule", other)]
                reached = below and not pb.DAG(edges, nodes=graph.nodes).d_separated("rule", below, given=[name, *sees])
                assert (other in found.relies_on[name]) == bool(reached)


def test_perfect_recall_is_solved_without_tables_of_the_whole_past():
    """The last drill result tells all: 24 decisions that see everything before them take tables of few variables."""
    rng = np.random.default_rng(0)
    chance, decisions, utilities, known = [], [], [], []
    for i in range(24):
        chance.append(
            pb.TableCPD(f"X{i}", rng.dirichlet([1, 1], [2] * min(i, 1)), [f"X{i - 1}"] if i else [], states=2)
        )
        decisions.append(Decision(f"D{i}", 2, sees=list(known)))
        utilities.append(Utility([f"X{i}", f"D{i}"], rng.normal(size=(2, 2)), name=f"U{i}"))
        known += [f"X{i}", f"D{i}"]
    diagram = InfluenceDiagram(chance, decisions, utilities)
    solution = diagram.solve()
    assert solution.is_optimal
    assert solution.policies["D23"].uses == (diagram.variables["X22"],)
    assert solution.strategy["D23"].names == ("X22", "D23")
    assert diagram.expected_utility(solution.strategy) == pytest.approx(solution.expected_utility)
    assert solution.expected_utility == pytest.approx(diagram.solve(method="elimination").expected_utility)


# --- records, ties, refusals ---


def test_ties_are_told_and_the_first_action_is_taken():
    diagram = InfluenceDiagram(
        [pb.TableCPD("X", [0.5, 0.5], states=["a", "b"])],
        [Decision("D", ["left", "right"], sees=["X"])],
        [Utility(["X", "D"], [[1.0, 1.0], [0.0, 2.0]])],
    )
    solution = diagram.solve()
    assert solution.has_ties
    assert solution.strategy.action("D", {"X": "a"}) == "left"
    assert solution.policies["D"].ties({"X": "a"}) == ("left", "right")
    assert solution.policies["D"].ties({"X": "b"}) == ("right",)
    assert "as good: right" in str(solution)


def test_ties_where_the_strategy_never_leads_are_listed_and_not_counted():
    """What comes after the worse first step makes no difference; nobody who takes the better one has a choice."""
    diagram = InfluenceDiagram(
        [],
        [Decision("D", ["up", "down"]), Decision("E", ["left", "right"], sees=["D"])],
        [Utility(["D", "E"], [[5.0, 6.0], [0.0, 0.0]])],
    )
    solution = diagram.solve()
    policy = solution.policies["E"]
    assert not solution.has_ties
    assert not policy.has_ties
    assert policy.ties({"D": "down"}) == ("left", "right")
    assert [dict(seen) for seen in policy.unreachable] == [{"D": "down"}]
    assert policy.impossible == ()
    assert policy.to_frame()["note"].tolist() == ["", "not under this strategy; as good: right"]
    assert policy.to_frame()["expected_utility"].tolist() == [6.0, 0.0]


def test_an_information_state_that_cannot_occur_gets_the_first_action_and_no_worth():
    diagram = InfluenceDiagram(
        [pb.TableCPD("X", [1.0, 0.0], states=["a", "b"])],
        [Decision("D", ["left", "right"], sees=["X"])],
        [Utility(["X", "D"], [[0.0, 1.0], [0.0, 1.0]])],
    )
    solution = diagram.solve()
    assert solution.strategy.action("D", {"X": "b"}) == "left"
    policy = solution.policies["D"]
    assert np.isnan(policy.expected_utility[1]).all()
    assert [dict(seen) for seen in policy.unreachable] == [{"X": "b"}]


def test_a_decision_without_influence_or_use_is_left_at_its_first_action():
    diagram = InfluenceDiagram(
        [pb.TableCPD("X", [0.5, 0.5], states=2)], [Decision("D", 2, sees=["X"])], [Utility("X", [0.0, 1.0])]
    )
    solution = diagram.solve()
    assert solution.expected_utility == 0.5
    assert solution.policies["D"].ignores == ("X",)
    assert solution.strategy["D"].values.tolist() == [[1, 0], [1, 0]]


def test_elimination_refuses_limited_memory_and_says_what_is_forgotten():
    diagram = exam_chain(3, np.random.default_rng(0), with_ability=False)
    with pytest.raises(NotSupported, match="'D2' does not see 'D0', which was known before it"):
        diagram.solve(method="elimination")


def test_enumeration_reads_the_largest_rule_off_and_goes_through_the_others_only():
    """2^40 rules of one decision are a maximum for each of 40 states: only those of the other are tried."""
    rng = np.random.default_rng(0)
    worth = rng.random((40, 2, 2))
    diagram = InfluenceDiagram(
        [pb.TableCPD("X", np.full(40, 1 / 40))],
        [Decision("C", 2), Decision("D", 2, sees=["X"])],
        [Utility(["X", "C", "D"], worth)],
    )
    found = diagram.solve(method="enumeration")
    assert found.expected_utility == pytest.approx(worth.max(axis=2).mean(axis=0).max())
    assert found.is_optimal


def test_enumeration_refuses_more_strategies_than_it_can_go_through():
    diagram = exam_chain(12, np.random.default_rng(0), with_ability=True)
    with pytest.raises(TooLarge, match="deterministic strategies"):
        diagram.solve(method="enumeration")


def test_unknown_methods_and_options_are_refused():
    diagram = entrepreneur_with_survey()
    with pytest.raises(InvalidArgument, match="Did you mean 'elimination'"):
        diagram.solve(method="eliminaton")
    with pytest.raises(InvalidArgument, match="restarts=-1"):
        diagram.solve(restarts=-1)


def test_progress_is_told_each_step_and_can_stop():
    states: list[SolvingState] = []
    diagram = exam_chain(5, np.random.default_rng(0), with_ability=False)
    full = diagram.solve(progress=states.append)
    assert [state.num_settled for state in states] == [1, 2, 3, 4, 5]
    assert states[-1].expected_utility == pytest.approx(full.expected_utility)
    stopped = diagram.solve(progress=lambda state: state.num_settled == 2)
    assert stopped.expected_utility <= full.expected_utility + 1e-12
    assert stopped.upper_bound >= full.expected_utility - 1e-9
    assert (full.stopped_by, stopped.stopped_by) == ("converged", "converged" if stopped.is_optimal else "interrupted")


def test_a_solution_survives_pickling():
    solution = entrepreneur_with_survey().solve()
    again = pickle.loads(pickle.dumps(solution))
    assert str(again) == str(solution)
    assert again.strategy == solution.strategy
    with pytest.raises(InvalidArgument, match=r"depends on \['C', 'S'\]"):
        again.policies["F"].ties()


def test_iterated_optimisation_goes_on_after_rows_that_were_never_seen_are_settled():
    """With these numbers a row that stays mixed while it is out of reach hides a better action of another decision."""
    diagram = drawn(198, recall=False)
    local = diagram.solve(method="local", restarts=1, seed=198)
    assert diagram.local_optimality_test(local.strategy)


def test_the_same_seed_gives_the_same_strategy():
    diagram = blind_team(np.random.default_rng(3), 4)
    one, two = (diagram.solve(method="local", restarts=5, seed=7) for _ in range(2))
    assert one.strategy == two.strategy


def test_solving_leaves_numbers_of_any_size_right():
    """Adding a constant or scaling by a positive number changes no rule."""
    diagram = entrepreneur_with_survey()
    base = diagram.solve()
    for scale, shift in ((1e-6, 0.0), (1e9, 0.0), (1.0, 1e6)):
        values = np.array([[0, -7], [0, 5], [0, 20]]) * scale + shift
        other = diagram.with_utility(Utility(["M", "F"], values, name="profit")).with_utility(
            Utility(["C"], np.array([0.0, -1.0]) * scale, name="cost")
        )
        solution = other.solve()
        assert solution.strategy["C"] == base.strategy["C"]
        assert solution.expected_utility == pytest.approx(base.expected_utility * scale + shift)
