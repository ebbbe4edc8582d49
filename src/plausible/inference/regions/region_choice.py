"""Which clusters to take: join graphs of a chosen width, and short loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from plausible.errors import InvalidArgument
from plausible.graphs.greedy import greedy_order
from plausible.inference.problem import Problem
from plausible.inference.regions.region_graph import RegionGraph


@dataclass(slots=True)
class _Cluster:
    """A mini-bucket, with the factors in it and the clusters whose messages it takes."""

    scope: frozenset[int]
    factors: list[int] = field(default_factory=list)
    senders: list[int] = field(default_factory=list)


def join_graph(problem: Problem, bound: int) -> RegionGraph:
    r"""Mini-buckets along a min-fill order as clusters, joined by what each passes on to the next.

    The factors and messages in the bucket of a variable are shared out among clusters of at most `bound` variables,
    the widest first, each to the first cluster with room. A cluster passes its scope without the variable on to a
    later bucket; clusters of one bucket are joined in a row by their variable. For each variable the edges that have
    it are a tree, so that each counts once: clusters with 1, the separator of each edge with -1. With a bound of
    the width of the order plus one no bucket is shared out, and the graph is a clique tree (Dechter, Kask & Mateescu
    2002).

    Parameters
    ----------
    problem
        The factors, on arrays.
    bound
        The variables of a cluster, at most; a factor of more is a cluster of its own.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> problem = Problem.of(ring, Evidence.read({}, {}))
    >>> join_graph(problem, 2)
    RegionGraph(8 regions of up to 2 variables, 8 edges, with cycles)
    >>> join_graph(problem, 3)
    RegionGraph(3 regions of up to 3 variables, 2 edges, a forest)
    """
    if bound < 1:
        raise InvalidArgument(f"bound is the number of variables of a cluster, at least 1, not {bound!r}.")
    clusters, rows = _mini_buckets(problem, bound)
    # Each cluster goes into that of a sender of all its variables, or stays by itself.
    owner = list(range(len(clusters)))
    for place, cluster in enumerate(clusters):
        owner[place] = next((owner[s] for s in cluster.senders if cluster.scope <= clusters[s].scope), place)
    separators = [
        (owner[sender], owner[receiver], clusters[sender].scope & clusters[receiver].scope)
        for receiver, cluster in enumerate(clusters)
        for sender in cluster.senders
        if owner[sender] != owner[receiver]
    ]
    separators += [(owner[first], owner[second], shared) for first, second, shared in rows]
    kept = sorted(set(owner))
    number = {cluster: place for place, cluster in enumerate(kept)}
    factors = {cluster: list[int]() for cluster in kept}
    for place, cluster in enumerate(clusters):
        factors[owner[place]] += cluster.factors
    ends = [(number[first], number[second]) for first, second, _ in separators]
    scopes = [*(clusters[place].scope for place in kept), *(shared for _, _, shared in separators)]
    return RegionGraph(
        tuple(tuple(sorted(scope)) for scope in scopes),
        (*(tuple(sorted(factors[place])) for place in kept), *(() for _ in separators)),
        (*(1 for _ in kept), *(-1 for _ in separators)),
        tuple((end, len(kept) + place) for place, pair in enumerate(ends) for end in pair),
    )


def _mini_buckets(problem: Problem, bound: int) -> tuple[list[_Cluster], list[tuple[int, int, frozenset[int]]]]:
    """The clusters, in the order of their buckets, and the joints between neighbours in one bucket."""
    near = _neighbors(problem)
    places = range(len(near))
    order = greedy_order([tuple(sorted(row)) for row in near], [2] * len(near), "min-fill", places, places)
    rank = {variable: place for place, variable in enumerate(order)}
    scopes = [frozenset(problem.scope(factor)) for factor in range(len(problem.factors))]
    # What waits in a bucket: a scope, and the factor or the cluster that it comes from.
    waiting: list[list[tuple[frozenset[int], int, bool]]] = [[] for _ in order]
    for factor, scope in enumerate(scopes):
        waiting[min(rank[variable] for variable in scope)].append((scope, factor, True))
    clusters: list[_Cluster] = []
    rows = []
    for place, variable in enumerate(order):
        first = len(clusters)
        bucket = waiting[place]
        if len(bucket) > 1:
            bucket = sorted(bucket, key=lambda item: (-len(item[0]), sorted(item[0])))
        for scope, source, is_factor in bucket:
            taker = _room(clusters, first, scope, bound)
            (taker.factors if is_factor else taker.senders).append(source)
        for cluster in range(first, len(clusters)):
            if rest := clusters[cluster].scope - {variable}:
                waiting[min(rank[other] for other in rest)].append((rest, cluster, False))
        rows += [(*pair, frozenset((variable,))) for pair in pairwise(range(first, len(clusters)))]
    return clusters, rows


def _room(clusters: list[_Cluster], first: int, scope: frozenset[int], bound: int) -> _Cluster:
    """The first cluster of the bucket that holds the scope, or can; a new one where there is none."""
    for cluster in clusters[first:]:
        union = cluster.scope | scope
        if len(union) <= max(bound, len(cluster.scope)):
            cluster.scope = union
            return cluster
    clusters.append(_Cluster(scope))
    return clusters[-1]


def _neighbors(problem: Problem) -> list[set[int]]:
    """For each variable those that share a factor with it."""
    near: list[set[int]] = [set() for _ in problem.variables]
    for factor in range(len(problem.factors)):
        for first, second in combinations(problem.scope(factor), 2):
            near[first].add(second)
            near[second].add(first)
    return near


def short_loops(problem: Problem) -> list[tuple[int, ...]]:
    """Independent cycles of three and four variables, as many as the pairs that share a factor have.

    Cycles are vectors over the pairs, added modulo two; one that is the sum of others would make regions count
    against each other (Gelfand & Welling 2012). On a grid they are the squares, in a complete graph the triangles
    through one variable.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> full = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in combinations("ABCD", 2)]
    >>> short_loops(Problem.of(full, Evidence.read({}, {})))
    [(0, 1, 2), (0, 1, 3), (0, 2, 3)]
    """
    near = _neighbors(problem)
    pairs = [(first, second) for first in range(len(near)) for second in sorted(near[first]) if first < second]
    numbers = {pair: place for place, pair in enumerate(pairs)}
    triangles = ((*pair, far) for pair in pairs for far in sorted(near[pair[0]] & near[pair[1]]) if far > pair[1])
    pivots: dict[int, int] = {}
    return [tuple(sorted(loop)) for loop in (*triangles, *_squares(near)) if _is_new(loop, numbers, pivots)]


def _squares(near: Sequence[set[int]]) -> Iterator[tuple[int, ...]]:
    """Cycles of four without a chord, from their lowest variable around."""
    for low in range(len(near)):
        for first, second in combinations(sorted(other for other in near[low] if other > low), 2):
            if second not in near[first]:
                across = (near[first] & near[second]) - near[low]
                yield from ((low, first, far, second) for far in sorted(across) if far > low)


def _is_new(loop: tuple[int, ...], numbers: dict[tuple[int, int], int], pivots: dict[int, int]) -> bool:
    """Whether the cycle is no sum of those before; if so, its remainder goes to the pivots (elimination over GF(2))."""
    vector = 0
    for first, second in zip(loop, (*loop[1:], loop[0]), strict=True):
        vector ^= 1 << numbers[min(first, second), max(first, second)]
    while vector:
        lead = vector.bit_length()
        if lead not in pivots:
            pivots[lead] = vector
            return True
        vector ^= pivots[lead]
    return False
