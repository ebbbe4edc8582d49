"""Labellers as JSON: parameters, labels, names of features, weights."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from plausible.base.records import plain, shortened
from plausible.errors import FormatError, InvalidArgument, NotRepresentable
from plausible.learn.labelling.labels import WeightLayout
from plausible.learn.labelling.tokens import Vocabulary
from plausible.learn.undirected import priors
from plausible.learn.undirected.priors import CombinedPrior, PriorOfWeights, WeightPrior

_FORMAT = "plausible sequence labeller"


def to_record(labeller: Any) -> dict[str, Any]:
    """A fitted labeller with weights in the types that JSON knows."""
    layout = labeller.layout_
    parameters = {**labeller.get_params(), "prior": _prior_record(labeller.prior)}
    for name in ("progress", "resume"):  # of one training only
        del parameters[name]
    if not isinstance(parameters.get("seed"), int | None):
        parameters["seed"] = None
    return {
        "format": _FORMAT,
        "kind": type(labeller).__name__,
        "parameters": parameters,
        "labels": [_label_record(label) for label in labeller.classes_],
        "features": labeller.vocabulary_.names,
        "columns": labeller.vocabulary_.width,
        "weight_starts": layout.starts.tolist(),
        "weight_states": layout.states.tolist(),
        "transitions": layout.transitions.tolist(),
        "weights": labeller.coefficients_.tolist(),
    }


def restore(record: Mapping[str, Any], kinds: Mapping[str, type[Any]]) -> Any:
    """The labeller that a record is of; how it was trained is not kept."""
    if record.get("format") != _FORMAT or record.get("kind") not in kinds:
        raise FormatError(f"This is no {_FORMAT} of the kind {', '.join(kinds)}.")
    try:
        labeller = _read_labeller(record, kinds[record["kind"]])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"This {_FORMAT} is damaged: {error}.") from None
    layout, num_features = labeller.layout_, len(labeller.vocabulary_.places)
    is_whole = layout.num_weights == len(labeller.coefficients_) and np.isfinite(labeller.coefficients_).all()
    is_whole &= len(layout.starts) == num_features + 1 and int(layout.starts[-1]) == len(layout.states)
    for places, end in ((layout.states, layout.num_states), (layout.transitions, layout.num_states**2)):
        is_whole &= bool(((places >= 0) & (places < end)).all())
    if not is_whole:
        raise FormatError(f"This {_FORMAT} is damaged: its weights are not those of its features and labels.")
    return labeller


def _read_labeller(record: Mapping[str, Any], kind: type[Any]) -> Any:
    labeller = kind(**{**record["parameters"], "prior": _read_prior(record["parameters"]["prior"])})
    labeller.classes_ = tuple(_read_label(label) for label in record["labels"])
    labeller.vocabulary_ = Vocabulary.of(record["features"], record["columns"])
    labeller.layout_ = WeightLayout(
        np.array(record["weight_starts"], dtype=np.int64),
        np.array(record["weight_states"], dtype=np.int32),
        np.array(record["transitions"], dtype=np.int64),
        len(labeller.classes_) * labeller._latent,
    )
    labeller.coefficients_ = np.array(record["weights"], dtype=float).reshape(-1)
    return labeller


def save(labeller: Any, path: str | Path) -> None:
    """Write a labeller to a file."""
    Path(path).write_text(json.dumps(to_record(labeller), ensure_ascii=False), encoding="utf-8")


def load(path: str | Path, kinds: Mapping[str, type[Any]]) -> Any:
    """Read a labeller from a file."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
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
