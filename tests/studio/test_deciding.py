"""What the page tells of an influence diagram."""

from __future__ import annotations

import pytest

import plausible as pb

OIL = pb.examples.load("oil")


def test_the_strategy_is_that_of_the_wildcatter(studio):
    """Testing is worth its price; rows are told only where they can happen, and how likely they are."""
    model = studio.open(OIL, "oil")
    told = studio.ask("solution", model=model)
    assert told["expectedUtility"] == pytest.approx(OIL.solve().expected_utility)
    policies = {policy["decision"]: policy for policy in told["policies"]}
    assert policies["test"]["rows"] == [{"seen": [], "action": "yes", "chance": 1.0}]
    drill = {tuple(row["seen"]): row for row in policies["drill"]["rows"]}
    # By hand: drilling is worth 23.5 / 0.235, 5.25 / 0.33 and -17.25 / 0.435 after each result of the test.
    assert {seen: (row["action"], round(row["chance"], 3)) for seen, row in drill.items()} == {
        ("closed", "yes"): ("yes", 0.235),
        ("open", "yes"): ("yes", 0.33),
        ("diffuse", "yes"): ("no", 0.435),
    }
    assert sum(row["chance"] for row in drill.values()) == pytest.approx(1)
    ranking = studio.ask("observations", model=model, decision="drill")
    assert ranking["values"] == [
        {"name": "oil", "value": pytest.approx(OIL.value_of_information("oil", "drill").value)}
    ]
    asia = studio.open(pb.examples.load("asia"), "asia")
    assert "influence diagram" in studio.refusal("solution", model=asia)["message"]


@pytest.mark.browser
def test_an_action_is_tried_and_the_tree_is_drawn(show):
    """The panel tells the strategy; a click on an action shows what follows of another one."""
    page = show(OIL, "oil")
    panel = page.panel("Decide")
    panel.get_by_text("no other is worth more").wait_for()
    panel.get_by_role("button", name="draw the decision tree").click()
    panel.get_by_role("img", name="The decision tree, with the best choices.").wait_for()
    # What is sure to be done is marked; once the ground is known, so is whether to drill.
    assert page.state("test", 1).get_attribute("aria-label") == "yes 100%, best"
    drill = page.page.get_by_role("listbox", name="drill", exact=True)
    assert drill.locator(".chosen").count() == 0
    page.state("seismic", 2).click()
    page.settle()
    drill.locator(".chosen").wait_for()
    assert page.state("drill", 0).get_attribute("aria-label") == "no 100%, best"
    before = page.page.locator(".facts").inner_text()
    page.state("drill", 1).click()
    page.settle()
    assert page.page.locator(".facts").inner_text() != before
