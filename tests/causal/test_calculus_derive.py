"""Derivations: found where there is one, and true step by step."""

from __future__ import annotations

import pickle
import re
from itertools import combinations, product

import numpy as np
import pytest

from calculus_oracle import NAMES, LatentModel, causal_graph, is_identifiable, parts_of, random_causes
from marked_graph_oracles import is_separated
from plausible.causal.calculus.derive import derive
from plausible.causal.calculus.rules import RuleStep
from plausible.causal.calculus.search import ProbabilityStep
from plausible.causal.identification.question import MaskGraph
from plausible.errors import CyclicGraph, InvalidArgument, UnknownVariable
from plausible.graphs import DAG, CausalGraph
from refusals import refuses

#: Figure 21.3: P(Y | do(X)) is identifiable.
IDENTIFIABLE = {
    "a": "X -> Y; X -> Z -> Y; Z <-> Y",
    "b": "Z -> X -> Y; Z -> Y; Z <-> Y",
    "c": "Z -> X -> Y; Z -> Y; Z <-> X",
    "d": "X -> Z -> Y; X <-> Y",
    "e": "X -> Y; X -> Z1 -> Y; Z1 -> Z2 -> Y; X <-> Z2; Z1 <-> Y",
    "f": "Z2 -> X; Z2 -> Z1; Z2 -> Z3; X -> Z1 -> Y; Z3 -> Y; Z2 <-> X; Z2 <-> Y; X <-> Z3; X <-> Y",
    "napkin": "W -> Z -> X -> Y; W <-> X; W <-> Y",
}

#: Figure 21.4: it is not.
NOT_IDENTIFIABLE = {
    "a": "X -> Y; X <-> Y",
    "b": "X -> Z -> Y; X <-> Z",
    "c": "X -> Z -> Y; X -> Y; X <-> Z",
    "d": "X -> Y; Z -> Y; X <-> Z; Z <-> Y",
    "e": "Z -> X -> Y; X <-> Z; Z <-> Y",
    "f": "X -> Z -> Y; X <-> Y; Z <-> Y",
    "g": "X -> Z1 -> Y; Z2 -> Y; X <-> Z2; Z1 <-> Z2",
    "h": "Z -> X -> W -> Y; X <-> Z; X <-> Y; W <-> Z; Z <-> Y",
}


def _value(derivation, model):
    """What a derivation comes to, computed from observational probabilities of a model only."""
    if derivation.reason is None:
        assert not derivation.quantity.do
        return model.probability(derivation.quantity.outcome, (), derivation.quantity.given)
    values = [_value(premise, model) for premise in derivation.premises]
    if isinstance(derivation.reason, RuleStep):
        return values[0]
    if derivation.reason.kind == "ratio":
        return values[0] / values[1]
    result = values[0] * values[1]
    if derivation.reason.kind == "condition":
        result = result.sum(axis=model.axes(derivation.reason.nodes), keepdims=True)
    return result


def _assert_true(derivation, graph, rng):
    """Every step is an equation of a random latent model, and so is the whole."""
    model = LatentModel(rng, graph.nodes, *parts_of(graph))
    for step in derivation.steps:
        left = model.of(step.before)
        if isinstance(step, RuleStep):
            assert step.applies
            right = model.of(step.after)
        else:
            first, second = map(model.of, step.terms)
            right = first / second if step.kind == "ratio" else first * second
            if step.kind == "condition":
                right = right.sum(axis=model.axes(step.nodes), keepdims=True)
        np.testing.assert_allclose(*np.broadcast_arrays(left, right), rtol=0, atol=1e-10)
    truth, value = np.broadcast_arrays(model.of(derivation.quantity), _value(derivation, model))
    np.testing.assert_allclose(value, truth, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", IDENTIFIABLE)
def test_the_identifiable_graphs_of_figure_21_3_have_derivations(name):
    """P(Y | do(x)) is derived, each step holds in a random latent model, and so does the formula."""
    graph = CausalGraph(IDENTIFIABLE[name])
    result = derive(graph, "Y", "X")
    assert result.found
    _assert_true(result.derivation, graph, np.random.default_rng(0))


@pytest.mark.parametrize("name", NOT_IDENTIFIABLE)
def test_the_graphs_of_figure_21_4_have_none(name):
    """All quantities within reach are looked at, and none is free of interventions."""
    result = derive(NOT_IDENTIFIABLE[name], "Y", "X")
    assert not result.found
    assert result.is_exhausted
    assert "No derivation of P(Y | do(x))" in str(result)


def test_the_front_door_is_found_as_in_box_21_a():
    """Rules 2, 3, 2, 3, 2 and two sums, and a formula that primes the second s."""
    derivation = derive("S -> T -> C; S <-> C", "C", "S").derivation
    assert derivation.rules == (2, 3, 2, 3, 2)
    assert derivation.formula == "Σ_t P(t | s) Σ_{s'} P(C | s', t) P(s')"
    sums = [step for step in derivation.steps if isinstance(step, ProbabilityStep)]
    assert [(step.kind, step.nodes) for step in sums] == [("condition", ("T",)), ("condition", ("S",))]


def test_the_front_door_formula_gives_the_worked_numbers():
    """P(c | do s1) = 0.4525 and P(c | do s0) = 0.4975 from the observed joint alone."""
    derivation = derive("S -> T -> C; S <-> C", "C", "S").derivation

    class Observed:
        """P(S, T, C) = P(s) P(t | s) P(c | t, s)."""

        nodes = ("S", "T", "C")
        tar, cancer = np.array([0.05, 0.95]), np.array([[0.10, 0.05], [0.90, 0.85]])
        joint = 0.5 * np.stack([1 - tar, tar], -1)[:, :, None] * np.stack([1 - cancer, cancer], -1)

        def axes(self, nodes):
            return tuple(map(self.nodes.index, nodes))

        def probability(self, outcome, do, given):
            kept = self.axes([*outcome, *given])
            part = self.joint.sum(axis=tuple(a for a in range(3) if a not in kept), keepdims=True)
            return part / part.sum(axis=self.axes(outcome), keepdims=True)

    observed = Observed()
    effect = _value(derivation, observed)[:, 0, 1]
    np.testing.assert_allclose(effect, [0.4975, 0.4525], atol=1e-12)
    np.testing.assert_allclose(observed.probability("C", (), "S")[:, 0, 1], [0.0975, 0.8525], atol=1e-12)


def _parsed(text):
    """A function of an assignment for the text of a formula, by recursive descent: primes and brackets have to fit."""
    tokens = re.findall(r"Σ_\{[^}]*\}|Σ_\w|P\([^)]*\)|[\[\]/]|\S+", text)

    def fraction():
        above = factors()
        if tokens and tokens[0] == "/":
            tokens.pop(0)
            below = factors()
            return lambda env, model: above(env, model) / below(env, model)
        return above

    def factors():
        parts = []
        while tokens and tokens[0] not in ("]", "/"):
            token = tokens.pop(0)
            if token == "[":
                parts.append(fraction())
                assert tokens.pop(0) == "]"
            elif token.startswith("Σ"):
                parts.append(total(re.findall(r"[\w']+", token[2:]), factors()))
            else:
                parts.append(leaf(token))
        assert parts
        return lambda env, model: np.prod([part(env, model) for part in parts])

    def total(names, body):
        return lambda env, model: sum(
            body({**env, **dict(zip(names, states, strict=True))}, model)
            for states in product(range(2), repeat=len(names))
        )

    def leaf(token):
        assert token.startswith("P(")
        outcome, _, given = (part.strip() for part in token[2:-1].partition("|"))
        sides = [[name.strip() for name in side.split(",") if name.strip()] for side in (outcome, given)]

        def value(env, model):
            (y, w) = ([name.rstrip("'").upper() for name in side] for side in sides)
            index = [0] * len(model.nodes)
            for name, node in zip((*sides[0], *sides[1]), (*y, *w), strict=True):
                index[model.nodes.index(node)] = env[name]
            return model.probability(y, (), w)[tuple(index)]

        return value

    parsed = fraction()
    assert not tokens
    return parsed


def test_formulas_say_what_their_derivations_do():
    """Read as text, with its sums, primes, brackets and fractions, a formula equals the effect."""
    rng = np.random.default_rng(5)
    names = ["a", "b", "c", "d", "napkin"]
    asked = [(CausalGraph(IDENTIFIABLE[name]), "Y", "X", []) for name in names]
    for _ in range(25):
        size = int(rng.integers(3, 6))
        graph = causal_graph(size, *random_causes(rng, size, 0.6, 0.3))
        outcome, treatment, *given = rng.permutation(list(graph.nodes))[: rng.integers(2, 4)].tolist()
        asked.append((graph, outcome, treatment, given))
    num_primes = 0
    for graph, outcome, treatment, given in asked:
        derivation = derive(graph, outcome, treatment, given).derivation
        if derivation is None:
            continue
        model, parsed = LatentModel(rng, graph.nodes, *parts_of(graph)), _parsed(derivation.formula)
        num_primes += "'" in derivation.formula
        free = [treatment, *given]
        for states in product(range(2), repeat=1 + len(free)):
            env = dict(zip([outcome, *(node.lower() for node in free)], states, strict=True))
            env |= {node.lower(): 1 for node in derivation.arbitrary}
            index = [0] * len(graph.nodes)
            for node, state in zip((outcome, *free), states, strict=True):
                index[graph.nodes.index(node)] = state
            truth = np.broadcast_to(model.probability([outcome], [treatment], given), [2] * len(graph.nodes))
            assert parsed(env, model) == pytest.approx(truth[tuple(index)], abs=1e-10)
    assert num_primes >= 1


def test_the_napkin_needs_a_fraction_and_an_arbitrary_value():
    """A formula may hold for any value of a node that the derivation brings in."""
    derivation = derive(IDENTIFIABLE["napkin"], "Y", "X").derivation
    assert derivation.formula == "[Σ_w P(Y, x | w, z) P(w)] / [Σ_w P(x | w, z) P(w)]"
    assert derivation.arbitrary == ("Z",)
    assert str(derivation).splitlines()[0].endswith("for any z")


def test_all_200_graphs_of_three_nodes():
    """Exactly 42 of them leave P(Y | do(x)) without a derivation; those of the others are true."""
    rng = np.random.default_rng(1)
    pairs = list(combinations("XYZ", 2))
    number = missing = 0
    for ways, latent in product(product((None, 0, 1), repeat=3), product((False, True), repeat=3)):
        edges = [(*(pair if way else pair[::-1]),) for pair, way in zip(pairs, ways, strict=True) if way is not None]
        edges = [(a, "->", b) for a, b in edges] + [
            (a, "<->", b) for (a, b), is_there in zip(pairs, latent, strict=True) if is_there
        ]
        try:
            graph = CausalGraph(edges, nodes=list("XYZ"))
        except CyclicGraph:
            continue
        result, number = derive(graph, "Y", "X"), number + 1
        missing += not result.found
        if result.found:
            _assert_true(result.derivation, graph, rng)
    assert (number, missing) == (200, 42)


def test_what_is_identifiable_is_derived_in_random_graphs():
    """A derivation is found if and only if the complete identification algorithm says so; it is true."""
    rng = np.random.default_rng(2)
    verdicts = {True: 0, False: 0}
    for _ in range(100):
        size = int(rng.integers(3, 6))
        pairs = random_causes(rng, size, 0.6, 0.35)
        graph = causal_graph(size, *pairs)
        outcome, *treatment = rng.permutation(list(graph.nodes))[: rng.integers(2, 4)].tolist()
        result = derive(graph, outcome, treatment)
        expected = is_identifiable(graph.nodes, *pairs, [outcome], treatment)
        assert result.found == expected
        assert result.found or result.is_exhausted
        verdicts[expected] += 1
        if result.found:
            _assert_true(result.derivation, graph, rng)
    assert min(verdicts.values()) > 8


def test_conditional_effects_are_derived_and_true():
    """P(y | do(x), w) with observations, and several outcomes."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(45):
        graph = causal_graph(4, *random_causes(rng, 4, 0.5, 0.25))
        first, second, third, fourth = rng.permutation(list(graph.nodes)).tolist()
        for outcome, given in [(first, [third]), ([first, fourth], [third]), ([first, third], ())]:
            result = derive(graph, outcome, second, given)
            if result.found:
                found += 1
                _assert_true(result.derivation, graph, rng)
    assert found > 75


def test_a_limit_that_ends_the_search_is_told():
    """Nothing found within a limit is no proof that there is nothing."""
    graph = "A -> B -> C -> D -> E; A <-> C; B <-> D; C <-> E; A <-> E"
    full, short = derive(graph, "E", "A"), derive(graph, "E", "A", max_quantities=5)
    assert not short.found
    assert not short.is_exhausted
    assert "does not show that there is none" in str(short)
    assert full.found or full.is_exhausted
    assert not derive(NOT_IDENTIFIABLE["h"], "Y", "X", time_limit=0.0).is_exhausted


def test_easy_effects_in_large_graphs_are_found_at_once():
    """A back-door adjustment in a graph of 300 nodes, most of them beside the point."""
    chain = [(f"N{i}", f"N{i + 1}") for i in range(297)]
    graph = DAG([*chain, ("W", "X"), ("W", "Y"), ("X", "Y"), ("Y", "N0")])
    assert derive(graph, "Y", "X").derivation.formula == "Σ_w P(Y | w, x) P(w)"
    deep = CausalGraph([*((a, "->", b) for a, b in chain), ("N0", "<->", "N297")])
    assert not derive(deep, "N297", "N0", time_limit=0.1).is_exhausted


@pytest.mark.parametrize(
    ("graph", "outcome", "treatment", "formula"),
    [
        ("X -> Y", "Y", (), "P(Y)"),
        (DAG(nodes=["X", "Y"]), "Y", "X", "P(Y)"),
        ("Y -> X", "Y", "X", "P(Y)"),
        ("X -> Y; X <-> Y", "X", "Y", "P(X)"),
        ("X -> Y -> D; X <-> D", "Y", "X", "P(Y | x)"),
    ],
)
def test_simple_cases(graph, outcome, treatment, formula):
    """Nothing to do, no path, descendants that do not matter."""
    result = derive(graph, outcome, treatment)
    assert result.derivation.formula == formula
    assert len(result.derivation.steps) <= 1


def test_names_that_differ_in_case_only_are_told_apart():
    """Small letters stand for values unless that would make two nodes look alike."""
    derivation = derive("x -> X -> Y; x -> Y", "Y", "X", given="x").derivation
    assert derivation.formula == "P(Y | x', x)"
    assert str(derivation.quantity) == "P(Y | do(X), x)"


def test_derivations_are_values():
    """A derivation can be pickled and compared."""
    derivation = derive("S -> T -> C; S <-> C", "C", "S").derivation
    assert pickle.loads(pickle.dumps(derivation)) == derivation


def test_mistakes_are_named():
    """Unknown nodes, nodes in two roles, and limits that leave nothing."""
    refuses(UnknownVariable, "'Q'", derive, "X -> Y", "Q", "X")
    refuses(InvalidArgument, "'X' can't be both", derive, "X -> Y", "Y", "X", given="X")
    refuses(InvalidArgument, "max_quantities", derive, "X -> Y", "Y", "X", max_quantities=0)


def test_separation_on_bit_sets_is_separation_by_paths():
    """With any edges cut, bit sets say what all paths of the graph that is left say."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        size = int(rng.integers(2, 6))
        directed, bidirected = random_causes(rng, size)
        masks = MaskGraph.of(causal_graph(size, directed, bidirected))
        x, y, *others = rng.permutation(list(NAMES[:size])).tolist()
        given = [node for node in others if rng.random() < 0.4]
        into = [node for node in NAMES[:size] if rng.random() < 0.2]
        out = [node for node in NAMES[:size] if rng.random() < 0.2]
        edges = [(a, "->", b) for a, b in directed if b not in into and a not in out]
        edges += [(a, "<->", b) for a, b in bidirected if a not in into and b not in into]
        sets = map(masks.mask, ([x], [y], given, into, out))
        assert masks.separated(*sets) is is_separated(edges, x, y, given)


def test_adjustments_are_derived_in_large_graphs():
    """Thirty confounders are too many for a search; each step of the adjustment is a rule that applies."""
    graph = CausalGraph("X -> Y; " + "; ".join(f"X <- C{k} -> Y" for k in range(30)))
    derivation = derive(graph, "Y", "X").derivation
    assert derivation.rules == (2, 3)
    assert all(step.applies for step in derivation.steps if isinstance(step, RuleStep))
    assert derivation.formula.count("P(") == 2
