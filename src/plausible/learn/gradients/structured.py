"""Coordinates of distributions that are no tables: noisy-or and logistic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, LogisticCPD, NoisyOr
from plausible.learn.gradients.coordinates import CPDCoordinates, parent_columns

__all__ = ["LogisticCoordinates", "NoisyOrCoordinates"]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyOrCoordinates(CPDCoordinates):
    """λ_0 (leak) and λ_i (activations) as logits; those that are 0 or 1 stay so.

    P(off | u) = Π_i (1 - λ_i)^{a_i(u)}, so that dP(off | u)/dλ_i = -a_i Π_{j≠i} (1 - λ_j)^{a_j}: no division, and
    defined at λ_i = 1 too.
    """

    origin: NoisyOr

    @classmethod
    def of(cls, cpd: CPD) -> NoisyOrCoordinates:
        """The coordinates of a noisy-or."""
        assert isinstance(cpd, NoisyOr)
        return cls(cpd)

    @property
    def start(self) -> Floats:
        """Logits of the chances that are neither 0 nor 1."""
        chances = _chances(self.origin)
        live = chances[(chances > 0) & (chances < 1)]
        return np.log(live) - np.log1p(-live)

    def cpd(self, point: Floats) -> NoisyOr:
        """The noisy-or at a point."""
        chances = _chances(self.origin)
        chances[(chances > 0) & (chances < 1)] = 0.5 * (1.0 + np.tanh(0.5 * point))
        return NoisyOr(
            self.origin.variable,
            self.origin.parents,
            chances[1:],
            float(chances[0]),
            active_states=dict(self.origin.active_states),
        )

    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        """λ (1 - λ) dℓ/dλ of the chances that are not held."""
        assert isinstance(cpd, NoisyOr)
        chances, held = _chances(cpd), _chances(self.origin)
        return np.asarray((chances * (1 - chances) * _slopes(cpd, entries))[(held > 0) & (held < 1)])

    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
        """dℓ/dλ of the leak and of each parent."""
        assert isinstance(cpd, NoisyOr)
        slopes = _slopes(cpd, entries)
        return {name: slopes[place] for place, name in enumerate(("(leak)", *cpd.parent_names))}


def _chances(cpd: NoisyOr) -> Floats:
    return np.array([cpd.leak, *cpd.activation])


def _slopes(cpd: NoisyOr, entries: Floats) -> Floats:
    """dℓ/dλ_0, dℓ/dλ_1, ..."""
    flat = np.reshape(entries, (-1, 2))
    columns = parent_columns(cpd)
    active = [columns[p.name] == p.index(cpd.active_states[p.name]) for p in cpd.parents]
    is_active = np.column_stack([np.ones(len(flat), dtype=bool), *active])
    inhibited = np.where(is_active, 1.0 - _chances(cpd), 1.0)
    others = [np.delete(inhibited, place, axis=1).prod(axis=1) for place in range(inhibited.shape[1])]
    return np.asarray((is_active * np.column_stack(others)).T @ (flat[:, 1] - flat[:, 0]))


@dataclass(frozen=True, slots=True, eq=False)
class LogisticCoordinates(CPDCoordinates):
    """Intercept and weights as they are: η is linear in them, and dℓ/dη_j = p_j (dℓ/dp_j - Σ_i p_i dℓ/dp_i)."""

    origin: LogisticCPD

    @classmethod
    def of(cls, cpd: CPD) -> LogisticCoordinates:
        """The coordinates of a logistic distribution with discrete parents."""
        assert isinstance(cpd, LogisticCPD)
        return cls(cpd)

    @property
    def start(self) -> Floats:
        """The intercept, then the weights of each parent."""
        return np.concatenate([self.origin.intercept, *(w.ravel() for w in self.origin.weights.values())])

    def cpd(self, point: Floats) -> LogisticCPD:
        """The distribution at a point."""
        record = self.origin.to_record()
        ends = np.cumsum([self.origin.intercept.size, *(w.size for w in self.origin.weights.values())])
        intercept, *weights = np.split(point, ends[:-1])
        pairs = zip(weights, self.origin.weights.values(), strict=True)
        record |= {"intercept": intercept.tolist(), "weights": [new.reshape(old.shape).tolist() for new, old in pairs]}
        return LogisticCPD.from_record(self.origin.variable, self.origin.parents, record)

    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        """The gradient of all weights."""
        return np.concatenate([part.ravel() for part in self.parameters(cpd, entries).values()])

    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
        """dℓ/dw of the intercept and of each parent."""
        assert isinstance(cpd, LogisticCPD)
        chances = cpd.to_factor().values.reshape(-1, cpd.variable.num_states)
        flat = np.reshape(entries, chances.shape)
        mean = (chances * flat).sum(axis=1, keepdims=True)
        slopes = (chances * (flat - mean))[:, 1:]
        found = {"(intercept)": slopes.sum(axis=0)}
        columns = parent_columns(cpd)
        for parent in cpd.parents:
            of_states = np.zeros((parent.num_states, slopes.shape[1]))
            np.add.at(of_states, columns[parent.name], slopes)
            codes = cpd.codes.get(parent.name)
            found[parent.name] = of_states if codes is None else codes @ of_states
        return found
