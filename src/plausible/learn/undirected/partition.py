"""log Z of tables and what may stand for it: value, and the beliefs over all scopes, which are its gradient."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.engine.batch import PreparedRows
from plausible.engine.compilation import TreeTooLarge, compile_program
from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.inference.budget import Budget, read_budget, too_large
from plausible.learn.undirected.design import Design, Scope
from plausible.learn.undirected.table_sums import table_sums
from plausible.variables import Evidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: What a number is worth, beside the one that it stands for.
Kind: TypeAlias = Literal["exact", "upper bound", "lower bound", "approximation"]

_NOTHING = Evidence({}, {}, {})
#: Beliefs over scopes are read from cliques up to this size by one sparse product, from larger ones by sums.
_SMALL_CLIQUE = 4096
#: Of more entries times variables no covariance is told unasked.
_MANY_CELLS = 20_000_000
#: Exponentials of less than this lose digits, and of less than -745 are zero.
_LEAST_LOG = math.log(np.finfo(float).tiny)


class Part(ABC):
    """A function of the logarithms of all tables that an objective is made of."""

    __slots__ = ()

    #: Whether it is convex in the logarithms, so that an objective it is taken off has one maximum only.
    is_convex = True

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Whether it is what it stands for."""

    @abstractmethod
    def at(self, logs: Floats) -> tuple[float, Floats]:
        """The value and its gradient, an expected count for each entry."""

    @property
    def num_inferences(self) -> int:
        """How many inferences an evaluation takes."""
        return 1

    @property
    def advice(self) -> str:
        """What to try where the last evaluation is not to be trusted; "" if it is."""
        return ""


class TreePartition(Part):
    """log Z by a clique tree, compiled once: exact.

    Parameters
    ----------
    design
        The tables.
    budget
        What the tree may cost.
    """

    __slots__ = ("_large", "_reader", "design", "program")

    def __init__(self, design: Design, budget: Budget | None = None) -> None:
        self.design = design
        self.program = _compiled(design, read_budget(budget))
        self._reader, self._large = _reader(design, self.program)

    @property
    def kind(self) -> Kind:
        """It is log Z."""
        return "exact"

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """log Z, and P over each scope."""
        peaks, scaled = scaled_logs(self.design, logs)
        workspace, log_total = self._collected(scaled)
        if log_total == -math.inf:
            raise ImpossibleEvidence("All assignments are ruled out: the tables are zero everywhere.")
        tables = np.zeros(self.program.num_entries)
        workspace.distribute(None, tables, np.array(self.program.layout.cliques["table"]))
        return log_total + peaks, self.read(tables)

    def best(self, logs: Floats) -> tuple[float, Ints]:
        """The largest product's logarithm, and the states of all variables there; ties go by the order of states."""
        peaks, scaled = scaled_logs(self.design, logs)
        workspace = self._workspace(scaled, Semiring.MAX)
        log_best = workspace.collect({})
        return log_best + peaks, workspace.best_states()

    def draw(self, logs: Floats, num_rows: int, generator: np.random.Generator) -> Ints:
        """Rows of states from the distribution."""
        workspace, _ = self._collected(scaled_logs(self.design, logs)[1])
        return workspace.draw(generator.random((num_rows, self.program.num_cliques)))

    def rows(self, codes: Codes, weights: Floats) -> RowsPartition:
        """Σ_m w_m log Z(o[m]) of rows of states, -1 where nothing is observed, by the same tree."""
        return RowsPartition(self, codes, weights)

    def read(self, tables: Floats) -> Floats:
        """Sums over rows of the beliefs of cliques, as sums over the scopes in them."""
        beliefs = np.asarray(self._reader @ tables)
        program, starts = self.program, self.design.starts
        for home, scopes in self._large.items():
            start = int(program.layout.cliques["table"][home])
            shape = [int(program.sizes[variable]) for variable in program.clique(home)]
            table = tables[start : start + int(program.entries[home])].reshape(shape)
            for number, summed in table_sums(table, scopes).items():
                beliefs[starts[number] : starts[number + 1]] = summed.ravel()
        return beliefs

    def answers(self, rows: PreparedRows, logs: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """log Z of each row of states, -1 where nothing is observed, and the beliefs of cliques, summed over rows."""
        peaks, scaled = scaled_logs(self.design, logs)
        if not _vanishes(scaled):
            found = rows.answer(np.exp(scaled), weights)
            assert found.totals is not None
            return found.log_totals + peaks, found.totals
        workspace, totals = self._workspace(scaled, Semiring.LOG_SUM), np.zeros(self.program.num_entries)
        log_totals, starts = np.zeros(len(rows.rows)), np.array(self.program.layout.cliques["table"])
        sizes = self.program.sizes
        for number, row in enumerate(rows.rows):
            seen = {int(place): np.eye(int(sizes[place]))[row[place]] for place in np.flatnonzero(row >= 0)}
            log_totals[number] = workspace.collect(seen)
            if log_totals[number] > -math.inf:
                workspace.distribute(None, totals, starts, weight=float(weights[number]))
        return log_totals + peaks, totals

    def covariance(self, logs: Floats) -> Floats:
        """Cov[f_i; f_j] of all features, the Hessian of log Z: one clamped inference for each entry of each feature.

        E[f_i f_j] = Σ_e f_i(e) P(e) E[f_j | e] over the entries e of the tables that f_i is part of.
        """
        design = self.design
        _, beliefs = self.at(logs)
        means = design.expected(beliefs)
        columns = design.matrix.tocsc()
        products = np.zeros((design.num_weights, design.num_weights))
        codes = _clamped(design)
        for weight in range(design.num_weights):
            first, last = columns.indptr[weight], columns.indptr[weight + 1]
            entries = columns.indices[first:last]
            shares = columns.data[first:last] * beliefs[entries]
            live = shares != 0
            if live.any():
                rows = PreparedRows.of(self.program, codes[entries[live]])
                _, totals = self.answers(rows, logs, shares[live])
                products[weight] = design.expected(self.read(totals))
        covariance = products - np.outer(means, means)
        return (covariance + covariance.T) / 2

    def _collected(self, scaled: Floats) -> tuple[Workspace, float]:
        """Messages on numbers, or on their logarithms where something was lost; and log Z."""
        for semiring in semirings_for(scaled):
            workspace = self._workspace(scaled, semiring)
            log_total = workspace.collect({})
            if not workspace.is_risky:
                break
        return workspace, log_total

    def _workspace(self, scaled: Floats, semiring: Semiring) -> Workspace:
        if semiring == Semiring.SUM:
            return Workspace.of(self.program, np.exp(scaled), semiring)
        workspace = Workspace.of(self.program, np.ones(scaled.size), semiring)
        workspace.buffers.store[: scaled.size] = scaled  # logarithms as they are: exponentials might vanish
        return workspace


class RowsPartition(Part):
    """Σ_m w_m log Z(o[m]): the tables summed over what is not observed, by the tree of a `TreePartition`."""

    __slots__ = ("_prepared", "_weights", "tree")

    def __init__(self, tree: TreePartition, codes: Codes, weights: Floats) -> None:
        self.tree = tree
        self._weights = weights
        self._prepared = PreparedRows.of(tree.program, np.ascontiguousarray(codes, dtype=np.int32))

    @property
    def kind(self) -> Kind:
        """It is the sum of log Z(o)."""
        return "exact"

    @property
    def num_inferences(self) -> int:
        """One for each different row."""
        return len(self._prepared.rows)

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """Σ_m w_m log Z(o[m]), and the expected counts of entries given the rows."""
        log_totals, totals = self.tree.answers(self._prepared, logs, self._weights)
        is_lost = (log_totals == -np.inf) & (self._weights > 0)
        if is_lost.any():
            row = int(np.flatnonzero(is_lost)[0])
            raise ImpossibleEvidence(f"Row {row} of the data has a combination of states that the tables rule out.")
        return float(self._weights @ log_totals), self.tree.read(totals)


class PiecewisePartition(Part):
    """Σ_c log Σ φ_c: each table normalised by itself, an upper bound on log Z (Sutton & McCallum 2005)."""

    __slots__ = ("_design",)

    def __init__(self, design: Design) -> None:
        self._design = design

    @property
    def kind(self) -> Kind:
        """Z is at most the product of the sums of the tables."""
        return "upper bound"

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """Σ_c log Σ φ_c, and the normalised tables."""
        starts = self._design.starts[:-1]
        lengths = np.diff(self._design.starts)
        peaks = np.maximum.reduceat(logs, starts)
        tables = np.exp(logs - np.repeat(peaks, lengths))
        sums = np.add.reduceat(tables, starts)
        return float(peaks.sum() + np.log(sums).sum()), tables / np.repeat(sums, lengths)


class BestPartition(Part):
    """max log Π φ in the place of log Z, a lower bound; its gradient are the counts of a best assignment."""

    __slots__ = ("_tree",)

    def __init__(self, tree: TreePartition) -> None:
        self._tree = tree

    @property
    def kind(self) -> Kind:
        """The largest term is less than the sum."""
        return "lower bound"

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """The logarithm of the largest product, and the entries that it is made of."""
        value, states = self._tree.best(logs)
        counts = np.zeros(logs.size)
        counts[self._tree.design.positions(states[None, :])[0]] = 1.0
        return value, counts


class MixedPartition(Part):
    """Σ_k α_k log Z(w^k θ) ≥ log Z(θ) where Σ_k α_k w^k = 1: submodels, such as trees, in the place of the model.

    Parameters
    ----------
    powers
        w, of shape (K, number of scopes): how much each table counts in each submodel; zero leaves it out.
    shares
        α, of shape (K,), adding up to one.
    """

    __slots__ = ("_design", "_powers", "_shares", "_trees")

    def __init__(self, design: Design, powers: Floats, shares: Floats, budget: Budget | None = None) -> None:
        self._design, self._powers, self._shares = design, powers, shares
        if powers.shape != (len(shares), len(design.scopes)) or (powers < 0).any() or (shares < 0).any():
            raise InvalidArgument(
                f"Submodels need powers of shape (submodels, scopes) = ({len(shares)}, {len(design.scopes)}), none "
                "negative, and a share for each."
            )
        if not np.allclose(shares @ powers, 1.0, rtol=0, atol=1e-9) or abs(shares.sum() - 1) > 1e-9:
            raise InvalidArgument("The shares of submodels add up to one, and so do shares times powers of each table.")
        self._trees = [_subtree(design, row, budget) for row in powers]

    @property
    def kind(self) -> Kind:
        """log Z is convex."""
        return "upper bound"

    @property
    def num_inferences(self) -> int:
        """One for each submodel."""
        return len(self._trees)

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """The mixture of the log Z of submodels, and of their beliefs."""
        value, gradient = 0.0, np.zeros(logs.size)
        for share, powers, (entries, kept, tree) in zip(self._shares, self._powers, self._trees, strict=True):
            each = np.repeat(powers[kept], np.diff(tree.design.starts))
            found, beliefs = tree.at(logs[entries] * each)
            value += share * found
            gradient[entries] += share * each * beliefs
        return value, gradient


def _subtree(design: Design, powers: Floats, budget: Budget | None) -> tuple[Ints, Ints, TreePartition]:
    """The entries and scopes that a submodel has, and its tree."""
    kept = np.flatnonzero(powers > 0)
    entries = np.concatenate([np.arange(design.starts[n], design.starts[n + 1]) for n in kept])
    part = replace(
        design, scopes=tuple(design.scopes[n] for n in kept), matrix=design.matrix[entries], base=design.base[entries]
    )
    return entries, kept, TreePartition(part, budget)


def spanning_forests(scopes: Sequence[Scope], num_variables: int) -> tuple[Floats, Floats]:
    """Powers and shares of forests that between them have every pair, in turn: for a model of pairs and singles.

    Each forest takes the pairs that were in the fewest forests so far; singles are in all of them.
    """
    pairs = [number for number, scope in enumerate(scopes) if len(scope) == 2]
    if any(len(scope) > 2 for scope in scopes):
        raise InvalidArgument("Submodels are found for tables over pairs and single variables only; give powers=.")
    times = dict.fromkeys(pairs, 0)
    forests: list[set[int]] = []
    while not forests or min(times.values(), default=1) == 0:
        parent = list(range(num_variables))
        forest: set[int] = set()
        for number in sorted(pairs, key=lambda pair: (times[pair], pair)):
            first, second = (_root(parent, place) for place in scopes[number])
            if first != second:
                parent[first] = second
                forest.add(number)
                times[number] += 1
        forests.append(forest)
    powers = np.ones((len(forests), len(scopes)))
    for number in pairs:
        for row, forest in enumerate(forests):
            powers[row, number] = len(forests) / times[number] if number in forest else 0.0
    return powers, np.full(len(forests), 1 / len(forests))


def _root(parent: list[int], place: int) -> int:
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return place


def _compiled(design: Design, budget: Budget) -> Program:
    names = list(design.variables)
    try:
        program = compile_program(design.scopes, tuple(design.sizes.tolist()), None, ())
    except TreeTooLarge as error:
        raise too_large(error.entries, error.clique, error.clique_entries, names) from None
    budget.check(program, names, 0)
    budget.check_tables(program.num_entries)
    return program


def scaled_logs(design: Design, logs: Floats) -> tuple[float, Floats]:
    """The sum of the largest logarithm of each table, and the logarithms less that."""
    if not logs.size:
        return 0.0, logs
    peaks = np.maximum.reduceat(logs, design.starts[:-1])
    peaks = np.where(np.isfinite(peaks), peaks, 0.0)
    return float(peaks.sum()), logs - np.repeat(peaks, np.diff(design.starts))


def _vanishes(scaled: Floats) -> bool:
    """Whether a logarithm is that of a number too small to be told from zero with all its digits."""
    return bool(((scaled < _LEAST_LOG) & (scaled > -np.inf)).any())


def semirings_for(scaled: Floats) -> tuple[Semiring, ...]:
    """What to sum in, one after the other until nothing is lost: numbers, then logarithms; these alone where needed."""
    return (Semiring.LOG_SUM,) if _vanishes(scaled) else (Semiring.SUM, Semiring.LOG_SUM)


def _reader(design: Design, program: Program) -> tuple[csr_array, dict[int, dict[int, tuple[int, ...]]]]:
    """The matrix from the tables of small cliques to beliefs over scopes; and of large ones the axes of each scope."""
    from scipy.sparse import csr_array

    starts, sizes = program.layout.cliques["table"], program.sizes
    rows: list[Any] = []
    columns: list[Any] = []
    large: dict[int, dict[int, tuple[int, ...]]] = {}
    patterns: dict[Any, Any] = {}
    for number, home in enumerate(program.smallest_cliques(design.scopes)):
        assert home is not None  # each scope is a factor of the tree
        clique = program.clique(home)
        shape = tuple(int(sizes[variable]) for variable in clique)
        axes = tuple(clique.index(variable) for variable in design.scopes[number])
        if math.prod(shape) > _SMALL_CLIQUE:
            large.setdefault(home, {})[number] = axes
            continue
        if (shape, axes) not in patterns:
            cells = np.unravel_index(np.arange(math.prod(shape)), shape)
            within = [shape[axis] for axis in axes]
            patterns[shape, axes] = np.ravel_multi_index([cells[axis] for axis in axes], within)
        pattern = patterns[shape, axes]
        rows.append(int(design.starts[number]) + pattern)
        columns.append(int(starts[home]) + np.arange(pattern.size))
    where = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    which = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    return csr_array((np.ones(where.size), (where, which)), shape=(design.num_entries, program.num_entries)), large


def is_of_moderate_size(design: Design) -> bool:
    """Whether a covariance, an inference for each entry, is soon told, so that it may be told unasked."""
    return design.num_entries * len(design.variables) <= _MANY_CELLS


def _clamped(design: Design) -> Codes:
    """For each entry of each table a row with its states, and -1 for all other variables."""
    codes = np.full((design.num_entries, len(design.variables)), -1, dtype=np.int32)
    for scope, start, end in zip(design.scopes, design.starts[:-1], design.starts[1:], strict=True):
        shape = [int(design.sizes[place]) for place in scope]
        cells = np.unravel_index(np.arange(int(end - start)), shape)
        for place, column in zip(scope, cells, strict=True):
            codes[start:end, place] = column
    return codes


def different_rows(codes: Iterable[Any], weights: Floats) -> tuple[Codes, Floats]:
    """Equal rows once, in the order of their states, with the sum of their weights."""
    stacked = np.ascontiguousarray(np.stack([np.asarray(column, dtype=np.int32) for column in codes], axis=1))
    rows, inverse = np.unique(stacked, axis=0, return_inverse=True)
    return rows, np.bincount(inverse.reshape(-1), weights, minlength=len(rows)).astype(np.float64)
