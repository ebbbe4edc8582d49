"""Aggregates: the function of all joint states in plain Python, closed forms, and questions to networks."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import plausible as pb
from plausible.cpds import AggregateCPD, TableCPD
from plausible.cpds.summaries import links
from plausible.errors import InvalidCPD, TooLarge, UnknownState
from plausible.factors import Factor, product
from plausible.variables import Variable

FUNCTIONS = ["max", "min", "median", "mode", "mean", "count", "exists"]
TIES = ["lower", "upper"]
#: Of so many parents, with so many states each.
SIZES = [(parents, states) for parents in range(1, 6) for states in range(1, 5)]


def by_hand(function: str, ties: str, states: Sequence[Any], given: Sequence[Any], of: Sequence[Any], most: int) -> Any:
    """The aggregate of some states, as it is explained to people."""
    pick = 0 if ties == "lower" else -1
    places = sorted(states.index(state) for state in given)
    if function == "max":
        return states[places[-1]]
    if function == "min":
        return states[places[0]]
    if function == "median":
        middle = [places[(len(places) - 1) // 2], places[len(places) // 2]]
        return states[middle[pick]]
    if function == "mode":
        counts = Counter(given)
        return [state for state in states if counts[state] == max(counts.values())][pick]
    if function == "count":
        return min(sum(state in of for state in given), most)
    if function == "exists":
        return any(state in of for state in given)
    are_numbers = all(isinstance(state, int | float) for state in states)
    numbers = {state: Fraction(str(state)) if are_numbers else Fraction(i) for i, state in enumerate(states)}
    mean = sum(numbers[state] for state in given) / len(given)
    nearest = min(abs(number - mean) for number in numbers.values())
    return [state for state in states if abs(numbers[state] - mean) == nearest][pick]


def parents_of(number: int, states: Sequence[Any]) -> list[Variable]:
    return [Variable(f"P{i}", states) for i in range(number)]


def cases(number: int, states: Sequence[Any]) -> Iterator[tuple[AggregateCPD, list[Any], int]]:
    """All functions of so many parents: with what is counted, and up to what number."""
    parents = parents_of(number, states)
    for function, ties in itertools.product(FUNCTIONS, TIES):
        if function == "count":
            for of, most in itertools.product(subsets(states), range(number + 2)):
                yield AggregateCPD("X", "count", parents, of=of, states=range(most + 1), ties=ties), of, most
        elif function == "exists":
            for of in subsets(states):
                yield AggregateCPD("X", "exists", parents, of=of, ties=ties), of, 1
        else:
            yield AggregateCPD("X", function, parents, ties=ties), [], 0


def subsets(states: Sequence[Any]) -> list[list[Any]]:
    return [list(states[:1]), list(states[-1:]), list(states[::2]), list(states)]


def rows_of(variables: Sequence[Variable]) -> list[dict[str, Any]]:
    names = [variable.name for variable in variables]
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*(v.states for v in variables))]


def summed(factors: Sequence[Factor], scope: Sequence[Variable]) -> Factor:
    """The product with all variables outside the scope summed out, as soon as no later factor has them."""
    total = product(Factor((variable,), np.ones(variable.num_states)) for variable in scope)
    names = [variable.name for variable in scope]
    for place, factor in enumerate(factors):
        later = {name for other in factors[place + 1 :] for name in other.names}
        total = total * factor
        total = total.marginalize([name for name in total.names if name not in names and name not in later])
    return total.reorder(names)


@pytest.mark.parametrize("letters", [True, False], ids=["letters", "numbers"])
@pytest.mark.parametrize(("number", "num_states"), SIZES)
def test_factors_and_rows_are_the_function_of_all_joint_states(number: int, num_states: int, letters: bool) -> None:
    """Whatever is observed, the factors' product is the table of zeros and ones there; rows agree with it."""
    states = ["a", "b", "c", "d"][:num_states] if letters else [10, 20, 40, 70.5][:num_states]
    rng = np.random.default_rng(number * 10 + num_states)
    for cpd, of, most in cases(number, states):
        rows = rows_of(cpd.parents)
        expected = [by_hand(cpd.function, cpd.ties, states, list(row.values()), of, most) for row in rows]
        positions = np.array([cpd.variable.index(state) for state in expected])
        table = np.eye(cpd.variable.num_states)[positions].reshape([v.num_states for v in cpd.scope])
        np.testing.assert_array_equal(cpd.to_factor().values, table)
        columns = {p.name: np.array([p.index(row[p.name]) for row in rows]) for p in cpd.parents}
        np.testing.assert_array_equal(cpd.distribution(columns).reshape(table.shape), table)
        np.testing.assert_array_equal(cpd.quantile(columns, rng.random(len(rows))), positions)
        np.testing.assert_array_equal(summed(cpd.to_factors(), cpd.scope).values, table)
        for _ in range(3):
            observed = {v.name: int(rng.integers(v.num_states)) for v in cpd.scope if rng.random() < 0.4}
            free = [variable for variable in cpd.scope if variable.name not in observed]
            given = {name: cpd.to_factor().variable(name).states[position] for name, position in observed.items()}
            factors = cpd.factors_given(observed)
            assert not {name for factor in factors for name in factor.names} & observed.keys()
            assert summed(factors, free).is_close(cpd.to_factor().reduce(given).reorder([v.name for v in free]), 0.0)


# --- many parents ---


def random_priors(number: int, num_states: int) -> np.ndarray:
    return np.random.default_rng(number + num_states).dirichlet(np.full(num_states, 0.3), number)


def network(cpd: AggregateCPD, priors: np.ndarray) -> pb.BayesianNetwork:
    """Independent parents, and an aggregate of them."""
    return pb.BayesianNetwork(*(TableCPD(p, row) for p, row in zip(cpd.parents, priors, strict=True)), cpd)


@pytest.mark.parametrize("function", ["max", "min"])
def test_the_largest_of_a_thousand_is_the_product_of_distribution_functions(function: str) -> None:
    cpd = AggregateCPD("X", function, parents_of(1000, ["low", "middle", "high"]))
    assert sum(factor.size for factor in cpd.to_factors()) < 27 * 1000
    priors = random_priors(1000, 3)
    priors[:, [0, -1]] = priors[:, [0, -1]] * 1e-3
    priors /= priors.sum(axis=1, keepdims=True)
    if function == "max":
        expected = np.diff(np.prod(np.cumsum(priors, axis=1), axis=0), prepend=0.0)
    else:
        expected = np.diff(np.prod(np.cumsum(priors[:, ::-1], axis=1), axis=0), prepend=0.0)[::-1]
    np.testing.assert_allclose(network(cpd, priors).query("X").flat, expected, rtol=0, atol=1e-12)


def test_counts_of_a_thousand_are_convolutions() -> None:
    """At most so many, the last state for the rest; "exists" is a count up to one."""
    priors = np.random.default_rng(3).dirichlet([300, 1], 1000)
    total = np.ones(1)
    for off, on in priors:
        total = np.convolve(total, [off, on])
    parents = parents_of(1000, [False, True])
    count = AggregateCPD("X", "count", parents, of=True, states=range(5))
    exists = AggregateCPD("X", "exists", parents, of=[True])
    assert sum(factor.size for factor in count.to_factors()) <= 50 * 1000
    assert sum(factor.size for factor in exists.to_factors()) <= 8 * 1000
    expected = [*total[:4], total[4:].sum()]
    np.testing.assert_allclose(network(count, priors).query("X").flat, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(network(exists, priors).query("X").flat, [total[0], 1 - total[0]], rtol=0, atol=1e-12)


def test_observed_parents_leave_no_factors() -> None:
    """A thousand parents, three of them hidden: three small factors; none in a state: a factor of each by itself."""
    parents = parents_of(1000, 3)
    observed = {p.name: 1 for p in parents[3:]}
    for function in ["max", "median", "mode", "mean"]:
        factors = AggregateCPD("X", function, parents).factors_given(observed)
        assert len(factors) <= 3
        assert all(factor.size <= 27 for factor in factors)
    count = AggregateCPD("X", "count", parents, of=2).factors_given(observed)
    assert [factor.names for factor in count] == [("P0", "X≤1"), ("X≤1", "P1", "X≤2"), ("X≤2", "P2", "X")]
    none = AggregateCPD("X", "exists", parents, of=2).factors_given({"X": 0})
    assert sorted(factor.names for factor in none) == sorted((p.name,) for p in parents)
    assert AggregateCPD("X", "exists", parents, of=2).factors_given({"X": 0, "P7": 2})[0].flat.tolist() == [0.0]


def test_aggregates_of_one_shape_share_their_chain() -> None:
    one, two = (AggregateCPD("X", "mode", [Variable(f"{n}{i}", 2) for i in range(9)]) for n in "AB")
    before = links.cache_info().hits
    one.to_factors(), two.to_factors()
    assert links.cache_info().hits > before


@pytest.mark.parametrize(
    ("function", "number", "states"), [("mode", 300, 3), ("median", 200, 6), ("mean", 2000, 5), ("count", 2000, 2)]
)
def test_what_has_too_much_to_tell_apart_is_refused_by_name(function: str, number: int, states: int) -> None:
    cpd = AggregateCPD("X", function, parents_of(number, states))
    if function == "count":
        cpd = AggregateCPD("X", function, parents_of(number, states), of=1)
    with pytest.raises(
        TooLarge, match=rf"The {function} 'X' of {number} parents.*Give evidence on more of its parents"
    ):
        cpd.to_factors()
    assert len(cpd.factors_given({parent.name: 0 for parent in cpd.parents[4:]})) <= 4


# --- numbers ---


@pytest.mark.parametrize(
    ("states", "given", "lower", "upper"),
    [
        ([10, 20, 40], [10, 40], 20, 20),
        ([10, 20, 40], [20, 40], 20, 40),
        (["cheap", "fair", "dear"], ["cheap", "dear"], "fair", "fair"),
        ([0.1, 0.2, 0.3], [0.1, 0.3, 0.3, 0.3], 0.2, 0.3),
        ([40, 20, 10], [20, 40], 40, 20),
        ([0.0, 0.3333333333333333, 1.0], [0.0] * 1999 + [1.0], 0.0, 0.0),
        ([-(10**30), 0, 10**30], [-(10**30), 0], -(10**30), 0),
        ([0, 1, math.inf], [0, math.inf], 1, 1),
    ],
)
def test_means_of_numbers_are_exact(states: list[Any], given: list[Any], lower: Any, upper: Any) -> None:
    """Floats count as the decimals they print as; what is not finite makes all count by position."""
    parents = parents_of(len(given), states)
    row = {parent.name: state for parent, state in zip(parents, given, strict=True)}
    for ties, expected in (("lower", lower), ("upper", upper)):
        cpd = AggregateCPD("X", "mean", parents, ties=ties)
        assert cpd.row(row).argmax()["X"] == expected
        observed = {p.name: p.index(row[p.name]) for p in parents[2:]}
        start = parents[0].index(given[0]), parents[1].index(given[1])
        table = summed(cpd.factors_given(observed), [*parents[:2], cpd.variable]).values
        assert cpd.variable.states[int(table[start].argmax())] == expected


# --- questions to networks ---


def school(function: str, number: int, **options: Any) -> pb.BayesianNetwork:
    """Parents with a common cause, an aggregate of them, and what it brings about."""
    rng = np.random.default_rng(number)
    parents = parents_of(number, 2)
    aggregate = AggregateCPD("X", function, parents, **options)
    return pb.BayesianNetwork(
        TableCPD("cause", [0.4, 0.6]),
        *(TableCPD(parent, rng.dirichlet([1, 1], 2), ["cause"]) for parent in parents),
        aggregate,
        TableCPD("effect", rng.dirichlet([1, 1], aggregate.variable.num_states), ["X"]),
    )


EVIDENCE: list[dict[str, Any]] = [{}, {"effect": 1}, {"X": 1}, {"X": 1, "P3": 0, "effect": 0}]


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize(
    ("function", "options"), [("count", {"of": 1, "states": range(4)}), ("mean", {}), ("median", {"ties": "upper"})]
)
def test_every_question_is_answered_as_with_a_table(
    function: str, options: dict[str, Any], evidence: dict[str, Any]
) -> None:
    net = school(function, 12, **options)
    tables = pb.BayesianNetwork(*(cpd.to_table() for cpd in net.cpds.values()))
    for model in (net, net.compile()):
        assert model.query(["cause", "P1"], evidence).is_close(tables.query(["cause", "P1"], evidence), 1e-12)
        best, expected = model.mpe(evidence), tables.mpe(evidence)
        assert dict(best) == dict(expected)
        assert best.log_probability == pytest.approx(expected.log_probability, abs=1e-9)
    for one, two in zip(net.k_best(6, evidence), tables.k_best(6, evidence), strict=True):
        assert dict(one) == dict(two)
        assert one.log_probability == pytest.approx(two.log_probability, abs=1e-9)
    assert dict(net.map(["cause", "P2"], evidence)) == dict(tables.map(["cause", "P2"], evidence))
    rows = net.sample(200, evidence=evidence, seed=1)
    assert list(rows.columns) == list(net.variables)
    assert np.isfinite(net.log_likelihood(rows)).all()


@pytest.mark.parametrize("engine", [pb.inference.LoopyBP(), pb.inference.LikelihoodWeighting(seed=1)], ids=repr)
def test_named_engines_take_the_chain(engine: Any) -> None:
    """Thirty parents: a table would have 2^32 entries."""
    net = school("count", 30, of=1, states=range(16))
    exact, approximate = (net.query("cause", {"effect": 1}, engine=how) for how in (None, engine))
    assert approximate.is_close(exact, 0.02)


def test_a_best_assignment_by_a_named_engine_is_one_of_the_variables() -> None:
    """It is told what it is worth, without the chain."""
    net = school("exists", 30, of=1)
    best, exact = (net.mpe({"effect": 0}, engine=engine) for engine in (pb.inference.MaxProduct(), None))
    assert list(best) == list(net.variables)
    assert best.log_probability == pytest.approx(net.log_probability(best), abs=1e-9)
    assert exact.log_probability - 0.5 < best.log_probability < exact.log_probability + 1e-9


def test_samplers_say_when_a_chain_keeps_them_from_moving() -> None:
    """More variables than the product of their sizes can tell as a float."""
    found = school("exists", 1100, of=1).query(
        "cause", {"effect": 1}, engine=pb.inference.Gibbs(num_samples=10, seed=1)
    )
    assert "Zeros in the factor" in str(found.info)


def test_learning_keeps_a_fixed_aggregate() -> None:
    """Parameters of the other distributions are learned around it, from complete rows and from incomplete ones."""
    net = school("median", 15)
    rows = net.sample(500, seed=2)
    knowledge = pb.learn.ParameterKnowledge(fixed=[net.cpd("X")])
    learned = pb.learn.parameters(net.graph, rows, knowledge=knowledge)
    found = pb.learn.em(net.graph, rows.assign(P0=rows["P0"].where(rows["P1"] == 0)), knowledge=knowledge, seed=1)
    assert learned.cpd("X") == found.network.cpd("X") == net.cpd("X")


# --- refusals ---


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p: AggregateCPD("X", "maximum", p), "'maximum' is not the function of an aggregate.*'max'"),
        (lambda p: AggregateCPD("X", max, p), "is not the function of an aggregate"),
        (lambda p: AggregateCPD("X", "max", p, ties="middle"), "must be 'lower' or 'upper'"),
        (lambda p: AggregateCPD("X", "max", []), "needs at least one parent"),
        (lambda p: AggregateCPD("X", "max", ["A"]), r"needs states=\[...\]"),
        (lambda p: AggregateCPD("X", "max", p, of="a"), "the max 'X' is of all states"),
        (lambda p: AggregateCPD("X", "count", p, of=[]), "names no state"),
        (lambda p: AggregateCPD("X", "count", p, of="a", states=[1, 2]), r"the states 0, 1, ..., .* not \[1, 2\]"),
        (lambda p: AggregateCPD("X", "exists", p, of="a", states=3), "has two states, for no and yes"),
        (lambda p: AggregateCPD("X", "min", p, states=["a", "b", "c"]), r"the states of its parents, \[a, b\], not"),
        (lambda p: AggregateCPD("X", "min", [*p, Variable("odd", ["b", "a"])]), r"'odd' has \[b, a\], others have"),
    ],
)
def test_what_is_no_aggregate_is_refused(build: Any, message: str) -> None:
    with pytest.raises(InvalidCPD, match=message):
        build(parents_of(3, ["a", "b"]))


def test_states_to_look_for_are_found_by_name() -> None:
    with pytest.raises(UnknownState, match="of= of the count 'X': 'c' is not a state of 'P0'"):
        AggregateCPD("X", "count", parents_of(3, ["a", "b"]), of=["a", "c"])
    pairs = [("a", 1), ("b", 2)]
    cpd = AggregateCPD("X", "exists", parents_of(2, pairs), of=("b", 2))
    assert cpd.row({"P0": ("a", 1), "P1": ("b", 2)})[True] == 1.0


def test_parents_that_differ_are_named_when_bound() -> None:
    cpd = AggregateCPD("X", "max", ["A", "B", "C"], states=["a", "b"])
    variables = {name: Variable(name, ["a", "b"]) for name in "AC"} | {"B": Variable("B", 2)}
    with pytest.raises(InvalidCPD, match=r"parents with the same states: 'B' has \[0, 1\], others have \[a, b\]"):
        cpd.bind(variables)


def test_is_printed_as_a_formula() -> None:
    parents = parents_of(2, ["a", "b"])
    assert str(AggregateCPD("X", "max", parents)) == "X = max of P0, P1"
    assert str(AggregateCPD("X", "mean", ["A"], states=2, ties="upper")) == "X = mean of A, ties upper"
    assert str(AggregateCPD("X", "exists", parents, of="b")) == "X = any of P0, P1 in [b]"
    assert str(AggregateCPD("X", "count", ["A", "B"], of="b")) == "X = number of A, B in 'b', at most 2"
    assert str(AggregateCPD("X", "count", parents, states=2)) == "X = number of P0, P1 in [a, b], at most 1"
