"""Damaged texts: the outcome is a model or a `FormatError` with a place, and it comes at once."""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from random_networks import random_network, random_notes

from plausible.errors import FormatError
from plausible.io.bif import format_bif, parse_bif
from plausible.io.dne import parse_dne
from plausible.io.dsl import parse_dsl
from plausible.io.hugin import format_hugin, parse_hugin
from plausible.models import BayesianNetwork

ROUNDS = 400
#: What damage puts in: the marks, keywords and numbers of all the languages, and bytes of none.
PIECES = (
    [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "|",
        "=",
        '"',
        "\\",
        "%",
        "#",
        "//",
        "/*",
        "*/",
        "\n",
        "\x00",
        "\ufeff",
        "é",
    ]
    + ["network", "variable", "probability", "property", "type", "discrete", "table", "default", "node", "potential"]
    + ["states", "data", "net", "continuous", "normal(", "TYPE", "DEFINITION", "PARENTS", "bnet", "probs", "functable"]
    + ["0", "1", "-1", "1e999", "nan", "inf", "1_0", "0.5", "99999999999999999999", ".", "e", "+", "@", "#0"]
)


def random_text(kind: str, rng: np.random.Generator) -> str:
    network = random_network(rng, num_variables=int(rng.integers(1, 5)), nasty=bool(rng.integers(2)))
    network = network.with_notes(random_notes(rng, network))
    return {"bif": format_bif, "hugin": format_hugin}[kind](network)


def sample_text(kind: str) -> str:
    """The long sample in the tests of the format."""
    namespace: dict[str, str] = {}
    source = (Path(__file__).parent / f"test_{kind}.py").read_text(encoding="utf-8")
    start = source.index("REAL = ")
    exec(source[start : source.index('"""\n', start + 12) + 4], namespace)
    return namespace["REAL"]


def damaged(text: str, rng: np.random.Generator) -> str:
    for _ in range(int(rng.integers(1, 4))):
        start = int(rng.integers(len(text) + 1))
        end = min(len(text), start + int(rng.geometric(0.1)))
        piece = PIECES[rng.integers(len(PIECES))]
        match rng.integers(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:end] + text[end:]
            case 2:
                text = text[:start] + piece + text[end:]
            case 3:
                text = text[:start] + piece + text[start:]
            case 4:
                text = text[:start]
            case _:
                other = int(rng.integers(len(text) + 1))
                text = text[:other] + text[start:end] + text[other:]
    return text


READERS = {"bif": parse_bif, "hugin": parse_hugin, "dsl": parse_dsl, "dne": parse_dne}


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_text_gives_a_network_or_an_error_with_its_place(kind):
    rng = np.random.default_rng(17)
    outcomes = {"network": 0, "error": 0}
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        text = damaged(random_text(kind, rng) if kind in ("bif", "hugin") else sample_text(kind), rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                network = READERS[kind](text)
            except FormatError as error:
                lines = text.split("\n")
                assert error.line is not None
                assert 1 <= error.line <= len(lines)
                assert 1 <= error.column <= len(lines[error.line - 1]) + 1
                outcomes["error"] += 1
                continue
        assert isinstance(network, BayesianNetwork)
        for cpd in network.cpds.values():
            if not cpd.variable.is_continuous:
                values = cpd.to_table().values
                assert values.min() >= 0
                assert np.allclose(values.sum(axis=-1), 1.0, atol=1e-9)
        outcomes["network"] += 1
    assert time.perf_counter() - begin < 60
    assert min(outcomes.values()) > ROUNDS // 20


@pytest.mark.parametrize("kind", READERS)
def test_texts_of_nothing_but_pieces_give_errors(kind):
    rng = np.random.default_rng(18)
    for _ in range(ROUNDS):
        text = "".join(rng.choice(PIECES, size=rng.integers(1, 40)))
        try:
            network = READERS[kind](text)
        except FormatError as error:
            assert error.line is not None
        else:
            assert len(network) == 0


@pytest.mark.parametrize("kind", READERS)
def test_every_beginning_of_a_text_is_refused_or_whole(kind):
    text = random_text(kind, np.random.default_rng(3)) if kind in ("bif", "hugin") else sample_text(kind)
    whole = READERS[kind](text)
    for end in range(0, len(text), max(1, len(text) // 300)):
        try:
            network = READERS[kind](text[:end])
        except FormatError as error:
            assert error.line is not None
        else:
            assert set(network.variables) <= set(whole.variables)


@pytest.mark.parametrize("module", ["bif", "hugin", "dsl", "dne"])
def test_each_reader_is_registered_under_its_endings(module):
    known = import_module(f"plausible.io.{module}").FORMAT
    assert known.parse is READERS[module]
    assert f".{ {'hugin': 'net'}.get(module, module) }".replace(" ", "") in known.extensions
