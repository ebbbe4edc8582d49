"""What the command line writes: `-e 'xray=yes' --do bronc=no`, effects `X=1 vs X=0 => Y=1`, `--engine gibbs:seed=1`."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from json import dumps
from typing import Any, NamedTuple

from plausible.base import Argument, QueryInfo, Remedy
from plausible.cli.commands import hyphenated
from plausible.errors import InvalidArgument, InvalidEvidence, NotSupported, UnknownVariable, close_match, suggestion
from plausible.inference.engine_mistakes import engine_kinds
from plausible.inference.estimates import Estimate
from plausible.io import Network
from plausible.models import MarkovNetwork
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
        UnknownVariable.check(name, model.variables, "this model")
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
    if found and isinstance(model, MarkovNetwork):
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

    Capitals count, as they do in Python, but in truth values, which files write as true and True.
    """
    if variable.has_state(cell):
        return variable.states[variable.index(cell)]
    texts = [str(state) for state in variable.states]
    if str(cell) in texts:
        return variable.states[texts.index(str(cell))]
    for state in variable.states:
        if isinstance(state, bool) and str(state).lower() == str(cell).lower():
            return state
    try:  # other programs write whole numbers as 1.0 where a column has gaps
        number = float(cell)
    except (TypeError, ValueError):
        raise variable.unknown_state(cell) from None
    if is_missing(number) or not variable.has_state(number):
        raise variable.unknown_state(cell)
    return variable.states[variable.index(number)]


#: The grammar of effects, for the end of a command's help.
EFFECTS = r"""
Effects: 'X => Y' is the effect of X on Y; several names stand with commas between, conditions after a bar:
'X, Z => Y | W'. A name may have a state: 'X=1 => Y=1', and 'X=1 vs X=0 => Y=1' is the difference that X=1 makes as
against X=0. A name or state that holds , | = or the word vs stands in double quotes, or has a backslash before such a
sign.
"""

_EXAMPLE = "write it as 'treatment => outcome', such as 'X => Y'"


class Term(NamedTuple):
    """A name, and the text of a state where one was given."""

    name: str
    state: str | None


@dataclass(frozen=True, slots=True)
class EffectText:
    """An effect as it was written."""

    text: str  # all of it
    treatment: tuple[Term, ...]  # what is set
    control: tuple[Term, ...]  # what it is compared with, after `vs`
    outcome: tuple[Term, ...]  # what is asked about
    given: tuple[Term, ...]  # on what condition

    def refuse(self, problem: str) -> InvalidArgument:
        """The error that says what is wrong with it."""
        return InvalidArgument(f"--effect {self.text!r}: {problem}.")

    def names(self, *, has_given: bool = True) -> dict[str, list[str]]:
        """The arguments `outcome=`, `treatment=` and `given=`, where no state matters."""
        stated = next((term for term in (*self.treatment, *self.outcome, *self.given) if term.state is not None), None)
        if self.control or stated is not None:
            shown = "vs" if stated is None else f"{stated.name}={stated.state}"
            raise self.refuse(f"the question is about all states, so leave {shown!r} out and write names alone")
        if not has_given and self.given:
            raise self.refuse("conditions after | make no sense here")
        sides = {"outcome": self.outcome, "treatment": self.treatment, **({"given": self.given} if has_given else {})}
        return {role: [term.name for term in terms] for role, terms in sides.items()}


def read_effect(text: str) -> EffectText:
    """The effect that a text writes."""
    sides = shielded(text).split("=>")
    if len(sides) != 2:
        raise InvalidArgument(f"--effect {text!r} is no effect: {_EXAMPLE}.")
    settings, (outcome, *given) = re.split(r"\svs\s", sides[0]), sides[1].split("|")
    if len(settings) > 2 or len(given) > 1:
        raise InvalidArgument(f"--effect {text!r} has {'| twice' if len(given) > 1 else 'vs twice'}: {_EXAMPLE}.")
    control, condition = settings[1:] or [""], given or [""]
    found = EffectText(text, _terms(settings[0]), _terms(control[0]), _terms(outcome), _terms(condition[0]))
    if not found.treatment or not found.outcome or (len(settings) > 1 and not found.control):
        raise InvalidArgument(f"--effect {text!r} lacks a name on one side: {_EXAMPLE}.")
    return found


def named_states(
    terms: Iterable[Term], variables: Mapping[str, Variable], place: str, effect: EffectText
) -> dict[str, Any]:
    """Name -> state, of terms that must have one."""
    states: dict[str, Any] = {}
    for name, text in terms:
        if name not in variables:
            raise UnknownVariable.named(name, variables, f"{place}, though --effect asks for it")
        if name in states:
            raise effect.refuse(f"{name!r} stands there twice; to compare two states write {name}=a vs {name}=b")
        if text is None:
            raise effect.refuse(f"{name!r} needs a state, as in {name}=a")
        if not variables[name].is_continuous:
            states[name] = state_of(variables[name], text)
            continue
        try:
            states[name] = float(text)
        except ValueError:
            raise effect.refuse(f"{name!r} is continuous, and {text!r} is no number") from None
    return states


def _terms(text: str) -> tuple[Term, ...]:
    """Names with or without states, between commas."""
    pieces = [piece.partition("=") for piece in text.split(",") if plain(piece)]
    return tuple(Term(plain(name), plain(state.replace("=", "")) if is_set else None) for name, is_set, state in pieces)


#: How to write an engine, and the names of all: at the end of the help of commands that take one.
ENGINES = """
Engines: auto, or a name with options, such as gibbs:num_samples=20000,seed=1. Lists are written as in Python, in
quotes for the shell: --engine 'gibbs:blocks=[["tub","lung","either"]]'. For query, marginals and map:
annealed-importance, cluster-bp, collapsed-gibbs, convex-bp, enumeration, gibbs, importance-sampling, junction-tree,
likelihood-weighting, loopy-bp, mean-field, metropolis, mini-buckets, pearl, recursive-conditioning, region-bp,
rejection-sampling, tree-reweighted-bp, variable-elimination. For mpe: alpha-beta-swap, alpha-expansion,
branch-and-bound, dual-decomposition, graph-cut, linear-relaxation, local-search, max-product, mini-bucket-max. For
sample: gibbs, importance-sampling, junction-tree, likelihood-weighting, metropolis, rejection-sampling.
"""


def read_engine(text: str) -> Any:
    """The engine that a text spells: its name in small letters with hyphens, then options; or "auto".

    Values are numbers, `True`, `None`, lists and the like as Python writes them, and else text.
    """
    name, _, options = text.partition(":")
    if name == "auto" and not options:
        return "auto"
    known = {hyphenated(kind): made for kind, made in engine_kinds().items()}
    if name not in known:
        raise InvalidArgument(
            f"{name!r} is no engine.{close_match(name, known)} There are auto, {', '.join(sorted(known))}."
        )
    return _made(name, known[name], options)


def engine_argument(text: str | None) -> dict[str, Any]:
    """The argument `engine=` of a model's method; nothing where the option was not given."""
    return {} if text is None else {"engine": read_engine(text)}


def _made(name: str, kind: Any, options: str) -> Any:
    allowed = [field.name for field in fields(kind)]
    given: dict[str, Any] = {}
    for part in _parts(options):
        option, is_set, value = part.partition("=")
        option = option.strip().replace("-", "_")
        if option not in allowed:
            raise InvalidArgument(
                f"{option!r} is no option of {name}.{suggestion(option, allowed)} It has {', '.join(allowed)}."
            )
        if not is_set:
            raise InvalidArgument(f"Give the option {option!r} of {name} a value: {option}=...")
        try:
            given[option] = literal_eval(value.strip())
        except (ValueError, SyntaxError):
            given[option] = value.strip()
    try:
        return kind(**given)
    except TypeError:
        raise InvalidArgument(f"{name} does not take {options!r}: a value is of the wrong kind.") from None
    except InvalidArgument as error:
        changes = [each for remedy in error.remedies for each in remedy.changes if isinstance(each, Argument)]
        lists = [f"{each.name}={dumps(each.value)}" for each in changes if each.name in given]
        meant = [Remedy(f"write --engine '{name}:{listed}'") for listed in lists]
        raise InvalidArgument(*error.args, remedies=meant or error.remedies) from None


def _parts(options: str) -> list[str]:
    """The options, separated by commas that stand in no brackets."""
    parts: list[str] = []
    depth = 0
    for piece in options.split(",") if options else ():
        if depth:
            parts[-1] += f",{piece}"
        else:
            parts.append(piece)
        depth += sum(piece.count(mark) for mark in "[(") - sum(piece.count(mark) for mark in "])")
    return parts


def told_quality(info: QueryInfo, number: float | None = None) -> str:
    """How an answer was got and what it is worth, for a number with its limits; and in a second line advice, if any."""
    facts = [f"by {info.engine}", "exact" if info.exact else "approximate"]
    if not info.exact:
        facts.append("converged" if info.converged else "not converged")
        facts.append("error unknown" if info.error is None else f"error up to {info.error:.3g}")
    if isinstance(number, Estimate) and number.lower < number.upper:
        kind = "for certain" if number.is_bound else "95 %"
        facts.append(f"log-probability between {number.lower:.6g} and {number.upper:.6g} ({kind})")
    return "\n".join(["; ".join(facts), *([info.advice] if info.advice else [])])
