"""`python -m benchmarks`: run all of them, or those named; print tables and write them to benchmarks/results/."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ALL = (
    "journeys",
    "importing",
    "first_use",
    "reading",
    "separation",
    "inference",
    "scaling",
    "batches",
    "compact",
    "approximate",
    "counting",
    "scale",
    "structure",
    "constraint_based",
    "causal_discovery",
    "identification",
    "influence_diagrams",
    "mixtures",
    "expectation_maximization",
    "structural_em",
    "undirected",
    "labelling",
    "dynamic_networks",
    "sequences",
    "linear_systems",
    "relations",
    "pictures",
)
PEERS = (
    *("pyAgrum", "pgmpy", "causal-learn", "dowhy", "hmmlearn", "ipfn", "networkx", "python-crfsuite", "scikit-learn"),
    *("simdkalman", "statsmodels", "y0", "pyarrow", "dask"),
)
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    RESULTS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ALL:
        print(f"== {name}")
        report = import_module(f"benchmarks.{name}").run()
        print(report, "\n")
        (RESULTS / f"{name}.txt").write_text(f"{report}\n", encoding="utf-8")
    if not sys.argv[1:]:  # a part may lack peers that the others were measured beside
        (RESULTS / "machine.txt").write_text(machine(), encoding="utf-8")


def machine() -> str:
    """Where this was measured, with which versions of the peers, as a sentence."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    versions = []
    for peer in PEERS:
        with suppress(PackageNotFoundError):
            versions.append(f"{peer} {version(peer)}")
    python = platform.python_version()
    return f"Measured on {os.cpu_count()} cores ({processor}), Python {python}: {', '.join(versions)}.\n"


if __name__ == "__main__":
    main()
