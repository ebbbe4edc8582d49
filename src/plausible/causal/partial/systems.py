"""The districts of a graph with the constraints on their types: with room for noise, or moved where none fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from plausible.base import Argument, Floats, Remedy
from plausible.causal.partial.district import (
    WHOLE,
    District,
    LevelRows,
    Observed,
    Polytope,
    assembled,
    build_district,
    conditional,
    ordered_members,
    polytope,
    scope_of,
)
from plausible.causal.partial.linear_query import TypeAssumption
from plausible.errors import InvalidArgument, ModelContradicted, NotSupported
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node

_PROJECT = Argument("contradictions", "project")


def binomial_interval(successes: Floats, trials: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Clopper & Pearson's interval for a probability, which covers it with probability 1 - alpha or more."""
    from scipy.special import betaincinv

    failures = trials - successes
    low, high = np.zeros_like(successes), np.ones_like(successes)
    some, not_all = successes > 0, failures > 0
    low[some] = betaincinv(successes[some], failures[some] + 1.0, alpha / 2.0)
    high[not_all] = betaincinv(successes[not_all] + 1.0, failures[not_all], 1.0 - alpha / 2.0)
    return low, high


def confidence_polytope(graph: CausalGraph, district: District, observed: Observed, level: float) -> Polytope:
    """The types that show, in each cell, a probability within its interval.

    The intervals hold all at once with probability `level` or more (Clopper & Pearson, with Bonferroni's correction).
    Where the outside parents are no effects of members, the cells are those of P(members | outside), else the products
    of the intervals of each member's conditional.
    """
    if not observed.is_sample:
        raise InvalidArgument("confidence= allows for sampling noise, which a distribution has not; give data.")
    if not 0.0 < level < 1.0:
        raise InvalidArgument(f"confidence= is a probability such as 0.95, not {level!r}.")
    outside = {variable.name for variable in district.outside}
    if outside.isdisjoint(graph.descendants(district.names)):
        names = [*(variable.name for variable in district.outside), *district.names]
        counts = observed.tables(names).reshape(math.prod(v.num_states for v in district.outside), -1)
        return assembled(district, [WHOLE, (len(district.names), None, *joint_intervals(counts, level))])
    scopes = [scope_of(graph, district, place) for place in range(len(district.names))]
    tables = [observed.tables(names) for names in scopes]
    share = (1.0 - level) / sum(_num_intervals(table) for table in tables)
    rows: list[LevelRows] = [WHOLE]
    low = high = np.ones([variable.num_states for variable in district.outside])
    for place, (names, table) in enumerate(zip(scopes, tables, strict=True)):
        below, above = (district.spread(side, names, place) for side in _cells(table, share))
        low, high = low[..., None] * below, high[..., None] * above
        rows.append((place + 1, None, low, high))
    return assembled(district, rows)


def joint_intervals(counts: Floats, level: float) -> tuple[Floats, Floats]:
    """Intervals of P(cell | row) that hold all at once with probability `level` or more."""
    return _cells(counts, (1.0 - level) / _num_intervals(counts))


def _cells(counts: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Intervals of P(last | others) for each cell."""
    return binomial_interval(counts, np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape), alpha)


def _num_intervals(counts: Floats) -> int:
    """How many different intervals rows of counts have: of two cells, one interval is the other's mirror image."""
    num_rows, num_cells = int(np.count_nonzero(counts.sum(axis=-1))), int(counts.shape[-1])
    return max(1, num_rows * (num_cells if num_cells > 2 else num_cells - 1))


#: Violations up to this total, and ends that are closer, are rounding: HiGHS solves linear programs to 1e-7.
ROUNDING = 1e-6


class Contradictions(StrEnum):
    """What to do where what is seen contradicts the graph."""

    RAISE = "raise"
    PROJECT = "project"
    #: Refuse what sampling noise does not explain, and move the rest.
    TEST = "test"


def smallest_violation(polytope: Polytope) -> float:
    """The least Σ |A ν - b| over distributions ν of types: zero where the model can show what is seen."""
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    num_rows, num_types = polytope.matrix.shape
    slack = eye_array(num_rows, format="csr")
    spare = csr_array((num_rows, num_rows))
    upper: Any = vstack([hstack([polytope.matrix, -slack]), hstack([-polytope.matrix, -slack])], format="csr")
    whole: Any = hstack([csr_array(np.ones((1, num_types))), spare[:1]], format="csr")
    costs = np.concatenate([np.zeros(num_types), np.ones(num_rows)])
    sides = np.concatenate([polytope.upper, -polytope.lower])
    return least_total(f"phase-one program of {list(polytope.district.names)}", costs, (upper, sides), (whole, [1.0]))


def least_total(name: str, costs: Floats, upper: tuple[Any, Any], equal: tuple[Any, Any]) -> float:
    """The least total of slacks, which is not negative; rows are at most, or equal to, their sides."""
    from scipy.optimize import linprog

    found = linprog(costs, A_ub=upper[0], b_ub=upper[1], A_eq=equal[0], b_eq=equal[1], method="highs")
    if found.status != 0 or found.fun is None:
        raise NotSupported(f"The {name} ended without an answer: {found.message}")
    return max(0.0, float(found.fun))


def settled(
    polytope: Polytope, contradictions: Contradictions, region: Callable[[], Polytope]
) -> tuple[Polytope, float]:
    """A polytope that is not empty, and how far what is seen had to be moved for it."""
    violation = smallest_violation(polytope)
    if violation <= ROUNDING:
        return polytope, 0.0
    if contradictions is Contradictions.RAISE:
        noise = Remedy(
            "if this is sampling noise, ask with ", _PROJECT, " or for a ", Argument("confidence"), " region"
        )
        raise _contradicted(polytope, violation, "", noise)
    if contradictions is Contradictions.TEST and (beyond := smallest_violation(region())) > ROUNDING:
        nearest = Remedy("to go on with the nearest that the graph can show, ask with ", _PROJECT)
        raise _contradicted(polytope, beyond, ", nor anything within sampling noise of it", nearest)
    return _projected(polytope), violation


def _contradicted(polytope: Polytope, violation: float, reach: str, remedy: Remedy) -> ModelContradicted:
    return ModelContradicted(
        f"What is observed contradicts the graph: no distribution of the response types of "
        f"{list(polytope.district.names)} shows it{reach}; the nearest misses it by {violation:.4g} in total.",
        violation,
        remedies=[Remedy("drop an assumption"), Remedy("add a missing edge"), remedy],
    )


def _projected(polytope: Polytope) -> Polytope:
    """The same rows with the sides that are nearest in squares; these are unique."""
    from scipy.optimize import nnls

    matrix = polytope.matrix.toarray()
    middle = (polytope.lower + polytope.upper) / 2.0
    # That types sum to one is a constraint that must hold; the others may give way.
    heavy = 1e4
    system = np.vstack([matrix, np.full((1, matrix.shape[1]), heavy)])
    types, _ = nnls(system, np.append(middle, heavy))
    types /= types.sum()
    sides = matrix @ types
    alive = np.flatnonzero(matrix[sides <= 0.0].sum(axis=0) == 0)
    if not (polytope.lower < polytope.upper).any():
        return replace(polytope, lower=sides, upper=sides, alive=alive)
    lower, upper = np.minimum(polytope.lower, sides), np.maximum(polytope.upper, sides)
    return replace(polytope, lower=lower, upper=upper, alive=alive)


Members = tuple[Node, ...]

#: At this level data contradict a graph, where no other was asked for.
_TEST_LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Systems:
    """A causal graph over observed variables, and what is assumed of it."""

    graph: CausalGraph  # The causal graph.
    observed: Observed  # What is seen of it.
    assumptions: tuple[TypeAssumption, ...]  # Which response types do not occur.
    contradictions: Contradictions  # What to do where no types show what is seen.
    # The level at which sampling noise is allowed for; `None` where what is seen is taken as it is.
    confidence: float | None = None
    latent: tuple[Node, ...] = ()  # What is not observed and was projected out of the graph.
    _polytopes: dict[Members, Polytope] = field(default_factory=dict)
    _violations: dict[Members, float] = field(default_factory=dict)
    _conditionals: dict[str, Floats | None] = field(default_factory=dict)

    def members(self, node: Node) -> Members:
        """The district of a node, causes first; it names the district."""
        return ordered_members(self.graph, node)

    def polytope(self, members: Members) -> Polytope:
        """The constraints on a district's types; they have a solution."""
        if members not in self._polytopes:
            district = build_district(self.graph, members, self.observed, self.assumptions)

            def region() -> Polytope:
                return confidence_polytope(self.graph, district, self.observed, self.confidence or _TEST_LEVEL)

            found = polytope(self.graph, district, self.observed) if self.confidence is None else region()
            self._polytopes[members], self._violations[members] = settled(found, self.contradictions, region)
        return self._polytopes[members]

    def violation(self, members: Sequence[Members]) -> float:
        """By how much, in total, what is seen missed what these districts can show."""
        return sum(self._violations.get(one, 0.0) for one in members)

    def own_conditionals(self, names: Sequence[str]) -> dict[str, Floats]:
        """P(x | pa), a row for each assignment, of those without latent causes for which it is that simple."""
        new = [name for name in names if name not in self._conditionals]
        assumed = {assumption.variable for assumption in self.assumptions}
        families = {
            name: [self.observed.variable(node).name for node in (*self.graph.parents(name), name)]
            for name in new
            if self.confidence is None and not self.graph.siblings(name) and name not in assumed
        }
        joints = dict(zip(families, self.observed.joint_tables(list(families.values())), strict=True))
        for name in new:
            table = conditional(joints[name]) if name in joints else None
            is_known = table is not None and not np.isnan(table).any()
            self._conditionals[name] = table.reshape(-1, table.shape[-1]) if table is not None and is_known else None
        return {name: table for name in names if (table := self._conditionals[name]) is not None}
