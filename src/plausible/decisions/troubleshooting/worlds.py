"""States of knowledge about an enumerated device: which of all possible devices it may be, and how likely each is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base import PROBABILITY_NOISE, Codes, Flags, Floats
from plausible.decisions.troubleshooting.beliefs import DeviceBeliefs, Profiles, distinct_rows, grouped
from plausible.decisions.troubleshooting.device import Costs, Device
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.factors import Factor
from plausible.variables import State

Ints = npt.NDArray[np.intp]


class Worlds:
    """All that a device may be, after each set of repairs told apart as far as it still matters."""

    def __init__(self, device: Device, costs: Costs, profiles: Profiles) -> None:
        self.device, self.costs, self.profiles = device, costs, profiles
        self.places = {name: place for place, name in enumerate(device.ok_states)}
        self._levels: dict[int, _Level] = {}

    def level(self, done: int, earlier: _Level | None = None) -> _Level:
        """The devices after a set of repairs, worked out once; quicker from those after some of these repairs."""
        if done not in self._levels:
            self._levels[done] = _Level(self, done, earlier)
        return self._levels[done]

    def start(self, repaired: tuple[str, ...]) -> WorldState:
        """What is known at the start, these components being repaired by then."""
        level = self.level(sum(1 << self.places[name] for name in repaired))
        devices = np.arange(len(self.profiles.weights))
        weights = np.bincount(level.classes_of(devices), self.profiles.weights).astype(float)
        return WorldState(level, np.arange(len(weights)), weights)


class _Answers(NamedTuple):
    """How a variable answers to further repairs."""

    #: Rows of its table, all different.
    rows: Ints
    #: The position of each class among them; there are many, so they are small numbers.
    ids: Codes


class _Level:
    """The devices after a set of repairs: those that no further repair or look can tell apart are one class."""

    #: Name of the goal, an open component or a test -> its answers.
    _answers: dict[str, _Answers]
    #: A device of each class, by its position among the profiles.
    _first: Ints
    #: The class that each device, or each class of an earlier level, belongs to.
    _group: Ints

    def __init__(self, worlds: Worlds, done: int, earlier: _Level | None) -> None:
        self.worlds, self.done, self._earlier = worlds, done, earlier
        device, profiles = worlds.device, worlds.profiles
        self.open = tuple(name for name, place in worlds.places.items() if not done >> place & 1)
        self.everything = (1 << len(worlds.places)) - 1
        later = np.flatnonzero(np.arange(self.everything + 1) & done == done)
        answers = dict[str, _Answers]()
        for name in (device.goal, *self.open, *device.tests):
            # What could not be told apart before can't be now.
            table = profiles.tables[name]
            before = (
                _Answers(np.arange(len(table)), profiles.ids[name].astype(np.int32))
                if earlier is None
                else earlier._answers[name]
            )
            first, group = distinct_rows(table[np.ix_(before.rows, later)])
            answers[name] = _Answers(before.rows[first], group.astype(np.int32)[before.ids])
        size = len(profiles.weights) if earlier is None else earlier.num_classes
        first, self._group = grouped([(answer.ids, len(answer.rows)) for answer in answers.values()], size)
        self._answers = {name: _Answers(answer.rows, answer.ids[first]) for name, answer in answers.items()}
        self._first = first if earlier is None else earlier._first[first]
        self._next: dict[str, Ints] = {}

    def classes_of(self, devices: Ints) -> Ints:
        """The classes of some devices, by their positions among the profiles."""
        return self._group[devices if self._earlier is None else self._earlier.classes_of(devices)]

    def codes(self, name: str) -> Ints:
        """The position of a component's or test's state now, by class."""
        rows, ids = self._answers[name]
        codes: Ints = self.worlds.profiles.tables[name][rows, self.done][ids]
        return codes

    @cached_property
    def faults(self) -> _Means:
        """Which components are faulty, those that are open in their order."""
        flags = [~self.worlds.device.is_ok(name)[self.codes(name)] for name in self.open]
        return _Means.of(flags, self.num_classes)

    @cached_property
    def fixes(self) -> _Means:
        """Whether all repairs make the device work, then whether each of them does, then whether all others do."""
        others = (self.everything & ~(1 << self.worlds.places[name]) for name in self.open)
        flags = [self._works(self.everything), *map(self.is_fixed_by, self.open), *map(self._works, others)]
        return _Means.of(flags, self.num_classes)

    def is_fixed_by(self, name: str) -> Flags:
        """For which classes of devices the repair of a component makes them work."""
        return self._works(self.after(name))

    @cached_property
    def bounds(self) -> Floats:
        """The least that mending can cost whoever knows the class; nothing where no repair helps and nobody comes."""
        return np.where(np.isfinite(self._costs), self._costs, 0.0)

    @cached_property
    def bounds_after(self) -> dict[str, Floats]:
        """Component -> the same for what comes after its repair."""
        return {
            name: np.where(self.is_fixed_by(name), 0.0, self.repaired(name).bounds[self.next(name)])
            for name in self.open
        }

    @cached_property
    def _costs(self) -> Floats:
        """The same, infinite where nothing helps."""
        costs = self.worlds.costs
        least = np.full(self.num_classes, np.inf if costs.service is None else costs.service)
        for name in self.open:
            later = self.repaired(name)._costs[self.next(name)]
            least = np.minimum(least, costs.repair[name] + np.where(self.is_fixed_by(name), 0.0, later))
        return least

    @property
    def num_classes(self) -> int:
        return len(self._first)

    def after(self, name: str) -> int:
        return self.done | 1 << self.worlds.places[name]

    def repaired(self, name: str) -> _Level:
        """The devices once a component is repaired as well."""
        return self.worlds.level(self.after(name), self)

    def next(self, name: str) -> Ints:
        """The class that each becomes by the repair of a component."""
        if name not in self._next:
            self._next[name] = self.repaired(name).classes_of(self._first)
        return self._next[name]

    def _works(self, done: int) -> Flags:
        device = self.worlds.device
        rows, ids = self._answers[device.goal]
        working = device.model.variables[device.goal].index(device.working)
        is_working: Flags = self.worlds.profiles.tables[device.goal][rows, done] == working
        return is_working[ids]


class _Means(NamedTuple):
    """Flags of classes, whose means over any distribution are wanted: classes with the same flags share a row."""

    rows: Ints
    table: Floats

    @classmethod
    def of(cls, flags: Sequence[Flags], size: int) -> _Means:
        first, rows = grouped([(column.astype(np.int64), 2) for column in flags], size)
        table = np.array([column[first] for column in flags], dtype=float).reshape(len(flags), len(first))
        return cls(rows, table.T)

    def over(self, classes: Ints, weights: Floats) -> Floats:
        """The mean of each flag."""
        rows = self.rows[classes]
        if len(rows) > len(self.table):
            return np.bincount(rows, weights, len(self.table)) @ self.table
        return weights @ self.table[rows]


class WorldState:
    """What is known: the classes of devices that are possible, and their probabilities."""

    def __init__(self, level: _Level, classes: Ints, weights: Floats) -> None:
        self._level, self._classes, self._weights = level, classes, weights / weights.sum()

    @cached_property
    def key(self) -> bytes:
        """The same for all histories after which the same is believed."""
        told = hashlib.blake2b(digest_size=16)
        told.update(self._level.done.to_bytes(8, "little"))
        told.update(self._classes.tobytes())
        # Sums in different order differ in the last digits, which are cut off.
        told.update(np.round(self._weights, 12).tobytes())
        return told.digest()

    @cached_property
    def bound(self) -> float:
        """A cost that no plan can beat: that of whoever knows all."""
        return self._mean(self._level.bounds)

    def beliefs(self, tested: Mapping[str, State] | None = None) -> DeviceBeliefs:
        if not tested:
            return self._believed
        state = self
        for name, seen in tested.items():
            state = state._seen(name, seen)
        return state._believed

    @cached_property
    def _believed(self) -> DeviceBeliefs:
        level = self._level
        faulty = level.faults.over(self._classes, self._weights)
        fixable, *fixes = level.fixes.over(self._classes, self._weights).tolist()
        alone, without = np.array(fixes).reshape(2, -1)
        is_left = faulty > PROBABILITY_NOISE
        return DeviceBeliefs(
            _Distributions(level, self._classes, self._weights),
            tuple(name for name, left in zip(level.open, is_left.tolist(), strict=True) if left),
            faulty[is_left],
            alone[is_left],
            np.maximum(fixable - without[is_left], 0.0),
            fixable,
        )

    def after(self, step: Step, outcome: Outcome) -> WorldState:
        """What is known after a look, a test, or a repair that was not enough."""
        if step.kind != "repair":
            return self._seen(step.name, outcome)
        level = self._level
        is_open = ~level.is_fixed_by(step.name)[self._classes]
        later = level.repaired(step.name)
        becomes = level.next(step.name)[self._classes[is_open]]
        weights = np.bincount(becomes, self._weights[is_open], later.num_classes).astype(float)
        classes = np.flatnonzero(weights)
        return WorldState(later, classes, weights[classes])

    def bound_after(self, step: Step) -> float:
        """What no plan can beat on average, once a step is taken, whatever comes of it."""
        if step.kind == "call":
            return 0.0
        return self._mean(self._level.bounds_after[step.name]) if step.kind == "repair" else self.bound

    def _seen(self, name: str, state: State) -> WorldState:
        code = self._level.worlds.device.model.variables[name].index(state)
        is_so = self._level.codes(name)[self._classes] == code
        return WorldState(self._level, self._classes[is_so], self._weights[is_so])

    def _mean(self, values: Floats) -> float:
        return float(self._weights @ values[self._classes])


class _Distributions(Mapping[str, Factor]):
    """Component or test -> distribution over its states, made when asked for."""

    def __init__(self, level: _Level, classes: Ints, weights: Floats) -> None:
        self._level, self._classes, self._weights = level, classes, weights

    def __getitem__(self, name: str) -> Factor:
        codes = self._level.codes(name)[self._classes]
        variable = self._level.worlds.device.model.variables[name]
        return Factor((variable,), np.bincount(codes, self._weights, variable.num_states))

    def __iter__(self) -> Iterator[str]:
        return iter((*self._level.open, *self._level.worlds.device.tests))

    def __len__(self) -> int:
        return len(self._level.open) + len(self._level.worlds.device.tests)
