"""All posteriors given evidence on five leaves: ours against pyAgrum's lazy propagation, same tables, same evidence.

Cold: from a loaded model to all posteriors. Warm: the tree is there, the evidence is new. On link and munin1
pyAgrum runs only if PLAUSIBLE_BENCH_SLOW is set: a run with it there did not fit into 24 GiB.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.reading import nets_folder
from benchmarks.report import table
from plausible.engine.compilation import compile_program

_SLOW = {"link", "munin1"}


def run() -> str:
    """Seconds, ratios and the largest disagreement for every network that is there."""
    files = sorted(nets_folder().glob("*.bif.gz"), key=lambda path: path.stat().st_size)
    if not files:
        return f"No networks at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    pb.examples.load("asia").marginals()  # compile the kernels, or load them from disk
    rows, ratios = [], {"cold": [], "warm": []}
    for file in files:
        name = file.name.removesuffix(".bif.gz")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = pb.load(file)
        first, second = _evidence(net, seed=0), _evidence(net, seed=1)
        ours = _ours(net, first, second)
        leave_out = name in _SLOW and "PLAUSIBLE_BENCH_SLOW" not in os.environ
        peer = None if leave_out else _pyagrum(net, first, second)
        rows.append(_row(name, net, ours, peer))
        if peer is not None:
            ratios["cold"].append(peer["cold"] / ours["cold"])
            ratios["warm"].append(peer["warm"] / ours["warm"])
    means = [
        f"geometric mean of {kind} ratios: {math.exp(np.mean(np.log(values))):.1f}, lowest {min(values):.1f}"
        for kind, values in ratios.items()
        if values
    ]
    header = [
        "network",
        "entries",
        "cold s",
        "warm s",
        "pyAgrum cold s",
        "warm s",
        "cold ratio",
        "warm ratio",
        "difference",
    ]
    return "\n".join([table(header, rows), *means])


def _row(name: str, net: Any, ours: dict[str, Any], peer: dict[str, Any] | None) -> list[object]:
    if peer is None:
        return [name, ours["entries"], ours["cold"], ours["warm"], None, None, None, None, None]
    difference = max(float(np.abs(ours["answers"][n] - peer["answers"][n]).max()) for n in net.variables)
    ratios = [peer[kind] / ours[kind] for kind in ("cold", "warm")]
    return [name, ours["entries"], ours["cold"], ours["warm"], peer["cold"], peer["warm"], *ratios, difference]


def _evidence(net: Any, seed: int) -> dict[str, Any]:
    """States of five leaves from one forward sample, so that they can happen together."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for name in net.graph.topological_order:
        probabilities = np.atleast_2d(net.cpd(name).distribution(columns))[0]
        columns[name] = np.array([rng.choice(len(probabilities), p=probabilities / probabilities.sum())])
    leaves = np.random.default_rng(99).permutation(list(net.graph.leaves))[:5]
    return {str(name): net.variables[name].states[int(columns[name][0])] for name in leaves}


def _ours(net: Any, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    cold = math.inf
    for _ in range(3):
        compile_program.cache_clear()
        start = time.perf_counter()
        engine = net.compile()
        engine.marginals(first)
        cold = min(cold, time.perf_counter() - start)
    warm = math.inf
    for _ in range(5):
        engine.marginals(first)  # the evidence must be new each time: messages that it leaves as they are, are kept
        start = time.perf_counter()
        answers = engine.marginals(second)
        warm = min(warm, time.perf_counter() - start)
    numbers = {name: factor.values for name, factor in answers.items()}
    return {"cold": cold, "warm": warm, "answers": numbers, "entries": engine.explain().entries}


def _pyagrum(net: Any, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any] | None:
    if find_spec("pyagrum") is None:
        return None
    import pyagrum as gum

    with tempfile.TemporaryDirectory() as folder:
        pb.save(net, Path(folder) / "net.bif")
        peer = gum.loadBN(str(Path(folder) / "net.bif"))
    for name, cpd in net.cpds.items():  # pyAgrum rounds what it reads: give it the very numbers
        peer.cpt(name)[:] = cpd.to_factor().reorder(list(reversed(peer.cpt(name).names))).values

    def posteriors(engine: Any, evidence: dict[str, Any]) -> dict[str, Any]:
        engine.setEvidence({name: net.variables[name].index(state) for name, state in evidence.items()})
        engine.makeInference()
        return {name: engine.posterior(name).toarray() for name in net.variables}

    start = time.perf_counter()
    engine = gum.LazyPropagation(peer)
    posteriors(engine, first)
    cold = time.perf_counter() - start
    start = time.perf_counter()
    answers = posteriors(engine, second)
    warm = time.perf_counter() - start
    for _ in range(4 if warm < 1 else 0):
        posteriors(engine, first)
        start = time.perf_counter()
        answers = posteriors(engine, second)
        warm = min(warm, time.perf_counter() - start)
    return {"cold": cold, "warm": warm, "answers": answers}


if __name__ == "__main__":
    print(run())
