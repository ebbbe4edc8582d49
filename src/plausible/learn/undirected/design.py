"""A log-linear model on flat arrays: the logarithms of all tables are linear in the weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints, starts_of
from plausible.data.statistics import Request, Statistics, in_order
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.factors import Factor
from plausible.inference.problem import strides_of
from plausible.models import MarkovNetwork
from plausible.models.features import Feature
from plausible.models.log_linear import gibbs_factors
from plausible.variables import Variable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: The places of variables, in the order of the model.
Scope = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Design:
    """Tables over scopes, one after the other on one array: their logarithms are `base + matrix @ weights`.

    Each scope, an increasing list of places of variables, has one table, whatever many features it has.
    """

    variables: Mapping[str, Variable]  # name -> variable, in order
    scopes: tuple[Scope, ...]
    matrix: csr_array  # entries x weights: what each feature is at each entry
    names: tuple[str, ...]  # of the weights
    groups: Ints  # of each weight the place of its feature in `group_names`
    group_names: tuple[str, ...]
    base: Floats  # of each entry: 0, or -inf where it is ruled out
    copied: tuple[str, ...] = ()  # what each row has a copy of, where rows are laid out one after the other

    @classmethod
    def of(cls, features: Iterable[Feature], variables: Mapping[str, Variable]) -> Design:
        """Lay features out over variables.

        >>> same = Feature([["A", "B"], ["C", "B"]], lambda a, b: a == b, name="same")
        >>> design = Design.of([same], {name: Variable(name, 2) for name in "ABC"})
        >>> design.scopes, design.matrix.toarray().T
        (((0, 1), (1, 2)), array([[1., 0., 0., 1., 1., 0., 0., 1.]]))
        """
        return _lay_out(list(features), variables)

    @cached_property
    def sizes(self) -> Ints:
        """The number of states of each variable."""
        return np.array([variable.num_states for variable in self.variables.values()], dtype=np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Where each table begins, and the end of the last."""
        sizes = self.sizes
        return starts_of(int(np.prod(sizes[list(scope)])) for scope in self.scopes)

    @cached_property
    def places(self) -> Mapping[str, tuple[int, ...]]:
        """Name -> the place of a variable, or those of its copies."""
        if not self.copied:
            return {name: (place,) for place, name in enumerate(self.variables)}
        step, end = len(self.copied), len(self.variables)
        return {name: tuple(range(first, end, step)) for first, name in enumerate(self.copied)}

    @property
    def num_entries(self) -> int:
        """Of all tables."""
        return int(self.starts[-1])

    @property
    def num_weights(self) -> int:
        """How many weights there are."""
        return len(self.names)

    @cached_property
    def listed(self) -> tuple[Variable, ...]:
        """The variables, in order."""
        return tuple(self.variables.values())

    @cached_property
    def transposed(self) -> csr_array:
        """The matrix the other way round: from entries to statistics of features."""
        return self.matrix.T.tocsr()

    @cached_property
    def spreads(self) -> Floats:
        """How far the values of each feature lie apart within a table, at most; one where they are all the same."""
        coo = self.matrix.tocoo()
        scopes = np.searchsorted(self.starts, coo.row, side="right") - 1
        pairs, pair = np.unique(scopes * max(1, self.num_weights) + coo.col, return_inverse=True)
        owners, weights = pairs // max(1, self.num_weights), pairs % max(1, self.num_weights)
        is_full = np.bincount(pair, minlength=pairs.size) == np.diff(self.starts)[owners]
        top = np.where(is_full, -np.inf, 0.0)  # entries at which a feature is zero are not listed
        bottom, spreads = -top, np.zeros(self.num_weights)
        np.maximum.at(top, pair, coo.data)
        np.minimum.at(bottom, pair, coo.data)
        np.maximum.at(spreads, weights, top - bottom)
        return np.where(spreads > 0, spreads, 1.0)

    def logs(self, weights: Floats) -> Floats:
        """The logarithms of all tables."""
        return np.asarray(self.base + self.matrix @ weights)

    def expected(self, entries: Floats) -> Floats:
        """Σ f over entries that count so often: from (expected) counts of entries to those of features."""
        return np.asarray(self.transposed @ entries)

    def counts(self, statistics: Statistics) -> Floats:
        """How often each entry of each table occurs in the data: all that complete data say of the weights."""
        names, table = list(self.variables), np.zeros(self.num_entries)
        requests = [Request(names[scope[-1]], tuple(names[place] for place in scope[:-1])) for scope in self.scopes]
        for answers, start, end in zip(statistics.counts_of(requests), self.starts[:-1], self.starts[1:], strict=True):
            (counts,) = in_order(answers)
            table[start:end] = np.asarray(counts, dtype=np.float64).ravel()
        return table

    @cached_property
    def axes(self) -> tuple[Ints, Ints, Ints]:
        """Where each scope begins in a list of the variables of all scopes; that list; and how far states lie apart."""
        starts = starts_of(map(len, self.scopes))
        flat = np.array([place for scope in self.scopes for place in scope], dtype=np.int64)
        return starts, flat, strides_of(self.sizes[flat], starts) if flat.size else flat

    @cached_property
    def components(self) -> csr_array:
        """Components x entries: the parts of the model that nothing joins to each other, and the tables of each."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        starts, flat, _ = self.axes
        owners = np.repeat(np.arange(len(self.scopes)), np.diff(starts))
        size = len(self.scopes) + len(self.sizes)
        links = csr_array((np.ones(flat.size), (owners, len(self.scopes) + flat)), shape=(size, size))
        found = connected_components(links, directed=False)[1][: len(self.scopes)]
        number = np.unique(found, return_inverse=True)[1]
        rows = np.repeat(number, np.diff(self.starts))
        ones = np.ones(self.num_entries)
        return csr_array((ones, (rows, np.arange(rows.size))), shape=(int(number.max(initial=-1)) + 1, rows.size))

    def positions(self, codes: Codes | Ints) -> Ints:
        """For each row of states the place of its entry in each table: an array over rows and scopes."""
        starts, flat, strides = self.axes
        if not self.scopes:
            return np.zeros((len(codes), 0), dtype=np.int64)
        return np.asarray(np.add.reduceat(codes[:, flat] * strides, starts[:-1], axis=1) + self.starts[:-1])

    def scope_variables(self, number: int) -> tuple[Variable, ...]:
        """The variables of a scope."""
        return tuple(self.listed[place] for place in self.scopes[number])

    def factors(self, logs: Floats) -> list[Factor]:
        """One factor for each scope, scaled to a maximum of one; what is left out is a constant."""
        made = []
        for number, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            part = logs[start:end]
            peak = part.max(initial=-np.inf)
            made.append(Factor.from_flat(self.scope_variables(number), np.exp(part - peak) if peak > -np.inf else part))
        return made

    def network(self, logs: Floats) -> MarkovNetwork:
        """The Markov network with these tables; where logarithms are too far apart, several factors share one."""
        factors = []
        for number, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            part = logs[start:end]
            middle = part[np.isfinite(part)]
            shift = 0.0 if not middle.size or np.abs(middle).max() < 300 else (middle.max() + middle.min()) / 2
            factors += gibbs_factors(Factor.from_flat(self.scope_variables(number), shift - part))
        return MarkovNetwork(factors, variables=self.listed)

    def without(self, ruled_out: Any) -> Design:
        """The design with some entries ruled out: their logarithm is -inf whatever the weights."""
        return replace(self, base=np.where(ruled_out, -np.inf, self.base))

    @cached_property
    def interactions(self) -> csr_array:
        """Coordinates x weights: features in terms of 1[x_U = u], u without first states, which are independent.

        The constant is left out, so the rank is the dimension of the model; nothing exponential is built but in the
        sizes of scopes.
        """
        from scipy.sparse import csr_array

        return csr_array(interaction_transform(self.scopes, self.sizes)[0][1:] @ self.matrix)

    def dimension(self) -> int:
        """How many weights are free: the rank of the features together with the constant, less one.

        >>> names = {name: Variable(name, 2) for name in "ABCD"}
        >>> diamond = Design.of([Feature(list(pair)) for pair in ("AB", "BC", "CD", "DA")], names)
        >>> diamond.num_weights, diamond.dimension()
        (16, 8)
        """
        dense = self.interactions.toarray()
        if min(dense.shape) == 0:
            return 0
        return int(np.linalg.matrix_rank(dense))


def interaction_transform(
    scopes: Iterable[Scope], sizes: Ints, owners: Sequence[int] | None = None
) -> tuple[csr_array, list[tuple[tuple[int, int], ...]]]:
    """Coordinates x entries: functions of tables' entries in terms of 1[x_U = u], u without first states.

    Its transpose tells tables from the means of 1[x_U = u], whatever they are: tables that add up to the mean of the
    first coordinate, the constant, and agree where they share coordinates.

    Parameters
    ----------
    owners
        Of each scope who has its coordinates for all U of several variables, so that scopes of other owners agree with
        it on single variables only; one owner of all where left out.

    Returns
    -------
    tuple[csr_array, list]
        The matrix, and (variable, state) pairs of each coordinate.
    """
    from scipy.sparse import csr_array

    coordinate_of: dict[Any, int] = {(): 0}
    indicators: list[tuple[tuple[int, int], ...]] = [()]
    rows, columns, values = list[Any](), list[Any](), list[Any]()
    start = 0
    for number, scope in enumerate(scopes):
        shape = [int(sizes[place]) for place in scope]
        cells = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
        numbers = np.empty(len(cells), dtype=np.int64)
        for at, cell in enumerate(cells.tolist()):
            indicator = tuple((p, c) for p, c in zip(scope, cell, strict=True) if c)
            key = (owners[number], indicator) if owners and len(indicator) > 1 else indicator
            numbers[at] = coordinate_of.setdefault(key, len(coordinate_of))
            if len(coordinate_of) > len(indicators):
                indicators.append(indicator)
        differences: Floats = np.ones((1, 1))
        for size in shape:
            step = np.eye(size)
            step[1:, 0] = -1.0
            differences = np.asarray(np.kron(differences, step), dtype=np.float64)
        at_rows, at_columns = np.nonzero(differences)
        rows.append(numbers[at_rows])
        columns.append(start + at_columns)
        values.append(differences[at_rows, at_columns])
        start += len(cells)
    triple = [np.concatenate(part) if part else np.empty(0) for part in (values, rows, columns)]
    return csr_array((triple[0], (triple[1], triple[2])), shape=(len(indicators), start)), indicators


def read_features(features: Iterable[Any]) -> list[Feature]:
    """Features as given: scopes alone are free tables. Two of one name are refused."""
    made = [one if isinstance(one, Feature) else _table_over(one) for one in features]
    seen: set[str] = set()
    for one in made:
        if one.name in seen:
            raise InvalidArgument(
                f"Two features are called {one.name!r}: give each a name of its own, or, if they share one weight, all "
                "scopes to one feature: Feature([scope, scope, ...], function)."
            )
        seen.add(one.name)
    return made


def _table_over(scope: Any) -> Feature:
    if isinstance(scope, Factor):
        return Feature(scope.names, scope.values, name=f"f({', '.join(scope.names)})")
    if isinstance(scope, str):
        scope = [scope]
    if not isinstance(scope, Sequence | frozenset | set):
        raise InvalidArgument(f"{scope!r} is no feature: write Feature(['A', 'B'], function), or a scope ['A', 'B'].")
    return Feature(tuple(scope))


def _lay_out(features: Sequence[Feature], variables: Mapping[str, Variable]) -> Design:
    from scipy.sparse import coo_array

    place_of = {name: place for place, name in enumerate(variables)}
    listed = list(variables.values())
    numbers: dict[Scope, int] = {}
    names: list[str] = []
    groups: list[int] = []
    pieces: list[tuple[int, Any, Any, Any]] = []  # table, entries in it, weights, values
    for group, feature in enumerate(features):
        first = len(names)
        known: dict[Any, tuple[Any, Any, Any]] = {}
        for scope in feature.scopes:
            places = _places(scope, place_of, feature)
            order = sorted(range(len(places)), key=places.__getitem__)
            states = tuple(listed[place].states for place in places)
            if (states, tuple(order)) not in known:
                chosen = [listed[place] for place in places]
                if not known:
                    names += feature.weight_names(chosen)
                    groups += [group] * (len(names) - first)
                known[states, tuple(order)] = _entries(feature, chosen, order, first, len(names) - first)
            number = numbers.setdefault(tuple(places[at] for at in order), len(numbers))
            pieces.append((number, *known[states, tuple(order)]))
    sizes = np.array([variable.num_states for variable in listed], dtype=np.int64)
    starts = starts_of(int(np.prod(sizes[list(scope)])) for scope in numbers)
    entries = [starts[number] + at for number, at, _, _ in pieces]
    triple = [
        np.concatenate(part) if part else np.empty(0) for part in zip(*((p[3], p[2]) for p in pieces), strict=True)
    ]
    values, weights = triple or [np.empty(0), np.empty(0, dtype=np.int64)]
    rows = np.concatenate(entries) if entries else np.empty(0, dtype=np.int64)
    matrix = coo_array((values, (rows, weights)), shape=(int(starts[-1]), len(names))).tocsr()
    return Design(
        dict(variables),
        tuple(numbers),
        matrix,
        tuple(names),
        np.array(groups, dtype=np.int64),
        tuple(feature.name for feature in features),
        np.zeros(int(starts[-1])),
    )


def _places(scope: Sequence[str], place_of: Mapping[str, int], feature: Feature) -> list[int]:
    for name in scope:
        if name not in place_of:
            raise UnknownVariable(
                f"The feature {feature.name!r} mentions {name!r}, which is no variable.{suggestion(name, place_of)}"
            )
    return [place_of[name] for name in scope]


def _entries(
    feature: Feature, variables: Sequence[Variable], order: Sequence[int], first: int, num: int
) -> tuple[Any, Any, Any]:
    """Where a feature over a scope is not zero, the weights that it has there, and its values; axes put in order."""
    shape = [variable.num_states for variable in variables]
    if feature.is_table:
        if int(np.prod(shape)) != num:
            raise InvalidArgument(
                f"The places of the free table {feature.name!r} share their weights, so their variables need the same "
                f"states; ({', '.join(v.name for v in variables)}) have {tuple(shape)}."
            )
        at = np.arange(num).reshape(shape).transpose(order).ravel()
        return np.arange(num), first + at, np.ones(num)
    flat = feature.values(variables).transpose(order).ravel()
    found = np.flatnonzero(flat)
    return found, np.full(found.size, first), flat[found]
