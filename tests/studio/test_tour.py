"""The tour: each of its steps does what it says."""

from __future__ import annotations

import pytest

import plausible as pb


@pytest.mark.browser
def test_the_tour_goes_through_the_page(show):
    """Its buttons see findings, show trails, open panels; elsewhere there is no tour."""
    page = show(pb.examples.load("asia"), "asia", at="?tour")
    tour = page.page.get_by_role("tabpanel", name="Tour")
    tour.get_by_role("button", name="xray = yes").click()
    tour.get_by_role("button", name="asia = yes").click()
    page.page.get_by_text("asia = yes", exact=True).first.wait_for()
    page.settle()
    tour.get_by_role("button", name="show the trail").click()
    page.page.locator(".edge.active").first.wait_for()
    for button, panel in (("ask for lung", "Influence"), ("edit dysp", "Edit"), ("open Learn", "Learn")):
        page.panel("Tour").get_by_role("button", name=button).click()
        page.page.get_by_role("tabpanel", name=panel).wait_for()
    page.panel("Tour").get_by_role("button", name="start anew").click()
    page.page.locator(".findings").wait_for(state="detached")
    assert show(pb.examples.load("asia"), "asia").page.get_by_role("tab", name="Tour").count() == 0
