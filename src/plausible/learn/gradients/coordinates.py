"""Parameters of conditional distributions as points without constraints, and gradients pulled back to them.

The chain rule dℓ/dλ = Σ_{x,u} dℓ/dP(x|u) · dP(x|u)/dλ carries the gradient of the entries of a table over to the
parameters that the table is made of (Koller & Friedman 2009, section 19.2.1.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.cpds import CPD, LogisticCPD, NoisyOr, TableCPD, TreeCPD


class CPDCoordinates(ABC):
    """The free parameters of one distribution, on a scale on which every number is allowed."""

    __slots__ = ()

    #: The distribution from which the coordinates were made.
    origin: CPD

    @classmethod
    @abstractmethod
    def of(cls, cpd: CPD) -> Self:
        """The coordinates of a kind of distribution; parameters at the edge of their range are held there."""

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
    #: The rows at the origin: shape (rows, states).
    rows: Floats
    #: For each joint state of the parents, the row that holds.
    places: Positions

    @classmethod
    def of(cls, cpd: CPD) -> RowCoordinates:
        """The coordinates of a table or a tree."""
        rows, places = row_places(cpd)
        return cls(cpd, rows, places)

    @property
    def start(self) -> Floats:
        """Logarithms of the entries that are not zero."""
        return np.log(self.rows[self.rows > 0])

    def rows_at(self, point: Floats) -> Floats:
        """θ at a point."""
        logs = np.full(self.rows.shape, -np.inf)
        logs[self.rows > 0] = point
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def cpd(self, point: Floats) -> CPD:
        """The table or tree at a point."""
        variable, parents, rows = self.origin.variable, self.origin.parents, self.rows_at(point)
        if isinstance(self.origin, TableCPD):
            return TableCPD(variable, rows.reshape([v.num_states for v in (*parents, variable)]), parents)
        leaves = iter(rows.tolist())
        nodes = [
            {"probabilities": next(leaves)} if "probabilities" in node else node
            for node in self.origin.to_record()["tree"]
        ]
        return TreeCPD.from_record(variable, parents, {"tree": nodes})

    def pull(self, cpd: CPD, entries: Floats) -> Floats:
        """dℓ/dλ of the entries that are not held."""
        rows = row_places(cpd)[0]
        counts = rows * self.gathered(entries)
        return np.asarray((counts - rows * counts.sum(axis=1, keepdims=True))[self.rows > 0])

    def gathered(self, entries: Floats) -> Floats:
        """Numbers of a table's entries, summed over those that are one parameter: shape (rows, states)."""
        sums = np.zeros(self.rows.shape)
        np.add.at(sums, self.places, np.reshape(entries, (-1, self.rows.shape[1])))
        return sums

    def parameters(self, cpd: CPD, entries: Floats) -> dict[str, Floats]:
        """dℓ/dθ of the rows, in the shape of a table, or one row for each leaf."""
        is_table = isinstance(self.origin, TableCPD)
        return {"rows": np.asarray(entries) if is_table else self.gathered(entries)}


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
