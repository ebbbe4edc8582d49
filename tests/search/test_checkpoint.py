"""Work that is ended by whatever goes on from its file to the same answer, bit for bit; what the file may hold."""

import errno
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import plausible
from plausible.data.stream_statistics import StreamStatistics
from plausible.errors import FormatError, InvalidArgument, MissingFile
from plausible.examples import load
from plausible.kernels.jit import use_tier
from plausible.learn.confidence.chains import sample_orders, sample_structures
from plausible.learn.confidence.resampling import bootstrap
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.structural_em import SEMRules, learn_structural_em
from plausible.learn.learned_structure import learn_structure
from plausible.learn.missingness.mechanisms import CompletelyAtRandom, hide
from plausible.learn.structures.knowledge import Knowledge
from plausible.search import checkpoint as checkpoints
from plausible.search.chains import ChainLengths
from plausible.search.checkpoint import Checkpoint, CheckpointNotWritten, checkpointed
from plausible.search.run import Stops, iterate, made

ASIA = load("asia")
ROWS = ASIA.sample(600, seed=1)[["smoke", "bronc", "lung", "either", "xray", "dysp"]]
HOLES = hide(ROWS, CompletelyAtRandom(0.15), seed=0).data
GRAPH = "smoke -> bronc -> dysp; smoke -> lung -> either -> dysp; either -> xray"
SHORT = ChainLengths(num_draws=20, num_chains=2, burn_in=20, thin=2)


def _em(checkpoint, **options):
    fit = learn_em(GRAPH, HOLES, **{"restarts": 2, "tolerance": 1e-8, **options}, checkpoint=checkpoint)
    return [run.trace for run in fit.runs], _tables(fit.network)


def _tables(network):
    return {name: cpd.values.tolist() for name, cpd in network.cpds.items()}


def _structure(checkpoint, data=ROWS, **options):
    found = learn_structure(data, **options, checkpoint=checkpoint)
    return found.graph, found.score, found.trace, found.stopped_by, found.num_steps


def _structural_em(checkpoint):
    rules = SEMRules(em_steps=5)
    fit = learn_structural_em(HOLES, "first-ascent", hidden={"H": 2}, restarts=1, rules=rules, checkpoint=checkpoint)
    return fit.graph, fit.runs, fit.trace, _tables(fit.network)


def _walks(sample):
    def walk(checkpoint):
        found = sample(ROWS, lengths=SHORT, seed=3, checkpoint=checkpoint)
        return found.strengths.edges.tolist(), found.log_posteriors.tolist(), found.graphs.adjacency.tolist()

    return walk


def _bootstrap(checkpoint):
    return bootstrap(ROWS, "first-ascent", num_samples=8, checkpoint=checkpoint).adjacency.tolist()


#: Name -> what gives an answer that can be compared.
CALLS = {
    "em": _em,
    **{
        f"em, {method}": lambda c, m=method: _em(c, method=m) for method in ("squared", "hybrid", "beam", "incremental")
    },
    "em by parameters": lambda c: _em(c, stopping="parameters", tolerance=1e-4),
    "hill climbing": lambda c: _structure(c, escapes=5),
    **{method: lambda c, m=method: _structure(c, method=m) for method in ("ges", "exact", "tabu", "orders")},
    "structure by structural EM": lambda c: _structure(c, HOLES, method="tabu"),
    "available rows": lambda c: _structure(c, HOLES, missing="available", method="first-ascent"),
    "structural EM": _structural_em,
    "draws of graphs": _walks(sample_structures),
    "draws of orders": _walks(sample_orders),
    "bootstrap": _bootstrap,
}


class _Killed(BaseException):
    """What stands for a signal that nobody can catch."""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file that is written whenever it can be; kernels run in one way, as the other sums in another order."""
    monkeypatch.setattr(checkpoints, "_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_TIMES", 0.0)
    with use_tier("interpreted"):
        yield tmp_path / "run.ckpt"


def _killed_after(monkeypatch, number):
    """Whatever comes after so many files that were written never happens."""
    write, written = Checkpoint.write, 0

    def killing(self):
        nonlocal written
        written += 1
        if written <= number:
            write(self)
        if written >= number:
            raise _Killed

    monkeypatch.setattr(Checkpoint, "write", killing)
    return write


@pytest.mark.parametrize("name", CALLS)
def test_what_was_killed_again_and_again_ends_as_if_it_had_not_been(path, monkeypatch, name):
    call, num_killed = CALLS[name], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = call(path.with_name("whole.ckpt"))
        write = _killed_after(monkeypatch, 2)
        while num_killed < 4:
            try:
                found = call(path)
                break
            except _Killed:
                num_killed += 1
                monkeypatch.setattr(Checkpoint, "write", write)
                _killed_after(monkeypatch, 2 + num_killed)
        monkeypatch.setattr(Checkpoint, "write", write)
        found = call(path) if num_killed == 4 else found
    assert num_killed > 0
    assert found == expected
    assert list(path.parent.iterdir()) == []


KILLED = """
import os, signal, sys
from plausible.search import checkpoint as checkpoints
sys.path[:0] = {paths!r}
import test_checkpoint as tests
checkpoints._SECONDS = checkpoints._TIMES = 0.0
replace, number = os.replace, 0
def killing(source, target):
    global number
    number += 1
    if number == {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
checkpoints.os.replace = killing
tests.{call}
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no signal that kills at once")
def test_a_process_that_is_killed_while_it_writes_is_gone_on_with(path, monkeypatch, tmp_path):
    """Two processes at work, ended by SIGKILL between a file that was written and its name."""
    ROWS.to_parquet(tmp_path / "rows.parquet", row_group_size=250)
    calls = {
        "_em({0!r})": lambda: _em(path.with_name("0.ckpt")),
        "_in_pieces({1!r}, {2!r})": lambda: _in_pieces(path.with_name("1.ckpt"), tmp_path / "rows.parquet"),
    }
    names = str(path.with_name("0.ckpt")), str(path.with_name("1.ckpt")), str(tmp_path / "rows.parquet")
    started = []
    for call in calls:
        code = KILLED.format(paths=[str(Path(__file__).parent), *sys.path], after=5, call=call.format(*names))
        command, env = [sys.executable, "-W", "ignore", "-c", code], {**os.environ, "PLAUSIBLE_KERNELS": "interpreted"}
        started.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE))
    for process, (call, again) in zip(started, calls.items(), strict=True):
        _, shown = process.communicate(timeout=240)
        assert process.returncode == -signal.SIGKILL, shown.decode()
        saved = Path(names[list(calls).index(call)])
        assert saved.exists()
        assert saved.with_name(f"{saved.name}.part").exists()
        assert again() == eval(call.format("", "", names[2]).replace("''", "None"))
        assert not saved.exists()
        assert not saved.with_name(f"{saved.name}.part").exists()


def _in_pieces(checkpoint, rows):
    return _structure(checkpoint or None, StreamStatistics(rows, max_bytes=0), escapes=3)


def test_runs_and_values_are_the_parts_of_work(path):
    told = []

    def work(saved, most):
        first = made(saved, lambda: told.append("made") or 5)
        stops = Stops(0.0, None, None, lambda state: state >= most, saved)
        run = iterate(
            lambda state: told.append(state) or state + 1, first, stops, ends=lambda s: "over" if s > 8 else ""
        )
        return run.state

    for most in (6, 8, 99):
        with checkpointed(path, "work", dict) as saved:
            state = work(saved, most)
    assert state == 9
    assert told == ["made", 5, 6, 7, 8]
    assert not path.exists()


def test_a_limit_leaves_the_file_and_more_time_goes_on(path):
    whole = _em(None)
    fit = learn_em(GRAPH, HOLES, restarts=2, tolerance=1e-8, time_limit=0.0, checkpoint=path)
    assert fit.stopped_by == "time limit"
    assert path.exists()
    assert learn_em(GRAPH, HOLES, restarts=2, tolerance=1e-8, progress=lambda s: True, checkpoint=path).num_steps == 1
    assert _em(path) == whole
    assert not path.exists()


def test_a_search_that_is_interrupted_asks_for_no_score_again(path):
    whole = _structure(None, escapes=5)
    first = learn_structure(ROWS, escapes=5, progress=lambda state: state.num_steps >= 4, checkpoint=path)
    assert first.stopped_by == "interrupted"
    again = _structure(path, escapes=5)
    assert again[0] == whole[0]
    assert again[1] == pytest.approx(whole[1], rel=1e-12)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 1}, "seed differs"),
        ({"restarts": 3, "tolerance": 1e-3}, "tolerance, restarts differ"),
        ({"method": "squared"}, "method differs"),
        ({"prior": "bdeu:1"}, "graph, prior or knowledge differs"),
    ],
)
def test_other_arguments_are_refused_by_name(path, change, told):
    learn_em(GRAPH, HOLES, time_limit=0.0, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match=told):
        learn_em(GRAPH, HOLES, time_limit=0.0, checkpoint=path, **change)
    assert path.read_bytes() == before


def test_other_data_and_other_calls_are_refused(path, tmp_path):
    learn_structure(ROWS, progress=lambda state: True, checkpoint=path)
    with pytest.raises(InvalidArgument, match="data differs"):
        learn_structure(ROWS.iloc[1:], checkpoint=path)
    with pytest.raises(InvalidArgument, match="knowledge differs"):
        learn_structure(ROWS, knowledge=Knowledge(max_parents=1), checkpoint=path)
    with pytest.raises(InvalidArgument, match="the call"):
        learn_em(GRAPH, HOLES, checkpoint=path)
    rows = tmp_path / "rows.parquet"
    ROWS.to_parquet(rows)
    path.unlink()
    learn_structure(StreamStatistics(rows), progress=lambda state: True, checkpoint=path)
    changed = ROWS.copy()
    changed.loc[3, "smoke"] = "yes" if changed.loc[3, "smoke"] == "no" else "no"
    changed.to_parquet(rows)
    with pytest.raises(InvalidArgument, match="data differs"):
        learn_structure(StreamStatistics(rows), checkpoint=path)


def test_a_file_of_another_version_is_refused(path, monkeypatch):
    learn_em(GRAPH, HOLES, time_limit=0.0, checkpoint=path)
    monkeypatch.setattr(plausible, "__version__", "99")
    with pytest.raises(InvalidArgument, match="the version of plausible"):
        learn_em(GRAPH, HOLES, checkpoint=path)


def test_what_is_no_checkpoint_or_damaged_is_told(path):
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match="no checkpoint"):
        learn_em(GRAPH, HOLES, checkpoint=path)
    path.unlink()
    learn_em(GRAPH, HOLES, time_limit=0.0, checkpoint=path)
    whole = path.read_bytes()
    for broken in (whole[:40], whole[: len(whole) // 2]):
        path.write_bytes(broken)
        with pytest.raises(FormatError, match="damaged: remove the file"):
            learn_em(GRAPH, HOLES, checkpoint=path)
    with pytest.raises(MissingFile, match="can't be written"):
        learn_em(GRAPH, HOLES, checkpoint=path.parent / "nowhere" / "run.ckpt")


class _Calls:
    def __init__(self, function, *arguments):
        self._call = function, arguments

    def __reduce__(self):
        return self._call


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (_Calls(os.system, "echo harm"), "system"),
        (_Calls(eval, "1"), "eval"),
        (_Calls(getattr, "text", "upper"), "getattr"),
        (_Calls(learn_structure, {"a": [0, 1]}), "learn.structure"),
    ],
    ids=["system", "eval", "getattr", "our function"],
)
def test_a_file_calls_nothing_but_what_states_are_made_of(path, harm, named):
    learn_em(GRAPH, HOLES, time_limit=0.0, checkpoint=path)
    magic, head, _ = path.read_bytes().split(b"\n", 2)
    path.write_bytes(b"\n".join([magic, head, pickle.dumps({"scores": harm}, protocol=2)]))
    with pytest.raises(FormatError, match=f"{named}.*do not trust the file"):
        learn_em(GRAPH, HOLES, checkpoint=path)


def test_a_name_within_our_modules_opens_no_way_out():
    """Protocol 4 can name what a module has imported, such as os.system by way of one of ours."""
    for name in ("os.system", "os", "json"):
        body = b"\x80\x04\x8c\x1bplausible.search.checkpoint\x8c" + bytes([len(name)]) + name.encode() + b"\x93."
        with pytest.raises(FormatError, match="do not trust"):
            checkpoints._Unpickler(io.BytesIO(body), ()).load()


def test_a_full_disk_is_told_and_nothing_is_lost(path, monkeypatch):
    whole = _em(None)
    learn_em(GRAPH, HOLES, restarts=2, tolerance=1e-8, progress=lambda s: True, checkpoint=path)
    before = path.read_bytes()
    monkeypatch.setattr(checkpoints.os, "fsync", _full)
    with pytest.warns(CheckpointNotWritten, match="No space left"):
        fit = learn_em(GRAPH, HOLES, restarts=2, tolerance=1e-8, progress=_after(3), checkpoint=path)
    assert fit.num_steps == 4
    assert path.read_bytes() == before
    monkeypatch.undo()
    assert _em(path) == whole


def _full(file):
    raise OSError(errno.ENOSPC, "No space left on device")


def _after(number):
    states = []
    return lambda state: states.append(state) or len(states) >= number


def test_the_head_of_a_file_says_what_was_asked(path):
    learn_em(GRAPH, HOLES, time_limit=0.0, checkpoint=path)
    head = json.loads(path.read_bytes().split(b"\n")[1])
    assert head["version"] == plausible.__version__
    assert {"the call", "data", "seed", "method"} <= set(head["asked"])


def test_files_are_written_no_oftener_than_is_cheap(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_SECONDS", 3600.0)
    written, write = [], Checkpoint.write
    monkeypatch.setattr(Checkpoint, "write", lambda self: written.append(write(self)))
    _em(tmp_path / "run.ckpt")
    assert written == []


def test_numbers_of_an_answer_are_numpy_s(path):
    """Arrays of all kinds that states hold come back as they were."""
    saved = Checkpoint(path, {})
    kept = [np.arange(3), np.float64(2.5), np.random.default_rng(3), {"a": {1, 2}}, np.array(["x", None], dtype=object)]
    for one in kept:
        saved.made(lambda one=one: one)
    saved.write()
    again = Checkpoint(path, {})
    found = [again.made(lambda: None) for _ in kept]
    np.testing.assert_array_equal(found[0], kept[0])
    assert found[1] == 2.5
    assert found[2].random() == kept[2].random()
    assert found[3] == kept[3]
    assert found[4].tolist() == ["x", None]
