"""A whole graph from the Markov blankets of all variables; learners of classes of graphs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from plausible.base.options import check_number
from plausible.data.table import TableLike
from plausible.learn.constraint_based.colliders import interchangeable
from plausible.learn.constraint_based.markov_blankets import BlanketMethod, find_blanket
from plausible.learn.constraint_based.orientation import Triple, orient, unshielded_triples
from plausible.learn.constraint_based.pc import ConstraintResult, pc, read_knowledge
from plausible.learn.constraint_based.skeleton import Pair
from plausible.learn.independence.choice import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Knowledge


def structure_from_blankets(
    source: TableLike | IndependenceTest,
    *,
    method: BlanketMethod = "grow-shrink",
    test: TestName = "auto",
    alpha: float = 0.05,
    knowledge: Knowledge | None = None,
) -> ConstraintResult:
    """Learn the equivalence class of a DAG from the Markov blanket of each variable.

    Two variables are neighbours unless a reliable test shows that something separates them: the blanket of one that
    does not have the other in it, or else a part of the smaller blanket. Colliders and other directions follow as in
    `pc`. Cheap where blankets are small: 2^|blanket| tests for a pair at most.

    Parameters
    ----------
    source
        What `Table.read` takes, or a test.
    method
        How blankets are found: see `markov_blanket`.
    test
        Which test, for data.
    alpha
        The level of the tests.
    knowledge
        Required and forbidden edges, and tiers.

    References
    ----------
    Margaritis (2003), Learning Bayesian network model structure from data.

    Examples
    --------
    >>> from plausible.learn.independence.oracle import DSeparationOracle
    >>> structure_from_blankets(DSeparationOracle("D -> G <- I -> S; G -> L")).graph
    PDAG('D -> G; G -> L; I -> G; I - S')
    """
    check_number("alpha", alpha, above=0, below=1)
    asked = read_test(source, test)
    known = read_knowledge(knowledge, asked)
    names = sorted(asked.names)
    found = [find_blanket(asked, name, method, alpha) for name in names]
    blankets = {result.target: set(result.blanket) for result in found}
    fixed, allowed = known.required | known.required.T, known.allowed | known.allowed.T
    apart: dict[Pair, _Separation] = {}
    for a, b in np.argwhere(np.triu(~fixed, 1)).tolist():
        apart[frozenset((names[a], names[b]))] = _separate(asked, (names[a], names[b]), blankets, alpha)
    separators = {pair: outcome.given for pair, outcome in apart.items() if outcome.given is not None}
    neighbors = {
        name: [names[b] for b in np.flatnonzero(allowed[a]).tolist() if frozenset((name, names[b])) not in separators]
        for a, name in enumerate(names)
    }
    colliders, ambiguous = _colliders(asked, neighbors, separators)
    graph, conflicts = orient(asked.names, neighbors, colliders, known, ambiguous)
    p_values = {pair: outcome.p_value for pair, outcome in apart.items() if outcome.num_tests}
    num_tests = sum(result.num_tests for result in found) + sum(outcome.num_tests for outcome in apart.values())
    determined = tuple(pair for pair, outcome in apart.items() if outcome.given and outcome.is_determined)
    return ConstraintResult(graph, separators, p_values, (num_tests,), conflicts, tuple(ambiguous), determined)


class _Separation(NamedTuple):
    """What separates a pair (`None` if nothing does), the largest p-value, and the number of tests.

    Besides, whether what separates them determines one of them.
    """

    given: tuple[str, ...] | None
    p_value: float
    num_tests: int
    is_determined: bool = False


def _separate(
    test: IndependenceTest, pair: tuple[str, str], blankets: Mapping[str, set[str]], alpha: float
) -> _Separation:
    """A blanket that has only one of a pair in it and separates it, else the smallest part of one that does."""
    left, right = pair
    whole = {tuple(sorted(blankets[a])) for a, b in (pair, pair[::-1]) if b not in blankets[a]}
    around = min((blankets[left] - {right}, blankets[right] - {left}), key=lambda names: (len(names), sorted(names)))
    parts = (list(combinations(sorted(around), size)) for size in range(len(around) + 1))
    largest, number = 0.0, 0
    for is_part, subsets in ((False, sorted(whole)), *((True, subsets) for subsets in parts)):
        answers = test.ask([Question(left, given, (right,)) for given in subsets])
        if not answers.are_reliable.any():
            if is_part:  # no larger part can be tested either
                break
            continue
        number += int(np.count_nonzero(answers.are_reliable))
        p_values = np.where(answers.are_reliable, answers.p_values, -1.0)
        best = int(np.argmax(p_values))
        largest = max(largest, float(p_values[best]))
        if largest > alpha:
            return _Separation(subsets[best], largest, number, bool(answers.are_determined[best]))
    return _Separation(None, largest, number)


def _colliders(
    test: IndependenceTest, neighbors: Mapping[str, Sequence[str]], separators: Mapping[Pair, tuple[str, ...]]
) -> tuple[list[Triple], list[Triple]]:
    """The triples whose middle is not in what separates the ends, and those of which that can't be told.

    It can't be told where only knowledge keeps the ends apart, nor where the middle could as well be in the set.
    """
    told: dict[Triple, tuple[str, ...]] = {}
    ambiguous = []
    for triple in unshielded_triples(neighbors):
        given = separators.get(frozenset((triple[0], triple[2])))
        if given is None:
            ambiguous.append(triple)
        elif triple[1] not in given:
            told[triple] = given
    unsure = interchangeable(test, told)
    return [triple for triple in told if triple not in unsure], [*ambiguous, *sorted(unsure)]


class ClassLearner(NamedTuple):
    """The name of a function in `plausible.learn`, and what learns a class of graphs from data by it."""

    function: str
    learn: Callable[..., ConstraintResult]


#: Name, in lower case -> learner.
CLASS_LEARNERS: Mapping[str, ClassLearner] = MappingProxyType(
    {
        "pc": ClassLearner("pc", pc),
        "pc-stable": ClassLearner("pc", pc),
        "grow-shrink": ClassLearner("structure_from_blankets", structure_from_blankets),
        "gs": ClassLearner("structure_from_blankets", structure_from_blankets),
        "iamb": ClassLearner("structure_from_blankets", partial(structure_from_blankets, method="iamb")),
    }
)
