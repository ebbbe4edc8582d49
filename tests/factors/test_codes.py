"""Codes: worked numbers, and Huffman's code against every binary tree."""

from __future__ import annotations

import math
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.errors import InvalidArgument, InvalidFactor
from plausible.factors import (
    Factor,
    entropy,
    expected_length,
    fixed_length_bits,
    huffman_code,
    is_prefix_free,
    kraft_sum,
)
from refusals import refuses

CASES = settings(max_examples=32, deadline=None)
SOURCE = {"a": 1 / 2, "b": 1 / 4, "c": 1 / 8, "d": 1 / 8}
CODE = {"a": "0", "b": "10", "c": "110", "d": "111"}

weights = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)


def test_the_four_symbol_code_meets_its_entropy():
    """0, 10, 110, 111 for (½, ¼, ⅛, ⅛): expected length 1.75 bits = entropy, Kraft sum one, prefix-free."""
    assert expected_length(CODE, SOURCE) == 1.75
    assert kraft_sum(CODE) == 1.0
    assert is_prefix_free(CODE)
    assert huffman_code(SOURCE) == CODE
    assert expected_length(CODE, Factor({"X": ["a", "b", "c", "d"]}, list(SOURCE.values()))) == 1.75


def test_fixed_length_words_need_the_ceiling_of_log2():
    """Sixteen bits cover 65,536 words; one more word needs one more bit; huge numbers are exact."""
    assert [fixed_length_bits(n) for n in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
    assert fixed_length_bits(65_536) == 16
    assert fixed_length_bits(2**200 + 1) == 201


@CASES
@given(st.lists(st.text("01", max_size=4), max_size=6))
def test_prefix_free_means_that_no_word_begins_another(words):
    """Against all ordered pairs; prefix-free words satisfy Kraft's inequality."""
    expected = not any(i != j and b.startswith(a) for i, a in enumerate(words) for j, b in enumerate(words))
    assert is_prefix_free(words) == expected
    if expected:
        assert kraft_sum(words) <= 1.0


@cache
def _best_cost(numbers: tuple[int, ...]) -> int:
    """The least Σ weight · depth over all binary trees, by trying every pair of leaves as deepest siblings."""
    if len(numbers) == 1:
        return 0
    best = math.inf
    for i in range(len(numbers)):
        for j in range(i):
            rest = [w for k, w in enumerate(numbers) if k not in (i, j)]
            merged = numbers[i] + numbers[j]
            best = min(best, merged + _best_cost(tuple(sorted([*rest, merged]))))
    return int(best)


@CASES
@given(weights)
def test_no_tree_beats_huffman_and_entropy_bounds_it(numbers):
    """L is the least over all trees, and H ≤ L ≤ H + 1; the code is full and prefix-free."""
    total = sum(numbers)
    source = {f"s{i}": number / total for i, number in enumerate(numbers)}
    code = huffman_code(source)
    length = expected_length(code, source)
    bits = entropy(Factor({"X": list(source)}, list(source.values())), base=2)
    assert length * total == pytest.approx(_best_cost(tuple(sorted(numbers))))
    assert bits - 1e-9 <= length <= bits + 1 + 1e-9
    assert is_prefix_free(code)
    assert kraft_sum(code) == 1.0


def test_one_symbol_needs_no_bits():
    """The empty word codes the only symbol there is."""
    assert huffman_code({"only": 1.0}) == {"only": ""}


def test_coding_blocks_approaches_the_entropy():
    """Bits a symbol for blocks of n symbols lie in [H, H + 1/n], here falling from 1 to below 0.48 (H = 0.469)."""
    bit = Factor({"X0": 2}, [0.9, 0.1])
    rates = []
    block = Factor.scalar(1.0)
    for n in range(1, 7):
        block = block * bit.rename({"X0": f"X{n}"})
        rates.append(expected_length(huffman_code(block), block) / n)
    bits = entropy(bit, base=2)
    assert all(bits <= rate <= bits + 1 / n for n, rate in enumerate(rates, start=1))
    assert rates[0] == 1.0
    assert rates[-1] < 0.48


def test_ties_are_broken_the_same_way_every_time():
    """Equal weights: the symbols listed first get the first words."""
    assert huffman_code(dict.fromkeys("abcd", 0.25)) == {"a": "00", "b": "01", "c": "10", "d": "11"}


def test_what_can_not_be_coded_is_refused():
    """No symbols, no distribution, or a symbol without a word."""
    refuses(InvalidArgument, "at least one symbol", fixed_length_bits, 0)
    refuses(InvalidFactor, r"not to 0\.5", huffman_code, {"a": 0.5})
    with pytest.raises(InvalidFactor):
        huffman_code({})
    refuses(InvalidArgument, "no word for 'b'", expected_length, {"a": "0"}, {"a": 0.5, "b": 0.5})
    assert expected_length({"a": "0"}, {"a": 1.0, "b": 0.0}) == 1.0


@pytest.mark.parametrize("number", [math.nan, math.inf, -0.5])
def test_probabilities_of_symbols_are_numbers(number):
    """nan compares false with everything, and must not pass for that."""
    for question in (huffman_code, lambda p: expected_length({"a": "0", "b": "1"}, p)):
        refuses(InvalidFactor, "probability of 'a'", question, {"a": number, "b": 1.0})


def test_an_alphabet_has_a_digit():
    """Division by zero otherwise."""
    refuses(InvalidArgument, "at least one digit", kraft_sum, ["0"], alphabet_size=0)
