"""Troubleshooters and their sessions: a device, what was done to it, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from plausible.base import Frozen, Result, format_number, record
from plausible.causal.counterfactuals.potential import Finding, Potential
from plausible.causal.functional.model import Coupling, FunctionalModel, functional_model
from plausible.decisions.troubleshooting.advice import Advice, advise, is_worth_going_on, possible_steps
from plausible.decisions.troubleshooting.beliefs import DeviceBeliefs, Situation
from plausible.decisions.troubleshooting.device import Costs, Device, read_device
from plausible.decisions.troubleshooting.repair_order import check_cost
from plausible.decisions.troubleshooting.steps import (
    Outcome,
    Step,
    TakenStep,
    read_start,
    read_step,
    session_record,
    whether_it_works,
)
from plausible.errors import (
    FormatError,
    ImpossibleEvidence,
    InvalidArgument,
    PlausibleError,
    UnknownVariable,
    counted,
    shortened,
)
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, State
from plausible.variables.evidence import findings_of

#: Situations that are kept compiled.
_MOST_KEPT = 128


class Troubleshooter(Frozen):
    """What to look at, to test and to repair next, so that mending a device costs least on average.

    A repair is an intervention on the device as it stands: what was seen before it stays true of the time before, and
    what a repair does not reach stays as it was (persistence). So several faults at once, and findings between
    repairs, are taken into account exactly; see `plausible.causal.repair`. How a step is chosen, `advise` says.

    Heckerman, Breese & Rommelse (1995), Decision-theoretic troubleshooting. Breese & Heckerman (1996), Decision-
    theoretic troubleshooting: a framework for repair and experiment.

    Parameters
    ----------
    network
        A Bayesian network whose edges are causes, or a functional model.
    components
        Component -> the state in which it is no fault, and which its repair puts it into. Where left out, or only
        named in a list, as the costs say.
    works
        The device works: one name -> state. Seen for nothing after each repair.
    costs
        What each step costs; see `read_costs` for a file.
    coupling
        How a Bayesian network becomes a functional model. "comonotone": a repair changes as little as it can.

    Examples
    --------
    >>> from plausible.cpds import NoisyOr, TableCPD
    >>> car = BayesianNetwork(
    ...     TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     TableCPD("lights", [[0.98, 0.02], [0.1, 0.9]], parents=["battery"], states=["on", "off"]),
    ...     NoisyOr("stalls", ["battery", "starter"], [0.9, 0.8]),
    ... )
    >>> costs = Costs(repair={"battery": 90, "starter": 200}, observe={"battery": 20, "starter": 60, "lights": 1})
    >>> mechanic = Troubleshooter(car, {"battery": "ok", "starter": "ok"}, works={"stalls": False}, costs=costs)
    >>> session = mechanic.start()
    >>> print(session.advice)
    step            | costs now | to blame | estimated cost
    ----------------+-----------+----------+---------------
    test lights     |         1 |          |       140.122
    observe battery |        20 | 0.697785 |       143.244
    repair battery  |        90 | 0.697785 |       150.443
    observe starter |        60 | 0.302215 |       183.244
    repair starter  |       200 | 0.302215 |       262.801
    Test lights: estimated cost 140.122, 3.12184 less than observe battery; it costs 1 and saves 4.12184 in repairs.
    >>> session = session.after(session.next_step(), "off")
    >>> print(session.next_step())
    repair battery
    >>> print(session.after("repair battery", True))
    1. test lights: off
    2. repair battery: it works
    it works; paid 91
    """

    __slots__ = ("_situations", "costs", "device")

    #: The model, its components and when it works.
    device: Device
    #: What each step costs.
    costs: Costs
    _situations: dict[Any, Situation]

    def __init__(
        self,
        network: BayesianNetwork | FunctionalModel,
        components: Mapping[str, State] | Iterable[str] | None = None,
        *,
        works: Mapping[str, State],
        costs: Costs,
        coupling: Coupling = "comonotone",
    ) -> None:
        model = network if isinstance(network, FunctionalModel) else functional_model(network, coupling)
        self.costs = costs
        self.device = read_device(model, components, works, costs)
        self._situations = {}

    def start(self, evidence: EvidenceLike | None = None) -> TroubleshootingSession:
        """A session with a device that does not work.

        The evidence is what else is known at the start.

        >>> from plausible.examples import printer_troubleshooter
        >>> print(printer_troubleshooter().start({"panel": "warning"}).next_step())
        repair paper
        """
        known = dict(findings_of(evidence))
        known.setdefault(self.device.goal, self.device.broken)
        for name, value in known.items():
            UnknownVariable.check(name, self.device.model.variables, "this troubleshooter")
            known[name] = tuple(value) if isinstance(value, (list, set, frozenset)) else value
        goal, broken = self.device.goal, self.device.broken
        shown = known[goal] if isinstance(known[goal], tuple) else (known[goal],)
        if not all(state in broken for state in shown):
            raise InvalidArgument(
                f"A session begins with a device that does not work: {goal!r} is {' or '.join(map(repr, broken))}, "
                f"not {known[goal]!r}."
            )
        findings = tuple(Finding(Potential(name), value) for name, value in known.items())
        session = TroubleshootingSession(self, findings)
        _ = session.beliefs  # impossible evidence shows at once
        return session

    def resume(self, record: Mapping[str, Any]) -> TroubleshootingSession:
        """The session that `TroubleshootingSession.to_dict` saved: its steps are taken anew, at what was paid for them.

        What comes next is advised at the costs of this troubleshooter. The record may have gone through JSON; it is of
        this device, or of one that shows the same.

        >>> from plausible.examples import printer_troubleshooter
        >>> helper = printer_troubleshooter()
        >>> record = helper.start().after("test queue", "jobs wait").to_dict()
        >>> record["history"]
        [{'step': 'test', 'name': 'queue', 'cost': 1.0, 'outcome': 'jobs wait'}]
        >>> print(helper.resume(record))
        1. test queue: jobs wait
        it does not work; paid 1
        """
        session = self.start(read_start(record, self.device))
        for number, taken in enumerate(record["history"], 1):
            try:
                session = session.after(*read_step(taken, self.device))
            except (PlausibleError, KeyError, TypeError) as error:
                raise FormatError(f"Step {number} of the saved session does not fit this device: {error}") from error
        return session

    def situation(self, repaired: tuple[str, ...], findings: tuple[Finding, ...]) -> Situation:
        """The network for a state of a session, compiled once."""
        key = (frozenset(repaired), frozenset(findings))
        if key not in self._situations:
            if len(self._situations) >= _MOST_KEPT:
                self._situations.pop(next(iter(self._situations)))
            self._situations[key] = Situation(self.device, repaired, findings)
        return self._situations[key]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without what is compiled."""
        works = {self.device.goal: self.device.working}
        return partial(Troubleshooter, works=works, costs=self.costs), (self.device.model, dict(self.device.ok_states))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Troubleshooter):
            return NotImplemented
        return self.device == other.device and self.costs == other.costs

    def __hash__(self) -> int:
        return hash((self.device.model, self.costs))

    def __repr__(self) -> str:
        device = self.device
        return (
            f"<Troubleshooter of {device.goal}: {counted(len(device.ok_states), 'component')}, "
            f"{counted(len(device.tests), 'test')}>"
        )


@record
class TroubleshootingSession(Result):
    """A device, what was done to it, and what was seen; a value: each step makes a new session.

    Can be pickled, or saved by `to_dict`, and gone on with later.

    >>> from plausible.examples import printer_troubleshooter
    >>> session = printer_troubleshooter().start({"panel": "clear"})
    >>> step = session.next_step()
    >>> print(step, {state: round(chance, 4) for state, chance in session.outcomes(step).items()})
    test queue {'empty': 0.3696, 'jobs wait': 0.6304}
    >>> session = session.after("test queue", "jobs wait").after("repair cable", False)
    >>> print(session)
    1. test queue: jobs wait
    2. repair cable: it still does not work
    it does not work; paid 4
    >>> print(session.undo().next_step())
    repair cable
    """

    troubleshooter: Troubleshooter  # What the session is of
    findings: tuple[Finding, ...]  # What is known, each in the world of the repairs made by then
    history: tuple[TakenStep, ...] = ()  # The steps so far, with their outcomes

    @property
    def repaired(self) -> tuple[str, ...]:
        """The components that were repaired, in order."""
        return tuple(taken.step.name for taken in self.history if taken.step.kind == "repair")

    @property
    def cost(self) -> float:
        """What was paid so far."""
        return sum((taken.step.cost for taken in self.history), 0.0)

    @property
    def is_fixed(self) -> bool:
        """Whether the device works, or service was called, who surely mends it."""
        if not self.history:
            return False
        last = self.history[-1]
        return last.step.kind == "call" or (last.step.kind == "repair" and bool(last.outcome))

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do: it works, or no step can help."""
        return self.is_fixed or not is_worth_going_on(self.beliefs, self.troubleshooter.costs)

    @property
    def beliefs(self) -> DeviceBeliefs:
        """What is believed of the device as it stands now."""
        return self._situation.beliefs()

    @property
    def _situation(self) -> Situation:
        return self.troubleshooter.situation(self.repaired, self.findings)

    @property
    def advice(self) -> Advice:
        """All steps with estimates of their costs, and why the best one is; none once the device works."""
        if self.is_fixed:
            return Advice((), (), 0.0, is_fixed=True)
        return advise(self._situation, self.troubleshooter.costs)

    def next_step(self) -> Step | None:
        """The best step; `None` where nothing is left to do."""
        best = self.advice.best
        return None if best is None else best.step

    def steps(self) -> tuple[Step, ...]:
        """Every step that can change anything."""
        return () if self.is_fixed else tuple(possible_steps(self.beliefs, self.troubleshooter.costs))

    def outcomes(self, step: Step) -> dict[Outcome, float]:
        """What can come of a step, with probabilities; exact with any number of faults."""
        return self.beliefs.outcomes(step)

    def step(self, text: str) -> Step:
        """The step that a text such as "observe fuse" names."""
        by_text = {str(step): step for step in self.steps()}
        if text not in by_text:
            raise InvalidArgument(
                f"{text!r} is no step that can be taken now. There are: {', '.join(by_text) or 'none'}."
            )
        return by_text[text]

    def after(self, step: Step | str, outcome: Outcome = None) -> TroubleshootingSession:
        """The session after a step.

        The step is one of `steps()`, or its text; what a `Step` costs is what was paid for it, whatever it costs today.
        The outcome is the state that was seen; after a repair, whether the device works, or "yes" or "no"; nothing
        after a call.
        """
        taken = self.step(str(step))
        if isinstance(step, Step):
            taken = Step(taken.kind, taken.name, check_cost(step.cost, str(step)))
        outcome = whether_it_works(outcome) if taken.kind == "repair" else outcome
        possible = self.outcomes(taken)
        if not any(outcome is other or outcome == other for other in possible):
            told = ", ".join(map(repr, possible))
            about = " (whether the device works after it)" if taken.kind == "repair" else ""
            raise ImpossibleEvidence(
                f"{outcome!r} can't come of {taken!s}{about}, by all that is known. What can: {told}."
            )
        history = (*self.history, TakenStep(taken, bool(outcome) if taken.kind == "repair" else outcome))
        findings = self.findings
        if taken.kind != "call":
            findings = (*findings, finding_after(self.troubleshooter.device, self.repaired, taken, outcome))
        return TroubleshootingSession(self.troubleshooter, findings, history)

    def undo(self) -> TroubleshootingSession:
        """The session before its last step."""
        if not self.history:
            raise InvalidArgument("There is no step to take back.")
        findings = self.findings if self.history[-1].step.kind == "call" else self.findings[:-1]
        return TroubleshootingSession(self.troubleshooter, findings, self.history[:-1])

    def to_dict(self) -> dict[str, Any]:
        """The session as plain data (for JSON, if states are texts or numbers), for `Troubleshooter.resume`."""
        num_seen = sum(taken.step.kind != "call" for taken in self.history)
        known = self.findings[: len(self.findings) - num_seen]
        return session_record(self.troubleshooter.device, known, self.history)

    def __str__(self) -> str:
        lines = [f"{number}. {taken}" for number, taken in enumerate(self.history, 1)]
        end = "it works" if self.is_fixed else "it does not work"
        return "\n".join([*lines, f"{end}; paid {format_number(self.cost)}"])


def as_session(given: TroubleshootingSession | Troubleshooter) -> TroubleshootingSession:
    """A session; that of a troubleshooter with nothing known but that the device does not work."""
    if isinstance(given, Troubleshooter):
        return given.start()
    if not isinstance(given, TroubleshootingSession):
        raise InvalidArgument(f"A session is what Troubleshooter(...).start(evidence) gives, not {shortened(given)}.")
    return given


def finding_after(device: Device, repaired: Iterable[str], step: Step, outcome: Outcome) -> Finding:
    """What a look, a test or a repair tells, in the world of the repairs made by then."""
    done = {name: device.ok_states[name] for name in repaired}
    if step.kind != "repair":
        return Finding(Potential(step.name, done), outcome)
    term = Potential(device.goal, {**done, step.name: device.ok_states[step.name]})
    return Finding(term, device.working if outcome else device.broken)
