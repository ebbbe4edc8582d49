"""The tables of all families of a network in one flat array, and Dirichlet distributions of all their rows at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.kernels.completion import FamilyArrays
from plausible.learn.estimation.family_posterior import log_rising, stirling_rest
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
        positive = np.maximum(tables, 1e-300)
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
