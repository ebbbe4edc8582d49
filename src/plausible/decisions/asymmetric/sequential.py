"""Sequential decision diagrams: what comes next depends on what came before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from plausible.base.frozen import Frozen
from plausible.cpds import CPD
from plausible.decisions.asymmetric.history_reads import NotedHistory
from plausible.decisions.asymmetric.plan import History
from plausible.decisions.diagram import InfluenceDiagram
from plausible.decisions.parts import Decision
from plausible.errors import InvalidModel, UnknownState, UnknownVariable, counted, suggestion
from plausible.models import BayesianNetwork
from plausible.utilities.local import Utility
from plausible.variables import State, Variable

if TYPE_CHECKING:
    from plausible.decisions.asymmetric.rollback import SequentialSolution
    from plausible.decisions.trees.tree import DecisionTree

__all__ = ["SequentialDiagram"]

#: The next node, `None` for the end; or a function that tells it from the states of all that was met so far.
Follower: TypeAlias = str | Callable[[History], str | None] | None
#: What comes after a node, whatever its state, or for each of its states.
Following: TypeAlias = Follower | Mapping[State, Follower]
#: The actions that are open, from the states of all that was met so far.
OpenActions: TypeAlias = Callable[[History], Iterable[State]]


class SequentialDiagram(Frozen):
    """A decision problem as a walk from node to node, each of which comes up in some contexts only.

    A network tells how likely things are, another graph what is met when: chance variables where they are seen, in any
    order, and decisions, which know all that was met. Chances are those of the network given all that was met, so that
    effects may be seen before causes. A utility counts on the paths that meet all of its variables, and on no others.

    Parameters
    ----------
    chance
        A network, or conditional distributions of the chance variables; decisions may be parents.
    decisions
        The decisions, without `sees`.
    utilities
        The parts of the total utility, which add.
    first
        The name of the first node.
    next
        For each node that can be met, what comes next: a name, `None` for the end, a mapping from the states of the
        node to these, or a function of all that was met, which it gets as a mapping from names to states.
    allowed
        For some decisions a function of all that was met that tells which actions are open; by default all are.

    Notes
    -----
    The functions are kept as they are: a diagram can be pickled, and so sent to another process, only if they can.
    Those that are defined in a module can, lambdas can't.

    References
    ----------
    Covaliu & Oliver (1995), Representation and solution of decision problems using sequential decision diagrams.
    Jensen, Nielsen & Shenoy (2006), Sequential influence diagrams.

    Examples
    --------
    Build a reactor of the usual kind or an advanced one, of which parts can be tested; where the test goes badly, the
    advanced one is not permitted. What is tested comes of what will happen, and is seen before it:

    >>> from plausible.cpds import TableCPD
    >>> usual = TableCPD("usual", [0.98, 0.02], states=["works", "fails"])
    >>> advanced = TableCPD("advanced", [0.66, 0.244, 0.096], states=["works", "limited accident", "major accident"])
    >>> result = TableCPD("result", [[0, 0.182, 0.818], [0.288, 0.565, 0.147], [0.313, 0.437, 0.25]], ["advanced"],
    ...                   states=["bad", "good", "excellent"])
    >>> def permitted(met):
    ...     return ["none", "usual"] if met.get("result") == "bad" else ["none", "usual", "advanced"]
    >>> reactor = SequentialDiagram(
    ...     [usual, advanced, result],
    ...     [Decision("test", ["no", "yes"]), Decision("build", ["none", "usual", "advanced"])],
    ...     [Utility("test", [0, -1]), Utility("usual", [8, -4]), Utility("advanced", [12, -6, -10])],
    ...     first="test",
    ...     next={"test": {"no": "build", "yes": "result"}, "result": "build", "usual": None, "advanced": None,
    ...           "build": {"none": None, "usual": "usual", "advanced": "advanced"}},
    ...     allowed={"build": permitted},
    ... )
    >>> print(reactor.solve())
    Expected utility 8.12931 by the best plan (10 sub-problems).
    next: test=yes
      if result=bad (0.10032): build=usual, worth 6.76
      if result=good (0.299932): build=usual, worth 6.76
      if result=excellent (0.599748): build=advanced, worth 9.04314
    """

    __slots__ = ("_allowed", "_diagram", "_next", "first")

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
            if name not in self.variables:
                raise UnknownVariable.named(name, self.variables, "this diagram; next= lists its nodes")
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

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: chance in the order given, then decisions."""
        return self._diagram.variables

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Name -> decision, in the order given."""
        return self._diagram.decisions

    @property
    def utilities(self) -> Mapping[str, Utility]:
        """Name -> utility, in the order given."""
        return self._diagram.utilities

    @property
    def next(self) -> Mapping[str, Following]:
        """Name of each node that can be met -> what comes next."""
        return MappingProxyType(self._next)

    @property
    def parts(self) -> InfluenceDiagram:
        """The chance variables, decisions and utilities as a diagram in which decisions see nothing."""
        return self._diagram

    # --- steps ---

    def next_node(self, name: str, met: History) -> str | None:
        """The node after one, where all that was met, that node included, is so; `None` at the end."""
        followers = self._next[name]
        follower = followers[met[name]] if isinstance(followers, Mapping) else followers
        found = follower(self._noted(met)) if callable(follower) else follower
        self._check_follower(found, f"what follows {name!r}")
        return found

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

    # --- questions ---

    def solve(self, max_subproblems: int = 100_000) -> SequentialSolution:
        """The best plan: see `plausible.decisions.asymmetric.rollback`."""
        from plausible.decisions.asymmetric.rollback import solve_sequential

        return solve_sequential(self, max_subproblems)

    def decision_tree(self, max_outcomes: int = 100_000) -> DecisionTree:
        """This problem written out as a decision tree: see `plausible.decisions.asymmetric.sequential_tree`."""
        from plausible.decisions.asymmetric.sequential_tree import sequential_tree

        return sequential_tree(self, max_outcomes)

    # --- as a value ---

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequentialDiagram):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key[:2])

    @property
    def _key(self) -> tuple[InfluenceDiagram, str, Mapping[str, Following], Mapping[str, OpenActions]]:
        return self._diagram, self.first, self._next, self._allowed

    def __repr__(self) -> str:
        counts = f"{counted(len(self._next), 'node')} from {self.first!r} on, {len(self.decisions)} of them decisions"
        return f"<SequentialDiagram: {counts}, {counted(len(self.utilities), 'utility')}>"
