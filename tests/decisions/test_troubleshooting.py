"""Troubleshooters: beliefs after repairs, tests, plans against all plans, sessions as values, and their evaluation."""

from __future__ import annotations

import json
import pickle
import time
from itertools import permutations
from itertools import product as cartesian

import numpy as np
import pytest

from plausible.causal.counterfactuals.repair import repair, single_fault_repairs
from plausible.causal.functional.model import FunctionalModel, functional_model
from plausible.cpds import DeterministicCPD, NoisyOr, TableCPD
from plausible.decisions.troubleshooting.beliefs import enumerate_profiles
from plausible.decisions.troubleshooting.device import Costs, read_costs
from plausible.decisions.troubleshooting.evaluation import evaluate_troubleshooting
from plausible.decisions.troubleshooting.plans import exact_plan, optimal_plan
from plausible.decisions.troubleshooting.steps import Step, plan_text
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
from plausible.decisions.troubleshooting.worlds import Worlds
from plausible.errors import FormatError, ImpossibleEvidence, InvalidArgument, TooLarge, UnknownState, UnknownVariable
from plausible.examples.library import printer_troubleshooter
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork
from plausible.variables import jeffrey, likelihood
from troubleshooting_oracle import GateDevice, random_costs, random_device


def troubleshooter(device, repair_costs, observe, service):
    costs = Costs(repair_costs, observe, service)
    return Troubleshooter(device.network(), dict.fromkeys(repair_costs, "ok"), works={"fails": False}, costs=costs)


def single_fault(chances, tests=None):
    """One variable says which part is the fault; parts and goal follow, tests are noisy. The last may be elsewhere."""
    parts = [f"p{i}" for i in range(len(chances) - 1)]
    return BayesianNetwork(
        TableCPD("fault", chances, states=[*parts, "elsewhere"]),
        *(DeterministicCPD(p, lambda fault, p=p: fault == p, ["fault"], states=[False, True]) for p in parts),
        TableCPD("other", np.eye(len(chances))[:, -1:] * [[-1.0, 1.0]] + [[1.0, 0.0]], ["fault"], states=[False, True]),
        DeterministicCPD("fails", lambda *broken: any(broken), [*parts, "other"], states=[False, True]),
        *(
            TableCPD(name, np.stack([1 - np.array(row), row], axis=1), ["fault"], states=["off", "on"])
            for name, row in (tests or {}).items()
        ),
    )


# --- several faults ---


@pytest.mark.parametrize("seed", range(6))
def test_outcomes_and_costs_are_those_of_the_enumerated_worlds(seed):
    """With several faults, leaks and findings between repairs: exact probabilities and costs, never below the best."""
    rng = np.random.default_rng(seed)
    device = random_device(rng)
    repair_costs, observe, service = random_costs(rng, device)
    session = troubleshooter(device, repair_costs, observe, service).start()

    def check(session, step, chances):
        found = session.outcomes(step)
        for outcome, chance in chances.items():
            key = bool(outcome) if step.kind == "repair" else str(outcome)
            assert found.get(key, 0.0) == pytest.approx(chance, abs=1e-9)

    followed = device.followed_cost(session, check)
    best = device.best_cost(repair_costs, observe, service)
    assert exact_plan(session).expected_cost == pytest.approx(followed, abs=1e-8)
    assert optimal_plan(session).expected_cost == pytest.approx(best, abs=1e-8)
    assert followed >= best - 1e-8


def test_advice_is_near_the_best_plan_on_average():
    """Over random devices, one test ahead costs a few per cent more than the best plan; the worst case is worse."""
    rng = np.random.default_rng(100)
    excess = []
    for _ in range(12):
        device = random_device(rng)
        costs = random_costs(rng, device)
        session = troubleshooter(device, *costs).start()
        best = device.best_cost(*costs)
        excess.append(exact_plan(session).expected_cost / best - 1 if best > 1e-9 else 0.0)
    assert np.mean(excess) < 0.05


@pytest.mark.parametrize("needs_both", [True, False])
def test_parts_that_must_all_be_repaired_and_parts_of_which_any_will_do(needs_both):
    """Both broken for sure: where both are needed no single repair helps, and still both are repaired."""
    works = (lambda a, b: a == b == "ok") if needs_both else (lambda a, b: "ok" in (a, b))
    net = BayesianNetwork(
        TableCPD("a", [0.0, 1.0], states=["ok", "bad"]),
        TableCPD("b", [0.0, 1.0], states=["ok", "bad"]),
        DeterministicCPD("w", works, ["a", "b"], states=[False, True]),
    )
    session = Troubleshooter(net, {"a": "ok", "b": "ok"}, works={"w": True}, costs=Costs({"a": 3, "b": 2})).start()
    assert session.beliefs.shares.sum() == pytest.approx(1)
    plan = exact_plan(session)
    assert plan.expected_cost == pytest.approx(5 if needs_both else 2)
    assert plan.expected_cost == pytest.approx(optimal_plan(session).expected_cost)


def test_one_network_for_all_repairs_and_one_for_each_agree(monkeypatch):
    """Before and after a repair, whatever the advice looks at."""
    device = GateDevice([0.2, 0.4, 0.1], [0.9, 0.5, 1.0], [[0.8, 0.1, 0.0]], [0.05], 0.1)
    told = []
    for seconds in (1e-12, 1e3):
        monkeypatch.setattr("plausible.decisions.troubleshooting.beliefs._AT_ONCE", Budget(seconds=seconds))
        session = troubleshooter(device, {"p0": 1, "p1": 2, "p2": 3}, {"p0": 0.5, "a0": 0.1}, 20).start()
        for current, num_sets in ((session, 7), (session.after("test a0", "on").after("repair p1", False), 3)):
            assert len(current._situation._views) == (1 if seconds > 1 else num_sets)
            told.append([one.estimated_cost for one in current.advice.alternatives])
    assert told[:2] == [pytest.approx(costs) for costs in told[2:]]


def test_repairs_reach_further_parts_and_leave_what_they_do_not_reach():
    """Parts in a chain, and one that only a test sees: each repair's effect is that of the twin network."""
    net = BayesianNetwork(
        TableCPD("a", [0.7, 0.2, 0.1], states=["ok", "worn", "gone"]),
        TableCPD("b", [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["a"], states=["ok", "bad"]),
        TableCPD("c", [[0.8, 0.2], [0.3, 0.7]], ["b"], states=["ok", "bad"]),
        TableCPD("aside", [0.5, 0.5], states=["ok", "bad"]),
        TableCPD("lamp", [[0.9, 0.1], [0.2, 0.8]], ["aside"], states=["off", "on"]),
        TableCPD(
            "w",
            np.array([[0.95, 0.3], [0.5, 0.4], [0.2, 0.1]])[..., None] * [1, -1] + [0, 1],
            ["a", "c"],
            states=["runs", "fails"],
        ),
    )
    parts = dict.fromkeys(["a", "b", "c", "aside"], "ok")
    costs = Costs(dict.fromkeys(parts, 1.0), {"lamp": 1.0})
    session = Troubleshooter(net, parts, works={"w": "runs"}, costs=costs).start({"lamp": "on"})
    model = functional_model(net, "comonotone")
    for name, fixed in zip(session.beliefs.components, session.beliefs.fixes, strict=True):
        found = repair(model, {name: "ok"}, works={"w": "runs"}, evidence={"w": "fails", "lamp": "on"})
        assert fixed == pytest.approx(found.probability_fixed, abs=1e-9)
    for step in ("repair b", "repair aside"):
        assert session.outcomes(session.step(step)).get(True, 0.0) == pytest.approx(
            repair(model, {step[7:]: "ok"}, works={"w": "runs"}, evidence={"w": "fails"}).probability_fixed, abs=1e-9
        )


def test_virtual_evidence_and_one_of_several_states_count_at_the_start():
    """A likelihood about an alarm weighs the worlds in which it is on."""
    device = GateDevice([0.3, 0.4], [1.0, 0.8], [[0.9, 0.1]], [0.05])
    start = troubleshooter(device, {"p0": 5, "p1": 6}, {}, None).start({"a0": likelihood([1, 3]), "p0": ["ok", "bad"]})
    weights = device.weights * np.where(device.alarm(0, []), 3, 1)
    expected = weights @ device.broken([]) / weights.sum()
    np.testing.assert_allclose(start.beliefs.faulty, expected, atol=1e-9)


# --- one fault ---


def test_with_one_fault_behind_noisy_gates_the_chances_are_those_of_the_open_gates():
    """P(z_i = on | fails): the short way for a noisy-or, without parallel worlds."""
    net = BayesianNetwork(
        TableCPD("fault", [0.7, 0.2, 0.1], states=["fuse", "bulb", "wire"]),
        *(
            DeterministicCPD(part, lambda fault, part=part: fault == part, ["fault"], states=[False, True])
            for part in ("fuse", "bulb", "wire")
        ),
        NoisyOr("dark", ["fuse", "bulb", "wire"], [0.5, 1.0, 0.3]),
    )
    costs = Costs({"fuse": 1, "bulb": 1, "wire": 1})
    beliefs = (
        Troubleshooter(net, dict.fromkeys(costs.repair, False), works={"dark": False}, costs=costs).start().beliefs
    )
    expected = np.array([0.7 * 0.5, 0.2, 0.1 * 0.3])
    np.testing.assert_allclose(beliefs.shares, expected / expected.sum(), atol=1e-12)
    assert list(single_fault_repairs(net, "dark").values()) == pytest.approx(beliefs.shares)


@pytest.mark.parametrize("seed", range(4))
def test_with_one_fault_and_parts_that_can_only_be_replaced_advice_is_the_best_plan(seed):
    """Following it costs min over orders of Σ_i (1 - Σ_{j<i} p_j) C_i, and so does the best plan."""
    rng = np.random.default_rng(seed)
    chances = [*rng.dirichlet(np.ones(4)), 0.0]
    paid = rng.uniform(1, 9, 4)
    session = Troubleshooter(
        single_fault(chances),
        {f"p{i}": False for i in range(4)},
        works={"fails": False},
        costs=Costs({f"p{i}": c for i, c in enumerate(paid)}),
    ).start()
    least = min(
        sum(paid[part] * sum(chances[other] for other in order[place:]) for place, part in enumerate(order))
        for order in permutations(range(4))
    )
    assert exact_plan(session).expected_cost == pytest.approx(least)
    assert optimal_plan(session).expected_cost == pytest.approx(least)
    assert session.advice.repair_cost == pytest.approx(least)
    np.testing.assert_allclose(session.beliefs.shares, chances[:4], atol=1e-12)


def test_a_test_costs_its_price_and_the_expected_cost_of_repair_after_it():
    """cost + Σ_s P(s) ECR(s); the state True of a part that is looked at does not end a session."""
    chances, fires = np.array([0.3, 0.45, 0.15, 0.1]), np.array([0.9, 0.1, 0.5, 0.5])
    look, mend, service = np.array([2.0, 3.0, 1.0]), np.array([60.0, 50.0, 70.0]), 400.0
    session = Troubleshooter(
        single_fault(chances, {"t": fires}),
        {f"p{i}": False for i in range(3)},
        works={"fails": False},
        costs=Costs(
            {f"p{i}": c for i, c in enumerate(mend)}, {**{f"p{i}": c for i, c in enumerate(look)}, "t": 0.5}, service
        ),
    ).start()

    def repair_cost(p):
        """By looking, or replacing where that is cheaper, in the best of all orders."""
        best = np.inf
        for order in permutations(range(3)):
            left, total = 1.0, 0.0
            for part in order:
                total += min(left * look[part] + p[part] * mend[part], left * mend[part])
                left -= p[part]
            best = min(best, total + left * service)
        return best

    expected = 0.5
    for chance in (fires, 1 - fires):
        joint = chances * chance
        expected += joint.sum() * repair_cost(joint / joint.sum())
    by_step = {str(one.step): one.estimated_cost for one in session.advice.alternatives}
    assert by_step["test t"] == pytest.approx(expected)
    assert session.advice.repair_cost == pytest.approx(repair_cost(chances))
    assert by_step["call service"] == service
    broken = session.after("observe p0", True)
    assert not broken.is_fixed
    assert str(broken.next_step()) == "repair p0"


def test_a_call_is_best_where_everything_else_is_dearer():
    device = GateDevice([0.3, 0.3], [1.0, 1.0], [], [])
    session = troubleshooter(device, {"p0": 50, "p1": 60}, {}, 10).start()
    assert session.next_step().kind == "call"
    done = session.after("call service")
    assert (done.is_fixed, done.cost, done.next_step(), done.steps()) == (True, 10, None, ())
    assert "costs more than it saves" in session.advice.reason


def test_without_service_nothing_is_left_once_all_repairs_failed():
    """A leak that no repair reaches."""
    device = GateDevice([0.3], [0.5], [], [], goal_leak=0.2)
    session = troubleshooter(device, {"p0": 5}, {}, None).start()
    failed = session.after("repair p0", False)
    assert (failed.is_over, failed.is_fixed, failed.next_step()) == (True, False, None)
    assert "Nothing is left" in str(failed.advice)


# --- sessions ---


def test_the_advice_for_a_mended_device_is_that_it_works():
    """After a repair that helped, and after a call."""
    session = printer_troubleshooter().start()
    for step, outcome in (("repair cable", True), ("call service", None)):
        advice = session.after(step, outcome).advice
        assert (advice.is_fixed, advice.best) == (True, None)
        assert str(advice) == "It works: nothing is left to do."
    assert not session.advice.is_fixed


def test_a_session_is_a_value_that_can_be_kept_and_gone_back_in():
    """Pickling keeps all; undo takes back one step; the old session stays as it was."""
    session = printer_troubleshooter().start({"panel": "clear"})
    step = session.next_step()
    later = session.after(step, next(iter(session.outcomes(step)))).after("repair cable", False)
    kept = pickle.loads(pickle.dumps(later))
    assert kept == later
    assert kept.advice == later.advice
    assert later.undo().undo() == session
    assert later.cost == step.cost + 3
    assert session.history == ()
    assert later.repaired == ("cable",)
    assert "cable" not in {one.step.name for one in later.advice.alternatives}
    with pytest.raises(InvalidArgument, match="no step"):
        session.undo()


def test_tests_after_a_repair_are_about_the_device_as_it_then_is():
    """An alarm that was on because of a part goes off with its repair; the finding from before still counts."""
    device = GateDevice([0.5, 0.2], [1.0, 1.0], [[1.0, 0.0]], [0.0])
    session = troubleshooter(device, {"p0": 1, "p1": 1}, {"a0": 1}, None).start()
    on = session.after("test a0", "on").after("repair p0", False)
    assert on.beliefs.states["a0"].values.tolist() == pytest.approx([1, 0])
    assert on.beliefs.faulty == pytest.approx([1])


def test_what_can_t_be_is_refused_with_what_can():
    device = GateDevice([0.3, 0.3], [1.0, 1.0], [[1.0, 1.0]], [0.0])
    session = troubleshooter(device, {"p0": 5, "p1": 6}, {"p0": 1, "a0": 1}, None).start()
    with pytest.raises(InvalidArgument, match=r"observe p1.*There are: observe p0"):
        session.after("observe p1", "ok")
    with pytest.raises(InvalidArgument, match="test a0"):  # the alarm is on for sure: nothing to learn
        session.after("test a0", "off")
    with pytest.raises(ImpossibleEvidence, match="'green' can't come of observe p0"):
        session.after("observe p0", "green")
    with pytest.raises(ImpossibleEvidence):
        troubleshooter(device, {"p0": 5, "p1": 6}, {}, None).start({"p0": "ok", "p1": "ok"})
    for works in (False, [False, True], likelihood([0.5, 1])):
        with pytest.raises(InvalidArgument, match="does not work"):
            troubleshooter(device, {"p0": 5, "p1": 6}, {}, None).start({"fails": works})
    with pytest.raises(UnknownVariable, match="'a00'"):
        troubleshooter(device, {"p0": 5, "p1": 6}, {}, None).start({"a00": "on"})


@pytest.mark.parametrize(
    ("components", "costs", "told"),
    [
        ({"p0": "ok"}, Costs({"p0": 1, "p1": 1}), "'p1' has a repair cost"),
        ({"p0": "ok", "p1": "ok"}, Costs({"p0": 1}), "'p1' has no repair cost"),
        ({}, Costs({}), "needs a component"),
        ({"p0": "ok"}, Costs({"p0": 1}, {"fails": 1}), "'fails' says whether"),
        ({"p0": "fine"}, Costs({"p0": 1}), "'fine' is not a state"),
        ({"q": "ok"}, Costs({"q": 1}), "'q' is not a variable"),
    ],
)
def test_a_device_that_does_not_fit_is_refused(components, costs, told):
    device = GateDevice([0.3, 0.3], [1.0, 1.0], [], [])
    with pytest.raises((InvalidArgument, UnknownVariable, ValueError), match=told):
        Troubleshooter(device.network(), components, works={"fails": False}, costs=costs)


def test_costs_are_numbers_of_python_or_numpy():
    """And truth values are none, nor is what is negative, infinite or undefined."""
    costs = Costs(repair={"a": np.int64(3), "b": np.float32(0.5)}, observe={"a": np.uint8(2)}, service=np.float64(9))
    assert (dict(costs.repair), dict(costs.observe), costs.service) == ({"a": 3.0, "b": 0.5}, {"a": 2.0}, 9.0)
    assert {type(cost) for cost in (*costs.repair.values(), *costs.observe.values(), costs.service)} == {float}
    for wrong in (True, np.True_, "3", None, -1, np.inf, np.nan, 1j):
        with pytest.raises(InvalidArgument, match="The costs of 'a' are finite numbers from zero on, not"):
            Costs(repair={"a": wrong})


@pytest.mark.parametrize(
    ("limit", "told"),
    [({"max_states": 20}, "more than 20"), ({"time_limit": 0}, "than 0 seconds\\. Raise time_limit=")],
)
def test_plans_that_are_too_large_or_take_too_long_are_refused(limit, told):
    with pytest.raises(TooLarge, match=told):
        optimal_plan(printer_troubleshooter().start(), **limit)


def test_a_plan_that_is_cut_off_ends_with_what_the_advice_estimates():
    session = printer_troubleshooter().start()
    assert exact_plan(session, depth=0).expected_cost == pytest.approx(session.advice.best.estimated_cost)
    cut, whole = exact_plan(session, depth=0), exact_plan(session)
    assert (cut.outcomes, cut.is_exact, whole.is_exact) == ((), False, True)


@pytest.mark.parametrize("seed", range(3))
def test_the_cheapest_plan_of_three_parts_is_that_of_the_enumerated_worlds(seed):
    """Bounds prune nothing that is best: with leaks, tests that are repeated after repairs, and with nobody to call."""
    rng = np.random.default_rng(seed)
    device = random_device(rng, 3, 1)
    costs = random_costs(rng, device)
    session = troubleshooter(device, *costs).start()
    assert optimal_plan(session).expected_cost == pytest.approx(device.best_cost(*costs), abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_listed_devices_and_networks_believe_the_same(seed, monkeypatch):
    """Along a session, with virtual evidence at its start; and plans from the middle of it cost the same either way."""
    rng = np.random.default_rng(seed)
    device = random_device(rng)
    session = troubleshooter(device, *random_costs(rng, device)).start({"a0": likelihood([1, 2]), "p1": ["ok", "bad"]})
    while not session.is_over and len(session.history) < 3:
        helper = session.troubleshooter
        profiles = enumerate_profiles(helper.device, session.findings)
        listed, queried = (
            Worlds(helper.device, helper.costs, profiles).start(session.repaired).beliefs(),
            session.beliefs,
        )
        assert listed.components == queried.components
        for part in ("faulty", "fixes", "needed", "fixable"):
            np.testing.assert_allclose(getattr(listed, part), getattr(queried, part), atol=1e-9)
        for name, told in queried.states.items():
            np.testing.assert_allclose(listed.states[name].values, told.values, atol=1e-9)
        steps = [step for step in session.steps() if step.kind != "call"]
        step = steps[rng.integers(len(steps))]
        session = session.after(step, list(session.outcomes(step))[-1])
    plans = [exact_plan(session).expected_cost, optimal_plan(session).expected_cost]
    monkeypatch.setattr("plausible.decisions.troubleshooting.beliefs._MOST_DEVICES", 0)
    assert [exact_plan(session).expected_cost, optimal_plan(session).expected_cost] == pytest.approx(plans, abs=1e-8)


def test_a_marginal_that_is_imposed_is_left_to_the_networks():
    """Jeffrey's rule is no weight on what the device may be."""
    device = GateDevice([0.3, 0.4], [1.0, 0.8], [[0.9, 0.1]], [0.05])
    session = troubleshooter(device, {"p0": 5, "p1": 6}, {}, 30).start({"a0": jeffrey([0.5, 0.5])})
    assert exact_plan(session).expected_cost >= optimal_plan(session).expected_cost > 0


def test_noise_that_several_parts_share_is_one():
    """A power cut breaks both parts; they are never broken alone."""
    cut = FunctionalModel(
        {"a": lambda U: U, "b": lambda U: U, "works": lambda a, b: a == 0 and b == 0}, noise={"U": [0.9, 0.1]}
    )
    helper = Troubleshooter(cut, {"a": 0, "b": 0}, works={"works": True}, costs=Costs({"a": 3, "b": 2}, {"a": 0.1}))
    assert len(enumerate_profiles(helper.device, helper.start().findings).weights) == 1
    assert optimal_plan(helper.start()).expected_cost == pytest.approx(5)


def test_the_order_of_looks_leads_to_one_state():
    """What is believed is the same, so it is worked out once."""
    helper = printer_troubleshooter()
    device, findings = helper.device, helper.start().findings
    state = Worlds(device, helper.costs, enumerate_profiles(device, findings)).start(())
    look, test = Step("observe", "toner", 5.0), Step("test", "queue", 1.0)
    one = state.after(look, "ok").after(test, "empty")
    other = state.after(test, "empty").after(look, "ok")
    assert one.key == other.key != state.key
    # A part that is mended is mended, whether its fault was seen before or not.
    repair = Step("repair", "toner", 8.0)
    assert state.after(look, "low").after(repair, False).key == state.after(repair, False).key


def test_a_plan_says_where_the_device_stays_broken():
    """Nobody to call, and a leak that no repair reaches: not "done", and with what probability."""
    device = GateDevice([0.3], [1.0], [], [], goal_leak=0.2)
    plan = exact_plan(troubleshooter(device, {"p0": 5}, {}, None).start())
    left = 0.2 / (1 - 0.7 * 0.8)
    assert plan.chance_unfixed == pytest.approx(left)
    assert plan_text(plan) == (
        f"repair p0 (5)\n  it works {1 - left:.3f}: done\n  it fails {left:.3f}: still broken, nothing left to try\n"
        f"still broken in the end: probability {left:.3f}"
    )
    called = exact_plan(troubleshooter(device, {"p0": 5}, {}, 50).start())
    assert (called.chance_unfixed, "broken" in plan_text(called)) == (0, False)


def test_the_unit_of_money_changes_no_step():
    """Advice, the best plan and the best fixed order are the same in any currency, however small its numbers."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        device = random_device(rng, 2, 1)
        repair_costs, observe, service = random_costs(rng, device)
        told = []
        for unit in (1.0, 1e-13, 1e13):
            scaled = (
                {name: cost * unit for name, cost in repair_costs.items()},
                {name: cost * unit for name, cost in observe.items()},
                None if service is None else service * unit,
            )
            session = troubleshooter(device, *scaled).start()
            order = evaluate_troubleshooting(session, 10, seed=0).fixed_order
            best, followed = optimal_plan(session), exact_plan(session)
            steps = [str(one.step) for one in session.advice.alternatives]
            told.append((steps, order, str(best.step), str(followed.step)))
            assert best.expected_cost / unit == pytest.approx(device.best_cost(repair_costs, observe, service))
        assert told[0] == told[1] == told[2]


def independent_parts(num_parts, gates, service=None):
    """Noisy-or parts that can all be looked at."""
    rng = np.random.default_rng(num_parts)
    device = GateDevice.__new__(GateDevice)  # its worlds are too many to list
    device.priors, device.gates, device.goal_leak = rng.uniform(0.02, 0.2, num_parts).tolist(), gates, 0.0
    device.alarms = device.leaks = []
    parts = [f"p{part}" for part in range(num_parts)]
    repair_costs = dict(zip(parts, rng.uniform(5, 50, num_parts).tolist(), strict=True))
    observe = dict(zip(parts, rng.uniform(1, 5, num_parts).tolist(), strict=True))
    return device, troubleshooter(device, repair_costs, observe, service)


def test_advice_for_forty_parts_is_given_at_once():
    """With chances in closed form: P(only i's gate is open | some is), and what repairing i alone does."""
    gates = np.linspace(0.5, 1.0, 40).tolist()
    device, helper = independent_parts(40, gates, service=1000.0)
    begin = time.process_time()
    session = helper.start()
    assert session.advice.best is not None
    assert time.process_time() - begin < 2
    is_open = np.array(device.priors) * gates
    none = np.prod(1 - is_open)
    np.testing.assert_allclose(session.beliefs.fixes, none * is_open / (1 - is_open) / (1 - none), atol=1e-12)
    np.testing.assert_allclose(session.beliefs.needed, is_open / (1 - none), atol=1e-12)
    assert len(session._situation._views) == 1


def walked_cost(device, plan):
    """The mean cost of a plan over all devices that fail: each part is ok, or broken behind a closed or open gate."""
    parts = np.array(list(cartesian(range(3), repeat=device.num_parts)), dtype=np.int8)
    chances = [(1 - p, p * (1 - gate), p * gate) for p, gate in zip(device.priors, device.gates, strict=True)]
    weights = np.prod([np.array(row)[parts[:, part]] for part, row in enumerate(chances)], axis=0)

    def cost(node, worlds, repaired):
        if node.step is None or not len(worlds):
            return 0.0
        part = int(node.step.name[1:])
        if node.step.kind == "repair":
            repaired = repaired | {part}
            left = [other for other in range(device.num_parts) if other not in repaired]
            labels = ~(parts[worlds][:, left] == 2).any(axis=1)
        else:
            labels = np.where(parts[worlds, part] > 0, "bad", "ok")
        after = {outcome: later for outcome, _, later in node.outcomes}
        paid = node.step.cost * weights[worlds].sum()
        for label in np.unique(labels).tolist():
            if label in after:
                paid += cost(after[label], worlds[labels == label], repaired)
            else:
                assert weights[worlds[labels == label]].sum() < 1e-9
        return paid

    failing = np.flatnonzero((parts == 2).any(axis=1))
    return cost(plan, failing, frozenset()) / weights[failing].sum()


@pytest.mark.parametrize("num_parts", [4, 7, pytest.param(10, marks=pytest.mark.slow)])
def test_the_plan_of_following_advice_for_ten_parts_is_made_in_seconds(num_parts):
    """Its cost is that of walking it with all faults; of ten parts, 1600 states of knowledge of some 59000 devices."""
    gates = np.linspace(0.6, 1.0, num_parts).tolist()
    device, helper = independent_parts(num_parts, gates)
    begin = time.process_time()
    plan = exact_plan(helper.start())
    assert time.process_time() - begin < 15
    assert plan.expected_cost == pytest.approx(walked_cost(device, plan))
    assert plan.chance_unfixed == 0


def test_advice_calls_its_figures_estimates():
    """One test ahead, as if there were a single fault: no expected costs where there may be several."""
    session = printer_troubleshooter().start()
    assert session.advice.best.estimated_cost != pytest.approx(exact_plan(session).expected_cost, abs=0.01)
    assert "estimated cost" in str(session.advice)
    assert "expected cost" not in str(session.advice)


def test_the_reason_compares_with_the_second_best_step():
    """Though that is about the same part, or costs the same."""
    net = single_fault([0.6, 0.4, 0.0])
    costs = Costs({"p0": 5, "p1": 50}, {"p0": 1})
    session = Troubleshooter(net, {"p0": False, "p1": False}, works={"fails": False}, costs=costs).start()
    first, second = session.advice.alternatives[:2]
    assert (str(first.step), str(second.step)) == ("observe p0", "repair p0")
    assert session.advice.reason.startswith("Observe p0: estimated cost 24, 1 less than repair p0; ")
    tied = Costs({"p0": 5, "p1": 5})
    even = Troubleshooter(single_fault([0.5, 0.5, 0.0]), {"p0": False, "p1": False}, works={"fails": False}, costs=tied)
    assert ", as much as repair p1; " in even.start().advice.reason


# --- sampled cases ---


def test_the_mean_over_sampled_devices_is_the_exact_cost():
    """Within four standard errors; the fixed order is the best of all, each priced case by case."""
    device = GateDevice([0.3, 0.5, 0.2], [0.9, 0.7, 1.0], [[0.9, 0.1, 0.0]], [0.1])
    costs = ({"p0": 6, "p1": 9, "p2": 4}, {"p0": 2, "p1": 3, "a0": 1}, 30)
    session = troubleshooter(device, *costs).start()
    found = evaluate_troubleshooting(session, 3000, seed=0)
    exact = exact_plan(session).expected_cost
    assert abs(found.mean_cost - exact) < 4 * found.standard_error
    assert found.unfixed == 0
    weights = device.weights / device.weights.sum()
    fixed = []
    for order in permutations(range(3)):
        paid, is_open = 0.0, np.ones(len(weights), dtype=bool)
        for place, part in enumerate(order):
            done = frozenset(order[:place])
            blind = costs[0][f"p{part}"] * (weights @ is_open)
            faulty = is_open & device.broken(done)[:, part]
            looked = costs[1].get(f"p{part}", np.inf) * (weights @ is_open) + costs[0][f"p{part}"] * (weights @ faulty)
            paid += min(blind, looked)
            is_open = is_open & ~device.works(done | {part})
        fixed.append(paid)
    assert found.fixed_costs.mean() == pytest.approx(min(fixed), abs=0.5)


def test_advice_saves_a_tenth_and_more_of_the_best_fixed_order_on_the_printer():
    """On sampled cases, and among those with several faults as well."""
    found = evaluate_troubleshooting(printer_troubleshooter().start(), 250, seed=3)
    assert found.saving > 0.1
    several = found.num_faults > 1
    assert several.sum() > 16
    assert found.costs[several].mean() < found.fixed_costs[several].mean()
    assert "several faults" in str(found)


def test_an_evaluation_tells_its_progress_and_stops():
    session = troubleshooter(GateDevice([0.3], [1.0], [], []), {"p0": 5}, {}, None).start()
    told = []
    stopped = evaluate_troubleshooting(session, 1200, seed=0, progress=lambda so_far: told.append(so_far) or True)
    assert (len(told), len(stopped.costs), len(told[0].costs)) == (1, 500, 500)
    assert len(evaluate_troubleshooting(session, 1200, seed=0, time_limit=0).costs) == 500
    again = evaluate_troubleshooting(session, 700, seed=0)
    assert again.costs.tolist() == [5.0] * 700
    with pytest.raises(InvalidArgument, match="without steps"):
        evaluate_troubleshooting(session.after("repair p0", True), 10)


def test_a_troubleshooter_stands_for_its_session_at_the_start():
    """In evaluations and plans; what is neither is refused with how to start one."""
    helper = troubleshooter(GateDevice([0.3, 0.6], [1.0, 0.5], [], []), {"p0": 5, "p1": 3}, {}, 20)
    for function in (exact_plan, optimal_plan):
        assert function(helper) == function(helper.start())
    assert evaluate_troubleshooting(helper, 5, seed=1).costs.tolist() == (
        evaluate_troubleshooting(helper.start(), 5, seed=1).costs.tolist()
    )
    for function in (exact_plan, optimal_plan, evaluate_troubleshooting):
        with pytest.raises(InvalidArgument, match=r"Troubleshooter\(...\).start\(evidence\) gives, not 5"):
            function(5)


def test_with_many_components_the_fixed_order_is_a_local_best():
    """Eight parts, one fault each time, replaced only: chance per cost is the best order."""
    chances = np.array([0.02, 0.25, 0.1, 0.08, 0.2, 0.15, 0.05, 0.15, 0.0])
    session = Troubleshooter(
        single_fault(chances),
        {f"p{i}": False for i in range(8)},
        works={"fails": False},
        costs=Costs({f"p{i}": 1.0 for i in range(8)}),
    ).start()
    found = evaluate_troubleshooting(session, 400, seed=2)
    counts = np.sort(np.unique(found.fixed_costs, return_counts=True)[1])[::-1]
    assert found.fixed_costs.mean() == pytest.approx(counts @ np.arange(1, len(counts) + 1) / 400)


# --- sessions in files ---


def test_a_saved_session_is_the_same_after_json():
    """Evidence of every kind, and all steps, a call among them."""
    device = GateDevice([0.3, 0.4], [1.0, 0.8], [[0.9, 0.1], [0.2, 0.7]], [0.05, 0.1], goal_leak=0.1)
    helper = troubleshooter(device, {"p0": 5, "p1": 6}, {"p0": 1, "a0": 1}, 30)
    start = helper.start({"a1": likelihood([1, 3]), "p1": ["ok", "bad"]})
    for session in (
        start,
        start.after("observe p0", "bad").after("repair p0", False).after("test a0", "off"),
        start.after("call service"),
    ):
        again = helper.resume(json.loads(json.dumps(session.to_dict())))
        assert (again.history, again.is_fixed) == (session.history, session.is_fixed)
        np.testing.assert_allclose(again.beliefs.faulty, session.beliefs.faulty, atol=1e-12)


def test_what_was_paid_is_kept_when_prices_change():
    """A session that is gone on with at other costs: the past at the old ones, what comes next at the new ones."""
    device = GateDevice([0.3, 0.4], [1.0, 0.8], [[0.9, 0.1]], [0.05], goal_leak=0.1)
    cheap = troubleshooter(device, {"p0": 5, "p1": 6}, {"p0": 1, "a0": 1}, 30).start()
    dear = troubleshooter(device, {"p0": 77, "p1": 88}, {"p0": 99, "a0": 66}, 300)
    session = cheap.after("observe p0", "bad").after("repair p0", False).after("test a0", "off")
    again = dear.resume(json.loads(json.dumps(session.to_dict())))
    assert [taken.step.cost for taken in again.history] == [1, 5, 1]
    assert (again.cost, again.undo().cost) == (session.cost, 6) == (7, 6)
    assert again.after("repair p1", False).after("call service").cost == 7 + 88 + 300
    without = session.to_dict()
    for taken in without["history"]:
        del taken["cost"]
    assert dear.resume(without).cost == 99 + 77 + 66


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"history": None}, "no 'history'"),
        (
            {"history": [{"step": "test", "name": "queue", "cost": "much", "outcome": "empty"}]},
            "The costs of 'test queue' are finite numbers",
        ),
        ({"works": {"no page": "nothing"}}, "works where no page is nothing, not where no page is prints"),
        ({"evidence": {"tray": "empty"}}, "'tray' is no variable"),
        ({"evidence": {"panel": "blue"}}, "'blue' is not a state of 'panel'"),
        ({"history": [{"step": "test", "name": "queue", "outcome": "maybe"}]}, "Step 1 of the saved session"),
        ({"history": [{"step": "repair", "name": "tray", "outcome": True}]}, "'repair tray' is no step"),
    ],
)
def test_what_is_no_session_of_this_device_is_not_resumed(change, told):
    helper = printer_troubleshooter()
    with pytest.raises(FormatError, match=told):
        helper.resume({**helper.start().to_dict(), **change})


# --- costs in files ---


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_costs_are_read_with_any_usual_separator(tmp_path, separator):
    """Commas, semicolons and tabs, as spreadsheets write them."""
    file = tmp_path / "costs.csv"
    rows = ["component,observe,repair,ok", "fuse,2,1.5,whole", "radio,0.1,,", "service call,,30,"]
    file.write_text("\n".join(row.replace(",", separator) for row in rows), encoding="utf-8-sig")
    costs = read_costs(file)
    assert (dict(costs.repair), dict(costs.observe), costs.service) == ({"fuse": 1.5}, {"fuse": 2, "radio": 0.1}, 30)


def test_costs_are_read_as_spreadsheets_write_them(tmp_path):
    """Capitals in column names and in the service row, and separators at the ends of lines."""
    plain, odd = tmp_path / "plain.csv", tmp_path / "odd.csv"
    plain.write_text("component;observe;repair;ok\nFuse;2;1.5;whole\nradio;0.1;;\nservice call;;30;\n")
    odd.write_text("Component; OBSERVE;Repair;OK;;\nFuse;2;1.5;whole\nradio;0.1;;;\nService  Call;;30;;;\n;;;;\n")
    assert read_costs(odd) == read_costs(plain)
    assert read_costs(odd).places["Fuse"] == f"{odd}:2"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("fuse;;1;ok\np0;;1;ok", "costs.csv:2: 'fuse' is not a variable of this model"),
        ("p0;;1;ok\nradio;1;;", "costs.csv:3: 'radio' is not a variable of this model"),
        ("p0;;1;fine", "costs.csv:2: 'fine' is not a state of 'p0'"),
        ("p0;;1;", "costs.csv:2: 'p0' has a repair cost, but no state"),
        ("p0;;1;ok\np1;1;;ok", "costs.csv:3: The component 'p1' has no repair cost"),
        ("p0;;1;ok\nfails;1;;", "costs.csv:3: 'fails' says whether"),
    ],
)
def test_a_row_that_does_not_fit_the_device_is_told_with_its_line(tmp_path, rows, told):
    file = tmp_path / "costs.csv"
    file.write_text(f"component;observe;repair;ok\n{rows}\n")
    network = GateDevice([0.3, 0.3], [1.0, 1.0], [], []).network()
    with pytest.raises((InvalidArgument, UnknownVariable, UnknownState), match=told):
        Troubleshooter(network, works={"fails": False}, costs=read_costs(file))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "first line"),
        ("component,observe,repair\n", ":1: No component can be repaired: write a row"),
        ("component,observe,repair\nx,1,\nservice call,,9\n", ":1: No component can be repaired"),
        ("component,,repair,observe\nx,,1,2\n", "'' is one too many"),
        ("component,observe,repair\nService Call,,2\nservice call,,3\n", ":3: There are two rows"),
        ("component,observe\nx,1\n", "'repair'"),
        ("component,observe,repair,colour\n", "'colour'"),
        ("component,observe,repair\nx,1\n", ":2: The row has 2 cells"),
        ("component,observe,repair\nx,one,2\n", ":2: 'one'"),
        ("component,observe,repair\nx,-1,2\n", ":2: '-1' in the column observe"),
        ("component;observe;repair\nx;1;2,5\n", ":2: '2,5' in the column repair .* with a point: 2.5"),
        ("component,observe,repair\nx,1,2,5\n", ":2: The row has 4 cells.* decimal one, write a point"),
        ("component,observe,repair\nx,1,2\nx,1,2\n", ":3: There are two rows"),
        ("component,observe,repair\nx,,\n", "no cost"),
        ("component,observe,repair\n,1,2\n", "no component"),
        (
            "component,observe,repair\nservice call,1,2\n",
            ":2: The cost of the service call stands in the column repair",
        ),
    ],
)
def test_a_file_of_costs_that_can_t_be_read_is_refused_with_its_line(tmp_path, text, told):
    file = tmp_path / "costs.csv"
    file.write_text(text)
    with pytest.raises(FormatError, match=told):
        read_costs(file)
