"""Complete identification of effects on growing random graphs, beside y0 (ID) and DoWhy (ID).

Graphs have three edges a node; the effect is that of an early node on a late one. With hidden confounders there is also
a two-headed edge for every fourth node; DoWhy's ID takes graphs without them only. Times are of whole calls on graphs
that each library holds in its own form already; ours include making the estimand and its derivation.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.apart import Report, apart
from benchmarks.report import at_least, best_of, table
from plausible.causal import identify
from plausible.errors import NotIdentifiable
from plausible.graphs import CausalGraph

_SIZES = (10, 20, 40, 80, 160, 320, 500)
#: A peer has this many seconds.
_PATIENCE = 20.0
#: A peer that once was not done is not asked about larger graphs of the same kind.
_GAVE_UP = "-"

Edges = list[tuple[str, str]]


def run(sizes: tuple[int, ...] = _SIZES) -> str:
    """Seconds of each, and whether both say the same."""
    header = ["graph", "nodes", "s", "identified", "y0 s", "same", "DoWhy s", "ratio"]
    rows = [row for hidden in (False, True) for row in _family(hidden, sizes)]
    return table(header, rows)


def _family(hidden: bool, sizes: tuple[int, ...]) -> list[list[object]]:
    """A row for each size."""
    peers = {"y0": _y0} if hidden else {"y0": _y0, "dowhy": _dowhy}
    waiting = {name for name in peers if find_spec(name) is not None}
    rows = []
    for size in sizes:
        directed, confounded = _edges(size, hidden)
        treatment, outcome = f"X{size // 10}", f"X{size - 1}"
        graph = CausalGraph([*directed, *((a, "<->", b) for a, b in confounded)], nodes=_names(size))
        identified, seconds = _ours(graph, treatment, outcome)
        cells: dict[str, object] = {}
        times = []
        for name in sorted(waiting):
            answer = apart(peers[name], directed, confounded, treatment, outcome, seconds=_PATIENCE)
            told = answer.reports
            if "seconds" not in told:
                waiting.discard(name)
                if "not enough" not in answer.failure:
                    cells[name] = answer.failure
                    continue
            times.append((told.get("seconds", _PATIENCE), "seconds" not in told))
            cells[name] = at_least(*times[-1])
            if "identified" in told:
                cells["same"] = told["identified"] == identified
        fastest, is_limit = min(times, default=(0.0, True))
        ratio = at_least(fastest / seconds, is_limit) if times else _GAVE_UP
        kind = "confounded" if hidden else "DAG"
        found = [cells.get(name, _GAVE_UP) for name in ("y0", "same", "dowhy")]
        rows.append([kind, size, seconds, identified, *found, ratio])
    return rows


def _names(size: int) -> list[str]:
    return [f"X{node}" for node in range(size)]


def _edges(size: int, hidden: bool) -> tuple[Edges, Edges]:
    """A chain through all nodes and two more parents of each, and the pairs with a hidden common cause."""
    rng = np.random.default_rng(size)
    directed = [(f"X{node - 1}", f"X{node}") for node in range(1, size)]
    for node in range(2, size):
        nearby = np.arange(max(0, node - 10), node - 1)
        directed += [(f"X{parent}", f"X{node}") for parent in rng.choice(nearby, min(2, len(nearby)), replace=False)]
    pairs = {tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(size // 4)}
    confounded = [(f"X{a}", f"X{b}") for a, b in sorted(pairs) if b - a > 1]
    return directed, confounded if hidden else []


def _ours(graph: CausalGraph, treatment: str, outcome: str) -> tuple[bool, float]:
    def ask() -> bool:
        try:
            identify(graph, outcome, treatment)
        except NotIdentifiable:
            return False
        return True

    return ask(), best_of(3, ask)


def _y0(report: Report, directed: Edges, confounded: Edges, treatment: str, outcome: str) -> None:
    from y0.algorithm.identify import identify_outcomes
    from y0.dsl import Variable
    from y0.graph import NxMixedGraph

    graph = NxMixedGraph.from_edges(directed=_pairs(directed, Variable), undirected=_pairs(confounded, Variable))
    start = time.perf_counter()
    found = identify_outcomes(graph, Variable(treatment), Variable(outcome))
    report("seconds", time.perf_counter() - start)
    report("identified", found is not None)


def _pairs(edges: Edges, kind: Any) -> list[tuple[Any, Any]]:
    return [(kind(source), kind(target)) for source, target in edges]


def _dowhy(report: Report, directed: Edges, confounded: Edges, treatment: str, outcome: str) -> None:
    import networkx as nx
    from dowhy.causal_identifier.id_identifier import identify_effect_id

    graph = nx.DiGraph(directed)
    start = time.perf_counter()
    identify_effect_id(graph, treatment, outcome)
    report("seconds", time.perf_counter() - start)


if __name__ == "__main__":
    print(run())
