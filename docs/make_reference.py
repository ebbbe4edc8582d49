"""Write docs/reference.md: every public name with how it is called and the first sentence about it, grouped by use.

Run it with `python docs/make_reference.py` after a public name or its docstring has changed. A room of the library is a
section, each of its folders, which is a topic, a section in it, and each file, which holds one idea, a group under the
first line of the file's docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import plausible
from plausible.base.common_options import COMMON_OPTIONS
from plausible.base.records import repr_of_print

PAGE = Path(__file__).with_name("reference.md")

#: The rooms in the order in which one meets them, and what each is for.
ROOMS = {
    "variables": "Variables, states and evidence",
    "graphs": "Graphs, and what follows from structure alone",
    "factors": "Factors: tables, Gaussians, and what can be computed from them",
    "cpds": "Conditional distributions",
    "models": "Models",
    "inference": "Inference on sets of factors",
    "search": "Runs, step by step: the driver, chains, local search",
    "data": "Data",
    "learn": "Learning",
    "causal": "Causes",
    "utilities": "Utilities",
    "decisions": "Decisions",
    "plotting": "Pictures and charts",
    "scale": "Data larger than a machine",
    "io": "Files",
    "studio": "The page in the browser",
    "examples": "Examples",
    "errors": "Errors and warnings",
}

#: What everyday work needs, by what one wants to do; all else is found by topic, room by room.
EVERYDAY = {
    "Build": "BayesianNetwork MarkovNetwork FactorGraph ConditionalRandomField TableCPD NoisyOr NoisyMax "
    "DeterministicCPD LinearGaussianCPD ConditionalGaussianCPD LogisticCPD Variable Factor",
    "Graphs": "DAG UndirectedGraph PDAG CausalGraph MAG PAG",
    "Files and examples": "load save examples.load",
    "Ask": "Assignment likelihood jeffrey Budget JunctionTree VariableElimination RecursiveConditioning LoopyBP "
    "MeanField Gibbs LikelihoodWeighting ImportanceSampling GraphCut BranchAndBound Estimate",
    "Learn": "Table Discretizer learn.parameters learn.structure learn.em learn.markov Feature Knowledge BDeu BDe "
    "Dirichlet",
    "Follow what happens in time": "HiddenMarkovModel DynamicBayesianNetwork LinearDynamicalSystem GaussianEmission "
    "learn.hmm",
    "Causes": "causal.identify causal.estimate_effect causal.counterfactual causal.bounds",
    "Decide": "InfluenceDiagram Decision Utility Strategy",
    "When something is wrong": "PlausibleError PlausibleWarning errors.TooLarge",
}

#: A call of more characters ends in "...".
WIDTH = 90
#: A default of more characters is "..." itself.
MAX_DEFAULT = 20

INTRODUCTION = """# Reference

Every public name, grouped by what it is for, with the parameters of a call; "..." stands for more of them, or for a
default that is long. `help(name)` tells the rest. Names written `pb.X` are at the top level, and those of a topic can
also be had from its folder: `pb.learn.scores.BIC` is `pb.learn.BIC`.
The [guide](guide.md) shows the everyday ones at work, the [glossary](glossary.md) explains the words. This page is
written by `python docs/make_reference.py`.
"""


def reference() -> str:
    """The text of the page."""
    sections = [INTRODUCTION, *_everyday(), *_options()]
    for room, title in ROOMS.items():
        module = import_module(f"plausible.{room}")
        folders = {name: getattr(module, name) for name in module.__all__ if inspect.ismodule(getattr(module, name))}
        of_folders = {name for folder in folders.values() for name in folder.__all__}
        sections.append(f"## {title}: `pb.{room}`\n")
        sections += _groups(room, [name for name in module.__all__ if name not in {*folders, *of_folders}])
        for name, folder in folders.items():
            sections += [f"### {title_of(folder.__doc__)}: `pb.{room}.{name}`\n", *_groups(room, folder.__all__)]
    return "\n".join(sections)


def title_of(docstring: str | None) -> str:
    """What a file or folder is for, as a heading."""
    return first_paragraph(docstring or "").removesuffix(".")


def _everyday() -> Iterator[str]:
    """The names of everyday use, each with a sentence."""
    yield "## The sixty names\n\nWith these one gets through most days.\n"
    for purpose, names in EVERYDAY.items():
        told = {name: first_paragraph(inspect.getdoc(named(name)) or "") for name in names.split()}
        rows = [f"| `pb.{name}` | {text.replace('|', chr(92) + '|')} |" for name, text in told.items()]
        yield "\n".join([f"| {purpose} | |", "|---|---|", *rows]) + "\n"


def named(name: str) -> Any:
    """What stands under a name of the top, or of a room."""
    found: Any = plausible
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _options() -> Iterator[str]:
    """What options mean that many calls have."""
    yield "## Options that mean the same everywhere\n\n`help()` of a call tells them too.\n"
    rows = [f"| `{name.replace(', ', '=`, `')}=` | {text} |" for name, text in COMMON_OPTIONS.items()]
    yield "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def _groups(room: str, names: Iterable[str]) -> Iterator[str]:
    """For each file that has some of these names of a room, what its docstring says it is for, and the names' lines.

    Records, which nobody makes by hand, come last.
    """
    module = import_module(f"plausible.{room}")
    groups: dict[str, list[str]] = {}
    for name in names:
        thing = getattr(module, name)
        is_record = inspect.isclass(thing) and vars(thing).get("__repr__") is repr_of_print
        groups.setdefault("" if is_record else _heading(thing, room), []).append(_line(room, name, thing))
    handed_back = groups.pop("", [])
    for heading, lines in [*sorted(groups.items()), *[("What these hand back", handed_back)] * bool(handed_back)]:
        yield "\n".join([f"**{heading}**\n", *sorted(lines, key=_name_in)]) + "\n"


def _name_in(line: str) -> str:
    """What a line is sorted by."""
    return re.split(r"[(`]", line)[1].casefold()


def _heading(thing: Any, room: str) -> str:
    home = getattr(inspect.getmodule(getattr(inspect.unwrap(thing), "__code__", thing)), "__name__", "")
    if not is_described(thing):
        home = f"plausible.{room}"
    return title_of(inspect.getdoc(import_module(home)))


def _line(room: str, name: str, thing: Any) -> str:
    full = full_name(room, name, thing)
    described = first_paragraph(inspect.getdoc(thing) or "") if is_described(thing) else _kind(thing)
    return f"- `{full}{call_of(full, thing)}`: {described}"


def full_name(room: str, name: str, thing: Any) -> str:
    """The shortest name under which users find it."""
    is_short = getattr(plausible, name, None) is thing and name in plausible.__all__
    return f"pb.{name}" if is_short else f"pb.{room}.{name}"


def call_of(name: str, thing: Any, width: int = WIDTH) -> str:
    """The parameters in parentheses, without annotations; nothing for errors, protocols and what is not called."""
    is_kind = inspect.isclass(thing) and (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False))
    if not is_described(thing) or is_kind or inspect.isabstract(thing):
        return ""
    words = _words(inspect.signature(thing).parameters.values())
    cuts = ([*words[:shown], "..."] for shown in reversed(range(len(words))))
    calls = [f"({', '.join(call)})" for call in (words, *cuts)]
    return next((call for call in calls if len(name) + len(call) <= width), "(...)")


def _words(parameters: Iterable[inspect.Parameter]) -> list[str]:
    """Each public parameter as it is written in a call, and a star before those that must be named."""
    words: list[str] = []
    for parameter in (parameter for parameter in parameters if not parameter.name.startswith("_")):
        if parameter.kind is parameter.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        words.append(f"{star}{parameter.name}{_default(parameter)}")
    return words


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return ""
    text = repr(parameter.default)
    return f"={text}" if len(text) <= MAX_DEFAULT and not text.startswith("<") else "=..."


def is_described(thing: Any) -> bool:
    """Whether this is a class or a function of the library; other public names are data and aliases of types."""
    is_own = str(getattr(thing, "__module__", "")).startswith("plausible")
    return is_own and (inspect.isclass(thing) or inspect.isroutine(thing))


def _kind(thing: Any) -> str:
    if isinstance(thing, Mapping):
        return f"A mapping of names: {', '.join(f'`{name}`' for name in thing)}."
    return f"A {type(thing).__name__}." if isinstance(thing, (tuple, list, frozenset)) else "A type, for annotations."


def first_paragraph(text: str) -> str:
    return re.sub(r"\s+", " ", text.split("\n\n")[0]).strip()


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
