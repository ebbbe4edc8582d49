"""What rows in time say to the trees of slices: codes, likelihoods, and factors that differ from step to step."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.base.remedies import Argument
from plausible.cpds import CPD
from plausible.data.sequences import Sequences
from plausible.engine.run import Semiring
from plausible.errors import InvalidArgument, InvalidModel, NotSupported
from plausible.inference.budget import Budget
from plausible.kernels.slices import Observations
from plausible.models.sequences.slice_program import SliceProgram, hidden_scope
from plausible.models.sequences.template import Template, lagged
from plausible.variables import Variable

#: Likelihoods of one step whose logarithms are further apart than this are taken as logarithms.
_MAX_SPREAD = 600.0
#: Larger factors are cheaper to make once than at each step.
_MAX_ENTRIES = 128


class Risky(Exception):  # a signal, which no user sees
    """Numbers could vanish: the run has to be made on logarithms."""


class NumberBeliefs(NamedTuple):
    """What is known of a number at each step."""

    moments: Floats  # axes (step, mean and deviation)
    interval: Floats  # axes (step, lower and upper end)

    @classmethod
    def of(cls, num_steps: int) -> NumberBeliefs:
        """Nothing yet."""
        return cls(np.full((num_steps, 2), np.nan), np.full((num_steps, 2), np.nan))

    def tell(self, step: int, values: Floats, weights: Floats, level: float) -> None:
        """By values with weights that sum to one."""
        mean = float(weights @ values)
        self.moments[step] = mean, np.sqrt(weights @ (values - mean) ** 2)
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(weights[order])
        ends = np.searchsorted(sums / sums[-1], [(1 - level) / 2, (1 + level) / 2])
        self.interval[step] = values[order[ends]]


class StepBeliefs(NamedTuple):
    """What is known of each step: exact, or by an engine that approximates."""

    logs: Floats  # log p(o_t | o_1 ... o_t-1)
    marginals: Floats  # of all discrete variables side by side
    numbers: Mapping[str, NumberBeliefs] = MappingProxyType({})  # where they are told
    effective_sizes: Floats | None = None  # of samplers, at each step


@runtime_checkable
class SliceEngine(Protocol):
    """What approximates the beliefs of a dynamic network; numbers with intervals that have a probability."""

    def _filter(self, model: Any, evidence: StepEvidence, budget: Budget | None, level: float) -> StepBeliefs: ...

    def _smooth(self, model: Any, evidence: StepEvidence, budget: Budget | None, level: float) -> StepBeliefs: ...


def read_slice_engine(engine: object) -> SliceEngine:
    """An engine of dynamic networks; others are refused with the way to take them."""
    if isinstance(engine, SliceEngine) and not isinstance(engine, type):
        return engine
    raise InvalidArgument(
        Argument("engine", engine),
        " is no engine of networks over time: take BoyenKoller(), ParticleFilter() or Window(), which has an engine of "
        "ordinary networks answer a few slices at a time, as in Window(3, LoopyBP()). Without one, answers are exact.",
    )


@dataclass(frozen=True, slots=True, eq=False)
class StepEvidence:
    """All that is known of some sequences, to be handed out by stretches of steps."""

    template: Template
    sequences: Sequences
    #: Name -> slice -> the distribution that the variable has there in place of its own, `None` for none at all.
    settings: Mapping[str, Mapping[int, CPD | None]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()  # the variables that trees need not have, numbers among them

    @classmethod
    def of(
        cls,
        template: Template,
        sequences: Sequences,
        settings: Mapping[str, Mapping[int, CPD | None]] | None = None,
    ) -> StepEvidence:
        """The evidence, only numbers being known."""
        return cls(template, sequences, settings or {}, template.continuous)

    def conditioned(self, but: Collection[str] = ()) -> StepEvidence:
        """The same, states that are observed at all steps being known, where that leaves small factors.

        Parameters
        ----------
        but
            Variables that are asked about.
        """
        names = [name for name, codes in self.sequences.columns.items() if codes.dtype.kind == "i"]
        kept = {
            name
            for name in names
            if name not in but
            and name not in self.settings
            and name not in self.sequences.soft
            and bool((self.sequences.columns[name] >= 0).all())
        }
        families = [cpd for cpds in self.template.slices for cpd in cpds.values()]
        while True:
            known = kept | self.template.continuous
            scopes = ((cpd.scope, hidden_scope(cpd, known)) for cpd in families)
            large = [scope for scope, hidden in scopes if len(hidden) < len(scope) and _entries(hidden) > _MAX_ENTRIES]
            dropped = kept & {lagged(variable.name).name for scope in large for variable in scope}
            if not dropped:
                return replace(self, known=frozenset(known))
            kept -= dropped

    @property
    def observed(self) -> tuple[str, ...]:
        """The discrete variables that are observed somewhere."""
        named = self.sequences.columns.items()
        return tuple(
            name
            for name, codes in named
            if name not in self.known and (name in self.sequences.soft or bool((codes >= 0).any()))
        )

    def check(self) -> None:
        """Refuse steps at which an input, or a number that others depend on, is not known."""
        for name in self.template.inputs:
            column = self.sequences.columns.get(name)
            if column is None:
                raise InvalidModel(f"{name!r} is an input of this network: the rows must have a column of it.")
            missing = np.isnan(column) if column.dtype.kind == "f" else column < 0
            if missing.any():
                where = self.sequences.where(int(np.argmax(missing)))
                raise InvalidModel(f"{name!r} is an input of this network, and {where} has no value of it.")

    def positions(self) -> Ints:
        """How many steps each step is behind the first of its sequence."""
        lengths = np.diff(self.sequences.starts)
        return np.arange(self.sequences.num_steps) - np.repeat(self.sequences.starts[:-1], lengths)

    def stretch(self, slice_: SliceProgram, first: int, last: int, runs: Ints, semiring: Semiring) -> _Stretch:
        """What the tree of a slice is told of steps from the first up to the last."""
        codes, weights = self._codes(slice_, first, last, semiring)
        steps = np.concatenate([np.zeros(0, np.int64), *(np.arange(a, b) for a, b in runs.tolist())])
        pieces, scales = [np.zeros((last - first, 0))], np.zeros(last - first)
        for cpd in slice_.varying if len(steps) else ():
            table, peaks = self._factors(cpd, first + steps, semiring)
            whole = np.zeros((last - first, table.shape[1]))
            whole[steps] = table
            scales[steps] += peaks
            pieces.append(whole)
        return _Stretch(Observations(codes, weights, np.concatenate(pieces, axis=1)), scales)

    def _codes(self, slice_: SliceProgram, first: int, last: int, semiring: Semiring) -> tuple[Codes, Floats]:
        codes = np.empty((last - first, len(slice_.observed)), dtype=np.int32)
        width = max((slice_.variables[name].num_states for name in slice_.observed), default=1)
        rows, used = [np.zeros((0, width))], 0
        for place, name in enumerate(slice_.observed):
            codes[:, place] = self.sequences.columns[name][first:last]
            if name in self.sequences.soft:
                cells = self.sequences.soft[name]
                here = (cells.steps >= first) & (cells.steps < last)
                weights = np.zeros((int(here.sum()), width))
                weights[:, : cells.weights.shape[1]] = cells.weights[here]
                codes[cells.steps[here] - first, place] = -2 - used - np.arange(len(weights))
                used += len(weights)
                rows.append(weights)
        likelihoods = np.concatenate(rows)
        if semiring == Semiring.SUM:
            return codes, likelihoods
        with np.errstate(divide="ignore"):
            return codes, np.log(likelihoods)

    def _factors(self, cpd: CPD, steps: Ints, semiring: Semiring) -> tuple[Floats, Floats]:
        """The factor of a distribution at some steps, a row each, and the logarithms of what was taken out of each."""
        discrete = hidden_scope(cpd, self.known)
        logs = self.log_factors(cpd, discrete, steps)
        for at, other in self.settings.get(cpd.variable.name, {}).items():
            there = self.positions()[steps] == at
            if there.any():
                logs[there] = 0.0 if other is None else self.log_factors(other, discrete, steps[there])
        peaks = logs.max(axis=1)
        shifts = np.where(np.isfinite(peaks), peaks, 0.0)
        logs -= shifts[:, None]
        if semiring != Semiring.SUM:
            return logs, shifts
        lowest = np.where(np.isneginf(logs), 0.0, logs).min(initial=0.0)
        if lowest < -_MAX_SPREAD:
            raise Risky
        return np.exp(logs), shifts

    def log_factors(self, cpd: CPD, discrete: list[Variable], steps: Ints) -> Floats:
        """log P of one value, or of each, at some steps, over the states of the discrete variables of `discrete`."""
        columns = {}
        for place, variable in enumerate(discrete):
            shape = [1, *(1 for _ in discrete)]
            shape[place + 1] = variable.num_states
            columns[variable.name] = np.arange(variable.num_states).reshape(shape)
        unknown = np.zeros(len(steps), dtype=np.bool_)
        for variable in cpd.scope:
            if variable.name in columns:
                continue
            if not variable.is_continuous:
                name, lag = lagged(variable.name)
                column = self.sequences.columns[name][steps - lag]
                columns[variable.name] = column.reshape(-1, *(1 for _ in discrete))
            else:
                values = self._numbers(variable.name, steps)
                missing = np.isnan(values)
                if missing.any() and variable != cpd.variable:
                    self._refuse_missing(variable.name, steps[missing])
                unknown |= missing
                columns[variable.name] = np.where(missing, 0.0, values).reshape(-1, *(1 for _ in discrete))
        logs = np.broadcast_to(cpd.log_probability(columns), [len(steps), *(v.num_states for v in discrete)])
        table = np.array(logs).reshape(len(steps), _entries(discrete))
        table[unknown] = 0.0  # a number that nothing depends on, and that is not known, says nothing
        return table

    def _numbers(self, text: str, steps: Ints) -> Floats:
        name, lag = lagged(text)
        if name not in self.sequences.columns:
            return np.full(len(steps), np.nan)
        return np.asarray(self.sequences.columns[name][steps - lag])

    def _refuse_missing(self, text: str, steps: Ints) -> None:
        name, lag = lagged(text)
        raise NotSupported(
            f"{name!r} is continuous and not observed in {self.sequences.where(int(steps[0]) - lag)}, and others "
            "depend on it: exact answers need its value, unless all is linear Gaussian. "
            "engine=ParticleFilter() draws it, engine=Window() takes what is known of it as Gaussian."
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """What one tree is told of a stretch of steps."""

    seen: Observations
    scales: Floats  # of each step the logarithm of what was taken out of its factors


def _entries(variables: Iterable[Variable]) -> int:
    return math.prod(variable.num_states for variable in variables)
