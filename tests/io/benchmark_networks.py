"""Where the public benchmark networks are, if they are there."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "nets"
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


def benchmark_text(name: str) -> str:
    """The BIF text of a network; skips the test where the networks are absent."""
    path = FOLDER / f"{name}.bif.gz"
    if not path.exists():
        pytest.skip(f"the benchmark network {name} is not at ../shared/nets")
    return gzip.decompress(path.read_bytes()).decode("utf-8")
