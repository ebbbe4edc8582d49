"""What readers of text formats share: comments, numbers in bulk, lists of items, words with their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from plausible.base import Floats, Positions
from plausible.cpds.reading import MAX_ROUNDING
from plausible.errors import FormatError
from plausible.io.assembly import Place

#: Comments as in C++, and the strings that may hold their marks.
C_COMMENTS: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))', re.DOTALL)

_NUMERIC: Final = b"0123456789+-.eE, \t\r\n"
_NEXT: Final = re.compile(r"[(}]|(?:table|default|property)\b")
_WORD: Final = re.compile(r"[^\s,]+")
_BLANKS: Final = re.compile(r"\s*")
_NOT_NEWLINE: Final = re.compile(r"[^\r\n]")
_BETWEEN_COMMAS: Final = re.compile(r'(?:[^",]|"[^"\n]*")+')
_BETWEEN_BLANKS: Final = re.compile(r'"[^"\n]*"|[^\s,"]+')


def blank_comments(text: str, pattern: re.Pattern[str], marks: Iterable[str]) -> str:
    """The text with every comment replaced by blanks, so that all else keeps its place.

    The pattern matches what may hold the mark of a comment without being one (a quoted string, say), or, as its group
    `comment`, a comment. A comment that starts with `/*` and does not end is an error. What it matches ends with the
    text if it does not end before, so that none of it is looked through twice.
    """
    if not any(mark in text for mark in marks):
        return text

    def blank(match: re.Match[str]) -> str:
        comment = match.group("comment")
        if comment is None:
            return match.group()
        if comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/")):
            raise Place.at(text, match.start("comment")).error("This comment is not closed: expected '*/'.")
        return blanked(comment)

    return pattern.sub(blank, text)


def blanked(text: str) -> str:
    """Blanks in place of a text, line by line."""
    return _NOT_NEWLINE.sub(" ", text)


def numbers(text: str) -> Floats | None:
    """The numbers in a text, separated by blanks or commas; None where it holds anything else."""
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
    """Key -> value; a key that is repeated has its values on lines of their own."""
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: "\n".join(values) for key, values in found.items()}


def after_blanks(text: str, position: int) -> int:
    """The first position from this one on that has no white space."""
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def shown(text: str, length: int = 30) -> str:
    """A piece of the file for an error message, cut where it is long."""
    line = text.strip().split("\n", 1)[0]
    return repr(line if len(line) <= length else line[:length] + "...")


@np.errstate(over="ignore")
def child_fastest(values: Floats, num_states: int) -> Floats:
    """The numbers of a table that lists the child's states slowest, in the usual order: those of one row together.

    Programs that list them fastest are found out by their rows, which sum to one (or, for parents that can't happen, to
    zero) only that way.
    """
    slowest, fastest = values.reshape(num_states, -1).T, values.reshape(-1, num_states)
    sums_to_one = [
        bool(np.all((sums == 0) | (np.abs(sums - 1.0) <= MAX_ROUNDING)))
        for sums in (slowest.sum(axis=1), fastest.sum(axis=1))
    ]
    return (fastest if sums_to_one == [False, True] else slowest).ravel()


_IS_SPACE = np.array([chr(code).isspace() for code in range(128)])


class Words:
    """The words of an ASCII text, read one after the other, with their places."""

    def __init__(self, text: str) -> None:
        if not text.isascii():
            foreign = next(offset for offset, character in enumerate(text) if not character.isascii())
            raise Place.at(text, foreign).error(f"Expected words and numbers in ASCII, found {text[foreign]!r}.")
        self.text = text
        self.words = text.split()
        #: The number of words read so far.
        self.position = 0

    @property
    def num_left(self) -> int:
        """The number of words not read yet."""
        return len(self.words) - self.position

    def next(self, expected: str) -> str:
        """The next word."""
        if not self.num_left:
            raise self.error(f"Expected {expected}, but the file ends here.")
        self.position += 1
        return self.words[self.position - 1]

    def integer(self, expected: str, upper: int | None = None) -> int:
        """The next word as a non-negative integer, below `upper` if that is given."""
        word = self.next(expected)
        # Twenty digits are more than any count or index; int() would take a quadratic time for millions.
        number = int(word) if word.isdigit() and len(word) <= 20 else -1
        if number < 0 or (upper is not None and number >= upper):
            bound = "" if upper is None else f" below {upper}"
            raise self.error(f"Expected {expected}, a whole number{bound}, found {shown(word)}.", self.position - 1)
        return number

    def count(self, expected: str, words_each: int = 1) -> int:
        """The next word as a number of things that follow, each of at least `words_each` words."""
        count = self.integer(expected)
        if count * words_each > self.num_left:
            problem = f"{expected.capitalize()} is {count}: the file is too short for that."
            raise self.error(problem, self.position - 1)
        return count

    def skip(self, count: int) -> None:
        """Pass over words, to be read later."""
        if count > self.num_left:
            problem = f"Expected {count} more words, but the file has only {self.num_left}."
            raise self.error(problem, len(self.words))
        self.position += count

    def numbers_at(self, first: int, count: int) -> Floats:
        """`count` words as finite numbers, from the one with number `first`."""
        return parse_numbers(self.words[first : first + count], lambda number: self.place(first + number))

    def end(self) -> None:
        """Check that every word was read."""
        if self.num_left:
            raise self.error(f"Expected the end of the file, found {shown(self.words[self.position])}.")

    def place(self, number: int) -> Place:
        """The place of a word; that of the end of the text for a number past the last one."""
        starts, lines = self._layout
        offset = int(starts[number]) if number < len(starts) else len(self.text)
        line = int(np.searchsorted(lines, offset, side="right"))
        return Place(line, offset - int(lines[line - 1]) + 1)

    def error(self, problem: str, number: int | None = None) -> FormatError:
        """The error for a problem with a word, or with the next one."""
        return self.place(self.position if number is None else number).error(problem)

    @cached_property
    def _layout(self) -> tuple[Positions, Positions]:
        """The offsets of all words, and of all lines."""
        codes = np.frombuffer(self.text.encode("ascii"), dtype=np.uint8)
        space = np.concatenate([[True], _IS_SPACE[codes]])
        starts = np.flatnonzero(space[:-1] & ~space[1:])
        return starts, np.concatenate([[0], np.flatnonzero(codes == ord("\n")) + 1])


def parse_numbers(words: list[str], place_of: Callable[[int], Place]) -> Floats:
    """Words as finite numbers; `place_of` finds the word, by its position, that an error is about."""
    try:
        numbers = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        numbers = np.full(len(words), np.nan)
    if not np.isfinite(numbers).all() or not _is_plain("".join(words)):
        wrong = next(number for number, word in enumerate(words) if not _is_number(word))
        raise place_of(wrong).error(f"Expected a finite number, found {shown(words[wrong])}.")
    return numbers


def _is_plain(text: str) -> bool:
    """Without the Arabic digits and underscores that `float` takes but no file format does."""
    return text.isascii() and "_" not in text


def _is_number(word: str) -> bool:
    try:
        return _is_plain(word) and bool(np.isfinite(float(word)))
    except ValueError:
        return False
