"""Probabilities of causation: was it necessary, would it have been enough?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from plausible.causal.counterfactuals.comparison import check_comparison
from plausible.causal.counterfactuals.findings import joint_evidence, state_positions
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.query import Findings, counterfactual
from plausible.causal.functional.model import FunctionalModel
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.variables import State

__all__ = [
    "probability_of_necessity",
    "probability_of_necessity_and_sufficiency",
    "probability_of_sufficiency",
]


def probability_of_necessity(
    model: FunctionalModel,
    outcome: Mapping[str, Any],
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> float:
    """PN = P(Y_control ≠ y | X = treatment, Y = y): without the cause, would the effect have failed to appear?

    Parameters
    ----------
    model
        A functional model.
    outcome
        The effect: one name -> a state, or several that count as the effect.
    treatment, control
        The cause and its absence: the same names -> states.
    evidence
        What else is known about the unit, together with its cause and effect.

    References
    ----------
    Pearl (1999), Probabilities of causation: three counterfactual interpretations and their identification.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> fire = FunctionalModel(
    ...     {"match": lambda U: U, "fire": lambda match, oxygen, lightning: (match and oxygen) or lightning},
    ...     noise=[TableCPD(name, [1 - p, p], states=[False, True])
    ...            for name, p in {"U": 0.1, "oxygen": 0.9, "lightning": 0.05}.items()],
    ... )
    >>> question = {"outcome": {"fire": True}, "treatment": {"match": True}, "control": {"match": False}}
    >>> round(probability_of_necessity(fire, **question), 4), round(probability_of_sufficiency(fire, **question), 4)
    (0.9448, 0.9)
    """
    effect = _Effect.read(model, outcome, treatment, control)
    known = joint_evidence(evidence, {**treatment, effect.name: effect.states}, model.variables)
    answer = counterfactual(model, effect.name, evidence=known, do=control)
    return _total(answer, effect.absent)


def probability_of_sufficiency(
    model: FunctionalModel,
    outcome: Mapping[str, Any],
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> float:
    """PS = P(Y_treatment = y | X = control, Y ≠ y): where both are absent, would the cause do?

    Parameters are those of `probability_of_necessity`, whose example also asks this.

    >>> from plausible.causal.functional.trial import trial_model
    >>> trial = trial_model([[0.1, 0.1, 0, 0.1], [0.1, 0.4, 0, 0.2], [0] * 4, [0] * 4])
    >>> round(probability_of_sufficiency(trial, {"O": 1}, {"T": 1}, {"T": 0}), 3)
    0.667
    """
    effect = _Effect.read(model, outcome, treatment, control)
    known = joint_evidence(evidence, {**control, effect.name: effect.absent}, model.variables)
    answer = counterfactual(model, effect.name, evidence=known, do=treatment)
    return _total(answer, effect.states)


def probability_of_necessity_and_sufficiency(
    model: FunctionalModel,
    outcome: Mapping[str, Any],
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> float:
    """PNS = P(Y_treatment = y, Y_control ≠ y): how often does the effect go with the cause, both ways?

    Parameters are those of `probability_of_necessity`.

    >>> from plausible.causal.functional.trial import trial_model
    >>> trial = trial_model([[0.1, 0.1, 0, 0.1], [0.1, 0.4, 0, 0.2], [0] * 4, [0] * 4])  # half of all are helped
    >>> round(probability_of_necessity_and_sufficiency(trial, {"O": 1}, {"T": 1}, {"T": 0}), 3)
    0.5
    """
    effect = _Effect.read(model, outcome, treatment, control)
    terms = [Potential(effect.name, treatment), Potential(effect.name, control)]
    answer = counterfactual(model, terms, evidence=evidence)
    first, second = (axis.name for axis in answer.scope)
    return _total(answer, {first: effect.states, second: effect.absent})


class _Effect(NamedTuple):
    """A variable, the states that count as the effect, and the others."""

    name: str
    states: tuple[State, ...]
    absent: tuple[State, ...]

    @classmethod
    def read(
        cls,
        model: FunctionalModel,
        outcome: Mapping[str, Any],
        treatment: Mapping[str, State],
        control: Mapping[str, State],
    ) -> _Effect:
        """The effect, once the question is found to make sense."""
        if not isinstance(outcome, Mapping) or len(outcome) != 1:
            raise InvalidArgument(f"The outcome is one variable and its state, such as {{'Y': 1}}; not {outcome!r}.")
        check_comparison(treatment, control)
        if dict(treatment) == dict(control):
            raise InvalidArgument(f"Treatment and control must be different states, not both {treatment!r}.")
        ((name, value),) = outcome.items()
        if name not in model.variables:
            raise UnknownVariable.named(name, model.variables, "this functional model")
        variable = model.variables[name]
        wanted = state_positions(variable, value)
        if len(wanted) == variable.num_states:
            raise InvalidArgument(f"The effect {name}={value!r} must be some of the states of {name!r}, and not all.")
        parts = ([s for i, s in enumerate(variable.states) if (i in wanted) == side] for side in (True, False))
        return cls(name, *(tuple(part) for part in parts))


def _total(answer: Factor, states: Any) -> float:
    """The probability that each variable is in one of its states."""
    wanted = states if isinstance(states, Mapping) else {answer.scope[0].name: states}
    total = answer.values
    for variable in reversed(answer.scope):
        total = total[..., [variable.index(state) for state in wanted[variable.name]]].sum(axis=-1)
    return float(total)
