r"""Names, evidence and interventions as the command line writes them: `-e 'xray=yes,smoke=no' --do bronc=no`.

A name or state that holds a separator stands in quotes, or has a backslash before it: `a, "b, c", d\,e`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from plausible.errors import InvalidArgument, InvalidEvidence, NotSupported, UnknownVariable
from plausible.io import Network
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable, jeffrey, likelihood
from plausible.variables.variable import is_missing

#: The grammar of findings, for the end of a command's help.
SYNTAX = r"""
Findings: A=a means that A is in the state a; A=a|b that it is in one of several; A~0.8|0.2 is virtual evidence, a
likelihood for each state in the order of the states; A:=0.7|0.3 sets the posterior probabilities themselves (Jeffrey's
rule). X=1.5 gives a continuous variable its number. Blanks around names and states do not count.

Quoting: a name or state that holds , | = ~ or outer blanks stands in double quotes, or has a backslash before such a
sign: A="b, c" or A=b\,c. A double quote or a backslash itself has a backslash before it. The shell takes quotes away
from what it reads, so put single quotes around the whole: -e 'A="b, c"'.
"""

#: Signs that stand for themselves are moved by this, to where no separator and no blank is.
_SHIELD = 0x100000


def shielded(text: str) -> str:
    r"""A text to be split at separators: signs in double quotes, or after a backslash, are hidden until `plain`."""
    if any(ord(sign) >= _SHIELD for sign in text):
        raise InvalidArgument(f"{text!r} has a sign for private use, which commands can't read; use Python here.")
    signs: list[str] = []
    is_quoted = is_escaped = False
    for sign in text:
        if not is_escaped and sign == "\\":
            is_escaped = True
        elif not is_escaped and sign == '"':
            is_quoted = not is_quoted
        else:
            signs.append(chr(ord(sign) + _SHIELD) if (is_escaped or is_quoted) and ord(sign) < 0x10000 else sign)
            is_escaped = False
    if is_quoted:
        raise InvalidArgument(f'A double quote is not closed in {text!r}; write \\" for the sign itself.')
    if is_escaped:
        raise InvalidArgument(f"The backslash at the end of {text!r} has nothing after it; write two for the sign.")
    return "".join(signs)


def plain(piece: str) -> str:
    """The text that is meant, without the blanks around it unless they are quoted."""
    return "".join(chr(ord(sign) - _SHIELD) if ord(sign) >= _SHIELD else sign for sign in piece.strip())


def names_in(texts: str | Iterable[str] | None) -> list[str]:
    """The names in one argument or several, separated by commas."""
    given = [texts] if isinstance(texts, str) else (texts or [])
    return [name for text in given for piece in shielded(text).split(",") if (name := plain(piece))]


def split_finding(piece: str) -> tuple[str, str, str]:
    """Name, operator and value (still shielded) of one finding."""
    parts = re.fullmatch(r"([^=~]*?)(:=|=|~)(.*)", piece, re.DOTALL)
    if parts is None:
        raise InvalidEvidence(f"{plain(piece)!r} is not a finding: write name=state.")
    return plain(parts[1]), parts[2], parts[3]


def read_findings(texts: Iterable[str] | None, model: Network) -> dict[str, Any]:
    """Name -> finding, as `evidence=` of the models takes it."""
    findings: dict[str, Any] = {}
    for piece in (piece for text in texts or () for piece in shielded(text).split(",") if plain(piece)):
        name, operator, value = split_finding(piece)
        if name not in model.variables:
            raise UnknownVariable.named(name, model.variables, "this model")
        if name in findings:
            raise InvalidEvidence(f"{name!r} has two findings; for one of several states write {name}=a|b.")
        findings[name] = _finding(model.variables[name], operator, value)
    return findings


def _finding(variable: Variable, operator: str, value: str) -> Any:
    states = [plain(piece) for piece in value.split("|")]
    if operator != "=":
        numbers = [_number(variable, state) for state in states]
        return likelihood(numbers) if operator == "~" else jeffrey(numbers)
    if variable.is_continuous:
        return _number(variable, plain(value))
    is_unquoted = not any(ord(sign) >= _SHIELD for sign in value)
    if len(states) == 1 or (is_unquoted and plain(value) in map(str, variable.states)):
        return state_of(variable, plain(value))
    return [state_of(variable, state) for state in states]


def _number(variable: Variable, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        kind = "is continuous: expected a number" if variable.is_continuous else "needs numbers separated by |"
        raise InvalidEvidence(f"{variable.name!r} {kind}, not {text!r}.") from None


def read_interventions(texts: Iterable[str] | None, model: Network) -> dict[str, Any]:
    """Name -> value that an intervention sets; only Bayesian networks have any."""
    found = read_findings(texts, model)
    if found and not isinstance(model, BayesianNetwork):
        raise NotSupported("--do needs a Bayesian network: a Markov network has no causal direction.")
    for name, value in found.items():
        if not is_one_value(model.variables[name], value):
            raise InvalidEvidence(f"An intervention sets {name!r} to one value: write --do {name}=value.")
    return found


def is_one_value(variable: Variable, finding: Any) -> bool:
    """Whether a finding is one state or number of the variable."""
    return (variable.is_continuous and isinstance(finding, float)) or variable.has_state(finding)


def asked(evidence: Iterable[str] | None, do: Iterable[str] | None, model: Network) -> dict[str, Any]:
    """The arguments `evidence=` and, where there are interventions, `do=`, which only Bayesian networks take."""
    interventions = read_interventions(do, model)
    return {"evidence": read_findings(evidence, model), **({"do": interventions} if interventions else {})}


def state_of(variable: Variable, cell: Any) -> State:
    """The state that a text or a value from a file names: itself, or the one that prints so, or is the equal number.

    Capitals don't count where one state alone fits.
    """
    if variable.has_state(cell):
        return variable.states[variable.index(cell)]
    texts = [str(state) for state in variable.states]
    if str(cell) in texts:
        return variable.states[texts.index(str(cell))]
    alike = [state for state, text in zip(variable.states, texts, strict=True) if text.lower() == str(cell).lower()]
    if len(alike) == 1:
        return alike[0]
    try:  # other programs write whole numbers as 1.0 where a column has gaps
        number = float(cell)
    except (TypeError, ValueError):
        raise variable.unknown_state(cell) from None
    if is_missing(number) or not variable.has_state(number):
        raise variable.unknown_state(cell)
    return variable.states[variable.index(number)]
