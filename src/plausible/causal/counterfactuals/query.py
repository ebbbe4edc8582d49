"""Counterfactual questions to a functional model: parallel worlds that share their noise, and abduction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from plausible.base import FrozenMapping
from plausible.causal.counterfactuals.potential import Potential, Setting, as_evidence, findings_under, refuse_idle_do
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork
from plausible.models.lowering import point_mass
from plausible.models.network_parts import rebuilt
from plausible.variables import EvidenceLike, State
from plausible.variables.evidence import findings_of, settings_of


@dataclass(frozen=True, slots=True)
class ParallelWorlds:
    """A network over variables of several worlds that share their noise."""

    #: What actually happens under the plain names; other worlds under names such as "Y[X=1]", which list the settings
    #: that matter; constants under names such as "do(X=1)"; and the noise.
    network: BayesianNetwork
    #: The name in the network of each potential response asked for. Those that must be equal share a node.
    nodes: Mapping[Potential, str]
    #: Name -> state of the constants: evidence that changes nothing but makes answers cheaper.
    constants: Mapping[str, State]


def parallel_worlds(model: FunctionalModel, terms: Iterable[Potential]) -> ParallelWorlds:
    """The network in which potential responses of one or more worlds live together.

    In each world a variable that is not set is the same function of its parents *in that world* and of the shared
    noise. Two copies of a variable with the same parents are one: nothing upstream of an intervention is doubled, and
    neither is what an intervention hides from another. The cost is linear in the worlds' variables. See See Balke &
    Pearl (1994), Probabilistic evaluation of counterfactual queries. Shpitser & Pearl (2007), What counterfactuals can
    be tested: the merging of copies.

    Parameters
    ----------
    terms
        The potential responses; their ancestors come along. Noise is the same in all worlds.

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
    return ParallelWorlds(network, FrozenMapping(nodes), FrozenMapping(builder.constants))


def twin_network(model: FunctionalModel, do: Mapping[str, Setting]) -> ParallelWorlds:
    """All variables as they are and as they would be under `do` (Koller & Friedman 2009, definition 21.4).

    >>> from plausible.causal.functional.model import trial_model
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
        for name in do:
            if name in self._model.noise:
                raise InvalidArgument(f"{name!r} is noise: it is the same in all worlds, and no intervention sets it.")
            UnknownVariable.check(name, self._model.variables, "this functional model")
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
            known, noise = self._model.network.variables, self._model.noise_of(name)
            self.noise.update(noise)
            variables = {parent: known[parent] for parent in noise} | {name: known[name].renamed(node)}
            variables |= {parent: known[parent].renamed(copy) for parent, copy in zip(parents, inside, strict=True)}
            self.cpds[node] = rebuilt(self._model.functions[name], variables)
        return _Place(self._names[key], settings)


#: Name, or `Potential` where the world matters -> what is known about it.
Findings: TypeAlias = Mapping[Any, Any]
#: A variable or several, each by its name or as a `Potential`.
Outcome: TypeAlias = "str | Potential | Iterable[str | Potential]"


def counterfactual(
    model: FunctionalModel,
    outcome: Outcome,
    *,
    evidence: Findings | None = None,
    do: Mapping[str, Setting] | None = None,
    counterfactual_evidence: Findings | None = None,
    actual_do: Mapping[str, Setting] | None = None,
    budget: Budget | None = None,
) -> Factor:
    """P(Y_do | evidence): what the outcome would be under `do` for units of which the evidence is known.

    The real and the hypothetical world share their noise, so that evidence about one speaks of the other; exact
    inference in `parallel_worlds` answers. Had what was done anyway been done (do repeats the evidence), nothing would
    change. The answer is over variables named as the outcome is. See Balke & Pearl (1994), Probabilistic evaluation of
    counterfactual queries.

    Parameters
    ----------
    model
        A functional model; see `functional_model` for one of a Bayesian network.
    outcome
        Variables under `do` by their names; those of other worlds as `Potential("Y", {"X": 0})`, several at once for
        joint probabilities such as P(Y_1, Y_0).
    evidence
        What is known about the real world: name -> state, states or `likelihood(...)`. A key may be a `Potential`, too,
        or a noise variable, which is how to ask about a type of unit.
    do
        What is set in the hypothetical world: name -> state, or `Potential("M", {"X": 0})` for nested counterfactuals.
        Refused where only `Potential`s are asked for, which say their own worlds.
    counterfactual_evidence
        What is known about the hypothetical world.
    actual_do
        What was set in the real world already, before the evidence was seen.

    Examples
    --------
    Nobody was hired with low grades. Would a high grade have helped? The same CPDs, opposite answers:

    >>> from plausible.causal.functional.responses import HIRING, ResponseVariable
    >>> from plausible.cpds import TableCPD
    >>> from plausible.variables import Variable
    >>> grade = ResponseVariable(Variable("G", ["low", "high"]))
    >>> job = ResponseVariable(Variable("J", ["no", "yes"]), [grade.variable], names=HIRING)
    >>> for types in ({"always hire": 0.5, "never hire": 0.5}, {"rational": 0.5, "underdog": 0.5}):
    ...     model = FunctionalModel([grade, job], [grade.distribution([0.5, 0.5]), job.distribution(types)])
    ...     print(counterfactual(model, "J", evidence={"G": "low", "J": "no"}, do={"G": "high"}).values)
    [1. 0.]
    [0. 1.]
    """
    if not isinstance(model, FunctionalModel):
        raise InvalidArgument(
            f"A counterfactual needs a FunctionalModel, not {model!r}. See functional_model(network); "
            "LinearEquations and AdditiveEquations have a method counterfactual."
        )
    hypothetical, actual = settings_of(do), settings_of(actual_do)
    listed = [outcome] if isinstance(outcome, (str, Potential)) else list(outcome)
    refuse_idle_do(hypothetical, [*listed, *findings_of(counterfactual_evidence)])
    refuse_idle_do(actual, findings_of(evidence), "actual_do")
    asked = _asked(listed, hypothetical)
    findings = [*findings_under(evidence, actual), *findings_under(counterfactual_evidence, hypothetical)]
    worlds = parallel_worlds(model, [*asked.values(), *(finding.term for finding in findings)])
    variables = worlds.network.variables
    known = {**worlds.constants, **as_evidence(findings, worlds.nodes, variables)}
    nodes = list(dict.fromkeys(worlds.nodes[term] for term in asked.values()))
    answer = worlds.network.query(nodes, known, budget=budget)
    # The answer over the variables asked for, of which several may be one node: these are surely equal.
    axes = {variable.name: axis for axis, variable in enumerate(answer.scope)}
    nodes = [worlds.nodes[term] for term in asked.values()]
    scope = [answer.variable(node).renamed(name) for name, node in zip(asked, nodes, strict=True)]
    values = np.zeros([variable.num_states for variable in scope])
    grid = np.indices(answer.values.shape)
    values[tuple(grid[axes[node]] for node in nodes)] = answer.values
    return Factor(scope, values).with_info(answer.info)


def _asked(outcome: Iterable[str | Potential], do: Mapping[str, Setting]) -> dict[str, Potential]:
    """The name in the answer of each variable asked for."""
    asked: dict[str, Potential] = {}
    for wanted in outcome:
        if not isinstance(wanted, (str, Potential)):
            raise UnknownVariable(f"{wanted!r} is no outcome: give a name or Potential('Y', {{'X': 1}}).")
        term = Potential(wanted, do) if isinstance(wanted, str) else wanted
        if asked.setdefault(str(wanted), term) != term:
            raise InvalidArgument(
                f"{str(wanted)!r} is asked for in two worlds. Write the hypothetical one as {term!r}, without do=."
            )
    return asked


def abduct(
    model: FunctionalModel,
    evidence: EvidenceLike,
    do: Mapping[str, State] | None = None,
    *,
    max_entries: int = MAX_ENTRIES,
) -> FunctionalModel:
    """The same functions with the noise of the units that the evidence describes: P(U | evidence).

    Counterfactuals in three steps: abduction gives this model, action is its `intervene`, prediction its `query`. The
    posterior is one table over all noise, so `counterfactual`, which never writes it down, is the one for large models.
    See Pearl (2009), Causality, theorem 7.1.7.

    >>> from plausible.cpds import TableCPD
    >>> model = FunctionalModel(
    ...     {"X": lambda U_X: U_X, "Y": lambda X, U_Y: X != U_Y},
    ...     noise=[TableCPD("U_X", [0.3, 0.7]), TableCPD("U_Y", [0.9, 0.1])],
    ... )
    >>> abduct(model, {"X": 1, "Y": False}).query("Y", do={"X": 0}).values
    array([0., 1.])
    """
    check_size(tuple(model.noise.variables.values()), "The posterior of the noise", max_entries)
    posterior = model.query(list(model.noise.variables), evidence, do)
    return FunctionalModel(model.functions.values(), posterior if len(model.noise) else model.noise)
