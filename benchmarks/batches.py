"""Tables of evidence: the posterior of one target for each row, beside a loop over pyAgrum, and what EM asks for.

Ours starts from a data frame; the loops over pyAgrum's engines are given rows that are encoded already, and the one
target. All have a model that is compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import plausible as pb
from benchmarks.peers import Positions, load_quietly, pyagrum_network
from benchmarks.reading import nets_folder
from benchmarks.report import best_of, table

_NAMES = ("alarm", "hailfinder")
_TOLERANCE = 1e-9


def run() -> str:
    """Seconds for 1,000 rows with half of their cells missing, and for 100,000 with a tenth missing."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in _NAMES):
        return f"No {' and '.join(_NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    nets = {name: load_quietly(nets_folder() / f"{name}.bif.gz") for name in _NAMES}
    header = ["network", "target", "rows", "s", "pyAgrum engine", "s", "ratio", "difference"]
    small = table(header, [row for name, net in nets.items() for row in _compare(name, net)])
    large = table(["question", "rows", "s"], _large(nets["alarm"], num_rows=100_000))
    return "\n".join([small, "", "alarm, a tenth of the cells missing", large])


def _compare(name: str, net: pb.BayesianNetwork, num_rows: int = 1_000) -> list[list[object]]:
    """A row for each of pyAgrum's engines."""
    target = max(net.graph.roots, key=lambda root: (len(net.graph.descendants(root)), root))
    frame = _with_gaps(net, num_rows, missing=0.5)
    frame[target] = None
    engine = net.compile()
    answers = engine.predict_proba(frame, target).to_numpy()
    seconds = best_of(5, lambda: engine.predict_proba(frame, target))
    about: list[object] = [name, target, num_rows, seconds]
    if find_spec("pyagrum") is None:
        return [[*about, None, None, None, None]]
    rows: list[list[object]] = []
    for kind, (peer_seconds, peer_answers) in _pyagrum(net, _positions(net, frame), target).items():
        difference = float(np.abs(answers - peer_answers).max())
        if not difference <= _TOLERANCE:
            raise ArithmeticError(f"On {name} the answers differ by {difference:.3g}, more than {_TOLERANCE:g}.")
        rows.append([*about, kind, peer_seconds, peer_seconds / seconds, difference])
    return rows


def _large(net: pb.BayesianNetwork, num_rows: int) -> list[list[object]]:
    frame = _with_gaps(net, num_rows, missing=0.1)
    target = next(iter(net.graph.roots))
    engine = net.compile()
    questions: dict[str, Callable[[], Any]] = {
        f"predict_proba of {target}": lambda: engine.predict_proba(frame, target),
        "log_likelihood": lambda: engine.log_likelihood(frame),
        "expected_counts": lambda: engine.expected_counts(frame),
    }
    return [[question, num_rows, best_of(3, call)] for question, call in questions.items()]


def _with_gaps(net: pb.BayesianNetwork, num_rows: int, missing: float) -> pd.DataFrame:
    """A forward sample whose cells are missing at random."""
    frame = net.sample(num_rows, seed=0).astype(object)
    return frame.mask(np.random.default_rng(1).random(frame.shape) < missing, None)


def _positions(net: pb.BayesianNetwork, frame: pd.DataFrame) -> list[Positions]:
    """For each row the positions of the states that are there."""
    rows: list[Positions] = []
    for row in frame.to_dict("records"):
        there = {str(name): state for name, state in row.items() if not pd.isna(state)}
        rows.append({name: net.variables[name].index(state) for name, state in there.items()})
    return rows


def _pyagrum(net: pb.BayesianNetwork, rows: Sequence[Positions], target: str) -> dict[str, tuple[float, Any]]:
    """The seconds and the answers of a loop over each exact engine."""
    import pyagrum as gum

    peer = pyagrum_network(net)
    results = {}
    for kind in (gum.LazyPropagation, gum.ShaferShenoyInference, gum.VariableElimination):
        engine = kind(peer)
        engine.setTargets({target})
        answers, start = [], time.perf_counter()
        for positions in rows:
            engine.setEvidence(positions)
            engine.makeInference()
            answers.append(engine.posterior(target))
        seconds = time.perf_counter() - start
        results[kind.__name__] = seconds, np.array([found.toarray() for found in answers])
    return results


if __name__ == "__main__":
    print(run())
