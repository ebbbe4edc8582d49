"""The numbers of a diagram that can be varied: entries of conditional tables and of utilities, by name, one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from plausible.base import Result, record
from plausible.cpds import TableCPD
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import Asked
from plausible.decisions.strategy import Strategy
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.inference.sensitivity.functions import varied
from plausible.inference.sensitivity.parameters import Parameter
from plausible.utilities.local import Utility, seen_text
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike


class Line(NamedTuple):
    """A linear function of a number."""

    intercept: float
    slope: float

    def __call__(self, number: float) -> float:
        return self.intercept + self.slope * number

    def crossing(self, other: Line) -> float:
        """Where two lines that are not parallel meet."""
        return (self.intercept - other.intercept) / (other.slope - self.slope) + 0.0  # no -0.0


#: From where to where a number goes.
Range: TypeAlias = tuple[float, float]


@record
class UtilityEntry(Result):
    """One entry of a utility."""

    utility: str  # The name of the utility
    given: tuple[tuple[str, State], ...]  # (name, state) of each of its parents, in their order
    place: tuple[int, ...]  # The positions of these states: the index of the entry in the table

    def current(self, diagram: Diagram) -> float:
        """Its present value."""
        return float(diagram.utility_factors[self.utility].values[self.place])

    def changed(self, diagram: DiagramT, value: float) -> DiagramT:
        """The diagram where it has another value."""
        factor = diagram.utility_factors[self.utility]
        values = np.array(factor.values)
        values[self.place] = value
        return diagram.with_utility(Utility(factor.scope, values, self.utility))

    def indicator(self, diagram: DiagramT, sign: float = 1.0) -> DiagramT:
        """The diagram whose only utility is ±1 where this entry counts, 0 elsewhere: its EU is ± that probability."""
        factor = diagram.utility_factors[self.utility]
        values = np.zeros(factor.shape)
        values[self.place] = sign
        chance, decisions = diagram.chance.values(), diagram.decisions.values()
        return type(diagram)(chance, decisions, [Utility(factor.scope, values, self.utility)])

    def weighted_utility(self, diagram: Diagram, strategy: Strategy, evidence: EvidenceLike | None) -> Line:
        """EU(strategy): its slope is the probability that this entry counts."""
        slope = expected_utility(self.indicator(diagram), strategy, evidence)
        return Line(expected_utility(self.changed(diagram, 0.0), strategy, evidence), slope)

    def evidence_line(self, diagram: Diagram, evidence: EvidenceLike | None) -> Line:
        """No utility changes it."""
        return Line(1.0, 0.0)

    @property
    def limits(self) -> Range:
        """Utilities have none."""
        return -math.inf, math.inf

    def best_at_limit(self, asked: Asked, limit: float) -> Solution:
        """The strategy that meets this entry least or most often."""
        return asked.solved(self.indicator(asked.diagram, math.copysign(1.0, limit)))

    def scale(self, diagram: Diagram) -> float:
        """The range of the utility's entries; that of the widest utility where they are all the same."""
        ranges = {name: float(factor.max() - factor.min()) for name, factor in diagram.utility_factors.items()}
        return ranges[self.utility] or max(ranges.values()) or 1.0

    def varied(self, asked: Asked, amount: float) -> Range:
        """By a share of the distance between the largest and the smallest entry of the utility."""
        current, factor = self.current(asked.diagram), asked.diagram.utility_factors[self.utility]
        step = amount * (factor.max() - factor.min())
        return current - step, current + step

    def __str__(self) -> str:
        return f"{self.utility}({seen_text(dict(self.given))})"


@record
class ProbabilityEntry(Result):
    """One entry of a conditional table; where it changes, the others of its row share what is left in proportion."""

    parameter: Parameter  # Which entry: see `plausible.inference.sensitivity.parameters.Parameter`

    def current(self, diagram: Diagram) -> float:
        """Its present value."""
        return float(diagram.chance[self.parameter.child].to_factor().values[self.parameter.place])

    def changed(self, diagram: DiagramT, value: float) -> DiagramT:
        """The diagram where it has another value."""
        factor = diagram.chance[self.parameter.child].to_factor()
        *given, own = self.parameter.place
        values = np.array(factor.values)
        row = values[tuple(given)]
        others = np.delete(row, own)
        shares = others / others.sum() if others.sum() > 0 else np.full(others.shape, 1.0 / max(1, others.size))
        values[tuple(given)] = np.insert((1.0 - value) * shares, own, value)
        return diagram.with_chance(TableCPD(factor.scope[-1], values, factor.scope[:-1]))

    def weighted_utility(self, diagram: Diagram, strategy: Strategy, evidence: EvidenceLike | None) -> Line:
        """P(evidence) EU(strategy), from its values at 0 and at 1, where impossible evidence makes it 0."""
        zero, one = (
            weight * expected_utility(self.changed(diagram, end), strategy, evidence) if weight > 0 else 0.0
            for end, weight in zip((0.0, 1.0), self.evidence_weights(diagram, evidence), strict=True)
        )
        return Line(zero, one - zero)

    def evidence_weights(self, diagram: Diagram, evidence: EvidenceLike | None) -> tuple[float, float]:
        """P(evidence) at 0 and at 1, divided by the larger one; evidence comes before decisions, whatever they do."""
        if evidence is None:
            return 1.0, 1.0
        blind = diagram.with_information(dict.fromkeys(diagram.decisions, ()))
        rules = blind.uniform_strategy()
        logs = [self.changed(blind, end).network(rules).log_probability(evidence) for end in (0.0, 1.0)]
        peak = max(logs)
        return math.exp(logs[0] - peak), math.exp(logs[1] - peak)

    def evidence_line(self, diagram: Diagram, evidence: EvidenceLike | None) -> Line:
        """P(evidence), from its values at 0 and at 1."""
        zero, one = self.evidence_weights(diagram, evidence)
        return Line(zero, one - zero)

    @property
    def limits(self) -> Range:
        """Those of a probability."""
        return 0.0, 1.0

    def best_at_limit(self, asked: Asked, limit: float) -> Solution | None:
        """None where evidence is impossible at 0 or at 1: all lines of strategies meet there, and nowhere else."""
        if asked.diagram.variables[self.parameter.child].num_states == 1:
            return None
        if min(self.evidence_weights(asked.diagram, asked.evidence)) == 0:
            return None
        return asked.solved(self.changed(asked.diagram, limit))

    def scale(self, diagram: Diagram) -> float:
        """1: a probability is compared as it is."""
        return 1.0

    def varied(self, asked: Asked, amount: float) -> Range:
        """To θ (1 ± amount) within [0, 1]; half the way to 0 or 1 where that would make the evidence impossible."""
        current = self.current(asked.diagram)
        low, high = (float(end[0]) for end in varied(np.array([current]), "relative", amount))
        if low > 0 and high < 1:
            return low, high
        at_zero, at_one = self.evidence_weights(asked.diagram, asked.evidence)
        low = current / 2 if low == 0 and at_zero == 0 else low
        return low, (1 + current) / 2 if high == 1 and at_one == 0 else high

    def __str__(self) -> str:
        return str(self.parameter)


#: A number of a diagram that can be given another value.
DiagramNumber: TypeAlias = UtilityEntry | ProbabilityEntry
#: What public functions accept: (utility, states of its parents) or (child, states of its parents, state), the states
#: of the parents as a mapping or in their order; or a `UtilityEntry` or `ProbabilityEntry`.
NumberLike = Any


def read_number(number: NumberLike, diagram: Diagram) -> DiagramNumber:
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


def _utility_entry(number: Sequence[Any], diagram: Diagram) -> UtilityEntry:
    utility = str(number[0])
    scope = diagram.utility_factors[utility].scope
    given = {} if len(number) == 1 else number[1] if len(number) == 2 else number[1:]
    if not isinstance(given, Mapping):
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(scope):
            form = ", ".join(f"{variable.name!r}: ..." for variable in scope)
            raise InvalidArgument(
                f"An entry of the utility {utility!r} is named by a state of each of {[v.name for v in scope]}, "
                f"not by {given!r}: write ({utility!r}, {{{form}}})."
            )
        given = dict(zip((variable.name for variable in scope), given, strict=True))
    for name in given:
        if name not in [variable.name for variable in scope]:
            raise UnknownVariable.named(name, [v.name for v in scope], f"the utility {utility!r}")
    if missing := [variable.name for variable in scope if variable.name not in given]:
        raise InvalidArgument(f"An entry of the utility {utility!r} needs a state of {missing[0]!r}, too.")
    place = tuple(variable.index(given[variable.name]) for variable in scope)
    return UtilityEntry(utility, tuple((v.name, v.states[p]) for v, p in zip(scope, place, strict=True)), place)


def all_numbers(diagram: Diagram) -> Iterator[DiagramNumber]:
    """Every entry of every utility, then of every conditional table, but for certainties, 0 and 1: these are logic."""
    for name, factor in diagram.utility_factors.items():
        for place in np.ndindex(*factor.shape):
            given = tuple((v.name, v.states[p]) for v, p in zip(factor.scope, place, strict=True))
            yield UtilityEntry(name, given, place)
    for cpd in diagram.chance.values():
        if isinstance(cpd, TableCPD):
            factor = cpd.to_factor()
            for place in zip(*np.nonzero((factor.values > 0) & (factor.values < 1)), strict=True):
                yield ProbabilityEntry(Parameter.at(factor.scope, tuple(map(int, place))))


def read_numbers(numbers: Iterable[NumberLike] | None, diagram: Diagram) -> tuple[DiagramNumber, ...]:
    """The numbers that are named, or all that are not certain."""
    return tuple(all_numbers(diagram) if numbers is None else (read_number(number, diagram) for number in numbers))


NumberT = TypeVar("NumberT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class VariationState:
    """How far an analysis is: numbers that were varied, and how many there are."""

    num_done: int
    num_numbers: int


def one_by_one(
    vary: Callable[[NumberT], ResultT],
    numbers: Sequence[NumberT],
    progress: Callable[[VariationState], object] | None = None,
) -> list[ResultT]:
    """What comes of each number, up to where `progress` answers with something true."""
    results = []
    for place, number in enumerate(numbers, start=1):
        results.append(vary(number))
        if progress is not None and progress(VariationState(place, len(numbers))):
            break
    return results
