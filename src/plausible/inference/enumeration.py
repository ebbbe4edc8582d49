"""Inference by enumeration: build the joint, condition, marginalise. The baseline for everything cleverer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, union_scope
from plausible.inference.elimination import absorb
from plausible.inference.info import QueryInfo
from plausible.variables import Evidence, Variable

__all__ = ["enumerate_posterior"]


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
    listed = absorb(factors, evidence)
    scope = union_scope(factor.scope for factor in listed)
    check_size(scope, "The joint distribution", max_entries)
    joint = product(listed)
    if joint.max() == 0:
        raise ImpossibleEvidence("The evidence has probability zero.")
    known = [Factor.indicator(v, v.states[evidence.hard[v.name]]) for v in targets if v.name in evidence.hard]
    free = [variable.name for variable in targets if variable.name not in evidence.hard]
    answer = product((joint.marginal(free).normalize(), *known)).reorder([variable.name for variable in targets])
    return answer.with_info(QueryInfo(engine="enumeration", cost=joint.size, largest_table=joint.size))
