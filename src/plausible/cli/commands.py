"""The commands of the program, told without loading any of them: for the help and for completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

#: What a command says in place of what the library says, by its text in Python; by the name of an argument alone, the
#: option, or what makes words of it.
OwnWords: TypeAlias = Mapping[str, str | Callable[[Any], str]]
Run = TypeVar("Run", bound=Callable[..., object])

#: What an argument names: a model, variables or findings of the model that was named first, or a file.
ArgumentKind: TypeAlias = Literal["model", "variables", "findings", "file"]


class Command(NamedTuple):
    """What is known of a command before its module is loaded."""

    summary: str  # the first line of its help; short enough to stand beside the name in 80 columns
    arguments: tuple[ArgumentKind, ...] = ()  # what each names, in order; the last may be repeated
    module: str = ""  # where it is, unless in a module of its own name


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


#: Name -> command, in the order of the help.
COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "info": Command("Show the size, structure, parameters and width of a model.", ("model",)),
        "show": Command("Show a graph, and the distributions of a model's variables.", ("model", "variables")),
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
        "sample": Command("Draw random rows from a model, given evidence.", ("model",)),
        "predict": Command("Predict a variable for each row of a file.", ("model", "file", "variables", "file")),
        "counterfactual": Command("Print what would have been, had --do been done.", ("model", "variables")),
        "troubleshoot": Command("Advise which test or repair of a device is best next.", ("model",)),
        "learn": Command("Learn a network from data: its graph, then its numbers.", ("file",)),
        "score": Command("Print how well a network or a graph explains data.", ("model", "file")),
        "discretize": Command("Replace numbers by intervals with readable names.", ("file",)),
        "impute": Command("Fill the empty cells of a table.", ("file",)),
        "cluster": Command("Find clusters of rows, and tell what sets them apart.", ("file",)),
        "identify": Command("Write an effect in probabilities of what is observed.", ("model",)),
        "adjust": Command("List what to adjust for to estimate an effect.", ("model",), "identify"),
        "effect": Command("Estimate the effect of a treatment, with an interval.", ("file",)),
        "bounds": Command("Print the least and the greatest value an effect can have.", ("file",)),
        "discover": Command("Find the causal graphs that data do not contradict.", ("file",)),
        "decide": Command("Print the strategy with the largest expected utility.", ("model",)),
        "voi": Command("Print what it is worth to know something before deciding.", ("model", "variables")),
        "elicit": Command("Find the utilities of outcomes by questions."),
        "dsep": Command(
            "Tell whether X and Y are d-separated, and by which trails.", ("model", "variables"), "graph_questions"
        ),
        "independencies": Command("List the independencies that a graph implies.", ("model",), "graph_questions"),
        "compare": Command(
            "Compare two networks, edge by edge and by their numbers.", ("model", "model"), "graph_questions"
        ),
        "convert": Command("Convert a model to another file format.", ("model", "file")),
        "compile": Command("Compile all inner loops now, so that nothing waits later."),
        "demo": Command("Load a bundled network and answer a few questions."),
        "pictures": Command("Denoise and segment pictures by several engines.", ("file",), "demo"),
    }
)
