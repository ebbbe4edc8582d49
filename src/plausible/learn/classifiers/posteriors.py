"""The probabilities of classes for rows of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats, Positions
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence
from plausible.models import BayesianNetwork

__all__ = ["class_posteriors"]


def class_posteriors(network: BayesianNetwork, target: str, table: Table) -> Floats:
    """P(target | row), a column for each state.

    Where the Markov blanket of the target is known, P(c | x) ∝ Π P(x_i | u_i) over the families that mention it, in
    logarithms, so that no product of densities is too small; else missing cells are summed out by the engine.
    Cost: O(rows · families · classes), and exact inference for the rows with missing cells.

    Parameters
    ----------
    network
        Any network with the target.
    target
        A discrete variable.
    table
        Rows with columns for all other variables that are observed, and none for the target.
    """
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    families = [cpd for cpd in network.cpds.values() if target in [variable.name for variable in cpd.scope]]
    blanket = {variable.name for cpd in families for variable in cpd.scope} - {target}
    complete = np.full(table.num_rows, blanket <= set(columns))
    for name in blanket & set(columns):
        complete &= columns[name] >= 0 if columns[name].dtype.kind == "i" else ~np.isnan(columns[name])
    num_states = network.variables[target].num_states
    answers = np.empty((table.num_rows, num_states))
    if complete.any():
        rows = {name: columns[name][complete] for name in blanket}
        logs = np.zeros((int(complete.sum()), num_states))
        for state in range(num_states):
            given = {**rows, target: np.full(len(logs), state)}
            logs[:, state] = sum(cpd.log_probability(given) for cpd in families)
        answers[complete] = _normalized(logs, np.flatnonzero(complete))
    if not complete.all():
        # Rows already answered are left blank, so that the engine does them once and counts the others right.
        frame: dict[str, Any] = {name: _values(table, name, column, ~complete) for name, column in columns.items()}
        found = network.compile().predict_proba(frame, target).to_numpy()
        answers[~complete] = found[~complete]
    return answers


def _normalized(logs: Floats, rows: Positions) -> Floats:
    top = logs.max(axis=1, keepdims=True, initial=-np.inf)
    if not np.isfinite(top).all():
        row = int(rows[np.argmin(np.isfinite(top[:, 0]))])
        raise ImpossibleEvidence(
            f"Row {row} can't happen in any class: what it holds was never seen with them, or is too far from all that "
            "was seen. Give the classifier a prior, such as prior=1.0, or mend the row."
        )
    shares = np.exp(logs - top)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _values(table: Table, name: str, column: NDArray[Any], shown: Flags) -> NDArray[Any]:
    """States or numbers as a user would give them, nothing where a row is not shown."""
    variable = table.variables[name]
    if variable.is_continuous:
        return np.where(shown, column, np.nan)
    states = np.empty(variable.num_states + 1, dtype=object)
    states[:-1] = list(variable.states)
    return np.asarray(states[np.where(shown, column, -1)])
