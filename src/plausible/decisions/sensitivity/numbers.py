"""The numbers of a diagram that can be varied: entries of conditional tables and of utilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from plausible.base.records import record
from plausible.cpds import TableCPD
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.options import Options
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import solve
from plausible.decisions.strategy import Strategy
from plausible.inference.sensitivity_parameters import Parameter
from plausible.inference.sensitivity_tornado import varied
from plausible.utilities.local import Utility
from plausible.utilities.wording import seen_text
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Asked", "DiagramNumber", "Line", "ProbabilityEntry", "Range", "UtilityEntry"]


class Line(NamedTuple):
    """A linear function of a number."""

    intercept: float
    slope: float

    def __call__(self, number: float) -> float:
        return self.intercept + self.slope * number

    def crossing(self, other: Line) -> float:
        """Where two lines that are not parallel meet."""
        return (self.intercept - other.intercept) / (other.slope - self.slope) + 0.0  # no -0.0


class Asked(NamedTuple):
    """The diagram in question, what is known beforehand, and how to solve."""

    diagram: InfluenceDiagram
    evidence: EvidenceLike | None
    options: Options | None

    def solved(self, diagram: InfluenceDiagram | None = None) -> Solution:
        """The best strategy of the diagram, or of another version of it."""
        return solve(self.diagram if diagram is None else diagram, "auto", self.evidence, self.options)


class Range(NamedTuple):
    """From where to where a number goes."""

    low: float
    high: float


class DiagramNumber(Protocol):
    """A number of a diagram that can be given another value."""

    def current(self, diagram: InfluenceDiagram) -> float:
        """Its present value."""

    def changed(self, diagram: InfluenceDiagram, value: float) -> InfluenceDiagram:
        """The diagram where it has another value."""

    def weighted_utility(self, diagram: InfluenceDiagram, strategy: Strategy, evidence: EvidenceLike | None) -> Line:
        """P(evidence) EU(strategy) as a function of the number, up to a factor that is the same for all strategies."""

    def evidence_line(self, diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> Line:
        """P(evidence) as a function of the number, up to the factor of `weighted_utility`."""

    @property
    def limits(self) -> Range:
        """The least and the largest value that it can have."""

    def best_at_limit(self, asked: Asked, limit: float) -> Solution | None:
        """The best strategy at a limit; none where it is known that none overtakes another on the way there."""

    def scale(self, diagram: InfluenceDiagram) -> float:
        """What its moves are measured by, where they are compared with those of other numbers."""

    def varied(self, asked: Asked, amount: float) -> Range:
        """From where to where it is varied, up and down by an amount."""


@record
class UtilityEntry:
    """One entry of a utility.

    Attributes
    ----------
    utility
        The name of the utility.
    given
        (name, state) of each of its parents, in their order.
    place
        The positions of these states: the index of the entry in the table.
    """

    utility: str
    given: tuple[tuple[str, State], ...]
    place: tuple[int, ...]

    def current(self, diagram: InfluenceDiagram) -> float:
        """Its present value."""
        return float(diagram.utility_factors[self.utility].values[self.place])

    def changed(self, diagram: InfluenceDiagram, value: float) -> InfluenceDiagram:
        """The diagram where it has another value."""
        factor = diagram.utility_factors[self.utility]
        values = np.array(factor.values)
        values[self.place] = value
        return diagram.with_utility(Utility(factor.scope, values, self.utility))

    def indicator(self, diagram: InfluenceDiagram, sign: float = 1.0) -> InfluenceDiagram:
        """The diagram whose only utility is ±1 where this entry counts, 0 elsewhere: its EU is ± that probability."""
        factor = diagram.utility_factors[self.utility]
        values = np.zeros(factor.shape)
        values[self.place] = sign
        chance, decisions = diagram.chance.values(), diagram.decisions.values()
        return type(diagram)(chance, decisions, [Utility(factor.scope, values, self.utility)])

    def weighted_utility(self, diagram: InfluenceDiagram, strategy: Strategy, evidence: EvidenceLike | None) -> Line:
        """EU(strategy): its slope is the probability that this entry counts."""
        slope = expected_utility(self.indicator(diagram), strategy, evidence)
        return Line(expected_utility(self.changed(diagram, 0.0), strategy, evidence), slope)

    def evidence_line(self, diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> Line:
        """No utility changes it."""
        return Line(1.0, 0.0)

    @property
    def limits(self) -> Range:
        """Utilities have none."""
        return Range(-math.inf, math.inf)

    def best_at_limit(self, asked: Asked, limit: float) -> Solution:
        """The strategy that meets this entry least or most often."""
        return asked.solved(self.indicator(asked.diagram, math.copysign(1.0, limit)))

    def scale(self, diagram: InfluenceDiagram) -> float:
        """The range of the utility's entries; that of the widest utility where they are all the same."""
        ranges = {name: float(factor.max() - factor.min()) for name, factor in diagram.utility_factors.items()}
        return ranges[self.utility] or max(ranges.values()) or 1.0

    def varied(self, asked: Asked, amount: float) -> Range:
        """By a share of the distance between the largest and the smallest entry of the utility."""
        current, factor = self.current(asked.diagram), asked.diagram.utility_factors[self.utility]
        step = amount * (factor.max() - factor.min())
        return Range(current - step, current + step)

    def __str__(self) -> str:
        return f"{self.utility}({seen_text(dict(self.given))})"


@record
class ProbabilityEntry:
    """One entry of a conditional table; where it changes, the others of its row share what is left in proportion.

    Attributes
    ----------
    parameter
        Which entry: see `plausible.inference.sensitivity_parameters.Parameter`.
    """

    parameter: Parameter

    def current(self, diagram: InfluenceDiagram) -> float:
        """Its present value."""
        return float(diagram.chance[self.parameter.child].to_factor().values[self.parameter.place])

    def changed(self, diagram: InfluenceDiagram, value: float) -> InfluenceDiagram:
        """The diagram where it has another value."""
        factor = diagram.chance[self.parameter.child].to_factor()
        *given, own = self.parameter.place
        values = np.array(factor.values)
        row = values[tuple(given)]
        others = np.delete(row, own)
        shares = others / others.sum() if others.sum() > 0 else np.full(others.shape, 1.0 / max(1, others.size))
        values[tuple(given)] = np.insert((1.0 - value) * shares, own, value)
        return diagram.with_chance(TableCPD(factor.scope[-1], values, factor.scope[:-1]))

    def weighted_utility(self, diagram: InfluenceDiagram, strategy: Strategy, evidence: EvidenceLike | None) -> Line:
        """P(evidence) EU(strategy), from its values at 0 and at 1, where impossible evidence makes it 0."""
        zero, one = (
            weight * expected_utility(self.changed(diagram, end), strategy, evidence) if weight > 0 else 0.0
            for end, weight in zip((0.0, 1.0), self.evidence_weights(diagram, evidence), strict=True)
        )
        return Line(zero, one - zero)

    def evidence_weights(self, diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> tuple[float, float]:
        """P(evidence) at 0 and at 1, divided by the larger one; evidence comes before decisions, whatever they do."""
        if evidence is None:
            return 1.0, 1.0
        blind = diagram.with_information(dict.fromkeys(diagram.decisions, ()))
        rules = blind.uniform_strategy()
        logs = [self.changed(blind, end).network(rules).log_probability(evidence) for end in (0.0, 1.0)]
        peak = max(logs)
        return math.exp(logs[0] - peak), math.exp(logs[1] - peak)

    def evidence_line(self, diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> Line:
        """P(evidence), from its values at 0 and at 1."""
        zero, one = self.evidence_weights(diagram, evidence)
        return Line(zero, one - zero)

    @property
    def limits(self) -> Range:
        """Those of a probability."""
        return Range(0.0, 1.0)

    def best_at_limit(self, asked: Asked, limit: float) -> Solution | None:
        """None where evidence is impossible at 0 or at 1: all lines of strategies meet there, and nowhere else."""
        if asked.diagram.variables[self.parameter.child].num_states == 1:
            return None
        if min(self.evidence_weights(asked.diagram, asked.evidence)) == 0:
            return None
        return asked.solved(self.changed(asked.diagram, limit))

    def scale(self, diagram: InfluenceDiagram) -> float:
        """1: a probability is compared as it is."""
        return 1.0

    def varied(self, asked: Asked, amount: float) -> Range:
        """To θ (1 ± amount) within [0, 1]; half the way to 0 or 1 where that would make the evidence impossible."""
        current = self.current(asked.diagram)
        low, high = (float(end[0]) for end in varied(np.array([current]), "relative", amount))
        if low > 0 and high < 1:
            return Range(low, high)
        at_zero, at_one = self.evidence_weights(asked.diagram, asked.evidence)
        return Range(
            current / 2 if low == 0 and at_zero == 0 else low,
            (1 + current) / 2 if high == 1 and at_one == 0 else high,
        )

    def __str__(self) -> str:
        return str(self.parameter)
