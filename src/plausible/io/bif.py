"""BIF, the interchange format for Bayesian networks that most programs and repositories share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final

from plausible.cpds import TableCPD
from plausible.errors import suggestion
from plausible.io.assembly import Assembly, Place, check_axes
from plausible.io.bif_tables import QUOTED_PROPERTY, Family, read_table, skip_body
from plausible.io.formats import (
    Format,
    Model,
    discrete_network,
    restore_name,
    restore_states,
    stand_ins,
    state_stand_ins,
    table_of,
)
from plausible.io.property_texts import (
    Dialect,
    network_notes,
    network_texts,
    properties_of,
    variable_notes,
    variable_texts,
)
from plausible.io.scanner import after_blanks, blank_comments, shown, split_at_blanks, split_at_commas, split_items
from plausible.models import BayesianNetwork

#: What programs write where a network has no name.
PLACEHOLDER: Final = "unknown"

_KEYWORDS: Final = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_OF_WORDS: Final = re.compile(r"[^A-Za-z0-9_.-]")
_INTEGER: Final = re.compile(r"-?[0-9]+")
_CONTROL: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_NOT_QUOTABLE: Final = re.compile(f'["{_CONTROL}]')
_NOT_LITERAL: Final = re.compile(f"//|/\\*|[;{_CONTROL}]")


def legal(name: str) -> str:
    """A word that every reader of BIF takes for a name, and that looks like the name."""
    text = _NOT_OF_WORDS.sub("_", name)
    return text if _WORD.fullmatch(text) and text not in _KEYWORDS else f"_{text}"


def legal_state(state: str) -> str:
    """The same for a state, which may also be a whole number."""
    return state if _INTEGER.fullmatch(state) else legal(state)


def unquoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' and text.count('"') == 2 else text


def safe_json(text: str) -> str:
    """JSON without semicolons, which end a property, and slashes, which may begin a comment."""
    return text.replace(";", "\\u003b").replace("/", "\\u002f")


#: How properties are written.
PROPERTIES: Final = Dialect(lambda text: not _NOT_LITERAL.search(text), lambda value: safe_json(json.dumps(value)))


_PROPERTY: Final = rf"(?:{QUOTED_PROPERTY.pattern}|[^;]*)"
_COMMENTS: Final = re.compile(rf'"[^"\n]*"|\bproperty\b{_PROPERTY}(?:;|\Z)|(?P<comment>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))')
_BLOCKS: Final = ("network", "variable", "probability")
_BLOCK: Final = re.compile(r"\s*(?:([^\s(){}\[\];\"|,#]+)|(#[^\n]*)|\Z)")
_HEAD: Final = re.compile(r'\s*+((?:[^"{};]|"[^"\n]*")*+)\{')
_STATEMENT: Final = re.compile(rf"\s*(?:(property\b)({_PROPERTY});|(type\b)|(\}}))")
_TYPE: Final = re.compile(
    r'\s*(?:(discrete)\s*(?:\[\s*(\d{1,9})\s*\])?|([^\s{;\[]+)[^{;]*)\s*(?:\{((?:[^"{}]|"[^"\n]*")*+)\})?\s*;?'
)
_FAMILY: Final = re.compile(r"\s*\(((?s:.*))\)\s*")
_BAR: Final = re.compile(r'"[^"\n]*"|(\|)')


def parse_bif(text: str, *, lenient: bool = False) -> BayesianNetwork:
    """The network in a BIF text; `lenient` as for `load`.

    Names may be quoted; commas and `|` separate like blanks; blocks come in any order. A `table` lists the child's
    states slowest, as the format's document says, unless its numbers are distributions only the other way round.

    >>> network = parse_bif('''
    ... network rain {}
    ... variable rain { type discrete [ 2 ] { no, yes }; }
    ... variable grass { type discrete [ 2 ] { dry, wet }; }
    ... probability ( rain ) { table 0.8, 0.2; }
    ... probability ( grass | rain ) { (no) 0.9, 0.1; default 0.1, 0.9; }
    ... ''')
    >>> network.cpd("grass").values.tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    return _Parser(blank_comments(text, _COMMENTS, ("//", "/*")), lenient).read().network()


class _Parser:
    """The state of reading one text: what was found in its blocks so far."""

    def __init__(self, text: str, lenient: bool) -> None:
        self.text = text
        self.assembly = Assembly(lenient)
        self.has_network = False
        self.names: dict[str, str] = {}  # as written -> as meant
        self.states: dict[str, list[str]] = {}  # as written, by written name
        self.probabilities: list[tuple[str, Place, tuple[int, int]]] = []  # head, its place, span of the body

    def read(self) -> Assembly:
        position = 0
        while position < len(self.text):
            match = _BLOCK.match(self.text, position)
            start = after_blanks(self.text, position)
            keyword = match[1] if match else None
            if match is not None and keyword is None:
                position = match.end()
            elif keyword in _BLOCKS:
                position = self._read_block(str(keyword), start)
            else:
                found = shown(self.text[start : start + 100])
                hint = suggestion(keyword, _BLOCKS) if keyword else " Known: 'network', 'variable', 'probability'."
                raise self._place(start).error(f"Expected a block, not {found}.{hint}")
        if not (self.has_network or self.names or self.probabilities):
            raise Place(1, 1).error("Expected 'network', 'variable' or 'probability'; the file has no block.")
        for block in self.probabilities:
            self._read_probability(*block)
        return self.assembly

    def _read_block(self, keyword: str, start: int) -> int:
        match = _HEAD.match(self.text, start + len(keyword))
        if match is None:
            raise self._place(start).error(f"Expected '{{' after the head of this {keyword} block.")
        head = match[1].strip()
        if keyword == "network":
            return self._read_network(head, start, match.end())
        if keyword == "variable":
            return self._read_variable(head, start, match.end())
        end = skip_body(self.text, match.end())
        self.probabilities.append((head, self._place(start), (match.end(), end)))
        return end

    def _read_network(self, head: str, start: int, position: int) -> int:
        if self.has_network:
            raise self._place(start).error("The file has two network blocks.")
        self.has_network = True
        texts: list[str] = []
        while not (match := self._statement("network", position))[4]:
            if match[3]:
                raise self._place(match.start(3)).error("A network block holds properties only, and no 'type'.")
            texts.append(match[2])
            position = match.end()
        name = "" if head == PLACEHOLDER else unquoted(head)
        self.assembly.notes = network_notes(name, _properties(texts))
        return match.end()

    def _read_variable(self, head: str, start: int, position: int) -> int:
        written = head[1:-1] if len(head) >= 2 and head[0] == head[-1] == '"' else head
        if not written or '"' in written:
            raise self._place(start).error("Expected the name of the variable between 'variable' and '{'.")
        if written in self.names:
            raise self._place(start).error(f"The variable {written!r} is declared twice.")
        texts: list[str] = []
        states: list[str] | None = None
        while not (match := self._statement("variable", position))[4]:
            position = match.end()
            if match[1]:
                texts.append(match[2])
            elif states is not None:
                raise self._place(match.start(3)).error(f"The variable {written!r} has two types.")
            else:
                states, position = self._read_type(written, match.start(3), position)
        if states is None:
            raise self._place(start).error(f"The variable {written!r} has no 'type discrete [...] {{...}};'.")
        properties = _properties(texts)
        name = restore_name(written, properties.pop("plausible_name", None), legal)
        meant = restore_states(states, properties.pop("plausible_states", None), legal_state)
        self.assembly.add_variable(name, meant, self._place(start), variable_notes(properties))
        self.names[written], self.states[written] = name, states
        return match.end()

    def _statement(self, block: str, position: int) -> re.Match[str]:
        match = _STATEMENT.match(self.text, position)
        if match is None:
            start = after_blanks(self.text, position)
            expected = "'property ...;' or '}'" if block == "network" else "'type ...;', 'property ...;' or '}'"
            found = shown(self.text[start : start + 100]) if start < len(self.text) else "the end of the file"
            raise self._place(start).error(f"Expected {expected} in this {block} block, not {found}.")
        return match

    def _read_type(self, name: str, start: int, position: int) -> tuple[list[str], int]:
        match = _TYPE.match(self.text, position)
        if match is not None and match[3]:
            raise self._place(match.start(3)).error(f"{name!r} is of type {match[3]!r}; only 'discrete' can be read.")
        if match is None or match[4] is None:
            raise self._place(start).error(f"Expected 'type discrete [ n ] {{ ... }};' for {name!r}.")
        count = None if match[2] is None else int(match[2])
        states = split_items(match[4], count)
        if states is None:
            counted = len(split_items(match[4], None) or ())
            raise self._place(start).error(f"{name!r} should have {count} states, but {counted} are listed.")
        if not match.group().endswith(";"):
            raise self._place(match.end()).error(f"Expected ';' after the states of {name!r}.")
        return states, match.end()

    def _read_probability(self, head: str, place: Place, body: tuple[int, int]) -> None:
        child, *parents = written = self._family(head, place)
        for name in written:
            if name not in self.names:
                known = suggestion(name, self.names)
                raise place.error(f"{name!r}, in this probability block, is not declared.{known}")
        check_axes(child, parents, place)
        family = Family(child, self.states[child], parents, [self.states[parent] for parent in parents])
        values, texts = read_table(self.text, *body, family, self.assembly.mend if self.assembly.lenient else None)
        name = self.names[child]
        self.assembly.add_table(name, [self.names[parent] for parent in parents], values, place)
        properties = _properties(texts) if texts else {}
        self.assembly.add_properties(name, {f"probability.{key}": value for key, value in properties.items()})

    def _family(self, head: str, place: Place) -> list[str]:
        """The written names of the child and its parents: between bars and commas or, failing that, blanks."""
        match = _FAMILY.fullmatch(head)
        if match is None:
            raise place.error("Expected 'probability ( child | parents )'.")
        listed = _BAR.sub(lambda bar: "," if bar[1] else bar.group(), match[1])
        names = split_at_commas(listed)
        if names and all(name in self.names for name in names):
            return names
        words = split_at_blanks(listed)
        if not words:
            raise place.error("Expected the name of a variable in 'probability ( ... )'.")
        return words if names is None or all(word in self.names for word in words) else names

    def _place(self, offset: int) -> Place:
        return Place.at(self.text, offset)


def _properties(texts: Iterable[str]) -> dict[str, str]:
    return properties_of(unquoted(text.strip()) for text in texts)


def format_bif(model: Model) -> str:
    """The BIF text of a discrete Bayesian network; CPDs of other kinds are written as their tables.

    >>> from plausible.cpds import TableCPD
    >>> print(format_bif(BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails up"]))))
    network unknown {
    }
    variable coin {
      type discrete [ 2 ] { heads, tails_up };
      property plausible_states = ["heads", "tails up"];
    }
    probability ( coin ) {
      table 0.5, 0.5;
    }
    <BLANKLINE>
    """
    network = discrete_network(model, "BIF")
    name = _NOT_QUOTABLE.sub("_", network.notes.name)
    title = name if legal(name) == name != PLACEHOLDER else f'"{name}"'
    lines = [f"network {title if name else PLACEHOLDER} {{"]
    lines += [f"  property {line};" for line in network_texts(network.notes, name, PROPERTIES)]
    written = dict(zip(network.variables, stand_ins(list(network.variables), legal), strict=True))
    states: dict[str, list[str]] = {}
    for name, variable in network.variables.items():
        states[name], listed = state_stand_ins(variable, legal_state)
        lines += ["}", f"variable {written[name]} {{"]
        lines.append(f"  type discrete [ {variable.num_states} ] {{ {', '.join(states[name])} }};")
        if written[name] != name:
            lines.append(f"  property plausible_name = {safe_json(json.dumps(name))};")
        if listed is not None:
            lines.append(f"  property plausible_states = {safe_json(listed)};")
        lines += [f"  property {line};" for line in variable_texts(network.notes.of(name), PROPERTIES)]
    for cpd in network.cpds.values():
        lines += ["}", *_probability_lines(table_of(cpd, "BIF"), written, states)]
    return "\n".join((*lines, "}", ""))


def _probability_lines(cpd: TableCPD, written: Mapping[str, str], states: Mapping[str, list[str]]) -> Iterator[str]:
    """The block without its end."""
    parents = [written[name] for name in cpd.parent_names]
    yield f"probability ( {written[cpd.variable.name]}{' | ' if parents else ''}{', '.join(parents)} ) {{"
    last = len(parents)
    rows = cpd.values.transpose(*range(last - 1, -1, -1), last).reshape(-1, cpd.variable.num_states)
    configurations = product(*(states[name] for name in reversed(cpd.parent_names)))
    for configuration, row in zip(configurations, rows.tolist(), strict=True):
        label = f"({', '.join(configuration[::-1])})" if parents else "table"
        yield f"  {label} {', '.join(map(repr, row))};"


FORMAT = Format("BIF", (".bif",), parse_bif, format_bif, re.compile(r"(?:network|variable|probability)\b"))
