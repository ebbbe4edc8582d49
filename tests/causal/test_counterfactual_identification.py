"""ID* and IDC*: estimands are right on every model, and refusals are right by linear algebra."""

from itertools import combinations, product

import numpy as np
import pytest

from functional_oracle import Mechanism, Mechanisms
from plausible.causal.counterfactuals.identification import identify_counterfactual
from plausible.causal.counterfactuals.potential import Potential
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidGraph, NotIdentifiable, UnknownVariable
from plausible.graphs import CausalGraph
from refusals import refuses

NAMES = "ABCD"


def _random_event(rng, states, num_terms):
    """Terms of random worlds -> states; often of one variable in several worlds."""
    event, name = {}, str(rng.choice(list(states)))
    for _ in range(num_terms):
        do = {name: int(rng.integers(size)) for name, size in states.items() if rng.random() < 0.35}
        name = name if rng.random() < 0.4 else str(rng.choice(list(states)))
        event[Potential(name, do)] = int(rng.integers(states[name]))
    return event


def _split(rng, event):
    """Some terms as the event, the others as what is given."""
    terms = list(event)
    cut = int(rng.integers(1, len(terms) + 1))
    return {t: event[t] for t in terms[:cut]}, {t: event[t] for t in terms[cut:]}


def _identify(graph, event, given):
    """The estimand; None where there is none; the text of the error where the question is void."""
    try:
        return identify_counterfactual(graph, event, given)
    except NotIdentifiable:
        return None
    except ImpossibleEvidence:
        return "void"


# --- soundness ---


def _random_graph(rng, size):
    names = NAMES[:size]
    pairs = list(combinations(names, 2))
    edges = [f"{a} -> {b}" for a, b in pairs if rng.random() < 0.5]
    edges += [f"{a} <-> {b}" for a, b in pairs if rng.random() < 0.3]
    return CausalGraph("; ".join([*names, *edges]))


def _random_model(rng, graph):
    """Random binary mechanisms; a ternary latent cause for each `<->`, and one of its own for each variable."""
    noise = {f"U_{name}": 3 for name in graph.nodes}
    latent = {edge.ends: f"L_{edge.left}_{edge.right}" for edge in graph.edges if edge.is_bidirected}
    noise |= dict.fromkeys(latent.values(), 3)
    joint = np.ones(())
    for size in noise.values():
        joint = np.multiply.outer(joint, rng.dirichlet(np.ones(size)))
    plain = Mechanisms(noise, joint)
    for name in graph.topological_order:
        causes = [*graph.parents(name), f"U_{name}", *(u for ends, u in latent.items() if name in ends)]
        sizes = [noise.get(cause, 2) for cause in causes]
        plain.sizes[name] = 2
        plain.mechanisms[name] = Mechanism(causes, rng.integers(0, 2, size=sizes))
    return plain


@pytest.mark.parametrize("seed", range(4))
def test_estimands_equal_the_truth_on_random_models(seed):
    """P(event | given) from interventional distributions alone, against listing all units."""
    rng = np.random.default_rng(seed)
    identified = 0
    for _ in range(20):
        graph = _random_graph(rng, int(rng.integers(2, 5)))
        event, given = _split(rng, _random_event(rng, dict.fromkeys(graph.nodes, 2), int(rng.integers(1, 4))))
        estimand = _identify(graph, event, given)
        if estimand is None:
            continue
        plain = _random_model(rng, graph)
        known = [(t.variable, t.do, [s]) for t, s in given.items() if t.variable not in t.do]
        is_void = any(t.do.get(t.variable, s) != s for t, s in given.items())
        terms = [(t.variable, t.do) for t in event]
        expected = None if is_void else _truth(plain, terms, tuple(event.values()), known)
        if estimand == "void":
            assert expected is None
        elif expected is not None:
            identified += 1
            assert estimand.evaluate(plain.model()) == pytest.approx(expected, abs=1e-10), (graph, event, given)
    assert identified > 4


def _truth(plain, terms, states, known):
    total = hit = 0.0
    for units, chance in plain.listed():
        if all(_value(plain, name, do, units) in allowed for name, do, allowed in known):
            total += chance
            hit += chance * all(_value(plain, *t, units) == s for t, s in zip(terms, states, strict=True))
    return hit / total if total > 0 else None


def _value(plain, name, do, units):
    return do[name] if name in do else plain.value(name, do, units)


# --- completeness ---

#: Districts in which any joint distribution of types is allowed: one model class for each set of them.
DISTRICTS = [["A", "B", "C"], ["AB", "C"], ["AC", "B"], ["BC", "A"], ["ABC"]]


class _Types:
    """All functions of three variables over a graph, and a random distribution over them for each district.

    Three states each, as two states are special: P(Y_0, X = 1) = P(Y_0) - P(Y, X = 0) there. Only a variable with two
    parents, which is nobody's parent, has two.
    """

    def __init__(self, rng, parents, districts):
        self.parents, self.districts = parents, districts
        self.states = {v: 2 if len(parents[v]) == 2 else 3 for v in "ABC"}
        rows = {v: 3 ** len(parents[v]) for v in "ABC"}
        self.functions = {v: np.array(list(product(range(self.states[v]), repeat=rows[v]))) for v in "ABC"}
        sizes = [int(np.prod([len(self.functions[v]) for v in d])) for d in districts]
        self.chances = [rng.dirichlet(np.ones(size)) for size in sizes]

    def value(self, variable, do):
        """Its state for all triples of functions, an axis for each variable."""
        if variable in do:
            return np.full((1, 1, 1), do[variable])
        row = np.zeros((1, 1, 1), dtype=int)
        for parent in self.parents[variable]:
            row = 3 * row + self.value(parent, do)
        shape = [-1 if v == variable else 1 for v in "ABC"]
        own = np.arange(len(self.functions[variable])).reshape(shape)
        return self.functions[variable][own, row]

    def indicator(self, event):
        """1 for each triple of functions that the event holds for; an axis for each district."""
        cube = np.ones([len(self.functions[v]) for v in "ABC"])
        for term, state in event.items():
            cube *= self.value(term.variable, term.do) == state
        order = ["ABC".index(v) for d in self.districts for v in d]
        return cube.transpose(order).reshape([len(chances) for chances in self.chances])

    def gradient(self, indicator):
        """The derivatives of its probability by all chances, and the probability."""
        parts = []
        for skipped in range(len(self.districts)):
            rest = np.moveaxis(indicator, skipped, 0)
            for other in reversed([c for d, c in enumerate(self.chances) if d != skipped]):
                rest = rest @ other
            parts.append(rest)
        return np.concatenate(parts), float(parts[0] @ self.chances[0])

    def experiments(self):
        """The derivatives of all interventional probabilities, and of the sums of chances."""
        rows = []
        for settings in product(*([None, *range(self.states[v])] for v in "ABC")):
            do = {v: s for v, s in zip("ABC", settings, strict=True) if s is not None}
            open_ = [v for v in "ABC" if v not in do]
            for states in product(*(range(self.states[v]) for v in open_)):
                event = {Potential(v, do): s for v, s in zip(open_, states, strict=True)}
                rows.append(self.gradient(self.indicator(event))[0])
        for place in range(len(self.chances)):
            parts = [np.full(len(c), float(d == place)) for d, c in enumerate(self.chances)]
            rows.append(np.concatenate(parts))
        return np.array(rows)


def _check_refusals(districts, edges, num_questions, seed):
    """Ask random questions of one graph; how many were refused, and how many answered."""
    rng = np.random.default_rng(seed)
    parents = {v: [a for a, b in edges if b == v] for v in "ABC"}
    bows = [f"{a} <-> {b}" for d in districts for a, b in combinations(d, 2)]
    graph = CausalGraph("; ".join([*"ABC", *(f"{a} -> {b}" for a, b in edges), *bows]))
    types = _Types(rng, parents, districts)
    basis = np.linalg.svd(types.experiments(), full_matrices=False)
    space = basis.Vh[1e-10 * basis.S[0] < basis.S]
    counts = np.zeros(2, dtype=int)
    for _ in range(num_questions):
        event, given = _split(rng, _random_event(rng, types.states, int(rng.integers(1, 4))))
        estimand = _identify(graph, event, given)
        below, chance = types.gradient(types.indicator(given))
        if estimand == "void" or chance < 1e-12:
            assert chance < 1e-12
            continue
        above, share = types.gradient(types.indicator({**given, **event}))
        slope = (above * chance - below * share) / chance**2
        rest = np.linalg.norm(slope - space.T @ (space @ slope)) / max(np.linalg.norm(slope), 1e-12)
        assert (estimand is None) == (rest > 1e-7), (str(graph), event, given, rest)
        counts[int(estimand is not None)] += 1
    return counts


AB, AC, BC = combinations("ABC", 2)
GRAPHS = [[AB], [BC], [AB, AC], [AB, BC]]
OTHERS = [[], [AC], [AC, BC], [AB, AC, BC]]


@pytest.mark.parametrize("districts", DISTRICTS, ids="|".join)
def test_an_answer_is_refused_exactly_if_it_can_change_while_all_experiments_stay(districts):
    """At a random model, the derivative of what experiments determine is a combination of theirs."""
    counts = sum(_check_refusals(districts, edges, 20, seed) for seed, edges in enumerate(GRAPHS))
    assert counts[1] > 10
    assert counts[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("districts", DISTRICTS, ids="|".join)
@pytest.mark.parametrize("edges", [*GRAPHS, *OTHERS], ids=str)
def test_refusals_are_right_for_colliders_too(districts, edges):
    """All graphs of three variables whose districts allow any dependence, more questions."""
    assert _check_refusals(districts, edges, 60, seed=7).sum() > 10


# --- known cases ---


def _y(**do):
    return Potential("Y", do)


@pytest.mark.parametrize(
    ("graph", "event", "given", "formula"),
    [
        ("X -> Y", {_y(X=1): 1}, {}, "P(Y=1 | do(X=1))"),
        ("X -> Y", {_y(X=1): 1}, {Potential("X"): 0}, "P(Y=1 | do(X=1))"),
        ("X -> Y", {_y(X=1): 1, Potential("X"): 1}, {}, "P(X=1) P(Y=1 | do(X=1))"),
        ("X -> Y", {Potential("X"): 1}, {_y(X=1): 1}, "P(X=1)"),
        ("X -> Y; X <-> Y", {_y(X=1): 1, Potential("X"): 1}, {}, "P(X=1, Y=1)"),
        ("X -> Y", {_y(X=1): 1, Potential("X", {"X": 1}): 1}, {}, "P(Y=1 | do(X=1))"),
        ("X -> Y", {_y(X=1): 1, Potential("X", {"X": 1}): 0}, {}, "0"),
        ("X -> Y", {_y(X=1): 1, _y(X=1, Y=0): 0}, {}, "P(Y=1 | do(X=1))"),
        ("X -> Y", {_y(X=1): 1, _y(): 0, Potential("X"): 1}, {}, "0"),
        ("X -> Y", {}, {}, "1"),
    ],
)
def test_known_estimands(graph, event, given, formula):
    """Consistency, effectiveness and exchange, in print."""
    assert str(identify_counterfactual(graph, event, given)) == formula


def test_the_published_example_of_a_conditional_counterfactual():
    """P(y_x | x', z_d, d) = Σ_w P(y, x' | do(w, z)) P(w | do(x)) / P(x') (Shpitser & Pearl 2008, figure 9)."""
    graph = "X -> W -> Y; D -> Z -> Y; X <-> Y"
    given = {Potential("X"): 0, Potential("Z", {"D": 1}): 1, Potential("D"): 1}
    found = identify_counterfactual(graph, {_y(X=1): 1}, given)
    assert found.formula == "Σ_{w} P(X=0, Y=1 | do(W=w, Z=1)) P(W=w | do(X=1)) / (P(X=0))"
    assert len(list(found.experiments())) == 3


@pytest.mark.parametrize(
    ("graph", "event", "given"),
    [
        ("X -> Y", {_y(X=1): 1, _y(X=0): 0}, {}),
        ("X -> Y; X <-> Y", {_y(X=1): 1, Potential("X"): 0}, {}),
        ("X -> Y; X <-> Y", {_y(X=1): 1}, {Potential("X"): 0}),
        ("X -> Z; X -> Y; Y <-> Z", {_y(X=1): 1, Potential("Z", {"X": 0}): 1}, {}),
    ],
)
def test_what_no_experiment_shows_is_refused(graph, event, given):
    """The same unit in two states at once; the district is named."""
    with pytest.raises(NotIdentifiable, match="district") as caught:
        identify_counterfactual(graph, event, given)
    assert len(caught.value.hedge) == 2


def test_questions_that_make_no_sense_are_refused():
    """Names, nesting, conditions that can't hold."""
    refuses(UnknownVariable, "'Q'", identify_counterfactual, "X -> Y", {Potential("Q"): 1})
    refuses(InvalidArgument, "nested", identify_counterfactual, "X -> Y", {_y(X=Potential("X")): 1})
    refuses(InvalidArgument, "potential responses", identify_counterfactual, "X -> Y", {("Y", 1): 1})
    with pytest.raises(ImpossibleEvidence, match="can't happen"):
        identify_counterfactual("X -> Y", {_y(): 1}, {Potential("X", {"X": 1}): 0})
    with pytest.raises(ImpossibleEvidence, match="can't happen"):
        identify_counterfactual("X -> Y", {_y(): 1}, {_y(X=1): 1, Potential("X"): 1, _y(): 0})
    never = Mechanisms({"U": 1}, np.ones(1), {"X": 2, "Y": 2})
    never.mechanisms = {"X": Mechanism(["U"], np.zeros(1, int)), "Y": Mechanism(["X", "U"], np.zeros((2, 1), int))}
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        identify_counterfactual("X -> Y; X <-> Y", {_y(X=1): 1}, {Potential("X"): 1}).evaluate(never.model())


def test_an_event_gives_one_state_to_each_and_the_graph_has_arrows():
    refuses(InvalidArgument, r"Y\[X=1\] is said to be \[0, 1\]", identify_counterfactual, "X -> Y", {_y(X=1): [0, 1]})
    refuses(InvalidArgument, "'X' is set to", _y, X=[0, 1])
    refuses(InvalidGraph, "'->' and '<->'", identify_counterfactual, "X o-> Y", {_y(X=1): 1})
