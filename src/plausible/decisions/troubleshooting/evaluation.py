"""How much advice saves: sampled faults, mended by following it and by the best fixed order of repairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Flags, Floats
from plausible.base.display import TextTable, format_number
from plausible.base.records import record
from plausible.base.tolerances import PROOF
from plausible.causal.counterfactuals.potential import Finding
from plausible.data import encode_columns
from plausible.decisions.troubleshooting.costs import Costs
from plausible.decisions.troubleshooting.device import Device
from plausible.decisions.troubleshooting.steps import Step
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter, TroubleshootingSession, as_session
from plausible.errors import InvalidArgument
from plausible.search.clock import Clock

Ints = npt.NDArray[np.intp]
#: Cases between two reports of progress.
_BATCH = 500
#: With more components than this, not all orders are tried.
_MOST_ORDERED = 7


@record(eq=False)
class TroubleshootingEvaluation:
    """What mending sampled cases cost.

    Examples
    --------
    >>> from plausible.examples import printer_troubleshooter
    >>> found = evaluate_troubleshooting(printer_troubleshooter(), 200, seed=0)
    >>> len(found.costs), found.unfixed, found.saving > 0
    (200, 0.0, True)
    """

    costs: Floats  # By following the advice, case by case
    fixed_costs: Floats  # By the best fixed order, for the same cases
    fixed_order: tuple[str, ...]  # That order; chosen on these very cases, which flatters it
    num_faults: Ints  # How many components are faulty in each case
    unfixed: float  # The share of cases in which neither repair nor service mended the device

    @property
    def mean_cost(self) -> float:
        """Of following the advice."""
        return float(self.costs.mean())

    @property
    def standard_error(self) -> float:
        """Of `mean_cost`."""
        return float(self.costs.std(ddof=1) / np.sqrt(len(self.costs))) if len(self.costs) > 1 else float("inf")

    @property
    def saving(self) -> float:
        """The share of the fixed order's cost that the advice saves."""
        fixed = float(self.fixed_costs.mean())
        return 1.0 - self.mean_cost / fixed if fixed > 0 else 0.0

    def __str__(self) -> str:
        several = self.num_faults > 1
        rows = tuple(
            (name, str(int(chosen.sum())), *_means(self.costs[chosen], self.fixed_costs[chosen]))
            for name, chosen in (("all", several | True), ("one fault or none", ~several), ("several faults", several))
            if chosen.any()
        )
        table = TextTable(("cases", "number", "advice", "fixed order", "saved"), rows, 1)
        return f"{table}\nfixed order: {', '.join(self.fixed_order) or 'call at once'}"


def _means(costs: Floats, fixed: Floats) -> tuple[str, str, str]:
    saved = 1.0 - costs.mean() / fixed.mean() if fixed.mean() > 0 else 0.0
    return format_number(float(costs.mean())), format_number(float(fixed.mean())), f"{100 * saved:.1f}%"


def evaluate_troubleshooting(
    session: TroubleshootingSession | Troubleshooter,
    num_cases: int = 1000,
    *,
    seed: int | np.random.Generator | None = None,
    progress: Callable[[TroubleshootingEvaluation], object] | None = None,
    time_limit: float | None = None,
) -> TroubleshootingEvaluation:
    """Mend sampled devices by the advice and by the best fixed order of repairs.

    Devices are drawn as they may be given what is known, with any number of faults. Those with the same history so far
    go on together, so that advice is asked for once for each state of knowledge. The fixed order tries one
    component after the other, by a look or by replacing it at once, whichever is cheaper there, and stops once the
    device works; it makes no tests.

    Parameters
    ----------
    session
        A session without steps (see `Troubleshooter.start`), or a troubleshooter, which is started.
    num_cases
        How many devices.
    progress
        Told the evaluation so far, every few hundred cases; a true value stops.

    Examples
    --------
    >>> import plausible as pb
    >>> from plausible.decisions.troubleshooting.costs import Costs
    >>> from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
    >>> car = pb.BayesianNetwork(
    ...     pb.TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     pb.TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     pb.TableCPD("lights", [[0.98, 0.02], [0.1, 0.9]], parents=["battery"], states=["on", "off"]),
    ...     pb.NoisyOr("stalls", ["battery", "starter"], [0.9, 0.8]),
    ... )
    >>> costs = Costs(repair={"battery": 90, "starter": 200}, observe={"battery": 20, "starter": 60, "lights": 1})
    >>> mechanic = Troubleshooter(car, {"battery": "ok", "starter": "ok"}, works={"stalls": False}, costs=costs)
    >>> found = evaluate_troubleshooting(mechanic.start(), 500, seed=0)
    >>> found.fixed_order, found.saving > 0
    (('battery', 'starter'), True)
    """
    session = as_session(session)
    if session.history or num_cases < 1:
        raise InvalidArgument("An evaluation needs a session without steps, and a case at least.")
    rng = np.random.default_rng(seed)
    device, costs = session.troubleshooter.device, session.troubleshooter.costs
    cases = _Cases(device, session.findings, num_cases, rng)
    mechanic = _Mechanic(session, cases)
    mended = _Mended(np.zeros(0), np.zeros(0, dtype=bool))
    clock = Clock.of(time_limit)
    while (done := len(mended.paid)) < num_cases and (done == 0 or not clock.is_over):
        more = mechanic.mend(np.arange(done, min(done + _BATCH, num_cases)))
        mended = _Mended(*(np.concatenate(both) for both in zip(mended, more, strict=True)))
        if progress is not None and progress(_evaluation(mended, _FixedOrder((), mended.paid), cases)):
            break
    cases.keep(len(mended.paid))
    return _evaluation(mended, _best_fixed_order(cases, device, costs), cases)


def _evaluation(mended: _Mended, plan: _FixedOrder, cases: _Cases) -> TroubleshootingEvaluation:
    num_faults = cases.num_faults[: len(mended.paid)]
    return TroubleshootingEvaluation(
        mended.paid, plan.costs, plan.order, num_faults, float(1.0 - mended.is_fixed.mean())
    )


class _Mended(NamedTuple):
    """What each case cost, and whether the device works in the end."""

    paid: Floats
    is_fixed: Flags


class _Mechanic:
    """Follows the advice; asks for it once in each state of knowledge."""

    def __init__(self, session: TroubleshootingSession, cases: _Cases) -> None:
        self._session, self._cases = session, cases
        self._advised: dict[object, Step | None] = {}

    def mend(self, rows: Ints) -> _Mended:
        """All these cases, those with the same history together."""
        paid, is_fixed = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
        waiting = [(self._session, np.arange(len(rows)))]
        while waiting:
            session, members = waiting.pop()
            step = self._next_step(session)
            if step is not None:
                paid[members] += step.cost
            if step is None or step.kind == "call":
                is_fixed[members] = session.is_fixed or step is not None
                continue
            codes = self._cases.outcomes(step, session.repaired)[rows[members]]
            for code in np.unique(codes).tolist():
                outcome = bool(code) if step.kind == "repair" else self._cases.state(step.name, code)
                waiting.append((session.after(step, outcome), members[codes == code]))
        return _Mended(paid, is_fixed)

    def _next_step(self, session: TroubleshootingSession) -> Step | None:
        if session.is_fixed:
            return None
        key = (frozenset(session.findings), frozenset(session.repaired))
        if key not in self._advised:
            self._advised[key] = session.next_step()
        return self._advised[key]


class _Cases:
    """Sampled devices: their noise, and what each of them shows under any repairs."""

    def __init__(self, device: Device, findings: tuple[Finding, ...], num_cases: int, rng: np.random.Generator) -> None:
        self._device, self._model = device, device.model
        evidence = {finding.term.variable: finding.value for finding in findings}
        frame = self._model.network.sample(num_cases, seed=rng, evidence=evidence)
        noise = self._model.noise.variables
        self._noise = encode_columns(frame[list(noise)], noise)
        self._size = num_cases
        self._worlds: dict[frozenset[str], dict[str, Ints]] = {}
        self.num_faults = np.sum([self.is_faulty(name) for name in device.ok_states], axis=0)

    def keep(self, number: int) -> None:
        """Forget all cases but the first ones."""
        self._size = number
        self._noise = {name: column[:number] for name, column in self._noise.items()}
        self._worlds.clear()
        self.num_faults = self.num_faults[:number]

    def world(self, repaired: frozenset[str]) -> dict[str, Ints]:
        """Name -> the position of each case's state, once these components are repaired."""
        if repaired not in self._worlds:
            columns = dict(self._noise)
            for name in self._model.topological_order:
                variable = self._model.variables[name]
                if name in repaired:
                    columns[name] = np.full(self._size, variable.index(self._device.ok_states[name]))
                else:
                    # Any level does: the functions are deterministic.
                    drawn = self._model.functions[name].quantile(columns, np.full(self._size, 0.5))
                    columns[name] = np.broadcast_to(drawn, (self._size,)).astype(np.intp)
            self._worlds[repaired] = {name: columns[name] for name in self._model.variables}
        return self._worlds[repaired]

    def works(self, repaired: frozenset[str]) -> Flags:
        """Whether each device works, once these components are repaired."""
        goal = self._device.goal
        return np.equal(self.world(repaired)[goal], self._model.variables[goal].index(self._device.working))

    def is_faulty(self, name: str, repaired: frozenset[str] = frozenset()) -> Flags:
        """Whether a component of each device is faulty."""
        return ~self._device.is_ok(name)[self.world(repaired)[name]]

    def outcomes(self, step: Step, repaired: tuple[str, ...]) -> Ints:
        """What comes of a step: whether each device works after a repair, else the position of the state seen."""
        done = frozenset(repaired)
        if step.kind == "repair":
            return self.works(done | {step.name}).astype(np.intp)
        return self.world(done)[step.name]

    def state(self, name: str, code: int) -> object:
        """The state at a position."""
        return self._model.variables[name].states[code]


# --- the best fixed order: what advice has to beat ---


class _FixedOrder(NamedTuple):
    """An order, and what it costs for each device."""

    order: tuple[str, ...]
    costs: Floats


def _best_fixed_order(devices: _Cases, device: Device, costs: Costs) -> _FixedOrder:
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

    def __init__(self, devices: _Cases, costs: Costs) -> None:
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

    def best_completion(self, start: tuple[str, ...], left: tuple[str, ...]) -> _FixedOrder:
        """The best order of all, depth first; a beginning that costs as much as the best order is given up."""
        best = [_FixedOrder((), np.full(self._size, np.inf))]

        def search(before: tuple[str, ...], left: tuple[str, ...], paid: Floats, is_open: Flags) -> None:
            if paid.mean() >= best[0].costs.mean():
                return
            if not left or self._costs.service is not None:
                total = paid + is_open * (self._costs.service or 0.0)
                if total.mean() < best[0].costs.mean():
                    best[0] = _FixedOrder(before, total)
            for name in left:
                more, still_open = self.step(before, name, is_open)
                search((*before, name), tuple(other for other in left if other != name), paid + more, still_open)

        search(start, left, np.zeros(self._size), np.ones(self._size, dtype=bool))
        return best[0]

    def descent(self, names: tuple[str, ...]) -> _FixedOrder:
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
            is_better = bool(self.cost(found).mean() < costs.mean() * (1.0 - PROOF))
            if is_better:
                order, costs = found, self.cost(found)
        return _FixedOrder(order, costs)
