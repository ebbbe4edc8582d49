"""The functional that EM climbs: F = E_Q[ℓ] + H(Q), and the log-likelihood is F + KL(Q ‖ posterior).

Q is the posterior of the missing cells under one network, θ' the parameters of another (Neal & Hinton 1998). E-steps
maximise F over Q, M-steps over θ.
"""

from __future__ import annotations

from dataclasses import dataclass

from plausible.data.table import TableLike
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations, ExpectationStep
from plausible.learn.incomplete.gaussian_expectations import HybridExpectations
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner, MomentRegression
from plausible.learn.incomplete.maximization import family_log_likelihood
from plausible.learn.incomplete.problem import expectation_step
from plausible.models import BayesianNetwork


@dataclass(frozen=True, slots=True)
class EMFunctional:
    """The terms of log-likelihood = E_Q[ℓ] + H(Q) + KL(Q ‖ P(missing | observed, θ))."""

    log_likelihood: float  # ℓ(θ): that of the observed cells under the network
    expected_log_likelihood: float  # E_Q[ℓ]: that of the completed rows under the network, expected under Q
    #: H(Q), of the missing cells; a differential entropy, which may be negative, where numbers are missing.
    entropy: float

    @property
    def value(self) -> float:
        """F = E_Q[ℓ] + H(Q), at most the log-likelihood."""
        return self.expected_log_likelihood + self.entropy

    @property
    def divergence(self) -> float:
        """KL(Q ‖ posterior under the network) ≥ 0; zero where Q is that posterior."""
        return max(self.log_likelihood - self.value, 0.0)


def observed_log_likelihood(network: BayesianNetwork, data: TableLike | Cases) -> float:
    """Σ weight · log P(observed cells of a row), missing cells summed out.

    Parameters
    ----------
    network
        A network of tables, linear Gaussians and conditional linear Gaussians.
    data
        Rows with missing cells; variables without a column are hidden.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.25, 0.75]))
    >>> round(observed_log_likelihood(coin, {"coin": [0, None]}), 6)
    -1.386294
    """
    return expectation_step(Cases.of(network.variables, data, has_numbers=True)).at(network).log_likelihood


def expected_log_likelihood(network: BayesianNetwork, expectations: Expectations) -> float:
    """Σ over families of M̄[x, u] log θ_{x|u}: the log-likelihood of completed rows, expected under Q.

    For a continuous child it is what its expected second moments say. Discrete children of numbers, which are observed
    with all of their parents, have no counts, and are left out.

    Parameters
    ----------
    network
        Its parameters are θ.
    expectations
        What Q expects of the families; -inf where it expects what the network rules out.
    """
    total = 0.0
    for name, counts in expectations.counts.items():
        cpd = network.cpd(name)
        if expectations.units is not None and cpd.variable.is_continuous:
            units = expectations.units.some([variable.name for variable in cpd.scope if variable.is_continuous])
            regression = MomentRegression(cpd.variable, cpd.parents, units, GaussianMomentLearner())
            total += regression.expected_log_likelihood(cpd, counts)
        else:
            total += family_log_likelihood(cpd, counts)
    return total


def em_functional(
    network: BayesianNetwork, data: TableLike | Cases, completing: BayesianNetwork | None = None
) -> EMFunctional:
    """F and its terms at a network, where another one completes the data.

    Cost: one or two E-steps.

    Parameters
    ----------
    network
        θ.
    data
        Rows with missing cells.
    completing
        Q is its posterior of the missing cells; that of `network` where left out.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> fair, bent = (BayesianNetwork(TableCPD("coin", [p, 1 - p])) for p in (0.5, 0.25))
    >>> found = em_functional(bent, {"coin": [0, None]}, completing=fair)
    >>> round(found.log_likelihood, 4), round(found.value, 4), round(found.divergence, 4)
    (-1.3863, -1.5301, 0.1438)
    """
    cases = Cases.of(network.variables, data, has_numbers=True)
    step, other = expectation_step(cases), completing or network
    here = step.at(network)
    there = here if completing is None else step.at(completing)
    entropy = there.log_likelihood - expected_log_likelihood(other, there) - _determined(step, other)
    expected = expected_log_likelihood(network, there) + _determined(step, network)
    return EMFunctional(here.log_likelihood, expected, entropy if cases.continuous else max(entropy, 0.0))


def _determined(step: ExpectationStep, network: BayesianNetwork) -> float:
    """The part of the log-likelihood that no count has."""
    return step.determined(network) if isinstance(step, HybridExpectations) else 0.0
