"""Derivatives of probabilities in the entries of conditional tables.

P(e) = Σ_x Π θ_{x|u} is linear in each entry θ, and its derivative is the sum over the product of all *other* numbers:
∂P(e)/∂θ_{x|u} = P(x, u, e) / θ_{x|u} (Darwiche 2003; Koller & Friedman 2009, lemma 19.1). One calibration gives it for
every entry of every family. The quotient says nothing where θ = 0, though the derivative exists there. So entries below
`FLOOR` are raised to it: the beliefs of those entries are then FLOOR times the derivative, and no sum notices the
change, as FLOOR is a hundred orders of magnitude below what floats resolve. Only where P(e) itself is that small are
families with zeros computed one by one, from the product without them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.errors import ImpossibleEvidence, counted
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.sensitivity.parameters import Event, OtherEntries, Parameter, covarying, is_covarying
from plausible.variables import Evidence, Variable

Arrays: TypeAlias = dict[str, Floats]

#: Stands for zero in tables that are differentiated. Its square is still a normal float, its cube vanishes.
FLOOR = 1e-120
#: Where log P(e) is at least this, what the floors add to a relative derivative is below 1e-20.
SAFE_LOG = -200.0
#: Derivatives of a probability below this may be made of floors alone, and count as zero.
NOISE = FLOOR * 1e10


@dataclass(frozen=True, eq=False)
class FamilyProduct:
    """Conditional tables and other factors, the product of which is a probability up to a known constant."""

    #: Name of the child -> P(child | parents) with axes (parents..., child): the tables to differentiate in.
    families: Mapping[str, Factor]
    others: tuple[Factor, ...] = ()  # Factors that are taken as they are
    log_scale: float = 0.0  # The logarithm of the constant
    budget: Budget | None = None  # The most that one calibration may cost; by default `Budget()`

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Name -> variable, of all scopes."""
        factors = (*self.families.values(), *self.others)
        return {variable.name: variable for factor in factors for variable in factor.scope}

    @cached_property
    def floored_names(self) -> frozenset[str]:
        """The families with entries below the floor."""
        return frozenset(name for name, table in self.families.items() if table.min() < FLOOR)

    @cached_property
    def exact(self) -> CompiledFactors:
        """The product as it is."""
        return compile_factors((*self.families.values(), *self.others), self.variables.values(), budget=self.budget)

    @cached_property
    def floored(self) -> CompiledFactors:
        """The product with floors under the entries of families."""
        if not self.floored_names:
            return self.exact
        tables = [Factor(table.scope, np.maximum(table.values, FLOOR)) for table in self.families.values()]
        return compile_factors((*tables, *self.others), self.variables.values(), budget=self.budget)

    def log_total(self, evidence: Evidence) -> float:
        """log Σ Π φ where the evidence, `scaled`, holds; -inf for zero."""
        total = self.floored.log_total(evidence)
        if not self.floored_names or total >= SAFE_LOG:
            return total
        return self.exact.log_total(evidence)  # floors may be all there is

    def gradient(self, evidence: Evidence, log_reference: float, names: Iterable[str] | None = None) -> Arrays:
        """∂(Σ Π φ)/∂θ · exp(-log_reference) of every entry of the named families, or of all."""
        wanted = list(self.families if names is None else names)
        is_safe = log_reference >= SAFE_LOG
        alone = [] if is_safe else [name for name in wanted if name in self.floored_names]
        together = [name for name in wanted if name not in alone]
        found = self._together(together, evidence, log_reference, self.floored if is_safe else self.exact)
        found |= {name: self._alone(name, evidence, log_reference) for name in alone}
        return {name: found[name] for name in wanted}

    def _together(
        self, names: Sequence[str], evidence: Evidence, log_reference: float, compiled: CompiledFactors
    ) -> Arrays:
        """Beliefs of families divided by their entries."""
        log_total = compiled.log_total(evidence)
        noise = -math.inf if compiled is self.exact else math.log(NOISE) - log_reference
        if log_total == -math.inf or log_total - log_reference - math.log(FLOOR) < noise:
            return {name: np.zeros(self.families[name].shape) for name in names}
        beliefs = compiled.joints([self.families[name].scope for name in names], evidence)
        scale = _exp(log_total - log_reference)
        found: Arrays = {}
        for name, belief in zip(names, beliefs, strict=True):
            slopes = belief.values / np.maximum(self.families[name].values, FLOOR) * scale
            found[name] = np.where(slopes < _exp(noise), 0.0, slopes)
        return found

    def _alone(self, name: str, evidence: Evidence, log_reference: float) -> Floats:
        """The sum over the product of everything but one family."""
        table = self.families[name]
        ones = Factor(table.scope, np.ones(table.shape))
        rest = [other for child, other in self.families.items() if child != name]
        compiled = compile_factors((*rest, *self.others, ones), self.variables.values(), budget=self.budget)
        log_total = compiled.log_total(evidence)
        if log_total == -math.inf:
            return np.zeros(table.shape)
        return compiled.joint(table.scope, evidence).values * _exp(log_total - log_reference)

    def given_entry(self, parameter: Parameter) -> FamilyProduct:
        """The product in which a family is replaced by the indicator of one of its entries: ∂(Π φ)/∂θ."""
        table = self.families[parameter.child]
        indicator = np.zeros(table.shape)
        indicator[parameter.place] = 1.0
        rest = {child: other for child, other in self.families.items() if child != parameter.child}
        return FamilyProduct(rest, (*self.others, Factor(table.scope, indicator)), self.log_scale, self.budget)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Derivatives:
    """A probability and its derivatives in all entries of conditional tables."""

    value: float  # P(e), or P(x | e)
    log_value: float  # Its natural logarithm, which is right also where the value is too small for a float
    of_value: Mapping[str, Floats]  # Name of the child -> array of dP/dθ with axes (parents..., child)
    of_log: Mapping[str, Floats]  # The same for d log P/dθ; infinite where P = 0 would become positive
    others: OtherEntries  # What the other entries of the row do: `fixed` or `proportional`

    def __getitem__(self, child: str) -> Floats:
        """dP/dθ of one family."""
        return self.of_value[child]

    def __repr__(self) -> str:
        entries = sum(slopes.size for slopes in self.of_value.values())
        return (
            f"<Derivatives of P = {self.value:.6g} in {counted(entries, 'entry')} "
            f"of {counted(len(self.of_value), 'table')}, {self.others}>"
        )


def derivatives(
    product: FamilyProduct, evidence: Evidence, event: Event | None = None, others: OtherEntries = "fixed"
) -> Derivatives:
    """dP(e)/dθ, or dP(x | e)/dθ, of every entry θ of every family.

    One calibration for P(e); for P(x | e) = P(x, e) / P(e) another one with the event as evidence. `others` says what
    the other entries of the same row do.
    """
    covary = is_covarying(others)
    evidence, log_peak = scaled(evidence)
    log_total = product.log_total(evidence)

    def changed(slopes: Arrays) -> Arrays:
        """By the convention."""
        tables = product.families
        return {name: covarying(tables[name].values, slopes[name]) for name in slopes} if covary else slopes

    def relative(of_value: Arrays, value: float) -> Arrays:
        """Division with 0/0 = 0 and signed infinities."""
        with np.errstate(divide="ignore", over="ignore"):
            return {n: np.divide(a, value, out=np.zeros_like(a), where=a != 0) for n, a in of_value.items()}

    if event is not None:
        below = changed(product.gradient(evidence, possible(log_total)))
        log_both, above = event_gradient(product, evidence, event, log_total)
        above = changed(above)
        value = _exp(log_both - log_total)
        of_value = {name: above[name] - value * below[name] for name in below}
        return Derivatives(value, log_both - log_total, of_value, relative(of_value, value), others)
    slopes = changed(product.gradient(evidence, log_total if log_total > -math.inf else 0.0))
    log_scale = product.log_scale + log_peak
    value = _exp(log_total + log_scale)
    unit = value if log_total > -math.inf else _exp(log_scale)
    of_value = {name: array * unit for name, array in slopes.items()}
    of_log = slopes if log_total > -math.inf else relative(slopes, 0.0)
    return Derivatives(value, log_total + log_scale, of_value, of_log, others)


def event_gradient(
    product: FamilyProduct, evidence: Evidence, event: Event, log_total: float, names: Iterable[str] | None = None
) -> tuple[float, Arrays]:
    """log P(x, e) and the derivatives of P(x, e), relative to P(e), whose logarithm is `log_total`."""
    both = event.within(evidence)
    if both is None:
        wanted = product.families if names is None else names
        return -math.inf, {name: np.zeros(product.families[name].shape) for name in wanted}
    return product.log_total(both), product.gradient(both, log_total, names)


def possible(log_total: float) -> float:
    """The logarithm of a probability that is not zero; else an error."""
    if log_total == -math.inf:
        raise ImpossibleEvidence.outright()
    return log_total


def hessian(product: FamilyProduct, evidence: Evidence, parameters: Sequence[Parameter]) -> Floats:
    """∂² log P(e) / ∂θ_i ∂θ_j of some entries, all other entries fixed.

    [P(x_i, u_i, x_j, u_j | e) - P(x_i, u_i | e) P(x_j, u_j | e)] / (θ_i θ_j), but with the first term zero for two
    entries of one family, an entry with itself among them: P(e) is linear in the entries of a family. (The formula
    printed in Koller & Friedman 2009, exercise 19.9, holds for entries of different families only.)

    A calibration for each different entry, and one more. Zeros among the entries are no exception.
    """
    evidence, _ = scaled(evidence)
    reference = possible(product.log_total(evidence))
    first = product.gradient(evidence, reference, dict.fromkeys(parameter.child for parameter in parameters))
    slopes = np.array([first[parameter.child][parameter.place] for parameter in parameters])
    second = np.zeros((len(parameters), len(parameters)))
    for row, parameter in enumerate(parameters):
        later = [j for j in range(row + 1, len(parameters)) if parameters[j].child != parameter.child]
        if later:
            children = dict.fromkeys(parameters[j].child for j in later)
            mixed = product.given_entry(parameter).gradient(evidence, reference, children)
            second[row, later] = [mixed[parameters[j].child][parameters[j].place] for j in later]
    return second + second.T - np.outer(slopes, slopes)


def scaled(evidence: Evidence) -> tuple[Evidence, float]:
    """The evidence with weights of at most one, and the log of what it was divided by: floors must not vanish in it."""
    peaks = {name: float(weights.max()) for name, weights in evidence.soft.items()}
    soft = {name: weights / peaks[name] for name, weights in evidence.soft.items()}
    return replace(evidence, soft=soft), math.fsum(map(math.log, peaks.values()))


def _exp(logarithm: float) -> float:
    """e to a power, infinite where it overflows."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
