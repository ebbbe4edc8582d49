"""The first use after an installation, in CPU seconds of a fresh process: interpreted, and with kernels compiled first.

Each task runs in an interpreter of its own on a copy of the package without machine code, all imports included.
`python -m benchmarks.first_use interpreted` leaves out the tier that compiles, which takes minutes.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from compileall import compile_dir
from pathlib import Path

import plausible
from benchmarks.reading import nets_folder
from benchmarks.report import table

_LOAD = "import warnings; warnings.simplefilter('ignore'); import plausible as pb; net = pb.load({name!r})\n"
_ROWS = "rows = net.sample(2000, seed=0)\n"
#: What is done, the network, the code.
_TASKS = (
    ("import, load, marginals", "asia", "net.marginals()"),
    ("learn.structure, 2,000 rows", "asia", _ROWS + "pb.learn.structure(rows)"),
    ("learn.em, 2,000 rows", "asia", _ROWS + "rows.iloc[::3, 1] = None\npb.learn.em(net.graph, rows)"),
    (
        "marginals, mpe, predict_proba of 1,000 rows",
        "alarm",
        "net.marginals()\nnet.mpe()\nrows = net.sample(1000, seed=0).drop(columns=['HYPOVOLEMIA'])\n"
        "net.compile().predict_proba(rows, 'HYPOVOLEMIA')",
    ),
    ("marginals", "munin", "net.marginals()"),
)


def run(tiers: tuple[str, ...] = ("auto", "compiled")) -> str:
    """CPU seconds of each task in each tier; "auto" interprets, as nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(plausible.__file__).parent, home / "plausible", ignore=ignored)
        compile_dir(home, quiet=1)  # as an installer does
        rows = [[task, name, *(_seconds(home, tier, name, code) for tier in tiers)] for task, name, code in _TASKS]
    return table(["first use", "network", *(f"{tier}, CPU s" for tier in tiers)], rows)


def _seconds(home: Path, tier: str, name: str, code: str) -> float:
    """CPU seconds of an interpreter that runs some code."""
    settings = {"PYTHONPATH": str(home), "HOME": str(home), "XDG_CACHE_HOME": str(home), "PLAUSIBLE_KERNELS": tier}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = _LOAD.format(name=str(nets_folder() / f"{name}.bif.gz")) + code
    subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, **settings})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    print(run(("auto",)) if sys.argv[1:] == ["interpreted"] else run())
