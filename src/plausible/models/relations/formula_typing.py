"""The types of a formula's variables, found from the predicates that they stand in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from plausible.errors import InvalidModel, counted
from plausible.models.relations.sentences import (
    Atom,
    HasState,
    Leaf,
    Quantified,
    Reduced,
    SameState,
    SameTerm,
    Sentence,
    Term,
)
from plausible.models.relations.vocabulary import Predicate, Universe, predicate_named

#: Names that look like variables, though they may be constants.
_SHORT = re.compile(r"[a-z]\d*")


@dataclass(frozen=True, slots=True)
class TypedSentence:
    """A sentence in which each variable has a name of its own, and its type; quantifiers are axes."""

    root: Sentence
    free: Mapping[str, str]  # name -> type, in the order of their first places
    bound: Mapping[str, str]  # name -> type, in the order of their axes


def typed_sentence(
    sentence: Sentence, predicates: Mapping[str, Predicate], universe: Universe | None = None
) -> TypedSentence:
    """Check a sentence against predicates, and, where constants are known, tell them from variables."""
    quantified = list[str]()
    root = _apart(sentence, {}, quantified)
    types = _types(root, predicates)
    if universe is not None:
        root = _with_constants(root, types, universe, sentence)
    names = dict.fromkeys(name for leaf in root.leaves() for name in _variables(leaf))
    free = {name: types[name] for name in names if name not in quantified}
    for name in quantified:
        if name not in types:
            raise InvalidModel(f"{_shown(name)!r} stands behind a quantifier of {sentence.text}, and in no predicate.")
    return TypedSentence(root, free, {name: types[name] for name in quantified})


def _apart(sentence: Sentence, names: Mapping[str, str], quantified: list[str]) -> Sentence:
    """The sentence with a name of its own for each variable of a quantifier, and axes for quantifiers."""
    if isinstance(sentence, Leaf):
        return sentence.with_terms(lambda term: term if term.is_constant else Term(names.get(term.name, term.name)))
    if isinstance(sentence, Quantified):
        first = len(quantified)
        own = {name: f"{name}'{first + number}" for number, name in enumerate(dict.fromkeys(sentence.names))}
        quantified += own.values()
        body = _apart(sentence.body, {**names, **own}, quantified)
        return Reduced(sentence.is_universal, tuple(range(first, first + len(own))), body)
    return sentence.with_parts(tuple(_apart(part, names, quantified) for part in sentence.parts))


def _types(root: Sentence, predicates: Mapping[str, Predicate]) -> dict[str, str]:
    """The type of each variable."""
    types: dict[str, str] = {}
    told: dict[str, str] = {}
    equal: list[SameTerm] = []
    for leaf in root.leaves():
        _check_states(leaf, predicates)
        for atom in leaf.atoms:
            for term, kind in zip(atom.terms, _types_of(atom, predicates), strict=True):
                if not term.is_constant and types.setdefault(term.name, kind) != kind:
                    raise _two_types(term.name, types[term.name], told[term.name], kind, _text(atom))
                told.setdefault(term.name, _text(atom))
        equal += [leaf] if isinstance(leaf, SameTerm) else []
    for _ in equal:  # types go along equalities, one further in each round
        for leaf in equal:
            pair = (leaf.first, leaf.second)
            for one, other in (pair, pair[::-1]):
                if not one.is_constant and not other.is_constant and other.name in types:
                    types.setdefault(one.name, types[other.name])
                    told.setdefault(one.name, _text(leaf))
    for leaf in equal:
        named = [term.name for term in (leaf.first, leaf.second) if not term.is_constant]
        for name in named:
            if name not in types:
                raise InvalidModel(
                    f"Nothing tells the type of {_shown(name)!r} in {_text(leaf)}: use it in a predicate."
                )
        if len({types[name] for name in named}) > 1:
            raise _two_types(named[0], types[named[0]], told[named[0]], types[named[1]], _text(leaf))
    return types


def _two_types(name: str, first: str, place: str, second: str, other: str) -> InvalidModel:
    return InvalidModel(
        f"{_shown(name)!r} is a {first} in {place} and a {second} in {other}: give each type a variable of its own."
    )


def _types_of(atom: Atom, predicates: Mapping[str, Predicate]) -> tuple[str, ...]:
    predicate = predicate_named(atom.predicate, predicates, _text(atom))
    if len(predicate.types) != len(atom.terms):
        raise InvalidModel(
            f"{_text(atom)} has {counted(len(atom.terms), 'argument')}; {predicate.text} takes {len(predicate.types)}."
        )
    return predicate.types


def _check_states(leaf: Leaf, predicates: Mapping[str, Predicate]) -> None:
    """Refuse states that are none, and functions that are taken for true or false."""
    variables = [predicate_named(atom.predicate, predicates, _text(atom)).variable for atom in leaf.atoms]
    if isinstance(leaf, HasState):
        variables[0].state_from_text(leaf.state)
    elif isinstance(leaf, SameState) and not set(variables[0].states) & set(variables[1].states):
        raise InvalidModel(f"{_text(leaf)} never holds: the two have no state in common.")
    elif isinstance(leaf, Atom) and not predicates[leaf.predicate].is_boolean:
        states = ", ".join(map(str, variables[0].states))
        raise InvalidModel(f"{_text(leaf)} is not true or false but one of {states}: write {_text(leaf)} = ...")


def _with_constants(root: Sentence, types: Mapping[str, str], universe: Universe, sentence: Sentence) -> Sentence:
    """The sentence with the free names that are constants of their type as such; unknown constants are refused."""

    def read(term: Term) -> Term:
        if term.is_constant or term.name not in universe.places[types[term.name]]:
            return term
        if _SHORT.fullmatch(term.name):
            raise InvalidModel(
                f"{term.name!r} in {sentence.text} may be a variable or the {types[term.name]} of that name: write "
                f"'{term.name}' in quotes for the constant, or call the variable otherwise."
            )
        return Term(term.name, True)

    def resolved(part: Sentence) -> Sentence:
        if isinstance(part, Leaf):
            return part.with_terms(read)
        return part.with_parts(tuple(map(resolved, part.parts)))

    root = resolved(root)
    for leaf in root.leaves():
        for atom in leaf.atoms:
            for term, kind in zip(atom.terms, universe.predicates[atom.predicate].types, strict=True):
                if term.is_constant:
                    universe.place(term.name, kind, _text(atom))
        if isinstance(leaf, SameTerm) and leaf.first.is_constant != leaf.second.is_constant:
            constant, variable = sorted((leaf.first, leaf.second), key=lambda term: not term.is_constant)
            universe.place(constant.name, types[variable.name], _text(leaf))
    return root


def _variables(leaf: Leaf) -> list[str]:
    terms = [term for atom in leaf.atoms for term in atom.terms]
    terms += [leaf.first, leaf.second] if isinstance(leaf, SameTerm) else []
    return [term.name for term in terms if not term.is_constant]


def _shown(name: str) -> str:
    """A variable as it was written."""
    return name.partition("'")[0]


def _text(leaf: Leaf) -> str:
    """A leaf as it was written."""
    return leaf.with_terms(lambda term: term if term.is_constant else Term(_shown(term.name))).text
