"""Parallel worlds: one network for what is and for what would be, in which only what differs is copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from plausible.causal.counterfactuals.potential import Potential, Setting
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.naming import fresh_name
from plausible.cpds import CPD
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.models.lowering import point_mass
from plausible.models.rebuilding import rebuilt
from plausible.variables import State, Variable

__all__ = ["ParallelWorlds", "parallel_worlds", "twin_network"]


@dataclass(frozen=True, slots=True)
class ParallelWorlds:
    """A network over variables of several worlds that share their noise.

    Attributes
    ----------
    network
        What actually happens under the plain names; other worlds under names such as "Y[X=1]", which list the settings
        that matter; constants under names such as "do(X=1)"; and the noise.
    nodes
        The name in the network of each potential response asked for. Those that must be equal share a node.
    constants
        Name -> state of the constants: evidence that changes nothing but makes answers cheaper.
    """

    network: BayesianNetwork
    nodes: Mapping[Potential, str]
    constants: Mapping[str, State]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as plain dictionaries: read-only views of mappings can't be."""
        return _parallel_worlds, (self.network, dict(self.nodes), dict(self.constants))


def parallel_worlds(model: FunctionalModel, terms: Iterable[Potential]) -> ParallelWorlds:
    """The network in which potential responses of one or more worlds live together.

    In each world a variable that is not set is the same function of its parents *in that world* and of the shared
    noise. Two copies of a variable with the same parents are one: nothing upstream of an intervention is doubled, and
    neither is what an intervention hides from another. The cost is linear in the worlds' variables.

    Parameters
    ----------
    model
        A functional model.
    terms
        The potential responses; their ancestors come along. Noise is the same in all worlds.

    References
    ----------
    Balke & Pearl (1994), Probabilistic evaluation of counterfactual queries. Shpitser & Pearl (2007), What
    counterfactuals can be tested: the merging of copies.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> model = FunctionalModel(
    ...     {"Z": lambda U: U, "X": lambda Z: Z, "Y": lambda X, Z, V: (X and Z) != V},
    ...     noise=[TableCPD("U", [0.5, 0.5]), TableCPD("V", [0.5, 0.5])],
    ... )
    >>> worlds = parallel_worlds(model, [Potential("Y"), Potential("Y", {"X": 1}), Potential("Z", {"X": 1})])
    >>> [worlds.nodes[term] for term in worlds.nodes]
    ['Y', 'Y[X=1]', 'Z']
    >>> worlds.network.graph.parents("Y[X=1]")
    ('do(X=1)', 'Z', 'V')
    """
    builder = _Builder(model)
    listed = list(dict.fromkeys(terms))
    nodes = {term: builder.node(term) for term in listed}
    noise = model.noise.subnetwork(builder.noise).cpds.values()
    network = BayesianNetwork([*noise, *builder.cpds.values()])
    return _parallel_worlds(network, nodes, builder.constants)


def _parallel_worlds(
    network: BayesianNetwork, nodes: Mapping[Potential, str], constants: Mapping[str, State]
) -> ParallelWorlds:
    return ParallelWorlds(network, MappingProxyType(nodes), MappingProxyType(constants))


def twin_network(model: FunctionalModel, do: Mapping[str, Setting]) -> ParallelWorlds:
    """All variables as they are and as they would be under `do` (Koller & Friedman 2009, definition 21.4).

    >>> from plausible.causal.functional.trial import trial_model
    >>> import numpy as np
    >>> list(twin_network(trial_model(np.full((4, 4), 1 / 16)), {"T": 1}).network.variables)
    ['U_A', 'U_T', 'U_O', 'A', 'T', 'O', 'do(T=1)', 'O[T=1]']
    """
    actual, other = ([Potential(name, world) for name in model.variables] for world in (None, do))
    return parallel_worlds(model, [*actual, *other])


class _Place(NamedTuple):
    """A variable in a world."""

    #: Its name in the network.
    node: str
    #: The settings of the world that it depends on, as text.
    settings: tuple[str, ...]


class _Builder:
    """The CPDs of all worlds so far."""

    def __init__(self, model: FunctionalModel) -> None:
        self._model = model
        self._causes, self._order = model.graph.directed_part(), model.topological_order
        self._taken = {*model.network.variables}
        self._names: dict[tuple[object, ...], str] = {}
        self._worlds: dict[tuple[tuple[str, Setting], ...], dict[str, _Place]] = {}
        self.cpds: dict[str, CPD] = {}
        self.noise: set[str] = set()
        self.constants: dict[str, State] = {}

    def node(self, term: Potential) -> str:
        """The name of a potential response, which is built with its ancestors where it is not there yet."""
        do = term.do
        _check_settings(do, self._model)
        if term.variable in self._model.noise:
            self.noise.add(term.variable)
            return term.variable
        if term.variable not in self._model.variables:
            raise UnknownVariable.named(term.variable, self._model.network.variables, "this functional model")
        world = self._worlds.setdefault(term.settings, {})
        if term.variable not in world:
            needed = {term.variable} | self._causes.ancestors(term.variable)
            for name in self._order:
                if name in needed and name not in world:
                    world[name] = self._set(name, do[name]) if name in do else self._copied(name, world)
        return world[term.variable].node

    def _set(self, name: str, value: Setting) -> _Place:
        if isinstance(value, Potential):
            node = self.node(value)
            return _Place(node, (f"{name}={node}",))
        variable = self._model.variables[name]
        state = variable.states[variable.index(value)]
        key = ("do", name, variable.index(value))
        if key not in self._names:
            node = self._names[key] = fresh_name(f"do({name}={state})", self._taken, "'")
            self.cpds[node], self.constants[node] = point_mass(variable.renamed(node), state), state
        return _Place(self._names[key], (f"{name}={state}",))

    def _copied(self, name: str, world: Mapping[str, _Place]) -> _Place:
        """The variable as a function of its parents in a world; the copy that has the same parents, if there is one."""
        parents = self._model.parents(name)
        inside = [world[parent].node for parent in parents]
        settings = tuple(dict.fromkeys(text for parent in parents for text in world[parent].settings))
        key = (name, *inside)
        if key not in self._names:
            is_actual = inside == list(parents)
            text = f"{name}[{', '.join(settings)}]"
            node = self._names[key] = name if is_actual else fresh_name(text, self._taken, "'")
            self.cpds[node] = self._function(name, node, dict(zip(parents, inside, strict=True)))
        return _Place(self._names[key], settings)

    def _function(self, name: str, node: str, inside: Mapping[str, str]) -> CPD:
        known = self._model.network.variables
        self.noise.update(self._model.noise_of(name))
        variables: dict[str, Variable] = {parent: known[parent] for parent in self._model.noise_of(name)}
        variables |= {parent: known[parent].renamed(copy) for parent, copy in inside.items()}
        return rebuilt(self._model.functions[name], {**variables, name: known[name].renamed(node)})


def _check_settings(do: Mapping[str, Setting], model: FunctionalModel) -> None:
    for name in do:
        if name in model.noise:
            raise InvalidArgument(f"{name!r} is noise: it is the same in all worlds, and no intervention sets it.")
        if name not in model.variables:
            raise UnknownVariable.named(name, model.variables, "this functional model")
