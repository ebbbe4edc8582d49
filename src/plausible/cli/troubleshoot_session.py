"""Troubleshooting step by step: questions in the terminal or through a pipe, and sessions in files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

from plausible.cli.evidence import state_of
from plausible.cli.output import json_text, print_line
from plausible.cli.troubleshoot_text import advice_text
from plausible.decisions.troubleshooting.plans import optimal_plan
from plausible.decisions.troubleshooting.steps import Outcome, Step, whether_it_works
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter, TroubleshootingSession
from plausible.errors import FormatError, InvalidArgument, PlausibleError

__all__ = ["Conversation", "resumed"]

_WORDS = ("why", "undo", "stop", "help")
#: Before a word of a session, where a state has the same name.
_ESCAPE = "?"
_HELP = """\
Answer with what you see; after a repair, yes or no. Or say:
  why       all steps that could be next, and why this one is best
  do STEP   take another step, as in: do observe NAME
  undo      take the last step back
  stop      end the session here; so does the end of the input
  help      this text; so does ?
Where one of these words is also what can be seen, put ? before it: ?undo."""


def resumed(helper: Troubleshooter, path: Path) -> TroubleshootingSession:
    """The session in a file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"This is no saved session: {error}.", file=str(path)) from None
    if not isinstance(record, dict):
        raise FormatError(f"This is no saved session, but a JSON {type(record).__name__}.", file=str(path))
    try:
        return helper.resume(record)
    except FormatError as error:
        raise error.in_file(str(path)) from None


class Conversation(NamedTuple):
    """How a session is led."""

    path: Path | None  # the file that keeps it after each step; `None` for none
    again: str  # the command that goes on with it
    aside: bool  # whether questions go to standard error, so that the output stays clean
    by_best_plan: bool  # whether steps are those of the best plan, rather than of the advice

    def lead(self, session: TroubleshootingSession) -> TroubleshootingSession:
        """Ask what came of each step until the device works, nothing is left to do, or the answers end."""
        self._keep(session)
        try:
            session, step = self._questioned(session)
        except KeyboardInterrupt:
            print_line(f"\n{self._early}", error=True)
            raise
        if step is None and not session.is_fixed:
            self._say(session.advice.reason)
        self._say(str(session))
        if step is not None:
            self._say(self._early)
        return session

    def _questioned(self, session: TroubleshootingSession) -> tuple[TroubleshootingSession, Step | None]:
        """The session at its end, and the step that was next if that came early."""
        step = self._next(session)
        while step is not None:
            if step.kind == "call":
                self._say(f"call service ({step.cost:g})")
                session, step = session.after(step), None
                self._keep(session)
                break
            self._say(_question(session, step))
            sys.stdout.flush()
            line = sys.stdin.readline()
            if not line or _word(session, step, line) == "stop":
                break
            session, step = self._heard(session, step, line.strip())
        return session, step

    def _heard(
        self, session: TroubleshootingSession, step: Step, said: str
    ) -> tuple[TroubleshootingSession, Step | None]:
        """The session after what was said, and the step that is next."""
        word = _word(session, step, said)
        try:
            if word in ("why", "help"):
                self._say(advice_text(session) if word == "why" else _HELP)
                return session, step
            if word == "do":
                return session, session.step(said.removeprefix(_ESCAPE).strip()[3:].strip())
            session = session.undo() if word == "undo" else session.after(step, _read(session, step, said))
        except PlausibleError as problem:
            self._say(str(problem))
            return session, step
        self._keep(session)
        return session, self._next(session)

    def _next(self, session: TroubleshootingSession) -> Step | None:
        return optimal_plan(session).step if self.by_best_plan else session.next_step()

    @property
    def _early(self) -> str:
        if self.path is None:
            return "Ended early, and not saved: a session begun with --save FILE can be gone on with."
        return f"Ended early. Go on with: {self.again}"

    def _keep(self, session: TroubleshootingSession) -> None:
        if self.path is not None:
            self.path.write_text(json_text(session.to_dict()) + "\n", encoding="utf-8")

    def _say(self, text: str) -> None:
        print_line(text, error=self.aside)


def _answers(session: TroubleshootingSession, step: Step) -> tuple[str, ...]:
    """What can be seen, as it is written."""
    return () if step.kind == "repair" else tuple(map(str, session.outcomes(step)))


def _word(session: TroubleshootingSession, step: Step, said: str) -> str | None:
    """Which of the words of a session was said, if any; a state of that name is an answer unless ? is before it."""
    said = said.strip()
    if said in _answers(session, step):
        return None
    if said.startswith(_ESCAPE):
        said = said.removeprefix(_ESCAPE).strip() or "help"
    return "do" if said.startswith("do ") else next((word for word in _WORDS if word == said), None)


def _question(session: TroubleshootingSession, step: Step) -> str:
    if step.kind == "repair":
        return f"{step} ({step.cost:g}). Does it work? [yes/no, or help]"
    answers = _answers(session, step)
    others = f"{_ESCAPE}help" if "help" in answers else "help"
    return f"{step} ({step.cost:g}). What do you see? [{'/'.join(answers)}, or {others}]"


def _read(session: TroubleshootingSession, step: Step, text: str) -> Outcome:
    if step.kind != "repair":
        return state_of(session.troubleshooter.device.model.variables[step.name], text)
    works = whether_it_works(text)
    if isinstance(works, bool):
        return works
    raise InvalidArgument(f"Please answer yes or no, not {text!r}; help tells what else can be said.")
