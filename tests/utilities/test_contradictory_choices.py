"""Contradictions among choices are minimal, against the feasibility of all sets of situations; outcomes in lists."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from plausible.errors import InvalidArgument
from plausible.utilities import ObservedChoices, fit_additive_utility, fit_choices, rationalize_choices
from refusals import refuses
from seeds import few_of

STATES = {"A": 3, "B": 2}


def explains(columns, situation, chosen, kept):
    """Whether a sum of a utility of A and one of B puts each choice of some situations first, by one at least."""
    both = np.hstack([np.eye(3)[columns["A"]], np.eye(2)[columns["B"]]])
    rows = [
        both[other] - both[taken]
        for one in kept
        for taken in np.flatnonzero((situation == one) & chosen)
        for other in np.flatnonzero((situation == one) & ~chosen)
        if (both[other] != both[taken]).any()
    ]
    if not rows:
        return True
    return linprog(np.zeros(5), np.array(rows), -np.ones(len(rows)), bounds=(None, None), method="highs").status == 0


def is_minimal(columns, situation, chosen, kept):
    """Whether some situations contradict each other, and all sets of one less do not."""
    return not explains(columns, situation, chosen, kept) and all(
        explains(columns, situation, chosen, [other for other in kept if other != one]) for one in kept
    )


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_no_situation_of_a_contradiction_can_be_left_out(seed):
    """Five random data sets each: consistent just if some utility explains all, else the set named is minimal."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        number = int(rng.integers(2, 6))
        situation = np.repeat(np.arange(number), 3)
        columns = {"A": rng.integers(3, size=len(situation)), "B": rng.integers(2, size=len(situation))}
        chosen = np.zeros(len(situation), dtype=bool)
        chosen[3 * np.arange(number) + rng.integers(3, size=number)] = True
        answer = rationalize_choices(ObservedChoices(columns, situation, chosen), ["A", "B"], STATES)
        assert answer.is_consistent == explains(columns, situation, chosen, range(number))
        assert answer.is_consistent or is_minimal(columns, situation, chosen, answer.contradiction)


def test_a_situation_that_two_others_contradict_without_is_not_named():
    """Of three, the second and the third are enough."""
    columns = {"A": [1, 1, 2, 1, 1, 2, 1, 2, 2], "B": [1, 1, 0, 0, 0, 1, 1, 1, 0]}
    chosen = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0], dtype=bool)
    situation = np.repeat([0, 1, 2], 3)
    answer = rationalize_choices(ObservedChoices(columns, situation, chosen), ["A", "B"], STATES)
    assert answer.contradiction == (1, 2)
    arrays = {name: np.array(column) for name, column in columns.items()}
    assert is_minimal(arrays, situation, chosen, answer.contradiction)


def test_choices_among_the_same_say_nothing():
    """Any utility explains them, and the text says so; there is no margin to speak of."""
    same = ObservedChoices({"A": [1, 1], "B": [0, 0]}, [5, 5], [True, False])
    answer = rationalize_choices(same, ["A", "B"], STATES)
    assert (answer.is_consistent, answer.margin, answer.contradiction, answer.violated) == (True, math.inf, (), ())
    assert str(answer) == "any utility explains all choices: no situation has options that differ"


# --- outcomes in lists ---


def test_outcomes_may_be_a_list_of_mappings():
    """As in columns, in any order of names; in choices as well."""
    columns = {"A": [0, 1, 2, 1], "B": [0, 1, 1, 0]}
    listed = [{"B": b, "A": a} for a, b in zip(columns["A"], columns["B"], strict=True)]
    values = [1.0, 5.0, 2.0, 4.5]
    fits = [fit_additive_utility(given, values, ["A", "B"], STATES) for given in (columns, listed)]
    assert fits[0].utility == fits[1].utility
    seen = [ObservedChoices(given, [1, 1, 2, 2], [True, False, False, True]) for given in (columns, listed)]
    first, second = (fit_choices(one, ["A", "B"], STATES).mean for one in seen)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([{"A": 0, "B": 0}, {"A": 0}], r"Outcome 1, \{'A': 0\}, has no 'B'"),
        ([{"A": 0, "b": 0}], "Outcome 0, .* has no 'B'. Did you mean 'b'"),
        ([(0, 0)], r"Outcome 0 is \(0, 0\): give a mapping"),
    ],
)
def test_lists_of_outcomes_with_gaps_are_refused_with_their_place(outcomes, told):
    refuses(InvalidArgument, told, fit_additive_utility, outcomes, [0.0] * len(outcomes), ["A", "B"], STATES)
