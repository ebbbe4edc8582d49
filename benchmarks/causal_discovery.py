"""FCI at level 0.01 with at most two variables given, beside causal-learn on the same rows, some columns hidden.

Times are of whole calls on data that each library holds in its own form already. Counts are tested by chi-square,
numbers by Fisher's z. We leave out tests of counts with fewer than five rows for each degree of freedom, which
causal-learn makes; `all tests` is our time with these made as well. `right ends` is the share of the ends of edges,
found or true, whose mark is that of the true PAG. The last column is the time of `pag_of` for the same graph.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.apart import Report, apart
from benchmarks.peers import load_quietly
from benchmarks.reading import nets_folder
from benchmarks.report import at_least, best_of, table
from plausible.causal.discovery.fci import PAGResult, fci
from plausible.data.table import Table
from plausible.graphs import DAG, PAG, erdos_renyi_dag
from plausible.graphs.ancestral_class import pag_of
from plausible.learn.independence.count_tests import ChiSquareTest
from plausible.learn.independence.fisher_z import FisherZ
from plausible.learn.independence.independence_test import IndependenceTest

_NAMES = ("child", "alarm")
_SIZES = (20, 40)
_ALPHA = 0.01
_MAX_GIVEN = 2
#: A peer has this many seconds.
_PATIENCE = 30.0


def run(num_rows: int = 5_000) -> str:
    """Seconds, edges, and how many marks are right."""
    header = ["graph", "hidden", "rows", "s", "tests", "edges", "right ends", "all tests", "causal-learn", "edges"]
    header += ["right ends", "ratio", "pag_of s"]
    rows = [_numbers(size, num_rows) for size in _SIZES]
    rows += [_counts(name, num_rows) for name in _NAMES if (nets_folder() / f"{name}.bif.gz").exists()]
    return table(header, rows)


def _counts(name: str, num_rows: int) -> list[object]:
    net = load_quietly(nets_folder() / f"{name}.bif.gz")
    frame, latent = _hide(net.sample(num_rows, seed=0))
    rows = Table.read(frame)
    codes = frame.apply(lambda column: column.astype("category").cat.codes).to_numpy().astype(int)
    row, true = _ours(name, net.graph, latent, lambda: ChiSquareTest(rows))
    every = best_of(1, lambda: fci(ChiSquareTest(rows, min_rows_per_degree=0.0), alpha=_ALPHA, max_given=_MAX_GIVEN))
    return _beside(row, every, true, frame, codes, "chisq")


def _numbers(size: int, num_rows: int) -> list[object]:
    graph = erdos_renyi_dag(size, 3.0 / (size - 1), seed=1)
    rng = np.random.default_rng(0)
    columns: dict[Any, Any] = {}
    for node in graph.topological_order:
        causes = (rng.choice((-1, 1)) * rng.uniform(0.5, 1.0) * columns[parent] for parent in graph.parents(node))
        columns[node] = sum(causes, rng.normal(size=num_rows))
    frame, latent = _hide(pd.DataFrame({str(node): columns[node] for node in graph.nodes}))
    rows = Table.read(frame)
    row, true = _ours(f"random {size}", graph, latent, lambda: FisherZ(rows))
    return _beside(row, None, true, frame, frame.to_numpy(), "fisherz")


def _hide(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame without a tenth of its columns, and their names."""
    latent = [str(name) for name in frame.columns[::10]]
    return frame.drop(columns=latent), latent


def _ours(name: str, graph: DAG, latent: list[str], make: Callable[[], IndependenceTest]) -> tuple[list[object], PAG]:
    found: list[PAGResult] = []
    seconds = best_of(2, lambda: found.append(fci(make(), alpha=_ALPHA, max_given=_MAX_GIVEN)))
    true, result = pag_of(graph, latent), found[0]
    size = len(result.graph)
    right = _right_ends(true, _ends(result.graph))
    row: list[object] = [f"{name} ({size})", len(latent), 0, seconds, sum(result.num_tests)]
    row += [result.graph.num_edges, right]
    return [*row, best_of(1, lambda: pag_of(graph, latent))], true


def _beside(
    row: list[object], every: float | None, true: PAG, frame: pd.DataFrame, data: Any, test: str
) -> list[object]:
    *ours, oracle = row
    ours[2] = len(frame)
    if find_spec("causallearn") is None:
        return [*ours, every, None, None, None, None, oracle]
    told = apart(_causal_learn, data, test, list(frame.columns), seconds=_PATIENCE).reports
    seconds, is_limit = told.get("seconds", _PATIENCE), "seconds" not in told
    right = _right_ends(true, told["ends"]) if "ends" in told else None
    fastest = float(str(ours[3]))
    ratio = at_least(seconds / fastest, is_limit)
    return [*ours, every, at_least(seconds, is_limit), told.get("edges"), right, ratio, oracle]


def _right_ends(true: PAG, found: dict[tuple[str, str], str]) -> float:
    wanted = _ends(true)
    ends = {*wanted, *found}
    return sum(wanted.get(end) == found.get(end) for end in ends) / max(len(ends), 1)


def _ends(pag: PAG) -> dict[tuple[str, str], str]:
    """Mark by node and the other end of its edge."""
    return {(str(end), str(edge.other(end))): edge.mark_at(end).value for edge in pag.edges for end in edge.ends}


def _causal_learn(report: Report, data: Any, test: str, names: list[str]) -> None:
    from causallearn.search.ConstraintBased.FCI import fci as peer

    marks = {1: ">", 2: "o", -1: "-"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            graph, _ = peer(data, test, _ALPHA, _MAX_GIVEN, show_progress=False, verbose=False)
    report("seconds", time.perf_counter() - start)
    places = np.argwhere(graph.graph != 0).tolist()
    # The peer's matrix holds at (a, b) the mark at a on the edge between a and b.
    report("ends", {(names[a], names[b]): marks[int(graph.graph[a, b])] for a, b in places})
    report("edges", len(places) // 2)


if __name__ == "__main__":
    print(run())
