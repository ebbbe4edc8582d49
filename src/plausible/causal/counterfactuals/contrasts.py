"""Effects as contrasts of two distributions: on the treated, direct, indirect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import indent

import numpy as np

from plausible.base.display import format_number
from plausible.base.records import record
from plausible.causal.counterfactuals.comparison import check_comparison
from plausible.causal.counterfactuals.findings import joint_evidence
from plausible.causal.counterfactuals.potential import Potential, Setting
from plausible.causal.counterfactuals.query import Findings, counterfactual
from plausible.causal.functional.model import FunctionalModel
from plausible.errors import InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.variables import State

__all__ = ["Contrast", "NaturalEffects", "effect_on_treated", "natural_effects"]


@record
class Contrast:
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

    def __str__(self) -> str:
        return "\n".join(map(self._line, np.ndindex(self.treated.values.shape)))

    def _line(self, place: tuple[int, ...]) -> str:
        pairs = zip(self.treated.scope, place, strict=True)
        event = ", ".join(f"{variable.name}={variable.states[code]}" for variable, code in pairs)
        low, high = float(self.control.values[place]), float(self.treated.values[place])
        return f"P({event})  {format_number(low)} -> {format_number(high)}  ({high - low:+.4g})"


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
    model
        A functional model.
    outcome
        The variable that the effect is on.
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
class NaturalEffects:
    """The effect of a treatment, and its parts that don't and that do go through mediators.

    Attributes
    ----------
    total
        Y_x against Y_x'.
    direct
        Y_{x, M_x'} against Y_x': the mediators stay as they would be without the treatment.
    indirect
        Y_{x', M_x} against Y_x': only the mediators learn of the treatment.
    total_indirect
        Y_x against Y_{x, M_x'}: total = direct + total_indirect.
    """

    total: Contrast
    direct: Contrast
    indirect: Contrast
    total_indirect: Contrast

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
    model
        A functional model.
    outcome
        The variable that the effect is on.
    treatment, control
        The same names -> states.
    mediators
        One variable or several on the way from treatment to outcome.
    evidence
        What is known about the units.

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
