"""Pearl's λ-π propagation: messages, beliefs, zeros, virtual leaves, loops and cutsets."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    burglary_network,
    joint_of_bayesian_network,
    posterior,
    random_network,
    random_rows,
    sprinkler_network,
    total,
)
from plausible.cpds import TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import random_polytree
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.engines import Pearl
from plausible.inference.polytree.pearl import polytree_sum, propagate, virtual_leaf
from plausible.inference.polytree.structure import cut_outgoing, families_by_child, loop_cutset, read_polytree
from plausible.models import BayesianNetwork
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses
from seeds import few_of

NONE = Evidence.read({}, {})


def families(net):
    return [cpd.to_factor() for cpd in net.cpds.values()]


def random_polytree_network(rng, num_variables, max_states=3, zeros=0.25):
    """Tables over a uniformly drawn polytree."""
    graph = random_polytree(num_variables, seed=rng)
    variables = {name: Variable(name, int(rng.integers(1, max_states + 1))) for name in graph.nodes}
    cpds = []
    for name, variable in variables.items():
        parents = [variables[parent] for parent in graph.parents(name)]
        shape = [v.num_states for v in (*parents, variable)]
        cpds.append(TableCPD(variable, random_rows(rng, shape, zeros), parents))
    return BayesianNetwork(cpds)


def random_states(rng, net, count):
    """States of some variables that can occur together: drawn by ancestral sampling."""
    sample = {}
    for name in net.graph.topological_order:
        cpd = net.cpds[name]
        row = cpd.values[tuple(sample[p.name] for p in cpd.parents)]
        sample[name] = int(rng.choice(len(row), p=row))
    chosen = [list(sample)[i] for i in rng.permutation(len(sample))[:count]]
    return {name: sample[name] for name in chosen}


# --- beliefs ---


@pytest.mark.parametrize("seed", few_of(12, 25))
def test_two_sweeps_give_all_marginals(seed):
    """P(x | e) of every variable and P(e), against loops over all assignments."""
    rng = np.random.default_rng(seed)
    net = random_polytree_network(rng, 6)
    found = random_states(rng, net, int(rng.integers(0, 4)))
    joint = joint_of_bayesian_network(net)
    result = propagate(families(net), Evidence.read(found, net.variables))
    assert math.exp(result.log_probability) == pytest.approx(total(joint, found))
    for name in net.variables:
        expected = posterior(joint, [name], found)
        for state in net.variables[name].states:
            assert result.beliefs[name][state] == pytest.approx(expected.get((state,), 0.0), abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_large_polytrees_agree_with_variable_elimination(seed):
    """200 variables with soft and hard findings, nodes with many parents and many children."""
    rng = np.random.default_rng(50 + seed)
    net = random_polytree_network(rng, 200, zeros=0.1)
    found = random_states(rng, net, 30)
    for name in [name for name in net.variables if name not in found][:20]:
        found[name] = likelihood(rng.random(net.variables[name].num_states) + 0.1)
    evidence = Evidence.read(found, net.variables)
    result = propagate(families(net), evidence)
    assert result.log_probability == pytest.approx(sum_product(absorb(families(net), evidence), ()).log_total)
    for name in [name for name in net.variables if name not in evidence.hard][::40]:
        expected = sum_product(absorb(families(net), evidence), [name]).factor.normalize()
        assert result.beliefs[name].values == pytest.approx(expected.values, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_supports_and_messages_mean_what_they_say(seed):
    """Belief is α π λ; without the finding of one side, π(x) is P(x | e above) and λ(x) is P(e below | x).

    A message to a child is the belief divided by what that child said, wherever that is not zero.
    """
    rng = np.random.default_rng(80 + seed)
    net = random_polytree_network(rng, 6, zeros=0)
    found = random_states(rng, net, 3)
    result = propagate(families(net), Evidence.read(found, net.variables))
    joint = joint_of_bayesian_network(net)
    for name in net.variables:
        support = (result.pi[name] * result.lambda_[name]).normalize()
        assert support.is_close(result.beliefs[name], 1e-12)
        inside = _below(net, name)
        above = {n: s for n, s in found.items() if n not in inside}
        expected = posterior(joint, [name], above)
        for state in net.variables[name].states:
            assert result.pi[name][state] == pytest.approx(expected.get((state,), 0.0), abs=1e-12)
        rows = [total(joint, {**found, name: s}) / total(joint, {**above, name: s}) for s in _states(net, found, name)]
        ratios = [result.lambda_[name][s] for s in _states(net, found, name)]
        assert np.array(ratios) / max(ratios) == pytest.approx(np.array(rows) / max(rows))
    for (parent, child), message in result.pi_messages.items():
        said = result.lambda_messages[child, parent]
        assert (message * said).normalize().is_close(result.beliefs[parent], 1e-12)


def _states(net, found, name):
    return [found[name]] if name in found else net.variables[name].states


def _below(net, name):
    """The variables that only edges leaving `name` connect to it, and itself: its own finding counts as below."""
    cut = {frozenset((parent, name)) for parent in net.graph.parents(name)}
    reached, waiting = {name}, [name]
    while waiting:
        node = waiting.pop()
        for other in net.graph.neighbors(node):
            if other not in reached and frozenset((node, other)) not in cut:
                reached.add(other)
                waiting.append(other)
    return reached


def test_a_chain_is_summed_from_cause_to_effect():
    """P(b) = Σ_a P(b | a) P(a), then P(c) = Σ_b P(c | b) P(b); with C = 1 the λ messages go back up."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    on_a, on_b = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.4, 0.6]])
    chain = [Factor((a,), [0.6, 0.4]), Factor((a, b), on_a), Factor((b, c), on_b)]
    prior = propagate(chain, NONE)
    assert prior.pi["B"].values == pytest.approx([0.5, 0.5])
    assert prior.pi["C"].values == pytest.approx([0.65, 0.35])
    assert all(message.values == pytest.approx([1, 1]) for message in prior.lambda_messages.values())
    after = propagate(chain, Evidence.read({"C": 1}, {"C": c}))
    assert after.lambda_messages["C", "B"].values == pytest.approx([1 / 6, 1])
    assert after.lambda_messages["B", "A"].values == pytest.approx(on_a @ [1 / 6, 1] / max(on_a @ [1 / 6, 1]))
    assert after.beliefs["A"].values == pytest.approx([3 / 7, 4 / 7])
    assert repr(after) == "Propagation(3 beliefs, 4 messages, log P(e) = -1.04982)"


def test_converging_causes_are_summed_together():
    """P(x) = Σ P(x | y1, y2) P(y1) P(y2), and with X known each cause hears of the other: explaining away."""
    one, two, x = Variable("Y1", 2), Variable("Y2", 2), Variable("X", 2)
    table = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [0.05, 0.95]]])
    net = [Factor((one,), [0.8, 0.2]), Factor((two,), [0.7, 0.3]), Factor((one, two, x), table)]
    by_hand = sum(p * q * table[i, j] for i, p in enumerate([0.8, 0.2]) for j, q in enumerate([0.7, 0.3]))
    assert propagate(net, NONE).beliefs["X"].values == pytest.approx(by_hand)
    effect = propagate(net, Evidence.read({"X": 1}, {"X": x})).beliefs["Y1"][1]
    both = propagate(net, Evidence.read({"X": 1, "Y2": 1}, {"X": x, "Y2": two})).beliefs["Y1"][1]
    assert 0.2 < both < effect


def test_worked_numbers_of_the_burglary_network():
    """Two sweeps give P(B | j, m) = .2841718 along with every other belief."""
    net = burglary_network()
    result = propagate(families(net), Evidence.read({"J": True, "M": True}, net.variables))
    assert result.beliefs["B"][True] == pytest.approx(0.2841718, abs=5e-8)
    assert result.beliefs["J"].values.tolist() == [0, 1]


# --- zeros and extremes ---


def test_zero_messages_need_no_division():
    """Two children rule out a state each: what goes to one of them is the product of what the others said."""
    x = Variable("X", 3)
    children = [Variable(name, 2) for name in "ABC"]
    tables = [[[1, 0], [0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [1, 0], [0.5, 0.5]], [[0.2, 0.8]] * 3]
    net = [Factor((x,), [0.2, 0.3, 0.5]), *(Factor((x, c), t) for c, t in zip(children, tables, strict=True))]
    result = propagate(net, Evidence.read({"A": 1, "B": 1}, {c.name: c for c in children}))
    assert result.beliefs["X"].values.tolist() == [0, 0, 1]
    assert result.lambda_messages["A", "X"].values.tolist() == [0, 1, 1]
    assert result.pi_messages["X", "A"].values == pytest.approx([0.2 / 0.7, 0, 0.5 / 0.7])


def test_thousands_of_children_neither_vanish_nor_overflow():
    """A naive Bayes of 2,000 opposed findings, a product of 1e-426: the logarithms by hand."""
    x = Variable("X", 2)
    leaves = [Variable(f"L{i}", 2) for i in range(2000)]
    rows = [[[0.5, 0.5], [0.25, 0.75]], [[0.75, 0.25], [0.5, 0.5]]]
    net = [Factor((x,), [0.25, 0.75]), *(Factor((x, leaf), rows[i % 2]) for i, leaf in enumerate(leaves))]
    result = propagate(net, Evidence.read({leaf.name: 0 for leaf in leaves}, {leaf.name: leaf for leaf in leaves}))
    logs = np.array([math.log(0.25) + 1000 * math.log(0.375), math.log(0.75) + 1000 * math.log(0.125)])
    assert result.log_probability == pytest.approx(logs[0], rel=1e-12)
    assert result.beliefs["X"].values == pytest.approx([1, 0], abs=1e-300)


def test_underflow_is_not_mistaken_for_zero():
    """A state that is 1e-600 as likely as another is all that is left when that one is ruled out."""
    x, last = Variable("X", 2), Variable("Z", 2)
    leaves = [Variable(f"L{i}", 2) for i in range(3)]
    net = [Factor((x,), [0.5, 0.5])]
    net += [Factor((x, leaf), [[0.0, 1.0], [1.0 - 1e-200, 1e-200]]) for leaf in leaves]
    net += [Factor((x, last), [[1.0, 0.0], [0.25, 0.75]])]
    found = {leaf.name: 1 for leaf in leaves}
    evidence = Evidence.read({**found, "Z": 1}, {v.name: v for v in (*leaves, last)})
    result = propagate(net, evidence)
    assert result.beliefs["X"].values.tolist() == [0, 1]
    assert result.log_probability == pytest.approx(math.log(0.5) - 600 * math.log(10) + math.log(0.75))
    parent = Variable("P", 2)  # the same through a table: π(x) = (1, 1e-600), then x = 0 is ruled out below
    chain = [Factor((parent,), [1.0, 1e-300]), Factor((parent, x), [[1.0, 0.0], [0.0, 1e-300]])]
    chain.append(Factor((x, last), [[1.0, 0.0], [0.25, 0.75]]))
    result = propagate(chain, Evidence.read({"Z": 1}, {"Z": last}))
    assert result.beliefs["P"].values.tolist() == [0, 1]
    assert result.log_probability == pytest.approx(-600 * math.log(10) + math.log(0.75))


def test_long_chains_are_swept_without_recursion():
    """1,000 nodes, a likelihood at each: log P(e) by the forward algorithm."""
    rng = np.random.default_rng(3)
    nodes = [Variable(f"X{t}", 3) for t in range(1000)]
    transition, weights = random_rows(rng, (3, 3), 0), rng.random((1000, 3)) * 1e-3
    net = [Factor((nodes[0],), [0.2, 0.3, 0.5]), *(Factor(pair, transition) for pair in pairwise(nodes))]
    forward, expected = np.array([0.2, 0.3, 0.5]), 0.0
    for step in range(1000):
        forward = (forward if step == 0 else forward @ transition) * weights[step]
        expected += math.log(forward.sum())
        forward = forward / forward.sum()
    found = {v.name: likelihood(w) for v, w in zip(nodes, weights, strict=True)}
    result = propagate(net, Evidence.read(found, {v.name: v for v in nodes}))
    assert expected < -5_000
    assert result.log_probability == pytest.approx(expected, rel=1e-12)
    assert result.beliefs["X999"].values == pytest.approx(forward, abs=1e-12)


def test_families_with_many_one_state_parents():
    """A table of 100 axes, all but two of them with one state."""
    parents = [Variable(f"U{i}", 1) for i in range(99)]
    cause, x = Variable("V", 2), Variable("X", 2)
    net = [*(Factor((p,), [1.0]) for p in parents), Factor((cause,), [0.3, 0.7])]
    net.append(Factor.from_flat([*parents, cause, x], [0.9, 0.1, 0.4, 0.6]))
    result = propagate(net, Evidence.read({"X": 1}, {"X": x}))
    assert result.beliefs["V"].values == pytest.approx(np.array([0.03, 0.42]) / 0.45)
    assert result.beliefs["U5"].values.tolist() == [1]


def test_impossible_evidence_is_refused():
    """A contradiction between two children, and within one component of two."""
    x, y = Variable("X", 2), Variable("Y", 2)
    copies = [Variable(name, 2) for name in "AB"]
    net = [Factor((x,), [0.5, 0.5]), *(Factor((x, c), np.eye(2)) for c in copies), Factor((y,), [1.0, 0.0])]
    variables = {v.name: v for v in (*copies, y)}
    for found in ({"A": 0, "B": 1}, {"Y": 1}):
        with pytest.raises(ImpossibleEvidence):
            propagate(net, Evidence.read(found, variables))
    refuses(NotSupported, "likelihoods as evidence", propagate, net, Evidence({}, {}, {"x": 0.5}))


# --- virtual leaves ---


@pytest.mark.parametrize("seed", range(5))
def test_a_virtual_leaf_carries_the_evidence(seed):
    """All evidence at leaves: copies observed in their parent's state, and "seen" for a likelihood, change nothing."""
    rng = np.random.default_rng(seed)
    net = random_polytree_network(rng, 5, zeros=0)
    names = list(net.variables)
    hard, soft = net.variables[names[0]], net.variables[names[1]]
    state, weights = int(rng.integers(hard.num_states)), rng.random(soft.num_states) + 0.1
    direct = propagate(families(net), Evidence.read({hard.name: state, soft.name: likelihood(weights)}, net.variables))
    leaves = [virtual_leaf(hard), virtual_leaf(soft, weights, name="report")]
    assert np.allclose(leaves[0].values.sum(axis=1), 1)
    assert np.allclose(leaves[1].values.sum(axis=1), 1)
    known = {leaf.scope[-1].name: leaf.scope[-1] for leaf in leaves}
    found = Evidence.read({f"{hard.name}'": state, "report": "seen"}, known)
    by_leaves = propagate([*families(net), *leaves], found)
    for name in names:
        assert by_leaves.beliefs[name].is_close(direct.beliefs[name], 1e-12)
    expected = direct.log_probability - math.log(weights.max())
    assert by_leaves.log_probability == pytest.approx(expected)


def test_virtual_leaves_are_read_with_care():
    """One finite weight a state, not all zero."""
    x = Variable("X", 2)
    for weights in ([1.0], [-1.0, 2.0], [math.inf, 1.0], [[1.0, 2.0]]):
        refuses(InvalidArgument, "virtual leaf of 'X'", virtual_leaf, x, weights)
    refuses(InvalidArgument, "all zero", virtual_leaf, x, [0, 0])


# --- what is no polytree ---


def test_loops_are_named_and_the_way_out_is_told():
    """Asia has the loop S, L, A, D, B."""
    with pytest.raises(NotSupported, match=r"loop: .*JunctionTree\(\).*cutset=.*cluster_variables") as caught:
        propagate(families(asia_network()), NONE)
    path = str(caught.value).split("The edges ")[1].split(" form")[0].split(" - ")
    assert path[0] == path[-1]
    assert set(path) == {"S", "L", "A", "D", "B"}
    assert all(asia_network().graph.has_edge(a, b) or asia_network().graph.has_edge(b, a) for a, b in pairwise(path))


def test_two_families_that_are_each_others_parents_are_a_loop():
    """A -> B and B -> A."""
    a, b = Variable("A", 2), Variable("B", 2)
    with pytest.raises(NotSupported, match=r"A - B - A|B - A - B"):
        propagate([Factor((a, b), np.ones((2, 2))), Factor((b, a), np.ones((2, 2)))], NONE)


def test_factors_that_are_no_families_are_refused():
    """Two factors with the same child, and a variable that is nobody's child."""
    a, b = Variable("A", 2), Variable("B", 2)
    with pytest.raises(NotSupported, match="'B' is the last variable of two factors"):
        families_by_child([Factor((a, b), np.ones((2, 2))), Factor((b,), [1, 1])])
    refuses(NotSupported, "'A' is the last variable of none", read_polytree, [Factor((a, b), np.ones((2, 2)))])


def test_known_parents_send_no_messages():
    """P(x | u, v) becomes P(x | u) at the observed v; the family of v stays."""
    u, v, x = (Variable(name, 2) for name in "UVX")
    table = np.arange(8.0).reshape(2, 2, 2)
    cut = cut_outgoing([Factor((v,), [0.5, 0.5]), Factor((u, v, x), table)], {"V": 1, "X": 0})
    assert [factor.names for factor in cut] == [("V",), ("U", "X")]
    assert cut[1].values.tolist() == table[:, 1, :].tolist()


@pytest.mark.parametrize("seed", range(7))
def test_conditioning_on_a_loop_cutset_equals_enumeration(seed):
    """Dense networks, one or two targets inside or outside the cutset, and what is observed."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, edge_probability=0.6)
    joint = joint_of_bayesian_network(net)
    found = random_states(rng, net, int(rng.integers(0, 3)))
    cutset = loop_cutset(families(net), found)
    assert not set(cutset) & set(found)
    engine, evidence = Pearl(cutset=cutset), Evidence.read(found, net.variables)
    assert math.exp(engine.log_total(families(net), evidence)) == pytest.approx(total(joint, found))
    names = [list(net.variables)[i] for i in rng.permutation(6)[:2]]
    answer = engine.query(families(net), [net.variables[name] for name in names], evidence)
    for states, expected in posterior(joint, names, found).items():
        assert answer[dict(zip(names, states, strict=True))] == pytest.approx(expected, abs=1e-12)
    read_polytree(cut_outgoing(families(net), dict.fromkeys((*cutset, *found), 0)))  # no loop is left


def test_loop_cutsets_are_small_and_empty_where_there_is_no_loop():
    """None for a polytree, one for the sprinkler and for Asia; evidence may do the work."""
    assert loop_cutset(families(burglary_network())) == ()
    assert loop_cutset(families(sprinkler_network())) == ("Cloudy",)
    assert len(loop_cutset(families(asia_network()))) == 1
    assert loop_cutset(families(sprinkler_network()), observed=["Cloudy"]) == ()
    refuses(UnknownVariable, "Clody", polytree_sum, families(sprinkler_network()), [], NONE, cutset=["Clody"])
    refuses(NotSupported, "form a loop", polytree_sum, families(sprinkler_network()), [], NONE, cutset=["WetGrass"])
