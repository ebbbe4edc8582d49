"""Quantities that are linear in probabilities of events in one world or in several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from plausible.base.display import html_of_print
from plausible.base.records import record
from plausible.causal.counterfactuals.potential import (
    Potential,
    Setting,
    check_comparison,
    findings_under,
    refuse_idle_do,
    state_positions,
)
from plausible.causal.functional.responses import ResponseVariable
from plausible.errors import InvalidArgument
from plausible.variables import State
from plausible.variables.evidence import findings_of, settings_of


class WorldFinding(NamedTuple):
    """A variable of some world is in a state, or in one of several."""

    variable: Potential
    value: Any

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"

    def _repr_html_(self) -> str:
        return html_of_print(self)


class QueryTerm(NamedTuple):
    """coefficient × P(event | given)."""

    coefficient: float
    event: tuple[WorldFinding, ...]
    given: tuple[WorldFinding, ...]

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.event))
        known = f" | {', '.join(map(str, self.given))}" if self.given else ""
        return f"P({inside}{known})"

    def _repr_html_(self) -> str:
        return html_of_print(self)

    def without_sign(self) -> str:
        """The term with the size of its coefficient, where this is not one."""
        size = abs(self.coefficient)
        return str(self) if size == 1 else f"{size:g} {self}"


@record
class LinearQuery:
    """constant + Σ coefficient × P(event | given); sums, differences and multiples of queries are queries.

    Made by `probability_of` and its kin.

    Examples
    --------
    >>> print(probability_of({"Y": 1}, do={"X": 1}) - 0.5 * probability_of({"Y": 1}) + 1)
    P(Y[X=1]=1) - 0.5 P(Y=1) + 1
    """

    terms: tuple[QueryTerm, ...]
    constant: float = 0.0

    def __add__(self, other: LinearQuery | float) -> LinearQuery:
        if isinstance(other, LinearQuery):
            return LinearQuery((*self.terms, *other.terms), self.constant + other.constant)
        return LinearQuery(self.terms, self.constant + float(other))

    def __mul__(self, factor: LinearQuery | float) -> LinearQuery:
        if isinstance(factor, LinearQuery):
            raise InvalidArgument(f"The product of {self} and {factor} is not linear; bounds need a linear query.")
        terms = tuple(term._replace(coefficient=float(factor) * term.coefficient) for term in self.terms)
        return LinearQuery(terms, float(factor) * self.constant)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> LinearQuery:
        return self * -1.0

    def __sub__(self, other: LinearQuery | float) -> LinearQuery:
        return self + -other

    def __rsub__(self, other: float) -> LinearQuery:
        return -self + other

    def __str__(self) -> str:
        parts = [(term.coefficient, term.without_sign()) for term in self.terms if term.coefficient]
        if self.constant or not parts:
            parts.append((self.constant, f"{abs(self.constant):g}"))
        (first, start), *others = parts
        return f"{'-' if first < 0 else ''}{start}" + "".join(f" {'-' if n < 0 else '+'} {part}" for n, part in others)


def probability_of(
    outcome: Mapping[Any, Any],
    *,
    do: Mapping[str, Setting] | None = None,
    evidence: Mapping[Any, Any] | None = None,
    counterfactual_evidence: Mapping[Any, Any] | None = None,
) -> LinearQuery:
    """P(outcome under `do` | evidence), as a query to bound.

    Parameters
    ----------
    outcome
        Name -> a state or several; a key may be a `Potential`, so that joint events of several worlds can be asked for.
    do
        What is set where the outcome is named: name -> state, or a `Potential` for nested counterfactuals. Refused
        where every key of the outcome is a `Potential`, which says its own world.
    evidence
        What is known about the real world; keys as in `outcome`.
    counterfactual_evidence
        What is known about the world of `do`.

    Examples
    --------
    >>> print(probability_of({"O": 0}, do={"T": 0}, evidence={"T": 1, "O": 1}))
    P(O[T=0]=0 | T=1, O=1)
    """
    event = _findings(outcome, do)
    if not event:
        raise InvalidArgument("There is no outcome to ask about: outcome= is empty.")
    refuse_idle_do(settings_of(do), [*findings_of(outcome), *findings_of(counterfactual_evidence)])
    given = (*_findings(evidence, None), *_findings(counterfactual_evidence, do))
    return LinearQuery((QueryTerm(1.0, event, given),))


def average_causal_effect(
    outcome: Mapping[Any, Any],
    treatment: Mapping[str, Setting],
    control: Mapping[str, Setting],
    *,
    evidence: Mapping[Any, Any] | None = None,
) -> LinearQuery:
    """ACE = P(outcome | do(treatment)) - P(outcome | do(control)), for all units or those of the evidence.

    Parameters
    ----------
    outcome
        Name -> a state or several.
    treatment, control
        The same names -> states.
    evidence
        What is known about the units: with the treatment itself, this is the effect on the treated.

    Examples
    --------
    >>> print(average_causal_effect({"O": 1}, {"T": 1}, {"T": 0}))
    P(O[T=1]=1) - P(O[T=0]=1)
    """
    check_comparison(treatment, control)
    treated = probability_of(outcome, do=treatment, evidence=evidence)
    return treated - probability_of(outcome, do=control, evidence=evidence)


def interventional_mean(
    outcome: str,
    values: Mapping[State, float],
    *,
    do: Mapping[str, Setting] | None = None,
    evidence: Mapping[Any, Any] | None = None,
) -> LinearQuery:
    """E[value of the outcome under `do` | evidence] = Σ value(y) P(Y_do = y | evidence).

    Parameters
    ----------
    outcome
        A name.
    values
        What each state is worth; states that are left out are worth nothing.
    do, evidence
        As in `probability_of`.

    Examples
    --------
    >>> print(interventional_mean("Y", {"some": 1, "much": 2}, do={"X": 1}))
    P(Y[X=1]=some) + 2 P(Y[X=1]=much)
    """
    query = LinearQuery(())
    for state, value in values.items():
        query = query + value * probability_of({outcome: state}, do=do, evidence=evidence)
    return query


def type_probability(response: ResponseVariable, types: State | Iterable[State]) -> LinearQuery:
    """The share of units of a response type, or of one of several, as a query: P(U^X = type).

    Parameters
    ----------
    response
        The response variable whose states the types are.
    types
        One of its states, or a list of them.

    Examples
    --------
    >>> from plausible.causal.functional.responses import COMPLIANCE
    >>> from plausible.variables import Variable
    >>> takes = ResponseVariable(Variable("T", 2), [Variable("A", 2)], names=COMPLIANCE)
    >>> print(type_probability(takes, "defier"))
    P(T[A=0]=1, T[A=1]=0)
    """
    places = sorted(state_positions(response.noise, types))
    return sum((_one_type(response, place) for place in places), LinearQuery(()))


def _one_type(response: ResponseVariable, place: int) -> LinearQuery:
    codes = response.types[place]
    shape = [parent.num_states for parent in response.parents]
    event = {}
    for row, code in enumerate(codes.tolist()):
        places = np.unravel_index(row, shape) if shape else ()
        do = {p.name: p.states[int(place)] for p, place in zip(response.parents, places, strict=True)}
        event[Potential(response.variable.name, do)] = response.variable.states[code]
    return probability_of(event)


def _findings(findings: Mapping[Any, Any] | None, do: Mapping[str, Setting] | None) -> tuple[WorldFinding, ...]:
    return tuple(WorldFinding(*finding) for finding in findings_under(findings, settings_of(do)))
