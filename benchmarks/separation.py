"""Building random DAGs and asking them for d-separation: how both scale, and beside networkx and pyAgrum."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.report import best_of, table
from plausible.graphs.dag import DAG
from plausible.graphs.random import erdos_renyi_dag

SIZES = (1_000, 10_000, 100_000)
PARENTS_PER_NODE = 3
NUM_QUERIES = 20
#: Peers slower than this per query are not asked on the next size up.
PATIENCE = 1.0

Query = tuple[str, str, list[str]]
Ask = Callable[[str, str, list[str]], bool]


def run() -> str:
    """Seconds to build a graph of n nodes and 3 n edges, and milliseconds per query, for each library."""
    header = ["nodes", "edges", "build s", "query ms", "connected ms"]
    header += [f"{name} {what}" for name in _PEERS for what in ("build s", "query ms", "ratio")]
    rows = []
    active = [name for name, module in _PEERS.items() if find_spec(module) is not None]
    for size in SIZES:
        graph = erdos_renyi_dag(size, 2 * PARENTS_PER_NODE / (size - 1), seed=0)
        queries = _queries(graph, np.random.default_rng(1))
        row, own = _measure_own(graph, queries)
        for name in _PEERS:
            figures = _measure_peer(name, graph, queries, own) if name in active else [None, None, None]
            if figures[1] is not None and figures[1] > 1e3 * PATIENCE:
                active.remove(name)
            row += figures
        rows.append(row)
    return table(header, rows)


def _queries(graph: DAG, rng: np.random.Generator) -> list[Query]:
    """Two nodes, and by turns a twentieth and a half of the others observed, so that both answers occur."""
    size = len(graph)
    drawn = (rng.permutation(size)[: size // (20, 2)[turn % 2]].tolist() for turn in range(NUM_QUERIES))
    return [(f"X{a}", f"X{b}", [f"X{node}" for node in rest]) for a, b, *rest in drawn]


def _measure_own(graph: DAG, queries: list[Query]) -> tuple[list[Any], list[bool]]:
    edges, nodes = graph.edges, graph.nodes
    build = best_of(3, lambda: DAG(edges, nodes=nodes))
    answers = [graph.d_separated(*query) for query in queries]  # loads the kernel and lays out the arrays
    query = best_of(3, lambda: [graph.d_separated(*query) for query in queries]) / len(queries)
    connected = best_of(3, lambda: [graph.d_connected(x, given=given) for x, _, given in queries]) / len(queries)
    return [len(graph), graph.num_edges, build, 1e3 * query, 1e3 * connected], answers


def _measure_peer(name: str, graph: DAG, queries: list[Query], own: list[bool]) -> list[float | None]:
    """Seconds to build, milliseconds per query, and how many times our query that is; the answers must agree."""
    built: list[Ask] = []
    build = best_of(1, lambda: built.append(_BUILDERS[name](graph)))
    answers: list[bool] = []
    total = best_of(1, lambda: answers.extend(built[0](*query) for query in queries))
    if answers != own:
        raise AssertionError(f"{name} disagrees on {sum(a != b for a, b in zip(answers, own, strict=True))} queries.")
    ours = best_of(3, lambda: [graph.d_separated(*query) for query in queries])
    return [build, 1e3 * total / len(queries), total / ours]


def _build_networkx(graph: DAG) -> Ask:
    import networkx as nx

    other = nx.DiGraph(list(graph.edges))
    other.add_nodes_from(graph.nodes)
    return lambda x, y, given: nx.is_d_separator(other, x, y, set(given))


def _build_pyagrum(graph: DAG) -> Ask:
    """Its bare DAG, which knows d-separation but not names; a network would have to allot the tables too."""
    import pyagrum

    other = pyagrum.DAG()
    number = {node: other.addNode() for node in graph.nodes}
    for a, b in graph.edges:
        other.addArc(number[a], number[b])
    return lambda x, y, given: other.dSeparation(number[x], number[y], {number[node] for node in given})


_PEERS = {"networkx": "networkx", "pyAgrum": "pyagrum"}
_BUILDERS: dict[str, Callable[[DAG], Ask]] = {"networkx": _build_networkx, "pyAgrum": _build_pyagrum}

if __name__ == "__main__":
    print(run())
