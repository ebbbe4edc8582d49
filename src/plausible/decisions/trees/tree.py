"""Decision trees: choices and chances in the order in which they come, down to outcomes; those of diagrams."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plausible.base import UTILITY_NOISE, Floats, Result, format_number, picture_by, record, to_plain
from plausible.decisions.diagram import Diagram
from plausible.decisions.strategy import Strategy
from plausible.decisions.structure.edits import AllowedActions, allowed_mask, check_allowed
from plausible.decisions.structure.relevance import new_information, require_recall
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode, read_distribution
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, UnknownState, counted
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.variables import State, Variable

if TYPE_CHECKING:
    from plausible.base.pictured import Picture

#: How a node of a tree is reached: pairs (name of a node, branch taken there), from the root on.
Path: TypeAlias = tuple[tuple[str, State], ...]


@record
class TreeSolution(Result):
    """What backward induction found."""

    _told = ("expected_utility", "strategy", "ties")

    expected_utility: float  # That of the best strategy
    #: The action at each choice, by its path; at choices that the strategy never comes to as well.
    strategy: Mapping[Path, State]
    ties: Mapping[Path, tuple[State, ...]]  # All the best actions, where a choice has several, by its path
    tree: DecisionTree = field(repr=False)  # The tree

    def picture(self) -> Picture:
        """The tree with what each node is worth, and what to do brought out: `save("tree.svg")` writes it."""
        return picture_by("picture_of_decision_tree", self)

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def __str__(self) -> str:
        return draw_tree(self.tree, self.strategy)


@record
class DecisionTree(Result):
    """A decision problem as a tree: what is known at a choice is the path that leads to it.

    Branches may differ in what follows, so that asymmetric problems need no tricks: an action that is not open is not a
    branch, and a variable that does not matter is not asked.

    Koller & Friedman (2009), Probabilistic graphical models, section 23.1. The root is the first choice or chance.

    >>> market = Chance("market", {"poor": (0.5, -7), "fair": (0.3, 5), "good": (0.2, 20)})
    >>> tree = DecisionTree(Choice("found", {"no": 0, "yes": market}))
    >>> tree.solve().expected_utility
    2.0
    >>> print(tree.solve())
    □ found = 2
    ├─ no: 0
    └▶ yes: ○ market = 2
       ├─ poor (0.5): -7
       ├─ fair (0.3): 5
       └─ good (0.2): 20
    """

    root: TreeNode

    def __post_init__(self) -> None:
        if not isinstance(self.root, (Choice, Chance, Outcome)):
            raise InvalidModel(f"The root of a decision tree is a Choice, a Chance or an Outcome, not {self.root!r}.")

    @classmethod
    def from_lotteries(
        cls,
        lotteries: Mapping[State, Mapping[State, float]],
        utility: Mapping[State, float] | Callable[[State], float],
        name: str = "action",
    ) -> DecisionTree:
        """The tree with two layers of a decision situation: an action, then what comes of it.

        Outcomes of probability zero are left out, and an action with a certain outcome leads straight to it.

        `lotteries` maps each action to (outcome -> probability), `utility` an outcome to its utility; the choice gets
        the `name`.

        >>> tree = DecisionTree.from_lotteries({"sure": {3: 1.0}, "risk": {4: 0.8, 0: 0.2}}, {0: 0, 3: 10, 4: 12})
        >>> print(tree.solve())
        □ action = 10
        ├▶ sure: 10
        └─ risk: ○ outcome of risk = 9.6
           ├─ 4 (0.8): 12
           └─ 0 (0.2): 0
        """
        worth = utility if callable(utility) else utility.__getitem__
        branches: dict[State, TreeNode] = {}
        for action, lottery in lotteries.items():
            chances = read_distribution(f"the outcomes of {action!r}", list(lottery.values()))
            possible = {
                outcome: (chance, Outcome(worth(outcome)))
                for outcome, chance in zip(lottery, chances, strict=True)
                if chance > 0
            }
            certain = next(iter(possible.values()))[1] if len(possible) == 1 else None
            branches[action] = certain or Chance(f"outcome of {action}", possible)
        return cls(Choice(name, branches))

    def picture(self) -> Picture:
        """Choices in rectangles, chances in ovals, from left to right; of a large tree what is nearest to the root."""
        return picture_by("picture_of_decision_tree", self)

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def to_dict(self) -> dict[str, Any]:
        """The nodes as dictionaries within each other, made one by one: depth is no matter of Python's stack."""
        told: dict[str, Any] = {}
        waiting: list[tuple[Any, Any, TreeNode]] = [(told, "root", self.root)]
        while waiting:
            above, place, node = waiting.pop()
            names = [part.name for part in fields(node) if part.name != "children"]
            above[place] = {name: to_plain(getattr(node, name)) for name in names}
            if not isinstance(node, Outcome):
                below = above[place]["children"] = [None] * len(node.children)
                waiting += [(below, number, child) for number, child in enumerate(node.children)]
        return told

    def nodes(self) -> Iterator[tuple[Path, TreeNode]]:
        """Every node with the path to it, parents before children, branches in order."""
        waiting: list[tuple[Path, TreeNode]] = [((), self.root)]
        while waiting:
            path, node = waiting.pop()
            yield path, node
            if not isinstance(node, Outcome):
                below = zip(node.labels, node.children, strict=True)
                waiting += reversed([((*path, (node.name, label)), child) for label, child in below])

    @property
    def num_nodes(self) -> int:
        """The number of nodes, outcomes included."""
        return sum(1 for _ in self.nodes())

    @property
    def num_outcomes(self) -> int:
        """The number of leaves."""
        return sum(isinstance(node, Outcome) for _, node in self.nodes())

    @property
    def num_strategies(self) -> int:
        """The number of strategies, exactly: an action at every choice, whether one comes there or not."""
        return math.prod(len(node.actions) for _, node in self.nodes() if isinstance(node, Choice))

    def solve(self) -> TreeSolution:
        """The best strategy by backward induction (expectimax); linear in the size of the tree.

        An outcome is worth its utility, a chance the mean of its branches, a choice the best of them (Koller & Friedman
        2009, algorithm 23.1). Of several actions as good the first is taken; `ties` lists them. As good is what differs
        by no more than floats lose, 1e-13 of the largest utility of the tree, whatever its units.
        """
        strategy: dict[Path, State] = {}
        ties: dict[Path, tuple[State, ...]] = {}
        rounding = UTILITY_NOISE * max(abs(node.utility) for _, node in self.nodes() if isinstance(node, Outcome))

        def best(path: Path, node: Choice, values: list[float]) -> float:
            top = max(values)
            equal = tuple(action for action, value in zip(node.actions, values, strict=True) if top - value <= rounding)
            strategy[path] = equal[0]
            if len(equal) > 1:
                ties[path] = equal
            return top

        values = self._fold(best)
        order = [path for path, node in self.nodes() if isinstance(node, Choice)]
        ordered = {path: strategy[path] for path in order}
        return TreeSolution(values[()], ordered, {path: ties[path] for path in order if path in ties}, self)

    def values(self, strategy: Mapping[Path, State]) -> dict[Path, float]:
        """The expected utility from each node on, by its path, under a strategy."""
        return self._fold(lambda path, node, values: values[_taken(path, node, strategy)])

    def expected_utility(self, strategy: Mapping[Path, State]) -> float:
        """The expected utility of a strategy: an action for each choice that it comes to, by the choice's path.

        >>> tree = DecisionTree(Choice("D", {"a": 1, "b": Choice("E", {"c": 2, "d": 3})}))
        >>> tree.expected_utility({(): "b", (("D", "b"),): "c"})
        2.0
        """
        return math.fsum(chance * utility for chance, utility in self._outcomes(strategy).values())

    def outcome_distribution(self, strategy: Mapping[Path, State]) -> dict[Path, float]:
        """The probability of each outcome that a strategy can lead to, by its path."""
        return {path: chance for path, (chance, _) in self._outcomes(strategy).items()}

    def _outcomes(self, strategy: Mapping[Path, State]) -> dict[Path, tuple[float, float]]:
        """Path -> (probability, utility) of the outcomes that a strategy comes to."""
        outcomes: dict[Path, tuple[float, float]] = {}
        waiting: list[tuple[Path, TreeNode, float]] = [((), self.root, 1.0)]
        while waiting:
            path, node, chance = waiting.pop()
            if isinstance(node, Outcome):
                outcomes[path] = chance, float(node.utility)
            elif isinstance(node, Choice):
                place = _taken(path, node, strategy)
                waiting.append(((*path, (node.name, node.actions[place])), node.children[place], chance))
            else:
                branches = zip(node.states, node.probabilities, node.children, strict=True)
                waiting += reversed(
                    [((*path, (node.name, label)), child, chance * p) for label, p, child in branches if p > 0]
                )
        return outcomes

    def _fold(self, choose: Callable[[Path, Choice, list[float]], float]) -> dict[Path, float]:
        """The value of each node from those of its branches, leaves first; `choose` says what a choice is worth."""
        values: dict[Path, float] = {}
        for path, node in reversed(list(self.nodes())):
            if isinstance(node, Outcome):
                values[path] = float(node.utility)
                continue
            below = [values[(*path, (node.name, label))] for label in node.labels]
            if isinstance(node, Choice):
                values[path] = choose(path, node, below)
            else:
                values[path] = math.fsum(p * value for p, value in zip(node.probabilities, below, strict=True))
        return values

    def __str__(self) -> str:
        return draw_tree(self)


def _taken(path: Path, node: Choice, strategy: Mapping[Path, State]) -> int:
    """The position of the action that a strategy takes at a choice."""
    where = " > ".join(f"{name}={label}" for name, label in path) or "the root"
    if path not in strategy:
        raise InvalidArgument(f"The strategy says nothing for the choice {node.name!r} at {where}: add its path.")
    if strategy[path] not in node.actions:
        raise UnknownState(f"{strategy[path]!r} is no action of {node.name!r} at {where}; it has {list(node.actions)}.")
    return node.actions.index(strategy[path])


def draw_tree(tree: DecisionTree, strategy: Mapping[Path, State] | None = None, max_lines: int = 200) -> str:
    """A tree as text: □ is a choice, ○ a chance, ▶ the branch that a strategy takes.

    With a `strategy`, an action at every choice, by its path, such as `tree.solve().strategy`, nodes show what they are
    worth. Drawing stops after `max_lines`.

    >>> print(draw_tree(DecisionTree(Choice("D", {"a": 1, "b": Choice("E", {"c": 2, "d": 3})}))))
    □ D
    ├─ a: 1
    └─ b: □ E
       ├─ c: 2
       └─ d: 3
    """
    values = None if strategy is None else tree.values(strategy)
    noise = UTILITY_NOISE * max(abs(node.utility) for _, node in tree.nodes() if isinstance(node, Outcome))
    lines: list[str] = []
    hidden = 0
    waiting: list[tuple[Path, TreeNode, str, str]] = [((), tree.root, "", "")]  # with what stands before, and below
    while waiting:
        path, node, before, below = waiting.pop()
        if isinstance(node, Outcome):
            text = _number_text(node.utility, 0.0)
        else:
            worth = "" if values is None else f" = {_number_text(values[path], noise)}"
            text = f"{'□' if isinstance(node, Choice) else '○'} {node.name}{worth}"
            waiting += reversed(_branches(path, node, below, strategy))
        if len(lines) < max_lines:
            lines.append(before + text)
        else:
            hidden += 1
    if hidden:
        lines.append(f"... and {counted(hidden, 'node')} more")
    return "\n".join(lines)


def _branches(
    path: Path, node: Choice | Chance, indent: str, strategy: Mapping[Path, State] | None
) -> list[tuple[Path, TreeNode, str, str]]:
    """The branches of a node as they wait to be drawn."""
    branches = []
    for place, (label, child) in enumerate(zip(node.labels, node.children, strict=True)):
        is_last = place == len(node.labels) - 1
        is_taken = isinstance(node, Choice) and strategy is not None and strategy.get(path) == label
        corner = ("└" if is_last else "├") + ("▶" if is_taken else "─")
        chance = f" ({format_number(node.probabilities[place])})" if isinstance(node, Chance) else ""
        below = indent + ("   " if is_last else "│  ")
        branches.append(((*path, (node.name, label)), child, f"{indent}{corner} {label}{chance}: ", below))
    return branches


def _number_text(value: float, noise: float) -> str:
    return format_number(value) if abs(value) > noise else "0"


def decision_tree(
    diagram: Diagram,
    allowed: Mapping[str, AllowedActions] | None = None,
    show_hidden: bool = False,
    max_outcomes: int = 100_000,
) -> DecisionTree:
    """The decision tree of a diagram with perfect recall; exponential in its variables, so for small ones.

    The order is that of observation, not of the graph: what is seen before the first decision, that decision, what
    is then new, and so on; last what is never seen. The probability of a branch given its path is the same for
    every strategy that can lead there, so that of acting at random gives them all. Branches of probability zero are
    left out.

    Koller & Friedman (2009), Probabilistic graphical models, section 23.3.1 and lemma 23.1.

    Parameters
    ----------
    allowed
        For some decisions the actions that are open, by what is seen, as in `with_allowed_actions`: others are no
        branches of the tree.
    show_hidden
        Whether what is never seen has branches too; else outcomes are worth the mean over it.
    max_outcomes
        Refuse trees that could have more.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.examples.load("umbrella")
    >>> print(diagram.decision_tree().solve())
    ○ forecast = 8.19
    ├─ dry (0.65): □ umbrella = 8.61538
    │  ├▶ leave: 8.61538
    │  └─ take: 7.86154
    └─ wet (0.35): □ umbrella = 7.4
       ├─ leave: 4
       └▶ take: 7.4
    """
    require_recall(diagram, "A decision tree")
    # From the root on; what is neither seen nor matters to a utility is left out.
    names = [item for decision, new in new_information(diagram).items() for item in (*new, decision)]
    if show_hidden:
        relevant = diagram.graph.ancestors(diagram.utilities)
        names += [name for name in diagram.chance if name in relevant and name not in names]
    order = tuple(diagram.variables[name] for name in names)
    if (leaves := num_entries(order)) > max_outcomes:
        raise TooLarge(
            f"The decision tree over {[variable.name for variable in order]} has up to {leaves} outcomes, more than "
            f"max_outcomes={max_outcomes}: solve() the diagram itself, or raise the limit."
        )
    check_allowed({} if allowed is None else allowed)
    limits = {name: allowed_mask(diagram, name, open_actions) for name, open_actions in (allowed or {}).items()}
    weights, worth = path_tables(diagram, order)
    marginals = [weights]  # the probabilities of all beginnings of paths: item i is over the first i variables
    for _ in order:
        marginals.insert(0, marginals[0].sum(axis=-1))

    def node(place: tuple[int, ...]) -> TreeNode:
        """The node after the first variables took the states at these positions; as deep as there are variables."""
        if len(place) == len(order):
            return Outcome(float(worth[place]))
        variable = order[len(place)]
        name, states = variable.name, variable.states
        if name in diagram.decisions:
            position = dict(zip(names, place, strict=False))
            is_open = np.ones(len(states), dtype=bool)
            if name in limits:
                is_open = limits[name][tuple(position[seen] for seen in diagram.decisions[name].sees)]
            return Choice(name, {state: node((*place, i)) for i, state in enumerate(states) if is_open[i]})
        chances = marginals[len(place) + 1][place] / float(marginals[len(place)][place])
        children = {state: (float(chances[i]), node((*place, i))) for i, state in enumerate(states) if chances[i] > 0}
        return Chance(name, children)

    return DecisionTree(node(()))


def strategy_of_tree(diagram: Diagram, solution: TreeSolution) -> Strategy:
    """The strategy of a diagram that the solution of its decision tree says; the first action for what is never seen.

    `solution` is what `decision_tree(diagram).solve()` gave.

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
