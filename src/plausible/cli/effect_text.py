"""Effects as the command line writes them: `X => Y`, `X, Z => Y | W`, `X=1 vs X=0 => Y=1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from plausible.cli.evidence import plain, shielded, state_of
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables import Variable

#: The grammar of effects, for the end of a command's help.
EFFECTS = r"""
Effects: 'X => Y' is the effect of X on Y; several names stand with commas between, conditions after a bar:
'X, Z => Y | W'. A name may have a state: 'X=1 => Y=1', and 'X=1 vs X=0 => Y=1' is the difference that X=1 makes as
against X=0. A name or state that holds , | = or the word vs stands in double quotes, or has a backslash before such a
sign.
"""

_EXAMPLE = "write it as 'treatment => outcome', such as 'X => Y'"


class Term(NamedTuple):
    """A name, and the text of a state where one was given."""

    name: str
    state: str | None


@dataclass(frozen=True, slots=True)
class EffectText:
    """An effect as it was written."""

    text: str  # all of it
    treatment: tuple[Term, ...]  # what is set
    control: tuple[Term, ...]  # what it is compared with, after `vs`
    outcome: tuple[Term, ...]  # what is asked about
    given: tuple[Term, ...]  # on what condition

    def refuse(self, problem: str) -> InvalidArgument:
        """The error that says what is wrong with it."""
        return InvalidArgument(f"--effect {self.text!r}: {problem}.")

    def names(self, *, has_given: bool = True) -> dict[str, list[str]]:
        """The arguments `outcome=`, `treatment=` and `given=`, where no state matters."""
        stated = next((term for term in (*self.treatment, *self.outcome, *self.given) if term.state is not None), None)
        if self.control or stated is not None:
            shown = "vs" if stated is None else f"{stated.name}={stated.state}"
            raise self.refuse(f"the question is about all states, so leave {shown!r} out and write names alone")
        if not has_given and self.given:
            raise self.refuse("conditions after | make no sense here")
        sides = {"outcome": self.outcome, "treatment": self.treatment, **({"given": self.given} if has_given else {})}
        return {role: [term.name for term in terms] for role, terms in sides.items()}


def read_effect(text: str) -> EffectText:
    """The effect that a text writes."""
    sides = shielded(text).split("=>")
    if len(sides) != 2:
        raise InvalidArgument(f"--effect {text!r} is no effect: {_EXAMPLE}.")
    settings, (outcome, *given) = re.split(r"\svs\s", sides[0]), sides[1].split("|")
    if len(settings) > 2 or len(given) > 1:
        raise InvalidArgument(f"--effect {text!r} has {'| twice' if len(given) > 1 else 'vs twice'}: {_EXAMPLE}.")
    control, condition = settings[1:] or [""], given or [""]
    found = EffectText(text, _terms(settings[0]), _terms(control[0]), _terms(outcome), _terms(condition[0]))
    if not found.treatment or not found.outcome or (len(settings) > 1 and not found.control):
        raise InvalidArgument(f"--effect {text!r} lacks a name on one side: {_EXAMPLE}.")
    return found


def named_states(
    terms: Iterable[Term], variables: Mapping[str, Variable], place: str, effect: EffectText
) -> dict[str, Any]:
    """Name -> state, of terms that must have one."""
    states: dict[str, Any] = {}
    for name, text in terms:
        if name not in variables:
            raise UnknownVariable.named(name, variables, f"{place}, though --effect asks for it")
        if name in states:
            raise effect.refuse(f"{name!r} stands there twice; to compare two states write {name}=a vs {name}=b")
        if text is None:
            raise effect.refuse(f"{name!r} needs a state, as in {name}=a")
        if not variables[name].is_continuous:
            states[name] = state_of(variables[name], text)
            continue
        try:
            states[name] = float(text)
        except ValueError:
            raise effect.refuse(f"{name!r} is continuous, and {text!r} is no number") from None
    return states


def _terms(text: str) -> tuple[Term, ...]:
    """Names with or without states, between commas."""
    pieces = [piece.partition("=") for piece in text.split(",") if plain(piece)]
    return tuple(Term(plain(name), plain(state.replace("=", "")) if is_set else None) for name, is_set, state in pieces)
