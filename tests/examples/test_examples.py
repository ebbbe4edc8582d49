"""The examples are what the literature says they are."""

from __future__ import annotations

import math
from typing import get_args

import pytest

import plausible as pb
from plausible.errors import UnknownExample
from plausible.examples.library import DiagramName, MarkovName, NetworkName

WANTED = {
    "alarm",
    "asia",
    "burglary",
    "cancer",
    "chain",
    "earthquake",
    "entrepreneur",
    "exam",
    "fever",
    "gaussian-chain",
    "misconception",
    "oil",
    "radio",
    "sprinkler",
    "startup",
    "student",
    "umbrella",
}


def test_all_are_there():
    """Every example that the docs promise."""
    assert set(pb.examples.names()) == WANTED


@pytest.mark.parametrize("name", pb.examples.names())
def test_every_example_tells_its_story(name):
    """A record has a description, a reference and a model of that name."""
    example = pb.examples.get(name)
    assert example.name == name == example.model.notes.name
    assert example.description
    assert example.reference
    assert example.model == pb.examples.load(name)


def test_an_unknown_example_gets_a_suggestion():
    """A typing error is answered with the name that was meant."""
    with pytest.raises(UnknownExample, match="Did you mean 'sprinkler'"):
        pb.examples.load("sprinkeler")


QUESTIONS = [
    ("student", "L", {}, "strong", 0.502336),
    ("student", "I", {"G": "C"}, "high", 0.0789474),
    ("asia", "dysp", {}, "yes", 0.4359706),
    ("asia", "lung", {"asia": "yes", "smoke": "no", "dysp": "yes"}, "yes", 0.0225670),
    ("burglary", "Burglary", {"JohnCalls": "True", "MaryCalls": "True"}, "True", 0.2841718),
    ("burglary", "Burglary", {"JohnCalls": "True", "MaryCalls": "False"}, "True", 0.0051299),
    ("sprinkler", "WetGrass", {"Cloudy": "True"}, "True", 0.7452),
    ("chain", "C", {}, 0, 0.65),
    ("chain", "A", {"C": 1}, 1, 4 / 7),
    ("cancer", "Cancer", {}, "True", 0.01163),
]


@pytest.mark.parametrize(("name", "target", "evidence", "state", "expected"), QUESTIONS)
def test_published_answers(name, target, evidence, state, expected):
    """Posteriors printed in the literature, or computed there from the printed tables."""
    assert pb.examples.load(name).query(target, evidence=evidence)[state] == pytest.approx(expected, abs=5e-7)


def test_the_joint_entry_of_the_burglary_network():
    """P(J, M, A, ¬B, ¬E) = 0.000628111."""
    full = {"JohnCalls": "True", "MaryCalls": "True", "Alarm": "True", "Burglary": "False", "Earthquake": "False"}
    assert math.exp(pb.examples.load("burglary").log_probability(full)) == pytest.approx(0.000628111, abs=5e-10)


def test_alarm_has_its_size():
    """37 variables, 46 edges, 509 parameters."""
    alarm = pb.examples.load("alarm")
    assert (len(alarm.variables), alarm.graph.num_edges, alarm.num_parameters) == (37, 46, 509)


def test_the_misconception_partition_function():
    """Z = 7,201,840 (Koller & Friedman 2009, section 4.2)."""
    assert math.exp(pb.examples.load("misconception").log_partition()) == pytest.approx(7_201_840)


def test_type_checkers_are_told_the_kind_of_every_example():
    """The lists of names, one a kind, are complete and true."""
    kinds = {pb.BayesianNetwork: NetworkName, pb.MarkovNetwork: MarkovName, pb.InfluenceDiagram: DiagramName}
    listed = {name: kind for kind, names in kinds.items() for name in get_args(names)}
    assert listed == {name: type(pb.examples.load(name)) for name in pb.examples.names()}
