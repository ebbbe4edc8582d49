"""Named cases: findings that somebody kept, side by side, and as a file to keep and to bring back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plausible.base.records import format_number, one_line
from plausible.errors import InvalidArgument, PlausibleError, shortened
from plausible.plotting.live import checked_findings, checked_settings, evidence_facts, listed, to_page
from plausible.plotting.models import beliefs_of, spread_of
from plausible.plotting.nodes import percentage
from plausible.plotting.scenes import Subject
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.files import stem
from plausible.studio.problems import problem_of
from plausible.studio.seeing import findings_in
from plausible.variables import Variable, jeffrey, likelihood
from plausible.variables.evidence import Jeffrey, Likelihood

#: What the files of cases end with, and what they say they are.
ENDING: Final = ".cases.json"
_FORMAT: Final = "plausible cases"
_UTILITY: Final = "expected utility"
#: So many cases stand side by side, with so many variables.
MOST_CASES, MOST_NAMES = 8, 24


@dataclass(frozen=True, slots=True)
class _Column:
    """What is believed in one case, row by row, as numbers and as told; or why nothing is."""

    numbers: list[float]
    texts: list[str]
    fact: str = ""
    message: str = ""


def compare(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Beliefs in some variables under several cases; of two cases the difference, too."""
    subject = desk.version(asked.text("model")).subject(asked.text("effort", "quick"))
    cases = [_object(one) for one in asked.items("cases")]
    names = [name for name in asked.texts("names") if name in subject.model.variables]
    if not 1 <= len(cases) <= MOST_CASES or len(names) > MOST_NAMES:
        raise InvalidArgument(f"Up to {MOST_CASES} cases are compared, in up to {MOST_NAMES} variables.")
    columns = [_column(subject, names, case) for case in cases]
    groups, row = [], 0
    for name in [*([None] if subject.utilities else []), *names]:
        labels = _labels(subject, name)
        is_share = name is not None and not subject.model.variables[name].is_continuous
        rows = [_row(label, columns, row + place, is_share) for place, label in enumerate(labels)]
        groups.append({"name": name, "title": _UTILITY if name is None else one_line(name), "rows": rows})
        row += len(labels)
    return {"cases": [{"fact": one.fact, "message": one.message} for one in columns], "groups": groups}


def _column(subject: Subject, names: Sequence[str], asked: Asked) -> _Column:
    evidence, do = findings_in(asked, subject)
    question = {"evidence": evidence, **({"do": do} if do else {})}
    numbers, texts = list[float](), list[str]()
    try:
        if subject.utilities:
            limits = {"budget": subject.options["budget"]}
            numbers.append(subject.model.expectation(list(subject.utilities.values()), **question, **limits))
            texts.append(format_number(numbers[0]))
        beliefs = beliefs_of(subject.model, list(names), question, subject.options)
        for name in names:
            is_shares = name in beliefs.states
            own = beliefs.states[name].flat.tolist() if is_shares else [*spread_of(beliefs.numbers[name])]
            numbers += own
            texts += [percentage(number) if is_shares else format_number(number) for number in own]
        return _Column(numbers, texts, fact=" · ".join(evidence_facts(subject, evidence, do)))
    except PlausibleError as error:
        return _Column([], [], message=problem_of(error)["message"])


def _row(label: str, columns: Sequence[_Column], row: int, is_share: bool) -> dict[str, Any]:
    """A cell for each case, and of two how far the second is above the first."""
    told: dict[str, Any] = {"label": label, "texts": [one.texts[row] if one.texts else "" for one in columns]}
    if len(columns) == 2 and all(one.numbers for one in columns):
        first, second = (one.numbers[row] for one in columns)
        told["difference"] = _difference(second - first, is_share)
    return told


def _labels(subject: Subject, name: str | None) -> list[str]:
    if name is None:
        return [""]
    variable = subject.model.variables[name]
    return ["mean", "deviation"] if variable.is_continuous else [one_line(str(state)) for state in variable.states]


def _difference(change: float, is_share: bool) -> str:
    """In points of percent, or in the unit of the number.

    >>> _difference(0.1234, True), _difference(-2.5, False), _difference(-1e-9, True)
    ('+12.3', '−2.5', '0')
    """
    told = f"{100 * change:+.1f}" if is_share else f"{change:+.4g}"
    return "0" if float(told) == 0 else told.replace("-", "−")


# --- files of cases ---


def write_cases(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Cases as the text of a file, by the names of variables and states."""
    version = desk.version(asked.text("model"))
    subject = version.subject()
    cases = []
    for one in map(_object, asked.items("cases")):
        evidence, do = findings_in(one, subject)
        variables = subject.model.variables
        written = {
            which: {name: _written(variables[name], finding) for name, finding in findings.items()}
            for which, findings in (("evidence", evidence), ("do", do))
            if findings
        }
        cases.append({"name": one.text("name"), **written})
    text = json.dumps({"format": _FORMAT, "model": version.name, "cases": cases}, indent=2, ensure_ascii=False)
    return {"name": stem(version.name) + ENDING, "text": text + "\n"}


def _written(variable: Variable, finding: Any) -> Any:
    if isinstance(finding, (Likelihood, Jeffrey)):
        return {type(finding).__name__.lower(): finding.vector(variable).tolist()}
    if variable.is_continuous:
        return finding
    return str(finding) if variable.has_state(finding) else [str(state) for state in finding]


def read_cases(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The cases in the text of a file, as far as the model has the variables and states; what it lacks is told."""
    version = desk.version(asked.text("model"))
    told = _parsed(asked.text("text"))
    if told.fields.get("format") != _FORMAT:
        raise InvalidArgument(f"This is no file of cases: they say that their format is {_FORMAT!r}.")
    cases, missing = [], list[str]()
    for one in map(_object, told.items("cases")):
        name = one.text("name")
        case, words, lacking = _read_case(version.subject(), one)
        cases.append({"name": one_line(name), **case, "findings": words})
        missing += [f"{one_line(name)}: {message}" for message in lacking]
    return {"cases": cases, "missing": missing}


def _read_case(subject: Subject, asked: Asked) -> tuple[dict[str, Any], list[str], list[str]]:
    """A case as pages tell it, in words, and what the model lacks of it."""
    found: dict[str, dict[str, Any]] = {}
    missing = []
    checks: dict[str, Callable[[Subject, Any], dict[str, Any]]] = {"evidence": checked_findings, "do": checked_settings}
    for which, check in checks.items():
        found[which] = {}
        for name, written in asked.mapping(which, {}).items():
            variable = subject.model.variables.get(name)
            try:
                finding = written if variable is None else _read(variable, written)
                found[which] |= check(subject, {name: finding})
            except PlausibleError as error:
                missing.append(problem_of(error)["message"])
    words = [told["text"] for told in listed(subject.model.variables, **found)]
    return {which: to_page(subject, findings) for which, findings in found.items()}, words, missing


def _read(variable: Variable, written: Any) -> Any:
    """A finding of a file; states by their texts, others as they are: they are refused where they are none."""
    states = {str(state): state for state in variable.states} if not variable.is_continuous else {}
    if isinstance(written, str):
        return states.get(written, written)
    if isinstance(written, list):
        return [states.get(one, one) if isinstance(one, str) else one for one in written]
    if isinstance(written, dict):
        kinds = {"likelihood": likelihood, "jeffrey": jeffrey}
        ((kind, weights),) = written.items() if len(written) == 1 else ((None, None),)
        if kind in kinds and isinstance(weights, list):
            return kinds[kind](weights)
    return written


def _parsed(text: str) -> Asked:
    try:
        return _object(json.loads(text))
    except (ValueError, RecursionError):
        raise InvalidArgument("This is no file of cases: it is not written in JSON.") from None


def _object(told: Any) -> Asked:
    if not isinstance(told, dict):
        raise InvalidArgument(f"A case is an object with a name, what is seen and what is set; not {shortened(told)}.")
    return Asked(told)
