"""`plausible show`: the structure and the distributions of a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.errors import UnknownVariable
from plausible.io import Model
from plausible.models import BayesianNetwork

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "show"
EXAMPLES = ("plausible show asia dysp",)

Names = Annotated[list[str] | None, typer.Argument(help="Variables to show; all where left out.", show_default=False)]


def run(model: ModelSource, variables: Names = None, as_json: AsJson = False) -> None:
    """Show the graph of a model and the distributions of its variables."""
    found = read_model(model)
    chosen = list(variables or found.variables)
    for name in chosen:
        if name not in found.variables:
            raise UnknownVariable.named(name, found.variables, f"{model!r}")
    if as_json:
        print_json(_document(found, chosen))
        return
    print_line(str(found.graph))
    for title, table in _tables(found, chosen):
        print_line(f"\n{title}\n{table}")


def _tables(model: Model, names: list[str]) -> list[tuple[str, str]]:
    if not isinstance(model, BayesianNetwork):
        chosen = set(names)
        return [(", ".join(factor.names), str(factor)) for factor in model.factors if chosen & set(factor.names)]
    return [(repr(model.cpd(name)), str(model.cpd(name))) for name in names if name not in model.inputs]


def _document(model: Model, names: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "graph": str(model.graph),
        "variables": {name: _states(model, name) for name in names},
    }
    if isinstance(model, BayesianNetwork):
        document["distributions"] = {
            name: {"kind": cpd.kind, "parents": list(cpd.parent_names), **cpd.to_record()}
            for name, cpd in model.cpds.items()
            if name in names
        }
    else:
        document["factors"] = [
            {"scope": list(factor.names), "values": factor.flat.tolist()}
            for factor in model.factors
            if set(names) & set(factor.names)
        ]
    return document


def _states(model: Model, name: str) -> list[Any] | str:
    variable = model.variables[name]
    return "continuous" if variable.is_continuous else list(variable.states)
