"""The E-step of networks over time: expected counts of all families, summed over the steps of some sequences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plausible.base.arrays import Floats
from plausible.data.sequences import Sequences
from plausible.engine.run import Semiring
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations
from plausible.models import BayesianNetwork, DynamicBayesianNetwork
from plausible.models.sequences.joint_chains import JointChains
from plausible.models.sequences.joint_counts import expected_counts
from plausible.models.sequences.observations import StepEvidence
from plausible.models.sequences.slice_passes import SlicePasses
from plausible.models.sequences.slice_program import SliceProgram, compile_slice
from plausible.models.sequences.template import Lagged, indexed


def folded(network: BayesianNetwork, num_first: int) -> DynamicBayesianNetwork:
    """The network over time whose first slices and the one after them are those of a network, "X[0]" to "X[n]"."""
    slices: list[list[object]] = [[] for _ in range(num_first + 1)]
    for name, cpd in network.cpds.items():
        child, at = indexed(name)
        assert at is not None
        parents = tuple(parent.renamed(str(_seen(parent.name, at))) for parent in cpd.parents)
        slices[at].append(cpd.over(cpd.variable.renamed(child), parents))
    return DynamicBayesianNetwork(slices[:-1], slices[-1])  # type: ignore[arg-type]


def _seen(name: str, at: int) -> Lagged:
    """A variable of one slice as seen from another one."""
    plain, slice_ = indexed(name)
    assert slice_ is not None
    return Lagged(plain, at - slice_)


@dataclass(frozen=True, slots=True, eq=False)
class SliceExpectations:
    """Exact expectations of sequences under the first slices of a network over time, and the one after them.

    Each sequence is completed as a whole; the counts of a family are summed over all steps that share its table. Linear
    in the number of steps.
    """

    cases: Cases  # neighbouring slices, where starts look for complete families
    sequences: Sequences
    num_first: int  # how many slices come first
    programs: Sequence[SliceProgram]

    @classmethod
    def of(cls, network: BayesianNetwork, num_first: int, cases: Cases, sequences: Sequences) -> SliceExpectations:
        """Laid out for the graph and the states of a network."""
        model = folded(BayesianNetwork([cpd.to_table() for cpd in network.cpds.values()]), num_first)
        template = model._template
        evidence = StepEvidence.of(template, sequences)
        programs = [
            compile_slice(
                template,
                number,
                known=template.continuous,
                observed=evidence.observed,
                for_maxima=True,
                budget=Budget(),
            )
            for number in range(num_first + 1)
        ]
        return cls(cases, sequences, num_first, programs)

    def __repr__(self) -> str:
        return f"<SliceExpectations: {self.sequences!r}>"

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network over "X[0]" to "X[n]"."""
        template = folded(network, self.num_first)._template
        evidence = StepEvidence.of(template, self.sequences)
        programs = [
            replace(program, sources=_sources(program, [cpd.to_factor() for cpd in cpds.values()]))
            for program, cpds in zip(self.programs, template.slices, strict=True)
        ]
        tables: list[Floats] = []

        def ask(passes: SlicePasses) -> Floats:
            tables[:] = [np.zeros(program.program.num_entries) for program in programs]
            return passes.smoothed(tables=tables)[0]

        logs = SlicePasses.run(programs, evidence, ask, Semiring.SUM)
        ends = np.append(0.0, np.cumsum(logs))[self.sequences.starts]
        counts = {}
        for number, (program, cpds) in enumerate(zip(programs, template.slices, strict=True)):
            own = _family_counts(program, tables[number], {name: cpd.scope for name, cpd in cpds.items()})
            for name, table in own.items():
                scope = [*network.cpd(f"{name}[{number}]").parent_names]
                order = [str(_seen(parent, number)) for parent in scope]
                counts[f"{name}[{number}]"] = table.reorder([*order, name]).values
        return Expectations(float(logs.sum()), np.diff(ends), counts)


@dataclass(frozen=True, slots=True, eq=False)
class ChainExpectations:
    """The same where all that is hidden has few joint states, as one chain of these: many times as fast."""

    cases: Cases
    sequences: Sequences

    @classmethod
    def of(
        cls, network: BayesianNetwork, num_first: int, cases: Cases, sequences: Sequences
    ) -> ChainExpectations | None:
        """Where the graph and what is observed leave such a chain."""
        return None if _joint_chains(network, num_first, sequences) is None else cls(cases, sequences)

    def __repr__(self) -> str:
        return f"<ChainExpectations: {self.sequences!r}>"

    def at(self, network: BayesianNetwork) -> Expectations:
        """The expectations under a network over "X[0]" and "X[1]"."""
        joint = _joint_chains(network, 1, self.sequences)
        assert joint is not None
        logs, counts = expected_counts(joint)
        ends = np.append(0.0, np.cumsum(logs))[self.sequences.starts]
        named = {f"{name}[{at}]": table for at, own in enumerate(counts) for name, table in own.items()}
        return Expectations(float(logs.sum()), np.diff(ends), named)


def _joint_chains(network: BayesianNetwork, num_first: int, sequences: Sequences) -> JointChains | None:
    template = folded(network, num_first)._template
    return JointChains.of(StepEvidence.of(template, sequences).conditioned())


@dataclass(frozen=True, slots=True, eq=False)
class CountedSlices:
    """Expectations where no cell is missing: the counts are the same under all networks."""

    cases: Cases
    counts: Mapping[str, Floats]

    @classmethod
    def of(cls, network: BayesianNetwork, num_first: int, cases: Cases, sequences: Sequences) -> CountedSlices:
        """The counts of all families, each pass over the steps making one table."""
        lengths = np.diff(sequences.starts)
        positions = np.arange(sequences.num_steps) - np.repeat(sequences.starts[:-1], lengths)
        counts = {}
        for name, cpd in network.cpds.items():
            at = indexed(name)[1]
            assert at is not None
            steps = np.flatnonzero(positions >= at if at == num_first else positions == at)
            sizes = [variable.num_states for variable in cpd.scope]
            places = np.zeros(len(steps), dtype=np.int64)
            for variable, size in zip(cpd.scope, sizes, strict=True):
                seen = _seen(variable.name, at)
                places = places * size + sequences.columns[seen.name][steps - seen.lag]
            counts[name] = np.bincount(places, minlength=math.prod(sizes)).astype(np.float64).reshape(sizes)
        return cls(cases, counts)

    def at(self, network: BayesianNetwork) -> Expectations:
        """The log-likelihood of the counts."""
        total = 0.0
        for name, table in self.counts.items():
            found = table > 0
            with np.errstate(divide="ignore"):
                total += float(table[found] @ np.log(network.cpd(name).to_factor().values.reshape(table.shape)[found]))
        if total == -math.inf:
            raise ImpossibleEvidence("The rows have probability zero under the network that EM starts from.")
        return Expectations(total, np.array([total]), self.counts)


def is_complete(variables: Iterable[str], sequences: Sequences) -> bool:
    """Whether every cell of some variables is known."""
    return all(
        name in sequences.columns and name not in sequences.soft and bool((sequences.columns[name] >= 0).all())
        for name in variables
    )


def _sources(program: SliceProgram, factors: Sequence[Factor]) -> Floats:
    """The numbers of a program with other tables, which come first."""
    tables = np.concatenate([np.zeros(0), *(factor.flat for factor in factors)])
    return np.concatenate([tables, program.sources[len(tables) :]])


def _family_counts(
    program: SliceProgram, totals: Floats, families: Mapping[str, Sequence[object]]
) -> dict[str, Factor]:
    """Beliefs of cliques, summed over steps, as sums over the families in them."""
    numbers = {name: number for number, name in enumerate(program.variables)}
    variables = list(program.variables.values())
    groups = [[numbers[variable.name] for variable in scope] for scope in families.values()]  # type: ignore[attr-defined]
    counts = {}
    for name, group, clique in zip(families, groups, program.program.smallest_cliques(groups), strict=True):
        assert clique is not None
        start = int(program.program.layout.cliques["table"][clique])
        scope = [variables[number] for number in program.program.clique(clique)]
        size = int(program.program.entries[clique])
        belief = Factor.from_flat(scope, totals[start : start + size])
        counts[name] = belief.marginal([variables[number].name for number in group])
    return counts
