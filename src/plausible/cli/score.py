"""`plausible score`: how well a network, or a graph, explains data."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from plausible.cli.commands import command
from plausible.cli.data import read_data, weighted_by
from plausible.cli.options import AsJson, DataFile, GraphSource, MissingMarkers, WeightsColumn, option
from plausible.cli.output import check_one_reader, input_name, print_answer
from plausible.cli.source import read_graph_or_network
from plausible.cli.terminal import facts
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.graphs import DAG
from plausible.learn.estimation.likelihood import log_likelihood
from plausible.learn.evaluation.measures import score_graph
from plausible.learn.learned_structure import usual_score
from plausible.learn.scores.reading import SCORES
from plausible.models import BayesianNetwork


@command(
    examples=(
        "plausible sample asia -n 1000 --seed 1 -o data.csv",
        "plausible score asia data.csv",
        "plausible score 'smoke -> lung; smoke -> bronc' data.csv --score bdeu,aic",
    )
)
def run_score(
    model: GraphSource,
    data: DataFile,
    score: Annotated[str | None, option(f"Scores of the graph, separated by commas: {', '.join(SCORES)}.")] = None,
    weights: WeightsColumn = None,
    na: MissingMarkers = None,
    as_json: AsJson = False,
) -> None:
    """Print how well a network or a graph explains data.

    That is the log-likelihood of data under a network, and scores of its graph; the higher, the better. All logarithms
    are natural. The log-likelihood of cases with empty cells sums them out; scores need complete cases, and take
    nothing from the network but its graph. Usually it is BIC of the kind that fits the data. Columns that the network
    or graph does not have are left out, and named; 'A -> B; C' is a graph that has C.
    """
    check_one_reader({"MODEL": model, "DATA": data})
    found = read_graph_or_network(model)
    network = found if isinstance(found, BayesianNetwork) else None
    graph = network.graph if network else found
    if not isinstance(graph, DAG):
        raise NotSupported("Only directed graphs have scores.")
    known = network.variables.values() if network else ()
    whole = weighted_by(read_data(data, known, missing_values=na), weights)
    used = [name for name in whole.variables if name in graph.nodes]
    if not used:
        raise InvalidArgument(
            f"None of the columns is a variable of {model!r}, which has {', '.join(map(str, graph.nodes))}."
            f"{suggestion(next(iter(whole.variables), ''), map(str, graph.nodes))}"
        )
    table = whole.select(used)
    document: dict[str, Any] = {"rows": table.num_rows}
    if network is not None:
        document["log_likelihood"] = _log_likelihood(network, table)
        document["per_row"] = document["log_likelihood"] / max(table.num_rows, 1)
    is_complete = not table.missing and set(map(str, graph.nodes)) <= set(table.variables)
    if score is not None and not is_complete:
        raise InvalidArgument("Scores need complete data: each variable of the graph in each row.")
    names = [usual_score(table)] if score is None else [name.strip() for name in score.split(",")]
    scores = {name: score_graph(graph, table, name) for name in names} if is_complete else {}
    unused = [name for name in whole.variables if name not in table.variables]
    rows = [(label.replace("_", "-").replace("per-row", "per row"), document[label]) for label in document]
    notes = [("columns not used", ", ".join(unused))] if unused else []
    text = facts(f"{input_name(model)} on {input_name(data)}", [*rows, *scores.items(), *notes])
    print_answer(text, {**document, "scores": scores, "columns_not_used": unused}, as_json=as_json)


def _log_likelihood(network: BayesianNetwork, table: Table) -> float:
    """Row by row where all is known; else what is missing is summed out."""
    if not table.missing and set(network.variables) == set(table.variables):
        return log_likelihood(network, table)
    columns: dict[str, Any] = dict(zip(table.continuous, table.numbers, strict=True))
    for name, codes in zip(table.discrete, table.codes, strict=True):
        columns[name] = np.array([*table.variables[name].states, None], dtype=object)[codes]
    return float(np.sum(network.compile().log_likelihood(columns)))
