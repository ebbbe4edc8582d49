"""Reading XML from strangers: a small tree that knows the line and column of every element.

Nothing outside the text is ever fetched, entities can't be declared (so none can expand), and depth and number of
elements are bounded. An internal DTD of ELEMENT and ATTLIST declarations, which old XMLBIF files carry, is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final
from xml.parsers import expat

from plausible.base import Floats
from plausible.errors import FormatError, suggestion
from plausible.io.assembly import Place
from plausible.io.scanner import blanked, parse_numbers, shown

#: Elements may be nested this deeply.
MAX_DEPTH = 100
#: A text may have this many elements.
MAX_ELEMENTS = 2**22
#: What counts as white space in XML.
WHITESPACE = " \t\r\n"

_LONG_WORD = 200
_LATE_DECLARATION = re.compile(r"[\s\ufeff]+<\?xml\s[^<>]*\?>")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an XML text."""

    tag: str  # its name
    attributes: Mapping[str, str]  # name -> value, as written; defaults of a DTD are left out
    text: str  # the characters directly inside, comments and child elements taken out
    children: tuple[Element, ...]  # the elements directly inside, in order
    place: Place  # where its start tag begins
    source: str = field(repr=False, compare=False)  # the whole text, to find places in

    def error(self, problem: str) -> FormatError:
        """The error for a problem with this element."""
        return self.place.error(problem)

    def named(self, *tags: str) -> Iterator[Element]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def at_most_one(self, tag: str) -> Element | None:
        """The only child with this tag, if there is one."""
        found = list(self.named(tag))
        if len(found) > 1:
            raise found[1].error(f"<{self.tag}> can have only one <{tag}>.")
        return found[0] if found else None

    def one(self, tag: str) -> Element:
        """The only child with this tag."""
        found = self.at_most_one(tag)
        if found is None:
            instead = suggestion(tag, dict.fromkeys(child.tag for child in self.children))
            raise self.error(f"<{self.tag}> needs a <{tag}>.{instead}")
        return found

    def attribute(self, name: str) -> str:
        """An attribute that must be there."""
        if name not in self.attributes:
            raise self.error(f"<{self.tag}> needs the attribute {name}=.{suggestion(name, self.attributes)}")
        return self.attributes[name]

    def words(self) -> list[str]:
        """The text, split at white space."""
        return self.text.split()

    def content(self) -> str:
        """The text of an element that may have no children, without the white space around it."""
        self.check_children(())
        return self.text.strip(WHITESPACE)

    def check_children(self, tags: Iterable[str]) -> None:
        """Refuse children with other tags and, where children are allowed, text between them."""
        allowed = tuple(tags)
        for child in self.children:
            if child.tag not in allowed:
                raise child.error(f"<{child.tag}> is not expected in <{self.tag}>.{suggestion(child.tag, allowed)}")
        if allowed:
            self.check_no_text()

    def check_no_text(self) -> None:
        """Refuse text, which nobody would read, between the children."""
        for stray in self.words()[:1]:
            raise self.place_of(stray).error(f"{shown(stray)} is not expected in <{self.tag}>.")

    def numbers(self) -> Floats:
        """The text as finite numbers."""
        self.check_children(())
        words = self.words()
        return parse_numbers(words, lambda number: self.place_of(words[number]))

    def place_of(self, word: str) -> Place:
        """The first place of a word in the text of this element; the element's own place if it can't be told."""
        start = 0
        for _ in range(self.place.line - 1):
            start = self.source.find("\n", start) + 1
        start = self.source.find(">", start + self.place.column - 1)
        # A pattern costs a thousand times its text; so many characters are no other word, if they are not all of it.
        end = r"(?![^\s<])" if len(word) <= _LONG_WORD else ""
        found = re.compile(rf"(?<![^\s>]){re.escape(word[:_LONG_WORD])}{end}").search(self.source, start)
        return Place.at(self.source, found.start()) if found else self.place


def is_legal(text: str) -> bool:
    """Whether XML can hold a text: most control characters it can't, not even escaped."""
    return _ILLEGAL.search(text) is None


def replace_illegal(text: str) -> str:
    """The text with an underscore for each character that XML can't hold."""
    return _ILLEGAL.sub("_", text)


def parse_xml(text: str, root: str, fold: Callable[[str], str] = str) -> Element:
    """The tree of an XML text."""
    if not text.strip():
        raise FormatError("The file is empty.", line=1, column=1)
    declaration = text.find("<!ENTITY")
    if declaration >= 0:
        raise Place.at(text, declaration).error("Declarations of entities are not read: they can be used for attacks.")
    builder = _Builder(text, root, fold)
    # Blanks may stand before anything but the declaration, which tells nothing any more: the text is decoded.
    late = _LATE_DECLARATION.match(text)
    try:
        builder.parser.Parse(blanked(late.group()) + text[late.end() :] if late else text, True)
    except expat.ExpatError as error:
        problem = f"This is not well-formed XML: {expat.ErrorString(error.code)}."
        raise FormatError(problem, line=error.lineno, column=error.offset + 1) from None
    except UnicodeEncodeError as error:
        raise Place.at(text, error.start).error("This is not well-formed XML: half of a surrogate pair.") from None
    assert builder.tree is not None
    return builder.tree


class _Builder:
    """Turns the events of the parser into elements; `tree` is the outermost one."""

    def __init__(self, text: str, root: str, fold: Callable[[str], str]) -> None:
        self.tree: Element | None = None
        self._text, self._root, self._fold = text, root, fold
        #: Of each element that is open: tag, attributes, place, texts, children.
        self._open: list[tuple[str, dict[str, str], Place, list[str], list[Element]]] = []
        self._num_elements = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        # A default of the DTD would be copied to every element: a way to make a small file large.
        self.parser.specified_attributes = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = lambda data: self._open[-1][3].append(data)
        self.parser.SkippedEntityHandler = self._skipped

    def _place(self) -> Place:
        return Place(self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag, place = self._fold(name), self._place()
        if not self._open and tag != self._root:
            raise place.error(f"Expected the outermost element to be <{self._root}>, found <{name}>.")
        self._num_elements += 1
        if len(self._open) >= MAX_DEPTH or self._num_elements > MAX_ELEMENTS:
            problem = f"nested more than {MAX_DEPTH} deep" if len(self._open) >= MAX_DEPTH else f"over {MAX_ELEMENTS}"
            raise place.error(f"Elements are {problem}: this is no sensible file.")
        self._open.append((tag, {self._fold(key): value for key, value in attributes.items()}, place, [], []))

    def _end(self, name: str) -> None:
        tag, attributes, place, texts, children = self._open.pop()
        self.tree = Element(tag, attributes, "".join(texts), tuple(children), place, self._text)
        if self._open:
            self._open[-1][4].append(self.tree)

    def _skipped(self, name: str, is_parameter: bool) -> None:
        raise self._place().error(f"The entity {name!r} is not declared.")


# A blank after the sizes, and the name of the child as a comment after every scope.
_UAI: Final = re.compile(r"BAYES\n\d+\n(?:\d+ )+\n\d+\n(?:\d+(?: \d+)+   # [^\n]*\n)+\n")


def is_agrum_uai(text: str) -> bool:
    """Whether a UAI text is laid out as aGrUM does it for Bayesian networks; it does not say its name there."""
    return _UAI.match(text) is not None


def last_parent_fastest(values: Floats, sizes: Sequence[int]) -> Floats:
    """The numbers of a table that lists the first parent's state fastest, in the usual order.

    Numbers that are no such table are left to the check that all tables go through.
    """
    *parents, child = sizes
    if len(parents) < 2 or values.size != prod(sizes):
        return values
    axes = (*reversed(range(len(parents))), len(parents))
    return values.reshape(*reversed(parents), child).transpose(axes).ravel()
