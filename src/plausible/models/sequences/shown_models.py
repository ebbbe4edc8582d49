"""What `print` shows of models in time: their chains, what states let us see, the matrices of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import TextTable
from plausible.models.sequences.emissions import Emission
from plausible.models.sequences.linear_answers import LinearAnswers
from plausible.variables import Variable

#: Chains of more states are told by their sizes alone.
_MOST_STATES = 20
#: How probable the intervals of numbers are.
_LEVEL = 0.9


def chain_table(
    state: Variable, initial: Floats, transition: Floats, more: Mapping[str, Iterable[float]] | None = None
) -> list[TextTable]:
    """How a chain begins, where each state goes, and more numbers of each state."""
    if state.num_states > _MOST_STATES or transition.ndim > 2:
        return []
    columns = {"at first": initial, **{f"to {after}": transition[:, j] for j, after in enumerate(state.states)}}
    return [_table(state.name, state.states, {**columns, **(more or {})})]


def emission_tables(state: Variable, emission: Emission) -> list[TextTable]:
    """What each state lets us see: probabilities of symbols, means of numbers and where nine of ten lie."""
    if state.num_states > _MOST_STATES or emission.inputs or emission.looks_back:
        return []
    found = []
    for name, told in emission.forecast(np.eye(state.num_states), _LEVEL).items():
        if len(told.columns) <= _MOST_STATES:
            values = dict(zip((f"{name} {column}" for column in told.columns), told.values.T, strict=True))
            found.append(_table(state.name, state.states, values))
    return found


def system_tables(system: LinearAnswers) -> list[TextTable]:
    """What each state and each observed number is made of, with the variances of their noise."""
    states, inputs = system.states, system.inputs
    moves = np.hstack([system.transition, system.transition_input])
    seen = np.hstack([system.observation, system.observation_input])
    first = {"mean at first": system.initial.mean, "variance at first": system.initial.told.diagonal()}
    made_of = [*(f"from {name}" for name in states), *(f"from {name}" for name in inputs)]
    tables = []
    for label, names, gains, noise, more in (
        ("state", states, moves, system.transition_noise, first),
        ("observed", system.observations, seen, system.observation_noise, {}),
    ):
        columns = dict(zip(made_of, gains.T, strict=True))
        tables.append(_table(label, names, {**columns, "noise variance": noise.diagonal(), **more}))
    return tables


def _table(label: str, names: Iterable[Any], columns: Mapping[str, Iterable[float]]) -> TextTable:
    cells: Sequence[tuple[float, ...]] = list(zip(*columns.values(), strict=True))
    rows = tuple((str(name), *(f"{number:.4g}" for number in row)) for name, row in zip(names, cells, strict=True))
    return TextTable((label, *columns), rows, 1)
