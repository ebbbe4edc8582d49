"""Sessions: a device, what was done to it, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from plausible.base.display import format_number
from plausible.base.records import record
from plausible.causal.counterfactuals.potential import Finding, Potential
from plausible.decisions.troubleshooting.advice import Advice, advise, is_worth_going_on, possible_steps
from plausible.decisions.troubleshooting.beliefs import Beliefs, Device, Situation
from plausible.decisions.troubleshooting.records import session_record
from plausible.decisions.troubleshooting.repair_order import check_cost
from plausible.decisions.troubleshooting.steps import Outcome, Step, TakenStep, whether_it_works
from plausible.errors import ImpossibleEvidence, InvalidArgument

if TYPE_CHECKING:
    from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter

__all__ = ["TroubleshootingSession", "finding_after"]


@record
class TroubleshootingSession:
    """A device, what was done to it, and what was seen; a value: each step makes a new session.

    Can be pickled, or saved by `to_dict`, and gone on with later.

    Attributes
    ----------
    troubleshooter
        What the session is of.
    findings
        What is known, each in the world of the repairs made by then.
    history
        The steps so far, with their outcomes.

    Examples
    --------
    >>> from plausible.examples import printer_troubleshooter
    >>> session = printer_troubleshooter().start({"panel": "clear"})
    >>> step = session.next_step()
    >>> print(step, {state: round(chance, 4) for state, chance in session.outcomes(step).items()})
    test queue {'empty': 0.3696, 'jobs wait': 0.6304}
    >>> session = session.after("test queue", "jobs wait").after("repair cable", False)
    >>> print(session)
    1. test queue: jobs wait
    2. repair cable: it still does not work
    it does not work; paid 4
    >>> print(session.undo().next_step())
    repair cable
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
        return self.is_fixed or not is_worth_going_on(self.beliefs, self.troubleshooter.costs)

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
        """All steps with estimates of their costs, and why the best one is; none once the device works."""
        if self.is_fixed:
            return Advice((), (), 0.0, is_fixed=True)
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
        return self.beliefs.outcomes(step)

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
            One of `steps()`, or its text. What a `Step` costs is what was paid for it, whatever it costs today.
        outcome
            The state that was seen; after a repair, whether the device works, or "yes" or "no"; nothing after a call.
        """
        taken = self.step(str(step))
        if isinstance(step, Step):
            taken = Step(taken.kind, taken.name, check_cost(step.cost, str(step)))
        outcome = whether_it_works(outcome) if taken.kind == "repair" else outcome
        possible = self.outcomes(taken)
        if not any(outcome is other or outcome == other for other in possible):
            told = ", ".join(map(repr, possible))
            about = " (whether the device works after it)" if taken.kind == "repair" else ""
            raise ImpossibleEvidence(
                f"{outcome!r} can't come of {taken!s}{about}, by all that is known. What can: {told}."
            )
        history = (*self.history, TakenStep(taken, bool(outcome) if taken.kind == "repair" else outcome))
        findings = self.findings
        if taken.kind != "call":
            findings = (*findings, finding_after(self.troubleshooter.device, self.repaired, taken, outcome))
        return TroubleshootingSession(self.troubleshooter, findings, history)

    def undo(self) -> TroubleshootingSession:
        """The session before its last step."""
        if not self.history:
            raise InvalidArgument("There is no step to take back.")
        findings = self.findings if self.history[-1].step.kind == "call" else self.findings[:-1]
        return TroubleshootingSession(self.troubleshooter, findings, self.history[:-1])

    def to_dict(self) -> dict[str, Any]:
        """The session as plain data (for JSON, if states are texts or numbers), for `Troubleshooter.resume`."""
        return session_record(self)

    def __str__(self) -> str:
        lines = [f"{number}. {taken}" for number, taken in enumerate(self.history, 1)]
        end = "it works" if self.is_fixed else "it does not work"
        return "\n".join([*lines, f"{end}; paid {format_number(self.cost)}"])


def finding_after(device: Device, repaired: Iterable[str], step: Step, outcome: Outcome) -> Finding:
    """What a look, a test or a repair tells, in the world of the repairs made by then."""
    done = {name: device.ok_states[name] for name in repaired}
    if step.kind != "repair":
        return Finding(Potential(step.name, done), outcome)
    term = Potential(device.goal, {**done, step.name: device.ok_states[step.name]})
    return Finding(term, device.working if outcome else device.broken)
