"""Marginal MAP by elimination and by branch and bound, against enumeration."""

from __future__ import annotations

import math
import random
from importlib import import_module
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_networks import benchmark_network
from network_oracle import agrees, asia_network, joint_of_bayesian_network, random_evidence, random_network
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.inference.exact_map.bounds import LogTable, TimeUpError, bound_tree, plan_bound
from plausible.inference.exact_map.marginal_map import marginal_map
from plausible.inference.exact_map.max_elimination import max_product
from plausible.inference.exact_map.search import branch_and_bound
from plausible.search.run import Clock
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses
from seeds import few_of

METHODS = ["auto", "elimination", "search"]
NOTHING = Evidence.read({}, {})

MODULE = import_module("plausible.inference.exact_map.search")


def sums(net, targets, evidence):
    """{states of the targets: Σ of the joint}, by enumeration."""
    table = {}
    for assignment, weight in joint_of_bayesian_network(net):
        if agrees(assignment, evidence):
            key = tuple(assignment[name] for name in targets)
            table[key] = table.get(key, 0.0) + weight
    return table


def grid(rng, side, zeros=0.0, num_states=2):
    """Factors on the edges of a square grid."""
    cells = [(row, column) for row in range(side) for column in range(side)]
    edges = [((r, c), (r, c + 1)) for r, c in cells if c + 1 < side] + [
        ((r, c), (r + 1, c)) for r, c in cells if r + 1 < side
    ]
    variables = {cell: Variable(f"X{cell[0]}{cell[1]}", num_states) for cell in cells}
    factors = []
    for one, other in edges:
        values = rng.gamma(0.3, size=(num_states, num_states)) * (rng.random((num_states, num_states)) >= zeros)
        values[0, 0] += 0.01
        factors.append(Factor((variables[one], variables[other]), values))
    return factors, list(variables.values())


def grid_sums(factors, variables, targets):
    """{states of the targets: Σ Π φ} of a grid, by one big array that is built by hand."""
    names = [variable.name for variable in variables]
    total = np.ones([variable.num_states for variable in variables])
    for factor in factors:
        shape = [1] * len(names)
        axes = [names.index(name) for name in factor.names]
        for axis in axes:
            shape[axis] = variables[axis].num_states
        values = factor.values if axes == sorted(axes) else factor.values.T
        total = total * values.reshape(shape)
    hidden = tuple(axis for axis, name in enumerate(names) if name not in targets)
    return total.sum(axis=hidden)


# --- equal to enumeration ---


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 10**6), num_targets=st.integers(0, 6), num_observed=st.integers(0, 3))
def test_marginal_map_is_the_largest_sum(method, seed, num_targets, num_observed):
    """The value equals the maximum of the summed joint and the states attain it; observed targets keep their states."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.3)
    evidence = random_evidence(rng, net.variables, num_observed)
    targets = [list(net.variables)[i] for i in rng.permutation(6)[:num_targets]]
    expected = sums(net, targets, evidence)
    asked, found = [net.variables[name] for name in targets], Evidence.read(evidence, net.variables)
    if max(expected.values()) == 0:
        with pytest.raises(ImpossibleEvidence):
            marginal_map(net.factors, asked, found, method=method)
        return
    answer = marginal_map(net.factors, asked, found, method=method)
    assert list(answer.assignment) == targets
    assert math.exp(answer.log_value) == pytest.approx(max(expected.values()), rel=1e-9)
    assert expected[tuple(answer.assignment.values())] == pytest.approx(max(expected.values()), rel=1e-9)
    assert answer.assignment.log_probability == answer.log_value
    assert answer.gap == 0
    assert answer.info.exact
    assert agrees({**net.variables, **evidence, **answer.assignment}, evidence)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_entries", [4, 8, 2**22])
def test_search_is_exact_with_copies_and_mixed_orders(seed, max_entries):
    """Tables of four entries can bound a grid only by copying its variables: slower, and no less exact."""
    rng = np.random.default_rng(seed)
    factors, variables = grid(rng, 3, zeros=0.2)
    hidden = {"X01", "X21"} if max_entries > 4 else set()
    targets = [variable for variable in variables if variable.name not in hidden]
    expected = grid_sums(factors, variables, {variable.name for variable in targets})
    answer = marginal_map(factors, targets, NOTHING, method="search", max_entries=max_entries)
    assert math.exp(answer.log_value) == pytest.approx(expected.max(), rel=1e-9)
    assert expected[tuple(answer.assignment.values())] == pytest.approx(expected.max(), rel=1e-9)


def test_stages_hand_over_what_they_found(monkeypatch):
    """A search cut off after two nodes goes on with larger tables, and ends exact."""
    rng = np.random.default_rng(5)
    factors, variables = grid(rng, 4)
    targets = [variable for place, variable in enumerate(variables) if place % 3]
    expected = grid_sums(factors, variables, {variable.name for variable in targets}).max()
    monkeypatch.setattr(MODULE, "_STAGES", ((4, 2.0), (8, 2.0), (16, 2.0)))
    answer = marginal_map(factors, targets, NOTHING, method="search")
    assert math.exp(answer.log_value) == pytest.approx(expected, rel=1e-9)
    assert answer.gap == 0


def test_stages_too_small_for_the_hidden_variables_are_left_out(monkeypatch):
    """Six hidden variables that all meet need 64 entries: tables of four are not tried, and the answer is right."""
    rng = np.random.default_rng(3)
    hidden = [Variable(f"H{i}", 2) for i in range(6)]
    targets = [Variable(f"T{i}", 3) for i in range(3)]
    joint = rng.random((2,) * 6)
    links = [rng.random((2, 3)) for _ in targets]
    factors = [Factor(hidden, joint), *(Factor((h, t), x) for h, t, x in zip(hidden, targets, links, strict=False))]
    expected = np.einsum("abcdef,ax,by,cz->xyz", joint, *links)
    monkeypatch.setattr(MODULE, "_STAGES", ((4, 1.0),))
    answer = marginal_map(factors, targets, NOTHING, method="search")
    assert tuple(answer.assignment.values()) == np.unravel_index(expected.argmax(), expected.shape)
    assert math.exp(answer.log_value) == pytest.approx(expected.max(), rel=1e-12)


# --- special cases ---


@pytest.mark.parametrize("method", METHODS)
def test_summing_and_maximizing_disagree(method):
    """The most probable cause is not the cause in the most probable explanation."""
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a,), [0.4, 0.6]), Factor((a, b), [[1.0, 0.0], [0.5, 0.5]])]
    answer = marginal_map(factors, [a], NOTHING, method=method)
    assert answer.assignment == {"A": 1}
    assert math.exp(answer.log_value) == pytest.approx(0.6)
    assert max_product(factors) == {"A": 0, "B": 0}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_all_variables_as_targets_give_the_mpe(method, seed):
    """Nothing is summed."""
    net = random_network(np.random.default_rng(seed), num_variables=7, zeros=0.2)
    answer = marginal_map(net.factors, list(net.variables.values()), NOTHING, method=method)
    assert answer.log_value == pytest.approx(max_product(net.factors).log_probability, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_no_targets_give_the_probability_of_the_evidence(method):
    """The empty assignment, with the whole sum; also of nothing at all."""
    net = asia_network()
    answer = marginal_map(net.factors, [], Evidence.read({"X": True}, net.variables), method=method)
    assert dict(answer.assignment) == {}
    assert answer.log_value == pytest.approx(net.log_probability({"X": True}))
    assert marginal_map([], [], NOTHING, method=method).log_value == 0


@pytest.mark.parametrize("method", METHODS)
def test_targets_without_factors_and_with_one_state(method):
    """A variable that no factor has takes its first state and changes no value."""
    lonely, single, coin = Variable("L", ["u", "v"]), Variable("S", ["only"]), Variable("C", 2)
    factors = [Factor((single, coin), [[0.3, 0.7]])]
    answer = marginal_map(factors, [lonely, single, coin], NOTHING, method=method)
    assert answer.assignment == {"L": "u", "S": "only", "C": 1}
    assert math.exp(answer.log_value) == pytest.approx(0.7)


@pytest.mark.parametrize("method", METHODS)
def test_soft_evidence_weighs(method):
    """Virtual evidence multiplies before the maximum; numbers are refused."""
    a, b = Variable("A", 2), Variable("B", 2)
    joint = Factor((a, b), [[0.3, 0.3], [0.2, 0.2]])
    variables = {"A": a, "B": b}
    found = Evidence.read({"A": likelihood([0.5, 1.0]), "B": [0]}, variables)
    answer = marginal_map([joint], [a], found, method=method)
    assert answer.assignment == {"A": 1}
    assert math.exp(answer.log_value) == pytest.approx(0.2)
    with pytest.raises(NotSupported):
        marginal_map([joint], [a], Evidence({}, {}, {"x": 0.5}), method=method)


@pytest.mark.parametrize("method", METHODS)
def test_values_far_below_the_smallest_float(method):
    """Targets at the ends of a chain whose products underflow: the logarithm is right."""
    steps = 400
    chain = [Factor({f"X{i}": 2, f"X{i + 1}": 2}, [[3e-3, 1e-3], [1e-3, 2e-3]]) for i in range(steps)]
    ends = [chain[0].scope[0], chain[-1].scope[1]]
    answer = marginal_map(chain, ends, NOTHING, method=method)
    power, scale = np.eye(2), 0.0
    for _ in range(steps):
        power = power @ np.array([[3.0, 1.0], [1.0, 2.0]])
        scale += math.log(power.max())
        power /= power.max()
    logs = np.log(power) + scale + steps * math.log(1e-3)
    assert answer.log_value == pytest.approx(logs.max(), rel=1e-12)
    assert answer.assignment == {"X0": 0, f"X{steps}": 0}


@pytest.mark.parametrize("method", METHODS)
def test_impossible_evidence_is_an_error(method):
    """Zeros among the targets, among the hidden variables, and in a part without targets."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    for scope in [(a,), (b,), (c,)]:
        factors = [Factor((a, b), np.ones((2, 2))), Factor((c,), [0.5, 0.5]), Factor(scope, [0.0, 0.0])]
        with pytest.raises(ImpossibleEvidence):
            marginal_map(factors, [a], NOTHING, method=method)


# --- bounds ---


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [2, 4, 8, 16, 4096])
def test_bounds_are_never_below_the_best_completion(seed, limit):
    """For every partial assignment and every state of every free variable; with all targets given it is the value."""
    rng = np.random.default_rng(seed)
    factors, variables = grid(rng, 3, zeros=0.25)
    targets = sorted(rng.permutation(9)[:4].tolist())
    names = [variable.name for variable in variables]
    tables = [LogTable(tuple(names.index(n) for n in f.names), f.log().values) for f in factors]
    sizes = [2] * 9
    tree = bound_tree(tables, plan_bound([t.axes for t in tables], sizes, targets, limit), sizes, targets)
    expected = grid_sums(factors, variables, {names[place] for place in targets})
    for partial in product([-1, 0, 1], repeat=4):
        states = [-1] * 9
        for place, state in zip(targets, partial, strict=True):
            states[place] = state
        index = tuple(slice(None) if state < 0 else slice(state, state + 1) for state in partial)
        bound, vectors = tree.bounds(states)
        assert math.exp(bound) >= expected[index].max() * (1 - 1e-9)
        assert bound == tree.bound(states)
        if -1 not in partial:
            assert math.exp(bound) == pytest.approx(expected[index].max(), rel=1e-9, abs=1e-300)
        for place, vector in vectors.items():
            axis = targets.index(place)
            for state in range(2):
                fixed = tuple(slice(state, state + 1) if k == axis else part for k, part in enumerate(index))
                assert math.exp(vector[state]) >= expected[fixed].max() * (1 - 1e-9)


def test_a_large_limit_makes_the_plan_exact():
    """Then all sums come first, and the bound at the root is the answer."""
    rng = np.random.default_rng(0)
    factors, variables = grid(rng, 3)
    names = [variable.name for variable in variables]
    tables = [LogTable(tuple(names.index(n) for n in f.names), f.log().values) for f in factors]
    targets = [0, 2, 4, 6, 8]
    scopes = [table.axes for table in tables]
    assert not plan_bound(scopes, [2] * 9, targets, 8).is_exact
    plan = plan_bound(scopes, [2] * 9, targets, 4096)
    assert plan.is_exact
    tree = bound_tree(tables, plan, [2] * 9, targets)
    expected = grid_sums(factors, variables, {names[place] for place in targets}).max()
    assert math.exp(tree.bound([-1] * 9)) == pytest.approx(expected, rel=1e-9)


# --- limits ---


def hard_question():
    """A grid with hidden variables on a diagonal, and tables so small that the search takes a while."""
    factors, variables = grid(np.random.default_rng(1), 6, num_states=3)
    return factors, [variable for variable in variables if variable.name[1] != variable.name[2]]


def test_time_runs_out_with_an_answer_and_a_bound():
    """The incumbent is a true value, the bound is above it, and the gap is what lies between."""
    factors, targets = hard_question()
    answer = marginal_map(factors, targets, NOTHING, method="search", max_entries=81, time_limit=0.0)
    assert not answer.info.exact
    assert not answer.info.converged
    assert answer.gap == answer.info.error > 0
    assert set(answer.assignment) == {variable.name for variable in targets}
    exact = marginal_map(factors, targets, NOTHING, method="elimination", max_entries=2**24)
    assert answer.log_value <= exact.log_value + 1e-9
    assert exact.log_value <= answer.log_bound + 1e-9


@pytest.mark.parametrize("seed", few_of(12, 30))
def test_a_guess_is_a_full_assignment_under_its_bound(seed):
    """It agrees with what is given; where nothing is copied and no sum comes late it is the best completion."""
    rng = np.random.default_rng(seed)
    factors, variables = grid(rng, 3, zeros=0.3)
    names = [variable.name for variable in variables]
    maximized = sorted(rng.permutation(9)[: rng.integers(1, 10)].tolist())
    tables = [LogTable(tuple(names.index(n) for n in f.names), f.log().values) for f in factors]
    plan = plan_bound([t.axes for t in tables], [2] * 9, maximized, int(rng.choice([4, 16, 512])))
    tree = bound_tree(tables, plan, [2] * 9, maximized)
    states = [-1] * 9
    states[maximized[0]] = int(rng.integers(2))
    bound, guess = tree.guess(states)
    assert bound == tree.bound(states)
    assert guess[maximized[0]] == states[maximized[0]]
    assert all((state >= 0) == (place in maximized) for place, state in enumerate(guess))
    assert tree.bound(guess) <= bound + 1e-9
    if plan.is_exact and bound > -math.inf:
        assert tree.bound(guess) == pytest.approx(bound, rel=1e-10)


def test_time_is_looked_at_within_a_pass_once_there_is_an_answer():
    """A deadline long past stops the second search in its first pass; the answer of the first one stands."""
    factors, variables = grid(np.random.default_rng(2), 3)
    names = [variable.name for variable in variables]
    tables = [LogTable(tuple(names.index(n) for n in f.names), f.log().values) for f in factors]
    plan = plan_bound([t.axes for t in tables], [2] * 9, range(9), 4)
    tree = bound_tree(tables, plan, [2] * 9, range(9))
    first = branch_and_bound(tree, clock=Clock.of(0))
    assert len(first.best) == 1
    second = branch_and_bound(tree, start=first, clock=Clock.of(0))
    assert second.best == first.best
    assert second.progress.num_nodes == 0
    assert not second.is_finished
    with pytest.raises(TimeUpError):
        tree.bounds([-1] * 9, Clock.of(0))
    with pytest.raises(TimeUpError):
        bound_tree(tables, plan, [2] * 9, range(9), clock=Clock.of(0))


def test_a_late_search_without_an_answer_goes_on_until_it_has_one():
    """A guess may be impossible; then time alone is no reason to give up, and evidence is not called impossible."""
    rng = np.random.default_rng(8)
    for _ in range(8):
        factors, variables = grid(rng, 4, zeros=0.5)
        exact = marginal_map(factors, variables[::2], NOTHING, method="elimination")
        late = marginal_map(factors, variables[::2], NOTHING, method="search", max_entries=4, time_limit=0.0)
        assert -math.inf < late.log_value <= exact.log_value + 1e-9
        assert exact.log_value <= late.log_bound + 1e-9


@pytest.mark.parametrize("is_patient", [True, False])
def test_tables_of_a_stage_are_made_with_an_eye_on_the_clock_once_there_is_an_answer(is_patient, monkeypatch):
    """The first stage of a patient search has no deadline, all others have; three nodes in each of two stages."""
    deadlines = []
    for name in ("plan_bound", "bound_tree"):
        made = getattr(MODULE, name)
        monkeypatch.setattr(MODULE, name, lambda *args, made=made: deadlines.append(args[-1].deadline) or made(*args))
    monkeypatch.setattr(MODULE, "_STAGES", ((4, 3.0), (8, 3.0)))
    factors, variables = grid(np.random.default_rng(5), 4)
    clock = Clock.of(1000)
    found = MODULE.search_in_stages(
        [factor.log() for factor in factors], variables, max_entries=2**20, clock=clock, is_patient=is_patient
    )
    first = math.inf if is_patient else clock.deadline
    assert deadlines == [first, first, *[clock.deadline] * 4]
    assert found.info.exact


def test_a_search_that_nobody_waits_for_ends_with_its_time():
    """Without an answer and without patience, a deadline that is past is an error, and not a wait."""
    factors, variables = grid(np.random.default_rng(5), 3)
    logs = [factor.log() for factor in factors]
    with pytest.raises(TimeUpError):
        MODULE.search_in_stages(logs, variables, max_entries=4, clock=Clock.of(0), is_patient=False)
    late = MODULE.search_in_stages(logs, variables, max_entries=4, clock=Clock.of(0))
    assert len(late.best) == 1


def test_what_a_search_tells_of_parts_adds_up():
    """Two grids that share nothing: value, bound and nodes are sums of those of each, the largest table is not."""
    rng = np.random.default_rng(4)
    first, variables = grid(rng, 2)
    renamed = {variable.name: Variable(f"Y{variable.name}", 2) for variable in variables}
    second = [Factor([renamed[name] for name in factor.names], factor.values**2) for factor in first]
    wanted, others = variables[:3], [renamed[variable.name] for variable in variables[:3]]
    one, two, both = (
        marginal_map(factors, targets, NOTHING, method="search")
        for factors, targets in ((first, wanted), (second, others), ([*first, *second], [*wanted, *others]))
    )
    for figure in ("log_value", "log_bound", "num_nodes"):
        parts, whole = ([getattr(answer, figure) for answer in answers] for answers in ((one, two), (both,)))
        assert sum(whole) == pytest.approx(sum(parts))
        assert all(parts)
    assert both.info.largest_table == one.info.largest_table == two.info.largest_table > 1
    assert both.assignment == {**one.assignment, **two.assignment}


def test_states_struck_out_come_back_in_the_answer():
    """Zeros leave few states of each variable; the answer is in the states as they were."""
    rng = np.random.default_rng(3)
    variables = [Variable(f"X{i}", [f"s{j}" for j in range(4)]) for i in range(6)]
    factors = []
    for one, other in pairwise(variables):
        values = rng.random((4, 4)) + 0.1
        values[0, :] = values[:, 0] = values[3, :] = 0.0
        factors.append(Factor((one, other), values))
    last = Factor((variables[-1],), [0.0, 0.0, 1.0, 0.0])
    targets = [variables[0], variables[3], variables[-1]]
    sums = {}
    for states in product(range(4), repeat=6):
        weight = math.prod(f.values[states[i], states[i + 1]] for i, f in enumerate(factors)) * last.values[states[-1]]
        key = (states[0], states[3], states[5])
        sums[key] = sums.get(key, 0.0) + weight
    best = max(sums, key=sums.get)
    answer = marginal_map([*factors, last], targets, NOTHING, max_entries=16)
    assert [int(state[1:]) for state in answer.assignment.values()] == list(best)
    assert answer.log_value == pytest.approx(math.log(sums[best]), rel=1e-10)
    assert answer.info.exact


def test_progress_tells_value_and_bound():
    """Values never fall, bounds never fall below values, and the last report is the answer."""
    factors, targets = hard_question()
    reports = []
    answer = marginal_map(factors, targets, NOTHING, method="search", max_entries=2**12, progress=reports.append)
    values = [report.log_value for report in reports]
    assert values[0] == -math.inf
    assert values == sorted(values)
    assert all(report.log_bound >= report.log_value for report in reports)
    assert reports[-1].log_value == answer.log_value
    assert answer.num_nodes > 0


def test_an_interrupted_search_leaves_nothing_behind():
    """KeyboardInterrupt goes through, and the next question is answered as if nothing had been."""
    factors, targets = hard_question()

    def interrupt(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        marginal_map(factors, targets[:8], NOTHING, method="search", progress=interrupt)
    again = marginal_map(factors, targets[:8], NOTHING, method="search")
    plain = marginal_map(factors, targets[:8], NOTHING, method="elimination")
    assert again.log_value == pytest.approx(plain.log_value, rel=1e-12)


def test_hidden_tables_that_do_not_fit_are_refused():
    """No choice of targets' states would make the sum over a clique of 30 hidden variables small."""
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, np.ones((2, 2))) for i in range(30) for j in range(i)]
    for method in ("auto", "search"):
        with pytest.raises(TooLarge, match=r"Summing out what is not asked for.*max_entries=2\*\*(29|30) "):
            marginal_map(factors, [factors[0].scope[0]], NOTHING, method=method)
    refuses(TooLarge, "30 variables", marginal_map, factors, [factors[0].scope[0]], NOTHING, method="elimination")


def test_arguments_are_checked():
    """Methods by name, and seconds."""
    refuses(InvalidArgument, "'elimination', 'search'", marginal_map, [], [], NOTHING, method="guess")
    for seconds in (-1.0, math.nan):
        refuses(InvalidArgument, "seconds", marginal_map, [], [], NOTHING, time_limit=seconds)


def test_a_finished_search_is_a_start_that_needs_no_nodes():
    """With the answer and its proof at hand nothing is left to do but to close the root."""
    factors, variables = grid(np.random.default_rng(2), 3)
    names = [variable.name for variable in variables]
    tables = [LogTable(tuple(names.index(n) for n in f.names), f.log().values) for f in factors]
    plan = plan_bound([t.axes for t in tables], [2] * 9, range(9), 4096)
    tree = bound_tree(tables, plan, [2] * 9, range(9))
    first = branch_and_bound(tree)
    second = branch_and_bound(tree, start=first)
    assert second.best == first.best
    assert second.progress.num_nodes <= 1
    assert second.progress.log_bound == first.progress.log_value


# --- real networks ---


@pytest.mark.parametrize(("name", "num_targets"), [("hailfinder", 25), ("insurance", 15), ("water", 20)])
def test_search_and_elimination_agree_on_real_networks(name, num_targets):
    """The joint table of the targets has up to 1e13 entries; both methods find the same value without it."""
    net = benchmark_network(name)
    rng = np.random.default_rng(0)
    chosen = [list(net.variables)[i] for i in rng.permutation(len(net))]
    row = net.sample(1, seed=0).iloc[0]
    evidence = {observed: row[observed] for observed in chosen[num_targets : num_targets + 3]}
    targets = [net.variables[target] for target in chosen[:num_targets]]
    found = Evidence.read(evidence, net.variables)
    search = marginal_map(net.factors, targets, found, method="search")
    assert search.info.exact
    attained = net.log_probability({**evidence, **search.assignment})  # by another engine
    assert search.log_value == pytest.approx(attained, rel=1e-10)
    try:
        other = marginal_map(net.factors, targets, found, method="elimination", max_entries=2**23)
    except TooLarge:
        assert name == "water"
    else:
        assert other.log_value == pytest.approx(search.log_value, rel=1e-10)


@pytest.mark.slow
def test_pedigrees_are_answered_with_tables_of_the_usual_size():
    """Hidden genes of a real pedigree go in an order that is good for them alone; time runs out with a true value."""
    net = benchmark_network("link")
    rng = random.Random(1)
    targets = rng.sample(list(net.variables), 20)
    leaves = [name for name in net.variables if not net.graph.children(name)]
    row = net.sample(1, seed=3).iloc[0]
    evidence = {name: row[name] for name in rng.sample(leaves, 5) if name not in targets}
    best = net.map(targets, evidence, time_limit=0.1)
    assert not best.info.exact
    assert best.log_probability == pytest.approx(net.log_probability({**evidence, **best}), rel=1e-9)
