"""The exception tree."""

from __future__ import annotations

import inspect
import pickle

import pytest

from plausible import errors

ERRORS = [
    thing
    for _, thing in inspect.getmembers(errors, inspect.isclass)
    if issubclass(thing, errors.PlausibleError) and thing is not errors.PlausibleError
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_is_also_a_builtin_that_callers_expect(error):
    """All derive from PlausibleError and from one of the builtin exceptions."""
    builtin = [base for base in error.__mro__ if base.__module__ == "builtins"]
    assert set(builtin) - {BaseException, Exception, object}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_the_tree_in_the_module_docstring_is_complete(error):
    """The drawing at the top of the module names every class."""
    assert f"{error.__name__} " in (errors.__doc__ or "")


def test_messages_are_not_quoted_as_key_errors_are():
    """`str` gives the sentence, though the class is a KeyError."""
    error = errors.UnknownVariable.named("Grss", ["Grass", "Rain"], "this network")
    assert str(error) == "'Grss' is not a variable of this network. Did you mean 'Grass'?"


def test_a_format_error_leads_to_the_place():
    """File, line and column stand before the problem, and survive pickling."""
    error = errors.FormatError("expected ';'", file="a.bif", line=3, column=7)
    assert str(error) == "a.bif:3:7: expected ';'"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_cycle_is_named_node_by_node():
    """The cycle's nodes are there to read and to use."""
    error = errors.CyclicGraph(["A", "B"])
    assert error.cycle == ("A", "B")
    assert "A -> B -> A" in str(error)
