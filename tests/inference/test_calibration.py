"""Calibrated clique trees: messages, beliefs, sepset beliefs, and evidence that is multiplied in."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    joint_of_bayesian_network,
    measure_of_markov_network,
    posterior,
    random_markov_network,
    random_network,
    total,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidGraph, NotSupported, UnknownVariable
from plausible.factors import Factor, product
from plausible.graphs import CliqueTree, junction_tree, tree_from_elimination
from plausible.inference.calibration import calibrate
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses


def families(net):
    return [cpd.to_factor() for cpd in net.cpds.values()]


def tree_of(factors):
    """The clique tree of the scopes, made by elimination in the order of appearance."""
    names = list(dict.fromkeys(name for factor in factors for name in factor.names))
    return tree_from_elimination([factor.names for factor in factors], names)


def chain():
    """A -> B -> C with the worked numbers."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    tables = [[0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6]]]
    return [Factor(scope, table) for scope, table in zip([(a,), (a, b), (b, c)], tables, strict=True)]


@pytest.mark.parametrize("seed", range(15))
def test_beliefs_are_marginals_and_rewrite_the_product(seed):
    """Each belief is P(C_i), neighbours agree, Z Π β / Π μ = Π φ, log_total = log Z; forests, zeros, one state."""
    net = random_markov_network(np.random.default_rng(seed), num_factors=6)
    result = calibrate(tree_of(net.factors), net.factors)
    lonely = [v for v in net.variables.values() if all(v.name not in f.names for f in net.factors)]
    measure = measure_of_markov_network(net)
    scale = math.prod(v.num_states for v in lonely)
    assert math.exp(result.log_total) == pytest.approx(total(measure, {}) / scale)
    assert result.is_calibrated()
    for belief in result.beliefs:
        expected = posterior(measure, belief.names, {})
        assert belief.to_dict() == pytest.approx(
            {k if len(belief.names) > 1 else k[0]: v for k, v in expected.items()}, abs=1e-12
        )
    rewritten = result.joint() * math.exp(result.log_total)
    assert rewritten.is_close(product(net.factors), 1e-9 * max(1.0, product(net.factors).max()))
    assert product(result.potentials).is_close(product(net.factors), 1e-9 * max(1.0, product(net.factors).max()))


@pytest.mark.parametrize("seed", range(6))
def test_messages_do_not_depend_on_the_root(seed):
    """Each message is the sum over everything on its sender's side, whichever clique the first pass goes to."""
    net = random_network(np.random.default_rng(seed), num_variables=6)
    tree = tree_of(families(net))
    results = [calibrate(tree, families(net), root=root) for root in range(len(tree.cliques))]
    for result in results[1:]:
        assert result.messages.keys() == results[0].messages.keys()
        for edge, message in result.messages.items():
            assert message.is_close(results[0].messages[edge], 1e-12)
        assert result.log_total == pytest.approx(results[0].log_total, abs=1e-12)
    for (i, j), message in results[0].messages.items():
        side = _side(tree, i, j)
        by_hand = product(results[0].potentials[k] for k in side).marginal(message.names)
        assert message.is_close(by_hand * (1 / by_hand.max()), 1e-12)


def _side(tree, sender, receiver):
    """The cliques on the sender's side of an edge."""
    reached, waiting = {sender}, [sender]
    while waiting:
        for other in tree.neighbors(waiting.pop()):
            if other not in reached and other != receiver:
                reached.add(other)
                waiting.append(other)
    return sorted(reached)


@pytest.mark.parametrize("seed", range(10))
def test_evidence_at_once_or_bit_by_bit_is_the_same(seed):
    """Findings put in before calibration, and findings multiplied into beliefs one after the other."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.15)
    names = [list(net.variables)[i] for i in rng.permutation(6)]
    state = max(net.variables[names[0]].states, key=lambda s: total(joint_of_bayesian_network(net), {names[0]: s}))
    weights = rng.random(net.variables[names[1]].num_states) + 0.1
    findings = [{names[0]: state}, {names[1]: likelihood(weights)}, {names[2]: net.variables[names[2]].states[:1]}]
    evidence = Evidence.read({k: v for finding in findings for k, v in finding.items()}, net.variables)
    measure = [
        (a, p * weights[a[names[1]]] * (a[names[2]] == 0))
        for a, p in joint_of_bayesian_network(net)
        if a[names[0]] == state
    ]
    tree = tree_of(families(net))
    result = calibrate(tree, families(net))
    if total(measure, {}) == 0:
        with pytest.raises(ImpossibleEvidence):
            calibrate(tree, families(net), evidence)
        return
    for finding in findings:
        result = result.with_evidence(Evidence.read(finding, net.variables))
        assert result.is_calibrated()
    direct = calibrate(tree, families(net), evidence)
    assert result.log_total == pytest.approx(direct.log_total)
    assert math.exp(direct.log_total) == pytest.approx(total(measure, {}))
    for one, other in zip(result.beliefs, direct.beliefs, strict=True):
        assert one.is_close(other, 1e-12)
    for edge, message in result.messages.items():
        assert (
            (message * result.messages[edge[::-1]])
            .normalize()
            .is_close((direct.messages[edge] * direct.messages[edge[::-1]]).normalize(), 1e-12)
        )
    for name in net.variables:
        for (value,), expected in posterior(measure, [name], {}).items():
            assert direct.marginal(name)[value] == pytest.approx(expected, abs=1e-12)


def test_what_evidence_has_ruled_out_does_not_come_back():
    """Belief update only multiplies: a second, contradicting finding is impossible, it does not replace the first."""
    result = calibrate(CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]), chain())
    known = {"A": Variable("A", 2), "C": Variable("C", 2)}
    seen = result.with_evidence(Evidence.read({"C": 1}, known))
    assert seen.marginal("A").values == pytest.approx([3 / 7, 4 / 7])
    with pytest.raises(ImpossibleEvidence):
        seen.with_evidence(Evidence.read({"C": 0}, known))
    assert result.marginal("C").values == pytest.approx([0.65, 0.35])


def test_worked_numbers_of_a_chain():
    """Cliques {A, B} and {B, C}: μ_B = (.5, .5), P(C) = (.65, .35), the product identity."""
    result = calibrate(CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]), chain())
    assert result.sepset_beliefs[0].values == pytest.approx([0.5, 0.5])
    assert result.beliefs[0].values == pytest.approx(np.array([[0.42, 0.18], [0.08, 0.32]]))
    assert result.messages[0, 1].values == pytest.approx([1, 1])
    assert result.messages[1, 0].values == pytest.approx([1, 1])
    assert result.marginal("C").values == pytest.approx([0.65, 0.35])
    assert result.log_total == pytest.approx(0, abs=1e-15)
    assert result.joint().is_close(product(chain()))
    assert repr(result).startswith("CalibratedTree(2 cliques, log total ")


def test_every_clique_with_a_variable_gives_the_same_marginal():
    """Asia: P(d) = .4359706 and each variable's marginal from all cliques and sepsets that have it."""
    net = asia_network()
    result = calibrate(junction_tree(net.graph), families(net))
    assert result.marginal("D")[True] == pytest.approx(0.4359706, abs=5e-8)
    assert result.marginal("D").info.engine == "calibrated tree"
    for name in net.variables:
        tables = [b for b in (*result.beliefs, *result.sepset_beliefs) if name in b.names]
        assert all(one.marginal(name).is_close(two.marginal(name), 1e-12) for one, two in combinations(tables, 2))


def test_degenerate_trees():
    """No clique at all, constants, and cliques apart."""
    nothing = calibrate(CliqueTree([], []), [Factor.scalar(3.0)])
    assert nothing.log_total == pytest.approx(math.log(3))
    assert nothing.is_calibrated()
    apart = calibrate(CliqueTree([["A"], ["B"]], []), [Factor({"A": 2}, [1, 3]), Factor({"B": 1}, [5])])
    assert apart.log_total == pytest.approx(math.log(20))
    assert apart.marginal("A").values == pytest.approx([0.25, 0.75])


def test_questions_that_do_not_fit_are_refused():
    """Factors without a clique, variables without a factor, pairs without a clique, roots beyond the tree, zeros."""
    tree = CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)])
    result = calibrate(tree, chain())
    refuses(NotSupported, "No clique has all of A, C", result.marginal, ["A", "C"])
    refuses(UnknownVariable, "'Z' is not a variable of this tree", result.marginal, "Z")
    refuses(InvalidGraph, "No cluster holds", calibrate, tree, [*chain(), Factor({"A": 2, "C": 2}, np.ones((2, 2)))])
    refuses(UnknownVariable, "'C' is not a variable of these factors", calibrate, tree, chain()[:2])
    refuses(InvalidArgument, "root=2", calibrate, tree, chain(), root=2)
    with pytest.raises(ImpossibleEvidence):
        calibrate(tree, [*chain(), Factor.scalar(0.0)])
    number = Evidence({}, {}, {"A": 0.5})
    for ask in (lambda: calibrate(tree, chain(), number), lambda: result.with_evidence(number)):
        with pytest.raises(NotSupported):
            ask()
    tiny = [Factor({"A": 2, "B": 2}, [[1, 1], [1, 1e-200]]), Factor({"B": 2, "C": 2}, [[1, 1], [1e-200, 1e-200]])]
    refuses(NotSupported, "underflow", calibrate, tree, [*tiny, *tiny])
