"""JSON values that know where in the text they stand, for errors that say so.

Places are looked for only when there is an error to report: the text is parsed by the standard library's fast parser.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

from plausible.base import Remedy
from plausible.errors import FormatError, suggestion
from plausible.io.assembly import Place
from plausible.io.scanner import after_blanks

Path: TypeAlias = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]')
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<constant>NaN|-?Infinity)')
_LONG_INTEGER = re.compile(r"\d{4000,}")


def parse_values(text: str) -> JSONValue:
    """The outermost value of a JSON text; repeated keys, NaN and Infinity are errors."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise FormatError(f"This is not JSON: {error.msg}.", line=error.lineno, column=error.colno) from None
    except _Repeated as error:
        offset = next(offset for path, offset, is_repeated in _walk(text) if is_repeated)
        raise Place.at(text, offset).error(f"The field {str(error)!r} stands twice in one object.") from None
    except _Constant as error:
        found = next(match for match in _CONSTANT.finditer(text) if match["constant"])
        raise Place.at(text, found.start()).error(f"{error} is not a number that can be read.") from None
    except RecursionError:
        raise FormatError("The file is nested too deeply.", line=1, column=1) from None
    except ValueError:
        found_integer = _LONG_INTEGER.search(text)
        offset = found_integer.start() if found_integer else 0
        raise Place.at(text, offset).error("This number has too many digits.") from None
    return JSONValue(value, (), text)


class _Repeated(ValueError):
    """A key that stands twice in an object."""


class _Constant(ValueError):
    """A constant that JSON does not have."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Repeated(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


def _refuse(constant: str) -> NoReturn:
    raise _Constant(constant)


class JSONPlace(Place):
    """The place of the value at a path, found when it is asked for; errors name the path."""

    __slots__ = ("_path",)

    def __init__(self, text: str, path: Path) -> None:
        self._found, self._text, self._offset, self._path = None, text, 0, path

    def _line_and_column(self) -> tuple[int, int]:
        if self._found is None:
            offsets = (offset for path, offset, _ in _walk(self._text) if path == self._path)
            place = Place.at(self._text, next(offsets, 0))
            self._found = place.line, place.column
        return self._found

    def error(self, problem: str, *remedies: Remedy) -> FormatError:
        """The error for a problem with this value."""
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self._path).lstrip(".")
        return super().error(f"{path}: {problem}" if path else problem, *remedies)


@dataclass(frozen=True, slots=True)
class JSONValue:
    """A value, the path that leads to it, and the text that it stands in."""

    value: Any
    path: Path
    source: str

    @property
    def place(self) -> JSONPlace:
        """Where it stands."""
        return JSONPlace(self.source, self.path)

    def error(self, problem: str) -> FormatError:
        """The error for a problem with this value."""
        return self.place.error(problem)

    def _below(self, part: str | int, value: Any) -> JSONValue:
        return JSONValue(value, (*self.path, part), self.source)

    def fields(self, required: Collection[str], optional: Collection[str] | None) -> dict[str, JSONValue]:
        """The fields of an object; others than these are an error, unless `optional` is None."""
        if not isinstance(self.value, dict):
            raise self.error(f"Expected an object, found {_kind(self.value)}.")
        known = [*required, *(optional or ())]
        for key in self.value if optional is not None else ():
            if key not in known:
                raise self._below(key, None).error(f"{key!r} is not a known field.{suggestion(key, known)}")
        for key in required:
            if key not in self.value:
                close = get_close_matches(key, sorted(set(self.value).difference(known)), n=1)
                hint = f" {close[0]!r} looks like a misspelling of it." if close else ""
                raise self.error(f"The field {key!r} is missing.{hint}")
        return {key: self._below(key, value) for key, value in self.value.items()}

    def items(self) -> list[JSONValue]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.error(f"Expected a list, found {_kind(self.value)}.")
        return [self._below(number, item) for number, item in enumerate(self.value)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self.error(f"Expected text, found {_kind(self.value)}.")
        return self.value

    def texts(self) -> dict[str, str]:
        """An object with strings as its fields."""
        return {key: value.text() for key, value in self.fields((), None).items()}

    def check_number(self) -> None:
        """Refuse anything but a number."""
        if type(self.value) not in (int, float):
            raise self.error(f"Expected a number, found {_kind(self.value)}.")

    def check_record(self) -> None:
        """Refuse text and truth values, which some would take for numbers, in lists and objects of any depth."""
        waiting = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part.value, list):
                if not set(map(type, part.value)) <= {int, float}:
                    waiting += part.items()
            elif isinstance(part.value, dict):
                waiting += part.fields((), None).values()
            elif part.value is not None:
                part.check_number()


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _walk(text: str) -> Iterator[tuple[Path, int, bool]]:
    """Path and offset of every value of a well-formed text, and whether its key was there before in its object."""
    yield (), after_blanks(text, 0), False
    path: list[str | int] = []
    keys: list[set[str] | None] = []
    is_key = False
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            is_key = mark == "{"
            keys.append(set() if is_key else None)
            path.append("" if is_key else 0)
            start = after_blanks(text, token.end())
            if not is_key and text[start : start + 1] != "]":
                yield tuple(path), start, False
        elif mark in "]}":
            keys.pop()
            path.pop()
            is_key = False
        elif mark == '"' and is_key:
            path[-1] = json.loads(token[0], strict=False)
            is_key = False
        elif mark == ":":
            seen, key = keys[-1], str(path[-1])
            assert seen is not None
            yield tuple(path), after_blanks(text, token.end()), key in seen
            seen.add(key)
        elif mark == "," and keys[-1] is not None:
            is_key = True
        elif mark == ",":
            path[-1] = int(path[-1]) + 1
            yield tuple(path), after_blanks(text, token.end()), False
