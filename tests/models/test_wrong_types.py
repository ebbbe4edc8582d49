"""Arguments of the wrong type are refused in the library's own words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import plausible as pb
from plausible.errors import (
    InvalidArgument,
    InvalidEvidence,
    InvalidGraph,
    InvalidModel,
    UnknownState,
    UnknownVariable,
)
from plausible.graphs import random
from plausible.inference import Pearl, RecursiveConditioning, VariableElimination
from plausible.models.satisfiability import CNF

NETWORK = pb.BayesianNetwork(pb.TableCPD("x", [0.5, 0.5]), pb.TableCPD("y", [[0.5, 0.5], [0.1, 0.9]], parents=["x"]))
ROWS = pd.DataFrame({"x": [0, 1, 1], "y": [1, 0, 1]})
GAUSSIAN = pb.BayesianNetwork(pb.LinearGaussianCPD("u", 0.0), pb.LinearGaussianCPD("v", 0.0, {"u": 1.0}))


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda: pb.BayesianNetwork(inputs=["q"]),
            InvalidModel,
            "inputs of a network are .* Variable objects, not 'q'",
        ),
        (lambda: pb.BayesianNetwork(inputs="q"), InvalidModel, "Variable objects, not 'q'"),
        (lambda: pb.BayesianNetwork(inputs=3), InvalidModel, "Variable objects, not 3"),
        (lambda: NETWORK.cpd(["x"]), UnknownVariable, r"\['x'\] is not a variable of this network"),
        (lambda: NETWORK.without_variable({"x"}), UnknownVariable, r"\{'x'\} is not a variable of this network"),
        (lambda: NETWORK.subnetwork(3), UnknownVariable, "3 is not a variable"),
        (lambda: NETWORK.query("y", do=["x"]), InvalidArgument, r"mapping, such as do=\{.*not \['x'\]"),
        (lambda: NETWORK.mpe(do=3), InvalidArgument, "An intervention is a mapping"),
        (lambda: NETWORK.intervene("x"), InvalidArgument, "An intervention is a mapping"),
        (lambda: NETWORK.query("y", evidence=["x"], do={"x": 1}), InvalidEvidence, "Evidence is a mapping"),
        (lambda: NETWORK.is_close(3), InvalidArgument, "another one or not; 3 is none"),
        (lambda: NETWORK.cpd("x").is_close("x"), InvalidArgument, "can't be compared with 'x'"),
        (lambda: NETWORK.to_markov_network().is_close(NETWORK), InvalidArgument, "MarkovNetwork is close to another"),
        (lambda: NETWORK.with_cpd(3), InvalidModel, "made of CPDs, not of 3"),
        (lambda: NETWORK.joint({"x": 0}), InvalidArgument, r"takes a number of entries.*query\(\[...\]\)"),
        (lambda: NETWORK.query({"x": 0}), InvalidArgument, r"names, not a mapping.*would be evidence="),
        (lambda: NETWORK.query({"z"}), UnknownVariable, "'z' is not a variable"),
        (lambda: NETWORK.query({"x", 3}), InvalidArgument, "name of a variable, not 3"),
        (lambda: NETWORK.derivatives(query="x"), InvalidArgument, r"a variable and its state.*not 'x'"),
        (lambda: NETWORK.derivatives(query=("x", 0, 1)), InvalidArgument, "a variable and its state"),
        (lambda: NETWORK.derivatives(query=3), InvalidArgument, "a variable and its state"),
        (lambda: NETWORK.log_probability({"y": 1}, engine="fast"), InvalidArgument, "engine= takes an engine"),
    ],
)
def test_a_wrong_type_is_named(ask: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()


SEEDED: dict[str, Callable[[Any], Any]] = {
    "network": lambda seed: NETWORK.sample(2, seed=seed),
    "network given evidence": lambda seed: NETWORK.sample(2, seed=seed, evidence={"y": 1}),
    "engine": lambda seed: NETWORK.compile().sample(2, seed=seed),
    "Markov network": lambda seed: NETWORK.to_markov_network().sample(2, seed=seed),
    "numbers": lambda seed: GAUSSIAN.sample(2, seed=seed, evidence={"v": 1.0}),
    "formula": lambda seed: CNF([["a"]]).find_model(seed=seed),
    "order": lambda seed: pb.graphs.elimination_order(NETWORK.graph, restarts=1, seed=seed),
    "edges": lambda seed: random.erdos_renyi_dag(3, 0.5, seed=seed),
    "bounded": lambda seed: random.bounded_dag(3, 1, seed=seed),
    "uniform": lambda seed: random.uniform_dag(3, seed=seed),
    "tree": lambda seed: random.random_tree(3, seed=seed),
    "polytree": lambda seed: random.random_polytree(3, seed=seed),
}


@pytest.mark.parametrize("seed", ["one", -1, 1.5, [1, "a"], {}, object()], ids=lambda seed: type(seed).__name__)
@pytest.mark.parametrize("kind", SEEDED)
def test_a_wrong_seed_is_named_by_everything_that_draws(kind: str, seed: Any) -> None:
    with pytest.raises(InvalidArgument, match="seed= takes a whole number that is not negative, or a numpy"):
        SEEDED[kind](seed)


@pytest.mark.parametrize("kind", SEEDED)
def test_numbers_and_generators_are_seeds(kind: str) -> None:
    assert str(SEEDED[kind](7)) == str(SEEDED[kind](np.random.default_rng(7))) == str(SEEDED[kind](np.int64(7)))


ENGINES = [
    VariableElimination(order=["x", "yy"]),
    RecursiveConditioning(order=["yy"]),
    Pearl(cutset=["yy"]),
]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_a_wrong_name_among_the_options_of_an_engine_gets_a_close_match(engine: Any) -> None:
    for ask in (
        lambda: NETWORK.query("x", engine=engine),
        lambda: NETWORK.log_probability({"x": 1}, engine=engine),
        lambda: NETWORK.to_markov_network().query("x", engine=engine),
    ):
        with pytest.raises(UnknownVariable, match=rf"'yy' is not.*{type(engine).__name__}\. Did you mean 'y'\?"):
            ask()


@pytest.mark.parametrize("kind", [VariableElimination, Pearl], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("names", [3, [3], ["x", None]], ids=str)
def test_orders_and_cutsets_are_names(kind: Any, names: Any) -> None:
    with pytest.raises(InvalidArgument, match="takes names of variables"):
        kind(names)


def test_a_set_of_targets_comes_in_the_order_of_the_network() -> None:
    names = [f"v{place}" for place in range(12)]
    network = pb.BayesianNetwork(*(pb.TableCPD(name, [0.5, 0.5]) for name in names))
    assert network.query(set(names[3:7])).names == tuple(names[3:7])
    assert network.query(frozenset(reversed(names[3:7]))).names == tuple(names[3:7])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[0, 1, 1]], columns=["x", "y", "y"]),
        pa.table([[0], [1], [1]], names=["x", "y", "y"]),
    ],
    ids=["pandas", "arrow"],
)
def test_a_repeated_column_is_named(frame: Any) -> None:
    with pytest.raises(InvalidArgument, match="The data has 2 columns 'y'; keep one of them"):
        NETWORK.log_likelihood(frame)
    with pytest.raises(InvalidArgument, match="The data has 2 columns 'y'"):
        NETWORK.compile().predict_proba(frame, "x")


def test_frames_without_repeated_columns_still_pass() -> None:
    for frame in (pd.DataFrame({"x": [0], "y": [1]}), pl.DataFrame({"x": [0], "y": [1]})):
        assert NETWORK.log_likelihood(frame).shape == (1,)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("A -> B", "with pb.learn.parameters('A -> B', frame), or give a CPD"),
        ("A -> B", "parents=['A']). The graph alone is pb.DAG('A -> B')."),
        (pb.DAG("A -> B"), "with pb.learn.parameters(graph, frame), or give a CPD"),
        (NETWORK, "That is a model already, and edits such as net.with_cpd(cpd) give a new one."),
        ([("A", "B")], "A graph has no probabilities"),
        (pb.DAG("A -> B").to_networkx(), "A graph has no probabilities"),
        ("alarm.bif", "pb.load('alarm.bif')"),
        (pd.DataFrame({"A": [1]}), "That is data: pb.learn.structure(frame)"),
        (NETWORK.cpds, "BayesianNetwork(cpds.values())"),
        (pb.Factor({"A": 2}, [0.5, 0.5]), "Factors make a MarkovNetwork"),
        ([pb.TableCPD("x", [0.5, 0.5]), "y"], "not of 'y'. A CPD is TableCPD('A', [0.3, 0.7])"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_network_of_something_else_than_distributions_says_what_to_call(given: Any, advice: str) -> None:
    """Graphs, files, data and factors are taken for what they are."""
    with pytest.raises(InvalidModel, match=re.escape(advice)) as refused:
        pb.BayesianNetwork(given)
    assert "pb.DAG(DAG(" not in str(refused.value)


def test_parts_by_name_offer_close_matches() -> None:
    """The mappings of a network say what is near an unknown name, and are ordinary mappings otherwise."""
    net = pb.examples.load("asia")
    for parts in (net.variables, net.cpds, net.to_markov_network().variables):
        with pytest.raises(UnknownVariable, match=r"'lnug' is not a variable of this network\. Did you mean 'lung'"):
            parts["lnug"]
        assert parts.get("lnug") is None
        assert "lnug" not in parts


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: VariableElimination(NETWORK), InvalidArgument, "net.query(names, engine=VariableElimination())"),
        (lambda: pb.JunctionTree(NETWORK), InvalidArgument, "net.query(names, engine=JunctionTree())"),
        (lambda: pb.inference.Enumeration(NETWORK), InvalidArgument, "net.query(names, engine=Enumeration())"),
        (lambda: NETWORK.query("y", {"x": [0.3, 0.7]}), InvalidEvidence, "write likelihood([0.3, 0.7]) for virtual"),
        (lambda: NETWORK.query("y", {"x": np.array([0.3, 0.7])}), InvalidEvidence, "write likelihood([0.3, 0.7])"),
        (lambda: NETWORK.query("y", {"x": [2, 3]}), UnknownState, "2 is not a state of 'x'"),
        (
            lambda: NETWORK.query("y", pd.DataFrame({"x": [1]})),
            InvalidEvidence,
            "not <DataFrame>. Rows of a frame are for net.compile().predict_proba(frame, target).",
        ),
        (lambda: pb.learn.structure(ROWS, "bic"), InvalidArgument, "'bic' is no method but a score: score='bic'."),
        (lambda: pb.learn.structure(ROWS, scoring="bic"), InvalidArgument, "Use score=."),
        (lambda: pb.MarkovNetwork("A - B"), InvalidModel, "not of 'A - B'. A graph has no numbers"),
        (lambda: pb.MarkovNetwork(NETWORK.cpd("x")), InvalidModel, "A distribution is made one by cpd.to_factor()"),
        (lambda: pb.DAG({"A": ["B"]}), InvalidGraph, "Can't read edges from a dict: give a list of pairs"),
        (lambda: pb.DAG(pd.DataFrame({"from": ["A"], "to": ["B"]})), InvalidGraph, "from a DataFrame"),
        (lambda: pb.load(NETWORK), InvalidArgument, "load(path) takes the name of a file"),
        (lambda: pb.save("x.bif", NETWORK), InvalidArgument, "save(model, path) takes the name of a file"),
    ],
)
def test_everyday_slips_are_answered_with_what_to_write(
    ask: Callable[[], object], error: type[Exception], message: str
) -> None:
    """Things in the place of others, as users of other libraries would put them."""
    with pytest.raises(error, match=re.escape(message)):
        ask()
