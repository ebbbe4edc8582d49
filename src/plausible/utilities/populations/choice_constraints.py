"""Utilities from choices taken at their word: what was chosen is best."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Floats, Ints, Result, record
from plausible.errors import InvalidArgument, PlausibleError
from plausible.utilities.attributes.additive_utility import AdditiveUtility
from plausible.utilities.attributes.fitting import Attributes
from plausible.utilities.attributes.outcome_tables import Names
from plausible.utilities.populations.choices import ChoiceFeatures, ObservedChoices, choice_features

#: A margin above this share of the greatest difference between two options is one.
_LEAST_MARGIN = 1e-8
#: The tolerance of the programme, for gaps of a greatest entry of one: the least that HiGHS takes.
_TOLERANCE = 1e-10
#: Coordinates run from minus this to this in the programme, which makes the tolerance a smaller share of margins.
_RANGE = 100.0


@record(eq=False)
class RationalizedChoices(Result):
    """Whether some utility makes every choice the best of its options."""

    is_consistent: bool  # The answer
    #: By how much the chosen option can be better than any other in all situations, coordinates being within ±1:
    #: relative to the greatest difference of the two in a coordinate. Zero where inconsistent, infinite where no
    #: situation has options that differ, so that any utility will do.
    margin: float
    #: Where consistent, the utility with that margin; else the one with the least sum of violations.
    utility: AdditiveUtility
    #: Situations whose choices no utility of this form explains together, though one does without any one of them: a
    #: positive combination of what they say is zero. Empty where consistent.
    contradiction: tuple[Any, ...]
    violated: tuple[Any, ...]  # Situations in which `utility` finds another option as good or better

    def __str__(self) -> str:
        if math.isinf(self.margin):
            return "any utility explains all choices: no situation has options that differ"
        if self.is_consistent:
            return f"some utility explains all choices, with the margin {self.margin:.4g}"
        return f"no utility of this form explains the choices in {', '.join(map(str, self.contradiction))} together"


def rationalize_choices(
    choices: ObservedChoices, scopes: Iterable[Names], attributes: Attributes
) -> RationalizedChoices:
    """A utility Σ_i U_i(Z_i) under which each chosen option beats all others by most, or why there is none.

    The linear programme max t with (b_chosen - b_other) · θ ≥ t and |θ| ≤ 1, each difference being scaled to a greatest
    entry of one. If t = 0, its multipliers combine the differences to zero (Farkas), which names contradictory choices;
    each is left out in turn where the others contradict each other without it. A second programme then finds the
    utility with the least sum of violations of a unit margin. Both answers are checked: the utility at every choice,
    the multipliers by the combination that they give. Options that differ by no more than 1e-12 in any coordinate count
    as the same. The choices have no background; scopes Z_i are names or lists of names, attributes have their states.

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
    gaps = _gaps(data)
    coordinates, margin, multipliers = _widest(gaps)
    is_consistent = margin > _LEAST_MARGIN
    if not is_consistent:
        coordinates = _least_violated(gaps)
    utility = AdditiveUtility(data.basis.parts(coordinates), variables=data.basis.variables)
    used = [] if is_consistent else _contradiction(gaps, multipliers)
    needed = (_LEAST_MARGIN + gaps.rounding) * np.abs(coordinates).max(initial=0.0)
    violated = np.unique(gaps.situation[gaps.rows @ coordinates <= needed])
    return RationalizedChoices(
        is_consistent,
        margin if is_consistent else 0.0,
        utility,
        tuple(data.situations[used].tolist()),
        tuple(data.situations[violated].tolist()),
    )


class _Gaps(NamedTuple):
    """b_chosen - b_other for each option not taken that is another lottery."""

    rows: Floats  # The differences, each divided by its greatest entry
    rounding: Floats  # What rounding may have added to a row times θ, |θ| ≤ 1
    situation: Ints  # That of each

    def of(self, situations: list[int]) -> _Gaps:
        """Those of some situations."""
        chosen = np.isin(self.situation, situations)
        return _Gaps(self.rows[chosen], self.rounding[chosen], self.situation[chosen])


def _gaps(data: ChoiceFeatures) -> _Gaps:
    group = data.situation_of
    gaps = data.features[data.taken][group] - data.features
    greatest = np.abs(gaps).max(axis=1, initial=0.0)
    differs = greatest > 1e-12
    differs[data.taken] = False
    error = 4.0 * np.finfo(float).eps * data.basis.size * np.abs(data.features).max(initial=0.0)
    scales = greatest[differs]
    return _Gaps(gaps[differs] / scales[:, None], error / scales, group[differs])


def _widest(gaps: _Gaps) -> tuple[Floats, float, Floats]:
    """The coordinates of the largest margin, the margin that they have, and the multiplier of each gap."""
    from scipy.optimize import linprog

    number, size = gaps.rows.shape
    if not number:
        return np.zeros(size), math.inf, np.zeros(0)
    answer = linprog(
        np.r_[np.zeros(size), -1.0],
        np.hstack([-gaps.rows, np.ones((number, 1))]),
        -gaps.rounding * _RANGE,
        bounds=[*[(-_RANGE, _RANGE)] * size, (None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    coordinates = np.clip(_solution(answer)[:size] / _RANGE, -1.0, 1.0)
    margin = float((gaps.rows @ coordinates - gaps.rounding).min())
    return coordinates, margin, np.maximum(0.0, -np.asarray(answer.ineqlin.marginals))


def _contradiction(gaps: _Gaps, multipliers: Floats) -> list[int]:
    """Situations whose weighted gaps cancel: no |θ| ≤ 1 has a margin above |Σ λ b|₁ for weights λ that sum to one."""
    weights = np.where(multipliers > 1e-9 * multipliers.max(), multipliers, 0.0)
    weights = weights / weights.sum()
    bound = float(np.abs(weights @ gaps.rows).sum() - weights @ gaps.rounding)
    if not bound <= 2.0 * _LEAST_MARGIN:
        raise PlausibleError(
            f"Whether a utility explains these choices is too close to tell: the best margin lies between "
            f"{_LEAST_MARGIN:.0e} and {bound:.1e} of the differences between options."
        )
    situations = sorted(set(gaps.situation[weights > 0].tolist()))
    for one in tuple(situations):
        others = [other for other in situations if other != one]
        if _widest(gaps.of(others))[1] <= _LEAST_MARGIN:
            situations = others
    return situations


def _least_violated(gaps: _Gaps) -> Floats:
    from scipy.optimize import linprog

    number, size = gaps.rows.shape
    cost = np.r_[np.zeros(size), np.ones(number)]
    bounds = [*[(None, None)] * size, *[(0.0, None)] * number]
    answer = linprog(cost, np.hstack([-gaps.rows, -np.eye(number)]), -np.ones(number), bounds=bounds, method="highs")
    return _solution(answer)[:size]


def _solution(answer: Any) -> Floats:
    if answer.status != 0:
        raise PlausibleError(f"The linear programme of the choices was not solved: {answer.message}")
    return np.asarray(answer.x)
