"""What many sets of repairs would do, in one network: a variable chooses among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.counterfactuals.potential import Finding, Potential, as_evidence
from plausible.causal.counterfactuals.query import ParallelWorlds, parallel_worlds
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.queries.arguments import fresh_name
from plausible.cpds import CPD, DeterministicCPD, TableCPD
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.models import BayesianNetwork
from plausible.models.rebuilding import rebuilt
from plausible.variables import State, Variable

__all__ = ["ChoiceView", "RepairQuestion"]


@dataclass(frozen=True, slots=True)
class RepairQuestion:
    """Would the device work, were some components repaired besides those that are?

    Attributes
    ----------
    model
        What causes what.
    ok_states
        Component -> the state that its repair puts it into.
    goal, working
        The variable that says whether the device works, and the state in which it does.
    done
        The components that are repaired already.
    """

    model: FunctionalModel
    ok_states: Mapping[str, State]
    goal: str
    working: State
    done: Sequence[str]

    def now(self, name: str) -> Potential:
        """A variable after the repairs that were made."""
        return Potential(name, {part: self.ok_states[part] for part in self.done})

    def causes(self) -> list[str]:
        """The goal and what it depends on, causes first."""
        needed = {self.goal} | self.model.graph.directed_part().ancestors(self.goal)
        return [name for name in self.model.topological_order if name in needed]


class ChoiceView:
    """The worlds of all findings, and one more in which a root variable, uniform, chooses what is repaired besides.

    It is independent of all that is seen in the other worlds. So P(works | choice, findings), for all choices, comes
    from one run, and costs what a twin network does for each of them, but on larger tables instead of many networks.

    Parameters
    ----------
    question
        Which device, and what is repaired.
    choices
        Sets of further repairs.
    seen
        The variables whose distributions are asked for, in the world of the repairs that were made.
    findings
        What was seen, each in the world of the repairs made by then.
    budget
        What a run may cost.
    """

    def __init__(
        self,
        question: RepairQuestion,
        choices: Sequence[frozenset[str]],
        seen: Sequence[str],
        findings: Sequence[Finding],
        budget: Budget | None = None,
    ) -> None:
        causes = question.causes()
        terms = [question.now(name) for name in dict.fromkeys([*seen, *causes])]
        worlds = parallel_worlds(question.model, [*terms, *(finding.term for finding in findings)])
        chosen = _ChosenWorld(question, worlds, choices)
        network = BayesianNetwork([*worlds.network.cpds.values(), *chosen.cpds(causes)])
        self._nodes = {name: worlds.nodes[question.now(name)] for name in seen}
        self._fixing, self._num_choices = chosen.fixing, len(choices)
        self._evidence = {**worlds.constants, **as_evidence(findings, worlds.nodes, worlds.network.variables)}
        kept = dict.fromkeys([*self._nodes.values(), self._fixing, *self._evidence])
        self._engine = network.compile(list(kept), budget=budget)

    def marginals(self, tested: Mapping[str, State]) -> tuple[dict[str, Factor], Floats]:
        """The distribution of each variable seen, and P(works) after each choice, if tests showed these states."""
        evidence: dict[str, Any] = {**self._evidence, **{self._nodes[name]: state for name, state in tested.items()}}
        found = self._engine.marginals(evidence)
        states = {name: _renamed(found[node], name) for name, node in self._nodes.items()}
        return states, np.minimum(found[self._fixing].values[:-1] * self._num_choices, 1.0)


class _ChosenWorld:
    """The copies of variables in the world of a choice; what no choice reaches is that of the world as it is."""

    def __init__(self, question: RepairQuestion, worlds: ParallelWorlds, choices: Sequence[frozenset[str]]) -> None:
        self._question, self._worlds, self._choices = question, worlds, choices
        self._variables: dict[str, Variable] = dict(worlds.network.variables)
        self._taken = {*self._variables, *question.model.network.variables}
        self._choice = Variable(fresh_name("choice", self._taken), len(choices))
        #: The choice if it makes the device work, else one more state: its distribution is that of both.
        self.fixing = fresh_name("fixing choice", self._taken)

    def cpds(self, causes: Sequence[str]) -> list[CPD]:
        """All that is added to the network of the other worlds."""
        added: list[CPD] = [TableCPD(self._choice, np.full(len(self._choices), 1.0 / len(self._choices)))]
        inside: dict[str, str] = {}
        for name in causes:
            inside[name] = self._worlds.nodes[self._question.now(name)]
            if name in self._question.done:
                continue
            parents = self._question.model.parents(name)
            if any(inside[parent] != self._worlds.nodes[self._question.now(parent)] for parent in parents):
                added.append(self._copy(name, {parent: inside[parent] for parent in parents}))
                inside[name] = added[-1].variable.name
            if name in self._question.ok_states:
                added.append(self._repaired(name, inside[name]))
                inside[name] = added[-1].variable.name
        return [*added, self._outcome(inside[self._question.goal])]

    def _copy(self, name: str, inside: Mapping[str, str]) -> CPD:
        model = self._question.model
        variables = {noise: model.network.variables[noise] for noise in model.noise_of(name)}
        variables |= {parent: self._variables[node] for parent, node in inside.items()}
        return rebuilt(model.functions[name], {**variables, name: self._new(name, f"{name}[chosen]")})

    def _repaired(self, name: str, node: str) -> CPD:
        before, after = self._variables[node], self._new(name, f"{name}[repaired?]")
        ok, same = before.index(self._question.ok_states[name]), list(range(before.num_states))
        positions = [code for choice in self._choices for code in ([ok] * len(same) if name in choice else same)]
        return DeterministicCPD.from_record(after, (self._choice, before), {"positions": positions})

    def _outcome(self, node: str) -> CPD:
        goal, number = self._variables[node], len(self._choices)
        works = goal.index(self._question.working)
        positions = [choice if code == works else number for choice in range(number) for code in range(goal.num_states)]
        fixing = Variable(self.fixing, number + 1)
        return DeterministicCPD.from_record(fixing, (self._choice, goal), {"positions": positions})

    def _new(self, name: str, text: str) -> Variable:
        variable = self._question.model.variables[name].renamed(fresh_name(text, self._taken, "'"))
        self._variables[variable.name] = variable
        return variable


def _renamed(factor: Factor, name: str) -> Factor:
    return factor if factor.names == (name,) else factor.rename({factor.names[0]: name})
