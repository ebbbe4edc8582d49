"""The content of every kind of CPD as text and HTML, and read access to its parts."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import numpy as np
import pytest

from plausible.cpds import (
    CPD,
    ConditionalGaussianCPD,
    DeterministicCPD,
    LinearGaussianCPD,
    LogisticCPD,
    Multiplexer,
    NoisyMax,
    NoisyOr,
    Rule,
    RuleCPD,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.factors import MomentGaussian
from plausible.variables import Variable

A, B = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"])
TREE = Split("B", {"b0": {"y": 0.75, "x": 0.25}, ("b1", "b2"): Split("A", {"a0": [0.5, 0.5]}, default=[1.0, 0.0])})

SHOWN: list[tuple[str, Callable[[], CPD], list[str]]] = [
    (
        "table",
        lambda: TableCPD("X", [[0.25, 0.75], [1, 0]], [A]),
        [
            "A  |  X=0 |  X=1",
            "---+------+-----",
            "a0 | 0.25 | 0.75",
            "a1 |    1 |    0",
        ],
    ),
    (
        "table by position",
        lambda: TableCPD("X", [[0.5, 0.5], [1, 0]], ["A"]),
        [
            "A   | X=0 | X=1",
            "----+-----+----",
            "[0] | 0.5 | 0.5",
            "[1] |   1 |   0",
        ],
    ),
    (
        "table by key",
        lambda: TableCPD("X", {"a1": {"y": 0.75, "x": 0.25}, "a0": [1, 0]}, ["A"], ["x", "y"]),
        [
            "P(X=[x, y] | A)",
            "a1: [0.25, 0.75]",
            "a0: [1, 0]",
        ],
    ),
    (
        "deterministic",
        lambda: DeterministicCPD("X", lambda a: a[1], [A]),
        [
            "A  | X",
            "---+--",
            "a0 | 0",
            "a1 | 1",
        ],
    ),
    (
        "function",
        lambda: DeterministicCPD("X", max, ["A", "B"], 2),
        [
            "X = max(A, B)",
        ],
    ),
    (
        "tree",
        lambda: TreeCPD("X", TREE, [A, B], ["x", "y"]),
        [
            "P(X=[x, y] | A, B)",
            "B=b0: [0.25, 0.75]",
            "B=b1|b2:",
            "  A=a0: [0.5, 0.5]",
            "  A=a1: [1, 0]",
        ],
    ),
    (
        "tree by name",
        lambda: TreeCPD("X", TREE, ["A", "B"], ["x", "y"]),
        [
            "P(X=[x, y] | A, B)",
            "B=b0: [0.25, 0.75]",
            "B=b1|b2:",
            "  A=a0: [0.5, 0.5]",
            "  A=others: [1, 0]",
        ],
    ),
    (
        "leaf",
        lambda: TreeCPD("X", [0.5, 0.5], [A]),
        [
            "P(X=[0, 1] | A)",
            "always: [0.5, 0.5]",
        ],
    ),
    (
        "rules",
        lambda: RuleCPD("X", [({"X": 0}, 0.25), ({"X": [1, 2]}, 0.375)], [A], 3),
        [
            "P(X | A)",
            "X=0: 0.25",
            "X=1|2: 0.375",
        ],
    ),
    (
        "noisy-or",
        lambda: NoisyOr("X", [A, B], [0.8, 0.5], 0.1, active_states={"B": "b1"}),
        [
            "cause  | X=True",
            "-------+-------",
            "A=a1   |    0.8",
            "B=b1   |    0.5",
            "(leak) |    0.1",
        ],
    ),
    (
        "noisy-max",
        lambda: NoisyMax("X", [A], [[[1, 0], [0.25, 0.75]]]),
        [
            "cause  |  X=0 |  X=1",
            "-------+------+-----",
            "A=a0   |    1 |    0",
            "A=a1   | 0.25 | 0.75",
            "(leak) |    1 |    0",
        ],
    ),
    (
        "multiplexer",
        lambda: Multiplexer("X", A, ["L", "R"], states=2),
        [
            "A=a0: X = L",
            "A=a1: X = R",
        ],
    ),
    (
        "logistic",
        lambda: LogisticCPD("X", [A, Variable("Z"), B], [2, -1, [0, 3, 4]], 0.5),
        [
            "log-odds against X=False | X=True",
            "-------------------------+-------",
            "(intercept)              |    0.5",
            "A (a0=0, a1=1)           |      2",
            "Z                        |     -1",
            "B=b0                     |      0",
            "B=b1                     |      3",
            "B=b2                     |      4",
        ],
    ),
    (
        "softmax",
        lambda: LogisticCPD("X", ["Z"], [[2, -1]], [0.5, 0]),
        [
            "log-odds against X=0 | X=1 | X=2",
            "---------------------+-----+----",
            "(intercept)          | 0.5 |   0",
            "Z                    |   2 |  -1",
        ],
    ),
    (
        "gaussian",
        lambda: LinearGaussianCPD("X2", -3.5, {"X1": 0.5}, 4.0),
        [
            "X2 ~ N(-3.5 + 0.5 X1, 4)",
        ],
    ),
    (
        "gaussian signs",
        lambda: LinearGaussianCPD("Y", 0, {"U": -1, "V": -2, "W": 1}),
        [
            "Y ~ N(-U - 2 V + W, 1)",
        ],
    ),
    (
        "gaussian prior",
        lambda: LinearGaussianCPD("Y"),
        [
            "Y ~ N(0, 1)",
        ],
    ),
    (
        "clg",
        lambda: ConditionalGaussianCPD("Y", [1, 2], {"Z": [0.5, -1]}, 4, [A, Variable("Z")]),
        [
            "Y | A=a0 ~ N(1 + 0.5 Z, 4)",
            "Y | A=a1 ~ N(2 - Z, 4)",
        ],
    ),
    (
        "clg by name",
        lambda: ConditionalGaussianCPD("Y", 1, {"Z": [0.5, -1]}, 4, ["A", "Z"]),
        [
            "Y | A=[0] ~ N(1 + 0.5 Z, 4)",
            "Y | A=[1] ~ N(1 - Z, 4)",
        ],
    ),
]


@pytest.mark.parametrize(("build", "lines"), [(b, t) for _, b, t in SHOWN], ids=[name for name, *_ in SHOWN])
def test_the_text_shows_the_content(build: Callable[[], CPD], lines: list[str]) -> None:
    assert str(build()).splitlines() == lines


@pytest.mark.parametrize("build", [build for _, build, _ in SHOWN], ids=[name for name, *_ in SHOWN])
def test_html_shows_what_the_text_shows(build: Callable[[], CPD]) -> None:
    """Without tags and escapes, the same words and numbers."""
    cpd = build()
    words = html.unescape(re.sub(r"<[^>]*>", " ", cpd._repr_html_())).split()
    text = re.sub(r"^-[-+]*$", " ", str(cpd), flags=re.MULTILINE)
    if "+-" in str(cpd) or cpd._repr_html_().startswith("<table>"):
        text = text.replace(" | ", " ")
    assert words == text.split()


def test_names_can_neither_run_in_html_nor_break_lines() -> None:
    cpd = LinearGaussianCPD("<b>\n", 0.0, {"<script>": 1.0})
    assert "<script>" not in cpd._repr_html_()
    assert str(cpd) == "<b>\\n ~ N(<script>, 1)"


def test_long_contents_are_cut_and_say_so() -> None:
    wide = Variable("W", 100)
    tree = TreeCPD("X", Split("W", {i: [i / 100, 1 - i / 100] for i in range(100)}), [wide])
    assert str(tree).splitlines()[-1] == "... 80 more lines"
    many = NoisyOr("X", [Variable(f"P{i}", 2) for i in range(99)], [0.5] * 99)
    assert str(many).splitlines()[-1] == "... 80 more rows"
    function = DeterministicCPD("X", lambda w: w % 2, [wide])
    assert len(str(function).splitlines()) == 23
    states = TreeCPD("X", [0.05] * 20, [A])
    assert str(states).splitlines()[1] == f"always: [{', '.join(['0.05'] * 12)}, ...]"


@pytest.mark.parametrize("parents", [[A, B], ["A", "B"]], ids=["variables", "names"])
def test_the_tree_of_a_tree_builds_it_again(parents: list[object]) -> None:
    cpd = TreeCPD("X", TREE, parents, ["x", "y"])
    assert isinstance(cpd.tree, Split)
    assert cpd.tree.variable == "B"
    assert TreeCPD(cpd.variable, cpd.tree, parents) == cpd


def test_the_parts_of_other_kinds_can_be_read() -> None:
    copy = Multiplexer("Y", A, [Variable("L", 2), Variable("R", 2)])
    assert (copy.selector, [parent.name for parent in copy.inputs]) == (A, ["L", "R"])
    logistic = LogisticCPD("X", [A, B], [1.5, [0, 1, 2]], codes={"A": [-1, 1]})
    assert {name: codes.tolist() for name, codes in logistic.codes.items()} == {"A": [-1.0, 1.0]}
    assert str(Rule({"A": "a0", "X": ("x", "y")}, 0.25)) == "A=a0, X=x|y: 0.25"


def test_a_row_of_a_gaussian_is_its_mean_and_variance() -> None:
    row = LinearGaussianCPD("Y", 1.0, {"Z": 2.0}, 4.0).row({"Z": 3})
    assert isinstance(row, MomentGaussian)
    assert (row.names, row.mean.tolist(), row.covariance.tolist()) == (("Y",), [7.0], [[4.0]])
    mixed = ConditionalGaussianCPD("Y", [1, 2], {"Z": [0.5, -1]}, [4, 9], [A, Variable("Z")])
    row = mixed.row({"Z": 3.0, "A": "a1"})
    assert isinstance(row, MomentGaussian)
    assert (row.means, row.variances) == ({"Y": -1.0}, {"Y": 9.0})
    constant = LinearGaussianCPD("Y", 1.0, variance=0.0).row()
    assert isinstance(constant, MomentGaussian)
    np.testing.assert_array_equal(constant.covariance, [[0.0]])
