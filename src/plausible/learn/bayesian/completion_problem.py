"""What Bayesian learning is asked: cases with missing cells, and Dirichlet rows of all tables in one flat array."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from plausible.base import SMALLEST, Codes, Flags, Floats, Ints
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.inference.compiled import CompiledFactors
from plausible.kernels.completion import FamilyArrays
from plausible.learn.estimation.posterior import ParameterPosterior
from plausible.learn.estimation.priors import FLAT_PRIOR, FamilyPosterior, PriorLike, log_rising, stirling_rest
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import compile_cases
from plausible.learn.incomplete.problem import read_problem
from plausible.models import BayesianNetwork
from plausible.search.run import HasRun, Run
from plausible.variables import Variable


@dataclass(frozen=True, eq=False)
class FamilyTables:
    """How tables with axes (parents..., child) lie one after the other, in the order of the variables."""

    variables: Mapping[str, Variable]  # Name -> variable; name -> the names of its parents
    parents: Mapping[str, tuple[str, ...]]

    @cached_property
    def scopes(self) -> dict[str, tuple[int, ...]]:
        """Name -> the places of its parents and of itself among the variables."""
        places = {name: place for place, name in enumerate(self.variables)}
        return {name: (*(places[p] for p in self.parents[name]), place) for name, place in places.items()}

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> the shape of its table."""
        sizes = [variable.num_states for variable in self.variables.values()]
        return {name: tuple(sizes[place] for place in scope) for name, scope in self.scopes.items()}

    @cached_property
    def starts(self) -> Ints:
        """Where each table begins, and where the last one ends."""
        return np.cumsum([0, *(math.prod(shape) for shape in self.shapes.values())])

    @cached_property
    def row_of_entry(self) -> Ints:
        """The row, of all rows of all tables, that each entry is in."""
        lengths = [shape[-1] for shape in self.shapes.values() for _ in range(math.prod(shape[:-1]))]
        return np.repeat(np.arange(len(lengths)), lengths)

    @cached_property
    def _row_starts(self) -> Ints:
        return np.flatnonzero(np.append(True, np.diff(self.row_of_entry) > 0))

    @cached_property
    def num_rows(self) -> int:
        """How many rows all tables have."""
        return sum(math.prod(shape[:-1]) for shape in self.shapes.values())

    @property
    def num_free(self) -> int:
        """How many entries are free, as each row sums to one."""
        return len(self.row_of_entry) - self.num_rows

    def part(self, name: str) -> slice:
        """Where the table of a variable is."""
        place = self.scopes[name][-1]
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def named(self, flat: Floats) -> dict[str, Floats]:
        """Name -> table; leading axes of the flat array stay."""
        return {name: flat[..., self.part(name)].reshape(flat.shape[:-1] + self.shapes[name]) for name in self.shapes}

    def flat(self, named: Mapping[str, Floats]) -> Floats:
        """The inverse of `named`, for one set of tables."""
        return np.concatenate([np.zeros(0), *(np.ravel(named[name]) for name in self.shapes)])

    def row_sums(self, flat: Floats) -> Floats:
        """The sum of each row, along the last axis."""
        if not self.num_rows:
            return np.zeros((*flat.shape[:-1], 0))
        return np.asarray(np.add.reduceat(flat, self._row_starts, axis=-1))

    def normalized(self, flat: Floats) -> Floats:
        """Rows over their sums, which are positive."""
        return np.asarray(flat / self.row_sums(flat)[..., self.row_of_entry])

    def softmax(self, logs: Floats) -> Floats:
        """Rows in proportion to exp(logs)."""
        return np.exp(self.log_softmax(logs))

    def log_softmax(self, logs: Floats) -> Floats:
        """Rows less the logarithm of the sum of exp(logs)."""
        peaks = np.full(self.num_rows, -np.inf)
        np.maximum.at(peaks, self.row_of_entry, logs)
        scaled = logs - peaks[self.row_of_entry]
        return np.asarray(scaled - np.log(self.row_sums(np.exp(scaled)))[self.row_of_entry])

    def draw(self, parameters: Floats, rng: np.random.Generator) -> Floats:
        """Each row from its Dirichlet distribution; logarithms keep small parameters from losing all digits."""
        return self.softmax(self.draw_log_gammas(parameters, rng))

    def draw_log_gammas(self, parameters: Floats, rng: np.random.Generator) -> Floats:
        """Logarithms of independent Gamma(a, 1), by log Γ(a) = log Γ(a + 1) + log(U) / a."""
        uniforms = np.log1p(-rng.random(len(parameters)))
        return np.asarray(np.log(rng.standard_gamma(parameters + 1.0)) + uniforms / parameters)

    def log_density(self, parameters: Floats, tables: Floats) -> Floats:
        """Σ over rows of the log Dirichlet density; entries that are zero up to underflow count as the smallest.

        With θ = m (1 + d), m the means, it is written by ln(1 + d) - d, as Σ m d = 0: large parameters don't cancel.
        """
        positive = np.maximum(tables, SMALLEST)
        sums = self.row_sums(parameters)
        means = parameters / sums[..., self.row_of_entry]
        off = (positive - means) / means
        near = np.abs(off) < 0.5
        ratios = np.where(near, np.log1p(np.where(near, off, 0.0)), np.log(positive) - np.log(means))
        rests = stirling_rest(sums).sum(axis=-1) - stirling_rest(parameters).sum(axis=-1)
        return np.asarray(rests + (parameters * (ratios - off) - np.log(positive)).sum(axis=-1))

    def log_marginal(self, parameters: Floats, counts: Floats) -> Floats:
        """log ∫ Π θ^N Dirichlet(θ; α) dθ = Σ log Γ(α + N) / Γ(α) - Σ over rows of log Γ(α_u + N_u) / Γ(α_u).

        For each array of counts along the last axis; they need not be whole.
        """
        rows = log_rising(self.row_sums(parameters), self.row_sums(counts))
        return np.asarray(log_rising(parameters, counts).sum(axis=-1) - rows.sum(axis=-1))

    def expected_logs(self, parameters: Floats) -> Floats:
        """E[ln θ] = ψ(a_x) - ψ(Σ a) of Dirichlet rows."""
        from scipy.special import digamma

        return np.asarray(digamma(parameters) - digamma(self.row_sums(parameters))[self.row_of_entry])

    def divergence(self, parameters: Floats, others: Floats) -> float:
        """KL(Dirichlet(parameters) || Dirichlet(others)), summed over rows."""
        added = parameters - others
        return float(added @ self.expected_logs(parameters) - self.log_marginal(others, added))

    def places(self, name: str, codes: Codes) -> Ints:
        """The flat place of each complete row in the table of a variable."""
        columns = tuple(codes[:, place].astype(np.intp) for place in self.scopes[name])
        return np.asarray(np.ravel_multi_index(columns, self.shapes[name]))

    def counts(self, codes: Codes, is_set: Flags) -> Floats:
        """How many of the complete rows are in each entry; rows in which the child was set do not count."""
        total, is_any_set = np.zeros(int(self.starts[-1])), is_set.any()
        for column, name in enumerate(self.variables):
            part = self.part(name)
            counted = codes[~is_set[:, column]] if is_any_set else codes
            total[part] = np.bincount(self.places(name, counted), minlength=part.stop - part.start)
        return total

    @cached_property
    def touching(self) -> dict[str, list[str]]:
        """Name -> the families that it is in: its own, then those of its children."""
        return {
            name: [name, *(child for child, parents in self.parents.items() if name in parents)]
            for name in self.variables
        }

    @cached_property
    def arrays(self) -> FamilyArrays:
        """The same for kernels."""

        names = list(self.variables)
        strides = {n: tuple(int(np.prod(s[axis + 1 :])) for axis in range(len(s))) for n, s in self.shapes.items()}
        touched = [
            [(names.index(f), strides[f][[*self.parents[f], f].index(name)]) for f in self.touching[name]]
            for name in names
        ]
        rows = [math.prod(shape[:-1]) for shape in self.shapes.values()]
        lists = (
            [variable.num_states for variable in self.variables.values()],
            self.starts[:-1],
            np.cumsum([0, *rows])[:-1],
            np.cumsum([0, *(len(scope) for scope in self.scopes.values())]),
            [place for scope in self.scopes.values() for place in scope],
            [stride for listed in strides.values() for stride in listed],
            np.cumsum([0, *(len(links) for links in touched)]),
            [family for links in touched for family, _ in links],
            [stride for links in touched for _, stride in links],
        )
        return FamilyArrays(*(np.asarray(listed, dtype=np.int64) for listed in lists))


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
        cases = read.cases.in_memory("Bayesian learning from rows with missing cells")
        return cls(cases, tables, tables.flat(read.maximization.exponents))

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
        masks = [[name in listed for name in self.cases.variables] for listed in self.cases.setting_names]
        return np.array(masks, dtype=np.bool_)[self.cases.settings]

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
        UnknownVariable.check(name, self.tables.variables, "this graph")

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
        logs, counts = self._compiled.answers(list(self.tables.named(flat).values()), self.cases)
        return logs, self.tables.flat(counts)

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
