"""Sessions: a device, what was done to it, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plausible.causal.counterfactuals.findings import Finding
from plausible.causal.counterfactuals.potential import Potential
from plausible.decisions.troubleshooting.advice import Advice, advise, possible_steps
from plausible.decisions.troubleshooting.beliefs import Beliefs, Situation
from plausible.decisions.troubleshooting.steps import Outcome, Step, TakenStep
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors.display import format_number

if TYPE_CHECKING:
    from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter

__all__ = ["TroubleshootingSession"]


@dataclass(frozen=True, slots=True)
class TroubleshootingSession:
    """A device, what was done to it, and what was seen; a value: each step makes a new session.

    Can be pickled, and gone on with later.

    Attributes
    ----------
    troubleshooter
        What the session is of.
    findings
        What is known, each in the world of the repairs made by then.
    history
        The steps so far, with their outcomes.
    """

    troubleshooter: Troubleshooter
    findings: tuple[Finding, ...]
    history: tuple[TakenStep, ...] = ()

    # --- where it stands ---

    @property
    def repaired(self) -> tuple[str, ...]:
        """The components that were repaired, in order."""
        return tuple(taken.step.name for taken in self.history if taken.step.kind == "repair")

    @property
    def cost(self) -> float:
        """What was paid so far."""
        return sum((taken.step.cost for taken in self.history), 0.0)

    @property
    def is_fixed(self) -> bool:
        """Whether the device works, or service was called, who surely mends it."""
        if not self.history:
            return False
        last = self.history[-1]
        return last.step.kind == "call" or (last.step.kind == "repair" and bool(last.outcome))

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do: it works, or no step can help."""
        return self.is_fixed or self.advice.best is None

    @property
    def beliefs(self) -> Beliefs:
        """What is believed of the device as it stands now."""
        return self._situation.beliefs()

    @property
    def _situation(self) -> Situation:
        return self.troubleshooter.situation(self.repaired, self.findings)

    # --- what to do ---

    @property
    def advice(self) -> Advice:
        """All steps with their expected costs, and why the best one is; none once the device works."""
        if self.is_fixed:
            return Advice((), (), 0.0)
        return advise(self._situation, self.troubleshooter.costs)

    def next_step(self) -> Step | None:
        """The best step; `None` where nothing is left to do."""
        best = self.advice.best
        return None if best is None else best.step

    def steps(self) -> tuple[Step, ...]:
        """Every step that can change anything."""
        return () if self.is_fixed else tuple(possible_steps(self.beliefs, self.troubleshooter.costs))

    def outcomes(self, step: Step) -> dict[Outcome, float]:
        """What can come of a step, with probabilities; exact with any number of faults."""
        if step.kind == "call":
            return {None: 1.0}
        beliefs = self.beliefs
        if step.kind == "repair":
            if step.name not in beliefs.components:
                return {False: 1.0}
            fixed = float(beliefs.fixes[beliefs.components.index(step.name)])
            chances: dict[Outcome, float] = {True: fixed, False: 1.0 - fixed}
        else:
            told = beliefs.states[step.name]
            chances = dict(zip(told.scope[0].states, told.values.tolist(), strict=True))
        return {outcome: chance for outcome, chance in chances.items() if chance > 1e-12}

    def step(self, text: str) -> Step:
        """The step that a text such as "observe fuse" names."""
        by_text = {str(step): step for step in self.steps()}
        if text not in by_text:
            raise InvalidArgument(
                f"{text!r} is no step that can be taken now. There are: {', '.join(by_text) or 'none'}."
            )
        return by_text[text]

    def after(self, step: Step | str, outcome: Outcome = None) -> TroubleshootingSession:
        """The session after a step.

        Parameters
        ----------
        step
            One of `steps()`, or its text.
        outcome
            The state that was seen; after a repair, whether the device works; nothing after a call.
        """
        taken = self.step(str(step))
        possible = self.outcomes(taken)
        if not any(outcome is other or outcome == other for other in possible):
            told = ", ".join(map(repr, possible))
            raise ImpossibleEvidence(f"{outcome!r} can't come of {taken!s}, by all that is known. What can: {told}.")
        history = (*self.history, TakenStep(taken, bool(outcome) if taken.kind == "repair" else outcome))
        if taken.kind == "call":
            return TroubleshootingSession(self.troubleshooter, self.findings, history)
        device = self.troubleshooter.device
        done = {name: device.ok_states[name] for name in self.repaired}
        if taken.kind == "repair":
            term = Potential(device.goal, {**done, taken.name: device.ok_states[taken.name]})
            finding = Finding(term, device.working if outcome else device.broken)
        else:
            finding = Finding(Potential(taken.name, done), outcome)
        return TroubleshootingSession(self.troubleshooter, (*self.findings, finding), history)

    def undo(self) -> TroubleshootingSession:
        """The session before its last step."""
        if not self.history:
            raise InvalidArgument("There is no step to take back.")
        findings = self.findings if self.history[-1].step.kind == "call" else self.findings[:-1]
        return TroubleshootingSession(self.troubleshooter, findings, self.history[:-1])

    def __str__(self) -> str:
        lines = [f"{number}. {taken}" for number, taken in enumerate(self.history, 1)]
        end = "it works" if self.is_fixed else "it does not work"
        return "\n".join([*lines, f"{end}; paid {format_number(self.cost)}"])
