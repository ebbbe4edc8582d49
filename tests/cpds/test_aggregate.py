"""Aggregates: the function of all joint states in plain Python, closed forms, and questions to networks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from plausible.cpds import AggregateCPD
from plausible.factors import Factor, product
from plausible.variables import Variable

FUNCTIONS = ["max", "min", "median", "mode", "mean", "count", "exists"]
TIES = ["lower", "upper"]
#: Of so many parents, with so many states each.
SIZES = [(parents, states) for parents in range(1, 6) for states in range(1, 5) if states**parents <= 256]


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
