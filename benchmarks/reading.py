"""Reading large public networks from plain BIF files, and beside pyAgrum."""

from __future__ import annotations

import gzip
import os
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report import best_of, table
from plausible.io.bif import format_bif, parse_bif

NAMES = ("diabetes", "munin", "munin2", "barley", "link")
REPEATS = 5


def nets_folder() -> Path:
    """Where the networks are: the folder named by PLAUSIBLE_NETS, or ../shared/nets beside the repository."""
    named = os.environ.get("PLAUSIBLE_NETS")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "nets"


def run() -> str:
    """Seconds to read each file (best of five), to write it, and how many times longer pyAgrum reads."""
    with tempfile.TemporaryDirectory() as scratch:
        files = list(_unpacked(Path(scratch)))
        if not files:
            return f"No networks at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif or .bif.gz files."
        rows = [_measure(file) for file in files]
    return table(["network", "MB", "read s", "write s", "pyAgrum read s", "ratio"], rows)


def _unpacked(scratch: Path) -> Iterator[Path]:
    """Plain copies of the files that are there: unpacking is not part of the measurement."""
    for name in NAMES:
        packed, plain = nets_folder() / f"{name}.bif.gz", nets_folder() / f"{name}.bif"
        if plain.exists():
            yield plain
        elif packed.exists():
            copy = scratch / f"{name}.bif"
            copy.write_bytes(gzip.decompress(packed.read_bytes()))
            yield copy


def _measure(file: Path) -> list[object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = best_of(REPEATS, lambda: parse_bif(file.read_text(encoding="utf-8")))
        network = parse_bif(file.read_text(encoding="utf-8"))
    writing = best_of(REPEATS, lambda: format_bif(network))
    peer = None
    if find_spec("pyagrum") is not None:
        import pyagrum

        peer = best_of(REPEATS, lambda: pyagrum.loadBN(str(file)))
    return [file.stem, file.stat().st_size / 1e6, own, writing, peer, None if peer is None else peer / own]


if __name__ == "__main__":
    print(run())
