"""Errors name the line and the column, both counted from one, where the text is wrong."""

import numpy as np
import pytest
from text_samples import check_refused

from plausible.io.assembly import Place
from plausible.io.bif import parse_bif
from plausible.io.dne import parse_dne
from plausible.io.dsl import parse_dsl
from plausible.io.hugin import parse_hugin
from plausible.io.uai import parse_uai
from plausible.io.xmlbif import parse_xmlbif


@pytest.mark.parametrize("parse", [parse_bif, parse_dne, parse_dsl, parse_hugin])
def test_a_file_without_a_block_is_refused_at_its_beginning(parse):
    check_refused(parse, "\n\n   \n", "the file has no block", (1, 1))


@pytest.mark.parametrize("seed", range(20))
def test_the_place_of_a_word_is_where_it_stands(seed):
    """One word of a UAI file becomes wrong; the lines and blanks before it are counted by hand."""
    rng = np.random.default_rng(seed)
    words = ["BAYES", *"2232102012", "0.5", "0.5", "6", "0.2", "0.3", "0.5", "0.1", "0.1", "0.8"]
    wrong = int(rng.integers(1, len(words)))
    lines = [""]
    place = (0, 0)
    for number, word in enumerate(words):
        if number and rng.random() < 0.4:
            lines += [""] * int(rng.integers(1, 3))
        lines[-1] += " " * int(rng.integers(1, 4))
        if number == wrong:
            place = len(lines), len(lines[-1]) + 1
        lines[-1] += "odd" if number == wrong else word
    check_refused(parse_uai, "\n".join(lines), "odd", place)


@pytest.mark.parametrize("seed", range(5))
def test_the_place_of_an_xml_element_is_where_it_begins(seed):
    rng = np.random.default_rng(seed)
    before = "".join(rng.choice([" ", "\n"], size=int(rng.integers(12))))
    text = f'<BIF VERSION="0.3">\n<NETWORK>{before}<VARIABLE TYPE="odd"><NAME>a</NAME></VARIABLE></NETWORK></BIF>'
    start = text.index("<VARIABLE")
    line = text.count("\n", 0, start) + 1
    check_refused(parse_xmlbif, text, "odd", (line, start - text.rfind("\n", 0, start)))


def test_a_place_is_what_it_is_told_or_that_of_a_character():
    assert (Place(3, 5).line, Place(3, 5).column) == (3, 5)
    error = Place(3, 5).error("odd")
    assert (error.line, error.column) == (3, 5)
    text = "ab\n\ncd\n"
    for offset in range(len(text)):
        place = Place.at(text, offset)
        assert text.split("\n")[place.line - 1] + "\n" == text.splitlines(keepends=True)[place.line - 1]
        assert sum(map(len, text.splitlines(keepends=True)[: place.line - 1])) + place.column - 1 == offset
