"""Local search, its restarts, annealing and generic branch and bound: traces by hand, laws on small hypercubes."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.errors import InvalidArgument, NotSupported
from plausible.search.branch_and_bound import Branches, branch_and_bound
from plausible.search.local_search import (
    BasinFlooding,
    BeamSearch,
    FirstAscent,
    GreedyAscent,
    SearchProblem,
    TabuSearch,
)
from plausible.search.metaheuristics import (
    CoolingSchedule,
    ExponentialCooling,
    PerturbationRestarts,
    RandomRestarts,
    SimulatedAnnealing,
)

METHODS = [
    GreedyAscent(),
    FirstAscent(),
    BasinFlooding(patience=5),
    TabuSearch(length=3, patience=5),
    BeamSearch(width=3),
    SimulatedAnnealing(ExponentialCooling(start=2.0, stop=0.1, factor=0.8, every=5)),
    RandomRestarts(GreedyAscent(), num=3),
    PerturbationRestarts(TabuSearch(length=2, patience=3), num=3, length=2, growth=1.5),
]


class Line(SearchProblem):
    """Heights along a line; an operator is a step to the left or to the right."""

    def __init__(self, *heights):
        self.heights = heights

    def score(self, state):
        return self.heights[state]

    def operators(self, state):
        return [move for move in (-1, 1) if 0 <= state + move < len(self.heights)]

    def apply(self, state, operator):
        return state + operator

    def reverses(self, operator, other):
        return operator == -other


class Cube(SearchProblem):
    """Random heights on the corners of a hypercube; an operator turns one bit."""

    def __init__(self, seed, num_bits=5):
        rng = np.random.default_rng(seed)
        self.num_bits = num_bits
        self.heights = dict(zip(product((0, 1), repeat=num_bits), rng.normal(size=2**num_bits), strict=True))

    def score(self, state):
        return self.heights[state]

    def operators(self, state):
        return range(self.num_bits)

    def apply(self, state, operator):
        return (*state[:operator], 1 - state[operator], *state[operator + 1 :])

    def reverses(self, operator, other):
        return operator == other

    def random_state(self, rng):
        return tuple(rng.integers(2, size=self.num_bits).tolist())

    def neighbors(self, state):
        return [self.apply(state, bit) for bit in range(self.num_bits)]


def path(method, problem, start, seed=0):
    """The states that a search is in, one after the other."""
    states = [start]
    found = method.run(problem, start, seed=seed, progress=lambda state: states.append(state.current))
    return (states[:-1] if found.num_steps < len(states) - 1 else states), found


# --- by hand ---


def test_greedy_ascent_takes_the_steepest_step_and_stops_at_a_local_maximum():
    """From 2 the higher neighbour is 1, then 0; the higher hill at 5 is not seen."""
    walked, found = path(GreedyAscent(), Line(6, 5, 3, 4, 7, 9), 2)
    assert walked == [2, 1, 0]
    assert (found.best, found.best_score, found.stopped_by) == (0, 6.0, "local maximum")
    assert found.trace == ((0, 3.0), (1, 5.0), (2, 6.0))


def test_greedy_ascent_takes_the_first_of_equal_operators_and_does_not_cross_a_plateau():
    """Both neighbours are equally high; then equal heights end the search though a hill follows."""
    walked, found = path(GreedyAscent(), Line(4, 4, 2, 4, 9), 2)
    assert walked == [2, 1]
    assert found.stopped_by == "local maximum"


def test_tabu_search_crosses_a_plateau_and_a_valley():
    """The way back is forbidden, so that the search goes on over equal and lower heights to the hill."""
    walked, found = path(TabuSearch(length=1, patience=4), Line(4, 4, 3, 9), 0)
    assert walked == [0, 1, 2, 3]
    assert (found.best, found.best_score) == (3, 9.0)
    assert found.stopped_by == "no operator"


def test_tabu_search_stops_after_steps_without_progress():
    """Three steps that do not improve the best score, counted in a row."""
    walked, found = path(TabuSearch(length=1, patience=3), Line(5, 4, 3, 2, 6), 0)
    assert walked == [0, 1, 2, 3]
    assert (found.best, found.stopped_by, found.idle) == (0, "no progress", 3)


def test_tabu_search_of_length_zero_goes_back():
    """Nothing is forbidden: the best neighbour of the valley is where the search came from."""
    walked, _ = path(TabuSearch(length=0, patience=3), Line(5, 4, 3, 6), 0)
    assert walked == [0, 1, 0, 1]


def test_basin_flooding_takes_the_best_new_neighbor_and_returns_the_best_seen():
    """Down from the hill, never back, up the next one; with less patience it gives up in the valley."""
    walked, found = path(BasinFlooding(patience=10), Line(5, 4, 3, 6), 0)
    assert walked == [0, 1, 2, 3]
    assert (found.best, found.stopped_by) == (3, "no operator")
    _, found = path(BasinFlooding(patience=2), Line(5, 4, 3, 6), 0)
    assert (found.best, found.stopped_by) == (0, "no progress")


def test_beam_keeps_the_best_of_itself_and_its_neighbors():
    """With two places both hills are climbed, and the higher one wins; with one place only the steeper is."""
    line = Line(6, 5, 3, 4, 7, 9)
    beams = []
    found = BeamSearch(width=2).run(line, 2, progress=lambda state: beams.append(set(state.memory.beam)))
    assert beams[:2] == [{1, 3}, {0, 4}]
    assert (found.best, found.best_score) == (5, 9.0)
    assert BeamSearch(width=1).run(line, 2).best == 0


def test_exponential_cooling_falls_every_so_many_attempts():
    """Two attempts each at 4, 2 and 1."""
    cooling = ExponentialCooling(start=4, stop=0.9, factor=0.5, every=2)
    assert cooling.num_attempts == 6
    assert cooling.temperatures(1, 4).tolist() == [4, 2, 2, 1]


# --- laws of each method ---


@settings(max_examples=16, deadline=None)
@given(seed=st.integers(0, 10**6), method=st.sampled_from([GreedyAscent(), FirstAscent(), BeamSearch(width=4)]))
def test_ascents_end_in_local_maxima(seed, method):
    """No neighbour of the result is better."""
    cube = Cube(seed)
    found = method.run(cube, (0,) * 5, seed=seed)
    assert found.stopped_by == "local maximum"
    assert found.best_score >= max(map(cube.score, cube.neighbors(found.best)))


@settings(max_examples=16, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_each_step_of_greedy_ascent_is_to_the_best_neighbor(seed):
    """Written out: argmax over the neighbours while it is higher."""
    cube = Cube(seed)
    walked, _ = path(GreedyAscent(), cube, (0,) * 5)
    for here, there in pairwise(walked):
        assert cube.score(there) == max(map(cube.score, cube.neighbors(here))) > cube.score(here)


@settings(max_examples=16, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(0, 6))
def test_tabu_search_reverses_within_its_length_only_to_beat_all_it_has_seen(seed, length):
    """A bit that was turned stays for `length` steps unless that is best of all; else the best of the others moves."""
    cube = Cube(seed)
    walked, found = path(TabuSearch(length, patience=8), cube, (0,) * 5)
    turned = [next(bit for bit in range(5) if a[bit] != b[bit]) for a, b in pairwise(walked)]
    for place in range(len(turned)):
        recent = turned[max(0, place - length) : place]
        scores = {bit: cube.score(cube.apply(walked[place], bit)) for bit in range(5)}
        seen = max(map(cube.score, walked[: place + 1]))
        allowed = {bit: s for bit, s in scores.items() if bit not in recent or s > seen}
        assert turned[place] == max(allowed, key=allowed.get)
    assert found.best_score == pytest.approx(max(map(cube.score, walked)))
    assert found.stopped_by in ("no operator", "no progress")
    assert found.stopped_by == "no progress" or length >= 5


@settings(max_examples=16, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_basin_flooding_visits_no_state_twice(seed):
    """All states are different; with patience it sees the whole cube or is stuck."""
    walked, found = path(BasinFlooding(patience=40), Cube(seed), (0,) * 5)
    assert len(set(walked)) == len(walked)
    assert found.best_score == pytest.approx(max(map(Cube(seed).score, walked)))


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_beam_of_one_is_greedy_ascent_and_one_without_limit_is_breadth_first(seed):
    """Width one walks the same way; without limit round r holds all states within r bits, and the end is the best."""
    cube = Cube(seed)
    start = (0,) * 5
    assert path(BeamSearch(width=1), cube, start)[0] == path(GreedyAscent(), cube, start)[0]
    beams = []
    found = BeamSearch(width=math.inf).run(cube, start, progress=lambda state: beams.append(set(state.memory.beam)))
    assert found.best_score == pytest.approx(max(cube.heights.values()))
    for radius, beam in enumerate(beams[:5], start=1):
        assert beam == {corner for corner in cube.heights if sum(corner) <= radius}


def test_a_beam_scores_the_neighbors_of_a_state_once():
    """On a cube of 32 corners a beam without limit expands each corner once, though each is reached in many ways."""
    cube, asked = Cube(1), []
    operators = cube.operators
    cube.operators = lambda state: asked.append(state) or operators(state)
    BeamSearch(width=math.inf).run(cube, (0,) * 5)
    assert len(asked) == len(set(asked)) == 32


def test_a_beam_stops_after_a_small_gain():
    """The second round lifts the score by 0.1 only."""
    found = BeamSearch(width=1, min_gain=0.5).run(Line(0, 2, 2.1, 9), 0)
    assert (found.best, found.num_steps, found.stopped_by) == (2, 2, "no progress")


def test_restarts_are_as_good_as_the_best_of_their_runs():
    """The result is the best of all runs, each of which starts where the search says."""
    cube, starts = Cube(7, num_bits=6), [(0,) * 6]
    draw = cube.random_state
    cube.random_state = lambda rng: starts.append(draw(rng)) or starts[-1]
    found = RandomRestarts(GreedyAscent(), num=5).run(cube, starts[0], seed=3)
    assert len(starts) == 6
    assert found.best_score == pytest.approx(max(GreedyAscent().run(cube, start).best_score for start in starts))
    assert found.stopped_by == "restarts over"


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_perturbation_makes_exactly_so_many_steps(length):
    """Every proposal is a step to the right: the walk ends `length` steps from the best state."""
    line = Line(*range(20, 0, -1))
    line.propose = lambda state, rng: 1
    starts = []
    method = PerturbationRestarts(GreedyAscent(max_steps=0), num=1, length=length)
    method.run(line, 0, progress=lambda state: starts.append(state.current))
    assert max(starts) == length


def test_perturbations_grow_until_something_better_is_found():
    """Walks of 1, 2 and 4 steps from 0; the third reaches the hill at 4, from where the next walk is short again."""
    line = Line(5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0)
    line.propose = lambda state, rng: 1
    starts = []
    method = PerturbationRestarts(GreedyAscent(max_steps=0), num=4, length=1, growth=2)
    found = method.run(line, 0, progress=lambda state: starts.append(state.current))
    assert sorted(set(starts)) == [0, 1, 2, 4, 5]
    assert found.best == 4


@pytest.mark.parametrize("gain", [-1.0, -0.2, 0.0, 1.0])
def test_annealing_accepts_with_probability_min_one_exp_of_gain_over_temperature(gain):
    """The share of 500 seeds whose first attempt is accepted lies within four standard errors."""
    line = Line(0.0, gain)
    method = SimulatedAnnealing(ExponentialCooling(start=0.5, stop=0.5, every=1))
    accepted = np.mean([method.run(line, 0, seed=seed).current for seed in range(500)])
    expected = min(1.0, math.exp(gain / 0.5))
    assert accepted == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 500))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_cold_annealing_is_first_ascent(seed):
    """Near temperature zero no step goes down, and the end is a local maximum."""
    cube = Cube(seed)
    walked, found = path(SimulatedAnnealing(ExponentialCooling(1e-9, 1e-9, every=300)), cube, (0,) * 5, seed)
    assert all(cube.score(there) > cube.score(here) for here, there in pairwise(walked) if here != there)
    assert found.best == found.current
    assert found.best_score >= max(map(cube.score, cube.neighbors(found.best)))
    assert found.stopped_by == "schedule over"


def test_a_schedule_of_ones_own_is_followed():
    """Any temperatures will do; as many attempts as there are."""

    class Steps(CoolingSchedule):
        num_attempts = 7

        def temperatures(self, first, num):
            return 1.0 / (1.0 + np.arange(first, first + num))

    assert SimulatedAnnealing(Steps()).run(Cube(0), (0,) * 5).num_steps == 7


# --- laws of all methods ---


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_results_are_never_below_the_start_and_scores_are_those_of_the_states(method, seed):
    """The best score is that of the best state, at least that of the start, and the trace climbs to it."""
    cube = Cube(seed)
    found = method.run(cube, (1,) * 5, seed=seed)
    assert found.best_score >= cube.score((1,) * 5)
    assert found.best_score == pytest.approx(cube.score(found.best))
    assert found.score == pytest.approx(cube.score(found.current))
    scores = [score for _, score in found.trace]
    assert scores == sorted(scores)
    assert scores[0] == cube.score((1,) * 5)
    assert scores[-1] == found.best_score


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_interrupted_and_resumed_searches_end_as_others_do(method):
    """Stopped after each step, pickled and resumed, a search with the same seed gives the same result."""
    cube = Cube(11)
    whole = method.run(cube, (0,) * 5, seed=5)
    assert whole == method.run(cube, (0,) * 5, seed=5)
    state = method.run(cube, (0,) * 5, seed=5, progress=lambda _: True)
    while state.stopped_by == "interrupted":
        state = method.resume(cube, pickle.loads(pickle.dumps(state)), progress=lambda _: True)
    assert state == whole
    assert method.step(cube, whole) == whole


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_one_state_without_operators_is_the_result(method):
    """Where nothing can be done the start is returned."""
    line = Line(3)
    line.random_state = lambda rng: 0
    found = method.run(line, 0)
    assert (found.best, found.best_score, found.num_steps) == (0, 3.0, 0)
    assert found.stopped_by


def test_a_step_limit_stops_a_search():
    """After two steps."""
    found = GreedyAscent(max_steps=2).run(Line(0, 1, 2, 3, 4), 0)
    assert (found.best, found.num_steps, found.stopped_by) == (2, 2, "step limit")


def test_gains_that_are_rounding_do_not_count():
    """Heights that differ in the last digit are a plateau."""
    assert GreedyAscent().run(Line(1e6, 1e6 + 1e-9), 0).stopped_by == "local maximum"


@pytest.mark.parametrize(
    "make",
    [
        lambda: GreedyAscent(max_steps=-1),
        lambda: TabuSearch(length=-1),
        lambda: TabuSearch(patience=0),
        lambda: BasinFlooding(patience=0),
        lambda: BeamSearch(width=0),
        lambda: BeamSearch(width=1.5),
        lambda: BeamSearch(min_gain=-1.0),
        lambda: ExponentialCooling(start=1, stop=2),
        lambda: ExponentialCooling(factor=1.0),
        lambda: ExponentialCooling(every=0),
        lambda: RandomRestarts("greedy"),
        lambda: RandomRestarts(num=-1),
        lambda: PerturbationRestarts(length=0),
        lambda: PerturbationRestarts(growth=0.5),
    ],
)
def test_options_out_of_range_are_refused(make):
    """Each with an error that names the option."""
    with pytest.raises(InvalidArgument, match="must"):
        make()


def test_random_restarts_need_random_states():
    """The error says what the problem lacks."""
    with pytest.raises(NotSupported, match="random_state"):
        RandomRestarts().run(Line(1, 2), 0)


# --- branch and bound ---


class Items(Branches):
    """Take or leave items of given weight and worth: (item, taken) pairs in any order, within a limit of weight."""

    def __init__(self, seed, num_items=8, dynamic=False, has_lower=False):
        rng = np.random.default_rng(seed)
        self.worth, self.weight = rng.integers(0, 9, num_items), rng.integers(1, 9, num_items)
        self.limit, self.dynamic, self.has_lower = int(self.weight.sum()) // 2, dynamic, has_lower

    def total(self, partial, numbers):
        return int(sum(numbers[item] for item, taken in partial if taken))

    def rest(self, partial):
        return [item for item in range(len(self.worth)) if item not in {known for known, _ in partial}]

    def branches(self, partial):
        rest = self.rest(partial)
        if not rest:
            return []
        turn = 1 if self.dynamic and self.total(partial, self.weight) % 2 else 0
        item = sorted(rest, key=lambda one: -self.worth[one])[-turn]
        longer = [(*partial, (item, taken)) for taken in (True, False)]
        return [one for one in longer if self.total(one, self.weight) <= self.limit]

    def upper(self, partial):
        return self.total(partial, self.worth) + int(sum(self.worth[item] for item in self.rest(partial)))

    def lower(self, partial):
        return self.total(partial, self.worth) if self.has_lower else -math.inf

    def best(self):
        choices = product((0, 1), repeat=len(self.worth))
        return max(int(self.worth @ c) for c in map(np.array, choices) if self.weight @ c <= self.limit)


@pytest.mark.parametrize(("dynamic", "has_lower"), [(False, False), (True, False), (False, True), (True, True)])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_branch_and_bound_equals_brute_force(dynamic, has_lower, seed):
    """The best of all choices, with any order of items and with or without lower bounds."""
    items = Items(seed, dynamic=dynamic, has_lower=has_lower)
    run = branch_and_bound(items, ())
    found = run.state
    assert found.is_finished
    assert run.converged
    assert found.score == found.upper == items.best() == items.total(found.best, items.worth)


@pytest.mark.parametrize("seed", range(5))
def test_an_open_search_brackets_the_best_score_and_goes_on(seed):
    """After each node the score is at most, and the bound at least, the best; resumed it ends with it."""
    items = Items(seed)
    seen = []
    run = branch_and_bound(items, (), max_steps=5, progress=seen.append)
    assert (run.num_steps, run.stopped_by) == (5, "step limit") or run.converged
    run = branch_and_bound(items, (), run=run, progress=seen.append)
    assert all(told.score <= items.best() <= told.upper for told in seen)
    assert [told.num_steps for told in seen] == list(range(1, run.num_steps + 1))
    assert run.state.score == items.best()
    assert branch_and_bound(items, (), time_limit=0).num_steps == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_good_start_and_lower_bounds_save_nodes(seed):
    """Starting from the best solution no search looks at more nodes, and neither does one with lower bounds."""
    plain = branch_and_bound(Items(seed), ())
    started = branch_and_bound(Items(seed), (), start=(plain.state.score, plain.state.best))
    bounded = branch_and_bound(Items(seed, has_lower=True), ())
    assert started.num_steps <= plain.num_steps
    assert bounded.num_steps <= plain.num_steps
    assert started.state.best == plain.state.best


def test_a_root_that_is_full_is_the_solution():
    """No items: nothing to choose."""
    items = Items(0, num_items=0)
    found = branch_and_bound(items, ()).state
    assert (found.best, found.score) == ((), 0)
