"""Expected cost of repair: the formula, the best order, parts that can't be seen, calls for service, several faults."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.cpds import TableCPD
from plausible.decisions.troubleshooting.device import Costs
from plausible.decisions.troubleshooting.plans import exact_plan, optimal_plan
from plausible.decisions.troubleshooting.repair_order import (
    Component,
    Trials,
    best_repair_order,
    costs_without_each,
    expected_repair_cost,
)
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge, UnknownVariable
from plausible.models import BayesianNetwork
from seeds import few_of
from troubleshooting_oracle import random_costs, random_fault_device


def cost_by_cases(components, order, service):
    """The mean over which component is the fault (or none) of what is paid until it is found."""
    by_name = {component.name: component for component in components}
    total, nowhere = 0.0, 1.0 - sum(component.fault_probability for component in components)
    for fault, chance in [*((c.name, c.fault_probability) for c in components), (None, nowhere)]:
        paid = 0.0
        for name in order:
            part = by_name[name]
            paid += part.observation_cost if part.observable else part.repair_cost
            if name == fault:
                paid += part.repair_cost if part.observable else 0.0
                break
        else:
            paid += service or 0.0
        total += chance * paid
    return total


numbers = st.one_of(st.just(0.0), st.just(2.0), st.floats(0.01, 20))


@st.composite
def component_lists(draw, most=5):
    size = draw(st.integers(1, most))
    weights = [draw(numbers) for _ in range(size)]
    rest = draw(st.sampled_from([0.0, 1.0, 5.0]))
    total = sum(weights) + rest or 1.0
    return [
        Component(f"c{i}", w / total, draw(numbers), draw(numbers), draw(st.booleans())) for i, w in enumerate(weights)
    ]


@settings(max_examples=25, deadline=None)
@given(component_lists(), st.one_of(st.none(), numbers))
def test_expected_cost_of_repair_is_the_mean_over_faults(components, service):
    """ECR = Σ_i (1 - Σ_{j<i} p_j) C°_i + p_i C^r_i, with C° := C^r and C^r := 0 for parts that can't be seen."""
    order = [component.name for component in reversed(components)]
    found = expected_repair_cost(components, order, service)
    assert found == pytest.approx(cost_by_cases(components, order, service), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(component_lists())
def test_falling_chance_per_cost_is_the_best_order(components):
    """No permutation is cheaper than sorting by p / C°."""
    plan = best_repair_order(components)
    names = [component.name for component in components]
    least = min(cost_by_cases(components, order, None) for order in permutations(names))
    assert sorted(plan.order) == names
    assert plan.expected_cost == pytest.approx(least, abs=1e-9)
    assert cost_by_cases(components, plan.order, None) == pytest.approx(least, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(component_lists(most=4), st.floats(0, 40))
def test_with_a_service_call_the_best_parts_are_tried_in_the_best_order(components, service):
    """No ordered selection of parts, followed by a call, is cheaper."""
    plan = best_repair_order(components, service)
    names = [component.name for component in components]
    selections = chain.from_iterable(permutations(names, size) for size in range(len(names) + 1))
    least = min(cost_by_cases(components, order, service) for order in selections)
    assert plan.expected_cost == pytest.approx(least, abs=1e-9)
    assert cost_by_cases(components, plan.order, service) == pytest.approx(least, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(component_lists(most=4), st.one_of(st.none(), st.floats(0, 40)))
def test_what_is_left_to_try_after_each_part_costs_least(components, service):
    """For each part that is no fault: no order of the others, or of some of them before a call, is cheaper."""
    costs = np.array([component.trial_costs for component in components], dtype=float)
    chances = np.array([component.fault_probability for component in components])
    trials = Trials(chances, costs[:, 0], costs[:, 1], np.full(len(components), np.inf))
    for place, found in enumerate(costs_without_each(trials, service).tolist()):
        others = [component for component in components if component is not components[place]]
        sizes = range(0 if service is not None else len(others), len(others) + 1)
        orders = chain.from_iterable(permutations([c.name for c in others], size) for size in sizes)
        # A fault of the part itself, which was ruled out, would cost what a fault elsewhere does.
        paid = {order: cost_by_cases(others, order, service) for order in orders}
        ruled_out = {
            order: components[place].fault_probability
            * cost_by_cases([replace(c, fault_probability=0.0) for c in others], order, service)
            for order in paid
        }
        assert found == pytest.approx(min(paid[order] - ruled_out[order] for order in paid), abs=1e-9)


def test_parts_that_pay_only_together_are_found():
    """Each of two cheap-to-find parts is dearer than the call alone, but both together are cheaper: a minimum cut."""
    rng = np.random.default_rng(5)
    cuts = 0
    for _ in range(150):
        chances = rng.dirichlet(np.ones(4))
        components = [Component(f"c{i}", p, rng.uniform(0, 9), rng.uniform(0, 9)) for i, p in enumerate(chances)]
        service = rng.uniform(4, 16)
        plan = best_repair_order(components, service)
        selections = chain.from_iterable(permutations([c.name for c in components], k) for k in range(5))
        least = min(cost_by_cases(components, order, service) for order in selections)
        assert plan.expected_cost == pytest.approx(least, abs=1e-9)
        alone = min(cost_by_cases(components, (name,), service) for name in plan.order) if plan.order else 0.0
        cuts += bool(plan.order) and alone > service
    assert cuts > 1  # the case did occur


def test_a_price_that_is_a_rounding_error_buys_nothing():
    """A call that costs nothing is best, though two parts make each other all but free."""
    chances = [0.0049751243781094535, 0.0, 0.9950248756218907]
    parts = [
        Component(f"c{i}", p, 0.0, cost, False) for i, (p, cost) in enumerate(zip(chances, (0, 2, 2), strict=True))
    ]
    assert best_repair_order(parts, 0.0).expected_cost == 0


def test_repair_costs_don_t_matter_for_the_order():
    """The fault is repaired at some time in any order."""
    parts = [Component("a", 0.5, 3, 1), Component("b", 0.3, 1, 1), Component("c", 0.2, 2, 1)]
    dear = [Component(p.name, p.fault_probability, p.observation_cost, 100 * i) for i, p in enumerate(parts)]
    assert best_repair_order(parts).order == best_repair_order(dear).order == ("b", "a", "c")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Component("a", 1.5), "'a'"),
        (lambda: Component("a", 0.5, -1), "'a'"),
        (lambda: Component("a", 0.5, float("nan")), "'a'"),
        (lambda: best_repair_order([Component("a", 0.7), Component("b", 0.7)]), "sum to 1.4"),
        (lambda: best_repair_order([Component("a", 0.1), Component("a", 0.1)]), "'a'"),
        (lambda: expected_repair_cost([Component("a", 1)], ["a", "a"]), "twice"),
        (lambda: best_repair_order([Component("a", 1)], float("inf")), "service call"),
    ],
)
def test_what_is_no_component_is_refused_by_name(make, told):
    with pytest.raises(InvalidArgument, match=told):
        make()


def test_an_order_with_a_stranger_is_refused():
    with pytest.raises(UnknownVariable, match="'b'"):
        expected_repair_cost([Component("a", 1)], ["b"])


def test_nothing_to_repair_costs_a_call_or_nothing():
    assert best_repair_order([]).expected_cost == 0
    assert best_repair_order([], 7).expected_cost == 7


def two_kinds():
    """A is surely faulty, and only where it is worn is it what stops the goal; else B does."""
    network = BayesianNetwork(
        TableCPD("R", [0.5, 0.5], states=["0", "1"]),
        TableCPD("A", [[0, 1, 0], [0, 0, 1]], ["R"], states=["ok", "worn", "scorched"]),
        TableCPD("B", [[1, 0], [0, 1]], ["R"], states=["ok", "bad"]),
        TableCPD(
            "goal", [[[1, 0], [0, 1]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]], ["A", "B"], states=["works", "broken"]
        ),
    )
    costs = Costs(repair={"A": 10, "B": 10}, observe={"A": 1})
    return Troubleshooter(network, {"A": "ok", "B": "ok"}, works={"goal": "works"}, costs=costs).start()


def test_a_part_that_is_surely_faulty_is_looked_at_where_its_fault_tells_what_to_repair():
    """A look for 1 and the right repair for 10; blind repairs cost 10 + 10/2."""
    session = two_kinds()
    assert optimal_plan(session).expected_cost == pytest.approx(11)
    assert exact_plan(session).expected_cost == pytest.approx(11)
    assert str(session.next_step()) == "observe A"
    seen = session.after("observe A", "worn")
    assert str(seen.next_step()) == "repair A"
    assert "observe A" not in map(str, seen.steps())
    assert str(session.after("observe A", "scorched").next_step()) == "repair B"


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_plans_for_parts_with_several_faults_cost_what_enumeration_says(seed):
    """The best of all plans, and the plan of following the advice, over all worlds; outcomes of steps as well."""
    rng = np.random.default_rng(seed)
    device = random_fault_device(rng, num_parts=2 + seed % 2)
    repair, observe, service = random_costs(rng, device)
    observe = {name: cost / 10 for name, cost in observe.items()}
    costs = Costs(repair, observe, service)
    session = Troubleshooter(device.network(), dict.fromkeys(repair, "ok"), works={"fails": False}, costs=costs).start()

    def check(session, step, chances):
        for outcome, chance in chances.items():
            key = bool(outcome) if step.kind == "repair" else str(outcome)
            assert session.outcomes(step).get(key, 0.0) == pytest.approx(chance, abs=1e-9)

    best = device.best_cost(repair, observe, service)
    followed = device.followed_cost(session, check)
    assert optimal_plan(session).expected_cost == pytest.approx(best, abs=1e-8)
    assert exact_plan(session).expected_cost == pytest.approx(followed, abs=1e-8)
    assert followed >= best - 1e-8


def test_advice_for_parts_with_several_faults_is_near_the_best_plan_on_average():
    """One look or test ahead costs a few per cent more than the best plan."""
    excess = []
    for seed in range(200, 216):
        rng = np.random.default_rng(seed)
        device = random_fault_device(rng)
        repair, observe, service = random_costs(rng, device)
        helper = Troubleshooter(
            device.network(),
            dict.fromkeys(repair, "ok"),
            works={"fails": False},
            costs=Costs(repair, observe, service),
        )
        best = device.best_cost(repair, observe, service)
        excess.append(exact_plan(helper).expected_cost / best - 1 if best > 1e-9 else 0.0)
    assert np.mean(excess) < 0.05


# --- what a session takes and tells ---


def test_a_reason_names_parts_as_they_are_written():
    """Only the first letter of the sentence is changed."""
    network = BayesianNetwork(
        TableCPD("ECU 2", [0.5, 0.5], states=["ok", "bad"]),
        TableCPD("goal", [[1, 0], [0, 1]], ["ECU 2"], states=["works", "broken"]),
    )
    costs = Costs({"ECU 2": 5})
    advice = Troubleshooter(network, {"ECU 2": "ok"}, works={"goal": "works"}, costs=costs).start().advice
    assert advice.reason.startswith("Repair ECU 2: estimated cost 5; ")


def test_after_a_repair_yes_and_no_are_true_and_false():
    """In Python as in the shell; other texts are refused with what can be said."""
    session = two_kinds()
    for text, outcome in (("no", False), ("No", False), ("yes", True), ("works", True)):
        assert session.after("repair A", text) == session.after("repair A", outcome)
    with pytest.raises(ImpossibleEvidence, match=r"'perhaps' can't come of repair A \(whether .*: True, False"):
        session.after("repair A", "perhaps")


def test_components_may_be_named_where_the_costs_say_their_ok_states():
    """A list of names, in its order; where a state is missing, what components= is."""
    network = two_kinds().troubleshooter.device.model
    ok_states = {"B": "ok", "A": "ok"}
    costs = Costs({"A": 10, "B": 10}, ok_states=ok_states)
    named = Troubleshooter(network, ["A", "B"], works={"goal": "works"}, costs=costs)
    assert named == Troubleshooter(network, {"A": "ok", "B": "ok"}, works={"goal": "works"}, costs=costs)
    with pytest.raises(InvalidArgument, match=r"components= is \{name: ok state\}.* none for 'A'"):
        Troubleshooter(network, ["A", "B"], works={"goal": "works"}, costs=Costs({"A": 10, "B": 10}))
    with pytest.raises(InvalidArgument, match="'B' has a repair cost"):
        Troubleshooter(network, ["A"], works={"goal": "works"}, costs=costs)


@pytest.mark.parametrize(("plan", "told"), [(optimal_plan, "next_step.* exact_plan"), (exact_plan, "depth=")])
def test_a_plan_that_is_too_large_tells_what_to_do_instead(plan, told):
    """The advice and its cost in place of the best plan; fewer steps in place of a whole one."""
    with pytest.raises(TooLarge, match=f"Raise max_states=, .*{told}"):
        plan(two_kinds(), max_states=1)


def test_a_repair_that_another_would_undo_is_still_tried():
    """The device works where a is mended and b is bad: mending both breaks it, mending a alone may help."""
    parts = [pb.TableCPD(name, [0.5, 0.5], states=["ok", "bad"]) for name in ("a", "b")]
    goal = pb.TableCPD("goal", [[[0, 1], [1, 0]], [[0, 1], [0, 1]]], ["a", "b"], states=["works", "broken"])
    costs = Costs(repair={"a": 1, "b": 1})
    session = Troubleshooter(
        pb.BayesianNetwork([*parts, goal]), {"a": "ok", "b": "ok"}, works={"goal": "works"}, costs=costs
    ).start()
    assert not session.is_over
    assert session.outcomes(session.step("repair a"))[True] == pytest.approx(1 / 3)
    assert optimal_plan(session).expected_cost >= 1


def test_a_damaged_finding_in_a_record_is_named():
    helper = pb.examples.printer_troubleshooter()
    record = helper.start({"panel": "clear"}).to_dict()
    record["evidence"]["panel"] = {}
    with pytest.raises(pb.errors.FormatError, match="finding on 'panel'"):
        helper.resume(record)
