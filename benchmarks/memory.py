"""The memory that a first answer takes."""

from __future__ import annotations

import gc
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
