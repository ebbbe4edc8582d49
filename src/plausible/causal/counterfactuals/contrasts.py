"""Effects as contrasts of two worlds (on the treated, direct, indirect), and probabilities of causation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import Result, chart_by, format_number, record
from plausible.causal.counterfactuals.potential import (
    Potential,
    Setting,
    check_comparison,
    joint_evidence,
    state_positions,
)
from plausible.causal.counterfactuals.query import Findings, counterfactual
from plausible.causal.functional.model import FunctionalModel
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.variables import State

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


@record
class Contrast(Result):
    """An outcome's distribution with something, and without it."""

    treated: Factor
    control: Factor

    @property
    def difference(self) -> Factor:
        """The change in the probability of each state."""
        return self.treated - self.control

    @property
    def mean_difference(self) -> float:
        """The change in the mean of an outcome whose states are numbers."""
        states = self.treated.scope[0].states
        if len(self.treated.scope) > 1 or not all(isinstance(s, (int, float, np.number)) for s in states):
            raise NotSupported(f"A mean needs one outcome with numbers as states, not {list(states)}; see difference.")
        weights = np.array(states, dtype=np.float64)
        return float(weights @ (self.treated.values - self.control.values))

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw both distributions side by side; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_comparison", {"treated": self.treated, "control": self.control}, ax)

    def __str__(self) -> str:
        lines = []
        for place in np.ndindex(self.treated.values.shape):
            pairs = zip(self.treated.scope, place, strict=True)
            event = ", ".join(f"{variable.name}={variable.states[code]}" for variable, code in pairs)
            low, high = float(self.control.values[place]), float(self.treated.values[place])
            lines.append(f"P({event})  {format_number(low)} -> {format_number(high)}  ({high - low:+.4g})")
        return "\n".join(lines)


def effect_on_treated(
    model: FunctionalModel,
    outcome: str,
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> Contrast:
    """P(Y_treatment | X = treatment) against P(Y_control | X = treatment): what the treated owe to the treatment.

    Parameters
    ----------
    treatment, control
        The same names -> states.
    evidence
        What else is known about the units, together with their treatment.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> model = FunctionalModel(  # who would be helped, takes it
    ...     {"T": lambda frail: frail, "O": lambda T, frail: T or not frail},
    ...     noise=[TableCPD("frail", [0.8, 0.2], states=[False, True])],
    ... )
    >>> effect = effect_on_treated(model, "O", {"T": True}, {"T": False})
    >>> effect.mean_difference
    1.0
    >>> print(effect)
    P(O=True)  0 -> 1  (+1)
    P(O=False)  1 -> 0  (-1)
    """
    check_comparison(treatment, control)
    known = joint_evidence(evidence, treatment, model.variables)
    sides = (counterfactual(model, outcome, evidence=known, do=side) for side in (treatment, control))
    return Contrast(*sides)


@record
class NaturalEffects(Result):
    """The effect of a treatment, and its parts that don't and that do go through mediators."""

    total: Contrast  # Y_x against Y_x'
    direct: Contrast  # Y_{x, M_x'} against Y_x': the mediators stay as they would be without the treatment
    indirect: Contrast  # Y_{x', M_x} against Y_x': only the mediators learn of the treatment
    total_indirect: Contrast  # Y_x against Y_{x, M_x'}: total = direct + total_indirect

    def __str__(self) -> str:
        parts = {"total": self.total, "natural direct": self.direct, "natural indirect": self.indirect}
        return "\n".join(line for name, part in parts.items() for line in (name, indent(str(part), "  ")))


def natural_effects(
    model: FunctionalModel,
    outcome: str,
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    mediators: str | Iterable[str],
    evidence: Findings | None = None,
) -> NaturalEffects:
    """Natural direct and indirect effects of a treatment x against a control x' (Pearl 2001), exactly.

    For a functional model, which has answers also where causes are latent or an effect acts both ways, and for units of
    whom something is known. A network without latent causes needs no functions: `mediated_effects`.

    Parameters
    ----------
    model, outcome, treatment, control
        As for `effect_on_treated`.
    mediators
        One variable or several on the way from treatment to outcome.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> model = FunctionalModel(
    ...     {"X": lambda U: U, "M": lambda X, V: X and V, "Y": lambda X, M: 2 * X + M},
    ...     noise=[TableCPD("U", [0.5, 0.5]), TableCPD("V", [0.25, 0.75])],
    ... )
    >>> effects = natural_effects(model, "Y", {"X": 1}, {"X": 0}, "M")
    >>> [effect.mean_difference for effect in (effects.total, effects.direct, effects.indirect)]
    [2.75, 2.0, 0.75]
    """
    check_comparison(treatment, control)
    between = [mediators] if isinstance(mediators, str) else list(mediators)
    for name in between:
        if name in treatment or name == outcome:
            raise InvalidArgument(f"{name!r} can't be a mediator: it is the treatment or the outcome itself.")

    def under(own: Mapping[str, State], others: Mapping[str, State]) -> Factor:
        """Y_{own, M_others}."""
        nested: dict[str, Setting] = {name: Potential(name, others) for name in between}
        return counterfactual(model, outcome, evidence=evidence, do={**own, **nested})

    treated, untreated = under(treatment, treatment), under(control, control)
    crossed = under(treatment, control)
    return NaturalEffects(
        total=Contrast(treated, untreated),
        direct=Contrast(crossed, untreated),
        indirect=Contrast(under(control, treatment), untreated),
        total_indirect=Contrast(treated, crossed),
    )


def probability_of_necessity(
    model: FunctionalModel,
    outcome: Mapping[str, Any],
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> float:
    """PN = P(Y_control ≠ y | X = treatment, Y = y): without the cause, would the effect have failed to appear?

    See Pearl (1999), Probabilities of causation: three counterfactual interpretations and their identification.

    Parameters
    ----------
    outcome
        The effect: one name -> a state, or several that count as the effect.
    treatment, control
        The cause and its absence: the same names -> states.
    evidence
        What else is known about the unit, together with its cause and effect.

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
    name, present, absent = _read_effect(model, outcome, treatment, control)
    known = joint_evidence(evidence, {**treatment, name: present}, model.variables)
    return _total(counterfactual(model, name, evidence=known, do=control), absent)


def probability_of_sufficiency(
    model: FunctionalModel,
    outcome: Mapping[str, Any],
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> float:
    """PS = P(Y_treatment = y | X = control, Y ≠ y): where both are absent, would the cause do?

    Parameters are those of `probability_of_necessity`, whose example also asks this.

    >>> from plausible.causal.functional.model import trial_model
    >>> trial = trial_model([[0.1, 0.1, 0, 0.1], [0.1, 0.4, 0, 0.2], [0] * 4, [0] * 4])
    >>> round(probability_of_sufficiency(trial, {"O": 1}, {"T": 1}, {"T": 0}), 3)
    0.667
    """
    name, present, absent = _read_effect(model, outcome, treatment, control)
    known = joint_evidence(evidence, {**control, name: absent}, model.variables)
    return _total(counterfactual(model, name, evidence=known, do=treatment), present)


def probability_of_necessity_and_sufficiency(
    model: FunctionalModel,
    outcome: Mapping[str, Any],
    treatment: Mapping[str, State],
    control: Mapping[str, State],
    evidence: Findings | None = None,
) -> float:
    """PNS = P(Y_treatment = y, Y_control ≠ y): how often does the effect go with the cause, both ways?

    Parameters are those of `probability_of_necessity`.

    >>> from plausible.causal.functional.model import trial_model
    >>> trial = trial_model([[0.1, 0.1, 0, 0.1], [0.1, 0.4, 0, 0.2], [0] * 4, [0] * 4])  # half of all are helped
    >>> round(probability_of_necessity_and_sufficiency(trial, {"O": 1}, {"T": 1}, {"T": 0}), 3)
    0.5
    """
    name, present, absent = _read_effect(model, outcome, treatment, control)
    terms = [Potential(name, treatment), Potential(name, control)]
    return _total(counterfactual(model, terms, evidence=evidence), present, absent)


def _read_effect(
    model: FunctionalModel, outcome: Mapping[str, Any], treatment: Mapping[str, State], control: Mapping[str, State]
) -> tuple[str, tuple[State, ...], tuple[State, ...]]:
    """A variable, the states that count as the effect, and the others, once the question is found to make sense."""
    if not isinstance(outcome, Mapping) or len(outcome) != 1:
        raise InvalidArgument(f"The outcome is one variable and its state, such as {{'Y': 1}}; not {outcome!r}.")
    check_comparison(treatment, control)
    if dict(treatment) == dict(control):
        raise InvalidArgument(f"Treatment and control must be different states, not both {treatment!r}.")
    ((name, value),) = outcome.items()
    UnknownVariable.check(name, model.variables, "this functional model")
    variable = model.variables[name]
    wanted = state_positions(variable, value)
    if len(wanted) == variable.num_states:
        raise InvalidArgument(f"The effect {name}={value!r} must be some of the states of {name!r}, and not all.")
    states = list(enumerate(variable.states))
    return name, tuple(s for i, s in states if i in wanted), tuple(s for i, s in states if i not in wanted)


def _total(answer: Factor, *wanted: tuple[State, ...]) -> float:
    """The probability that each variable is in one of its states."""
    places = [[v.index(state) for state in states] for v, states in zip(answer.scope, wanted, strict=True)]
    return float(answer.values[np.ix_(*places)].sum())
