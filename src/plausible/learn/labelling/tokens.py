"""Sequences of tokens as users give them, and as one sparse matrix: a row for each token, a column for each feature."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints, starts_of
from plausible.base.records import shortened, shown
from plausible.data.columns import frame_columns
from plausible.data.factorizing import is_absent
from plausible.data.times import Steps
from plausible.errors import InvalidArgument, counted, suggestion

#: One sequence: a list of dictionaries, of lists of texts or of texts; a matrix, dense or sparse; a data frame.
SequenceLike: TypeAlias = Any


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The features of all tokens, sequence after sequence."""

    sequence_starts: Ints  # sequence s has the tokens `sequence_starts[s]:sequence_starts[s + 1]`
    #: Token t has the features `features[starts[t]:starts[t + 1]]`, with the values beside them.
    starts: Ints
    features: Codes
    values: Floats

    @property
    def num_sequences(self) -> int:
        """How many sequences there are, empty ones included."""
        return len(self.sequence_starts) - 1

    @property
    def num_tokens(self) -> int:
        """The tokens of all sequences."""
        return len(self.starts) - 1

    @property
    def later(self) -> Ints:
        """The tokens that have one before them in their sequence."""
        return later_tokens(self.sequence_starts)

    def split(self, items: Any) -> list[Any]:
        """What there is one of for each token, sequence by sequence."""
        ends = self.sequence_starts.tolist()
        return [items[begin:end] for begin, end in pairwise(ends)]

    def place_of(self, token: int) -> str:
        """Where a token is, for messages."""
        sequence = int(np.searchsorted(self.sequence_starts, token, side="right")) - 1
        return f"sequence {sequence}, position {token - int(self.sequence_starts[sequence])}"


def later_tokens(sequence_starts: Ints) -> Ints:
    """The tokens that are not the first of their sequences.

    >>> later_tokens(np.array([0, 2, 2, 5])).tolist()
    [1, 3, 4]
    """
    is_later = np.ones(int(sequence_starts[-1]) + 1, dtype=bool)
    is_later[sequence_starts] = False
    return np.flatnonzero(is_later)


@dataclass(slots=True, eq=False)
class Vocabulary:
    """The names of features and their places; it grows while it is open, and ignores what it does not know when not."""

    places: dict[str, int] = field(default_factory=lambda: _Growing())
    width: int | None = None  # the number of columns, where sequences are matrices
    _cells: dict[tuple[str, str], int] = field(default_factory=dict)  # place of "name=text", without writing that

    @classmethod
    def of(cls, names: Iterable[str], width: int | None = None) -> Vocabulary:
        """A closed one that has these names."""
        return cls({name: place for place, name in enumerate(names)}, width)

    @property
    def is_open(self) -> bool:
        """Whether names that are new get a place."""
        return isinstance(self.places, _Growing)

    def close(self) -> None:
        """Let no more names in."""
        self.places, self._cells = dict(self.places), {}

    @property
    def names(self) -> list[str]:
        """The features, by their places."""
        return list(self.places)

    def place(self, name: str) -> int:
        """Where a feature is; -1 where it is not known."""
        return self.places[name] if self.is_open else self.places.get(name, -1)

    def place_of_cell(self, name: str, text: str) -> int:
        """Where the indicator that a feature has a text is."""
        found = self._cells.get((name, text))
        if found is None:
            found = self._cells[name, text] = self.place(f"{name}={text}")
        return found

    def __getstate__(self) -> tuple[Any, ...]:
        return list(self.places), self.width

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        names, self.width = state
        self.places, self._cells = {name: place for place, name in enumerate(names)}, {}


class _Growing(dict[str, int]):
    """Places of names; a new one gets the next."""

    def __missing__(self, name: str) -> int:
        place = self[name] = len(self) if isinstance(name, str) else _refuse(name)
        return place


def read_tokens(sequences: Iterable[SequenceLike], vocabulary: Vocabulary) -> Tokens:
    """All sequences as one matrix; features that a closed vocabulary does not have are left out.

    >>> vocabulary = Vocabulary()
    >>> tokens = read_tokens([[{"word": "the", "len": 3.0}, {"word": "cat", "caps": True}], []], vocabulary)
    >>> vocabulary.names, tokens.features.tolist(), tokens.sequence_starts.tolist()
    (['word=the', 'len', 'word=cat', 'caps'], [0, 1, 2, 3], [0, 2, 2])
    """
    if isinstance(sequences, str | Mapping) or _columns(sequences) is not None:
        raise InvalidArgument(
            f"sequences= is a list of sequences, not {shortened(sequences)}: put one sequence into a list, and name "
            "the column that tells sequences of one frame apart by sequence=."
        )
    rows = _Rows(vocabulary)
    ends = [rows.add(sequence, f"sequence {number}") for number, sequence in enumerate(sequences)]
    starts = np.array([0, *ends], dtype=np.int64)
    return Tokens(starts, *rows.arrays())


class _Rows:
    """Rows of a sparse matrix as they come."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.ends: list[int] = [0]
        self.features: list[int] = []
        self.values: list[float] = []

    def arrays(self) -> tuple[Ints, Codes, Floats]:
        """Starts of the tokens, features, values; unknown features are left out."""
        starts, features = np.array(self.ends, dtype=np.int64), np.array(self.features, dtype=np.int32)
        values, is_known = np.array(self.values, dtype=float), features >= 0
        if not is_known.all():
            starts = np.concatenate([[0], np.cumsum(is_known)])[starts]
            features, values = features[is_known], values[is_known]
        return starts, features, values

    def add(self, sequence: SequenceLike, place: str) -> int:
        """Add the tokens of a sequence, and tell how many there are so far."""
        columns = _columns(sequence)
        if isinstance(sequence, str | Mapping) or not isinstance(sequence, Iterable):
            raise InvalidArgument(
                f"{place} is {shortened(sequence)}: a sequence is a list of tokens, each a dictionary or a list of "
                "texts, a matrix with a row for each token, or a data frame."
            )
        if columns is not None:
            self._add_dictionaries(rows_of_columns(columns), place)
        elif _is_matrix(sequence):
            self._add_matrix(sequence, place)
        else:
            self._add_tokens(list(sequence), place)
        return len(self.ends) - 1

    def _add_tokens(self, tokens: list[Any], place: str) -> None:
        if tokens and isinstance(tokens[0], Mapping):
            self._add_dictionaries(tokens, place)
            return
        self._refuse_other_kind(place, is_matrix=False)
        places = self.vocabulary.places
        of = places.__getitem__ if self.vocabulary.is_open else lambda text: places.get(text, _unknown(text))
        for number, token in enumerate(tokens):
            texts = [token] if isinstance(token, str) else token
            try:
                self.features.extend(map(of, texts))
            except TypeError:
                raise InvalidArgument(
                    f"{place}, position {number}: a token is a dictionary, a list of texts or a text, not "
                    f"{shortened(token)}. A sequence of numbers is a matrix: a row for each token."
                ) from None
            self.values.extend([1.0] * (len(self.features) - len(self.values)))
            self.ends.append(len(self.features))

    def _add_dictionaries(self, tokens: Iterable[Mapping[str, Any]], place: str) -> None:
        self._refuse_other_kind(place, is_matrix=False)
        of_cell, of = self.vocabulary.place_of_cell, self.vocabulary.place
        for number, token in enumerate(tokens):
            if not isinstance(token, Mapping):
                raise InvalidArgument(
                    f"{place}, position {number}: {shortened(token)} is no dictionary, as the tokens before it are."
                )
            for name, value in token.items():
                if isinstance(value, str):
                    self.features.append(of_cell(name, value))
                    self.values.append(1.0)
                elif value is not None and value is not False:
                    self.features.append(of(str(name)))
                    self.values.append(_number(value, f"{place}, position {number}", name))
            self.ends.append(len(self.features))

    def _add_matrix(self, matrix: Any, place: str) -> None:
        width = self._refuse_other_kind(place, is_matrix=True, width=matrix.shape[1])
        if self.vocabulary.is_open and not self.vocabulary.places:
            self.vocabulary.places.update({str(column): column for column in range(width)})
        if hasattr(matrix, "tocsr"):
            sparse = matrix.tocsr()
            starts, columns, values = sparse.indptr, sparse.indices, np.asarray(sparse.data, dtype=float)
        else:
            dense = np.asarray(matrix, dtype=float)
            rows, columns = np.nonzero(dense)
            starts, values = starts_of(np.bincount(rows, minlength=len(dense))), dense[rows, columns]
        if not np.isfinite(values).all():
            entry = int(np.argmin(np.isfinite(values)))
            position = int(np.searchsorted(starts, entry, side="right")) - 1
            _number(float(values[entry]), f"{place}, position {position}", columns[entry])
        self.ends.extend((len(self.features) + starts[1:]).tolist())
        self.features.extend(columns.tolist())
        self.values.extend(values.tolist())

    def _refuse_other_kind(self, place: str, *, is_matrix: bool, width: int = 0) -> int:
        """Refuse matrices among sequences with names, and of another width."""
        known = self.vocabulary
        if is_matrix and known.is_open and not known.places:
            known.width = width
        if (known.width is not None) != is_matrix and known.places:
            wrong = "is a matrix, but others have" if is_matrix else "has names, but others are matrices without"
            raise InvalidArgument(f"{place} {wrong} names of features: give all of them in one form.")
        if is_matrix and known.width != width:
            raise InvalidArgument(
                f"{place} has {counted(width, 'column')}, but others have {known.width}: each column is a feature."
            )
        return width


def _refuse(_: object) -> int:
    raise TypeError


def _unknown(text: object) -> int:
    return -1 if isinstance(text, str) else _refuse(text)


def _number(value: Any, place: str, name: Hashable) -> float:
    if not isinstance(value, Real | np.bool_) or not math.isfinite(value):
        raise InvalidArgument(
            f"{place}: the feature {shown(name)} is {shortened(value)}: it has to be a finite number, a text, True or "
            "False. Leave it out of the token where it is not known."
        )
    return float(value)


def _is_matrix(sequence: Any) -> bool:
    if hasattr(sequence, "tocsr"):
        return True
    return isinstance(sequence, np.ndarray) and sequence.ndim == 2 and sequence.dtype.kind in "biuf"


def _columns(source: Any) -> Mapping[Any, Any] | None:
    """The columns of a data frame; `None` of what is none."""
    is_frame = hasattr(source, "columns") or hasattr(source, "column_names")
    return frame_columns(source) if is_frame else None


def rows_of_columns(columns: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """A dictionary for each row; missing cells of columns that are not of numbers are left out."""
    cells = {str(name): _cells(column) for name, column in columns.items()}
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _cells(column: Any) -> list[Any]:
    cells = list(column.to_list() if hasattr(column, "to_list") else column)
    if all(isinstance(cell, Real) for cell in cells):
        return cells
    return [None if is_absent(cell) else cell for cell in cells]


@dataclass(frozen=True, slots=True)
class FrameRows:
    """The rows of one frame that belong to each sequence, in order of time."""

    columns: Mapping[Any, Any]
    groups: list[list[int]]

    @classmethod
    def read(cls, frame: Any, sequence: str, time: str | None) -> FrameRows:
        """Sequences come as they first appear in the column that tells them apart."""
        columns = _columns(frame)
        if columns is None:
            raise InvalidArgument(f"sequence={sequence!r} names a column, but {shortened(frame)} is no data frame.")
        marks = _column(columns, sequence, "sequence")
        times = None if time is None else (time, _column(columns, time, "time"))
        steps = Steps.read(len(marks), (sequence, marks), times, "ignore")
        groups = [steps.rows[begin:end].tolist() for begin, end in pairwise(steps.starts)]
        rest = {name: column for name, column in columns.items() if name not in (sequence, time)}
        return cls(rest, groups)

    def without(self, name: str) -> tuple[FrameRows, list[list[Any]]]:
        """All columns but one, and the cells of that by sequence."""
        cells = [None if is_absent(cell) else cell for cell in _column(self.columns, name, "labels")]
        rest = {other: column for other, column in self.columns.items() if other != name}
        return FrameRows(rest, self.groups), self.split(cells)

    def split(self, cells: Sequence[Any]) -> list[list[Any]]:
        """What there is one of for each row, sequence by sequence."""
        return [[cells[row] for row in rows] for rows in self.groups]

    @property
    def sequences(self) -> list[list[dict[str, Any]]]:
        """A dictionary for each token."""
        return self.split(rows_of_columns(self.columns))


def _column(columns: Mapping[Any, Any], name: str, option: str) -> list[Any]:
    if name not in columns:
        raise InvalidArgument(f"{option}={name!r} is no column of the frame.{suggestion(name, columns)}")
    column = columns[name]
    return list(column.to_list() if hasattr(column, "to_list") else column)


def check_lengths(tokens: Tokens, lengths: Sequence[int], what: str) -> None:
    """Refuse what has not one entry for each token."""
    if len(lengths) != tokens.num_sequences:
        raise InvalidArgument(
            f"There are {counted(tokens.num_sequences, 'sequence')}, but {what} for {len(lengths)} of them."
        )
    for number, (given, needed) in enumerate(zip(lengths, np.diff(tokens.sequence_starts).tolist(), strict=True)):
        if given != needed:
            raise InvalidArgument(f"Sequence {number} has {counted(needed, 'token')}, but {given} {what}.")
