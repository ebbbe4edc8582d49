"""Wrong calls: type checkers report each line that ends in `# wrong`, and no other (see `tests/test_types.py`)."""

from __future__ import annotations

import plausible as pb


def mistakes(net: pb.BayesianNetwork, graph: pb.DAG) -> None:
    pb.BayesNet("A")  # wrong
    pb.learn.strcture({"A": [0, 1]})  # wrong
    pb.learn.structure({"A": [0, 1]}, knowledge="A before B")  # wrong
    pb.learn.structure({"A": [0, 1]}, time_limit="1 s")  # wrong
    pb.learn.parameters(graph)  # wrong
    pb.learn.em(graph, {"A": [0, 1]}, restart=3)  # wrong
    net.qery("A")  # wrong
    net.query(3)  # wrong
    net.query("A", evidence="B=yes")  # wrong
    net.query("A").probability("yes")  # wrong
    repr(net.query("A").info.is_exact)  # wrong
    repr(net.mpe().info.errors)  # wrong
    net.sample("many")  # wrong
    pb.load(3)  # wrong
    pb.load("a.bif").qery("A")  # wrong
    pb.load_diagram("a.xdsl").query("A")  # wrong
    pb.examples.load("oil").query("A")  # wrong
    pb.save("a.bif", net)  # wrong
    pb.TableCPD("A", [0.5, 0.5], parent=["B"])  # wrong
    pb.TableCPD("A", [0.5, 0.5], states=2.5)  # wrong
    pb.Decision(["no", "yes"], sees=["forecast"])  # wrong
    pb.causal.identify("S -> C", effect="C", cause="S")  # wrong
