"""Mean field over missing cells: Q(h) of a row of data as a product over its cells, for all cases at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.bayesian.completion_problem import CaseSums, CompletionProblem

__all__ = ["factorized_sums", "first_beliefs", "named_beliefs", "swept"]


def first_beliefs(problem: CompletionProblem) -> Floats:
    """(cases, states of all variables): one for what is observed, the same for all states of a missing cell."""
    codes, columns = problem.cases.codes, []
    for column, variable in enumerate(problem.tables.variables.values()):
        found = codes[:, column, None] == np.arange(variable.num_states)
        columns.append(np.where(codes[:, column, None] < 0, 1.0 / variable.num_states, found))
    return np.concatenate([np.zeros((problem.cases.num_cases, 0)), *columns], axis=1)


def named_beliefs(problem: CompletionProblem, beliefs: Floats) -> dict[str, Floats]:
    """Name -> (cases, states); views."""
    variables = problem.tables.variables
    ends = np.cumsum([0, *(variable.num_states for variable in variables.values())]).tolist()
    return {name: beliefs[:, start:end] for name, (start, end) in zip(variables, pairwise(ends), strict=True)}


def swept(problem: CompletionProblem, logs: Floats, beliefs: Floats) -> Floats:
    """Each variable once: q(x) ∝ exp E[Σ ln θ] over the families that it is in, all other beliefs held.

    No update lowers the bound of `factorized_sums`. Cost: each table once for each of its variables and each case,
    whatever the width of the graph.
    """
    moved = beliefs.copy()
    parts, tables = named_beliefs(problem, moved), problem.tables.named(logs)
    for column, name in enumerate(problem.tables.variables):
        missing = np.flatnonzero(problem.cases.codes[:, column] < 0)
        if len(missing):
            expected = sum(
                _expected(problem, tables, parts, (family, name)) for family in problem.tables.touching[name]
            )
            scaled = np.broadcast_to(expected, parts[name].shape)[missing]
            weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
            parts[name][missing] = weights / weights.sum(axis=1, keepdims=True)
    return moved


def factorized_sums(problem: CompletionProblem, logs: Floats, beliefs: Floats) -> CaseSums:
    """E_q[Σ ln θ] + entropy of q of each case, at most the log of the sum over completions; and expected counts."""
    parts, tables = named_beliefs(problem, beliefs), problem.tables.named(logs)
    totals = -(beliefs * np.log(np.where(beliefs > 0, beliefs, 1.0))).sum(axis=1)
    counts = {}
    for family in problem.tables.variables:
        totals = totals + (_expected(problem, tables, parts, (family, family)) * parts[family]).sum(axis=1)
        counts[family] = _counts(problem, parts, family)
    return CaseSums(totals, problem.tables.flat(counts))


def _expected(
    problem: CompletionProblem, tables: dict[str, Floats], parts: dict[str, Floats], pair: tuple[str, str]
) -> Floats:
    """(cases, states): E[ln θ] of a family for each state of one of its variables; zero where its child was set."""
    family, kept = pair
    scope = (*problem.tables.parents[family], family)
    others = [axis for axis, name in enumerate(scope) if name != kept]
    found = tables[family].transpose([scope.index(kept), *others])[None]
    for axis in reversed(others):
        found = np.einsum("c...k,ck->c...", found, parts[scope[axis]], optimize=False)
    return np.asarray(found * ~problem.is_case_set[:, problem.tables.scopes[family][-1], None])


def _counts(problem: CompletionProblem, parts: dict[str, Floats], family: str) -> Floats:
    """Σ weight · Π beliefs, with the axes of a table, over the cases in which the child was not set."""
    *parents, child = (parts[name] for name in (*problem.tables.parents[family], family))
    joint = (problem.cases.weights * ~problem.is_case_set[:, problem.tables.scopes[family][-1]])[:, None]
    for part in parents:
        joint = (joint[:, :, None] * part[:, None, :]).reshape(len(part), -1)
    return np.asarray((joint.T @ child).reshape(problem.tables.shapes[family]))
