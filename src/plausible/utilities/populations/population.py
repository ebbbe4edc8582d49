"""Populations of utility functions, learned from answers by EM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.records import Result, record
from plausible.base.seeds import Seed
from plausible.errors import InvalidArgument, counted
from plausible.factors import Factor
from plausible.factors.alignment import read_scope
from plausible.search.run import Stops
from plausible.utilities.attributes.additive_utility import AdditiveUtility, UtilityBasis, sum_text, utility_basis
from plausible.utilities.attributes.fitting import Attributes, Outcomes, outcome_rows
from plausible.utilities.attributes.outcome_tables import Names, read_numbers
from plausible.utilities.populations.answers import read_answers, read_background
from plausible.utilities.populations.em import (
    ClassParameters,
    PopulationPrior,
    PopulationProblem,
    best_population,
    class_posteriors,
    log_likelihoods,
)
from plausible.utilities.populations.users import MixedUserUtility, UserUtility
from plausible.variables import Variable

_DEFAULT_PRIOR = PopulationPrior()
_DEFAULT_STOPS = Stops()


@record(eq=False)
class UtilityPopulation(Result):
    """People whose utilities have one decomposition: coordinates N(A z, Σ), answers with Gaussian noise."""

    basis: UtilityBasis  # The decomposition
    #: A: a row for each coordinate, a column for each number of the background, the first for the constant one.
    mean: Floats
    covariance: Floats  # Σ
    noise: float  # The variance of the noise of answers
    log_likelihood: float  # Of the answers that it was learned from
    trace: tuple[float, ...]  # The objective of EM before each step
    converged: bool  # Whether the last step gained less than the tolerance

    def utility(self, background: npt.ArrayLike | None = None) -> AdditiveUtility:
        """The mean utility of people with a background."""
        return self.prior(background).utility

    def prior(self, background: npt.ArrayLike | None = None) -> UserUtility:
        """What is known of a person before any answer."""
        row = read_background(None if background is None else np.atleast_2d(background), 1)
        if row.shape[1] != self.mean.shape[1]:
            raise InvalidArgument(f"background= needs {self.mean.shape[1] - 1} numbers, as in the data.")
        return UserUtility(self.basis, self.mean @ row[0], self.covariance)

    def predict(
        self, outcomes: Outcomes, answers: npt.ArrayLike, background: npt.ArrayLike | None = None
    ) -> UserUtility:
        """What is known of a new person after some answers: a row of `outcomes` for each, NaN where there is none."""
        before = self.prior(background)
        problem = _problem([self.basis], outcomes, _one_row(answers))
        _, (block, *_) = log_likelihoods(problem, 0, ClassParameters(before.mean[:, None], self.covariance), self.noise)
        return UserUtility(self.basis, before.mean + block.moves[0], block.covariances[block.pattern_of[0]])

    def __str__(self) -> str:
        return f"{sum_text(self.basis.scopes)}: {counted(self.basis.size, 'coordinate')}, {_fit_text(self)}"


@record(eq=False)
class UtilityMixture(Result):
    """People whose utilities have one of several decompositions."""

    populations: tuple[UtilityPopulation, ...]  # One for each class of people
    weights: Factor  # The share of each class: a factor over `decomposition`
    log_likelihood: float  # Of the answers that it was learned from
    trace: tuple[float, ...]  # The objective of EM before each step, of the best run
    converged: bool  # Whether its last step gained less than the tolerance

    def predict(
        self, outcomes: Outcomes, answers: npt.ArrayLike, background: npt.ArrayLike | None = None
    ) -> MixedUserUtility:
        """What is known of a new person after some answers: P(decomposition | answers), and the utility under each."""
        row = _one_row(answers)
        given = None if background is None else np.atleast_2d(background)
        posterior = self.posteriors(outcomes, row, given)[0]
        users = tuple(one.predict(outcomes, row, background) for one in self.populations)
        return MixedUserUtility(Factor(self.weights.scope, posterior), users)

    def posteriors(self, outcomes: Outcomes, answers: npt.ArrayLike, background: npt.ArrayLike | None = None) -> Floats:
        """P(decomposition | answers) of each person, a row for each: an array of people × classes."""
        bases = [one.basis for one in self.populations]
        problem = _problem(bases, outcomes, answers, background)
        values = [
            log_likelihoods(problem, c, ClassParameters(one.mean, one.covariance), one.noise)[0]
            for c, one in enumerate(self.populations)
        ]
        return class_posteriors(np.array(values) + self.weights.log().flat[:, None])[0].T

    def __str__(self) -> str:
        return f"{self.weights}\n{_fit_text(self.populations[0])}"


def _fit_text(people: UtilityPopulation) -> str:
    """How well a population, or the mixture that it is in, fits."""
    end = "" if people.converged else ", not converged"
    return f"noise {np.sqrt(people.noise):.4g}, log-likelihood {people.log_likelihood:.6g}{end}"


def fit_population(
    outcomes: Outcomes,
    answers: npt.ArrayLike,
    scopes: Iterable[Names],
    attributes: Attributes,
    *,
    background: npt.ArrayLike | None = None,
    prior: PopulationPrior = _DEFAULT_PRIOR,
    stops: Stops = _DEFAULT_STOPS,
) -> UtilityPopulation:
    """A population of utilities with one decomposition, from the answers of many people, by EM.

    U(v)[m] = Σ_i U_i(z_i)[m] + noise, the hidden parts of person m being Gaussian: a linear Gaussian model, whose
    E-step is in closed form (Chajewska & Koller 2000; Koller & Friedman 2009, exercise 22.8). A step costs a system of
    equations for each different pattern of missing answers, and matrix products for all people together.

    Parameters
    ----------
    outcomes, answers
        A row for each of K outcomes that people were asked about, a column for each attribute; a row for each person, a
        column for each outcome, NaN where somebody was not asked.
    scopes, attributes
        Z_i, as names or lists of names; all attributes with their states.
    background
        Numbers known of each person, such as age, on which mean utilities depend linearly.
    prior, stops
        What is assumed of the covariance of people's utilities; when to stop, and whom to tell of progress.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> taste = rng.normal([2.0, 5.0], [1.0, 0.1], size=(200, 2))         # what A=1 and B=1 add, for each person
    >>> asked = {"A": [0, 1, 0, 1], "B": [0, 0, 1, 1]}
    >>> answers = taste @ np.array([[0, 1, 0, 1], [0, 0, 1, 1]]) + rng.normal(0, 0.1, size=(200, 4))
    >>> people = fit_population(asked, answers, ["A", "B"], {"A": 2, "B": 2})
    >>> round(people.utility()[{"A": 1, "B": 1}], 1)
    6.9
    >>> print(people.predict({"A": [0, 1], "B": [0, 0]}, [0.0, 4.0]).at({"A": 1, "B": 1}))
    8.948... ± 0.252
    """
    basis = utility_basis(read_scope(attributes), scopes)
    problem = _problem([basis], outcomes, answers, background, prior)
    return _mixture(problem, 0, None, stops).populations[0]


def fit_population_mixture(
    outcomes: Outcomes,
    answers: npt.ArrayLike,
    decompositions: Iterable[Iterable[Names]],
    attributes: Attributes,
    *,
    background: npt.ArrayLike | None = None,
    prior: PopulationPrior = _DEFAULT_PRIOR,
    restarts: int = 4,
    seed: Seed = 0,
    stops: Stops = _DEFAULT_STOPS,
) -> UtilityMixture:
    """Classes of people, each with a decomposition of its own, from the answers of many, by EM.

    Each class has the scopes of its parts; two classes may have the same. All else is as in `fit_population`.

    To a third of the people A and B together are worth more than each of them:

    >>> rng = np.random.default_rng(0)
    >>> asked = {"A": [0, 0, 1, 1], "B": [0, 1, 0, 1]}
    >>> plain = rng.normal(1.0, 0.1, size=(90, 2)) @ np.array([asked["A"], asked["B"]])
    >>> answers = plain + rng.normal(0.0, 0.05, size=(90, 4))
    >>> answers[::3, 3] += rng.normal(4.0, 0.5, size=30)
    >>> people = fit_population_mixture(asked, answers, [["A", "B"], [["A", "B"]]], {"A": 2, "B": 2}, restarts=0)
    >>> people.weights.flat.round(2)
    array([0.67, 0.33])
    >>> user = people.predict({"A": [0, 0, 1], "B": [0, 1, 0]}, [0.0, 1.0, 1.0])  # which tell little of the class
    >>> print(user.at({"A": 1, "B": 1}))
    2.61... ± 1.47
    """
    scope = read_scope(attributes)
    bases = [utility_basis(scope, scopes) for scopes in decompositions]
    if not bases:
        raise InvalidArgument("A mixture needs at least one decomposition.")
    problem = _problem(bases, outcomes, answers, background, prior)
    return _mixture(problem, restarts, seed, stops)


def _problem(
    bases: Sequence[UtilityBasis],
    outcomes: Outcomes,
    answers: npt.ArrayLike,
    background: npt.ArrayLike | None = None,
    prior: PopulationPrior = _DEFAULT_PRIOR,
) -> PopulationProblem:
    designs = tuple(outcome_rows(basis, outcomes) for basis in bases)
    read = read_answers(answers, len(designs[0]), background)
    variance = (float(np.var(read.values[read.known])) if read.known.any() else 1.0) or 1.0
    scales = []
    for design in designs:
        # Variances with which every coordinate would explain an equal share of the variance of the answers.
        squares = np.maximum((design**2).mean(axis=0), 1e-12) if len(design) else np.ones(design.shape[1])
        scales.append(np.asarray(variance / (design.shape[1] * squares)))
    return PopulationProblem(read, tuple(bases), designs, prior, tuple(scales))


def _one_row(answers: npt.ArrayLike) -> Floats:
    """The answers of one person as a row."""
    row = np.atleast_2d(read_numbers(answers, "answers="))
    if len(row) != 1:
        raise InvalidArgument(f"There are answers of {len(row)} people; predict() takes those of one at a time.")
    return row


def _mixture(problem: PopulationProblem, restarts: int, seed: Seed, stops: Stops) -> UtilityMixture:
    if not problem.answers.known.any():
        raise InvalidArgument("There is no answer to learn from: all are missing.")
    run = best_population(problem, restarts, seed, stops)[0]
    state, trace = run.state, tuple(run.trace[1:])
    found = [log_likelihoods(problem, c, one, state.noise)[0] for c, one in enumerate(state.classes)]
    with np.errstate(divide="ignore"):  # a class that nobody is in has the weight zero
        totals = class_posteriors(np.array(found) + np.log(state.weights)[:, None])[1]
    value = float(totals.sum())
    populations = tuple(
        UtilityPopulation(basis, one.mean, one.covariance, state.noise, value, trace, run.converged)
        for basis, one in zip(problem.bases, state.classes, strict=True)
    )
    labels = [f"{place}: {sum_text(basis.scopes)}" for place, basis in enumerate(problem.bases)]
    weights = Factor([Variable("decomposition", labels)], state.weights)
    return UtilityMixture(populations, weights, value, trace, run.converged)
