"""The dialogue of `plausible elicit`: questions, answers, and words that are no answers."""

from __future__ import annotations

import sys
from pathlib import Path

from plausible.cli.output import print_line
from plausible.errors import InvalidArgument, counted
from plausible.utilities.elicitation.methods import ElicitationSession, save_session
from plausible.utilities.elicitation.questions import Question

__all__ = ["interview"]

_HELP = """  help  this
  show  what is known by now
  undo  take the last answer back
  stop  end; what was saved with --save can be gone on with later"""
_CHOOSING = (
    "1, 2 and = or the beginnings of the words do as well. Only what you would choose counts: no answer is wrong."
)
_MEANINGS = {
    "gamble": f"sure: rather the first, for certain; gamble: rather the chance; same: either.\n{_CHOOSING}",
    "time": f"longer: rather all those years; shorter: rather fewer years, but better; same: either.\n{_CHOOSING}",
    "scale": "A number: the nearer to an end, the more alike to what stands there.",
}


def interview(session: ElicitationSession, path: Path | None, *, aside: bool) -> ElicitationSession:
    """Ask until all is known or the answers end; each answer is saved at once."""
    _keep(session, path)
    print_line(_beginning(session), error=aside)
    while True:
        print_line(_prompt(session), error=aside)
        reply = _reply()
        if reply in (None, "stop", "quit") or (reply == "" and session.is_done):
            return session
        if reply in ("help", "?", "show"):
            print_line(str(session.result) if reply == "show" else _help(session.question), error=aside)
            continue
        try:
            session = session.undo() if reply == "undo" else session.answer(reply)
        except InvalidArgument as error:
            print_line(str(error), error=aside)
            continue
        _keep(session, path)


def _keep(session: ElicitationSession, path: Path | None) -> None:
    if path is not None:
        save_session(session, path)


def _reply() -> str | None:
    """A line of the input without blanks around it; `None` at the end."""
    sys.stdout.flush()
    line = sys.stdin.readline()
    return line.strip().lower() if line else None


def _beginning(session: ElicitationSession) -> str:
    result = session.result
    told = counted(len(result.items_told), "outcome")
    known = f"; {counted(session.num_questions, 'answer')} so far" if session.answers else ""
    return f"{session.method}: {told} between {result.worst} (worth 0) and {result.best} (worth 1){known}."


def _prompt(session: ElicitationSession) -> str:
    question = session.question
    if question is None:
        return "That was all. Press Enter to end, or: help, show, undo."
    low, high = question.limits
    answers = ", ".join(question.choices) if question.choices else f"a number from {low:g} to {high:g}"
    left = counted(session.num_left, "question")
    return f"{question.text}\n({answers}; or help, show, undo, stop; {left} left at most)"


def _help(question: Question | None) -> str:
    return _HELP if question is None else f"{_MEANINGS[question.kind]}\n{_HELP}"
