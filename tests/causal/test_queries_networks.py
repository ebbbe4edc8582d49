"""Interventions as variables, association against effect, causal independence: against enumeration of the joint."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from network_oracle import assignments, random_network, random_rows
from plausible.causal.queries.association import causally_independent, compare_effect, effect_table
from plausible.causal.queries.observed import augmented, augmented_graph, intervention_name, observed_model
from plausible.cpds import DeterministicCPD, LinearGaussianCPD, NoisyOr, Rule, RuleCPD, Split, TableCPD, TreeCPD
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    InvalidGraph,
    InvalidModel,
    NotSupported,
    UnknownVariable,
)
from plausible.graphs import DAG, CausalGraph
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses


def interventional(net, outcome, do, evidence):
    """{states: P(outcome | do, evidence)} by enumeration; empty where the evidence can't happen."""
    table = {}
    for assignment in assignments(net.variables):
        if any(assignment[name] != state for name, state in {**do, **evidence}.items()):
            continue
        weight = 1.0
        for name, cpd in net.cpds.items():
            if name not in do:
                index = tuple(v.states.index(assignment[v.name]) for v in (*cpd.parents, cpd.variable))
                weight *= float(cpd.values[index])
        key = tuple(assignment[name] for name in outcome)
        table[key] = table.get(key, 0.0) + weight
    whole = sum(table.values())
    return {key: weight / whole for key, weight in table.items()} if whole > 0 else {}


def _random_question(rng, net):
    """Outcomes, treatments and evidence over different variables."""
    names = rng.permutation(list(net.variables)).tolist()
    num_outcomes, num_treatments = rng.integers(1, 3, size=2)
    outcome, treatment = names[:num_outcomes], names[num_outcomes : num_outcomes + num_treatments]
    rest = names[num_outcomes + num_treatments :][: rng.integers(0, 2)]
    return outcome, treatment, {name: net.variables[name].states[-1] for name in rest}


def student(rng, with_recommendation=False):
    """D -> G <- I -> S, G -> J, and S -> J if asked for, with random tables."""
    parents = {"D": (), "I": (), "G": ("D", "I"), "S": ("I",), "J": ("G", "S") if with_recommendation else ("G",)}
    return BayesianNetwork(TableCPD(name, random_rows(rng, [2] * (len(p) + 1), 0.0), p) for name, p in parents.items())


# --- effects ---


def test_effects_and_associations_equal_enumeration():
    """P(Y | e), P(Y | x, e) and P(Y | do(x), e) for every x, with several of each; NaN where they are not defined."""
    rng = np.random.default_rng(0)
    for _ in range(16):
        net = random_network(rng)
        outcome, treatment, evidence = _random_question(rng, net)
        try:
            comparison = compare_effect(net, outcome, treatment, evidence)
        except ImpossibleEvidence:
            assert not interventional(net, outcome, {}, evidence) or not any(
                interventional(net, outcome, dict(zip(treatment, states, strict=True)), evidence)
                for states in product(*(net.variables[name].states for name in treatment))
            )
            continue
        marginal = interventional(net, outcome, {}, evidence)
        for states in product(*(net.variables[name].states for name in (*treatment, *outcome))):
            x, y = dict(zip(treatment, states, strict=False)), states[len(treatment) :]
            index = tuple(net.variables[n].index(s) for n, s in zip((*treatment, *outcome), states, strict=True))
            seen = interventional(net, outcome, {}, {**evidence, **x})
            done = interventional(net, outcome, x, evidence)
            for table, expected in ((comparison.association, seen), (comparison.effect, done)):
                truth = expected.get(y, 0.0) if expected else np.nan
                np.testing.assert_allclose(table[index], truth, rtol=0, atol=1e-10)
            np.testing.assert_allclose(
                comparison.marginal[index[len(treatment) :]], marginal.get(y, 0.0), rtol=0, atol=1e-10
            )


def test_do_is_inference_in_the_mutilated_network():
    """query(do=), intervene(), effect_table and enumeration agree; an empty do is a plain query."""
    rng = np.random.default_rng(10)
    for _ in range(30):
        net = random_network(rng, zeros=0.0)
        outcome, treatment, evidence = _random_question(rng, net)
        do = {name: net.variables[name].states[rng.integers(net.variables[name].num_states)] for name in treatment}
        answer = net.query(outcome, evidence, do)
        expected = interventional(net, outcome, do, evidence)
        assert answer.is_close(net.intervene(do).query(outcome, evidence))
        assert net.query(outcome, evidence, {}).is_close(net.query(outcome, evidence))
        for states in product(*(variable.states for variable in answer.scope)):
            assert answer[dict(zip(answer.names, states, strict=True))] == pytest.approx(expected[states], abs=1e-10)
        for name, cpd in net.intervene(do).cpds.items():
            assert cpd == net.cpds[name] if name not in do else not cpd.parents
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", [[1.0, 0.0], [0.0, 1.0]], ["X"]))
    with pytest.raises(ImpossibleEvidence):
        net.query("X", evidence={"Y": 0}, do={"X": 1})


def test_equivalent_networks_have_different_effects():
    """X -> Y and Y -> X with one joint: setting X changes Y in the first only."""
    forward = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", [[0.8, 0.2], [0.4, 0.6]], ["X"]))
    joint = forward.query(["Y", "X"]).values
    backward = BayesianNetwork(
        TableCPD("Y", joint.sum(axis=1)), TableCPD("X", joint / joint.sum(axis=1, keepdims=True), ["Y"])
    )
    seen, done = compare_effect(forward, "Y", "X"), compare_effect(backward, "Y", "X")
    np.testing.assert_allclose(seen.association, done.association, atol=1e-12)
    assert seen.agrees
    assert not done.agrees
    assert done.max_effect < 1e-12


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_with_a_latent_cause_anything_between_no_effect_and_the_association_fits_the_data(share):
    """Example 21.10: models with equal P(X, Y), in which X makes any share of the association."""
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    mixed = share * rows[:, None, :] + (1 - share) * rows[None, :, :]
    net = BayesianNetwork(TableCPD("U", [0.4, 0.6]), TableCPD("X", np.eye(2), ["U"]), TableCPD("Y", mixed, ["X", "U"]))
    report = compare_effect(net, "Y", "X")
    np.testing.assert_allclose(report.association, rows, atol=1e-12)
    np.testing.assert_allclose(report.effect, share * rows + (1 - share) * report.marginal, atol=1e-12)


def test_student_effects_agree_where_the_text_says_so():
    """Example 21.1: do(G) on J is conditioning, do(G) on I and S does nothing; with S -> J it is an adjustment."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        net = student(rng)
        assert compare_effect(net, "J", "G").agrees
        for cause in ("I", "S"):
            report = compare_effect(net, cause, "G")
            assert not report.agrees
            np.testing.assert_allclose(report.effect, np.broadcast_to(report.marginal, (2, 2)), atol=1e-12)
            assert report.max_effect < 1e-12
        net = student(rng, with_recommendation=True)
        report = compare_effect(net, "J", "G")
        assert not report.agrees
        assert np.abs(report.effect - report.marginal).max() > 1e-6
        given_both = effect_table(net, [net.variables["J"]], [net.variables["G"], net.variables["S"]])
        adjusted = np.einsum("gsj,s->gj", given_both, net.query("S").values)
        np.testing.assert_allclose(report.effect, adjusted, atol=1e-12)
        letter = net.query("S", do={"G": 1}, evidence={"J": 1}).values
        assert np.abs(letter - net.query("S", evidence={"J": 1}).values).max() > 1e-9
        np.testing.assert_allclose(compare_effect(net, "S", "G").effect[1], net.query("S").values, atol=1e-12)


def test_the_simpson_numbers_are_matched():
    """Association 0.575 and 0.50, effect 0.45 and 0.60 (example 21.14)."""
    net = BayesianNetwork(
        TableCPD("gender", [0.5, 0.5]),
        TableCPD("drug", [[0.25, 0.75], [0.75, 0.25]], ["gender"]),
        TableCPD("cured", [[[0.2, 0.8], [0.3, 0.7]], [[0.6, 0.4], [0.8, 0.2]]], ["gender", "drug"]),
    )
    report = compare_effect(net, "cured", "drug")
    np.testing.assert_allclose(report.association[:, 1], [0.5, 0.575], atol=1e-12)
    np.testing.assert_allclose(report.effect[:, 1], [0.6, 0.45], atol=1e-12)
    assert report.max_difference == pytest.approx(0.125)
    assert not report.agrees
    assert "differ, by up to 0.125" in str(report)
    assert "<table>" in report._repr_html_()


def _copy_of_a_coin():
    """U is a fair coin, X = U, and Y is whether X = U (exercise 21.3)."""
    return BayesianNetwork(
        TableCPD("U", [0.5, 0.5]),
        DeterministicCPD("X", lambda u: u, ["U"], states=2),
        DeterministicCPD("Y", lambda x, u: int(x == u), ["X", "U"], states=2),
    )


def test_a_marginal_can_leave_the_range_of_the_effects():
    """P(y) = 1, and yet P(y | do(x)) = 0.5 for both x; a mixture of P(y | x) it always is."""
    report = compare_effect(_copy_of_a_coin(), "Y", "X")
    np.testing.assert_allclose(report.marginal, [0, 1], atol=1e-12)
    np.testing.assert_allclose(report.effect, 0.5, atol=1e-12)
    assert report.leaves_range
    low, high = report.interventional_range
    np.testing.assert_allclose([low, high], 0.5)
    assert not np.isnan(report.association).any()
    rng = np.random.default_rng(2)
    for _ in range(30):
        report = compare_effect(random_network(rng, 4), "X3", "X1")
        seen = report.association
        assert (np.nanmin(seen, axis=0) <= report.marginal + 1e-12).all()
        assert (np.nanmax(seen, axis=0) >= report.marginal - 1e-12).all()


# --- causal independence ---


def _is_independent(net, x, y, given):
    """X ⟂_C Y | Z by definition, by enumeration."""
    for z in product(*(net.variables[name].states for name in given)):
        answers = [
            interventional(net, y, dict(zip((*given, *x), (*z, *states), strict=True)), {})
            for states in product(*(net.variables[name].states for name in x))
        ]
        for key in {key for answer in answers for key in answer}:
            values = [answer.get(key, 0.0) for answer in answers]
            if max(values) - min(values) > 1e-9:
                return False
    return True


def test_causal_independence_equals_its_definition_and_follows_from_the_graph():
    """P(Y | do z, do x) is the same for all x; a graph without a directed path around Z says so for all numbers."""
    rng = np.random.default_rng(3)
    verdicts = {True: 0, False: 0}
    for _ in range(80):
        net = random_network(rng, 4, edge_probability=0.6, zeros=0.1)
        names = rng.permutation(list(net.variables)).tolist()
        x, y, given = names[: rng.integers(1, 3)], names[-1:], names[2:3]
        answer = causally_independent(net, x, y, given)
        assert bool(answer) == _is_independent(net, x, y, given)
        by_graph = causally_independent(net.graph, x, y, given)
        assert answer.holds or not by_graph.holds
        assert by_graph.path == answer.path
        assert by_graph.difference is None
        verdicts[answer.holds] += 1
    assert min(verdicts.values()) > 10


def test_a_graph_that_does_not_entail_causal_independence_has_a_model_without_it():
    """Tables without coincidences depend along every directed path around Z."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        net = random_network(rng, 4, max_states=2, edge_probability=0.5, zeros=0.0)
        names = [name for name in rng.permutation(list(net.variables)).tolist() if net.variables[name].num_states > 1]
        if len(names) < 3 or len(names) < len(net.variables):
            continue
        x, y, given = names[0], names[1], names[2:3]
        assert causally_independent(net, x, y, given).holds == causally_independent(net.graph, x, y, given).holds


def test_causal_independence_is_not_symmetric_and_does_not_mean_an_unchanged_marginal():
    """X -> Y: Y does nothing to X, but X to Y; and the coin of exercise 21.11a."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", [[0.9, 0.1], [0.2, 0.8]], ["X"]))
    assert causally_independent(net, "Y", "X")
    assert not causally_independent(net, "X", "Y")
    coin = _copy_of_a_coin()
    answer = causally_independent(coin, "X", "Y")
    assert answer.holds
    assert answer.path == ("X", "Y")
    assert "though not by its graph" in str(answer)
    assert coin.query("Y").values[1] == pytest.approx(1.0)
    assert coin.query("Y", do={"X": 0}).values[1] == pytest.approx(0.5)


def test_the_closure_rule_of_causal_independence():
    """(X ⟂_C Y | Z, W) and (W ⟂_C Y | X, Z) give (X, W ⟂_C Y | Z), in networks and in graphs."""
    rng = np.random.default_rng(5)
    premises = 0
    for _ in range(60):
        net = random_network(rng, 4, max_states=2, edge_probability=0.4, zeros=0.3)
        x, w, z, y = rng.permutation(list(net.variables)).tolist()
        for model in (net, net.graph):
            if causally_independent(model, x, y, [z, w]) and causally_independent(model, w, y, [x, z]):
                premises += 1
                assert causally_independent(model, [x, w], y, z)
    assert premises > 20


def test_causal_independence_needs_two_sides():
    """Empty and overlapping sides are refused."""
    refuses(InvalidArgument, "empty", causally_independent, "X -> Y", (), "Y")
    refuses(InvalidArgument, "'X' can't be both", causally_independent, "X -> Y", "X", "Y", given="X")


# --- augmented models ---


def test_evidence_on_intervention_variables_is_intervening():
    """P(Y | e, do(X)=x) of the augmented network is P(Y | do(x), e), and with all idle it is P(Y | e)."""
    rng = np.random.default_rng(6)
    for _ in range(25):
        net = random_network(rng, 4, zeros=0.0)
        regimes = augmented(net)
        prior = augmented(net, idle_probability=0.3)
        outcome, treatment, evidence = _random_question(rng, net)
        do = {name: net.variables[name].states[rng.integers(net.variables[name].num_states)] for name in treatment}
        setting = {intervention_name(name): do.get(name, "idle") for name in net.variables}
        expected = interventional(net, outcome, do, evidence)
        for model in (regimes, prior):
            answer = model.query(outcome, evidence={**evidence, **setting})
            for states in product(*(variable.states for variable in answer.scope)):
                value = answer[dict(zip(answer.names, states, strict=True))]
                assert value == pytest.approx(expected.get(states, 0.0), abs=1e-10)


def test_the_graph_of_the_augmented_network_is_the_augmented_graph():
    """Both put a parent do(X) above each X that they are asked for."""
    net = student(np.random.default_rng(7))
    assert augmented(net).graph == augmented_graph(net.graph)
    assert augmented(net, ["G", "J"]).graph == augmented_graph(net.graph, ["G", "J"])
    cut = augmented_graph(net.graph, (), intervened="G")
    assert cut == DAG([("do(G)", "G"), ("I", "S"), ("G", "J")], nodes=["D"])
    assert augmented_graph("X -> Y; X <-> Y", ()) == CausalGraph("X -> Y; X <-> Y")
    assert augmented_graph(DAG()) == DAG()


def test_trees_rules_and_functions_stay_small():
    """A tree of few leaves gets a leaf for each state more; other kinds are written by rows."""
    parents = [Variable(f"P{i}", 2) for i in range(6)]
    roots = [TableCPD(parent, [0.5, 0.5]) for parent in parents]
    tree = TreeCPD("T", Split("P0", {0: [0.1, 0.9], 1: Split("P1", {0: [0.2, 0.8], 1: [0.7, 0.3]})}), parents)
    rules = RuleCPD(
        "R", [Rule({"P2": p, "R": r}, 0.25 if p == r else 0.75) for p in (0, 1) for r in (0, 1)], parents, states=[0, 1]
    )
    net = BayesianNetwork(
        *roots,
        tree,
        rules,
        NoisyOr("N", parents[:3], [0.9, 0.5, 0.2], leak=0.1),
        DeterministicCPD("F", lambda a, b: a ^ b, parents[:2]),
    )
    regimes = augmented(net, ["T", "R", "N", "F"])
    assert [len(regimes.cpd(name).rows) for name in "TRNF"] == [3 + 2, 2 + 2, 8 + 2, 4 + 2]
    idle = {f"do({name})": "idle" for name in "TRNF"}
    for name in "TRNF":
        np.testing.assert_allclose(
            regimes.query([name, "P0"], evidence=idle).values, net.query([name, "P0"]).values, atol=1e-12
        )
    assert regimes.query("P0", evidence={**idle, "do(T)": 1, "T": 1}).values == pytest.approx([0.5, 0.5])


def test_augmenting_refuses_what_it_can_not_do():
    """Taken names, idle states that exist, continuous variables, inputs, bad numbers, forgotten settings."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5], states=["idle", "busy"]))
    with pytest.raises(InvalidArgument, match="idle="):
        augmented(net)
    regimes = augmented(net, idle="none", idle_probability=1.0)
    assert regimes.variables["do(X)"].states == ("none", "idle", "busy")
    refuses(InvalidModel, "already", augmented, regimes, "X")
    refuses(InvalidGraph, "two nodes", augmented_graph, regimes.graph, "X")
    refuses(InvalidArgument, "probability", augmented, net, idle="none", idle_probability=2)
    refuses(UnknownVariable, "'Q'", augmented, net, "Q")
    refuses(InvalidModel, "do\\(X\\)", augmented(net, idle="none").query, "X")
    hybrid = BayesianNetwork(TableCPD("A", [0.5, 0.5]), LinearGaussianCPD("H", 0.0, variance=1.0))
    assert augmented(hybrid).inputs == ("do(A)",)
    refuses(NotSupported, "continuous", augmented, hybrid, "H")
    refuses(InvalidGraph, "two nodes", augmented_graph, DAG([(1, "1")]))
    conditional = BayesianNetwork(TableCPD("Y", [[0.5, 0.5], [0.1, 0.9]], ["X"]), inputs=[Variable("X", 2)])
    with pytest.raises(InvalidModel, match="input"):
        augmented(conditional, "X")
    assert augmented(conditional).inputs == ("X", "do(Y)")


# --- models with latent variables ---


def test_an_observed_model_has_the_projected_graph_and_the_answers_of_the_truth():
    """It answers about what is observed, with do= and evidence, and is no Bayesian network."""
    rng = np.random.default_rng(8)
    net = BayesianNetwork(
        TableCPD("U", [0.3, 0.7]),
        TableCPD("S", random_rows(rng, (2, 2), 0), ["U"]),
        TableCPD("T", random_rows(rng, (2, 2), 0), ["S"]),
        TableCPD("C", random_rows(rng, (2, 2, 2), 0), ["T", "U"]),
    )
    model = observed_model(net, ["C", "S", "T"])
    assert model.observed == ("S", "T", "C")
    assert model.latent == ("U",)
    assert model.graph == CausalGraph("S -> T -> C; S <-> C")
    answer = model.query("C", evidence={"T": 0}, do={"S": 1})
    expected = interventional(net, ["C"], {"S": 1}, {"T": 0})
    np.testing.assert_allclose(answer.values, [expected[(0,)], expected[(1,)]], atol=1e-12)
    assert pickle.loads(pickle.dumps(model)) == model
    for question in ({"targets": "U"}, {"targets": "C", "evidence": {"U": 0}}, {"targets": "C", "do": {"U": 0}}):
        with pytest.raises(UnknownVariable, match="latent"):
            model.query(**question)
    refuses(UnknownVariable, "'Q'", observed_model, net, ["Q"])
    refuses(InvalidArgument, "Nothing", observed_model, net, [])


def test_mistakes_are_named():
    """Unknown and repeated variables, and continuous ones."""
    net = student(np.random.default_rng(9))
    refuses(UnknownVariable, "'Q'", compare_effect, net, "J", "Q")
    refuses(InvalidArgument, "outcome= is empty", compare_effect, net, [], "G")
    with pytest.raises(InvalidArgument, match="'G' can't be both in treatment= and in evidence="):
        compare_effect(net, "J", "G", evidence={"G": 1})
    with pytest.raises(NotSupported, match="treatment 'H' is continuous"):
        compare_effect(BayesianNetwork(TableCPD("A", [0.5, 0.5]), LinearGaussianCPD("H", 0.0, variance=1.0)), "A", "H")
