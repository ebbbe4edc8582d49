"""How EM behaves: many starts on rows with missing cells, and what they reach on these rows and on new ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Seed, generator_of
from plausible.data.table import Table
from plausible.errors import InvalidArgument, MissingDependency, UnknownVariable
from plausible.examples.cluster_scores import ScoreComparison
from plausible.examples.library import load
from plausible.examples.planes import PlaneMap
from plausible.learn.estimation.priors import BDeu
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import em_run
from plausible.learn.incomplete.expectations import ExactExpectations
from plausible.learn.incomplete.problem import EMState, read_problem
from plausible.learn.incomplete.starts_and_stops import start_network
from plausible.learn.missingness.mechanisms import CompletelyAtRandom, Mechanism, WholeVariables, hide
from plausible.models import BayesianNetwork
from plausible.search.run import Clock, Stops


@dataclass(frozen=True, slots=True)
class EMDesign:
    """What is tried."""

    #: Numbers of rows to learn from; smaller samples are the first rows of larger ones.
    sizes: Sequence[int] = (25, 100, 400)
    missing: float = 0.5  # the share of cells that are hidden, completely at random
    hidden: str | None = None  # a variable that is never observed, or none
    num_starts: int = 10  # runs from random tables, for each size
    num_test_rows: int = 500  # new rows, with cells hidden in the same way
    #: Of the prior, a `BDeu`: so few that tables can follow the rows closely, and that nothing is impossible.
    cases: float = 0.1
    max_steps: int = 200  # at most so many steps a run
    tolerance: float = 1e-6  # a run ends where a step gains at most this share of the objective
    #: Runs that end within so many bits for each row of each other are taken to have found the same optimum.
    same_optimum: float = 1e-3

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1 or self.num_starts < 1 or self.num_test_rows < 1:
            raise InvalidArgument("sizes=, num_starts= and num_test_rows= are at least one each.")
        if not self.cases > 0:
            raise InvalidArgument(f"cases={self.cases!r} must be above zero: else new rows may be impossible.")


class EMTrace(NamedTuple):
    """One run: log-likelihoods in bits for each row, at the start and after each step."""

    train: tuple[float, ...]  # of the rows that are learned from
    test: tuple[float, ...]  # of new ones
    objective: float  # at the end, likewise
    stopped_by: str  # why it ended: see `Run`

    @property
    def overfitting(self) -> float:
        """How many bits for each new row the last step is below the best one."""
        return max(self.test) - self.test[-1]


@dataclass(frozen=True, slots=True, eq=False)
class EMSample:
    """All runs on the rows of one size."""

    num_rows: int  # the size
    traces: tuple[EMTrace, ...]  # one for each start, in their order
    same_optimum: float  # as in the design

    @property
    def num_optima(self) -> int:
        """How many different ends there are, by the objective."""
        ends = np.sort([trace.objective for trace in self.traces])
        return 1 + int((np.diff(ends) > self.same_optimum).sum())

    @property
    def spread(self) -> float:
        """From the worst end to the best, in bits for each row that is learned from."""
        return float(np.ptp([trace.train[-1] for trace in self.traces]))

    @property
    def test_spread(self) -> float:
        """From the worst end to the best, in bits for each new row."""
        return float(np.ptp([trace.test[-1] for trace in self.traces]))

    @property
    def best(self) -> EMTrace:
        """The run with the greatest objective, of equal ones the first."""
        return max(self.traces, key=lambda trace: trace.objective)


@dataclass(frozen=True, slots=True, eq=False)
class EMBehaviour:
    """What came of a design."""

    design: EMDesign  # what was tried
    samples: tuple[EMSample, ...]  # one for each size that there was time for
    test_limit: float  # what the network that drew all rows reaches, in bits for each new row

    def table(self) -> str:
        """A line for each size; log-likelihoods are in bits for each row."""
        lines = [
            f"New rows under the true network: {self.test_limit:.3f} bits each",
            f"{'rows':>6}{'starts':>8}{'optima':>8}{'spread':>9}{'train':>9}{'test':>9}{'test spread':>13}"
            f"{'overfitting':>13}",
        ]
        for sample in self.samples:
            best = sample.best
            lines.append(
                f"{sample.num_rows:>6}{len(sample.traces):>8}{sample.num_optima:>8}{sample.spread:>9.3f}"
                f"{best.train[-1]:>9.3f}{best.test[-1]:>9.3f}{sample.test_spread:>13.3f}{best.overfitting:>13.3f}"
            )
        return "\n".join(lines)


def em_behaviour(
    network: BayesianNetwork | None = None,
    design: EMDesign | None = None,
    *,
    seed: Seed = 0,
    progress: Callable[[int, EMTrace], object] | None = None,
    time_limit: float | None = None,
) -> EMBehaviour:
    """Draw rows, hide cells, learn the tables again from many random starts, and follow each run (K&F box 19.B).

    The fewer rows, and the more is hidden, the more different optima there are, and the sooner new rows become less
    probable while those that are learned from still gain.
    """
    truth, chosen = network or load("asia"), design or EMDesign()
    mechanisms: list[Mechanism] = [CompletelyAtRandom(chosen.missing)]
    if chosen.hidden is not None:
        UnknownVariable.check(chosen.hidden, truth.variables, "this network")
        mechanisms.append(WholeVariables([chosen.hidden]))

    def drawn(num_rows: int, generator: np.random.Generator) -> Table:
        table = Table.read(truth.sample(num_rows, seed=generator), truth.variables)
        hidden = hide(table, mechanisms, seed=generator).data
        assert isinstance(hidden, Table)
        return hidden

    clock, samples = Clock.of(time_limit), list[EMSample]()
    rows_of, test_of, starts_of = generator_of(seed).spawn(3)
    rows = drawn(max(chosen.sizes), rows_of)
    test = ExactExpectations(Cases.of(truth.variables, drawn(chosen.num_test_rows, test_of)))
    limit = test.at(truth).log_likelihood / (chosen.num_test_rows * math.log(2))
    is_over = False
    for num_rows in chosen.sizes:
        traces, some = list[EMTrace](), rows.take(np.arange(num_rows))
        for generator in () if is_over else starts_of.spawn(chosen.num_starts):
            traces.append(_trace(truth, some, test, chosen, clock, generator))
            is_over = bool(progress is not None and progress(num_rows, traces[-1])) or clock.is_over
            if is_over:
                break
        samples += [EMSample(num_rows, tuple(traces), chosen.same_optimum)] if traces else []
    return EMBehaviour(chosen, tuple(samples), limit)


def _trace(
    truth: BayesianNetwork,
    rows: Table,
    test: ExactExpectations,
    design: EMDesign,
    clock: Clock,
    generator: np.random.Generator,
) -> EMTrace:
    """One run from random tables; all logarithms in bits for each row."""
    problem = replace(read_problem(truth, rows, prior=BDeu(design.cases)), validation=test)
    first = problem.at(start_network(problem.maximization, problem.cases, "random", generator))
    train = [first.expectations.log_likelihood]

    def follow(state: EMState) -> None:
        train.append(state.expectations.log_likelihood)

    run = em_run(problem, first, Stops(design.tolerance, design.max_steps, progress=follow), clock=clock)
    bits, test_bits = math.log(2) * rows.num_rows, math.log(2) * design.num_test_rows
    tested = tuple(value / test_bits for value in run.state.validation_trace)
    return EMTrace(tuple(value / bits for value in train), tested, run.state.objective / bits, run.stopped_by)


#: Points that are drawn of each source, so that a picture stays legible.
_MOST_POINTS = 2000


def draw_planes(found: PlaneMap) -> Any:
    """A matplotlib figure of the points in space, each in the colour of its most probable plane; stray ones grey."""
    figure = _figure(6.0, 5.0)
    axes = figure.add_subplot(projection="3d")
    for source in range(len(found.planes) + 1):
        x, y, z = found.problem.points[found.labels == source][:_MOST_POINTS].T
        name = f"plane {source}, {found.planes.weights[source]:.0%}" if source else "stray"
        axes.scatter(x, y, z, s=4, color="0.7" if source == 0 else f"C{(source - 1) % 10}", label=name)
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.set_zlabel("z")
    axes.legend(loc="upper left")
    return figure


def draw_em_behaviour(found: EMBehaviour) -> Any:
    """A matplotlib figure: for each size the traces of all runs, on the rows learned from and on new ones."""
    figure = _figure(4.0 * len(found.samples), 3.5)
    for place, sample in enumerate(found.samples):
        axes = figure.add_subplot(1, len(found.samples), place + 1)
        for number, trace in enumerate(sample.traces):
            axes.plot(trace.train, color="C0", linewidth=0.8, label="learned from" if number == 0 else None)
            axes.plot(trace.test, color="C1", linewidth=0.8, label="new rows" if number == 0 else None)
        axes.axhline(found.test_limit, color="0.5", linestyle=":", label="new rows, true network")
        axes.set_title(f"{sample.num_rows} rows, {sample.num_optima} optima")
        axes.set_xlabel("steps")
        axes.set_ylabel("log-likelihood, bits a row")
    figure.axes[0].legend()
    figure.tight_layout()
    return figure


def draw_scores(found: ScoreComparison) -> Any:
    """A matplotlib figure: the mean error of each criterion against the overlap of clusters."""
    figure = _figure(6.0, 4.0)
    axes = figure.add_subplot()
    overlaps = list(dict.fromkeys(trial.overlap for trial in found.trials))
    for criterion in found.design.criteria:
        means = [float(np.mean(found.errors(criterion, overlap))) for overlap in overlaps]
        axes.plot(overlaps, means, marker="o", label=criterion)
    axes.axhline(0.0, color="0.5", linestyle=":")
    axes.set_xlabel("overlap of clusters")
    axes.set_ylabel("clusters chosen less candidate's")
    axes.legend()
    return figure


def save_figure(path: str | PathLike[str], figure: Any) -> Path:
    """Write a figure, into a folder that is made where it is missing; gives the path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=120)
    return target


def _figure(width: float, height: float) -> Any:
    try:
        module = import_module("matplotlib.figure")
    except ImportError:
        raise MissingDependency.extra("matplotlib", "plot") from None
    return module.Figure(figsize=(width, height))
