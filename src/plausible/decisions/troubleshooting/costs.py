"""What looking, testing, repairing and calling cost, and the file in which that stands."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple, TextIO

from plausible.base.frozen import FrozenMapping
from plausible.decisions.troubleshooting.repair_order import check_cost
from plausible.errors import FormatError, InvalidArgument, MissingFile, suggestion

#: The row of the file that is no variable.
_SERVICE = "service call"
_COLUMNS = ("component", "observe", "repair", "ok")
_SEPARATORS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"\d*,\d+")


@dataclass(frozen=True, slots=True)
class Costs:
    """What each step costs.

    Examples
    --------
    >>> costs = Costs(repair={"fuse": 1, "wire": 9}, observe={"fuse": 2, "radio": 0.1}, service=30)
    >>> costs.tests
    ('radio',)
    """

    repair: Mapping[str, float]  # Component -> the cost of its repair or replacement
    #: Component -> the cost of looking at it; one that is missing can't be seen, only replaced. Any other name is a
    #: test, which shows the state of that variable and changes nothing.
    observe: Mapping[str, float] = field(default_factory=dict)
    service: float | None = None  # What it costs to call someone who surely mends it; `None` where there is nobody
    #: Component -> the state in which it is no fault, as far as the file says.
    ok_states: Mapping[str, str] = field(default_factory=dict)
    #: Component or test -> where it stands in the file; messages about it begin so.
    places: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("repair", "observe"):
            given = getattr(self, name)
            checked = {part: check_cost(cost, part) for part, cost in given.items()}
            object.__setattr__(self, name, FrozenMapping(checked))
        if self.service is not None:
            object.__setattr__(self, "service", check_cost(self.service, _SERVICE))
        object.__setattr__(self, "ok_states", FrozenMapping(self.ok_states))
        object.__setattr__(self, "places", FrozenMapping(self.places))

    @property
    def tests(self) -> tuple[str, ...]:
        """What can be seen and not repaired."""
        return tuple(name for name in self.observe if name not in self.repair)

    def placed(self, name: str, problem: object) -> str:
        """A message about a component or test, after the place where that stands, if there is one.

        >>> Costs({"fuse": 1}, places={"fuse": "costs.csv:2"}).placed("fuse", "There is no fuse.")
        'costs.csv:2: There is no fuse.'
        """
        return f"{self.places[name]}: {problem}" if name in self.places else str(problem)


def read_costs(path: str | PathLike[str]) -> Costs:
    """The costs in a CSV file with the columns component, observe, repair and, if wanted, ok.

    A row with both costs is a component that can be seen; with a repair cost alone, one that can only be replaced;
    with an observation cost alone, a test. The row `service call` has its cost under repair; without that row there is
    nobody to call, and a device that no repair mends stays broken. The column `ok` has the state in which a component
    is no fault. Cells are separated by commas, semicolons or tabs; decimals have a point. Capitals in the names of
    columns and in `service call` don't count, nor do empty cells at the end of a line.

    Parameters
    ----------
    path
        The file, in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> rows = ["component;observe;repair;ok", "fuse;2;1;whole", "wire;;9;whole", "radio;0.1;;", "service call;;30;"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "costs.csv"
    ...     _ = file.write_text("\\n".join(rows))
    ...     costs = read_costs(file)
    >>> dict(costs.repair), dict(costs.observe), costs.service
    ({'fuse': 1.0, 'wire': 9.0}, {'fuse': 2.0, 'radio': 0.1}, 30.0)
    >>> dict(costs.ok_states)
    {'fuse': 'whole', 'wire': 'whole'}
    """
    file = fspath(path)
    if not Path(path).exists():
        raise MissingFile.at(Path(path), (".csv", ".tsv", ".txt"))
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = list[_Row]()
        try:
            reader = csv.reader(stream, delimiter=_separator(stream), strict=True, skipinitialspace=True)
            rows.extend(_Row(file, reader.line_num, [cell.strip() for cell in row]) for row in reader)
        except (csv.Error, UnicodeDecodeError) as error:
            line = rows[-1].line + 1 if rows else 1
            raise FormatError(f"This can't be read as CSV: {error}.", file=file, line=line) from error
    rows = [row for row in rows if any(row.cells)]
    if not rows:
        raise FormatError(f"The first line must name the columns {', '.join(_COLUMNS)}.", file=file, line=1)
    return _costs(rows[0], rows[1:])


def _separator(stream: TextIO) -> str:
    """The sign that stands most often in the first line with anything in it, which names the columns."""
    first = next((line for line in stream if line.strip()), "")
    stream.seek(0)
    return max(_SEPARATORS, key=first.count)


class _Row(NamedTuple):
    """The cells of a row, and where it stands."""

    file: str
    line: int
    cells: list[str]

    def error(self, problem: str) -> FormatError:
        return FormatError(problem, file=self.file, line=self.line)

    def number(self, column: str, text: str, name: str) -> float:
        try:
            return check_cost(float(text), name)
        except (ValueError, InvalidArgument):
            fix = f" Write decimals with a point: {text.replace(',', '.')}." if _DECIMAL_COMMA.fullmatch(text) else ""
            problem = f"{text!r} in the column {column} is no cost of {name!r}: expected a number from zero on.{fix}"
            raise self.error(problem) from None


def _costs(header: _Row, rows: Iterable[_Row]) -> Costs:
    columns = _columns(header)
    costs: dict[str, dict[str, float]] = {"observe": {}, "repair": {}}
    ok_states: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in rows:
        cells = _named_cells(row, columns)
        name = _SERVICE if _folded(cells["component"]) == _SERVICE else cells["component"]
        if not name or name in places:
            raise row.error(f"There are two rows for {name!r}." if name else "The row names no component.")
        places[name] = f"{row.file}:{row.line}"
        if not cells["observe"] and not cells["repair"]:
            raise row.error(f"The row of {name!r} has no cost, neither in the column observe nor in repair.")
        if name == _SERVICE and cells["observe"]:
            raise row.error(f"The cost of the {_SERVICE} stands in the column repair, and nothing in observe.")
        for column, found in costs.items():
            if cells[column]:
                found[name] = row.number(column, cells[column], name)
        if cells.get("ok"):
            ok_states[name] = cells["ok"]
    service = costs["repair"].pop(_SERVICE, None)
    if not costs["repair"]:
        raise header.error(
            f"No component can be repaired: write a row with its repair cost for each, below {', '.join(columns)}."
        )
    return Costs(costs["repair"], costs["observe"], service, ok_states, places)


def _folded(text: str) -> str:
    """A text without its capitals, and with single blanks."""
    return " ".join(text.casefold().split())


def _without_empty_end(cells: list[str], least: int = 0) -> list[str]:
    """The cells up to the last with anything in it, and `least` at least: spreadsheets end lines with separators."""
    size = len(cells)
    while size > least and not cells[size - 1]:
        size -= 1
    return cells[:size]


def _named_cells(row: _Row, columns: list[str]) -> dict[str, str]:
    cells = _without_empty_end(row.cells, len(columns))
    if len(cells) != len(columns):
        problem = f"The row has {len(cells)} cells, the first line names {len(columns)} columns."
        if len(cells) > len(columns):
            problem += " If a comma in it is a decimal one, write a point."
        raise row.error(problem)
    return dict(zip(columns, cells, strict=True))


def _columns(header: _Row) -> list[str]:
    names = [_folded(cell) for cell in _without_empty_end(header.cells)]
    for wanted in _COLUMNS[:3]:
        if wanted not in names:
            raise header.error(f"The first line names no column {wanted!r}.{suggestion(wanted, names)}")
    for name in names:
        if name not in _COLUMNS or names.count(name) > 1:
            raise header.error(f"The columns are {', '.join(_COLUMNS)}, each once; {name!r} is one too many.")
    return names
