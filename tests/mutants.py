"""`make mutants`: put small faults into the source, one at a time, and see which of them no test convicts.

The tests run once to record which functions each of them enters, and how long it takes. A mutant is then tried, in a
copy of the tree, on the tests that enter its function, the most special first: in seconds, not by the whole suite.
Mutants of kernels run interpreted, on a record of their own; where a twin in NumPy stands in for the loops there, the
tests that enter the twin are run on the loops. A survivor either changes nothing that matters or shows
what is not tested. `python tests/mutants.py --help` tells how to look at more of them, or at those of one folder.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias, TypeVar

import pytest

Task = TypeVar("Task")
Answer = TypeVar("Answer")
ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src", "plausible")
RECORDS = ROOT / ".mutants"
ROOMS = sorted(path.name for path in (ROOT / SOURCE).iterdir() if (path / "__init__.py").exists())
_LOOPING = ["kernels", "engine", "graphs", "search", "inference"]
_LOOPING += ["learn/bayesian", "learn/incomplete", "learn/partitions", "learn/scores", "learn/sequences"]
_LOOPING += ["learn/labelling", "learn/undirected", "models/sequences"]
#: What is recorded in each tier, piece by piece; loops that are interpreted are too slow for the rest.
SUITES = {
    "compiled": [
        *(["tests/" + room, str(SOURCE / room)] for room in ROOMS),
        ["tests/test_*.py"],
        ["README.md", "docs"],
    ],
    "interpreted": [["tests/" + folder] for folder in _LOOPING],
}
#: Seconds that the tests of a mutant took when they were recorded: at first, and when these have passed.
FIRST, SECOND = 20.0, 60.0
MEMORY = 8 << 30


@dataclass(frozen=True)
class Mutant:
    """Bytes `start` to `stop` of a file, in the function `name` ("" outside of functions), are replaced by `text`."""

    file: Path
    before: bytes
    name: str
    start: int
    stop: int
    text: bytes

    @property
    def after(self) -> bytes:
        return self.before[: self.start] + self.text + self.before[self.stop :]

    @property
    def tier(self) -> str:
        return "interpreted" if self.file.parent.name == "kernels" else "compiled"

    def twins(self) -> dict[str, str]:
        """The twins of kernels of the file whose loops run the function: what the interpreted tier runs instead."""
        functions = {node.name: node for node in ast.parse(self.before).body if isinstance(node, ast.FunctionDef)}
        called = {
            name: {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & functions.keys()
            for name, node in functions.items()
        }
        above = {self.name}
        while more := {name for name, names in called.items() if names & above} - above:
            above |= more
        decorators = {ast.unparse(call): name for name, node in functions.items() for call in node.decorator_list}
        return {name: decorators[f"twin_of({name})"] for name in above if f"twin_of({name})" in decorators}

    def __str__(self) -> str:
        first, last = (self.before[:place].count(b"\n") for place in (self.start, self.stop))
        old, new = self.before.split(b"\n"), self.after.split(b"\n")
        lines = [b"-" + line for line in old[first : last + 1]]
        lines += [b"+" + line for line in new[first : last + 1 + len(new) - len(old)]]
        return f"{self.file}:{first + 1} {self.name}\n" + b"\n".join(lines).decode()


# --- the faults ---

#: The classes and functions that a place is in, from the outside.
Scope: TypeAlias = tuple[ast.ClassDef | ast.FunctionDef, ...]

_SWAPS = (
    "Lt:LtE,Gt LtE:Lt,Gt Gt:GtE,Lt GtE:Gt,Lt Eq:NotEq NotEq:Eq In:NotIn NotIn:In Is:IsNot IsNot:Is And:Or Or:And "
    "Add:Sub Sub:Add Mult:Div Div:Mult FloorDiv:Mult Mod:Add BitAnd:BitOr BitOr:BitAnd"
)
#: Operators, and what is put in their place.
SWAPS = {
    getattr(ast, before): [getattr(ast, name)() for name in after.split(",")]
    for before, _, after in (swap.partition(":") for swap in _SWAPS.split())
}


def faults(node: ast.AST) -> Iterator[str]:
    """What may stand in the place of an expression or a statement, as text."""
    match node:
        case ast.Compare(left, [operator], others):
            yield from (ast.unparse(ast.Compare(left, [other], others)) for other in SWAPS[type(operator)])
        case ast.BoolOp(operator, values):
            yield from (ast.unparse(ast.BoolOp(other, values)) for other in SWAPS[type(operator)])
            yield from map(ast.unparse, values)
        case ast.BinOp(left, operator, right) if type(operator) in SWAPS and not _is_text(left):
            yield from (ast.unparse(ast.BinOp(left, other, right)) for other in SWAPS[type(operator)])
            yield ast.unparse(left)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield ast.unparse(operand)
        case ast.Constant(bool() as value):
            yield repr(not value)
        case ast.Constant(int() as value):
            yield repr(value + 1)
        case ast.Constant(float() as value):
            yield repr(value * 2 if value else 1.0)
        case ast.IfExp(_, body, other):
            yield from map(ast.unparse, (body, other))
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Break() | ast.Continue():
            yield "pass"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def mutants_of(tree: Path, file: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    before = (tree / file).read_bytes()
    starts = [0, *accumulate(len(line) for line in before.splitlines(keepends=True))]
    for name, node in _places(ast.parse(before), ()):
        start, stop = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        for fault in faults(node):
            is_whole = isinstance(node, ast.stmt | ast.Constant)
            yield Mutant(file, before, name, start, stop, (fault if is_whole else f"({fault})").encode())


def _places(node: ast.AST, scope: Scope) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Statements and expressions that run, with the function they are in: no annotations, decorators or errors."""
    skipped = {"annotation", "returns", "decorator_list", "keywords" if isinstance(node, ast.ClassDef) else ""}
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        scope = (*scope, node)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if field in skipped or not isinstance(child, ast.AST) or _is_idle(child):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield _qualified(scope), child
            yield from _places(child, scope)


def _is_idle(node: ast.AST) -> bool:
    """Whether a fault in there would change no answer."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation) == "TypeAlias"
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    is_strict = isinstance(node, ast.keyword) and node.arg == "strict"  # of `zip`: unequal lengths do not happen
    return is_strict or isinstance(node, ast.Raise | ast.JoinedStr)


def _qualified(scope: Scope) -> str:
    """As in `__qualname__`, of the outermost function; "" outside of functions."""
    names = []
    for part in scope:
        names.append(part.name)
        if isinstance(part, ast.FunctionDef):
            return ".".join(names)
    return ""


# --- what tests enter, and the tests of a mutant: two plugins of pytest ---


class Recorder:
    """Which functions each test that passes enters, and its seconds; tests of other files stay as recorded before."""

    def __init__(self, path: Path, files: list[str]) -> None:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"names": [], "tests": {}}
        self.path = path
        self.entered: dict[int, CodeType] = {}
        self.names: dict[str, int] = {name: number for number, name in enumerate(before["names"])}
        self.tests: dict[str, tuple[float, list[int]]] = {
            test: told for test, told in before["tests"].items() if not test.startswith(tuple(files))
        }
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.entered = {}
        began = time.perf_counter()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            names = {name for code in self.entered.values() if (name := _name_of(code))}
            numbers = [self.names.setdefault(name, len(self.names)) for name in sorted(names)]
            self.tests[item.nodeid] = time.perf_counter() - began, numbers

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def _enter(self, frame: FrameType, event: str, argument: object) -> None:
        self.entered[id(frame.f_code)] = frame.f_code  # the hash of code itself is slow

    def save(self) -> None:
        tests = {test: record for test, record in self.tests.items() if test not in self.failed}
        self.path.write_text(json.dumps({"names": list(self.names), "tests": tests}), encoding="utf-8")


def _name_of(code: CodeType) -> str:
    """The file below `src/plausible` and the outermost function, as in `Mutant`; "" elsewhere."""
    _, found, file = code.co_filename.rpartition(f"{os.sep}{SOURCE}{os.sep}")
    name = code.co_qualname.partition(".<locals>")[0]
    return f"{file}:{name}" if found and not name.startswith("<") else ""


class Chosen:
    """Runs these tests only, in their order, to the first that fails."""

    def __init__(self, tests: list[str]):
        self.places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.places), key=lambda i: self.places[i.nodeid])


def run_pytest(task: dict[str, Any]) -> int:
    """What this file does in the processes that it starts: run chosen tests, or record a suite."""
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "--tb=line"]
    if "chosen" in task:
        for kernel in task["loops"]:
            getattr(importlib.import_module(task["module"]), kernel).twin = None
        files = dict.fromkeys(test.partition("::")[0] for test in task["chosen"])
        return int(pytest.main([*options, "-x", *files], plugins=[Chosen(task["chosen"])]))
    recorder = Recorder(Path(task["record"]), task["suite"])
    code = pytest.main([*options, *task["suite"]], plugins=[recorder])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return int(code)
    recorder.save()
    return 0


# --- the run ---


@dataclass(frozen=True)
class Record:
    """The tests of a tier: their seconds, how many functions they enter; the tests that enter each function or file."""

    seconds: dict[str, float]
    breadth: dict[str, int]
    entering: dict[str, list[str]]

    @classmethod
    def load(cls, tier: str) -> Record:
        record = cls({}, {}, {})
        for path in sorted(RECORDS.glob(f"{tier}-*.json")):
            parsed = json.loads(path.read_text(encoding="utf-8"))
            names = parsed["names"]
            for test, (seconds, numbers) in parsed["tests"].items():
                record.seconds[test], record.breadth[test] = seconds, len(numbers)
                entered = {names[number] for number in numbers}
                for name in entered | {name.partition(":")[0] + ":" for name in entered}:
                    record.entering.setdefault(name, []).append(test)
        return record

    def tests_of(self, mutant: Mutant) -> tuple[list[str], list[str]]:
        """Those to run at first, that enter little else, and others drawn from the rest."""
        tests = self._entering(mutant, [mutant.name])
        first = self._within(tests, FIRST)
        rest = tests[len(first) :]
        random.Random(f"{_room_file(mutant)}:{mutant.name}").shuffle(rest)
        return first, self._within(rest, SECOND)

    def tests_of_twins(self, mutant: Mutant) -> list[str]:
        """Those that enter what stands in for the function where loops are interpreted."""
        return self._within(self._entering(mutant, mutant.twins().values()), FIRST)

    def _entering(self, mutant: Mutant, names: Iterable[str]) -> list[str]:
        tests = {test for name in names for test in self.entering.get(f"{_room_file(mutant)}:{name}", [])}
        return sorted(tests, key=lambda test: (self.breadth[test], test))

    def _within(self, tests: list[str], seconds: float) -> list[str]:
        """The first of them, for so many seconds; one at least."""
        totals = list(accumulate(self.seconds[test] for test in tests))
        return tests[: max(1, bisect(totals, seconds))]


def _room_file(mutant: Mutant) -> str:
    return str(mutant.file.relative_to(SOURCE))


def start(copy: Path, task: dict[str, object], tier: str, limit: float | None) -> tuple[int, str]:
    """Run pytest in a copy of the tree: the exit code, 0 if all passed, and the output; -1 after `limit` seconds."""
    path = copy / "task.json"
    path.write_text(json.dumps(task), encoding="utf-8")
    code = ROOT / SOURCE / "kernels" / "__pycache__"
    environment = {
        "NUMBA_CACHE_DIR": str(code),
        **os.environ,
        "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}",
        "PLAUSIBLE_KERNELS": tier,
    }
    command = [sys.executable, "tests/mutants.py", "--task", str(path)]
    process = subprocess.Popen(
        command, cwd=copy, env=environment, text=True, start_new_session=True, preexec_fn=_limit_memory,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        printed, _ = process.communicate(timeout=limit)
        return process.returncode, printed
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return -1, ""


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def copy_tree(folder: Path) -> Path:
    """A copy in which mutants can do no harm, with the networks that the tests look for beside it."""
    ignored = shutil.ignore_patterns(".*", "__pycache__")
    copy = Path(shutil.copytree(ROOT, folder / "tree", ignore=ignored))
    if (ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return copy


#: Codes of runs without a failure: some tests go by names that a mutant changes, and then are not found.
_PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def fate(mutant: Mutant, copy: Path, records: dict[str, Record]) -> str:
    """Which of the runs convicted it; "unreached" or "survived" if none did."""
    record = records[mutant.tier]
    first, second = record.tests_of(mutant)
    loops = list(mutant.twins()) if mutant.tier == "interpreted" else []
    stages = [("at first", first, []), ("by others", second, [])]
    if loops:
        stages.insert(1, ("on loops", record.tests_of_twins(mutant), loops))
    if not any(tests for _, tests, _ in stages):
        return "unreached"
    path = copy / mutant.file
    path.write_bytes(mutant.after)
    module = ".".join(mutant.file.with_suffix("").parts[1:])
    try:
        for stage, tests, without in stages:
            limit = 60 + 5 * sum(record.seconds[test] for test in tests)
            task = {"chosen": tests, "module": module, "loops": without}
            code = start(copy, task, mutant.tier, limit)[0] if tests else 0
            is_slow = code == -1 and without != []  # loops are, in the interpreter
            if code not in _PASSED and not is_slow:
                return "caught by the clock" if code == -1 else f"caught {stage}"
        return "survived"
    finally:
        path.write_bytes(mutant.before)


class Bench:
    """Copies of the tree, each for one run of tests at a time."""

    def __init__(self, folder: Path, jobs: int):
        self.pool = ThreadPoolExecutor(jobs)
        self.free = [copy_tree(folder / str(job)) for job in range(jobs)]

    def map(self, function: Callable[[Path, Task], Answer], tasks: list[Task]) -> Iterator[Answer]:
        """What `function(copy, task)` returns of each task, in their order."""

        def call(task: Task) -> Answer:
            copy = self.free.pop()
            try:
                return function(copy, task)
            finally:
                self.free.append(copy)

        return self.pool.map(call, tasks)


def record(bench: Bench) -> None:
    """Record what tests enter, as far as that is not recorded yet; files of tests that changed since, again."""
    RECORDS.mkdir(exist_ok=True)
    suites = [(tier, suite) for tier, pieces in SUITES.items() for suite in pieces]
    paths = [RECORDS / f"{tier}-{suite[0].replace('/', '.').replace('*', '')}.json" for tier, suite in suites]
    copied = time.time()
    due = [(tier, _unrecorded(suite, path), path) for (tier, suite), path in zip(suites, paths, strict=True)]
    missing = [task for task in due if task[1]]

    def one(copy: Path, task: tuple[str, list[str], Path]) -> str:
        tier, suite, path = task
        began = time.perf_counter()
        code, printed = start(copy, {"suite": suite, "record": str(path)}, tier, None)
        if code != 0:
            sys.exit(f"{printed}\nThe tests of {' '.join(suite)} could not be recorded.")
        os.utime(path, (copied, copied))  # what is edited from now on is not in there
        return f"{' '.join(suite)} ({tier}) in {time.perf_counter() - began:.0f} s"

    for told in bench.map(one, missing):
        print("recorded", told, flush=True)


def _unrecorded(suite: list[str], path: Path) -> list[str]:
    """What a record lacks: all of the suite, or its files of tests that are younger."""
    paths = [found for pattern in suite for found in sorted(ROOT.glob(pattern))]
    if path.exists():
        files = [file for found in paths for file in (found.rglob("test_*.py") if found.is_dir() else [found])]
        paths = [file for file in files if file.stat().st_mtime > path.stat().st_mtime]
    return [str(found.relative_to(ROOT)) for found in paths]


def try_mutants(bench: Bench, number: int, seed: int, only: str) -> None:
    """Print the survivors, and the share of those that were caught."""
    tree = bench.free[0]
    files = [path.relative_to(tree) for path in sorted((tree / SOURCE).rglob("*.py"))]
    mutants = [mutant for file in files if only in str(file) for mutant in mutants_of(tree, file)]
    chosen = random.Random(seed).sample(mutants, min(number, len(mutants)))
    records = {tier: Record.load(tier) for tier in SUITES}
    fates: Counter[str] = Counter()
    ends = bench.map(lambda copy, mutant: fate(mutant, copy, records), chosen)
    for place, (mutant, end) in enumerate(zip(chosen, ends, strict=True), 1):
        fates[end] += 1
        if end in ("survived", "unreached"):
            print(f"{mutant}\n{place}: {end}\n", flush=True)
    share = 1 - (fates["survived"] + fates["unreached"]) / len(chosen)
    told = ", ".join(f"{count} {end}" for end, count in sorted(fates.items()))
    print(f"{share:.0%} of {len(chosen)} mutants caught, seed {seed}: {told}")


def main() -> None:
    """Read the options; record if need be; try the mutants; tell of those that survive."""
    parser = argparse.ArgumentParser(
        description="Put faults into the source; print those that no test convicts.",
        epilog="The first run records for half an hour what tests enter; then a fault takes about ten seconds. "
        "Each one printed either changes nothing that matters or shows what no test states: see CONTRIBUTING.md.",
    )
    parser.add_argument("-n", "--number", type=int, default=50, help="how many mutants (50)")
    parser.add_argument("--seed", type=int, default=0, help="which of them (0)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (1)")
    parser.add_argument("--only", default="", help="those of files whose path has this in it, as learn/scores")
    parser.add_argument("--task", type=Path, help=argparse.SUPPRESS)  # of the processes that this one starts
    arguments = parser.parse_args()
    if arguments.task:
        sys.exit(run_pytest(json.loads(arguments.task.read_text(encoding="utf-8"))))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        bench = Bench(Path(folder), arguments.jobs)
        record(bench)
        try_mutants(bench, arguments.number, arguments.seed, arguments.only)


if __name__ == "__main__":
    main()
