"""Means, covariances and samples from regressions that were turned round: substitution from the last to the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.factors.alignment import Scope
from plausible.inference.gaussian.elimination import Shape
from plausible.inference.gaussian.regression import Array, Regression, joint_scope, spread


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Means and covariances of some variables, for each configuration of some discrete ones."""

    names: tuple[str, ...]  # The continuous variables
    scope: Scope  # The discrete variables
    mean: Array  # Shape `(*scope, len(names))`
    covariance: Array  # Shape `(*scope, len(names), len(names))`

    def part(self, names: Sequence[str]) -> Moments:
        """The moments of some of the variables."""
        if tuple(names) == self.names:
            return self
        axes = np.array([self.names.index(name) for name in names], dtype=np.intp)
        covariance = self.covariance[..., axes[:, None], axes]
        return Moments(tuple(names), self.scope, self.mean[..., axes], covariance)


def joint_moments(steps: Sequence[Regression]) -> Moments:
    """The joint moments of the variables of some steps that depend on each other only; names in reverse order.

    cov(x, others) = coefficients · cov(parents, others): O(n² w) for each configuration.
    """
    scope = joint_scope([(), *(step.scope for step in steps)])
    shape = tuple(variable.num_states for variable in scope)
    names = tuple(step.name for step in reversed(steps))
    mean, covariance = np.zeros((*shape, len(names))), np.zeros((*shape, len(names), len(names)))
    places = {name: place for place, name in enumerate(names)}
    for place, step in enumerate(reversed(steps)):
        line = step.over(scope, step.parents)
        axes = [places[name] for name in step.parents]
        mean[..., place] = line.intercept + np.einsum("...i,...i->...", line.coefficients, mean[..., axes])
        cross = np.einsum("...i,...ij->...j", line.coefficients, covariance[..., axes, :place])
        covariance[..., place, :place] = covariance[..., :place, place] = cross
        covariance[..., place, place] = line.variance + np.einsum("...i,...i->...", line.coefficients, cross[..., axes])
    return Moments(names, scope, mean, covariance)


def marginal_moments(steps: Sequence[Regression]) -> dict[str, Moments]:
    """The moments of each variable by itself, given the discrete variables that it depends on.

    Down the tree of cliques of the elimination, from the last variable to the first: the covariance of a variable's
    parents is part of that of the clique of the one among them that was eliminated first. O(n w²) for each
    configuration.
    """
    separators = _separators([(step.name, step.parents) for step in steps])
    nothing = Moments((), (), np.zeros(0), np.zeros((0, 0)))
    cliques: dict[str, Moments] = {}
    for step in reversed(steps):
        separator = separators[step.name]
        cliques[step.name] = _with(cliques[separator[0]].part(separator) if separator else nothing, step)
    return {name: clique.part([name]) for name, clique in cliques.items()}


def marginal_shapes(steps: Sequence[Shape]) -> dict[str, tuple[Scope, int]]:
    """For each variable the discrete scope of its clique's moments, and the numbers for each configuration."""
    separators = _separators([(step.name, step.parents) for step in steps])
    scopes: dict[str, Scope] = {}
    for step in reversed(steps):
        separator = separators[step.name]
        scopes[step.name] = joint_scope([step.scope, *(scopes[name] for name in separator[:1])])
    return {name: (scope, (len(separators[name]) + 1) * (len(separators[name]) + 2)) for name, scope in scopes.items()}


def _separators(families: Sequence[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """For each variable those of its clique that are eliminated later, the first of them in front.

    Parents that do not depend on each other share no regression: the first passes the others on to its own clique.
    """
    rank = {name: place for place, (name, _) in enumerate(families)}
    found = {name: set(parents) for name, parents in families}
    for name, _ in families:
        if found[name]:
            first = min(found[name], key=rank.__getitem__)
            found[first] |= found[name] - {first}
    return {name: sorted(later, key=rank.__getitem__) for name, later in found.items()}


def _with(above: Moments, step: Regression) -> Moments:
    """The moments with one more variable in front."""
    scope = joint_scope((above.scope, step.scope))
    line = step.over(scope, above.names)
    mean, covariance = spread(above.mean, above.scope, scope), spread(above.covariance, above.scope, scope)
    cross = np.einsum("...i,...ij->...j", line.coefficients, covariance)
    own = line.variance + np.einsum("...i,...i->...", line.coefficients, cross)
    center = line.intercept + np.einsum("...i,...i->...", line.coefficients, mean)
    shape, size = tuple(variable.num_states for variable in scope), len(above.names) + 1
    means, covariances = np.empty((*shape, size)), np.empty((*shape, size, size))
    means[..., 0], means[..., 1:] = center, mean
    covariances[..., 0, 0], covariances[..., 1:, 1:] = own, covariance
    covariances[..., 0, 1:] = covariances[..., 1:, 0] = cross
    return Moments((step.name, *above.names), scope, means, covariances)


def draw(
    steps: Sequence[Regression], columns: Mapping[str, npt.NDArray[Any]], num_rows: int, generator: np.random.Generator
) -> dict[str, Array]:
    """A column for each variable: rows drawn from the regressions, given positions of the discrete variables."""
    drawn: dict[str, Array] = {}
    for step in reversed(steps):
        place = tuple(columns[variable.name] for variable in step.scope)
        center = np.broadcast_to(step.intercept[place], num_rows)
        for axis, name in enumerate(step.parents):
            center = center + step.coefficients[(*place, axis)] * drawn[name]
        drawn[step.name] = center + np.sqrt(step.variance[place]) * generator.standard_normal(num_rows)
    return drawn
