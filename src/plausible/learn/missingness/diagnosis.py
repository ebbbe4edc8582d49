"""What is missing in a table: per variable, per pattern, per pair; and as indicators of data and networks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base import SMALLEST, Floats, Result, chart_by, record
from plausible.cpds import CPD
from plausible.data.table import Table, TableLike, state_columns
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.inference.gaussian.rows import same_rows
from plausible.learn.missingness.cells import Mask, missing_cells, with_columns
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart


Status: TypeAlias = Literal["observed", "partly", "hidden"]


class VariableReport(NamedTuple):
    """How much of a variable is missing: in no row ("observed"), some ("partly"), or all ("hidden")."""

    status: Status
    num_observed: int
    num_missing: int


class Pattern(NamedTuple):
    """Rows in which exactly these variables are missing."""

    missing: tuple[str, ...]
    num_rows: int


@record
class MissingnessReport(Result):
    """What is missing in a table."""

    num_rows: int  # How many rows there are
    variables: Mapping[str, VariableReport]  # Name -> how much of it is missing
    patterns: tuple[Pattern, ...]  # The sets of variables that are missing together, the most frequent first
    #: Pairs of which no row has both, though each is observed in some: nothing but a model tells how they depend.
    never_together: tuple[tuple[str, str], ...]

    @property
    def num_complete(self) -> int:
        """How many rows lack nothing."""
        return sum(pattern.num_rows for pattern in self.patterns if not pattern.missing)

    @property
    def num_missing(self) -> int:
        """How many cells are missing."""
        return sum(report.num_missing for report in self.variables.values())

    def to_frame(self) -> pd.DataFrame:
        """A row for each pattern: whether each variable is missing, and the number of rows in `num_rows`."""
        import pandas as pd

        flags = [[name in set(pattern.missing) for name in self.variables] for pattern in self.patterns]
        frame = pd.DataFrame(flags, columns=list(self.variables), dtype=bool)
        return frame.assign(num_rows=[pattern.num_rows for pattern in self.patterns])

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw which cells are missing together; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_missing", self, ax)

    def __str__(self) -> str:
        lines = [f"{self.num_complete} of {self.num_rows} rows are complete, {self.num_missing} cells are missing"]
        for name, report in self.variables.items():
            if report.num_missing:
                lines.append(f"  {name}: {report.status}, missing in {counted(report.num_missing, 'row')}")
        lines += [f"  {a} and {b} are never observed together" for a, b in self.never_together]
        for missing, num_rows in self.patterns[:5]:
            lacks = "lacks" if num_rows == 1 else "lack"
            lines.append(f"  {counted(num_rows, 'row')} {lacks} {', '.join(missing) or 'nothing'}")
        return "\n".join(lines)


def diagnose_missing(data: TableLike) -> MissingnessReport:
    """Count what is missing in a table; rows are counted as they stand, whatever they weigh.

    >>> print(diagnose_missing({"x": ["a", None, None], "y": [None, "b", "c"], "z": [1, 2, 3]}))
    0 of 3 rows are complete, 3 cells are missing
      x: partly, missing in 2 rows
      y: partly, missing in 1 row
      x and y are never observed together
      2 rows lack x
      1 row lacks y
    """
    masks = missing_cells(data)
    if any(not isinstance(name, str) for name in masks):
        raise InvalidArgument("Columns need names that are text: frame.rename(columns=str).")
    names = list(masks)
    num_rows = len(next(iter(masks.values()), ()))
    missing = np.array(list(masks.values()), dtype=np.bool_).reshape(len(names), num_rows)
    reports = {}
    for name, count in zip(names, missing.sum(axis=1).tolist(), strict=True):
        status: Status = "observed" if not count else "hidden" if count == num_rows else "partly"
        reports[name] = VariableReport(status, num_rows - count, count)
    first, places = same_rows(np.ascontiguousarray(missing.T))
    counts = np.bincount(places, minlength=len(first)).tolist()
    patterns = [
        Pattern(tuple(names[i] for i in np.flatnonzero(missing[:, row])), count)
        for row, count in zip(first.tolist(), counts, strict=True)
    ]
    patterns.sort(key=lambda pattern: (-pattern.num_rows, len(pattern.missing), pattern.missing))
    partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1)).tolist()
    observed = (~missing[partly]).astype(np.float32)
    together = observed @ observed.T
    pairs = [(i, j) for i, j in combinations(range(len(partly)), 2) if together[i, j] == 0]
    apart = tuple((names[partly[i]], names[partly[j]]) for i, j in pairs)
    return MissingnessReport(num_rows, MappingProxyType(reports), tuple(patterns), apart)


@record
class ProportionBounds(Result):
    """Between which values the maximum likelihood estimate of a proportion lies, for all completions of the data."""

    #: Its least and its largest value, both of which occur; NaN where no row can be a case.
    lower: float
    upper: float
    #: Its value from the rows with all cells that it needs: right where missing cells are so completely at random.
    if_ignorable: float
    missing: float  # The share of rows that a missing cell leaves open

    def __str__(self) -> str:
        return (
            f"between {self.lower:.4g} and {self.upper:.4g}, whatever hides the cells; {self.if_ignorable:.4g} by the "
            f"complete cases ({self.missing:.1%} of the rows are open)"
        )


def proportion_bounds(
    data: TableLike,
    variable: str,
    state: State,
    *,
    given: Mapping[str, State] | None = None,
    variables: Mapping[str, Variable] | None = None,
) -> ProportionBounds:
    """The interval of the estimate of P(variable = state | given), if missing cells may hold anything.

    With a rows that certainly are cases of both, b of the condition alone, and the open ones a' that may be cases of
    both and b' that may be cases of the condition alone: [a / (a + b + b'), (a + a') / (a + a' + b)]. See Koller &
    Friedman (2009), section 19.1.1 and exercise 19.1; Manski (2003), Partial identification of probability
    distributions.

    Only rows with the states that are `given` count, whose cells may be missing, too; `variables` are as for
    `Table.read`.

    >>> bounds = proportion_bounds({"coin": ["heads", "heads", "tails", None]}, "coin", "heads")
    >>> bounds.lower, bounds.upper, round(bounds.if_ignorable, 3)
    (0.5, 0.75, 0.667)
    """
    table = Table.read(data, variables)
    conditions = dict(given or {})
    if variable in conditions:
        raise InvalidArgument(f"{variable!r} can't be asked about and be given.")
    certain, possible = np.ones(table.num_rows, dtype=np.bool_), np.ones(table.num_rows, dtype=np.bool_)
    for name, value in conditions.items():
        holds, is_open = _cells(table, name, value)
        certain, possible = certain & holds, possible & (holds | is_open)
    yes, unknown = _cells(table, variable, state)
    no = ~yes & ~unknown
    weights = table.row_weights

    def weigh(rows: Mask) -> float:
        return float(weights[rows].sum())

    sure_yes, sure_no = weigh(certain & yes), weigh(certain & no)
    able_yes, able_no = weigh(possible & (yes | unknown)), weigh(possible & (no | unknown))
    return ProportionBounds(
        lower=_ratio(sure_yes, able_no, 1.0 if able_yes else math.nan),
        upper=_ratio(able_yes, sure_no, 0.0 if able_no else math.nan),
        if_ignorable=_ratio(sure_yes, sure_no, math.nan),
        missing=weigh(possible & ~(certain & ~unknown)) / max(float(weights.sum()), SMALLEST),
    )


def _cells(table: Table, name: str, state: State) -> tuple[Mask, Mask]:
    """In which rows a variable has a state, and in which it is missing."""
    UnknownVariable.check(name, table.variables, "the data")
    if table.variables[name].is_continuous:
        raise InvalidArgument(f"{name!r} is a number: cut it into intervals first, by Discretizer.")
    codes = table.codes[table.discrete.index(name)]
    return codes == table.variables[name].index(state), codes < 0


def _ratio(yes: float, no: float, without_rows: float) -> float:
    """yes / (yes + no), or what holds where both are zero."""
    return yes / (yes + no) if yes + no > 0 else without_rows


#: How the name of an indicator begins.
INDICATOR = "R_"


def indicators(data: TableLike, names: Iterable[str] | None = None) -> Any:
    """The data with a column R_x for each variable: 1 where x is observed, 0 where it is missing.

    By default for all variables with a missing cell; the same kind of table comes back.

    >>> indicators({"x": ["a", None], "y": [1, 2]})
    {'x': ['a', None], 'y': [1, 2], 'R_x': [1, 0]}
    """
    missing = missing_cells(data)
    wanted = [name for name, mask in missing.items() if mask.any()] if names is None else list(names)
    for name in wanted:
        UnknownVariable.check(name, missing, "the data")
        if INDICATOR + name in missing:
            raise InvalidArgument(f"The data has a column {INDICATOR + name!r} already: rename it, or leave it out.")
    return with_columns(data, {INDICATOR + name: (~missing[name]).astype(np.int64) for name in wanted}, (0, 1))


def observation_network(network: BayesianNetwork, observations: Iterable[CPD]) -> BayesianNetwork:
    """The network with variables that say what is observed: P(x, r) = P(x) Π P(r_i | parents of R_i).

    A mechanism is at random where R_x has only parents that are always observed; then it makes no difference for what
    is learned about the others (Koller & Friedman 2009, section 19.1.2 and exercise 19.2).

    The observations are CPDs of variables R_x, with the states 0 (missing) and 1; their parents are variables of the
    network and other indicators.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))
    >>> dropped = TableCPD("R_coin", {"heads": [0.1, 0.9], "tails": [0.6, 0.4]}, parents=["coin"])
    >>> observation_network(coin, [dropped]).query("coin", evidence={"R_coin": 0}).values.round(3)
    array([0.143, 0.857])
    """
    added = list(observations)
    for cpd in added:
        name = cpd.variable.name
        about = name.removeprefix(INDICATOR)
        if not name.startswith(INDICATOR) or about not in network.variables:
            raise InvalidArgument(
                f"{name!r} is no indicator of a variable of this network: its name is {INDICATOR!r} and then a "
                f"variable's, such as {INDICATOR + next(iter(network.variables), 'x')!r}."
            )
        if cpd.variable.states != (0, 1):
            raise InvalidArgument(
                f"The indicator {name!r} has the states {list(cpd.variable.states)}; it needs 0 (missing) and 1."
            )
    return BayesianNetwork([*network.cpds.values(), *added])


def observation_log_likelihood(network: BayesianNetwork, data: TableLike) -> Floats:
    """log P(what is observed, and that it is observed) of each row: log Σ over missing cells of P(x, r).

    The network has indicators, see `observation_network`; the data are of the variables themselves.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))
    >>> dropped = TableCPD("R_coin", {"heads": [0.1, 0.9], "tails": [0.6, 0.4]}, parents=["coin"])
    >>> rows = {"coin": ["heads", None]}
    >>> np.exp(observation_log_likelihood(observation_network(coin, [dropped]), rows))
    array([0.45, 0.35])
    """
    about = [name.removeprefix(INDICATOR) for name in network.variables if name.startswith(INDICATOR)]
    known = {n: v for n, v in network.variables.items() if not (n.startswith(INDICATOR) and n[2:] in about)}
    table = Table.read(data, known)
    return network.compile().log_likelihood(state_columns(indicators(table, about)))
