"""What is wrong with a diagram is said by name: the thing, the place, and what to do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import plausible as pb
from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram, rank_observations, utility_tornado
from plausible.errors import (
    CyclicGraph,
    ImpossibleEvidence,
    InvalidArgument,
    InvalidEvidence,
    InvalidFactor,
    InvalidModel,
    UnknownState,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.utilities import Utility

OIL = TableCPD("oil", [0.6, 0.4], states=["dry", "wet"])
TEST = TableCPD("test", [[0.8, 0.2], [0.1, 0.9]], ["oil"], states=["bad", "good"])
DRILL = Decision("drill", ["no", "yes"], sees=["test"])
PAY = Utility(["oil", "drill"], [[0, -70], [0, 150]], name="pay")
DIAGRAM = InfluenceDiagram([OIL, TEST], [DRILL], [PAY])


def refusal(error, make):
    """What the error says."""
    with pytest.raises(error) as caught:
        make()
    return str(caught.value)


def pay(values):
    return InfluenceDiagram([OIL, TEST], [DRILL], [Utility(["oil", "drill"], values, name="pay")])


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([[0, -70], [150]], InvalidModel, "rows of the same length, not [[0, -70], [150]]"),
        ([["a", 0], [0, 1]], InvalidModel, "needs numbers"),
        ([[0, -70], [0, np.nan]], InvalidModel, "is nan at oil=wet, drill=yes"),
        (
            [[0, -np.inf], [0, 1]],
            InvalidModel,
            "is -inf at oil=dry, drill=yes: give a number up to 1e+300. Act",
        ),
        (dict.fromkeys([("dry", "no"), ("dry", "yes"), ("wet", "no"), ("wet", "yes")], np.nan), InvalidFactor, "'dry'"),
        (None, InvalidModel, "shape (2, 2)"),
        (lambda oil, drill: None, InvalidModel, "is nan at oil=dry, drill=no"),
        (lambda oil: 1.0, InvalidModel, "function of the states of ['oil', 'drill'], in order"),
        ({("dry", "no"): 1}, InvalidFactor, "no number for {'oil': 'dry', 'drill': 'yes'}"),
        ({("no", "dry"): 1}, UnknownState, "states of ['oil', 'drill'] for keys. 'no' is not a state of 'oil'"),
        (Factor({"oil": ["dry", "wet"]}, [1, 2]), InvalidModel, "Utility.from_factor(factor)"),
    ],
)
def test_numbers_that_make_no_utility_are_refused_with_its_name_and_the_place(values, error, words):
    said = refusal(error, lambda: pay(values))
    assert said.startswith("The utility 'pay'")
    assert words in said


def test_a_transposed_table_is_recognised_where_shapes_tell():
    market, profit = TableCPD("market", [0.5, 0.3, 0.2]), Utility(["market", "found"], np.ones((2, 3)))
    said = refusal(InvalidModel, lambda: InfluenceDiagram([market], [Decision("found", 2)], [profit]))
    assert said.endswith("not (2, 3). Transpose it, or name the parents in the order ['found', 'market'].")


def test_built_in_functions_make_utilities_though_they_tell_no_arguments():
    diagram = InfluenceDiagram([TableCPD("a", [0.5, 0.5]), TableCPD("b", [0.5, 0.5])], [], [Utility(["a", "b"], max)])
    np.testing.assert_array_equal(diagram.utility_factors["U(a, b)"].values, [[0, 1], [1, 1]])


def test_a_decision_can_not_see_what_depends_on_it():
    """The path is told, and which decision sees too much."""
    output = TableCPD("output", [[0.5, 0.5], [0.2, 0.8]], ["drill"])
    with pytest.raises(CyclicGraph) as caught:
        InfluenceDiagram([OIL, output], [Decision("drill", ["no", "yes"], sees=["output"])], [PAY])
    assert "drill -> output -> drill. The decision 'drill' can't see 'output'" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_cycle_of_chance_variables_is_told_as_such():
    loop = [TableCPD(name, [[0.5, 0.5], [0.2, 0.8]], [parent]) for name, parent in ("ab", "ba")]
    assert "Remove or reverse" in refusal(CyclicGraph, lambda: InfluenceDiagram(loop))


@pytest.mark.parametrize(
    ("make", "claim"),
    [
        (lambda: DIAGRAM.with_utility(Utility("pay", [1, 2], name="total")), "the utility 'total' depends on it"),
        (lambda: DIAGRAM.with_chance(TableCPD("mood", np.full((2, 2), 0.5), ["pay"])), "'mood' depends on it"),
        (lambda: DIAGRAM.with_information({"drill": ["pay"]}), "the decision 'drill' sees it"),
    ],
)
def test_nothing_depends_on_a_utility(make, claim):
    assert f"'pay' is a utility, but {claim}" in refusal(InvalidModel, make)


@pytest.mark.parametrize(
    ("make", "claim"),
    [
        (lambda: InfluenceDiagram([TEST], [DRILL]), "'test' depends on it"),
        (lambda: InfluenceDiagram([OIL], [DRILL]), "the decision 'drill' sees it"),
        (lambda: InfluenceDiagram([], [Decision("drill", 2)], [PAY]), "the utility 'pay' depends on it"),
    ],
)
def test_a_variable_without_a_distribution_is_named_with_who_needs_it(make, claim):
    assert f"is not a variable of this diagram, but {claim}: add its CPD to chance=" in refusal(UnknownVariable, make)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: InfluenceDiagram([OIL, OIL]), "'oil' stands twice, in chance="),
        (lambda: InfluenceDiagram([OIL, TEST], [DRILL, DRILL]), "'drill' stands twice, in decisions="),
        (lambda: InfluenceDiagram([OIL], [Decision("oil", 2)]), "'oil' stands twice, in chance= and in decisions="),
        (lambda: InfluenceDiagram(OIL), "chance= takes a list of CPD objects, not TableCPD(oil)"),
        (lambda: InfluenceDiagram(BayesianNetwork(OIL)), "give its cpds.values()"),
        (lambda: InfluenceDiagram({"oil": OIL}), "chance= takes a list of CPD objects"),
        (lambda: InfluenceDiagram([OIL], ["drill"]), "decisions= takes Decision objects, not 'drill'"),
        (lambda: InfluenceDiagram([OIL], [], [Factor({"oil": 2}, [1, 2])]), "a Factor over ['oil']: see Utility.from"),
        (lambda: DIAGRAM.with_decision(OIL), "with_decision takes Decision objects, not TableCPD(oil)"),
        (lambda: DIAGRAM.with_chance(DRILL), "with_chance takes CPD objects, not Decision('drill'"),
        (lambda: DIAGRAM.with_utility(5), "with_utility takes Utility objects, not 5"),
    ],
)
def test_parts_of_the_wrong_kind_or_given_twice_are_named_with_their_place(make, words):
    assert words in refusal(InvalidModel, make)


@pytest.mark.parametrize("rules", ["yes", ["yes"]])
def test_rules_are_a_mapping(rules):
    assert "decision -> rule" in refusal(InvalidArgument, lambda: DIAGRAM.expected_utility(rules))


def _bet():
    coin = pb.TableCPD("coin", [1.0, 0.0], states=["heads", "tails"])
    return pb.InfluenceDiagram([coin], [pb.Decision("bet", 2)], [pb.Utility(["coin", "bet"], np.eye(2), name="gain")])


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (lambda d: d.value_of_information(3), InvalidArgument, "one variable or several, not 3"),
        (lambda d: d.value_of_information("gain"), UnknownVariable, "'gain' is a utility of this diagram"),
        (lambda d: d.solve(evidence={"gain": 3}), UnknownVariable, "'gain' is a utility of this diagram"),
        (lambda d: d.with_information({"bet": None}), InvalidModel, "a list of names, not None"),
        (lambda d: d.with_information(["bet"]), InvalidArgument, "decision -> names, not ['bet']"),
        (lambda d: d.solve(progress=3), InvalidArgument, "progress=3 must be a function"),
        (lambda d: d.solve(evidence={"coin": "tails"}), ImpossibleEvidence, "coin='tails' has probability zero"),
        (lambda d: d.expected_utility({"bet": 0}, {"coin": "tails"}), ImpossibleEvidence, "coin='tails'"),
        (lambda d: d.utility_parts({"bet": 0}, {"coin": "tails"}), ImpossibleEvidence, "coin='tails'"),
        (lambda d: d.optimal_rule("bet", {"bet": 0}, {"coin": "tails"}), ImpossibleEvidence, "coin='tails'"),
        (lambda d: rank_observations(d, evidence={"coin": "tails"}), ImpossibleEvidence, "coin='tails'"),
    ],
)
def test_questions_that_make_no_sense_are_refused_by_name(question, error, words):
    assert words in refusal(error, lambda: question(_bet()))


@pytest.mark.parametrize("method", ["auto", "local", "elimination", "arc-reversal", "network", "enumeration"])
def test_every_method_names_the_finding_that_is_impossible(method):
    said = refusal(ImpossibleEvidence, lambda: _bet().solve(method=method, evidence={"coin": "tails"}))
    assert said == "The evidence coin='tails' has probability zero."


def test_a_flat_list_of_utilities_and_numbers_too_large_to_add_are_told_what_to_do():
    coin = pb.TableCPD("coin", [0.5, 0.5])
    flat = pb.Utility(["coin", "bet"], [1, 2, 3, 4, 5, 6])
    said = refusal(InvalidModel, lambda: pb.InfluenceDiagram([coin], [pb.Decision("bet", 3)], [flat]))
    assert "states of 'bet' change fastest in the list, reshape it: .reshape(2, 3)" in said
    huge = pb.Utility("bet", [0, 1.7e308])
    assert "up to 1e+300" in refusal(InvalidModel, lambda: pb.InfluenceDiagram([], [pb.Decision("bet", 2)], [huge]))


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (lambda d: d.with_rules("yes"), InvalidArgument, "decision -> rule, not 'yes'"),
        (lambda d: d.network("yes"), InvalidArgument, "decision -> rule, not 'yes'"),
        (lambda d: d.risk_profile(pb.Strategy({})), InvalidArgument, "no rule for ['bet']"),
        (lambda d: d.with_curve(np.exp), InvalidArgument, "wrap a function in FunctionCurve"),
        (lambda d: utility_tornado(d, 20), InvalidArgument, "amount=20"),
        (lambda d: pb.InfluenceDiagram(d.chance), InvalidModel, "a mapping of ['coin']: give its values()"),
        (lambda d: pb.InfluenceDiagram(d.chance["coin"]), InvalidModel, "alone: put it in a list"),
        (
            lambda d: d.with_chance(pb.TableCPD("luck", np.eye(2), ["bet"])).solve(evidence={"luck": 1}),
            InvalidEvidence,
            "diagram.with_rules({'bet': action})",
        ),
    ],
)
def test_slips_of_every_day_are_told_the_way(question, error, words):
    assert words in refusal(error, lambda: question(_bet()))
