"""One fault among several components: in which order to look at them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from plausible.base.display import TextTable, format_number
from plausible.base.records import record
from plausible.decisions.troubleshooting.worth_trying import Trials, best_order, order_cost
from plausible.errors import InvalidArgument, UnknownVariable

__all__ = ["Component", "RepairPlan", "best_repair_order", "expected_repair_cost"]


@dataclass(frozen=True, slots=True)
class Component:
    """A part that may be the fault.

    Attributes
    ----------
    name
        Its name.
    fault_probability
        The probability that it is the one fault.
    observation_cost
        What it costs to see whether it is; not needed where it can't be seen.
    repair_cost
        What it costs to repair or replace it.
    observable
        Whether it can be seen; else it is replaced at once, and then the whole is seen to work or not.

    Examples
    --------
    >>> Component("wire", 0.1, repair_cost=9, observable=False).trial_costs
    (9, 0.0)
    """

    name: str
    fault_probability: float
    observation_cost: float = 0.0
    repair_cost: float = 0.0
    observable: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.fault_probability <= 1:
            raise InvalidArgument(f"The fault probability of {self.name!r} is {self.fault_probability!r}, not in 0..1.")
        for cost in (self.observation_cost, self.repair_cost):
            check_cost(cost, self.name)

    @property
    def trial_costs(self) -> tuple[float, float]:
        """What trying it costs, and what more where it is the fault: a part that can't be seen is paid for at once."""
        return (self.observation_cost, self.repair_cost) if self.observable else (self.repair_cost, 0.0)


def check_cost(cost: object, name: str) -> float:
    """A cost as a number, of Python or NumPy; refuses what is none, naming what it is the cost of."""
    if not isinstance(cost, bool) and isinstance(cost, Real) and 0 <= float(cost) < math.inf:
        return float(cost)
    raise InvalidArgument(f"The costs of {name!r} are finite numbers from zero on, not {cost!r}.")


@record
class RepairPlan:
    """An order in which to try components, and what it costs on average.

    Attributes
    ----------
    components
        Those tried, in order.
    expected_cost
        Σ_i (1 - Σ_{j<i} p_j) observation_i + p_i repair_i, and the service call where none of them is the fault.
    service_cost
        What that call costs; `None` where there is none.

    Examples
    --------
    >>> plan = best_repair_order([Component("fuse", 0.6, 2, 1), Component("bulb", 0.4, 0.5, 4)])
    >>> plan.order, round(plan.expected_cost, 6)
    (('bulb', 'fuse'), 3.9)
    """

    components: tuple[Component, ...]
    expected_cost: float
    service_cost: float | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(component.name for component in self.components)

    def __str__(self) -> str:
        rows, left = list[tuple[str, ...]](), 1.0
        for component in self.components:
            first, more = component.trial_costs
            step = "observe" if component.observable else "replace"
            rows.append(
                (f"{step} {component.name}", *map(format_number, (left, component.fault_probability, first, more)))
            )
            left -= component.fault_probability
        if self.service_cost is not None:
            rows.append(("call service", format_number(max(left, 0.0)), "", format_number(self.service_cost), ""))
        table = TextTable(("step", "reached", "is the fault", "costs", "and if faulty"), tuple(rows), 1)
        return f"{table}\nexpected cost {format_number(self.expected_cost)}"


def expected_repair_cost(
    components: Iterable[Component], order: Sequence[str] | None = None, service_cost: float | None = None
) -> float:
    """The expected cost of repair (ECR) of an order, if one thing is broken and the costs don't depend on each other.

    .. math:: ECR = \\sum_i (1 - \\sum_{j<i} p_j) C^o_i + p_i C^r_i

    Parameters
    ----------
    components
        The parts; their fault probabilities sum to one at most. What is missing is a fault elsewhere.
    order
        The names of those to try, in order; the order in which they are given where left out.
    service_cost
        What is paid where none that was tried is the fault.

    References
    ----------
    Heckerman, Breese & Rommelse (1995), Decision-theoretic troubleshooting. Koller & Friedman (2009), box 23.C.

    Examples
    --------
    >>> fuse, bulb = Component("fuse", 0.7, 2, 1), Component("bulb", 0.3, 0.5, 4)
    >>> round(expected_repair_cost([fuse, bulb]), 6), round(expected_repair_cost([fuse, bulb], ["bulb", "fuse"]), 6)
    (4.05, 3.8)
    """
    listed = _checked(components)
    places = {component.name: place for place, component in enumerate(listed)}
    names = list(places) if order is None else list(order)
    for name in names:
        if name not in places:
            raise UnknownVariable(f"{name!r} is none of the components {', '.join(map(repr, places))}.")
    if len(set(names)) < len(names):
        raise InvalidArgument(f"The order {names!r} has a component twice.")
    tried = np.array([places[name] for name in names], dtype=np.intp)
    return order_cost(_trials(listed), tried, _service(service_cost) or 0.0)


def best_repair_order(components: Iterable[Component], service_cost: float | None = None) -> RepairPlan:
    """The order of least expected cost: by falling p / C° (Kalagnanam & Henrion 1990); C° is that of `trial_costs`.

    Repair costs don't matter for the order: the fault is repaired at some time anyway. Where service can be called,
    they do matter for whether a part is tried at all. O(n log n), apart from the choice of parts to leave to service,
    which may need a minimum cut.

    Parameters
    ----------
    components, service_cost
        As for `expected_repair_cost`. With a service cost, parts are tried only as far as that pays.

    Examples
    --------
    >>> parts = [Component("fuse", 0.6, 2, 1), Component("bulb", 0.3, 0.5, 4), Component("wire", 0.1, 0, 9, False)]
    >>> print(best_repair_order(parts))
    step         | reached | is the fault | costs | and if faulty
    -------------+---------+--------------+-------+--------------
    observe bulb |       1 |          0.3 |   0.5 |             4
    observe fuse |     0.7 |          0.6 |     2 |             1
    replace wire |     0.1 |          0.1 |     9 |             0
    expected cost 4.6
    >>> best_repair_order(parts, service_cost=5).order
    ('bulb', 'fuse')
    """
    listed = _checked(components)
    call = _service(service_cost)
    found = best_order(_trials(listed), call)
    return RepairPlan(tuple(listed[place] for place in found.order), found.cost, call)


def _service(cost: float | None) -> float | None:
    return None if cost is None else check_cost(cost, "service call")


def _trials(components: Sequence[Component]) -> Trials:
    chances = np.array([component.fault_probability for component in components], dtype=float)
    costs = np.array([component.trial_costs for component in components], dtype=float).reshape(-1, 2)
    return Trials(chances, costs[:, 0], costs[:, 1], np.full(len(components), np.inf))


def _checked(components: Iterable[Component]) -> list[Component]:
    listed = list(components)
    total = math.fsum(component.fault_probability for component in listed)
    if total > 1 + 1e-9:
        raise InvalidArgument(
            f"The fault probabilities sum to {format_number(total)}: with a single fault they sum to one at most. "
            "For several faults at once, see Troubleshooter."
        )
    names = [component.name for component in listed]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InvalidArgument(f"Two components are called {repeated!r}.")
    return listed
