"""Inference by enumeration: build the joint, condition, marginalise. The baseline for everything cleverer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, union_scope
from plausible.inference.elimination import SumProduct, absorb
from plausible.inference.info import QueryInfo
from plausible.variables import Evidence, Variable


def enumerate_sum(factors: Iterable[Factor], targets: Sequence[str], max_entries: int = MAX_ENTRIES) -> SumProduct:
    """Σ over all variables but `targets` of the product of the factors, from the table of the whole product.

    Where the product of small numbers underflows, or that of large ones overflows, their logarithms are added instead.

    Examples
    --------
    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.5, 0.5])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.2, 0.8]])
    >>> enumerate_sum([coin, call], ["call"]).factor.values
    array([0.55, 0.45])
    """
    listed = list(factors)
    scope = union_scope(factor.scope for factor in listed)
    check_size(scope, "The joint distribution", max_entries)
    losses: list[str] = []
    with np.errstate(under="call", over="call", invalid="ignore", call=lambda kind, flag: losses.append(kind)):
        joint, log_scale = product(listed), 0.0
        answer = joint.marginal(targets)
    if losses:
        logs = sum((factor.log() for factor in listed), start=Factor.scalar(0.0))
        log_scale = logs.max() if np.isfinite(logs.max()) else 0.0
        answer = (logs - log_scale).exp().marginal(targets)
    info = QueryInfo(engine="enumeration", cost=joint.size, largest_table=joint.size)
    return SumProduct(answer, log_scale, info)


def enumerate_posterior(
    factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence, max_entries: int = MAX_ENTRIES
) -> Factor:
    """P(targets | evidence) from the table of the whole joint: 2^n entries for n binary variables.

    Parameters
    ----------
    factors
        Non-negative factors whose product is the joint up to a constant.
    targets
        The variables of the answer, in its order.
    evidence
        States and soft findings.
    max_entries
        A joint with more entries is refused.

    Examples
    --------
    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.5, 0.5])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.2, 0.8]])
    >>> evidence = Evidence.read({"call": "right"}, {"call": call.variable("call")})
    >>> enumerate_posterior([coin, call], coin.scope, evidence).values.round(6)
    array([0.818182, 0.181818])
    """
    free = [variable.name for variable in targets if variable.name not in evidence.hard]
    result = enumerate_sum(absorb(factors, evidence), free, max_entries)
    if result.is_zero:
        raise ImpossibleEvidence("The evidence has probability zero.")
    known = [Factor.indicator(v, v.states[evidence.hard[v.name]]) for v in targets if v.name in evidence.hard]
    answer = product((result.factor.normalize(), *known)).reorder([variable.name for variable in targets])
    return answer.with_info(result.info)
