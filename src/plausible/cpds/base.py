"""What every conditional distribution offers, whatever its inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidCPD, NotSupported, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.variables import State, Variable

if TYPE_CHECKING:
    from plausible.cpds.table import TableCPD
    from plausible.factors.gaussian import GaussianFactor

__all__ = ["CPD", "Columns", "VariableLike", "read_child", "read_parents"]

VariableLike: TypeAlias = str | Variable
#: For each variable a column of rows: state positions of a discrete one, numbers of a continuous one.
Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]


class CPD(ABC):
    """A conditional probability distribution P(X | U): one variable X given its parents U, in their order.

    Parents may be given by name only; such a CPD is *bound* to variables when it enters a network, which is when shapes
    and states can be checked. Subclasses are final, immutable, and equal when their content is.
    """

    __slots__ = ("_parents", "parent_names", "variable")

    #: The name of the kind in files and reports.
    kind: ClassVar[str]

    variable: Variable
    parent_names: tuple[str, ...]
    _parents: tuple[Variable, ...] | None

    # --- variables ---

    @property
    def is_bound(self) -> bool:
        """Whether the states of all parents are known."""
        return self._parents is not None

    @property
    def parents(self) -> tuple[Variable, ...]:
        """The parents, in order."""
        if self._parents is None:
            raise NotSupported(
                f"The parents of {self.variable.name!r} are known by name only. "
                "Put the CPD into a network, or give Variable objects as parents."
            )
        return self._parents

    @property
    def scope(self) -> tuple[Variable, ...]:
        """The parents, then the variable."""
        return (*self.parents, self.variable)

    def bind(self, variables: Mapping[str, Variable]) -> Self:
        """The same CPD with its parents looked up in `variables`, and checked against them."""
        found = []
        for name in self.parent_names:
            if name not in variables:
                raise UnknownVariable.named(
                    name, variables, f"this network, where it is a parent of {self.variable.name!r}"
                )
            found.append(variables[name])
        if self._parents == tuple(found):
            return self
        if self._parents is not None:
            wrong = next(new for old, new in zip(self._parents, found, strict=True) if old != new)
            raise InvalidCPD(
                f"The CPD of {self.variable.name!r} was made for other states of its parent {wrong.name!r}."
            )
        return self._bound(tuple(found))

    @abstractmethod
    def _bound(self, parents: tuple[Variable, ...]) -> Self:
        """The same CPD over these parents; raises `InvalidCPD` where they don't fit."""

    # --- numbers ---

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """The number of independent parameters."""

    @abstractmethod
    def to_factors(self) -> Sequence[Factor | GaussianFactor]:
        """Compact factors whose product is P(X | U), once variables outside the CPD's scope are summed out."""

    @abstractmethod
    def log_probability(self, columns: Columns) -> npt.NDArray[np.float64]:
        """log P(x | u), or the log-density, of each row; `columns` hold positions of states, or numbers."""

    def to_factor(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """P(X | U) as one table over `(*parents, variable)`; refused when it would have more than `max_entries`."""
        check_size(self.scope, f"The table of {self.variable.name!r}", max_entries)
        tables = [factor for factor in self.to_factors() if isinstance(factor, Factor)]
        names = [variable.name for variable in self.scope]
        return product(tables).marginal(names)

    def to_table(self, max_entries: int = MAX_ENTRIES) -> TableCPD:
        """The same distribution as a table; refused when it would have more than `max_entries`."""
        from plausible.cpds.table import TableCPD

        return TableCPD._of(self.variable, self.parents, self.to_factor(max_entries).values)

    def ignores(
        self, parents: str | Iterable[str], context: Mapping[str, State] | None = None, tolerance: float = 1e-12
    ) -> bool:
        """Whether X ⟂ Y | (other parents, c): in context c the distribution does not change with the named parents."""
        names = [parents] if isinstance(parents, str) else list(parents)
        for name in (*names, *(context or {})):
            if name not in self.parent_names:
                raise UnknownVariable.named(name, self.parent_names, f"the parents of {self.variable.name!r}")
        table = self.to_factor().reduce(context or {})
        free = [name for name in names if name in table.names]
        spread = table.maximize(free) + (table * -1.0).maximize(free)
        return spread.max() <= tolerance

    # --- files ---

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The parameters as plain lists, numbers and text (states by position), for files."""

    @classmethod
    @abstractmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""

    # --- as a value ---

    def is_close(self, other: CPD, tolerance: float = 1e-9) -> bool:
        """Whether both give the same distribution up to `tolerance`, whatever their kind and order of parents."""
        if self.variable != other.variable or set(self.parents) != set(other.parents):
            return False
        return self.to_factor().is_close(other.to_factor(), tolerance)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, CPD):
            return NotImplemented
        if (self.variable, self.parent_names, self._parents) != (other.variable, other.parent_names, other._parents):
            return False
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self.variable, self.parent_names))

    def _content(self) -> object:
        """What makes two CPDs of one kind over the same variables equal."""
        return self.to_record()

    def __repr__(self) -> str:
        given = f" | {', '.join(self.parent_names)}" if self.parent_names else ""
        return f"{type(self).__name__}({self.variable.name}{given})"


def read_child(variable: VariableLike, states: Iterable[State] | int | None, num_states: int | None) -> Variable:
    """The child as a discrete variable: states as given, else 0, 1, ... as many as there are numbers."""
    if isinstance(variable, Variable):
        if states is not None:
            raise InvalidCPD(f"{variable.name!r} is a Variable with states of its own; leave out states=.")
        return variable
    return Variable(variable, num_states if states is None else states)


def read_parents(
    child: str, parents: VariableLike | Iterable[VariableLike]
) -> tuple[tuple[str, ...], tuple[Variable, ...] | None]:
    """The names of the parents and, where all were given as variables, the variables."""
    listed = (parents,) if isinstance(parents, (str, Variable)) else tuple(parents)
    names = tuple(parent.name if isinstance(parent, Variable) else parent for parent in listed)
    if len(set(names)) < len(names) or child in names:
        repeated = child if child in names else next(name for name in names if names.count(name) > 1)
        raise InvalidCPD(f"{repeated!r} stands twice in the CPD of {child!r}.")
    variables = tuple(parent for parent in listed if isinstance(parent, Variable))
    return names, variables if len(variables) == len(listed) else None
