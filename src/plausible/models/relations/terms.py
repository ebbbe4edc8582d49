"""What attributes depend on, as texts say it: chains of slots from an object, and aggregates of what lies at their end.

"registration.student.intelligence" starts at a registration and follows its slot "student". Where a chain leads to many
objects, an aggregate makes one value of theirs: "mean(student.registration.grade)".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, close_match, suggestion
from plausible.models.relations.schema import KEY, Schema, Slot
from plausible.variables import State, Variable

#: Aggregates whose value is one of the states that they are taken of.
STATE_FUNCTIONS = ("mode", "median", "mean", "max", "min")
#: Those that count.
COUNT_FUNCTIONS = ("count", "exists")
#: A single value, with a state of its own where there is none.
VALUE = "value"
FUNCTIONS = (*STATE_FUNCTIONS, *COUNT_FUNCTIONS, VALUE)
#: What `count` tells apart by default: 0, 1, ... and this many or more.
DEFAULT_CAP = 5
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_OPTIONS = ("empty", "ties", "cap")
#: What is looked for: "path = A", "path in A | B".
_WANTED = re.compile(r"(\S+?)\s*(?:=|\sin\s)(.*)", re.DOTALL)
#: A state in quotes, which may have commas and bars.
_QUOTED = re.compile(r"""([=|]\s*|\sin\s+)(['"])(.*?)\2(?=\s*(?:[,|]|$))""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chain:
    """A walk along slots, and the attribute at its end; none where only the objects there count."""

    base: str
    slots: tuple[Slot, ...]
    attribute: str | None

    @property
    def end(self) -> str:
        """The class of the objects at its end."""
        return self.slots[-1].end if self.slots else self.base

    @property
    def is_single(self) -> bool:
        """Whether it leads to one object at most."""
        return not any(slot.is_inverse for slot in self.slots)

    @property
    def target(self) -> str:
        """ "class.attribute" of what lies at its end."""
        return f"{self.end}.{self.attribute}"


@dataclass(frozen=True, slots=True)
class Term:
    """One parent of an attribute, as its text says it."""

    text: str
    chain: Chain
    function: str | None = None
    of: tuple[State, ...] | None = None  # the states that `count` and `exists` look for; None for any
    empty: State | None = None  # the value where the chain leads nowhere; None where there is none
    ties: str = "lower"
    cap: int = DEFAULT_CAP

    def variable(self, schema: Schema) -> Variable:
        """The variable that the text stands for as a parent."""
        if self.function == "exists":
            return Variable(self.text, [False, True])
        if self.function == "count":
            return Variable(self.text, self.cap + 1)
        source = schema.variable(self.chain.target)
        if source.is_continuous or self.empty is None or source.has_state(self.empty):
            return source.renamed(self.text)
        return Variable(self.text, [*source.states, self.empty])

    @property
    def counts_objects(self) -> bool:
        """Whether it is of the objects at the end of its chain alone, whatever their attributes are."""
        return self.function in COUNT_FUNCTIONS and self.of is None

    @property
    def needs_objects(self) -> bool:
        """Whether it has no value where the chain leads nowhere."""
        return self.empty is None and self.function not in COUNT_FUNCTIONS


def read_term(text: str, schema: Schema) -> Term:
    """The parent that a text names.

    >>> schema = Schema(
    ...     student={"id": ["anna"]}, registration={"student": ["anna"], "grade": ["A"]},
    ...     keys={"registration.student": "student"},
    ... )
    >>> term = read_term("count(student.registration.grade = A, cap=2)", schema)
    >>> term.function, term.of, term.variable(schema).states
    ('count', ('A',), (0, 1, 2))
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"A parent is named by a text such as 'student.intelligence', not {text!r}.")
    call = _CALL.fullmatch(text)
    if call is None:
        if "(" in text or ")" in text:
            raise InvalidArgument(
                f"{text!r} is neither a chain such as 'registration.student.wits' nor an aggregate such as "
                "'mode(student.registration.grade)': look at its parentheses."
            )
        chain = read_chain(text, schema)
        _refuse_links(text, chain, schema)
        if not chain.is_single:
            backward = next(slot for slot in chain.slots if slot.is_inverse)
            raise InvalidModel(
                f"{text!r} leads to many objects, as many {backward.owner!r} refer to one {backward.target!r}: make "
                f"one value of theirs, such as mean({text}), mode({text}) or exists({text} = state)."
            )
        return Term(text, chain)
    function, quoted = call[1], list[str]()
    inside = [part.strip() for part in _QUOTED.sub(partial(_set_aside, quoted), call[2]).split(",")]
    if function not in FUNCTIONS:
        raise InvalidArgument(
            f"{text!r}: there is no aggregate {function!r}.{suggestion(function, FUNCTIONS)} "
            f"There are {', '.join(FUNCTIONS)}."
        )
    path, wanted = _wanted(inside[0], quoted)
    chain = read_chain(path, schema, needs_attribute=function not in COUNT_FUNCTIONS or wanted is not None)
    _refuse_links(text, chain, schema)
    term = Term(text, chain, function, **_options(text, inside[1:], quoted, chain, schema))
    if function in COUNT_FUNCTIONS:
        return _with_states(term, wanted, schema)
    if wanted is not None:
        raise InvalidArgument(f"{text!r}: only count(...) and exists(...) look for a state.")
    if function == VALUE and not chain.is_single:
        raise InvalidModel(f"{text!r} leads to many objects, which have no one value: take mode, mean, max, ...")
    return term


def _refuse_links(text: str, chain: Chain, schema: Schema) -> None:
    """Refuse chains over links that may not exist."""
    for slot in chain.slots:
        if slot.is_inverse and slot.owner in schema.existence:
            raise InvalidModel(
                f"{text!r} goes over {slot.owner!r}, which may exist or not, so that nobody knows where it leads. Take "
                f"{slot.owner!r} out of existence= where the links are known for certain."
            )


def _set_aside(quoted: list[str], found: re.Match[str]) -> str:
    """What stands for a state in quotes while a text is split."""
    quoted.append(found[3])
    return f"{found[1]}\0{len(quoted) - 1}"


def _unquoted(text: str, quoted: Sequence[str]) -> str:
    return quoted[int(text[1:])] if text.startswith("\0") else text


def _wanted(text: str, quoted: Sequence[str]) -> tuple[str, list[str] | None]:
    """A path, and the states that are looked for: "path = A", "path in A | B"."""
    found = _WANTED.fullmatch(text)
    if found is None:
        return text, None
    return found[1], [_unquoted(state.strip(), quoted) for state in found[2].split("|")]


def _with_states(term: Term, wanted: Sequence[str] | None, schema: Schema) -> Term:
    if wanted is None:
        return term
    variable = schema.variable(term.chain.target)
    if variable.is_continuous:
        raise InvalidModel(f"{term.text!r}: {variable.name!r} is a number, which has no states to look for.")
    states = tuple(variable.state_from_text(state) for state in wanted)
    return Term(term.text, term.chain, term.function, states, term.empty, term.ties, term.cap)


def _options(text: str, parts: Sequence[str], quoted: Sequence[str], chain: Chain, schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in parts:
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or name not in _OPTIONS:
            raise InvalidArgument(
                f"{text!r}: {part!r} is no option.{close_match(name, _OPTIONS)} There are empty=, ties= and cap=. A "
                "state with a comma stands in quotes: = 'very good, indeed'."
            )
        value = _unquoted(value, quoted)
        if name == "cap":
            if not value.isdigit() or int(value) < 1:
                raise InvalidArgument(f"{text!r}: cap= is a whole number from 1 on, not {value!r}.")
            found[name] = int(value)
        elif name == "ties":
            if value not in ("lower", "upper"):
                raise InvalidArgument(f"{text!r}: ties= is 'lower' or 'upper', not {value!r}.")
            found[name] = value
        else:
            known = () if chain.attribute is None else schema.variable(chain.target).states
            found[name] = next((state for state in known if str(state) == value), value)
    return found


def read_chain(text: str, schema: Schema, *, needs_attribute: bool = True) -> Chain:
    """The chain that a text names, from its class on; attributes of what an object also is are its own."""
    if not text.strip():
        raise InvalidArgument("A parent is named by a text such as 'student.intelligence', and this one is empty.")
    base, *steps = text.strip().split(".")
    schema.check_class(base)
    if not steps:
        raise InvalidArgument(f"{text!r} names a class: an attribute of it is '{base}.attribute'.")
    slots: list[Slot] = []
    here = base
    for place, step in enumerate(steps):
        ways = schema.slots(here)
        is_last = place == len(steps) - 1
        if is_last and (lineage := _lineage(schema, here, step)) is not None:
            return Chain(base, (*slots, *lineage), step)
        while step not in ways and KEY in ways:  # a slot of what it also is
            slots.append(ways[KEY])
            here = ways[KEY].end
            ways = schema.slots(here)
        if step not in ways:
            there = [*ways, *(schema.attributes(here) if is_last else ())]
            raise UnknownVariable(
                f"{text!r}: {here!r} has no {'attribute or slot' if is_last else 'slot'} {step!r}."
                f"{suggestion(step, there)}"
            )
        slots.append(ways[step])
        here = ways[step].end
    if needs_attribute:
        raise InvalidModel(f"{text!r} leads to objects of {here!r}: add which of their attributes is meant.")
    return Chain(base, tuple(slots), None)


def inherited(name: str, schema: Schema) -> str:
    """ "class.attribute" of what a class has from another that its objects also are; empty where it has none of it.

    >>> tables = {"phd": {"id": ["eve"]}, "student": {"id": ["eve"], "gpa": ["good"]}}
    >>> inherited("phd.gpa", Schema(tables, keys={"phd.id": "student"}))
    'student.gpa'
    """
    owner, attribute = schema.split(name)
    lineage = _lineage(schema, owner, attribute)
    return f"{lineage[-1].end}.{attribute}" if lineage else ""


def _lineage(schema: Schema, here: str, attribute: str) -> list[Slot] | None:
    """The slots from a class up to the one that has an attribute, among all that its objects also are."""
    slots: list[Slot] = []
    while attribute not in schema.attributes(here):
        up = schema.slots(here).get(KEY)
        if up is None:
            return None
        slots.append(up)
        here = up.end
    return slots
