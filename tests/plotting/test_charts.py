"""Charts: one contract for all results that have them, and what they do with degenerate things."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from chart_subjects import FUNCTIONS, RESULTS, asia, drawn, given_axes, hmm, result, system
from plausible import plotting
from plausible.errors import InvalidArgument, UnknownAttribute
from plausible.models.question import Question
from plausible.models.sequences.state_estimates import StateEstimates
from plausible.plotting import Chart
from plausible.plotting.charts.chart_axes import ChartAxes, steps_of
from plausible.utilities import Lottery

SOURCE = Path(pb.__file__).parent
NAMES = (*RESULTS, *FUNCTIONS)
HOSTILE = ["$\\frac{1}{0}$", "_hidden", "a\nb\tc\x00", "<b>&", "%s {x}", "  ", "x" * 300, "Ωμέγα é", "\ud800", "$"]


def test_every_result_with_a_chart_is_looked_at_here():
    """The source is looked through for methods and for functions."""
    having = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "def plot(" in text:
            classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
            having |= {c.name for c in classes if any(getattr(part, "name", "") == "plot" for part in c.body)}
    assert having == {name.split()[-1] for name in RESULTS}
    reached = {name for path in SOURCE.rglob("*.py") for name in re.findall(r'chart_by\(\s*"(\w+)"', path.read_text())}
    doors = {name for name in plotting.__all__ if name.startswith("plot_")}
    assert doors == reached | set(FUNCTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_is_drawn_into_a_figure_of_its_own(name):
    """No window shows it, its axes are labelled, and it tells what is on it."""
    from matplotlib._pylab_helpers import Gcf

    chart = drawn(name)
    assert isinstance(chart, Chart)
    assert chart.is_own
    assert Gcf.get_all_fig_managers() == []
    assert chart.ax_.get_xlabel()
    assert chart.ax_.get_ylabel() or [label.get_text() for label in chart.ax_.get_yticklabels()]
    assert str(chart).splitlines()[0] == chart.title
    assert chart.says
    assert repr(chart) == f"<Chart: {chart.title}>"
    kept = (chart.lines_, chart.bars_, chart.bands_, chart.points_, chart.images_)
    assert any(kept)
    assert all(artist.axes.figure is chart.figure_ for artists in kept for artist in artists)
    check_all_can_be_read(chart)


def check_all_can_be_read(chart):
    """All texts lie within the figure; names of rows and of columns keep apart."""
    figure = chart.figure_
    figure.draw_without_rendering()
    shown, whole = texts_of(figure), figure.bbox
    for text in shown:
        box = text.get_window_extent()
        assert whole.x0 - 1 <= box.x0 <= box.x1 <= whole.x1 + 1, text
        assert whole.y0 - 1 <= box.y0 <= box.y1 <= whole.y1 + 1, text
    for labels in (chart.ax_.get_yticklabels(), chart.ax_.get_xticklabels()):
        boxes = [label.get_window_extent() for label in labels if label in shown and label.get_rotation() == 0]
        assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def texts_of(figure):
    from matplotlib.text import Text

    outside = {label for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for label in hidden_labels(axis)}
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in shown if text not in outside]


def hidden_labels(axis):
    """Those of ticks outside of the limits, which are there and not drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [label for t in ticks if not low <= t.get_loc() <= high for label in (t.label1, t.label2)]


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_is_drawn_into_given_axes(name):
    """On dark ones in light colours; nothing is drawn beside them."""
    with given_axes(facecolor="#111111") as ax:
        chart = drawn(name, ax)
        assert chart.ax_ is ax
        assert not chart.is_own
        assert ax.get_title(loc="left")
        assert "<img" not in chart._repr_html_()


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "HasChains"])
def test_nothing_is_computed_again(name, monkeypatch):
    """No question is read, and no run is begun, once the result is there; the chart tells the same each time."""
    found = result(name)
    first = found.plot()

    def refuse(*_args, **_options):
        raise AssertionError("computed again")

    monkeypatch.setattr(Question, "read", refuse)
    monkeypatch.setattr("plausible.search.run.iterate", refuse)
    again = found.plot()
    assert again.says == first.says


@pytest.mark.parametrize("name", ["Marginals", "joint Factor", "HasRun", "StateEstimates", "MissingnessReport"])
def test_a_notebook_shows_the_same_bits_each_time(name):
    """An image that says in words what it shows."""
    text = drawn(name)._repr_html_()
    assert text.startswith("<img alt=")
    assert drawn(name)._repr_html_() == text


def test_charts_are_written_as_files(tmp_path):
    """SVG with text as text, and without a date."""
    chart = drawn("Factor")
    assert chart.save(tmp_path / "a.svg").read_text() == drawn("Factor").save(tmp_path / "b.svg").read_text()
    text = (tmp_path / "a.svg").read_text()
    assert "48.9%</text>" in text
    assert "dc:date" not in text
    assert chart.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidArgument, match="says no format"):
        chart.save("a")


def test_computing_loads_no_matplotlib():
    """Nor does loading the room; only drawing does."""
    program = (
        "import sys, plausible as pb; net = pb.examples.load('asia'); net.query('lung');"
        "pb.plotting.plot_tornado;"
        "assert 'matplotlib' not in sys.modules; pb.Factor({'X': 2}, [0.5, 0.5]).plot();"
        "assert 'matplotlib' in sys.modules; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_who_lacks_matplotlib_is_told_what_to_install(monkeypatch):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(pb.PlausibleError, match=r"plausible\[plot\]"):
        drawn("Factor")


# --- what charts say ---


def test_bars_are_as_long_as_beliefs_are_large():
    """The numbers are those of the answer, from the first state on."""
    answer = asia().query("lung", {"xray": "yes"})
    chart = answer.plot()
    assert [bar.get_width() for bar in chart.bars_] == pytest.approx(answer.values.tolist())
    assert [text.get_text() for text in chart.texts_] == ["48.9%", "51.1%"]


def test_bars_of_a_tornado_go_from_low_to_high():
    """Both parts of a bar begin where the answer is now."""
    table = asia().tornado("lung", "yes", {"xray": "yes"}, limit=4)
    chart = plotting.plot_tornado(table)
    now = asia().query("lung", {"xray": "yes"})["yes"]
    starts = [bar.get_x() for bar in chart.bars_]
    assert starts == pytest.approx([now] * 8)
    ends = [now + bar.get_width() for bar in chart.bars_]
    assert ends == pytest.approx([*table["at_low"], *table["at_high"]])
    with pytest.raises(InvalidArgument, match="no table of a tornado"):
        plotting.plot_tornado(pd.DataFrame({"parameter": []}))


def test_bands_of_states_have_the_width_of_their_level():
    """The ends are those of `interval`."""
    estimates = result("StateEstimates")
    (band,) = estimates.plot(level=0.5).bands_
    ends = estimates.interval(0.5)["x1"]
    corners = band.get_paths()[0].vertices[:, 1]
    assert corners.min() == pytest.approx(ends["lower"].min())
    assert corners.max() == pytest.approx(ends["upper"].max())


def test_strips_of_beliefs_fill_the_whole_width():
    """From nothing to one, state by state."""
    chart = asia().marginals().plot()
    for row in range(8):
        bars = [bar for bar in chart.bars_ if round(bar.get_y() + bar.get_height() / 2) == row]
        assert sum(bar.get_width() for bar in bars) == pytest.approx(1.0)


def test_steps_are_numbers_dates_or_names():
    """Steps that do not rise come one after the other."""
    assert steps_of(pd.Index([2, 4, 9])).places.tolist() == [2, 4, 9]
    assert steps_of(pd.Index([2, 4, 9])).edges.tolist() == [1, 3, 6.5, 11.5]
    assert steps_of(pd.date_range("2020-01-01", periods=2)).are_dates
    assert steps_of(pd.Index(["a", "b"], name="t")).names == ("a", "b")
    assert steps_of(pd.Index([0, 1, 0])).places.tolist() == [0, 1, 2]
    assert steps_of(pd.RangeIndex(0)).edges.tolist() == []


# --- degenerate things ---


def factor(states, values, name="X"):
    return pb.Factor({name: states}, values)


DEGENERATE = {
    "one state": lambda ax: factor(["only"], [1.0]).plot(ax),
    "forty states": lambda ax: factor(list(map(str, range(40))), np.full(40, 1 / 40)).plot(ax),
    "many states": lambda ax: factor(list(map(str, range(300))), np.arange(300.0)).plot(ax),
    "no variable": lambda ax: pb.Factor({}, 0.25).plot(ax),
    "a table of no probabilities": lambda ax: factor(["a", "b"], [3.0, 0.5]).plot(ax),
    "hostile states": lambda ax: factor(HOSTILE, np.full(len(HOSTILE), 1 / len(HOSTILE)), "$_").plot(ax),
    "hostile names": lambda ax: (
        pb.BayesianNetwork(pb.TableCPD(name, [0.5, 0.5], states=["$", "_"]) for name in HOSTILE).marginals().plot(ax)
    ),
    "hostile series": lambda ax: plotting.plot_comparison(
        {name: factor(["a", "b"], [0.5, 0.5]) for name in HOSTILE}, ax
    ),
    "no marginals": lambda ax: type(asia().marginals())().plot(ax),
    "many variables": lambda ax: type(asia().marginals())(
        {f"X{i}": factor(["a", "b", "c"], [0.2, 0.5, 0.3]) for i in range(90)}
    ).plot(ax),
    "nothing learned": lambda ax: pb.learn.structure({"A": [0, 1, 0]}, method="first-ascent").plot(ax),
    "no findings": lambda ax: asia().evidence_impact("lung", {}).plot(ax),
    "a sure finding": lambda ax: asia().evidence_impact("lung", {"either": "no", "xray": "yes"}).plot(ax),
    "nothing to vary": lambda ax: plotting.plot_tornado(asia().tornado("lung", "yes", limit=0), ax),
    "one draw": lambda ax: plotting.plot_chains([[1.0]], ax),
    "infinite draws": lambda ax: plotting.plot_chains([[1.0, -np.inf, np.nan, 2.0, 3.0]], ax),
    "constant draws": lambda ax: plotting.plot_chains(np.ones((2, 30)), ax),
    "no steps": lambda ax: plotting.plot_states(hmm().smooth(["u"]).iloc[:0], ax),
    "one step": lambda ax: plotting.plot_states(hmm().smooth(["u"]), ax),
    "forty hidden states": lambda ax: plotting.plot_states(pd.DataFrame(np.full((5, 40), 1 / 40)), ax),
    "one step of numbers": lambda ax: system().smooth([1.0]).plot(ax),
    "nothing known": lambda ax: StateEstimates(
        ("x",), np.array([[np.nan], [1.0]]), np.array([[[np.inf]], [[1.0]]]), pd.RangeIndex(2)
    ).plot(ax),
    "a forecast of nothing seen": lambda ax: plotting.plot_forecast(
        system().forecast([np.nan], steps=1)["y1"], None, ax
    ),
    "no missing cells": lambda ax: pb.learn.missingness.diagnose_missing({"a": [1, 2]}).plot(ax),
    "no rows": lambda ax: pb.learn.missingness.diagnose_missing({"a": []}).plot(ax),
    "no estimates": lambda ax: plotting.plot_intervals({}, ax),
    "endless bounds": lambda ax: plotting.plot_intervals({"b": (-np.inf, np.inf), "n": np.nan}, ax),
    "a sure thing": lambda ax: Lottery({3: 1.0}).plot(ax),
    "no edges": lambda ax: pb.learn.confidence.EdgeStrengths(("A", "B"), np.zeros((2, 2)), None, None, "$").plot(ax),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("is_own", [True, False], ids=["own", "given"])
def test_degenerate_things_are_drawn_without_a_warning(name, is_own):
    """One state, no rows, infinite numbers, names that would be formulas elsewhere."""
    with given_axes() as ax:
        chart = DEGENERATE[name](None if is_own else ax)
    chart.figure_.draw_without_rendering()
    assert str(chart)
    assert not any(text.get_parse_math() and "$" in text.get_text() for text in texts_of(chart.figure_))


def test_what_has_no_chart_is_refused():
    """With what to give instead."""
    with pytest.raises(InvalidArgument, match="There are no distributions to compare"):
        plotting.plot_comparison({})
    with pytest.raises(InvalidArgument, match="compare distributions of the same variables"):
        plotting.plot_comparison({"a": asia().query("lung"), "b": asia().query("tub")})
    with pytest.raises(InvalidArgument, match="no numbers"):
        Lottery({"win": 1.0}).plot()
    with pytest.raises(InvalidArgument, match="'a' has no interval"):
        plotting.plot_intervals({"a": "high"})
    with pytest.raises(InvalidArgument, match="columns mean, lower and upper"):
        plotting.plot_forecast(pd.DataFrame({"mean": [1.0]}))
    with pytest.raises(InvalidArgument, match="a column of probabilities for each state"):
        plotting.plot_states({"rain": 1})


def test_several_sequences_are_no_chart_of_one():
    """They are refused with how to choose one, which is drawn as if it were alone."""
    rows = {"y1": [1.0, 2.0, 5.0, 4.0], "machine": ["A", "A", "B", "B"]}
    several = system().forecast(rows, 2, sequence="machine")["y1"]
    with pytest.raises(InvalidArgument, match=r"2 sequences.*as in forecast\.loc\['A'\]"):
        plotting.plot_forecast(several)
    alone = system().forecast([5.0, 4.0], 2)["y1"]
    one = plotting.plot_forecast(several.loc["B"], past=[5.0, 4.0])
    assert str(one) == str(plotting.plot_forecast(several.loc[["B"]])) == str(plotting.plot_forecast(alone))
    past = pd.Series(rows["y1"], pd.MultiIndex.from_arrays([rows["machine"], [0, 1, 0, 1]]))
    with pytest.raises(InvalidArgument, match=r"past has steps of 2 sequences.*past\.loc\['A'\]"):
        plotting.plot_forecast(several.loc["A"], past)
    with pytest.raises(InvalidArgument, match=r"2 sequences.*as in beliefs\.loc\[0\]"):
        plotting.plot_states(hmm().smooth([["u"], ["u", "u"]]))
    with pytest.raises(InvalidArgument, match=r"2 sequences.*one of them alone"):
        system().smooth([[1.0], [2.0]]).plot()
    with pytest.raises(InvalidArgument, match=r"2 sequences.*one of them alone"):
        system().innovations([[1.0], [2.0]]).plot()


@pytest.mark.parametrize(
    "times", [pd.Index([3, 1, 2], name="day"), pd.DatetimeIndex(["2026-03", "2026-01", "2026-02"])]
)
def test_steps_are_drawn_in_the_order_of_time(times):
    """Where an index tells times; numbers without a name may be of rows that were shuffled before."""
    beliefs = pd.DataFrame({"rain": [0.3, 0.1, 0.2], "dry": [0.7, 0.9, 0.8]})
    assert "rain: from 0.1 to 0.3" in str(plotting.plot_states(beliefs.set_axis(times)))
    assert "rain: from 0.3 to 0.2" in str(plotting.plot_states(beliefs.set_axis([3, 1, 2])))


def test_beliefs_can_have_the_sequences_and_times_of_their_rows():
    """As the docstring of `plot_states` says: the rows have them as columns and as index."""
    model = hmm()
    name, states = next((n, v.states) for n, v in model.variables.items() if n != "state")
    rows = pd.DataFrame({"town": list("BABA"), "day": [2, 2, 1, 1], name: [*states[:2], states[0], states[0]]})
    beliefs = model.smooth(rows.set_index(["town", "day"], drop=False), sequence="town", time="day")
    alone = model.smooth(list(rows[name][[3, 1]]))
    assert str(plotting.plot_states(beliefs.loc["A"])) == str(plotting.plot_states(alone))


def test_what_is_no_forecast_of_a_number_is_refused():
    """The answer for all variables, states, and texts."""
    forecast = pd.DataFrame({"mean": ["a"], "lower": [1.0], "upper": [2.0]})
    with pytest.raises(InvalidArgument, match=r"such as forecast\['y1'\]"):
        plotting.plot_forecast(system().forecast([1.0]))
    with pytest.raises(InvalidArgument, match="plot_states draws"):
        plotting.plot_forecast(next(iter(hmm().forecast(["u"]).values())))
    with pytest.raises(InvalidArgument, match=r"forecast has columns of numbers, which \['mean'\] are not"):
        plotting.plot_forecast(forecast)
    with pytest.raises(InvalidArgument, match="column of numbers observed before"):
        plotting.plot_forecast(forecast.assign(mean=1.5), past=["a"])
    with pytest.raises(InvalidArgument, match=r"shape \(1, 2\)"):
        plotting.plot_forecast(forecast.assign(mean=1.5), past=[[1.0, 2.0]])
    with pytest.raises(InvalidArgument, match=r"which \['town'\] are not: leave them out"):
        plotting.plot_states(pd.DataFrame({"rain": [0.5], "town": ["A"]}))


def test_what_is_asked_by_other_names_gets_advice():
    """And what is no place to draw is refused by what it is."""
    factor, picture = asia().query("lung"), asia().graph.picture()
    for value, name, advice in [
        (picture, "show", "picture.save"),
        (picture, "plot", "to_axes"),
        (factor.plot(), "show", "chart.save"),
        (factor.plot(), "ax", "ax_"),
    ]:
        with pytest.raises(UnknownAttribute, match=advice):
            getattr(value, name)
    for draw in (factor.plot, picture.to_axes):
        with pytest.raises(InvalidArgument, match=r"ax= takes the axes of one chart.*not ndarray"):
            draw(np.zeros(2))
    with pytest.raises(InvalidArgument, match="'a' is no distribution, but int"):
        plotting.plot_comparison({"a": 3})
    with pytest.raises(InvalidArgument, match="mutual-information"):
        asia().picture(strengths="mi")


def test_colours_follow_the_paper():
    """Those of dark paper on dark axes, also where the axes are clear and the figure is dark."""
    with given_axes() as ax:
        assert ChartAxes(ax, "").paper == "#ffffff"
        ax.figure.set_facecolor("black")
        ax.set_facecolor("none")
        assert ChartAxes(ax, "").paper == "#15181d"
