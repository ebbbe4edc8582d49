"""XMLBIF: its dialects read to the same numbers, every error says where it is, and writing loses nothing."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from random_networks import NASTY_WORDS, random_network
from tests.io.text_samples import check_refused

from benchmark_networks import benchmark_text
from plausible.cpds import LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import FormatError, NotRepresentable, RoundedProbabilities
from plausible.factors import Factor
from plausible.io.bif import parse_bif
from plausible.io.xmlbif import format_xmlbif, parse_xmlbif
from plausible.models import BayesianNetwork, MarkovNetwork, Notes, VariableNotes
from plausible.variables import Variable

GARDEN = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- A sprinkler and what it does -->
<!DOCTYPE BIF [
    <!ELEMENT BIF ( NETWORK )*>
          <!ATTLIST BIF VERSION CDATA #REQUIRED>
    <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
    <!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
          <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
    <!ELEMENT TABLE (#PCDATA)>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>garden</NAME>
<PROPERTY>reference = somebody's back yard</PROPERTY>
<PROPERTY>credal</PROPERTY>

<VARIABLE TYPE="nature">
  <NAME>season</NAME>
  <OUTCOME>dry</OUTCOME>
  <OUTCOME>wet</OUTCOME>
  <PROPERTY>position = (73, 165.5)</PROPERTY>
</VARIABLE>
<VARIABLE>
  <NAME>
    sprinkler
  </NAME>
  <VALUE>off</VALUE>
  <VALUE>on</VALUE>
</VARIABLE>
<variable type="NATURE">
  <name>grass</name>
  <outcome>a &lt; b</outcome>
  <outcome>soaked</outcome>
  <outcome/>
  <property>unit = "mm"</property>
  <property>unit = second</property>
</variable>

<DEFINITION>
  <FOR>grass</FOR>
  <GIVEN>season</GIVEN>
  <GIVEN>sprinkler</GIVEN>
  <TABLE>
     <!-- dry, off -->   0.7 0.2 0.1
     <!-- dry, on  -->   .25 5e-1 0.25
     <!-- wet, off -->   0.1 0.6 0.3
     <!-- wet, on  -->   0 0 1.0
  </TABLE>
  <PROPERTY>learned = 1998</PROPERTY>
</DEFINITION>
<DEFINITION><FOR>season</FOR><TABLE>0.4 0.6</TABLE></DEFINITION>
<DEFINITION><TABLE>0.5 0.5 1 0</TABLE><FOR>sprinkler</FOR><GIVEN>season</GIVEN></DEFINITION>
</NETWORK>
</BIF>
"""


def test_a_network_of_the_wild_reads_to_its_numbers():
    """A DTD, comments in tables, lower case, <VALUE>, tables before their variables' names, and no TYPE."""
    network = parse_xmlbif(GARDEN)
    assert list(network.variables) == ["season", "sprinkler", "grass"]
    assert network.variables["grass"].states == ("a < b", "soaked", "")
    assert network.cpd("grass").parent_names == ("season", "sprinkler")
    expected = [[[0.7, 0.2, 0.1], [0.25, 0.5, 0.25]], [[0.1, 0.6, 0.3], [0, 0, 1]]]
    np.testing.assert_array_equal(network.cpd("grass").to_table().values, expected)
    np.testing.assert_array_equal(network.cpd("sprinkler").to_table().values, [[0.5, 0.5], [1, 0]])


def test_properties_are_read_as_notes():
    notes = parse_xmlbif(GARDEN).notes
    assert (notes.name, notes.reference) == ("garden", "somebody's back yard")
    assert notes.properties == {"credal": ""}
    assert notes.of("season").position == (73, 165.5)
    assert notes.of("grass").properties == {"unit": '"mm"\nsecond', "definition.learned": "1998"}


def test_the_last_parent_changes_faster_than_the_first():
    """Checked against a walk through the table that shares nothing with the reader."""
    network = parse_xmlbif(GARDEN)
    numbers = iter([0.7, 0.2, 0.1, 0.25, 0.5, 0.25, 0.1, 0.6, 0.3, 0, 0, 1])
    factor = network.cpd("grass").to_factor()
    for season in ("dry", "wet"):
        for sprinkler in ("off", "on"):
            for grass in ("a < b", "soaked", ""):
                assert factor[{"season": season, "sprinkler": sprinkler, "grass": grass}] == next(numbers)


def test_rounded_rows_are_renormalised_with_one_warning():
    text = GARDEN.replace("0.7 0.2 0.1", "0.7 0.2 0.0999").replace("0.4 0.6<", "0.4 0.6001<")
    with pytest.warns(RoundedProbabilities, match="2 rows in the tables of 2 variables") as caught:
        network = parse_xmlbif(text)
    assert len(caught) == 1
    np.testing.assert_allclose(network.cpd("season").to_table().values.sum(), 1, rtol=1e-15)


def in_network(body: str) -> str:
    return f"<BIF>\n<NETWORK>\n{body}\n</NETWORK>\n</BIF>"


A = "<VARIABLE><NAME>A</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>\n"
PRIOR = "<DEFINITION><FOR>A</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>\n"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "empty"),
        ("not xml", (1, 1), "not well-formed"),
        ("<BIF>\n  <NETWORK>", (2, 12), "no element found"),
        ("<BIF><NETWORK></BIF>", (1, 17), "mismatched tag"),
        ("<HTML/>", (1, 1), "Expected the outermost element to be <BIF>, found <HTML>"),
        ("<BIF/>", (1, 1), "<BIF> needs a <NETWORK>"),
        ("<BIF><NETWORK/><NETWORK/></BIF>", (1, 16), "only one <NETWORK>"),
        (in_network("<VARIABEL/>"), (3, 1), "<VARIABEL> is not expected in <NETWORK>. Did you mean 'VARIABLE'?"),
        (in_network(A + "\n stray " + PRIOR), (5, 2), "'stray' is not expected in <NETWORK>"),
        (in_network("<VARIABLE><OUTCOME>x</OUTCOME></VARIABLE>"), (3, 1), "<VARIABLE> needs a <NAME>"),
        (in_network("<VARIABLE><NAME/><OUTCOME>x</OUTCOME></VARIABLE>"), (3, 1), "non-empty"),
        (in_network("<VARIABLE><NAME>A</NAME></VARIABLE>"), (3, 1), "needs at least one state"),
        (in_network(A.replace(">y<", ">x<")), (3, 1), "'x' of 'A' stands twice"),
        (in_network(A + A + PRIOR), (4, 1), "'A' is declared twice"),
        (in_network(A.replace("<VARIABLE>", '<VARIABLE TYPE="decison">')), (3, 1), "Did you mean 'decision'"),
        (in_network(A.replace("<VARIABLE>", '<VARIABLE TYPE="utility">')), (3, 1), "can't have states"),
        (in_network(A.replace("<VARIABLE>", '<VARIABLE TYPE="odd">')), (3, 1), "'odd'"),
        (in_network(A), (3, 1), "'A' has no distribution"),
        (in_network(A + PRIOR + PRIOR.replace("0.5 0.5", "0.4 0.6")), (5, 25), "'A' has two distributions"),
        (in_network(A + PRIOR.replace(">A<", ">a<")), (4, 13), "'a', used here, is not declared. Did you mean 'A'?"),
        (in_network(A + "<DEFINITION><TABLE>1</TABLE></DEFINITION>"), (4, 1), "<DEFINITION> needs a <FOR>"),
        (in_network(A + "<DEFINITION><FOR>A</FOR></DEFINITION>"), (4, 1), "<DEFINITION> needs a <TABLE>"),
        (in_network(A + PRIOR.replace("0.5 0.5", "0.5\n zero")), (5, 2), "Expected a finite number, found 'zero'"),
        (in_network(A + PRIOR.replace("0.5 0.5", "0.5 nan")), (4, 36), "'nan'"),
        (in_network(A + PRIOR.replace("0.5 0.5", "1e999 0")), (4, 32), "'1e999'"),
        (in_network(A + PRIOR.replace("0.5 0.5", "0,5 0,5")), (4, 32), "'0,5'"),
        (in_network(A + PRIOR.replace("0.5 0.5", "1_0 0")), (4, 32), "'1_0'"),
        (in_network(A + PRIOR.replace("0.5 0.5", "<B>1</B> 0")), (4, 32), "<B> is not expected in <TABLE>"),
        (in_network(A + PRIOR.replace("0.5 0.5", "0.5 0.25 0.25")), (4, 25), "needs 2 numbers; the file has 3"),
        (in_network(A + PRIOR.replace("0.5 0.5", "0.5 0.6")), (4, 25), "sums to 1.1"),
        (in_network(A + PRIOR.replace("0.5 0.5", "1.5 -0.5")), (4, 25), "-0.5"),
        (in_network(A + PRIOR.replace("<TABLE>", "<GIVEN>A</GIVEN><TABLE>")), (4, 41), "'A' stands twice"),
        (in_network(A + PRIOR.replace("<TABLE>", "<GIVEN>Q</GIVEN><TABLE>")), (4, 25), "'Q', a parent of 'A'"),
        (in_network("<NAME>a</NAME><NAME>b</NAME>"), (3, 15), "only one <NAME>"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_xmlbif, text, part, place)


def test_a_cycle_is_an_error_at_one_of_its_tables():
    second = A.replace(">A<", ">B<")
    tables = "".join(
        f"<DEFINITION><FOR>{a}</FOR><GIVEN>{b}</GIVEN>\n<TABLE>1 0 0 1</TABLE></DEFINITION>\n" for a, b in ("AB", "BA")
    )
    with pytest.raises(FormatError, match="directed cycle") as raised:
        parse_xmlbif(in_network(A + second + tables))
    assert raised.value.line in (6, 8)


def test_a_huge_table_is_refused_by_its_count():
    names = [f"X{i}" for i in range(60)]
    variables = "".join(A.replace(">A<", f">{name}<") for name in names)
    priors = "".join(PRIOR.replace(">A<", f">{name}<") for name in names[1:])
    given = "".join(f"<GIVEN>{name}</GIVEN>" for name in names[1:])
    with pytest.raises(FormatError, match="1152921504606846976 numbers; the file has 2"):
        parse_xmlbif(
            in_network(variables + priors + f"<DEFINITION><FOR>X0</FOR>{given}<TABLE>1 0</TABLE></DEFINITION>")
        )


def test_what_is_written_is_what_another_xml_parser_reads():
    """The tables, by ElementTree and the rules of the format alone."""
    rng = np.random.default_rng(7)
    network = random_network(rng, num_variables=7, nasty=False)
    root = ET.fromstring(format_xmlbif(network))
    states = {v.findtext("NAME"): [o.text for o in v.findall("OUTCOME")] for v in root.iter("VARIABLE")}
    assert states == {name: list(variable.states) for name, variable in network.variables.items()}
    for definition in root.iter("DEFINITION"):
        scope = [*(given.text for given in definition.findall("GIVEN")), definition.findtext("FOR")]
        table = network.cpd(scope[-1]).to_table()
        assert tuple(scope[:-1]) == table.parent_names
        assert [float(word) for word in definition.findtext("TABLE").split()] == table.values.ravel().tolist()


@pytest.mark.parametrize("word", [*NASTY_WORDS, "\x00", "\x01a", "a\rb", "\r\n", " ", "\ufffe", "\ud800", "\x85x\x85"])
def test_any_text_can_be_a_name_a_state_and_a_note(word):
    notes = Notes(word, word, word, {word: word, "label": word, "name": word, "plausible_notes": word, "": word})
    on_variable = VariableNotes(word, word, None, {"position": word, "definition.k": word, f"definition.{word}": word})
    network = BayesianNetwork(
        TableCPD(word, [0.25, 0.75], states=[word, "other"]),
        TableCPD("child", [[1, 0], [0, 1]], parents=[word], states=["", word]),
        notes=notes.with_variable(word, on_variable),
    )
    again = parse_xmlbif(format_xmlbif(network))
    assert again == network
    assert again.notes == network.notes


def test_stand_ins_that_collide_are_told_apart():
    names = ["a_b", "a\x01b", "a\x02b", "a_b_2"]
    cpds = [TableCPD(name, [0.5, 0.5], states=["x\x01", "x_"]) for name in names]
    network = BayesianNetwork(*cpds, TableCPD("c", np.full((2, 2, 1), 1.0), parents=names[1:3], states=["s"]))
    assert parse_xmlbif(format_xmlbif(network)) == network


def test_a_note_on_names_that_does_not_fit_any_more_is_passed_over():
    """Another program renamed the variable and its states, and kept our properties."""
    network = BayesianNetwork(TableCPD("a\x01b", [0.5, 0.5], states=[0, 1]))
    text = format_xmlbif(network).replace("a_b<", "renamed<").replace(">0<", ">low<").replace(">1<", ">high<")
    again = parse_xmlbif(text)
    assert again.variables == {"renamed": Variable("renamed", ["low", "high"])}


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (MarkovNetwork(Factor({"A": 2}, [1, 2])), "hold Bayesian networks. Save this MarkovNetwork as .json"),
        (BayesianNetwork(LinearGaussianCPD("height", 1.0, [], 1.0)), "'height' is continuous"),
        (BayesianNetwork(TableCPD("A", [[1, 0], [0, 1]], parents=["I"]), inputs=[Variable("I", 2)]), "'I' is one"),
        (BayesianNetwork(TableCPD("A", [0.5, 0.5], states=[1, "1"])), "print alike"),
        (
            BayesianNetwork(
                *(TableCPD(f"X{i}", [0.5, 0.5]) for i in range(40)),
                NoisyOr("Y", [f"X{i}" for i in range(40)], [0.5] * 40),
            ),
            "CPD of 'Y' as a table only",
        ),
    ],
)
def test_what_the_format_can_not_hold_is_said(model, part):
    with pytest.raises(NotRepresentable) as raised:
        format_xmlbif(model)
    assert part in str(raised.value)


def test_a_structured_distribution_is_written_as_its_table():
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]), NoisyOr("B", ["A"], [0.3], leak=0.1))
    assert parse_xmlbif(format_xmlbif(network)).is_close(network, 1e-15)


@pytest.mark.parametrize("name", ["alarm", "hailfinder", "munin1"])
def test_benchmark_networks_come_through_bit_by_bit(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundedProbabilities)
        network = parse_bif(benchmark_text(name))
    assert parse_xmlbif(format_xmlbif(network)) == network


def test_no_document_type_is_written():
    """aGrUM can't read past one."""
    assert "<!" not in format_xmlbif(BayesianNetwork(TableCPD("A", [0.5, 0.5])))


def test_a_copy_of_name_and_outcomes_is_not_kept():
    """aGrUM reads its property `fast` and passes over the outcomes: a copy that was kept would undo renaming."""
    text = """<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
      <VARIABLE TYPE="nature"><NAME>A</NAME><PROPERTY>fast = A{no|yes}</PROPERTY>
        <OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
      <VARIABLE TYPE="nature"><NAME>B</NAME><PROPERTY>fast = B[0,1]</PROPERTY>
        <OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
      <DEFINITION><FOR>A</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
      <DEFINITION><FOR>B</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>"""
    notes = parse_xmlbif(text).notes
    assert not notes.of("A").properties
    assert notes.of("B").properties == {"fast": "B[0,1]"}
