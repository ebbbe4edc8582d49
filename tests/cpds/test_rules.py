"""Rule CPDs: partitions of the assignments into contexts."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

from plausible.cpds import Rule, RuleCPD, Split, TreeCPD, contexts
from plausible.errors import InvalidCPD, RoundedProbabilities, TooLarge, UnknownState, UnknownVariable
from plausible.variables import Variable
from seeds import few_of

A, B, C = Variable("A", 2), Variable("B", 3), Variable("C", 2)
X = Variable("X", ["x", "y", "z"])


def random_boxes(rng: np.random.Generator, scope: list[Variable]) -> list[dict[str, frozenset[Any]]]:
    """Cut the space of assignments into boxes by random cuts, the child's among them."""
    boxes = [{variable.name: frozenset(variable.states) for variable in scope}]
    for _ in range(rng.integers(0, 8)):
        box = boxes.pop(rng.integers(len(boxes)))
        wide = [name for name, states in box.items() if len(states) > 1]
        if not wide:
            boxes.append(box)
            continue
        name = wide[rng.integers(len(wide))]
        states = sorted(box[name], key=str)
        cut = rng.integers(1, len(states))
        boxes += [{**box, name: frozenset(states[:cut])}, {**box, name: frozenset(states[cut:])}]
    return boxes


def holding(boxes: list[dict[str, frozenset[Any]]], assignment: dict[str, Any]) -> list[int]:
    return [i for i, box in enumerate(boxes) if all(assignment[name] in states for name, states in box.items())]


def parent_assignments() -> list[dict[str, Any]]:
    return [dict(zip("ABC", states, strict=True)) for states in itertools.product(A.states, B.states, C.states)]


@pytest.mark.parametrize("seed", few_of(12, 60))
def test_rules_over_random_boxes_give_the_probability_of_the_box_that_holds(seed: int) -> None:
    """Boxes cut over parents and child; probabilities from the null space of "rows sum to one"."""
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, [A, B, C, X])
    rows = [[holding(boxes, {**u, "X": x})[0] for x in X.states] for u in parent_assignments()]
    constraints = np.zeros((len(rows), len(boxes)))
    for number, row in enumerate(rows):
        for box in row:
            constraints[number, box] += 1
    probabilities = np.full(len(boxes), 1 / 3)
    _, singular, basis = np.linalg.svd(constraints)
    free = basis[(singular > 1e-9).sum() :]
    if len(free):
        step = rng.normal(size=len(free)) @ free
        probabilities = probabilities + step * 0.3 / max(np.abs(step).max(), 1e-9)
    cpd = RuleCPD(X, [Rule(box, p) for box, p in zip(boxes, probabilities, strict=True)], [A, B, C])
    table = cpd.to_factor()
    for u, row in zip(parent_assignments(), rows, strict=True):
        for x, box in zip(X.states, row, strict=True):
            assert table[{**u, "X": x}] == pytest.approx(probabilities[box], abs=1e-12)
    assert cpd.num_parameters == len(free)
    assert cpd.to_tree().is_close(cpd)
    whole = math.prod(factor.extend(cpd.scope) for factor in cpd.to_factors()) if not cpd.auxiliaries else None
    assert whole is None or whole.is_close(table)


def test_rules_of_a_tree_are_its_leaves_times_states() -> None:
    tree = TreeCPD(X, Split("A", {0: [0.2, 0.3, 0.5], 1: Split("B", {(0, 2): [1, 0, 0], 1: [0, 0.5, 0.5]})}), [A, B, C])
    rules = RuleCPD.from_tree(tree)
    assert len(rules.rules) == 3 * 3
    assert rules.num_parameters == tree.num_parameters
    assert rules.is_close(tree)
    assert rules.to_tree().is_close(tree)
    assert {c.ignored for c in rules.contexts()} == {c.ignored for c in tree.contexts()}


def test_a_rule_may_hold_for_several_states_of_the_child() -> None:
    cpd = RuleCPD(X, [({"X": "x", "A": 0}, 0.5), ({"X": ("y", "z"), "A": 0}, 0.25), ({"A": 1}, 1 / 3)], [A])
    np.testing.assert_allclose(cpd.to_factor().values, [[0.5, 0.25, 0.25], [1 / 3] * 3])
    assert cpd.num_parameters == 1


def test_factors_have_the_scopes_of_the_rules() -> None:
    rules = [
        ({"A": 0, "B": 0, "X": "x"}, 0.5),
        ({"A": 0, "B": (1, 2), "X": "x"}, 0.1),
        ({"A": 0, "B": 0, "X": ["y", "z"]}, 0.25),
        ({"A": 0, "B": [1, 2], "X": {"y", "z"}}, 0.45),
        ({"A": 1, "C": 0, "X": "x"}, 1.0),
        ({"A": 1, "C": 1, "X": "x"}, 0.0),
        ({"A": 1, "C": 0, "X": ["y", "z"]}, 0.0),
        ({"A": 1, "C": 1, "X": ["y", "z"]}, 0.5),
    ]
    factors = RuleCPD(X, rules, [A, B, C]).to_factors()
    assert {factor.names for factor in factors} == {("A", "B", "X"), ("A", "C", "X")}


def test_long_contexts_stay_small() -> None:
    """X = 1 with 0.9 when all of 40 parents are on: 41 contexts, a table of 2^41 entries."""
    parents = [Variable(f"P{i}", 2) for i in range(40)]
    on = {parent.name: 1 for parent in parents}
    off = [{**{f"P{j}": 1 for j in range(i)}, f"P{i}": 0} for i in range(40)]
    rules = [
        Rule({**c, "X": x}, p)
        for c, row in [*((c, (1.0, 0.0)) for c in off), (on, (0.1, 0.9))]
        for x, p in enumerate(row)
    ]
    cpd = RuleCPD("X", rules, parents, states=2)
    with pytest.raises(TooLarge):
        cpd.to_table()
    assert sum(factor.size for factor in cpd.to_factors()) < 10_000
    columns = {parent.name: np.array([1, int(i != 7)]) for i, parent in enumerate(parents)}
    np.testing.assert_allclose(np.exp(cpd.log_probability({**columns, "X": np.array([1, 1])})), [0.9, 0.0])
    assert cpd.ignores("P20", {"P3": 0})
    assert not cpd.ignores("P20", {"P3": 1})
    assert cpd.num_parameters == 41


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ([({"A": 0}, 1 / 3)], InvalidCPD, "No rule covers the case A=1, X=x of 'X'"),
        ([], InvalidCPD, "No rule covers the case X=x of 'X'"),
        (
            [({}, 1 / 3), ({"A": 0, "X": "y"}, 0.5)],
            InvalidCPD,
            r"X=y of 'X' is covered by rule 0 \(always\) and by rule 1 \(A=0, X=y\)",
        ),
        ([({}, 0.5)], InvalidCPD, "The row of 'X' sums to 1.5, not to one"),
        ([({"A": 0}, 1 / 3), ({"A": 1}, 0.5)], InvalidCPD, "The row of 'X' for A=1 sums to 1.5"),
        ([({"D": 0}, 0.5)], UnknownVariable, "'D' is not a variable of the CPD of 'X'"),
        ([({"A": 7}, 0.5)], UnknownState, "7 is not a state of 'A'"),
        ([({"X": "w"}, 0.5)], UnknownState, "'w' is not a state of 'X'"),
        ([({"A": []}, 0.5)], InvalidCPD, "of 'X' allows no state of 'A'"),
        ([({"A": 0}, 1.5)], InvalidCPD, r"The rule \{'A': 0\} of 'X': expected a probability between 0 and 1, not 1.5"),
        ([({"A": 0}, math.nan)], InvalidCPD, "between 0 and 1, not nan"),
        ([({"A": 0}, "high")], InvalidCPD, "expected a probability, not 'high'"),
        ([0.5], InvalidCPD, r"is Rule\(context, probability\), not 0.5"),
        ([("A", 0.5)], InvalidCPD, "The context of a rule of 'X' is a mapping, not 'A'"),
    ],
)
def test_wrong_rules_are_refused_by_name(rules: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        RuleCPD(X, rules, [A, B])


def test_rounded_rules_are_rescaled_with_one_warning() -> None:
    rules = [({"A": 0, "X": x}, 0.333) for x in X.states] + [({"A": 1, "X": x}, 0.3335) for x in X.states]
    with pytest.warns(RoundedProbabilities, match="2 rows of 'X'") as caught:
        cpd = RuleCPD(X, rules, [A])
    assert len(caught) == 1
    np.testing.assert_allclose(cpd.to_factor().values, 1 / 3)


def test_a_rule_shared_by_rows_that_miss_one_differently_is_refused() -> None:
    rules = [({"X": "x"}, 0.5), ({"X": ["y", "z"], "A": 0}, 0.25), ({"X": ["y", "z"], "A": 1}, 0.2499)]
    with (
        pytest.warns(RoundedProbabilities),
        pytest.raises(InvalidCPD, match="The rule for X=x of 'X' stands in rows whose sums miss one differently"),
    ):
        RuleCPD(X, rules, [A])


def test_the_number_of_contexts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "MAX_CONTEXTS", 3)
    tree = Split("A", {0: [1, 0], 1: Split("B", {0: [1, 0], 1: [0, 1], 2: [0.5, 0.5]})})
    with pytest.raises(TooLarge, match="The rules of 'X' make more than 3 contexts"):
        RuleCPD.from_tree(TreeCPD("X", tree, [A, B]))


def test_states_are_needed_for_a_child_given_by_name() -> None:
    with pytest.raises(InvalidCPD, match="'X' needs the states of its variable"):
        RuleCPD("X", [({}, 0.5)], [A])


@pytest.mark.parametrize("rules", [None, 3, Rule({}, 0.5)])
def test_rules_that_are_no_list_are_refused_by_name(rules: Any) -> None:
    with pytest.raises(InvalidCPD, match=r"The CPD of 'X' needs rules=\[Rule\(...\), ...\], not "):
        RuleCPD(X, rules, [A])


@pytest.mark.parametrize(
    ("context", "number", "message"),
    [
        ("a", 0.5, "The context of a rule is a mapping from names to states, not 'a'"),
        (None, 0.5, "is a mapping from names to states, not None"),
        ({}, "x", r"The rule \{\}: expected a probability, not 'x'"),
        ({"A": 0}, 1.5, r"The rule \{'A': 0\}: expected a probability between 0 and 1, not 1.5"),
        ({"A": 0}, math.nan, "between 0 and 1, not nan"),
    ],
)
def test_a_wrong_rule_is_refused_where_it_is_made(context: Any, number: Any, message: str) -> None:
    with pytest.raises(InvalidCPD, match=message):
        Rule(context, number)


def test_a_rule_does_not_change_with_what_it_was_made_of() -> None:
    """Neither by the mapping, nor by a list of states in it, nor from outside."""
    states, others = ["y", "z"], {0, 1}
    context = {"X": states, "B": others}
    rule = Rule(context, 0.25)
    context["A"] = 0
    states.append("x")
    others.add(2)
    assert rule == Rule({"X": ("y", "z"), "B": frozenset({0, 1})}, 0.25)
    with pytest.raises(TypeError, match="does not support item assignment"):
        rule.context["A"] = 0


def test_equal_rules_have_equal_hashes_and_survive_copies() -> None:
    one, two = Rule({"A": 0, "X": ["y", "z"]}, 0.25), Rule({"X": ("y", "z"), "A": 0}, 0.25)
    assert len({one, two, Rule({"A": 0}, 0.25), Rule({"A": 0}, 0.5)}) == 3
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert eval(repr(one)) == one
