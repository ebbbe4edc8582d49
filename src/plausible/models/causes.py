"""Children of independent causes as small factors, arranged so that many of them with common causes stay narrow.

Y = max(Y_0, Y_1, ..., Y_n) with Y_i ~ P(Y_i | x_i) can be put together in any order, two partial maxima at a time.
Which order is good depends on what else is asked: `decompose` finds it for all such children of a network at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from plausible.cpds import CPD, NoisyMax, NoisyOr
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.graphs import Elimination, UndirectedGraph, eliminate, elimination_order
from plausible.graphs.nodes import Node
from plausible.variables import Variable

Table = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Causes:
    """P(Y | x_1, ..., x_n) as the maximum of independent effects, or a number of levels of it."""

    child: Variable  # Y
    #: Whether Y is known. Then there are two levels, "lower than observed" and "as observed", and the maximum has to
    #: come out at the second.
    is_observed: bool
    parents: tuple[Variable, ...]  # The causes that are not observed
    #: For each parent P(Y_i = level | x_i), of shape `(its states, levels)`; rows need not sum to one.
    effects: tuple[Table, ...]
    leak: Table  # P(Y_0 = level), with the effects of observed parents in it

    @property
    def num_levels(self) -> int:
        """The number of levels of the maximum."""
        return len(self.leak)

    @property
    def table_size(self) -> int:
        """The entries of one table over all that is not observed."""
        return num_entries(self.parents) * (1 if self.is_observed else self.num_levels)


def read_causes(cpd: CPD, observed: Mapping[str, int]) -> Causes | None:
    """The independent causes of a noisy-or or noisy-max where some variables are observed; None for other kinds.

    A child observed in its lowest state has one level. One observed in state y > 0 has two: effects below y all act
    alike, and effects above y are ruled out.
    """
    if isinstance(cpd, NoisyOr):
        effects, leak = _noisy_or_effects(cpd), np.array([1.0 - cpd.leak, cpd.leak])
    elif isinstance(cpd, NoisyMax):
        effects, leak = list(cpd.effects.values()), cpd.leak
    else:
        return None
    level = observed.get(cpd.variable.name)
    if level is not None:
        effects, leak = [_around(effect, level) for effect in effects], _around(leak, level)
    free = []
    for parent, effect in zip(cpd.parents, effects, strict=True):
        if parent.num_states == 1 or parent.name in observed:
            leak = leak @ _step_table(effect)[:, observed.get(parent.name, 0)]
        else:
            free.append((parent, effect))
    parents, kept = tuple(parent for parent, _ in free), tuple(effect for _, effect in free)
    return Causes(cpd.variable, level is not None, parents, kept, leak)


def _noisy_or_effects(cpd: NoisyOr) -> list[Table]:
    """P(off) and P(on) for each state of each parent; one array for all, as there may be many of both."""
    active, parents = cpd.active_states, cpd.parents
    most = max((parent.num_states for parent in parents), default=0)
    effects = np.zeros((len(parents), most, 2))
    effects[:, :, 0] = 1.0
    rows, states = np.arange(len(parents)), [parent.index(active[parent.name]) for parent in parents]
    effects[rows, states, 0], effects[rows, states, 1] = 1.0 - cpd.activation, cpd.activation
    return [effect[: parent.num_states] for effect, parent in zip(effects, parents, strict=True)]


def _around(effect: Table, level: int) -> Table:
    """P(lower than the level) and P(at it); for the lowest level the second alone."""
    at = effect[..., level : level + 1]
    return at if level == 0 else np.concatenate([effect[..., :level].sum(axis=-1, keepdims=True), at], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Small factors, and an order that keeps them small."""

    #: Their product, auxiliary variables summed out, is that of the children's distributions.
    factors: tuple[Factor, ...]
    order: tuple[str, ...]  # All variables of the problem, auxiliary ones too, in an order in which to eliminate them
    cost: int  # The table entries, roughly, that this order builds: to compare decompositions by


def decompose(children: Sequence[Causes], others: Iterable[Sequence[Variable]], taken: Iterable[str]) -> Decomposition:
    """Factors of few variables whose product, auxiliary ones summed out, is that of the children's distributions.

    A sum of products, P(y ≤ m | x) = Π_i P(Y_i ≤ m | x_i), would couple each cause to its child alone, but then
    P(y = m) is a difference, and what is left of large sums may be noise. So an elimination order is sought for *that*
    graph, in which each child is a star around one node, and the partial maxima of each child are formed along its
    tree: effects join where the order meets them. Where two branches with partial maxima l and r of the same child
    meet, a variable of 2 levels - 1 states says how the maximum m came about: l = m and r ≤ m, or l < m and r = m.
    All entries are probabilities, and nothing is subtracted.

    `others` are the scopes of all other factors, without observed variables; `taken` are names that auxiliary variables
    must not have. With k children alive in a clique of the star graph's order, tables have of the order of 2^k entries
    on a path and 3^k where branches meet. See Zhang & Poole (1996) for the chain of partial maxima, Díez & Galán (2003)
    for the sum of products.
    """
    scopes = list(others)
    run, cost = _star_elimination(children, scopes)
    names = {str(node) for node in run.order} | {child.child.name for child in children} | set(taken)
    builders = [_Builder(child, names) for child in children]
    order = _walk(run, builders)
    factors = tuple(factor for builder in builders for factor in builder.factors())
    return Decomposition(factors, tuple(order), cost)


def _star_elimination(children: Sequence[Causes], others: Iterable[Sequence[Variable]]) -> tuple[Elimination, int]:
    """A greedy order of the graph in which child i is the node i, linked to its causes and, if not observed, to Y.

    Its price counts a child as the variable that says how two of its partial maxima meet.
    """
    sizes: dict[Node, int] = {}
    edges: dict[tuple[Node, Node], None] = {}  # a set that keeps its order, so that ties break the same in every run
    for number, child in enumerate(children):
        sizes[number] = 2 * child.num_levels - 1
        for variable in child.parents if child.is_observed else (*child.parents, child.child):
            sizes[variable.name] = variable.num_states
            edges[number, variable.name] = None
    for scope in others:
        sizes |= {variable.name: variable.num_states for variable in scope}
        edges |= dict.fromkeys(combinations([variable.name for variable in scope], 2))
    graph = UndirectedGraph(edges, nodes=sizes)
    run = eliminate(graph, elimination_order(graph, "weighted-min-fill", cardinalities=sizes))
    return run, run.cost(sizes)


def _walk(run: Elimination, builders: Sequence[_Builder]) -> list[str]:
    """Follow the elimination of the star graph, forming maxima; the order in which variables can go.

    A cause at the tip of a branch is not joined as a branch but waits to be added, as one more step, to what the
    branches bring to the node above: for k children that costs 2^k entries k times, and not 3^k.
    """
    rank = {node: place for place, node in enumerate(run.order)}
    due = _schedule(run, rank, builders)
    below: dict[Node, list[dict[int, str]]] = {}  # the maxima that reach a node, branch by branch
    tips: dict[Node, list[str]] = {}
    order: list[str] = []
    for node, *around in run.cliques:
        above = min(around, key=rank.__getitem__, default=None)
        if isinstance(node, str) and node in due and node not in below and node not in tips:
            tips.setdefault(above, []).append(node)
            continue
        current: dict[int, str] = {}  # child -> its partial maximum here
        for branch in below.pop(node, []):
            order += _fold(current, branch, builders)
        for name in (*tips.pop(node, []), node):
            order += _add_effects(current, due.get(name, []), builders)
            order += [name] if isinstance(name, str) else []
        if isinstance(node, int):
            current.pop(node, None)
        if current:
            below.setdefault(above, []).append(current)
    return order


def _add_effects(current: dict[int, str], pairs: Iterable[tuple[int, int]], builders: Sequence[_Builder]) -> list[str]:
    """Add effects of parents to the maxima at hand; the variables that can go, in order."""
    gone = []
    for number, parent in pairs:
        gone += [current[number]] if number in current else []
        current[number] = builders[number].step(current.get(number), parent)
    return gone


def _schedule(
    run: Elimination, rank: Mapping[Node, int], builders: Sequence[_Builder]
) -> dict[Node, list[tuple[int, int]]]:
    """Node -> the (child, parent) pairs whose effects join there: where the parent goes, or the child if that is first.

    A parent that touches nothing but the child can join anywhere: it does so at the child's first other parent.
    """
    only = {clique[0]: clique[1] for clique in run.cliques if len(clique) == 2}
    due: dict[Node, list[tuple[int, int]]] = {}
    for number, builder in enumerate(builders):
        names = [parent.name for parent in builder.child.parents]
        alone = [place for place, name in enumerate(names) if only.get(name) == number]
        places = {place: min(names[place], number, key=rank.__getitem__) for place in range(len(names))}
        shared = sorted(places.keys() - set(alone), key=lambda place: rank[places[place]])
        start = places[shared[0]] if shared else number
        for place in (*alone, *shared):
            due.setdefault(start if place in alone else places[place], []).append((number, place))
    return due


def _fold(current: dict[int, str], branch: Mapping[int, str], builders: Sequence[_Builder]) -> list[str]:
    """Join the maxima of a branch to those at hand; the variables that can go, in order."""
    shared = [number for number in branch if number in current]
    gone = [maxima[number] for maxima in (current, branch) for number in shared]
    for number in shared:
        current[number] = builders[number].join(current[number], branch[number])
        gone.append(_way(current[number]))
    current |= {number: maximum for number, maximum in branch.items() if number not in shared}
    return gone


def _way(maximum: str) -> str:
    """The name of the variable that says which of two maxima attains a third."""
    return f"{maximum}?"


@dataclass(frozen=True, slots=True)
class _Step:
    """A maximum: of the `left` one (the leak where there is none at first) and a parent's effect or a `right` one."""

    out: str
    left: str | None
    parent: int | None = None
    right: str | None = None


class _Builder:
    """The maxima of one child in the order in which they are formed; the last one is the child."""

    def __init__(self, child: Causes, taken: set[str]) -> None:
        self.child, self.taken = child, taken
        self.steps: list[_Step] = []

    def step(self, left: str | None, parent: int) -> str:
        """The maximum of one at hand, or of none, and the effect of a parent."""
        self.steps.append(_Step(self._new_name(), left, parent=parent))
        return self.steps[-1].out

    def join(self, left: str, right: str) -> str:
        """The maximum of two."""
        self.steps.append(_Step(self._new_name(), left, right=right))
        return self.steps[-1].out

    def _new_name(self) -> str:
        name = f"{self.child.child.name}≤{len(self.steps) + 1}"
        while name in self.taken or _way(name) in self.taken:
            name += "'"
        self.taken |= {name, _way(name)}
        return name

    def factors(self) -> Iterator[Factor]:
        """The factors of all steps."""
        child = self.child
        if not self.steps:
            yield Factor.scalar(float(child.leak[-1])) if child.is_observed else Factor((child.child,), child.leak)
        maxima = {step.out: Variable(step.out, child.num_levels) for step in self.steps}
        if self.steps and not child.is_observed:
            maxima[self.steps[-1].out] = child.child
        for place, step in enumerate(self.steps):
            is_known = child.is_observed and step is self.steps[-1]
            if step.right is not None:
                yield from _joined(step, maxima, is_known=is_known)
            else:
                factor = self._stepped(step, maxima, is_first=place == 0)
                yield factor.reduce({step.out: child.num_levels - 1}) if is_known else factor

    def _stepped(self, step: _Step, maxima: Mapping[str, Variable], *, is_first: bool) -> Factor:
        """P(m' | m, x) over (M, X, M'), or P(m' | x) over (X, M')."""
        assert step.parent is not None
        parent, effect = self.child.parents[step.parent], self.child.effects[step.parent]
        if step.left is not None:
            return Factor((maxima[step.left], parent, maxima[step.out]), _step_table(effect))
        table = np.tensordot(self.child.leak, _step_table(effect), axes=1) if is_first else effect
        return Factor((parent, maxima[step.out]), table)


def _step_table(effect: Table) -> Table:
    """P(max(m, Y_i) = m' | x_i) over (m, x_i, m'): no entry is a difference."""
    at = np.arange(effect.shape[-1])
    table = np.where(at[:, None, None] < at, effect, 0.0)
    table[at, :, at] = np.minimum(np.cumsum(effect, axis=-1), 1.0).T
    return table


def _joined(step: _Step, maxima: Mapping[str, Variable], *, is_known: bool) -> list[Factor]:
    """m = max(l, r) through a variable that says which of both attains it; only the top level where m is known."""
    assert step.left is not None
    assert step.right is not None
    out, left, right = maxima[step.out], maxima[step.left], maxima[step.right]
    at, top = np.arange(out.num_states), out.num_states - 1
    levels = np.concatenate([at, at[1:]])  # the left one attains m, r ≤ m; then the right one does, l < m
    by_left = np.arange(len(levels)) <= top
    kept = np.flatnonzero(levels == top) if is_known else np.arange(len(levels))
    levels, by_left = levels[kept, None], by_left[kept, None]
    way = Variable(_way(step.out), len(kept))
    return [
        Factor((way, left), np.where(by_left, at == levels, at < levels)),
        Factor((way, right), np.where(by_left, at <= levels, at == levels)),
        *([] if is_known else [Factor((way, out), at == levels)]),
    ]
