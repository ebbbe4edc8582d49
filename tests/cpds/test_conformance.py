"""Every kind of CPD keeps the promises of the base class, on worked, random and degenerate instances."""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import json
import math
import pickle
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from plausible.cpds import (
    CPD,
    KINDS,
    AggregateCPD,
    ConditionalGaussianCPD,
    DeterministicCPD,
    LinearGaussianCPD,
    LogisticCPD,
    Multiplexer,
    NoisyMax,
    NoisyOr,
    Rule,
    RuleCPD,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import (
    InvalidArgument,
    InvalidCPD,
    NotSupported,
    PlausibleError,
    TooLarge,
    UnknownState,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.variables import Variable

A = Variable("A", ["a0", "a1"])
B = Variable("B", ["b0", "b1", "b2"])
C = Variable("C", [False, True])
ONE = Variable("one", ["only"])
Z, W = Variable("Z"), Variable("W")


@dataclass(frozen=True)
class Case:
    """How to build a CPD from its parents, given as variables or by name, and what it must count."""

    name: str
    parents: tuple[Variable, ...]
    build: Callable[[Sequence[Any]], CPD]
    num_parameters: int

    def bound(self) -> CPD:
        return self.build(self.parents)

    def unbound(self) -> CPD:
        return self.build([parent.name for parent in self.parents])


def random_rows(seed: int, *shape: int) -> np.ndarray:
    """Rows with some zeros."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    keep = rng.random(shape) > 0.2
    keep[..., 0] = True
    rows = rows * keep
    return rows / rows.sum(axis=-1, keepdims=True)


TREE = Split("B", {"b0": [0.2, 0.8], ("b1", "b2"): Split("A", {"a0": {"x": 0.5, "y": 0.5}}, default=[1.0, 0.0])})
AND_RULES = [
    Rule({"A": "a0", "X": 0}, 1.0),
    Rule({"A": "a0", "X": 1}, 0.0),
    Rule({"A": "a1", "C": True, "X": 1}, 0.7),
    Rule({"A": "a1", "C": False, "X": 1}, 0.2),
    Rule({"A": "a1", "C": True, "X": 0}, 0.3),
    Rule({"A": "a1", "C": False, "X": 0}, 0.8),
]
#: Where A = a0, two states of X share a rule.
SHARED_RULES = [
    Rule({"X": "x", "A": "a0"}, 0.25),
    Rule({"X": "x", "A": "a1"}, 0.5),
    Rule({"X": "y", "A": "a1"}, 0.25),
    Rule({"X": "z", "A": "a1"}, 0.25),
    Rule({"X": ["y", "z"], "A": "a0"}, 0.375),
]


def deep_tree(depth: int) -> Split | list[float]:
    """Looks at P0, P1, ... as long as they are on."""
    tree: Any = [0.05, 0.95]
    for level in reversed(range(depth)):
        tree = Split(f"P{level}", {1: tree}, default=[1 - 0.9 / (level + 1), 0.9 / (level + 1)])
    return tree


MANY = tuple(Variable(f"P{i}", 2) for i in range(8))
GRADES = tuple(Variable(f"G{i}", ["low", "middle", "high"]) for i in range(4))
PRICES = tuple(Variable(f"price{i}", [10, 20, 40]) for i in range(3))

DISCRETE = [
    Case("table-prior", (), lambda p: TableCPD("X", [0.2, 0.5, 0.3], p), 2),
    Case("table", (A, B), lambda p: TableCPD("X", random_rows(1, 2, 3, 4), p), 18),
    Case("table-keyed", (A,), lambda p: TableCPD("X", {"a1": {0: 0.5, 1: 0.5}, "a0": [1, 0]}, p), 2),
    Case("table-one-state", (ONE, A), lambda p: TableCPD("X", np.ones((1, 2, 1)), p, states=["x"]), 0),
    Case("deterministic-constant", (), lambda p: DeterministicCPD("X", lambda: "y", p, states=["x", "y"]), 0),
    Case("deterministic-and", (A, C), lambda p: DeterministicCPD("X", lambda a, c: a == "a1" and c, p, [0, 1]), 0),
    Case("deterministic-wide", (A, B, ONE), lambda p: DeterministicCPD("X", lambda a, b, o: a + b, p, PAIRS), 0),
    Case("tree", (A, B, C), lambda p: TreeCPD("X", TREE, p, states=["x", "y"]), 3),
    Case("tree-leaf", (A, B), lambda p: TreeCPD("X", [0.1, 0.2, 0.7], p), 2),
    Case(
        "tree-one-state",
        (ONE, A),
        lambda p: TreeCPD("X", Split("one", {"only": Split("A", {"a0": [1], "a1": [1]})}), p),
        0,
    ),
    Case("tree-trivial", (), lambda p: TreeCPD("X", [1.0], p), 0),
    Case("rules-trivial", (), lambda p: RuleCPD("X", [({}, 1.0)], p, states=1), 0),
    Case("table-trivial", (ONE,), lambda p: TableCPD("X", [[1.0]], p), 0),
    Case("tree-deep", MANY, lambda p: TreeCPD("X", deep_tree(8), p), 9),
    Case("rules-and", (A, C), lambda p: RuleCPD("X", AND_RULES, p, states=2), 3),
    Case("rules-shared", (A, B), lambda p: RuleCPD("X", SHARED_RULES, p, states=["x", "y", "z"]), 3),
    Case("rules-constant", (A,), lambda p: RuleCPD("X", [({}, 0.25)], p, states=4), 0),
    Case("rules-one-state", (ONE,), lambda p: RuleCPD("X", [({"one": "only", "X": "x"}, 1.0)], p, states=["x"]), 0),
    Case("noisy-or", (A, C), lambda p: NoisyOr("X", p, {"A": 0.8, "C": 0.5}, leak=0.1), 3),
    Case("noisy-or-none", (), lambda p: NoisyOr("X", p, [], leak=0.3), 1),
    Case("noisy-or-sure", (A, C, ONE), lambda p: NoisyOr("X", p, [1.0, 0.5, 0.0]), 4),
    Case("noisy-or-leak-one", (A,), lambda p: NoisyOr("X", p, [0.5], leak=1.0, states=["off", "on"]), 2),
    Case(
        "noisy-or-active",
        (A, B, ONE),
        lambda p: NoisyOr("X", p, [0.3, 0.6, 0.2], 0.05, None, {"B": "b1", "A": "a0"}),
        4,
    ),
    Case(
        "noisy-max",
        (A, B),
        lambda p: NoisyMax("X", p, {"A": random_rows(2, 2, 3), "B": random_rows(3, 3, 3)}, [0.9, 0.1, 0]),
        12,
    ),
    Case("noisy-max-none", (), lambda p: NoisyMax("X", p, [], leak=[0.5, 0.25, 0.25]), 2),
    Case("noisy-max-sure", (A, ONE), lambda p: NoisyMax("X", p, [{"a1": [0, 0, 1], "a0": [0, 1, 0]}, [[1, 0, 0]]]), 8),
    Case("noisy-max-one-state", (A,), lambda p: NoisyMax("X", p, [[[1], [1]]]), 0),
    Case("multiplexer", (C, A, B), lambda p: Multiplexer("X", p[0], p[1:], ["b2", "a0", "b0", "a1", "b1"]), 0),
    Case("multiplexer-one", (ONE, A), lambda p: Multiplexer("X", p[0], p[1:], ["a0", "a1"]), 0),
    Case("aggregate-max", GRADES, lambda p: AggregateCPD("X", "max", p, states=["low", "middle", "high"]), 0),
    Case(
        "aggregate-median", GRADES, lambda p: AggregateCPD("X", "median", p, states=GRADES[0].states, ties="upper"), 0
    ),
    Case("aggregate-mode", GRADES[:3], lambda p: AggregateCPD(Variable("X", GRADES[0].states), "mode", p), 0),
    Case("aggregate-mean", PRICES, lambda p: AggregateCPD("X", "mean", p, states=[10, 20, 40]), 0),
    Case("aggregate-count", GRADES, lambda p: AggregateCPD("X", "count", p, of=["low", "high"], states=3), 0),
    Case("aggregate-count-all", MANY[:2], lambda p: AggregateCPD("X", "count", p), 0),
    Case("aggregate-exists", GRADES, lambda p: AggregateCPD("X", "exists", p, of="low", states=["no", "yes"]), 0),
    Case("aggregate-one-state", (ONE,), lambda p: AggregateCPD("X", "min", p, states=["only"]), 0),
    Case("logistic", (A, C), lambda p: LogisticCPD("X", p, [2.0, 0.5], -1.0), 3),
    Case("logistic-per-state", (A, B), lambda p: LogisticCPD("X", p, {"A": 0.3, "B": [0.0, 3.0, -7.0]}, 8.0), 4),
    Case("logistic-softmax", (A, B), lambda p: LogisticCPD("X", p, [[1.0, -1.0], random_rows(4, 3, 2)], [0.5, 2.0]), 8),
    Case("logistic-codes", (B, ONE), lambda p: LogisticCPD("X", p, [1.5, 2.0], codes={"B": [-1, 0, 4]}), 2),
    Case("logistic-one-state", (A,), lambda p: LogisticCPD("X", p, [[]], states=["x"]), 0),
]
PAIRS = ["a0b0", "a0b1", "a0b2", "a1b0", "a1b1", "a1b2"]

CONTINUOUS = [
    Case("linear-gaussian-prior", (), lambda p: LinearGaussianCPD("Y", 1.5, variance=2.0, parents=p), 2),
    Case("linear-gaussian", (Z, W), lambda p: LinearGaussianCPD("Y", 1.0, {"W": 0.0, "Z": -2.0}, 0.25, p), 4),
    Case("conditional-gaussian", (Z, A, B), lambda p: ConditionalGaussianCPD(
        "Y", np.arange(6.0).reshape(2, 3), {"Z": [[0, 0, 0], [1, 2, 3]]}, np.full((2, 3), 2.0), p), 18),
    Case("conditional-gaussian-shared", (A,), lambda p: ConditionalGaussianCPD("Y", [0.0, 5.0], {}, 1.0, p), 4),
    Case("logistic-continuous", (Z, A), lambda p: LogisticCPD("Y", p, {"Z": 3.0, "A": -1.0}, 0.5), 3),
]  # fmt: skip
EVERY = [*DISCRETE, *CONTINUOUS]


def named(cases: Iterable[Case]) -> pytest.MarkDecorator:
    listed = list(cases)
    return pytest.mark.parametrize("case", listed, ids=[case.name for case in listed])


def assignments(variables: Sequence[Variable]) -> Iterator[dict[str, Any]]:
    for states in itertools.product(*(variable.states for variable in variables)):
        yield dict(zip([variable.name for variable in variables], states, strict=True))


def positions(cpd: CPD) -> dict[str, np.ndarray]:
    """One row for each assignment to the scope, in row-major order."""
    rows = np.array(list(itertools.product(*(range(v.num_states) for v in cpd.scope))))
    return {variable.name: rows[:, column] for column, variable in enumerate(cpd.scope)}


# --- the registry ---


def test_every_final_class_is_registered_by_its_kind() -> None:
    derived = list(CPD.__subclasses__())
    for kind in derived:
        derived += kind.__subclasses__()
    final = {kind for kind in derived if not inspect.isabstract(kind)}
    assert set(KINDS.values()) == {kind for kind in final if kind.__module__.startswith("plausible.cpds")}
    assert all(KINDS[name].kind == name for name in KINDS)
    assert {type(case.bound()) for case in EVERY} == set(KINDS.values()), "each kind has an instance here"


# --- binding ---


@named(EVERY)
def test_binding_by_name_equals_building_with_variables(case: Case) -> None:
    bound = case.unbound().bind({parent.name: parent for parent in (*case.parents, Variable("other", 2))})
    assert bound == case.bound()
    assert bound.parents == case.parents
    assert bound.parent_names == tuple(parent.name for parent in case.parents)
    assert bound.bind({parent.name: parent for parent in case.parents}) is bound


@named(case for case in DISCRETE if case.parents)
def test_an_unbound_cpd_says_so(case: Case) -> None:
    cpd = case.unbound()
    assert not cpd.is_bound
    assert cpd == case.unbound() or isinstance(cpd, DeterministicCPD)
    for question in (
        lambda: cpd.parents,
        lambda: cpd.to_factors(),
        lambda: cpd.to_factor(),
        lambda: cpd.ignores("A", {}),
    ):
        with pytest.raises(PlausibleError, match=r"by name only|not a variable"):
            question()


@named(case for case in EVERY if case.parents)
def test_binding_names_the_parent_that_is_missing(case: Case) -> None:
    *rest, last = case.parents
    with pytest.raises(UnknownVariable, match=f"'{last.name}' is not a variable of this network.*parent of '[XY]'"):
        case.unbound().bind({parent.name: parent for parent in rest})


@named(case for case in EVERY if case.parents and case.name != "linear-gaussian")
def test_a_bound_cpd_refuses_a_parent_with_other_states(case: Case) -> None:
    changed = {p.name: Variable(p.name, ["u", "v"]) if p == case.parents[0] else p for p in case.parents}
    with pytest.raises(InvalidCPD, match=f"other states of its parent '{case.parents[0].name}'"):
        case.bound().bind(changed)


@named(case for case in DISCRETE if case.parents and not case.name.startswith("logistic"))
def test_discrete_kinds_refuse_a_continuous_parent(case: Case) -> None:
    changed = {p.name: Variable(p.name) if p == case.parents[0] else p for p in case.parents}
    with pytest.raises(InvalidCPD, match=f"continuous parent '{case.parents[0].name}'"):
        case.unbound().bind(changed)


@pytest.mark.parametrize(
    "build",
    [
        lambda v, p: TableCPD(v, [0.5, 0.5], p),
        lambda v, p: DeterministicCPD(v, lambda *_: 0, p),
        lambda v, p: TreeCPD(v, [0.5, 0.5], p),
        lambda v, p: RuleCPD(v, [({}, 0.5)], p),
        lambda v, p: NoisyOr(v, p, [0.5] * len(p)),
        lambda v, p: NoisyMax(v, p, [np.eye(2)] * len(p)),
        lambda v, p: Multiplexer(v, "S", p),
        lambda v, p: AggregateCPD(v, "exists", p),
        lambda v, p: LogisticCPD(v, p, [0.5] * len(p)),
    ],
)
def test_a_discrete_kind_refuses_a_continuous_child_and_repeated_parents(build: Callable[..., CPD]) -> None:
    with pytest.raises(InvalidCPD, match="'Y' is continuous"):
        build(Variable("Y"), ["A"])
    with pytest.raises(InvalidCPD, match="'A' stands twice in the CPD of 'X'"):
        build(Variable("X", 2), ["A", "A"])
    with pytest.raises(InvalidCPD, match="'X' stands twice in the CPD of 'X': nothing is its own parent"):
        build(Variable("X", 2), ["A", "X"])


def test_a_parent_given_as_variable_among_names_is_remembered() -> None:
    """Reordered states of the one known parent must not pass, though the shape fits."""
    half_bound = TableCPD("X", np.full((2, 3, 2), 0.5), parents=[A, "B"])
    with pytest.raises(InvalidCPD, match="other states of its parent 'A'"):
        half_bound.bind({"A": Variable("A", ["a1", "a0"]), "B": B})
    assert half_bound.bind({"A": A, "B": B}).parents == (A, B)


# --- distributions ---


@named(DISCRETE)
def test_each_row_is_a_distribution(case: Case) -> None:
    table = case.bound().to_factor()
    assert table.scope == (*case.parents, case.bound().variable)
    assert table.min() >= 0
    np.testing.assert_allclose(table.values.sum(axis=-1), 1.0, rtol=0, atol=1e-12)


@named(DISCRETE)
def test_log_probability_is_the_log_of_the_table(case: Case) -> None:
    cpd = case.bound()
    expected = [math.log(p) if p > 0 else -math.inf for p in cpd.to_factor().flat]
    np.testing.assert_allclose(cpd.log_probability(positions(cpd)), expected, rtol=1e-9, atol=1e-12)


@named(DISCRETE)
def test_product_of_factors_with_auxiliaries_summed_out_is_the_table(case: Case) -> None:
    """By a loop over assignments, with no factor algebra."""
    cpd = case.bound()
    factors, table = cpd.to_factors(), cpd.to_table()
    for assignment in assignments(cpd.scope):
        total = 0.0
        for hidden in assignments(cpd.auxiliaries):
            total += math.prod(factor[{**assignment, **hidden}] for factor in factors if isinstance(factor, Factor))
        assert total == pytest.approx(table.to_factor()[assignment], abs=1e-12)


@named(DISCRETE)
def test_auxiliaries_are_the_variables_outside_the_scope(case: Case) -> None:
    cpd = case.bound()
    found = {variable for factor in cpd.to_factors() for variable in factor.scope} - set(cpd.scope)
    assert set(cpd.auxiliaries) == found


@named(DISCRETE)
def test_distribution_and_quantile_agree_with_the_table(case: Case) -> None:
    cpd = case.bound()
    rows = np.array(list(itertools.product(*(range(p.num_states) for p in cpd.parents))), dtype=int)
    columns = {parent.name: rows[:, i] for i, parent in enumerate(cpd.parents)}
    table = cpd.to_factor().values.reshape(-1, cpd.variable.num_states)
    np.testing.assert_allclose(np.atleast_2d(cpd.distribution(columns)), table, rtol=0, atol=1e-12)
    levels = (np.arange(1000) + 0.5) / 1000
    for row, expected in enumerate(table):
        one = {name: column[row : row + 1] for name, column in columns.items()}
        drawn = np.bincount(cpd.quantile(one, levels), minlength=cpd.variable.num_states) / 1000
        np.testing.assert_allclose(drawn, expected, atol=1.01e-3)
        assert not drawn[expected == 0].any(), "a state of probability zero is never drawn"
        for edge in (np.zeros(1), np.full(1, np.nextafter(1, 0))):
            assert expected[cpd.quantile(one, edge)[0]] > 0


@named(DISCRETE)
def test_ignores_equals_the_comparison_of_all_rows(case: Case) -> None:
    """X ⟂ Y | other parents, c: tested on the table row by row, for all sets Y and some contexts c."""
    cpd = case.bound()
    table = cpd.to_factor()
    names = [parent.name for parent in cpd.parents][:4]
    rng = np.random.default_rng(7)
    for size in range(1, len(names) + 1):
        for free in itertools.combinations(names, size):
            for context in [{}, *(pick(rng, cpd, free) for _ in range(3))]:
                assert cpd.ignores(free, context) == unchanged(cpd, table, free, context), (free, context)


def pick(rng: np.random.Generator, cpd: CPD, besides: Iterable[str]) -> dict[str, Any]:
    others = [parent for parent in cpd.parents if parent.name not in besides]
    return {p.name: p.states[rng.integers(p.num_states)] for p in others if rng.random() < 0.7}


def unchanged(cpd: CPD, table: Factor, free: Sequence[str], context: dict[str, Any]) -> bool:
    rows: dict[Any, list[list[float]]] = {}
    for parents in assignments(cpd.parents):
        if all(parents[name] == state for name, state in context.items()):
            key = tuple(state for name, state in parents.items() if name not in free)
            row = [table[{**parents, cpd.variable.name: x}] for x in cpd.variable.states]
            rows.setdefault(key, []).append(row)
    return all(np.ptp(np.array(group), axis=0).max() <= 1e-12 for group in rows.values())


@named(DISCRETE)
def test_a_context_that_fixes_a_parent_ignores_it(case: Case) -> None:
    cpd = case.bound()
    for parent in cpd.parents:
        assert cpd.ignores(parent.name, {parent.name: parent.states[0]})


@named(case for case in EVERY if case.parents)
def test_ignores_names_what_it_does_not_know(case: Case) -> None:
    cpd = case.bound()
    with pytest.raises(UnknownVariable, match="'nobody' is not a variable of the parents of"):
        cpd.ignores("nobody")
    with pytest.raises(UnknownVariable, match="'nobody' is not a variable of the parents of"):
        cpd.ignores(cpd.parents[0].name, {"nobody": 1})
    discrete = [parent for parent in cpd.parents if not parent.is_continuous]
    if discrete:
        with pytest.raises(UnknownState, match=f"'nothing' is not a state of '{discrete[0].name}'"):
            cpd.ignores(cpd.parents[0].name, {discrete[0].name: "nothing"})


@named(EVERY)
def test_log_probability_names_a_missing_column(case: Case) -> None:
    with pytest.raises(
        UnknownVariable, match=rf"is not a variable of these columns, and {type(case.bound()).__name__}\("
    ):
        case.bound().log_probability({"unrelated": np.zeros(1)})


@named(EVERY)
def test_num_parameters(case: Case) -> None:
    assert case.bound().num_parameters == case.num_parameters


@named(case for case in DISCRETE if not case.name.startswith("table"))
def test_a_table_over_the_limit_is_refused(case: Case) -> None:
    cpd = case.bound()
    with pytest.raises(TooLarge, match="The table of 'X'"):
        cpd.to_table(max_entries=math.prod(v.num_states for v in cpd.scope) - 1)


# --- as a value ---


@named(EVERY)
def test_a_record_survives_json(case: Case) -> None:
    cpd = case.bound()
    record = json.loads(json.dumps(cpd.to_record()))
    again = KINDS[cpd.kind].from_record(cpd.variable, cpd.parents, record)
    assert again == cpd
    assert again.to_record() == record


@named(EVERY)
def test_a_record_holds_for_renamed_states(case: Case) -> None:
    """Records speak of positions: the same numbers over variables whose states have other names."""
    cpd = case.bound()
    rename = {
        v: v if v.is_continuous else Variable(v.name, [f"{v.name}:{i}" for i in range(v.num_states)]) for v in cpd.scope
    }
    again = type(cpd).from_record(rename[cpd.variable], tuple(rename[p] for p in cpd.parents), cpd.to_record())
    columns = random_columns(cpd, 50)
    np.testing.assert_array_equal(again.log_probability(columns), cpd.log_probability(columns))


def random_columns(cpd: CPD, rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {
        v.name: rng.normal(size=rows) if v.is_continuous else rng.integers(v.num_states, size=rows) for v in cpd.scope
    }


@named(case for case in EVERY if not case.name.startswith("multiplexer"))
def test_a_record_with_a_missing_field_is_named(case: Case) -> None:
    cpd = case.bound()
    for field in cpd.to_record():
        record = {name: value for name, value in cpd.to_record().items() if name != field}
        with pytest.raises(InvalidCPD, match=f"The record of the CPD of '[XY]' has no field '{field}'"):
            type(cpd).from_record(cpd.variable, cpd.parents, record)


@named(EVERY)
def test_a_mangled_record_is_refused_with_an_error_of_ours(case: Case) -> None:
    """Wrong types, lengths and numbers anywhere in a record: the library's own errors, or a valid CPD."""
    cpd, rng = case.bound(), random.Random(case.name)
    for _ in range(100):
        record = mangled(rng, cpd.to_record())
        if isinstance(record, dict):
            with contextlib.suppress(PlausibleError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = type(cpd).from_record(cpd.variable, cpd.parents, record)
                assert again.to_record() is not None


def mangled(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        return {**value, key: mangled(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [*value[:place], *([] if rng.random() < 0.2 else [mangled(rng, value[place])]), *value[place + 1 :]]
    return rng.choice([None, "text", -1, 7, 1.5, [], {}, [[]], True, math.nan, {"a": 1}])


@named(EVERY)
def test_equality_is_by_content(case: Case) -> None:
    one, two = case.bound(), case.bound()
    assert one == two
    assert hash(one) == hash(two)
    assert one != TableCPD("unrelated", [1.0])
    assert one.is_close(two)
    assert one != "something else"
    others = [other.bound() for other in EVERY if other.name != case.name]
    assert one not in others


@named(EVERY)
def test_pickle_and_copy_keep_the_value_and_read_only_arrays(case: Case) -> None:
    cpd = case.bound()
    for again in (pickle.loads(pickle.dumps(cpd)), copy.copy(cpd), copy.deepcopy(cpd)):
        assert again == cpd
        assert again.parents == cpd.parents
        assert all(not array.flags.writeable for array in arrays_of(again))


def arrays_of(cpd: CPD) -> list[np.ndarray]:
    parts: list[Any] = []
    for slot in type(cpd).__slots__:
        value = getattr(cpd, slot, None)
        parts += value if isinstance(value, tuple) else [value]
    return [part for part in parts if isinstance(part, np.ndarray)]


@named(EVERY)
def test_arrays_are_read_only(case: Case) -> None:
    for array in arrays_of(case.bound()):
        assert not array.flags.writeable


@named(case for case in EVERY if case.parents and not case.name.startswith("deterministic"))
def test_an_unbound_cpd_can_be_pickled_and_bound_later(case: Case) -> None:
    again = pickle.loads(pickle.dumps(case.unbound()))
    assert again.bind({parent.name: parent for parent in case.parents}) == case.bound()


@named(DISCRETE)
def test_is_close_looks_at_the_distribution_whatever_kind_and_order(case: Case) -> None:
    cpd = case.bound()
    order = list(range(len(case.parents)))[::-1]
    table = cpd.to_table().values.transpose([*order, len(order)])
    twin = TableCPD(cpd.variable, table, [case.parents[i] for i in order])
    assert cpd.is_close(twin)
    assert twin.is_close(cpd)
    if cpd.variable.num_states > 1:
        blurred = 0.999 * table + 0.001 * np.roll(table, 1, axis=-1)
        far = TableCPD(cpd.variable, blurred, [case.parents[i] for i in order])
        same = np.allclose(blurred, table, rtol=0, atol=1e-9)
        assert cpd.is_close(far) == same


@pytest.mark.parametrize(
    "build",
    [
        lambda by, p: NoisyOr("X", p, [0.1 + by] * 40, 0.2),
        lambda by, p: NoisyMax("X", p, [[[1, 0], [0.9 - by, 0.1 + by]]] * 40),
        lambda by, p: TreeCPD("X", Split("P0", {0: [0.4 + by, 0.6 - by], 1: Split("P39", {0: [1, 0], 1: [0, 1]})}), p),
        lambda by, p: RuleCPD("X", [({"X": 0}, 0.4 + by), ({"X": 1}, 0.6 - by)], p, states=2),
        lambda by, p: LogisticCPD("X", p, [1.0 + by] * 40),
    ],
    ids=["noisy-or", "noisy-max", "tree", "rules", "logistic"],
)
def test_is_close_compares_parameters_where_tables_would_not_fit(build: Callable[..., CPD]) -> None:
    parents = [Variable(f"P{i}", 2) for i in range(40)]
    assert build(0.0, parents).is_close(build(1e-12, parents))
    assert not build(0.0, parents).is_close(build(1e-3, parents))


@named(DISCRETE)
def test_a_row_by_names_is_the_slice_of_the_table(case: Case) -> None:
    cpd = case.bound()
    table = cpd.to_factor()
    for parents in assignments(cpd.parents):
        row = cpd.row(parents)
        assert isinstance(row, Factor)
        assert row.scope == (cpd.variable,)
        expected = [table[{**parents, cpd.variable.name: state}] for state in cpd.variable.states]
        np.testing.assert_allclose(row.values, expected, rtol=0, atol=1e-12)


@named(case for case in EVERY if case.parents)
def test_a_row_needs_every_parent_and_nothing_else(case: Case) -> None:
    cpd = case.bound()
    good = {p.name: 0.5 if p.is_continuous else p.states[0] for p in cpd.parents}
    first = cpd.parents[0]
    with pytest.raises(InvalidArgument, match=f"A row of '[XY]' needs the state of its parent '{first.name}' too"):
        cpd.row({name: value for name, value in good.items() if name != first.name})
    with pytest.raises(UnknownVariable, match=r"'nobody' is not a variable of the parents of '[XY]'"):
        cpd.row({**good, "nobody": 1})
    with pytest.raises(
        PlausibleError, match=rf"'{first.name}'.*not 'nothing'|'nothing' is not a state of '{first.name}'"
    ):
        cpd.row({**good, first.name: "nothing"})


@named(case for case in DISCRETE if case.parents)
def test_columns_of_names_are_refused_with_advice(case: Case) -> None:
    cpd = case.bound()
    with pytest.raises(InvalidArgument, match=r"must hold positions of states.*See row\(\)"):
        cpd.distribution({parent.name: np.asarray(parent.states[:1]).astype(str) for parent in cpd.parents})


@named(EVERY)
def test_the_content_can_be_printed_bound_and_unbound(case: Case) -> None:
    """More than the repr, and an HTML form, whether or not the parents are known."""
    for cpd in (case.bound(), case.unbound()):
        text = str(cpd)
        assert text != repr(cpd)
        assert cpd.variable.name in text
        assert cpd._repr_html_().startswith(("<table>", "<pre>"))


@named(EVERY)
def test_repr_names_child_and_parents(case: Case) -> None:
    cpd = case.bound()
    given = " | " + ", ".join(cpd.parent_names) if cpd.parent_names else ""
    assert repr(cpd) == f"{type(cpd).__name__}({cpd.variable.name}{given})"


# --- continuous ones ---


@named(CONTINUOUS)
def test_a_continuous_cpd_has_no_table(case: Case) -> None:
    for question in (case.bound().to_factor, case.bound().to_table):
        with pytest.raises(NotSupported, match="speaks of the continuous variable"):
            question()


@named(CONTINUOUS)
def test_is_close_compares_the_parameters_of_continuous_cpds(case: Case) -> None:
    cpd = case.bound()
    record = cpd.to_record()
    near, far = ({**record, "intercept": shifted(record["intercept"], by)} for by in (1e-12, 1e-3))
    assert cpd.is_close(type(cpd).from_record(cpd.variable, cpd.parents, near))
    assert not cpd.is_close(type(cpd).from_record(cpd.variable, cpd.parents, far))


def shifted(value: Any, by: float) -> Any:
    return [shifted(part, by) for part in value] if isinstance(value, list) else value + by
