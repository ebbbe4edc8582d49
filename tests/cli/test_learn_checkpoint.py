"""`plausible learn --checkpoint`: a command that was killed goes on to the same network."""

import json

import pytest

import plausible as pb
from plausible.kernels.jit import use_tier
from plausible.learn.missingness.mechanisms import CompletelyAtRandom, hide
from plausible.search import checkpoint as checkpoints
from plausible.search.checkpoint import Checkpoint

WAYS = {
    "a search and samples": ["--bootstrap", "6", "--method", "first-ascent", "--seed", "2"],
    "gaps": ["--method", "first-ascent", "--missing", "sem"],
    "EM": ["--graph", "smoke -> bronc -> dysp; smoke -> lung"],
    "hidden": ["--graph", "H -> smoke; H -> bronc; H -> lung", "--hidden", "H=2", "--seed", "1"],
}


@pytest.fixture
def rows(tmp_path):
    """Some of the columns of asia, whole and with gaps."""
    whole = pb.examples.load("asia").sample(400, seed=1)[["smoke", "bronc", "lung", "dysp"]]
    whole.to_csv(tmp_path / "whole.csv", index=False)
    hide(whole, CompletelyAtRandom(0.1), seed=0).data.to_csv(tmp_path / "gaps.csv", index=False)
    return tmp_path


@pytest.fixture
def always_written(monkeypatch):
    """Files are written whenever they can be; kernels run in one way, as the other sums in another order."""
    monkeypatch.setattr(checkpoints, "_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_TIMES", 0.0)
    with use_tier("interpreted"):
        yield


class _Killed(BaseException):
    """What stands for a signal that nobody can catch."""


@pytest.mark.usefixtures("always_written")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_command_that_was_killed_again_and_again_ends_as_if_it_had_not_been(plausible, rows, monkeypatch, way):
    """After each file that it writes: the same network, the same words, and no file left; what is known stays known."""
    data = rows / ("gaps.csv" if way in (WAYS["gaps"], WAYS["EM"]) else "whole.csv")

    def learn(name, *more):
        code, text, errors = plausible(
            "learn", str(data), "-o", str(rows / name), "--json", "--no-progress", *way, *more
        )
        assert code == 0, errors
        return pb.load(rows / name), {**json.loads(text), "output": ""}

    expected = learn("expected.json", "--checkpoint", str(rows / "whole.ckpt"))
    write, num_killed = Checkpoint.write, 0
    kept = ["--checkpoint", str(rows / "run.ckpt")]
    for after in (1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 999):
        left = [after]

        def killing(saved, left=left):
            write(saved)
            left[0] -= 1
            if not left[0]:
                raise _Killed

        monkeypatch.setattr(Checkpoint, "write", killing)
        try:
            found = learn("found.json", *kept)
            break
        except _Killed:
            num_killed += 1
            assert (rows / "run.ckpt").exists() or "--graph" in way
    assert num_killed > 1
    assert found == expected
    assert not list(rows.glob("*.ckpt*"))


@pytest.mark.usefixtures("always_written")
def test_a_search_that_is_over_is_not_made_again_where_samples_were_killed(plausible, rows, monkeypatch):
    """The samples go on where they were; of the search, nothing is counted anew."""
    command = ["learn", str(rows / "whole.csv"), "-o", str(rows / "net.json"), "--no-progress", "--bootstrap", "6"]
    command += ["--checkpoint", str(rows / "run.ckpt"), "--method", "first-ascent"]
    write = Checkpoint.write

    def killing(saved):
        write(saved)
        if saved._path.name == "run.ckpt.samples" and len(saved._parts) == 2:
            raise _Killed

    monkeypatch.setattr(Checkpoint, "write", killing)
    with pytest.raises(_Killed):
        plausible(*command)
    counted = []
    counts_of = pb.data.TableStatistics.counts_of

    def counting(self, requests):
        counted.append(self.table)
        return counts_of(self, requests)

    monkeypatch.setattr(Checkpoint, "write", write)
    monkeypatch.setattr(pb.data.TableStatistics, "counts_of", counting)
    code, _, errors = plausible(*command)
    assert code == 0, errors
    whole = pb.Table.read(rows / "whole.csv")
    of_all = [table for table in counted if table.codes.tolist() == whole.codes.tolist()]
    assert len(of_all) == 1  # the tables of the network
    assert len({id(table) for table in counted} - {id(of_all[0])}) == 2  # the samples that were not known


def test_a_time_limit_leaves_the_files_and_another_question_is_refused(plausible, rows):
    command = ["learn", str(rows / "whole.csv"), "-o", str(rows / "net.json"), "--no-progress"]
    command += ["--checkpoint", str(rows / "run.ckpt")]
    code, _, errors = plausible(*command, "--time-limit", "0")
    assert code == 0, errors
    assert (rows / "run.ckpt").exists()
    code, _, errors = plausible(*command, "--score", "aic")
    assert code == 2
    assert "is of something else that was asked: score differs" in " ".join(errors.split())
    code, _, errors = plausible(*command)
    assert code == 0, errors
    assert not list(rows.glob("run.ckpt*"))


@pytest.mark.parametrize("options", [["--method", "pc"], ["--markov"], ["--latent", "2"]], ids=" ".join)
def test_what_has_nothing_to_keep_says_so(plausible, rows, options):
    where = ["-o", str(rows / "net.json"), "--checkpoint", str(rows / "run.ckpt")]
    code, _, errors = plausible("learn", str(rows / "whole.csv"), *where, *options)
    assert code == 2
    assert "--checkpoint keeps searches by score, samples of the rows and EM" in " ".join(errors.split())
