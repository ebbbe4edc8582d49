"""How much advice saves: sampled faults, mended by following it and by the best fixed order of repairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base import PROOF, Flags, Floats, Result, TextTable, format_number, record
from plausible.causal.counterfactuals.potential import Finding
from plausible.data import encode_columns
from plausible.decisions.troubleshooting.device import Costs, Device
from plausible.decisions.troubleshooting.steps import Step
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter, TroubleshootingSession, as_session
from plausible.errors import InvalidArgument
from plausible.search.run import Clock

Ints = npt.NDArray[np.intp]
#: Cases between two reports of progress.
_BATCH = 500
#: With more components than this, not all orders are tried.
_MOST_ORDERED = 7


@record(eq=False)
class TroubleshootingEvaluation(Result):
    """What mending sampled cases cost.

    >>> from plausible.examples import printer_troubleshooter
    >>> evaluation = evaluate_troubleshooting(printer_troubleshooter(), 20, seed=0)
    >>> len(evaluation.costs), evaluation.unfixed, evaluation.saving > 0
    (20, 0.0, True)
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
        several, rows = self.num_faults > 1, list[tuple[str, ...]]()
        for name, chosen in (("all", several | True), ("one fault or none", ~several), ("several faults", several)):
            if chosen.any():
                advice, fixed = float(self.costs[chosen].mean()), float(self.fixed_costs[chosen].mean())
                saved = f"{100 * (1.0 - advice / fixed if fixed > 0 else 0.0):.1f}%"
                rows.append((name, str(int(chosen.sum())), format_number(advice), format_number(fixed), saved))
        table = TextTable(("cases", "number", "advice", "fixed order", "saved"), tuple(rows), 1)
        return f"{table}\nfixed order: {', '.join(self.fixed_order) or 'call at once'}"


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
    go on together, so that advice is asked for once for each state of knowledge. The fixed order tries one component
    after the other, by a look or by replacing it at once, whichever is cheaper there, and stops once the device works;
    it makes no tests. The session has no steps yet (see `Troubleshooter.start`), or is a troubleshooter, which is
    started. `progress` is told the evaluation so far, every few hundred cases.

    >>> from plausible.examples import printer_troubleshooter
    >>> print(evaluate_troubleshooting(printer_troubleshooter(), 20, seed=0).fixed_order)
    ('paper', 'cable', 'toner', 'network', 'spooler', 'driver')
    """
    session = as_session(session)
    if session.history or num_cases < 1:
        raise InvalidArgument("An evaluation needs a session without steps, and a case at least.")
    device, costs = session.troubleshooter.device, session.troubleshooter.costs
    cases = _Cases(device, session.findings, num_cases, np.random.default_rng(seed))
    advised: dict[Any, Step | None] = {}
    paid, is_fixed, clock = np.zeros(0), np.zeros(0, dtype=bool), Clock.of(time_limit)

    def evaluation(order: tuple[str, ...], fixed_costs: Floats) -> TroubleshootingEvaluation:
        num_faults = cases.num_faults[: len(paid)]
        return TroubleshootingEvaluation(paid, fixed_costs, order, num_faults, float(1.0 - is_fixed.mean()))

    while (done := len(paid)) < num_cases and (done == 0 or not clock.is_over):
        more = _mend(session, cases, np.arange(done, min(done + _BATCH, num_cases)), advised)
        paid, is_fixed = np.concatenate([paid, more[0]]), np.concatenate([is_fixed, more[1]])
        if progress is not None and progress(evaluation((), paid)):
            break
    cases.keep(len(paid))
    plans, names = _FixedOrders(cases, costs), tuple(device.ok_states)
    order = plans.best_of_all(names) if len(names) <= _MOST_ORDERED else plans.descent(names)
    return evaluation(order, plans.cost(order))


def _mend(
    session: TroubleshootingSession, cases: _Cases, rows: Ints, advised: dict[Any, Step | None]
) -> tuple[Floats, Flags]:
    """What each of these cases costs by the advice, and whether it works then; those with one history go together."""
    paid, is_fixed = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    waiting = [(session, np.arange(len(rows)))]
    while waiting:
        session, members = waiting.pop()
        done = frozenset(session.repaired)
        key = (frozenset(session.findings), done)
        if not session.is_fixed and key not in advised:
            advised[key] = session.next_step()
        step = None if session.is_fixed else advised[key]
        if step is not None:
            paid[members] += step.cost
        if step is None or step.kind == "call":
            is_fixed[members] = session.is_fixed or step is not None
            continue
        is_repair = step.kind == "repair"
        codes = (cases.works(done | {step.name}) if is_repair else cases.world(done)[step.name])[rows[members]]
        states = session.troubleshooter.device.model.variables[step.name].states
        for code in np.unique(codes).tolist():
            outcome = code if is_repair else states[code]
            waiting.append((session.after(step, outcome), members[codes == code]))
    return paid, is_fixed


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
        return ~self._device.is_ok(name)[self.world(repaired)[name]]


class _FixedOrders:
    """Orders of repairs and what they cost; where service can be called, an order may end early."""

    def __init__(self, devices: _Cases, costs: Costs) -> None:
        self._devices, self._costs = devices, costs
        self._size = len(devices.works(frozenset()))

    def step(self, before: tuple[str, ...], name: str, is_open: Flags) -> tuple[Floats, Flags]:
        """What trying a component costs the devices that don't work yet, and which still don't after it."""
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

    def best_of_all(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The order of least mean cost, depth first; a beginning that costs as much as the best order is given up."""
        best, least = tuple[str, ...](), math.inf

        def search(before: tuple[str, ...], paid: Floats, is_open: Flags) -> None:
            nonlocal best, least
            if paid.mean() >= least:
                return
            left = [name for name in names if name not in before]
            if not left or self._costs.service is not None:
                total = float((paid + is_open * (self._costs.service or 0.0)).mean())
                if total < least:
                    best, least = before, total
            for name in left:
                more, still_open = self.step(before, name, is_open)
                search((*before, name), paid + more, still_open)

        search((), np.zeros(self._size), np.ones(self._size, dtype=bool))
        return best

    def descent(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """By chance per cost at first, then moving one component at a time as long as that is cheaper."""

        def ratio(name: str) -> float:
            first = self._costs.observe.get(name, self._costs.repair[name])
            return float(self._devices.is_faulty(name).mean()) / first if first > 0 else math.inf

        def mean_cost(order: tuple[str, ...]) -> float:
            return float(self.cost(order).mean())

        order = tuple(sorted(names, key=ratio, reverse=True))
        while True:
            moves = [order[:end] for end in range(len(order))] if self._costs.service is not None else []
            for name in order:
                rest = tuple(other for other in order if other != name)
                moves += [(*rest[:place], name, *rest[place:]) for place in range(len(order))]
            best = min(moves, key=mean_cost)
            if not mean_cost(best) < mean_cost(order) * (1.0 - PROOF):
                return order
            order = best
