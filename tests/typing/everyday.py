"""The everyday calls, as type checkers see them: `tests/test_types.py` has them checked, and runs them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import plausible as pb


def build() -> pb.BayesianNetwork:
    net = pb.BayesianNetwork(
        pb.TableCPD("D", [0.6, 0.4], states=["easy", "hard"]),
        pb.TableCPD("I", [0.7, 0.3], states=["low", "high"]),
        pb.TableCPD(
            "G",
            parents=["I", "D"],
            states=["A", "B", "C"],
            values=[[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]],
        ),
        pb.TableCPD(
            "L", parents=["G"], states=["weak", "strong"], values={"A": [0.1, 0.9], "B": [0.4, 0.6], "C": [0.99, 0.01]}
        ),
    )
    assert_type(net.graph, pb.DAG)
    assert_type(net.variables, Mapping[str, pb.Variable])
    assert_type(net.cpd("G"), pb.cpds.CPD)
    assert_type(net.graph.d_separated("D", "I", given=["L"]), bool)
    pb.TableCPD("D", {"easy": 0.5, "hard": 0.5})
    pb.TableCPD("G", pd.DataFrame([[0.5, 0.5]], index=["easy"], columns=["A", "B"]), parents=["D"])
    pb.likelihood(pd.Series({"easy": 0.5, "hard": 0.25}))
    assert_type(net.with_cpd(pb.TableCPD("D", [0.5, 0.5], states=["easy", "hard"])), pb.BayesianNetwork)
    return net


def ask(net: pb.BayesianNetwork) -> None:
    answer = net.query("I", evidence={"L": "weak"})
    assert_type(answer, pb.Factor)
    assert_type(answer["low"], float)
    assert answer.info.exact
    assert net.mpe().info.error == 0.0
    assert_type(net.query(["I", "D"], do={"G": "A"}, evidence={"L": ["weak", "strong"]}), pb.Factor)
    assert_type(net.query("I", evidence={"L": pb.likelihood([0.2, 0.8])}), pb.Factor)
    assert_type(net.query("I", evidence={"L": pb.jeffrey([0.2, 0.8])}), pb.Factor)
    assert_type(net.marginals(evidence={"L": "weak"})["I"], pb.Factor)
    assert_type(net.log_probability({"L": "weak"}), float)
    best = net.mpe(evidence={"L": "weak"})
    assert_type(best, pb.Assignment)
    assert round(best.log_probability, 3) < 0
    assert_type(net.map(["I", "D"], evidence={"L": "weak"}), pb.Assignment)
    assert_type(net.k_best(3)[0], pb.Assignment)
    assert_type(net.sample(10, seed=0, evidence={"L": "weak"}), pd.DataFrame)
    assert_type(net.explain(["G"], budget=pb.Budget(seconds=1)).fits, bool)
    assert_type(net.query("I", engine=pb.VariableElimination(order=["D", "G", "L"])), pb.Factor)
    assert_type(net.sensitivity("I", "low", {"L": "weak"}, parameter=("D", {}, "easy")).solve(0.8), float | None)
    assert_type(net.tornado("I", "low", {"L": "weak"}), pd.DataFrame)


def ask_for_many_rows(net: pb.BayesianNetwork, frame: pd.DataFrame) -> None:
    engine = net.compile()
    assert_type(engine.predict_proba(frame[["D", "L"]], "I"), pd.DataFrame)
    assert_type(engine.predict_proba({"L": ["weak", None]}, "I"), pd.DataFrame)
    assert_type(engine.log_likelihood(frame), NDArray[np.float64])
    assert_type(engine.query("I"), pb.Factor)


def learn(net: pb.BayesianNetwork, frame: pd.DataFrame) -> None:
    assert_type(pb.learn.parameters(net.graph, frame, prior=pb.BDeu(10)), pb.BayesianNetwork)
    knowledge = pb.Knowledge(required=[("I", "G")], forbidden=[("G", "D")])
    found = pb.learn.structure(frame, method="hill-climbing", score="bic", knowledge=knowledge)
    assert_type(found, pb.learn.StructureResult)
    assert_type(found.graph, pb.DAG)
    assert_type(found.score, float)
    assert_type(found.network(prior=pb.BDeu(10)), pb.BayesianNetwork)
    fit = pb.learn.em(net.graph, frame, restarts=1, seed=0)
    assert_type(fit, pb.learn.EMFit)
    assert_type(fit.network, pb.BayesianNetwork)
    assert_type(fit.log_likelihood, float)
    assert_type(fit.converged, bool)
    assert_type(pb.learn.score(net.graph, frame, "bic"), float)
    assert_type(pb.learn.gradient_ascent(net, frame).network, pb.BayesianNetwork)


def reason_about_causes() -> None:
    graph = pb.CausalGraph("S -> T -> C; S <-> C")
    estimand = pb.causal.identify(graph, outcome="C", treatment="S")
    assert_type(estimand, pb.causal.Estimand)
    assert_type(estimand.latex, str)


def decide() -> pb.InfluenceDiagram:
    diagram = pb.InfluenceDiagram(
        chance=[
            pb.TableCPD("rain", [0.7, 0.3], states=["no", "yes"]),
            pb.TableCPD("forecast", {"no": [0.8, 0.2], "yes": [0.1, 0.9]}, parents=["rain"], states=["dry", "wet"]),
        ],
        decisions=[pb.Decision("take", ["no", "yes"], sees=["forecast"])],
        utilities=[pb.Utility(["rain", "take"], [[10, 6], [0, 8]])],
    )
    solution = diagram.solve()
    assert_type(solution.expected_utility, float)
    assert_type(solution.strategy, pb.Strategy)
    assert_type(solution.strategy["take"], pb.Factor)
    return diagram


def keep_in_files(net: pb.BayesianNetwork, diagram: pb.InfluenceDiagram, folder: str) -> None:
    pb.save(net, f"{folder}/net.bif")
    pb.save(diagram, f"{folder}/diagram.xdsl")
    assert_type(pb.load(f"{folder}/net.bif"), pb.BayesianNetwork | Any)
    assert_type(pb.load(f"{folder}/net.bif").query("I"), pb.Factor | Any)
    assert_type(pb.load_network(f"{folder}/net.bif").query("I"), pb.Factor)
    assert_type(pb.load_diagram(f"{folder}/diagram.xdsl").solve().expected_utility, float)
    model = pb.load(f"{folder}/diagram.xdsl")
    if isinstance(model, pb.InfluenceDiagram):
        assert_type(model.solve().expected_utility, float)


def take_examples() -> None:
    assert_type(pb.examples.load("asia"), pb.BayesianNetwork)
    assert_type(pb.examples.load("misconception"), pb.MarkovNetwork)
    assert_type(pb.examples.load("oil"), pb.InfluenceDiagram)
    assert_type(pb.examples.load(pb.examples.names()[0]), pb.BayesianNetwork | Any)


def everyday(folder: str) -> None:
    net = build()
    frame = net.sample(200, seed=0)
    ask(net)
    ask_for_many_rows(net, frame)
    learn(net, frame)
    reason_about_causes()
    keep_in_files(net, decide(), folder)
    take_examples()
