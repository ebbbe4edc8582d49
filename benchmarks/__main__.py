"""`python -m benchmarks`: run all of them, or those named; print tables and write them to benchmarks/results/."""

from __future__ import annotations

import sys
from importlib import import_module
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
    "pictures",
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


if __name__ == "__main__":
    main()
