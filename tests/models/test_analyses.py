"""Sensitivity of networks of all kinds: against rebuilt networks, enumeration and worked numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import asia_network, binary, burglary_network, random_network
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidModel,
    NotSupported,
    UnknownState,
    UnknownVariable,
)
from plausible.models import BayesianNetwork
from plausible.variables import Variable, jeffrey, likelihood
from sensitivity_oracle import changed, entries, sizes_of, tables_of, total

SEEDS = st.integers(0, 10**6)


def _worked_network():
    """A and B cause C, which causes D (Koller & Friedman 2009, figure 19.6)."""
    return BayesianNetwork(
        binary("A", 0.3),
        binary("B", 0.9),
        binary("C", [[0.83, 0.09], [0.6, 0.2]], ["A", "B"]),
        binary("D", [0.1, 0.8], ["C"]),
    )


def _with_entry(net, child, index, value):
    """The network with one entry set, the others of its row in proportion."""
    values = np.array(net.cpds[child].to_factor().values)
    row = values[index[:-1]]
    others = np.arange(len(row)) != index[-1]
    left = row[others].sum()
    row[others] = (1 - value) * (row[others] / left if left > 0 else 1 / others.sum())
    row[index[-1]] = value
    return net.with_cpd(TableCPD(net.variables[child], values, net.cpds[child].parents))


# --- derivatives ---


def test_derivatives_and_sensitivity_of_the_burglary_network_agree():
    """The slope of each sensitivity function is the proportional derivative, which is that of a rebuilt network."""
    net, evidence = burglary_network(), {"J": True, "M": True}
    slopes = net.derivatives(evidence, query=("B", True), others="proportional")
    assert slopes.value == pytest.approx(0.284171835, abs=1e-9)
    for child, states, index in (("B", {}, (1,)), ("A", {"B": True, "E": False}, (1, 0, 1)), ("J", [False], (0, 1))):
        function = net.sensitivity("B", True, evidence, parameter=(child, states, True))
        assert function.derivative() == pytest.approx(slopes[child][index], rel=1e-9)
        for value in (0.02, 0.6, 0.97):
            rebuilt = _with_entry(net, child, index, value).query("B", evidence)[True]
            assert function(value) == pytest.approx(rebuilt, abs=1e-12)


def test_zeros_of_a_deterministic_variable_are_differentiated_in():
    """Asia: either of two diseases shows in the x-ray by a logical or; its zeros matter too."""
    net, evidence = asia_network(), {"X": True, "V": True}
    function = net.sensitivity("T", True, evidence, parameter=("A", {"T": False, "L": False}, True))
    assert function.current == 0.0
    assert function.derivative() < 0
    rebuilt = _with_entry(net, "A", (0, 0, 1), 0.25).query("T", evidence)[True]
    assert function(0.25) == pytest.approx(rebuilt, abs=1e-12)


def test_barren_variables_have_partial_but_no_proportional_derivatives():
    """An entry alone makes a row sum to more than one, which weighs its parents; in proportion nothing happens."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.1, 0.6], ["A"]))
    np.testing.assert_allclose(net.derivatives({"A": True})["B"], [[0, 0], [0.25, 0.25]], atol=1e-15)
    np.testing.assert_allclose(net.derivatives({"A": True}, others="proportional")["B"], 0.0, atol=1e-15)
    function = net.sensitivity("A", True, parameter=("B", [True], True))
    assert function.is_constant
    assert function.value == pytest.approx(0.25)


def test_impossible_evidence_has_derivatives_but_no_posteriors():
    """dP(e)/dθ says which zero keeps the evidence from happening; all other questions name the findings."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.0, 0.6], ["A"]), binary("C", 0.5))
    evidence = {"A": False, "B": True, "C": True}
    answer = net.derivatives(evidence)
    assert answer.value == 0.0
    assert answer["B"][0, 1] == pytest.approx(0.375)
    for ask in (
        lambda: net.derivatives(evidence, query=("C", True)),
        lambda: net.tornado("C", True, evidence),
        lambda: net.sensitivity("C", True, evidence, parameter=("C", True)),
        lambda: net.hessian([("C", True)], evidence),
    ):
        with pytest.raises(ImpossibleEvidence, match="A=False, B=True has probability zero together, whatever"):
            ask()


def test_worked_hessian_entries():
    """o = (a1, ?, ?, d0): -.340410 between d0|c0 and d0|c1, -1.077966 for d0|c0 twice."""
    matrix = _worked_network().hessian([("D", [False], False), ("D", [True], False)], {"A": True, "D": False})
    np.testing.assert_allclose(matrix, [[-1.077966, -0.340410], [-0.340410, -(0.327869**2)]], atol=1e-6)


# --- gradients over rows ---


def test_worked_gradient_of_two_rows():
    """(a1, ?, ?, d0) and (a1, ?, ?, d1): 1.79757 for the single parameter d1|c0 and .567654 for d1|c1."""
    frame = pd.DataFrame({"A": [True, True], "D": [False, True]})
    net = _worked_network()
    single = net.gradient(frame, others="proportional")["D"]
    np.testing.assert_allclose(single[:, 1], [1.79757, 0.567654], atol=5e-6)
    partial = net.gradient(frame)["D"]
    np.testing.assert_allclose(partial, [[1.038251, 2.835821], [0.327869, 0.895522]], atol=5e-7)
    np.testing.assert_allclose(single[:, 1], partial[:, 1] - partial[:, 0])


def test_expected_counts_of_the_worked_rows():
    """(a1, ?, ?, d0) and (?, b1, ?, d1): Mbar[d1, c0] = .471252 and Mbar[c0] = 1.405678, as θ times the gradient."""
    frame = {"A": [True, None], "B": [None, True], "D": [False, True]}
    net = _worked_network()
    counts = net.gradient(frame)["D"] * net.cpds["D"].values
    assert counts[0, 1] == pytest.approx(0.471252, abs=5e-7)
    assert counts[0].sum() == pytest.approx(1.405678, abs=5e-7)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_the_gradient_of_the_log_likelihood_is_a_weighted_sum_over_rows(zeros, seed):
    """Σ_m w_m (P(θ=1) - P(θ=0)) / P of enumerated sums, also at zeros; missing cells and repeated rows."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=zeros)
    tables, sizes = tables_of(net), sizes_of(net)
    frame = net.sample(3, seed=seed).astype(object)
    frame = frame.mask(rng.random(frame.shape) < 0.4, None)
    frame = pd.concat([frame, frame.iloc[:1]], ignore_index=True)
    weights = rng.random(len(frame)) * 3
    answer = net.gradient(frame, weights)
    for child, index in entries(tables):
        expected = 0.0
        for weight, (_, row) in zip(weights, frame.iterrows(), strict=True):
            seen = {name: np.arange(sizes[name]) == row[name] for name in sizes if not pd.isna(row[name])}
            value = total(tables, sizes, seen)
            ends = [total(changed(tables, {(child, index): end}), sizes, seen) for end in (0.0, 1.0)]
            expected += weight * (ends[1] - ends[0]) / value
        assert answer[child][index] == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_rows_of_hardly_possible_findings_have_their_gradient_beside_others():
    """P(row) = 1e-150 and two zeros in the way of 1e-15: one of them alone changes nothing, as in closed form."""
    names = [f"F{i}" for i in range(50)]
    net = BayesianNetwork(
        binary("C", 0.75),
        *(binary(name, [0.001, 0.5], ["C"]) for name in names),
        binary("G", [0.5, 0.0], ["C"]),
        binary("H", [0.5, 0.0], ["C"]),
    )
    frame = {"G": [True, True], "H": [None, True], **{name: [None, True] for name in names}}
    slopes = net.gradient(frame, weights=[2.0, 1.0])
    np.testing.assert_allclose(slopes["G"], [[0, 3 / 0.5], [0, 2 * 0.75 / 0.125]], rtol=1e-9)
    np.testing.assert_allclose(slopes["F7"], [[2, 2 + 1 / 0.001], [0, 0]], rtol=1e-9)


def test_a_row_that_can_not_happen_has_no_gradient():
    """It is named by its number."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.0, 0.6], ["A"]))
    with pytest.raises(ImpossibleEvidence, match="Row 1 "):
        net.gradient({"A": [True, False], "B": [True, True]})
    with pytest.raises(InvalidArgument, match="each of the 2 rows"):
        net.gradient({"A": [True, False]}, weights=[1.0])


# --- tornado ---


def test_the_tornado_lists_what_moves_the_posterior_most():
    """Each row against two rebuilt networks; families that evidence cuts off, or that are below it, are not there."""
    net, evidence = asia_network(), {"X": True, "A": True}
    table = net.tornado("L", True, evidence, vary="absolute", amount=0.05, limit=None)
    assert {parameter.child for parameter in table["parameter"]} == {"V", "S", "T", "L", "A"}
    now = net.query("L", evidence)[True]
    for row in table.head(6).itertuples():
        index = row.parameter.place
        for value, posterior in ((row.low, row.at_low), (row.high, row.at_high)):
            rebuilt = _with_entry(net, row.parameter.child, index, value).query("L", evidence)[True]
            assert posterior == pytest.approx(rebuilt, abs=1e-10)
    assert table["swing"].iloc[0] == table["swing"].max() > 0
    assert net.sensitivities("L", True, evidence).probability == pytest.approx(now)
    assert len(net.tornado("L", True, {"L": True})) == 0


# --- other kinds of distributions ---


def test_a_small_noisy_or_counts_as_its_table():
    """Its entries are differentiated in, as if they were given one by one."""
    net = BayesianNetwork(
        binary("A", 0.3), binary("B", 0.6), NoisyOr("Y", parents=["A", "B"], activation=[0.8, 0.4], leak=0.05)
    )
    as_table = net.with_cpd(net.cpds["Y"].to_table())
    for child in ("A", "B", "Y"):
        one, two = (some.derivatives({"Y": True}, ("A", True))[child] for some in (net, as_table))
        np.testing.assert_allclose(one, two, atol=1e-12)


def test_a_large_noisy_or_is_used_but_not_differentiated_in():
    """The other families have the derivatives that a table of 2**12 entries would give."""
    names = [f"C{i}" for i in range(11)]
    causes = [binary(name, 0.2) for name in names]
    effect = NoisyOr("Y", parents=names, activation=np.linspace(0.1, 0.9, 11), leak=0.05)
    net = BayesianNetwork(*causes, effect)
    answer = net.derivatives({"Y": True}, ("C3", True))
    assert set(answer.of_value) == set(names)
    expected = net.with_cpd(effect.bind(net.variables).to_table()).derivatives({"Y": True}, ("C3", True))
    for name in names:
        np.testing.assert_allclose(answer[name], expected[name], atol=1e-12)
    with pytest.raises(UnknownVariable, match="that has a table"):
        net.sensitivity("C3", True, {"Y": True}, parameter=("Y", [False] * 11, True))


def test_measurements_are_evidence_for_discrete_parameters():
    """A Gaussian child of the target: P(e) is a density, by Bayes' rule."""
    class_ = Variable("C", 2)
    measured = ConditionalGaussianCPD("m", parents=[class_], intercept=[0.0, 2.0], coefficients={}, variance=[1.0, 1.0])
    net = BayesianNetwork(
        TableCPD(class_, [0.7, 0.3]), measured, LinearGaussianCPD("noise", intercept=0.0, variance=1.0)
    )
    densities = [math.exp(-((1.5 - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (0.0, 2.0)]
    answer = net.derivatives({"m": 1.5})
    np.testing.assert_allclose(answer["C"], densities, rtol=1e-12)
    assert set(answer.of_value) == {"C"}
    function = net.sensitivity("C", 1, {"m": 1.5}, parameter=("C", 1))
    assert function(0.5) == pytest.approx(densities[1] / sum(densities))
    assert net.tornado("C", 1, {"m": 1.5})["parameter"].map(str).tolist() == ["P(C=0)", "P(C=1)"]


def test_inputs_have_to_be_given_and_are_no_parameters():
    """P(rest | inputs) is differentiated in the tables of the rest."""
    source = Variable("U", 2)
    net = BayesianNetwork(TableCPD("Y", [[0.9, 0.1], [0.4, 0.6]], parents=[source]), inputs=[source])
    answer = net.derivatives({"U": 1, "Y": 1})
    np.testing.assert_allclose(answer["Y"], [[0, 0], [0, 1]], atol=1e-15)
    assert net.sensitivity("Y", 1, {"U": 1}, parameter=("Y", {"U": 1}, 0)).value == pytest.approx(0.6)
    with pytest.raises(InvalidModel, match="'U' is an input"):
        net.derivatives({"Y": 1})


def test_questions_that_can_not_be_answered_say_why():
    """Unknown names, states, continuous targets and beliefs that are fixed."""
    net = BayesianNetwork(binary("A", 0.3), LinearGaussianCPD("x", intercept=0.0, variance=1.0))
    with pytest.raises(UnknownVariable, match="this network"):
        net.tornado("B", True)
    with pytest.raises(UnknownState):
        net.derivatives(query=("A", "yes"))
    with pytest.raises(NotSupported, match="continuous"):
        net.tornado("x", 0.0)
    with pytest.raises(NotSupported, match="fixes a belief"):
        net.derivatives({"A": jeffrey([0.5, 0.5])})
    with pytest.raises(NotSupported, match="fixes a belief"):
        net.tornado("A", True, {"A": jeffrey([0.5, 0.5])})


def test_likelihoods_of_any_scale_leave_sensitivity_as_it_is():
    """Only their ratios matter, even where the weights are huge or tiny."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.0, 0.6], ["A"]))
    functions = [
        net.sensitivity("A", True, {"B": likelihood([scale, 3 * scale])}, parameter=("B", [False], True))
        for scale in (1e-200, 1.0, 1e200)
    ]
    for function in functions:
        assert function.derivative() == pytest.approx(functions[1].derivative(), rel=1e-9)
        assert function(1.0) == pytest.approx(functions[1](1.0), rel=1e-9)
