"""Learning the distributions of a dynamic Bayesian network from rows in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from plausible.base.arrays import Codes
from plausible.base.options import Seed
from plausible.base.records import record
from plausible.cpds import TableCPD
from plausible.data.sequences import Sequences, SequencesLike
from plausible.data.table import Table
from plausible.errors import counted
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import Estimate, PriorLike, is_no_prior
from plausible.learn.incomplete.em import EMFit, best_em
from plausible.learn.incomplete.expectations import ExpectationStep
from plausible.learn.incomplete.problem import EMProblem, read_problem
from plausible.learn.incomplete.reading import hidden_variables
from plausible.learn.incomplete.starts_and_stops import StartLike, start_network
from plausible.learn.sequences.slice_expectations import (
    ChainExpectations,
    CountedSlices,
    SliceExpectations,
    folded,
    is_complete,
)
from plausible.learn.sequences.slice_families import FamilyRows
from plausible.learn.sequences.slice_learning import SliceProblem
from plausible.learn.sequences.slice_plan import SlicePlan
from plausible.models import DynamicBayesianNetwork
from plausible.search.run import Clock, HasRun, Run, Stops
from plausible.variables import Variable


@record(eq=False)
class DynamicFit(HasRun):
    """A dynamic Bayesian network learned from rows in time."""

    _told: ClassVar[tuple[str, ...]] = ("log_likelihood", *HasRun._told)

    model: DynamicBayesianNetwork  # What was learned
    log_likelihood: float  # Σ log P(observed cells), of all sequences
    runs: tuple[Run[Any], ...]  # All runs of EM, the best first
    #: Where all distributions are tables: EM over the first slices and the one after them, called "X[0]", "X[1]", ...;
    #: with its counts, and what they say of parameters that are poorly determined.
    em: EMFit | None = None

    @property
    def run(self) -> Run[Any]:
        """The best run."""
        return self.runs[0]

    def __str__(self) -> str:
        steps = counted(self.num_steps, "step")
        return f"{self.model!r}\nlog-likelihood {self.log_likelihood:.6g} after {steps}, {self.stopped_by}"


def dynamic(
    graph: object,
    rows: SequencesLike,
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    inputs: str | Iterable[str] = (),
    fixed: Iterable[str] = (),
    start: DynamicBayesianNetwork | StartLike = None,
    estimate: Estimate | None = None,
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
    progress: Callable[[Any], object] | None = None,
    time_limit: float | None = None,
) -> DynamicFit:
    """Learn the distributions of a dynamic Bayesian network, cells missing anywhere (Baum et al. 1970).

    All steps of all sequences share the distributions of later slices. A variable whose parents all lie in its own
    slice has one distribution at all steps, others one at each of the first steps and one later. Where no cell is
    missing, tables are frequencies and numbers are regressions; else EM completes each sequence as a whole, at a cost
    that is linear in its length.

    Parameters
    ----------
    graph
        Arrow text such as "rain[-1] -> rain -> umbrella", a DAG over such names, or a dynamic network, whose states,
        graph and kinds of distributions are taken, and whose parameters are where EM starts. In a graph, columns of
        fractional numbers get Gaussian distributions, and states that depend on numbers logistic ones.
    rows
        Rows in time; see `DynamicBayesianNetwork`. A number that others depend on may be missing only where these are.
    prior
        For tables: one for all, or name -> prior, where names are those of slices, such as "rain[0]".
    hidden
        Variables without a column, with their numbers of states; a network knows its own.
    inputs
        Variables of a graph that have no distribution, and that rows always give; a network knows its own.
    fixed
        Variables whose distributions stay those of the network.
    start
        Where EM starts, if not at the network given: a dynamic network, or "random"; where all distributions are tables
        another start of `learn.em`, too.
    estimate, restarts, seed, tolerance, max_steps, progress, time_limit
        As in `learn.em`.

    Examples
    --------
    >>> fit = dynamic("rain[-1] -> rain", [{"rain": [0, 0, 1, 1]}, {"rain": [0, 1]}])
    >>> fit.model.transition["rain"].values.round(3)
    array([[0.333, 0.667],
           [0.   , 1.   ]])
    """
    clock, stops = Clock.of(time_limit), Stops(tolerance, max_steps, time_limit, progress)
    plan = SlicePlan.read(graph, [inputs] if isinstance(inputs, str) else list(inputs))
    begin = start if isinstance(start, DynamicBayesianNetwork) else plan.model
    named = {} if begin is None else dict(begin.variables)
    unseen = hidden_variables(hidden, named)
    kept = [fixed] if isinstance(fixed, str) else list(fixed)
    sequences = Sequences.read(
        rows, {**unseen, **named}, sequence=sequence, time=time, gaps=gaps, infer=True, lone=plan.lone
    )
    variables = plan.variables(sequences, {**unseen, **named})
    if plan.inputs or not _has_tables_only(variables, begin):
        chosen: Estimate = estimate or ("mle" if is_no_prior(prior) else "mean")
        template = plan.template(variables, sequences) if begin is None else begin._template
        families = FamilyRows(template, sequences, prior, chosen)
        problem = SliceProblem(template, families.families(plan.shared(kept)), sequences)
        given = None if start == "random" else begin
        runs = problem.runs(given, families, restarts, seed, stops, clock)
        return DynamicFit(runs[0].state.model, runs[0].state.log_likelihood, runs)
    table = _windows(variables, sequences, plan.num_first)
    knowledge = ParameterKnowledge(fixed=plan.fixed(kept), tied=plan.tied(kept))
    network = None if begin is None else begin.unroll(plan.num_first + 1)
    wanted: StartLike = network if start is None or isinstance(start, DynamicBayesianNetwork) else start
    read = read_problem(network or plan.unrolled(), table, (), prior, estimate, None, knowledge)
    first = network or start_network(read.maximization, read.cases, "random", np.random.default_rng(0))
    parts = first, plan.num_first, read.cases.in_memory("learn.dynamic"), sequences
    step: ExpectationStep | None = CountedSlices.of(*parts) if is_complete(variables, sequences) else None
    step = step or ChainExpectations.of(*parts) or SliceExpectations.of(*parts)
    fit = best_em(EMProblem(step, read.maximization), wanted, restarts, seed, stops, clock)
    return DynamicFit(folded(fit.network, plan.num_first), fit.log_likelihood, fit.runs, fit)


def _has_tables_only(variables: Mapping[str, Variable], begin: DynamicBayesianNetwork | None) -> bool:
    """Whether all that is to be learned are tables."""
    cpds = () if begin is None else (cpd for cpds in begin._template.slices for cpd in cpds.values())
    return not any(variable.is_continuous for variable in variables.values()) and all(
        isinstance(cpd, TableCPD) for cpd in cpds
    )


def _windows(variables: Mapping[str, Variable], sequences: Sequences, num_first: int) -> Table:
    """Neighbouring slices as rows over "X[0]", "X[1]", ...; shorter sequences go on with nothing known."""
    width = num_first + 1
    lengths = np.diff(sequences.starts)
    counts = np.where(lengths > 0, np.maximum(lengths - num_first, 1), 0)
    firsts = np.repeat(sequences.starts[:-1], counts)
    rows = firsts + np.arange(len(firsts)) - np.repeat(np.cumsum(counts) - counts, counts)
    ends = np.repeat(sequences.starts[1:], counts)
    named: dict[str, Variable] = {}
    columns: list[Codes] = []
    for at in range(width):
        steps = rows + at
        inside = steps < ends
        for name, variable in variables.items():
            codes = np.full(len(rows), -1, dtype=np.int32)
            if name in sequences.columns:
                codes[inside] = sequences.columns[name][steps[inside]]
            named[f"{name}[{at}]"] = variable.renamed(f"{name}[{at}]")
            columns.append(codes)
    return Table(named, np.ascontiguousarray(np.stack(columns)), np.zeros((0, len(rows))))
