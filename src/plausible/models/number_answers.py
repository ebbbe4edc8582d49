"""What can be asked about the continuous variables of a Bayesian network, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from plausible.factors import GaussianMixture, MomentGaussian
from plausible.inference.budget import Budget
from plausible.inference.hybrid.information import NumberInformation, number_information
from plausible.models.beliefs import Beliefs
from plausible.models.question import Question, QuestionKind
from plausible.variables import EvidenceLike, State

_NUMBERS = QuestionKind(takes_numbers=True, is_hybrid=True)


class NumberAnswers(Beliefs):
    """Means, covariances and mixtures of linear Gaussian variables, whose parameters may depend on discrete ones.

    No discrete variable may depend on a continuous one that is not observed: such questions need an approximate engine.
    """

    __slots__ = ()

    def moments(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> MomentGaussian:
        """Compute the exact mean and covariance of continuous targets given the evidence.

        In a network of linear Gaussians these determine the distribution. If unobserved discrete variables matter, the
        distribution is a mixture with these moments: see `mixture`.

        Parameters
        ----------
        targets
            The name of one continuous variable or of several; rows and columns are in the same order.

        Examples
        --------
        >>> from plausible import BayesianNetwork, LinearGaussianCPD
        >>> net = BayesianNetwork(
        ...     LinearGaussianCPD("x", 1.0, variance=4.0), LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)
        ... )
        >>> print(net.moments("x", evidence={"y": 2.0}))
        variable | mean | cov[x]
        ---------+------+-------
        x        |    3 |    3.2
        """
        question = Question.read(self, _NUMBERS, targets, evidence, do, budget=budget)
        answer: MomentGaussian = question.answer(lambda way: way.moments())
        return answer

    def mixture(
        self,
        targets: str | Iterable[str],
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> GaussianMixture:
        """Compute P(targets | evidence) as a mixture of Gaussians over the discrete variables they depend on.

        Some of the targets may be discrete. See `moments` for the parameters.
        """
        question = Question.read(self, _NUMBERS, targets, evidence, do, budget=budget)
        answer: GaussianMixture = question.answer(lambda way: way.mixture())
        return answer

    def _number_information(
        self, target: str, name: str, evidence: EvidenceLike, base: float, budget: Budget | None
    ) -> NumberInformation:
        """What a continuous variable would tell about a discrete target, from the mixture of both."""
        mixture = self.mixture([target, name], evidence, budget=budget)
        shape = (self.variables[target].num_states, -1)
        weights, means, variances = mixture.weights.values, mixture.means, mixture.covariances
        return number_information(weights.reshape(shape), means.reshape(shape), variances.reshape(shape), base)

    def continuous_marginals(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        budget: Budget | None = None,
    ) -> dict[str, MomentGaussian]:
        """Compute the exact mean and variance of every continuous variable in one elimination.

        >>> from plausible import BayesianNetwork, LinearGaussianCPD
        >>> net = BayesianNetwork(
        ...     LinearGaussianCPD("x", 1.0, variance=4.0), LinearGaussianCPD("y", -3.5, {"x": 0.5}, 4.0)
        ... )
        >>> {name: float(one.mean[0]) for name, one in net.continuous_marginals().items()}
        {'x': 1.0, 'y': -3.0}
        """
        question = Question.read(self, _NUMBERS, None, evidence, do, budget=budget)
        return question.answer(lambda way: way.all_moments())
