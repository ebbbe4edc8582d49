"""Whether any response types show what is seen, by how much it is missed otherwise, and what is nearest to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np

from plausible.causal.partial.constraints import Polytope
from plausible.errors import ModelContradicted, NotSupported

__all__ = ["ROUNDING", "Contradictions", "settled", "smallest_violation"]

#: Violations up to this total are rounding.
ROUNDING = 1e-6


class Contradictions(StrEnum):
    """What to do where what is seen contradicts the graph."""

    RAISE = "raise"
    PROJECT = "project"
    #: Refuse what sampling noise does not explain, and move the rest.
    TEST = "test"


def smallest_violation(polytope: Polytope) -> float:
    """The least Σ |A ν - b| over distributions ν of types: zero where the model can show what is seen.

    It is the optimum of the phase-one linear program, with two slacks for each constraint.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    num_rows, num_types = polytope.matrix.shape
    slack = eye_array(num_rows, format="csr")
    spare = csr_array((num_rows, num_rows))
    upper: Any = vstack([hstack([polytope.matrix, -slack]), hstack([-polytope.matrix, -slack])], format="csr")
    whole: Any = hstack([csr_array(np.ones((1, num_types))), spare[:1]], format="csr")
    costs = np.concatenate([np.zeros(num_types), np.ones(num_rows)])
    sides = np.concatenate([polytope.upper, -polytope.lower])
    found = linprog(costs, A_ub=upper, b_ub=sides, A_eq=whole, b_eq=[1.0], method="highs")
    if found.status != 0 or found.fun is None:
        raise NotSupported(
            f"The phase-one program of {list(polytope.district.names)} ended without an answer: {found.message}"
        )
    return max(0.0, float(found.fun))


def settled(
    polytope: Polytope, contradictions: Contradictions, region: Callable[[], Polytope]
) -> tuple[Polytope, float]:
    """A polytope that is not empty, and how far what is seen had to be moved for it.

    Parameters
    ----------
    polytope
        The constraints.
    contradictions
        Whether to raise `ModelContradicted`, or to go on with the nearest that the model can show.
    region
        The constraints with room for sampling noise, for the test of whether this explains what is seen.
    """
    violation = smallest_violation(polytope)
    if violation <= ROUNDING:
        return polytope, 0.0
    if contradictions is Contradictions.RAISE:
        advice = 'if this is sampling noise, ask with contradictions="project" or for a confidence= region'
        raise _contradicted(polytope, violation, "", advice)
    if contradictions is Contradictions.TEST and (beyond := smallest_violation(region())) > ROUNDING:
        advice = 'to go on with the nearest that the graph can show, ask with contradictions="project"'
        raise _contradicted(polytope, beyond, ", nor anything within sampling noise of it", advice)
    return _projected(polytope), violation


def _contradicted(polytope: Polytope, violation: float, reach: str, advice: str) -> ModelContradicted:
    return ModelContradicted(
        f"What is observed contradicts the graph: no distribution of the response types of "
        f"{list(polytope.district.names)} shows it{reach}; the nearest misses it by {violation:.4g} in total. Drop an "
        f"assumption, add a missing edge, or, {advice}.",
        violation,
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
    lower = np.minimum(polytope.lower, sides) if (polytope.lower < polytope.upper).any() else sides
    upper = np.maximum(polytope.upper, sides) if (polytope.lower < polytope.upper).any() else sides
    return replace(polytope, lower=lower, upper=upper, alive=alive)
