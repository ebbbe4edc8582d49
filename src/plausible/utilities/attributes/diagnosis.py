"""Utilities of diagnoses: which one to act on, and what a worse posterior costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base import TABLE_ROUNDING, Floats, Result, html_of_print, record
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.utilities.attributes.outcome_tables import check_utility
from plausible.variables import State, Variable


@record
class DiagnosisChoice(Result):
    """The diagnosis to act on."""

    diagnosis: State  # The first of the best
    expected_utility: float  # Σ_d P(d | e) u[d, diagnosis]
    all: Factor  # The expected utility of each diagnosis

    def __str__(self) -> str:
        return f"{self.diagnosis}: {self.expected_utility:.6g}"


@record
class InferentialLoss(Result):
    """What is lost by deciding on another posterior than the gold standard's, the observations being the same."""

    #: Σ_d P*(d | e) (u[d, d*] - u[d, d']) ≥ 0, d* being the choice under the gold standard P*, d' the other one.
    loss: float
    #: d* and d'.
    gold: State
    chosen: State

    def __str__(self) -> str:
        return f"{self.loss:.6g} lost by {self.chosen} instead of {self.gold}"


@dataclass(frozen=True, slots=True, repr=False)
class DiagnosisUtility:
    """u[d, d']: what it is worth to have disease d and be treated for d' (Heckerman, Horvitz & Nathwani 1992).

    The table is a factor over two variables with the same states: first the disease, then the diagnosis.

    >>> diseases = ["flu", "cold"]
    >>> utility = DiagnosisUtility(Factor({"disease": diseases, "diagnosis": diseases}, [[-1, -9], [-2, 0]]))
    >>> print(utility.best(Factor({"disease": diseases}, [0.2, 0.8])))
    flu: -1.8
    >>> print(utility.inferential_loss(Factor({"disease": diseases}, [0.3, 0.7]),
    ...                                Factor({"disease": diseases}, [0.1, 0.9])))
    1 lost by cold instead of flu
    """

    table: Factor

    def __post_init__(self) -> None:
        check_utility(self.table)
        if len(self.table.scope) != 2 or self.table.scope[0].states != self.table.scope[1].states:
            raise InvalidArgument("A utility of diagnoses is over a disease and a diagnosis with the same states.")

    @classmethod
    def from_disutilities(
        cls,
        disease: Variable,
        treated: Mapping[State, float],
        delayed: Mapping[State, float],
        unnecessary: Mapping[State, float],
        diagnosis: str = "diagnosis",
    ) -> DiagnosisUtility:
        """-u[d, d'] = treated(d) + (d ≠ d') (delayed(d) + unnecessary(d')): 3n assessments instead of n².

        Parameters
        ----------
        disease, diagnosis
            The diseases, and the name of the second variable.
        treated, delayed, unnecessary
            The disutility of each disease, treated correctly at once; what it adds that the right treatment comes late;
            what the treatment of a disease does to somebody who has another one.

        Examples
        --------
        >>> utility = DiagnosisUtility.from_disutilities(
        ...     Variable("disease", ["flu", "cold"]), treated={"flu": 5, "cold": 1},
        ...     delayed={"flu": 7, "cold": 0}, unnecessary={"flu": 2, "cold": 0.5})
        >>> utility.table.values
        array([[ -5. , -12.5],
               [ -3. ,  -1. ]])
        """
        now, late, other = (_column(disease, answers) for answers in (treated, delayed, unnecessary))
        is_wrong = 1.0 - np.eye(disease.num_states)
        disutility = now[:, None] + is_wrong * (late[:, None] + other[None, :])
        return cls(Factor((disease, Variable(diagnosis, disease.states)), -disutility))

    def best(self, posterior: Factor) -> DiagnosisChoice:
        """The diagnosis of the greatest expected utility, argmax Σ_d P(d | e) u[d, d']."""
        worth = self._worth(posterior)
        place = int(worth.argmax())
        diagnosis = self.table.scope[1]
        return DiagnosisChoice(diagnosis.states[place], float(worth[place]), Factor((diagnosis,), worth))

    def inferential_loss(self, gold: Factor, posterior: Factor) -> InferentialLoss:
        """What is lost, by the gold standard's own lights, by the diagnosis that another posterior leads to.

        Both are posteriors of the disease, for the same observations.
        """
        worth = self._worth(gold)
        best, chosen = int(worth.argmax()), int(self._worth(posterior).argmax())
        states = self.table.scope[1].states
        return InferentialLoss(float(worth[best] - worth[chosen]), states[best], states[chosen])

    def outcome_loss(self, disease: State, posterior: Factor) -> float:
        """u[d, d] - u[d, d'] of the disease that it was: hindsight, which judges luck along with the decision."""
        row = self.table.values[self.table.scope[0].index(disease)]
        return float(row[self.table.scope[0].index(disease)] - row[int(self._worth(posterior).argmax())])

    def grouped(
        self, groups: Mapping[State, Iterable[State]], weights: Mapping[State, float] | None = None
    ) -> DiagnosisUtility:
        """The utility of groups of diseases with alike treatment: weighted means over their members.

        Each disease is in one group; it counts there by its weight, such as its prevalence, equally where left out.
        """
        disease, diagnosis = self.table.scope
        members = {group: [disease.index(state) for state in listed] for group, listed in groups.items()}
        places = sorted(place for listed in members.values() for place in listed)
        if places != list(range(disease.num_states)):
            raise InvalidArgument("Each disease must be in exactly one group.")
        share = np.zeros((len(members), disease.num_states))
        each = np.ones(disease.num_states) if weights is None else _column(disease, weights)
        for row, listed in enumerate(members.values()):
            share[row, listed] = each[listed]
        if not (share.sum(axis=1) > 0).all():
            raise InvalidArgument("Every group needs a disease of positive weight.")
        share /= share.sum(axis=1, keepdims=True)
        scope = (Variable(disease.name, list(members)), Variable(diagnosis.name, list(members)))
        return DiagnosisUtility(Factor(scope, share @ self.table.values @ share.T))

    def _worth(self, posterior: Factor) -> Floats:
        if posterior.scope != self.table.scope[:1]:
            raise InvalidArgument(
                f"The posterior must be over {self.table.scope[0]!r} alone; take .marginal({self.table.names[0]!r})."
            )
        if not posterior.is_distribution(TABLE_ROUNDING):
            raise InvalidArgument(f"The posterior sums to {posterior.sum():.10g}; see normalize().")
        return np.asarray(posterior.flat @ self.table.values)

    def __repr__(self) -> str:
        return f"<DiagnosisUtility: {self.table.scope[0].num_states} diseases>"

    def __str__(self) -> str:
        return str(self.table)

    _repr_html_ = html_of_print


def _column(disease: Variable, answers: Mapping[State, float]) -> Floats:
    if missing := [state for state in disease.states if state not in answers]:
        raise InvalidArgument(f"The disease {missing[0]!r} has no number; give one for each disease.")
    return np.array([float(answers[state]) for state in disease.states])
