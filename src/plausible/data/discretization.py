"""Discretisation: numbers to intervals as a step of its own, that can be looked at, kept, applied again and undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.data.discretization_cuts import (
    ONE_COLUMN_METHODS,
    DiscretizedColumn,
    class_cuts,
    merge_by_information,
    quantile_cuts,
)
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable, suggestion

if TYPE_CHECKING:
    import pandas as pd


#: How cuts can be found.
DISCRETIZATION_METHODS = (*ONE_COLUMN_METHODS, "mdl", "hartemink")


@dataclass(frozen=True, slots=True)
class Discretizer(Mapping[str, DiscretizedColumn]):
    """Replace numbers by intervals; make one with `fit` from data, or with `at` from cuts you know.

    Each number is replaced by the label of its interval. `inverse` returns a number within the interval, so
    transforming again changes nothing. Missing cells stay missing. The outer intervals are unbounded, so they also take
    numbers outside the range of the data.

    Attributes
    ----------
    columns
        The cuts of each column.

    Examples
    --------
    >>> rows = {"age": [3.5, 17.0, 30.0, 41.0, 66.0, 80.0], "smokes": ["no", "no", "yes", "no", "yes", "no"]}
    >>> ages = Discretizer.fit(rows, "quantile", bins=3)
    >>> ages["age"].variable.states
    ('below 23.5', '23.5 to 53.5', 'from 53.5')
    >>> frame = ages.transform(rows)
    >>> frame["age"].tolist()[:3]
    ['below 23.5', 'below 23.5', '23.5 to 53.5']
    >>> ages.inverse(frame)["age"].tolist()
    [10.25, 10.25, 35.5, 35.5, 73.0, 73.0]
    """

    columns: tuple[DiscretizedColumn, ...]

    @classmethod
    def fit(
        cls,
        data: TableLike,
        method: str = "quantile",
        bins: int | Mapping[str, int] = 4,
        *,
        columns: Iterable[str] | None = None,
        target: str | None = None,
        initial_bins: int = 20,
    ) -> Discretizer:
        """Find cuts on data; missing values say nothing about them.

        =============  ==============================================================================================
        method         intervals
        =============  ==============================================================================================
        "equal-width"  of the same width
        "quantile"     of about the same number of rows; equal values stay together
        "k-means"      with the least squares within them, exactly
        "mdl"          that tell the states of a `target` apart, as many as pay for themselves (Fayyad & Irani 1993)
        "hartemink"    merged from `initial_bins` quantiles, so that the least mutual information between the columns
                       is lost (Hartemink 2001)
        =============  ==============================================================================================

        Parameters
        ----------
        data
            What `Table.read` takes; its weights count.
        method
            One of those above.
        bins
            How many intervals, or name -> how many (4 of a column that has no number); there are fewer where there
            are not as many different values. Of no consequence for "mdl".
        columns
            Which to cut; usually all continuous ones. Columns with states that are numbers may be named, too.
        target
            The discrete variable that "mdl" looks at.
        initial_bins
            Where "hartemink" starts.
        """
        if method not in DISCRETIZATION_METHODS:
            hint = suggestion(method, DISCRETIZATION_METHODS) if isinstance(method, str) else ""
            raise InvalidArgument(f"{method!r} is no method.{hint} There are {', '.join(DISCRETIZATION_METHODS)}.")
        table = Table.read(data)
        names = table.continuous if columns is None else list(columns)
        for place, name in enumerate(names):
            if name in names[:place]:
                raise InvalidArgument(f"columns= names {name!r} twice; each column is cut once.")
        for name in bins if isinstance(bins, Mapping) else ():
            if name not in names:
                raise UnknownVariable.named(name, names, "the columns to cut, though bins= names it")
        _refuse_bad_target(table, method, target)
        wanted = {name: bins.get(name, 4) if isinstance(bins, Mapping) else bins for name in names}
        for name, number in wanted.items():
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
                raise InvalidArgument(f"bins= for {name!r} is a positive whole number of intervals, not {number!r}.")
        if method == "hartemink":
            return _fit_by_information(table, wanted, initial_bins)
        if method == "mdl" and target is not None:
            return cls(tuple(_fit_by_class(table, name, target) for name in names))
        find = ONE_COLUMN_METHODS[method]
        return cls(tuple(_fit_column(table, name, lambda v, w, n=wanted[name]: find(v, w, n)) for name in names))

    @classmethod
    def at(cls, cuts: Mapping[str, Sequence[float]]) -> Discretizer:
        """Cuts that are known: name -> increasing numbers."""
        return cls(tuple(DiscretizedColumn.at(name, _read_cuts(name, given)) for name, given in cuts.items()))

    def __getitem__(self, name: str) -> DiscretizedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        raise UnknownVariable.named(name, list(self), "this discretiser")

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def encode(self, data: TableLike) -> Table:
        """The table with intervals for numbers, ready to learn from; weights and interventions are kept."""
        table = Table.read(data)
        for name in self:
            if name not in table.variables:
                raise UnknownVariable.named(name, table.variables, "the data, though the discretiser cuts it")
        return table.with_columns({c.name: (c.variable, c.encode(_numbers(table, c.name))) for c in self.columns})

    def transform(self, data: TableLike) -> pd.DataFrame:
        """A frame with labels of intervals for numbers; they and the states of other columns are ordered categories."""
        return _frame(self.encode(data))

    def inverse(self, data: TableLike) -> pd.DataFrame:
        """A frame with a number within each interval in place of its label; columns that are not cut are kept."""
        table = Table.read(data)
        numbers = {}
        for name, column in zip(self, self.columns, strict=True):
            if name in table.variables:
                variable = table.variables[name]
                if variable.is_continuous:
                    raise InvalidArgument(f"The column {name!r} holds numbers already, not labels of intervals.")
                places = np.array([*map(column.variable.index, variable.states), -1], dtype=np.intp)
                numbers[name] = column.decode(places[table.column(name)])
        return _frame(table).assign(**numbers)

    def to_json(self) -> str:
        """As text that `from_json` reads, to be kept beside a network."""
        columns = {
            column.name: {"cuts": column.cuts, "representatives": column.representatives} for column in self.columns
        }
        return json.dumps({"discretizer": columns}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Discretizer:
        """The discretiser that `to_json` wrote."""
        try:
            columns = json.loads(text)["discretizer"].items()
            read = [
                (name, tuple(map(float, c["cuts"])), tuple(map(float, c["representatives"]))) for name, c in columns
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidArgument(f"This is not the text of a discretiser, as to_json writes it: {error!r}.") from error
        return cls(tuple(DiscretizedColumn(*parts) for parts in read))


def _read_cuts(name: str, cuts: Any) -> Floats:
    try:
        read = np.array(cuts, dtype=np.float64)
    except (TypeError, ValueError):
        read = np.empty(())
    if read.ndim != 1:
        raise InvalidArgument(f"The cuts of {name!r} are a list of increasing numbers, such as [18, 65], not {cuts!r}.")
    return read


def _refuse_bad_target(table: Table, method: str, target: str | None) -> None:
    if target is None:
        if method == "mdl":
            raise InvalidArgument("The method 'mdl' needs target=, the variable whose states the intervals tell apart.")
    elif target not in table.variables:
        raise UnknownVariable.named(target, table.variables, "the data, which should have it as target")
    elif table.variables[target].is_continuous:
        raise InvalidArgument(f"The target {target!r} is continuous; 'mdl' needs one with states.")


def _numbers(table: Table, name: str) -> Floats:
    """The numbers of a column, NaN where missing."""
    if name not in table.variables:
        raise UnknownVariable.named(name, table.variables, "the data")
    variable = table.variables[name]
    if variable.is_continuous:
        return table.column(name)
    try:
        states = np.array([*variable.states, np.nan], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{name!r} has the states {list(variable.states)[:3]}, which are no numbers to cut into intervals."
        ) from None
    return np.asarray(states[table.column(name)])


def _seen(table: Table, name: str) -> tuple[Floats, Floats, Positions]:
    """The different values of a column, how often each occurs, and, by row, the place of its value; -1 where none."""
    numbers = _numbers(table, name)
    weights = table.row_weights
    known = np.isfinite(numbers) & (weights > 0)
    if not known.any():
        raise InvalidArgument(f"The column {name!r} has no finite number, so that it can't be cut. Leave it out.")
    values, places = np.unique(numbers[known], return_inverse=True)
    rows = np.full(table.num_rows, -1)
    rows[known] = places
    return values, np.bincount(places, weights[known]).astype(np.float64), rows


def _fit_column(table: Table, name: str, find: Any) -> DiscretizedColumn:
    values, weights, _ = _seen(table, name)
    return DiscretizedColumn.at(name, find(values, weights), values, weights)


def _fit_by_class(table: Table, name: str, target: str) -> DiscretizedColumn:
    values, weights, rows = _seen(table, name)
    classes, num = table.column(target).astype(np.intp), table.variables[target].num_states
    known = (rows >= 0) & (classes >= 0)
    counted = None if table.weights is None else table.weights[known]
    together = np.bincount(rows[known] * num + classes[known], counted, len(values) * num).reshape(-1, num)
    return DiscretizedColumn.at(name, class_cuts(values, together.astype(np.float64)), values, weights)


def _fit_by_information(table: Table, wanted: Mapping[str, int], initial_bins: int) -> Discretizer:
    """Quantiles first, then mergers; the other discrete columns count as partners."""
    if wanted and len({*wanted, *table.discrete}) < 2:
        raise InvalidArgument(
            f"The method 'hartemink' keeps what columns tell about each other, but there is only "
            f"{next(iter(wanted))!r}. Name another column, or take the method 'quantile'."
        )
    many = {name: max(initial_bins, number) for name, number in wanted.items()}
    fine = [_fit_column(table, name, lambda v, w, n=number: quantile_cuts(v, w, n)) for name, number in many.items()]
    codes = {name: table.codes[place].astype(np.intp) for place, name in enumerate(table.discrete)}
    codes |= {column.name: column.encode(_numbers(table, column.name)) for column in fine}
    sizes = {name: table.variables[name].num_states for name in table.discrete}
    sizes |= {column.name: column.variable.num_states for column in fine}
    weights = table.row_weights
    firsts = merge_by_information(codes, sizes, wanted, weights)
    merged = []
    for column in fine:
        cuts = np.array(column.cuts)[[first - 1 for first in firsts[column.name][1:]]]
        merged.append(_fit_column(table, column.name, lambda v, w, kept=cuts: kept))
    return Discretizer(tuple(merged))


def _frame(table: Table) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = dict(zip(table.continuous, table.numbers, strict=True))
    for name, codes in zip(table.discrete, table.codes, strict=True):
        states = pd.Index(list(table.variables[name].states), dtype=object, tupleize_cols=False)
        columns[name] = pd.Categorical.from_codes(codes, categories=states, ordered=True)
    return pd.DataFrame({name: columns[name] for name in table.variables}, columns=list(table.variables))
