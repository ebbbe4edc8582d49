"""Sum-product variable elimination over factors: small, plain, and the yardstick for faster engines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from plausible.base import QueryInfo
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size, union_scope
from plausible.graphs.greedy import greedy_order
from plausible.variables import Evidence, Variable

#: So many factors are multiplied before the product is scaled.
_BATCH = 16
#: Factors whose largest entry is one up to so many binary digits are not scaled: `_BATCH` of them are harmless.
_NEAR_ONE = 8

_Step: TypeAlias = Callable[[Sequence[Factor], Sequence[str]], tuple[Factor, int]]


@dataclass(frozen=True, slots=True)
class SumProduct:
    """Σ Π φ as `factor` times exp(`log_scale`), and what it cost."""

    factor: Factor  # Over the targets, in their order; its largest entry is near one, or all are zero
    #: The natural logarithm of the factor taken out; results far below the smallest float come out right.
    log_scale: float
    info: QueryInfo  # The cost

    @property
    def is_zero(self) -> bool:
        """Whether no assignment has a positive product."""
        return self.factor.max() == 0

    @property
    def log_total(self) -> float:
        """The logarithm of the sum of all entries; -inf for zero."""
        return -math.inf if self.is_zero else math.log(self.factor.sum()) + self.log_scale


def absorb(factors: Iterable[Factor], evidence: Evidence) -> list[Factor]:
    """Reduce the factors to what is observed, and add a factor for each soft finding.

    A variable may have both, as a target of `map` whose states are tried: its weight is then a number. Findings on
    variables that no factor has say nothing here and are passed over.
    """
    if evidence.values:
        raise NotSupported("Variable elimination takes states, collections of states and likelihoods as evidence.")
    listed = list(factors)
    variables = {variable.name: variable for factor in listed for variable in factor.scope}
    hard = {name: variables[name].states[i] for name, i in evidence.hard.items() if name in variables}
    soft = [Factor((variables[name],), weights) for name, weights in evidence.soft.items() if name in variables]
    return [factor if hard.keys().isdisjoint(factor.names) else factor.reduce(hard) for factor in [*listed, *soft]]


def sum_product(
    factors: Iterable[Factor],
    targets: Sequence[str],
    order: Sequence[str] | None = None,
    max_entries: int = MAX_ENTRIES,
) -> SumProduct:
    """Σ over all variables but `targets` of the product of the factors (bucket elimination, Dechter 1999).

    Tables are scaled by powers of two on the way, which rounds nothing. Where numbers underflow all the same, the
    elimination is run again on logarithms, so a zero answer is a true zero.

    The factors have no negative entries, and each target is in some of them. All other variables go in the order given;
    greedy (weighted min-fill) where left out. A product with more than `max_entries` is refused, before any work is
    done.

    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.5, 0.5])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.2, 0.8]])
    >>> result = sum_product([coin, call], ["call"])
    >>> result.factor.values
    array([0.55, 0.45])
    >>> result.info.cost
    6
    """
    listed = list(factors)
    sizes = {variable.name: variable.num_states for variable in union_scope(factor.scope for factor in listed)}
    neighbors: dict[str, set[str]] = {name: set() for name in sizes}
    for factor in listed:
        for name in factor.names:
            neighbors[name].update(factor.names)
    for name, around in neighbors.items():
        around.discard(name)
    if order is None:  # by weighted min-fill; ties go to the variable that comes first
        names, numbers = list(sizes), {name: number for number, name in enumerate(sizes)}
        rows = [tuple(numbers[other] for other in neighbors[name]) for name in names]
        kept = set(targets)
        candidates = [number for number, name in enumerate(names) if name not in kept]
        chosen = greedy_order(rows, list(sizes.values()), "weighted-min-fill", candidates, range(len(names)))
        hidden = [names[number] for number in chosen]
    else:
        hidden = _read_order(order, targets, sizes)
    info = _price(neighbors, hidden, targets, sizes, max_entries)
    underflows: list[str] = []
    with np.errstate(under="call", call=lambda kind, flag: underflows.append(kind)):
        answer, exponent = _run(listed, hidden, _linear_step)
    if not underflows:
        return SumProduct(answer.reorder(targets), exponent * math.log(2), info)

    def log_step(factors: Sequence[Factor], hidden: Sequence[str]) -> tuple[Factor, int]:
        return log_marginalize(sum(factors, start=Factor.scalar(0.0)), hidden), 0

    answer, _ = _run([factor.log() for factor in listed], hidden, log_step)
    peak = answer.max() if answer.max() > -math.inf else 0.0
    return SumProduct((answer - peak).exp().reorder(targets), peak, info)


def _read_order(order: Sequence[str], targets: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    known, asked = {*order, *targets}, set(targets)
    if missing := [name for name in sizes if name not in known]:
        raise InvalidArgument(f"The elimination order lacks {missing[0]!r}, which is not a target either.")
    if kept := [name for name in order if name in asked]:
        raise InvalidArgument(f"The elimination order has {kept[0]!r}, which is a target.")
    if repeated := [name for place, name in enumerate(order) if name in order[:place]]:
        raise InvalidArgument(f"The elimination order has {repeated[0]!r} twice.")
    return [name for name in order if name in sizes]


def _price(
    neighbors: dict[str, set[str]], hidden: Sequence[str], targets: Sequence[str], sizes: Mapping[str, int], limit: int
) -> QueryInfo:
    """The cost of the order, known before a table is touched; the neighbours are joined on the way."""
    cliques: list[tuple[str, ...]] = []
    for name in hidden:
        around = neighbors.pop(name)
        cliques.append((name, *sorted(around)))
        for other in around:
            neighbors[other] |= around
            neighbors[other] -= {name, other}
    cliques.append(tuple(targets))
    entries = [math.prod(sizes[name] for name in clique) for clique in cliques]
    largest = max(entries)
    if largest > limit:
        clique = cliques[entries.index(largest)]
        names = ", ".join(map(str, clique[:8])) + (", ..." if len(clique) > 8 else "")
        raise TooLarge(
            f"Variable elimination would build a table over {len(clique)} variables ({names}) with {largest:.3g} "
            f"entries ({largest * 8 / 2**30:.3g} GiB); the limit is {limit:.3g}. Ask for fewer variables at once, "
            "or give more evidence."
        )
    return QueryInfo(engine="variable elimination", cost=sum(entries), largest_table=largest)


def _run(factors: Sequence[Factor], order: Sequence[str], step: _Step) -> tuple[Factor, int]:
    """Put each factor into the bucket of the first variable to go; empty the buckets in turn."""
    rank = {name: place for place, name in enumerate(order)}
    buckets: list[list[Factor]] = [[] for _ in range(len(order) + 1)]
    exponent = 0

    def put(factor: Factor) -> None:
        buckets[min((rank[name] for name in factor.names if name in rank), default=len(order))].append(factor)

    for factor in factors:
        put(factor)
    for place, name in enumerate(order):
        message, shift = step(buckets[place], [name])
        buckets[place] = []
        exponent += shift
        put(message)
    answer, shift = step(buckets[-1], [])
    return answer, exponent + shift


def _linear_step(factors: Sequence[Factor], hidden: Sequence[str]) -> tuple[Factor, int]:
    """Multiply, sum out, and take out powers of two.

    Thousands of scaled factors could still make the product vanish, so it is scaled again after every few.
    """
    total, exponent = Factor.scalar(1.0), 0
    for start in range(0, len(factors), _BATCH):
        scaled = [_scaled(factor) for factor in (total, *factors[start : start + _BATCH])]
        total = product(factor for factor, _ in scaled)
        exponent += sum(shift for _, shift in scaled)
    message, shift = _scaled(total.marginalize(hidden))
    return message, exponent + shift


def _scaled(factor: Factor) -> tuple[Factor, int]:
    """The factor with its largest entry brought near one, and the exponent of two taken out."""
    exponent = max(math.frexp(factor.max())[1], -1000)  # the scale itself must not overflow
    return (factor, 0) if abs(exponent) <= _NEAR_ONE else (factor * 2.0**-exponent, exponent)


def log_marginalize(factor: Factor, names: str | Sequence[str]) -> Factor:
    """log Σ exp over the named variables, of a factor of logarithms."""
    peaks = finite_peaks(factor, names)
    return (factor - peaks).exp().marginalize(names).log() + peaks


def finite_peaks(factor: Factor, names: str | Sequence[str]) -> Factor:
    """The maximum over the named variables, and zero where that is -inf: safe to subtract before exp."""
    peaks = factor.maximize(names)
    return Factor.from_flat(peaks.scope, np.where(np.isneginf(peaks.flat), 0.0, peaks.flat))


def enumerate_sum(factors: Iterable[Factor], targets: Sequence[str], max_entries: int = MAX_ENTRIES) -> SumProduct:
    """Σ over all variables but `targets` of the product of the factors, from the table of the whole product.

    Where the product of small numbers underflows, or that of large ones overflows, their logarithms are added instead.
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

    The product of the factors is the joint up to a constant; targets are in the order of the answer, and a joint with
    more than `max_entries` is refused.

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
