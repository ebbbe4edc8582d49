"""What to do: the best strategy of a diagram, what else could be worth knowing, the tree of all courses."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from plausible.base.records import one_line
from plausible.decisions import InfluenceDiagram
from plausible.decisions.information.ranking import rank_observations
from plausible.decisions.trees.tree import decision_tree
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk, Version

#: No more rows of a policy are shown, no more outcomes of a tree drawn.
MOST_ROWS, MOST_OUTCOMES = 256, 60


def solution(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The best strategy, what it is worth, and how far that is proved."""
    version = _diagram(desk, asked)
    solved, network = version.solution, version.subject().model
    return {
        "expectedUtility": solved.expected_utility,
        "gap": solved.gap,
        "policies": [_policy(network, name, solved.strategy[name]) for name in solved.strategy],
    }


def _policy(network: BayesianNetwork, decision: str, rule: Factor) -> dict[str, Any]:
    """What to do, by what is seen, where that can happen under the strategy; a table that would be too long is cut."""
    seen, acts = rule.scope[:-1], rule.scope[-1]
    best = rule.values.reshape(-1, acts.num_states).argmax(-1)
    names = [one.name for one in seen]
    chances = network.query(names).reorder(names).values.ravel() if names else np.ones(1)
    rows = [
        {
            "seen": [one_line(str(state)) for state in states],
            "action": one_line(str(acts.states[act])),
            "chance": chance,
        }
        for states, act, chance in zip(
            product(*(one.states for one in seen)), best.tolist(), chances.tolist(), strict=True
        )
        if chance > 0
    ]
    return {"decision": decision, "sees": names, "rows": rows[:MOST_ROWS], "hidden": max(len(rows) - MOST_ROWS, 0)}


def observations(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What it is worth to see each variable before a decision, the best first."""
    version = _diagram(desk, asked)
    ranking = rank_observations(version.model, asked.text("decision"))
    values = [{"name": one.variables[0], "value": one.value} for one in ranking.values]
    return {"decision": ranking.decision, "without": ranking.expected_utility, "values": values}


def tree(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The tree of all courses of events, solved, as a picture."""
    courses = decision_tree(_diagram(desk, asked).model, max_outcomes=MOST_OUTCOMES)
    return {"svg": courses.solve().picture().svg}


def _diagram(desk: Desk, asked: Asked) -> Version:
    version = desk.version(asked.text("model"))
    if not isinstance(version.model, InfluenceDiagram):
        raise NotSupported("Only an influence diagram has decisions to make.")
    return version
