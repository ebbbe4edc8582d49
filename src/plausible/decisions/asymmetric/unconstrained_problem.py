"""Unconstrained problems as values: decisions whose order is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from plausible.base.frozen import Frozen
from plausible.cpds import CPD
from plausible.cpds.reading import VariableLike
from plausible.decisions.influence_diagram import InfluenceDiagram
from plausible.decisions.parts import Decision
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, counted
from plausible.graphs.listing import Listing
from plausible.utilities.local import Utility, read_names
from plausible.variables import State, Variable


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


class UnconstrainedProblem(Frozen):
    """The parts of a problem, and which decisions wait for which; `UnconstrainedDiagram` is this with its solution."""

    __slots__ = ("_before", "_decisions", "_diagram", "_observable")

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
            if name not in self.chance:
                raise UnknownVariable.named(name, self.chance, "the chance variables of this diagram")
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

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: chance in the order given, then decisions."""
        return self._diagram.variables

    @property
    def chance(self) -> Mapping[str, CPD]:
        """Name -> conditional distribution of each chance variable."""
        return self._diagram.chance

    @property
    def decisions(self) -> Mapping[str, FreeDecision]:
        """Name -> decision, in the order given."""
        return MappingProxyType(self._decisions)

    @property
    def utilities(self) -> Mapping[str, Utility]:
        """Name -> utility, in the order given."""
        return self._diagram.utilities

    @property
    def observable(self) -> Mapping[str, frozenset[str]]:
        """Name of each variable that will be seen -> the decisions that must be made before."""
        return MappingProxyType(self._observable)

    @property
    def before(self) -> Mapping[str, frozenset[str]]:
        """Name of each decision -> the decisions that must be made before."""
        return MappingProxyType(self._before)

    @property
    def parts(self) -> InfluenceDiagram:
        """The chance variables, decisions and utilities as a diagram in which decisions see nothing."""
        return self._diagram

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
            if name not in self._decisions:
                raise UnknownVariable.named(name, self._decisions, "the decisions of this diagram")
            if missing := self._before[name] - set(order[:place]):
                raise InvalidArgument(f"In {list(order)}, {name!r} must come after {sorted(missing)}.")
        if sorted(order) != sorted(self._decisions):
            raise InvalidArgument(f"An order names each of {list(self._decisions)} once, unlike {list(order)}.")
        decisions = [
            Decision(self.variables[name], sees=(*self.seen_after(order[:place]), *order[:place]))
            for place, name in enumerate(order)
        ]
        return InfluenceDiagram(self.chance.values(), decisions, self.utilities.values())

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnconstrainedProblem):
            return NotImplemented
        return (self._diagram, self._decisions, self._observable) == (
            other._diagram,
            other._decisions,
            other._observable,
        )

    def __hash__(self) -> int:
        return hash((self._diagram, frozenset(self._decisions.values()), frozenset(self._observable)))

    def __repr__(self) -> str:
        counts = f"{len(self.chance)} chance, {len(self._observable)} of them observable, "
        return (
            f"<{type(self).__name__}: {counts}{counted(len(self._decisions), 'decision')}, "
            f"{counted(len(self.utilities), 'utility')}>"
        )
