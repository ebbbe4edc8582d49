"""What holds of every file format: the same model through any two of them is the same model; junk is refused."""

from __future__ import annotations

import time
import warnings
from itertools import permutations

import numpy as np
import pytest
from random_networks import random_network, random_notes

from plausible.cpds import DeterministicCPD, NoisyMax, NoisyOr, TableCPD
from plausible.errors import FormatError, NotRepresentable, PlausibleError, RoundedProbabilities
from plausible.io import FORMATS, Format
from plausible.models import BayesianNetwork

WRITABLE = [format for format in FORMATS if format.write is not None]
# UAI files have no names, so that a model comes back under others.
NAMED = [format for format in WRITABLE if format.name != "UAI"]
PAIRS = list(permutations(NAMED, 2))


def by_name(format: Format) -> str:
    return format.name


def written(format: Format, network: BayesianNetwork) -> str:
    assert format.write is not None
    return format.write(network)


def assert_same(network: BayesianNetwork, original: BayesianNetwork) -> None:
    """The same variables in the same order, states of the same types, and the same numbers."""
    assert list(network.variables) == list(original.variables)
    for name, variable in original.variables.items():
        states = network.variables[name].states
        assert [(type(state), state) for state in states] == [(type(state), state) for state in variable.states]
        assert network.cpd(name).parent_names == original.cpd(name).parent_names
    assert network.is_close(original, 1e-15)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=by_name)
def test_a_model_is_the_same_through_any_two_formats(first, second):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        network = random_network(rng, num_variables=int(rng.integers(1, 8)))
        network = network.with_notes(random_notes(rng, network))
        once = first.parse(written(first, network))
        twice = second.parse(written(second, once))
        assert twice == network
        assert_same(twice, network)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=by_name)
def test_notes_are_the_same_through_any_two_formats(first, second):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        network = random_network(rng, num_variables=5)
        network = network.with_notes(random_notes(rng, network))
        twice = second.parse(written(second, first.parse(written(first, network))))
        assert twice.notes == network.notes


@pytest.mark.parametrize("format", WRITABLE, ids=by_name)
def test_uai_numbers_the_variables_of_any_format(format):
    uai = next(format for format in FORMATS if format.name == "UAI")
    network = random_network(np.random.default_rng(3), num_variables=6)
    again = format.parse(written(format, uai.parse(written(uai, network))))
    assert list(again.variables) == [str(index) for index in range(6)]
    for one, two in zip(network.cpds.values(), again.cpds.values(), strict=True):
        np.testing.assert_array_equal(one.to_table().values, two.to_table().values)


@pytest.mark.parametrize("format", NAMED, ids=by_name)
def test_structured_distributions_keep_their_numbers(format):
    """In their own kind where the format has it, else as a table."""
    network = BayesianNetwork(
        TableCPD("A", [0.3, 0.7], states=["no", "yes"]),
        TableCPD("B", [0.2, 0.3, 0.5], states=["x", "y", "z"]),
        NoisyOr("O", ["A", "B"], [0.3, 0.4], 0.1, active_states={"B": "y"}),
        NoisyMax("M", ["A", "O"], [[[1, 0, 0], [0.1, 0.3, 0.6]], [[1, 0, 0], [0.5, 0.25, 0.25]]], [0.9, 0.1, 0.0]),
        DeterministicCPD(
            "D",
            lambda m, o: f"{m}{o}",
            parents=["M", "O"],
            states=["0False", "0True", "1False", "1True", "2False", "2True"],
        ),
    )
    assert_same(format.parse(written(format, network)), network)


@pytest.mark.parametrize("format", WRITABLE, ids=by_name)
def test_writing_is_a_function_of_the_model(format):
    for seed in range(5):
        network = random_network(np.random.default_rng(seed))
        text = written(format, network)
        assert text == written(format, network)
        assert text.endswith("\n")
        if format.name != "UAI":
            assert written(format, format.parse(text)) == text


@pytest.mark.parametrize("format", WRITABLE, ids=by_name)
def test_an_empty_network_comes_back(format):
    assert len(format.parse(written(format, BayesianNetwork()))) == 0


def plain_text(format: Format) -> str:
    """A text that the format reads; for those that are not written, one of a relative's."""
    network = random_network(np.random.default_rng(11), num_variables=4, nasty=False)
    return written(format, network) if format.write is not None else "net X { node A { STATES = (a, b); }; };"


JUNK = [
    "",
    " ",
    "\n\t \r\n",
    "\x00",
    "\ufeff",
    "\x00\x01\x02\xff" * 50,
    "%PDF-1.4\n%âãÏÓ",
    "PK\x03\x04" + "\x00" * 100,
    "hello world",
    "0",
    "-",
    "()",
    "{}",
    "[]",
    "null",
    "<a/>",
    "\ud800",
    "🎲" * 100,
    *(bytes(np.random.default_rng(seed).integers(0, 256, 400, dtype=np.uint8)).decode("latin-1") for seed in range(8)),
]


@pytest.mark.parametrize("format", FORMATS, ids=by_name)
@pytest.mark.parametrize("text", JUNK, ids=range(len(JUNK)))
def test_junk_is_refused(format, text):
    with pytest.raises(FormatError):
        format.parse(text)


@pytest.mark.parametrize("format", WRITABLE, ids=by_name)
def test_a_text_that_was_cut_is_refused(format):
    """Cut after every twentieth of its length, before a word: half a number is a number."""
    text = plain_text(format).rstrip()
    for twentieth in range(1, 21):
        part = " ".join(text[: len(text) * twentieth // 20].rsplit(None, 1)[:-1])
        with pytest.raises(FormatError) as raised:
            format.parse(part)
        assert raised.value.line is not None


@pytest.mark.parametrize("format", FORMATS, ids=by_name)
@pytest.mark.parametrize(
    "opening", ["{", "[", "(", "<a>", '{"a":', "net x {", "node a {", "/*", "/#", '"', "\\", "a = ("]
)
def test_deep_nesting_is_refused(format, opening):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        format.parse(opening * 50_000)
    assert time.perf_counter() - start < 5.0


@pytest.mark.parametrize("format", WRITABLE, ids=by_name)
def test_a_damaged_text_is_read_or_refused(format):
    """No exception but FormatError, whatever is deleted, doubled, moved or put in."""
    texts = [written(format, random_network(np.random.default_rng(seed), num_variables=4)) for seed in range(4)]
    junk = [
        "-1",
        "1e999",
        "nan",
        "99999999999999",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        '"',
        ";",
        ",",
        "\\",
        "\x00",
        "é",
        "\n",
        "null",
    ]
    outcomes = set()
    for seed in range(70):
        rng = np.random.default_rng(seed)
        text = texts[seed % len(texts)]
        for _ in range(int(rng.integers(1, 4))):
            start = int(rng.integers(len(text) + 1))
            end = start + int(rng.choice([0, 1, 5, 40]))
            middle = [text[start:end] * 2, "", str(rng.choice(junk)), text[: end - start]][rng.integers(4)]
            text = text[:start] + middle + text[end:]
        outcomes.add(outcome(format, text))
    assert "FormatError" in outcomes
    assert outcomes <= {"FormatError", "model"}


def outcome(format: Format, text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundedProbabilities)
        try:
            model = format.parse(text)
        except PlausibleError as error:
            return type(error).__name__
    assert len(model.variables) >= 0
    return "model"


@pytest.mark.parametrize("format", WRITABLE, ids=by_name)
def test_what_a_format_can_not_hold_names_the_fix(format):
    parents = [TableCPD(f"P{i}", [0.5, 0.5]) for i in range(70)]
    network = BayesianNetwork(*parents, NoisyOr("Y", [cpd.variable.name for cpd in parents], [0.5] * 70))
    try:
        text = written(format, network)
    except NotRepresentable as error:
        message = str(error)
        assert "'Y'" in message
        assert ".json" in message
    else:
        assert format.parse(text) == network
