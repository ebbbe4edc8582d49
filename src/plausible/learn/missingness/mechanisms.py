"""How cells come to be missing: mechanisms that hide cells of complete data, and the account of what they hid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Seed, generator_of
from plausible.data.table import Table, TableLike, state_columns
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.learn.missingness.cells import Mask, hide_cells, table_cells
from plausible.variables import State, Variable

#: Missing completely at random, at random, or not at random (Rubin 1976).
MissingnessKind: TypeAlias = Literal["MCAR", "MAR", "MNAR"]
#: How probable it is that a cell is hidden: by state (or tuple of states), or a function of the columns looked at.
HidingProbability: TypeAlias = "Mapping[Any, float] | Callable[..., NDArray[Any]]"

#: Sets what is hidden apart from all else that is drawn with the same seed.
_STREAM = (0x68696465,)


class Mechanism(ABC):
    """Says how probable it is that a cell is hidden, given the complete row; cells are hidden independently."""

    __slots__ = ()

    @abstractmethod
    def probabilities(self, table: Table) -> dict[str, Floats]:
        """Name -> for each row the probability that its cell is hidden; variables that are left alone are not in it."""

    @property
    @abstractmethod
    def looks_at(self) -> tuple[str, ...]:
        """The variables whose values the probabilities depend on: whether cells are missing at random hangs on them."""


@final
@dataclass(frozen=True, slots=True)
class CompletelyAtRandom(Mechanism):
    """Each cell is hidden with the same probability, whatever the row holds: MCAR.

    >>> hide({"x": [1, 2, 3, 4], "y": [5, 6, 7, 8]}, CompletelyAtRandom({"x": 0.5}), seed=1).data
    {'x': [None, 2, 3, None], 'y': [5, 6, 7, 8]}
    """

    fraction: float | Mapping[str, float]  # The probability for all variables, or name -> probability

    looks_at = ()

    def probabilities(self, table: Table) -> dict[str, Floats]:
        by_name = self.fraction if isinstance(self.fraction, Mapping) else dict.fromkeys(table.variables, self.fraction)
        for name, fraction in by_name.items():
            if not 0 <= fraction <= 1:
                raise InvalidArgument(f"The fraction of {name!r} to hide is between 0 and 1, not {fraction!r}.")
        return {name: np.full(table.num_rows, float(fraction)) for name, fraction in by_name.items()}


@final
@dataclass(frozen=True, slots=True)
class WholeVariables(Mechanism):
    """Some variables are never observed: hidden variables."""

    names: Sequence[str]  # Their names

    looks_at = ()

    def probabilities(self, table: Table) -> dict[str, Floats]:
        listed = [self.names] if isinstance(self.names, str) else self.names
        return {name: np.ones(table.num_rows) for name in listed}


@final
@dataclass(frozen=True, slots=True)
class AtRandom(Mechanism):
    """A variable is hidden with a probability that depends on others, which stay observed: MAR.

    >>> rows = {"smokes": ["no", "yes", "no", "yes"], "weight": [61.0, 70.5, 80.1, 58.8]}
    >>> hide(rows, AtRandom("weight", ["smokes"], {"yes": 1.0})).data["weight"]
    [61.0, None, 80.1, None]
    """

    target: str  # The variable that is hidden
    on: Sequence[str]  # The variables that decide
    #: State of `on` (a tuple of states for several) -> probability, zero for those left out; or a function of their
    #: columns, given in order: numbers as numbers, states as an array of them.
    hidden: HidingProbability

    @property
    def looks_at(self) -> tuple[str, ...]:
        return (self.on,) if isinstance(self.on, str) else tuple(self.on)

    def probabilities(self, table: Table) -> dict[str, Floats]:
        if self.target in self.looks_at:
            raise InvalidArgument(
                f"{self.target!r} would be hidden by its own value, which is not at random: use NotAtRandom."
            )
        return {self.target: _by_values(table, self.target, self.looks_at, self.hidden)}


@final
@dataclass(frozen=True, slots=True)
class NotAtRandom(Mechanism):
    """A variable is hidden with a probability that depends on its own value: MNAR.

    >>> hide({"income": ["low", "high", "low"]}, NotAtRandom("income", {"high": 1.0})).data
    {'income': ['low', None, 'low']}
    """

    target: str  # The variable that is hidden
    #: State -> probability, or a function of the column; with `on`, of these and, last, the variable itself.
    hidden: HidingProbability
    on: Sequence[str] = ()  # Other variables that decide with it

    @property
    def looks_at(self) -> tuple[str, ...]:
        """The variables that decide, and the one that is hidden."""
        return (*((self.on,) if isinstance(self.on, str) else self.on), self.target)

    def probabilities(self, table: Table) -> dict[str, Floats]:
        return {self.target: _by_values(table, self.target, self.looks_at, self.hidden)}


@dataclass(frozen=True, slots=True, eq=False)
class HiddenCells:
    """Data with cells hidden, and which these are."""

    data: Any  # The same kind of table as was given
    #: Name -> the cells that were observed and are now missing; variables of which none was hidden are left out.
    hidden: Mapping[str, Mask]
    #: "MCAR", "MAR" or "MNAR": what the mechanisms are together, given what they hide and what they look at.
    kind: MissingnessKind

    @property
    def num_hidden(self) -> int:
        """How many cells were hidden."""
        return sum(int(mask.sum()) for mask in self.hidden.values())

    def __repr__(self) -> str:
        return f"<HiddenCells: {self.num_hidden} cells of {counted(len(self.hidden), 'variable')}, {self.kind}>"


def hide(
    data: TableLike,
    mechanism: Mechanism | Iterable[Mechanism],
    seed: Seed = None,
    *,
    variables: Mapping[str, Variable] | Iterable[Variable] | None = None,
) -> HiddenCells:
    """Hide cells of data, as a mechanism says; several look at the same rows, and each hides what it hides.

    Parameters
    ----------
    data
        A frame, columns, or a `Table`; the same kind comes back. Cells that are missing already stay so.
    seed
        A whole number or a generator; the cells do not depend on the order of the columns. The stream of a number is
        not the one that `sample` has with the same number, so that rows and holes stay independent.
    variables
        As for `Table.read`, where states are not to be read off the columns.

    Examples
    --------
    >>> found = hide({"x": [0, 1] * 50}, CompletelyAtRandom(0.2), seed=3)
    >>> found, found.data["x"].count(None)
    (<HiddenCells: 23 cells of 1 variable, MCAR>, 23)
    """
    table = Table.read(data, variables)
    mechanisms = list(mechanism) if isinstance(mechanism, Iterable) else [mechanism]
    kept: dict[str, Floats] = {}
    for each in mechanisms:
        if not isinstance(each, Mechanism):
            raise InvalidArgument(f"A mechanism, such as CompletelyAtRandom(0.2), hides cells, not {each!r}.")
        for name, probability in each.probabilities(table).items():
            UnknownVariable.check(name, table.variables, "the data, though a mechanism hides it")
            kept[name] = kept.get(name, 1.0) * (1.0 - _checked(probability, name, table.num_rows))
    generator, missing = generator_of(seed), table_cells(table)
    if seed is not None and not isinstance(seed, np.random.Generator):  # a stream that `sample` has not with this seed
        generator = np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=_STREAM))
    # In the order of names, so that the order of columns does not matter.
    drawn = {name: (generator.random(table.num_rows) >= kept[name]) & ~missing[name] for name in sorted(kept)}
    hidden = {name: drawn[name] for name in table.variables if name in drawn and drawn[name].any()}
    for mask in hidden.values():
        mask.setflags(write=False)
    seen = {name for each in mechanisms for name in each.looks_at}
    unseen = {name for name, left in kept.items() if (left < 1).any()} | {n for n, m in missing.items() if m.any()}
    kind: MissingnessKind = "MCAR" if not seen else "MNAR" if seen & unseen else "MAR"
    return HiddenCells(hide_cells(data, hidden), MappingProxyType(hidden), kind)


def _by_values(table: Table, target: str, on: Sequence[str], hidden: HidingProbability) -> Floats:
    """For each row the probability that belongs to its values of `on`."""
    missing = table_cells(table)
    for name in on:
        if name not in table.variables:
            raise UnknownVariable.named(name, table.variables, f"the data, though the hiding of {target!r} looks at it")
    unknown = np.any([missing[name] for name in on], axis=0) if on else np.zeros(table.num_rows, dtype=np.bool_)
    known = table.take(~unknown)
    if isinstance(hidden, Mapping):
        found = _looked_up(known, target, on, hidden)
    else:
        columns = state_columns(known)
        found = np.asarray(hidden(*(columns[name] for name in on)), dtype=np.float64)
    # Where a cell that decides is missing already, nothing more is hidden.
    probabilities = np.zeros(table.num_rows)
    probabilities[~unknown] = _checked(found, target, known.num_rows)
    return probabilities


def _checked(probabilities: Floats, target: str, num_rows: int) -> Floats:
    found = np.asarray(probabilities, dtype=np.float64)
    if found.shape != (num_rows,) or not np.all((found >= 0) & (found <= 1)):
        raise InvalidArgument(f"The probability that {target!r} is hidden must be a number from 0 to 1 for each row.")
    return found


def _looked_up(table: Table, target: str, on: Sequence[str], hidden: Mapping[Any, float]) -> Floats:
    variables = [table.variables[name] for name in on]
    for variable in variables:
        if variable.is_continuous:
            raise InvalidArgument(f"{variable.name!r} is a number: give a function for how {target!r} is hidden.")
    array = np.zeros([variable.num_states for variable in variables])
    for states, probability in hidden.items():
        listed: tuple[State, ...] = (states,) if len(on) == 1 else tuple(states)
        array[tuple(v.index(state) for v, state in zip(variables, listed, strict=True))] = probability
    codes = dict(zip(table.discrete, table.codes, strict=True))
    found: Floats = array[tuple(codes[name] for name in on)]
    return np.broadcast_to(found, (table.num_rows,))
