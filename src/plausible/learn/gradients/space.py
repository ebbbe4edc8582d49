"""All free parameters of a network as one point, the likelihood of incomplete rows, and what learners climb there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import Codes, Floats, Positions, logarithms
from plausible.cpds import CPD, LogisticCPD, NoisyOr, TableCPD, TreeCPD
from plausible.data.table import TableLike
from plausible.engine.batch import PreparedRows
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.estimation.families import ParameterKnowledge, check_knowledge
from plausible.learn.estimation.priors import PriorLike, pseudo_counts, refuse_unknown
from plausible.learn.gradients.coordinates import (
    CPDCoordinates,
    LogisticCoordinates,
    NoisyOrCoordinates,
    RowCoordinates,
)
from plausible.learn.incomplete.cases import Cases, distinct_rows
from plausible.learn.incomplete.expectations import CompiledCases, compile_cases
from plausible.models import BayesianNetwork
from plausible.models.compiled_model import impossible_row
from plausible.variables import Variable

#: Name -> P(X | U), an axis for each parent, then one for the child.
Tables: TypeAlias = Mapping[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class ObservedLikelihood:
    """Incomplete rows, and the program that sums their missing cells out; made by `ObservedLikelihood.of`.

    Equal rows are kept once. Cost of a question: a pass of the different rows through the clique tree.
    """

    families: Mapping[str, tuple[Variable, ...]]  # name -> (parents..., child)
    rows: Codes  # the different rows: the position of each variable's state, -1 where it is missing
    weights: Floats  # how often each of them counts
    first_places: Positions  # for each of them, a row of the data that it stands for
    compiled: CompiledCases  # the clique tree, in which each family lies in a clique, and the rows made ready for it

    @classmethod
    def of(
        cls, network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None
    ) -> ObservedLikelihood:
        """Read the rows that count, and compile the network, of which only the graph and the states matter."""
        if not isinstance(network, BayesianNetwork):
            raise InvalidArgument(f"Gradients are of the likelihood of a BayesianNetwork, not of {network!r}.")
        if network.inputs:
            name = network.inputs[0]
            raise NotSupported(f"{name!r} has no distribution: give it one, so that rows have a likelihood.")
        families = {name: cpd.scope for name, cpd in network.cpds.items()}
        for name in (v.name for scope in families.values() for v in scope if v.is_continuous):
            raise NotSupported(
                f"{name!r} is continuous: these gradients are of tables. For a network of linear Gaussians see "
                "gaussian_likelihood_gradient; or make it discrete."
            )
        cases = Cases.of(network.variables, data, weights)
        for names in cases.setting_names[1:]:
            raise NotSupported(f"Rows in which {names[0]!r} was set from outside have no gradient: leave them out.")
        counted = np.flatnonzero(cases.case_of_row >= 0)
        firsts = counted[np.unique(cases.case_of_row[counted], return_index=True)[1]]
        return cls(families, cases.codes, cases.weights, firsts, compile_cases(network, cases))

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return float(self.weights.sum())

    def hiding(self, names: Iterable[str]) -> ObservedLikelihood:
        """The same rows with some variables never observed."""
        rows = self.rows.copy()
        rows[:, [list(self.compiled.tree.variables).index(name) for name in names]] = -1
        distinct, places = distinct_rows(rows)
        weights = np.bincount(places, self.weights, len(distinct)).astype(np.float64)
        firsts = np.full(len(distinct), np.iinfo(np.intp).max)
        np.minimum.at(firsts, places, self.first_places)
        return self.of_rows(distinct, weights, firsts)

    def of_rows(self, rows: Codes, weights: Floats, first_places: Positions) -> ObservedLikelihood:
        """The likelihood of other rows, all of them different, by the same clique tree."""
        ready = ((np.arange(len(rows)), self.compiled.tree.prepared_rows(rows)),)
        compiled = self.compiled._replace(rows=ready)
        return replace(self, rows=rows, weights=weights, first_places=first_places, compiled=compiled)

    def log_rows(self, tables: Tables, rows: Codes | None = None) -> Floats:
        """log P(row) of each different row, or of others; -inf where it can't happen."""
        sources = self.compiled.sources([tables[name] for name in self.families])
        return self._ready(rows).answer(sources).log_totals

    def counts(
        self, tables: Tables, rows: Codes | None = None, weights: Floats | None = None
    ) -> tuple[Floats, dict[str, Floats]]:
        """log P(row), and Σ weight · P(child, parents | row) of each family; impossible rows count nothing."""
        tree = self.compiled.tree
        tree.budget.check_tables(tree.program.num_entries)
        sources = self.compiled.sources([tables[name] for name in self.families])
        answers = self._ready(rows).answer(sources, self.weights if weights is None else weights)
        assert answers.totals is not None
        found = {reading.name: reading.counts(answers.totals) for reading in self.compiled.readings}
        return answers.log_totals, {name: found[name] for name in self.families}

    def refuse_impossible(self, log_rows: Floats) -> None:
        """An error that names the first row of the data that can't happen."""
        if np.isneginf(log_rows).any():
            raise impossible_row(int(self.first_places[np.isneginf(log_rows)].min()), None)

    def _ready(self, rows: Codes | None) -> PreparedRows:
        return self.compiled.rows[0][1] if rows is None else self.compiled.tree.prepared_rows(rows)


def tables_of(network: BayesianNetwork) -> dict[str, Floats]:
    """The tables of all distributions, whatever their kind."""
    return {name: cpd.to_factor().values for name, cpd in network.cpds.items()}


def coordinates_of(cpd: CPD) -> CPDCoordinates:
    """The free parameters of a distribution."""
    if isinstance(cpd, NoisyOr):
        return NoisyOrCoordinates(cpd)
    if isinstance(cpd, LogisticCPD):
        return LogisticCoordinates(cpd)
    if not isinstance(cpd, TableCPD | TreeCPD):
        raise NotSupported(
            f"The {cpd.kind} distribution of {cpd.variable.name!r} has no gradient of its own: make it a table by "
            "to_table(), or fix it by knowledge=ParameterKnowledge(fixed=[...])."
        )
    return RowCoordinates.of(cpd)


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
        cpds = {**network.cpds, **known.start_cpds, **known.fixed_cpds}
        network = BayesianNetwork(cpds.values(), notes=network.notes)
        for user, owner in known.owners.items():
            network = network.with_cpd(_copied(network.cpd(owner), network.cpd(user)))
        blocks, first = [], 0
        for name, cpd in network.cpds.items():
            if name in known.fixed_cpds or name in known.owners or cpd.kind == "deterministic":
                continue
            coordinates, users = coordinates_of(cpd), [user for user, owner in known.owners.items() if owner == name]
            part = slice(first, first + coordinates.start.size)
            blocks.append(Block(coordinates, (name, *users), part))
            first = part.stop
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

        These are α - 1 for a table; a leaf of a tree has the pseudo-counts of all rows that it stands for.
        """
        refuse_unknown(prior, list(self.network.variables))
        weights = {}
        for block in self.blocks:
            if isinstance(block.coordinates, RowCoordinates):
                origin, places = block.coordinates.origin, block.coordinates.places
                alpha = pseudo_counts(prior, origin.variable, origin.parents)
                gathered = block.coordinates.gathered(alpha)
                if alpha.any() and (gathered < 1).any():
                    raise InvalidArgument(
                        f"The prior of {origin.variable.name!r} has pseudo-counts below one, whose mode lies at the "
                        "edge of the simplex. Give more cases, such as Dirichlet(2), or no prior."
                    )
                if alpha.any():
                    sizes = np.bincount(places, minlength=len(gathered))
                    shares = (gathered - 1.0) / np.maximum(sizes, 1)[:, None]
                    weights[block.users[0]] = np.asarray(shares[places].reshape(alpha.shape))
        return weights


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
        tables = self.tables(self.space.cpds(point))
        return sum(sign * float(term.weights @ term.log_rows(tables)) for sign, term in self.terms)

    def at(self, point: Floats) -> tuple[float, Floats]:
        """The value and the gradient at a point; -inf, and no gradient, where a row can't happen."""
        cpds = self.space.cpds(point)
        tables = self.tables(cpds)
        entries = {name: np.zeros(table.shape) for name, table in tables.items()}
        value = 0.0
        for sign, term in self.terms:
            log_rows, counts = term.counts(tables)
            value += sign * float(term.weights @ log_rows)
            for name, count in counts.items():
                entries[name] += sign * _ratio(count, tables[name])
        for name, weights in self.prior_weights.items():
            live = weights > 0
            value += float(weights[live] @ logarithms(tables[name][live]))
            entries[name] += _ratio(weights, tables[name])
        if not np.isfinite(value):
            return -np.inf, np.zeros(point.shape)
        return value, self.space.pull(cpds, entries)

    def tables(self, cpds: list[CPD]) -> Tables:
        """The tables of all variables, from the distribution of each block."""
        made: dict[str, Floats] = {}
        for block, cpd in zip(self.space.blocks, cpds, strict=True):
            made |= dict.fromkeys(block.users, cpd.to_factor().values)
        fixed = {name: cpd for name, cpd in self.space.network.cpds.items() if name not in made}
        made |= {name: cpd.to_factor().values for name, cpd in fixed.items()}
        return {name: made[name] for name in self.space.network.cpds}


def _ratio(counts: Floats, table: Floats) -> Floats:
    """dℓ/dθ = M / θ; where θ is zero no free parameter moves it, so that any finite number will do."""
    return np.divide(counts, table, out=np.zeros(table.shape), where=table > 0)
