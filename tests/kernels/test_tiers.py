"""How kernels run: interpreted or as machine code, and when they change from one to the other."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from threading import RLock, Thread

import numpy as np
import pytest

import plausible
from kernel_calls import copied, flat
from plausible.cli.compile import use_all_kernels
from plausible.engine.compilation import compile_program
from plausible.errors import InvalidArgument
from plausible.kernels import background, jit, machine_code, vectors
from plausible.kernels.background import ArrayKind
from plausible.kernels.jit import Kernel, use_tier

SOURCE = Path(plausible.__file__).parent
#: Needs problems too large for a clique tree.
RARE = {"depth_first.find_possible"}


@pytest.fixture(scope="module")
def run_python(tmp_path_factory):
    """Runs code in a fresh interpreter, on a copy of the package without machine code; gives what it prints."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(SOURCE, home / "plausible", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(home), "HOME": str(home), "XDG_CACHE_HOME": str(home)}
    environment["PLAUSIBLE_KERNELS"] = "auto"
    environment.pop("NUMBA_CACHE_DIR", None)

    def run(code):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


ASK = """
import sys
import plausible as pb
print(round(pb.examples.load("asia").marginals(evidence={"xray": "yes"})["lung"]["yes"], 6), "numba" in sys.modules)
"""

#: Compiling is taken to cost nothing, so that it pays after the first call; the background is never too slow.
EAGER = """
import sys
import numpy as np
from plausible.kernels import background, jit, machine_code, vectors
jit.COMPILE_SECONDS, jit._TOO_MUCH = 1e-9, 1e99
numbers = np.arange(4.0)
"""


def test_the_first_answer_needs_no_compiler(run_python):
    """On a fresh machine an answer comes without Numba."""
    assert run_python(ASK) == ["0.488711", "False"]


def test_without_a_folder_to_write_to_kernels_are_compiled_in_memory(run_python):
    """Nothing fails, and nothing is written."""
    code = EAGER + (
        "machine_code._is_writable = lambda folder: False\n"
        "print(vectors.total_of(numbers), vectors.total_of(numbers), len(vectors.total_of.dispatcher.signatures))\n"
        "print(len(machine_code.compiled_names()))"
    )
    assert run_python(code) == ["6.0", "6.0", "1", "0"]


def test_another_process_compiles_what_has_been_interpreted_for_long(run_python):
    """The calls go on interpreted until machine code lies on disk, and a later process uses that at once."""
    code = EAGER + (
        "answers = {vectors.total_of(numbers), vectors.total_of(numbers)}\n"
        "print(background._Worker.process is not None, 'numba' in sys.modules)\n"
        "background._Worker.process.wait()\n"
        "answers.add(vectors.total_of(numbers))\n"
        "print(*answers, sum(vectors.total_of.dispatcher.stats.cache_hits.values()))"
    )
    assert run_python(code) == ["True", "False", "6.0", "1"]
    again = EAGER + "print(*machine_code.compiled_names(), vectors.total_of(numbers), 'numba' in sys.modules)"
    assert run_python(again) == ["vectors.total_of", "6.0", "True"]


def test_what_is_foreseen_to_take_long_is_compiled_first(run_python):
    """A call of many steps does not begin interpreted; it says so in the log."""
    code = EAGER + (
        "import logging\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(message)s')\n"
        "from plausible.kernels.markov_chain import walk\n"
        "paths = np.zeros((1, 3), dtype=np.int64)\n"
        "walk(np.array([0, 1]), np.array([0]), np.ones(1), np.full((1, 2), 0.5), paths)\n"
        "print(walk.spent)"
    )
    told = run_python(code)
    assert told[:2] == ["Compiling", "markov_chain.walk,"]
    assert told[-1] == "0.0"


def test_a_run_that_knows_its_length_compiles_after_its_first_call(monkeypatch):
    """The time of one call, times the calls to come, is more than compiling takes; without a run it is not."""
    numbers, total_of = np.arange(4.0), vectors.total_of
    for module, name in ((background, "is_compiled"), (background, "compile_soon"), (total_of, "_is_on_disk")):
        monkeypatch.setattr(module, name, lambda *_: False)
    monkeypatch.setattr(total_of, "spent", 0.0)
    with use_tier("auto"):
        total_of(numbers)
        total_of(numbers)
        assert total_of._run == total_of._choose
        with jit.repeated(10**4), jit.repeated(10**5):
            assert not total_of._pays((numbers,))  # how long the call takes is not known in this run
            total_of(numbers)
            assert total_of._pays((numbers,))
        assert not total_of._pays((numbers,))
    assert jit._Hold.repeats == 1


def test_the_steps_of_a_run_are_foreseen_before_its_first_call(monkeypatch):
    """Steps of a call, times the calls."""
    monkeypatch.setattr(jit, "_KERNELS", {})
    steps = 2 * jit.COMPILE_SECONDS / jit._STEP_SECONDS / 1000
    kernel = Kernel(lambda number: number, lambda number: steps, {})
    assert not kernel._pays((1,))
    with jit.repeated(1000):
        assert kernel._pays((1,))


def test_arguments_of_other_types_are_not_compiled_in_silence(run_python):
    """Machine code for float64 is none for float32: that is interpreted, and float64 still runs as machine code."""
    make = "import numpy as np\nfrom plausible.kernels import jit, vectors\n"
    run_python(make + "with jit.use_tier('compiled'):\n    vectors.smallest_log(np.ones(2))")
    code = make + (
        "print(vectors.smallest_log(np.ones(2)), vectors.smallest_log.spent)\n"
        "print(vectors.smallest_log(np.ones(2, dtype=np.float32)), vectors.smallest_log.spent > 0.0)\n"
        "print(vectors.smallest_log(np.ones(2)), len(vectors.smallest_log.dispatcher.signatures))"
    )
    assert run_python(code) == ["0.0", "0.0", "0.0", "True", "0.0", "1"]


def test_what_the_background_has_begun_it_finishes(run_python):
    """A program that ends at once leaves machine code to the next one, of the first kernel that it asked for."""
    code = EAGER + (
        "vectors.divide(numbers, 2.0), vectors.divide(numbers, 2.0)\nprint(background._Worker.process is not None)"
    )
    assert run_python(code) == ["True"]
    wait = "import time\nfrom plausible.kernels import machine_code\n" + (
        "end = time.monotonic() + 200\n"
        "while 'vectors.divide' not in machine_code.compiled_names() and time.monotonic() < end:\n    time.sleep(0.2)\n"
        "print('vectors.divide' in machine_code.compiled_names())"
    )
    assert run_python(wait) == ["True"]


def test_a_kernel_is_compiled_by_one_process_at_a_time(tmp_path, monkeypatch):
    """Who finds the lock waits, and goes if nobody waits for it any more; an old lock counts for nothing."""
    monkeypatch.setattr(machine_code, "first_writable", lambda: tmp_path)
    done, is_left = [], background.Event()
    monkeypatch.setattr(background.Job, "run", lambda job: done.append(job.name))
    job = background.Job("plausible.kernels.vectors", "divide", ())
    lock = tmp_path / "plausible.kernels.vectors.divide.lock"
    is_left.set()
    lock.touch()
    background._run_in_turn(job, is_left)
    assert not done
    os.utime(lock, (1, 1))
    background._run_in_turn(job, is_left)
    assert done == ["divide"]
    assert not lock.exists()


def test_a_process_that_was_left_finishes_one_kernel(monkeypatch):
    """The first, and no more."""
    done, is_left = [], background.Event()
    is_left.set()
    monkeypatch.setattr(os, "nice", lambda _: 0)
    monkeypatch.setattr(background, "_run_in_turn", lambda job, _: done.append(job))
    background._work(["one", "two"], is_left)
    assert done == ["one"]


def test_a_steady_run_stays_in_its_tier(monkeypatch):
    """Inside of a block a kernel that was interpreted stays so, though machine code has come; after it, no more."""
    compiled = set()
    monkeypatch.setattr(background, "is_compiled", lambda kernel: kernel.name in compiled)
    with use_tier("auto"), jit.steady():
        vectors.largest_of(np.ones(2))
        compiled.add("vectors.largest_of")
        vectors.largest_of(np.ones(2))
        assert vectors.largest_of._run == vectors.largest_of._choose
    with use_tier("auto"):
        vectors.largest_of(np.ones(2))
        assert vectors.largest_of._run == vectors.largest_of.dispatcher


def test_a_thread_that_comes_while_another_interprets_does_so_too(monkeypatch):
    """The tier of a run is settled before its first call is over, though machine code comes meanwhile."""
    compiled, tiers = set(), []

    def interpret(array):
        tiers.append("interpreted")
        if len(tiers) == 1:
            compiled.add("vectors.largest_of")
            later = Thread(target=vectors.largest_of, args=(array,))
            later.start()
            later.join(timeout=0.5)  # it waits for its turn
        return 1.0

    monkeypatch.setattr(background, "is_compiled", lambda kernel: kernel.name in compiled)
    monkeypatch.setattr(vectors.largest_of, "_interpreted", interpret)
    with use_tier("auto"), jit.steady():
        vectors.largest_of(np.ones(2))
        assert vectors.largest_of._run == vectors.largest_of._choose
    assert tiers[0] == "interpreted"


@pytest.mark.parametrize("tiers", [("compiled", "interpreted"), ("interpreted", "compiled")], ids="-".join)
def test_what_one_tier_has_made_the_other_can_use(tiers):
    """A clique tree of either tier answers in the other: all questions, and rows of evidence."""
    network, rows = plausible.examples.load("asia"), {"xray": ["yes", "no", None], "smoke": ["yes", None, "no"]}
    compile_program.cache_clear()
    expected = [0.646, 0.0012, 0.01]
    with use_tier(tiers[0]):
        engine = network.compile()
    with use_tier(tiers[1]):
        assert engine.predict_proba(rows, "lung")["yes"].round(4).tolist() == expected
        assert engine.marginals({"xray": "yes"})["lung"]["yes"] == pytest.approx(0.488711, abs=1e-6)
        assert engine.mpe({"xray": "yes"})["lung"] == "yes"
        assert sum(table.sum() for table in engine.expected_counts(rows).values()) == pytest.approx(3 * 8)


def test_an_unknown_tier_is_refused(monkeypatch):
    """A slip in the environment variable names what it can be."""
    monkeypatch.setattr(jit._Tiers, "forced", None)
    monkeypatch.setenv("PLAUSIBLE_KERNELS", "fast")
    with pytest.raises(InvalidArgument, match="auto, interpreted, compiled"):
        jit.tier()


def test_who_switches_compiling_off_in_numba_gets_interpreted_kernels(monkeypatch):
    """As debuggers and coverage want it; our own variable says more."""
    monkeypatch.setattr(jit._Tiers, "forced", None)
    monkeypatch.delenv("PLAUSIBLE_KERNELS", raising=False)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert jit.tier() == "interpreted"
    monkeypatch.setenv("PLAUSIBLE_KERNELS", "auto")
    assert jit.tier() == "auto"


def test_a_folder_that_cannot_be_looked_into_has_no_machine_code(tmp_path, monkeypatch):
    """Names that are too long, and files in place of folders: an answer all the same."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(
        machine_code, "_folders", lambda: (tmp_path / ("x" * 300), tmp_path / "file", tmp_path / "none")
    )
    assert machine_code.compiled_names() == frozenset()


def test_folders_do_not_move_with_the_process(monkeypatch):
    """The background works elsewhere, and programs change their folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "cache")
    monkeypatch.setattr(machine_code, "_folders", machine_code._folders.__wrapped__)
    assert all(folder.is_absolute() for folder in machine_code._folders())


def test_jobs_for_other_types_are_other_jobs():
    """0 == 0.0 == False, but not to a compiler."""
    jobs = {background.Job.of(vectors.largest_of, (number,)) for number in (0, 0.0, False, 1)}
    assert len(jobs) == 3


def test_machine_code_is_known_by_content(tmp_path, monkeypatch):
    """The times of files don't matter, a change of any kernel does."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"# {name}")
    monkeypatch.setattr(machine_code, "_HOME", tmp_path)
    before = machine_code._content()
    os.utime(tmp_path / "a.py", (1, 1))
    assert machine_code._content() == before
    (tmp_path / "b.py").write_text("# changed")
    assert machine_code._content() != before


def test_kinds_of_arrays_make_arrays_of_their_kind():
    """What the compiler is told of an array: its type, axes, order, and whether it can be written to."""
    fixed = np.ones(3)
    fixed.setflags(write=False)
    arrays = [np.ones((2, 3)), np.ones((2, 3), order="F"), np.ones((4, 4))[::2, ::2], fixed, np.ones(2, dtype=np.int8)]
    for array in arrays:
        assert ArrayKind.of(ArrayKind.of(array).example()) == ArrayKind.of(array)


def _entries():
    """What other rooms import from kernels."""
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.parent.name != "kernels" and "plausible.kernels." in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plausible.kernels."):
                    yield from (getattr(import_module(node.module), alias.name) for alias in node.names)


def test_plausible_compile_meets_every_kernel():
    """The questions that it asks call all kernels that other rooms call."""
    with use_tier("interpreted"), background.recorded() as calls:
        use_all_kernels()
    called = {name for name, _ in calls}
    assert {entry.name for entry in _entries() if isinstance(entry, Kernel)} - called == RARE


@pytest.mark.slow  # compiles all kernels, which takes minutes
def test_both_tiers_agree_on_every_kernel(monkeypatch):
    """What `use_all_kernels` calls, interpreted and compiled, on copies of the same arguments."""
    calls = {}
    interpret, one_at_a_time = Kernel._interpret, RLock()  # threads write to one store

    def watched(self, *arguments):
        with one_at_a_time:
            before = copied(arguments)
            answer = interpret(self, *arguments)
            if len(calls.setdefault(self.name, [])) < 3:
                calls[self.name].append((self, before, copied(arguments), copied(answer)))
            return answer

    monkeypatch.setattr(Kernel, "_interpret", watched)
    with use_tier("interpreted"):
        use_all_kernels()
    for kernel, before, after, answer in (call for known in calls.values() for call in known):
        with use_tier("compiled"):
            compiled = kernel.dispatcher(*before)
        for one, other in zip(flat((compiled, before)), flat((answer, after)), strict=True):
            if one.dtype.names is None:
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12, err_msg=kernel.name)
            else:
                assert one.tolist() == other.tolist(), kernel.name


def test_blocks_of_several_threads_close_in_any_order():
    """Two open blocks are one run, which is over when both are."""
    first, second = jit.steady(), jit.steady()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert jit._Hold.number > 0
    second.__exit__(None, None, None)
    assert (jit._Hold.number, jit._Hold.num_calls) == (0, 1)


def test_a_damaged_file_of_machine_code_is_made_again(run_python):
    """Empty or cut, of either kind: nothing fails, and the next process finds it whole."""
    run = (
        "import numpy as np\nfrom plausible.kernels import jit, machine_code, vectors\n"
        "with jit.use_tier('compiled'):\n    print(vectors.largest_of(np.ones(2)))\n"
        "print(sum(vectors.largest_of.dispatcher.stats.cache_hits.values()))\n"
    )
    damages = [
        f"for file in machine_code.first_writable().glob('vectors.largest_of*.{ending}'):\n"
        f"    assert len(file.read_bytes()) > 20\n    file.write_bytes(file.read_bytes()[:{left}])\n"
        for ending in ("nbi", "nbc")
        for left in (0, 20)
    ]
    for damage in damages:  # each is made good by the next process, which then does the next damage
        assert run_python(run + damage) == ["1.0", "0"]
    assert run_python(run) == ["1.0", "0"]
    assert run_python(run) == ["1.0", "1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks exist on Unix only")
def test_a_forked_process_does_not_wait_for_locks_of_threads_that_it_has_not(run_python):
    """A lock that another thread held at the time of the fork is new in the child."""
    code = (
        "import os\nimport threading\nimport numpy as np\nfrom plausible.kernels import jit, vectors\n"
        "holder = threading.Thread(target=jit._ONE_AT_A_TIME.acquire)\nholder.start()\nholder.join()\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(int(vectors.largest_of(np.ones(2))))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert run_python(code) == ["1"]


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/plausible"),
        ("linux", {}, "~/.cache/plausible"),
        ("darwin", {}, "~/Library/Caches/plausible"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/plausible"),
        ("win32", {}, "~/AppData/Local/plausible"),
    ],
)
def test_machine_code_of_a_user_lies_where_caches_of_the_system_lie(monkeypatch, platform, variables, folder):
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert machine_code._user_folder() == Path(folder).expanduser()
