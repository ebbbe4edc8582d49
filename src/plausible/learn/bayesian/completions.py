"""Moves over completions: what missing cells are drawn given, and how."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats
from plausible.kernels.completion import gibbs_cells
from plausible.learn.bayesian.completion_problem import CompletionProblem

Places: TypeAlias = NDArray[np.intp]


class WeighedColumn(NamedTuple):
    """log of the chance of each state in each row, (rows, states), and log P(completed rows)."""

    log_chances: Floats
    log_marginal: float


def random_completion(problem: CompletionProblem, rng: np.random.Generator) -> Codes:
    """The rows with each missing cell drawn uniformly from its states: a start that spreads chains out."""
    codes = problem.codes.copy()
    rows, columns = problem.cells.T
    sizes = np.array([variable.num_states for variable in problem.tables.variables.values()], dtype=np.int64)
    codes[rows, columns] = np.floor(rng.random(len(rows)) * sizes[columns])
    return codes


def draw_cells(problem: CompletionProblem, codes: Codes, tables: Floats | None, rng: np.random.Generator) -> Codes:
    """Each missing cell once, given all other cells.

    Given tables θ, P(x | rest) ∝ Π θ over the family of the cell and those of its children. Without them, parameters
    are summed out: P(x | rest) ∝ Π (N₋[x_j, u_j] + α) / (N₋[u_j] + α_u), where N₋ counts all other rows (Koller &
    Friedman 2009, exercise 19.22). Costs O(cells · states · families of the variable).
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

    By the chain rule P(h_1 | o) P(h_2 | o, h_1) ..., a variable at a time, for all rows in one pass over the clique
    tree, where rows that agree in what a clique can tell share messages. Costs a pass for each variable with missing
    cells, over the rows that miss it.
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


def weigh_column(problem: CompletionProblem, codes: Codes, column: int, rows: Places) -> WeighedColumn:
    """What is proposed for a variable in some rows: P(x | rest of the row, θ̂), θ̂ the mean given the completed rows.

    What the variable itself is in these rows matters by θ̂ only.
    """
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


def block_move(
    problem: CompletionProblem, codes: Codes, column: int, most: int | None, rng: np.random.Generator
) -> tuple[Codes, bool]:
    """Propose a column anew in rows that miss it, at most so many, and take it or not."""
    rows = np.flatnonzero(problem.codes[:, column] < 0)
    if most is not None and most < len(rows):
        rows = np.sort(rng.choice(rows, most, replace=False))
    before, proposed = weigh_column(problem, codes, column, rows), codes.copy()
    new = _draw(np.exp(before.log_chances), rng)
    proposed[rows, column] = new
    after = weigh_column(problem, proposed, column, rows)
    log_ratio = block_log_ratio(before, after, codes[rows, column].astype(np.intp), new)
    return (proposed, True) if np.log1p(-rng.random()) < log_ratio else (codes, False)


def _draw(chances: Floats, rng: np.random.Generator) -> Places:
    """A state for each row of probabilities."""
    summed = np.cumsum(chances, axis=1)
    levels = rng.random(len(chances))[:, None] * summed[:, -1:]
    return np.asarray(np.minimum((levels >= summed).sum(axis=1), chances.shape[1] - 1))
