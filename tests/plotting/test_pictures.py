"""What pictures tell: beliefs, findings, interventions, trails, policies, differences, and what is hidden."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

import plausible as pb
from benchmark_networks import benchmark_network as read
from drawing_oracle import corners, ends_of, loose, overlapping, points_of, rising, under_foreign_boxes
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import clique_tree
from plausible.graphs.comparison import compare_structure
from plausible.learn.confidence.weighted_graphs import EdgeStrengths
from plausible.models import Notes, VariableNotes, compare
from plausible.plotting import Box, Path, Picture, Text
from plausible.plotting.measuring import text_width

ASIA = pb.examples.load("asia")


def node(picture: Picture, name: str):
    return next(part for part in picture.of_kind("node") if part.name == name)


def edge(picture: Picture, name: str):
    return next(part for part in picture.of_kind("edge") if part.name == name)


def line(picture: Picture, name: str) -> Path:
    return next(item for item in edge(picture, name).items if isinstance(item, Path) and item.is_curved)


def texts(part) -> list[str]:
    return [item.text for item in part.items if isinstance(item, Text)]


def notes(picture: Picture) -> str:
    return " ".join(part.title for part in picture.of_kind("note"))


def test_bars_are_as_long_as_beliefs_are_large():
    """The numbers are those of `marginals`, the lengths of bars their shares of the track, ticks the prior."""
    picture = ASIA.picture({"xray": "yes"})
    now, before = ASIA.marginals({"xray": "yes"}), ASIA.marginals()
    for name in ("lung", "smoke", "dysp"):
        part = node(picture, name)
        boxes = [item for item in part.items if isinstance(item, Box)]
        tracks, bars = ([box for box in boxes if box.fill == colour] for colour in ("track", "bar"))
        ticks = [item.points[0][0] for item in part.items if isinstance(item, Path)]
        shares = [bar.width / track.width for bar, track in zip(bars, tracks, strict=True)]
        assert shares == pytest.approx(now[name].flat, abs=1e-3)
        placed = [(tick - track.x) / track.width for tick, track in zip(ticks, tracks, strict=True)]
        assert placed == pytest.approx(before[name].flat, abs=2e-3)
        assert f"{100 * now[name].flat[0]:.1f}%" in texts(part)


def test_labels_bars_and_numbers_have_columns_of_their_own():
    """No text reaches into a bar: the faults of many programs."""
    network = pb.BayesianNetwork(
        pb.TableCPD("a long name of a variable", [1.0, 0.0], states=["a state with a very long name", "ESOPHAGEAL"])
    )
    from plausible.plotting.measuring import text_width

    part = node(network.picture(), "a long name of a variable")
    tracks = [item for item in part.items if isinstance(item, Box) and item.fill == "track"]
    for text in (item for item in part.items if isinstance(item, Text)):
        width = text_width(text.text, text.size, text.is_bold)
        left = text.x - width if text.anchor == "end" else text.x
        for track in tracks:
            if abs(text.y - (track.y + track.height)) < 8:
                assert left + width < track.x or left > track.x + track.width


def test_findings_are_marked_and_interventions_cut_arcs():
    """Seen, set and soft are words; arcs into what is set are dim and dashed, others are not."""
    picture = ASIA.picture({"xray": "yes", "dysp": pb.likelihood([0.9, 0.2])}, do={"lung": "yes"})
    assert "seen" in texts(node(picture, "xray"))
    assert "soft" in texts(node(picture, "dysp"))
    assert "set" in texts(node(picture, "lung"))
    assert line(picture, "smoke -> lung").is_dashed
    assert line(picture, "smoke -> lung").stroke == "faint"
    assert not line(picture, "lung -> either").is_dashed
    left = ASIA.query("smoke", {"xray": "yes", "dysp": pb.likelihood([0.9, 0.2])}, do={"lung": "yes"})
    assert texts(node(picture, "smoke"))[-1] == f"{100 * left.flat[1]:.1f}%"
    assert "xray = yes" in notes(picture)
    assert "lung = yes" in notes(picture)


def test_what_rounds_to_nothing_says_so_and_many_states_fold():
    """0+ is not 0%; of nine states five are shown and the rest summed up."""
    tiny = pb.BayesianNetwork(pb.TableCPD("A", [1e-7, 1 - 1e-7, 0.0]))
    assert {"0+", "100−", "0%"} <= set(texts(node(tiny.picture(), "A")))
    probabilities = np.array([1, 9, 2, 8, 3, 7, 4, 6, 5.0]) / 45
    many = node(pb.BayesianNetwork(pb.TableCPD("A", probabilities)).picture(), "A")
    assert [text for text in texts(many) if "%" not in text] == ["A", "1", "3", "5", "7", "8", "4 more"]
    assert f"{100 * 10 / 45:.1f}%" in texts(many)
    seen = node(pb.BayesianNetwork(pb.TableCPD("A", probabilities)).picture({"A": 0}), "A")
    assert "0" in texts(seen), "what is seen is never folded away"


def test_numbers_are_shown_by_mean_and_deviation():
    """x ~ N(1, 4), y = x/2 - 3.5 + N(0, 4): by hand."""
    network = pb.BayesianNetwork(
        pb.LinearGaussianCPD("x", 1.0, variance=4.0), pb.LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)
    )
    assert "1 ± 2" in texts(node(network.picture(), "x"))
    part = node(network.picture({"y": 2.0}), "x")
    assert "3 ± 1.79" in texts(part)  # gain 2 / 5 of the residual 5; variance 4 - 4 / 5
    assert "before: 1 ± 2" in texts(part)


def test_a_network_alone_is_drawn_without_inference(monkeypatch):
    """Neither representation asks the model anything."""
    monkeypatch.setattr(pb.BayesianNetwork, "marginals", lambda *_, **__: pytest.fail("inference"))
    assert "<svg" in ASIA._repr_html_()
    assert "lung" in ASIA._repr_svg_()


@pytest.mark.parametrize(
    "value",
    [
        ASIA,
        ASIA.to_markov_network(),
        ASIA.to_factor_graph(),
        ASIA.graph,
        ASIA.graph.skeleton(),
        pb.PDAG("A - B -> C"),
        pb.CausalGraph("A -> B; A <-> B"),
        pb.PAG("A o-> B; B -> C; A o-o D"),
        pb.MAG("A -> B"),
        pb.examples.load("oil"),
        pb.DAG(),
        pb.BayesianNetwork(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_model_and_graph_has_a_picture_in_notebooks(value):
    """As SVG, and within HTML, also where there is nothing in it."""
    assert value._repr_svg_().startswith("<svg")
    assert "<svg" in value._repr_html_()


def test_marks_are_drawn_at_the_ends_that_have_them():
    """A circle is a small oval, an arrow a filled triangle, `<->` dashed with two."""
    picture = pb.PAG("A o-> B; C o-o D; E <-> F").picture()

    def marks(name):
        items = edge(picture, name).items
        heads = sum(isinstance(item, Path) and item.fill is not None for item in items)
        return heads, sum(isinstance(item, Box) for item in items)

    assert marks("A o-> B") == (1, 1)
    assert marks("C o-o D") == (0, 2)
    assert marks("E <-> F") == (2, 0)
    assert line(picture, "E <-> F").is_dashed
    assert not line(picture, "A o-> B").is_dashed


def test_trails_and_sets_are_brought_out():
    """The edges of an active trail are thicker, its nodes marked; unknown nodes are refused."""
    graph = pb.DAG("D -> G <- I -> S; G -> L")
    trail = next(graph.active_trails("D", "S", given="L"))
    picture = graph.picture(trail)
    assert line(picture, "D -> G").thickness > line(picture, "G -> L").thickness
    framed = {
        part.name for part in graph.picture(graph.markov_blanket("D")).of_kind("node") if part.items[0].stroke == "bar"
    }
    assert framed == {"G", "I"}
    with pytest.raises(UnknownVariable, match="'Q'"):
        graph.picture("Q")


def test_separation_shows_what_blocks():
    """The collider blocks; once its child is given, the trail is active."""
    graph = pb.DAG("D -> G <- I -> S; G -> L")
    blocked = graph.explain_separation("D", "S").picture()
    assert "blocks" in texts(node(blocked, "G"))
    assert line(blocked, "D -> G").is_dashed
    active = graph.explain_separation("D", "S", given="L").picture()
    assert "given" in texts(node(active, "L"))
    assert not line(active, "D -> G").is_dashed
    assert "d-connected" in notes(active)
    latent = pb.CausalGraph("S -> T -> C; S <-> C").explain_separation("S", "C", given="T").picture()
    assert line(latent, "S <-> C").thickness > line(latent, "T -> C").thickness


def test_strengths_are_widths():
    """In the order of the numbers; of a bootstrap, of mutual information, and refused where negative."""
    graph = pb.DAG("A -> B -> C")
    picture = graph.picture(strengths={("A", "B"): 0.2, ("B", "C"): 0.9})
    assert line(picture, "A -> B").thickness < line(picture, "B -> C").thickness
    bootstrap = EdgeStrengths(("A", "B", "C"), np.array([[0, 0.3, 0], [0, 0, 0.6], [0, 0, 0]]), None, None, "test")
    assert (
        line(graph.picture(strengths=bootstrap), "B -> C").thickness
        > line(graph.picture(strengths=bootstrap), "A -> B").thickness
    )
    told = ASIA.picture(strengths="mutual-information")
    smoke_lung = ASIA.query(["smoke", "lung"])
    by_hand = sum(
        p * np.log(p / (smoke_lung.values.sum(1)[i] * smoke_lung.values.sum(0)[j]))
        for (i, j), p in np.ndenumerate(smoke_lung.values)
    )
    assert f"strength {by_hand:.3g}" in edge(told, "smoke -> lung").title
    with pytest.raises(InvalidArgument, match=r"-1"):
        graph.picture(strengths={("A", "B"): -1})
    with pytest.raises(InvalidArgument, match="strengths="):
        graph.picture(strengths=3)


def test_differences_of_two_networks_are_told_apart():
    """Common, added, removed and reversed arcs have looks of their own."""
    picture = compare_structure(
        pb.DAG("A -> B -> C; A -> D", nodes=list("ABCDE")), pb.DAG("A -> B <- C; C -> D", nodes=list("ABCDE"))
    ).picture()
    looks = {part.name: line(picture, part.name) for part in picture.of_kind("edge")}
    assert looks["A -> B"].stroke == "line"
    assert looks["C -> D"].stroke == "good"
    assert (looks["A -> D"].stroke, looks["A -> D"].is_dashed) == ("bad", True)
    assert looks["C -> B"].stroke == "set"
    assert "1 added" in notes(picture)
    networks = compare(ASIA, ASIA).picture()
    assert len(networks.of_kind("node")) == 8


def test_diagrams_have_their_shapes_and_solutions_their_policies():
    """Ovals, rectangles and rhombuses; what to do for what is seen, as the strategy says."""
    diagram = pb.examples.load("oil")
    picture = diagram.picture()
    assert {name: node(picture, name).items[0].shape for name in ("oil", "drill", "payoff")} == {
        "oil": "oval",
        "drill": "rectangle",
        "payoff": "rhombus",
    }
    assert line(picture, "seismic -> drill").is_dashed
    solution = diagram.solve()
    shown = texts(node(solution.picture(), "drill"))
    assert shown[0] == "drill"
    actions = solution.policies["drill"]
    rows = [row for row in range(len(actions.actions)) if actions.probability[row] > 0]
    assert len(shown) == 1 + (len(actions.uses) + 1) * (1 + len(rows))
    assert "Expected utility" in notes(solution.picture())


def test_plans_and_trees_show_cliques_and_what_they_share():
    """A box for each clique and each sepset; the largest clique stands out."""
    plan = ASIA.explain()
    picture = plan.picture()
    assert len(picture.of_kind("node")) == plan.num_cliques + len(plan.tree.edges)
    assert len(plan.tree.cliques) == plan.num_cliques
    assert "cliques" not in plan.to_dict()
    framed = [part for part in picture.of_kind("node") if part.items[0].stroke == "bar"]
    assert len(framed) == 1
    assert set(framed[0].title.partition(": ")[2].split(", ")) == set(plan.largest_clique)
    assert len(clique_tree(pb.UndirectedGraph("A - B - C")).picture().of_kind("node")) == 3


def test_large_networks_open_on_a_part_and_count_the_rest():
    """What is hidden is told for each node and in all; None draws everything."""
    graph = read("andes").graph
    leaf = graph.leaves[0]
    picture = graph.picture(focus=leaf)
    shown = {part.name for part in picture.of_kind("node")}
    assert {leaf, *graph.markov_blanket(leaf)} <= shown
    assert f"{len(shown)} of {len(graph)}" in notes(picture)
    assert f"{len(graph) - len(shown)} are hidden" in notes(picture)
    for part in picture.of_kind("node"):
        hidden = sum(other not in shown for other in graph.neighbors(part.name))
        assert (f"+{hidden}" in texts(part)) == (hidden > 0)
    assert len(graph.picture().of_kind("node")) <= 32
    assert len(graph.picture(focus=None).of_kind("node")) == len(graph)
    assert len(ASIA.picture(focus=["xray", "asia"]).of_kind("node")) >= 3
    with pytest.raises(UnknownVariable, match=r"'xrya'.*'xray'"):
        ASIA.picture(focus="xrya")
    with pytest.raises(InvalidArgument, match="names no node"):
        ASIA.graph.picture(focus=[])


def test_findings_are_the_focus_of_a_large_network():
    """What was seen is shown with what is around it."""
    network = read("andes")
    name = network.graph.leaves[2]
    picture = network.picture({name: network.variables[name].states[0]})
    assert "seen" in texts(node(picture, name))
    assert len(picture.of_kind("node")) <= 32


def test_slices_stand_side_by_side():
    """One column a time, one row a name, a plate behind each, later to the right."""
    cpds = [pb.TableCPD("rain[0]", [0.5, 0.5])]
    cpds += [pb.TableCPD(f"rain[{t}]", [[0.7, 0.3], [0.3, 0.7]], parents=[f"rain[{t - 1}]"]) for t in (1, 2)]
    cpds += [pb.TableCPD(f"umbrella[{t}]", [[0.9, 0.1], [0.2, 0.8]], parents=[f"rain[{t}]"]) for t in range(3)]
    picture = pb.BayesianNetwork(cpds).picture()
    assert [part.name for part in picture.of_kind("plate")] == ["t = 0", "t = 1", "t = 2"]
    places = {part.name: corners(part) for part in picture.of_kind("node")}
    assert places["rain[0]"][2] < places["rain[1]"][0] < places["rain[2]"][0]
    assert len({places[f"rain[{t}]"][1] for t in range(3)}) == 1
    assert places["rain[1]"][3] < places["umbrella[1]"][1]
    assert overlapping(picture) == loose(picture) == under_foreign_boxes(picture) == []


def test_places_that_notes_tell_are_kept():
    """Up to one scale and a shift; notes that put two boxes on one spot are passed over."""
    given = {"A": (0.0, 0.0), "B": (300.0, 0.0), "C": (150.0, -200.0)}
    notes_ = Notes(variables={name: VariableNotes(position=place) for name, place in given.items()})
    table = [[0.5, 0.5], [0.2, 0.8]]
    cpds = [
        pb.TableCPD("A", [0.5, 0.5]),
        pb.TableCPD("B", table, parents=["A"]),
        pb.TableCPD("C", table, parents=["B"]),
    ]
    picture = pb.BayesianNetwork(cpds, notes=notes_).picture()
    box = {part.name: corners(part) for part in picture.of_kind("node")}
    middle = {name: np.array([(x + x_) / 2, (y + y_) / 2]) for name, (x, y, x_, y_) in box.items()}
    across, up = middle["B"] - middle["A"], middle["C"] - middle["A"]
    assert across[1] == pytest.approx(0, abs=0.1)
    assert up / across[0] == pytest.approx([0.5, -2 / 3], abs=0.01)
    assert overlapping(picture) == loose(picture) == []
    same = Notes(variables={name: VariableNotes(position=(1.0, 1.0)) for name in given})
    assert overlapping(pb.BayesianNetwork(cpds, notes=same).picture()) == []


def test_parallel_edges_are_apart():
    """A -> B and A <-> B are two lines."""
    picture = pb.CausalGraph("A -> B; A <-> B").picture()
    assert {ends_of(part) for part in picture.of_kind("edge")} == {("A", "B")}
    first, second = (
        next(item for item in part.items if isinstance(item, Path) and item.is_curved).points
        for part in picture.of_kind("edge")
    )
    assert abs(first[0][0] - second[0][0]) > 5


def test_the_template_of_a_dynamic_network_shows_what_was_before_to_the_left():
    """ "rain[-1]" stands beside "rain", whatever else is there."""
    graph = pb.DAG("rain[-1] -> rain -> umbrella; wind[-2] -> rain")
    picture = graph.picture()
    assert [part.name for part in picture.of_kind("plate")] == ["t − 2", "t − 1", "t"]
    places = {part.name: corners(part) for part in picture.of_kind("node")}
    assert places["wind[-2]"][2] < places["rain[-1]"][0] < places["rain[-1]"][2] < places["rain"][0]
    assert places["rain[-1]"][1] == places["rain"][1] < places["umbrella"][1]


def test_strengths_of_a_bootstrap_have_a_picture():
    """The consensus, its edges as wide as they are strong; weak ones are not there."""
    edges = np.array([[0, 0.6, 0.1], [0, 0, 0.9], [0, 0, 0]])
    picture = EdgeStrengths(("A", "B", "C"), edges, None, None, "test").picture(threshold=0.5)
    assert line(picture, "A -> B").thickness < line(picture, "B -> C").thickness
    assert len(picture.of_kind("edge")) == 2


GROUPS = {"history": ["asia", "smoke"], "diseases": ["tub", "lung", "bronc", "either"], "findings": ["xray"]}


def apart(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether two boxes share nothing, by their corners."""
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_groups_stand_in_frames():
    """Each frame holds its own nodes and no other, frames keep apart, and lines pass under no box and no name."""
    for picture in (ASIA.picture({"xray": "yes"}, groups=GROUPS), ASIA.graph.picture(groups=GROUPS)):
        frames = {part.name: corners(part) for part in picture.of_kind("plate")}
        boxes = {part.name: corners(part) for part in picture.of_kind("node")}
        assert list(frames) == list(GROUPS)
        for name, frame in frames.items():
            left, top, right, bottom = frame
            assert {box for box in boxes if not apart(boxes[box], frame)} == set(GROUPS[name])
            for x, y, end, low in (boxes[box] for box in GROUPS[name]):
                assert left < x
                assert end < right
                assert top < y
                assert low < bottom
        assert all(apart(one, other) for one, other in combinations(frames.values(), 2))
        assert overlapping(picture) == loose(picture) == under_foreign_boxes(picture) == []
        for part in picture.of_kind("plate"):
            x, y = part.items[1].x, part.items[1].y
            for edge_part in picture.of_kind("edge"):
                across, down = points_of(edge_part).T
                width = text_width(part.name, 11.5)
                assert not ((across > x) & (across < x + width) & (down > y - 9) & (down < y)).any(), edge_part.name


def test_groups_are_of_nodes_that_there_are_once():
    """What is hidden is in no frame."""
    with pytest.raises(UnknownVariable, match="Did you mean 'smoke'"):
        ASIA.picture(groups={"a": ["smok"]})
    with pytest.raises(InvalidArgument, match="in two groups, 'a' and 'b'"):
        ASIA.graph.picture(groups={"a": ["smoke"], "b": ["lung", "smoke"]})
    with pytest.raises(InvalidArgument, match="groups="):
        ASIA.picture(groups=["smoke"])
    chain = pb.DAG([(f"X{i}", f"X{i + 1}") for i in range(100)])
    picture = chain.picture(focus="X3", groups={"first": ["X2", "X3"], "last": ["X99"]})
    assert [part.name for part in picture.of_kind("plate")] == ["first"]


def test_arrows_that_are_there_no_longer_do_not_turn_others_round():
    """With what was removed, the union of two graphs has a cycle; what is there goes down."""
    picture = compare_structure(pb.DAG("A -> B -> C"), pb.DAG("B -> C -> A")).picture()
    removed = {part.name for part in picture.of_kind("edge") if "removed" in part.title}
    assert removed == {"A -> B"}
    assert rising(picture) == ["A -> B"]


def test_text_is_as_wide_as_its_box_was_made_for():
    """In whatever font: an SVG says how wide text is, where all its letters are known."""
    svg = pb.DAG("Größe -> שלום").picture().svg
    assert re.findall(r'textLength="([\d.]+)"[^<]*>([^<]*)<', svg) == [(f"{text_width('Größe', 12.5):.2f}", "Größe")]
