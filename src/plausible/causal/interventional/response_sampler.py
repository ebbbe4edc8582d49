"""Collapsed Gibbs sampling of response types: which functions brought about the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

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
        pseudo_counts = tuple(_pseudo_counts(part, prior) for part in space.components)
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


def _pseudo_counts(part: ResponseComponent, prior: ResponsePrior) -> Floats:
    if not isinstance(prior, Mapping):
        if not 0 < prior < float("inf"):
            raise InvalidArgument(f"prior={prior!r}: the pseudo-count of every type is a positive number.")
        return np.full(part.num_types, float(prior))
    if part.names not in prior:
        return np.ones(part.num_types)
    given = np.asarray(prior[part.names], dtype=np.float64)
    if given.shape != part.shape or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise InvalidArgument(
            f"The pseudo-counts of {part.names} are an array of the shape {part.shape}, of numbers that are not "
            f"negative and not all zero; this one has the shape {given.shape}."
        )
    return given.ravel()
