"""EM of networks over time whose distributions are of any kind: numbers, inputs, and what is no table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.options import Seed, generator_of, read_count
from plausible.cpds import CPD
from plausible.data.sequences import Sequences
from plausible.learn.incomplete.gaussian_rows import column_units
from plausible.learn.incomplete.starts_and_stops import ObjectiveGain
from plausible.learn.sequences.slice_families import FamilyRows, SliceFamily
from plausible.models import DynamicBayesianNetwork
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.models.sequences.template import Lagged, Template
from plausible.search.run import Clock, Run, Stops, best_run, iterate
from plausible.variables import Variable

#: What is hidden -> its joint at all steps.
Joints = Mapping[tuple[Lagged, ...], Floats]
#: How much of a hidden state is sure where EM begins.
_SURE = 0.8
#: Steps are cut into so many bands at most, each of which has a state of each hidden variable.
_MOST_BANDS = 32


@dataclass(frozen=True, slots=True, eq=False)
class SliceState:
    """A network on its way, and what it expects."""

    model: DynamicBayesianNetwork
    joints: Joints  # of what is hidden, given the rows
    log_likelihood: float
    objective: float  # with the logarithm of the prior's density


@dataclass(frozen=True, slots=True, eq=False)
class SliceProblem:
    """The two halves of a step for some rows: joints of what is hidden, and each distribution from weighted rows."""

    template: Template  # the graph, the kinds of distributions, and those that stay
    families: Sequence[SliceFamily]
    sequences: Sequences

    def init(self, model: DynamicBayesianNetwork) -> SliceState:
        """The state at a network: one E-step."""
        logs, joints = model._expected(self.sequences, {family.hidden for family in self.families if family.hidden})
        refuse_impossible(self.sequences, logs)
        total = float(logs.sum())
        slices = model._template.slices
        priors = (family.learner.log_prior(slices[family.slices[-1]][family.name]) for family in self.families)
        return SliceState(model, joints, total, total + math.fsum(priors))

    def step(self, state: SliceState) -> SliceState:
        """One M-step, and the E-step after it; the objective does not fall."""
        return self.init(self.maximized(state.model._template.slices, state.joints))

    def maximized(self, before: Sequence[Mapping[str, CPD]], joints: Joints) -> DynamicBayesianNetwork:
        """The network of the best distributions."""
        slices = [dict(cpds) for cpds in before]
        certain = np.ones((self.sequences.num_steps, 1))
        for family in self.families:
            weights = family.weights(joints[family.hidden] if family.hidden else certain)
            best = family.learner.best(slices[family.slices[-1]][family.name], weights)
            for at in family.slices:
                slices[at][family.name] = best
        inputs = [self.template.variables[name] for name in self.template.inputs]
        listed = [list(cpds.values()) for cpds in slices]
        return DynamicBayesianNetwork(listed[:-1], listed[-1], inputs=inputs)

    def runs(
        self,
        given: DynamicBayesianNetwork | None,
        rows: FamilyRows,
        restarts: int,
        seed: Seed,
        stops: Stops,
        clock: Clock,
    ) -> tuple[Run[SliceState], ...]:
        """Runs of EM, the best first: from the network given, if there is one, then from networks that are drawn."""
        generator, rules = generator_of(seed), [ObjectiveGain(stops.tolerance)]

        def starts() -> Iterator[SliceState]:
            for number in range(1 + read_count("restarts", restarts)):
                yield self.init(self.drawn(rows, generator) if number or given is None else given)

        def run_from(start: SliceState, _: Clock) -> Run[SliceState]:
            return iterate(self.step, start, stops, rules, objective=attrgetter("objective"), clock=clock)

        return best_run(run_from, starts(), clock)

    def drawn(self, rows: FamilyRows, generator: np.random.Generator) -> DynamicBayesianNetwork:
        """A network to start from: what each hidden state goes with is cut out along a random direction of the rows."""
        begun = [each for family in self.families if (each := rows.begun(family)) is not None]
        groups = {family.hidden for family in (*self.families, *begun) if family.hidden}
        names = dict.fromkeys(one.name for hidden in sorted(groups) for one in hidden)
        variables = self.template.variables
        count = min(math.prod(variables[name].num_states for name in names), _MOST_BANDS)
        shares = {one: _bands(self.sequences, variables[one], count, generator) for one in variables if one in names}
        joints = {hidden: _product(shares, hidden) for hidden in groups}
        first = replace(self, families=begun).maximized(self.template.slices, joints)
        return self.maximized(first._template.slices, joints)


def _bands(sequences: Sequences, variable: Variable, count: int, generator: np.random.Generator) -> Floats:
    """How much of each step belongs to each state: mostly one, by where its row lies in a random direction."""
    size, num_steps = variable.num_states, sequences.num_steps
    directions = [generator.random(num_steps) * 1e-9]
    for name, column in sequences.columns.items():
        if sequences.variables[name].is_continuous:
            center, variance = column_units(column[:, None], np.ones(num_steps))
            directions.append(generator.normal() * np.nan_to_num((column - center) / np.sqrt(variance or 1.0)))
        else:
            directions.append(generator.normal(size=sequences.variables[name].num_states + 1)[column])
    ranks = np.argsort(np.argsort(np.sum(directions, axis=0), kind="stable"), kind="stable")
    state_of_band = generator.permutation(np.arange(max(count, size)) % size)
    shares = np.full((num_steps, size), (1 - _SURE) / size)
    shares[np.arange(num_steps), state_of_band[ranks * len(state_of_band) // max(num_steps, 1)]] += _SURE
    if variable.name in sequences.columns:
        shares = shares * sequences.weights(variable.name)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _product(shares: Mapping[str, Floats], hidden: Iterable[Lagged]) -> Floats:
    """The joint of hidden variables that know nothing of each other."""
    joint: NDArray[np.float64] | None = None
    for one in hidden:
        own = np.roll(shares[one.name], one.lag, axis=0)
        joint = own if joint is None else (joint[:, :, None] * own[:, None, :]).reshape(len(own), -1)
    assert joint is not None
    return joint
