"""Which engine answers: the one asked for, or, for "auto", exact tables where they fit and else a documented choice.

Whether tables fit is asked of the plan, which `explain` shows, before anything is paid:

====================================================== ==================== ==========================================
question                                               tables fit           they don't
====================================================== ==================== ==========================================
query, marginals, log_probability, log_partition,      exact                `LoopyBP(damping=0.3)`
expected_counts
query for a joint that no factor has                   exact                `Gibbs()`
mpe                                                    exact                `GraphCut()`, exact, for pairs of binary
                                                                            variables that like to agree, else
                                                                            `MaxProduct()`
map                                                    exact                a search with `LoopyBP(damping=0.3)`
sample                                                 independent rows     `Gibbs()`
====================================================== ==================== ==========================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, TypeVar

from plausible.base.remedies import Argument, Remedy
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.engines import Engine
from plausible.inference.optimization.graph_cuts import GraphCut, has_cut
from plausible.inference.optimizer import Optimizer
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_maximum import MaxProduct
from plausible.inference.propagation.belief_propagation import LoopyBP
from plausible.inference.sampling.chains import Gibbs
from plausible.variables import Evidence

EngineChoice: TypeAlias = Engine | Literal["auto"] | None
OptimizerChoice: TypeAlias = Optimizer | Literal["auto"] | None
MapChoice: TypeAlias = Engine | Optimizer | Literal["auto"] | None

_Some = TypeVar("_Some")

#: For beliefs and sums: damped messages settle more often than plain ones, and cost little more.
BELIEFS = LoopyBP(damping=0.3)
#: For best assignments: it has a bound.
BEST = MaxProduct()
#: For rows, and for joints that messages have no belief of.
DRAWS = Gibbs()


def chosen(
    engine: _Some | Literal["auto"] | None,
    budget: Budget | None,
    fits: Callable[[], bool],
    otherwise: Callable[[], _Some],
) -> _Some | None:
    """The engine to ask; `None` for the exact way that a model takes by itself.

    `fits` says whether that is within its budget, and what "auto" stands for where not is `otherwise`. An engine
    that is named has limits of its own, and is refused beside a budget.

    >>> chosen("auto", None, lambda: True, lambda: BELIEFS) is None
    True
    >>> chosen("auto", None, lambda: False, lambda: BELIEFS)
    LoopyBP(schedule='sequential', damping=0.3, tolerance=1e-08, max_steps=1000)
    """
    if isinstance(engine, str) and engine == "auto":
        return None if fits() else otherwise()
    if not (engine is None or budget is None or isinstance(engine, str | type)):
        reason = f" limits exact answers, but {type(engine).__name__} has options of its own for that."
        both = Remedy("leave one of ", Argument("engine"), " and ", Argument("budget"), " out")
        remedies = [both, Remedy("use ", Argument("engine", "auto"))]
        raise InvalidArgument(Argument("budget"), reason, remedies=remedies)
    return engine


def best_about(factors: Iterable[Factor], evidence: Evidence) -> Optimizer:
    """The choice for best assignments: a cut where that is exact, which takes a look at each factor to know.

    >>> agree, differ = Factor({"A": 2, "B": 2}, [[2, 1], [1, 2]]), Factor({"A": 2, "B": 2}, [[1, 2], [2, 1]])
    >>> [type(best_about([factor], Evidence({}, {}, {}))).__name__ for factor in (agree, differ)]
    ['GraphCut', 'MaxProduct']
    """
    return GraphCut() if has_cut(Problem.of(factors, evidence)) else BEST


def beliefs_about(names: Iterable[str], scopes: Iterable[Iterable[str]]) -> Engine:
    """The choice for a joint of free variables: messages, where the scope of a factor has them all.

    >>> type(beliefs_about(["A", "B"], ["AB", "BC"])).__name__, type(beliefs_about(["A", "C"], ["AB", "BC"])).__name__
    ('LoopyBP', 'Gibbs')
    """
    asked = set(names)
    return BELIEFS if len(asked) <= 1 or any(asked.issubset(scope) for scope in scopes) else DRAWS
