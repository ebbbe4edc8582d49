"""Samplers of P(θ | rows with missing cells): each is an option with `init` and `step`, all share one state.

What missing cells are drawn given, and how, comes first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Checked, Codes, Floats, real, unless, whole
from plausible.errors import counted
from plausible.kernels.completion import gibbs_cells
from plausible.learn.bayesian.completion_problem import CompletionProblem

Places: TypeAlias = NDArray[np.intp]

#: A random walk is tuned to this share of accepted proposals (Roberts, Gelman & Gilks 1997, for few dimensions).
_ACCEPTANCE = 0.3

_NO_ROWS = np.zeros((0, 0), dtype=np.int32)  # Where completions are summed out


def draw_cells(problem: CompletionProblem, codes: Codes, tables: Floats | None, rng: np.random.Generator) -> Codes:
    """Each missing cell once, given all other cells: O(cells · states · families of the variable).

    Given tables θ, P(x | rest) ∝ Π θ over the family of the cell and those of its children. Without them, parameters
    are summed out: P(x | rest) ∝ Π (N₋[x_j, u_j] + α) / (N₋[u_j] + α_u), where N₋ counts all other rows (Koller &
    Friedman 2009, exercise 19.22).
    """
    drawn = codes.copy()
    if not len(problem.cells):
        return drawn
    layout, levels = problem.tables, rng.random(len(problem.cells))
    if tables is None:
        entries = problem.pseudo_counts + problem.counts(drawn)
        totals, step = layout.row_sums(entries), 1.0
    else:
        entries, totals, step = tables, np.ones(layout.num_rows), 0.0
    gibbs_cells(layout.arrays, entries, totals, step, drawn, problem.is_set, problem.cells, levels)
    return drawn


def draw_rows(problem: CompletionProblem, tables: Floats, rng: np.random.Generator) -> Codes:
    """All missing cells of each row together, from P(missing | observed, θ), whatever they were before.

    By the chain rule P(h_1 | o) P(h_2 | o, h_1) ..., a variable at a time, for all rows that miss it in one pass over
    the clique tree, where rows that agree in what a clique can tell share messages.
    """
    codes = problem.codes.copy()
    settings = problem.cases.settings[problem.case_of_row]
    for place, set_names in enumerate(problem.cases.setting_names):
        sources = problem.sources(tables, set_names)
        for column, name in enumerate(problem.tables.variables):
            rows = np.flatnonzero((problem.codes[:, column] < 0) & (settings == place))
            if len(rows):
                chances = problem.tree.prepared_rows(codes[rows], name).answer(sources).marginals
                assert chances is not None
                codes[rows, column] = _draw(chances, rng)
    return codes


class WeighedColumn(NamedTuple):
    """log of the chance of each state in each row, (rows, states), and log P(completed rows)."""

    log_chances: Floats
    log_marginal: float


def weigh_column(problem: CompletionProblem, codes: Codes, column: int, rows: Places) -> WeighedColumn:
    """What is proposed for a variable in some rows: P(x | rest of the row, θ̂), θ̂ the mean given the completed rows."""
    layout, counts = problem.tables, problem.counts(codes)
    name = list(layout.variables)[column]
    logs = np.log(layout.normalized(problem.pseudo_counts + counts))
    states = layout.variables[name].num_states
    wide = np.repeat(codes[rows], states, axis=0)
    wide[:, column] = np.tile(np.arange(states), len(rows))
    found = np.zeros((len(rows), states))
    for family in layout.touching[name]:
        free = ~problem.is_set[rows, layout.scopes[family][-1]]
        found += logs[layout.part(family)][layout.places(family, wide)].reshape(found.shape) * free[:, None]
    log_chances = np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))
    return WeighedColumn(log_chances, float(layout.log_marginal(problem.pseudo_counts, counts)))


def block_log_ratio(before: WeighedColumn, after: WeighedColumn, old: Places, new: Places) -> float:
    """log of P(D') T(D' → D) / (P(D) T(D → D')) for completions with the states `old` and `new` of one column.

    T is the product over rows of the chances proposed, P the marginal likelihood (Koller & Friedman 2009, algorithm
    19.5).
    """
    every = np.arange(len(old))
    back, ahead = after.log_chances[every, old].sum(), before.log_chances[every, new].sum()
    return float(after.log_marginal - before.log_marginal + back - ahead)


def _draw(chances: Floats, rng: np.random.Generator) -> Places:
    """A state for each row of probabilities."""
    summed = np.cumsum(chances, axis=1)
    levels = rng.random(len(chances))[:, None] * summed[:, -1:]
    return np.asarray(np.minimum((levels >= summed).sum(axis=1), chances.shape[1] - 1))


@dataclass(frozen=True, slots=True, eq=False)
class ParameterState:
    """Where a chain is; the same state always goes on in the same way, and it can be pickled."""

    tables: Floats  # θ, all tables in one flat array
    means: Floats  # E[θ | completed rows], where the chain has a completion; else θ
    codes: Codes  # The completed rows; none, where completions are summed out
    #: log of the density of what the chain moves over, with the data: P(θ, D, H), P(D, H) or P(θ, D).
    log_posterior: float
    log_weight: float  # log of the weight of the draw: zero, but for `PriorWeighting`
    coordinates: Floats  # Where a random walk is, and how far it steps, for each table
    scales: Floats
    num_accepted: Floats  # Proposals taken so far, for each variable
    seed: int  # Random numbers of the next step are those of this pair
    num_steps: int

    @property
    def generator(self) -> np.random.Generator:
        """The random numbers of the next step."""
        return np.random.default_rng([self.seed, self.num_steps])

    def __repr__(self) -> str:
        return f"<ParameterState: {counted(len(self.tables), 'entry')} of tables, {counted(self.num_steps, 'step')}>"


class ParameterSampler(ABC):
    """A way to draw parameters: one that needs no tuning, refuses nothing, and goes from completed rows to others."""

    __slots__ = ()

    tuning: int = 0  # How many first steps tune the sampler, and are no draws
    remedy: ClassVar[str] = ""  # What to do where nearly all proposals are refused

    def proposed(self, problem: CompletionProblem) -> list[str]:
        """The variables for which a step proposes something that may be refused, once each."""
        return []

    def takes(self, problem: CompletionProblem, state: ParameterState) -> bool:
        """Whether a state has what a step needs; those of some other samplers have not."""
        return state.codes.shape == problem.codes.shape

    def init(self, problem: CompletionProblem, seed: int) -> ParameterState:
        """The state before the first step: each missing cell drawn uniformly, and parameters given them."""
        rng, codes = np.random.default_rng([seed, 0, 1]), problem.codes.copy()
        rows, columns = problem.cells.T
        sizes = np.array([variable.num_states for variable in problem.tables.variables.values()], dtype=np.int64)
        codes[rows, columns] = np.floor(rng.random(len(rows)) * sizes[columns])
        return _first(problem, codes, problem.tables.draw(problem.pseudo_counts + problem.counts(codes), rng), seed)

    @abstractmethod
    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        """A step that leaves P(θ | data) as it is."""


def _first(problem: CompletionProblem, codes: Codes, tables: Floats, seed: int) -> ParameterState:
    nothing, none_taken = np.zeros(0), np.zeros(len(problem.tables.variables))
    return ParameterState(tables, tables, codes, -np.inf, 0.0, nothing, nothing, none_taken, seed, 0)


def _with_completion(
    problem: CompletionProblem, state: ParameterState, codes: Codes, rng: np.random.Generator, collapsed: bool
) -> ParameterState:
    """The next state: parameters drawn from their Dirichlet posteriors given completed rows."""
    counts = problem.counts(codes)
    after = problem.pseudo_counts + counts
    tables = problem.tables.draw(after, rng)
    log_posterior = float(problem.tables.log_marginal(problem.pseudo_counts, counts))
    if not collapsed:
        log_posterior += float(problem.tables.log_density(after, tables))
    means = problem.tables.normalized(after)
    return _moved(state, tables=tables, means=means, codes=codes, log_posterior=log_posterior)


def _moved(state: ParameterState, **changes: Any) -> ParameterState:
    return replace(state, num_steps=state.num_steps + 1, **changes)


@dataclass(frozen=True, slots=True)
class RowGibbs(ParameterSampler):
    """Data augmentation: all missing cells of each row from P(H | D, θ), then θ from its Dirichlet posteriors.

    Rows are drawn exactly by a clique tree, so that cells of a row that depend on each other can't hold up the chain
    (Tanner & Wong 1987; Koller & Friedman 2009, §19.3.2.1). A step costs a pass for each variable with missing cells.
    """

    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        rng = state.generator
        return _with_completion(problem, state, draw_rows(problem, state.tables, rng), rng, collapsed=False)


@dataclass(frozen=True, slots=True)
class CellGibbs(ParameterSampler):
    """Gibbs over (θ, H): each missing cell given θ and the rest of its row, then θ given all (§19.3.2.1).

    Needs no clique tree: a step costs O(missing cells), whatever the width of the graph. Slow where cells that are
    missing together depend on each other.
    """

    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        rng = state.generator
        codes = draw_cells(problem, state.codes, state.tables, rng)
        return _with_completion(problem, state, codes, rng, collapsed=False)


@dataclass(frozen=True, slots=True)
class CollapsedCellGibbs(ParameterSampler):
    """Gibbs over H alone, all parameters summed out; θ is drawn given each completion (§19.3.2.3, exercise 19.22).

    A step costs O(missing cells), as `CellGibbs`, and moves further, since θ does not hold it back.
    """

    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        rng = state.generator
        return _with_completion(problem, state, draw_cells(problem, state.codes, None, rng), rng, collapsed=True)


@dataclass(frozen=True, slots=True)
class BlockMetropolis(ParameterSampler, Checked, block_size=unless(None, whole(1))):
    """Metropolis-Hastings over H: a variable is proposed anew in many rows at once (algorithm 19.5).

    Proposals come from P(x | rest of the row, θ̂) with θ̂ estimated from the completed rows, and are taken with min(1,
    P(D') T(D' → D) / (P(D) T(D → D'))). Any pattern of missing cells; a step proposes each variable once. At most
    `block_size` rows are proposed at once, chosen at random; by default all that miss the variable. Large blocks are
    refused more often.
    """

    block_size: int | None = None

    remedy: ClassVar[str] = "Take smaller blocks, BlockMetropolis(block_size=...), or RowGibbs()."

    def proposed(self, problem: CompletionProblem) -> list[str]:
        columns = (problem.codes < 0).sum(axis=0).tolist()
        return [name for name, missing in zip(problem.tables.variables, columns, strict=True) if missing]

    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        """A proposal for each variable, taken or not; θ given H."""
        rng, codes, accepted = state.generator, state.codes, state.num_accepted.copy()
        for name in self.proposed(problem):
            column = problem.tables.scopes[name][-1]
            rows = np.flatnonzero(problem.codes[:, column] < 0)
            if self.block_size is not None and self.block_size < len(rows):
                rows = np.sort(rng.choice(rows, self.block_size, replace=False))
            before, proposed = weigh_column(problem, codes, column, rows), codes.copy()
            new = _draw(np.exp(before.log_chances), rng)
            proposed[rows, column] = new
            after = weigh_column(problem, proposed, column, rows)
            if np.log1p(-rng.random()) < block_log_ratio(before, after, codes[rows, column].astype(np.intp), new):
                codes = proposed
                accepted[column] += 1
        moved = _with_completion(problem, state, codes, rng, collapsed=True)
        return replace(moved, num_accepted=accepted)


@dataclass(frozen=True, slots=True)
class ParameterWalk(ParameterSampler, Checked, step_size=real(above=0), tuning=whole()):
    """Metropolis random walk over θ, completions summed out exactly by a clique tree (§19.3.2.2, eq. 19.8).

    A row is θ = g / Σ g with g_x ~ Gamma(α_x, 1), which is its Dirichlet prior; the walk is over log g, so that no
    boundary is near. Each table is proposed once a step, and each proposal costs the likelihood of all cases; rows may
    have any weights.

    Parameters
    ----------
    step_size
        The standard deviation of a step of log g, over √(entries of the table), at the start.
    tuning
        In the first so many steps it is changed towards 30 % acceptance; these must not be draws.
    """

    step_size: float = 1.0
    tuning: int = 200

    remedy: ClassVar[str] = "Take smaller steps or longer tuning, ParameterWalk(step_size=..., tuning=...)."

    def proposed(self, problem: CompletionProblem) -> list[str]:
        return list(problem.tables.variables)

    def takes(self, problem: CompletionProblem, state: ParameterState) -> bool:
        return len(state.coordinates) == len(problem.pseudo_counts)

    def init(self, problem: CompletionProblem, seed: int) -> ParameterState:
        coordinates = problem.tables.draw_log_gammas(problem.pseudo_counts, np.random.default_rng([seed, 0, 1]))
        tables = problem.tables.softmax(coordinates)
        scales = self.step_size / np.sqrt(np.diff(problem.tables.starts))
        first = _first(problem, _NO_ROWS, tables, seed)
        log_posterior = problem.log_likelihood(tables) + problem.log_prior(tables)
        return replace(first, coordinates=coordinates, scales=scales, log_posterior=log_posterior)

    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        rng, layout, alpha = state.generator, problem.tables, problem.pseudo_counts
        # Row sums of g say nothing about the data: drawn anew from their prior, they don't hold up the walk.
        sums = layout.draw_log_gammas(layout.row_sums(alpha), rng)
        here = layout.log_softmax(state.coordinates) + sums[layout.row_of_entry]
        scales, accepted = state.scales.copy(), state.num_accepted.copy()
        tables = state.tables
        log_likelihood = state.log_posterior - problem.log_prior(tables)
        for column, name in enumerate(layout.variables):
            part = layout.part(name)
            there = here.copy()
            there[part] += scales[column] * rng.standard_normal(part.stop - part.start)
            proposed = layout.softmax(there)
            log_proposed = problem.log_likelihood(proposed)
            # The prior of log g is α log g - g.
            with np.errstate(over="ignore"):
                log_prior = alpha[part] @ (there - here)[part] - (np.exp(there[part]) - np.exp(here[part])).sum()
            taken = bool(np.log1p(-rng.random()) < log_proposed - log_likelihood + log_prior)
            if taken:
                here, tables, log_likelihood = there, proposed, log_proposed
            accepted[column] += taken
            if state.num_steps < self.tuning:
                scales[column] *= np.exp((taken - _ACCEPTANCE) / np.sqrt(1.0 + state.num_steps))
        log_posterior = log_likelihood + problem.log_prior(tables)
        moved = _moved(state, tables=tables, means=tables, log_posterior=log_posterior, coordinates=here)
        return replace(moved, scales=scales, num_accepted=accepted)


@dataclass(frozen=True, slots=True)
class PriorWeighting(ParameterSampler):
    """θ from the prior, each with the weight P(D | θ): independent draws (likelihood weighting, §19.3.1).

    Also estimates P(D). Weights collapse with more than a few rows: the effective sample size tells.
    """

    def takes(self, problem: CompletionProblem, state: ParameterState) -> bool:
        return True

    def init(self, problem: CompletionProblem, seed: int) -> ParameterState:
        prior = problem.tables.normalized(problem.pseudo_counts)
        return _first(problem, _NO_ROWS, prior, seed)

    def step(self, problem: CompletionProblem, state: ParameterState) -> ParameterState:
        tables = problem.tables.draw(problem.pseudo_counts, state.generator)
        log_weight = problem.log_likelihood(tables)
        log_posterior = log_weight + problem.log_prior(tables)
        return _moved(state, tables=tables, means=tables, log_weight=log_weight, log_posterior=log_posterior)
