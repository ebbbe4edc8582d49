"""What an estimate is about: the outcome as a number, rows, and whether all kinds of cases may be treated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import Argument, Call, Floats, Remedy, Result, format_number, record
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.graphs.nodes import Node
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable


def state_scores(variable: Variable, event: State | None = None) -> Floats:
    """A number for each state of a discrete outcome: the mean of the outcome is that of these numbers.

    One for the event and zero for all others; where no event is named, the states themselves if they are numbers or
    truth values, else one for the second of two states.
    """
    if variable.is_continuous:
        raise NotSupported(f"{variable.name!r} is continuous: it has no states, and no event= to ask about.")
    if event is not None:
        return np.asarray(np.arange(variable.num_states) == variable.index(event), dtype=np.float64)
    if all(isinstance(state, (bool, int, float)) for state in variable.states):
        return np.array(variable.states, dtype=np.float64)
    if variable.num_states == 2:
        return np.array([0.0, 1.0])
    raise InvalidArgument(
        f"The outcome {variable.name!r} has {variable.num_states} states that are no numbers.",
        remedies=[Remedy("name the one whose probability is asked for: ", Argument("event", variable.states[-1]))],
    )


def scored_state(variable: Variable, event: State | None = None) -> State | None:
    """The state whose probability the mean of these numbers is; `None` where the states are numbers themselves."""
    if event is not None or variable.is_continuous:
        return event
    is_number = all(isinstance(state, (bool, int, float)) for state in variable.states)
    return None if is_number else variable.states[-1]


def expected_outcome(
    network: BayesianNetwork, outcome: Variable, scores: Floats | None, do: Mapping[str, State]
) -> float:
    """E[Y | do(...)] in a network: of the scores of a discrete outcome, or of a continuous one itself."""
    if scores is None:
        return float(network.moments(outcome.name, do=do).mean[0])
    return float(network.query(outcome.name, do=do).values @ scores)


Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EffectTask:
    """What is to be estimated from what."""

    table: Table  # The data.
    outcome: Variable  # Y and X.
    treatment: Variable
    levels: tuple[State, State]  # x and x', to compare.
    scores: Floats | None  # What each state of a discrete outcome counts for.

    @property
    def level_codes(self) -> tuple[int, int]:
        """The positions of the levels among the states of a discrete treatment."""
        return self.treatment.index(self.levels[0]), self.treatment.index(self.levels[1])

    @property
    def level_numbers(self) -> Floats:
        """The levels as numbers: of a discrete treatment by their positions."""
        return np.array(self.levels if self.treatment.is_continuous else self.level_codes, dtype=np.float64)

    def named(self, columns: str | Iterable[str]) -> tuple[str, ...]:
        """One column of the data or several, each once; refuses what they don't have."""
        names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
        UnknownVariable.check_all(names, self.table.variables, "the data")
        return names

    def ordered(self, chosen: Collection[Node]) -> tuple[str, ...]:
        """Some columns in the order of the data."""
        return tuple(name for name in self.table.variables if name in chosen)

    def numbers(self, name: str) -> Floats:
        """A column as numbers: states of the outcome by their scores, other states by their positions."""
        column = self.table.column(name)
        if name == self.outcome.name and self.scores is not None:
            return np.asarray(self.scores[column])
        return np.asarray(column, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class EffectRows:
    """Different rows of the columns that matter; all arrays have an entry, or a line, for each."""

    outcome: Floats  # Y as a number.
    treatment: Floats  # X: the position of its state, or its number.
    # The covariates for regressions: ones, then an indicator for each state but the first, or the number itself less
    # its mean, in units of its standard deviation.
    design: Floats
    stratifiers: tuple[Variable, ...]  # The discrete covariates.
    numbers: Mapping[str, Floats]  # Continuous covariate -> its column.
    cell: Codes  # Which joint state of the discrete covariates it is.
    cell_states: Codes  # For each cell the positions of their states.
    weights: Floats  # How many cases it stands for.

    @property
    def num_cells(self) -> int:
        """How many joint states of the discrete covariates occur."""
        return len(self.cell_states)

    @property
    def is_discrete(self) -> bool:
        """Whether all covariates are discrete."""
        return not self.numbers

    def stratum(self, cell: int) -> dict[str, State]:
        """Discrete covariate -> its state in a cell."""
        codes = self.cell_states[cell].tolist()
        return {v.name: v.states[code] for v, code in zip(self.stratifiers, codes, strict=True)}


def read_levels(treatment: Variable, levels: tuple[State, State] | None) -> tuple[State, State]:
    """The two values of a treatment to compare."""
    if levels is not None:
        if isinstance(levels, str) or len(levels) != 2:
            raise InvalidArgument(f"levels= are two values of {treatment.name!r} to compare, not {levels!r}.")
        if not treatment.is_continuous:
            for level in levels:
                treatment.index(level)
        if levels[0] == levels[1]:
            raise InvalidArgument(
                *(Argument("levels"), f" names {levels[0]!r} twice; give two values of {treatment.name!r} to compare.")
            )
        return levels[0], levels[1]
    if treatment.is_continuous:
        return 0, 1
    if treatment.num_states == 1:
        raise InvalidArgument(
            f"The treatment {treatment.name!r} is {treatment.states[0]!r} everywhere: there is nothing to compare it "
            "with. Give rows in which it varies."
        )
    if treatment.num_states != 2:
        ends = Argument("levels", (treatment.states[0], treatment.states[-1]))
        raise InvalidArgument(
            f"The treatment {treatment.name!r} has {treatment.num_states} states.",
            remedies=[Remedy("name the two to compare, as with ", ends)],
        )
    return treatment.states[0], treatment.states[1]


def refuse_unusable(table: Table, names: Iterable[str]) -> None:
    """Refuse columns with missing cells, and a table without rows."""
    for name in names:
        if name in table.missing:
            raise InvalidArgument(
                f"{name!r} is missing in {table.missing[name]} of {table.num_rows} rows.",
                remedies=[
                    Remedy("leave these rows out"),
                    Remedy("impute them (", Call("learn.impute"), ")"),
                    Remedy("estimate with ", Argument("method", Call("PlugIn")), ", which completes them"),
                ],
            )
    if not table.total > 0:
        raise InvalidArgument("There are no rows to estimate from.")


def effect_rows(task: EffectTask, covariates: Sequence[str]) -> EffectRows:
    """The rows of a task with some covariates, which must be complete."""
    table = task.table
    names = [task.outcome.name, task.treatment.name, *covariates]
    refuse_unusable(table, names)
    columns = np.stack([task.numbers(name) for name in names])
    weights = table.row_weights
    if table.num_rows and not any(table.variables[name].is_continuous for name in names):
        columns, place = np.unique(columns, axis=1, return_inverse=True)
        weights = totals(place.reshape(-1), weights, columns.shape[1])
    columns, weights = columns[:, weights > 0], weights[weights > 0]
    variables = [table.variables[name] for name in covariates]
    places = [place for place, variable in enumerate(variables) if not variable.is_continuous]
    numbers = {v.name: column for v, column in zip(variables, columns[2:], strict=True) if v.is_continuous}
    # The joint states of the discrete covariates that occur, and which of them each row has.
    discrete = columns[2:][places].astype(np.int64)
    cell, states = np.zeros(columns.shape[1], dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    if places:
        occurring, of_row = np.unique(discrete, axis=1, return_inverse=True)
        cell, states = of_row.reshape(-1), np.ascontiguousarray(occurring.T)
    return EffectRows(
        outcome=columns[0],
        treatment=columns[1],
        design=design_of(columns[2:], variables, weights),
        stratifiers=tuple(variables[place] for place in places),
        numbers=MappingProxyType(numbers),
        cell=cell,
        cell_states=states,
        weights=weights,
    )


def totals(place: Codes, values: Floats, size: int) -> Floats:
    """The sum of the values at each place."""
    return np.asarray(np.bincount(place, weights=values, minlength=size), dtype=np.float64)


def design_of(columns: Floats, variables: Sequence[Variable], weights: Floats) -> Floats:
    """Columns for a regression on covariates: ones, indicators of states, numbers on their scale."""
    blocks = [np.ones((1, columns.shape[1]))]
    for variable, column in zip(variables, columns, strict=True):
        if variable.is_continuous:
            centred = column - np.average(column, weights=weights)
            scale = float(np.sqrt(np.average(centred**2, weights=weights)))
            blocks.append(centred[None] / (scale or 1.0))
        else:
            blocks.append((column == np.arange(1, variable.num_states)[:, None]).astype(np.float64))
    design = np.concatenate(blocks)
    if len(design) > 2000:
        raise TooLarge(f"The covariates need {len(design)} columns in a regression; 2000 will do. Adjust for fewer.")
    return np.ascontiguousarray(design.T)


#: Fewer cases than these are few.
FEW_CASES = 5.0
#: A chance that is smaller than this part of the level's share of all cases is all but none.
_HARDLY = 0.02
#: A smaller share of cases with a chance of both levels is all but none.
_FEW_COMPARABLE = 0.05
#: Into so many parts, of equally many cases, the range of a continuous covariate is cut.
_NUM_PARTS = 10


@record
class ThinCell(Result):
    """A stratum in which a level of the treatment hardly occurs."""

    level: State | None  # The level; `None` where the stratum itself hardly occurs, with whatever treatment
    covariates: Mapping[str, State]  # Covariate -> its state
    num_cases: float  # How many cases have both
    #: The share of all cases that are in the stratum, with whatever treatment; for `PlugIn`, its probability once the
    #: treatment is set.
    share: float

    def __str__(self) -> str:
        place = ", ".join(f"{name}={state}" for name, state in self.covariates.items()) or "all"
        if self.level is None:
            return f"cases where {place}"
        return f"cases of {self.level} where {place} ({self.share:.2%} of all cases)"


@record
class PositivityReport(Result):
    """Whether the levels of a treatment occur in all strata of the covariates."""

    #: Strata of the discrete covariates in which a level never occurs, and tenths of the range of a continuous one in
    #: which five cases of it or more were to be expected: there the data do not tell what it does.
    empty: tuple[ThinCell, ...]
    sparse: tuple[ThinCell, ...]  # Strata with some cases of a level, but fewer than asked for
    #: Level -> the least and the greatest estimated P(level | covariates); for methods that adjust.
    propensity: Mapping[State, tuple[float, float]]
    #: Level -> how many cases of equal weight are worth as much as its weighted ones: (Σ 1/e)² / Σ 1/e²; likewise.
    effective: Mapping[State, float]
    #: Level -> the share of all cases whose estimated P(level | covariates) is less than a fiftieth of P(level), where
    #: there are some; likewise.
    unlikely: Mapping[State, float]
    comparable: float = 1.0  # The share of all cases for which neither level is that unlikely

    @classmethod
    def of(cls, cells: Iterable[ThinCell]) -> PositivityReport:
        """The report on these cells alone."""
        thin = tuple(cells)
        empty, sparse = (tuple(cell for cell in thin if (cell.num_cases > 0) is some) for some in (False, True))
        nothing: Mapping[State, Any] = MappingProxyType({})
        return cls(empty, sparse, nothing, nothing, nothing)

    @property
    def is_satisfied(self) -> bool:
        """Whether no stratum lacks a level, and no case is all but sure not to have it."""
        return not self.empty and not self.unlikely

    @property
    def has_overlap(self) -> bool:
        """Whether some cases, one in twenty at least, had a chance of both levels."""
        return self.comparable >= _FEW_COMPARABLE

    def __str__(self) -> str:
        lines = []
        for level, (low, high) in self.propensity.items():
            worth = format_number(round(self.effective[level], 1))
            share = f", all but 0 for {self.unlikely[level]:.2%} of all cases" if level in self.unlikely else ""
            lines.append(f"P({level} | covariates) is {low:.3g} to {high:.3g}{share}; {worth} effective cases")
        for word, cells in (("no", self.empty), ("few", self.sparse)):
            lines += [f"{word} {cell}" for cell in cells[:5]]
            if len(cells) > 5:
                lines.append(f"... and {len(cells) - 5} more strata with {word} cases")
        return "\n".join(lines)


def positivity_report(task: EffectTask, rows: EffectRows, propensities: Sequence[Floats]) -> PositivityReport:
    """The report on rows with estimated propensities."""
    thin: list[ThinCell] = []
    propensity, effective, unlikely = {}, {}, {}
    comparable, total = np.ones(len(rows.weights), dtype=bool), rows.weights.sum()
    for level, code, chance in zip(task.levels, task.level_codes, propensities, strict=True):
        thin += [*thin_cells(task, rows, code), *_empty_ranges(task, rows, code)]
        propensity[level] = (float(chance.min()), float(chance.max()))
        treated = (rows.treatment == code) & (chance > 0)
        inverse, weights = 1.0 / chance[treated], rows.weights[treated]
        squares = float(weights @ inverse**2)
        effective[level] = float(weights @ inverse) ** 2 / squares if squares else 0.0
        is_unlikely = chance < _HARDLY * float(rows.weights @ (rows.treatment == code)) / total
        comparable &= ~is_unlikely
        if is_unlikely.any():
            unlikely[level] = float(rows.weights @ is_unlikely / total)
    return replace(
        PositivityReport.of(thin),
        propensity=MappingProxyType(propensity),
        effective=MappingProxyType(effective),
        unlikely=MappingProxyType(unlikely),
        comparable=float(rows.weights @ comparable / total),
    )


def thin_cells(task: EffectTask, rows: EffectRows, code: int) -> list[ThinCell]:
    """The strata of the discrete covariates with few cases of the treatment's state at a position, or none."""
    here = totals(rows.cell, rows.weights * (rows.treatment == code), rows.num_cells)
    shares = totals(rows.cell, rows.weights, rows.num_cells) / rows.weights.sum()
    level, few = task.treatment.states[code], np.flatnonzero(here < FEW_CASES).tolist()
    strata = [MappingProxyType(rows.stratum(cell)) for cell in few]
    return [ThinCell(level, s, float(here[c]), float(shares[c])) for c, s in zip(few, strata, strict=True)]


def _empty_ranges(task: EffectTask, rows: EffectRows, code: int) -> Iterator[ThinCell]:
    """Tenths of the range of each continuous covariate without cases of the treatment's state, though some were due."""
    treated, total = rows.weights * (rows.treatment == code), rows.weights.sum()
    for name, column in rows.numbers.items():
        edges = np.unique(np.quantile(column, np.linspace(0.0, 1.0, _NUM_PARTS + 1)))
        part = np.searchsorted(edges[1:-1], column, side="right")
        here, shares = totals(part, treated, len(edges)), totals(part, rows.weights, len(edges)) / total
        for place in np.flatnonzero((here == 0) & (shares * treated.sum() >= FEW_CASES)).tolist():
            ends = f"{format_number(float(edges[place]))} to {format_number(float(edges[place + 1]))}"
            yield ThinCell(task.treatment.states[code], MappingProxyType({name: ends}), 0.0, float(shares[place]))
