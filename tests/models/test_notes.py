"""Notes on models."""

from __future__ import annotations

import pickle

import pytest

from plausible.models import Notes, VariableNotes


def test_notes_do_not_follow_later_changes_of_what_they_were_made_from():
    """They are values."""
    properties = {"a": "b"}
    notes = Notes(properties=properties, variables={"X": VariableNotes(properties=properties)})
    properties["a"] = "c"
    assert notes.properties["a"] == "b"
    assert notes.of("X").properties["a"] == "b"
    with pytest.raises(TypeError):
        notes.properties["a"] = "d"


def test_notes_are_equal_by_content_and_survive_pickling():
    """Mappings and all."""
    notes = Notes("n", "d", "r", {"a": "b"}, {"X": VariableNotes("l", "d", (1.0, 2.0), {"c": "d"})})
    assert pickle.loads(pickle.dumps(notes)) == notes
    assert notes != notes.with_variable("X", VariableNotes())


def test_notes_on_unknown_variables_are_empty():
    """And renaming moves them."""
    notes = Notes().with_variable("X", VariableNotes(label="l"))
    assert notes.of("Y") == VariableNotes()
    assert notes.renamed({"X": "Y"}).of("Y").label == "l"
    assert notes.renamed({"X": "Y"}).of("X") == VariableNotes()


def test_equal_notes_have_equal_hashes():
    """Whatever the order of their mappings; so they can be members of sets."""
    variables = {"X": VariableNotes("l", "d", (1.0, 2.0), {"c": "d", "e": "f"}), "Y": VariableNotes()}
    notes = Notes("n", "d", "r", {"a": "b", "g": "h"}, variables)
    turned = VariableNotes("l", "d", (1.0, 2.0), {"e": "f", "c": "d"})
    twin = Notes("n", "d", "r", {"g": "h", "a": "b"}, {"Y": VariableNotes(), "X": turned})
    assert notes == twin
    assert len({notes, twin, Notes()}) == 2
    assert len({VariableNotes(), variables["X"], turned}) == 2
