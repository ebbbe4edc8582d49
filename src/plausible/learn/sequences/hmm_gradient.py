"""Climbing the likelihood of hidden Markov models by its gradient: tables as softmax, covariances by their roots.

By Fisher's identity the gradient of log p(rows) is that of the expected log-likelihood of rows and states together: of
the logarithms λ of a row of probabilities θ it is M - θ Σ M, where M are the expected counts of EM.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SMALLEST
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.learn.incomplete.maximization import normalized_exponentials
from plausible.learn.sequences.emission_learner import EmissionLearner, EmissionRules, EmissionT, Statistics, pooled
from plausible.learn.sequences.hmm_state import HMMState
from plausible.learn.sequences.number_learners import MixtureLearner, NumberLearner
from plausible.models.sequences.emissions import CategoricalEmission, Emission, ProductEmission
from plausible.models.sequences.gaussian_emissions import GaussianEmission, GaussianMixtureEmission
from plausible.models.sequences.hidden_markov_model import HiddenMarkovModel
from plausible.search.ascent import Ascent, AscentState, ascent_step, init_ascent

#: A root of a covariance is at least this much away from zero in the beginning.
_LEAST_ROOT = 1e-3


def gradient_step(
    init: Callable[[HiddenMarkovModel], HMMState], space: HMMSpace, state: HMMState, method: Ascent
) -> HMMState:
    """One step uphill; the same state where none leads higher. `init` tells the expectations under a model."""
    seen: dict[bytes, HMMState] = {}

    def climbed(point: Floats) -> tuple[float, Floats]:
        try:
            found = init(space.model(point))
        except ImpossibleEvidence:
            return -np.inf, np.zeros(point.shape)
        seen.clear()
        seen[point.tobytes()] = found
        return found.value, space.gradient(found)

    begun = state.memory if isinstance(state.memory, AscentState) else init_ascent(climbed, space.point(state.model))
    ascent = ascent_step(climbed, begun, method)
    if not ascent.value > state.value:
        return replace(state, memory=ascent)
    found = seen.get(ascent.point.tobytes()) or init(space.model(ascent.point))
    return replace(found, memory=ascent)


@dataclass(frozen=True, slots=True)
class HMMSpace:
    """All parameters of a model as one point without constraints; zeros of tables stay."""

    form: HiddenMarkovModel
    learner: EmissionLearner[Any]
    rules: EmissionRules
    tied_transitions: tuple[tuple[int, ...], ...]

    @property
    def _emission(self) -> _Coordinates[Any]:
        return _coordinates(self.form.emission, self.learner)

    def point(self, model: HiddenMarkovModel) -> Floats:
        """Where a model is."""
        parts = _logs(model.initial), _logs(model.transition), self._emission.point(model.emission)
        return np.concatenate(parts)

    def model(self, point: Floats) -> HiddenMarkovModel:
        """The model at a point."""
        form = self.form
        ends = np.cumsum([(form.initial > 0).sum(), (form.transition > 0).sum()])
        first, chain, rest = np.split(point, ends)
        initial, transition = _rows(first, form.initial), _rows(chain, form.transition)
        emission = self._emission.emission(form.emission, rest)
        return HiddenMarkovModel._of(form.state, initial, transition, emission, form.transition_inputs)

    def gradient(self, state: HMMState) -> Floats:
        """That of the objective, from what is expected at a state."""
        model, expected, rules = state.model, state.expected, self.rules
        pairs = np.stack([pooled(self.tied_transitions, counts) for counts in expected.pairs])
        return np.concatenate([
            _slopes(expected.firsts, model.initial, rules.prior.initial),
            _slopes(pairs.reshape(model.transition.shape), model.transition, rules.prior.transitions),
            self._emission.gradient(model.emission, expected.emission),
        ])  # fmt: skip


def _logs(table: Floats) -> Floats:
    return np.asarray(np.log(table[table > 0]))


def _rows(point: Floats, form: Floats) -> Floats:
    logs = np.full(form.shape, -np.inf)
    logs[form > 0] = point
    return normalized_exponentials(logs)


def _slopes(counts: Floats, table: Floats, pseudo: float) -> Floats:
    """M - θ Σ M of the entries that are not zero."""
    cells = np.where(table > 0, counts + pseudo, 0.0)
    return np.asarray((cells - table * cells.sum(axis=-1, keepdims=True))[table > 0])


class _Coordinates(ABC, Generic[EmissionT]):
    """The parameters of an emission on a scale on which every number is allowed."""

    def __init__(self, learner: EmissionLearner[EmissionT]) -> None:
        self.learner = learner

    @abstractmethod
    def point(self, emission: EmissionT) -> Floats:
        """Where an emission is."""

    @abstractmethod
    def emission(self, form: EmissionT, point: Floats) -> EmissionT:
        """The emission at a point."""

    @abstractmethod
    def gradient(self, emission: EmissionT, statistics: Statistics) -> Floats:
        """Of the expected log-likelihood and the logarithm of the prior."""


class _SymbolCoordinates(_Coordinates[CategoricalEmission]):
    def point(self, emission: CategoricalEmission) -> Floats:
        return _logs(emission.table)

    def emission(self, form: CategoricalEmission, point: Floats) -> CategoricalEmission:
        return CategoricalEmission(_rows(point, form.table), form.symbol)

    def gradient(self, emission: CategoricalEmission, statistics: Statistics) -> Floats:
        rules = self.learner.rules
        return _slopes(pooled(rules.tied, statistics[0]), emission.table, rules.prior.symbols)


class _NumberCoordinates(_Coordinates[GaussianEmission]):
    """Means, and roots L of Σ = L Lᵀ + floor in the units of the learner, logarithms on the diagonal."""

    learner: NumberLearner

    def point(self, emission: GaussianEmission) -> Floats:
        return self.flat(emission.covariance, *self.learner.parameters(emission))

    def flat(self, kind: str, means: Floats, covariances: Floats) -> Floats:
        """Means and roots one after the other."""
        unit = np.eye(means.shape[1])
        above = covariances - self.learner.rules.variance_floor * unit
        values, vectors = np.linalg.eigh(above)
        above = (vectors * np.maximum(values, _LEAST_ROOT**2)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        roots = np.linalg.cholesky(above)
        return np.concatenate(
            [means.reshape(-1), _kept(kind, np.where(unit > 0, np.log(np.maximum(roots, SMALLEST)), roots))]
        )

    def emission(self, form: GaussianEmission, point: Floats) -> GaussianEmission:
        means, covariances = self.parameters(form.covariance, form.means.shape, point)
        return form.with_parameters(*self.learner.own(means, covariances))

    def parameters(self, kind: str, shape: tuple[int, int], point: Floats) -> tuple[Floats, Floats]:
        """Means and covariances in the units."""
        number = shape[0] * shape[1]
        roots = self._roots(kind, shape, point[number:])
        floor = self.learner.rules.variance_floor * np.eye(shape[1])
        return point[:number].reshape(shape), roots @ np.swapaxes(roots, 1, 2) + floor

    def _roots(self, kind: str, shape: tuple[int, int], point: Floats) -> Floats:
        spread = _spread(kind, shape, point)
        is_diagonal = np.eye(shape[1]) > 0
        return np.where(is_diagonal, np.exp(np.where(is_diagonal, spread, 0.0)), spread)

    def gradient(self, emission: GaussianEmission, statistics: Statistics) -> Floats:
        tied = self.learner.rules.tied
        moments = [pooled(tied, part) for part in statistics]
        return self.slopes(emission.covariance, *self.learner.parameters(emission), *moments)

    def slopes(
        self, kind: str, means: Floats, covariances: Floats, counts: Floats, firsts: Floats, seconds: Floats
    ) -> Floats:
        """From expected moments, to which the prior adds its cases."""
        prior, size = self.learner.rules.prior, means.shape[1]
        unit = np.eye(size)
        inverse = np.linalg.inv(covariances)
        of_means = np.einsum("kij,kj->ki", inverse, firsts - (counts + prior.means) * means)
        if seconds.ndim == 2:
            scatter = (seconds - 2 * means * firsts + counts * means**2)[:, :, None] * unit
        else:
            crossed = means[:, :, None] * firsts[:, None, :]
            squares = counts[:, :1, None] * means[:, :, None] * means[:, None, :]
            scatter = seconds - crossed - np.swapaxes(crossed, 1, 2) + squares
        scatter = scatter + prior.means * means[:, :, None] * means[:, None, :] + prior.variances * unit
        cases = np.sqrt(counts + prior.variances)
        inner = inverse @ scatter @ inverse - cases[:, :, None] * inverse * cases[:, None, :]
        roots = np.linalg.cholesky(covariances - self.learner.rules.variance_floor * unit)
        of_roots = np.tril(inner @ roots)
        return np.concatenate([of_means.reshape(-1), _summed(kind, np.where(unit > 0, of_roots * roots, of_roots))])


def _places(size: int) -> tuple[Any, Any]:
    return np.tril_indices(size)


def _kept(kind: str, roots: Floats) -> Floats:
    """The free entries of roots."""
    if kind == "tied":
        return np.asarray(roots[0][_places(roots.shape[1])])
    if kind == "full":
        return np.asarray(roots[(slice(None), *_places(roots.shape[1]))].reshape(-1))
    diagonal = np.diagonal(roots, axis1=1, axis2=2)
    return np.asarray(diagonal[:, 0] if kind == "spherical" else diagonal.reshape(-1))


def _summed(kind: str, slopes: Floats) -> Floats:
    """Slopes of the free entries: sums over those that are one."""
    if kind == "tied":
        return _kept(kind, slopes.sum(axis=0, keepdims=True))
    if kind == "spherical":
        return np.asarray(np.trace(slopes, axis1=1, axis2=2))
    return _kept(kind, slopes)


def _spread(kind: str, shape: tuple[int, int], point: Floats) -> Floats:
    """Lower triangles from their free entries."""
    number, size = shape
    found = np.zeros((number, size, size))
    if kind in ("tied", "full"):
        found[(slice(None), *_places(size))] = point.reshape(1 if kind == "tied" else number, -1)
    else:
        found[:, np.arange(size), np.arange(size)] = point.reshape(number, -1)
    return found


class _MixtureCoordinates(_Coordinates[GaussianMixtureEmission]):
    learner: MixtureLearner

    @property
    def _parts(self) -> _NumberCoordinates:
        return _NumberCoordinates(self.learner.numbers)

    def point(self, emission: GaussianMixtureEmission) -> Floats:
        return np.concatenate([_logs(emission.weights), self._parts.point(self.learner.flat(emission))])

    def emission(self, form: GaussianMixtureEmission, point: Floats) -> GaussianMixtureEmission:
        number, flat = int((form.weights > 0).sum()), self.learner.flat(form)
        weights = _rows(point[:number], form.weights)
        found = self._parts.parameters(form.covariance, flat.means.shape, point[number:])
        means, covariances = self.learner.numbers.own(*found)
        shape = form.means.shape
        return form.with_parameters(weights, means.reshape(shape), covariances.reshape(*shape, shape[-1]))

    def gradient(self, emission: GaussianMixtureEmission, statistics: Statistics) -> Floats:
        rules = self.learner.rules
        counts, *moments = (pooled(rules.tied, part) for part in statistics)
        flat = [part.reshape(-1, *part.shape[2:]) for part in moments]
        own = self.learner.flat(emission)
        of_parts = self._parts.slopes(own.covariance, *self.learner.numbers.parameters(own), *flat)
        return np.concatenate([_slopes(counts, emission.weights, rules.prior.weights), of_parts])


class _ProductCoordinates(_Coordinates[ProductEmission]):
    def _pairs(self, emission: ProductEmission) -> list[tuple[Any, _Coordinates[Any]]]:
        learners = self.learner.learners  # type: ignore[attr-defined]
        return [(part, _coordinates(part, own)) for part, own in zip(emission.parts, learners, strict=True)]

    def point(self, emission: ProductEmission) -> Floats:
        return np.concatenate([own.point(part) for part, own in self._pairs(emission)])

    def emission(self, form: ProductEmission, point: Floats) -> ProductEmission:
        pairs = self._pairs(form)
        ends = np.cumsum([len(own.point(part)) for part, own in pairs])[:-1]
        return ProductEmission(
            own.emission(part, piece) for (part, own), piece in zip(pairs, np.split(point, ends), strict=True)
        )

    def gradient(self, emission: ProductEmission, statistics: Statistics) -> Floats:
        pairs = zip(self._pairs(emission), statistics, strict=True)
        return np.concatenate([own.gradient(part, each) for (part, own), each in pairs])


def _coordinates(emission: Emission, learner: EmissionLearner[Any]) -> _Coordinates[Any]:
    """The coordinates of a kind of emission."""
    kinds: dict[type[Emission], type[_Coordinates[Any]]] = {
        CategoricalEmission: _SymbolCoordinates,
        GaussianEmission: _NumberCoordinates,
        GaussianMixtureEmission: _MixtureCoordinates,
        ProductEmission: _ProductCoordinates,
    }
    if type(emission) not in kinds:
        raise NotSupported(
            f"Gradients are for tables and Gaussian emissions, not for a {type(emission).__name__}: leave optimizer= "
            "out, and EM learns it."
        )
    return kinds[type(emission)](learner)
