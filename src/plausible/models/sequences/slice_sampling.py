"""Rows in time drawn from a template, one slice after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.data import decode
from plausible.data.sequences import Sequences, SequencesLike
from plausible.data.times import Steps
from plausible.errors import InvalidArgument
from plausible.factors.alignment import num_entries
from plausible.kernels.slices import Draws, draw_slices
from plausible.models.sequences.interventions import intervened
from plausible.models.sequences.observations import StepEvidence
from plausible.models.sequences.template import Template, lagged
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd

#: Distributions with larger tables are drawn from as they are, slice after slice.
_MAX_TABLE = 2**16
#: So many uniform levels are drawn at a time.
_LEVELS = 2**20


def draw_rows(
    template: Template,
    length: int,
    generator: np.random.Generator,
    sequences: int | None,
    inputs: SequencesLike | None,
    do: Mapping[str, State] | None,
    place: str,
) -> pd.DataFrame:
    """A frame of rows drawn; see `DynamicBayesianNetwork.sample`."""
    number = 1 if sequences is None else sequences
    given = _given(template, length, number, inputs, place)
    evidence = intervened(template, given, do, place)
    if template.inputs:
        evidence.check()
    has_tables = all(
        not any(variable.is_continuous for variable in cpd.scope) and num_entries(cpd.scope) <= _MAX_TABLE
        for cpds in evidence.template.slices
        for cpd in cpds.values()
    )
    by_kernel = has_tables and not evidence.settings and not template.inputs
    columns = _by_kernel(evidence.template, number, length, generator) if by_kernel else _by_slice(evidence, generator)
    frame = decode(columns, template.variables)
    if sequences is not None:
        frame.insert(0, "sequence", np.repeat(np.arange(number), length))
        frame.insert(1, "time", np.tile(np.arange(length), number))
    return frame


def _given(template: Template, length: int, number: int, inputs: SequencesLike | None, place: str) -> Sequences:
    """The rows of inputs, the same for all sequences; rows without columns where there are none."""
    steps = Steps.of_lengths([length] * number)
    if inputs is None:
        if template.inputs:
            raise InvalidArgument(
                f"{template.inputs[0]!r} is an input of {place}: give its values at each step as inputs=rows."
            )
        return Sequences({}, {}, {}, steps, None)
    known = {name: template.variables[name] for name in template.inputs}
    read = Sequences.read(inputs, known, place=place)
    if read.num_steps != length or read.num_sequences != 1:
        raise InvalidArgument(
            f"inputs= has {read.num_steps} rows in {read.num_sequences} sequences; it takes {length}, one a step."
        )
    columns = {name: np.tile(column, number) for name, column in read.columns.items()}
    return Sequences(read.variables, columns, {}, steps, None)


def _by_kernel(template: Template, number: int, length: int, generator: np.random.Generator) -> dict[str, Any]:
    """All tables, all steps in machine code."""
    names = list(template.variables)
    states = np.zeros((number * length, len(names)), dtype=np.int32)
    stride = max(1, _LEVELS // (len(names) * max(length, 1))) if length else 1
    draws = [_draws(template, at) for at in range(len(template.slices))]
    for first in range(0, number, stride):
        last = min(first + stride, number)
        part = states[first * length : last * length]
        levels = generator.random(part.shape)
        for at, tables in enumerate(draws):
            draw_slices(tables, _runs(at, len(draws), last - first, length), levels, part)
    return {name: states[:, place] for place, name in enumerate(names)}


def _runs(at: int, num_slices: int, number: int, length: int) -> Ints:
    """The steps of one of the slices in sequences of equal lengths."""
    starts = np.arange(number, dtype=np.int64) * length
    ends = starts + (length if at == num_slices - 1 else min(at + 1, length))
    kept = starts + at < ends
    return np.stack([(starts + at)[kept], ends[kept]], axis=1)


def _draws(template: Template, at: int) -> Draws:
    """The tables of one of the slices, rows added up."""
    numbers = {name: number for number, name in enumerate(template.variables)}
    sizes = np.array([variable.num_states for variable in template.variables.values()], dtype=np.int64)
    order = [name for name in template.order(at) if name in template.slices[at]]
    sums: list[Floats] = []
    parents: list[tuple[int, int, int]] = []
    counts: list[int] = []
    for name in order:
        cpd = template.slices[at][name]
        table = cpd.to_table().values.reshape(-1, cpd.variable.num_states)
        totals = np.cumsum(table, axis=1)
        sums.append((totals[:, :-1] / totals[:, -1:]).ravel())
        states = [parent.num_states for parent in cpd.parents]
        for place, text in enumerate(cpd.parent_names):
            parent = lagged(text)
            parents.append((numbers[parent.name], parent.lag, math.prod(states[place + 1 :])))
        counts.append(len(states))
    return Draws(
        np.array([numbers[name] for name in order], dtype=np.int64),
        sizes,
        starts_of([len(own) for own in sums])[:-1].copy(),
        np.concatenate([np.zeros(0), *sums]),
        starts_of(counts),
        np.array(parents, dtype=np.int64).reshape(-1, 3),
    )


def _by_slice(evidence: StepEvidence, generator: np.random.Generator) -> dict[str, Any]:
    """Any distributions: all sequences at once, one step after the other."""
    template, sequences = evidence.template, evidence.sequences
    starts = sequences.starts[:-1]
    length = int(np.diff(sequences.starts).max(initial=0))
    columns: dict[str, Any] = {
        name: np.array(sequences.columns[name])
        if name in sequences.columns
        else np.zeros(sequences.num_steps, dtype=np.float64 if variable.is_continuous else np.int32)
        for name, variable in template.variables.items()
    }
    for at in range(length):
        number = min(at, template.num_first)
        for name in template.order(number):
            if name not in template.slices[number]:
                continue
            cpd = template.slices[number][name]
            setting = evidence.settings.get(name, {})
            chosen = setting.get(at, cpd)
            if chosen is None:
                continue  # a number that is set
            rows = {text: columns[lagged(text).name][starts + at - lagged(text).lag] for text in chosen.parent_names}
            columns[name][starts + at] = chosen.quantile(rows, generator.random(len(starts)))
    return columns
