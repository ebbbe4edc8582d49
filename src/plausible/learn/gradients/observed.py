"""The likelihood of incomplete rows under tables that change, through a clique tree that does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Codes, Floats, Positions
from plausible.data.table import TableLike
from plausible.engine.batch import PreparedRows
from plausible.errors import InvalidArgument, NotSupported
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
        families = _families(network)
        cases = _read(network, data, weights)
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
        """The likelihood of other rows, all of them different, by the same clique tree; see the attributes."""
        ready = ((np.arange(len(rows)), self.compiled.tree.prepared_rows(rows)),)
        compiled = self.compiled._replace(rows=ready)
        return replace(self, rows=rows, weights=weights, first_places=first_places, compiled=compiled)

    def log_rows(self, tables: Tables, rows: Codes | None = None) -> Floats:
        """log P(row) of each different row, or of others; -inf where it can't happen."""
        return self._ready(rows).answer(self._sources(tables)).log_totals

    def counts(
        self, tables: Tables, rows: Codes | None = None, weights: Floats | None = None
    ) -> tuple[Floats, dict[str, Floats]]:
        """log P(row), and Σ weight · P(child, parents | row) of each family; impossible rows count nothing."""
        tree = self.compiled.tree
        tree.budget.check_tables(tree.program.num_entries)
        answers = self._ready(rows).answer(self._sources(tables), self.weights if weights is None else weights)
        assert answers.totals is not None
        found = {reading.name: reading.counts(answers.totals) for reading in self.compiled.readings}
        return answers.log_totals, {name: found[name] for name in self.families}

    def refuse_impossible(self, log_rows: Floats) -> None:
        """An error that names the first row of the data that can't happen."""
        if np.isneginf(log_rows).any():
            raise impossible_row(int(self.first_places[np.isneginf(log_rows)].min()), None)

    def _ready(self, rows: Codes | None) -> PreparedRows:
        return self.compiled.rows[0][1] if rows is None else self.compiled.tree.prepared_rows(rows)

    def _sources(self, tables: Tables) -> Floats:
        return self.compiled.sources([tables[name] for name in self.families])


def tables_of(network: BayesianNetwork) -> dict[str, Floats]:
    """The tables of all distributions, whatever their kind."""
    return {name: cpd.to_factor().values for name, cpd in network.cpds.items()}


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
    return families


def _read(network: BayesianNetwork, data: TableLike, weights: Iterable[float] | None) -> Cases:
    """The different rows, refused where a variable was set from outside."""
    cases = Cases.of(network.variables, data, weights)
    for names in cases.setting_names[1:]:
        raise NotSupported(f"Rows in which {names[0]!r} was set from outside have no gradient: leave them out.")
    return cases
