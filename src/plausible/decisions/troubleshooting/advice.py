"""Which step to take next: what each would cost in the end, and why the best one is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plausible.decisions.troubleshooting.beliefs import Beliefs, Situation
from plausible.decisions.troubleshooting.costs import Costs
from plausible.decisions.troubleshooting.steps import Step
from plausible.decisions.troubleshooting.worth_trying import Trials, TryOrder, best_order
from plausible.factors.display import TextTable, format_number

__all__ = ["Advice", "Alternative", "advise", "possible_steps", "repair_sequence"]

#: Probabilities beyond this are certainties, and costs nearer to each other (relative to their size) ties.
_SURE = 1e-12
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Alternative:
    """A step that could be next.

    Attributes
    ----------
    step
        The step.
    expected_cost
        What all will cost from now on, if it is taken and then what seems best.
    chance
        The chance that this component is what has to be repaired; `None` for tests and calls.
    """

    step: Step
    expected_cost: float
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """The steps that could be next, the best one first, and why it is.

    Attributes
    ----------
    alternatives
        By rising expected cost.
    sequence
        The components in the order in which they would be tried without any test.
    repair_cost
        The expected cost of doing so, and of the call after it.
    """

    alternatives: tuple[Alternative, ...]
    sequence: tuple[str, ...]
    repair_cost: float

    @property
    def best(self) -> Alternative | None:
        """The first; `None` where nothing can be done."""
        return self.alternatives[0] if self.alternatives else None

    @property
    def reason(self) -> str:
        """Why the best step is the best one, in a sentence."""
        best = self.best
        if best is None:
            return "Nothing is left to try: no repair can help, and there is no service to call."
        others = [other for other in self.alternatives[1:] if other.step.name != best.step.name]
        margin = ""
        if others:
            margin = f", {format_number(others[0].expected_cost - best.expected_cost)} less than {others[0].step}"
        if best.step.kind == "test":
            saved = self.repair_cost - best.expected_cost + best.step.cost
            why = f"it costs {format_number(best.step.cost)} and saves {format_number(saved)}"
        elif best.step.kind == "call":
            why = "trying parts costs more than it saves"
        else:
            why = f"the chance that it helps is {format_number(best.chance or 0.0)}"
        return f"{str(best.step).capitalize()}: expected cost {format_number(best.expected_cost)}{margin}; {why}."

    def __str__(self) -> str:
        rows = tuple(
            (
                str(one.step),
                format_number(one.step.cost),
                "" if one.chance is None else format_number(one.chance),
                format_number(one.expected_cost),
            )
            for one in self.alternatives
        )
        table = f"{TextTable(('step', 'costs now', 'chance', 'expected cost'), rows, 1)}\n" if rows else ""
        return f"{table}{self.reason}"


def repair_sequence(beliefs: Beliefs, costs: Costs) -> TryOrder:
    """The order in which to try the components, if there are no tests: positions among `beliefs.components`."""
    return best_order(_trials_of(beliefs, costs), costs.service)


def advise(situation: Situation, costs: Costs) -> Advice:
    """All steps with their expected costs: one test ahead, and all repairs after it.

    A test t costs C_t + Σ_s P(t = s) ECR(s), the expected cost of repair once its result is known; a component costs
    its own trial and the ECR of what is left. Exact where there is a single fault and one test at most is made.
    Heckerman, Breese & Rommelse (1995).
    """
    beliefs = situation.beliefs()
    found = repair_sequence(beliefs, costs)
    sequence = tuple(beliefs.components[place] for place in found.order)
    if costs.service is None and not (beliefs.components and beliefs.fixable > _SURE):
        return Advice((), sequence, found.cost)
    listed = [*_trials(beliefs, costs), *_tests(situation, beliefs, costs)]
    if costs.service is not None:
        listed.append(Alternative(Step("call", "", costs.service), costs.service))
    least = min(one.expected_cost for one in listed)
    bound = least + _TIE * max(1.0, abs(least))
    first = next(one for one in listed if one.expected_cost <= bound)
    rest = sorted((one for one in listed if one is not first), key=lambda one: one.expected_cost)
    return Advice((first, *rest), sequence, found.cost)


def possible_steps(beliefs: Beliefs, costs: Costs) -> Iterator[Step]:
    """Every step that can change anything."""
    for name, faulty in zip(beliefs.components, beliefs.faulty, strict=True):
        if name in costs.observe and faulty < 1 - _SURE:
            yield Step("observe", name, costs.observe[name])
        yield Step("repair", name, costs.repair[name])
    for name in costs.tests:
        if beliefs.states[name].values.max() < 1 - _SURE:
            yield Step("test", name, costs.observe[name])
    if costs.service is not None:
        yield Step("call", "", costs.service)


def _trials_of(beliefs: Beliefs, costs: Costs) -> Trials:
    """The components as trials: none is looked at where that is dearer than a repair, or where its fault is known."""
    repairs = np.array([costs.repair[name] for name in beliefs.components], dtype=float)
    looks = np.array([costs.observe.get(name, np.inf) for name in beliefs.components], dtype=float)
    is_blind = (repairs <= looks) | (beliefs.faulty >= 1 - _SURE)
    return Trials(beliefs.shares, np.where(is_blind, repairs, looks), np.where(is_blind, 0.0, repairs), repairs)


def _trials(beliefs: Beliefs, costs: Costs) -> Iterator[Alternative]:
    trials, shares = _trials_of(beliefs, costs), beliefs.shares
    after = {
        name: best_order(trials.without(place), costs.service, 1.0 - shares[place]).cost
        for place, name in enumerate(beliefs.components)
    }
    chances = dict(zip(beliefs.components, shares.tolist(), strict=True))
    for step in possible_steps(beliefs, costs):
        if step.kind in ("observe", "repair"):
            more = chances[step.name] * costs.repair[step.name] if step.kind == "observe" else 0.0
            yield Alternative(step, step.cost + more + after[step.name], chances[step.name])


def _tests(situation: Situation, beliefs: Beliefs, costs: Costs) -> Iterator[Alternative]:
    for step in possible_steps(beliefs, costs):
        if step.kind == "test":
            told = beliefs.states[step.name]
            expected = step.cost
            for state, chance in zip(told.scope[0].states, told.values.tolist(), strict=True):
                if chance > 0:
                    expected += chance * repair_sequence(situation.beliefs({step.name: state}), costs).cost
            yield Alternative(step, expected)
