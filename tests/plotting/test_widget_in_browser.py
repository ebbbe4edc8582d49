"""The notebook widget in Chromium, used as a person would: what is shown is what the model believes."""

from __future__ import annotations

import pytest

import plausible as pb
from live_page import LACKING, LivePage, chromium
from plausible.plotting import Text
from plausible.plotting.palette import PALETTE

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(LACKING), reason=LACKING or "all is there")]

ASIA = pb.examples.load("asia")


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def live(browser):
    """A page of its own, on which nothing may go wrong."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    shown = LivePage(page)
    yield shown
    page.close()
    assert shown.problems == []


def state(view, name, place):
    """A state of a variable, by its place."""
    return view.get_by_role("listbox", name=name, exact=True).get_by_role("option").nth(place)


def numbers(view, name):
    """What stands beside the bars of a variable."""
    return view.get_by_role("listbox", name=name, exact=True).locator(".row text:last-of-type").all_text_contents()


def in_picture(picture, name):
    """The same in the still picture: its texts come by twos, after the name and what is told beside it."""
    part = next(part for part in picture.of_kind("node") if part.name == name)
    return [
        item.text for item in part.items if isinstance(item, Text) and item.anchor == "end" and item.text[-1] in "%+−"
    ]


def assert_shows(view, model, evidence=None, do=None):
    """All numbers are those of the model's still picture."""
    picture = model.picture(evidence, do)
    for name in model.variables:
        assert numbers(view, name) == in_picture(picture, name), name


def test_a_click_sees_a_state_and_another_click_retracts_it(live):
    """Beliefs move each time; Python knows."""
    widget = ASIA.widget()
    view = live.show(widget)
    assert_shows(view, ASIA)
    live.click(state(view, "xray", 0))
    assert widget.evidence == {"xray": "yes"}
    assert_shows(view, ASIA, {"xray": "yes"})
    assert view.locator(".facts").inner_text() == f"P(evidence) = {100 * ASIA.query('xray')['yes']:.1f}%"
    assert state(view, "xray", 0).get_attribute("aria-selected") == "true"
    live.click(state(view, "dysp", 1))
    assert_shows(view, ASIA, {"xray": "yes", "dysp": "no"})
    live.click(state(view, "xray", 0))
    live.click(state(view, "dysp", 1))
    assert widget.evidence == {}
    assert_shows(view, ASIA)


def test_bars_and_ticks_are_as_long_as_what_they_tell(live):
    """In shares of the track."""
    view = live.show(ASIA.widget({"xray": "yes"}))
    row = state(view, "lung", 0)
    track, bar, tick = (row.locator(f".{part}") for part in ("track", "bar", "tick"))
    width = float(track.get_attribute("width"))
    assert float(bar.get_attribute("width")) / width == pytest.approx(ASIA.query("lung", {"xray": "yes"})["yes"])
    before = (float(tick.get_attribute("x1")) - float(track.get_attribute("x"))) / width
    assert before == pytest.approx(ASIA.query("lung")["yes"])


def test_a_click_with_shift_says_not_this(live):
    """The other states are left, and one at least."""
    alarm = pb.examples.load("alarm")
    widget = alarm.widget()
    view = live.show(widget)
    states = alarm.variables["HR"].states
    live.click(state(view, "HR", 0), modifiers=["Shift"])
    assert widget.evidence == {"HR": list(states[1:])}
    assert_shows(view, alarm, {"HR": states[1:]})
    assert "HR ≠ LOW" in view.locator(".findings").inner_text()
    live.click(state(view, "HR", 2), modifiers=["Shift"])
    assert widget.evidence == {"HR": states[1]}
    live.click(state(view, "HR", 1), modifiers=["Shift"])
    assert widget.evidence == {"HR": states[1]}
    live.click(view.get_by_role("radio", name="not"))
    live.click(state(view, "CO", 0))
    assert widget.evidence == {"HR": states[1], "CO": list(alarm.variables["CO"].states[1:])}


def test_interventions_cut_arcs(live):
    """By Alt, or once "do" is chosen; a click elsewhere in the node moves it, again retracts it."""
    widget = ASIA.widget({"dysp": "yes"})
    view = live.show(widget)
    live.click(state(view, "bronc", 0), modifiers=["Alt"])
    assert widget.do == {"bronc": "yes"}
    assert_shows(view, ASIA, {"dysp": "yes"}, {"bronc": "yes"})
    cut = view.locator(".edge.cut title").all_text_contents()
    assert cut == ["smoke -> bronc"]
    live.click(state(view, "bronc", 1))
    assert (widget.evidence, widget.do) == ({"dysp": "yes"}, {"bronc": "no"})
    live.click(state(view, "bronc", 1))
    live.click(view.get_by_role("radio", name="do"))
    live.click(state(view, "smoke", 0))
    assert widget.do == {"smoke": "yes"}
    assert_shows(view, ASIA, {"dysp": "yes"}, {"smoke": "yes"})


def test_keys_do_it_all(live):
    """Tab to a node, arrows to a state, Enter, Shift+Enter, D and Delete."""
    widget = ASIA.widget()
    view = live.show(widget)
    view.get_by_role("searchbox").or_(view.get_by_role("combobox")).fill("bronc")
    live.press("Enter")
    for key, evidence, do in [
        ("Enter", {"bronc": "yes"}, {}),
        ("ArrowDown", {"bronc": "yes"}, {}),
        ("Enter", {"bronc": "no"}, {}),
        ("ArrowUp", {"bronc": "no"}, {}),
        ("Shift+Enter", {}, {}),
        ("Shift+Enter", {"bronc": "no"}, {}),
        ("d", {}, {"bronc": "yes"}),
        ("End", {}, {"bronc": "yes"}),
        ("Space", {}, {"bronc": "no"}),
        ("Delete", {}, {}),
    ]:
        live.press(key)
        assert (widget.evidence, widget.do) == (evidence, do), key
    live.press("Tab")
    live.press("Enter")
    order = [node["name"] for node in widget._scene["nodes"]]
    assert widget.evidence == {order[order.index("bronc") + 1]: "yes"}


def test_weights_of_states_are_told_by_a_form(live):
    """As a likelihood, or as the belief to establish; Python has them as its own."""
    widget = ASIA.widget()
    view = live.show(widget)
    view.get_by_role("searchbox").or_(view.get_by_role("combobox")).fill("bronc")
    live.press("Enter")
    live.press("w")
    form = view.get_by_role("form", name="weights for bronc")
    form.get_by_label("yes").fill("3")
    live.press("Enter")
    assert widget.evidence == {"bronc": pb.likelihood([3.0, 1.0])}
    for key in ("w", "Escape", "w", "Enter"):  # keys go back to the node
        live.press(key)
    assert widget.evidence == {"bronc": pb.likelihood([3.0, 1.0])}
    assert_shows(view, ASIA, {"bronc": pb.likelihood([3, 1])})
    live.click(view.get_by_role("radio", name="soft"))
    live.click(state(view, "xray", 0))
    form = view.get_by_role("form", name="weights for xray")
    form.get_by_role("radio", name="Jeffrey").click()
    form.get_by_label("yes").fill("")
    form.get_by_label("no").fill("")
    assert form.get_by_role("button", name="tell").is_disabled()
    form.get_by_label("yes").fill("25")
    form.get_by_label("no").fill("75")
    live.click(form.get_by_role("button", name="tell"))
    assert widget.evidence == {"bronc": pb.likelihood([3.0, 1.0]), "xray": pb.jeffrey([0.25, 0.75])}


def test_findings_are_listed_and_can_be_retracted(live):
    """One by one, and all."""
    widget = ASIA.widget({"xray": "yes", "asia": "yes"}, {"smoke": "no"})
    view = live.show(widget)
    live.click(view.get_by_role("button", name="retract xray = yes"))
    assert widget.evidence == {"asia": "yes"}
    live.click(view.get_by_role("button", name="clear all"))
    assert (widget.evidence, widget.do) == ({}, {})
    assert_shows(view, ASIA)


def test_impossible_evidence_is_told_and_goes_again(live):
    """In words, with no numbers; the finding that caused it is retracted by a click."""
    widget = ASIA.widget({"tub": "yes"})
    view = live.show(widget)
    live.click(state(view, "either", 1))
    assert "probability zero" in view.get_by_role("alert").inner_text()
    assert numbers(view, "lung") == ["", ""]
    live.click(state(view, "either", 1))
    assert view.get_by_role("alert").count() == 0
    assert_shows(view, ASIA, {"tub": "yes"})


def test_what_python_changes_is_shown(live):
    """Evidence that code sets, soft findings too."""
    widget = ASIA.widget()
    view = live.show(widget)
    widget.evidence = {"xray": "no", "bronc": pb.likelihood([0.9, 0.2])}
    live.tell(widget)
    assert_shows(view, ASIA, {"xray": "no", "bronc": pb.likelihood([0.9, 0.2])})
    live.click(state(view, "xray", 1))
    assert widget.evidence == {"bronc": pb.likelihood([0.9, 0.2])}


def test_two_widgets_in_a_page_keep_apart(live):
    """What is clicked in one does not move the other."""
    other_net = pb.examples.load("cancer") if "cancer" in pb.examples.names() else ASIA
    one, other = ASIA.widget(), other_net.widget()
    view, other_view = live.show(one), live.show(other)
    live.click(state(view, "xray", 0))
    assert_shows(view, ASIA, {"xray": "yes"})
    assert_shows(other_view, other_net)
    assert other.evidence == {}
    live.page.evaluate("window.closeView(0)")
    assert view.count() == 1
    assert_shows(live.page.locator(".plausible-live").first, other_net)


def test_long_lists_fold_and_stay_while_somebody_points_at_them(live):
    """The likeliest states and one row for all others, which opens the list."""
    weights = [1, 9, 2, 8, 3, 7, 4, 6, 5, 0]
    net = pb.BayesianNetwork(
        pb.TableCPD("X", [weight / 45 for weight in weights]),
        pb.TableCPD("Y", [[0.5 + place / 30, 0.5 - place / 30] for place in range(10)], parents=["X"]),
    )
    widget = net.widget()
    view = live.show(widget)
    assert len(numbers(view, "X")) == 6
    assert_shows(view, net)
    row = view.get_by_role("listbox", name="X").get_by_role("option", name="5 more")
    live.click(row)
    assert len(numbers(view, "X")) == 10
    live.click(state(view, "X", 8))
    assert widget.evidence == {"X": 8}
    live.click(view.get_by_text("less", exact=True))
    live.page.mouse.move(5, 5)
    labels = [row.get_attribute("aria-label") for row in view.locator("[data-name=X] .row").all()]
    assert labels[-2:] == ["8 100%", "5 more 0%"]
    assert_shows(view, net, {"X": 8})
    live.click(state(view, "X", 0))
    live.click(state(view, "X", 0))
    assert widget.evidence == {}, "the row under the pointer is still the same"


def test_numbers_are_given_in_a_field(live):
    """Means move; the evidence is the number."""
    net = pb.BayesianNetwork(
        pb.LinearGaussianCPD("x", 1.0, variance=4.0), pb.LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)
    )
    widget = net.widget()
    view = live.show(widget)
    live.click(view.get_by_role("button", name="y: "))
    live.page.keyboard.type("2")
    live.press("Enter")
    assert widget.evidence == {"y": 2.0}
    assert "3 ± 1.79" in view.locator("[data-name=x]").text_content()  # by hand, as in the test of still pictures


def test_large_models_are_searched_and_walked_through(live):
    """A name that is not shown is found; what is hidden beside a node is a click away."""
    cpds = [pb.TableCPD("X0", [0.5, 0.5])]
    cpds += [pb.TableCPD(f"X{i}", [[0.9, 0.1], [0.2, 0.8]], parents=[f"X{i - 1}"]) for i in range(1, 200)]
    chain = pb.BayesianNetwork(cpds)
    widget = chain.widget(focus="X5")
    view = live.show(widget)
    assert view.get_by_role("listbox", name="X150", exact=True).count() == 0
    view.get_by_label("find a variable").fill("X150")
    view.get_by_label("find a variable").press("Enter")
    view.locator("[data-name=X150] :focus").wait_for()
    assert widget.focus == ["X150"]
    live.press("Enter")
    assert widget.evidence == {"X150": 0}
    assert numbers(view, "X149") == in_picture(chain.picture({"X150": 0}, focus="X150"), "X149")
    last = max(int(name[1:]) for name in widget.beliefs)
    node = view.locator(".node", has=live.page.locator(f'[data-name="X{last}"]'))
    live.click(node.get_by_text("+1"))
    assert widget.focus == [f"X{last}"]


def test_diagrams_take_actions(live):
    """A click on an action takes it, and the expected utility is told."""
    solution = pb.examples.load("oil").solve()
    widget = solution.widget()
    view = live.show(widget)
    assert view.locator(".facts").inner_text() == "Expected utility 16.75"
    live.click(state(view, "test", 0))
    live.click(state(view, "drill", 1))
    assert widget.do == {"test": "no", "drill": "yes"}
    expected = pb.examples.load("oil").expected_utility({"test": "no", "drill": "yes"})
    assert view.locator(".facts").inner_text() == f"Expected utility {expected:g}"


def test_hostile_names_are_text(live):
    """Nothing of them is run or becomes markup, nor breaks a label."""
    evil = "<img src=x onerror=alert(1)>'\"{x}"
    net = pb.BayesianNetwork(pb.TableCPD(evil, [0.3, 0.7], states=["</text><script>alert(2)</script>", "__proto__"]))
    widget = net.widget()
    view = live.show(widget)
    live.page.on("dialog", lambda dialog: live.problems.append(dialog.message))
    live.click(state(view, evil, 1))
    assert widget.evidence == {evil: "__proto__"}
    assert view.locator("img, script").count() == 0
    proto = pb.BayesianNetwork(pb.TableCPD("__proto__", [0.3, 0.7]), pb.TableCPD("constructor", [0.5, 0.5])).widget()
    other = live.show(proto)
    live.click(state(other, "__proto__", 1))
    live.click(state(other, "constructor", 0))
    assert proto.evidence == {"__proto__": 1, "constructor": 0}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_those_of_still_pictures(browser, scheme):
    """Of the page's scheme, unless the notebook says that its own is another."""
    page = browser.new_page(color_scheme=scheme)
    view = LivePage(page).show(ASIA.widget({"xray": "yes"}))

    def colours():
        told = page.evaluate(
            "element => getComputedStyle(element).fill", state(view, "lung", 0).locator(".bar").element_handle()
        )
        ground = page.evaluate("element => getComputedStyle(element).backgroundColor", view.element_handle())
        return told, ground

    def rgb(colour, shade):
        text = PALETTE[colour][shade]
        return "rgb({}, {}, {})".format(*(int(text[place : place + 2], 16) for place in (1, 3, 5)))

    shade = ["light", "dark"].index(scheme)
    assert colours() == (rgb("bar", shade), rgb("paper", shade))
    page.evaluate("told => (document.body.dataset.jpThemeLight = told)", "true" if scheme == "dark" else "false")
    assert colours() == (rgb("bar", 1 - shade), rgb("paper", 1 - shade))
    page.close()


def test_the_still_picture_can_be_saved(live):
    """As an SVG file, the same as Python's."""
    view = live.show(ASIA.widget({"xray": "yes"}))
    with live.page.expect_download() as download:
        view.get_by_role("button", name="save").click()
    assert download.value.suggested_filename == "asia.svg"
    assert download.value.path().read_text(encoding="utf-8") == ASIA.picture({"xray": "yes"}).svg


def test_a_picture_larger_than_its_paper_is_drawn_about_and_zoomed(live):
    """Text stays readable; "fit" shows all; dragging moves; a finding is in view from the start."""
    widget = pb.examples.load("alarm").widget({"BP": "LOW"})
    view = live.show(widget)
    paper, drawn = view.locator(".paper"), view.locator(".paper svg")
    live.page.wait_for_timeout(100)
    top = paper.bounding_box()
    box = view.locator("[data-name=BP]").bounding_box()
    assert top["y"] < box["y"] < box["y"] + box["height"] < top["y"] + top["height"]
    before = drawn.bounding_box()
    live.click(view.get_by_role("button", name="larger"))
    live.page.wait_for_timeout(100)
    assert drawn.bounding_box()["width"] == pytest.approx(1.2 * before["width"], rel=0.01)
    live.click(view.get_by_role("button", name="fit"))
    live.page.wait_for_timeout(100)
    assert drawn.bounding_box()["height"] <= paper.bounding_box()["height"]
    assert paper.evaluate("element => element.scrollHeight") <= paper.evaluate("element => element.clientHeight")
