"""The example diagrams are worth what the literature, or plain arithmetic, says."""

from __future__ import annotations

import pytest

import plausible as pb
from diagram_oracle import best_value
from plausible.decisions import InfluenceDiagram


@pytest.mark.parametrize(
    ("name", "value"), [("entrepreneur", 2.25), ("oil", 16.75), ("startup", 2.0), ("umbrella", 8.19)]
)
def test_the_best_strategy_has_its_value(name, value):
    """Entrepreneur: 3.25 less the survey's cost of 1. Oil: 23.5 + 5.25 for a closed or open result, less 12.

    Startup: 4 + 1.5 - 3.5. Umbrella: 5.6 by leaving it where the forecast is dry, and 1.12 + 1.47 by taking it.
    """
    assert best_value(pb.examples.load(name)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("name", "decision", "value"), [("entrepreneur", "F", 2.0), ("oil", "drill", 11.5)])
def test_without_asking_first_the_best_is_worth_less(name, decision, value):
    diagram = pb.examples.load(name).with_information({decision: []})
    assert best_value(diagram) == pytest.approx(value, abs=1e-12)


def test_the_survey_has_its_posteriors():
    """P(S) = (.41, .35, .24) and P(M | S = low) = (.7317, .2195, .0488), where the survey is conducted."""
    network = pb.examples.load("entrepreneur").network()
    survey = network.query("S", do={"C": "conduct"})
    assert survey.values.tolist() == pytest.approx([0.41, 0.35, 0.24, 0])
    market = network.query("M", evidence={"S": "low"}, do={"C": "conduct"})
    assert market.values.tolist() == pytest.approx([0.7317, 0.2195, 0.0488], abs=5e-5)


def test_the_exams_rely_on_each_other_around_a_cycle():
    """Who forgets the first exam relies, at the last, on how the others were prepared for."""
    exam = pb.examples.load("exam")
    assert isinstance(exam, InfluenceDiagram)
    assert not exam.relevance_graph().is_acyclic
    assert exam.with_recall().relevance_graph().is_acyclic


@pytest.mark.parametrize(("name", "has_recall"), [("entrepreneur", True), ("oil", True), ("exam", False)])
def test_who_remembers_everything(name, has_recall):
    assert pb.examples.load(name).recall().is_perfect is has_recall
