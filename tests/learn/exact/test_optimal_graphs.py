"""Exact searches: no graph beats what they find, and bounds hold."""

import math
from functools import cache
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from family_oracle import PricedLikelihood, RandomScores, UniformDirichlet, best_score, random_frame
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, TooLarge
from plausible.kernels.graph_moves import best_of_subsets, find_fitting
from plausible.learn.scores.gaussian import GaussianLikelihood
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.optimal_graphs import optimal_by_orders, optimal_by_subsets
from plausible.learn.structures.exact.optimal_parents import DirichletBound, GaussianBound, PenaltyBound
from plausible.learn.structures.exact.orders import OrderSearch, search_orders
from plausible.learn.structures.exact.parent_sets import find_parent_sets
from plausible.learn.structures.knowledge import Knowledge
from plausible.search.local_search import GreedyAscent
from refusals import refuses

EXACT = [optimal_by_subsets, optimal_by_orders]
KNOWN = [
    Knowledge(),
    Knowledge(max_parents=1),
    Knowledge(required=[("v3", "v0"), ("v1", "v0")], forbidden=[("v0", "v2")], tiers=[["v1", "v3"], ["v2"]]),
]


def _agrees(knowledge):
    def agrees(families):
        ((child, parents),) = families.items()
        early, late = (knowledge.tiers or ((), ()))[:2]
        return (
            all(parent in parents for parent, other in knowledge.required if other == child)
            and not any(parent in parents for parent, other in knowledge.forbidden if other == child)
            and not (child in early and set(parents) & set(late))
            and len(parents) <= (99 if knowledge.max_parents is None else knowledge.max_parents)
        )

    return agrees


@pytest.mark.parametrize("exact", EXACT)
@pytest.mark.parametrize("knowledge", KNOWN, ids=["nothing", "trees", "much"])
@pytest.mark.parametrize(("num", "seed"), [(4, 0), (4, 1), (5, 3)])
def test_no_acyclic_graph_beats_the_optimal_one(exact, knowledge, num, seed):
    scores = RandomScores(num, seed)
    found = exact(scores, knowledge)
    assert found.score == pytest.approx(best_score(scores, _agrees(knowledge)))
    assert found.score == pytest.approx(sum(scores.family(v, found.graph.parents(v)) for v in scores.names))
    assert all(_agrees(knowledge)({v: found.graph.parents(v)}) for v in scores.names)
    assert found.is_optimal
    assert found.gap == 0
    assert found.stopped_by == "optimal"


@pytest.mark.parametrize("num", [0, 1, 2])
@pytest.mark.parametrize("search", [*EXACT, search_orders])
def test_few_variables_are_no_special_case(search, num):
    scores = RandomScores(num, 1)
    found = search(scores)
    assert found.score == pytest.approx(best_score(scores) if num else 0.0)
    assert found.graph.nodes == tuple(scores.names)


def test_exact_methods_agree_on_ten_variables_and_orders_come_close():
    """All ways to the optimum of BIC have its score and its class; a search over orders is within its bound."""
    statistics = TableStatistics(random_frame(10, 300, 0))
    scores, bound = PricedLikelihood().on(statistics), PenaltyBound(statistics)
    sets = find_parent_sets(scores, bound=bound)
    by_subsets = optimal_by_subsets(scores, parent_sets=sets)
    by_orders = optimal_by_orders(scores, bound=bound)
    local = search_orders(scores, parent_sets=sets)
    assert by_subsets.score == pytest.approx(by_orders.score)
    assert by_subsets.graph == by_orders.graph
    assert by_subsets.is_optimal
    assert by_orders.is_optimal
    assert local.score <= by_subsets.score + 1e-6 <= local.bound + 2e-6
    assert local.score == pytest.approx(by_subsets.score)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["bic", "aic", "bdeu"])
def test_sets_that_a_bound_rules_out_are_in_no_best_graph(kind, seed):
    frame = random_frame(6, 50, seed + 1, 3 if seed == 2 else 2)
    statistics = TableStatistics(frame | {"v5": frame["v0"]})  # bounds bite where something fits well
    score = {"bic": PricedLikelihood(), "aic": PricedLikelihood(1.0), "bdeu": UniformDirichlet(4.0)}[kind]
    bounds = {
        "bic": PenaltyBound(statistics),
        "aic": PenaltyBound(statistics, lambda total: 1.0),
        "bdeu": DirichletBound(statistics),
    }
    scores = score.on(statistics)
    every, few = find_parent_sets(scores), find_parent_sets(scores, bound=bounds[kind])
    assert every.num_families == 6 * 2**5 > few.num_families
    np.testing.assert_array_equal(every.masks, few.masks)
    np.testing.assert_allclose(every.scores, few.scores)
    assert few.is_complete


def test_kept_parent_sets_are_those_better_than_all_their_subsets():
    scores = RandomScores(5, 7)
    sets = find_parent_sets(scores, Knowledge(max_parents=3))
    for v, name in enumerate(sets.names):
        kept = {int(mask) for mask in sets.masks[sets.firsts[v] : sets.firsts[v + 1], 0]}
        values = {
            mask: scores.family(name, [sets.names[u] for u in range(5) if mask >> u & 1])
            for mask in range(32)
            if not mask >> v & 1 and mask.bit_count() <= 3
        }
        assert kept == {m for m in values if all(values[m] > values[o] for o in values if o & m == o != m)}
        assert (np.diff(sets.scores[sets.firsts[v] : sets.firsts[v + 1]]) <= 0).all()


@pytest.mark.parametrize("options", [{"time_limit": 0.0}, {"progress": lambda fraction: True}])
def test_subsets_that_are_stopped_give_a_graph_and_an_honest_bound(options):
    for seed in range(20):
        scores, known = RandomScores(5, seed), Knowledge(required=[("v2", "v0")], max_parents=2)
        best = optimal_by_subsets(scores, known)
        stopped = optimal_by_subsets(scores, known, **options)
        assert stopped.stopped_by == ("time limit" if "time_limit" in options else "interrupted")
        assert stopped.score <= best.score <= stopped.bound
        assert stopped.graph.has_edge("v2", "v0")


def test_compiled_loops_equal_their_twins():
    sets = find_parent_sets(RandomScores(5, 3))
    values = np.zeros(32)
    for start, end in ((1, 7), (7, 32)):
        best_of_subsets(sets.masks[:, 0].astype(np.int64), sets.scores, sets.firsts, values, start, end)
    lists = [range(sets.firsts[v], sets.firsts[v + 1]) for v in range(5)]

    def first(v, allowed):
        return next((place for place in lists[v] if int(sets.masks[place, 0]) & ~allowed == 0), -1)

    for chosen in range(32):
        inside = [v for v in range(5) if chosen >> v & 1]
        totals = [0.0]
        for order in permutations(inside):
            before = [sum(1 << u for u in order[:place]) for place in range(len(order))]
            totals.append(sum(sets.scores[first(v, mask)] for v, mask in zip(order, before, strict=True)))
        assert values[chosen] == pytest.approx(max(totals[1:], default=0.0))
    queries = np.repeat(np.arange(5), 32)
    found = np.empty(160, dtype=np.int64)
    find_fitting(sets.masks, sets.firsts, queries, np.tile(np.arange(32, dtype=np.uint64), 5)[:, None], found)
    assert found.tolist() == [first(v, mask) for v in range(5) for mask in range(32)]


@cache
def _optimum_of_seven(seed):
    scores = RandomScores(7, seed, price=0.1)
    return scores, optimal_by_subsets(scores).score


@pytest.mark.parametrize("max_nodes", [1, 10, 40, 200])
def test_bounds_bracket_the_optimum_whenever_a_search_is_stopped(max_nodes):
    for seed in range(2):
        scores, optimum = _optimum_of_seven(seed)
        found = optimal_by_orders(scores, max_nodes=max_nodes)
        assert found.score <= optimum + 1e-9
        assert found.bound >= optimum - 1e-9
        assert found.is_optimal == (found.stopped_by == "optimal")


def test_bounds_narrow_while_a_search_goes_on_and_progress_stops_it():
    told = []
    scores, knowledge = RandomScores(16, 1, price=0.05), Knowledge(max_parents=2)
    found = optimal_by_orders(scores, knowledge, progress=lambda score, bound: told.append((score, bound)))
    assert found.is_optimal
    assert found.score == pytest.approx(optimal_by_subsets(scores, knowledge).score)
    assert len(told) > 1
    assert all(later[1] <= sooner[1] for sooner, later in pairwise(told))
    assert all(score <= bound for score, bound in told)
    assert optimal_by_orders(scores, knowledge, progress=lambda *_: True).stopped_by == "interrupted"


def test_without_time_for_parent_sets_bounds_still_hold():
    statistics = TableStatistics(random_frame(6, 80, 1))
    scores = PricedLikelihood().on(statistics)
    optimum = optimal_by_subsets(scores).score
    bounded = optimal_by_orders(scores, bound=PenaltyBound(statistics), time_limit=0)
    assert bounded.score <= optimum <= bounded.bound < math.inf
    assert not bounded.is_optimal
    assert bounded.stopped_by == "time limit"
    assert optimal_by_orders(scores, time_limit=0).bound == math.inf
    assert search_orders(scores, time_limit=0).graph.num_edges == 0


def test_the_order_of_columns_and_rows_changes_nothing():
    frame = random_frame(6, 200, 5)
    shuffled = {name: frame[name][::-1] for name in reversed(frame)}
    for search in (*EXACT, search_orders):
        graphs = []
        for data in (frame, shuffled):
            statistics = TableStatistics(data)
            graphs.append(search(PricedLikelihood().on(statistics), bound=PenaltyBound(statistics)).graph)
        assert set(graphs[0].edges) == set(graphs[1].edges)


def _shifted(order):
    """All orders that come of moving one variable, with 1 before 0."""
    orders = set()
    for v in order:
        rest = [u for u in order if u != v]
        orders |= {(*rest[:place], v, *rest[place:]) for place in range(len(order))}
    return {other for other in orders - {order} if other.index(1) < other.index(0)}


def test_shifts_gain_what_scoring_anew_finds_and_a_climb_ends_at_a_maximum():
    scores = RandomScores(6, 2)
    problem = OrderSearch(find_parent_sets(scores, Knowledge(required="v1 -> v0")))
    rng = np.random.default_rng(0)
    for _ in range(10):
        order = problem.random_state(rng)
        assert order.index(1) < order.index(0)
        shifts = problem.operators(order)
        assert {problem.apply(order, s) for s in shifts} == _shifted(order)
        gains = problem.deltas(order, shifts)
        assert problem.best_operator(order) == (shifts[int(np.argmax(gains))], max(gains))
        others = [gain for gain, shift in zip(gains, shifts, strict=True) if shift.variable not in (2, 3)]
        recent = [shift for shift in shifts if shift.variable in (2, 3)]
        assert problem.best_operator(order, recent)[1] == max(others)
        assert problem.best_operator(order)[1] == max(gains)
        anew = [problem.score(problem.apply(order, shift)) - problem.score(order) for shift in shifts]
        assert gains == pytest.approx(anew, abs=1e-9)
        assert all(problem.apply(order, shift).index(1) < problem.apply(order, shift).index(0) for shift in shifts)
    end = GreedyAscent().run(problem, problem.start).best
    assert max(problem.deltas(end, problem.operators(end))) <= 1e-9


def test_orders_that_a_search_comes_back_to_are_worked_out_once(monkeypatch):
    """There are 24 orders of four variables, and hundreds of steps."""
    asked, changes = [], OrderSearch._changes
    monkeypatch.setattr(OrderSearch, "_changes", lambda self, state: asked.append(state) or changes(self, state))
    assert search_orders(RandomScores(4, 1)).num_steps > 100
    assert len(asked) == len(set(asked)) <= 24


def test_more_than_64_variables_go_by_several_words():
    class Chain(FamilyScores):
        names = tuple(f"v{place:02}" for place in range(70))

        def family(self, child, parents):
            wanted = {f"v{int(child[1:]) - 1:02}"} & set(self.names)
            return 1.0 * (set(parents) == wanted)

    knowledge = Knowledge(max_parents=1)
    assert search_orders(Chain(), knowledge, method=GreedyAscent()).score == 70
    found = optimal_by_orders(Chain(), parent_sets=find_parent_sets(Chain(), knowledge), time_limit=1)
    assert found.is_optimal
    assert found.graph.num_edges == 69


def test_what_would_not_fit_is_refused_with_advice():
    refuses(TooLarge, r"8 GiB.*order graph", optimal_by_subsets, RandomScores(30, 0))
    refuses(TooLarge, r"10,485,760 families.*max_parents", optimal_by_subsets, RandomScores(20, 0))
    statistics = TableStatistics(random_frame(6, 60, 0))
    with pytest.raises(TooLarge, match="more than 50"):
        find_parent_sets(PricedLikelihood().on(statistics), bound=PenaltyBound(statistics), max_families=50)


@pytest.mark.parametrize("search", [optimal_by_orders, search_orders])
def test_searches_over_orders_leave_out_the_largest_families_and_say_so(search):
    frame = {name: np.random.default_rng(seed).normal(size=60) for seed, name in enumerate("abcdef")}
    frame["f"] = frame["a"] + frame["b"] + frame["c"] + frame["d"]
    scores = GaussianLikelihood().on_data(frame)
    found = search(scores, bound=GaussianBound(frame), max_families=60)
    assert found.score <= optimal_by_subsets(scores).score <= found.bound < math.inf
    assert optimal_by_orders(scores, max_families=60).stopped_by == "family limit"


def test_no_gaussian_family_exceeds_its_bound():
    rng = np.random.default_rng(0)
    frame = {name: rng.normal(size=30) for name in "abcd"}
    frame["e"] = frame["a"] + 0.5 * frame["b"] + rng.normal(size=30)
    scores, bound = GaussianLikelihood().on_data(frame), GaussianBound(frame)
    for size in range(5):
        for chosen in combinations("abcd", size):
            for less in range(size + 1):
                upper = bound.upper("e", chosen[:less], [name for name in "abcd" if name not in chosen[:less]])
                assert scores.family("e", chosen) <= upper + 1e-9


@pytest.mark.parametrize("search", [*EXACT, search_orders])
def test_scores_that_leave_no_graph_are_refused(search):
    class Demanding(FamilyScores):
        names = ("a", "b")

        def family(self, child, parents):
            return 0.0 if list(parents) else -math.inf

    class Nothing(Demanding):
        def family(self, child, parents):
            return math.nan

    refuses(InvalidArgument, "No acyclic graph", search, Demanding())
    refuses(InvalidArgument, "'a' with no parents is nan", search, Nothing())


def test_families_out_of_the_question_are_in_no_graph():
    class Picky(RandomScores):
        def family(self, child, parents):
            parents = list(parents)
            return -math.inf if "v0" in parents or len(parents) == 1 else super().family(child, parents)

    for search in EXACT:
        found = search(Picky(5, 1))
        assert found.score == pytest.approx(best_score(Picky(5, 1)))
        assert not found.graph.children("v0")
