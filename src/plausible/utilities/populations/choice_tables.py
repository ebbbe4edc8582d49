"""Observed choices as arrays: situations, options, and what was taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats, Ints
from plausible.errors import InvalidArgument, counted
from plausible.factors.alignment import read_scope
from plausible.utilities.attributes.fitting import Attributes, Outcomes, outcome_rows
from plausible.utilities.attributes.outcome_tables import Names, read_numbers
from plausible.utilities.attributes.scope_sets import UtilityBasis, utility_basis
from plausible.utilities.populations.answers import read_background


@dataclass(frozen=True, slots=True, eq=False)
class ObservedChoices:
    """What somebody chose, from what, one row for each outcome of each option (the long form of such data).

    Parameters
    ----------
    outcomes
        A frame or a mapping from names to columns, a column for each attribute; or a list of mappings.
    situation
        For each row the situation of choice that it belongs to: any labels.
    chosen
        For each row whether it belongs to the option that was taken; one option of each situation.
    option
        For each row the option that it belongs to, where options are lotteries of several rows; each row is an option
        of its own where left out.
    probability
        For each row the probability of the outcome, given the option; one where left out.
    background
        For each row the covariates of who chose, such as age; the same in all rows of a situation.

    Examples
    --------
    >>> ObservedChoices({"meal": ["fish", "meat"]}, situation=[1, 1], chosen=[True, False])
    <ObservedChoices: 2 rows>
    """

    outcomes: Outcomes
    situation: npt.ArrayLike
    chosen: npt.ArrayLike
    option: npt.ArrayLike | None = None
    probability: npt.ArrayLike | None = None
    background: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        _check(_read_rows(self, _num_rows(self.outcomes)))

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
    situation: Ints
    option: Ints
    chosen: Flags
    chance: Floats
    background: Floats

    def options(self) -> tuple[Ints, Ints, Ints]:
        """The different options with their situations, the first row of each, and the option of each row."""
        pairs, first, number = np.unique(
            np.column_stack([self.situation, self.option]), axis=0, return_index=True, return_inverse=True
        )
        return pairs, first, number.reshape(-1)


def choice_features(choices: ObservedChoices, scopes: Iterable[Names], attributes: Attributes) -> ChoiceFeatures:
    """The options of observed choices in the coordinates of a decomposition."""
    basis = utility_basis(read_scope(attributes), scopes)
    outcomes = outcome_rows(basis, choices.outcomes)
    rows = _read_rows(choices, len(outcomes))
    pairs, first, number = rows.options()
    # Probabilities written with few digits sum to almost one: the rest must not speak for or against an option.
    chance = rows.chance / np.bincount(number, rows.chance)[number]
    features = np.zeros((len(pairs), basis.size))
    np.add.at(features, number, chance[:, None] * outcomes)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(rows.labels)))
    taken = np.flatnonzero(rows.chosen[first])
    return ChoiceFeatures(basis, features, rows.background[first], starts, taken, rows.labels)


def _num_rows(outcomes: Any) -> int:
    return len(next(iter(outcomes.values()), ())) if isinstance(outcomes, Mapping) else len(outcomes)


def _read_rows(choices: ObservedChoices, length: int) -> _Rows:
    labels, situation = np.unique(_column(choices.situation, length, "situation"), return_inverse=True)
    option = range(length) if choices.option is None else choices.option
    chance = np.ones(length) if choices.probability is None else choices.probability
    return _Rows(
        labels,
        situation,
        np.unique(_column(option, length, "option"), return_inverse=True)[1],
        _column(choices.chosen, length, "chosen").astype(bool),
        _column(read_numbers(chance, "probability="), length, "probability"),
        read_background(choices.background, length),
    )


def _check(rows: _Rows) -> None:
    """Refuse options whose probabilities do not sum to one, or situations in which not one option is chosen."""
    pairs, _, number = rows.options()
    situation_of = pairs[:, 0]
    _check_chances(situation_of, number, rows)
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


def _check_chances(situation_of: Ints, number: Ints, rows: _Rows) -> None:
    """`situation_of` has the situation of each option, `number` the option of each row."""
    totals = np.bincount(number, rows.chance)
    if (rows.chance < 0).any() or not np.allclose(totals, 1.0, atol=1e-6):
        worst = int(number[rows.chance.argmin()] if (rows.chance < 0).any() else np.abs(totals - 1.0).argmax())
        raise InvalidArgument(
            f"The probabilities of an option in the situation {rows.labels[situation_of[worst]]} are to be from 0 to 1 "
            f"and sum to one; they sum to {totals[worst]:.6g}, the least being "
            f"{rows.chance[number == worst].min():.6g}."
        )


def _column(values: npt.ArrayLike, length: int, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (length,):
        raise InvalidArgument(f"{what}= needs a value for each of the {length} rows, not {array.shape}.")
    return array
