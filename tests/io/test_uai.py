"""UAI: models, evidence and results by number; hostile counts are refused before anything is allocated."""

from __future__ import annotations

import contextlib
import math
import time
import warnings

import numpy as np
import pytest
from random_networks import random_network
from tests.io.text_samples import check_refused

from benchmark_networks import benchmark_text
from plausible.cpds import LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import (
    FormatError,
    InvalidArgument,
    NotRepresentable,
    RoundedProbabilities,
    UnknownState,
    UnknownVariable,
)
from plausible.factors import Factor
from plausible.io.bif import parse_bif
from plausible.io.uai import format_uai, parse_uai
from plausible.io.uai_answers import (
    UAIResult,
    format_uai_evidence,
    format_uai_result,
    parse_uai_evidence,
    parse_uai_result,
)
from plausible.models import BayesianNetwork, MarkovNetwork
from plausible.variables import Variable
from seeds import few_of

CHAIN = """c a chain of three
BAYES
3
2 2 3
3
1 0
2 0 1
2 1 2

2
 0.436 0.564

4
 0.128 0.872
 0.920 0.080

6
 0.210 0.333 0.457
 0.811 0.000 0.189
"""

TRIANGLE = """MARKOV
3
2 2 3
2
2 0 1
3 2 0 1

4
1.5 0 0.25 3

12
1 2 3 4 5 6 7 8 9 10 11 12
"""


def test_a_bayesian_network_has_the_child_last_in_each_scope():
    network = parse_uai(CHAIN)
    assert isinstance(network, BayesianNetwork)
    assert [(name, variable.states) for name, variable in network.variables.items()] == [
        ("0", ("0", "1")),
        ("1", ("0", "1")),
        ("2", ("0", "1", "2")),
    ]
    assert network.cpd("2").parent_names == ("1",)
    assert network.cpd("1").to_factor()[{"0": "1", "1": "0"}] == 0.92
    assert network.cpd("2").to_factor()[{"1": "1", "2": "2"}] == 0.189


def test_the_last_variable_of_a_scope_changes_fastest():
    network = parse_uai(TRIANGLE)
    assert isinstance(network, MarkovNetwork)
    assert network.factors[0][{"0": "1", "1": "0"}] == 0.25
    numbers = iter(range(1, 13))
    for two in "012":
        for zero in "01":
            for one in "01":
                assert network.factors[1][{"2": two, "0": zero, "1": one}] == next(numbers)


def test_line_breaks_and_functions_in_any_order_do_not_matter():
    text = " ".join(CHAIN.split("\n", 1)[1].split())
    assert parse_uai(text) == parse_uai(CHAIN)
    assert parse_uai(CHAIN.replace("\n", "\r\n")) == parse_uai(CHAIN)
    turned = "bayes 2 2 2 2  2 0 1  1 0  4 0.5 0.5 1 0  2 0.25 0.75"
    assert list(parse_uai(turned).variables) == ["0", "1"]


def test_constants_and_variables_without_functions_are_kept():
    text = "MARKOV 2  2 3  2  0  1 0   1 2.5   2 1 1"
    network = parse_uai(text)
    assert network.factors[0] == Factor.scalar(2.5)
    assert list(network.variables) == ["0", "1"]
    assert parse_uai(format_uai(network)) == network


def test_rows_that_miss_one_by_rounding_are_renormalised():
    with pytest.warns(RoundedProbabilities, match="1 row"):
        network = parse_uai(CHAIN.replace("0.457", "0.4575"))
    np.testing.assert_allclose(network.cpd("2").to_table().values.sum(axis=-1), 1, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "Expected BAYES or MARKOV, but the file ends here"),
        ("MARKVO 1", (1, 1), "starts with BAYES or MARKOV, not with 'MARKVO'. Did you mean 'MARKOV'?"),
        ("MARKOV\n  x", (2, 3), "Expected the number of variables, a whole number, found 'x'"),
        ("MARKOV\n-1", (2, 1), "found '-1'"),
        ("MARKOV 2.0", (1, 8), "found '2.0'"),
        ("MARKOV 1_0", (1, 8), "found '1_0'"),
        ("MARKOV 3 2 2", (1, 8), "is 3: the file is too short"),
        ("MARKOV 1 0 0", (1, 10), "Variable 0 has no states"),
        ("MARKOV 1 2\n\n99", (3, 1), "The number of functions is 99"),
        ("MARKOV 1 2 1\n1 1 2 1 1", (2, 3), "the index of a variable, a whole number below 1, found '1'"),
        ("MARKOV 2 2 2 1\n2 0 0 2 1 1", (2, 1), "Variable 0 stands twice"),
        ("MARKOV 1 2 1 1 0\n3 1 2 3", (2, 1), "needs 2 numbers; it says 3"),
        ("MARKOV 1 2 1 1 0\n2 1", (2, 4), "Expected 2 more words, but the file has only 1"),
        ("MARKOV 1 2 1 1 0\n2 1 one", (2, 5), "Expected a finite number, found 'one'"),
        ("MARKOV 1 2 1 1 0\n2 1 inf", (2, 5), "found 'inf'"),
        ("MARKOV 1 2 1 1 0\n2 1 1e999", (2, 5), "found '1e999'"),
        ("MARKOV 1 2 1 1 0\n2 1 -2", (2, 5), "function 0 has a negative number"),
        ("MARKOV 1 2 1 1 0\n2 1 2 3", (2, 7), "Expected the end of the file, found '3'"),
        ("MARKOV 1 2 1 1 0\n2 1 ²", (2, 5), "in ASCII, found '²'"),
        ("BAYES 1 2 1 1 0\n2 0.5 0.6", (2, 3), "sums to 1.1"),
        ("BAYES 1 2 2 1 0 1 0\n2 0.5 0.5 2 0.5 0.5", (1, 1), "Variable 0 is the child, the last in scope, of 2"),
        ("BAYES 2 2 2 1 1 0\n2 0.5 0.5", (1, 1), "Variable 1 is the child, the last in scope, of no function"),
        ("BAYES 0 1 0\n1 1", (1, 1), "empty scope"),
        ("BAYES 2 1 1 2 2 0 1 2 1 0\n1 1 1 1", (2, 3), "directed cycle"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_uai, text, part, place)


@pytest.mark.parametrize(
    "text",
    [
        "MARKOV 1 1000000000000 0",
        "MARKOV 1 1000000000 1 1 0 1000000000 1",
        "BAYES 1 1000000000 1 1 0 1000000000 1",
        "MARKOV 1000000000000",
        "MARKOV " + "9" * 1_000_000,
        "MARKOV 200000 " + "1000000 " * 200_000 + "0",
        "MARKOV 100000 " + "2 " * 100_000 + "1 100000 " + " ".join(map(str, range(100_000))) + " 4 1 1 1 1",
        "MARKOV 100000 " + "1 " * 100_000 + "1 100000 " + " ".join(map(str, range(100_000))) + " 1 1",
        "MARKOV 60 " + "9 " * 60 + "1 60 " + " ".join(map(str, range(60))) + " 1 1",
        "MARKOV 1 2 1 1 0 1000000000000 1",
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_allocated(text):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        parse_uai(text)
    assert time.perf_counter() - start < 5.0


def test_what_is_written_for_a_small_network():
    network = BayesianNetwork(
        TableCPD("rain", [0.8, 0.2], states=["no", "yes"]),
        TableCPD("grass", {"no": [0.9, 0.1], "yes": [0.25, 0.75]}, parents=["rain"], states=["dry", "wet"]),
    )
    assert format_uai(network) == "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n0.8 0.2\n\n4\n0.9 0.1\n0.25 0.75\n"


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_reading_what_was_written_gives_the_same_tables_by_number(seed):
    """Names are lost, as the format has none: order, structure and every bit of the numbers are not."""
    network = random_network(np.random.default_rng(seed), num_variables=7)
    again = parse_uai(format_uai(network))
    indices = {name: str(index) for index, name in enumerate(network.variables)}
    assert list(again.variables) == list(indices.values())
    for name, cpd in network.cpds.items():
        table = again.cpd(indices[name]).to_table()
        assert table.parent_names == tuple(indices[parent] for parent in cpd.parent_names)
        np.testing.assert_array_equal(table.values, cpd.to_table().values)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_markov_networks_come_back_factor_by_factor(seed):
    rng = np.random.default_rng(seed)
    variables = [Variable(str(i), [str(k) for k in range(rng.integers(1, 5))]) for i in range(6)]
    factors = []
    for _ in range(rng.integers(0, 6)):
        scope = [variables[i] for i in rng.permutation(6)[: rng.integers(0, 5)]]
        values = rng.exponential(size=[v.num_states for v in scope]) * rng.integers(0, 2)
        factors.append(Factor(scope, values))
    network = MarkovNetwork(*factors, variables=variables)
    assert parse_uai(format_uai(network)) == network


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (BayesianNetwork(LinearGaussianCPD("height", 1.0, [], 1.0)), "'height' is continuous"),
        (BayesianNetwork(TableCPD("A", [[1, 0], [0, 1]], parents=["I"]), inputs=[Variable("I", 2)]), "'I' is one"),
        (
            BayesianNetwork(
                *(TableCPD(f"X{i}", [0.5, 0.5]) for i in range(40)),
                NoisyOr("Y", [f"X{i}" for i in range(40)], [0.5] * 40),
            ),
            "CPD of 'Y' as a table only",
        ),
        (MarkovNetwork(Factor.from_flat([Variable(f"X{i}", 1) for i in range(70)], [1.0])), "at most 64 variables"),
    ],
)
def test_what_the_format_can_not_hold_is_said(model, part):
    with pytest.raises(NotRepresentable) as raised:
        format_uai(model)
    assert part in str(raised.value)


def test_a_benchmark_network_comes_through_bit_by_bit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundedProbabilities)
        network = parse_bif(benchmark_text("munin1"))
    again = parse_uai(format_uai(network))
    for one, two in zip(network.cpds.values(), again.cpds.values(), strict=True):
        np.testing.assert_array_equal(one.to_table().values, two.to_table().values)


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("2 1 0 2 1", [{"1": "0", "2": "1"}]),
        ("2\n1 0\n2 1", [{"1": "0", "2": "1"}]),
        ("1\n2 1 0 2 1\n", [{"1": "0", "2": "1"}]),
        ("2\n1 0 1\n2 1 0 2 1", [{"0": "1"}, {"1": "0", "2": "1"}]),
        ("2\n0\n1 5 6", [{}, {"5": "6"}]),
        ("2 0 1 5 6", [{"0": "1", "5": "6"}]),
        ("0", [{}]),
        ("1\n0", [{}]),
        ("1 2 1 0 2 1", [{"1": "0", "2": "1"}]),
    ],
)
def test_both_dialects_of_evidence_are_read(text, samples):
    assert parse_uai_evidence(text) == samples


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "the number of observed variables, but the file ends here"),
        ("2 0 0 0 1", (1, 7), "'0' is observed twice"),
        ("3 0 0", (1, 1), "is 3: the file is too short"),
        ("1 0 x", (1, 5), "the index of a state, a whole number, found 'x'"),
        ("1 0 1 7", (1, 7), "Expected the end of the file"),
        ("9999999999", (1, 1), "too short"),
    ],
)
def test_an_error_in_evidence_says_where(text, place, part):
    check_refused(parse_uai_evidence, text, part, place)


def weather() -> BayesianNetwork:
    return BayesianNetwork(
        TableCPD("rain", [0.8, 0.2], states=["no", "yes"]),
        TableCPD("grass", [[0.9, 0.1], [0.25, 0.75]], parents=["rain"], states=[False, True]),
    )


def test_evidence_speaks_of_the_variables_of_a_model():
    assert parse_uai_evidence("2 1 1 0 0", weather()) == [{"grass": True, "rain": "no"}]
    assert format_uai_evidence([{"grass": True}, {}], weather()) == "2\n1 1 1\n0\n"
    with pytest.raises(FormatError, match="a whole number below 2, found '2'"):
        parse_uai_evidence("1 2 0", weather())
    with pytest.raises(FormatError, match="a state of 'grass', a whole number below 2, found '5'"):
        parse_uai_evidence("1 1 5", weather())
    with pytest.raises(UnknownVariable, match="'gras'"):
        format_uai_evidence([{"gras": True}], weather())
    with pytest.raises(UnknownState, match="'maybe'"):
        format_uai_evidence([{"rain": "maybe"}], weather())


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_evidence_comes_back(seed):
    rng = np.random.default_rng(seed)
    samples = [
        {str(i): str(rng.integers(4)) for i in rng.permutation(6)[: rng.integers(0, 7)]}
        for _ in range(rng.integers(1, 4))
    ]
    assert parse_uai_evidence(format_uai_evidence(samples)) == samples


def test_evidence_that_can_not_be_written_is_said():
    with pytest.raises(NotRepresentable, match="at least one sample"):
        format_uai_evidence([])
    with pytest.raises(NotRepresentable, match="'rain' is none: give the model"):
        format_uai_evidence([{"rain": "1"}])


def test_the_last_solution_counts():
    assert parse_uai_result("PR\n-0.5\n-BEGIN-\n-0.25\n").log10 == -0.25
    assert parse_uai_result("PR\n-BEGIN-\n1\n-0.25\n").log10 == -0.25
    assert parse_uai_result("PR -inf").log10 == -math.inf


def test_every_task_is_read():
    marginals = parse_uai_result("MAR\n3 2 0.1 0.9 2 0.3 0.7 3 0.2 0.2 0.6").marginals
    assert {name: vector.tolist() for name, vector in marginals.items()} == {
        "0": [0.1, 0.9],
        "1": [0.3, 0.7],
        "2": [0.2, 0.2, 0.6],
    }
    assert parse_uai_result("MAR 1 2 2 0.5 0.5 1 1").marginals.keys() == {"0", "1"}
    assert parse_uai_result("MPE\n3 0 1 0").assignment == {"0": "0", "1": "1", "2": "0"}
    assert parse_uai_result("map\n1\n3 0 1 0").task == "MPE"
    assert parse_uai_result("MMAP\n2 2 0 4 1").assignment == {"2": "0", "4": "1"}
    assert parse_uai_result("MPE 2 1 0", weather()).assignment == {"rain": "yes", "grass": False}


@pytest.mark.parametrize(
    "result",
    [
        UAIResult("PR", log10=-12.5),
        UAIResult("PR", log10=-math.inf),
        UAIResult("MPE", assignment={"0": "1", "1": "0"}),
        UAIResult("MMAP", assignment={"4": "1", "1": "0"}),
        UAIResult("MAR", marginals={"1": np.array([1 / 3, 2 / 3]), "0": np.array([1.0])}),
    ],
    ids=lambda result: result.task,
)
def test_results_come_back(result):
    again = parse_uai_result(format_uai_result(result))
    assert (again.task, again.log10, again.assignment) == (result.task, result.log10, result.assignment)
    if result.marginals is not None:
        assert {n: v.tolist() for n, v in again.marginals.items()} == {
            n: v.tolist() for n, v in result.marginals.items()
        }


def test_results_of_a_model_come_back_by_name():
    marginals = {"grass": np.array([0.77, 0.23]), "rain": np.array([0.8, 0.2])}
    text = format_uai_result(UAIResult("MAR", marginals=marginals), weather())
    assert text == "MAR\n2 2 0.8 0.2 2 0.77 0.23\n"
    assert list(parse_uai_result(text, weather()).marginals) == ["rain", "grass"]
    with pytest.raises(NotRepresentable, match="variable 1 is missing"):
        format_uai_result(UAIResult("MPE", assignment={"rain": "no"}), weather())


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "Expected the task"),
        ("RP 1", "'RP' is not a task. Known: 'PR'"),
        ("PR", "but the file ends"),
        ("PR x", "found 'x'"),
        ("PR 2 3", "Expected the end"),
        ("MAR 2 2 0.5 0.5", "but the file ends here"),
        ("MAR 1 9 0.5 0.5", "is 9: the file is too short"),
        ("MPE 2 1", "is 2: the file is too short"),
        ("MAR 1 2 0.5 x", "found 'x'"),
    ],
)
def test_an_error_in_a_result_is_said(text, part):
    with pytest.raises(FormatError) as raised:
        parse_uai_result(text)
    assert part in raised.value.problem
    assert raised.value.line == 1


def test_a_result_of_no_task_is_refused():
    for fields in ({"task": "PR"}, {"task": "XX", "log10": 1.0}, {"task": "MAR", "log10": 1.0}):
        with pytest.raises(InvalidArgument):
            UAIResult(**fields)


@pytest.mark.parametrize("seed", few_of(14, 150))
def test_damaged_evidence_and_results_are_read_or_refused(seed):
    """No exception but the library's own, whatever is done to a text."""
    rng = np.random.default_rng(seed)
    texts = ["2\n1 0 1\n2 1 0 2 1", "MAR\n3 2 0.1 0.9 2 0.3 0.7 3 0.2 0.2 0.6", "MMAP\n-BEGIN-\n2 2 0 4 1", "PR -0.5"]
    words = texts[seed % 4].split()
    for _ in range(3):
        place = int(rng.integers(len(words)))
        words[place : place + int(rng.integers(2))] = [str(rng.choice(["-1", "0", "1e9", "nan", "x", "99", "-BEGIN-"]))]
    for read in (parse_uai_evidence, parse_uai_result):
        with contextlib.suppress(FormatError):
            read(" ".join(words))


AGRUM = (
    "BAYES\n3\n2 3 1 \n3\n1 0   # A\n1 1   # B\n3 0 1 2   # C\n\n\n2\n  0.25 0.75 \n\n3\n  0.5 0.25 0.25 \n\n"
    "6\n  1 \n  1 \n  1 \n  1 \n  1 \n  1 \n\n\n"
)


def test_what_follows_a_hash_is_a_comment():
    text = "MARKOV\n2 # variables\n2 3\n1 # functions\n2 1 0\n#\n\n6 # {0, größe}\n 1 2 3\n 4 5 6\n"
    factor = parse_uai(text).factors[0]
    assert factor.names == ("1", "0")
    assert factor.values.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_tables_of_agrum_list_the_first_parent_fastest():
    """It does not keep to the format there; it is known by the blank after the sizes and the names after the scopes."""
    rows = np.arange(12).reshape(6, 2) + 1.0
    rows /= rows.sum(axis=1, keepdims=True)
    listed = "\n".join("  " + " ".join(map(repr, row)) + " " for row in rows.tolist())
    text = AGRUM.replace("2 3 1 ", "2 3 2 ").replace("6\n" + "  1 \n" * 6, f"12\n{listed}\n")
    table = parse_uai(text).cpd("2").values
    for a in range(2):
        for b in range(3):
            np.testing.assert_array_equal(table[a, b], rows[2 * b + a])
    plain = parse_uai(text.replace("2 3 2 \n", "2 3 2\n")).cpd("2").values
    np.testing.assert_array_equal(plain, rows.reshape(2, 3, 2))


def test_a_table_of_agrum_with_a_wrong_count_is_an_error():
    with pytest.raises(FormatError, match="needs 6 numbers"):
        parse_uai(AGRUM.replace("6\n  1 ", "5\n"))
