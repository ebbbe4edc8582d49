"""Parameters of conditional distributions as points without constraints, and gradients pulled back to them.

The chain rule dℓ/dλ = Σ_{x,u} dℓ/dP(x|u) · dP(x|u)/dλ carries the gradient of the entries of a table over to the
parameters that the table is made of (Koller & Friedman 2009, section 19.2.1.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base import Floats, Positions
from plausible.cpds import CPD, LogisticCPD, NoisyOr, TableCPD, TreeCPD
from plausible.learn.incomplete.maximization import normalized_exponentials


class CPDCoordinates(ABC):
    """The free parameters of one distribution, on a scale on which every number is allowed, edges held."""

    __slots__ = ()

    origin: CPD  # the distribution from which the coordinates were made

    @property
    @abstractmethod
    def start(self) -> Floats:
        """The point that stands for the origin."""

    @abstractmethod
    def cpd(self, point: Floats) -> CPD:
        """The distribution at a point."""

    @abstractmethod
    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        """The gradient at the point of a distribution, from the gradient of the entries of its table."""

    @abstractmethod
    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
        """The gradient of the parameters as the distribution names them, constraints not regarded."""


@dataclass(frozen=True, slots=True, eq=False)
class RowCoordinates(CPDCoordinates):
    """Rows of a table or leaves of a tree as θ_x = exp λ_x / Σ_y exp λ_y; entries that are zero stay zero.

    dℓ/dλ_x = M[x] - θ_x Σ_y M[y], where M[x] = θ_x dℓ/dθ_x are expected counts.
    """

    origin: CPD
    rows: Floats  # at the origin: (rows, states)
    places: Positions  # for each joint state of the parents, the row that holds

    @classmethod
    def of(cls, cpd: CPD) -> RowCoordinates:
        """The coordinates of a table or a tree."""
        return cls(cpd, *row_places(cpd))

    @property
    def start(self) -> Floats:
        return np.log(self.rows[self.rows > 0])

    def cpd(self, point: Floats) -> CPD:
        variable, parents, logs = self.origin.variable, self.origin.parents, np.full(self.rows.shape, -np.inf)
        logs[self.rows > 0] = point
        rows = normalized_exponentials(logs)
        if isinstance(self.origin, TableCPD):
            return TableCPD(variable, rows.reshape([v.num_states for v in (*parents, variable)]), parents)
        leaves, old = iter(rows.tolist()), self.origin.to_record()["tree"]
        nodes = [{"probabilities": next(leaves)} if "probabilities" in node else node for node in old]
        return TreeCPD.from_record(variable, parents, {"tree": nodes})

    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        rows = row_places(cpd)[0]
        counts = rows * self.gathered(entries)
        return np.asarray((counts - rows * counts.sum(axis=1, keepdims=True))[self.rows > 0])

    def gathered(self, entries: Floats) -> Floats:
        """Numbers of a table's entries, summed over those that are one parameter: shape (rows, states)."""
        sums = np.zeros(self.rows.shape)
        np.add.at(sums, self.places, np.reshape(entries, (-1, self.rows.shape[1])))
        return sums

    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
        return {"rows": np.asarray(entries) if isinstance(self.origin, TableCPD) else self.gathered(entries)}


def row_places(cpd: CPD) -> tuple[Floats, Positions]:
    """The rows of a table or the leaves of a tree, and which one holds at each joint state of the parents."""
    if isinstance(cpd, TreeCPD):
        return cpd.rows, np.ravel(cpd.context_index(parent_columns(cpd)))
    values = cpd.to_factor().values.reshape(-1, cpd.variable.num_states)
    return values, np.arange(len(values))


def parent_columns(cpd: CPD) -> Mapping[str, Positions]:
    """Parent -> its position at each joint state of all parents, the last changing fastest."""
    sizes = [parent.num_states for parent in cpd.parents]
    if not sizes:
        return {}
    places = np.unravel_index(np.arange(int(np.prod(sizes))), sizes)
    return dict(zip(cpd.parent_names, places, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class NoisyOrCoordinates(CPDCoordinates):
    """λ_0 (leak) and λ_i (activations) as logits; those that are 0 or 1 stay so.

    P(off | u) = Π_i (1 - λ_i)^{a_i(u)}, so that dP(off | u)/dλ_i = -a_i Π_{j≠i} (1 - λ_j)^{a_j}: no division, and
    defined at λ_i = 1 too.
    """

    origin: NoisyOr

    @property
    def start(self) -> Floats:
        chances = _chances(self.origin)
        live = chances[(chances > 0) & (chances < 1)]
        return np.log(live) - np.log1p(-live)

    def cpd(self, point: Floats) -> NoisyOr:
        chances, origin = _chances(self.origin), self.origin
        chances[(chances > 0) & (chances < 1)] = 0.5 * (1.0 + np.tanh(0.5 * point))
        active = dict(origin.active_states)
        return NoisyOr(origin.variable, origin.parents, chances[1:], float(chances[0]), active_states=active)

    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        assert isinstance(cpd, NoisyOr)
        chances, held = _chances(cpd), _chances(self.origin)
        return np.asarray((chances * (1 - chances) * _slopes(cpd, entries))[(held > 0) & (held < 1)])

    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
        assert isinstance(cpd, NoisyOr)
        return dict(zip(("(leak)", *cpd.parent_names), _slopes(cpd, entries), strict=True))


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

    @property
    def start(self) -> Floats:
        return np.concatenate([self.origin.intercept, *(w.ravel() for w in self.origin.weights.values())])

    def cpd(self, point: Floats) -> LogisticCPD:
        record = self.origin.to_record()
        ends = np.cumsum([self.origin.intercept.size, *(w.size for w in self.origin.weights.values())])
        intercept, *weights = np.split(point, ends[:-1])
        pairs = zip(weights, self.origin.weights.values(), strict=True)
        record |= {"intercept": intercept.tolist(), "weights": [new.reshape(old.shape).tolist() for new, old in pairs]}
        return LogisticCPD.from_record(self.origin.variable, self.origin.parents, record)

    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        return np.concatenate([part.ravel() for part in self.parameters(cpd, entries).values()])

    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
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
