"""Pictures of whole networks: seconds of CPU to lay out and to write as SVG, crossings of edges, size of the file."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.peers import load_quietly
from benchmarks.reading import nets_folder
from benchmarks.report import table
from plausible.graphs import DAG
from plausible.plotting.geometry import Size
from plausible.plotting.layers import Link
from plausible.plotting.layout import Layout, lay_out

NAMES = ("asia", "alarm", "insurance", "hailfinder", "hepar2", "andes", "pigs", "link", "munin")


def run() -> str:
    """A row for each network, all of it drawn; the best of three."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in NAMES):
        return f"No {' and '.join(NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    DAG("A -> B").picture()  # loads SciPy
    header = ["network", "nodes", "edges", "layout s", "picture and SVG s", "crossings", "kB"]
    return table(header, [_measured(name) for name in NAMES])


def _measured(name: str) -> list[object]:
    graph = load_quietly(nets_folder() / f"{name}.bif.gz").graph
    layout = _layout(graph)
    alone, whole = _cpu(lambda: _layout(graph)), _cpu(lambda: graph.picture(focus=None).svg)
    size = len(graph.picture(focus=None).svg) // 1000
    return [name, len(graph), graph.num_edges, alone, whole, layout.num_crossings, size]


def _layout(graph: DAG) -> Layout:
    position = {node: place for place, node in enumerate(graph.nodes)}
    return lay_out([Size(80.0, 30.0)] * len(graph), [Link(position[a], position[b], True) for a, b in graph.edges])


def _cpu(call: Callable[[], Any]) -> float:
    """The shortest of three runs, in seconds of CPU."""
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)
