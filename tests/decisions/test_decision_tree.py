"""Decision trees: backward induction against all strategies, and diagrams unrolled into trees."""

from __future__ import annotations

import pickle
from itertools import islice
from itertools import product as cartesian

import numpy as np
import pytest

from decision_examples import MARKET, entrepreneur, entrepreneur_with_survey, exam_chain
from diagram_oracle import (
    best_value,
    chance_array,
    expected_utility,
    num_strategies,
    random_diagram,
    random_mixed_rules,
    rule_array,
)
from plausible.cpds import NoisyOr, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.decisions.structure.relevance import with_recall
from plausible.decisions.trees.nodes import Chance, Choice, Outcome
from plausible.decisions.trees.tree import DecisionTree, decision_tree, draw_tree, strategy_of_tree
from plausible.errors import InvalidArgument, InvalidModel, NotSupported, RoundedProbabilities, TooLarge, UnknownState
from plausible.utilities import Utility


def random_node(rng, depth, name="n"):
    """A random tree; branches of probability zero, lone branches and early ends occur."""
    if depth == 0 or rng.random() < 0.2:
        return Outcome(float(rng.integers(-5, 6)))
    width = int(rng.integers(1, 4))
    children = [random_node(rng, depth - 1, f"{name}{i}") for i in range(width)]
    if rng.random() < 0.5:
        return Choice(name, dict(enumerate(children)))
    weights = rng.gamma(1.0, size=width) * (rng.random(width) < 0.8)
    weights[0] += weights.sum() == 0
    return Chance(
        name, {i: (w / weights.sum(), child) for i, (w, child) in enumerate(zip(weights, children, strict=True))}
    )


def value(node, path, strategy):
    """EU of a strategy from a node on, by recursion."""
    if isinstance(node, Outcome):
        return node.utility
    below = [
        value(child, (*path, (node.name, label)), strategy)
        for label, child in zip(node.labels, node.children, strict=True)
    ]
    if isinstance(node, Choice):
        return below[node.actions.index(strategy[path])]
    return float(np.dot(node.probabilities, below))


def small_trees(count):
    """Random trees of which all strategies can be enumerated."""
    drawn = (DecisionTree(random_node(np.random.default_rng(seed), depth=3)) for seed in range(10_000))
    return list(islice((tree for tree in drawn if tree.num_strategies <= 1000), count))


@pytest.mark.parametrize("tree", small_trees(60))
def test_backward_induction_is_best_of_all_strategies(tree):
    """The value and the strategy found equal the best over an enumeration of all strategies."""
    choices = {path: node.actions for path, node in tree.nodes() if isinstance(node, Choice)}
    assert tree.num_strategies == int(np.prod([len(actions) for actions in choices.values()]))
    strategies = [dict(zip(choices, actions, strict=True)) for actions in cartesian(*choices.values())]
    values = [value(tree.root, (), strategy) for strategy in strategies]
    solution = tree.solve()
    assert solution.expected_utility == pytest.approx(max(values), abs=1e-12)
    assert value(tree.root, (), solution.strategy) == pytest.approx(max(values), abs=1e-12)
    for strategy, expected in list(zip(strategies, values, strict=True))[:20]:
        assert tree.expected_utility(strategy) == pytest.approx(expected, abs=1e-12)
        chances = tree.outcome_distribution(strategy)
        assert sum(chances.values()) == pytest.approx(1.0)
        utilities = {path: node.utility for path, node in tree.nodes() if isinstance(node, Outcome)}
        assert sum(chance * utilities[path] for path, chance in chances.items()) == pytest.approx(expected, abs=1e-12)


def test_ties_list_all_best_actions_and_the_first_is_taken():
    """Three equal actions up to rounding, one worse."""
    tree = DecisionTree(Choice("D", {"a": 0.1 + 0.2, "b": 0.3, "c": 0, "d": Choice("E", {"x": 0.3})}))
    solution = tree.solve()
    assert solution.strategy[()] == "a"
    assert solution.ties == {(): ("a", "b", "d")}


def test_asymmetric_tree_asks_only_what_matters():
    """Drill or sell at once: the branches differ in what follows."""
    after_bad = Chance("oil", {"dry": (0.9, -75), "wet": (0.1, 145)})
    after_good = Chance("oil", {"dry": (0.3, -75), "wet": (0.7, 145)})
    untested = Chance("oil", {"dry": (0.6, -70), "wet": (0.4, 150)})
    test = Chance("test", {"bad": (0.5, Choice("then", {"stop": -5, "drill": after_bad})), "good": (0.5, after_good)})
    tree = DecisionTree(Choice("first", {"sell": 10, "test": test, "drill": untested}))
    solution = tree.solve()
    assert solution.expected_utility == pytest.approx(0.5 * -5 + 0.5 * (0.3 * -75 + 0.7 * 145))
    assert solution.strategy == {(): "test", (("first", "test"), ("test", "bad")): "stop"}
    assert tree.values(solution.strategy)[(("first", "drill"),)] == pytest.approx(18.0)
    assert (tree.num_outcomes, tree.num_nodes, tree.num_strategies) == (8, 14, 6)


def test_two_layers_of_a_decision_situation():
    """Certain outcomes lead straight to leaves, impossible ones are left out."""
    tree = DecisionTree.from_lotteries(
        {"stay": {"nothing": 1.0, "loss": 0.0}, "found": {"loss": 0.5, "gain": 0.3, "jackpot": 0.2, "never": 0}},
        {"nothing": 0, "loss": -7, "gain": 5, "jackpot": 20}.__getitem__,
    )
    root = tree.root
    assert isinstance(root, Choice)
    assert root.children[0] == Outcome(0)
    assert root.children[1].states == ("loss", "gain", "jackpot")
    assert tree.solve().expected_utility == pytest.approx(2.0)
    assert tree.solve().strategy == {(): "found"}


def test_deep_trees_do_not_overflow():
    """A thousand and more steps one after another."""
    node = Outcome(1.0)
    for step in range(1200):
        node = Choice(f"D{step}", {"stop": 0.0, "go": node})
    tree = DecisionTree(node)
    assert tree.solve().expected_utility == 1.0
    assert "... and 2202 nodes more" in draw_tree(tree, max_lines=199)


def test_text_marks_the_best_branches():
    """The drawing of the entrepreneur with a survey at its end."""
    text = str(decision_tree(entrepreneur_with_survey()).solve())
    assert text.splitlines()[0] == "□ C = 2.25"
    assert "└▶ c1: ○ S = 2.25" in text
    assert text.count("▶") == 1 + 1 + 3
    assert "▶" not in str(decision_tree(entrepreneur_with_survey()))


@pytest.mark.parametrize("unit", [1e-300, 5e-13, 1.0, 1e12, 1e300])
def test_what_is_a_tie_does_not_depend_on_the_unit(unit):
    """Small payoffs are told apart as large ones are, and what floats lose of large ones is a tie."""
    better = DecisionTree(Choice("D", {"a": 0.0, "b": unit})).solve()
    assert (better.strategy, better.ties, better.expected_utility) == ({(): "b"}, {}, unit)
    sum_of_tenths = sum([0.1] * 10)  # misses one by an ulp
    equal = DecisionTree(Choice("D", {"a": sum_of_tenths * unit, "b": unit, "c": 0.999 * unit})).solve()
    assert (equal.strategy, equal.ties) == ({(): "a"}, {(): ("a", "b")})


@pytest.mark.parametrize("missed", [1e-7, -1e-7, 0.9e-3])
def test_probabilities_that_miss_one_by_rounding_are_renormalised_with_a_warning(missed):
    """As for tables: the warning says where and by how much, and comes once."""
    with pytest.warns(RoundedProbabilities, match=f"'market' missed one by {abs(missed):.3g}") as caught:
        chance = Chance("market", {"poor": (0.5 + missed, 0), "good": (0.5, 1)})
    assert len(caught) == 1
    assert sum(chance.probabilities) == pytest.approx(1, abs=1e-15)
    assert chance.probabilities[1] == pytest.approx(0.5 / (1 + missed))
    with pytest.warns(RoundedProbabilities, match="outcomes of 'risk'") as caught:
        DecisionTree.from_lotteries({"risk": {4: 0.8 + missed, 0: 0.2}}, {0: 0, 4: 1})
    assert len(caught) == 1


def test_a_single_branch_may_miss_one_by_rounding_too():
    with pytest.warns(RoundedProbabilities):
        assert Chance("X", {"a": (1 + 1e-7, 1)}).probabilities == (1.0,)


def test_text_shows_no_rounding():
    """A mean that is zero but for rounding, and a negative zero, are printed as zero."""
    tree = DecisionTree(Chance("X", {"a": (0.5, 0.1 + 0.2), "b": (0.5, -0.3), "c": (0.0, -0.0)}))
    assert str(tree.solve()).splitlines() == ["○ X = 0", "├─ a (0.5): 0.3", "├─ b (0.5): -0.3", "└─ c (0): 0"]
    assert str(DecisionTree(Outcome(1e-20))) == "1e-20"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Choice("D", {}), "at least one action"),
        (lambda: Chance("X", {}), "at least one branch"),
        (lambda: Chance("X", {"a": (0.5, 1), "b": (0.4, 1)}), "sum to 0.9"),
        (lambda: Chance("X", {"a": (0.5, 1), "b": (0.5011, 1)}), "sum to 1.0011"),
        (lambda: Chance("X", {"a": (-0.5, 1), "b": (1.5, 1)}), "from 0 to 1"),
        (lambda: Chance("X", {"a": 1}), "pair"),
        (lambda: Choice("D", {"a": "rich"}), "not 'rich'"),
        (lambda: Outcome(float("nan")), "finite"),
        (lambda: DecisionTree(3), "root"),
    ],
)
def test_invalid_trees_are_refused(make, message):
    """Each with the name of the node."""
    with pytest.raises(InvalidModel, match=message):
        make()


def test_strategies_that_do_not_fit_are_refused():
    """A choice without an action, and an action that is none."""
    tree = DecisionTree(Choice("D", {"a": 1, "b": Choice("E", {"c": 2})}))
    assert tree.expected_utility({(): "a"}) == 1.0
    with pytest.raises(InvalidArgument, match="'E' at D=b"):
        tree.expected_utility({(): "b"})
    with pytest.raises(UnknownState, match="'z' is no action of 'D' at the root"):
        tree.expected_utility({(): "z"})


def test_trees_are_values():
    """Equal by content, and pickled."""
    tree = decision_tree(entrepreneur())
    assert pickle.loads(pickle.dumps(tree)) == tree == decision_tree(entrepreneur())
    assert hash(tree) == hash(decision_tree(entrepreneur()))


# --- from diagrams ---


def test_entrepreneur_unrolled():
    """2 without a survey; with one 2.25 net of its cost: survey, then found unless it says s0."""
    assert decision_tree(entrepreneur()).solve().expected_utility == pytest.approx(2.0)
    diagram = entrepreneur_with_survey()
    solution = decision_tree(diagram).solve()
    assert solution.expected_utility == pytest.approx(2.25)
    strategy = strategy_of_tree(diagram, solution)
    assert strategy.action("C") == "c1"
    assert [strategy.action("F", {"C": "c1", "S": seen}) for seen in ("s0", "s1", "s2")] == ["f0", "f1", "f1"]
    assert decision_tree(entrepreneur_with_survey(cost=0)).solve().expected_utility == pytest.approx(3.25)


def test_hidden_variables_as_branches():
    """The leaf after survey, s1, founding and m1 is worth -1 + 5; the value is the same as with means at the ends."""
    tree = decision_tree(entrepreneur_with_survey(), show_hidden=True)
    utilities = {path: node.utility for path, node in tree.nodes() if isinstance(node, Outcome)}
    assert utilities[(("C", "c1"), ("S", "s1"), ("F", "f1"), ("M", "m1"))] == pytest.approx(4.0)
    assert tree.solve().expected_utility == pytest.approx(2.25)
    branches = {path: node for path, node in tree.nodes() if isinstance(node, Chance)}
    np.testing.assert_allclose(
        branches[(("C", "c1"), ("S", "s0"), ("F", "f0"))].probabilities, [0.30 / 0.41, 0.09 / 0.41, 0.02 / 0.41]
    )
    assert branches[(("C", "c1"),)].states == ("s0", "s1", "s2")  # "none" has probability zero after c1


def remembering(count):
    """Random diagrams with perfect recall of which all strategies can be enumerated."""
    for seed in range(10_000):
        diagram = with_recall(random_diagram(np.random.default_rng(seed), num_chance=3, num_decisions=2, zeros=0.3))
        if 4 <= num_strategies(diagram) <= 1100:
            yield pytest.param(diagram, id=str(seed))
            count -= 1
        if not count:
            return


@pytest.mark.parametrize("show_hidden", [False, True])
@pytest.mark.parametrize("diagram", [*remembering(30)])
def test_tree_of_a_diagram_has_its_maximum(diagram, show_hidden):
    """Backward induction equals brute force over all strategies of the diagram; its strategy attains it."""
    solution = decision_tree(diagram, show_hidden=show_hidden).solve()
    best = best_value(diagram)
    assert solution.expected_utility == pytest.approx(best, abs=1e-9)
    strategy = strategy_of_tree(diagram, solution)
    assert strategy.is_deterministic
    rules = {name: np.array(rule.values) for name, rule in strategy.items()}
    assert expected_utility(diagram, rules) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("diagram", [*remembering(15)])
def test_branch_probabilities_are_those_of_every_mixed_strategy(diagram):
    """P(next | path) is the same for every strategy that can lead there: the tree needs none."""
    rng = np.random.default_rng(0)
    everything = list(diagram.variables)
    joint = chance_array(diagram)
    for name, rule in random_mixed_rules(diagram, rng).items():
        joint = joint * rule_array(diagram, name, rule)
    for path, node in decision_tree(diagram, show_hidden=True).nodes():
        if isinstance(node, Chance):
            place = [slice(None)] * len(everything)
            for name, state in path:
                variable = diagram.variables[name]
                place[everything.index(name)] = slice(variable.index(state), variable.index(state) + 1)
            axis = everything.index(node.name)
            marginal = joint[tuple(place)].sum(axis=tuple(i for i in range(len(everything)) if i != axis))
            positions = [diagram.variables[node.name].index(state) for state in node.states]
            np.testing.assert_allclose(node.probabilities, marginal[positions] / marginal.sum(), atol=1e-12)
            assert marginal.sum() == pytest.approx(marginal[positions].sum())


def test_compact_distributions_give_the_tree_of_their_tables():
    """A noisy-or of a seen cause and an action, as it is and written out."""
    compact = InfluenceDiagram(
        [
            TableCPD("A", [0.5, 0.5]),
            TableCPD("B", [0.7, 0.3]),
            NoisyOr("X", parents=["A", "B", "D"], activation={"A": 0.8, "B": 0.6, "D": 0.5}, leak=0.1),
        ],
        [Decision("D", 2, sees=["A"])],
        [Utility(["X", "D"], [[0, -1], [3, 2]])],
    )
    written = InfluenceDiagram(
        [cpd.to_table() for cpd in compact.chance.values()], compact.decisions.values(), compact.utilities.values()
    )
    trees = [decision_tree(diagram).solve() for diagram in (compact, written)]
    assert trees[0].strategy == trees[1].strategy
    assert trees[0].expected_utility == pytest.approx(best_value(written))


def test_trees_need_recall_and_room():
    """Limited memory is refused with what is missing; so is a tree that is too large, before it is built."""
    with pytest.raises(NotSupported, match=r"'D3' does not see 'D1'"):
        decision_tree(exam_chain(3, np.random.default_rng(0)))
    with pytest.raises(TooLarge, match="max_outcomes=100000"):
        decision_tree(with_recall(exam_chain(12, np.random.default_rng(0))))


def test_diagrams_without_choices():
    """No node at all, no decision, a decision with one action."""
    assert decision_tree(InfluenceDiagram()).root == Outcome(0.0)
    lone = InfluenceDiagram([MARKET], [Decision("F", ["go"])], [Utility(["M", "F"], [[1], [2], [3]])])
    assert decision_tree(lone).solve().expected_utility == pytest.approx(1.7)
    mere_chance = InfluenceDiagram([MARKET], utilities=[Utility("M", [1, 2, 3])])
    assert decision_tree(mere_chance).solve().expected_utility == pytest.approx(1.7)
    assert decision_tree(mere_chance, show_hidden=True).num_outcomes == 3


def test_tree_of_another_diagram_is_refused():
    """A tree whose choices are no decisions of the diagram."""
    with pytest.raises(InvalidArgument, match="'F', which is no decision"):
        strategy_of_tree(InfluenceDiagram(decisions=[Decision("D", 2)]), decision_tree(entrepreneur()).solve())


def test_a_very_deep_tree_is_told_without_end_of_the_stack():
    """The nodes within each other are those of the tree, to the last of 20,000."""
    node = Outcome(1.0)
    for number in range(20_000):
        node = Choice(f"c{number}", {"go": node})
    told, depth = DecisionTree(node).to_dict()["root"], 0
    while "children" in told:
        assert (told["name"], told["actions"]) == (f"c{19_999 - depth}", ["go"])
        (told,), depth = told["children"], depth + 1
    assert (depth, told) == (20_000, {"utility": 1.0})
