"""States of knowledge about an enumerated device: which of all possible devices it may be, and how likely each is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plausible.decisions.troubleshooting.beliefs import SURE, Beliefs, Device
from plausible.decisions.troubleshooting.costs import Costs
from plausible.decisions.troubleshooting.profiles import Profiles, grouped
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.factors import Factor
from plausible.variables import State

__all__ = ["WorldState", "Worlds"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


class Worlds:
    """All that a device may be, after each set of repairs told apart as far as it still matters.

    Parameters
    ----------
    device, costs
        The device, and what each step costs.
    profiles
        What it may be.
    """

    def __init__(self, device: Device, costs: Costs, profiles: Profiles) -> None:
        self.device, self.costs, self.profiles = device, costs, profiles
        self.places = {name: place for place, name in enumerate(device.ok_states)}
        self._levels: dict[int, _Level] = {}

    def level(self, done: int) -> _Level:
        """The devices after a set of repairs, worked out once."""
        if done not in self._levels:
            self._levels[done] = _Level(self, done)
        return self._levels[done]

    def start(self, repaired: tuple[str, ...]) -> WorldState:
        """What is known at the start, these components being repaired by then."""
        level = self.level(sum(1 << self.places[name] for name in repaired))
        weights = np.bincount(level.group, self.profiles.weights).astype(float)
        return WorldState(level, np.arange(len(weights)), weights)


class _Level:
    """The devices after a set of repairs: those that no further repair or look can tell apart are one class."""

    def __init__(self, worlds: Worlds, done: int) -> None:
        self.worlds, self.done = worlds, done
        device, profiles = worlds.device, worlds.profiles
        self.open = tuple(name for name, place in worlds.places.items() if not done >> place & 1)
        self.everything = (1 << len(worlds.places)) - 1
        later = np.flatnonzero(np.arange(self.everything + 1) & done == done)
        columns = []
        for name in (device.goal, *self.open, *device.tests):
            found, rows = np.unique(profiles.tables[name][:, later], axis=0, return_inverse=True)
            columns.append((rows.reshape(-1)[profiles.ids[name]], len(found)))
        self._first, self.group = grouped(columns, len(profiles.weights))
        self._next: dict[str, Ints] = {}

    @cached_property
    def codes(self) -> dict[str, Ints]:
        """Component or test -> the position of its state now, by class."""
        return {name: self._codes(name, self.done) for name in (*self.open, *self.worlds.device.tests)}

    @cached_property
    def is_faulty(self) -> dict[str, Floats]:
        """Component -> 1 for the classes in which it is faulty, else 0."""
        return {name: (~self.worlds.device.is_ok(name)[self.codes[name]]).astype(float) for name in self.open}

    @cached_property
    def is_fixed_by(self) -> dict[str, Floats]:
        """Component -> 1 for the classes of devices that its repair makes work."""
        return {name: self._works(self.after(name)) for name in self.open}

    @cached_property
    def is_fixed_without(self) -> dict[str, Floats]:
        """Component -> 1 for the classes of devices that the repair of all others makes work."""
        return {name: self._works(self.everything & ~(1 << self.worlds.places[name])) for name in self.open}

    @cached_property
    def is_fixable(self) -> Floats:
        """1 for the classes of devices that the repair of everything makes work."""
        return self._works(self.everything)

    @cached_property
    def bounds(self) -> Floats:
        """The least that mending can cost whoever knows the class; nothing where no repair helps and nobody comes."""
        return np.where(np.isfinite(self._costs), self._costs, 0.0)

    @cached_property
    def bounds_after(self) -> dict[str, Floats]:
        """Component -> the same for what comes after its repair."""
        return {
            name: (1.0 - self.is_fixed_by[name]) * self.worlds.level(self.after(name)).bounds[self.next(name)]
            for name in self.open
        }

    @cached_property
    def _costs(self) -> Floats:
        """The same, infinite where nothing helps."""
        costs = self.worlds.costs
        least = np.full(self.num_classes, np.inf if costs.service is None else costs.service)
        for name in self.open:
            later = self.worlds.level(self.after(name))._costs[self.next(name)]
            least = np.minimum(least, costs.repair[name] + np.where(self.is_fixed_by[name] > 0, 0.0, later))
        return least

    @property
    def num_classes(self) -> int:
        """How many there are."""
        return len(self._first)

    def after(self, name: str) -> int:
        """The set of repairs with one more."""
        return self.done | 1 << self.worlds.places[name]

    def next(self, name: str) -> Ints:
        """The class that each becomes by the repair of a component."""
        if name not in self._next:
            self._next[name] = self.worlds.level(self.after(name)).group[self._first]
        return self._next[name]

    def _codes(self, name: str, done: int) -> Ints:
        profiles = self.worlds.profiles
        codes: Ints = profiles.tables[name][profiles.ids[name][self._first], done]
        return codes

    def _works(self, done: int) -> Floats:
        device = self.worlds.device
        working = device.model.variables[device.goal].index(device.working)
        return np.equal(self._codes(device.goal, done), working).astype(float)


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

    def beliefs(self, tested: Mapping[str, State] | None = None) -> Beliefs:
        """What is believed, if some tests also showed these states."""
        state, level = self, self._level
        for name, seen in (tested or {}).items():
            state = state._seen(name, seen)
        faulty = {name: state._mean(level.is_faulty[name]) for name in level.open}
        left = tuple(name for name in level.open if faulty[name] > SURE)
        fixable = state._mean(level.is_fixable)
        without = np.array([state._mean(level.is_fixed_without[name]) for name in left])
        fixes = np.array([state._mean(level.is_fixed_by[name]) for name in left])
        needed = np.maximum(fixable - without, 0.0)
        states = _Distributions(level, state._classes, state._weights)
        return Beliefs(states, left, np.array([faulty[name] for name in left]), fixes, needed, fixable)

    def after(self, step: Step, outcome: Outcome) -> WorldState:
        """What is known after a look, a test, or a repair that was not enough."""
        if step.kind != "repair":
            return self._seen(step.name, outcome)
        level = self._level
        is_open = level.is_fixed_by[step.name][self._classes] == 0
        later = level.worlds.level(level.after(step.name))
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
        is_so = self._level.codes[name][self._classes] == code
        return WorldState(self._level, self._classes[is_so], self._weights[is_so])

    def _mean(self, values: Floats) -> float:
        return float(self._weights @ values[self._classes])


class _Distributions(Mapping[str, Factor]):
    """Component or test -> distribution over its states, made when asked for."""

    def __init__(self, level: _Level, classes: Ints, weights: Floats) -> None:
        self._level, self._classes, self._weights = level, classes, weights

    def __getitem__(self, name: str) -> Factor:
        codes = self._level.codes[name][self._classes]
        variable = self._level.worlds.device.model.variables[name]
        return Factor((variable,), np.bincount(codes, self._weights, variable.num_states))

    def __iter__(self) -> Iterator[str]:
        return iter(self._level.codes)

    def __len__(self) -> int:
        return len(self._level.codes)
