"""The record of a file format, the checks that writers share, and what they find in a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from plausible.cpds import CPD, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import NotRepresentable, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.models import BayesianNetwork, MarkovNetwork, Notes
from plausible.variables import Variable

#: Models of chance alone.
Network: TypeAlias = BayesianNetwork | MarkovNetwork
#: What files hold.
Model: TypeAlias = Network | InfluenceDiagram

_DIAGRAM_ENDINGS: Final = ".json, .xdsl, .net or .xmlbif"


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: pure functions between text and models."""

    name: str  # What people call it
    extensions: tuple[str, ...]  # File endings that choose it, in lower case, with the dot
    parse: Callable[[str], Model]  # Text to model; errors are `FormatError` with line and column
    #: Model to text, where the format can be written; a model that it can't hold is `NotRepresentable`.
    write: Callable[[Model], str] | None


def check_model(model: object) -> None:
    """Refuse what no file holds."""
    if not isinstance(model, BayesianNetwork | MarkovNetwork | InfluenceDiagram):
        raise NotRepresentable(
            "Files hold a BayesianNetwork, a MarkovNetwork or an InfluenceDiagram; "
            f"this is a {type(model).__name__}. Make one of it first."
        )


def bayesian_network(model: Model, format: str) -> BayesianNetwork:
    """The model, for a format that holds Bayesian networks without inputs, and no others."""
    check_model(model)
    if isinstance(model, InfluenceDiagram):
        raise NotRepresentable(
            f"{format} files have no place for decisions and utilities. Save this diagram as {_DIAGRAM_ENDINGS}, "
            "or save the network that a strategy makes of it: diagram.network(strategy)."
        )
    if not isinstance(model, BayesianNetwork):
        raise NotRepresentable(f"{format} files hold Bayesian networks. Save this {type(model).__name__} as .json.")
    if model.inputs:
        raise NotRepresentable(
            f"{format} files have no place for inputs, and {model.inputs[0]!r} is one. Save as .json, or give it a CPD."
        )
    return model


def discrete_network(model: Model, format: str) -> BayesianNetwork:
    """The model, for a format that holds Bayesian networks over variables with states, and no others."""
    network = bayesian_network(model, format)
    for name, variable in network.variables.items():
        if variable.is_continuous:
            raise NotRepresentable(f"{format} files hold variables with states; {name!r} is continuous. Save as .json.")
    return network


def table_of(cpd: CPD, format: str) -> TableCPD:
    """The table of a CPD, for a format without its kind."""
    try:
        return cpd.to_table()
    except (TooLarge, NotSupported) as error:
        raise NotRepresentable(
            f"{format} files hold the CPD of {cpd.variable.name!r} as a table only. {error} Save as .json."
        ) from None


@dataclass(frozen=True, slots=True)
class Contents:
    """The parts of a Bayesian network or of an influence diagram."""

    variables: Mapping[str, Variable]  # name -> variable: chance, then decisions
    cpds: Mapping[str, CPD]  # name -> distribution of each chance variable
    decisions: Mapping[str, Decision]  # name -> decision
    utilities: Mapping[str, Factor]  # name -> numbers over the parents
    notes: Notes  # the notes on all of them

    @property
    def nodes(self) -> tuple[str, ...]:
        """All names: chance, decisions, utilities."""
        return (*self.variables, *self.utilities)

    def parents(self, name: str) -> tuple[str, ...]:
        """What a node depends on, in order; for a decision, what it sees."""
        if name in self.utilities:
            return self.utilities[name].names
        return self.decisions[name].sees if name in self.decisions else self.cpds[name].parent_names


def contents(model: Model, format: str) -> Contents:
    """The parts, for a format that holds Bayesian networks and influence diagrams."""
    return _parts(model if isinstance(model, InfluenceDiagram) else bayesian_network(model, format))


def discrete_contents(model: Model, format: str) -> Contents:
    """The parts, for a format that holds these over variables with states only."""
    return _parts(model if isinstance(model, InfluenceDiagram) else discrete_network(model, format))


def _parts(model: BayesianNetwork | InfluenceDiagram) -> Contents:
    if isinstance(model, InfluenceDiagram):
        return Contents(model.variables, model.chance, model.decisions, model.utility_factors, model.notes)
    return Contents(model.variables, model.cpds, {}, {}, model.notes)
