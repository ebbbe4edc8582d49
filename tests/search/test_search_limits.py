"""What a search does at its limits, at infinite scores, and with problems that answer wrongly."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from plausible.errors import InvalidArgument
from plausible.search.local_search import (
    BasinFlooding,
    BeamSearch,
    FirstAscent,
    GreedyAscent,
    SearchProblem,
    TabuSearch,
)
from plausible.search.metaheuristics import ExponentialCooling, PerturbationRestarts, RandomRestarts, SimulatedAnnealing
from plausible.search.search_problem import Grown

METHODS = [
    GreedyAscent(),
    FirstAscent(),
    BasinFlooding(patience=5),
    TabuSearch(length=3, patience=5),
    BeamSearch(width=3, min_gain=1e-9),
    SimulatedAnnealing(ExponentialCooling(start=2.0, stop=0.1, factor=0.8, every=20)),
    RandomRestarts(GreedyAscent(), num=3),
    PerturbationRestarts(TabuSearch(length=2, patience=3), num=3, length=2, growth=1.5),
]
named = pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)


class Line(SearchProblem):
    """Heights along a line; an operator is a step to the left or to the right."""

    def __init__(self, *heights):
        self.heights = heights
        self.num_reverses = 0

    def score(self, state):
        return self.heights[state]

    def operators(self, state):
        return [move for move in (-1, 1) if 0 <= state + move < len(self.heights)]

    def apply(self, state, operator):
        return state + operator

    def reverses(self, operator, other):
        self.num_reverses += 1
        return operator == -other

    def random_state(self, rng):
        return int(rng.integers(len(self.heights)))


# --- infinite scores ---


@named
def test_a_start_at_minus_infinity_is_left_for_the_best_finite_score(method):
    """Two steps of -inf, a finite hill next to them: every method ends on a finite score that is its state's."""
    found = method.run(Line(-math.inf, 1.0, 2.0, 3.0), 0, seed=1)
    assert found.best_score == found.trace[-1][1] == Line(-math.inf, 1.0, 2.0, 3.0).score(found.best) > 0
    assert found.score == Line(-math.inf, 1.0, 2.0, 3.0).score(found.current)


@pytest.mark.parametrize("method", [GreedyAscent(), TabuSearch(2, 4), BeamSearch(1)], ids=repr)
def test_out_of_minus_infinity_the_step_is_to_the_best_neighbor(method):
    """Both ways out gain infinitely; the higher one is on the right."""
    states = []
    method.run(Line(1.0, -math.inf, 5.0), 1, progress=lambda state: states.append(state.current))
    assert states[0] == 2


@named
def test_a_plateau_at_minus_infinity_gives_no_nan(method):
    """Nothing but -inf: the scores stay what they are, and the search ends."""
    found = method.run(Line(-math.inf, -math.inf, -math.inf), 1, seed=2)
    assert found.best_score == found.score == -math.inf
    assert found.stopped_by


def test_downhill_into_minus_infinity_and_out_again_keeps_the_scores():
    """Tabu search walks through the hole to the hill behind it."""
    found = TabuSearch(length=1, patience=5).run(Line(1.0, -math.inf, 4.0), 0)
    assert (found.best, found.best_score, found.score) == (2, 4.0, 4.0)


# --- wrong answers ---


@named
def test_scores_that_are_nan_are_refused_by_name(method):
    """At the start the state is named, later the operator too."""
    with pytest.raises(InvalidArgument, match=r"Line\.score gave NaN for the state 0"):
        method.run(Line(math.nan, 1.0), 0)
    with pytest.raises(InvalidArgument, match=r"NaN for the operator 1 in the state 0"):
        method.run(Line(1.0, math.nan), 0)


def test_a_best_operator_whose_gain_is_nan_is_refused():
    """One that a problem finds in its own way."""
    line = Line(1.0, 2.0)
    line.best_operator = lambda state, recent=(): (1, math.nan)
    for method in (GreedyAscent(), TabuSearch()):
        with pytest.raises(InvalidArgument, match="best_operator gave NaN for the operator 1"):
            method.run(line, 0)


@pytest.mark.parametrize("method", METHODS[:6], ids=lambda method: type(method).__name__)
def test_deltas_of_the_wrong_length_are_refused(method):
    """One number too many."""
    line = Line(1.0, 2.0, 3.0)
    line.deltas = lambda state, operators: [1.0] * (len(operators) + 1)
    with pytest.raises(InvalidArgument, match="deltas gave an array of shape"):
        method.run(line, 1)


# --- limits ---


@named
def test_a_search_stopped_by_its_step_limit_goes_on_under_a_larger_one(method):
    """In two runs, the second with a larger limit, to the same end as in one; under the same limit it stays."""
    line = Line(*np.random.default_rng(3).normal(size=40))
    few, many = (type(method)(**{**options(method), "max_steps": num}) for num in (3, 10**6))
    stopped = few.run(line, 20, seed=1)
    assert few.resume(line, stopped) == stopped
    resumed = many.resume(line, pickle.loads(pickle.dumps(stopped)))
    assert resumed.num_steps >= stopped.num_steps
    assert resumed.stopped_by != "step limit"
    if not isinstance(method, SimulatedAnnealing | RandomRestarts | PerturbationRestarts):
        assert resumed == many.run(line, 20, seed=1)


@named
def test_a_finished_search_stays_where_it_is(method):
    """Resumed by the same method it makes no step."""
    line = Line(*np.random.default_rng(4).normal(size=40))
    found = method.run(line, 20, seed=1)
    assert method.resume(line, found) == found


def test_patience_that_is_raised_lets_a_search_go_on():
    """Stopped in the valley after two steps, it crosses it with more patience."""
    line = Line(5, 4, 3, 2, 9)
    stopped = TabuSearch(length=1, patience=2).run(line, 0)
    assert (stopped.stopped_by, stopped.best) == ("no progress", 0)
    assert TabuSearch(length=1, patience=9).resume(line, stopped).best == 4


@named
def test_no_time_means_no_step_and_resuming_goes_on(method):
    """A limit of zero seconds stops at the start; without a limit the end is that of a run in one go."""
    line = Line(*np.random.default_rng(5).normal(size=30))
    stopped = method.run(line, 15, seed=2, time_limit=0)
    assert (stopped.stopped_by, stopped.num_steps, stopped.best) == ("time limit", 0, 15)
    assert method.resume(line, stopped) == method.run(line, 15, seed=2, time_limit=math.inf)


def test_a_time_limit_ends_an_endless_search():
    """A tabu search without patience's end, on a line of equal heights, ends by the clock."""
    found = TabuSearch(length=1, patience=10**9).run(Ring(), 0, time_limit=0.05)
    assert found.stopped_by == "time limit"
    assert found.num_steps > 0


class Ring(Line):
    """A thousand equal places in a circle."""

    def __init__(self):
        super().__init__(*[0.0] * 1000)

    def operators(self, state):
        return [1]

    def apply(self, state, operator):
        return (state + operator) % 1000


def test_an_exception_passes_and_the_last_state_told_can_be_resumed():
    """The user's interrupt in the middle: nothing is lost for one who kept what `progress` was told."""
    line, told = Line(*range(20)), []

    def interrupting(state):
        told.append(state)
        if len(told) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GreedyAscent().run(line, 0, progress=interrupting)
    assert GreedyAscent().resume(line, told[-1]) == GreedyAscent().run(line, 0)


# --- what was done, and at what cost ---


@named
def test_the_state_names_the_operator_that_led_to_it(method):
    """Each step of one operator is from the state before to the one after it."""
    line, states = Line(*np.random.default_rng(6).normal(size=40)), []
    start = method.init(line, 20, 3)
    method.resume(line, start, progress=states.append)
    named_steps = 0
    for before, after in zip([start, *states], states, strict=False):
        if (
            after.operator is not None
            and after.num_steps == before.num_steps + 1
            and not isinstance(method, BeamSearch)
        ):
            assert after.current == before.current + after.operator
            named_steps += 1
    assert named_steps or isinstance(method, SimulatedAnnealing | BeamSearch)
    assert any(state.operator in (-1, 1) for state in states)


def test_tabu_search_takes_back_a_step_that_beats_all_it_has_seen():
    """Bits (a, b): a is turned, then b; to turn a back within the tabu time is the best of all."""

    class Bits(Line):
        def score(self, state):
            return {(0, 0): 7.0, (1, 0): 8.0, (1, 1): 7.5, (0, 1): 9.0}[state]

        def operators(self, state):
            return [0] if state == (0, 0) else [0, 1]

        def apply(self, state, operator):
            return tuple(1 - bit if place == operator else bit for place, bit in enumerate(state))

        def reverses(self, operator, other):
            return operator == other

    problem = Bits()
    found = TabuSearch(length=5, patience=4).run(problem, (0, 0))
    assert (found.best, found.best_score) == ((0, 1), 9.0)


def test_tabu_search_asks_few_operators_whether_they_reverse():
    """With 200 operators and 50 recent ones, a step asks about the best operators, not about all of them."""

    class Wide(Line):
        def __init__(self):
            self.weights = np.random.default_rng(0).normal(size=200)
            self.num_reverses = 0

        def score(self, state):
            return float(self.weights[list(state)].sum())

        def operators(self, state):
            return range(200)

        def apply(self, state, operator):
            return state ^ {operator}

        def reverses(self, operator, other):
            self.num_reverses += 1
            return operator == other

    wide = Wide()
    found = TabuSearch(length=50, patience=10**6, max_steps=100).run(wide, frozenset())
    assert found.num_steps == 100
    assert wide.num_reverses < 100 * 200 * 50 / 10


def test_first_ascent_proves_a_maximum_with_few_calls():
    """A thousand operators, none of which improves, in blocks that double."""

    class Counted(Line):
        num_calls = 0

        def operators(self, state):
            return range(1000)

        def deltas(self, state, operators):
            self.num_calls += 1
            return [-1.0] * len(operators)

    problem = Counted(0.0)
    assert FirstAscent().run(problem, 0).stopped_by == "local maximum"
    assert problem.num_calls == 10


# --- sequences that grow ---


def test_grown_sequences_are_values():
    """Two that grow out of one share nothing that shows; equality, pickles and membership go by content."""
    one = Grown(["a"])
    left, right = one.with_items("b", "c"), one.with_items("d")
    longer = left.with_items("e")
    assert (list(one), list(left), list(right), list(longer)) == (["a"], [*"abc"], [*"ad"], [*"abce"])
    assert "d" not in left
    assert "e" not in left
    assert "b" in longer
    assert pickle.loads(pickle.dumps(left)) == left == Grown("abc") != longer
    assert len(pickle.loads(pickle.dumps(one))) == 1
    assert hash(left) == hash(Grown("abc"))
    assert left != Grown("acb")
    assert repr(right) == "Grown(['a', 'd'])"


def options(method):
    """The options of a method by name."""
    return {name: getattr(method, name) for name in method.__dataclass_fields__}
