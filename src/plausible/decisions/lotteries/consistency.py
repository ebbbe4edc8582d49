"""Whether any utility function at all stands behind some stated choices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.decisions.lotteries.outcome_utilities import rescaled_utility
from plausible.decisions.lotteries.preferences import Statement, StatementLike, read_statements
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors.display import TextTable
from plausible.variables.frozen_mapping import FrozenMapping

__all__ = ["ConsistencyReport", "choice_consistency"]

Floats = NDArray[np.float64]
#: Utilities run from 0 to this in the program, so that its tolerance of 1e-7 is far below the least margin that counts.
_RANGE = 1e4
#: Strict preferences must hold by this share of the range of utilities and of the greatest difference of probabilities.
_LEAST_MARGIN = 1e-7


@dataclass(frozen=True, slots=True)
class ConsistencyReport:
    """Whether some utility function agrees with all statements.

    Attributes
    ----------
    utility
        One that does, from 0 to 1 and with the strict preferences as clear as can be; `None` if none does.
    margin
        How clear: the least difference of expected utilities in strict statements, relative to the greatest difference
        of probabilities in each.
    contradiction
        Otherwise, statements that no utility satisfies together, though it satisfies all but any one of them.
    weights
        Of the statements in the contradiction: so weighted, the expected utilities on both sides add to the same.

    Examples
    --------
    >>> report = choice_consistency([("tea", ">", "milk"), ({"tea": 0.5, "beer": 0.5}, "~", "milk")])
    >>> dict(report.utility)
    {'tea': 1.0, 'milk': 0.5, 'beer': 0.0}
    """

    utility: Mapping[Hashable, float] | None
    margin: float
    contradiction: tuple[Statement, ...]
    weights: tuple[float, ...]

    @property
    def is_consistent(self) -> bool:
        """Whether there is such a utility function."""
        return self.utility is not None

    def __str__(self) -> str:
        if self.utility is not None:
            rows = tuple((str(outcome), f"{value:.4g}") for outcome, value in self.utility.items())
            return f"consistent, for example with\n{TextTable(('outcome', 'utility'), rows, 1)}"
        lines = [f"  {weight:.4g} x {said}" for weight, said in zip(self.weights, self.contradiction, strict=True)]
        return "\n".join(["no utility function agrees with all of (weighted, both sides are the same lottery)", *lines])


@dataclass(frozen=True, slots=True)
class _Choices:
    """Statements as rows: EU(first) - EU(second) = row @ utilities, each row scaled to a greatest entry of one."""

    outcomes: tuple[Hashable, ...]
    rows: Floats
    scales: Floats
    is_strict: NDArray[np.bool_]
    is_equal: NDArray[np.bool_]

    def only(self, kept: Sequence[int]) -> _Choices:
        at = np.asarray(kept, dtype=np.intp)
        return _Choices(self.outcomes, self.rows[at], self.scales[at], self.is_strict[at], self.is_equal[at])


def choice_consistency(statements: Iterable[StatementLike]) -> ConsistencyReport:
    """Find a utility function that agrees with choices between lotteries, or choices that contradict each other.

    The linear program maximises t subject to EU(a) - EU(b) ≥ t for each a > b, ≥ 0 for a ≥ b, = 0 for a ~ b, and
    utilities between 0 and 1 (HiGHS); there is a utility just if t > 0. Otherwise the statements that its dual weights
    are tried without one another, which leaves a set that is minimal by inclusion.

    Parameters
    ----------
    statements
        (first, ">", second) and so on with < ~ >= <=; lotteries, or outcomes for sure. That more is better is not
        assumed: state it where it matters.

    Examples
    --------
    Most people prefer three millions for sure to a chance of .8 of four, and yet a chance of .2 of four millions to one
    of .25 of three (Allais 1953):

    >>> from plausible.decisions.lotteries.lottery import Lottery
    >>> A, B = Lottery({"4M": 0.2, "0": 0.8}), Lottery({"3M": 0.25, "0": 0.75})
    >>> C, D = Lottery({"3M": 1.0}), Lottery({"4M": 0.8, "0": 0.2})
    >>> print(choice_consistency([(C, ">", D), (A, ">", B)]))
    no utility function agrees with all of (weighted, both sides are the same lottery)
      0.25 x [3M: 1] > [4M: 0.8; 0: 0.2]
      1 x [4M: 0.2; 0: 0.8] > [3M: 0.25; 0: 0.75]
    >>> choice_consistency([(C, ">", D), (B, ">", A)]).is_consistent
    True
    """
    said = read_statements(statements)
    if not said:
        raise InvalidArgument("No choice was stated: write them as (first, '>', second).")
    choices = _choices(said)
    margin, utilities, weights = _most_margin(choices)
    if margin > _LEAST_MARGIN:
        found = rescaled_utility(dict(zip(choices.outcomes, utilities.tolist(), strict=True)))
        return ConsistencyReport(FrozenMapping(found), margin, (), ())
    kept = _minimal(choices, np.flatnonzero(np.abs(weights) > 1e-9).tolist())
    _, _, weights = _most_margin(choices.only(kept))
    honest = np.abs(weights) / choices.scales[kept]
    return ConsistencyReport(None, 0.0, tuple(said[i] for i in kept), tuple((honest / honest.max()).tolist()))


def _choices(said: Sequence[Statement]) -> _Choices:
    sides = [(each.first.final_probabilities(), each.second.final_probabilities()) for each in said]
    outcomes = tuple(dict.fromkeys(outcome for pair in sides for side in pair for outcome in side))
    rows = np.array([[a.get(o, 0.0) - b.get(o, 0.0) for o in outcomes] for a, b in sides])
    rows[np.abs(rows) < 1e-14] = 0.0
    scales = np.abs(rows).max(axis=1)
    # A lottery against itself has a row of zeros, which stays as it is.
    scales[scales == 0] = 1.0
    signs = [each.sign for each in said]
    strict, equal = np.array([s == ">" for s in signs]), np.array([s == "~" for s in signs])
    return _Choices(outcomes, rows / scales[:, None], scales, strict, equal)


def _most_margin(choices: _Choices) -> tuple[float, Floats, Floats]:
    """The greatest margin of strict preferences, utilities that reach it, and the dual weight of each statement."""
    from scipy.optimize import linprog

    size, at_least = len(choices.outcomes), ~choices.is_equal
    table = np.column_stack([choices.rows, -choices.is_strict.astype(float)])
    costs = np.concatenate([np.zeros(size), [-1.0]])
    found = linprog(
        costs,
        A_ub=-table[at_least],
        b_ub=np.zeros(int(at_least.sum())),
        A_eq=table[choices.is_equal],
        b_eq=np.zeros(int(choices.is_equal.sum())),
        bounds=[(0.0, _RANGE)] * size + [(0.0, _RANGE)],
        method="highs",
    )
    if found.status != 0 or found.x is None:
        raise NotSupported(f"The linear program of the choices ended without an answer: {found.message}")
    weights = np.zeros(len(choices.rows))
    weights[at_least], weights[choices.is_equal] = found.ineqlin.marginals, found.eqlin.marginals
    return float(found.x[-1]) / _RANGE, np.asarray(found.x[:-1]), weights


def _minimal(choices: _Choices, suspects: list[int]) -> list[int]:
    """A set of statements that contradict each other, none of which can be left out."""
    everything = list(range(len(choices.rows)))
    kept = suspects if suspects and not _is_possible(choices.only(suspects)) else everything
    for statement in list(kept):
        without = [other for other in kept if other != statement]
        if without and not _is_possible(choices.only(without)):
            kept = without
    return kept


def _is_possible(choices: _Choices) -> bool:
    return _most_margin(choices)[0] > _LEAST_MARGIN
