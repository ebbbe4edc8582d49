"""Arc reversal and node removal: a diagram with perfect recall shrinks to its value, one node at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.absorbing import absorbed
from plausible.decisions.structure.recall import require_recall
from plausible.factors import Factor
from plausible.factors.joint_factor import JointFactor

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["reverse_arcs"]


def reverse_arcs(diagram: InfluenceDiagram, findings: Mapping[str, Floats]) -> dict[str, Factor]:
    """The best rule of each decision, the last first, by removing nodes from the diagram.

    Three steps leave the optimum as it is. A chance variable whose only child is the value is summed out of it. A
    decision that sees all other parents of the value is maximised out of it. An arc X -> Y between chance variables is
    turned by Bayes' rule, if no other directed path leads from X to Y; each gets the other's parents by that. So what
    the last decision does not see is freed of all children but the value, the nearest child first.

    Parameters
    ----------
    diagram
        An influence diagram with perfect recall.
    findings
        What is known beforehand: see `read_findings`. Each is an observed child, whose arcs are turned first.

    Returns
    -------
    dict
        Decision -> its rule over the part of what it sees that was left, and the decision.

    Notes
    -----
    All utilities make one table, so this is for small diagrams: the plain form of what `"elimination"` does.

    References
    ----------
    Olmsted (1983), On representing and solving decision problems. Shachter (1986), Evaluating influence diagrams,
    Operations Research 34.
    """
    decisions = list(require_recall(diagram, "Arc reversal").order)
    nodes = _Nodes(diagram)
    nodes.distributions.update(absorbed(diagram, findings))
    rules: dict[str, Factor] = {}
    for name in reversed(decisions):
        nodes.take_out_all_but({*diagram.decisions[name].sees, name})
        idle = Factor((diagram.variables[name],), np.zeros(len(diagram.decisions[name].states)))
        left, rules[name] = JointFactor(utility=nodes.value + idle).maximize(name)
        nodes.value = left.utility
    return {name: rules[name] for name in diagram.decisions}


class _Nodes:
    """What is left of a diagram: the distributions of chance variables, in a topological order, and the value."""

    def __init__(self, diagram: InfluenceDiagram) -> None:
        self.order = [str(node) for node in diagram.graph.topological_order if node in diagram.variables]
        self.distributions = {name: cpd.to_factor() for name, cpd in diagram.chance.items()}
        self.value = Factor.scalar(0.0)
        for factor in diagram.utility_factors.values():
            self.value = self.value + factor

    def take_out_all_but(self, kept: set[str]) -> None:
        """Remove the parents of the value that are not kept: chance variables that no decision sees."""
        while hidden := set(self.value.names) - kept:
            self._remove_barren(kept)
            name = max(hidden, key=self.order.index)
            for child in self._children(name):
                self._reverse(name, child)
            self.value = (self.value * self.distributions.pop(name)).marginalize(name)

    def _children(self, name: str) -> list[str]:
        """The chance variables that depend on one, the nearest first: no other path leads to that."""
        found = (other for other, factor in self.distributions.items() if other != name and name in factor.names)
        return sorted(found, key=self.order.index)

    def _reverse(self, name: str, child: str) -> None:
        """Turn the arc from a variable to its child."""
        joint = self.distributions[name] * self.distributions[child]
        self.distributions[child] = joint.marginalize(name)
        self.distributions[name] = joint / self.distributions[child]
        self.order.remove(name)
        self.order.insert(self.order.index(child) + 1, name)

    def _remove_barren(self, kept: set[str]) -> None:
        """Remove chance variables that nobody sees and nothing depends on."""
        for name in reversed(self.order):
            is_free = name in self.distributions and name not in kept and name not in self.value.names
            if is_free and not self._children(name):
                del self.distributions[name]
