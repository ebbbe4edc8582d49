"""Famous networks and influence diagrams as data records: for tests, docs, demonstrations and teaching."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from plausible.errors import UnknownExample, suggestion
from plausible.io import Model
from plausible.io.json_format import parse_json

__all__ = ["Example", "get", "load", "names"]


@dataclass(frozen=True, slots=True)
class Example:
    """A model with its story: what it is about, and where it comes from."""

    name: str
    description: str
    reference: str
    model: Model


def names() -> tuple[str, ...]:
    """The names of all examples, in alphabetical order.

    >>> "asia" in names()
    True
    """
    files = resources.files("plausible.examples").joinpath("networks").iterdir()
    return tuple(sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json")))


def get(name: str) -> Example:
    """The example of this name, with its description and reference.

    >>> get("asia").reference
    'Lauritzen & Spiegelhalter (1988)'
    """
    if name not in names():
        raise UnknownExample(f"{name!r} is not an example.{suggestion(name, names())}")
    text = resources.files("plausible.examples").joinpath("networks", f"{name}.json").read_text(encoding="utf-8")
    model = parse_json(text)
    return Example(name, model.notes.description, model.notes.reference, model)


def load(name: str) -> Model:
    """The model of the example of this name.

    >>> load("asia")
    <BayesianNetwork 'asia': 8 variables, 8 edges, 18 parameters>
    >>> load("entrepreneur")
    <InfluenceDiagram 'entrepreneur': 2 chance, 2 decisions, 2 utilities>
    """
    return get(name).model
