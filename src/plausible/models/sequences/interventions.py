"""`do=` in time: variables that are set, at all steps or in one slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base.arrays import Ints
from plausible.cpds import CPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.models.lowering import point_mass
from plausible.models.network_parts import contradicted
from plausible.models.sequences.observations import StepEvidence
from plausible.models.sequences.sequence_model import cell_of
from plausible.models.sequences.template import Template, indexed
from plausible.variables import State


def intervened(template: Template, sequences: Sequences, do: Mapping[str, State] | None, place: str) -> StepEvidence:
    """The evidence of sequences in which some variables are set.

    Parameters
    ----------
    do
        "X" is set at all steps, "X[5]" in slice 5 of each sequence: slices are numbered from 0 on.
    place
        What errors call the network.
    """
    _check(do or {}, template, place, int(np.diff(sequences.starts).max(initial=0)))
    numbers = {name: np.array(column) for name, column in sequences.columns.items()}
    settings: dict[str, dict[int, CPD | None]] = {}
    everywhere: dict[str, CPD | None] = {}
    evidence = StepEvidence.of(template, sequences)
    for text, state in (do or {}).items():
        name, at = indexed(text)
        variable = template.variables[name]
        mass = point_mass(variable, state)  # which refuses what is no state and no number
        cpd = None if variable.is_continuous else mass
        set_here = np.flatnonzero(evidence.positions() == at) if at is not None else np.arange(sequences.num_steps)
        _refuse_contradicted(sequences, text, state, set_here)
        if variable.is_continuous:
            column = numbers.setdefault(name, np.full(sequences.num_steps, np.nan))
            column[set_here] = float(state)  # type: ignore[arg-type]
        if at is None:
            everywhere[name] = cpd
        else:
            settings.setdefault(name, {})[at] = cpd
    variables = {**sequences.variables, **{name: template.variables[name] for name in numbers}}
    kept = replace(sequences, variables=MappingProxyType(variables), columns=MappingProxyType(numbers))
    return StepEvidence.of(_with_settings(template, everywhere), kept, settings)


def _refuse_contradicted(sequences: Sequences, text: str, state: State, steps: Ints) -> None:
    """Refuse rows that have something else than what is set at some steps."""
    name, _ = indexed(text)
    if name not in sequences.variables:
        return
    variable, cells = sequences.variables[name], sequences.columns[name][steps]
    if variable.is_continuous:
        is_against = ~np.isnan(cells) & (cells != state)
    else:
        is_against = sequences.weights(name, steps)[:, variable.index(state)] == 0
    if is_against.any():
        step = int(steps[np.argmax(is_against)])
        raise contradicted(name, cell_of(sequences, name, step), state, text, sequences.where(step))


def _with_settings(template: Template, settings: Mapping[str, CPD | None]) -> Template:
    """The template in which variables have other distributions in all slices; none where a number is set."""
    if not settings:
        return template
    slices = []
    for cpds in template.slices:
        kept = {name: settings.get(name, cpd) for name, cpd in cpds.items()}
        slices.append({name: cpd for name, cpd in kept.items() if cpd is not None})
    inputs = (*template.inputs, *(name for name, cpd in settings.items() if cpd is None))
    return Template(template.variables, inputs, tuple(slices))


def _check(do: Any, template: Template, place: str, length: int) -> None:
    """Refuse what names no variable that can be set."""
    if not isinstance(do, Mapping):
        raise InvalidArgument(f"do= is a mapping such as {{'X': state}} or {{'X[5]': state}}, not {do!r}.")
    for text in do:
        name, at = indexed(text)
        if name not in template.variables:
            raise UnknownVariable.named(name, template.variables, place)
        if name in template.inputs:
            raise InvalidArgument(f"{name!r} is an input of {place}, which rows give: do= sets the others.")
        if at is not None and at < 0:
            raise InvalidArgument(f"do= sets {text!r}: slices are numbered from 0 on, as in '{name}[0]'.")
        if at is not None and at >= length:
            raise InvalidArgument(f"do= sets {text!r}, but the longest sequence ends with slice {length - 1}.")
