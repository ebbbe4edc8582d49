"""EM for switching linear systems: moments are slopes of the exact likelihood, it climbs, and it says what it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import InvalidArgument
from plausible.learn.sequences.switching_moments import expected
from plausible.learn.sequences.switching_system import switching_system
from plausible.models import GPB2, IMM, Exact, SwitchingLinearDynamicalSystem

NAMES = {"sequence": "sequence", "time": "time"}


def system(rng, size=2, seen=2):
    def spread(number):
        root = rng.normal(size=(number, number))
        return root @ root.T + 0.3 * np.eye(number)

    matrices = rng.normal(size=(size, size)) / 2, rng.normal(size=(seen, size)), spread(size), spread(seen)
    return pb.LinearDynamicalSystem(*matrices, rng.normal(size=size), spread(size))


def model(seed, num=2, engine="auto"):
    rng = np.random.default_rng(seed)
    chain = rng.dirichlet(np.ones(num)), rng.dirichlet(np.ones(num), size=num)
    return SwitchingLinearDynamicalSystem(*chain, [system(rng) for _ in range(num)], engine=engine)


def rows_of(switching, length, seed, sequences=2):
    rows = switching.sample(length, seed=seed, sequences=sequences)
    rows = rows[[*(["sequence", "time"] if sequences > 1 else []), *switching.observations]]
    rows.loc[1, "y1"] = np.nan
    rows.loc[2, ["y1", "y2"]] = np.nan
    return rows


def slope(of, matrix, place, width=1e-5):
    """The derivative of a function of a matrix along one entry."""
    ends = []
    for sign in (1, -1):
        moved = np.array(matrix)
        moved[place] += sign * width
        ends.append(of(moved))
    return (ends[0] - ends[1]) / (2 * width)


@pytest.mark.parametrize("seed", range(3))
def test_expected_moments_are_slopes_of_the_exact_likelihood(seed):
    """Fisher's identity: dℓ/dA = Q⁻¹ (E[x x₋ᵀ] - A E[x₋ x₋ᵀ]) in each mode, and of switches the expected numbers."""
    truth, start = model(seed), model(seed + 10)
    rows = rows_of(truth, 4, seed)
    found = expected(start, start._rows(start._read(rows, "sequence", "time", "refuse")))
    assert found[1]
    assert found[0] == pytest.approx(start.log_likelihood(rows, **NAMES))

    for mode, own in enumerate(start.systems):

        def likelihood(moved, mode=mode, own=own):
            systems = [*start.systems]
            systems[mode] = own.with_parameters(transition=moved)
            chain = start.initial, start.switch_transition
            return SwitchingLinearDynamicalSystem(*chain, systems).log_likelihood(rows, **NAMES)

        moments = found[2].across[mode] - own.transition @ found[2].regressors[mode]
        gradient = np.linalg.solve(own.transition_noise, moments)
        for place in np.ndindex(2, 2):
            assert gradient[place] == pytest.approx(slope(likelihood, own.transition, place), abs=1e-6)

    def of_switches(logits):
        table = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return SwitchingLinearDynamicalSystem(start.initial, table, start.systems).log_likelihood(rows, **NAMES)

    pairs = found[2].pairs
    gradient = pairs - start.switch_transition * pairs.sum(axis=1, keepdims=True)
    for place in np.ndindex(2, 2):
        assert gradient[place] == pytest.approx(slope(of_switches, np.log(start.switch_transition), place), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_exact_em_never_lowers_the_likelihood(seed):
    """With missing cells and several sequences; what it says is the likelihood of what it learned."""
    rows = rows_of(model(seed), 6, seed, sequences=3)
    problem_start = model(seed + 10)
    fit = switching_system(rows, start=problem_start, max_steps=12, tolerance=0.0, **NAMES)
    assert fit.is_exact
    assert fit.num_steps == 12
    assert np.diff(fit.trace).min() > 0
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(rows, **NAMES), abs=1e-8)


def test_one_mode_is_em_of_a_linear_system():
    """The same steps as those of `linear_dynamical_system`, whatever the engine."""
    rng = np.random.default_rng(0)
    one = system(rng)
    truth = SwitchingLinearDynamicalSystem([1.0], [[1.0]], [system(rng)])
    rows = rows_of(truth, 30, 1)
    by_kernels = pb.learn.linear_dynamical_system(rows, start=one, max_steps=5, tolerance=0.0, **NAMES)
    for engine in (Exact(), GPB2(), IMM()):
        start = SwitchingLinearDynamicalSystem([1.0], [[1.0]], [one], engine=engine)
        fit = switching_system(rows, start=start, max_steps=5, tolerance=0.0, **NAMES)
        np.testing.assert_allclose(fit.trace, by_kernels.trace, rtol=1e-9)
        np.testing.assert_allclose(fit.model.systems[0].transition, by_kernels.model.transition, atol=1e-8)
        np.testing.assert_allclose(
            fit.model.systems[0].observation_noise, by_kernels.model.observation_noise, atol=1e-8
        )


@pytest.mark.parametrize("engine", [GPB2(), IMM()], ids=repr)
def test_long_sequences_are_learned_approximately_and_said_to_be(engine):
    """Modes that differ much are found; the estimate that the fit tells is the model's own and never falls."""
    calm, wild = (pb.LinearDynamicalSystem(0.95, 1.0, noise, 0.1, 0.0, 1.0) for noise in (0.05, 9.0))
    truth = SwitchingLinearDynamicalSystem([0.5, 0.5], [[0.97, 0.03], [0.05, 0.95]], [calm, wild])
    rows = truth.sample(150, seed=4)[["y1"]]
    start = SwitchingLinearDynamicalSystem(
        [0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]],
        [pb.LinearDynamicalSystem(0.8, 1.0, noise, 0.3, 0.0, 1.0) for noise in (0.3, 3.0)], engine=engine,
    )  # fmt: skip
    fit = switching_system(rows, start=start, fixed=["observation"], max_steps=15)
    assert not fit.is_exact
    assert "estimate" in str(fit)
    assert np.diff(fit.trace).min() >= 0
    assert fit.log_likelihood > start.log_likelihood(rows) + 10
    noises = [float(each.transition_noise[0, 0]) for each in fit.model.systems]
    assert noises[0] < 0.3
    assert 5.0 < noises[1] < 15.0
    assert [float(each.observation[0, 0]) for each in fit.model.systems] == [1.0, 1.0]
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(rows))


def test_a_run_goes_on_and_starts_are_made_from_nothing():
    """Two steps and three more are five; without a start modes are drawn, and the seed says how."""
    rows = rows_of(model(1), 6, 1)
    part = switching_system(rows, start=model(5), max_steps=2, tolerance=0.0, **NAMES)
    whole = switching_system(rows, start=model(5), max_steps=5, tolerance=0.0, **NAMES)
    on = switching_system(rows, start=part, max_steps=5, tolerance=0.0, **NAMES)
    np.testing.assert_allclose(on.trace, whole.trace, rtol=1e-12)
    fits = [switching_system(rows, ["a", "b"], 1, restarts=1, seed=3, max_steps=3, **NAMES) for _ in range(2)]
    assert fits[0].log_likelihood == fits[1].log_likelihood
    assert fits[0].model.modes == ("a", "b")
    assert len(fits[0].runs) == 2


def test_zeros_one_row_and_constant_columns():
    """A mode that can't follow stays so; a single row and a column that never varies are learned from."""
    start = model(2)
    never = SwitchingLinearDynamicalSystem([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], start.systems)
    fit = switching_system(rows_of(never, 5, 0), start=never, max_steps=3, **NAMES)
    assert fit.model.initial.tolist() == [1.0, 0.0]
    assert fit.model.switch_transition[1].tolist() == [0.0, 1.0]
    single = switching_system(pd.DataFrame({"y1": [0.5], "y2": [1.0]}), start=start, max_steps=3)
    assert np.isfinite(single.log_likelihood)
    flat = switching_system(pd.DataFrame({"y1": [1.0] * 5, "y2": [2.0] * 5}), start=start, max_steps=5)
    assert np.isfinite(flat.log_likelihood)
    assert min(np.linalg.eigvalsh(each.observation_noise).min() for each in flat.model.systems) > 0


def test_wrong_options_are_named():
    """Names that are none, what needs a start, no rows."""
    with pytest.raises(InvalidArgument, match=r"fixed=: 'switch' is none of"):
        switching_system({"y1": [1.0]}, fixed=["switch"])
    with pytest.raises(InvalidArgument, match="give it as start="):
        switching_system({"y1": [1.0]}, fixed=["transition"])
    with pytest.raises(InvalidArgument, match="no rows"):
        switching_system({"y1": [], "y2": []}, start=model(0))
