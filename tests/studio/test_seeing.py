"""What the page shows of a model: beliefs as the library computes them, at a click."""

from __future__ import annotations

import pytest

import plausible as pb
from plausible.studio import desk

ASIA = pb.examples.load("asia")


def test_answers_are_those_of_the_library(studio):
    """Every belief of a scene equals the marginal, with and without findings."""
    model = studio.open(ASIA, "asia")
    for evidence, do in (({}, {}), ({"xray": [0]}, {}), ({"dysp": [0]}, {"smoke": [1]})):
        told = studio.ask("scene", model=model, evidence=evidence, do=do)["answer"]
        named = {name: ASIA.variables[name].states[place] for name, (place,) in evidence.items()}
        set_to = {name: ASIA.variables[name].states[place] for name, (place,) in do.items()}
        expected = ASIA.marginals(evidence=named, do=set_to)
        assert told["beliefs"].keys() == ASIA.variables.keys()
        for name, belief in told["beliefs"].items():
            assert belief["now"] == pytest.approx(expected[name].flat.tolist(), abs=1e-12)


def test_an_effort_that_nobody_knows_is_refused(studio):
    """With those that there are; nothing is taken for another."""
    refused = studio.refusal("scene", model=studio.open(ASIA, "asia"), effort="endless")
    assert "'endless' is no effort: quick, patient, approximate" in refused["message"]


@pytest.mark.browser
def test_a_click_moves_beliefs_and_another_click_brings_them_back(show):
    """As a person would."""
    page = show(ASIA, "asia")
    lung = page.state("lung", 0).locator("text").last
    before = lung.text_content()
    page.state("xray", 0).click()
    page.settle()
    assert lung.text_content() == "48.9%"
    page.state("xray", 0).click()
    page.settle()
    assert lung.text_content() == before


@pytest.mark.browser
def test_a_likelihood_and_a_belief_to_establish_are_told_by_a_form(show):
    """By the tool, by the key, and again to change it."""
    page = show(ASIA, "asia")
    page.page.get_by_role("radio", name="soft").click()
    page.state("xray", 0).click()
    form = page.page.get_by_role("form", name="weights for xray")
    form.get_by_label("yes").fill("8")
    form.get_by_label("no").fill("1")
    form.get_by_role("button", name="tell").click()
    page.settle()
    seen = page.state("lung", 0).locator("text").last
    assert seen.text_content() == f"{100 * ASIA.query('lung', {'xray': pb.likelihood([8, 1])})['yes']:.1f}%"
    page.page.get_by_role("radio", name="see").click()
    page.page.get_by_label("find a variable").fill("xray")
    page.page.get_by_label("find a variable").press("Enter")
    page.page.keyboard.press("w")
    assert form.get_by_label("yes").input_value() == "8"
    form.get_by_role("radio", name="Jeffrey").click()
    form.get_by_label("yes").fill("60")
    form.get_by_label("no").fill("40")
    page.page.keyboard.press("Enter")
    page.settle()
    assert seen.text_content() == f"{100 * ASIA.query('lung', {'xray': pb.jeffrey([0.6, 0.4])})['yes']:.1f}%"
    assert form.count() == 0
    page.page.keyboard.press("Tab")
    page.page.get_by_label("find a variable").fill("xray")
    page.page.get_by_label("find a variable").press("Enter")
    page.page.keyboard.press("Delete")
    page.settle()
    assert seen.text_content() == f"{100 * ASIA.query('lung')['yes']:.1f}%"


@pytest.mark.browser
def test_quick_clicks_all_count(show):
    """What is clicked while an answer is on its way is not lost."""
    page = show(ASIA, "asia")
    for name in ("xray", "smoke", "asia", "bronc"):
        page.state(name, 0).evaluate("one => one.dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.settle()
    chips = page.page.locator(".findings li:not(.plain) span")
    chips.nth(3).wait_for()
    assert sorted(chips.all_text_contents()) == ["asia = yes", "bronc = yes", "smoke = yes", "xray = yes"]


@pytest.mark.browser
def test_what_takes_too_long_is_offered_at_a_price(show, monkeypatch):
    """Exactly, for those who wait; or approximately, which is said with how far off it may be."""
    hurried = {"budget": pb.Budget(seconds=1e-7)}
    monkeypatch.setitem(desk.EFFORTS, "quick", hurried)
    monkeypatch.setitem(desk.EFFORTS, "approximate", {"engine": "auto", **hurried})
    alarm = pb.examples.load("alarm")
    page = show(alarm, "alarm")
    message = page.page.locator(".plausible-live .message")
    assert "would take about" in message.inner_text()
    assert "budget=" not in message.inner_text()
    message.get_by_role("button", name="approximate").click()
    page.page.locator("svg.approximate").wait_for()
    assert "approximate" in page.page.locator(".facts").inner_text()
    message.get_by_role("button", name="only what is quick").click()
    message.get_by_role("button", name="compute anyway (about 1 s)").click()
    page.page.get_by_text("Exact, however long it takes").wait_for()
    page.state("HRBP", 0).click()
    page.settle()
    states = alarm.variables["HRBP"].states
    expected = alarm.query("HYPOVOLEMIA", {"HRBP": states[0]}).flat
    shown = page.page.get_by_role("listbox", name="HYPOVOLEMIA", exact=True).locator(".row text:last-of-type")
    assert shown.all_text_contents() == [f"{100 * share:.1f}%" for share in expected]


CHAIN = pb.BayesianNetwork(
    pb.TableCPD("X0", [0.5, 0.5]),
    *(pb.TableCPD(f"X{i}", [[0.9, 0.1], [0.2, 0.8]], parents=[f"X{i - 1}"]) for i in range(1, 300)),
)


def test_beliefs_are_of_what_the_scene_shows_whatever_is_seen_later(studio):
    """A scene that was laid out around some findings keeps its nodes while others come."""
    model = studio.open(CHAIN, "chain")
    scene = studio.ask("scene", model=model, evidence={"X100": [0]})["scene"]
    shown = {node["name"] for node in scene["nodes"]}
    assert "X100" in shown
    for evidence in ({"X100": [0], "X101": [1]}, {"X250": [0]}, {}):
        told = studio.ask("beliefs", model=model, evidence=evidence, around=["X100"])
        assert told["answer"]["beliefs"].keys() == shown


@pytest.mark.browser
def test_all_of_a_large_network_is_seen_with_few_of_its_nodes_in_the_page(show):
    """What is in sight is there, wherever one goes: by the overview, by name, from far away."""
    page = show(CHAIN, "chain")
    nodes = page.page.locator("g.node")
    assert nodes.count() < 60
    page.page.get_by_role("button", name="all 300").click()
    page.page.locator("canvas.ground").wait_for()
    page.settle()
    page.state("X0", 0).wait_for()
    assert nodes.count() < 60
    overview = page.page.get_by_role("button", name="overview")
    box = overview.bounding_box()
    overview.click(position={"x": box["width"] / 2, "y": box["height"] - 5})
    page.state("X298", 0).click()
    page.settle()
    assert page.page.locator(".findings").inner_text().startswith("X298 = 0")
    overview.focus()
    page.page.keyboard.press("ArrowUp")
    page.state("X290", 0).wait_for()
    page.page.get_by_label("find a variable").fill("X100")
    page.page.get_by_label("find a variable").press("Enter")
    page.page.locator('[data-name="X100"] :focus').wait_for()
    page.page.keyboard.press("Enter")
    page.settle()
    assert "X100 = 0" in page.page.locator(".findings").inner_text()
    page.page.get_by_role("button", name="fit").click()
    for _ in range(12):
        page.page.get_by_role("button", name="larger").click()
    nodes.first.wait_for(state="detached")
    paper = page.page.locator(".paper").bounding_box()
    for step in range(8):  # between two boxes nothing happens
        page.page.mouse.click(paper["x"] + paper["width"] / 2, paper["y"] + paper["height"] / 2 + 3 * step)
    nodes.first.wait_for()
    page.page.get_by_role("button", name="a part").click()
    page.page.locator("canvas.ground").wait_for(state="detached")
    assert "hidden" in page.page.locator(".plausible-live > .hint").last.inner_text()


@pytest.mark.browser
def test_names_are_typed_to_their_end_before_anything_is_found(show):
    """HR begins HRSAT; Enter finds, and gives no finding."""
    page = show(pb.examples.load("alarm"), "alarm")
    find = page.page.get_by_label("find a variable")
    find.press_sequentially("HRS")
    assert find.input_value() == "HRS"
    find.press("Enter")
    page.page.get_by_role("listbox", name="HRSAT", exact=True).locator(":focus").wait_for()
    page.settle()
    assert page.page.get_by_role("list", name="findings").count() == 0
    find.fill("nothing like it")
    find.press("Enter")
    page.page.get_by_text("no such name").wait_for()


@pytest.mark.browser
def test_tabs_and_tools_are_walked_by_arrows(show):
    """Tab reaches one of them, arrows the others, Enter opens a panel; of tools an arrow chooses the next."""
    page = show(ASIA, "asia")
    tabs = page.page.get_by_role("tab")
    assert [tab.get_attribute("tabindex") for tab in tabs.all()].count("0") == 1
    tabs.first.focus()
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowDown")
    name = tabs.nth(2).inner_text()
    assert page.page.locator(":focus").inner_text() == name
    assert page.page.get_by_role("tabpanel").count() == 0
    page.page.keyboard.press("Enter")
    page.page.get_by_role("tabpanel", name=name).wait_for()
    page.page.keyboard.press("Tab")
    assert page.page.locator(":focus").get_attribute("role") == "tabpanel"
    page.page.keyboard.press("Shift+Tab")
    page.page.keyboard.press("Home")
    page.page.keyboard.press("ArrowLeft")
    assert page.page.locator(":focus").inner_text() == tabs.last.inner_text()
    page.page.get_by_role("radio", name="see").focus()
    page.page.keyboard.press("ArrowRight")
    assert page.page.get_by_role("radio", name="not").get_attribute("aria-checked") == "true"
