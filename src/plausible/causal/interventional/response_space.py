"""Response types of a discrete causal graph, and collapsed Gibbs sampling of those that brought about rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plausible.base import Floats, Ints
from plausible.causal.functional.responses import MAX_TYPES, all_functions, written_product
from plausible.causal.queries.observed import CausalLike
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.graphs import CausalGraph
from plausible.graphs.causal_graph import read_causes
from plausible.variables import Variable

Masks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ResponseComponent:
    """Variables with dependent responses: their joint types are all combinations of a function for each."""

    names: tuple[str, ...]  # The variables of a district of the graph, in topological order.
    shape: tuple[int, ...]  # How many functions each of them has; a joint type is a place in an array of this shape.

    @property
    def num_types(self) -> int:
        """The number of joint types."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """What rows say about the types of one component: rows with equal cells together."""

    sizes: Ints  # For each group how many rows it has.
    # By group and joint type, whether the type could have brought about these cells.
    allowed: Masks = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class ResponseSpace:
    """The response types of a graph of discrete variables; made by `of`.

    A variable with k states whose parents have m joint states has k^m functions; a root has one for each state.
    Variables that latent causes connect, a district of the graph, have joint types.
    """

    graph: CausalGraph  # Causes, and latent common causes
    variables: Mapping[str, Variable]  # Name -> variable, in topological order
    #: Name -> an array: for each function its value, a state position, at each joint state of the parents.
    functions: Mapping[str, Ints] = field(repr=False)
    components: tuple[ResponseComponent, ...]  # The districts

    @classmethod
    def of(
        cls, graph: CausalLike, variables: Mapping[str, Variable] | Iterable[Variable], max_types: int = MAX_TYPES
    ) -> ResponseSpace:
        """The response types of variables with these causes.

        Parameters
        ----------
        graph
            A causal graph, a DAG or arrow text; all its nodes are variables.

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
            UnknownVariable.check(name, known, "the data, though the graph has it")
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
        functions = {name: all_functions(sizes[name], num_contexts[name]) for name in order}
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


#: A pseudo-count of every joint type, or names of a component -> pseudo-counts by the functions of each variable.
ResponsePrior: TypeAlias = "float | Mapping[tuple[str, ...], ArrayLike]"


class ResponseProblem(NamedTuple):
    """All that sampling needs: for each component what rows say, and pseudo-counts of its joint types."""

    cells: tuple[Cells, ...]
    pseudo_counts: tuple[Floats, ...]

    @classmethod
    def of(cls, space: ResponseSpace, table: Table, prior: ResponsePrior) -> ResponseProblem:
        """The problem of complete rows under Dirichlet priors; a type with the pseudo-count 0 does not occur."""
        for name in space.variables:
            if name in table.missing:
                raise InvalidArgument(
                    f"{name!r} is missing in {table.missing[name]} of {table.num_rows} rows; response types are "
                    "learned from complete rows. Leave these rows out, or impute them."
                )
        if table.weights is not None and not np.array_equal(table.weights, np.rint(table.weights)):
            raise InvalidArgument("Types are drawn for rows: weights must be whole numbers, how often each occurs.")
        cells = tuple(space.cells(table, part) for part in space.components)
        pseudo_counts = _pseudo_counts(space.components, prior)
        for part, said, alpha in zip(space.components, cells, pseudo_counts, strict=True):
            if (~(said.allowed & (alpha > 0)).any(axis=1) & (said.sizes > 0)).any():
                raise ImpossibleEvidence(
                    f"Some rows contradict the prior: no type of {', '.join(map(repr, part.names))} with a "
                    "pseudo-count above 0 can have brought them about."
                )
        return cls(cells, pseudo_counts)


class ResponseState(NamedTuple):
    """Where chains are."""

    # For each component, by chain, group of equal rows and type: how many rows of the group have the type.
    counts: tuple[Ints, ...]
    random: Mapping[str, Any]  # The state of their random numbers.


def start_responses(problem: ResponseProblem, num_chains: int, seed: np.random.Generator) -> ResponseState:
    """Chains at types drawn from the prior, given what each row says."""
    nowhere = [
        np.zeros((num_chains, len(said.sizes), len(alpha)), dtype=np.int64)
        for said, alpha in zip(problem.cells, problem.pseudo_counts, strict=True)
    ]
    first = ResponseState(tuple(nowhere), np.random.PCG64(int(seed.integers(2**63))).state)
    return response_step(problem, first)


def response_step(problem: ResponseProblem, state: ResponseState) -> ResponseState:
    """Draw the types of all rows anew, those of one group of equal rows at a time given all others.

    With the probabilities of types integrated out, the types of a group of n rows have a Dirichlet-multinomial
    distribution: pseudo-counts plus the counts of all other rows, restricted to the types that the group allows. So a
    step costs O(groups x types), however many rows there are.
    """
    generator = np.random.PCG64(0)
    generator.state = dict(state.random)  # type: ignore[assignment]  # what it gave itself
    random = np.random.Generator(generator)
    drawn = [
        redraw(random, said, alpha, before)
        for said, alpha, before in zip(problem.cells, problem.pseudo_counts, state.counts, strict=True)
    ]
    return ResponseState(tuple(drawn), random.bit_generator.state)


def redraw(random: np.random.Generator, said: Cells, alpha: Floats, before: Ints) -> Ints:
    """The types of the rows of one component, drawn anew group by group; by chain, group and type."""
    counts = before.copy()
    weights = alpha + counts.sum(axis=1)
    for group, (size, allowed) in enumerate(zip(said.sizes.tolist(), said.allowed & (alpha > 0), strict=True)):
        if size:
            places = np.flatnonzero(allowed)
            others = weights[:, places] - counts[:, group, places]
            fresh = draw_types(random, size, others)
            counts[:, group, places] = fresh
            weights[:, places] = others + fresh
    return counts


def draw_types(random: np.random.Generator, size: int, weights: Floats) -> Ints:
    """How many of `size` rows have each type, by chain: Dirichlet-multinomial with these pseudo-counts."""
    shares = np.maximum(random.standard_gamma(weights), np.finfo(float).tiny)
    return np.asarray(random.multinomial(size, shares / shares.sum(axis=1, keepdims=True)))


def _pseudo_counts(components: Sequence[ResponseComponent], prior: ResponsePrior) -> tuple[Floats, ...]:
    """For each component the pseudo-counts of its joint types, all one where a mapping leaves it out."""
    if not isinstance(prior, Mapping):
        if not 0 < prior < float("inf"):
            raise InvalidArgument(f"prior={prior!r}: the pseudo-count of every type is a positive number.")
        return tuple(np.full(part.num_types, float(prior)) for part in components)
    found = {part.names: np.ones(part.num_types) for part in components}
    seen: dict[tuple[str, ...], object] = {}
    for key, given in prior.items():
        names = tuple(key)
        part = next((part for part in components if sorted(part.names) == sorted(names)), None)
        if part is None:
            listed = ", ".join(str(part.names) for part in components)
            raise InvalidArgument(f"prior= has {key!r}, but the components of this graph are {listed}.")
        if part.names in seen:
            raise InvalidArgument(f"prior= has the component {part.names} twice, as {seen[part.names]!r} and {key!r}.")
        seen[part.names] = key
        # Pseudo-counts with axes in the order of these names, flat in the order of the component.
        counts = np.asarray(given, dtype=np.float64)
        shape = tuple(part.shape[part.names.index(name)] for name in names)
        if counts.shape != shape or not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
            raise InvalidArgument(
                f"The pseudo-counts of {names} are an array of the shape {shape}, of numbers that are not negative and "
                f"not all zero; this one has the shape {counts.shape}."
            )
        found[part.names] = counts.transpose([names.index(name) for name in part.names]).ravel()
    return tuple(found.values())
