"""Influence diagrams come back from files as they were; what a format can't hold is refused."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from random_diagrams import random_diagram

import plausible as pb
from plausible.cpds import NoisyMax, NoisyOr, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import FormatError, NotRepresentable, PlausibleWarning, RoundedProbabilities
from plausible.io import (
    FORMATS,
    Format,
    format_hugin,
    format_xdsl,
    load,
    parse,
    parse_dne,
    parse_hugin,
    parse_json,
    parse_xdsl,
    save,
    to_text,
)
from plausible.models import BayesianNetwork
from plausible.utilities import Utility

HOLDING = [known for known in FORMATS if known.name in ("JSON", "XMLBIF", "XDSL", "NET")]


def by_name(format: Format) -> str:
    return format.name


def through(format: Format, diagram: InfluenceDiagram) -> InfluenceDiagram:
    assert format.write is not None
    found = format.parse(format.write(diagram))
    assert isinstance(found, InfluenceDiagram)
    return found


def assert_same(found: InfluenceDiagram, original: InfluenceDiagram) -> None:
    """Names, states with their types, numbers to the last bit, and every order."""
    assert [*found.variables, *found.utilities] == [*original.variables, *original.utilities]
    assert list(found.decisions) == list(original.decisions)
    for name, variable in original.variables.items():
        states = found.variables[name].states
        assert [(type(state), state) for state in states] == [(type(state), state) for state in variable.states]
    for name, decision in original.decisions.items():
        assert found.decisions[name].sees == decision.sees
    for name, cpd in original.chance.items():
        assert found.chance[name].parent_names == cpd.parent_names
        np.testing.assert_allclose(found.chance[name].to_table().values, cpd.to_table().values, atol=1e-15)
    for name, numbers in original.utility_factors.items():
        assert found.utility_factors[name].names == numbers.names
        np.testing.assert_array_equal(found.utility_factors[name].values, numbers.values)


@pytest.mark.parametrize(("first", "second"), list(permutations(HOLDING, 2)), ids=by_name)
def test_a_diagram_is_the_same_through_any_two_formats(first, second):
    for seed in range(5):
        diagram = random_diagram(np.random.default_rng(seed))
        twice = through(second, through(first, diagram))
        assert_same(twice, diagram)
        assert twice.notes == diagram.notes


@pytest.mark.parametrize("format", HOLDING, ids=by_name)
def test_writing_what_was_read_gives_the_same_text(format):
    for seed in range(5):
        text = format.write(random_diagram(np.random.default_rng(seed)))
        assert format.write(format.parse(text)) == text


@pytest.mark.parametrize("format", HOLDING, ids=by_name)
def test_every_example_diagram_comes_back(format):
    for name in ("entrepreneur", "exam", "oil"):
        diagram = pb.examples.load(name)
        found = through(format, diagram)
        assert_same(found, diagram)
        assert found.notes == diagram.notes


@pytest.mark.parametrize("format", HOLDING, ids=by_name)
@pytest.mark.parametrize(
    "diagram",
    [
        InfluenceDiagram(decisions=[Decision("D", ["only"])]),
        InfluenceDiagram(utilities=[Utility([], 3.5, name="U")]),
        InfluenceDiagram([TableCPD("A", [0.25, 0.75])], utilities=[Utility(["A"], [-1e300, 5e-324])]),
        InfluenceDiagram(decisions=[Decision("D", 2), Decision("E", 2, sees=["D"])], utilities=[Utility("E", [0, 1])]),
    ],
    ids=["decision", "utility", "no decision", "no chance"],
)
def test_a_diagram_without_some_kind_of_node_comes_back(format, diagram):
    assert_same(through(format, diagram), diagram)


def test_json_keeps_a_diagram_without_decisions_and_utilities_a_diagram():
    """To the other formats it is a Bayesian network."""
    diagram = InfluenceDiagram([TableCPD("A", [0.25, 0.75])])
    for format in HOLDING:
        found = format.parse(format.write(diagram))
        assert isinstance(found, InfluenceDiagram if format.name == "JSON" else BayesianNetwork)


@pytest.mark.parametrize("format", HOLDING, ids=by_name)
def test_the_states_of_noisy_parents_stay_with_their_utilities(format):
    """XDSL lists the states of a noisy-max backwards; the numbers of a utility, and what follows, must follow."""
    values = np.arange(12.0).reshape(2, 3, 2)
    diagram = InfluenceDiagram(
        [
            TableCPD("A", [0.5, 0.5]),
            NoisyOr("O", ["A", "D"], [0.3, 0.9], 0.1),
            NoisyMax("M", ["A"], [[[1, 0, 0], [0.1, 0.3, 0.6]]], [0.9, 0.1, 0.0]),
        ],
        [Decision("D", 2), Decision("E", 2, sees=["M", "O"])],
        [Utility(["O", "M", "E"], values, name="U")],
    )
    assert_same(through(format, diagram), diagram)


@pytest.mark.parametrize("ending", [".json", ".xdsl.gz", ".net", ".hugin", ".oobn", ".xmlbif", ".bifxml", ".xml"])
def test_load_and_save_choose_by_ending(tmp_path, ending):
    diagram = pb.examples.load("oil")
    save(diagram, tmp_path / f"oil{ending}")
    found = load(tmp_path / f"oil{ending}")
    assert found == diagram
    assert isinstance(found, InfluenceDiagram)


@pytest.mark.parametrize("ending", [".bif", ".uai"])
def test_a_format_without_decisions_names_those_that_have_them(tmp_path, ending):
    with pytest.raises(NotRepresentable, match=r"as \.json, \.xdsl, \.net or \.xmlbif"):
        save(pb.examples.load("oil"), tmp_path / f"oil{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".dsl", ".dne"])
def test_a_format_that_is_only_read_says_so(tmp_path, ending):
    with pytest.raises(NotRepresentable, match="can be read but not written"):
        save(pb.examples.load("oil"), tmp_path / f"oil{ending}")


def test_a_network_is_still_a_network():
    network = BayesianNetwork(TableCPD("A", [0.25, 0.75]))
    for format in HOLDING:
        assert format.parse(format.write(network)) == network


UMBRELLA = {("sun", "take"): 20, ("sun", "leave"): 100, ("rain", "take"): 70, ("rain", "leave"): 0}
NET = """
net { }
node Weather { states = ("sun" "rain"); }
discrete node Forecast { states = ("fine" "bad"); }
decision Umbrella { states = ("take" "leave"); label = "an umbrella?"; position = (10 20); }
utility U { label = "Satisfaction"; }
potential (Weather) { data = (0.7 0.3); }
potential (Forecast | Weather) { data = ((0.8 0.2) (0.4 0.6)); }
potential (Umbrella | Forecast) { }
potential (U | Weather Umbrella) { data = ((20 100) (70 0)); }
"""
DNE = """// ~->[DNET-1]->~
bnet Umbrella {
node Weather { kind = NATURE; discrete = TRUE; chance = CHANCE; states = (sun, rain); parents = ();
    probs = (0.7, 0.3); };
node Forecast { kind = NATURE; discrete = TRUE; chance = CHANCE; states = (fine, bad); parents = (Weather);
    probs = ((0.8, 0.2), (0.4, 0.6)); };
node Umbrella { kind = DECISION; discrete = TRUE; states = (take, leave); parents = (Forecast);
    title = "an umbrella?"; visual V1 { center = (10, 20); }; };
node U { kind = UTILITY; discrete = FALSE; chance = DETERMIN; parents = (Weather, Umbrella);
    functable = ((20, 100), // sun
                 (70, 0));  title = "Satisfaction"; };
};
"""
XDSL = """<smile version="1.0" id="Umbrella"><nodes>
<cpt id="Weather"><state id="sun" /><state id="rain" /><probabilities>0.7 0.3</probabilities></cpt>
<cpt id="Forecast"><state id="fine" /><state id="bad" /><parents>Weather</parents>
<probabilities>0.8 0.2 0.4 0.6</probabilities></cpt>
<decision id="Umbrella"><state id="take" /><state id="leave" /><parents>Forecast</parents></decision>
<utility id="U"><parents>Weather Umbrella</parents><utilities>20 100 70 0</utilities></utility>
</nodes><extensions><genie version="1.0" app="GeNIe" name="Umbrella">
<node id="Umbrella"><name>an umbrella?</name><position>10 20 90 60</position></node>
<node id="U"><name>Satisfaction</name></node>
</genie></extensions></smile>
"""


@pytest.mark.parametrize(("text", "read"), [(NET, parse_hugin), (DNE, parse_dne), (XDSL, parse_xdsl)])
def test_a_diagram_as_other_programs_write_it_is_read(text, read):
    """The umbrella, in each language: who sees what, and which number belongs to which outcome."""
    diagram = read(text)
    assert isinstance(diagram, InfluenceDiagram)
    assert list(diagram.chance) == ["Weather", "Forecast"]
    assert diagram.decisions["Umbrella"] == Decision("Umbrella", ["take", "leave"], sees=["Forecast"])
    for (weather, umbrella), worth in UMBRELLA.items():
        assert diagram.utility_factors["U"][{"Weather": weather, "Umbrella": umbrella}] == worth
    assert diagram.notes.of("Umbrella").label == "an umbrella?"
    assert diagram.notes.of("Umbrella").position == (10, 20)
    assert diagram.notes.of("U").label == "Satisfaction"


def test_a_rule_in_a_net_file_is_kept_as_a_note():
    diagram = parse_hugin(NET.replace("potential (Umbrella | Forecast) { }", RULE))
    assert diagram.notes.of("Umbrella").properties["potential.data"] == "((1 0) (0 1))"


def test_a_class_of_hugin_that_stands_by_itself_is_a_diagram():
    """Hugin's other head: all nodes inside of a class, which has a name and interfaces in place of a net block."""
    fields = 'inputs = (); outputs = (Weather); node_size = (80 40); HR_Desc = "about"; HR_Grid_X = "10";'
    inside = NET.replace("net { }", fields)
    diagram = parse_hugin(f"class Umbrella\n{{{inside}}} % class Umbrella")
    assert diagram == parse_hugin(NET)
    assert (diagram.notes.name, diagram.notes.description) == ("Umbrella", "about")
    assert diagram.notes.properties == {"node_size": "(80 40)", "HR_Grid_X": "10"}
    again = parse_hugin(format_hugin(diagram))
    assert (again, again.notes) == (diagram, diagram.notes)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('class C { inputs = (A); node A { states = ("x"); } }', "no whole network"),
        ("class C { inputs = (); instance I : D ( ) { } }", "instance blocks are not supported"),
        ("class C { inputs = (); } class D { inputs = (); }", "class blocks are not supported"),
    ],
)
def test_a_class_that_needs_others_is_refused(text, part):
    with pytest.raises(FormatError, match=part):
        parse_hugin(text)


def test_tables_that_nobody_filled_in_are_uniform():
    """Hugin writes ones for them; also for a row only, and for the rule of a decision, which is a note."""
    text = NET.replace("(0.7 0.3)", "( 1 1 )").replace("(0.4 0.6)", "(1 1)")
    text = text.replace(
        "potential (Umbrella | Forecast) { }", "potential (Umbrella | Forecast) { data = ((1 1) (1 1)); }"
    )
    with pytest.warns(PlausibleWarning, match=r"\['Weather', 'Forecast'\] were read as uniform"):
        diagram = parse_hugin(text)
    assert diagram.chance["Weather"].to_table().values.tolist() == [0.5, 0.5]
    assert diagram.chance["Forecast"].to_table().values.tolist() == [[0.8, 0.2], [0.5, 0.5]]
    assert diagram.utility_factors["U"].values.tolist() == [[20, 100], [70, 0]]


def test_a_netica_diagram_with_rules_equations_and_constants_is_read():
    """What Netica writes after it solved a diagram: rules in functables, equations beside tables, numbers as nodes."""
    rule = "states = (take, leave); chance = DETERMIN; functable = (take, // fine\n leave); // bad ;\n belief = (1, 0);"
    text = DNE.replace("states = (take, leave);", rule)
    text = text.replace(
        "chance = DETERMIN; parents", 'measure = RATIO; chance = DETERMIN; equation = "U = C";\n parents'
    )
    constant = (
        "node C { kind = CONSTANT; discrete = FALSE; levels = (0, 10); parents = (); evidence = #0; value = 0.1; };"
    )
    text = text.replace("node Weather", f"{constant}\nnode Weather")
    diagram = parse_dne(text)
    assert diagram == parse_dne(DNE)
    assert diagram.notes.of("U").properties == {"measure": "RATIO", "equation": "U = C"}
    with pytest.raises(FormatError, match="'C', a parent of 'U', is a constant"):
        parse_dne(text.replace("parents = (Weather, Umbrella)", "parents = (Weather, C)"))
    with pytest.raises(FormatError, match=r"no table.*its equation is not supported"):
        parse_dne(text.replace("functable = ((20, 100), // sun\n                 (70, 0));", ""))


GENIE = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment of the program -->
<smile version="1.0" id="Network1" numsamples="1000" discsamples="10000">
<algparams><epis proplen="1" /></algparams>
<nodes>
<cpt id="W" diagtype="observation" ranked="true"><state id="a" label="A" fault="true" /><state id="b" default="true" />
<probabilities>0.7 0.3</probabilities><property id="source">me</property></cpt>
<decision id="D"><state id="d0" /><state id="d1" /></decision>
<deterministic id="F"><state id="x" /><state id="y" /><parents>W D</parents>
<resultingstates>x y y x</resultingstates></deterministic>
<noisymax id="N"><state id="hi" /><state id="lo" /><parents>W D</parents><strengths>0 1 1 0</strengths>
<parameters>0.8 0.2 0 1 0.5 0.5 0 1 0.1 0.9</parameters></noisymax>
<decision id="E"><state id="e0" /><state id="e1" /><parents>N D</parents></decision>
<utility id="U"><parents>D W</parents><utilities>1 2 3 4</utilities></utility>
<utility id="V"><parents>F E</parents><utilities>5 6 7 8</utilities></utility>
<utility id="K"><utilities>-7</utilities></utility>
<mau id="S"><parents>U V K</parents><weights>1 1 1</weights></mau>
</nodes>
<observationcost><node id="W"><cost>3</cost></node></observationcost>
<extensions><genie version="1.0" app="GeNIe 5.0" name="Network1">
<node id="S"><name>Sum</name><position>1 2 3 4</position></node>
<submodel id="Sub1"><name>Money</name><position>230 190 290 220</position><window>20 20 300 300</window>
<node id="U"><name>Income</name><position>10 20 90 60</position><barchart width="128" height="64" /></node>
<submodel id="Sub2"><name>More</name><node id="D"><name>Do it?</name><position>10 20 90 60</position></node></submodel>
</submodel>
<textbox><caption>Text</caption><position>1 2 3 4</position></textbox>
</genie></extensions></smile>
"""


def test_a_genie_diagram_with_nodes_of_all_kinds_is_read():
    """Submodels, costs, functions, noisy-max and sums: which number belongs to which states, and nothing lost."""
    diagram = parse_xdsl(GENIE)
    assert {name: decision.sees for name, decision in diagram.decisions.items()} == {"D": (), "E": ("N", "D")}
    assert diagram.utility_factors["U"][{"D": "d1", "W": "a"}] == 3
    assert diagram.utility_factors["K"].values.tolist() == -7
    assert diagram.chance["F"].to_factor()[{"W": "a", "D": "d1", "F": "y"}] == 1
    # The second state of D is its strong one: 1 - 0.2 * 0.5 * 0.9, and 1 - 0.9 where nothing acts.
    assert diagram.chance["N"].to_factor()[{"W": "a", "D": "d1", "N": "hi"}] == pytest.approx(0.91)
    assert diagram.chance["N"].to_factor()[{"W": "b", "D": "d0", "N": "hi"}] == pytest.approx(0.1)
    assert diagram.notes.of("D").label == "Do it?"
    assert diagram.notes.of("D").properties == {"genie_submodel": "Sub1/Sub2"}
    assert "<cost>3</cost>" in diagram.notes.properties["smile_observationcost"]
    again = parse_xdsl(format_xdsl(diagram))
    assert (again, again.notes) == (diagram, diagram.notes)


RULE = "potential (Umbrella | Forecast) { data = ((1 0) (0 1)); }"


def weighted(*sums: str) -> str:
    utilities = "".join(
        f'<utility id="{name}"><parents>D</parents><utilities>{numbers}</utilities></utility>\n'
        for name, numbers in (("U", "1 2"), ("V", "10 30"), ("W", "100 500"))
    )
    listed = "\n".join(sums)
    decision = '<decision id="D"><state id="a"/><state id="b"/></decision>'
    return f"<smile>\n<nodes>\n{decision}\n{utilities}{listed}</nodes></smile>"


def values(diagram: InfluenceDiagram) -> dict[str, list[float]]:
    return {name: factor.values.tolist() for name, factor in diagram.utility_factors.items()}


def test_weights_multiply_the_utilities_that_they_add_up():
    total = '<mau id="T"><parents>U V</parents><weights>0.5 2</weights></mau>'
    with pytest.warns(PlausibleWarning, match=r"\['T'\].*U by 0.5, V by 2\."):
        diagram = parse_xdsl(weighted(total))
    assert values(diagram) == {"U": [0.5, 1], "V": [20, 60], "W": [100, 500]}
    assert "T" not in diagram.graph.nodes


def test_a_plain_sum_is_what_utilities_make_and_needs_no_warning():
    """Warnings are errors here: weights of one, also of sums of sums and of a sum of nothing, pass in silence."""
    sums = (
        '<mau id="S"><parents>U V</parents><weights>1 1</weights><property id="P">x</property></mau>',
        '<mau id="T"><parents>S W</parents><weights>1.0 1</weights></mau>',
        '<mau id="N"><weights /></mau>',
    )
    drawn = '<genie version="1.0" name="x"><node id="T"><name>Total</name><position>1 2 81 42</position></node></genie>'
    text = weighted(*sums).replace("</smile>", f"<extensions>{drawn}</extensions></smile>")
    diagram = parse_xdsl(text)
    assert values(diagram) == {"U": [1, 2], "V": [10, 30], "W": [100, 500]}
    assert parse_xdsl(format_xdsl(diagram)) == diagram


def test_weights_of_sums_of_sums_are_multiplied_along_paths_and_added():
    """T = 2 S + 3 V and S = 5 U + 7 V: U counts 10 times, V 14 + 3 = 17 times."""
    sums = (
        '<mau id="T"><parents>S V</parents><weights>2 3</weights></mau>',
        '<mau id="S"><parents>U V</parents><weights>5 7</weights></mau>',
    )
    with pytest.warns(PlausibleWarning, match="left out"):
        diagram = parse_xdsl(weighted(*sums))
    assert values(diagram) == {"U": [10, 20], "V": [170, 510], "W": [100, 500]}


@pytest.mark.parametrize(
    ("written", "weights"),
    [
        ("<expressions>U+2*V</expressions>", (1, 2)),
        ("<expression> T = -0.5 * U - V*3e0 </expression>", (-0.5, -3)),
        ("<expressions><expression>V - -U + 2*V</expression></expressions>", (1, 3)),
        ("<expressions>\n.5*V*4\n</expressions>", (0, 2)),
    ],
)
def test_an_expression_that_is_a_weighted_sum_is_read_as_one(written, weights):
    with pytest.warns(PlausibleWarning, match=r"\['T'\].*V by"):
        diagram = parse_xdsl(weighted(f'<mau id="T"><parents>U V</parents>{written}</mau>'))
    first, second = weights
    assert values(diagram) == {"U": [first, 2 * first], "V": [10 * second, 30 * second], "W": [100, 500]}


def test_a_sum_without_weights_has_weights_of_one():
    """In silence, as with <weights>1 1</weights>."""
    diagram = parse_xdsl(weighted('<mau id="T"><parents>U V</parents></mau>'))
    assert values(diagram) == {"U": [1, 2], "V": [10, 30], "W": [100, 500]}


@pytest.mark.parametrize(
    ("sums", "part"),
    [
        (['<mau id="T"><parents>U V</parents><expressions>T=U*V</expressions></mau>'], "only weighted sums"),
        (['<mau id="T"><parents>U V</parents><weights>1</weights></mau>'], "each of the 2 parents"),
        (['<mau id="T"><parents>U D</parents><weights>1 1</weights></mau>'], "'D' is none"),
        (['<mau id="T"><parents>U V</parents><expressions>U/V</expressions></mau>'], "U/V"),
        (['<mau id="T"><parents>U V</parents><expressions>(U+V)</expressions></mau>'], "only weighted sums"),
        (['<mau id="T"><parents>U V</parents><expressions>U+V+3</expressions></mau>'], "only weighted sums"),
        (['<mau id="T"><parents>U V</parents><expressions>2 U</expressions></mau>'], "only weighted sums"),
        (['<mau id="T"><parents>U V</parents><expressions>U+</expressions></mau>'], "only weighted sums"),
        (['<mau id="T"><parents>U V</parents><expressions></expressions></mau>'], "only weighted sums"),
        (['<mau id="T"><parents>U V</parents><expressions>1e999*U</expressions></mau>'], "not finite"),
        (['<mau id="T"><parents>U V</parents><expressions>U+W</expressions></mau>'], "'W', in the expression of 'T'"),
        (
            ['<mau id="T"><parents>U</parents><weights>1</weights><expression>U</expression></mau>'],
            "either <weights> or one expression",
        ),
        (
            [
                '<mau id="T"><parents>U</parents>'
                "<expressions><expression>U</expression><expression>U</expression></expressions></mau>"
            ],
            "several expressions",
        ),
        (['<mau id="T"><parents>T U</parents><weights>1 1</weights></mau>'], "adds itself up"),
        (
            [
                '<mau id="S"><parents>T</parents><weights>1</weights></mau>',
                '<mau id="T"><parents>S</parents><weights>1</weights></mau>',
            ],
            "cycle",
        ),
        (
            [
                '<mau id="S"><parents>U</parents><weights>1</weights></mau>',
                '<utility id="T"><parents>S</parents><utilities>1 2</utilities></utility>',
            ],
            "only another <mau>",
        ),
        (['<utility id="T"><parents>U</parents><utilities>1</utilities></utility>'], "nothing can depend on"),
    ],
)
def test_other_combinations_of_utilities_are_refused(sums, part):
    with pytest.raises(FormatError, match=part) as raised:
        parse_xdsl(weighted(*sums))
    assert raised.value.line >= 7


def test_a_weight_that_makes_a_utility_infinite_is_refused():
    total = '<mau id="T"><parents>U</parents><weights>1e308</weights></mau>'
    with pytest.raises(FormatError, match="not finite"):
        parse_xdsl(weighted(total))


def test_the_list_of_decisions_says_which_one_comes_first():
    """Not the list of variables."""
    text = (
        '{"format": "plausible", "version": 1, "kind": "influence-diagram", "distributions": [], "utilities": [],'
        '"variables": [{"name": "D", "states": [0, 1]}, {"name": "E", "states": [0, 1]}],'
        '"decisions": [{"variable": "E"}, {"variable": "D"}]}'
    )
    assert list(parse_json(text).decisions) == ["E", "D"]


def test_rows_that_miss_one_by_rounding_are_reported_for_a_diagram_too():
    with pytest.warns(RoundedProbabilities, match="'Weather'"):
        diagram = parse_hugin(NET.replace("(0.7 0.3)", "(0.7 0.3001)"))
    assert diagram.chance["Weather"].to_table().values.sum() == pytest.approx(1)


def in_json(
    decisions: str, utilities: str, distributions: str = '[{"variable":"A","kind":"table","values":[0.5,0.5]}]'
):
    return (
        '{"format": "plausible", "version": 1, "kind": "influence-diagram",\n'
        '"variables": [{"name": "A", "states": [0, 1]}, {"name": "D", "states": [0, 1]}],\n'
        f'"distributions": {distributions},\n"decisions": {decisions},\n"utilities": {utilities}}}'
    )


SEES = '[{"variable": "D", "sees": ["A"]}]'


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        (in_json('[{"variable": "E"}]', "[]"), 4, "'E', used here, is not declared"),
        (in_json('[{"variable": "D"}, {"variable": "D"}]', "[]"), 4, "listed twice"),
        (in_json('[{"variable": "D", "sees": ["B"]}]', "[]"), 4, "'B', which the decision 'D' sees, is not declared"),
        (in_json('[{"variable": "D", "sees": ["A", "A"]}]', "[]"), 2, "stands twice"),
        (in_json('[{"variable": "D", "sees": ["D"]}]', "[]"), 2, "can't see itself"),
        (in_json('[{"variable": "D", "seas": ["A"]}]', "[]"), 4, "not a known field"),
        (in_json("[]", "[]"), 2, "'D' has no distribution"),
        (in_json(SEES, "[]", '[{"variable":"D","kind":"table","values":[0.5,0.5]}]'), 3, "'D' is a decision"),
        (in_json(SEES, '[{"name": "U", "parents": ["A"], "values": [1]}]'), 5, "needs 2 numbers; the file has 1"),
        (in_json(SEES, '[{"name": "U", "parents": ["B"], "values": [1]}]'), 5, "'B', a parent of 'U', is not declared"),
        (in_json(SEES, '[{"name": "U", "parents": ["A", "A"], "values": [1, 2, 3, 4]}]'), 5, "stands twice"),
        (in_json(SEES, '[{"name": "A", "values": [1]}]'), 5, "declared twice"),
        (in_json(SEES, '[{"name": "U", "values": [1e999]}]'), 5, "not finite"),
        (in_json(SEES, '[{"name": "U", "values": ["1"]}]'), 5, "Expected a number"),
        (in_json(SEES, '[{"name": "U", "parents": [], "values": [1]}, {"name": "U", "values": [2]}]'), 5, "twice"),
    ],
)
def test_a_json_error_says_what_is_wrong_and_on_which_line(text, line, part):
    with pytest.raises(FormatError, match=part) as raised:
        parse_json(text)
    assert raised.value.line == line


NODES = "net {}\ndecision D { states = (a b); }\nnode A { states = (a b); }\nutility U { }\n"
UNIFORM = "potential (A) { data = (0.5 0.5); }\n"
WORTH = "potential (U | A) { data = (1 2); }\n"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        (NODES + UNIFORM, (4, 1), "'U' has no table"),
        (NODES + UNIFORM + WORTH + WORTH.replace("1", "2"), (7, 28), "two tables"),
        (NODES + UNIFORM + "potential (U | U) { data = (1 2); }", (6, 28), "a utility, which nothing can depend on"),
        (NODES + UNIFORM + WORTH + "potential (D | U) { }", (7, 1), "a utility, which nothing can depend on"),
        (NODES + UNIFORM + WORTH + "potential (D | A) { }\npotential (D) { }", (8, 1), "said twice"),
        (NODES + WORTH + "potential (D | A) { }\npotential (A | D) { data = ((1 0) (0 1)); }", (2, 1), "cycle"),
        (
            NODES + "continuous node X { }\npotential (X) { data = (normal (0, 1)); }\n" + UNIFORM + WORTH,
            (5, 1),
            "contin",
        ),
        (
            NODES + "continuous node X { }\npotential (U | X) { data = (1); }",
            (6, 28),
            "'X', a parent of 'U', is contin",
        ),
        ("net {}\ncontinuous decision D { }", (2, 1), "continuous"),
        ("net {}\nutility U { states = (a b); }", (2, 22), "can't have states"),
    ],
)
def test_a_net_error_says_what_is_wrong_and_where(text, place, part):
    with pytest.raises(FormatError, match=part) as raised:
        parse_hugin(text)
    assert (raised.value.line, raised.value.column) == place


def test_the_table_of_a_decision_is_refused_in_xmlbif():
    text = to_text(InfluenceDiagram(decisions=[Decision("D", 2)]), "xmlbif")
    with pytest.raises(FormatError, match="<TABLE> is not expected"):
        parse(text.replace("</FOR>", "</FOR><TABLE>0.5 0.5</TABLE>"), "xmlbif")


@pytest.mark.filterwarnings("ignore::plausible.errors.RoundedProbabilities")
@pytest.mark.parametrize("format", HOLDING, ids=by_name)
def test_a_damaged_diagram_is_read_or_refused(format):
    """No exception but FormatError, whatever is deleted, doubled or put in."""
    texts = [format.write(random_diagram(np.random.default_rng(seed))) for seed in range(4)]
    refused = 0
    for seed in range(70):
        rng = np.random.default_rng(seed)
        text = texts[seed % len(texts)]
        start = int(rng.integers(len(text)))
        end = start + int(rng.choice([0, 1, 5, 40]))
        middle = [text[start:end] * 2, "", str(rng.choice(["-1", "1e999", "(", "}", "]", '"', ";", "\x00", "null"]))]
        try:
            format.parse(text[:start] + middle[rng.integers(3)] + text[end:])
        except FormatError:
            refused += 1
    assert refused > 5


REMEMBER = """<smile version="1.0" id="memory"><nodes>
<cpt id="A"><state id="a0" /><state id="a1" /><probabilities>0.5 0.5</probabilities></cpt>
<decision id="D"><state id="d0" /><state id="d1" /><parents>A</parents></decision>
<decision id="E"><state id="e0" /><state id="e1" /><parents>D</parents></decision>
<utility id="cost"><parents>D</parents><utilities>10 9</utilities></utility>
<utility id="match"><parents>A E</parents><utilities>1 0 0 1</utilities></utility>
</nodes></smile>"""


def test_a_diagram_of_genie_forgets_nothing():
    """D costs nothing and E repeats what D saw: 10 + 1. Who forgets A pays for a signal or guesses: 10.5."""
    with pytest.warns(PlausibleWarning, match=r"1 link added \(A -> E\).*with_information"):
        diagram = parse_xdsl(REMEMBER)
    assert diagram.solve().expected_utility == pytest.approx(11)
    assert diagram.with_information({"E": ["D"]}).solve().expected_utility == pytest.approx(10.5)


def test_what_was_remembered_or_forgotten_stays_so_through_xdsl():
    """What is read is written with all its links, once; a diagram that forgets says so in its file."""
    with pytest.warns(PlausibleWarning):
        diagram = parse_xdsl(REMEMBER)
    text = format_xdsl(diagram)
    assert "<parents>D A</parents>" in text
    assert parse_xdsl(text) == diagram
    assert format_xdsl(parse_xdsl(text)) == text
    forgetful = diagram.with_information({"E": ["D"]})
    assert parse_xdsl(format_xdsl(forgetful)) == forgetful


def test_a_diagram_of_too_many_decisions_to_remember_is_refused():
    nodes = "".join(f'<decision id="D{i}"><state id="a"/><state id="b"/></decision>' for i in range(1_100))
    with pytest.raises(FormatError, match="1100 decisions"):
        parse_xdsl(f"<smile><nodes>{nodes}</nodes></smile>")
