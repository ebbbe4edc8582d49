"""How much advice saves: sampled faults, mended by following it and by the best fixed order of repairs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Flags, Floats
from plausible.base.display import TextTable, format_number
from plausible.base.records import record
from plausible.causal.counterfactuals.potential import Finding
from plausible.data import encode_columns
from plausible.decisions.troubleshooting.beliefs import Device
from plausible.decisions.troubleshooting.fixed_order import FixedOrder, best_fixed_order
from plausible.decisions.troubleshooting.session import TroubleshootingSession
from plausible.decisions.troubleshooting.steps import Step
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter, as_session
from plausible.errors import InvalidArgument

__all__ = ["TroubleshootingEvaluation", "evaluate_troubleshooting"]

Ints = npt.NDArray[np.intp]
#: Cases between two reports of progress.
_BATCH = 500


@record(eq=False)
class TroubleshootingEvaluation:
    """What mending sampled cases cost.

    Attributes
    ----------
    costs
        By following the advice, case by case.
    fixed_costs
        By the best fixed order, for the same cases.
    fixed_order
        That order; chosen on these very cases, which flatters it.
    num_faults
        How many components are faulty in each case.
    unfixed
        The share of cases in which neither repair nor service mended the device.

    Examples
    --------
    >>> from plausible.examples import printer_troubleshooter
    >>> found = evaluate_troubleshooting(printer_troubleshooter(), 200, seed=0)
    >>> len(found.costs), found.unfixed, found.saving > 0
    (200, 0.0, True)
    """

    costs: Floats
    fixed_costs: Floats
    fixed_order: tuple[str, ...]
    num_faults: Ints
    unfixed: float

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
    seed
        For the draws.
    progress
        Told the evaluation so far, every few hundred cases; a true value stops.
    time_limit
        Seconds after which no further cases are begun.

    Examples
    --------
    >>> from plausible.cpds import NoisyOr, TableCPD
    >>> from plausible.decisions.troubleshooting.costs import Costs
    >>> from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
    >>> from plausible.models import BayesianNetwork
    >>> car = BayesianNetwork(
    ...     TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     TableCPD("lights", [[0.98, 0.02], [0.1, 0.9]], parents=["battery"], states=["on", "off"]),
    ...     NoisyOr("stalls", ["battery", "starter"], [0.9, 0.8]),
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
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    while (done := len(mended.paid)) < num_cases and (done == 0 or time.monotonic() < end):
        more = mechanic.mend(np.arange(done, min(done + _BATCH, num_cases)))
        mended = _Mended(*(np.concatenate(both) for both in zip(mended, more, strict=True)))
        if progress is not None and progress(_evaluation(mended, FixedOrder((), mended.paid), cases)):
            break
    cases.keep(len(mended.paid))
    return _evaluation(mended, best_fixed_order(cases, device, costs), cases)


def _evaluation(mended: _Mended, plan: FixedOrder, cases: _Cases) -> TroubleshootingEvaluation:
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
