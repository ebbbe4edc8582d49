"""The driver of runs: limits, rules, resuming, clocks, chains."""

from __future__ import annotations

import pytest

from plausible.errors import InvalidArgument
from plausible.search.chains import ChainSteps, run_chains
from plausible.search.run import CONVERGED, Clock, Run, Stops, best_run, iterate


def grown(number):
    return number + 1


def ends_at_ten(number):
    return CONVERGED if number == 10 else ""


def test_a_run_ends_by_its_state_its_rules_or_its_limits():
    """The first reason counts, and the record says which; the trace has the start and each step."""
    whole = iterate(grown, 0, Stops(), ends=ends_at_ten, objective=float)
    assert (whole.state, whole.num_steps, whole.stopped_by, whole.converged) == (10, 10, "converged", True)
    assert whole.trace == tuple(map(float, range(11)))
    assert whole.seconds > 0
    assert iterate(grown, 10, Stops(), ends=ends_at_ten).num_steps == 0
    cut = iterate(grown, 0, Stops(max_steps=3), ends=ends_at_ten)
    assert (cut.state, cut.stopped_by, cut.converged) == (3, "step limit", False)
    late = iterate(grown, 0, Stops(time_limit=0))
    assert (late.num_steps, late.stopped_by) == (0, "time limit")

    def large(run):
        assert (run.state, len(run.trace)) == (run.previous + 1, run.state + 1)
        return "large" if run.state == 4 else ""

    ruled = iterate(grown, 0, Stops(), [lambda run: "", large], objective=float)
    assert (ruled.state, ruled.stopped_by, ruled.converged) == (4, "large", False)


def test_a_run_in_pieces_is_the_run_in_one():
    """Interrupted by progress and gone on with, it ends alike; what is finished stays."""
    told = []

    def told_thrice(state):
        told.append(state)
        return len(told) % 3 == 0

    stops, run = Stops(progress=told_thrice), iterate(grown, 0, Stops(), ends=ends_at_ten, objective=float)
    pieces = iterate(grown, 0, stops, ends=ends_at_ten, objective=float)
    assert (pieces.stopped_by, pieces.num_steps) == ("interrupted", 3)
    while not pieces.converged:
        pieces = iterate(grown, pieces, stops, ends=ends_at_ten, objective=float)
    for other in (pieces, iterate(grown, pieces, Stops(), ends=ends_at_ten, objective=float)):
        assert (other.state, other.num_steps, other.trace) == (run.state, run.num_steps, run.trace)
    assert told == list(range(1, 11))


def test_the_reason_of_the_method_counts_before_that_of_the_caller():
    """Told to stop at the last step, a run that has converged says so."""
    run = iterate(grown, 0, Stops(progress=lambda number: number == 10), ends=ends_at_ten)
    assert run.converged


def test_runs_share_a_clock_and_the_best_comes_first():
    """No start is made once the time is over or the caller stopped a run."""

    def climb(start, clock):
        return iterate(grown, start, Stops(max_steps=2), objective=float, clock=clock)

    assert [run.state for run in best_run(climb, [0, 5, 2])] == [7, 4, 2]
    assert [run.num_steps for run in best_run(climb, [0, 5], time_limit=0)] == [0]
    clock = Clock.of(100)
    assert 49 < clock.share(0.5).seconds_left <= 50


def test_a_true_answer_of_progress_stops_this_run_and_all_others():
    """Later starts are not even made."""
    told = []

    def starts():
        yield 0
        yield 5
        pytest.fail("a start that nothing was to come of")

    stops = Stops(max_steps=2, progress=lambda number: told.append(number) or len(told) == 4)
    runs = best_run(lambda start, clock: iterate(grown, start, stops, objective=float), starts())
    assert [run.stopped_by for run in runs] == ["interrupted", "step limit"]
    assert told == [1, 2, 6, 7]


@pytest.mark.parametrize("noise", [-1e-13, 0.0, 1e-13])
def test_of_runs_that_reach_the_same_height_the_first_is_best(noise):
    """Last digits decide nothing: else the names of hidden states would hang on the processor."""
    starts = [100.0, 100.0 * (1.0 + noise), 50.0]
    runs = best_run(lambda start, clock: Run(start, trace=(start,)), starts)
    assert [run.state for run in runs] == starts


@pytest.mark.parametrize("options", [{"tolerance": -1}, {"max_steps": 1.5}, {"time_limit": "1"}, {"progress": 3}])
def test_options_of_runs_are_checked_by_name(options):
    """The message begins with the option."""
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        Stops(**options)


def test_chains_keep_every_draw_after_their_burn_in_and_say_what_cut_them_short():
    """The chains go in step; a run that was stopped tells after how many steps."""
    told = []
    whole = run_chains(grown, [0, 10], ChainSteps(2, 3, 2), progress=told.append)
    assert whole.kept == [(4, 14), (6, 16), (8, 18)]
    assert (whole.after_burn_in, whole.last, whole.num_steps) == ((2, 12), (8, 18), 8)
    assert (whole.stopped_by, whole.shortfall) == ("", "")
    assert [(each.num_steps, each.max_steps) for each in told] == [(number, 8) for number in range(1, 9)]
    cut = run_chains(grown, [0], ChainSteps(2, 3), progress=lambda state: state.num_steps == 3)
    assert (cut.kept, cut.stopped_by) == ([(3,)], "interrupted")
    assert cut.shortfall == "stopped by progress= after 3 of 5 steps"
    late = run_chains(grown, [0], ChainSteps(2, 3), time_limit=0)
    assert (late.kept, late.shortfall) == ([(0,)], "stopped by time_limit= after 0 of 5 steps")


def test_a_run_is_a_record():
    """It shows its fields, and two runs are two."""
    assert repr(Run(1)).startswith("Run(state=1, num_steps=0")
    assert Run(1) != Run(1)
