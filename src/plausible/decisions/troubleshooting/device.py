"""Devices: which parts can be repaired into which state, when the whole works, and what steps cost (with its file)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

import numpy as np

from plausible.base import Flags, FrozenMapping
from plausible.causal.functional.model import FunctionalModel
from plausible.decisions.troubleshooting.repair_order import check_cost
from plausible.errors import FormatError, InvalidArgument, MissingFile, UnknownState, UnknownVariable, suggestion
from plausible.variables import State

#: The row of the file that is no variable.
_SERVICE = "service call"
_COLUMNS = ("component", "observe", "repair", "ok")
_SEPARATORS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"\d*,\d+")


@dataclass(frozen=True, slots=True)
class Costs:
    """What each step costs.

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
            checked = {part: check_cost(cost, part) for part, cost in getattr(self, name).items()}
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

    >>> import tempfile
    >>> rows = ["component;observe;repair;ok", "fuse;2;1;whole", "wire;;9;whole", "radio;0.1;;", "service call;;30;"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "costs.csv"
    ...     _ = file.write_text("\\n".join(rows))
    ...     costs = read_costs(file)
    >>> dict(costs.repair), dict(costs.observe), costs.service, dict(costs.ok_states)
    ({'fuse': 1.0, 'wire': 9.0}, {'fuse': 2.0, 'radio': 0.1}, 30.0, {'fuse': 'whole', 'wire': 'whole'})
    """
    file = fspath(path)
    if not Path(path).exists():
        raise MissingFile.at(Path(path), (".csv", ".tsv", ".txt"))
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = list[_Row]()
        try:
            names = next((line for line in stream if line.strip()), "")
            stream.seek(0)
            separator = max(_SEPARATORS, key=names.count)
            reader = csv.reader(stream, delimiter=separator, strict=True, skipinitialspace=True)
            rows.extend(_Row(file, reader.line_num, [cell.strip() for cell in row]) for row in reader)
        except (csv.Error, UnicodeDecodeError) as error:
            line = rows[-1].line + 1 if rows else 1
            raise FormatError(f"This can't be read as CSV: {error}.", file=file, line=line) from error
    rows = [row for row in rows if any(row.cells)]
    if not rows:
        raise FormatError(f"The first line must name the columns {', '.join(_COLUMNS)}.", file=file, line=1)
    return _costs(rows[0], rows[1:])


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
        for column, known in costs.items():
            if cells[column]:
                known[name] = row.number(column, cells[column], name)
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


@dataclass(frozen=True, slots=True)
class Device:
    """A model of a device: which parts can be repaired, into which state, and when the whole works."""

    model: FunctionalModel  # what causes what, as functions of noise that repairs leave alone
    ok_states: Mapping[str, State]  # component -> the state that its repair puts it into; in any other it is faulty
    goal: str  # the variable that says whether the device works, and the state in which it does
    working: State
    tests: tuple[str, ...]  # variables that can be looked at besides

    @property
    def broken(self) -> tuple[State, ...]:
        return tuple(state for state in self.model.variables[self.goal].states if state != self.working)

    def is_ok(self, name: str) -> Flags:
        """Which states of a component are no fault."""
        return np.array([state == self.ok_states[name] for state in self.model.variables[name].states])


def read_device(
    model: FunctionalModel,
    components: Mapping[str, State] | Iterable[str] | None,
    works: Mapping[str, State],
    costs: Costs,
) -> Device:
    if not isinstance(works, Mapping) or len(works) != 1:
        raise InvalidArgument(f"works= is one variable and its state, such as {{'light': 'on'}}; not {works!r}.")
    ((goal, working),) = works.items()
    listed = _read_components(components, costs)
    for name in (goal, *listed, *costs.tests):
        if name not in model.variables:
            raise UnknownVariable(costs.placed(name, UnknownVariable.named(name, model.variables, "this model")))
    _check_components(listed, goal, costs)
    ok_states = {name: _stated(model, name, state, costs) for name, state in listed.items()}
    return Device(model, ok_states, goal, _stated(model, goal, working, costs), costs.tests)


def _read_components(components: Mapping[str, State] | Iterable[str] | None, costs: Costs) -> dict[str, State]:
    """Component -> its ok state; that of the costs for those that are only named."""
    if components is None or isinstance(components, Mapping):
        return dict(costs.ok_states if components is None else components)
    names = [components] if isinstance(components, str) else list(components)
    for name in names:
        if name not in costs.ok_states:
            raise InvalidArgument(
                f"components= is {{name: ok state}}, such as {{{name!r}: 'ok'}}; a list of names will do where the "
                f"costs say the states (Costs(ok_states=...)), and they say none for {name!r}."
            )
    return {name: costs.ok_states[name] for name in names}


def _stated(model: FunctionalModel, name: str, state: State, costs: Costs) -> State:
    """The state as the variable has it, which may equal the one given and be of another type."""
    variable = model.variables[name]
    try:
        return variable.states[variable.index(state)]
    except UnknownState as error:
        raise UnknownState(costs.placed(name, error)) from None


def _check_components(components: Mapping[str, State], goal: str, costs: Costs) -> None:
    """That each has a repair cost and a state in which it is no fault, and that none is the goal."""

    def refusal(name: str, problem: str) -> InvalidArgument:
        return InvalidArgument(costs.placed(name, problem))

    if not components and not costs.repair:
        raise InvalidArgument(
            "A troubleshooter needs a component to repair at least: give one its repair cost, and the state in which "
            "it is no fault."
        )
    for name in components:
        if name not in costs.repair:
            raise refusal(name, f"The component {name!r} has no repair cost.")
    for name in costs.repair:
        if name not in components:
            raise refusal(
                name,
                f"{name!r} has a repair cost, but no state in which it is no fault: give it in components=, or in the "
                f"column ok of a file.",
            )
    if goal in components or goal in costs.tests:
        raise refusal(goal, f"{goal!r} says whether the device works: it is neither a component nor a test.")
