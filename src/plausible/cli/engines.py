"""Named engines as an option: `--engine loopy-bp:damping=0.3`, and what their answers are worth."""

from __future__ import annotations

from ast import literal_eval
from dataclasses import fields
from typing import Any

from plausible.cli.commands import hyphenated
from plausible.errors import InvalidArgument, close_match, suggestion
from plausible.inference.engine_mistakes import engine_kinds
from plausible.inference.info import Estimate, QueryInfo

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
        option = next((option for option, value in given.items() if isinstance(value, str)), "")
        if not option or "sequence" not in str(error):
            raise
        raise InvalidArgument(f"{error} Write --engine '{name}:{option}=[\"{given[option]}\"]'.") from None


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
