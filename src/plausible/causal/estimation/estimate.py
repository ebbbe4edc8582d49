"""What a method of estimation is, how sure its estimate is, and what the estimate says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from plausible.base import Argument, Call, Floats, Remedy, Result, chart_by, format_number, record
from plausible.causal.adjustment.problem import AdjustableGraph, KnownGraph, may_cause, read_known, read_problem
from plausible.causal.adjustment.sets import adjustment_set, check_adjustment
from plausible.causal.estimation.rows import EffectTask, PositivityReport
from plausible.causal.identification.algorithm import identify
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotIdentifiable, NotSupported
from plausible.graphs import DAG, PDAG, CausalGraph, Edge, apply_meek_rules
from plausible.graphs.pag_questions import possible_causes
from plausible.variables import State

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

BY_FORMULA = Remedy("evaluate the formula of ", Call("identify"), " on a fitted network")
_OTHER_WAYS = (
    Remedy("try ", Argument("method", Call("FrontDoor"))),
    Remedy(Argument("method", Call("InstrumentalVariable"))),
    BY_FORMULA,
)


_BY_PLUG_IN = Remedy(
    *("where they are different rows for each variable, take ", Argument("method", Call("PlugIn"))),
    ", which puts together what they tell",
)


def choose_covariates(
    task: EffectTask, graph: AdjustableGraph, adjustment: str | Iterable[str] | None
) -> tuple[str, ...]:
    """The set to adjust for: the given one if it is right, else one with the fewest columns."""
    outcome, treatment = task.outcome.name, task.treatment.name
    if adjustment is None:
        found = adjustment_set(graph, outcome, treatment, allowed=observed_nodes(task, graph), costs={})
        if found is None:
            no_path = no_causal_path(task, graph)
            raise InvalidArgument(
                f"No columns of the data are a set to adjust for: the effect of {treatment!r} on {outcome!r} can't be "
                f"had by adjustment in this graph.{no_path}{missing_columns(task, graph)}",
                remedies=() if no_path else _OTHER_WAYS,
            )
        return task.ordered(found)
    names = task.named(adjustment)
    check_adjustment(graph, outcome, treatment, names).require()
    return names


def no_causal_path(task: EffectTask, graph: AdjustableGraph) -> str:
    """A sentence (with a leading space) where the graph has no directed path from treatment to outcome, else none."""
    outcome, treatment = task.outcome.name, task.treatment.name
    known = read_known(graph)
    if not isinstance(known, DAG | CausalGraph) or outcome in known.descendants(treatment):
        return ""
    return f" No causal path leads from {treatment!r} to {outcome!r} in this graph: there is no effect to estimate."


def missing_columns(task: EffectTask, graph: AdjustableGraph) -> str:
    """A sentence (with a leading space) about nodes of the graph that the data have no columns for, else none."""
    nodes = read_problem(graph, task.outcome.name, task.treatment.name).causes.nodes
    missing = [node for node in nodes if node not in task.table.variables]
    return f" The data have no column for {', '.join(map(repr, missing))}, which the graph has." if missing else ""


def observed_nodes(task: EffectTask, graph: AdjustableGraph) -> list[str]:
    """The nodes of a graph that the data have columns for, other than treatment and outcome."""
    nodes = read_problem(graph, task.outcome.name, task.treatment.name).causes.nodes
    taken = (task.outcome.name, task.treatment.name)
    return [node for node in nodes if isinstance(node, str) and node in task.table.variables and node not in taken]


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentRows:
    """The rows that an effect is told by."""

    table: Table  # The rows.
    graph: KnownGraph  # What causes what in them.
    told: str = ""  # Which rows they are, as a clause; empty where they are all rows as they were observed.


def as_one_graph(graph: AdjustableGraph) -> KnownGraph:
    """The graph that is meant; a PDAG of a class with one member is that member."""
    known = read_known(graph)
    if not isinstance(known, PDAG):
        return known
    closed = apply_meek_rules(known)
    return known if closed.undirected_edges else DAG(closed.directed_edges, nodes=closed.nodes)


def experiment_rows(table: Table, graph: KnownGraph, outcome: str, treatment: str) -> ExperimentRows:
    """Leave out the rows of experiments that change P(y | do(x)); use the others by what they are.

    Where a variable that leads to the outcome past the treatment was set, or the outcome itself, the effect is another
    one. Where anything else was set in some rows, its causes are the same and only act in fewer rows, so that the graph
    holds for all rows together. What was set in all rows has no causes in them. An effect that the graph leaves open is
    told by the rows in which the treatment was set.
    """
    if not table.interventions:
        return ExperimentRows(table, graph)
    used, told = _as_things_are(table, graph, outcome, treatment)
    is_set = used.interventions.get(treatment)
    if is_set is None or (isinstance(graph, DAG | CausalGraph) and is_set.all()):
        clauses = [told, f"{treatment!r} was set from outside in all rows" if is_set is not None else ""]
        return ExperimentRows(used, without_causes_of_set(graph, used), "; ".join(filter(None, clauses)))
    if _is_identified(used, graph, outcome, treatment):
        return ExperimentRows(used, without_causes_of_set(graph, used), told)
    experiment = used.take(is_set)
    cut = (
        without_causes_of_set(graph, experiment)
        if isinstance(graph, DAG | CausalGraph)
        else CausalGraph([Edge.of(treatment, "->", outcome)])
    )
    of_which = "of the others" if told else f"of {table.num_rows} rows"
    clauses = [told, f"{of_which} the {experiment.num_rows} in which {treatment!r} was set from outside"]
    return ExperimentRows(experiment, cut, "; ".join(filter(None, clauses)))


def without_causes_of_set(graph: KnownGraph, table: Table) -> KnownGraph:
    """The graph without edges into what was set in all rows; one that stands for a class is left as it is."""
    if not isinstance(graph, DAG | CausalGraph):
        return graph
    always = [node for node in graph.nodes if node in table.interventions and table.interventions[str(node)].all()]
    return graph.without_incoming(always) if always else graph


def _as_things_are(table: Table, graph: KnownGraph, outcome: str, treatment: str) -> tuple[Table, str]:
    """The rows in which nothing was set that acts on the outcome past the treatment, and what was left out."""
    # The outcome, and what may act on it once the treatment is set.
    if isinstance(graph, DAG | CausalGraph):
        acting = frozenset({outcome, *graph.without_incoming([treatment]).ancestors(outcome)} - {treatment})
    else:
        members = apply_meek_rules(graph) if isinstance(graph, PDAG) else graph
        acting = possible_causes(members, [outcome], frozenset({treatment}))
    names = [name for name in table.interventions if name in acting]
    if not names:
        return table, ""
    is_changed = np.logical_or.reduce([table.interventions[name] for name in names])
    listed = " or ".join(map(repr, names))
    if is_changed.all():
        raise NotSupported(
            f"In all {table.num_rows} rows {listed} was set from outside, so that none tells how {outcome!r} comes "
            f"about by itself once {treatment!r} is set.",
            remedies=[Remedy("give rows in which that was not so"), _BY_PLUG_IN],
        )
    left_out = f"{int(is_changed.sum())} of {table.num_rows} rows left out, in which {listed} was set from outside"
    return table.take(~is_changed), left_out


def _is_identified(table: Table, graph: KnownGraph, outcome: str, treatment: str) -> bool:
    columns = [node for node in graph.nodes if isinstance(node, str) and node in table.variables]
    if not isinstance(graph, DAG | CausalGraph):
        others = [node for node in columns if node not in (outcome, treatment)]
        is_open = may_cause(graph, outcome, treatment)
        return not is_open or adjustment_set(graph, outcome, treatment, allowed=others) is not None
    try:
        identify(graph, outcome=outcome, treatment=treatment, observed=columns)
    except NotIdentifiable:
        return False
    return True


class Means(NamedTuple):
    """E[Y | do(x)] and E[Y | do(x')], NaN where a method does not tell them, and their difference."""

    low: float
    high: float
    difference: float

    @classmethod
    def of(cls, means: Sequence[float] | Floats) -> Means:
        """With the difference of the two."""
        return cls(float(means[0]), float(means[1]), float(means[1] - means[0]))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedEstimate:
    """A method that is ready to be asked, as often as there are resamples."""

    weights: Floats  # How many cases each row stands for.
    estimate: Callable[[Floats], Means]  # Weights -> means.
    # What the method used besides treatment and outcome: covariates, mediators, or an instrument and its conditions.
    variables: tuple[str, ...] = ()
    positivity: PositivityReport | None = None  # For methods that compare within strata.
    # That of the difference by its influence function; `None` where only resampling tells.
    standard_error: float | None = None
    strength: float | None = None  # The F statistic of the first stage, for instruments.
    assumption: str = ""  # What the estimate takes for granted besides the graph, as a clause; empty where nothing.


@runtime_checkable
class EffectMethod(Protocol):
    """A way to estimate an effect."""

    @property
    def name(self) -> str:
        """What the method is called."""

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""


Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Intervals from estimates of resampled cases.

    Parameters
    ----------
    resamples
        How often cases are drawn anew; with 0 the interval is that of the influence function, where a method has one.
    confidence
        The chance that the interval covers the effect.
    """

    resamples: int = 200
    confidence: float = 0.95
    seed: Seed = field(default=0)

    def __post_init__(self) -> None:
        if self.resamples < 0 or 0 < self.resamples < 10:
            raise InvalidArgument(f"resamples={self.resamples!r} tell nothing; draw some 200, or 0 for none.")
        if not 0 < self.confidence < 1:
            raise InvalidArgument(f"confidence= lies between 0 and 1, not at {self.confidence!r}.")


def read_bootstrap(bootstrap: Bootstrap | int | None) -> Bootstrap:
    """The plan, or that of a number of resamples."""
    if bootstrap is None or isinstance(bootstrap, Bootstrap):
        return bootstrap or Bootstrap()
    if isinstance(bootstrap, bool) or not isinstance(bootstrap, int | np.integer):
        raise InvalidArgument(f"bootstrap= is a Bootstrap(...) or a number of resamples, not {bootstrap!r}.")
    return Bootstrap(resamples=int(bootstrap))


def uncertainty(
    prepared: PreparedEstimate, difference: float, plan: Bootstrap
) -> tuple[float | None, tuple[float, float] | None]:
    """The standard error and the interval."""
    if plan.resamples:
        rng = np.random.default_rng(plan.seed)
        total = prepared.weights.sum()
        num_cases = max(1, round(total))
        cases = (rng.multinomial(num_cases, prepared.weights / total) for _ in range(plan.resamples))
        differences = np.array([prepared.estimate(counts * (total / num_cases)).difference for counts in cases])
        draws = differences[np.isfinite(differences)]  # resamples without a level have no difference
        if len(draws) < max(2, plan.resamples // 2):
            raise InvalidArgument(
                f"Only {len(draws)} of {plan.resamples} resamples have cases of both levels: the rows are too few for "
                "an interval.",
                remedies=[Remedy("give more rows"), Remedy("take ", Call("Bootstrap", Argument("resamples", 0)))],
            )
        tail = (1.0 - plan.confidence) / 2
        # Weibull's positions allow for the tails that few draws do not reach.
        low, high = np.quantile(draws, [tail, 1.0 - tail], method="weibull").tolist()
        return float(draws.std(ddof=1)), (low, high)
    if prepared.standard_error is None:
        return None, None
    half = NormalDist().inv_cdf(0.5 + plan.confidence / 2) * prepared.standard_error
    return prepared.standard_error, (difference - half, difference + half)


@record
class EffectEstimate(Result):
    """The effect of x' instead of x on the mean of Y, as data tell it."""

    #: Y and X.
    outcome: str
    treatment: str
    levels: tuple[State, State]  # x and x'
    #: The state of the outcome whose probability the mean is; `None` where it is the mean of numbers.
    event: State | None
    method: str  # How it was estimated
    variables: tuple[str, ...]  # What was used besides: covariates, mediators, or an instrument and its conditions
    means: tuple[float, float]  # E[Y | do(x)] and E[Y | do(x')]; NaN for instruments, which tell only the difference
    difference: float  # E[Y | do(x')] - E[Y | do(x)]
    standard_error: float | None  # Of the difference; `None` where nothing was resampled and the method has no formula
    #: For the difference: the quantiles of the resamples, or the Normal interval of the standard error.
    interval: tuple[float, float] | None
    confidence: float  # Of the interval
    num_cases: float  # How much the rows weigh
    positivity: PositivityReport | None  # For methods that compare within strata
    strength: float | None  # The F statistic of the first stage, for instruments; below 10 the instrument is weak
    #: What the estimate takes for granted besides the graph, such as linearity; empty where nothing.
    assumption: str = ""
    #: Which rows of experiments were used, or left out; empty where nothing was set from outside that matters.
    rows: str = ""

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the difference with its interval; it needs matplotlib (the extra `plot`)."""
        return chart_by(
            "plot_intervals", {self.method: self}, ax, f"Effect of {self.treatment} on {self.outcome}", "difference"
        )

    def __str__(self) -> str:
        used = f", using {', '.join(self.variables)}" if self.variables else ""
        change = " -> ".join(format_number(level) if type(level) is float else str(level) for level in self.levels)
        measure = self.outcome if self.event is None else f"P({self.outcome}={self.event})"
        lines = [
            f"Effect of {self.treatment}: {change} on {measure} ({self.method}{used})",
            f"  difference {format_number(self.difference)}",
        ]
        if self.interval is not None:
            low, high = (format_number(end) for end in self.interval)
            lines[1] += f", {self.confidence:.0%} interval {low} to {high}"
        if not np.isnan(self.means[0]):
            low, high = (format_number(mean) for mean in self.means)
            lines.append(f"  means      {low} and {high}")
        if self.strength is not None:
            lines.append(f"  strength   F = {format_number(self.strength)}")
        if self.positivity is not None:
            lines += [f"  {line}" for line in str(self.positivity).splitlines()]
        if self.rows:
            lines.append(f"  rows       {self.rows}")
        if self.assumption:
            lines.append(f"  assuming   {self.assumption}")
        report = self.positivity
        if report is not None and report.empty:
            lines.append("  caution    where there are no cases, a model or a prior fills in, and not the data")
        if report is not None and report.unlikely:
            lines.append(
                f"  caution    only {report.comparable:.2%} of all cases had a real chance of both levels; for the "
                "others very few cases tell, or a model alone. Take cases that could have had both, or adjust for "
                "another set"
            )
        if report is not None and report.sparse and self.interval is not None:
            lines.append(
                "  caution    where there are few cases, their mean hardly varies over resamples: the interval may be "
                "too narrow"
            )
        return "\n".join(lines)
