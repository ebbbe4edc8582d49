"""The best observation plan by dynamic programming over what was seen, and the plan of one who looks one step ahead."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.information.observing import observable, observing, read_costs, read_decision, read_variables
from plausible.decisions.information.plan import Act, Look, ObservationPlan, PlanNode, PlanStart
from plausible.decisions.information.tables import SeenTable, only_decision, seen_tables
from plausible.decisions.solving.problem import Floats, Ints
from plausible.errors import NotSupported, TooLarge
from plausible.factors.alignment import assignment_at
from plausible.inference.options import check_count
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["myopic_plan", "observation_plan"]

#: The entries of all tables of what may be known.
_MAX_ENTRIES = 2**22
#: Looking has to be better by this much, relative to the utilities at stake.
_ROUNDING = 1e-11


def observation_plan(
    diagram: InfluenceDiagram,
    decision: str | None = None,
    candidates: Iterable[str] | None = None,
    costs: float | Mapping[str, float] | None = None,
    max_number: int | None = None,
    evidence: EvidenceLike | None = None,
) -> ObservationPlan:
    """The best way to look at some variables one after the other before a decision, each by what the last ones said.

    V(s) = max(max_d E[U | s, d], max_X E[V(s, X) | s] - cost(X)), from all seen back to nothing seen.

    Parameters
    ----------
    diagram
        An influence diagram with one decision.
    decision
        The decision.
    candidates
        The variables that may be looked at; by default all that the decision neither sees nor influences.
    costs
        What it costs to look at each, or a number for all; what is not named is free.
    max_number
        At most so many are looked at.
    evidence
        What is known before.

    Notes
    -----
    The time is that of tables with Π (k_i + 1) entries, for candidates with k_i states: exponential, for a handful of
    variables. There are doubly exponentially many plans, see `count_plans`.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 23.7.2.

    Examples
    --------
    A sign says in which of two boxes the answer lies:

    >>> import numpy as np
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> coins = [TableCPD(name, [0.5, 0.5]) for name in ("sign", "left", "right")]
    >>> right = Utility(["sign", "left", "right", "guess"], lambda s, l, r, g: 10.0 * (g == (r if s else l)))
    >>> diagram = InfluenceDiagram(coins, [Decision("guess", 2)], [right])
    >>> print(observation_plan(diagram, costs=2.6))
    Expected utility 5 net of costs, by the best plan; without looking 5.
    guess=0 (5)
    >>> print(observation_plan(diagram, costs=1))
    Expected utility 8 net of costs, by the best plan; without looking 5.
    look at sign (8)
      sign=0: look at left (9)
        left=0: guess=0 (10)
        left=1: guess=1 (10)
      sign=1: look at right (9)
        right=0: guess=0 (10)
        right=1: guess=1 (10)
    """
    return _planned(diagram, decision, (candidates, costs, max_number, evidence), is_myopic=False)


def myopic_plan(
    diagram: InfluenceDiagram,
    decision: str | None = None,
    candidates: Iterable[str] | None = None,
    costs: float | Mapping[str, float] | None = None,
    max_number: int | None = None,
    evidence: EvidenceLike | None = None,
) -> ObservationPlan:
    """The plan of one who always makes the best single observation, as if it were the last, while one pays.

    It can be far from the best plan, where an observation only says which other one is of use: see `observation_plan`.
    The expected utility told is what the plan really brings.

    Parameters
    ----------
    diagram, decision, candidates, costs, max_number, evidence
        As of `observation_plan`.

    Notes
    -----
    In diagrams too large for a plan, `rank_observations` with all that was seen as evidence tells the next step.
    """
    return _planned(diagram, decision, (candidates, costs, max_number, evidence), is_myopic=True)


def _planned(
    diagram: InfluenceDiagram,
    decision: str | None,
    given: tuple[Iterable[str] | None, float | Mapping[str, float] | None, int | None, EvidenceLike | None],
    is_myopic: bool,
) -> ObservationPlan:
    candidates, costs, max_number, evidence = given
    name = read_decision(diagram, decision)
    only_decision(diagram, name, "An observation plan")
    names = observable(diagram, name) if candidates is None else read_variables(diagram, candidates)
    prices = read_costs(costs, names)
    if max_number is not None:
        check_count("max_number", max_number)
    observing(diagram, names, name)
    if seen := [other for other in names if other in diagram.decisions[name].sees]:
        raise NotSupported(f"{name!r} sees {seen} anyway: leave them out of the candidates.")
    _check_room(diagram, name, names)
    (table,) = seen_tables(diagram, name, [names], evidence)
    return _Tables(table, list(prices.values()), max_number, is_myopic).plan()


def _check_room(diagram: InfluenceDiagram, decision: str, names: tuple[str, ...]) -> None:
    fixed = math.prod(diagram.variables[name].num_states for name in (*diagram.decisions[decision].sees, decision))
    entries = fixed * math.prod(diagram.variables[name].num_states + 1 for name in names)
    if entries > _MAX_ENTRIES:
        raise TooLarge(
            f"A plan for {len(names)} variables needs tables of {entries} entries, beyond the limit of {_MAX_ENTRIES}. "
            "Name fewer candidates=, or take one step at a time with rank_observations and what was seen as evidence=."
        )


class _Tables:
    """For each set of candidates seen, by bits: tables over what is seen, axes of the others having length one."""

    def __init__(self, table: SeenTable, costs: list[float], max_number: int | None, is_myopic: bool) -> None:
        self.table, self.costs, self.is_myopic = table, costs, is_myopic
        self.most = len(costs) if max_number is None else max_number
        self.probability: dict[int, Floats] = {}
        self.worth: dict[int, Floats] = {}
        self.at_once: dict[int, Floats] = {}
        self.choice: dict[int, Ints] = {}
        self.action: dict[int, Ints] = {}
        self.scale = _ROUNDING * float(np.abs(table.weighted).sum() / table.decision.num_states + 1e-300)

    def plan(self) -> ObservationPlan:
        weighted = {(1 << len(self.costs)) - 1: self.table.weighted}
        self.probability[(1 << len(self.costs)) - 1] = self.table.probability
        for seen in sorted(range(1 << len(self.costs)), key=int.bit_count, reverse=True):
            self._settle(seen, weighted)
        starts = []
        shape = tuple(variable.num_states for variable in self.table.seen)
        for row, place in enumerate(np.ndindex(*shape)):
            index = place + (0,) * len(self.costs)
            probability = float(self.probability[0][index])
            if probability > 0:
                starts.append(PlanStart(assignment_at(self.table.seen, row), probability, self._node(0, index)))
        return ObservationPlan(
            decision=self.table.decision.name,
            starts=tuple(starts),
            expected_utility=float(self.worth[0].sum()),
            without=float(self.at_once[0].sum()),
            is_exact=not self.is_myopic,
        )

    def _settle(self, seen: int, weighted: dict[int, Floats]) -> None:
        """What to do, and what it brings, where these candidates are seen; the larger sets are settled."""
        left = [place for place in range(len(self.costs)) if not seen >> place & 1]
        if left:
            larger, axis = seen | 1 << left[0], self.table.axis(left[0])
            weighted[seen] = weighted[larger].sum(axis=axis, keepdims=True)
            self.probability[seen] = self.probability[larger].sum(axis=axis, keepdims=True)
        phi = self.probability[seen]
        self.at_once[seen], self.action[seen] = weighted[seen].max(axis=-1), weighted[seen].argmax(axis=-1)
        options, judged = [self.at_once[seen]], [self.at_once[seen]]
        for place in left if seen.bit_count() < self.most else ():
            larger, axis = seen | 1 << place, self.table.axis(place)
            price = self.costs[place] * phi + self.scale * phi
            options.append(self.worth[larger].sum(axis=axis, keepdims=True) - self.costs[place] * phi)
            ahead = self.at_once if self.is_myopic else self.worth
            judged.append(ahead[larger].sum(axis=axis, keepdims=True) - price)
        picked = np.argmax(judged, axis=0)
        self.worth[seen] = np.take_along_axis(np.array(options), picked[None], axis=0)[0]
        places = np.array([-1, *left], dtype=np.int64)
        self.choice[seen] = places[picked]

    def _node(self, seen: int, index: tuple[int, ...]) -> PlanNode:
        """The plan from here on."""
        phi = float(self.probability[seen][index])
        worth = float(self.worth[seen][index]) / phi
        place = int(self.choice[seen][index])
        if place < 0:
            return Act(self.table.decision.states[int(self.action[seen][index])], worth)
        variable, axis, larger = self.table.candidates[place], self.table.axis(place), seen | 1 << place
        probability, branches = {}, {}
        for number, state in enumerate(variable.states):
            further = (*index[:axis], number, *index[axis + 1 :])
            share = float(self.probability[larger][further]) / phi
            if share > 0:
                probability[state], branches[state] = share, self._node(larger, further)
        return Look(variable.name, self.costs[place], worth, probability, branches)
