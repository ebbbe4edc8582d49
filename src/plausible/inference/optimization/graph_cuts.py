"""Most probable explanations by minimum cuts: exact where pairs of binary variables like to agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors.alignment import scope_text
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.pairwise_energy import (
    ROUNDING,
    PairwiseEnergy,
    minimize_binary,
    submodularity_excess,
)
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem


@dataclass(frozen=True, slots=True)
class GraphCut(Optimizer):
    """Find the best assignment of binary variables exactly by a minimum cut, if pairwise factors favour agreement.

    With energies E = -log φ, every pair must satisfy E(0,0) + E(1,1) ≤ E(0,1) + E(1,0); factors over the same pair are
    multiplied first. The best assignment is then a minimum cut of a network with a node for each variable (Greig,
    Porteous & Seheult 1989; Kolmogorov & Zabih 2004; Koller & Friedman 2009, §13.6), and the maximum flow proves it
    optimal. Factors may have zeros. A grid of 200 x 200 pixels takes a fraction of a second.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> agree = [[3.0, 1.0], [1.0, 3.0]]
    >>> factors = [Factor({"A": 2}, [1.0, 4.0]), Factor({"A": 2, "B": 2}, agree), Factor({"B": 2}, [2.0, 1.0])]
    >>> best = GraphCut().best(factors, Evidence.read({}, {}))
    >>> best, best.info.exact
    (Assignment(A=1, B=1), True)
    """

    def optimize(self, problem: Problem) -> Optimum:
        """A minimum cut; refuses more than two states, more than two variables in a factor, and pairs that repel."""
        energy = PairwiseEnergy.of(problem, "A graph cut")
        if energy.num_labels > 2:
            variable = problem.variables[energy.places[0]]
            raise NotSupported(
                f"A graph cut needs binary variables, but {variable.name!r} has {variable.num_states} states. "
                "AlphaExpansion() and AlphaBetaSwap() take several labels."
            )
        info = QueryInfo("graph cut", exact=False)
        if energy.num_labels < 2:
            return Optimum(energy.states(problem, np.empty(0, dtype=np.int64)), 0.0, info)
        _check_submodular(problem, energy)
        found = minimize_binary(energy.unary, energy.pairs, energy.pairwise)
        value = energy.value(found.labels)
        if value == np.inf:
            raise ImpossibleEvidence.outright()
        return Optimum(energy.states(problem, found.labels), found.gap - value, info)


def has_cut(problem: Problem) -> bool:
    """Whether `GraphCut` takes a problem: pairs of binary variables that like to agree, or nothing to choose.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> differ = Factor({"A": 2, "B": 2}, [[1.0, 2.0], [2.0, 1.0]])
    >>> has_cut(Problem.of([differ], Evidence.read({}, {})))
    False
    """
    if problem.is_impossible or problem.sizes.max(initial=1) > 2:
        return False
    try:
        energy = PairwiseEnergy.of(problem, "A graph cut")
    except NotSupported:
        return False
    return energy.num_labels < 2 or not (submodularity_excess(energy.pairwise) > ROUNDING).any()


def _check_submodular(problem: Problem, energy: PairwiseEnergy) -> None:
    excess = submodularity_excess(energy.pairwise)
    for pair in np.flatnonzero(excess > ROUNDING)[:1]:
        scope = scope_text(problem.factors[energy.sources[pair]].scope)
        raise NotSupported(
            f"The factor over {scope} is not submodular: with E = -log φ, E(0,0) + E(1,1) exceeds E(0,1) + E(1,0) by "
            f"{excess[pair]:.4g}, so its variables like to differ and no cut stands for it. Renaming the states of one "
            "of them can help; DualDecomposition() and LinearRelaxation() take any factors."
        )
