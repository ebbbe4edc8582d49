"""Linear dynamical systems learned by EM and by gradients: laws of EM, published estimates, options and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from gaussian_path_oracle import random_system
from nile_flow import NILE
from plausible.errors import InvalidArgument, PlausibleError
from plausible.learn.sequences import linear_dynamical_system, structural_system

MATRICES = {"A": "transition", "C": "observation", "Q": "transition_noise", "R": "observation_noise"}


def drawn(seed, num_states=2, num_observed=3, length=40, sequences=2, num_inputs=0):
    """Rows of a random system, some cells and a whole row missing."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, num_states, num_observed, num_inputs=num_inputs)
    options = {"transition_input": system["B"], "observation_input": system["D"]} if num_inputs else {}
    model = pb.LinearDynamicalSystem(
        system["A"], system["C"], system["Q"], system["R"], system["m"], system["P"], **options
    )
    inputs = {"inputs": {f"u{place + 1}": rng.normal(size=length) for place in range(num_inputs)}} if num_inputs else {}
    rows = model.sample(length, seed=seed, sequences=sequences, **inputs)
    columns = [*model.observations, *model.inputs]
    rows = rows[["sequence", "time", *columns]]
    rows[list(model.observations)] = rows[list(model.observations)].mask(rng.random((len(rows), num_observed)) < 0.2)
    rows.loc[7, list(model.observations)] = np.nan
    return model, rows


@pytest.mark.parametrize("num_inputs", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_em_never_lowers_the_likelihood(seed, num_inputs):
    """From a subspace start, with missing cells, two sequences and inputs; the trace ends at the model's likelihood."""
    _, rows = drawn(seed, num_inputs=num_inputs)
    inputs = [f"u{place + 1}" for place in range(num_inputs)]
    fit = linear_dynamical_system(rows, 2, inputs=inputs, sequence="sequence", time="time", max_steps=12)
    assert np.diff(fit.trace).min() > -1e-9 * abs(fit.log_likelihood)
    assert fit.trace[-1] > fit.trace[0] + 1.0
    assert fit.model.log_likelihood(rows, sequence="sequence", time="time") == pytest.approx(fit.log_likelihood)


@pytest.mark.parametrize(
    "fixed", [["transition"], ["transition", "observation_input"], ["observation", "initial_mean"]]
)
def test_em_keeps_what_is_fixed_and_never_lowers_the_likelihood(fixed):
    """With some matrices fixed, regressed on the rest, and diagonal noises, steps are still M-steps."""
    model, rows = drawn(1, num_inputs=1)
    start = model.with_parameters(
        transition_noise=np.diag(np.diag(model.transition_noise)),
        observation_noise=np.diag(np.diag(model.observation_noise)),
        transition_input=np.zeros((2, 1)),
    )
    fit = linear_dynamical_system(
        rows,
        start=start,
        fixed=fixed,
        diagonal=["transition_noise", "observation_noise"],
        sequence="sequence",
        time="time",
        max_steps=10,
    )
    for name in fixed:
        np.testing.assert_array_equal(getattr(fit.model, name), getattr(start, name))
    for name in ("transition_noise", "observation_noise"):
        matrix = getattr(fit.model, name)
        np.testing.assert_array_equal(matrix, np.diag(np.diag(matrix)))
    assert np.diff(fit.trace).min() > -1e-9 * abs(fit.log_likelihood)
    assert fit.trace[-1] > fit.trace[0]


def test_a_fixed_point_of_em_is_a_stationary_point_of_the_likelihood():
    """After many steps no entry of any matrix has a slope left, by differences of the likelihood."""
    true = pb.LinearDynamicalSystem(0.8, 1.0, 1.0, 0.5, 0.0, "stationary")
    rows = true.sample(60, seed=3, sequences=2)[["sequence", "time", "y1"]]
    rows.loc[20:30, "y1"] = np.nan
    names = {"sequence": "sequence", "time": "time"}
    kept = ["initial_mean", "initial_covariance"]
    fit = linear_dynamical_system(rows, start=true, fixed=kept, tolerance=0.0, max_steps=500, **names)
    model = fit.model
    for name in MATRICES.values():
        matrix = np.array(getattr(model, name))
        for i, j in np.ndindex(matrix.shape):
            slopes = []
            for sign in (1, -1):
                moved = matrix.copy()
                moved[i, j] += sign * 1e-4 * abs(matrix[i, j])
                if name.endswith("noise"):
                    moved[j, i] = moved[i, j]
                slopes.append(model.with_parameters(**{name: moved}).log_likelihood(rows, **names))
            assert abs(slopes[0] - slopes[1]) / 2e-4 < 0.05  # per relative change of the entry


def test_a_run_goes_on_where_it_stopped():
    """Five steps and five more are ten; `progress` can end a run."""
    _, rows = drawn(2)
    names = {"sequence": "sequence", "time": "time", "tolerance": 0.0}
    half = linear_dynamical_system(rows, 2, max_steps=5, **names)
    resumed = linear_dynamical_system(rows, start=half.run, max_steps=10, **names)
    whole = linear_dynamical_system(rows, 2, max_steps=10, **names)
    np.testing.assert_allclose(resumed.trace, whole.trace, rtol=1e-12)
    told = linear_dynamical_system(rows, 2, progress=lambda state: True, **names)
    assert (told.num_steps, told.stopped_by) == (1, "interrupted")


def test_restarts_keep_the_best_run():
    """The answer is the run with the greatest likelihood, and the same seed gives the same runs."""
    _, rows = drawn(5, sequences=2, length=30)
    names = {"sequence": "sequence", "time": "time", "max_steps": 5, "restarts": 2}
    fit = linear_dynamical_system(rows, 2, seed=1, **names)
    assert len(fit.runs) == 3
    assert fit.log_likelihood == max(run.state.log_likelihood for run in fit.runs)
    assert fit.log_likelihood == linear_dynamical_system(rows, 2, seed=1, **names).log_likelihood


def test_a_diffuse_start_stays_diffuse():
    """What is not known of the first state is not estimated."""
    level = pb.models.local_level(1.0, 1.0)
    rows = pd.DataFrame({"y": np.random.default_rng(0).normal(size=40).cumsum()})
    fit = linear_dynamical_system(rows, start=level, fixed=["transition", "observation"], max_steps=20)
    assert np.isinf(fit.model.initial_covariance[0, 0])
    assert np.diff(fit.trace).min() > -1e-9


def test_the_variances_of_the_nile_are_the_published_ones():
    """Durbin & Koopman (2012): 1469.1 and 15099 by maximum likelihood, with relative errors that are not small."""
    fit = structural_system(pb.models.local_level, NILE, {"level_noise": 1e3, "observation_noise": 1e4})
    assert fit.parameters["level_noise"] == pytest.approx(1469.1, rel=2e-3)
    assert fit.parameters["observation_noise"] == pytest.approx(15099.0, rel=2e-3)
    assert fit.converged
    assert 0.5 < fit.standard_errors["level_noise"] < 1.5
    assert 0.1 < fit.standard_errors["observation_noise"] < 0.5


BAD = [
    ({"fixed": ["transition"]}, "fixed= keeps matrices of a system"),
    ({"fixed": ["transitions"]}, "'transitions' is none of .*Did you mean 'transition'"),
    ({"diagonal": ["transition"]}, "diagonal=: 'transition' is none of"),
    ({"latent": 0}, "latent=0"),
    ({"inputs": ["v"]}, "inputs=: there is no column 'v'"),
    ({"restarts": -1}, "restarts=-1"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda part: str(part)[:30])
def test_wrong_options_are_named(options, message):
    """Each error names the option and what it can be."""
    with pytest.raises(InvalidArgument, match=message):
        linear_dynamical_system({"y": [1.0, 2.0, 3.0]}, **options)


def test_columns_of_states_and_no_rows_are_refused():
    """A column of words is no number; without rows there is nothing to learn from."""
    with pytest.raises(PlausibleError, match="'y'"):
        linear_dynamical_system({"y": ["a", "b", "a"]}, 1)
    with pytest.raises(InvalidArgument, match="no rows"):
        linear_dynamical_system({"y1": []}, start=pb.models.local_level(1.0, 1.0, observation="y1"))


@pytest.mark.parametrize("start", [(1e-30, 1e4), (1e-6, 1e4), (1e6, 1e-6), (1e8, 1e-3), (1e12, 1e12), (1e-12, 1e-12)])
def test_climbs_leave_plains_behind(start):
    """Where a variance is next to nothing its slope is none: from there, too, the one maximum is found."""
    rows = pb.models.local_level(1500.0, 15000.0).with_parameters(initial_mean=1000.0, initial_covariance=1e4)
    flow = rows.sample(80, seed=1)["y"].tolist()
    usual = structural_system(pb.models.local_level, flow, {"level_noise": 1e3, "observation_noise": 1e4})
    found = structural_system(
        pb.models.local_level, flow, dict(zip(("level_noise", "observation_noise"), start, strict=True))
    )
    assert found.converged
    assert found.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-6)
    assert found.undetermined == ()


def test_a_variance_that_is_nothing_is_undetermined():
    """Of noise around a level that never moves: the level's variance may be any small number, and has no error."""
    rows = (5 + np.random.default_rng(0).normal(size=100)).tolist()
    found = structural_system(pb.models.local_level, rows, {"level_noise": 1.0, "observation_noise": 1.0})
    assert found.undetermined == ("level_noise",)
    assert np.isnan(found.standard_errors["level_noise"])
    assert found.parameters["observation_noise"] == pytest.approx(np.var(rows, ddof=1), rel=1e-3)


def test_what_builds_no_system_is_told():
    """Names that the function does not take, and things that are no system."""
    with pytest.raises(InvalidArgument, match="missing a required argument: 'level_noise'"):
        structural_system(pb.models.local_level, [1.0, 2.0], {"observation_noise": 1.0})
    with pytest.raises(InvalidArgument, match="build= makes a LinearDynamicalSystem"):
        structural_system(lambda a: a, [1.0, 2.0], {"a": 1.0})
