"""Which object a reference picks: a cell of a partition of the possible ones by their attributes, then any in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats, Ints
from plausible.base.records import plain
from plausible.cpds import TableCPD
from plausible.cpds.reading import Row, VariableLike
from plausible.errors import InvalidCPD, InvalidModel, NotSupported, UnknownVariable
from plausible.models.relations.instance import Instance
from plausible.models.relations.schema import KEY, Schema
from plausible.models.relations.term_values import term_values
from plausible.models.relations.terms import Term, read_term
from plausible.variables import State, Variable


class ReferenceCPD(TableCPD):
    """The distribution of a reference: P(ref = y | u) = P(cell of y | u) / (number of objects in that cell).

    The objects that a slot can refer to are partitioned by some of their attributes. A cell is picked by a table, then
    an object of the cell, all being equally likely (Getoor, Friedman, Koller & Taskar 2001). In a relational model, a
    missing cell of the slot's column is then a reference that is not known.

    Parameters
    ----------
    slot
        "class.slot".
    values
        P(cell | parents), axes `(*parents, cell)`. Cells are the joint states of the partition, the last attribute
        changing fastest. One without objects must have probability zero.
    partition
        Attributes of the class that is referred to, such as "paper.topic"; none: all objects are equally likely.
    parents
        Told from the object that refers, as those of other distributions.

    Examples
    --------
    >>> import plausible as pb
    >>> papers = {"id": ["p", "q", "r"], "topic": ["AI", "DB", "DB"]}
    >>> links = {"id": [1, 2], "citing": ["p", "q"], "cited": ["q", None]}
    >>> schema = pb.Schema(paper=papers, cites=links, keys={"cites.citing": "paper", "cites.cited": "paper"})
    >>> cited = pb.ReferenceCPD(
    ...     "cites.cited", [[0.9, 0.1], [0.2, 0.8]], partition=["paper.topic"], parents=["cites.citing.topic"],
    ... )
    >>> model = pb.RelationalModel(schema, cited)
    >>> print(model.query("cites[2].cited", tables={"paper": papers, "cites": links}))
    cites[2].cited | value
    ---------------+------
    p              |   0.2
    q              |   0.4
    r              |   0.4
    """

    __slots__ = ("partition",)

    kind: ClassVar[str] = "reference"

    #: The attributes by which the objects that it may pick are told apart.
    partition: tuple[str, ...]

    def __init__(
        self,
        slot: VariableLike,
        values: npt.ArrayLike | Mapping[Any, Row | float],
        partition: str | Iterable[str] = (),
        parents: VariableLike | Iterable[VariableLike] = (),
    ) -> None:
        self.partition = (partition,) if isinstance(partition, str) else tuple(partition)
        if len(set(self.partition)) < len(self.partition):
            raise InvalidCPD(f"partition={list(self.partition)} of {slot!r} names an attribute twice.")
        super().__init__(slot, values, parents)

    @property
    def slot(self) -> str:
        """The reference, "class.slot"."""
        return self.variable.name

    def on_schema(self, schema: Schema) -> Self:
        """The same with its cells named by the states of the attributes; checked."""
        cells = cells_variable(schema, self.slot, read_partition(schema, self.slot, self.partition))
        if self.variable.num_states != cells.num_states:
            raise InvalidCPD(
                f"The partition of {self.slot!r} by {list(self.partition)} has {cells.num_states} cells, but its rows "
                f"have {self.variable.num_states} numbers. The cells are {list(cells.states)}."
            )
        if self.variable.states not in (cells.states, tuple(range(cells.num_states))):
            raise InvalidCPD(
                f"The cells of {self.slot!r} are {list(cells.states)}, not {list(self.variable.states)}. Give rows of "
                "numbers in that order."
            )
        return type(self)(cells, self._given, self.partition, self._parents_given)

    @property
    def _given(self) -> Any:
        return self._keyed if self._values is None else self._values

    @property
    def _parents_given(self) -> list[VariableLike]:
        return [known or name for known, name in zip(self._known_parents, self.parent_names, strict=True)]

    def on(self, instance: Instance) -> TableCPD:
        """P(reference | parents) over all objects that there are. O(objects x rows of the table)."""
        partition = read_partition(instance.schema, self.slot, self.partition)
        target = instance.schema.references[self.slot]
        cells = cells_of(partition, instance, target)
        if (cells < 0).any():
            lacking = instance.key_text(target, int(np.argmax(cells < 0)))
            raise NotSupported(
                f"{self.slot!r} picks among {target!r} by {list(self.partition)}, which is not all known of "
                f"{target}[{lacking}]: the sizes of cells are then uncertain, and exact answers out of reach. "
                "predict_proba(...) and log_likelihood(...) take expected sizes, where all references are known."
            )
        sizes = self._sizes(cells)
        return TableCPD(reference_variable(instance, self.slot), self.values[..., cells] / sizes[cells], self.parents)

    def log_choices(self, instance: Instance) -> tuple[Floats, bool]:
        """log(P(cell | parents) / size of the cell), axes `(*parents, cell)`, and whether the sizes are exact."""
        partition = read_partition(instance.schema, self.slot, self.partition)
        cells = cells_of(partition, instance, instance.schema.references[self.slot])
        sizes, is_exact = self._sizes(cells), bool((cells >= 0).all())
        with np.errstate(divide="ignore"):
            return np.log(self.values) - np.log(np.maximum(sizes, 1.0)), is_exact

    def _sizes(self, cells: Ints) -> Floats:
        """The number of objects in each cell; an empty one that may be picked is an error."""
        sizes = cell_sizes(cells, self.variable.num_states)
        chances = self.values.reshape(-1, len(sizes)).max(axis=0)
        empty = np.flatnonzero((sizes == 0) & (chances > 0))
        if len(cells) and empty.size:
            raise InvalidModel(
                f"{self.slot!r} picks an object with {_cell_text(self.partition, self.variable.states[empty[0]])} with "
                f"probability up to {chances[empty[0]]:.4g}, but the tables have none. Set it to zero, or add such "
                "objects."
            )
        return sizes

    def over(self, variable: Variable, parents: tuple[Variable, ...]) -> Self:
        """The same over other variables, with as many states each in the same order."""
        return type(self)(variable, self.values, self.partition, parents)

    def to_record(self) -> dict[str, Any]:
        """The probabilities in a row, the cell changing fastest, and the partition."""
        return {**super().to_record(), "partition": list(self.partition)}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""
        table = TableCPD.from_record(variable, parents, {"values": record["values"]})
        return cls(variable, table.values, record["partition"], parents)

    def _content(self) -> object:
        return super()._content(), self.partition


def read_partition(schema: Schema, reference: str, names: Iterable[str]) -> tuple[Term, ...]:
    """The attributes that a partition names, of the class that a reference leads to."""
    if reference not in schema.references:
        raise UnknownVariable.named(reference, schema.references, "the references of this schema")
    target = schema.references[reference]
    terms = tuple(read_term(name, schema) for name in names)
    for term in terms:
        if term.function or term.chain.base != target or any(slot.name != KEY for slot in term.chain.slots):
            raise InvalidModel(
                f"The partition of {reference!r} is by attributes of {target!r}, such as '{target}.attribute'; "
                f"{term.text!r} is none."
            )
        if schema.variable(term.chain.target).is_continuous:
            raise InvalidModel(
                f"{term.text!r} is a number, which makes no partition: cut it into intervals before, in the tables."
            )
    return terms


def cells_variable(schema: Schema, reference: str, partition: Sequence[Term]) -> Variable:
    """The cells of a partition as states: those of one attribute, joint ones of several, "any" of none."""
    states = [term.variable(schema).states for term in partition]
    if len(states) == 1:
        return Variable(reference, states[0])
    return Variable(reference, list(itertools.product(*states)) if states else ["any"])


def reference_variable(instance: Instance, reference: str) -> Variable:
    """A reference as a variable: its states are the ids of what it may refer to."""
    keys = instance.ids[instance.schema.references[reference]]
    states: list[State] = [plain(key) for key in keys]
    if not states:
        raise InvalidModel(f"{reference!r} has nothing to refer to: there are no objects of that class.")
    return Variable(reference, states)


def cells_of(partition: Sequence[Term], instance: Instance, target: str) -> Ints:
    """The cell of each object of a class; -1 where an attribute is not known."""
    return joint_codes(
        [term_values(term, instance) for term in partition],
        [term.variable(instance.schema).num_states for term in partition],
        instance.num_objects(target),
    )


def joint_codes(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int], num: int) -> Ints:
    """Positions of several variables as one, the last changing fastest; -1 where one is missing."""
    joint, is_known = np.zeros(num, dtype=np.int64), np.ones(num, dtype=np.bool_)
    for column, size in zip(columns, sizes, strict=True):
        joint = joint * size + column
        is_known &= column >= 0
    return np.where(is_known, joint, -1)


def cell_sizes(cells: Ints, num_cells: int) -> Floats:
    """How many objects each cell has: counted, or as expected from the known ones, and one at least.

    >>> cell_sizes(np.array([0, 0, 1, -1]), 3)
    array([2.66666667, 1.33333333, 1.        ])
    """
    known = cells[cells >= 0]
    counts = np.bincount(known, minlength=num_cells).astype(np.float64)
    if len(known) == len(cells):
        return counts
    shares = counts / len(known) if len(known) else np.full(num_cells, 1.0 / num_cells)
    return np.maximum(shares * len(cells), 1.0)


def _cell_text(partition: Sequence[str], state: Any) -> str:
    states = state if len(partition) > 1 else (state,)
    return " and ".join(f"{name}={value}" for name, value in zip(partition, states, strict=False)) or "any attributes"
