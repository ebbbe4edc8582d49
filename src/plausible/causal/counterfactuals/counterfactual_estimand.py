"""Estimands of counterfactuals: sums of products of interventional probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product as cartesian
from typing import Protocol, TypeAlias

import numpy as np

from plausible.base.records import record
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.posterior import log_total
from plausible.variables import Evidence, State, Variable


class Experiment(Protocol):
    """What knows all interventional distributions: a network with its latent variables, a functional model."""

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable."""

    def query(self, targets: Iterable[str], *, do: Mapping[str, State] | None = None) -> Factor:
        """P(targets | do)."""


@dataclass(frozen=True, slots=True)
class Free:
    """A state of a variable that is summed over."""

    name: str
    variable: str


#: Name -> a state, or one that is summed over; in pairs.
Values: TypeAlias = "tuple[tuple[str, State | Free], ...]"


@record
class ExperimentTerm:
    """P(outcome | do)."""

    outcome: Values
    do: Values

    @property
    def free(self) -> tuple[Free, ...]:
        """What is summed over, the outcome's first."""
        return tuple(dict.fromkeys(value for _, value in (*self.outcome, *self.do) if isinstance(value, Free)))

    def table(self, source: Experiment) -> Factor:
        """The probabilities as a table over what is summed over: a question for each state of what is set."""
        inside = tuple(dict.fromkeys(value for _, value in self.outcome if isinstance(value, Free)))
        outside = tuple(free for free in self.free if free not in inside)
        scope = [source.variables[free.variable].renamed(free.name) for free in (*outside, *inside)]
        targets = [name for name, _ in self.outcome]
        known = {name: value for name, value in self.outcome if not isinstance(value, Free)}
        tables = []
        for states in cartesian(*(source.variables[free.variable].states for free in outside)):
            chosen = dict(zip(outside, states, strict=True))
            do = {name: chosen[value] if isinstance(value, Free) else value for name, value in self.do}
            tables.append(source.query(targets, do=do).reduce(known).values)
        return Factor(scope, np.array(tables).reshape([variable.num_states for variable in scope]))

    def __str__(self) -> str:
        given = f" | do({_text(self.do)})" if self.do else ""
        return f"P({_text(self.outcome)}{given})"


@record
class SumOfProducts:
    """Σ over `free` of the product of `terms`; no terms make one, and an event that can't happen has `is_zero`."""

    free: tuple[Free, ...] = ()
    terms: tuple[ExperimentTerm, ...] = ()
    is_zero: bool = False

    def evaluate(self, source: Experiment) -> float:
        """The number, from all interventional distributions that it needs."""
        if self.is_zero:
            return 0.0
        tables = [term.table(source) for term in self.terms]
        return math.exp(log_total(tables, Evidence.read({}, {})))

    def __str__(self) -> str:
        if self.is_zero or not self.terms:
            return "0" if self.is_zero else "1"
        sign = f"Σ_{{{', '.join(free.name for free in self.free)}}} " if self.free else ""
        return sign + " ".join(map(str, self.terms))


@record
class CounterfactualEstimand:
    """A counterfactual probability in terms of interventional ones."""

    numerator: SumOfProducts  # P(event, given)
    #: P(given), once conditions that act like interventions have become such; one where nothing is given.
    denominator: SumOfProducts = SumOfProducts()

    @property
    def formula(self) -> str:
        """The estimand in print."""
        return str(self)

    def experiments(self) -> tuple[ExperimentTerm, ...]:
        """The interventional distributions that it needs."""
        return tuple(dict.fromkeys((*self.numerator.terms, *self.denominator.terms)))

    def evaluate(self, source: Experiment) -> float:
        """The number, from a model that knows all interventional distributions: its counterfactuals are not used.

        Parameters
        ----------
        source
            A `FunctionalModel`, or a `BayesianNetwork` with the latent variables in it.
        """
        given = self.denominator.evaluate(source)
        if given == 0:
            raise ImpossibleEvidence(f"What is given has probability zero: {self.denominator} = 0.")
        return self.numerator.evaluate(source) / given

    def __str__(self) -> str:
        if not self.denominator.terms:
            return str(self.numerator)
        return f"{self.numerator} / ({self.denominator})"


def _text(values: Values) -> str:
    return ", ".join(f"{name}={value.name if isinstance(value, Free) else value}" for name, value in values)
