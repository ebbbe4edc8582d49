"""Decision problems with worked numbers."""

from __future__ import annotations

from plausible.cpds import TableCPD
from plausible.decisions import Decision, InfluenceDiagram
from plausible.utilities import Utility

MARKET = TableCPD("M", [0.5, 0.3, 0.2], states=["m0", "m1", "m2"])
PROFIT = Utility(["M", "F"], [[0, -7], [0, 5], [0, 20]], name="profit")
SURVEY_ROWS = {"m0": [0.6, 0.3, 0.1], "m1": [0.3, 0.4, 0.3], "m2": [0.1, 0.4, 0.5]}


def entrepreneur():
    """Found a company or not, knowing nothing: the best is to found, for 2."""
    return InfluenceDiagram([MARKET], [Decision("F", ["f0", "f1"])], [PROFIT])


def surveyed(sees=()):
    """The same where S is what a survey says of the market, worth 1.25 to F, which may see it; the market, 3.5."""
    survey = TableCPD("S", SURVEY_ROWS, parents=["M"], states=["s0", "s1", "s2"])
    profit = Utility(["M", "F"], [[0, -7], [0, 5], [0, 20]], name="V")
    return InfluenceDiagram([MARKET, survey], [Decision("F", ["f0", "f1"], sees=sees)], [profit])


def entrepreneur_with_survey(cost=1.0):
    """The same after an optional survey at a cost: 2.25 by making it and founding unless it says s0."""
    rows = {("c0", market): [0, 0, 0, 1] for market in SURVEY_ROWS}
    rows |= {("c1", market): [*row, 0] for market, row in SURVEY_ROWS.items()}
    survey = TableCPD("S", rows, parents=["C", "M"], states=["s0", "s1", "s2", "none"])
    return InfluenceDiagram(
        [MARKET, survey],
        [Decision("C", ["c0", "c1"]), Decision("F", ["f0", "f1"], sees=["C", "S"])],
        [PROFIT, Utility("C", [0, -cost], name="cost")],
    )


def exam_chain(length, numbers, has_cause=True):
    """Decisions before exams, each seeing the last result and the last decision only; a hidden cause drives results."""
    chance = [TableCPD("M", [0.4, 0.6])] if has_cause else []
    for i in range(1, length + 1):
        parents = (["M"] if has_cause else []) + ([f"H{i - 1}"] if i > 1 else [])
        rows = numbers.dirichlet([1.0, 1.0], size=[2] * len(parents)) if parents else [0.3, 0.7]
        chance.append(TableCPD(f"H{i}", rows, parents=parents, states=[0, 1]))
    return InfluenceDiagram(
        chance,
        [Decision(f"D{i}", 2, sees=[f"H{i - 1}", f"D{i - 1}"] if i > 1 else []) for i in range(1, length + 1)],
        [Utility([f"H{i}", f"D{i}"], numbers.normal(size=(2, 2)), name=f"V{i}") for i in range(1, length + 1)],
    )


def relies_on(diagram):
    """For each decision those that it relies on."""
    graph = diagram.relevance_graph()
    return {name: graph.relied_on_by(name) for name in graph.decisions}
