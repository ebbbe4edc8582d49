"""Live pictures without a page: scenes have room for what comes, answers are those of the model, problems are told."""

from __future__ import annotations

import json
import math

import pytest

import plausible as pb
from drawing_oracle import overlapping
from plausible.errors import NotSupported, UnknownState, UnknownVariable
from plausible.plotting.live import Answer, Live, checked_findings, checked_settings, from_page, to_page
from plausible.plotting.nodes import MEASURES, MOST_STATES, percentage
from plausible.plotting.scenes import MOST_LISTED, Subject, scene_of

ASIA = pb.examples.load("asia")
OPTIONS = {"budget": pb.Budget(seconds=2)}
HEIGHTS = pb.BayesianNetwork(
    pb.TableCPD("sex", [0.5, 0.5], states=["f", "m"]),
    pb.ConditionalGaussianCPD(
        "height", parents=["sex"], intercept=[165.0, 178.0], coefficients={}, variance=[40.0, 50.0]
    ),
)


def live(model, **options) -> Live:
    subject = Subject.of_model(model, options or OPTIONS)
    return Live(subject, scene_of(subject))


def node(scene, name):
    return next(node for node in scene.data["nodes"] if node["name"] == name)


@pytest.mark.parametrize(
    "model",
    [ASIA, pb.examples.load("alarm"), HEIGHTS, ASIA.to_markov_network()],
    ids=["asia", "alarm", "heights", "fields"],
)
def test_a_scene_is_plain_data_and_needs_no_inference(model, monkeypatch):
    """JSON holds it; every node of a small model is in it; nothing is asked of the model."""
    monkeypatch.setattr(type(model), "marginals", lambda *_, **__: pytest.fail("inference"))
    scene = scene_of(Subject.of_model(model, OPTIONS))
    assert json.loads(json.dumps(scene.data))["names"] == list(model.variables)
    assert {node["name"] for node in scene.data["nodes"]} == set(model.variables)
    assert len(scene.data["edges"]) == len(model.graph.edges)


def test_boxes_have_room_for_the_rows_that_come():
    """As high as the rows are, whatever is believed; long lists are folded, very long ones told by their number."""
    cpds = [pb.TableCPD(f"X{n}", [1 / n] * n) for n in (1, 2, 6, 7, MOST_LISTED, MOST_LISTED + 1)]
    scene = scene_of(Subject.of_model(pb.BayesianNetwork(cpds), OPTIONS))
    for n in (1, 2, 6, 7, MOST_LISTED):
        shown = node(scene, f"X{n}")
        assert shown["items"][0]["height"] == MEASURES["header"] + MEASURES["row"] * min(n, MOST_STATES) + 6
        assert [state["name"] for state in shown["states"]] == [str(state) for state in range(n)]
    many = node(scene, f"X{MOST_LISTED + 1}")
    assert (many["kind"], many["states"]) == ("still", [])
    assert "65 states" in [item.get("text") for item in many["items"]]
    assert f"X{MOST_LISTED + 1}" not in scene.names


def test_boxes_are_as_wide_as_still_ones_or_wider_and_apart():
    """What is bold or marked later fits, and the layout knows."""
    still = {part.name: part.items[0].width for part in ASIA.picture({"xray": "yes"}).of_kind("node")}
    scene = scene_of(Subject.of_model(ASIA, OPTIONS))
    boxes = {one["name"]: one["items"][0] for one in scene.data["nodes"]}
    assert all(boxes[name]["width"] >= width for name, width in still.items())
    assert overlapping(ASIA.picture()) == []
    placed = list(boxes.values())
    apart = [
        a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"] or a["y"] + a["height"] <= b["y"]
        or b["y"] + b["height"] <= a["y"]
        for i, a in enumerate(placed) for b in placed[:i]
    ]  # fmt: skip
    assert all(apart)


def test_edges_know_where_their_arrows_point():
    """An intervention there cuts them; undirected edges point nowhere."""
    scene = scene_of(Subject.of_model(ASIA, OPTIONS))
    assert {(edge["name"], edge["into"]) for edge in scene.data["edges"]} == {
        (f"{parent} -> {child}", child) for parent, child in ASIA.graph.edges
    }
    undirected = scene_of(Subject.of_model(ASIA.to_markov_network(), OPTIONS)).data
    assert {edge["into"] for edge in undirected["edges"]} == {None}
    assert not undirected["canSet"]


@pytest.mark.parametrize(
    ("evidence", "do"),
    [
        ({}, {}),
        ({"xray": "yes"}, {}),
        ({"xray": "yes", "dysp": ["yes"]}, {"smoke": "no"}),
        ({"xray": pb.likelihood([0.8, 0.1])}, {}),
        ({"xray": pb.jeffrey([0.8, 0.2])}, {}),
    ],
)
def test_answers_are_those_of_the_model(evidence, do):
    """Beliefs, those before, and the probability of the evidence; what has none is not told one."""
    answer = live(ASIA).answer(evidence, do)
    expected, prior = ASIA.marginals(evidence, do), ASIA.marginals()
    for name in ASIA.variables:
        assert answer.data["beliefs"][name]["now"] == pytest.approx(expected[name].values)
        before = answer.data["beliefs"][name]["before"]
        assert before is None if not (evidence or do) else before == pytest.approx(prior[name].values)
    is_jeffrey = any(isinstance(finding, type(pb.jeffrey([1.0, 0.0]))) for finding in evidence.values())
    if evidence and not is_jeffrey:
        total = math.exp(ASIA.log_probability(evidence, do))
        assert answer.data["facts"] == [f"P(evidence{' | do' if do else ''}) = {percentage(total)}"]
    else:
        assert answer.data["facts"] == []
    assert answer.message == answer.data["message"] == ""
    assert json.loads(json.dumps(answer.data)) == answer.data


def test_approximate_answers_say_so():
    """With the error that the engine tells, or that it tells none."""
    drawn = live(ASIA, engine=pb.LikelihoodWeighting(2000)).answer({}, {})
    errors = [belief.info.error for belief in drawn.beliefs.values()]
    assert drawn.data["facts"][-1].endswith(f"off by about {max(errors):.2g}")
    silent = live(ASIA, engine=pb.LoopyBP()).answer({}, {})
    assert silent.data["facts"][-1].startswith("approximate")


def test_numbers_have_means_and_deviations():
    """A mixture of two normals, by hand, and a density."""
    answer = live(HEIGHTS).answer({"sex": "m"}, {})
    assert answer.data["lines"]["height"] == ["178 ± 7.07", "before: 171.5 ± 9.34"]  # 45 + 6.5² = 87.25
    seen = live(HEIGHTS).answer({"height": 170.0}, {})
    assert seen.data["findings"][0]["text"] == "height = 170"
    density = sum(
        0.5 * math.exp(-((170 - m) ** 2) / (2 * v)) / math.sqrt(2 * math.pi * v) for m, v in ((165, 40), (178, 50))
    )
    assert seen.data["facts"] == [f"density of the evidence {density:.3g}"]
    assert seen.data["beliefs"]["sex"]["now"] == pytest.approx(HEIGHTS.query("sex", {"height": 170.0}).values)


def test_impossible_evidence_is_told():
    """No error, no beliefs, and the findings are still there to be retracted."""
    answer = live(ASIA).answer({"tub": "yes", "either": "no"}, {})
    assert "probability zero" in answer.message
    assert answer.beliefs == answer.data["beliefs"] == {}
    assert [finding["name"] for finding in answer.data["findings"]] == ["tub", "either"]


def test_a_question_over_budget_is_told():
    """At once, with what would help; what came before is left out where it alone costs too much."""
    answer = live(pb.examples.load("alarm"), budget=pb.Budget(seconds=1e-9)).answer({"CVP": "HIGH"}, {})
    assert "budget" in answer.message
    assert isinstance(answer, Answer)


def test_findings_in_words():
    """As people write them."""
    three = pb.BayesianNetwork(pb.TableCPD("X", [0.2, 0.3, 0.5], states=["a", "b", "c"]), pb.TableCPD("Y", [0.5, 0.5]))
    told = live(three)

    def words(evidence, do=None):
        return [(one["kind"], one["text"]) for one in told.answer(evidence, do or {}).data["findings"]]

    assert words({"X": "a"}, {"Y": 1}) == [("set", "Y := 1"), ("seen", "X = a")]
    assert words({"X": ["c", "a"]}) == [("soft", "X ≠ b")]
    assert words({"X": {"b"}}) == [("soft", "X = b")]
    assert words({"X": pb.likelihood([1, 2, 1])})[0][0] == "soft"
    four = pb.BayesianNetwork(pb.TableCPD("X", [0.25] * 4))
    assert live(four).answer({"X": [3, 1]}, {}).data["findings"][0]["text"] == "X = 1 or 3"


def test_findings_go_to_the_page_and_back():
    """States of any kind by their positions; what a page can't express stays what it was."""
    states = ["yes", 2, (1, 2), False]
    model = pb.BayesianNetwork(pb.TableCPD("X", [0.25] * 4, states=states), pb.LinearGaussianCPD("y", 0.0))
    subject = Subject.of_model(model, OPTIONS)
    for state in states:
        told = json.loads(json.dumps(to_page(subject, {"X": state})))
        assert told == {"X": [states.index(state)]}
        assert from_page(subject, told) == {"X": state}
    assert from_page(subject, to_page(subject, {"X": ["yes", False]})) == {"X": ["yes", False]}
    soft = {"X": pb.likelihood([1, 2, 3, 4]), "y": 2}
    told = json.loads(json.dumps(to_page(subject, soft)))
    assert told["y"] == 2.0
    assert from_page(subject, told) == soft
    with pytest.raises(UnknownVariable):
        from_page(subject, {"Z": [0]})


def test_what_is_no_finding_is_refused():
    """As by `query`, with the same words."""
    subject = Subject.of_model(ASIA, OPTIONS)
    with pytest.raises(UnknownVariable, match=r"'xrya'.*'xray'"):
        checked_findings(subject, {"xrya": "yes"})
    with pytest.raises(UnknownState, match="'maybe'"):
        checked_findings(subject, {"xray": "maybe"})
    with pytest.raises(UnknownState, match="'maybe'"):
        checked_settings(subject, {"xray": "maybe"})
    with pytest.raises(NotSupported, match="Bayesian network"):
        checked_settings(Subject.of_model(ASIA.to_markov_network(), OPTIONS), {"xray": "yes"})


def test_a_diagram_shows_what_happens_under_its_strategy():
    """What is expected of each utility, given what is seen and done; by sums over the joint distribution."""
    solution = pb.examples.load("oil").solve()
    subject = Subject.of_solution(solution, OPTIONS)
    told = Live(subject, scene_of(subject))
    assert {one["name"] for one in told.scene.data["nodes"] if one["isDecision"]} == {"test", "drill"}
    texts = {one["name"]: [item["text"] for item in one["items"] if "text" in item] for one in told.scene.data["nodes"]}
    assert texts["test"] == ["test"]
    # By hand: after the test, closed and open promise more than drilling costs, diffuse does not.
    rule = ["seismic", "test", "do", "closed", "yes", "yes", "open", "yes", "yes", "diffuse", "yes", "no"]
    assert texts["drill"] == ["drill", *rule]
    frame, *others = node(told.scene, "drill")["items"]
    inner = [item for item in others if "text" in item]
    assert all(frame["y"] < item["y"] < frame["y"] + frame["height"] for item in inner)
    assert all(frame["x"] < item["x"] < frame["x"] + frame["width"] for item in inner)
    answer = told.answer({}, {})
    assert answer.data["facts"] == ["Expected utility 16.75"]
    network = subject.model
    seen = told.answer({"seismic": "closed"}, {"drill": "no"})
    cost = network.expectation(subject.utilities["cost"], {"seismic": "closed"}, {"drill": "no"})
    assert seen.data["lines"]["cost"] == [f"{cost:.6g}"]
    assert seen.data["lines"]["payoff"] == ["0"]  # who does not drill gets nothing


def test_a_large_model_is_asked_about_what_is_shown_only():
    """The part around the findings, and how much is hidden."""
    chain = pb.BayesianNetwork(
        pb.TableCPD("X0", [0.5, 0.5]),
        *(pb.TableCPD(f"X{i}", [[0.9, 0.1], [0.2, 0.8]], parents=[f"X{i - 1}"]) for i in range(1, 200)),
    )
    subject = Subject.of_model(chain, OPTIONS)
    scene = scene_of(subject, "auto", ["X100"])
    assert "X100" in scene.names
    assert len(scene.names) < 40
    answer = Live(subject, scene).answer({"X100": 1}, {})
    assert answer.data["beliefs"].keys() == set(scene.names)
    assert len(scene.data["names"]) == 200
    assert "are hidden" in scene.data["notes"][0]


def test_hostile_names_and_many_states_stay_data():
    """Control characters are written out; nothing is cut from what the page needs to know a variable by."""
    name, state = "a\n<b>&'\"", "\x00</script>"
    model = pb.BayesianNetwork(pb.TableCPD(name, [0.5, 0.5], states=[state, "x" * 500]))
    scene = scene_of(Subject.of_model(model, OPTIONS))
    shown = node(scene, name)
    assert shown["states"][0]["name"] == r"\x00</script>"
    assert len(shown["states"][1]["label"]) < 40
    assert shown["states"][1]["name"] == "x" * 500
