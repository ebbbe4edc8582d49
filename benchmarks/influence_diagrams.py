"""Solving influence diagrams of growing length and width, beside pyAgrum's inference in LIMIDs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import best_of, table
from plausible.decisions import Decision, InfluenceDiagram
from plausible.utilities import Utility

LENGTHS = (5, 10, 20, 40, 80, 160)
#: Seconds after which a peer is not asked for longer diagrams of the same kind.
PATIENCE = 20.0
#: The best of so many runs counts, or of as many as patience lasts for.
REPEATS = 20


def run() -> str:
    """Milliseconds for the value and the strategy of each diagram, by both libraries; the values must agree.

    Both by the clock on the wall, in one process and one thread, the best of the same number of runs in turn.
    """
    header = ["diagram", "length", "decisions", "chance", "MEU", "ms", "ms per decision", "pyAgrum ms", "ratio"]
    rows = []
    for kind, (make, lengths) in KINDS.items():
        patient = find_spec("pyagrum") is not None
        for length in lengths:
            diagram = make(length)
            value, own, peer = _measure(diagram, patient)
            patient = peer is not None and peer < PATIENCE
            num = len(diagram.decisions)
            ratio = None if peer is None else peer / own
            milliseconds = None if peer is None else 1e3 * peer
            rows.append(
                [kind, length, num, len(diagram.chance), value, 1e3 * own, 1e3 * own / num, milliseconds, ratio]
            )
    return table(header, rows)


def _measure(diagram: InfluenceDiagram, with_peer: bool) -> tuple[float, float, float | None]:
    """The expected utility, and the seconds that each library takes for it, the diagram being there."""
    solution = diagram.solve()  # loads the kernels
    if not solution.is_optimal:
        raise AssertionError(f"{diagram!r} was not solved to the end.")
    value = solution.expected_utility
    if not with_peer:
        return value, best_of(REPEATS, lambda: diagram.solve().strategy), None
    other, decisions = _as_pyagrum(diagram), list(diagram.decisions)
    first = best_of(1, lambda: _agree(_solved_by_pyagrum(other, decisions), value, diagram))
    repeats = max(1, min(REPEATS, int(PATIENCE / (10 * first))))
    own, peer = float("inf"), first
    for _ in range(repeats):  # in turn, so that what else the machine does meets both
        own = min(own, best_of(3, lambda: diagram.solve().strategy))
        peer = min(peer, best_of(1 if first > 1 else 3, lambda: _solved_by_pyagrum(other, decisions)))
    return value, own, peer


def _solved_by_pyagrum(other: Any, decisions: Iterable[str]) -> float:
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    inference = gum.ShaferShenoyLIMIDInference(other)
    inference.makeInference()
    for name in decisions:
        inference.optimalDecision(name)
    return float(inference.MEU()["mean"])


def _agree(found: float, value: float, diagram: InfluenceDiagram) -> None:
    if abs(found - value) > 1e-6 * max(1.0, abs(value)):
        raise AssertionError(f"pyAgrum finds {found}, not {value}, for {diagram!r}.")


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
