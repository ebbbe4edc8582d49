"""Troubleshooters: a network, what can be repaired, and what everything costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from plausible.base.frozen import Frozen
from plausible.causal.counterfactuals.potential import Finding, Potential
from plausible.causal.functional.conversion import Coupling, functional_model
from plausible.causal.functional.model import FunctionalModel
from plausible.decisions.troubleshooting.beliefs import Device, Situation
from plausible.decisions.troubleshooting.costs import Costs
from plausible.decisions.troubleshooting.records import replayed
from plausible.decisions.troubleshooting.session import TroubleshootingSession
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable, counted, shortened
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, State
from plausible.variables.evidence import findings_of

__all__ = ["Troubleshooter", "as_session"]

#: Situations that are kept compiled.
_MOST_KEPT = 128


class Troubleshooter(Frozen):
    """What to look at, to test and to repair next, so that mending a device costs least on average.

    A repair is an intervention on the device as it stands: what was seen before it stays true of the time before, and
    what a repair does not reach stays as it was (persistence). So several faults at once, and findings between
    repairs, are taken into account exactly; see `plausible.causal.repair`. How a step is chosen, `advise` says.

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

    References
    ----------
    Heckerman, Breese & Rommelse (1995), Decision-theoretic troubleshooting. Breese & Heckerman (1996), Decision-
    theoretic troubleshooting: a framework for repair and experiment.

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
        self.device = _device(model, components, works, costs)
        self._situations = {}

    def start(self, evidence: EvidenceLike | None = None) -> TroubleshootingSession:
        """A session with a device that does not work.

        Parameters
        ----------
        evidence
            What else is known at the start: name -> state, states or `likelihood(...)`.

        Examples
        --------
        >>> from plausible.examples import printer_troubleshooter
        >>> print(printer_troubleshooter().start({"panel": "warning"}).next_step())
        repair paper
        """
        known = dict(findings_of(evidence))
        known.setdefault(self.device.goal, self.device.broken)
        for name, value in known.items():
            if name not in self.device.model.variables:
                raise UnknownVariable.named(name, self.device.model.variables, "this troubleshooter")
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

        What comes next is advised at the costs of this troubleshooter.

        Parameters
        ----------
        record
            What it gave, through JSON or not; of this device, or of one that shows the same.

        Examples
        --------
        >>> from plausible.examples import printer_troubleshooter
        >>> helper = printer_troubleshooter()
        >>> record = helper.start().after("test queue", "jobs wait").to_dict()
        >>> record["history"]
        [{'step': 'test', 'name': 'queue', 'cost': 1.0, 'outcome': 'jobs wait'}]
        >>> print(helper.resume(record))
        1. test queue: jobs wait
        it does not work; paid 1
        """
        return replayed(self, record)

    def situation(self, repaired: tuple[str, ...], findings: tuple[Finding, ...]) -> Situation:
        """The network for a state of a session, compiled once."""
        key = (frozenset(repaired), frozenset(findings))
        if key not in self._situations:
            if len(self._situations) >= _MOST_KEPT:
                self._situations.pop(next(iter(self._situations)))
            self._situations[key] = Situation(self.device, repaired, findings)
        return self._situations[key]

    # --- as a value ---

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without what is compiled."""
        return _rebuilt, (
            self.device.model,
            dict(self.device.ok_states),
            {self.device.goal: self.device.working},
            self.costs,
        )

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


def as_session(given: TroubleshootingSession | Troubleshooter) -> TroubleshootingSession:
    """A session; that of a troubleshooter with nothing known but that the device does not work.

    Parameters
    ----------
    given
        A session, or a troubleshooter, which is started.

    Examples
    --------
    >>> from plausible.examples import printer_troubleshooter
    >>> print(as_session(printer_troubleshooter()))
    it does not work; paid 0
    """
    if isinstance(given, Troubleshooter):
        return given.start()
    if not isinstance(given, TroubleshootingSession):
        raise InvalidArgument(f"A session is what Troubleshooter(...).start(evidence) gives, not {shortened(given)}.")
    return given


def _rebuilt(
    model: FunctionalModel, components: Mapping[str, State], works: Mapping[str, State], costs: Costs
) -> Troubleshooter:
    return Troubleshooter(model, components, works=works, costs=costs)


def _device(
    model: FunctionalModel,
    components: Mapping[str, State] | Iterable[str] | None,
    works: Mapping[str, State],
    costs: Costs,
) -> Device:
    goal, working = _read_goal(works)
    listed = _read_components(components, costs)
    for name in (goal, *listed, *costs.tests):
        if name not in model.variables:
            raise UnknownVariable(costs.placed(name, UnknownVariable.named(name, model.variables, "this model")))
    _check_components(listed, goal, costs)
    ok_states = {name: _stated(model, name, state, costs) for name, state in listed.items()}
    return Device(model, ok_states, goal, _stated(model, goal, working, costs), costs.tests)


def _read_components(components: Mapping[str, State] | Iterable[str] | None, costs: Costs) -> dict[str, State]:
    """Component -> its ok state; that of the costs for those that are only named."""
    if components is None or isinstance(components, Mapping):
        return dict(costs.ok_states if components is None else components)
    names = [components] if isinstance(components, str) else list(components)
    for name in names:
        if name not in costs.ok_states:
            raise InvalidArgument(
                f"components= is {{name: ok state}}, such as {{{name!r}: 'ok'}}; a list of names will do where the "
                f"costs say the states (Costs(ok_states=...)), and they say none for {name!r}."
            )
    return {name: costs.ok_states[name] for name in names}


def _read_goal(works: Mapping[str, State]) -> tuple[str, State]:
    if not isinstance(works, Mapping) or len(works) != 1:
        raise InvalidArgument(f"works= is one variable and its state, such as {{'light': 'on'}}; not {works!r}.")
    ((goal, working),) = works.items()
    return goal, working


def _stated(model: FunctionalModel, name: str, state: State, costs: Costs) -> State:
    """The state as the variable has it, which may equal the one given and be of another type."""
    variable = model.variables[name]
    try:
        return variable.states[variable.index(state)]
    except UnknownState as error:
        raise UnknownState(costs.placed(name, error)) from None


def _check_components(components: Mapping[str, State], goal: str, costs: Costs) -> None:
    """That each has a repair cost and a state in which it is no fault, and that none is the goal."""

    def refusal(name: str, problem: str) -> InvalidArgument:
        return InvalidArgument(costs.placed(name, problem))

    if not components and not costs.repair:
        raise InvalidArgument(
            "A troubleshooter needs a component to repair at least: give one its repair cost, and the state in which "
            "it is no fault."
        )
    for name in components:
        if name not in costs.repair:
            raise refusal(name, f"The component {name!r} has no repair cost.")
    for name in costs.repair:
        if name not in components:
            raise refusal(
                name,
                f"{name!r} has a repair cost, but no state in which it is no fault: give it in components=, or in the "
                f"column ok of a file.",
            )
    if goal in components or goal in costs.tests:
        raise refusal(goal, f"{goal!r} says whether the device works: it is neither a component nor a test.")
