"""Words of a text: where they stand, and the numbers among them, read in bulk."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.errors import FormatError
from plausible.io.assembly import Place
from plausible.io.scanner import shown

_IS_SPACE = np.array([chr(code).isspace() for code in range(128)])


class Words:
    """The words of an ASCII text, read one after the other, with their places.

    >>> words = Words("MARKOV\\n3")
    >>> words.next("a keyword"), words.integer("the number of variables"), words.place(1).line
    ('MARKOV', 3, 2)
    """

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
