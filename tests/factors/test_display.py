"""Tables for people: text that lines up, HTML that is safe."""

from __future__ import annotations

import html.parser
import math

import pytest

from plausible.factors import Factor, GaussianFactor, MomentGaussian
from plausible.variables import Variable

NASTY = ["<script>alert(1)</script>", "a & b", '"quoted"', "it's", "</td></table>"]


class _Cells(html.parser.HTMLParser):
    """The text of each cell, and every tag used."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags, self._open = [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        self.cells[-1] += data


@pytest.mark.parametrize("names", [["X"], ["Y", "X"], ["X", "Y"]])
def test_html_shows_state_names_and_never_runs_them(names):
    """Every cell reads back as the text it stands for; no tag comes from a state or a name."""
    variables = {"X": Variable("X", NASTY), "Y": Variable("<i>Y</i>", ["<b>", "c"])}
    factor = Factor.from_flat([variables[name] for name in names], range(5 * (1 if names == ["X"] else 2)))
    parsed = _Cells(factor._repr_html_())
    assert parsed.tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    shown = " ".join(parsed.cells)
    assert all(state in shown for state in NASTY)


def test_text_tables_line_up_and_keep_rows_on_one_line():
    """Each row is one line; control characters in states are written out."""
    factor = Factor({"X": ["short", "two\nlines", "tab\tbed"]}, [1.0, 0.25, 1 / 3])
    lines = str(factor).splitlines()
    assert lines == [
        "X          |    value",
        "-----------+---------",
        "short      |        1",
        "two\\nlines |     0.25",
        "tab\\tbed   | 0.333333",
    ]


def test_the_last_variable_runs_across():
    """One row for each assignment to the others; repr is the same table."""
    factor = Factor({"A": ["x", "y"], "B": [1, 2]}, [[0.5, 0], [0, 0.5]])
    assert repr(factor).splitlines() == ["A | B=1 | B=2", "--+-----+----", "x | 0.5 |   0", "y |   0 | 0.5"]


def test_long_tables_are_cut_and_say_so():
    """Whole up to 60 rows, else an excerpt and how many rows are left; in text and in HTML. `max_rows` overrules."""
    factor = Factor.from_flat([Variable("A", 100), Variable("B", 2)], range(200))
    assert str(factor).splitlines()[-1] == "... 80 more rows"
    assert len(str(factor).splitlines()) == 23
    assert "80 more rows" in factor._repr_html_()
    assert str(factor.to_table(max_rows=99)).splitlines()[-1] == "... 1 more row"
    assert len(str(factor.to_table(max_rows=100)).splitlines()) == 102
    assert str(Factor.from_flat([Variable("A", 70)], range(70))).splitlines()[-1] == "... 50 more rows"
    assert len(str(Factor.from_flat([Variable("A", 60)], range(60))).splitlines()) == 62


def test_wide_tables_come_in_blocks_of_columns():
    """No line passes 120 characters; every block repeats the labels, and every number stands once."""
    factor = Factor.from_flat([Variable("A", ["left", "right"]), Variable("B", 40)], range(100, 180))
    blocks = str(factor).split("\n\n")
    assert len(blocks) > 1
    assert max(map(len, str(factor).splitlines())) <= 120
    assert all(block.splitlines()[2].startswith("left ") for block in blocks)
    shown = [cell.strip() for block in blocks for line in block.splitlines()[2:] for cell in line.split("|")[1:]]
    assert sorted(shown) == [str(number) for number in range(100, 180)]
    long_names = Factor({"A": ["x" * 130, "y"], "B": ["z" * 130, "w"]}, [[1, 2], [3, 4]])
    assert len(str(long_names).split("\n\n")) == 2, "a column that fits nowhere stands alone"


def test_constants_and_infinities_have_a_table_too():
    """A constant shows one number; infinities print as such."""
    assert str(Factor.scalar(2.5)) == "value\n-----\n  2.5"
    assert "-inf" in str(Factor({"X": 2}, [-math.inf, 0]))


def test_gaussians_show_their_parameters():
    """A row for each variable; the short form names the scope."""
    factor = GaussianFactor(["x", "<y>"], [[2.0, 1.0], [1.0, 3.0]], [0.5, 0.0], g=-1.0)
    assert repr(factor) == "GaussianFactor(x, <y>)"
    assert str(factor).splitlines()[-1] == "g = -1"
    assert "K[x]" in str(factor)
    assert "<y>" not in factor._repr_html_()
    moments = MomentGaussian(["x", "<y>"], [1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]])
    assert repr(moments) == "MomentGaussian(x: mean 1, variance 1; <y>: mean 2, variance 2)"
    many = MomentGaussian([f"x{i}" for i in range(9)], [0.0] * 9, [[float(i == j) for i in range(9)] for j in range(9)])
    assert repr(many).endswith("x5: mean 0, variance 1; ... 9 variables)")
    assert str(moments).splitlines()[-1] == "<y>      |    2 |    0.5 |        2"
    assert "<y>" not in moments._repr_html_()
