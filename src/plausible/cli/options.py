"""Options and arguments of commands; those that several commands have are declared here, once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer


def option(help: str, *names: str, **more: Any) -> Any:
    """An option, by default with the name of its parameter."""
    return typer.Option(*names, help=help, **more)


def argument(help: str, **more: Any) -> Any:
    """An argument, which has no name on the command line."""
    return typer.Argument(help=help, **more)


_Texts: TypeAlias = list[str] | None
_CAUSES = (
    "What causes what: 'A -> B; A <-> B', a file with such text, a network's file, or an example's name; "
    "- for standard input."
)
_SET_OUTSIDE = "The column that names what was set from outside in each row: A, or A+B, or nothing."

# Models and graphs.
ModelSource = Annotated[str, argument("A file, the name of an example such as asia, or - for standard input.")]
GraphSource = Annotated[
    str, argument("A file, an example's name, a graph such as 'A -> B <- C', or - for standard input.")
]
Source = Annotated[str, argument("A file, the name of an example such as asia, or a graph such as 'A -> B; A <-> B'.")]
DiagramSource = Annotated[
    str, argument("A file with an influence diagram, or the name of an example such as oil.", metavar="DIAGRAM")
]
GraphArgument = Annotated[str, argument(_CAUSES)]
GraphOption = Annotated[str, option(_CAUSES, "--graph")]
MaybeGraph = Annotated[str | None, option(_CAUSES, "--graph")]

# Questions.
TargetNames = Annotated[_Texts, argument("The variables asked about, separated by commas.", metavar="TARGETS")]
TargetOption = Annotated[_Texts, option("The same as an option.", "--targets", "-t", metavar="NAMES")]
EvidenceTexts = Annotated[
    _Texts,
    option(
        "What is observed: name=state, separated by commas; may be repeated.", "--evidence", "-e", metavar="FINDINGS"
    ),
]
Do = Annotated[
    _Texts, option("What an intervention sets: name=state, separated by commas; may be repeated.", metavar="FINDINGS")
]
Seconds = Annotated[float | None, option("Refuse what may take longer.", "--budget-seconds", metavar="SECONDS")]
Memory = Annotated[float | None, option("Refuse what needs more memory, in GiB.", "--budget-memory", metavar="GIB")]
EngineOption = Annotated[
    str | None,
    option(
        "A named way to get the answer, such as loopy-bp:damping=0.3; auto is exact where that fits.",
        "--engine",
        metavar="NAME[:OPTION=VALUE,...]",
    ),
]
EventText = Annotated[str, argument("Whose probability is asked for, such as lung=yes.", metavar="EVENT")]
EffectOption = Annotated[str, option("Which effect: 'treatment => outcome'.", "--effect", metavar="EFFECT")]

# Decisions.
DecisionsMade = Annotated[
    _Texts, option("Decisions that are made: name=action, separated by commas.", "--do", metavar="FINDINGS")
]
WithRecall = Annotated[
    bool, option("Let every decision see what earlier ones saw and chose, as other programs do.", "--recall")
]

# Data and searches.
DataFile = Annotated[Path, argument("A CSV or Parquet file with a row for each case, or - for standard input.")]
MissingMarkers = Annotated[_Texts, option("What means missing, as empty cells do; repeat it: --na NA --na '?'.")]
ContinuousColumns = Annotated[_Texts, option("A column of measurements, not of states; repeat it.")]
StateColumns = Annotated[_Texts, option("A column whose numbers are states; repeat it.")]
WeightsColumn = Annotated[str | None, option("The column that says how often each row counts.")]
Cluster = Annotated[
    str | None,
    option(
        "The scheduler of a Dask cluster, such as tcp://127.0.0.1:8786, whose workers read DATA ('rows/*.parquet' will "
        "do) and keep the rows.",
        metavar="ADDRESS",
    ),
]
MissingRows = Annotated[
    str | None, option("Empty cells: complete-rows leaves rows out that have one in a column of the graph.")
]
Experiments = Annotated[str | None, option(_SET_OUTSIDE, "--interventions")]
SearchedExperiments = Annotated[str | None, option(f"{_SET_OUTSIDE} For gies and hill-climbing.", "--interventions")]
Seed = Annotated[int, option("A whole number: the same one gives the same answer.", min=0)]

# Rows in time.
SequenceColumn = Annotated[str | None, option("The column that says which sequence a row belongs to.", "--sequence")]
TimeColumn = Annotated[str | None, option("The column that says when a row comes in its sequence.", "--time")]
Gaps = Annotated[
    str, option("Steps that the times lack: refuse, fill (nothing is observed there), or ignore.", "--gaps")
]

# Tables that refer to one another.
SchemaFile = Annotated[
    Path | None,
    option("A TOML file of tables and their keys, for a relational model.", "--schema", metavar="FILE"),
]

# What comes out, and how.
TableFormat = Annotated[str | None, option("csv or parquet, where the ending of the output does not tell.", "--format")]
ShowProgress = Annotated[
    bool | None,
    option("Draw a progress bar on standard error; by default if that is a terminal.", "--progress/--no-progress"),
]
Plot = Annotated[
    Path | None, option("Draw it into this file, too: .svg, .png or .pdf, by matplotlib.", "--plot", metavar="FILE")
]
PlotOutput = Annotated[
    Path | None,
    option(
        "Draw it into this file, too: .svg, .png or .pdf, by matplotlib.", "--plot", "--output", "-o", metavar="FILE"
    ),
]
AsJson = Annotated[bool, option("Print one JSON document instead of text.", "--json")]
