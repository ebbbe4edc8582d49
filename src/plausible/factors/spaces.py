"""Finite probability spaces: outcomes, events, and random variables as functions of the outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from itertools import product as cartesian
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

from plausible.base import WRITTEN_ROUNDING
from plausible.errors import ImpossibleEvidence, InvalidArgument, counted, suggestion
from plausible.factors.factor import Factor
from plausible.variables import Variable

Outcome: TypeAlias = Hashable
#: The outcomes that make it up, or a function that tells whether an outcome belongs to it.
Event: TypeAlias = Collection[Any] | Callable[[Any], bool]
Label = TypeVar("Label", bound=Hashable)


class ProbabilitySpace:
    """A finite set of outcomes and the probability of each.

    Parameters
    ----------
    probabilities
        Outcome -> probability: none negative, with sum one.

    Examples
    --------
    >>> coins = ProbabilitySpace.uniform(["HH", "HT", "TH", "TT"])
    >>> coins.probability(lambda outcome: outcome.count("T") == 1)
    0.5
    >>> coins.random_variable("tails", lambda outcome: outcome.count("T")).to_dict()
    {0: 0.25, 1: 0.5, 2: 0.25}
    """

    __slots__ = ("_probabilities",)

    def __init__(self, probabilities: Mapping[Any, float]) -> None:
        numbers = {outcome: float(number) for outcome, number in probabilities.items()}
        for outcome, number in numbers.items():
            if not 0 <= number <= 1 + WRITTEN_ROUNDING:
                raise InvalidArgument(f"The probability of {outcome!r} is {number}: it must be between 0 and 1.")
        total = math.fsum(numbers.values())
        if abs(total - 1) > WRITTEN_ROUNDING:
            raise InvalidArgument(f"The probabilities of the {len(numbers)} outcomes sum to {total:.10g}, not to one.")
        self._probabilities = numbers

    @classmethod
    def uniform(cls, outcomes: Iterable[Any]) -> ProbabilitySpace:
        """The space in which no outcome is preferred: P(A) = |A| / |Ω|."""
        distinct = dict.fromkeys(outcomes)
        if not distinct:
            raise InvalidArgument("A probability space needs at least one outcome.")
        return cls(dict.fromkeys(distinct, 1 / len(distinct)))

    @classmethod
    def from_factor(cls, distribution: Factor) -> ProbabilitySpace:
        """The assignments to a distribution's variables as outcomes: states, or tuples of states."""
        return cls(distribution.to_dict())

    @property
    def probabilities(self) -> Mapping[Any, float]:
        """Outcome -> probability, in the order given."""
        return MappingProxyType(self._probabilities)

    @property
    def outcomes(self) -> frozenset[Any]:
        """The sure event Ω."""
        return frozenset(self._probabilities)

    def __len__(self) -> int:
        return len(self._probabilities)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._probabilities)

    def event(self, event: Event) -> frozenset[Any]:
        """An event as a set of outcomes, to be combined by `&`, `|` and `-`."""
        if callable(event):
            return frozenset(outcome for outcome in self._probabilities if event(outcome))
        if isinstance(event, (str, bytes)):
            raise InvalidArgument(f"An event is a set of outcomes or a function, not the text {event!r}.")
        unknown = [outcome for outcome in event if outcome not in self._probabilities]
        if unknown:
            hint = suggestion(unknown[0], self._probabilities)
            raise InvalidArgument(f"{unknown[0]!r} is not an outcome of this space.{hint}")
        return frozenset(event)

    def complement(self, event: Event) -> frozenset[Any]:
        """The outcomes outside an event; its probability is 1 - P(A)."""
        return self.outcomes - self.event(event)

    def probability(self, event: Event, given: Event | None = None) -> float:
        """P(A), or P(A | B) = P(A ∩ B) / P(B), which is refused where P(B) = 0."""
        if given is not None:
            return self.condition(given).probability(self.event(event))
        members = self.event(event)
        return math.fsum(p for outcome, p in self._probabilities.items() if outcome in members)

    def condition(self, event: Event) -> ProbabilitySpace:
        """The space P(· | B) over the same outcomes, those outside B now having probability zero."""
        members = self.event(event)
        total = self.probability(members)
        if total == 0:
            raise ImpossibleEvidence("The event to condition on has probability zero: P(A | B) is undefined.")
        numbers = {o: p / total if o in members else 0.0 for o, p in self._probabilities.items()}
        return ProbabilitySpace(numbers)

    def is_independent(self, a: Event, b: Event, given: Event | None = None, tolerance: float = 1e-12) -> bool:
        """Whether P(A ∩ B) = P(A) P(B), in the space conditioned on `given` where there is one."""
        space = self if given is None else self.condition(given)
        left, right = self.event(a), self.event(b)
        return abs(space.probability(left & right) - space.probability(left) * space.probability(right)) <= tolerance

    def is_partition(self, events: Iterable[Event]) -> bool:
        """Whether exactly one of the events happens, whatever the outcome."""
        sets = [self.event(event) for event in events]
        return sum(map(len, sets)) == len(self) and frozenset().union(*sets) == self.outcomes

    def bayes(self, partition: Mapping[Label, Event], evidence: Event) -> dict[Label, float]:
        """P(A_i | B) of each event of a partition, by Bayes' theorem."""
        events = {label: self.event(event) for label, event in partition.items()}
        if not self.is_partition(events.values()):
            raise InvalidArgument(
                f"The events {list(events)} are no partition: each outcome must lie in exactly one of them."
            )
        prior = {label: self.probability(event) for label, event in events.items()}
        seen = self.event(evidence)
        likelihood = {
            label: self.probability(seen, given=event) if prior[label] else 0.0 for label, event in events.items()
        }
        return bayes_rule(prior, likelihood)

    def random_variable(self, name: str, function: Callable[[Any], Hashable]) -> Factor:
        """The distribution P(X = x) of a function of the outcome; its states are its values, sorted if they can be."""
        return self.joint({name: function})

    def joint(self, functions: Mapping[str, Callable[[Any], Hashable]]) -> Factor:
        """The joint distribution of several functions of the outcome.

        >>> dice = ProbabilitySpace.uniform((i, j) for i in (1, 2) for j in (1, 2))
        >>> dice.joint({"sum": sum, "least": min}).values
        array([[0.25, 0.  ],
               [0.5 , 0.  ],
               [0.  , 0.25]])
        """
        rows = {outcome: tuple(f(outcome) for f in functions.values()) for outcome in self._probabilities}
        states = {name: _sorted({row[i]: None for row in rows.values()}) for i, name in enumerate(functions)}
        totals = dict.fromkeys(cartesian(*states.values()), 0.0)
        for outcome, probability in self._probabilities.items():
            totals[rows[outcome]] += probability
        scope = [Variable(name, values) for name, values in states.items()]
        return Factor.from_flat(scope, list(totals.values()))

    def interval_probability(
        self,
        function: Callable[[Any], float],
        low: float = -math.inf,
        high: float = math.inf,
        closed: Literal["neither", "left", "right", "both"] = "neither",
    ) -> float:
        """P(low < X < high) of a number that depends on the outcome; `closed` says which ends belong to it."""
        if closed not in ("neither", "left", "right", "both"):
            raise InvalidArgument(f"closed is 'neither', 'left', 'right' or 'both', not {closed!r}.")
        ends = {value for value, side in ((low, "left"), (high, "right")) if closed in (side, "both")}
        return self.probability(lambda outcome: low < (x := function(outcome)) < high or x in ends)

    def expectation(self, function: Callable[[Any], float], given: Event | None = None) -> float:
        """E[X] = Σ X(ω) P(ω), conditional on `given` where there is one.

        >>> ProbabilitySpace.uniform(range(1, 7)).expectation(lambda pips: 2 * pips + 1)
        8.0
        """
        space = self if given is None else self.condition(given)
        return math.fsum(function(outcome) * p for outcome, p in space._probabilities.items() if p)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProbabilitySpace):
            return NotImplemented
        return self._probabilities == other._probabilities

    def __hash__(self) -> int:
        return hash(frozenset(self._probabilities.items()))

    def __repr__(self) -> str:
        return f"ProbabilitySpace({counted(len(self), 'outcome')})"


def total_probability(prior: Mapping[Label, float], likelihood: Mapping[Label, float]) -> float:
    """P(B) = Σ_i P(A_i) P(B | A_i) over a partition A.

    >>> round(total_probability({"sick": 0.01, "well": 0.99}, {"sick": 0.9, "well": 0.1}), 6)
    0.108
    """
    missing = [label for label in prior if label not in likelihood]
    if missing or not prior:
        raise InvalidArgument(f"There is no likelihood for {missing[0]!r}." if missing else "The prior is empty.")
    for what, numbers in (("prior", prior), ("likelihood", likelihood)):
        for label in prior:
            if not 0 <= numbers[label] < math.inf:
                raise InvalidArgument(
                    f"The {what} of {label!r} is {numbers[label]}: it can't be negative, infinite or nan."
                )
    total = math.fsum(prior.values())
    if abs(total - 1) > WRITTEN_ROUNDING:
        raise InvalidArgument(f"The prior sums to {total:.10g}, not to one.")
    return math.fsum(prior[label] * likelihood[label] for label in prior)


def bayes_rule(prior: Mapping[Label, float], likelihood: Mapping[Label, float]) -> dict[Label, float]:
    """The posterior P(A_i | B) = P(B | A_i) P(A_i) / P(B) over events, hypotheses or parameters.

    The likelihoods may be densities, or probabilities up to a common factor.

    >>> bayes_rule({"sick": 0.01, "well": 0.99}, {"sick": 0.9, "well": 0.1})["sick"]
    0.08333333333333333
    """
    total = total_probability(prior, likelihood)
    if total == 0:
        raise ImpossibleEvidence("No hypothesis allows what was observed: the posterior is undefined.")
    return {label: prior[label] * likelihood[label] / total for label in prior}


def _sorted(values: Mapping[Any, None]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return list(values)
