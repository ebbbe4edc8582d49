"""Numbers to intervals and back."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.data.discretization import DISCRETIZATION_METHODS, Discretizer
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable

NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, -1.0, np.nan]), st.floats(-1e300, 1e300), st.sampled_from([1e-300, 1 + 2**-52])
)


@settings(max_examples=32, deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, st.sampled_from(["a", "b", "c"])), min_size=1, max_size=30),
    st.sampled_from(DISCRETIZATION_METHODS),
    st.integers(1, 6),
)
def test_intervals_part_the_line_and_there_and_back_changes_nothing(rows, method, bins):
    """Each number is within the limits of its interval, whatever the ties and outliers; once is as good as twice."""
    numbers, classes = np.array([row[0] for row in rows]), [row[1] for row in rows]
    frame = pd.DataFrame({"x": numbers, "c": classes})
    if not np.isfinite(numbers).any():
        with pytest.raises(InvalidArgument, match=r"'x' has no (finite number|value)"):
            Discretizer.fit(frame, method, bins, columns=["x"], target="c")
        return
    found = Discretizer.fit(frame, method, bins, columns=["x"], target="c")
    intervals = {interval.label: interval for interval in found["x"].intervals}
    assert len(intervals) == found["x"].variable.num_states <= (bins if method != "mdl" else 30)
    once = found.transform(frame)
    assert once["c"].tolist() == classes
    for number, label in zip(numbers, once["x"], strict=True):
        assert (label != label) == np.isnan(number)
        assert np.isnan(number) or intervals[label].low <= number
        assert np.isnan(number) or number < intervals[label].high or number == np.inf
    assert found.transform(found.inverse(once)).equals(once)
    assert Discretizer.from_json(found.to_json()) == found


def test_quantiles_of_different_values_are_equally_full():
    """A quarter of the rows each; ties never part."""
    rng = np.random.default_rng(1)
    labels = Discretizer.fit({"x": rng.normal(size=1000)}, bins=4).transform({"x": rng.permutation(8.0 * np.ones(4))})
    assert labels["x"].nunique() == 1
    x = rng.normal(size=1000)
    assert Discretizer.fit({"x": x}, bins=4).transform({"x": x})["x"].value_counts().tolist() == [250] * 4
    assert Discretizer.fit({"x": [0.0] * 90 + [1.0] * 5 + [2.0] * 5}, bins=4, columns=["x"])["x"].cuts == (0.5,)


def test_equal_widths_follow_the_range():
    """From the least to the greatest number."""
    found = Discretizer.fit({"x": [0.0, 9.0, None, 1.0, 2.5]}, "equal-width", bins=3)
    assert found["x"].cuts == pytest.approx((3.0, 6.0))
    assert found["x"].variable.states == ("below 3", "3 to 6", "from 6")
    labels = found.transform({"x": [1e300, -1e300, 3.0, None]})["x"].tolist()
    assert labels[:3] == ["from 6", "below 3", "3 to 6"]
    assert Discretizer.fit({"x": [-2.5, 9.5, 3.0]}, "equal-width", bins=4)["x"].cuts == pytest.approx((0.5, 3.5, 6.5))


def test_without_values_an_outer_interval_is_as_wide_as_its_neighbour():
    """Or, beside a single cut, as wide as that is large; what stands for an interval is its middle."""
    assert Discretizer.at({"x": [1.0, 3.0, 9.0]})["x"].representatives == (0.0, 2.0, 6.0, 12.0)
    assert Discretizer.at({"x": [4.0]})["x"].representatives == (2.0, 6.0)


def test_classes_beyond_the_range_of_powers_of_three_have_a_price():
    """log2(3^k - 2) is no overflow; two groups of classes are told apart, which no random mixture would be."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    data = {"x": x, "k": np.arange(3000) % 1000}
    assert Discretizer.fit(data, "mdl", target="k")["x"].cuts == ()


@pytest.mark.parametrize("seed", range(8))
def test_k_means_is_the_best_of_all_ways_to_cut(seed):
    """Against all choices of cuts."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=12), 1)

    def squares(parts):
        return sum(((part - part.mean()) ** 2).sum() for part in parts if part.size)

    values = np.unique(x)
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    best = min(squares([x[np.searchsorted(cuts, x) == i] for i in range(3)]) for cuts in combinations(middles, 2))
    codes = Discretizer.fit({"x": x}, "k-means", bins=3).encode({"x": x}).codes[0]
    assert squares([x[codes == i] for i in range(3)]) == pytest.approx(best)


def test_k_means_of_many_values_is_close_to_the_clusters():
    """More different values than are taken one by one."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 3000), rng.normal(100, 1, 500), rng.normal(1000, 1, 500)])
    cuts = Discretizer.fit({"x": x}, "k-means", bins=3)["x"].cuts
    assert 4 < cuts[0] < 96
    assert 104 < cuts[1] < 996


def test_supervised_cuts_are_where_the_class_changes():
    """Two changes are found, and noise is not cut."""
    rng = np.random.default_rng(2)
    x, noise = rng.uniform(0, 3, 600), rng.uniform(0, 3, 600)
    y = np.where((x > 1) & (x < 2), "in", "out")
    found = Discretizer.fit({"x": x, "noise": noise, "y": y}, "mdl", target="y")
    assert found["x"].cuts == pytest.approx((1, 2), abs=0.02)
    assert found["noise"].cuts == ()
    assert found["noise"].variable.states == ("any",)


@pytest.mark.parametrize(
    "counts", [(1, 0, 0, 1), (9, 1, 1, 9), (6, 4, 4, 6), (12, 4, 5, 9), (3, 0, 2, 1), (40, 20, 20, 40)]
)
def test_a_cut_stands_if_its_gain_exceeds_the_price_of_fayyad_and_irani(counts):
    """Two values with counts of two classes, by the formula."""

    def entropy(*parts):
        return -sum(part / sum(parts) * np.log2(part / sum(parts)) for part in parts if part)

    a, b, c, d = counts
    total, whole, left, right = sum(counts), entropy(a + c, b + d), entropy(a, b), entropy(c, d)
    gain = whole - ((a + b) * left + (c + d) * right) / total
    spread = 2 * whole - sum(n > 0 for n in (a, b)) * left - sum(n > 0 for n in (c, d)) * right
    price = (np.log2(total - 1) + np.log2(3**2 - 2) - spread) / total
    x = np.repeat([0.0, 0.0, 1.0, 1.0], counts)
    y = np.repeat(["p", "q", "p", "q"], counts).tolist()
    assert bool(Discretizer.fit({"x": x, "y": y}, "mdl", columns=["x"], target="y")["x"].cuts) == (gain > price)


def information(x, y):
    """Mutual information of two lists of labels."""
    joint = pd.crosstab(np.asarray(x), np.asarray(y)).to_numpy() / len(x)
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return float((joint[joint > 0] * np.log(joint[joint > 0] / expected[joint > 0])).sum())


@pytest.mark.parametrize("seed", range(5))
def test_hartemink_takes_the_merger_that_loses_least(seed):
    """One boundary fewer than at the start: the best of all choices, by the sum over all partners."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200)
    data = {"x": x, "y": (x + rng.normal(size=200) > 0).tolist(), "z": rng.integers(0, 3, 200).tolist()}
    fine = Discretizer.fit(data, "quantile", 5)["x"].cuts
    codes = [np.searchsorted([c for c in fine if c != gone], x, side="right") for gone in fine]
    kept = [information(code, data["y"]) + information(code, data["z"]) for code in codes]
    found = Discretizer.fit(data, "hartemink", 4, initial_bins=5)["x"].cuts
    assert found == tuple(c for c in fine if c != fine[int(np.argmax(kept))])


def test_hartemink_keeps_the_cut_that_matters_and_the_order_of_columns_does_not():
    """Y tells X above one from X below; quantiles alone would cut elsewhere."""
    rng = np.random.default_rng(0)
    x = rng.exponential(size=2000)
    data = {"x": x, "y": np.where(x > 2, 1.0, 0.0) + rng.normal(size=2000) / 10}
    found = Discretizer.fit(data, "hartemink", 2, initial_bins=20)
    assert found["x"].cuts == pytest.approx((2.0,), abs=0.3)
    turned = Discretizer.fit(dict(reversed(data.items())), "hartemink", 2, initial_bins=20)
    assert dict(turned) == dict(found)


@pytest.mark.parametrize("method", DISCRETIZATION_METHODS)
def test_a_weight_is_as_good_as_repeated_rows(method):
    """Also for what stands for an interval."""
    rng = np.random.default_rng(3)
    x, times = np.round(rng.normal(size=40), 2), rng.integers(0, 4, 40)
    y = (x > 0.3).tolist()
    weighted = Table.read({"x": x, "y": y}, weights=times)
    repeated = {"x": np.repeat(x, times), "y": np.repeat(y, times).tolist()}
    first, second = (Discretizer.fit(data, method, 3, target="y")["x"] for data in (weighted, repeated))
    assert first.cuts == pytest.approx(second.cuts)
    assert first.representatives == pytest.approx(second.representatives)


def test_whole_numbers_are_cut_where_named_and_tables_keep_weights():
    """An age in years has states; cut, it has three."""
    table = Table.read({"age": [3, 17, 40, 70], "z": ["a", "b", "a", "b"]}, weights=[1, 2, 3, 4])
    assert len(Discretizer.fit(table)) == 0
    known = Discretizer.at({"age": [18, 65]})
    encoded = known.encode(table)
    assert encoded.codes.tolist() == [[0, 0, 1, 2], [0, 1, 0, 1]]
    assert encoded.total == 10
    assert [str(v) for v in encoded.variables["age"].states] == ["below 18", "18 to 65", "from 65"]


def test_labels_are_short_and_differ():
    """As few digits as tell the cuts apart."""
    states = Discretizer.at({"x": [0.1 + 0.2, 1 / 3 + 100, 12345678.9]})["x"].variable.states
    assert states == ("below 0.3", "0.3 to 100", "100 to 12300000", "from 12300000")
    close = Discretizer.at({"x": [1.0, 1 + 2**-52, 1 + 2**-51]})["x"].variable.states
    assert len(set(close)) == 4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-(10**6), 10**6).map(lambda n: n / 997), min_size=1, max_size=6, unique=True))
def test_labels_miss_cuts_by_a_hundredth_of_the_way_to_their_neighbours(numbers):
    """A neighbour is a cut or what stands for an interval; with a digit less it would be more, if any is left."""
    column = Discretizer.at({"x": sorted(numbers)})["x"]
    first, *others = column.variable.states
    texts = [first.removeprefix("below "), *(state.split(" to ")[-1] for state in others[:-1])]
    assert others[-1] == f"from {texts[-1]}"
    assert [state.split(" to ")[0] for state in others[:-1]] == texts[:-1]
    for cut, text in zip(column.cuts, texts, strict=True):
        room = min(abs(cut - other) for other in (*column.cuts, *column.representatives) if other != cut) / 100
        assert abs(float(text) - cut) <= room
        digits = len(text.lstrip("-0.").replace(".", "").rstrip("0"))
        shorter = float(f"{cut:.{max(digits - 1, 1)}g}")
        assert digits <= 1 or abs(shorter - cut) > room


@pytest.mark.parametrize(
    ("ask", "error", "hint"),
    [
        (lambda: Discretizer.fit({"x": [1.0]}, "quantil"), InvalidArgument, "Did you mean 'quantile'"),
        (lambda: Discretizer.fit({"x": [1.5]}, bins=0), InvalidArgument, "positive whole number"),
        (lambda: Discretizer.fit({"x": [1.0]}, columns=["y"]), UnknownVariable, "'y'"),
        (lambda: Discretizer.fit({"x": ["a"]}, columns=["x"]), InvalidArgument, "no numbers to cut"),
        (lambda: Discretizer.fit({"x": [1.0], "y": [0.5]}, "mdl", target="y"), InvalidArgument, "continuous"),
        (lambda: Discretizer.at({"x": [2.0, 1.0]}), InvalidArgument, "increasing"),
        (lambda: Discretizer.at({"x": [2.0]}).transform({"y": [1.0]}), UnknownVariable, "'x'"),
        (lambda: Discretizer.at({"x": [2.0]}).inverse({"x": ["below 3"]}), UnknownState, "below 2"),
        (lambda: Discretizer.at({"x": [2.0]}).inverse({"x": [1.5]}), InvalidArgument, "numbers already"),
        (lambda: Discretizer.from_json("{}"), InvalidArgument, "to_json"),
        (lambda: Discretizer.fit({"age": [1.5]}, bins={"agee": 3}), UnknownVariable, "Did you mean 'age'"),
        (lambda: Discretizer.fit({"x": [1.5]}, target="z"), UnknownVariable, "'z'.*target"),
        (lambda: Discretizer.fit({"x": [1.5]}, columns=["x", "x"]), InvalidArgument, "'x' twice"),
        (lambda: Discretizer.fit({"x": [1.5, 2.5]}, "hartemink"), InvalidArgument, "only 'x'"),
        (lambda: Discretizer.at({"x": ["a"]}), InvalidArgument, "cuts of 'x'.*\\['a'\\]"),
        (lambda: Discretizer.at({"x": 1.0}), InvalidArgument, "cuts of 'x'.*1.0"),
    ],
)
def test_errors_name_the_place(ask, error, hint):
    """What was given, and what to do."""
    with pytest.raises(error, match=hint):
        ask()
