"""What panels tell of why beliefs are what they are."""

from __future__ import annotations

import numpy as np
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


def varied(network, name, rng):
    """The network with other numbers in one table."""
    cpd = network.cpds[name]
    rows = rng.dirichlet(np.ones(cpd.variable.num_states), size=cpd.values.shape[:-1])
    return network.with_cpd(pb.TableCPD(cpd.variable, rows, cpd.parents))


@pytest.mark.parametrize("seed", range(12))
def test_a_belief_depends_on_the_distributions_and_findings_that_are_told(studio, seed):
    """Tried with other numbers: each distribution that is told changes the belief, each finding too; no other does."""
    rng = np.random.default_rng(seed)
    variables = [pb.Variable(f"X{place}", int(rng.integers(2, 4))) for place in range(8)]
    cpds = []
    for place, variable in enumerate(variables):
        parents = [other for other in variables[:place] if rng.random() < 0.3]
        rows = rng.dirichlet(np.ones(variable.num_states), size=[parent.num_states for parent in parents])
        cpds.append(pb.TableCPD(variable, rows, parents))
    network = pb.BayesianNetwork(cpds)
    names = list(network.cpds)
    target, cause, *seen = (str(name) for name in rng.permutation(names)[:5])
    evidence, do = dict.fromkeys(seen, 0), {cause: 1}

    def belief(network, evidence=evidence, do=do):
        states = {name: network.variables[name].states for name in names}
        found = {name: states[name][place] for name, place in evidence.items()}
        settings = {name: states[name][place] for name, place in do.items()}
        return network.query(target, found, do=settings).values

    pages = {"evidence": {name: [place] for name, place in evidence.items()}, "do": {cause: [1]}}
    told = studio.ask("relevance", model=studio.open(network, "random"), targets=[target], **pages)
    matters = {one["name"]: one["matters"] for one in told["findings"]}
    assert set(told["barren"] + told["separated"]).isdisjoint(told["needed"])
    assert {*told["needed"], *told["barren"], *told["separated"], *matters} == set(network.cpds)
    now = belief(network)
    for name in names:
        is_changed = not np.allclose(belief(varied(network, name, rng)), now, rtol=0, atol=1e-12)
        assert is_changed == (name in told["needed"]), name
    for name in seen:
        rest = {other: place for other, place in evidence.items() if other != name}
        assert (not np.allclose(belief(network, rest), now, rtol=0, atol=1e-12)) == matters[name], name
    other = belief(network, do={cause: 0})
    assert (not np.allclose(other, now, rtol=0, atol=1e-12)) == matters[cause]


def test_what_does_not_matter_is_barren_or_separated(studio):
    """By hand, on asia: below what is known nothing is asked; what is known keeps the rest away."""
    model = studio.open(ASIA, "asia")
    told = studio.ask("relevance", model=model, targets=["lung"])
    assert told["needed"] == ["smoke", "lung"]
    assert set(told["barren"]) == {"asia", "tub", "bronc", "either", "xray", "dysp"}
    told = studio.ask("relevance", model=model, targets=["bronc"], evidence={"smoke": [0], "xray": [0]})
    assert told["needed"] == ["bronc"]
    assert {one["text"]: one["matters"] for one in told["findings"]} == {"smoke = yes": True, "xray = yes": False}
    assert set(told["separated"]) == {"asia", "tub", "lung", "either"}
    assert told["barren"] == ["dysp"]
    soft = {"dysp": {"kind": "likelihood", "weights": [1, 3]}}
    told = studio.ask("relevance", model=model, targets=["bronc"], evidence=soft)
    assert set(told["needed"]) == set(ASIA.variables) - {"xray"}
    assert told["findings"][0]["matters"]
    told = studio.ask("relevance", model=model, targets=["smoke"], evidence={"smoke": [0]})
    assert (told["needed"], told["findings"][0]["matters"]) == ([], False)
    assert "'lungs'" in studio.refusal("relevance", model=model, targets=["lungs"])["message"]
    markov = studio.open(ASIA.to_markov_network(), "asia")
    assert "Bayesian network" in studio.refusal("relevance", model=markov, targets=["lung"])["message"]


@pytest.mark.browser
def test_what_does_not_matter_is_dimmed(show):
    """By keys alone: a variable is selected, the rest fades, and comes back as findings make it matter."""
    page = show(ASIA, "asia")
    panel = page.panel("Relevance")
    page.state("lung", 0).focus()
    page.page.keyboard.press("s")
    panel.get_by_text("depends on 2 of 8 distributions").wait_for()
    dimmed = page.page.locator("g.node.dimmed")
    assert dimmed.count() == 6
    assert page.page.locator("g.edge.dimmed").count() == 7
    page.state("dysp", 0).focus()
    page.page.keyboard.press("Enter")
    panel.get_by_text("depends on 7 of 8 distributions").wait_for()
    assert dimmed.count() == 1
    panel.get_by_text("matters", exact=True).wait_for()
    page.panel("Impact")
    dimmed.first.wait_for(state="detached")


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
