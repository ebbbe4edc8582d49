"""What looking, testing, repairing and calling cost, and the file in which that stands."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType

from plausible.decisions.troubleshooting.repair_order import check_cost
from plausible.errors import FormatError, InvalidArgument, suggestion

__all__ = ["Costs", "read_costs"]

#: The row of the file that is no variable.
_SERVICE = "service call"
_COLUMNS = ("component", "observe", "repair", "ok")


@dataclass(frozen=True, slots=True)
class Costs:
    """What each step costs.

    Attributes
    ----------
    repair
        Component -> the cost of its repair or replacement.
    observe
        Component -> the cost of looking at it; one that is missing can't be seen, only replaced. Any other name is a
        test, which shows the state of that variable and changes nothing.
    service
        What it costs to call someone who surely mends it; `None` where there is nobody.
    ok_states
        Component -> the state in which it is no fault, as far as the file says.

    Examples
    --------
    >>> costs = Costs(repair={"fuse": 1, "wire": 9}, observe={"fuse": 2, "radio": 0.1}, service=30)
    >>> costs.tests
    ('radio',)
    """

    repair: Mapping[str, float]
    observe: Mapping[str, float] = field(default_factory=dict)
    service: float | None = None
    ok_states: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("repair", "observe"):
            given = getattr(self, name)
            checked = {part: check_cost(cost, part) for part, cost in given.items()}
            object.__setattr__(self, name, MappingProxyType(checked))
        if self.service is not None:
            object.__setattr__(self, "service", check_cost(self.service, _SERVICE))
        object.__setattr__(self, "ok_states", MappingProxyType(dict(self.ok_states)))

    @property
    def tests(self) -> tuple[str, ...]:
        """What can be seen and not repaired."""
        return tuple(name for name in self.observe if name not in self.repair)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: a read-only mapping can't be pickled."""
        return Costs, (dict(self.repair), dict(self.observe), self.service, dict(self.ok_states))

    def __hash__(self) -> int:
        return hash((frozenset(self.repair.items()), frozenset(self.observe.items()), self.service))


def read_costs(path: str | PathLike[str]) -> Costs:
    """The costs in a CSV file with the columns component, observe, repair and, if wanted, ok.

    A row with both costs is a component that can be seen; with a repair cost alone, one that can only be replaced;
    with an observation cost alone, a test. The row `service call` has its cost under repair. The column `ok` has the
    state in which a component is no fault.

    Parameters
    ----------
    path
        The file, in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> rows = ["component,observe,repair,ok", "fuse,2,1,whole", "wire,,9,whole", "radio,0.1,,", "service call,,30,"]
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
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True, skipinitialspace=True)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(f"This can't be read as CSV: {error}.", file=file, line=reader.line_num) from error
    return _costs([(line, row) for line, row in rows if any(row)], file)


def _costs(rows: list[tuple[int, list[str]]], file: str) -> Costs:
    if not rows:
        raise FormatError(f"The first line must name the columns {', '.join(_COLUMNS)}.", file=file, line=1)
    line, header = rows[0]
    _check_header(header, file, line)
    repair: dict[str, float] = {}
    observe: dict[str, float] = {}
    ok_states: dict[str, str] = {}
    for line, row in rows[1:]:
        if len(row) != len(header):
            problem = f"The row has {len(row)} cells, the first line names {len(header)} columns."
            raise FormatError(problem, file=file, line=line)
        cells = dict(zip(header, row, strict=True))
        name = cells["component"]
        if not name or name in repair or name in observe:
            problem = f"There are two rows for {name!r}." if name else "The row names no component."
            raise FormatError(problem, file=file, line=line)
        for column, costs in (("observe", observe), ("repair", repair)):
            if cells[column]:
                costs[name] = _number(cells[column], name, file, line)
        if name not in observe and name not in repair:
            raise FormatError(f"The row of {name!r} has no cost.", file=file, line=line)
        if cells.get("ok"):
            ok_states[name] = cells["ok"]
    if _SERVICE in observe:
        raise FormatError(f"The cost of the {_SERVICE} stands under repair, and nothing under observe.", file=file)
    service = repair.pop(_SERVICE, None)
    return Costs(repair, observe, service, ok_states)


def _check_header(header: Iterable[str], file: str, line: int) -> None:
    names = list(header)
    for wanted in _COLUMNS[:3]:
        if wanted not in names:
            problem = f"The first line names no column {wanted!r}.{suggestion(wanted, names)}"
            raise FormatError(problem, file=file, line=line)
    for name in names:
        if name not in _COLUMNS or names.count(name) > 1:
            problem = f"The columns are {', '.join(_COLUMNS)}, each once; {name!r} is one too many."
            raise FormatError(problem, file=file, line=line)


def _number(text: str, name: str, file: str, line: int) -> float:
    try:
        return check_cost(float(text), name)
    except (ValueError, InvalidArgument):
        problem = f"{text!r} is no cost of {name!r}: expected a number from zero on."
        raise FormatError(problem, file=file, line=line) from None
