"""Mixtures of Gaussians: what a hybrid model says about continuous and discrete variables together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base import WRITTEN_ROUNDING, Floats, QueryInfo, TextTable, format_number, num_shown
from plausible.errors import InvalidArgument, InvalidFactor, NotSupported, counted
from plausible.factors.alignment import Scope, assignment_at, axes_named
from plausible.factors.definite import LOG_2PI, Matrix, Vector, definite, real_numbers, semi_definite
from plausible.factors.factor import Factor
from plausible.factors.moments import MomentGaussian
from plausible.factors.normal import GaussianValue, filled, read_continuous_scope, read_point
from plausible.variables import State, Variable


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class GaussianMixture(GaussianValue):
    """P(d) N(x; mean(d), covariance(d)): a Gaussian over continuous variables for each discrete configuration d.

    Parameters
    ----------
    weights
        P(d): a normalised factor over the discrete variables; its `.info` says how the answer was got.
    scope
        The continuous variables, or their names.
    means
        Shape `(*weights.shape, n)`.
    covariances
        Shape `(*weights.shape, n, n)`; each positive semi-definite.
    collapsed
        The names of discrete variables that were summed out inside the components. Where there are any, means and
        covariances are still exact, but a component is itself a mixture, and there is no density to give.

    Examples
    --------
    >>> kind = Factor({"kind": ["a", "b"]}, [0.25, 0.75])
    >>> both = GaussianMixture(kind, ["x"], [[0.0], [4.0]], [[[1.0]], [[2.0]]])
    >>> print(both)
    kind | weight | mean[x] | var[x]
    -----+--------+---------+-------
    a    |   0.25 |       0 |      1
    b    |   0.75 |       4 |      2
    >>> both.moments().means, both.moments().variances
    ({'x': 3.0}, {'x': 4.75})
    >>> both.density({"x": [0.0, 4.0]}).round(6)
    array([0.103611, 0.211605])
    """

    _noun = "this mixture"

    weights: Factor
    scope: Scope
    means: Vector
    covariances: Matrix
    collapsed: tuple[str, ...]

    def __init__(
        self,
        weights: Factor,
        scope: Iterable[Variable | str],
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        collapsed: Iterable[str] = (),
    ) -> None:
        variables = read_continuous_scope(scope)
        if not weights.is_distribution():
            raise InvalidFactor(f"The weights over {list(weights.names)} sum to {weights.sum():g}, not to one.")
        names, size = [variable.name for variable in variables], len(variables)
        if shared := set(names) & set(weights.names):
            raise InvalidFactor(f"{min(shared)!r} is both discrete and continuous in this mixture.")
        center = _shaped(means, (*weights.shape, size), f"The means of {names}")
        matrices = _shaped(covariances, (*weights.shape, size, size), f"The covariances of {names}")
        for place, matrix in enumerate(matrices.reshape(-1, size, size)):
            if not np.allclose(matrix, matrix.T) or semi_definite(matrix).defect > WRITTEN_ROUNDING:
                raise InvalidFactor(
                    f"The covariance of {names} at {dict(assignment_at(weights.scope, place))} is not symmetric and "
                    "positive semi-definite."
                )
        parts = {"weights": weights, "scope": variables, "means": center, "covariances": matrices}
        filled(self, **parts, collapsed=tuple(collapsed))

    @classmethod
    def trusted(
        cls, weights: Factor, scope: Scope, means: Vector, covariances: Matrix, collapsed: tuple[str, ...] = ()
    ) -> GaussianMixture:
        """From parts known to fit, which belong to the new mixture; nothing is checked."""
        parts = {"weights": weights, "scope": scope, "means": means, "covariances": covariances}
        return filled(object.__new__(cls), **parts, collapsed=collapsed)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the discrete variables, then those of the continuous ones."""
        return (*self.weights.names, *(variable.name for variable in self.scope))

    @property
    def info(self) -> QueryInfo | Any:
        """How the numbers were got, where they answer a query; else None."""
        return self.weights.info

    @property
    def is_exact(self) -> bool:
        """Whether each component is a Gaussian; else only its mean and covariance are right."""
        return not self.collapsed

    def given(self, assignment: Mapping[str, State]) -> MomentGaussian:
        """The component at a state of every discrete variable; other names are ignored."""
        missing = [name for name in self.weights.names if name not in assignment]
        if missing:
            raise InvalidArgument(f"A component of this mixture needs a state of {missing[0]!r}.")
        place = tuple(variable.index(assignment[variable.name]) for variable in self.weights.scope)
        return MomentGaussian.trusted(self.scope, np.array(self.means[place]), np.array(self.covariances[place]))

    def moments(self) -> MomentGaussian:
        """Mean and covariance of the continuous variables, whatever the discrete ones.

        Σ P(d) mean(d), and Σ P(d) covariance(d) plus the covariance of the means (the law of total covariance).
        """
        whole = self.marginal([variable.name for variable in self.scope])
        return MomentGaussian.trusted(self.scope, np.array(whole.means), np.array(whole.covariances))

    def marginal(self, names: str | Iterable[str]) -> GaussianMixture:
        """The distribution of some variables, in the order asked for.

        Leaving out a continuous variable loses nothing. Leaving out a discrete one merges components: their means and
        covariances stay exact, and the variable is noted in `collapsed`.
        """
        wanted = list(axes_named(names, self.names, self._noun))
        kept = [name for name in self.weights.names if name in wanted]
        gone = [name for name in self.weights.names if name not in wanted]
        merged = self._merged(gone) if gone else self
        order = [kept.index(name) for name in wanted if name in kept]
        places = [axis for name in wanted for axis, variable in enumerate(self.scope) if variable.name == name]
        tail = len(order)
        means = merged.means[..., places].transpose(*order, tail)
        covariances = merged.covariances[..., places, :][..., places].transpose(*order, tail, tail + 1)
        weights = merged.weights.reorder([kept[axis] for axis in order]).with_info(self.info)
        scope = tuple(self.scope[axis] for axis in places)
        return GaussianMixture.trusted(weights, scope, np.array(means), np.array(covariances), merged.collapsed)

    def _merged(self, gone: Sequence[str]) -> GaussianMixture:
        """Components summed up over some discrete variables."""
        axes = tuple(self.weights.names.index(name) for name in gone)
        table = self.weights.values
        total = table.sum(axis=axes, keepdims=True)
        share = np.divide(table, total, out=np.zeros(table.shape), where=total > 0)[..., None]
        mean = (share * self.means).sum(axis=axes, keepdims=True)
        apart = self.means - mean
        spread = self.covariances + apart[..., :, None] * apart[..., None, :]
        covariance = (share[..., None] * spread).sum(axis=axes)
        lost = tuple(name for name in gone if self.weights.variable(name).num_states > 1)
        weights = self.weights.marginalize(gone)
        return GaussianMixture.trusted(weights, self.scope, mean.squeeze(axes), covariance, (*self.collapsed, *lost))

    def log_density(self, columns: Mapping[str, npt.ArrayLike]) -> Floats:
        """log Σ P(d) N(x; mean(d), covariance(d)) at a point, or at many: numbers for each name, broadcast."""
        if self.collapsed:
            raise NotSupported(
                f"The components of this mixture are mixtures over {list(self.collapsed)}: their first two moments are "
                "known, not their density. Ask about these variables too, and the density is exact."
            )
        point = read_point(self.scope, columns, "take marginal() first")
        rows = point.reshape(math.prod(point.shape[:-1]), len(self.scope))
        logs = np.array(
            [self._component_log_density(place, rows) for place in np.flatnonzero(self.weights.flat).tolist()]
        )
        peak = logs.max(axis=0)
        total = np.log(np.exp(logs - peak).sum(axis=0)) + peak
        return np.asarray(total).reshape(point.shape[:-1])

    def density(self, columns: Mapping[str, npt.ArrayLike]) -> Floats:
        """Σ P(d) N(x; mean(d), covariance(d)): a density, not a probability; it may exceed one."""
        return np.exp(self.log_density(columns))

    def _component_log_density(self, place: int, rows: Matrix) -> Vector:
        size = len(self.scope)
        mean, covariance = self.means.reshape(-1, size)[place], self.covariances.reshape(-1, size, size)[place]
        solver = definite(covariance)
        if solver is None:
            where = dict(assignment_at(self.weights.scope, place))
            raise NotSupported(
                f"The covariance of {[v.name for v in self.scope]} is singular{f' at {where}' if where else ''}: there "
                "is no density. Leave out the variables that the others determine."
            )
        surprise = np.ascontiguousarray((rows - mean).T)
        squares = np.einsum("ji,ji->i", surprise, solver.solve(surprise))
        volume = size * LOG_2PI + solver.log_determinant
        return np.asarray(math.log(self.weights.flat[place]) - 0.5 * (squares + volume))

    def _variables(self) -> set[Variable]:
        return {*self.weights.scope, *self.scope}

    def _numbers(self) -> tuple[Floats, Vector, Matrix]:
        return self.weights.values, self.means, self.covariances

    def __repr__(self) -> str:
        discrete = ", ".join(self.weights.names)
        parts = f" | {discrete}: {counted(self.weights.flat.size, 'component')}" if discrete else ""
        return f"GaussianMixture({self.moments().summary()}{parts})"

    def to_table(self, max_rows: int | None = None) -> TextTable:
        """A row for each component: states, weight, means and variances."""
        names = [variable.name for variable in self.scope]
        header = (*self.weights.names, "weight", *(f"mean[{n}]" for n in names), *(f"var[{n}]" for n in names))
        size, weights = len(names), self.weights.flat
        means = self.means.reshape(-1, size)
        variances = self.covariances.reshape(-1, size, size).diagonal(axis1=1, axis2=2)
        rows = tuple(
            (
                *map(str, assignment_at(self.weights.scope, place).values()),
                *map(format_number, (float(weights[place]), *means[place].tolist(), *variances[place].tolist())),
            )
            for place in range(num_shown(len(weights), max_rows))
        )
        return TextTable(header, rows, len(self.weights.names), len(weights) - len(rows))


def _shaped(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    array = real_numbers(values, what)
    if array.shape != shape:
        raise InvalidFactor(f"{what} need shape {shape}, not {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidFactor(f"{what} have an entry that is no finite number.")
    return array
