"""How far everyday calls go: the files and functions of plausible that each runs through, and how deep it gets.

Counted with a profile hook in a second call, when everything has been loaded. Comprehensions and lambdas belong to the
function that they stand in.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import plausible as pb
from benchmarks.report import table
from plausible.cli import main

HOME = str(Path(pb.__file__).parent)


def run() -> str:
    """A line for each call."""
    network = pb.examples.load("asia")
    rows = network.sample(300, seed=0)
    with_gaps = rows.astype(object)
    with_gaps.iloc[::5, 0] = None
    seen = {"xray": "yes"}
    calls: dict[str, Callable[[], object]] = {
        "net.query(name, evidence)": lambda: network.query("lung", evidence=seen),
        "net.marginals(evidence)": lambda: network.marginals(evidence=seen),
        "net.mpe(evidence)": lambda: network.mpe(evidence=seen),
        "pb.learn.structure(rows)": lambda: pb.learn.structure(rows),
        'pb.learn.structure(rows, "first-ascent")': lambda: pb.learn.structure(rows, "first-ascent"),
        "pb.learn.em(graph, rows)": lambda: pb.learn.em(network.graph, with_gaps),
    }
    with tempfile.TemporaryDirectory() as folder:
        rows.to_csv(Path(folder, "rows.csv"), index=False)
        calls["plausible learn rows.csv"] = lambda: _shell("learn", f"{folder}/rows.csv", "-o", f"{folder}/net.bif")
        one = ("--method", "first-ascent")
        calls["plausible learn rows.csv --method first-ascent"] = lambda: _shell(
            "learn", f"{folder}/rows.csv", "-o", f"{folder}/net.bif", *one
        )
        lines = [[name, *map(str, _journey(call))] for name, call in calls.items()]
    return table(["call", "files", "functions", "depth"], lines)


def _shell(*arguments: str) -> None:
    before, sys.argv = sys.argv, ["plausible", *arguments]
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
            main()
    finally:
        sys.argv = before


def _journey(call: Callable[[], object]) -> tuple[int, int, int]:
    """The number of files, of functions, and the greatest depth."""
    call()
    functions: set[CodeType] = set()
    depth = deepest = 0

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if not code.co_filename.startswith(HOME) or code.co_name.startswith("<"):
            return
        if event == "call":
            functions.add(code)
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({code.co_filename for code in functions}), len(functions), deepest
