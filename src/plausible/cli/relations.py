"""Relational models and the tables of a schema file: `plausible learn`, `query` and `predict` with `--schema`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.cli.commands import option_names
from plausible.cli.evidence import told_quality
from plausible.cli.output import is_standard, output_name, print_answer, print_line
from plausible.cli.source import read_relational, save_model
from plausible.cli.tables import check_ending, tell_table
from plausible.cli.terminal import progress_bar
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.io.schema_files import load_schema
from plausible.learn.estimation.priors import LIGHT_PRIOR
from plausible.learn.relations.learning import learn_relational
from plausible.models import RelationalModel
from plausible.models.relations.grounding import Grounding
from plausible.models.relations.instance import Instance
from plausible.variables import Variable

#: Argument of a command -> where a schema file says it.
_IN_FILE: Mapping[str, str] = MappingProxyType(
    {
        "data": "[tables]",
        "graph": "[parents]",
        "hidden": "[hidden]",
        "continuous": "[variables]",
        "states": "[variables]",
        "na": "missing_values",
    }
)


def check_alone(run: Callable[..., None], given: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse arguments of a command that mean nothing beside --schema."""
    names = option_names(run)
    for name, parameter in signature(run).parameters.items():
        if name not in allowed and given[name] != parameter.default:
            told = f"the file has {_IN_FILE[name]} for it" if name in _IN_FILE else "leave it out"
            raise InvalidArgument(f"{names[name]} means nothing beside --schema: {told}.")


def learn_relations(
    schema: Path,
    output: Path,
    format: str | None,
    prior: str | None,
    progress: bool | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Learn a relational model from the tables of a schema file, and write it."""
    told = load_schema(schema)
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if told.parents is not None and not {"score", "max_parents"}.isdisjoint(given):
        raise InvalidArgument(f"--score and --max-parents are for a search, and {schema} has [parents]: leave one out.")
    with progress_bar(f"learning from the tables of {schema}", progress) as advance:
        fit = learn_relational(
            told.schema, told.tables, told.parents, prior=prior or LIGHT_PRIOR, hidden=told.hidden, inputs=told.inputs,
            progress=lambda _: advance(None), **given,
        )  # fmt: skip
    save_model(fit.model, output, format)
    facts = {"output": str(output), **fit.to_dict(), "parents": fit.parents}
    print_answer(f"{output_name(output)}: {fit}", facts, as_json=as_json, error=is_standard(output))


@dataclass(frozen=True, slots=True, repr=False)
class GroundVariables(Mapping[str, Variable]):
    """ "student[anna].wits" -> its variable; a name that is none is an error that says which part of it is unknown."""

    grounding: Grounding

    def __getitem__(self, name: str) -> Variable:
        return self.grounding.variable(self.grounding.node(name))

    def __contains__(self, name: object) -> bool:
        return self[str(name)] is not None

    def __iter__(self) -> Iterator[str]:
        return map(self.grounding.name, range(len(self)))

    def __len__(self) -> int:
        return self.grounding.num_nodes


class ModelOnTables:
    """A relational model on the tables of a schema file, which is asked as a network is."""

    def __init__(self, source: str, schema: Path) -> None:
        self.model: RelationalModel = read_relational(source)
        self.tables: Instance = self.model.read(load_schema(schema).tables)
        self.variables = GroundVariables(Grounding(self.model.schema, self.model.families, self.tables))

    def query(self, targets: list[str], **given: Any) -> Factor:
        """P(targets | tables, evidence, do)."""
        return self.model.query(targets, tables=self.tables, **given)


def predict_objects(
    source: str, schema: Path, target: str, output: Path | None, format: str | None, proba: bool, as_json: bool
) -> None:
    """Write what the tables tell of an attribute of each object of a class."""
    if output is not None:
        check_ending(output, format)
    beliefs = read_relational(source).predict_proba(load_schema(schema).tables, target)
    info, states = beliefs.attrs["info"], np.array([*beliefs.columns, None], dtype=object)[:-1]
    best = states[beliefs.to_numpy().argmax(axis=1)]
    table = beliefs.rename(columns=lambda state: f"P({target}={state})") if proba else beliefs[[]].copy()
    table[f"predicted {target}"] = best
    names = [name or "id" for name in table.index.names]
    if not info.exact:
        print_line(told_quality(info), error=True)
    tell_table(table.reset_index(names=names), output, as_json, format)
