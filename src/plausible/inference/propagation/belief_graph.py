"""The Bethe cluster graph of a problem: factors within none, fields of variables, and how often each factor counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base import Floats, Ints, starts_of
from plausible.inference.problem import Problem, strides_of
from plausible.kernels.message_graphs import acyclic, find_hosts, merge_tables, walk
from plausible.kernels.messages import EDGE, FACTOR, VARIABLE, MessageGraph


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A problem whose factors have two or more variables each, none of them within another."""

    sizes: Ints  # the number of states of each variable
    fields: Floats  # log of the product of all factors of one variable, for each state of each variable
    #: The variables of factor f, in axis order, are `scopes[scope_starts[f]:scope_starts[f + 1]]`; those of one state
    #: are in none.
    scope_starts: Ints
    scopes: Ints
    table_starts: Ints  # the logarithms of its numbers are `logs[table_starts[f]:table_starts[f + 1]]`
    logs: Floats

    @property
    def num_factors(self) -> int:
        """How many factors there are."""
        return len(self.table_starts) - 1

    @property
    def owners(self) -> Ints:
        """The factor of each place in `scopes`."""
        return np.repeat(np.arange(self.num_factors), np.diff(self.scope_starts))

    def around(self) -> tuple[Ints, Ints]:
        """Where the factors of each variable begin, and these factors, variable by variable."""
        starts = starts_of(np.bincount(self.scopes, minlength=len(self.sizes)))
        return starts, self.owners[np.argsort(self.scopes, kind="stable")]


def read_clusters(problem: Problem) -> Clusters:
    """Merge factors into those that have all their variables, and those of one variable into its field.

    The product stays the same, and what was a tree but for such factors becomes one.
    """
    return merged(_ties(problem)[0])


def hosts_of(problem: Problem) -> Ints:
    """For each factor the one of `read_clusters` that it is merged into, itself if none; -1 if it is part of a field.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> factors = [Factor(dict.fromkeys(scope, 2), np.ones((2,) * len(scope))) for scope in ("AB", "ABC", "C", "CD")]
    >>> hosts_of(Problem.of(factors, Evidence({}, {}, {}))).tolist()
    [1, 1, -1, 3]
    """
    ties, numbers = _ties(problem)
    hosts = np.full(len(problem.factors), -1)
    hosts[numbers] = numbers[hosts_in(ties)]
    return hosts


def _ties(problem: Problem) -> tuple[Clusters, Ints]:
    """The factors of several variables as they are, those of one in its field; and which these are."""
    is_wide = problem.sizes[problem.scopes] > 1
    owners = np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))
    arities = np.bincount(owners, is_wide, minlength=len(problem.factors)).astype(np.int64)
    logs, lengths = problem.logs, np.diff(problem.table_starts)
    is_tie = arities > 1
    # What is left of a factor of one variable is that variable; of a constant, any.
    lone = np.flatnonzero(~is_tie[owners] & (is_wide | (arities[owners] == 0)))
    lone = lone[np.flatnonzero(np.diff(owners[lone], prepend=-1))]
    shifts = starts_of(problem.sizes)[problem.scopes[lone]]
    is_alone = np.repeat(~is_tie, lengths)
    places = np.repeat(shifts - starts_of(lengths[~is_tie])[:-1], lengths[~is_tie]) + np.arange(int(is_alone.sum()))
    fields = np.bincount(places, logs[is_alone], minlength=int(problem.sizes.sum())).astype(np.float64)
    ties = Clusters(
        problem.sizes,
        fields,
        starts_of(arities[is_tie]),
        problem.scopes[is_wide & is_tie[owners]],
        starts_of(lengths[is_tie]),
        logs[~is_alone],
    )
    return ties, np.flatnonzero(is_tie)


def hosts_in(clusters: Clusters) -> Ints:
    """For each factor the one that it is merged into: itself, or one that has all of its variables."""
    hosts = np.arange(clusters.num_factors)
    find_hosts(clusters.scope_starts, clusters.scopes, *clusters.around(), hosts)
    return hosts


def merged(clusters: Clusters) -> Clusters:
    """The same product without factors within others."""
    hosts = hosts_in(clusters)
    is_host = hosts == np.arange(clusters.num_factors)
    if is_host.all():
        return clusters
    logs = clusters.logs.copy()
    merge_tables(clusters.sizes, clusters.scope_starts, clusters.scopes, clusters.table_starts, hosts, logs)
    arities, lengths = np.diff(clusters.scope_starts), np.diff(clusters.table_starts)
    return Clusters(
        clusters.sizes,
        clusters.fields,
        starts_of(arities[is_host]),
        clusters.scopes[np.repeat(is_host, arities)],
        starts_of(lengths[is_host]),
        logs[np.repeat(is_host, lengths)],
    )


def message_graph(clusters: Clusters, weights: Floats) -> MessageGraph:
    """One cluster for each factor and one for each variable, joined by an edge for each variable of each factor.

    `weights` says how often each factor counts: once in ordinary belief propagation.
    """
    scopes, owners, sizes = clusters.scopes, clusters.owners, clusters.sizes
    around = np.argsort(scopes, kind="stable")
    members = np.empty_like(around)
    members[around] = np.arange(around.size)
    variables = np.empty(sizes.size, dtype=VARIABLE)
    ends = np.cumsum(np.bincount(scopes, minlength=sizes.size))
    variables["num_states"], variables["start"] = sizes, starts_of(sizes)[:-1]
    variables["first"], variables["last"] = ends - np.bincount(scopes, minlength=sizes.size), ends
    factors = np.empty(clusters.num_factors, dtype=FACTOR)
    factors["table"], factors["weight"] = clusters.table_starts[:-1], weights
    factors["first"], factors["last"] = clusters.scope_starts[:-1], clusters.scope_starts[1:]
    edges = np.empty(scopes.size, dtype=EDGE)
    edges["variable"], edges["factor"] = scopes[around], owners[around]
    edges["start"] = starts_of(sizes[scopes[around]])[:-1]
    edges["table"], edges["weight"] = factors["table"][edges["factor"]], weights[edges["factor"]]
    edges["step"] = strides_of(sizes[scopes], clusters.scope_starts)[around]
    # For each edge the place in `scopes` of the other variable of a pair; -1 in larger factors.
    is_pair = np.diff(clusters.scope_starts)[owners[around]] == 2
    mates = np.where(is_pair, 2 * clusters.scope_starts[owners[around]] + 1 - around, -1)
    edges["mate"] = np.where(is_pair, edges["start"][members[mates]] if mates.size else mates, -1)
    edges["width"] = np.where(is_pair, sizes[scopes[mates]] if mates.size else mates, 0)
    logs = clusters.logs / np.repeat(weights, np.diff(clusters.table_starts))
    return MessageGraph(variables, factors, edges, members, clusters.fields, logs, np.exp(logs))


def walking_order(clusters: Clusters) -> Ints:
    """The variables of each component of the factor graph, nearest to its first first."""
    order = np.empty(clusters.sizes.size, dtype=np.int64)
    seen = np.zeros(order.size + clusters.num_factors, dtype=np.int64)
    walk(clusters.scope_starts, clusters.scopes, *clusters.around(), seen, order)
    return order


def is_forest(scopes: Clusters | Problem) -> bool:
    """Whether the factor graph has no cycle: two factors that share two variables make one."""
    return bool(_counts_without_cycle(scopes, np.arange(len(scopes.scope_starts) - 1)).all())


def tree_weights(scopes: Clusters | Problem, num_trees: int, seed: int) -> Floats:
    """In what share of random sets of factors without cycles each factor is: always above zero, one on a forest.

    Those of one variable are in all sets, without a draw. The others fill a set in random order, for as long as no
    cycle arises in the factor graph, so that pairs make a spanning forest. Factors that no set had yet come first, and
    sets are added to the first `num_trees` until all had their turn.
    """
    ties = np.flatnonzero(np.diff(scopes.scope_starts) > 1)
    weights = np.ones(len(scopes.scope_starts) - 1)
    if is_forest(scopes):
        return weights
    rng, counts, num_drawn = np.random.default_rng(seed), np.zeros(ties.size, dtype=np.int64), 0
    while num_drawn < num_trees or not counts.all():
        sequence = ties[np.argsort(rng.random(ties.size) + (counts > 0))]
        counts += _counts_without_cycle(scopes, sequence)[ties]
        num_drawn += 1
    weights[ties] = counts / num_drawn
    return weights


def _counts_without_cycle(scopes: Clusters | Problem, sequence: Ints) -> Ints:
    """One for each factor that closes no cycle with those before it in the sequence, zero for the others."""
    counts = np.zeros(len(scopes.scope_starts) - 1, dtype=np.int64)
    roots, stamps = np.arange(scopes.sizes.size), np.full(scopes.sizes.size, -1)
    acyclic(scopes.scope_starts, scopes.scopes, sequence, roots, stamps, counts)
    return counts
