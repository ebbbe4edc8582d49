"""Sets to adjust for, front-door sets and instruments, in graphs and classes, against exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest

import adjustment_oracle as oracle
from calculus_oracle import LatentModel, causal_graph, parts_of, random_causes
from marked_graph_oracles import ancestors, consistent_orientations, is_separated, subsets
from plausible import BayesianNetwork, TableCPD
from plausible.causal.adjustment.mediators import check_front_door, front_door_set, front_door_sets
from plausible.causal.adjustment.sets import (
    adjustment_set,
    adjustment_sets,
    check_adjustment,
    check_instrument,
    instruments,
    is_adjustment_set,
    optimal_adjustment_set,
)
from plausible.errors import InvalidArgument, NotSupported, PlausibleWarning, UnknownVariable
from plausible.graphs import DAG, MAG, PAG, PDAG, CausalGraph, apply_meek_rules, essential_graph
from refusals import refuses

STUDENT = DAG("D -> G <- I -> S; G -> J; S -> J")
IDENTIFIABLE = {
    "a": "X -> Y; X -> Z -> Y; Z <-> Y",
    "b": "Z -> X; Z -> Y; X -> Y; Z <-> Y",
    "c": "Z -> X; Z -> Y; X -> Y; Z <-> X",
    "d": "X -> Z -> Y; X <-> Y",
    "e": "X -> Y; X -> Z1 -> Y; Z1 -> Z2 -> Y; X <-> Z2; Z1 <-> Y",
    "f": "Z2 -> X -> Z1 -> Y; Z2 -> Z1; Z2 -> Z3 -> Y; Z2 <-> X; Z2 <-> Y; X <-> Z3; X <-> Y",
}
NOT_IDENTIFIABLE = (
    "X -> Y; X <-> Y",
    "X -> Z -> Y; X <-> Z",
    "X -> Z -> Y; X -> Y; X <-> Z",
    "X -> Y; Z -> Y; X <-> Z; Z <-> Y",
    "Z -> X -> Y; X <-> Z; Z <-> Y",
    "X -> Z -> Y; X <-> Y; Z <-> Y",
    "X -> Z1 -> Y; Z2 -> Y; X <-> Z2; Z1 <-> Z2",
    "Z -> X -> W -> Y; X <-> Z; X <-> Y; W <-> Z; Z <-> Y",
)


def _cases(seed, number, max_nodes=5):
    """Random causal graphs with one or two treatments and outcomes."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        size = int(rng.integers(2, max_nodes + 1))
        nodes = "ABCDE"[:size]
        edges = oracle.random_edges(rng, nodes, rng.uniform(0.2, 0.8), rng.uniform(0, 0.5))
        num_treatments = int(rng.integers(1, min(3, size)))
        num_outcomes = 1 + int(rng.random() < 0.3 and num_treatments + 2 <= size)
        x, y = nodes[:num_treatments], nodes[num_treatments : num_treatments + num_outcomes]
        yield rng, nodes, edges, CausalGraph(edges, nodes=list(nodes)), list(x), list(y)


def _chosen(nodes, x, y, is_right):
    return {frozenset(given) for given in subsets(v for v in nodes if v not in (*x, *y)) if is_right(list(given))}


def test_valid_sets_are_those_of_the_definition_and_minimal_ones_are_all_found():
    """Exhaustive search over all subsets, with every proper path looked at."""
    num_right = 0
    for rng, nodes, edges, graph, x, y in _cases(1, 200):
        right = oracle.valid_sets(nodes, edges, x, y)
        assert _chosen(nodes, x, y, lambda given: is_adjustment_set(graph, y, x, given)) == right  # noqa: B023
        listed = list(adjustment_sets(graph, y, x, limit=None))
        assert len(listed) == len(set(listed))
        assert set(listed) == oracle.minimal(right)
        one = adjustment_set(graph, y, x)
        assert one in oracle.minimal(right) if right else one is None
        costs = {node: float(rng.integers(0, 4)) for node in nodes}
        cheapest = adjustment_set(graph, y, x, costs=costs)
        if right:
            assert cheapest in oracle.minimal(right)
            assert sum(map(costs.get, cheapest)) == min(sum(map(costs.get, members)) for members in right)
        num_right += bool(right)
    assert num_right > 40


def test_included_and_allowed_nodes_restrict_the_sets():
    """Of the valid sets, those between the two bounds; minimal means that nothing but what is included can go."""
    for rng, nodes, edges, graph, x, y in _cases(2, 150):
        others = [node for node in nodes if node not in (*x, *y)]
        included = {node for node in others if rng.random() < 0.3}
        allowed = included | {node for node in others if rng.random() < 0.7}
        right = {members for members in oracle.valid_sets(nodes, edges, x, y) if included <= members <= allowed}
        assert set(adjustment_sets(graph, y, x, included=included, allowed=allowed)) == oracle.minimal(right)


def test_back_door_sets_are_those_of_the_definition():
    """No descendant of the treatment, and every path that enters it blocked."""
    for _, nodes, edges, graph, x, y in _cases(3, 200):
        if len(x) == len(y) == 1:
            right = oracle.back_door_sets(nodes, edges, x[0], y[0])
            found = _chosen(nodes, x, y, lambda given: is_adjustment_set(graph, y, x, given, "back-door"))  # noqa: B023
            assert found == right
            assert set(adjustment_sets(graph, y, x, criterion="back-door")) == oracle.minimal(right)


def test_adjustment_equals_the_effect_exactly_for_the_sets_that_pass():
    """Σ_w P(y | x, w) P(w) against the mutilated latent model: equal if the criterion holds, else not."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        size = int(rng.integers(3, 5))
        graph = causal_graph(size, *random_causes(rng, size))
        model = LatentModel(rng, graph.nodes, *parts_of(graph))
        x, y, *others = graph.nodes
        effect = model.probability([y], [x])
        for given in subsets(others):
            marginal = model.probability(given) if given else 1.0
            adjusted = (model.probability([y], given=[x, *given]) * marginal).sum(axis=model.axes(given), keepdims=True)
            same = np.abs(adjusted - effect).max() < 1e-10
            assert same == is_adjustment_set(graph, y, x, given), (graph, given)


def test_optimal_set_is_right_and_has_the_least_variance_in_linear_models():
    """The residual variance ratio that makes up the asymptotic variance of least squares (Henckel et al. 2022)."""
    rng = np.random.default_rng(5)
    num_compared = 0
    for _ in range(60):
        nodes = "XYABC"
        edges = oracle.random_edges(rng, nodes, 0.5, 0.0)
        best = optimal_adjustment_set(CausalGraph(edges, nodes=list(nodes)), "Y", "X")
        right = oracle.valid_sets(nodes, edges, ["X"], ["Y"])
        if "X" not in ancestors(edges, "Y"):
            assert best is None
            continue
        assert (best in right) if right else best is None
        if not right:
            continue
        matrix = np.zeros((5, 5))
        for a, _, b in edges:
            matrix[nodes.index(b), nodes.index(a)] = rng.uniform(0.5, 1.5)
        inverse = np.linalg.inv(np.eye(5) - matrix)
        covariance = inverse @ np.diag(rng.uniform(0.5, 2, 5)) @ inverse.T
        variances = {members: _slope_variance(covariance, nodes, members) for members in right}
        assert variances[best] <= min(variances.values()) * (1 + 1e-9)
        num_compared += len(right) > 1
    assert num_compared > 10


def _slope_variance(covariance, nodes, members):
    def residual(target, given):
        places = [nodes.index(node) for node in given]
        target = nodes.index(target)
        if not places:
            return covariance[target, target]
        cross = covariance[target, places]
        return covariance[target, target] - cross @ np.linalg.solve(covariance[np.ix_(places, places)], cross)

    return residual("Y", ["X", *members]) / residual("X", list(members))


def test_front_door_sets_are_those_of_the_definition():
    """Pearl's three conditions, path by path; the minimal one has no smaller one inside."""
    num_found = 0
    for _, nodes, edges, graph, x, y in _cases(6, 200):
        right = oracle.front_door_sets(nodes, edges, x, y)
        assert set(front_door_sets(graph, y, x, limit=None)) == right
        found = _chosen(nodes, x, y, lambda given: check_front_door(graph, y, x, given).is_valid)  # noqa: B023
        assert found == right
        one = front_door_set(graph, y, x)
        assert one in oracle.minimal(right) if right else one is None
        num_found += any(right)
    assert num_found > 10


def test_instruments_are_found_wherever_there_is_one():
    """By definition, over all variables and conditions; every one found is one."""
    num_found = 0
    rng = np.random.default_rng(7)
    for _ in range(120):
        nodes = "XYABC"[: int(rng.integers(3, 6))]
        edges = oracle.random_edges(rng, nodes, rng.uniform(0.2, 0.7), rng.uniform(0, 0.4))
        graph = CausalGraph(edges, nodes=list(nodes))
        right = _instruments_by_definition(nodes, edges)
        for z in nodes[2:]:
            for given in subsets(node for node in nodes[2:] if node != z):
                check = check_instrument(graph, "Y", "X", z, list(given))
                assert check.is_valid == ((z, frozenset(given)) in right)
        found = [(each.node, each.given) for each in instruments(graph, "Y", "X")]
        assert bool(found) == bool(right)
        assert set(found) <= right
        num_found += bool(found)
    assert num_found > 20


def _instruments_by_definition(nodes, edges):
    forbidden = oracle.forbidden_nodes(nodes, edges, ["X"], ["Y"])
    paths = [path for path in oracle.proper_paths(edges, ["X"], ["Y"]) if oracle.is_causal(path)]
    cut = [edge for edge in edges if edge not in [path[0] for path in paths]]
    return {
        (z, frozenset(given))
        for z in nodes[2:]
        for given in subsets(node for node in nodes[2:] if node != z)
        if not forbidden & {z, *given} and is_separated(cut, z, "Y", given) and not is_separated(cut, z, "X", given)
    }


def test_expressions_of_valid_checks_evaluate_to_the_effect():
    """On random networks Σ_w P(y | x, w) P(w) and the front-door formula equal the mutilated network; else refused."""
    rng = np.random.default_rng(9)
    chain = DAG("C -> X -> M -> Y; C -> Y; B -> C; B -> M")
    network = _random_network(rng, chain)
    effect = np.stack([network.query("Y", do={"X": value}).values for value in (0, 1)])
    for given in subsets(["C", "M", "B"]):
        check = check_adjustment(chain, "Y", "X", given)
        if check.is_valid:
            found = check.expression.evaluate(network).reorder(["X", "Y"])
            np.testing.assert_allclose(found.values, effect, atol=1e-12)
        else:
            with pytest.raises(InvalidArgument, match="not right to adjust for"):
                _ = check.expression
    network = _random_network(rng, DAG("U -> X -> M -> Y; U -> Y"))
    effect = np.stack([network.query("Y", do={"X": value}).values for value in (0, 1)])
    check = check_front_door("X -> M -> Y; X <-> Y", "Y", "X", "M")
    np.testing.assert_allclose(check.expression.evaluate(network).reorder(["X", "Y"]).values, effect, atol=1e-12)
    with pytest.raises(InvalidArgument, match="front-door criterion"):
        _ = check_front_door("X -> M -> Y; M <-> Y", "Y", "X", "M").expression


def _random_network(rng, dag):
    cpds = [
        TableCPD(node, rng.dirichlet(np.ones(2), size=[2] * len(dag.parents(node))), list(dag.parents(node)))
        for node in dag.nodes
    ]
    return BayesianNetwork(*cpds)


# --- worked graphs ---


@pytest.mark.parametrize(
    ("name", "sets"), [("a", [set()]), ("b", [{"Z"}]), ("c", [{"Z"}]), ("d", []), ("e", []), ("f", [])]
)
def test_adjustment_in_the_identifiable_figures(name, sets):
    """(a) needs nothing, (b) and (c) need Z, (d), (e) and (f) can't be had by adjustment."""
    assert [set(found) for found in adjustment_sets(IDENTIFIABLE[name], "Y", "X")] == sets


def test_front_door_in_the_identifiable_figures():
    """Only (d), and trivially none of the others, has a front-door set."""
    found = {name: front_door_set(text, "Y", "X") for name, text in IDENTIFIABLE.items()}
    assert found == {"a": None, "b": None, "c": None, "d": {"Z"}, "e": None, "f": None}


@pytest.mark.parametrize("text", NOT_IDENTIFIABLE)
def test_what_is_not_identifiable_has_no_set(text):
    """Neither criterion holds in a graph whose effect is not identifiable."""
    assert adjustment_set(text, "Y", "X") is None
    assert front_door_set(text, "Y", "X") is None


def test_a_joint_intervention_can_have_a_set_where_single_ones_have_none():
    """Exercise 21.5: in figure 21.4 (g) P(Y | do X, do Z1) is had by adjustment, P(Y | do X) is not identifiable."""
    graph = "X -> Z1 -> Y; Z2 -> Y; X <-> Z2; Z1 <-> Z2"
    assert adjustment_set(graph, "Y", "X") is None
    assert adjustment_set(graph, "Y", ["X", "Z1"]) == {"Z2"}
    assert adjustment_set(graph, "Y", "Z1") is not None


def test_student_has_the_back_door_trail_of_the_text():
    """G <- I -> S -> J is open; S, or I, closes it."""
    check = check_adjustment(STUDENT, outcome="J", treatment="G")
    assert str(check.trail) == "G <- I -> S -> J"
    assert "G <- I -> S -> J is open" in str(check)
    assert {frozenset("I"), frozenset("S")} == set(adjustment_sets(STUDENT, "J", "G"))
    assert optimal_adjustment_set(STUDENT, "J", "G") == {"S"}


def test_descendants_are_named():
    """What lies on or below a causal path is told."""
    check = check_adjustment("X -> M -> Y; M -> N", "Y", "X", given=["N"])
    assert not check.is_valid
    assert check.forbidden == ("N",)
    assert "N lies on or below a causal path" in str(check)
    below = check_adjustment("X -> Y; X -> D", "Y", "X", given="D", criterion="back-door")
    assert below.forbidden == ("D",)
    assert is_adjustment_set("X -> Y; X -> D", "Y", "X", given="D")


def test_degenerate_graphs():
    """No edge, no path, and effects against the arrows."""
    graph = CausalGraph(nodes=["X", "Y", "Z"])
    assert adjustment_set(graph, "Y", "X") == frozenset()
    assert front_door_set(graph, "Y", "X") == frozenset()
    assert instruments(graph, "Y", "X") == ()
    assert adjustment_set("Y -> X", "Y", "X") is None
    assert optimal_adjustment_set("Y -> X", "Y", "X") is None
    assert list(adjustment_sets("A -> X -> Y; A -> Y", "Y", "X", limit=0)) == []


def test_mistakes_are_told():
    """Unknown nodes, overlaps, empty sides, costs, criteria, kinds of graphs."""
    refuses(UnknownVariable, "'Q'", adjustment_set, "X -> Y", "Y", "Q")
    refuses(InvalidArgument, "both in outcome=", adjustment_set, "X -> Y", "Y", ["X", "Y"])
    refuses(InvalidArgument, "treatment= is empty", adjustment_set, "X -> Y", "Y", [])
    refuses(InvalidArgument, "'X' can't be both", adjustment_set, "X -> Y", "Y", "X", included="X")
    refuses(InvalidArgument, "'Z' the cost -1", adjustment_set, "X -> Y; Z -> Y", "Y", "X", costs={"Z": -1})
    refuses(UnknownVariable, "costs=", adjustment_set, "X -> Y", "Y", "X", costs={"Q": 1})
    refuses(InvalidArgument, "no criterion 'backdoor'", check_adjustment, "X -> Y", "Y", "X", criterion="backdoor")
    refuses(NotSupported, "'X <-> Z'", optimal_adjustment_set, "X -> Y; X <-> Z", "Y", "X")
    refuses(InvalidArgument, "treatment= takes one node", check_instrument, "Z -> X -> Y; Z -> W", "Y", ["X", "W"], "Z")


def test_long_graphs_take_little():
    """All questions about 400 nodes: polynomial in code, too."""
    rng = np.random.default_rng(8)
    edges = [(int(j), "->", i) for i in range(1, 400) for j in rng.choice(i, size=min(i, 3), replace=False)]
    graph = CausalGraph(edges, nodes=range(400))
    members = adjustment_set(graph, 390, 200)
    assert is_adjustment_set(graph, 390, 200, members)
    assert len(list(adjustment_sets(graph, 390, 200, limit=20))) == 20
    cheapest = adjustment_set(graph, 390, 200, costs={})
    assert len(cheapest) <= len(members)
    assert front_door_set(graph, 390, 200) is not None


def test_a_listing_that_is_cut_at_the_usual_limit_says_so():
    """Seven pairs make 128 sets: 100 are listed with a warning, all or fewer on request without one."""
    pairs = "; ".join(f"X <- A{k} -> B{k} -> Y" for k in range(7))
    with pytest.warns(PlausibleWarning, match="limit=None"):
        assert len(list(adjustment_sets(f"X -> Y; {pairs}", "Y", "X"))) == 100
    assert len(list(adjustment_sets(f"X -> Y; {pairs}", "Y", "X", limit=None))) == 128
    assert len(list(adjustment_sets(f"X -> Y; {pairs}", "Y", "X", limit=5))) == 5


def test_what_must_be_in_a_set_must_be_allowed():
    """Otherwise no set could do, and the mistake is told."""
    with pytest.raises(InvalidArgument, match="included= asks for 'C', which allowed= leaves out"):
        adjustment_set("C -> X -> Y; C -> Y; D -> Y", "Y", "X", included="C", allowed="D")


def _random_class(rng, nodes):
    """The class PDAG of a random DAG, with some of its directions known besides."""
    pairs = [(a, b) for a, _, b in oracle.random_edges(rng, nodes, rng.uniform(0.3, 0.9), 0.0)]
    pdag = essential_graph(DAG(pairs, nodes=list(nodes)))
    for _ in range(int(rng.integers(0, 3))):
        if pdag.undirected_edges:
            a, b = pdag.undirected_edges[int(rng.integers(len(pdag.undirected_edges)))]
            pdag = apply_meek_rules(pdag.with_direction(*((a, b) if (a, b) in pairs else (b, a))))
    return pdag


def test_sets_for_a_pdag_are_right_in_all_its_dags():
    """With one and two treatments, with and without background knowledge; optimal sets agree, too."""
    rng = np.random.default_rng(0)
    num_right = 0
    for _ in range(80):
        nodes = "ABCDE"[: int(rng.integers(3, 6))]
        pdag = _random_class(rng, nodes)
        members = list(consistent_orientations(nodes, set(pdag.directed_edges), list(pdag.undirected_edges)))
        x = list(nodes[: int(rng.integers(1, 3))])
        y = [nodes[len(x)]]
        graphs = [[(a, "->", b) for a, b in arrows] for arrows in members]
        right = set.intersection(*(oracle.valid_sets(nodes, edges, x, y) for edges in graphs))
        others = [node for node in nodes if node not in (*x, *y)]
        found = {frozenset(given) for given in subsets(others) if is_adjustment_set(pdag, y, x, given)}
        assert found == right, pdag
        assert set(adjustment_sets(pdag, y, x)) == oracle.minimal(right)
        if right:
            best = {optimal_adjustment_set(DAG(arrows, nodes=list(nodes)), y, x) for arrows in members}
            assert best == {optimal_adjustment_set(pdag, y, x)}
            num_right += len(members) > 1
    assert num_right > 4


def test_sets_for_a_pag_are_right_in_all_causal_graphs_with_its_separations():
    """All classes over four nodes, each against every causal graph with latent causes that is in it."""
    graphs = oracle.AllGraphs(4)
    names = "XYAB"
    valid = {given: graphs.valid(0, 1, given) for given in subsets([2, 3])}
    num_right = 0
    for members in graphs.classes():
        pag = PAG(graphs.class_edges(members, names), nodes=list(names))
        right = {frozenset(names[i] for i in given) for given, is_valid in valid.items() if is_valid[members].all()}
        found = {frozenset(given) for given in subsets("AB") if is_adjustment_set(pag, "Y", "X", given)}
        assert found == right, pag
        assert set(adjustment_sets(pag, "Y", "X")) == oracle.minimal(right)
        num_right += bool(right)
    assert num_right > 50


def test_an_edge_that_may_be_confounded_leaves_no_set():
    """X -> Y alone may hide a latent common cause; a node that points into X alone makes it visible."""
    check = check_adjustment(MAG("X -> Y"), "Y", "X")
    assert not check.is_valid
    assert str(check.unclear) == "X -> Y"
    assert "no set will do" in str(check)
    assert is_adjustment_set(PAG("A o-> X; B o-> X; X -> Y"), "Y", "X")
    assert adjustment_set(PAG("X o-o Y"), "Y", "X") is None
    assert adjustment_set(PDAG("X - Y"), "Y", "X") is None


def test_a_pdag_is_closed_before_it_is_asked():
    """A -> X - Y without a collider at X means X -> Y."""
    assert adjustment_set(PDAG("A -> X - Y"), "Y", "X") == frozenset()


def test_what_a_class_has_no_answer_to_is_refused():
    """The back-door criterion is about one graph; selection hides the effect."""
    refuses(NotSupported, "back-door", check_adjustment, PDAG("X - Y"), "Y", "X", criterion="back-door")
    refuses(NotSupported, "selection", adjustment_set, MAG("X - A; Y"), "Y", "X")


def test_the_reason_of_a_directed_edge_is_that_it_may_hide_a_common_cause():
    """Only where the mark at the treatment is open, it is open whether a causal path begins there."""
    assert "'A -> B' may hide a common cause (it is not visible): no set" in str(
        check_adjustment(MAG("A -> B"), "B", "A")
    )
    assert "'A o-> B' leaves open whether a causal path" in str(check_adjustment(PAG("A o-> B"), "B", "A"))
    assert "'A - B' leaves open whether a causal path" in str(check_adjustment(PDAG("A - B"), "B", "A"))
