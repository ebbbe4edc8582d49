"""Populations of utility functions, learned from answers by EM, and what is known of one person's utility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Result, Seed, TextTable, record
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.factors import Factor
from plausible.factors.alignment import Scope, check_size, num_entries, read_scope
from plausible.search.run import Stops
from plausible.utilities.attributes.additive_utility import AdditiveUtility, UtilityBasis, sum_text, utility_basis
from plausible.utilities.attributes.fitting import Attributes, Outcomes, outcome_rows
from plausible.utilities.attributes.outcome_tables import Names, read_numbers
from plausible.utilities.populations.em import (
    ClassParameters,
    PopulationPrior,
    PopulationProblem,
    best_population,
    class_posteriors,
    log_likelihoods,
    read_answers,
    read_background,
)
from plausible.variables import State, Variable

#: How many outcomes are printed.
_NUM_SHOWN = 16


@record
class Estimate(Result):
    """A number that is not known exactly."""

    mean: float  # Its expectation: all that matters to a decision under uncertainty about utilities
    standard_deviation: float  # How uncertain it is

    def __str__(self) -> str:
        return f"{self.mean:.6g} ± {self.standard_deviation:.3g}"


@record(eq=False)
class UserUtility(Result):
    """A utility Σ_i U_i(Z_i) whose parts are jointly Gaussian.

    >>> from plausible.utilities.attributes.additive_utility import utility_basis
    >>> from plausible.variables import Variable
    >>> basis = utility_basis([Variable("meal", ["fish", "meat"])], ["meal"])
    >>> user = UserUtility(basis, np.array([5.0, 2.0**0.5]), np.diag([0.0, 0.5]))
    >>> print(user)
    meal | utility | standard deviation
    -----+---------+-------------------
    fish |       4 |                0.5
    meat |       6 |                0.5
    >>> sure = [Factor({"meal": ["fish", "meat"]}, share) for share in ([0.0, 1.0], [1.0, 0.0])]
    >>> print(user.difference(*sure))
    2 ± 1
    """

    basis: UtilityBasis  # The decomposition
    #: Of its coordinates.
    mean: Floats
    covariance: Floats

    @property
    def utility(self) -> AdditiveUtility:
        """The expected utility function."""
        return AdditiveUtility(self.basis.parts(self.mean), variables=self.basis.variables)

    def at(self, outcome: Mapping[str, State]) -> Estimate:
        """What an outcome is worth to the person."""
        for variable in self.basis.variables:
            if variable.name not in outcome:
                raise UnknownVariable(f"The outcome lacks {variable.name!r}; it has {list(outcome)}.")
        columns = {v.name: np.array([v.index(outcome[v.name])]) for v in self.basis.variables}
        return self._along(self.basis.rows(columns, 1)[0])

    def expected_utility(self, lottery: Factor) -> Estimate:
        """What a lottery is worth to the person; a distribution over the attributes."""
        return self._along(self._row(lottery))

    def difference(self, first: Factor, second: Factor) -> Estimate:
        """How much better the first of two lotteries is."""
        return self._along(self._row(first) - self._row(second))

    def _row(self, lottery: Factor) -> Floats:
        return self.basis.expected_row([lottery.marginal(scope) for scope in self.basis.scopes])

    def standard_deviations(self) -> Factor:
        """The standard deviation of the utility of every outcome."""
        scope = self.basis.variables
        check_size(scope, "The table of standard deviations")
        cells = np.unravel_index(np.arange(num_entries(scope)), [variable.num_states for variable in scope])
        columns = {variable.name: cell for variable, cell in zip(scope, cells, strict=True)}
        rows = self.basis.rows(columns, num_entries(scope))
        variances = np.einsum("ni,ij,nj->n", rows, self.covariance, rows, optimize=True)
        return Factor.from_flat(scope, np.sqrt(np.maximum(variances, 0.0)))

    def __str__(self) -> str:
        return _table_text(self, self.basis.variables)

    def _along(self, row: Floats) -> Estimate:
        return Estimate(float(row @ self.mean), float(np.sqrt(max(0.0, float(row @ self.covariance @ row)))))


@record(eq=False)
class MixedUserUtility(Result):
    """A utility whose decomposition is not known either."""

    weights: Factor  # P(decomposition | answers): a factor
    components: tuple[UserUtility, ...]  # What is known of the utility under each

    @property
    def utility(self) -> AdditiveUtility:
        """The expected utility function: the parts of all decompositions, weighted."""
        parts = [
            part * float(weight)
            for component, weight in zip(self.components, self.weights.flat, strict=True)
            for part in component.utility.parts
        ]
        return AdditiveUtility(parts, variables=self.components[0].basis.variables)

    def at(self, outcome: Mapping[str, State]) -> Estimate:
        """What an outcome is worth to the person."""
        return self._mixed(component.at(outcome) for component in self.components)

    def expected_utility(self, lottery: Factor) -> Estimate:
        """What a lottery is worth to the person; a distribution over the attributes."""
        return self._mixed(component.expected_utility(lottery) for component in self.components)

    def __str__(self) -> str:
        return f"{self.weights}\n\n{_table_text(self, self.components[0].basis.variables)}"

    def _mixed(self, estimates: Iterable[Estimate]) -> Estimate:
        numbers = np.array([(one.mean, one.standard_deviation) for one in estimates])
        mean = float(self.weights.flat @ numbers[:, 0])
        variance = float(self.weights.flat @ (numbers[:, 1] ** 2 + (numbers[:, 0] - mean) ** 2))
        return Estimate(mean, float(np.sqrt(variance)))


def _table_text(user: UserUtility | MixedUserUtility, scope: Scope) -> str:
    """What outcomes are worth to a person, and how uncertain that is: the first few of many."""
    names = tuple(variable.name for variable in scope)
    rows = []
    for states in islice(product(*(variable.states for variable in scope)), _NUM_SHOWN):
        worth = user.at(dict(zip(names, states, strict=True)))
        rows.append((*map(str, states), f"{worth.mean:.6g}", f"{worth.standard_deviation:.3g}"))
    header = (*names, "utility", "standard deviation")
    return str(TextTable(header, tuple(rows), len(names), max(0, num_entries(scope) - len(rows))))


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
