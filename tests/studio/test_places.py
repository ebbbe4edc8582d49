"""Nodes stay where people put them: in the notes of the model, as an edit."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from plausible.models import Notes, VariableNotes

ASIA = pb.examples.load("asia")
BARE = ASIA.with_notes(Notes(name="asia"))


def boxes(studio, model, **fields):
    """Name -> the frame of its node."""
    nodes = studio.ask("scene", model=model, **fields)["scene"]["nodes"]
    return {node["name"]: node["items"][0] for node in nodes}


def middle(box):
    return np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])


def overlapping(found):
    """Pairs of boxes that share a point."""
    listed = list(found.items())
    return [
        (one, other)
        for place, (one, a) in enumerate(listed)
        for other, b in listed[:place]
        if a["x"] < b["x"] + b["width"]
        and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"]
        and b["y"] < a["y"] + a["height"]
    ]


def test_a_node_goes_where_it_is_put_and_the_others_stay(studio):
    """Up to a shift of the whole; again somewhere else, again back."""
    model = studio.open(BARE, "asia")
    for name, step in (("asia", (-150.0, -40.0)), ("dysp", (30.0, 200.0)), ("asia", (60.0, -90.0))):
        before = boxes(studio, model)
        x, y = middle(before[name]) + step
        told = studio.ask("move", model=model, name=name, x=x, y=y)
        assert told["isPlaced"]
        model = told["model"]
        after = boxes(studio, model)
        shifts = {other: middle(after[other]) - middle(before[other]) for other in before}
        whole = shifts.pop(name)
        shift = shifts["smoke"]
        assert all(np.abs(other - shift).max() < 0.25 for other in shifts.values())
        assert whole - shift == pytest.approx(step, abs=0.25)
        assert overlapping(after) == []
    model = studio.ask("tidy", model=model)["model"]
    assert boxes(studio, model) == boxes(studio, studio.open(BARE, "asia"))


def test_no_node_lies_on_another(studio):
    """Put onto one, it goes beside it, not far from there."""
    model = studio.open(BARE, "asia")
    before = boxes(studio, model)
    for name in ("tub", "lung", "either"):
        x, y = middle(before["bronc"]) + 3
        after = boxes(studio, studio.ask("move", model=model, name=name, x=x, y=y)["model"])
        assert overlapping(after) == []
        apart = np.abs(middle(after[name]) - middle(after["bronc"]))
        assert (apart < [400, 250]).all()


def test_edges_run_between_the_boxes_where_they_are_now(studio):
    """Each begins at the outline of its parent and ends at that of its child."""
    model = studio.open(BARE, "asia")
    moved = studio.ask("move", model=model, name="smoke", x=-300, y=500)["model"]
    scene = studio.ask("scene", model=moved)["scene"]
    found = {node["name"]: node["items"][0] for node in scene["nodes"]}
    for edge in scene["edges"]:
        for end, point in zip(
            edge["ends"], (edge["items"][0]["points"][0], edge["items"][1]["points"][0]), strict=True
        ):
            box = found[end]
            assert box["x"] - 1 <= point[0] <= box["x"] + box["width"] + 1
            assert box["y"] - 1 <= point[1] <= box["y"] + box["height"] + 1


def test_places_of_a_file_keep_their_measure(studio):
    """A file that has places in millimetres has them afterwards, but for the node that was moved."""
    given = {"A": (0.0, 0.0), "B": (60.0, 0.0), "C": (30.0, 40.0)}
    table = [[0.5, 0.5], [0.2, 0.8]]
    cpds = [
        pb.TableCPD("A", [0.5, 0.5]),
        pb.TableCPD("B", table, parents=["A"]),
        pb.TableCPD("C", table, parents=["B"]),
    ]
    notes = Notes(variables={name: VariableNotes(position=place, label=name.lower()) for name, place in given.items()})
    model = studio.open(pb.BayesianNetwork(cpds, notes=notes))
    before = boxes(studio, model)
    scale = (middle(before["B"]) - middle(before["A"]))[0] / 60
    x, y = middle(before["C"]) + np.array([20, 10]) * scale
    told = studio.ask("move", model=model, name="C", x=x, y=y)["model"]
    kept = studio.desk.version(told).model.notes.variables
    assert kept["C"].position == pytest.approx((50, 50), abs=0.1)
    assert (kept["A"].position, kept["B"].position) == ((0.0, 0.0), (60.0, 0.0))
    assert kept["C"].label == "c"


def test_an_influence_diagram_is_arranged_too(studio):
    """With its decisions and utilities; its solution stays."""
    oil = pb.examples.load("oil")
    model = studio.open(oil, "oil")
    x, y = middle(boxes(studio, model)["payoff"]) + np.array([0, 90])
    told = studio.ask("move", model=model, name="payoff", x=x, y=y)
    moved = studio.desk.version(told["model"]).model
    assert moved == oil
    assert set(moved.notes.variables) == {str(node) for node in oil.graph.nodes}


def test_what_can_not_be_put_is_refused(studio):
    """A node that is not there, a place out of this world, models in time, pictures of thousands."""
    model = studio.open(BARE, "asia")
    assert "'xyz'" in studio.refusal("move", model=model, name="xyz", x=0, y=0)["message"]
    assert "no place" in studio.refusal("move", model=model, name="asia", x=1e300, y=0)["message"]
    assert "too far" in studio.refusal("move", model=model, name="asia", x=9e5, y=9e5)["message"]
    assert "'x'" in studio.refusal("move", model=model, name="asia", y=0)["message"]
    rain = pb.DynamicBayesianNetwork(
        initial=[pb.TableCPD("rain", [0.5, 0.5])],
        transition=[pb.TableCPD("rain", [[0.7, 0.3], [0.3, 0.7]], parents=["rain[-1]"])],
    )
    number = studio.open(rain, "rain")
    assert not studio.ask("outline", model=number)["canBePlaced"]
    assert studio.refusal("move", model=number, name="rain[1]", x=0, y=0)["kind"] == "NotSupported"
    many = studio.open(pb.BayesianNetwork([pb.TableCPD(f"X{i}", [0.5, 0.5]) for i in range(160)]))
    assert "150" in studio.refusal("move", model=many, name="X1", x=0, y=0, focus=None)["message"]


def centre_on_page(page, name):
    """Where the name of a node is on the page."""
    box = (
        page.page.locator("g.node", has=page.page.locator(f'[data-name="{name}"]')).locator("rect.head").bounding_box()
    )
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def frames_on_page(page):
    """Name -> the frame of its node, in the picture's measure."""
    names = page.page.locator("g.node [role=listbox]").evaluate_all("all => all.map(one => one.dataset.name)")
    corners = page.page.locator("g.node > .frame").evaluate_all(
        "all => all.map(one => [one.x.baseVal.value, one.y.baseVal.value])"
    )
    return dict(zip(names, map(np.array, corners), strict=True))


@pytest.mark.browser
def test_a_node_is_drawn_elsewhere_and_undo_brings_it_back(show, studio):
    """By its name; the edges follow, and what is known stays."""
    page = show(BARE, "asia")
    page.state("xray", 0).click()
    page.settle()
    before = frames_on_page(page)
    x, y = centre_on_page(page, "dysp")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 60, y + 40, steps=4)
    assert page.page.locator(".edge.loose").count() == 2
    page.page.mouse.move(x + 150, y + 80, steps=4)
    page.page.mouse.up()
    page.page.get_by_role("button", name="tidy").wait_for()
    page.settle()
    after = frames_on_page(page)
    step = (after["dysp"] - before["dysp"]) - (after["asia"] - before["asia"])
    assert step == pytest.approx([150, 80], abs=2)
    assert page.page.locator(".node.selected").count() == 0
    assert page.page.locator(".findings").inner_text().startswith("xray = yes")
    page.page.get_by_role("button", name="undo").click()
    page.page.get_by_role("button", name="tidy").wait_for(state="detached")
    assert {name: tuple(corner) for name, corner in frames_on_page(page).items()} == {
        name: tuple(corner) for name, corner in before.items()
    }


@pytest.mark.browser
def test_keys_push_a_node(show):
    """Shift and arrows; the node keeps the keys."""
    page = show(BARE, "asia")
    before = frames_on_page(page)
    page.page.get_by_label("find a variable").fill("dysp")
    page.page.get_by_label("find a variable").press("Enter")
    page.page.keyboard.press("Shift+ArrowRight")
    page.page.get_by_role("button", name="tidy").wait_for()
    page.settle()
    page.page.keyboard.press("Shift+ArrowDown")
    page.settle()
    page.page.get_by_role("button", name="undo").click()
    page.settle()
    after = frames_on_page(page)
    step = (after["dysp"] - before["dysp"]) - (after["asia"] - before["asia"])
    assert step == pytest.approx([24, 0], abs=0.5)
