"""A search for best assignments in stages: small tables that bound loosely first, larger ones while it stays open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from plausible.base.remedies import Remedy
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import table_shape, union_scope, wide
from plausible.inference.budget import refusal
from plausible.inference.exact_map.bound_plan import BoundPlan, TimeUpError, plan_bound
from plausible.inference.exact_map.bounds import LogTable, bound_tree
from plausible.inference.exact_map.search import SearchProgress, SearchResult, branch_and_bound
from plausible.inference.info import QueryInfo
from plausible.search.clock import UNLIMITED, Clock
from plausible.variables import Variable

#: The stages of a search: entries that a table may have, and nodes after which larger tables bound more tightly.
_STAGES = ((2**10, 500.0), (2**14, 100.0), (2**18, 1000.0))

#: A stage is left out if hidden variables make one of its tables so many times larger than it wants them; if it is the
#: last one the question is refused.
_EXCESS = 4


@dataclass(frozen=True, slots=True)
class StagedSearch:
    """What a search found, and how it was got."""

    #: (logarithm of the value, name -> position of the state) of the best assignments, best first; those with a
    #: positive value only.
    best: tuple[tuple[float, Mapping[str, int]], ...]
    log_bound: float  # No assignment has a larger value
    num_nodes: int  # The partial assignments that were looked at
    info: QueryInfo  # The engine and the cost; `exact` is false where the time ran out


def search_in_stages(
    log_factors: Sequence[Factor],
    targets: Sequence[Variable],
    *,
    num_best: int = 1,
    max_entries: int,
    clock: Clock = UNLIMITED,
    is_patient: bool = True,
    progress: Callable[[SearchProgress], None] | None = None,
) -> StagedSearch:
    """The best assignments to the targets, all else summed out; a search that stays open goes on with larger tables."""
    variables = wide(union_scope(factor.scope for factor in log_factors))
    numbers = {variable.name: number for number, variable in enumerate(variables)}
    sizes = [variable.num_states for variable in variables]
    chosen = [variable.name for variable in targets if variable.name in numbers]
    maximized = [numbers[name] for name in chosen]
    tables = [
        LogTable(tuple(numbers[v.name] for v in wide(factor.scope)), factor.flat.reshape(table_shape(factor.scope)))
        for factor in log_factors
    ]
    found: SearchResult | None = None
    num_nodes = cost = largest = 0
    for limit, max_nodes in (*(stage for stage in _STAGES if stage[0] < max_entries), (max_entries, math.inf)):
        patience = UNLIMITED if is_patient and not (found and found.best) else clock
        try:
            plan = plan_bound([table.axes for table in tables], sizes, maximized, limit, patience)
        except TimeUpError:
            break
        if plan.num_largest > max(_EXCESS * limit, *(table.values.size for table in tables)):
            if limit < max_entries:
                continue
            raise _too_large(plan, variables, max_entries)
        try:
            tree = bound_tree(tables, plan, sizes, maximized, patience)
        except TimeUpError:
            break
        found = branch_and_bound(
            tree,
            num_best=num_best,
            start=found,
            max_nodes=max_nodes,
            clock=clock,
            is_patient=is_patient,
            progress=progress,
        )
        num_nodes += found.progress.num_nodes
        cost += found.progress.num_nodes * tree.num_entries
        largest = max(largest, plan.num_largest)
        if found.is_finished or ((found.best or not is_patient) and clock.is_over):
            break
    if found is None or not (found.best or found.is_finished):
        raise TimeUpError
    state, is_exact = found.progress, found.is_finished
    info = QueryInfo("branch and bound", is_exact, is_exact, state.log_bound - state.log_value, cost, largest)
    best = [(value, {name: states[numbers[name]] for name in chosen}) for value, states in found.best]
    return StagedSearch(tuple(best), state.log_bound, num_nodes, info)


def _too_large(plan: BoundPlan, variables: Sequence[Variable], max_entries: int) -> TooLarge:
    """Why a plan is refused before any table is built: copies of targets can't split hidden variables."""
    shown = [variables[number].name for number in sorted(plan.largest)]
    names = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    return refusal(
        f"Summing out what is not asked for needs a table over {len(plan.largest)} variables ({names}) with "
        f"{plan.num_largest:.3g} entries ({plan.num_largest * 8 / 2**30:.3g} GiB), too many for "
        f"max_entries={max_entries}; without it no answer has a value, so that no time_limit= brings a first one. With "
        f"memory for several such tables, max_entries=2**{(plan.num_largest - 1).bit_length()} would do.",
        remedies=[Remedy("ask for more variables"), Remedy("give more evidence")],
    )
