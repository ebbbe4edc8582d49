"""Utilities from observed choices: the better option is the likelier one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base import TABLE_ROUNDING, Flags, Floats, Ints, Result, record, score_noise
from plausible.errors import InvalidArgument, counted
from plausible.factors.alignment import read_scope
from plausible.search.run import CONVERGED, Stops, iterate
from plausible.utilities.attributes.additive_utility import AdditiveUtility, UtilityBasis, sum_text, utility_basis
from plausible.utilities.attributes.fitting import Attributes, Outcomes, outcome_rows
from plausible.utilities.attributes.outcome_tables import Names, read_numbers
from plausible.utilities.populations.em import read_background
from plausible.utilities.populations.population import UserUtility, UtilityPopulation


@dataclass(frozen=True, slots=True, eq=False)
class ObservedChoices:
    """What somebody chose, from what, one row for each outcome of each option (the long form of such data).

    >>> ObservedChoices({"meal": ["fish", "meat"]}, situation=[1, 1], chosen=[True, False])
    <ObservedChoices: 2 rows>
    """

    outcomes: Outcomes  # A frame or a mapping from names to columns, a column for each attribute; or a list of mappings
    situation: npt.ArrayLike  # For each row the situation of choice that it belongs to: any labels
    chosen: npt.ArrayLike  # For each row whether it belongs to the option that was taken; one of each situation
    #: For each row the option that it belongs to, where options are lotteries of several rows; each row is an option of
    #: its own where left out.
    option: npt.ArrayLike | None = None
    probability: npt.ArrayLike | None = None  # For each row that of the outcome, given the option; one where left out
    #: For each row the covariates of who chose, such as age; the same in all rows of a situation.
    background: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        table: Any = self.outcomes
        _check(_read_rows(self, len(next(iter(table.values()), ()) if isinstance(table, Mapping) else table)))

    def __repr__(self) -> str:
        return f"<ObservedChoices: {counted(len(np.asarray(self.situation)), 'row')}>"


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceFeatures:
    """Options in order of their situations."""

    basis: UtilityBasis  # The decomposition of the utility
    features: Floats  # For each option the vector b with E[U] = b · θ
    background: Floats  # For each option the covariates of who chose, a column of ones first
    starts: Ints  # The first option of each situation
    taken: Ints  # The option taken in each situation
    situations: NDArray[Any]  # The labels of the situations

    @property
    def situation_of(self) -> Ints:
        """The situation of each option, by number."""
        return np.repeat(np.arange(len(self.starts)), np.diff([*self.starts, len(self.features)]))


class _Rows(NamedTuple):
    """Rows of observed choices: situations and options by number, and the labels of the situations."""

    labels: NDArray[Any]
    chosen: Flags
    chance: Floats
    background: Floats
    pairs: Ints  # The different options with their situations
    first: Ints  # The first row of each option
    number: Ints  # The option of each row


def choice_features(choices: ObservedChoices, scopes: Iterable[Names], attributes: Attributes) -> ChoiceFeatures:
    """The options of observed choices in the coordinates of a decomposition."""
    basis = utility_basis(read_scope(attributes), scopes)
    outcomes = outcome_rows(basis, choices.outcomes)
    rows = _read_rows(choices, len(outcomes))
    pairs, first, number = rows.pairs, rows.first, rows.number
    # Probabilities written with few digits sum to almost one: the rest must not speak for or against an option.
    chance = rows.chance / np.bincount(number, rows.chance)[number]
    features = np.zeros((len(pairs), basis.size))
    np.add.at(features, number, chance[:, None] * outcomes)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(rows.labels)))
    taken = np.flatnonzero(rows.chosen[first])
    return ChoiceFeatures(basis, features, rows.background[first], starts, taken, rows.labels)


def _read_rows(choices: ObservedChoices, length: int) -> _Rows:
    labels, situation = np.unique(_column(choices.situation, length, "situation"), return_inverse=True)
    option = range(length) if choices.option is None else choices.option
    chance = np.ones(length) if choices.probability is None else choices.probability
    options = np.unique(_column(option, length, "option"), return_inverse=True)[1]
    both = np.column_stack([situation, options])
    pairs, first, number = np.unique(both, axis=0, return_index=True, return_inverse=True)
    chosen = _column(choices.chosen, length, "chosen").astype(bool)
    chances = _column(read_numbers(chance, "probability="), length, "probability")
    background = read_background(choices.background, length)
    return _Rows(labels, chosen, chances, background, pairs, first, number.reshape(-1))


def _check(rows: _Rows) -> None:
    """Refuse options whose probabilities do not sum to one, or situations in which not one option is chosen."""
    number, situation_of = rows.number, rows.pairs[:, 0]
    totals = np.bincount(number, rows.chance)
    if (rows.chance < 0).any() or not np.allclose(totals, 1.0, atol=TABLE_ROUNDING):
        worst = int(number[rows.chance.argmin()] if (rows.chance < 0).any() else np.abs(totals - 1.0).argmax())
        raise InvalidArgument(
            f"The probabilities of an option in the situation {rows.labels[situation_of[worst]]} are to be from 0 to 1 "
            f"and sum to one; they sum to {totals[worst]:.6g}, the least being "
            f"{rows.chance[number == worst].min():.6g}."
        )
    shares = np.bincount(number, rows.chosen) / np.bincount(number)
    if not np.isin(shares, (0.0, 1.0)).all():
        where = rows.labels[situation_of[int(np.isin(shares, (0.0, 1.0)).argmin())]]
        raise InvalidArgument(
            f"In the situation {where} some rows of an option are chosen and others not: mark all of them, or none."
        )
    taken = np.bincount(situation_of, shares)
    if not (taken == 1.0).all():
        worst = int((taken != 1.0).argmax())
        raise InvalidArgument(
            f"In the situation {rows.labels[worst]} not exactly one option is chosen, but {taken[worst]:.0f}: "
            f"set chosen= for one of them."
        )


def _column(values: npt.ArrayLike, length: int, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (length,):
        raise InvalidArgument(f"{what}= needs a value for each of the {length} rows, not {array.shape}.")
    return array


@record(eq=False)
class ChoiceModel(Result):
    """A utility learned from choices, and how sure it is."""

    basis: UtilityBasis  # The decomposition
    #: The most probable coordinates: a row for each, a column for each number of the background (a one first).
    mean: Floats
    covariance: Floats  # Of all these numbers, row by row: the inverse curvature at the mode (Laplace)
    log_likelihood: float  # Of the choices, at the mode
    log_evidence: float  # The logarithm of their marginal likelihood, by Laplace's approximation
    num_steps: int  # Of Newton's method
    converged: bool  # Whether the last one changed nothing worth mentioning

    def user(self, background: npt.ArrayLike | None = None) -> UserUtility:
        """What is known of the utility of a person with a background, in units of log odds."""
        row = read_background(None if background is None else np.atleast_2d(background), 1)[0]
        if len(row) != self.mean.shape[1]:
            raise InvalidArgument(f"background= needs {self.mean.shape[1] - 1} numbers, as in the data.")
        size = self.basis.size
        blocks = self.covariance.reshape(size, len(row), size, len(row))
        return UserUtility(self.basis, self.mean @ row, np.einsum("iajb,a,b->ij", blocks, row, row))

    def utility(self, background: npt.ArrayLike | None = None) -> AdditiveUtility:
        """The most probable utility of a person with a background."""
        return self.user(background).utility

    def probabilities(self, choices: ObservedChoices) -> Floats:
        """P(option) of each option, situations and options in the order of their sorted labels."""
        data = choice_features(choices, self.basis.scopes, self.basis.variables)
        return _probabilities(data, _design(data) @ self.mean.reshape(-1))[0]

    def __str__(self) -> str:
        end = "" if self.converged else ", not converged"
        return f"{sum_text(self.basis.scopes)} from choices: log-likelihood {self.log_likelihood:.6g}{end}"


def fit_choices(
    choices: ObservedChoices,
    scopes: Iterable[Names],
    attributes: Attributes,
    *,
    prior: UtilityPopulation | float = 3.0,
    max_steps: int = 100,
) -> ChoiceModel:
    """The most probable utility of who chose, P(option) ∝ exp(E[U | option]), and its curvature (McFadden 1974).

    The logarithm of the posterior is concave; Newton's method with halved steps finds the mode. Utilities are in units
    of log odds: a difference of one is chosen e times as often.

    Parameters
    ----------
    choices
        Situations, options and what was taken.
    scopes, attributes
        Z_i, as names or lists of names; all attributes with their states.
    prior
        A standard deviation of every coordinate, around zero; or a population learned from others with the same scopes
        and background, for the choices of one more person.

    Examples
    --------
    >>> shown = {"meal": ["fish", "meat"] * 10}
    >>> took = [True, False] * 8 + [False, True] * 2            # fish, eight times of ten
    >>> seen = ObservedChoices(shown, situation=np.repeat(range(10), 2), chosen=took)
    >>> model = fit_choices(seen, ["meal"], {"meal": ["fish", "meat"]}, prior=100.0)
    >>> model.probabilities(seen)[:2].round(3)
    array([0.8, 0.2])
    """
    data = choice_features(choices, scopes, attributes)
    if not len(data.situations):
        raise InvalidArgument("There is no choice to learn from: the choices have no rows.")
    design = _design(data)
    mean, precision = _prior(prior, data)
    at = partial(_objective, data, design, mean, precision)

    def newton(state: _State) -> _State:
        """One step uphill, halved until it gains; the same state where none does."""
        direction, length = np.linalg.solve(state.curvature, state.gradient), 1.0
        while length > 1e-8:
            new = at(state.coordinates + length * direction)
            if new.value > state.value:
                return new
            length *= 0.5
        return state

    run = iterate(
        newton,
        at(mean),
        Stops(max_steps=max_steps),
        [lambda run: CONVERGED if run.trace[-1] - run.trace[-2] <= score_noise(run.trace[-2]) else ""],
        objective=attrgetter("value"),
    )
    state = run.state
    log_determinants = float(np.linalg.slogdet(precision)[1]) - float(np.linalg.slogdet(state.curvature)[1])
    return ChoiceModel(
        data.basis,
        state.coordinates.reshape(data.basis.size, data.background.shape[1]),
        np.asarray(np.linalg.inv(state.curvature), dtype=np.float64),
        state.log_likelihood,
        state.value + 0.5 * log_determinants,
        run.num_steps,
        run.converged,
    )


class _State(NamedTuple):
    coordinates: Floats
    value: float
    log_likelihood: float
    gradient: Floats
    curvature: Floats  # The negative Hessian


def _design(data: ChoiceFeatures) -> Floats:
    """Each option's features times the background of who chose, row by row."""
    products = np.einsum("np,nq->npq", data.features, data.background)
    return np.asarray(products.reshape(len(data.features), -1))


def _probabilities(data: ChoiceFeatures, scores: Floats) -> tuple[Floats, Floats]:
    """The probability of each option in its situation, and its logarithm."""
    group = data.situation_of
    top = np.maximum.reduceat(scores, data.starts)[group]
    weights = np.exp(scores - top)
    totals = np.add.reduceat(weights, data.starts)[group]
    return weights / totals, scores - top - np.log(totals)


def _objective(data: ChoiceFeatures, design: Floats, mean: Floats, precision: Floats, coordinates: Floats) -> _State:
    """The log posterior, up to a constant, and its derivatives."""
    probabilities, logs = _probabilities(data, design @ coordinates)
    weighted = probabilities[:, None] * design
    expected = np.add.reduceat(weighted, data.starts, axis=0)
    centred = design - expected[data.situation_of]
    pull = precision @ (coordinates - mean)
    likelihood = math.fsum(logs[data.taken])
    gradient = (design[data.taken] - expected).sum(axis=0) - pull
    curvature = (probabilities[:, None] * centred).T @ centred + precision
    value = likelihood - 0.5 * float((coordinates - mean) @ pull)
    return _State(coordinates, value, likelihood, gradient, curvature)


def _prior(prior: UtilityPopulation | float, data: ChoiceFeatures) -> tuple[Floats, Floats]:
    """Mean and precision of all coefficients."""
    size, width = data.basis.size, data.background.shape[1]
    if not isinstance(prior, UtilityPopulation):
        if not prior > 0:
            raise InvalidArgument(f"prior={prior!r} is a standard deviation: it must be positive.")
        return np.zeros(size * width), np.eye(size * width) / prior**2
    if prior.basis.scopes != data.basis.scopes or prior.basis.variables != data.basis.variables or width != 1:
        raise InvalidArgument("A population as prior= needs the same scopes and attributes, and no background.")
    return prior.prior().mean, np.asarray(np.linalg.inv(prior.covariance), dtype=np.float64)
