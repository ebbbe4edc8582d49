"""Potential outcomes, and estimands that are sums of products of experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product as cartesian
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from plausible.base import Floats, Result, html_of_print, record
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidEvidence, UnknownVariable
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node
from plausible.inference.posterior import log_total
from plausible.variables import Evidence, Jeffrey, State, Variable, likelihood
from plausible.variables.evidence import Likelihood, findings_of, settings_of

#: What an intervention sets a variable to: a state, or what the variable would be in another world.
Setting: TypeAlias = "State | Potential"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Potential:
    """Y_x: what Y would be, had x been done; without an intervention, what Y is.

    Parameters
    ----------
    do
        Name -> a state; or, for nested counterfactuals, the `Potential` of the same variable in another world.

    Examples
    --------
    >>> print(Potential("Y", {"X": 1}))
    Y[X=1]
    >>> print(Potential("Y", {"X": 1, "M": Potential("M", {"X": 0})}))
    Y[M=M[X=0], X=1]
    """

    variable: str
    #: What is set, by name.
    settings: tuple[tuple[str, Setting], ...]

    def __init__(self, variable: str, do: Mapping[str, Setting] | None = None) -> None:
        settings = settings_of(do)
        if not isinstance(variable, str) or not isinstance(settings, Mapping):
            raise InvalidArgument(f"A potential response is Potential('Y', {{'X': 1}}), not of {variable!r}, {do!r}.")
        for name, value in settings.items():
            if not isinstance(value, Hashable):
                raise InvalidArgument(f"{name!r} is set to {value!r}: an intervention sets it to one state.")
            if isinstance(value, Potential) and value.variable != name:
                raise InvalidArgument(
                    f"{name!r} is set to {value}: it can be set to what {name!r} itself would be in another world only."
                )
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "settings", tuple(sorted(settings.items(), key=lambda pair: pair[0])))

    @property
    def do(self) -> dict[str, Setting]:
        """The intervention as a mapping."""
        return dict(self.settings)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.settings)
        return f"{self.variable}[{inside}]" if inside else self.variable

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"Potential({self.variable!r}, {self.do!r})" if self.settings else f"Potential({self.variable!r})"


def check_comparison(treatment: Mapping[str, Any], control: Mapping[str, Any]) -> None:
    """Refuse a treatment and a control that don't set the same variables."""
    both = (treatment, control)
    if not all(isinstance(side, Mapping) for side in both) or not treatment or set(treatment) != set(control):
        raise InvalidArgument(
            f"Treatment and control set the same variables, such as {{'X': 1}} and {{'X': 0}}; "
            f"not {treatment!r} and {control!r}."
        )


class Finding(NamedTuple):
    """What is known about a variable in one world: its state, or several."""

    term: Potential
    value: Any

    def __str__(self) -> str:
        return f"{self.term}={self.value}"

    def _repr_html_(self) -> str:
        return html_of_print(self)


def findings_under(evidence: Mapping[Any, Any] | None, do: Mapping[str, Setting]) -> list[Finding]:
    """Findings by name, which are about the world of `do`, or by `Potential`, which says its own."""
    pairs: Iterable[tuple[Any, Any]] = findings_of(evidence).items()
    return [Finding(name if isinstance(name, Potential) else Potential(name, do), value) for name, value in pairs]


def refuse_idle_do(do: Mapping[str, Setting], keys: Iterable[Any], argument: str = "do") -> None:
    """Refuse interventions on a world that no key is about."""
    listed = list(keys)
    if do and listed and all(isinstance(key, Potential) for key in listed):
        raise InvalidArgument(
            f"{argument}={dict(do)} touches nothing: {', '.join(map(str, listed))} "
            f"{'is a Potential' if len(listed) == 1 else 'are Potentials'}, and a Potential names its whole world. "
            f"Write what is set into it, as in {Potential(listed[0].variable, do)!r}, or leave {argument}= out."
        )


def joint_evidence(
    evidence: Mapping[Any, Any] | None, more: Mapping[str, Any], variables: Mapping[str, Variable]
) -> dict[Potential, Any]:
    """What is known about the real world, together with more about it: where both speak of a variable, both hold."""
    found: dict[Potential, Finding] = {}
    for finding in (*findings_under(evidence, {}), *findings_under(more, {})):
        term = finding.term
        if term in found:
            UnknownVariable.check(term.variable, variables, "this functional model")
            finding = Finding(term, _both(variables[term.variable], found[term].value, finding, found[term]))
        found[term] = finding
    return {term: finding.value for term, finding in found.items()}


def state_positions(variable: Variable, value: Any) -> set[int]:
    """The positions of a state or of several: of an event, which weights are not."""
    if isinstance(value, (Likelihood, Jeffrey)):
        raise InvalidEvidence(
            f"{variable.name!r} is said to be {value!r}; here events are states, or lists of them. Add the uncertain "
            f"observation to the model as a child of {variable.name!r}, and give its state."
        )
    found = Evidence.read({variable.name: value}, {variable.name: variable})
    if variable.name in found.hard:
        return {found.hard[variable.name]}
    return set(np.flatnonzero(found.soft[variable.name]).tolist())


def as_evidence(
    findings: Iterable[Finding], nodes: Mapping[Potential, str], variables: Mapping[str, Variable]
) -> dict[str, Any]:
    """Node -> finding; findings about variables that are one node, as they can't differ, are taken together."""
    evidence: dict[str, Any] = {}
    origin: dict[str, Finding] = {}
    for finding in findings:
        node = nodes[finding.term]
        if node in evidence:
            evidence[node] = _both(variables[node], evidence[node], finding, origin[node])
        else:
            evidence[node], origin[node] = finding.value, finding
    return evidence


def _both(variable: Variable, earlier: Any, finding: Finding, origin: Finding) -> Any:
    """Two findings about one variable as one."""
    if isinstance(finding.value, Jeffrey) or isinstance(earlier, Jeffrey):
        raise InvalidEvidence(
            f"{origin.term}={origin.value!r} and {finding.term}={finding.value!r} are about one variable, which "
            "jeffrey(...) speaks of alone; leave one of them out."
        )
    weights = _weights(variable, earlier) * _weights(variable, finding.value)
    if not weights.any():
        why = f": the interventions can't make {finding.term.variable!r} differ between these worlds"
        if origin.term == finding.term:
            why = ", which the question takes to be so"
        raise ImpossibleEvidence(f"{origin.term}={origin.value!r} contradicts {finding.term}={finding.value!r}{why}.")
    if np.count_nonzero(weights) == 1:
        return variable.states[int(np.flatnonzero(weights)[0])]
    return likelihood(weights.tolist())


def _weights(variable: Variable, value: Any) -> Floats:
    """A weight for each state."""
    found = Evidence.read({variable.name: value}, {variable.name: variable})
    if variable.name in found.soft:
        return found.soft[variable.name]
    weights = np.zeros(variable.num_states)
    weights[found.hard[variable.name]] = 1.0
    return weights


class CopyValue(NamedTuple):
    """What a variable of some world is: the state of a copy, or a constant (copy -1)."""

    copy: int
    code: int


class Copy(NamedTuple):
    """A variable with the parents that it has in some world. Copies with the same parents are one."""

    variable: str
    causes: tuple[CopyValue, ...]


class Copies:
    """The copies that potential responses depend on, causes first; `value` adds those of one more."""

    def __init__(self, graph: CausalGraph, variable: Callable[[Node], Variable]) -> None:
        self._graph, self._variable, self._order = graph, variable, graph.topological_order
        self._known: dict[Copy, CopyValue] = {}

    @property
    def listed(self) -> tuple[Copy, ...]:
        """All copies so far; `CopyValue.copy` is a position among them."""
        return tuple(self._known)

    def value(self, term: Potential) -> CopyValue:
        """The value of a potential response; its ancestors' copies are made first."""
        for name in (*term.do, term.variable):
            if name not in self._graph:
                raise UnknownVariable.named(name, self._graph.nodes, "this graph")
        if term.variable in term.do:
            return self._setting(term.variable, term.do[term.variable])
        # The variables that this one depends on, through none that is set.
        reached: set[Node] = {term.variable}
        waiting: list[Node] = [term.variable]
        while waiting:
            new = [p for p in self._graph.parents(waiting.pop()) if p not in reached]
            reached.update(new)
            waiting += [parent for parent in new if parent not in term.do]
        values: dict[Node, CopyValue] = {}
        for node in (node for node in self._order if node in reached):
            if node in term.do:
                values[node] = self._setting(node, term.do[str(node)])
            else:
                copy = Copy(str(node), tuple(values[parent] for parent in self._graph.parents(node)))
                values[node] = self._known.setdefault(copy, CopyValue(len(self._known), 0))
        return values[term.variable]

    def _setting(self, node: Node, setting: Setting) -> CopyValue:
        if isinstance(setting, Potential):
            return self.value(setting)
        return CopyValue(-1, self._variable(node).index(setting))


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
class ExperimentTerm(Result):
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
class SumOfProducts(Result):
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
class CounterfactualEstimand(Result):
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
