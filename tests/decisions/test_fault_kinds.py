"""Parts with several faults: which one it is tells something, so even a part that surely is faulty is looked at."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from plausible.cpds import TableCPD
from plausible.decisions.troubleshooting.device import Costs
from plausible.decisions.troubleshooting.plans import exact_plan, optimal_plan
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.models import BayesianNetwork
from seeds import few_of
from troubleshooting_oracle import random_costs, random_fault_device


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
