"""The ways to the beliefs of a dynamic Bayesian network: one chain of joint states, or slices that are compiled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.data.sequences import Sequences, SequencesLike
from plausible.inference.budget import Budget, read_budget
from plausible.models.sequences.gaussian_slices import gaussian_slices
from plausible.models.sequences.interventions import intervened
from plausible.models.sequences.joint_chains import JointChains
from plausible.models.sequences.observations import SliceEngine, StepBeliefs, StepEvidence, read_slice_engine
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.models.sequences.slice_passes import SlicePasses
from plausible.models.sequences.slice_program import Clusters, SliceProgram, compile_slice
from plausible.models.sequences.template import Template
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

#: Compiled slices that a network keeps.
_MOST_KEPT = 16
#: What is told of a number.
NUMBER_COLUMNS = ("mean", "deviation")


class DynamicBeliefs(SequenceModel):
    """What questions to a dynamic network are made of: its evidence, its compiled slices, its beliefs as frames."""

    __slots__ = ()

    _template: Template
    _compiled: dict[object, SliceProgram]

    def _step_log_likelihoods(self, sequences: Sequences) -> Floats:
        evidence = self._given(sequences, None)
        if (slices := gaussian_slices(evidence)) is not None:
            return slices.log_likelihoods(sequences)
        if (joint := JointChains.of(evidence)) is not None:
            return joint.log_likelihoods()
        programs = self._programs(evidence, None)
        return SlicePasses.run(programs, evidence, SlicePasses.log_likelihoods)

    def _evidence(
        self,
        rows: SequencesLike,
        sequence: str | None,
        time: str | None,
        gaps: str,
        do: Mapping[str, State] | None,
        but: Collection[str] = (),
    ) -> StepEvidence:
        return self._given(self._read(rows, sequence, time, gaps), do, but)

    def _given(self, sequences: Sequences, do: Mapping[str, State] | None, but: Collection[str] = ()) -> StepEvidence:
        evidence = intervened(self._template, sequences, do, self._place)
        evidence.check()
        return evidence.conditioned(but)

    def _programs(
        self,
        evidence: StepEvidence,
        budget: Budget | None,
        *,
        clusters: Clusters | None = None,
        together: tuple[tuple[str, ...], ...] = (),
        for_maxima: bool = False,
        observed: tuple[str, ...] | None = None,
    ) -> list[SliceProgram]:
        """The compiled slices; those of the network itself are kept."""
        varying = tuple(sorted(evidence.settings))
        observed = evidence.observed if observed is None else observed
        programs = []
        for number in range(len(evidence.template.slices)):
            key = (number, evidence.known, observed, varying, clusters, together, for_maxima, budget)
            is_own = evidence.template is self._template
            program = self._compiled.get(key) if is_own else None
            if program is None:
                program = compile_slice(
                    *(evidence.template, number),
                    known=evidence.known,
                    observed=observed,
                    varying=varying,
                    clusters=clusters,
                    together=together,
                    for_maxima=for_maxima,
                    budget=read_budget(budget),
                )
                if is_own:
                    while len(self._compiled) >= _MOST_KEPT:
                        self._compiled.pop(next(iter(self._compiled)), None)
                    self._compiled[key] = program
            programs.append(program)
        return programs

    def _beliefs(
        self,
        evidence: StepEvidence,
        engine: SliceEngine | None,
        budget: Budget | None,
        question: str,
        level: float = 0.9,
    ) -> StepBeliefs:
        """The log-likelihoods of steps, the beliefs of all discrete variables side by side, and those of numbers."""
        if engine is not None:
            chosen = read_slice_engine(engine)
            return (chosen._smooth if question == "smooth" else chosen._filter)(self, evidence, budget, level)
        if (slices := gaussian_slices(evidence)) is not None:
            return slices.beliefs(evidence.sequences, level, is_smoothed=question == "smooth")
        if budget is None and (joint := JointChains.of(evidence)) is not None:
            logs, hidden = (joint.filtered() if question == "filter" else joint.smoothed())[:2]
            return StepBeliefs(logs, self._with_known(evidence, hidden))
        programs = self._programs(evidence, budget)
        ask = SlicePasses.filtered if question == "filter" else SlicePasses.smoothed
        logs, beliefs = SlicePasses.run(programs, evidence, lambda passes: ask(passes))
        return StepBeliefs(logs, self._with_known(evidence, beliefs.marginals))

    def _with_known(self, evidence: StepEvidence, marginals: Floats) -> Floats:
        """Beliefs of the variables of trees, with those of the variables that are known in their places."""
        if not any(variable.name in evidence.known for variable, _, _ in self._columns()):
            return marginals
        parts, used = [np.zeros((len(marginals), 0))], 0
        for variable, start, end in self._columns():
            if variable.name in evidence.known:
                parts.append(np.eye(variable.num_states)[evidence.sequences.columns[variable.name]])
            else:
                parts.append(marginals[:, used : used + end - start])
                used += end - start
        return np.concatenate(parts, axis=1)

    def _states_with_known(self, evidence: StepEvidence, states: Codes) -> Codes:
        """The same for positions of states."""
        hidden = iter(states.T)
        columns = [
            evidence.sequences.columns[variable.name] if variable.name in evidence.known else next(hidden)
            for variable, _, _ in self._columns()
        ]
        return np.stack(columns, axis=1) if columns else states

    def _columns(self) -> list[tuple[Variable, int, int]]:
        """The discrete variables, and where the states of each lie in a row of beliefs."""
        found, start = [], 0
        for variable in self._template.variables.values():
            if not variable.is_continuous:
                found.append((variable, start, start + variable.num_states))
                start += variable.num_states
        return found

    def _frames(self, sequences: Sequences, beliefs: StepBeliefs) -> dict[str, pd.DataFrame]:
        """Name -> a column for each state, or the mean and the deviation of a number."""
        frames = {}
        places = {variable.name: (variable, start, end) for variable, start, end in self._columns()}
        for name in self._template.variables:
            if name in places:
                variable, start, end = places[name]
                frames[name] = sequences.frame(beliefs.marginals[:, start:end], variable.states)
            elif name in beliefs.numbers:
                frames[name] = sequences.frame(beliefs.numbers[name].moments, NUMBER_COLUMNS)
        if beliefs.effective_sizes is not None:
            sizes = sequences.series(beliefs.effective_sizes).tolist()
            for frame in frames.values():
                frame.attrs.update(effective_size=float(np.nanmin(sizes, initial=np.inf)), effective_sizes=sizes)
        return frames

    def _named(self, evidence: StepEvidence, hidden: Codes) -> pd.DataFrame:
        """Positions of states as the states themselves."""
        import pandas as pd

        named, states, sequences = {}, self._states_with_known(evidence, hidden), evidence.sequences
        for place, (variable, _, _) in enumerate(self._columns()):
            known = np.empty(variable.num_states, dtype=object)
            known[:] = variable.states
            named[variable.name] = sequences.series(known[states[:, place]]).infer_objects()
        return pd.DataFrame(named)
