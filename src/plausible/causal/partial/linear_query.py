"""Quantities that are linear in probabilities of events, and what may be assumed beyond the graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from plausible.base import Argument, Call, Flags, Remedy, Result, html_of_print, record
from plausible.causal.counterfactuals.potential import (
    Finding,
    Potential,
    Setting,
    check_comparison,
    findings_under,
    refuse_idle_do,
    state_positions,
)
from plausible.causal.functional.responses import ResponseVariable
from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node
from plausible.variables import State
from plausible.variables.evidence import findings_of, settings_of


class QueryTerm(NamedTuple):
    """coefficient × P(event | given)."""

    coefficient: float
    event: tuple[Finding, ...]
    given: tuple[Finding, ...]

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
class LinearQuery(Result):
    """constant + Σ coefficient × P(event | given); sums, differences and multiples of queries are queries.

    Made by `probability_of` and its kin.

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
    query, shape = LinearQuery(()), tuple(parent.num_states for parent in response.parents)
    for place in sorted(state_positions(response.noise, types)):
        event = {}
        for codes, code in zip(np.ndindex(shape), response.types[place].tolist(), strict=True):
            do = {parent.name: parent.states[i] for parent, i in zip(response.parents, codes, strict=True)}
            event[Potential(response.variable.name, do)] = response.variable.states[code]
        query += probability_of(event)
    return query


def _findings(findings: Mapping[Any, Any] | None, do: Mapping[str, Setting] | None) -> tuple[Finding, ...]:
    return tuple(findings_under(findings, settings_of(do)))


class TypeAssumption(ABC):
    """Response types of one variable that do not occur."""

    __slots__ = ()

    #: The variable whose types they are.
    variable: str
    #: The direct cause that they are about.
    cause: str

    @abstractmethod
    def allows(self, response: ResponseVariable) -> Flags:
        """Whether each type may occur, in order."""


def check_edge(assumption: TypeAssumption, graph: CausalGraph, latent: Sequence[Node] = ()) -> None:
    """Refuse an assumption about an edge that the graph over the observed variables does not have."""
    variable, cause = assumption.variable, assumption.cause
    for name in (variable, cause):
        if name in latent:
            raise InvalidArgument(f"{assumption}: {name!r} is not observed, and assumptions are about what is.")
    remedies = []
    if cause in graph and variable in graph.parents(cause):
        turned = Call(type(assumption).__name__, Argument("variable", cause), Argument("cause", variable))
        remedies.append(Remedy("turn it round, as the edge goes the other way: ", turned))
    _check_cause(variable, cause, graph.parents(variable), remedies)


def _check_cause(variable: str, cause: str, causes: Sequence[Node], remedies: Iterable[Remedy] = ()) -> None:
    """Refuse a cause that is none of a variable's direct ones."""
    if cause not in causes:
        raise InvalidArgument(
            f"{cause!r} is no direct cause of {variable!r} in the graph, so that nothing can be assumed about this "
            f"effect; the direct causes are {list(causes)}.",
            remedies=remedies,
        )


def _steps(response: ResponseVariable, cause: str) -> NDArray[Any]:
    """Types × ...: by how many states the effect moves where the cause moves by one and other causes stay."""
    names = [parent.name for parent in response.parents]
    _check_cause(response.variable.name, cause, names)
    table = response.types.reshape(-1, *(parent.num_states for parent in response.parents))
    return np.diff(table, axis=1 + names.index(cause)).reshape(len(response.types), -1)


@final
@dataclass(frozen=True, slots=True)
class Monotone(TypeAssumption):
    """No unit answers a higher state of a direct cause by a lower state of the effect, or the reverse: no defiers.

    States are ordered as the variables list them; other direct causes are held at any states.

    >>> from plausible.variables import Variable
    >>> takes = ResponseVariable(Variable("T", 2), [Variable("A", 2)])
    >>> [t for t, allowed in zip(takes.noise.states, Monotone("T", "A").allows(takes)) if allowed]
    [(0, 0), (0, 1), (1, 1)]
    """

    variable: str  # The effect, which comes first: `Monotone("T", "A")` says that A never lowers T
    cause: str  # One of its parents
    #: Whether higher states of the cause never raise the effect, instead of never lowering it.
    is_decreasing: bool = False

    def allows(self, response: ResponseVariable) -> Flags:
        """Whether each type may occur, in order."""
        steps = _steps(response, self.cause)
        return np.asarray((steps <= 0 if self.is_decreasing else steps >= 0).all(axis=1))

    def __str__(self) -> str:
        return f"{self.variable} is {'decreasing' if self.is_decreasing else 'increasing'} in {self.cause}"

    _repr_html_ = html_of_print


@final
@dataclass(frozen=True, slots=True)
class NoDirectEffect(TypeAssumption):
    """An edge of the graph carries nothing: the exclusion restriction of an instrument, for one edge.

    >>> from plausible.variables import Variable
    >>> fares = ResponseVariable(Variable("O", 2), [Variable("A", 2), Variable("T", 2)])
    >>> int(NoDirectEffect("O", "A").allows(fares).sum()), len(fares.types)
    (4, 16)
    """

    variable: str  # The effect
    cause: str  # One of its parents, whose state makes no difference while the other parents keep theirs

    def allows(self, response: ResponseVariable) -> Flags:
        """Whether each type may occur, in order."""
        return np.asarray((_steps(response, self.cause) == 0).all(axis=1))

    def __str__(self) -> str:
        return f"no direct effect of {self.cause} on {self.variable}"

    _repr_html_ = html_of_print


@final
@dataclass(frozen=True, slots=True)
class Limit:
    """lower ≤ query ≤ upper, for any query that is linear in the response types: at most 5 % defiers, say.

    >>> from plausible.causal.partial.linear_query import probability_of
    >>> print(Limit(probability_of({"Y": 1}, do={"X": 0}), upper=0.1))
    -inf <= P(Y[X=0]=1) <= 0.1
    """

    query: LinearQuery  # What is limited
    #: Where it must lie.
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidArgument(f"No number lies between {self.lower!r} and {self.upper!r}; swap lower= and upper=.")

    def __str__(self) -> str:
        return f"{self.lower:g} <= {self.query} <= {self.upper:g}"

    _repr_html_ = html_of_print


#: What `bounds` accepts as an assumption.
Assumption: TypeAlias = TypeAssumption | Limit
#: One assumption or several.
AssumptionsLike: TypeAlias = Assumption | Iterable[Assumption]


def read_assumptions(assumptions: AssumptionsLike) -> list[Assumption]:
    """The assumptions as a list, once they are found to be some."""
    if isinstance(assumptions, str) or not isinstance(assumptions, Iterable):
        assumptions = [assumptions]
    listed = list(assumptions)
    for assumption in listed:
        if not isinstance(assumption, (TypeAssumption, Limit)):
            raise InvalidArgument(f"An assumption is Monotone, NoDirectEffect or Limit, not {assumption!r}.")
    return listed
