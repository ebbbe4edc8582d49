"""Posteriors as functions of one parameter: f(θ) = (aθ + b) / (cθ + d), for every parameter from two calibrations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, overload

import numpy as np

from plausible.base import PROBABILITY_NOISE, Floats, Result, chart_by, record
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.factors import Factor
from plausible.inference.sensitivity.derivatives import FamilyProduct, event_gradient, possible, scaled
from plausible.inference.sensitivity.parameters import Event, Parameter, row_ends
from plausible.variables import Evidence

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart

#: How many parameters a sensitivity shows when printed.
_SHOWN = 10


class PosteriorRange(NamedTuple):
    """What a posterior can become."""

    lowest: float
    highest: float


@record
class SensitivityFunction(Result):
    """P(x | e) as a function of one parameter θ, the other entries of its row in proportion.

    f(θ) = P(x, e)(θ) / P(e)(θ) = (aθ + b) / (cθ + d), a hyperbola, a line or a constant, and monotone (Castillo,
    Gutiérrez & Hadi 1997; van der Gaag & Renooij 2001). Both lines are known by their ends at θ = 0 and θ = 1, relative
    to P(e) at the present value, so that cθ + d is one there. At an end where the evidence is impossible, the limit of
    f stands for the value that it has not.

    How certain must a test be for a disease to be as probable as not?

    >>> table = Factor({"ill": ["no", "yes"], "test": ["-", "+"]}, [[0.95, 0.05], [0.1, 0.9]])
    >>> product = FamilyProduct({"ill": Factor({"ill": ["no", "yes"]}, [0.99, 0.01]), "test": table})
    >>> found = Evidence.read({"test": "+"}, product.variables)
    >>> event = Event(product.variables["ill"], "yes")
    >>> false_alarms = Parameter.read(("test", {"ill": "no"}, "+"), {"test": table.scope})
    >>> function = event_sensitivity(product, found, event).function(false_alarms)
    >>> print(function)
    P(ill=yes | e) = 0.153846 at P(test=+ | ill=no) = 0.05
    >>> round(function(0.01), 6), round(function.solve(0.5), 6)
    (0.47619, 0.009091)
    >>> function.solve(0.001) is None
    True
    """

    parameter: Parameter  # Which entry θ is
    event: str  # x, as text
    current: float  # The present value of θ
    joint_ends: tuple[float, float]  # P(x, e) at θ = 0 and at θ = 1, divided by P(e)
    evidence_ends: tuple[float, float]  # P(e) at θ = 0 and at θ = 1, divided by P(e)
    log_evidence: float  # log P(e) at the present value

    @property
    def a(self) -> float:
        """The slope of P(x, e) in θ, divided by P(e)."""
        return self.joint_ends[1] - self.joint_ends[0]

    @property
    def b(self) -> float:
        """P(x, e) at θ = 0, divided by P(e)."""
        return self.joint_ends[0]

    @property
    def c(self) -> float:
        """The slope of P(e) in θ, divided by P(e)."""
        return self.evidence_ends[1] - self.evidence_ends[0]

    @property
    def d(self) -> float:
        """P(e) at θ = 0, divided by P(e)."""
        return self.evidence_ends[0]

    @overload
    def __call__(self, value: float) -> float: ...
    @overload
    def __call__(self, value: Floats) -> Floats: ...
    def __call__(self, value: float | Floats) -> float | Floats:
        """P(x | e) where θ has this value, or each of these."""
        values = _checked(value)
        # Where the evidence is impossible at one end, f is the same at all other values of θ.
        end = 0 if self.evidence_ends[1] == 0 else 1
        limit = self.joint_ends[end] / self.evidence_ends[end]
        answer = _ratio(_between(self.joint_ends, values), _between(self.evidence_ends, values), limit)
        return float(answer) if np.ndim(value) == 0 else answer

    @property
    def value(self) -> float:
        """P(x | e) at the present value of θ."""
        return self(self.current)

    def derivative(self, value: float | None = None) -> float:
        """f'(θ) = (ad - bc) / (cθ + d)², at the present value unless another one is given."""
        at = float(_checked(self.current if value is None else value))
        below = float(_between(self.evidence_ends, at))
        return self._determinant() / below**2 if below > 0 else 0.0

    def _determinant(self) -> float:
        rising, falling = self.joint_ends[1] * self.evidence_ends[0], self.joint_ends[0] * self.evidence_ends[1]
        return 0.0 if abs(rising - falling) <= PROBABILITY_NOISE * max(rising, falling) else rising - falling

    @property
    def is_constant(self) -> bool:
        """Whether θ does not matter."""
        return self._determinant() == 0

    def range(self, low: float = 0.0, high: float = 1.0) -> PosteriorRange:
        """The lowest and the highest posterior for θ between two values; f is monotone, so they are at the ends."""
        ends = sorted((self(low), self(high)))
        return PosteriorRange(ends[0], ends[1])

    def solve(self, probability: float) -> float | None:
        """The value of θ for which P(x | e) is `probability`; `None` where no value in [0, 1] does that.

        Where f is constant and has that value, θ may stay as it is.
        """
        if not 0 <= probability <= 1:
            raise InvalidArgument(f"A probability is a number from 0 to 1, not {probability!r}.")
        start, end = (
            joint - probability * evidence for joint, evidence in zip(self.joint_ends, self.evidence_ends, strict=True)
        )
        if self.is_constant:
            return self.current if abs(self.value - probability) <= PROBABILITY_NOISE else None
        start, end = (
            0.0 if abs(excess) <= PROBABILITY_NOISE * evidence else excess
            for excess, evidence in zip((start, end), self.evidence_ends, strict=True)
        )
        return None if start * end > 0 else start / (start - end)

    @property
    def sensitivity_value(self) -> float:
        """|f'(θ)| at the present value: above one, an error in θ comes out larger than it went in."""
        return abs(self.derivative())

    @property
    def vertex(self) -> float | None:
        """The θ, perhaps outside [0, 1], at which |f'| is one: the shoulder of the hyperbola; `None` for a line."""
        if self.c == 0 or self.is_constant:
            return None
        centre, width = -self.d / self.c, math.sqrt(abs(self._determinant())) / abs(self.c)
        return centre + width if centre <= 0 else centre - width

    @property
    def vertex_proximity(self) -> float:
        """|θ - vertex|: where it is small, a small error may lead to where f is steep; infinite for a line."""
        return math.inf if self.vertex is None else abs(self.current - self.vertex)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the curve, with the present values marked; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_sensitivity", self, ax)

    def __str__(self) -> str:
        return f"P({self.event} | e) = {self.value:.6g} at {self.parameter} = {self.current:.6g}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FamilySensitivity:
    """The sensitivity functions of all entries of one table: for each the ends of its two lines."""

    table: Factor  # θ with axes (parents..., child)
    #: P(x, e) and P(e) at θ = 0 and at θ = 1, divided by P(e); arrays with the axes of the table.
    joint_ends: tuple[Floats, Floats]
    evidence_ends: tuple[Floats, Floats]

    def posteriors(self, values: Floats) -> Floats:
        """P(x | e) when each entry alone has its value."""
        end = np.where(self.evidence_ends[1] == 0, 0, 1)
        limits = np.choose(end, self.joint_ends) / np.choose(end, self.evidence_ends)
        return _ratio(_between(self.joint_ends, values), _between(self.evidence_ends, values), limits)

    @property
    def derivatives(self) -> Floats:
        """dP(x | e)/dθ of each entry at its present value."""
        posterior = _between(self.joint_ends, self.table.values)
        slope = self.joint_ends[1] - self.joint_ends[0]
        return np.asarray(slope - posterior * (self.evidence_ends[1] - self.evidence_ends[0]))

    def __repr__(self) -> str:
        *parents, child = self.table.names
        given = f" | {', '.join(parents)}" if parents else ""
        return f"<FamilySensitivity: {counted(self.table.size, 'parameter')} of P({child}{given})>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EventSensitivity:
    """How P(x | e) depends on each parameter of some families."""

    event: Event  # x
    probability: float  # P(x | e)
    log_evidence: float  # log P(e)
    families: Mapping[str, FamilySensitivity]  # Name of the child -> the functions of its entries

    def function(self, parameter: Parameter) -> SensitivityFunction:
        """The function of one parameter."""
        UnknownVariable.check(parameter.child, self.families, "this analysis")
        family = self.families[parameter.child]
        at = parameter.place
        (zero, one), (none, all_) = family.joint_ends, family.evidence_ends
        ends = (float(zero[at]), float(one[at])), (float(none[at]), float(all_[at]))
        current = float(family.table.values[at])
        return SensitivityFunction(parameter, str(self.event), current, *ends, self.log_evidence)

    def __repr__(self) -> str:
        """The probability, and the parameters with the largest derivatives; `tornado` makes a table of them."""
        slopes = [
            (float(slope), family, place)
            for family in self.families.values()
            for place, slope in np.ndenumerate(family.derivatives)
        ]
        slopes.sort(key=lambda found: -abs(found[0]))
        lines = [
            f"  {Parameter.at(family.table.scope, place)} = {family.table.values[place]:.6g}: derivative {slope:.6g}"
            for slope, family, place in slopes[:_SHOWN]
        ]
        more = [f"  ... ({len(slopes)} in all)"] if len(slopes) > _SHOWN else []
        title = f"P({self.event} | e) = {self.probability:.6g}, by {counted(len(slopes), 'parameter')}:"
        return "\n".join([title, *lines, *more])


def event_sensitivity(
    product: FamilyProduct, evidence: Evidence, event: Event, names: Iterable[str] | None = None
) -> EventSensitivity:
    """The sensitivity functions of P(x | e) in all parameters of the named families, or of all.

    Two calibrations, with e and with (x, e), however many parameters there are.
    """
    evidence, log_peak = scaled(evidence)
    wanted = list(product.families if names is None else names)
    log_total = possible(product.log_total(evidence))
    log_both, above = event_gradient(product, evidence, event, log_total, wanted)
    below = product.gradient(evidence, log_total, wanted)
    families = {}
    for name in wanted:
        table = product.families[name]
        ends = (row_ends(table.values, slopes[name]) for slopes in (above, below))
        families[name] = FamilySensitivity(table, *ends)
    return EventSensitivity(event, math.exp(log_both - log_total), log_total + product.log_scale + log_peak, families)


def _between(ends: tuple[float, float] | tuple[Floats, Floats], values: float | Floats) -> Floats:
    """The line through both ends; no difference is taken, so that small ends keep all their digits."""
    return np.asarray((1.0 - values) * ends[0] + values * ends[1])


def _ratio(above: Floats, below: Floats, limit: float | Floats) -> Floats:
    answer = np.broadcast_to(np.asarray(limit, dtype=np.float64), below.shape).copy()
    return np.minimum(np.divide(above, below, out=answer, where=below > 0), 1.0)


def _checked(value: float | Floats) -> Floats:
    values = np.asarray(value, dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise InvalidArgument(f"A parameter of a table is a probability, from 0 to 1, not {value!r}.")
    return values


#: What an amount is a change of.
Variation: TypeAlias = Literal["relative", "absolute", "odds"]


def varied(values: Floats, vary: Variation, amount: float) -> tuple[Floats, Floats]:
    """Parameters made smaller and larger, inside [0, 1]: θ (1 ± amount), θ ± amount, or odds divided and multiplied."""
    if not (isinstance(amount, (int, float, np.number)) and 0 < amount < math.inf):
        raise InvalidArgument(f"The amount by which parameters vary must be positive and finite, not {amount!r}.")
    if vary == "relative":
        low, high = values * (1 - amount), values * (1 + amount)
    elif vary == "absolute":
        low, high = values - amount, values + amount
    elif vary == "odds":
        factor = 1 + amount
        low, high = values / (values + factor * (1 - values)), factor * values / (factor * values + (1 - values))
    else:
        raise InvalidArgument(f"Parameters vary 'relative', 'absolute' or by 'odds', not {vary!r}.")
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def tornado(
    sensitivity: EventSensitivity, vary: Variation = "relative", amount: float = 0.1, limit: int | None = 20
) -> pd.DataFrame:
    """The parameters by how far P(x | e) moves when each is varied alone, the largest swing first; see `varied`.

    The other entries of a row change in proportion.
    """
    import pandas as pd

    if limit is not None and (not isinstance(limit, (int, np.integer)) or limit < 0):
        raise InvalidArgument(f"The limit is a number of rows, or None for all, not {limit!r}.")
    varied(np.zeros(0), vary, amount)  # refuses wrong options also where there is nothing to vary
    names = [name for name, family in sensitivity.families.items() if family.table.shape[-1] > 1]
    parts = [_columns(sensitivity.families[name], vary, amount) for name in names]
    columns = {key: np.concatenate([part[key] for part in parts]) if parts else np.zeros(0) for key in _COLUMNS}
    # In single precision the two states of a binary child tie, and come in the order of the tables.
    order = np.argsort(-columns["swing"].astype(np.float32), kind="stable")[:limit]
    tables = [sensitivity.families[name].table for name in names]
    starts = np.cumsum([0, *(table.size for table in tables)])
    parameters = []
    for number in order.tolist():
        table = tables[place := int(np.searchsorted(starts, number, side="right")) - 1]
        index = np.unravel_index(number - starts[place], table.shape)
        parameters.append(Parameter.at(table.scope, tuple(int(axis) for axis in index)))
    told = pd.DataFrame({"parameter": pd.Series(parameters, dtype=object), **{k: columns[k][order] for k in _COLUMNS}})
    told.attrs = {"event": str(sensitivity.event), "probability": sensitivity.probability}
    return told


_COLUMNS = ("value", "low", "high", "at_low", "at_high", "swing", "derivative")


def _columns(family: FamilySensitivity, vary: Variation, amount: float) -> dict[str, Floats]:
    values = family.table.values
    low, high = varied(values, vary, amount)
    at_low, at_high = family.posteriors(low), family.posteriors(high)
    swing = np.abs(at_high - at_low)  # posteriors are monotone in a parameter
    columns = (values, low, high, at_low, at_high, swing, family.derivatives)
    return {key: column.ravel() for key, column in zip(_COLUMNS, columns, strict=True)}
