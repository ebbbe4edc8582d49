"""Loading and saving: by ending, packed or not, in the encodings of the wild, and never half a file."""

from __future__ import annotations

import gzip
import os
import pickle
import stat
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from random_networks import random_network, random_notes

from plausible import examples
from plausible.cpds import LinearGaussianCPD, LogisticCPD, NoisyOr, TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.errors import FormatError, InvalidArgument, MissingFile, NotRepresentable, RoundedProbabilities
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.io import FORMATS, load, load_diagram, load_markov_network, load_network, parse, save, to_text
from plausible.models import BayesianNetwork, MarkovNetwork
from plausible.utilities import Utility, load_session, save_session, visual_analog
from plausible.variables import Variable

NETWORK = BayesianNetwork(
    TableCPD("größe", [0.25, 0.75], states=["klein", "groß"]),
    TableCPD("B", [[0.5, 0.5], [0.1, 0.9]], parents=["größe"], states=["no", "yes"]),
)
WRITABLE = [format for format in FORMATS if format.write is not None]
ENDINGS = [(format.name, ending) for format in WRITABLE for ending in format.extensions]
NAMED = [(name, ending) for name, ending in ENDINGS if name != "UAI"]


@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_what_is_saved_is_loaded(tmp_path, name, ending, packed):
    path = tmp_path / f"net{ending}{packed}"
    save(NETWORK, path)
    assert load(path) == NETWORK
    assert load(str(path), format=name.lower()) == NETWORK
    assert path.read_bytes().startswith(b"\x1f\x8b") == bool(packed)


@pytest.mark.parametrize("ending", [ending for format in FORMATS for ending in format.extensions])
def test_an_ending_names_one_format_whatever_its_case(ending):
    assert ending == ending.lower()
    assert ending.startswith(".")
    assert sum(ending in format.extensions for format in FORMATS) == 1


def test_the_format_can_be_named(tmp_path):
    path = tmp_path / "net.txt"
    save(NETWORK, path, format="XDSL")
    assert load(path, format="xdsl") == NETWORK
    with pytest.raises(InvalidArgument, match=r"'.*net.txt' names no format; known are .json .bif .*format="):
        load(path)
    with pytest.raises(InvalidArgument, match=r"'xsdl' is not a file format. Did you mean 'XDSL'"):
        load(path, format="xsdl")


def test_the_same_model_gives_the_same_bytes(tmp_path):
    save(NETWORK, tmp_path / "one.json.gz")
    save(NETWORK, tmp_path / "two.json.gz")
    assert (tmp_path / "one.json.gz").read_bytes() == (tmp_path / "two.json.gz").read_bytes()


def test_text_goes_both_ways_by_the_name_of_the_format():
    for format in WRITABLE:
        if format.name != "UAI":
            assert parse(to_text(NETWORK, format.name), format.name.lower()) == NETWORK
    with pytest.raises(InvalidArgument, match="is not a file format"):
        to_text(NETWORK, "docx")


def test_formats_that_are_only_read_say_so(tmp_path):
    for format in FORMATS:
        if format.write is None:
            with pytest.raises(NotRepresentable, match=f"{format.name} files can be read but not written.*JSON"):
                save(NETWORK, tmp_path / f"net{format.extensions[0]}")


def test_a_missing_file_is_the_error_of_the_system(tmp_path):
    for name in ("none.bif", "none.json.gz"):
        with pytest.raises(FileNotFoundError, match="none"):
            load(tmp_path / name)
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(OSError, match="folder"):
        load(tmp_path / "folder.bif")


def test_a_missing_file_names_the_folder_and_files_like_it(tmp_path):
    """Close matches; else the files of a kind that can be read, not whatever lies there; or the missing folder."""
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(MissingFile) as nothing:
        load(tmp_path / "alarm.bif")
    assert str(nothing.value) == f"No such file: '{tmp_path}/alarm.bif', looked for in '{tmp_path}'."
    save(NETWORK, tmp_path / "net.json")
    with pytest.raises(MissingFile, match=r"Known: 'net\.json'\.$"):
        load(tmp_path / "alarm.bif")
    with pytest.raises(MissingFile, match=r"Did you mean 'net\.json'\?$"):
        load(tmp_path / "nett.json")
    with pytest.raises(MissingFile, match=r"There is no folder '.*nowhere'\.$"):
        load(tmp_path / "nowhere" / "net.json")


def test_a_missing_folder_to_write_into_is_named(tmp_path):
    """With folders like it; nothing is made unasked."""
    (tmp_path / "models").mkdir()
    with pytest.raises(MissingFile) as refused:
        save(NETWORK, tmp_path / "model" / "net.bif.gz")
    assert str(refused.value) == (
        f"'{tmp_path}/model/net.bif.gz' can't be written. There is no folder '{tmp_path}/model'. "
        "Did you mean 'models'? Make it first, or write elsewhere."
    )
    assert isinstance(refused.value, FileNotFoundError)
    with pytest.raises(MissingFile, match=r"There is no folder '.*nowhere'\. Make it first"):
        save_session(visual_analog(["tea"], worst="none", best="both"), tmp_path / "nowhere" / "money.json")
    with pytest.raises(MissingFile, match=r"No such file.*looked for in"):
        load_session(tmp_path / "money.json")
    assert [path.name for path in tmp_path.rglob("*")] == ["models"]


def test_the_name_of_an_example_is_no_file(tmp_path):
    """A bare name gets the way to the examples; the name of a file to write does not."""
    with pytest.raises(InvalidArgument, match=r"pb.examples.load\('asia'\)"):
        load("asia")
    with pytest.raises(InvalidArgument, match=r"format=.$"):
        save(NETWORK, tmp_path / "asia")


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_rounding_is_told_once_a_file_and_not_below_1e_9(tmp_path, format):
    """What a row misses one by is renormalised; a saved network is equal to itself when it is read."""
    path = tmp_path / f"net{format.extensions[0]}"
    for miss, told in ((1e-4, 1), (3e-10, 0), (3e-12, 0)):
        row = [0.25 + miss, 0.75]
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            network = BayesianNetwork(TableCPD("A", row), TableCPD("B", [row, row], parents=["A"]))
        text = to_text(
            BayesianNetwork(TableCPD("A", [0.25, 0.75]), TableCPD("B", [[0.25, 0.75]] * 2, ["A"])), format.name
        )
        path.write_text(text.replace("0.25", repr(row[0])))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded = load(path)
        assert ["3 rows in the tables of 2" in str(warning.message) for warning in caught] == [True] * told
        if format.name != "UAI":
            assert loaded.cpd("A").values.tolist() == network.cpd("A").values.tolist()
        save(loaded, path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert load(path) == loaded


def test_an_error_names_file_line_and_column(tmp_path):
    path = tmp_path / "bad.xmlbif"
    path.write_text("<BIF>\n  <NETWORKS/>\n</BIF>")
    with pytest.raises(FormatError) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}:2:3: <NETWORKS> is not expected")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.file, again.line, again.column) == (str(path), 2, 3)


@pytest.mark.parametrize("damage", ["cut", "garbage", "checksum", "not packed"])
def test_a_broken_gzip_file_is_an_error(tmp_path, damage):
    path = tmp_path / "net.json.gz"
    save(NETWORK, path)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "garbage":
        data[20:40] = os.urandom(20)
    elif damage == "checksum":
        data[-6] ^= 255
    else:
        data = bytearray(b"{}")
    path.write_bytes(data)
    with pytest.raises(FormatError, match="no complete gzip file"):
        load(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("plausible.io.files.MAX_BYTES", 10_000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 1_000_000))
    (tmp_path / "big.json").write_bytes(b" " * 20_000)
    with pytest.raises(FormatError, match="unpacks to more than 10000 bytes"):
        load(tmp_path / "bomb.json.gz")
    with pytest.raises(FormatError, match="more than 10000 bytes"):
        load(tmp_path / "big.json")


def test_a_small_file_that_unpacks_to_very_much_is_refused_before_it_costs_memory(tmp_path, monkeypatch):
    """A thousand times its size is what blanks unpack to; a file that is packed as files are has no such limit."""
    monkeypatch.setattr("plausible.io.files.MAX_UNPACKED", 1_000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 50_000_000))
    tracemalloc.start()
    with pytest.raises(FormatError, match=r"unpacks to more than \d+ bytes\. Unpack it first"):
        load(tmp_path / "bomb.json.gz")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    network = examples.load("asia")
    save(network, tmp_path / "asia.json.gz")
    assert len(to_text(network, "json")) > 1_000
    assert load(tmp_path / "asia.json.gz") == network


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
@pytest.mark.parametrize("ending", [".json", ".bif", ".xmlbif", ".net"])
def test_encodings_of_the_wild_are_read(tmp_path, ending, encoding):
    path = tmp_path / f"net{ending}"
    name = next(format.name for format in FORMATS if ending in format.extensions)
    text = to_text(NETWORK, name)
    if ending == ".xmlbif" and not encoding.startswith("utf-8"):
        text = text.replace("UTF-8", encoding)
    path.write_bytes(text.encode(encoding))
    assert load(path) == NETWORK


def test_a_declared_encoding_is_believed(tmp_path):
    path = tmp_path / "net.xdsl"
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5], states=["да", "нет"]))
    text = to_text(network, "XDSL").replace("UTF-8", "ISO-8859-5")
    path.write_bytes(text.replace("\\u0434\\u0430", "да").encode("iso-8859-5"))
    assert load(path) == network


@pytest.mark.parametrize("encoding", ["utf-16", "punycode", "rot13", "no-such-thing", "unicode_escape", "utf-7"])
def test_a_declared_encoding_that_can_not_be_is_passed_over(tmp_path, encoding):
    """A program said UTF-16 and wrote UTF-8; others name codecs that should not be run on files of strangers."""
    path = tmp_path / "net.xmlbif"
    path.write_bytes(to_text(NETWORK, "XMLBIF").replace("UTF-8", encoding).encode("utf-8"))
    assert load(path) == NETWORK


def test_a_mark_that_lies_is_an_error(tmp_path):
    path = tmp_path / "net.json"
    path.write_bytes(b"\xef\xbb\xbf{\xff}")
    with pytest.raises(FormatError, match="not UTF-8, as its mark says"):
        load(path)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(FormatError, match="not UTF-16"):
        load(path)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize(("name", "ending"), NAMED)
def test_lines_may_end_as_on_any_system(tmp_path, name, ending, newline):
    path = tmp_path / f"net{ending}"
    path.write_bytes(to_text(NETWORK, name).replace("\n", newline).encode())
    assert load(path) == NETWORK


def test_a_file_is_replaced_only_once_all_is_written(tmp_path):
    path = tmp_path / "net.xdsl"
    save(NETWORK, path)
    before = path.read_bytes()
    with pytest.raises(NotRepresentable):
        save(MarkovNetwork(Factor({"A": 2}, [1, 2])), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["net.xdsl"]


def test_a_file_keeps_its_permissions_and_links_stay_links(tmp_path):
    path, link = tmp_path / "net.json", tmp_path / "link.json"
    save(NETWORK, path)
    path.chmod(0o640)
    link.symlink_to(path)
    save(NETWORK, link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert load(path) == NETWORK


def test_half_a_surrogate_pair_is_kept_by_json_and_refused_elsewhere(tmp_path):
    network = BayesianNetwork(TableCPD("\ud800", [0.5, 0.5], states=["\udc00", "b"]))
    save(network, tmp_path / "net.json")
    assert load(tmp_path / "net.json") == network
    for name, ending in NAMED:
        path = tmp_path / f"net{ending}"
        try:
            save(network, path, format=name)
        except NotRepresentable as error:
            refusal = str(error)
        else:
            refusal = ""
            assert load(path, format=name) == network
        assert not refusal or ".json" in refusal


def test_a_model_too_large_for_tables_is_saved_as_json(tmp_path):
    parents = [TableCPD(Variable(f"P{i}", ["no", "yes"]), [0.5, 0.5]) for i in range(40)]
    network = BayesianNetwork(*parents, NoisyOr("Y", [cpd.variable for cpd in parents], [0.5] * 40))
    save(network, tmp_path / "net.json")
    assert load(tmp_path / "net.json") == network
    with pytest.raises(NotRepresentable, match=r"\.json"):
        save(network, tmp_path / "net.xmlbif")


def test_a_random_network_goes_through_every_named_format_and_back(tmp_path):
    rng = np.random.default_rng(5)
    network = random_network(rng, num_variables=8)
    network = network.with_notes(random_notes(rng, network))
    for _, ending in NAMED:
        save(network, tmp_path / f"net{ending}.gz")
        assert load(tmp_path / f"net{ending}.gz") == network


def test_a_warning_names_the_file_and_points_at_the_line_that_loads_it(tmp_path):
    path = tmp_path / "thirds.bif"
    path.write_text(
        "network a {}\nvariable A { type discrete [ 3 ] { a, b, c }; }\n"
        "probability ( A ) { table 0.3333, 0.3333, 0.3333; }\n"
    )
    with pytest.warns(RoundedProbabilities) as caught:
        load(path)
    assert [warning.filename for warning in caught] == [__file__]
    assert str(caught[0].message).startswith(f"{path}: 1 row ")
    with pytest.warns(RoundedProbabilities, match=r"^1 row ") as caught:
        parse(path.read_text(), "bif")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("ending", [ending for _, ending in ENDINGS])
@pytest.mark.parametrize("thing", [DAG("A -> B"), "net", None, Factor({"A": 2}, [1, 2])], ids=repr)
def test_what_is_no_model_is_refused_whatever_the_format(tmp_path, thing, ending):
    kind = type(thing).__name__
    with pytest.raises(NotRepresentable, match=f"or a model in time; this is a {kind}"):
        save(thing, tmp_path / f"thing{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", [format for format in WRITABLE if format.name != "UAI"], ids=lambda f: f.name)
def test_the_writers_themselves_refuse_what_is_no_model(format):
    with pytest.raises(NotRepresentable, match="this is a DAG"):
        format.write(DAG("A -> B"))


def test_a_folder_that_is_not_there_is_named_as_it_was_given(tmp_path):
    path = tmp_path / "none" / "a.bif"
    with pytest.raises(FileNotFoundError) as raised:
        save(NETWORK, path)
    assert raised.value.filename == str(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/a\.bif'$"):
        save(NETWORK, tmp_path / "file" / "a.bif")


@pytest.mark.parametrize(
    ("ending", "name"), [(ending, format.name) for format in FORMATS for ending in format.extensions]
)
def test_an_ending_names_its_format_too(ending, name):
    """So `format="hugin"` is NET."""
    if name in dict(NAMED):
        assert to_text(NETWORK, ending.removeprefix(".").upper()) == to_text(NETWORK, name)
    else:
        with pytest.raises(FormatError):
            parse("?", ending.removeprefix("."))


def test_a_distribution_without_a_table_is_not_representable(tmp_path):
    network = BayesianNetwork(LinearGaussianCPD("X", 0.0, [], 1.0, ()), LogisticCPD("Y", ["X"], [2.0], 0.5))
    with pytest.raises(NotRepresentable, match=r"NET files hold the CPD of 'Y' as a table only.*\.json"):
        save(network, tmp_path / "net.net")


def test_the_page_on_formats_names_every_ending_and_function():
    page = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text()
    for format in FORMATS:
        row = next(line for line in page.splitlines() if line.startswith(f"| {format.name} |"))
        assert all(f"`{ending}`" in row for ending in format.extensions), format.name
    for name in ("parse_uai_evidence", "format_uai_evidence", "parse_uai_result", "format_uai_result"):
        assert f"`{name}`" in page


MODELS = {
    "Bayesian network": (NETWORK, load_network),
    "Markov network": (MarkovNetwork(Factor({"A": 2}, [0.5, 1.5])), load_markov_network),
    "influence diagram": (
        InfluenceDiagram([], [Decision("bet", ["no", "yes"])], [Utility(["bet"], [0, 1])]),
        load_diagram,
    ),
}


@pytest.mark.parametrize("held", MODELS)
def test_the_doors_of_one_kind_open_for_that_kind_only(tmp_path, held):
    """Each reads what its name says; before any other file it says what that holds and which door is the right one."""
    model, right_door = MODELS[held]
    save(model, tmp_path / "model.json")
    packed = tmp_path / "model.json.gz"
    save(model, packed)
    assert right_door(tmp_path / "model.json") == right_door(packed, format="json") == load(packed) == model
    for wanted, (_, door) in MODELS.items():
        if door is not right_door:
            message = rf"holds an? {held}, not an? {wanted}. Load it with {right_door.__name__}\."
            with pytest.raises(FormatError, match=message) as caught:
                door(packed)
            assert caught.value.file == str(packed)


@pytest.mark.parametrize("held", ["XMLBIF", "XDSL", "JSON", "NET"])
def test_a_file_with_another_ending_says_what_it_looks_like(tmp_path, held):
    """A .bif file that is XML, say: which format it is, and how to name it; so named, it is read."""
    path = tmp_path / "model.bif"
    save(NETWORK, path, format=held)
    with pytest.raises(FormatError, match=rf"looks like {held}, and can't be read as BIF.*format='{held}'") as caught:
        load(path)
    assert caught.value.file == str(path)
    assert set(load(path, format=held).variables) == set(NETWORK.variables)
