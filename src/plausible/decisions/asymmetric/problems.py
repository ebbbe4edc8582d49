"""Problems as values whose course is not fixed: what comes next depends on what came before, or is open."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TypeAlias, overload

from plausible.base import Frozen
from plausible.cpds import CPD
from plausible.cpds.reading import VariableLike
from plausible.decisions.asymmetric.plan import History
from plausible.decisions.influence_diagram import InfluenceDiagram
from plausible.decisions.parts import Decision
from plausible.errors import InvalidArgument, InvalidModel, UnknownState, UnknownVariable, counted, suggestion
from plausible.graphs.listing import Listing
from plausible.models import BayesianNetwork
from plausible.utilities.local import Utility, read_names
from plausible.variables import State, Variable

#: The next node, `None` for the end; or a function that tells it from the states of all that was met so far.
Follower: TypeAlias = str | Callable[[History], str | None] | None
#: What comes after a node, whatever its state, or for each of its states.
Following: TypeAlias = Follower | Mapping[State, Follower]
#: The actions that are open, from the states of all that was met so far.
OpenActions: TypeAlias = Callable[[History], Iterable[State]]


class NotedHistory(Mapping[str, State]):
    """A history that adds each name that somebody asks for to `reads`; names that no node carries are refused."""

    __slots__ = ("_history", "_nodes", "_reads")

    def __init__(self, history: Mapping[str, State], nodes: Collection[str], reads: set[str] | None = None) -> None:
        self._history, self._nodes = history, nodes
        self._reads: set[str] = set() if reads is None else reads

    def __getitem__(self, name: str) -> State:
        if name not in self:
            raise UnknownVariable(f"{name!r} was not met before: ask with get({name!r}).")
        return self._history[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._nodes:
            raise UnknownVariable(f"{name!r} is not a node of this diagram.{suggestion(name, self._nodes)}")
        self._reads.add(str(name))
        return name in self._history

    @overload
    def get(self, name: str, /) -> State | None: ...
    @overload
    def get(self, name: str, /, default: State) -> State: ...
    def get(self, name: str, /, default: State | None = None) -> State | None:
        """The state of a node, or the default where it was not met."""
        return self._history[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        self._reads.update(self._nodes)
        return iter(self._history)

    def __len__(self) -> int:
        self._reads.update(self._nodes)
        return len(self._history)

    def __repr__(self) -> str:
        return repr(dict(self._history))


class OpenCourse(Frozen):
    """The parts of a problem, whatever its course, as a diagram in which decisions see nothing."""

    __slots__ = ("_diagram",)

    _diagram: InfluenceDiagram

    @property
    def parts(self) -> InfluenceDiagram:
        """The chance variables, decisions and utilities as a diagram in which decisions see nothing."""
        return self._diagram

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: chance in the order given, then decisions."""
        return self._diagram.variables

    @property
    def chance(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution of each chance variable."""
        return self._diagram.chance

    @property
    def utilities(self) -> Mapping[str, Utility]:
        """Name -> utility, in the order given."""
        return self._diagram.utilities


class SequentialProblem(OpenCourse):
    """The parts of a problem, and the walk through them; `SequentialDiagram` is this with what users ask."""

    __slots__ = ("_allowed", "_next", "first")

    first: str

    def __init__(
        self,
        chance: BayesianNetwork | Iterable[CPD] = (),
        decisions: Iterable[Decision] = (),
        utilities: Iterable[Utility] = (),
        *,
        first: str,
        next: Mapping[str, Following],
        allowed: Mapping[str, OpenActions] | None = None,
    ) -> None:
        cpds = chance.cpds.values() if isinstance(chance, BayesianNetwork) else chance
        self._diagram = InfluenceDiagram(cpds, decisions, utilities)
        self._next = {name: dict(f) if isinstance(f, Mapping) else f for name, f in next.items()}
        self._allowed = dict(allowed or {})
        self.first = first
        self._check_nodes()
        self._check_parts()

    def _check_nodes(self) -> None:
        for name, followers in self._next.items():
            UnknownVariable.check(name, self.variables, "this diagram; next= lists its nodes")
            if isinstance(followers, Mapping):
                self._check_states(name, followers)
            listed = followers.values() if isinstance(followers, Mapping) else [followers]
            for follower in listed:
                self._check_follower(follower, f"what follows {name!r}")
        self._check_follower(self.first, "what comes first")

    def _check_states(self, name: str, followers: Mapping[State, Follower]) -> None:
        variable = self.variables[name]
        for state in followers:
            if not variable.has_state(state):
                raise UnknownState(f"What follows {name!r}: {variable.unknown_state(state)}")
        if missing := [state for state in variable.states if state not in followers]:
            raise InvalidModel(f"next= does not say what comes after {name!r} in {missing}; None is the end.")

    def _check_follower(self, follower: Follower, place: str) -> None:
        if follower is None or callable(follower) or (isinstance(follower, str) and follower in self._next):
            return
        raise UnknownVariable(
            f"{follower!r}, {place}, is no key of next=: each node that can be met needs an entry there, with None "
            f"where it is the end.{suggestion(follower, self._next)}"
        )

    def _check_parts(self) -> None:
        for name, decision in self.decisions.items():
            if decision.sees:
                raise InvalidModel(f"The decision {name!r} knows all that was met before it: leave out sees=.")
        for name, utility in self.utilities.items():
            if unmet := [parent for parent in utility.parent_names if parent not in self._next]:
                raise InvalidModel(
                    f"The utility {name!r} counts where all of {list(utility.parent_names)} are met, and {unmet} never "
                    "are: give them a place in next=."
                )
        for name in self._allowed:
            self._diagram.decision(name)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Name -> decision, in the order given."""
        return self._diagram.decisions

    @property
    def next(self) -> Mapping[str, Following]:
        """Name of each node that can be met -> what comes next."""
        return MappingProxyType(self._next)

    def next_node(self, name: str, met: History) -> str | None:
        """The node after one, where all that was met, that node included, is so; `None` at the end."""
        followers = self._next[name]
        follower = followers[met[name]] if isinstance(followers, Mapping) else followers
        node = follower(self._noted(met)) if callable(follower) else follower
        self._check_follower(node, f"what follows {name!r}")
        return node

    def open_actions(self, decision: str, met: History) -> tuple[State, ...]:
        """The actions that are open at a decision, in its order, where this was met before it."""
        variable = self.variables[decision]
        if decision not in self._allowed:
            return variable.states
        listed = list(self._allowed[decision](self._noted(met)))
        for action in listed:
            if not variable.has_state(action):
                raise UnknownState(f"The open actions of {decision!r}: {variable.unknown_state(action)}")
        if not listed:
            raise InvalidModel(f"No action of {decision!r} is open after {met!r}: leave at least one.")
        return tuple(action for action in variable.states if action in listed)

    def paid(self, met: History, by: str | None = None) -> float:
        """The sum of the utilities that count, where this was met; of those that depend on one variable, if named."""
        total = 0.0
        for factor in self._diagram.utility_factors.values():
            if (by is None or by in factor.names) and all(name in met for name in factor.names):
                total += float(factor.values[tuple(self.variables[name].index(met[name]) for name in factor.names)])
        return total

    def _noted(self, met: History) -> NotedHistory:
        return met if isinstance(met, NotedHistory) else NotedHistory(met, self._next)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequentialProblem):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key[:2])

    @property
    def _key(self) -> tuple[InfluenceDiagram, str, Mapping[str, Following], Mapping[str, OpenActions]]:
        return self._diagram, self.first, self._next, self._allowed

    def __repr__(self) -> str:
        counts = f"{counted(len(self._next), 'node')} from {self.first!r} on, {len(self.decisions)} of them decisions"
        return f"<{type(self).__name__}: {counts}, {counted(len(self.utilities), 'utility')}>"


class FreeDecision(Frozen):
    """A decision whose place in time is open.

    Parameters
    ----------
    variable
        Its name (then see `states`) or a `Variable`.
    states
        The actions to choose from.
    releases
        Names of chance variables that can't be seen before this decision is made.
    after
        Names of decisions that must be made, and of chance variables that must be seen, before this one.

    Examples
    --------
    >>> FreeDecision("test", ["no", "yes"], releases=["result"])
    FreeDecision('test', ['no', 'yes'], releases=['result'])
    """

    __slots__ = ("after", "releases", "variable")

    variable: Variable
    releases: tuple[str, ...]
    after: tuple[str, ...]

    def __init__(
        self,
        variable: VariableLike,
        states: Iterable[State] | int | None = None,
        releases: VariableLike | Iterable[VariableLike] = (),
        after: VariableLike | Iterable[VariableLike] = (),
    ) -> None:
        self.variable = Decision(variable, states).variable
        self.releases = read_names(releases, f"{self.name!r} releases")
        self.after = read_names(after, f"{self.name!r} comes after")

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeDecision) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Variable, frozenset[str], frozenset[str]]:
        return self.variable, frozenset(self.releases), frozenset(self.after)

    def __repr__(self) -> str:
        parts = [repr(self.name), repr(list(self.variable.states))]
        parts += [f"releases={list(self.releases)!r}"] if self.releases else []
        parts += [f"after={list(self.after)!r}"] if self.after else []
        return f"FreeDecision({', '.join(parts)})"


class UnconstrainedProblem(OpenCourse):
    """The parts of a problem, and which decisions wait for which; `UnconstrainedDiagram` is this with its solution."""

    __slots__ = ("_before", "_decisions", "_observable")

    def __init__(
        self,
        chance: Iterable[CPD] = (),
        decisions: Iterable[FreeDecision] = (),
        utilities: Iterable[Utility] = (),
        observable: VariableLike | Iterable[VariableLike] = (),
    ) -> None:
        listed = list(decisions)
        for decision in listed:
            if not isinstance(decision, FreeDecision):
                raise InvalidModel(f"Expected a list of FreeDecision objects, not {decision!r} in it.")
        self._diagram = InfluenceDiagram(chance, [Decision(decision.variable) for decision in listed], utilities)
        self._decisions = {decision.name: decision for decision in listed}
        self._observable = self._read_observable(read_names(observable, "is observable"))
        self._before = {name: self._waits_for(decision) for name, decision in self._decisions.items()}
        try:
            tuple(TopologicalSorter(self._before).static_order())
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise InvalidModel(
                f"The decisions can't be ordered: {circle}, each before the next one. Drop an after= or releases=."
            ) from None

    def _read_observable(self, listed: tuple[str, ...]) -> dict[str, frozenset[str]]:
        """Observable variable -> the decisions after which it is seen, in the order of the chance variables."""
        waits: dict[str, set[str]] = {name: set() for name in listed}
        for decision in self._decisions.values():
            for name in decision.releases:
                waits.setdefault(name, set()).add(decision.name)
        for name, decisions in waits.items():
            UnknownVariable.check(name, self.chance, "the chance variables of this diagram")
            decisions.update(map(str, self._diagram.graph.ancestors(name) & set(self._decisions)))
        return {name: frozenset(waits[name]) for name in self.chance if name in waits}

    def _waits_for(self, decision: FreeDecision) -> frozenset[str]:
        """The decisions that must be made before one, also to see what must be seen before it."""
        waits: set[str] = set()
        for name in decision.after:
            if name in self._decisions:
                waits.add(name)
            elif name in self._observable:
                waits |= self._observable[name]
            else:
                known = (*self._decisions, *self._observable)
                raise UnknownVariable.named(name, known, f"what {decision.name!r} can come after")
        return frozenset(waits)

    @property
    def decisions(self) -> Mapping[str, FreeDecision]:
        """Name -> decision, in the order given."""
        return MappingProxyType(self._decisions)

    @property
    def observable(self) -> Mapping[str, frozenset[str]]:
        """Name of each variable that will be seen -> the decisions that must be made before."""
        return MappingProxyType(self._observable)

    @property
    def before(self) -> Mapping[str, frozenset[str]]:
        """Name of each decision -> the decisions that must be made before."""
        return MappingProxyType(self._before)

    def seen_after(self, made: Iterable[str]) -> tuple[str, ...]:
        """The variables that are seen where some decisions are made, in the order of the diagram."""
        done = frozenset(made)
        return tuple(name for name, needed in self._observable.items() if needed <= done)

    def orders(self) -> Listing[tuple[str, ...]]:
        """All orders in which the decisions can be made, the one nearest to that of the list first."""
        return Listing(self._orders)

    def _orders(self) -> Iterator[tuple[str, ...]]:
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            order = waiting.pop()
            following = [name for name in self._decisions if name not in order and self._before[name] <= set(order)]
            if not following:
                yield order
            waiting += [(*order, name) for name in reversed(following)]

    def in_order(self, order: Sequence[str]) -> InfluenceDiagram:
        """The influence diagram, with perfect recall, of those who keep to one order whatever they see."""
        for place, name in enumerate(order):
            UnknownVariable.check(name, self._decisions, "the decisions of this diagram")
            if missing := self._before[name] - set(order[:place]):
                raise InvalidArgument(f"In {list(order)}, {name!r} must come after {sorted(missing)}.")
        if sorted(order) != sorted(self._decisions):
            raise InvalidArgument(f"An order names each of {list(self._decisions)} once, unlike {list(order)}.")
        decisions = [
            Decision(self.variables[name], sees=(*self.seen_after(order[:place]), *order[:place]))
            for place, name in enumerate(order)
        ]
        return InfluenceDiagram(self.chance.values(), decisions, self.utilities.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnconstrainedProblem):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(tuple(map(frozenset, self._key[1:])))

    @property
    def _key(self) -> tuple[InfluenceDiagram, Mapping[str, FreeDecision], Mapping[str, frozenset[str]]]:
        return self._diagram, self._decisions, self._observable

    def __repr__(self) -> str:
        counts = f"{len(self.chance)} chance, {len(self._observable)} of them observable, "
        return (
            f"<{type(self).__name__}: {counts}{counted(len(self._decisions), 'decision')}, "
            f"{counted(len(self.utilities), 'utility')}>"
        )
