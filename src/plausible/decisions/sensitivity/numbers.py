"""The numbers of a diagram that can be varied: entries of conditional tables and of utilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from plausible.cpds import TableCPD
from plausible.decisions.parts import Utility
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.strategy import Strategy
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.inference.sensitivity_parameters import Parameter
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["DiagramNumber", "Line", "NumberLike", "ProbabilityEntry", "UtilityEntry", "all_numbers", "read_number"]

#: What public functions accept: (utility, states of its parents) or (child, states of its parents, state), the states
#: of the parents as a mapping or in their order; or a `UtilityEntry` or `ProbabilityEntry`.
NumberLike = Any


class Line(NamedTuple):
    """A linear function of a number."""

    intercept: float
    slope: float

    def __call__(self, number: float) -> float:
        return self.intercept + self.slope * number

    def crossing(self, other: Line) -> float:
        """Where two lines that are not parallel meet."""
        return (self.intercept - other.intercept) / (other.slope - self.slope)


class DiagramNumber(Protocol):
    """A number of a diagram that can be given another value."""

    def current(self, diagram: InfluenceDiagram) -> float:
        """Its present value."""

    def changed(self, diagram: InfluenceDiagram, value: float) -> InfluenceDiagram:
        """The diagram where it has another value."""

    def weighted_utility(self, diagram: InfluenceDiagram, strategy: Strategy, evidence: EvidenceLike | None) -> Line:
        """P(evidence) EU(strategy) as a function of the number, up to a factor that is the same for all strategies."""


@dataclass(frozen=True, slots=True)
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

    def __str__(self) -> str:
        given = ", ".join(f"{name}={state}" for name, state in self.given)
        return f"{self.utility}({given})"


@dataclass(frozen=True, slots=True)
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

    def __str__(self) -> str:
        return str(self.parameter)


def read_number(number: NumberLike, diagram: InfluenceDiagram) -> UtilityEntry | ProbabilityEntry:
    """The number of a diagram that (utility, states) or (child, states, state) names."""
    if isinstance(number, UtilityEntry):
        number = (number.utility, dict(number.given))
    if isinstance(number, ProbabilityEntry):
        number = number.parameter
    if isinstance(number, tuple | list) and number and number[0] in diagram.utilities:
        return _utility_entry(number, diagram)
    tables = {name: cpd.to_factor().scope for name, cpd in diagram.chance.items() if isinstance(cpd, TableCPD)}
    child = number.child if isinstance(number, Parameter) else number[0] if isinstance(number, tuple | list) else None
    if isinstance(child, str) and child in diagram.chance and child not in tables:
        raise NotSupported(
            f"{child!r} has no table, but a {diagram.chance[child].kind} distribution: give the diagram the table "
            "TableCPD(variable, cpd.to_factor().values, parents) in its place."
        )
    if child is not None and child not in tables:
        raise UnknownVariable.named(child, (*diagram.chance, *diagram.utilities), "this diagram, by chance or utility")
    return ProbabilityEntry(Parameter.read(number, tables))


def _utility_entry(number: Sequence[Any], diagram: InfluenceDiagram) -> UtilityEntry:
    utility = str(number[0])
    scope = diagram.utility_factors[utility].scope
    given = number[1] if len(number) > 1 else {}
    if not isinstance(given, Mapping):
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(scope):
            raise InvalidArgument(
                f"An entry of the utility {utility!r} is named by a state of each of {[v.name for v in scope]}, "
                f"not by {given!r}."
            )
        given = dict(zip((variable.name for variable in scope), given, strict=True))
    for name in given:
        if name not in [variable.name for variable in scope]:
            raise UnknownVariable.named(name, [v.name for v in scope], f"the utility {utility!r}")
    if missing := [variable.name for variable in scope if variable.name not in given]:
        raise InvalidArgument(f"An entry of the utility {utility!r} needs a state of {missing[0]!r}, too.")
    place = tuple(variable.index(given[variable.name]) for variable in scope)
    return UtilityEntry(utility, tuple((v.name, v.states[p]) for v, p in zip(scope, place, strict=True)), place)


def all_numbers(diagram: InfluenceDiagram) -> Iterator[UtilityEntry | ProbabilityEntry]:
    """Every entry of every utility, then of every conditional table with two states or more."""
    for name, factor in diagram.utility_factors.items():
        for place in np.ndindex(*factor.shape):
            given = tuple((v.name, v.states[p]) for v, p in zip(factor.scope, place, strict=True))
            yield UtilityEntry(name, given, place)
    for cpd in diagram.chance.values():
        if isinstance(cpd, TableCPD) and cpd.variable.num_states > 1:
            factor = cpd.to_factor()
            for place in np.ndindex(*factor.shape):
                yield ProbabilityEntry(Parameter.at(factor.scope, place))
