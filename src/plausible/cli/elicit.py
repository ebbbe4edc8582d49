"""`plausible elicit`: ask somebody what outcomes are worth."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from plausible.cli.output import AsJson, print_json, print_line
from plausible.decisions.elicitation.methods import (
    ElicitationSession,
    resume_session,
    standard_gamble,
    time_trade_off,
    visual_analog,
)
from plausible.errors import FormatError, InvalidArgument, suggestion

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "plausible elicit blind deaf --worst dead --best healthy",
    "plausible elicit blind --method time-trade-off --years 20 --save answers.json",
    "plausible elicit --save answers.json",
)
_METHODS = ("standard-gamble", "time-trade-off", "visual-analog")


def run(
    outcomes: Annotated[list[str] | None, typer.Argument(help="What to judge; nothing to go on with --save.")] = None,
    worst: Annotated[str | None, typer.Option(help="What is worth 0: no outcome is worse.")] = None,
    best: Annotated[str | None, typer.Option(help="What is worth 1: no outcome is better.")] = None,
    method: Annotated[str, typer.Option(help=f"{', '.join(_METHODS[:-1])} or {_METHODS[-1]}.")] = _METHODS[0],
    tolerance: Annotated[float, typer.Option(help="The width to which each utility is bracketed.")] = 0.02,
    years: Annotated[float, typer.Option(help="How many years a time trade-off speaks of.")] = 10.0,
    save: Annotated[
        Path | None, typer.Option(help="A JSON file that keeps the answers; if it is there, it is gone on with.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the utilities of outcomes by questions, one at a time.

    Answers are read from the terminal, or line by line from a pipe. "undo" takes the last one back, "stop" (or the end
    of the input) ends early with what is known by then.
    """
    if save is not None and save.exists():
        if outcomes:
            raise InvalidArgument(f"{save} has a session already: leave out the outcomes, or name another file.")
        session = _resumed(save)
    else:
        session = _started(outcomes or [], worst, best, method, tolerance, years)
    session = _interview(session, save, aside=as_json)
    result = session.result
    if as_json:
        told = {str(t.item): {"utility": t.value, "low": t.low, "high": t.high} for t in result.items_told}
        document = {"method": result.method, "worst": result.worst, "best": result.best, "utilities": told}
        print_json({**document, "questions": result.num_questions, "done": session.is_done})
        return
    print_line(str(result))
    if not session.is_done:
        again = f" Go on with: plausible elicit --save {save}" if save is not None else ""
        print_line(f"Ended early; at most {session.num_left} questions were left.{again}")


def _started(
    outcomes: list[str], worst: str | None, best: str | None, method: str, tolerance: float, years: float
) -> ElicitationSession:
    if not outcomes:
        raise InvalidArgument("There is nothing to judge: name outcomes, or go on with a session by --save FILE.")
    if method not in _METHODS:
        raise InvalidArgument(f"--method {method!r} is none of {', '.join(_METHODS)}.{suggestion(method, _METHODS)}")
    if not 0 < tolerance < 1:
        raise InvalidArgument(f"--tolerance {tolerance:g} must lie between 0 and 1.")
    if method == "time-trade-off":
        healthy, dead = best or "full health", worst or "dead"
        return time_trade_off(outcomes, healthy, dead, years=years, tolerance=tolerance)
    if worst is None or best is None:
        raise InvalidArgument("Name the anchors between which all outcomes lie: --worst dead --best healthy.")
    if method == "visual-analog":
        return visual_analog(outcomes, worst, best)
    return standard_gamble(outcomes, worst, best, tolerance=tolerance)


def _resumed(path: Path) -> ElicitationSession:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path} holds no saved session: {error}.") from None
    if not isinstance(record, dict):
        raise FormatError(f"{path} holds no saved session, but a JSON {type(record).__name__}.")
    return resume_session(record)


def _interview(session: ElicitationSession, path: Path | None, *, aside: bool) -> ElicitationSession:
    """Ask until all is known or the answers end; each answer is saved at once. `aside` keeps the output clean."""
    replies = _replies()
    _keep(session, path)
    while (question := session.question) is not None:
        print_line(f"{question.text}\n({_choices(question.choices, question.limits)}, undo or stop)", error=aside)
        reply = next(replies, "stop")
        if reply == "stop":
            break
        try:
            session = session.undo() if reply == "undo" else session.answer(reply)
        except InvalidArgument as error:
            print_line(str(error), error=aside)
            continue
        _keep(session, path)
    return session


def _keep(session: ElicitationSession, path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps(session.to_dict(), indent=2) + "\n", encoding="utf-8")


def _choices(choices: tuple[str, ...], limits: tuple[float, float]) -> str:
    return ", ".join(choices) if choices else f"a number from {limits[0]:g} to {limits[1]:g}"


def _replies() -> Iterator[str]:
    """The lines of the input, without blanks around them."""
    while line := sys.stdin.readline():
        yield line.strip().lower()
