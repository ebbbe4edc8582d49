"""Tables of evidence: the posterior of one target for each row, beside a loop over pyAgrum, and what EM asks for.

Both start from the same data frame and a model that is compiled; pyAgrum's engines are told the one target. The rows
are evidence on five leaves, as in `benchmarks.inference`, or on half of all variables, other ones in each row.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import plausible as pb
from benchmarks.inference import five_leaves
from benchmarks.peers import load_quietly, pyagrum_network
from benchmarks.reading import nets_folder
from benchmarks.report import best_of, table

_NAMES = ("alarm", "hailfinder")
_TOLERANCE = 1e-9


def run() -> str:
    """Seconds for 1,000 rows of two kinds, and for 100,000 with a tenth of their cells missing."""
    if not all((nets_folder() / f"{name}.bif.gz").exists() for name in _NAMES):
        return f"No {' and '.join(_NAMES)} at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    nets = {name: load_quietly(nets_folder() / f"{name}.bif.gz") for name in _NAMES}
    header = ["network", "target", "evidence", "rows", "s", "pyAgrum engine", "s", "ratio", "difference"]
    kinds = {"five leaves": _on_leaves, "half of all": lambda net, num_rows: _with_gaps(net, num_rows, missing=0.5)}
    small = table(
        header,
        [
            row
            for name, net in nets.items()
            for kind, rows_of in kinds.items()
            for row in _compare(name, net, kind, rows_of(net, 1_000))
        ],
    )
    large = table(["question", "rows", "s"], _large(nets["alarm"], num_rows=100_000))
    return "\n".join([small, "", "alarm, a tenth of the cells missing", large])


def _compare(name: str, net: pb.BayesianNetwork, kind: str, frame: pd.DataFrame) -> list[list[object]]:
    """A row for each of pyAgrum's engines."""
    target = max(net.graph.roots, key=lambda root: (len(net.graph.descendants(root)), root))
    frame = frame.drop(columns=target, errors="ignore")
    engine = net.compile()
    answers = engine.predict_proba(frame, target).to_numpy()
    seconds = best_of(9, lambda: engine.predict_proba(frame, target))
    about: list[object] = [name, target, kind, len(frame), seconds]
    if find_spec("pyagrum") is None:
        return [[*about, None, None, None, None]]
    rows: list[list[object]] = []
    for peer, (peer_seconds, peer_answers) in _pyagrum(net, frame, target).items():
        difference = float(np.abs(answers - peer_answers).max())
        if not difference <= _TOLERANCE:
            raise ArithmeticError(f"On {name} the answers differ by {difference:.3g}, more than {_TOLERANCE:g}.")
        rows.append([*about, peer, peer_seconds, peer_seconds / seconds, difference])
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


def _on_leaves(net: pb.BayesianNetwork, num_rows: int) -> pd.DataFrame:
    """A forward sample of five leaves."""
    return net.sample(num_rows, seed=0)[five_leaves(net)]


def _with_gaps(net: pb.BayesianNetwork, num_rows: int, missing: float) -> pd.DataFrame:
    """A forward sample whose cells are missing at random."""
    frame = net.sample(num_rows, seed=0)
    return frame.mask(np.random.default_rng(1).random(frame.shape) < missing)


def _pyagrum(net: pb.BayesianNetwork, frame: pd.DataFrame, target: str) -> dict[str, tuple[float, Any]]:
    """The seconds and the answers of a loop over each exact engine: the best of three."""
    import pyagrum as gum

    network = pyagrum_network(net)
    results = {}
    for kind in (gum.LazyPropagation, gum.ShaferShenoyInference, gum.VariableElimination):
        engine, seconds = kind(network), float("inf")
        engine.setTargets({target})
        for _ in range(3):
            answers, start = [], time.perf_counter()
            for row in frame.to_dict("records"):
                engine.setEvidence({name: state for name, state in row.items() if isinstance(state, str)})
                engine.makeInference()
                answers.append(engine.posterior(target).toarray())
            seconds = min(seconds, time.perf_counter() - start)
        results[kind.__name__] = seconds, np.array(answers)
    return results


if __name__ == "__main__":
    print(run())
