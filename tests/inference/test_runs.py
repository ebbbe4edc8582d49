"""One law for all engines that go step by step: runs can be looked into, stored and taken up again."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest

from plausible.factors import Factor
from plausible.inference import (
    AlphaBetaSwap,
    AlphaExpansion,
    AnnealedImportance,
    BranchAndBound,
    ClusterBP,
    CollapsedGibbs,
    ConvexBP,
    DualDecomposition,
    Gibbs,
    LoopyBP,
    MaxProduct,
    MeanField,
    Metropolis,
    MiniBuckets,
    Problem,
    RegionBP,
    TreeReweightedBP,
)
from plausible.inference.buckets.mini_buckets import MiniBucketMax
from plausible.inference.engine_bases import IterativeEngine
from plausible.variables import Evidence

NAMES = "ABCDEFGHI"


def flip_anything(problem, states, rng):
    """A proposal of the user's own: one variable of each chain, which has two states, takes the other one."""
    new, place = states.copy(), rng.integers(states.shape[1], size=len(states))
    rows = np.arange(len(states))
    new[rows, place] = 1 - new[rows, place]
    return new, np.zeros(len(states))


SAMPLERS = [
    Gibbs(num_samples=300, burn_in=25, num_chains=3),
    Gibbs(num_samples=60, burn_in=10, blocks=[["A", "B"]], collapsed=["I"]),
    Metropolis(num_samples=300, burn_in=25, num_chains=3),
    Metropolis(flip_anything, num_samples=60, burn_in=10, num_chains=3),
    Metropolis(LoopyBP(), num_samples=80, burn_in=10),
    AnnealedImportance(num_temperatures=12, num_particles=30),
    CollapsedGibbs(["A", "E"], num_samples=40, burn_in=5, num_chains=2),
]
ENGINES = [
    LoopyBP(schedule="residual"),
    LoopyBP(schedule="synchronous", damping=0.2, max_steps=7),
    TreeReweightedBP(),
    MaxProduct(),
    ClusterBP(bound=3),
    RegionBP(),
    ConvexBP(tolerance=1e-4),
    MiniBuckets(bound=2, max_steps=6, tolerance=0.0),
    MiniBucketMax(bound=2, max_steps=6, tolerance=0.0),
    MeanField(),
    MeanField(blocks=[["A", "B", "C"]]),
    DualDecomposition(max_steps=40, tolerance=0.0),
    AlphaExpansion(),
    AlphaBetaSwap(),
    *SAMPLERS,
]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)


@pytest.fixture(scope="module")
def problem():
    """A 3 x 3 grid of neighbours that tend to agree, with fields at random."""
    rng = np.random.default_rng(7)
    rows = [NAMES[start : start + 3] for start in (0, 3, 6)]
    pairs = [pair for row in [*rows, *map("".join, zip(*rows, strict=True))] for pair in (row[:2], row[1:])]
    ties = [Factor({a: 2, b: 2}, np.exp(rng.uniform(0.2, 0.9) * np.eye(2))) for a, b in pairs]
    return Problem.of(
        [*ties, *(Factor({name: 2}, np.exp(rng.normal(size=2))) for name in NAMES)], Evidence.read({}, {})
    )


def parts(value):
    """The numbers and arrays of a state, in a fixed order."""
    if isinstance(value, np.ndarray):
        return [value]
    if is_dataclass(value):
        return [part for field in fields(value) for part in parts(getattr(value, field.name))]
    if isinstance(value, tuple | list):
        return [part for item in value for part in parts(item)]
    return [value] if isinstance(value, int | float) else []


def assert_same(left, right):
    for one, other in zip(parts(left), parts(right), strict=True):
        np.testing.assert_array_equal(one, other)


@every_engine
def test_a_run_goes_on_from_any_pickled_state_as_if_never_stopped(engine, problem):
    """The same end to the last bit; steps are pure, and what progress was told stays as it was."""
    told, copies = [], []
    whole = engine.run(problem, progress=lambda state: told.append(state) or copies.append(pickle.dumps(state)))
    assert len(told) == whole.num_steps > 0
    assert whole.stopped_by not in ("", "time limit", "interrupted")
    assert whole.seconds > 0
    for state in map(pickle.loads, copies[:: max(1, len(copies) // 4)]):
        assert_same(engine.run(problem, state).state, whole.state)
    for state, copy in zip(told, map(pickle.loads, copies), strict=True):
        assert_same(state, copy)
    before = engine.init(problem)
    kept = pickle.loads(pickle.dumps(before))
    after = engine.step(problem, before)
    assert_same(before, kept)
    assert_same(after, told[0])


@every_engine
def test_a_run_that_progress_stops_at_each_step_makes_the_same_steps(engine, problem):
    """Taken up again as a run, its steps count; once it has come to its end it stays."""
    whole = engine.run(problem)
    pieces = engine.run(problem, progress=lambda state: True)
    while pieces.stopped_by == "interrupted":
        pieces = engine.run(problem, pieces, progress=lambda state: True)
    assert_same(pieces.state, whole.state)
    assert (pieces.num_steps, pieces.stopped_by) == (whole.num_steps, whole.stopped_by)
    again = engine.run(problem, whole)
    assert_same(again.state, whole.state)
    assert again.num_steps == whole.num_steps


@pytest.mark.parametrize("engine", SAMPLERS, ids=lambda engine: type(engine).__name__)
def test_states_of_samplers_are_read_only_and_know_when_they_are_finished(engine, problem):
    """Nothing has converged before there are draws; a finished state is not stepped any further."""
    told = []
    whole = engine.run(problem, progress=told.append).state
    assert not any(array.flags.writeable for state in told for array in parts(state) if isinstance(array, np.ndarray))
    assert not engine.init(problem).converged
    assert whole.is_finished
    assert_same(engine.step(problem, whole), whole)


def test_branch_and_bound_goes_on_from_a_state_that_had_no_time(problem):
    """Stopped before its tables, and then without a limit: the maximum, proved."""
    stopped = BranchAndBound(time_limit=0).run(problem)
    assert (stopped.stopped_by, stopped.converged) == ("time limit", False)
    finished = BranchAndBound().run(problem, stopped)
    assert finished.converged
    assert finished.state.value == pytest.approx(BranchAndBound(max_entries=4).run(problem).state.value)


@dataclass(frozen=True)
class Counted:
    """A state of one's own."""

    num_steps: int = 0
    converged: bool = False


class Counting(IterativeEngine):
    """An engine of one's own, by what users are told to say: `init` and `step`."""

    def init(self, problem):
        return Counted()

    def step(self, problem, state):
        return Counted(state.num_steps + 1, state.num_steps + 1 == len(problem.variables))


class Watched(LoopyBP):
    """An engine of the house with a step of one's own."""

    def step(self, problem, state):
        SEEN.append(state.num_steps)
        return LoopyBP.step(self, problem, state)


SEEN: list[int] = []


def test_engines_of_ones_own_say_init_and_step_and_are_run_by_them(problem):
    """A run makes the steps that `step` makes, also where it is overridden."""
    run = Counting().run(problem)
    assert (run.state, run.num_steps, run.converged) == (Counted(len(problem.variables), True), 9, True)
    SEEN.clear()
    rounds = Watched().run(problem).num_steps
    assert list(range(rounds)) == SEEN
