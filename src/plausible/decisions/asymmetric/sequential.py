"""Sequential decision diagrams with the questions that they answer."""

from __future__ import annotations

from plausible.decisions.asymmetric.rollback import SequentialSolution, sequential_tree, solve_sequential
from plausible.decisions.asymmetric.sequential_problem import SequentialProblem
from plausible.decisions.trees.tree import DecisionTree


class SequentialDiagram(SequentialProblem):
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

    >>> import plausible as pb
    >>> usual = pb.TableCPD("usual", [0.98, 0.02], states=["works", "fails"])
    >>> advanced = pb.TableCPD("advanced", [0.66, 0.244, 0.096], states=["works", "limited accident", "major accident"])
    >>> result = pb.TableCPD("result", [[0, 0.182, 0.818], [0.288, 0.565, 0.147], [0.313, 0.437, 0.25]], ["advanced"],
    ...                   states=["bad", "good", "excellent"])
    >>> def permitted(met):
    ...     return ["none", "usual"] if met.get("result") == "bad" else ["none", "usual", "advanced"]
    >>> reactor = SequentialDiagram(
    ...     [usual, advanced, result],
    ...     [pb.Decision("test", ["no", "yes"]), pb.Decision("build", ["none", "usual", "advanced"])],
    ...     [pb.Utility("test", [0, -1]), pb.Utility("usual", [8, -4]), pb.Utility("advanced", [12, -6, -10])],
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

    __slots__ = ()

    def solve(self, max_subproblems: int = 100_000) -> SequentialSolution:
        """The best plan by rollback, exactly.

        What a sub-problem depends on is noted while it is solved: what guards read, which utilities are still open, and
        which of the things met the chances to come are not independent of. All histories that agree on this share it,
        so that the work is that of the different sub-problems and not of the paths; `TooLarge` where there are more
        than `max_subproblems` (Covaliu & Oliver 1995).

        >>> import plausible as pb
        >>> coins = [pb.TableCPD(f"coin {i}", [0.5, 0.5], states=["heads", "tails"]) for i in range(3)]
        >>> stops = [pb.Decision(f"stake {i}", ["no", "yes"]) for i in range(3)]
        >>> wins = [pb.Utility(f"coin {i}", [2, -1]) for i in range(3)]
        >>> path = {f"stake {i}": {"no": None, "yes": f"coin {i}"} for i in range(3)}
        >>> path |= {"coin 0": "stake 1", "coin 1": "stake 2", "coin 2": None}
        >>> diagram = SequentialDiagram(coins, stops, wins, first="stake 0", next=path)
        >>> diagram.solve().expected_utility, diagram.solve().num_subproblems, diagram.decision_tree().num_nodes
        (1.5, 6, 29)
        """
        return solve_sequential(self, max_subproblems)

    def decision_tree(self, max_outcomes: int = 100_000) -> DecisionTree:
        """This problem as a decision tree: all paths, also those with equal ends.

        Branches of probability zero and closed actions are left out; trees with more outcomes are refused.

        >>> import plausible as pb
        >>> coin, play = pb.TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]), pb.Decision("play", ["no", "yes"])
        >>> path = {"play": {"no": None, "yes": "coin"}, "coin": None}
        >>> diagram = SequentialDiagram([coin], [play], [pb.Utility("coin", [2, -1])], first="play", next=path)
        >>> print(diagram.decision_tree())
        □ play
        ├─ no: 0
        └─ yes: ○ coin
           ├─ heads (0.5): 2
           └─ tails (0.5): -1
        """
        return sequential_tree(self, max_outcomes)
