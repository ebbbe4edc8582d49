"""What a dynamic Bayesian network to be learned looks like: which variables depend on which, and who shares what."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.cpds import CPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidArgument, InvalidGraph, UnknownVariable
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.sequences.slice_families import prototype
from plausible.models import DynamicBayesianNetwork
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """Which variables depend on which, and which slices share tables."""

    parents: Mapping[str, tuple[Lagged, ...]]  # name -> parents in later slices
    num_first: int
    own: frozenset[tuple[str, int]]  # the variables that have tables of their own in first slices
    model: DynamicBayesianNetwork | None
    inputs: tuple[str, ...]

    @classmethod
    def read(cls, graph: object, inputs: Sequence[str]) -> SlicePlan:
        """From a network, or from a graph some of whose variables are inputs."""
        if isinstance(graph, DynamicBayesianNetwork):
            template = graph._template
            own = {
                (name, at)
                for at, cpds in enumerate(template.slices[:-1])
                for name, cpd in cpds.items()
                if cpd != template.later[name]
            }
            return cls(template.parents_at(-1), template.num_first, frozenset(own), graph, template.inputs)
        dag = read_dag(graph)
        parents: dict[str, tuple[Lagged, ...]] = {}
        for node in dag.nodes:
            one = lagged(str(node))
            parents.setdefault(one.name, ())
            if one.lag and dag.parents(node):
                raise InvalidGraph(
                    f"An arrow leads into {str(node)!r}: write what it means in the slice itself, with {one.name!r} at "
                    "the head and the parents as seen from there."
                )
            if not one.lag:
                parents[one.name] = tuple(lagged(str(parent)) for parent in dag.parents(node))
        for name in inputs:
            if name not in parents:
                raise UnknownVariable.named(name, parents, "this graph, though inputs= has it")
            if parents.pop(name):
                raise InvalidGraph(f"An arrow leads into {name!r}, which is an input: inputs depend on nothing.")
        num_first = max([1, *(parent.lag for own in parents.values() for parent in own)])
        early = {
            (name, at)
            for at in range(num_first)
            for name, own in parents.items()
            if any(parent.lag > at for parent in own)
        }
        return cls(parents, num_first, frozenset(early), None, tuple(inputs))

    @property
    def lone(self) -> str | None:
        """The variable that a plain list of values is of."""
        return next(iter(self.parents)) if len(self.parents) == 1 and not self.inputs else None

    def unrolled(self) -> DAG:
        """The graph of the first slices and the one after them."""
        slices = range(self.num_first + 1)
        nodes = [f"{name}[{at}]" for at in slices for name in self.parents]
        edges = [
            (f"{parent.name}[{at - parent.lag}]", f"{name}[{at}]")
            for at in slices
            for name, own in self.parents.items()
            for parent in own
            if parent.lag <= at
        ]
        return DAG(edges, nodes=nodes)

    def tied(self, fixed: Collection[str]) -> list[list[str]]:
        """The groups of variables with one table, but for those whose distributions stay."""
        groups = [
            [f"{name}[{at}]" for at in range(self.num_first + 1) if (name, at) not in self.own]
            for name in self.parents
            if name not in fixed
        ]
        return [group for group in groups if len(group) > 1]

    def fixed(self, names: Collection[str]) -> list[CPD]:
        """The distributions that are not learned."""
        if names and self.model is None:
            raise InvalidArgument(
                "fixed= keeps distributions of a network: give a DynamicBayesianNetwork, not a graph."
            )
        kept: list[CPD] = []
        for name in names:
            if name not in self.parents:
                raise UnknownVariable.named(name, self.parents, "this dynamic network, though fixed= has it")
            assert self.model is not None
            unrolled = self.model.unroll(self.num_first + 1)
            kept += [unrolled.cpd(f"{name}[{at}]") for at in range(self.num_first + 1)]
        return kept

    def shared(self, fixed: Collection[str]) -> dict[str, list[tuple[int, ...]]]:
        """Name -> the groups of slices with one distribution each, but for variables whose distributions stay."""
        self.fixed(fixed)  # which refuses names that are not there
        groups = {}
        for name in self.parents:
            own = [(at,) for at in range(self.num_first) if (name, at) in self.own]
            rest = tuple(at for at in range(self.num_first + 1) if (name, at) not in self.own)
            groups[name] = [*own, rest]
        return {name: slices for name, slices in groups.items() if name not in fixed}

    def template(self, variables: Mapping[str, Variable], sequences: Sequences) -> Template:
        """Distributions of the usual kinds that know nothing."""
        slices: list[list[CPD]] = [[] for _ in range(self.num_first + 1)]
        for at, cpds in enumerate(slices):
            for name, parents in self.parents.items():
                scope = [variables[one.name].renamed(str(one)) for one in parents if one.lag <= at]
                column = sequences.columns.get(name, np.zeros(0))
                cpds.append(prototype(variables[name], tuple(scope), column))
        return Template.read(slices[:-1], slices[-1], [variables[name] for name in self.inputs])

    def variables(self, sequences: Sequences, known: Mapping[str, Variable]) -> dict[str, Variable]:
        """The variables of a slice, inputs first, the others in the order of the graph."""
        found = {}
        for name in (*self.inputs, *self.parents):
            if name not in sequences.variables and (name not in known or known[name].is_continuous):
                raise UnknownVariable(f"{name!r} has no column", self._without_column(name, known))
            found[name] = known.get(name) or sequences.variables[name]
        return found

    def _without_column(self, name: str, known: Mapping[str, Variable]) -> str:
        if name in self.inputs:
            return ", and it is an input, which rows give."
        if name in known:
            return ": a number that is hidden is learned by learn.linear_dynamical_system."
        return f": if it is hidden, say how many states it has: hidden={{{name!r}: 2}}."
