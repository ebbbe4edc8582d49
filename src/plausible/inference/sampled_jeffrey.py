"""Jeffrey's rule for engines that draw samples, whose answers are noisy: beliefs are met on tables of the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence, InvalidEvidence
from plausible.factors import Factor, product
from plausible.inference.jeffrey import fit_jeffrey
from plausible.variables import Evidence, Variable

__all__ = ["EvidenceNotSeen", "joints_of_draws", "likelihoods_of_draws"]


#: (factors, groups, evidence without Jeffrey findings) -> the joint belief about each group, from one run.
Ask: TypeAlias = Callable[[Sequence[Factor], Sequence[Sequence[Variable]], Evidence], list[Factor]]


class EvidenceNotSeen(ImpossibleEvidence):
    """Evidence that no sample agreed with: it is impossible, or too improbable for so few samples."""


def joints_of_draws(
    factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence, ask: Ask
) -> list[Factor]:
    """The joint belief about each group under Jeffrey findings q(x), from two runs.

    The first run finds the joint of the variables that the findings are about, and with it likelihoods λ that bring the
    wanted beliefs about, up to its noise. The second draws with these, and its tables of each group together with those
    variables are fitted to the wanted beliefs once more (raking, Deming & Stephan 1940). Since the table differs from
    that without λ by a product of terms of one variable each, the fit is the same whatever λ was: the noise of the
    first run drops out, and the error is that of the second.

    Raises
    ------
    EvidenceNotSeen
        Where no sample met a state that is to have a positive belief, or the samples can't meet all beliefs together.
    """
    about = _about(factors, evidence)
    fitted = likelihoods_of_draws(factors, evidence, ask)
    wide = [(*group, *(v for v in about if v not in group)) for group in groups]
    answers = ask(factors, [*wide, *groups], fitted)[: len(wide)]
    return [
        _met(answer, _wanted(evidence, about)).marginal([v.name for v in group]).normalize().with_info(answer.info)
        for group, answer in zip(groups, answers, strict=True)
    ]


def likelihoods_of_draws(factors: Sequence[Factor], evidence: Evidence, ask: Ask) -> Evidence:
    """The evidence with its Jeffrey findings replaced by likelihoods, fitted on one table of a run's draws.

    Findings about variables that no factor has are dropped. Raises as `joints_of_draws` does.
    """
    about = _about(factors, evidence)
    plain = replace(evidence, jeffrey={})
    if not about:
        return plain
    likelihoods = _fit(ask(factors, [about], plain)[0], _wanted(evidence, about))
    soft = {name: values * evidence.soft.get(name, np.ones(len(values))) for name, values in likelihoods.items()}
    return replace(plain, soft={**evidence.soft, **soft})


def _about(factors: Sequence[Factor], evidence: Evidence) -> tuple[Variable, ...]:
    """The variables that have a finding and a factor."""
    known = {variable.name: variable for factor in factors for variable in factor.scope}
    return tuple(known[name] for name in evidence.jeffrey if name in known)


def _wanted(evidence: Evidence, about: Sequence[Variable]) -> dict[str, Floats]:
    return {variable.name: evidence.jeffrey[variable.name] for variable in about}


def _met(table: Factor, wanted: Mapping[str, Floats]) -> Factor:
    """The table times a likelihood of each variable, so that the beliefs are as wanted."""
    likelihoods = _fit(table, wanted)
    return product((table, *(Factor((v,), likelihoods[v.name]) for v in table.scope if v.name in likelihoods)))


def _fit(table: Factor, wanted: Mapping[str, Floats]) -> dict[str, Floats]:
    variables = {variable.name: variable for variable in table.scope}
    joint = table.marginal(list(wanted))

    def belief(name: str, found: Evidence) -> Floats:
        fitted = [Factor((variables[other],), found.soft[other]) for other in wanted if other in found.soft]
        return np.asarray(product((joint, *fitted)).marginal([name]).normalize().values)

    for name, beliefs in wanted.items():
        _check_seen(variables[name], belief(name, _NOTHING), beliefs)
    try:
        return dict(fit_jeffrey(replace(_NOTHING, jeffrey=dict(wanted)), variables, belief).soft)
    except (ImpossibleEvidence, InvalidEvidence):
        raise EvidenceNotSeen(
            f"The samples can't be weighed so that the jeffrey evidence on {', '.join(wanted)} holds together: the "
            "model rules these beliefs out, or there are too few samples. Raise num_samples, or use an exact engine."
        ) from None


def _check_seen(variable: Variable, before: Floats, wanted: Floats) -> None:
    for place in np.flatnonzero((wanted > 0) & (before == 0)):
        raise EvidenceNotSeen(
            f"jeffrey evidence gives {variable.name}={variable.states[int(place)]!r} the probability {wanted[place]:g},"
            " but no sample met that state: it is impossible, or too improbable for so few. Raise num_samples, or use "
            "an exact engine."
        )


_NOTHING = Evidence.read({}, {})
