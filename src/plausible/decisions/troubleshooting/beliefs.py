"""What is known of a device in which some parts were repaired: findings before and after, in one network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from plausible.base import PROBABILITY_NOISE, Floats
from plausible.causal import FunctionalModel, ParallelWorlds, parallel_worlds
from plausible.causal.counterfactuals.potential import Finding, Potential, as_evidence
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD, DeterministicCPD, TableCPD
from plausible.decisions.troubleshooting.device import Device
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork
from plausible.models.network_parts import rebuilt
from plausible.variables import Evidence, State, Variable

#: What a run of a network for several repairs may cost.
_AT_ONCE = Budget(seconds=0.5)


@dataclass(frozen=True, slots=True)
class DeviceBeliefs:
    """What is believed of the device as it stands now.

    >>> from plausible.examples import printer_troubleshooter
    >>> beliefs = printer_troubleshooter().start({"panel": "clear"}).beliefs
    >>> dict(zip(beliefs.components, beliefs.shares.round(3).tolist()))
    {'paper': 0.02, 'cable': 0.189, 'driver': 0.285, 'spooler': 0.24, 'toner': 0.039, 'network': 0.227}
    """

    states: Mapping[str, Factor]  # Name of a part or test -> distribution over its states
    components: tuple[str, ...]  # The components that were not repaired yet and may be faulty
    faulty: Floats  # P(component is faulty), in their order
    fixes: Floats  # P(the device works once this component alone is repaired)
    needed: Floats  # P(the device works once all are repaired) less P(it works once all but this one are)
    fixable: float  # P(the device works once all are repaired)

    @property
    def is_fixable(self) -> bool:
        """Whether a repair can help: of all components, or of one alone where others would undo it."""
        return bool(max(self.fixable, self.fixes.max(initial=0.0)) > PROBABILITY_NOISE)

    @property
    def shares(self) -> Floats:
        """The chance that each component is what has to be repaired; they sum to `fixable`.

        In proportion to `fixes` + `needed`. With a single fault the two are the same, and are the probability of the
        fault, so the shares are exact; with several, `needed` speaks for parts that all have to be repaired, and
        `fixes` for parts of which any will do.
        """
        weights = self.fixes + self.needed
        if not weights.sum() > PROBABILITY_NOISE:
            weights = self.faulty
        total = weights.sum()
        return weights * (self.fixable / total) if total > 0 else weights

    def outcomes(self, step: Step) -> dict[Outcome, float]:
        """What can come of a step, with probabilities; exact with any number of faults."""
        if step.kind == "call":
            return {None: 1.0}
        if step.kind == "repair":
            if step.name not in self.components:
                return {False: 1.0}
            fixed = float(self.fixes[self.components.index(step.name)])
            chances: dict[Outcome, float] = {True: fixed, False: 1.0 - fixed}
        else:
            told = self.states[step.name]
            chances = dict(zip(told.scope[0].states, told.values.tolist(), strict=True))
        return {outcome: chance for outcome, chance in chances.items() if chance > PROBABILITY_NOISE}


class DeviceKnowledge(Protocol):
    """What answers for beliefs: compiled networks or enumerated devices."""

    def beliefs(self, tested: Mapping[str, State] | None = None) -> DeviceBeliefs:
        """What is believed, if some tests also showed these states."""
        ...


class Situation:
    """One state of a device, about which to ask; tests may be answered in addition, one at a time.

    What each component's repair would do, and that of all others, is asked of one network, or of several that share
    the repairs among them where one is too large. Compiled once, run once for each `beliefs`.
    """

    def __init__(self, device: Device, repaired: Sequence[str], findings: Sequence[Finding]) -> None:
        self._device, self._repaired, self._findings = device, repaired, findings
        self._open = tuple(name for name in device.ok_states if name not in repaired)
        everything = frozenset(self._open)
        sets = [everything, *(frozenset([name]) for name in self._open), *(everything - {name} for name in self._open)]
        self._places = {chosen: place for place, chosen in enumerate(dict.fromkeys(sets))}
        self._views = self._compiled(list(self._places))

    def _compiled(self, choices: list[frozenset[str]]) -> list[ChoiceView]:
        budget = None if len(choices) == 1 else _AT_ONCE
        try:
            return [ChoiceView(self._device, self._repaired, choices, self._findings, budget)]
        except TooLarge:
            if budget is None:
                raise
            half = len(choices) // 2
            return [*self._compiled(choices[:half]), *self._compiled(choices[half:])]

    def beliefs(self, tested: Mapping[str, State] | None = None) -> DeviceBeliefs:
        return self._asked(tested) if tested else self._untested

    @cached_property
    def _untested(self) -> DeviceBeliefs:
        return self._asked({})

    def _asked(self, tested: Mapping[str, State]) -> DeviceBeliefs:
        answers = [view.marginals(tested) for view in self._views]
        states, works = answers[0][0], np.concatenate([fixed for _, fixed in answers])
        faulty = {name: float(states[name].values[~self._device.is_ok(name)].sum()) for name in self._open}
        left = tuple(name for name in self._open if faulty[name] > PROBABILITY_NOISE)
        everything = frozenset(self._open)
        alone = [self._places[frozenset([name])] for name in left]
        others = [self._places[everything - {name}] for name in left]
        fixable = float(works[self._places[everything]])
        needed = np.maximum(fixable - works[others], 0.0)
        return DeviceBeliefs(states, left, np.array([faulty[name] for name in left]), works[alone], needed, fixable)


class ChoiceView:
    """The worlds of all findings, and one more in which a root variable, uniform, chooses what is repaired besides.

    It is independent of all that is seen in the other worlds. So P(works | choice, findings), for all choices, comes
    from one run, and costs what a twin network does for each of them, but on larger tables instead of many networks.
    """

    def __init__(
        self,
        device: Device,
        repaired: Sequence[str],
        choices: Sequence[frozenset[str]],
        findings: Sequence[Finding],
        budget: Budget | None,
    ) -> None:
        model, done = device.model, {part: device.ok_states[part] for part in repaired}
        seen = [*(name for name in device.ok_states if name not in done), *device.tests]
        needed = {device.goal} | model.graph.directed_part().ancestors(device.goal)
        causes = [name for name in model.topological_order if name in needed]
        terms = {name: Potential(name, done) for name in dict.fromkeys([*seen, *causes])}
        worlds = parallel_worlds(model, [*terms.values(), *(finding.term for finding in findings)])
        now = {name: worlds.nodes[term] for name, term in terms.items()}
        chosen = _chosen_world(device, worlds, choices, {name: now[name] for name in causes}, repaired)
        network = BayesianNetwork([*worlds.network.cpds.values(), *chosen])
        self._nodes = {name: now[name] for name in seen}
        self._fixing, self._num_choices = chosen[-1].variable.name, len(choices)
        self._evidence = {**worlds.constants, **as_evidence(findings, worlds.nodes, worlds.network.variables)}
        kept = dict.fromkeys([*self._nodes.values(), self._fixing, *self._evidence])
        self._engine = network.compile(list(kept), budget=budget)

    def marginals(self, tested: Mapping[str, State]) -> tuple[dict[str, Factor], Floats]:
        """The distribution of each variable seen, and P(works) after each choice, if tests showed these states."""
        evidence: dict[str, Any] = {**self._evidence, **{self._nodes[name]: state for name, state in tested.items()}}
        posterior = self._engine.marginals(evidence)
        states = {name: posterior[node].rename({node: name}) for name, node in self._nodes.items()}
        return states, np.minimum(posterior[self._fixing].values[:-1] * self._num_choices, 1.0)


def _chosen_world(
    device: Device,
    worlds: ParallelWorlds,
    choices: Sequence[frozenset[str]],
    now: Mapping[str, str],
    repaired: Sequence[str],
) -> list[CPD]:
    """The copies of variables in the world of a choice; what no choice reaches is that of the world as it is.

    `now` has the nodes of the goal and its causes in that world, causes first. The last copy is the choice if it makes
    the device work, else one more state: its distribution is that of both.
    """
    model, variables, number = device.model, dict(worlds.network.variables), len(choices)
    taken = {*variables, *model.network.variables}
    choice = Variable(fresh_name("choice", taken), number)
    added: list[CPD] = [TableCPD(choice, np.full(number, 1.0 / number))]
    inside = dict(now)

    def new(name: str, mark: str) -> Variable:
        variable = model.variables[name].renamed(fresh_name(f"{name}[{mark}]", taken, "'"))
        variables[variable.name], inside[name] = variable, variable.name
        return variable

    for name in now:
        parents = model.parents(name)
        if name not in repaired and any(inside[parent] != now[parent] for parent in parents):
            causes = {noise: model.network.variables[noise] for noise in model.noise_of(name)}
            causes |= {parent: variables[inside[parent]] for parent in parents}
            added.append(rebuilt(model.functions[name], {**causes, name: new(name, "chosen")}))
        if name not in repaired and name in device.ok_states:
            before, after = variables[inside[name]], new(name, "repaired?")
            ok, same = before.index(device.ok_states[name]), list(range(before.num_states))
            positions = [code for chosen in choices for code in ([ok] * len(same) if name in chosen else same)]
            added.append(DeterministicCPD.from_record(after, (choice, before), {"positions": positions}))
    goal, fixing = variables[inside[device.goal]], Variable(fresh_name("fixing choice", taken), number + 1)
    works = goal.index(device.working)
    positions = [place if code == works else number for place in range(number) for code in range(goal.num_states)]
    return [*added, DeterministicCPD.from_record(fixing, (choice, goal), {"positions": positions})]


Ints = npt.NDArray[np.intp]

#: Devices, and entries of one table, beyond which nothing is enumerated.
_MOST_DEVICES = 250_000
_MOST_ENTRIES = 8_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """The devices that are possible, told apart by what they would show after any repairs."""

    weights: Floats  # the probability of each device, up to a factor
    ids: dict[str, Ints]  # name of a component, a test or the goal -> for each device, its row in `tables`
    #: Name -> the position of its state, by row and by set of repairs; bit i of a set is the i-th component.
    tables: dict[str, Ints]


def enumerate_profiles(device: Device, findings: Sequence[Finding]) -> Profiles:
    """The devices that agree with the findings; noise that makes no difference after any repairs is summed out.

    `TooLarge` where they are too many. Time and memory are in proportion to the devices, and for each variable to the
    ways in which it answers to repairs times the sets of repairs.
    """
    kept = (device.goal, *device.ok_states, *device.tests)
    asked = dict.fromkeys((*kept, *(finding.term.variable for finding in findings)))
    order = _causes_first(device.model, asked)
    growing = _Enumeration(device)
    for place, name in enumerate(order):
        if name in device.model.noise:
            growing.draw(name)
            continue
        growing.respond(name)
        for finding in findings:
            if finding.term.variable == name:
                growing.condition(finding)
        used = {*kept, *(cause for later in order[place + 1 :] for cause in _causes(device.model, later))}
        growing.forget(used)
    return growing.profiles(kept)


def grouped(columns: Iterable[tuple[npt.NDArray[np.signedinteger[Any]], int]], size: int) -> tuple[Ints, Ints]:
    """Rows that are the same in all columns: the first row of each group, and the group of each row."""
    key, most = np.zeros(size, dtype=np.int64), 1
    for codes, bound in columns:
        if most * bound >= 2**62:
            different, key = np.unique(key, return_inverse=True)
            most = len(different)
        key, most = key * bound + codes, most * bound
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, group


def distinct_rows(table: Ints) -> tuple[Ints, Ints]:
    """The first of each group of equal rows, and the group of each row; rows are compared as bytes."""
    rows = np.ascontiguousarray(table)
    packed = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
    _, first, group = np.unique(packed, return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _causes(model: FunctionalModel, name: str) -> tuple[str, ...]:
    return model.network.cpds[name].parent_names


def _causes_first(model: FunctionalModel, names: Iterable[str]) -> list[str]:
    """These variables and their ancestors, each as late as can be."""
    order: dict[str, None] = {}
    waiting = list(reversed(list(names)))
    while waiting:
        name = waiting[-1]
        missing = [cause for cause in _causes(model, name) if cause not in order]
        if missing:
            waiting.extend(reversed(missing))
        else:
            order[waiting.pop()] = None
    return list(order)


class _Enumeration:
    """Devices as rows, and a growing number of variables as columns."""

    def __init__(self, device: Device) -> None:
        self._device, self._model = device, device.model
        self._places = {name: place for place, name in enumerate(device.ok_states)}
        self._num_sets = 1 << len(self._places)
        self._weights: Floats = np.ones(1)
        self._ids: dict[str, Ints] = {}
        self._tables: dict[str, Ints] = {}

    def draw(self, name: str) -> None:
        """Tell apart the states of a noise variable."""
        cpd = self._model.noise.cpds[name]
        table = np.asarray(cpd.to_table().values)
        chances = table[tuple(self._ids[parent] for parent in cpd.parent_names)]
        chances = np.broadcast_to(chances, (len(self._weights), table.shape[-1]))
        rows, states = np.nonzero(chances > 0)
        if len(rows) > _MOST_DEVICES:
            raise TooLarge(f"The device can be in {len(rows)} ways and more: {_MOST_DEVICES} at most are listed.")
        self._check_entries(name, table.shape[-1])
        self._take(rows)
        self._weights = self._weights * chances[rows, states]
        self._ids[name] = states
        # Noise is the same after any repairs.
        self._tables[name] = np.broadcast_to(np.arange(table.shape[-1])[:, None], (table.shape[-1], self._num_sets))

    def respond(self, name: str) -> None:
        """Add a variable that is a function of some of those there are."""
        function = self._model.functions[name]
        parents = function.parent_names
        first, group = grouped([(self._ids[p], len(self._tables[p])) for p in parents], len(self._weights))
        self._check_entries(name, len(first))
        columns = {p: self._tables[p][self._ids[p][first]].ravel() for p in parents}
        size = len(first) * self._num_sets
        # Any level does: the functions are deterministic.
        drawn = np.broadcast_to(function.quantile(columns, np.full(size, 0.5)), (size,)).astype(np.intp)
        # The smallest type of integers: tables are compared row by row, byte by byte.
        smallest = np.min_scalar_type(function.variable.num_states - 1)
        states = drawn.reshape(len(first), self._num_sets).astype(smallest)
        if name in self._places:
            is_repaired = np.arange(self._num_sets) >> self._places[name] & 1 == 1
            states[:, is_repaired] = function.variable.index(self._device.ok_states[name])
        distinct, ids = distinct_rows(states)
        self._tables[name], self._ids[name] = states[distinct], ids[group]

    def condition(self, finding: Finding) -> None:
        """Keep what agrees with a finding, weighted by its likelihood."""
        name = finding.term.variable
        variable = self._model.variables[name]
        done = sum(1 << self._places[part] for part in finding.term.do)
        evidence = Evidence.read({name: finding.value}, {name: variable})
        likelihoods = np.zeros(variable.num_states)
        if name in evidence.soft:
            likelihoods = np.asarray(evidence.soft[name])
        else:
            likelihoods[evidence.hard[name]] = 1.0
        self._weights = self._weights * likelihoods[self._tables[name][self._ids[name], done]]
        self._take(np.flatnonzero(self._weights > 0))

    def forget(self, used: set[str]) -> None:
        """Sum out all other variables."""
        if used.issuperset(self._ids):
            return
        self._ids = {name: ids for name, ids in self._ids.items() if name in used}
        self._tables = {name: self._tables[name] for name in self._ids}
        columns = [(ids, len(self._tables[name])) for name, ids in self._ids.items()]
        first, group = grouped(columns, len(self._weights))
        weights = np.bincount(group, self._weights).astype(float)
        self._take(first)
        self._weights = weights

    def profiles(self, names: Sequence[str]) -> Profiles:
        return Profiles(
            self._weights / self._weights.sum(),
            {name: self._ids[name] for name in names},
            {name: self._tables[name] for name in names},
        )

    def _check_entries(self, name: str, num_ways: int) -> None:
        if num_ways * self._num_sets > _MOST_ENTRIES:
            raise TooLarge(
                f"{name!r} can answer in {num_ways} ways to {self._num_sets} sets of repairs: {_MOST_ENTRIES} entries "
                "at most are listed."
            )

    def _take(self, rows: Ints) -> None:
        self._weights = self._weights[rows]
        self._ids = {name: ids[rows] for name, ids in self._ids.items()}
