"""Solving influence diagrams of growing length and width, beside pyAgrum's inference in LIMIDs."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import table
from plausible.decisions import Decision, InfluenceDiagram, Utility

LENGTHS = (5, 10, 20, 40, 80, 160)
#: Seconds after which a peer is not asked for longer diagrams of the same kind.
PATIENCE = 20.0


def run() -> str:
    """Milliseconds of the processor for each diagram, and the same by pyAgrum; the expected utilities must agree."""
    header = ["diagram", "length", "decisions", "chance", "MEU", "ms", "ms per decision", "pyAgrum ms", "ratio"]
    rows = []
    for kind, (make, lengths) in KINDS.items():
        patient = find_spec("pyagrum") is not None
        for length in lengths:
            diagram = make(length)
            row, own = _measure_own(diagram)
            seconds = _measure_pyagrum(diagram, own) if patient else None
            patient = seconds is not None and seconds < PATIENCE
            peer = [None, None] if seconds is None else [1e3 * seconds, 1e3 * seconds / row[3]]
            rows.append([kind, length, *row, *peer])
    return table(header, rows)


def _best_of(repeats: int, call: Callable[[], Any]) -> float:
    """The shortest of several runs, in seconds of the processor: both libraries use one core."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _measure_own(diagram: InfluenceDiagram) -> tuple[list[Any], float]:
    solution = diagram.solve()  # loads the kernels
    if not solution.is_optimal:
        raise AssertionError(f"{diagram!r} was not solved to the end.")
    num = len(diagram.decisions)
    milliseconds = 1e3 * _best_of(10, lambda: diagram.solve())
    value = solution.expected_utility
    return [num, len(diagram.chance), value, milliseconds, milliseconds / num], value


def _measure_pyagrum(diagram: InfluenceDiagram, own: float) -> float:
    """Seconds for one solution, the diagram being there."""
    import pyagrum as gum

    other = _as_pyagrum(diagram)
    found: list[float] = []

    def solve() -> None:
        inference = gum.ShaferShenoyLIMIDInference(other)
        inference.makeInference()
        found.append(inference.MEU()["mean"])

    seconds = _best_of(3, solve)
    if seconds < 0.1:
        seconds = min(seconds, _best_of(10, solve))
    if abs(found[-1] - own) > 1e-6 * max(1.0, abs(own)):
        raise AssertionError(f"pyAgrum finds {found[-1]}, not {own}, for {diagram!r}.")
    return seconds


def _as_pyagrum(diagram: InfluenceDiagram) -> Any:
    import pyagrum as gum

    other = gum.InfluenceDiagram()
    for name, variable in diagram.variables.items():
        add = other.addDecisionNode if name in diagram.decisions else other.addChanceNode
        add(gum.LabelizedVariable(name, name, [str(state) for state in variable.states]))
    for name in diagram.utilities:
        other.addUtilityNode(gum.LabelizedVariable(name, name, 1))
    for source, target in diagram.graph.edges:
        other.addArc(str(source), str(target))
    for name, cpd in diagram.chance.items():
        _fill(other.cpt(name), cpd.to_factor())
    for name, factor in diagram.utility_factors.items():
        _fill(other.utility(name), factor)
    return other


def _fill(target: Any, factor: pb.Factor) -> None:
    names = [name for name in target.names if name in factor.names]
    # The last of pyAgrum's axes changes slowest.
    target.fillWith(factor.reorder(names[::-1]).flat.tolist())


# --- the diagrams ---


def _rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    table = rng.random(shape) + 0.05
    return table / table.sum(axis=-1, keepdims=True)


def exam_chain(length: int) -> InfluenceDiagram:
    """Each effort sees the last result and the last effort only: a LIMID of width 4."""
    rng = np.random.default_rng(length)
    chance, decisions, utilities = [], [], []
    for i in range(length):
        parents = [f"H{i - 1}", f"D{i - 1}"] if i else []
        chance.append(pb.TableCPD(f"H{i}", _rows(rng, *[2] * len(parents), 2), parents, states=2))
        decisions.append(Decision(f"D{i}", 2, sees=parents))
        utilities.append(Utility([f"H{i}", f"D{i}"], rng.normal(size=(2, 2)), name=f"V{i}"))
    return InfluenceDiagram(chance, decisions, utilities)


def oil_fields(length: int) -> InfluenceDiagram:
    """Test and drill one field after the other, what a drill found told about the next; nothing is forgotten."""
    rng = np.random.default_rng(length)
    chance, decisions, utilities, known = [], [], [], []
    for i in range(length):
        before = [f"oil{i - 1}"] if i else []
        chance.append(pb.TableCPD(f"oil{i}", _rows(rng, *[3] * len(before), 3), before, states=["dry", "wet", "soak"]))
        known += before
        decisions.append(Decision(f"test{i}", ["no", "yes"], sees=list(known)))
        seismic = np.stack([np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)), np.hstack([_rows(rng, 3, 3), np.zeros((3, 1))])])
        states = ["closed", "open", "diffuse", "none"]
        chance.append(pb.TableCPD(f"seismic{i}", seismic, [f"test{i}", f"oil{i}"], states=states))
        known += [f"test{i}", f"seismic{i}"]
        decisions.append(Decision(f"drill{i}", ["no", "yes"], sees=list(known)))
        known += [f"drill{i}"]
        utilities.append(Utility([f"test{i}"], [0.0, -1.0], name=f"cost{i}"))
        profit = np.stack([np.zeros(3), np.array([-7.0, 5.0, 20.0]) * rng.uniform(0.5, 1.5)], axis=1)
        utilities.append(Utility([f"oil{i}", f"drill{i}"], profit, name=f"profit{i}"))
    return InfluenceDiagram(chance, decisions, utilities)


def diagnosis(width: int) -> InfluenceDiagram:
    """Test, then treat: a random network of causes with four times as many symptoms."""
    rng = np.random.default_rng(width)
    chance = []
    for i in range(width):
        parents = [f"C{j}" for j in sorted({max(0, i - 1), max(0, i - 2)} - {i})] if i else []
        chance.append(pb.TableCPD(f"C{i}", _rows(rng, *[3] * len(parents), 3), parents, states=3))
    for i in range(4 * width):
        parents = sorted({f"C{i % width}", f"C{(i + 1) % width}"})
        chance.append(pb.TableCPD(f"S{i}", _rows(rng, *[3] * len(parents), 3), parents, states=3))
    chance.append(pb.TableCPD("result", _rows(rng, 2, 3, 3), ["test", f"C{width - 1}"], states=3))
    seen = [f"S{4 * width - i}" for i in range(1, 5)]
    decisions = [Decision("test", 2, sees=seen), Decision("treat", 4, sees=[*seen, "test", "result"])]
    utilities = [
        Utility(["test"], [0.0, -0.1], name="cost"),
        Utility([f"C{width - 1}", "treat"], rng.normal(size=(3, 4)), name="health"),
        Utility([f"C{width // 2}", "treat"], rng.normal(size=(3, 4)), name="harm"),
    ]
    return InfluenceDiagram(chance, decisions, utilities)


KINDS: dict[str, tuple[Callable[[int], InfluenceDiagram], tuple[int, ...]]] = {
    "exam chain": (exam_chain, LENGTHS),
    "oil fields": (oil_fields, (1, 2, 4, 8, 16, 32)),
    "diagnosis": (diagnosis, (4, 8, 16, 32, 64)),
}
