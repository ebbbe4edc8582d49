"""Observed choices as arrays: situations, options, and what was taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.decisions.attributes.fitting import Attributes, outcome_rows
from plausible.decisions.attributes.outcome_tables import Floats, Names
from plausible.decisions.attributes.scope_sets import UtilityBasis, utility_basis
from plausible.decisions.populations.answers import read_background
from plausible.errors import InvalidArgument
from plausible.factors.alignment import read_scope

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

__all__ = ["ObservedChoices", "choice_features"]


@dataclass(frozen=True, slots=True, eq=False)
class ObservedChoices:
    """What somebody chose, from what, one row for each outcome of each option (the long form of such data).

    Parameters
    ----------
    outcomes
        A frame, or a mapping from names to columns: a column for each attribute.
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

    outcomes: IntoDataFrame | Mapping[str, Sequence[Any]]
    situation: npt.ArrayLike
    chosen: npt.ArrayLike
    option: npt.ArrayLike | None = None
    probability: npt.ArrayLike | None = None
    background: npt.ArrayLike | None = None

    def __repr__(self) -> str:
        return f"<ObservedChoices: {len(np.asarray(self.situation))} rows>"


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceFeatures:
    """Options in order of their situations.

    Attributes
    ----------
    basis
        The decomposition of the utility.
    features
        For each option the vector b with E[U] = b · θ.
    background
        For each option the covariates of who chose, a column of ones first.
    starts
        The first option of each situation.
    taken
        The option taken in each situation.
    situations
        The labels of the situations.
    """

    basis: UtilityBasis
    features: Floats
    background: Floats
    starts: NDArray[np.int64]
    taken: NDArray[np.int64]
    situations: NDArray[Any]

    @property
    def situation_of(self) -> NDArray[np.int64]:
        """The situation of each option, by number."""
        return np.repeat(np.arange(len(self.starts)), np.diff([*self.starts, len(self.features)]))


def choice_features(choices: ObservedChoices, scopes: Iterable[Names], attributes: Attributes) -> ChoiceFeatures:
    """The options of observed choices in the coordinates of a decomposition."""
    basis = utility_basis(read_scope(attributes), scopes)
    rows = outcome_rows(basis, choices.outcomes)
    labels, situation = np.unique(_column(choices.situation, len(rows), "situation"), return_inverse=True)
    option = np.arange(len(rows)) if choices.option is None else _column(choices.option, len(rows), "option")
    option = np.unique(option, return_inverse=True)[1]
    chance = (
        np.ones(len(rows)) if choices.probability is None else _column(choices.probability, len(rows), "probability")
    )
    chosen = _column(choices.chosen, len(rows), "chosen").astype(bool)
    background = read_background(choices.background, len(rows))
    pairs, first, number = np.unique(
        np.column_stack([situation, option]), axis=0, return_index=True, return_inverse=True
    )
    number = number.reshape(-1)
    features = np.zeros((len(pairs), basis.size))
    np.add.at(features, number, chance[:, None] * rows)
    _check(pairs, number, chance, chosen, labels)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(labels)))
    taken = np.flatnonzero(chosen[first])
    return ChoiceFeatures(basis, features, background[first], starts, taken, labels)


def _check(
    pairs: NDArray[np.int64], number: NDArray[np.int64], chance: Floats, chosen: NDArray[np.bool_], labels: NDArray[Any]
) -> None:
    totals = np.bincount(number, chance)
    if (np.asarray(chance) < 0).any() or not np.allclose(totals, 1.0, atol=1e-6):
        where = labels[pairs[int(np.abs(totals - 1.0).argmax()), 0]]
        raise InvalidArgument(f"The probabilities of an option in the situation {where} do not sum to one.")
    shares = np.bincount(number, chosen) / np.bincount(number)
    if not np.isin(shares, (0.0, 1.0)).all():
        raise InvalidArgument("The rows of one option must all be chosen, or none.")
    taken = np.bincount(pairs[:, 0], shares)
    if not (taken == 1.0).all():
        raise InvalidArgument(
            f"In the situation {labels[int((taken != 1.0).argmax())]} not exactly one option is chosen."
        )


def _column(values: npt.ArrayLike, length: int, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.shape != (length,):
        raise InvalidArgument(f"{what}= needs a value for each of the {length} rows, not {array.shape}.")
    return array
