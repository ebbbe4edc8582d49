"""PC-stable with the chi-square test at 0.05, beside pyAgrum and causal-learn on the same rows.

Times are of whole calls on data that each library holds in its own form already. We leave out tests with fewer than
five rows for each degree of freedom, which the others make.
"""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from typing import Any

import pandas as pd

from benchmarks.apart import Report, apart
from benchmarks.peers import load_quietly
from benchmarks.reading import nets_folder
from benchmarks.report import at_least, best_of, table
from plausible.data.table import Table
from plausible.graphs import compare_structure, essential_graph
from plausible.learn.constraint_based.pc import ConstraintResult, pc
from plausible.learn.independence.count_tests import ChiSquareTest

_NAMES = ("alarm", "hailfinder", "hepar2", "andes")
#: A peer has this many seconds, or this many times as long as we take where that is more.
_PATIENCE = 30.0
_PATIENCE_RATIO = 2.2


def run(num_rows: tuple[int, ...] = (10_000, 100_000)) -> str:
    """Seconds, and how many edges of the skeleton each finds."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in _NAMES):
        return f"No {', '.join(_NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    header = ["network", "rows", "s", "tests", "edges", "skeleton f1", "pyAgrum", "edges"]
    header += ["causal-learn", "edges", "ratio"]
    rows = [row for name in _NAMES for row in _compare(name, num_rows)]
    return table(header, rows)


def _compare(name: str, num_rows: tuple[int, ...]) -> list[list[object]]:
    """A row for each number of rows."""
    net = load_quietly(nets_folder() / f"{name}.bif.gz")
    peers = {"pyagrum": _pyagrum, "causallearn": _causal_learn}
    rows = []
    for number in num_rows:
        frame = net.sample(number, seed=0)
        found, seconds = _ours(frame)
        agreement = compare_structure(essential_graph(net.graph), found.graph).skeleton
        row: list[object] = [name, number, seconds, sum(found.num_tests), found.graph.num_edges, agreement.f1]
        patience = max(_PATIENCE, _PATIENCE_RATIO * seconds)
        times = []
        for module, peer in peers.items():
            if find_spec(module) is None:
                row += [None, None]
                continue
            told = apart(peer, frame, seconds=patience).reports
            times.append((told.get("seconds", patience), "seconds" not in told))
            row += [at_least(*times[-1]), told.get("edges")]
        fastest, is_limit = min(times, default=(0.0, True))
        rows.append([*row, at_least(fastest / seconds, is_limit) if times else None])
    return rows


def _ours(frame: pd.DataFrame) -> tuple[ConstraintResult, float]:
    data = Table.read(frame)

    def learn() -> ConstraintResult:
        return pc(ChiSquareTest(data, min_rows_per_degree=5.0))

    return learn(), best_of(1, learn)


def _pyagrum(report: Report, frame: pd.DataFrame) -> None:
    import pyagrum as gum

    learner: Any = gum.BNLearner(frame.astype(str))
    learner.usePC()
    learner.setPCAlpha(0.05)
    learner.setPCStable(True)
    start = time.perf_counter()
    graph = learner.learnPDAG()
    report("seconds", time.perf_counter() - start)
    report("edges", graph.sizeArcs() + graph.sizeEdges())


def _causal_learn(report: Report, frame: pd.DataFrame) -> None:
    from causallearn.search.ConstraintBased.PC import pc as peer

    codes = frame.apply(lambda column: column.astype("category").cat.codes).to_numpy().astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        found = peer(codes, 0.05, "chisq", True, show_progress=False)
    report("seconds", time.perf_counter() - start)
    report("edges", int((found.G.graph != 0).sum()) // 2)


if __name__ == "__main__":
    print(run())
