"""All free parameters of a network as one point, and what learners climb there.

Shared tables are counted once, fixed distributions left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, TableCPD
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.estimation.knowledge import ParameterKnowledge, check_knowledge
from plausible.learn.estimation.priors import PriorLike, pseudo_counts, refuse_unknown
from plausible.learn.gradients.coordinates import (
    CPDCoordinates,
    LogisticCoordinates,
    NoisyOrCoordinates,
    RowCoordinates,
)
from plausible.learn.gradients.observed import ObservedLikelihood, Tables
from plausible.models import BayesianNetwork

_KINDS: Mapping[str, type[CPDCoordinates]] = MappingProxyType(
    {"table": RowCoordinates, "tree": RowCoordinates, "noisy-or": NoisyOrCoordinates, "logistic": LogisticCoordinates}
)


def coordinates_of(cpd: CPD) -> CPDCoordinates:
    """The free parameters of a distribution."""
    if cpd.kind not in _KINDS:
        raise NotSupported(
            f"The {cpd.kind} distribution of {cpd.variable.name!r} has no gradient of its own: make it a table by "
            "to_table(), or fix it by knowledge=ParameterKnowledge(fixed=[...])."
        )
    return _KINDS[cpd.kind].of(cpd)


class Block(NamedTuple):
    """The coordinates of one distribution, who has it, and its part of the point."""

    coordinates: CPDCoordinates
    users: tuple[str, ...]  # the variables whose distribution it is; several where tables are tied
    part: slice


@dataclass(frozen=True, slots=True, eq=False)
class ParameterSpace:
    """Networks with one graph, by points without constraints; made by `ParameterSpace.of`."""

    network: BayesianNetwork  # the network that `start` stands for
    blocks: tuple[Block, ...]  # the distributions that are free

    @classmethod
    def of(cls, network: BayesianNetwork, knowledge: ParameterKnowledge | None = None) -> ParameterSpace:
        """The space around a network; deterministic distributions are fixed, and others that knowledge names.

        Tables that are tied start from the table of the first of their group.
        """
        known = knowledge or ParameterKnowledge()
        check_knowledge(known, {name: cpd.parent_names for name, cpd in network.cpds.items()})
        network = _known(network, known)
        blocks, first = [], 0
        for name, cpd in network.cpds.items():
            if name in known.fixed_cpds or name in known.owners or cpd.kind == "deterministic":
                continue
            coordinates = coordinates_of(cpd)
            users = (name, *(user for user, owner in known.owners.items() if owner == name))
            last = first + coordinates.start.size
            blocks.append(Block(coordinates, users, slice(first, last)))
            first = last
        return cls(network, tuple(blocks))

    @property
    def start(self) -> Floats:
        """The point of the network."""
        return np.concatenate([np.empty(0), *(block.coordinates.start for block in self.blocks)])

    def cpds(self, point: Floats) -> list[CPD]:
        """The distribution of each block."""
        return [block.coordinates.cpd(point[block.part]) for block in self.blocks]

    def network_at(self, point: Floats) -> BayesianNetwork:
        """The network at a point."""
        made = dict(self.network.cpds)
        for block, cpd in zip(self.blocks, self.cpds(point), strict=True):
            for user in block.users:
                made[user] = cpd if user == block.users[0] else _copied(cpd, self.network.cpd(user))
        return BayesianNetwork(made.values(), notes=self.network.notes)

    def pull(self, cpds: list[CPD], entries: Tables) -> Floats:
        """The gradient at a point, from the gradient of the entries of all tables."""
        parts = [np.empty(0)]
        for block, cpd in zip(self.blocks, cpds, strict=True):
            parts.append(block.coordinates.pull(cpd, np.sum([entries[user] for user in block.users], axis=0)))
        return np.concatenate(parts)

    def log_prior_weights(self, prior: PriorLike) -> Tables:
        """Name -> weights w of the entries of a table, by which its log-density is Σ w log θ but for a constant.

        These are α - 1 for a table; a leaf of a tree has the pseudo-counts of all rows that it stands for. The mode of
        a Dirichlet density with α below one lies at the edge: there is nothing to climb to.
        """
        refuse_unknown(prior, list(self.network.variables))
        weights = {}
        for block in self.blocks:
            if isinstance(block.coordinates, RowCoordinates):
                origin = block.coordinates.origin
                alpha = pseudo_counts(prior, origin.variable, origin.parents)
                if alpha.any():
                    weights[block.users[0]] = _prior_weights(block.coordinates, alpha)
        return weights


def _prior_weights(coordinates: RowCoordinates, alpha: Floats) -> Floats:
    gathered = coordinates.gathered(alpha)
    if (gathered < 1).any():
        raise InvalidArgument(
            f"The prior of {coordinates.origin.variable.name!r} has pseudo-counts below one, whose mode lies at the "
            "edge of the simplex. Give more cases, such as Dirichlet(2), or no prior."
        )
    sizes = np.bincount(coordinates.places, minlength=len(gathered))
    shares = (gathered - 1.0) / np.maximum(sizes, 1)[:, None]
    return np.asarray(shares[coordinates.places].reshape(alpha.shape))


def _known(network: BayesianNetwork, knowledge: ParameterKnowledge) -> BayesianNetwork:
    """The network with fixed distributions, starts and shared tables put in."""
    cpds = {**network.cpds, **knowledge.start_cpds, **knowledge.fixed_cpds}
    bound = BayesianNetwork(cpds.values(), notes=network.notes)
    for user, owner in knowledge.owners.items():
        bound = bound.with_cpd(_copied(bound.cpd(owner), bound.cpd(user)))
    return bound


def _copied(owner: CPD, user: CPD) -> CPD:
    """The table of one variable as that of another; states and parents correspond by their order."""
    shape = tuple(variable.num_states for variable in user.scope)
    if not (isinstance(owner, TableCPD) and isinstance(user, TableCPD)) or owner.values.shape != shape:
        raise InvalidArgument(
            f"{user.variable.name!r} can't have the distribution of {owner.variable.name!r}: tied ones are tables of "
            "one shape."
        )
    return TableCPD(user.variable, owner.values, user.parents)


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Σ_i s_i ℓ_i(θ) + Σ (α - 1) log θ, as a function of a point of a parameter space."""

    space: ParameterSpace
    # signs and likelihoods: (+1, ℓ) for the likelihood, (+1, ℓ_xy) and (-1, ℓ_x) for that of y given x
    terms: tuple[tuple[float, ObservedLikelihood], ...]
    prior_weights: Tables  # name -> α - 1 of a table's prior

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return self.terms[0][1].total

    def log_likelihood(self, point: Floats) -> float:
        """Σ_i s_i ℓ_i at a point, without the prior."""
        tables = self.tables(point)
        return sum(sign * float(term.weights @ term.log_rows(tables)) for sign, term in self.terms)

    def tables(self, point: Floats) -> Tables:
        """The tables of all variables at a point."""
        return self._tables(self.space.cpds(point))

    def at(self, point: Floats) -> tuple[float, Floats]:
        """The value and the gradient at a point; -inf, and no gradient, where a row can't happen."""
        cpds = self.space.cpds(point)
        tables = self._tables(cpds)
        entries = {name: np.zeros(table.shape) for name, table in tables.items()}
        value = 0.0
        for sign, term in self.terms:
            log_rows, counts = term.counts(tables)
            value += sign * float(term.weights @ log_rows)
            for name, count in counts.items():
                entries[name] += sign * _ratio(count, tables[name])
        for name, weights in self.prior_weights.items():
            live = weights > 0
            with np.errstate(divide="ignore"):
                value += float(weights[live] @ np.log(tables[name][live]))
            entries[name] += _ratio(weights, tables[name])
        if not np.isfinite(value):
            return -np.inf, np.zeros(point.shape)
        return value, self.space.pull(cpds, entries)

    def _tables(self, cpds: list[CPD]) -> Mapping[str, Floats]:
        """The tables of all variables."""
        made: dict[str, Floats] = {}
        for block, cpd in zip(self.space.blocks, cpds, strict=True):
            made |= dict.fromkeys(block.users, cpd.to_factor().values)
        return {
            name: made[name] if name in made else cpd.to_factor().values
            for name, cpd in self.space.network.cpds.items()
        }


def _ratio(counts: Floats, table: Floats) -> Floats:
    """dℓ/dθ = M / θ; where θ is zero no free parameter moves it, so that any finite number will do."""
    return np.divide(counts, table, out=np.zeros(table.shape), where=table > 0)
