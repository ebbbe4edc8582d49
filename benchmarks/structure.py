"""Hill climbing with BIC beside pyAgrum's greedy search, and how it scales in rows and in variables."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apart import Report, apart
from benchmarks.peers import load_quietly
from benchmarks.report import at_least, table
from plausible.data.table import Table
from plausible.graphs.dag import DAG
from plausible.graphs.random import erdos_renyi_dag
from plausible.learn.learned_structure import StructureResult, learn_structure

NETS = Path(__file__).parents[2] / "shared" / "nets"
NETWORKS = ("alarm", "hailfinder", "hepar2", "andes")
ROWS = (10_000, 100_000)
#: A peer has this many seconds.
PATIENCE = 120.0
SCALING_ROWS = (1_000, 10_000, 100_000, 1_000_000)
SCALING_VARIABLES = (30, 100, 300, 1_000)


def run() -> str:
    """Seconds and scores: against pyAgrum, by rows of alarm, by variables of random sparse networks."""
    learn_structure({"a": [0, 1], "b": [0, 1]})  # loads the kernels
    return "\n\n".join([_beside_pyagrum(), _by_rows(), _by_variables()])


def _beside_pyagrum() -> str:
    header = ["network", "rows", "ascent s", "ascent BIC", "default s", "default BIC", "pyAgrum s", "BIC", "ratio"]
    rows = []
    for name in NETWORKS:
        net = load_quietly(NETS / f"{name}.bif.gz")
        for num in ROWS:
            frame = net.sample(num, seed=1)
            bare, full = learn_structure(frame, escapes=0), learn_structure(frame)
            own = [bare.seconds, f"{bare.score:.0f}", full.seconds, f"{full.score:.0f}"]
            rows.append([name, num, *own, *_pyagrum(frame, full)])
    return table(header, rows)


def _pyagrum(frame: Any, ours: StructureResult) -> list[str | None]:
    """Its time, the score of its graph, and how many times faster ours was; nothing where it is not there."""
    if find_spec("pyagrum") is None:
        return [None, None, None]
    found = apart(_climb_pyagrum, frame, seconds=PATIENCE).reports
    seconds, is_limit = found.get("seconds", PATIENCE), "seconds" not in found
    score = None if is_limit else f"{ours.scores.graph(DAG(found['edges'], nodes=list(frame.columns))):.0f}"
    return [at_least(seconds, is_limit), score, at_least(seconds / ours.seconds, is_limit)]


def _climb_pyagrum(report: Report, frame: Any) -> None:
    """Its time, reading included as in ours, and its edges."""
    import pyagrum

    start = time.perf_counter()
    learner = pyagrum.BNLearner(frame)
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    learner.useNoPrior()
    arcs = learner.learnDAG().arcs()
    report("seconds", time.perf_counter() - start)
    names = learner.names()
    report("edges", [(names[parent], names[child]) for parent, child in arcs])


def _by_rows() -> str:
    net = load_quietly(NETS / "alarm.bif.gz")
    whole = Table.read(net.sample(SCALING_ROWS[-1], seed=1))
    rows = []
    for num in SCALING_ROWS:
        found = learn_structure(whole.take(np.arange(num)), escapes=0)
        rows.append([num, found.seconds, found.num_steps, found.graph.num_edges])
    return table(["rows of alarm", "ascent s", "steps", "edges"], rows)


def _by_variables() -> str:
    rows = []
    for num in SCALING_VARIABLES:
        found = learn_structure(_random_data(num, 10_000))
        rows.append([num, found.seconds, found.num_steps, found.graph.num_edges])
    return table(["variables, 10,000 rows", "default s", "steps", "edges"], rows)


def _random_data(num_variables: int, num_rows: int) -> dict[str, Any]:
    """Rows of a random network of three-state variables with 1.3 parents each."""
    rng = np.random.default_rng(0)
    graph = erdos_renyi_dag(num_variables, 2 * 1.3 / (num_variables - 1), seed=0)
    columns: dict[Any, Any] = {}
    for node in graph.topological_order:
        line = np.zeros(num_rows, dtype=np.int64)
        for parent in graph.parents(node):
            line = 3 * line + columns[parent]
        limits = rng.dirichlet([0.5] * 3, size=3 ** len(graph.parents(node))).cumsum(axis=1)
        columns[node] = (rng.random(num_rows)[:, None] > limits[line, :2]).sum(axis=1)
    return columns


if __name__ == "__main__":
    print(run())
