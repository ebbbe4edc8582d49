"""Jeffrey's rule with engines that draw: wanted beliefs hold, errors are honest, and what no sample met is said."""

from __future__ import annotations

import numpy as np
import pytest

from network_oracle import asia_network
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.approximate_samples import EvidenceNotSeen
from plausible.inference.jeffrey import joints_of_draws
from plausible.inference.sampling.annealed_importance import AnnealedImportance
from plausible.inference.sampling.chains import Gibbs
from plausible.inference.sampling.collapsed_particles import CollapsedGibbs
from plausible.inference.sampling.directed_sampling import LikelihoodWeighting, RejectionSampling
from plausible.inference.sampling.importance_sampling import ImportanceSampling
from plausible.inference.sampling.metropolis import Metropolis
from plausible.models import MarkovNetwork
from plausible.variables import Variable, jeffrey, likelihood
from plausible.variables.evidence import read_findings
from refusals import refuses

A, B, C = Variable("A", 2), Variable("B", 3), Variable("C", 2)
KNOWN = {"A": A, "B": B, "C": C}
TABLES = (
    np.array([0.7, 0.3]),
    np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]),
    np.array([[[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]], [[0.3, 0.7], [0.2, 0.8], [0.6, 0.4]]]),
)
FAMILIES = [Factor((A,), TABLES[0]), Factor((A, B), TABLES[1]), Factor((A, B, C), TABLES[2])]
ENGINES = [
    RejectionSampling(40_000),
    LikelihoodWeighting(40_000),
    ImportanceSampling(40_000),
    Gibbs(num_samples=20_000, burn_in=100),
    Metropolis(num_samples=40_000, burn_in=100),
    AnnealedImportance(num_temperatures=30, num_particles=4_000),
    CollapsedGibbs(["A"], num_samples=800, burn_in=20),
]


def fitted(q_a, q_c, likelihood_b):
    """The joint with both beliefs, by scaling rows and columns of the table over and over."""
    joint = TABLES[0][:, None, None] * TABLES[1][:, :, None] * TABLES[2] * np.reshape(likelihood_b, (1, -1, 1))
    for _ in range(500):
        joint = joint * (np.asarray(q_a) / joint.sum(axis=(1, 2)))[:, None, None]
        joint = joint * (np.asarray(q_c) / joint.sum(axis=(0, 1)))
    return joint


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_two_findings_are_met_to_the_last_digit_and_the_rest_within_the_error(engine):
    """Fitting on noisy answers in turn would never come to an end."""
    findings = {"A": jeffrey([0.4, 0.6]), "C": jeffrey([0.25, 0.75]), "B": likelihood([1.0, 0.5, 0.8])}
    truth = fitted([0.4, 0.6], [0.25, 0.75], [1.0, 0.5, 0.8])
    evidence, wanted = read_findings(findings, KNOWN)
    answers = joints_of_draws(FAMILIES, [[A], [C], [B], [C, B], []], evidence, wanted, engine.joints)
    np.testing.assert_allclose(answers[0].values, [0.4, 0.6], atol=1e-11)
    np.testing.assert_allclose(answers[1].values, [0.25, 0.75], atol=1e-11)
    error = answers[0].info.error
    assert 0 < error < 0.05
    assert np.abs(answers[2].values - truth.sum(axis=(0, 2))).max() <= 2 * error
    assert np.abs(answers[3].values - truth.sum(axis=0).T).max() <= 2 * error
    assert answers[4].values == pytest.approx(1)


@pytest.mark.parametrize("engine", [LikelihoodWeighting, RejectionSampling])
def test_intervals_under_a_finding_cover_the_truth(engine):
    """A rare state made common: the noise of its prior belief is not left out of the error."""
    rare = Factor((A,), [0.95, 0.05])
    effect = Factor((A, C), [[0.95, 0.05], [0.02, 0.98]])
    net, truth = MarkovNetwork(rare, effect), 0.4 * 0.05 + 0.6 * 0.98
    hits = 0
    for seed in range(100):
        answer = net.query("C", {"A": jeffrey([0.4, 0.6])}, engine=engine(1000, seed=seed))
        hits += abs(answer.values[1] - truth) <= answer.info.error
    assert hits >= 92


@pytest.mark.parametrize(("engine", "num_kept"), [(LikelihoodWeighting, 20_000), (RejectionSampling, 20_000 / 3)])
def test_the_error_under_a_finding_is_1_96_standard_errors_of_a_share(engine, num_kept):
    """√(p (1 - p) / n); of samples that would be rejected, 1 / max q(a) / P(a) are kept."""
    wanted, effect = np.array([0.4, 0.6]), np.array([0.9, 0.3])
    net = MarkovNetwork(Factor((A,), [0.8, 0.2]), Factor((A, C), np.stack([effect, 1 - effect], axis=1)))
    answer = net.query("C", {"A": jeffrey(wanted.tolist())}, engine=engine(20_000, seed=1))
    share = wanted @ effect
    expected = 1.96 * np.sqrt(share * (1 - share) / num_kept)
    assert answer.info.error == pytest.approx(expected, rel=0.02)
    assert abs(answer.values[0] - share) < 2 * expected


def test_a_state_that_no_sample_met_is_not_called_impossible():
    rare = Factor((A,), [1 - 1e-6, 1e-6])
    with pytest.raises(EvidenceNotSeen, match=r"A=1 the probability 0.5, but no sample met that state.*num_samples"):
        MarkovNetwork(rare).query("A", {"A": jeffrey([0.5, 0.5])}, engine=LikelihoodWeighting(1000))


def test_findings_that_the_draws_rule_out_together_are_refused():
    equal = [Factor((A,), [0.5, 0.5]), Factor((A, C), np.eye(2))]
    wanted = {"A": jeffrey([0.2, 0.8]), "C": jeffrey([0.8, 0.2])}
    with pytest.raises(EvidenceNotSeen, match="A, C holds together"):
        MarkovNetwork(equal).query("A", wanted, engine=LikelihoodWeighting(1000))


@pytest.mark.parametrize("engine", [LikelihoodWeighting(2000), Gibbs(num_samples=2000, burn_in=50)], ids=repr)
def test_rows_follow_the_wanted_belief(engine):
    evidence = {"A": jeffrey([0.4, 0.6]), "C": jeffrey([0.25, 0.75])}
    rows = MarkovNetwork(FAMILIES).sample(2000, None, evidence, engine=engine)
    assert rows["A"].mean() == pytest.approx(0.6, abs=0.08)
    assert rows["C"].mean() == pytest.approx(0.75, abs=0.08)


def test_a_finding_in_a_network_is_answered_through_its_model():
    net = asia_network()
    name = next(iter(net.variables))
    states = net.variables[name].states
    answer = net.query(name, {name: jeffrey([0.3, 0.7])}, engine=LikelihoodWeighting(2000))
    assert dict(zip(states, answer.values, strict=True)) == pytest.approx(dict(zip(states, [0.3, 0.7], strict=True)))


@pytest.mark.parametrize("share", ["a", 0, 1.5, None, True])
def test_shares_that_are_none_are_refused_by_name(share):
    refuses(InvalidArgument, "prior_share=", ImportanceSampling, prior_share=share)
