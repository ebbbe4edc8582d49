"""`plausible learn`: a network from a file of data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.data import DataFile, read_data
from plausible.cli.graph_learning import Deadline, LearnedGraph, Search
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.progress import ShowProgress, progress_bar
from plausible.cli.separators import refuse_other_separators
from plausible.cli.weights import WeightsColumn, weighted_by
from plausible.data.table import Table
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import DAG
from plausible.io import save
from plausible.learn.estimation.fit import learn_parameters
from plausible.learn.estimation.priors import read_prior
from plausible.learn.incomplete_structures.available import complete_rows
from plausible.learn.scores.reading import SCORES
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.structure import METHODS

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "learn"
EXAMPLES = (
    "plausible sample asia -n 1000 --seed 1 -o data.csv",
    "plausible learn data.csv -o net.json",
    "plausible learn data.csv -o net.bif --method tabu --score bdeu --prior bdeu:10 --required 'smoke -> lung'",
    "plausible learn data.csv -o net.json --method mmhc --tiers 'asia smoke | tub lung bronc'",
    "plausible learn data.csv -o net.json --method tan --class lung",
    "plausible learn data.csv -o net.json --method pc",
    "plausible learn data.csv -o net.json --missing available",
    "plausible learn data.csv -o net.json --bootstrap 10 --time-limit 60",
    "plausible learn data.csv -o net.json --graph 'smoke -> lung -> xray' --prior k2",
)


Method = Annotated[
    str | None,
    typer.Option(
        help=f"How the graph is found: {', '.join(METHODS)}, or by tests of independence: pc.",
        show_default="hill-climbing",
    ),
]
ScoreName = Annotated[
    str | None,
    typer.Option(help=f"By which graphs are judged: {', '.join(SCORES)}.", show_default="bic, for the kind of data"),
]

#: What each treatment of empty cells does, and what it takes for granted.
_ASSUMED = {
    "sem": "completed by structural EM, taken to be missing at random",
    "available": "each family counted where it is complete, taken to be missing completely at random",
    "pairwise": "each pair counted where it is complete, taken to be missing completely at random",
    "complete-rows": "rows with them left out, taken to be missing completely at random",
}


def run(
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The network to write; its ending is the format.")],
    method: Method = None,
    score: ScoreName = None,
    prior: Annotated[str, typer.Option(help="Of the tables: bdeu:10, dirichlet:1, k2, or none.")] = "bdeu:1",
    graph: Annotated[
        str | None, typer.Option(help="The graph, such as 'A -> B <- C', where only its numbers are to be learned.")
    ] = None,
    required: Annotated[str, typer.Option(help="Edges that the graph must have: 'A -> B; A -> C'.")] = "",
    forbidden: Annotated[str, typer.Option(help="Edges that it must not have.")] = "",
    tiers: Annotated[
        str, typer.Option(help="Causes before effects: 'A B | C D' has no edge from C or D to A or B.")
    ] = "",
    max_parents: Annotated[int | None, typer.Option(min=0, help="No variable has more.", show_default=False)] = None,
    class_variable: Annotated[
        str | None, typer.Option("--class", help="What is to be predicted, for --method tan.", show_default=False)
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help="All variables, causes before effects, for --method k2: 'A B C'.", show_default=False),
    ] = None,
    weights: WeightsColumn = None,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Learn again from so many samples of the rows: how sure is each edge?")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="A whole number: the same one gives the same answer.")] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds after which searches stop, those of --bootstrap too.", show_default=False),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="Empty cells: sem (completed by a model), available, pairwise or complete-rows.")
    ] = "sem",
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Learn a network: its graph by a search, unless it is given, and its tables and densities.

    Columns of fractional numbers are continuous; all others have the states that occur. --bootstrap tells in what share
    of the samples each edge was found, in either direction and in the one it has. Empty cells are missing: --missing
    says how a search counts them; tables are then learned by EM, unless rows with empty cells are dropped.
    """
    deadline, believed = Deadline.after(time_limit), None if prior == "none" else read_prior(prior)
    refuse_other_separators(data)
    table = weighted_by(read_data(data), weights)
    assumed = _assumption(table, missing)
    if table.missing and missing == "complete-rows":
        table = complete_rows(table)
    if graph is None:
        knowledge = Knowledge(required, forbidden, _tiers(tiers), max_parents)
        search = Search(method or "hill-climbing", score, knowledge, class_variable, _names(order), seed, missing)
        with progress_bar(f"learning from {Path(data).name}", progress) as advance:
            found = search.learn(table, bootstrap, deadline, advance)
    else:
        limits = (method, score, required, forbidden, tiers, class_variable, order, bootstrap)
        if any(limits) or max_parents is not None:
            raise InvalidArgument(
                "--graph gives the graph, so that --method, --score, --bootstrap and limits of a search have no effect."
            )
        found = LearnedGraph(DAG(graph), "graph given")
    save(learn_parameters(found.graph, table, believed, unseen="uniform"), output)
    facts = {"output": str(output), "rows": table.num_rows, "score": found.score, "missing": assumed}
    _tell(facts, found, bootstrap, as_json=as_json)


def _assumption(table: Table, missing: str) -> str | None:
    """What is assumed of missing cells, in words; `None` where there are none."""
    if missing not in _ASSUMED:
        raise InvalidArgument(
            f"--missing is one of {', '.join(_ASSUMED)}, not {missing!r}.{suggestion(missing, _ASSUMED)}"
        )
    return f"{sum(table.missing.values())} cells are missing: {_ASSUMED[missing]}" if table.missing else None


def _tiers(text: str) -> list[list[str]]:
    """Groups of names between bars."""
    return [_names(tier) or [] for tier in text.split("|")] if text.strip() else []


def _names(text: str | None) -> list[str] | None:
    """Names between spaces or commas."""
    return None if text is None else text.replace(",", " ").split()


def _tell(facts: dict[str, Any], found: LearnedGraph, num_asked: int, *, as_json: bool) -> None:
    edges = found.described_edges()
    if as_json:
        samples = {"bootstrap_samples": found.num_samples} if num_asked else {}
        print_json({**facts, **samples, "variables": len(found.graph), "edges": edges})
        return
    print_line(f"{facts['output']}: {len(found.graph)} variables written, learned from {facts['rows']} rows")
    print_line(found.text)
    if facts["missing"]:
        print_line(facts["missing"])
    if num_asked:
        short = "" if found.num_samples == num_asked else f" of {num_asked}; the time was up"
        print_line(f"bootstrap: {found.num_samples} samples{short}")
    for edge in edges:
        note = f"  {edge['strength']:.0%}, as directed {edge['as_directed']:.0%}" if "strength" in edge else ""
        either = "" if edge["directed"] else "  (the data fit either direction)"
        print_line(f"  {edge['parent']} -> {edge['child']}{note}{either}")
