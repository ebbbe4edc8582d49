"""Which engine answers: the one asked for, or, for "auto", exact tables where they fit and else a documented choice.

Whether tables fit is asked of the plan, which `explain` shows, before anything is paid:

====================================================== ==================== ==========================================
question                                               tables fit           they don't
====================================================== ==================== ==========================================
query, marginals                                       exact                `BeliefsWithin(budget)`: messages and draws,
                                                                            whose difference tells an error, within
                                                                            mini-bucket bounds for a few targets
log_probability, log_partition                         exact                the same: messages within certain bounds,
                                                                            by mini-buckets as large as the budget
                                                                            allows, trees and mean field
expected_counts                                        exact                as query, the budget shared by the rows
mpe                                                    exact                `BestWithin(budget)`: `GraphCut()` where
                                                                            that is exact, else `BranchAndBound()`,
                                                                            which proves much, and `MaxProduct()`
map                                                    exact                the same, where the sums fit and it proves
                                                                            the answer; else a search with
                                                                            messages, and mini-buckets for a bound
sample                                                 independent rows     `Gibbs()`
====================================================== ==================== ==========================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

from plausible.base import Argument, Remedy
from plausible.errors import InvalidArgument
from plausible.inference.budget import Budget
from plausible.inference.engine_bases import Optimizer
from plausible.inference.engines import Engine
from plausible.inference.sampling.chains import Gibbs

EngineChoice: TypeAlias = Engine | Literal["auto"] | None
OptimizerChoice: TypeAlias = Optimizer | Literal["auto"] | None
MapChoice: TypeAlias = Engine | Optimizer | Literal["auto"] | None

_Some = TypeVar("_Some")

#: For rows.
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
    """
    if isinstance(engine, str) and engine == "auto":
        return None if fits() else otherwise()
    if not (engine is None or budget is None or isinstance(engine, str | type)):
        reason = f" limits exact answers, but {type(engine).__name__} has options of its own for that."
        both = Remedy("leave one of ", Argument("engine"), " and ", Argument("budget"), " out")
        remedies = [both, Remedy("use ", Argument("engine", "auto"))]
        raise InvalidArgument(Argument("budget"), reason, remedies=remedies)
    return engine
