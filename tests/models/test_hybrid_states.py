"""Questions about states where numbers are hidden, against enumeration, differences and numerical integration."""

from __future__ import annotations

import math
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from hybrid_oracle import Enumerated, random_evidence, random_hybrid
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork
from plausible.variables import Variable, likelihood

KIND = Variable("kind", ["a", "b"])
MODE = Variable("mode", ["u", "v", "w"])


def measured(kinds=(0.3, 0.7), modes=((0.5, 0.3, 0.2), (0.1, 0.2, 0.7))):
    """Two classes, a chain of hidden numbers that both act on, and a sensor."""
    return BayesianNetwork(
        TableCPD(KIND, list(kinds)),
        TableCPD(MODE, [list(row) for row in modes], parents=[KIND]),
        LinearGaussianCPD("x", 1.0, variance=2.0),
        ConditionalGaussianCPD("y", [0.0, 1.0], {"x": [1.0, 2.0]}, [1.0, 0.5], [KIND, Variable("x")]),
        ConditionalGaussianCPD("z", [0.0, 1.0, 4.0], {"y": [1.0, 0.3, 0.2]}, 1.0, [MODE, Variable("y")]),
        LinearGaussianCPD("sensor", 0.5, {"z": 1.0}, 0.4),
    )


@st.composite
def problems(draw, zero_variances=False):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    net = random_hybrid(rng, draw(st.integers(0, 3)), draw(st.integers(1, 4)), zero_variances)
    return net, random_evidence(rng, net), rng


# --- best assignments ---


@settings(max_examples=12, deadline=None)
@given(problem=problems(), zero=st.booleans())
def test_k_best_states_are_those_of_the_enumeration(problem, zero):
    """All configurations in order of probability, each with the log of its joint density."""
    net, evidence, rng = problem
    if zero:
        net = random_hybrid(rng, 2, 3, zero_variances=True)
        evidence = random_evidence(rng, net)
    truth = Enumerated(net, evidence)
    expected = sorted((log for _, log, *_ in truth.found), reverse=True)
    if not truth.discrete:
        with pytest.raises(NotSupported, match="mpe gives the most probable numbers"):
            net.k_best(2, evidence)
        return
    best = net.k_best(len(expected) + 5, evidence)
    assert len(best) == len(expected)
    logs = {tuple(config.values()): log for config, log, *_ in truth.found}
    for one, log in zip(best, expected, strict=True):
        own = logs[tuple(net.variables[name].index(one[name]) for name in truth.discrete)]
        assert own == pytest.approx(log, abs=1e-8)
        assert one.log_probability == (math.inf if truth.masses else pytest.approx(log, abs=1e-8))


@settings(max_examples=10, deadline=None)
@given(problem=problems())
def test_mpe_has_the_most_probable_states_and_the_means_given_these(problem):
    """The states maximise the integrated probability, the numbers the density given the states."""
    net, evidence, _ = problem
    truth = Enumerated(net, evidence)
    best = net.mpe(evidence)
    assert list(best) == list(net.variables)
    logs = [log for _, log, *_ in truth.found]
    positions = {name: net.variables[name].index(best[name]) for name in truth.discrete}
    (entry,) = [entry for entry in truth.found if entry[0] == positions]
    assert entry[1] == pytest.approx(max(logs), abs=1e-8)
    np.testing.assert_allclose([best[name] for name in truth.order], entry[2], atol=1e-7)
    assert best.log_probability == pytest.approx(net.log_likelihood({n: [v] for n, v in best.items()})[0], abs=1e-7)


def test_mpe_keeps_findings_and_refuses_impossible_ones():
    net = measured()
    best = net.mpe({"sensor": 2.0, "kind": "b"})
    assert best["sensor"] == 2.0
    assert best["kind"] == "b"
    rigid = BayesianNetwork(LinearGaussianCPD("x", 1.0), LinearGaussianCPD("y", 0.0, {"x": 2.0}, 0.0))
    with pytest.raises(ImpossibleEvidence):
        rigid.mpe({"x": 1.0, "y": 3.0})


def test_best_assignments_take_no_jeffrey_evidence():
    from plausible.variables import jeffrey

    for ask in (lambda net, e: net.mpe(e), lambda net, e: net.k_best(2, e)):
        with pytest.raises(NotSupported):
            ask(measured(), {"sensor": 1.0, "kind": jeffrey([0.5, 0.5])})


# --- expectations and information ---


@settings(max_examples=10, deadline=None)
@given(problem=problems())
def test_expectations_of_states_are_weighted_sums(problem):
    """E[Σ f] over the configurations of the enumeration."""
    net, evidence, rng = problem
    truth = Enumerated(net, evidence)
    if not truth.discrete:
        return
    terms = [
        Factor([net.variables[name] for name in names], rng.normal(size=[net.variables[n].num_states for n in names]))
        for names in (truth.discrete[:1], truth.discrete[:2])
    ]
    expected = sum(
        weight * sum(term.values[tuple(config[name] for name in term.names)] for term in terms)
        for (config, *_), weight in zip(truth.found, truth.weights, strict=True)
    )
    assert net.expectation(terms, evidence) == pytest.approx(expected, abs=1e-9)


def kind_given_sensor(x, truth):
    """(P(a, x), P(b, x)) of the enumerated prior with scipy's normal density."""
    place = truth.order.index("sensor")
    density = np.zeros(2)
    for (config, _, mean, covariance, _), weight in zip(truth.found, truth.weights, strict=True):
        density[config["kind"]] += weight * norm.pdf(x, mean[place], math.sqrt(covariance[place, place]))
    return density


def test_mutual_information_with_a_number_equals_the_integral():
    """I(kind; sensor) by adaptive quadrature over the sensor, and its differential entropy; nothing is left out."""
    net = measured()
    table = net.mutual_information("kind")
    assert sorted(table.index) == ["mode", "sensor", "x", "y", "z"]
    assert table["mutual_information"].is_monotonic_decreasing
    truth = Enumerated(net, {})

    def gained(x):
        joint = kind_given_sensor(x, truth)
        return sum(p * math.log(p / (share * joint.sum())) for p, share in zip(joint, (0.3, 0.7), strict=True) if p > 0)

    def surprise(x):
        total = kind_given_sensor(x, truth).sum()
        return -total * math.log(total)

    integrals = [quad(f, -25, 35, limit=200, epsabs=1e-10, points=[0, 1, 4])[0] for f in (gained, surprise)]
    assert table.loc["sensor", "mutual_information"] == pytest.approx(integrals[0], abs=1e-9)
    assert table.loc["sensor", "entropy"] == pytest.approx(integrals[1], abs=1e-8)
    assert table.loc["sensor", "share"] == pytest.approx(integrals[0] / net.entropy("kind"), abs=1e-8)
    assert table.loc["x", "mutual_information"] == 0.0
    bits = net.mutual_information("kind", base=2)
    assert bits.loc["sensor", "mutual_information"] == pytest.approx(integrals[0] / math.log(2), abs=1e-9)


def test_information_of_one_normal_given_a_class_is_the_entropy_of_a_normal():
    """An independent number has the entropy of N(0, s²) and tells nothing."""
    net = BayesianNetwork(TableCPD("A", [0.2, 0.8]), LinearGaussianCPD("x", 3.0, variance=4.0))
    table = net.mutual_information("A")
    assert table.loc["x", "mutual_information"] == 0.0
    assert table.loc["x", "entropy"] == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 4.0), abs=1e-11)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e6])
def test_narrow_components_beside_wide_ones_are_seen(scale):
    """Information does not depend on the unit of the number, and classes of one centre differ by their widths."""
    net = BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        ConditionalGaussianCPD("x", 0.0, {}, [scale**2, (1e-6 * scale) ** 2], [Variable("A", 2)]),
    )
    found = net.mutual_information("A").loc["x", "mutual_information"]
    # Hardly any overlap: the wide class is mistaken for the narrow one with a probability of about 1e-5.
    assert found == pytest.approx(math.log(2), abs=3e-5)
    assert found < math.log(2)
    one = BayesianNetwork(
        TableCPD("A", [0.5, 0.5]), ConditionalGaussianCPD("x", 0.0, {}, [1.0, 1e-12], [Variable("A", 2)])
    )
    assert found == pytest.approx(one.mutual_information("A").loc["x", "mutual_information"], abs=1e-10)


def test_point_masses_inform_as_states_do():
    """A constant per class is a copy of it; one shared by two classes does not tell them apart."""
    kinds = Variable("A", 3)
    net = BayesianNetwork(
        TableCPD(kinds, [0.2, 0.3, 0.5]), ConditionalGaussianCPD("x", [1.0, 1.0, 2.0], {}, 0.0, [kinds])
    )
    table = net.mutual_information("A")
    assert table.loc["x", "mutual_information"] == pytest.approx(math.log(2), abs=1e-12)
    assert table.loc["x", "entropy"] == -math.inf
    mixed = BayesianNetwork(
        TableCPD("B", [0.5, 0.5]), ConditionalGaussianCPD("x", [1.0, 1.0], {}, [0.0, 1.0], [Variable("B", 2)])
    )
    assert mixed.mutual_information("B").loc["x", "mutual_information"] == pytest.approx(math.log(2), abs=1e-12)


def test_candidates_choose_what_is_looked_at():
    net = measured()
    assert list(net.mutual_information("kind", {"sensor": 1.0}, candidates=["y", "mode"]).index) in (
        ["y", "mode"],
        ["mode", "y"],
    )
    with pytest.raises(UnknownVariable, match="senser"):
        net.mutual_information("kind", candidates=["senser"])


# --- parameters ---


def changed(kinds=None, modes=None):
    base = ((0.3, 0.7), ((0.5, 0.3, 0.2), (0.1, 0.2, 0.7)))
    return measured(kinds or base[0], modes or base[1])


def density(net, evidence, weights=None):
    """Σ over configurations of weight times Gaussian density, with tables that need not be normalised."""
    truth = Enumerated(net, evidence)
    total = 0.0
    for (config, log, *_), _ in zip(truth.found, truth.weights, strict=True):
        plain = net.cpds["kind"].to_factor().values[config["kind"]]
        plain *= net.cpds["mode"].to_factor().values[config["kind"], config["mode"]]
        theta = (weights or {}).get((config["kind"], config["mode"]), plain)
        total += math.exp(log) / plain * theta
    return total


@pytest.mark.parametrize("evidence", [{"sensor": 2.0}, {"sensor": 4.5, "x": 0.3}, {"sensor": 1.0, "mode": "v"}])
def test_derivatives_of_a_density_equal_finite_differences(evidence):
    """P(e) is linear in each entry: one difference is exact. Other entries of the row stay as they are."""
    net = measured()
    found = net.derivatives(evidence)
    base = density(net, evidence)
    assert found.value == pytest.approx(base, rel=1e-10)
    kinds, modes = (0.3, 0.7), ((0.5, 0.3, 0.2), (0.1, 0.2, 0.7))
    step = 0.125
    for k, m in cartesian(range(2), range(3)):
        moved = density(net, evidence, {(k, m): kinds[k] * (modes[k][m] + step)})
        assert found["mode"][k, m] == pytest.approx((moved - base) / step, rel=1e-9, abs=1e-12)
    for k in range(2):
        moved = density(net, evidence, {(k, m): (kinds[k] + step) * modes[k][m] for m in range(3)})
        assert found["kind"][k] == pytest.approx((moved - base) / step, rel=1e-9, abs=1e-12)


def test_derivatives_of_a_posterior_equal_finite_differences():
    """With proportional others, against networks with a slightly different table."""
    net, evidence, step = measured(), {"sensor": 2.0}, 1e-6
    found = net.derivatives(evidence, query=("kind", "a"), others="proportional")

    def posterior(theta):
        return changed(kinds=(theta, 1 - theta)).query("kind", evidence).values[0]

    expected = (posterior(0.3 + step) - posterior(0.3 - step)) / (2 * step)
    assert found["kind"][0] == pytest.approx(expected, rel=1e-7)

    def by_mode(theta):
        rest = (1 - theta) / 0.5
        return changed(modes=((theta, 0.3 * rest, 0.2 * rest), (0.1, 0.2, 0.7))).query("kind", evidence).values[0]

    expected = (by_mode(0.5 + step) - by_mode(0.5 - step)) / (2 * step)
    assert found["mode"][0, 0] == pytest.approx(expected, rel=1e-6)


def test_tornado_and_sensitivity_functions_equal_changed_networks():
    """Each end of each bar is the posterior of the network with that entry; so are values of the function."""
    net, evidence = measured(), {"sensor": 2.0, "mode": likelihood([1.0, 2.0, 3.0])}
    bars = net.tornado("kind", "a", evidence, vary="absolute", amount=0.05)
    bars.index = bars["parameter"].astype(str)
    for theta, column in ((0.25, "at_low"), (0.35, "at_high")):
        expected = changed(kinds=(theta, 1 - theta)).query("kind", evidence).values[0]
        assert bars.loc["P(kind=a)", column] == pytest.approx(expected, abs=1e-10)
    function = net.sensitivity("kind", "a", evidence, parameter=("mode", {"kind": "b"}, "w"))
    rest = 0.6 / 0.3
    other = changed(modes=((0.5, 0.3, 0.2), (0.1 * rest, 0.2 * rest, 0.4)))
    assert function(0.4) == pytest.approx(other.query("kind", evidence).values[0], abs=1e-10)


def test_the_hessian_equals_differences_of_log_densities():
    net, evidence = measured(), {"sensor": 2.0}
    found = net.hessian([("kind", {}, "a"), ("mode", {"kind": "a"}, "v")], evidence)
    step = 1e-3

    def log_density(kind_step, mode_step):
        moved = {(0, m): (0.3 + kind_step) * p for m, p in enumerate((0.5, 0.3 + mode_step, 0.2))}
        return math.log(density(net, evidence, moved))

    mixed = sum(a * b * log_density(a * step, b * step) for a in (1, -1) for b in (1, -1)) / (4 * step**2)
    assert found[0, 1] == pytest.approx(mixed, rel=1e-4)


def test_gradients_of_rows_with_numbers_equal_finite_differences():
    """Σ log p(row) of rows with missing states and numbers, against a change of one entry and its complement."""
    frame = {"sensor": [2.0, None, 1.0, -3.0], "kind": ["a", "b", None, None], "x": [None, 0.0, 0.5, None]}
    found = measured().gradient(frame, others="proportional")
    step = 1e-6

    def total(theta):
        net = changed(kinds=(theta, 1 - theta))
        rows = [{n: c[i] for n, c in frame.items() if c[i] is not None} for i in range(4)]
        return sum(math.log(density(net, row)) for row in rows)

    assert found["kind"][0] == pytest.approx((total(0.3 + step) - total(0.3 - step)) / (2 * step), rel=1e-6)


def test_gradients_where_tables_have_zeros_and_rows_are_far_off():
    """A row with a density of exp(-2000) and an entry of zero: ratios of densities by hand."""
    kinds = Variable("A", 3)
    net = BayesianNetwork(
        TableCPD(kinds, [0.0, 0.4, 0.6]),
        ConditionalGaussianCPD("x", [0.0, 1.0, 2.0], {}, 1.0, [kinds]),
        LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0),
    )
    for value in (1.3, -70.0):
        densities = norm.logpdf(value, [0.0, 1.0, 2.0], math.sqrt(2.0))
        total = np.logaddexp(math.log(0.4) + densities[1], math.log(0.6) + densities[2])
        np.testing.assert_allclose(net.gradient({"y": [value]})["A"], np.exp(densities - total), rtol=1e-9)


def test_certain_numbers_have_no_derivatives():
    """A point mass makes the density infinite; quotients of probabilities are fine as long as all states share it."""
    net = BayesianNetwork(
        TableCPD("A", [0.4, 0.6]),
        LinearGaussianCPD("hidden", 0.0),
        ConditionalGaussianCPD("x", [0.0, 1.0], {"hidden": [1.0, 1.0]}, 1.0, ["A", "hidden"]),
        LinearGaussianCPD("copy", 0.0, {"x": 1.0}, 0.0),
    )
    with pytest.raises(NotSupported, match="'copy' are certain"):
        net.derivatives({"x": 1.0, "copy": 1.0})
    found = net.derivatives({"x": 1.0, "copy": 1.0}, query=("A", 1))
    np.testing.assert_allclose(found["A"], net.derivatives({"x": 1.0}, query=("A", 1))["A"], rtol=1e-12)
    uneven = BayesianNetwork(
        TableCPD("A", [0.4, 0.6]),
        LinearGaussianCPD("hidden", 0.0),
        ConditionalGaussianCPD("x", [0.0, 0.0], {"hidden": [1.0, 0.0]}, [1.0, 0.0], ["A", "hidden"]),
    )
    with pytest.raises(NotSupported, match="under some states"):
        uneven.tornado("A", 1, {"x": 0.0})


# --- plans and refusals ---


def test_plans_tell_what_numbers_cost():
    """The order has the hidden numbers before the states; evidence makes the plan smaller, an exploding chain unfit."""
    net = measured()
    plan = net.explain("kind", {"sensor": 2.0})
    assert plan.engine == "strong elimination"
    assert plan.order[:3] == ("z", "x", "y")
    assert set(plan.order[3:]) == {"kind", "mode"}
    assert plan.fits
    assert net.explain("kind", {"sensor": 2.0, "mode": "u"}).entries < plan.entries
    assert net.explain("x", {"sensor": 2.0}).entries > 0
    assert set(net.explain().order) == set(net.variables)
    assert net.compile().explain().entries == net.explain().entries
    switches = [TableCPD(f"s{i}", [0.5, 0.5]) for i in range(60)]
    steps = [LinearGaussianCPD("x0", 0.0)]
    for i, switch in enumerate(switches):
        before = Variable(f"x{i}")
        steps.append(
            ConditionalGaussianCPD(f"x{i + 1}", [0.0, 1.0], {before.name: 1.0}, 1.0, [switch.variable, before])
        )
    chain = BayesianNetwork(*switches, *steps)
    plan = chain.explain("s0", {"x60": 3.0})
    assert not plan.fits
    assert plan.entries > 2**60
    assert "over budget" in str(plan)


def test_budgets_hold_where_numbers_are_hidden():
    """Every question that takes a budget refuses one that is too small for its regressions or tables, and nonsense."""
    switches = [TableCPD(f"s{i}", [0.5, 0.5]) for i in range(9)]
    parents = [switch.variable for switch in switches]
    numbers = ConditionalGaussianCPD("x", np.arange(2.0**9).reshape([2] * 9), {}, 1.0, parents)
    net = BayesianNetwork(*switches, numbers, LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1.0))
    small = Budget(bytes=2**9)
    questions = [
        lambda budget: net.query("s0", {"y": 1.0}, budget=budget),
        lambda budget: net.marginals({"y": 1.0}, budget=budget),
        lambda budget: net.k_best(1, {"y": 1.0}, budget=budget),
        lambda budget: net.mpe({"y": 1.0}, budget=budget),
    ]
    for ask in questions:
        with pytest.raises(TooLarge):
            ask(small)
        ask(None)
        with pytest.raises(InvalidArgument, match="budget="):
            ask(3)


def test_discrete_children_of_hidden_numbers_are_named():
    """No exact method integrates a sigmoid: every question says which variable, and what to do."""
    net = BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        ConditionalGaussianCPD("x", [0.0, 1.0], {}, 1.0, ["A"]),
        LogisticCPD("alarm", ["x"], weights=[2.0], intercept=-1.0),
    )
    questions = [
        lambda: net.k_best(2),
        lambda: net.mpe(),
        lambda: net.expectation(Factor([net.variables["alarm"]], [0.0, 1.0])),
        lambda: net.derivatives({"alarm": 1}),
        lambda: net.tornado("A", 1, {"alarm": 1}),
        lambda: net.explain("A", {"alarm": 1}),
        lambda: net.mutual_information("A"),
        lambda: net.entropy("alarm"),
    ]
    for ask in questions:
        with pytest.raises(NotSupported, match=r"'alarm' is discrete and depends on 'x'.*Observe 'x'"):
            ask()
    assert net.explain("A", {"alarm": 1, "x": 0.0}).fits
    with pytest.raises(NotSupported, match="'x' is continuous"):
        net.entropy("x")
    with pytest.raises(NotSupported, match="'x' is continuous"):
        net.mutual_information("x")
