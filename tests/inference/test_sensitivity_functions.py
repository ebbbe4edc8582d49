"""Posteriors as functions of one parameter, against enumeration with the parameter changed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import random_network
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.inference.compiled import CompiledFactors
from plausible.inference.sensitivity.derivatives import FamilyProduct
from plausible.inference.sensitivity.functions import SensitivityFunction, event_sensitivity, tornado, varied
from plausible.inference.sensitivity.parameters import Event, Parameter, sensitivity_set
from plausible.variables import Evidence, Variable
from refusals import refuses
from sensitivity_oracle import covaried, entries, random_findings, sizes_of, tables_of, total, with_event

SEEDS = st.integers(0, 10**6)


def _function(joint_ends, evidence_ends, current=0.5):
    parameter = Parameter("X", (), 0, (0,))
    return SensitivityFunction(parameter, "T=1", current, joint_ends, evidence_ends, 0.0)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.9], ids=["positive", "some zeros", "nearly deterministic"])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_functions_of_all_parameters_equal_enumeration_with_the_parameter_changed(zeros, seed):
    """At five values of each θ, zero and one among them, with the row's other entries in proportion."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=zeros)
    evidence, weights = random_findings(rng, net, share=0.3)
    tables, sizes = tables_of(net), sizes_of(net)
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    target = net.variables[rng.choice(list(net.variables))]
    position = int(rng.integers(target.num_states))
    found, event = Evidence.read(evidence, net.variables), Event(target, target.states[position])
    below = total(tables, sizes, weights)
    if below == 0:
        with pytest.raises(ImpossibleEvidence):
            event_sensitivity(product, found, event)
        return
    answer = event_sensitivity(product, found, event)
    both = with_event(weights, sizes, target.name, position)
    assert answer.probability == pytest.approx(total(tables, sizes, both) / below, abs=1e-12)
    for child, index in entries(tables):
        function = answer.function(Parameter.at(product.families[child].scope, index))
        assert function.value == pytest.approx(answer.probability, abs=1e-10)
        assert math.exp(function.log_evidence) == pytest.approx(below, rel=1e-9)
        for value in (0.0, 0.13, 0.5, 0.87, 1.0):
            other = covaried(tables, child, index, value)
            whole = total(other, sizes, weights)
            if whole > 1e-12 * below:
                assert function(value) == pytest.approx(total(other, sizes, both) / whole, abs=1e-9)
            denominator = function.c * value + function.d
            assert denominator == pytest.approx(whole / below, rel=1e-9, abs=1e-9 * max(function.evidence_ends))
        _check_calculus(function)


def _check_calculus(function):
    """Slope, range and inverse agree with the values."""
    low, high = function.range(0.2, 0.6)
    assert sorted((function(0.2), function(0.6))) == [low, high]
    whole = function.range()
    assert whole.lowest - 1e-12 <= low <= high <= whole.highest + 1e-12
    if function.evidence_ends[0] > 1e-6 and function.evidence_ends[1] > 1e-6:
        quotient = (function(0.4 + 1e-6) - function(0.4 - 1e-6)) / 2e-6
        assert function.derivative(0.4) == pytest.approx(quotient, rel=1e-4, abs=1e-6)
    if not function.is_constant and function.sensitivity_value > 1e-6:
        theta = function.solve(function(0.3))
        assert function(theta) == pytest.approx(function(0.3), abs=1e-9)
    if whole.highest < 0.999:
        assert function.solve(whole.highest + 5e-4) is None
    if whole.lowest > 0.001:
        assert function.solve(whole.lowest - 5e-4) is None


def test_parameters_of_one_state_are_sure_and_their_functions_constant():
    """There is nothing that could take a share."""
    product = FamilyProduct({"A": Factor({"A": 1}, [1.0]), "B": Factor({"A": 1, "B": 2}, [[0.25, 0.75]])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(Variable("B", 2), 1))
    function = answer.function(Parameter.at(product.families["A"].scope, (0,)))
    assert function.is_constant
    assert function(0.0) == function(1.0) == 0.75
    assert function.solve(0.75) == 1.0
    assert function.solve(0.5) is None


def test_a_sure_row_gives_its_states_equal_shares():
    """θ = 1 with three states: what is taken away goes to the two others alike."""
    product = FamilyProduct({"A": Factor({"A": 3}, [1.0, 0.0, 0.0])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(Variable("A", 3), 2))
    function = answer.function(Parameter.at(product.families["A"].scope, (0,)))
    assert function.current == 1.0
    assert function.value == 0.0
    assert function(0.0) == pytest.approx(0.5)
    assert function.derivative() == pytest.approx(-0.5)
    assert function.solve(0.25) == pytest.approx(0.5)


def test_where_the_evidence_is_impossible_the_limit_is_given():
    """B=1 needs A=1: at P(A=1) = 0 there is no posterior, but its limit is that of all other values."""
    a = Factor({"A": 2}, [0.5, 0.5])
    b = Factor({"A": 2, "B": 2}, [[1.0, 0.0], [0.4, 0.6]])
    c = Factor({"A": 2, "C": 2}, [[1.0, 0.0], [0.7, 0.3]])
    product = FamilyProduct({"A": a, "B": b, "C": c})
    answer = event_sensitivity(product, Evidence.read({"B": 1}, product.variables), Event(Variable("C", 2), 1))
    for index in ((0,), (1,)):
        function = answer.function(Parameter.at(a.scope, index))
        assert function.is_constant
        np.testing.assert_allclose(function(np.array([0.0, 0.5, 1.0])), 0.3, rtol=1e-12)
        assert function.derivative(0.0) == function.derivative(1.0) == 0.0


def test_the_current_value_of_a_constant_solves_for_its_own_value():
    """And for no other."""
    function = _function((0.25, 0.5), (0.5, 1.0))
    assert function.is_constant
    assert function.solve(0.5) == 0.5
    assert function.solve(0.6) is None


def test_the_four_coefficients_make_the_function():
    """f(θ) = (aθ + b) / (cθ + d)."""
    function = _function((0.1, 0.5), (0.4, 1.6))
    values = np.linspace(0, 1, 11)
    expected = (function.a * values + function.b) / (function.c * values + function.d)
    np.testing.assert_allclose(function(values), expected)
    assert (function.a, function.b, function.c, function.d) == pytest.approx((0.4, 0.1, 1.2, 0.4))


def test_the_ends_are_reached_exactly():
    """A wanted posterior that is that of θ = 0 or θ = 1, up to rounding."""
    function = _function((0.1, 0.3), (0.4, 1.6))
    assert function.solve(function(1.0)) == pytest.approx(1.0)
    assert function.solve(function(0.0)) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("joint_ends", "evidence_ends"), [((0.0, 0.9), (0.1, 1.0)), ((0.9, 0.0), (1.0, 0.2)), ((0.2, 0.1), (0.3, 1.7))]
)
def test_the_slope_at_the_vertex_is_one(joint_ends, evidence_ends):
    """The vertex of a hyperbola lies where |f'| = 1, on the branch over [0, 1]; the proximity is the distance to it."""
    function = _function(joint_ends, evidence_ends)
    vertex = function.vertex
    below = function.c * vertex + function.d
    assert below > 0
    assert abs(function.a * function.d - function.b * function.c) / below**2 == pytest.approx(1.0)
    assert function.vertex_proximity == pytest.approx(abs(0.5 - vertex))
    assert function.sensitivity_value == abs(function.derivative(0.5))


def test_a_line_has_no_vertex():
    """P(e) does not depend on θ."""
    function = _function((0.1, 0.4), (1.0, 1.0))
    assert function.vertex is None
    assert function.vertex_proximity == math.inf
    assert function.derivative() == pytest.approx(0.3)


def test_numbers_that_are_no_probabilities_are_refused():
    """As values of θ, or as posteriors."""
    function = _function((0.1, 0.4), (1.0, 1.0))
    for wrong in (-0.1, 1.1, math.nan, np.array([0.5, 2.0])):
        refuses(InvalidArgument, "from 0 to 1", function, wrong)
    for wrong in (-0.1, 1.1, math.nan):
        refuses(InvalidArgument, "from 0 to 1", function.solve, wrong)


def test_events_and_parameters_must_be_there():
    """Names are checked."""
    variables = {"A": Variable("A", 2), "x": Variable("x")}
    with pytest.raises(UnknownVariable):
        Event.read("B", 0, variables, "this network")
    with pytest.raises(UnknownState):
        Event.read("A", 2, variables, "this network")
    refuses(NotSupported, "continuous", Event.read, "x", 2, variables, "this network")
    product = FamilyProduct({"A": Factor({"A": 2}, [0.5, 0.5])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(variables["A"], 0))
    refuses(UnknownVariable, "this analysis", answer.function, Parameter("B", (), 0, (0,)))


def test_sensitivities_print_the_parameters_with_the_largest_derivatives():
    """The first ten of all, by the size of the slope that central differences give."""
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(3), size=4)
    cause, effect = Variable("C", 4), Variable("E", 3)
    prior, table = Factor((cause,), rng.dirichlet(np.ones(4))), Factor((cause, effect), rows)
    product = FamilyProduct({"C": prior, "E": table})
    found = event_sensitivity(product, Evidence.read({"E": 2}, product.variables), Event(cause, 1))
    lines = repr(found).splitlines()
    assert lines[0] == f"P(C=1 | e) = {found.probability:.6g}, by 16 parameters:"
    assert lines[-1] == "  ... (16 in all)"
    assert len(lines) == 12

    def posterior(c, e):
        weights = c * e[:, 2]
        return weights[1] / weights.sum()

    def moved(values, place, step):
        values = values.copy()
        others = [i for i in range(values.shape[-1]) if i != place[-1]]
        row = values[place[:-1]]
        row[others] *= (1 - row[place[-1]] - step) / (1 - row[place[-1]])
        row[place[-1]] += step
        return values

    slopes = {}
    for i in range(4):
        ends = [posterior(moved(prior.values, (i,), h), rows) for h in (1e-6, -1e-6)]
        slopes[f"P(C={i})"] = (ends[0] - ends[1]) / 2e-6
        for j in range(3):
            ends = [posterior(prior.values, moved(rows, (i, j), h)) for h in (1e-6, -1e-6)]
            slopes[f"P(E={j} | C={i})"] = (ends[0] - ends[1]) / 2e-6
    shown = [line.strip().split(" = ")[0] for line in lines[1:-1]]
    sizes = [abs(slopes[name]) for name in shown]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) >= max(abs(slope) for name, slope in slopes.items() if name not in shown) - 1e-9
    written = [float(line.split("derivative ")[1]) for line in lines[1:-1]]
    assert written == pytest.approx([slopes[name] for name in shown], rel=1e-4, abs=1e-8)
    assert repr(found.families["E"]) == "<FamilySensitivity: 12 parameters of P(E | C)>"


def _expected_ends(theta, vary, amount):
    if vary == "relative":
        ends = theta * (1 - amount), theta * (1 + amount)
    elif vary == "absolute":
        ends = theta - amount, theta + amount
    elif theta in (0.0, 1.0):
        ends = theta, theta
    else:
        odds = theta / (1 - theta)
        ends = tuple(some / (1 + some) for some in (odds / (1 + amount), odds * (1 + amount)))
    return [min(max(end, 0.0), 1.0) for end in ends]


@pytest.mark.parametrize(("vary", "amount"), [("relative", 0.2), ("absolute", 0.15), ("odds", 1.0)])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_swings_equal_enumeration_with_each_parameter_changed(vary, amount, seed):
    """Every parameter of every family with two states or more, sorted by its swing."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4)
    evidence, weights = random_findings(rng, net, share=0.3)
    tables, sizes = tables_of(net), sizes_of(net)
    if total(tables, sizes, weights) == 0:
        return
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    target = next(iter(net.variables.values()))
    event = Event(target, target.states[-1])
    both = with_event(weights, sizes, target.name, target.num_states - 1)
    table = tornado(event_sensitivity(product, Evidence.read(evidence, net.variables), event), vary, amount, limit=None)
    assert len(table) == sum(array.size for _, array in tables.values() if array.shape[-1] > 1)
    assert np.all(np.diff(table["swing"]) <= 1e-6)
    for row in table.itertuples():
        theta = tables[row.parameter.child][1][row.parameter.place]
        assert row.value == theta
        assert [row.low, row.high] == pytest.approx(_expected_ends(theta, vary, amount), abs=1e-12)
        for value, posterior in ((row.low, row.at_low), (row.high, row.at_high)):
            other = covaried(tables, row.parameter.child, row.parameter.place, value)
            whole = total(other, sizes, weights)
            if whole > 1e-12:
                assert posterior == pytest.approx(total(other, sizes, both) / whole, abs=1e-9)
        assert row.swing == pytest.approx(abs(row.at_high - row.at_low), abs=1e-15)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_parameters_outside_the_sensitivity_set_do_not_matter(seed):
    """Their functions are constant, whatever the numbers; with hard, soft and one-of evidence."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, max_states=2, edge_probability=0.35, zeros=0.0)
    evidence, _ = random_findings(rng, net, share=0.3)
    found = Evidence.read(evidence, net.variables)
    target = net.variables["X3"]
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    answer = event_sensitivity(product, found, Event(target, 0))
    kept = sensitivity_set(net.graph, "X3", found)
    for name, family in answer.families.items():
        moves = float(np.abs(family.posteriors(np.full(family.table.shape, 0.35)) - answer.probability).max())
        if name not in kept:
            assert moves <= 1e-10


def test_the_sensitivity_set_is_what_the_graph_leaves():
    """Barren variables and those cut off by evidence go; an observed variable stays where its parents matter."""
    graph = DAG("A -> B -> C -> D; E -> C; B -> F")
    variables = {name: Variable(name, 2) for name in "ABCDEF"}

    def found(**evidence):
        return Evidence.read(evidence, variables)

    assert sensitivity_set(graph, "C", found()) == ["A", "B", "C", "E"]
    assert sensitivity_set(graph, "C", found(B=0)) == ["C", "E"]
    assert sensitivity_set(graph, "C", found(F=0)) == ["A", "B", "C", "E", "F"]
    assert sensitivity_set(graph, "C", found(F=[0, 1])) == ["A", "B", "C", "E", "F"]
    assert sensitivity_set(graph, "E", found(D=1)) == ["A", "B", "C", "D", "E"]
    assert sensitivity_set(graph, "E", found(B=1)) == ["E"]
    assert sensitivity_set(graph, "C", found(C=1)) == []


def test_two_calibrations_make_the_whole_table(monkeypatch):
    """However many parameters it has."""
    calls = []
    joints = CompiledFactors.joints
    monkeypatch.setattr(CompiledFactors, "joints", lambda *given: calls.append(1) or joints(*given))
    net = random_network(np.random.default_rng(2), num_variables=12, max_states=3, edge_probability=0.2)
    product = FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})
    target = net.variables["X7"]
    state = net.mpe()["X7"]
    table = tornado(event_sensitivity(product, Evidence({}, {}, {}), Event(target, state)))
    assert len(calls) == 2
    assert len(table) == 20


def test_the_two_states_of_a_binary_variable_tie_in_table_order():
    """Odds of θ and of 1 - θ vary alike: rounding does not decide who is first."""
    rows = [[0.95, 0.05], [0.1, 0.9]]
    product = FamilyProduct({"A": Factor({"A": 2}, [0.99, 0.01]), "B": Factor({"A": 2, "B": 2}, rows)})
    answer = event_sensitivity(product, Evidence.read({"B": 1}, product.variables), Event(Variable("A", 2), 1))
    for amount in (0.1, 0.5, 1.0, 2.0):
        names = [str(parameter) for parameter in tornado(answer, "odds", amount)["parameter"]]
        assert names[:4] == ["P(A=0)", "P(A=1)", "P(B=0 | A=0)", "P(B=1 | A=0)"]


def test_an_empty_table_has_all_columns():
    """Nothing to vary, or a limit of none."""
    product = FamilyProduct({"A": Factor({"A": 1}, [1.0])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(Variable("A", 1), 0))
    empty = tornado(answer)
    assert len(empty) == 0
    assert list(empty.columns) == [
        "parameter",
        "value",
        "low",
        "high",
        "at_low",
        "at_high",
        "swing",
        "derivative",
    ]


def test_wrong_options_are_refused():
    """By name, also where there is nothing to vary."""
    product = FamilyProduct({"A": Factor({"A": 1}, [1.0])})
    answer = event_sensitivity(product, Evidence({}, {}, {}), Event(Variable("A", 1), 0))
    for amount in (0, -1, math.inf, math.nan, "much"):
        refuses(InvalidArgument, "positive and finite", tornado, answer, amount=amount)
    refuses(InvalidArgument, "'relative', 'absolute' or by 'odds', not 'logit'", tornado, answer, vary="logit")
    for limit in (-1, 2.5):
        refuses(InvalidArgument, "The limit", tornado, answer, limit=limit)


def test_variations_stay_probabilities():
    """Zero and one under odds, and what would leave the interval."""
    for vary in ("relative", "absolute", "odds"):
        low, high = varied(np.array([0.0, 0.5, 1.0]), vary, 3.0)
        assert np.all((low >= 0) & (low <= high) & (high <= 1))
