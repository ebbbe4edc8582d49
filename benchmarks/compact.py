"""What compact distributions and zeros save: a QMR-like diagnosis, and a pedigree with typed members.

QMR: two layers of noisy-ors, 600 diseases and 4000 findings, of which 20 are positive and all others negative or not
looked for. The pedigree: alleles handed down through selectors, which are functions of their parents, at several loci.
Each is answered with the compact handling and with it off, and by pyAgrum in a process of its own, which is given up
after a while.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import table
from plausible.cpds import CPD, DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import TooLarge
from plausible.inference.compiled import compile_factors
from plausible.inference.relevance import reduce_states
from plausible.models.lowering import lower
from plausible.variables import Evidence

_PATIENCE = 30.0
_MEMORY = 8 * 2**30


# --- the models ---


def diagnosis(
    seed: int, num_diseases: int = 600, num_findings: int = 4000, num_positive: int = 20, skew: float = 0.0
) -> tuple[pb.BayesianNetwork, dict[str, bool]]:
    """A two-layer network of noisy-ors, and the findings of a patient with three diseases.

    Findings have 1 to 30 causes, about 11 on average. Half of the findings that the patient does not have were looked
    for. `skew` makes some diseases the cause of more findings than others: their weights fall with this power.
    """
    rng = np.random.default_rng(seed)
    names = [f"disease {i}" for i in range(num_diseases)]
    weights = np.arange(1.0, num_diseases + 1) ** -skew
    chances = np.exp(rng.uniform(np.log(0.0005), np.log(0.02), num_diseases))
    cpds: list[CPD] = [
        TableCPD(name, [1 - p, p], states=[False, True]) for name, p in zip(names, chances.tolist(), strict=True)
    ]
    has = set(rng.choice(num_diseases, 3, replace=False).tolist())
    evidence: dict[str, bool] = {}
    for number in rng.permutation(num_findings).tolist():
        causes = rng.choice(num_diseases, min(30, int(rng.geometric(1 / 11))), replace=False, p=weights / weights.sum())
        strengths, leak = rng.uniform(0.05, 0.9, len(causes)), float(rng.uniform(0.0001, 0.01))
        parents = [names[cause] for cause in causes]
        finding = NoisyOr(f"finding {number}", parents, strengths, leak)
        cpds.append(finding)
        shows = 1 - (1 - leak) * np.prod([1 - s for c, s in zip(causes, strengths, strict=True) if c in has])
        if rng.random() >= shows:
            evidence |= {finding.variable.name: False} if rng.random() < 0.5 else {}
        elif sum(evidence.values()) < num_positive:
            evidence[finding.variable.name] = True
    return pb.BayesianNetwork(cpds), evidence


def pedigree(
    seed: int, num_founders: int = 6, num_children: int = 12, num_alleles: int = 5, num_loci: int = 2
) -> tuple[pb.BayesianNetwork, dict[str, Any]]:
    """Who got which allele from whom at some loci, and the types that two thirds of the members show.

    A child's paternal allele is a function of the father's two and of a selector; selectors at neighbouring loci
    differ where a recombination took place, with probability 0.1. A type is the pair of alleles without their order.
    """
    rng = np.random.default_rng(seed)
    alleles = [f"a{i}" for i in range(num_alleles)]
    frequencies = rng.dirichlet(np.full(num_alleles, 3.0), size=num_loci)
    couples = [tuple(rng.choice(num_founders + i, 2, replace=False).tolist()) for i in range(num_children)]
    members = range(num_founders + num_children)
    typed = [member for member in members if rng.random() < 2 / 3]
    cpds: list[CPD] = []
    for locus in range(num_loci):
        for member in members:
            parents = couples[member - num_founders] if member >= num_founders else None
            for side in range(2):
                name = f"{member}.{locus}.{side}"
                if parents is None:
                    cpds.append(TableCPD(name, frequencies[locus], states=alleles))
                else:
                    cpds += _handed_down(name, f"{parents[side]}.{locus}", locus, alleles)
            pair = [f"{member}.{locus}.{side}" for side in range(2)]
            kinds = sorted({"/".join(sorted([a, b])) for a in alleles for b in alleles})
            shows = DeterministicCPD(f"type {member}.{locus}", lambda a, b: "/".join(sorted([a, b])), pair, kinds)
            cpds += [shows] if member in typed else []
    net = pb.BayesianNetwork(cpds)
    row = net.sample(1, seed=seed).iloc[0]
    return net, {name: row[name] for name in net.variables if name.startswith("type")}


def _handed_down(name: str, giver: str, locus: int, alleles: list[str]) -> list[CPD]:
    """The selector of an allele, and the allele."""
    member, _, side = name.split(".")
    before = [f"from {member}.{locus - 1}.{side}"] if locus else []
    chances = [[0.9, 0.1], [0.1, 0.9]] if locus else [0.5, 0.5]
    selector = TableCPD(f"from {name}", chances, before)
    given = [f"from {name}", f"{giver}.0", f"{giver}.1"]
    return [selector, DeterministicCPD(name, lambda which, first, second: second if which else first, given, alleles)]


# --- the answers ---


def run() -> str:
    """Seconds, entries and MiB of each way to answer."""
    pb.examples.load("asia").marginals()  # compile the kernels, or load them from disk
    rows = []
    for seed in range(3):
        net, evidence = diagnosis(seed)
        wanted = [name for name in net.variables if name.startswith("disease")]
        rows += _rows(f"diagnosis {seed}", net, evidence, wanted)
    for seed in range(3):
        net, evidence = pedigree(seed)
        rows += _rows(f"pedigree {seed}", net, evidence, list(net.variables))
    return table(["problem", "way", "seconds", "entries", "MiB", "states struck", "difference"], rows)


def _rows(problem: str, net: pb.BayesianNetwork, evidence: dict[str, Any], wanted: list[str]) -> list[list[object]]:
    """The compact way, the plain way and pyAgrum's; differences are to the compact way."""
    start = time.perf_counter()
    answers, about = _compact(net, evidence, wanted)
    rows: list[list[object]] = [[problem, "compact", time.perf_counter() - start, *about, None]]
    for way, call in (("plain", _plain), ("pyAgrum", _pyagrum)):
        if way == "pyAgrum" and find_spec("pyagrum") is None:
            continue
        outcome = _in_time(call, net, evidence, wanted)
        if isinstance(outcome, str):
            rows.append([problem, way, outcome, None, None, None, None])
        else:
            seconds, numbers, entries, size = outcome
            difference = max(float(np.abs(numbers[name] - answers[name]).max()) for name in wanted)
            rows.append([problem, way, seconds, entries, size, None, difference])
    return rows


def _compact(
    net: pb.BayesianNetwork, evidence: dict[str, Any], wanted: Iterable[str]
) -> tuple[dict[str, Any], list[Any]]:
    """Distributions lowered where the findings are, impossible states struck out, what is left compiled."""
    found = Evidence.read(evidence, net.variables)
    needed = {*wanted, *evidence}
    needed |= net.graph.ancestors(needed)
    lowered = lower([cpd for name, cpd in net.cpds.items() if name in needed], net.variables, {}, found.hard)
    reduced = reduce_states(lowered.factors, found, [net.variables[name] for name in wanted])
    compiled = compile_factors(reduced.factors, reduced.variables.values(), order=lowered.order)
    marginals = compiled.marginals(Evidence.read({}, {}))
    one = pb.Factor.scalar(1.0)
    answers = {name: reduced.expand(marginals.get(name, one), [name]).values for name in wanted}
    program = compiled.program
    return answers, [program.num_entries, program.num_bytes / 2**20, reduced.num_struck]


def _plain(
    net: pb.BayesianNetwork, evidence: dict[str, Any], wanted: list[str]
) -> tuple[float, dict[str, Any], int, float]:
    """The evidence entered into a clique tree of the tables of all relevant distributions."""
    start = time.perf_counter()
    part = net.subnetwork([*wanted, *evidence])
    compiled = compile_factors([cpd.to_factor() for cpd in part.cpds.values()], part.variables.values())
    marginals = compiled.marginals(Evidence.read(evidence, part.variables))
    seconds, program = time.perf_counter() - start, compiled.program
    return seconds, {name: marginals[name].values for name in wanted}, program.num_entries, program.num_bytes / 2**20


def _pyagrum(
    net: pb.BayesianNetwork, evidence: dict[str, Any], wanted: list[str]
) -> tuple[float, dict[str, Any], None, None]:
    """Lazy propagation on the part that matters; noisy-ors are given as such."""
    import pyagrum as gum

    part = net.subnetwork([*wanted, *evidence])
    peer = gum.BayesNet()
    for name in part.graph.topological_order:
        variable, cpd = part.variables[str(name)], part.cpd(str(name))
        labels = gum.LabelizedVariable(variable.name, variable.name, [str(state) for state in variable.states])
        if isinstance(cpd, NoisyOr):
            peer.addNoisyORCompound(labels, cpd.leak)
            for parent, weight in zip(cpd.parent_names, cpd.activation.tolist(), strict=True):
                peer.addWeightedArc(parent, variable.name, weight)
        else:
            peer.add(labels)
            for parent in cpd.parent_names:
                peer.addArc(parent, variable.name)
            peer.cpt(variable.name)[:] = cpd.to_factor().reorder(list(reversed(peer.cpt(variable.name).names))).values
    start = time.perf_counter()
    engine = gum.LazyPropagation(peer)
    engine.setEvidence({name: part.variables[name].index(state) for name, state in evidence.items()})
    engine.makeInference()
    answers = {name: engine.posterior(name).toarray() for name in wanted}
    return time.perf_counter() - start, answers, None, None


# --- with a limit ---


def _in_time(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call in a process of its own returns, or why it returned nothing."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_send, args=(sender, call, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(_PATIENCE):
            return f"> {_PATIENCE:.0f} s"
        return receiver.recv()
    except EOFError:
        return "out of memory"
    finally:
        process.kill()
        process.join()


def _send(sender: Any, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    try:
        sender.send(call(*arguments))
    except (MemoryError, TooLarge):
        sender.send("too large")
    except Exception as error:  # noqa: BLE001  (a peer's own kinds of failure)
        sender.send("too large" if "alloc" in str(error) else type(error).__name__)


if __name__ == "__main__":
    print(run())
