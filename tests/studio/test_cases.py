"""Named cases: side by side, and as files."""

from __future__ import annotations

import json

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")
XRAY = {"name": "X-ray", "evidence": {"xray": [0]}}
SMOKER = {
    "name": "smoker",
    "evidence": {"xray": [0], "bronc": {"kind": "likelihood", "weights": [1, 2]}},
    "do": {"smoke": [0]},
}


def test_cases_stand_side_by_side_with_their_difference(studio):
    """Each number is a query of its own."""
    told = studio.ask("compare-cases", model=studio.open(ASIA), cases=[XRAY, SMOKER], names=["lung", "bronc"])
    first = ASIA.query("lung", {"xray": "yes"})["yes"]
    second = ASIA.query("lung", {"xray": "yes", "bronc": pb.likelihood([1, 2])}, do={"smoke": "yes"})["yes"]
    lung = told["groups"][0]
    assert [group["name"] for group in told["groups"]] == ["lung", "bronc"]
    assert lung["rows"][0]["label"] == "yes"
    assert lung["rows"][0]["texts"] == [f"{100 * first:.1f}%", f"{100 * second:.1f}%"]
    assert lung["rows"][0]["difference"] == f"{100 * (second - first):+.1f}".replace("-", "−")
    assert told["cases"][0]["fact"] == f"P(evidence) = {100 * ASIA.query('xray')['yes']:.1f}%"


def test_a_case_that_can_not_be_says_so_beside_the_others(studio):
    """Its cells are empty, and there is no difference."""
    impossible = {"name": "no", "evidence": {"tub": [0], "either": [1]}}
    told = studio.ask("compare-cases", model=studio.open(ASIA), cases=[XRAY, impossible], names=["lung"])
    assert told["cases"][0]["message"] == ""
    assert "probability zero" in told["cases"][1]["message"]
    assert told["groups"][0]["rows"][0]["texts"][1] == ""
    assert "difference" not in told["groups"][0]["rows"][0]


def test_numbers_and_utilities_are_compared_too(studio):
    """Means by regression, and what is expected of a decision."""
    heights = pb.BayesianNetwork(
        pb.TableCPD("sex", [0.5, 0.5], states=["f", "m"]),
        pb.ConditionalGaussianCPD(
            "height", parents=["sex"], intercept=[165.0, 178.0], coefficients={}, variance=[36.0, 49.0]
        ),
    )
    cases = [{"name": sex, "evidence": {"sex": [place]}} for place, sex in enumerate("fm")]
    told = studio.ask("compare-cases", model=studio.open(heights), cases=cases, names=["height"])
    assert told["groups"][0]["rows"] == [
        {"label": "mean", "texts": ["165", "178"], "difference": "+13"},
        {"label": "deviation", "texts": ["6", "7"], "difference": "+1"},
    ]
    oil = studio.open(pb.examples.load("oil"))
    actions = pb.examples.load("oil").variables["drill"].states
    cases = [{"name": "dry", "evidence": {}, "do": {"drill": [place]}} for place in range(2)]
    told = studio.ask("compare-cases", model=oil, cases=cases, names=[])
    assert told["groups"][0]["title"] == "expected utility"
    never = told["groups"][0]["rows"][0]["texts"][list(actions).index("no")]
    assert float(never) <= 0  # who never drills pays for the test at most


def test_cases_come_back_from_their_file(studio):
    """By names of variables and states, whatever their kind; what another model lacks is told, and left out."""
    model = studio.open(ASIA, "asia.bif")
    several = {
        "name": "one of\n<b>",
        "evidence": {"bronc": [0, 1], "dysp": {"kind": "jeffrey", "weights": [0.25, 0.75]}},
    }
    saved = studio.ask("write-cases", model=model, cases=[XRAY, SMOKER, several])
    assert saved["name"] == "asia.cases.json"
    assert json.loads(saved["text"])["cases"][0] == {"name": "X-ray", "evidence": {"xray": "yes"}}
    back = studio.ask("read-cases", model=model, text=saved["text"])
    assert back["missing"] == []
    for told, kept in zip(back["cases"], [XRAY, SMOKER, several], strict=True):
        assert (told["evidence"], told["do"]) == (kept["evidence"], kept.get("do", {}))
    other = studio.open(ASIA.renamed({"bronc": "Bronchitis"}))
    back = studio.ask("read-cases", model=other, text=saved["text"])
    assert back["cases"][1]["evidence"] == {"xray": [0]}
    assert "'bronc'" in back["missing"][0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"format": "plausible cases"}',
        '{"format": "plausible cases", "cases": [1]}',
        "[" * 10**5,
    ],
)
def test_other_files_are_no_cases(studio, text):
    """Refused in words."""
    assert studio.refusal("read-cases", model=studio.open(ASIA), text=text)["kind"] == "InvalidArgument"


@pytest.mark.parametrize(
    "written",
    [
        "maybe",
        ["yes", "maybe"],
        [],
        7,
        True,
        None,
        {"likelihood": [1]},
        {"likelihood": ["a", "b"]},
        {"jeffrey": [1, 1]},
        {"x": 1},
        {},
    ],
)
def test_what_is_no_finding_in_a_file_is_left_out_and_told(studio, written):
    """The rest of the case is read."""
    text = json.dumps(
        {"format": "plausible cases", "cases": [{"name": "a", "evidence": {"dysp": "yes", "xray": written}}]}
    )
    back = studio.ask("read-cases", model=studio.open(ASIA), text=text)
    assert back["cases"] == [{"name": "a", "evidence": {"dysp": [0]}, "do": {}, "findings": ["dysp = yes"]}]
    assert len(back["missing"]) == 1


def test_too_many_cases_are_refused(studio):
    """With how many are compared."""
    assert (
        "Up to 8 cases"
        in studio.refusal("compare-cases", model=studio.open(ASIA), cases=[XRAY] * 9, names=[])["message"]
    )
    assert "object" in studio.refusal("compare-cases", model=studio.open(ASIA), cases=["x"], names=[])["message"]


@pytest.mark.browser
def test_cases_are_kept_compared_saved_and_dropped_back(show, tmp_path):
    """As a person would, with two patients."""
    page = show(ASIA, "asia")
    page.state("xray", 0).click()
    page.settle()
    panel = page.panel("Cases")
    panel.get_by_label("name of the case").fill("Anna")
    panel.get_by_role("button", name="keep what is known").click()
    page.state("xray", 1).click()
    page.settle()
    panel.get_by_label("name of the case").fill("Berta")
    panel.get_by_role("button", name="keep what is known").click()
    page.select("lung")
    cells = panel.get_by_role("row", name="yes").get_by_role("cell")
    cells.nth(2).wait_for()
    anna, berta = (ASIA.query("lung", {"xray": state})["yes"] for state in ("yes", "no"))
    assert cells.all_text_contents() == [
        f"{100 * anna:.1f}%",
        f"{100 * berta:.1f}%",
        f"{100 * (berta - anna):+.1f}".replace("-", "−"),
    ]
    with page.page.expect_download() as download:
        panel.get_by_role("button", name="save cases").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "asia.cases.json"
    for name in ("Anna", "Berta"):
        panel.get_by_role("button", name=f"forget {name}").click()
    panel.get_by_text("keep them under a name").wait_for()
    panel.get_by_label("file of cases").set_input_files(file)
    panel.get_by_role("button", name="Anna xray = yes").click()
    page.settle()
    assert page.page.locator(".findings").inner_text().startswith("xray = yes")
    drop = """async ([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    }"""
    page.page.evaluate(drop, ["more.cases.json", file.read_text(encoding="utf-8").replace("Anna", "Clara")])
    panel.get_by_role("button", name="Clara xray = yes").wait_for()
