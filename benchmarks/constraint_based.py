"""PC-stable with the chi-square test at 0.05, beside pyAgrum and causal-learn on the same rows; and how PC directs.

Times are of whole calls on data that each library holds in its own form already. We leave out tests with fewer than
five rows for each degree of freedom and more than two given, which the others make.

What tells colliders best: structural Hamming distances to the essential graph of the network that the rows come from,
means over seeds, with the G test at 0.05; on the skeleton that PC finds, and on the true one, where each pair has the
first set of neighbours that separates it by the test, else the one that comes nearest.
"""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pandas as pd

from benchmarks.apart import Report, apart
from benchmarks.peers import load_quietly
from benchmarks.reading import nets_folder
from benchmarks.report import at_least, best_of, table
from plausible.data.table import Table
from plausible.graphs import compare_structure, essential_graph
from plausible.graphs.dag import DAG
from plausible.learn.constraint_based.orientation import Variant, find_colliders, orient, unshielded_triples
from plausible.learn.constraint_based.pc import ConstraintResult, pc
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonSearch, find_skeleton
from plausible.learn.independence.count_tests import ChiSquareTest, GTest
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Knowledge

_ALPHA = 0.05
_DIRECTED = ("survey", "sachs", "child", "insurance", "alarm", "hailfinder")
_VARIANTS = tuple(variant for variant in get_args(Variant) if variant != "original")
#: causal-learn takes minutes for more variables.
_FEW_VARIABLES = 40
_NAMES = ("alarm", "hailfinder", "hepar2", "andes")
#: A peer has this many seconds, or this many times as long as we take where that is more.
_PATIENCE = 30.0
_PATIENCE_RATIO = 2.2


def run(num_rows: tuple[int, ...] = (10_000, 100_000)) -> str:
    """Seconds, and how many edges of the skeleton each finds; distances by what tells colliders."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in _NAMES):
        return f"No {', '.join(_NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    header = ["network", "rows", "s", "tests", "edges", "skeleton f1", "pyAgrum", "edges"]
    header += ["causal-learn", "edges", "ratio"]
    rows = [row for name in _NAMES for row in _compare(name, num_rows)]
    return f"{table(header, rows)}\n\n{directions()}"


def directions(num_rows: tuple[int, ...] = (500, 2_000, 10_000), num_seeds: int = 3) -> str:
    """Mean distances by variant, on PC's skeleton and on the true one, and of causal-learn's PC where it is there."""
    found = [f"{variant}, {skeleton}" for skeleton in ("found", "true") for variant in _VARIANTS]
    rows: list[list[Any]] = []
    for name in _DIRECTED:
        net = load_quietly(nets_folder() / f"{name}.bif.gz")
        for number in num_rows:
            frames = [net.sample(number, seed=seed) for seed in range(num_seeds)]
            distances = np.mean([_distances(net.graph, frame) for frame in frames], axis=0)
            has_peer = find_spec("causallearn") is not None and len(net.variables) < _FEW_VARIABLES
            peer = np.mean([_distance_of_peer(net.graph, frame) for frame in frames]) if has_peer else None
            rows.append([name, number, *distances.round(1).tolist(), None if peer is None else round(float(peer), 1)])
    sums = [round(sum(row[place] for row in rows), 1) for place in range(2, len(found) + 2)]
    told = [row for row in rows if row[-1] is not None]
    ours = f" (majority on the same rows: {sum(row[2 + _VARIANTS.index('majority')] for row in told):.1f})"
    sums.append(f"{sum(row[-1] for row in told):.1f}{ours}" if told else None)
    return table(["network", "rows", *found, "causal-learn"], [*rows, ["all", None, *sums]])


def _distances(graph: DAG, frame: pd.DataFrame) -> list[int]:
    """By skeleton, PC's and the true one, and by variant."""
    test = GTest(frame)
    known = Knowledge().on(sorted(test.names))
    truth, distances = essential_graph(graph), []
    for skeleton in (find_skeleton(test, known, SkeletonSearch(alpha=_ALPHA)), _true_skeleton(test, graph)):
        for variant in _VARIANTS:
            colliders, ambiguous = find_colliders(test, skeleton, _ALPHA, variant)
            found, _ = orient(test.names, skeleton.neighbors, colliders, known, ambiguous)
            distances.append(compare_structure(truth, found).shd)
    return distances


def _true_skeleton(test: IndependenceTest, graph: DAG, largest: int = 3) -> Skeleton:
    """The edges of a graph, with sets of at most so many neighbours that separate ends of unshielded triples."""
    neighbors = {name: tuple(sorted((*graph.parents(name), *graph.children(name)))) for name in sorted(test.names)}
    separating, p_values = {}, {}
    for left, right in {(left, right) for left, _, right in unshielded_triples(neighbors)}:
        best, given = -1.0, ()
        for size in range(largest + 1):
            sides = [[name for name in neighbors[end] if name not in (left, right)] for end in (left, right)]
            subsets = sorted({some for side in sides for some in combinations(side, size)})
            answers = test.ask([Question(left, some, (right,)) for some in subsets])
            for some, p_value in zip(subsets, np.where(answers.are_reliable, answers.p_values, -1.0), strict=True):
                if p_value > best:
                    best, given = float(p_value), some
            if best > _ALPHA:
                break
        separating[frozenset((left, right))], p_values[frozenset((left, right))] = given, best
    return Skeleton(neighbors, separating, p_values, (0,) * (largest + 1))


def _distance_of_peer(graph: DAG, frame: pd.DataFrame) -> int:
    """How many pairs causal-learn's PC joins or directs in another way than the essential graph."""
    from causallearn.search.ConstraintBased.PC import pc as peer

    names = list(frame.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marks = peer(_codes(frame), _ALPHA, "gsq", True, show_progress=False).G.graph
    found = {(names[a], names[b]) for a, b in np.argwhere(marks == -1).tolist()}  # a tail at a: a -> b or a - b
    truth = {
        pair
        for edge in essential_graph(graph).edges
        for pair in [(edge.left, edge.right), (edge.right, edge.left)][: 1 if edge.is_directed else 2]
    }
    return len({frozenset(pair) for pair in found ^ truth})


def _codes(frame: pd.DataFrame) -> Any:
    return frame.apply(lambda column: column.astype("category").cat.codes).to_numpy().astype(int)


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
        return pc(ChiSquareTest(data, min_rows_per_degree=5.0), variant="stable")

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

    codes = _codes(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        found = peer(codes, 0.05, "chisq", True, show_progress=False)
    report("seconds", time.perf_counter() - start)
    report("edges", int((found.G.graph != 0).sum()) // 2)


if __name__ == "__main__":
    print(run())
