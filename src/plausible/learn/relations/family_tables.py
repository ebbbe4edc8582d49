"""The rows that a distribution of a relational model is learned from: one for each object, parents beside it.

Parents are looked up and aggregated for all objects at once, so that every learner of tables works on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags
from plausible.data.table import Table
from plausible.models.relations.grounding import GroundFamily, Grounding
from plausible.models.relations.references import cells_of
from plausible.models.relations.term_values import term_values
from plausible.models.relations.terms import Term
from plausible.variables import Variable

Columns = Mapping[str, tuple[Variable, NDArray[Any]]]


def family_table(grounding: Grounding, ground: GroundFamily, terms: Iterable[Term] | None = None) -> Table:
    """A column for each parent, or for each of some candidates, and one for the child; -1 and NaN where not known.

    The child of a reference is the cell that it picks.
    """
    instance, family = grounding.instance, ground.family
    schema = grounding.schema
    chosen = family.terms if terms is None else terms
    columns = {
        term.text: (term.variable(schema), term_values(term, instance, ground.rows))
        for term in chosen
        if term.text != family.name
    }
    cells = instance.column(family.attribute)[ground.children - grounding.starts[family.attribute]]
    if family.partition is not None:
        cells = np.append(cells_of(family.partition, instance, schema.references[family.name]), -1)[cells]
    columns[family.name] = (family.variables(schema)[-1], cells)
    return columns_table(columns, len(ground.rows))


def columns_table(columns: Columns, num_rows: int) -> Table:
    """A table of columns that are given with their variables."""
    codes = [cells for variable, cells in columns.values() if not variable.is_continuous]
    numbers = [cells for variable, cells in columns.values() if variable.is_continuous]
    most = max((variable.num_states for variable, _ in columns.values() if not variable.is_continuous), default=1)
    stacked = np.empty((len(codes), num_rows), dtype=np.int8 if most < 128 else np.int32)
    for place, cells in enumerate(codes):
        stacked[place] = cells
    return Table(
        {name: variable for name, (variable, _) in columns.items()},
        stacked,
        np.array(numbers, dtype=np.float64).reshape(len(numbers), num_rows),
    )


def is_complete(table: Table) -> Flags:
    """Which rows have no missing cell."""
    return np.asarray((table.codes >= 0).all(axis=0) & ~np.isnan(table.numbers).any(axis=0))
