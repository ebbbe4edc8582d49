"""Reading formulas from text; errors point at the place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from plausible.errors import InvalidArgument
from plausible.models.relations.sentences import (
    WORDS,
    And,
    Atom,
    HasState,
    Iff,
    Implies,
    Not,
    Or,
    Quantified,
    SameState,
    SameTerm,
    Sentence,
    Term,
)

_TOKEN = re.compile(r"""\s*(?:(?P<name>\w+)|(?P<quoted>'[^']+'|"[^"]+")|(?P<sign><=>|=>|!=|[!~&|=(),:¬∧∨⇒⇔∀∃≠]))""")
#: Words, and signs of logic, by the signs that they stand for.
_MEANINGS = {
    **{"not": "!", "and": "&", "or": "|", "~": "!"},
    **{"¬": "!", "∧": "&", "∨": "|", "⇒": "=>", "⇔": "<=>", "∀": "forall", "∃": "exists", "≠": "!="},
}


class _Token(NamedTuple):
    kind: str  # "name", "quoted", "sign" or "end"
    text: str
    start: int


def parse_sentence(text: str) -> Sentence:
    """The sentence that a text says.

    >>> print(parse_sentence("not Smokes(x) or Cancer(x)").text)
    !Smokes(x) | Cancer(x)
    >>> parse_sentence("Smokes(x) & => Cancer(x)")
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: A formula was expected, such as Smokes(x) or x = y, but there is '=>':
        Smokes(x) & => Cancer(x)
                    ^
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"A formula is text, such as 'Smokes(x) => Cancer(x)', not {text!r}.")
    return _Parser(text).sentence()


class _Parser:
    """One sign ahead is all that it looks at."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._place = text, list[_Token](), 0
        start = 0
        while rest := text[start:].strip():
            found = _TOKEN.match(text, start)
            if found is None:
                at = text.index(rest[0], start)
                problem = (
                    "This quotation has no end" if rest[0] in "'\"" else f"{rest[0]!r} has no meaning in a formula"
                )
                raise self._error(f"{problem}:", at)
            kind, word = str(found.lastgroup), found[str(found.lastgroup)]
            is_word = kind == "sign" or word in WORDS
            self._tokens.append(_Token("sign" if is_word else kind, _MEANINGS.get(word, word) if is_word else word,
                                       found.start(kind)))  # fmt: skip
            start = found.end()
        self._tokens.append(_Token("end", "", len(text.rstrip())))

    def sentence(self) -> Sentence:
        """All of the text."""
        whole = self._iff()
        self.end()
        return whole

    def end(self) -> None:
        """Refuse what is left."""
        if self._next.kind != "end":
            raise self._unexpected("The formula could end here, or go on with &, |, => or <=>")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _error(self, problem: str, at: int) -> InvalidArgument:
        first = self._text.rfind("\n", 0, at) + 1
        line = self._text[first:].partition("\n")[0]
        return InvalidArgument(f"{problem}\n    {line}\n    {' ' * (at - first)}^")

    def _unexpected(self, expected: str) -> InvalidArgument:
        token = self._next
        there = "the text ends" if token.kind == "end" else f"there is {token.text!r}"
        return self._error(f"{expected}, but {there}:", token.start)

    def _meets(self, *signs: str) -> str:
        """The sign that comes next, if it is one of these, and go on behind it; else ""."""
        if self._next.kind != "sign" or self._next.text not in signs:
            return ""
        self._place += 1
        return self._tokens[self._place - 1].text

    def _take(self, kind: str, expected: str) -> _Token:
        if self._next.kind != kind:
            raise self._unexpected(expected)
        self._place += 1
        return self._tokens[self._place - 1]

    def _iff(self) -> Sentence:
        whole = self._implies()
        while self._meets("<=>"):
            whole = Iff((whole, self._implies()))
        return whole

    def _implies(self) -> Sentence:
        first = self._or()
        return Implies((first, self._implies())) if self._meets("=>") else first

    def _or(self) -> Sentence:
        return self._chain("|", self._and, Or)

    def _and(self) -> Sentence:
        return self._chain("&", self._not, And)

    def _chain(
        self, sign: str, member: Callable[[], Sentence], made: Callable[[tuple[Sentence, ...]], Sentence]
    ) -> Sentence:
        members = [member()]
        while self._meets(sign):
            members.append(member())
        return members[0] if len(members) == 1 else made(tuple(members))

    def _not(self) -> Sentence:
        if self._meets("!"):
            return Not(self._not())
        if word := self._meets("forall", "exists"):
            names = [self._variable()]
            while self._meets(","):
                names.append(self._variable())
            if not self._meets(":"):
                raise self._unexpected("':' was expected after the names of a quantifier")
            return Quantified(word == "forall", tuple(names), self._iff())
        if self._meets("("):
            inner = self._iff()
            if not self._meets(")"):
                raise self._unexpected("')' was expected, or &, |, => or <=>")
            return inner
        return self._leaf()

    def _variable(self) -> str:
        token = self._take("name", "A variable was expected, such as x")
        if not _is_variable(token.text):
            raise self._error(
                f"A variable was expected, which begins with a lower-case letter, not {token.text!r}:", token.start
            )
        return token.text

    def _leaf(self) -> Sentence:
        token = self._next
        if token.kind not in ("name", "quoted"):
            raise self._unexpected("A formula was expected, such as Smokes(x) or x = y")
        self._place += 1
        is_atom = token.kind == "name" and self._next.text == "(" and self._next.kind == "sign"
        first = self._atom_of(token) if is_atom else _term(token)
        sign = self._meets("=", "!=")
        if isinstance(first, Atom):
            leaf: Sentence = self._with_state(first) if sign else first
        elif sign:
            if self._next.kind not in ("name", "quoted"):
                raise self._unexpected("A variable or a constant was expected")
            self._place += 1
            leaf = SameTerm(first, _term(self._tokens[self._place - 1]))
        else:
            raise self._unexpected(f"'(' was expected after a predicate, or = or != after {token.text!r}")
        return Not(leaf) if sign == "!=" else leaf

    def _with_state(self, first: Atom) -> HasState | SameState:
        token = self._next
        if token.kind not in ("name", "quoted"):
            raise self._unexpected(f"A state of {first.predicate} was expected, or another function")
        self._place += 1
        if token.kind == "name" and self._next.kind == "sign" and self._next.text == "(":
            return SameState(first, self._atom_of(token))
        return HasState(first, _term(token).name)

    def _atom_of(self, predicate: _Token) -> Atom:
        if not self._meets("("):
            raise self._unexpected(f"'(' was expected after the predicate {predicate.text!r}")
        terms = list[Term]()
        while not self._meets(")"):
            if terms and not self._meets(","):
                raise self._unexpected("',' or ')' was expected")
            if self._next.kind not in ("name", "quoted"):
                raise self._unexpected("A variable or a constant was expected")
            terms.append(_term(self._next))
            self._place += 1
        return Atom(predicate.text, tuple(terms))


def _term(token: _Token) -> Term:
    if token.kind == "quoted":
        return Term(token.text[1:-1], True)
    return Term(token.text, not _is_variable(token.text))


def _is_variable(name: str) -> bool:
    return name[0].islower() or name[0] == "_"
