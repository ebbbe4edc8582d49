"""Chances given what was met before, in whatever order."""

from __future__ import annotations

from collections.abc import Mapping

from plausible.decisions.asymmetric.plan import History
from plausible.decisions.diagram import InfluenceDiagram
from plausible.errors import InvalidModel
from plausible.utilities.wording import seen_text
from plausible.variables import State

__all__ = ["Posteriors"]


class Posteriors:
    """P(node | all that was met) in a diagram whose decisions see nothing; each answer is computed once."""

    def __init__(self, parts: InfluenceDiagram) -> None:
        self._parts = parts
        self._network = parts.network(parts.uniform_strategy())
        self._sources: dict[tuple[str, frozenset[str]], tuple[frozenset[str], frozenset[str]]] = {}
        self._answers: dict[tuple[str, frozenset[tuple[str, State]]], Mapping[State, float]] = {}

    def of(self, name: str, met: History) -> Mapping[State, float]:
        """State -> its probability; those that can't be are left out."""
        used, _ = self._sources_of(name, met)
        evidence = {other: met[other] for other in used}
        key = name, frozenset(evidence.items())
        if key not in self._answers:
            answer = self._network.query(name, evidence=evidence)
            states = self._parts.variables[name].states
            chances = zip(states, answer.values.tolist(), strict=True)
            self._answers[key] = {state: chance for state, chance in chances if chance > 0}
        return self._answers[key]

    def reads(self, name: str, met: History) -> frozenset[str]:
        """The names on whose states, or on whose absence, the answer depends."""
        return frozenset.union(*self._sources_of(name, met))

    def _sources_of(self, name: str, met: History) -> tuple[frozenset[str], frozenset[str]]:
        """What was met and tells something about a node beside the rest, and what would, had it been met.

        With M for what was met and R for the first set, d-separation gives X ⟂ M - R | R and X ⟂ all but the second set
        | M: by contraction, any other history with the same states of R and nothing from the second set has the same
        posterior P(X | R).
        """
        names = frozenset(met)
        key = name, names
        if key not in self._sources:
            graph = self._network.graph
            above = graph.ancestors(name)
            if early := [decision for decision in self._parts.decisions if decision in above - names]:
                raise InvalidModel(
                    f"The chances of {name!r} depend on {early}, which are not made on the path {_path(met)}: let "
                    f"next= come to them before {name!r}."
                )
            reached = graph.d_connected(name, given=names)  # active trails to what was met end beside these
            near = names & {str(other) for node in reached for other in graph.markov_blanket(node)}
            used = {other for other in near if other in graph.d_connected(name, given=names - {other})}
            self._sources[key] = frozenset(used), frozenset(map(str, reached - {name}))
        return self._sources[key]


def _path(met: History) -> str:
    return seen_text(met) or "that begins with it"
