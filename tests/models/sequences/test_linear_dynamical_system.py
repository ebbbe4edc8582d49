"""Linear dynamical systems as users meet them: names, frames, errors, filters that go on, published numbers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from nile_flow import NILE
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, UnknownVariable
from plausible.models.sequences.kalman_online import LinearFilter


def nile():
    return pb.models.local_level(level_noise=1469.1, observation_noise=15099.0, observation="flow")


def test_the_nile_has_its_published_likelihood():
    """Durbin & Koopman (2012, section 2.10): the diffuse log-likelihood at the estimates is -632.54 (without the
    2π of the first number); the steady state solves its quadratic equation."""
    model = nile()
    assert model.log_likelihood(NILE) + 0.5 * np.log(2 * np.pi) == pytest.approx(-632.54, abs=0.01)
    steady = model.steady_state()
    ratio = 1469.1 / 15099.0
    expected = 15099.0 * (ratio + np.sqrt(ratio**2 + 4 * ratio)) / 2
    assert steady.predicted_covariance[0, 0] == pytest.approx(expected)
    assert steady.gain[0, 0] == pytest.approx(expected / (expected + 15099.0))


def test_answers_have_the_order_and_the_index_of_the_rows():
    """Rows out of order and of two sequences: each answer stands where its row is."""
    rows = pd.DataFrame(
        {"who": ["b", "a", "a", "b"], "t": [2, 1, 2, 1], "flow": [3.0, 1.0, 2.0, 9.0]}, index=["p", "q", "r", "s"]
    )
    found = nile().filter(rows, sequence="who", time="t").to_frame()
    assert list(found.index) == ["p", "q", "r", "s"]
    assert found.loc["q", ("level", "mean")] == pytest.approx(1.0)
    assert found.loc["s", ("level", "mean")] == pytest.approx(9.0)
    assert found.loc["p", ("level", "mean")] == pytest.approx(nile().filter([9.0, 3.0]).mean[-1, 0])


def test_gaps_that_are_filled_are_missing_rows():
    """A year without a row is a row without an observation."""
    rows = pd.DataFrame({"year": [1871, 1872, 1874], "flow": [1120.0, 1160.0, 1210.0]})
    filled = nile().smooth(rows, time="year", gaps="fill")
    np.testing.assert_allclose(filled.mean, nile().smooth([1120.0, 1160.0, None, 1210.0]).mean)
    ahead = nile().forecast(rows, 2, time="year", gaps="fill")["flow"]
    assert list(ahead.index) == [1875, 1876]


def test_an_online_filter_says_what_the_filter_says():
    """Row by row, with a missing one, through JSON in the middle: beliefs, likelihood, and diffuse variances."""
    rng = np.random.default_rng(0)
    model = pb.models.constant_velocity(0.1, 1.0, step=0.5)
    rows = pd.DataFrame(rng.normal(size=(6, 2)), columns=list(model.observations))
    rows.iloc[2] = np.nan
    rows.iloc[0, 1] = np.nan
    expected, online = model.filter(rows), model.online()
    for number in range(6):
        online = online.update(rows.iloc[number])
        online = LinearFilter.from_dict(json.loads(json.dumps(online.to_dict())), model)
        np.testing.assert_allclose(online.mean, expected.mean[number], atol=1e-10)
        np.testing.assert_allclose(online.covariance, expected.covariance[number], atol=1e-9)
    assert online.log_likelihood == pytest.approx(model.log_likelihood(rows))


def test_online_with_inputs_moves_as_the_filter_does():
    """Inputs of a row act on its own state and observation; the first state is not moved."""
    model = pb.LinearDynamicalSystem(
        0.5, 1.0, 1.0, 1.0, 0.0, 1.0, transition_input=[[2.0]], observation_input=[[-1.0]], inputs=["push"]
    )
    rows = pd.DataFrame({"y1": [1.0, 2.0, None], "push": [1.0, 0.5, -1.0]})
    online = model.online()
    for row in rows.to_dict("records"):
        online = online.update(row)
    np.testing.assert_allclose(online.mean, model.filter(rows).mean[-1])
    assert model.filter(rows.iloc[:1]).mean[0, 0] == pytest.approx(0.5 * (1.0 + 1.0))


def test_what_is_certain_can_be_impossible_online():
    """A filter that knows the state refuses another value."""
    fixed = pb.LinearDynamicalSystem(1.0, 1.0, 0.0, 0.0, 2.0, 0.0)
    assert fixed.online().update(2.0).log_likelihood == 0.0
    with pytest.raises(ImpossibleEvidence, match="impossible after the 0 rows"):
        fixed.online().update(3.0)


def test_intervals_have_their_level():
    """The ends of a 95% interval are 1.96 deviations away."""
    found = nile().smooth(NILE[:5])
    table = found.interval(0.95)
    width = table["level", "upper"] - table["level", "lower"]
    np.testing.assert_allclose(width, 2 * 1.959963984540054 * found.deviation[:, 0])


def test_innovations_of_the_right_model_are_noise():
    """Standardised innovations of drawn rows have mean 0 and variance 1; of a wrong model they are correlated."""
    model = pb.LinearDynamicalSystem(0.9, [[1.0], [0.5]], 1.0, [[1.0, 0.6], [0.6, 1.0]], 0.0, "stationary")
    rows = model.sample(2000, seed=1)[list(model.observations)]
    found = model.innovations(rows)
    assert found.standardized.mean(axis=0) == pytest.approx(0.0, abs=0.1)
    np.testing.assert_allclose(np.cov(found.standardized.T), np.eye(2), atol=0.1)
    assert (found.diagnostics()["Ljung-Box p"] > 0.001).all()
    wrong = model.with_parameters(transition=0.1).innovations(rows)
    assert wrong.diagnostics()["Ljung-Box p"].iloc[0] < 1e-6


def test_innovations_are_observations_less_forecasts():
    """The innovation of a row is its number less the forecast from the rows before it; NaN where all was unknown."""
    found = nile().innovations(NILE[:4])
    assert np.isnan(found.values[0, 0])
    for number in range(1, 4):
        forecast = nile().forecast(NILE[:number])["flow"]["mean"].iloc[0]
        assert found.values[number, 0] == pytest.approx(NILE[number] - forecast)


def test_a_stationary_start_stays():
    """The covariance of the long run is that of every step where nothing is observed."""
    model = pb.LinearDynamicalSystem([[0.9, 0.2], [0, 0.5]], [[1, 0]], [1, 2], 1.0, None, "stationary")
    found = model.smooth({"y1": [None] * 4})
    np.testing.assert_allclose(found.covariance, np.tile(model.initial_covariance, (4, 1, 1)), rtol=1e-12)


def test_models_are_values(tmp_path):
    """Equal content is equal; records and files make equal models; edits make new ones; nothing can be changed."""
    model = pb.models.local_linear_trend(1.0, 0.5, 2.0)
    again = pb.LinearDynamicalSystem.from_record(json.loads(json.dumps(model.to_record())))
    assert again == model
    assert hash(again) == hash(model)
    assert model.with_parameters(observation_noise=3.0) != model
    pb.save(model, tmp_path / "trend.json")
    assert pb.load(tmp_path / "trend.json") == model
    with pytest.raises(AttributeError):
        model.transition = np.eye(2)
    with pytest.raises(ValueError, match="read-only"):
        model.transition[0, 0] = 2.0


BAD = [
    ({"transition": [[1, 0]]}, InvalidModel, r"transition= has the shape \(1, 2\)"),
    ({"observation": [[1, 2, 3]]}, InvalidModel, r"observation= has the shape \(1, 3\); it needs \(1, 2\)"),
    ({"transition_noise": [1, -1]}, InvalidModel, "transition_noise= has the variance -1 for 'b'"),
    ({"transition_noise": [[1, 2], [2, 1]]}, InvalidModel, "transition_noise= .* is no covariance"),
    ({"transition_noise": [[1, 0.5], [0, 1]]}, InvalidModel, "transition_noise= is not symmetric.*both sides"),
    ({"observation_noise": [[np.nan]]}, InvalidModel, "observation_noise= has nan at"),
    ({"initial_covariance": "wide"}, InvalidArgument, "diffuse"),
    ({"initial_covariance": "stationary"}, InvalidModel, "eigenvalue of size 1"),
    ({"initial_covariance": [[np.inf, 1], [1, 1]]}, InvalidModel, "infinite variance for 'a'"),
    ({"initial_mean": [1]}, InvalidModel, "initial_mean= needs a finite number for each"),
    ({"states": ["a", "y1"]}, InvalidModel, "'y1' stands twice"),
    ({"states": ["a"]}, InvalidModel, "states= needs 2 different names"),
    ({"inputs": ["u"]}, InvalidModel, "inputs= act by transition_input="),
    ({"form": "root"}, InvalidArgument, "square-root"),
    ({"transition": "much"}, InvalidModel, "transition= is no array of numbers"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD, ids=lambda part: str(part)[:40])
def test_wrong_matrices_are_named(options, error, message):
    """The error names the matrix, what is wrong with it, and what it needs."""
    right = {
        "transition": [[1, 1], [0, 1]],
        "observation": [[1, 0]],
        "transition_noise": [1, 1],
        "observation_noise": 1,
        "states": ["a", "b"],
    }
    with pytest.raises(error, match=message):
        pb.LinearDynamicalSystem(**{**right, **options})


def test_questions_that_have_no_answer_say_why():
    """Inputs that are missing, diffuse starts that are to be drawn from or unrolled, covariances that never settle."""
    pushed = pb.LinearDynamicalSystem(1.0, 1.0, 1.0, 1.0, 0.0, 1.0, transition_input=[[1.0]], inputs=["push"])
    with pytest.raises(UnknownVariable, match="no column 'push'"):
        pushed.filter({"y1": [1.0]})
    with pytest.raises(InvalidArgument, match="'push' is missing at row 1"):
        pushed.filter({"y1": [1.0, 2.0], "push": [1.0, None]})
    with pytest.raises(InvalidArgument, match="rows to come of the inputs"):
        pushed.forecast({"y1": [1.0], "push": [1.0]})
    with pytest.raises(InvalidArgument, match="Row 0 of column 'flow' is inf"):
        nile().filter([np.inf])
    with pytest.raises(InvalidArgument, match="infinite variance"):
        nile().sample(3)
    with pytest.raises(NotSupported, match="infinite variance"):
        nile().unroll(3)
    with pytest.raises(NotSupported, match="has not settled"):
        pb.LinearDynamicalSystem(1.0, 1.0, 0.0, 1.0, 0.0, 1.0).steady_state(max_steps=100)
    explosive = pb.LinearDynamicalSystem(1e200, 1.0, 1.0, 1.0, 0.0, 1.0)
    with pytest.raises(InvalidModel, match="out of bounds"):
        explosive.filter([1.0, None, None, 1.0])


def test_samples_repeat_with_their_seed():
    """The same seed gives the same rows and the same paths."""
    model = nile().with_parameters(initial_covariance=1.0)
    assert model.sample(5, seed=3, sequences=2).equals(model.sample(5, seed=3, sequences=2))
    assert list(model.sample(5, seed=3, sequences=2)) == ["sequence", "time", "level", "flow"]
    assert nile().sample_posterior(NILE, 2, seed=1)[1].equals(nile().sample_posterior(NILE, 2, seed=1)[1])


@pytest.mark.parametrize("seed", range(10))
def test_what_a_system_with_singular_noise_draws_is_possible(seed):
    """Sensors that share all of their noise tell the same number in several units: their rows have a density."""
    rng = np.random.default_rng(seed)
    units = rng.normal(size=3)
    system = pb.LinearDynamicalSystem([[1.0]], np.zeros((3, 1)), [[0.0]], np.outer(units, units), [0.0], [[0.0]])
    drawn = rng.normal(size=(20, 1)) * units
    rows = pd.DataFrame(drawn, columns=list(system.observations))
    assert np.isfinite(system.log_likelihood(rows))
    rows.iloc[5, 2] += 1.0  # which no draw can be
    assert system.log_likelihood(rows) == -np.inf
