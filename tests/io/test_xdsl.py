"""XDSL: what GeNIe writes reads to its numbers, what is written means the same to SMILE, and nothing is lost."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from itertools import product

import numpy as np
import pytest
from random_networks import NASTY_WORDS, random_network
from tests.io.text_samples import check_refused

from benchmark_networks import benchmark_text
from plausible.cpds import DeterministicCPD, LinearGaussianCPD, NoisyMax, NoisyOr, TableCPD
from plausible.errors import FormatError, NotRepresentable, RoundedProbabilities
from plausible.factors import Factor
from plausible.io.bif import parse_bif
from plausible.io.xdsl import format_xdsl, parse_xdsl
from plausible.models import BayesianNetwork, MarkovNetwork, Notes, VariableNotes
from plausible.variables import Variable

CLINIC = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="clinic" numsamples="2500" discsamples="10000">
  <properties><property id="owner">ward 7</property></properties>
  <nodes>
    <cpt id="Flu" diagtype="target" ranked="true">
      <state id="yes" label="F1" fault="true" />
      <state id="no" />
      <probabilities>0.1 0.9</probabilities>
      <property id="source">a survey</property>
    </cpt>
    <cpt id="Cold">
      <state id="bad" /><state id="mild" /><state id="none" />
      <parents>Flu</parents>
      <probabilities>0.3 0.3 0.4 0.1 0.2 0.7</probabilities>
    </cpt>
    <noisymax id="Fever">
      <state id="high" /><state id="low" /><state id="absent" />
      <parents>Flu Cold</parents>
      <strengths>0 1 1 0 2</strengths>
      <parameters>0.6 0.3 0.1 0 0 1   0.2 0.5 0.3 0.1 0.2 0.7 0 0 1   0.01 0.04 0.95</parameters>
    </noisymax>
    <deterministic id="Home">
      <state id="stay" /><state id="go" />
      <parents>Fever Flu</parents>
      <resultingstates>stay stay stay go stay go</resultingstates>
    </deterministic>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe 3.0" name="A clinic" faultnameformat="nodestate">
      <comment>What brings people here</comment>
      <node id="Flu">
        <name>Influenza</name>
        <interior color="ffcc00" />
        <outline color="000080" />
        <font color="000000" name="Arial" size="8" />
        <position>100 50 180 90</position>
        <comment>the real one</comment>
      </node>
      <submodel id="Symptoms">
        <name>What is seen</name>
        <position>10 20 30 40</position>
        <node id="Fever"><name>Fever</name><position>7 8 107 58</position></node>
      </submodel>
      <textbox><caption>drawn by hand</caption></textbox>
    </genie>
  </extensions>
</smile>
"""


def test_a_network_of_genie_reads_to_its_numbers():
    network = parse_xdsl(CLINIC)
    assert list(network.variables) == ["Flu", "Cold", "Fever", "Home"]
    assert network.variables["Cold"].states == ("bad", "mild", "none")
    np.testing.assert_array_equal(network.cpd("Cold").to_table().values, [[0.3, 0.3, 0.4], [0.1, 0.2, 0.7]])
    assert isinstance(network.cpd("Home"), DeterministicCPD)
    home = network.cpd("Home").to_factor()
    assert [home[{"Fever": f, "Flu": i, "Home": "go"}] for f in ("high", "low", "absent") for i in ("yes", "no")] == [
        0,
        0,
        0,
        1,
        0,
        1,
    ]


def test_a_noisy_max_of_genie_is_the_strongest_of_its_causes():
    """The strongest state is the first, and the columns of Cold are listed as mild, bad, none."""
    network = parse_xdsl(CLINIC)
    flu = {"yes": [0.6, 0.3, 0.1], "no": [0, 0, 1]}
    cold = {"mild": [0.2, 0.5, 0.3], "bad": [0.1, 0.2, 0.7], "none": [0, 0, 1]}
    leak = [0.01, 0.04, 0.95]
    table = network.cpd("Fever").to_factor()
    states = ("high", "low", "absent")
    for flu_state, cold_state in product(flu, cold):
        expected = np.zeros(3)
        for causes in product(range(3), repeat=3):
            expected[min(causes)] += np.prod([flu[flu_state][causes[0]], cold[cold_state][causes[1]], leak[causes[2]]])
        for position, state in enumerate(states):
            found = table[{"Flu": flu_state, "Cold": cold_state, "Fever": state}]
            assert found == pytest.approx(expected[position], abs=1e-15)


def test_strengths_may_be_left_out():
    network = parse_xdsl(CLINIC.replace("<strengths>0 1 1 0 2</strengths>", ""))
    row = network.cpd("Fever").to_factor().reduce({"Flu": "no", "Cold": "bad"})
    assert row[{"Fever": "absent"}] == pytest.approx(0.3 * 0.95)


def test_what_genie_says_besides_numbers_is_kept():
    notes = parse_xdsl(CLINIC).notes
    assert (notes.name, notes.description) == ("A clinic", "What brings people here")
    assert notes.properties["owner"] == "ward 7"
    assert notes.properties["smile_numsamples"] == "2500"
    assert "smile_discsamples" not in notes.properties
    assert "drawn by hand" in notes.properties["genie_textbox"]
    assert "What is seen" in notes.properties["genie_submodel"]
    flu = notes.of("Flu")
    assert (flu.label, flu.description, flu.position) == ("Influenza", "the real one", (100.0, 50.0))
    assert flu.properties == {
        "source": "a survey",
        "smile_diagtype": "target",
        "smile_ranked": "true",
        "smile_states": '[{"label": "F1", "fault": "true"}, {}]',
        "genie_interior_color": "ffcc00",
    }
    assert notes.of("Fever").properties == {"genie_submodel": "Symptoms", "genie_size": "100 50"}
    assert notes.of("Fever").label == ""


def test_what_genie_says_is_written_back_where_it_came_from():
    text = format_xdsl(parse_xdsl(CLINIC))
    assert parse_xdsl(text).notes == parse_xdsl(CLINIC).notes
    root = ET.fromstring(text)
    assert root.get("numsamples") == "2500"
    assert root.find("nodes/cpt[@id='Flu']").attrib == {"id": "Flu", "diagtype": "target", "ranked": "true"}
    assert root.find("nodes/cpt[@id='Flu']/state").attrib == {"id": "yes", "label": "F1", "fault": "true"}
    flu = root.find("extensions/genie/node[@id='Flu']")
    assert flu.find("interior").get("color") == "ffcc00"
    assert flu.findtext("position") == "100 50 180 90"
    assert root.find("extensions/genie/node[@id='Fever']").findtext("position") == "7 8 107 58"


def test_rounded_rows_are_renormalised_with_one_warning():
    text = CLINIC.replace("0.1 0.9", "0.1 0.9001").replace("0.01 0.04 0.95", "0.01 0.04 0.9501")
    with pytest.warns(RoundedProbabilities, match="2 rows in the tables of 2 variables") as caught:
        parse_xdsl(text)
    assert len(caught) == 1


def in_nodes(body: str, rest: str = "") -> str:
    return f"<smile>\n<nodes>\n{body}\n</nodes>{rest}\n</smile>"


A = '<cpt id="A"><state id="x"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>\n'
NOISY = (
    '<noisymax id="N"><state id="on"/><state id="off"/><parents>A</parents>\n'
    "<strengths>0 1</strengths>\n<parameters>0.5 0.5 0 1 0 1</parameters></noisymax>\n"
)


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "empty"),
        ("<smile>", (1, 8), "no element found"),
        ("<BIF/>", (1, 1), "Expected the outermost element to be <smile>, found <BIF>"),
        ("<smile/>", (1, 1), "<smile> needs a <nodes>"),
        (in_nodes("<cpd/>"), (3, 1), "<cpd> needs the attribute id="),
        (in_nodes('<cpd id="A"/>'), (3, 1), "<cpd> can't be read. Did you mean 'cpt'?"),
        (in_nodes('<decision id="A"/>'), (3, 1), "'A' needs at least"),
        (in_nodes('<utility id="A"/>'), (3, 1), "<utility> needs a <utilities>"),
        (
            in_nodes('<mau id="A"><expressions>A</expressions></mau>'),
            (3, 13),
            "'A', in the expression of 'A', is none of",
        ),
        (in_nodes('<equation id="A"/>'), (3, 1), "continuous"),
        (in_nodes(A, "\n<dynamic/>"), (6, 1), "temporal"),
        (in_nodes(A.replace("<cpt", '<cpt dynamic="plate"')), (3, 1), "temporal"),
        (in_nodes(A + A), (4, 1), "two nodes 'A'"),
        (in_nodes('<cpt id="A"><probabilities/></cpt>'), (3, 1), "needs at least one state"),
        (in_nodes('<cpt id="A"><state/></cpt>'), (3, 13), "<state> needs the attribute id="),
        (in_nodes('<cpt id="A"><state id="x"/></cpt>'), (3, 1), "<cpt> needs a <probabilities>"),
        (in_nodes(A.replace('"y"', '"x"')), (3, 1), "'x' of 'A' stands twice"),
        (in_nodes(A.replace("probabilities", "probability")), (3, 43), "Did you mean 'probabilities'?"),
        (in_nodes(A.replace("0.5 0.5", "0.5 half")), (3, 62), "Expected a finite number, found 'half'"),
        (in_nodes(A.replace("0.5 0.5", "0.5 0.4")), (3, 43), "sums to 0.9"),
        (in_nodes(A.replace("0.5 0.5", "0.5")), (3, 43), "<probabilities> needs 2 entries, and has 1"),
        (
            in_nodes(A.replace("<prob", "<parents>\n a</parents><prob")),
            (4, 2),
            "There is no node 'a'. Did you mean 'A'?",
        ),
        (in_nodes(A.replace("<prob", "<parents>A</parents><prob")), (3, 63), "'A' stands twice"),
        (in_nodes(A + NOISY.replace("0.5 0.5 0 1 0 1", "0.5 0.5")), (6, 1), "<parameters> needs 3 × 2 numbers"),
        (in_nodes(A + NOISY.replace("0.5 0.5 0 1 0 1", "0.5 0.6 0 1 0 1")), (6, 1), "sums to 1.1"),
        (in_nodes(A + NOISY.replace(">0 1<", ">0 1 2<")), (5, 1), "<strengths> needs 2 numbers"),
        (in_nodes(A + NOISY.replace(">0 1<", ">1 1<")), (5, 1), "each state of 'A' once"),
        (
            in_nodes('<deterministic id="A"><state id="x"/><resultingstates>z</resultingstates></deterministic>'),
            (3, 55),
            "There is no state 'z'",
        ),
        (
            in_nodes('<deterministic id="A"><state id="x"/><resultingstates>x x</resultingstates></deterministic>'),
            (3, 38),
            "needs 1 entries, and has 2",
        ),
        (in_nodes(A, '\n<extensions><genie><node id="B"/></genie></extensions>'), (6, 20), "There is no node 'B'"),
        (in_nodes(A + "words"), (4, 1), "'words' is not expected in <nodes>"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_xdsl, text, part, place)


def test_a_noisy_max_that_would_be_a_huge_table_is_refused():
    parents = [f"P{i}" for i in range(40)]
    nodes = "".join(A.replace('id="A"', f'id="{name}"') for name in parents)
    noisy = f'<noisymax id="N"><state id="on"/><state id="off"/><parents>{" ".join(parents)}</parents>'
    rows = "0.5 0.5 0 1 " * 40 + "0 1"
    with pytest.raises(FormatError, match="would have"):
        parse_xdsl(in_nodes(f"{nodes}{noisy}<parameters>{rows}</parameters></noisymax>"))


def smile_joint(text: str) -> dict[frozenset[tuple[str, str]], float]:
    """What SMILE takes a file to mean: the probability of every assignment, by the rules of the format alone."""
    nodes = list(ET.fromstring(text).find("nodes"))
    states = {node.get("id"): [state.get("id") for state in node.findall("state")] for node in nodes}
    joint = {}
    for choice in product(*states.values()):
        world = dict(zip(states, choice, strict=True))
        joint[frozenset(world.items())] = float(np.prod([smile_probability(node, states, world) for node in nodes]))
    return joint


def smile_probability(node: ET.Element, states: dict[str, list[str]], world: dict[str, str]) -> float:
    name = node.get("id")
    parents = (node.findtext("parents") or "").split()
    row = 0
    for parent in parents:
        row = row * len(states[parent]) + states[parent].index(world[parent])
    position, size = states[name].index(world[name]), len(states[name])
    if node.tag == "cpt":
        return float(node.findtext("probabilities").split()[row * size + position])
    if node.tag == "deterministic":
        return float(node.findtext("resultingstates").split()[row] == world[name])
    numbers = np.array(node.findtext("parameters").split(), dtype=float).reshape(-1, size)
    strengths = iter(node.findtext("strengths").split())
    at_most, start = [numbers[-1]], 0
    for parent in parents:
        order = [int(next(strengths)) for _ in states[parent]]
        assert (numbers[start + len(order) - 1] == np.eye(1, size, size - 1)).all(), "the weakest state has no effect"
        at_most.append(numbers[start + order.index(states[parent].index(world[parent]))])
        start += len(order)
    weaker = [np.prod([row[place:].sum() for row in at_most]) for place in (position, position + 1)]
    return float(weaker[0] - weaker[1])


def gates(rng: np.random.Generator) -> BayesianNetwork:
    """Noisy gates, functions and tables that feed each other, over parents of two to four states."""
    roots = [Variable(f"R{i}", [f"r{k}" for k in range(rng.integers(2, 5))]) for i in range(2)]
    cpds = [TableCPD(root, rng.dirichlet(np.ones(root.num_states))) for root in roots]
    first = Variable("O", ["off", "on"])
    active = {root.name: root.states[rng.integers(root.num_states)] for root in roots}
    cpds.append(NoisyOr(first, roots, rng.random(2), rng.random() / 3, active_states=active))
    second = Variable("M", ["none", "some", "much"])
    effects = []
    for parent in (roots[0], first):
        effect = rng.dirichlet(np.ones(3), size=parent.num_states)
        effect[rng.integers(parent.num_states)] = [1, 0, 0]
        effects.append(effect)
    cpds.append(NoisyMax(second, [roots[0], first], effects, rng.dirichlet(np.ones(3))))
    third = Variable("F", ["low", "high"])
    cpds.append(DeterministicCPD(third, lambda m, o: "high" if (m, o) > ("much", "off") else "low", [second, first]))
    cpds.append(TableCPD("T", rng.dirichlet(np.ones(2), size=(3, 2)), [second, third], ["a", "b"]))
    cpds.append(NoisyOr("L", [second, third], rng.random(2), 0.0, states=["no", "yes"], active_states={"M": "some"}))
    return BayesianNetwork(*cpds)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_means_the_same_to_smile(seed):
    """Noisy gates, whose states SMILE lists the other way round, are parents of gates, functions and tables."""
    network = gates(np.random.default_rng(seed))
    joint = network.joint()
    found = smile_joint(format_xdsl(network))
    assert len(found) == joint.size
    for world, probability in found.items():
        assert probability == pytest.approx(joint[dict(world)], abs=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_noisy_gates_and_functions_come_back_as_they_are(seed):
    network = gates(np.random.default_rng(seed))
    text = format_xdsl(network)
    assert text.count("<noisymax") == 3
    assert text.count("<deterministic") == 1
    again = parse_xdsl(text)
    assert again == network
    assert list(again.variables.values()) == list(network.variables.values())


def test_a_noisy_or_of_fifty_parents_needs_no_table():
    parents = [TableCPD(f"P{i}", [0.5, 0.5]) for i in range(50)]
    network = BayesianNetwork(*parents, NoisyOr("Y", [cpd.variable.name for cpd in parents], np.linspace(0, 1, 50)))
    assert parse_xdsl(format_xdsl(network)) == network


def test_gates_that_smile_can_not_say_are_written_as_tables():
    """A parent that always acts: with one state, or without a state that has no effect."""
    one = TableCPD("A", [1.0])
    two = TableCPD("B", [0.5, 0.5])
    always = NoisyOr("Y", ["A", "B"], [0.5, 0.25])
    graded = NoisyMax("Z", ["B"], [[[0.5, 0.5], [0.25, 0.75]]])
    network = BayesianNetwork(one, two, always, graded)
    text = format_xdsl(network)
    assert "noisymax" not in text
    assert parse_xdsl(text).is_close(network, 1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_identifiers_are_legal_and_unique(seed):
    network = random_network(np.random.default_rng(seed), num_variables=8)
    nodes = list(ET.fromstring(format_xdsl(network)).find("nodes"))
    for identifiers in [[n.get("id") for n in nodes], *([s.get("id") for s in n.findall("state")] for n in nodes)]:
        assert len(set(identifiers)) == len(identifiers)
        assert all(text.isascii() and text.isidentifier() and text[0] != "_" for text in identifiers)


@pytest.mark.parametrize(
    "word", [*NASTY_WORDS, "\x00", "\x01a", "a\rb", "\r\n", " ", "\ufffe", "\ud800", "plausible_x"]
)
def test_any_text_can_be_a_name_a_state_and_a_note(word):
    keys = {word, "reference", "plausible_notes", "", "smile_diagtype", "smile_states", "genie_font_name", "genie_size"}
    notes = Notes(word, word, word, dict.fromkeys(keys, word))
    network = BayesianNetwork(
        TableCPD(word, [0.25, 0.75], states=[word, "other"]),
        TableCPD("child", [[1, 0], [0, 1]], parents=[word], states=["", word]),
        notes=notes.with_variable(word, VariableNotes(word, word, None, dict.fromkeys(keys, word))),
    )
    again = parse_xdsl(format_xdsl(network))
    assert again == network
    assert again.notes == network.notes


@pytest.mark.parametrize(
    "notes",
    [
        VariableNotes(position=(20.0, 20.0)),
        VariableNotes(position=(0.5, -3.25)),
        VariableNotes(position=(1e300, 0.0)),
        VariableNotes(position=(5.0, 6.0), properties={"genie_size": "10 20"}),
        VariableNotes(properties={"genie_size": "10 20"}),
        VariableNotes(position=(5.0, 6.0), properties={"genie_size": "80 40", "genie_interior_color": "e5f6f7"}),
        VariableNotes(properties={"smile_states": '[{"label": "x"}]'}),
        VariableNotes(properties={"smile_states": '[{"id": "x"}, {}]', "genie_barchart_active": "true"}),
        VariableNotes(label="A"),
    ],
)
def test_notes_come_back_though_the_file_has_a_place_of_its_own_for_them(notes):
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]), notes=Notes().with_variable("A", notes))
    assert parse_xdsl(format_xdsl(network)).notes == network.notes


def test_nodes_without_a_position_are_drawn_apart():
    network = BayesianNetwork(*(TableCPD(f"X{i}", [1.0]) for i in range(20)))
    text = format_xdsl(network)
    positions = [node.findtext("position") for node in ET.fromstring(text).iter("node")]
    assert len(set(positions)) == 20
    assert all(parse_xdsl(text).notes.of(name).position is None for name in network.variables)


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (MarkovNetwork(Factor({"A": 2}, [1, 2])), "hold Bayesian networks"),
        (BayesianNetwork(LinearGaussianCPD("height", 1.0, [], 1.0)), "'height' is continuous"),
        (BayesianNetwork(TableCPD("A", [[1, 0], [0, 1]], parents=["I"]), inputs=[Variable("I", 2)]), "'I' is one"),
    ],
)
def test_what_the_format_can_not_hold_is_said(model, part):
    with pytest.raises(NotRepresentable) as raised:
        format_xdsl(model)
    assert part in str(raised.value)


@pytest.mark.parametrize("name", ["alarm", "hailfinder", "munin1"])
def test_benchmark_networks_come_through_bit_by_bit(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundedProbabilities)
        network = parse_bif(benchmark_text(name))
    assert parse_xdsl(format_xdsl(network)) == network


@pytest.mark.parametrize(("app", "is_turned"), [("aGrUM 3.3.1", True), ("GeNIe 2.1", False)])
def test_tables_of_agrum_list_the_first_parent_fastest(app, is_turned):
    """It does not keep to the format there."""
    rows = np.arange(12).reshape(6, 2) + 1.0
    rows /= rows.sum(axis=1, keepdims=True)
    states = ["".join(f'<state id="s{i}" />' for i in range(size)) for size in (2, 3, 2)]
    text = f"""<smile version="1.0" id="n"><nodes>
      <cpt id="A">{states[0]}<probabilities>0.5 0.5</probabilities></cpt>
      <cpt id="B">{states[1]}<probabilities>0.5 0.25 0.25</probabilities></cpt>
      <cpt id="C">{states[2]}<parents>A B</parents>
        <probabilities>{" ".join(map(repr, rows.ravel().tolist()))}</probabilities></cpt>
      </nodes><extensions><genie version="1.0" app="{app}" name="n" /></extensions></smile>"""
    table = parse_xdsl(text).cpd("C").values
    for a in range(2):
        for b in range(3):
            np.testing.assert_array_equal(table[a, b], rows[2 * b + a if is_turned else 3 * a + b])
    with pytest.raises(FormatError):
        parse_xdsl(text.replace("<parents>A B", "<parents>A"))
