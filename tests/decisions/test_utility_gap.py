"""From the worst strategy to the best."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.decisions import share_of_gap, utility_gap
from plausible.errors import InvalidArgument
from seeds import few_of
from solving_oracle import all_strategy_values, num_strategies, random_diagram


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_the_gap_is_between_the_least_and_the_largest_value_of_all_strategies(seed):
    diagram = random_diagram(np.random.default_rng(seed), 3, 2, 2)
    assert num_strategies(diagram) < 10_000
    values = all_strategy_values(diagram)
    gap = utility_gap(diagram)
    assert (gap.worst, gap.best) == pytest.approx((values.min(), values.max()))
    assert gap.is_exact
    assert gap.share(gap.best_strategy) == pytest.approx(1.0)
    if gap.best > gap.worst + 1e-9:
        assert gap.share(gap.worst_strategy) == pytest.approx(0.0, abs=1e-9)
        mixed = diagram.uniform_strategy()
        expected = (diagram.expected_utility(mixed) - values.min()) / np.ptp(values)
        assert gap.share(mixed) == pytest.approx(expected)


def test_a_strategy_of_another_diagram_has_no_place_in_the_gap():
    one, other = (random_diagram(np.random.default_rng(seed), 3, 2, 2) for seed in (0, 1))
    with pytest.raises(InvalidArgument):
        utility_gap(one).share(other.uniform_strategy())


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_what_lies_beyond_the_best_is_refused_in_any_unit(unit):
    assert share_of_gap(0.5 * unit, 0.0, unit) == pytest.approx(0.5)
    with pytest.raises(InvalidArgument, match="not between"):
        share_of_gap(5 * unit, 0.0, unit)
