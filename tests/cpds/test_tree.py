"""Tree CPDs: the tree, its contexts, its factors."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.cpds import RuleCPD, Split, TreeCPD
from plausible.errors import InvalidCPD, RoundedProbabilities, TooLarge, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.io.json_format import format_json, parse_json
from plausible.variables import Variable

A = Variable("A", ["a0", "a1"])
B = Variable("B", ["b0", "b1", "b2"])
C = Variable("C", ["c0", "c1"])
PARENTS = (A, B, C)


@st.composite
def trees(draw: st.DrawFn, open_parents: tuple[Variable, ...] = PARENTS) -> Any:
    """Splits on any parent that is not on the branch yet, by any grouping of its states; leaves with zeros."""
    if not open_parents or draw(st.integers(0, 3)) == 0:
        weights = draw(st.lists(st.integers(0, 4), min_size=2, max_size=2).filter(any))
        return [weight / sum(weights) for weight in weights]
    parent = draw(st.sampled_from(open_parents))
    below = tuple(other for other in open_parents if other is not parent)
    groups: dict[int, list[Any]] = {}
    for state in parent.states:
        groups.setdefault(draw(st.integers(0, 2)), []).append(state)
    branches = {tuple(states) if len(states) > 1 else states[0]: draw(trees(below)) for states in groups.values()}
    if draw(st.booleans()):
        _, subtree = branches.popitem()
        return Split(parent.name, branches, default=subtree)
    return Split(parent.name, branches)


def walk(tree: Any, assignment: dict[str, Any]) -> list[float]:
    """The leaf by hand."""
    while isinstance(tree, Split):
        state = assignment[tree.variable]
        named = (sub for key, sub in tree.branches.items() if state == key or (isinstance(key, tuple) and state in key))
        tree = next(named, tree.default)
    return tree


def every_assignment() -> list[dict[str, Any]]:
    names = [parent.name for parent in PARENTS]
    return [dict(zip(names, states, strict=True)) for states in itertools.product(*(p.states for p in PARENTS))]


@given(tree=trees())
@settings(max_examples=24, deadline=None)
def test_the_table_has_the_leaf_that_the_walk_finds(tree: Any) -> None:
    cpd = TreeCPD("X", tree, PARENTS)
    table, factors = cpd.to_factor(), cpd.to_factors()
    for assignment in every_assignment():
        leaf = walk(tree, assignment)
        columns = {parent.name: np.array(parent.index(assignment[parent.name])) for parent in PARENTS}
        for x in (0, 1):
            assert table[{**assignment, "X": x}] == leaf[x]
            logs = cpd.log_probability({**columns, "X": np.array(x)})
            assert math.exp(logs) == pytest.approx(leaf[x], abs=1e-15)
            whole = sum(
                math.prod(factor[{**assignment, "X": x, **hidden}] for factor in factors)
                for hidden in (
                    [{cpd.auxiliaries[0].name: n} for n in range(len(cpd.rows))] if cpd.auxiliaries else [{}]
                )
            )
            assert whole == pytest.approx(leaf[x], abs=1e-15)


@given(tree=trees())
@settings(max_examples=16, deadline=None)
def test_a_context_is_independent_of_its_ignored_parents(tree: Any) -> None:
    """X ⟂ remaining parents | the branch; and contexts split the assignments among them."""
    cpd = TreeCPD("X", tree, PARENTS)
    covered = 0
    for context in cpd.contexts():
        inside = [a for a in every_assignment() if all(a[name] in states for name, states in context.states.items())]
        covered += len(inside)
        assert {tuple(walk(tree, assignment)) for assignment in inside} == {context.probabilities}
        assert set(context.ignored) == {parent.name for parent in PARENTS} - set(context.states)
    assert covered == len(every_assignment())


@given(tree=trees(), seed=st.integers(0, 1000))
@settings(max_examples=16, deadline=None)
def test_ignores_equals_the_comparison_of_walks(tree: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cpd = TreeCPD("X", tree, PARENTS)
    fixed = {p.name: p.states[rng.integers(p.num_states)] for p in PARENTS if rng.random() < 0.5}
    free = [p.name for p in PARENTS if p.name not in fixed and rng.random() < 0.7]
    rows: dict[Any, set[tuple[float, ...]]] = {}
    for assignment in every_assignment():
        if all(assignment[name] == state for name, state in fixed.items()):
            key = tuple(state for name, state in assignment.items() if name not in free)
            rows.setdefault(key, set()).add(tuple(walk(tree, assignment)))
    assert cpd.ignores(free, fixed) == all(len(row) == 1 for row in rows.values())


def test_parameters_are_counted_by_leaf() -> None:
    cpd = TreeCPD("X", Split("A", {"a0": [0.2, 0.3, 0.5], "a1": Split("B", {}, default=[1, 0, 0])}), PARENTS)
    assert cpd.num_parameters == 2 * 2
    assert cpd.to_table().num_parameters == 12 * 2


def test_factors_mention_only_the_parents_on_a_path() -> None:
    tree = Split(
        "A",
        {"a0": Split("B", {"b0": [1, 0]}, default=[0.5, 0.5]), "a1": Split("C", {"c0": [0.1, 0.9], "c1": [0.3, 0.7]})},
    )
    factors = TreeCPD("X", tree, PARENTS).to_factors()
    assert {factor.names for factor in factors} == {("A", "B", "X"), ("A", "C", "X")}


def test_a_long_chain_of_parents_stays_small() -> None:
    """A table of 2^61 entries; a path of 60 parents has no small table either, so leaves become an auxiliary."""
    parents = [Variable(f"P{i}", 2) for i in range(60)]
    tree: Any = [0.0, 1.0]
    for parent in reversed(parents):
        tree = Split(parent.name, {0: [0.75, 0.25], 1: tree})
    cpd = TreeCPD("X", tree, parents)
    with pytest.raises(TooLarge, match="The table of 'X' over 61 variables"):
        cpd.to_table()
    factors = cpd.to_factors()
    assert sum(factor.size for factor in factors) == 61 * (60 * 2 + 2)
    assert [variable.name for variable in cpd.auxiliaries] == ["X#"]
    rows = np.ones((2, 60), dtype=int)
    rows[1, 37] = 0
    columns = {parent.name: rows[:, i] for i, parent in enumerate(parents)}
    for x in (0, 1):
        expected = [[0.0, 1.0][x], [0.75, 0.25][x]]
        product = np.ones((2, 61))
        for factor in factors[:-1]:
            product *= factor.values[columns[factor.names[0]]]
        np.testing.assert_allclose(product @ factors[-1].values[:, x], expected)
        np.testing.assert_allclose(np.exp(cpd.log_probability({**columns, "X": np.full(2, x)})), expected)
    assert cpd.ignores("P59", {"P3": 0})
    assert not cpd.ignores("P59", {"P3": 1})


def test_the_auxiliary_avoids_the_names_of_the_scope() -> None:
    parents = [Variable(name, 2) for name in ("X#", "X##", *(f"P{i}" for i in range(12)))]
    tree: Any = [0.0, 1.0]
    for parent in parents:
        tree = Split(parent.name, {0: [0.75, 0.25], 1: tree})
    assert [variable.name for variable in TreeCPD("X", tree, parents).auxiliaries] == ["X###"]


def test_context_index_counts_leaves_as_contexts_does() -> None:
    cpd = TreeCPD("X", Split("B", {"b1": [1, 0], ("b0", "b2"): Split("A", {"a0": [0, 1], "a1": [0.5, 0.5]})}), PARENTS)
    columns = {"A": np.array([0, 0, 1, 1]), "B": np.array([1, 0, 2, 1]), "C": np.array([0, 1, 0, 1])}
    leaves = cpd.context_index(columns)
    assert leaves.tolist() == [0, 1, 2, 0]
    assert [cpd.contexts()[leaf].probabilities for leaf in leaves] == [(1, 0), (0, 1), (0.5, 0.5), (1, 0)]


def test_a_split_on_all_states_at_once_is_no_context() -> None:
    cpd = TreeCPD("X", Split("A", {}, default=Split("C", {"c0": [1, 0], "c1": [0, 1]})), PARENTS)
    assert [context.ignored for context in cpd.contexts()] == [("A", "B"), ("A", "B")]
    assert [factor.names for factor in cpd.to_factors()] == [("C", "X")]


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        (Split("D", {"d": [1, 0]}), UnknownVariable, "'D' is not a variable of the parents of 'X'"),
        (Split("A", {"a0": [1, 0], "a1": Split("C", {}, Split("A", {}, [1, 0]))}), InvalidCPD, "branch A -> C -> A"),
        (Split("A", {"a0": [1, 0]}), InvalidCPD, "The split on 'A' in the tree of 'X' has no branch for 'a1'"),
        (Split("A", {"a0": [1, 0], "a2": [1, 0]}), UnknownState, "'a2' is not a state of 'A'"),
        (
            Split("B", {("b0", "b1"): [1, 0], "b1": [1, 0], "b2": [1, 0]}),
            InvalidCPD,
            "branch 'b1', which is empty or repeats",
        ),
        (Split("A", {}), InvalidCPD, "has no branches"),
        (
            Split("A", {"a0": [1, 0], "a1": Split("B", {"b0": [1, 0]})}),
            InvalidCPD,
            r"'B' .* \(at A=a1\) has no branch for 'b1'",
        ),
        (Split("A", {"a0": [1, 0], "a1": [0.5, 0.6]}), InvalidCPD, "The row of 'X' for A=a1 sums to 1.1"),
        (Split("A", {"a0": [1, 0], "a1": [1.5, -0.5]}), InvalidCPD, "for A=a1 has the entry -0.5"),
        (Split("A", {"a0": [1, 0], "a1": [1, 0, 0]}), InvalidCPD, "The row 'A=a1' of 'X' has shape"),
        (Split("A", {"a0": [1, 0], "a1": {0: 1.0}}), InvalidCPD, "The row 'A=a1' of 'X' has no probability for 1"),
        (Split("A", {"a0": [1, 0], "a1": 0.5}), InvalidCPD, "A leaf in the tree of 'X' is no list of numbers"),
        (Split("A", {"a0": [1, 0], "a1": [math.nan, 0]}), InvalidCPD, "for A=a1 has the entry nan"),
    ],
)
def test_a_wrong_tree_is_refused_by_name(tree: Split, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TreeCPD("X", tree, PARENTS)


def test_rounding_in_several_leaves_gives_one_warning() -> None:
    with pytest.warns(RoundedProbabilities, match="2 rows of 'X'") as caught:
        cpd = TreeCPD("X", Split("A", {"a0": [0.333] * 3, "a1": [0.3335] * 3}), PARENTS)
    assert len(caught) == 1
    np.testing.assert_allclose(cpd.rows, 1 / 3)


def test_what_the_caller_gave_is_copied() -> None:
    leaf = [0.5, 0.5]
    cpd = TreeCPD("X", Split("A", {"a0": leaf, "a1": [1, 0]}), ["A"])
    leaf[:] = [0.9, 0.1]
    assert cpd.bind({"A": A}).rows[0].tolist() == [0.5, 0.5]


def test_a_record_with_wrong_positions_is_refused() -> None:
    x = Variable("X", 2)
    leaf = {"probabilities": [0.5, 0.5]}
    for root in ({"parent": 3, "branches": []}, {"parent": 0, "branches": [[0], [2]]}, {"parent": 0}):
        with pytest.raises(InvalidCPD, match=r"'X'|'A'"):
            TreeCPD.from_record(x, PARENTS, {"tree": [root, leaf, leaf]})


def test_factors_are_never_larger_than_the_table() -> None:
    full = Split(
        "A", {a: Split("B", {b: Split("C", {"c0": [1, 0], "c1": [0, 1]}) for b in B.states}) for a in A.states}
    )
    factors = TreeCPD("X", full, PARENTS).to_factors()
    assert [factor.size for factor in factors] == [24]
    assert isinstance(factors[0], Factor)


# --- deep trees ---

DEEP = 1500  # beyond the depth at which Python refuses to recurse


def decision_list(depth: int, deep_first: bool = False) -> tuple[list[Variable], Any]:
    """Looks at P0, P1, ... as long as they are on; the leaf of the first that is off, else (0, 1)."""
    parents = [Variable(f"P{level}", 2) for level in range(depth)]
    tree: Any = [0.0, 1.0]
    for level in reversed(range(depth)):
        leaf = [1 - 0.5 / (level + 1), 0.5 / (level + 1)]
        tree = Split(f"P{level}", {1: tree, 0: leaf} if deep_first else {0: leaf, 1: tree})
    return parents, tree


@pytest.mark.parametrize("deep_first", [False, True])
def test_a_tree_may_be_deeper_than_the_stack(deep_first: bool) -> None:
    """Built bound or by name, compared, evaluated, copied, recorded, printed and given back."""
    parents, tree = decision_list(DEEP, deep_first)
    cpd = TreeCPD("X", tree, parents)
    by_name = TreeCPD("X", tree, [parent.name for parent in parents])
    assert by_name.bind({parent.name: parent for parent in parents}) == cpd
    rows = np.ones((3, DEEP), dtype=int)
    rows[1, [17, 1200]], rows[2, DEEP - 1] = 0, 0
    columns = {parent.name: rows[:, level] for level, parent in enumerate(parents)}
    logs = cpd.log_probability({**columns, "X": np.ones(3, dtype=int)})
    np.testing.assert_allclose(np.exp(logs), [1.0, 0.5 / 18, 0.5 / DEEP])
    for value in (cpd, by_name):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
        assert len(str(value).splitlines()) < 30
        assert "more lines" in str(value)
        assert TreeCPD("X", value.tree, value.parent_names) == TreeCPD("X", cpd.tree, cpd.parent_names)
    record = json.loads(json.dumps(cpd.to_record()))
    assert TreeCPD.from_record(cpd.variable, cpd.parents, record) == cpd
    assert cpd.num_parameters == DEEP + 1


def test_a_network_with_a_deep_tree_survives_a_file() -> None:
    parents, tree = decision_list(1100)
    network = pb.BayesianNetwork(
        [pb.TableCPD(parent, [0.5, 0.5]) for parent in parents],
    )
    network = network.with_cpd(TreeCPD("X", tree, parents))
    assert parse_json(format_json(network)) == network
    assert network.renamed({"X": "Y"}).cpd("Y").num_parameters == 1101


@pytest.mark.slow
def test_a_deep_tree_has_factors_and_rules() -> None:
    """At a depth at which recursion would fail."""
    depth = 600
    parents, tree = decision_list(depth)
    cpd = TreeCPD("X", tree, parents)
    assert sum(factor.size for factor in cpd.to_factors()) == (depth + 1) * (2 * depth + 2)
    assert cpd.contexts()[depth - 1].probabilities == (1 - 0.5 / depth, 0.5 / depth)
    assert RuleCPD.from_tree(cpd).to_tree() == cpd


def test_a_wrong_row_deep_down_is_refused_with_its_path() -> None:
    parents, tree = decision_list(1500)
    bad = Split("P0", {0: [0.5, 0.6], 1: tree.branches[1]})
    with pytest.raises(InvalidCPD, match=r"The row of 'X' for P0=0 sums to 1\.1"):
        TreeCPD("X", bad, parents)
    twice = Split("Q", {0: tree, 1: Split("Q", {}, [1, 0])})
    with pytest.raises(InvalidCPD, match="looks twice at 'Q' on the branch Q -> Q"):
        TreeCPD("X", twice, [*parents, Variable("Q", 2)])


def test_a_default_without_states_is_left_out_with_all_that_is_below() -> None:
    below = Split("B", {"b0": [0, 1]}, default=Split("C", {}, [0.5, 0.5]))
    cpd = TreeCPD("X", Split("A", {"a0": [1, 0], "a1": [0.25, 0.75]}, default=below), PARENTS)
    assert cpd.rows.tolist() == [[1, 0], [0.25, 0.75]]
    assert [context.ignored for context in cpd.contexts()] == [("B", "C"), ("B", "C")]


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [{"parent": 0, "branches": [[0], [1]]}, {"probabilities": [1, 0]}],
        [{"probabilities": [1, 0]}, {"probabilities": [1, 0]}],
        [{"parent": 0, "branches": []}],
        [{"parent": True, "branches": 3}],
        [{"probabilities": 0.5}],
        [7],
    ],
)
def test_nodes_that_make_no_tree_are_refused(nodes: Any) -> None:
    with pytest.raises(InvalidCPD, match="'X'"):
        TreeCPD.from_record(Variable("X", 2), PARENTS, {"tree": nodes})


# --- splits as values ---


def test_a_wrong_split_is_refused_where_it_is_made() -> None:
    with pytest.raises(InvalidCPD, match="The branches of the split on 'A' are a mapping from states to subtrees"):
        Split("A", [[1, 0], [0, 1]])
    with pytest.raises(InvalidCPD, match="looks at a parent by its name, not at 3"):
        Split(3, {"a0": [1, 0]})


def test_a_split_does_not_change_with_what_it_was_made_of() -> None:
    """Neither by the mapping of branches, nor by leaves, nor from outside."""
    listed, keyed, array = [1.0, 0.0], {0: 0.5, 1: 0.5}, np.array([0.25, 0.75])
    branches = {"b0": listed, "b1": keyed}
    split = Split("B", branches, default=array)
    same = Split("B", {"b0": [1.0, 0.0], "b1": {0: 0.5, 1: 0.5}}, default=[0.25, 0.75])
    branches["b2"], listed[0], keyed[0], array[0] = [0, 1], 9.0, 9.0, 9.0
    assert split == same
    for mapping in (split.branches, split.branches["b1"]):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["b0"] = [0.0, 1.0]
    with pytest.raises(TypeError, match="does not support item assignment"):
        split.branches["b0"][0] = 9.0
    assert TreeCPD("X", split, PARENTS).rows.tolist() == [[1, 0], [0.5, 0.5], [0.25, 0.75]]


def test_equal_splits_have_equal_hashes_and_survive_copies() -> None:
    one = Split("A", {"a0": [1, 0], "a1": Split("B", {"b0": {0: 1, 1: 0}}, default=[0, 1])})
    two = Split("A", {"a1": Split("B", {"b0": {0: 1, 1: 0}}, default=(0, 1)), "a0": (1, 0)})
    assert len({one, two, Split("A", {"a0": [1, 0], "a1": [1, 0]})}) == 2
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert eval(repr(one)) == one
    assert isinstance(hash(decision_list(DEEP)[1]), int)
