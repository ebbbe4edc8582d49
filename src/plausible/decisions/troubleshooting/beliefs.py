"""What is known of a device in which some parts were repaired: findings before and after, in one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from plausible.causal.counterfactuals.findings import Finding, as_evidence
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.worlds import parallel_worlds
from plausible.causal.functional.model import FunctionalModel
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.variables import State

__all__ = ["SURE", "Beliefs", "Device", "Knowledge", "Situation"]

Floats = npt.NDArray[np.float64]

#: Probabilities nearer than this to zero or one are certainties.
SURE = 1e-12
#: What a network of all worlds may cost: beyond it, many small ones are cheaper.
_SMALL = Budget(seconds=2e-3)


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

    def is_ok(self, name: str) -> npt.NDArray[np.bool_]:
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
    def shares(self) -> Floats:
        """The chance that each component is what has to be repaired; they sum to `fixable`.

        In proportion to `fixes` + `needed`. With a single fault the two are the same, and are the probability of the
        fault, so the shares are exact; with several, `needed` speaks for parts that all have to be repaired, and
        `fixes` for parts of which any will do.
        """
        weights = self.fixes + self.needed
        if not weights.sum() > SURE:
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
        return {outcome: chance for outcome, chance in chances.items() if chance > SURE}


class Knowledge(Protocol):
    """What answers for beliefs: compiled networks or enumerated devices."""

    def beliefs(self, tested: Mapping[str, State] | None = None) -> Beliefs:
        """What is believed, if some tests also showed these states."""
        ...


class Situation:
    """One state of a device, about which to ask; tests may be answered in addition, one at a time.

    There is a world for each set of repairs under which something was seen, and for each component one in which it is
    repaired and one in which all others are: all in one network where that is small, else a network for each of them
    and what was seen, whose cost is that of a twin network. Compiled once, run once for each `beliefs`.

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
        self._device = device
        done = {name: device.ok_states[name] for name in repaired}
        self._open = tuple(name for name in device.ok_states if name not in done)
        every = {**done, **{name: device.ok_states[name] for name in self._open}}
        self._seen = {name: Potential(name, done) for name in (*self._open, *device.tests)}
        self._fixed = {name: Potential(device.goal, {**done, name: device.ok_states[name]}) for name in self._open}
        self._others = {
            name: Potential(device.goal, {part: ok for part, ok in every.items() if part != name})
            for name in self._open
        }
        self._all = Potential(device.goal, every)
        self._views = self._compiled(findings)

    def _compiled(self, findings: Sequence[Finding]) -> list[_View]:
        parts = [
            [*self._seen.values()],
            *([term] for term in (*self._fixed.values(), *self._others.values(), self._all)),
        ]
        tests = [self._seen[name] for name in self._device.tests]
        model = self._device.model
        try:
            return [_View(model, [term for part in parts for term in part], tests, findings, _SMALL)]
        except TooLarge:
            return [_View(model, part, tests, findings) for part in parts]

    def beliefs(self, tested: Mapping[str, State] | None = None) -> Beliefs:
        """What is believed, if some tests also showed these states."""
        shown = {self._seen[name]: state for name, state in (tested or {}).items()}
        marginals: dict[Potential, Factor] = {}
        for view in self._views:
            marginals |= view.marginals(shown)
        device = self._device
        works = device.model.variables[device.goal].index(device.working)

        def chances(terms: Mapping[str, Potential], names: Sequence[str]) -> Floats:
            return np.array([marginals[terms[name]].values[works] for name in names], dtype=float)

        states = {name: marginals[term] for name, term in self._seen.items()}
        faulty = {name: float(states[name].values[~device.is_ok(name)].sum()) for name in self._open}
        left = tuple(name for name in self._open if faulty[name] > SURE)
        fixable = float(marginals[self._all].values[works])
        return Beliefs(
            states,
            left,
            np.array([faulty[name] for name in left]),
            chances(self._fixed, left),
            np.maximum(fixable - chances(self._others, left), 0.0),
            fixable,
        )


class _View:
    """Some of the worlds, compiled: the marginals of terms, given the findings and results of tests."""

    def __init__(
        self,
        model: FunctionalModel,
        asked: Sequence[Potential],
        tests: Sequence[Potential],
        findings: Sequence[Finding],
        budget: Budget | None = None,
    ) -> None:
        worlds = parallel_worlds(model, [*asked, *tests, *(finding.term for finding in findings)])
        self._asked, self._nodes = asked, worlds.nodes
        self._evidence = {**worlds.constants, **as_evidence(findings, worlds.nodes, worlds.network.variables)}
        kept = dict.fromkeys([*(worlds.nodes[term] for term in (*asked, *tests)), *self._evidence])
        self._engine = worlds.network.compile(list(kept), budget=budget)

    def marginals(self, tested: Mapping[Potential, State]) -> dict[Potential, Factor]:
        """Term -> its distribution, over a variable of its plain name."""
        evidence: dict[str, Any] = {**self._evidence, **{self._nodes[term]: state for term, state in tested.items()}}
        if len(self._asked) == 1:
            found = {self._nodes[term]: self._engine.query(self._nodes[term], evidence) for term in self._asked}
        else:
            found = self._engine.marginals(evidence)
        return {term: _renamed(found[self._nodes[term]], term.variable) for term in self._asked}


def _renamed(factor: Factor, name: str) -> Factor:
    return factor if factor.names == (name,) else factor.rename({factor.names[0]: name})
