"""Samples and sweeps a second: our approximate engines beside pyAgrum's, on networks and on a 50 x 50 Ising grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.inference import five_leaves
from benchmarks.peers import load_quietly, pyagrum_network
from benchmarks.reading import nets_folder
from benchmarks.report import best_of, table

_NAMES = ("alarm", "hailfinder", "andes")
_SAMPLES, _SWEEPS = 1_000_000, 20
#: pyAgrum is stopped after this many samples, or seconds: its rate does not depend on them.
_PEER_SAMPLES, _PEER_SECONDS = 20_000, 10.0
#: Its default: it counts draws of this many variables as a sample of its Gibbs chain.
_PEER_DRAWN = 2

_HEADER = ["model", "method", "samples or sweeps/s", "pyAgrum", "ratio"]


def run() -> str:
    """Rates of both; every call asks for the posteriors of all variables, so that none can be left out."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in _NAMES):
        return f"No {', '.join(_NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    rows = [row for name in _NAMES for row in _network(name)]
    return "\n".join([table(_HEADER, [*rows, *_grid(50)]), "", table(["large", "seconds"], _large())])


def _network(name: str) -> list[list[object]]:
    net = load_quietly(nets_folder() / f"{name}.bif.gz")
    sample = net.sample(1, seed=0)
    evidence = {leaf: sample[leaf][0] for leaf in five_leaves(net)[:2]}
    return _compared(name, net, net, evidence)


def _grid(side: int) -> list[list[object]]:
    """An Ising grid with random fields; forward sampling needs directions, which it does not have."""
    rng = np.random.default_rng(0)
    edges = [(f"spin{one}", f"spin{other}") for one, other in pb.models.grid(side, side).edges]  # BIF wants letters
    lattice = pb.UndirectedGraph(edges)
    fields = dict(zip(lattice.nodes, rng.normal(0.0, 0.5, side * side).tolist(), strict=True))
    grid = pb.models.ising(lattice, coupling=-0.2, field=fields)
    directed = _as_network(grid)
    observed = {name: "yes" for name in directed.variables if name not in grid.variables}
    return _compared(f"{side} x {side} grid", grid, directed, observed, given={})


def _as_network(grid: pb.MarkovNetwork) -> pb.BayesianNetwork:
    """The same distribution given that a child of each potential, with probabilities in proportion to it, says yes."""
    spins = [pb.TableCPD(variable, [0.5, 0.5]) for variable in grid.variables.values()]
    potentials = []
    for number, factor in enumerate(grid.factors):
        scaled = factor.values / factor.values.max()
        rows = np.stack([1.0 - scaled, scaled], axis=-1)
        potentials.append(pb.TableCPD(f"potential{number}", rows, parents=factor.scope, states=["no", "yes"]))
    return pb.BayesianNetwork(*spins, *potentials)


def _compared(
    title: str,
    model: pb.BayesianNetwork | pb.MarkovNetwork,
    peer: pb.BayesianNetwork,
    evidence: Mapping[str, Any],
    given: Mapping[str, Any] | None = None,
) -> list[list[object]]:
    """A row for each method; `given` is our evidence where it is not the peer's."""
    found = evidence if given is None else given
    num_sweeps = max(2_000, 200_000 // len(model.variables))
    ours: dict[str, tuple[Callable[[], object], float]] = {
        "Gibbs, sweeps": (
            lambda: model.marginals(found, engine=pb.Gibbs(num_sweeps, burn_in=0, num_chains=2)),
            num_sweeps,
        ),
        "loopy BP, sweeps": (
            lambda: model.marginals(found, engine=pb.LoopyBP(max_steps=_SWEEPS, tolerance=1e-300)),
            _SWEEPS,
        ),
    }
    if isinstance(model, pb.BayesianNetwork):
        ours = {
            "forward": (lambda: model.marginals(engine=pb.inference.RejectionSampling(_SAMPLES)), _SAMPLES),
            "likelihood weighting": (
                lambda: model.marginals(found, engine=pb.LikelihoodWeighting(_SAMPLES)),
                _SAMPLES,
            ),
        } | ours
    rows: list[list[object]] = []
    for method, (call, amount) in ours.items():
        call()
        rate = amount / best_of(3, call)
        other = _pyagrum(peer, method, evidence) if find_spec("pyagrum") else None
        rows.append([title, method, rate, other, None if other is None else rate / other])
    return rows


def _pyagrum(net: pb.BayesianNetwork, method: str, evidence: Mapping[str, Any]) -> float:
    """How many samples, or sweeps, pyAgrum makes in a second."""
    import pyagrum as gum

    kinds = {
        "forward": gum.MonteCarloSampling,
        "likelihood weighting": gum.WeightedSampling,
        "Gibbs, sweeps": gum.GibbsSampling,
        "loopy BP, sweeps": gum.LoopyBeliefPropagation,
    }
    engine: Any = kinds[method](pyagrum_network(net))
    if method != "forward":
        engine.setEvidence(dict(evidence))
    engine.setEpsilon(1e-30)
    engine.setMinEpsilonRate(1e-30)
    engine.setMaxTime(_PEER_SECONDS)
    engine.setMaxIter(_SWEEPS if method == "loopy BP, sweeps" else _PEER_SAMPLES)
    if method != "loopy BP, sweeps":
        engine.setPeriodSize(1000)
    if method == "Gibbs, sweeps":
        engine.setBurnIn(0)
        engine.setNbrDrawnVar(_PEER_DRAWN)
    start = time.perf_counter()
    engine.makeInference()
    seconds = time.perf_counter() - start
    rate = float(engine.nbrIterations()) / seconds
    return rate * _PEER_DRAWN / (len(net.variables) - len(evidence)) if method == "Gibbs, sweeps" else rate


def _large() -> list[list[object]]:
    """What the kernels alone take: a sweep of messages, a million updates, a million samples."""
    rng = np.random.default_rng(0)
    lattice = pb.models.grid(200, 200)
    potts = [
        *(pb.Factor({str(node): 4}, rng.uniform(0.1, 1.0, 4)) for node in lattice.nodes),
        *(pb.Factor({str(one): 4, str(other): 4}, np.exp(0.3 * np.eye(4))) for one, other in lattice.edges),
    ]
    ising = pb.models.ising(pb.models.grid(50, 50), coupling=-0.2)
    nothing = pb.variables.Evidence.read({}, {})
    labels, spins = (pb.inference.Problem.of(factors, nothing) for factors in (potts, list(ising.factors)))
    messages, gibbs = pb.LoopyBP(max_steps=5, tolerance=1e-300), pb.Gibbs(200, burn_in=0, num_chains=2)
    alarm = load_quietly(nets_folder() / "alarm.bif.gz")
    calls: dict[str, tuple[Callable[[], object], float]] = {
        "loopy BP: a sweep of a 200 x 200 grid, 4 labels": (lambda: messages.run(labels), 1 / 5),
        "Gibbs: 1,000,000 updates of a 50 x 50 grid": (lambda: gibbs.run(spins), 1e6 / (200 * 2_500)),
        "forward: 1,000,000 samples of alarm": (
            lambda: alarm.marginals(engine=pb.inference.RejectionSampling(_SAMPLES)),
            1.0,
        ),
    }
    rows: list[list[object]] = []
    for what, (call, share) in calls.items():
        call()
        rows.append([what, best_of(3, call) * share])
    return rows


if __name__ == "__main__":
    print(run())
