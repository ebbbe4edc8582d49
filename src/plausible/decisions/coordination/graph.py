"""Coordination graphs: what a team should do in a state of the world, when its values add up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Literal

import numpy as np

from plausible.base import (
    PROOF,
    UTILITY_NOISE,
    Argument,
    Call,
    Frozen,
    FrozenMapping,
    Remedy,
    Result,
    format_number,
    record,
)
from plausible.decisions.coordination.local_values import LocalValue, ValueRule, best_by_rules, local_value
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, close_match, counted
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.graphs import UndirectedGraph
from plausible.inference.engine_bases import Optimizer
from plausible.inference.exact_map.max_elimination import constrained_order, max_tables
from plausible.variables import Assignment, Evidence, State, Variable

#: The largest and the least difference between exponents that messages are made of.
_RANGE, _LEAST_RANGE = 200.0, 1.0


@record
class JointAction(Result):
    """What each agent does."""

    actions: Assignment  # Agent -> action; passive agents have none
    value: float  # What the team gains
    #: No joint action gains more than this; infinite where nothing is known, and the value itself where the two differ
    #: by no more than rounding.
    bound: float
    method: str  # How it was found

    @property
    def is_exact(self) -> bool:
        """Whether this is proved to be a best joint action."""
        return self.bound <= self.value

    def __str__(self) -> str:
        width = max(map(len, self.actions), default=0)
        lines = [f"{name.ljust(width)}  {action}" for name, action in self.actions.items()]
        known = "" if self.is_exact else f", at most {format_number(self.bound)} for any other"
        return "\n".join([*lines, f"value {format_number(self.value)}{known}"])


class CoordinationGraph(Frozen):
    """A team whose value is Σ_i V_i(x_i, a_i): local functions of some of the world's state and some agents' actions.

    Agents are joined where they share a function. In a state x the best joint action argmax_a Σ_i V_i(x_i, a_i) is
    found by eliminating agents one after the other, at a cost exponential in the induced width of that graph only, or
    by messages between agents. It looks one step ahead, and each agent can work it out for itself.

    Guestrin, Koller & Parr (2001), Multiagent planning with factored MDPs. Kok, Spaan & Vlassis (2003), Multi-robot
    decision making using coordination graphs. Koller & Friedman (2009), box 23.B.

    Agents map to their actions, or the number of these. Values are factors of any real numbers, and `ValueRule`
    objects; all add up. Names that are no agent's are the state's.

    >>> team = CoordinationGraph(
    ...     {"one": ["pass", "dribble"], "two": ["run", "wait"], "three": ["run", "wait"]},
    ...     [
    ...         ValueRule({"open": "two", "one": "pass", "two": "run"}, 10),
    ...         ValueRule({"open": "three", "one": "pass", "three": "run"}, 8),
    ...         ValueRule({"one": "dribble"}, 2),
    ...         ValueRule({"two": "run"}, -1),
    ...         ValueRule({"three": "run"}, -1),
    ...     ],
    ... )
    >>> print(team.best({"open": "two"}))
    one    pass
    two    run
    three  wait
    value 9
    >>> team.with_roles({"two": None}).best({"open": "two"}).actions
    Assignment(one='dribble', three='wait')
    """

    __slots__ = ("_agents", "_values")

    _agents: dict[str, Variable]
    _values: tuple[LocalValue, ...]

    def __init__(self, agents: Mapping[str, Iterable[State] | int], values: Iterable[Factor | ValueRule] = ()) -> None:
        self._agents = {name: Variable(name, actions) for name, actions in agents.items()}
        self._values = tuple(map(local_value, values))
        for value in self._values:
            value.check(self._agents)
        if math.isinf(2.0 * sum(value.largest for value in self._values)):
            largest = max(self._values, key=lambda value: value.largest)
            raise InvalidModel(
                f"The values of this team may add up beyond the largest number; the one over "
                f"{', '.join(largest.names) or 'nothing'} reaches {largest.largest:.3g}. Give all in a larger unit."
            )

    @property
    def agents(self) -> Mapping[str, Variable]:
        """Name -> the agent, a variable whose states are its actions."""
        return FrozenMapping(self._agents)

    @property
    def values(self) -> tuple[Factor | ValueRule, ...]:
        """The local values, in the order given."""
        return tuple(value.part for value in self._values)

    @property
    def state_variables(self) -> tuple[str, ...]:
        """The names that a state of the world has to settle."""
        return tuple(dict.fromkeys(name for value in self._values for name in value.names if name not in self._agents))

    @property
    def graph(self) -> UndirectedGraph:
        """The agents, joined where a value speaks of both."""
        groups = [[name for name in value.names if name in self._agents] for value in self._values]
        return UndirectedGraph((pair for group in groups for pair in combinations(group, 2)), nodes=self._agents)

    def given(self, state: Mapping[str, State]) -> CoordinationGraph:
        """The team in a state of the world: values of actions alone; rules that can't hold are left out."""
        known = dict(state)
        for name in self.state_variables:
            if name not in known:
                close = close_match(name, self._agents).replace("mean", "mean the agent", 1)
                raise UnknownVariable(f"The state of the world lacks {name!r}; it has {list(known)}.{close}")
        for name in known:
            if name in self._agents:
                raise InvalidArgument(f"{name!r} is an agent: the state of the world can't set it. See with_roles.")
        left = (value.given(known) for value in self._values)
        agents = {name: agent.states for name, agent in self._agents.items()}
        return CoordinationGraph(agents, [value.part for value in left if value is not None])

    def with_roles(self, roles: Mapping[str, Iterable[State] | None]) -> CoordinationGraph:
        """The team when agents have roles: agent -> the actions that its role allows.

        `None` makes an agent passive, who drops out together with all values that speak of its actions.
        """
        UnknownVariable.check_all(roles, self._agents, "this team")
        passive = {name for name, actions in roles.items() if actions is None}
        allowed = {name: list(actions) for name, actions in roles.items() if actions is not None}
        for name, actions in allowed.items():
            for action in actions:
                self._agents[name].index(action)
            if not actions:
                raise InvalidArgument(f"The role of {name!r} allows no action; None makes an agent passive.")
        agents = {
            name: [action for action in agent.states if name not in allowed or action in allowed[name]]
            for name, agent in self._agents.items()
            if name not in passive
        }
        fewer = (value.narrowed(agents) for value in self._values if passive.isdisjoint(value.names))
        return CoordinationGraph(agents, [value.part for value in fewer if value is not None])

    def value(self, actions: Mapping[str, State], state: Mapping[str, State] | None = None) -> float:
        """What the team gains by a joint action in a state of the world."""
        team = self.given(state or {})
        for name in team.agents:
            if name not in actions:
                raise UnknownVariable(f"The joint action lacks {name!r}.")
        for name, action in actions.items():
            UnknownVariable.check(name, team.agents, "this team")
            team.agents[name].index(action)
        return math.fsum(value.at(actions) for value in team._values)

    def best(
        self, state: Mapping[str, State] | None = None, method: Literal["tables", "rules"] | Optimizer | None = None
    ) -> JointAction:
        """A best joint action in a state of the world.

        Parameters
        ----------
        state
            State variable -> state; more may be given than is asked for.
        method
            "tables": max-sum elimination, exact. "rules": the same on rules, exact and cheaper where rules have
            narrow contexts; a factor counts as a rule for each entry. An engine such as `MaxProduct()`: messages, then
            decoding, for teams whose graph is too dense. Rules where all values are rules, else tables, if left out.
        """
        team = self.given(state or {})
        if method is None:
            method = "rules" if all(value.is_rule for value in team._values) else "tables"
        if isinstance(method, Optimizer):
            return team._by_messages(method)
        if method == "rules":
            rules = [rule for value in team._values for rule in value.rules()]
            best = best_by_rules(rules, list(team.agents.values()))
            return team._judged(best.actions, best.value, "rule elimination")
        if method != "tables":
            raise InvalidArgument(f'method= is "tables", "rules" or an engine such as MaxProduct(), not {method!r}.')
        tables = team._tables()
        plan = constrained_order(tables, team.agents)
        plan.check(MAX_ENTRIES, [Remedy("use ", Argument("method", Call("MaxProduct"))), Remedy("give roles")])
        run = max_tables(tables, plan)
        codes = run.best()
        actions = {name: agent.states[codes[name]] for name, agent in team.agents.items()}
        return team._judged(actions, run.log_value, "max-sum elimination")

    def _by_messages(self, engine: Optimizer) -> JointAction:
        """Exponentials of the values, in a unit that keeps their differences in range: no maximum moves."""
        tables = self._tables()
        spread = max((float(np.ptp(table.values)) for table in tables), default=0.0)
        unit = spread / min(max(spread, _LEAST_RANGE), _RANGE) if spread > 0 else 1.0
        weights = [Factor(table.scope, np.exp((table.values - table.values.max()) / unit)) for table in tables]
        best = engine.best(weights, Evidence.read({}, self._agents))
        actions = {name: best[name] for name in self._agents}
        error = best.info.error
        bound = math.inf if error is None else self.value(actions) + unit * error
        return self._judged(actions, bound, best.info.engine)

    def _judged(self, actions: Mapping[str, State], bound: float, method: str) -> JointAction:
        ordered = {name: actions[name] for name in self._agents}
        value = self.value(ordered)
        # Joint actions whose values differ by less are equally good, as far as sums of floats can tell.
        spread = math.fsum(part.spread for part in self._values)
        tolerance = PROOF * spread + UTILITY_NOISE * math.fsum(part.largest for part in self._values)
        return JointAction(Assignment(ordered), value, bound if bound - value > tolerance else value, method)

    def _tables(self) -> list[Factor]:
        """All values as factors over actions, each agent in one at least."""
        tables = [value.table(self._agents) for value in self._values]
        return [*tables, *(Factor([agent], np.zeros(agent.num_states)) for agent in self._agents.values())]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoordinationGraph):
            return NotImplemented
        return self._agents == other._agents and self._values == other._values

    def __hash__(self) -> int:
        return hash((frozenset(self._agents.items()), self._values))

    def __repr__(self) -> str:
        return f"<CoordinationGraph: {counted(len(self._agents), 'agent')}, {counted(len(self._values), 'value')}>"
