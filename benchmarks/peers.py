"""All posteriors by other libraries, from the very numbers of our network."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.apart import Report

Positions = Mapping[str, int]
Answers = dict[str, Any]


def load_quietly(file: Path) -> pb.BayesianNetwork:
    """The network in a file, its rounded rows normalised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pb.load(file)


def alternate(answer: Callable[[Any], Any], evidences: Sequence[Any], patience: float = 2.0) -> tuple[float, Any]:
    """The shortest time of one answer, and the answer to the last of the evidences.

    They are asked about in turn, so that each is new, from the last one on: once, and again while there is patience
    (in seconds).
    """
    shortest, start, last = float("inf"), time.perf_counter(), None
    for number in range(400):
        place = (number - 1) % len(evidences)
        before = time.perf_counter()
        found = answer(evidences[place])
        after = time.perf_counter()
        shortest = min(shortest, after - before)
        last = found if place == len(evidences) - 1 else last
        if after - start > patience:
            break
    return shortest, last


# --- pyAgrum ---


def pyagrum_network(net: pb.BayesianNetwork) -> Any:
    """The same network for pyAgrum."""
    import pyagrum as gum

    with tempfile.TemporaryDirectory() as folder:
        pb.save(net, Path(folder) / "net.bif")
        peer = gum.loadBN(str(Path(folder) / "net.bif"))
    for name, cpd in net.cpds.items():  # what it reads it rounds: give it the very numbers
        peer.cpt(name)[:] = cpd.to_factor().reorder(list(reversed(peer.cpt(name).names))).values
    return peer


def pyagrum_posteriors(report: Report, file: Path, evidences: Sequence[Positions]) -> None:
    """Report `cold`, `warm` and `answers` of lazy propagation, and when the first run began and had its tree."""
    import pyagrum as gum

    net = load_quietly(file)
    peer = pyagrum_network(net)

    def ask(engine: Any, positions: Positions) -> Answers:
        engine.setEvidence(dict(positions))
        engine.makeInference()
        return {name: engine.posterior(name) for name in net.variables}

    start = time.perf_counter()
    report("cold began", start)
    engine = gum.LazyPropagation(peer)
    engine.setEvidence(dict(evidences[0]))
    engine.joinTree()
    report("warm began", time.perf_counter())
    ask(engine, evidences[0])
    first = time.perf_counter() - start
    repeated = alternate(lambda found: ask(gum.LazyPropagation(peer), found), evidences[:1])[0] if first < 2 else first
    report("cold", min(first, repeated))
    report("warm began", time.perf_counter())
    warm, answers = alternate(lambda positions: ask(engine, positions), evidences)
    report("warm", warm)
    report("answers", {name: found.toarray() for name, found in answers.items()})


def pyagrum_single_posteriors(report: Report, file: Path, positions: Positions) -> None:
    """Report `answers` as far as they come, one target at a time, those with the fewest ancestors first."""
    import pyagrum as gum

    net = load_quietly(file)
    peer = pyagrum_network(net)
    answers: Answers = {}
    for name in sorted(net.variables, key=lambda name: len(net.graph.ancestors(name))):
        engine = gum.LazyPropagation(peer)
        engine.setEvidence(dict(positions))
        engine.setTargets({name})
        engine.makeInference()
        answers[name] = engine.posterior(name).toarray()
        report("answers", answers)


# --- pgmpy ---


def pgmpy_posteriors(report: Report, file: Path, evidences: Sequence[Positions]) -> None:
    """Report `seconds` and `answers` of variable elimination, which keeps nothing from one evidence to the next."""
    from pgmpy.inference import VariableElimination

    net = load_quietly(file)
    engine = VariableElimination(_pgmpy_network(net))

    def ask(positions: Positions) -> Answers:
        answers = {name: np.eye(net.variables[name].num_states)[place] for name, place in positions.items()}
        for name in net.variables.keys() - positions.keys():  # one by one: asked for all, it makes their joint
            answers[name] = engine.query([name], evidence=dict(positions), show_progress=False).values
        return answers

    seconds, answers = alternate(ask, evidences)
    report("seconds", seconds)
    report("answers", answers)


def _pgmpy_network(net: pb.BayesianNetwork) -> Any:
    """The same network for pgmpy, its states numbered."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    peer = DiscreteBayesianNetwork()
    peer.add_nodes_from(net.variables)
    for name, cpd in net.cpds.items():
        peer.add_edges_from((parent, name) for parent in cpd.parent_names)
        sizes = [parent.num_states for parent in cpd.parents]
        values = cpd.to_factor().reorder([name, *cpd.parent_names]).values
        size = net.variables[name].num_states
        peer.add_cpds(TabularCPD(name, size, values.reshape(size, -1), list(cpd.parent_names), sizes))
    return peer
