"""All posteriors given evidence on five leaves: ours against pyAgrum's lazy propagation, same tables, same evidence.

Cold: from a loaded model to all posteriors, with kernels that are compiled. Warm: the tree is there, the evidence is
new. Peak: by how much compilation and one run raise the memory of a fresh process, in bytes of the clique tables. The
two networks that are hard for pyAgrum (minutes and many GiB) are left out where PLAUSIBLE_BENCH_FAST is set.
`python -m benchmarks.inference alarm link` measures these networks only, and writes no results.
"""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.apart import Outcome, apart
from benchmarks.memory import peak_bytes
from benchmarks.peers import (
    Positions,
    alternate,
    load_quietly,
    pgmpy_posteriors,
    pyagrum_posteriors,
    pyagrum_single_posteriors,
)
from benchmarks.reading import nets_folder
from benchmarks.report import table
from plausible.engine.compilation import compile_program

_HARD = {"link", "munin1"}
_SECONDS, _MEMORY = 300.0, 20 * 2**30
_SINGLES_SECONDS = 60.0
_PGMPY_SECONDS, _PGMPY_ENTRIES = 60.0, 50_000
_PEAK_ENTRIES = 1_000_000
_TOLERANCE = 1e-9
_HEADER = [
    *("network", "entries", "cold s", "warm s", "peak", "pyAgrum cold s", "warm s"),
    *("cold ratio", "warm ratio", "pgmpy s", "difference"),
]


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer a peer took; where it did not finish, it took at least this many times longer."""

    value: float
    is_bound: bool

    def __str__(self) -> str:
        return f"{'> ' if self.is_bound else ''}{self.value:.4g}"


def run(names: Sequence[str] = ()) -> str:
    """Seconds, ratios and the largest disagreement for the networks named, or all that are there."""
    files = sorted(nets_folder().glob("*.bif.gz"), key=lambda path: path.stat().st_size)
    if not files:
        return f"No networks at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    left_out = _HARD if "PLAUSIBLE_BENCH_FAST" in os.environ else set()
    wanted = set(names) or {_name(file) for file in files} - left_out
    rows, notes, ratios = [], [], {"cold": [], "warm": []}
    for file in files:
        if _name(file) not in wanted:
            continue
        row, found, remarks = _compare(file)
        rows.append(row)
        notes += remarks
        for kind, ratio in found.items():
            ratios[kind].append(ratio)
    summaries = [line for kind, values in ratios.items() for line in _summary(kind, values)]
    return "\n".join([table(_HEADER, rows), *notes, *summaries])


def _name(file: Path) -> str:
    return file.name.removesuffix(".bif.gz")


# --- one network ---


def _compare(file: Path) -> tuple[list[object], dict[str, Ratio], list[str]]:
    """The row of a network, pyAgrum's ratios, and what has to be said about them."""
    net = load_quietly(file)
    evidences = _evidences(net)
    entries, ours, answers = _ours(net, evidences)
    del net
    gc.collect()  # peers may need all the memory that there is
    peak = peak_bytes(file, evidences[0]) if entries > _PEAK_ENTRIES else None
    times, ratios, differences, notes = dict.fromkeys(("cold", "warm")), {}, [], []
    if find_spec("pyagrum") is not None:
        outcome = apart(pyagrum_posteriors, file, evidences, seconds=_SECONDS, memory=_MEMORY)
        times, ratios = _ratios(outcome, ours)
        if outcome.failure:
            singles = apart(pyagrum_single_posteriors, file, evidences[-1], seconds=_SINGLES_SECONDS, memory=_MEMORY)
            found = len(singles.reports.get("answers", ()))
            notes.append(
                f"{_name(file)}: pyAgrum was given up, {outcome.failure}; the difference is that of the {found} of "
                f"{len(answers)} posteriors that it found one by one in {_SINGLES_SECONDS:.0f} s."
            )
            outcome = singles
        differences.append(_difference(answers, outcome))
    pgmpy = None
    if find_spec("pgmpy") is not None and entries <= _PGMPY_ENTRIES:
        outcome = apart(pgmpy_posteriors, file, evidences, seconds=_PGMPY_SECONDS)
        pgmpy = outcome.reports.get("seconds", outcome.failure)
        differences.append(_difference(answers, outcome))
    difference = _checked(file, [value for value in differences if value is not None])
    own = [ours["cold"], ours["warm"], None if peak is None else f"{peak / (8 * entries):.2f}"]
    return [_name(file), entries, *own, *times.values(), *map(ratios.get, times), pgmpy, difference], ratios, notes


def five_leaves(net: pb.BayesianNetwork) -> list[str]:
    """Five leaves at random, always the same."""
    return [str(name) for name in np.random.default_rng(99).permutation(list(net.graph.leaves))[:5]]


def _evidences(net: pb.BayesianNetwork) -> list[Positions]:
    """Two times the state positions of five leaves in a forward sample, so that they can happen together.

    Of twenty samples the second is the one that differs most from the first: messages that new evidence leaves as
    they are can be kept, which would flatter engines that do so.
    """
    leaves = five_leaves(net)
    samples = net.sample(21, seed=0)[leaves]
    rows = [{name: net.variables[name].index(samples[name].iloc[i]) for name in leaves} for i in range(21)]
    return [rows[0], max(rows[1:], key=lambda row: sum(row[name] != rows[0][name] for name in leaves))]


def _ours(net: pb.BayesianNetwork, evidences: Sequence[Positions]) -> tuple[int, dict[str, float], dict[str, Any]]:
    """The entries of the clique tables, the seconds cold and warm, and the posteriors given the last evidence."""
    named = [{name: net.variables[name].states[place] for name, place in row.items()} for row in evidences]

    def cold(evidence: dict[str, Any]) -> pb.models.ExactEngine:
        compile_program.cache_clear()
        engine = net.compile()
        engine.marginals(evidence)
        return engine

    cold(named[0])  # kernels for large tables are compiled, or loaded from disk, by the first network that has some
    cold_seconds, engine = alternate(cold, named[:1])
    warm_seconds, answers = alternate(engine.marginals, named)
    numbers = {name: factor.values for name, factor in answers.items()}
    return engine.explain().entries, {"cold": cold_seconds, "warm": warm_seconds}, numbers


# --- the comparison ---


def _ratios(outcome: Outcome, ours: dict[str, float]) -> tuple[dict[str, object], dict[str, Ratio]]:
    """A peer's seconds, and the ratios to ours: bounds where it did not finish, none where it did not begin."""
    times: dict[str, object] = {}
    ratios = {}
    for kind, own in ours.items():
        times[kind] = outcome.reports.get(kind)
        began = outcome.reports.get(f"{kind} began")
        if kind in outcome.reports:
            ratios[kind] = Ratio(outcome.reports[kind] / own, is_bound=False)
        elif began is not None:
            times[kind] = f"> {outcome.ended - began:.0f}"
            ratios[kind] = Ratio((outcome.ended - began) / own, is_bound=True)
    return times, ratios


def _difference(answers: dict[str, Any], outcome: Outcome) -> float | None:
    if "answers" not in outcome.reports:
        return None
    theirs = outcome.reports["answers"]
    return max(float(np.abs(answers[name] - theirs[name]).max()) for name in theirs)


def _checked(file: Path, differences: list[float]) -> float | None:
    """The largest difference; one that is too large makes every other number worthless."""
    largest = max(differences, default=None)
    if largest is not None and not largest <= _TOLERANCE:
        raise ArithmeticError(f"On {_name(file)} the answers differ by {largest:.3g}, more than {_TOLERANCE:g}.")
    return largest


def _summary(kind: str, ratios: list[Ratio]) -> list[str]:
    """Geometric means of the ratios that were measured, and of all, each bound counted as if it were the ratio."""
    measured = [ratio.value for ratio in ratios if not ratio.is_bound]
    lines = []
    if measured:
        mean = f"geometric mean {_mean(measured):.1f}, lowest {min(measured):.2f}"
        lines.append(f"{kind} ratios of the {len(measured)} networks that pyAgrum finished: {mean}")
    if len(measured) < len(ratios):
        mean = _mean([ratio.value for ratio in ratios])
        lines.append(f"{kind} ratios of all {len(ratios)}, each bound (>) counted as the ratio: at least {mean:.1f}")
    return lines


def _mean(values: list[float]) -> float:
    return math.exp(float(np.mean(np.log(values))))


if __name__ == "__main__":
    print(run(sys.argv[1:]))
