"""What every conditional distribution offers, whatever its inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Frozen, TextTable
from plausible.cpds.reading import TextLines, given_text, state_index
from plausible.errors import InvalidArgument, InvalidCPD, NotSupported, UnknownVariable
from plausible.factors import Factor, MomentGaussian
from plausible.factors.alignment import MAX_ENTRIES, check_size, num_entries, table_shape, wide
from plausible.factors.definite import finite_number
from plausible.variables import State, Variable

if TYPE_CHECKING:
    from plausible.cpds.table import TableCPD
    from plausible.factors.gaussian import GaussianFactor


#: For each variable a column of rows: state positions of a discrete one, numbers of a continuous one. Columns may have
#: any shapes that broadcast against each other.
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]


class CPD(Frozen, ABC):
    """A conditional probability distribution P(X | U) of one variable X given its parents U.

    You may name parents without giving their states. Such a CPD is *bound* to variables when you put it into a network,
    and only then are shapes and states checked. Subclasses are final and immutable, and compare by content.
    """

    __slots__ = ("_known_parents", "parent_names", "variable")

    #: The name of the kind in files and reports.
    kind: ClassVar[str]
    #: The fields of its record that are text; all others are made of numbers.
    text_fields: ClassVar[tuple[str, ...]] = ()

    variable: Variable
    parent_names: tuple[str, ...]
    #: Each parent as a variable, or `None` where only its name is known.
    _known_parents: tuple[Variable | None, ...]

    @property
    def is_bound(self) -> bool:
        """Whether the states of all parents are known."""
        return not any(parent is None for parent in self._known_parents)  # `in` would compare states

    @property
    def parents(self) -> tuple[Variable, ...]:
        """The parents, in order."""
        for parent in self._known_parents:
            if parent is None:
                self._require_bound()
        return cast(tuple[Variable, ...], self._known_parents)

    def _require_bound(self) -> None:
        if not self.is_bound:
            raise NotSupported(
                f"The parents of {self.variable.name!r} are known by name only. "
                "Put the CPD into a network, or give Variable objects as parents."
            )

    @property
    def scope(self) -> tuple[Variable, ...]:
        """The parents, then the variable."""
        return (*self.parents, self.variable)

    @property
    def auxiliaries(self) -> tuple[Variable, ...]:
        """The variables outside the scope over which the product of `to_factors` has to be summed.

        Those of a deterministic CPD are functions of the parents, so that maxima can be taken over them, too.
        """
        return ()

    def bind(self, variables: Mapping[str, Variable]) -> Self:
        """The same CPD with its parents looked up in `variables`, and checked against them."""
        found = tuple(self._look_up(name, variables) for name in self.parent_names)
        for known, new in zip(self._known_parents, found, strict=True):
            if known is not None and known != new:
                raise InvalidCPD(
                    f"The CPD of {self.variable.name!r} was made for other states of its parent {new.name!r}: "
                    f"{_states(known)} there, {_states(new)} here."
                )
        if self.is_bound:
            return self
        bound = copy(self)
        bound._known_parents = found
        bound._settle()
        return bound

    def _look_up(self, name: str, variables: Mapping[str, Variable]) -> Variable:
        if name not in variables:
            raise UnknownVariable.named(
                name, variables, f"this network, where it is a parent of {self.variable.name!r}"
            )
        return variables[name]

    @abstractmethod
    def _settle(self) -> None:
        """Check what was given against the parents, as far as they are known, and keep it by position of states."""

    @property
    def is_deterministic(self) -> bool:
        """Whether the variable is known to be a function of its parents."""
        return False

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """The number of independent parameters."""

    @abstractmethod
    def to_factors(self) -> Sequence[Factor | GaussianFactor]:
        """Compact factors whose product is P(X | U), once the `auxiliaries` are summed out."""

    def factors_given(self, observed: Mapping[str, int]) -> Sequence[Factor | GaussianFactor] | None:
        """As `to_factors`, but the product need be right only where some variables have the observed positions.

        `None` asks for one table over the variables that are not observed, made by `log_probability`.
        """
        return self.to_factors()

    @abstractmethod
    def log_probability(self, columns: Columns) -> Floats:
        """log P(x | u), or the log-density, of each row; `columns` hold positions of states, or numbers."""

    def to_factor(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """P(X | U) as one table over `(*parents, variable)`; refused when it would have more than `max_entries`."""
        self._check_table(max_entries)
        axes = wide(self.scope)
        columns = {variable.name: np.zeros((), dtype=np.intp) for variable in self.scope}
        for place, variable in enumerate(axes):
            columns[variable.name] = np.arange(variable.num_states).reshape(-1, *[1] * (len(axes) - place - 1))
        values = np.exp(self.log_probability(columns))
        return Factor.from_flat(self.scope, np.broadcast_to(values, table_shape(self.scope)).reshape(-1))

    def _check_table(self, max_entries: int) -> None:
        """Refuse a table that would be too large, or that has a continuous variable."""
        continuous = [variable.name for variable in self.scope if variable.is_continuous]
        if continuous:
            raise NotSupported(
                f"The CPD of {self.variable.name!r} speaks of the continuous variable {continuous[0]!r}: "
                "no table holds it. See log_probability()."
            )
        check_size(self.scope, f"The table of {self.variable.name!r}", max_entries)

    def to_table(self, max_entries: int = MAX_ENTRIES) -> TableCPD:
        """The same distribution as a table; refused when it would have more than `max_entries`."""
        from plausible.cpds.table import TableCPD

        return TableCPD._of(self.variable, self.parents, self.to_factor(max_entries).values)

    def row(self, assignment: Mapping[str, State] | None = None) -> Factor | MomentGaussian:
        """P(X | u) at one assignment to the parents, by name: a `Factor` over X, or a `MomentGaussian` of a number."""
        given = dict(assignment or {})
        for name in given:
            if name not in self.parent_names:
                raise UnknownVariable.named(name, self.parent_names, f"the parents of {self.variable.name!r}")
        missing = [name for name in self.parent_names if name not in given]
        if missing:
            raise InvalidArgument(f"A row of {self.variable.name!r} needs the state of its parent {missing[0]!r} too.")
        return self._row({parent.name: self._value(parent, given[parent.name]) for parent in self.parents})

    def _value(self, parent: Variable, value: Any) -> npt.NDArray[Any]:
        """The position of a state, or a number, as an entry of `Columns`."""
        if parent.is_continuous:
            return np.asarray(finite_number(parent.name, value))
        return np.asarray(state_index(parent, value, f"The row of {self.variable.name!r}"))

    def _row(self, columns: Columns) -> Factor | MomentGaussian:
        return Factor((self.variable,), self.distribution(columns))

    def distribution(self, columns: Columns) -> Floats:
        """P(X | u) of each row of parents: shape `(*rows, states)`; without parents, `(states,)`."""
        if self.variable.is_continuous:
            raise NotSupported(f"{self.variable.name!r} is continuous: its density has no list of states.")
        states = range(self.variable.num_states)
        logs = [self.log_probability({**columns, self.variable.name: np.asarray(state)}) for state in states]
        return np.exp(np.stack(logs, axis=-1))

    def quantile(self, columns: Columns, levels: Floats) -> npt.NDArray[Any]:
        """The inverse of the distribution function at a level in [0, 1) for each row: uniform levels give a sample.

        State i answers levels in [P(X < i | u), P(X ≤ i | u)), so that a state of probability zero is never drawn.
        """
        cumulative = np.cumsum(self.distribution(columns), axis=-1)
        inner = cumulative[..., :-1] / cumulative[..., -1:]
        return np.asarray((np.asarray(levels)[..., None] >= inner).sum(axis=-1))

    def _column(self, columns: Columns, variable: Variable) -> npt.NDArray[Any]:
        """The column of one variable of the scope."""
        if variable.name not in columns:
            raise UnknownVariable.named(variable.name, columns, f"these columns, and {self!r} needs it")
        column = np.asarray(columns[variable.name])
        if not variable.is_continuous and column.dtype.kind not in "iu":
            raise InvalidArgument(
                f"The column {variable.name!r} must hold positions of states, 0, 1, ..., not {column.dtype} values. "
                "See row() for a question by the names of states."
            )
        return column

    def ignores(
        self, parents: str | Iterable[str], context: Mapping[str, State] | None = None, tolerance: float = 1e-12
    ) -> bool:
        """Whether X ⟂ Y | (other parents, c): in context c the distribution does not change with the named parents.

        Parameters
        ----------
        parents
            Y, tested jointly; those that the context fixes are ignored by definition.
        context
            c: parents and the states they are in.
        tolerance
            The change in a probability (in the log-odds of a logistic CPD, in the parameters of a Gaussian one) that
            counts as none.
        """
        self._require_bound()
        named = [parents] if isinstance(parents, str) else list(parents)
        axes = {name: axis for axis, name in enumerate(self.parent_names)}
        for name in (*named, *(context or {})):
            if name not in axes:
                raise UnknownVariable.named(name, self.parent_names, f"the parents of {self.variable.name!r}")
        fixed = {axes[name]: self._position(axes[name], state) for name, state in (context or {}).items()}
        free = frozenset(axes[name] for name in named) - fixed.keys()
        return not free or self._ignores(free, fixed, tolerance)

    def _position(self, axis: int, state: State) -> int:
        """The position of a parent's state; zero stands for the value of a continuous one, whatever it is."""
        parent = self.parents[axis]
        return 0 if parent.is_continuous else parent.index(state)

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        """`ignores` by axes: no change along the axes `free` (not empty) where `fixed` ones have their position."""
        part, along = slice_at(self.to_factor().values, fixed), tuple(free)
        return bool((part.max(axis=along) - part.min(axis=along)).max() <= tolerance)

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The parameters as plain lists, numbers and text (states by position), for files."""

    @classmethod
    @abstractmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""

    def over(self, variable: Variable, parents: tuple[Variable, ...]) -> Self:
        """The same distribution over other variables, with as many states each in the same order.

        Parameters
        ----------
        variable, parents
            Those that stand where `variable` and `parents` of this one do.
        """
        if (*parents, variable) == self.scope:
            return self
        return type(self).from_record(variable, parents, self.to_record())

    def is_close(self, other: CPD, tolerance: float = 1e-9) -> bool:
        """Whether both give the same distribution up to `tolerance`, whatever their kind and order of parents."""
        if not isinstance(other, CPD):
            raise InvalidArgument(f"A CPD is close to another CPD or not; it can't be compared with {other!r}.")
        if self.variable != other.variable or set(self.parents) != set(other.parents):
            return False
        return self == other or self._is_close(other, tolerance)

    def _is_close(self, other: CPD, tolerance: float) -> bool:
        """`is_close` for a CPD over the same variables: by tables, or by parameters where these would be too large."""
        if num_entries(self.scope) > MAX_ENTRIES and type(self) is type(other):
            return self.parent_names == other.parent_names and _nearly(self.to_record(), other.to_record(), tolerance)
        return self.to_factor().is_close(other.to_factor(), tolerance)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, CPD):
            return NotImplemented
        if (self.variable, self.parent_names) != (other.variable, other.parent_names):
            return False
        return self._known_parents == other._known_parents and bool(self._content() == other._content())

    def __hash__(self) -> int:
        return hash((type(self), self.variable, self.parent_names))

    def _content(self) -> object:
        """What makes two CPDs of one kind over the same variables equal."""
        return self.to_record()

    def __setstate__(self, state: tuple[None, Mapping[str, Any]]) -> None:
        """Unpickle; arrays become read-only again."""
        for name, value in state[1].items():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    part.setflags(write=False)
            setattr(self, name, value)

    @abstractmethod
    def _shown(self) -> TextTable | TextLines:
        """The content to print; the parents need not be known."""

    def __str__(self) -> str:
        return str(self._shown())

    def _repr_html_(self) -> str:
        return self._shown().to_html()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._scope_text()})"

    def _scope_text(self) -> str:
        """`X | U, V`."""
        return f"{self.variable.name}{given_text(self.parent_names)}"


def slice_at(values: npt.NDArray[Any], fixed: Mapping[int, int]) -> npt.NDArray[Any]:
    """The part of an array where the fixed axes have their position; they stay as axes of length one."""
    return values[tuple(slice(fixed[a], fixed[a] + 1) if a in fixed else slice(None) for a in range(values.ndim))]


def _nearly(one: Any, two: Any, tolerance: float) -> bool:
    """Whether two records have the same form and nearly the same numbers."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_nearly(one[key], two[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(_nearly(a, b, tolerance) for a, b in zip(one, two, strict=True))
    if isinstance(one, float) and isinstance(two, float):
        return abs(one - two) <= tolerance
    return bool(one == two)


def _states(variable: Variable) -> str:
    return "a real number" if variable.is_continuous else str(list(variable.states))
