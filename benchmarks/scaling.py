"""Questions to chains, trees and stars, a third of their variables observed: how the time grows with their number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import best_of, table

SIZES = (10_000, 30_000, 100_000)
#: The parent of each variable but the first.
SHAPES: Mapping[str, Callable[[int], int]] = {
    "chain": lambda place: place - 1,
    "tree": lambda place: (place - 1) // 2,
    "star": lambda place: 0,
}
Evidence = dict[str, str]
QUESTIONS: Mapping[str, Callable[[pb.BayesianNetwork, Evidence], Any]] = {
    "log_probability": lambda net, evidence: net.log_probability(evidence),
    "query": lambda net, evidence: net.query("v1", evidence=evidence),
    "marginals": lambda net, evidence: net.marginals(evidence),
    "mpe": lambda net, evidence: net.mpe(evidence),
    "map": lambda net, evidence: net.map(["v1", "v2"], evidence),
    "sample": lambda net, evidence: net.sample(2, seed=0, evidence=evidence),
    "explain": lambda net, evidence: net.explain("v1", evidence=evidence),
    "compile": lambda net, evidence: net.compile(),
    "Markov network: query": lambda net, evidence: net.to_markov_network().query("v1", evidence=evidence),
}


def run() -> str:
    """Seconds for each size, and the power of the number of variables that the time grew by from first to last."""
    rows = []
    for shape, parent_of in SHAPES.items():
        cases = [(network(size, parent_of), {f"v{i}": "a" for i in range(3, size, 3)}) for size in SIZES]
        for name, ask in QUESTIONS.items():
            seconds = [best_of(2, lambda ask=ask, case=case: ask(*case)) for case in cases]
            rows.append([shape, name, *seconds, _power(seconds)])
    return table(["shape", "question", *(f"{size} s" for size in SIZES), "power"], rows)


def network(size: int, parent_of: Callable[[int], int], seed: int = 0) -> pb.BayesianNetwork:
    """A network of two-state variables v0, v1, ... with random tables."""
    rng = np.random.default_rng(seed)
    cpds = [pb.TableCPD("v0", rng.dirichlet([1, 1]), states=["a", "b"])]
    for place in range(1, size):
        rows = rng.dirichlet([1, 1], size=2)
        cpds.append(pb.TableCPD(f"v{place}", rows, parents=[f"v{parent_of(place)}"], states=["a", "b"]))
    return pb.BayesianNetwork(*cpds)


def _power(seconds: Sequence[float]) -> float:
    return math.log(seconds[-1] / seconds[0]) / math.log(SIZES[-1] / SIZES[0])
