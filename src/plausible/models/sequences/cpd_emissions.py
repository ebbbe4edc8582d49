"""Any conditional distributions as an emission: parents are the state, other columns, and those of the step before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats, Positions
from plausible.cpds import CPD, KINDS, ConditionalGaussianCPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidModel, NotSupported
from plausible.graphs import DAG
from plausible.models.network_parts import variable_of, variable_record
from plausible.models.sequences.cpd_emission_rows import LAG, CompletedRows, completed_rows
from plausible.models.sequences.emissions import Emission, Forecast, ObservedRows
from plausible.models.sequences.gaussian_emissions import mixture_forecasts
from plausible.variables import Variable


class CPDEmission(Emission):
    """P(columns | state, inputs, columns one step before) by conditional distributions of any kinds.

    Columns may be parents of each other. A column with states that is missing where another one depends on it is summed
    out; inputs are given wherever something that depends on them is observed.

    Parameters
    ----------
    cpds
        The distribution of a column, or those of several; the state is among the parents. Parents such as "x[-1]" are
        columns one step before; others without a distribution are inputs: columns that are given.
    state
        The state variable.
    variables
        Those that parents stand for, where distributions know them by name only.
    first
        The distributions at the first step, where there is none before: of columns with a parent such as "x[-1]".

    Examples
    --------
    >>> from plausible.cpds import NoisyOr, TableCPD
    >>> ill = Variable("ill", ["no", "yes"])
    >>> cough = TableCPD("cough", [[0.9, 0.1], [0.3, 0.7]], [ill], states=["no", "yes"])
    >>> fever = NoisyOr("fever", ["ill", "cough"], [0.8, 0.1], leak=0.05, states=["no", "yes"])
    >>> CPDEmission([cough, fever], ill)
    CPDEmission(cough | ill; fever | ill, cough)
    """

    __slots__ = ("cpds", "first", "state")

    kind: ClassVar[str] = "cpd"

    cpds: tuple[CPD, ...]
    first: tuple[CPD, ...]

    def __init__(
        self,
        cpds: CPD | Iterable[CPD],
        state: Variable,
        variables: Iterable[Variable] = (),
        first: CPD | Iterable[CPD] | None = None,
    ) -> None:
        listed, begun = _listed(cpds), _listed(first)
        self.state = state
        _check_names(listed, begun, state)
        own = {cpd.variable.name: cpd.variable for cpd in listed}
        known = {state.name: state, **{variable.name: variable for variable in variables}, **own}
        lagged = {f"{name}{LAG}": variable.renamed(f"{name}{LAG}") for name, variable in known.items()}
        bound = {cpd.variable.name: _bound(cpd, {**lagged, **known}, state) for cpd in listed}
        edges = [(parent, name) for name in bound for parent in bound[name].parent_names if parent in bound]
        self.cpds = tuple(bound[str(name)] for name in DAG(edges, nodes=bound).topological_order)
        self.first = tuple(_bound(cpd, known, state) for cpd in begun)

    @property
    def num_states(self) -> int:
        return self.state.num_states

    @property
    def variables(self) -> tuple[Variable, ...]:
        found = {cpd.variable.name: cpd.variable for cpd in self.cpds}
        for cpd in (*self.cpds, *self.first):
            for parent in cpd.parents:
                name = parent.name.removesuffix(LAG)
                if name != self.state.name:
                    found.setdefault(name, parent.renamed(name))
        return tuple(found.values())

    @property
    def inputs(self) -> tuple[Variable, ...]:
        own = {cpd.variable.name for cpd in self.cpds}
        return tuple(variable for variable in self.variables if variable.name not in own)

    @property
    def num_parameters(self) -> int:
        return sum(cpd.num_parameters for cpd in (*self.cpds, *self.first))

    @property
    def looks_back(self) -> bool:
        return any(_lagged(cpd) for cpd in self.cpds)

    def at(self, is_first: bool) -> tuple[CPD, ...]:
        """The distributions at the first step, or at later ones."""
        begun = {cpd.variable.name: cpd for cpd in self.first} if is_first else {}
        return tuple(begun.get(cpd.variable.name, cpd) for cpd in self.cpds)

    def by_step(self, rows: CompletedRows) -> list[tuple[CPD, Positions]]:
        """Each distribution, those of first steps after all others, and the completed rows that it speaks of."""
        begun = {cpd.variable.name for cpd in self.first}
        parts: list[tuple[CPD, Positions]] = []
        for cpd in (*self.cpds, *self.first):
            chosen = rows.is_there(cpd.variable.name)
            if cpd.variable.name in begun:
                chosen = chosen & (rows.is_first if len(parts) >= len(self.cpds) else ~rows.is_first)
            parts.append((cpd, np.flatnonzero(chosen)))
        return parts

    def observed(self, sequences: Sequences) -> ObservedRows:
        """Content: `CompletedRows`."""
        return completed_rows(sequences, self.at(False), self.at(True), self.state)

    def log_rows(self, rows: ObservedRows) -> Floats:
        completed: CompletedRows = rows.content
        return completed.summed(self.log_completions(completed))

    def log_completions(self, rows: CompletedRows) -> Floats:
        """log p(columns | state) of each completed row: an array over these and states."""
        logs = np.zeros((len(rows.owner), self.num_states))
        for cpd, chosen in self.by_step(rows):
            if len(chosen):
                columns = {name: column[chosen, None] for name, column in rows.of(cpd, self.state).items()}
                logs[chosen] += cpd.log_probability({**columns, self.state.name: np.arange(self.num_states)[None, :]})
        return logs

    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        if self.inputs:
            raise NotSupported(
                f"{self.cpds[-1].variable.name!r} depends on {[each.name for each in self.inputs]}, columns that "
                "sample() does not take. Draw from the dynamic network: "
                "model.to_dynamic_network().sample(length, inputs=rows)."
            )
        levels = rng.random((len(self.cpds), len(states)))
        drawn: dict[str, NDArray[Any]] = {
            cpd.variable.name: np.empty(len(states), dtype=np.float64 if cpd.variable.is_continuous else np.int64)
            for cpd in self.cpds
        }
        begins, lengths = starts[:-1], np.diff(starts)
        if not self.first:
            self._draw(False, np.arange(len(states)), states, levels, drawn)
            return drawn
        for t in range(int(lengths.max(initial=0))):
            self._draw(t == 0, begins[lengths > t] + t, states, levels, drawn)
        return drawn

    def _draw(
        self, is_first: bool, steps: NDArray[Any], states: Codes, levels: Floats, drawn: dict[str, NDArray[Any]]
    ) -> None:
        """The columns of some steps, of which those before have been drawn."""
        for own, cpd in zip(levels, self.at(is_first), strict=True):
            columns = {self.state.name: states[steps]}
            for name in cpd.parent_names:
                if name != self.state.name:
                    columns[name] = drawn[name.removesuffix(LAG)][steps - name.endswith(LAG)]
            drawn[cpd.variable.name][steps] = cpd.quantile(columns, own[steps])

    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        told: dict[str, Forecast] = {}
        for cpd in self.cpds:
            if cpd.parent_names != (self.state.name,):
                raise NotSupported(
                    f"What {cpd.variable.name!r} will be depends on {list(cpd.parent_names)}: forecasts are for "
                    "emissions that hang on the state alone. Sample the future, or use the dynamic network."
                )
            told |= self._forecast(cpd, beliefs, level)
        return told

    def _forecast(self, cpd: CPD, beliefs: Floats, level: float) -> dict[str, Forecast]:
        variable, columns = cpd.variable, {self.state.name: np.arange(self.num_states)}
        if not variable.is_continuous:
            return {variable.name: Forecast(variable.states, beliefs @ cpd.distribution(columns))}
        if not isinstance(cpd, ConditionalGaussianCPD):
            raise NotSupported(f"There is no forecast for the numbers of a {type(cpd).__name__}.")
        return mixture_forecasts((variable,), beliefs, cpd.intercept[:, None], cpd.variance[:, None], level)

    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        return self.cpds

    def with_cpds(self, cpds: Iterable[CPD], first: Iterable[CPD]) -> CPDEmission:
        """The same columns by other distributions."""
        return CPDEmission(cpds, self.state, self.variables, first)

    def reordered(self, order: NDArray[Any]) -> Emission:
        """Refused: a distribution of any kind can't be told for other states."""
        kinds = ", ".join(dict.fromkeys(type(cpd).__name__ for cpd in self.cpds))
        raise NotSupported(f"The states of a {kinds} can't be reordered: give a table, or Gaussians.")

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.kind, "distributions": [*map(_record, self.cpds)], "first": [*map(_record, self.first)]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> CPDEmission:
        return cls([*map(_cpd_of, record["distributions"])], state, (), [*map(_cpd_of, record["first"])])

    def __repr__(self) -> str:
        return f"CPDEmission({'; '.join(cpd._scope_text() for cpd in self.cpds)})"


def _listed(cpds: CPD | Iterable[CPD] | None) -> tuple[CPD, ...]:
    return (cpds,) if isinstance(cpds, CPD) else tuple(cpds or ())


def _lagged(cpd: CPD) -> list[str]:
    return [name for name in cpd.parent_names if name.endswith(LAG)]


def _check_names(cpds: tuple[CPD, ...], first: tuple[CPD, ...], state: Variable) -> None:
    """One distribution for each column, one for its first step where it looks back, and the state among the parents."""
    names, begun = [cpd.variable.name for cpd in cpds], [cpd.variable.name for cpd in first]
    for twice in (name for listed in (names, begun) for name in listed if listed.count(name) > 1):
        raise InvalidModel(f"The column {twice!r} has two emissions; give each column one.")
    for cpd in cpds:
        if not any(state.name in each.parent_names for each in cpds):
            raise InvalidModel(
                f"The emission of {cpd.variable.name!r} has the parents {list(cpd.parent_names)}; the state "
                f"{state.name!r} must be one of them."
            )
        if _lagged(cpd) and cpd.variable.name not in begun:
            raise InvalidModel(
                f"{cpd.variable.name!r} depends on {_lagged(cpd)[0]!r}, which the first step has not: give its "
                "distribution there, first_emission=."
            )


def _bound(cpd: CPD, known: Mapping[str, Variable], state: Variable) -> CPD:
    """A distribution whose parents are known; those that it knows itself need not be."""
    own = {parent.name: parent for parent in cpd._known_parents if parent is not None}
    bound = cpd if cpd.is_bound else cpd.bind({**known, **own})
    for parent in bound.parents:
        if parent.name == state.name and parent != state:
            raise InvalidModel(f"The emission of {cpd.variable.name!r} was made for other states of {state.name!r}.")
    return bound


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
