"""Forward and backward over all steps of some sequences, in stretches that bound the memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.engine.run import Semiring, Workspace
from plausible.kernels.jit import steady
from plausible.kernels.slices import Joint, pass_backward, pass_forward, trace_back
from plausible.models.sequences.observations import Risky, StepEvidence
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.models.sequences.slice_program import SliceProgram

#: So many numbers of messages and observations are held at a time, and at least those of so many steps.
_STRETCH_NUMBERS, _STRETCH_STEPS = 2**22, 2**10
_NO_JOINT = Joint(-1, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

Answer = TypeVar("Answer")


class Beliefs(NamedTuple):
    """What was read off at each step: marginals of all variables side by side, and a joint where one was asked for."""

    marginals: Floats
    joints: Floats


class Advance(NamedTuple):
    """What one more step makes of the message before it."""

    log_likelihood: float
    marginals: Floats
    message: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SlicePasses:
    """Runs of slice programs over sequences; `run` decides between numbers and logarithms."""

    programs: Sequence[SliceProgram]  # of the first slices, then of all later ones
    evidence: StepEvidence
    semiring: Semiring
    workspaces: Sequence[Workspace]
    is_exact: bool = True  # else what passes is read off after a way down

    @classmethod
    def run(
        cls,
        programs: Sequence[SliceProgram],
        evidence: StepEvidence,
        question: Callable[[SlicePasses], Answer],
        semiring: Semiring = Semiring.SUM,
        is_exact: bool = True,
    ) -> Answer:
        """The answer to a question, on logarithms where numbers might vanish."""
        with steady(), np.errstate(all="ignore"):
            for way in (semiring, Semiring.LOG_SUM) if semiring == Semiring.SUM else (semiring,):
                workspaces = [program.workspace(way) for program in programs]
                try:
                    return question(cls(programs, evidence, way, workspaces, is_exact))
                except Risky:
                    continue
        raise AssertionError("runs on logarithms are never risky")

    # --- questions ---

    def log_likelihoods(self) -> Floats:
        """log p(o_t | o_1 ... o_t-1) of each step."""
        return self._forward(lambda first, messages, logs: None, tells=not self.is_exact)

    def filtered(self, joint: Sequence[str] = ()) -> tuple[Floats, Beliefs]:
        """The same, and the beliefs of each step given those before it and its own observations."""
        beliefs = self._room(joint)
        return self._forward(lambda first, messages, logs: None, True, joint, beliefs), beliefs

    def smoothed(self, joint: Sequence[str] = (), tables: Sequence[Floats] | None = None) -> tuple[Floats, Beliefs]:
        """The log-likelihood of each step, and its beliefs given all observations.

        The beliefs of each program's cliques, added up over the steps, are added to `tables`.
        """
        beliefs = self._room(joint) if tables is None else self._room((), 1)
        return self._backward(lambda span, carry: self._smooth(span, carry, joint, tables, beliefs)), beliefs

    def traced(self, generator: np.random.Generator | None = None) -> tuple[Floats, Codes]:
        """The best states of all variables at each step; drawn from what the observations leave with a generator.

        With them the logarithm of what each step takes from the largest product, or from the sum.
        """
        states = np.empty((self.num_steps, self.programs[0].num_told), dtype=np.int32)
        return self._backward(lambda span, carry: self._trace(span, carry, generator, states)), states

    def advanced(self, message: Floats) -> Advance:
        """The last step alone, after what the slice before it hands on; the only program is that of its slice."""
        (program,), last = self.programs, self.num_steps - 1
        messages, logs = np.zeros((2, max(self._width, len(message)))), np.zeros(2)
        messages[0, : len(message)] = message if self.semiring == Semiring.SUM else np.log(message)
        marginals = np.zeros((1, int(program.starts[-1])))
        runs = np.array([[0, 1]])
        self._run_forward(0, (last, last + 1), runs, True, _NO_JOINT, messages, logs, marginals, np.zeros((0, 1)))
        passed = messages[1, : len(program.piece.outgoing_places)]
        return Advance(float(logs[1]), marginals[0], passed if self.semiring == Semiring.SUM else np.exp(passed))

    # --- stretches ---

    @property
    def num_steps(self) -> int:
        """Of all sequences together."""
        return self.evidence.sequences.num_steps

    @property
    def _width(self) -> int:
        """The numbers of a message."""
        ends = [program.piece.outgoing_places for program in self.programs]
        return max(len(places) for places in ends)

    def _room(self, joint: Sequence[str], num_rows: int | None = None) -> Beliefs:
        rows = self.num_steps if num_rows is None else num_rows
        sizes = [self.programs[-1].variables[name].num_states for name in joint]
        return Beliefs(
            np.full((rows, int(self.programs[-1].starts[-1])), np.nan),
            np.zeros((rows if joint else 0, int(np.prod(sizes)))),
        )

    def _spans(self) -> list[tuple[int, int]]:
        """Stretches of steps whose messages are held at once."""
        numbers = self._width + max(program.num_numbers for program in self.programs)
        length = max(_STRETCH_STEPS, _STRETCH_NUMBERS // max(numbers, 1))
        return [(first, min(first + length, self.num_steps)) for first in range(0, self.num_steps, length)]

    def _runs(self, number: int, first: int, last: int) -> Ints:
        """The steps of one of the slices within a stretch, as pairs of a first and a last one, counted from `first`."""
        starts, ends = self.evidence.sequences.starts[:-1], self.evidence.sequences.starts[1:]
        is_later = number == len(self.programs) - 1
        begin = np.maximum(starts + number, first)
        end = np.minimum(ends if is_later else np.minimum(starts + number + 1, ends), last)
        kept = (begin < end) & (starts < last)
        return np.stack([begin[kept], end[kept]], axis=1).astype(np.int64) - first

    def _forward(
        self,
        visit: Callable[[int, Floats, Floats], None],
        tells: bool = False,
        joint: Sequence[str] = (),
        beliefs: Beliefs | None = None,
    ) -> Floats:
        """The log-likelihood of each step; each stretch's messages are shown as they come."""
        logs = np.zeros(self.num_steps)
        carry, log = np.zeros(self._width), 0.0
        for first, last in self._spans():
            messages, own = self._stretch_forward((first, last), (carry, log), tells, joint, beliefs)
            logs[first:last], carry, log = own[1:], messages[-1], own[-1]
            visit(first, messages, own)
        return logs

    def _stretch_forward(
        self,
        span: tuple[int, int],
        carry: tuple[Floats, float],
        tells: bool = False,
        joint: Sequence[str] = (),
        beliefs: Beliefs | None = None,
    ) -> tuple[Floats, Floats]:
        """The messages and the log-likelihoods of a stretch; the first row is what came before it."""
        first, last = span
        messages, logs = np.zeros((last - first + 1, self._width)), np.zeros(last - first + 1)
        messages[0], logs[0] = carry
        marginals, joints = self._rows(beliefs, span, tells)
        for number, program in enumerate(self.programs):
            runs = self._runs(number, first, last)
            if not len(runs):
                continue
            self._run_forward(number, span, runs, tells, self._joint(program, joint), messages, logs, marginals, joints)
        return messages, logs

    def _run_forward(
        self,
        number: int,
        span: tuple[int, int],
        runs: Ints,
        tells: bool,
        joint: Joint,
        messages: Floats,
        logs: Floats,
        marginals: Floats,
        joints: Floats,
    ) -> None:
        """The steps of one of the programs within a stretch."""
        program, work = self.programs[number], self.workspaces[number]
        told = self.evidence.stretch(program, *span, runs, self.semiring)
        self._clear(program, work)
        is_risky = pass_forward(
            program.program.layout,
            work.buffers,
            program.piece,
            told.seen,
            runs,
            int(self.semiring),
            program.follows,
            tells,
            joint,
            messages,
            logs,
            marginals,
            joints,
        )
        if is_risky:
            raise Risky
        steps = _steps_of(runs)
        logs[steps + 1] += told.scales[steps]

    def _rows(self, beliefs: Beliefs | None, span: tuple[int, int], tells: bool) -> Beliefs:
        """The rows of beliefs of a stretch; of none, some to write to."""
        first, last = span
        if beliefs is None or len(beliefs.marginals) < self.num_steps:
            width = int(self.programs[-1].starts[-1])
            return Beliefs(np.zeros((last - first if tells else 0, width)), np.zeros((0, 1)))
        joints = beliefs.joints[first:last] if len(beliefs.joints) else beliefs.joints
        return Beliefs(beliefs.marginals[first:last], joints)

    def _joint(self, program: SliceProgram, names: Sequence[str]) -> Joint:
        return program.joint(names) if names else _NO_JOINT

    def _clear(self, program: SliceProgram, work: Workspace) -> None:
        """Take out what came back in the run before."""
        operands = program.program.layout.operands
        for place, clique in program.piece.outgoing.tolist():
            start, length = int(operands["start"][place]), int(operands["length"][place])
            work.buffers.store[start : start + length] = 1.0 if self.semiring == Semiring.SUM else 0.0
            work.buffers.floors[place] = work.buffers.ceilings[place] = 0.0
            work.buffers.stale[clique] = 1

    def _backward(self, visit: Callable[[_Span, Floats], Floats]) -> Floats:
        """Forward over all stretches, then backward from the last to the first; `visit` gives what it passes on.

        Impossible observations are refused in between. The log-likelihood of each step comes back.
        """
        carries: list[tuple[Floats, float]] = [(np.zeros(self._width), 0.0)]
        last_messages = np.zeros((1, self._width))

        def keep(_first: int, messages: Floats, logs: Floats) -> None:
            nonlocal last_messages
            last_messages = messages
            carries.append((messages[-1].copy(), float(logs[-1])))

        logs_of_steps = self._forward(keep, tells=not self.is_exact)
        refuse_impossible(self.evidence.sequences, logs_of_steps)
        spans = self._spans()
        back = np.zeros(0)
        for place in range(len(spans) - 1, -1, -1):
            if place < len(spans) - 1:
                last_messages, _ = self._stretch_forward(spans[place], carries[place], tells=not self.is_exact)
            back = visit(_Span(*spans[place], last_messages), back)
        return logs_of_steps

    # --- what is done on the way back ---

    def _smooth(
        self,
        span: _Span,
        back: Floats,
        joint: Sequence[str],
        tables: Sequence[Floats] | None,
        beliefs: Beliefs,
    ) -> Floats:
        first, last, messages = span
        answers = np.full((last - first + 1, self._width), 1.0 if self.semiring == Semiring.SUM else 0.0)
        if len(back) and last not in self.evidence.sequences.starts:
            answers[-1] = back
        keeps = tables is None
        marginals, joints = self._rows(beliefs, (first, last), True)
        for number in range(len(self.programs) - 1, -1, -1):
            program, work = self.programs[number], self.workspaces[number]
            runs = self._runs(number, first, last)
            if not len(runs):
                continue
            told = self.evidence.stretch(program, first, last, runs, self.semiring)
            cliques = program.program.layout.cliques
            is_risky = pass_backward(
                program.program.layout,
                work.buffers,
                program.piece,
                told.seen,
                runs,
                int(self.semiring),
                self._joint(program, joint),
                messages,
                answers,
                np.zeros(0) if tables is None else tables[number],
                np.full(len(cliques), -1) if keeps else np.array(cliques["table"]),
                marginals,
                joints,
            )
            if is_risky:
                raise Risky
        passed: Floats = answers[0].copy()
        return passed

    def _trace(self, span: _Span, back: Floats, generator: np.random.Generator | None, states: Codes) -> Floats:
        first, last, messages = span
        chosen = np.full(last - first + 1, -1, dtype=np.int64)
        if len(back) and last not in self.evidence.sequences.starts:
            chosen[-1] = int(back[0])
        for number in range(len(self.programs) - 1, -1, -1):
            program, work = self.programs[number], self.workspaces[number]
            runs = self._runs(number, first, last)
            if not len(runs):
                continue
            told = self.evidence.stretch(program, first, last, runs, self.semiring)
            shape = (last - first, program.program.num_cliques)
            is_risky = trace_back(
                program.program.layout,
                work.buffers,
                program.piece,
                told.seen,
                runs,
                int(self.semiring),
                program.sides(program.incoming, 1),
                np.zeros((1, 1)) if generator is None else generator.random(shape),
                messages,
                chosen,
                states[first:last],
            )
            if is_risky:
                raise Risky
        place: Floats = chosen[:1].astype(np.float64)
        return place


class _Span(NamedTuple):
    """A stretch of steps with its messages forward."""

    first: int
    last: int
    messages: Floats


def _steps_of(runs: Ints) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(first, last) for first, last in runs.tolist())])
