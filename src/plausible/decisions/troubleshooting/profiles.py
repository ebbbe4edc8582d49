"""All that a device may be: each part's state after every set of repairs, with probabilities, by enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.causal.counterfactuals.potential import Finding
from plausible.causal.functional.model import FunctionalModel
from plausible.decisions.troubleshooting.device import Device
from plausible.errors import TooLarge
from plausible.variables import Evidence

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
