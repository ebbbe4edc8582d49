"""Response types of a discrete causal graph: the functions from causes to effect, jointly for confounded variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.causal.functional.responses import MAX_TYPES, written_product
from plausible.data.table import Table
from plausible.errors import NotSupported, TooLarge, UnknownVariable
from plausible.graphs import CausalGraph
from plausible.graphs.causal_graph import read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.variables import Variable

__all__ = ["Cells", "ResponseComponent", "ResponseSpace"]

Masks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ResponseComponent:
    """Variables with dependent responses: their joint types are all combinations of a function for each.

    Attributes
    ----------
    names
        The variables of a district of the graph, in topological order.
    shape
        How many functions each of them has; a joint type is a place in an array of this shape.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def num_types(self) -> int:
        """The number of joint types."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What rows say about the types of one component: rows with equal cells together.

    Attributes
    ----------
    sizes
        For each group how many rows it has.
    allowed
        By group and joint type, whether the type could have brought about these cells.
    """

    sizes: Ints
    allowed: Masks = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class ResponseSpace:
    """The response types of a graph of discrete variables; made by `of`.

    A variable with k states whose parents have m joint states has k^m functions; a root has one for each state.
    Variables that latent causes connect, a district of the graph, have joint types.

    Attributes
    ----------
    graph
        Causes, and latent common causes.
    variables
        Name -> variable, in topological order.
    functions
        Name -> an array: for each function its value, a state position, at each joint state of the parents.
    components
        The districts.
    """

    graph: CausalGraph
    variables: Mapping[str, Variable]
    functions: Mapping[str, Ints] = field(repr=False)
    components: tuple[ResponseComponent, ...]

    @classmethod
    def of(
        cls,
        graph: GraphLike[DAG | CausalGraph],
        variables: Mapping[str, Variable] | Iterable[Variable],
        max_types: int = MAX_TYPES,
    ) -> ResponseSpace:
        """The response types of variables with these causes.

        Parameters
        ----------
        graph
            A causal graph, a DAG or arrow text; all its nodes are variables.
        variables
            Discrete ones.
        max_types
            A component with more joint types is refused.

        Examples
        --------
        >>> space = ResponseSpace.of("A -> T -> O; T <-> O", [Variable(name, 2) for name in "ATO"])
        >>> [(part.names, part.num_types) for part in space.components]
        [(('A',), 2), (('T', 'O'), 16)]
        >>> space.functions["T"].tolist()  # never, complier, defier, always
        [[0, 0], [0, 1], [1, 0], [1, 1]]
        """
        known = {v.name: v for v in (variables.values() if isinstance(variables, Mapping) else variables)}
        causal = CausalGraph(read_causes(graph))
        order = [str(node) for node in causal.topological_order]
        for name in order:
            if name not in known:
                raise UnknownVariable.named(name, known, "the data, though the graph has it")
            if known[name].is_continuous:
                raise NotSupported(f"{name!r} is continuous: only discrete variables have response types.")
        sizes = {name: known[name].num_states for name in order}
        num_contexts = {name: math.prod(sizes[str(parent)] for parent in causal.parents(name)) for name in order}
        numbers = {name: sizes[name] ** num_contexts[name] for name in order}
        components = []
        for district in causal.districts:
            names = tuple(name for name in order if name in district)
            components.append(ResponseComponent(names, tuple(numbers[name] for name in names)))
            if components[-1].num_types > max_types:
                raise TooLarge(
                    f"The responses of {', '.join(map(repr, names))} have "
                    f"{written_product(components[-1].shape)} joint types, more than {max_types}. Take variables with "
                    "fewer states, fewer parents, or fewer latent causes."
                )
        functions = {name: _functions(sizes[name], num_contexts[name]) for name in order}
        components.sort(key=lambda part: order.index(part.names[0]))
        return cls(causal, {name: known[name] for name in order}, functions, tuple(components))

    def contexts(self, name: str, values: Mapping[str, Ints]) -> Ints:
        """The joint state of the parents of a variable, as a number, from the states of each."""
        places: Ints = np.zeros((), dtype=np.int64)
        for parent in self.graph.parents(name):
            places = places * self.variables[str(parent)].num_states + values[str(parent)]
        return places

    def cells(self, table: Table, component: ResponseComponent) -> Cells:
        """What the rows of a complete table say about the types of a component.

        A variable that was set from outside in a row says nothing about its own response there.
        """
        causes = (str(parent) for name in component.names for parent in self.graph.parents(name))
        needed = list(dict.fromkeys([*component.names, *causes]))
        is_set = [table.interventions.get(name, np.zeros(table.num_rows, np.bool_)) for name in component.names]
        rows = np.array([*(table.column(name) for name in needed), *is_set], dtype=np.int64)
        groups, places = np.unique(rows, axis=1, return_inverse=True)
        weights = np.bincount(places.ravel(), table.weights, groups.shape[1])
        values = dict(zip(needed, groups, strict=False))
        marks = dict(zip(component.names, groups[len(needed) :].astype(np.bool_), strict=True))
        allowed = np.ones((groups.shape[1], 1), dtype=np.bool_)
        for name in component.names:
            contexts = np.broadcast_to(self.contexts(name, values), groups.shape[1])
            fits = (self.functions[name][:, contexts] == values[name]) | marks[name]
            allowed = (allowed[:, :, None] & fits.T[:, None, :]).reshape(groups.shape[1], allowed.shape[1] * len(fits))
        return Cells(np.rint(weights).astype(np.int64), allowed)


def _functions(num_states: int, num_contexts: int) -> Ints:
    """All functions from m contexts to k states, in the order of numbers with m digits of base k."""
    digits = num_states ** np.arange(num_contexts)[::-1]
    return np.asarray(np.arange(num_states**num_contexts)[:, None] // digits % num_states, dtype=np.int64)
