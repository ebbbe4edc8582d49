"""What writers find in a model: a Bayesian network is an influence diagram in which nobody decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from plausible.cpds import CPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.factors import Factor
from plausible.io.formats import Model, bayesian_network, discrete_network
from plausible.models import BayesianNetwork, Notes
from plausible.variables import Variable

__all__ = ["Contents", "contents", "discrete_contents"]


@dataclass(frozen=True, slots=True)
class Contents:
    """The parts of a Bayesian network or of an influence diagram.

    Attributes
    ----------
    variables
        Name -> variable: chance, then decisions.
    cpds
        Name -> distribution of each chance variable.
    decisions
        Name -> decision.
    utilities
        Name -> numbers over the parents.
    notes
        The notes on all of them.
    """

    variables: Mapping[str, Variable]
    cpds: Mapping[str, CPD]
    decisions: Mapping[str, Decision]
    utilities: Mapping[str, Factor]
    notes: Notes

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
