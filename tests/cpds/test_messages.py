"""What a caller gets wrong is named with the CPD it belongs to, as early as it can be known, and with the way out."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from plausible.cpds import (
    ConditionalGaussianCPD,
    LinearGaussianCPD,
    NoisyMax,
    NoisyOr,
    RuleCPD,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import InvalidCPD, RoundedProbabilities, UnknownState
from plausible.variables import Variable

A = Variable("A", ["x", "y"])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: TableCPD("B", [[0.1, 0.2], [0.9, 0.8]], ["A"]),
            r"for \[1\] sums to 1.7.*columns sum to one.*values\.T\.",
        ),
        (lambda: TableCPD("B", [[0.1, 0.2], [0.9, 0.8]], [A]), r"for A=y sums to 1.7.*columns sum to one.*values\.T\."),
        (
            lambda: TableCPD("B", [[0.1] * 4, [0.9] * 4], ["A", "C"]),
            r"needs shape \(\?, \?, 4\), not \(2, 4\).*values\.T\.reshape\(states of A, states of C, states of B\)",
        ),
        (
            lambda: TableCPD("B", [[0.1] * 4, [0.9] * 4], ["A", "C"], states=2),
            r"columns sum to one.*values\.T\.reshape",
        ),
        (lambda: TableCPD("B", [[0.5], [0.5]]), r"needs shape \(1,\), not \(2, 1\).*give a plain list"),
        (lambda: TableCPD("B", [0.2, 0.3, 0.5], states=2), r"needs shape \(2,\), not \(3,\)\.$"),
        (lambda: TableCPD("B", [[0.3, 0.3], [0.3, 0.3]], ["A"]), r"sums to 0\.6, not to one\.$"),
        (
            lambda: TableCPD("B", 2, [[0.5], [0.5]]),
            r"not 2\. The arguments are TableCPD\(variable, values, parents, st",
        ),
    ],
)
def test_the_layout_of_other_libraries_is_recognised(build: Callable[[], object], message: str) -> None:
    """The child's states down the columns, a column vector as prior, the number of states as second argument."""
    with pytest.raises(InvalidCPD, match=message):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: TableCPD("s", [[0.5, 0.5]] * 2, [Variable("oil", 3)]),
        lambda: TableCPD("s", [[0.5, 0.5]] * 2, ["oil"]).bind({"oil": Variable("oil", 3)}),
        lambda: TableCPD("s", [[0.2, 0.2], [0.8, 0.8]], ["oil"], states=["a", "b", "c"]),
        lambda: TableCPD("s", [[0.2, 0.2], [0.8, 0.8]], [A, Variable("C", 2)]),
        lambda: TableCPD("s", [[0.2, 0.2], [0.8, 0.8]]),
    ],
)
def test_only_a_table_that_fits_when_transposed_is_advised_to_be(build: Callable[[], object]) -> None:
    with pytest.raises(InvalidCPD, match="shape") as raised:
        build()
    assert "columns sum to one" not in str(raised.value)


def test_the_advised_transposition_is_the_right_one() -> None:
    """Columns with the last parent's state changing fastest, as others lay them out."""
    table = np.random.default_rng(3).dirichlet(np.ones(4), (2, 3))
    columns = np.array([[table[a, c, b] for a in range(2) for c in range(3)] for b in range(4)])
    np.testing.assert_array_equal(columns.T.reshape(2, 3, 4), table)
    assert TableCPD("B", columns.T.reshape(2, 3, 4), ["A", "C"]) == TableCPD("B", table, ["A", "C"])


@pytest.mark.parametrize(
    ("build", "place"),
    [
        (lambda: TableCPD("B", {"x": [1, 0], "z": [1, 0]}, [A]), "The row 'z' of 'B'"),
        (lambda: TreeCPD("B", Split("A", {"x": [1, 0], "z": [1, 0]}), [A]), "The split on 'A' in the tree of 'B'"),
        (lambda: RuleCPD("B", [({"A": "z"}, 0.5)], [A], states=2), r"The rule \{'A': 'z'\} of 'B'"),
        (lambda: NoisyOr("B", [A], [0.5], active_states={"A": "z"}), "The active state of a parent of 'B'"),
        (lambda: NoisyMax("B", [A], [{"x": [1, 0], "z": [1, 0]}]), "The row 'z' of 'B'"),
        (lambda: TableCPD("B", [[0.5, 0.5]] * 2, [A]).row({"A": "z"}), "The row of 'B'"),
        (lambda: ConditionalGaussianCPD("B", 0.0, {}, 1.0, [A]).given({"A": "z"}), "The assignment for 'B'"),
    ],
)
def test_an_unknown_state_says_in_which_cpd_it_stands(build: Callable[[], object], place: str) -> None:
    with pytest.raises(UnknownState, match=f"^{place}: 'z' is not a state of 'A'"):
        build()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: TableCPD("B", {"x": [0.5, 0.6]}, ["A"]), InvalidCPD, "The row 'x' of 'B' sums to 1.1"),
        (
            lambda: TableCPD("B", {"x": [1, 0], "y": [1, 0, 0]}, ["A"]),
            InvalidCPD,
            r"The row 'y' of 'B' has shape \(3,\)",
        ),
        (lambda: TableCPD("B", {"x": {"q": 1.0}}, ["A"], states=["r"]), UnknownState, "The row 'x' of 'B': 'q' is not"),
        (lambda: TableCPD("B", {"x": [1, 0]}, ["A", "C"]), InvalidCPD, "a state of each parent"),
        (
            lambda: TreeCPD("B", Split("A", {"x": [1, 0], "y": [1, 1]}), ["A"]),
            InvalidCPD,
            "The row 'A=y' of 'B' sums to 2",
        ),
        (
            lambda: TreeCPD("B", Split("A", {"x": [1, 0]}, default=[1]), ["A"]),
            InvalidCPD,
            "The row 'A=others' of 'B' has sh",
        ),
        (lambda: NoisyMax("B", ["A"], [[[1, 0], [1, 0.5]]]), InvalidCPD, r"The row 'A=\[1\]' of 'B' sums to 1.5"),
        (lambda: NoisyMax("B", ["A"], [{"x": [1, 0.5]}]), InvalidCPD, "The row 'A=x' of 'B' sums to 1.5"),
        (lambda: RuleCPD("B", [({"B": 7}, 0.5)], ["A"], states=2), UnknownState, "7 is not a state of 'B'"),
        (lambda: ConditionalGaussianCPD("B", [1, 2], {"Z": [1, 2, 3]}, 1.0, ["A", "Z"]), InvalidCPD, "arrays of 'B'"),
        (lambda: ConditionalGaussianCPD("B", [1, 2], {}, 1.0, ["A", "C"]), InvalidCPD, "one axis for each discrete"),
    ],
)
def test_what_is_wrong_with_the_child_shows_before_binding(
    build: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda p: TableCPD("B", {"x": [0.3334, 0.667], "y": [1, 0]}, p),
        lambda p: TreeCPD("B", Split("A", {"x": [0.3334, 0.667], "y": [1, 0]}), p),
        lambda p: NoisyMax("B", p, [[[0.3334, 0.667], [1, 0]]]),
    ],
)
def test_rounding_is_warned_about_once_and_only_at_binding(build: Callable[[object], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cpd = build(["A"])
    with pytest.warns(RoundedProbabilities) as caught:
        cpd.bind({"A": A})
    assert len(caught) == 1


@pytest.mark.parametrize("parents", ["A", [A]])
def test_a_linear_gaussian_on_a_discrete_parent_names_the_kind_to_use(parents: object) -> None:
    with pytest.raises(InvalidCPD, match=r"'A' of 'B' has states.*use ConditionalGaussianCPD"):
        LinearGaussianCPD("B", 0.0, [1.0], parents=parents).bind({"A": A})


def test_parents_that_are_no_variables_are_named() -> None:
    for parents in ([0.5], [["A"]], 5, [None]):
        with pytest.raises(InvalidCPD, match="The parents of 'B' are names or Variable objects, not"):
            TableCPD("B", [0.5, 0.5], parents)


def test_a_nested_mapping_is_no_tree() -> None:
    for tree in ({"A": {"x": [1, 0], "y": [0, 1]}}, {"x": [1, 0]}, {0: Split("A", {})}):
        with pytest.raises(InvalidCPD, match=r"A leaf in the tree of 'B'.*write Split\(parent"):
            TreeCPD("B", tree, ["A"])


def test_a_uniform_table_needs_states() -> None:
    for variable, parents in (("B", ["A"]), (A, ["C"]), (A, "C")):
        with pytest.raises(InvalidCPD, match=r"give Variable\('[BC]', \[...\]\), not a name"):
            TableCPD.uniform(variable, parents)
    with pytest.raises(InvalidCPD, match="nothing is its own parent"):
        TableCPD.uniform(A, A)
    with pytest.raises(InvalidCPD, match="continuous"):
        TableCPD.uniform(Variable("Z"))
    assert TableCPD.uniform(Variable("B", 4), A).values.tolist() == [[0.25] * 4] * 2
