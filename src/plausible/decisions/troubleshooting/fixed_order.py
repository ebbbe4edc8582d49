"""The best fixed order of repairs for a sample of devices: what advice has to beat."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.decisions.troubleshooting.beliefs import Device
from plausible.decisions.troubleshooting.costs import Costs

__all__ = ["FixedOrder", "SampledDevices", "best_fixed_order"]

#: With more components than this, not all orders are tried.
_MOST_ORDERED = 7
#: Orders that are cheaper by less than this, relative to their cost, are not cheaper.
_TIE = 1e-9


class FixedOrder(NamedTuple):
    """An order, and what it costs for each device."""

    order: tuple[str, ...]
    costs: Floats


class SampledDevices(Protocol):
    """Devices whose faults are known."""

    def works(self, repaired: frozenset[str]) -> Flags:
        """Whether each device works, once these components are repaired."""
        ...

    def is_faulty(self, name: str, repaired: frozenset[str] = ...) -> Flags:
        """Whether a component of each device is faulty."""
        ...


def best_fixed_order(devices: SampledDevices, device: Device, costs: Costs) -> FixedOrder:
    """The order of least mean cost; up to seven components among all orders, with more by moving one at a time.

    Where service can be called, the order may end early.
    """
    plans = _Plans(devices, costs)
    names = tuple(device.ok_states)
    if len(names) <= _MOST_ORDERED:
        return plans.best_completion((), names)
    return plans.descent(names)


class _Plans:
    """Fixed orders and their costs; what is common to several is worked out once."""

    def __init__(self, devices: SampledDevices, costs: Costs) -> None:
        self._devices, self._costs = devices, costs
        self._size = len(devices.works(frozenset()))

    def step(self, before: tuple[str, ...], name: str, is_open: Flags) -> tuple[Floats, Flags]:
        """What trying a component costs the devices that don't work yet, and which still don't after it.

        It is looked at first, or replaced at once, whichever is cheaper for these devices; it is no fault afterwards
        either way.
        """
        done, repair = frozenset(before), self._costs.repair[name]
        paid = np.where(is_open, repair, 0.0)
        if name in self._costs.observe:
            faulty = is_open & self._devices.is_faulty(name, done)
            looked = np.where(is_open, self._costs.observe[name], 0.0) + np.where(faulty, repair, 0.0)
            paid = looked if looked.mean() < paid.mean() else paid
        return paid, is_open & ~self._devices.works(done | {name})

    def cost(self, order: tuple[str, ...]) -> Floats:
        """What an order costs each device, with the call after it."""
        total, is_open = np.zeros(self._size), np.ones(self._size, dtype=bool)
        for place, name in enumerate(order):
            paid, is_open = self.step(order[:place], name, is_open)
            total += paid
        return total + is_open * (self._costs.service or 0.0)

    def best_completion(self, start: tuple[str, ...], left: tuple[str, ...]) -> FixedOrder:
        """The best order of all, depth first; a beginning that costs as much as the best order is given up."""
        best = [FixedOrder((), np.full(self._size, np.inf))]

        def search(before: tuple[str, ...], left: tuple[str, ...], paid: Floats, is_open: Flags) -> None:
            if paid.mean() >= best[0].costs.mean():
                return
            if not left or self._costs.service is not None:
                total = paid + is_open * (self._costs.service or 0.0)
                if total.mean() < best[0].costs.mean():
                    best[0] = FixedOrder(before, total)
            for name in left:
                more, still_open = self.step(before, name, is_open)
                search((*before, name), tuple(other for other in left if other != name), paid + more, still_open)

        search(start, left, np.zeros(self._size), np.ones(self._size, dtype=bool))
        return best[0]

    def descent(self, names: tuple[str, ...]) -> FixedOrder:
        """By chance per cost at first, then moving one component at a time as long as that is cheaper."""
        nothing = frozenset[str]()

        def ratio(name: str) -> float:
            first = self._costs.observe.get(name, self._costs.repair[name])
            return float(self._devices.is_faulty(name, nothing).mean()) / first if first > 0 else math.inf

        order = tuple(sorted(names, key=ratio, reverse=True))
        costs, is_better = self.cost(order), True
        while is_better:
            moves = [
                (*rest[:place], name, *rest[place:])
                for name in order
                for rest in [tuple(other for other in order if other != name)]
                for place in range(len(order))
            ]
            if self._costs.service is not None:
                moves += [order[:end] for end in range(len(order))]
            found = min(moves, key=lambda move: self.cost(move).mean())
            is_better = bool(self.cost(found).mean() < costs.mean() * (1.0 - _TIE))
            if is_better:
                order, costs = found, self.cost(found)
        return FixedOrder(order, costs)
