"""The base of engines that look for a best assignment: from states to an `Assignment` with value, bound and gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from plausible.base.arrays import Ints
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.engine_mistakes import mistaken_engine
from plausible.inference.info import QueryInfo
from plausible.inference.problem import Problem
from plausible.variables import Assignment, Evidence

#: Values and bounds of log Π φ nearer to each other than this prove that an assignment is a best one: linear programs
#: and sums of thousands of logarithms are not more accurate, so that `PROOF` would ask too much.
PROVED = 1e-9
#: The advice for all engines that end at a product of zero.
_NOTHING_FOUND = (
    "No assignment with a positive product was found. BranchAndBound() finds one, or proves that there is none."
)


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """An assignment that was found, and what is known of better ones."""

    states: Ints  # The position of each variable's state, in the order of the problem
    upper: float  # No assignment has a larger log Π φ (`problem.log_scale` left out); infinite where nothing is known
    info: QueryInfo  # How it was found; `exact` and `error` are filled in from the value and the bound


class Optimizer(ABC):
    """An engine for most probable explanations; subclasses are frozen and hold their options only."""

    __slots__ = ()

    @abstractmethod
    def optimize(self, problem: Problem) -> Optimum:
        """An assignment with a large product."""

    def best(self, factors: Iterable[Factor], evidence: Evidence) -> Assignment:
        """An assignment to all variables of the factors that agrees with the evidence.

        Its `.log_probability` is the logarithm of the product. In its `.info`, `error` is how much larger the
        logarithm of a better one can be (`None` if unknown), and `exact` whether that proves there is none. Where
        only assignments with a product of zero were found, `converged` is false.
        """
        listed = list(factors)
        problem = Problem.of(listed, evidence)
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        found = self.optimize(problem)
        value = float(problem.log_product(found.states[None, :])[0])
        if value == -np.inf:  # no answer
            info = replace(found.info, exact=False, converged=False, error=None, advice=_NOTHING_FOUND)
        else:
            gap = max(0.0, found.upper - value)
            is_proved = gap <= PROVED
            advice = "" if is_proved else found.info.advice
            info = replace(found.info, exact=is_proved, error=gap if gap < np.inf else None, advice=advice)
        everything = {variable.name: variable for factor in listed for variable in factor.scope}
        places = problem.place_of
        states = {
            name: variable.states[evidence.hard[name] if name in evidence.hard else int(found.states[places[name]])]
            for name, variable in everything.items()
        }
        return Assignment(states, log_probability=value + problem.log_scale, info=info)


def check_optimizer(engine: object) -> None:
    """Refuse what does not look for best assignments; `None` will do."""
    if engine is not None and not isinstance(engine, Optimizer):
        raise mistaken_engine(engine, "best assignments")
