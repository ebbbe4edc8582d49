"""`plausible label`: texts in columns, trained on and tagged."""

from __future__ import annotations

import json

import pytest

import plausible as pb

TAGGED = "the D\ncat N\nsleeps V\n\na D\ndog N\nsees V\nthe D\ncat N\n"


@pytest.fixture
def trained(plausible, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tagged.txt").write_text(TAGGED)
    code, text, errors = plausible("label", "train", "tagged.txt", "-o", "model.json", "--variance", "10")
    assert (code, errors) == (0, "")
    assert text.startswith("model.json: 3 labels, ")
    return tmp_path


def test_a_text_is_tagged_as_the_library_would(plausible, trained):
    """A further cell in each line; from standard input too; the model is a ChainCRF."""
    (trained / "text.txt").write_text("a\ncat\nsleeps\n\nthe\ndog\n")
    _, text, _ = plausible("label", "tag", "model.json", "text.txt")
    assert text == "a D\ncat N\nsleeps V\n\nthe D\ndog N\n"
    assert plausible("label", "tag", "model.json", "-", piped=b"a\ncat\nsleeps\n\nthe\ndog\n")[1] == text
    crf = pb.learn.ChainCRF.load("model.json")
    assert crf.predict([[["0[0]=the", "first"], ["0[0]=dog", "last"]]]) == [["D", "N"]]


def test_labels_that_are_there_are_compared(plausible, trained):
    """Text and JSON tell how many are the same; the tagged text is a file."""
    _, text, _ = plausible("label", "tag", "model.json", "tagged.txt", "-o", "out.txt")
    assert text == "out.txt: 8 tokens of 2 sentences labelled, 8 as told\n"
    assert (trained / "out.txt").read_text().splitlines()[0] == "the D D"
    _, text, _ = plausible("label", "tag", "model.json", "tagged.txt", "--json")
    assert json.loads(text)["right"] == 8
    _, text, _ = plausible("label", "train", "tagged.txt", "-o", "again.json", "--json")
    assert json.loads(text)["tokens"] == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tain", "tagged.txt"), "'tain' is neither train nor tag. Did you mean 'train'"),
        (("train", "tagged.txt"), "Name the file for the model"),
        (("tag", "model.json"), "Write: plausible label tag MODEL FILE"),
        (("tag", "model.jsn", "tagged.txt"), "model.jsn"),
        (("tag", "tagged.txt", "tagged.txt"), "is no JSON"),
        (("tag", "model.json", "wide.txt"), "has 3 columns, but the model was trained on 1 and a label"),
        (("train", "ragged.txt", "-o", "m.json"), "ragged.txt: Line 2 has 1 column, but the first has 2"),
        (("train", "empty.txt", "-o", "m.json"), "There is no token in this text"),
        (("train", "one.txt", "-o", "m.json"), "one.txt has one column"),
    ],
)
def test_slips_are_told_in_a_line(plausible, trained, arguments, message):
    """Names, files and columns that do not fit."""
    for name, text in {"wide": "a b c\n", "ragged": "a N\nb\n", "empty": "\n\n", "one": "a\n"}.items():
        (trained / f"{name}.txt").write_text(text)
    code, text, errors = plausible("label", *arguments)
    assert (code != 0, text) == (True, "")
    assert message in errors.replace("\n", " ")
