"""Where the public benchmark networks are, if they are there."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest

import plausible as pb

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "nets"
NAMES = [
    "alarm",
    "andes",
    "asia",
    "barley",
    "cancer",
    "child",
    "diabetes",
    "earthquake",
    "hailfinder",
    "hepar2",
    "insurance",
    "link",
    "munin",
    "munin1",
    "munin2",
    "pigs",
    "sachs",
    "survey",
    "water",
]
#: The same, those with the longest files only for `make test-slow`.
READ = [
    pytest.param(name, marks=pytest.mark.slow) if name in ("diabetes", "munin", "munin2") else name for name in NAMES
]


def benchmark_path(file: str) -> Path:
    """Where the file of a network is; skips the test where the networks are absent."""
    path = FOLDER / file
    if not path.exists():
        pytest.skip(f"the benchmark network {file} is not at ../shared/nets")
    return path


def benchmark_text(name: str) -> str:
    """The BIF text of a network."""
    return gzip.decompress(benchmark_path(f"{name}.bif.gz").read_bytes()).decode("utf-8")


def benchmark_network(name: str) -> pb.BayesianNetwork:
    """A network, its rounded tables normalised without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pb.load(benchmark_path(f"{name}.bif.gz"))
