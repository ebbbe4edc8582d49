"""From an influence diagram to the decision tree that it abbreviates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.decisions.diagram import Diagram
from plausible.decisions.strategy import Strategy
from plausible.decisions.structure.edits import AllowedActions, allowed_mask, check_allowed
from plausible.decisions.structure.recall import new_information, require_recall
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode
from plausible.decisions.trees.tree import DecisionTree, TreeSolution
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.variables import Variable


def decision_tree(
    diagram: Diagram,
    allowed: Mapping[str, AllowedActions] | None = None,
    show_hidden: bool = False,
    max_outcomes: int = 100_000,
) -> DecisionTree:
    """The decision tree of a diagram with perfect recall; exponential in its variables, so for small ones.

    The order is that of observation, not of the graph: what is seen before the first decision, that decision, what is
    then new, and so on; last what is never seen. The probability of a branch given its path is the same for every
    strategy that can lead there, so that of acting at random gives them all. Branches of probability zero are left out.

    Koller & Friedman (2009), Probabilistic graphical models, section 23.3.1 and lemma 23.1.
    """
    require_recall(diagram, "A decision tree")
    order = _order(diagram, show_hidden)
    if (leaves := num_entries(order)) > max_outcomes:
        raise TooLarge(
            f"The decision tree over {[variable.name for variable in order]} has up to {leaves} outcomes, more than "
            f"max_outcomes={max_outcomes}: solve() the diagram itself, or raise the limit."
        )
    check_allowed({} if allowed is None else allowed)
    limits = {name: allowed_mask(diagram, name, open_actions) for name, open_actions in (allowed or {}).items()}
    weights, worth = path_tables(diagram, order)
    return DecisionTree(_Unrolling(diagram, order, _marginals(weights), worth, limits).node(()))


def strategy_of_tree(diagram: Diagram, solution: TreeSolution) -> Strategy:
    """The strategy of a diagram that the solution of its decision tree says; the first action for what is never seen.

    Parameters
    ----------
    diagram
        The diagram that the tree was made of.
    solution
        What `decision_tree(diagram).solve()` gave.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram(decisions=[pb.Decision("D", ["a", "b"])], utilities=[pb.Utility("D", [1, 2])])
    >>> strategy_of_tree(diagram, decision_tree(diagram).solve()).action("D")
    'b'
    """
    known = set(diagram.decisions)
    tables = {name: np.zeros([v.num_states for v in _family(diagram, name)]) for name in diagram.decisions}
    for path, node in solution.tree.nodes():
        if isinstance(node, Choice):
            if node.name not in known:
                raise InvalidArgument(f"The tree chooses {node.name!r}, which is no decision of this diagram.")
            states = {**dict(path), node.name: solution.strategy[path]}
            tables[node.name][tuple(v.index(states[v.name]) for v in _family(diagram, node.name))] = 1.0
    for table in tables.values():
        table[..., 0] += table.sum(axis=-1) == 0
    return Strategy({name: Factor(_family(diagram, name), table) for name, table in tables.items()})


def _family(diagram: Diagram, decision: str) -> tuple[Variable, ...]:
    return (*diagram.information(decision), diagram.variables[decision])


def _order(diagram: Diagram, show_hidden: bool) -> tuple[Variable, ...]:
    """The variables of the tree from the root on; those that are neither seen nor matter to a utility are left out."""
    names = [item for decision, new in new_information(diagram).items() for item in (*new, decision)]
    if show_hidden:
        relevant = diagram.graph.ancestors(diagram.utilities)
        names += [name for name in diagram.chance if name in relevant and name not in names]
    return tuple(diagram.variables[name] for name in names)


def path_tables(diagram: Diagram, order: tuple[Variable, ...]) -> tuple[Floats, Floats]:
    """The probability of each path when actions are random, and the mean utility at its end, over `order`."""
    network = diagram.network(diagram.uniform_strategy())
    names = [variable.name for variable in order]
    weights = network.query(names) if names else Factor.scalar(1.0)
    total = Factor(order, np.zeros(weights.values.shape))
    for factor in diagram.utility_factors.values():
        hidden = [name for name in factor.names if name not in names]
        joint = network.query([*names, *hidden]) if hidden else weights
        total = total + (joint * factor).marginalize(hidden)
    return weights.values, (total / weights).values


def _marginals(weights: Floats) -> list[Floats]:
    """The probabilities of all beginnings of paths: item i is over the first i variables."""
    marginals = [weights]
    for _ in range(weights.ndim):
        marginals.append(marginals[-1].sum(axis=-1))
    return marginals[::-1]


@dataclass(frozen=True, slots=True)
class _Unrolling:
    """The tables from which a tree is read off, and how."""

    diagram: Diagram
    order: tuple[Variable, ...]
    marginals: list[Floats]
    worth: Floats
    limits: Mapping[str, Flags]

    def node(self, place: tuple[int, ...]) -> TreeNode:
        """The node after the first variables took the states at these positions; as deep as there are variables."""
        if len(place) == len(self.order):
            return Outcome(float(self.worth[place]))
        variable = self.order[len(place)]
        branches = range(variable.num_states)
        if variable.name in self.diagram.decisions:
            kept = self._open(variable, place)
            return Choice(variable.name, {variable.states[i]: self.node((*place, i)) for i in branches if kept[i]})
        here, after = float(self.marginals[len(place)][place]), self.marginals[len(place) + 1][place]
        return Chance(
            variable.name,
            {variable.states[i]: (float(after[i] / here), self.node((*place, i))) for i in branches if after[i] > 0},
        )

    def _open(self, variable: Variable, place: tuple[int, ...]) -> Flags:
        """Which actions of a decision are open on a path."""
        if variable.name not in self.limits:
            return np.ones(variable.num_states, dtype=bool)
        position = dict(zip((earlier.name for earlier in self.order), place, strict=False))
        seen = tuple(position[name] for name in self.diagram.decisions[variable.name].sees)
        return np.asarray(self.limits[variable.name][seen])
