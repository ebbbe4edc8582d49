"""Max-product variable elimination with traceback: small, plain, and the yardstick for faster engines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations, islice
from math import prod

from plausible.base import Argument, Call, QueryInfo, Remedy
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, num_entries, union_scope
from plausible.graphs import Elimination, UndirectedGraph, eliminate, elimination_order
from plausible.graphs.greedy import Heuristic
from plausible.graphs.nodes import Node
from plausible.inference.budget import refusal
from plausible.inference.elimination import absorb, log_marginalize
from plausible.inference.exact_map.bounds import TimeUpError
from plausible.inference.exact_map.search import search_in_stages
from plausible.search.run import Clock
from plausible.variables import Assignment, Evidence, Variable

_HEURISTICS: tuple[Heuristic, ...] = ("weighted-min-fill", "min-weight")


@dataclass(frozen=True, slots=True)
class MaxOrder:
    """Which variables are summed out, which are maximised after them, and the tables that this builds."""

    #: The variables in the order in which they go.
    sums: tuple[str, ...]
    maxima: tuple[str, ...]
    cost: int  # The entries of all tables together
    largest: tuple[str, ...]  # The scope of the largest table
    largest_table: int  # Its entries

    def check(self, max_entries: int, remedies: Iterable[Remedy]) -> None:
        """Refuse an order that would build more entries than allowed, before any work is done."""
        if self.cost > max_entries:
            names = ", ".join(self.largest[:8]) + (", ..." if len(self.largest) > 8 else "")
            raise TooLarge(
                f"Elimination would build tables with {self.cost:.3g} entries ({self.cost * 8 / 2**30:.3g} GiB), the "
                f"largest over {len(self.largest)} variables ({names}); the limit is {max_entries:.3g}.",
                remedies=remedies,
            )


def constrained_order(
    factors: Sequence[Factor], maximized: Collection[str], order: Sequence[str] | None = None
) -> MaxOrder:
    """An order in which every sum comes before every maximum: max Σ Π φ allows no other (Park & Darwiche 2004).

    The one given, which has all variables, the summed ones first; or the cheaper of two greedy ones.
    """
    sizes: dict[Node, int] = {v.name: v.num_states for v in union_scope(factor.scope for factor in factors)}
    graph = UndirectedGraph((pair for factor in factors for pair in combinations(factor.names, 2)), nodes=sizes)
    if order is not None:
        return _priced(eliminate(graph, _checked(order, sizes, maximized)), sizes, maximized)
    kept = {node: sizes[node] for node in graph.nodes if node in maximized}
    orders = []
    for heuristic in _HEURISTICS:
        sums = elimination_order(graph, heuristic, cardinalities=sizes, keep=kept)
        filled = UndirectedGraph((*graph.edges, *eliminate(graph, sums).fill), nodes=graph.nodes)
        maxima = elimination_order(filled.subgraph(kept), heuristic, cardinalities=kept)
        orders.append(_priced(eliminate(graph, (*sums, *maxima)), sizes, maximized))
    return min(orders, key=lambda priced: priced.cost)


def _checked(order: Sequence[str], sizes: dict[Node, int], maximized: Collection[str]) -> list[str]:
    listed = [name for name in order if name in sizes]
    if missing := [name for name in sizes if name not in set(listed)]:
        raise InvalidArgument(f"The elimination order lacks {missing[0]!r}.")
    is_maximized = [name in maximized for name in listed]
    if is_maximized != sorted(is_maximized):
        early = listed[is_maximized.index(True)]
        raise InvalidArgument(
            f"The elimination order has {early!r}, which is maximised, before variables to be summed."
        )
    return listed


def _priced(run: Elimination, sizes: dict[Node, int], maximized: Collection[str]) -> MaxOrder:
    entries = [prod(sizes[name] for name in clique) for clique in run.cliques]
    largest = max(entries, default=1)
    clique = run.cliques[entries.index(largest)] if entries else ()
    return MaxOrder(
        sums=tuple(str(name) for name in run.order if name not in maximized),
        maxima=tuple(str(name) for name in run.order if name in maximized),
        cost=sum(entries),
        largest=tuple(map(str, clique)),
        largest_table=largest,
    )


@dataclass(frozen=True, slots=True)
class MaxTables:
    """What a max-sum elimination leaves behind: enough to read off best assignments."""

    #: For each maximised variable, in the order in which they went, ψ: the logarithm of the best product over all that
    #: went before, as a function of the variable, which is the last axis, and of variables that went later.
    tables: tuple[Factor, ...]
    log_value: float  # The logarithm of the largest product; -inf where all are zero
    info: QueryInfo  # The cost

    def best(self) -> dict[str, int]:
        """Name -> position of the state, in a best assignment: variables are set in reverse, each to its first best."""
        states: dict[str, int] = {}
        for table in reversed(self.tables):
            *others, variable = table.scope
            row = 0
            for other in others:
                row = row * other.num_states + states[other.name]
            start = row * variable.num_states
            states[variable.name] = int(table.flat[start : start + variable.num_states].argmax())
        return states


def max_product(
    factors: Iterable[Factor], order: Sequence[str] | None = None, max_entries: int = MAX_ENTRIES
) -> Assignment:
    """argmax Π φ by eliminating one variable after the other with max, then decoding in reverse.

    The products are sums of logarithms, so that nothing underflows. Koller & Friedman 2009, algorithms 13.1 and 13.2.
    The factors have no negative entries. The order has all their variables, and is greedy where left out; one whose
    tables together have more than `max_entries` is refused, before any work is done.

    Returns
    -------
    Assignment
        Its `log_probability` is log max Π φ. Where several assignments are best, variables are decoded in reverse of
        the order, and each takes the first of its best states: the same factors and order give the same answer.

    Raises
    ------
    ImpossibleEvidence
        Where no assignment has a positive product.

    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.4, 0.6])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.5, 0.5]])
    >>> best = max_product([coin, call])
    >>> best, round(math.exp(best.log_probability), 6)
    (Assignment(coin='heads', call='right'), 0.36)
    """
    logs = [factor.log() for factor in factors]
    variables = {variable.name: variable for factor in logs for variable in factor.scope}
    plan = constrained_order(logs, variables, order)
    plan.check(max_entries, [Remedy("give another order"), Remedy("give more evidence")])
    run = max_tables(logs, plan)
    if run.log_value == -math.inf:
        raise ImpossibleEvidence("No assignment has a positive product: there is no best one.")
    states = run.best()
    named = {name: variable.states[states[name]] for name, variable in variables.items()}
    return Assignment(named, log_probability=run.log_value)


def summed_out(log_factors: Sequence[Factor], order: MaxOrder, max_entries: int) -> list[Factor] | None:
    """The logarithms of factors that are left when the sums are done; None where one needs a larger table."""
    left = list(log_factors)
    for name in order.sums:
        members = [factor for factor in left if name in factor.names]
        if num_entries(union_scope(factor.scope for factor in members)) > max_entries:
            return None
        left = [factor for factor in left if name not in factor.names]
        left.append(log_marginalize(sum(members, start=Factor.scalar(0.0)), name))
    return left


def max_tables(log_factors: Sequence[Factor], order: MaxOrder) -> MaxTables:
    """max over some variables of Σ over the others of Π φ, on logarithms, keeping the tables of the maxima."""
    rank = {name: place for place, name in enumerate((*order.sums, *order.maxima))}
    buckets: list[list[Factor]] = [[] for _ in range(len(rank) + 1)]
    tables: list[Factor] = []

    def put(factor: Factor) -> None:  # to the variable that goes first
        buckets[min((rank[name] for name in factor.names), default=len(rank))].append(factor)

    for factor in log_factors:
        put(factor)
    for place, name in enumerate(rank):
        total = sum(buckets[place], start=Factor.scalar(0.0))
        buckets[place] = []
        if place < len(order.sums):
            put(log_marginalize(total, name))
        else:
            tables.append(total.reorder([*(other for other in total.names if other != name), name]))
            put(tables[-1].maximize(name))
    value = math.fsum(factor.sum() for factor in buckets[-1])
    info = QueryInfo(engine="max-product elimination", cost=order.cost, largest_table=order.largest_table)
    return MaxTables(tuple(tables), value, info)


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
