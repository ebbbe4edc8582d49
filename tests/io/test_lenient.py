"""What files get wrong: what is read as it stands, what a lenient reader mends and tells, and what is refused."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import plausible as pb
from plausible.errors import FormatError, PlausibleWarning
from plausible.io import parse

NET = """net {{ }}
node A {{ states = ("a" "b" "c"); }}
node B {{ states = ("x" "y"); }}
potential (A) {{ data = ({0}); }}
potential (B | A) {{ data = (({1}) ({2}) ({3})); }}"""
BIF = """network n {{}}
variable A {{ type discrete [ 3 ] {{ a, b, c }}; }}
variable B {{ type discrete [ 2 ] {{ x, y }}; }}
probability ( A ) {{ table {0}; }}
probability ( B | A ) {{ (a) {1}; (b) {2};
(c) {3}; }}"""
XMLBIF = """<BIF><NETWORK>
<VARIABLE><NAME>A</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME><OUTCOME>c</OUTCOME></VARIABLE>
<VARIABLE><NAME>B</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>A</FOR><TABLE>{0}</TABLE></DEFINITION>
<DEFINITION><FOR>B</FOR><GIVEN>A</GIVEN><TABLE>{1} {2} {3}</TABLE></DEFINITION></NETWORK></BIF>"""
XDSL = """<smile><nodes><cpt id="A"><state id="a"/><state id="b"/><state id="c"/>


<probabilities>{0}</probabilities></cpt><cpt id="B"><state id="x"/><state id="y"/><parents>A</parents>
<probabilities>{1} {2} {3}</probabilities></cpt></nodes></smile>"""
DSL = """net n {{
node A {{ TYPE = CPT; PARENTS = (); DEFINITION = {{ NAMESTATES = (a, b, c);

PROBABILITIES = ({0}); }}; }}; node B {{ TYPE = CPT; PARENTS = (A); DEFINITION = {{ NAMESTATES = (x, y);
PROBABILITIES = ({1} {2} {3}); }}; }}; }};"""
DNE = """bnet n {{
node A {{ states = (a, b, c); parents = ();

probs = ({0}); }}; node B {{ states = (x, y); parents = (A);
probs = (({1}), ({2}), ({3})); }}; }};"""
UAI = "BAYES 2 3 2\n2 1 0 2 0 1\n\n3 {0}\n6 {1} {2} {3}"
TEXTS = {"net": NET, "bif": BIF, "xmlbif": XMLBIF, "xdsl": XDSL, "dsl": DSL, "dne": DNE, "uai": UAI}

#: The rows of a file with counts, zeros and a sum of 0.9, and what they should be read as.
ROWS = ("20 10 20", "0.25 0.75", "0 0", "0.3 0.6")
PRIOR, TABLE = [0.4, 0.2, 0.4], [[0.25, 0.75], [0.5, 0.5], [1 / 3, 2 / 3]]


@pytest.mark.parametrize("format", TEXTS)
def test_rows_that_are_no_probabilities_are_mended_and_told_with_their_lines(format):
    """Counts are divided by their sums, zeros are uniform; one warning tells all, and strict readers name the way."""
    text = TEXTS[format].format(*ROWS)
    with pytest.warns(PlausibleWarning) as told:
        network = parse(text, format, lenient=True)
    first, second = network.cpds.values()
    np.testing.assert_allclose(first.to_table().values, PRIOR, atol=1e-15)
    np.testing.assert_allclose(second.to_table().values, TABLE, atol=1e-15)
    (warning,) = told
    lines = str(warning.message).splitlines()
    assert lines[0] == "What was mended:"
    expected = (
        ("line 4", "1 row", "sum, 50"),
        ("line 5", "1 row of zeros", "uniform"),
        ("line 5", "1 row", "sum, 0.9"),
    )
    for line, words in zip(lines[1:], expected, strict=True):
        assert all(word in line for word in words)
    with pytest.raises(FormatError, match="lenient=True"):
        parse(text, format)


@pytest.mark.parametrize("format", TEXTS)
def test_a_lenient_reader_has_nothing_to_say_of_a_sound_file(format):
    text = TEXTS[format].format("0.4 0.2 0.4", "0.25 0.75", "0.5 0.5", "1 0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse(text, format, lenient=True) == parse(text, format)


@pytest.mark.parametrize("row", ["-0.1 1.1", "1e308 1.7e308"])
@pytest.mark.parametrize("format", TEXTS)
def test_what_no_reader_can_mend_is_refused_without_false_hope(format, row):
    with pytest.raises(FormatError) as raised:
        parse(TEXTS[format].format("0.4 0.2 0.4", "0.25 0.75", row, "1 0"), format, lenient=True)
    assert not raised.value.remedies


def test_the_warning_names_the_file_and_the_error_keeps_its_advice(tmp_path):
    file = tmp_path / "counts.net"
    file.write_text(NET.format(*ROWS))
    with pytest.warns(PlausibleWarning, match=f"{file.name}: What was mended"):
        network = pb.load_network(file, lenient=True)
    assert network.variables["B"].states == ("x", "y")
    with pytest.raises(FormatError, match=r"counts.net:4:24: .* sums to 50, not to one\. Have it mended by") as raised:
        pb.load(file)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_warning_of_many_mended_tables_stays_short():
    nodes = "".join(f"node A{i} {{ states = (a b); }}\npotential (A{i}) {{ data = (3 1); }}\n" for i in range(100))
    with pytest.warns(PlausibleWarning, match="and 80 other places") as told:
        parse(nodes, "net", lenient=True)
    assert len(str(told[0].message).splitlines()) == 22


# A -> C <- B; P(C = 1 | a, b) is (1 + 2 a + b) / 10.
CHILD_FIRST = "BAYES\n3\n2 3 2\n3\n1 0\n1 1\n3 2 0 1\n\n2 0.4 0.6\n3 0.2 0.3 0.5\n12\n{}"
ONES = np.array([[0.1, 0.2, 0.3], [0.3, 0.4, 0.5]])


@pytest.mark.parametrize("axis", [0, -1])
def test_uai_files_that_begin_with_the_child_are_read_leniently(axis):
    """The table follows the scope, child slowest, or lists the child fastest all the same: its sums tell."""
    text = CHILD_FIRST.format(" ".join(map(str, np.stack([1 - ONES, ONES], axis=axis).ravel())))
    with pytest.warns(PlausibleWarning, match="line 1: the first variable of each scope"):
        network = parse(text, "uai", lenient=True)
    assert network.cpd("2").parent_names == ("0", "1")
    np.testing.assert_allclose(network.cpd("2").to_table().values[..., 1], ONES)
    with pytest.raises(FormatError, match=r"first in scope may be meant.*lenient=True"):
        parse(text, "uai")


def test_blanks_before_the_xml_declaration_are_passed_over():
    head = '\n \ufeff\n<?xml version="1.0" encoding="latin-1"?>'
    text = head + XMLBIF.format("0.4 0.2 0.4", "0.25 0.75", "0.5 0.5", "{}")
    assert len(parse(text.format("1 0"), "xmlbif")) == 2
    with pytest.raises(FormatError) as raised:
        parse(text.format("1 wrong"), "xmlbif")
    lines = text.format("1 wrong").split("\n")
    assert lines[raised.value.line - 1][raised.value.column - 1 :].startswith("wrong")


@pytest.mark.parametrize("format", ["net", "bif", "xmlbif"])
def test_a_distribution_that_is_repeated_word_for_word_is_one(format):
    text = TEXTS[format].format("0.4 0.2 0.4", "0.25 0.75", "0.5 0.5", "1 0")
    start = text.index({"net": "potential (A)", "bif": "probability ( A )", "xmlbif": "<DEFINITION>"}[format])
    twice = text[:start] + text[start:].split("\n")[0] + "\n" + text[start:]
    assert parse(twice, format) == parse(text, format)
    with pytest.raises(FormatError, match="two distributions"):
        parse(twice.replace("0.4 0.2 0.4", "0.2 0.4 0.4", 1), format)


def test_semicolons_in_the_quoted_properties_of_bif_do_not_end_them():
    text = BIF.format("0.4 0.2 0.4", "0.25 0.75", "0.5 0.5", "1 0")
    text = text.replace(
        "n {}",
        'n { property "a; b // c"; property d = "e; f" ; property size = 5" x; property 6" = y; property h "i; j"; }',
    )
    text = text.replace("(a)", 'property "g; h";\n(a)').replace("c };", 'c }; property "i; j";')
    notes = parse(text, "bif").notes
    assert dict(notes.properties) == {"a; b // c": "", "d": '"e; f"', "size": '5" x', '6"': "y", 'h "i; j"': ""}
    assert dict(notes.of("A").properties) == {"i; j": ""}
    assert dict(notes.of("B").properties) == {"probability.g; h": ""}


@pytest.mark.parametrize("value", ["(" * 200_000, "(" * 200_000 + '"a)"', ")" * 200_000, "(1 2))"])
def test_parentheses_that_do_not_match_are_refused_wherever_they_stand(value):
    with pytest.raises(FormatError, match=r"he value of 'size' .*expected '[()]'"):
        parse(f"net {{ size = {value}; }}", "net")


def test_a_row_that_is_repeated_word_for_word_is_one_row_for_a_lenient_reader():
    """Other numbers for the same parents are refused."""
    text = BIF.format("0.4 0.2 0.4", "0.25 0.75", "0.5 0.5", "1 0")
    twice = text.replace("(a) 0.25 0.75;", "(a) 0.25 0.75; (a) 0.25 0.75;")
    assert twice != text
    with pytest.raises(FormatError, match=r"two rows for A=a, with the same numbers. .*lenient=True"):
        parse(twice, "bif")
    with pytest.warns(
        pb.errors.PlausibleWarning, match="'B' has two rows for A=a, with the same numbers: one is passed"
    ):
        assert parse(twice, "bif", lenient=True) == parse(text, "bif")
    with pytest.raises(FormatError, match=r"two rows for A=a\.$"):
        parse(twice.replace("(a) 0.25 0.75", "(a) 0.75 0.25", 1), "bif", lenient=True)
