"""FCI at level 0.01 with sets of any size given, beside causal-learn on the same rows, some columns hidden.

Times are of whole calls on data that each library holds in its own form already. Counts are tested by chi-square,
numbers by Fisher's z. causal-learn minds its depth in the first phase only, so that here both have no limit. We leave
out tests of counts with fewer than five rows for each degree of freedom, which causal-learn makes. It tells colliders
by all separating sets of the size that separates first, which is between our `stable`, one set, and `majority`, all.
`right ends` is the share of the ends of edges, found or true, whose mark is that of the true PAG. The last column is
the time of `pag_of` for the same graph.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

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
from plausible.learn.constraint_based.orientation import Variant
from plausible.learn.independence.count_tests import ChiSquareTest
from plausible.learn.independence.gaussian_tests import FisherZ
from plausible.learn.independence.independence_test import IndependenceTest

_NAMES = ("child", "alarm")
_SIZES = (20, 30, 40, 50)
_ALPHA = 0.01
_VARIANTS: tuple[Variant, ...] = ("stable", "majority")
#: A peer has this many seconds.
_PATIENCE = 30.0


def run(num_rows: int = 5_000) -> str:
    """Seconds, edges, and how many marks are right."""
    header = ["graph", "hidden", "rows"]
    for variant in _VARIANTS:
        header += [f"{variant} s", "tests", "edges", "right ends"]
    header += ["causal-learn s", "edges", "right ends", "ratio", "of majority", "pag_of s"]
    rows = [_numbers(size, num_rows) for size in _SIZES]
    rows += [_counts(name, num_rows) for name in _NAMES if (nets_folder() / f"{name}.bif.gz").exists()]
    return table(header, rows)


def _counts(name: str, num_rows: int) -> list[object]:
    net = load_quietly(nets_folder() / f"{name}.bif.gz")
    frame, latent = _hide(net.sample(num_rows, seed=0))
    rows = Table.read(frame)
    codes = frame.apply(lambda column: column.astype("category").cat.codes).to_numpy().astype(int)
    return _row(name, net.graph, latent, lambda: ChiSquareTest(rows), _Peer(codes, "chisq", list(frame.columns)))


def _numbers(size: int, num_rows: int) -> list[object]:
    graph = erdos_renyi_dag(size, 3.0 / (size - 1), seed=1)
    rng = np.random.default_rng(0)
    columns: dict[Any, Any] = {}
    for node in graph.topological_order:
        causes = (rng.choice((-1, 1)) * rng.uniform(0.5, 1.0) * columns[parent] for parent in graph.parents(node))
        columns[node] = sum(causes, rng.normal(size=num_rows))
    frame, latent = _hide(pd.DataFrame({str(node): columns[node] for node in graph.nodes}))
    rows = Table.read(frame)
    peer = _Peer(frame.to_numpy(), "fisherz", list(frame.columns))
    return _row(f"random {size}", graph, latent, lambda: FisherZ(rows), peer)


def _hide(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame without a tenth of its columns, and their names."""
    latent = [str(name) for name in frame.columns[::10]]
    return frame.drop(columns=latent), latent


class _Peer(NamedTuple):
    """What causal-learn is told."""

    data: Any
    test: str
    names: list[str]


def _row(name: str, graph: DAG, latent: list[str], make: Callable[[], IndependenceTest], peer: _Peer) -> list[object]:
    true = pag_of(graph, latent=latent)
    row: list[object] = [f"{name} ({len(true)})", len(latent), len(peer.data)]
    times = []
    for variant in _VARIANTS:
        found: list[PAGResult] = []
        times.append(best_of(2, lambda: found.append(fci(make(), alpha=_ALPHA, variant=variant))))  # noqa: B023
        result = found[0]
        row += [times[-1], sum(result.num_tests), result.graph.num_edges, _right_ends(true, _ends(result.graph))]
    oracle = best_of(1, lambda: pag_of(graph, latent=latent))
    if find_spec("causallearn") is None:
        return [*row, None, None, None, None, None, oracle]
    told = apart(_causal_learn, *peer, seconds=_PATIENCE).reports
    seconds, is_limit = told.get("seconds", _PATIENCE), "seconds" not in told
    right = _right_ends(true, told["ends"]) if "ends" in told else None
    ratios = [at_least(seconds / ours, is_limit) for ours in times]
    return [*row, at_least(seconds, is_limit), told.get("edges"), right, *ratios, oracle]


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
            graph, _ = peer(data, test, _ALPHA, -1, show_progress=False, verbose=False)
    report("seconds", time.perf_counter() - start)
    places = np.argwhere(graph.graph != 0).tolist()
    # The peer's matrix holds at (a, b) the mark at a on the edge between a and b.
    report("ends", {(names[a], names[b]): marks[int(graph.graph[a, b])] for a, b in places})
    report("edges", len(places) // 2)


if __name__ == "__main__":
    print(run())
