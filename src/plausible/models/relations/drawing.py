"""Tables drawn from a relational model, attribute by attribute, all objects of a generation together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.cpds import CPD
from plausible.models.relations.families import Dependency, layers
from plausible.models.relations.grounding import GroundFamily, Grounding
from plausible.models.relations.instance import Instance
from plausible.models.relations.references import ReferenceCPD
from plausible.models.relations.term_values import term_values


def draw_attributes(
    grounding: Grounding, cpds: Sequence[CPD], found: Sequence[Dependency], generator: np.random.Generator
) -> Instance:
    """The instance with all attributes that have a distribution drawn anew. O(objects x parents)."""
    levels = generator.random(grounding.num_nodes)
    schema = grounding.schema
    columns = {
        name: np.array(grounding.instance.column(name), dtype=np.float64 if _is_number(grounding, name) else np.int64)
        for name in grounding.attributes
        if name not in schema.references
    }
    instance = grounding.instance.with_columns(columns)
    for group in layers(grounding.attributes, found):
        if group[0] in schema.references:  # alone, as no cycle goes over it
            instance = _with_drawn_reference(grounding, instance, group[0], cpds, levels)
            grounding = Grounding(schema, [ground.family for ground in grounding.families], instance)
            continue
        families = [
            (ground, cpd)
            for ground, cpd in zip(grounding.families, cpds, strict=True)
            if ground.family.attribute in group
        ]
        if len(group) == 1 and not any(one.parent == one.child == group[0] for one in found):
            for ground, cpd in families:
                _draw(grounding, instance, ground, cpd, np.arange(len(ground.rows)), levels)
            continue
        depths = [grounding.generations[ground.children] for ground, _ in families]
        for depth in np.unique(np.concatenate(depths)).tolist():
            for (ground, cpd), own in zip(families, depths, strict=True):
                _draw(grounding, instance, ground, cpd, np.flatnonzero(own == depth), levels)
    return instance


def _with_drawn_reference(
    grounding: Grounding, instance: Instance, name: str, cpds: Sequence[CPD], levels: NDArray[Any]
) -> Instance:
    """The instance with the objects that a slot refers to drawn."""
    number = next(at for at, ground in enumerate(grounding.families) if ground.family.attribute == name)
    ground, cpd = grounding.families[number], cpds[number]
    if not len(ground.rows):
        return instance
    assert isinstance(cpd, ReferenceCPD)
    columns = {one.term.text: term_values(one.term, instance, ground.rows) for one in ground.terms}
    return instance.with_references(name, cpd.on(instance).quantile(columns, levels[ground.children]))


def _draw(
    grounding: Grounding,
    instance: Instance,
    ground: GroundFamily,
    cpd: CPD,
    chosen: NDArray[Any],
    levels: NDArray[Any],
) -> None:
    """Put values of some objects into the columns of the instance, which are this function's own."""
    if not len(chosen):
        return
    rows, children, family = ground.rows[chosen], ground.children[chosen], ground.family
    columns = {one.term.text: term_values(one.term, instance, rows) for one in ground.terms}
    values = cpd.quantile(columns, levels[children])
    instance.columns[family.attribute][children - grounding.starts[family.attribute]] = values


def _is_number(grounding: Grounding, name: str) -> bool:
    return grounding.schema.variable(name).is_continuous
