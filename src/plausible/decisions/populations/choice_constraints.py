"""Utilities from choices taken at their word: what was chosen is best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.decisions.attributes.additive_utility import AdditiveUtility
from plausible.decisions.attributes.fitting import Attributes
from plausible.decisions.attributes.outcome_tables import Floats, Names
from plausible.decisions.populations.choice_tables import ChoiceFeatures, ObservedChoices, choice_features
from plausible.errors import InvalidArgument, PlausibleError

__all__ = ["RationalizedChoices", "rationalize_choices"]

#: A margin above this is one.
_ZERO = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RationalizedChoices:
    """Whether some utility makes every choice the best of its options.

    Attributes
    ----------
    is_consistent
        The answer.
    margin
        By how much the chosen option can be better than any other in all situations, coordinates being within ±1.
    utility
        Where consistent, the utility with that margin; else the one with the least sum of violations.
    contradiction
        Situations whose choices no utility of this form explains together: a positive combination of what they say is
        zero. Empty where consistent.
    violated
        Situations in which `utility` finds another option as good or better.
    """

    is_consistent: bool
    margin: float
    utility: AdditiveUtility
    contradiction: tuple[Any, ...]
    violated: tuple[Any, ...]

    def __str__(self) -> str:
        if self.is_consistent:
            return f"some utility explains all choices, with the margin {self.margin:.4g}"
        return f"no utility of this form explains the choices in {', '.join(map(str, self.contradiction))} together"


def rationalize_choices(
    choices: ObservedChoices, scopes: Iterable[Names], attributes: Attributes
) -> RationalizedChoices:
    """A utility Σ_i U_i(Z_i) under which each chosen option beats all others by most, or why there is none.

    The linear programme max t with (b_chosen - b_other) · θ ≥ t and |θ| ≤ 1. If t = 0, its multipliers combine the
    differences to zero (Farkas), which names the contradictory choices; a second programme then finds the utility with
    the least sum of violations of a unit margin.

    Parameters
    ----------
    choices
        Situations, options and what was taken; without background.
    scopes
        Z_i: names, or lists of names.
    attributes
        All attributes with their states.

    Examples
    --------
    Wine goes with the meal; no sum of tastes for each explains it:

    >>> shown = {"meal": ["fish", "fish", "meat", "meat"], "wine": ["white", "red", "white", "red"]}
    >>> seen = ObservedChoices(shown, situation=["fish", "fish", "meat", "meat"], chosen=[True, False, False, True])
    >>> states = {"meal": ["fish", "meat"], "wine": ["white", "red"]}
    >>> print(rationalize_choices(seen, ["meal", "wine"], states))
    no utility of this form explains the choices in fish, meat together
    >>> rationalize_choices(seen, [["meal", "wine"]], states).is_consistent
    True
    """
    if choices.background is not None:
        raise InvalidArgument("Choices taken at their word have no background; see fit_choices.")
    data = choice_features(choices, scopes, attributes)
    gaps, situation = _gaps(data)
    coordinates, margin, multipliers = _widest(gaps)
    is_consistent = margin > _ZERO
    if not is_consistent:
        coordinates = _least_violated(gaps)
    utility = AdditiveUtility(data.basis.parts(coordinates), variables=data.basis.variables)
    used = () if is_consistent else tuple(data.situations[np.unique(situation[multipliers > 1e-7])].tolist())
    violated = data.situations[np.unique(situation[gaps @ coordinates <= _ZERO])]
    return RationalizedChoices(is_consistent, margin, utility, used, tuple(violated.tolist()))


def _gaps(data: ChoiceFeatures) -> tuple[Floats, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """b_chosen - b_other for each option not taken that is another lottery, and the situation of each."""
    group = data.situation_of
    gaps = data.features[data.taken][group] - data.features
    differs = np.abs(gaps).max(axis=1, initial=0.0) > 1e-12
    differs[data.taken] = False
    return gaps[differs], group[differs]


def _widest(gaps: Floats) -> tuple[Floats, float, Floats]:
    """The coordinates of the largest margin, the margin, and the multiplier of each gap."""
    from scipy.optimize import linprog

    number, size = gaps.shape
    if not number:
        return np.zeros(size), 1.0, np.zeros(0)
    bounds = [*[(-1.0, 1.0)] * size, (None, None)]
    table = np.hstack([-gaps, np.ones((number, 1))])
    answer = linprog(np.r_[np.zeros(size), -1.0], table, np.zeros(number), bounds=bounds, method="highs")
    found = _solution(answer)
    return found[:size], max(0.0, float(found[size])), -np.asarray(answer.ineqlin.marginals)


def _least_violated(gaps: Floats) -> Floats:
    from scipy.optimize import linprog

    number, size = gaps.shape
    cost = np.r_[np.zeros(size), np.ones(number)]
    bounds = [*[(None, None)] * size, *[(0.0, None)] * number]
    answer = linprog(cost, np.hstack([-gaps, -np.eye(number)]), -np.ones(number), bounds=bounds, method="highs")
    return _solution(answer)[:size]


def _solution(answer: Any) -> Floats:
    if answer.status != 0:
        raise PlausibleError(f"The linear programme of the choices was not solved: {answer.message}")
    return np.asarray(answer.x)
