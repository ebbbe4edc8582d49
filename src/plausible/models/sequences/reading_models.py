"""From what a caller gave to the parts of a hidden Markov model: its chain, and its emission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, TableCPD
from plausible.errors import InvalidModel, UnknownState, counted
from plausible.inference.markov_chains.state_diagram import parse_diagram
from plausible.models.sequences.cpd_emission_rows import LAG
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import OBSERVATION, CategoricalEmission, Emission, ProductEmission
from plausible.models.sequences.gaussian_emissions import GaussianEmission, GaussianMixtureEmission
from plausible.variables import State, Variable


def read_chain(
    initial: Any, transition: Any, states: Iterable[State] | int | None, name: str, inputs: tuple[Variable, ...]
) -> tuple[Variable, Floats, Floats]:
    """The state variable, and both distributions of it."""
    if isinstance(transition, str):
        transition = parse_diagram(transition)
    named = [part for part in (initial, None if inputs else transition) if isinstance(part, Mapping)]
    if states is None and named:
        states = list(dict.fromkeys(each for part in named for each in part))
    count = np.shape(initial)[-1] if np.ndim(initial) else 0
    if states is None and not count:
        raise InvalidModel("initial= is the distribution of the first state: a number for each state.")
    state = Variable(name, count if states is None else states)
    first = _padded(initial, state)
    _check_shape("initial", first, (state.num_states,), state)
    _check_shape("transition", transition, (*(v.num_states for v in inputs), *[state.num_states] * 2), state)
    before = state.renamed(f"{name}{LAG}")
    rows = transition if isinstance(transition, Mapping) else np.array(transition, dtype=np.float64)
    if isinstance(rows, np.ndarray):
        refuse_zero_rows(rows, (*inputs, before))
    elif not inputs:
        rows = _complete_rows(rows, state)
    return state, TableCPD(state, first).values, TableCPD(state, rows, [*inputs, before]).values


def _check_shape(what: str, numbers: Any, wanted: tuple[int, ...], state: Variable) -> None:
    shape = wanted if isinstance(numbers, Mapping) else np.shape(numbers)
    if shape != wanted:
        named = ", ".join(map(str, state.states[:5])) + (", ..." if state.num_states > 5 else "")
        raise InvalidModel(
            f"{what}= has the shape {shape}; with {counted(state.num_states, 'state')} ({named}) it needs {wanted}."
        )


def _padded(initial: Any, state: Variable) -> Any:
    """A mapping with zeros for the states that it does not name."""
    if not isinstance(initial, Mapping):
        return np.array(initial, dtype=np.float64)
    for each in initial:
        state.index(each)
    return [float(initial.get(each, 0.0)) for each in state.states]


def _complete_rows(rows: Mapping[Any, Any], state: Variable) -> Mapping[Any, Any]:
    """Rows by the state before, zeros where a mapping names no state after."""
    for each in rows:
        state.index(each)
    missing = [each for each in state.states if each not in rows]
    if missing:
        raise UnknownState(f"There are no transitions from {missing[0]!r}.{_ABSORBING.format(missing[0])}")
    return {
        before: {after: float(row.get(after, 0.0)) for after in state.states} if isinstance(row, Mapping) else row
        for before, row in rows.items()
    }


_ABSORBING = " A state that is never left goes to itself with probability 1."


def refuse_zero_rows(rows: Floats, parents: tuple[Variable, ...]) -> None:
    """The error for transitions that lead nowhere."""
    sums = rows.sum(axis=-1)
    if (sums == 0).any():
        place = np.unravel_index(int(np.argmax(sums == 0)), sums.shape)
        named = ", ".join(
            f"{parent.name}={parent.states[number]!r}" for parent, number in zip(parents, place, strict=True)
        )
        raise InvalidModel(f"The transitions from {named} are all zero.{_ABSORBING}")


def read_emission(
    emission: Any,
    state: Variable,
    symbols: Any,
    observation: str,
    first: CPD | Iterable[CPD] | None = None,
    inputs: Iterable[Variable] = (),
) -> Emission:
    """What states let us see, from a table, an emission, a CPD, or a mapping from columns to these.

    `inputs` are columns that distributions may know by name only.
    """
    begun = {cpd.variable.name: cpd for cpd in ((first,) if isinstance(first, CPD) else first or ())}
    if isinstance(emission, Emission):
        found = emission
    elif isinstance(emission, CPD):
        found = _of_cpds([emission], state, begun, inputs)
    elif isinstance(emission, Mapping) and not all(state.has_state(key) for key in emission):
        parts = _parts(emission, state, symbols, begun, inputs)
        found = parts[0] if len(parts) == 1 else ProductEmission(parts)
    else:
        found = _of_table(emission, state, symbols, observation)
    if found.num_states != state.num_states:
        raise InvalidModel(
            f"The emission is for {counted(found.num_states, 'state')}, but there are {state.num_states}: "
            f"{', '.join(map(str, state.states[:5]))}."
        )
    return found


def _of_table(table: Any, state: Variable, symbols: Any, observation: str) -> CategoricalEmission:
    if isinstance(symbols, Variable):
        cpd = TableCPD(symbols, table, [state])
    elif not isinstance(table, Mapping) and np.ndim(table) != 2:
        raise InvalidModel(
            "emission= is a table with a row of symbols for each state, an emission such as GaussianEmission(means, "
            f"covariances), a CPD, or a mapping from columns to these; not {type(table).__name__}."
        )
    else:
        cpd = TableCPD(observation, table, [state], states=symbols)
    return CategoricalEmission(cpd.values, cpd.variable)


def _parts(
    emission: Mapping[Any, Any], state: Variable, symbols: Any, first: Mapping[str, CPD], inputs: Iterable[Variable]
) -> list[Emission]:
    """The emissions of columns; distributions of columns that depend on each other are one emission."""
    chosen = symbols if isinstance(symbols, Mapping) else dict.fromkeys(emission, symbols)
    cpds = {part.variable.name: part for part in emission.values() if isinstance(part, CPD)}
    others = [
        read_emission(_named(part, column), state, chosen.get(column), column)
        for column, part in emission.items()
        if not isinstance(part, CPD)
    ]
    wanted = {name.removesuffix(LAG) for cpd in cpds.values() for name in cpd.parent_names}
    tables = {part.symbol.name: part for part in others if isinstance(part, CategoricalEmission)}
    cpds |= {name: part.to_cpds(state)[0] for name, part in tables.items() if name in wanted}
    kept = [part for part in others if not (isinstance(part, CategoricalEmission) and part.symbol.name in wanted)]
    known = [*inputs, *(variable for part in kept for variable in part.variables)]
    return [*kept, *(_of_cpds(group, state, first, known) for group in _connected(cpds))]


def _connected(cpds: Mapping[str, CPD]) -> list[list[CPD]]:
    """Distributions in groups that do not look at each other's columns."""
    groups: list[list[str]] = []
    for name, cpd in cpds.items():
        near = {name, *(parent.removesuffix(LAG) for parent in cpd.parent_names)} & cpds.keys()
        touched = [group for group in groups if near & set(group)]
        groups = [group for group in groups if group not in touched]
        groups.append(list(dict.fromkeys([*(each for group in touched for each in group), *sorted(near)])))
    return [[cpd for name, cpd in cpds.items() if name in group] for group in groups]


def _of_cpds(cpds: list[CPD], state: Variable, first: Mapping[str, CPD], known: Iterable[Variable] = ()) -> Emission:
    """Distributions of columns; a table of nothing but the state is a table."""
    begun = [first[cpd.variable.name] for cpd in cpds if cpd.variable.name in first]
    if len(cpds) == 1 and not begun and isinstance(cpds[0], TableCPD) and cpds[0].parent_names == (state.name,):
        return CategoricalEmission(cpds[0].bind({state.name: state}).values, cpds[0].variable)
    return CPDEmission(cpds, state, known, begun)


def _named(part: Any, column: Any) -> Any:
    """An emission of numbers with the names of its columns, where it has those that nobody gave."""
    if not isinstance(part, (GaussianEmission, GaussianMixtureEmission)):
        return part
    if not all(variable.name.startswith(OBSERVATION) for variable in part.variables):
        return part
    record = part.to_record()
    names = [column] if isinstance(column, str) else list(column)
    if isinstance(part, GaussianEmission):
        return GaussianEmission(record["means"], record["covariances"], names, covariance=part.covariance)
    return GaussianMixtureEmission(
        record["weights"], record["means"], record["covariances"], names, covariance=part.covariance
    )
