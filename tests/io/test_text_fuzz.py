"""Damaged texts: the outcome is a network or a `FormatError` with a place, and it comes at once."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from random_networks import random_network, random_notes
from text_samples import DNE, DSL, NET

from plausible.errors import FormatError
from plausible.io.bif import format_bif, parse_bif
from plausible.io.dne import parse_dne
from plausible.io.dsl import parse_dsl
from plausible.io.hugin import format_hugin, parse_hugin
from plausible.models import BayesianNetwork

ROUNDS = 160
READERS = {"bif": parse_bif, "net": parse_hugin, "dsl": parse_dsl, "dne": parse_dne}
WRITERS = {"bif": format_bif, "net": format_hugin}
SAMPLES = {"net": NET, "dsl": DSL, "dne": DNE}
#: What damage puts in: the marks, keywords and numbers of all the languages, and characters of none.
PIECES = [
    *'{}()[];,|="\\%#\n\x00\ufeffé.e+@',
    *["//", "/*", "*/", "0", "1", "-1", "1e999", "nan", "inf", "1_0", "0.5", "99999999999999999999", "#0"],
    *["network", "variable", "probability", "property", "type", "discrete", "table", "default"],
    *["net", "node", "potential", "states", "data", "continuous", "normal(", "plausible_states", "plausible_name"],
    *["TYPE", "DEFINITION", "PARENTS", "NAMESTATES", "bnet", "probs", "functable", "levels", "parents"],
]


def outcome(kind: str, text: str) -> BayesianNetwork | FormatError:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return READERS[kind](text)
        except FormatError as error:
            return error


def whole_text(kind: str, rng: np.random.Generator) -> str:
    if kind not in WRITERS or (kind in SAMPLES and rng.random() < 0.3):
        return SAMPLES[kind]
    network = random_network(rng, num_variables=int(rng.integers(1, 5)), nasty=bool(rng.integers(2)))
    return WRITERS[kind](network.with_notes(random_notes(rng, network)))


def damaged(text: str, rng: np.random.Generator) -> str:
    for _ in range(int(rng.integers(1, 4))):
        start, other = (int(position) for position in rng.integers(len(text) + 1, size=2))
        end = start + int(rng.geometric(0.1))
        piece = PIECES[rng.integers(len(PIECES))]
        text = [
            text[:start] + text[end:],
            text[:end] + text[start:end] + text[end:],
            text[:start] + piece + text[end:],
            text[:start] + piece + text[start:],
            text[:other] + text[start:end] + text[other:],
            text[:start] if rng.random() < 0.3 else text[:start] + piece * 3 + text[start:],
        ][rng.integers(6)]
    return text


def check_error(error: FormatError, text: str) -> None:
    lines = text.split("\n")
    assert error.line is not None
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1


def check_network(network: BayesianNetwork) -> None:
    for cpd in network.cpds.values():
        if not cpd.variable.is_continuous:
            values = cpd.to_table().values
            assert values.min() >= 0
            assert np.allclose(values.sum(axis=-1), 1.0, atol=1e-9)


@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_text_gives_a_network_or_an_error_with_its_place(kind):
    rng = np.random.default_rng(17)
    errors = 0
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        text = damaged(whole_text(kind, rng), rng)
        result = outcome(kind, text)
        if isinstance(result, FormatError):
            check_error(result, text)
            errors += 1
        else:
            check_network(result)
    assert time.perf_counter() - begin < 60
    assert ROUNDS // 20 < errors < ROUNDS - ROUNDS // 20


@pytest.mark.parametrize("kind", READERS)
def test_texts_of_nothing_but_pieces_give_errors_or_an_empty_network(kind):
    rng = np.random.default_rng(18)
    for _ in range(ROUNDS):
        text = "".join(rng.choice(PIECES, size=rng.integers(1, 40)))
        result = outcome(kind, text)
        if isinstance(result, FormatError):
            check_error(result, text)
        else:
            assert len(result) == 0


@pytest.mark.parametrize("kind", READERS)
def test_a_text_that_is_cut_off_never_gives_other_numbers(kind):
    text = whole_text(kind, np.random.default_rng(3))
    whole = READERS[kind](text)
    for end in range(0, len(text), max(1, len(text) // 120)):
        result = outcome(kind, text[:end])
        if isinstance(result, BayesianNetwork):
            assert all(whole.cpd(name) == cpd for name, cpd in result.cpds.items())


MANY = 100_000
LONG = "".join(chr(0x4E00 + number % 150) for number in range(MANY))
A = "network n {} variable A { type discrete [ 2 ] { a, b }; } "


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("net", "net { a =" + " " * MANY + '"b"; }'),
        ("net", 'net { a = "' + '\\"' * MANY + " % c"),
        ("net", "continuous node X { } potential (X) { data = (normal(" + "1" * MANY + "x, 1)); }"),
        ("dne", 'bnet n { a = "' + '\\"' * MANY + " // c"),
        ("bif", "network" + " " * MANY),
        ("bif", "variable A { property " * (MANY // 5) + "//"),
        ("bif", A + "probability ( A ) { default" + " " * MANY + "0.5 0.5; }"),
        ("bif", A.replace("variable A", f"variable {LONG}") + f"probability ( {LONG}x ) {{ table 1, 0; }}"),
    ],
    ids=range(8),
)
def test_blanks_digits_and_quotes_in_numbers_are_read_in_linear_time(kind, text):
    """Each of these took time in proportion to the square of its length: minutes, for this one."""
    begin = time.process_time()
    outcome(kind, text)
    assert time.process_time() - begin < 3
