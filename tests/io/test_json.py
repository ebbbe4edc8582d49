"""The library's own JSON: everything comes back, and nothing unknown is passed over."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from random_networks import NASTY_WORDS
from tests.io.text_samples import check_refused

from plausible.cpds import (
    KINDS,
    AggregateCPD,
    ConditionalGaussianCPD,
    DeterministicCPD,
    LinearGaussianCPD,
    LogisticCPD,
    Multiplexer,
    NoisyMax,
    NoisyOr,
    Rule,
    RuleCPD,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import FormatError, NotRepresentable, RoundedProbabilities
from plausible.factors import Factor
from plausible.io.json_format import format_json, parse_json
from plausible.models import BayesianNetwork, MarkovNetwork, Notes, VariableNotes
from plausible.variables import Variable
from seeds import few_of

A = Variable("A", ["a0", "a1"])
B = Variable("B", [0, 1, 2])
H = Variable("H")


def every_kind() -> BayesianNetwork:
    """A network with a distribution of each kind, an input and notes."""
    return BayesianNetwork(
        TableCPD(A, [0.3, 0.7]),
        TableCPD(B, [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [A]),
        DeterministicCPD("D", lambda a, b: (a, b) == ("a0", 1), [A, B], states=[False, True]),
        NoisyOr("O", [A, B], [0.3, 0.4], 0.1, active_states={"B": 2}),
        NoisyMax("M", [A], [[[1, 0, 0], [0.1, 0.3, 0.6]]], [0.9, 0.1, 0], states=["none", "some", "much"]),
        TreeCPD(
            "T",
            Split("A", {"a0": [0.5, 0.5], "a1": Split("B", {0: [0.1, 0.9], (1, 2): [0.25, 0.75]})}),
            parents=[A, B],
            states=["t0", "t1"],
        ),
        RuleCPD(
            "R",
            [
                Rule({"A": "a0", "R": "r0"}, 0.25),
                Rule({"A": "a0", "R": "r1"}, 0.75),
                Rule({"A": "a1", "R": "r0"}, 1.0),
                Rule({"A": "a1", "R": "r1"}, 0.0),
            ],
            parents=[A],
            states=["r0", "r1"],
        ),
        Multiplexer(Variable("X", ["a0", "a1"]), Variable("S", ["one", "two"]), [A, Variable("E", ["a0", "a1"])]),
        AggregateCPD("G", "mean", [B, Variable("F", 3)], ties="upper"),
        AggregateCPD("Q", "count", ["B", "F"], of=[2, 0]),
        TableCPD(Variable("F", 3), [0.25, 0.25, 0.5]),
        TableCPD(Variable("S", ["one", "two"]), [0.5, 0.5]),
        TableCPD(Variable("E", ["a0", "a1"]), [[0.5, 0.5], [0.125, 0.875]], ["I"]),
        LinearGaussianCPD(H, 1.5, [], 2.0),
        ConditionalGaussianCPD("W", [1.0, 2.0], {"H": [0.5, 0.7]}, [1.0, 0.25], [A, H]),
        LogisticCPD("L", [H, A], [0.5, 1.25], -1.0, states=[(0, "no"), (1, "yes")]),
        inputs=[Variable("I", ["x", "y"])],
        notes=Notes(
            "every kind",
            "one of each",
            "nobody (2000)",
            {"k": "v"},
            {"A": VariableNotes("label", "text", (1.5, -2.0), {"unit": "m"})},
        ),
    )


def test_the_example_has_every_kind():
    assert {cpd.kind for cpd in every_kind().cpds.values()} == set(KINDS)


def test_every_kind_of_distribution_comes_back():
    network = every_kind()
    text = format_json(network)
    again = parse_json(text)
    assert again == network
    assert again.notes == network.notes
    assert again.inputs == ("I",)
    assert list(again.variables.values()) == list(network.variables.values())
    assert [type(cpd) for cpd in again.cpds.values()] == [type(cpd) for cpd in network.cpds.values()]
    assert format_json(again) == text


def test_the_text_is_json_with_its_version():
    record = json.loads(format_json(every_kind()))
    assert (record["format"], record["version"], record["kind"]) == ("plausible", 1, "bayesian-network")
    assert record["variables"][1] == {
        "name": "A",
        "states": ["a0", "a1"],
        "label": "label",
        "description": "text",
        "position": [1.5, -2.0],
        "properties": {"unit": "m"},
    }
    assert record["distributions"][1] == {
        "variable": "B",
        "parents": ["A"],
        "kind": "table",
        "values": [0.2, 0.3, 0.5, 0.1, 0.1, 0.8],
    }


@pytest.mark.parametrize("word", [*NASTY_WORDS, "\x00", "\r\n", " ", "\ufffe", "\ud800", "\udc00\ud800", "\u2028"])
def test_any_text_can_be_a_name_a_state_and_a_note(word):
    network = BayesianNetwork(
        TableCPD(word, [0.25, 0.75], states=[word, ""]),
        notes=Notes(word, word, word, {word: word, "": word}, {word: VariableNotes(word, word, None, {word: word})}),
    )
    text = format_json(network)
    text.encode("utf-8")
    again = parse_json(text)
    assert (again, again.notes) == (network, network.notes)


def test_states_that_print_alike_are_told_apart():
    network = BayesianNetwork(TableCPD("A", [0.25, 0.25, 0.25, 0.25], states=[1, "1", False, "False"]))
    states = parse_json(format_json(network)).variables["A"].states
    assert list(map(repr, states)) == ["1", "'1'", "False", "'False'"]
    nested = BayesianNetwork(TableCPD("A", [0.5, 0.5], states=[(1, (2, "x")), ()]))
    assert parse_json(format_json(nested)) == nested


def test_null_is_no_state():
    """It would be taken for a missing value; the error has its place."""
    text = format_json(BayesianNetwork(TableCPD("A", [0.5, 0.5], states=["first", "x"])))
    with pytest.raises(FormatError, match=r"None can't be a state of 'A'"):
        parse_json(text.replace('"first"', "null"))


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_markov_networks_come_back(seed):
    rng = np.random.default_rng(seed)
    variables = [Variable(NASTY_WORDS[i], int(rng.integers(1, 5))) for i in range(6)]
    factors = []
    for _ in range(rng.integers(0, 6)):
        scope = [variables[i] for i in rng.permutation(6)[: rng.integers(0, 5)]]
        factors.append(Factor(scope, rng.exponential(size=[v.num_states for v in scope])))
    notes = Notes("m", properties={"k": "v"}).with_variable(variables[0].name, VariableNotes(position=(1.0, 2.0)))
    network = MarkovNetwork(*factors, variables=variables, notes=notes)
    again = parse_json(format_json(network))
    assert again == network
    assert again.notes == notes
    assert list(again.variables) == [variable.name for variable in variables]


class Coin(TableCPD):
    """A kind of distribution of one's own."""

    __slots__ = ()

    kind = "coin"


def test_what_json_can_not_hold_is_said():
    with pytest.raises(NotRepresentable, match="infinite"):
        format_json(BayesianNetwork(TableCPD("A", [0.5, 0.5], states=[0.0, float("inf")])))
    with pytest.raises(NotRepresentable, match="frozenset"):
        format_json(BayesianNetwork(TableCPD("A", [0.5, 0.5], states=[frozenset(), frozenset([1])])))
    with pytest.raises(NotRepresentable, match=r"a Coin, is of no kind that JSON files know: save its table"):
        format_json(BayesianNetwork(Coin("A", [0.5, 0.5])))


def test_rounded_rows_are_renormalised_with_one_warning():
    text = format_json(BayesianNetwork(TableCPD("A", [0.3, 0.7]), TableCPD("B", [0.3, 0.7])))
    with pytest.warns(RoundedProbabilities, match="2 rows in the tables of 2 variables") as caught:
        parse_json(text.replace("0.7", "0.7001"))
    assert len(caught) == 1


COIN = """{"format": "plausible", "version": 1, "kind": "bayesian-network",
"name": "coin",
"variables": [
  {"name": "C", "states": ["h", "t"]},
  {"name": "D", "states": [0, 1, 2]}
],
"distributions": [
  {"variable": "C", "parents": [], "kind": "table", "values": [0.5, 0.5]},
  {"variable": "D", "parents": ["C"], "kind": "table",
   "values": [0.25, 0.25, 0.5,
              1, 0, 0]}
]}
"""
FIELD = """{"format": "plausible", "version": 1, "kind": "markov-network",
"variables": [{"name": "A", "states": [0, 1]}],
"factors": [
  {"scope": ["A"], "values": [1, 2]}]}
"""


def test_the_examples_of_errors_are_right_before_they_are_spoilt():
    assert parse_json(COIN).cpd("D").to_factor()[{"C": "t", "D": 0}] == 1
    assert parse_json(FIELD).factors[0][{"A": 1}] == 2


@pytest.mark.parametrize(
    ("old", "new", "place", "part"),
    [
        (COIN, "", (1, 1), "This is not JSON"),
        (COIN, "[]", (1, 1), "Expected an object, found a list"),
        (COIN, '{"nodes": []}', (1, 1), 'expected "format": "plausible"'),
        ('"plausible"', '"other"', (1, 1), 'expected "format": "plausible"'),
        ('"version": 1', '"version": 2', (1, 36), "version: This file has version 2; version 1 can be read"),
        ('"version": 1', '"version": true', (1, 36), "no version; version 1 can be read"),
        ("bayesian-network", "bayes-network", (1, 47), "Did you mean 'bayesian-network'"),
        ('"name": "coin"', '"nmae": "coin"', (2, 9), "nmae: 'nmae' is not a known field. Did you mean 'name'?"),
        ('"name": "coin"', '"name": 3', (2, 9), "name: Expected text, found a number"),
        ('"distributions"', '"distribution"', (7, 17), "'distribution' is not a known field"),
        ('"name": "C", ', "", (4, 3), "variables[0]: The field 'name' is missing"),
        ('["h", "t"]', '"h"', (4, 27), "variables[0].states: Expected a list, found text"),
        ('["h", "t"]', "[]", (4, 3), "needs at least one state"),
        ('["h", "t"]', '["h", "h"]', (4, 3), "'h' of 'C' stands twice"),
        ('["h", "t"]', '["h", {}]', (4, 33), "variables[0].states[1]: A state is text"),
        ('"states": [0, 1, 2]', '"continuous": false', (5, 3), 'needs either "states"'),
        ('"states": [0, 1, 2]', '"continuous": true, "states": [1]', (5, 3), 'needs either "states"'),
        (
            '"states": [0, 1, 2]',
            '"states": [0, 1, 2], "position": [1]',
            (5, 50),
            "position: A position is a list of two",
        ),
        ('"name": "D"', '"name": "C"', (5, 3), "'C' is declared twice"),
        ('"name": "D"', '"name": "D", "name": "E"', (5, 25), "The field 'name' stands twice"),
        ('{"variable": "C"', '{"variable": "c"', (8, 16), "distributions[0].variable: 'c', used here, is not declared"),
        ('"parents": ["C"]', '"parents": ["E"]', (9, 33), "distributions[1].parents[0]: 'E', a parent of 'D'"),
        ('"parents": ["C"]', '"parents": ["D"]', (10, 14), "'D' stands twice"),
        ('"kind": "table", "val', '"kind": "tabel", "val', (8, 44), "'tabel' is not a kind of distribution"),
        ('"kind": "table", "val', '"kind": "tree", "val', (8, 3), "has no field 'tree'"),
        ("[0.5, 0.5]", "[0.5, 0.6]", (8, 63), "distributions[0].values: The row of 'C' sums to 1.1"),
        ("[0.5, 0.5]", "[0.5]", (8, 63), "needs 2 numbers; the file has 1"),
        ("[0.5, 0.5]", '[0.5, "0.5"]', (8, 69), "distributions[0].values[1]: Expected a number, found text"),
        ("[0.5, 0.5]", "[1, true]", (8, 67), "Expected a number, found a truth value"),
        ("[0.5, 0.5]", "[[0.5, 0.5]]", (8, 64), "distributions[0].values[0]: Expected a number"),
        ("[0.5, 0.5]", "[0.5, NaN]", (8, 69), "NaN is not a number"),
        ("[0.5, 0.5]", "[0.5, -Infinity]", (8, 69), "-Infinity is not a number"),
        ("[0.5, 0.5]", "[0.5, 1e999]", (8, 63), "inf"),
        ("[0.5, 0.5]", f"[0.5, {'9' * 5000}]", (8, 69), "too many digits"),
        ("[0.5, 0.5]", f"[0.5, {'9' * 400}]", (8, 63), "too large"),
        ("[0.5, 0.5]}", "[0.5, 0.5],}", (8, 74), "This is not JSON"),
        ("[0.5, 0.5]}", '[0.5, 0.5], "extra": 1}', (8, 84), "'extra' is not a field of the kind 'table'"),
        ('"variable": "D"', '"variable": "C"', (10, 14), "'C' has two distributions"),
        ('"name": "coin"', '"inputs": ["Q"]', (2, 12), "inputs[0]: 'Q'"),
        ('"name": "coin"', '"inputs": ["C"]', (8, 3), "'C' is an input, and has a distribution"),
        ('"name": "coin"', '"properties": {"k": 1}', (2, 21), "properties.k: Expected text, found a number"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(old, new, place, part):
    assert old in COIN
    check_refused(parse_json, COIN.replace(old, new, 1), part, place)


@pytest.mark.parametrize(
    ("old", "new", "place", "part"),
    [
        ('["A"]', '["B"]', (4, 14), "factors[0].scope[0]: 'B' is not declared"),
        ('["A"]', '["A", "A"]', (4, 19), "'A' stands twice"),
        ("[1, 2]", "[1, 2, 3]", (4, 30), "Expected 2 numbers, found 3"),
        ("[1, 2]", "[1, -2]", (4, 34), "factors[0].values[1]: -2 is negative"),
        ("[1, 2]", "[1, 1e999]", (4, 34), "inf is negative or not finite"),
        ('"states": [0, 1]', '"continuous": true', (2, 15), "'A' needs states"),
        ("[0, 1]", "[0, 0]", (2, 15), "stands twice"),
    ],
)
def test_an_error_in_a_markov_network_says_where(old, new, place, part):
    assert old in FIELD
    check_refused(parse_json, FIELD.replace(old, new, 1), part, place)


def test_a_missing_distribution_and_a_cycle_are_errors():
    start, end = COIN.index('  {"variable": "C"'), COIN.index('  {"variable": "D"')
    with pytest.raises(FormatError, match="'C' has no distribution"):
        parse_json(COIN[:start] + COIN[end:])
    cycle = COIN.replace('"parents": []', '"parents": ["D"]').replace("[0.5, 0.5]", "[1, 0, 1, 0, 1, 0]")
    with pytest.raises(FormatError, match="directed cycle"):
        parse_json(cycle)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        COIN.replace("0.5", "[" * 900 + "]" * 900, 1),
        COIN.replace('"h"', "[" * 900 + "]" * 900, 1),
        COIN.replace("1,", "[" * 900 + "]" * 900 + ",", 1),
        COIN.replace('"bayesian-network"', "[" * 900 + "]" * 900, 1),
        '"' * 100_001,
        '{"format": "plausible", ' + '"x": 1, ' * 100_000 + '"y": 2}',
    ],
)
def test_hostile_texts_are_refused_at_once(text):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        parse_json(text)
    assert time.perf_counter() - start < 5.0


@pytest.mark.parametrize("seed", few_of(4, 40))
def test_records_of_the_wrong_shape_are_refused(seed):
    """Whatever stands where a parameter should, the distribution that it stands in is named, and its line."""
    rng = np.random.default_rng(seed)
    text = format_json(every_kind())
    wrong = [None, {}, "x", [[]], {"tree": 1}, [[[1]]]]
    for place in range(len(json.loads(text)["distributions"])):
        record = json.loads(text)
        part = record["distributions"][place]
        while True:
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            key = keys[rng.integers(len(keys))]
            if not isinstance(part[key], (list, dict)) or not part[key] or rng.random() < 0.4:
                break
            part = part[key]
        others = [value for value in wrong if value or part[key]]  # nothing may stand for nothing
        part[key] = others[rng.integers(len(others))]
        check_refused(parse_json, json.dumps(record), f"distributions[{place}]")


def test_a_misspelt_field_is_said_to_stand_for_the_missing_one():
    text = format_json(BayesianNetwork(TableCPD("A", [0.5, 0.5]))).replace('{"variable":', '{"varable":')
    with pytest.raises(
        FormatError, match=r"The field 'variable' is missing\. 'varable' looks like a misspelling of it"
    ):
        parse_json(text)
