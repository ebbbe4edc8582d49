"""Markov networks against plain enumeration of the measure."""

from __future__ import annotations

import math
import pickle
from itertools import combinations

import numpy as np
import pytest

from network_oracle import (
    assert_factor_equals,
    measure_of_markov_network,
    posterior,
    random_evidence,
    random_markov_network,
    total,
)
from plausible.errors import ImpossibleEvidence, InvalidEvidence, InvalidModel, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.inference import LoopyBP, MaxProduct
from plausible.models import MarkovNetwork, Notes, VariableNotes
from plausible.variables import Variable, jeffrey, likelihood
from seeds import few_of

SEEDS = few_of(8, 30)


def _pair(a, b, values):
    return Factor({a: 2, b: 2}, values)


def misconception():
    """Four students in a ring who agree or not (Koller & Friedman 2009, figure 4.1)."""
    return MarkovNetwork(
        _pair("A", "B", [[30, 5], [1, 10]]),
        _pair("B", "C", [[100, 1], [1, 100]]),
        _pair("C", "D", [[1, 100], [100, 1]]),
        _pair("D", "A", [[100, 1], [1, 100]]),
    )


# --- building ---


def test_graph_joins_the_variables_of_each_factor():
    """Different factor sets share one graph."""
    three = MarkovNetwork(Factor({"A": 2, "B": 2, "C": 2}, np.ones((2, 2, 2))))
    pairs = MarkovNetwork(_pair(a, b, np.ones((2, 2))) for a, b in combinations("ABC", 2))
    assert three.graph == pairs.graph == UndirectedGraph("A - B - C - A")
    assert three != pairs
    assert pairs.is_pairwise
    assert not three.is_pairwise


def test_variables_fixes_the_order_and_adds_lonely_ones():
    """A variable in no factor counts in Z with all its states."""
    lonely = Variable("Z", 3)
    net = MarkovNetwork(_pair("A", "B", np.ones((2, 2))), variables=[lonely, Variable("B", 2)])
    assert list(net.variables) == ["Z", "B", "A"]
    assert net.graph.neighbors("Z") == ()
    assert math.exp(net.log_partition()) == pytest.approx(12)
    assert net.query("Z").values == pytest.approx([1 / 3] * 3)
    assert net.joint().shape == (3, 2, 2)


@pytest.mark.parametrize(
    ("factors", "variables", "message"),
    [
        ([Factor({"A": ["x", "y"]}, [1.0, -0.5])], [], r"Factor 0 over \(A\) is -0.5 at {'A': 'y'}"),
        ([Factor({"A": 2}, [1, 1]), Factor({"A": 2}, [1.0, math.inf])], [], r"Factor 1 over \(A\) is inf at {'A': 1}"),
        ([Factor({"A": 2}, [1, 1]), Factor({"A": 3}, [1, 1, 1])], [], r"'A' has the states \[0, 1\]"),
        ([], [Variable("A", 2), Variable("A", 2)], "'A' stands twice"),
        ([], [Variable("A")], "'A' is continuous"),
        (["A"], [], "made of factors, not of 'A'"),
    ],
)
def test_parts_that_make_no_network_are_refused(factors, variables, message):
    """The error names the factor and the place."""
    with pytest.raises(InvalidModel, match=message):
        MarkovNetwork(factors, variables=variables)


def test_zero_partition_function_is_refused_when_asked():
    """Factors that rule out everything are no distribution."""
    net = MarkovNetwork(Factor({"A": 2}, [1, 0]), Factor({"A": 2}, [0, 1]))
    for ask in (net.log_partition, net.joint, lambda: net.query("A"), lambda: net.log_probability({"A": 0})):
        with pytest.raises(InvalidModel, match="The partition function is zero"):
            ask()
    assert net.energy({"A": 0}) == math.inf


# --- numbers ---


def test_misconception_example():
    """Z = 7201840, the most likely entry 5000000 / Z = .69, P(b1) = 5301510 / Z, P(b1 | c0) = .06."""
    net = misconception()
    assert math.exp(net.log_partition()) == pytest.approx(7201840)
    assert net.measure({"A": 0, "B": 1, "C": 1, "D": 0}) == 5 * 100 * 100 * 100
    assert net.joint()[0, 1, 1, 0] == pytest.approx(0.69, abs=0.005)
    assert net.query(["A", "B"])[0, 1] == pytest.approx(0.69, abs=0.005)
    assert net.query("B")[1] == pytest.approx(5301510 / 7201840)
    assert net.query("B", {"C": 0})[1] == pytest.approx(0.06, abs=0.005)


@pytest.mark.parametrize("seed", SEEDS)
def test_measures_partition_and_joint_equal_enumeration(seed):
    """Π φ, Z, P = Π φ / Z, and energy = -ln Π φ."""
    net = random_markov_network(np.random.default_rng(seed))
    measure = measure_of_markov_network(net)
    z = total(measure, {})
    assert net.log_partition() == pytest.approx(math.log(z))
    joint = net.joint()
    assert joint.names == tuple(net.variables)
    assert joint.sum() == pytest.approx(1.0)
    for assignment, weight in measure:
        assert net.measure(assignment) == pytest.approx(weight)
        assert math.exp(-net.energy(assignment)) == pytest.approx(weight)
        assert joint[assignment] == pytest.approx(weight / z)
    columns = {name: [row[name] for row, _ in measure] for name in net.variables}
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(net.log_likelihood(columns), np.log([w / z for _, w in measure]), atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_equal_enumeration(seed):
    """P(T | e), log P(e) = log Z(e) - log Z, and impossible evidence."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng)
    measure = measure_of_markov_network(net)
    z = total(measure, {})
    for _ in range(6):
        evidence = random_evidence(rng, net.variables, int(rng.integers(0, 4)))
        targets = [list(net.variables)[i] for i in rng.permutation(len(net))[: rng.integers(1, 4)]]
        weight = total(measure, evidence)
        if weight == 0:
            assert net.log_partition(evidence) == net.log_probability(evidence) == -math.inf
            with pytest.raises(ImpossibleEvidence):
                net.query(targets, evidence)
        else:
            assert net.log_partition(evidence) == pytest.approx(math.log(weight), abs=1e-10)
            assert net.log_probability(evidence) == pytest.approx(math.log(weight / z), abs=1e-10)
            assert_factor_equals(net.query(targets, evidence), posterior(measure, targets, evidence))


def test_best_assignments_say_how_they_were_found():
    """`.info` of every way to an assignment, with what the product is without log Z."""
    net = misconception()
    best = net.mpe()
    assert best.info.engine == "clique tree"
    assert net.map(["A", "B"]).info.engine == net.k_best(1)[0].info.engine == "max-product elimination"
    assert net.mpe(engine=MaxProduct()).info.engine == "max-product belief propagation"
    assert net.map("A", engine=LoopyBP()).info.engine == "search with loopy belief propagation"
    assert best.log_product == pytest.approx(math.log(5 * 100**3))  # A and D agree, B and C too


@pytest.mark.parametrize("seed", SEEDS)
def test_separation_implies_independence(seed):
    """sep(X; Y | Z) in the graph, X ⟂ Y | Z in the numbers."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_factors=4)
    joint = net.joint()
    for x, y in combinations(net.variables, 2):
        given = [name for name in net.variables if name not in (x, y) and rng.random() < 0.5]
        if net.graph.separated(x, y, given=given):
            assert joint.is_independent(x, y, given)


def test_soft_evidence():
    """Likelihoods multiply, collections of states restrict, Jeffrey replaces."""
    net = misconception()
    joint = net.joint()
    weighted = (joint * Factor({"C": 2}, [0.2, 0.7])).normalize()
    assert net.query("A", {"C": likelihood([0.2, 0.7])}).is_close(weighted.marginal("A"))
    assert net.query("A", {"C": [0, 1]}).is_close(net.query("A"))
    assert net.query("C", {"C": jeffrey([0.2, 0.8])}).values == pytest.approx([0.2, 0.8])
    mixture = net.query("A", {"C": 0}) * 0.2 + net.query("A", {"C": 1}) * 0.8
    assert net.query("A", {"C": jeffrey([0.2, 0.8])}).is_close(mixture)
    with pytest.raises(NotSupported, match="has no probability"):
        net.log_partition({"C": jeffrey([0.2, 0.8])})


def test_large_and_small_potentials_neither_overflow_nor_underflow():
    """A thousand factors of 1e300, and a thousand of 1e-300."""
    a = Variable("A", 2)
    net = MarkovNetwork([Factor((a,), [1e300, 5e299])] * 1000)
    assert net.log_partition() == pytest.approx(1000 * math.log(1e300))
    net = MarkovNetwork([Factor((a,), [1e-300, 1e-300])] * 1000)
    assert net.log_partition() == pytest.approx(1000 * math.log(1e-300) + math.log(2))
    assert net.query("A").values == pytest.approx([0.5, 0.5])


def test_a_state_that_underflows_is_not_lost():
    """The state favoured by a thousand factors is ruled out by the last: the other one is certain."""
    a = Variable("A", 2)
    net = MarkovNetwork([*[Factor((a,), [1.0, 1e-9])] * 1000, Factor((a,), [0.0, 1.0])])
    assert net.query("A").values == pytest.approx([0.0, 1.0])
    assert net.log_partition() == pytest.approx(1000 * math.log(1e-9))


def test_incomplete_assignments_and_unknown_names_are_refused():
    """The error names the variable."""
    net = misconception()
    with pytest.raises(InvalidEvidence, match="gives no state to 'D'"):
        net.energy({"A": 0, "B": 0, "C": 0})
    with pytest.raises(UnknownVariable, match="'E' is not a variable"):
        net.measure({"A": 0, "B": 0, "C": 0, "D": 0, "E": 0})
    with pytest.raises(UnknownVariable, match="'E' is not a variable"):
        net.query("E")


def test_impossible_evidence_names_a_smallest_contradiction():
    """Only the findings that contradict each other."""
    net = MarkovNetwork(_pair("A", "B", [[1, 0], [1, 1]]), _pair("B", "C", [[1, 1], [1, 1]]))
    with pytest.raises(ImpossibleEvidence, match=r"A=0, B=1 has probability zero together, whatever the other"):
        net.query("C", {"C": 1, "A": 0, "B": 1})


def test_joint_too_large_is_refused():
    """Before anything is built."""
    net = MarkovNetwork(variables=[Variable(f"X{i}", 2) for i in range(60)])
    with pytest.raises(TooLarge):
        net.joint()
    assert net.log_partition() == pytest.approx(60 * math.log(2))


# --- other forms ---


@pytest.mark.parametrize("seed", SEEDS)
def test_reduced_network_is_the_conditional_distribution(seed):
    """Z of the reduced network is Z(e); its joint is P(rest | e)."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng)
    evidence = random_evidence(rng, net.variables, 2)
    measure = measure_of_markov_network(net)
    if total(measure, evidence) == 0:
        return
    reduced = net.reduce(evidence)
    assert list(reduced.variables) == [name for name in net.variables if name not in evidence]
    assert reduced.log_partition() == pytest.approx(math.log(total(measure, evidence)))
    assert_factor_equals(reduced.joint(), posterior(measure, list(reduced.variables), evidence))


@pytest.mark.parametrize("seed", SEEDS)
def test_clique_potentials_have_the_same_product(seed):
    """One for each maximal clique, and the graph factorises over them."""
    net = random_markov_network(np.random.default_rng(seed))
    potentials = net.clique_potentials()
    merged = MarkovNetwork(potentials, variables=net.variables.values())
    assert merged.graph == net.graph
    assert net.factorizes_over(net.graph)
    assert merged.log_partition() == pytest.approx(net.log_partition())
    assert merged.joint().is_close(net.joint())
    scopes = [set(potential.names) for potential in potentials]
    assert not any(a < b for a in scopes for b in scopes)


def test_factorisation_over_a_graph():
    """Every scope must be a clique."""
    net = misconception()
    assert net.factorizes_over(UndirectedGraph("A - B - C - D - A; A - C"))
    assert not net.factorizes_over(UndirectedGraph("A - B - C - D"))
    with pytest.raises(UnknownVariable):
        net.factorizes_over(UndirectedGraph("A - B"))


# --- edits and equality ---


def test_edits_return_new_networks():
    """Factors come and go; variables stay."""
    net = misconception()
    more = net.with_factor(Factor({"A": 2}, [1, 3]))
    assert len(more.factors) == 5
    assert more.without_factor(4) == net
    assert list(net.without_factor(0).variables) == list(net.variables)
    assert more.query("A").values == pytest.approx((net.query("A") * Factor({"A": 2}, [1, 3])).normalize().values)
    with pytest.raises(ValueError, match="There is no factor 4"):
        net.without_factor(4)


def test_renaming_carries_notes():
    """Names can change places."""
    net = misconception().with_notes(Notes(variables={"A": VariableNotes("Alice")}))
    swapped = net.renamed({"A": "B", "B": "A"})
    assert swapped.query("A").values == pytest.approx(net.query("B").values)
    assert swapped.notes.of("B").label == "Alice"
    with pytest.raises(InvalidModel, match="Two variables"):
        net.renamed({"A": "B"})


def test_equality_and_closeness():
    """Equal by factors, close by distribution."""
    net = misconception()
    assert net == misconception()
    assert hash(net) == hash(misconception())
    assert pickle.loads(pickle.dumps(net)) == net
    scaled = MarkovNetwork([factor * 10.0 for factor in net.factors])
    assert scaled != net
    assert scaled.is_close(net)
    assert MarkovNetwork(net.joint()).is_close(net)
    assert not net.is_close(net.with_factor(Factor({"A": 2}, [1, 1.001])))
    assert net.is_close(net.with_factor(Factor({"A": 2}, [1, 1.001])), tolerance=0.01)
    assert not net.is_close(net.with_factor(Factor({"E": 2}, [1, 1])))
    assert repr(net) == "<MarkovNetwork: 4 variables, 4 factors>"


@pytest.mark.parametrize("seed", range(10))
def test_closeness_is_the_hellinger_distance(seed):
    """H = sqrt(1 - Σ sqrt(P Q)), from two joint tables."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng)
    first = next(iter(net.variables.values()))
    other = net.with_factor(Factor((first,), rng.random(first.num_states) + 0.5))
    p, q = net.joint().flat, other.joint().flat
    distance = math.sqrt(max(0.0, 1 - float(np.sqrt(p * q).sum())))
    assert net.is_close(other, distance + 1e-6)
    if distance > 1e-4:
        assert not net.is_close(other, distance - 1e-5)
