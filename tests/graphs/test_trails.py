"""Active trails and the reasons for separation."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import dags, few, node_sets
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.dag import DAG
from plausible.graphs.trails import Junction
from refusals import refuses

STUDENT = DAG("D -> G <- I -> S; G -> L")


# --- the oracle: all simple trails by recursion, judged by the definition ---


def all_trails(graph, path, targets, avoid):
    """Extensions of `path` that end at the first target they meet and never enter `avoid`."""
    if path[-1] in targets:
        yield path
        return
    for node in (*graph.parents(path[-1]), *graph.children(path[-1])):
        if node not in path and node not in avoid:
            yield from all_trails(graph, (*path, node), targets, avoid)


def opens(graph, a, node, b, z):
    if graph.has_edge(a, node) and graph.has_edge(b, node):
        return bool(({node} | graph.descendants(node)) & z)
    return node not in z


def proper_trails(graph, x, y, z):
    starts, targets = x - z, y - z
    return [path for start in starts for path in all_trails(graph, (start,), targets, starts)]


def active(graph, path, z):
    return all(opens(graph, a, node, b, z) for a, node, b in zip(path, path[1:], path[2:], strict=False))


# --- active trails ---


@given(dags(6, min_nodes=1), st.data())
@few(60)
def test_active_trails_are_all_and_only_those_of_the_definition_shortest_first(graph, data):
    x, y, z = (data.draw(node_sets(graph)) for _ in range(3))
    expected = [path for path in proper_trails(graph, x, y, z) if active(graph, path, z)]
    listed = list(graph.active_trails(x, y, given=z, limit=None))
    assert sorted(trail.nodes for trail in listed) == sorted(expected)
    assert [len(trail.nodes) for trail in listed] == sorted(map(len, expected))
    assert all(trail.is_active and not trail.blockers for trail in listed)
    assert bool(listed) != graph.d_separated(x, y, given=z)


def test_junctions_name_their_role_and_witness():
    (trail,) = STUDENT.active_trails("D", "S", given="L")
    assert str(trail) == "D -> G <- I -> S"
    assert trail.arrows == ("->", "<-", "->")
    assert trail.junctions == (Junction("G", "collider", "L"), Junction("I", "fork", None))
    (trail,) = STUDENT.active_trails("D", "L")
    assert trail.junctions == (Junction("G", "chain", None),)


def test_the_nearest_observed_descendant_is_the_witness():
    graph = DAG("A -> C <- B; C -> D -> E -> F; C -> H -> E")
    (trail,) = graph.active_trails("A", "B", given=["F", "E"])
    assert trail.junctions[0].witness == "E"
    (trail,) = graph.active_trails("A", "B", given=["F", "E", "C"])
    assert trail.junctions[0].witness == "C"


def test_a_node_in_both_sets_is_a_trail_by_itself():
    assert [trail.nodes for trail in STUDENT.active_trails("D", "D")] == [("D",)]
    assert list(STUDENT.active_trails("D", "D", given="D")) == []


def ladder(rungs):
    """2^rungs directed paths from n0."""
    return DAG(
        [edge for k in range(rungs) for m in ("a", "b") for edge in ((f"n{k}", f"{m}{k}"), (f"{m}{k}", f"n{k + 1}"))]
    )


def test_trails_come_one_by_one_where_there_are_exponentially_many():
    graph = ladder(40)
    assert len(list(graph.active_trails("n0", "n40", limit=5))) == 5
    assert len(list(islice(graph.active_trails("n0", "n40", limit=None), 3))) == 3
    assert len(list(ladder(5).active_trails("n0", "n5"))) == 32
    assert len(list(ladder(7).active_trails("n0", "n7"))) == 100
    assert list(graph.active_trails("n0", "n40", limit=0)) == []


def test_dead_ends_cost_no_exponential_search():
    """The only active trail leaves by the side door; the ladder beyond is closed at its end."""
    graph = DAG((*ladder(40).edges, ("n40", "end"), ("n0", "side"), ("side", "end")))
    trails = list(graph.active_trails("n0", "end", given="n40", limit=None))
    assert [str(trail) for trail in trails] == ["n0 -> side -> end"]


def test_unknown_nodes_and_limits_are_refused_at_once():
    refuses(UnknownVariable, "'Q'", STUDENT.active_trails, "D", "Q")
    refuses(InvalidArgument, "limit=-1", STUDENT.active_trails, "D", "S", limit=-1)
    refuses(InvalidArgument, "limit=0", STUDENT.explain_separation, "D", "S", limit=0)


# --- explanations ---


@given(dags(6, min_nodes=1), st.data())
@few(60)
def test_an_explanation_shows_an_active_trail_or_a_blocker_on_every_trail(graph, data):
    x, y, z = (data.draw(node_sets(graph)) for _ in range(3))
    told = graph.explain_separation(x, y, given=z, limit=1000)
    trails = proper_trails(graph, x, y, z)
    assert told.separated == graph.d_separated(x, y, given=z) == (not any(active(graph, path, z) for path in trails))
    assert (set(told.x), set(told.y), set(told.given)) == (x - z, y - z, z)
    if told.separated:
        assert sorted(trail.nodes for trail in told.trails) == sorted(trails)
        assert told.complete
    else:
        (trail,) = told.trails
        assert active(graph, trail.nodes, z)
        assert len(trail.nodes) == min(len(path) for path in trails if active(graph, path, z))
    for trail in told.trails:
        for place, junction in enumerate(trail.junctions, start=1):
            assert junction.is_open == opens(graph, *trail.nodes[place - 1 : place + 2], z)
        assert trail.is_active != told.separated


def test_reasons_read_as_sentences():
    fork = DAG("S -> A; S -> B").explain_separation("A", "B", given="S")
    assert str(fork) == "A and B are d-separated given S:\n  A <- S -> B is blocked\n    S is a fork and is observed"
    assert "G is a collider and neither it nor a descendant is observed" in str(STUDENT.explain_separation("D", "S"))
    chain = str(DAG("A -> B -> C").explain_separation("A", "C", given="B"))
    assert "B is a chain and is observed" in chain
    collider = str(STUDENT.explain_separation("D", "I", given="G"))
    assert collider == (
        "D and I are d-connected given G:\n  D -> G <- I is active\n    G is a collider and is observed"
    )
    assert str(DAG("A; B").explain_separation("A", "B")) == "A and B are d-separated given nothing: no trail."
    assert str(DAG("A -> B").explain_separation("A", "B")).endswith("A -> B is active")
    assert '"blood pressure" is a chain' in str(
        DAG([("a", "blood pressure"), ("blood pressure", "c")]).explain_separation("a", "c")
    )


def test_an_explanation_stops_at_its_limit_and_says_so():
    graph = ladder(6)
    told = graph.explain_separation("n0", "n6", given="n3", limit=4)
    assert told.separated
    assert not told.complete
    assert len(told.trails) == 4
    assert str(told).endswith("... and more trails, all blocked")
