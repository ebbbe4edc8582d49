"""Evidence and interventions as the command line writes them: `--evidence xray=yes,smoke=no --do bronc=no`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from plausible.cli.quoting import Sign, parts, plain, read_signs
from plausible.errors import InvalidEvidence, NotSupported, UnknownVariable
from plausible.io import Network
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable, jeffrey, likelihood
from plausible.variables.variable import is_missing

EvidenceTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        metavar="FINDINGS",
        help="What is observed: name=state, separated by commas; may be repeated.",
        show_default=False,
    ),
]
Do = Annotated[
    list[str] | None,
    typer.Option(
        "--do",
        metavar="FINDINGS",
        help="What an intervention sets: name=state, separated by commas; may be repeated.",
        show_default=False,
    ),
]

#: The grammar of findings, for the end of a command's help.
SYNTAX = r"""
Findings: A=a means that A is in the state a; A=a|b that it is in one of several; A~0.8|0.2 is virtual evidence, a
likelihood for each state in the order of the states; A:=0.7|0.3 sets the posterior probabilities themselves (Jeffrey's
rule). X=1.5 gives a continuous variable its number. Blanks around names and states do not count.

Quoting: a name or state that holds , | = ~ or outer blanks stands in double quotes, or has a backslash before such a
sign: A="b, c" or A=b\,c. A double quote or a backslash itself has a backslash before it. The shell takes quotes away
from what it reads, so put single quotes around the whole: -e 'A="b, c"'.
"""


def read_findings(texts: Iterable[str] | None, model: Network) -> dict[str, Any]:
    """Name -> finding, as `evidence=` of the models takes it."""
    findings: dict[str, Any] = {}
    for text in texts or ():
        for piece in parts(read_signs(text), ","):
            if not plain(piece):
                continue
            name, operator, value = split_finding(piece)
            if name not in model.variables:
                raise UnknownVariable.named(name, model.variables, "this model")
            if name in findings:
                raise InvalidEvidence(f"{name!r} has two findings; for one of several states write {name}=a|b.")
            findings[name] = _finding(model.variables[name], operator, value)
    return findings


def read_interventions(texts: Iterable[str] | None, model: Network) -> dict[str, Any]:
    """Name -> value that an intervention sets; only Bayesian networks have any."""
    found = read_findings(texts, model)
    if found and not isinstance(model, BayesianNetwork):
        raise NotSupported("--do needs a Bayesian network: a Markov network has no causal direction.")
    for name, value in found.items():
        variable = model.variables[name]
        if not (variable.is_continuous and isinstance(value, float)) and not variable.has_state(value):
            raise InvalidEvidence(f"An intervention sets {name!r} to one value: write --do {name}=value.")
    return found


def asked(evidence: Iterable[str] | None, do: Iterable[str] | None, model: Network) -> dict[str, Any]:
    """The arguments `evidence=` and, where there are interventions, `do=`, which only Bayesian networks take."""
    interventions = read_interventions(do, model)
    return {"evidence": read_findings(evidence, model), **({"do": interventions} if interventions else {})}


def intervened(model: Network, do: Mapping[str, Any]) -> Network:
    """The model after interventions, for questions that have no `do=` of their own."""
    return model.intervene(do) if do and isinstance(model, BayesianNetwork) else model


def state_of(variable: Variable, cell: Any) -> State:
    """The state that a text or a value from a file names: itself, or the one that prints so, or is the equal number.

    Capitals don't count where one state alone fits.

    >>> state_of(Variable("X", 2), "1"), state_of(Variable("X", 2), "1.0")
    (1, 1)
    >>> state_of(Variable("X", [False, True]), "true")
    True
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


def split_finding(piece: Sequence[Sign]) -> tuple[str, str, list[Sign]]:
    """Name, operator and value of one finding."""
    place = next((place for place, sign in enumerate(piece) if sign in (("=", False), ("~", False))), None)
    if place is None:
        raise InvalidEvidence(f"{plain(piece)!r} is not a finding: write name=state.")
    name, operator, value = piece[:place], piece[place].character, list(piece[place + 1 :])
    if operator == "=" and name and name[-1] == (":", False):
        name, operator = name[:-1], ":="
    return plain(name), operator, value


def _finding(variable: Variable, operator: str, value: Sequence[Sign]) -> Any:
    if operator != "=":
        numbers = [_number(variable, plain(piece)) for piece in parts(value, "|")]
        return likelihood(numbers) if operator == "~" else jeffrey(numbers)
    if variable.is_continuous:
        return _number(variable, plain(value))
    pieces = parts(value, "|")
    is_unquoted = not any(sign.is_literal for sign in value)
    if len(pieces) == 1 or (is_unquoted and plain(value) in map(str, variable.states)):
        return state_of(variable, plain(value))
    return [state_of(variable, plain(piece)) for piece in pieces]


def _number(variable: Variable, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        kind = "is continuous: expected a number" if variable.is_continuous else "needs numbers separated by |"
        raise InvalidEvidence(f"{variable.name!r} {kind}, not {text!r}.") from None
