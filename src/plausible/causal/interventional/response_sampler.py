"""Collapsed Gibbs sampling of response types: which functions brought about the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats, Ints
from plausible.causal.interventional.response_space import Cells, ResponseComponent, ResponseSpace
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument

__all__ = [
    "ResponsePrior",
    "ResponseProblem",
    "ResponseState",
    "draw_types",
    "redraw",
    "response_step",
    "start_responses",
]


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
    """Where chains are.

    Attributes
    ----------
    counts
        For each component, by chain, group of equal rows and type: how many rows of the group have the type.
    random
        The state of their random numbers.
    """

    counts: tuple[Ints, ...]
    random: Mapping[str, Any]

    def type_counts(self, component: int) -> Ints:
        """By chain and type of a component, how many rows have the type."""
        return np.asarray(self.counts[component].sum(axis=1))


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
        found[part.names] = _read_counts(part, names, given)
    return tuple(found.values())


def _read_counts(part: ResponseComponent, names: tuple[str, ...], given: ArrayLike) -> Floats:
    """Pseudo-counts with axes in the order of these names, flat in the order of the component."""
    counts = np.asarray(given, dtype=np.float64)
    shape = tuple(part.shape[part.names.index(name)] for name in names)
    if counts.shape != shape or not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
        raise InvalidArgument(
            f"The pseudo-counts of {names} are an array of the shape {shape}, of numbers that are not negative and not "
            f"all zero; this one has the shape {counts.shape}."
        )
    return counts.transpose([names.index(name) for name in part.names]).ravel()
