"""What first-order formulas are made of, and how they are written: sentences, each with its truth."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

#: Truth in numbers, so that a negation is a minus: -1 is false, 0 is not known, 1 is true (Kleene's logic).
Truth: TypeAlias = npt.NDArray[np.int8]

#: Words that are signs.
WORDS = ("not", "and", "or", "forall", "exists")

_BARE_CONSTANT, _BARE_STATE = re.compile(r"[A-Z0-9]\w*"), re.compile(rf"(?!({'|'.join(WORDS)})$)\w+")


class Sentence(ABC):
    """A formula, or a part of one, as a tree."""

    __slots__ = ()

    #: How tightly its sign binds: parts that bind less, or as much, stand in parentheses.
    rank: ClassVar[int] = 9

    @property
    @abstractmethod
    def text(self) -> str:
        """How it is written."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Sentence, ...]:
        """The sentences that it is made of, one level below."""

    @abstractmethod
    def with_parts(self, parts: tuple[Sentence, ...]) -> Sentence:
        """The same with other parts."""

    @abstractmethod
    def combined(self, truths: Sequence[Truth]) -> Truth:
        """Its truth by that of its parts."""

    def leaves(self) -> Iterator[Leaf]:
        """The sentences that have no parts, in the order in which they are written."""
        for part in self.parts:
            yield from part.leaves()

    def _written(self, part: Sentence, least: int) -> str:
        """A part, in parentheses where it binds less than that."""
        return f"({part.text})" if part.rank < least else part.text


class Leaf(Sentence):
    """A sentence without parts, whose truth is looked up."""

    __slots__ = ()

    @property
    @abstractmethod
    def atoms(self) -> tuple[Atom, ...]:
        """Whose states tell its truth."""

    @abstractmethod
    def with_terms(self, read: Callable[[Term], Term]) -> Leaf:
        """The same with other terms."""

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        yield self

    @property
    def parts(self) -> tuple[Sentence, ...]:
        """None."""
        return ()

    def with_parts(self, parts: tuple[Sentence, ...]) -> Sentence:
        """Itself."""
        return self

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """It has no parts to tell it."""
        raise AssertionError("A sentence without parts is looked up.")


@dataclass(frozen=True, slots=True)
class Term:
    """A variable, or a constant, of which formulas speak."""

    name: str
    is_constant: bool = False

    @property
    def text(self) -> str:
        """How it is written."""
        is_bare = not self.is_constant or _BARE_CONSTANT.fullmatch(self.name)
        return self.name if is_bare else _quoted(self.name)


@dataclass(frozen=True, slots=True)
class Atom(Leaf):
    """A predicate, or a function with states, of some terms; as a sentence it says that it is true."""

    predicate: str
    terms: tuple[Term, ...]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Itself."""
        return (self,)

    def with_terms(self, read: Callable[[Term], Term]) -> Atom:
        """The same with other terms."""
        return Atom(self.predicate, tuple(map(read, self.terms)))

    @property
    def text(self) -> str:
        """How it is written."""
        return f"{self.predicate}({', '.join(term.text for term in self.terms)})"


@dataclass(frozen=True, slots=True)
class HasState(Leaf):
    """An atom has a state: Topic(p) = AI."""

    atom: Atom
    state: str

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The one that has it."""
        return (self.atom,)

    def with_terms(self, read: Callable[[Term], Term]) -> HasState:
        """The same with other terms."""
        return HasState(self.atom.with_terms(read), self.state)

    @property
    def text(self) -> str:
        """How it is written."""
        return self.written("=")

    def written(self, sign: str) -> str:
        """With a sign between."""
        return f"{self.atom.text} {sign} {self.state if _BARE_STATE.fullmatch(self.state) else _quoted(self.state)}"


@dataclass(frozen=True, slots=True)
class SameState(Leaf):
    """Two atoms have the same state: Topic(p) = Topic(q)."""

    first: Atom
    second: Atom

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Both."""
        return self.first, self.second

    def with_terms(self, read: Callable[[Term], Term]) -> SameState:
        """The same with other terms."""
        return SameState(self.first.with_terms(read), self.second.with_terms(read))

    @property
    def text(self) -> str:
        """How it is written."""
        return self.written("=")

    def written(self, sign: str) -> str:
        """With a sign between."""
        return f"{self.first.text} {sign} {self.second.text}"


@dataclass(frozen=True, slots=True)
class SameTerm(Leaf):
    """Two terms are the same: x = y."""

    first: Term
    second: Term

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """None."""
        return ()

    def with_terms(self, read: Callable[[Term], Term]) -> SameTerm:
        """The same with other terms."""
        return SameTerm(read(self.first), read(self.second))

    @property
    def text(self) -> str:
        """How it is written."""
        return self.written("=")

    def written(self, sign: str) -> str:
        """With a sign between."""
        return f"{self.first.text} {sign} {self.second.text}"


@dataclass(frozen=True, slots=True)
class Not(Sentence):
    """The negation."""

    part: Sentence
    rank: ClassVar[int] = 5

    @property
    def parts(self) -> tuple[Sentence, ...]:
        """What it negates."""
        return (self.part,)

    def with_parts(self, parts: tuple[Sentence, ...]) -> Not:
        """The negation of another one."""
        return Not(*parts)

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """The other way round."""
        return np.negative(truths[0])

    @property
    def text(self) -> str:
        """How it is written."""
        if isinstance(self.part, HasState | SameState | SameTerm):
            return self.part.written("!=")
        return f"!{self._written(self.part, self.rank)}"


@dataclass(frozen=True, slots=True)
class _Connective(Sentence):
    """Sentences with a sign between them."""

    members: tuple[Sentence, ...]
    sign: ClassVar[str]

    @property
    def parts(self) -> tuple[Sentence, ...]:
        """What stands around the sign."""
        return self.members

    def with_parts(self, parts: tuple[Sentence, ...]) -> Self:
        """The same sign between others."""
        return type(self)(parts)

    @property
    def text(self) -> str:
        """How it is written."""
        return f" {self.sign} ".join(self._written(member, self.rank + 1) for member in self.members)


class And(_Connective):
    """All of them."""

    __slots__ = ()
    sign, rank = "&", 4

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """The least."""
        return reduce(np.minimum, truths)


class Or(_Connective):
    """At least one of them."""

    __slots__ = ()
    sign, rank = "|", 3

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """The greatest."""
        return reduce(np.maximum, truths)


class Implies(_Connective):
    """The second if the first; a => b => c is a => (b => c)."""

    __slots__ = ()
    sign, rank = "=>", 2

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """Not the first, or the second."""
        return np.maximum(-truths[0], truths[1])

    @property
    def text(self) -> str:
        """How it is written."""
        first, second = self.members
        return f"{self._written(first, self.rank + 1)} => {self._written(second, self.rank)}"


class Iff(_Connective):
    """Both or neither; a <=> b <=> c is (a <=> b) <=> c."""

    __slots__ = ()
    sign, rank = "<=>", 1

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """The product of signs."""
        return truths[0] * truths[1]

    @property
    def text(self) -> str:
        """How it is written."""
        first, second = self.members
        return f"{self._written(first, self.rank)} <=> {self._written(second, self.rank + 1)}"


@dataclass(frozen=True, slots=True)
class Quantified(Sentence):
    """A sentence of all, or of some, constants that its names stand for."""

    is_universal: bool
    names: tuple[str, ...]
    body: Sentence
    rank: ClassVar[int] = 0

    @property
    def parts(self) -> tuple[Sentence, ...]:
        """What it says of them."""
        return (self.body,)

    def with_parts(self, parts: tuple[Sentence, ...]) -> Quantified:
        """The same of others."""
        return replace(self, body=parts[0])

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """It takes the axes of its names: see `Reduced`."""
        raise AssertionError("A sentence without parts is looked up.")

    @property
    def text(self) -> str:
        """How it is written."""
        return f"{'forall' if self.is_universal else 'exists'} {', '.join(self.names)}: {self.body.text}"


@dataclass(frozen=True, slots=True)
class Reduced(Sentence):
    """A quantifier whose names are axes of arrays."""

    is_universal: bool
    axes: tuple[int, ...]
    body: Sentence

    @property
    def text(self) -> str:
        """By axes, as it has no names any more."""
        return f"{'forall' if self.is_universal else 'exists'} {', '.join(map(str, self.axes))}: {self.body.text}"

    @property
    def parts(self) -> tuple[Sentence, ...]:
        """What it says along the axes."""
        return (self.body,)

    def with_parts(self, parts: tuple[Sentence, ...]) -> Reduced:
        """The same of others."""
        return replace(self, body=parts[0])

    def combined(self, truths: Sequence[Truth]) -> Truth:
        """The least, or the greatest, along the axes."""
        extreme = np.min if self.is_universal else np.max
        return np.asarray(extreme(truths[0], axis=self.axes, keepdims=True))


def truth_of(sentence: Sentence, leaves: Mapping[Leaf, Truth]) -> Truth:
    """The truth of a sentence by that of its leaves: arrays that broadcast."""
    if isinstance(sentence, Leaf):
        return leaves[sentence]
    return sentence.combined([truth_of(part, leaves) for part in sentence.parts])


def _quoted(name: str) -> str:
    return f'"{name}"' if "'" in name else f"'{name}'"
