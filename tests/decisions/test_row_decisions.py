"""The best action for each row of a table, where cells may be missing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, UnknownState
from seeds import few_of
from solving_oracle import full_tables


def _random_problem(seed: int) -> pb.InfluenceDiagram:
    """One decision that sees three variables, of one to three states; some combinations are impossible."""
    rng = np.random.default_rng(seed)
    hidden = pb.TableCPD("H", rng.dirichlet(np.ones(3)), states=3)
    seen = []
    for name, size in (("A", 2), ("B", 3), ("C", 1)):
        rows = rng.random((3, size)) * (rng.random((3, size)) > 0.3)
        rows[:, 0] += rows.sum(axis=1) == 0
        seen.append(pb.TableCPD(name, rows / rows.sum(axis=1, keepdims=True), ["H"], states=size))
    worth = pb.Utility(["H", "D"], rng.normal(size=(3, 3)))
    return pb.InfluenceDiagram([hidden, *seen], [pb.Decision("D", ["x", "y", "z"], sees=["A", "B", "C"])], [worth])


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_each_row_gets_the_best_action_knowing_what_it_tells(seed):
    """argmax_d Σ_h P(h | row) U(h, d) on the full joint, for every pattern of missing cells."""
    diagram = _random_problem(seed)
    joint, utility = full_tables(diagram)
    cells = [(*variable.states, None) for variable in diagram.information("D")]
    rows = pd.DataFrame(list(product(*cells)), columns=["A", "B", "C"], index=np.arange(100, 124), dtype=object)
    found = diagram.solve().policies["D"].decide(rows.assign(other="not looked at"))
    assert list(found.index) == list(rows.index)
    names = list(diagram.variables)
    for (_, row), (_, told) in zip(rows.iterrows(), found.iterrows(), strict=True):
        place = tuple(slice(None) if row.get(n) is None else diagram.variables[n].index(row[n]) for n in names)
        weights, gains = (np.broadcast_to(t, utility.shape)[place].reshape(-1, 3) for t in (joint, utility))
        if weights.sum() == 0:
            assert pd.isna(told["D"])
            assert np.isnan(told["expected_utility"])
            continue
        expected = (weights * gains).sum(axis=0) / weights.sum(axis=0)
        assert told["expected_utility"] == pytest.approx(expected.max())
        assert expected["xyz".index(told["D"])] == pytest.approx(expected.max())


def test_rows_may_be_a_mapping_or_empty_and_strange_states_are_refused():
    policy = _random_problem(0).solve().policies["D"]
    assert list(policy.decide({"A": [0, None]})) == ["D", "expected_utility"]
    assert len(policy.decide(pd.DataFrame({"A": []}))) == 0
    with pytest.raises(UnknownState, match="7"):
        policy.decide({"A": [7]})


def test_a_row_given_to_a_strategy_is_told_where_rows_go():
    diagram = _random_problem(0)
    row = pd.Series({"A": 0, "B": 0, "C": 0})
    with pytest.raises(InvalidArgument, match=r"not a Series; for rows of a table see solution.policies\['D'\].decide"):
        diagram.solve().strategy.action("D", row)


def test_notes_of_cases_are_in_the_frame():
    """What can't happen is no recommendation."""
    policy = pb.examples.load("oil").solve().policies["drill"]
    frame = policy.to_frame()
    assert set(frame["note"]) == {"", "can't happen", "not under this strategy"}
    assert (frame["note"] == "can't happen").sum() == len(policy.impossible)
