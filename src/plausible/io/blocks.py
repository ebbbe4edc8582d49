"""Texts made of blocks and fields: `head { name = value; head { ... } }`, as NET, DNE and DSL files are.

The tree that comes out has values as they are written; what they mean is for each format to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from plausible.base import Floats
from plausible.errors import FormatError
from plausible.io.assembly import Place
from plausible.io.scanner import after_blanks, floats, is_numeric, shown

#: Blocks may be nested this deeply.
MAX_DEPTH: Final = 50

_HEAD: Final = re.compile(r'\s*+([^{}=;"]*+)([{}=;"]|\Z)')
_SIMPLE: Final = re.compile(r'\s*+([^;{}"]*+);')
_QUOTED: Final = re.compile(r'\s*+("(?:[^"\\]|\\.)*+")\s*+;', re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_MARK: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[(){};"]', re.DOTALL)
_ITEM: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[(),]|[^\s(),"]+', re.DOTALL)
_OUTER: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[()]|(\b\w++\s*+=|=)', re.DOTALL)
_EMPTY_ENTRY: Final = re.compile(r"[,(]\s*,")
_WORD: Final = re.compile(r"[^\s(),]+")
_ESCAPE: Final = re.compile(r"\\(?:(\r?\n[ \t]*)|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_SPACED: Final = str.maketrans("(,", "  ")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a field: a span of the text or, where it is in braces, a block."""

    source: str = field(repr=False)
    start: int
    end: int
    block: Block | None = None

    @property
    def raw(self) -> str:
        """The value as it is written."""
        return self.source[self.start : self.end]

    @property
    def is_quoted(self) -> bool:
        """Whether the value is one string in quotation marks."""
        match = _STRING.match(self.source, self.start, self.end)
        return match is not None and match.end() == self.end

    @property
    def place(self) -> Place:
        """Where the value begins."""
        return Place.at(self.source, self.start)

    def text(self) -> str:
        """What a string says; any other value as it is written."""
        return unescaped(self.raw[1:-1]) if self.is_quoted else self.raw

    def items(self) -> list[str]:
        """The entries of a list `(a b)` or `(a, b)`, strings without their marks; nested lists are an error.

        An empty entry, as between two commas, is an empty text.
        """
        marks = list(_ITEM.finditer(self.source, self.start, self.end))
        words = [mark.group() for mark in marks]
        if len(words) < 2 or words[0] != "(" or words[-1] != ")":
            raise self.place.error(f"Expected a list in parentheses, not {shown(self.raw)}.")
        found: list[str] = []
        after_comma = False
        for mark, word in zip(marks[1:-1], words[1:-1], strict=True):
            if word in "()":
                raise Place.at(self.source, mark.start()).error("Expected no list inside of this list.")
            if word == ",":
                if after_comma or not found:
                    found.append("")
                after_comma = True
            else:
                found.append(unescaped(word[1:-1]) if word.startswith('"') else word)
                after_comma = False
        return found

    def numbers(self, width: int | None = None) -> Floats:
        """All numbers of a list that may be nested; innermost lists have `width` numbers, or there is only one list."""
        raw = self.raw
        marks = np.frombuffer(re.sub("[^()]", "", raw).encode("ascii"), dtype=np.uint8)
        depths = np.cumsum(np.where(marks == ord("("), 1, -1))
        if not raw.startswith("(") or not marks.size or depths.min() < 0 or depths[-1] != 0 or (depths[:-1] == 0).any():
            raise self.place.error(f"Expected a list in balanced parentheses, not {shown(raw)}.")
        if (empty := _EMPTY_ENTRY.search(raw)) is not None:
            raise Place.at(self.source, self.start + empty.start()).error("Expected a number; this entry is empty.")
        flat = raw.translate(_SPACED)
        rows = [words for piece in flat.split(")") if (words := piece.split())]
        if width is not None and len(rows) > 1:
            wrong = next((row for row in rows if len(row) != width), None)
            if wrong is not None:
                raise self.place.error(f"Expected {width} numbers in each innermost list, not {len(wrong)}.")
        try:
            if not is_numeric(flat.replace(")", " ")):
                raise ValueError
            return floats([word for row in rows for word in row])
        except ValueError:
            raise self._not_a_number() from None

    def words(self) -> Iterator[re.Match[str]]:
        """The words of a list that may be nested, without parentheses and commas."""
        return _WORD.finditer(self.source, self.start, self.end)

    def _not_a_number(self) -> FormatError:
        for word in self.words():
            try:
                if is_numeric(word.group()):
                    float(word.group())
                    continue
            except ValueError:
                pass
            return Place.at(self.source, word.start()).error(f"Expected a number, not {shown(word.group())}.")
        return self.place.error("Expected a list of numbers.")


@dataclass(slots=True)
class Block:
    """A block: its head, its fields in order, and the blocks inside of it."""

    head: str
    place: Place
    fields: list[tuple[str, Value]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def get(self, name: str) -> Value | None:
        """The value of a field that may stand there once."""
        found = [value for known, value in self.fields if known == name]
        if len(found) > 1:
            raise found[1].place.error(f"{name!r} stands twice in {shown(self.head)}.")
        return found[0] if found else None

    def text(self, name: str) -> str:
        """The text of a field; empty where there is none."""
        value = self.get(name)
        return "" if value is None else value.text()

    def inner(self, name: str) -> Block:
        """The block that is the value of a field; an empty one where there is none."""
        value = self.get(name)
        return value.block if value is not None and value.block is not None else Block(name, self.place)


def parse_blocks(text: str) -> Block:
    """The tree of a text from which comments have been taken out."""
    root = Block("", Place.at(text, 0))
    end = _read_into(root, text, 0, 0)
    if end < len(text):
        raise Place.at(text, end).error("This '}' closes nothing.")
    return root


def sole_block(tree: Block, kind: str) -> Block:
    """The one block, of head `kind` or `kind name`, that a file consists of."""
    if tree.fields:
        raise tree.fields[0][1].place.error(f"The field {tree.fields[0][0]!r} stands outside of the {kind} block.")
    if not tree.blocks:
        raise Place(1, 1).error(f"Expected '{kind} name {{ ... }}'; the file has no block.")
    for block in tree.blocks:
        if block.head.split()[0] != kind:
            raise block.place.error(f"Expected '{kind} name {{ ... }}', not {shown(block.head)}.")
    if len(tree.blocks) > 1:
        raise tree.blocks[1].place.error(f"The file has two {kind} blocks.")
    return tree.blocks[0]


def unescaped(text: str) -> str:
    """The text inside of quotation marks with its escapes resolved; an unknown one stays as it is."""

    def resolve(match: re.Match[str]) -> str:
        return "" if match[1] else _ESCAPED.get(match[2], match.group())

    return _ESCAPE.sub(resolve, text) if "\\" in text else text


def _read_into(block: Block, text: str, position: int, depth: int) -> int:
    """Read fields and blocks up to the `}` that ends `block`; its position."""
    if depth > MAX_DEPTH:
        raise block.place.error(f"Blocks are nested more than {MAX_DEPTH} deep.")
    while True:
        match = _HEAD.match(text, position)
        assert match is not None
        head, mark, start = match[1].strip(), match[2], match.start(1)
        if mark == "=" and head:
            value, position = _read_value(head, text, match.end(), depth)
            block.fields.append((head, value))
        elif mark == "{" and head:
            inner = Block(" ".join(head.split()), Place.at(text, start))
            position = _closed(inner, text, match.end(), depth)
            block.blocks.append(inner)
        elif mark == ";" and not head:
            position = match.end()
        elif mark in ("", "}") and not head:
            return match.start(2)
        else:
            found = shown(text[start : match.end() + 20]) if start < len(text) else "the end of the file"
            raise Place.at(text, start).error(f"Expected 'name = value;' or 'head {{ ... }}', not {found}.")


def _closed(block: Block, text: str, position: int, depth: int) -> int:
    """Read a block from after its `{`; the position after its `}`."""
    end = _read_into(block, text, position, depth + 1)
    if end >= len(text):
        raise block.place.error(f"The block {shown(block.head)} is not closed: expected '}}'.")
    return end + 1


def _read_value(name: str, text: str, position: int, depth: int) -> tuple[Value, int]:
    match = _SIMPLE.match(text, position) or _QUOTED.match(text, position)
    if match is not None:
        start = match.start(1)
        value = Value(text, start, start + len(match[1].rstrip()))
        _check_single(name, value)
        return value, match.end()
    start = after_blanks(text, position)
    level = 0
    for mark in _MARK.finditer(text, position):
        symbol = mark.group()
        if symbol == '"':
            raise Place.at(text, mark.start()).error("This string is not closed: expected '\"'.")
        if symbol == ";" and level == 0:
            value = Value(text, start, start + len(text[start : mark.start()].rstrip()))
            _check_single(name, value)
            return value, mark.end()
        if symbol == "{" and level == 0:
            inner = Block(name, Place.at(text, start))
            end = _closed(inner, text, mark.end(), depth)
            return Value(text, start, end, inner), end
        if symbol in "{};":
            break
        level += (symbol == "(") - (symbol == ")")
    missing = ")" if level > 0 else ";"
    raise Place.at(text, start).error(f"The value of {name!r} has no end: expected '{missing}'.")


def _check_single(name: str, value: Value) -> None:
    """Refuse a value with another field behind it, as is read where the semicolon between them is missing.

    An expression in parentheses may compare things, so that it holds signs of equality. Parentheses are closed.
    """
    source, span = value.source, (value.start, value.end)
    begins_quoted = source.startswith('"', value.start)
    may_be_open = source.count("(", *span) != source.count(")", *span)
    if value.is_quoted or not (begins_quoted or may_be_open or source.find("=", *span) >= 0):
        return
    level = 0
    for mark in _OUTER.finditer(source, *span):
        symbol = mark.group()
        level += (symbol == "(") - (symbol == ")")
        if mark[1] and level <= 0:
            raise Place.at(source, mark.start()).error(
                f"Expected ';' after the value of {name!r}, before {shown(symbol)}."
            )
    if level:
        raise value.place.error(f"Parentheses in the value of {name!r} don't match: expected '{'()'[level > 0]}'.")
    if begins_quoted:
        raise value.place.error(f"Expected ';' after the string that is the value of {name!r}.")
