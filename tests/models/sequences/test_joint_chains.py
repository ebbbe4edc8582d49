"""Hidden variables with few joint states as one chain: the answers are those of the unrolled network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import plausible as pb
from plausible.models.sequences.interventions import intervened
from plausible.models.sequences.joint_chains import JointChains


def network(rng: np.random.Generator) -> pb.DynamicBayesianNetwork:
    """Two chains with an input, a variable between, leaves that look at known variables, and a number."""

    def cpd(name: str, parents: list[str], size: int = 2) -> pb.TableCPD:
        sizes = [3 if parent.startswith("B") else 2 for parent in parents]
        return pb.TableCPD(name, rng.dirichlet(np.ones(size), size=sizes), parents=parents)

    first = [cpd("A", []), cpd("B", ["go"], 3), cpd("seen", ["B"]), cpd("echo", ["A"])]
    later = [cpd("A", ["A[-1]", "go"]), cpd("B", ["A[-1]", "B[-1]"], 3), cpd("between", ["A", "B"])]
    leaves = [cpd("seen", ["B", "seen[-1]"]), cpd("echo", ["A", "seen"]), cpd("mark", ["between", "go"], 3)]
    number = pb.ConditionalGaussianCPD(
        "number", rng.normal(size=(2, 2)), {}, [[1.0, 2.0], [0.5, 1.0]], ["between", "go"]
    )
    return pb.DynamicBayesianNetwork(first, [*later, *leaves, number], inputs=[pb.Variable("go", 2)])


def rows_of(model: pb.DynamicBayesianNetwork, rng: np.random.Generator, length: int) -> pd.DataFrame:
    """Some cells missing, some soft; one variable and the inputs known at all steps, two never."""
    drawn = model.sample(length, seed=rng, inputs={"go": rng.integers(0, 2, length)}).astype(object)
    for name in ("echo", "mark", "A", "number"):
        drawn.loc[rng.random(length) < 0.4, name] = None
    drawn.at[1, "mark"] = {0, 2}
    drawn.at[2, "A"] = pb.likelihood([0.3, 0.9])
    return drawn.drop(columns=["B", "between"])


def findings(rows: pd.DataFrame) -> dict[str, object]:
    """The same as evidence of the unrolled network."""
    return {
        f"{name}[{step}]": cell
        for name in rows
        for step, cell in enumerate(rows[name])
        if cell is not None and not (isinstance(cell, float) and np.isnan(cell))
    }


@pytest.mark.parametrize("seed", range(6))
def test_beliefs_and_likelihoods_are_those_of_the_unrolled_network(seed: int) -> None:
    """P(X_t | o), P(X_t | o_1 ... o_t), log P(o) and max P(x, o), with inputs, numbers, soft and missing cells."""
    rng = np.random.default_rng(seed)
    model = network(rng)
    rows, length = rows_of(model, rng, 5), 5
    given = intervened(model._template, model._read(rows, None, None, "refuse"), None, "this network").conditioned()
    assert JointChains.of(given) is not None
    unrolled, evidence = model.unroll(length), findings(rows)
    assert model.log_likelihood(rows) == pytest.approx(unrolled.log_probability(evidence), abs=1e-11)
    smoothed, filtered = model.smooth(rows), model.filter(rows)
    every = unrolled.marginals(evidence=evidence)
    for step in range(length):
        so_far = {name: cell for name, cell in evidence.items() if int(name.partition("[")[2][:-1]) <= step}
        now = model.unroll(step + 1).marginals(evidence=so_far)
        for name in smoothed:
            place = f"{name}[{step}]"
            np.testing.assert_allclose(smoothed[name].iloc[step], every[place].values, rtol=0, atol=1e-12)
            np.testing.assert_allclose(filtered[name].iloc[step], now[place].values, rtol=0, atol=1e-12)


def test_a_sequence_of_one_step_needs_no_transitions() -> None:
    """Where what is known chooses transitions, and there is none to make."""
    model = network(np.random.default_rng(0))
    rows = model.sample(1, seed=0, inputs={"go": [1]}).drop(columns=["A", "B", "between"])
    evidence = findings(rows)
    assert model.log_likelihood(rows) == pytest.approx(model.unroll(1).log_probability(evidence), abs=1e-12)
    smoothed = model.smooth([rows, rows])["A"]
    np.testing.assert_allclose(smoothed, [model.unroll(1).query("A[0]", evidence).values] * 2, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_steps_to_come_have_their_inputs_and_numbers(seed: int) -> None:
    """P(X_T+h | o) and the mixtures that numbers come from are those of the unrolled network with later inputs."""
    rng = np.random.default_rng(seed)
    model = network(rng)
    rows, inputs = rows_of(model, rng, 3), {"go": [1, 0]}
    predicted, told = model.predict(rows, 2, inputs=inputs), model.forecast(rows, 2, inputs=inputs, level=0.6)
    evidence = {**findings(rows), "go[3]": 1, "go[4]": 0}
    beliefs = model.unroll(5).marginals(evidence=evidence)
    for step, place in ((1, 3), (2, 4)):
        for name in predicted:
            np.testing.assert_allclose(
                predicted[name].loc[step], beliefs[f"{name}[{place}]"].values, rtol=0, atol=1e-12
            )
        between = beliefs[f"between[{place}]"].values
        cpd = model.transition["number"]
        means, deviations = (
            cpd.intercept[:, evidence[f"go[{place}]"]],
            np.sqrt(cpd.variance[:, evidence[f"go[{place}]"]]),
        )
        own = told["number"].loc[step]
        assert own["mean"] == pytest.approx(between @ means, abs=1e-12)
        for end, share in (("lower", 0.2), ("upper", 0.8)):
            assert between @ ndtr((own[end] - means) / deviations) == pytest.approx(share, abs=1e-9)
    with pytest.raises(pb.errors.InvalidArgument, match="rows to come of the inputs"):
        model.predict(rows, 2)
    with pytest.raises(pb.errors.InvalidArgument, match="inputs= has 1 rows, and there are 2 steps"):
        model.predict(rows, 2, inputs={"go": [1]})


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unseen", [[], ["mark"], ["echo", "mark"]], ids=str)
def test_best_states_are_those_of_the_unrolled_network(seed: int, unseen: list[str]) -> None:
    """max P(x, o) is that of the unrolled network, and the states found have it, those of leaves without a column."""
    rng = np.random.default_rng(seed)
    model = network(rng)
    rows = rows_of(model, rng, 5).assign(number=rng.normal(size=5)).drop(columns=unseen)
    unrolled, evidence, best = model.unroll(5), findings(rows), model.mpe(rows)
    assert best.log_probability == pytest.approx(unrolled.mpe(evidence).log_probability, abs=1e-10)
    found = {f"{name}[{step}]": state for name in best.states for step, state in enumerate(best[name])}
    numbers = {name: cell for name, cell in evidence.items() if name.startswith("number")}
    weight = np.log(evidence["A[2]"].weights[best["A"].iloc[2]])
    assert best.log_probability == pytest.approx(unrolled.log_probability({**found, **numbers}) + weight, abs=1e-10)
    assert best["mark"].iloc[1] in (0, 2) or unseen
