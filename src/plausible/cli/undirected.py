"""`plausible learn --markov`: an undirected network from data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plausible.base.options import read_named_option
from plausible.cli.output import is_standard, output_name, print_json, print_line
from plausible.cli.source import save_model
from plausible.cli.terminal import progress_bar
from plausible.data.statistics import Statistics
from plausible.data.stream_statistics import for_learning
from plausible.data.table import Table
from plausible.errors import InvalidArgument, counted
from plausible.graphs import UndirectedGraph
from plausible.learn.undirected.learning import learn_markov
from plausible.learn.undirected.priors import GaussianPrior, LaplacePrior, WeightPrior
from plausible.learn.undirected_structures.learning import learn_markov_structure

_PRIORS = {"gaussian": GaussianPrior, "laplace": LaplacePrior}


def learn_undirected(
    table: Table | Statistics,
    graph: str | None,
    limits: dict[str, Any],
    prior: str | None,
    time_limit: float | None,
    shown: bool | None,
) -> dict[str, Any]:
    """The network, and what is told of it: the graph is searched for, unless it is given; then its weights."""
    weights = _read_prior(prior)
    with progress_bar("learning an undirected network", shown) as advance:

        def told(_: object) -> None:
            advance(None)

        if graph is None:
            table = for_learning(table)
            found = learn_markov_structure(
                table, **{name: value for name, value in limits.items() if value}, time_limit=time_limit, progress=told
            )
            drawn, how, draw = found.graph, f"method {found.method}", found.plot
            fit = found.fit if weights is None else learn_markov(drawn, table, prior=weights, time_limit=time_limit)
        else:
            drawn, how = UndirectedGraph(graph), "graph given"
            fit = learn_markov(drawn, table, prior=weights, time_limit=time_limit, progress=told)
            draw = fit.plot
    return {"network": fit.network, "graph": drawn, "how": how, "fit": fit, "rows": table.num_rows, "draw": draw}


def _read_prior(text: str | None) -> WeightPrior | None:
    """ "gaussian:1" or "laplace:0.5"; None for none."""
    if text in (None, "none"):
        return None
    name, number = read_named_option(str(text))
    if name not in _PRIORS:
        raise InvalidArgument(
            f"--prior {text!r} is none of weights: gaussian:1 (variance), laplace:0.5 (scale) or none."
        )
    return _PRIORS[name](1.0 if number is None else number)


def tell_undirected(found: dict[str, Any], output: Path, format: str | None, *, as_json: bool) -> None:
    """Write the network, and say what is in it."""
    save_model(found["network"], output, format)
    fit, edges = found["fit"], [list(map(str, edge)) for edge in found["graph"].edges]
    if as_json:
        document = {"output": str(output), "rows": found["rows"], "log_likelihood": fit.log_likelihood}
        print_json({**document, "converged": fit.converged, "edges": edges}, error=is_standard(output))
        return
    variables, rows = counted(len(found["graph"]), "variable"), counted(found["rows"], "row")
    lines = [f"{output_name(output)}: {variables} written, learned from {rows}"]
    ended = f"{fit.stopped_by} after {counted(fit.num_steps, 'step')}"
    lines.append(f"{found['how']}, log-likelihood {fit.log_likelihood:.6g}, {ended}")
    print_line("\n".join([*lines, *(f"  {first} - {second}" for first, second in edges)]), error=is_standard(output))
