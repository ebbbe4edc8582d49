"""What the page tells of effects, if arrows are causes."""

from __future__ import annotations

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


def test_an_effect_is_told_with_its_formula_or_with_what_forbids_one(studio):
    """Adjusting for smoking is enough; with a hidden common cause nothing is."""
    fields = {"model": studio.open(ASIA, "asia"), "treatment": "lung", "outcome": "dysp"}
    told = studio.ask("effect", **fields)
    assert told["isIdentified"]
    assert ["smoke"] in told["sets"]
    for row in told["rows"]:
        assert row["set"] == pytest.approx(ASIA.query("dysp", do={"lung": row["state"]}).values.tolist())
        assert row["seen"] == pytest.approx(ASIA.query("dysp", {"lung": row["state"]}).values.tolist())
    hidden = studio.ask("effect", **fields, hidden=["smoke"])
    assert hidden["isIdentified"]
    assert all("smoke" not in chosen for chosen in hidden["sets"])
    refused = studio.ask("effect", **fields, confounded=[["lung", "dysp"], ["lung", "either"]], hidden=["tub"])
    assert not refused["isIdentified"]
    assert "lung" in refused["hedge"]
    assert "'pairs'" not in studio.refusal("effect", **fields, confounded=[["lung"]])["message"]
    assert "'cough'" in studio.refusal("effect", **fields | {"outcome": "cough"})["message"]


def test_an_effect_is_estimated_from_rows(studio):
    """By the library's own estimate, with what nobody observes left out of the rows."""
    rows = ASIA.sample(3000, seed=1)
    number = studio.desk.put_table(pb.Table.read(rows), "rows.csv")
    fields = {"model": studio.open(ASIA, "asia"), "table": number, "treatment": "smoke", "outcome": "bronc"}
    assert studio.ask("estimate", **fields)["text"] == str(
        pb.causal.estimate_effect(ASIA.graph, rows, "bronc", "smoke")
    )
    refused = studio.refusal("estimate", **fields, confounded=[["smoke", "bronc"]])
    assert refused["kind"] == "NotIdentifiable"


@pytest.mark.browser
def test_a_hidden_cause_takes_the_formula_away(show):
    """A cause and an effect are clicked; what nobody observes changes what can be said."""
    page = show(ASIA, "asia")
    panel = page.panel("Causes")
    page.select("smoke")
    page.select("bronc", with_others=True)
    panel.get_by_text("The effect follows from what is observed").wait_for()
    panel.get_by_role("button", name="a hidden common cause of smoke and bronc").click()
    panel.get_by_text("Nothing that is observed tells this effect").wait_for()
    assert page.page.locator("g.node.blocks, g.node.selected").count() >= 2
