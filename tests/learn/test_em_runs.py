"""Runs of EM, on a ladder whose steps are known: where they stop, what they tell, which one is best."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from plausible.errors import InvalidArgument
from plausible.learn.em_runs import EMStops, best_run, run, sources_of_chance


class _Ladder(NamedTuple):
    """Each step halves the distance to the top."""

    top: float
    trace: tuple[float, ...] = ()
    converged: bool = False


def _climb(state, tolerance):
    value = _value(state)
    is_small = bool(state.trace) and value - state.trace[-1] <= tolerance
    return state._replace(trace=(*state.trace, value), converged=is_small)


def _value(state):
    return state.top * (1.0 - 0.5 ** (len(state.trace) + 1))


def test_a_run_ends_with_the_first_gain_within_the_tolerance():
    """Gains are 1/4, 1/8, 1/16: the last is the first of at most 0.1."""
    state, is_stopped = run(_climb, _Ladder(1.0), EMStops(tolerance=0.1))
    assert state.trace == (0.5, 0.75, 0.875, 0.9375)
    assert state.converged
    assert not is_stopped


def test_a_run_ends_after_its_most_steps_without_being_stopped():
    """So that the next start has its turn."""
    state, is_stopped = run(_climb, _Ladder(1.0), EMStops(tolerance=0.0, max_iterations=3))
    assert len(state.trace) == 3
    assert not state.converged
    assert not is_stopped


def test_the_best_of_all_runs_is_kept_with_all_ends():
    """Of equal ones the first."""
    starts = [_Ladder(1.0), _Ladder(3.0), _Ladder(2.0)]
    best, ends = best_run(_climb, iter(starts), EMStops(tolerance=0.0, max_iterations=1))
    assert best.top == 3.0
    assert ends == (0.5, 1.5, 1.0)


def test_a_true_answer_of_progress_stops_this_run_and_all_others():
    """Later starts are not even made."""
    told = []

    def progress(state):
        told.append(len(state.trace))
        return len(told) == 4

    def starts():
        yield _Ladder(1.0)
        yield _Ladder(2.0)
        pytest.fail("a start that nothing was to come of")

    best, ends = best_run(_climb, starts(), EMStops(tolerance=0.0, max_iterations=2, progress=progress))
    assert told == [1, 2, 1, 2]
    assert best.top == 2.0
    assert len(ends) == 2


def test_the_clock_stops_after_a_step_even_one_that_converged():
    """One step is always taken, and no run begins after the limit."""
    best, ends = best_run(_climb, [_Ladder(1.0), _Ladder(2.0)], EMStops(time_limit=0.0))
    assert best.trace == (0.5,)
    assert len(ends) == 1
    late = time.monotonic() - 1.0
    assert run(_climb, _Ladder(1.0, (0.5,)), EMStops(tolerance=1.0), late)[1]


def test_mistakes_are_named():
    """A negative tolerance, no steps, no start."""
    with pytest.raises(InvalidArgument, match="tolerance=-1"):
        EMStops(tolerance=-1)
    with pytest.raises(InvalidArgument, match="max_iterations=0"):
        EMStops(max_iterations=0)
    with pytest.raises(InvalidArgument, match="restarts=0"):
        sources_of_chance(0, 0)


@pytest.mark.parametrize("noise", [-1e-13, 0.0, 1e-13])
def test_of_runs_that_reach_the_same_height_the_first_is_best(noise):
    """Last digits decide nothing: else the names of hidden states would hang on the processor."""
    starts = [_Ladder(100.0), _Ladder(100.0 * (1.0 + noise)), _Ladder(50.0)]
    best, ends = best_run(_climb, starts, EMStops(tolerance=0.0, max_iterations=60))
    assert best.top == 100.0
    assert len(ends) == 3
