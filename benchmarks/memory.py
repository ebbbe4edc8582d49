"""The memory that a first answer takes, and the time that the very first one takes on a machine."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from pathlib import Path

import plausible as pb
from benchmarks.apart import Report, apart
from benchmarks.peers import Positions, load_quietly

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_bytes(file: Path, positions: Positions) -> int | None:
    """By how much compilation and one run for all posteriors raise the peak of a fresh process; None off Linux."""
    if not _RESET.exists():
        return None
    outcome = apart(_raise_peak, file, positions)
    if outcome.failure:
        raise RuntimeError(f"The memory for {file.name} could not be measured: {outcome.failure}.")
    return int(outcome.reports["bytes"])


def _raise_peak(report: Report, file: Path, positions: Positions) -> None:
    pb.examples.load("asia").compile().marginals()  # the kernels are no part of it
    net = load_quietly(file)
    evidence = {name: net.variables[name].states[position] for name, position in positions.items()}
    gc.collect()
    # Not the getrusage peak: a process starts with that of its parent, and has the one of reading the file.
    _RESET.write_text("5")
    before = _status("VmRSS")
    net.compile().marginals(evidence)
    report("bytes", _status("VmHWM") - before)


def _status(field: str) -> int:
    """A field of the process's status, in bytes."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def first_ever(large: Path) -> str:
    """Seconds of the first questions where no compiled kernel is on disk yet; `large` has tables for both cores."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = apart(_compile_kernels, folder, large)
    if outcome.failure:
        raise RuntimeError(f"The first compilation could not be measured: {outcome.failure}.")
    return "first call ever, kernels compiled: " + ", ".join(
        f"{name} {seconds:.1f} s" for name, seconds in outcome.reports.items() if name != "done"
    )


def _compile_kernels(report: Report, folder: str, large: Path) -> None:
    os.environ["NUMBA_CACHE_DIR"] = folder  # before Numba is imported, with the first kernel
    net = pb.examples.load("asia")
    calls = {
        "marginals": lambda: net.compile().marginals({"xray": "yes"}),
        "then predict_proba": lambda: net.compile().predict_proba({"xray": ["yes", None]}, "lung"),
    }
    if large.exists():
        other = load_quietly(large)
        calls["then marginals of a large network"] = lambda: other.compile().marginals()
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        report(name, time.perf_counter() - start)
