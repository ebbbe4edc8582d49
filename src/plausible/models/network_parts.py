"""The parts of a Bayesian network that questions to it are written over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from plausible.base.frozen import Frozen
from plausible.cpds import CPD
from plausible.errors import InvalidModel
from plausible.graphs import DAG
from plausible.models.relevance import requisite
from plausible.variables import Evidence, Variable

__all__ = ["NetworkParts"]


class NetworkParts(Frozen, ABC):
    """What a Bayesian network has, and which of it a question needs."""

    __slots__ = ()

    @abstractmethod
    def __init__(self, *cpds: CPD, inputs: Iterable[Variable] = ()) -> None:
        """From conditional distributions, and variables without one."""

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given."""

    @property
    @abstractmethod
    def cpds(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables that have no distribution."""

    @property
    @abstractmethod
    def graph(self) -> DAG:
        """The directed acyclic graph."""

    def _relevant(self, names: Iterable[str], evidence: Evidence) -> list[CPD]:
        """The CPDs of the named variables and their ancestors: all others are barren. Inputs must be observed."""
        asked = set(names)
        kept = asked | self.graph.ancestors(asked)
        for name in self.inputs:
            if name in kept and name not in evidence.hard and name not in evidence.values:
                raise InvalidModel(f"{name!r} is an input of this network: give it a state as evidence.")
        return [cpd for name, cpd in self.cpds.items() if name in kept]

    def _requisite(self, targets: Iterable[str], evidence: Evidence) -> tuple[str, ...]:
        """The variables whose distributions P(targets | evidence) can depend on, in the network's order."""
        observed, weighed = (*evidence.hard, *evidence.values), (*evidence.soft, *evidence.jeffrey)
        found = requisite(self.graph, targets, observed, weighed).distributions
        return tuple(name for name in self.cpds if name in found)
