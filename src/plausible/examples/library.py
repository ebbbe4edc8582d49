"""Famous networks and influence diagrams as data records: for tests, docs, demonstrations and teaching."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, overload

from plausible.decisions import InfluenceDiagram
from plausible.errors import UnknownExample, suggestion
from plausible.io import Model
from plausible.io.json_format import parse_json
from plausible.models import BayesianNetwork, MarkovNetwork

# The kinds of the examples, for type checkers.
NetworkName: TypeAlias = Literal[
    "alarm",
    "asia",
    "burglary",
    "cancer",
    "chain",
    "earthquake",
    "fever",
    "gaussian-chain",
    "radio",
    "sprinkler",
    "student",
]
MarkovName: TypeAlias = Literal["misconception"]
DiagramName: TypeAlias = Literal["entrepreneur", "exam", "oil"]


@dataclass(frozen=True, slots=True)
class Example:
    """A model with its story: what it is about, and where it comes from."""

    name: str
    description: str
    reference: str
    model: Model


def names() -> tuple[str, ...]:
    """List the names of all examples, in alphabetical order.

    >>> "asia" in names()
    True
    """
    files = resources.files("plausible.examples").joinpath("networks").iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json")))


def get(name: str) -> Example:
    """Get an example by name, with its description and reference.

    >>> get("asia").reference
    'Lauritzen & Spiegelhalter (1988)'
    """
    if name not in names():
        raise UnknownExample(f"{name!r} is not an example.{suggestion(name, names())}")
    text = resources.files("plausible.examples").joinpath("networks", f"{name}.json").read_text(encoding="utf-8")
    model = parse_json(text)
    return Example(name, model.notes.description, model.notes.reference, model)


@overload
def load(name: NetworkName) -> BayesianNetwork: ...
@overload
def load(name: MarkovName) -> MarkovNetwork: ...
@overload
def load(name: DiagramName) -> InfluenceDiagram: ...
@overload
def load(name: str) -> BayesianNetwork | Any: ...
def load(name: str) -> Model:
    """Load the example model of this name.

    >>> load("asia")
    <BayesianNetwork 'asia': 8 variables, 8 edges, 18 parameters>
    >>> load("entrepreneur")
    <InfluenceDiagram 'entrepreneur': 2 chance, 2 decisions, 2 utilities>
    """
    return get(name).model
