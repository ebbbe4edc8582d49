"""Structures from rows with missing cells: how far they are from the one that complete rows give."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.peers import load_quietly
from benchmarks.report import table
from plausible.data.table import Table
from plausible.graphs import compare_structure, essential_graph
from plausible.learn.incomplete_structures.missing import Missing
from plausible.learn.learned_structure import learn_structure

NETS = Path(__file__).parents[2] / "shared" / "nets"
MISSING = 0.2
NUM_ROWS = 2_000
TREATMENTS: tuple[Missing, ...] = ("sem", "available", "pairwise", "complete-rows")


def run() -> str:
    """Seconds, and the structural Hamming distance of equivalence classes."""
    header = ["rows of", "missing cells", "s", "edges", "distance to complete data's", "distance to the truth"]
    rows = []
    for name in ("asia", "child", "alarm"):
        net = load_quietly(NETS / f"{name}.bif.gz")
        frame = net.sample(NUM_ROWS, seed=1).astype(object)
        holes = frame.mask(np.random.default_rng(0).random(frame.shape) < MISSING)
        truth, encoded = essential_graph(net.graph), Table.read(holes, net.variables)
        whole = learn_structure(Table.read(frame, net.variables)).equivalence_class
        rows.append([name, "none", None, whole.num_edges, 0, compare_structure(truth, whole).shd])
        for treatment in TREATMENTS:
            start = time.perf_counter()
            found = learn_structure(encoded, missing=treatment).equivalence_class
            seconds = time.perf_counter() - start
            distances = [compare_structure(other, found).shd for other in (whole, truth)]
            rows.append([name, treatment, seconds, found.num_edges, *distances])
    return table(header, rows)


if __name__ == "__main__":
    print(run())
