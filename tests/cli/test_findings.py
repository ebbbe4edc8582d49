"""Names, evidence and interventions as arguments write them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.cli.evidence import names_in, read_findings, read_interventions
from plausible.variables import Variable

NAMES = st.text(st.sampled_from(list("aB1 ,|=~:\"\\'\t.-é∧")), min_size=1, max_size=8)


def escaped(text: str) -> str:
    """A backslash before each sign."""
    return "".join(f"\\{sign}" for sign in text)


def quoted(text: str) -> str:
    """In double quotes, with a backslash before those signs that quotes do not cover."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.lists(NAMES, max_size=4), st.sampled_from([escaped, quoted]), st.sampled_from([",", " , ", ",,"]))
@settings(max_examples=30, deadline=None)
def test_any_list_of_names_can_be_written(names, spelled, separator):
    """Quoted or with backslashes, whatever signs are in them."""
    assert names_in(separator.join(map(spelled, names))) == names
    assert names_in([spelled(name) for name in names]) == names


def test_plain_names_need_no_signs():
    """Blanks around them do not count, those within do; commas too many are nothing."""
    assert names_in(" a b , c=d,,'e',") == ["a b", "c=d", "'e'"]
    assert names_in(None) == names_in("") == names_in([]) == names_in(" , ") == []


@given(NAMES, st.lists(NAMES, min_size=1, max_size=4, unique=True), st.sampled_from([escaped, quoted]), st.data())
@settings(max_examples=30, deadline=None)
def test_any_finding_can_be_written(name, states, spelled, data):
    """One state, or one of several, whatever signs are in their names."""
    network = pb.BayesianNetwork(pb.TableCPD(Variable(name, states), [1 / len(states)] * len(states)))
    chosen = data.draw(st.lists(st.sampled_from(states), min_size=1, unique=True))
    for state in chosen:
        assert read_findings([f"{spelled(name)}={spelled(state)}"], network) == {name: state}
        assert read_interventions([f" {spelled(name)} = {spelled(state)} "], network) == {name: state}
    if len(chosen) > 1:
        text = f"{spelled(name)}={'|'.join(map(spelled, chosen))}"
        assert read_findings([text], network) == {name: chosen}


def test_an_unquoted_value_may_hold_signs_that_are_not_separators_there():
    """After the first =, further ones belong to the state; a bar does if a state is so called."""
    states = ["a=b", "c~d", "e|f", "e", "f", "5 mm", ""]
    network = pb.BayesianNetwork(pb.TableCPD(Variable("X", states), [1 / 7] * 7))
    for state in states:
        assert read_findings([f"X={state}"], network) == {"X": state}
    assert read_findings(['X="e"|f'], network) == {"X": ["e", "f"]}


@pytest.mark.parametrize(
    ("states", "text", "state"),
    [
        ([0, 1], "1", 1),
        ([0, 1], "1.0", 1),
        ([False, True], "True", True),
        ([0.5, 1.5], "1.50", 1.5),
        (["0", "1"], "1", "1"),
        ([(0, 1), (1, 0)], '"(0, 1)"', (0, 1)),
        (["None", "x"], "None", "None"),
    ],
)
def test_states_of_any_type_are_named_by_their_text(states, text, state):
    """Numbers also by equal ones, as programs print them that know no integers."""
    network = pb.BayesianNetwork(pb.TableCPD(Variable("X", states), [0.5, 0.5]))
    found = read_findings([f"X={text}"], network)["X"]
    assert found == state
    assert type(found) is type(state)


@pytest.fixture
def model(tmp_path):
    """A -> B, P(A) = (0.6, 0.4), P(B = t | A) = (0.3, 0.8), as a file."""
    network = pb.BayesianNetwork(
        pb.TableCPD("A", [0.6, 0.4], states=["u", "v"]),
        pb.TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"], states=["s", "t"]),
    )
    pb.save(network, tmp_path / "model.json")
    return str(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("findings", "p_u"),
    [
        (("-e", "B=t"), 0.18 / 0.5),
        (("-e", "B=s|t"), 0.6),
        (("-e", "B~0.5|1"), 0.6 * 0.65 / (0.6 * 0.65 + 0.4 * 0.9)),
        (("-e", "B:=0.5|0.5"), 0.5 * 0.42 / 0.5 + 0.5 * 0.18 / 0.5),
        (("--do", "B=t"), 0.6),
        (("--do", "A=v"), 0.0),
        (("-e", "B=t", "-e", "A=u"), 1.0),
        (("--do", "A=u", "-e", "B=t"), 1.0),
        ((), 0.6),
    ],
)
def test_every_kind_of_finding_gives_the_posterior_worked_by_hand(plausible, model, findings, p_u):
    """A state, one of several, a likelihood, Jeffrey's rule, an intervention, and options that are repeated."""
    for asked in (["A"], ["-t", "A"], ["--targets", "A"]):
        _, text, _ = plausible("query", model, *asked, *findings, "--json")
        assert json.loads(text)["values"] == pytest.approx([p_u, 1 - p_u])
    _, text, _ = plausible("marginals", model, *findings, "--json")
    assert json.loads(text)["A"]["values"] == pytest.approx([p_u, 1 - p_u])


def test_targets_as_arguments_and_options_are_one_list(plausible, model):
    """In the order given."""
    _, text, _ = plausible("query", model, "B", "-t", "A", "--json")
    assert list(json.loads(text)["scope"]) == ["B", "A"]


@pytest.mark.parametrize("findings", [(), ("-e", "xray=yes,dysp=yes"), ("--do", "smoke=yes"), ("-e", "dysp~0.9|0.2")])
@pytest.mark.parametrize("names", [["lung"], ["bronc", "tub"], ["smoke", "either", "asia"]])
def test_map_is_the_best_cell_of_the_summed_joint(plausible, names, findings):
    """By the table of the joint distribution, evidence multiplied in; interventions by a network that is cut."""
    network = pb.examples.load("asia")
    weights = {"xray": [1, 0], "dysp": [1, 0]} if "xray=yes,dysp=yes" in findings else {}
    weights |= {"dysp": [0.9, 0.2]} if "dysp~0.9|0.2" in findings else {}
    if "--do" in findings:
        network = network.with_cpd(pb.TableCPD("smoke", [1.0, 0.0], states=["yes", "no"]))
    joint = network.joint()
    table = joint.values.copy()
    for name, vector in weights.items():
        shape = [2 if variable.name == name else 1 for variable in joint.scope]
        table = table * np.array(vector, dtype=float).reshape(shape)
    places = [variable.name for variable in joint.scope]
    others = tuple(place for place, name in enumerate(places) if name not in names)
    summed = table.sum(axis=others)

    _, text, _ = plausible("map", "asia", "-t", ",".join(names), *findings, "--json")
    answer = json.loads(text)
    assert list(answer["states"]) == names
    cell = tuple(["yes", "no"].index(answer["states"][name]) for name in places if name in names)
    assert summed[cell] == pytest.approx(summed.max(), rel=1e-12)
    assert answer["log_probability"] == pytest.approx(math.log(summed.max()), rel=1e-9)
