"""Jeffrey's rule: evidence that fixes the belief about a variable, as likelihoods that have the same effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence, InvalidEvidence
from plausible.factors import Factor
from plausible.variables import Evidence, Variable

__all__ = ["fit_jeffrey", "without_jeffrey"]

#: Several beliefs are met when each is so near to the wanted one.
_FIT = 1e-12
_MAX_TURNS = 10_000

#: After each so many turns the distance must have shrunk by this factor, else no more turns are made. Beliefs that hold
#: together at the border of what is possible come nearer as 1 / turns, which is faster.
_LOOK_EVERY, _SHRINKS = 100, 0.999

#: A distance that shrinks no more and is below this is what the rounding of the engine's own answers leaves.
_ROUNDING = 1e-8


def fit_jeffrey(
    evidence: Evidence, variables: Mapping[str, Variable], belief: Callable[[str, Evidence], Floats]
) -> Evidence:
    """The evidence with its Jeffrey findings q(x) replaced by likelihoods: those under which P(x | all of it) = q(x).

    One finding needs one turn, with the likelihood q(x) / P(x | e) (Jeffrey 1965). Several are fitted in turn again and
    again (iterated proportional fitting, Deming & Stephan 1940): the limit is, of all distributions with the wanted
    beliefs, the one with the least relative entropy to the old one, so the order does not matter.

    Parameters
    ----------
    evidence
        Any findings.
    variables
        Name -> variable.
    belief
        P(x | e) of a named variable, given evidence without Jeffrey findings.

    Raises
    ------
    ImpossibleEvidence
        Where a wanted belief is positive for a state that the model and the other evidence rule out.
    InvalidEvidence
        Where the wanted beliefs can't hold together.
    """
    if not evidence.jeffrey:
        return evidence
    fitted = replace(evidence, jeffrey={})
    earlier = np.inf
    for turn in range(_MAX_TURNS):
        furthest = 0.0
        for name, wanted in evidence.jeffrey.items():
            before = belief(name, fitted)
            if turn == 0:
                _check_support(variables[name], before, wanted)
            furthest = max(furthest, float(np.abs(before - wanted).max()))
            ratio = np.divide(wanted, before, out=np.zeros(len(wanted)), where=before > 0)
            weights = fitted.soft.get(name, np.ones(len(wanted))) * ratio
            if weights.max() == 0:
                raise _unmet(evidence, furthest)
            fitted = replace(fitted, soft={**fitted.soft, name: weights / weights.max()})
        if len(evidence.jeffrey) == 1 or furthest < _FIT:
            return fitted
        if turn % _LOOK_EVERY == _LOOK_EVERY - 1:
            if furthest > _SHRINKS * earlier:
                break
            earlier = furthest
    if furthest < _ROUNDING:
        return fitted
    raise _unmet(evidence, furthest)


def without_jeffrey(
    factors: Iterable[Factor], evidence: Evidence, belief: Callable[[Variable, Evidence], Floats]
) -> Evidence:
    """`fit_jeffrey` for the variables of some factors; findings about others change nothing here and are dropped."""
    known = {variable.name: variable for factor in factors for variable in factor.scope}
    about = {name: wanted for name, wanted in evidence.jeffrey.items() if name in known}
    return fit_jeffrey(replace(evidence, jeffrey=about), known, lambda name, found: belief(known[name], found))


def _unmet(evidence: Evidence, furthest: float) -> InvalidEvidence:
    return InvalidEvidence(
        f"The jeffrey evidence on {', '.join(evidence.jeffrey)} can't be met: fitted in turn, a probability stays "
        f"{furthest:.2g} away from the wanted one. The model seems to rule these beliefs out together."
    )


def _check_support(variable: Variable, before: Floats, wanted: Floats) -> None:
    for place in np.flatnonzero((wanted > 0) & (before == 0)):
        raise ImpossibleEvidence(
            f"jeffrey evidence gives {variable.name}={variable.states[int(place)]!r} the probability "
            f"{wanted[place]:g}, but the model and the other evidence rule that state out."
        )
