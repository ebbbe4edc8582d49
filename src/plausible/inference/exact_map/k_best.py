"""The k most probable assignments, in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice

from plausible.base.remedies import Argument, Call, Remedy
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, union_scope
from plausible.inference.budget import refusal
from plausible.inference.elimination import absorb
from plausible.inference.exact_map.bounds import TimeUpError
from plausible.inference.exact_map.max_elimination import MaxTables, constrained_order, max_tables
from plausible.inference.exact_map.search import search_in_stages
from plausible.inference.info import QueryInfo
from plausible.search.clock import Clock
from plausible.variables import Assignment, Evidence, Variable

#: A search bounds with tables of so many entries at most: larger ones take longer than they save.
_MAX_BOUND_TABLE = 2**22

_MORE_EVIDENCE = Remedy("give more evidence")
_ONE_ALONE = Remedy(
    *("ask for the best one alone: ", Call("mpe"), " may fit, and ", Call("mpe", Argument("engine", "auto")), " does")
)


def best_assignments(
    factors: Iterable[Factor],
    k: int,
    evidence: Evidence,
    targets: Sequence[Variable] | None = None,
    max_entries: int = MAX_ENTRIES,
    time_limit: float | None = None,
) -> list[Assignment]:
    """The k assignments with the largest products, best first; all that are possible, where these are fewer.

    One max-sum elimination tells the best completion of every partial assignment, so the next best assignment is always
    known: it leaves some earlier one at some variable and goes on greedily from there. This is the partition of Lawler
    (1972) and Nilsson (1998) with the maxima looked up instead of propagated.

    Parameters
    ----------
    factors
        Factors without negative entries.
    k
        How many are wanted.
    evidence
        States and soft findings.
    targets
        The variables of the answers, in their order, observed ones included; others are summed out. All variables
        of the factors where left out.
    max_entries
        The entries that the tables of an elimination may have together.
    time_limit
        The seconds that a branch and bound search may take, where variables are summed out and the tables for that
        don't fit; without end where left out.

    Returns
    -------
    list of Assignment
        Distinct, each with a positive product; `log_probability` is its logarithm, that of the evidence included.
        The order of equally good ones is fixed by the elimination order and the order of their states: the same
        input gives the same list, and a longer list begins with the shorter one (one from a search, but for ties).

    Raises
    ------
    ImpossibleEvidence
        Where no assignment is possible.
    TooLarge
        Where the tables don't fit, before any work is done; or where a search did not come to its end in time.

    Notes
    -----
    After the elimination each answer costs one look-up a variable and a few steps in a heap.

    Examples
    --------
    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.3, 0.7])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.4, 0.6]])
    >>> for best in best_assignments([coin, call], 3, Evidence.read({}, {})):
    ...     print(best, round(math.exp(best.log_probability), 6))
    Assignment(coin='tails', call='wrong') 0.42
    Assignment(coin='tails', call='right') 0.28
    Assignment(coin='heads', call='right') 0.27
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidArgument(f"k={k!r} must be a whole number, 1 or more: how many assignments are wanted.")
    listed = list(factors)
    asked = list(union_scope(factor.scope for factor in listed) if targets is None else targets)
    free = [variable for variable in asked if variable.name not in evidence.hard]
    lonely = [Factor((variable,), [1.0] * variable.num_states) for variable in free]
    logs = [factor.log() for factor in absorb([*listed, *lonely], evidence)]
    order = constrained_order(logs, {variable.name for variable in free})
    if order.cost > max_entries and order.sums:
        best, info = _searched(logs, free, k, max_entries, time_limit)
    else:
        order.check(max_entries, [_MORE_EVIDENCE, *([] if k == 1 else [_ONE_ALONE])])
        run = max_tables(logs, order)
        best, info = list(islice(_descending(run), k)), run.info
    if not best:
        raise ImpossibleEvidence.outright()
    known = {**{variable.name: 0 for variable in free}, **evidence.hard}  # one-state variables have no table
    named = [(log_value, {**known, **states}) for log_value, states in best]
    return [
        Assignment({v.name: v.states[states[v.name]] for v in asked}, log_probability=log_value, info=info)
        for log_value, states in named
    ]


def _searched(
    logs: Sequence[Factor], targets: Sequence[Variable], k: int, max_entries: int, time_limit: float | None
) -> tuple[Sequence[tuple[float, Mapping[str, int]]], QueryInfo]:
    """The same by a search, all of them proved to be the best."""
    clock = Clock.of(time_limit)
    limit = min(max_entries, _MAX_BOUND_TABLE)
    try:
        found = search_in_stages(logs, targets, num_best=k, max_entries=limit, clock=clock, is_patient=False)
        if not found.info.exact:
            raise TimeUpError
    except TimeUpError:
        raise refusal(
            f"A search for the best assignments did not come to its end within {time_limit:g} s: tables that would "
            f"answer at once have more than {max_entries:.3g} entries.",
            remedies=[Remedy("raise these limits")],
        ) from None
    return found.best, found.info


def _descending(run: MaxTables) -> Iterator[tuple[float, dict[str, int]]]:
    """(log of the product, name -> position of the state) of all assignments with a positive product, best first.

    A waiting entry stands for the assignments that agree with an earlier answer up to some variable and differ there:
    what the best of them loses against the best of all, a running number, that answer, the place, and the new state.
    """
    if run.log_value == -math.inf:
        return
    places = {table.names[-1]: place for place, table in enumerate(reversed(run.tables))}
    # In decoding order, the variable that went last first: its table, a row for each assignment to variables decoded
    # before, and (place, stride) of these; the number of the row is the sum of stride times state.
    decoders = []
    for table in reversed(run.tables):
        sizes = [variable.num_states for variable in table.scope]
        strides = [math.prod(sizes[axis + 1 : -1]) for axis in range(len(sizes) - 1)]
        lies = [(places[name], stride) for name, stride in zip(table.names[:-1], strides, strict=True)]
        decoders.append((table.flat.reshape(-1, sizes[-1]), lies))
    waiting: list[tuple[float, int, list[int], int, int]] = []
    num_entered = 0
    loss, states, first_free = 0.0, [0] * len(decoders), 0
    while True:
        for place in range(first_free, len(decoders)):
            rows, lies = decoders[place]
            row: list[float] = rows[sum(stride * states[other] for other, stride in lies)].tolist()
            peak = max(row)
            states[place] = row.index(peak)
            for state, value in enumerate(row):
                if state != states[place] and value > -math.inf:
                    num_entered += 1
                    heappush(waiting, (loss + (peak - value), num_entered, states, place, state))
        yield run.log_value - loss, dict(zip(places, states, strict=True))
        if not waiting:
            return
        loss, _, earlier, place, state = heappop(waiting)
        states = [*earlier[:place], state, *[0] * (len(decoders) - place - 1)]
        first_free = place + 1
