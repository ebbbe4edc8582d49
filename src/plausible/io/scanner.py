"""What readers of text formats share: comments, numbers in bulk, lists of items."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import FormatError
from plausible.io.assembly import Place

#: Comments as in C++, and the strings that may hold their marks.
C_COMMENTS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))', re.DOTALL)

_NUMERIC: Final = b"0123456789+-.eE, \t\r\n"
_NEXT: Final = re.compile(r"[(}]|(?:table|default|property)\b")
_WORD: Final = re.compile(r"[^\s,]+")
_NOT_NEWLINE: Final = re.compile(r"[^\r\n]")
_BETWEEN_COMMAS: Final = re.compile(r'(?:[^",]|"[^"\n]*")+')
_BETWEEN_BLANKS: Final = re.compile(r'"[^"\n]*"|[^\s,"]+')


def blank_comments(text: str, pattern: re.Pattern[str], marks: Iterable[str]) -> str:
    """The text with every comment replaced by blanks, so that all else keeps its place.

    The pattern matches what may hold the mark of a comment without being one (a quoted string, say), or, as its group
    `comment`, a comment. A comment that starts with `/*` and does not end is an error.

    >>> blank_comments('a "%" % b', re.compile('"[^"]*"|(?P<comment>%.*)'), "%")
    'a "%"    '
    """
    if not any(mark in text for mark in marks):
        return text

    def blank(match: re.Match[str]) -> str:
        comment = match.group("comment")
        if comment is None:
            return match.group()
        if comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/")):
            raise Place.at(text, match.start("comment")).error("This comment is not closed: expected '*/'.")
        return _NOT_NEWLINE.sub(" ", comment)

    return pattern.sub(blank, text)


def numbers(text: str) -> Floats | None:
    """The numbers in a text, separated by blanks or commas; None where it holds anything else.

    >>> numbers("0.5, 5e-1 1").tolist(), numbers("0.5 nan"), numbers("0.5 1_0")
    ([0.5, 0.5, 1.0], None, None)
    """
    if not is_numeric(text):
        return None
    try:
        return floats(text.replace(",", " ").split())
    except ValueError:
        return None


def floats(words: Sequence[str]) -> Floats:
    """The words as numbers; tables repeat a few of them over and over, which are then read once."""
    distinct = set(words)
    if 4 * len(distinct) > len(words):
        return np.array(list(map(float, words)), dtype=np.float64)
    known = {word: float(word) for word in distinct}
    return np.array([known[word] for word in words], dtype=np.float64)


def is_numeric(text: str) -> bool:
    """Whether only digits, signs, points, exponents, commas and blanks are there: `float` takes more than these."""
    try:
        return not text.encode("ascii").translate(None, _NUMERIC)
    except UnicodeEncodeError:
        return False


def read_numbers(text: str, start: int, end: int) -> Floats:
    """The numbers in `text[start:end]`, separated by blanks or commas; an error at the first thing that is none."""
    found = numbers(text[start:end])
    if found is not None:
        return found
    for word in _WORD.finditer(text, start, end):
        if numbers(word.group()) is None:
            hint = " Is a ';' missing before it?" if _NEXT.match(word.group()) else ""
            raise Place.at(text, word.start()).error(f"Expected a number, not {shown(word.group())}.{hint}")
    raise FormatError("Expected numbers.")


def split_items(text: str, count: int | None) -> list[str] | None:
    """The items of a list: those between commas or, where that gives the wrong count, between blanks.

    None where neither way gives `count` items; a count of None takes what there is.

    >>> split_items('a, "b c", d e', 3), split_items('a "b c" d', 3), split_items("a, b", 3)
    (['a', 'b c', 'd e'], ['a', 'b c', 'd'], None)
    """
    by_commas = split_at_commas(text)
    if by_commas is not None and (len(by_commas) == count or (count is None and "," in text)):
        return by_commas
    by_blanks = split_at_blanks(text)
    return by_blanks if count is None or len(by_blanks) == count else None


def split_at_commas(text: str) -> list[str] | None:
    """The items between commas, blanks inside of them kept; None where quotation marks are only part of an item."""
    if '"' not in text:
        return [stripped for item in text.split(",") if (stripped := item.strip())]
    items = [stripped for item in _BETWEEN_COMMAS.findall(text) if (stripped := item.strip())]
    for item in items:
        if '"' in item and not (item[0] == item[-1] == '"' and item.count('"') == 2):
            return None
    return [_unquoted(item) for item in items]


def split_at_blanks(text: str) -> list[str]:
    """The items between commas or blanks; those in quotation marks are whole."""
    return [_unquoted(item) for item in _BETWEEN_BLANKS.findall(text)]


def _unquoted(item: str) -> str:
    return item[1:-1] if item.startswith('"') else item


def merged(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Key -> value; a key that is repeated has its values on lines of their own.

    >>> merged([("a", "1"), ("b", "2"), ("a", "3")])
    {'a': '1\\n3', 'b': '2'}
    """
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: "\n".join(values) for key, values in found.items()}


def shown(text: str, length: int = 30) -> str:
    """A piece of the file for an error message, cut where it is long."""
    line = text.strip().split("\n", 1)[0]
    return repr(line if len(line) <= length else line[:length] + "...")
