"""Numbers that hidden states let us see: Gaussian distributions and mixtures of them, in one dimension or several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Flags, Floats, Positions
from plausible.cpds import CPD, ConditionalGaussianCPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidModel, NotSupported, counted
from plausible.kernels.vectors import subtract_squares
from plausible.models.sequences.emissions import (
    OBSERVATION,
    Emission,
    Forecast,
    ObservedRows,
    probability_rows,
)
from plausible.variables import Variable

_LOG_TWO_PI = math.log(2 * math.pi)
#: Steps that are worked on at once: few enough for the processor to keep them at hand.
_BLOCK = 1 << 12
#: How covariances may be restricted.
COVARIANCES = ("full", "diagonal", "spherical", "tied")


class GaussianEmission(Emission):
    """A vector of numbers for each step: N(μ_k, Σ_k) in state k. Components that are missing are summed out.

    Parameters
    ----------
    means
        μ: a number for each state, or a row of them.
    covariances
        Σ: a number for each state (a variance, of every component), a row of variances, or a matrix for each state;
        with `covariance="tied"` one matrix for all.
    columns
        The names of the components; by default "observation", or "observation0", "observation1", ...
    covariance
        "full", "diagonal", "spherical" or "tied": what learning keeps; by default as the shape tells.

    Examples
    --------
    >>> GaussianEmission([0.0, 5.0], [1.0, 2.0])
    GaussianEmission(observation | 2 states)
    >>> GaussianEmission([[0, 0], [3, 1]], [np.eye(2), 2 * np.eye(2)], columns=["x", "y"]).covariance
    'full'
    """

    __slots__ = ("_variables", "covariance", "covariances", "means")

    kind: ClassVar[str] = "gaussian"

    def __init__(
        self,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        columns: str | Sequence[str] | None = None,
        *,
        covariance: str | None = None,
    ) -> None:
        self.means = read_means(means, 2)
        num_states, size = self.means.shape
        self._variables = read_columns(columns, size)
        self.covariance, self.covariances = read_covariances(covariances, (num_states,), size, covariance)

    @property
    def num_states(self) -> int:
        return len(self.means)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self._variables

    @property
    def num_parameters(self) -> int:
        return self.means.size + num_covariances(self.covariance, self.num_states, self.means.shape[1])

    def observed(self, sequences: Sequences) -> ObservedRows:
        """Content: a row of numbers for each step, NaN where missing."""
        return number_rows(sequences, self._variables)

    def log_rows(self, rows: ObservedRows) -> Floats:
        return log_densities(rows.content, self.means, self.covariances)

    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return named_columns(self._variables, draw(self.means[states], self.covariances, states, rng))

    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        spread = np.diagonal(self.covariances, axis1=1, axis2=2)
        return mixture_forecasts(self._variables, beliefs, self.means, spread, level)

    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        """A chain of regressions: each component given the state and the components before it."""
        cpds = []
        for number, variable in enumerate(self._variables):
            before, across = self.covariances[:, :number, :number], self.covariances[:, :number, number]
            slopes = np.linalg.solve(before, across[:, :, None])[:, :, 0] if number else np.zeros((self.num_states, 0))
            intercepts = self.means[:, number] - (slopes * self.means[:, :number]).sum(axis=1)
            variances = self.covariances[:, number, number] - (slopes * across).sum(axis=1)
            parents = [self._variables[place] for place in range(number) if slopes[:, place].any()]
            coefficients = {p.name: slopes[:, self._variables.index(p)] for p in parents}
            cpds.append(ConditionalGaussianCPD(variable, intercepts, coefficients, variances, [state, *parents]))
        return tuple(cpds)

    def reordered(self, order: NDArray[Any]) -> GaussianEmission:
        return self.with_parameters(self.means[order], self.covariances[order])

    def with_parameters(self, means: Floats, covariances: Floats) -> GaussianEmission:
        """The same columns and the same kind of covariances, with other numbers; these are matrices."""
        tied = covariances[0] if self.covariance == "tied" else covariances
        return GaussianEmission(means, tied, [v.name for v in self._variables], covariance=self.covariance)

    def to_record(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": [variable.name for variable in self._variables],
            "means": self.means.tolist(),
            "covariances": (self.covariances[0] if self.covariance == "tied" else self.covariances).tolist(),
            "covariance": self.covariance,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> GaussianEmission:
        numbers = record["means"], record["covariances"]
        return cls(*numbers, record["columns"], covariance=record["covariance"])


class GaussianMixtureEmission(Emission):
    """A mixture of Gaussians in each state: Σ_m w_km N(μ_km, Σ_km).

    Parameters
    ----------
    weights
        w: for each state a row, a number for each component.
    means, covariances
        μ, Σ: as in `GaussianEmission`, with an axis for the components after that of the states.
    columns, covariance
        As in `GaussianEmission`.

    Examples
    --------
    >>> GaussianMixtureEmission([[0.5, 0.5], [1.0, 0.0]], [[0.0, 4.0], [8.0, 8.0]], np.ones((2, 2)))
    GaussianMixtureEmission(observation | 2 states)
    """

    __slots__ = ("_variables", "covariance", "covariances", "means", "weights")

    kind: ClassVar[str] = "gaussian-mixture"

    def __init__(
        self,
        weights: npt.ArrayLike,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        columns: str | Sequence[str] | None = None,
        *,
        covariance: str | None = None,
    ) -> None:
        numbers = np.array(weights, dtype=np.float64)
        if numbers.ndim != 2:
            raise InvalidModel("The weights of mixtures are a row for each state: [[.5, .5], [.9, .1]].")
        self.weights = probability_rows(numbers, Variable("component", numbers.shape[1]))
        self.means = read_means(means, 3)
        if self.means.shape[:2] != self.weights.shape:
            raise InvalidModel(
                f"There are weights of shape {self.weights.shape} (states, components), but means of "
                f"{self.means.shape}: axes (states, components), or (states, components, columns)."
            )
        size = self.means.shape[2]
        self._variables = read_columns(columns, size)
        self.covariance, self.covariances = read_covariances(covariances, self.weights.shape, size, covariance)

    @property
    def num_states(self) -> int:
        return len(self.weights)

    @property
    def num_components(self) -> int:
        """How many components each state has."""
        return int(self.weights.shape[1])

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self._variables

    @property
    def num_parameters(self) -> int:
        spread = num_covariances(self.covariance, self.weights.size, self.means.shape[2])
        return self.weights.size - self.num_states + self.means.size + spread

    def observed(self, sequences: Sequences) -> ObservedRows:
        """Content: a row of numbers for each step, NaN where missing."""
        return number_rows(sequences, self._variables)

    def log_components(self, rows: ObservedRows) -> Floats:
        """log w_km N(row; μ_km, Σ_km): axes (rows, states, components)."""
        size = self.means.shape[2]
        flat = log_densities(rows.content, self.means.reshape(-1, size), self.covariances.reshape(-1, size, size))
        with np.errstate(divide="ignore"):
            return np.asarray(flat.reshape(-1, *self.weights.shape) + np.log(self.weights))

    def log_rows(self, rows: ObservedRows) -> Floats:
        return np.asarray(np.logaddexp.reduce(self.log_components(rows), axis=2))

    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        levels = rng.random(len(states))
        parts = (levels[:, None] >= np.cumsum(self.weights, axis=1)[states, :-1]).sum(axis=1)
        size = self.means.shape[2]
        flat = states * self.num_components + parts
        covariances = self.covariances.reshape(-1, size, size)
        return named_columns(self._variables, draw(self.means[states, parts], covariances, flat, rng))

    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        shares = (beliefs[:, :, None] * self.weights).reshape(len(beliefs), -1)
        size = self.means.shape[2]
        spread = np.diagonal(self.covariances, axis1=2, axis2=3).reshape(-1, size)
        return mixture_forecasts(self._variables, shares, self.means.reshape(-1, size), spread, level)

    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        """Refused: the component is a hidden variable of its own."""
        raise NotSupported(
            "A mixture is no single conditional distribution: its component is a hidden variable. Make the component "
            "part of the state, or write it as a variable of a DynamicBayesianNetwork."
        )

    def reordered(self, order: NDArray[Any]) -> GaussianMixtureEmission:
        return self.with_parameters(self.weights[order], self.means[order], self.covariances[order])

    def with_parameters(self, weights: Floats, means: Floats, covariances: Floats) -> GaussianMixtureEmission:
        """The same columns and the same kind of covariances, with other numbers; these are matrices."""
        tied = covariances[0, 0] if self.covariance == "tied" else covariances
        columns = [variable.name for variable in self._variables]
        return GaussianMixtureEmission(weights, means, tied, columns, covariance=self.covariance)

    def to_record(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": [variable.name for variable in self._variables],
            "weights": self.weights.tolist(),
            "means": self.means.tolist(),
            "covariances": (self.covariances[0, 0] if self.covariance == "tied" else self.covariances).tolist(),
            "covariance": self.covariance,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> GaussianMixtureEmission:
        numbers = record["weights"], record["means"], record["covariances"]
        return cls(*numbers, record["columns"], covariance=record["covariance"])


# --- reading ---


def read_means(means: npt.ArrayLike, most_axes: int) -> Floats:
    """Means with an axis for the columns."""
    try:
        numbers = np.array(means, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidModel("The means are numbers: one for each state, or a row of them.") from None
    if numbers.ndim == most_axes - 1:
        numbers = numbers[..., None]
    if numbers.ndim != most_axes or not numbers.size or not np.isfinite(numbers).all():
        raise InvalidModel(
            f"The means are finite numbers with {most_axes - 1} or {most_axes} axes, the last for columns."
        )
    numbers.setflags(write=False)
    return numbers


def read_columns(columns: str | Sequence[str] | None, size: int) -> tuple[Variable, ...]:
    """The components as continuous variables."""
    if columns is None:
        columns = [OBSERVATION] if size == 1 else [f"{OBSERVATION}{number}" for number in range(size)]
    names = [columns] if isinstance(columns, str) else list(columns)
    if len(names) != size or len(set(names)) < size:
        raise InvalidModel(f"The means have {counted(size, 'component')}, but the columns are {names}.")
    return tuple(map(Variable, names))


def read_covariances(
    covariances: npt.ArrayLike, shape: tuple[int, ...], size: int, kind: str | None
) -> tuple[str, Floats]:
    """The kind of covariances, and a matrix for each Gaussian; `shape` is that of the Gaussians."""
    if kind is not None and kind not in COVARIANCES:
        raise InvalidModel(f"covariance={kind!r}: expected one of {', '.join(COVARIANCES)}.")
    numbers = np.array(covariances, dtype=np.float64)
    unit = np.eye(size)
    if kind == "tied" and numbers.shape == (size, size):
        found, numbers = "tied", np.broadcast_to(numbers, (*shape, size, size))
    elif numbers.shape == (*shape, size, size):
        found = "full"
    elif numbers.shape == (*shape, size):
        found, numbers = "diagonal", numbers[..., None] * unit
    elif numbers.shape == shape or not numbers.shape:
        found, numbers = "spherical", np.broadcast_to(numbers, shape)[..., None, None] * unit
    else:
        raise InvalidModel(
            f"The covariances have the shape {numbers.shape}; for Gaussians of the shape {shape} in {size} dimensions "
            f"they are a number, a row of {size} variances or a {size} x {size} matrix for each."
        )
    numbers = (numbers + np.swapaxes(numbers, -1, -2)) / 2
    if not np.isfinite(numbers).all() or not (np.linalg.eigvalsh(numbers) > 0).all():
        values = np.where(np.isfinite(numbers).all(axis=(-1, -2)), 0.0, np.nan)
        if np.isfinite(numbers).all():
            values = np.linalg.eigvalsh(numbers).min(axis=-1)
        place = np.unravel_index(int(np.argmin(values > 0)), shape)
        raise InvalidModel(
            f"The covariance of state {place[0]} is not positive definite (least eigenvalue {values[place]:.3g}): "
            "variances are above zero. Where numbers never vary in a state, give it a small variance."
        )
    numbers.setflags(write=False)
    return kind or found, numbers


def num_covariances(kind: str, num_gaussians: int, size: int) -> int:
    """How many numbers of covariances are free."""
    matrix = size * (size + 1) // 2
    return {
        "full": num_gaussians * matrix,
        "tied": matrix,
        "diagonal": num_gaussians * size,
        "spherical": num_gaussians,
    }[kind]


# --- densities ---


def number_rows(sequences: Sequences, variables: Iterable[Variable]) -> ObservedRows:
    """A row of numbers for each step."""
    missing = np.full(sequences.num_steps, np.nan)
    columns = [np.asarray(sequences.columns.get(variable.name, missing)) for variable in variables]
    row_of = np.arange(sequences.num_steps, dtype=np.int32)
    return ObservedRows(row_of, np.ascontiguousarray(np.stack(columns, axis=1)))


class Pattern(NamedTuple):
    """Rows with the same components known."""

    rows: Positions | slice
    known: Flags


def patterns_of(numbers: Floats) -> Iterator[Pattern]:
    """The rows, by which of their numbers are known."""
    known = ~np.isnan(numbers)
    if known.all():
        yield Pattern(slice(None), np.ones(numbers.shape[1], dtype=bool))
        return
    different, which = np.unique(known, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for number, pattern in enumerate(different):
        yield Pattern(np.flatnonzero(which == number), pattern)


def log_densities(numbers: Floats, means: Floats, covariances: Floats) -> Floats:
    """log N(x; μ_k, Σ_k) of what is known of each row: axes (rows, Gaussians)."""
    logs = np.zeros((len(numbers), len(means)))
    for rows, known in patterns_of(numbers):
        if known.any():
            part = numbers[rows][:, known] if not known.all() else numbers[rows]
            chosen = _log_known(part, means[:, known], covariances[:, known][:, :, known])
            if isinstance(rows, slice):
                return chosen
            logs[rows] = chosen
    return logs


def _log_known(numbers: Floats, means: Floats, covariances: Floats) -> Floats:
    """Of rows with no number missing, a block at a time."""
    size = means.shape[1]
    logs = np.empty((len(numbers), len(means)))
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    is_diagonal = not (covariances - variances[:, :, None] * np.eye(size)).any()
    lower = np.linalg.cholesky(covariances)
    constants = -np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - 0.5 * size * _LOG_TWO_PI
    inverse = np.linalg.inv(lower)
    if is_diagonal:
        factors = np.ascontiguousarray(np.diagonal(inverse, axis1=1, axis2=2).T * math.sqrt(0.5))
        subtract_squares(np.ascontiguousarray(numbers), np.ascontiguousarray(means.T), factors, constants, logs)
        return logs
    for start in range(0, len(numbers), _BLOCK):
        block, rows = logs[start : start + _BLOCK], numbers[start : start + _BLOCK]
        for state in range(len(means)):
            white = (rows - means[state]) @ inverse[state].T
            block[:, state] = np.einsum("ij,ij->i", white, white)
        block *= -0.5
        block += constants
    return logs


# --- draws and forecasts ---


def draw(means: Floats, covariances: Floats, which: NDArray[Any], rng: np.random.Generator) -> Floats:
    """A draw around each mean, with the covariance of its Gaussian."""
    lower = np.linalg.cholesky(covariances)
    noise = rng.standard_normal(means.shape)
    return np.asarray(means + np.einsum("tij,tj->ti", lower[which], noise))


def named_columns(variables: Sequence[Variable], numbers: Floats) -> dict[str, NDArray[Any]]:
    """Name -> column."""
    return {variable.name: numbers[:, place].copy() for place, variable in enumerate(variables)}


def mixture_forecasts(
    variables: Sequence[Variable], shares: Floats, means: Floats, variances: Floats, level: float
) -> dict[str, Forecast]:
    """Mean and equal-tailed interval of each column under a mixture of Gaussians for each case."""
    told = {}
    for place, variable in enumerate(variables):
        centers, scales = means[:, place], np.sqrt(variances[:, place])
        lower, upper = (_quantiles(shares, centers, scales, tail) for tail in ((1 - level) / 2, (1 + level) / 2))
        told[variable.name] = Forecast(("mean", "lower", "upper"), np.stack([shares @ centers, lower, upper], axis=1))
    return told


def _quantiles(shares: Floats, centers: Floats, scales: Floats, tail: float) -> Floats:
    """The numbers below which a mixture has so much of its mass, by bisection of all at once."""
    from scipy.special import ndtr, ndtri

    reach = abs(float(ndtri(tail))) + 1.0
    used = shares > 0
    low = np.where(used, centers - reach * scales, np.inf).min(axis=1)
    high = np.where(used, centers + reach * scales, -np.inf).max(axis=1)
    for _ in range(64):
        middle = (low + high) / 2
        below = (shares * ndtr((middle[:, None] - centers) / scales)).sum(axis=1) < tail
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)
