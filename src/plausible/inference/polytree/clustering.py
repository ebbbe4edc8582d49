"""Clustering: variables merged to compound ones, so that the loops of a Bayesian network close up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from itertools import product as cartesian
from typing import TypeAlias

import numpy as np

from plausible.errors import CyclicGraph, InvalidArgument, InvalidGraph, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import check_size
from plausible.graphs import DAG
from plausible.inference.polytree.structure import families_by_child, on_loops
from plausible.variables import Evidence, Variable

#: The variables that one vertex stands for.
_Group: TypeAlias = tuple[str, ...]
_Children: TypeAlias = dict[_Group, set[_Group]]


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """A Bayesian network over compound variables with the same joint distribution as the one that it was made from."""

    factors: tuple[Factor, ...]  # The families P(compound | parents), the child last in each scope
    graph: DAG  # The network over compound variables and those that were left as they are
    #: Compound name -> the variables that it stands for, in the order of its states.
    members: Mapping[str, tuple[Variable, ...]]

    @property
    def variables(self) -> dict[str, Variable]:
        """Name -> variable of the clustered network."""
        return {factor.names[-1]: factor.scope[-1] for factor in self.factors}

    def compound_of(self, name: str) -> str:
        """The name under which a variable of the old network is found in the new one."""
        if name in self.variables:
            return name
        for compound, members in self.members.items():
            if name in {member.name for member in members}:
                return compound
        known = [member.name for members in self.members.values() for member in members]
        raise UnknownVariable.named(name, [*self.variables, *known], "the clustered network")

    def expand(self, factor: Factor) -> Factor:
        """A factor over compound variables as one over their members."""
        scope = [member for v in factor.scope for member in self.members.get(v.name, (v,))]
        return Factor.from_flat(scope, factor.flat)

    def translate(self, evidence: Evidence) -> Evidence:
        """Findings on the old variables as findings on the new ones: weights for the states that agree with them."""
        merged: dict[str, Factor] = {}
        for name in (*evidence.hard, *evidence.soft):
            compound = self.compound_of(name)
            if compound == name:
                continue
            member = next(v for v in self.members[compound] if v.name == name)
            weights = np.eye(member.num_states)[evidence.hard[name]] if name in evidence.hard else evidence.soft[name]
            before = merged.get(compound, Factor.scalar(1.0).extend(self.members[compound]))
            merged[compound] = before * Factor((member,), weights)
        return replace(
            evidence,
            hard={name: state for name, state in evidence.hard.items() if name in self.variables},
            soft={name: weights for name, weights in evidence.soft.items() if name in self.variables}
            | {name: weights.flat for name, weights in merged.items()},
        )


def cluster_variables(
    factors: Iterable[Factor], clusters: Mapping[str, Sequence[str]] | Iterable[Sequence[str]]
) -> Clustering:
    """Merge variables of a Bayesian network to compound ones whose states are all combinations of theirs.

    The family of a compound variable C is P(c | u) = Π P(x | parents of x) over its members x, where u ranges over
    the compound variables that its members' other parents belong to (Pearl 1988, §4.4.1). Its table has as many
    entries as the product of all these domains.

    The factors are the families P(child | parents), the child as the last variable of each scope. Clusters map compound
    names to the names of the variables to merge; or are only the groups, which are then called "A+B+C". A variable may
    be in one group only; those in none stay as they are.

    Raises
    ------
    InvalidGraph
        Where merging would make a directed cycle, such as A and C of A -> B -> C: merge what lies between them too.
    TooLarge
        Where a compound table would not fit.

    >>> grass = [Factor({"Rain": 2}, [0.8, 0.2]), Factor({"Rain": 2, "Sprinkler": 2}, [[0.6, 0.4], [0.9, 0.1]]),
    ...          Factor({"Rain": 2, "Sprinkler": 2, "Wet": 2}, [[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]])]
    >>> clustered = cluster_variables(grass, {"Water": ["Rain", "Sprinkler"]})
    >>> clustered.graph
    DAG('Water -> Wet')
    >>> clustered.variables["Water"].states[1]
    'Rain=0, Sprinkler=1'
    """
    families = families_by_child(factors)
    variables = {name: family.scope[-1] for name, family in families.items()}
    groups = _read_clusters(clusters, variables)
    home = {name: name for name in families} | {name: group for group, names in groups.items() for name in names}
    members = {name: tuple(variables[m] for m in groups.get(name, (name,))) for name in dict.fromkeys(home.values())}
    inside = {name: [child for child in families if home[child] == name] for name in members}
    parents = {
        name: list(dict.fromkeys(home[p] for child in inside[name] for p in families[child].names if home[p] != name))
        for name in members
    }
    try:
        graph = DAG([(parent, child) for child, row in parents.items() for parent in row], nodes=parents)
    except CyclicGraph as error:
        raise InvalidGraph(
            f"Merged like this, the network has the cycle {' -> '.join(map(str, (*error.cycle, error.cycle[0])))}. "
            "Merge all variables of it, or others."
        ) from None
    compounds = {name: _compound(name, members[name]) if name in groups else variables[name] for name in members}
    merged: list[Factor] = []
    for name in members:
        scope = [variable for compound in (*parents[name], name) for variable in members[compound]]
        check_size(scope, f"The table of {name!r}")
        table = product(families[child] for child in inside[name]).extend(scope).reorder([v.name for v in scope])
        merged.append(Factor.from_flat([compounds[other] for other in (*parents[name], name)], table.flat))
    return Clustering(tuple(merged), graph, {name: members[name] for name in groups})


def _read_clusters(
    clusters: Mapping[str, Sequence[str]] | Iterable[Sequence[str]], variables: Mapping[str, Variable]
) -> dict[str, tuple[str, ...]]:
    named = clusters.items() if isinstance(clusters, Mapping) else (("+".join(names), names) for names in clusters)
    groups: dict[str, tuple[str, ...]] = {}
    seen: dict[str, str] = {}
    for compound, names in named:
        if isinstance(names, str) or len(names) < 2:
            raise InvalidArgument(f"The cluster {compound!r} needs the names of two or more variables, not {names!r}.")
        for name in names:
            UnknownVariable.check(name, variables, "these families")
            if name in seen:
                raise InvalidArgument(f"{name!r} is in the clusters {seen[name]!r} and {compound!r}; one is allowed.")
            seen[name] = compound
        groups[compound] = tuple(names)
    for compound in groups:
        if compound in variables:
            raise InvalidArgument(f"A compound variable can't be called {compound!r}: another variable is.")
    return groups


def _compound(name: str, members: Sequence[Variable]) -> Variable:
    """A variable whose states name those of its members, the last member's changing fastest."""
    check_size(members, f"The compound variable {name!r}")
    choices = cartesian(*([f"{v.name}={state}" for state in v.states] for v in members))
    return Variable(name, [", ".join(choice) for choice in choices])


def suggest_clusters(factors: Iterable[Factor]) -> tuple[tuple[str, ...], ...]:
    """Groups of variables that, once merged, leave a polytree; none where there is no loop.

    Greedy: two vertices on loops are merged, as long as there are any, so that most loops vanish for the smallest
    compound domain, and never so that a directed cycle comes up. Merging neighbours along a loop shortens it; merging
    two vertices with common neighbours closes loops. The best clustering is NP-hard to find. The factors are the
    families P(child | parents), the child as the last variable of each scope.

    >>> scopes = ["A", "AB", "AC", "BCD"]
    >>> suggest_clusters(Factor(dict.fromkeys(scope, 2), np.full((2,) * len(scope), 0.5)) for scope in scopes)
    (('B', 'C'),)
    """
    families = families_by_child(factors)
    sizes: dict[_Group, int] = {(name,): family.scope[-1].num_states for name, family in families.items()}
    children: _Children = {group: set() for group in sizes}
    for name, family in families.items():
        for parent in family.names[:-1]:
            children[parent,].add((name,))
    while looped := on_loops(around := _around(children)):
        ranked = []
        for pair in combinations(looped, 2):
            one, other = pair
            # the loops that vanish: edges that fall together or away, but one for the vertex that goes
            num_closed = len(around[one] & around[other]) + (other in around[one]) - 1
            ranked.append((-num_closed, sizes[one] * sizes[other], pair))
        one, other = next(pair for *_, pair in sorted(ranked) if not _makes_cycle(children, *pair))
        merged = tuple(name for name in families if name in one or name in other)
        sizes[merged] = sizes[one] * sizes[other]
        children[merged] = (children.pop(one) | children.pop(other)) - {one, other}
        for below in children.values():
            if below & {one, other}:
                below -= {one, other}
                below.add(merged)
    return tuple(group for group in children if len(group) > 1)


def _around(children: _Children) -> _Children:
    """For each vertex those joined to it, directions ignored."""
    around: _Children = {group: set(below) for group, below in children.items()}
    for group, below in children.items():
        for child in below:
            around[child].add(group)
    return around


def _makes_cycle(children: _Children, one: _Group, other: _Group) -> bool:
    """Whether a directed path of two or more edges leads from one of them to the other."""
    for start, target in ((one, other), (other, one)):
        waiting = list(children[start] - {target})
        seen = set(waiting)
        while waiting:
            fresh = children[waiting.pop()] - seen
            seen |= fresh
            waiting.extend(fresh)
        if target in seen:
            return True
    return False
