"""Marginal MAP: the most probable states of some variables, all others summed out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from plausible.base import Argument, QueryInfo, Remedy
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import union_scope, wide
from plausible.inference.elimination import absorb, sum_product
from plausible.inference.exact_map.bounds import TimeUpError, check_time
from plausible.inference.exact_map.max_elimination import MaxOrder, constrained_order, max_tables
from plausible.inference.exact_map.search import SearchProgress, search_in_stages
from plausible.inference.posterior import components
from plausible.inference.relevance import reduce_states
from plausible.search.run import Clock
from plausible.variables import Assignment, Evidence, Variable

#: How a marginal MAP is found.
MapMethod: TypeAlias = Literal["auto", "elimination", "search"]

_Progress: TypeAlias = Callable[[SearchProgress], None]
#: From logarithms of factors and an order that sums before it maximises to the positions of states that are proved
#: best, log Σ Π φ of them and how it was got; None where there is no proof.
Prover: TypeAlias = Callable[[Sequence[Factor], MaxOrder], tuple[Mapping[str, int], float, QueryInfo] | None]

_REMEDIES = (
    Remedy("raise ", Argument("max_entries")),
    Remedy("ask for other variables"),
    Remedy("give more evidence"),
)


@dataclass(frozen=True, slots=True)
class MarginalMap:
    """The answer to a marginal MAP question, and what is known about it."""

    assignment: Assignment  # The states of the targets; its `log_probability` is `log_value`
    log_value: float  # log Σ Π φ over all assignments that agree with it and with the evidence
    log_bound: float  # No other states of the targets have a larger value; equal to `log_value` if the answer is exact
    num_nodes: int  # The partial assignments that were looked at; zero where elimination was enough
    info: QueryInfo  # The engine and the cost; `exact` is false where the time ran out

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
    must_be_exact: bool = False,
    prove: Prover | None = None,
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
    method
        `"elimination"` or `"search"` to have no choice made.
    max_entries
        The entries that the tables of an elimination may have together, and that one table of a search should have;
        variables that are summed out may make it a few times larger.
    time_limit
        Seconds after which the best answer so far is returned, with `log_bound` above `log_value`. A first answer,
        which takes two passes over the tables of the bound, is waited for.
    must_be_exact
        Whether such an answer is of no use: then nothing is waited for, and it is refused.
    prove
        What is tried first where the tables of an elimination don't fit.
    progress
        Called now and then with how far the search is, in the part of the model that is being searched.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment with a positive product agrees with the evidence.
    TooLarge
        Where the tables that sum out the other variables don't fit, or the best answer so far must not be given.

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
    clock = Clock.of(time_limit)
    free = [variable for variable in targets if variable.name not in evidence.hard]
    ones = [Factor((variable,), [1.0] * variable.num_states) for variable in free]
    options = _Options(method, max_entries, clock, must_be_exact, prove, progress)
    names = {variable.name for variable in wide(free)}
    try:
        answers = _answers(absorb([*factors, *ones], evidence), names, options)
    except TimeUpError:
        raise TooLarge(f"A search for the best assignment did not end within {time_limit:g} s.") from None
    return _joined(answers, targets, evidence)


@dataclass(frozen=True, slots=True)
class _Options:
    method: MapMethod
    max_entries: int
    clock: Clock
    must_be_exact: bool
    prove: Prover | None
    progress: _Progress | None


@dataclass(frozen=True, slots=True)
class _Part:
    """The answer for one part of the model: name -> position of the state, and how it was got."""

    states: Mapping[str, int]
    log_value: float
    log_bound: float
    num_nodes: int
    info: QueryInfo


def _answers(factors: Sequence[Factor], targets: Collection[str], options: _Options) -> list[_Part]:
    """The answers for the parts of the model that share no variable; constants are one of them."""
    parts = components([Factor.scalar(1.0), *factors])
    return [answer for part in parts for answer in _answers_of_part(part, targets, options)]


def _answers_of_part(factors: Sequence[Factor], targets: Collection[str], options: _Options) -> list[_Part]:
    """The answer for one part of the model, or those for the parts that it falls into once zeros are looked at."""
    asked = [variable for variable in union_scope(factor.scope for factor in factors) if variable.name in targets]
    if not asked:
        total = sum_product(factors, ())
        return [_Part({}, total.log_total, total.log_total, 0, total.info)]
    logs = [factor.log() for factor in factors]
    order = None if options.method == "search" else constrained_order(logs, targets)
    if options.must_be_exact:
        check_time(options.clock)
    if order is not None and order.cost > options.max_entries and any(factor.min() <= 0 for factor in factors):
        reduced = reduce_states(factors, Evidence({}, {}, {}), asked)
        if reduced.num_struck:
            # what is said of the states that are left is said of all; targets with one state left have that
            settled = {v.name: int(reduced.states[v.name][0]) for v in asked if v.name not in reduced.variables}
            parts = [_Part(settled, 0.0, 0.0, 0, QueryInfo("max-product elimination"))]
            for part in _answers(reduced.factors, targets, options):
                states = {name: int(reduced.states[name][state]) for name, state in part.states.items()}
                parts.append(replace(part, states=states))
            return parts
    is_large = order is not None and order.cost > options.max_entries
    proved = options.prove(logs, order) if options.prove is not None and order is not None and is_large else None
    if proved is not None:
        best, log_value, info = proved
        return [_Part(best, log_value, log_value, info.num_steps + 1, info)]
    if order is None or (options.method == "auto" and is_large):
        return [_search(logs, asked, options)]
    order.check(options.max_entries, _REMEDIES)
    run = max_tables(logs, order)
    return [_Part(run.best(), run.log_value, run.log_value, 0, run.info)]


def _search(logs: Sequence[Factor], targets: Sequence[Variable], options: _Options) -> _Part:
    found = search_in_stages(
        logs,
        targets,
        max_entries=options.max_entries,
        clock=options.clock,
        is_patient=not options.must_be_exact,
        progress=options.progress,
    )
    if options.must_be_exact and not found.info.exact:
        raise TimeUpError
    log_value, states = found.best[0] if found.best else (-math.inf, {})
    return _Part(states, log_value, found.log_bound, found.num_nodes, found.info)


def _joined(parts: Sequence[_Part], targets: Sequence[Variable], evidence: Evidence) -> MarginalMap:
    if any(part.log_value == -math.inf for part in parts):
        raise ImpossibleEvidence.outright()
    states = {variable.name: 0 for variable in targets}  # one-state variables have no other
    for part in parts:
        states |= part.states
    states |= evidence.hard
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
