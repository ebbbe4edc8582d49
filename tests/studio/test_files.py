"""Files in and out of the page: models, reports, comparisons."""

from __future__ import annotations

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


@pytest.mark.parametrize("ending", [".bif", ".json", ".xdsl", ".net", ".xmlbif"])
def test_a_model_that_is_saved_opens_again(studio, ending):
    """In every format, by its name alone; folders in a name mean nothing."""
    saved = studio.ask("save", model=studio.open(ASIA, "asia.bif.gz"), ending=ending)
    assert saved["name"] == f"asia{ending}"
    response = studio.client.post("/open", params={"name": f"../../x\\asia{ending}"}, content=saved["text"].encode())
    outline = response.json()["answer"]
    assert outline["name"] == f"asia{ending}"
    assert studio.desk.version(outline["model"]).model == ASIA


def test_what_can_not_be_saved_or_read_is_refused(studio):
    """By the format, or by the place in the file."""
    diagram = studio.open(pb.examples.load("oil"), "oil")
    assert "decisions and utilities" in studio.refusal("save", model=diagram, ending=".uai")["message"]
    assert ".pkl" in studio.refusal("save", model=diagram, ending=".pkl")["message"]
    told = studio.client.post("/open", params={"name": "bad.bif"}, content=b"network x {").json()
    assert "bad.bif" in told["error"]["message"]


def test_a_relational_model_is_refused_with_what_can_be_opened(studio):
    """It is a network only on given tables."""
    coin = pb.Schema(coin={"id": ["dime"]})
    model = pb.RelationalModel(coin, [pb.TableCPD("coin.side", [0.5, 0.5], states=["heads", "tails"])])
    told = studio.client.post("/open", params={"name": "coin.json"}, content=pb.io.format_json(model).encode()).json()
    assert "'coin.json' is a relational model" in told["error"]["message"]
    assert "model.ground(tables)" in told["error"]["message"]


def test_a_report_needs_nothing_else_and_runs_nothing(studio):
    """Findings, the picture and all tables; hostile names are text."""
    hostile = pb.BayesianNetwork(
        pb.TableCPD("<script>alert(1)</script>", [0.25, 0.75], states=["<b>", "&"]),
        pb.TableCPD("B", [[0.5, 0.5], [0.1, 0.9]], parents=["<script>alert(1)</script>"]),
    )
    told = studio.ask("report", model=studio.open(hostile, "<x>.json"), evidence={"B": [1]})
    assert "<script" not in told["text"].lower()
    assert "http" not in told["text"].replace("http://www.w3.org", "")
    asia = studio.ask("report", model=studio.open(ASIA, "asia"), evidence={"xray": [0]}, do={"smoke": [1]})["text"]
    assert "xray = yes" in asia
    assert "smoke := no" in asia
    assert asia.count("<table>") >= len(ASIA.variables)
    assert "<svg" in asia
    soft = {"xray": {"kind": "jeffrey", "weights": [0.8, 0.2]}}
    assert "xray = " in studio.ask("report", model=studio.open(ASIA, "asia"), evidence=soft)["text"]


def test_two_files_are_compared(studio):
    """In words and in one picture."""
    other = studio.open(ASIA.without_edge("asia", "tub"), "other")
    told = studio.ask("comparison", model=studio.open(ASIA, "asia"), other=other)
    assert "asia -> tub" in told["text"]
    assert told["svg"].startswith("<svg")


@pytest.mark.browser
def test_pictures_and_a_report_are_taken_away(show):
    """What is downloaded is what it says it is."""
    page = show(ASIA, "asia.bif")
    panel = page.panel("File")
    for button, name, begins in (
        ("picture as SVG", "asia.svg", b"<svg"),
        ("picture as PNG", "asia.png", b"\x89PNG"),
        ("report as HTML", "asia.html", b"<!doctype html>"),
    ):
        with page.page.expect_download() as download:
            panel.get_by_role("button", name=button).click()
        assert download.value.suggested_filename == name
        with open(download.value.path(), "rb") as file:
            assert file.read(20).startswith(begins)
