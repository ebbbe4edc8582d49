"""The best action for many rows at once, also where some of what a decision sees is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.data.columns import frame_columns
from plausible.data.evidence_columns import EvidenceColumns
from plausible.factors.joint_factor import first_best
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame


class PolicyTables(NamedTuple):
    """What a policy says of each information state, over the states of what it uses."""

    decision: Variable
    uses: tuple[Variable, ...]
    actions: Ints  # the place of the action taken
    probability: Floats
    expected_utility: Floats  # the last axis runs over the actions


def decide_rows(policy: PolicyTables, rows: IntoDataFrame | Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The best action in each row and what it is worth, knowing what the row tells of what the decision sees.

    Missing cells, and columns that are not there, are averaged over: the best action then is the best one knowing less.
    Columns of other things are passed over. A row that can't happen has no action.
    """
    import pandas as pd

    columns = rows if isinstance(rows, Mapping) else frame_columns(rows)
    variables = {variable.name: variable for variable in policy.uses}
    known = EvidenceColumns.read({name: columns[name] for name in variables if name in columns}, variables)
    num_rows = len(next(iter(columns.values()), ()))
    codes = np.full((num_rows, len(variables)), -1)
    for place, name in enumerate(variables):
        codes[:, place] = known.states.get(name, -1)
    actions, worth = _best(policy, codes)
    states = np.array([*policy.decision.states, None], dtype=object)
    index = rows.index if isinstance(rows, pd.DataFrame) else None
    return pd.DataFrame({policy.decision.name: states[actions], "expected_utility": worth}, index=index)


def _best(policy: PolicyTables, codes: Ints) -> tuple[Ints, Floats]:
    """The place of the best action in each row, -1 where it can't happen, and its worth."""
    actions, worth = np.full(len(codes), -1), np.full(len(codes), np.nan)
    patterns, which = np.unique(codes >= 0, axis=0, return_inverse=True)
    for number, seen in enumerate(patterns):
        inside = which.reshape(-1) == number
        places = tuple(codes[inside][:, seen].T)
        brought, best = (table[places] for table in _tables(policy, tuple(np.flatnonzero(~seen))))
        actions[inside] = np.where(np.isnan(brought[..., 0]), -1, best)
        worth[inside] = np.take_along_axis(brought, best[..., None], axis=-1)[..., 0]
    return actions, worth


def _tables(policy: PolicyTables, missing: tuple[int, ...]) -> tuple[Floats, Ints]:
    """E[U | what is seen but for some of it, action], NaN for what can't happen, and the place of the best action."""
    shape = [variable.num_states for variable in policy.uses]
    worth = policy.expected_utility.reshape(*shape, -1)
    if not missing:
        return worth, policy.actions.reshape(shape)
    probability = policy.probability.reshape(*shape, 1)
    weighted = (probability * np.where(probability > 0, worth, 0.0)).sum(axis=missing)
    total = np.broadcast_to(probability.sum(axis=missing), weighted.shape)
    brought = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), np.nan)
    return brought, first_best(np.where(np.isnan(brought), -np.inf, brought))
