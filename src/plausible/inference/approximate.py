"""The base of approximate engines: from beliefs about groups of variables to the answers that all engines give."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from plausible.base import Floats, QueryInfo
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.engine_bases import IterativeEngine
from plausible.inference.engines import check_known
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What an engine believes of groups of variables."""

    tables: tuple[Floats, ...]  # for each group an array with an axis for each of its variables; it sums to one
    info: QueryInfo  # how they were got; its `error` is that of the worst number


class FactorEngine(ABC):
    """An approximate engine that answers from factors; subclasses are frozen and hold their options only."""

    __slots__ = ()

    #: Whether answers are made of draws: wanted beliefs are then met on tables of them.
    is_noisy = False

    @abstractmethod
    def _joints(
        self, factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        """`joints` for variables that are known."""

    @abstractmethod
    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> Estimate:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""

    def query(self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence), with a `QueryInfo` that says what it is worth."""
        return self.joints(factors, [targets], evidence)[0]

    def marginals(
        self, factors: Iterable[Factor], variables: Iterable[Variable], evidence: Evidence
    ) -> dict[str, Factor]:
        """P(X | evidence) of each of the variables, from one run."""
        alone = [(variable,) for variable in variables]
        return {joint.names[0]: joint for joint in self.joints(factors, alone, evidence)}

    def joints(
        self, factors: Iterable[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        """P(group | evidence) of each group of variables, from one run."""
        listed = list(factors)
        check_known(listed, [variable for group in groups for variable in group], evidence)
        return self._joints(listed, groups, evidence)


class ApproximateEngine(FactorEngine):
    """An engine that answers from one run on a `Problem`."""

    __slots__ = ()

    @abstractmethod
    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group of variables, given by their places in the problem.

        Raises `ImpossibleEvidence` where the product is found to be zero, and `NotSupported` for a group that the
        method has no joint belief of.
        """

    @abstractmethod
    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ, `problem.log_scale` included; -inf where the product is found to be zero."""

    def _joints(
        self, factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        problem = Problem.of(factors, evidence)
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        free = [[variable for variable in group if variable.name not in evidence.hard] for group in groups]
        places = problem.place_of
        asked = [tuple(places[variable.name] for variable in group) for group in free if group]
        beliefs = self.beliefs(problem, asked)
        tables = iter(beliefs.tables)
        return [
            with_observed(group, evidence, Factor(some, next(tables) if some else 1.0)).with_info(beliefs.info)
            for group, some in zip(groups, free, strict=True)
        ]

    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> Estimate:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""
        problem = Problem.of(factors, evidence)
        if problem.is_impossible:
            return Estimate.within(-math.inf, QueryInfo("a factor that is zero"))
        return self.estimate(problem)


class ResumableEngine(IterativeEngine[StateT], ApproximateEngine):
    """An engine that goes step by step, and whose state, at any time of a run, has an answer.

    >>> from plausible.inference.propagation.belief_propagation import LoopyBP
    >>> ring = [Factor({a: 2, b: 2}, [[3, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
    >>> problem, engine = Problem.of(ring, Evidence.read({}, {})), LoopyBP()
    >>> begun = engine.step(problem, engine.init(problem))
    >>> run = engine.run(problem, begun)
    >>> [engine.marginals_of(problem, state)["A"].info.converged for state in (begun, run.state)], run.converged
    ([False, True], True)
    """

    __slots__ = ()

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The belief about each group of variables at the end of a run."""
        return self.beliefs_from(problem, self.run(problem).state, groups)

    @abstractmethod
    def beliefs_from(self, problem: Problem, state: StateT, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """`beliefs`, as a state of a run on the problem has them."""

    def marginals_of(self, problem: Problem, state: StateT) -> dict[str, Factor]:
        """P(X | evidence) of each variable of the problem, as a state has it; `.info` says what that is worth."""
        found = self.beliefs_from(problem, state, [(place,) for place in range(len(problem.variables))])
        return {
            variable.name: Factor((variable,), table).with_info(found.info)
            for variable, table in zip(problem.variables, found.tables, strict=True)
        }


def with_observed(group: Sequence[Variable], evidence: Evidence, belief: Factor) -> Factor:
    """The belief with observed variables put in, all their probability in one state, in the order of the group."""
    for variable in group:
        if variable.name in evidence.hard:
            belief = belief * Factor.indicator(variable, variable.states[evidence.hard[variable.name]])
    return belief.reorder([variable.name for variable in group])
