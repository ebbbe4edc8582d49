"""`plausible elicit`: ask somebody what outcomes are worth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from plausible.cli.commands import command
from plausible.cli.options import AsJson, argument, option
from plausible.cli.output import picked, print_answer, print_line
from plausible.errors import FormatError, InvalidArgument, close_match, counted
from plausible.utilities.elicitation.methods import (
    ElicitationSession,
    load_session,
    save_session,
    standard_gamble,
    time_trade_off,
    visual_analog,
)

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
    outcomes = counted(len(session.result.items_told), "outcome")
    known = f"; {counted(session.num_questions, 'answer')} so far" if session.answers else ""
    worst, best = session.result.worst, session.result.best
    print_line(f"{session.method}: {outcomes} between {worst} (worth 0) and {best} (worth 1){known}.", error=aside)
    is_new = True
    while True:
        if is_new and path is not None:
            save_session(session, path)
        question, is_new = session.question, False
        print_line(_prompt(session), error=aside)
        sys.stdout.flush()
        line = sys.stdin.readline()
        reply = line.strip().lower()
        if not line or reply in ("stop", "quit") or (reply == "" and session.is_done):
            return session
        if reply in ("help", "?", "show"):
            meaning = "" if question is None else f"{_MEANINGS[question.kind]}\n"
            print_line(str(session.result) if reply == "show" else f"{meaning}{_HELP}", error=aside)
            continue
        try:
            session, is_new = session.undo() if reply == "undo" else session.answer(reply), True
        except InvalidArgument as error:
            print_line(str(error), error=aside)


def _prompt(session: ElicitationSession) -> str:
    question = session.question
    if question is None:
        return "That was all. Press Enter to end, or: help, show, undo."
    low, high = question.limits
    answers = ", ".join(question.choices) if question.choices else f"a number from {low:g} to {high:g}"
    left = counted(session.num_left, "question")
    return f"{question.text}\n({answers}; or help, show, undo, stop; {left} left at most)"


_METHODS = ("standard-gamble", "time-trade-off", "visual-analog")
_TOLERANCE, _YEARS = 0.02, 10.0


@command(
    examples=(
        "plausible elicit blind deaf --worst dead --best healthy",
        "plausible elicit blind --method time-trade-off --years 20 --save answers.json",
        "plausible elicit --save answers.json",
        "plausible elicit 100 250 500 --worst 0 --best 1000 --save money.json",
    )
)
def run_elicit(
    outcomes: Annotated[list[str] | None, argument("What to judge; nothing to go on with --save.")] = None,
    worst: Annotated[str | None, option("What is worth 0: no outcome is worse.")] = None,
    best: Annotated[str | None, option("What is worth 1: no outcome is better.")] = None,
    method: Annotated[str | None, option(f"{_METHODS[0]} (the default), {_METHODS[1]} or {_METHODS[2]}.")] = None,
    tolerance: Annotated[
        float | None, option(f"The width to which each utility is bracketed; by default {_TOLERANCE:g}.")
    ] = None,
    years: Annotated[float | None, option(f"How many years a time trade-off speaks of; by default {_YEARS:g}.")] = None,
    save: Annotated[
        Path | None, option("A JSON file that keeps the answers; if it is there, it is gone on with.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the utilities of outcomes by questions.

    One question comes at a time. Answers are read from the terminal, or line by line from a pipe. "help" explains the
    question, "show" tells what is known by now, "undo" takes the last answer back, "stop" (or the end of the input)
    ends early with what is known by then. Each answer is saved at once. In Python, load_session(file).result of
    plausible.utilities is the utility that was saved, and for amounts result.curve() the curve.
    """
    if save is not None and save.exists():
        given = {"--worst": worst, "--best": best, "--method": method, "--tolerance": tolerance, "--years": years}
        session = _resumed(save, [*(outcomes or []), *(name for name, value in given.items() if value is not None)])
    elif not outcomes:
        missing = "" if save is None else f" {save} is not there."
        raise InvalidArgument(f"There is nothing to judge: name outcomes, or a saved session with --save.{missing}")
    else:
        session = _started(outcomes, worst, best, method or _METHODS[0], tolerance, years)
    session = interview(session, save, aside=as_json)
    result = session.result
    document = {
        **picked(result, "method worst best"),
        "utilities": {str(one.item): picked(one, "utility=value low high") for one in result.items_told},
        "questions": result.num_questions,
        "done": session.is_done,
        "reversals": [[one.item, other.item] for one, other in result.reversals],
    }
    print_answer("\n".join(_lines(session, save)), document, as_json=as_json)


def _resumed(path: Path, given: list[str]) -> ElicitationSession:
    try:
        session = load_session(path)
    except FormatError as error:
        if not given:
            raise
        raise InvalidArgument(
            f"{path} is there already, and can't be gone on with: name another file. {error.problem}"
        ) from None
    if given:
        raise InvalidArgument(
            f"{path} has a session already, with its outcomes and options: leave out {', '.join(given)}, "
            f"or name another file."
        )
    return session


def _started(
    outcomes: list[str], worst: str | None, best: str | None, method: str, tolerance: float | None, years: float | None
) -> ElicitationSession:
    if method not in _METHODS:
        raise InvalidArgument(f"--method {method!r} is none of {', '.join(_METHODS)}.{close_match(method, _METHODS)}")
    if years is not None and method != "time-trade-off":
        raise InvalidArgument("--years goes with --method time-trade-off.")
    if tolerance is not None and method == "visual-analog":
        raise InvalidArgument("--tolerance goes with searches; a place on a visual-analog scale is told at once.")
    width = _TOLERANCE if tolerance is None else tolerance
    if not 0 < width < 1:
        raise InvalidArgument(f"--tolerance {width:g} must lie between 0 and 1.")
    if method == "time-trade-off":
        span = _YEARS if years is None else years
        return time_trade_off(outcomes, best or "full health", worst or "dead", years=span, tolerance=width)
    if worst is None or best is None:
        raise InvalidArgument("Name the anchors between which all outcomes lie: --worst dead --best healthy.")
    if method == "visual-analog":
        return visual_analog(outcomes, worst, best)
    return standard_gamble(outcomes, worst, best, tolerance=width)


def _lines(session: ElicitationSession, path: Path | None) -> list[str]:
    result = session.result
    if not session.is_done:
        again = f" Go on with: plausible elicit --save {path}" if path is not None else ""
        return [str(result), f"Ended early, with up to {counted(session.num_left, 'question')} left.{again}"]
    lines = [str(result)]
    for told in result.items_told:
        if told.is_at_limit:
            anchor, beyond = (result.worst, "worse") if told.low == 0 else (result.best, "better")
            told_of = f"All answers point from {told.item} to {anchor}"
            lines.append(f"{told_of}: if it is {beyond} than that, name another anchor.")
    return lines + ([] if path is None else [f"In Python: plausible.utilities.load_session({str(path)!r}).result"])
