"""What a strategy never leads to: what actions would bring there, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.climbing import put
from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.updating import Rules, first_best_rule
from plausible.decisions.structure.recall import temporal_order

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["conditional_worth", "settle_off_path"]


def conditional_worth(
    diagram: InfluenceDiagram, problem: Problem, tree: Weighing, rules: Mapping[str, Floats], decision: str
) -> tuple[Floats, Floats]:
    """P(seen) under the rules, and E[utility | seen, action] over the family, also of what the rules never lead to.

    There the decisions that are seen count as set, whatever they saw; if that is not enough, so do all that do not come
    after the decision. What can't be seen under any rules is NaN. The tree is left as it is found.

    Parameters
    ----------
    diagram, problem
        The diagram, and its tables.
    tree, rules
        What weighs decisions, with these rules for all of them.
    decision
        The decision.
    """
    phi, psi = tree.family(decision)
    worth = _divided(psi, phi)
    if not (phi > 0).all():
        for freed in _freed(diagram, problem, decision):
            unknown = np.isnan(worth)
            if freed and unknown.any():
                worth = np.where(unknown, _under(tree, rules, decision, freed), worth)
    return phi[..., 0] / phi[..., 0].sum(), worth


def settle_off_path(diagram: InfluenceDiagram, problem: Problem, tree: Weighing, rules: Rules) -> None:
    """Take the best action also where the rules never lead to: from the last decision to the first, in place.

    What the rules bring stays the same.
    """
    for name in reversed(temporal_order(diagram)):
        probability, worth = conditional_worth(diagram, problem, tree, rules, name)
        idle = (probability == 0) & ~np.isnan(worth[..., 0])
        if idle.any():
            best = first_best_rule(np.where(np.isnan(worth), 0.0, worth))
            put(tree, rules, {name: np.where(idle[..., None], best, rules[name])})


def _freed(diagram: InfluenceDiagram, problem: Problem, decision: str) -> Iterator[Sequence[str]]:
    """The decisions that act at random, in the two attempts to get to all that can be seen."""
    after = diagram.graph.descendants(decision)
    before = [name for name in problem.families if name != decision and name not in after]
    seen = {problem.variables[number].name for number in problem.families[decision]}
    yield [name for name in before if name in seen]
    yield before


def _under(tree: Weighing, rules: Mapping[str, Floats], decision: str, freed: Sequence[str]) -> Floats:
    """E[utility | seen, action] where some decisions act at random."""
    mixed = dict(rules)
    put(tree, mixed, {name: np.full(rules[name].shape, 1.0 / rules[name].shape[-1]) for name in freed})
    phi, psi = tree.family(decision)
    put(tree, mixed, {name: rules[name] for name in freed})
    return _divided(psi, phi)


def _divided(psi: Floats, phi: Floats) -> Floats:
    """ψ / φ, NaN where φ is zero."""
    return np.where(phi > 0, psi / np.where(phi > 0, phi, 1.0), np.nan)
