"""Belief propagation on clusters: messages between regions, join graphs, and cluster variation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plausible.base import Checked, Floats, QueryInfo, one_of, real, whole
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.engine_bases import RoundState
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.regions.region_graph import RegionGraph, join_graph, kikuchi_regions, short_loops
from plausible.inference.regions.region_layout import (
    RegionLayout,
    Wave,
    edge_sums,
    forest_total,
    lay_out,
    negative_energy,
    region_tables,
)

#: Changes of final messages that come from rounding alone stay below this.
_ROUNDING = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class RegionState(RoundState):
    """All messages after some rounds; the residual is of their logarithms, undamped, relative to those below -1."""

    layout: RegionLayout
    messages: Floats  # logarithms of those from inner to outer regions, their peaks at zero
    #: Whether they have grown beyond all that the factors can say; they are those of the round before.
    has_diverged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionEngine(
    ResumableEngine[RegionState],
    Checked,
    schedule=one_of("sequential", "synchronous"),
    damping=real(least=0, below=1),
    tolerance=real(least=0),
    max_steps=whole(1),
):
    r"""Options and rounds of message passing between outer regions γ and what they share, inner regions β.

    The belief of an outer region is the product of its factors and of the messages λ from the n inner regions within
    it. A turn of an inner region with counting number c hears from all around and answers all,

    .. math:: μ_{γ→β} = \frac{1}{λ_{β→γ}} \sum_{x_γ ∼ x_β} b_γ, \qquad b_β ∝ \prod_γ μ_{γ→β}^{1/(n + c)}, \qquad
              λ_{β→γ} = b_β / μ_{γ→β}, \qquad 0/0 = 0.

    Where all agree, Σ_γ log λ_{β→γ} = -c log b_β, which makes the beliefs a stationary point of the region free
    energy; with c = 1 - n these are the messages of belief propagation (Heskes, Albers & Kappen 2003).
    """

    schedule: str = "sequential"
    damping: float = 0.0
    tolerance: float = 1e-8
    max_steps: int = 1000

    _name: ClassVar[str]

    @abstractmethod
    def regions(self, problem: Problem) -> RegionGraph:
        """The regions that messages go between."""

    def init(self, problem: Problem) -> RegionState:
        """Messages that say nothing."""
        layout = lay_out(problem, self.regions(problem), in_waves=self.schedule == "sequential")
        state = RegionState(layout, np.zeros(int(layout.message_starts[-1])))
        peaks = np.maximum.reduceat(layout.logs, layout.starts[:-1]) if layout.logs.size else np.zeros(1)
        # What messages do not reach, regions that share nothing, is seen here and nowhere else.
        is_contradictory = bool(np.isneginf(peaks).any())
        if layout.waves and not is_contradictory:
            return state
        return state.at_rest(is_contradictory=is_contradictory)

    def step(self, problem: Problem, state: RegionState) -> RegionState:
        """One round: the waves of messages forth and back, or all messages at once."""
        if state.has_diverged:
            return replace(state, num_steps=state.num_steps + 1)
        waves, messages = state.layout.waves, state.messages.copy()
        # On a forest the messages are final after some rounds, up to rounding: nothing less is exact.
        target = min(self.tolerance, _ROUNDING) if state.layout.is_exact else self.tolerance
        damping = 0.0 if state.layout.is_exact else self.damping
        residual = 0.0
        for wave in (*waves, *waves[-2::-1]):
            change = _renew(wave, messages, damping)
            if change < 0:
                residual = -1.0
                break
            residual = max(residual, change)
        if residual >= 0 and not state.layout.is_exact:
            # A message that says far more than all factors together would overflow to zeros that no factor has.
            logs = np.where(np.isfinite(problem.logs), problem.logs, 0.0)
            most = 10.0 * (1.0 - float(np.minimum.reduceat(logs, problem.table_starts[:-1]).sum()))
            live = messages[np.isfinite(messages)]
            if np.isnan(messages).any() or (live.size and float(-live.min()) > most):
                return replace(state, num_steps=state.num_steps + 1, residual=math.inf, has_diverged=True)
        return state.after_round(residual, target, messages=messages)

    def beliefs_from(self, problem: Problem, state: RegionState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The belief about each group of variables that some region holds."""
        if state.is_contradictory:
            raise ImpossibleEvidence.outright()
        everything = region_tables(state.layout, state.messages)
        tables = tuple(self._belief(problem, state.layout, everything, group) for group in groups)
        return Beliefs(tables, self._info(state))

    def estimate(self, problem: Problem) -> Estimate:
        """Minus the region free energy, Σ c_R (Σ b_R log Π φ + H(b_R)); log Z where it is exact."""
        state = self.run(problem).state
        info = self._info(state)
        if state.is_contradictory:
            return Estimate.within(-math.inf, info)
        if not info.exact:
            return Estimate(negative_energy(state.layout, state.messages) + problem.log_scale, info)
        value, margin = forest_total(state.layout, state.messages)
        return Estimate.within(value + problem.log_scale, info, margin + problem.scale_rounding)

    def _belief(self, problem: Problem, layout: RegionLayout, tables: Floats, group: tuple[int, ...]) -> Floats:
        if not group:
            return np.ones(())
        graph = layout.graph
        rarest = min((graph.holders[variable] for variable in group), key=len)
        holders = [region for region in rarest if set(group) <= set(graph.scopes[region])]
        if not holders:
            names = ", ".join(repr(problem.variables[variable].name) for variable in group)
            raise NotSupported(
                f"There is no joint belief of {names}: no region holds them all. {self._wider} Or ask for fewer of "
                "them at a time, or take an exact engine such as JunctionTree()."
            )
        region = min(holders, key=lambda holder: int(layout.starts[holder + 1] - layout.starts[holder]))
        scope = graph.scopes[region]
        shape: list[int] = problem.sizes[list(scope)].tolist()
        table = tables[layout.starts[region] : layout.starts[region + 1]].reshape(shape)
        kept = [variable for variable in scope if variable in group]
        found = table.sum(axis=tuple(axis for axis, variable in enumerate(scope) if variable not in group))
        found = np.transpose(found, [kept.index(variable) for variable in group])
        return np.asarray(found / found.sum())

    @property
    @abstractmethod
    def _wider(self) -> str:
        """How to get regions that hold more."""

    def _info(self, state: RegionState) -> QueryInfo:
        return state.info(
            self._name,
            is_exact=state.layout.is_exact and state.residual <= _ROUNDING,
            cost=int(state.layout.starts[-1]),
            largest_table=int(np.diff(state.layout.starts).max(initial=0)),
            advice=(
                "The messages have not settled. They are final, and exact, after more rounds: raise max_steps."
                if state.layout.is_exact
                else f"The messages have not settled. Try {'' if self.damping >= 0.5 else 'damping=0.5, '}more "
                "max_steps, ConvexBP(), whose messages settle given enough rounds, MiniBuckets() for bounds, or "
                "Gibbs()."
            ),
        )


def _renew(wave: Wave, messages: Floats, damping: float) -> float:
    """Renew the messages in place; the largest change they would make undamped, negative for a contradiction."""
    old = messages[wave.messages]
    answers = edge_sums(wave, messages)
    is_live = answers > -np.inf
    answers[is_live] -= old[is_live]
    beliefs = (wave.collect @ answers)[wave.inner]
    is_live = beliefs > -np.inf
    new = np.full(old.size, -np.inf)
    new[is_live] = beliefs[is_live] - answers[is_live]
    if np.isneginf(np.maximum.reduceat(new, wave.message_starts)).any():
        return -1.0
    new = _peaked(wave, new)
    # The largest change of a logarithm, relative for those below -1: where small numbers meet, they decide.
    is_other, change = new != old, math.inf
    if not np.isneginf(new[is_other]).any():
        changes = np.abs(new[is_other] - old[is_other]) / np.maximum(1.0, -new[is_other])
        change = float(changes.max(initial=0.0))
    if damping:
        new[is_live] += damping * (old[is_live] - new[is_live])
        new = _peaked(wave, new)
    messages[wave.messages] = new
    return change


def _peaked(wave: Wave, logs: Floats) -> Floats:
    """Messages scaled so that their peaks are one."""
    peaks = np.maximum.reduceat(logs, wave.message_starts)
    return np.asarray(logs - np.repeat(peaks, np.diff(wave.message_starts, append=logs.size)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBP(RegionEngine, bound=whole(1)):
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

    Clusters are sets of variable names; by default `short_loops`, which are the squares of a grid. Observed variables
    are skipped, and a factor that fits in no cluster is a cluster by itself. Other options are as for `ClusterBP`.

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
        places = problem.place_of
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
