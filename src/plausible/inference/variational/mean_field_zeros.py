"""Where zeros make mean field certain of one state: variables that its blocks keep apart and a factor ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.factors.alignment import scope_text
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field_plan import MeanFieldPlan

__all__ = ["ZeroTie", "tied_by_zeros"]

#: A belief this near to one is certain.
_CERTAIN = 1 - 1e-9


class ZeroTie(NamedTuple):
    """A factor with zeros whose variables are in several blocks.

    Attributes
    ----------
    scope
        Its variables, as text.
    blocks
        The blocks of several variables, so changed that one of them holds the factor.
    """

    scope: str
    blocks: list[list[str]]


def tied_by_zeros(problem: Problem, plan: MeanFieldPlan, beliefs: Floats) -> ZeroTie | None:
    """The first factor with zeros that is across blocks and has a variable, alone in its block, without a choice left.

    Beliefs of independent blocks that rule out each of a factor's zeros rule out whole states, true or not.
    """
    if not len(problem.tables):
        return None
    has_zero = np.minimum.reduceat(problem.tables, problem.table_starts[:-1]) == 0
    owners = {place: number for number, group in enumerate(plan.groups) for place in group.variables}
    certain = {
        place
        for piece, place in enumerate(plan.singles)
        if problem.sizes[place] > 1 and beliefs[plan.starts[piece] : plan.starts[piece + 1]].max() > _CERTAIN
    }
    for factor in np.flatnonzero(has_zero).tolist():
        scope = [int(v) for v in problem.scopes[problem.scope_starts[factor] : problem.scope_starts[factor + 1]]]
        if len({owners.get(place, -1 - place) for place in scope}) > 1 and certain.intersection(scope):
            return ZeroTie(scope_text(problem.factors[factor].scope), _merged(problem, plan, scope))
    return None


def _merged(problem: Problem, plan: MeanFieldPlan, scope: list[int]) -> list[list[str]]:
    """The groups of a plan, those that a scope touches made one with it."""
    apart, together = [], set(scope)
    for group in plan.groups:
        if together.isdisjoint(group.variables):
            apart.append(list(group.variables))
        else:
            together.update(group.variables)
    blocks = [*apart, sorted(together)]
    return [[problem.variables[place].name for place in block if problem.sizes[place] > 1] for block in blocks]
