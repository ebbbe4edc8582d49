"""The numbers of a diagram by what people call them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.cpds import TableCPD
from plausible.decisions.sensitivity.numbers import ProbabilityEntry, UtilityEntry
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.inference.sensitivity_parameters import Parameter

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["NumberLike", "all_numbers", "read_number", "read_numbers"]

#: What public functions accept: (utility, states of its parents) or (child, states of its parents, state), the states
#: of the parents as a mapping or in their order; or a `UtilityEntry` or `ProbabilityEntry`.
NumberLike = Any


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


def all_numbers(diagram: InfluenceDiagram) -> Iterator[UtilityEntry | ProbabilityEntry]:
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


def read_numbers(
    numbers: Iterable[NumberLike] | None, diagram: InfluenceDiagram
) -> tuple[UtilityEntry | ProbabilityEntry, ...]:
    """The numbers that are named, or all that are not certain."""
    return tuple(all_numbers(diagram) if numbers is None else (read_number(number, diagram) for number in numbers))
