"""Devices: a model, which parts can be repaired into which state, and when the whole works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags
from plausible.causal.functional.model import FunctionalModel
from plausible.decisions.troubleshooting.costs import Costs
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.variables import State


@dataclass(frozen=True, slots=True)
class Device:
    """A model of a device: which parts can be repaired, into which state, and when the whole works."""

    model: FunctionalModel  # what causes what, as functions of noise that repairs leave alone
    ok_states: Mapping[str, State]  # component -> the state that its repair puts it into; in any other it is faulty
    goal: str  # the variable that says whether the device works, and the state in which it does
    working: State
    tests: tuple[str, ...]  # variables that can be looked at besides

    @property
    def broken(self) -> tuple[State, ...]:
        """The states in which it does not work."""
        return tuple(state for state in self.model.variables[self.goal].states if state != self.working)

    def is_ok(self, name: str) -> Flags:
        """Which states of a component are no fault."""
        return np.array([state == self.ok_states[name] for state in self.model.variables[name].states])


def read_device(
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
