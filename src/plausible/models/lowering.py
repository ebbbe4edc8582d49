"""From CPDs to the factors that inference works on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base import Floats, logarithms
from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import check_size, num_entries, table_shape, wide
from plausible.models.causes import Causes, decompose, read_causes
from plausible.variables import Evidence, State, Variable

#: Families that would need auxiliary variables are written as one table up to this size: cheaper, unless they overlap.
SMALL_TABLE = 1024
#: Up to this size a table costs less than auxiliary variables, whatever else there is.
_TINY_TABLE = 8
#: With more pairs of a child and a cause the search for a decomposition would take longer than it is worth.
_MAX_PAIRS = 2000
#: Named engines get no tables with more entries.
_GREAT_TABLE = 2**20
#: Nor tables of functions with more, where these have smaller factors: one table lets samplers move more freely.
_GREAT_FUNCTION = 2**14
#: Weights of the states of one variable further apart than exp of this are spread over several factors.
_MAX_LOG_SPREAD = 600.0


@dataclass(frozen=True, slots=True)
class Lowered:
    """Factors whose product, times exp(`log_scale`) and with auxiliary variables summed out, is that of the CPDs."""

    factors: tuple[Factor, ...]  # Factors that may mention observed variables
    log_scale: float  # The logarithm of what was taken out of them
    #: An elimination order of their variables, observed ones left out, for which the factors were shaped; `None` where
    #: any order is as good.
    order: tuple[str, ...] | None = None
    #: Auxiliary variables that are functions of others: a maximum over them is one over the others.
    functions: frozenset[str] = frozenset()


def lower(
    cpds: Iterable[CPD],
    variables: Iterable[str],
    values: Mapping[str, float],
    observed: Mapping[str, int] | None = None,
    *,
    tables_up_to: int = 0,
) -> Lowered:
    """The factors of some CPDs of a network, right where the variables are as observed.

    Noisy-or and noisy-max children observed in their lowest state become weights of each cause by itself, multiplied up
    for each cause; others are taken apart with a view to all factors together, see `plausible.models.causes.decompose`.
    Without any observed values and states `log_scale` is zero.

    `variables` are names that auxiliary variables must not have; `values` and `observed` are numbers and positions of
    states that are known. Distributions with tables up to `tables_up_to`, over what is not observed, get no auxiliary
    variables that have to be summed, whatever that costs: maxima can't be taken over these.
    """
    seen = observed or {}
    lowering = _Lowering(set(variables), {**values, **seen}, seen, tables_up_to)
    for cpd in cpds:
        lowering.add(cpd)
    return lowering.finished()


def plain_factors(cpds: Iterable[CPD], variables: Iterable[str], found: Evidence) -> Sequence[Factor]:
    """One factor for each distribution, its own variable last, as named engines want them.

    Functions too large for a table become a chain of them, each factor with what it says last. Where there are
    continuous variables, whose values must be known, or other tables would be great, what `lower` makes, the scale put
    back in.
    """
    listed, taken = list(cpds), set(variables)
    if any(v.is_continuous for cpd in listed for v in cpd.scope) or any(
        num_entries(cpd.scope) > _GREAT_TABLE and not _is_chain(cpd) for cpd in listed
    ):
        lowered = lower(listed, variables, found.values, found.hard)
        pieces = math.ceil(abs(lowered.log_scale) / _MAX_LOG_SPREAD)  # so that no number leaves its range
        return [*lowered.factors, *[Factor.scalar(math.exp(lowered.log_scale / max(pieces, 1)))] * pieces]
    return [factor for cpd in listed for factor in _plain(cpd, taken)]


def _is_chain(cpd: CPD) -> bool:
    """Whether the factors of the distribution are functions, one of the other."""
    return cpd.is_deterministic and bool(cpd.auxiliaries)


def _plain(cpd: CPD, taken: set[str]) -> Sequence[Factor]:
    """One table, or those of a function that is too great for one."""
    if num_entries(cpd.scope) <= _GREAT_FUNCTION or not _is_chain(cpd):
        return [cpd.to_factor()]
    return _named_apart([part for part in cpd.to_factors() if isinstance(part, Factor)], cpd, taken)


class _Lowering:
    """The factors made so far, and the children of independent causes that wait until all others are known."""

    def __init__(
        self, taken: set[str], known: Mapping[str, float], observed: Mapping[str, int], tables_up_to: int
    ) -> None:
        self.taken, self.known, self.observed, self.tables_up_to = taken, known, observed, tables_up_to
        self.factors: list[Factor] = []
        self.log_scale = 0.0
        self.weights: dict[str, tuple[Variable, Floats]] = {}  # logarithms, for each state
        self.waiting: list[tuple[CPD, Causes]] = []
        self.functions: set[str] = set()

    def add(self, cpd: CPD) -> None:
        """Take one distribution up."""
        causes = None if any(v.is_continuous for v in cpd.scope) else read_causes(cpd, self.observed)
        if causes is None:
            self._add_plain(cpd)
        elif causes.num_levels == 1:
            self._add_weights(causes)
        elif causes.table_size <= max(_TINY_TABLE, self.tables_up_to):
            self._add_table(cpd)
        else:
            self.waiting.append((cpd, causes))

    def finished(self) -> Lowered:
        """All factors, once every distribution has been taken up."""
        for variable, logs in self.weights.values():
            finite = logs[np.isfinite(logs)]
            peak, spread = (float(finite.max()), float(np.ptp(finite))) if finite.size else (0.0, 0.0)
            pieces = 1 + int(spread / _MAX_LOG_SPREAD)  # equal factors, so that no weight underflows to zero
            self.factors += [Factor((variable,), np.exp((logs - peak) / pieces))] * pieces
            self.log_scale += peak
        order = self._decompose() if self.waiting else None
        return Lowered(tuple(self.factors), self.log_scale, order, frozenset(self.functions))

    def _decompose(self) -> tuple[str, ...] | None:
        """The waiting children, as tables where these are small and cost less; the order that goes with the choice."""
        small = [pair for pair in self.waiting if pair[1].table_size <= SMALL_TABLE]
        large = [pair for pair in self.waiting if pair[1].table_size > SMALL_TABLE]
        if sum(len(causes.parents) for _, causes in self.waiting) > _MAX_PAIRS:
            for cpd, _ in small:
                self._add_table(cpd)
            for cpd, _ in large:
                self._add_parts(cpd.to_factors(), cpd)
            return None
        scopes = [self._free(factor.scope) for factor in self.factors]
        families = [self._free(cpd.scope) for cpd, _ in small]
        best = decompose([causes for _, causes in large], [*scopes, *families], self.taken)
        if small:
            apart = decompose([causes for _, causes in self.waiting], scopes, self.taken)
            best, small = (apart, []) if apart.cost < best.cost else (best, small)
        for cpd, _ in small:
            self._add_table(cpd)
        self.factors += best.factors
        return best.order if best.factors else None

    def _free(self, scope: Iterable[Variable]) -> list[Variable]:
        return [variable for variable in scope if variable.name not in self.observed]

    def _add_weights(self, causes: Causes) -> None:
        """P(lowest | causes): a number, and a vector for each cause."""
        numbers = logarithms(np.concatenate([causes.leak, *(effect[:, 0] for effect in causes.effects)]))
        if numbers[0] == -math.inf:
            self.factors.append(Factor.scalar(0.0))
        else:
            self.log_scale += float(numbers[0])
        start = 1
        for parent, effect in zip(causes.parents, causes.effects, strict=True):
            _, before = self.weights.get(parent.name, (parent, 0.0))
            self.weights[parent.name] = parent, before + numbers[start : start + len(effect)]
            start += len(effect)

    def _add_table(self, cpd: CPD) -> None:
        factor, shift = _evaluated(cpd, self.known)
        self.factors.append(factor)
        self.log_scale += shift

    def _add_plain(self, cpd: CPD) -> None:
        small = SMALL_TABLE if cpd.is_deterministic else max(SMALL_TABLE, self.tables_up_to)
        compact = _compact(cpd, self.observed, small)
        if compact is None:
            self._add_table(cpd)
        else:
            self._add_parts(compact, cpd)

    def _add_parts(self, parts: Iterable[object], cpd: CPD) -> None:
        factors = _named_apart([part for part in parts if isinstance(part, Factor)], cpd, self.taken)
        self.factors.extend(factors)
        if cpd.is_deterministic:
            self.functions.update(_auxiliaries(factors, cpd))
        name = cpd.variable.name
        if name not in self.observed and not any(name in factor.names for factor in factors):  # all states are alike
            self.factors.append(Factor((cpd.variable,), np.ones(cpd.variable.num_states)))


def _compact(cpd: CPD, observed: Mapping[str, int], small: int) -> Sequence[Factor] | None:
    """The compact factors; or None, where one table over what is not observed is small, and auxiliaries are saved."""
    if any(variable.is_continuous for variable in cpd.scope):
        return None
    parts = cpd.factors_given(observed)
    if parts is None:
        return None
    factors = [factor for factor in parts if isinstance(factor, Factor)]
    free = num_entries(variable for variable in cpd.scope if variable.name not in observed)
    return None if free <= small and _auxiliaries(factors, cpd) else factors


def _auxiliaries(factors: Iterable[Factor], cpd: CPD) -> list[str]:
    """The names that the factors have and the scope has not."""
    inside = {variable.name for variable in cpd.scope}
    return list(dict.fromkeys(name for factor in factors for name in factor.names if name not in inside))


def _named_apart(factors: Sequence[Factor], cpd: CPD, taken: set[str]) -> Sequence[Factor]:
    """The factors with auxiliary variables under names of their own."""
    names = {}
    for auxiliary in _auxiliaries(factors, cpd):
        name = auxiliary
        while name in taken:
            name += "'"
        names[auxiliary] = name
        taken.add(name)
    if all(name == auxiliary for auxiliary, name in names.items()):
        return factors
    return [factor.rename({name: names[name] for name in factor.names if name in names}) for factor in factors]


def _evaluated(cpd: CPD, known: Mapping[str, float]) -> tuple[Factor, float]:
    """P or density at the known states and values as a factor of the other variables, and the log of its scale."""
    scope = tuple(variable for variable in cpd.scope if variable.name not in known)
    for variable in scope:
        if variable.is_continuous:
            raise NotSupported(
                f"{variable.name!r} is continuous and not observed: this question needs a number as evidence for it. "
                "query, marginals, log_probability, moments and mixture answer without one."
            )
    check_size(scope, f"The table of {cpd.variable.name!r}")
    columns = {variable.name: np.asarray(known.get(variable.name, 0)) for variable in cpd.scope}
    for place, variable in enumerate(wide(scope)):
        columns[variable.name] = np.arange(variable.num_states).reshape(-1, *[1] * (len(wide(scope)) - place - 1))
    logs = np.broadcast_to(cpd.log_probability(columns), table_shape(scope)).reshape(-1)
    peak = float(logs.max()) if len(scope) < len(cpd.scope) else 0.0
    table = np.exp(logs - peak) if math.isfinite(peak) else (logs == math.inf).astype(np.float64)
    return Factor.from_flat(scope, table), peak


def point_mass(variable: Variable, value: State) -> CPD:
    """The distribution in which a variable surely has a state, or a continuous one a number."""
    if variable.is_continuous:
        if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
            raise variable.unknown_state(value)
        return LinearGaussianCPD(variable, intercept=float(value), variance=0.0)
    return TableCPD(variable, Factor.indicator(variable, value).values)
