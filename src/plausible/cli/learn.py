"""`plausible learn`: a network from a file of data."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.data import DataFile, read_data
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.progress import ShowProgress, progress_bar
from plausible.data.table import Table
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import DAG
from plausible.inference.search.search_state import SearchState
from plausible.io import save
from plausible.learn.confidence.bootstrap import bootstrap as bootstrap_graphs
from plausible.learn.confidence.edge_strengths import EdgeStrengths
from plausible.learn.estimation.fit import learn_parameters
from plausible.learn.estimation.priors import K2, BDeu, Dirichlet, Prior
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.structure import learn_structure

__all__ = ["EXAMPLES", "NAME", "run"]

NAME = "learn"
EXAMPLES = (
    "plausible sample asia -n 1000 --seed 1 -o data.csv",
    "plausible learn data.csv -o net.json",
    "plausible learn data.csv -o net.bif --method tabu --score bdeu --prior bdeu:10 --required 'smoke -> lung'",
    "plausible learn data.csv -o net.json --method mmhc --tiers 'asia smoke | tub lung bronc'",
    "plausible learn data.csv -o net.json --bootstrap 10",
    "plausible learn data.csv -o net.json --graph 'smoke -> lung -> xray' --prior k2",
)

_PRIORS: dict[str, Callable[[float], Prior]] = {"bdeu": BDeu, "dirichlet": Dirichlet, "k2": lambda _: K2()}


def run(
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The network to write; its ending is the format.")],
    method: Annotated[str, typer.Option(help="How the graph is searched, such as tabu or chow-liu.")] = "hill-climbing",
    score: Annotated[
        str | None, typer.Option(help="By which graphs are judged: bic, bdeu, aic, k2 ...", show_default="bic")
    ] = None,
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
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Learn again from so many samples of the rows: how sure is each edge?")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="A whole number: the same one gives the same answer.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which a search stops.", show_default=False)
    ] = None,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Learn a network: its graph by a search, unless it is given, and its tables and densities.

    Columns of fractional numbers are continuous; all others have the states that occur. --bootstrap tells in what share
    of the samples each edge was found, in either direction and in the one it has.
    """
    table, read_prior = read_data(data), _prior(prior)
    if graph is None:
        knowledge = Knowledge(required, forbidden, _tiers(tiers), max_parents)
        learn = partial(
            learn_structure, method=method, score=score, knowledge=knowledge, seed=seed, time_limit=time_limit
        )
        with progress_bar(f"learning from {Path(data).name}", progress) as advance:
            result = learn(table, progress=_reporter(advance, time_limit, 1 + bootstrap))
            strengths = _strengths(table, learn, bootstrap, seed, advance)
        found, value, text = result.graph, result.score, str(result)
    elif bootstrap or required or forbidden or tiers or max_parents is not None:
        raise InvalidArgument("--graph gives the graph, so that --bootstrap and limits of a search have no effect.")
    else:
        found, value, text, strengths = DAG(graph), None, "graph given", None
    save(learn_parameters(found, table, read_prior, unseen="uniform"), output)
    _tell({"output": str(output), "rows": table.num_rows, "score": value}, text, found, strengths, as_json=as_json)


def _prior(text: str) -> Prior | None:
    name, _, number = text.lower().partition(":")
    if name == "none":
        return None
    if name not in _PRIORS:
        raise InvalidArgument(f"--prior is bdeu:10, dirichlet:1, k2 or none, not {text!r}.{suggestion(name, _PRIORS)}")
    try:
        return _PRIORS[name](float(number or 1))
    except ValueError:
        raise InvalidArgument(f"--prior {text!r}: a number of cases above zero stands after the colon.") from None


def _tiers(text: str) -> list[list[str]]:
    """Groups of names between bars, names between spaces or commas."""
    return [tier.replace(",", " ").split() for tier in text.split("|")] if text.strip() else []


def _reporter(
    advance: Callable[..., None], time_limit: float | None, num_searches: int
) -> Callable[[SearchState[Any]], None]:
    """Tells of the steps and the best score; of the time that is left where there is a limit."""
    began = time.monotonic()

    def report(state: SearchState[Any]) -> None:
        fraction = None if time_limit is None else min(1.0, (time.monotonic() - began) / time_limit) / num_searches
        advance(fraction, f": step {state.steps}, best score {state.best_score:.6g}")

    return report


def _strengths(
    table: Table, learn: Callable[[Table], Any], num_samples: int, seed: int, advance: Callable[[float], None]
) -> EdgeStrengths | None:
    """How often each edge is found in samples of the rows; `None` where none are asked for."""
    if not num_samples:
        return None
    found = bootstrap_graphs(
        table, learn, num_samples, seed=seed, progress=lambda done, of: advance((1 + done) / (1 + of))
    )
    return found.strengths()


def _tell(facts: dict[str, Any], text: str, graph: DAG, strengths: EdgeStrengths | None, *, as_json: bool) -> None:
    edges: list[dict[str, Any]] = []
    for parent, child in ((str(parent), str(child)) for parent, child in graph.edges):
        edge: dict[str, Any] = {"parent": parent, "child": child}
        if strengths is not None:
            edge |= {"strength": strengths.strength(parent, child), "as_directed": strengths.edge(parent, child)}
        edges.append(edge)
    if as_json:
        print_json({**facts, "variables": len(graph), "edges": edges})
        return
    print_line(f"{facts['output']}: {len(graph)} variables written, learned from {facts['rows']} rows")
    print_line(text)
    for edge in edges:
        note = f"  {edge['strength']:.0%}, as directed {edge['as_directed']:.0%}" if strengths else ""
        print_line(f"  {edge['parent']} -> {edge['child']}{note}")
