"""Features over targets and inputs, laid out for every row of a table: one large model with shared weights.

Each row has its own copy of the targets. Inputs are put in, so that what is left of a feature is a table over targets,
and a row's tables form a part of the model that nothing joins to the others. That is all that a conditional random
field is: the likelihood of the targets given the inputs is that of one assignment to the large model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from typing import Any

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints, starts_of
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, suggestion
from plausible.learn.undirected.design import Design, Scope
from plausible.models.features import Feature
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class FieldForm:
    """What a conditional random field is made of, before it meets rows."""

    features: tuple[Feature, ...]
    targets: Mapping[str, Variable]
    inputs: Mapping[str, Variable]  # discrete ones and numbers
    names: tuple[str, ...]  # of the weights
    groups: Ints

    @classmethod
    def of(cls, features: Sequence[Feature], targets: Sequence[str], variables: Mapping[str, Variable]) -> FieldForm:
        """Split the variables of features into targets and inputs, and name the weights."""
        mentioned = dict.fromkeys(name for one in features for scope in one.scopes for name in scope)
        for name in (*targets, *mentioned):
            if name not in variables:
                raise UnknownVariable(f"{name!r} is no column of the data.{suggestion(name, variables)}")
        if not targets:
            raise InvalidArgument("targets= names no variable: there is nothing to predict.")
        for name in targets:
            if variables[name].is_continuous:
                raise NotSupported(f"The target {name!r} is a column of numbers: cut it into states by pb.Discretizer.")
        for feature in features:
            for scope in feature.scopes:
                if not set(scope) & set(targets):
                    raise InvalidArgument(
                        f"The feature {feature.name!r} over ({', '.join(scope)}) has no target: it cancels in P(Y | X)."
                    )
        names, groups = list[str](), list[int]()
        for group, feature in enumerate(features):
            chosen = [variables[name] for name in feature.scopes[0]]
            if feature.is_table and (numbers := [one.name for one in chosen if one.is_continuous]):
                raise NotSupported(
                    f"{numbers[0]!r} is a column of numbers, so the feature {feature.name!r} needs a function."
                )
            more = feature.weight_names(chosen)
            names += more
            groups += [group] * len(more)
        return cls(
            tuple(features),
            {name: variables[name] for name in targets},
            {name: variables[name] for name in mentioned if name not in set(targets)},
            tuple(names),
            np.array(groups, dtype=np.int64),
        )

    @property
    def open_inputs(self) -> set[str]:
        """Inputs with states that only functions look at, which take other states, too."""
        tabled = {name for one in self.features if not callable(one.function) for scope in one.scopes for name in scope}
        return {name for name, one in self.inputs.items() if name not in tabled and not one.is_continuous}

    def ground(self, table: Table) -> Design:
        """The design with a copy of the targets for each row."""
        from scipy.sparse import coo_array

        num_rows, num_targets = table.num_rows, len(self.targets)
        place_of = {name: place for place, name in enumerate(self.targets)}
        sizes = np.array([variable.num_states for variable in self.targets.values()])
        numbers: dict[Scope, int] = {}
        pieces: list[tuple[int, _Piece]] = []
        first = 0
        for feature in self.features:
            cache: dict[Any, Any] = {}
            for scope in feature.scopes:
                places = tuple(sorted(place_of[name] for name in scope if name in place_of))
                number = numbers.setdefault(places, len(numbers))
                pieces.append((number, self._piece(feature, scope, first, table, cache)))
            first += 1 if not feature.is_table else _num_cells(feature, self)
        starts = starts_of(int(np.prod(sizes[list(scope)])) for scope in numbers)
        width = int(starts[-1])
        rows = np.concatenate([piece.rows * width + starts[number] + piece.entries for number, piece in pieces])
        weights = np.concatenate([piece.weights for _, piece in pieces])
        values = np.concatenate([piece.values for _, piece in pieces])
        matrix = coo_array((values, (rows, weights)), shape=(num_rows * width, len(self.names))).tocsr()
        variables = {
            f"{name}[{row}]": Variable(f"{name}[{row}]", one.states)
            for row in range(num_rows)
            for name, one in self.targets.items()
        }
        scopes = [tuple(row * num_targets + place for place in scope) for row in range(num_rows) for scope in numbers]
        return Design(
            variables,
            tuple(scopes),
            matrix,
            self.names,
            self.groups,
            tuple(feature.name for feature in self.features),
            np.zeros(num_rows * width),
            tuple(self.targets),
        )

    def labels(self, table: Table) -> Codes:
        """The states of all targets, row after row, as one row; -1 where missing."""
        return np.stack([table.column(name) for name in self.targets], axis=1).astype(np.int32).reshape(1, -1)

    def _piece(self, feature: Feature, scope: Sequence[str], first: int, table: Table, cache: dict[Any, Any]) -> _Piece:
        """What a feature at one of its places adds to the tables over its targets, for all rows."""
        targets = [name for name in scope if name in self.targets]
        order = sorted(targets, key=list(self.targets).index)
        inputs = [name for name in scope if name not in self.targets]
        num_rows = table.num_rows
        kinds, kind_of_row = _distinct(table, inputs, feature)
        key = (
            tuple(map(self._states, scope)),
            tuple(map(order.index, targets)),
            tuple(name in self.targets for name in scope),
        )
        tables = []
        for kind in kinds:
            if (key, kind) not in cache:
                cache[key, kind] = self._table(feature, scope, order, dict(zip(inputs, kind, strict=True)), first)
            tables.append(cache[key, kind])
        if not tables:  # as there are no rows
            tables.append((np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)))
        lengths = np.array([entries.size for entries, _, _ in tables])
        at = starts_of(lengths.tolist())[:-1]
        entries, weights, values = (np.concatenate(part) for part in zip(*tables, strict=True))
        if not inputs:
            kind_of_row = np.zeros(num_rows, dtype=np.int64)
        rows = np.repeat(np.arange(num_rows), lengths[kind_of_row])
        begins = np.repeat(at[kind_of_row], lengths[kind_of_row])
        steps = np.arange(rows.size) - np.repeat(
            np.cumsum(lengths[kind_of_row]) - lengths[kind_of_row], lengths[kind_of_row]
        )
        chosen = begins + steps
        return _Piece(rows, entries[chosen], weights[chosen], values[chosen])

    def _states(self, name: str) -> Any:
        variable = self.targets.get(name) or self.inputs[name]
        return None if variable.is_continuous else variable.states

    def _table(
        self, feature: Feature, scope: Sequence[str], order: Sequence[str], given: Mapping[str, Any], first: int
    ) -> tuple[Ints, Ints, Floats]:
        """Entries of the table over the targets in order, weights and values, where the inputs are given."""
        cells = list(cartesian(*(self.targets[name].states for name in order)))
        assignments = [
            tuple({**given, **dict(zip(order, cell, strict=True))}[name] for name in scope) for cell in cells
        ]
        if not feature.is_table:
            values = _values(feature, assignments, [self.targets.get(name) or self.inputs[name] for name in scope])
            found = np.flatnonzero(values)
            return found, np.full(found.size, first), values[found]
        variables = [self.targets.get(name) or self.inputs[name] for name in scope]
        shape = [variable.num_states for variable in variables]
        places = [[v.states.index(state) for v, state in zip(variables, cell, strict=True)] for cell in assignments]
        return np.arange(len(cells)), first + np.ravel_multi_index(np.array(places).T, shape), np.ones(len(cells))


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    rows: Ints
    entries: Ints  # in the table of a row
    weights: Ints
    values: Floats


def _num_cells(feature: Feature, form: FieldForm) -> int:
    return int(np.prod([(form.targets.get(name) or form.inputs[name]).num_states for name in feature.scopes[0]]))


def _values(feature: Feature, assignments: Sequence[tuple[Any, ...]], variables: Sequence[Variable]) -> Floats:
    if callable(feature.function):
        return feature.at(assignments)
    if any(variable.is_continuous for variable in variables):
        raise NotSupported(
            f"The feature {feature.name!r} has a table, but one of its variables is a column of numbers."
        )
    table = feature.values(variables)
    return np.array([table[tuple(v.states.index(s) for v, s in zip(variables, a, strict=True))] for a in assignments])


def _distinct(table: Table, inputs: Sequence[str], feature: Feature) -> tuple[list[tuple[Any, ...]], Ints]:
    """The different values of inputs, as states and numbers, and which of them each row has."""
    if not inputs:
        return [()], np.zeros(table.num_rows, dtype=np.int64)
    columns = []
    for name in inputs:
        column = np.asarray(table.column(name), dtype=np.float64)
        is_missing = np.isnan(column) if table.variables[name].is_continuous else column < 0
        if is_missing.any():
            raise NotSupported(
                f"Row {int(np.argmax(is_missing))} has no value of the input {name!r}, which the feature "
                f"{feature.name!r} needs: fill it in, as by pb.learn.impute, or leave the row out."
            )
        columns.append(column)
    kinds, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    variables = [table.variables[name] for name in inputs]
    return [
        tuple(
            float(value) if variable.is_continuous else variable.states[int(value)]
            for variable, value in zip(variables, kind, strict=True)
        )
        for kind in kinds.tolist()
    ], inverse.reshape(-1).astype(np.int64)
