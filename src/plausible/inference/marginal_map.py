"""Marginal MAP: the most probable states of some variables, all others summed out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal, TypeAlias, get_args

from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import table_shape, union_scope, wide
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.info import QueryInfo
from plausible.inference.map_bounds import LogTable, bound_tree
from plausible.inference.map_orders import constrained_order
from plausible.inference.map_plan import BoundPlan, plan_bound
from plausible.inference.map_search import SearchProgress, SearchResult, branch_and_bound
from plausible.inference.max_elimination import max_tables, read_log_factors
from plausible.variables import Assignment, Evidence, Variable

__all__ = ["MapMethod", "MarginalMap", "marginal_map"]

#: How a marginal MAP is found.
MapMethod: TypeAlias = Literal["auto", "elimination", "search"]

#: The stages of a search: entries that a table may have, and nodes after which larger tables bound more tightly.
_STAGES = ((2**14, 100.0), (2**18, 1000.0))

#: A stage is left out if hidden variables make one of its tables so many times larger than it wants them.
_EXCESS = 4

_Progress: TypeAlias = Callable[[SearchProgress], None]


@dataclass(frozen=True, slots=True)
class MarginalMap:
    """The answer to a marginal MAP question, and what is known about it.

    Attributes
    ----------
    assignment
        The states of the targets; its `log_probability` is `log_value`.
    log_value
        log Σ Π φ over all assignments that agree with it and with the evidence.
    log_bound
        No other states of the targets have a larger value; equal to `log_value` if the answer is exact.
    num_nodes
        The partial assignments that were looked at; zero where elimination was enough.
    info
        The engine and the cost; `exact` is false where the time ran out.
    """

    assignment: Assignment
    log_value: float
    log_bound: float
    num_nodes: int
    info: QueryInfo

    @property
    def gap(self) -> float:
        """How much better, as a logarithm, another answer might be; zero if the answer is exact."""
        return self.log_bound - self.log_value


def marginal_map(
    factors: Iterable[Factor],
    targets: Sequence[Variable],
    evidence: Evidence,
    *,
    method: MapMethod = "auto",
    max_entries: int = 2**22,
    time_limit: float | None = None,
    progress: _Progress | None = None,
) -> MarginalMap:
    """argmax over the targets m of Σ_h Π φ(m, h, e), exactly.

    Parts of the model that the evidence separates are answered one by one. Where the tables of an order that sums
    before it maximises fit, elimination answers; else branch and bound does (Park & Darwiche 2003), with bounds from
    tables that fit, at first small ones, then larger ones as long as the question stays open.

    Parameters
    ----------
    factors
        Factors without negative entries.
    targets
        The variables of the answer, in its order; they may be observed, and there may be none.
    evidence
        States and soft findings.
    method
        `"elimination"` or `"search"` to have no choice made.
    max_entries
        The entries that the tables of an elimination may have together, and that one table of a search may have.
    time_limit
        Seconds after which the best answer so far is returned, with `log_bound` above `log_value`. It is looked at
        between the nodes of a search, once there is an answer to return.
    progress
        Called now and then with how far the search is, in the part of the model that is being searched.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment with a positive product agrees with the evidence.
    TooLarge
        Where the tables that sum out the other variables don't fit.

    Notes
    -----
    Deciding whether a value is exceeded is complete for NP^PP, so some questions take forever: give a time limit. Of
    equally good answers (up to rounding) the first one found is returned, always the same for the same input.

    Examples
    --------
    >>> coin = Factor({"coin": ["fair", "false"]}, [0.4, 0.6])
    >>> toss = Factor({"coin": ["fair", "false"], "toss": ["heads", "tails"]}, [[0.0, 1.0], [0.5, 0.5]])
    >>> answer = marginal_map([coin, toss], coin.scope, Evidence.read({}, {}))
    >>> answer.assignment, round(math.exp(answer.log_value), 6), answer.gap
    (Assignment(coin='false'), 0.6, 0.0)
    """
    if method not in get_args(MapMethod):
        raise InvalidArgument(f"{method!r} is not a method. Choose one of {', '.join(map(repr, get_args(MapMethod)))}.")
    if time_limit is not None and not time_limit >= 0:
        raise InvalidArgument(f"time_limit={time_limit!r} must be a number of seconds, or None for no limit.")
    deadline = math.inf if time_limit is None else monotonic() + time_limit
    free = [variable for variable in targets if variable.name not in evidence.hard]
    ones = [Factor((variable,), [1.0] * variable.num_states) for variable in free]
    parts = _separate(absorb([*factors, *ones], evidence))
    names = {variable.name for variable in wide(free)}
    answers = [_answer(part, names, method, max_entries, deadline, progress) for part in parts]
    return _together(answers, targets, evidence)


@dataclass(frozen=True, slots=True)
class _Part:
    """The answer for one part of the model: name -> position of the state, and how it was got."""

    states: Mapping[str, int]
    log_value: float
    log_bound: float
    num_nodes: int
    info: QueryInfo


def _answer(
    factors: Sequence[Factor],
    targets: Collection[str],
    method: MapMethod,
    max_entries: int,
    deadline: float,
    progress: _Progress | None,
) -> _Part:
    asked = [variable for variable in union_scope(factor.scope for factor in factors) if variable.name in targets]
    if not asked:
        total = sum_product(factors, ())
        return _Part({}, total.log_total, total.log_total, 0, total.info)
    logs = read_log_factors(factors)
    order = None if method == "search" else constrained_order(logs, targets)
    if order is None or (method == "auto" and order.cost > max_entries):
        return _search(logs, asked, max_entries, deadline, progress)
    order.check(max_entries, "Raise max_entries, ask for other variables, or give more evidence.")
    run = max_tables(logs, order)
    return _Part(run.best(), run.log_value, run.log_value, 0, run.info)


def _search(
    logs: Sequence[Factor],
    targets: Sequence[Variable],
    max_entries: int,
    deadline: float,
    progress: _Progress | None,
) -> _Part:
    """Branch and bound in stages: a search that stays open goes on, from its best answer, with larger tables."""
    variables = wide(union_scope(factor.scope for factor in logs))
    numbers = {variable.name: number for number, variable in enumerate(variables)}
    sizes = [variable.num_states for variable in variables]
    maximized = [numbers[variable.name] for variable in targets]
    tables = [
        LogTable(tuple(numbers[v.name] for v in wide(factor.scope)), factor.flat.reshape(table_shape(factor.scope)))
        for factor in logs
    ]
    found: SearchResult | None = None
    num_nodes = cost = largest = 0
    for limit, max_nodes in (*(stage for stage in _STAGES if stage[0] < max_entries), (max_entries, math.inf)):
        plan = plan_bound([table.axes for table in tables], sizes, maximized, limit)
        if plan.num_largest > _EXCESS * limit and limit < max_entries:
            continue
        _check_size(plan, variables, max(max_entries, *(table.values.size for table in tables)))
        tree = bound_tree(tables, plan, sizes, maximized)
        found = branch_and_bound(tree, start=found, max_nodes=max_nodes, deadline=deadline, progress=progress)
        num_nodes += found.progress.num_nodes
        cost += found.progress.num_nodes * tree.num_entries
        largest = max(largest, plan.num_largest)
        if found.progress.log_bound == found.progress.log_value or (found.states and monotonic() >= deadline):
            break
    assert found is not None
    state = found.progress
    is_exact = state.log_bound == state.log_value
    info = QueryInfo("branch and bound", is_exact, is_exact, state.log_bound - state.log_value, cost, largest)
    chosen = found.states or [0] * len(variables)
    states = {variable.name: chosen[numbers[variable.name]] for variable in targets}
    return _Part(states, state.log_value, state.log_bound, num_nodes, info)


def _check_size(plan: BoundPlan, variables: Sequence[Variable], max_entries: int) -> None:
    """Refuse a plan whose tables don't fit, before any is built: copies of targets can't split hidden variables."""
    if plan.num_largest > max_entries:
        shown = [variables[number].name for number in sorted(plan.largest)]
        names = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
        raise TooLarge(
            f"Summing out what is not asked for needs a table over {len(plan.largest)} variables ({names}) with "
            f"{plan.num_largest:.3g} entries ({plan.num_largest * 8 / 2**30:.3g} GiB); the limit is {max_entries:.3g}. "
            "Raise max_entries, ask for more variables, or give more evidence."
        )


def _together(parts: Sequence[_Part], targets: Sequence[Variable], evidence: Evidence) -> MarginalMap:
    if any(part.log_value == -math.inf for part in parts):
        raise ImpossibleEvidence.outright()
    states = {name: state for part in parts for name, state in part.states.items()}
    states = {
        **{variable.name: 0 for variable in targets},
        **states,
        **evidence.hard,
    }  # one-state variables have state 0
    log_value = math.fsum(part.log_value for part in parts)
    is_exact = all(part.info.exact for part in parts)
    log_bound = log_value if is_exact else math.fsum(part.log_bound for part in parts)
    searched = [part.info.engine for part in parts if part.num_nodes]
    return MarginalMap(
        assignment=Assignment({v.name: v.states[states[v.name]] for v in targets}, log_probability=log_value),
        log_value=log_value,
        log_bound=log_bound,
        num_nodes=sum(part.num_nodes for part in parts),
        info=QueryInfo(
            engine=searched[0] if searched else "max-product elimination",
            exact=is_exact,
            converged=is_exact,
            error=log_bound - log_value,
            cost=sum(part.info.cost for part in parts),
            largest_table=max((part.info.largest_table for part in parts), default=0),
        ),
    )


def _separate(factors: Sequence[Factor]) -> list[list[Factor]]:
    """The factors grouped so that different groups share no variable; those without variables come first."""
    groups: list[tuple[set[str], list[Factor]]] = []
    for factor in factors:
        names, members, apart = set(factor.names), [factor], []
        for group in groups if names else ():
            if names.isdisjoint(group[0]):
                apart.append(group)
            else:
                names |= group[0]
                members = [*group[1], *members]
        if names:
            groups = [*apart, (names, members)]
    constants = [factor for factor in factors if not factor.names]
    return [constants, *(members for _, members in groups)]
