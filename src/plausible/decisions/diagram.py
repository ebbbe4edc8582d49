"""Influence diagrams as values: chance, decisions and utilities in one directed acyclic graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Self, TypeVar

import numpy as np

from plausible.base import DIAGRAM_HINTS, Frozen, Hinted
from plausible.cpds import CPD, TableCPD
from plausible.decisions.parts import (
    Decision,
    check_kind,
    collected,
    listed,
    named,
    warn_of_twins,
)
from plausible.decisions.strategy import MAX_RULE, RuleLike, Strategy, read_rule
from plausible.errors import (
    CyclicGraph,
    InvalidArgument,
    InvalidModel,
    UnknownVariable,
    counted,
    suggestion,
)
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.graphs import DAG
from plausible.models import BayesianNetwork, Notes
from plausible.utilities.local import Utility
from plausible.variables import Variable

#: The kind of a diagram that comes back as it was given: `InfluenceDiagram` for users.
DiagramT = TypeVar("DiagramT", bound="Diagram")


class Diagram(Frozen, Hinted):
    """What is in an influence diagram and how it is edited: all that solvers need to know of it.

    `InfluenceDiagram` is this with the questions that users ask.
    """

    __slots__ = ("_chance", "_decisions", "_graph", "_utilities", "_utility_factors", "_variables", "notes")

    _hints = DIAGRAM_HINTS

    def __init__(
        self,
        chance: Iterable[CPD] = (),
        decisions: Iterable[Decision] = (),
        utilities: Iterable[Utility] = (),
        notes: Notes | None = None,
    ) -> None:
        listed_chance = listed(chance, CPD, "chance=")
        listed_decisions = listed(decisions, Decision, "decisions=")
        self._variables = collected(listed_chance, listed_decisions)
        self._utilities = named(listed(utilities, Utility, "utilities="), self._variables)
        edges = list[tuple[str, str, str]]()  # from where, to where, and what to say where there is nothing
        for cpd in listed_chance:
            name = cpd.variable.name
            edges += [(parent, name, f"{name!r} depends on it") for parent in cpd.parent_names]
        for made in listed_decisions:
            edges += [(seen, made.name, f"the decision {made.name!r} sees it") for seen in made.sees]
        for name, utility in self._utilities.items():
            edges += [(parent, name, f"the utility {name!r} depends on it") for parent in utility.parent_names]
        for parent, _, claim in edges:
            if parent in self._utilities:
                raise InvalidModel(
                    f"{parent!r} is a utility, but {claim}. Utilities add up by themselves: leave it out."
                )
            if parent not in self._variables:
                place = f"this diagram, but {claim}: add its CPD to chance=, or a Decision"
                raise UnknownVariable.named(parent, self._variables, place)
        self._chance = {cpd.variable.name: cpd.bind(self._variables) for cpd in listed_chance}
        self._decisions = {decision.name: decision for decision in listed_decisions}
        self._utility_factors = {name: utility.factor(self._variables) for name, utility in self._utilities.items()}
        self.notes = notes or Notes()
        try:
            nodes = (*self._variables, *self._utilities)
            self._graph = DAG([(parent, child) for parent, child, _ in edges], nodes=nodes)
        except CyclicGraph as problem:
            for seen, node in zip(problem.cycle, (*problem.cycle[1:], problem.cycle[0]), strict=True):
                if node in self._decisions:
                    claim = f"The decision {node!r} can't see {seen!r}, which depends on it: change sees=."
                    raise CyclicGraph(problem.cycle, claim) from None
            raise

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: chance in the order given, then decisions."""
        return MappingProxyType(self._variables)

    @property
    def chance(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution of each chance variable."""
        return MappingProxyType(self._chance)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Name -> decision, in the order given."""
        return MappingProxyType(self._decisions)

    @property
    def utilities(self) -> Mapping[str, Utility]:
        """Name -> utility, in the order given."""
        return MappingProxyType(self._utilities)

    @property
    def utility_factors(self) -> Mapping[str, Factor]:
        """Name -> the values of a utility, as a factor over its parents."""
        return MappingProxyType(self._utility_factors)

    @property
    def graph(self) -> DAG:
        """The graph of all nodes; the edges into a decision come from what it sees."""
        return self._graph

    def information(self, decision: str) -> tuple[Variable, ...]:
        """The variables that a decision sees, in its order.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> diagram.information("umbrella")
        (Variable('rain', [0, 1]),)
        """
        return tuple(self._variables[name] for name in self.decision(decision).sees)

    def decision(self, name: str) -> Decision:
        """Get a decision by name."""
        if name not in self._decisions:
            kind = "a chance variable, " if name in self._chance else "a utility, " if name in self._utilities else ""
            raise UnknownVariable(
                f"{name!r} is {kind}not a decision of this diagram.{suggestion(name, self._decisions)}"
            )
        return self._decisions[name]

    def strategy(self, rules: Mapping[str, RuleLike]) -> Strategy:
        """Make a strategy from simple rules: actions, mappings, functions or tables.

        The rule of a decision is an action to take in any case; a mapping from the states it sees to actions; a
        function of these states; or a table of probabilities as a `Factor` or `TableCPD`.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> diagram.strategy({"umbrella": {0: 0, 1: 1}})["umbrella"].values
        array([[1., 0.],
               [0., 1.]])
        """
        if not isinstance(rules, Mapping):
            raise InvalidArgument(f"The rules are a mapping, decision -> rule, not {rules!r}.")
        for name in rules:
            self.decision(name)
        if missing := [name for name in self._decisions if name not in rules]:
            raise InvalidArgument(f"The strategy has no rule for {missing}; give one for each decision.")
        return Strategy(
            {name: read_rule(rules[name], self.information(name), self._variables[name]) for name in self._decisions}
        )

    def uniform_strategy(self) -> Strategy:
        """The strategy that takes every action with the same probability.

        Rules of more than 4096 entries are over the decision alone.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> diagram.uniform_strategy()["umbrella"].values
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        rules = {}
        for name in self._decisions:
            scope = (*self.information(name), self._variables[name])
            scope = scope if num_entries(scope) <= MAX_RULE else scope[-1:]
            rules[name] = Factor(
                scope, np.full([variable.num_states for variable in scope], 1.0 / scope[-1].num_states)
            )
        return Strategy(rules)

    def network(self, strategy: Strategy | None = None) -> BayesianNetwork:
        """Return the Bayesian network of this diagram under a strategy; without one, decisions are inputs.

        The strategy may have rules for some decisions only; the others stay inputs.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> diagram.network(diagram.strategy({"umbrella": {0: 0, 1: 1}})).query("umbrella").values
        array([0.7, 0.3])
        """
        cpds = self._followed({} if strategy is None else strategy)
        inputs = [self._variables[name] for name in self._decisions if name not in cpds]
        return BayesianNetwork([*self._chance.values(), *cpds.values()], inputs=inputs, notes=self.notes)

    def _followed(self, rules: Mapping[str, RuleLike]) -> dict[str, TableCPD]:
        """Decision -> its rule as a distribution."""
        if not isinstance(rules, Mapping):
            raise InvalidArgument(f"The rules are a mapping, decision -> rule, not {rules!r}.")
        read = {name: read_rule(rule, self.information(name), self._variables[name]) for name, rule in rules.items()}
        return {name: TableCPD(self._variables[name], rule.values, rule.scope[:-1]) for name, rule in read.items()}

    def with_information(self, sees: Mapping[str, Iterable[str]]) -> Self:
        """Return a diagram in which some decisions see other variables: decision -> all that it sees.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> diagram.with_information({"umbrella": []}).decision("umbrella").sees
        ()
        """
        if not isinstance(sees, Mapping):
            raise InvalidArgument(f"What decisions see is a mapping, decision -> names, not {sees!r}.")
        for name in sees:
            self.decision(name)
        decisions = [
            decision.seeing(sees[name]) if name in sees else decision for name, decision in self._decisions.items()
        ]
        return type(self)(self._chance.values(), decisions, self._utilities.values(), self.notes)

    def with_decision(self, decision: Decision) -> Self:
        """Return a diagram with this decision added; it replaces a decision or chance variable of the same name.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> list(diagram.with_decision(Decision("coat", 2, sees=["rain"])).decisions)
        ['umbrella', 'coat']
        """
        check_kind(decision, Decision, "with_decision")
        chance = [cpd for name, cpd in self._chance.items() if name != decision.name]
        decisions = {**self._decisions, decision.name: decision}
        return type(self)(chance, decisions.values(), self._utilities.values(), self.notes)

    def with_rules(self, rules: Mapping[str, RuleLike]) -> Self:
        """Return a diagram in which some decisions follow rules: they become chance variables.

        Write rules as for `strategy`; a single action means that it is always taken.

        >>> import plausible as pb
        >>> worth = Utility(["a", "b"], [[3, 2], [0, 1]])
        >>> diagram = pb.InfluenceDiagram([], [Decision("a", 2), Decision("b", 2)], [worth])
        >>> diagram.with_rules({"a": 1}).solve().strategy.action("b")
        1
        """
        made = self._followed(rules)
        decisions = [decision for name, decision in self._decisions.items() if name not in made]
        chance = [*self._chance.values(), *made.values()]
        return type(self)(chance, decisions, self._utilities.values(), self.notes)

    def with_chance(self, cpd: CPD) -> Self:
        """Return a diagram with this distribution added; it replaces the one of the same variable, if any."""
        check_kind(cpd, CPD, "with_chance")
        chance = {**self._chance, cpd.variable.name: cpd}
        return type(self)(chance.values(), self._decisions.values(), self._utilities.values(), self.notes)

    def with_utility(self, utility: Utility) -> Self:
        """Return a diagram with this utility added; it replaces the one of the same name, if any.

        Utilities add up. A utility without a name that has the same parents as another gives a warning, since you may
        have meant to replace that one.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([], [Decision("work", 2)], [Utility("work", [0, 5], name="wage")])
        >>> diagram.with_utility(Utility("work", [0, 7], name="wage")).solve().expected_utility
        7.0
        """
        check_kind(utility, Utility, "with_utility")
        warn_of_twins(utility, self._utilities)
        utilities = {**self._utilities, utility.name: utility}
        return type(self)(self._chance.values(), self._decisions.values(), utilities.values(), self.notes)

    def without(self, name: str) -> Self:
        """Return a diagram without this chance variable, decision or utility; no other node may depend on it.

        >>> from plausible.decisions import InfluenceDiagram
        >>> diagram = InfluenceDiagram([TableCPD("rain", [0.7, 0.3])], [Decision("umbrella", 2, sees=["rain"])])
        >>> diagram.without("umbrella")
        <InfluenceDiagram: 1 chance, 0 decisions, 0 utilities>
        """
        if children := self._graph.children(name):
            raise InvalidModel(f"{list(children)} depend on {name!r}: remove or change them first.")
        chance = [cpd for other, cpd in self._chance.items() if other != name]
        decisions = [decision for other, decision in self._decisions.items() if other != name]
        utilities = [utility for other, utility in self._utilities.items() if other != name]
        return type(self)(chance, decisions, utilities, self.notes)

    def with_notes(self, notes: Notes) -> Self:
        """Return this diagram with other notes."""
        return type(self)(self._chance.values(), self._decisions.values(), self._utilities.values(), notes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Diagram):
            return NotImplemented
        return self._parts == other._parts

    def __hash__(self) -> int:
        return hash(tuple(frozenset(part.items()) for part in self._parts))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy utilities as tables: functions that people wrote can't always go along."""
        utilities = [Utility.from_factor(factor, name) for name, factor in self._utility_factors.items()]
        return type(self), (list(self._chance.values()), list(self._decisions.values()), utilities, self.notes)

    @property
    def _parts(self) -> tuple[Mapping[str, CPD], Mapping[str, Decision], Mapping[str, Factor]]:
        return self._chance, self._decisions, self._utility_factors

    def __repr__(self) -> str:
        title = f" {self.notes.name!r}" if self.notes.name else ""
        decisions, worths = counted(len(self._decisions), "decision"), counted(len(self._utilities), "utility")
        return f"<{type(self).__name__}{title}: {len(self._chance)} chance, {decisions}, {worths}>"
