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
