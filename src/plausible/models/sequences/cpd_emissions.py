"""Any conditional distribution as an emission: its parents are the state, inputs, and observations of steps before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats, Ints
from plausible.cpds import CPD, KINDS, ConditionalGaussianCPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidArgument, InvalidModel, NotSupported
from plausible.models.sequences.emissions import Emission, Forecast, ObservedRows
from plausible.models.sequences.gaussian_emissions import mixture_forecasts
from plausible.models.sequences.sequence_model import variable_of, variable_record
from plausible.variables import Variable

#: What marks the value of a column one step before.
LAG = "[-1]"


class CPDEmission(Emission):
    """P(column | state, inputs, columns one step before) by a conditional distribution of any kind.

    Parameters
    ----------
    cpd
        The distribution; the state is among its parents. Parents such as "x[-1]" are columns one step before, all
        others inputs: columns that are given.
    state
        The state variable.
    variables
        Those that parents stand for, where the distribution knows them by name only.
    first
        The distribution at the first step, where there is none before; needed if there is a parent such as "x[-1]".
    """

    __slots__ = ("cpd", "first", "state")

    kind: ClassVar[str] = "cpd"

    def __init__(
        self, cpd: CPD, state: Variable, variables: tuple[Variable, ...] = (), first: CPD | None = None
    ) -> None:
        known = {state.name: state, **{variable.name: variable for variable in (*variables, cpd.variable)}}
        lagged = {f"{name}{LAG}": variable.renamed(f"{name}{LAG}") for name, variable in known.items()}
        if state.name not in cpd.parent_names:
            raise InvalidModel(
                f"The emission of {cpd.variable.name!r} has the parents {list(cpd.parent_names)}; the state "
                f"{state.name!r} must be one of them."
            )
        self.state = state
        self.cpd = cpd if cpd.is_bound else cpd.bind({**lagged, **known, **_own_parents(cpd)})
        if self.cpd.parents[cpd.parent_names.index(state.name)] != state:
            raise InvalidModel(f"The emission of {cpd.variable.name!r} was made for other states of {state.name!r}.")
        self.first = first if first is None or first.is_bound else first.bind({**known, **_own_parents(first)})
        if self._lagged and self.first is None:
            raise InvalidModel(
                f"{cpd.variable.name!r} depends on {self._lagged[0]!r}, which the first step has not: give its "
                "distribution there, first_emission=."
            )

    @property
    def num_states(self) -> int:
        return self.state.num_states

    @property
    def variables(self) -> tuple[Variable, ...]:
        found = {self.cpd.variable.name: self.cpd.variable}
        for cpd in self._cpds:
            for parent in cpd.parents:
                name = parent.name.removesuffix(LAG)
                if name != self.state.name:
                    found.setdefault(name, parent.renamed(name))
        return tuple(found.values())

    @property
    def inputs(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if variable != self.cpd.variable)

    @property
    def num_parameters(self) -> int:
        return sum(cpd.num_parameters for cpd in self._cpds)

    @property
    def looks_back(self) -> bool:
        return bool(self._lagged)

    @property
    def _cpds(self) -> tuple[CPD, ...]:
        return (self.cpd,) if self.first is None else (self.cpd, self.first)

    @property
    def _lagged(self) -> list[str]:
        return [name for name in self.cpd.parent_names if name.endswith(LAG)]

    def observed(self, sequences: Sequences) -> ObservedRows:
        """Content: the steps themselves; each one stands for itself."""
        name = self.cpd.variable.name
        if name in sequences.soft or any(variable.name in sequences.soft for variable in self.inputs):
            raise NotSupported(f"{name!r} has an emission for which cells are known or not: give no collections.")
        is_first = np.zeros(sequences.num_steps, dtype=bool)
        is_first[sequences.starts[:-1][np.diff(sequences.starts) > 0]] = True
        columns = dict(_with_lags(sequences, is_first))
        there = _is_there(columns[name]) if name in columns else np.zeros(sequences.num_steps, dtype=bool)
        for cpd, steps in self._by_step(is_first):
            for parent in cpd.parent_names:
                lacking = steps & there if parent not in columns else steps & there & ~_is_there(columns[parent])
                if parent != self.state.name and lacking.any():
                    raise InvalidArgument(
                        f"{parent!r} is missing at {sequences.where(int(np.argmax(lacking)))}, and {name!r}, which is "
                        "observed there, depends on it. Fill it in, or leave the observation out, too."
                    )
        return ObservedRows(np.arange(sequences.num_steps, dtype=np.int32), _Steps(columns, is_first, there))

    def _by_step(self, is_first: NDArray[np.bool_]) -> Iterator[tuple[CPD, NDArray[np.bool_]]]:
        """Each distribution with the steps that it is for."""
        if self.first is None:
            yield self.cpd, np.ones(len(is_first), dtype=bool)
        else:
            yield self.cpd, ~is_first
            yield self.first, is_first

    def log_rows(self, rows: ObservedRows) -> Floats:
        steps: _Steps = rows.content
        logs = np.zeros((len(steps), self.num_states))
        for cpd, here in self._by_step(steps.is_first):
            chosen = np.flatnonzero(here & steps.is_there)
            if len(chosen):
                logs[chosen] = cpd.log_probability(self._columns(cpd, steps.columns, chosen))
        return logs

    def _columns(self, cpd: CPD, columns: dict[str, NDArray[Any]], chosen: Ints) -> dict[str, NDArray[Any]]:
        names = [name for name in (cpd.variable.name, *cpd.parent_names) if name != self.state.name]
        states = np.arange(self.num_states)[None, :]
        return {self.state.name: states, **{name: columns[name][chosen, None] for name in names}}

    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        name, levels = self.cpd.variable.name, rng.random(len(states))
        if any(variable.name != name for variable in self.inputs):
            raise NotSupported(
                f"{name!r} depends on {[each.name for each in self.inputs]}, columns that sample() does not take. Draw "
                "from the dynamic network: model.to_dynamic_network().sample(length, inputs=rows)."
            )
        drawn = np.empty(len(states), dtype=np.float64 if self.cpd.variable.is_continuous else np.int64)
        begins, lengths = starts[:-1], np.diff(starts)
        for t in range(int(lengths.max(initial=0))):
            at = begins[lengths > t] + t
            cpd = self.first if self.first is not None and t == 0 else self.cpd
            columns = {self.state.name: states[at]}
            if t and self._lagged:
                columns[f"{name}{LAG}"] = drawn[at - 1]
            drawn[at] = cpd.quantile(columns, levels[at])
        return {name: drawn}

    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        cpd, variable = self.cpd, self.cpd.variable
        if len(cpd.parent_names) > 1:
            raise NotSupported(
                f"What {variable.name!r} will be depends on {list(cpd.parent_names)}: forecasts are for emissions that "
                "hang on the state alone. Sample the future, or use the dynamic network."
            )
        columns = {self.state.name: np.arange(self.num_states)}
        if not variable.is_continuous:
            return {variable.name: Forecast(variable.states, beliefs @ cpd.distribution(columns))}
        if not isinstance(cpd, ConditionalGaussianCPD):
            raise NotSupported(f"There is no forecast for the numbers of a {type(cpd).__name__}.")
        return mixture_forecasts((variable,), beliefs, cpd.intercept[:, None], cpd.variance[:, None], level)

    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        return (self.cpd,)

    def reordered(self, order: NDArray[Any]) -> Emission:
        """Refused: a distribution of any kind can't be told for other states."""
        raise NotSupported(f"The states of a {type(self.cpd).__name__} can't be reordered: give a table, or Gaussians.")

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.kind, "distributions": [_record(cpd) for cpd in self._cpds]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> CPDEmission:
        cpd, *first = map(_cpd_of, record["distributions"])
        return cls(cpd, state, (), first[0] if first else None)

    def __repr__(self) -> str:
        return f"CPDEmission({self.cpd!r})"


class _Steps:
    """What a conditional distribution looks at, step by step."""

    def __init__(
        self, columns: dict[str, NDArray[Any]], is_first: NDArray[np.bool_], is_there: NDArray[np.bool_]
    ) -> None:
        self.columns, self.is_first, self.is_there = columns, is_first, is_there

    def __len__(self) -> int:
        return len(self.is_first)


def _with_lags(sequences: Sequences, is_first: NDArray[np.bool_]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The columns, and those of the step before."""
    for name, column in sequences.columns.items():
        yield name, column
        before = np.roll(column, 1)
        before[is_first] = np.nan if sequences.variables[name].is_continuous else -1
        yield f"{name}{LAG}", before


def _is_there(column: NDArray[Any]) -> NDArray[np.bool_]:
    return ~np.isnan(column) if column.dtype.kind == "f" else column >= 0


def _own_parents(cpd: CPD) -> dict[str, Variable]:
    """The parents that a distribution knows."""
    return {parent.name: parent for parent in cpd._known_parents if parent is not None}


def _record(cpd: CPD) -> dict[str, Any]:
    parents = [variable_record(parent) for parent in cpd.parents]
    return {
        "kind": cpd.kind,
        "variable": variable_record(cpd.variable),
        "parents": parents,
        "parameters": cpd.to_record(),
    }


def _cpd_of(record: Mapping[str, Any]) -> CPD:
    parents = tuple(map(variable_of, record["parents"]))
    return KINDS[record["kind"]].from_record(variable_of(record["variable"]), parents, record["parameters"])
