"""Tables of a schema, read once: objects as numbers, references as numbers of objects, attributes as positions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints, starts_of
from plausible.base.records import plain
from plausible.data.columns import decode, encode_small, equally_long
from plausible.data.factorizing import factorize, is_absent
from plausible.errors import (
    InvalidArgument,
    PlausibleWarning,
    TooLarge,
    UnknownVariable,
    counted,
    suggestion,
    warn_caller,
)
from plausible.models.relations.schema import EXISTS, KEY, Schema, Slot, open_class
from plausible.models.relations.terms import Chain
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

#: So many rows are named in an error, and so many ids are looked at for close matches.
_MOST_NAMED, _MOST_COMPARED = 5, 10_000
#: How alike the name of a column that is passed over is to one that is missing where it may be a slip.
_NEAR = 0.8
#: So many links that may exist are listed.
_MOST_LINKS = 20_000_000


class Links(NamedTuple):
    """For each object of a class, the objects of another that a chain leads to: `ends[starts[i]:starts[i + 1]]`."""

    starts: Ints
    ends: Ints

    @property
    def lengths(self) -> Ints:
        """How many there are for each."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ints:
        """For each end, which object it belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)


class Naming(Protocol):
    """How attributes of objects are called."""

    def join(self, attribute: str, key: str) -> str:
        """The name of "class.attribute" of the object whose id prints as `key`."""

    def split(self, name: str) -> tuple[str, str] | None:
        """The inverse of `join`; `None` where a name is of another form."""


class ObjectNames:
    """Names such as "student[anna].grade"."""

    def join(self, attribute: str, key: str) -> str:
        """The name of an attribute of one object.

        >>> ObjectNames().join("student.grade", "anna")
        'student[anna].grade'
        """
        owner, name = attribute.split(".")
        return f"{owner}[{key}].{name}"

    def split(self, name: str) -> tuple[str, str] | None:
        """Attribute and id of a name.

        >>> ObjectNames().split("student[anna].grade")
        ('student.grade', 'anna')
        """
        owner, bracket, rest = name.partition("[")
        key, closed, attribute = rest.rpartition("].")
        return (f"{owner}.{attribute}", key) if bracket and closed else None


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """The objects of a schema, what they refer to, and what is known of their attributes.

    Without attributes it is a *skeleton*: the objects and their references alone. Models take it in place of tables,
    which are then read and checked once.
    """

    schema: Schema
    #: Class -> how its objects are called, in order.
    ids: Mapping[str, pd.Index[Any]]
    #: "class.slot" -> for each object the number of the one it refers to, -1 where it refers to none.
    references: Mapping[str, Ints]
    #: "class.attribute" -> positions of states or numbers, -1 and NaN where missing; of columns that are there.
    columns: Mapping[str, NDArray[Any]]
    naming: Naming = field(default_factory=ObjectNames)
    _links: dict[tuple[Slot, ...], Links] = field(default_factory=dict, repr=False)
    _texts: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)
    _keys: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, schema: Schema, tables: Mapping[str, Any] | Instance) -> Instance:
        """The tables by a schema: ids are distinct, references lead somewhere, states are known ones.

        A column that the schema has not, such as a name, is passed over.

        >>> schema = Schema(
        ...     student={"id": ["anna", "bob"]}, registration={"student": ["bob"], "grade": ["A"]},
        ...     keys={"registration.student": "student"},
        ... )
        >>> Instance.read(schema, {"student": {"id": ["bob"]}, "registration": {"student": ["bob", "eve"]}})
        Traceback (most recent call last):
            ...
        plausible.errors.InvalidArgument: 'registration.student' refers to 'eve' (row 1), but no 'student' has ...
        """
        if isinstance(tables, Instance):
            return tables if tables.schema == schema else cls.read(schema, tables.to_frames())
        _check_tables(schema, tables)
        opened = {name: open_class(name, tables[name], schema.attributes(name)) for name in schema.classes}
        cells = {name: dict(columns.read(_columns(schema, name))) for name, columns in opened.items()}
        for name, table in opened.items():
            _warn_of_misspelt(schema, name, table.names)
        ids = {name: _read_ids(name, columns) for name, columns in cells.items()}
        references = {
            reference: _read_references(reference, target, cells[reference.partition(".")[0]], ids[target])
            for reference, target in schema.references.items()
        }
        exists = {name: _expand(schema, name, cells[name], ids, references) for name in schema.existence}
        columns = {
            variable.name: _encoded(variable, cells[name][attribute])
            for name in schema.classes
            for attribute, variable in schema.attributes(name).items()
            if attribute in cells[name] and name not in exists
        } | {f"{name}.{EXISTS}": column for name, column in exists.items()}
        for name in schema.classes:
            own = {key: column for key, column in (columns | references).items() if key.startswith(f"{name}.")}
            equally_long({f"{name}.{KEY}": np.asarray(ids[name]), **own})
        return cls(schema, MappingProxyType(ids), MappingProxyType(references), MappingProxyType(columns))

    # --- what is there ---

    def num_objects(self, name: str) -> int:
        """How many objects a class has."""
        return len(self.ids[name])

    def column(self, name: str) -> NDArray[Any]:
        """The values of "class.attribute", all missing where the tables lack it; the objects that a slot refers to."""
        if name in self.references:
            return self.references[name]
        if name in self.columns:
            return self.columns[name]
        variable, num = self.schema.variable(name), self.num_objects(name.partition(".")[0])
        return np.full(num, np.nan) if variable.is_continuous else np.full(num, -1, dtype=np.int8)

    def is_known(self, name: str) -> NDArray[np.bool_]:
        """Which objects have a value of "class.attribute"."""
        column = self.column(name)
        return ~np.isnan(column) if column.dtype.kind == "f" else column >= 0

    @property
    def skeleton(self) -> Instance:
        """The objects and their references alone."""
        return replace(self, columns=MappingProxyType({}))

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> Instance:
        """The same objects with other values of some attributes: a completion, where they had none."""
        return replace(self, columns=MappingProxyType({**self.columns, **columns}))

    def with_references(self, reference: str, places: Ints) -> Instance:
        """The same objects with other ends of one reference."""
        return replace(self, references=MappingProxyType({**self.references, reference: places}), _links={})

    def to_frames(self) -> dict[str, pd.DataFrame]:
        """Class -> its table: ids, references, attributes.

        >>> schema = Schema(student={"id": ["anna"], "intelligence": ["high"]})
        >>> Instance.read(schema, {"student": {"id": ["eve"], "intelligence": [None]}}).to_frames()["student"]
            id intelligence
        0  eve          NaN
        """
        import pandas as pd

        frames = {}
        for name in self.schema.classes:
            is_link = name in self.schema.existence
            kept = self.column(f"{name}.{EXISTS}") != 0 if is_link else slice(None)  # of links those that may exist
            columns: dict[str, Any] = {} if is_link else {KEY: np.asarray(self.ids[name])}
            for reference, target in self.schema.references.items():
                owner, slot = reference.split(".")
                if owner == name and slot != KEY:
                    places = self.references[reference][kept]
                    ends = self.ids[target].take(np.maximum(places, 0)) if len(self.ids[target]) else places
                    columns[slot] = (
                        ends if (places >= 0).all() else pd.Series(ends, dtype=object).where(places >= 0, None)
                    )
            variables = {f"{name}.{attribute}": v for attribute, v in self.schema.attributes(name).items()}
            known = {key: variable for key, variable in variables.items() if key in self.columns}
            decoded = decode({key: self.columns[key][kept] for key in known}, known)
            columns |= {key.partition(".")[2]: decoded[key] for key in known}
            frames[name] = pd.DataFrame(columns)
        return frames

    # --- names of ground variables ---

    def ground_name(self, attribute: str, place: int) -> str:
        """What the attribute of one object is called, such as "student[anna].grade"."""
        return self.naming.join(attribute, self.key_text(attribute.partition(".")[0], place))

    def key_text(self, name: str, place: int) -> str:
        """What an object of a class is called there."""
        if name not in self._keys:
            self._keys[name] = np.asarray(self.ids[name], dtype=object)
        return key_text(self._keys[name][place])

    def place(self, name: str, text: str) -> int:
        """The number of the object whose id prints as the text."""
        if name not in self._texts:
            self._texts[name] = {key_text(key): place for place, key in enumerate(self.ids[name])}
        texts = self._texts[name]
        text = text if text in texts else text.replace(", ", ",")  # of a link
        if text not in texts:
            raise UnknownVariable(f"No {name!r} has the id {text!r}.{suggestion(text, list(texts)[:_MOST_COMPARED])}")
        return texts[text]

    # --- links ---

    def links(self, chain: Chain) -> Links:
        """For each object of the chain's class, the objects at its end, as often as there are ways to them."""
        found = self._links.get(chain.slots)
        if found is None:
            if not chain.slots:
                num = self.num_objects(chain.base)
                return Links(np.arange(num + 1), np.arange(num))
            found = self._step(chain.slots[0])
            for slot in chain.slots[1:]:
                found = _joined(found, self._step(slot))
            self._links[chain.slots] = found
        return found

    def ends(self, chain: Chain) -> Ints:
        """For each object of the chain's class, the one object at its end; -1 where there is none."""
        places = np.arange(self.num_objects(chain.base))
        for slot in chain.slots:
            places = np.where(places >= 0, np.append(self.references[slot.reference], -1)[places], -1)
        return places

    def _step(self, slot: Slot) -> Links:
        forward = self.references[slot.reference]
        if slot.is_inverse:
            there = np.flatnonzero(forward >= 0)
            order = there[np.argsort(forward[there], kind="stable")]
            return Links(starts_of(np.bincount(forward[there], minlength=self.num_objects(slot.target))), order)
        return Links(starts_of((forward >= 0).astype(np.int64)), forward[forward >= 0])

    def __repr__(self) -> str:
        sizes = ", ".join(f"{counted(len(index), 'object')} of {name!r}" for name, index in self.ids.items())
        return f"<Instance: {sizes}>"


def key_text(key: Any) -> str:
    """What an object is called in names of ground variables: its id, or those of the objects that a link is between."""
    return ",".join(str(plain(part)) for part in key) if isinstance(key, tuple) else str(plain(key))


def _joined(first: Links, second: Links) -> Links:
    """From each object over the ends of the first to those of the second."""
    lengths = second.lengths[first.ends]
    starts = starts_of(lengths)
    places = np.repeat(second.starts[:-1][first.ends] - starts[:-1], lengths) + np.arange(starts[-1])
    return Links(starts[first.starts], second.ends[places])


def _check_tables(schema: Schema, tables: Any) -> None:
    if not isinstance(tables, Mapping):
        raise InvalidArgument(f"tables= maps each class to its table, such as {{{schema.classes[0]!r}: frame}}.")
    for name in tables:
        schema.check_class(name)
    for name in schema.classes:
        if name not in tables:
            raise InvalidArgument(
                f"tables= lacks the table of {name!r}. One without objects is {{{name!r}: {{'id': []}}}}."
            )


def _columns(schema: Schema, name: str) -> Iterable[str]:
    """The columns of a class that are read."""
    return dict.fromkeys([KEY, *schema.own_references(name), *schema.attributes(name)])


def _warn_of_misspelt(schema: Schema, name: str, there: Sequence[Any]) -> None:
    """Warn of a column that is passed over where one that is nearly called so is missing, and so taken as unknown."""
    used = set(_columns(schema, name))
    others = [str(column) for column in there if column not in used]
    for attribute in schema.attributes(name):
        if attribute not in there and (near := get_close_matches(attribute, others, n=1, cutoff=_NEAR)):
            warn_caller(
                f"The table of {name!r} has no column {attribute!r}, which is taken as unknown, but one called "
                f"{near[0]!r}, which is passed over: rename it if it is meant.",
                PlausibleWarning,
            )


def _read_ids(name: str, columns: Mapping[str, Any]) -> pd.Index[Any]:
    import pandas as pd

    if KEY not in columns:
        return pd.RangeIndex(len(next(iter(columns.values()), ())))
    column = columns[KEY]
    index: pd.Index[Any] = pd.Index(
        column.to_numpy() if hasattr(column, "to_numpy") else list(column), tupleize_cols=False
    )
    if index.hasnans:
        row = int(np.argmax(index.isna()))
        raise InvalidArgument(f"Row {row} of {name!r} has no {KEY}: each object needs one.")
    if not index.is_unique:
        twice = index[int(np.argmax(index.duplicated()))]
        rows = np.flatnonzero(index == twice)[:_MOST_NAMED].tolist()
        raise InvalidArgument(
            f"Two objects of {name!r} have the {KEY} {plain(twice)!r} (rows {', '.join(map(str, rows))}): ids tell "
            "objects apart. A table of facts about one object needs a column that refers to it, and no id."
        )
    if index.dtype == object and index.inferred_type != "string":  # others that differ are called differently
        _refuse_alike(name, index)
    return index


def _refuse_alike(name: str, keys: Iterable[Any]) -> None:
    """Refuse objects that are called the same though their ids differ, such as 1 and "1"."""
    seen: set[str] = set()
    for text in map(key_text, keys):
        if text in seen:
            raise InvalidArgument(
                f"Two objects of {name!r} would both be called '{name}[{text}]': give them ids that differ as texts."
            )
        seen.add(text)


def _read_references(reference: str, target: str, columns: Mapping[str, Any], ids: pd.Index[Any]) -> Ints:
    """The number of the object that each cell of a column of keys means, -1 where it is missing."""
    import pandas as pd

    owner, slot = reference.split(".")
    if slot not in columns:
        if num_rows := max((len(column) for column in columns.values()), default=0):
            raise InvalidArgument(
                f"The table of {owner!r} has {counted(num_rows, 'row')} but no column {slot!r}, which refers to "
                f"{target!r} by keys=. A column of missing cells refers to nothing."
            )
        return np.empty(0, dtype=np.int64)
    places, values = factorize(reference, columns[slot])
    is_key = np.array([not is_absent(value) for value in values], dtype=np.bool_)
    keys = [value for value in values if not is_absent(value)]
    known = np.full(len(values) + 1, -1, dtype=np.int64)
    if keys:
        known[:-1][is_key] = ids.get_indexer(pd.Index(keys, tupleize_cols=False))
        dangling = np.flatnonzero(is_key & (known[:-1] < 0))
        if dangling.size:
            raise _dangling(reference, target, values, places, dangling, ids)
    return np.asarray(known[places])


def _dangling(
    reference: str, target: str, values: Sequence[Any], places: NDArray[Any], dangling: Ints, ids: pd.Index[Any]
) -> InvalidArgument:
    """The error for keys that no object has."""
    import pandas as pd

    row, key = int(np.argmax(np.isin(places, dangling))), plain(values[dangling[0]])
    more = f" ({counted(len(dangling) - 1, 'more id')} of that column likewise)" if len(dangling) > 1 else ""
    if isinstance(ids, pd.RangeIndex) and isinstance(key, str):
        return InvalidArgument(
            f"{reference!r} refers to {key!r} (row {row}), but the table of {target!r} has no column {KEY!r}, so that "
            f"its objects are called 0, 1, ...: rename the column that has their ids to {KEY!r}."
        )
    alike = next((one for one in map(plain, ids) if str(one) == str(key)), None)
    advice = f" There is {alike!r}, of another type." if alike is not None else suggestion(key, ids[:_MOST_COMPARED])
    return InvalidArgument(f"{reference!r} refers to {key!r} (row {row}), but no {target!r} has that id{more}.{advice}")


def _expand(
    schema: Schema, name: str, cells: Mapping[str, Any], ids: dict[str, pd.Index[Any]], references: dict[str, Ints]
) -> NDArray[Any]:
    """All links that there may be as the objects of a class, in place of those in its table; which of them exist."""
    import pandas as pd

    slots = schema.own_references(name)
    sizes = [len(ids[target]) for target in slots.values()]
    if math.prod(sizes) > _MOST_LINKS:
        raise TooLarge(
            f"There are {math.prod(sizes):,} links that {name!r} could have, and at most {_MOST_LINKS:,} are listed. "
            f"Keep to fewer objects, or take {name!r} out of existence=."
        )
    rows = [references[f"{name}.{slot}"] for slot in slots]
    every = np.indices(sizes).reshape(len(sizes), -1)
    is_link = np.ones(every.shape[1], dtype=np.bool_)
    targets = list(slots.values())
    for first, second in itertools.combinations(range(len(targets)), 2):
        if targets[first] == targets[second]:
            is_link &= every[first] != every[second]
    for slot, ends in zip(slots, rows, strict=True):
        if (ends < 0).any():
            raise InvalidArgument(
                f"Row {int(np.argmax(ends < 0))} of {name!r} refers to nothing by {slot!r}: a link has two ends."
            )
    places = np.ravel_multi_index(rows, sizes) if len(rows[0]) else np.empty(0, dtype=np.int64)
    exists = np.zeros(every.shape[1], dtype=np.int8)
    told = (
        encode_small(schema.variable(f"{name}.{EXISTS}"), cells[EXISTS], allow_missing=True) if EXISTS in cells else 1
    )
    firsts = np.unique(places, return_index=True)[1]
    for why, wrong in (
        ("is from an object to itself", ~is_link[places]),
        ("stands twice", _all_but(firsts, len(places))),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            link = ", ".join(str(plain(ids[target][end[row]])) for target, end in zip(targets, rows, strict=True))
            raise InvalidArgument(f"Row {row} of {name!r}, the link of {link}, {why}: leave it out.")
    exists[places] = told
    kept = every[:, is_link]
    for slot, ends in zip(slots, kept, strict=True):
        references[f"{name}.{slot}"] = ends.astype(np.int64)
    levels: list[Any] = [ids[target] for target in targets]
    ids[name] = pd.MultiIndex(levels=levels, codes=list(kept), names=list(slots))
    if any("," in key_text(key) for level in levels if level.dtype.kind not in "iuf" for key in level):
        _refuse_alike(name, ids[name])
    return exists[is_link]


def _all_but(kept: Ints, num: int) -> NDArray[np.bool_]:
    mask = np.ones(num, dtype=np.bool_)
    mask[kept] = False
    return mask


def _encoded(variable: Variable, cells: Any) -> NDArray[Any]:
    return np.asarray(encode_small(variable, cells, allow_missing=True))
