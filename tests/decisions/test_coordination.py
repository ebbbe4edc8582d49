"""Coordination graphs: every method against the enumeration of all joint actions; roles; value rules."""

from __future__ import annotations

import pickle
from itertools import combinations
from itertools import product as cartesian

import numpy as np
import pytest

from plausible.decisions.coordination.graph import CoordinationGraph
from plausible.decisions.coordination.local_values import ValueRule, best_by_rules
from plausible.errors import InvalidArgument, InvalidModel, InvalidVariable, TooLarge, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.inference.propagation.belief_propagation import MaxProduct
from plausible.variables import Variable


def random_team(rng, num_agents=4, kinds=("table", "rule"), scale=10.0):
    """Values over random agents and state variables; one-action agents, agents without values and ties occur."""
    agents = {f"A{i}": [f"a{k}" for k in range(rng.integers(1, 4))] for i in range(num_agents)}
    state = {"S": ["s0", "s1"], "T": [0, 1, 2]}
    sizes = {**agents, **state}
    values = []
    for _ in range(rng.integers(0, 7)):
        names = [str(n) for n in rng.permutation(list(sizes))[: rng.integers(0, 4)]]
        if rng.choice(kinds) == "table":
            table = np.round(rng.normal(size=[len(sizes[n]) for n in names]) * scale)
            values.append(Factor([Variable(n, sizes[n]) for n in names], table))
        else:
            some = {n: [s for s in sizes[n] if rng.random() < 0.6] or [sizes[n][0]] for n in names}
            values.append(ValueRule(some, float(np.round(rng.normal() * scale))))
    return agents, values, {name: states[rng.integers(len(states))] for name, states in state.items()}


def gain(values, assignment):
    """The sum of tables at, and of rules that hold in, an assignment to agents and state."""
    total = 0.0
    for part in values:
        if isinstance(part, Factor):
            total += part.values[tuple(v.states.index(assignment[v.name]) for v in part.scope)]
        elif all(assignment[name] in allowed for name, allowed in part.context.items()):
            total += part.value
    return total


def best_gain(agents, values, state):
    joint = (dict(zip(agents, actions, strict=True)) for actions in cartesian(*agents.values()))
    return max(gain(values, {**state, **actions}) for actions in joint)


@pytest.mark.parametrize("method", [None, "tables", "rules", MaxProduct()], ids=str)
@pytest.mark.parametrize("scale", [10.0, 1e5])
def test_the_best_joint_action_is_that_of_enumeration(method, scale):
    """Exact methods find a best joint action; messages one that they bound from above, and mostly a best one."""
    rng = np.random.default_rng(3)
    exact = 0
    for _ in range(16):
        agents, values, state = random_team(rng, scale=scale)
        found = CoordinationGraph(agents, values).best(state, method)
        most = best_gain(agents, values, state)
        assert list(found.actions) == list(agents)
        assert found.value == pytest.approx(gain(values, {**state, **found.actions}))
        assert found.value <= most + 1e-6 <= found.bound + 2e-6 * max(1, abs(most))
        if not isinstance(method, MaxProduct):
            assert found.is_exact
        exact += abs(found.value - most) <= 1e-9 * max(1.0, abs(most))
    assert exact >= (15 if isinstance(method, MaxProduct) else 16)


def test_messages_are_exact_on_a_forest():
    """A chain of agents."""
    rng = np.random.default_rng(0)
    agents = {f"A{i}": [0, 1, 2] for i in range(7)}
    chain = [Factor({f"A{i}": 3, f"A{i + 1}": 3}, rng.normal(size=(3, 3))) for i in range(6)]
    team = CoordinationGraph(agents, chain)
    found = team.best(method=MaxProduct())
    assert found.is_exact
    assert found.value == pytest.approx(best_gain(agents, chain, {}))
    assert found.actions == team.best().actions


@pytest.mark.parametrize("seed", range(5))
def test_roles_restrict_actions_and_passive_agents_drop_out(seed):
    """The same as enumeration over the allowed actions and the values that speak of no passive agent."""
    rng = np.random.default_rng(seed)
    agents, values, state = random_team(rng, 5)
    roles = {"A0": None, "A1": agents["A1"][:1], "A2": agents["A2"][-2:]}
    found = CoordinationGraph(agents, values).with_roles(roles)
    left = {name: roles.get(name, actions) for name, actions in agents.items() if name != "A0"}
    kept = [v for v in values if "A0" not in (v.names if isinstance(v, Factor) else v.context)]
    for method in ("tables", "rules"):
        best = found.best(state, method)
        assert best.value == pytest.approx(best_gain(left, kept, state))
        assert all(action in left[name] for name, action in best.actions.items())
    assert "A0" not in found.graph.nodes


def test_agents_are_joined_where_a_value_speaks_of_both():
    team = CoordinationGraph(
        {"a": [0, 1], "b": [0, 1], "c": [0, 1]},
        [ValueRule({"x": 1, "a": 0, "b": 1}, 2), Factor({"b": 2, "c": 2}, np.zeros((2, 2)))],
    )
    assert {frozenset(edge) for edge in team.graph.edges} == {frozenset("ab"), frozenset("bc")}
    assert {frozenset(edge) for edge in team.given({"x": 0}).graph.edges} == {frozenset("bc")}
    assert team.state_variables == ("x",)


def test_rules_with_long_contexts_need_no_tables():
    """Forty agents in one rule: a table would have 2^40 entries."""
    agents = {f"A{i}": [0, 1] for i in range(40)}
    everyone = ValueRule(dict.fromkeys(agents, 1), 100)
    team = CoordinationGraph(agents, [everyone, *(ValueRule({name: 1}, -2) for name in agents)])
    found = team.best()
    assert found.value == 20
    assert set(found.actions.values()) == {1}
    with pytest.raises(TooLarge):
        team.best(method="tables")
    rules = best_by_rules(team.values, list(team.agents.values()))
    assert rules.num_rules < 200


def test_branches_of_the_same_value_are_joined():
    """What does not matter is not asked about: the elimination of `a` makes no rule on `b`."""
    team = [ValueRule({"a": 0, "b": 0}, 5), ValueRule({"a": 1, "b": 1}, 5)]
    found = best_by_rules(team, [Variable("a", 2), Variable("b", 2)])
    assert (found.value, found.num_rules) == (5, 3)


def cycle(size, rng):
    """A ring of agents with two actions, and the best that it can gain, by dynamic programming around it."""
    tables = rng.integers(-9, 10, size=(size, 2, 2)).astype(float)
    most = -np.inf
    for first in range(2):
        gains = np.where(np.arange(2) == first, 0.0, -np.inf)
        for table in tables:
            gains = (gains[:, None] + table).max(axis=0)
        most = max(most, gains[first])
    return [f"A{i}" for i in range(size)], tables, most


def ring_rules(names, tables):
    """A rule for each entry of the tables."""
    for i, table in enumerate(tables):
        for left, right in np.ndindex(2, 2):
            yield ValueRule({names[i]: left, names[(i + 1) % len(names)]: right}, table[left, right])


@pytest.mark.parametrize("method", ["tables", "rules"])
def test_two_hundred_agents_in_a_ring(method):
    """Their graph has an induced width of two; ties abound, since the numbers are whole."""
    names, tables, most = cycle(200, np.random.default_rng(0))
    found = CoordinationGraph(dict.fromkeys(names, 2), ring_rules(names, tables)).best(method=method)
    assert (found.value, found.is_exact) == (most, True)


def test_a_long_grid_of_agents_is_settled_by_tables_and_by_rules():
    """Five by forty: an induced width of five; dynamic programming over columns is the oracle."""
    rng = np.random.default_rng(1)
    across, down = rng.integers(-9, 10, size=(39, 5)), rng.integers(-9, 10, size=(40, 4))
    rules = [ValueRule({(f"{i} {j}"): 1, f"{i} {j + 1}": 1}, across[j, i]) for j in range(39) for i in range(5)]
    rules += [ValueRule({(f"{i} {j}"): 1, f"{i + 1} {j}": 1}, down[j, i]) for j in range(40) for i in range(4)]
    columns = np.array(list(cartesian(range(2), repeat=5)))
    gains = np.zeros(32)
    for j in range(40):
        if j:
            pairs = (columns[:, None] & columns[None]) @ across[j - 1]
            gains = (gains[:, None] + pairs).max(axis=0)
        gains = gains + (columns[:, :-1] & columns[:, 1:]) @ down[j]
    team = CoordinationGraph({f"{i} {j}": 2 for i in range(5) for j in range(40)}, rules)
    assert team.best(method="rules").value == team.best(method="tables").value == gains.max()


def test_elimination_from_rules_looks_at_an_agents_rules_only():
    """Twice the agents make twice the rules: none meet that have no agent in common."""
    made = []
    for size in (100, 200):
        names, tables, _ = cycle(size, np.random.default_rng(2))
        made.append(best_by_rules(ring_rules(names, tables), [Variable(name, 2) for name in names]).num_rules)
    assert made[1] < 2.2 * made[0]


def test_of_best_actions_as_good_the_first_is_taken():
    for method in ("tables", "rules"):
        found = CoordinationGraph({"a": ["x", "y", "z"]}, [ValueRule({"a": ["y", "z"]}, 1)]).best(method=method)
        assert (found.actions["a"], found.value) == ("y", 1)


def test_a_rule_that_allows_nothing_never_holds():
    team = CoordinationGraph({"a": [0, 1]}, [ValueRule({"a": []}, 5), ValueRule({}, 2)])
    assert team.best(method="tables").value == team.best(method="rules").value == 2


def test_contexts_and_values_may_be_any_collection_and_number():
    """Ranges, sets, NumPy's numbers."""
    rules = [ValueRule({"a": range(2)}, np.float32(1)), ValueRule({"a": {1, 2}}, np.int64(2))]
    assert CoordinationGraph({"a": 3}, rules).best().actions["a"] == 1
    assert repr(rules[0]) == "ValueRule({'a': (0, 1)}, 1)"


def test_a_joint_action_crosses_a_process_boundary():
    found = CoordinationGraph({"a": ["x", "y"]}, [ValueRule({"a": "y"}, 1)]).best()
    assert pickle.loads(pickle.dumps(found)) == found


def test_teams_without_agents_or_values():
    assert CoordinationGraph({}, [ValueRule({}, 3)]).best().value == 3
    for method in (None, "tables", "rules", MaxProduct()):
        found = CoordinationGraph({"a": ["x", "y"]}).best(method=method)
        assert (dict(found.actions)["a"] in ("x", "y"), found.value) == (True, 0)


def test_a_team_is_a_value():
    team = CoordinationGraph({"a": [0, 1]}, [ValueRule({"a": [1], "x": 0}, 2)])
    assert pickle.loads(pickle.dumps(team)) == team
    assert hash(pickle.loads(pickle.dumps(team))) == hash(team)
    assert team.value({"a": 1}, {"x": 0}) == 2
    assert team.value({"a": 0}, {"x": 0}) == team.value({"a": 1}, {"x": 1}) == 0


def test_what_does_not_fit_a_team_is_refused_by_name():
    team = CoordinationGraph({"a": [0, 1]}, [ValueRule({"a": 1, "x": 0}, 2)])
    with pytest.raises(UnknownVariable, match=r"lacks 'x'; it has \['xx'\]"):
        team.best({"xx": 0})
    with pytest.raises(InvalidVariable, match="not 'xy'"):
        CoordinationGraph({"a": "xy"})
    with pytest.raises(InvalidArgument, match="'a' is an agent"):
        team.best({"x": 0, "a": 1})
    with pytest.raises(UnknownVariable, match="'b'"):
        team.with_roles({"b": None})
    with pytest.raises(InvalidArgument, match="no action"):
        team.with_roles({"a": []})
    with pytest.raises(InvalidArgument, match="method="):
        team.best({"x": 0}, "magic")
    with pytest.raises(UnknownVariable, match="lacks 'a'"):
        team.value({}, {"x": 0})
    with pytest.raises(UnknownState):
        CoordinationGraph({"a": [0, 1]}, [ValueRule({"a": 7}, 2)])
    with pytest.raises(InvalidModel, match="'a'"):
        CoordinationGraph({"a": [0, 1]}, [Factor({"a": ["u", "v"]}, [1, 2])])
    with pytest.raises(InvalidModel, match="finite"):
        CoordinationGraph({"a": [0, 1]}, [Factor({"a": [0, 1]}, [1, -np.inf])])
    with pytest.raises(InvalidModel, match="not 3"):
        CoordinationGraph({"a": [0, 1]}, [3])
    for value in (float("nan"), 10**400):
        with pytest.raises(InvalidArgument, match="finite number"):
            ValueRule({"a": 1}, value)


@pytest.mark.parametrize(
    "values",
    [
        [ValueRule({"a": 0}, 1e308), ValueRule({"a": 0}, 1e308)],
        [Factor({"a": 2}, [1e308, -1e308])],
    ],
)
def test_values_that_overflow_when_added_are_refused(values):
    """No sum or difference of the values of a team is beyond the largest number."""
    with pytest.raises(InvalidModel, match=r"the one over a reaches 1e\+308. Give all in a larger unit"):
        CoordinationGraph({"a": 2}, values)


@pytest.mark.parametrize("scale", [1e-150, 1e-10, 1.0, 1e10, 1e150])
@pytest.mark.parametrize("method", ["tables", "rules", MaxProduct()], ids=str)
def test_what_is_proved_best_does_not_depend_on_the_unit(method, scale):
    """Four agents who all meet, so that messages may fail: a claim of the best is true, and the bound holds."""
    rng, states = np.random.default_rng(5), ["a", "b", "c"]
    agents = {f"A{i}": states for i in range(4)}
    claimed = 0
    for _ in range(8):
        tables = [
            Factor([Variable(one, states), Variable(other, states)], rng.normal(size=(3, 3)) * scale)
            for one, other in combinations(agents, 2)
        ]
        every = [gain(tables, dict(zip(agents, joint, strict=True))) for joint in cartesian(states, repeat=4)]
        found = CoordinationGraph(agents, tables).best(method=method)
        assert found.bound >= max(every) - 1e-12 * scale
        assert found.is_exact <= (found.value >= max(every) - 1e-12 * scale)
        claimed += found.is_exact
    assert claimed == 8 if isinstance(method, str) else 2 <= claimed < 8


def test_a_constant_far_above_all_differences_leaves_exact_methods_exact():
    """Sums round by its last digits, which no action changes."""
    rng, states = np.random.default_rng(6), ["a", "b", "c"]
    tables = [
        Factor([Variable(one, states), Variable(other, states)], 1e12 + rng.normal(size=(3, 3)))
        for one, other in combinations("ABCD", 2)
    ]
    for method in ("tables", "rules"):
        assert CoordinationGraph(dict.fromkeys("ABCD", states), tables).best(method=method).is_exact


def test_a_misspelt_agent_is_told_from_a_state_of_the_world():
    """Names that are no agent's are the state's: one that is nearly an agent's is likely meant to be that."""
    team = CoordinationGraph({"one": ["a", "b"]}, [ValueRule({"oen": "a"}, 3)])
    with pytest.raises(UnknownVariable, match=r"lacks 'oen'; it has \[\]\. Did you mean the agent 'one'\?"):
        team.best()
