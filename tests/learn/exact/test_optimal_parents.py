"""Parents of one variable: branch and bound finds the best of all subsets, and greedy search does not."""

from itertools import combinations

import numpy as np
import pytest

from family_oracle import PricedLikelihood, RandomScores, UniformDirichlet, random_frame
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument
from plausible.learn.structures.exact.optimal_parents import (
    DirichletBound,
    NoBound,
    PenaltyBound,
    optimal_along_order,
    optimal_parents,
)
from plausible.learn.structures.knowledge import Knowledge
from refusals import refuses


def _subsets(names, most=None):
    return [
        chosen for size in range(1 + (len(names) if most is None else most)) for chosen in combinations(names, size)
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [None, 0, 2])
def test_the_parents_found_are_the_best_of_all_subsets(seed, most):
    scores = RandomScores(6, seed)
    candidates = scores.names[:0:-1]
    found = optimal_parents(scores, "v0", [*candidates, "v0"], max_parents=most)  # the child is passed over
    values = {chosen: scores.family("v0", chosen) for chosen in _subsets(sorted(candidates), most)}
    assert found.parents == max(values, key=values.get)
    assert found.score == max(values.values())
    assert found.num_families == len(values)
    forced = optimal_parents(scores, "v0", candidates, required=["v4"])
    values = {c: scores.family("v0", c) for c in _subsets(sorted(candidates)) if "v4" in c}
    assert forced.parents == max(values, key=values.get)


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_saves_families_and_changes_no_answer(seed):
    frame = random_frame(8, 100, seed)
    statistics = TableStatistics(frame | {"v7": frame["v0"]})  # bounds bite where something fits well
    for score, bound in ((PricedLikelihood(), PenaltyBound), (UniformDirichlet(2.0), DirichletBound)):
        scores = score.on(statistics)
        blind = optimal_parents(scores, "v7", scores.names[:-1], bound=NoBound())
        sharp = optimal_parents(scores, "v7", scores.names[:-1], bound=bound(statistics))
        assert blind.parents == sharp.parents
        assert blind.score == pytest.approx(sharp.score)
        assert blind.num_families == 2**7 > sharp.num_families


@pytest.mark.parametrize("seed", range(4))
def test_no_set_between_two_exceeds_the_upper_bound(seed):
    """score(X, U*) <= upper(X, U, U⁺) for all U ⊆ U* ⊆ U⁺."""
    statistics = TableStatistics(random_frame(6, 40, seed, num_states=2 + seed % 2))
    names = list(statistics.variables)
    pairs = [
        (PricedLikelihood(), PenaltyBound(statistics)),
        (PricedLikelihood(0.0), PenaltyBound(statistics, 0.0)),
        (UniformDirichlet(1.0), DirichletBound(statistics)),
        (UniformDirichlet(50.0), DirichletBound(statistics)),
    ]
    for score, bound in pairs:
        scores = score.on(statistics)
        for parents in _subsets(names[1:4]):
            others = [name for name in names[1:] if name not in parents]
            top = max(scores.family("v0", (*parents, *more)) for more in _subsets(others))
            assert top <= bound.upper("v0", parents, others) + 1e-9
            above = max(scores.family("v0", (*parents, *more)) for more in _subsets(others) if more)
            assert above <= bound.above("v0", parents, others) + 1e-9


def test_a_penalty_bound_counts_the_rows_where_the_table_would_be_too_large():
    """-N H(X | U⁺) of 20 columns is that of one column with their joint states."""
    rng = np.random.default_rng(0)
    columns = {"x": rng.integers(0, 3, 30)} | {f"v{k:02}": rng.integers(0, 2, 30) for k in range(20)}
    columns = {name: np.concatenate([line, line[:25], [0]]) for name, line in columns.items()}
    columns["x"][-5:] = 2
    joint = np.unique(np.array([line for name, line in columns.items() if name != "x"]).T, axis=0, return_inverse=True)
    small = TableStatistics({"x": columns["x"], "joint": joint[1].ravel()})
    exact = PricedLikelihood(0.0).on(small).family("x", ["joint"])
    bound = PenaltyBound(TableStatistics(columns), 0.0)
    assert exact < 0
    assert bound.upper("x", [], [name for name in columns if name != "x"]) == pytest.approx(exact)


def test_broken_weights_leave_dirichlet_scores_unbounded():
    statistics = TableStatistics({"a": [0, 1], "b": [0, 1]}) * 0.5
    assert DirichletBound(statistics).upper("a", ["b"], []) == np.inf
    refuses(InvalidArgument, "price=-1", PenaltyBound, statistics, -1)


def test_greedy_parents_are_not_optimal_where_two_only_help_together():
    """Parity: no parent alone improves the score, and the two together do (hardness begins at two parents)."""
    rng = np.random.default_rng(0)
    a, b = np.repeat([0, 1], 100), np.tile([0, 1], 100)
    statistics = TableStatistics({"a": a, "b": b, "c": rng.integers(0, 2, 200), "x": a ^ b})
    scores = PricedLikelihood().on(statistics)
    assert scores.extended("x", [], ["a", "b", "c"]).max() < scores.family("x", [])
    assert optimal_parents(scores, "x", ["a", "b", "c"], bound=PenaltyBound(statistics)).parents == ("a", "b")


@pytest.mark.parametrize("seed", range(3))
def test_along_an_order_each_variable_has_its_best_parents_among_those_before_it(seed):
    scores = RandomScores(5, seed)
    order = np.random.default_rng(seed).permutation(scores.names).tolist()
    found = optimal_along_order(scores, order)
    best = [max(scores.family(v, c) for c in _subsets(order[:place])) for place, v in enumerate(order)]
    assert found.score == found.bound == pytest.approx(sum(best))
    assert all(order.index(a) < order.index(b) for a, b in found.graph.edges)
    known = optimal_along_order(scores, order, Knowledge(required=[(order[0], order[3])], max_parents=1))
    assert known.graph.parents(order[3]) == (order[0],)


def test_orders_that_do_not_fit_are_refused():
    scores = RandomScores(3, 0)
    refuses(InvalidArgument, "'v2'", optimal_along_order, scores, ["v0", "v1"])
    with pytest.raises(InvalidArgument, match="v1 -> v0 is against"):
        optimal_along_order(scores, ["v0", "v1", "v2"], Knowledge(required="v1 -> v0"))
