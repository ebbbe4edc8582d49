"""Which step to take next: what each is estimated to cost in the end, and why the best one is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plausible.base import PROBABILITY_NOISE, PROOF, Result, TextTable, format_number, record
from plausible.decisions.troubleshooting.beliefs import DeviceBeliefs, DeviceKnowledge
from plausible.decisions.troubleshooting.device import Costs
from plausible.decisions.troubleshooting.repair_order import Trials, best_order, costs_without_each
from plausible.decisions.troubleshooting.steps import Step


@dataclass(frozen=True, slots=True)
class Alternative:
    """A step that could be next."""

    step: Step  # The step
    #: What all will cost from now on, if it is taken and then what seems best: an estimate, one test ahead, as if there
    #: were a single fault; `exact_plan` has what following the advice costs exactly.
    estimated_cost: float
    #: The chance that this component is what has to be repaired, as if there were a single fault: the chances of all
    #: sum to that of a fault that can be repaired. `None` for tests and calls.
    chance: float | None = None


@record
class Advice(Result):
    """The steps that could be next, the best one first, and why it is.

    >>> from plausible.examples import printer_troubleshooter
    >>> advice = printer_troubleshooter().start().advice
    >>> print(advice.reason)
    Test queue: estimated cost 18.1963, 0.379697 less than test panel; it costs 1 and saves 3.22245 in repairs.
    >>> [str(one.step) for one in advice.alternatives[:3]], advice.sequence
    (['test queue', 'test panel', 'observe paper'], ('paper', 'cable', 'spooler', 'network', 'toner', 'driver'))
    """

    _rows = "alternatives"

    alternatives: tuple[Alternative, ...]  # By rising estimated cost
    sequence: tuple[str, ...]  # The components in the order in which they would be tried without any test
    repair_cost: float  # The estimated cost of doing so, and of the call after it
    is_fixed: bool = False  # Whether the device works, so that there is nothing to do

    @property
    def best(self) -> Alternative | None:
        """The first; `None` where nothing can be done, or need be."""
        return self.alternatives[0] if self.alternatives else None

    @property
    def reason(self) -> str:
        """Why the best step is the best one, and by how much the second best is worse, in a sentence."""
        if self.is_fixed:
            return "It works: nothing is left to do."
        if self.best is None:
            return "Nothing is left to try: no repair can help, and there is no service to call."
        (best, *others), margin = self.alternatives, ""
        if others:
            second, lead = others[0].step, format_number(others[0].estimated_cost - best.estimated_cost)
            is_tied = others[0].estimated_cost <= _tied(best.estimated_cost)
            margin = f", as much as {second}" if is_tied else f", {lead} less than {second}"
        if best.step.kind == "test":
            saved = format_number(self.repair_cost - best.estimated_cost + best.step.cost)
            cause = f"it costs {format_number(best.step.cost)} and saves {saved} in repairs"
        elif best.step.kind == "call":
            cause = "trying parts costs more than it saves"
        else:
            cause = f"were there one fault, {best.step.name} is it with probability {format_number(best.chance or 0.0)}"
        step = str(best.step)
        return f"{step[0].upper()}{step[1:]}: estimated cost {format_number(best.estimated_cost)}{margin}; {cause}."

    def __str__(self) -> str:
        rows = tuple(
            (
                str(one.step),
                format_number(one.step.cost),
                "" if one.chance is None else format_number(one.chance),
                format_number(one.estimated_cost),
            )
            for one in self.alternatives
        )
        table = f"{TextTable(('step', 'costs now', 'to blame', 'estimated cost'), rows, 1)}\n" if rows else ""
        return f"{table}{self.reason}"


def _tied(cost: float) -> float:
    """The greatest cost that is no dearer, but for rounding."""
    return cost + PROOF * abs(cost)


def advise(knowledge: DeviceKnowledge, costs: Costs) -> Advice:
    """All steps with estimates of what they cost in the end: one test ahead, and all repairs after it.

    A test t costs C_t + Σ_s P(t = s) ECR(s), the expected cost of repair once its result is known; so does a look at a
    component that may have several faults. Any other component costs its own trial and the ECR of what is left. Exact
    where there is a single fault and one test at most is made.
    Heckerman, Breese & Rommelse (1995).
    """
    beliefs = knowledge.beliefs()
    trials = _trials_of(beliefs, costs)
    tried = best_order(trials, costs.service)
    sequence = tuple(beliefs.components[place] for place in tried.order)
    if not is_worth_going_on(beliefs, costs):
        return Advice((), sequence, tried.cost)
    listed = list(_alternatives(knowledge, beliefs, trials, costs))
    least = min(one.estimated_cost for one in listed)
    first = next(one for one in listed if one.estimated_cost <= _tied(least))
    rest = sorted((one for one in listed if one is not first), key=lambda one: one.estimated_cost)
    return Advice((first, *rest), sequence, tried.cost)


def is_worth_going_on(beliefs: DeviceBeliefs, costs: Costs) -> bool:
    """Whether some repair, or a call, can still make the device work."""
    return costs.service is not None or (bool(beliefs.components) and beliefs.is_fixable)


def possible_steps(beliefs: DeviceBeliefs, costs: Costs) -> Iterator[Step]:
    """Every step that can change anything."""
    for name in beliefs.components:
        if name in costs.observe and _is_open(beliefs, name):
            yield Step("observe", name, costs.observe[name])
        yield Step("repair", name, costs.repair[name])
    for name in costs.tests:
        if _is_open(beliefs, name):
            yield Step("test", name, costs.observe[name])
    if costs.service is not None:
        yield Step("call", "", costs.service)


def _is_open(beliefs: DeviceBeliefs, name: str) -> bool:
    """Whether a look at a part or test tells anything: its state is not certain."""
    return bool(beliefs.states[name].values.max() < 1 - PROBABILITY_NOISE)


def _trials_of(beliefs: DeviceBeliefs, costs: Costs) -> Trials:
    """The components as trials: none is looked at where that is dearer than a repair, or where it surely is faulty."""
    repairs = np.array([costs.repair[name] for name in beliefs.components], dtype=float)
    looks = np.array([costs.observe.get(name, np.inf) for name in beliefs.components], dtype=float)
    is_blind = (repairs <= looks) | (beliefs.faulty >= 1 - PROBABILITY_NOISE)
    return Trials(beliefs.shares, np.where(is_blind, repairs, looks), np.where(is_blind, 0.0, repairs), repairs)


def _alternatives(
    knowledge: DeviceKnowledge, beliefs: DeviceBeliefs, trials: Trials, costs: Costs
) -> Iterator[Alternative]:
    """Every step that can change anything, with what it costs in the end."""
    after = dict(zip(beliefs.components, costs_without_each(trials, costs.service).tolist(), strict=True))
    chances = dict(zip(beliefs.components, trials.chances.tolist(), strict=True))
    for step in possible_steps(beliefs, costs):
        chance = chances.get(step.name)
        if step.kind == "call":
            yield Alternative(step, step.cost)
        elif chance is None or (step.kind == "observe" and _has_several_faults(beliefs, step.name)):
            expected = step.cost
            for state, likely in beliefs.outcomes(step).items():
                seen = _trials_of(knowledge.beliefs({step.name: state}), costs)
                expected += likely * best_order(seen, costs.service).cost
            yield Alternative(step, expected, chance)
        else:
            more = chance * costs.repair[step.name] if step.kind == "observe" else 0.0
            yield Alternative(step, step.cost + more + after[step.name], chance)


def _has_several_faults(beliefs: DeviceBeliefs, name: str) -> bool:
    """Whether a component may be faulty in several ways, so that a look tells more than whether it is."""
    faulty = beliefs.faulty[beliefs.components.index(name)]
    num_possible = int((beliefs.states[name].values > PROBABILITY_NOISE).sum())
    return num_possible - int(faulty < 1 - PROBABILITY_NOISE) > 1
