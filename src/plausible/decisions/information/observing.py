"""Diagrams in which decisions see more, or less; one decision and what could be seen before it, on arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base import Argument, Floats, check_number
from plausible.cpds import CPD
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import impossible, read_findings, read_problem
from plausible.decisions.structure.relevance import temporal_order
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors.alignment import MAX_ENTRIES
from plausible.graphs import DAG
from plausible.variables import Variable
from plausible.variables.evidence import EvidenceLike


def observing(diagram: DiagramT, variables: Iterable[str], decision: str) -> DiagramT:
    """The diagram in which a decision and all later ones also see some variables (Koller & Friedman 2009, 23.11)."""
    names = read_variables(diagram, variables)
    diagram.decision(decision)
    for name in names:
        if name == decision or name in diagram.graph.descendants(decision):
            path = " -> ".join(map(str, next(diagram.graph.paths(decision, name)))) if name != decision else ""
            why = f"it comes after it, by {path}" if path else "it is the decision itself"
            raise InvalidArgument(
                f"{name!r} can't be seen at {decision!r}: {why}. Name a later decision, or a variable that the "
                "decision does not influence."
            )

    def extended(sees: tuple[str, ...]) -> tuple[str, ...]:
        return (*sees, *(name for name in names if name not in sees))

    informed = diagram.with_information({decision: extended(diagram.decisions[decision].sees)})
    order = temporal_order(informed)
    later = {name: extended(informed.decisions[name].sees) for name in order[order.index(decision) + 1 :]}
    return informed.with_information(later) if later else informed


def observable(diagram: Diagram, decision: str) -> tuple[str, ...]:
    """The chance variables that a decision could see and does not, in the order of the diagram."""
    hidden = diagram.graph.descendants(decision) | set(diagram.decisions[decision].sees)
    return tuple(name for name in diagram.chance if name not in hidden)


def read_decision(diagram: Diagram, decision: object) -> str:
    """The decision meant; where there is but one, it need not be named."""
    if isinstance(decision, str):
        return diagram.decision(decision).name
    if decision is not None:
        problem = f" is the name of one decision, not {decision!r}. Variables to choose from are given as "
        raise InvalidArgument(Argument("decision"), problem, Argument("candidates"), ".")
    if len(diagram.decisions) != 1:
        known = f"one of {list(diagram.decisions)}" if diagram.decisions else "but this diagram has none"
        raise InvalidArgument("Say with ", Argument("decision"), f" which decision is meant: {known}.")
    return next(iter(diagram.decisions))


def read_candidates(
    diagram: Diagram,
    decision: str | None,
    candidates: Iterable[str] | None,
    costs: float | Mapping[str, float] | None,
) -> tuple[str, dict[str, float]]:
    """The decision meant, and what it costs to see the variables named, or all that it could see and does not."""
    named = None if candidates is None else read_variables(diagram, candidates)
    first = read_decision(diagram, decision)
    names = observable(diagram, first) if named is None else named
    prices = read_costs(costs, names)
    if named is not None:
        observing(diagram, names, first)  # refuses what comes after the decision
    return first, prices


def read_chance(diagram: Diagram, variable: str) -> CPD:
    if variable in diagram.chance:
        return diagram.chance[variable]
    if variable in diagram.graph:
        kind = "a decision" if variable in diagram.decisions else "a utility"
        raise UnknownVariable(
            f"{variable!r} is {kind} of this diagram, no chance variable: {list(diagram.chance)} are."
        )
    raise UnknownVariable.named(variable, diagram.chance, "this diagram")


def read_variables(diagram: Diagram, variables: str | Iterable[str]) -> tuple[str, ...]:
    """Names of variables of the diagram, each once."""
    if not isinstance(variables, Iterable):
        raise InvalidArgument(f"Name one variable or several, not {variables!r}.")
    names = (variables,) if isinstance(variables, str) else tuple(dict.fromkeys(variables))
    for name in names:
        if name in diagram.utilities:
            raise UnknownVariable(f"{name!r} is a utility of this diagram, and nothing that can be observed.")
        UnknownVariable.check(name, diagram.variables, "this diagram")
    return names


def read_costs(costs: float | Mapping[str, float] | None, variables: Iterable[str]) -> dict[str, float]:
    """Variable -> what it costs to see it; one number stands for all, what is not named is free."""
    names = tuple(variables)
    if not isinstance(costs, Mapping):
        check_number("costs", 0.0 if costs is None else costs, least=0)
        return dict.fromkeys(names, float(costs or 0.0))
    for name, cost in costs.items():
        UnknownVariable.check(name, names, "what could be observed")
        check_number(f"costs[{name!r}]", cost, least=0)
    return {name: float(costs.get(name, 0.0)) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class SeenTable:
    """What the only decision of a diagram sees, what else it could see, and what its actions bring then."""

    seen: tuple[Variable, ...]  # what the decision sees anyway, and what it could see
    candidates: tuple[Variable, ...]
    decision: Variable  # the decision
    probability: Floats  # P(seen, candidates), with these axes
    weighted: Floats  # P(seen, candidates) E[U | seen, candidates, action], with the action as last axis

    def expected_utility(self, observed: Collection[int] | None = None) -> float:
        """The most that can be had where some candidates are seen, by place; by default all."""
        places = range(len(self.candidates))
        gone = tuple(len(self.seen) + place for place in places if observed is not None and place not in observed)
        return float(self.weighted.sum(axis=gone).max(axis=-1).sum())


def seen_tables(
    diagram: Diagram,
    decision: str,
    sets: Sequence[Sequence[str]],
    evidence: EvidenceLike | None = None,
    max_entries: int = MAX_ENTRIES,
) -> list[SeenTable]:
    """The tables of several sets of candidates, all from one clique tree.

    Each set lies in one clique together with what the decision sees, so that two messages along each edge are all that
    is to be computed (Dittmer & Jensen 1997; Koller & Friedman 2009, exercise 23.14).
    """
    findings = read_findings(diagram, evidence)
    sees = diagram.decisions[decision].sees
    asked = {*diagram.utilities, *findings, *sees, decision, *(name for names in sets for name in names)}
    relevant = asked.union(map(str, diagram.graph.ancestors(asked)))
    problem = read_problem(diagram, findings, {decision: sees}, relevant)
    number = {variable.name: place for place, variable in enumerate(problem.variables)}
    scopes = [tuple(number[name] for name in (*sees, *names, decision)) for names in sets]
    tree = JointTree(problem, {}, scopes, max_entries)
    seen, own = tuple(diagram.variables[name] for name in sees), diagram.variables[decision]
    tables = []
    for names, scope, clique in zip(sets, scopes, tree.together, strict=True):
        phi, weighted = tree.open_table(clique, scope, ())
        total = phi[..., 0].sum()
        if total <= 0:
            raise impossible(diagram, evidence)
        candidates = tuple(diagram.variables[name] for name in names)
        tables.append(SeenTable(seen, candidates, own, phi[..., 0] / total, np.asarray(weighted / total)))
    return tables


def informative(diagram: Diagram, decision: str, evidence: EvidenceLike | None = None) -> frozenset[str]:
    """The variables that may say something about the utilities which the only decision can change, by the graph."""
    utilities = diagram.graph.descendants(decision) & set(diagram.utilities)
    if not utilities:
        return frozenset()
    findings = [(name, ("finding", name)) for name in read_findings(diagram, evidence)]
    graph = DAG([*diagram.graph.edges, *findings], nodes=diagram.graph.nodes)
    observed = [decision, *diagram.decisions[decision].sees, *(finding for _, finding in findings)]
    return frozenset(map(str, graph.d_connected(list(utilities), given=observed)))
