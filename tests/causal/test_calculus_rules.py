"""The rules of the do-calculus: what they claim is so, and what they deny is not."""

from __future__ import annotations

import numpy as np
import pytest

from calculus_oracle import NAMES, LatentModel, causal_graph, parts_of, random_causes
from plausible.causal.calculus.derive import effect_is_absent, effect_is_association, has_requisite_cpd, requisite_cpds
from plausible.causal.calculus.rules import Quantity, rule_1, rule_2, rule_3
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG, CausalGraph

FRONT_DOOR = CausalGraph("S -> T -> C; S <-> C")
STUDENT = DAG("D -> G <- I -> S; G -> J")
STUDENT_B = DAG("D -> G <- I -> S; G -> J; S -> J")


def _random_roles(rng, num_nodes):
    """Disjoint sets Y, X, Z, W, the first two not empty."""
    while True:
        roles = rng.integers(0, 5, size=num_nodes)
        groups = [[NAMES[i] for i in np.nonzero(roles == role)[0]] for role in range(4)]
        if groups[0] and groups[1]:
            return groups


def _random_steps(rng, num_cases, max_nodes=5):
    for _ in range(num_cases):
        size = int(rng.integers(2, max_nodes + 1))
        pairs = random_causes(rng, size)
        yield causal_graph(size, *pairs), _random_roles(rng, size)


def test_a_rule_applies_if_and_only_if_both_sides_are_equal_in_a_random_model():
    """Rules 1 to 3 are sound, and where they do not apply, a model without coincidences tells the two sides apart."""
    rng = np.random.default_rng(0)
    verdicts = {True: 0, False: 0}
    for graph, (y, x, z, w) in _random_steps(rng, 100):
        model = LatentModel(rng, graph.nodes, *parts_of(graph))
        steps = [
            rule_1(graph, Quantity(y, z, [*w, *x]), x),
            rule_2(graph, Quantity(y, [*z, *x], w), x),
            rule_3(graph, Quantity(y, [*z, *x], w), x),
        ]
        for step in steps:
            is_equal = np.allclose(model.of(step.before), model.of(step.after), rtol=0, atol=1e-10)
            assert step.applies == is_equal, step
            assert step.explanation.separated == step.applies
            verdicts[step.applies] += 1
    assert min(verdicts.values()) > 40


def test_both_forms_of_rules_2_and_3_agree():
    """The test with intervention nodes equals the one in the graph with edges removed (exercise 21.1b)."""
    rng = np.random.default_rng(1)
    for graph, (y, x, z, w) in _random_steps(rng, 400, max_nodes=6):
        quantity = Quantity(y, [*z, *x], w)
        for rule in (rule_2, rule_3):
            assert rule(graph, quantity, x).applies == rule(graph, quantity, x, "classic").applies


def test_every_step_can_be_taken_back():
    """A rule is an equation: from the quantity that it leads to, it leads back, with the same verdict."""
    rng = np.random.default_rng(2)
    for graph, (y, x, z, w) in _random_steps(rng, 100):
        for rule, quantity in [
            (rule_1, Quantity(y, z, [*w, *x])),
            (rule_2, Quantity(y, [*z, *x], w)),
            (rule_3, Quantity(y, [*z, *x], w)),
        ]:
            there = rule(graph, quantity, x)
            back = rule(graph, there.after, x)
            assert back.after == quantity
            assert back.applies == there.applies


def test_the_derivation_of_box_21_a_can_be_replayed():
    """P(t | do s) = P(t | s), rules 2 and 3 for P(C | do s, t), and again for P(C | do t, s') and P(s' | do t)."""
    steps = [
        rule_2(FRONT_DOOR, Quantity("T", "S"), "S"),
        rule_2(FRONT_DOOR, Quantity("C", "S", "T"), "T"),
        rule_3(FRONT_DOOR, Quantity("C", ["S", "T"]), "S"),
        rule_2(FRONT_DOOR, Quantity("C", "T", "S"), "T"),
        rule_3(FRONT_DOOR, Quantity("S", "T"), "T"),
    ]
    assert all(steps)
    assert [str(step.after) for step in steps] == [
        "P(T | s)",
        "P(C | do(s), do(t))",
        "P(C | do(t))",
        "P(C | s, t)",
        "P(S)",
    ]
    assert [f"{step.separation} in {step.place}" for step in steps] == [
        "T ⟂ do(S) | S in G†",
        "C ⟂ do(T) | T, S in G† with S set",
        "C ⟂ do(S) | T in G† with T set",
        "C ⟂ do(T) | T, S in G†",
        "S ⟂ do(T) in G†",
    ]


def test_the_direct_step_of_box_21_a_fails_and_says_why():
    """P(C | do s, t) is not P(C | s, t): the latent cause stays open once S is observed."""
    step = rule_2(FRONT_DOOR, Quantity("C", "S", "T"), "S")
    assert not step
    (trail,) = step.explanation.trails
    assert set(trail.nodes) == {"C", "S", "do(S)"}
    assert "is active" in str(step)


@pytest.mark.parametrize(
    ("graph", "outcome", "treatment", "is_association", "is_absent"),
    [
        (STUDENT, "J", "G", True, False),
        (STUDENT, "I", "G", False, True),
        (STUDENT, "S", "G", False, True),
        (STUDENT_B, "J", "G", False, False),
        (STUDENT_B, "S", "G", False, True),
        ("S -> C", "C", "S", True, False),
        ("S <-> C", "C", "S", False, True),
        ("S -> C; S <-> C", "C", "S", False, False),
        (DAG(nodes=["X", "Y"]), "Y", "X", True, True),
    ],
)
def test_the_special_cases_of_one_treatment(graph, outcome, treatment, is_association, is_absent):
    """P(Y | do(x)) = P(Y | x), or = P(Y), in the Student networks and the graphs of smoking and cancer."""
    assert bool(effect_is_association(graph, outcome, treatment)) is is_association
    assert bool(effect_is_absent(graph, outcome, treatment)) is is_absent


def test_an_effect_is_absent_if_and_only_if_no_directed_path_leads_there():
    """Rule 3 with nothing else set or seen looks for directed paths."""
    rng = np.random.default_rng(3)
    for graph, (y, x, *_) in _random_steps(rng, 200):
        assert effect_is_absent(graph, y, x).applies == graph.descendants(x).isdisjoint(y)


def test_requisite_distributions_are_those_that_change_the_answer():
    """A mechanism is requisite if and only if another one in its place changes P(y | do z, w) in a random model."""
    rng = np.random.default_rng(4)
    for graph, (y, w, z, _) in _random_steps(rng, 150):
        model = LatentModel(rng, graph.nodes, *parts_of(graph))
        before = model.probability(y, z, w)
        changing = {
            node
            for node in graph.nodes
            if not np.allclose(before, model.replaced(rng, node).probability(y, z, w), rtol=0, atol=1e-10)
        }
        assert requisite_cpds(graph, y, w, z) == changing


def test_rules_2_and_3_are_tests_of_requisite_distributions():
    """Rule 2 asks whether the mechanism of X matters with X observed, rule 3 without."""
    rng = np.random.default_rng(5)
    for graph, (y, x, z, w) in _random_steps(rng, 100):
        node, quantity = x[0], Quantity(y, [*z, x[0]], w)
        assert rule_2(graph, quantity, node).applies != has_requisite_cpd(graph, node, y, [*w, node], z)
        assert rule_3(graph, quantity, node).applies != has_requisite_cpd(graph, node, y, w, z)


def test_quantities_are_values_and_print_as_written():
    """Sets of nodes make a quantity, in whatever order; values are small letters where names are capitals."""
    assert Quantity(["A", "B"], "C") == Quantity(["B", "A"], ["C"])
    assert len({Quantity("A", "B"), Quantity("A", ["B"]), Quantity("A", (), "B")}) == 2
    assert str(Quantity(["Y1", "Y2"], ["X", "Z"], "W")) == "P(Y1, Y2 | do(x), do(z), w)"
    assert str(Quantity("Cancer", "Smoking")) == "P(Cancer | do(Smoking))"
    assert str(Quantity(3, do=1, given=[2])) == "P(3 | do(1), 2)"
    assert Quantity("A").is_observational
    assert not Quantity("A", "B").is_observational


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: Quantity(()), InvalidArgument, "empty"),
        (lambda: Quantity("A", "A"), InvalidArgument, "'A' can't be both in outcome= and in do="),
        (lambda: rule_1(FRONT_DOOR, Quantity("C", "S"), "S"), InvalidArgument, "S is set there"),
        (lambda: rule_1(FRONT_DOOR, Quantity("C", "S"), "C"), InvalidArgument, "an outcome"),
        (lambda: rule_2(FRONT_DOOR, Quantity("C", "S"), "T"), InvalidArgument, "not mentioned"),
        (lambda: rule_3(FRONT_DOOR, Quantity("C", "S"), ["S", "T"]), InvalidArgument, "are"),
        (lambda: rule_3(FRONT_DOOR, Quantity("C", "S"), ()), InvalidArgument, "empty"),
        (lambda: rule_2(FRONT_DOOR, Quantity("C", "S"), "S", "pearl"), InvalidArgument, "classic"),
        (lambda: rule_2(FRONT_DOOR, Quantity("C", "Q"), "S"), UnknownVariable, "'Q'"),
        (lambda: rule_2(FRONT_DOOR, "P(C | do(S))", "S"), InvalidArgument, "Quantity"),
        (lambda: has_requisite_cpd(FRONT_DOOR, "Q", "C"), UnknownVariable, "'Q'"),
        (lambda: rule_2(3, Quantity("C", "S"), "S"), NotSupported, "int"),
    ],
)
def test_mistakes_are_named(call, error, match):
    """Errors name the node, its role and what the rule is about."""
    with pytest.raises(error, match=match):
        call()
