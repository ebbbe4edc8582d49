"""Elimination of continuous variables from regressions by arc reversal: order, price and run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import combinations
from typing import Protocol, Self, TypeAlias, TypeVar

from plausible.base import Argument, Remedy, format_roughly
from plausible.errors import TooLarge
from plausible.factors.alignment import MAX_ENTRIES, Scope, num_entries
from plausible.graphs import UndirectedGraph, elimination_order
from plausible.graphs.nodes import Node
from plausible.inference.budget import Budget
from plausible.inference.gaussian.regression import (
    EvidenceWeight,
    Regression,
    evidence_weight,
    joint_scope,
    reverse_arc,
    rotate,
)


class _Line(Protocol):
    """What the elimination needs to know of a regression, or of its mere shape."""

    @property
    def name(self) -> str: ...

    @property
    def parents(self) -> tuple[str, ...]: ...

    def given(self, states: Mapping[str, int], values: Mapping[str, float]) -> Self: ...

    def against(self, value: float) -> Self: ...


_L = TypeVar("_L", bound=_Line)


#: The two operations on lines: the reversal of an arc and a rotation.
_Algebra: TypeAlias = tuple[Callable[[_L, _L], tuple[_L, _L]], Callable[[_L, _L, str], tuple[_L, _L]]]


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """A set of regressions turned round."""

    #: For each eliminated variable, in order, its regression on variables that were eliminated later. Taken from the
    #: last to the first they are a network of the same variables given the evidence.
    steps: tuple[Regression, ...]
    #: The density of each observed variable given those before: their product is that of the evidence.
    weights: tuple[EvidenceWeight, ...]


def eliminate(regressions: Iterable[Regression], order: Sequence[str], values: Mapping[str, float]) -> Elimination:
    """Eliminate all variables that are not observed, and enter the observed numbers on the way.

    An observed variable is cut off from its children, which take up its number. Each hidden variable in turn has the
    arcs to its children reversed, the nearest child first, until it has none; its regression is then set aside. Where
    several observed variables hang on it, rotations leave one of them there, so that they do not pile up. The families
    on the way are those of elimination in the moral graph, so the cost is that of a clique tree: O(n w²) for each
    configuration of the discrete variables that meet. Parents without a regression must be observed.

    >>> from plausible.variables import Variable
    >>> x = Regression.of(Variable("x"), [], (), 1.0, [], 4.0)
    >>> y = Regression.of(Variable("y"), ["x"], (), -3.5, [0.5], 4.0)
    >>> done = eliminate([x, y], ["x"], {"y": 2.0})
    >>> float(done.steps[0].intercept), round(float(done.weights[0].log_density), 6)
    (3.0, -4.223657)
    """
    steps, leaves = _run(list(regressions), order, values, (reverse_arc, rotate))
    return Elimination(tuple(steps), tuple(map(evidence_weight, leaves)))


def _run(
    lines: Sequence[_L], order: Sequence[str], values: Mapping[str, float], algebra: _Algebra[_L]
) -> tuple[list[_L], list[_L]]:
    """The eliminated lines in order, and those of the observed variables, which have no parents any more."""
    reverse, rotate = algebra
    rank = {name: place for place, name in enumerate(topological(lines))}
    current = {line.name: line.given({}, values) for line in lines}
    current |= {name: line.against(values[name]) for name, line in current.items() if name in values}
    children: dict[str, set[str]] = {name: set() for name in current}

    def put(line: _L) -> None:
        for parent in current[line.name].parents:
            children[parent].discard(line.name)
        for parent in line.parents:
            children[parent].add(line.name)
        current[line.name] = line

    def place(child: str) -> float:
        """Parents come before children; an observed variable, which has none, right behind its last other parent."""
        if child not in values:
            return rank[child]
        return max((rank[parent] for parent in current[child].parents if parent != name), default=-1) + 0.5

    for line in list(current.values()):
        put(line)
    steps = []
    for name in order:
        for row in _rotated([current[child] for child in children[name] if child in values], name, rotate):
            put(row)
        line = current[name]
        for parent in line.parents:
            children[parent].discard(name)
        # The nearest child has no path from here but the arc itself; then the next one has none.
        for child in sorted(children[name], key=lambda child: (place(child), rank[child])):
            line, turned = reverse(line, current[child])
            put(turned)
            if child in values:
                line = line.given({}, {child: 0.0})
        del current[name]
        steps.append(line)
    return steps, list(current.values())


def _rotated(rows: Sequence[_L], name: str, rotate: Callable[[_L, _L, str], tuple[_L, _L]]) -> list[_L]:
    """The same observed lines, one of them with the named parent; no more of them with parents than there are."""
    left = sorted(rows, key=lambda row: (len(row.parents), row.name))
    if len(left) < 2:
        return []
    columns = [name, *dict.fromkeys(parent for row in left for parent in row.parents if parent != name)]
    done: list[_L] = []
    while columns and (not done or len(left) > len(columns)):
        column = columns.pop(0)
        touched = [row for row in left if column in row.parents]
        left = [row for row in left if column not in row.parents]
        if touched:
            pivot, *others = touched
            for row in others:
                pivot, free = rotate(pivot, row, column)
                left.append(free)
            done.append(pivot)
    return [*done, *left]


def topological(lines: Iterable[_Line]) -> list[str]:
    """The names, parents first; parents that have no line of their own are left out."""
    parents = {line.name: line.parents for line in lines}
    inside = {name: [p for p in above if p in parents] for name, above in parents.items()}
    return list(TopologicalSorter(inside).static_order())


@dataclass(frozen=True, slots=True)
class Shape:
    """A regression without its numbers: enough to know what an elimination costs."""

    name: str
    parents: tuple[str, ...]
    scope: Scope

    def given(self, states: Mapping[str, int], values: Mapping[str, float]) -> Shape:
        """The shape where some parents are observed."""
        if not any(name in values for name in self.parents):
            return self
        return Shape(self.name, tuple(name for name in self.parents if name not in values), self.scope)

    def against(self, value: float) -> Shape:
        return self

    @property
    def entries(self) -> int:
        """The numbers of the regression: for each configuration the coefficients and three more."""
        return num_entries(self.scope) * (len(self.parents) + 3)


def shape_of(regression: Regression) -> Shape:
    return Shape(regression.name, regression.parents, regression.scope)


def _reverse_shapes(parent: Shape, child: Shape) -> tuple[Shape, Shape]:
    scope = joint_scope((parent.scope, child.scope))
    shared = tuple(dict.fromkeys((*parent.parents, *(name for name in child.parents if name != parent.name))))
    return Shape(parent.name, (*shared, child.name), scope), Shape(child.name, shared, scope)


def _rotate_shapes(pivot: Shape, row: Shape, column: str) -> tuple[Shape, Shape]:
    scope = joint_scope((pivot.scope, row.scope))
    shared = tuple(dict.fromkeys(name for name in (*pivot.parents, *row.parents) if name != column))
    return Shape(pivot.name, (*shared, column), scope), Shape(row.name, shared, scope)


def plan_elimination(
    shapes: Iterable[Shape], order: Sequence[str], observed: Iterable[str]
) -> tuple[list[Shape], list[Shape]]:
    """The shapes of the steps and of the weights that `eliminate` will come to, without any numbers."""
    return _run(list(shapes), order, dict.fromkeys(observed, 0.0), (_reverse_shapes, _rotate_shapes))


def strong_order(shapes: Sequence[Shape], observed: Collection[str], keep: Sequence[str]) -> list[str]:
    """An order for all hidden variables: first those with nothing observed or kept below them, the kept ones last.

    Discrete variables stay to the end, as strong elimination demands (Lauritzen 1992): a sum of Gaussians is none. In
    between the order is greedy, by the fill in the moral graph, in which a discrete variable weighs its states.
    """
    upward = topological(shapes)[::-1]
    by_name = {shape.name: shape for shape in shapes}
    needed, frontier = {*observed, *keep}, [*observed, *keep]
    while frontier:
        name = frontier.pop()
        for parent in by_name[name].parents if name in by_name else ():
            if parent not in needed:
                needed.add(parent)
                frontier.append(parent)
    needed -= set(observed)
    barren = [name for name in upward if name not in needed and name not in observed]
    moral = _moral_graph([by_name[name] for name in upward if name in needed or name in observed], observed)
    discrete = {variable.name: variable.num_states for shape in shapes for variable in shape.scope}
    sizes: dict[Node, int] = {name: discrete.get(str(name), 2) for name in moral.nodes}
    kept = [name for name in upward if name in set(keep)]
    fixed = [*kept, *(name for name in discrete if name in sizes)]
    greedy = elimination_order(moral, "weighted-min-fill", cardinalities=sizes, keep=fixed)
    return [*barren, *map(str, greedy), *kept]


def _moral_graph(shapes: Sequence[Shape], observed: Collection[str]) -> UndirectedGraph:
    """Families as cliques, without what is observed; discrete variables are tied to continuous ones only."""
    edges: list[tuple[Node, Node]] = []
    nodes: list[Node] = []
    for shape in shapes:
        family = [name for name in (shape.name, *shape.parents) if name not in observed]
        nodes += family
        edges += combinations(family, 2)
        edges += ((name, variable.name) for name in family for variable in shape.scope)
    return UndirectedGraph(edges, nodes=dict.fromkeys(nodes))


#: Memory for each number, with the copies on its way; seconds for each number, and for each step.
_BYTES, _SECONDS, _STEP = 16, 6e-8, 2e-4

_FEWER = (Remedy("observe some of these variables"), Remedy("ask about fewer"))
_CAN_BE_RAISED = Remedy("raise ", Argument("budget"), " of the question or of compile")
_IS_TOO_LARGE = Remedy("make some of them independent: no budget allows so many configurations")
_SAMPLE = Remedy(
    "where nothing is observed, average over the rows of `sample`, which draws forward along the edges at no such cost"
)


@dataclass(frozen=True, slots=True)
class NumbersCost:
    """The price of an elimination of continuous variables, known from scopes alone."""

    #: For each table of regressions or moments: the continuous variable, the discrete scope, and the numbers.
    tables: tuple[tuple[str, Scope, int], ...]
    num_steps: int  # How many regressions there are

    @property
    def entries(self) -> int:
        """The numbers of all tables together."""
        return sum(numbers for _, _, numbers in self.tables)

    @property
    def bytes(self) -> int:
        """Memory, copies included."""
        return _BYTES * self.entries

    @property
    def seconds(self) -> float:
        """Time, roughly."""
        return _STEP * self.num_steps + _SECONDS * min(self.entries, 10**300)

    @property
    def is_possible(self) -> bool:
        """Whether no table has more configurations than an array may have."""
        return all(num_entries(scope) <= MAX_ENTRIES for _, scope, _ in self.tables)

    def is_within(self, budget: Budget) -> bool:
        return self.is_possible and self.bytes <= budget.bytes and self.seconds <= budget.seconds

    def check(self, budget: Budget) -> None:
        """Refuse what `is_within` denies: with the discrete variables that meet, the price, and what can be done."""
        if self.is_within(budget):
            return
        name, scope, _ = max(self.tables, key=lambda table: table[2])
        price = (
            f"{_counted(self.entries)} numbers. It would take about {format_roughly(self.seconds)} s and "
            f"{_gibibytes(self.bytes)} GiB; the budget is {budget.seconds:g} s and {_gibibytes(budget.bytes)} GiB."
        )
        remedies = (*_FEWER, _CAN_BE_RAISED if self.is_possible else _IS_TOO_LARGE, _SAMPLE)
        if not scope:
            reason = f"The joint distribution of {name!r} and what it depends on needs {price}"
            raise TooLarge(reason, remedies=remedies)
        shown = ", ".join(str(variable) for variable in scope[:8]) + (", ..." if len(scope) > 8 else "")
        raise TooLarge(
            f"{name!r} depends on {len(scope)} discrete variables at once, ({shown}), which have "
            f"{_counted(num_entries(scope))} configurations: a Gaussian for each needs {price} Where continuous "
            "variables in a row each have a discrete parent of their own, exact inference grows exponentially with "
            "their number.",
            remedies=remedies,
        )

    def left_of(self, budget: Budget) -> Budget:
        """What an elimination within the budget leaves for what comes after it."""
        return Budget(max(budget.seconds - self.seconds, 1e-9), max(budget.bytes - self.bytes, 1))


def _counted(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{float(min(number, 10**300)):.3g}"


def _gibibytes(number: int) -> str:
    return f"{float(min(number, 10**300)) / 2**30:.3g}"
