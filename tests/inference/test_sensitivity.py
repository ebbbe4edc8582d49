"""Derivatives against differences of enumerated sums, which are exact: probabilities are linear in each entry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import binary, random_network
from plausible.cpds import TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.inference.compiled import CompiledFactors
from plausible.inference.sensitivity.derivatives import FamilyProduct, derivatives, hessian
from plausible.inference.sensitivity.parameters import Event, Parameter
from plausible.models import BayesianNetwork
from plausible.variables import Evidence, Variable, jeffrey, likelihood
from refusals import refuses
from sensitivity_oracle import (
    changed,
    covaried,
    entries,
    random_findings,
    sizes_of,
    tables_of,
    total,
    with_event,
)

SEEDS = st.integers(0, 10**6)


def _product(net):
    return FamilyProduct({name: cpd.to_factor() for name, cpd in net.cpds.items()})


def _problem(seed, zeros=0.3):
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=zeros)
    evidence, weights = random_findings(rng, net)
    return rng, net, Evidence.read(evidence, net.variables), weights


def _slope(tables, sizes, weights, child, index):
    """The difference of the sum between θ = 1 and θ = 0."""
    ends = [total(changed(tables, {(child, index): end}), sizes, weights) for end in (0.0, 1.0)]
    return ends[1] - ends[0]


# --- first derivatives ---


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.9], ids=["positive", "some zeros", "nearly deterministic"])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_partial_derivatives_of_the_evidence_are_sums_over_the_product_of_the_rest(zeros, seed):
    """∂P(e)/∂θ for every entry, also where θ = 0, where P(e) = 0, and for variables with one state."""
    _, net, evidence, weights = _problem(seed, zeros)
    tables, sizes = tables_of(net), sizes_of(net)
    answer = derivatives(_product(net), evidence)
    value = total(tables, sizes, weights)
    assert answer.value == pytest.approx(value, rel=1e-9)
    for child, index in entries(tables):
        slope = _slope(tables, sizes, weights, child, index)
        assert answer[child][index] == pytest.approx(slope, rel=1e-9, abs=1e-12)
        if value > 0:
            assert answer.of_log[child][index] == pytest.approx(slope / value, rel=1e-9, abs=1e-12)
        else:
            assert answer.of_log[child][index] == (math.inf if slope > 0 else 0.0)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.9], ids=["positive", "some zeros", "nearly deterministic"])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_derivatives_of_a_posterior_follow_the_quotient_rule(zeros, seed):
    """∂P(x | e)/∂θ = (∂P(x, e) P(e) - P(x, e) ∂P(e)) / P(e)², also where P(x | e) = 0 becomes positive with θ."""
    rng, net, evidence, weights = _problem(seed, zeros)
    tables, sizes = tables_of(net), sizes_of(net)
    name = rng.choice(list(net.variables))
    position = int(rng.integers(sizes[name]))
    event = Event(net.variables[name], net.variables[name].states[position])
    below = total(tables, sizes, weights)
    if below == 0:
        with pytest.raises(ImpossibleEvidence):
            derivatives(_product(net), evidence, event)
        return
    both = with_event(weights, sizes, name, position)
    above = total(tables, sizes, both)
    answer = derivatives(_product(net), evidence, event)
    assert answer.value == pytest.approx(above / below, abs=1e-12)
    for child, index in entries(tables):
        slopes = [_slope(tables, sizes, some, child, index) for some in (both, weights)]
        expected = (slopes[0] * below - above * slopes[1]) / below**2
        scale = max(slopes) / below
        assert answer[child][index] == pytest.approx(expected, abs=1e-9 * max(1.0, scale))


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_proportional_derivatives_keep_the_sum_of_a_row(seed):
    """dP(e)/dθ with the row's other entries in proportion is the difference of P(e) between two proper networks."""
    _, net, evidence, weights = _problem(seed)
    tables, sizes = tables_of(net), sizes_of(net)
    answer = derivatives(_product(net), evidence, others="proportional")
    for child, index in entries(tables):
        ends = [total(covaried(tables, child, index, end), sizes, weights) for end in (0.0, 1.0)]
        rounding = 1e-12 * max(1.0, *ends)  # the difference of two sums is as exact as these are
        assert answer[child][index] == pytest.approx(ends[1] - ends[0], rel=1e-9, abs=rounding)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_proportional_derivatives_of_a_posterior_equal_difference_quotients_of_rebuilt_networks(seed):
    """A network is built anew with θ ± h, and asked by variable elimination."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=0.0)
    target, seen, child = rng.choice(list(net.variables), 3, replace=False)
    if net.variables[child].num_states == 1:
        return
    evidence = {seen: net.variables[seen].states[0]}
    state = net.variables[target].states[0]
    product, found = _product(net), Evidence.read(evidence, net.variables)
    answer = derivatives(product, found, Event(net.variables[target], state), others="proportional")
    index = tuple(int(rng.integers(size)) for size in net.cpds[child].values.shape)
    theta = float(net.cpds[child].values[index])
    step = 1e-6 * min(theta, 1 - theta)
    ends = []
    for value in (theta - step, theta + step):
        array = covaried(tables_of(net), child, index, value)[child][1]
        rebuilt = net.with_cpd(TableCPD(net.variables[child], array, net.cpds[child].parents))
        ends.append(rebuilt.query(target, evidence)[state])
    quotient = (ends[1] - ends[0]) / (2 * step)
    assert answer[child][index] == pytest.approx(quotient, rel=1e-4, abs=1e-9 / step)


def test_one_calibration_gives_all_derivatives_of_the_evidence_and_two_those_of_a_posterior(monkeypatch):
    """However many families there are, and with zeros among their entries."""
    calls = []
    joints = CompiledFactors.joints
    monkeypatch.setattr(CompiledFactors, "joints", lambda *given: calls.append(1) or joints(*given))
    net = random_network(np.random.default_rng(5), num_variables=12, max_states=2, edge_probability=0.2)
    evidence = Evidence.read({"X0": net.mpe()["X0"]}, net.variables)
    derivatives(_product(net), evidence)
    assert len(calls) == 1
    derivatives(_product(net), evidence, Event(net.variables["X5"], 0))
    assert len(calls) == 3


@pytest.mark.parametrize("num_findings", [40, 300])
def test_derivatives_at_zeros_are_right_where_the_evidence_is_hardly_possible(num_findings):
    """Naive Bayes with up to 300 findings of probability 1e-3: P(e) = 1e-900, in closed form."""
    cause = Factor({"C": 2}, [0.25, 0.75])
    cells = [Factor({"C": 2, f"F{i}": 2}, [[0.999, 0.001], [0.998, 0.002]]) for i in range(num_findings - 2)]
    # The first finding rules out the second cause, and so does the second one.
    cells += [Factor({"C": 2, f"F{num_findings - 2 + i}": 2}, [[0.5, 0.5], [1.0, 0.0]]) for i in range(2)]
    families = {"C": cause, **{cell.names[-1]: cell for cell in cells}}
    product = FamilyProduct(families)
    evidence = Evidence.read({cell.names[-1]: 1 for cell in cells}, product.variables)
    answer = derivatives(product, evidence)
    log_value = math.log(0.25) + (num_findings - 2) * math.log(0.001) + 2 * math.log(0.5)
    assert answer.log_value == pytest.approx(log_value, rel=1e-12)
    np.testing.assert_allclose(answer.of_log["C"], [4.0, 0.0], rtol=1e-9, atol=0)
    np.testing.assert_allclose(answer.of_log["F0"], [[0, 1000.0], [0, 0]], rtol=1e-9, atol=0)
    # Two zeros stand between the second cause and the findings: one alone changes nothing.
    np.testing.assert_allclose(answer.of_log[cells[-1].names[-1]], [[0, 2.0], [0, 0]], rtol=1e-9, atol=0)
    one_left = FamilyProduct({**families, cells[-1].names[-1]: cells[-1] * 0.0 + 0.5})
    ratio = 3 * 2.0 ** (num_findings - 2) * 2.0
    slopes = derivatives(one_left, evidence).of_log[cells[-2].names[-1]]
    np.testing.assert_allclose(slopes, [[0, 2.0], [0, ratio]], rtol=1e-9, atol=0)


# --- worked numbers ---


def _worked_network():
    """A and B cause C, which causes D (Koller & Friedman 2009, figure 19.6)."""
    return BayesianNetwork(
        binary("A", 0.3),
        binary("B", 0.9),
        binary("C", [[0.83, 0.09], [0.6, 0.2]], ["A", "B"]),
        binary("D", [0.1, 0.8], ["C"]),
    )


def test_worked_gradient_of_one_instance():
    """o = (a1, ?, ?, d0): P(o) = .2196, and the derivatives of log P(o) in P(D | C)."""
    net = _worked_network()
    answer = derivatives(_product(net), Evidence.read({"A": True, "D": False}, net.variables))
    assert answer.value == pytest.approx(0.2196, abs=1e-12)
    np.testing.assert_allclose(answer.of_log["D"], [[1.038251, 0.0], [0.327869, 0.0]], atol=5e-7)


def test_worked_gradient_of_the_other_instance():
    """o' = (?, ?, ?, d1) with a0 and with a1: 3.891993, .763501 and 2.835821, .895522."""
    net = _worked_network()
    for state, expected in ((False, [3.891993, 0.763501]), (True, [2.835821, 0.895522])):
        answer = derivatives(_product(net), Evidence.read({"A": state, "D": True}, net.variables))
        np.testing.assert_allclose(answer.of_log["D"][:, 1], expected, atol=5e-7)


def test_worked_hessian():
    """o = (a1, ?, ?, d0), entries d0|c0 and d0|c1: off the diagonal -.340410, on it -1.077966 for d0|c0."""
    net = _worked_network()
    product = _product(net)
    scopes = {name: table.scope for name, table in product.families.items()}
    chosen = [Parameter.read(("D", [state], False), scopes) for state in (False, True)]
    matrix = hessian(product, Evidence.read({"A": True, "D": False}, net.variables), chosen)
    assert matrix[0, 1] == pytest.approx(-0.340410, abs=5e-7)
    assert matrix[0, 0] == pytest.approx(-1.077966, abs=5e-7)


# --- second derivatives ---


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_the_hessian_of_the_log_probability_equals_mixed_differences(seed):
    """∂² log P = (P ∂²P - ∂P ∂P) / P² from enumerated sums; an entry twice, entries of one row, zeros."""
    rng, net, evidence, weights = _problem(seed)
    tables, sizes = tables_of(net), sizes_of(net)
    value = total(tables, sizes, weights)
    product = _product(net)
    every = entries(tables)
    chosen = [every[i] for i in rng.integers(len(every), size=5)] + every[:2]
    parameters = [Parameter.at(product.families[child].scope, index) for child, index in chosen]
    if value == 0:
        with pytest.raises(ImpossibleEvidence):
            hessian(product, evidence, parameters)
        return
    matrix = hessian(product, evidence, parameters)
    slopes = [_slope(tables, sizes, weights, child, index) / value for child, index in chosen]
    for i, one in enumerate(chosen):
        for j, two in enumerate(chosen):
            mixed = 0.0
            if one != two:
                corners = {
                    (a, b): total(changed(tables, {one: a, two: b}), sizes, weights)
                    for a in (0.0, 1.0)
                    for b in (0.0, 1.0)
                }
                mixed = (corners[1, 1] - corners[1, 0] - corners[0, 1] + corners[0, 0]) / value
            expected = mixed - slopes[i] * slopes[j]
            scale = max(1.0, abs(mixed), slopes[i] * slopes[j], max(slopes) / value)
            assert matrix[i, j] == pytest.approx(expected, abs=1e-9 * scale)


# --- wrong and degenerate questions ---


def test_no_families_have_no_derivatives():
    """A constant, or factors that are not differentiated in, only have a value."""
    answer = derivatives(FamilyProduct({}, (Factor.scalar(0.5),), math.log(0.5)), Evidence({}, {}, {}))
    assert answer.value == pytest.approx(0.25)
    assert answer.of_value == {}


def test_a_scale_of_the_product_scales_derivatives_of_the_evidence_only():
    """d log P stays; dP is multiplied."""
    table = Factor({"A": 2}, [0.25, 0.75])
    found = Evidence.read({"A": 1}, {"A": table.scope[0]})
    answer = derivatives(FamilyProduct({"A": table}, log_scale=math.log(10.0)), found)
    np.testing.assert_allclose(answer.of_value["A"], [0.0, 10.0])
    np.testing.assert_allclose(answer.of_log["A"], [0.0, 4 / 3])


def test_an_event_against_the_evidence_has_no_probability_and_no_slope():
    """P(A=0 | A=1) is zero whatever the numbers; so is that of a state with likelihood zero."""
    table = Factor({"A": 2}, [0.25, 0.75])
    for finding in (1, likelihood([0.0, 3.0])):
        found = Evidence.read({"A": finding}, {"A": table.scope[0]})
        answer = derivatives(FamilyProduct({"A": table}), found, Event(table.scope[0], 0))
        assert answer.value == 0
        assert not answer["A"].any()


def test_jeffrey_evidence_and_unknown_conventions_are_refused():
    """With the reason."""
    table = Factor({"A": 2}, [0.25, 0.75])
    net = BayesianNetwork(TableCPD("A", [0.25, 0.75]))
    refuses(NotSupported, "fixes a belief", net.derivatives, {"A": jeffrey([0.5, 0.5])})
    refuses(NotSupported, "fixes a belief", net.hessian, [("A", {}, 0)], {"A": jeffrey([0.5, 0.5])})
    with pytest.raises(InvalidArgument, match="'fixed' or 'proportional', not 'free'"):
        derivatives(FamilyProduct({"A": table}), Evidence({}, {}, {}), others="free")


def test_parameters_are_read_by_names_or_in_order():
    """A mapping, a sequence, a pair for a root, or a parameter itself; all else is refused by name."""
    rain, grass = Variable("rain", ["no", "yes"]), Variable("grass", ["dry", "wet"])
    scopes = {"rain": (rain,), "grass": (rain, grass)}
    named = Parameter.read(("grass", {"rain": "yes"}, "wet"), scopes)
    assert named == Parameter.read(("grass", ["yes"], "wet"), scopes) == Parameter.read(named, scopes)
    assert named.place == (1, 1)
    assert str(Parameter.read(("rain", "no"), scopes)) == "P(rain=no)"
    assert Parameter.read(("rain", {}, "no"), scopes).place == (0,)
    refuses(UnknownVariable, "Did you mean 'grass'", Parameter.read, ("gras", {}, "wet"), scopes)
    with pytest.raises(UnknownVariable, match="the parents of 'grass'"):
        Parameter.read(("grass", {"rain": "yes", "sun": 1}, "wet"), scopes)
    refuses(InvalidArgument, "'rain' has none", Parameter.read, ("grass", "wet"), scopes)
    with pytest.raises(UnknownState):
        Parameter.read(("grass", {"rain": "yes"}, "moist"), scopes)
    refuses(InvalidArgument, "A parameter is", Parameter.read, "grass", scopes)
