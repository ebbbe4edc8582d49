"""One fault among several components: in which order to try them, and which to try before calling for service."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base import PROOF, WRITTEN_ROUNDING, Flags, Floats, Result, TextTable, format_number, record
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.inference.optimization.pairwise_energy import minimum_cut

Ints = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Component:
    """A part that may be the fault.

    >>> Component("wire", 0.1, repair_cost=9, observable=False).trial_costs
    (9, 0.0)
    """

    name: str  # Its name
    fault_probability: float  # The probability that it is the one fault
    observation_cost: float = 0.0  # What it costs to see whether it is; not needed where it can't be seen
    repair_cost: float = 0.0  # What it costs to repair or replace it
    #: Whether it can be seen; else it is replaced at once, and then the whole is seen to work or not.
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
class RepairPlan(Result):
    """An order in which to try components, and what it costs on average."""

    _rows = "components"

    components: tuple[Component, ...]  # Those tried, in order
    #: Σ_i (1 - Σ_{j<i} p_j) observation_i + p_i repair_i, and the service call where none of them is the fault.
    expected_cost: float
    service_cost: float | None = None  # What that call costs; `None` where there is none

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

    Heckerman, Breese & Rommelse (1995), Decision-theoretic troubleshooting. Koller & Friedman (2009), box 23.C.

    The fault probabilities of the components sum to one at most; what is missing is a fault elsewhere. They are tried
    in the `order` of their names, or as they are given, and the `service_cost` is paid where none that was tried is the
    fault.

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
    which may need a minimum cut. Components and the service cost are as for `expected_repair_cost`; with a service
    cost, parts are tried only as far as that pays.

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
    call, trials = _service(service_cost), _trials(listed)
    tried = best_order(trials, call)
    return RepairPlan(tuple(listed[place] for place in tried.order), tried.cost, call)


def _service(cost: float | None) -> float | None:
    return None if cost is None else check_cost(cost, "service call")


def _trials(components: Sequence[Component]) -> Trials:
    chances = np.array([component.fault_probability for component in components], dtype=float)
    costs = np.array([component.trial_costs for component in components], dtype=float).reshape(-1, 2)
    return Trials(chances, costs[:, 0], costs[:, 1], np.full(len(components), np.inf))


def _checked(components: Iterable[Component]) -> list[Component]:
    listed = list(components)
    total = math.fsum(component.fault_probability for component in listed)
    if total > 1 + WRITTEN_ROUNDING:
        raise InvalidArgument(
            f"The fault probabilities sum to {format_number(total)}: with a single fault they sum to one at most. "
            "For several faults at once, see Troubleshooter."
        )
    names = [component.name for component in listed]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InvalidArgument(f"Two components are called {repeated!r}.")
    return listed


class Trials(NamedTuple):
    """What it is like to try each of some parts, as arrays."""

    chances: Floats  # p_i, the probability that part i is the fault
    looks: Floats  # what part i costs to try, and what more where it is the fault
    repairs: Floats
    blind: Floats  # what it costs to replace part i without a look; infinite where that is no choice

    def ordered(self, order: Ints) -> Trials:
        return Trials(*(part[order] for part in self))


class TryOrder(NamedTuple):
    """Positions of the parts to try, in order, and the expected cost of it all."""

    order: Ints
    cost: float


def order_cost(trials: Trials, order: Ints, call: float, mass: float = 1.0) -> float:
    """Σ_i m_i look_i + p_i repair_i along an order, m_i = mass - Σ_{j<i} p_j, and the call for what is left."""
    is_tried = np.ones((1, len(order)), dtype=bool)
    return float(_costs(trials.ordered(order), is_tried, call, np.array([mass]))[0])


def best_order(trials: Trials, call: float | None) -> TryOrder:
    """The order of least `order_cost`: by falling p / look, and without the parts that a call is better than.

    Exchanging neighbours i, j changes the cost by p_i look_j - p_j look_i, whatever else is tried: hence the order. In
    that order the cost of trying a set of parts is Σ a_i - Σ_{j before i} look_i p_j, where
    a_i = mass look_i + p_i (repair_i - call); every pair makes each other cheaper, so a minimum cut finds the best set.
    O(n log n) without a call, and nearly always with one. Blind replacements are taken where they are cheaper in this
    order, which they don't change.
    """
    order = _by_ratio(trials)
    ordered, masses = trials.ordered(order), np.ones(1)
    is_tried = _worth_trying(ordered, np.ones((1, len(order)), dtype=bool), call, masses)
    return TryOrder(order[is_tried[0]], float(_costs(ordered, is_tried, call or 0.0, masses)[0]))


def costs_without_each(trials: Trials, call: float | None) -> Floats:
    """For each part i, the least `order_cost` of all others, begun with the probability 1 - p_i that i is no fault."""
    order = _by_ratio(trials)
    ordered = trials.ordered(order)
    masses, is_other = 1.0 - ordered.chances, ~np.eye(len(order), dtype=bool)
    is_tried = _worth_trying(ordered, is_other, call, masses)
    costs = np.empty(len(order))
    costs[order] = _costs(ordered, is_tried, call or 0.0, masses)
    return costs


def _by_ratio(trials: Trials) -> Ints:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(trials.looks > 0, trials.chances / trials.looks, np.inf)
    return np.argsort(-ratios, kind="stable")


def _costs(trials: Trials, is_tried: Flags, call: float, masses: Floats) -> Floats:
    """`order_cost` for each row of flags, which says what is tried of the parts in their order."""
    chances, looks, repairs, blind = trials
    tried = np.cumsum(is_tried * chances, axis=1)
    left = masses[:, None] - np.concatenate([np.zeros((len(is_tried), 1)), tried], axis=1)
    reached = np.maximum(left[:, :-1], 0.0)
    replaced = np.where(np.isfinite(blind), reached, 1.0) * blind  # 0 * inf is no number
    paid = np.minimum(reached * looks + chances * repairs, replaced)
    total: Floats = np.where(is_tried, paid, 0.0).sum(axis=1) + left[:, -1] * call
    return total


def _worth_trying(trials: Trials, is_allowed: Flags, call: float | None, masses: Floats) -> Flags:
    """For each row, which of the allowed parts are better tried than left to a call: all where there is none."""
    if call is None:
        return is_allowed
    chances, looks, repairs, _ = trials
    alone = masses[:, None] * looks + chances * (repairs - call)
    helped = np.tril(np.outer(looks, chances), -1)
    return _cheapest_sets(np.where(is_allowed, alone, np.inf), helped + helped.T)


def _cheapest_sets(alone: Floats, helped: Floats) -> Flags:
    """Which x minimises Σ alone_i x_i - Σ_{i<j} helped_ij x_i x_j in each row; `helped` is symmetric, not negative."""
    taken, left_out = np.zeros(alone.shape, dtype=bool), np.isinf(alone)
    while True:
        # What pays with those that surely pay does so in any best set; what does not with all the others, in none.
        now_taken = alone - taken @ helped <= 0
        now_out = alone - ~left_out @ helped > 0
        if np.array_equal(now_taken, taken) and np.array_equal(now_out, left_out):
            break
        taken, left_out = now_taken, now_out
    for row in np.flatnonzero((~taken & ~left_out).any(axis=1)):
        open_ones = np.flatnonzero(~taken[row] & ~left_out[row])
        price = (alone[row] - helped @ taken[row])[open_ones]
        taken[row, open_ones] = _cut(price, helped[np.ix_(open_ones, open_ones)])
    return taken


def _cut(alone: Floats, helped: Floats) -> Flags:
    """The same by a minimum cut: -h x y = -h x + h x (1 - y), the second an arc that a cut between them pays."""
    first, second = np.triu_indices(len(alone), 1)
    weights = helped[first, second]
    price = alone - np.bincount(first, weights, len(alone))
    # The proof of a cut is absolute, so costs come in units of the largest, and rounding errors are no prices.
    unit = max(float(np.abs(price).max()), float(weights.max(initial=0.0)))
    price, weights = np.where(np.abs(price) < PROOF * unit, 0.0, price / unit), weights / unit
    arcs = np.stack([first, second], axis=1).astype(np.int64)
    cut = minimum_cut(np.maximum(-price, 0.0), np.maximum(price, 0.0), arcs, weights, np.zeros(len(weights)))
    return ~cut.is_sink_side
