"""How long `import plausible` takes in a fresh interpreter, and beside its peers."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks.report import best_of, table

_PACKAGES = ("plausible", "pyagrum", "pgmpy", "pandas")


def run() -> str:
    """Seconds for one import statement, interpreter start included; best of five."""
    installed = [package for package in _PACKAGES if find_spec(package) is not None]
    rows = [[package, best_of(5, lambda name=package: _import(name))] for package in installed]
    return table(["import", "seconds"], rows)


def _import(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True, capture_output=True)


if __name__ == "__main__":
    print(run())
