"""What a page may ask, by name: one place that says which function answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from plausible.studio import (
    cases,
    causes,
    deciding,
    editing,
    files,
    findings,
    intervals,
    learning,
    places,
    report,
    seeing,
    times,
    why,
)
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk


class Question(NamedTuple):
    """A question of pages."""

    answer: Callable[[Desk, Asked], dict[str, Any]]
    #: Whether a page that asks it again no longer wants the answer to the question before.
    is_newest_only: bool = True


QUESTIONS: Final[Mapping[str, Question]] = {
    "examples": Question(seeing.list_examples),
    "open-example": Question(seeing.open_example),
    "opened": Question(seeing.opened),
    "outline": Question(seeing.outline),
    "scene": Question(seeing.scene),
    "beliefs": Question(seeing.beliefs),
    "picture": Question(seeing.picture),
    "move": Question(places.move, is_newest_only=False),
    "tidy": Question(places.tidy, is_newest_only=False),
    "agreement": Question(findings.agreement),
    "impact": Question(findings.impact),
    "explanations": Question(findings.explanations),
    "compare-cases": Question(cases.compare),
    "write-cases": Question(cases.write_cases),
    "read-cases": Question(cases.read_cases),
    "separation": Question(why.separation),
    "relevance": Question(why.relevance),
    "next-questions": Question(why.next_questions),
    "tornado": Question(why.tornado),
    "changes": Question(why.changes),
    "effect": Question(causes.effect),
    "estimate": Question(causes.estimate),
    "steps": Question(times.steps),
    "course": Question(times.course),
    "family": Question(editing.family),
    "edit": Question(editing.edit, is_newest_only=False),
    "solution": Question(deciding.solution),
    "observations": Question(deciding.observations),
    "tree": Question(deciding.tree),
    "rows": Question(learning.rows),
    "cuts": Question(intervals.cuts, is_newest_only=False),
    "check": Question(learning.check),
    "comparison": Question(learning.comparison),
    "formats": Question(files.formats),
    "save": Question(files.save),
    "report": Question(report.report),
}
