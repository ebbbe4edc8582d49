"""Repairs: what will work once a component is replaced and all else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plausible.causal.counterfactuals.potential import joint_evidence
from plausible.causal.counterfactuals.query import Findings, counterfactual
from plausible.causal.functional.model import Coupling, FunctionalModel, functional_model
from plausible.cpds import NoisyOr
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.variables import State
from plausible.variables.evidence import findings_of


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair brings about."""

    components: Mapping[str, State]  # What is repaired: name -> the state that it is put into
    probability_fixed: float  # The probability that the system works afterwards
    #: The posterior of each other component, which the repair does not change unless it depends on what is repaired.
    faults: Mapping[str, Factor]
    #: The same, once the system is seen still not to work; empty where that can't happen.
    faults_if_failed: Mapping[str, Factor]


def repair(
    model: FunctionalModel | BayesianNetwork,
    components: Mapping[str, State],
    *,
    works: Mapping[str, State],
    evidence: Findings | None = None,
    faults: str | Iterable[str] = (),
    coupling: Coupling | None = None,
) -> Repair:
    """P(works' | evidence, do(component' := ok)): does the repair fix it?

    The evidence was seen before the repair, and what is not downstream of the repair persists: a twin network. A plain
    intervention query would claim that the evidence was seen after it. See Breese & Heckerman (1996),
    Decision-theoretic troubleshooting: a framework for repair and experiment. Koller & Friedman (2009), box 21.C.

    Parameters
    ----------
    model
        A functional model; a Bayesian network stands for `functional_model(network, coupling)`.
    components
        What is repaired: name -> the state that it is put into.
    works
        The system works: one name -> state.
    evidence
        What was seen before, such as that it does not work.
    faults
        Other components whose condition afterwards is of interest.
    coupling
        Which functional model a network stands for: "independent" where left out, or "comonotone", which large
        families need.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> car = BayesianNetwork(
    ...     TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     NoisyOr("stalls", ["battery", "starter"], [0.9, 0.8]),
    ... )
    >>> new_battery = repair(car, {"battery": "ok"}, works={"stalls": False}, evidence={"stalls": True},
    ...                      faults="starter")
    >>> round(new_battery.probability_fixed, 6)
    0.683544
    >>> new_battery.faults_if_failed["starter"].values
    array([0., 1.])
    """
    functional = _functional(model, coupling)
    if not isinstance(works, Mapping) or len(works) != 1:
        raise InvalidArgument(f"works= is one variable and its state, such as {{'light': 'on'}}; not {works!r}.")
    ((name, state),) = works.items()
    UnknownVariable.check(name, functional.variables, "this model")
    variable = functional.variables[name]
    working = variable.index(state)
    answer = counterfactual(functional, name, evidence=evidence, do=components)
    others = [faults] if isinstance(faults, str) else list(faults)
    broken = tuple(s for s in variable.states if s != variable.states[working])

    def posteriors(after: Mapping[str, Any]) -> dict[str, Factor]:
        given: dict[str, Any] = {"evidence": evidence, "do": components, "counterfactual_evidence": after}
        return {other: counterfactual(functional, other, **given) for other in others}

    fails = others and broken and answer.values[working] < 1.0
    return Repair(
        dict(components), float(answer.values[working]), posteriors({}), posteriors({name: broken}) if fails else {}
    )


def rank_repairs(
    model: FunctionalModel | BayesianNetwork,
    components: Mapping[str, State],
    *,
    works: Mapping[str, State],
    evidence: Findings | None = None,
    costs: Mapping[str, float] | None = None,
    coupling: Coupling | None = None,
) -> list[Repair]:
    """Repairs of one component each, by falling probability of success per cost.

    With a single fault this is the order of least expected cost (Heckerman, Breese & Rommelse 1995).

    Parameters
    ----------
    model, works, evidence, coupling
        As in `repair`.
    components
        Name -> the state that its repair puts it into.
    costs
        Name -> positive cost; all equal where left out.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> car = BayesianNetwork(
    ...     TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     NoisyOr("stalls", ["battery", "starter"], [0.9, 0.8]),
    ... )
    >>> ranked = rank_repairs(car, {"battery": "ok", "starter": "ok"}, works={"stalls": False},
    ...                       evidence={"stalls": True}, costs={"battery": 100, "starter": 30})
    >>> [(*one.components, round(one.probability_fixed, 3)) for one in ranked]
    [('starter', 0.288), ('battery', 0.684)]
    """
    UnknownVariable.check_all(costs or (), components, "components=, but costs= has it")
    paid = {name: 1.0 if costs is None else costs.get(name, 0.0) for name in components}
    for name, cost in paid.items():
        if not cost > 0:
            raise InvalidArgument(f"The repair of {name!r} needs a positive cost.")
    functional = _functional(model, coupling)
    repairs = [repair(functional, {name: state}, works=works, evidence=evidence) for name, state in components.items()]
    return sorted(repairs, key=lambda one: -one.probability_fixed / paid[next(iter(one.components))])


def single_fault_repairs(network: BayesianNetwork, effect: str, evidence: Findings | None = None) -> dict[str, float]:
    """For each cause of a noisy-or the probability that removing it removes the effect, if it has exactly one cause.

    P(x' = off | x = on, do(x_i' := off), e) = P(z_i = on | x = on, e), where z_i is the noisy copy of cause i: one
    ordinary query a cause, no twin network. Wrong where two causes may be active at once: see `repair`, which is not.
    See Koller & Friedman (2009), exercise 21.6.

    Parameters
    ----------
    effect
        A noisy-or without a leak, taken to be on.

    Examples
    --------
    >>> from plausible.cpds import DeterministicCPD, TableCPD
    >>> net = BayesianNetwork(
    ...     TableCPD("fault", [0.7, 0.3], states=["fuse", "bulb"]),
    ...     DeterministicCPD("fuse", lambda fault: fault == "fuse", ["fault"], states=[False, True]),
    ...     DeterministicCPD("bulb", lambda fault: fault == "bulb", ["fault"], states=[False, True]),
    ...     NoisyOr("dark", ["fuse", "bulb"], [0.5, 1.0]),
    ... )
    >>> {name: round(chance, 6) for name, chance in single_fault_repairs(net, "dark").items()}
    {'fuse': 0.538462, 'bulb': 0.461538}
    """
    cpd = network.cpd(effect)
    if not isinstance(cpd, NoisyOr) or cpd.leak:
        raise InvalidModel(f"The short way needs a NoisyOr without a leak, but {effect!r} has {cpd!r}; see repair().")
    on = cpd.variable.states[1]
    # What is asked is no counterfactual, and so every coupling gives the same; this one is the smallest.
    functional = functional_model(network.subnetwork([effect, *findings_of(evidence)]), "comonotone")
    copies = functional.parents(effect)
    known = {term.variable: value for term, value in joint_evidence(evidence, {effect: on}, network.variables).items()}
    chances = (float(functional.query(copy, known).values[1]) for copy in copies)
    return dict(zip(cpd.parent_names, chances, strict=True))


def _functional(model: FunctionalModel | BayesianNetwork, coupling: Coupling | None) -> FunctionalModel:
    if not isinstance(model, FunctionalModel):
        return functional_model(model, coupling or "independent")
    if coupling is not None:
        raise InvalidArgument(
            f"coupling={coupling!r} makes functions of a network; a FunctionalModel has its own: leave it out."
        )
    return model
