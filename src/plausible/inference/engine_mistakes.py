"""What to say of an `engine=` that can't answer: a text, a class, or an engine for other questions."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

import plausible.inference
from plausible.base import Argument, Call, Piece, Remedy
from plausible.errors import InvalidArgument

Role: TypeAlias = Literal["sums", "best assignments", "both", "rows"]

#: What `engine=` of the questions of each role takes, with examples.
_TAKEN: dict[Role, tuple[Piece, ...]] = {
    "sums": ("an engine, such as ", Call("LoopyBP")),
    "best assignments": ("an engine for best assignments, such as ", Call("MaxProduct")),
    "both": ("an engine, such as ", Call("LoopyBP"), ", or ", Call("MaxProduct"), " where nothing is summed out"),
    "rows": (
        *("an engine that draws: ", Call("Gibbs"), ", ", Call("Metropolis"), ", ", Call("LikelihoodWeighting"), ", "),
        *(Call("ImportanceSampling"), ", ", Call("RejectionSampling"), " or ", Call("JunctionTree")),
    ),
}

#: Engines that sum, and those that maximise in the same way.
_COUNTERPARTS = {
    "LoopyBP": "MaxProduct",
    "TreeReweightedBP": "MaxProduct",
    "MiniBuckets": "MiniBucketMax",
    "Gibbs": "LocalSearch",
    "Metropolis": "LocalSearch",
}
_EXACT = ("Enumeration", "JunctionTree", "Pearl", "RecursiveConditioning", "VariableElimination")


def engine_kinds() -> dict[str, Any]:
    """Name -> class of every engine."""
    names = dir(plausible.inference)
    return {name: kind for name in names if _is_engine(kind := getattr(plausible.inference, name))}


def mistaken_engine(engine: object, role: Role) -> InvalidArgument:
    """The error for what a question does not take as its engine, with what was meant as far as that can be told.

    >>> print(mistaken_engine("loopy-bp", "sums"))
    engine= takes an engine, such as LoopyBP(), or "auto", the only text; not 'loopy-bp': write LoopyBP().
    >>> print(mistaken_engine(plausible.inference.GraphCut(), "sums"))
    GraphCut looks for best assignments. Use mpe(engine=GraphCut()), or take an engine that sums, such as LoopyBP().
    """
    taken: tuple[Piece, ...] = (Argument("engine"), " takes ", *_TAKEN[role])
    if isinstance(engine, str):
        return InvalidArgument(*taken, f', or "auto", the only text; not {engine!r}{_meant(engine)}.')
    if _is_engine(engine):
        kind: Any = engine
        return InvalidArgument(*taken, f"; you passed the class {kind.__name__}: write {_call(kind)}.")
    name = type(engine).__name__
    if role == "sums" and isinstance(engine, plausible.inference.Optimizer):
        sums = next((sums for sums, best in _COUNTERPARTS.items() if best == name), "LoopyBP")
        ways: tuple[Remedy, ...] = (
            Remedy("use ", Call("mpe", Argument("engine", _call(type(engine))))),
            Remedy("take an engine that sums, such as ", Call(sums)),
        )
        return InvalidArgument(f"{name} looks for best assignments.", remedies=ways)
    if role == "best assignments" and isinstance(engine, plausible.inference.Engine):
        if name in _EXACT:
            exactly = Remedy("leave ", Argument("engine"), " out for an exact answer")
            ways = (exactly, Remedy("take ", Call("MaxProduct")))
        elif name in _COUNTERPARTS:
            ways = (Remedy("take ", Call(_COUNTERPARTS[name]), ", its counterpart for best assignments"),)
        else:
            ways = (Remedy("take ", Call("MaxProduct"), ", which looks for best assignments"),)
        return InvalidArgument(f"{name} sums and does not maximise.", remedies=ways)
    return InvalidArgument(*taken, f"; not {engine!r}.")


def _is_engine(kind: object) -> bool:
    roles = plausible.inference.Engine, plausible.inference.Optimizer, plausible.inference.SamplingEngine
    return isinstance(kind, type) and is_dataclass(kind) and issubclass(kind, roles)


def _call(kind: Any) -> Call:
    """How an engine is made: with nothing in the parentheses unless it has options that must be given."""
    needed = [field for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    return Call(kind.__name__, *(Argument(field.name, Ellipsis) for field in needed))


def _meant(text: str) -> str:
    """What a text stands for, as the end of a sentence; nothing where it resembles no name."""
    plain = _folded(text.partition("(")[0])
    if plain == "auto":
        return ': write "auto"'
    kinds = {_folded(name): kind for name, kind in engine_kinds().items()}
    if plain in kinds:
        return f": write {_call(kinds[plain])}"
    near = [_call(kinds[name]) for name in get_close_matches(plain, kinds, n=3)]
    return f" (did you mean {' or '.join(map(str, near))}?)" if near else ""


def _folded(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())
