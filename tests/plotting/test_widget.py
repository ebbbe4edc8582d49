"""The notebook widget from the side of Python: what can be set, what is told, what pages send."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

import plausible as pb
from plausible.errors import MissingDependency, UnknownState, UnknownVariable

ASIA = pb.examples.load("asia")

needs_anywidget = pytest.mark.skipif(find_spec("anywidget") is None, reason="anywidget is not installed")


def sent(widget, **state) -> None:
    """What a page sends: a further question."""
    asked = widget.get_state("_asked")["_asked"] + 1
    widget.set_state(json.loads(json.dumps({**state, "_asked": asked})))


def assert_same(beliefs, expected) -> None:
    """The same numbers, but for their last digits: other targets may be asked for in another order."""
    assert beliefs.keys() == expected.keys()
    for name, belief in beliefs.items():
        assert belief.values == pytest.approx(expected[name].values, abs=1e-12)


def told(widget):
    """What a page is told."""
    return json.loads(json.dumps(widget.get_state()["_answer"]))


@pytest.mark.skipif(find_spec("anywidget") is not None, reason="anywidget is installed")
def test_without_the_library_an_error_says_what_to_install():
    with pytest.raises(MissingDependency, match=r'pip install "plausible\[notebook\]"'):
        ASIA.widget()


@needs_anywidget
def test_beliefs_are_those_of_the_model():
    """From the start, and after each change from Python."""
    widget = ASIA.widget({"xray": "yes"})
    assert_same(widget.beliefs, ASIA.marginals({"xray": "yes"}))
    widget.do = {"smoke": "no"}
    assert_same(widget.beliefs, ASIA.marginals({"xray": "yes"}, {"smoke": "no"}))
    widget.evidence = {}
    assert_same(widget.beliefs, ASIA.marginals(do={"smoke": "no"}))


@needs_anywidget
def test_observers_hear_of_clicks_once_each():
    """A page sends positions; Python sees states. One question is answered once, whatever it consists of."""
    widget, heard, answers = ASIA.widget(), [], []
    widget.observe(lambda change: heard.append((change["name"], change["new"])), ["evidence", "do"])
    widget.observe(answers.append, "_answer")
    sent(widget, evidence={"xray": [0]}, do={"smoke": [1]}, focus="auto")
    assert sorted(heard) == [("do", {"smoke": "no"}), ("evidence", {"xray": "yes"})]
    assert len(answers) == 1
    assert_same(widget.beliefs, ASIA.marginals({"xray": "yes"}, {"smoke": "no"}))
    assert told(widget)["asked"] == 1


@needs_anywidget
def test_a_question_asked_twice_is_answered_twice():
    """Else the page would wait for ever."""
    widget = ASIA.widget()
    for asked in (1, 2):
        sent(widget, evidence={"xray": [0]}, do={}, focus="auto")
        assert told(widget)["asked"] == asked


@needs_anywidget
def test_wrong_names_and_states_are_refused_and_change_nothing():
    widget = ASIA.widget({"xray": "yes"})
    with pytest.raises(UnknownVariable, match=r"'xrya'.*'xray'"):
        widget.evidence = {"xrya": "yes"}
    with pytest.raises(UnknownState, match="'maybe'"):
        widget.do = {"smoke": "maybe"}
    with pytest.raises(UnknownVariable, match="'lungs'"):
        widget.focus = ["lungs"]
    with pytest.raises(UnknownVariable, match="'lungs'"):
        ASIA.widget({"lungs": "yes"})
    assert (widget.evidence, widget.do, widget.focus) == ({"xray": "yes"}, {}, "auto")
    assert_same(widget.beliefs, ASIA.marginals({"xray": "yes"}))


@needs_anywidget
def test_impossible_evidence_gets_a_message_and_goes_again():
    widget = ASIA.widget({"tub": "yes", "either": "no"})
    assert "probability zero" in widget.message
    assert widget.beliefs == {}
    sent(widget, evidence={"tub": [0]}, do={}, focus="auto")
    assert widget.message == ""
    assert_same(widget.beliefs, ASIA.marginals({"tub": "yes"}))


@needs_anywidget
def test_soft_findings_live_through_clicks_elsewhere():
    """A page knows them by their words only."""
    widget = ASIA.widget({"xray": pb.likelihood([0.8, 0.1])})
    page = json.loads(json.dumps(widget.get_state()["evidence"]))
    sent(widget, evidence={**page, "dysp": [0]}, do={}, focus="auto")
    assert widget.evidence == {"xray": pb.likelihood([0.8, 0.1]), "dysp": "yes"}
    assert_same(widget.beliefs, ASIA.marginals(widget.evidence))


@needs_anywidget
def test_the_focus_moves_what_is_shown():
    """A new scene, with beliefs of all that is in it."""
    chain = pb.BayesianNetwork(
        pb.TableCPD("X0", [0.5, 0.5]),
        *(pb.TableCPD(f"X{i}", [[0.9, 0.1], [0.2, 0.8]], parents=[f"X{i - 1}"]) for i in range(1, 200)),
    )
    widget = chain.widget(focus="X5")
    assert "X5" in widget.beliefs
    assert "X150" not in widget.beliefs
    sent(widget, evidence={}, do={}, focus=["X150"])
    assert "X150" in widget.beliefs
    assert {node["name"] for node in widget.get_state()["_scene"]["nodes"]} == widget.beliefs.keys()
    widget.focus = None
    assert len(widget.beliefs) == 200


@needs_anywidget
def test_the_still_picture_is_that_of_the_model():
    """As a value, on request of a page, and for pages without Python; where evidence is impossible, without beliefs."""
    widget = ASIA.widget({"xray": "yes"})
    assert widget.picture() == ASIA.picture({"xray": "yes"})
    messages = []
    widget.send = messages.append
    widget._handle_custom_msg({"kind": "picture"}, [])
    assert messages == [{"kind": "picture", "svg": ASIA.picture({"xray": "yes"}).svg}]
    bundle, _ = widget._repr_mimebundle_()
    assert bundle["image/svg+xml"] == messages[0]["svg"]
    widget.evidence = {"tub": "yes", "either": "no"}
    widget._handle_custom_msg({"kind": "picture"}, [])
    assert "probability zero" in messages[1]["message"]
    assert widget._repr_mimebundle_()[0]["image/svg+xml"].startswith("<svg")


@needs_anywidget
def test_engines_are_those_of_marginals():
    """Exact within a budget, unless named; a budget beside a named engine is told to be too much."""
    assert_same(ASIA.widget({"xray": "yes"}, engine="auto").beliefs, ASIA.marginals({"xray": "yes"}))
    assert "approximate" in told(ASIA.widget(engine=pb.LoopyBP()))["facts"][0]
    assert "budget" in ASIA.widget(engine=pb.LoopyBP(), budget=pb.Budget()).message
    assert "budget" in ASIA.widget(budget=pb.Budget(seconds=1e-9)).message


@needs_anywidget
def test_solutions_have_widgets():
    """Actions are set, whatever the strategy says."""
    widget = pb.examples.load("oil").solve().widget()
    assert told(widget)["facts"] == ["Expected utility 16.75"]
    sent(widget, evidence={}, do={"test": [0], "drill": [1]}, focus="auto")
    assert widget.do == {"test": "no", "drill": "yes"}
    expected = pb.examples.load("oil").expected_utility({"test": "no", "drill": "yes"})
    assert told(widget)["facts"] == [f"Expected utility {expected:g}"]
