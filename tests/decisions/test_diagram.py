"""Influence diagrams as values: what they are made of, what they refuse, edits, networks under strategies, drawings."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from decision_examples import MARKET, PROFIT, entrepreneur, entrepreneur_with_survey
from diagram_oracle import (
    all_strategies,
    chance_array,
    expected_utility,
    random_diagram,
    random_mixed_rules,
    rule_array,
)
from plausible.cpds import LinearGaussianCPD, NoisyOr, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import (
    CyclicGraph,
    ImmutableValue,
    InvalidArgument,
    InvalidEvidence,
    InvalidModel,
    NotSupported,
    PlausibleError,
    PlausibleWarning,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.models import Notes
from plausible.utilities import Utility
from plausible.variables import Variable
from seeds import few_of


def test_parts_and_graph():
    """Names in the order given, edges into decisions are what they see, utilities are leaves."""
    diagram = entrepreneur_with_survey()
    assert list(diagram.variables) == ["M", "S", "C", "F"]
    assert (list(diagram.chance), list(diagram.decisions), list(diagram.utilities)) == (
        ["M", "S"],
        ["C", "F"],
        ["profit", "cost"],
    )
    assert set(diagram.graph.parents("F")) == {"C", "S"}
    assert not diagram.graph.children("profit")
    assert [variable.name for variable in diagram.information("F")] == ["C", "S"]
    assert repr(diagram) == "<InfluenceDiagram: 2 chance, 2 decisions, 2 utilities>"


def test_expected_utility_of_founding_is_two():
    """Σ P(m) U(m, f1) = 2 and 0 for f0, read off the parts."""
    diagram = entrepreneur()
    for action, expected in {"f1": 2.0, "f0": 0.0}.items():
        joint = diagram.network(diagram.strategy({"F": action})).query(["M", "F"])
        assert joint.expectation(diagram.utility_factors["profit"]) == pytest.approx(expected)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_network_of_a_strategy_is_the_product_of_chance_and_rules(seed):
    """P(all) = Π P(x | parents) Π rule(d | what it sees)."""
    rng = np.random.default_rng(seed)
    diagram = random_diagram(rng, num_chance=3, num_decisions=2)
    rules = random_mixed_rules(diagram, rng)
    expected = chance_array(diagram)
    for name, rule in rules.items():
        expected = expected * rule_array(diagram, name, rule)
    scopes = {name: (*diagram.information(name), diagram.variables[name]) for name in rules}
    strategy = diagram.strategy({name: Factor(scopes[name], rule) for name, rule in rules.items()})
    joint = diagram.network(strategy).query(list(diagram.variables))
    np.testing.assert_allclose(joint.values, expected, atol=1e-12)


def test_partial_strategy_leaves_the_other_decisions_as_inputs():
    """A rule for one decision makes it a chance variable; the others wait for one."""
    diagram = entrepreneur_with_survey()
    assert diagram.network().inputs == ("C", "F")
    rules = diagram.uniform_strategy()
    partial = type(rules)({"F": rules["F"]})
    network = diagram.network(partial)
    assert network.inputs == ("C",)
    np.testing.assert_allclose(network.query("S", evidence={"C": "c1"}).values, [0.41, 0.35, 0.24, 0.0])
    assert diagram.network(rules).inputs == ()


def test_rules_of_another_diagram_are_refused_and_reordered_ones_read():
    """A rule is over what the decision sees here; its axes may come in any order."""
    diagram = entrepreneur_with_survey()
    strategy = diagram.uniform_strategy()
    turned = type(strategy)({name: rule.reorder(list(reversed(rule.names))) for name, rule in strategy.items()})
    assert diagram.network(turned) == diagram.network(strategy)
    with pytest.raises(InvalidArgument, match="rule of 'F' is over"):
        diagram.with_information({"F": ["C"]}).network(strategy)
    with pytest.raises(UnknownVariable, match="'C' is not a decision of this diagram"):
        InfluenceDiagram().network(strategy)


def test_utilities_can_be_arrays_mappings_or_functions():
    """Three ways to write the same numbers."""
    table = [[0, -7], [0, 5], [0, 20]]
    gain = {"m0": -7, "m1": 5, "m2": 20}
    listed = {(market, action): gain[market] * (action == "f1") for market in gain for action in ("f0", "f1")}
    written = [table, listed, lambda market, action: gain[market] if action == "f1" else 0]
    diagrams = [entrepreneur().with_utility(Utility(["M", "F"], values, name="profit")) for values in written]
    assert diagrams[0] == diagrams[1] == diagrams[2] == entrepreneur()
    assert len(set(diagrams)) == 1


def test_later_changes_of_an_array_do_not_reach_the_utility():
    """A utility is a value: it keeps the numbers that it was given, through edits of the diagram too."""
    values = np.array([1.0, 2.0])
    listed = {0: 1.0, 1: 2.0}
    diagram = InfluenceDiagram(
        decisions=[Decision("D", 2)], utilities=[Utility("D", values, name="V"), Utility("D", listed, name="W")]
    )
    values[:] = 7.0
    listed[0] = 7.0
    edited = diagram.with_information({"D": []})
    assert edited == diagram
    np.testing.assert_array_equal(edited.utility_factors["V"].values, [1.0, 2.0])


def test_compact_distributions_work():
    """A noisy-or of a decision and a chance variable."""
    diagram = InfluenceDiagram(
        [TableCPD("A", [0.5, 0.5]), NoisyOr("X", parents=["A", "D"], activation={"A": 0.8, "D": 0.5}, leak=0.1)],
        [Decision("D", 2)],
        [Utility("X", [0, 1])],
    )
    network = diagram.network(diagram.strategy({"D": 1}))
    assert network.query("X").values[1] == pytest.approx(1 - 0.9 * 0.5 * (0.5 + 0.5 * 0.2))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: InfluenceDiagram([MARKET], [Decision("M", 2)]), InvalidModel, "'M' stands twice"),
        (lambda: InfluenceDiagram([MARKET, MARKET]), InvalidModel, "'M' stands twice"),
        (lambda: InfluenceDiagram([MARKET], [], [Utility("M", [0, 0, 0], name="M")]), InvalidModel, "two nodes"),
        (lambda: InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [0, 1])] * 2), InvalidModel, "two nodes"),
        (lambda: InfluenceDiagram([], [Decision("D", 2, sees="Q")]), UnknownVariable, "'Q'.*'D' sees it"),
        (lambda: InfluenceDiagram([], [], [PROFIT]), UnknownVariable, "utility 'profit'"),
        (lambda: InfluenceDiagram([MARKET], [], [Utility("M", [0, 1])]), InvalidModel, r"shape \(3,\)"),
        (lambda: InfluenceDiagram([MARKET], [], [Utility("M", [0, 1, np.inf])]), PlausibleError, "finite|inf"),
        (lambda: InfluenceDiagram([LinearGaussianCPD("X")]), InvalidModel, "continuous"),
        (lambda: InfluenceDiagram([Decision("D", 2)]), InvalidModel, "CPD"),
        (lambda: Decision("D", 2, sees=["A", "A"]), InvalidModel, "twice"),
        (lambda: Decision("D", 2, sees=["D"]), InvalidModel, "see itself"),
        (lambda: Decision("D"), InvalidModel, "needs its actions"),
        (lambda: Decision(Variable("D")), InvalidModel, "continuous"),
    ],
)
def test_what_is_no_diagram_is_refused(make, error, message):
    """Each with the name of the culprit."""
    with pytest.raises(error, match=message):
        make()


def test_decision_can_not_see_what_it_brings_about():
    """An action is an intervention: an observation of its own effect would be a cycle."""
    effect = TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], parents=["D"])
    with pytest.raises(CyclicGraph, match="D"):
        InfluenceDiagram([effect], [Decision("D", 2, sees=["X"])])


def test_utilities_have_no_children():
    """Nothing can depend on a utility, which is no variable."""
    with pytest.raises(PlausibleError, match="profit"):
        entrepreneur().with_decision(Decision("late", 2, sees=["profit"]))


def test_edits_return_new_diagrams():
    """Parts are added, replaced and removed; the old diagram stays as it was."""
    diagram = entrepreneur()
    assert diagram.with_information({"F": ["M"]}).decisions["F"].sees == ("M",)
    assert diagram.decisions["F"].sees == ()
    controlled = diagram.with_decision(Decision("M", ["m0", "m1", "m2"]))
    assert (list(controlled.chance), list(controlled.decisions)) == ([], ["F", "M"])
    assert list(diagram.with_utility(Utility("F", [0, -1], name="tax")).utilities) == ["profit", "tax"]
    surveyed = entrepreneur_with_survey()
    assert list(surveyed.without("cost").utilities) == ["profit"]
    assert list(surveyed.without("cost").without("profit").without("F").without("S").variables) == ["M", "C"]
    with pytest.raises(InvalidModel, match=r"\['F'\] depend on 'S'"):
        surveyed.without("S")
    with pytest.raises(UnknownVariable, match="'X'"):
        surveyed.without("X")
    with pytest.raises(UnknownVariable, match="not a decision of this diagram"):
        diagram.with_information({"M": ["F"]})


def test_diagrams_are_values():
    """Equal by content, hashed, pickled, and closed to assignment."""
    diagram = entrepreneur_with_survey()
    assert pickle.loads(pickle.dumps(diagram)) == diagram == entrepreneur_with_survey()
    assert hash(diagram) == hash(entrepreneur_with_survey())
    assert diagram != entrepreneur_with_survey(cost=2)
    assert diagram != "diagram"
    with pytest.raises(ImmutableValue):
        diagram.notes = Notes()


def test_drawing_has_a_shape_for_each_kind_of_node():
    """Ovals, boxes and diamonds; dashed information edges; recall edges hidden on request; names quoted."""
    diagram = InfluenceDiagram(
        [TableCPD('say "hi"', [0.5, 0.5])],
        [Decision("D", 2, sees=['say "hi"']), Decision("E", 2, sees=['say "hi"', "D"])],
        [Utility("E", [0, 1], name="V")],
        notes=Notes(name="greeting"),
    )
    lines = diagram.to_dot().splitlines()
    assert lines[0] == 'digraph "greeting" {'
    assert {line.strip() for line in lines[1:-1]} == {
        '"say \\"hi\\"" [shape=oval];',
        '"D" [shape=box];',
        '"E" [shape=box];',
        '"V" [shape=diamond];',
        '"say \\"hi\\"" -> "D" [style=dashed];',
        '"say \\"hi\\"" -> "E" [style=dashed];',
        '"D" -> "E" [style=dashed];',
        '"E" -> "V";',
    }
    hidden = diagram.to_dot(hide_recall=True)
    assert '"say \\"hi\\"" -> "E"' not in hidden
    assert '"D" -> "E"' in hidden
    with pytest.raises(NotSupported, match="perfect recall"):
        InfluenceDiagram(decisions=[Decision("A", 2), Decision("B", 2)]).to_dot(hide_recall=True)


def test_structure_questions_are_methods():
    """The methods give what the functions of the room give."""
    diagram = entrepreneur_with_survey()
    assert diagram.relevance_graph().components == (("F",), ("C",))
    assert diagram.minimal_reduction().diagram == diagram
    assert diagram.recall().is_perfect
    assert diagram.with_recall() == diagram
    assert diagram.count_strategies(only_possible=True).total == 32
    assert diagram.decision_tree().solve().expected_utility == pytest.approx(2.25)


def test_decisions_that_are_made_become_chance_and_the_rest_is_best_given_them():
    """The best of all strategies that keep to the rule; what follows it is a network with the same chances."""
    diagram = entrepreneur_with_survey()
    for place, action in enumerate(["c0", "c1"]):
        made = diagram.with_rules({"C": action})
        assert (list(made.decisions), list(made.chance)) == (["F"], ["M", "S", "C"])
        kept = (rules for rules in all_strategies(diagram) if rules["C"].ravel()[place] == 1)
        best = max(expected_utility(diagram, rules) for rules in kept)
        assert made.solve().expected_utility == pytest.approx(best)
    assert not diagram.with_rules(diagram.uniform_strategy()).decisions
    with pytest.raises(InvalidEvidence, match="with_rules"):
        diagram.solve(evidence={"C": "c0"})


def test_a_nameless_utility_beside_a_twin_warns():
    """It may have been meant to replace the other; with a name, or other parents, it is taken as it is."""
    diagram = InfluenceDiagram([], [Decision("work", 2)], [Utility("work", [0, 5], name="wage")])
    with pytest.warns(PlausibleWarning, match="added to 'wage'.*name='wage'"):
        assert diagram.with_utility(Utility("work", [0, 7])).solve().expected_utility == 12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert diagram.with_utility(Utility("work", [0, 7], name="wage")).solve().expected_utility == 7
        assert diagram.with_utility(Utility("work", [0, 7], name="tips")).solve().expected_utility == 12
