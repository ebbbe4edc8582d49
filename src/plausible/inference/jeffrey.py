"""Jeffrey's rule: evidence that fixes the belief about a variable, as likelihoods that have the same effect.

Engines that draw samples have noisy answers: with them beliefs are met on tables of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from plausible.base import PROBABILITY_NOISE, Floats
from plausible.errors import ImpossibleEvidence, InvalidEvidence
from plausible.factors import Factor, product
from plausible.inference.approximate_samples import EvidenceNotSeen
from plausible.variables import Evidence, Variable

_MAX_TURNS = 10_000

#: After each so many turns the distance must have shrunk by this factor, else no more turns are made. Beliefs that hold
#: together at the border of what is possible come nearer as 1 / turns, which is faster.
_LOOK_EVERY, _SHRINKS = 100, 0.999

#: A distance that shrinks no more and is below this is what the rounding of the engine's own answers leaves.
_ROUNDING = 1e-8


def fit_beliefs(
    evidence: Evidence,
    wanted: Mapping[str, Floats],
    variables: Mapping[str, Variable],
    belief: Callable[[str, Evidence], Floats],
) -> Evidence:
    """The evidence and, for wanted beliefs q(x), likelihoods: those under which P(x | all of it) = q(x).

    One finding needs one turn, with the likelihood q(x) / P(x | e) (Jeffrey 1965). Several are fitted in turn again and
    again (iterated proportional fitting, Deming & Stephan 1940): the limit is, of all distributions with the wanted
    beliefs, the one with the least relative entropy to the old one, so the order does not matter.
    """
    fitted = evidence
    earlier = np.inf
    for turn in range(_MAX_TURNS):
        furthest = 0.0
        for name, goal in wanted.items():
            before = belief(name, fitted)
            if turn == 0 and (state := _state_without_belief(variables[name], before, goal)):
                raise ImpossibleEvidence(f"{state}, but the model and the other evidence rule that state out.")
            furthest = max(furthest, float(np.abs(before - goal).max()))
            ratio = np.divide(goal, before, out=np.zeros(len(goal)), where=before > 0)
            weights = fitted.soft.get(name, np.ones(len(goal))) * ratio
            if weights.max() == 0:
                raise _unmet(wanted, furthest)
            fitted = replace(fitted, soft={**fitted.soft, name: weights / weights.max()})
        if len(wanted) == 1 or furthest < PROBABILITY_NOISE:
            return fitted
        if turn % _LOOK_EVERY == _LOOK_EVERY - 1:
            if furthest > _SHRINKS * earlier:
                break
            earlier = furthest
    if furthest < _ROUNDING:
        return fitted
    raise _unmet(wanted, furthest)


def _unmet(wanted: Mapping[str, Floats], furthest: float) -> InvalidEvidence:
    return InvalidEvidence(
        f"The jeffrey evidence on {', '.join(wanted)} can't be met: fitted in turn, a probability stays "
        f"{furthest:.2g} away from the wanted one. The model seems to rule these beliefs out together."
    )


def _state_without_belief(variable: Variable, before: Floats, wanted: Floats) -> str:
    """The first state that is to have a positive belief and has none, in words; "" where there is none."""
    for place in np.flatnonzero((wanted > 0) & (before == 0)):
        state = f"{variable.name}={variable.states[int(place)]!r}"
        return f"jeffrey evidence gives {state} the probability {wanted[place]:g}"
    return ""


#: (factors, groups, evidence) -> the joint belief about each group, from one run.
Ask: TypeAlias = Callable[[Sequence[Factor], Sequence[Sequence[Variable]], Evidence], list[Factor]]


def joints_of_draws(
    factors: Sequence[Factor],
    groups: Sequence[Sequence[Variable]],
    evidence: Evidence,
    wanted: Mapping[str, Floats],
    ask: Ask,
) -> list[Factor]:
    """The joint belief about each group under wanted beliefs q(x), from two runs.

    The first run finds the joint of the variables that the findings are about, and with it likelihoods λ that bring the
    wanted beliefs about, up to its noise. The second draws with these, and its tables of each group together with those
    variables are fitted to the wanted beliefs once more (raking, Deming & Stephan 1940). Since the table differs from
    that without λ by a product of terms of one variable each, the fit is the same whatever λ was: the noise of the
    first run drops out, and the error is that of the second.
    """
    about = _about(factors, wanted)
    fitted = likelihoods_of_draws(factors, evidence, wanted, ask)
    wide = [(*group, *(v for v in about if v not in group)) for group in groups]
    answers = ask(factors, [*wide, *groups], fitted)[: len(wide)]
    joints = []
    for group, answer in zip(groups, answers, strict=True):
        likelihoods = _fit(answer, {variable.name: wanted[variable.name] for variable in about})
        weights = (Factor((v,), likelihoods[v.name]) for v in answer.scope if v.name in likelihoods)
        met = product((answer, *weights)).marginal([v.name for v in group])
        joints.append(met.normalize().with_info(answer.info))
    return joints


def likelihoods_of_draws(
    factors: Sequence[Factor], evidence: Evidence, wanted: Mapping[str, Floats], ask: Ask
) -> Evidence:
    """The evidence and likelihoods that bring beliefs about, fitted on one table of a run's draws.

    Beliefs about variables that no factor has are dropped. `EvidenceNotSeen` where no sample met a state that is to
    have a positive belief, or the samples can't meet all beliefs together.
    """
    about = _about(factors, wanted)
    if not about:
        return evidence
    goals = {variable.name: wanted[variable.name] for variable in about}
    likelihoods = _fit(ask(factors, [about], evidence)[0], goals)
    soft = {name: values * evidence.soft.get(name, np.ones(len(values))) for name, values in likelihoods.items()}
    return replace(evidence, soft={**evidence.soft, **soft})


def _about(factors: Sequence[Factor], wanted: Mapping[str, Floats]) -> tuple[Variable, ...]:
    """The variables that have a wanted belief and a factor."""
    known = {variable.name: variable for factor in factors for variable in factor.scope}
    return tuple(known[name] for name in wanted if name in known)


def _fit(table: Factor, wanted: Mapping[str, Floats]) -> dict[str, Floats]:
    nothing = Evidence({}, {}, {})
    variables = {variable.name: variable for variable in table.scope}
    joint = table.marginal(list(wanted))

    def belief(name: str, found: Evidence) -> Floats:
        fitted = [Factor((variables[other],), found.soft[other]) for other in wanted if other in found.soft]
        return np.asarray(product((joint, *fitted)).marginal([name]).normalize().values)

    for name, beliefs in wanted.items():
        if state := _state_without_belief(variables[name], belief(name, nothing), beliefs):
            raise EvidenceNotSeen(
                f"{state}, but no sample met that state: it is impossible, or too improbable for so few. Raise "
                "num_samples, or use an exact engine."
            )
    try:
        return dict(fit_beliefs(nothing, wanted, variables, belief).soft)
    except (ImpossibleEvidence, InvalidEvidence):
        raise EvidenceNotSeen(
            f"The samples can't be weighed so that the jeffrey evidence on {', '.join(wanted)} holds together: the "
            "model rules these beliefs out, or there are too few samples. Raise num_samples, or use an exact engine."
        ) from None
