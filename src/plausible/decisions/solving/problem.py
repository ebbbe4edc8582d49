"""A diagram on arrays: numbered variables, tables of probabilities and of utilities, and what each decision uses."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.cpds import TableCPD
from plausible.errors import InvalidEvidence, NotSupported
from plausible.models.lowering import lower
from plausible.variables import Evidence, Variable
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Floats", "Ints", "Problem", "Tabled", "read_findings", "read_problem"]

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
        Chance variables, decisions, and auxiliary variables of compact distributions, by number.
    probabilities, utilities
        Tables whose product is the distribution (decisions given), evidence first, and those whose sum is the utility.
    families
        Decision -> the numbers of what its rule depends on, and last its own.
    is_conditioned
        Whether there is evidence among the probabilities: they do not sum to one then.
    """

    variables: tuple[Variable, ...]
    probabilities: tuple[Tabled, ...]
    utilities: tuple[Tabled, ...]
    families: Mapping[str, tuple[int, ...]]
    is_conditioned: bool

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of states of each variable."""
        return tuple(variable.num_states for variable in self.variables)

    def family_shape(self, decision: str) -> tuple[int, ...]:
        """The shape of the rule of a decision."""
        return tuple(self.variables[number].num_states for number in self.families[decision])

    def log_num_rules(self, decision: str) -> float:
        """The logarithm of how many deterministic rules a decision has."""
        *seen, actions = self.family_shape(decision)
        return math.prod(map(float, seen)) * math.log(actions)

    def uniform_rules(self) -> dict[str, Floats]:
        """Every action as likely as any other."""
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
    """
    cpds = {name: cpd for name, cpd in diagram.chance.items() if relevant is None or name in relevant}
    variables = {name: diagram.variables[name] for name in (*cpds, *diagram.decisions)}
    compact = [cpd for cpd in cpds.values() if not isinstance(cpd, TableCPD)]  # to be taken apart
    factors = lower(compact, (*diagram.variables, *diagram.utilities), {}).factors if compact else ()
    for factor in factors:
        variables.update((variable.name, variable) for variable in factor.scope if variable.name not in variables)
    number = {name: place for place, name in enumerate(variables)}

    def tabled(names: Iterable[str], values: Floats) -> Tabled:
        return tuple([number[name] for name in names]), values

    tables = [cpd for cpd in cpds.values() if isinstance(cpd, TableCPD)]
    used = {name: decision.sees for name, decision in diagram.decisions.items()} if information is None else information
    return Problem(
        variables=tuple(variables.values()),
        probabilities=(
            *(tabled((name,), vector) for name, vector in findings.items()),
            *(tabled((*cpd.parent_names, cpd.variable.name), cpd.values) for cpd in tables),
            *(tabled(factor.names, factor.values) for factor in factors),
        ),
        utilities=tuple(tabled(factor.names, factor.values) for factor in diagram.utility_factors.values()),
        families={name: (*(number[seen] for seen in used[name]), number[name]) for name in diagram.decisions},
        is_conditioned=bool(findings),
    )


def read_findings(diagram: InfluenceDiagram, evidence: EvidenceLike | None) -> dict[str, Floats]:
    """Name -> weight of each state, for evidence that is there before any decision is made."""
    if evidence is None:
        return {}
    found = Evidence.read(evidence, diagram.variables, "this diagram")
    if found.jeffrey:
        raise NotSupported(f"A diagram is solved given states or likelihoods, not jeffrey(): {sorted(found.jeffrey)}.")
    for name in found.names:
        if name in diagram.decisions:
            raise InvalidEvidence(
                f"{name!r} is a decision: no evidence is possible before it is made. To fix an action, give the "
                "decision a single state, or ask expected_utility(strategy)."
            )
        if causes := [decision for decision in diagram.decisions if name in diagram.graph.descendants(decision)]:
            raise InvalidEvidence(
                f"{name!r} depends on the decision {causes[0]!r}, so it can't be known before all decisions. Let the "
                "decisions that come after it see it."
            )
    vectors = dict(found.soft)
    for name, state in found.hard.items():
        vectors[name] = np.eye(diagram.variables[name].num_states)[state]
    return vectors
