"""The exception tree."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from plausible import errors
from plausible.cpds.rows import BadRow

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


@pytest.mark.parametrize(
    "error",
    [
        errors.CyclicGraph([1, ("A", 2), "B"]),
        errors.FormatError("expected ';'", file="a.bif", line=3, column=7),
        BadRow((0, 2), "sums to 1.1, not to one"),
        errors.UnknownVariable.named("x", ["y"], "this network"),
        errors.MissingDependency.extra("polars", "scale"),
        errors.UnknownAttribute(BadRow, "raw", "Use row."),
        errors.MissingFile("No such file: 'x.csv'."),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_survive_copying_and_pickling(error, twin_of):
    """Message, class and the fields that it carries."""
    twin = twin_of(error)
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)


def test_every_error_with_a_constructor_of_its_own_says_how_to_be_copied():
    """Else unpickling would hand the message to a constructor that wants something else."""
    waiting, own = [errors.PlausibleError], []
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        own += [error] if "__init__" in vars(error) else []
    assert {errors.CyclicGraph, errors.FormatError, BadRow} <= set(own)
    assert all("__reduce__" in vars(error) for error in own)
