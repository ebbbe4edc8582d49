"""The commands of the program, told without loading any of them, and what they call what errors mention."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from shlex import quote
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from plausible.base import Argument, Call, Piece, Words

#: What a command says in place of what the library says, by its text in Python; by the name of an argument alone, the
#: option, or what makes words of it.
OwnWords: TypeAlias = Mapping[str, str | Callable[[Any], str]]
Run = TypeVar("Run", bound=Callable[..., object])

#: What an argument names: a model, variables or findings of the model that was named first, or a file. Attributes are
#: variables, also those of classes that a relational model has.
ArgumentKind: TypeAlias = Literal["model", "variables", "findings", "attributes", "file"]


class Command(NamedTuple):
    """What is known of a command before its module is loaded."""

    summary: str  # the first line of its help; short enough to stand beside the name in 80 columns
    arguments: tuple[ArgumentKind, ...] = ()  # what each names, in order; the last may be repeated
    module: str = ""  # where it is, unless in a module of its own name
    choices: Mapping[str, str] = MappingProxyType({})  # option -> the names that its value may have


def command(
    *, examples: Sequence[str], notes: Sequence[str] = (), words: OwnWords = MappingProxyType({})
) -> Callable[[Run], Run]:
    """Give the function of a command what its help ends with, and its own words for what the library says."""

    def told(run: Run) -> Run:
        kept = [note.strip() for note in notes]
        # The sign `\b` keeps the lines of the next paragraph as they are.
        run.epilog = "\n\n".join([*kept, "\n  ".join(["\b\nFor example:", *examples])])  # type: ignore[attr-defined]
        run.examples, run.words = tuple(examples), words  # type: ignore[attr-defined]
        return run

    return told


def load_command(name: str) -> Any:
    """The function of a command, which is called run_ and its name."""
    return getattr(import_module(f"plausible.cli.{COMMANDS[name].module or name}"), f"run_{name}")


_METHODS = (
    "hill-climbing first-ascent tabu beam annealing random-restarts perturbation-restarts basin-flooding chow-liu "
    "forest tan k2 buntine edge-counts mmhc exact a-star orders ges pc"
)
_SCORES = (
    "log-likelihood aic bic mdl k2 bdeu bds fnml qnml description-length standard-bayesian gaussian-log-likelihood "
    "gaussian-aic gaussian-bic bge conditional-gaussian-log-likelihood conditional-gaussian-aic "
    "conditional-gaussian-bic"
)

#: Name -> command, in the order of the help.
COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "info": Command("Show the size, structure, parameters and width of a model.", ("model",), "show"),
        "show": Command("Show a graph, and the distributions of a model's variables.", ("model", "variables")),
        "draw": Command("Draw a graph, or a model with its beliefs, into a file.", ("model",)),
        "query": Command("Print P(targets | evidence, do) as a table.", ("model", "variables"), "questions"),
        "marginals": Command("Print the distribution of each variable by itself.", ("model", "variables"), "questions"),
        "moments": Command("Print means and covariances of continuous variables.", ("model", "variables"), "questions"),
        "mpe": Command("Print a most probable assignment to all variables.", ("model",), "questions"),
        "map": Command(
            "Print the most probable states of some variables together.", ("model", "variables"), "questions"
        ),
        "explain": Command(
            "Print what exact inference will cost, before it is done.", ("model", "variables"), "questions"
        ),
        "tornado": Command("List the parameters that an answer depends on most.", ("model", "findings"), "sensitivity"),
        "sensitivity": Command("Show how an answer depends on one parameter of the model.", ("model", "findings")),
        "sample": Command("Draw random rows from a model, given evidence.", ("model",), "questions"),
        "predict": Command("Predict a variable for each row of a file.", ("model", "file", "variables", "file")),
        "counterfactual": Command(
            "Print what would have been, had --do been done.", ("model", "variables"), "questions"
        ),
        "troubleshoot": Command("Advise which test or repair of a device is best next.", ("model",)),
        "learn": Command(
            "Learn a network from data: its graph, then its numbers.",
            ("file",),
            choices={"--method": _METHODS, "--score": _SCORES},
        ),
        "score": Command(
            "Print how well a network or a graph explains data.", ("model", "file"), "predict", {"--score": _SCORES}
        ),
        "discretize": Command("Replace numbers by intervals with readable names.", ("file",), "prepare"),
        "impute": Command("Fill the empty cells of a table.", ("file",), "prepare"),
        "cluster": Command("Find clusters of rows, and tell what sets them apart.", ("file",), "learn"),
        "filter": Command("Tell the hidden state at each step, by the rows up to it.", ("model", "file"), "sequences"),
        "smooth": Command("Tell the hidden state at each step, by all rows.", ("model", "file"), "sequences"),
        "forecast": Command("Tell what will be observed after the last row.", ("model", "file"), "sequences"),
        "label": Command("Learn to label the tokens of texts, and label them.", ("file",)),
        "identify": Command("Write an effect in probabilities of what is observed.", ("model",), "graph_questions"),
        "adjust": Command("List what to adjust for to estimate an effect.", ("model",), "graph_questions"),
        "effect": Command("Estimate the effect of a treatment, with an interval.", ("file",)),
        "bounds": Command("Print the least and the greatest value an effect can have.", ("file",), "effect"),
        "discover": Command("Find the causal graphs that data do not contradict.", ("file",)),
        "decide": Command("Print the strategy with the largest expected utility.", ("model",)),
        "voi": Command("Print what it is worth to know something before deciding.", ("model", "variables"), "decide"),
        "elicit": Command("Find the utilities of outcomes by questions."),
        "dsep": Command(
            "Tell whether X and Y are d-separated, and by which trails.", ("model", "variables"), "graph_questions"
        ),
        "independencies": Command("List the independencies that a graph implies.", ("model",), "graph_questions"),
        "compare": Command(
            "Compare two networks, edge by edge and by their numbers.", ("model", "model"), "graph_questions"
        ),
        "convert": Command("Convert a model to another file format.", ("model", "file"), "show"),
        "studio": Command("Open a page in the browser, in which to play with a model.", ("model",)),
        "compile": Command("Compile all inner loops now, so that nothing waits later."),
        "demo": Command("Load a bundled network and answer a few questions.", (), "show"),
        "pictures": Command("Denoise and segment pictures by several engines.", ("file",), "show"),
    }
)


#: Argument -> the command that has it, for all others.
_ELSEWHERE = MappingProxyType({"lenient": "plausible convert FILE mended.json --lenient"})


def shell_words(run: Any) -> Words:
    """The words of a command: options for arguments that it has under the same name, commands for functions."""
    own: OwnWords = {} if run is None else run.words
    options = {} if run is None else option_names(run)

    def words(piece: Piece) -> str | None:
        if (known := own.get(str(piece))) is not None:
            return str(known)
        if isinstance(piece, str):
            return piece
        if isinstance(piece, Call) and piece.name == "Table.read":
            return _reading(piece, options)
        named = own.get(piece.name, options.get(piece.name, _ELSEWHERE.get(piece.name)))
        if callable(named):
            return str(named(piece))
        if isinstance(piece, Argument):
            is_whole = named is None or not piece.has_value or piece.value is True
            return named if is_whole else f"{named} {_value(piece.value)}"
        if (name := piece.name.rpartition(".")[2]) in COMMANDS:
            return " ".join([f"plausible {name}", *(f"--{a.name} {_value(a.value)}" for a in piece.arguments)])
        return hyphenated(name) if "engine" in options and name[:1].isupper() else None

    return words


#: Argument of `Table.read` -> the argument of a command that reads data so.
_READING = MappingProxyType({"columns": "states", "variables": "continuous", "missing_values": "na"})


def _reading(call: Call, options: Mapping[str, str]) -> str | None:
    """The options that read a table as a call would; `None` where a command has them not."""
    meant = [(options.get(_READING[each.name]), each.value) for each in call.arguments if each.name in _READING]
    if any(option is None for option, _ in meant):
        return None
    listed = [(option, ["NAME"] if value is ... else map(str, value or [""])) for option, value in meant]
    return " ".join(f"{option} {quote(name)}" for option, names in listed for name in names)


def hyphenated(name: str) -> str:
    """LoopyBP -> loopy-bp."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _value(value: object) -> str:
    """A value as it is written after an option: engines and methods by their names in small letters."""
    return hyphenated(str(value).partition("(")[0]) if hasattr(value, "arguments") else str(value)


def option_names(run: Callable[..., None]) -> dict[str, str]:
    """Name of the argument -> what stands for it on the command line."""
    options: dict[str, str] = {}
    for name, hint in get_type_hints(run, include_extras=True).items():
        for told in getattr(hint, "__metadata__", ()):
            if isinstance(told, OptionInfo):
                texts = (told.default, *(told.param_decls or ()))  # of `Annotated`, the first name stands as a default
                declared = [text for text in texts if isinstance(text, str) and text.startswith("--")]
                options[name] = declared[0].partition("/")[0] if declared else f"--{name.replace('_', '-')}"
            elif isinstance(told, ArgumentInfo):
                options[name] = told.metavar or name.upper()
    if "budget_seconds" in options:
        options["budget"] = "--budget-seconds or --budget-memory"
    return options
