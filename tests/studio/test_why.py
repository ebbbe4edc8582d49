"""What panels tell of why beliefs are what they are."""

from __future__ import annotations

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


def test_trails_are_those_of_the_graph(studio):
    """Given a common effect, its causes are connected; given nothing they are not."""
    model = studio.open(ASIA, "asia")
    told = studio.ask("separation", model=model, x=["asia"], y=["smoke"])
    assert told["isSeparated"]
    assert all(trail["blockers"] and not trail["isActive"] for trail in told["trails"])
    told = studio.ask("separation", model=model, x=["asia"], y=["smoke"], given=["xray"])
    assert not told["isSeparated"]
    assert told["trails"][0]["nodes"] == ["asia", "tub", "either", "lung", "smoke"]
    assert "'xyz'" in studio.refusal("separation", model=model, x=["xyz"], y=["smoke"])["message"]


@pytest.mark.browser
def test_two_clicks_show_what_blocks(show):
    """Names are clicked, the trail is brought out; an observed collider opens it."""
    page = show(ASIA, "asia")
    panel = page.panel("Separation")
    page.select("asia")
    page.select("smoke", with_others=True)
    panel.get_by_text("separated", exact=True).wait_for()
    assert page.page.locator(".edge.blocked").count() >= 3
    page.state("xray", 0).click()
    page.settle()
    panel.get_by_text("connected", exact=True).wait_for()
    assert page.page.locator(".edge.active").count() == 4


def test_numbers_that_matter_and_changes_that_would_do(studio):
    """A change that is proposed really makes the belief as wanted: tried by an edit."""
    model = studio.open(ASIA, "asia")
    fields = {"model": model, "target": "lung", "state": 0, "evidence": {"xray": [0]}}
    told = studio.ask("tornado", **fields)
    assert told["now"] == pytest.approx(ASIA.query("lung", {"xray": "yes"})["yes"])
    swings = [round(abs(row["high"] - row["low"]), 9) for row in told["rows"]]
    assert swings == sorted(swings, reverse=True)
    changes = studio.ask("changes", **fields, probability=0.8)["rows"]
    row = next(row for row in changes if row["parameter"] == "P(xray=yes | either=no)")
    rows = studio.ask("family", model=model, name="xray")["table"]
    edit = {"action": "table", "name": "xray", "rows": [rows[0], [row["wanted"], 1 - row["wanted"]]]}
    changed = studio.desk.version(studio.ask("edit", model=model, **edit)["model"]).model
    assert changed.query("lung", {"xray": "yes"})["yes"] == pytest.approx(0.8, abs=1e-9)
    assert "between 0 and 1" in studio.refusal("changes", **fields, probability=8)["message"]
    assert "'lungs'" in studio.refusal("tornado", **fields | {"target": "lungs"})["message"]


def test_what_to_observe_next_is_ranked_by_information(studio):
    """As the library ranks it; the blanket comes with it."""
    told = studio.ask("next-questions", model=studio.open(ASIA, "asia"), target="lung", evidence={"smoke": [0]})
    expected = ASIA.mutual_information("lung", {"smoke": "yes"})["share"]
    assert {row["name"]: row["share"] for row in told["rows"]} == pytest.approx(expected.to_dict())
    assert set(told["blanket"]) == {"smoke", "either", "tub"}


@pytest.mark.browser
def test_a_belief_is_wanted_and_changes_are_found(show):
    """The panel asks for a variable, ranks what to observe, varies numbers and finds changes."""
    page = show(ASIA, "asia")
    panel = page.panel("Influence")
    page.select("lung")
    panel.get_by_role("button", name="rank").click()
    panel.get_by_text("either: 87.0%").wait_for()
    panel.get_by_role("button", name="vary each").click()
    panel.get_by_text("is a tenth smaller or larger").wait_for()
    panel.get_by_role("button", name="find changes").click()
    panel.get_by_text("should be").wait_for()
