"""The exception tree."""

from __future__ import annotations

import copy
import inspect
import pickle
import re

import pytest

import plausible as pb
from plausible import errors
from plausible.cpds.reading import BadRow

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
    assert all("__reduce__" in vars(error) or _takes_its_message(error) for error in own)


def _takes_its_message(error):
    """Whether the constructor takes the message first, which copies hand to it; they keep the attributes anyway."""
    first = next(iter(inspect.signature(error).parameters.values()))
    return first.name == "message" or first.kind is inspect.Parameter.VAR_POSITIONAL


ONE = pb.BayesianNetwork(pb.TableCPD("A", [0.25, 0.75]))
PAIR = pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", [[0.9, 0.1], [0.2, 0.8]], parents=["A"]))
ROW = pb.Table.read({"A": [1], "B": [0]}, [pb.Variable("A", 2), pb.Variable("B", 2)])


@pytest.mark.parametrize(
    "value",
    [
        *(
            ONE,
            ONE.to_markov_network(),
            ONE.to_factor_graph(),
            ONE.compile(),
            ONE.explain("A"),
            PAIR,
            PAIR.explain("A"),
        ),
        pb.Table.read({"A": [1]}),
        pb.learn.structure(ROW),
        pb.learn.em("A -> B", ROW),
        pb.learn.fit_parameters("A -> B", ROW),
        PAIR.evidence_impact("A", {"B": 1}),
        PAIR.sensitivity("A", 1, {"B": 1}, parameter=("B", {"A": 1}, 1)),
        pb.inference.MarkovChain([[1.0]]),
        pb.inference.QueryInfo("chains", exact=False, num_steps=1),
        pb.InfluenceDiagram(
            chance=[pb.TableCPD("rain", [0.8, 0.2])],
            decisions=[pb.Decision("umbrella", 2)],
            utilities=[pb.Utility(["rain", "umbrella"], [[1, 0.5], [0, 0.5]])],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_thing_is_not_counted_as_several(value):
    """No text says "1 rows"."""
    for text in (repr(value), str(value)):
        assert not re.search(r"(?<![\d.,])1 (more |free )?(?!is\b|less\b)[a-z]+s\b", text), text
