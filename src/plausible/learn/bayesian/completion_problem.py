"""What Bayesian learning is asked: cases with missing cells, and pseudo-counts of all tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.inference.compiled import CompiledFactors
from plausible.learn.bayesian.family_tables import FamilyTables
from plausible.learn.estimation.family_posterior import FamilyPosterior
from plausible.learn.estimation.posterior import ParameterPosterior
from plausible.learn.estimation.priors import FLAT_PRIOR, PriorLike
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import compile_cases
from plausible.learn.incomplete.problem import read_problem
from plausible.models import BayesianNetwork
from plausible.search.run import HasRun, Run
from plausible.variables import Variable


@dataclass(frozen=True, eq=False)
class CompletionProblem:
    """Cases, and Dirichlet priors of the rows of all tables; made by `of`.

    >>> problem = CompletionProblem.of("a -> b", {"a": [0, 1, None], "b": [0, None, 1]})
    >>> problem.codes.tolist(), problem.cells.tolist()
    ([[-1, 1], [0, 0], [1, -1]], [[0, 0], [2, 1]])
    """

    cases: Cases  # The different rows and how much they weigh
    tables: FamilyTables  # How the tables of the graph lie in flat arrays
    pseudo_counts: Floats  # α of all entries, positive

    @classmethod
    def of(
        cls,
        graph: object,
        data: TableLike,
        prior: PriorLike = None,
        *,
        hidden: Mapping[str, int] | Iterable[Variable] = (),
    ) -> CompletionProblem:
        """Read a graph, rows and a prior, `K2` by default: all pseudo-counts must be positive."""
        read = read_problem(graph, data, hidden, FLAT_PRIOR if prior is None else prior, "mean")
        tables = FamilyTables(dict(read.maximization.variables), dict(read.maximization.parents))
        for name, alpha in read.maximization.exponents.items():
            if not (alpha > 0).all():
                raise InvalidArgument(
                    f"The prior of {name!r} has pseudo-counts that are zero: Bayesian learning from rows with missing "
                    "cells needs positive ones, such as prior=K2() or BDeu(10)."
                )
        return cls(read.cases, tables, tables.flat(read.maximization.exponents))

    @cached_property
    def case_of_row(self) -> Ints:
        """The case of each row; rows of equal cases are neighbours, and each weighs one."""
        weights = np.rint(self.cases.weights)
        if not np.array_equal(weights, self.cases.weights):
            raise InvalidArgument(
                "Completions are drawn for whole rows, but some rows weigh a fraction. Use ParameterWalk(), "
                "PriorWeighting() or variational_bayes, which take weights."
            )
        return np.repeat(np.arange(self.cases.num_cases), weights.astype(np.int64))

    @cached_property
    def codes(self) -> Codes:
        """The rows, equal ones next to each other: positions of states, -1 where missing."""
        return self.cases.codes[self.case_of_row]

    @cached_property
    def is_set(self) -> Flags:
        """Which cells of the rows were set from outside."""
        return self.is_case_set[self.case_of_row]

    @cached_property
    def is_case_set(self) -> Flags:
        """Which cells of the cases were set from outside."""
        names = list(self.cases.variables)
        masks = np.zeros((len(self.cases.setting_names), len(names)), dtype=np.bool_)
        for place, listed in enumerate(self.cases.setting_names):
            masks[place, [names.index(name) for name in listed]] = True
        return masks[self.cases.settings]

    @cached_property
    def cells(self) -> Ints:
        """(row, variable) of each missing cell, row after row."""
        return np.argwhere(self.codes < 0).astype(np.int64)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.case_of_row)

    def counts(self, codes: Codes) -> Floats:
        """The counts of all families in completed rows."""
        return self.tables.counts(codes, self.is_set)

    def log_prior(self, flat: Floats) -> float:
        """The log density of all tables before any data."""
        return float(self.tables.log_density(self.pseudo_counts, flat))

    def posterior(self, parameters: Floats) -> ParameterPosterior:
        """Independent Dirichlet rows with these parameters; what they have beyond the prior are counts."""
        families, tables = {}, self.tables
        alpha = tables.named(np.minimum(self.pseudo_counts, parameters))
        after = tables.named(parameters)
        for name, child in tables.variables.items():
            parents = tuple(tables.variables[parent] for parent in tables.parents[name])
            families[name] = FamilyPosterior(child, parents, alpha[name], after[name] - alpha[name])
        return ParameterPosterior(MappingProxyType(families), {}, {}, tables.variables, tables.parents)

    def by_row(self, found: Floats) -> Floats:
        """(rows, states): what was found for each case, in the rows of the data; NaN for rows that weigh nothing."""
        wide = np.vstack([found, np.full((1, found.shape[1]), np.nan)])
        return np.asarray(wide[self.cases.case_of_row])

    def check_name(self, name: str) -> None:
        """Refuse what is no variable of the graph."""
        if name not in self.tables.variables:
            raise UnknownVariable.named(name, self.tables.variables, "this graph")

    @cached_property
    def _compiled(self) -> Any:
        return compile_cases(self.network(self.tables.normalized(self.pseudo_counts)), self.cases)

    @property
    def tree(self) -> CompiledFactors:
        """A clique tree that has all families; the flat array of all tables are its sources."""
        tree: CompiledFactors = self._compiled.tree
        return tree

    def network(self, flat: Floats) -> BayesianNetwork:
        """The network with these tables."""
        variables = self.tables.variables
        cpds = [
            TableCPD.from_rows(variables[name], tuple(variables[p] for p in self.tables.parents[name]), table)[0]
            for name, table in self.tables.named(flat).items()
        ]
        return BayesianNetwork(cpds)

    def sources(self, flat: Floats, set_names: Iterable[str]) -> Floats:
        """The tables, those of variables that were set from outside all ones."""
        mutilated = flat.copy()
        for name in set_names:
            mutilated[self.tables.part(name)] = 1.0
        return mutilated

    def log_likelihood(self, flat: Floats) -> float:
        """Σ weight · log P(case), missing cells summed out."""
        logs = np.zeros(self.cases.num_cases)
        for names, (places, rows) in zip(self.cases.setting_names, self._compiled.rows, strict=True):
            logs[places] = rows.answer(self.sources(flat, names)).log_totals
        return float(self.cases.weights @ logs)

    def case_sums(self, flat: Floats) -> tuple[Floats, Floats]:
        """log Σ over the completions of each case, and expected counts, flat; tables need not be normalised."""
        logs, counts = np.zeros(self.cases.num_cases), np.zeros(len(flat))
        for names, (places, rows) in zip(self.cases.setting_names, self._compiled.rows, strict=True):
            answers = rows.answer(self.sources(flat, names), self.cases.weights[places])
            logs[places] = answers.log_totals
            for reading in self._compiled.readings:
                if reading.name not in names:
                    counts[self.tables.part(reading.name)] += reading.counts(answers.totals).ravel()
        return logs, counts

    def cell_probabilities(self, flat: Floats, name: str) -> Floats:
        """(rows, states): P(state | observed cells) of each row, NaN for those without weight; tables as they are."""
        found = np.zeros((self.cases.num_cases, self.tables.variables[name].num_states))
        for place, set_names in enumerate(self.cases.setting_names):
            rows = np.flatnonzero(self.cases.settings == place)
            answers = self.tree.prepared_rows(self.cases.codes[rows], name)
            marginals = answers.answer(self.sources(flat, set_names)).marginals
            assert marginals is not None
            found[rows] = marginals
        return self.by_row(found)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the tree."""
        return CompletionProblem, (self.cases, self.tables, self.pseudo_counts)

    def __repr__(self) -> str:
        return f"<CompletionProblem: {self.cases!r}>"


class DirichletState(Protocol):
    """Where an algorithm that fits Q(θ) is."""

    @property
    def parameters(self) -> Floats:
        """a of Q(θ) = Dirichlet(a), all tables in one flat array."""


StateT = TypeVar("StateT", bound=DirichletState)


@dataclass(frozen=True, slots=True, eq=False)
class DirichletFit(ABC, HasRun, Generic[StateT]):
    """Q(θ), independent Dirichlet rows, in place of P(θ | rows with missing cells)."""

    problem: CompletionProblem  # the data and the prior
    run: Run[StateT]  # how it went; it or its state can be given as `start=` to go on

    @property
    def state(self) -> StateT:
        """Where the algorithm ended."""
        return self.run.state

    @property
    def posterior(self) -> ParameterPosterior:
        """Q(θ): independent Dirichlet rows, with means, intervals, draws, and an `uncertainty=` for `query`."""
        return self.problem.posterior(self.state.parameters)

    @property
    def network(self) -> BayesianNetwork:
        """The network of means under Q: it predicts the next row, as the tables are independent under Q."""
        return self.problem.network(self.problem.tables.normalized(self.state.parameters))

    @abstractmethod
    def probabilities(self, name: str) -> Floats:
        """(rows, states): the probability of each state of a variable in each row of the data."""
