"""The likelihood of incomplete rows under tables that change, through a clique tree that does not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.data import encode_evidence
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.models import BayesianNetwork
from plausible.models.exact_engine import checked_weights, impossible_row, refuse_large_families
from plausible.variables import Variable

__all__ = ["Floats", "ObservedLikelihood", "Tables", "observed_log_likelihood", "row_log_likelihoods", "tables_of"]

Floats: TypeAlias = NDArray[np.float64]
#: Name -> P(X | U), an axis for each parent, then one for the child.
Tables: TypeAlias = Mapping[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class ObservedLikelihood:
    """Incomplete rows, and the program that sums their missing cells out; made by `ObservedLikelihood.of`.

    Equal rows are kept once. Cost of a question: a pass of the different rows through the clique tree.

    Attributes
    ----------
    families
        Name -> (parents..., child).
    rows
        The different rows: the position of each variable's state, -1 where it is missing.
    weights
        How often each of them counts.
    first_places
        For each of them, a row of the data that it stands for.
    compiled
        The clique tree, in which each family lies in a clique.
    """

    families: Mapping[str, tuple[Variable, ...]]
    rows: NDArray[np.int32]
    weights: Floats
    first_places: NDArray[np.intp]
    compiled: CompiledFactors

    @classmethod
    def of(
        cls, network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None
    ) -> ObservedLikelihood:
        """Read the rows that count, and compile the network.

        Parameters
        ----------
        network
            Discrete; only its graph and its states matter.
        data
            Rows with cells missing, or whole columns.
        weights
            How often each row counts; as the table says where left out.
        """
        families = _families(network)
        rows, numbers = _read(network, data, weights)
        counting = np.flatnonzero(numbers > 0)
        distinct, first, places = _distinct(rows[counting])
        totals = np.bincount(places, numbers[counting], len(distinct)).astype(np.float64)
        factors = [Factor.from_flat(scope, np.ones(_size(scope))) for scope in families.values()]
        together = [[variable.name for variable in scope] for scope in families.values()]
        compiled = compile_factors(factors, network.variables.values(), together=together)
        return cls(families, distinct, totals, counting[first], compiled)

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return float(self.weights.sum())

    def hiding(self, names: Iterable[str]) -> ObservedLikelihood:
        """The same rows with some variables never observed."""
        rows = self.rows.copy()
        rows[:, [list(self.compiled.variables).index(name) for name in names]] = -1
        distinct, first, places = _distinct(rows)
        weights = np.bincount(places, self.weights, len(distinct)).astype(np.float64)
        return replace(self, rows=distinct, weights=weights, first_places=self.first_places[first])

    def log_rows(self, tables: Tables, rows: NDArray[np.int32] | None = None) -> Floats:
        """log P(row) of each different row, or of others; -inf where it can't happen."""
        return self._with(tables).answer_rows(self.rows if rows is None else rows).log_totals

    def counts(
        self, tables: Tables, rows: NDArray[np.int32] | None = None, weights: Floats | None = None
    ) -> tuple[Floats, dict[str, Floats]]:
        """log P(row), and Σ weight · P(child, parents | row) of each family; impossible rows count nothing."""
        compiled = self._with(tables)
        given = self.rows if rows is None else rows
        answers = compiled.answer_rows(given, weights=self.weights if weights is None else weights)
        assert answers.totals is not None
        cliques = compiled.family_cliques(self.families)
        return answers.log_totals, compiled.family_totals(answers.totals, self.families, cliques)

    def refuse_impossible(self, log_rows: Floats) -> None:
        """An error that names the first row of the data that can't happen."""
        if np.isneginf(log_rows).any():
            raise impossible_row(int(self.first_places[np.isneginf(log_rows)].min()), None)

    def _with(self, tables: Tables) -> CompiledFactors:
        made = self.compiled
        parts = [np.ravel(tables[name]) for name in self.families]
        sources = np.concatenate(parts) if parts else np.empty(0)
        return CompiledFactors(made.factors, made.variables, made.program, sources, made.info, made.budget)


def tables_of(network: BayesianNetwork) -> dict[str, Floats]:
    """The tables of all distributions, whatever their kind."""
    return {name: cpd.to_factor().values for name, cpd in network.cpds.items()}


def row_log_likelihoods(network: BayesianNetwork, data: TableLike) -> Floats:
    """log P(o[m]) of each row, its missing cells summed out; -inf where it can't happen.

    Parameters
    ----------
    network
        Discrete.
    data
        Rows with cells missing, or whole columns; weights do not matter.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.0, 1.0]], ["A"]))
    >>> np.exp(row_log_likelihoods(coin, {"A": [0, None, None], "B": [None, 1, None]}))
    array([0.5 , 0.75, 1.  ])
    """
    rows, _ = _read(network, data, None)
    return ObservedLikelihood.of(network, data).log_rows(tables_of(network), rows)


def observed_log_likelihood(network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None = None) -> float:
    """ℓ(θ) = Σ_m w_m log P(o[m] | θ), what learning from incomplete data maximises.

    Parameters
    ----------
    network
        Discrete.
    data
        Rows with cells missing, or whole columns.
    weights
        How often each row counts; as the table says where left out.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.0, 1.0]], ["A"]))
    >>> round(observed_log_likelihood(coin, {"B": [1, 1, None]}), 6)
    -0.575364
    """
    likelihood = ObservedLikelihood.of(network, data, weights)
    return float(likelihood.weights @ likelihood.log_rows(tables_of(network)))


def _families(network: BayesianNetwork) -> dict[str, tuple[Variable, ...]]:
    if not isinstance(network, BayesianNetwork):
        raise InvalidArgument(f"Gradients are of the likelihood of a BayesianNetwork, not of {network!r}.")
    if network.inputs:
        raise NotSupported(f"{network.inputs[0]!r} has no distribution: give it one, so that rows have a likelihood.")
    families = {}
    for name, cpd in network.cpds.items():
        for variable in cpd.scope:
            if variable.is_continuous:
                raise NotSupported(
                    f"{variable.name!r} is continuous: these gradients are of tables. For a network of linear "
                    "Gaussians see gaussian_likelihood_gradient; or make it discrete."
                )
        families[name] = cpd.scope
    refuse_large_families(families)
    return families


def _read(
    network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None
) -> tuple[NDArray[np.int32], Floats]:
    """A column for each variable of the network, and a weight for each row."""
    if isinstance(data, Table):
        rows = _codes(network, data)
        given = data.weights if weights is None else list(weights)
    else:
        columns = dict(columns_of(data, list(network.variables)))
        rows = encode_evidence(columns, network.variables, "this network")
        given = None if weights is None else list(weights)
    return rows, checked_weights(given, len(rows))


def _codes(network: BayesianNetwork, table: Table) -> NDArray[np.int32]:
    if table.interventions:
        name = next(iter(table.interventions))
        raise NotSupported(f"Rows in which {name!r} was set from outside have no gradient here: learn without them.")
    rows = np.full((table.num_rows, len(network.variables)), -1, dtype=np.int32)
    places = {name: place for place, name in enumerate(network.variables)}
    for name, codes in zip(table.discrete, table.codes, strict=True):
        if name not in places:
            raise UnknownVariable.named(name, places, "this network, though the data have it")
        if table.variables[name] != network.variables[name]:
            raise InvalidArgument(f"{name!r} has other states in the data: read them with variables=network.variables.")
        rows[:, places[name]] = codes
    if table.continuous:
        raise UnknownVariable.named(table.continuous[0], places, "this network's tables, though the data have numbers")
    return rows


def _distinct(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
    """The different rows, the first place of each, and for each row which of them it is."""
    if not rows.size:
        return rows[:1], np.zeros(min(len(rows), 1), dtype=np.intp), np.zeros(len(rows), dtype=np.intp)
    distinct, first, places = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return distinct, first, places.ravel()


def _size(scope: Iterable[Variable]) -> int:
    return math.prod(variable.num_states for variable in scope)
