"""The commands of the program, told without loading any of them: for the help and for completion."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["COMMANDS", "ArgumentKind", "Command"]

#: What an argument names: a model, variables or findings of the model that was named first, or a file.
ArgumentKind: TypeAlias = Literal["model", "variables", "findings", "file"]


class Command(NamedTuple):
    """What is known of a command before its module, which has its name, is loaded.

    Attributes
    ----------
    summary
        The first line of its help; short enough to stand beside the name in 80 columns.
    arguments
        What each of its arguments names, in order; the last may be repeated.
    """

    summary: str
    arguments: tuple[ArgumentKind, ...] = ()


#: Name -> command, in the order of the help.
COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "info": Command("Show the size, structure, parameters and width of a model.", ("model",)),
        "show": Command("Show a graph, and the distributions of a model's variables.", ("model", "variables")),
        "query": Command("Print P(targets | evidence, do) as a table.", ("model", "variables")),
        "marginals": Command("Print the distribution of each variable by itself.", ("model", "variables")),
        "moments": Command("Print means and covariances of continuous variables.", ("model", "variables")),
        "mpe": Command("Print a most probable assignment to all variables.", ("model",)),
        "map": Command("Print the most probable states of some variables together.", ("model", "variables")),
        "explain": Command("Print what exact inference will cost, before it is done.", ("model", "variables")),
        "tornado": Command("List the parameters that an answer depends on most.", ("model", "findings")),
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
        "adjust": Command("List what to adjust for to estimate an effect.", ("model",)),
        "effect": Command("Estimate the effect of a treatment, with an interval.", ("file",)),
        "bounds": Command("Print the least and the greatest value an effect can have.", ("file",)),
        "discover": Command("Find the causal graphs that data do not contradict.", ("file",)),
        "decide": Command("Print the strategy with the largest expected utility.", ("model",)),
        "voi": Command("Print what it is worth to know something before deciding.", ("model", "variables")),
        "elicit": Command("Find the utilities of outcomes by questions."),
        "dsep": Command("Tell whether X and Y are d-separated, and by which trails.", ("model", "variables")),
        "independencies": Command("List the independencies that a graph implies.", ("model",)),
        "compare": Command("Compare two networks, edge by edge and by their numbers.", ("model", "model")),
        "convert": Command("Convert a model to another file format.", ("model", "file")),
        "compile": Command("Compile all inner loops now, so that nothing waits later."),
        "demo": Command("Load a bundled network and answer a few questions."),
        "pictures": Command("Denoise and segment pictures by several engines.", ("file",)),
    }
)
