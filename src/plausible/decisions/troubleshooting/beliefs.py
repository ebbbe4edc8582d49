"""What is known of a device in which some parts were repaired: findings before and after, in one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.causal.counterfactuals.potential import Finding
from plausible.causal.functional.model import FunctionalModel
from plausible.decisions.troubleshooting.repair_choices import ChoiceView, RepairQuestion
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.variables import State

__all__ = ["PROBABILITY_NOISE", "Beliefs", "Device", "Knowledge", "Situation"]


#: What a run of a network for several repairs may cost.
_AT_ONCE = Budget(seconds=0.5)


@dataclass(frozen=True, slots=True)
class Device:
    """A model of a device: which parts can be repaired, into which state, and when the whole works.

    Attributes
    ----------
    model
        What causes what, as functions of noise that repairs leave alone.
    ok_states
        Component -> the state that its repair puts it into; in any other it is faulty.
    goal, working
        The variable that says whether the device works, and the state in which it does.
    tests
        Variables that can be looked at besides.
    """

    model: FunctionalModel
    ok_states: Mapping[str, State]
    goal: str
    working: State
    tests: tuple[str, ...]

    @property
    def broken(self) -> tuple[State, ...]:
        """The states in which it does not work."""
        return tuple(state for state in self.model.variables[self.goal].states if state != self.working)

    def is_ok(self, name: str) -> Flags:
        """Which states of a component are no fault."""
        return np.array([state == self.ok_states[name] for state in self.model.variables[name].states])


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What is believed of the device as it stands now.

    Attributes
    ----------
    states
        Name of a part or test -> distribution over its states.
    components
        The components that were not repaired yet and may be faulty.
    faulty
        P(component is faulty), in their order.
    fixes
        P(the device works once this component alone is repaired).
    needed
        P(the device works once all are repaired) less P(it works once all but this one are).
    fixable
        P(the device works once all are repaired).

    Examples
    --------
    >>> from plausible.examples import printer_troubleshooter
    >>> beliefs = printer_troubleshooter().start({"panel": "clear"}).beliefs
    >>> dict(zip(beliefs.components, beliefs.shares.round(3).tolist()))
    {'paper': 0.02, 'cable': 0.189, 'driver': 0.285, 'spooler': 0.24, 'toner': 0.039, 'network': 0.227}
    """

    states: Mapping[str, Factor]
    components: tuple[str, ...]
    faulty: Floats
    fixes: Floats
    needed: Floats
    fixable: float

    @property
    def is_fixable(self) -> bool:
        """Whether a repair can help: of all components, or of one alone where others would undo it."""
        return bool(max(self.fixable, self.fixes.max(initial=0.0)) > PROBABILITY_NOISE)

    @property
    def shares(self) -> Floats:
        """The chance that each component is what has to be repaired; they sum to `fixable`.

        In proportion to `fixes` + `needed`. With a single fault the two are the same, and are the probability of the
        fault, so the shares are exact; with several, `needed` speaks for parts that all have to be repaired, and
        `fixes` for parts of which any will do.
        """
        weights = self.fixes + self.needed
        if not weights.sum() > PROBABILITY_NOISE:
            weights = self.faulty
        total = weights.sum()
        return weights * (self.fixable / total) if total > 0 else weights

    def outcomes(self, step: Step) -> dict[Outcome, float]:
        """What can come of a step, with probabilities; exact with any number of faults."""
        if step.kind == "call":
            return {None: 1.0}
        if step.kind == "repair":
            if step.name not in self.components:
                return {False: 1.0}
            fixed = float(self.fixes[self.components.index(step.name)])
            chances: dict[Outcome, float] = {True: fixed, False: 1.0 - fixed}
        else:
            told = self.states[step.name]
            chances = dict(zip(told.scope[0].states, told.values.tolist(), strict=True))
        return {outcome: chance for outcome, chance in chances.items() if chance > PROBABILITY_NOISE}


class Knowledge(Protocol):
    """What answers for beliefs: compiled networks or enumerated devices."""

    def beliefs(self, tested: Mapping[str, State] | None = None) -> Beliefs:
        """What is believed, if some tests also showed these states."""
        ...


class Situation:
    """One state of a device, about which to ask; tests may be answered in addition, one at a time.

    What each component's repair would do, and that of all others, is asked of one network, or of several that share
    the repairs among them where one is too large. Compiled once, run once for each `beliefs`.

    Parameters
    ----------
    device
        The device.
    repaired
        The components that were repaired.
    findings
        What was seen, each in the world of the repairs made by then.
    """

    def __init__(self, device: Device, repaired: Sequence[str], findings: Sequence[Finding]) -> None:
        self._device, self._findings = device, findings
        self._question = RepairQuestion(device.model, device.ok_states, device.goal, device.working, repaired)
        self._open = tuple(name for name in device.ok_states if name not in repaired)
        everything = frozenset(self._open)
        sets = [everything, *(frozenset([name]) for name in self._open), *(everything - {name} for name in self._open)]
        self._places = {chosen: place for place, chosen in enumerate(dict.fromkeys(sets))}
        self._views = self._compiled(list(self._places))

    def _compiled(self, choices: list[frozenset[str]]) -> list[ChoiceView]:
        seen = (*self._open, *self._device.tests)
        if len(choices) == 1:
            return [ChoiceView(self._question, choices, seen, self._findings)]
        try:
            return [ChoiceView(self._question, choices, seen, self._findings, _AT_ONCE)]
        except TooLarge:
            half = len(choices) // 2
            return [*self._compiled(choices[:half]), *self._compiled(choices[half:])]

    def beliefs(self, tested: Mapping[str, State] | None = None) -> Beliefs:
        """What is believed, if some tests also showed these states."""
        return self._asked(tested) if tested else self._untested

    @cached_property
    def _untested(self) -> Beliefs:
        return self._asked({})

    def _asked(self, tested: Mapping[str, State]) -> Beliefs:
        answers = [view.marginals(tested) for view in self._views]
        states, works = answers[0][0], np.concatenate([fixed for _, fixed in answers])
        faulty = {name: float(states[name].values[~self._device.is_ok(name)].sum()) for name in self._open}
        left = tuple(name for name in self._open if faulty[name] > PROBABILITY_NOISE)
        everything = frozenset(self._open)
        alone = [self._places[frozenset([name])] for name in left]
        others = [self._places[everything - {name}] for name in left]
        fixable = float(works[self._places[everything]])
        return Beliefs(
            states,
            left,
            np.array([faulty[name] for name in left]),
            works[alone],
            np.maximum(fixable - works[others], 0.0),
            fixable,
        )
