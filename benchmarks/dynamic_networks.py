"""Dynamic Bayesian networks beside the engine on the network of all slices; CPU seconds of one thread."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import plausible as pb
from benchmarks.report import table

LENGTHS = (1_000, 10_000, 100_000)
#: Where the unrolled network is asked, too.
UNROLLED = 10_000


def run() -> str:
    """Ten binary variables a slice, four of them chains; the unrolled way is unroll, compile and ask, from cold."""
    model = _model(np.random.default_rng(0))
    rows = model.sample(max(LENGTHS), seed=0)[[name for name in model.variables if name.startswith("O")]]
    model.mpe(rows.head())
    told: list[list[object]] = []
    for question in ("filter", "smooth", "log_likelihood", "mpe"):
        for length in LENGTHS:
            given = rows.head(length)
            own = min(_cpu(lambda given=given, question=question: getattr(model, question)(given)) for _ in range(2))
            peer = (
                _cpu(lambda given=given, question=question: _unrolled(model, given, question))
                if length == UNROLLED
                else None
            )
            told.append([question, length, own, 1e6 * own / length, peer, None if peer is None else peer / own])
    return table(["question", "steps", "plausible s", "microseconds a step", "unrolled s", "times as fast"], told)


def _model(rng: np.random.Generator) -> pb.DynamicBayesianNetwork:
    """Four coupled chains, and six observations of two neighbours each."""

    def cpd(name: str, parents: list[str]) -> pb.TableCPD:
        return pb.TableCPD(name, rng.dirichlet([1.0, 1.0], size=(2,) * len(parents)), parents=parents)

    chains = [f"H{place}" for place in range(4)]
    initial = [cpd(name, []) for name in chains]
    moves = [
        cpd(name, [f"{one}[-1]" for one in chains[max(place - 1, 0) : place + 1]]) for place, name in enumerate(chains)
    ]
    seen = [cpd(f"O{place}", [chains[place % 4], chains[(place + 1) % 4]]) for place in range(6)]
    return pb.DynamicBayesianNetwork(initial, [*moves, *seen])


def _unrolled(model: pb.DynamicBayesianNetwork, rows: pd.DataFrame, question: str) -> None:
    network = model.unroll(len(rows))
    evidence = {f"{name}[{step}]": state for name in rows for step, state in enumerate(rows[name].tolist())}
    engine = network.compile()
    if question == "mpe":
        engine.mpe(evidence)
    elif question == "log_likelihood":
        engine.log_probability(evidence)
    else:
        engine.marginals(evidence=evidence)


def _cpu(task: Callable[[], object]) -> float:
    begin = time.process_time()
    task()
    return time.process_time() - begin
