"""A diagram on arrays: numbered variables, tables of probabilities and of utilities, and what each decision uses."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.cpds import CPD, TableCPD
from plausible.decisions.rounding import rounding_of
from plausible.factors import Factor
from plausible.factors.alignment import check_size
from plausible.models.lowering import lower
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Floats", "Ints", "Problem", "Tabled", "read_problem"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
#: The numbers of the variables of a table, and the table: axis i runs over the states of the i-th of them.
Tabled: TypeAlias = tuple[tuple[int, ...], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What there is to solve.

    Attributes
    ----------
    variables
        Chance variables and decisions in a topological order, then auxiliary variables of compact distributions.
    probabilities, utilities
        Tables whose product is the distribution (decisions given), evidence first, and those whose sum is the utility.
    families
        Decision -> the numbers of what its rule depends on, and last its own.
    is_conditioned
        Whether there is evidence among the probabilities: they do not sum to one then.
    num_auxiliary
        How many auxiliary variables there are.
    """

    variables: tuple[Variable, ...]
    probabilities: tuple[Tabled, ...]
    utilities: tuple[Tabled, ...]
    families: Mapping[str, tuple[int, ...]]
    is_conditioned: bool
    num_auxiliary: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of states of each variable."""
        return tuple(variable.num_states for variable in self.variables)

    @property
    def rounding(self) -> float:
        """What floats lose of expected utilities: see `plausible.decisions.rounding`."""
        return rounding_of(table for _, table in self.utilities)

    def family_shape(self, decision: str) -> tuple[int, ...]:
        """The shape of the rule of a decision."""
        return tuple(self.variables[number].num_states for number in self.families[decision])

    def log_num_rules(self, decision: str) -> float:
        """The logarithm of how many deterministic rules a decision has."""
        *seen, actions = self.family_shape(decision)
        return math.prod(map(float, seen)) * math.log(actions)

    def uniform_rules(self) -> dict[str, Floats]:
        """Every action as likely as any other."""
        for name, family in self.families.items():
            check_size([self.variables[number] for number in family], f"The rule of {name!r}")
        shapes = {name: self.family_shape(name) for name in self.families}
        return {name: np.full(shape, 1.0 / shape[-1]) for name, shape in shapes.items()}


def read_problem(
    diagram: InfluenceDiagram,
    findings: Mapping[str, Floats],
    information: Mapping[str, Iterable[str]] | None = None,
    relevant: Container[str] | None = None,
) -> Problem:
    """The diagram on arrays.

    Parameters
    ----------
    diagram
        The influence diagram.
    findings
        Name -> weight of each state: see `read_findings`.
    information
        Decision -> what its rule depends on; by default all that it sees.
    relevant
        The chance variables to take in; by default all. The others must be barren.

    Examples
    --------
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> rain, umbrella = TableCPD("rain", [0.75, 0.25]), Decision("umbrella", 2, sees=["rain"])
    >>> problem = read_problem(InfluenceDiagram([rain], [umbrella], [Utility("umbrella", [0, -1])]), {})
    >>> problem.probabilities, dict(problem.families)
    ((((0,), array([0.75, 0.25])),), {'umbrella': (0, 1)})
    """
    cpds = {name: cpd for name, cpd in diagram.chance.items() if relevant is None or name in relevant}
    in_time = [str(node) for node in diagram.graph.topological_order if node in cpds or node in diagram.decisions]
    factors = _compact_factors(diagram, cpds.values())
    variables = {name: diagram.variables[name] for name in in_time}
    variables |= {v.name: v for factor in factors for v in factor.scope if v.name not in variables}
    number = {name: place for place, name in enumerate(variables)}

    def numbered(names: Iterable[str]) -> tuple[int, ...]:
        return tuple([number[name] for name in names])

    known = (
        {name: decision.sees for name, decision in diagram.decisions.items()} if information is None else information
    )
    tables = [cpd for cpd in cpds.values() if isinstance(cpd, TableCPD)]
    return Problem(
        variables=tuple(variables.values()),
        probabilities=(
            *((numbered((name,)), vector) for name, vector in findings.items()),
            *((numbered((*cpd.parent_names, cpd.variable.name)), cpd.values) for cpd in tables),
            *((numbered(factor.names), factor.values) for factor in factors),
        ),
        utilities=tuple((numbered(factor.names), factor.values) for factor in diagram.utility_factors.values()),
        families={name: numbered((*known[name], name)) for name in diagram.decisions},
        is_conditioned=bool(findings),
        num_auxiliary=len(variables) - len(in_time),
    )


def _compact_factors(diagram: InfluenceDiagram, cpds: Iterable[CPD]) -> Sequence[Factor]:
    """The distributions that are no tables, taken apart."""
    compact = [cpd for cpd in cpds if not isinstance(cpd, TableCPD)]
    return lower(compact, (*diagram.variables, *diagram.utilities), {}).factors if compact else ()
