"""Belief propagation on clusters: join graphs of a chosen width, and Kikuchi's cluster variation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from plausible.base.options import check_count
from plausible.errors import InvalidArgument
from plausible.inference.problem import Problem
from plausible.inference.regions.join_graph import join_graph
from plausible.inference.regions.region_graph import RegionGraph, kikuchi_regions
from plausible.inference.regions.region_messages import RegionEngine
from plausible.inference.regions.short_loops import short_loops

__all__ = ["ClusterBP", "RegionBP"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBP(RegionEngine):
    r"""Belief propagation on clusters of at most `bound` variables: between loopy propagation and the clique tree.

    Clusters i, j send each other δ_{i→j}(S_ij) = Σ ψ_i Π_{k≠j} δ_{k→i} over the variables they share, until the
    messages converge (Dechter, Kask & Mateescu 2002; Koller & Friedman 2009, §11.3). As a rule, a higher bound means
    fewer cycles and better beliefs. If the bound exceeds the width of a min-fill order, the graph is a clique tree and
    the answers are exact; `.info` says so. A round costs Σ degree · states^bound over the clusters.

    Parameters
    ----------
    bound
        The most variables in a cluster; a larger factor is a cluster by itself.
    schedule
        "sequential" sends messages in waves, from the ends of the graph to its first cluster and back, so a tree takes
        one round, and a second one to see that nothing changes. "synchronous" updates all messages from those of the
        previous round.
    damping
        The weight of the old message in the new one, on a log scale; zero on a tree.
    tolerance
        Messages have converged when their logarithms, undamped, would change by no more than this, relative to those
        below -1; on a tree they are updated until only rounding is left.
    max_steps
        The most rounds to run.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> ring.append(Factor({"A": 2}, [3, 1]))
    >>> for bound in (2, 3):
    ...     belief = ClusterBP(bound=bound).query(ring, ring[1].scope[1:], Evidence.read({}, {}))
    ...     print(belief.values.round(4), belief.info.exact)
    [0.5559 0.4441] False
    [0.5549 0.4451] True
    """

    bound: int = 4
    _name: ClassVar[str] = "cluster belief propagation"

    def __post_init__(self) -> None:
        RegionEngine.__post_init__(self)
        check_count("bound", self.bound, 1)

    def regions(self, problem: Problem) -> RegionGraph:
        """The join graph."""
        return join_graph(problem, self.bound)

    @property
    def _wider(self) -> str:
        return f"Try a bound above {self.bound}, or add a factor of ones over them."


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionBP(RegionEngine):
    r"""Generalised belief propagation on clusters and their intersections (Kikuchi's free energy).

    Each cluster exchanges messages with all regions inside it, one set of disjoint regions after another (Heskes,
    Albers & Kappen 2003). At convergence the beliefs agree with each other and are a stationary point of Kikuchi's free
    energy, as in Yedidia, Freeman & Weiss (2005):

    .. math:: F = - \sum_f \sum_x b_f(x) \log φ_f(x) - \sum_R c_R H(b_R).

    On the squares of a grid this is far better than loopy belief propagation. Convergence is not guaranteed; damping
    helps.

    Parameters
    ----------
    clusters
        Sets of variable names; by default `short_loops`, which are the squares of a grid. Observed variables are
        skipped, and a factor that fits in no cluster is a cluster by itself.
    schedule, damping, tolerance, max_steps
        As for `ClusterBP`.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> pairs = ("AB", "BC", "DE", "EF", "AD", "BE", "CF")
    >>> grid = [Factor({a: 2, b: 2}, [[3, 1], [1, 3]]) for a, b in pairs] + [Factor({"A": 2}, [3, 1])]
    >>> belief = RegionBP(clusters=["ABDE", "BCEF"]).query(grid, grid[6].scope[1:], Evidence.read({}, {}))
    >>> belief.values.round(4), belief.info.exact  # two squares with a common side are a clique tree
    (array([0.589, 0.411]), True)
    """

    clusters: Sequence[Sequence[str]] | None = None
    damping: float = 0.5
    _name: ClassVar[str] = "region belief propagation"

    def __post_init__(self) -> None:
        RegionEngine.__post_init__(self)
        object.__setattr__(self, "clusters", _read_clusters(self.clusters))

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The names of variables that its options mention."""
        return tuple(name for cluster in self.clusters or () for name in cluster)

    def regions(self, problem: Problem) -> RegionGraph:
        """The clusters and their intersections."""
        if self.clusters is None:
            return kikuchi_regions(problem, short_loops(problem))
        places = {variable.name: place for place, variable in enumerate(problem.variables)}
        return kikuchi_regions(
            problem, [[places[name] for name in cluster if name in places] for cluster in self.clusters]
        )

    @property
    def _wider(self) -> str:
        return "Give a cluster that does."


def _read_clusters(clusters: object) -> tuple[tuple[str, ...], ...] | None:
    """Groups of names, which may overlap; None stays None."""
    if clusters is None:
        return None
    if isinstance(clusters, list | tuple) and all(isinstance(cluster, Iterable) for cluster in clusters):
        read = tuple(map(tuple, clusters))
        if all(isinstance(name, str) for cluster in read for name in cluster):
            return read
    raise InvalidArgument(f"clusters={clusters!r} must be a list of lists of names of variables.")
