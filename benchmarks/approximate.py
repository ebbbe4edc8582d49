"""Samples and sweeps a second: our approximate engines beside pyAgrum's, on networks and on a 50 x 50 Ising grid."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import plausible as pb
from benchmarks.inference import five_leaves
from benchmarks.peers import load_quietly, pyagrum_network
from benchmarks.reading import nets_folder
from benchmarks.report import best_of, table

_NAMES = ("alarm", "hailfinder", "andes")
_SAMPLES, _PEER_SAMPLES = 1_000_000, 20_000
#: pyAgrum counts the drawn samples; its loops are stopped after this many seconds.
_PEER_SECONDS = 20.0


def run() -> str:
    """Rates of both, and what the grid takes."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in _NAMES):
        return f"No {', '.join(_NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    rows = [row for name in _NAMES for row in _compare(name)]
    header = ["network", "method", "samples or sweeps/s", "pyAgrum", "ratio"]
    return "\n".join([table(header, rows), "", "50 x 50 Ising grid", table(["method", "per s"], _grid())])


def _compare(name: str) -> list[list[object]]:
    net = load_quietly(nets_folder() / f"{name}.bif.gz")
    leaves = five_leaves(net)[:2]
    sample = net.sample(1, seed=0)
    evidence = {leaf: sample[leaf][0] for leaf in leaves}
    target = max(net.graph.roots, key=lambda root: (len(net.graph.descendants(root)), root))
    ours: dict[str, tuple[Callable[[], object], float]] = {
        "forward": (lambda: net.query(target, engine=pb.RejectionSampling(_SAMPLES)), _SAMPLES),
        "likelihood weighting": (
            lambda: net.query(target, evidence, engine=pb.LikelihoodWeighting(_SAMPLES)),
            _SAMPLES,
        ),
        "Gibbs": (
            lambda: net.query(target, evidence, engine=pb.Gibbs(20_000, burn_in=100, num_chains=2)),
            20_200,
        ),
        "loopy BP": (
            lambda: net.marginals(evidence, engine=pb.LoopyBP(max_iterations=20, tolerance=0.0)),
            20,
        ),
    }
    rows: list[list[object]] = []
    for method, (call, amount) in ours.items():
        call()
        rate = amount / best_of(3, call)
        peer = _pyagrum(net, method, target, evidence) if find_spec("pyagrum") else None
        rows.append([name, method, rate, peer, None if peer is None else rate / peer])
    return rows


def _pyagrum(net: pb.BayesianNetwork, method: str, target: str, evidence: dict[str, Any]) -> float:
    """How many samples, or sweeps, pyAgrum makes in a second."""
    import pyagrum as gum

    kinds = {
        "forward": gum.MonteCarloSampling,
        "likelihood weighting": gum.WeightedSampling,
        "Gibbs": gum.GibbsSampling,
        "loopy BP": gum.LoopyBeliefPropagation,
    }
    engine = kinds[method](pyagrum_network(net))
    if method != "forward":
        engine.setEvidence(evidence)
    engine.setEpsilon(1e-30)
    engine.setMinEpsilonRate(1e-30)
    engine.setMaxTime(_PEER_SECONDS)
    engine.setMaxIter(20 if method == "loopy BP" else _PEER_SAMPLES)
    if method != "loopy BP":
        engine.setPeriodSize(1000)
    start = time.perf_counter()
    engine.makeInference()
    seconds = time.perf_counter() - start
    engine.posterior(target)
    return float(engine.nbrIterations()) / seconds


def _grid() -> list[list[object]]:
    grid = pb.models.ising(pb.models.grid(50, 50), coupling=-0.2)
    factors, nothing = list(grid.factors), pb.variables.Evidence.read({}, {})
    problem = pb.inference.Problem.of(factors, nothing)
    gibbs, messages = pb.Gibbs(2_000, burn_in=0, num_chains=2), pb.LoopyBP(max_iterations=50, tolerance=0.0)
    calls: dict[str, tuple[Callable[[], object], float]] = {
        "Gibbs, single-site updates": (lambda: gibbs.run(problem), 2_000 * 2_500),
        "loopy BP, sweeps": (lambda: messages.run(problem), 50),
    }
    rows: list[list[object]] = []
    for method, (call, amount) in calls.items():
        call()
        rows.append([method, amount / best_of(3, call)])
    return rows


if __name__ == "__main__":
    print(run())
