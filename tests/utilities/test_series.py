"""Lotteries of many stages and without end: each stage is looked at once, and terms tell what they can."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from plausible.errors import InvalidArgument
from plausible.utilities import CountableLottery, LinearCurve, Lottery, certainty_equivalent, saint_petersburg
from refusals import refuses


@pytest.mark.parametrize("factor", [0.1, 0.5, 1.0, 1.5, 1.9, 1.99, 1.995, 1.999])
def test_a_game_that_grows_by_less_than_two_is_worth_the_geometric_sum(factor):
    """Σ 2 fⁿ⁻¹ / 2ⁿ = 2 / (2 - f), though floats end after a thousand tosses and the sum does not."""
    found = saint_petersburg(2.0, factor).expected_utility(lambda amount: amount)
    assert found.converged
    assert found.value == pytest.approx(float(2 / (2 - Fraction(factor))), rel=1e-11)


@pytest.mark.parametrize("factor", [2, 2.0001, 3, 1e3, 1e10, 1e30])
@pytest.mark.parametrize("first", [1e-10, 2.0, 1e9])
def test_a_game_that_grows_by_two_or_more_is_worth_more_than_any_amount(factor, first):
    """Also where the payoffs leave the floats after a few tosses."""
    found = saint_petersburg(first, factor).expected_utility(lambda amount: amount)
    assert found.diverges
    assert found.value == math.inf


@pytest.mark.parametrize("factor", [1.99999, 2 - 1e-9, 1e200])
def test_what_the_terms_do_not_tell_is_not_told(factor):
    """A ratio too near to one for a sum to the tolerance, and too few terms; the partial sum is there."""
    found = saint_petersburg(2.0, factor).expected_utility(lambda amount: amount)
    assert not found.is_settled
    assert math.isnan(found.value)
    assert 0 < found.partial_sum < math.inf
    assert str(found).startswith("not settled: ")
    refuses(InvalidArgument, "not settled", certainty_equivalent, LinearCurve(), saint_petersburg(2.0, factor))


def squares():
    """P(n) = 6 / (π n)²."""
    return ((n, 6 / (math.pi * n) ** 2) for n in range(1, 10**6))


#: Utilities of n under P(n) ~ 1/n², and whether the sum of their terms diverges.
UTILITIES = {
    "1/n**3": (lambda n: 1 / n, False),
    "1/n**2": (lambda n: 1.0, False),
    "1/n**1.5": (lambda n: n**0.5, False),
    "1/(n ln**2)": (lambda n: n / math.log(n + 1) ** 2, False),
    "1/(n ln)": (lambda n: n / math.log(n + 1), True),
    "1/n": (lambda n: n, True),
    "1/(n+100)": (lambda n: n**2 / (n + 100), True),
    "1/(n+100)**2": (lambda n: n**2 / (n + 100) ** 2, False),
    "ln/n": (lambda n: n * math.log(n), True),
    "1": (lambda n: n**2, True),
    "n": (lambda n: n**3, True),
    "-1/n": (lambda n: -n, True),
}


@pytest.mark.parametrize("max_terms", [5, 10, 20, 100, 1000, 10_000])
@pytest.mark.parametrize("name", UTILITIES)
def test_slow_series_get_no_false_verdict(name, max_terms):
    """By the integral test; no sum is known to twelve digits, and some divergences are."""
    utility, diverges = UTILITIES[name]
    found = CountableLottery(squares).expected_utility(utility, max_terms=max_terms)
    assert not found.converged
    assert not (found.diverges and not diverges)
    if name in ("1/n", "1/(n+100)", "1", "n", "-1/n") and max_terms >= 1000:
        assert found.diverges
        assert found.value == math.copysign(math.inf, utility(1))


def test_a_modest_tolerance_is_met():
    """Σ n⁻³ = 1.2020569..., whose tail shrinks slowly."""
    found = CountableLottery(squares).expected_utility(lambda n: 1 / n, tolerance=1e-6)
    assert found.converged
    assert found.value == pytest.approx(6 / math.pi**2 * 1.2020569031595942, rel=2e-6)


def poisson(rate):
    def terms():
        probability = math.exp(-rate)
        for n in range(5000):
            yield n, probability
            probability *= rate / (n + 1)

    return CountableLottery(terms)


@pytest.mark.parametrize("max_terms", [10, 16, 40, 100, 10_000])
@pytest.mark.parametrize(("rate", "base"), [(50.0, 1.0), (50.0, 3.0), (50.0, 10.0), (5.0, 2.0), (9.0, 0.5)])
def test_terms_that_rise_before_they_fall_are_waited_for(rate, base, max_terms):
    """E bᴺ = e^(λ (b - 1)) of a Poisson number: its terms may rise for as long as floats reach."""
    found = poisson(rate).expected_utility(lambda n: base**n, max_terms=max_terms)
    assert not found.diverges
    if found.converged:
        assert found.value == pytest.approx(math.exp(rate * (base - 1)), rel=1e-10)
    if max_terms == 10_000 and base <= 3:
        assert found.converged


@pytest.mark.parametrize("power", [5, 20, 100])
def test_powers_of_the_number_of_tosses_converge(power):
    """Σ nᵏ / 2ⁿ in integers; with sixteen terms the sum is not known."""
    tosses = CountableLottery(lambda: ((n, 2.0**-n) for n in range(1, 2000)))
    exact = sum(Fraction(n**power, 2**n) for n in range(1, 1500))
    found = tosses.expected_utility(lambda n: float(n) ** power)
    assert found.converged
    assert found.value == pytest.approx(float(exact), rel=1e-11)
    assert not tosses.expected_utility(lambda n: float(n) ** power, max_terms=16).is_settled


def test_probability_that_is_left_is_not_what_the_sum_lacks():
    """Of the 2⁻³⁰ that is left much may come: without end, or 19 · 0.95³⁰ of 19."""
    tosses = CountableLottery(lambda: ((n, 2.0**-n) for n in range(1, 31)))
    assert tosses.expected_utility(lambda n: 2.0**n).diverges
    assert tosses.expected_utility(lambda n: 1.9**n).value == pytest.approx(19.0)
    assert tosses.expected_utility(lambda n: 1.9**n).partial_sum == pytest.approx(19.0 * (1 - 0.95**30))
    assert not tosses.expected_utility(lambda n: 10.0**n).converged


def test_utilities_that_overflow_end_the_terms():
    """10.0**n is beyond floats from 309 on."""
    tosses = CountableLottery(lambda: ((n, 2.0**-n) for n in range(1, 2000)))
    assert tosses.expected_utility(lambda n: 10.0**n).diverges


def test_zeros_between_the_terms_do_not_matter():
    """1/2 + 1/8 + 1/32 + ... = 2/3; a utility of nothing is worth nothing; changing signs give 1/3."""
    tosses = CountableLottery(lambda: ((n, 2.0**-n) for n in range(1, 2000)))
    for utility, value in ((lambda n: n % 2, 2 / 3), (lambda n: 0, 0.0), (lambda n: -((-1) ** n), 1 / 3)):
        found = tosses.expected_utility(utility)
        assert found.converged
        assert found.value == pytest.approx(value)


def test_a_sum_that_depends_on_the_order_of_its_terms_is_not_told_to_diverge():
    """Σ (-1)ⁿ / n: terms shrink like 1/n and change sign."""
    assert not CountableLottery(squares).expected_utility(lambda n: n * (-1) ** n).diverges


def chain(depth):
    """With 1/2 nothing more, else on to the next stage."""
    lottery = Lottery({"a": 0.5, "b": 0.5})
    for _ in range(depth - 1):
        lottery = Lottery({lottery: 0.5, "b": 0.5})
    return lottery


def lattice(depth):
    """Two stages at each level, both of which stand in both of the next: 2**depth paths."""
    first, second = Lottery({"a": 0.5, "b": 0.5}), Lottery({"a": 0.25, "b": 0.75})
    for _ in range(depth):
        first, second = Lottery({first: 0.5, second: 0.5}), Lottery({first: 0.25, second: 0.75})
    return first


@pytest.mark.parametrize("depth", [1, 20, 300, 3000])
def test_a_chain_of_stages_takes_milliseconds(depth):
    """2**-depth is left of the first outcome; 3000 stages neither recurse nor multiply."""
    start = time.perf_counter()
    lottery, twin = chain(depth), chain(depth)
    assert lottery.flatten()["a"] == 2.0**-depth
    assert lottery.expected_utility({"a": 0.0, "b": 8.0}) == pytest.approx(8.0 * (1 - 2.0**-depth))
    assert lottery == twin
    assert hash(lottery) == hash(twin)
    assert lottery != chain(depth + 1)
    assert lottery.is_close(lottery.flatten())
    assert len(str(lottery)) < 200
    assert time.perf_counter() - start < 2.0


def test_stages_that_stand_in_many_places_are_evaluated_once():
    """Against the two-state Markov chain in fractions."""
    start = time.perf_counter()
    chances = [Fraction(1, 2), Fraction(1, 4)]
    for _ in range(300):
        chances = [(chances[0] + chances[1]) / 2, (chances[0] + 3 * chances[1]) / 4]
    lottery = lattice(300)
    assert lottery.final_probabilities()["a"] == pytest.approx(float(chances[0]))
    assert lottery.expected_utility({"a": 1.0, "b": 0.0}) == pytest.approx(float(chances[0]))
    assert lottery == lattice(300)
    assert lottery != lattice(299)
    assert time.perf_counter() - start < 2.0


def test_outcomes_keep_the_order_in_which_they_are_read():
    """Also where an inner stage comes first, or twice."""
    inner = Lottery({"c": 0.5, "a": 0.5})
    assert list(Lottery({inner: 0.5, "b": 0.25, Lottery({inner: 1.0}): 0.25}).flatten()) == ["c", "a", "b"]


def test_a_stage_of_probability_zero_needs_no_utility():
    lottery = Lottery({"a": 1.0, Lottery({"unknown": 1.0}): 0.0})
    assert lottery.expected_utility({"a": 2.0}) == 2.0
    assert lottery == Lottery({"a": 1.0})


def test_hashes_are_those_of_the_process_that_reads():
    """Hashes of texts differ from process to process, so a pickled lottery makes its own anew."""
    lottery = chain(5)
    assert copy.copy(lottery) == copy.deepcopy(lottery) == lottery
    code = (
        "import pickle, sys; from plausible.utilities.lotteries.lottery import Lottery; "
        "read = pickle.loads(sys.stdin.buffer.read()); print(read in {Lottery(dict(read))})"
    )
    asked = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(lottery), capture_output=True, check=True)
    assert asked.stdout.split() == [b"True"]
