"""The default search ends at the best graph of all where there are few variables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb


def _rows(seed: int) -> pd.DataFrame:
    """Rows of a random network over 5 to 9 variables, with strong and weak tables."""
    rng = np.random.default_rng(seed)
    num, size = int(rng.integers(5, 10)), int(rng.choice([100, 400]))
    codes, cards = np.zeros((size, num), dtype=int), rng.integers(2, 4, size=num)
    for place in range(num):
        parents = rng.choice(place, size=min(place, int(rng.integers(0, 4))), replace=False) if place else []
        row = sum((codes[:, parent] * 3**i for i, parent in enumerate(parents)), np.zeros(size, dtype=int))
        tables = rng.dirichlet(np.ones(cards[place]) * rng.choice([0.5, 2]), size=3 ** len(parents)).cumsum(axis=1)
        codes[:, place] = np.minimum((rng.random(size)[:, None] > tables[row]).sum(axis=1), cards[place] - 1)
    return pd.DataFrame(codes, columns=[f"v{place}" for place in range(num)]).astype(str)


@pytest.mark.parametrize("score", ["bic", "bdeu", "aic"])
@pytest.mark.parametrize("seed", [2, 7, 20, 39])
def test_no_graph_over_few_variables_is_better_than_that_of_the_default(seed, score) -> None:
    """The score is that of dynamic programming over all graphs (Silander & Myllymäki 2006)."""
    rows = _rows(seed)
    best = pb.learn.structure(rows, "exact", score=score).score
    assert pb.learn.structure(rows, score=score).score == pytest.approx(best, abs=1e-6)
