"""What the page shows of a model: beliefs as the library computes them, at a click."""

from __future__ import annotations

import pytest

import plausible as pb

ASIA = pb.examples.load("asia")


def test_answers_are_those_of_the_library(studio):
    """Every belief of a scene equals the marginal, with and without findings."""
    model = studio.open(ASIA, "asia")
    for evidence, do in (({}, {}), ({"xray": [0]}, {}), ({"dysp": [0]}, {"smoke": [1]})):
        told = studio.ask("scene", model=model, evidence=evidence, do=do)["answer"]
        named = {name: ASIA.variables[name].states[place] for name, (place,) in evidence.items()}
        set_to = {name: ASIA.variables[name].states[place] for name, (place,) in do.items()}
        expected = ASIA.marginals(evidence=named, do=set_to)
        assert told["beliefs"].keys() == ASIA.variables.keys()
        for name, belief in told["beliefs"].items():
            assert belief["now"] == pytest.approx(expected[name].flat.tolist(), abs=1e-12)


@pytest.mark.browser
def test_a_click_moves_beliefs_and_another_click_brings_them_back(show):
    """As a person would."""
    page = show(ASIA, "asia")
    lung = page.state("lung", 0).locator("text").last
    before = lung.text_content()
    page.state("xray", 0).click()
    page.settle()
    assert lung.text_content() == "48.9%"
    page.state("xray", 0).click()
    page.settle()
    assert lung.text_content() == before
