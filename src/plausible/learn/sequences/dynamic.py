"""Learning the tables of a dynamic Bayesian network from rows in time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Codes
from plausible.base.options import Seed
from plausible.base.records import Result, record
from plausible.cpds import CPD
from plausible.data.sequences import Sequences, SequencesLike
from plausible.data.table import Table
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported, UnknownVariable, counted
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import Estimate, PriorLike
from plausible.learn.incomplete.em import EMFit, EMProgress, best_em
from plausible.learn.incomplete.expectations import ExpectationStep
from plausible.learn.incomplete.problem import EMProblem, hidden_variables, read_problem
from plausible.learn.incomplete.starts_and_stops import StartLike, start_network
from plausible.learn.sequences.slice_expectations import (
    ChainExpectations,
    CountedSlices,
    SliceExpectations,
    folded,
    is_complete,
)
from plausible.models import DynamicBayesianNetwork
from plausible.models.sequences.template import Lagged, lagged
from plausible.search.run import Clock, Stops
from plausible.variables import Variable


@record(eq=False)
class DynamicFit(Result):
    """A dynamic Bayesian network learned from rows in time."""

    model: DynamicBayesianNetwork  # What was learned
    #: The run of EM over the first slices and the one after them, called "X[0]", "X[1]", ...; with its counts, its
    #: other runs, and what they say of parameters that are poorly determined.
    em: EMFit

    @property
    def log_likelihood(self) -> float:
        """Σ log P(observed cells), of all sequences."""
        return self.em.log_likelihood

    @property
    def trace(self) -> tuple[float, ...]:
        """The objective at the start and after each step."""
        return tuple(self.em.trace)

    @property
    def num_steps(self) -> int:
        """How many steps EM made."""
        return self.em.num_steps

    @property
    def converged(self) -> bool:
        """Whether EM ended by its own rule."""
        return self.em.converged

    @property
    def stopped_by(self) -> str:
        """What ended EM."""
        return str(self.em.stopped_by)

    def __str__(self) -> str:
        steps = counted(self.num_steps, "step")
        return f"{self.model!r}\nlog-likelihood {self.log_likelihood:.6g} after {steps}, {self.stopped_by}"


def dynamic(
    graph: object,
    rows: SequencesLike,
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
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
    progress: EMProgress | None = None,
    time_limit: float | None = None,
) -> DynamicFit:
    """Learn the tables of a dynamic Bayesian network, cells missing anywhere (Baum et al. 1970).

    All steps of all sequences share the tables of later slices. A variable whose parents all lie in its own slice has
    one table at all steps, others one at each of the first steps and one later. Where no cell is missing the tables are
    frequencies; else EM completes each sequence as a whole, at a cost that is linear in its length.

    Parameters
    ----------
    graph
        Arrow text such as "rain[-1] -> rain -> umbrella", a DAG over such names, or a dynamic network, whose states
        and graph are taken and whose tables are where EM starts.
    rows
        Rows in time; see `DynamicBayesianNetwork`.
    prior
        For tables: one for all, or name -> prior, where names are those of slices, such as "rain[0]".
    hidden
        Variables without a column, with their numbers of states; a network knows its own.
    fixed
        Variables whose distributions stay those of the network.
    start
        Where EM starts, if not at the network given: a dynamic network, or "random" or another start of `learn.em`.
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
    plan = _Plan.read(graph)
    begin = start if isinstance(start, DynamicBayesianNetwork) else plan.model
    named = {} if begin is None else dict(begin.variables)
    unseen = hidden_variables(hidden, named)
    kept = [fixed] if isinstance(fixed, str) else list(fixed)
    sequences = Sequences.read(
        rows, {**unseen, **named}, sequence=sequence, time=time, gaps=gaps, infer=True, lone=plan.lone
    )
    variables = plan.variables(sequences, {**unseen, **named})
    table = _windows(variables, sequences, plan.num_first)
    knowledge = ParameterKnowledge(fixed=plan.fixed(kept), tied=plan.tied(kept))
    network = None if begin is None else begin.unroll(plan.num_first + 1)
    wanted: StartLike = network if start is None or isinstance(start, DynamicBayesianNetwork) else start
    read = read_problem(network or plan.unrolled(), table, (), prior, estimate, None, knowledge)
    first = network or start_network(read.maximization, read.cases, "random", np.random.default_rng(0))
    parts = first, plan.num_first, read.cases, sequences
    step: ExpectationStep | None = CountedSlices.of(*parts) if is_complete(variables, sequences) else None
    step = step or ChainExpectations.of(*parts) or SliceExpectations.of(*parts)
    fit = best_em(EMProblem(step, read.maximization), wanted, restarts, seed, stops, clock)
    return DynamicFit(folded(fit.network, plan.num_first), fit)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which variables depend on which, and which slices share tables."""

    parents: Mapping[str, tuple[Lagged, ...]]  # name -> parents in later slices
    num_first: int
    own: frozenset[tuple[str, int]]  # the variables that have tables of their own in first slices
    model: DynamicBayesianNetwork | None

    @classmethod
    def read(cls, graph: object) -> _Plan:
        if isinstance(graph, DynamicBayesianNetwork):
            template = graph._template
            if template.inputs:
                raise NotSupported(f"{template.inputs[0]!r} is an input: give it a distribution to learn a network.")
            own = {
                (name, at)
                for at, cpds in enumerate(template.slices[:-1])
                for name, cpd in cpds.items()
                if cpd != template.later[name]
            }
            return cls(template.parents_at(-1), template.num_first, frozenset(own), graph)
        dag = read_dag(graph)
        parents: dict[str, tuple[Lagged, ...]] = {}
        for node in dag.nodes:
            one = lagged(str(node))
            parents.setdefault(one.name, ())
            if one.lag and dag.parents(node):
                raise InvalidGraph(
                    f"An arrow leads into {str(node)!r}: write what it means in the slice itself, with {one.name!r} at "
                    "the head and the parents as seen from there."
                )
            if not one.lag:
                parents[one.name] = tuple(lagged(str(parent)) for parent in dag.parents(node))
        num_first = max([1, *(parent.lag for own in parents.values() for parent in own)])
        early = {
            (name, at)
            for at in range(num_first)
            for name, own in parents.items()
            if any(parent.lag > at for parent in own)
        }
        return cls(parents, num_first, frozenset(early), None)

    @property
    def lone(self) -> str | None:
        """The variable that a plain list of values is of."""
        return next(iter(self.parents)) if len(self.parents) == 1 else None

    def unrolled(self) -> DAG:
        """The graph of the first slices and the one after them."""
        slices = range(self.num_first + 1)
        nodes = [f"{name}[{at}]" for at in slices for name in self.parents]
        edges = [
            (f"{parent.name}[{at - parent.lag}]", f"{name}[{at}]")
            for at in slices
            for name, own in self.parents.items()
            for parent in own
            if parent.lag <= at
        ]
        return DAG(edges, nodes=nodes)

    def tied(self, fixed: Collection[str]) -> list[list[str]]:
        """The groups of variables with one table, but for those whose distributions stay."""
        groups = [
            [f"{name}[{at}]" for at in range(self.num_first + 1) if (name, at) not in self.own]
            for name in self.parents
            if name not in fixed
        ]
        return [group for group in groups if len(group) > 1]

    def fixed(self, names: Collection[str]) -> list[CPD]:
        """The distributions that are not learned."""
        if names and self.model is None:
            raise InvalidArgument(
                "fixed= keeps distributions of a network: give a DynamicBayesianNetwork, not a graph."
            )
        kept: list[CPD] = []
        for name in names:
            if name not in self.parents:
                raise UnknownVariable.named(name, self.parents, "this dynamic network, though fixed= has it")
            assert self.model is not None
            unrolled = self.model.unroll(self.num_first + 1)
            kept += [unrolled.cpd(f"{name}[{at}]") for at in range(self.num_first + 1)]
        return kept

    def variables(self, sequences: Sequences, known: Mapping[str, Variable]) -> dict[str, Variable]:
        """The variables of a slice, in the order of the graph."""
        found = {}
        for name in self.parents:
            if name not in sequences.variables and name not in known:
                raise UnknownVariable(
                    f"{name!r} has no column: if it is hidden, say how many states it has: hidden={{{name!r}: 2}}."
                )
            found[name] = known.get(name) or sequences.variables[name]
            if found[name].is_continuous:
                raise NotSupported(f"{name!r} is continuous: tables are learned where all variables have states.")
        return found


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
