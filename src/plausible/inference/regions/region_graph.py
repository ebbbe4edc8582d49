"""Region graphs: clusters of variables, what they share, and how often each counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from typing import TypeVar

from plausible.errors import InvalidArgument, counted
from plausible.graphs.greedy import greedy_order
from plausible.inference.problem import Problem

Scope = tuple[int, ...]
_Place = TypeVar("_Place")


@dataclass(frozen=True, repr=False)
class RegionGraph:
    r"""Regions R with counting numbers c_R, which approximate a distribution by Π b_R^c_R.

    Outer regions hold the factors, each factor in one; inner ones are what outer ones share, and edges lead from an
    outer region to the inner ones within it. A graph is valid where all factors and all variables count once,

    .. math:: \sum_{R ∋ f} c_R = 1, \qquad \sum_{R ∋ v} c_R = 1,

    and where the regions that hold a variable hang together, the running intersection (Yedidia, Freeman & Weiss
    2005, §V). Made by `bethe_regions`, `kikuchi_regions` and `join_graph`.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> bethe_regions(Problem.of(ring, Evidence.read({}, {})))
    RegionGraph(8 regions of up to 2 variables, 8 edges, with cycles)
    """

    scopes: tuple[Scope, ...]  # The variables of each region, by their places in the problem, in ascending order
    factors: tuple[tuple[int, ...], ...]  # The factors of each region, by their places; none for inner ones
    counts: tuple[int, ...]  # c_R
    edges: tuple[tuple[int, int], ...] = field(default=())  # Pairs of regions, an outer and an inner one

    def __repr__(self) -> str:
        largest = max(map(len, self.scopes), default=0)
        kind = "a forest" if self.is_forest() else "with cycles"
        return (
            f"RegionGraph({counted(len(self.scopes), 'region')} of up to "
            f"{counted(largest, 'variable')}, {counted(len(self.edges), 'edge')}, {kind})"
        )

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """For each inner region the outer ones that it is part of."""
        return _rows(((child, parent) for parent, child in self.edges), len(self.scopes))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each outer region the inner ones within it."""
        return _rows(self.edges, len(self.scopes))

    @cached_property
    def edges_above(self) -> tuple[tuple[int, ...], ...]:
        """For each inner region the places of the edges that lead to it."""
        return _rows(((inner, edge) for edge, (_, inner) in enumerate(self.edges)), len(self.scopes))

    @cached_property
    def holders(self) -> dict[int, tuple[int, ...]]:
        """For each variable the regions that hold it."""
        return {variable: tuple(regions) for variable, regions in _holders(self.scopes).items()}

    def is_forest(self, trivial: Iterable[int] = ()) -> bool:
        """Whether the edges close no cycle and each c_R is one minus the number of parents.

        The product Π b_R^c_R is then one of conditional distributions along the edges: if the graph is valid, exact.
        Edges to `trivial` regions, of one state, carry no message and are left out.
        """
        skipped, roots = set(trivial), {region: region for region in range(len(self.scopes))}
        if not all(_join(roots, parent, child) for parent, child in self.edges if child not in skipped):
            return False
        return all(count == 1 - len(above) for count, above in zip(self.counts, self.parents, strict=True))

    @property
    def has_running_intersection(self) -> bool:
        """Whether the regions that hold a variable hang together by edges, for each variable."""
        places = ((region, variable) for region, scope in enumerate(self.scopes) for variable in scope)
        roots = {place: place for place in places}
        num_parts = {variable: len(regions) for variable, regions in self.holders.items()}
        for parent, child in self.edges:
            for variable in self.scopes[child]:
                num_parts[variable] -= _join(roots, (parent, variable), (child, variable))
        return all(number == 1 for number in num_parts.values())

    def check(self, problem: Problem) -> None:
        """Refuse a graph that is not a valid one of this problem, naming what is counted wrongly."""
        for parent, child in self.edges:
            if not set(self.scopes[child]) <= set(self.scopes[parent]):
                raise InvalidArgument(f"Region {child}, {self.scopes[child]}, is not part of its parent {parent}.")
        factor_counts, variable_counts = [0] * len(problem.factors), [0] * len(problem.variables)
        for scope, factors, count in zip(self.scopes, self.factors, self.counts, strict=True):
            for variable in scope:
                variable_counts[variable] += count
            for factor in factors:
                if not set(problem.scope(factor)) <= set(scope):
                    raise InvalidArgument(f"The region {scope} does not hold the variables of its factor {factor}.")
                factor_counts[factor] += count
        names = [repr(variable.name) for variable in problem.variables]
        names += [f"the factor over {', '.join(factor.names)}" for factor in problem.factors]
        for name, total in zip(names, [*variable_counts, *factor_counts], strict=True):
            if total != 1:
                raise InvalidArgument(f"The regions count {name} {total} times; it must count once.")
        if not self.has_running_intersection:
            raise InvalidArgument("The regions that hold a variable must hang together by edges whose child has it.")


def bethe_regions(problem: Problem) -> RegionGraph:
    """A region for each factor, and one for each variable that several have: c_v = 1 - their number.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> path = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "BD")]
    >>> bethe_regions(Problem.of(path, Evidence.read({}, {}))).counts
    (1, 1, 1, -2)
    """
    outer = [problem.scope(factor) for factor in range(len(problem.factors))]
    holders = _rows(((v, factor) for factor, scope in enumerate(outer) for v in scope), len(problem.variables))
    inner = [variable for variable, around in enumerate(holders) if len(around) > 1]
    return RegionGraph(
        (*(tuple(sorted(scope)) for scope in outer), *((variable,) for variable in inner)),
        (*((factor,) for factor in range(len(outer))), *(() for _ in inner)),
        (*(1 for _ in outer), *(1 - len(holders[variable]) for variable in inner)),
        tuple((factor, len(outer) + place) for place, variable in enumerate(inner) for factor in holders[variable]),
    )


def kikuchi_regions(problem: Problem, clusters: Iterable[Sequence[int]] = ()) -> RegionGraph:
    """The clusters, all that they share, and c_R = 1 - Σ c of the regions that hold R (cluster variation method).

    Factors that no cluster holds are clusters of their own, and clusters within others are left out. Intersections are
    added until there are no new ones (Kikuchi 1951; Yedidia, Freeman & Weiss 2005, §V-D). Clusters are sets of
    variables, by their places in the problem, such as the squares of a grid.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> grid = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "DE", "EF", "AD", "BE", "CF")]
    >>> squares = kikuchi_regions(Problem.of(grid, Evidence.read({}, {})), [(0, 1, 3, 4), (1, 2, 4, 5)])
    >>> squares.scopes, squares.counts
    (((0, 1, 3, 4), (1, 2, 4, 5), (1, 4)), (1, 1, -1))
    """
    scopes = [problem.scope(factor) for factor in range(len(problem.factors))]
    listed = _ranked({frozenset(cluster) for cluster in (*clusters, *scopes) if len(cluster)})
    regions = {cluster for cluster, around in zip(listed, _supersets(listed), strict=True) if not around}
    fresh = set(regions)
    while fresh:  # the intersections of any number of them
        seen = list(regions)
        holders = _holders(seen)
        fresh = {region & seen[other] for region in fresh for v in region for other in holders[v]} - regions
        regions |= fresh
    ranked = _ranked(regions)
    above, counts = list(_supersets(ranked)), list[int]()
    for around in above:
        counts.append(1 - sum(counts[region] for region in around))
    # Each factor is in the first outer region that holds it.
    outer = [region if not around else frozenset() for region, around in zip(ranked, above, strict=True)]
    holders = _holders(outer)
    homes = [next(p for p in holders[scope[0]] if outer[p].issuperset(scope)) for scope in scopes]
    return RegionGraph(
        tuple(tuple(sorted(region)) for region in ranked),
        _rows(((home, factor) for factor, home in enumerate(homes)), len(ranked)),
        tuple(counts),
        tuple((outer, inner) for inner, around in enumerate(above) for outer in around if not above[outer]),
    )


def _holders(regions: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    """For each variable the places of the sets that have it."""
    holders: dict[int, list[int]] = defaultdict(list)
    for place, region in enumerate(regions):
        for variable in region:
            holders[variable].append(place)
    return holders


def _ranked(regions: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The largest first."""
    return sorted(regions, key=lambda region: (-len(region), sorted(region)))


def _supersets(ranked: Sequence[frozenset[int]]) -> Iterator[list[int]]:
    """For each set, the largest first, the places of those before it that have all its members."""
    holders: dict[int, list[int]] = defaultdict(list)
    for place, region in enumerate(ranked):
        rarest = min((holders[variable] for variable in region), key=len)
        yield [other for other in rarest if region < ranked[other]]
        for variable in region:
            holders[variable].append(place)


def colors_of(groups_of: Sequence[Sequence[int]], members: Sequence[Sequence[int]]) -> list[int]:
    """For each item with groups the lowest number that no other member of these has; -1 for one without."""
    colors = [-1] * len(groups_of)
    for item, groups in enumerate(groups_of):
        if groups:
            taken = {colors[other] for group in groups for other in members[group]}
            colors[item] = next(color for color in range(len(taken) + 1) if color not in taken)
    return colors


def _rows(pairs: Iterable[tuple[int, int]], num: int) -> tuple[tuple[int, ...], ...]:
    rows: list[list[int]] = [[] for _ in range(num)]
    for row, value in pairs:
        rows[row].append(value)
    return tuple(map(tuple, rows))


def _join(roots: dict[_Place, _Place], one: _Place, other: _Place) -> bool:
    """Put two places into one part, in place; whether they were apart."""
    while roots[one] != one:
        roots[one] = one = roots[roots[one]]
    while roots[other] != other:
        roots[other] = other = roots[roots[other]]
    roots[one] = other
    return one != other


@dataclass(slots=True)
class _Cluster:
    """A mini-bucket, with the factors in it and the clusters whose messages it takes."""

    scope: frozenset[int]
    factors: list[int] = field(default_factory=list)
    senders: list[int] = field(default_factory=list)


def join_graph(problem: Problem, bound: int) -> RegionGraph:
    r"""Mini-buckets along a min-fill order as clusters, joined by what each passes on to the next.

    The factors and messages in the bucket of a variable are shared out among clusters of at most `bound` variables, the
    widest first, each to the first cluster with room. A cluster passes its scope without the variable on to a later
    bucket; clusters of one bucket are joined in a row by their variable. For each variable the edges that have it are a
    tree, so that each counts once: clusters with 1, the separator of each edge with -1. With a bound of the width of
    the order plus one no bucket is shared out, and the graph is a clique tree (Dechter, Kask & Mateescu 2002). A
    cluster has at most `bound` variables; a factor of more is a cluster of its own.

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
