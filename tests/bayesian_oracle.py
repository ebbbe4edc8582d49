"""Posteriors given rows with missing cells, by listing every completion of all rows together, in plain loops."""

from functools import cached_property
from itertools import product

import numpy as np

from plausible.cpds import TableCPD
from plausible.models import BayesianNetwork

#: A few rows with gaps, a graph for them, and what an oracle must know of it.
ROWS = np.array([[0, 0, -1], [0, -1, 0], [1, 1, 2], [-1, 1, 2], [-1, -1, 1], [1, 0, -1]])
GRAPH = BayesianNetwork(
    TableCPD("a", [0.5, 0.5]),
    TableCPD("b", [[0.5, 0.5]] * 2, ["a"]),
    TableCPD("c", np.full((2, 2, 3), 1 / 3), ["b", "a"]),
)
SIZES, SCOPES = [2, 2, 3], [(0,), (0, 1), (1, 0, 2)]


def columns(rows, names="abc"):
    """Rows of codes as columns with None."""
    return {name: [None if code < 0 else int(code) for code in rows[:, v]] for v, name in enumerate(names)}


def log_marginal(rows, scopes, alphas, is_set=None):
    """log P(complete rows): each row predicted from those before it, (N + α) / (N_u + α_u) for each family."""
    counts, total = [alpha.copy() for alpha in alphas], 0.0
    for m, row in enumerate(rows):
        for f, scope in enumerate(scopes):
            if is_set is not None and is_set[m][scope[-1]]:
                continue
            place = tuple(row[v] for v in scope)
            total += np.log(counts[f][place] / counts[f][place[:-1]].sum())
            counts[f][place] += 1
    return total


def completions(rows, sizes):
    """All ways to fill the missing cells of all rows."""
    choices = [range(sizes[v]) if code < 0 else [code] for row in rows for v, code in enumerate(row)]
    for filled in product(*choices):
        yield np.array(filled).reshape(len(rows), len(sizes))


class Enumerated:
    """P(H | D) over completions, log P(D), and E[θ | D]."""

    def __init__(self, rows, sizes, scopes, alphas, is_set=None):
        self.scopes, self.alphas = scopes, alphas
        self.listed = list(completions(rows, sizes))
        logs = np.array([log_marginal(c, scopes, alphas, is_set) for c in self.listed])
        self.log_evidence = np.logaddexp.reduce(logs)
        self.chances = np.exp(logs - self.log_evidence)
        self.is_set = is_set

    def tables(self, filled):
        """E[θ | completed rows]."""
        found = [alpha.copy() for alpha in self.alphas]
        for m, row in enumerate(filled):
            for f, scope in enumerate(self.scopes):
                if self.is_set is None or not self.is_set[m][scope[-1]]:
                    found[f][tuple(row[v] for v in scope)] += 1
        return [table / table.sum(axis=-1, keepdims=True) for table in found]

    def means(self):
        """E[θ | D] of each family."""
        return [
            sum(c * tables[f] for c, tables in zip(self.chances, self.all_tables, strict=True))
            for f in range(len(self.scopes))
        ]

    @cached_property
    def all_tables(self):
        """E[θ | completed rows] of each completion."""
        return [self.tables(filled) for filled in self.listed]

    def predictive(self, row):
        """P(row | D) of a complete row."""
        total = 0.0
        for chance, tables in zip(self.chances, self.all_tables, strict=True):
            total += chance * np.prod([t[tuple(row[v] for v in s)] for t, s in zip(tables, self.scopes, strict=True)])
        return total
