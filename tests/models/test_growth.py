"""Questions to large networks of small width grow with the number of variables, not with its square."""

from __future__ import annotations

from time import process_time

import pytest
from benchmarks.scaling import QUESTIONS, SHAPES, network

FEW, MANY = 1_500, 12_000


def _seconds(ask, size, parent_of):
    net, evidence = network(size, parent_of), {f"v{i}": "a" for i in range(3, size, 3)}
    times = []
    for _ in range(2):
        start = process_time()
        ask(net, evidence)
        times.append(process_time() - start)
    return min(times)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_eight_times_the_variables_take_far_less_than_64_times_the_time(question, shape):
    """Linear is 8, a square 64; rubbish collection and caches make the bound 24."""
    times = [_seconds(QUESTIONS[question], size, SHAPES[shape]) for size in (FEW, MANY)]
    assert times[1] < 24 * max(times[0], 0.01)
