"""What a dynamic Bayesian network is asked: beliefs at each step, best states, draws, all from rows in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import Seed, check_count, check_number, generator_of
from plausible.data.sequences import Sequences, SequencesLike
from plausible.engine.run import Semiring
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.inference.budget import Budget
from plausible.models.sequences.dynamic_beliefs import NUMBER_COLUMNS, DynamicBeliefs
from plausible.models.sequences.dynamic_online import DynamicFilter
from plausible.models.sequences.gaussian_slices import gaussian_slices
from plausible.models.sequences.joint_chains import JointChains
from plausible.models.sequences.kalman_answers import FORECAST_COLUMNS
from plausible.models.sequences.observations import SliceEngine, StepBeliefs, StepEvidence
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.models.sequences.slice_passes import SlicePasses
from plausible.models.sequences.slice_sampling import draw_rows
from plausible.models.sequences.state_estimates import in_rows_order
from plausible.models.sequences.step_joints import ChainJoints
from plausible.models.sequences.steps_ahead import NumberAhead, inputs_ahead
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.models.sequences.trajectory import DrawnPaths, Trajectory
from plausible.models.sequences.unrolling import unrolled_findings
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd


class DynamicAnswers(DynamicBeliefs):
    """The questions to a dynamic Bayesian network."""

    __slots__ = ()

    def filter(
        self,
        rows: SequencesLike,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        do: Mapping[str, State] | None = None,
        engine: SliceEngine | None = None,
        budget: Budget | None = None,
    ) -> dict[str, pd.DataFrame]:
        """P(X_t | what was observed up to step t), for each discrete variable: name -> frame with a column a state.

        Exact by default, by the interface algorithm (Murphy 2002): linear in the number of steps.

        Parameters
        ----------
        do
            Variables that are set: "X" at all steps, "X[5]" in slice 5 of each sequence, from 0 on.
        engine
            What approximates the answer, such as `BoyenKoller()` or `ParticleFilter()`.
        budget
            What the tree of a slice may cost.
        """
        evidence = self._evidence(rows, sequence, time, gaps, do)
        beliefs = self._beliefs(evidence, engine, budget, "filter")
        refuse_impossible(evidence.sequences, beliefs.logs)
        return self._frames(evidence.sequences, beliefs)

    def smooth(
        self,
        rows: SequencesLike,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        do: Mapping[str, State] | None = None,
        engine: SliceEngine | None = None,
        budget: Budget | None = None,
    ) -> dict[str, pd.DataFrame]:
        """P(X_t | all that was observed), for each discrete variable: name -> frame with a column a state.

        Parameters
        ----------
        do, engine, budget
            As for `filter`.
        """
        evidence = self._evidence(rows, sequence, time, gaps, do)
        beliefs = self._beliefs(evidence, engine, budget, "smooth")
        refuse_impossible(evidence.sequences, beliefs.logs)
        return self._frames(evidence.sequences, beliefs)

    def joints(
        self,
        rows: SequencesLike,
        names: str | Sequence[str],
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        do: Mapping[str, State] | None = None,
        budget: Budget | None = None,
    ) -> pd.DataFrame:
        """P(names_t | all that was observed): a row for each step, a column for each joint state.

        Parameters
        ----------
        names
            Variables of a slice, and of those before it, such as `["rain[-1]", "rain"]`. Where a slice has none before
            it, the row is missing. What lies far back makes the answer dear: all between is summed together.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.models import DynamicBayesianNetwork
        >>> walk = DynamicBayesianNetwork(
        ...     [TableCPD("X", [0.5, 0.5])], [TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], parents=["X[-1]"])]
        ... )
        >>> walk.joints({"X": [None, 1]}, ["X[-1]", "X"]).round(3).iloc[1].tolist()  # of 00, 01, 10, 11
        [0.0, 0.111, 0.0, 0.889]
        """
        import pandas as pd

        wanted = [lagged(name) for name in ([names] if isinstance(names, str) else names)]
        if not wanted or len(set(wanted)) < len(wanted):
            raise InvalidArgument(f"names={names!r}: name the variables whose joint is wanted, each of them once.")
        evidence = self._evidence(rows, sequence, time, gaps, do, [one.name for one in wanted])
        scope = [_discrete(evidence.template, one.name, self._place) for one in wanted]
        named = tuple(map(str, wanted))
        joints = self._joints(evidence, wanted, budget)
        joints[evidence.positions() < max(one.lag for one in wanted)] = np.nan
        columns = pd.MultiIndex.from_product([variable.states for variable in scope], names=list(named))
        return evidence.sequences.frame(joints, columns)

    def _joints(self, evidence: StepEvidence, wanted: Sequence[Lagged], budget: Budget | None) -> Floats:
        """The joint of some variables at each step: axes (step, joint state)."""
        if not wanted:
            return np.ones((evidence.sequences.num_steps, 1))
        if budget is None and (joint := JointChains.of(evidence)) is not None:
            chain = ChainJoints(joint)
            refuse_impossible(evidence.sequences, chain.step_logs)
            if (found := chain.of(wanted)) is not None:
                return found
        return self._tree_joints(evidence, wanted, budget)

    def _tree_joints(self, evidence: StepEvidence, wanted: Sequence[Lagged], budget: Budget | None) -> Floats:
        named = tuple(map(str, wanted))
        evidence = replace(evidence, template=evidence.template.reaching(max(one.lag for one in wanted)))
        programs = self._programs(evidence, budget, together=(named,))
        return SlicePasses.run(programs, evidence, lambda passes: passes.smoothed(named))[1].joints

    def _expected(
        self, sequences: Sequences, groups: Iterable[tuple[Lagged, ...]]
    ) -> tuple[Floats, dict[tuple[Lagged, ...], Floats]]:
        """The log-likelihood of each step, and the joints of some groups of variables; for learners."""
        evidence = self._given(sequences, None)
        joint = JointChains.of(evidence)
        chain = None if joint is None else ChainJoints(joint)
        logs = self._step_log_likelihoods(sequences) if chain is None else chain.step_logs
        found: dict[tuple[Lagged, ...], Floats] = {}
        if not np.isneginf(logs).any():
            for wanted in groups:
                told = None if chain is None else chain.of(wanted)
                found[wanted] = self._tree_joints(evidence, wanted, None) if told is None else told
        return logs, found

    def predict(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        inputs: SequencesLike | None = None,
        do: Mapping[str, State] | None = None,
        engine: SliceEngine | None = None,
        budget: Budget | None = None,
    ) -> dict[str, pd.DataFrame]:
        """P(X_T+1), ..., P(X_T+steps) given all that was observed: name -> frame of the steps after the last ones.

        Parameters
        ----------
        steps
            How many steps to look ahead, after the last one of each sequence.
        inputs
            The rows to come of the inputs, the same for all sequences.
        do, engine, budget
            As for `filter`; a slice that is set may lie ahead.
        """
        sequences = self._read(rows, sequence, time, gaps)
        evidence = self._given(self._lengthened(sequences, steps, inputs), do)
        beliefs = self._beliefs(evidence, engine, budget, "filter")
        refuse_impossible(evidence.sequences, beliefs.logs)
        found = self._states_ahead(sequences, evidence, beliefs, steps)
        for name, number in beliefs.numbers.items():
            found[name] = sequences.ahead(_last_steps(evidence, number.moments, steps), NUMBER_COLUMNS)
        return found

    def _states_ahead(
        self, sequences: Sequences, evidence: StepEvidence, beliefs: StepBeliefs, steps: int
    ) -> dict[str, pd.DataFrame]:
        """Name -> the beliefs of each discrete variable in the last steps, as those to come after the rows."""
        values = _last_steps(evidence, beliefs.marginals, steps)
        return {
            variable.name: sequences.ahead(values[:, :, start:end], variable.states)
            for variable, start, end in self._columns()
        }

    def forecast(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        level: float = 0.9,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        inputs: SequencesLike | None = None,
        do: Mapping[str, State] | None = None,
        engine: SliceEngine | None = None,
        budget: Budget | None = None,
    ) -> dict[str, pd.DataFrame]:
        """What will be observed of the variables that the rows have columns of, in the steps after the last row.

        Of numbers the mean, and the ends of an interval that has the probability `level`, with as much below it as
        above; the other parameters are those of `predict`.
        """
        check_number("level", level, above=0, below=1)
        sequences = self._read(rows, sequence, time, gaps)
        longer = self._lengthened(sequences, steps, inputs)
        evidence = self._given(longer, do)
        beliefs = self._beliefs(evidence, engine, budget, "filter", level)
        refuse_impossible(evidence.sequences, beliefs.logs)
        found, forecasts = self._states_ahead(sequences, evidence, beliefs, steps), {}
        for name, variable in sequences.variables.items():
            if name in found:
                forecasts[name] = found[name]
            elif name in beliefs.numbers and name not in self._template.inputs:
                told = np.hstack([beliefs.numbers[name].moments[:, :1], beliefs.numbers[name].interval])
                forecasts[name] = sequences.ahead(_last_steps(evidence, told, steps), FORECAST_COLUMNS)
            elif name not in self._template.inputs:
                number = NumberAhead.of(self._template, variable)
                evidence = self._given(longer, do, number.parent_names)
                shares = _last_steps(evidence, self._joints(evidence, number.parents, budget), steps)
                ahead = number.forecast(shares.reshape(-1, shares.shape[-1]), level)
                forecasts[name] = sequences.ahead(ahead.values.reshape(*shares.shape[:2], -1), ahead.columns)
        return forecasts

    def _lengthened(self, sequences: Sequences, steps: int, inputs: SequencesLike | None) -> Sequences:
        """The sequences with steps to come, at which only inputs are known."""
        check_count("steps", steps, 1)
        wanted = {name: self._template.variables[name] for name in self._template.inputs}
        if not wanted:
            return sequences.lengthened(steps)
        return sequences.lengthened(steps, inputs_ahead(inputs, wanted, steps).columns)

    # --- best states and draws ---

    def mpe(
        self,
        rows: SequencesLike,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        do: Mapping[str, State] | None = None,
        budget: Budget | None = None,
    ) -> Trajectory:
        """Find the most probable states of all discrete variables at all steps together.

        Of a network that is linear Gaussian throughout, the most probable numbers: the means of `smooth`.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.models import DynamicBayesianNetwork
        >>> walk = DynamicBayesianNetwork(
        ...     [TableCPD("X", [0.5, 0.5])], [TableCPD("X", [[0.9, 0.1], [0.2, 0.8]], parents=["X[-1]"])]
        ... )
        >>> walk.mpe({"X": [0, None, None, 1]})["X"].tolist()
        [0, 0, 0, 1]
        """
        evidence = self._evidence(rows, sequence, time, gaps, do)
        if (slices := gaussian_slices(evidence)) is not None:
            refuse_impossible(evidence.sequences, slices.log_likelihoods(evidence.sequences))
            numbers, log_density = slices.best(evidence.sequences)
            return Trajectory(evidence.sequences.frame(numbers, slices.names), log_density)
        if budget is None and (joint := JointChains.of(evidence)) is not None:
            logs, states = joint.best()
            if np.isneginf(logs).any():
                refuse_impossible(evidence.sequences, joint.log_likelihoods())
            return Trajectory(self._named(evidence, states), float(logs.sum()))
        programs = self._programs(evidence, budget, for_maxima=True)
        logs, states = SlicePasses.run(programs, evidence, SlicePasses.traced, Semiring.MAX)
        return Trajectory(self._named(evidence, states), float(logs.sum()))

    def k_best(
        self,
        k: int,
        rows: SequencesLike,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        do: Mapping[str, State] | None = None,
        budget: Budget | None = None,
    ) -> list[Trajectory]:
        """Find the k most probable trajectories of one sequence, best first; by the network unrolled over its steps."""
        sequences = self._read(rows, sequence, time, gaps)
        if sequences.num_sequences != 1 or not sequences.num_steps:
            raise InvalidArgument(
                f"k_best is asked about one sequence, and these rows have {sequences.num_sequences}: ask about each."
            )
        network = self.unroll(sequences.num_steps)  # type: ignore[attr-defined]
        findings = unrolled_findings(sequences)
        settings = {
            name if "[" in name else f"{name}[{at}]": state
            for name, state in (do or {}).items()
            for at in range(sequences.num_steps)
        }
        found = network.k_best(k, findings, do=settings or None, budget=budget)
        names = [variable.name for variable, _, _ in self._columns()]
        trajectories = []
        for assignment in found:
            columns = [[assignment[f"{name}[{at}]"] for at in range(sequences.num_steps)] for name in names]
            cells = np.empty((sequences.num_steps, len(names)), dtype=object)
            for place, column in enumerate(columns):
                cells[:, place] = column
            trajectories.append(Trajectory(sequences.frame(cells, names), assignment.log_probability))
        return trajectories

    def sample_posterior(
        self,
        rows: SequencesLike,
        num_paths: int = 1,
        seed: Seed = None,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        do: Mapping[str, State] | None = None,
        budget: Budget | None = None,
    ) -> DrawnPaths:
        """Draw trajectories of all discrete variables from what the observations leave.

        Of a network that is linear Gaussian throughout, of its numbers.
        """
        check_count("num_paths", num_paths, 1)
        evidence = self._evidence(rows, sequence, time, gaps, do)
        if (slices := gaussian_slices(evidence)) is not None:
            refuse_impossible(evidence.sequences, slices.log_likelihoods(evidence.sequences))
            numbers = slices.drawn(evidence.sequences, num_paths, generator_of(seed))
            (numbers,), index = in_rows_order(evidence.sequences, numbers)
            return DrawnPaths(dict(zip(slices.names, numbers.T, strict=True)), index)
        programs = self._programs(evidence, budget)
        generators = generator_of(seed).spawn(num_paths)
        paths = [SlicePasses.run(programs, evidence, partial(SlicePasses.traced, generator=own)) for own in generators]
        frames = [self._named(evidence, states) for _, states in paths]
        return DrawnPaths(
            {str(name): np.array([frame[name] for frame in frames]) for name in frames[0]}, frames[0].index
        )

    def sample(
        self,
        length: int,
        seed: Seed = None,
        *,
        sequences: int | None = None,
        inputs: SequencesLike | None = None,
        do: Mapping[str, State] | None = None,
    ) -> pd.DataFrame:
        """Draw rows in time: a row for each step, a column for each variable.

        Parameters
        ----------
        sequences
            How many to draw; the columns "sequence" and "time" come first then.
        inputs
            The values of inputs, a row for each step, where the network has inputs.
        do
            As for `filter`.
        """
        check_count("length", length, 0)
        if sequences is not None:
            check_count("sequences", sequences, 0)
        return draw_rows(self._template, length, generator_of(seed), sequences, inputs, do, self._place)

    def online(self) -> DynamicFilter:
        """A filter to feed rows to, one by one: as `filter`, exact."""
        return DynamicFilter(self)


def _discrete(template: Template, name: str, place: str) -> Variable:
    if name not in template.variables:
        raise UnknownVariable.named(name, template.variables, place)
    variable = template.variables[name]
    if variable.is_continuous:
        raise InvalidArgument(f"{name!r} is continuous: a joint is asked for of variables with states.")
    return variable


def _last_steps(evidence: StepEvidence, values: Floats, steps: int) -> Floats:
    """The last steps of each sequence: axes (sequence, step, what `values` has of it)."""
    ends = evidence.sequences.starts[1:]
    return values[(ends[:, None] - steps + np.arange(steps)).astype(np.intp)]
