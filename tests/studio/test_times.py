"""Models in time on the page: steps side by side, and the course of a belief."""

from __future__ import annotations

import pytest

import plausible as pb

WEATHER = pb.DynamicBayesianNetwork(
    [
        pb.TableCPD("rain", [0.5, 0.5], states=["no", "yes"]),
        pb.TableCPD("umbrella", [[0.8, 0.2], [0.1, 0.9]], parents=["rain"], states=["no", "yes"]),
    ],
    [
        pb.TableCPD("rain", [[0.7, 0.3], [0.3, 0.7]], parents=["rain[-1]"], states=["no", "yes"]),
        pb.TableCPD("umbrella", [[0.8, 0.2], [0.1, 0.9]], parents=["rain"], states=["no", "yes"]),
    ],
)


def test_the_course_of_a_belief_is_that_of_smoothing(studio):
    """What is seen at any step moves all of them."""
    model = studio.open(WEATHER, "weather")
    longer = studio.ask("steps", model=model, steps=4)
    assert longer["numSteps"] == 4
    told = studio.ask("course", model=longer["model"], name="rain", evidence={"umbrella[1]": [1], "umbrella[3]": [0]})
    expected = WEATHER.smooth({"umbrella": [None, "yes", None, "no"]})["rain"]
    assert told["beliefs"] == [pytest.approx(row) for row in expected[["no", "yes"]].to_numpy().tolist()]
    assert "1 to 200" in studio.refusal("steps", model=model, steps=10**6)["message"]
    assert "'snow'" in studio.refusal("course", model=model, name="snow")["message"]
    asia = studio.open(pb.examples.load("asia"), "asia")
    assert "no steps" in studio.refusal("course", model=asia, name="smoke")["message"]


def test_numbers_in_time_have_means_and_spreads(studio):
    """As the filter of the model tells them where nothing comes later."""
    system = pb.LinearDynamicalSystem(
        transition=[[1.0]],
        observation=[[1.0]],
        transition_noise=[[1.0]],
        observation_noise=[[1.0]],
        initial_mean=[0.0],
        initial_covariance=[[1.0]],
    )
    told = studio.ask("course", model=studio.open(system, "walk"), name=system.states[0])
    assert told["means"] == pytest.approx([0, 0, 0])
    assert told["spread"] == pytest.approx([1, 2**0.5, 3**0.5])


@pytest.mark.browser
def test_steps_are_laid_out_and_followed(show):
    """More steps are asked for; a click at one of them moves the others."""
    page = show(WEATHER, "weather")
    panel = page.panel("Time")
    panel.get_by_label("steps").fill("5")
    panel.get_by_role("button", name="show").click()
    page.page.get_by_role("listbox", name="rain[4]").wait_for()
    course = panel.get_by_role("img", name="the belief in rain from step to step")
    assert course.locator("rect.share").count() == 10
    page.state("umbrella[2]", 1).click()
    page.settle()
    assert page.state("rain[2]", 1).locator("text").last.text_content() == "81.8%"
