"""Edits on the page: what the model is afterwards; undo and redo."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


def edited(studio, model, action, **fields):
    """The model after an edit."""
    return studio.desk.version(studio.ask("edit", model=model, action=action, **fields)["model"]).model


def test_variables_come_and_go(studio):
    """A new one is uniform; one that goes leaves to its children what they are on average over it."""
    model = studio.open(ASIA, "asia")
    more = edited(studio, model, "add-variable", name="age", states=["young", "old"])
    assert more.query("age").values.tolist() == [0.5, 0.5]
    less = edited(studio, model, "remove-variable", name="smoke")
    assert "smoke" not in less.variables
    for name in ("lung", "bronc", "either"):
        assert less.query(name).values == pytest.approx(ASIA.query(name).values, abs=1e-12)
    renamed = edited(studio, model, "rename", name="tub", to="tuberculosis")
    assert set(renamed.graph.parents("either")) == {"tuberculosis", "lung"}
    assert "already" in studio.refusal("edit", model=model, action="rename", name="tub", to="lung")["message"]


def test_arcs_are_drawn_and_a_cycle_is_told(studio):
    """A new arc changes no belief; one that would close a cycle is refused with the cycle."""
    model = studio.open(ASIA, "asia")
    more = edited(studio, model, "add-edge", source="asia", target="xray")
    assert more.graph.has_edge("asia", "xray")
    assert more.query("xray", evidence={"asia": "yes"}).values == pytest.approx(
        ASIA.query("xray", evidence={"asia": "yes"}).values
    )
    refused = studio.refusal("edit", model=model, action="add-edge", source="dysp", target="smoke")
    assert refused["kind"] == "CyclicGraph"
    assert {"smoke", "dysp"} <= set(refused["cycle"])


def test_states_are_renamed_removed_added_and_moved(studio):
    """By hand: a removed state's share is divided among the others, a new one never happens yet."""
    net = pb.BayesianNetwork(
        pb.TableCPD("G", [0.2, 0.3, 0.5], states=["A", "B", "C"]),
        pb.TableCPD("L", {"A": [0.1, 0.9], "B": [0.4, 0.6], "C": [0.8, 0.2]}, parents=["G"], states=["w", "s"]),
    )
    model = studio.open(net, "letters")
    fewer = edited(studio, model, "states", name="G", states=["good", "A"], places=[2, 0])
    assert fewer.variables["G"].states == ("good", "A")
    assert fewer.cpd("G").values == pytest.approx([5 / 7, 2 / 7])
    assert fewer.cpd("L").values.tolist() == [[0.8, 0.2], [0.1, 0.9]]
    more = edited(studio, model, "states", name="G", states=["A", "B", "C", "D"], places=[0, 1, 2, None])
    assert more.cpd("G").values.tolist() == [0.2, 0.3, 0.5, 0.0]
    assert more.cpd("L").values[3].tolist() == [0.5, 0.5]
    fields = {"model": model, "action": "states", "name": "G", "states": ["A", "B"]}
    for places in ([0], [0, 0], [0, 3], [0, "1"]):
        assert "places" in studio.refusal("edit", **fields, places=places)["message"]


def test_tables_are_replaced_as_a_whole(studio):
    """Rows in the order of the states of parents; what is no distribution is refused by its row."""
    model = studio.open(ASIA, "asia")
    told = studio.ask("family", model=model, name="dysp")
    assert told["table"] == ASIA.cpd("dysp").to_table().values.reshape(4, 2).tolist()
    rows = [[0.5, 0.5], [0.25, 0.75], [1, 0], [0, 1]]
    network = edited(studio, model, "table", name="dysp", rows=rows)
    assert network.cpd("dysp").values.tolist() == np.reshape(rows, (2, 2, 2)).tolist()
    refused = studio.refusal("edit", model=model, action="table", name="dysp", rows=[[0.5, 0.6], *rows[1:]])
    assert refused["kind"] == "InvalidCPD"
    for rows in ([], [[1]], [[0.5, "0.5"]] * 4, [None] * 4):
        assert (
            "rows of 2 numbers"
            in studio.refusal("edit", model=model, action="table", name="dysp", rows=rows)["message"]
        )


def test_a_noisy_or_is_made_and_told(studio):
    """Each cause by itself, and the leak."""
    net = pb.BayesianNetwork(
        pb.TableCPD("flu", [0.9, 0.1]),
        pb.TableCPD("cold", [0.8, 0.2]),
        pb.TableCPD("fever", np.full((2, 2, 2), 0.5), parents=["flu", "cold"]),
    )
    model = studio.open(net, "fever")
    fields = {"name": "fever", "activation": {"flu": 0.8, "cold": 0.5}, "leak": 0.1}
    number = studio.ask("edit", model=model, action="noisy-or", **fields)["model"]
    assert studio.desk.version(number).model.cpd("fever").to_table().values[1, 1].tolist() == pytest.approx(
        [0.09, 0.91]
    )
    assert studio.ask("family", model=number, name="fever")["noisyOr"] == {
        "activation": {"flu": 0.8, "cold": 0.5},
        "leak": 0.1,
    }


def test_a_tree_is_made_and_told(studio):
    """Parents that do not matter in a context are not asked there; what is no tree is refused."""
    model = studio.open(ASIA, "asia")
    leaf = {"probabilities": [0.9, 0.1]}
    nodes = [
        {"parent": 1, "branches": [[0], [1]]},
        leaf,
        {"parent": 0, "branches": [[0], [1]]},
        *[{"probabilities": [p, 1 - p]} for p in (0.7, 0.1)],
    ]
    parents = [parent["name"] for parent in studio.ask("family", model=model, name="dysp")["parents"]]
    number = studio.ask("edit", model=model, action="tree", name="dysp", nodes=nodes)["model"]
    cpd = studio.desk.version(number).model.cpd("dysp")
    assert cpd.kind == "tree"
    assert cpd.ignores(parents[0], {parents[1]: "yes"})
    assert cpd.to_table().values[..., 0].tolist() == pytest.approx(np.array([[0.9, 0.7], [0.9, 0.1]]))
    assert studio.ask("family", model=number, name="dysp")["tree"] == nodes
    for wrong in (
        [],
        nodes[:2],
        [*nodes, leaf],
        [{"parent": 7, "branches": [[0], [1]]}, leaf, leaf],
        [{"probabilities": [2, 3]}],
        [None],
    ):
        assert studio.refusal("edit", model=model, action="tree", name="dysp", nodes=wrong)["kind"] != "Fault"


OIL = pb.examples.load("oil")


def test_tables_of_a_diagram_are_replaced(studio):
    """Chance and utilities, of which a page has the states of the last parent across; what is best follows."""
    model = studio.open(OIL, "oil")
    told = studio.ask("family", model=model, name="payoff")
    assert (told["kind"], told["table"]) == ("utility", OIL.utility_factors["payoff"].values.tolist())
    assert [parent["name"] for parent in told["parents"]] == ["oil", "drill"]
    poor = edited(studio, model, "table", name="payoff", rows=[[0, -80], [0, -60], [0, -25]])
    assert poor.solve().expected_utility == 0
    sure = edited(studio, model, "table", name="oil", rows=[[0, 0, 1]])
    assert sure.solve().expected_utility == pytest.approx(250)
    free = edited(studio, model, "table", name="cost", rows=[[0, 0]])
    assert free.solve().expected_utility == pytest.approx(OIL.solve().expected_utility + 12)
    assert studio.ask("family", model=model, name="seismic")["kind"] == "table"
    for rows in ([], [[1, 2]], [[1, "2"], [1, 2], [1, 2]], [[1, 10**400]] * 3):
        assert "rows of 2" in studio.refusal("edit", model=model, action="table", name="payoff", rows=rows)["message"]


def test_actions_and_states_of_a_diagram_come_and_go(studio):
    """In all tables at once: a new action is worth nothing, what stays is worth what it was."""
    model = studio.open(OIL, "oil")
    told = studio.ask("family", model=model, name="drill")
    assert (told["kind"], told["states"], told["table"]) == ("decision", ["no", "yes"], None)
    more = edited(studio, model, "states", name="drill", states=["sell", "yes", "no"], places=[None, 1, 0])
    assert more.decisions["drill"].states == ("sell", "yes", "no")
    assert more.utility_factors["payoff"].values.tolist() == [[0, -80, 0], [0, 60, 0], [0, 250, 0]]
    assert more.solve().expected_utility == pytest.approx(OIL.solve().expected_utility)
    fewer = edited(studio, model, "states", name="oil", states=["dry", "wet"], places=[0, 1])
    assert fewer.chance["oil"].values == pytest.approx([0.55 / 0.85, 0.3 / 0.85])
    assert fewer.utility_factors["payoff"].values.tolist() == [[0, -80], [0, 60]]
    fewer = edited(studio, model, "states", name="test", states=["yes"], places=[1])
    assert fewer.solve().expected_utility == pytest.approx(OIL.solve().expected_utility)
    assert (
        "no states"
        in studio.refusal("edit", model=model, action="states", name="cost", states=["a"], places=[0])["message"]
    )


def test_nodes_and_arcs_of_a_diagram_come_and_go(studio):
    """An arc that goes leaves what is so on average; one that would let a decision see its effect is refused."""
    model = studio.open(OIL, "oil")
    blind = edited(studio, model, "remove-edge", source="seismic", target="drill")
    assert blind.decisions["drill"].sees == ("test",)
    assert blind.solve().expected_utility == pytest.approx(-80 * 0.55 + 60 * 0.3 + 250 * 0.15)
    mean = edited(studio, model, "remove-edge", source="oil", target="payoff")
    assert mean.utility_factors["payoff"].values.tolist() == pytest.approx([0, -80 * 0.55 + 60 * 0.3 + 250 * 0.15])
    told = studio.ask("edit", model=model, action="add-edge", source="oil", target="cost")
    wider = studio.desk.version(told["model"]).model
    assert wider.utility_factors["cost"].values.tolist() == [[0, 0, 0], [-12, -12, -12]]
    assert wider.solve().expected_utility == pytest.approx(OIL.solve().expected_utility)
    refused = studio.refusal("edit", model=model, action="add-edge", source="drill", target="oil")
    assert set(refused["cycle"]) == {"oil", "seismic", "drill"}
    assert "utility" in studio.refusal("edit", model=model, action="add-edge", source="cost", target="drill")["message"]
    gone = edited(studio, model, "remove-variable", name="test")
    assert set(gone.graph.nodes) == {"oil", "seismic", "drill", "payoff", "cost"}
    assert gone.utility_factors["cost"].values == pytest.approx(-6)
    for kind, where in (("decision", "decisions"), ("chance", "chance"), ("utility", "utilities")):
        more = edited(studio, model, "add-variable", name="weather", kind=kind, states=["fine", "bad"])
        assert "weather" in getattr(more, where)
    for name in ("oil", "drill", "payoff"):
        renamed = edited(studio, model, "rename", name=name, to="other")
        assert set(renamed.graph.nodes) == {*OIL.graph.nodes, "other"} - {name}
        assert renamed.solve().expected_utility == pytest.approx(OIL.solve().expected_utility)
        assert "already" in studio.refusal("edit", model=model, action="rename", name=name, to="cost")["message"]
    noted = edited(studio, model, "describe", name="payoff", description="in thousands")
    assert noted.notes.of("payoff").description == "in thousands"
    assert studio.refusal("edit", model=model, action="describe", name="nobody")["kind"] == "UnknownVariable"


@pytest.mark.browser
def test_an_arc_is_drawn_a_table_typed_and_both_are_undone(show, studio):
    """As a person would, by clicks and keys."""
    page = show(ASIA, "asia")
    panel = page.panel("Edit")
    page.select("asia")
    page.select("smoke", with_others=True)
    panel.get_by_role("button", name="draw asia → smoke").click()
    panel.get_by_role("button", name="remove asia → smoke").wait_for()
    page.select("smoke")
    cell = panel.get_by_role("textbox", name="yes, yes", exact=True)
    cell.fill("0.9")
    panel.get_by_role("textbox", name="yes, no", exact=True).fill("")
    panel.get_by_role("button", name="use this table").click()
    page.state("asia", 0).click()
    page.settle()
    assert page.state("smoke", 0).locator("text").last.text_content() == "90.0%"
    assert studio.desk.last.model.cpd("smoke").values[0].tolist() == pytest.approx([0.9, 0.1])
    page.page.keyboard.press("Control+z")
    page.page.keyboard.press("Control+z")
    page.page.get_by_role("button", name="undo").and_(page.page.locator(":disabled")).wait_for()
    assert page.state("smoke", 0).locator("text").last.text_content() == "50.0%"
    page.select("smoke")
    page.select("dysp")
    page.select("smoke", with_others=True)
    panel.get_by_role("button", name="draw dysp → smoke").click()
    page.page.get_by_role("alert").filter(has_text="cycle").wait_for()
    assert page.page.locator(".edge.blocked").count() >= 2


@pytest.mark.browser
def test_a_diagram_is_edited_as_a_network_is(show, studio):
    """A utility typed into the grid, an action added, an arc of information cut: what is best follows each of them."""
    page = show(OIL, "oil")
    panel = page.panel("Edit")
    page.select("payoff")
    panel.get_by_role("textbox", name="soaking, drill = yes").fill("2500")
    panel.get_by_role("button", name="use this table").click()
    panel.get_by_role("button", name="use this table").and_(panel.locator(":disabled")).wait_for()
    page.settle()
    model = studio.desk.last.model
    assert model.utility_factors["payoff"].values[2].tolist() == [0, 2500]
    assert page.page.locator(".facts").inner_text() == f"Expected utility {model.solve().expected_utility:.6g}"
    page.select("drill")
    panel.get_by_role("button", name="add an action").click()
    panel.get_by_role("textbox", name="action 3").fill("sell")
    panel.get_by_role("button", name="change actions").click()
    page.state("drill", 2).wait_for()
    panel.get_by_role("button", name="remove seismic → drill").click()
    panel.get_by_text("sees").filter(has_not_text="seismic").wait_for()
    page.settle()
    assert studio.desk.last.model.decisions["drill"].states == ("no", "yes", "sell")
    assert studio.desk.last.model.decisions["drill"].sees == ("test",)
    page.page.keyboard.press("Control+z")
    panel.get_by_role("button", name="remove seismic → drill").wait_for()


@pytest.mark.browser
def test_a_tree_is_grown_by_clicks(show, studio):
    """A leaf is split by a parent, one branch by another; elsewhere that one does not matter."""
    page = show(ASIA, "asia")
    panel = page.panel("Edit")
    page.select("dysp")
    panel.get_by_role("radio", name="tree").check()
    panel.get_by_role("combobox", name="split").select_option("bronc")
    panel.get_by_role("combobox", name="split bronc = no").select_option("either")
    for where, chance in (
        ("bronc = yes", "0.9"),
        ("bronc = no, either = yes", "0,7"),
        ("bronc = no, either = no", "0.1"),
    ):
        panel.get_by_role("textbox", name=f"{where}, yes", exact=True).fill(chance)
        panel.get_by_role("textbox", name=f"{where}, no", exact=True).fill("")
    panel.get_by_role("button", name="use this tree").click()
    page.page.get_by_role("button", name="undo").and_(page.page.locator(":enabled")).wait_for()
    page.settle()
    cpd = studio.desk.last.model.cpd("dysp")
    assert (cpd.kind, cpd.num_parameters) == ("tree", 3)
    assert cpd.ignores("either", {"bronc": "yes"})
    assert cpd.to_table().values[..., 0].ravel().tolist() == pytest.approx([0.9, 0.9, 0.7, 0.1])
    panel.get_by_role("button", name="join either = yes with the next").click()
    panel.get_by_role("button", name="use this tree").click()
    page.page.get_by_role("button", name="undo").click()
    page.page.get_by_role("button", name="redo").and_(page.page.locator(":enabled")).wait_for()
