"""Labellers as JSON: parameters, labels, names of features, and what was learned of these."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from plausible.base.records import plain, shortened
from plausible.errors import FormatError, InvalidArgument, MissingFile, NotRepresentable
from plausible.learn.labelling.tokens import Vocabulary
from plausible.learn.undirected import priors
from plausible.learn.undirected.priors import CombinedPrior, PriorOfWeights, WeightPrior

_FORMAT = "plausible sequence labeller"


def to_record(labeller: Any) -> dict[str, Any]:
    """A fitted labeller in the types that JSON knows."""
    parameters = labeller.get_params()
    for name in ("progress", "resume"):  # of one training only
        parameters.pop(name, None)
    if "prior" in parameters:
        parameters["prior"] = _prior_record(labeller.prior)
    if not isinstance(parameters.get("seed", 0), int | None):
        parameters["seed"] = None
    return {
        "format": _FORMAT,
        "kind": type(labeller).__name__,
        "parameters": parameters,
        "labels": [_label_record(label) for label in labeller.classes_],
        "features": labeller.vocabulary_.names,
        "columns": labeller.vocabulary_.width,
        **labeller._learned(),
    }


def restore(record: Mapping[str, Any], kinds: Mapping[str, type[Any]]) -> Any:
    """The labeller that a record is of; how it was trained is not kept."""
    if record.get("format") != _FORMAT or record.get("kind") not in kinds:
        raise FormatError(f"This is no {_FORMAT} of the kind {', '.join(kinds)}.")
    try:
        parameters = dict(record["parameters"])
        if "prior" in parameters:
            parameters["prior"] = _read_prior(parameters["prior"])
        labeller = kinds[record["kind"]](**parameters)
        labeller.classes_ = tuple(_read_label(label) for label in record["labels"])
        labeller.vocabulary_ = Vocabulary.of(record["features"], record["columns"])
        is_whole = labeller._take(record)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"This {_FORMAT} is damaged: {error}.") from None
    if not is_whole:
        raise FormatError(f"This {_FORMAT} is damaged: its weights are not those of its features and labels.")
    return labeller


def save(labeller: Any, path: str | Path) -> None:
    """Write a labeller to a file."""
    text = json.dumps(to_record(labeller), ensure_ascii=False)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except FileNotFoundError:
        raise MissingFile.for_writing(Path(path)) from None


def load(path: str | Path, kinds: Mapping[str, type[Any]]) -> Any:
    """Read a labeller from a file."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingFile.at(Path(path), (".json",)) from None
    except ValueError:
        raise FormatError(f"{Path(path).name!r} is no JSON.") from None
    return restore(record if isinstance(record, dict) else {}, kinds)


def _label_record(label: Hashable) -> Any:
    """Tuples as lists; what JSON has no type for is refused."""
    if isinstance(label, tuple):
        return [_label_record(part) for part in label]
    if not isinstance(plain(label), str | int | float | bool | None):
        raise NotRepresentable(f"The label {shortened(label)} has no form in JSON: pickle this model.")
    return plain(label)


def _read_label(label: Any) -> Hashable:
    return tuple(map(_read_label, label)) if isinstance(label, list) else label


def _prior_record(prior: PriorOfWeights) -> Any:
    if prior is None:
        return None
    if isinstance(prior, Mapping):
        return {name: _prior_record(part) for name, part in prior.items()}
    if isinstance(prior, CombinedPrior):
        return [_prior_record(part) for part in prior.parts]
    options = {part.name: getattr(prior, part.name) for part in fields(prior)}  # type: ignore[arg-type]
    return [[type(prior).__name__, options]]


def _read_prior(record: Any) -> Any:
    if record is None:
        return None
    if isinstance(record, Mapping):
        return {name: _read_prior(part) for name, part in record.items()}
    if len(record) == 1 and isinstance(record[0][0], str):
        name, options = record[0]
        kind = getattr(priors, name, None)
        if not (isinstance(kind, type) and issubclass(kind, WeightPrior)):
            raise InvalidArgument(f"{name!r} is no prior of weights.")
        return kind(**options)
    return CombinedPrior(tuple(map(_read_prior, record)))
