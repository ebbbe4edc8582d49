"""Decision trees: choices and chances in the order in which they come, down to outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from plausible.base.display import format_number
from plausible.base.records import record
from plausible.base.tolerances import UTILITY_NOISE
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode, read_distribution
from plausible.errors import InvalidArgument, InvalidModel, UnknownState, counted
from plausible.variables import State

#: How a node of a tree is reached: pairs (name of a node, branch taken there), from the root on.
Path: TypeAlias = tuple[tuple[str, State], ...]


@record
class TreeSolution:
    """What backward induction found."""

    expected_utility: float  # That of the best strategy
    #: The action at each choice, by its path; at choices that the strategy never comes to as well.
    strategy: Mapping[Path, State]
    ties: Mapping[Path, tuple[State, ...]]  # All the best actions, where a choice has several, by its path
    tree: DecisionTree = field(repr=False)  # The tree

    def __str__(self) -> str:
        return draw_tree(self.tree, self.strategy)


@record
class DecisionTree:
    """A decision problem as a tree: what is known at a choice is the path that leads to it.

    Branches may differ in what follows, so that asymmetric problems need no tricks: an action that is not open is not a
    branch, and a variable that does not matter is not asked.

    Parameters
    ----------
    root
        The first choice or chance.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 23.1.

    Examples
    --------
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

        Parameters
        ----------
        lotteries
            Action -> (outcome -> probability).
        utility
            Outcome -> its utility, a mapping or a function.
        name
            What the choice is called.

        Examples
        --------
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

    # --- what is there ---

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

    # --- questions ---

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
        found: dict[Path, tuple[float, float]] = {}
        waiting: list[tuple[Path, TreeNode, float]] = [((), self.root, 1.0)]
        while waiting:
            path, node, chance = waiting.pop()
            if isinstance(node, Outcome):
                found[path] = chance, float(node.utility)
            elif isinstance(node, Choice):
                place = _taken(path, node, strategy)
                waiting.append(((*path, (node.name, node.actions[place])), node.children[place], chance))
            else:
                branches = zip(node.states, node.probabilities, node.children, strict=True)
                waiting += reversed(
                    [((*path, (node.name, label)), child, chance * p) for label, p, child in branches if p > 0]
                )
        return found

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


# --- as text ---


def draw_tree(tree: DecisionTree, strategy: Mapping[Path, State] | None = None, max_lines: int = 200) -> str:
    """A tree as text: □ is a choice, ○ a chance, ▶ the branch that a strategy takes.

    Parameters
    ----------
    tree
        The tree.
    strategy
        An action at every choice, by its path, such as `tree.solve().strategy`; nodes then show what they are worth.
    max_lines
        Where to stop drawing.

    Examples
    --------
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
        if len(lines) < max_lines:
            lines.append(before + _node_text(node, None if values is None else values[path], noise))
        else:
            hidden += 1
        if not isinstance(node, Outcome):
            waiting += reversed(_branches(path, node, below, strategy))
    if hidden:
        lines.append(f"... and {counted(hidden, 'node')} more")
    return "\n".join(lines)


def _branches(
    path: Path, node: Choice | Chance, indent: str, strategy: Mapping[Path, State] | None
) -> list[tuple[Path, TreeNode, str, str]]:
    """The branches of a node as they wait to be drawn."""
    found = []
    for place, (label, child) in enumerate(zip(node.labels, node.children, strict=True)):
        is_last = place == len(node.labels) - 1
        is_taken = isinstance(node, Choice) and strategy is not None and strategy.get(path) == label
        corner = ("└" if is_last else "├") + ("▶" if is_taken else "─")
        chance = f" ({format_number(node.probabilities[place])})" if isinstance(node, Chance) else ""
        below = indent + ("   " if is_last else "│  ")
        found.append(((*path, (node.name, label)), child, f"{indent}{corner} {label}{chance}: ", below))
    return found


def _node_text(node: TreeNode, value: float | None, noise: float) -> str:
    if isinstance(node, Outcome):
        return _number_text(node.utility, 0.0)
    sign = "□" if isinstance(node, Choice) else "○"
    return f"{sign} {node.name}" + ("" if value is None else f" = {_number_text(value, noise)}")


def _number_text(value: float, noise: float) -> str:
    return format_number(value) if abs(value) > noise else "0"
